/* iceberg/health.c - see health.h. Where a procedure would help is not guessed: its own planning is asked. */
#include "iceberg/health.h"

#include "iceberg/reachable.h"

#define MANIFEST_TARGET_BYTES  (8 << 20)  /* commit.manifest.target-size-bytes */
#define MANIFESTS_MANY         16
#define METADATA_BYTES_MANY    (4 << 20)
#define METADATA_LOG_MANY      50
#define DELETES_MANY           0.1        /* of all rows: every read of them is paid for twice */

typedef struct survey {
    nl_iceberg_table *table;
    const nl_table_metadata *metadata; /* counted */
    const nl_snapshot *snapshot;       /* NULL: an empty table */
    nl_pool *pool;
    nl_memory *memory;
    nl_arena *arena;
    nl_table_health *health;
    nl_health_advice *advice;          /* room for one of each procedure */
    int64_t delete_rewrite_files, delete_rewrite_groups;
} survey;

int64_t nl_health_size_limit(uint32_t bar)
{
    static const int64_t limits[NL_HEALTH_SIZES] = {1ll << 20, 8ll << 20, 32ll << 20, 64ll << 20, 128ll << 20, 256ll << 20, 512ll << 20, INT64_MAX};
    return limits[bar];
}

/* "1.4 MiB" */
static nl_str size_text(nl_arena *arena, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double)bytes;
    uint32_t unit = 0;
    for (; value >= 1024 && unit + 1 < NL_COUNT(units); unit++) value /= 1024;
    return nl_arena_f(arena, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

/* ---- Counting. */

static void count_data_file(nl_table_health *health, const nl_data_file *file)
{
    const int64_t bytes = file->file_size_bytes;
    uint32_t bar = 0;
    while (bytes >= nl_health_size_limit(bar) && bar + 1 < NL_HEALTH_SIZES) bar++;
    health->size_files[bar]++;
    health->size_bytes[bar] += bytes;
    health->smallest_bytes = health->data_files == 0 ? bytes : NL_MIN(health->smallest_bytes, bytes);
    health->largest_bytes = NL_MAX(health->largest_bytes, bytes);
    health->data_files++;
    health->data_bytes += bytes;
    health->rows += file->record_count;
    health->small_files += (double)bytes < 0.75 * (double)health->target_file_bytes;
}

static void count_delete_file(nl_table_health *health, const nl_data_file *file)
{
    const bool is_vector = nl_data_file_is_deletion_vector(file);
    int64_t *files = is_vector ? &health->vectors : file->content == NL_CONTENT_EQUALITY_DELETES ? &health->equality_delete_files : &health->position_delete_files;
    int64_t *rows = is_vector ? &health->vector_deletes : file->content == NL_CONTENT_EQUALITY_DELETES ? &health->equality_deletes : &health->position_deletes;
    (*files)++;
    *rows += file->record_count;
    health->delete_bytes += is_vector && file->content_size_bytes != NL_NONE ? file->content_size_bytes : file->file_size_bytes;
}

static nl_status count_manifest(survey *self, const nl_manifest_file *listed, nl_path_set *partitions)
{
    nl_table_health *health = self->health;
    const nl_manifest *manifest = NULL;
    *(listed->content == NL_MANIFEST_DATA ? &health->data_manifests : &health->delete_manifests) += 1;
    health->manifest_bytes += listed->length;
    NL_TRY(nl_manifest_cache_read(self->table->manifest_cache, self->table->fs, listed, self->memory, &manifest));
    bool *is_used = NL_NEW_ARRAY(self->arena, bool, manifest->partition_count + 1);
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        if (!nl_manifest_entry_is_live(entry)) continue;
        if (entry->file.content != NL_CONTENT_DATA) {
            count_delete_file(health, &entry->file);
            continue;
        }
        count_data_file(health, &entry->file);
        if (entry->partition_index < manifest->partition_count) is_used[entry->partition_index] = true;
    }
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < manifest->partition_count; i++) {
        nl_builder name;
        if (!is_used[i] || !manifest->spec || manifest->spec->field_count == 0) continue;
        nl_builder_init(&name, 1 << 20);
        nl_append_f(&name, "%d ", manifest->spec_id);
        nl_partition_append_path(manifest->spec, manifest->schema, manifest->partitions[i], &name);
        if (nl_builder_failed(&name)) status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)name.length), NL_P("receivedBytes", "0"));
        else (void)nl_path_set_add(partitions, nl_builder_str(&name), 0);
        nl_builder_fini(&name);
    }
    nl_manifest_release(manifest);
    return status;
}

