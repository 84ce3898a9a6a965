/* Functions written in SQL: a call is its body with the arguments in the parameters' places. */
#include "plan/analyzer/analyzer.h"

#include "base/limits.h"

typedef struct sql_call {
    nl_scope *caller;
    const nl_ast_create_function *function;
    const nl_ast_arguments *written;
    nl_str name;     /* quoted, in full, for errors */
    nl_env env;      /* the body's: its text, its namespace */
    nl_parameters parameters;
    const nl_pretty **shown; /* the arguments as they print */
} sql_call;

/* ---- arguments ---- */

static uint32_t parameter_place(const sql_call *c, nl_str name)
{
    for (uint32_t i = 0; i < c->function->parameters.count; i++)
        if (nl_names_equal(c->caller, c->function->parameters.items[i].name.text, name)) return i;
    return UINT32_MAX;
}

static nl_status raise_unknown_name(const sql_call *c, nl_str name)
{
    nl_arena *arena = nl_scope_arena(c->caller);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, c->function->parameters.count + 1);
    for (uint32_t i = 0; i < c->function->parameters.count; i++) names[i] = nl_quote_name(arena, c->function->parameters.items[i].name.text);
    return NL_RAISE(UNRECOGNIZED_PARAMETER_NAME, NL_P_STR("routineName", c->name), NL_P_STR("argumentName", nl_quote_name(arena, name)),
                    NL_P_STR("proposal", nl_join_texts(arena, names, c->function->parameters.count, " ")));
}

/* Which argument each parameter gets; NULL: none was written. */
static nl_status place_arguments(const sql_call *c, const nl_ast_expr **placed, bool *was_positional)
{
    nl_arena *arena = nl_scope_arena(c->caller);
    nl_str last_named = {0};
    for (uint32_t i = 0; i < c->written->count; i++) {
        const nl_ast_argument *argument = &c->written->items[i];
        const bool is_named = argument->name.text.data != NULL;
        if (!is_named && last_named.data)
            return NL_RAISE(UNEXPECTED_POSITIONAL_ARGUMENT, NL_P_STR("routineName", c->name), NL_P_STR("parameterName", nl_quote_name(arena, last_named)));
        const uint32_t place = is_named ? parameter_place(c, argument->name.text) : i;
        if (is_named) last_named = argument->name.text;
        if (is_named && place == UINT32_MAX) return raise_unknown_name(c, argument->name.text);
        if (place >= c->function->parameters.count)
            return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", c->name),
                            NL_P_INT("expectedNum", c->function->parameters.count), NL_P_INT("actualNum", c->written->count),
                            NL_P("docroot", "https://spark.apache.org/docs/latest"));
        const nl_str parameter = nl_quote_name(arena, c->function->parameters.items[place].name.text);
        if (placed[place] && was_positional[place])
            return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__BOTH_POSITIONAL_AND_NAMED, NL_P_STR("routineName", c->name), NL_P_STR("parameterName", parameter));
        if (placed[place])
            return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__DOUBLE_NAMED_ARGUMENT_REFERENCE, NL_P_STR("routineName", c->name),
                            NL_P_STR("parameterName", parameter));
        placed[place] = argument->value;
        was_positional[place] = !is_named;
    }
    return NULL;
}

/* Too few, when none is given by name. */
static nl_status check_count(const sql_call *c)
{
    const nl_ast_column_definitions *parameters = &c->function->parameters;
    uint32_t required = 0;
    for (uint32_t i = 0; i < parameters->count; i++) required += parameters->items[i].default_value == NULL;
    for (uint32_t i = 0; i < c->written->count; i++)
        if (c->written->items[i].name.text.data) return NULL;
    if (c->written->count >= required) return NULL;
    return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", c->name), NL_P_INT("expectedNum", parameters->count),
                    NL_P_INT("actualNum", c->written->count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
}

/* The cast is Spark's own: where it cannot be, the argument alone is shown. */
static nl_status cast_argument(nl_scope *scope, const nl_expr *value, const nl_type *type, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_status status = nl_make_cast(scope, value, type, NL_CAST_ANSI, result);
    if (!status || nl_error_condition(status) != NL_COND_DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION) return status;
    nl_error_free(status);
    return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION, NL_P_STR("sqlExpr", nl_quote_expr(arena, value)),
                    NL_P_STR("srcType", nl_quote_type(arena, value->type)), NL_P_STR("targetType", nl_quote_type(arena, type)));
}

