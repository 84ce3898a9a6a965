/* Calls of functions in Python: a value per row, an aggregate, an aggregate over a window, a table. */
#include "plan/analyzer/analyzer.h"

typedef struct python_call {
    nl_scope *scope;
    const nl_ast_expr *ast; /* NULL: a table function */
    const nl_ast_arguments *written;
    const nl_python_function *function;
    const nl_expr **args;
    nl_str *names; /* data NULL: by position */
    bool has_names;
    const nl_logical *table;  /* of a table argument, sorted as it wants; or NULL */
    uint32_t partition_count; /* the last fields of its rows */
} python_call;

/* Names once, and none before a position. */
static nl_status check_names(const python_call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_ast_arguments *written = c->written;
    const nl_str routine = nl_quote_name(arena, c->function->name);
    for (uint32_t i = 0; i < written->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (!c->names[k].data) continue;
            const nl_str parameter = nl_quote_name(arena, c->names[k]);
            if (!c->names[i].data) return NL_RAISE(UNEXPECTED_POSITIONAL_ARGUMENT, NL_P_STR("routineName", routine), NL_P_STR("parameterName", parameter));
            if (nl_str_equal(c->names[i], c->names[k]))
                return NL_RAISE(DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT__DOUBLE_NAMED_ARGUMENT_REFERENCE, NL_P_STR("routineName", routine),
                                NL_P_STR("parameterName", parameter));
        }
    }
    return NULL;
}

/* ---- a table as an argument: its rows are the node's, one struct each; after its columns the values it is partitioned by */

static nl_status table_plan(python_call *c, const nl_ast_table_argument *written, const nl_logical **plan)
{
    nl_env env = *c->scope->env;
    env.pipe_input = NULL;
    if (written->query) return nl_analyze_query_in(&env, c->scope->outer, written->query, plan);
    const nl_ast_relation relation = {.kind = NL_AST_RELATION_TABLE, .table.name = written->table};
    return nl_analyze_relation(&env, c->scope->outer, &relation, plan);
}

static void add_field(nl_arena *arena, const nl_expr **args, uint32_t *count, nl_str name, const nl_expr *value)
{
    const nl_value text = nl_value_string(name);
    args[(*count)++] = nl_expr_literal(arena, &text);
    args[(*count)++] = value;
}

static nl_status resolve_table(python_call *c, const nl_ast_table_argument *written, const nl_expr **row)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_logical *plan = NULL;
    const nl_sort_key *order = NULL;
    nl_scope scope;
    if (c->table) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A table function in Python takes one table.");
    NL_TRY(table_plan(c, written, &plan));
    nl_scope_over(&scope, c->scope->env, NULL, plan, NL_CLAUSE_GROUP_BY);
    c->partition_count = written->partition_by.count;
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 2 * ((size_t)plan->column_count + c->partition_count) + 1);
    nl_sort_key *keys = NL_NEW_ARRAY(arena, nl_sort_key, (size_t)c->partition_count + written->order_by.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden && !plan->columns[i].is_qualified_only) add_field(arena, args, &count, plan->columns[i].name, nl_column_ref(arena, &plan->columns[i]));
    for (uint32_t i = 0; i < c->partition_count; i++) {
        const nl_expr *key = NULL;
        NL_TRY(nl_resolve_expr(&scope, written->partition_by.items[i], &key));
        keys[i] = (nl_sort_key){.expr = key, .nulls_first = true};
        add_field(arena, args, &count, nl_arena_f(arena, "partition_by_%u", i), key);
    }
    if (written->order_by.count) NL_TRY(nl_resolve_sort_items(&scope, &written->order_by, &order));
    for (uint32_t i = 0; i < written->order_by.count; i++) keys[c->partition_count + i] = order[i];
    const uint32_t key_count = c->partition_count + written->order_by.count;
    c->table = key_count ? nl_logical_sort(arena, plan, keys, key_count, true) : plan;
    return nl_call_function(&scope, NL_STR("named_struct"), args, count, row);
}

static nl_status resolve_arguments(python_call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_ast_arguments *written = c->written;
    c->args = NL_NEW_ARRAY(arena, const nl_expr *, written->count + 1);
    c->names = NL_NEW_ARRAY(arena, nl_str, written->count + 1);
    for (uint32_t i = 0; i < written->count; i++) {
        c->names[i] = written->items[i].name.text;
        c->has_names = c->has_names || c->names[i].data;
        if (written->items[i].value->kind == NL_AST_EXPR_TABLE_ARGUMENT && !c->ast)
            NL_TRY(resolve_table(c, &written->items[i].value->table_argument, &c->args[i]));
        else
            NL_TRY(nl_resolve_expr(c->scope, written->items[i].value, &c->args[i]));
    }
    return check_names(c);
}

static const nl_pretty *call_pretty(const python_call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const uint32_t count = c->written->count;
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = nl_expr_pretty(arena, c->args[i]);
        if (c->names[i].data) parts[i] = nl_pretty_parts(arena, nl_arena_f(arena, NL_STR_FMT " => \1", NL_STR_ARG(c->names[i])), &parts[i], 1);
    }
    return nl_pretty_parts(arena, nl_call_format(arena, c->function->name, count), parts, count);
}

