/* ALIAS nodes only qualified names; nothing needs them any more. */
#include "plan/optimizer/rules.h"

static nl_status remove_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result);

static nl_status remove_alias(void *context, nl_arena *arena, const nl_logical *plan, const nl_logical **result)
{
    if (plan->kind == NL_PLAN_ALIAS) {
        *result = plan->children[0];
        return NULL;
    }
    return nl_logical_rewrite_exprs(arena, plan, remove_in_expr, context, result);
}

static nl_status remove_in_subquery(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind != NL_EXPR_SUBQUERY) return NULL;
    nl_expr *copy = NL_NEW(arena, nl_expr);
    *copy = *expr;
    NL_TRY(nl_logical_rewrite(arena, expr->plan, remove_alias, context, &copy->plan));
    *result = copy;
    return NULL;
}

static nl_status remove_in_expr(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    return nl_expr_rewrite(arena, expr, remove_in_subquery, context, result);
}

nl_status nl_rule_remove_aliases(nl_plan_context *context, const nl_logical *plan, const nl_logical **result)
{
    return nl_logical_rewrite(context->arena, plan, remove_alias, NULL, result);
}