static nl_status count_files(survey *self)
{
    const nl_manifest_file *files = NULL;
    uint32_t count = 0;
    if (!self->snapshot) return NULL;
    NL_TRY(nl_snapshot_manifests(self->table->fs, self->snapshot, self->memory, self->arena, &files, &count));
    nl_path_set *partitions = nl_path_set_new(self->arena);
    for (uint32_t i = 0; i < count; i++) NL_TRY(count_manifest(self, &files[i], partitions));
    self->health->partitions = nl_path_set_count(partitions);
    return NULL;
}

static nl_status count_metadata(survey *self)
{
    nl_table_health *health = self->health;
    const nl_table_metadata *metadata = self->metadata;
    health->snapshots = metadata->snapshot_count;
    for (uint32_t i = 0; i < metadata->snapshot_count; i++)
        if (health->oldest_snapshot_ms == 0 || metadata->snapshots[i].timestamp_ms < health->oldest_snapshot_ms) health->oldest_snapshot_ms = metadata->snapshots[i].timestamp_ms;
    health->metadata_log = metadata->metadata_log_count;
    nl_file_info info;
    NL_TRY(nl_fs_stat(self->table->fs, metadata->metadata_file, &info));
    health->metadata_bytes = (int64_t)info.size_bytes;
    const nl_snapshot *const *expirable = NULL;
    uint32_t count = 0;
    NL_TRY(nl_expirable_snapshots(metadata, &(nl_expire_options){.retain_last = NL_NONE}, self->arena, &expirable, &count));
    health->expirable_snapshots = count;
    return NULL;
}

/* ---- Planning what procedures would do. */

static nl_rewrite_options rewrite_options(const survey *self, bool of_deletes)
{
    int64_t target = of_deletes ? 64ll << 20 : self->health->target_file_bytes;
    return (nl_rewrite_options){
        .target_file_bytes = target,
        .min_file_bytes = (int64_t)((double)target * 0.75),
        .max_file_bytes = (int64_t)((double)target * 1.8),
        .max_group_bytes = 100ll << 30,
        .min_input_files = 5,
        .delete_file_threshold = INT32_MAX,
        .delete_ratio_threshold = 0.3,
        .max_files_to_rewrite = NL_NONE,
        .output_spec_id = self->metadata->default_spec_id,
    };
}

/* Deletion vectors go with their data file; deletes of other kinds stay until somebody asks whether they are needed. */
static void count_applied(survey *self, const nl_scan_plan *plan)
{
    nl_path_set *applied = nl_path_set_new(self->arena);
    for (uint32_t i = 0; i < plan->task_count; i++) {
        const nl_file_task *task = &plan->tasks[i];
        self->health->files_with_deletes += task->delete_count > 0;
        for (uint32_t k = 0; k < task->delete_count; k++)
            if (!nl_data_file_is_deletion_vector(task->deletes[k])) (void)nl_path_set_add(applied, task->deletes[k]->path, 0);
    }
    self->health->dangling_delete_files = self->health->position_delete_files + self->health->equality_delete_files - nl_path_set_count(applied);
}

