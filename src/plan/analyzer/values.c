/* VALUES: rows of expressions, each column of the rows' common type. */
#include "plan/analyzer/analyzer.h"

/* A row's cells: (a, b), STRUCT(a, b) the same, or one value, which may be a struct. */
static nl_status resolve_row(nl_scope *scope, const nl_ast_expr *ast, const nl_expr *const **cells, uint32_t *count)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (ast->kind == NL_AST_EXPR_ROW) {
        *count = ast->row.count;
        return nl_resolve_exprs(scope, &ast->row, cells);
    }
    const nl_expr *value = NULL;
    NL_TRY(nl_resolve_expr(scope, ast, &value));
    const nl_expr **list;
    const bool is_opened = ast->kind == NL_AST_EXPR_CALL && ast->call.form == NL_AST_CALL_STRUCT;
    if (!is_opened) {
        list = NL_NEW_ARRAY(arena, const nl_expr *, 1);
        list[0] = value;
        *count = 1;
    } else {
        *count = value->type->child_count;
        list = NL_NEW_ARRAY(arena, const nl_expr *, *count + 1);
        for (uint32_t i = 0; i < *count; i++) list[i] = nl_expr_field(arena, value, i);
    }
    *cells = list;
    return NULL;
}

/* What fails fails now. */
static nl_status evaluate_cell(nl_scope *scope, const nl_expr *cell)
{
    const nl_value *value = NULL;
    if (!nl_expr_can_fail(cell)) return NULL;
    const nl_status failure = nl_fold(scope, cell, &value);
    if (!failure) return NULL;
    const nl_status status = NL_RAISE(INVALID_INLINE_TABLE__FAILED_SQL_EXPRESSION_EVALUATION, NL_P_STR("sqlExpr", nl_quote_expr(nl_scope_arena(scope), cell)));
    nl_error_free(failure);
    return status;
}

/* A cell is a constant, or Spark says which it cannot evaluate; scalar subqueries it refuses by their kind. */
static nl_status check_cell(nl_scope *scope, const nl_expr *cell)
{
    if (nl_expr_has(cell, NL_EXPR_SUBQUERY)) return NL_RAISE(UNSUPPORTED_SUBQUERY_EXPRESSION_CATEGORY__SCALAR_SUBQUERY_IN_VALUES);
    if (nl_expr_is_constant(cell)) return evaluate_cell(scope, cell);
    const nl_status status =
        NL_RAISE(INVALID_INLINE_TABLE__CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE, NL_P_STR("expr", nl_quote_expr(nl_scope_arena(scope), cell)));
    return nl_sql_at(status, scope->env->text, nl_place_of(scope->env->text, cell->span), false);
}

static nl_status column_type(nl_scope *scope, const nl_ast_relation *relation, const nl_expr *const *const *rows, uint32_t column,
                             const nl_type **type, bool *is_nullable)
{
    nl_arena *arena = nl_scope_arena(scope);
    const uint32_t row_count = relation->rows.count;
    *type = rows[0][column]->type;
    for (uint32_t r = 0; r < row_count; r++) {
        *is_nullable = *is_nullable || rows[r][column]->is_nullable;
        *type = nl_common_type_plain(scope, *type, rows[r][column]->type);
        if (*type) continue;
        const bool is_named = column < relation->alias.columns.count;
        const nl_str name = is_named ? nl_quote_name(arena, relation->alias.columns.items[column].text) : nl_arena_f(arena, "`col%u`", column + 1);
        return NL_RAISE(INVALID_INLINE_TABLE__INCOMPATIBLE_TYPES_IN_INLINE_TABLE, NL_P_STR("colName", name));
    }
    return NULL;
}

static nl_status analyze_values(nl_scope *scope, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const uint32_t row_count = relation->rows.count;
    const nl_expr *const **rows = NL_NEW_ARRAY(arena, const nl_expr *const *, row_count + 1);
    uint32_t width = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        uint32_t count = 0;
        NL_TRY(resolve_row(scope, relation->rows.items[r], &rows[r], &count));
        if (r == 0) width = count;
        for (uint32_t c = 0; c < count; c++) NL_TRY(check_cell(scope, rows[r][c]));
        const uint32_t expected = relation->alias.columns.count ? relation->alias.columns.count : width;
        if (count != expected)
            return NL_RAISE(INVALID_INLINE_TABLE__NUM_COLUMNS_MISMATCH, NL_P_INT("expectedNumCols", expected),
                            NL_P_INT("actualNumCols", count), NL_P_INT("rowIndex", r));
        NL_TRY(nl_arena_check(arena));
    }
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, width + 1);
    for (uint32_t c = 0; c < width; c++) {
        columns[c].id = nl_plan_new_id(scope->env->context);
        columns[c].name = nl_scope_confs(scope)->is_trino ? nl_arena_f(arena, "_col%u", c) : nl_arena_f(arena, "col%u", c + 1);
        NL_TRY(column_type(scope, relation, rows, c, &columns[c].type, &columns[c].is_nullable));
    }
    for (uint32_t r = 0; r < row_count; r++) {
        const nl_expr **cells = NL_NEW_ARRAY(arena, const nl_expr *, width + 1);
        for (uint32_t c = 0; c < width; c++) cells[c] = nl_cast_constant(scope, rows[r][c], columns[c].type);
        rows[r] = cells;
    }
    nl_logical *values = nl_logical_new(arena, NL_PLAN_VALUES, NULL, 0);
    values->columns = columns;
    values->column_count = width;
    values->values.rows = rows;
    values->values.row_count = row_count;
    values->span = nl_span_of(relation->range);
    *plan = values;
    return NULL;
}

nl_status nl_analyze_values(nl_env *env, nl_scope *outer, const nl_ast_relation *relation, const nl_logical **plan)
{
    nl_scope scope = {.env = env, .outer = outer, .clause = NL_CLAUSE_VALUES};
    return nl_sql_at(analyze_values(&scope, relation, plan), env->text, relation->range, false);
}