static nl_status resolve_arguments(sql_call *c)
{
    nl_arena *arena = nl_scope_arena(c->caller);
    const nl_ast_column_definitions *parameters = &c->function->parameters;
    const nl_ast_expr **placed = NL_NEW_ARRAY(arena, const nl_ast_expr *, parameters->count + 1);
    bool *was_positional = NL_NEW_ARRAY(arena, bool, parameters->count + 1);
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, parameters->count + 1);
    const nl_expr **values = NL_NEW_ARRAY(arena, const nl_expr *, parameters->count + 1);
    c->shown = NL_NEW_ARRAY(arena, const nl_pretty *, parameters->count + 1);
    NL_TRY(place_arguments(c, placed, was_positional));
    NL_TRY(check_count(c));
    for (uint32_t i = 0; i < parameters->count; i++) {
        const nl_ast_column_definition *parameter = &parameters->items[i];
        nl_scope own = {.env = &c->env, .clause = NL_CLAUSE_OTHER, .depth = c->caller->depth};
        nl_scope *scope = placed[i] ? c->caller : &own; /* a default belongs to the function's text */
        const nl_ast_expr *ast = placed[i] ? placed[i] : parameter->default_value;
        if (!ast)
            return NL_RAISE(REQUIRED_PARAMETER_NOT_FOUND, NL_P_STR("routineName", c->name),
                            NL_P_STR("parameterName", nl_quote_name(arena, parameter->name.text)), NL_P_INT("index", i));
        const nl_type *type = NULL;
        const nl_expr *value = NULL;
        NL_TRY(nl_ast_type_to_type(arena, parameter->type, &type));
        NL_TRY(nl_resolve_expr(scope, ast, &value));
        c->shown[i] = nl_expr_pretty(arena, value);
        NL_TRY(cast_argument(scope, value, type, &values[i]));
        names[i] = parameter->name.text;
    }
    c->parameters = (nl_parameters){.function = c->function->name.parts[c->function->name.count - 1].text, .names = names, .values = values,
                                    .count = parameters->count};
    return NULL;
}

/* ---- calls ---- */

static nl_str shown_name(const nl_sql_function *found)
{
    return found->is_temporary ? found->function->name.parts[found->function->name.count - 1].text : found->full_name;
}

static nl_str quoted_full_name(nl_arena *arena, nl_str name)
{
    nl_str quoted = {0};
    for (size_t at = 0; at <= name.length;) {
        const size_t point = nl_str_find_char(name, '.', at);
        const size_t stop = point == NL_NOT_FOUND ? name.length : point;
        quoted = nl_arena_f(arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(quoted), quoted.length ? "." : "", NL_STR_ARG(nl_str_slice(name, at, stop)));
        at = stop + 1;
    }
    return quoted;
}

/* "a -> b -> a", the outermost first. */
static nl_str path_of(nl_arena *arena, const nl_active_function *active)
{
    nl_str path = active->full_name;
    for (const nl_active_function *at = active->outer; at; at = at->outer)
        path = nl_arena_f(arena, NL_STR_FMT " -> " NL_STR_FMT, NL_STR_ARG(at->full_name), NL_STR_ARG(path));
    return path;
}