static nl_status plan_rewrite(survey *self)
{
    nl_scan_plan *plan = NULL;
    nl_rewrite_group *groups = NULL;
    uint32_t count = 0;
    const nl_scan_planning planning = {
        .fs = self->table->fs,
        .cache = self->table->manifest_cache,
        .metadata = self->metadata,
        .snapshot = self->snapshot,
        .schema = nl_table_schema(self->metadata),
        .after_snapshot_id = NL_NONE,
        .pool = self->pool,
        .memory = self->memory,
    };
    const nl_rewrite_options options = rewrite_options(self, false);
    NL_TRY(nl_scan_plan_new(&planning, &plan));
    count_applied(self, plan);
    nl_status status = nl_plan_rewrite(plan, self->metadata, &options, self->arena, &groups, &count);
    for (uint32_t i = 0; !status && i < count; i++) {
        self->health->rewrite_files += groups[i].task_count;
        self->health->rewrite_bytes += groups[i].bytes;
    }
    self->health->rewrite_groups = status ? 0 : count;
    nl_scan_plan_release(plan);
    return status;
}

static nl_status plan_delete_rewrite(survey *self)
{
    nl_rewrite_group *groups = NULL;
    uint32_t count = 0;
    const nl_rewrite_options options = rewrite_options(self, true);
    NL_TRY(nl_plan_delete_rewrite(self->table, self->metadata, self->snapshot, NULL, &options, self->arena, &groups, &count));
    for (uint32_t i = 0; i < count; i++) self->delete_rewrite_files += groups[i].task_count;
    self->delete_rewrite_groups = count;
    return NULL;
}

/* ---- Advice. */

static void advise(survey *self, const nl_health_advice *advice)
{
    self->advice[self->health->advice_count++] = *advice;
}

static void advise_data_files(survey *self)
{
    nl_table_health *health = self->health;
    nl_arena *arena = self->arena;
    const int64_t deletes = health->position_deletes + health->equality_deletes + health->vector_deletes;
    const bool is_in_debt = health->rows > 0 && (double)deletes > DELETES_MANY * (double)health->rows;
    if (health->rewrite_files > 0) {
        const int64_t target = health->target_file_bytes;
        const int64_t after = NL_MAX(health->rewrite_groups, (health->rewrite_bytes + target - 1) / NL_MAX(target, 1));
        advise(self, &(nl_health_advice){
                         .procedure = "rewrite_data_files",
                         .why = nl_arena_f(arena, "%lld of %lld data files are smaller than three quarters of the %s that they should have: each costs a request and an entry in a manifest",
                                           (long long)health->small_files, (long long)health->data_files, size_text(arena, target).data),
                         .effect = nl_arena_f(arena, "would rewrite %lld files (%s) in %lld groups to about %lld files", (long long)health->rewrite_files,
                                              size_text(arena, health->rewrite_bytes).data, (long long)health->rewrite_groups, (long long)after),
                         .is_urgent = health->rewrite_files >= 100});
    } else if (health->files_with_deletes > 0 && (health->equality_delete_files > 0 || is_in_debt)) {
        advise(self, &(nl_health_advice){
                         .procedure = "rewrite_data_files",
                         .arguments = NL_STR("options => map('delete-file-threshold', '1')"),
                         .why = nl_arena_f(arena, "%lld deletes in %lld files apply to %lld rows: every read sorts them out again", (long long)deletes,
                                           (long long)(health->position_delete_files + health->equality_delete_files + health->vectors), (long long)health->rows),
                         .effect = nl_arena_f(arena, "would rewrite the %lld data files that deletes apply to, without the deleted rows", (long long)health->files_with_deletes),
                         .is_urgent = is_in_debt});
    }
}

