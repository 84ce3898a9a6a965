/* Groups by values that hold maps: the same entries in another order are the same map, and the group shows them in the order of
 * the keys, as Spark does. DISTINCT, sets and aggregates of distinct values compare maps as they are, there as here.
 */
#include "plan/optimizer/rules.h"

#include "function/coercion.h"

static nl_status visit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    bool is_changed = false;
    *result = plan;
    if (plan->kind != NL_PLAN_AGGREGATE) return NULL;
    const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, plan->aggregate.key_count + 1);
    for (uint32_t i = 0; i < plan->aggregate.key_count; i++) {
        keys[i] = plan->aggregate.keys[i];
        if (!nl_type_has_map(keys[i]->type) || nl_is_call(keys[i], "map_sort")) continue;
        NL_TRY(nl_call_rule(context, "map_sort", keys[i], NULL, &keys[i]));
        is_changed = true;
    }
    if (!is_changed) return NULL;
    nl_logical *made = nl_logical_copy(arena, plan);
    made->aggregate.keys = keys;
    *result = made;
    return NULL;
}

nl_status nl_rule_sort_map_keys(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, visit, context, result);
}
