/* CAST, TRY_CAST, :: and which casts may be written. */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"

/* The functions Spark proposes instead of a cast that ANSI refuses. */
static const char *suggested_functions(const nl_type *from, const nl_type *to)
{
    if (from->id == NL_TYPE_DATE && nl_type_is_numeric(to)) return "`UNIX_DATE`";
    if (nl_type_is_numeric(from) && to->id == NL_TYPE_DATE) return "`DATE_FROM_UNIX_DATE`";
    if (nl_type_is_numeric(from) && to->id == NL_TYPE_TIMESTAMP) return "`TIMESTAMP_SECONDS`/`TIMESTAMP_MILLIS`/`TIMESTAMP_MICROS`";
    if (from->id == NL_TYPE_TIMESTAMP && nl_type_is_numeric(to)) return "`UNIX_SECONDS`/`UNIX_MILLIS`/`UNIX_MICROS`";
    return NULL;
}

static nl_status raise_cast(nl_scope *scope, const nl_expr *shown, const nl_type *from, const nl_type *to, nl_cast_mode mode)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str sql = nl_quote_expr(arena, shown);
    const nl_str source = nl_quote_type(arena, from);
    const nl_str target = nl_quote_type(arena, to);
    const bool is_ansi = nl_scope_confs(scope)->is_ansi;
    const char *functions = is_ansi ? suggested_functions(from, to) : NULL;
    if (functions)
        return NL_RAISE(DATATYPE_MISMATCH__CAST_WITH_FUNC_SUGGESTION, NL_P_STR("sqlExpr", sql), NL_P_STR("srcType", source),
                        NL_P_STR("targetType", target), NL_P("functionNames", functions));
    if (is_ansi && mode != NL_CAST_TRY && nl_can_cast(from, to, false))
        return NL_RAISE(DATATYPE_MISMATCH__CAST_WITH_CONF_SUGGESTION, NL_P_STR("sqlExpr", sql), NL_P_STR("srcType", source),
                        NL_P_STR("targetType", target), NL_P("config", "\"spark.sql.ansi.enabled\""), NL_P("configVal", "'false'"));
    return NL_RAISE(DATATYPE_MISMATCH__CAST_WITHOUT_SUGGESTION, NL_P_STR("sqlExpr", sql), NL_P_STR("srcType", source),
                    NL_P_STR("targetType", target));
}

nl_status nl_make_cast(nl_scope *scope, const nl_expr *input, const nl_type *type, nl_cast_mode mode, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_str sql = nl_type_sql(arena, type);
    const nl_pretty *const parts[] = {nl_expr_pretty(arena, input)};
    const char *word = mode == NL_CAST_TRY ? "TRY_CAST" : "CAST";
    const bool is_nested = type->id == NL_TYPE_ARRAY || type->id == NL_TYPE_MAP || type->id == NL_TYPE_STRUCT;
    const nl_pretty *pretty = /* Spark rebuilds casts to nested types and forgets on the way that they were written */
        is_nested ? parts[0] : nl_pretty_parts(arena, nl_arena_f(arena, "%s(\1 AS " NL_STR_FMT ")", word, NL_STR_ARG(sql)), parts, 1);
    const nl_expr *shown = nl_expr_with_pretty(arena, input, pretty);
    const bool is_ansi = nl_scope_confs(scope)->is_ansi || mode == NL_CAST_TRY;
    if (input->type->id != NL_TYPE_NULL && !nl_can_cast(input->type, type, is_ansi))
        return raise_cast(scope, shown, input->type, type, mode);
    const nl_expr *cast = nl_expr_cast(arena, input, type, mode);
    if (cast == input && input->kind == NL_EXPR_LITERAL && nl_type_is_integral(type)) { /* no literal any more: beside decimals it has all digits of its type */
        nl_expr *same = nl_expr_new(arena, NL_EXPR_CAST, type, &input, 1);
        same->cast_mode = mode;
        cast = same;
    }
    *result = nl_expr_with_pretty(arena, cast, pretty);
    return NULL;
}

nl_status nl_make_cast_call(nl_scope *scope, const nl_expr *input, const nl_type *type, const nl_expr **result)
{
    const bool is_ansi = nl_scope_confs(scope)->is_ansi;
    const nl_cast_mode mode = nl_scope_cast_mode(scope);
    if (input->type->id != NL_TYPE_NULL && !nl_can_cast(input->type, type, is_ansi))
        return raise_cast(scope, input, input->type, type, mode);
    NL_TRY(nl_make_cast(scope, input, type, mode, result));
    *result = nl_expr_with_pretty(nl_scope_arena(scope), *result, nl_expr_pretty(nl_scope_arena(scope), input));
    return NULL;
}

/* Whether a cast of a nested value's elements is one that Trino does as Spark does. */
static bool is_plain_in_trino(const nl_type *from, const nl_type *to)
{
    if (nl_type_equal(from, to) || from->id == NL_TYPE_NULL) return true;
    if (nl_type_is_nested(from)) {
        if (from->id != to->id || from->child_count != to->child_count) return false;
        for (uint32_t i = 0; i < from->child_count; i++)
            if (!is_plain_in_trino(from->children[i].type, to->children[i].type)) return false;
        return true;
    }
    if (nl_type_is_numeric(from) && nl_type_is_numeric(to)) return nl_type_is_integral(from) || !nl_type_is_integral(to);
    const bool is_text = to->id == NL_TYPE_STRING && to->string_kind == NL_STRING_PLAIN;
    if (from->id == NL_TYPE_STRING) return nl_type_is_numeric(to) || is_text;
    return is_text && (nl_type_is_integral(from) || from->id == NL_TYPE_DECIMAL || from->id == NL_TYPE_DATE || from->id == NL_TYPE_BOOLEAN);
}

