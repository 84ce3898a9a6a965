/* exec/join_late.c - what a join outputs after its probe input: partitions that went to disk, unmatched build rows.
 *
 * A partition on disk is loaded and probed alone; when it is still too large, both sides are split by the next four
 * bits of the hash. What splitting cannot divide (one key, no keys) is joined in passes: as many build rows as fit, all
 * probe rows, the next build rows. Without keys all rows are one partition: workers then take build rows from it by turns, as long as
 * probe rows need not remember whether they were matched. Output goes straight to the operator after the probe: the source itself gives empty batches.
 */
#include "exec/join.h"

#include <stdlib.h>

#define LEVEL_MAX      8u    /* splits; after that all rows of a part share 36 bits of hash, most likely the key */
#define SPLIT_ROWS_MIN 1024u

typedef struct part_task {
    struct part_task *next;
    nl_spill **build, **probe; /* owned arrays of `count` files, each may be NULL */
    uint32_t count;
    bool owns_files;
    uint32_t level;            /* of the bits that made it */
} part_task;

typedef struct late_worker {
    part_task *tasks;
    part_task *current; /* loaded */
    nl_row_store store;
    nl_join_table table;
    uint32_t build_file, build_chunk; /* where the next pass begins */
    uint32_t file, chunk; /* of the probe side */
    uint64_t probe_at;    /* probe rows read in this pass */
    nl_buffer *matched;   /* per probe row, with several passes; or NULL */
    bool is_last_pass;
    uint32_t part;        /* of the tasks in hand */
    bool has_begun;       /* with the partition that is shared */
    uint32_t claimed;     /* of its build chunks, and not loaded yet: its number from 1; 0: none */
    uint64_t pass_rows;   /* loaded in this pass */
    uint64_t unmatched;   /* build rows looked at after the probe side */
} late_worker;

typedef struct spilled_source {
    nl_source base;
    nl_join *join;
    atomic_uint next_part;
    bool is_shared;         /* one partition without keys, whose build chunks are taken by turns */
    atomic_uint next_chunk; /* of its build side, over all files */
    uint64_t share_rows;    /* what a worker takes in a pass at most, so that others have some */
    late_worker *workers;
} spilled_source;

static void free_task(part_task *task)
{
    for (uint32_t i = 0; task->owns_files && i < task->count; i++) {
        nl_spill_free(task->build[i]);
        nl_spill_free(task->probe[i]);
    }
    free(task->build);
    free(task->probe);
    free(task);
}

static nl_status new_task(uint32_t count, uint32_t level, part_task **out)
{
    part_task *task = calloc(1, sizeof *task);
    if (!task) return nl_out_of_memory(sizeof *task);
    task->build = calloc(count, sizeof *task->build);
    task->probe = calloc(count, sizeof *task->probe);
    task->count = count;
    task->level = level;
    if (!task->build || !task->probe) {
        free_task(task);
        return nl_out_of_memory(count * sizeof *task->build);
    }
    *out = task;
    return NULL;
}

static nl_status first_task(spilled_source *source, uint32_t part, late_worker *own)
{
    const nl_join *join = source->join;
    part_task *task = NULL;
    NL_TRY(new_task(join->exec->worker_count, 0, &task));
    for (uint32_t w = 0; w < task->count; w++) {
        task->build[w] = join->workers[w].build_spills[part];
        task->probe[w] = join->workers[w].probe_spills[part];
    }
    task->next = own->tasks;
    own->tasks = task;
    return NULL;
}

static nl_status hash_rows(const nl_join *join, const nl_vector *keys, uint32_t row_count, uint64_t *hashes)
{
    for (uint32_t k = 0; k < join->key_count; k++)
        NL_TRY(nl_vector_hash(&keys[k], row_count, k > 0, hashes));
    if (join->key_count == 0) memset(hashes, 0, sizeof *hashes * row_count);
    return NULL;
}

