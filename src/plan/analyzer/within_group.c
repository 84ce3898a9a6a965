/* WITHIN GROUP (ORDER BY …): which aggregates take it, how it prints, and how it becomes arguments.
 *
 * Aggregates get the order as arguments, so that any number of orders can stand in one SELECT, in parallel, over windows
 * and in spilled states: percentile_cont(value, percentage [, -1]), mode(value, 1 or -1), listagg(value, delimiter,
 * 'directions', keys …). Seen on Spark 4.0.1. */
#include "plan/analyzer/analyzer.h"

static bool is_percentile(nl_str name)
{
    return nl_str_is_nocase(name, "percentile_cont") || nl_str_is_nocase(name, "percentile_disc");
}

static bool is_mode(nl_str name)
{
    return nl_str_is_nocase(name, "mode");
}

static bool is_join(nl_str name)
{
    return nl_str_is_nocase(name, "listagg") || nl_str_is_nocase(name, "string_agg");
}

static nl_status raise_syntax(const nl_scope *scope, nl_str name, const char *syntax)
{
    return NL_RAISE(INVALID_SQL_SYNTAX__FUNCTION_WITH_UNSUPPORTED_SYNTAX,
                    NL_P_STR("prettyName", nl_quote_name(nl_scope_arena(scope), name)), NL_P("syntax", syntax));
}

static nl_status raise_orderings(const nl_scope *scope, nl_str name, uint32_t expected, uint32_t actual)
{
    return NL_RAISE(INVALID_WITHIN_GROUP_EXPRESSION__WRONG_NUM_ORDERINGS,
                    NL_P_STR("funcName", nl_quote_name(nl_scope_arena(scope), name)), NL_P_INT("expectedNum", expected),
                    NL_P_INT("actualNum", actual));
}

static nl_status check_count(const nl_scope *scope, nl_str name, uint32_t count, uint32_t min, uint32_t max, const char *expected)
{
    if (count >= min && count <= max) return NULL;
    return NL_RAISE(WRONG_NUM_ARGS__WITHOUT_SUGGESTION, NL_P_STR("functionName", nl_quote_name(nl_scope_arena(scope), name)),
                    NL_P("expectedNum", expected), NL_P_INT("actualNum", count), NL_P("docroot", "https://spark.apache.org/docs/latest"));
}

nl_status nl_check_call_syntax(const nl_scope *scope, nl_str name, const nl_ast_call *call, bool takes_filter, bool takes_distinct)
{
    static const char *const null_takers[] = {"first", "first_value", "last", "last_value", "any_value", "nth_value", "lag", "lead"};
    bool takes_nulls = false;
    for (size_t i = 0; i < NL_COUNT(null_takers); i++) takes_nulls = takes_nulls || nl_str_is_nocase(name, null_takers[i]);
    if (call->is_distinct && !takes_distinct) return raise_syntax(scope, name, "DISTINCT");
    if (call->within_group.count && !is_percentile(name) && !is_mode(name) && !is_join(name))
        return raise_syntax(scope, name, "WITHIN GROUP (ORDER BY ...)");
    if (call->filter && !takes_filter) return raise_syntax(scope, name, "FILTER CLAUSE");
    if (call->nulls == NL_AST_NULLS_IGNORE && !takes_nulls) return raise_syntax(scope, name, "IGNORE NULLS");
    return NULL;
}

