/* command/plain_alter.c - ALTER TABLE and MSCK REPAIR TABLE of tables over plain files. What Spark refuses for its v1 tables is
 * refused in the same words. */
#include "command/plain_tables.h"

#include "exec/source/plain_files.h"

typedef struct plain_change {
    nl_command *command;
    const nl_plain_table *table;
    const nl_ast_alter_table *ast;
} plain_change;

static nl_status unsupported(const plain_change *self, const char *what)
{
    return NL_RAISE(UNSUPPORTED_FEATURE__TABLE_OPERATION, NL_P_STR("tableName", nl_plain_quoted(self->command, self->table)), NL_P("operation", what));
}

static const nl_field *partition_field(const nl_plain_table *table, uint32_t i)
{
    return &table->row_type->children[table->row_type->child_count - table->partition_count + i];
}

/* ---- partitions -------------------------------------------------------------------------------------------------- */

/* "PARTITION (`b` = q, `c` = 2026-01-01)", as Spark lists one. */
static nl_str shown_partition(const plain_change *self, nl_str folder)
{
    nl_arena *arena = self->command->arena;
    nl_str text = NL_STR("PARTITION ("), part;
    for (uint32_t i = 0; nl_str_next_part(&folder, '/', &part); i++) {
        const size_t equals = NL_MIN(nl_str_find_char(part, '=', 0), part.length);
        const nl_str name = nl_plain_unescape(arena, nl_str_slice(part, 0, equals)), value = nl_plain_unescape(arena, nl_str_slice(part, NL_MIN(equals + 1, part.length), part.length));
        text = nl_arena_f(arena, NL_STR_FMT "%s`" NL_STR_FMT "` = " NL_STR_FMT, NL_STR_ARG(text), i ? ", " : "", NL_STR_ARG(name), NL_STR_ARG(value));
    }
    return nl_arena_f(arena, NL_STR_FMT ")", NL_STR_ARG(text));
}

static nl_str short_name(const plain_change *self) /* without the catalog, as Spark names it here */
{
    nl_str *parts = NL_NEW_ARRAY(self->command->arena, nl_str, self->table->namespace_count + 1);
    for (uint32_t i = 0; i < self->table->namespace_count; i++) parts[i] = self->table->namespace_parts[i];
    parts[self->table->namespace_count] = self->table->name;
    return nl_command_quoted(self->command, parts, self->table->namespace_count + 1);
}

/* The folder that a specification names: each partition column has a value in it. */
static nl_status whole_folder(const plain_change *self, const nl_ast_partition_spec *spec, nl_str *folder)
{
    nl_arena *arena = self->command->arena;
    nl_str *pieces, named = {0}, all = {0};
    bool is_whole = true;
    NL_TRY(nl_plain_pieces(self->command, self->table, spec, &pieces));
    *folder = (nl_str){0};
    for (uint32_t i = 0; i < self->table->partition_count; i++) {
        is_whole = is_whole && pieces[i].data;
        all = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(all), i ? ", " : "", NL_STR_ARG(partition_field(self->table, i)->name));
        *folder = i ? nl_path_join(arena, *folder, pieces[i]) : pieces[i];
    }
    for (uint32_t i = 0; i < spec->count; i++) named = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(named), i ? ", " : "", NL_STR_ARG(spec->items[i].name.text));
    if (is_whole && self->table->partition_count > 0) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_1232, NL_P_STR("specKeys", named), NL_P_STR("partitionColumnNames", all), NL_P_STR("tableName", nl_plain_quoted(self->command, self->table)));
}

static bool has_folder(const nl_plain_table *table, nl_str folder)
{
    uint32_t low = 0, high = table->folder_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const int order = nl_str_compare(table->folders[middle], folder);
        if (order == 0) return true;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return false;
}

nl_status nl_plain_find_partition(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *spec, nl_str *folder)
{
    const plain_change self = {.command = command, .table = table};
    NL_TRY(whole_folder(&self, spec, folder));
    if (has_folder(table, *folder)) return NULL;
    return NL_RAISE(PARTITIONS_NOT_FOUND, NL_P_STR("partitionList", shown_partition(&self, *folder)), NL_P_STR("tableName", short_name(&self)));
}

static nl_str *copy_folders(const plain_change *self, uint32_t more)
{
    nl_str *folders = NL_NEW_ARRAY(self->command->arena, nl_str, self->table->folder_count + more + 1);
    for (uint32_t i = 0; i < self->table->folder_count; i++) folders[i] = nl_arena_str(self->command->arena, self->table->folders[i]);
    return folders;
}

