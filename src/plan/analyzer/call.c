/* Function calls: scalar, aggregate, window and special ones, and the forms that SQL writes with words inside. */
#include "plan/analyzer/analyzer.h"

#include "function/java_class.h"
#include "function/signature.h"

typedef struct call {
    nl_scope *scope;
    const nl_ast_expr *ast;
    nl_str name;
    const nl_str *parts;
    uint32_t part_count;
    const nl_function_row *row; /* the name's first row, or NULL */
    nl_sql_function sql;        /* when there is no row */
    const nl_expr *made;        /* a call of another kind, complete */
    const nl_expr **args;
    uint32_t arg_count;
    bool ignore_nulls;
    bool is_distinct;
    const nl_expr *filter;
    const nl_sort_key *within_group;
    uint32_t within_group_count;
} call;

/* ---- names ---- */

static nl_status function_name(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_str *parts = NULL;
    uint32_t count = 0;
    NL_TRY(nl_name_parts(c->scope, &c->ast->call.name, &parts, &count));
    if (count == 0) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a call without a name"));
    c->name = parts[count - 1];
    const bool is_builtin = count == 1 || nl_str_is_nocase(parts[count - 2], "builtin") || nl_str_is_nocase(parts[count - 2], "session");
    const nl_function_row *const *rows = NULL;
    if (is_builtin && nl_function_find(c->name, &rows)) c->row = rows[0];
    c->parts = parts;
    c->part_count = count;
    if (!c->row) NL_TRY(nl_find_sql_function(c->scope, parts, count, &c->sql));
    if (is_builtin || c->sql.function || c->sql.python) return NULL;
    NL_TRY(nl_resolve_iceberg_call(c->scope, c->ast, parts, count, &c->made));
    if (c->made) return NULL;
    return nl_raise_unknown_name(c->scope, nl_quote_names(arena, parts, count));
}

/* ---- arguments ---- */

/* The number of variables of the lambda that the function takes at a place (the fewest); 0: it takes none there. */
static nl_status lambda_variables(const call *c, uint32_t position, uint32_t *variable_count)
{
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(c->name, &rows);
    *variable_count = 0;
    for (uint32_t r = 0; r < row_count; r++) {
        nl_signature signature;
        NL_TRY(nl_signature_parse(nl_scope_arena(c->scope), rows[r], &signature));
        for (uint32_t a = 0; a < signature.count; a++) {
            if (!nl_alternative_takes(&signature.alternatives[a], c->arg_count) || signature.alternatives[a].argument_count == 0) continue;
            const nl_pattern *pattern = nl_alternative_argument(&signature.alternatives[a], position);
            const bool is_fewer = *variable_count == 0 || pattern->child_count < *variable_count;
            if (pattern->kind == NL_PATTERN_LAMBDA && is_fewer) *variable_count = pattern->child_count;
        }
    }
    return NULL;
}

/* The number of arguments is looked at first. */
static nl_status raise_no_lambda(const call *c, nl_bind *bind, const nl_function_row *const *rows, uint32_t row_count)
{
    bool takes_count = false;
    for (uint32_t r = 0; r < row_count; r++) {
        nl_signature signature;
        NL_TRY(nl_signature_parse(bind->arena, rows[r], &signature));
        for (uint32_t a = 0; a < signature.count; a++) takes_count = takes_count || nl_alternative_takes(&signature.alternatives[a], c->arg_count);
    }
    if (!takes_count) return nl_function_bind(bind, rows, row_count, &(const nl_bound_function *){0});
    const nl_str class = nl_java_class_called(nl_scope_arena(c->scope), c->name);
    return NL_RAISE(INVALID_LAMBDA_FUNCTION_CALL__NON_HIGHER_ORDER_FUNCTION, NL_P_STR("class", class));
}

