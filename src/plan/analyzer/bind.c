/* Binding functions of the registry to resolved arguments. */
#include "plan/analyzer/analyzer.h"

typedef struct written_call {
    nl_scope *scope;
    const nl_expr *const *args;
} written_call;

static nl_str argument_text(const nl_bind *bind, uint32_t i)
{
    const written_call *call = bind->argument_sql_context;
    return nl_expr_pretty_str(bind->arena, call->args[i]);
}

static nl_str call_text(const nl_bind *bind)
{
    const written_call *call = bind->argument_sql_context;
    const nl_pretty *pretty = nl_pretty_call(call->scope, bind->name, call->args, bind->argument_count);
    return nl_expr_pretty_str(bind->arena, nl_expr_with_pretty(bind->arena, nl_expr_boolean(bind->arena, true), pretty));
}

/* Functions that Spark has and nilas does not: it would be wrong to say that they do not exist. */
bool nl_is_missing_function(nl_str name)
{
    static const char *const names[] = {"from_avro", "from_protobuf", "schema_of_avro", "to_avro", "to_protobuf"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return false;
}

static bool is_constant_string(const nl_expr *expr)
{
    return nl_expr_is_constant(expr) && (expr->type->id == NL_TYPE_STRING || expr->type->id == NL_TYPE_NULL);
}

/* As Spark without the packages spark-avro and spark-protobuf: what it looks at first, then that they are not there. */
nl_status nl_raise_missing_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    char *upper = NL_NEW_ARRAY(arena, char, name.length + 1);
    for (size_t i = 0; i < name.length; i++) upper[i] = name.data[i] >= 'a' && name.data[i] <= 'z' ? (char)(name.data[i] - 32) : name.data[i];
    const bool is_avro = nl_str_ends(nl_str_from(upper), NL_STR("AVRO")), reads = nl_str_is(nl_str_from(upper), "FROM_AVRO"), writes = nl_str_is(nl_str_from(upper), "TO_AVRO");
    const char *which = NULL, *what = NULL;
    if ((reads || writes) && count > 1 && !is_constant_string(args[1])) which = "second", what = "string containing the JSON representation of the schema to use";
    else if (reads && count > 2 && !(nl_expr_is_constant(args[2]) && args[2]->type->id == NL_TYPE_MAP)) which = "third", what = "map of strings to strings containing the options to use";
    if (!which && !is_avro) return NL_RAISE(PROTOBUF_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE, NL_P("functionName", upper));
    if (!which) return NL_RAISE(AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE, NL_P("functionName", upper));
    const nl_expr *shown = nl_expr_with_pretty(arena, nl_expr_boolean(arena, true), nl_pretty_call(scope, name, args, count));
    return NL_RAISE(DATATYPE_MISMATCH__TYPE_CHECK_FAILURE_WITH_HINT, NL_P_STR("sqlExpr", nl_quote_expr(arena, shown)), NL_P("hint", ""),
                    NL_P_STR("msg", nl_arena_f(arena, "The %s argument of the %s SQL function must be a constant %s for converting the value %s AVRO format", which, upper, what, reads ? "from" : "to")));
}

nl_status nl_raise_unknown_name(nl_scope *scope, nl_str quoted)
{
    const nl_eval_confs *confs = nl_scope_confs(scope);
    nl_arena *arena = nl_scope_arena(scope);
    nl_str parts[8];
    uint32_t count = 0;
    nl_str rest = confs->current_namespace;
    nl_str part;
    parts[count++] = confs->current_catalog;
    while (count < NL_COUNT(parts) && nl_str_next_part(&rest, '.', &part)) parts[count++] = part;
    const nl_str current = nl_quote_names(arena, parts, count);
    return NL_RAISE(UNRESOLVED_ROUTINE, NL_P_STR("routineName", quoted),
                    NL_P_STR("searchPath", nl_arena_f(arena, "[`system`.`builtin`, `system`.`session`, " NL_STR_FMT "]", NL_STR_ARG(current))));
}

nl_status nl_raise_unknown_function(nl_scope *scope, nl_str name)
{
    return nl_raise_unknown_name(scope, nl_quote_name(nl_scope_arena(scope), name));
}

