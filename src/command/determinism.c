/* command/determinism.c - see determinism.h. */
#include "command/determinism.h"

static bool is_deterministic_node(void *context, const nl_expr *expr)
{
    (void)context;
    if (expr->kind == NL_EXPR_CALL) return expr->function->is_deterministic;
    return expr->kind != NL_EXPR_SUBQUERY || nl_is_deterministic_plan(expr->plan);
}

bool nl_is_deterministic(const nl_expr *expr)
{
    return nl_expr_walk(expr, is_deterministic_node, NULL);
}

static bool is_deterministic_expr(void *context, const nl_expr *expr)
{
    (void)context;
    return nl_is_deterministic(expr);
}

bool nl_is_deterministic_plan(const nl_logical *plan)
{
    if (!nl_logical_walk_exprs(plan, is_deterministic_expr, NULL)) return false;
    if (plan->kind == NL_PLAN_CTE && !nl_is_deterministic_plan(plan->cte.definition)) return false;
    for (uint32_t i = 0; i < plan->child_count; i++)
        if (!nl_is_deterministic_plan(plan->children[i])) return false;
    return true;
}

nl_status nl_check_deterministic(nl_command *command, const nl_expr *expr, uint32_t times)
{
    if (!expr || nl_is_deterministic(expr)) return NULL;
    nl_str text = {0};
    for (uint32_t i = 0; i < times; i++)
        text = nl_arena_f(command->arena, NL_STR_FMT "%s\"" NL_STR_FMT "\"", NL_STR_ARG(text), i ? ", " : "",
                          NL_STR_ARG(nl_expr_pretty_str(command->arena, expr)));
    return NL_RAISE(INVALID_NON_DETERMINISTIC_EXPRESSIONS, NL_P_STR("sqlExprs", text));
}