static nl_status start_call(sql_call *c, const nl_sql_function *found, const nl_str *parts, uint32_t part_count)
{
    nl_env *env = c->caller->env;
    nl_active_function *active = NL_NEW(env->context->arena, nl_active_function);
    *active = (nl_active_function){.outer = env->functions, .full_name = shown_name(found)};
    c->function = found->function;
    c->name = found->is_temporary ? nl_quote_names(env->context->arena, parts, part_count) : quoted_full_name(env->context->arena, found->full_name);
    c->env = (nl_env){.context = env->context, .text = found->text, .namespace_parts = found->namespace_parts, .namespace_count = found->namespace_count,
                      .view_depth = env->view_depth + 1, .functions = active};
    if (found->is_ansi != env->context->confs->is_ansi) {
        nl_eval_confs *confs = NL_NEW(env->context->arena, nl_eval_confs);
        *confs = *env->context->confs;
        confs->is_ansi = found->is_ansi;
        c->env.confs = confs;
    }
    bool is_cyclic = env->view_depth >= NL_VIEW_DEPTH_MAX;
    for (const nl_active_function *at = env->functions; at; at = at->outer) is_cyclic = is_cyclic || nl_str_equal_nocase(at->full_name, active->full_name);
    if (is_cyclic) return NL_RAISE(CYCLIC_FUNCTION_REFERENCE, NL_P_STR("path", path_of(env->context->arena, active)));
    return resolve_arguments(c);
}

nl_status nl_find_sql_function(nl_scope *scope, const nl_str *parts, uint32_t part_count, nl_sql_function *found)
{
    nl_plan_context *context = scope->env->context;
    *found = (nl_sql_function){0};
    if (!context->resolver || !context->resolver->find_function) return NULL;
    return context->resolver->find_function(context->resolver, parts, part_count, scope->env->namespace_parts, scope->env->namespace_count,
                                            context->arena, found);
}

/* "f(\\1, …)" of the arguments as they were written. */
static const nl_pretty *call_pretty(const sql_call *c, nl_str name)
{
    nl_arena *arena = nl_scope_arena(c->caller);
    const uint32_t count = NL_MIN(c->parameters.count, c->written->count);
    return nl_pretty_parts(arena, nl_call_format(arena, name, count), c->shown, count);
}

/* RETURN expr, and RETURN SELECT expr the same; NULL: a query with more to it. */
static const nl_ast_expr *body_expression(const nl_ast_create_function *function)
{
    if (function->body_expr) return function->body_expr;
    const nl_ast_query *query = function->body_query;
    const nl_ast_organization *last = &query->organization;
    const bool is_bare = !query->ctes.count && !last->limit && !last->offset && !last->order_by.count && query->body->kind == NL_AST_TERM_SELECT;
    const nl_ast_select *select = is_bare ? query->body->select : NULL;
    if (!select || select->from || select->where || select->group_by || select->having || select->quantifier == NL_AST_SET_DISTINCT) return NULL;
    if (select->items.count != 1 || select->items.items[0]->kind != NL_AST_EXPR_SUBQUERY) return NULL;
    return select->items.items[0];
}

nl_status nl_resolve_sql_call(nl_scope *scope, const nl_ast_expr *ast, const nl_sql_function *found, const nl_str *parts, uint32_t part_count,
                              const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    sql_call c = {.caller = scope, .written = &ast->call.args};
    if (found->function->is_table) return NL_RAISE(NOT_A_SCALAR_FUNCTION, NL_P_STR("functionName", nl_quote_names(arena, parts, part_count)));
    if (scope->clause == NL_CLAUSE_ORDER_BY || scope->clause == NL_CLAUSE_LIMIT || scope->clause == NL_CLAUSE_GENERATOR)
        return NL_RAISE(UNSUPPORTED_SQL_UDF_USAGE, NL_P_STR("functionName", found->is_temporary ? nl_quote_names(arena, parts, part_count) : quoted_full_name(arena, found->full_name)),
                        NL_P("nodeName", scope->clause == NL_CLAUSE_ORDER_BY ? "Sort" : scope->clause == NL_CLAUSE_LIMIT ? "GlobalLimit" : "Generate"));
    NL_TRY(start_call(&c, found, parts, part_count));
    nl_scope body = {.env = &c.env, .clause = NL_CLAUSE_OTHER, .parameters = &c.parameters, .depth = scope->depth};
    const nl_expr *value = NULL;
    const nl_ast_expr *body_expr = body_expression(found->function);
    if (body_expr) {
        NL_TRY(nl_resolve_expr(&body, body_expr, &value));
    } else { /* RETURN SELECT …: a scalar subquery */
        nl_ast_expr query = {.kind = NL_AST_EXPR_SUBQUERY};
        query.query = found->function->body_query;
        NL_TRY(nl_resolve_subquery(&body, &query, &value));
    }
    if (found->function->returns) {
        const nl_type *type = NULL;
        NL_TRY(nl_ast_type_to_type(arena, found->function->returns, &type));
        NL_TRY(nl_make_cast(&body, value, type, NL_CAST_ANSI, &value));
    }
    *result = nl_expr_with_pretty(arena, value, call_pretty(&c, shown_name(found)));
    return NULL;
}