static nl_status add_partitions(const plain_change *self)
{
    nl_str *folders = copy_folders(self, self->ast->partition_count);
    uint32_t count = self->table->folder_count;
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(self->command->session, &fs));
    for (uint32_t i = 0; i < self->ast->partition_count; i++) {
        nl_str folder;
        NL_TRY(whole_folder(self, &self->ast->partitions[i].spec, &folder));
        if (self->ast->partitions[i].location.data) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Partitions with a LOCATION of their own are not supported");
        if (has_folder(self->table, folder) && !self->ast->is_if_not_exists)
            return NL_RAISE(PARTITIONS_ALREADY_EXIST, NL_P_STR("partitionList", shown_partition(self, folder)), NL_P_STR("tableName", short_name(self)));
        folders[count++] = folder;
    }
    for (uint32_t i = self->table->folder_count; i < count; i++) NL_TRY(nl_fs_make_directory(fs, nl_plain_folder_path(self->command, self->table, folders[i])));
    return nl_plain_put_folders(self->command, self->table, folders, count);
}

/* A managed table's files go with the partition. */
static nl_status drop_partitions(const plain_change *self)
{
    nl_str *folders = copy_folders(self, 0);
    uint32_t count = self->table->folder_count;
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(self->command->session, &fs));
    for (uint32_t i = 0; i < self->ast->partition_count; i++) {
        nl_str *pieces;
        uint32_t kept = 0;
        NL_TRY(nl_plain_pieces(self->command, self->table, &self->ast->partitions[i].spec, &pieces));
        for (uint32_t j = 0; j < count; j++) {
            if (!nl_plain_matches(self->table, folders[j], pieces)) folders[kept++] = folders[j];
            else if (!self->table->is_external) NL_TRY(nl_fs_remove_tree(fs, nl_plain_folder_path(self->command, self->table, folders[j])));
        }
        if (kept == count && !self->ast->is_if_exists) {
            nl_str folder;
            NL_TRY(whole_folder(self, &self->ast->partitions[i].spec, &folder));
            return NL_RAISE(PARTITIONS_NOT_FOUND, NL_P_STR("partitionList", shown_partition(self, folder)), NL_P_STR("tableName", short_name(self)));
        }
        count = kept;
    }
    return nl_plain_put_folders(self->command, self->table, folders, count);
}

typedef struct folder_search {
    nl_command *command;
    const nl_plain_table *table;
    size_t base_length;
    nl_list folders; /* nl_str * */
} folder_search;

/* A folder counts when its parts name the partition columns, in their order. */
static nl_status note_folder(void *argument, const nl_file_info *info)
{
    folder_search *search = argument;
    const nl_plain_table *table = search->table;
    nl_str rest = nl_str_slice(info->path, NL_MIN(search->base_length, info->path.length), info->path.length), part;
    while (rest.length > 0 && rest.data[0] == '/') rest = nl_str_slice(rest, 1, rest.length);
    nl_str folder = info->is_directory ? rest : nl_path_parent(rest), walk = folder;
    uint32_t depth = 0;
    for (; depth < table->partition_count && nl_str_next_part(&walk, '/', &part); depth++) {
        const size_t equals = nl_str_find_char(part, '=', 0);
        if (equals == NL_NOT_FOUND || !nl_str_equal_nocase(nl_plain_unescape(search->command->arena, nl_str_slice(part, 0, equals)), partition_field(table, depth)->name)) return NULL;
    }
    if (depth < table->partition_count || walk.length > 0) return NULL;
    nl_str *kept = NL_NEW(search->command->arena, nl_str);
    *kept = nl_arena_str(search->command->arena, folder);
    nl_list_add(search->command->arena, &search->folders, kept);
    return nl_arena_check(search->command->arena);
}

nl_status nl_plain_repair(nl_command *command, const nl_plain_table *table, bool adds, bool drops)
{
    const plain_change self = {.command = command, .table = table};
    folder_search search = {.command = command, .table = table, .base_length = table->location.length};
    nl_fs *fs = NULL;
    NL_TRY(nl_plain_check_own(command, table));
    if (table->partition_count == 0) return NL_RAISE(NOT_A_PARTITIONED_TABLE, NL_P("operation", "MSCK REPAIR TABLE"), NL_P_STR("tableIdentWithDB", nl_plain_quoted(command, table)));
    NL_TRY(nl_session_files(command->session, &fs));
    NL_TRY(nl_fs_list(fs, table->location, true, note_folder, &search));
    nl_str *folders = copy_folders(&self, search.folders.count);
    uint32_t count = drops ? 0 : table->folder_count;
    for (uint32_t i = 0; i < search.folders.count; i++) {
        const nl_str folder = *(const nl_str *)search.folders.items[i];
        if (adds || has_folder(table, folder)) folders[count++] = folder;
    }
    return nl_plain_put_folders(command, table, folders, count);
}