nl_status nl_check_within_group(const nl_scope *scope, const nl_ordered_call *call)
{
    const nl_str name = call->name;
    const nl_str quoted = nl_quote_name(nl_scope_arena(scope), name);
    const bool takes_one = is_percentile(name) || is_mode(name);
    if (is_percentile(name)) NL_TRY(check_count(scope, name, call->arg_count, 1, 1, "1"));
    if (is_mode(name)) NL_TRY(check_count(scope, name, call->arg_count, 0, 2, "[0, 1, 2]"));
    if (is_join(name)) NL_TRY(check_count(scope, name, call->arg_count, 1, 2, "[1, 2]"));
    if (!takes_one) return NULL;
    if (call->is_distinct) return NL_RAISE(INVALID_WITHIN_GROUP_EXPRESSION__DISTINCT_UNSUPPORTED, NL_P_STR("funcName", quoted));
    const bool needs_order = is_percentile(name) || call->arg_count == 0;
    if (needs_order && call->key_count == 0)
        return NL_RAISE(INVALID_WITHIN_GROUP_EXPRESSION__WITHIN_GROUP_MISSING, NL_P_STR("funcName", quoted));
    if (!needs_order && call->key_count > 0) return raise_orderings(scope, name, 0, call->key_count);
    if (needs_order && call->key_count != 1) return raise_orderings(scope, name, 1, call->key_count);
    return NULL;
}

/* ---- printing ---- */

static nl_str key_format(const nl_scope *scope, const nl_ordered_call *call, const nl_sort_key *key)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_short = is_percentile(call->name) || is_mode(call->name);
    const bool shows_desc = is_mode(call->name) ? !key->is_descending : key->is_descending; /* mode prints it the other way round */
    if (is_short) return nl_arena_f(arena, "\1%s", shows_desc ? " DESC" : "");
    return nl_arena_f(arena, "\1 %s NULLS %s", key->is_descending ? "DESC" : "ASC", key->nulls_first ? "FIRST" : "LAST");
}

/* mode(value, true) is printed as the order it stands for. */
static bool is_deterministic_mode(const nl_ordered_call *call)
{
    if (!is_mode(call->name) || call->arg_count != 2) return false;
    const nl_expr *flag = call->args[1];
    return flag->kind == NL_EXPR_LITERAL && flag->type->id == NL_TYPE_BOOLEAN && !flag->value.is_null && flag->value.boolean;
}

/* rank(a), which passes over its arguments; NULL: another function. */
static const char *rank_title(nl_str name)
{
    static const char *const titles[] = {"RANK", "DENSE_RANK", "PERCENT_RANK"};
    for (size_t i = 0; i < NL_COUNT(titles); i++)
        if (nl_str_is_nocase(name, titles[i])) return titles[i];
    return NULL;
}

const nl_pretty *nl_ordered_call_pretty(nl_scope *scope, const nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (is_deterministic_mode(call)) {
        const nl_pretty *const value[] = {nl_expr_pretty(arena, call->args[0])};
        return nl_pretty_parts(arena, NL_STR("mode() WITHIN GROUP (ORDER BY \1 DESC)"), value, 1);
    }
    if (call->arg_count > 0 && rank_title(call->name)) return nl_pretty_text(arena, nl_arena_f(arena, "%s()", rank_title(call->name)));
    const uint32_t shown = is_mode(call->name) && call->arg_count == 2 ? 1 : call->arg_count;
    const nl_str name = is_join(call->name) && call->key_count ? NL_STR("listagg") : call->name;
    const nl_pretty *pretty = nl_pretty_call(scope, name, call->args, shown);
    if (call->is_distinct) {
        const size_t open = nl_str_find_char(pretty->format, '(', 0);
        const nl_str head = nl_str_slice(pretty->format, 0, open + 1);
        const nl_str tail = nl_str_slice(pretty->format, open + 1, pretty->format.length);
        pretty = nl_pretty_parts(arena, nl_arena_f(arena, NL_STR_FMT "DISTINCT " NL_STR_FMT, NL_STR_ARG(head), NL_STR_ARG(tail)),
                                 pretty->parts, pretty->part_count);
    }
    if (call->key_count == 0) return pretty;
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, call->key_count + 1);
    nl_str *formats = NL_NEW_ARRAY(arena, nl_str, call->key_count);
    parts[0] = pretty;
    for (uint32_t i = 0; i < call->key_count; i++) {
        parts[i + 1] = nl_expr_pretty(arena, call->keys[i].expr);
        formats[i] = key_format(scope, call, &call->keys[i]);
    }
    const nl_str keys = nl_join_texts(arena, formats, call->key_count, ", ");
    return nl_pretty_parts(arena, nl_arena_f(arena, "\1 WITHIN GROUP (ORDER BY " NL_STR_FMT ")", NL_STR_ARG(keys)), parts, call->key_count + 1);
}

