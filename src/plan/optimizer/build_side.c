/* Hash joins build from their right side: the smaller one goes there where the kind leaves a choice. */
#include "plan/optimizer/rules.h"

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
        return NULL;
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