/* ---- the table itself -------------------------------------------------------------------------------------------- */

/* New columns stand before the partition columns; files that have them not yet give NULL. */
static nl_status add_columns(const plain_change *self)
{
    nl_command *command = self->command;
    nl_plain_table changed = *self->table;
    const uint32_t old_count = changed.row_type->child_count, data_count = old_count - changed.partition_count;
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, old_count + self->ast->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < data_count; i++) fields[count++] = changed.row_type->children[i];
    for (uint32_t i = 0; i < self->ast->column_count; i++) {
        const nl_ast_alter_column *column = &self->ast->columns[i];
        if (column->default_value) return unsupported(self, "ADD COLUMN with default value"); /* old files would have to give it */
        if (column->column.count != 1 || column->position.kind != NL_AST_POSITION_UNSAID) return unsupported(self, "ADD COLUMN with qualified column");
        fields[count] = (nl_field){.name = column->column.parts[0].text, .is_nullable = true, .comment = column->comment};
        for (uint32_t j = 0; j < old_count; j++)
            if (nl_str_equal_nocase(changed.row_type->children[j].name, fields[count].name))
                return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_command_quoted(command, &fields[count].name, 1)));
        NL_TRY(nl_ast_type_to_type(command->arena, column->type, &fields[count++].type));
    }
    for (uint32_t i = data_count; i < old_count; i++) fields[count++] = changed.row_type->children[i];
    if (changed.defaults) { /* they move with their columns */
        nl_str *defaults = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
        for (uint32_t i = 0; i < old_count; i++) defaults[i < data_count ? i : i + (count - old_count)] = changed.defaults[i];
        changed.defaults = defaults;
    }
    changed.row_type = nl_type_struct(command->arena, fields, count);
    return nl_session_put_plain_table(command->session, &changed);
}

static nl_status no_such_column(const plain_change *self, const nl_ast_name *name)
{
    nl_arena *arena = self->command->arena;
    const nl_str quoted = nl_command_quoted(self->command, &name->parts[0].text, 1);
    nl_str proposal = {0};
    for (uint32_t i = 0; i < self->table->row_type->child_count; i++)
        proposal = nl_arena_f(arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(proposal), i ? ", " : "", NL_STR_ARG(self->table->row_type->children[i].name));
    return nl_command_at(self->command, NL_RAISE(UNRESOLVED_COLUMN__WITH_SUGGESTION, NL_P_STR("objectName", quoted), NL_P_STR("proposal", proposal)), (nl_ast_range){.line = 1});
}

