/* exec/python/group.c - functions over groups. The rows come sorted by the keys (a SORT lies below: it spills), from one
 * worker; a group is kept whole, as its function wants it.
 *
 * Rows of a group that has been sent, or its keys, wait here until its result has come: results come in order.
 */
#include "exec/python/task.h"

#include <stdlib.h>

typedef struct row_list {
    nl_batch *batches;
    uint32_t count, capacity;
    uint64_t row_count;
} row_list;

typedef struct group_operator {
    nl_operator base;
    nl_python_plan plan;
    nl_programs arguments;
    uint32_t argument_count, key_count;
    nl_python_task task;
    row_list group;       /* arguments of the group that is being read        */
    row_list kept;        /* WINDOW: the child's rows of that group           */
    row_list waiting;     /* AGGREGATE: keys, WINDOW: rows of groups at work  */
    uint32_t waiting_first;
    row_list ready;       /* AGGREGATE: rows that are complete, pushed together */
} group_operator;

/* ---- lists of batches ---- */

static nl_status list_add(row_list *list, nl_batch *batch)
{
    if (list->count == list->capacity) {
        const uint32_t capacity = NL_MAX(16u, 2 * list->capacity);
        nl_batch *batches = realloc(list->batches, capacity * sizeof *batches);
        if (!batches) return nl_out_of_memory(capacity * sizeof *batches);
        list->batches = batches;
        list->capacity = capacity;
    }
    list->row_count += batch->row_count;
    list->batches[list->count] = (nl_batch){0};
    nl_batch_move(batch, &list->batches[list->count++]);
    return NULL;
}

static void list_clear(row_list *list)
{
    for (uint32_t i = 0; i < list->count; i++) nl_batch_fini(&list->batches[i]);
    list->count = 0;
    list->row_count = 0;
}

static void list_fini(row_list *list)
{
    list_clear(list);
    free(list->batches);
}

static nl_status list_join(const row_list *list, nl_memory *memory, nl_batch *all)
{
    if (list->row_count > UINT32_MAX / 2) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A group of %llu rows is too large for a function in Python.", (unsigned long long)list->row_count);
    if (list->count == 1) return nl_batch_ref(&list->batches[0], all);
    const nl_batch **parts = calloc(list->count, sizeof *parts);
    if (!parts) return nl_out_of_memory(list->count * sizeof *parts);
    for (uint32_t i = 0; i < list->count; i++) parts[i] = &list->batches[i];
    nl_status status = nl_batch_concat(parts, list->count, memory, all);
    free(parts);
    return status;
}

/* ---- results ---- */

static nl_status join_columns(const nl_batch *a, const nl_batch *b, nl_batch *out)
{
    NL_TRY(nl_batch_init(out, a->column_count + b->column_count, a->row_count));
    for (uint32_t i = 0; i < a->column_count; i++) nl_vector_ref(&a->columns[i], &out->columns[i]);
    for (uint32_t i = 0; i < b->column_count; i++) nl_vector_ref(&b->columns[i], &out->columns[a->column_count + i]);
    return NULL;
}

static nl_status flush_ready(group_operator *group, nl_worker *worker)
{
    nl_batch all = {0};
    if (!group->ready.count) return NULL;
    nl_status status = list_join(&group->ready, group->base.exec->query->memory, &all);
    list_clear(&group->ready);
    if (!status) status = nl_push(group->base.next, worker, &all);
    nl_batch_fini(&all);
    return status;
}

/* The result of the oldest group at work. */
static nl_status complete(group_operator *group, nl_worker *worker, const nl_batch *values)
{
    const bool is_window = group->plan.node->python.shape == NL_PYTHON_WINDOW;
    nl_batch out = {0};
    if (group->waiting_first == group->waiting.count || group->waiting.batches[group->waiting_first].row_count != values->row_count)
        return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has given %u values for one group.", values->row_count);
    nl_batch *rows = &group->waiting.batches[group->waiting_first++];
    nl_status status = join_columns(rows, values, &out);
    nl_batch_fini(rows);
    if (group->waiting_first == group->waiting.count) {
        group->waiting_first = 0;
        group->waiting.count = 0;
    }
    if (!status) status = is_window ? nl_push(group->base.next, worker, &out) : list_add(&group->ready, &out);
    nl_batch_fini(&out);
    if (!status && group->ready.count >= nl_exec_batch_rows(group->base.exec)) status = flush_ready(group, worker);
    return status;
}

