/* stream/state_session.c - session windows over streams. The analyzer merges the sessions of a batch's rows by window functions
 * (plan/analyzer/time_window.c); over a stream each row is a session of its own at first, and the same functions merge those of
 * the batch with those of the state: this file takes the functions out of the plan and puts them over other rows. */
#include "stream/state_plan.h"

static bool has_column(const nl_logical *plan, const char *name)
{
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (nl_str_is(plan->columns[i].name, name)) return true;
    return false;
}

static uint32_t place_of(const nl_logical *plan, nl_column_id id)
{
    uint32_t at = 0;
    while (at < plan->column_count && plan->columns[at].id != id) at++;
    return at;
}

/* The projection that makes the session's column of merged starts and ends; NULL: there is none. */
static const nl_logical *find_maker(const nl_logical *plan, nl_column_id id)
{
    for (; plan->child_count == 1; plan = plan->children[0]) {
        const uint32_t at = place_of(plan, id);
        if (plan->kind != NL_PLAN_PROJECT || at == plan->column_count) continue;
        const nl_expr *expr = plan->project.exprs[at];
        if (expr->kind == NL_EXPR_COLUMN && expr->column == id) continue;
        return expr->kind == NL_EXPR_CALL && plan->children[0]->kind == NL_PLAN_WINDOW && has_column(plan->children[0], "_starts") ? plan : NULL;
    }
    return NULL;
}

bool nl_state_session_of(const nl_logical *aggregate, nl_state_session *session)
{
    for (uint32_t i = 0; i < aggregate->aggregate.key_count; i++) {
        const nl_expr *key = aggregate->aggregate.keys[i];
        if (key->kind != NL_EXPR_COLUMN || key->type->id != NL_TYPE_STRUCT) continue;
        const nl_logical *maker = find_maker(aggregate->children[0], key->column);
        if (!maker) continue;
        const nl_logical *rows = maker->children[0];
        while (rows->child_count == 1 && (rows->kind == NL_PLAN_WINDOW || has_column(rows, "_starts"))) rows = rows->children[0];
        *session = (nl_state_session){.key = i, .column = key->column, .maker = maker, .rows = rows};
        return true;
    }
    return false;
}

bool nl_state_is_session_step(const nl_logical *window)
{
    return has_column(window, "_starts") || (has_column(window, "_start") && has_column(window, "_end"));
}

/* ---- sessions of single rows ---- */

static nl_status rebuild(nl_state_batch *batch, const nl_state_session *session, const nl_logical *plan, const nl_logical **made)
{
    nl_arena *arena = batch->planning->arena;
    if (plan != session->maker) {
        const nl_logical *child = NULL;
        NL_TRY(rebuild(batch, session, plan->children[0], &child));
        *made = nl_logical_with_children(arena, plan, &child);
        return NULL;
    }
    const nl_logical *rows = session->rows;
    const uint32_t at = place_of(plan, session->column);
    const nl_expr *bounds[2] = {NULL, NULL};
    for (uint32_t i = 0; i < rows->column_count; i++) {
        if (nl_str_is(rows->columns[i].name, "_start")) bounds[0] = nl_column_ref(arena, &rows->columns[i]);
        if (nl_str_is(rows->columns[i].name, "_end")) bounds[1] = nl_column_ref(arena, &rows->columns[i]);
    }
    NL_CHECK(bounds[0] && bounds[1]);
    const nl_value names[] = {nl_value_string(NL_STR("start")), nl_value_string(NL_STR("end"))};
    const nl_expr *const args[] = {nl_expr_literal(arena, &names[0]), bounds[0], nl_expr_literal(arena, &names[1]), bounds[1]};
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, rows->column_count + 2);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, rows->column_count + 2);
    for (uint32_t i = 0; i < rows->column_count; i++) {
        columns[i] = rows->columns[i];
        exprs[i] = nl_column_ref(arena, &rows->columns[i]);
    }
    columns[rows->column_count] = plan->columns[at];
    NL_TRY(nl_expr_call_named(arena, batch->planning->confs, "named_struct", args, 4, &exprs[rows->column_count]));
    *made = nl_logical_project(arena, rows, columns, exprs, rows->column_count + 1);
    return NULL;
}

nl_status nl_state_session_single(nl_state_batch *batch, const nl_state_session *session, const nl_logical *aggregate, const nl_logical **plan)
{
    return rebuild(batch, session, aggregate->children[0], plan);
}

/* ---- merging ---- */