/* ---- the order as arguments ---- */

static const nl_expr *direction(nl_arena *arena, bool is_greatest)
{
    const nl_value value = nl_value_int(nl_type_int(), is_greatest ? -1 : 1);
    return nl_expr_literal(arena, &value);
}

static void percentile_arguments(nl_scope *scope, nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 3);
    args[0] = call->keys[0].expr;
    args[1] = call->args[0];
    args[2] = direction(arena, true);
    call->args = args;
    call->arg_count = call->keys[0].is_descending ? 3 : 2;
}

static nl_status mode_arguments(nl_scope *scope, nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, 2);
    if (call->key_count) {
        args[0] = call->keys[0].expr;
        args[1] = direction(arena, call->keys[0].is_descending);
        call->args = args;
        call->arg_count = 2;
        return NULL;
    }
    if (call->arg_count < 2) return NULL;
    const nl_expr *flag = call->args[1];
    const nl_str shown = nl_quote_expr(arena, flag);
    if (flag->type->id == NL_TYPE_NULL)
        return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_NULL, NL_P("exprName", "`deterministic`"), NL_P_STR("sqlExpr", shown));
    if (flag->type->id != NL_TYPE_BOOLEAN)
        return NL_RAISE(UNEXPECTED_INPUT_TYPE, NL_P("functionName", "`mode`"), NL_P("paramIndex", "second"), NL_P("requiredType", "\"BOOLEAN\""),
                        NL_P_STR("inputSql", shown), NL_P_STR("inputType", nl_quote_type(arena, flag->type)));
    const nl_value *value = NULL;
    if (nl_expr_is_constant(flag)) NL_TRY(nl_fold(scope, flag, &value));
    if (!value)
        return NL_RAISE(NON_FOLDABLE_ARGUMENT, NL_P("funcName", "`mode`"), NL_P("paramName", "`deterministic`"), NL_P("paramType", "\"BOOLEAN\""));
    if (value->is_null)
        return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_NULL, NL_P("exprName", "`deterministic`"), NL_P_STR("sqlExpr", shown));
    call->arg_count = 1;
    return NULL;
}

static nl_status check_distinct_order(nl_scope *scope, const nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *value = call->args[0];
    const bool is_kept = value->type->id == NL_TYPE_STRING || value->type->id == NL_TYPE_BINARY; /* not cast */
    if (!call->is_distinct || (call->key_count == 1 && is_kept && nl_expr_equal(call->keys[0].expr, value))) return NULL;
    nl_str *shown = NL_NEW_ARRAY(arena, nl_str, call->key_count);
    for (uint32_t i = 0; i < call->key_count; i++) shown[i] = nl_quote_expr(arena, call->keys[i].expr);
    return NL_RAISE(INVALID_WITHIN_GROUP_EXPRESSION__MISMATCH_WITH_DISTINCT_INPUT, NL_P_STR("funcName", nl_quote_name(arena, call->name)),
                    NL_P_STR("funcArg", nl_quote_expr(arena, value)), NL_P_STR("orderingExpr", nl_join_texts(arena, shown, call->key_count, ", ")));
}

