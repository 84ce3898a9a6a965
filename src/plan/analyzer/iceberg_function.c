/* Iceberg's functions, catalog.system.bucket(n, x) and the other transforms: named only through a catalog. */
#include "iceberg/partition.h"
#include "plan/analyzer/analyzer.h"

typedef struct transform_state {
    nl_transform transform;
    const nl_ice_type *source;
} transform_state;

static nl_status run_transform(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas,
                               nl_selection selection, uint32_t length, nl_vector *out)
{
    const transform_state *state = function->state;
    (void)lambdas, (void)selection, (void)length;
    return nl_transform_vector(&state->transform, state->source, &args[0], eval->memory, out);
}

static const nl_function_row transform_row = {
    .name = "system.transform",
    .kind = NL_FUNCTION_SCALAR,
    .group = "misc",
    .since = "4.0.0",
    .doc = "An Iceberg partition transform of a value.",
    .signature = "(any, bigint) -> ?",
    .nulls = NL_NULL_SEEN,
    .is_internal = true,
    .kernel = run_transform,
};

typedef struct iceberg_function {
    const char *name;
    const char *class_name;
    nl_transform_kind kind;
    const char *value_types; /* what it takes, as the message says */
} iceberg_function;

static const iceberg_function functions[] = {
    {"bucket", "Bucket", NL_TRANSFORM_BUCKET, "Expected column to be date, tinyint, smallint, int, bigint, decimal, timestamp, string, or binary"},
    {"truncate", "Truncate", NL_TRANSFORM_TRUNCATE, "Expected truncation col to be tinyint, shortint, int, bigint, decimal, string, or binary"},
    {"years", "Years", NL_TRANSFORM_YEAR, "Expected value to be date or timestamp"},
    {"months", "Months", NL_TRANSFORM_MONTH, "Expected value to be date or timestamp"},
    {"days", "Days", NL_TRANSFORM_DAY, "Expected value to be date or timestamp"},
    {"hours", "Hours", NL_TRANSFORM_HOUR, "Expected value to be timestamp"},
};

static nl_status refuse(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const char *why)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_str *types = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) types[i] = nl_type_name(arena, args[i]->type);
    return NL_RAISE(_LEGACY_ERROR_TEMP_1198, NL_P_STR("unbound", name), NL_P_STR("arguments", nl_join_texts(arena, types, count, ", ")),
                    NL_P("unsupported", why));
}

/* "Int", "Long" … of bucket and truncate; "DateToYearsFunction" of the others. */
static nl_str inner_class(nl_arena *arena, const iceberg_function *function, const nl_type *type)
{
    const bool is_bucket = function->kind == NL_TRANSFORM_BUCKET;
    const char *word = "Int";
    if (function->kind != NL_TRANSFORM_BUCKET && function->kind != NL_TRANSFORM_TRUNCATE) {
        word = type->id == NL_TYPE_DATE ? "Date" : type->id == NL_TYPE_TIMESTAMP ? "Timestamp" : "TimestampNtz";
        return nl_arena_f(arena, "%sTo%sFunction", word, function->class_name);
    }
    if (!is_bucket && type->id == NL_TYPE_TINYINT) word = "TinyInt";
    if (!is_bucket && type->id == NL_TYPE_SMALLINT) word = "SmallInt";
    if (type->id == NL_TYPE_BIGINT || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ) word = is_bucket ? "Long" : "BigInt";
    if (type->id == NL_TYPE_STRING) word = "String";
    if (type->id == NL_TYPE_BINARY) word = "Binary";
    if (type->id == NL_TYPE_DECIMAL) word = "Decimal";
    return nl_arena_f(arena, "%s%s", function->class_name, word);
}

static const nl_pretty *invoke_pretty(nl_scope *scope, const iceberg_function *function, const nl_expr *const *args, uint32_t count)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        const nl_type_id id = args[i]->type->id;
        const bool is_time = args[i]->kind == NL_EXPR_LITERAL && (id == NL_TYPE_DATE || id == NL_TYPE_TIMESTAMP || id == NL_TYPE_TIMESTAMP_NTZ);
        parts[i] = nl_expr_pretty(arena, args[i]);
        const nl_str shown = nl_expr_pretty_str(arena, args[i]);
        const size_t open = is_time ? nl_str_find_char(shown, '\'', 0) : NL_NOT_FOUND;
        if (open != NL_NOT_FOUND) parts[i] = nl_pretty_text(arena, nl_str_slice(shown, open + 1, shown.length - 1)); /* DATE '…' prints bare */
    }
    const nl_str inner = inner_class(arena, function, args[count - 1]->type);
    const nl_str invoke = nl_call_format(arena, NL_STR("invoke"), count);
    return nl_pretty_parts(arena, nl_arena_f(arena, "static_invoke(org.apache.iceberg.spark.functions.%sFunction$" NL_STR_FMT "." NL_STR_FMT ")",
                                             function->class_name, NL_STR_ARG(inner), NL_STR_ARG(invoke)),
                           parts, count);
}

