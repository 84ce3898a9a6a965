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
    *result = nl_expr_with_pretty(arena, cast, pretty);
    return NULL;
}

nl_status nl_resolve_cast(nl_scope *scope, const nl_ast_expr *ast, const nl_expr **result)
{
    const nl_expr *input = NULL;
    const nl_type *type = NULL;
    NL_TRY(nl_resolve_expr(scope, ast->cast.input, &input));
    NL_TRY(nl_ast_type_to_type(nl_scope_arena(scope), ast->cast.type, &type));
    const nl_cast_mode mode = ast->cast.form == NL_AST_CAST_TRY ? NL_CAST_TRY : nl_scope_cast_mode(scope);
    return nl_make_cast(scope, input, type, mode, result);
}
