/* iceberg/scan_planning.c - see scan_planning.h. Manifests are read in parallel, each into a slot of its own; what they
 * give is put together in the manifest list's order, so a plan does not depend on timing. */
#include "iceberg/scan_planning.h"

#include <stdlib.h>

#include "iceberg/delete_index.h"

/* Beyond this, whether every row of a file matches is only asked of its partition: bounds cost a look at each file. */
#define STRICT_CHECKS_MAX 4096u

typedef struct plan_object { /* nl_scan_plan and what keeps it alive */
    nl_scan_plan plan;
    nl_arena *arena;
    const nl_manifest_list **lists; /* counted; one, or one of each appending snapshot */
    uint32_t list_count;
    const nl_manifest **manifests; /* counted; NULL where not read */
    uint32_t manifest_count;
    atomic_uint references;
} plan_object;

typedef struct spec_projection { /* the predicate in terms of one spec */
    const nl_partition_spec *spec;
    const nl_predicate *inclusive;
    const nl_predicate *strict;
} spec_projection;

typedef struct planner {
    const nl_scan_planning *input;
    plan_object *object;
    nl_arena *arena;
    const nl_manifest_file *files; /* of the manifest lists */
    uint32_t file_count;
    bool *is_wanted;
    uint8_t **alive;       /* per manifest: bits of live, perhaps matching entries */
    spec_projection *projections;
    uint32_t projection_count;
    const int64_t *appended; /* incremental: snapshot ids, ascending */
    uint32_t appended_count;
} planner;

static plan_object *object_of(nl_scan_plan *plan)
{
    return NL_CONTAINER(plan, plan_object, plan);
}

void nl_scan_plan_retain(nl_scan_plan *plan)
{
    atomic_fetch_add_explicit(&object_of(plan)->references, 1, memory_order_relaxed);
}

void nl_scan_plan_release(nl_scan_plan *plan)
{
    if (!plan || atomic_fetch_sub_explicit(&object_of(plan)->references, 1, memory_order_acq_rel) != 1) return;
    plan_object *object = object_of(plan);
    for (uint32_t i = 0; i < object->manifest_count; i++)
        nl_manifest_release(object->manifests[i]);
    for (uint32_t i = 0; i < object->list_count; i++)
        nl_manifest_list_release(object->lists[i]);
    nl_arena_free(object->arena);
    free(object);
}

static const spec_projection *projection_of(const planner *self, int32_t spec_id)
{
    for (uint32_t i = 0; i < self->projection_count; i++)
        if (self->projections[i].spec->spec_id == spec_id) return &self->projections[i];
    return NULL;
}