/* transform(a, 0): what is no lambda where the function takes one is the body of a lambda that looks at no element. */
static nl_status constant_lambda(call *c, uint32_t position, uint32_t variable_count)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_expr *body = c->args[position];
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(c->name, &rows);
    const nl_type **given = NL_NEW_ARRAY(arena, const nl_type *, c->arg_count + 1);
    const nl_value **constants = NL_NEW_ARRAY(arena, const nl_value *, c->arg_count + 1);
    for (uint32_t i = 0; i < c->arg_count; i++) given[i] = i == position || !c->args[i] ? NULL : c->args[i]->type;
    nl_bind bind = {.row = rows[0], .arena = arena, .confs = nl_scope_confs(c->scope), .name = c->name,
                    .argument_count = c->arg_count, .argument_types = given, .constants = constants};
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, variable_count + 1);
    nl_column_id *ids = NL_NEW_ARRAY(arena, nl_column_id, variable_count + 1);
    NL_TRY(nl_function_lambda_types(&bind, rows, row_count, position, variable_count, types));
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, variable_count + 1);
    parts[0] = nl_expr_pretty(arena, body);
    for (uint32_t i = 0; i < variable_count; i++) {
        ids[i] = nl_plan_new_id(c->scope->env->context);
        parts[i + 1] = nl_pretty_text(arena, NL_STR("namedlambdavariable()"));
    }
    nl_expr *lambda = nl_expr_new(arena, NL_EXPR_LAMBDA, body->type, &body, 1);
    lambda->parameters = ids;
    lambda->parameter_types = types;
    lambda->parameter_count = variable_count;
    lambda->pretty = nl_pretty_parts(arena, nl_call_format(arena, NL_STR("lambdafunction"), variable_count + 1), parts, variable_count + 1);
    c->args[position] = lambda;
    return NULL;
}

static nl_status constant_lambdas(call *c)
{
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(c->name, &rows);
    bool takes_lambda = false; /* few do */
    for (uint32_t r = 0; r < row_count; r++) takes_lambda = takes_lambda || strstr(rows[r]->signature, "lambda");
    if (!takes_lambda) return NULL;
    for (uint32_t i = 0; i < c->arg_count; i++) {
        uint32_t variable_count = 0;
        if (!c->args[i] || c->args[i]->kind == NL_EXPR_LAMBDA) continue;
        NL_TRY(lambda_variables(c, i, &variable_count));
        if (variable_count > 0) NL_TRY(constant_lambda(c, i, variable_count));
    }
    return NULL;
}

static nl_status resolve_lambda(call *c, const nl_ast_expr *ast, uint32_t position, const nl_expr **result)
{
    nl_scope *scope = c->scope;
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_idents *names = &ast->lambda.parameters;
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(c->name, &rows);
    const nl_type **given = NL_NEW_ARRAY(arena, const nl_type *, c->arg_count + 1);
    const nl_value **constants = NL_NEW_ARRAY(arena, const nl_value *, c->arg_count + 1);
    for (uint32_t i = 0; i < c->arg_count; i++) given[i] = c->args[i] ? c->args[i]->type : NULL;
    nl_bind bind = {.row = rows[0], .arena = arena, .confs = nl_scope_confs(scope), .name = c->name,
                    .argument_count = c->arg_count, .argument_types = given, .constants = constants};
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, names->count + 1);
    uint32_t variable_count = 0;
    NL_TRY(lambda_variables(c, position, &variable_count));
    if (variable_count == 0) return raise_no_lambda(c, &bind, rows, row_count);
    NL_TRY(nl_function_lambda_types(&bind, rows, row_count, position, names->count, types));
    nl_column_id *ids = NL_NEW_ARRAY(arena, nl_column_id, names->count + 1);
    bool *nullable = NL_NEW_ARRAY(arena, bool, names->count + 1);
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, names->count + 1);
    for (uint32_t i = 0; i < names->count; i++) {
        ids[i] = nl_plan_new_id(scope->env->context);
        nullable[i] = true;
        parts[i + 1] = nl_pretty_text(arena, NL_STR("namedlambdavariable()"));
    }
    const nl_lambda_frame frame = {.outer = scope->lambda, .names = names, .ids = ids, .types = types, .nullable = nullable};
    scope->lambda = &frame;
    const nl_expr *body = NULL;
    nl_status status = nl_resolve_expr(scope, ast->lambda.body, &body);
    scope->lambda = frame.outer;
    NL_TRY(status);
    nl_expr *lambda = nl_expr_new(arena, NL_EXPR_LAMBDA, body->type, &body, 1);
    lambda->parameters = ids;
    lambda->parameter_types = types;
    lambda->parameter_count = names->count;
    parts[0] = nl_expr_pretty(arena, body);
    lambda->pretty = nl_pretty_parts(arena, nl_call_format(arena, NL_STR("lambdafunction"), names->count + 1), parts, names->count + 1);
    *result = lambda;
    return NULL;
}

