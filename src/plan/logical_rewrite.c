/* Rewriting plans, and the expressions that a node holds, whatever its kind. */
#include "plan/logical.h"

nl_status nl_logical_rewrite(nl_arena *arena, const nl_logical *plan, nl_logical_rewrite_fn visit, void *context,
                             const nl_logical **result)
{
    const nl_logical **children = NL_NEW_ARRAY(arena, const nl_logical *, plan->child_count + 1);
    for (uint32_t i = 0; i < plan->child_count; i++)
        NL_TRY(nl_logical_rewrite(arena, plan->children[i], visit, context, &children[i]));
    const nl_logical *current = nl_logical_with_children(arena, plan, children);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) {
        const nl_logical *definition = NULL;
        NL_TRY(nl_logical_rewrite(arena, plan->cte.definition, visit, context, &definition));
        if (definition != plan->cte.definition) {
            nl_logical *copy = nl_logical_copy(arena, current);
            copy->cte.definition = definition;
            current = copy;
        }
    }
    return visit(context, arena, current, result);
}

typedef struct expr_rewrite {
    nl_arena *arena;
    nl_expr_rewrite_fn visit;
    void *context;
    bool is_changed;
} expr_rewrite;

static nl_status rewrite_expr(expr_rewrite *r, const nl_expr **expr)
{
    if (!*expr) return NULL;
    const nl_expr *changed = NULL;
    NL_TRY(r->visit(r->context, r->arena, *expr, &changed));
    r->is_changed = r->is_changed || changed != *expr;
    *expr = changed;
    return NULL;
}

static nl_status rewrite_exprs(expr_rewrite *r, const nl_expr *const **exprs, uint32_t count)
{
    const nl_expr **copy = NL_NEW_ARRAY(r->arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (*exprs)[i];
        NL_TRY(rewrite_expr(r, &copy[i]));
    }
    *exprs = copy;
    return NULL;
}

static nl_status rewrite_keys(expr_rewrite *r, const nl_sort_key **keys, uint32_t count)
{
    nl_sort_key *copy = NL_NEW_ARRAY(r->arena, nl_sort_key, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        copy[i] = (*keys)[i];
        NL_TRY(rewrite_expr(r, &copy[i].expr));
    }
    *keys = copy;
    return NULL;
}

static nl_status rewrite_rows(expr_rewrite *r, nl_logical *plan)
{
    const nl_expr *const **rows = NL_NEW_ARRAY(r->arena, const nl_expr *const *, plan->values.row_count + 1);
    for (uint32_t i = 0; i < plan->values.row_count; i++) {
        rows[i] = plan->values.rows[i];
        NL_TRY(rewrite_exprs(r, &rows[i], plan->column_count));
    }
    plan->values.rows = rows;
    return NULL;
}

static nl_status rewrite_node(expr_rewrite *r, nl_logical *plan)
{
    switch (plan->kind) {
    case NL_PLAN_SCAN:
        return rewrite_expr(r, &plan->scan.filter);
    case NL_PLAN_VALUES:
        return rewrite_rows(r, plan);
    case NL_PLAN_PROJECT:
        return rewrite_exprs(r, &plan->project.exprs, plan->column_count);
    case NL_PLAN_FILTER:
        return rewrite_expr(r, &plan->filter.condition);
    case NL_PLAN_AGGREGATE:
        NL_TRY(rewrite_exprs(r, &plan->aggregate.keys, plan->aggregate.key_count));
        return rewrite_exprs(r, &plan->aggregate.aggregates, plan->aggregate.aggregate_count);
    case NL_PLAN_JOIN:
        return rewrite_expr(r, &plan->join.condition);
    case NL_PLAN_SORT:
        return rewrite_keys(r, &plan->sort.keys, plan->sort.key_count);
    case NL_PLAN_WINDOW:
        return rewrite_exprs(r, &plan->window.exprs, plan->window.expr_count);
    case NL_PLAN_GENERATE:
        return rewrite_exprs(r, &plan->generate.arguments, plan->generate.argument_count);
    case NL_PLAN_PYTHON:
        return rewrite_exprs(r, &plan->python.arguments, plan->python.argument_count);
    case NL_PLAN_OBSERVE:
        return rewrite_exprs(r, &plan->observe.calls, plan->observe.call_count);
    case NL_PLAN_RANGE:
    case NL_PLAN_LIMIT:
    case NL_PLAN_SET:
    case NL_PLAN_DISTINCT:
    case NL_PLAN_SAMPLE:
    case NL_PLAN_ALIAS:
    case NL_PLAN_CTE:
    case NL_PLAN_CTE_REF:
    case NL_PLAN_EMPTY:
    case NL_PLAN_SINGLE_ROW:
        return NULL;
    }
    return NULL;
}

nl_status nl_logical_rewrite_exprs(nl_arena *arena, const nl_logical *plan, nl_expr_rewrite_fn visit, void *context,
                                   const nl_logical **result)
{
    expr_rewrite r = {.arena = arena, .visit = visit, .context = context};
    nl_logical copy = *plan;
    NL_TRY(rewrite_node(&r, &copy));
    *result = plan;
    if (!r.is_changed) return NULL;
    nl_logical *changed = NL_NEW(arena, nl_logical);
    *changed = copy;
    *result = changed;
    return NULL;
}

typedef bool (*expr_visit)(void *context, const nl_expr *expr);

static bool walk_all(const nl_expr *const *exprs, uint32_t count, expr_visit visit, void *context)
{
    for (uint32_t i = 0; i < count; i++)
        if (!visit(context, exprs[i])) return false;
    return true;
}

static bool walk_rest(const nl_logical *plan, expr_visit visit, void *context)
{
    if (plan->kind == NL_PLAN_SORT) {
        for (uint32_t i = 0; i < plan->sort.key_count; i++)
            if (!visit(context, plan->sort.keys[i].expr)) return false;
    } else if (plan->kind == NL_PLAN_VALUES && plan->column_count) {
        for (uint32_t i = 0; i < plan->values.row_count; i++)
            if (!walk_all(plan->values.rows[i], plan->column_count, visit, context)) return false;
    } else if (plan->kind == NL_PLAN_AGGREGATE) {
        return walk_all(plan->aggregate.keys, plan->aggregate.key_count, visit, context) &&
               walk_all(plan->aggregate.aggregates, plan->aggregate.aggregate_count, visit, context);
    } else if (plan->kind == NL_PLAN_WINDOW) {
        return walk_all(plan->window.exprs, plan->window.expr_count, visit, context);
    } else if (plan->kind == NL_PLAN_GENERATE) {
        return walk_all(plan->generate.arguments, plan->generate.argument_count, visit, context);
    } else if (plan->kind == NL_PLAN_PYTHON) {
        return walk_all(plan->python.arguments, plan->python.argument_count, visit, context);
    } else if (plan->kind == NL_PLAN_OBSERVE) {
        return walk_all(plan->observe.calls, plan->observe.call_count, visit, context);
    }
    return true;
}

bool nl_logical_walk_exprs(const nl_logical *plan, expr_visit visit, void *context)
{
    if (plan->kind == NL_PLAN_PROJECT) return walk_all(plan->project.exprs, plan->column_count, visit, context);
    if (plan->kind == NL_PLAN_FILTER) return visit(context, plan->filter.condition);
    if (plan->kind == NL_PLAN_SCAN) return !plan->scan.filter || visit(context, plan->scan.filter);
    if (plan->kind == NL_PLAN_JOIN) return !plan->join.condition || visit(context, plan->join.condition);
    return walk_rest(plan, visit, context);
}
