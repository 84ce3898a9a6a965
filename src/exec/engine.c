/* exec/engine.c - running pipelines on the workers. */
#include "exec/engine.h"

#include <time.h>

#include "base/limits.h"

nl_status nl_out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

void nl_exec_init(nl_exec *exec, nl_query *query, nl_exec *parent)
{
    *exec = (nl_exec){.query = query, .parent = parent, .arena = nl_arena_new(query->memory)};
    exec->worker_count = query->pool ? NL_MAX(nl_pool_thread_count(query->pool), 1u) : 1;
    exec->ctes = parent ? parent->ctes : &exec->own_ctes;
    exec->held = parent ? parent->held : &exec->own_held;
    exec->filters = &exec->own_filters; /* never the parent's: notes and what they point to end with this exec */
}

void nl_exec_fini(nl_exec *exec)
{
    for (uint32_t i = 0; i < exec->sources.count; i++) {
        nl_source *source = exec->sources.items[i];
        if (source->ops->free) source->ops->free(source);
    }
    for (uint32_t i = exec->operators.count; i > 0; i--) {
        nl_operator *operator = exec->operators.items[i - 1];
        if (operator->ops->free) operator->ops->free(operator);
    }
    nl_arena_free(exec->arena);
    *exec = (nl_exec){0};
}

nl_pipeline *nl_pipeline_new(nl_exec *exec, nl_source *source)
{
    nl_pipeline *pipeline = NL_NEW(exec->arena, nl_pipeline);
    pipeline->exec = exec;
    nl_input *input = NL_NEW(exec->arena, nl_input);
    input->source = source;
    nl_list_add(exec->arena, &pipeline->inputs, input);
    return pipeline;
}

void nl_pipeline_append(nl_pipeline *pipeline, nl_operator *operator)
{
    if (pipeline->tail) pipeline->tail->next = operator;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        nl_input *input = pipeline->inputs.items[i];
        if (!input->head) input->head = operator;
    }
    pipeline->tail = operator;
    operator->pipeline = pipeline;
    nl_list_add(pipeline->exec->arena, &pipeline->operators, operator);
}

void nl_pipeline_add_late(nl_pipeline *pipeline, nl_source *source, nl_operator *head)
{
    nl_input *input = NL_NEW(pipeline->exec->arena, nl_input);
    *input = (nl_input){.source = source, .head = head, .is_late = true};
    nl_list_add(pipeline->exec->arena, &pipeline->inputs, input);
}

void nl_operator_init(nl_operator *operator, const nl_operator_ops *ops, nl_exec *exec, const nl_logical *node, const char *part)
{
    *operator = (nl_operator){.ops = ops, .exec = exec, .metric = node ? nl_exec_metric(exec, node, part) : NULL};
    nl_list_add(exec->arena, &exec->operators, operator);
}

void nl_source_init(nl_source *source, const nl_source_ops *ops, nl_exec *exec, const nl_logical *node, const char *part)
{
    *source = (nl_source){.ops = ops, .exec = exec, .metric = node ? nl_exec_metric(exec, node, part) : NULL};
    nl_list_add(exec->arena, &exec->sources, source);
}

void nl_exec_add_pipeline(nl_exec *exec, nl_pipeline *pipeline)
{
    nl_list_add(exec->arena, &exec->pipelines, pipeline);
}

static uint64_t now_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* From here on time belongs to `metric`; returns whose it was. */
static nl_metric *switch_clock(nl_worker *worker, nl_metric *metric)
{
    nl_metric *before = worker->metric;
    uint64_t now = now_nanoseconds();
    if (before) atomic_fetch_add_explicit(&before->nanoseconds, now - worker->since, memory_order_relaxed);
    worker->metric = metric;
    worker->since = now;
    return before;
}

nl_status nl_push(nl_operator *operator, nl_worker *worker, nl_batch *batch)
{
    if (!operator || nl_batch_live_rows(batch) == 0) return NULL;
    if (atomic_load_explicit(&worker->pipeline->is_stopped, memory_order_relaxed)) return NULL;
    if (!worker->exec->query->metrics) return operator->ops->push(operator, worker, batch);
    /* The rows that reach an operator are the output of whoever holds the clock. */
    if (worker->metric) atomic_fetch_add_explicit(&worker->metric->rows, nl_batch_live_rows(batch), memory_order_relaxed);
    nl_metric *before = switch_clock(worker, operator->metric);
    nl_status status = operator->ops->push(operator, worker, batch);
    switch_clock(worker, before);
    return status;
}

