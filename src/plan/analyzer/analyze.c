/* The entry points for single expressions and constants. */
#include "plan/analyzer/analyzer.h"

typedef nl_status (*resolve_fn)(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result);

static nl_status analyze_over(nl_plan_context *context, resolve_fn resolve, const nl_ast_expr *expr, const nl_column *columns, uint32_t column_count,
                              const nl_expr **result)
{
    nl_env env = {.context = context, .text = context->text}, inner = env;
    nl_scope scope = {.env = &inner, .clause = NL_CLAUSE_OTHER, .set_count = 1};
    scope.sets[0] = (nl_column_set){columns, column_count};
    if (context->ctes && context->ctes->count) NL_TRY(nl_declare_ctes(&env, NULL, context->ctes, &inner));
    NL_TRY(resolve(&scope, expr, result));
    NL_TRY(nl_place_ctes(&env, &inner, *result, result));
    return nl_arena_check(context->arena);
}

nl_status nl_analyze_expr(nl_plan_context *context, const nl_ast_expr *expr, const nl_column *columns, uint32_t column_count, const nl_expr **result)
{
    return analyze_over(context, nl_resolve_expr, expr, columns, column_count, result);
}

nl_status nl_analyze_condition(nl_plan_context *context, const nl_ast_expr *expr, const nl_column *columns, uint32_t column_count, const nl_expr **result)
{
    return analyze_over(context, nl_resolve_condition, expr, columns, column_count, result);
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