/* Splits a file's rows by the bits of `level`. keys: the first key_count vectors the hash is made of. */
static nl_status split_chunk(spilled_source *source, nl_worker *worker, nl_batch *batch, const nl_vector *keys, uint32_t level, const nl_type *const *types,
                             nl_spill **targets)
{
    nl_join *join = source->join;
    nl_exec *exec = join->exec;
    nl_join_worker *scratch = &join->workers[worker->index];
    uint32_t row_count = batch->row_count;
    NL_TRY(nl_join_scratch(scratch, exec->query->memory, row_count, 0));
    NL_TRY(hash_rows(join, keys, row_count, scratch->hashes));
    uint32_t shift = 64 - NL_JOIN_PARTS_BITS * (level + 1);
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
        uint32_t count = 0;
        for (uint32_t row = 0; row < row_count; row++) {
            scratch->candidates[count] = row;
            count += (scratch->hashes[row] >> shift & (NL_JOIN_PARTS - 1)) == part;
        }
        if (count == 0) continue;
        if (!targets[part]) NL_TRY(nl_spill_new(exec->query->spill_directory, types, batch->column_count, &targets[part]));
        nl_buffer view = {.data = (uint8_t *)scratch->candidates};
        nl_batch chosen = {.columns = batch->columns, .column_count = batch->column_count, .row_count = row_count,
                           .is_selective = true, .selected_count = count, .selection = &view};
        uint64_t before = nl_spill_bytes(targets[part]);
        NL_TRY(nl_spill_write(targets[part], &chosen, exec->query->memory));
        nl_metric_add_spilled(join->build_metric, nl_spill_bytes(targets[part]) - before);
    }
    return NULL;
}

static nl_status split_file(spilled_source *source, nl_worker *worker, const nl_spill *file, bool is_build, uint32_t level, nl_spill **targets)
{
    nl_join *join = source->join;
    nl_vector *keys = calloc((size_t)join->key_count + 1, sizeof *keys);
    if (!keys) return nl_out_of_memory(join->key_count * sizeof *keys);
    nl_status status = NULL;
    for (uint32_t chunk = 0; chunk < nl_spill_chunk_count(file) && !status;) {
        nl_batch batch = {0};
        status = nl_cancel_check(join->exec->query->cancel);
        if (!status) status = nl_spill_read_some(file, nl_exec_batch_rows(join->exec), join->exec->query->memory, &chunk, &batch);
        if (!status && !is_build) status = nl_programs_run(&join->probe_keys, worker->index, &batch, keys);
        if (!status)
            status = split_chunk(source, worker, &batch, is_build ? batch.columns : keys, level, is_build ? join->build_types : join->left_types, targets);
        for (uint32_t k = 0; k < join->key_count; k++)
            nl_vector_fini(&keys[k]);
        nl_batch_fini(&batch);
    }
    free(keys);
    return status;
}

static nl_status split_task(spilled_source *source, nl_worker *worker, late_worker *own, const part_task *task)
{
    nl_spill *build[NL_JOIN_PARTS] = {0}, *probe[NL_JOIN_PARTS] = {0};
    nl_status status = NULL;
    for (uint32_t i = 0; i < task->count && !status; i++) {
        if (task->build[i]) status = split_file(source, worker, task->build[i], true, task->level + 1, build);
        if (!status && task->probe[i]) status = split_file(source, worker, task->probe[i], false, task->level + 1, probe);
    }
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
        part_task *sub = NULL;
        if (!status && (build[part] || probe[part])) status = new_task(1, task->level + 1, &sub);
        if (!sub) {
            nl_spill_free(build[part]);
            nl_spill_free(probe[part]);
            continue;
        }
        *sub->build = build[part];
        *sub->probe = probe[part];
        sub->owns_files = true;
        sub->next = own->tasks;
        own->tasks = sub;
    }
    return status;
}

static bool must_split(const nl_join *join, const part_task *task)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < task->count; i++)
        rows += nl_spill_row_count(task->build[i]);
    if (task->level >= LEVEL_MAX || join->key_count == 0) return false;
    if (join->exec->query->force_spill) return task->level == 0 && rows > 2;
    uint64_t bytes = rows * (join->layout.row_bytes + NL_JOIN_TABLE_ROW_BYTES);
    for (uint32_t i = 0; join->layout.has_heap && i < task->count; i++)
        bytes += nl_spill_bytes(task->build[i]) * 2;
    return rows > SPLIT_ROWS_MIN && !nl_exec_may_grow(join->exec, bytes);
}

