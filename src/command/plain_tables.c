/* command/plain_tables.c - see plain_tables.h: finding, reading, writing and dropping. */
#include "command/cached.h"
#include "command/plain_tables.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/json.h"
#include "catalog/hive/plain.h"
#include "command/views.h"
#include "exec/sinks.h"
#include "exec/source/plain_files.h"
#include "exec/sources.h"

#define SESSION_CATALOG "spark_catalog"

/* ---- names ------------------------------------------------------------------------------------------------------- */

static nl_str lower(nl_command *command, nl_str text)
{
    char *made = NL_NEW_ARRAY(command->arena, char, text.length + 1);
    for (size_t i = 0; i < text.length; i++) made[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + 'a' - 'A') : text.data[i];
    return (nl_str){made, text.length};
}

/* Spark keeps a column's comment in its metadata, {"comment":"…"}. */
static const nl_type *with_comments(nl_command *command, const nl_type *row_type)
{
    nl_field *fields = NL_NEW_ARRAY(command->arena, nl_field, row_type->child_count + 1);
    for (uint32_t i = 0; i < row_type->child_count; i++) {
        fields[i] = row_type->children[i];
        json_t *metadata = fields[i].metadata.length ? json_loadb(fields[i].metadata.data, fields[i].metadata.length, 0, NULL) : NULL;
        const json_t *comment = json_object_get(metadata, "comment");
        if (json_is_string(comment)) fields[i].comment = nl_arena_str(command->arena, (nl_str){json_string_value(comment), json_string_length(comment)});
        fields[i].metadata = (nl_str){0};
        json_decref(metadata);
    }
    return nl_type_struct(command->arena, fields, row_type->child_count);
}

/* What the metastore knows of a table that Spark or Hive made. */
static nl_status kept_table(nl_command *command, const nl_session_name *name, const nl_hive_plain *plain, const nl_plain_table **table)
{
    nl_plain_table *made = NL_NEW(command->arena, nl_plain_table);
    *made = (nl_plain_table){
        .namespace_parts = name->identifier.namespace_parts,
        .namespace_count = name->identifier.namespace_count,
        .name = lower(command, name->identifier.name),
        .provider = plain->provider.length ? lower(command, plain->provider) : NL_STR("hive"),
        .location = plain->location,
        .is_external = plain->is_external,
        .is_kept = true,
        .comment = plain->comment,
        .owner = plain->owner,
        .partition_count = plain->partition_count,
        .options = plain->options,
        .option_count = plain->option_count,
        .properties = plain->properties,
        .property_count = plain->property_count,
        .folders = plain->folders,
        .folder_count = plain->folder_count,
        .created_micros = plain->created_micros,
    };
    if (plain->schema_json.length) NL_TRY_NOTE(nl_sql_parse_json_type(command->arena, plain->schema_json, &made->row_type), "reading the schema that the metastore has of a table");
    else NL_TRY_NOTE(nl_sql_parse_schema(command->arena, plain->schema_text, &made->row_type), "reading the columns that the metastore has of a table");
    if (made->row_type->id != NL_TYPE_STRUCT || made->row_type->child_count < made->partition_count)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The Hive metastore's schema of " NL_STR_FMT " does not have its partition columns", NL_STR_ARG(made->name));
    made->row_type = with_comments(command, made->row_type);
    *table = made;
    return NULL;
}

nl_status nl_plain_find(nl_command *command, const nl_session_name *name, const nl_plain_table **table)
{
    const nl_hive_plain *kept = NULL;
    *table = NULL;
    if (!nl_str_is(name->catalog_name, SESSION_CATALOG)) return NULL;
    *table = nl_session_find_plain_table(command->session, &name->identifier, command->arena);
    if (*table || !name->catalog || !nl_hive_is_catalog(name->catalog)) return NULL;
    NL_TRY(nl_hive_plain_load(name->catalog, &name->identifier, command->arena, &kept));
    return kept ? kept_table(command, name, kept, table) : NULL;
}

nl_status nl_plain_check_own(nl_command *command, const nl_plain_table *table)
{
    if (!table->is_kept) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Hive metastore keeps " NL_STR_FMT ", which is no Iceberg table: nilas reads such tables and does not change them yet",
                         NL_STR_ARG(nl_plain_quoted(command, table)));
}

