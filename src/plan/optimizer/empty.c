/* What has no rows takes its surroundings with it. */
#include "plan/optimizer/rules.h"

static bool is_empty(const nl_logical *plan)
{
    return plan->kind == NL_PLAN_EMPTY || (plan->kind == NL_PLAN_VALUES && plan->values.row_count == 0);
}

/* The left rows with nulls (or nothing) for the right ones. */
static const nl_logical *pad_with_nulls(nl_arena *arena, const nl_logical *join, const nl_logical *kept)
{
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, join->column_count + 1);
    for (uint32_t i = 0; i < join->column_count; i++) {
        const nl_column *column = nl_logical_find_column(kept, join->columns[i].id);
        const nl_value null = nl_value_null(join->columns[i].type);
        exprs[i] = column ? nl_column_ref(arena, column) : nl_expr_literal(arena, &null);
    }
    return nl_logical_project(arena, kept, join->columns, exprs, join->column_count);
}

static const nl_logical *remove_join(nl_arena *arena, const nl_logical *plan)
{
    const bool left = is_empty(plan->children[0]);
    const bool right = is_empty(plan->children[1]);
    if (!left && !right) return plan;
    switch (plan->join.kind) {
    case NL_JOIN_INNER:
    case NL_JOIN_CROSS:
        return nl_logical_empty(arena, plan);
    case NL_JOIN_LEFT:
        return left ? nl_logical_empty(arena, plan) : pad_with_nulls(arena, plan, plan->children[0]);
    case NL_JOIN_RIGHT:
        return right ? nl_logical_empty(arena, plan) : pad_with_nulls(arena, plan, plan->children[1]);
    case NL_JOIN_FULL:
        if (left && right) return nl_logical_empty(arena, plan);
        return pad_with_nulls(arena, plan, plan->children[left ? 1 : 0]);
    case NL_JOIN_SEMI:
        return nl_logical_empty(arena, plan);
    case NL_JOIN_ANTI:
    case NL_JOIN_NULL_AWARE_ANTI:
        return left ? nl_logical_empty(arena, plan) : plan->children[0];
    case NL_JOIN_MARK:
        return left ? nl_logical_empty(arena, plan) : plan;
    }
    return plan;
}

static const nl_logical *remove_union(nl_arena *arena, const nl_logical *plan)
{
    nl_list kept = {0};
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!is_empty(plan->children[i])) nl_list_add(arena, &kept, NL_UNCONST(plan->children[i]));
    if (kept.count == plan->child_count) return plan;
    if (kept.count == 0) return nl_logical_empty(arena, plan);
    if (kept.count == 1) {
        const nl_logical *only = kept.items[0];
        const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + 1);
        for (uint32_t i = 0; i < plan->column_count; i++) exprs[i] = nl_column_ref(arena, &only->columns[i]);
        return nl_logical_project(arena, only, plan->columns, exprs, plan->column_count);
    }
    nl_logical *copy = nl_logical_new(arena, NL_PLAN_SET, (const nl_logical *const *)(void *)kept.items, kept.count);
    copy->columns = plan->columns;
    copy->column_count = plan->column_count;
    copy->set.kind = plan->set.kind;
    return copy;
}

static nl_status remove_empty(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    (void)context;
    *result = plan;
    switch (plan->kind) {
    case NL_PLAN_JOIN:
        *result = remove_join(arena, plan);
        return NULL;
    case NL_PLAN_SET:
        if (plan->set.kind == NL_SET_UNION_ALL) *result = remove_union(arena, plan);
        return NULL;
    case NL_PLAN_AGGREGATE: /* without keys there is a row all the same */
        if (plan->aggregate.key_count && !plan->aggregate.grouping_sets && is_empty(plan->children[0])) *result = nl_logical_empty(arena, plan);
        return NULL;
    case NL_PLAN_PROJECT:
    case NL_PLAN_FILTER:
    case NL_PLAN_SORT:
    case NL_PLAN_LIMIT:
    case NL_PLAN_WINDOW:
    case NL_PLAN_GENERATE:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_CTE:
        if (is_empty(plan->children[0])) *result = nl_logical_empty(arena, plan);
        return NULL;
    case NL_PLAN_SCAN:
    case NL_PLAN_VALUES:
    case NL_PLAN_RANGE:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE_REF:
    case NL_PLAN_EMPTY:
    case NL_PLAN_PYTHON:
    case NL_PLAN_OBSERVE:
    case NL_PLAN_SINGLE_ROW:
        return NULL;
    }
    return NULL;
}

nl_status nl_rule_remove_empty(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, remove_empty, context, result);
}
