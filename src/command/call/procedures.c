/* command/call/procedures.c - the procedures of Iceberg's `system` namespace: one row each. */
#include "command/call/procedure.h"

#include "base/calendar.h"
#include "base/number.h"
#include "iceberg/maintenance.h"

static int64_t current_id(nl_iceberg_table *table)
{
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const int64_t id = metadata->current_snapshot_id;
    nl_table_metadata_release(metadata);
    return id;
}

static nl_status rollback_to_snapshot(nl_call *call)
{
    const int64_t previous = current_id(call->table), wanted = nl_call_int(call, 1, 0);
    NL_TRY(nl_rollback_to(call->table, wanted));
    return nl_call_numbers(call, (const int64_t[]){previous, wanted});
}

static nl_status rollback_to_timestamp(nl_call *call)
{
    const int64_t previous = current_id(call->table);
    int64_t reached = NL_NONE;
    NL_TRY(nl_rollback_to_time(call->table, nl_call_ms(call, 1), &reached));
    return nl_call_numbers(call, (const int64_t[]){previous, reached});
}

static nl_status set_current_snapshot(nl_call *call)
{
    const int64_t previous = current_id(call->table);
    const nl_str name = nl_call_text(call, 2);
    int64_t wanted = nl_call_int(call, 1, NL_NONE);
    if ((wanted == NL_NONE) == (name.data == NULL))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Either snapshot_id or ref must be provided, not both");
    if (name.data) {
        const nl_table_metadata *metadata = nl_iceberg_table_metadata(call->table);
        const nl_snapshot_ref *ref = nl_table_ref(metadata, name);
        wanted = ref ? ref->snapshot_id : NL_NONE;
        nl_table_metadata_release(metadata);
        if (wanted == NL_NONE) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find matching snapshot ID for ref " NL_STR_FMT, NL_STR_ARG(name));
    }
    NL_TRY(nl_set_current_snapshot(call->table, wanted));
    return nl_call_numbers(call, (const int64_t[]){previous, wanted});
}

static nl_status cherrypick_snapshot(nl_call *call)
{
    int64_t created = NL_NONE;
    NL_TRY(nl_cherrypick(call->table, nl_call_int(call, 1, 0), &created));
    return nl_call_numbers(call, (const int64_t[]){nl_call_int(call, 1, 0), created});
}

static nl_status publish_changes(nl_call *call)
{
    int64_t source = NL_NONE, created = NL_NONE;
    NL_TRY(nl_publish_wap(call->table, nl_call_text(call, 1), &source, &created));
    return nl_call_numbers(call, (const int64_t[]){source, created});
}

static nl_status fast_forward(nl_call *call)
{
    int64_t previous = NL_NONE, updated = NL_NONE;
    NL_TRY(nl_fast_forward(call->table, nl_call_text(call, 1), nl_call_text(call, 2), &previous, &updated));
    const nl_value values[] = {
        nl_value_string(nl_call_text(call, 1)),
        previous == NL_NONE ? nl_value_null(nl_type_bigint()) : nl_value_int(nl_type_bigint(), previous),
        nl_value_int(nl_type_bigint(), updated),
    };
    return nl_rows_add(call->rows, values);
}

static nl_status ancestors_of(nl_call *call)
{
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(call->table);
    const int64_t start = nl_call_has(call, 1) ? nl_call_int(call, 1, 0) : metadata->current_snapshot_id;
    const nl_snapshot *snapshot = start == NL_NONE ? NULL : nl_table_snapshot(metadata, start);
    nl_status status = nl_call_has(call, 1) && !snapshot ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find snapshot: %lld", (long long)start) : NULL;
    for (uint32_t step = 0; !status && snapshot && step <= metadata->snapshot_count; step++) {
        status = nl_call_numbers(call, (const int64_t[]){snapshot->snapshot_id, snapshot->timestamp_ms});
        snapshot = snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(metadata, snapshot->parent_id);
    }
    nl_table_metadata_release(metadata);
    return status;
}