static bool has_lambda(const nl_ast_call *written)
{
    for (uint32_t i = 0; i < written->args.count; i++)
        if (written->args.items[i].value->kind == NL_AST_EXPR_LAMBDA) return true;
    return false;
}

static nl_status lambda_arguments(call *c)
{
    const nl_ast_call *written = &c->ast->call;
    nl_arena *arena = nl_scope_arena(c->scope);
    c->arg_count = written->args.count;
    c->args = NL_NEW_ARRAY(arena, const nl_expr *, c->arg_count + 1);
    for (uint32_t i = 0; i < c->arg_count; i++)
        if (written->args.items[i].value->kind != NL_AST_EXPR_LAMBDA)
            NL_TRY(nl_resolve_expr(c->scope, written->args.items[i].value, &c->args[i]));
    for (uint32_t i = 0; i < c->arg_count; i++)
        if (written->args.items[i].value->kind == NL_AST_EXPR_LAMBDA)
            NL_TRY(resolve_lambda(c, written->args.items[i].value, i, &c->args[i]));
    return NULL;
}

static bool is_count_star(const call *c)
{
    const nl_ast_call *written = &c->ast->call;
    return nl_str_is_nocase(c->name, "count") && written->args.count == 1 && !written->is_distinct &&
           written->args.items[0].value->kind == NL_AST_EXPR_STAR &&
           !(written->args.items[0].value->star.qualifier.count && nl_scope_confs(c->scope)->counts_star);
}

/* Arguments in order; stars stand for their columns. */
static nl_status plain_arguments(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    nl_ast_arguments written;
    nl_list list = {0};
    NL_TRY(nl_positional_arguments(c->scope, c->name, &c->ast->call.args, &written));
    for (uint32_t i = 0; i < written.count; i++) {
        const nl_ast_argument *argument = &written.items[i];
        if (argument->value->kind == NL_AST_EXPR_STAR) {
            nl_items items = {0};
            NL_TRY(nl_expand_star(c->scope, argument->value, &items));
            for (uint32_t k = 0; k < items.count; k++) nl_list_add(arena, &list, NL_UNCONST(items.list[k].expr));
            continue;
        }
        const nl_expr *arg = NULL;
        NL_TRY(nl_resolve_expr(c->scope, argument->value, &arg));
        nl_list_add(arena, &list, NL_UNCONST(arg));
    }
    c->args = (const nl_expr **)(void *)list.items;
    c->arg_count = list.count;
    return NULL;
}

static nl_status count_star(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_ast_expr *star = c->ast->call.args.items[0].value;
    if (star->star.qualifier.count) {
        const nl_str *parts = NULL;
        uint32_t count = 0;
        NL_TRY(nl_name_parts(c->scope, &star->star.qualifier, &parts, &count));
        return NL_RAISE(_LEGACY_ERROR_TEMP_1021, NL_P_STR("targetString", nl_join_texts(arena, parts, count, ".")));
    }
    const nl_value one = nl_value_int(nl_type_int(), 1);
    c->args = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    c->args[0] = nl_expr_literal(arena, &one);
    c->arg_count = 1;
    return NULL;
}

/* count(), which spark.sql.legacy.allowParameterlessCount lets stand: it counts nothing. */
static bool is_empty_count(const call *c)
{
    return nl_str_is_nocase(c->name, "count") && c->ast->call.args.count == 0 && nl_env_is_set(c->scope->env, "spark.sql.legacy.allowParameterlessCount", "true");
}