/* The rows with the bounds of their sessions under the ids that the window functions speak of. */
static nl_status with_bounds(nl_state_batch *batch, const nl_state_session *session, const nl_logical *input, const nl_logical **plan)
{
    nl_arena *arena = batch->planning->arena;
    const uint32_t count = input->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 3);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 3);
    const nl_expr *window = nl_column_ref(arena, &input->columns[session->key]);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = input->columns[i];
        exprs[i] = nl_column_ref(arena, &input->columns[i]);
    }
    uint32_t width = count;
    for (uint32_t i = 0; i < session->rows->column_count; i++) {
        const bool is_start = nl_str_is(session->rows->columns[i].name, "_start"), is_end = nl_str_is(session->rows->columns[i].name, "_end");
        if ((!is_start && !is_end) || width == count + 2) continue;
        columns[width] = session->rows->columns[i];
        columns[width].is_nullable = true;
        exprs[width++] = nl_expr_field(arena, window, is_end);
    }
    *plan = nl_logical_project(arena, input, columns, exprs, width);
    return NULL;
}

typedef struct merge {
    nl_state_batch *batch;
    const nl_state_session *session;
    const nl_logical *input;   /* keys, what else, _start, _end */
    uint32_t key_count;
    const nl_expr **partition; /* the keys but the session */
} merge;

static const nl_expr *over_keys(const merge *self, const nl_expr *from)
{
    nl_expr *expr = NL_NEW(self->batch->planning->arena, nl_expr);
    nl_window_spec *spec = NL_NEW(self->batch->planning->arena, nl_window_spec);
    *expr = *from;
    *spec = *from->window;
    spec->partition_by = self->partition;
    spec->partition_count = self->key_count - 1;
    expr->window = spec;
    return expr;
}

/* The node over other rows: their columns, and those that it adds. */
static nl_status put_over(const merge *self, const nl_logical *node, const nl_logical **plan)
{
    nl_arena *arena = self->batch->planning->arena;
    const nl_logical *child = NULL;
    if (node == self->session->rows) {
        *plan = self->input;
        return NULL;
    }
    NL_TRY(put_over(self, node->children[0], &child));
    const uint32_t added = node->column_count - node->children[0]->column_count, count = child->column_count + added;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < child->column_count; i++) {
        columns[i] = child->columns[i];
        exprs[i] = nl_column_ref(arena, &child->columns[i]);
    }
    for (uint32_t i = 0; i < added; i++) columns[child->column_count + i] = node->columns[node->children[0]->column_count + i];
    if (node->kind == NL_PLAN_PROJECT) {
        for (uint32_t i = 0; i < added; i++) exprs[child->column_count + i] = node->project.exprs[node->children[0]->column_count + i];
        *plan = nl_logical_project(arena, child, columns, exprs, count);
        return NULL;
    }
    NL_CHECK(node->kind == NL_PLAN_WINDOW);
    nl_logical *made = NL_UNCONST(nl_logical_with_children(arena, node, &child));
    for (uint32_t i = 0; i < added; i++) exprs[i] = over_keys(self, node->window.exprs[i]);
    made->columns = columns;
    made->column_count = count;
    made->window.exprs = exprs;
    *plan = made;
    return NULL;
}

nl_status nl_state_session_merge(nl_state_batch *batch, const nl_state_session *session, const nl_logical *rows, uint32_t key_count, const nl_logical **plan)
{
    nl_arena *arena = batch->planning->arena;
    const nl_logical *merged = NULL;
    merge self = {.batch = batch, .session = session, .key_count = key_count, .partition = NL_NEW_ARRAY(arena, const nl_expr *, key_count + 1)};
    uint32_t used = 0;
    NL_TRY(with_bounds(batch, session, rows, &self.input));
    for (uint32_t i = 0; i < key_count; i++)
        if (i != session->key) self.partition[used++] = nl_column_ref(arena, &self.input->columns[i]);
    NL_TRY(put_over(&self, session->maker->children[0], &merged));
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, rows->column_count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, rows->column_count + 1);
    for (uint32_t i = 0; i < rows->column_count; i++) {
        columns[i] = rows->columns[i];
        exprs[i] = nl_column_ref(arena, &rows->columns[i]);
    }
    columns[session->key].id = nl_plan_new_id(batch->planning);
    exprs[session->key] = session->maker->project.exprs[place_of(session->maker, session->column)];
    *plan = nl_logical_project(arena, merged, columns, exprs, rows->column_count);
    return NULL;
}
