/* window() and session_window(): a SELECT may have one, which becomes a column of its input.
 *
 * A tumbling window is a projection, a sliding one a generator. Sessions need the other grouping keys: a row starts a
 * session when no earlier row of its keys reaches it; window functions find those starts, number the sessions and take
 * their first start and last end.
 */
#include "plan/analyzer/analyzer.h"

#include "function/coercion.h"
#include "function/interval.h"

/* ---- durations ---- */

static nl_status read_interval(nl_scope *scope, nl_str text, int64_t *micros)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_interval interval;
    if (!nl_interval_parse(text, &interval))
        return NL_RAISE(CANNOT_PARSE_INTERVAL, NL_P_STR("intervalString", nl_arena_f(arena, "'" NL_STR_FMT "'", NL_STR_ARG(text))));
    if (interval.months)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Intervals greater than a month is not supported (" NL_STR_FMT ").", NL_STR_ARG(text));
    if (__builtin_add_overflow((int64_t)interval.days * NL_MICROS_PER_DAY, interval.micros, micros))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "long overflow");
    return NULL;
}

static nl_status read_duration(nl_scope *scope, const nl_expr *expr, int64_t *micros)
{
    const nl_value *value = NULL;
    if (expr->kind == NL_EXPR_LITERAL || expr->kind == NL_EXPR_CAST || expr->kind == NL_EXPR_CALL) NL_TRY(nl_fold(scope, expr, &value));
    if (value && !value->is_null && value->type->id == NL_TYPE_STRING) return read_interval(scope, value->text, micros);
    if (!value || value->is_null || (value->type->id != NL_TYPE_INT && value->type->id != NL_TYPE_BIGINT)) return NL_RAISE(_LEGACY_ERROR_TEMP_1207);
    *micros = value->integer;
    return NULL;
}

static nl_str call_sql(nl_scope *scope, const nl_time_window *window)
{
    const nl_str time = nl_expr_pretty_str(nl_scope_arena(scope), window->written_time);
    return nl_arena_f(nl_scope_arena(scope), "\"window(" NL_STR_FMT ", %lld, %lld, %lld)\"", NL_STR_ARG(time), (long long)window->length,
                      (long long)window->slide, (long long)window->start);
}

static nl_status check_positive(nl_scope *scope, const nl_time_window *window, const char *name, int64_t value)
{
    if (value > 0) return NULL;
    return NL_RAISE(DATATYPE_MISMATCH__VALUE_OUT_OF_RANGE, NL_P_STR("sqlExpr", call_sql(scope, window)), NL_P("exprName", name),
                    NL_P("valueRange", "(0, 9223372036854775807]"),
                    NL_P_STR("currentValue", nl_arena_f(nl_scope_arena(scope), "%lldL", (long long)value)));
}

static nl_status check_less(nl_scope *scope, const nl_time_window *window, const char *left, int64_t left_value, const char *constraint,
                            const char *right, int64_t right_value)
{
    nl_arena *arena = nl_scope_arena(scope);
    return NL_RAISE(DATATYPE_MISMATCH__PARAMETER_CONSTRAINT_VIOLATION, NL_P_STR("sqlExpr", call_sql(scope, window)), NL_P("leftExprName", left),
                    NL_P_STR("leftExprValue", nl_arena_f(arena, "%lldL", (long long)left_value)), NL_P("constraint", constraint),
                    NL_P("rightExprName", right), NL_P_STR("rightExprValue", nl_arena_f(arena, "%lldL", (long long)right_value)));
}

static nl_status check_durations(nl_scope *scope, const nl_time_window *window)
{
    const int64_t distance = window->start < 0 ? -window->start : window->start;
    NL_TRY(check_positive(scope, window, "`window_duration`", window->length));
    NL_TRY(check_positive(scope, window, "`slide_duration`", window->slide));
    if (window->slide > window->length)
        return check_less(scope, window, "`slide_duration`", window->slide, "<=", "`window_duration`", window->length);
    if (distance >= window->slide)
        return check_less(scope, window, "`abs(start_time)`", distance, "<", "`slide_duration`", window->slide);
    return NULL;
}

/* ---- the call ---- */

