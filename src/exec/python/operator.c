/* exec/python/operator.c - runs PYTHON nodes: columns added to the rows that pass, or rows of the function's own.
 *
 * A function that gives a value per row answers each batch before it gets the next one: rows keep their order and their
 * morsel, and each worker of the pipeline has a process of its own. One that takes an iterator may read ahead or keep
 * what it has read: the pipeline is serial then, and rows wait here until their values have come.
 * A table function over the rows before it (LATERAL) answers each batch with one of its own, whose first column tells for
 * each row which of the batch's rows gave it.
 */
#include "exec/python/task.h"

#include <stdlib.h>


typedef struct python_operator {
    nl_operator base;
    nl_python_plan plan;
    nl_programs arguments;
    uint32_t argument_count;
    nl_python_task *tasks;  /* per worker */
    bool is_iterator;       /* SCALAR_ITER, MAP: serial */
    nl_batch *last;         /* EXPLODE, per worker: the last row it has sent */
    nl_batch *waiting;      /* SCALAR_ITER: rows whose values have not come, a ring */
    uint32_t waiting_first, waiting_count, waiting_capacity;
    nl_batch values;        /* SCALAR_ITER: values whose rows are not complete */
} python_operator;

static nl_status compute_arguments(python_operator *python, nl_worker *worker, nl_batch *batch, nl_batch *arguments)
{
    NL_TRY(nl_batch_compact(batch, python->base.exec->query->memory));
    NL_TRY(nl_batch_init(arguments, python->argument_count, batch->row_count));
    return nl_programs_run(&python->arguments, worker->index, batch, arguments->columns);
}

/* The rows with the values beside them; both are borrowed. */
static nl_status push_with_values(python_operator *python, nl_worker *worker, const nl_batch *rows, const nl_batch *values)
{
    nl_batch out = {0};
    nl_status status = nl_batch_init(&out, rows->column_count + values->column_count, rows->row_count);
    for (uint32_t i = 0; !status && i < rows->column_count; i++) nl_vector_ref(&rows->columns[i], &out.columns[i]);
    for (uint32_t i = 0; !status && i < values->column_count; i++) nl_vector_ref(&values->columns[i], &out.columns[rows->column_count + i]);
    if (!status) status = nl_push(python->base.next, worker, &out);
    nl_batch_fini(&out);
    return status;
}

static nl_status raise_count(uint64_t expected, uint64_t got)
{
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has given %llu values for %llu rows.", (unsigned long long)got, (unsigned long long)expected);
}

/* ---- a value per row ---- */

/* Rows start … start + count of the batch, there and back. */
static nl_status exchange(python_operator *python, nl_worker *worker, const nl_batch *batch, const nl_batch *arguments, uint32_t start, uint32_t count)
{
    nl_python_task *task = &python->tasks[worker->index];
    nl_memory *memory = python->base.exec->query->memory;
    nl_batch rows = {0}, sent = {0}, values = {0};
    bool is_there = false;
    nl_status status = nl_batch_slice(batch, start, count, memory, &rows);
    NL_GO(status);
    NL_GO(nl_batch_slice(arguments, start, count, memory, &sent));
    NL_GO(nl_python_task_send(&python->plan, task, 0, sent.columns, count));
    nl_batch_fini(&sent);
    NL_GO(nl_python_task_receive(&python->plan, task, true, &values, &is_there));
    if (!is_there || values.row_count != count) status = raise_count(count, is_there ? values.row_count : 0);
    NL_GO(status);
    NL_GO(push_with_values(python, worker, &rows, &values));
done:
    nl_batch_fini(&rows);
    nl_batch_fini(&sent);
    nl_batch_fini(&values);
    return status;
}

static nl_status push_rows(python_operator *python, nl_worker *worker, const nl_batch *batch, const nl_batch *arguments)
{
    for (uint32_t start = 0; start < batch->row_count; start += python->plan.rows_max) {
        NL_TRY(exchange(python, worker, batch, arguments, start, NL_MIN(batch->row_count - start, python->plan.rows_max)));
        if (batch->row_count <= python->plan.rows_max) break; /* no overflow of start */
    }
    return NULL;
}

/* ---- rows per row ---- */

/* The child's row beside each row that it gave; those of the function's end belong to the last row, `last`. */
static nl_status push_exploded(python_operator *python, nl_worker *worker, const nl_batch *rows, const nl_batch *values, uint32_t last)
{
    nl_memory *memory = python->base.exec->query->memory;
    nl_batch out = {0};
    uint32_t *taken = malloc((values->row_count + 1) * sizeof *taken);
    nl_reader numbers;
    if (!taken) return nl_out_of_memory(values->row_count * sizeof *taken);
    nl_reader_init(&numbers, &values->columns[0]);
    nl_status status = nl_batch_init(&out, rows->column_count + values->column_count - 1, values->row_count);
    for (uint32_t i = 0; i < values->row_count && !status; i++) {
        const int32_t number = ((const int32_t *)numbers.values)[nl_reader_index(&numbers, i)];
        taken[i] = number < 0 ? last : (uint32_t)number;
        if (taken[i] >= rows->row_count) status = NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A table function in Python has given rows for a row that there is not.");
    }
    for (uint32_t i = 0; i < rows->column_count && !status; i++) status = nl_vector_take(&rows->columns[i], taken, values->row_count, memory, &out.columns[i]);
    for (uint32_t i = 1; i < values->column_count && !status; i++) nl_vector_ref(&values->columns[i], &out.columns[rows->column_count + i - 1]);
    if (!status && values->row_count) status = nl_push(python->base.next, worker, &out);
    nl_batch_fini(&out);
    free(taken);
    return status;
}