nl_status nl_plain_find_name(nl_command *command, const nl_ast_name *name, const nl_plain_table **table)
{
    nl_session_name resolved;
    const nl_str *parts;
    uint32_t count;
    *table = NULL;
    NL_TRY(nl_command_name(command, name, &parts, &count));
    if (count > 3 || (count == 1 && nl_session_find_view(command->session, parts[0], false, command->arena))) return NULL;
    NL_TRY(nl_session_resolve(command->session, parts, count, command->arena, &resolved));
    return nl_plain_find(command, &resolved, table);
}

nl_str nl_plain_quoted(nl_command *command, const nl_plain_table *table)
{
    const nl_session_name name = {.catalog_name = NL_STR(SESSION_CATALOG), .identifier = {table->namespace_parts, table->namespace_count, table->name}};
    return nl_command_quoted_name(command, &name);
}

nl_str nl_plain_folder_path(nl_command *command, const nl_plain_table *table, nl_str folder)
{
    return nl_path_join(command->arena, table->location, folder);
}

nl_status nl_plain_check_part(nl_str part)
{
    const bool is_fine = part.length > 0 && !nl_str_is(part, ".") && !nl_str_is(part, "..") && nl_str_find_char(part, '/', 0) == NL_NOT_FOUND;
    return is_fine ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "\"" NL_STR_FMT "\" cannot be the name of a folder, and so of no managed table", NL_STR_ARG(part));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const nl_field *partition_fields(const nl_plain_table *table)
{
    return table->row_type->children + (table->row_type->child_count - table->partition_count);
}

static const nl_type *data_type(nl_command *command, const nl_plain_table *table)
{
    return nl_type_struct(command->arena, table->row_type->children, table->row_type->child_count - table->partition_count);
}

nl_status nl_plain_source(nl_command *command, const nl_plain_table *table, const nl_table **source)
{
    nl_fs *fs = NULL;
    const nl_file_table files = {data_type(command, table), partition_fields(table), table->partition_count, table->folders, table->folder_count};
    nl_str *location = NL_NEW(command->arena, nl_str);
    *location = nl_arena_str(command->arena, table->location);
    nl_list_add(command->arena, &command->plain_read, location);
    NL_TRY(nl_session_files(command->session, &fs));
    return nl_file_table_source_new(fs, table->provider, table->location, &files, table->options, table->option_count, &command->confs, command->memory, source);
}

/* ---- partitions -------------------------------------------------------------------------------------------------- */

static uint32_t partition_position(const nl_plain_table *table, nl_str name)
{
    for (uint32_t i = 0; i < table->partition_count; i++)
        if (nl_str_equal_nocase(partition_fields(table)[i].name, name)) return i;
    return UINT32_MAX;
}

nl_status nl_plain_pieces(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition, nl_str **pieces)
{
    *pieces = NL_NEW_ARRAY(command->arena, nl_str, table->partition_count + 1);
    for (uint32_t i = 0; partition && i < partition->count; i++) {
        const nl_str name = partition->items[i].name.text;
        const uint32_t at = partition_position(table, name);
        nl_value value, cast;
        nl_builder text;
        if (at == UINT32_MAX)
            return NL_RAISE(PARTITIONS_NOT_FOUND, NL_P_STR("partitionList", nl_command_quoted(command, &name, 1)), NL_P_STR("tableName", nl_plain_quoted(command, table)));
        if (!partition->items[i].value) continue;
        NL_TRY(nl_analyze_constant(&command->context, partition->items[i].value, &value));
        NL_TRY(nl_cast_value(command->arena, &command->confs, NL_CAST_ANSI, &value, partition_fields(table)[at].type, &cast));
        nl_builder_init(&text, 1 << 20);
        nl_status status = nl_plain_append_folder(&partition_fields(table)[at], &cast, 1, &command->confs, &text);
        (*pieces)[at] = nl_arena_str(command->arena, nl_builder_str(&text));
        nl_builder_fini(&text);
        NL_TRY(status);
    }
    return NULL;
}

bool nl_plain_matches(const nl_plain_table *table, nl_str folder, const nl_str *pieces)
{
    nl_str part;
    for (uint32_t i = 0; i < table->partition_count && nl_str_next_part(&folder, '/', &part); i++)
        if (pieces[i].data && !nl_str_equal(pieces[i], part)) return false;
    return true;
}

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static uint32_t sort_folders(nl_str *folders, uint32_t count)
{
    uint32_t kept = 0;
    if (count > 1) qsort(folders, count, sizeof(*folders), compare_texts);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || !nl_str_equal(folders[i], folders[kept - 1])) folders[kept++] = folders[i];
    return kept;
}