static bool is_time(const nl_type *type)
{
    return type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

static bool is_window(const nl_type *type)
{
    return type->id == NL_TYPE_STRUCT && type->child_count == 2 && nl_str_is(type->children[0].name, "start") &&
           nl_str_is(type->children[1].name, "end") && is_time(type->children[0].type);
}

static nl_status take_time(nl_scope *scope, nl_str name, const nl_expr *written, nl_str sql, const nl_expr **time)
{
    nl_arena *arena = nl_scope_arena(scope);
    *time = written;
    if (is_time(written->type)) return NULL;
    if (is_window(written->type)) return nl_call_function(scope, NL_STR("window_time"), &written, 1, time);
    if (nl_can_cast_implicitly(written->type, nl_type_of(NL_TYPE_TIMESTAMP), nl_confs_rules(nl_scope_confs(scope)))) {
        *time = nl_expr_cast(arena, written, nl_type_of(NL_TYPE_TIMESTAMP), nl_scope_cast_mode(scope));
        return NULL;
    }
    const bool is_session = nl_str_is_nocase(name, "session_window");
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE, NL_P_STR("sqlExpr", sql), NL_P("paramIndex", "first"),
                    NL_P("requiredType", is_session ? "\"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)\""
                                                    : "(\"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)\" or \"STRUCT<start: TIMESTAMP, end: "
                                                      "TIMESTAMP>\" or \"STRUCT<start: TIMESTAMP_NTZ, end: TIMESTAMP_NTZ>\")"),
                    NL_P_STR("inputSql", nl_quote_expr(arena, written)), NL_P_STR("inputType", nl_quote_type(arena, written->type)));
}

static nl_status take_gap(nl_scope *scope, const nl_expr *written, const nl_expr **gap)
{
    const nl_type *interval = nl_type_of(NL_TYPE_INTERVAL);
    *gap = written;
    if (written->type->id == NL_TYPE_INTERVAL) return NULL;
    if (written->type->id == NL_TYPE_STRING) return nl_make_cast(scope, written, interval, nl_scope_cast_mode(scope), gap);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Gap duration expression used in session window must be CalendarIntervalType, but got " NL_STR_FMT ".",
                         NL_STR_ARG(nl_type_name(nl_scope_arena(scope), written->type)));
}

static bool is_same(const nl_time_window *a, const nl_time_window *b)
{
    if (a->is_session != b->is_session || !nl_expr_equal(a->time, b->time)) return false;
    if (a->is_session) return nl_expr_equal(a->gap, b->gap);
    return a->length == b->length && a->slide == b->slide && a->start == b->start;
}

static nl_column make_column(nl_scope *scope, const nl_time_window *window)
{
    nl_field *ends = NL_NEW_ARRAY(nl_scope_arena(scope), nl_field, 2);
    ends[0] = (nl_field){.name = NL_STR("start"), .type = window->time->type, .is_nullable = true};
    ends[1] = (nl_field){.name = NL_STR("end"), .type = window->time->type, .is_nullable = true};
    return (nl_column){.id = nl_plan_new_id(scope->env->context),
                       .name = window->is_session ? NL_STR("session_window") : NL_STR("window"),
                       .type = nl_type_struct(nl_scope_arena(scope), ends, 2)};
}

bool nl_is_time_window(nl_str name)
{
    return nl_str_is_nocase(name, "window") || nl_str_is_nocase(name, "session_window");
}

nl_status nl_resolve_time_window(nl_scope *scope, nl_str name, const nl_expr *const *args, uint32_t count, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_time_window made = {.is_session = nl_str_is_nocase(name, "session_window")};
    const bool is_counted = made.is_session ? count == 2 : count >= 2 && count <= 4;
    if (!is_counted) return nl_call_function(scope, name, args, count, result); /* which says how many there should be */
    const bool is_place = scope->time_window && scope->clause != NL_CLAUSE_WHERE && scope->clause != NL_CLAUSE_JOIN;
    if (!is_place) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "window() and session_window() are supported in SELECT, GROUP BY, HAVING and ORDER BY only.");
    made.written_time = args[0];
    nl_str sql = NL_STR("\"session_window\"");
    if (made.is_session) {
        NL_TRY(take_gap(scope, args[1], &made.gap));
    } else {
        NL_TRY(read_duration(scope, args[1], &made.length));
        made.slide = made.length;
        if (count > 2) NL_TRY(read_duration(scope, args[2], &made.slide));
        if (count > 3) NL_TRY(read_duration(scope, args[3], &made.start));
        sql = call_sql(scope, &made);
    }
    NL_TRY(take_time(scope, name, args[0], sql, &made.time));
    if (!made.is_session) NL_TRY(check_durations(scope, &made));
    nl_time_window *window = scope->time_window;
    if (window->is_set && !is_same(window, &made))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Multiple time/session window expressions would result in a cartesian product of rows, "
                                                     "therefore they are currently not supported.");
    if (!window->is_set) {
        made.is_set = true;
        made.column = make_column(scope, &made);
        *window = made;
    }
    *result = nl_column_ref(arena, &window->column);
    return NULL;
}