static nl_status explode(python_operator *python, nl_worker *worker, const nl_batch *batch, const nl_batch *arguments, uint32_t start, uint32_t count)
{
    nl_python_task *task = &python->tasks[worker->index];
    nl_memory *memory = python->base.exec->query->memory;
    nl_batch rows = {0}, sent = {0}, values = {0};
    bool is_there = false;
    nl_status status = nl_batch_slice(batch, start, count, memory, &rows);
    NL_GO(status);
    NL_GO(nl_batch_slice(arguments, start, count, memory, &sent));
    NL_GO(nl_python_task_send(&python->plan, task, 0, sent.columns, count));
    nl_batch_fini(&sent);
    NL_GO(nl_python_task_receive(&python->plan, task, true, &values, &is_there));
    if (is_there) NL_GO(push_exploded(python, worker, &rows, &values, count - 1));
    nl_batch_fini(&python->last[worker->index]);
    NL_GO(nl_batch_slice(&rows, count - 1, 1, memory, &python->last[worker->index]));
done:
    nl_batch_fini(&rows);
    nl_batch_fini(&sent);
    nl_batch_fini(&values);
    return status;
}

static nl_status push_to_each(python_operator *python, nl_worker *worker, const nl_batch *batch, const nl_batch *arguments)
{
    for (uint32_t start = 0; start < batch->row_count && !python->tasks[worker->index].is_done;) {
        const uint32_t count = NL_MIN(batch->row_count - start, python->plan.rows_max);
        NL_TRY(explode(python, worker, batch, arguments, start, count));
        start += count;
    }
    if (python->tasks[worker->index].is_done) worker->is_stopped = true;
    return NULL;
}

/* ---- iterators ---- */

static nl_status wait_with(python_operator *python, nl_batch *batch)
{
    if (python->waiting_count == python->waiting_capacity) {
        const uint32_t capacity = NL_MAX(16u, 2 * python->waiting_capacity);
        nl_batch *ring = calloc(capacity, sizeof *ring);
        if (!ring) return nl_out_of_memory(capacity * sizeof *ring);
        for (uint32_t i = 0; i < python->waiting_count; i++) ring[i] = python->waiting[(python->waiting_first + i) % python->waiting_capacity];
        free(python->waiting);
        python->waiting = ring;
        python->waiting_first = 0;
        python->waiting_capacity = capacity;
    }
    nl_batch_move(batch, &python->waiting[(python->waiting_first + python->waiting_count++) % python->waiting_capacity]);
    return NULL;
}

/* More values; then the rows that are complete go on. */
static nl_status add_values(python_operator *python, nl_worker *worker, nl_batch *values)
{
    nl_memory *memory = python->base.exec->query->memory;
    nl_batch all = {0};
    const nl_batch *const parts[] = {&python->values, values};
    nl_status status = NULL;
    if (python->values.row_count)
        status = nl_batch_concat(parts, 2, memory, &all);
    else
        nl_batch_move(values, &all);
    nl_batch_fini(&python->values);
    uint32_t done = 0;
    while (!status && python->waiting_count && all.row_count - done >= python->waiting[python->waiting_first].row_count) {
        nl_batch *rows = &python->waiting[python->waiting_first], part = {0};
        const uint32_t count = rows->row_count;
        status = nl_batch_slice(&all, done, count, memory, &part);
        if (!status) status = push_with_values(python, worker, rows, &part);
        nl_batch_fini(&part);
        nl_batch_fini(rows);
        done += count;
        python->waiting_first = (python->waiting_first + 1) % python->waiting_capacity;
        python->waiting_count--;
    }
    if (!status && all.row_count > done) status = nl_batch_slice(&all, done, all.row_count - done, memory, &python->values);
    nl_batch_fini(&all);
    return status;
}

/* What has come; with is_waiting, everything until the function has ended. */
static nl_status take_results(python_operator *python, nl_worker *worker, bool is_waiting)
{
    nl_python_task *task = &python->tasks[worker->index];
    const bool is_map = python->plan.node->python.shape == NL_PYTHON_MAP;
    for (;;) {
        nl_batch values = {0};
        bool is_there = false;
        NL_TRY(nl_python_task_receive(&python->plan, task, is_waiting, &values, &is_there));
        if (!is_there) return NULL;
        nl_status status = is_map ? nl_push(python->base.next, worker, &values)
                           : python->last ? push_exploded(python, worker, &python->last[worker->index], &values, 0)
                                          : add_values(python, worker, &values);
        nl_batch_fini(&values);
        NL_TRY(status);
    }
}