/* listagg(value, delimiter, directions, keys …): two letters per key, a or d, f or l. */
static nl_status join_arguments(nl_scope *scope, nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    if (call->key_count == 0) return NULL;
    NL_TRY(check_distinct_order(scope, call));
    const nl_expr **args = NL_NEW_ARRAY(arena, const nl_expr *, call->key_count + 3);
    char *letters = NL_NEW_ARRAY(arena, char, call->key_count * 2 + 1);
    const nl_value null = nl_value_null(nl_type_of(NL_TYPE_NULL));
    args[0] = call->args[0];
    args[1] = call->arg_count > 1 ? call->args[1] : nl_expr_literal(arena, &null);
    for (uint32_t i = 0; i < call->key_count; i++) {
        letters[2 * i] = call->keys[i].is_descending ? 'd' : 'a';
        letters[2 * i + 1] = call->keys[i].nulls_first ? 'f' : 'l';
        args[i + 3] = call->keys[i].expr;
    }
    const nl_value directions = nl_value_string((nl_str){letters, call->key_count * 2});
    args[2] = nl_expr_literal(arena, &directions);
    call->args = args;
    call->arg_count = call->key_count + 3;
    return NULL;
}

nl_status nl_order_to_arguments(nl_scope *scope, nl_ordered_call *call)
{
    if (is_percentile(call->name)) percentile_arguments(scope, call);
    if (is_mode(call->name)) {
        if (is_deterministic_mode(call)) {
            const nl_expr **args = NL_NEW_ARRAY(nl_scope_arena(scope), const nl_expr *, 2);
            args[0] = call->args[0];
            args[1] = direction(nl_scope_arena(scope), false);
            call->args = args;
            return NULL;
        }
        return mode_arguments(scope, call);
    }
    return is_join(call->name) ? join_arguments(scope, call) : NULL;
}

/* The call as its node has it: the order among the arguments. */
static const nl_pretty *shown_with_order(nl_scope *scope, const nl_ordered_call *call)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_first = is_percentile(call->name);
    const nl_pretty **parts = NL_NEW_ARRAY(arena, const nl_pretty *, call->arg_count + call->key_count + 1);
    nl_str *formats = NL_NEW_ARRAY(arena, nl_str, call->arg_count + call->key_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; is_first && i < call->key_count; i++) {
        formats[count] = NL_STR("\1");
        parts[count++] = nl_expr_pretty(arena, call->keys[i].expr);
    }
    for (uint32_t i = 0; i < call->arg_count; i++) {
        formats[count] = NL_STR("\1");
        parts[count++] = nl_expr_pretty(arena, call->args[i]);
    }
    if (is_join(call->name) && call->arg_count == 1) {
        formats[count] = NL_STR("\1");
        parts[count++] = nl_pretty_text(arena, NL_STR("NULL"));
    }
    for (uint32_t i = 0; !is_first && i < call->key_count; i++) {
        formats[count] = key_format(scope, call, &call->keys[i]);
        parts[count++] = nl_expr_pretty(arena, call->keys[i].expr);
    }
    const nl_str name = is_join(call->name) ? NL_STR("listagg") : call->name;
    return nl_pretty_parts(arena, nl_arena_f(arena, NL_STR_FMT "(" NL_STR_FMT ")", NL_STR_ARG(name), NL_STR_ARG(nl_join_texts(arena, formats, count, ", "))), parts, count);
}

nl_status nl_check_window_order(nl_scope *scope, const nl_ordered_call *call, const nl_window_spec *spec)
{
    nl_arena *arena = nl_scope_arena(scope);
    const bool is_refused = is_percentile(call->name) || nl_str_is_nocase(call->name, "median") || (is_join(call->name) && call->key_count);
    const bool is_whole = spec->order_count == 0 && spec->unit == NL_FRAME_ROWS && spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING &&
                          spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING;
    if (!is_refused || is_whole) return NULL;
    const nl_expr *shown = nl_expr_with_pretty(arena, nl_expr_boolean(arena, true), shown_with_order(scope, call));
    return NL_RAISE(INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC, NL_P_STR("aggFunc", nl_quote_expr(arena, shown)));
}
