/* Subqueries as expressions: (SELECT …), EXISTS, IN (SELECT …). */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

typedef struct outer_collector {
    nl_arena *arena;
    nl_list *found; /* const nl_expr * */
    bool has_each;  /* every mention, not one per column */
} outer_collector;

static bool collect_outer(void *context, const nl_expr *expr)
{
    outer_collector *c = context;
    if (expr->kind == NL_EXPR_SUBQUERY) return true;
    if (expr->kind != NL_EXPR_OUTER) return true;
    for (uint32_t i = 0; i < c->found->count && !c->has_each; i++)
        if (((const nl_expr *)c->found->items[i])->column == expr->column) return true;
    nl_list_add(c->arena, c->found, NL_UNCONST(expr));
    return true;
}

static bool collect_in_expr(void *context, const nl_expr *expr)
{
    return nl_expr_walk(expr, collect_outer, context);
}

static void collect_in_plan(outer_collector *c, const nl_logical *plan)
{
    nl_logical_walk_exprs(plan, collect_in_expr, c);
    if (plan->kind == NL_PLAN_CTE && plan->cte.definition) collect_in_plan(c, plan->cte.definition);
    for (uint32_t i = 0; i < plan->child_count; i++) collect_in_plan(c, plan->children[i]);
}

void nl_plan_outer_columns(nl_arena *arena, const nl_logical *plan, nl_list *found)
{
    outer_collector c = {.arena = arena, .found = found};
    collect_in_plan(&c, plan);
}

static const nl_pretty *subquery_pretty(nl_arena *arena, const char *name, const nl_logical *plan)
{
    nl_list outer = {0};
    outer_collector collector = {.arena = arena, .found = &outer, .has_each = true};
    collect_in_plan(&collector, plan);
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, outer.count + 1);
    for (uint32_t i = 0; i < outer.count; i++) parts[i] = nl_pretty_text(arena, ((const nl_expr *)outer.items[i])->name);
    return nl_pretty_parts(arena, nl_call_format(arena, nl_str_from(name), outer.count), parts, outer.count);
}

static nl_status subquery_plan(nl_scope *scope, const nl_ast_query *query, const nl_logical **plan)
{
    nl_env env = *scope->env;
    env.is_definition = env.is_foreign = true;
    return nl_analyze_query_in(&env, scope, query, plan);
}

static uint32_t visible_count(const nl_logical *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) count += !plan->columns[i].is_hidden;
    return count;
}

static nl_status resolve_scalar(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_logical *plan = NULL;
    NL_TRY(subquery_plan(scope, ast->query, &plan));
    if (visible_count(plan) != 1)
        return NL_RAISE(INVALID_SUBQUERY_EXPRESSION__SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN,
                        NL_P_INT("number", visible_count(plan)));
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_SUBQUERY, plan->columns[0].type, NULL, 0);
    expr->is_nullable = true;
    expr->subquery_kind = NL_SUBQUERY_SCALAR;
    expr->plan = plan;
    expr->pretty = subquery_pretty(arena, "scalarsubquery", plan);
    *result = expr;
    return NULL;
}

static nl_status resolve_exists(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_logical *plan = NULL;
    NL_TRY(subquery_plan(scope, ast->query, &plan));
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_SUBQUERY, nl_type_boolean(), NULL, 0);
    expr->is_nullable = false;
    expr->subquery_kind = NL_SUBQUERY_EXISTS;
    expr->plan = plan;
    expr->pretty = subquery_pretty(arena, "exists", plan);
    *result = expr;
    return NULL;
}

static nl_status raise_lengths(nl_scope *scope, const nl_expr *shown, const nl_expr *const *left, uint32_t left_count,
                               const nl_logical *plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *lefts = NL_NEW_ARRAY(arena, nl_str, left_count + 1);
    nl_str *rights = NL_NEW_ARRAY(arena, nl_str, plan->column_count + 1);
    for (uint32_t i = 0; i < left_count; i++) lefts[i] = nl_quote_expr(arena, left[i]);
    for (uint32_t i = 0; i < plan->column_count; i++)
        rights[i] = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(plan->columns[i].name));
    return NL_RAISE(DATATYPE_MISMATCH__IN_SUBQUERY_LENGTH_MISMATCH, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P_INT("leftLength", left_count), NL_P_INT("rightLength", plan->column_count),
                    NL_P_STR("leftColumns", nl_join_texts(arena, lefts, left_count, ", ")),
                    NL_P_STR("rightColumns", nl_join_texts(arena, rights, plan->column_count, ", ")));
}