static nl_status store_chunk(nl_join *join, nl_join_worker *scratch, late_worker *own, const nl_batch *batch)
{
    NL_TRY(nl_join_scratch(scratch, join->exec->query->memory, batch->row_count, 0));
    NL_TRY(hash_rows(join, batch->columns, batch->row_count, scratch->hashes));
    return nl_join_store_rows(join, batch->columns, scratch->hashes, NL_ALL_ROWS(batch->row_count), &own->store);
}

/* Adds the next chunk of the build side when there is room for it, or nothing has been loaded yet. *held grows by what
 * the table will take for its rows. */
static nl_status load_chunk(nl_join *join, nl_join_worker *scratch, late_worker *own, size_t *held, bool *is_full)
{
    nl_exec *exec = join->exec;
    nl_batch batch = {0};
    NL_TRY(nl_cancel_check(exec->query->cancel));
    NL_TRY(nl_spill_read(own->current->build[own->build_file], own->build_chunk, exec->query->memory, &batch));
    size_t heap_bytes = join->layout.has_heap ? nl_rows_heap_bytes(batch.columns, join->build_value_count, NL_ALL_ROWS(batch.row_count)) : 0;
    size_t growth = nl_row_store_growth(&own->store, batch.row_count, heap_bytes);
    size_t table_bytes = batch.row_count * NL_JOIN_TABLE_ROW_BYTES;
    bool is_held = nl_exec_hold(exec, growth + table_bytes);
    *is_full = !is_held && own->store.row_count > 0;
    nl_status status = *is_full ? NULL : store_chunk(join, scratch, own, &batch);
    if (is_held) nl_exec_unhold(exec, growth);
    if (is_held) *held += table_bytes;
    if (!*is_full) own->build_chunk++;
    nl_batch_fini(&batch);
    return status;
}

/* Must rows of the probe side remember over several passes that they were matched? */
static bool needs_matched(const nl_join *join)
{
    return join->node->join.is_single || (join->kind != NL_JOIN_INNER && join->kind != NL_JOIN_CROSS && join->kind != NL_JOIN_RIGHT);
}

static nl_status keep_matched(nl_join *join, late_worker *own)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < own->current->count; i++)
        rows += nl_spill_row_count(own->current->probe[i]);
    if (own->matched || own->is_last_pass || !needs_matched(join)) return NULL;
    return nl_buffer_new(join->exec->query->memory, rows + 1, true, &own->matched);
}

/* Goes to the build chunk that this worker takes next from the shared partition. False: there is none, or it has its share. */
static bool claim_chunk(spilled_source *source, late_worker *own)
{
    const part_task *task = own->current;
    if (own->pass_rows >= source->share_rows) return false;
    if (own->claimed == 0) own->claimed = atomic_fetch_add(&source->next_chunk, 1) + 1;
    uint32_t chunk = own->claimed - 1;
    for (own->build_file = 0; own->build_file < task->count; own->build_file++) {
        const uint32_t count = nl_spill_chunk_count(task->build[own->build_file]);
        if (chunk < count) break;
        chunk -= count;
    }
    own->build_chunk = chunk;
    return own->build_file < task->count;
}

/* The same as load_pass for one that is shared: a pass without rows is the last. */
static nl_status load_shared(spilled_source *source, nl_join_worker *scratch, late_worker *own, size_t *held)
{
    own->pass_rows = 0;
    for (bool is_full = false; !is_full && claim_chunk(source, own);) {
        if (own->pass_rows == 0) own->part = NL_JOIN_PARTS + own->claimed; /* nobody else's */
        NL_TRY(load_chunk(source->join, scratch, own, held, &is_full));
        if (!is_full) own->claimed = 0;
        own->pass_rows = own->store.row_count;
    }
    own->is_last_pass = own->pass_rows == 0;
    if (own->is_last_pass) own->file = own->current->count; /* nothing to be joined with */
    return NULL;
}

