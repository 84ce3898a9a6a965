/* command/call/import.c - see import.h. Source: SparkTableUtil.importSparkTable, importSparkPartitions and AddFilesProcedure,
 * whose messages these are. */
#include "command/call/import.h"

#include <stdlib.h>

#include "base/number.h"
#include "exec/data_formats.h"
#include "exec/sink/file_import.h"
#include "exec/source/plain_files.h"
#include "iceberg/scan_planning.h"

#define DEFAULT_PARTITION  "__HIVE_DEFAULT_PARTITION__"
#define NAMED_PATHS_MAX    10u /* of duplicates in a message */

typedef struct importing {
    const nl_import *input;
    nl_arena *arena;
    const nl_table_metadata *metadata; /* counted */
    nl_fs *fs;
    const nl_partition_spec *spec;
    nl_name_mapping mapping;
    bool has_mapping;
    nl_plain_files files;
    nl_file_import *imports;           /* the files that are taken */
    uint32_t import_count;
    nl_arena **arenas;                 /* one per file: footers are read side by side */
    nl_data_file *data_files;
} importing;

nl_str nl_import_mapping(nl_arena *arena, const nl_schema *schema)
{
    nl_name_mapping mapping;
    nl_builder json;
    nl_name_mapping_of_schema(arena, schema, &mapping);
    nl_builder_init(&json, NL_METADATA_BYTES_MAX);
    nl_name_mapping_append_json(&mapping, &json);
    const nl_str text = nl_arena_str(arena, nl_builder_str(&json));
    nl_builder_fini(&json);
    return text;
}

nl_status nl_import_check_parallelism(const nl_call *call, uint32_t parameter)
{
    return nl_call_int(call, parameter, 1) > 0 ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Parallelism should be larger than 0");
}

nl_status nl_import_name(nl_call *call, uint32_t parameter, const char *what, nl_session_name *name)
{
    nl_command *command = call->command;
    nl_ast_name parsed;
    const nl_str text = nl_call_text(call, parameter);
    if (text.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot handle an empty identifier for %s", what);
    NL_TRY(nl_sql_parse_name(command->arena, text, NULL, &parsed));
    return nl_command_table_name(command, &parsed, name);
}

nl_str nl_import_dotted(nl_arena *arena, const nl_identifier *identifier)
{
    nl_str text = {0};
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT NL_STR_FMT ".", NL_STR_ARG(text), NL_STR_ARG(identifier->namespace_parts[i]));
    return nl_arena_f(arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(identifier->name));
}

/* ---- which files ----------------------------------------------------------------------------------------------- */

nl_str nl_import_path(nl_arena *arena, nl_str path)
{
    const nl_str local = nl_path_local(arena, path);
    return local.length > 0 && local.data[0] == '/' ? nl_arena_f(arena, "file:" NL_STR_FMT, NL_STR_ARG(local)) : path;
}

static nl_status list_files(importing *self)
{
    const nl_import *input = self->input;
    const nl_plain_table *source = input->source;
    nl_file_selection selection = {0};
    nl_file_table table;
    const nl_str location = source ? source->location : input->location;
    if (source) {
        const uint32_t data_count = source->row_type->child_count - source->partition_count;
        table = (nl_file_table){nl_type_struct(self->arena, source->row_type->children, data_count), source->row_type->children + data_count, source->partition_count,
                                source->folders, source->folder_count};
        selection.table = &table;
    }
    NL_TRY(nl_session_files(input->command->session, &self->fs));
    self->files.fs = nl_fs_retain(self->fs);
    nl_error *error = nl_plain_files_list(&location, 1, &selection, &input->command->confs, self->arena, &self->files);
    if (!error || nl_error_condition(error) != NL_COND_PATH_NOT_FOUND) return error;
    nl_error_free(error);
    if (nl_table_spec(self->metadata)->field_count > 0) return NULL; /* said by the partitions that it does not have */
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unable to list files in partition: " NL_STR_FMT, NL_STR_ARG(location));
}

static bool is_compatible(const nl_partition_spec *spec, const nl_plain_files *files)
{
    bool is_same = spec->field_count == files->partition_count;
    for (uint32_t i = 0; is_same && i < spec->field_count; i++)
        is_same = spec->fields[i].transform.kind == NL_TRANSFORM_IDENTITY && nl_str_equal_nocase(spec->fields[i].name, files->partition_fields[i].name);
    return is_same;
}