/* How many deletions run at once is the pool's business, but a number that is none is refused. */
static nl_status check_concurrent_deletes(const nl_call *call, uint32_t parameter)
{
    const int64_t count = nl_call_int(call, parameter, 1);
    if (count > 0) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "max_concurrent_deletes should have value > 0, value: %lld", (long long)count);
}

static nl_status expire_snapshots(nl_call *call)
{
    enum { OLDER_THAN = 1, RETAIN_LAST = 2, CONCURRENT_DELETES = 3, SNAPSHOT_IDS = 5, CLEAN_METADATA = 6 };
    NL_TRY(check_concurrent_deletes(call, CONCURRENT_DELETES));
    nl_expire_options options = {
        .has_older_than = nl_call_has(call, OLDER_THAN),
        .older_than_ms = nl_call_ms(call, OLDER_THAN),
        .retain_last = (int32_t)nl_call_int(call, RETAIN_LAST, NL_NONE),
        .cleans_expired_metadata = nl_call_bool(call, CLEAN_METADATA, false),
        .pool = call->command->query.pool,
    };
    nl_expire_result result;
    if (nl_call_has(call, RETAIN_LAST) && options.retain_last < 1) options.retain_last = 0;
    if (nl_call_has(call, SNAPSHOT_IDS)) {
        const nl_value *list = &call->arguments[SNAPSHOT_IDS];
        int64_t *ids = NL_NEW_ARRAY(call->command->arena, int64_t, list->list.count);
        for (uint32_t i = 0; i < list->list.count; i++)
            ids[i] = list->list.items[i].integer;
        options.snapshot_ids = ids;
        options.snapshot_id_count = list->list.count;
    }
    NL_TRY(nl_expire_snapshots(call->table, &options, &result));
    return nl_call_numbers(call, (const int64_t[]){result.data_files, result.position_delete_files, result.equality_delete_files, result.manifests,
                                                   result.manifest_lists, result.statistics_files});
}

static nl_status prefix_mode(const nl_call *call, uint32_t parameter, nl_orphan_options *options)
{
    const nl_str mode = nl_call_text(call, parameter);
    if (!mode.data || nl_str_is_nocase(mode, "error"))
        options->prefix_mismatch = NL_PREFIX_ERROR;
    else if (nl_str_is_nocase(mode, "ignore"))
        options->prefix_mismatch = NL_PREFIX_IGNORE;
    else if (nl_str_is_nocase(mode, "delete"))
        options->prefix_mismatch = NL_PREFIX_DELETE;
    else
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid prefix mismatch mode: " NL_STR_FMT, NL_STR_ARG(mode));
    return NULL;
}

static nl_status remove_orphan_files(nl_call *call)
{
    enum { OLDER_THAN = 1, LOCATION = 2, DRY_RUN = 3, CONCURRENT_DELETES = 4, FILE_LIST_VIEW = 5, EQUAL_SCHEMES = 6, EQUAL_AUTHORITIES = 7, PREFIX_MODE = 8 };
    nl_orphan_options options = {
        .has_older_than = nl_call_has(call, OLDER_THAN),
        .older_than_ms = nl_call_ms(call, OLDER_THAN),
        .location = nl_call_text(call, LOCATION),
        .is_dry_run = nl_call_bool(call, DRY_RUN, false),
        .pool = call->command->query.pool,
    };
    const nl_str *paths = NULL;
    uint32_t path_count = 0;
    NL_TRY(check_concurrent_deletes(call, CONCURRENT_DELETES));
    if (nl_call_has(call, FILE_LIST_VIEW)) NL_TRY(nl_call_file_list(call, nl_call_text(call, FILE_LIST_VIEW), &options.listed, &options.listed_count));
    NL_TRY(prefix_mode(call, PREFIX_MODE, &options));
    nl_call_map(call, EQUAL_SCHEMES, &options.equal_schemes, &options.equal_scheme_count);
    nl_call_map(call, EQUAL_AUTHORITIES, &options.equal_authorities, &options.equal_authority_count);
    NL_TRY(nl_remove_orphan_files(call->table, &options, call->command->arena, &paths, &path_count));
    for (uint32_t i = 0; i < path_count; i++)
        NL_TRY(nl_rows_add_text(call->rows, &paths[i]));
    return NULL;
}