static nl_status project_all(planner *self)
{
    const nl_table_metadata *metadata = self->input->metadata;
    const nl_predicate *predicate = self->input->predicate ? self->input->predicate : nl_predicate_true();
    self->projections = NL_NEW_ARRAY(self->arena, spec_projection, metadata->spec_count);
    for (uint32_t i = 0; i < metadata->spec_count; i++) {
        spec_projection *projection = &self->projections[self->projection_count++];
        projection->spec = metadata->specs[i];
        NL_TRY(nl_predicate_project_inclusive(self->arena, predicate, self->input->schema, projection->spec, &projection->inclusive));
        NL_TRY(nl_predicate_project_strict(self->arena, predicate, self->input->schema, projection->spec, &projection->strict));
    }
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static nl_status read_list(planner *self, const nl_snapshot *snapshot, const nl_manifest_list **list)
{
    plan_object *object = self->object;
    NL_TRY(nl_manifest_cache_list(self->input->cache, self->input->fs, snapshot, self->input->memory, list));
    object->lists[object->list_count++] = *list;
    return NULL;
}

/* The manifests that an appending snapshot brought. They are asked of its own list: in a later one its files may have come into
 * merged manifests, where they are no longer new, or may be gone. */
static nl_status take_appended(planner *self, const nl_snapshot *snapshot, nl_list *files)
{
    const nl_manifest_list *list = NULL;
    NL_TRY(read_list(self, snapshot, &list));
    for (uint32_t i = 0; i < list->file_count; i++)
        if (list->files[i].added_snapshot_id == snapshot->snapshot_id) nl_list_add(self->arena, files, NL_UNCONST(&list->files[i]));
    return NULL;
}

/* Incremental scans see the appends of the range, the newest first; snapshots of other operations are skipped, as Iceberg 1.10
 * does. */
static nl_status collect_appended(planner *self)
{
    const nl_table_metadata *metadata = self->input->metadata;
    int64_t *ids = NL_NEW_ARRAY(self->arena, int64_t, metadata->snapshot_count);
    const nl_snapshot *snapshot = self->input->snapshot;
    nl_list files = {0};
    self->object->lists = NL_NEW_ARRAY(self->object->arena, const nl_manifest_list *, metadata->snapshot_count);
    for (uint32_t step = 0; snapshot && snapshot->snapshot_id != self->input->after_snapshot_id && step < metadata->snapshot_count; step++) {
        if (nl_str_is(snapshot->operation, "append")) {
            ids[self->appended_count++] = snapshot->snapshot_id;
            NL_TRY(take_appended(self, snapshot, &files));
        }
        snapshot = nl_table_snapshot(metadata, snapshot->parent_id);
    }
    qsort(ids, self->appended_count, sizeof(*ids), compare_ids);
    self->appended = ids;
    nl_manifest_file *copies = NL_NEW_ARRAY(self->arena, nl_manifest_file, files.count + 1);
    for (uint32_t i = 0; i < files.count; i++) copies[i] = *(const nl_manifest_file *)files.items[i];
    self->files = copies;
    self->file_count = files.count;
    return NULL;
}

/* The lists live as long as the plan: manifests inherit from them while they are read, and errors name their paths. */
static nl_status collect_manifests(planner *self)
{
    const nl_manifest_list *list = NULL;
    if (self->input->after_snapshot_id > 0) return collect_appended(self);
    self->object->lists = NL_NEW_ARRAY(self->object->arena, const nl_manifest_list *, 1);
    NL_TRY(read_list(self, self->input->snapshot, &list));
    self->files = list->files;
    self->file_count = list->file_count;
    return NULL;
}

static bool is_appended(const planner *self, int64_t snapshot_id)
{
    return bsearch(&snapshot_id, self->appended, self->appended_count, sizeof(snapshot_id), compare_ids) != NULL;
}

static bool wants_manifest(const planner *self, const nl_manifest_file *file)
{
    const nl_scan_planning *input = self->input;
    const bool is_incremental = input->after_snapshot_id > 0;
    if (file->content == NL_MANIFEST_DELETES && (input->ignores_deletes || is_incremental)) return false;
    if (file->added_files_count == 0 && file->existing_files_count == 0) return false;
    const spec_projection *projection = projection_of(self, file->spec_id);
    return !projection || nl_predicate_may_match_manifest(projection->inclusive, projection->spec, input->schema, file);
}

/* Bits of the entries that are live and whose partition may match: asked once per distinct partition. */
static void keep_partitions(const planner *self, const nl_manifest *manifest, const spec_projection *projection, uint8_t *alive)
{
    const bool is_incremental = self->input->after_snapshot_id > 0;
    bool *matches = NULL;
    if (projection->inclusive->kind != NL_PREDICATE_TRUE && manifest->partition_count > 0) {
        matches = malloc(manifest->partition_count * sizeof(*matches));
        for (uint32_t i = 0; matches && i < manifest->partition_count; i++)
            matches[i] = nl_predicate_matches_partition(projection->inclusive, projection->spec, manifest->partitions[i]);
    }
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry *entry = &manifest->entries[i];
        bool is_kept = nl_manifest_entry_is_live(entry) && (!matches || matches[entry->partition_index]);
        if (is_incremental) is_kept = is_kept && entry->status == NL_ENTRY_ADDED && is_appended(self, entry->snapshot_id);
        if (is_kept) nl_bit_set(alive, i);
    }
    free(matches);
}

static nl_status read_manifest(void *argument, uint64_t i)
{
    planner *self = argument;
    if (!self->is_wanted[i]) return NULL;
    const nl_scan_planning *input = self->input;
    const nl_manifest *manifest = NULL;
    NL_TRY_NOTE(nl_manifest_cache_read(input->cache, input->fs, &self->files[i], input->memory, &manifest), "reading manifest " NL_STR_FMT,
                NL_STR_ARG(self->files[i].path));
    self->object->manifests[i] = manifest;
    uint8_t *alive = calloc(1, (manifest->entry_count + 7) / 8 + 1);
    if (!alive) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", manifest->entry_count), NL_P("receivedBytes", "0"));
    self->alive[i] = alive;
    const spec_projection *projection = projection_of(self, self->files[i].spec_id);
    if (!projection) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find partition spec %d of manifest " NL_STR_FMT, self->files[i].spec_id, NL_STR_ARG(self->files[i].path));
    keep_partitions(self, manifest, projection, alive);
    /* Bounds of delete files speak of deleted rows' paths and keys, not of the table's columns. */
    if (manifest->content == NL_MANIFEST_DATA && input->predicate)
        NL_TRY(nl_predicate_prune_entries(input->predicate, input->schema, manifest, alive));
    return NULL;
}

static nl_delete_index *index_deletes(planner *self)
{
    nl_delete_index *index = nl_delete_index_new(self->object->arena, self->input->metadata);
    for (uint32_t m = 0; m < self->file_count; m++) {
        const nl_manifest *manifest = self->object->manifests[m];
        if (!manifest || manifest->content != NL_MANIFEST_DELETES) continue;
        const nl_partition_spec *spec = projection_of(self, self->files[m].spec_id)->spec;
        for (uint32_t i = 0; i < manifest->entry_count; i++)
            if (nl_bit_get(self->alive[m], i)) nl_delete_index_add(index, &manifest->entries[i], spec);
    }
    nl_delete_index_finish(index);
    return index;
}