static bool should_leave(const nl_worker *worker)
{
    nl_pipeline *pipeline = worker->pipeline;
    return worker->is_stopped || atomic_load_explicit(&pipeline->is_stopped, memory_order_relaxed) ||
           atomic_load_explicit(&pipeline->has_failed, memory_order_relaxed);
}

static nl_status read_input(nl_worker *worker, const nl_input *input, bool *is_done)
{
    nl_source *source = input->source;
    while (!should_leave(worker)) {
        if (atomic_load_explicit(&worker->pipeline->is_paused, memory_order_relaxed)) return NULL;
        NL_TRY(nl_cancel_check(worker->exec->query->cancel));
        nl_batch batch = {0};
        uint64_t morsel = 0;
        if (source->metric) switch_clock(worker, source->metric);
        nl_status status = source->ops->next(source, worker, &batch, &morsel, is_done);
        if (!status && !*is_done) nl_worker_at(worker, morsel);
        if (!status && !*is_done) status = nl_push(input->head, worker, &batch);
        if (source->metric) switch_clock(worker, NULL);
        nl_batch_fini(&batch);
        if (status || *is_done) return status;
    }
    *is_done = true;
    return NULL;
}

static nl_status finish_worker(nl_worker *worker)
{
    nl_pipeline *pipeline = worker->pipeline;
    worker->is_finished = true;
    worker->morsel = (uint64_t)pipeline->inputs.count << NL_INPUT_SHIFT;
    atomic_store(&worker->floor, worker->morsel);
    for (uint32_t i = 0; i < pipeline->operators.count; i++) {
        nl_operator *operator = pipeline->operators.items[i];
        if (!operator->ops->finish_worker) continue;
        if (operator->metric) switch_clock(worker, operator->metric);
        nl_status status = operator->ops->finish_worker(operator, worker);
        if (operator->metric) switch_clock(worker, NULL);
        if (status) return status;
    }
    return NULL;
}

typedef struct group_run {
    nl_pipeline *pipeline;
    uint32_t stop; /* one past the group's last input */
    bool is_last;
} group_run;

static nl_status run_group(void *argument, uint32_t index)
{
    const group_run *run = argument;
    nl_pipeline *pipeline = run->pipeline;
    if (index >= pipeline->exec->worker_count) return NULL;
    nl_worker *worker = &pipeline->workers[index];
    nl_status status = NULL;
    while (worker->input < run->stop && !status) {
        const nl_input *input = pipeline->inputs.items[worker->input];
        bool is_done = input->source->is_serial && index != 0;
        if (atomic_load(&worker->floor) == UINT64_MAX) atomic_store(&worker->floor, (uint64_t)worker->input << NL_INPUT_SHIFT);
        if (!is_done) status = read_input(worker, input, &is_done);
        if (!status && !is_done) return NULL; /* paused */
        worker->input++;
        atomic_store(&worker->floor, (uint64_t)worker->input << NL_INPUT_SHIFT);
    }
    if (!status && run->is_last && !worker->is_finished) status = finish_worker(worker);
    if (status) atomic_store_explicit(&pipeline->has_failed, true, memory_order_relaxed);
    return status;
}

static nl_status start_pipeline(nl_pipeline *pipeline)
{
    nl_exec *exec = pipeline->exec;
    pipeline->has_started = true;
    pipeline->workers = NL_NEW_ARRAY(exec->arena, nl_worker, exec->worker_count);
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        nl_worker *worker = &pipeline->workers[i];
        worker->exec = exec;
        worker->pipeline = pipeline;
        worker->index = i;
        atomic_init(&worker->floor, UINT64_MAX);
    }
    for (uint32_t i = 0; i < pipeline->operators.count; i++) {
        nl_operator *operator = pipeline->operators.items[i];
        if (operator->ops->start) NL_TRY(operator->ops->start(operator));
    }
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const nl_input *input = pipeline->inputs.items[i];
        if (!input->is_late && input->source->ops->start) NL_TRY(input->source->ops->start(input->source));
    }
    return nl_arena_check(exec->arena);
}

static bool is_serial(const nl_pipeline *pipeline)
{
    if (pipeline->is_serial || pipeline->exec->worker_count == 1) return true;
    for (uint32_t i = 0; i < pipeline->inputs.count; i++) {
        const nl_input *input = pipeline->inputs.items[i];
        if (!input->source->is_serial) return false;
    }
    return true;
}

