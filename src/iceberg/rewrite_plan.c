/* iceberg/rewrite_plan.c - which files are compacted together (Java's SizeBasedFileRewritePlanner, BinPackRewriteFilePlanner
 * and BinPackRewritePositionDeletePlanner). */
#include "iceberg/maintenance.h"

#include <stdlib.h>

#include "base/hash.h"

typedef struct rewrite_partition {
    int32_t spec_id;
    const nl_value *values;
    uint32_t value_count;
    nl_list tasks; /* const nl_file_task * */
    uint32_t next;
} rewrite_partition;

typedef struct rewrite_planning {
    const nl_rewrite_options *options;
    nl_arena *arena;
    nl_list partitions; /* rewrite_partition *, in the order they were met */
    uint32_t *buckets;
    uint32_t mask;
    nl_list groups; /* nl_rewrite_group * */
} rewrite_planning;

static uint32_t delete_file_count(const nl_file_task *task)
{
    return task->delete_count;
}

/* The share of rows that file-scoped deletes take away. */
static double delete_ratio(const nl_file_task *task)
{
    int64_t deleted = 0;
    for (uint32_t i = 0; i < task->delete_count; i++)
        if (nl_data_file_referenced(task->deletes[i]).data) deleted += task->deletes[i]->record_count;
    return task->file->record_count > 0 ? (double)NL_MIN(deleted, task->file->record_count) / (double)task->file->record_count : 0;
}

static bool has_too_many_deletes(const rewrite_planning *self, const nl_file_task *task)
{
    return delete_file_count(task) >= self->options->delete_file_threshold || delete_ratio(task) >= self->options->delete_ratio_threshold;
}

static bool is_candidate(const rewrite_planning *self, const nl_file_task *task)
{
    const nl_rewrite_options *options = self->options;
    if (options->rewrites_all || (!options->keeps_specs && task->spec->spec_id != options->output_spec_id)) return true;
    return task->file->file_size_bytes < options->min_file_bytes || task->file->file_size_bytes > options->max_file_bytes || has_too_many_deletes(self, task);
}

static void rehash(rewrite_planning *self)
{
    const uint32_t size = self->buckets ? (self->mask + 1) * 4 : 64;
    self->buckets = NL_NEW_ARRAY(self->arena, uint32_t, size);
    self->mask = size - 1;
    for (uint32_t i = 0; i < self->partitions.count; i++) {
        rewrite_partition *partition = self->partitions.items[i];
        uint32_t *bucket = &self->buckets[nl_partition_hash(partition->values, partition->value_count) & self->mask];
        partition->next = *bucket;
        *bucket = i + 1;
    }
}

/* Files of another spec than the output's are one group without partition: rewriting moves them to the new spec. */
static rewrite_partition *partition_of(rewrite_planning *self, const nl_file_task *task)
{
    const bool is_current = self->options->keeps_specs || task->spec->spec_id == self->options->output_spec_id;
    const nl_value *values = is_current ? task->file->partition : NULL;
    const uint32_t count = values ? task->spec->field_count : 0;
    const int32_t spec_id = is_current ? task->spec->spec_id : NL_NONE;
    if (!self->buckets || self->partitions.count > self->mask) rehash(self);
    uint32_t *bucket = &self->buckets[nl_partition_hash(values, count) & self->mask];
    for (uint32_t at = *bucket; at;) {
        rewrite_partition *partition = self->partitions.items[at - 1];
        if (partition->spec_id == spec_id && partition->value_count == count && nl_partition_equal(partition->values, values, count)) return partition;
        at = partition->next;
    }
    rewrite_partition *made = NL_NEW(self->arena, rewrite_partition);
    *made = (rewrite_partition){.spec_id = spec_id, .values = values, .value_count = count, .next = *bucket};
    nl_list_add(self->arena, &self->partitions, made);
    *bucket = self->partitions.count;
    return made;
}

static bool is_worth_rewriting(const rewrite_planning *self, const nl_rewrite_group *group)
{
    const nl_rewrite_options *options = self->options;
    if (options->rewrites_all) return true;
    if (group->task_count > 1 && (int64_t)group->task_count >= options->min_input_files) return true;
    if (group->task_count > 1 && group->bytes > options->target_file_bytes) return true;
    if (group->bytes > options->max_file_bytes) return true;
    for (uint32_t i = 0; i < group->task_count; i++)
        if (has_too_many_deletes(self, group->tasks[i])) return true;
    return false;
}

static void add_group(rewrite_planning *self, const rewrite_partition *partition, uint32_t first, uint32_t count, int64_t bytes)
{
    nl_rewrite_group *group = NL_NEW(self->arena, nl_rewrite_group);
    *group = (nl_rewrite_group){
        .tasks = (const nl_file_task *const *)(const void *)partition->tasks.items + first,
        .task_count = count,
        .bytes = bytes,
        .target_bytes = self->options->target_file_bytes,
    };
    if (is_worth_rewriting(self, group)) nl_list_add(self->arena, &self->groups, group);
}