static nl_status take_results(group_operator *group, nl_worker *worker, bool is_waiting)
{
    const nl_python_shape shape = group->plan.node->python.shape;
    const bool has_rows = shape == NL_PYTHON_GROUP || shape == NL_PYTHON_COGROUP;
    for (;;) {
        nl_batch values = {0};
        bool is_there = false;
        NL_TRY(nl_python_task_receive(&group->plan, &group->task, is_waiting, &values, &is_there));
        if (!is_there) return NULL;
        nl_status status = has_rows ? nl_push(group->base.next, worker, &values) : complete(group, worker, &values);
        nl_batch_fini(&values);
        NL_TRY(status);
    }
}

/* ---- groups ---- */

/* Rows of one side of a cogroup: keys, then that side's arguments. A side without rows is a batch without rows. */
static nl_status send_side(group_operator *group, const nl_batch *all, uint32_t side)
{
    const nl_logical *node = group->plan.node;
    const uint32_t keys = group->key_count, left = node->python.left_count;
    const uint32_t first = side ? keys + 1 + left : keys + 1, count = side ? group->argument_count - first : left;
    nl_memory *memory = group->base.exec->query->memory;
    nl_reader sides;
    nl_reader_init(&sides, &all->columns[keys]);
    uint32_t start = 0;
    while (start < all->row_count && ((const int32_t *)sides.values)[nl_reader_index(&sides, start)] < (int32_t)side) start++;
    uint32_t stop = start;
    while (stop < all->row_count && ((const int32_t *)sides.values)[nl_reader_index(&sides, stop)] == (int32_t)side) stop++;
    nl_batch rows = {0}, sent = {0};
    nl_status status = nl_batch_slice(all, start, stop - start, memory, &rows);
    if (!status) status = nl_batch_init(&sent, keys + count, rows.row_count);
    for (uint32_t i = 0; !status && i < keys + count; i++) nl_vector_ref(&rows.columns[i < keys ? i : first + i - keys], &sent.columns[i]);
    if (!status) status = nl_python_task_send(&group->plan, &group->task, side, sent.columns, sent.row_count);
    nl_batch_fini(&rows);
    nl_batch_fini(&sent);
    return status ? status : nl_python_task_mark(&group->task, 'S');
}

/* What waits for the group's result: its keys, or its rows. */
static nl_status note_waiting(group_operator *group, const nl_batch *all)
{
    nl_memory *memory = group->base.exec->query->memory;
    nl_batch rows = {0};
    if (group->plan.node->python.shape == NL_PYTHON_WINDOW) {
        NL_TRY(list_join(&group->kept, memory, &rows));
    } else {
        nl_batch first = {0};
        NL_TRY(nl_batch_slice(all, 0, 1, memory, &first));
        nl_status status = nl_batch_init(&rows, group->key_count, 1);
        for (uint32_t i = 0; !status && i < group->key_count; i++) nl_vector_ref(&first.columns[i], &rows.columns[i]);
        nl_batch_fini(&first);
        NL_TRY(status);
    }
    nl_status status = list_add(&group->waiting, &rows);
    nl_batch_fini(&rows);
    return status;
}

/* The group is complete: it goes to its function. */
static nl_status end_group(group_operator *group, nl_worker *worker)
{
    nl_batch all = {0};
    const nl_python_shape shape = group->plan.node->python.shape;
    if (!group->group.count) return NULL;
    nl_status status = list_join(&group->group, group->base.exec->query->memory, &all);
    NL_GO(status);
    list_clear(&group->group);
    NL_GO(nl_python_task_begin(&group->plan, &group->task));
    if (shape == NL_PYTHON_COGROUP) {
        NL_GO(nl_python_task_mark(&group->task, 'G'));
        NL_GO(send_side(group, &all, 0));
        NL_GO(send_side(group, &all, 1));
    } else {
        const uint32_t first = shape == NL_PYTHON_GROUP ? 0 : group->key_count;
        if (shape != NL_PYTHON_GROUP) NL_GO(note_waiting(group, &all));
        NL_GO(nl_python_task_send(&group->plan, &group->task, 0, all.columns + first, all.row_count));
    }
    list_clear(&group->kept);
    NL_GO(take_results(group, worker, false));
done:
    nl_batch_fini(&all);
    return status;
}