/* All lists are sorted. What another session has made of the base, changed as `ours` changes it. */
static nl_str *merge_folders(nl_arena *arena, const nl_plain_table *base, const nl_plain_table *theirs, const nl_str *ours, uint32_t our_count, uint32_t *count)
{
    nl_str *merged = NL_NEW_ARRAY(arena, nl_str, theirs->folder_count + our_count + 1);
    uint32_t in_base = 0, in_ours = 0;
    *count = 0;
    for (uint32_t i = 0; i < theirs->folder_count; i++) {
        const nl_str folder = theirs->folders[i];
        while (in_base < base->folder_count && nl_str_compare(base->folders[in_base], folder) < 0) in_base++;
        while (in_ours < our_count && nl_str_compare(ours[in_ours], folder) < 0) in_ours++;
        const bool was_there = in_base < base->folder_count && nl_str_equal(base->folders[in_base], folder);
        const bool is_ours = in_ours < our_count && nl_str_equal(ours[in_ours], folder);
        if (!was_there || is_ours) merged[(*count)++] = folder;
    }
    in_base = 0;
    for (uint32_t i = 0; i < our_count; i++) {
        while (in_base < base->folder_count && nl_str_compare(base->folders[in_base], ours[i]) < 0) in_base++;
        if (in_base == base->folder_count || !nl_str_equal(base->folders[in_base], ours[i])) merged[(*count)++] = ours[i];
    }
    *count = sort_folders(merged, *count);
    return merged;
}

nl_status nl_plain_put_folders(nl_command *command, const nl_plain_table *table, nl_str *folders, uint32_t count)
{
    const nl_identifier identifier = {table->namespace_parts, table->namespace_count, table->name};
    const nl_plain_table *there = table;
    count = sort_folders(folders, count);
    for (;;) { /* until no other session has changed the table since it was found */
        nl_plain_table changed = *there;
        bool is_swapped = false;
        changed.folders = there == table ? folders : merge_folders(command->arena, table, there, folders, count, &changed.folder_count);
        if (there == table) changed.folder_count = count;
        NL_TRY(nl_session_swap_plain_table(command->session, there, &changed, &is_swapped));
        if (is_swapped) {
            nl_session_note_change(command->session);
            return NULL;
        }
        there = nl_session_find_plain_table(command->session, &identifier, command->arena);
        if (!there) return NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_plain_quoted(command, table)));
        NL_TRY(nl_arena_check(command->arena));
    }
}