static nl_status push_to_iterator(python_operator *python, nl_worker *worker, nl_batch *batch, const nl_batch *arguments)
{
    nl_python_task *task = &python->tasks[worker->index];
    nl_memory *memory = python->base.exec->query->memory;
    const bool is_map = python->plan.node->python.shape == NL_PYTHON_MAP;
    const uint32_t row_count = batch->row_count;
    if (!is_map) NL_TRY(wait_with(python, batch));
    for (uint32_t start = 0; start < row_count;) {
        const uint32_t count = NL_MIN(row_count - start, python->plan.rows_max);
        nl_batch sent = {0};
        NL_TRY(nl_batch_slice(arguments, start, count, memory, &sent));
        nl_status status = nl_python_task_send(&python->plan, task, 0, sent.columns, count);
        nl_batch_fini(&sent);
        NL_TRY(status);
        NL_TRY(take_results(python, worker, false));
        start += count;
    }
    if (is_map && task->is_done) worker->is_stopped = true;
    return NULL;
}

/* ---- the operator ---- */

static nl_status python_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    python_operator *python = NL_CONTAINER(self, python_operator, base);
    nl_batch arguments = {0};
    nl_status status = compute_arguments(python, worker, batch, &arguments);
    if (!status) status = nl_python_task_begin(&python->plan, &python->tasks[worker->index]);
    if (!status) status = python->is_iterator ? push_to_iterator(python, worker, batch, &arguments)
                          : python->last      ? push_to_each(python, worker, batch, &arguments)
                                              : push_rows(python, worker, batch, &arguments);
    nl_batch_fini(&arguments);
    return status;
}

static nl_status python_finish_worker(nl_operator *self, nl_worker *worker)
{
    python_operator *python = NL_CONTAINER(self, python_operator, base);
    nl_python_task *task = &python->tasks[worker->index];
    if (!task->worker) return NULL;
    NL_TRY(nl_python_task_mark(task, 'E'));
    NL_TRY(take_results(python, worker, true));
    if (python->waiting_count || python->values.row_count) {
        uint64_t rows = 0;
        for (uint32_t i = 0; i < python->waiting_count; i++) rows += python->waiting[(python->waiting_first + i) % python->waiting_capacity].row_count;
        return raise_count(rows, python->values.row_count);
    }
    nl_python_task_end(task);
    return NULL;
}

static void python_free(nl_operator *self)
{
    python_operator *python = NL_CONTAINER(self, python_operator, base);
    for (uint32_t i = 0; python->tasks && i < self->exec->worker_count; i++) nl_python_task_end(&python->tasks[i]);
    for (uint32_t i = 0; i < python->waiting_count; i++) nl_batch_fini(&python->waiting[(python->waiting_first + i) % python->waiting_capacity]);
    free(python->waiting);
    for (uint32_t i = 0; python->last && i < self->exec->worker_count; i++) nl_batch_fini(&python->last[i]);
    nl_batch_fini(&python->values);
    nl_programs_fini(&python->arguments);
}

static const nl_operator_ops python_ops = {
    .name = "python", .push = python_push, .finish_worker = python_finish_worker, .free = python_free};

static nl_status append(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    python_operator *python = NL_NEW(exec->arena, python_operator);
    nl_operator_init(&python->base, &python_ops, exec, node, "");
    NL_TRY(nl_python_plan_init(&python->plan, exec, node));
    python->argument_count = node->python.argument_count;
    python->is_iterator = node->python.shape == NL_PYTHON_MAP || node->python.eval == NL_PYTHON_SCALAR_PANDAS_ITER;
    const nl_expr **arguments = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->python.argument_count + 1);
    for (uint32_t i = 0; i < node->python.argument_count; i++) {
        NL_TRY(nl_resolve_subqueries(exec, node->python.arguments[i], &arguments[i]));
        if (!nl_expr_is_deterministic(arguments[i])) pipeline->is_serial = true;
    }
    NL_TRY(nl_programs_init(&python->arguments, exec, arguments, node->python.argument_count, node->children[0]->columns, node->children[0]->column_count));
    python->tasks = NL_NEW_ARRAY(exec->arena, nl_python_task, exec->worker_count);
    if (node->python.shape == NL_PYTHON_EXPLODE) python->last = NL_NEW_ARRAY(exec->arena, nl_batch, exec->worker_count);
    if (python->is_iterator) pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &python->base);
    return NULL;
}

nl_status nl_build_python(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    NL_TRY(nl_build(exec, node->children[0], pipeline));
    switch (node->python.shape) {
    case NL_PYTHON_ADD:
    case NL_PYTHON_EXPLODE:
    case NL_PYTHON_MAP: return append(*pipeline, node);
    case NL_PYTHON_GROUP:
    case NL_PYTHON_COGROUP:
    case NL_PYTHON_AGGREGATE:
    case NL_PYTHON_WINDOW: return nl_append_python_groups(*pipeline, node);
    }
    return NULL;
}
