/* ORDER BY, SORT BY, LIMIT and OFFSET over a finished plan. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

void nl_scope_over(nl_scope *scope, nl_env *env, nl_scope *outer, const nl_logical *plan, nl_clause clause)
{
    *scope = (nl_scope){.env = env, .outer = outer, .clause = clause, .set_count = 1};
    scope->sets[0] = (nl_column_set){plan->columns, plan->column_count};
    if (outer) scope->depth = outer->depth;
}

static nl_status at(nl_scope *scope, nl_status status, const nl_ast_expr *ast)
{
    return nl_sql_at(status, scope->env->text, ast->range, false);
}

/* A name is first that of a column of the rows that are counted, even where a variable has it, too. */
static const nl_column *column_of(const nl_ast_expr *ast, const nl_logical *child)
{
    if (ast->kind != NL_AST_EXPR_COLUMN || ast->column.count != 1) return NULL;
    for (uint32_t i = 0; i < child->column_count; i++)
        if (nl_str_equal_nocase(child->columns[i].name, ast->column.parts[0].text)) return &child->columns[i];
    return NULL;
}

static nl_status limit_value(nl_scope *scope, const char *name, const nl_ast_expr *ast, const nl_logical *child, int64_t *number)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *expr = NULL;
    const nl_value *value = NULL;
    const nl_column *column = column_of(ast, child);
    if (!column) NL_TRY(nl_resolve_expr(scope, ast, &expr));
    const nl_str shown = column ? nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(column->name)) : nl_quote_expr(arena, expr);
    if (column || !nl_expr_is_constant(expr))
        return at(scope, NL_RAISE(INVALID_LIMIT_LIKE_EXPRESSION__IS_UNFOLDABLE, NL_P("name", name), NL_P_STR("expr", shown)), ast);
    if (!nl_type_is_integral(expr->type) || expr->type->id == NL_TYPE_BIGINT)
        return at(scope, NL_RAISE(INVALID_LIMIT_LIKE_EXPRESSION__DATA_TYPE, NL_P("name", name), NL_P_STR("expr", shown),
                        NL_P_STR("dataType", nl_quote_type(arena, expr->type))), ast);
    NL_TRY(nl_fold(scope, expr, &value));
    if (!value || value->is_null)
        return at(scope, NL_RAISE(INVALID_LIMIT_LIKE_EXPRESSION__IS_NULL, NL_P("name", name), NL_P_STR("expr", shown)), ast);
    if (value->integer < 0)
        return at(scope, NL_RAISE(INVALID_LIMIT_LIKE_EXPRESSION__IS_NEGATIVE, NL_P("name", name), NL_P_STR("expr", shown),
                        NL_P_INT("v", value->integer)), ast);
    *number = value->integer;
    return NULL;
}

nl_status nl_apply_limit(nl_scope *scope, const nl_ast_organization *organization, const nl_logical *child, const nl_logical **plan)
{
    *plan = child;
    int64_t limit = -1;
    int64_t offset = 0;
    const nl_clause before = scope->clause;
    scope->clause = NL_CLAUSE_LIMIT;
    if (organization->limit && !organization->is_limit_all) NL_TRY(limit_value(scope, "limit", organization->limit, child, &limit));
    if (organization->offset) NL_TRY(limit_value(scope, "offset", organization->offset, child, &offset));
    scope->clause = before;
    if (limit >= 0 || offset > 0) *plan = nl_logical_limit(nl_scope_arena(scope), child, limit, offset);
    return NULL;
}

nl_status nl_apply_organization(nl_scope *scope, const nl_ast_organization *organization, const nl_logical *child, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_sort_items *items = organization->order_by.count ? &organization->order_by : &organization->sort_by;
    const nl_column_set output = {child->columns, child->column_count};
    const nl_clause before = scope->clause;
    scope->clause = NL_CLAUSE_ORDER_BY;
    if (items->count) {
        nl_sort_key *keys = NULL;
        uint32_t count = 0;
        NL_TRY(nl_resolve_order_by(scope, items, output, &keys, &count));
        child = nl_logical_sort(arena, child, keys, count, organization->order_by.count != 0);
    } else if (organization->cluster_by.count) {
        const nl_expr *const *exprs = NULL;
        NL_TRY(nl_resolve_exprs(scope, &organization->cluster_by, &exprs));
        nl_sort_key *keys = NL_NEW_ARRAY(arena, nl_sort_key, organization->cluster_by.count + 1);
        for (uint32_t i = 0; i < organization->cluster_by.count; i++) keys[i] = (nl_sort_key){.expr = exprs[i], .nulls_first = true};
        child = nl_logical_sort(arena, child, keys, organization->cluster_by.count, false);
    }
    const nl_expr *const *distribution = NULL;
    NL_TRY(nl_resolve_exprs(scope, &organization->distribute_by, &distribution));
    scope->clause = before;
    return nl_apply_limit(scope, organization, child, plan);
}