/* The query's columns under the names and types of RETURNS TABLE (…). */
static nl_status shape_table(sql_call *c, const nl_logical *body, const nl_logical **plan)
{
    nl_plan_context *context = c->env.context;
    const nl_ast_fields *fields = &c->function->table_columns;
    const nl_type *row = NULL;
    *plan = body;
    if (fields->count == 0) return NULL;
    NL_TRY(nl_ast_fields_to_type(context->arena, fields, &row));
    uint32_t visible = 0;
    for (uint32_t i = 0; i < body->column_count; i++) visible += !body->columns[i].is_hidden;
    if (visible != row->child_count)
        return NL_RAISE(USER_DEFINED_FUNCTIONS__RETURN_COLUMN_COUNT_MISMATCH, NL_P_INT("outputSize", visible), NL_P_INT("returnParamSize", row->child_count),
                        NL_P_STR("name", c->name));
    nl_column *columns = NL_NEW_ARRAY(context->arena, nl_column, visible + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(context->arena, const nl_expr *, visible + 1);
    for (uint32_t i = 0, at = 0; i < body->column_count; i++) {
        if (body->columns[i].is_hidden) continue;
        nl_scope scope = {.env = &c->env, .clause = NL_CLAUSE_OTHER};
        NL_TRY(nl_make_cast(&scope, nl_column_ref(context->arena, &body->columns[i]), row->children[at].type, NL_CAST_ANSI, &exprs[at]));
        columns[at] = (nl_column){.id = nl_plan_new_id(context), .name = row->children[at].name, .type = row->children[at].type,
                                  .is_nullable = exprs[at]->is_nullable, .qualifier = &c->function->name.parts[c->function->name.count - 1].text, .qualifier_count = 1};
        at++;
    }
    *plan = nl_logical_project(context->arena, body, columns, exprs, visible);
    return NULL;
}

nl_status nl_analyze_sql_table_function(nl_scope *scope, const nl_ast_relation *relation, const nl_sql_function *found, const nl_str *parts,
                                        uint32_t part_count, const nl_logical **plan)
{
    sql_call c = {.caller = scope, .written = &relation->function.args};
    if (!found->function->is_table)
        return NL_RAISE(NOT_A_TABLE_FUNCTION, NL_P_STR("functionName", nl_quote_names(nl_scope_arena(scope), parts, part_count)));
    NL_TRY(start_call(&c, found, parts, part_count));
    c.parameters.is_relation = true;
    nl_scope around = {.env = &c.env, .clause = NL_CLAUSE_OTHER, .parameters = &c.parameters, .depth = scope->depth};
    const nl_logical *body = NULL;
    NL_TRY(nl_analyze_query_in(&c.env, &around, found->function->body_query, &body));
    return shape_table(&c, body, plan);
}

/* ---- functions being made ---- */

static nl_status check_defaults(sql_call *c)
{
    nl_arena *arena = c->env.context->arena;
    for (uint32_t i = 0; i < c->function->parameters.count; i++) {
        const nl_ast_column_definition *parameter = &c->function->parameters.items[i];
        nl_scope scope = {.env = &c->env, .clause = NL_CLAUSE_OTHER};
        const nl_type *type = NULL;
        const nl_expr *value = NULL;
        if (!parameter->default_value) continue;
        NL_TRY(nl_ast_type_to_type(arena, parameter->type, &type));
        NL_TRY(nl_resolve_expr(&scope, parameter->default_value, &value));
        if (nl_expr_has(value, NL_EXPR_SUBQUERY) || nl_expr_has(value, NL_EXPR_AGGREGATE) || nl_expr_has(value, NL_EXPR_WINDOW))
            return NL_RAISE(USER_DEFINED_FUNCTIONS__NOT_A_VALID_DEFAULT_EXPRESSION,
                            NL_P_STR("functionName", c->function->name.parts[c->function->name.count - 1].text), NL_P_STR("parameterName", parameter->name.text));
        NL_TRY(cast_argument(&scope, value, type, &value));
    }
    return NULL;
}

nl_status nl_analyze_sql_function(nl_plan_context *context, const nl_sql_function *function, const nl_column *parameters, const nl_expr **body)
{
    const nl_active_function active = {.full_name = shown_name(function)};
    sql_call c = {.function = function->function, .name = function->full_name};
    c.env = (nl_env){.context = context, .text = context->text, .view_depth = 1, .functions = &active};
    nl_scope scope = {.env = &c.env, .clause = NL_CLAUSE_OTHER, .set_count = 1};
    scope.sets[0] = (nl_column_set){parameters, function->function->parameters.count};
    *body = NULL;
    NL_TRY(check_defaults(&c));
    if (function->function->is_table) {
        const nl_logical *plan = NULL;
        NL_TRY(nl_analyze_query_in(&c.env, &scope, function->function->body_query, &plan));
        return shape_table(&c, plan, &plan);
    }
    const nl_ast_expr *body_expr = body_expression(function->function);
    if (body_expr) return nl_resolve_expr(&scope, body_expr, body);
    nl_ast_expr query = {.kind = NL_AST_EXPR_SUBQUERY};
    query.query = function->function->body_query;
    const nl_expr *value = NULL;
    return nl_resolve_subquery(&scope, &query, &value);
}

/* ---- parameters as names ---- */

static nl_status make_outer(void *context, nl_arena *arena, const nl_expr *expr, const nl_expr **result)
{
    bool *is_possible = context;
    const bool is_own = expr->kind == NL_EXPR_OUTER || expr->kind == NL_EXPR_AGGREGATE || expr->kind == NL_EXPR_WINDOW || expr->kind == NL_EXPR_SUBQUERY;
    if (is_own) *is_possible = false;
    *result = expr->kind == NL_EXPR_COLUMN ? nl_expr_outer(arena, expr) : expr;
    return NULL;
}

/* distance: queries between the name and the function's own level. A table function's body is one itself. */
static nl_status parameter_at(nl_scope *scope, const nl_parameters *parameters, uint32_t place, uint32_t distance, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *value = parameters->values[place];
    const uint32_t own = parameters->is_relation ? 1 : 0;
    if (!nl_expr_is_constant(value) && distance > own) {
        bool is_possible = distance == own + 1;
        NL_TRY(nl_expr_rewrite(arena, value, make_outer, &is_possible, &value));
        if (!is_possible)
            return NL_RAISE(UNSUPPORTED_SQL_UDF_USAGE, NL_P_STR("functionName", nl_quote_name(arena, parameters->function)), NL_P("nodeName", "a nested subquery"));
    }
    *result = nl_expr_with_pretty(arena, value, nl_pretty_text(arena, parameters->names[place]));
    return NULL;
}

nl_status nl_find_parameter(nl_scope *scope, const nl_str *parts, uint32_t part_count, uint32_t *used, const nl_expr **result)
{
    uint32_t distance = 0;
    *result = NULL;
    for (nl_scope *at = scope; at; at = at->outer, distance++) {
        const nl_parameters *parameters = at->parameters;
        if (!parameters) continue;
        for (uint32_t i = 0; i < parameters->count; i++) {
            const bool is_qualified = part_count > 1 && nl_names_equal(scope, parts[0], parameters->function) && nl_names_equal(scope, parts[1], parameters->names[i]);
            if (!is_qualified && !nl_names_equal(scope, parts[0], parameters->names[i])) continue;
            *used = is_qualified ? 2 : 1;
            return parameter_at(scope, parameters, i, distance, result);
        }
    }
    return NULL;
}