static nl_status cannot_change(const plain_change *self, const nl_field *field, const nl_type *type)
{
    nl_arena *arena = self->command->arena;
    const nl_str name = nl_command_quoted(self->command, &field->name, 1);
    return nl_command_at(self->command,
                         NL_RAISE(NOT_SUPPORTED_CHANGE_COLUMN, NL_P_STR("table", nl_plain_quoted(self->command, self->table)), NL_P_STR("originName", name),
                                  NL_P_STR("originType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, field->type)))), NL_P_STR("newName", name),
                                  NL_P_STR("newType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, type))))),
                         (nl_ast_range){.line = 1});
}

/* ALTER COLUMN: the comment and the default; the type only to what it is. */
static nl_status change_column(const plain_change *self)
{
    nl_command *command = self->command;
    const nl_ast_alter_column *column = &self->ast->columns[0];
    nl_plain_table changed = *self->table;
    const uint32_t count = changed.row_type->child_count;
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, count + 1);
    nl_str *defaults = NL_NEW_ARRAY(command->arena, nl_str, count + 1);
    const nl_type *type = NULL;
    uint32_t at = 0;
    if (self->ast->column_count > 1) return unsupported(self, "ALTER COLUMN in bulk");
    if (column->column.count > 1) return unsupported(self, "ALTER COLUMN with qualified column");
    if (column->is_not_null || column->is_drop_not_null) return unsupported(self, "ALTER COLUMN ... SET NOT NULL");
    if (column->position.kind != NL_AST_POSITION_UNSAID) return unsupported(self, "ALTER COLUMN ... FIRST | AFTER");
    for (uint32_t i = 0; i < count; i++) {
        fields[i] = changed.row_type->children[i];
        if (changed.defaults) defaults[i] = changed.defaults[i];
    }
    while (at < count && !nl_str_equal_nocase(fields[at].name, column->column.parts[0].text)) at++;
    if (at == count) return no_such_column(self, &column->column);
    if (column->type) NL_TRY(nl_ast_type_to_type(command->arena, column->type, &type));
    if (type && !nl_type_equal(type, fields[at].type)) return cannot_change(self, &fields[at], type);
    if (column->has_comment) fields[at].comment = column->comment;
    if (column->is_drop_default) defaults[at] = (nl_str){0};
    if (column->default_value) {
        NL_TRY(nl_plain_check_default(command, "ALTER TABLE ALTER COLUMN", &fields[at], column->default_text));
        defaults[at] = column->default_text;
    }
    changed.row_type = nl_type_struct(command->arena, fields, count);
    changed.defaults = changed.defaults || column->default_value ? defaults : NULL;
    return nl_session_put_plain_table(command->session, &changed);
}

/* What one list has and what is given, in which a key counts once; without the given ones when they are removed. */
static void merge_properties(nl_command *command, const nl_property *given, uint32_t given_count, bool removes, const nl_property **items, uint32_t *count)
{
    nl_property *merged = NL_NEW_ARRAY(command->arena, nl_property, *count + given_count + 1);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        bool is_given = false;
        for (uint32_t j = 0; j < given_count; j++) is_given = is_given || nl_str_equal(given[j].key, (*items)[i].key);
        if (!is_given) merged[kept++] = (*items)[i];
    }
    for (uint32_t j = 0; j < given_count && !removes; j++) merged[kept++] = given[j];
    *items = merged;
    *count = kept;
}

/* SET SERDEPROPERTIES: options of the format. */
static nl_status set_options(const plain_change *self)
{
    nl_plain_table changed = *self->table;
    const nl_property *given;
    uint32_t given_count;
    if (self->ast->serde.data || self->ast->partition) return unsupported(self, "SET SERDE");
    nl_command_properties(self->command, self->ast->properties, &given, &given_count);
    merge_properties(self->command, given, given_count, false, &changed.options, &changed.option_count);
    return nl_session_put_plain_table(self->command->session, &changed);
}

static nl_status set_properties(const plain_change *self, bool removes)
{
    nl_plain_table changed = *self->table;
    const nl_property *given;
    uint32_t given_count, kept = 0;
    nl_command_properties(self->command, self->ast->properties, &given, &given_count);
    nl_property *others = NL_NEW_ARRAY(self->command->arena, nl_property, given_count + 1);
    for (uint32_t j = 0; j < given_count; j++) {
        if (!nl_str_is(given[j].key, "comment")) others[kept++] = given[j];
        else changed.comment = removes ? (nl_str){0} : given[j].value;
    }
    merge_properties(self->command, others, kept, removes, &changed.properties, &changed.property_count);
    return nl_session_put_plain_table(self->command->session, &changed);
}

/* ALTER TABLE t PARTITION (…) RENAME TO PARTITION (…): the folder of a managed table goes with it. */
static nl_status rename_partition(const plain_change *self)
{
    nl_command *command = self->command;
    nl_str from, to, *folders = copy_folders(self, 0);
    nl_fs *fs = NULL;
    NL_TRY(nl_plain_find_partition(command, self->table, self->ast->partition, &from));
    NL_TRY(whole_folder(self, &self->ast->partitions[0].spec, &to));
    if (has_folder(self->table, to))
        return NL_RAISE(PARTITIONS_ALREADY_EXIST, NL_P_STR("partitionList", shown_partition(self, to)), NL_P_STR("tableName", short_name(self)));
    NL_TRY(nl_session_files(command->session, &fs));
    const nl_str old_path = nl_plain_folder_path(command, self->table, from), new_path = nl_plain_folder_path(command, self->table, to);
    NL_TRY(nl_fs_make_directory(fs, nl_path_parent(new_path)));
    NL_TRY(nl_fs_rename(fs, old_path, new_path, false));
    for (uint32_t i = 0; i < self->table->folder_count; i++)
        if (nl_str_equal(folders[i], from)) folders[i] = to;
    return nl_plain_put_folders(command, self->table, folders, self->table->folder_count);
}

/* A managed table's folder is named after it. */
static nl_status rename_table(const plain_change *self)
{
    nl_command *command = self->command;
    nl_plain_table changed = *self->table;
    const nl_identifier old = {self->table->namespace_parts, self->table->namespace_count, self->table->name};
    nl_session_name name;
    const nl_str *parts;
    uint32_t part_count;
    bool exists = false;
    NL_TRY(nl_command_name(command, &self->ast->rename_to, &parts, &part_count));
    if (part_count > 2) return NL_RAISE(IDENTIFIER_TOO_MANY_NAME_PARTS, NL_P_STR("identifier", nl_command_quoted(command, parts, part_count)));
    name = (nl_session_name){.catalog_name = NL_STR("spark_catalog"), .identifier = {part_count == 2 ? parts : old.namespace_parts, part_count == 2 ? 1 : old.namespace_count, parts[part_count - 1]}};
    NL_TRY(nl_session_catalog(command->session, name.catalog_name, &name.catalog));
    if (!nl_session_find_plain_table(command->session, &name.identifier, command->arena)) NL_TRY(nl_catalog_table_exists(name.catalog, &name.identifier, &exists));
    else exists = true;
    if (exists) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_quoted_name(command, &name)));
    changed.namespace_parts = name.identifier.namespace_parts;
    changed.namespace_count = name.identifier.namespace_count;
    changed.name = name.identifier.name;
    if (!changed.is_external) {
        nl_fs *fs = NULL;
        NL_TRY(nl_plain_check_part(changed.name));
        NL_TRY(nl_session_files(command->session, &fs));
        changed.location = nl_path_join(command->arena, nl_path_parent(self->table->location), changed.name);
        NL_TRY(nl_fs_rename(fs, self->table->location, changed.location, false));
    }
    NL_TRY(nl_session_put_plain_table(command->session, &changed));
    nl_session_drop_plain_table(command->session, &old);
    return NULL;
}

