/* command/plain_create.c - CREATE TABLE over plain files: declared, inferred, AS query and LIKE another. */
#include "command/cached.h"
#include "command/facts.h"
#include "command/plain_tables.h"

#include "base/calendar.h"
#include "catalog/hive/plain.h"
#include "command/views.h"
#include "exec/sinks.h"
#include "exec/source/plain_files.h"
#include "exec/sources.h"
#include "function/collation.h"
#include "plan/char_type.h"

#define SESSION_CATALOG "spark_catalog"

static nl_str lower(nl_command *command, nl_str text)
{
    char *made = NL_NEW_ARRAY(command->arena, char, text.length + 1);
    for (size_t i = 0; i < text.length; i++) made[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + 'a' - 'A') : text.data[i];
    return (nl_str){made, text.length};
}

/* USING, or what the session was told to use where nothing is said; empty: Iceberg. */
static nl_str wanted_provider(nl_command *command, const nl_ast_name *said)
{
    return said->count > 0 ? said->parts[said->count - 1].text : nl_session_get(command->session, NL_STR("spark.sql.sources.default"));
}

bool nl_plain_is_wanted(nl_command *command, const nl_session_name *name, const nl_ast_name *provider)
{
    const nl_str wanted = wanted_provider(command, provider);
    return nl_str_is(name->catalog_name, SESSION_CATALOG) && wanted.length > 0 && !nl_str_is_nocase(wanted, "iceberg");
}

/* ---- creating ---------------------------------------------------------------------------------------------------- */

typedef struct plain_creation {
    nl_command *command;
    const nl_ast_create_table *ast;
    const nl_session_name *name;
    nl_plain_table table;
} plain_creation;

static nl_status unsupported(plain_creation *self, const char *what)
{
    return NL_RAISE(UNSUPPORTED_FEATURE__TABLE_OPERATION, NL_P_STR("tableName", nl_command_quoted_name(self->command, self->name)), NL_P("operation", what));
}

/* Strings whose collation is not said have the table's. */
static const nl_type *with_collation(plain_creation *self, const nl_type *type)
{
    nl_arena *arena = self->command->arena;
    if (self->table.collation.length == 0) return type;
    if (type->id == NL_TYPE_STRING) return type->string_kind == NL_STRING_PLAIN && type->collation.length == 0 ? nl_type_collated(arena, self->table.collation) : type;
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, with_collation(self, type->children[0].type), type->children[0].is_nullable);
    if (type->id == NL_TYPE_MAP)
        return nl_type_map(arena, with_collation(self, type->children[0].type), with_collation(self, type->children[1].type), type->children[1].is_nullable);
    if (type->id != NL_TYPE_STRUCT) return type;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = with_collation(self, fields[i].type);
    }
    return nl_type_struct(arena, fields, type->child_count);
}

static nl_status declared_fields(plain_creation *self, const nl_field **fields, uint32_t *field_count)
{
    const nl_ast_column_definitions *columns = &self->ast->columns;
    const nl_ast_partition_fields *partitions = &self->ast->clauses.partitioned_by;
    nl_field *list = NL_NEW_ARRAY(self->command->arena, nl_field, columns->count + partitions->count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < columns->count; i++) {
        const nl_ast_column_definition *column = &columns->items[i];
        if (column->generated) return unsupported(self, "generated columns");
        if (column->is_identity) return unsupported(self, "identity column");
        list[count] = (nl_field){.name = column->name.text, .is_nullable = true, .comment = column->comment};
        NL_TRY(nl_ast_type_to_type(self->command->arena, column->type, &list[count].type));
        list[count].type = with_collation(self, list[count].type);
        if (column->default_value) NL_TRY(nl_plain_check_default(self->command, "CREATE TABLE", &list[count], column->default_text));
        count++;
    }
    for (uint32_t i = 0; i < partitions->count; i++) {
        const nl_ast_field *column = partitions->items[i].new_column;
        if (!column) continue;
        list[count] = (nl_field){.name = column->name.text, .is_nullable = true, .comment = column->comment};
        NL_TRY(nl_ast_type_to_type(self->command->arena, column->type, &list[count].type));
        list[count].type = with_collation(self, list[count].type);
        count++;
    }
    *fields = list;
    *field_count = count;
    return NULL;
}

