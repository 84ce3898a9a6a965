/* exec/sort.c - ORDER BY and top-N as a sink and a source. */
#include "exec/sorter.h"

typedef struct sort_operator {
    nl_operator base;
    nl_sorter *sorter;
} sort_operator;

static nl_status sort_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    return nl_sorter_add(NL_CONTAINER(self, sort_operator, base)->sorter, worker->index, worker->morsel, batch);
}

static nl_status sort_finish_worker(nl_operator *self, nl_worker *worker)
{
    return nl_sorter_finish_worker(NL_CONTAINER(self, sort_operator, base)->sorter, worker->index);
}

static void sort_free(nl_operator *self)
{
    nl_sorter_fini(NL_CONTAINER(self, sort_operator, base)->sorter);
}

static const nl_operator_ops sort_ops = {.name = "sort", .push = sort_push, .finish_worker = sort_finish_worker, .free = sort_free};

#define NOT_READ UINT64_MAX

typedef struct sort_source {
    nl_source base;
    nl_sorter *sorter;
    atomic_uint next_range;
    bool has_parts;            /* worker w reads range w, and no other */
    nl_sorted_range **readers; /* per worker */
    uint64_t *morsels;
} sort_source;

static nl_status source_start(nl_source *self)
{
    const sort_source *source = NL_CONTAINER(self, sort_source, base);
    NL_TRY(nl_sorter_prepare(source->sorter));
    self->is_serial = nl_sorter_range_count(source->sorter) <= 1;
    return NULL;
}

static nl_status source_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    sort_source *source = NL_CONTAINER(self, sort_source, base);
    nl_sorted_range **reader = &source->readers[worker->index];
    for (;;) {
        if (*reader) {
            NL_TRY(nl_sorted_range_next(*reader, batch, NULL));
            *morsel = source->morsels[worker->index];
            if (batch->row_count > 0) return NULL;
            nl_batch_fini(batch);
            nl_sorted_range_free(*reader);
            *reader = NULL;
        }
        /* A part belongs to a worker: what it writes lies together. */
        uint32_t range = !source->has_parts ? atomic_fetch_add(&source->next_range, 1) : source->morsels[worker->index] == NOT_READ ? worker->index : UINT32_MAX;
        *is_done = range >= nl_sorter_range_count(source->sorter);
        if (*is_done) return NULL;
        source->morsels[worker->index] = range;
        NL_TRY(nl_sorter_open(source->sorter, range, reader));
    }
}

static void source_free(nl_source *self)
{
    sort_source *source = NL_CONTAINER(self, sort_source, base);
    for (uint32_t i = 0; i < self->exec->worker_count; i++)
        nl_sorted_range_free(source->readers[i]);
}

static const nl_source_ops source_ops = {.name = "sorted rows", .start = source_start, .next = source_next, .free = source_free};

nl_status nl_build_sort(nl_exec *exec, const nl_logical *node, int64_t keep, nl_pipeline **out)
{
    nl_pipeline *input = NULL;
    NL_TRY(nl_build(exec, node->children[0], &input));
    nl_sort_key *keys = NL_NEW_ARRAY(exec->arena, nl_sort_key, node->sort.key_count);
    for (uint32_t i = 0; i < node->sort.key_count; i++) {
        keys[i] = node->sort.keys[i];
        NL_TRY(nl_resolve_subqueries(exec, node->sort.keys[i].expr, &keys[i].expr));
        if (!nl_expr_is_deterministic(keys[i].expr)) input->is_serial = true;
    }
    sort_operator *sort = NL_NEW(exec->arena, sort_operator);
    nl_operator_init(&sort->base, &sort_ops, exec, node, "sorting");
    nl_sorter_plan plan = {.columns = node->children[0]->columns, .column_count = node->children[0]->column_count, .keys = keys,
                           .key_count = node->sort.key_count, .partition_count = node->sort.partition_count, .keep = keep, .parts = node->sort.parts, .metric = sort->base.metric};
    NL_TRY(nl_sorter_new(exec, &plan, &sort->sorter));
    nl_pipeline_append(input, &sort->base);
    nl_exec_add_pipeline(exec, input);
    sort_source *source = NL_NEW(exec->arena, sort_source);
    nl_source_init(&source->base, &source_ops, exec, node, "");
    source->sorter = sort->sorter;
    source->readers = NL_NEW_ARRAY(exec->arena, nl_sorted_range *, exec->worker_count);
    source->morsels = NL_NEW_ARRAY(exec->arena, uint64_t, exec->worker_count);
    source->has_parts = node->sort.parts != NL_SORT_RANGES;
    for (uint32_t i = 0; i < exec->worker_count; i++)
        source->morsels[i] = NOT_READ;
    *out = nl_pipeline_new(exec, &source->base);
    return NULL;
}