static nl_status count_nothing(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_value nothing = nl_value_null(nl_type_int());
    c->args = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    c->args[0] = nl_expr_with_pretty(arena, nl_expr_literal(arena, &nothing), nl_pretty_text(arena, NL_STR("")));
    c->arg_count = 1;
    return NULL;
}

static nl_status arguments(call *c)
{
    if (is_count_star(c)) return count_star(c);
    if (is_empty_count(c)) return count_nothing(c);
    if (has_lambda(&c->ast->call)) NL_TRY(lambda_arguments(c));
    else NL_TRY(plain_arguments(c));
    return constant_lambdas(c);
}

/* ---- forms ---- */

/* The function to call, and its arguments in that function's order. */
static void apply_form(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    switch (c->ast->call.form) {
    case NL_AST_CALL_TIMESTAMPADD:
        c->name = NL_STR("timestampadd");
        return;
    case NL_AST_CALL_TIMESTAMPDIFF:
        c->name = NL_STR("timestampdiff");
        return;
    case NL_AST_CALL_POSITION:
        c->name = NL_STR("locate");
        return;
    case NL_AST_CALL_TRIM_BOTH:
    case NL_AST_CALL_TRIM_LEADING:
    case NL_AST_CALL_TRIM_TRAILING:
        if (c->arg_count == 2) {
            const nl_expr **swapped = NL_NEW_ARRAY(arena, const nl_expr *, 2);
            swapped[0] = c->args[1];
            swapped[1] = c->args[0];
            c->args = swapped;
        }
        return;
    case NL_AST_CALL_PLAIN:
    case NL_AST_CALL_EXTRACT:
    case NL_AST_CALL_STRUCT:
    case NL_AST_CALL_FIRST:
    case NL_AST_CALL_SUBSTRING:
    case NL_AST_CALL_OVERLAY:
    case NL_AST_CALL_DATAFRAME:
        return;
    }
}

/* first(a, true) is first(a) IGNORE NULLS. */
static nl_status take_null_treatment(call *c)
{
    static const struct {
        const char *name, *shown;
    } names[] = {{"first", "first"}, {"last", "last"}, {"any_value", "any_value"}, {"first_value", "first"}, {"last_value", "last"}};
    c->ignore_nulls = c->ast->call.nulls == NL_AST_NULLS_IGNORE;
    if (c->arg_count == 3 && nl_str_is_nocase(c->name, "nth_value")) { /* as PySpark calls it */
        const nl_expr *flag = c->args[2];
        if (flag->kind != NL_EXPR_LITERAL || flag->type->id != NL_TYPE_BOOLEAN || flag->value.is_null)
            return NL_RAISE(_LEGACY_ERROR_TEMP_1210, NL_P("funcName", "nth_value"));
        c->ignore_nulls = flag->value.boolean || c->ignore_nulls;
        c->arg_count = 2;
    }
    for (size_t i = 0; c->arg_count == 2 && i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(c->name, names[i].name)) continue;
        const nl_expr *flag = c->args[1];
        if (flag->kind != NL_EXPR_LITERAL || flag->type->id != NL_TYPE_BOOLEAN || flag->value.is_null)
            return NL_RAISE(_LEGACY_ERROR_TEMP_1210, NL_P("funcName", names[i].shown));
        c->ignore_nulls = flag->value.boolean || c->ignore_nulls;
        c->arg_count = 1;
    }
    return NULL;
}

/* ---- aggregates and windows ---- */

static nl_ordered_call ordered_call(const call *c)
{
    return (nl_ordered_call){.name = c->name, .args = c->args, .arg_count = c->arg_count, .keys = c->within_group,
                             .key_count = c->within_group_count, .is_distinct = c->is_distinct};
}

