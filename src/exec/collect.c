/* exec/collect.c - ordered collection.
 *
 * Every worker works through morsels in ascending order, so its current morsel is a lower bound for all it will still
 * bring. A batch may be emitted when no other worker can bring an earlier one; others wait in their worker's queue.
 * When queues hold too much, workers wait, except the one whose batch is due: so there is always progress.
 */
#include "exec/collect.h"

#include <stdlib.h>
#include <time.h>

#define QUEUED_BYTES_MAX  (32u << 20)
#define QUEUES_PER_BUDGET 8u /* a small budget queues less */
#define WAIT_NANOSECONDS 20000000 /* looks at cancellation this often while waiting */

typedef struct queued {
    struct queued *next;
    uint64_t morsel;
    size_t bytes;
    nl_batch batch;
} queued;

typedef struct lane { /* one worker */
    queued *first, *last;
    int64_t row_count; /* brought so far */
} lane;

typedef struct collect {
    nl_operator base;
    int64_t offset, limit;
    nl_emit_fn emit;
    void *context;
    lane *lanes;
    nl_mutex mutex;
    pthread_cond_t changed;
    size_t queued_bytes_max;
    size_t queued_bytes; /* guarded by mutex, as all below */
    bool is_emitting;
    int64_t skipped_count, emitted_count;
} collect;

static nl_status collect_start(nl_operator *self)
{
    const collect *c = NL_CONTAINER(self, collect, base);
    if (c->limit == 0) atomic_store_explicit(&self->pipeline->is_stopped, true, memory_order_relaxed);
    return NULL;
}

/* The first morsel that worker i may still bring. */
static uint64_t earliest(const collect *c, uint32_t i)
{
    const lane *l = &c->lanes[i];
    return l->first ? l->first->morsel : atomic_load(&c->base.pipeline->workers[i].floor);
}

/* The lane whose first queued batch is due, or NULL. */
static lane *due_lane(collect *c)
{
    lane *due = NULL;
    for (uint32_t i = 0; i < c->base.exec->worker_count; i++) {
        lane *l = &c->lanes[i];
        if (l->first && (!due || l->first->morsel < due->first->morsel)) due = l;
    }
    for (uint32_t i = 0; due && i < c->base.exec->worker_count; i++)
        if (earliest(c, i) < due->first->morsel) return NULL;
    return due;
}

static nl_status emit_limited(collect *c, nl_batch *batch)
{
    nl_memory *memory = c->base.exec->query->memory;
    int64_t rows = batch->row_count;
    int64_t skip = NL_MIN(c->offset - c->skipped_count, rows);
    int64_t take = NL_MIN(rows - skip, c->limit - c->emitted_count);
    c->skipped_count += skip;
    c->emitted_count += take;
    if (c->base.metric) atomic_fetch_add_explicit(&c->base.metric->rows, (uint64_t)take, memory_order_relaxed);
    bool is_enough = c->emitted_count >= c->limit;
    nl_status status = NULL;
    if (take == rows) {
        status = c->emit(c->context, batch);
    } else if (take > 0) {
        nl_batch part = {0};
        status = nl_batch_slice(batch, (uint32_t)skip, (uint32_t)take, memory, &part);
        if (!status) status = c->emit(c->context, &part);
        nl_batch_fini(&part);
    }
    if (is_enough) atomic_store_explicit(&c->base.pipeline->is_stopped, true, memory_order_relaxed);
    return status;
}

/* Emits what is due. The mutex is held on entry and exit but not while emitting; one thread emits at a time. */
static nl_status drain(collect *c)
{
    nl_status status = NULL;
    while (!c->is_emitting && !status) {
        lane *due = due_lane(c);
        if (!due) break;
        queued *item = due->first;
        due->first = item->next;
        if (!due->first) due->last = NULL;
        c->is_emitting = true;
        bool is_wanted = c->emitted_count < c->limit;
        nl_mutex_unlock(&c->mutex);
        if (is_wanted) status = emit_limited(c, &item->batch);
        nl_batch_fini(&item->batch);
        nl_mutex_lock(&c->mutex);
        c->is_emitting = false;
        c->queued_bytes -= item->bytes;
        free(item);
        pthread_cond_broadcast(&c->changed);
    }
    return status;
}