static bool is_same_group(const group_operator *group, const nl_batch *a, uint32_t a_row, const nl_batch *b, uint32_t b_row)
{
    for (uint32_t i = 0; i < group->key_count; i++) {
        const bool is_null = nl_vector_is_null(&a->columns[i], a_row);
        if (is_null != nl_vector_is_null(&b->columns[i], b_row)) return false;
        if (!is_null && !nl_vector_row_equal(&a->columns[i], a_row, &b->columns[i], b_row)) return false;
    }
    return true;
}

static nl_status add_rows(group_operator *group, const nl_batch *rows, const nl_batch *arguments, uint32_t start, uint32_t count)
{
    nl_memory *memory = group->base.exec->query->memory;
    nl_batch part = {0};
    NL_TRY(nl_batch_slice(arguments, start, count, memory, &part));
    nl_status status = list_add(&group->group, &part);
    nl_batch_fini(&part);
    if (status || group->plan.node->python.shape != NL_PYTHON_WINDOW) return status;
    NL_TRY(nl_batch_slice(rows, start, count, memory, &part));
    status = list_add(&group->kept, &part);
    nl_batch_fini(&part);
    return status;
}

static nl_status split(group_operator *group, nl_worker *worker, const nl_batch *rows, const nl_batch *arguments)
{
    for (uint32_t start = 0, stop; start < rows->row_count; start = stop) {
        const nl_batch *before = group->group.count ? &group->group.batches[group->group.count - 1] : NULL;
        if (before && !is_same_group(group, before, before->row_count - 1, arguments, start)) NL_TRY(end_group(group, worker));
        stop = start + 1;
        while (stop < rows->row_count && is_same_group(group, arguments, start, arguments, stop)) stop++;
        NL_TRY(add_rows(group, rows, arguments, start, stop - start));
    }
    return NULL;
}

/* ---- the operator ---- */

static nl_status group_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    group_operator *group = NL_CONTAINER(self, group_operator, base);
    nl_batch arguments = {0};
    NL_TRY(nl_batch_compact(batch, self->exec->query->memory));
    nl_status status = nl_batch_init(&arguments, group->argument_count, batch->row_count);
    if (!status) status = nl_programs_run(&group->arguments, worker->index, batch, arguments.columns);
    if (!status) status = split(group, worker, batch, &arguments);
    nl_batch_fini(&arguments);
    return status;
}

static nl_status group_finish_worker(nl_operator *self, nl_worker *worker)
{
    group_operator *group = NL_CONTAINER(self, group_operator, base);
    NL_TRY(end_group(group, worker));
    if (!group->task.worker) return NULL;
    NL_TRY(nl_python_task_mark(&group->task, 'E'));
    NL_TRY(take_results(group, worker, true));
    if (group->waiting_first < group->waiting.count)
        return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has given no value for %u groups.", group->waiting.count - group->waiting_first);
    nl_python_task_end(&group->task);
    return flush_ready(group, worker);
}

static void group_free(nl_operator *self)
{
    group_operator *group = NL_CONTAINER(self, group_operator, base);
    nl_python_task_end(&group->task);
    list_fini(&group->group);
    list_fini(&group->kept);
    list_fini(&group->waiting);
    list_fini(&group->ready);
    nl_programs_fini(&group->arguments);
}

static const nl_operator_ops group_ops = {
    .name = "python groups", .push = group_push, .finish_worker = group_finish_worker, .free = group_free};

nl_status nl_append_python_groups(nl_pipeline *pipeline, const nl_logical *node)
{
    nl_exec *exec = pipeline->exec;
    group_operator *group = NL_NEW(exec->arena, group_operator);
    nl_operator_init(&group->base, &group_ops, exec, node, "");
    NL_TRY(nl_python_plan_init(&group->plan, exec, node));
    group->argument_count = node->python.argument_count;
    group->key_count = node->python.key_count;
    const nl_expr **arguments = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->python.argument_count + 1);
    for (uint32_t i = 0; i < node->python.argument_count; i++) NL_TRY(nl_resolve_subqueries(exec, node->python.arguments[i], &arguments[i]));
    NL_TRY(nl_programs_init(&group->arguments, exec, arguments, node->python.argument_count, node->children[0]->columns, node->children[0]->column_count));
    pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &group->base);
    return NULL;
}