static const nl_pretty *aggregate_pretty(call *c, const nl_ordered_call *ordered)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_pretty *pretty = nl_ordered_call_pretty(c->scope, ordered);
    if (c->ignore_nulls && nl_str_is_nocase(c->name, "nth_value")) pretty = nl_pretty_parts(arena, NL_STR("\1 ignore nulls"), &pretty, 1);
    if (!c->filter) return pretty;
    const nl_pretty *const parts[] = {pretty, nl_expr_pretty(arena, c->filter)};
    return nl_pretty_parts(arena, NL_STR("\1 FILTER (WHERE \1)"), parts, 2);
}

static nl_status make_aggregate(call *c, nl_expr_kind kind, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    /* IGNORE NULLS copies the expression in Spark, which forgets its alias */
    const nl_str written = c->name;
    const bool loses_alias = c->ast->call.nulls == NL_AST_NULLS_IGNORE;
    if (loses_alias && nl_str_is_nocase(written, "first_value")) c->name = NL_STR("first");
    if (loses_alias && nl_str_is_nocase(written, "last_value")) c->name = NL_STR("last");
    nl_ordered_call ordered = ordered_call(c);
    NL_TRY(nl_check_within_group(c->scope, &ordered));
    const nl_pretty *pretty = aggregate_pretty(c, &ordered);
    NL_TRY(nl_order_to_arguments(c->scope, &ordered));
    NL_TRY(nl_collate_aggregate(c->scope, &c->name, &ordered.args, &ordered.arg_count, c->is_distinct));
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, ordered.arg_count + 1);
    const nl_bind_flags flags = {.is_distinct = c->is_distinct, .ignore_nulls = c->ignore_nulls};
    NL_TRY(nl_bind_function(c->scope, c->name, ordered.args, ordered.arg_count, flags, &bound, cast));
    nl_expr *expr = nl_expr_new(arena, kind, bound->result_type, cast, ordered.arg_count);
    expr->is_nullable = bound->is_nullable;
    expr->call = bound;
    expr->is_distinct = c->is_distinct;
    expr->filter = c->filter;
    expr->pretty = pretty;
    expr->span = nl_span_of(c->ast->range);
    *result = expr;
    return NULL;
}

static bool find_aggregate(void *context, const nl_expr *expr)
{
    if (expr->kind != NL_EXPR_AGGREGATE && expr->kind != NL_EXPR_WINDOW) return true;
    *(const nl_expr **)context = expr;
    return false;
}

static nl_status filter_clause(call *c)
{
    const nl_ast_expr *filter = c->ast->call.filter;
    if (!filter) return NULL;
    nl_scope *scope = c->scope;
    nl_arena *arena = nl_scope_arena(scope);
    const nl_clause before = scope->clause;
    const uint32_t depth = scope->aggregate_depth;
    scope->clause = NL_CLAUSE_OTHER;
    scope->aggregate_depth = 0; /* an aggregate in here has a condition of its own */
    nl_status status = nl_resolve_expr(scope, filter, &c->filter);
    scope->clause = before;
    scope->aggregate_depth = depth;
    NL_TRY(status);
    const nl_str shown = nl_quote_expr(arena, c->filter);
    if (c->filter->type->id != NL_TYPE_BOOLEAN) return NL_RAISE(INVALID_AGGREGATE_FILTER__NOT_BOOLEAN, NL_P_STR("filterExpr", shown));
    const nl_expr *inside = NULL;
    nl_expr_walk(c->filter, find_aggregate, (void *)&inside);
    if (inside && inside->kind == NL_EXPR_AGGREGATE)
        return NL_RAISE(INVALID_AGGREGATE_FILTER__CONTAINS_AGGREGATE, NL_P_STR("filterExpr", shown), NL_P_STR("aggExpr", nl_quote_expr(arena, inside)));
    if (inside)
        return NL_RAISE(INVALID_AGGREGATE_FILTER__CONTAINS_WINDOW_FUNCTION, NL_P_STR("filterExpr", shown),
                        NL_P_STR("windowExpr", nl_quote_expr(arena, inside)));
    if (!nl_expr_is_deterministic(c->filter)) return NL_RAISE(INVALID_AGGREGATE_FILTER__NON_DETERMINISTIC, NL_P_STR("filterExpr", shown));
    return NULL;
}