static nl_status find_spec(importing *self)
{
    for (uint32_t i = 0; i < self->metadata->spec_count && !self->spec; i++)
        if (is_compatible(self->metadata->specs[i], &self->files)) self->spec = self->metadata->specs[i];
    if (self->spec) return NULL;
    nl_str names = {0};
    for (uint32_t i = 0; i < self->files.partition_count; i++)
        names = nl_arena_f(self->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(names), i ? ", " : "", NL_STR_ARG(self->files.partition_fields[i].name));
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find a partition spec in Iceberg table " NL_STR_FMT " that matches the partition columns ([" NL_STR_FMT "]) in input table",
                         NL_STR_ARG(self->input->name), NL_STR_ARG(names));
}

static bool is_partition_name(const importing *self, nl_str name)
{
    for (uint32_t i = 0; i < self->spec->field_count; i++)
        if (nl_str_equal(self->spec->fields[i].name, name)) return true;
    return false;
}

static nl_status check_filter(const importing *self)
{
    const nl_import *input = self->input;
    nl_str unknown = {0}, valid = {0};
    if (input->filter_count == 0) return NULL;
    if (self->spec->field_count == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot use partition filter with an unpartitioned table " NL_STR_FMT, NL_STR_ARG(input->name));
    if (input->filter_count > self->spec->field_count)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Cannot add data files to target table " NL_STR_FMT " because that table is partitioned, but the number of columns in the provided partition filter (%u) "
                             "is greater than the number of partitioned columns in table (%u)",
                             NL_STR_ARG(input->name), input->filter_count, self->spec->field_count);
    for (uint32_t i = 0; i < input->filter_count; i++)
        if (!is_partition_name(self, input->filter[i].key))
            unknown = nl_arena_f(self->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(unknown), unknown.length ? ", " : "", NL_STR_ARG(input->filter[i].key));
    if (unknown.length == 0) return NULL;
    for (uint32_t i = 0; i < self->spec->field_count; i++)
        valid = nl_arena_f(self->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(valid), i ? "," : "", NL_STR_ARG(self->spec->fields[i].name));
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "Cannot add files to target table " NL_STR_FMT ". " NL_STR_FMT " is partitioned but the specified partition filter refers to columns that are not partitioned: ["
                         NL_STR_FMT "] . Valid partition columns: [" NL_STR_FMT "]",
                         NL_STR_ARG(input->name), NL_STR_ARG(input->name), NL_STR_ARG(unknown), NL_STR_ARG(valid));
}

/* ---- their partitions ------------------------------------------------------------------------------------------ */

static nl_status value_of_text(const importing *self, uint32_t field, nl_str raw, nl_str text, nl_value *value)
{
    nl_command *command = self->input->command;
    const nl_ice_type *ice = nl_table_source_type(self->arena, self->metadata, &self->spec->fields[field]);
    const nl_type *sql = NULL;
    const nl_value source = nl_value_string(text);
    NL_TRY(nl_ice_type_to_sql(self->arena, ice, &sql));
    if (ice->id == NL_ICE_UUID || ice->id == NL_ICE_FIXED)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas does not bring in files that are partitioned by a column of type " NL_STR_FMT, NL_STR_ARG(nl_ice_type_name(self->arena, ice)));
    nl_error *error = nl_cast_value(self->arena, &command->confs, NL_CAST_ANSI, &source, sql, value);
    if (!error) return NULL;
    nl_error_free(error);
    return NL_RAISE(INVALID_PARTITION_VALUE, NL_P_STR("value", nl_arena_f(self->arena, "'" NL_STR_FMT "'", NL_STR_ARG(raw))),
                    NL_P_STR("dataType", nl_arena_f(self->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(self->arena, sql)))),
                    NL_P_STR("columnName", nl_command_quoted(command, &self->spec->fields[field].name, 1)));
}

/* The values that the names of a file's folders say, from the innermost outwards. */
static nl_status read_partition(const importing *self, nl_str path, nl_value *values)
{
    nl_str folder = nl_path_parent(path);
    for (uint32_t i = self->spec->field_count; i-- > 0; folder = nl_path_parent(folder)) {
        const nl_str name = nl_path_name(folder);
        const size_t equals = NL_MIN(nl_str_find_char(name, '=', 0), name.length);
        const nl_str raw = nl_str_slice(name, NL_MIN(equals + 1, name.length), name.length);
        if (nl_str_is(raw, DEFAULT_PARTITION)) {
            const nl_ice_type *type = nl_table_source_type(self->arena, self->metadata, &self->spec->fields[i]);
            values[i] = nl_value_null(nl_ice_type_storage(self->arena, type));
            continue;
        }
        NL_TRY(value_of_text(self, i, raw, nl_plain_unescape(self->arena, raw), &values[i]));
    }
    return NULL;
}