static nl_status transform_of(nl_scope *scope, const iceberg_function *function, nl_str name, const nl_expr *const *args, uint32_t count,
                              nl_transform *transform)
{
    const bool has_width = function->kind == NL_TRANSFORM_BUCKET || function->kind == NL_TRANSFORM_TRUNCATE;
    transform->kind = function->kind;
    if (count != (has_width ? 2u : 1u))
        return refuse(scope, name, args, count, !has_width ? "Wrong number of inputs" : function->kind == NL_TRANSFORM_BUCKET
                                                                 ? "Wrong number of inputs (expected numBuckets and value)"
                                                                 : "Wrong number of inputs (expected width and value)");
    if (!has_width) return NULL;
    const nl_type_id id = args[0]->type->id;
    const nl_value *width = NULL;
    if (id != NL_TYPE_INT && id != NL_TYPE_SMALLINT && id != NL_TYPE_TINYINT)
        return refuse(scope, name, args, count, function->kind == NL_TRANSFORM_BUCKET ? "Expected number of buckets to be tinyint, shortint or int"
                                                                                      : "Expected truncation width to be tinyint, shortint or int");
    NL_TRY(nl_fold(scope, args[0], &width));
    if (!width || width->is_null || width->integer < 1 || width->integer > INT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The first argument of " NL_STR_FMT " is a constant greater than zero.", NL_STR_ARG(name));
    transform->width = (int32_t)width->integer;
    return NULL;
}

static nl_status make_call(nl_scope *scope, const iceberg_function *function, nl_str name, const nl_expr *const *args, uint32_t count,
                           const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    transform_state *state = NL_NEW(arena, transform_state);
    NL_TRY(transform_of(scope, function, name, args, count, &state->transform));
    const nl_expr *value = args[count - 1];
    const nl_type *given = value->type;
    const bool is_small = given->id == NL_TYPE_TINYINT || given->id == NL_TYPE_SMALLINT;
    if (is_small) value = nl_expr_cast(arena, value, nl_type_int(), NL_CAST_LEGACY); /* Iceberg's smallest integer */
    const bool is_known = given->id != NL_TYPE_NULL && given->id != NL_TYPE_VARIANT;
    nl_status status = is_known ? nl_ice_type_from_sql(arena, value->type, &state->source) : NULL;
    const bool can_apply = is_known && !status && nl_transform_can_apply(&state->transform, state->source);
    nl_error_free(status);
    if (!can_apply) return refuse(scope, name, args, count, function->value_types);
    nl_bound_function *bound = NL_NEW(arena, nl_bound_function);
    /* Calls with equal operands are one call to those that look for common expressions: which transform it is must be
     * among them. */
    const nl_value identity = nl_value_int(nl_type_bigint(), ((int64_t)function->kind << 32) + state->transform.width);
    const nl_expr *const operands[] = {value, nl_expr_literal(arena, &identity)};
    const nl_type **types = NL_NEW_ARRAY(arena, const nl_type *, 2);
    types[0] = value->type;
    types[1] = nl_type_bigint();
    *bound = (nl_bound_function){
        .row = &transform_row,
        .result_type = nl_ice_type_storage(arena, nl_transform_result_type(&state->transform, state->source)),
        .is_nullable = value->is_nullable,
        .argument_count = 2,
        .argument_types = types,
        .kernel = run_transform,
        .state = state,
        .is_deterministic = true,
    };
    const nl_expr *call = nl_expr_call(arena, bound, operands, 2);
    if (is_small && function->kind == NL_TRANSFORM_TRUNCATE) call = nl_expr_cast(arena, call, given, NL_CAST_LEGACY);
    *result = nl_expr_with_pretty(arena, call, invoke_pretty(scope, function, args, count));
    return NULL;
}

nl_status nl_resolve_iceberg_call(nl_scope *scope, const nl_ast_expr *ast, const nl_str *parts, uint32_t part_count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_ast_arguments *written = &ast->call.args;
    *result = NULL;
    if (part_count != 3 || !nl_str_is_nocase(parts[1], "system")) return NULL;
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, written->count + 1);
    if (nl_str_is_nocase(parts[2], "iceberg_version") && written->count == 0) {
        const nl_value version = nl_value_string(NL_STR("1.10.0"));
        *result = nl_expr_with_pretty(arena, nl_expr_literal(arena, &version),
                                      nl_pretty_text(arena, NL_STR("static_invoke(org.apache.iceberg.spark.functions.IcebergVersionFunction$IcebergVersionFunctionImpl.invoke())")));
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(functions); i++) {
        if (!nl_str_is_nocase(parts[2], functions[i].name)) continue;
        for (uint32_t k = 0; k < written->count; k++) NL_TRY(nl_resolve_expr(scope, written->items[k].value, &args[k]));
        return make_call(scope, &functions[i], parts[2], args, written->count, result);
    }
    return NULL;
}