static uint32_t count_tasks(const planner *self)
{
    uint32_t count = 0;
    for (uint32_t m = 0; m < self->file_count; m++) {
        const nl_manifest *manifest = self->object->manifests[m];
        if (!manifest || manifest->content != NL_MANIFEST_DATA) continue;
        self->object->plan.files_total += manifest->live_count;
        for (uint32_t i = 0; i < manifest->entry_count; i++)
            count += nl_bit_get(self->alive[m], i);
    }
    return count;
}

static nl_status make_task(planner *self, const nl_manifest_entry *entry, const spec_projection *projection, const nl_delete_index *deletes, bool is_strict,
                           nl_file_task *task)
{
    const nl_predicate *predicate = self->input->predicate;
    *task = (nl_file_task){
        .file = &entry->file,
        .data_sequence_number = entry->sequence_number,
        .file_sequence_number = entry->file_sequence_number,
        .spec = projection->spec,
        .is_wholly_matching = !predicate || nl_predicate_matches_partition(projection->strict, projection->spec, entry->file.partition),
    };
    if (!task->is_wholly_matching && is_strict)
        NL_TRY(nl_predicate_strict_match(predicate, self->input->schema, projection->spec, &entry->file, &task->is_wholly_matching));
    if (!nl_delete_index_is_empty(deletes))
        nl_delete_index_find(deletes, &entry->file, entry->sequence_number, self->object->arena, &task->deletes, &task->delete_sequence_numbers,
                             &task->delete_count);
    return NULL;
}

static nl_status make_tasks(planner *self)
{
    nl_scan_plan *plan = &self->object->plan;
    const nl_delete_index *deletes = index_deletes(self);
    const uint32_t count = count_tasks(self);
    nl_file_task *tasks = NL_NEW_ARRAY(self->object->arena, nl_file_task, count);
    for (uint32_t m = 0; m < self->file_count; m++) {
        const nl_manifest *manifest = self->object->manifests[m];
        if (!manifest || manifest->content != NL_MANIFEST_DATA) continue;
        const spec_projection *projection = projection_of(self, self->files[m].spec_id);
        for (uint32_t i = 0; i < manifest->entry_count; i++) {
            if (!nl_bit_get(self->alive[m], i)) continue;
            nl_file_task *task = &tasks[plan->task_count++];
            NL_TRY(make_task(self, &manifest->entries[i], projection, deletes, count <= STRICT_CHECKS_MAX, task));
            plan->row_count += task->file->record_count;
            plan->bytes += task->file->file_size_bytes;
        }
        NL_TRY(nl_arena_check(self->object->arena));
    }
    plan->tasks = tasks;
    plan->delete_files = nl_delete_index_count(deletes);
    return NULL;
}

static nl_status plan_scan(planner *self)
{
    const nl_scan_planning *input = self->input;
    if (!input->snapshot) return NULL;
    NL_TRY(collect_manifests(self));
    NL_TRY(project_all(self));
    self->object->manifests = NL_NEW_ARRAY(self->object->arena, const nl_manifest *, self->file_count);
    self->object->manifest_count = self->file_count;
    self->is_wanted = NL_NEW_ARRAY(self->arena, bool, self->file_count);
    self->alive = NL_NEW_ARRAY(self->arena, uint8_t *, self->file_count);
    for (uint32_t i = 0; i < self->file_count; i++) {
        self->is_wanted[i] = wants_manifest(self, &self->files[i]);
        self->object->plan.manifests_read += self->is_wanted[i];
    }
    self->object->plan.manifests_total = self->file_count;
    if (input->pool && self->object->plan.manifests_read > 1)
        NL_TRY(nl_pool_for(input->pool, self->file_count, read_manifest, self));
    else
        for (uint32_t i = 0; i < self->file_count; i++)
            NL_TRY(read_manifest(self, i));
    return make_tasks(self);
}

static nl_status new_object(nl_memory *memory, plan_object **object)
{
    plan_object *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->arena = nl_arena_new(memory);
    atomic_init(&made->references, 1);
    *object = made;
    return NULL;
}

nl_status nl_scan_plan_begin(nl_memory *memory, nl_scan_plan **plan, nl_arena **arena)
{
    plan_object *object = NULL;
    NL_TRY(new_object(memory, &object));
    *plan = &object->plan;
    *arena = object->arena;
    return NULL;
}

nl_status nl_scan_plan_new(const nl_scan_planning *planning, nl_scan_plan **plan)
{
    plan_object *object = NULL;
    NL_TRY(new_object(planning->memory, &object));
    planner self = {.input = planning, .object = object, .arena = nl_arena_new(planning->memory)};
    nl_status status = nl_table_explain_moved(planning->metadata, plan_scan(&self));
    for (uint32_t i = 0; self.alive && i < self.file_count; i++)
        free(self.alive[i]);
    nl_arena_free(self.arena);
    if (status)
        nl_scan_plan_release(&object->plan);
    else
        *plan = &object->plan;
    return status;
}