static nl_status matches_filter(const importing *self, const nl_value *filter_values, const nl_value *values, bool *is_wanted)
{
    const nl_import *input = self->input;
    *is_wanted = true;
    for (uint32_t i = 0; i < input->filter_count; i++)
        for (uint32_t j = 0; j < self->spec->field_count; j++)
            if (nl_str_equal(self->spec->fields[j].name, input->filter[i].key))
                *is_wanted = *is_wanted && !values[j].is_null && nl_value_equal(&filter_values[i], &values[j]);
    return NULL;
}

static nl_status choose_files(importing *self)
{
    const nl_import *input = self->input;
    nl_value *filter_values = NL_NEW_ARRAY(self->arena, nl_value, input->filter_count + 1);
    self->imports = NL_NEW_ARRAY(self->arena, nl_file_import, self->files.file_count + 1);
    nl_value **partitions = NL_NEW_ARRAY(self->arena, nl_value *, self->files.file_count + 1);
    for (uint32_t i = 0; i < self->files.file_count; i++) {
        partitions[i] = NL_NEW_ARRAY(self->arena, nl_value, self->spec->field_count + 1);
        NL_TRY(read_partition(self, self->files.files[i].path, partitions[i]));
    }
    for (uint32_t i = 0; i < input->filter_count; i++)
        for (uint32_t j = 0; j < self->spec->field_count; j++)
            if (nl_str_equal(self->spec->fields[j].name, input->filter[i].key))
                NL_TRY(value_of_text(self, j, input->filter[i].value, input->filter[i].value, &filter_values[i]));
    for (uint32_t i = 0; i < self->files.file_count; i++) {
        bool is_wanted = false;
        NL_TRY(matches_filter(self, filter_values, partitions[i], &is_wanted));
        if (!is_wanted) continue;
        self->imports[self->import_count++] = (nl_file_import){.fs = self->fs,
                                                               .path = nl_import_path(self->arena, self->files.files[i].path),
                                                               .metadata = self->metadata,
                                                               .spec = self->spec,
                                                               .partition = self->spec->field_count > 0 ? partitions[i] : NULL,
                                                               .mapping = self->has_mapping ? &self->mapping : NULL};
    }
    if (self->spec->field_count > 0 && self->import_count == 0 && !input->source)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find any matching partitions in table " NL_STR_FMT, NL_STR_ARG(input->name));
    return nl_arena_check(self->arena);
}

/* ---- files that the table has already -------------------------------------------------------------------------- */

static int compare_texts(const void *a, const void *b)
{
    return nl_str_compare(*(const nl_str *)a, *(const nl_str *)b);
}

static nl_status check_duplicates(const importing *self)
{
    const nl_import *input = self->input;
    nl_scan_plan *plan = NULL;
    nl_str found = {0};
    uint32_t found_count = 0;
    const nl_scan_planning planning = {
        .fs = input->table->fs,
        .cache = input->table->manifest_cache,
        .metadata = self->metadata,
        .snapshot = nl_table_current_snapshot(self->metadata),
        .schema = nl_table_schema(self->metadata),
        .after_snapshot_id = NL_NONE,
        .ignores_deletes = true,
        .pool = input->command->query.pool,
        .memory = input->command->memory,
    };
    if (!input->checks_duplicates || !planning.snapshot) return NULL;
    NL_TRY(nl_scan_plan_new(&planning, &plan));
    nl_str *paths = NL_NEW_ARRAY(self->arena, nl_str, plan->task_count + 1);
    for (uint32_t i = 0; i < plan->task_count; i++)
        paths[i] = plan->tasks[i].file->path;
    if (plan->task_count > 1) qsort(paths, plan->task_count, sizeof(*paths), compare_texts);
    for (uint32_t i = 0; i < self->import_count && plan->task_count > 0 && found_count < NAMED_PATHS_MAX; i++)
        if (bsearch(&self->imports[i].path, paths, plan->task_count, sizeof(*paths), compare_texts))
            found = nl_arena_f(self->arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(found), found_count++ ? "," : "", NL_STR_ARG(self->imports[i].path));
    nl_scan_plan_release(plan);
    if (found_count == 0) return NULL;
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED,
                         "Cannot complete import because data files to be imported already exist within the target table: " NL_STR_FMT
                         ".  This is disabled by default as Iceberg is not designed for multiple references to the same file within the same table.  If you are sure, you may set "
                         "'check_duplicate_files' to false to force the import.",
                         NL_STR_ARG(found));
}

