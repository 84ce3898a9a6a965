/* iceberg/changelog.c - see changelog.h. Each snapshot of the range gives the entries that it added or deleted itself;
 * snapshots that only moved rows to other files ("replace") are left out. Source: BaseIncrementalChangelogScan and
 * SparkScanBuilder's way from times to snapshots. */
#include "iceberg/changelog.h"

typedef struct change_planner {
    const nl_scan_planning *input;
    nl_arena *arena;      /* of the plan */
    nl_arena *scratch;
    nl_list tasks;        /* nl_file_task *   */
    nl_list changes;      /* nl_file_change * */
    nl_scan_plan *plan;
} change_planner;

/* ---- the range ------------------------------------------------------------------------------------------------- */

static const nl_snapshot *parent_of(const nl_table_metadata *metadata, const nl_snapshot *snapshot)
{
    return snapshot->parent_id == NL_NONE ? NULL : nl_table_snapshot(metadata, snapshot->parent_id);
}

/* The snapshot after which changes are not older than the time; 0: all are younger. */
static nl_status start_of_time(const nl_table_metadata *metadata, int64_t ms, int64_t *start_id)
{
    const nl_snapshot *last = NULL;
    *start_id = 0;
    for (const nl_snapshot *snapshot = nl_table_current_snapshot(metadata); snapshot; snapshot = parent_of(metadata, snapshot)) {
        if (snapshot->timestamp_ms == ms) {
            *start_id = snapshot->snapshot_id;
            return NULL;
        }
        if (snapshot->timestamp_ms < ms) {
            *start_id = last ? last->parent_id : 0;
            return NULL;
        }
        last = snapshot;
    }
    if (!last || last->parent_id == NL_NONE) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find snapshot older than the start timestamp %lld", (long long)ms);
}

static int64_t end_of_time(const nl_table_metadata *metadata, int64_t ms)
{
    int64_t id = 0;
    for (uint32_t i = 0; i < metadata->snapshot_log_count; i++)
        if (metadata->snapshot_log[i].timestamp_ms <= ms) id = metadata->snapshot_log[i].snapshot_id;
    return id;
}

static nl_status settle_range(const nl_table_metadata *metadata, const nl_changelog_range *range, int64_t *start_id, int64_t *end_id, bool *is_empty)
{
    const nl_snapshot *current = nl_table_current_snapshot(metadata);
    *start_id = range->start_snapshot_id;
    *end_id = range->end_snapshot_id;
    *is_empty = false;
    if (range->start_snapshot_id && range->has_start_ms)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set both start-snapshot-id and start-timestamp for changelogs");
    if (range->end_snapshot_id && range->has_end_ms)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set both end-snapshot-id and end-timestamp for changelogs");
    if (range->has_start_ms && range->has_end_ms && range->start_ms >= range->end_ms)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot set start-timestamp to be greater than end-timestamp for changelogs");
    if (range->has_start_ms) {
        *is_empty = !current || range->start_ms > current->timestamp_ms;
        if (!*is_empty) NL_TRY(start_of_time(metadata, range->start_ms, start_id));
    }
    if (range->has_end_ms) {
        *end_id = end_of_time(metadata, range->end_ms);
        *is_empty = *is_empty || *start_id == *end_id;
    }
    return NULL;
}

/* The snapshots of the range that changed rows, oldest first. */
static nl_status list_snapshots(const nl_table_metadata *metadata, int64_t start_id, int64_t end_id, nl_arena *arena, nl_list *snapshots)
{
    const nl_snapshot *end = end_id ? nl_table_snapshot(metadata, end_id) : nl_table_current_snapshot(metadata);
    nl_list newest_first = {0};
    bool is_found = start_id == 0;
    if (!end && end_id) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot find the end snapshot: %lld", (long long)end_id);
    if (!end && start_id) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "End snapshot is not set and table has no current snapshot");
    const nl_snapshot *snapshot = end;
    for (uint32_t step = 0; snapshot && snapshot->snapshot_id != start_id && step <= metadata->snapshot_count; step++) {
        nl_list_add(arena, &newest_first, (void *)(uintptr_t)snapshot);
        is_found = is_found || snapshot->parent_id == start_id; /* it may have expired by now */
        snapshot = parent_of(metadata, snapshot);
    }
    if (!is_found && !(snapshot && snapshot != end))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Starting snapshot (exclusive) %lld is not a parent ancestor of end snapshot %lld", (long long)start_id,
                             (long long)end->snapshot_id);
    for (uint32_t i = newest_first.count; i-- > 0;) {
        const nl_snapshot *item = newest_first.items[i];
        if (!nl_str_is(item->operation, "replace")) nl_list_add(arena, snapshots, newest_first.items[i]);
    }
    return NULL;
}