static nl_status no_such_column(plain_creation *self, const char *kind, nl_str name, const nl_field *fields, uint32_t count)
{
    nl_command *command = self->command;
    nl_str all = {0};
    for (uint32_t i = 0; i < count; i++)
        all = nl_arena_f(command->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(all), i ? ", " : "", NL_STR_ARG(nl_command_quoted(command, &fields[i].name, 1)));
    return NL_RAISE(COLUMN_NOT_DEFINED_IN_TABLE, NL_P("colType", kind), NL_P_STR("colName", nl_command_quoted(command, &name, 1)),
                    NL_P_STR("tableName", nl_command_quoted_name(command, self->name)), NL_P_STR("tableCols", all));
}

/* The partition columns go to the end, in the order in which PARTITIONED BY names them. */
static nl_status arrange(plain_creation *self, const nl_field *fields, uint32_t count)
{
    nl_command *command = self->command;
    const nl_ast_partition_fields *partitions = &self->ast->clauses.partitioned_by;
    nl_field *arranged = NL_NEW_ARRAY(command->arena, nl_field, count + 1);
    bool *is_moved = NL_NEW_ARRAY(command->arena, bool, count + 1);
    const uint32_t data_count = count - NL_MIN(count, partitions->count);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++)
            if (nl_str_equal_nocase(fields[i].name, fields[j].name)) return NL_RAISE(COLUMN_ALREADY_EXISTS, NL_P_STR("columnName", nl_command_quoted(command, &fields[i].name, 1)));
    for (uint32_t i = 0; i < partitions->count; i++) {
        const nl_ast_partition_field *partition = &partitions->items[i];
        if (!partition->new_column && (partition->column.count != 1 || partition->transform.text.length)) return unsupported(self, "partitioning by a transform");
        const nl_str name = partition->new_column ? partition->new_column->name.text : partition->column.parts[0].text;
        uint32_t at = 0;
        while (at < count && !nl_str_equal_nocase(fields[at].name, name)) at++;
        if (at == count) return no_such_column(self, "partition", name, fields, count);
        is_moved[at] = true;
        arranged[data_count + i] = fields[at];
    }
    if (partitions->count > 0 && data_count == 0) return NL_RAISE(ALL_PARTITION_COLUMNS_NOT_ALLOWED);
    for (uint32_t i = 0, next = 0; i < count && next < data_count; i++)
        if (!is_moved[i]) arranged[next++] = fields[i];
    self->table.row_type = nl_type_struct(command->arena, arranged, count);
    self->table.partition_count = partitions->count;
    return NULL;
}

static uint32_t column_position(const nl_type *row_type, nl_str name)
{
    for (uint32_t i = 0; i < row_type->child_count; i++)
        if (nl_str_equal_nocase(row_type->children[i].name, name)) return i;
    return UINT32_MAX;
}

/* A default belongs to its column, wherever PARTITIONED BY moved that. */
static void arrange_defaults(plain_creation *self)
{
    const nl_ast_column_definitions *columns = &self->ast->columns;
    nl_str *defaults = NL_NEW_ARRAY(self->command->arena, nl_str, self->table.row_type->child_count + 1);
    for (uint32_t i = 0; i < columns->count; i++) {
        const uint32_t at = column_position(self->table.row_type, columns->items[i].name.text);
        if (!columns->items[i].default_value || at == UINT32_MAX) continue;
        defaults[at] = columns->items[i].default_text;
        self->table.defaults = defaults;
    }
}

/* CLUSTERED BY … SORTED BY … INTO n BUCKETS: what was declared is kept and shown. */
static nl_status take_buckets(plain_creation *self)
{
    nl_command *command = self->command;
    const nl_ast_bucket_spec *bucket = self->ast->clauses.bucket;
    nl_plain_table *table = &self->table;
    if (!bucket) return NULL;
    nl_str *names = NL_NEW_ARRAY(command->arena, nl_str, bucket->columns.count + bucket->sorted_by.count + 1), partitions = {0};
    const uint32_t data_count = table->row_type->child_count - table->partition_count;
    for (uint32_t i = data_count; i < table->row_type->child_count; i++)
        partitions = nl_arena_f(command->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(partitions), i > data_count ? ", " : "", NL_STR_ARG(table->row_type->children[i].name));
    for (uint32_t i = 0; i < bucket->columns.count + bucket->sorted_by.count; i++) {
        const bool is_sort = i >= bucket->columns.count;
        const nl_ast_expr *by = is_sort ? bucket->sorted_by.items[i - bucket->columns.count].expr : NULL;
        const nl_str name = is_sort ? by->column.parts[by->column.count - 1].text : bucket->columns.items[i].text;
        const uint32_t at = column_position(table->row_type, name);
        if (at == UINT32_MAX) return no_such_column(self, is_sort ? "sort" : "bucket", name, table->row_type->children, table->row_type->child_count);
        if (at >= data_count && !is_sort) return NL_RAISE(_LEGACY_ERROR_TEMP_1166, NL_P_STR("bucketCol", name), NL_P_STR("normalizedPartCols", partitions));
        names[i] = table->row_type->children[at].name;
    }
    table->bucket_count = (uint32_t)bucket->count;
    table->bucket_columns = names;
    table->bucket_column_count = bucket->columns.count;
    table->sort_columns = names + bucket->columns.count;
    table->sort_column_count = bucket->sorted_by.count;
    return NULL;
}

