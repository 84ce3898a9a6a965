/* iceberg/operation.c - a new snapshot from an operation: manifests, list, summary, and the loop around them. */
#include "iceberg/operation_private.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/crash.h"
#include "base/uuid.h"
#include "iceberg/scan_planning.h"

typedef struct producer { /* the whole commit, over all its attempts */
    nl_iceberg_table *table;
    const nl_operation *operation;
    char uuid[NL_UUID_TEXT_LENGTH + 1];
    int64_t snapshot_id;
    uint32_t manifest_number;
    uint32_t attempt_number;
    nl_arena *arena;             /* lives as long as the commit */
    nl_list written;             /* nl_str * of the last attempt */
} producer;

/* ---- what attempts offer to their steps ------------------------------------------------------------------------ */

nl_status nl_attempt_manifest_path(void *argument, nl_arena *arena, nl_str *path)
{
    nl_attempt *attempt = argument;
    const nl_str folder = nl_metadata_folder(arena, attempt->base);
    const nl_str name = nl_arena_f(arena, NL_STR_FMT "-m%u.avro", NL_STR_ARG(attempt->commit_uuid), (*attempt->manifest_number)++);
    *path = nl_path_join(arena, folder, name);
    nl_str *noted = NL_NEW(attempt->arena, nl_str);
    *noted = nl_arena_str(attempt->arena, *path);
    nl_list_add(attempt->arena, &attempt->written, noted);
    return NULL;
}

nl_manifest_writer_options nl_attempt_writer_options(const nl_attempt *attempt, nl_manifest_content content, const nl_partition_spec *spec)
{
    return (nl_manifest_writer_options){
        .fs = attempt->table->fs,
        .format_version = attempt->base->format_version,
        .content = content,
        .schema = nl_table_schema(attempt->base),
        .spec = spec,
        .partition_type = nl_table_partition_type(attempt->arena, attempt->base, spec),
        .snapshot_id = attempt->snapshot_id,
        .first_row_id = NL_NONE,
    };
}

nl_status nl_attempt_spec(const nl_attempt *attempt, int32_t spec_id, const nl_partition_spec **spec)
{
    *spec = nl_table_spec_by_id(attempt->base, spec_id);
    return *spec ? NULL : NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find partition spec %d for the files to be committed", spec_id);
}

nl_status nl_attempt_read_manifest(nl_attempt *attempt, const nl_manifest_file *file, const nl_manifest **manifest)
{
    nl_iceberg_table *table = attempt->table;
    return nl_note_if(nl_manifest_cache_read(table->manifest_cache, table->fs, file, table->memory, manifest), NL_HERE, "reading manifest " NL_STR_FMT,
                      NL_STR_ARG(file->path));
}

/* ---- added files ----------------------------------------------------------------------------------------------- */

static nl_status write_added(nl_attempt *attempt, nl_manifest_content content, const nl_partition_spec *spec, nl_list *manifests)
{
    const nl_operation *operation = attempt->operation;
    const nl_manifest_writer_options options = nl_attempt_writer_options(attempt, content, spec);
    nl_rolling_manifest_writer *rolling = NULL;
    const bool keeps_sequence_number = operation->kind == NL_OPERATION_REWRITE && content == NL_MANIFEST_DATA;
    NL_TRY(nl_rolling_manifest_writer_new(&options, attempt->target_bytes, nl_attempt_manifest_path, attempt, attempt->table->memory, attempt->arena, &rolling));
    for (uint32_t i = 0; i < operation->added_count; i++) {
        const nl_data_file *file = &operation->added_files[i];
        const bool is_data = file->content == NL_CONTENT_DATA;
        if (file->spec_id != spec->spec_id || is_data != (content == NL_MANIFEST_DATA)) continue;
        nl_manifest_writer *writer = NULL;
        nl_status status = nl_rolling_manifest_writer_next(rolling, &writer);
        const int64_t own_number = operation->added_sequence_numbers ? operation->added_sequence_numbers[i] : NL_NONE;
        if (!status) status = nl_manifest_writer_add(writer, file, keeps_sequence_number ? operation->data_sequence_number : own_number);
        if (status) {
            nl_rolling_manifest_writer_abort(rolling);
            return status;
        }
        nl_summary_add(&attempt->summary, file, spec->field_count);
    }
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    NL_TRY(nl_rolling_manifest_writer_close(rolling, &files, &file_count));
    for (uint32_t i = 0; i < file_count; i++)
        nl_list_add(attempt->arena, manifests, (void *)(uintptr_t)&files[i]);
    return NULL;
}