/* ---- tasks ----------------------------------------------------------------------------------------------------- */

static void add_entry(change_planner *self, const nl_manifest_entry *entry, const nl_partition_spec *spec, const nl_snapshot *snapshot, int32_t ordinal)
{
    nl_data_file *file = NL_NEW(self->arena, nl_data_file);
    nl_file_task *task = NL_NEW(self->arena, nl_file_task);
    nl_file_change *change = NL_NEW(self->arena, nl_file_change);
    *file = nl_data_file_copy(self->arena, &entry->file, spec->field_count);
    *task = (nl_file_task){.file = file, .data_sequence_number = entry->sequence_number, .file_sequence_number = entry->file_sequence_number, .spec = spec};
    *change = (nl_file_change){.is_delete = entry->status == NL_ENTRY_DELETED, .ordinal = ordinal, .snapshot_id = snapshot->snapshot_id};
    nl_list_add(self->scratch, &self->tasks, task);
    nl_list_add(self->scratch, &self->changes, change);
}

static nl_status add_manifest(change_planner *self, const nl_manifest_file *listed, const nl_snapshot *snapshot, int32_t ordinal)
{
    const nl_scan_planning *input = self->input;
    const nl_manifest *manifest = NULL;
    const nl_partition_spec *spec = nl_table_spec_by_id(input->metadata, listed->spec_id);
    if (!spec) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find partition spec %d of manifest " NL_STR_FMT, listed->spec_id, NL_STR_ARG(listed->path));
    NL_TRY_NOTE(nl_manifest_cache_read(input->cache, input->fs, listed, input->memory, &manifest), "reading manifest " NL_STR_FMT, NL_STR_ARG(listed->path));
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (entry->status != NL_ENTRY_EXISTING && entry->snapshot_id == snapshot->snapshot_id) add_entry(self, entry, spec, snapshot, ordinal);
    }
    nl_manifest_release(manifest);
    return nl_arena_check(self->arena);
}

static nl_status add_snapshot(change_planner *self, const nl_snapshot *snapshot, int32_t ordinal)
{
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    NL_TRY(nl_snapshot_manifests(self->input->fs, snapshot, self->input->memory, self->arena, &files, &file_count));
    for (uint32_t i = 0; i < file_count; i++)
        if (files[i].content == NL_MANIFEST_DELETES)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Delete files are currently not supported in changelog scans");
    for (uint32_t i = 0; i < file_count; i++)
        if (files[i].added_snapshot_id == snapshot->snapshot_id) NL_TRY(add_manifest(self, &files[i], snapshot, ordinal));
    return NULL;
}

static nl_status plan_changes(change_planner *self, const nl_changelog_range *range)
{
    nl_list snapshots = {0};
    int64_t start_id = 0, end_id = 0;
    bool is_empty = false;
    NL_TRY(settle_range(self->input->metadata, range, &start_id, &end_id, &is_empty));
    if (is_empty) return NULL;
    NL_TRY(list_snapshots(self->input->metadata, start_id, end_id, self->scratch, &snapshots));
    for (uint32_t i = 0; i < snapshots.count; i++)
        NL_TRY(add_snapshot(self, snapshots.items[i], (int32_t)i));
    return NULL;
}

nl_status nl_changelog_plan(const nl_scan_planning *planning, const nl_changelog_range *range, nl_scan_plan **plan, const nl_file_change **changes)
{
    change_planner self = {.input = planning};
    NL_TRY(nl_scan_plan_begin(planning->memory, &self.plan, &self.arena));
    self.scratch = nl_arena_new(planning->memory);
    nl_status status = nl_table_explain_moved(planning->metadata, plan_changes(&self, range));
    nl_file_task *tasks = NL_NEW_ARRAY(self.arena, nl_file_task, self.tasks.count + 1);
    nl_file_change *list = NL_NEW_ARRAY(self.arena, nl_file_change, self.tasks.count + 1);
    for (uint32_t i = 0; !status && i < self.tasks.count; i++) {
        tasks[i] = *(const nl_file_task *)self.tasks.items[i];
        list[i] = *(const nl_file_change *)self.changes.items[i];
        self.plan->row_count += tasks[i].file->record_count;
        self.plan->bytes += tasks[i].file->file_size_bytes;
    }
    self.plan->tasks = tasks;
    self.plan->task_count = self.plan->files_total = self.tasks.count;
    nl_arena_free(self.scratch);
    if (!status) status = nl_arena_check(self.arena);
    if (status) {
        nl_scan_plan_release(self.plan);
        return status;
    }
    *plan = self.plan;
    *changes = list;
    return NULL;
}