static void pack(rewrite_planning *self, const rewrite_partition *partition)
{
    uint32_t first = 0;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < partition->tasks.count; i++) {
        const int64_t size = ((const nl_file_task *)partition->tasks.items[i])->file->file_size_bytes;
        if (i > first && bytes + size > self->options->max_group_bytes) {
            add_group(self, partition, first, i - first, bytes);
            first = i;
            bytes = 0;
        }
        bytes += size;
    }
    if (partition->tasks.count > first) add_group(self, partition, first, partition->tasks.count - first, bytes);
}

static int by_bytes(const void *a, const void *b)
{
    const int64_t left = ((const nl_rewrite_group *)a)->bytes, right = ((const nl_rewrite_group *)b)->bytes;
    return (left > right) - (left < right);
}

static int by_files(const void *a, const void *b)
{
    const int64_t left = ((const nl_rewrite_group *)a)->task_count, right = ((const nl_rewrite_group *)b)->task_count;
    return (left > right) - (left < right);
}

static void order_groups(const nl_rewrite_options *options, nl_rewrite_group *groups, uint32_t count)
{
    const bool by_size = options->job_order == NL_JOB_BYTES_ASC || options->job_order == NL_JOB_BYTES_DESC;
    const bool is_descending = options->job_order == NL_JOB_BYTES_DESC || options->job_order == NL_JOB_FILES_DESC;
    if (options->job_order == NL_JOB_ORDER_NONE || count < 2) return;
    qsort(groups, count, sizeof(*groups), by_size ? by_bytes : by_files);
    for (uint32_t i = 0; is_descending && i < count / 2; i++) {
        const nl_rewrite_group swapped = groups[i];
        groups[i] = groups[count - 1 - i];
        groups[count - 1 - i] = swapped;
    }
}

static nl_status finish_groups(rewrite_planning *self, nl_rewrite_group **groups, uint32_t *group_count)
{
    for (uint32_t i = 0; i < self->partitions.count; i++)
        pack(self, self->partitions.items[i]);
    *groups = NL_NEW_ARRAY(self->arena, nl_rewrite_group, self->groups.count);
    *group_count = self->groups.count;
    for (uint32_t i = 0; i < self->groups.count; i++)
        (*groups)[i] = *(const nl_rewrite_group *)self->groups.items[i];
    order_groups(self->options, *groups, *group_count);
    return nl_arena_check(self->arena);
}

nl_status nl_plan_rewrite(const nl_scan_plan *plan, const nl_table_metadata *metadata, const nl_rewrite_options *options, nl_arena *arena,
                          nl_rewrite_group **groups, uint32_t *group_count)
{
    rewrite_planning self = {.options = options, .arena = arena};
    (void)metadata;
    for (uint32_t i = 0; i < plan->task_count; i++) {
        if (!is_candidate(&self, &plan->tasks[i])) continue;
        nl_list_add(arena, &partition_of(&self, &plan->tasks[i])->tasks, (void *)(uintptr_t)&plan->tasks[i]);
    }
    return finish_groups(&self, groups, group_count);
}

/* ---- position delete files ------------------------------------------------------------------------------------- */

static void release_manifest(void *object)
{
    nl_manifest_release(object);
}

static nl_status add_delete_files(rewrite_planning *self, const nl_manifest *manifest, const nl_predicate *projected)
{
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (!nl_manifest_entry_is_live(entry) || entry->file.content != NL_CONTENT_POSITION_DELETES || nl_data_file_is_deletion_vector(&entry->file)) continue;
        if (projected && !nl_predicate_matches_partition(projected, manifest->spec, entry->file.partition)) continue;
        nl_file_task *task = NL_NEW(self->arena, nl_file_task);
        *task = (nl_file_task){.file = &entry->file, .spec = manifest->spec, .data_sequence_number = entry->sequence_number};
        if (is_candidate(self, task)) nl_list_add(self->arena, &partition_of(self, task)->tasks, task);
    }
    return nl_arena_check(self->arena);
}

nl_status nl_plan_delete_rewrite(nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot, const nl_predicate *predicate,
                                 const nl_rewrite_options *options, nl_arena *arena, nl_rewrite_group **groups, uint32_t *group_count)
{
    rewrite_planning self = {.options = options, .arena = arena};
    const nl_manifest_file *files = NULL;
    uint32_t file_count = 0;
    NL_TRY(nl_snapshot_manifests(table->fs, snapshot, table->memory, arena, &files, &file_count));
    for (uint32_t i = 0; i < file_count; i++) {
        const nl_manifest *manifest = NULL;
        const nl_predicate *projected = NULL;
        const nl_partition_spec *spec = nl_table_spec_by_id(metadata, files[i].spec_id);
        if (files[i].content != NL_MANIFEST_DELETES || !spec) continue;
        if (predicate) NL_TRY(nl_predicate_project_inclusive(arena, predicate, nl_table_schema(metadata), spec, &projected));
        NL_TRY_NOTE(nl_manifest_cache_read(table->manifest_cache, table->fs, &files[i], table->memory, &manifest), "reading manifest " NL_STR_FMT,
                    NL_STR_ARG(files[i].path));
        nl_arena_on_free(arena, release_manifest, (void *)(uintptr_t)manifest);
        NL_TRY(add_delete_files(&self, manifest, projected));
    }
    return finish_groups(&self, groups, group_count);
}
