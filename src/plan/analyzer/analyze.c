/* The entry points for single expressions and constants. */
#include "plan/analyzer/analyzer.h"

nl_status nl_analyze_expr(nl_plan_context *context, const struct nl_ast_expr *expr, const nl_column *columns,
                          uint32_t column_count, const nl_expr **result)
{
    nl_env env = {.context = context, .text = context->text};
    nl_scope scope = {.env = &env, .clause = NL_CLAUSE_OTHER, .set_count = 1};
    scope.sets[0] = (nl_column_set){columns, column_count};
    NL_TRY(nl_resolve_expr(&scope, expr, result));
    return nl_arena_check(context->arena);
}

nl_status nl_analyze_condition(nl_plan_context *context, const struct nl_ast_expr *expr, const nl_column *columns,
                               uint32_t column_count, const nl_expr **result)
{
    nl_env env = {.context = context, .text = context->text};
    nl_scope scope = {.env = &env, .clause = NL_CLAUSE_OTHER, .set_count = 1};
    scope.sets[0] = (nl_column_set){columns, column_count};
    NL_TRY(nl_resolve_condition(&scope, expr, result));
    return nl_arena_check(context->arena);
}

nl_status nl_analyze_constant(nl_plan_context *context, const struct nl_ast_expr *expr, nl_value *value)
{
    nl_env env = {.context = context, .text = context->text};
    nl_scope scope = {.env = &env, .clause = NL_CLAUSE_OTHER};
    const nl_expr *resolved = NULL;
    const nl_value *folded = NULL;
    NL_TRY(nl_resolve_expr(&scope, expr, &resolved));
    NL_TRY(nl_fold(&scope, resolved, &folded));
    if (!folded)
        return nl_sql_at(NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", "`constant`"), NL_P("paramName", "`expression`"),
                                  NL_P("paramType", "\"ANY\"")),
                         context->text, expr->range, false);
    *value = *folded;
    return NULL;
}