static void advise_deletes_and_manifests(survey *self)
{
    nl_table_health *health = self->health;
    nl_arena *arena = self->arena;
    const int64_t manifests = health->data_manifests;
    if (health->dangling_delete_files > 0 && health->files_with_deletes == 0)
        advise(self, &(nl_health_advice){
                         .procedure = "rewrite_position_delete_files",
                         .arguments = NL_STR("options => map('rewrite-all', 'true')"),
                         .why = nl_arena_f(arena, "%lld delete files apply to no data file any more", (long long)health->dangling_delete_files),
                         .effect = NL_STR("would drop the position deletes that nothing needs")});
    else if (self->delete_rewrite_files > 0)
        advise(self, &(nl_health_advice){
                         .procedure = "rewrite_position_delete_files",
                         .why = nl_arena_f(arena, "%lld small files of position deletes", (long long)health->position_delete_files),
                         .effect = nl_arena_f(arena, "would merge %lld of them in %lld groups", (long long)self->delete_rewrite_files, (long long)self->delete_rewrite_groups)});
    if (manifests >= MANIFESTS_MANY && health->manifest_bytes / manifests < MANIFEST_TARGET_BYTES / 4)
        advise(self, &(nl_health_advice){
                         .procedure = "rewrite_manifests",
                         .why = nl_arena_f(arena, "%lld manifests of %s on average: planning a query reads each of them", (long long)manifests,
                                           size_text(arena, health->manifest_bytes / manifests).data),
                         .effect = nl_arena_f(arena, "would write about %lld manifests, sorted by partition", (long long)NL_MAX(1, health->manifest_bytes / MANIFEST_TARGET_BYTES))});
}

static void advise_history(survey *self)
{
    nl_table_health *health = self->health;
    nl_arena *arena = self->arena;
    if (health->expirable_snapshots > 0)
        advise(self, &(nl_health_advice){
                         .procedure = "expire_snapshots",
                         .why = nl_arena_f(arena, "%lld of %lld snapshots are older than the table wants to keep; they hold files that nothing else needs", (long long)health->expirable_snapshots,
                                           (long long)health->snapshots),
                         .effect = nl_arena_f(arena, "would remove %lld snapshots, and then the files that only they reach", (long long)health->expirable_snapshots)});
    const bool removes_metadata = nl_table_property_bool(self->metadata, "write.metadata.delete-after-commit.enabled", false);
    if (!removes_metadata && (health->metadata_log >= METADATA_LOG_MANY || health->metadata_bytes > METADATA_BYTES_MANY))
        advise(self, &(nl_health_advice){
                         .procedure = "set_properties",
                         .arguments = NL_STR("'write.metadata.delete-after-commit.enabled' = 'true'"),
                         .why = nl_arena_f(arena, "the metadata file has %s and names %lld earlier ones, which stay for ever", size_text(arena, health->metadata_bytes).data,
                                           (long long)health->metadata_log),
                         .effect = NL_STR("each commit would delete the metadata files that fall off the log")});
}

static nl_status read_health(survey *self)
{
    NL_TRY(nl_table_property_int(self->metadata, "write.target-file-size-bytes", 536870912, &self->health->target_file_bytes));
    NL_TRY(count_files(self));
    NL_TRY(count_metadata(self));
    if (self->snapshot) {
        NL_TRY(plan_rewrite(self));
        NL_TRY(plan_delete_rewrite(self));
    }
    self->advice = NL_NEW_ARRAY(self->arena, nl_health_advice, 8);
    self->health->advice = self->advice;
    advise_data_files(self);
    advise_deletes_and_manifests(self);
    advise_history(self);
    return nl_arena_check(self->arena);
}

nl_status nl_table_health_read(nl_iceberg_table *table, nl_pool *pool, nl_memory *memory, nl_arena *arena, nl_table_health *health)
{
    *health = (nl_table_health){0};
    survey self = {.table = table, .metadata = nl_iceberg_table_metadata(table), .pool = pool, .memory = memory, .arena = arena, .health = health};
    self.snapshot = nl_table_current_snapshot(self.metadata);
    nl_status status = read_health(&self);
    nl_table_metadata_release(self.metadata);
    return status;
}
