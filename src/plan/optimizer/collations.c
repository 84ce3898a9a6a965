/* Groups, sorts and windows over strings with a collation use keys, which compare by bytes: the engine knows no collations.
 * A group shows its first string. Comparisons have their keys from the analyzer, and from nl_call_rule.
 */
#include "plan/optimizer/rules.h"

static bool is_collated(const nl_expr *expr)
{
    return expr->type->id == NL_TYPE_STRING && expr->type->collation.length;
}

static nl_status key_of(nl_plan_context *context, const nl_expr *expr, const nl_expr **key)
{
    *key = expr;
    return is_collated(expr) ? nl_call_rule(context, "collation_key", expr, NULL, key) : NULL;
}

static nl_status rewrite_aggregate(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    const uint32_t key_count = plan->aggregate.key_count, call_count = plan->aggregate.aggregate_count;
    uint32_t collated = 0;
    for (uint32_t i = 0; i < key_count; i++) collated += is_collated(plan->aggregate.keys[i]);
    if (collated == 0 || plan->aggregate.grouping_sets) return NULL;
    nl_logical *made = nl_logical_copy(arena, plan);
    const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, key_count);
    const nl_expr **calls = NL_NEW_ARRAY(arena, const nl_expr *, call_count + collated);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + collated);
    nl_copy_items(calls, plan->aggregate.aggregates, call_count * sizeof *calls);
    nl_copy_items(columns, plan->columns, plan->column_count * sizeof *columns);
    uint32_t count = 0;
    for (uint32_t i = 0; i < key_count; i++) {
        NL_TRY(key_of(context, plan->aggregate.keys[i], &keys[i]));
        if (keys[i] == plan->aggregate.keys[i]) continue;
        columns[plan->column_count + count] = plan->columns[i]; /* its id stays: the first string */
        columns[i] = nl_column_for(context, keys[i], plan->columns[i].name);
        NL_TRY(nl_aggregate_rule(context, "first", plan->aggregate.keys[i], &calls[call_count + count]));
        count++;
    }
    made->aggregate.keys = keys;
    made->aggregate.aggregates = calls;
    made->aggregate.aggregate_count = call_count + count;
    made->columns = columns;
    made->column_count = plan->column_count + count;
    *result = nl_logical_keep(arena, made, plan->columns, plan->column_count);
    return NULL;
}

static nl_status rewrite_sort(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    nl_sort_key *keys = NL_NEW_ARRAY(context->arena, nl_sort_key, plan->sort.key_count + 1);
    bool is_changed = false;
    for (uint32_t i = 0; i < plan->sort.key_count; i++) {
        keys[i] = plan->sort.keys[i];
        NL_TRY(key_of(context, plan->sort.keys[i].expr, &keys[i].expr));
        is_changed |= keys[i].expr != plan->sort.keys[i].expr;
    }
    if (!is_changed) return NULL;
    nl_logical *made = nl_logical_copy(context->arena, plan);
    made->sort.keys = keys;
    *result = made;
    return NULL;
}

static nl_status rewrite_spec(nl_plan_context *context, const nl_window_spec *spec, const nl_window_spec **result)
{
    nl_arena *arena = context->arena;
    nl_window_spec *made = NL_NEW(arena, nl_window_spec);
    const nl_expr **partition = NL_NEW_ARRAY(arena, const nl_expr *, spec->partition_count + 1);
    nl_sort_key *order = NL_NEW_ARRAY(arena, nl_sort_key, spec->order_count + 1);
    *made = *spec;
    for (uint32_t i = 0; i < spec->partition_count; i++) NL_TRY(key_of(context, spec->partition_by[i], &partition[i]));
    for (uint32_t i = 0; i < spec->order_count; i++) {
        order[i] = spec->order_by[i];
        NL_TRY(key_of(context, spec->order_by[i].expr, &order[i].expr));
    }
    made->partition_by = partition;
    made->order_by = order;
    *result = made;
    return NULL;
}

static nl_status rewrite_window(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    nl_arena *arena = context->arena;
    bool is_collating = false;
    const nl_window_spec *spec = plan->window.expr_count ? plan->window.exprs[0]->window : NULL;
    for (uint32_t i = 0; spec && i < spec->partition_count; i++) is_collating |= is_collated(spec->partition_by[i]);
    for (uint32_t i = 0; spec && i < spec->order_count; i++) is_collating |= is_collated(spec->order_by[i].expr);
    if (!is_collating) return NULL;
    nl_logical *made = nl_logical_copy(arena, plan);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->window.expr_count);
    for (uint32_t i = 0; i < plan->window.expr_count; i++) {
        nl_expr *copy = NL_NEW(arena, nl_expr);
        *copy = *plan->window.exprs[i];
        NL_TRY(rewrite_spec(context, plan->window.exprs[i]->window, &copy->window));
        exprs[i] = copy;
    }
    made->window.exprs = exprs;
    *result = made;
    return NULL;
}

static nl_status visit(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    (void)arena;
    *result = plan;
    switch ((int)plan->kind) {
    case NL_PLAN_AGGREGATE:
        return rewrite_aggregate(context, plan, result);
    case NL_PLAN_SORT:
        return rewrite_sort(context, plan, result);
    case NL_PLAN_WINDOW:
        return rewrite_window(context, plan, result);
    default:
        return NULL;
    }
}

nl_status nl_rule_key_collations(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, visit, context, result);
}