/* The function that a cast is in Trino's dialect; NULL: the cast itself. */
static const char *cast_function(const nl_type *from, const nl_type *to)
{
    if (from->id == NL_TYPE_STRING && to->id == NL_TYPE_DATE) return "trino_date";
    if (from->id == NL_TYPE_STRING && to->id == NL_TYPE_TIMESTAMP_NTZ) return "trino_timestamp";
    if (from->id == NL_TYPE_STRING && to->id == NL_TYPE_TIMESTAMP) return "trino_timestamp_tz";
    if (from->id == NL_TYPE_STRING && to->id == NL_TYPE_BOOLEAN) return "trino_boolean";
    if (to->id == NL_TYPE_STRING && (from->id == NL_TYPE_DOUBLE || from->id == NL_TYPE_FLOAT)) return "trino_real_text";
    if (to->id == NL_TYPE_STRING && (from->id == NL_TYPE_TIMESTAMP || from->id == NL_TYPE_TIMESTAMP_NTZ)) return "trino_time_text";
    return NULL;
}

static bool is_refused_in_trino(const nl_type *from, const nl_type *to)
{
    const bool from_time = from->id == NL_TYPE_DATE || from->id == NL_TYPE_TIMESTAMP || from->id == NL_TYPE_TIMESTAMP_NTZ;
    const bool to_time = to->id == NL_TYPE_DATE || to->id == NL_TYPE_TIMESTAMP || to->id == NL_TYPE_TIMESTAMP_NTZ;
    const bool is_char = to->id == NL_TYPE_STRING && to->string_kind == NL_STRING_CHAR;
    if (from->id == NL_TYPE_NULL || nl_type_equal(from, to)) return is_char;
    if (nl_type_is_nested(from) || nl_type_is_nested(to)) return !is_plain_in_trino(from, to);
    if (to->id == NL_TYPE_STRING) return is_char || from->id == NL_TYPE_BINARY || from->id == NL_TYPE_INTERVAL_DT || from->id == NL_TYPE_INTERVAL_YM;
    if (from_time || to_time) return !(from_time && to_time) && !(to_time && from->id == NL_TYPE_STRING);
    return false;
}

/* VARCHAR(n) cuts texts; what else does not fit is an error. */
static nl_status cut_in_trino(nl_scope *scope, const nl_expr *text, bool is_number, uint32_t length, const nl_expr **result)
{
    const nl_value first = nl_value_int(nl_type_bigint(), 1), most = nl_value_int(nl_type_bigint(), length);
    const nl_expr *const last = nl_expr_literal(nl_scope_arena(scope), &most);
    const nl_expr *args[3] = {text, is_number ? last : nl_expr_literal(nl_scope_arena(scope), &first), last};
    return nl_call_function(scope, is_number ? NL_STR("trino_fit") : NL_STR("trino_substr"), args, is_number ? 2 : 3, result);
}

/* Casts as Trino does them: decimals and doubles are rounded to integers, doubles have exponents, texts are read more strictly. */
static nl_status cast_in_trino(nl_scope *scope, const nl_expr *input, const nl_type *type, nl_cast_mode mode, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_type *from = input->type;
    const nl_value digits = nl_value_int(nl_type_bigint(), 6);
    const nl_expr *args[2] = {input, nl_expr_literal(arena, &digits)};
    if (is_refused_in_trino(from, type))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CAST from " NL_STR_FMT " to " NL_STR_FMT " is not supported", NL_STR_ARG(nl_type_sql(arena, from)), NL_STR_ARG(nl_type_sql(arena, type)));
    if (from->id == NL_TYPE_NULL) return nl_make_cast(scope, input, type, mode, result);
    const bool is_cut = type->id == NL_TYPE_STRING && type->string_kind == NL_STRING_VARCHAR, is_timestamp = type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
    const char *function = cast_function(from, type);
    if (nl_type_is_integral(type) && !nl_type_is_integral(from) && nl_type_is_numeric(from)) {
        NL_TRY(nl_call_function(scope, NL_STR("trino_round"), args, 1, &args[0]));
        return nl_make_cast(scope, args[0], type, mode, result);
    }
    if (function) NL_TRY(nl_call_function(scope, nl_str_from(function), args, is_timestamp ? 2 : 1, result));
    else NL_TRY(nl_make_cast(scope, input, is_cut ? nl_type_string() : type, mode, result));
    return is_cut ? cut_in_trino(scope, *result, from->id != NL_TYPE_STRING, type->length, result) : NULL;
}

nl_status nl_resolve_cast(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    const nl_expr *input = NULL;
    const nl_type *type = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->cast.input, &input));
    NL_TRY(nl_ast_type_to_type(nl_scope_arena(scope), ast->cast.type, &type));
    if (scope->env->collation.length && type->id == NL_TYPE_STRING && type->string_kind == NL_STRING_PLAIN && ast->cast.type->collation.count == 0)
        type = nl_type_collated(nl_scope_arena(scope), scope->env->collation);
    const nl_cast_mode mode = ast->cast.form == NL_AST_CAST_TRY ? NL_CAST_TRY : nl_scope_cast_mode(scope);
    if (nl_scope_confs(scope)->is_trino) return cast_in_trino(scope, input, type, mode, result);
    type = nl_without_lengths(nl_scope_arena(scope), type); /* as Spark, which has no CHAR in queries */
    return nl_make_cast(scope, input, type, mode, result);
}