static bool has_added(const nl_operation *operation, nl_manifest_content content, int32_t spec_id)
{
    for (uint32_t i = 0; i < operation->added_count; i++) {
        const nl_data_file *file = &operation->added_files[i];
        if (file->spec_id == spec_id && (file->content == NL_CONTENT_DATA) == (content == NL_MANIFEST_DATA)) return true;
    }
    return false;
}

static nl_status write_all_added(nl_attempt *attempt, nl_manifest_content content, nl_list *manifests)
{
    for (uint32_t i = 0; i < attempt->base->spec_count; i++)
        if (has_added(attempt->operation, content, attempt->base->specs[i]->spec_id))
            NL_TRY(write_added(attempt, content, attempt->base->specs[i], manifests));
    for (uint32_t i = 0; i < attempt->operation->added_count; i++) {
        const nl_partition_spec *spec;
        NL_TRY(nl_attempt_spec(attempt, attempt->operation->added_files[i].spec_id, &spec));
    }
    return NULL;
}

/* ---- the snapshot ---------------------------------------------------------------------------------------------- */

static const char *operation_name(const nl_operation *operation)
{
    bool adds_data = false, adds_deletes = false;
    for (uint32_t i = 0; i < operation->added_count; i++) {
        adds_data = adds_data || operation->added_files[i].content == NL_CONTENT_DATA;
        adds_deletes = adds_deletes || operation->added_files[i].content != NL_CONTENT_DATA;
    }
    const bool removes = operation->removed_count > 0 || operation->row_filter;
    switch (operation->kind) {
    case NL_OPERATION_APPEND:
    case NL_OPERATION_FAST_APPEND: return "append";
    case NL_OPERATION_DELETE: return "delete";
    case NL_OPERATION_REWRITE:
    case NL_OPERATION_REWRITE_MANIFESTS: return "replace";
    case NL_OPERATION_REPLACE_PARTITIONS: return "overwrite";
    case NL_OPERATION_OVERWRITE:
        if (removes && !adds_data) return "delete";
        return adds_data && !removes ? "append" : "overwrite";
    case NL_OPERATION_ROW_DELTA: return adds_deletes && !adds_data ? "delete" : "overwrite"; /* never "append": Java's BaseRowDelta */
    }
    return "overwrite";
}

/* Manifests that hold nothing but removals of other snapshots are left out. */
static bool is_worth_keeping(const nl_attempt *attempt, const nl_manifest_file *file)
{
    return file->added_files_count != 0 || file->existing_files_count != 0 || file->added_snapshot_id == attempt->snapshot_id;
}

static void gather(const nl_attempt *attempt, const nl_list *added, const nl_manifest_file *filtered, uint32_t filtered_count, nl_manifest_content content,
                   nl_manifest_file *files, uint32_t *count)
{
    for (uint32_t i = 0; i < added->count; i++)
        files[(*count)++] = *(const nl_manifest_file *)added->items[i];
    for (uint32_t i = 0; i < filtered_count; i++)
        if (filtered[i].content == content && is_worth_keeping(attempt, &filtered[i])) files[(*count)++] = filtered[i];
}

static nl_status make_manifests(nl_attempt *attempt, nl_list *merged)
{
    const nl_manifest_file *parent_files = NULL, *filtered = NULL;
    uint32_t parent_count = 0, filtered_count = 0;
    nl_list data = {0}, deletes = {0};
    if (attempt->parent)
        NL_TRY(nl_table_explain_moved(attempt->base, nl_snapshot_manifests(attempt->table->fs, attempt->parent, attempt->table->memory, attempt->arena, &parent_files, &parent_count)));
    NL_TRY(write_all_added(attempt, NL_MANIFEST_DATA, &data));
    NL_TRY(write_all_added(attempt, NL_MANIFEST_DELETES, &deletes));
    const bool only_adds = attempt->operation->kind == NL_OPERATION_APPEND || attempt->operation->kind == NL_OPERATION_FAST_APPEND;
    if (only_adds) {
        filtered = parent_files;
        filtered_count = parent_count;
    } else {
        NL_TRY(nl_filter_manifests(attempt, parent_files, parent_count, &filtered, &filtered_count));
    }
    nl_manifest_file *files = NL_NEW_ARRAY(attempt->arena, nl_manifest_file, data.count + deletes.count + filtered_count);
    uint32_t count = 0;
    gather(attempt, &data, filtered, filtered_count, NL_MANIFEST_DATA, files, &count);
    NL_TRY(nl_merge_manifests(attempt, NL_MANIFEST_DATA, files, count, merged));
    count = 0;
    gather(attempt, &deletes, filtered, filtered_count, NL_MANIFEST_DELETES, files, &count);
    return nl_merge_manifests(attempt, NL_MANIFEST_DELETES, files, count, merged);
}