static nl_status constant_text(nl_command *command, const nl_ast_property *option, nl_str *text)
{
    nl_value value;
    nl_builder built;
    *text = option->value;
    if (!option->expr) return NULL;
    NL_TRY(nl_analyze_constant(&command->context, option->expr, &value));
    const nl_text_options style = {.style = NL_TEXT_CAST, .zone = command->confs.zone};
    nl_builder_init(&built, 1 << 20);
    nl_value_append_text(&value, &style, &built);
    *text = nl_arena_str(command->arena, nl_builder_str(&built));
    nl_builder_fini(&built);
    return NULL;
}

/* OPTIONS (…): `path` among them is the location. */
static nl_status make_options(plain_creation *self, nl_str *path)
{
    const nl_ast_properties *given = self->ast->clauses.options;
    nl_property *options = NL_NEW_ARRAY(self->command->arena, nl_property, (given ? given->count : 0) + 1);
    for (uint32_t i = 0; given && i < given->count; i++) {
        nl_str text;
        NL_TRY(constant_text(self->command, &given->items[i], &text));
        if (nl_str_is_nocase(given->items[i].key, "path")) *path = text;
        else options[self->table.option_count++] = (nl_property){given->items[i].key, text};
    }
    self->table.options = options;
    return NULL;
}

/* Spark's warehouse: "<warehouse>/t" in the namespace default, else "<warehouse>/db.db/t". */
nl_status nl_plain_namespace_folder(nl_command *command, const nl_str *parts, uint32_t part_count, nl_str *folder)
{
    NL_TRY(nl_plain_path_absolute(command->arena, nl_session_get(command->session, NL_STR("spark.sql.warehouse.dir")), folder));
    for (uint32_t i = 0; i < part_count; i++) {
        const nl_str part = lower(command, parts[i]);
        NL_TRY(nl_plain_check_part(part));
        if (i > 0 || !nl_str_is(part, "default")) *folder = nl_path_join(command->arena, *folder, nl_arena_f(command->arena, NL_STR_FMT ".db", NL_STR_ARG(part)));
    }
    return NULL;
}

static nl_status make_location(plain_creation *self, nl_str given)
{
    nl_command *command = self->command;
    const nl_identifier *identifier = &self->name->identifier;
    nl_fs *fs = NULL;
    nl_file_info info;
    self->table.is_external = given.data != NULL;
    if (given.data) return nl_plain_path_absolute(command->arena, given, &self->table.location);
    nl_str folder;
    NL_TRY(nl_plain_namespace_folder(command, identifier->namespace_parts, identifier->namespace_count, &folder));
    NL_TRY(nl_plain_check_part(identifier->name));
    self->table.location = nl_path_join(command->arena, folder, lower(command, identifier->name));
    NL_TRY(nl_session_files(command->session, &fs));
    nl_error *error = nl_fs_stat(fs, self->table.location, &info);
    const bool is_there = !error;
    nl_error_free(error);
    if (!is_there) return NULL;
    return NL_RAISE(LOCATION_ALREADY_EXISTS, NL_P_STR("identifier", nl_command_quoted_name(command, self->name)), NL_P_STR("location", nl_arena_f(command->arena, "'file:" NL_STR_FMT "'", NL_STR_ARG(self->table.location))));
}