static nl_status run_inputs(nl_pipeline *pipeline)
{
    uint32_t count = pipeline->inputs.count;
    while (pipeline->group_start < count) {
        uint32_t start = pipeline->group_start;
        uint32_t stop = start + 1;
        while (stop < count && !((const nl_input *)pipeline->inputs.items[stop])->is_late)
            stop++;
        nl_input *first = pipeline->inputs.items[start];
        if (first->is_late && !first->has_started && first->source->ops->start) NL_TRY(first->source->ops->start(first->source));
        first->has_started = true;
        group_run run = {.pipeline = pipeline, .stop = stop, .is_last = stop == count};
        bool runs_alone = is_serial(pipeline) || (first->is_late && first->source->is_serial && !run.is_last);
        NL_TRY(runs_alone ? run_group(&run, 0) : nl_pool_run_on_all(pipeline->exec->query->pool, run_group, &run));
        for (uint32_t i = 0; i < (runs_alone ? 1 : pipeline->exec->worker_count); i++)
            if (pipeline->workers[i].input < stop) return NULL; /* paused */
        for (uint32_t i = 0; i < pipeline->exec->worker_count; i++)
            pipeline->workers[i].input = stop; /* also of workers that were not needed */
        pipeline->group_start = stop;
    }
    return NULL;
}

nl_status nl_pipeline_run(nl_pipeline *pipeline)
{
    if (pipeline->has_run) return NULL;
    if (!pipeline->has_started) NL_TRY(start_pipeline(pipeline));
    NL_TRY(run_inputs(pipeline));
    uint32_t count = is_serial(pipeline) ? 1 : pipeline->exec->worker_count;
    for (uint32_t i = 0; i < count; i++)
        if (!pipeline->workers[i].is_finished) return NULL; /* paused */
    pipeline->has_run = true;
    for (uint32_t i = 0; i < pipeline->operators.count; i++) {
        nl_operator *operator = pipeline->operators.items[i];
        if (operator->ops->finish) NL_TRY(operator->ops->finish(operator));
    }
    return NULL;
}

static nl_status run_all(nl_exec *exec)
{
    for (uint32_t i = 0; i < exec->pipelines.count; i++)
        NL_TRY(nl_pipeline_run(exec->pipelines.items[i]));
    return NULL;
}

nl_status nl_exec_run(nl_exec *exec)
{
    nl_session *session = exec->query->confs ? NL_UNCONST(exec->query->confs->session) : NULL;
    nl_session_pause pause = nl_session_leave(session); /* other statements of the session have their turn meanwhile */
    nl_status status = run_all(exec);
    nl_session_enter(session, &pause);
    return status;
}

/* held: of the others. */
static bool fits(const nl_exec *exec, size_t held, size_t bytes)
{
    const nl_query *query = exec->query;
    if (query->force_spill) return false;
    return nl_memory_has_room(query->memory, nl_size_add(held, bytes));
}

bool nl_exec_may_grow(const nl_exec *exec, size_t bytes)
{
    return fits(exec, atomic_load(exec->held), bytes);
}

bool nl_exec_hold(nl_exec *exec, size_t bytes)
{
    size_t others = atomic_fetch_add(exec->held, bytes);
    if (fits(exec, others, bytes)) return true;
    atomic_fetch_sub(exec->held, bytes);
    return false;
}

void nl_exec_unhold(nl_exec *exec, size_t bytes)
{
    atomic_fetch_sub(exec->held, bytes);
}

void nl_metric_add_spilled(nl_metric *metric, uint64_t bytes)
{
    if (metric) atomic_fetch_add_explicit(&metric->spilled_bytes, bytes, memory_order_relaxed);
}

void nl_metric_note_memory(nl_metric *metric, uint64_t *peak, uint64_t bytes)
{
    if (!metric || bytes <= *peak) return;
    atomic_fetch_add_explicit(&metric->memory_bytes, bytes - *peak, memory_order_relaxed);
    *peak = bytes;
}

nl_status nl_batch_slice(const nl_batch *batch, uint32_t start, uint32_t count, nl_memory *memory, nl_batch *out)
{
    nl_batch made = {0};
    nl_status status = nl_batch_init(&made, batch->column_count, count);
    nl_selection selection = nl_batch_selection(batch);
    NL_ASSERT(start + count <= selection.count);
    for (uint32_t i = 0; i < batch->column_count && !status; i++) {
        if (selection.rows)
            status = nl_vector_take(&batch->columns[i], selection.rows + start, count, memory, &made.columns[i]);
        else
            status = nl_vector_slice(&batch->columns[i], start, count, memory, &made.columns[i]);
    }
    if (status)
        nl_batch_fini(&made);
    else
        nl_batch_move(&made, out);
    return status;
}