static bool must_wait(const collect *c, nl_worker *worker)
{
    const nl_pipeline *pipeline = worker->pipeline;
    return c->queued_bytes > c->queued_bytes_max && !atomic_load_explicit(&pipeline->is_stopped, memory_order_relaxed) &&
           !atomic_load_explicit(&pipeline->is_paused, memory_order_relaxed) &&
           !atomic_load_explicit(&pipeline->has_failed, memory_order_relaxed) && !nl_cancel_is_set(c->base.exec->query->cancel);
}

/* Waits while too much is queued and this worker is not the one everybody waits for. */
static nl_status wait_for_room(collect *c, nl_worker *worker)
{
    nl_status status = drain(c);
    while (!status && must_wait(c, worker)) {
        bool is_earliest = true;
        for (uint32_t i = 0; i < c->base.exec->worker_count; i++)
            is_earliest = is_earliest && (i == worker->index || earliest(c, i) > worker->morsel);
        if (is_earliest && !c->is_emitting) break;
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NANOSECONDS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&c->changed, &c->mutex, &until);
        status = drain(c);
    }
    return status;
}

static nl_status collect_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    collect *c = NL_CONTAINER(self, collect, base);
    NL_TRY(nl_batch_compact(batch, self->exec->query->memory));
    queued *item = malloc(sizeof *item);
    if (!item) return nl_out_of_memory(sizeof *item);
    *item = (queued){.morsel = worker->morsel, .bytes = nl_batch_bytes(batch)};
    int64_t rows = batch->row_count;
    nl_batch_move(batch, &item->batch);
    nl_mutex_lock(&c->mutex);
    lane *own = &c->lanes[worker->index];
    own->row_count += rows;
    if (own->row_count - c->offset >= c->limit) worker->is_stopped = true; /* alone it has brought enough */
    if (own->last)
        own->last->next = item;
    else
        own->first = item;
    own->last = item;
    c->queued_bytes += item->bytes;
    nl_status status = wait_for_room(c, worker);
    nl_mutex_unlock(&c->mutex);
    return status;
}

static nl_status collect_finish_worker(nl_operator *self, nl_worker *worker)
{
    collect *c = NL_CONTAINER(self, collect, base);
    nl_mutex_lock(&c->mutex);
    atomic_store(&worker->floor, UINT64_MAX);
    nl_status status = drain(c);
    pthread_cond_broadcast(&c->changed);
    nl_mutex_unlock(&c->mutex);
    return status;
}

static void collect_free(nl_operator *self)
{
    collect *c = NL_CONTAINER(self, collect, base);
    for (uint32_t i = 0; i < self->exec->worker_count; i++) {
        for (queued *item = c->lanes[i].first; item;) {
            queued *next = item->next;
            nl_batch_fini(&item->batch);
            free(item);
            item = next;
        }
    }
    pthread_cond_destroy(&c->changed);
    nl_mutex_fini(&c->mutex);
}

static const nl_operator_ops collect_ops = {.name = "collect", .start = collect_start, .push = collect_push,
                                            .finish_worker = collect_finish_worker, .free = collect_free};

nl_operator *nl_collect_new(nl_exec *exec, const nl_logical *node, int64_t offset, int64_t limit, nl_emit_fn emit, void *context)
{
    collect *c = NL_NEW(exec->arena, collect);
    nl_operator_init(&c->base, &collect_ops, exec, node, "");
    c->offset = offset;
    c->limit = limit;
    c->emit = emit;
    c->context = context;
    c->queued_bytes_max = NL_MIN(nl_memory_limit(exec->query->memory) / QUEUES_PER_BUDGET, QUEUED_BYTES_MAX);
    c->lanes = NL_NEW_ARRAY(exec->arena, lane, exec->worker_count);
    nl_mutex_init(&c->mutex);
    pthread_cond_init(&c->changed, NULL);
    return &c->base;
}
