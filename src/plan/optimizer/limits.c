/* Limits move down: limits of limits become one, projections and unions let them through, scans get a hint. LIMIT over
 * SORT stays together: exec keeps only the best rows then. */
#include "plan/optimizer/rules.h"

static int64_t add_limits(int64_t limit, int64_t offset)
{
    int64_t sum;
    return __builtin_add_overflow(limit, offset, &sum) ? INT64_MAX : sum;
}

/* At most `count` rows of the plan are wanted. */
static const nl_logical *hint(nl_arena *arena, const nl_logical *plan, int64_t count)
{
    if (plan->kind == NL_PLAN_SCAN) {
        if (plan->scan.limit >= 0 && plan->scan.limit <= count) return plan;
        nl_logical *copy = nl_logical_copy(arena, plan);
        copy->scan.limit = count;
        return copy;
    }
    if (plan->kind == NL_PLAN_PROJECT) {
        const nl_logical *child = hint(arena, plan->children[0], count);
        return nl_logical_with_children(arena, plan, &child);
    }
    if (plan->kind == NL_PLAN_SET && plan->set.kind == NL_SET_UNION_ALL) {
        const nl_logical **children = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count + 1);
        for (uint32_t i = 0; i < plan->child_count; i++) {
            const nl_logical *child = hint(arena, plan->children[i], count);
            const bool is_limited = child->kind == NL_PLAN_LIMIT && child->limit.limit >= 0 && child->limit.limit <= count;
            children[i] = is_limited ? child : nl_logical_limit(arena, child, count, 0);
        }
        return nl_logical_with_children(arena, plan, children);
    }
    return plan;
}

static nl_status push_limit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    (void)context;
    *result = plan;
    if (plan->kind != NL_PLAN_LIMIT) return NULL;
    const nl_logical *child = plan->children[0];
    if (plan->limit.limit == 0) {
        *result = nl_logical_empty(arena, plan);
        return NULL;
    }
    if (child->kind == NL_PLAN_LIMIT) { /* rows [o1, o1+l1) of which [o2, o2+l2) */
        int64_t limit = plan->limit.limit;
        if (child->limit.limit >= 0) {
            const int64_t rest = child->limit.limit > plan->limit.offset ? child->limit.limit - plan->limit.offset : 0;
            limit = limit < 0 ? rest : NL_MIN(limit, rest);
        }
        *result = nl_logical_limit(arena, child->children[0], limit, add_limits(child->limit.offset, plan->limit.offset));
        return push_limit(context, arena, *result, result);
    }
    if (child->kind == NL_PLAN_PROJECT && child->children[0]->kind == NL_PLAN_SORT) { /* a sort below the projection: top-N */
        const nl_logical *limited = nl_logical_limit(arena, child->children[0], plan->limit.limit, plan->limit.offset);
        *result = nl_logical_with_children(arena, child, &limited);
        return NULL;
    }
    if (plan->limit.limit < 0) return NULL;
    const nl_logical *hinted = hint(arena, child, add_limits(plan->limit.limit, plan->limit.offset));
    *result = nl_logical_with_children(arena, plan, &hinted);
    return NULL;
}

nl_status nl_rule_push_limits(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, push_limit, context, result);
}