static nl_expr *make(const python_call *c, nl_expr_kind kind)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    nl_python_use *use = NL_NEW(arena, nl_python_use);
    *use = (nl_python_use){.function = c->function, .names = c->has_names ? c->names : NULL};
    nl_expr *expr = nl_expr_new(arena, kind, c->function->type, c->args, c->written->count);
    expr->is_nullable = true;
    expr->pretty = call_pretty(c);
    expr->span = nl_span_of(c->ast->range);
    if (kind == NL_EXPR_PYTHON) {
        expr->python = use;
        return expr;
    }
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, expr->child_count + 1);
    for (uint32_t i = 0; i < expr->child_count; i++) types[i] = expr->children[i]->type;
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    *bound = (nl_bound_function){.row = &nl_python_aggregate_row, .result_type = c->function->type, .is_nullable = true, .can_fail = true,
                                 .argument_count = expr->child_count, .argument_types = types, .state = use};
    expr->call = bound;
    return expr;
}

static nl_status resolve_aggregate(python_call *c, const nl_expr **result)
{
    nl_scope *scope = c->scope;
    if (scope->clause == NL_CLAUSE_JOIN) return NL_RAISE(UNSUPPORTED_EXPR_FOR_OPERATOR, NL_P("invalidExprSqls", "an aggregate function"));
    if (scope->aggregate_depth) return NL_RAISE(NESTED_AGGREGATE_FUNCTION);
    if (c->ast->call.filter) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "FILTER on an aggregate function written in Python is not supported.");
    scope->aggregate_depth++;
    nl_status status = resolve_arguments(c);
    scope->aggregate_depth--;
    if (!status) *result = make(c, NL_EXPR_AGGREGATE);
    return status;
}

static nl_status resolve_over(python_call *c, const nl_expr **result)
{
    nl_scope *scope = c->scope;
    scope->window_depth++;
    nl_status status = resolve_arguments(c);
    if (!status) status = nl_resolve_window(scope, c->ast, make(c, NL_EXPR_WINDOW), result);
    scope->window_depth--;
    return status;
}

nl_status nl_resolve_python_call(nl_scope *scope, const nl_ast_expr *ast, const nl_python_function *function, const nl_expr **result)
{
    python_call c = {.scope = scope, .ast = ast, .written = &ast->call.args, .function = function};
    const bool is_aggregate = function->eval == NL_PYTHON_GROUPED_AGG_PANDAS;
    if (function->eval == NL_PYTHON_TABLE || function->eval == NL_PYTHON_ARROW_TABLE)
        return NL_RAISE(NOT_A_SCALAR_FUNCTION, NL_P_STR("functionName", nl_quote_name(nl_scope_arena(scope), function->name)));
    if (ast->call.over && !is_aggregate)
        return NL_RAISE(UNSUPPORTED_EXPR_FOR_WINDOW, NL_P_STR("sqlExpr", nl_arena_f(nl_scope_arena(scope), "\"" NL_STR_FMT "\"", NL_STR_ARG(function->name))));
    if (ast->call.over) return resolve_over(&c, result);
    if (is_aggregate) return resolve_aggregate(&c, result);
    NL_TRY(resolve_arguments(&c));
    *result = make(&c, NL_EXPR_PYTHON);
    return NULL;
}

static bool visit_declared(void *context, const nl_expr *expr)
{
    (void)context;
    if (expr->kind == NL_EXPR_CALL) return expr->function->is_deterministic;
    return expr->kind != NL_EXPR_PYTHON || expr->python->function->is_deterministic;
}

bool nl_is_declared_deterministic(const nl_expr *expr)
{
    return nl_expr_walk(expr, visit_declared, NULL);
}

/* ---- table functions ---- */

static nl_status check_table(const python_call *c)
{
    nl_arena *arena = nl_scope_arena(c->scope);
    const nl_python_function *function = c->function;
    if (function->eval != NL_PYTHON_TABLE && function->eval != NL_PYTHON_ARROW_TABLE)
        return NL_RAISE(NOT_A_TABLE_FUNCTION, NL_P_STR("functionName", nl_quote_name(arena, function->name)));
    if (!function->type || function->type->id != NL_TYPE_STRUCT)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A table function in Python whose analyze() says what it returns is not supported: declare returnType.");
    return NULL;
}

/* Rows of arguments, of which the function makes its rows: one, or those of a table. */
nl_status nl_analyze_python_table(nl_scope *scope, const nl_ast_arguments *written, const nl_python_function *function, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    python_call c = {.scope = scope, .written = written, .function = function};
    NL_TRY(check_table(&c));
    NL_TRY(resolve_arguments(&c));
    const nl_logical *child = c.table ? c.table : nl_logical_one_row(arena); /* LATERAL: unnested later, then of the rows before it */
    nl_logical *node = nl_logical_new(arena, NL_PLAN_PYTHON, &child, 1);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, function->type->child_count + 1);
    for (uint32_t i = 0; i < function->type->child_count; i++)
        columns[i] = (nl_column){.id = nl_plan_new_id(scope->env->context), .name = function->type->children[i].name,
                                 .type = function->type->children[i].type, .is_nullable = function->type->children[i].is_nullable};
    const nl_python_function **chain = NL_NEW_ARRAY(arena, const nl_python_function *, 1);
    uint32_t *offsets = NL_NEW_ARRAY(arena, uint32_t, written->count + 1);
    nl_python_call *call = NL_NEW(arena, nl_python_call);
    chain[0] = function;
    for (uint32_t i = 0; i < written->count; i++) offsets[i] = i;
    *call = (nl_python_call){.chain = chain, .chain_count = 1, .offsets = offsets, .names = c.has_names ? c.names : NULL, .offset_count = written->count};
    node->columns = columns;
    node->column_count = function->type->child_count;
    node->python.shape = NL_PYTHON_MAP;
    node->python.eval = NL_PYTHON_TABLE;
    node->python.left_count = c.partition_count;
    node->python.arguments = c.args;
    node->python.argument_count = written->count;
    node->python.calls = call;
    node->python.call_count = 1;
    *plan = node;
    return NULL;
}
