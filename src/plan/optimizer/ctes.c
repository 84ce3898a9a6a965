/* A definition that is cheap to run again (a scan with filters and projections, rows of constants) is put in place of
 * every use: filters and pruning then reach into each copy. */
#include "plan/analyzer/analyzer.h"
#include "plan/optimizer/rules.h"

static bool has_subquery(void *context, const nl_expr *expr)
{
    (void)context;
    return !nl_expr_has(expr, NL_EXPR_SUBQUERY);
}

static bool is_cheap(const nl_logical *plan)
{
    if (plan->kind != NL_PLAN_SCAN && plan->kind != NL_PLAN_VALUES && plan->kind != NL_PLAN_RANGE && plan->kind != NL_PLAN_PROJECT &&
        plan->kind != NL_PLAN_FILTER && plan->kind != NL_PLAN_EMPTY)
        return false;
    if (!nl_logical_walk_exprs(plan, has_subquery, NULL)) return false;
    return plan->child_count == 0 || is_cheap(plan->children[0]);
}

typedef struct cte_placing {
    nl_plan_context *context;
    uint32_t id;
    const nl_logical *definition;
} cte_placing;

static nl_status place_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);

static nl_status place(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    const cte_placing *p = context;
    if (plan->kind != NL_PLAN_CTE_REF || plan->cte.id != p->id) return nl_logical_rewrite_exprs(arena, plan, place_in_expr, context, result);
    const nl_logical *copy = NULL;
    NL_TRY(nl_plan_fresh(p->context, p->definition, &copy));
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, plan->column_count + 1);
    for (uint32_t i = 0; i < plan->column_count; i++) exprs[i] = nl_column_ref(arena, &copy->columns[i]);
    *result = nl_logical_project(arena, copy, plan->columns, exprs, plan->column_count);
    return NULL;
}

static nl_status place_in_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    NL_TRY(nl_logical_rewrite(arena, expr->plan, place, context, &copy->plan));
    *result = copy;
    return NULL;
}

static nl_status place_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, place_in_subquery, context, result);
}

static nl_status inline_cte(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    *result = plan;
    if (plan->kind != NL_PLAN_CTE || !is_cheap(plan->cte.definition) || !nl_plan_is_deterministic(plan->cte.definition)) return NULL;
    cte_placing p = {.context = context, .id = plan->cte.id, .definition = plan->cte.definition};
    return nl_logical_rewrite(arena, plan->children[0], place, &p, result);
}

nl_status nl_rule_inline_ctes(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, inline_cte, context, result);
}
