/* Hash joins build from their right side: the smaller one goes there where the kind leaves a choice. */
#include "plan/optimizer/rules.h"

#define SEMI_RATIO    4.0    /* how much smaller the left side must be: its rows are stored with all their columns */
#define SEMI_ROWS_MIN 5000.0 /* below, the order of the left rows is worth more */

static bool has_equality(nl_arena *arena, const nl_expr *condition)
{
    nl_list conjuncts = {0};
    const nl_expr *a = NULL;
    const nl_expr *b = NULL;
    if (condition) nl_expr_conjuncts(arena, condition, &conjuncts);
    for (uint32_t i = 0; i < conjuncts.count; i++)
        if (nl_as_equality(conjuncts.items[i], &a, &b)) return true;
    return false;
}

/* SEMI and ANTI put out left rows only: the sides stay, and the join is told to build from the left one. */
static nl_status choose_for_semi(nl_plan_context *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    if (plan->join.kind != NL_JOIN_SEMI && plan->join.kind != NL_JOIN_ANTI) return NULL;
    const double left = nl_estimate_rows(context, plan->children[0]);
    const double right = nl_estimate_rows(context, plan->children[1]);
    if (right < SEMI_ROWS_MIN || right < left * SEMI_RATIO || !has_equality(arena, plan->join.condition)) return NULL;
    nl_logical *copy = nl_logical_copy(arena, plan);
    copy->join.builds_left = true;
    *result = copy;
    return NULL;
}

static nl_status choose(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->kind != NL_PLAN_JOIN || plan->join.is_lateral || plan->join.is_single) return NULL;
    nl_join_kind swapped;
    if (plan->join.kind == NL_JOIN_INNER || plan->join.kind == NL_JOIN_CROSS || plan->join.kind == NL_JOIN_FULL)
        swapped = plan->join.kind;
    else if (plan->join.kind == NL_JOIN_LEFT)
        swapped = NL_JOIN_RIGHT;
    else if (plan->join.kind == NL_JOIN_RIGHT)
        swapped = NL_JOIN_LEFT;
    else
        return choose_for_semi(context, arena, plan, result);
    const double left = nl_estimate_rows(context, plan->children[0]);
    const double right = nl_estimate_rows(context, plan->children[1]);
    if (right <= left) return NULL;
    const nl_logical *join = nl_logical_join(arena, swapped, plan->children[1], plan->children[0], plan->join.condition);
    nl_logical *placed = NL_UNCONST(join);
    placed->span = plan->span;
    *result = nl_logical_keep(arena, placed, plan->columns, plan->column_count);
    return NULL;
}

nl_status nl_rule_choose_build_sides(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    NL_TRY(nl_logical_rewrite(context->arena, plan, choose, context, &plan));
    return nl_rule_merge_projects(context, plan, result);
}
