/* exec/python/group.c - functions over groups. The rows come sorted by the keys (a SORT lies below: it spills), from one
 * worker; a group is kept whole, as its function wants it.
 *
 * Groups go to several processes (lanes), the next one to the lane that has least to do; lanes are begun as they are needed.
 * A lane says when it has done a group. Results go on in the order of the groups: those of a later one wait here, as do the
 * rows of a group that has been sent, or its keys.
 */
#include "exec/python/task.h"

#include <stdlib.h>

#include "base/calendar.h"

typedef struct row_list {
    nl_batch *batches;
    uint32_t count, capacity;
    uint64_t row_count;
} row_list;

typedef struct group_work { /* a group that was sent */
    struct group_work *next, *next_of_lane;
    bool is_done;     /* its function has given everything */
    nl_batch waiting; /* AGGREGATE: keys, WINDOW: rows     */
    row_list results;
} group_work;

typedef struct group_lane {
    nl_python_task task;
    group_work *first, *last; /* that it has not done */
    uint32_t count;
    int64_t since;            /* microseconds: when it began with the first of them */
    int64_t pace;             /* microseconds that the group before took; 0: it has done none */
} group_lane;

#define LANES_MAX       64u
#define LANE_GROUPS     2u    /* that a lane has, so that it never waits for us */
#define LANE_GROUPS_MAX 16u   /* when they take no time */
#define LANE_MICROS     20000 /* that it may have to do  */
#define LANE_VALUES_MAX 8192u /* of a group that a socket's buffer has room for: a larger one would keep us until its lane reads it */
#define GROUPS_AHEAD    256u  /* of the first that is not done: their results are kept */

typedef struct group_operator {
    nl_operator base;
    nl_python_plan plan;
    nl_programs arguments;
    uint32_t argument_count, key_count;
    group_lane *lanes;
    uint32_t lane_count, lane_max; /* begun; that may be */
    group_work *first, *last;      /* of all lanes, in order */
    uint32_t work_count;
    row_list group;       /* arguments of the group that is being read        */
    row_list kept;        /* WINDOW: the child's rows of that group           */
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

/* The value of an aggregate, the values of a window. */
static nl_status complete(group_operator *group, nl_worker *worker, group_work *work)
{
    const bool is_window = group->plan.node->python.shape == NL_PYTHON_WINDOW;
    nl_batch out = {0};
    const uint64_t value_count = work->results.row_count;
    if (work->results.count != 1 || value_count != work->waiting.row_count)
        return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has given %llu values for one group.", (unsigned long long)value_count);
    nl_status status = join_columns(&work->waiting, &work->results.batches[0], &out);
    if (!status) status = is_window ? nl_push(group->base.next, worker, &out) : list_add(&group->ready, &out);
    nl_batch_fini(&out);
    if (!status && group->ready.count >= nl_exec_batch_rows(group->base.exec)) status = flush_ready(group, worker);
    return status;
}

static void free_work(group_work *work)
{
    nl_batch_fini(&work->waiting);
    list_fini(&work->results);
    free(work);
}

/* Results of the first groups go on: whatever there is of the very first, everything of those that are done. */
static nl_status push_results(group_operator *group, nl_worker *worker)
{
    const nl_python_shape shape = group->plan.node->python.shape;
    const bool has_rows = shape == NL_PYTHON_GROUP || shape == NL_PYTHON_COGROUP;
    while (group->first) {
        group_work *work = group->first;
        for (uint32_t i = 0; has_rows && i < work->results.count; i++) NL_TRY(nl_push(group->base.next, worker, &work->results.batches[i]));
        if (has_rows) list_clear(&work->results);
        if (!work->is_done) return NULL;
        if (!has_rows) NL_TRY(complete(group, worker, work));
        group->first = work->next;
        if (!group->first) group->last = NULL;
        group->work_count--;
        free_work(work);
    }
    return NULL;
}

static void end_work(group_lane *lane)
{
    group_work *work = lane->first;
    work->is_done = true;
    lane->first = work->next_of_lane;
    if (!lane->first) lane->last = NULL;
    lane->count--;
    const int64_t now = nl_now_micros();
    lane->pace = NL_MAX(now - lane->since, 1);
    lane->since = now;
}

/* What the lane has said so far. */
static nl_status take_from(group_operator *group, group_lane *lane)
{
    for (;;) {
        nl_batch values = {0};
        bool is_there = false;
        const uint32_t answered = lane->task.answered;
        NL_TRY(nl_python_task_receive(&group->plan, &lane->task, false, &values, &is_there));
        const bool has_answered = lane->task.answered != answered;
        if ((is_there || has_answered) && !lane->first) {
            nl_batch_fini(&values);
            return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has given values for no group.");
        }
        if (has_answered) end_work(lane);
        if (!is_there && !has_answered) break;
        nl_status status = is_there ? list_add(&lane->first->results, &values) : NULL;
        nl_batch_fini(&values);
        NL_TRY(status);
    }
    if (lane->task.is_done && lane->first) return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "A function in Python has ended before its groups.");
    return NULL;
}

static nl_status take_results(group_operator *group, nl_worker *worker)
{
    for (uint32_t i = 0; i < group->lane_count; i++) NL_TRY(take_from(group, &group->lanes[i]));
    return push_results(group, worker);
}

/* ---- lanes ---- */

static nl_status wait_for_lanes(const group_operator *group)
{
    nl_python_worker *workers[LANES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < group->lane_count; i++)
        if (!group->lanes[i].task.is_done) workers[count++] = group->lanes[i].task.worker;
    return nl_python_wait_any(workers, count);
}