/* ---- plans ---- */

static const nl_logical *add_column(nl_arena *arena, const nl_logical *child, const nl_column *column, const nl_expr *expr)
{
    const uint32_t count = child->column_count;
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, count + 1);
    const nl_expr **exprs = NL_NEW_ARRAY(arena, const nl_expr *, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        columns[i] = child->columns[i];
        exprs[i] = nl_column_ref(arena, &columns[i]);
    }
    columns[count] = *column;
    exprs[count] = expr;
    return nl_logical_project(arena, child, columns, exprs, count + 1);
}

/* A new column with the expression's value; *ref refers to it. */
static const nl_logical *keep_value(nl_scope *scope, const nl_logical *child, const char *name, const nl_expr *expr, const nl_expr **ref)
{
    nl_arena *arena = nl_scope_arena(scope);
    nl_column *column = NL_NEW(arena, nl_column);
    *column = (nl_column){.id = nl_plan_new_id(scope->env->context), .name = nl_str_from(name), .type = expr->type, .is_nullable = expr->is_nullable};
    *ref = nl_column_ref(arena, column);
    return add_column(arena, child, column, expr);
}

static nl_status plan_windows(nl_scope *scope, const nl_time_window *window, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const int64_t numbers[] = {window->length, window->slide, window->start};
    const nl_expr *args[4] = {window->time};
    for (uint32_t i = 0; i < 3; i++) {
        const nl_value value = nl_value_int(nl_type_bigint(), numbers[i]);
        args[i + 1] = nl_expr_literal(arena, &value);
    }
    if (window->slide < window->length) {
        nl_select_generator generator = {0};
        NL_TRY(nl_make_generator(scope, NL_STR("time_windows"), args, 4, &generator));
        generator.columns = &window->column;
        *plan = nl_generator_plan(arena, &generator, *plan);
        return NULL;
    }
    const nl_expr *made = NULL;
    NL_TRY(nl_call_function(scope, NL_STR("time_window"), args, 4, &made));
    *plan = nl_logical_filter(arena, *plan, nl_expr_is_null(arena, window->time, true));
    *plan = add_column(arena, *plan, &window->column, made);
    return NULL;
}

/* name(argument) OVER (PARTITION BY keys ORDER BY order ROWS or RANGE BETWEEN UNBOUNDED PRECEDING AND …). */
static nl_status over(nl_scope *scope, const char *name, const nl_expr *argument, const nl_window_spec *spec, const nl_expr **result)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_bound_function *bound = NULL;
    const nl_expr **cast = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    NL_TRY(nl_bind_function(scope, nl_str_from(name), &argument, 1, (nl_bind_flags){0}, &bound, cast));
    nl_expr *expr = nl_expr_new(arena, NL_EXPR_WINDOW, bound->result_type, cast, 1);
    expr->is_nullable = bound->is_nullable;
    expr->call = bound;
    expr->window = spec;
    expr->pretty = nl_pretty_text(arena, nl_str_from(name));
    *result = expr;
    return NULL;
}

static nl_status add_over(nl_scope *scope, const char *name, const nl_expr *argument, const nl_window_spec *spec, const nl_logical **plan,
                          const nl_expr **ref)
{
    const nl_expr *expr = NULL;
    nl_windows windows = {.context = scope->env->context};
    NL_TRY(over(scope, name, argument, spec, &expr));
    NL_TRY(nl_windows_extract(&windows, expr, ref));
    *plan = nl_windows_plan(&windows, *plan);
    return NULL;
}

static nl_status struct_of(nl_scope *scope, const nl_expr *start, const nl_expr *stop, const nl_expr **made)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value start_name = nl_value_string(NL_STR("start"));
    const nl_value stop_name = nl_value_string(NL_STR("end"));
    const nl_expr *const args[] = {nl_expr_literal(arena, &start_name), start, nl_expr_literal(arena, &stop_name), stop};
    return nl_call_function(scope, NL_STR("named_struct"), args, 4, made);
}