static nl_status refuse_clause(nl_scope *scope)
{
    if (scope->clause == NL_CLAUSE_JOIN)
        return NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P("invalidExprSqls", "an aggregate function"));
    return NULL;
}

static nl_status resolve_aggregate(call *c, const nl_expr **result)
{
    nl_scope *scope = c->scope;
    const nl_ast_call *written = &c->ast->call;
    NL_TRY(refuse_clause(scope));
    if (scope->aggregate_depth) return NL_RAISE(NESTED_AGGREGATE_FUNCTION);
    scope->aggregate_depth++;
    nl_status status = arguments(c);
    if (!status) status = filter_clause(c);
    if (!status) status = nl_resolve_sort_items(scope, &written->within_group, &c->within_group);
    scope->aggregate_depth--;
    NL_TRY(status);
    c->within_group_count = written->within_group.count;
    c->is_distinct = written->is_distinct;
    apply_form(c);
    NL_TRY(nl_check_call_syntax(scope, c->name, written, true, true));
    NL_TRY(take_null_treatment(c));
    NL_TRY(make_aggregate(c, NL_EXPR_AGGREGATE, result));
    for (uint32_t i = 0; i < (*result)->child_count; i++)
        if (!nl_is_declared_deterministic((*result)->children[i]))
            return NL_RAISE(AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION, NL_P_STR("sqlExpr", nl_quote_expr(nl_scope_arena(scope), *result)));
    NL_TRY(nl_settle_outer_aggregate(scope, result));
    if (scope->misplaced_alias.length && !scope->window_depth)
        return NL_RAISE(UNSUPPORTED_FEATURE__LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC, NL_P_STR("lca", scope->misplaced_alias),
                        NL_P_STR("aggFunc", nl_quote_expr(nl_scope_arena(scope), *result)));
    return NULL;
}

/* OVER behind what is neither an aggregate nor a window function. */
static nl_status refuse_plain_over(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_expr *plain = NULL;
    if (c->row->kind == NL_FUNCTION_TABLE || nl_is_table_generator(c->name)) return nl_raise_unknown_function(c->scope, c->name);
    nl_ast_expr without = *c->ast;
    without.call.over = NULL;
    if (c->row->kind != NL_FUNCTION_GENERATOR) {
        NL_TRY(nl_resolve_expr(c->scope, &without, &plain));
        return NL_RAISE(UNSUPPORTED_EXPR_FOR_WINDOW, NL_P_STR("sqlExpr", nl_quote_expr(arena, plain)));
    }
    const nl_value one = nl_value_int(nl_type_int(), 1);
    NL_TRY(plain_arguments(c));
    plain = nl_expr_with_pretty(arena, nl_expr_literal(arena, &one), nl_pretty_call(c->scope, c->name, c->args, c->arg_count));
    return NL_RAISE(UNSUPPORTED_GENERATOR__NESTED_IN_EXPRESSIONS,
                    NL_P_STR("expression", nl_arena_f(arena, "\"" NL_STR_FMT " OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)\"",
                                                      NL_STR_ARG(nl_expr_pretty_str(arena, plain)))));
}