static bool is_open(const group_lane *lane, bool is_large)
{
    if (is_large) return lane->count == 0;
    return lane->count < LANE_GROUPS || (lane->count < LANE_GROUPS_MAX && lane->pace && lane->pace * lane->count < LANE_MICROS);
}

/* The lane that the next group goes to. */
static nl_status choose_lane(group_operator *group, nl_worker *worker, uint64_t row_count, group_lane **chosen)
{
    const bool is_large = row_count * group->argument_count > LANE_VALUES_MAX;
    for (;;) {
        group_lane *least = NULL;
        NL_TRY(take_results(group, worker));
        for (uint32_t i = 0; i < group->lane_count; i++)
            if (!least || group->lanes[i].count < least->count) least = &group->lanes[i];
        const bool is_far = group->work_count >= GROUPS_AHEAD;
        if (!is_far && least && is_open(least, is_large)) {
            *chosen = least;
            return NULL;
        }
        if (!is_far && group->lane_count < group->lane_max) {
            NL_TRY(nl_python_task_begin(&group->plan, &group->lanes[group->lane_count].task));
            *chosen = &group->lanes[group->lane_count++];
            return NULL;
        }
        NL_TRY(wait_for_lanes(group));
    }
}

static nl_status new_work(group_operator *group, group_lane *lane, group_work **work)
{
    group_work *made = calloc(1, sizeof *made);
    if (!made) return nl_out_of_memory(sizeof *made);
    *(group->last ? &group->last->next : &group->first) = made;
    group->last = made;
    group->work_count++;
    *(lane->last ? &lane->last->next_of_lane : &lane->first) = made;
    lane->last = made;
    if (lane->count++ == 0) lane->since = nl_now_micros();
    *work = made;
    return NULL;
}

/* ---- groups ---- */

/* Rows of one side of a cogroup: keys, then that side's arguments. A side without rows is a batch without rows. */
static nl_status send_side(group_operator *group, nl_python_task *task, const nl_batch *all, uint32_t side)
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
    if (!status) status = nl_python_task_send(&group->plan, task, side, sent.columns, sent.row_count);
    nl_batch_fini(&rows);
    nl_batch_fini(&sent);
    return status ? status : nl_python_task_mark(task, 'S');
}

/* What waits for the group's result: its keys, or its rows. */
static nl_status note_waiting(group_operator *group, const nl_batch *all, nl_batch *waiting)
{
    nl_memory *memory = group->base.exec->query->memory;
    nl_batch first = {0};
    if (group->plan.node->python.shape == NL_PYTHON_WINDOW) return list_join(&group->kept, memory, waiting);
    NL_TRY(nl_batch_slice(all, 0, 1, memory, &first));
    nl_status status = nl_batch_init(waiting, group->key_count, 1);
    for (uint32_t i = 0; !status && i < group->key_count; i++) nl_vector_ref(&first.columns[i], &waiting->columns[i]);
    nl_batch_fini(&first);
    return status;
}

/* The group is complete: it goes to its function. */
static nl_status end_group(group_operator *group, nl_worker *worker)
{
    nl_batch all = {0};
    group_lane *lane = NULL;
    group_work *work = NULL;
    const nl_python_shape shape = group->plan.node->python.shape;
    if (!group->group.count) return NULL;
    nl_status status = list_join(&group->group, group->base.exec->query->memory, &all);
    NL_GO(status);
    list_clear(&group->group);
    NL_GO(choose_lane(group, worker, all.row_count, &lane));
    NL_GO(new_work(group, lane, &work));
    if (shape == NL_PYTHON_COGROUP) {
        NL_GO(nl_python_task_mark(&lane->task, 'G'));
        NL_GO(send_side(group, &lane->task, &all, 0));
        NL_GO(send_side(group, &lane->task, &all, 1));
    } else {
        const uint32_t first = shape == NL_PYTHON_GROUP ? 0 : group->key_count;
        if (shape != NL_PYTHON_GROUP) NL_GO(note_waiting(group, &all, &work->waiting));
        NL_GO(nl_python_task_send(&group->plan, &lane->task, 0, all.columns + first, all.row_count));
    }
    list_clear(&group->kept);
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
    for (uint32_t i = 0; i < group->lane_count; i++) NL_TRY(nl_python_task_mark(&group->lanes[i].task, 'E'));
    for (bool is_over = false; !is_over;) {
        NL_TRY(take_results(group, worker));
        is_over = true;
        for (uint32_t i = 0; i < group->lane_count; i++) is_over &= group->lanes[i].task.is_done;
        if (!is_over) NL_TRY(wait_for_lanes(group));
    }
    for (uint32_t i = 0; i < group->lane_count; i++) nl_python_task_end(&group->lanes[i].task);
    return flush_ready(group, worker);
}

static void group_free(nl_operator *self)
{
    group_operator *group = NL_CONTAINER(self, group_operator, base);
    for (uint32_t i = 0; i < group->lane_count; i++) nl_python_task_end(&group->lanes[i].task);
    for (group_work *work = group->first, *next; work; work = next) {
        next = work->next;
        free_work(work);
    }
    list_fini(&group->group);
    list_fini(&group->kept);
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
    group->lane_max = NL_MIN(NL_MAX(exec->worker_count, 1u), LANES_MAX);
    group->lanes = NL_NEW_ARRAY(exec->arena, group_lane, group->lane_max);
    const nl_expr **arguments = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->python.argument_count + 1);
    for (uint32_t i = 0; i < node->python.argument_count; i++) NL_TRY(nl_resolve_subqueries(exec, node->python.arguments[i], &arguments[i]));
    NL_TRY(nl_programs_init(&group->arguments, exec, arguments, node->python.argument_count, node->children[0]->columns, node->children[0]->column_count));
    pipeline->is_serial = true;
    nl_pipeline_append(pipeline, &group->base);
    return NULL;
}