/* ---- reading and committing ------------------------------------------------------------------------------------ */

static nl_status read_one(void *argument, uint64_t i)
{
    importing *self = argument;
    NL_TRY(nl_cancel_check(self->input->command->query.cancel));
    self->arenas[i] = nl_arena_new(self->input->command->memory);
    return nl_file_import_read(&self->imports[i], self->input->command->memory, self->arenas[i], &self->data_files[i]);
}

static nl_status check_format(importing *self)
{
    const nl_import *input = self->input;
    const nl_str name = input->source ? input->source->provider : input->format;
    nl_file_format format = NL_FORMAT_PARQUET;
    const bool is_known = nl_file_format_parse(name, &format) && format != NL_FORMAT_PUFFIN;
    if (is_known && format != NL_FORMAT_PARQUET && !nl_data_format_of(format))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas cannot read data files of format " NL_STR_FMT " yet, and so does not bring them into a table", NL_STR_ARG(name));
    for (uint32_t i = 0; i < self->import_count; i++)
        self->imports[i].format = format;
    if (is_known) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create an Iceberg table from source provider: '" NL_STR_FMT "'", NL_STR_ARG(name));
}

static nl_status commit(importing *self, int64_t *added_files, int64_t *changed_partitions)
{
    const nl_import *input = self->input;
    /* Unpartitioned tables are appended to file by file, which the summary shows; so are those of v1. */
    const bool is_by_file = (input->source && self->spec->field_count == 0) || self->metadata->format_version < 2;
    const nl_operation operation = {.kind = NL_OPERATION_APPEND,
                                    .added_files = self->data_files,
                                    .added_count = self->import_count,
                                    .data_sequence_number = NL_NONE,
                                    .adds_whole_manifests = !is_by_file,
                                    .pool = input->command->query.pool};
    int64_t snapshot_id = NL_NONE;
    NL_TRY(nl_operation_commit(input->table, &operation, &snapshot_id));
    *added_files = self->import_count;
    *changed_partitions = NL_NONE;
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(input->table);
    const nl_snapshot *snapshot = nl_table_snapshot(metadata, snapshot_id);
    if (is_by_file && snapshot && !nl_parse_int64(nl_snapshot_summary(snapshot, "changed-partition-count"), changed_partitions)) *changed_partitions = NL_NONE;
    nl_table_metadata_release(metadata);
    return NULL;
}

static nl_status import_all(importing *self, int64_t *added_files, int64_t *changed_partitions)
{
    nl_command *command = self->input->command;
    const nl_str mapping = nl_table_property(self->metadata, "schema.name-mapping.default", NULL);
    self->has_mapping = mapping.data != NULL;
    if (self->has_mapping) NL_TRY(nl_name_mapping_parse(self->arena, mapping, &self->mapping));
    NL_TRY(list_files(self));
    NL_TRY(find_spec(self));
    NL_TRY(check_filter(self));
    NL_TRY(choose_files(self));
    NL_TRY(check_format(self));
    NL_TRY(check_duplicates(self));
    self->data_files = NL_NEW_ARRAY(self->arena, nl_data_file, self->import_count + 1);
    self->arenas = NL_NEW_ARRAY(self->arena, nl_arena *, self->import_count + 1);
    nl_status status = nl_pool_for(command->query.pool, self->import_count, read_one, self);
    if (!status) status = commit(self, added_files, changed_partitions);
    for (uint32_t i = 0; i < self->import_count; i++)
        nl_arena_free(self->arenas[i]);
    return status;
}

nl_status nl_import_files(nl_import *import, int64_t *added_files, int64_t *changed_partitions)
{
    importing self = {.input = import, .arena = nl_arena_new(import->command->memory), .metadata = nl_iceberg_table_metadata(import->table)};
    nl_status status = import_all(&self, added_files, changed_partitions);
    nl_plain_files_fini(&self.files);
    nl_table_metadata_release(self.metadata);
    nl_arena_free(self.arena);
    return status;
}