static nl_status resolve_over(call *c, const nl_expr **result)
{
    nl_scope *scope = c->scope;
    const nl_ast_call *written = &c->ast->call;
    nl_arena *arena = nl_scope_arena(scope);
    if (scope->clause == NL_CLAUSE_WHERE) return NL_RAISE(_LEGACY_ERROR_TEMP_1034, NL_P("clauseName", "WHERE"));
    if (scope->clause == NL_CLAUSE_HAVING) return NL_RAISE(_LEGACY_ERROR_TEMP_1034, NL_P("clauseName", "HAVING"));
    if (scope->aggregate_depth && !scope->window_depth) return NL_RAISE(_LEGACY_ERROR_TEMP_1031);
    const bool is_plain = c->row->kind != NL_FUNCTION_AGGREGATE && c->row->kind != NL_FUNCTION_WINDOW;
    if (is_plain && written->within_group.count > 0)
        return NL_RAISE(INVALID_SQL_SYNTAX__FUNCTION_WITH_UNSUPPORTED_SYNTAX, NL_P_STR("prettyName", nl_quote_name(arena, c->name)), NL_P("syntax", "WITHIN GROUP (ORDER BY ...)"));
    if (is_plain) return refuse_plain_over(c);
    if (written->filter) return NL_RAISE(_LEGACY_ERROR_TEMP_1030);
    scope->window_depth++;
    nl_status status = arguments(c);
    const nl_expr *bare = NULL;
    if (!status) status = nl_resolve_sort_items(scope, &written->within_group, &c->within_group);
    if (!status) {
        c->within_group_count = written->within_group.count;
        c->is_distinct = written->is_distinct;
        apply_form(c);
        status = nl_check_call_syntax(scope, c->name, written, false, true);
    }
    if (!status) status = take_null_treatment(c);
    if (!status) status = make_aggregate(c, NL_EXPR_WINDOW, &bare);
    if (!status) status = nl_resolve_window(scope, c->ast, bare, result);
    scope->window_depth--;
    NL_TRY(status);
    if (scope->clause == NL_CLAUSE_JOIN || scope->clause == NL_CLAUSE_GROUP_BY)
        return NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P_STR("invalidExprSqls", nl_quote_expr(arena, *result)));
    const nl_ordered_call ordered = ordered_call(c);
    NL_TRY(nl_check_window_order(scope, &ordered, (*result)->window));
    if (scope->misplaced_alias.length)
        return NL_RAISE(UNSUPPORTED_FEATURE__LATERAL_COLUMN_ALIAS_IN_WINDOW, NL_P_STR("lca", scope->misplaced_alias),
                        NL_P_STR("windowExpr", nl_quote_expr(arena, *result)));
    return NULL;
}

/* ---- grouping() and grouping_id() ---- */

static nl_status resolve_grouping(call *c, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    NL_TRY(plain_arguments(c));
    const bool is_bit = nl_str_is_nocase(c->name, "grouping");
    if (is_bit && c->arg_count != 1)
        return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P("functionName", "`grouping`"), NL_P("expectedNum", "1"),
                        NL_P_INT("actualNum", c->arg_count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
    const nl_type *type = is_bit ? nl_type_of(NL_TYPE_TINYINT) : nl_type_bigint();
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_GROUPING, type, c->args, c->arg_count);
    expr->is_nullable = false;
    expr->pretty = nl_pretty_call(c->scope, c->name, c->args, c->arg_count);
    *result = expr;
    return NULL;
}

/* ---- the rest ---- */

static nl_status raise_generator(call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    if (nl_is_table_generator(c->name)) return nl_raise_unknown_function(c->scope, c->name);
    NL_TRY(plain_arguments(c));
    const nl_value one = nl_value_int(nl_type_int(), 1);
    const nl_expr *shown = nl_expr_with_pretty(arena, nl_expr_literal(arena, &one), nl_pretty_call(c->scope, c->name, c->args, c->arg_count));
    if (c->scope->clause == NL_CLAUSE_VALUES)
        return NL_RAISE(INVALID_INLINE_TABLE__CANNOT_EVALUATE_EXPRESSION_IN_INLINE_TABLE, NL_P_STR("expr", nl_quote_expr(arena, shown)));
    if (c->scope->clause == NL_CLAUSE_SELECT)
        return NL_RAISE(UNSUPPORTED_GENERATOR__NESTED_IN_EXPRESSIONS, NL_P_STR("expression", nl_quote_expr(arena, shown)));
    return NL_RAISE(UNSUPPORTED_GENERATOR__OUTSIDE_SELECT, NL_P_STR("plan", nl_quote_expr(arena, shown)));
}