static nl_status prepare(plain_creation *self, nl_str *location)
{
    nl_command *command = self->command;
    const nl_ast_table_clauses *clauses = &self->ast->clauses;
    const nl_str provider = lower(command, wanted_provider(command, &self->ast->provider));
    *location = clauses->location;
    if (nl_hive_is_catalog(self->name->catalog) && nl_str_is_nocase(nl_session_get(command->session, NL_STR("spark.sql.catalogImplementation")), "hive"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                             "Tables over plain files that the Hive metastore keeps cannot be made yet. Without spark.sql.catalogImplementation=hive they live as long as the program.");
    if (!nl_file_format_is_known(provider)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", provider));
    if (clauses->has_cluster_by) return unsupported(self, "CLUSTER BY");
    if (clauses->collation.text.data) {
        nl_collation collation;
        NL_TRY(nl_collation_find(command->arena, clauses->collation.text, &collation));
        self->table.collation = collation.name;
    }
    if (self->ast->is_replace && !self->ast->is_saved) return unsupported(self, "REPLACE TABLE");
    self->table.namespace_parts = self->name->identifier.namespace_parts;
    self->table.namespace_count = self->name->identifier.namespace_count;
    self->table.name = lower(command, self->name->identifier.name);
    self->table.provider = provider;
    self->table.created_micros = nl_now_micros();
    if (clauses->has_comment) self->table.comment = clauses->comment;
    nl_command_properties(command, clauses->properties, &self->table.properties, &self->table.property_count);
    return make_options(self, location);
}

/* What saveAsTable's overwrite takes the place of; the new rows are known to be right as far as analysis goes. */
static nl_status drop_replaced(plain_creation *self)
{
    nl_command *command = self->command;
    const nl_plain_table *old = NULL;
    bool is_iceberg = false;
    NL_TRY(nl_plain_find(command, self->name, &old));
    if (!old) {
        NL_TRY(nl_catalog_table_exists(self->name->catalog, &self->name->identifier, &is_iceberg));
        return is_iceberg ? unsupported(self, "overwriting it by plain files") : NULL;
    }
    if (nl_plain_is_read(command, old)) return NL_RAISE(UNSUPPORTED_OVERWRITE__TABLE, NL_P_STR("table", nl_plain_quoted(command, old)));
    return nl_plain_drop(command, old);
}

/* The files that are there already say what their columns are. */
static nl_status inferred_fields(plain_creation *self, const nl_field **fields, uint32_t *count)
{
    nl_command *command = self->command;
    const nl_table *source = NULL;
    nl_fs *fs = NULL;
    NL_TRY(nl_session_files(command->session, &fs));
    nl_error *error = nl_file_source_new(fs, self->table.provider, &self->table.location, 1, self->table.options, self->table.option_count, NULL, &command->confs, command->memory,
                                         &source);
    if (error && nl_error_condition(error) == NL_COND_PATH_NOT_FOUND) {
        nl_error_free(error);
        return NL_RAISE(UNABLE_TO_INFER_SCHEMA, NL_P("format", nl_file_format_title(self->table.provider)));
    }
    NL_TRY(error);
    *fields = nl_type_copy(command->arena, source->row_type)->children;
    *count = source->row_type->child_count;
    nl_table_release(source);
    return NULL;
}

static nl_status create_from_query(plain_creation *self, nl_str location)
{
    nl_command *command = self->command;
    const nl_logical *query = NULL, *input = NULL;
    const nl_identifier identifier = {self->table.namespace_parts, self->table.namespace_count, self->table.name};
    NL_TRY(nl_cached_analyze(command, self->ast->query, &query));
    NL_TRY(nl_view_check_columns(command, query, NULL, 0));
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, query->column_count + 1);
    for (uint32_t i = 0; i < query->column_count; i++) {
        fields[i] = (nl_field){.name = query->columns[i].name, .is_nullable = true};
        NL_TRY(nl_raw_type(command->arena, &query->columns[i], &fields[i].type));
    }
    NL_TRY(arrange(self, fields, query->column_count));
    NL_TRY(take_buckets(self));
    if (self->ast->is_replace) NL_TRY(drop_replaced(self));
    NL_TRY(make_location(self, location));
    NL_TRY(nl_plan_store(&command->context, query, self->table.row_type, nl_command_quoted_name(command, self->name), self->table.partition_count > 0, &input));
    NL_TRY(nl_session_put_plain_table(command->session, &self->table));
    nl_status status = nl_plain_write(command, nl_session_find_plain_table(command->session, &identifier, command->arena), input, false, NULL);
    if (status) nl_session_drop_plain_table(command->session, &identifier);
    return status;
}

nl_status nl_plain_create(nl_command *command, const nl_ast_create_table *create, const nl_session_name *name)
{
    plain_creation self = {.command = command, .ast = create, .name = name};
    const nl_field *fields = NULL;
    uint32_t count = 0;
    nl_fs *fs = NULL;
    nl_str location;
    NL_TRY(nl_check_session_namespace(command, name));
    NL_TRY(prepare(&self, &location));
    if (create->query) return create_from_query(&self, location);
    NL_TRY(make_location(&self, location));
    NL_TRY(declared_fields(&self, &fields, &count));
    if (count == 0 || create->columns.count == 0) NL_TRY(inferred_fields(&self, &fields, &count));
    NL_TRY(arrange(&self, fields, count));
    NL_TRY(take_buckets(&self));
    arrange_defaults(&self);
    NL_TRY(nl_session_files(command->session, &fs));
    if (!self.table.is_external) NL_TRY(nl_fs_make_directory(fs, self.table.location)); /* the other's place may be a file, or come later */
    return nl_session_put_plain_table(command->session, &self.table);
}

/* ---- LIKE -------------------------------------------------------------------------------------------------------- */

/* Without the catalog, as Spark names tables here. */
static nl_str like_name(nl_command *command, const nl_session_name *name)
{
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, name->identifier.namespace_count + 1);
    for (uint32_t i = 0; i < name->identifier.namespace_count; i++) parts[i] = name->identifier.namespace_parts[i];
    parts[name->identifier.namespace_count] = name->identifier.name;
    return nl_command_quoted(command, parts, name->identifier.namespace_count + 1);
}