/* Numbers the sessions of the keys, then puts the first start and the last end of each into *start and *stop. */
static nl_status merge_sessions(nl_scope *scope, const nl_expr *const *keys, uint32_t key_count, const nl_expr **start, const nl_expr **stop,
                                const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_value one = nl_value_int(nl_type_int(), 1);
    const nl_value zero = nl_value_int(nl_type_int(), 0);
    nl_sort_key *order = NL_NEW(arena, nl_sort_key);
    *order = (nl_sort_key){.expr = *start, .nulls_first = true};
    nl_window_spec *specs = NL_NEW_ARRAY(arena, nl_window_spec, 3);
    specs[0] = (nl_window_spec){.partition_by = keys, .partition_count = key_count, .order_by = order, .order_count = 1,
                                .unit = NL_FRAME_ROWS, .start_kind = NL_BOUND_UNBOUNDED_PRECEDING, .stop_kind = NL_BOUND_PRECEDING,
                                .stop_offset = nl_expr_literal(arena, &one)};
    const nl_expr *reached = NULL;
    NL_TRY(add_over(scope, "max", *stop, &specs[0], plan, &reached));
    const nl_expr *const later[] = {*start, reached};
    const nl_expr *is_later = NULL;
    NL_TRY(nl_call_function(scope, NL_STR(">"), later, 2, &is_later));
    const nl_expr *const parts[] = {nl_expr_or(arena, nl_expr_is_null(arena, reached, false), is_later), nl_expr_literal(arena, &one),
                                    nl_expr_literal(arena, &zero)};
    const nl_expr *starts = NULL;
    NL_TRY(nl_make_case(scope, parts, 3, NULL, &starts));
    *plan = keep_value(scope, *plan, "_starts", starts, &starts);
    specs[1] = specs[0]; /* RANGE: rows of one time are of one session, in whatever order they come */
    specs[1].unit = NL_FRAME_RANGE;
    specs[1].stop_kind = NL_BOUND_CURRENT_ROW;
    specs[1].stop_offset = NULL;
    const nl_expr *number = NULL;
    NL_TRY(add_over(scope, "sum", starts, &specs[1], plan, &number));
    nl_sort_key *by_number = NL_NEW(arena, nl_sort_key);
    *by_number = (nl_sort_key){.expr = number, .nulls_first = true};
    specs[2] = (nl_window_spec){.partition_by = keys, .partition_count = key_count, .order_by = by_number, .order_count = 1,
                                .unit = NL_FRAME_RANGE, .start_kind = NL_BOUND_CURRENT_ROW, .stop_kind = NL_BOUND_CURRENT_ROW};
    NL_TRY(add_over(scope, "min", *start, &specs[2], plan, start));
    return add_over(scope, "max", *stop, &specs[2], plan, stop);
}

static nl_status plan_sessions(nl_scope *scope, const nl_time_window *window, const nl_grouping *grouping, const nl_logical **plan)
{
    nl_arena *arena = nl_scope_arena(scope);
    const nl_expr *start = NULL;
    const nl_expr *stop = NULL;
    const nl_expr *const sum[] = {window->time, window->gap};
    NL_TRY(nl_call_function(scope, NL_STR("+"), sum, 2, &stop));
    *plan = nl_logical_filter(arena, *plan, nl_expr_is_null(arena, window->time, true));
    *plan = keep_value(scope, *plan, "_start", window->time, &start);
    *plan = keep_value(scope, *plan, "_end", stop, &stop);
    const nl_expr *const ordered[] = {stop, start};
    const nl_expr *is_long = NULL;
    NL_TRY(nl_call_function(scope, NL_STR(">"), ordered, 2, &is_long));
    *plan = nl_logical_filter(arena, *plan, is_long);
    if (grouping->is_grouped) {
        const nl_expr **keys = NL_NEW_ARRAY(arena, const nl_expr *, grouping->key_count + 1);
        uint32_t count = 0;
        for (uint32_t i = 0; i < grouping->key_count; i++) {
            const nl_expr *key = grouping->keys[i];
            const bool is_own = key->kind == NL_EXPR_COLUMN && key->column == window->column.id;
            if (!is_own) keys[count++] = key;
        }
        NL_TRY(merge_sessions(scope, keys, count, &start, &stop, plan));
    }
    const nl_expr *made = NULL;
    NL_TRY(struct_of(scope, start, stop, &made));
    *plan = add_column(arena, *plan, &window->column, made);
    return NULL;
}

nl_status nl_time_window_plan(nl_scope *scope, const nl_grouping *grouping, const nl_logical **plan)
{
    const nl_time_window *window = scope->time_window;
    if (!window->is_set) return NULL;
    return window->is_session ? plan_sessions(scope, window, grouping, plan) : plan_windows(scope, window, plan);
}