static nl_status write_list(nl_attempt *attempt, uint32_t attempt_number, const nl_list *manifests, nl_snapshot *snapshot)
{
    const nl_table_metadata *base = attempt->base;
    const bool is_v3 = base->format_version >= 3;
    const nl_manifest_list_options options = {
        .format_version = base->format_version,
        .snapshot_id = attempt->snapshot_id,
        .parent_id = attempt->parent ? attempt->parent->snapshot_id : NL_NONE,
        .sequence_number = snapshot->sequence_number,
        .first_row_id = is_v3 ? base->next_row_id : NL_NONE,
    };
    const nl_str name = nl_arena_f(attempt->arena, "snap-%lld-%u-" NL_STR_FMT ".avro", (long long)attempt->snapshot_id, attempt_number,
                                   NL_STR_ARG(attempt->commit_uuid));
    nl_str *path = NL_NEW(attempt->arena, nl_str);
    *path = nl_path_join(attempt->arena, nl_metadata_folder(attempt->arena, base), name);
    nl_list_add(attempt->arena, &attempt->written, path);
    nl_manifest_file *files = NL_NEW_ARRAY(attempt->arena, nl_manifest_file, manifests->count);
    for (uint32_t i = 0; i < manifests->count; i++)
        files[i] = *(const nl_manifest_file *)manifests->items[i];
    int64_t next_row_id = base->next_row_id;
    NL_TRY(nl_manifest_list_write(attempt->table->fs, *path, &options, files, manifests->count, attempt->table->memory, &next_row_id));
    snapshot->manifest_list = *path;
    if (is_v3) {
        snapshot->first_row_id = base->next_row_id;
        snapshot->added_rows = next_row_id - base->next_row_id;
    }
    return NULL;
}

static nl_status find_parent(nl_attempt *attempt)
{
    const nl_str branch = attempt->operation->branch;
    attempt->parent = nl_table_current_snapshot(attempt->base);
    if (branch.length == 0) return NULL;
    const nl_snapshot_ref *ref = nl_table_ref(attempt->base, branch);
    if (ref && ref->is_tag)
        return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, NL_STR_FMT " is a tag, not a branch. Tags cannot be targets for producing snapshots", NL_STR_ARG(branch));
    if (ref) attempt->parent = nl_table_snapshot(attempt->base, ref->snapshot_id);
    return NULL;
}

