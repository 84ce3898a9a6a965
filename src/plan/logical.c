/* Making plan nodes. */
#include "plan/logical.h"

nl_logical *nl_logical_new(nl_arena *arena, nl_logical_kind kind, const nl_logical *const *children, uint32_t child_count)
{
    nl_logical *plan = NL_NEW(arena, nl_logical);
    plan->kind = kind;
    plan->child_count = child_count;
    if (child_count) {
        const nl_logical **copy = NL_NEW_ARRAY(arena, const nl_logical *, child_count);
        memcpy(copy, children, child_count * sizeof *copy);
        plan->children = copy;
        for (uint32_t i = 0; i < child_count && !plan->span.stop; i++) plan->span = children[i]->span;
    }
    return plan;
}

nl_logical *nl_logical_copy(nl_arena *arena, const nl_logical *plan)
{
    nl_logical *copy = NL_NEW(arena, nl_logical);
    *copy = *plan;
    return copy;
}

static nl_logical *over(nl_arena *arena, nl_logical_kind kind, const nl_logical *child)
{
    nl_logical *plan = nl_logical_new(arena, kind, &child, 1);
    plan->columns = child->columns;
    plan->column_count = child->column_count;
    return plan;
}

const nl_logical *nl_logical_with_children(nl_arena *arena, const nl_logical *plan, const nl_logical *const *children)
{
    bool is_same = true;
    for (uint32_t i = 0; i < plan->child_count; i++) is_same = is_same && plan->children[i] == children[i];
    if (is_same) return plan;
    nl_logical *copy = nl_logical_copy(arena, plan);
    const nl_logical **owned = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count);
    memcpy(owned, children, plan->child_count * sizeof *owned);
    copy->children = owned;
    return copy;
}

const nl_logical *nl_logical_filter(nl_arena *arena, const nl_logical *child, const nl_expr *condition)
{
    if (!condition) return child;
    nl_logical *plan = over(arena, NL_PLAN_FILTER, child);
    plan->filter.condition = condition;
    return plan;
}

const nl_logical *nl_logical_project(nl_arena *arena, const nl_logical *child, const nl_column *columns,
                                     const nl_expr *const *exprs, uint32_t count)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_PROJECT, &child, 1);
    plan->columns = columns;
    plan->column_count = count;
    plan->project.exprs = exprs;
    return plan;
}

const nl_logical *nl_logical_keep(nl_arena *arena, const nl_logical *child, const nl_column *columns, uint32_t count)
{
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) exprs[i] = nl_column_ref(arena, &columns[i]);
    return nl_logical_project(arena, child, columns, exprs, count);
}

const nl_logical *nl_logical_join(nl_arena *arena, nl_join_kind kind, const nl_logical *left, const nl_logical *right,
                                  const nl_expr *condition)
{
    const nl_logical *const children[] = {left, right};
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_JOIN, children, 2);
    plan->join.kind = kind;
    plan->join.condition = condition;
    if (kind == NL_JOIN_SEMI || kind == NL_JOIN_ANTI || kind == NL_JOIN_NULL_AWARE_ANTI) {
        plan->columns = left->columns;
        plan->column_count = left->column_count;
        return plan;
    }
    NL_ASSERT(kind != NL_JOIN_MARK); /* its boolean needs an id: made by hand */
    const uint32_t count = left->column_count + right->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const bool is_left = i < left->column_count;
        columns[i] = is_left ? left->columns[i] : right->columns[i - left->column_count];
        if (kind == NL_JOIN_FULL || kind == (is_left ? NL_JOIN_RIGHT : NL_JOIN_LEFT)) columns[i].is_nullable = true;
    }
    plan->columns = columns;
    plan->column_count = count;
    return plan;
}

const nl_logical *nl_logical_sort(nl_arena *arena, const nl_logical *child, const nl_sort_key *keys, uint32_t count,
                                  bool is_global)
{
    nl_logical *plan = over(arena, NL_PLAN_SORT, child);
    plan->sort.keys = keys;
    plan->sort.key_count = count;
    plan->sort.is_global = is_global;
    return plan;
}

const nl_logical *nl_logical_limit(nl_arena *arena, const nl_logical *child, int64_t limit, int64_t offset)
{
    nl_logical *plan = over(arena, NL_PLAN_LIMIT, child);
    plan->limit.limit = limit;
    plan->limit.offset = offset;
    return plan;
}

const nl_logical *nl_logical_over(nl_arena *arena, nl_logical_kind kind, const nl_logical *child)
{
    return over(arena, kind, child);
}

const nl_logical *nl_logical_empty(nl_arena *arena, const nl_logical *like)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_EMPTY, NULL, 0);
    plan->columns = like->columns;
    plan->column_count = like->column_count;
    plan->span = like->span;
    return plan;
}

const nl_logical *nl_logical_one_row(nl_arena *arena)
{
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_VALUES, NULL, 0);
    const nl_expr *const **rows = NL_NEW_ARRAY(arena, const nl_expr *const *, 1);
    plan->values.rows = rows;
    plan->values.row_count = 1;
    return plan;
}

const nl_expr *nl_column_ref(nl_arena *arena, const nl_column *column)
{
    return nl_expr_column(arena, column->id, column->name, column->type, column->is_nullable);
}

const nl_column *nl_logical_find_column(const nl_logical *plan, nl_column_id id)
{
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (plan->columns[i].id == id) return &plan->columns[i];
    return NULL;
}