static nl_status rewrite_manifests(nl_call *call)
{
    int32_t rewritten = 0, added = 0;
    NL_TRY(nl_rewrite_manifests(call->table, (int32_t)nl_call_int(call, 2, NL_NONE), call->command->query.pool, &rewritten, &added));
    return nl_call_numbers(call, (const int64_t[]){rewritten, added});
}

static int64_t summary_number(const nl_snapshot *snapshot, const char *key)
{
    int64_t number;
    return nl_parse_int64(nl_snapshot_summary(snapshot, key), &number) ? number : NL_NONE;
}

static nl_status register_table(nl_call *call)
{
    nl_session_name name;
    const nl_str file = nl_call_text(call, 1);
    if (file.length == 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot handle an empty argument metadata_file");
    NL_TRY(nl_command_table_name(call->command, &call->table_name, &name));
    NL_TRY(nl_catalog_register_table(name.catalog, &name.identifier, file, &call->table));
    const nl_snapshot *snapshot = nl_table_current_snapshot(call->table->metadata);
    if (!snapshot) return nl_call_numbers(call, (const int64_t[]){NL_NONE, NL_NONE, NL_NONE});
    return nl_call_numbers(call, (const int64_t[]){snapshot->snapshot_id, summary_number(snapshot, "total-records"), summary_number(snapshot, "total-data-files")});
}

#define TABLE {"table", NL_PARAMETER_STRING, true}
#define BIGINT_OUT(name) {name, NL_TYPE_BIGINT, false}
#define INT_OUT(name) {name, NL_TYPE_INT, false}

static const nl_procedure procedures[] = {
    {.name = "rollback_to_snapshot",
     .doc = "Goes back to an ancestor of the current snapshot.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, true}},
     .outputs = {BIGINT_OUT("previous_snapshot_id"), BIGINT_OUT("current_snapshot_id")},
     .run = rollback_to_snapshot},
    {.name = "rollback_to_timestamp",
     .doc = "Goes back to the snapshot that was current at a time.",
     .parameters = {TABLE, {"timestamp", NL_PARAMETER_TIMESTAMP, true}},
     .outputs = {BIGINT_OUT("previous_snapshot_id"), BIGINT_OUT("current_snapshot_id")},
     .run = rollback_to_timestamp},
    {.name = "set_current_snapshot",
     .doc = "Makes any snapshot, branch or tag the current one.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, false}, {"ref", NL_PARAMETER_STRING, false}},
     .outputs = {{"previous_snapshot_id", NL_TYPE_BIGINT, true}, BIGINT_OUT("current_snapshot_id")},
     .run = set_current_snapshot},
    {.name = "cherrypick_snapshot",
     .doc = "Applies the changes of one snapshot to the current state.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, true}},
     .outputs = {BIGINT_OUT("source_snapshot_id"), BIGINT_OUT("current_snapshot_id")},
     .run = cherrypick_snapshot},
    {.name = "publish_changes",
     .doc = "Publishes the snapshot that was staged under a WAP id.",
     .parameters = {TABLE, {"wap_id", NL_PARAMETER_STRING, true}},
     .outputs = {BIGINT_OUT("source_snapshot_id"), BIGINT_OUT("current_snapshot_id")},
     .run = publish_changes},
    {.name = "fast_forward",
     .doc = "Moves a branch forward to another ref that descends from it.",
     .parameters = {TABLE, {"branch", NL_PARAMETER_STRING, true}, {"to", NL_PARAMETER_STRING, true}},
     .outputs = {{"branch_updated", NL_TYPE_STRING, false}, {"previous_ref", NL_TYPE_BIGINT, true}, BIGINT_OUT("updated_ref")},
     .run = fast_forward},
    {.name = "ancestors_of",
     .doc = "Lists a snapshot and its ancestors, newest first.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, false}},
     .outputs = {BIGINT_OUT("snapshot_id"), BIGINT_OUT("timestamp")},
     .run = ancestors_of,
     .says_parameter = true},
    {.name = "expire_snapshots",
     .doc = "Removes old snapshots and the files that only they reach.",
     .parameters = {TABLE,
                    {"older_than", NL_PARAMETER_TIMESTAMP, false},
                    {"retain_last", NL_PARAMETER_INT, false},
                    {"max_concurrent_deletes", NL_PARAMETER_INT, false},
                    {"stream_results", NL_PARAMETER_BOOLEAN, false},
                    {"snapshot_ids", NL_PARAMETER_BIGINTS, false},
                    {"clean_expired_metadata", NL_PARAMETER_BOOLEAN, false}},
     .outputs = {BIGINT_OUT("deleted_data_files_count"), BIGINT_OUT("deleted_position_delete_files_count"), BIGINT_OUT("deleted_equality_delete_files_count"),
                 BIGINT_OUT("deleted_manifest_files_count"), BIGINT_OUT("deleted_manifest_lists_count"), BIGINT_OUT("deleted_statistics_files_count")},
     .run = expire_snapshots},
    {.name = "remove_orphan_files",
     .doc = "Removes files under the table's location that no metadata names.",
     .parameters = {TABLE,
                    {"older_than", NL_PARAMETER_TIMESTAMP, false},
                    {"location", NL_PARAMETER_STRING, false},
                    {"dry_run", NL_PARAMETER_BOOLEAN, false},
                    {"max_concurrent_deletes", NL_PARAMETER_INT, false},
                    {"file_list_view", NL_PARAMETER_STRING, false},
                    {"equal_schemes", NL_PARAMETER_MAP, false},
                    {"equal_authorities", NL_PARAMETER_MAP, false},
                    {"prefix_mismatch_mode", NL_PARAMETER_STRING, false},
                    {"prefix_listing", NL_PARAMETER_BOOLEAN, false}},
     .outputs = {{"orphan_file_location", NL_TYPE_STRING, false}},
     .run = remove_orphan_files},
    {.name = "rewrite_data_files",
     .doc = "Compacts small files, sorts them, and applies deletes.",
     .parameters = {TABLE,
                    {"strategy", NL_PARAMETER_STRING, false},
                    {"sort_order", NL_PARAMETER_STRING, false},
                    {"options", NL_PARAMETER_MAP, false},
                    {"where", NL_PARAMETER_STRING, false}},
     .outputs = {INT_OUT("rewritten_data_files_count"), INT_OUT("added_data_files_count"), BIGINT_OUT("rewritten_bytes_count"),
                 INT_OUT("failed_data_files_count"), INT_OUT("removed_delete_files_count")},
     .run = nl_call_rewrite_data_files},
    {.name = "rewrite_position_delete_files",
     .doc = "Compacts small position delete files and drops positions in files that are gone.",
     .parameters = {TABLE, {"options", NL_PARAMETER_MAP, false}, {"where", NL_PARAMETER_STRING, false}},
     .outputs = {INT_OUT("rewritten_delete_files_count"), INT_OUT("added_delete_files_count"), BIGINT_OUT("rewritten_bytes_count"),
                 BIGINT_OUT("added_bytes_count")},
     .run = nl_call_rewrite_position_delete_files},
    {.name = "rewrite_manifests",
     .doc = "Writes manifests anew, ordered by partition.",
     .parameters = {TABLE, {"use_caching", NL_PARAMETER_BOOLEAN, false}, {"spec_id", NL_PARAMETER_INT, false}},
     .outputs = {INT_OUT("rewritten_manifests_count"), INT_OUT("added_manifests_count")},
     .run = rewrite_manifests},
    {.name = "create_changelog_view",
     .doc = "Makes a temporary view of the rows that came and went, snapshot by snapshot.",
     .parameters = {TABLE,
                    {"changelog_view", NL_PARAMETER_STRING, false},
                    {"options", NL_PARAMETER_MAP, false},
                    {"compute_updates", NL_PARAMETER_BOOLEAN, false},
                    {"identifier_columns", NL_PARAMETER_STRINGS, false},
                    {"net_changes", NL_PARAMETER_BOOLEAN, false}},
     .outputs = {{"changelog_view", NL_TYPE_STRING, false}},
     .run = nl_call_create_changelog_view,
     .says_parameter = true},
    {.name = "compute_table_stats",
     .doc = "Counts the different values of columns, for planners of queries.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, false}, {"columns", NL_PARAMETER_STRINGS, false}},
     .outputs = {{"statistics_file", NL_TYPE_STRING, true}},
     .run = nl_call_compute_table_stats,
     .says_parameter = true},
    {.name = "compute_partition_stats",
     .doc = "Writes a file of what lies in each partition.",
     .parameters = {TABLE, {"snapshot_id", NL_PARAMETER_BIGINT, false}},
     .outputs = {{"partition_statistics_file", NL_TYPE_STRING, true}},
     .run = nl_call_compute_partition_stats,
     .says_parameter = true},
    {.name = "add_files",
     .doc = "Brings files that are there already into a table, as they are.",
     .parameters = {TABLE,
                    {"source_table", NL_PARAMETER_STRING, true},
                    {"partition_filter", NL_PARAMETER_MAP, false},
                    {"check_duplicate_files", NL_PARAMETER_BOOLEAN, false},
                    {"parallelism", NL_PARAMETER_INT, false}},
     .outputs = {BIGINT_OUT("added_files_count"), {"changed_partition_count", NL_TYPE_BIGINT, true}},
     .run = nl_call_add_files,
     .says_parameter = true},
    {.name = "rewrite_table_path",
     .doc = "Stages metadata with other paths and lists what to copy where, to move or mirror a table.",
     .parameters = {TABLE,
                    {"source_prefix", NL_PARAMETER_STRING, true},
                    {"target_prefix", NL_PARAMETER_STRING, true},
                    {"start_version", NL_PARAMETER_STRING, false},
                    {"end_version", NL_PARAMETER_STRING, false},
                    {"staging_location", NL_PARAMETER_STRING, false}},
     .outputs = {{"latest_version", NL_TYPE_STRING, true}, {"file_list_location", NL_TYPE_STRING, true}},
     .run = nl_call_rewrite_table_path,
     .says_parameter = true},
    {.name = "snapshot",
     .doc = "Makes an Iceberg table that reads the files of a table of the session catalog, for trying it out.",
     .parameters = {{"source_table", NL_PARAMETER_STRING, true},
                    TABLE,
                    {"location", NL_PARAMETER_STRING, false},
                    {"properties", NL_PARAMETER_MAP, false},
                    {"parallelism", NL_PARAMETER_INT, false}},
     .outputs = {BIGINT_OUT("imported_files_count")},
     .run = nl_call_snapshot,
     .names_itself = true},
    {.name = "migrate",
     .doc = "Puts an Iceberg table over the same files in the place of a table of the session catalog.",
     .parameters = {TABLE,
                    {"properties", NL_PARAMETER_MAP, false},
                    {"drop_backup", NL_PARAMETER_BOOLEAN, false},
                    {"backup_table_name", NL_PARAMETER_STRING, false},
                    {"parallelism", NL_PARAMETER_INT, false}},
     .outputs = {BIGINT_OUT("migrated_files_count")},
     .run = nl_call_migrate,
     .names_itself = true},
    {.name = "register_table",
     .doc = "Makes a table of an existing metadata file.",
     .parameters = {TABLE, {"metadata_file", NL_PARAMETER_STRING, true}},
     .outputs = {{"current_snapshot_id", NL_TYPE_BIGINT, true}, {"total_records_count", NL_TYPE_BIGINT, true}, {"total_data_files_count", NL_TYPE_BIGINT, true}},
     .run = register_table,
     .makes_table = true},
};

const nl_procedure *nl_procedure_at(uint32_t i)
{
    return i < NL_COUNT(procedures) ? &procedures[i] : NULL;
}