static nl_status add_to_builder(nl_attempt *attempt, const nl_snapshot *snapshot, nl_metadata_builder *builder)
{
    const nl_operation *operation = attempt->operation;
    const nl_table_update add = {.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = snapshot};
    NL_TRY(nl_metadata_builder_apply(builder, &add));
    if (operation->staged_wap_id.length) return NULL;
    const nl_str branch = operation->branch.length ? operation->branch : NL_STR(NL_MAIN_BRANCH);
    const nl_snapshot_ref *existing = nl_table_ref(attempt->base, branch);
    nl_snapshot_ref *ref = NL_NEW(attempt->arena, nl_snapshot_ref);
    if (existing)
        *ref = *existing;
    else
        *ref = (nl_snapshot_ref){.min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    ref->name = branch;
    ref->snapshot_id = snapshot->snapshot_id;
    const nl_table_update set = {.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = ref};
    return nl_metadata_builder_apply(builder, &set);
}

static nl_status finish_snapshot(nl_attempt *attempt, uint32_t attempt_number, const nl_list *manifests, nl_metadata_builder *builder)
{
    const nl_table_metadata *base = attempt->base;
    nl_snapshot *snapshot = NL_NEW(attempt->arena, nl_snapshot);
    const int64_t now_ms = nl_now_micros() / 1000;
    *snapshot = (nl_snapshot){
        .snapshot_id = attempt->snapshot_id,
        .parent_id = attempt->parent ? attempt->parent->snapshot_id : NL_NONE,
        .sequence_number = base->format_version > 1 ? base->last_sequence_number + 1 : 0,
        .timestamp_ms = NL_MAX(now_ms, base->last_updated_ms),
        .operation = nl_str_from(operation_name(attempt->operation)),
        .schema_id = base->current_schema_id,
        .first_row_id = NL_NONE,
        .added_rows = NL_NONE,
    };
    NL_TRY(write_list(attempt, attempt_number, manifests, snapshot));
    NL_CRASH_POINT("commit.list-written");
    nl_summary_properties(&attempt->summary, base, attempt->parent, attempt->operation, &attempt->table->environment, &snapshot->summary, &snapshot->summary_count);
    return add_to_builder(attempt, snapshot, builder);
}

static nl_status produce(nl_attempt *attempt, uint32_t attempt_number, nl_metadata_builder *builder)
{
    nl_list manifests = {0};
    NL_TRY(find_parent(attempt));
    NL_TRY(nl_validate_operation(attempt));
    if (attempt->operation->kind == NL_OPERATION_REWRITE_MANIFESTS)
        NL_TRY(nl_rewrite_attempt_manifests(attempt, &manifests));
    else
        NL_TRY(make_manifests(attempt, &manifests));
    NL_CRASH_POINT("commit.manifests-written");
    return finish_snapshot(attempt, attempt_number, &manifests, builder);
}

static nl_status build_attempt(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    producer *self = argument;
    nl_attempt attempt = {
        .table = self->table,
        .operation = self->operation,
        .base = base,
        .arena = arena,
        .commit_uuid = nl_str_from(self->uuid),
        .manifest_number = &self->manifest_number,
        .snapshot_id = self->snapshot_id,
    };
    int64_t target_bytes;
    self->written = (nl_list){0};
    NL_TRY(nl_table_property_int(base, "commit.manifest.target-size-bytes", 8 << 20, &target_bytes));
    attempt.target_bytes = (uint64_t)NL_MAX(target_bytes, 1);
    nl_summary_init(&attempt.summary, arena);
    nl_status status = produce(&attempt, ++self->attempt_number, builder);
    for (uint32_t i = 0; i < attempt.written.count; i++) { /* the attempt's arena ends before a failure is cleaned up */
        nl_str *path = NL_NEW(self->arena, nl_str);
        *path = nl_arena_str(self->arena, *(const nl_str *)attempt.written.items[i]);
        nl_list_add(self->arena, &self->written, path);
    }
    return status;
}

/* A failed attempt is surely not in the table: what it wrote is garbage. Failures to remove it leave orphans. */
static void remove_written(void *argument)
{
    producer *self = argument;
    for (uint32_t i = 0; i < self->written.count; i++)
        nl_error_free(nl_fs_remove(self->table->fs, *(const nl_str *)self->written.items[i]));
    self->written = (nl_list){0};
}

nl_status nl_operation_commit(nl_iceberg_table *table, const nl_operation *operation, int64_t *snapshot_id)
{
    uint8_t bytes[16];
    producer self = {.table = table, .operation = operation, .arena = nl_arena_new(table->memory)};
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    self.snapshot_id = nl_new_snapshot_id(metadata);
    nl_table_metadata_release(metadata);
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, self.uuid);
    nl_status status = nl_commit_loop(table, build_attempt, remove_written, &self, &self.snapshot_id);
    if (!status && snapshot_id) *snapshot_id = self.snapshot_id;
    nl_arena_free(self.arena);
    return nl_note_if(status, NL_HERE, "committing to " NL_STR_FMT, NL_STR_ARG(table->name));
}

nl_status nl_delete_is_metadata_only(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot, const nl_predicate *predicate,
                                     nl_pool *pool, bool *is_metadata_only)
{
    nl_scan_plan *plan = NULL;
    *is_metadata_only = predicate->kind == NL_PREDICATE_TRUE || !snapshot;
    if (*is_metadata_only) return NULL;
    const nl_scan_planning planning = {
        .fs = table->fs,
        .cache = table->manifest_cache,
        .metadata = metadata,
        .snapshot = snapshot,
        .schema = nl_table_schema(metadata),
        .predicate = predicate,
        .after_snapshot_id = NL_NONE,
        .ignores_deletes = true,
        .pool = pool,
        .memory = table->memory,
    };
    NL_TRY(nl_scan_plan_new(&planning, &plan));
    *is_metadata_only = true;
    nl_status status = NULL;
    for (uint32_t i = 0; !status && *is_metadata_only && i < plan->task_count; i++) {
        const nl_file_task *task = &plan->tasks[i];
        *is_metadata_only = task->is_wholly_matching;
        if (!*is_metadata_only) status = nl_predicate_strict_match(predicate, planning.schema, task->spec, task->file, is_metadata_only);
    }
    nl_scan_plan_release(plan);
    return status;
}