static nl_status set_location(const plain_change *self)
{
    nl_plain_table changed = *self->table;
    if (self->ast->partition) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Partitions with a LOCATION of their own are not supported");
    NL_TRY(nl_plain_path_absolute(self->command->arena, self->ast->location, &changed.location));
    return nl_session_put_plain_table(self->command->session, &changed);
}

nl_status nl_plain_comment(nl_command *command, const nl_plain_table *table, nl_str comment)
{
    nl_plain_table changed = *table;
    NL_TRY(nl_plain_check_own(command, table));
    changed.comment = comment;
    return nl_session_put_plain_table(command->session, &changed);
}

nl_status nl_plain_alter(nl_command *command, const nl_plain_table *table, const nl_ast_alter_table *alter)
{
    const plain_change self = {command, table, alter};
    NL_TRY(nl_plain_check_own(command, table));
    switch (alter->action) {
    case NL_AST_ALTER_ADD_COLUMNS: return add_columns(&self);
    case NL_AST_ALTER_SET_PROPERTIES: return set_properties(&self, false);
    case NL_AST_ALTER_UNSET_PROPERTIES: return set_properties(&self, true);
    case NL_AST_ALTER_SET_LOCATION: return set_location(&self);
    case NL_AST_ALTER_RENAME_TABLE: return rename_table(&self);
    case NL_AST_ALTER_ADD_PARTITIONS: return add_partitions(&self);
    case NL_AST_ALTER_DROP_PARTITIONS: return drop_partitions(&self);
    case NL_AST_ALTER_RECOVER_PARTITIONS: return nl_plain_repair(command, table, true, false);
    case NL_AST_ALTER_RENAME_PARTITION: return rename_partition(&self);
    case NL_AST_ALTER_RENAME_COLUMN: return unsupported(&self, "RENAME COLUMN");
    case NL_AST_ALTER_DROP_COLUMNS: return unsupported(&self, "DROP COLUMN");
    case NL_AST_ALTER_COLUMNS:
    case NL_AST_ALTER_CHANGE_COLUMN: return change_column(&self);
    case NL_AST_ALTER_REPLACE_COLUMNS: return unsupported(&self, "REPLACE COLUMNS");
    case NL_AST_ALTER_ADD_PARTITION_FIELD:
    case NL_AST_ALTER_DROP_PARTITION_FIELD:
    case NL_AST_ALTER_REPLACE_PARTITION_FIELD: return unsupported(&self, "PARTITION FIELD");
    case NL_AST_ALTER_SET_IDENTIFIER_FIELDS:
    case NL_AST_ALTER_DROP_IDENTIFIER_FIELDS: return unsupported(&self, "IDENTIFIER FIELDS");
    case NL_AST_ALTER_CREATE_REF:
    case NL_AST_ALTER_DROP_REF: return unsupported(&self, "branches and tags");
    case NL_AST_ALTER_WRITE: return unsupported(&self, "WRITE ORDERED BY");
    case NL_AST_ALTER_SET_SERDE: return set_options(&self);
    case NL_AST_ALTER_CLUSTER_BY: return unsupported(&self, "CLUSTER BY");
    case NL_AST_ALTER_COLLATION: return unsupported(&self, "DEFAULT COLLATION");
    }
    return NULL;
}