/* The build rows of the next pass. */
static nl_status load_pass(spilled_source *source, nl_worker *worker, late_worker *own)
{
    nl_join *join = source->join;
    nl_join_worker *scratch = &join->workers[worker->index];
    const part_task *task = own->current;
    size_t held = 0;
    nl_status status = NULL;
    own->file = own->chunk = 0;
    own->probe_at = own->unmatched = 0;
    nl_join_table_fini(&own->table);
    nl_row_store_clear(&own->store);
    if (source->is_shared) status = load_shared(source, scratch, own, &held);
    for (bool is_full = source->is_shared; !is_full && !status && own->build_file < task->count;) {
        if (own->build_chunk < nl_spill_chunk_count(task->build[own->build_file])) {
            status = load_chunk(join, scratch, own, &held, &is_full);
        } else {
            own->build_file++;
            own->build_chunk = 0;
        }
    }
    if (!source->is_shared) own->is_last_pass = own->build_file == task->count;
    nl_row_store *stores[] = {&own->store};
    if (!status) status = nl_join_table_make(join, stores, 1, false, &own->table);
    nl_exec_unhold(join->exec, held);
    return status ? status : keep_matched(join, own);
}

static nl_status load_task(spilled_source *source, nl_worker *worker, late_worker *own, part_task *task)
{
    own->current = task;
    own->build_file = own->build_chunk = 0;
    return load_pass(source, worker, own);
}

static void unload(late_worker *own)
{
    if (own->current) free_task(own->current);
    own->current = NULL;
    nl_buffer_release(own->matched);
    own->matched = NULL;
    nl_join_table_fini(&own->table);
    nl_row_store_clear(&own->store);
}

static nl_status push_unmatched(nl_join *join, nl_worker *worker, const nl_join_table *table, uint64_t start, uint32_t count)
{
    uint8_t **rows = malloc(sizeof(uint8_t *) * ((size_t)count + 1));
    if (!rows) return nl_out_of_memory(sizeof(uint8_t *) * count);
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        rows[found] = table->all_rows[start + i];
        found += __atomic_load_n(&nl_join_header_of(table->all_rows[start + i])->matched, __ATOMIC_RELAXED) == join->wants_matched;
    }
    nl_batch out = {0};
    nl_status status = found ? nl_join_output_unmatched(join, rows, found, table, &out) : NULL;
    if (!status && found) status = nl_push(join->probe->next, worker, &out);
    nl_batch_fini(&out);
    free(rows);
    return status;
}

/* One step of the loaded partition. *is_done: nothing is left of it. */
static nl_status step(spilled_source *source, nl_worker *worker, late_worker *own, bool *is_done)
{
    nl_join *join = source->join;
    const part_task *task = own->current;
    *is_done = false;
    while (own->file < task->count && own->chunk >= nl_spill_chunk_count(task->probe[own->file])) {
        own->file++;
        own->chunk = 0;
    }
    if (own->file < task->count) {
        nl_batch batch = {0};
        NL_TRY(nl_spill_read_some(task->probe[own->file], nl_exec_batch_rows(join->exec), join->exec->query->memory, &own->chunk, &batch));
        nl_join_pass pass = {.matched = own->matched ? own->matched->data + own->probe_at : NULL, .is_last = own->is_last_pass};
        own->probe_at += batch.row_count;
        nl_status status = nl_join_probe_batch(join, worker, &own->table, &batch, &pass);
        nl_batch_fini(&batch);
        return status;
    }
    if (!nl_join_keeps_right(join) || own->unmatched >= own->table.row_count) {
        *is_done = own->is_last_pass;
        return *is_done ? NULL : load_pass(source, worker, own);
    }
    uint32_t count = (uint32_t)NL_MIN((uint64_t)nl_exec_batch_rows(join->exec), own->table.row_count - own->unmatched);
    own->unmatched += count;
    return push_unmatched(join, worker, &own->table, own->unmatched - count, count);
}

static nl_status begin_shared(spilled_source *source, late_worker *own, bool *is_done)
{
    *is_done = own->has_begun;
    if (*is_done) return NULL;
    own->has_begun = true;
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
        if (atomic_load_explicit(&source->join->is_spilled[part], memory_order_relaxed)) return first_task(source, part, own);
    return NULL;
}