/* What the new table has of a view or of an Iceberg table: its columns. */
static nl_status like_relation(plain_creation *self, const nl_ast_create_table_like *like, const nl_str *parts, uint32_t count)
{
    nl_command *command = self->command;
    nl_facts facts;
    nl_error *error = nl_facts_find(command, parts, count, like->source.range, &facts);
    if (error && nl_error_condition(error) == NL_COND_TABLE_OR_VIEW_NOT_FOUND && count == 1) { /* Spark names it with its schema here */
        nl_session_name name;
        nl_error_free(error);
        NL_TRY(nl_session_resolve(command->session, parts, count, command->arena, &name));
        return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", like_name(command, &name)));
    }
    NL_TRY(error);
    self->table.row_type = facts.row_type;
    self->table.provider = NL_STR("parquet");
    return NULL;
}

/* Columns, partitions, format and options are the other's; properties and the place are the new table's own. */
nl_status nl_plain_create_like(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_create_table_like *like = statement->create_table_like;
    const nl_plain_table *source = NULL, *there = NULL;
    nl_session_name name;
    nl_fs *fs = NULL;
    const nl_str *parts;
    uint32_t count;
    bool exists = false;
    plain_creation self = {.command = command, .name = &name};
    NL_TRY(nl_command_table_name(command, &like->name, &name));
    if (!nl_str_is(name.catalog_name, SESSION_CATALOG)) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CREATE TABLE … LIKE makes tables of spark_catalog only");
    NL_TRY(nl_plain_find_name(command, &like->source, &source));
    NL_TRY(nl_command_name(command, &like->source, &parts, &count));
    if (source) self.table = *source;
    else NL_TRY(like_relation(&self, like, parts, count));
    NL_TRY(nl_plain_find(command, &name, &there));
    exists = there != NULL;
    if (!exists) NL_TRY(nl_catalog_table_exists(name.catalog, &name.identifier, &exists));
    if (exists && like->is_if_not_exists) return NULL;
    if (exists) return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", like_name(command, &name)));
    if (like->provider.count > 0) self.table.provider = lower(command, like->provider.parts[like->provider.count - 1].text);
    if (!nl_file_format_is_known(self.table.provider)) return NL_RAISE(DATA_SOURCE_NOT_FOUND, NL_P_STR("provider", self.table.provider));
    self.table.namespace_parts = name.identifier.namespace_parts;
    self.table.namespace_count = name.identifier.namespace_count;
    self.table.name = lower(command, name.identifier.name);
    self.table.is_kept = false;
    self.table.comment = (nl_str){0};
    self.table.folders = NULL;
    self.table.folder_count = self.table.statistics_count = 0;
    self.table.created_micros = nl_now_micros();
    nl_command_properties(command, like->properties, &self.table.properties, &self.table.property_count);
    NL_TRY(make_location(&self, like->location));
    NL_TRY(nl_session_files(command->session, &fs));
    if (!self.table.is_external) NL_TRY(nl_fs_make_directory(fs, self.table.location));
    return nl_session_put_plain_table(command->session, &self.table);
}