static nl_status resolve_scalar(call *c, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    NL_TRY(arguments(c));
    NL_TRY(nl_check_call_syntax(c->scope, c->name, &c->ast->call, false, false));
    apply_form(c);
    if (nl_is_time_window(c->name)) return nl_resolve_time_window(c->scope, c->name, c->args, c->arg_count, result);
    bool is_special = false;
    NL_TRY(nl_special_call(c->scope, c->name, c->args, c->arg_count, &is_special, result));
    if (is_special) return NULL;
    NL_TRY(nl_call_function(c->scope, c->name, c->args, c->arg_count, result));
    const nl_ast_call_form form = c->ast->call.form;
    const bool is_unit_form = form == NL_AST_CALL_TIMESTAMPADD || form == NL_AST_CALL_TIMESTAMPDIFF;
    if (!is_unit_form) return NULL;
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, c->arg_count + 1);
    for (uint32_t i = 0; i < c->arg_count; i++) parts[i] = nl_expr_pretty(arena, c->args[i]);
    const nl_str format = nl_call_format(arena, c->name, c->arg_count);
    *result = nl_expr_with_pretty(arena, *result, nl_pretty_parts(arena, format, parts, c->arg_count));
    return NULL;
}

nl_status nl_resolve_call(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    if (ast->call.python) return nl_resolve_python_call(scope, ast, ast->call.python, result);
    call c = {.scope = scope, .ast = ast};
    NL_TRY(function_name(&c));
    if (ast->call.form == NL_AST_CALL_STRUCT) {
        const nl_ast_expr **fields = NL_NEW_ARRAY(nl_scope_arena(scope), const nl_ast_expr *, ast->call.args.count + 1);
        for (uint32_t i = 0; i < ast->call.args.count; i++) fields[i] = ast->call.args.items[i].value;
        return nl_resolve_struct(scope, fields, ast->call.args.count, false, result);
    }
    *result = c.made;
    if (c.made) return NULL;
    if (c.sql.python) return nl_resolve_python_call(scope, ast, c.sql.python, result);
    if (c.sql.function) return nl_resolve_sql_call(scope, ast, &c.sql, c.parts, c.part_count, result);
    /* rows that only the analyzer calls are no functions of SQL */
    const bool is_trinos = c.row && nl_scope_confs(scope)->is_trino && nl_str_starts(nl_str_from(c.row->name), NL_STR("trino_"));
    const bool is_unknown = !c.row || (c.row->is_internal && ast->call.form == NL_AST_CALL_PLAIN && !is_trinos);
    if (!c.row && nl_is_missing_function(c.name)) {
        NL_TRY(plain_arguments(&c));
        return nl_raise_missing_function(scope, c.name, c.args, c.arg_count);
    }
    if (is_unknown) return nl_raise_unknown_function(scope, c.name);
    if (ast->call.over) return resolve_over(&c, result);
    if (nl_str_is_nocase(c.name, "grouping") || nl_str_is_nocase(c.name, "grouping_id")) return resolve_grouping(&c, result);
    if (c.row && c.row->kind == NL_FUNCTION_AGGREGATE) return resolve_aggregate(&c, result);
    if (c.row && c.row->kind == NL_FUNCTION_GENERATOR) return raise_generator(&c);
    if (c.row && c.row->kind == NL_FUNCTION_WINDOW) {
        nl_arena *arena = nl_scope_arena(scope);
        NL_TRY(plain_arguments(&c));
        const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, c.arg_count + 1);
        const bool is_offset = nl_str_is_nocase(c.name, "lag") || nl_str_is_nocase(c.name, "lead"); /* whose arguments Spark looks at later */
        if (!is_offset)
            NL_TRY(nl_bind_function(scope, c.name, c.args, c.arg_count, (nl_bind_flags){0}, &(const nl_bound_function *){0}, cast));
        const nl_ordered_call plain = ordered_call(&c);
        const nl_str shown = nl_expr_pretty_str(arena, nl_expr_with_pretty(arena, nl_expr_boolean(arena, true), nl_ordered_call_pretty(scope, &plain)));
        return NL_RAISE(WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE, NL_P_STR("funcName", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(shown))));
    }
    return resolve_scalar(&c, result);
}