static nl_status spilled_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)batch;
    spilled_source *source = NL_CONTAINER(self, spilled_source, base);
    nl_join *join = source->join;
    late_worker *own = &source->workers[worker->index];
    *morsel = own->part;
    nl_worker_at(worker, own->part);
    if (own->current) {
        bool is_finished = false;
        NL_TRY(step(source, worker, own, &is_finished));
        if (is_finished) unload(own);
        return NULL;
    }
    if (own->tasks) {
        part_task *task = own->tasks;
        own->tasks = task->next;
        if (!must_split(join, task)) return load_task(source, worker, own, task);
        nl_status status = split_task(source, worker, own, task);
        free_task(task);
        return status;
    }
    if (source->is_shared) return begin_shared(source, own, is_done);
    uint32_t part = atomic_fetch_add(&source->next_part, 1);
    *morsel = own->part = part;
    *is_done = part >= NL_JOIN_PARTS || !atomic_load_explicit(&join->any_spilled, memory_order_relaxed);
    if (!*is_done && atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed)) return first_task(source, part, own);
    return NULL;
}

static void spilled_free(nl_source *self)
{
    spilled_source *source = NL_CONTAINER(self, spilled_source, base);
    for (uint32_t w = 0; w < self->exec->worker_count; w++) {
        late_worker *own = &source->workers[w];
        unload(own);
        for (part_task *task = own->tasks; task;) {
            part_task *next = task->next;
            free_task(task);
            task = next;
        }
    }
}

static nl_status spilled_start(nl_source *self)
{
    spilled_source *source = NL_CONTAINER(self, spilled_source, base);
    nl_join *join = source->join;
    bool any_spilled = atomic_load_explicit(&join->any_spilled, memory_order_relaxed);
    self->is_serial = !any_spilled;
    if (!any_spilled) return NULL;
    nl_join_release_built(join);
    uint32_t spilled_parts = 0;
    uint64_t rows = 0;
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
        if (!atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed)) continue;
        spilled_parts++;
        for (uint32_t w = 0; w < self->exec->worker_count; w++) rows += nl_spill_row_count(join->workers[w].build_spills[part]);
    }
    source->is_shared = join->key_count == 0 && spilled_parts == 1 && !needs_matched(join) && self->exec->worker_count > 1;
    source->share_rows = rows / self->exec->worker_count + 1;
    return NULL;
}

static const nl_source_ops spilled_ops = {.name = "partitions on disk", .start = spilled_start, .next = spilled_next, .free = spilled_free};

nl_source *nl_join_spilled_source(nl_join *join)
{
    nl_exec *exec = join->exec;
    spilled_source *source = NL_NEW(exec->arena, spilled_source);
    nl_source_init(&source->base, &spilled_ops, exec, NULL, "");
    source->join = join;
    source->base.metric = join->probe->metric; /* its rows are the join's */
    source->base.is_serial = true; /* until something was spilled */
    source->workers = NL_NEW_ARRAY(exec->arena, late_worker, exec->worker_count);
    for (uint32_t w = 0; w < exec->worker_count; w++)
        nl_row_store_init(&source->workers[w].store, exec->query->memory, join->layout.row_bytes);
    return &source->base;
}

typedef struct unmatched_source {
    nl_source base;
    nl_join *join;
    atomic_uint_fast64_t next;
} unmatched_source;

static nl_status unmatched_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)batch;
    unmatched_source *source = NL_CONTAINER(self, unmatched_source, base);
    nl_join *join = source->join;
    uint32_t step_rows = nl_exec_batch_rows(self->exec);
    uint64_t start = atomic_fetch_add(&source->next, step_rows);
    *morsel = start / step_rows;
    *is_done = start >= join->table.row_count;
    if (*is_done) return NULL;
    nl_worker_at(worker, *morsel);
    return push_unmatched(join, worker, &join->table, start, (uint32_t)NL_MIN((uint64_t)step_rows, join->table.row_count - start));
}

static nl_status unmatched_start(nl_source *self)
{
    const unmatched_source *source = NL_CONTAINER(self, unmatched_source, base);
    self->is_serial = source->join->table.row_count <= 4 * nl_exec_batch_rows(self->exec);
    return NULL;
}

static const nl_source_ops unmatched_ops = {.name = "unmatched rows", .start = unmatched_start, .next = unmatched_next};

nl_source *nl_join_unmatched_source(nl_join *join)
{
    unmatched_source *source = NL_NEW(join->exec->arena, unmatched_source);
    nl_source_init(&source->base, &unmatched_ops, join->exec, NULL, "");
    source->join = join;
    source->base.metric = join->probe->metric;
    source->base.is_serial = true; /* until it is known how many there are */
    return &source->base;
}