nl_status nl_plain_check_partition(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition)
{
    nl_str *pieces, named = {0}, all = {0};
    NL_TRY(nl_plain_pieces(command, table, partition, &pieces));
    for (uint32_t i = 0; i < partition->count; i++) named = nl_arena_f(command->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(named), i ? "," : "", NL_STR_ARG(partition->items[i].name.text));
    for (uint32_t i = 0; i < table->partition_count; i++) all = nl_arena_f(command->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(all), i ? "," : "", NL_STR_ARG(partition_fields(table)[i].name));
    if (partition->count == table->partition_count) return NULL;
    return NL_RAISE(_LEGACY_ERROR_TEMP_1169, NL_P_STR("tableName", nl_plain_quoted(command, table)), NL_P_STR("normalizedPartSpec", named), NL_P_STR("partColNames", all));
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

bool nl_plain_is_read(const nl_command *command, const nl_plain_table *table)
{
    for (uint32_t i = 0; i < command->plain_read.count; i++)
        if (nl_str_equal(*(const nl_str *)command->plain_read.items[i], table->location)) return true;
    return false;
}

/* What an overwrite takes away: the partitions that the static values of PARTITION (…) speak of, or those that get rows. */
static nl_status choose_layout(nl_command *command, const nl_plain_table *table, bool is_overwrite, const nl_ast_partition_spec *partition, nl_file_layout *layout)
{
    nl_str *pieces, *removed = NL_NEW_ARRAY(command->arena, nl_str, table->folder_count + 1);
    bool is_static = partition != NULL;
    *layout = (nl_file_layout){.partition_count = table->partition_count, .mode = is_overwrite ? NL_FILES_REPLACED : NL_FILES_ADDED};
    if (!is_overwrite || table->partition_count == 0) return NULL;
    for (uint32_t i = 0; partition && i < partition->count; i++) is_static = is_static && partition->items[i].value;
    const nl_str mode = nl_session_get(command->session, NL_STR("spark.sql.sources.partitionOverwriteMode"));
    if (nl_str_is_nocase(mode, "dynamic") && !is_static) {
        layout->mode = NL_FILES_REPLACED_BY_FOLDER;
        return NULL;
    }
    NL_TRY(nl_plain_pieces(command, table, partition, &pieces));
    for (uint32_t i = 0; i < table->folder_count; i++)
        if (nl_plain_matches(table, table->folders[i], pieces)) removed[layout->removed_count++] = nl_arena_str(command->arena, table->folders[i]);
    layout->removed = removed;
    return NULL;
}

/* The partitions after a write: those that were there and were not taken away, and those that got rows. */
static nl_status put_written(nl_command *command, const nl_plain_table *table, const nl_file_layout *layout, const nl_str *written, uint32_t written_count)
{
    nl_str *folders = NL_NEW_ARRAY(command->arena, nl_str, table->folder_count + written_count + 1);
    uint32_t count = 0;
    if (table->partition_count == 0) return NULL;
    for (uint32_t i = 0, next = 0; i < table->folder_count; i++) { /* both lists are sorted */
        const bool is_removed = next < layout->removed_count && nl_str_equal(layout->removed[next], table->folders[i]);
        if (is_removed) next++;
        else folders[count++] = nl_arena_str(command->arena, table->folders[i]);
    }
    for (uint32_t i = 0; i < written_count; i++) folders[count++] = written[i];
    return nl_plain_put_folders(command, table, folders, count);
}

nl_status nl_plain_write(nl_command *command, const nl_plain_table *table, const nl_logical *input, bool is_overwrite, const nl_ast_partition_spec *partition)
{
    nl_file_layout layout;
    nl_parallel_sink *sink = NULL;
    nl_file_plan plan;
    const nl_str *written;
    uint32_t written_count;
    NL_TRY(nl_plain_check_own(command, table));
    if (is_overwrite && nl_plain_is_read(command, table)) return NL_RAISE(UNSUPPORTED_OVERWRITE__TABLE, NL_P_STR("table", nl_plain_quoted(command, table)));
    NL_TRY(choose_layout(command, table, is_overwrite, partition, &layout));
    NL_TRY(nl_command_plan_files(command, input, layout.partition_count > 0, &plan));
    NL_TRY(nl_session_files(command->session, &command->query.files));
    NL_TRY(nl_file_sink_new(&command->query, table->provider, table->location, table->row_type, table->options, table->option_count, &layout, &sink));
    nl_status status = nl_command_run_files(command, &plan, sink);
    if (status) {
        nl_file_sink_discard(sink);
        return status;
    }
    nl_file_sink_folders(sink, command->arena, &written, &written_count);
    status = nl_file_sink_finish(sink);
    nl_session_note_change(command->session);
    NL_TRY(status);
    return put_written(command, table, &layout, written, written_count);
}

static nl_status empty_folders(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition)
{
    nl_fs *fs = NULL;
    nl_str *pieces;
    NL_TRY(nl_plain_check_own(command, table));
    NL_TRY(nl_session_files(command->session, &fs));
    if (partition && table->partition_count == 0) return NL_RAISE(INVALID_PARTITION_OPERATION__PARTITION_SCHEMA_IS_EMPTY, NL_P_STR("name", nl_plain_quoted(command, table)));
    NL_TRY(nl_plain_pieces(command, table, partition, &pieces));
    if (table->partition_count == 0) {
        NL_TRY(nl_fs_remove_tree(fs, table->location));
        return nl_fs_make_directory(fs, table->location);
    }
    for (uint32_t i = 0; i < table->folder_count; i++) { /* the partitions stay, empty */
        if (!nl_plain_matches(table, table->folders[i], pieces)) continue;
        const nl_str path = nl_plain_folder_path(command, table, table->folders[i]);
        NL_TRY(nl_fs_remove_tree(fs, path));
        NL_TRY(nl_fs_make_directory(fs, path));
    }
    return NULL;
}

nl_status nl_plain_truncate(nl_command *command, const nl_plain_table *table, const nl_ast_partition_spec *partition)
{
    nl_status status = empty_folders(command, table, partition);
    nl_session_note_change(command->session);
    return status;
}

nl_status nl_plain_drop(nl_command *command, const nl_plain_table *table)
{
    nl_fs *fs = NULL;
    const nl_identifier identifier = {table->namespace_parts, table->namespace_count, table->name};
    NL_TRY(nl_plain_check_own(command, table));
    NL_TRY(nl_session_files(command->session, &fs));
    if (!table->is_external) NL_TRY(nl_fs_remove_tree(fs, table->location));
    nl_session_drop_plain_table(command->session, &identifier);
    nl_session_note_change(command->session); /* what others keep of it is not that of the next one of its name */
    return NULL;
}