static bool is_literal(const nl_expr *expr)
{
    return expr->kind == NL_EXPR_LITERAL;
}

/* try_add and its kin forgive what their strings are not, too. */
static bool is_try_arithmetic(nl_str name)
{
    static const char *const names[] = {"try_add", "try_subtract", "try_multiply", "try_divide", "try_mod"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) return true;
    return false;
}

/* No function looks when it is bound at a constant whose type nests deeper: options and percentages are flat. Folding the
 * others would build array(array(array(1))) again at each of its levels. */
enum { FOLDED_TYPE_DEPTH_MAX = 3 };

static bool is_deeper(const nl_type *type, uint32_t levels)
{
    if (!nl_type_is_nested(type)) return false;
    if (levels == 0) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (is_deeper(type->children[i].type, levels - 1)) return true;
    return false;
}

nl_status nl_bind_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, nl_bind_flags flags,
                           const nl_bound_function **bound, const nl_expr **cast)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_function_row *const *rows = NULL;
    const uint32_t row_count = nl_function_find(name, &rows);
    if (row_count == 0) return nl_raise_unknown_function(scope, name);
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, count + 1);
    bool *nullable = NL_NEW_ARRAY(arena, bool, count + 1);
    bool *literal = NL_NEW_ARRAY(arena, bool, count + 1);
    const nl_value **constants = NL_NEW_ARRAY(arena, const nl_value *, count + 1);
    const nl_lambda **lambdas = NL_NEW_ARRAY(arena, const nl_lambda *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        types[i] = args[i]->type;
        nullable[i] = args[i]->is_nullable;
        literal[i] = is_literal(args[i]);
        if (args[i]->kind == NL_EXPR_LAMBDA) {
            nl_lambda *lambda = NL_NEW(arena, nl_lambda);
            lambda->result_type = args[i]->type;
            lambda->is_nullable = args[i]->children[0]->is_nullable;
            lambda->parameter_count = args[i]->parameter_count;
            lambdas[i] = lambda;
            continue;
        }
        if (is_deeper(args[i]->type, FOLDED_TYPE_DEPTH_MAX)) continue;
        nl_status status = nl_fold(scope, args[i], &constants[i]); /* a failing constant fails when it is evaluated */
        nl_error_free(status);
    }
    const written_call written = {.scope = scope, .args = args};
    nl_bind bind = {
        .row = rows[0],
        .arena = arena,
        .confs = nl_scope_confs(scope),
        .name = name,
        .argument_count = count,
        .argument_types = types,
        .argument_nullable = nullable,
        .constants = constants,
        .is_literal = literal,
        .lambdas = lambdas,
        .argument_sql = argument_text,
        .call_sql = call_text,
        .argument_sql_context = &written,
        .is_distinct = flags.is_distinct,
        .ignore_nulls = flags.ignore_nulls,
    };
    const bool is_try = is_try_arithmetic(name);
    NL_TRY(nl_function_bind(&bind, rows, row_count, bound));
    for (uint32_t i = 0; i < count; i++) {
        const nl_type *target = (*bound)->argument_types[i];
        const nl_cast_mode mode = is_try && args[i]->type->id == NL_TYPE_STRING ? NL_CAST_TRY : nl_scope_cast_mode(scope);
        cast[i] = args[i]->kind == NL_EXPR_LAMBDA ? args[i] : nl_expr_cast(arena, args[i], target, mode);
    }
    return NULL;
}

nl_status nl_call_function(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    bool is_done = false;
    NL_TRY(nl_collate_call(scope, name, args, count, &is_done, result));
    return is_done ? NULL : nl_call_bound(scope, name, args, count, result);
}

nl_status nl_call_bound(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    NL_TRY(nl_bind_function(scope, name, args, count, (nl_bind_flags){0}, &bound, cast));
    if (!bound->kernel) return nl_raise_unknown_function(scope, name); /* a syntax that has a row for its documentation only */
    *result = nl_expr_with_pretty(arena, nl_expr_call(arena, bound, cast, count), nl_pretty_call(scope, name, args, count));
    return NULL;
}