static nl_status raise_types(nl_scope *scope, const nl_expr *shown, const nl_expr *left, const nl_column *right)
{
    nl_arena *arena = nl_scope_arena(scope);
    return NL_RAISE(DATATYPE_MISMATCH__IN_SUBQUERY_DATA_TYPE_MISMATCH, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)),
                    NL_P_STR("mismatchedColumns", nl_arena_f(arena, "(`%s`:%s, `%s`:%s)", nl_str_c(arena, nl_expr_pretty_str(arena, left)),
                                                             nl_str_c(arena, nl_type_sql(arena, left->type)), nl_str_c(arena, right->name),
                                                             nl_str_c(arena, nl_type_sql(arena, right->type)))),
                    NL_P_STR("leftType", nl_quote_type(arena, left->type)), NL_P_STR("rightType", nl_quote_type(arena, right->type)));
}

/* Both sides brought to their common types: the left by casts, the right by a projection. */
static nl_status unify_sides(nl_scope *scope, const nl_expr *shown, const nl_expr **left, uint32_t count, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_column *right = &(*plan)->columns[i];
        types[i] = nl_common_type(arena, left[i]->type, right->type, nl_confs_rules(nl_scope_confs(scope)));
        if (!types[i]) return raise_types(scope, shown, left[i], right);
        left[i] = nl_expr_cast(arena, left[i], types[i], nl_scope_cast_mode(scope));
    }
    return nl_cast_columns(scope->env, *plan, types, plan);
}

/* NULL IN (nothing): without ANSI a constant NULL stays NULL, as it did before Spark 4; columns of NULL never did. */
static nl_status keeps_null(nl_scope *scope, const nl_expr *left, bool *is_null)
{
    static const char key[] = "spark.sql.legacy.nullInEmptyListBehavior";
    const bool is_legacy = nl_env_is_set(scope->env, key, "true") || (!nl_scope_confs(scope)->is_ansi && !nl_env_is_set(scope->env, key, "false"));
    const nl_value *value = NULL;
    *is_null = false;
    if (!is_legacy || nl_scope_confs(scope)->is_trino) return NULL;
    NL_TRY(nl_fold(scope, left, &value));
    *is_null = value && value->is_null;
    return NULL;
}

static nl_status resolve_in(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_logical *plan = NULL;
    const nl_ast_expr *input = ast->in.input;
    const bool is_row = input->kind == NL_AST_EXPR_ROW && input->row.count > 1;
    const uint32_t count = is_row ? input->row.count : 1;
    const nl_expr **left = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    const nl_pretty *left_pretty = NULL;
    if (is_row) {
        const nl_expr *const *cells = NULL;
        NL_TRY(nl_resolve_row(scope, &input->row, &cells, &left_pretty));
        memcpy(left, cells, count * sizeof *left);
    } else {
        NL_TRY(nl_resolve_expr(scope, input, &left[0]));
        left_pretty = nl_expr_pretty(arena, left[0]);
    }
    NL_TRY(subquery_plan(scope, ast->in.query, &plan));
    const nl_pretty *const parts[] = {left_pretty, subquery_pretty(arena, "listquery", plan)};
    const nl_pretty *pretty = nl_pretty_parts(arena, NL_STR("(\1 IN (\1))"), parts, 2);
    const nl_expr *shown = nl_expr_with_pretty(arena, left[0], pretty);
    if (plan->column_count != count) return raise_lengths(scope, shown, left, count, plan);
    NL_TRY(unify_sides(scope, shown, left, count, &plan));
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_SUBQUERY, nl_type_boolean(), left, count);
    for (uint32_t i = 0; i < count; i++) expr->is_nullable = expr->is_nullable || plan->columns[i].is_nullable;
    expr->subquery_kind = NL_SUBQUERY_IN;
    expr->plan = plan;
    expr->pretty = pretty;
    expr->is_negated = ast->is_negated;
    if (ast->is_negated) {
        const nl_pretty *const inner[] = {pretty};
        expr->pretty = nl_pretty_parts(arena, NL_STR("(NOT \1)"), inner, 1);
    }
    *result = expr;
    bool is_null = false;
    if (count == 1) NL_TRY(keeps_null(scope, left[0], &is_null));
    if (!is_null) return NULL;
    const nl_value nothing = nl_value_null(nl_type_boolean());
    *result = nl_expr_with_pretty(arena, nl_expr_literal(arena, &nothing), expr->pretty);
    return NULL;
}

nl_status nl_resolve_subquery(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    if (scope->lambda) return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__HIGHER_ORDER_FUNCTION);
    if (ast->kind == NL_AST_EXPR_SUBQUERY) return resolve_scalar(scope, ast, result);
    if (ast->kind == NL_AST_EXPR_EXISTS) return resolve_exists(scope, ast, result);
    return resolve_in(scope, ast, result);
}
