/* scalar/sequence.c - sequence: whole numbers, dates and timestamps from one to another by a step.
 *
 * Steps of months and days are taken on the local calendar of the session's time zone (UTC for TIMESTAMP_NTZ), always
 * from the start, so that the ends of months do not drift.
 */
#include "function/groups.h"
#include "function/list.h"

#define MICROS_PER_MONTH (28ll * NL_MICROS_PER_DAY) /* as Spark reckons with when it checks the bounds */

typedef struct span {
    int64_t start, stop;    /* as stored: numbers, days, microseconds */
    nl_interval step;       /* numbers: in micros */
    bool is_time;
    const nl_timezone *zone;
} span;

static nl_status raise_bounds(int64_t start, int64_t stop, int64_t step)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: Illegal sequence boundaries: %lld to %lld by %lld",
                         (long long)start, (long long)stop, (long long)step);
}

static nl_status check_bounds(int64_t start, int64_t stop, int64_t step)
{
    if ((step > 0 && start <= stop) || (step < 0 && start >= stop) || (step == 0 && start == stop)) return NULL;
    return raise_bounds(start, stop, step);
}

/* Refuses a list too long, and asks for its memory. */
static nl_status check_length(nl_list_call *call, nl_int128 start, nl_int128 stop, nl_int128 step)
{
    nl_int128 count = step == 0 ? 1 : (stop - start) / step + 1;
    if (count <= NL_LIST_ELEMENTS_MAX) return nl_list_reserve(call, (uint64_t)count);
    return NL_RAISE(COLLECTION_SIZE_LIMIT_EXCEEDED__PARAMETER, NL_P_INT("numberOfElements", (int64_t)count),
                    NL_P_INT("maxRoundedArrayLength", NL_LIST_ELEMENTS_MAX), NL_P("functionName", "`sequence`"), NL_P("parameter", "`count`"));
}

static nl_status append_numbers(nl_list_call *call, int64_t start, int64_t stop, int64_t step)
{
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    uint32_t count = 0;
    NL_TRY(check_bounds(start, stop, step));
    NL_TRY(check_length(call, start, stop, step));
    for (nl_int128 value = start; step >= 0 ? value <= stop : value >= stop; value += step) {
        if (count++ % NL_LIST_CHECK_ELEMENTS == 0) NL_TRY(nl_eval_check(call->eval));
        NL_TRY(nl_column_builder_i64(elements, (int64_t)value));
        if (step == 0) break;
    }
    return nl_column_builder_end_list(call->builder, count);
}

static int64_t local_step(const span *s, int64_t start, int64_t n)
{
    int64_t local = nl_timezone_to_local(s->zone, start);
    int64_t days = nl_floor_div(local, NL_MICROS_PER_DAY);
    int64_t rest = local - days * NL_MICROS_PER_DAY;
    if (s->step.months != 0) days = nl_add_months(days, n * s->step.months);
    days += n * s->step.days;
    return nl_timezone_from_local(s->zone, days * NL_MICROS_PER_DAY + rest) + n * s->step.micros;
}

static nl_status append_times(nl_list_call *call, const span *s)
{
    int64_t scale = s->is_time ? 1 : NL_MICROS_PER_DAY;
    int64_t step = s->step.micros + s->step.days * NL_MICROS_PER_DAY + s->step.months * MICROS_PER_MONTH;
    int64_t start = s->start * scale;
    int64_t stop = s->stop * scale;
    nl_column_builder *elements = nl_column_builder_child(call->builder, 0);
    uint32_t count = 0;
    NL_TRY(check_bounds(start, stop, step));
    NL_TRY(check_length(call, start, stop, step));
    for (int64_t value = start; step >= 0 ? value <= stop : value >= stop; value = local_step(s, start, count)) {
        if (count % NL_LIST_CHECK_ELEMENTS == 0) NL_TRY(nl_eval_check(call->eval));
        NL_TRY(nl_column_builder_i64(elements, s->is_time ? value : nl_floor_div(value, NL_MICROS_PER_DAY)));
        if (++count >= NL_LIST_ELEMENTS_MAX || step == 0) break;
    }
    return nl_column_builder_end_list(call->builder, count);
}

static nl_interval step_of(const nl_list_call *call, bool is_rising)
{
    if (call->function->argument_count < 3) return (nl_interval){.days = is_rising ? 1 : -1};
    nl_reader reader;
    nl_reader_init(&reader, &call->args[2]);
    uint32_t index = nl_reader_index(&reader, call->row);
    switch (call->args[2].type->id == NL_TYPE_INTERVAL_YM ? 0 : call->args[2].type->id == NL_TYPE_INTERVAL_DT ? 1 : 2) {
    case 0:
        return (nl_interval){.months = ((const int32_t *)reader.values)[index]};
    case 1: {
        int64_t micros = ((const int64_t *)reader.values)[index];
        return (nl_interval){.days = (int32_t)(micros / NL_MICROS_PER_DAY), .micros = micros % NL_MICROS_PER_DAY};
    }
    default:
        return ((const nl_interval *)reader.values)[index];
    }
}

static nl_status sequence_row(nl_list_call *call)
{
    int64_t start = nl_list_integer(call, 0);
    int64_t stop = nl_list_integer(call, 1);
    const nl_type *type = call->args[0].type;
    bool has_step = call->function->argument_count > 2;
    if (nl_type_is_integral(type)) return append_numbers(call, start, stop, has_step ? nl_list_integer(call, 2) : start <= stop ? 1 : -1);
    span s = {.start = start, .stop = stop, .is_time = type->id != NL_TYPE_DATE, .step = step_of(call, start <= stop),
              .zone = type->id == NL_TYPE_TIMESTAMP ? call->eval->confs->zone : nl_timezone_utc()};
    if (!s.is_time && s.step.months == 0 && s.step.days == 0)
        return NL_RAISE(_LEGACY_ERROR_TEMP_3242, NL_P("intervalType", call->args[2].type->id == NL_TYPE_INTERVAL_YM   ? "interval year to month"
                                                                      : call->args[2].type->id == NL_TYPE_INTERVAL_DT ? "interval day to second"
                                                                                                                       : "interval"));
    bool only_days = !s.is_time && s.step.months == 0 && s.step.micros == 0;
    bool only_micros = s.is_time && s.step.months == 0 && s.step.days == 0;
    if (only_days) return append_numbers(call, start, stop, s.step.days);
    return only_micros ? append_numbers(call, start, stop, s.step.micros) : append_times(call, &s);
}
NL_LIST_KERNEL(sequence_kernel, sequence_row)

static nl_status raise_types(const nl_bind *bind)
{
    return NL_RAISE(DATATYPE_MISMATCH__SEQUENCE_WRONG_INPUT_TYPES, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                    NL_P_STR("functionName", nl_quoted_name(bind)), NL_P("startType", "(\"TIMESTAMP\" or \"TIMESTAMP_NTZ\" or \"DATE\")"),
                    NL_P("stepType", "(\"INTERVAL\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL DAY TO SECOND\")"),
                    NL_P("otherStartType", "\"INTEGRAL\""));
}

static nl_status bind_sequence(nl_bind *bind, nl_bound_function *bound)
{
    const nl_type **types = bind->argument_types;
    bool has_step = bind->argument_count > 2;
    const nl_type *step = has_step ? types[2] : NULL;
    const nl_type *common = nl_common_type(bind->arena, types[0], types[1], nl_confs_rules(bind->confs));
    if (common != NULL && common->id == NL_TYPE_NULL) common = nl_type_int();
    if (common != NULL && nl_type_is_integral(common) && bind->confs->is_trino) common = nl_type_bigint();
    bool is_number = common != NULL && nl_type_is_integral(common);
    bool is_time = common != NULL && (common->id == NL_TYPE_DATE || common->id == NL_TYPE_TIMESTAMP || common->id == NL_TYPE_TIMESTAMP_NTZ);
    if (is_number && has_step && step->id != NL_TYPE_NULL && !nl_type_is_integral(step)) return raise_types(bind);
    bool is_interval = has_step && (step->id == NL_TYPE_INTERVAL || step->id == NL_TYPE_INTERVAL_YM || step->id == NL_TYPE_INTERVAL_DT);
    if (!is_number && !is_time) return raise_types(bind);
    if (is_time && has_step && !is_interval && step->id != NL_TYPE_NULL) return raise_types(bind);
    if (is_number && has_step) types[2] = common = nl_common_type(bind->arena, common, step, true);
    if (is_time && has_step && step->id == NL_TYPE_NULL) types[2] = nl_type_of(NL_TYPE_INTERVAL);
    types[0] = types[1] = common;
    bound->result_type = nl_type_array(bind->arena, common, false);
    return NULL;
}

static const nl_function_row rows[] = {
    {.name = "sequence", .kind = NL_FUNCTION_SCALAR, .group = "array", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true,
     .signature = "(any, any [, any]) -> ?", .bind = bind_sequence, .kernel = sequence_kernel, .since = "2.4.0",
     .doc = "The numbers, dates or timestamps from the first argument to the second, by a step.",
     .examples = {{"sequence(1, 5)", "[1,2,3,4,5]"}, {"sequence(5, 1)", "[5,4,3,2,1]"},
                  {"sequence(to_date('2018-01-01'), to_date('2018-03-01'), interval 1 month)", "[2018-01-01,2018-02-01,2018-03-01]"}}},
};

NL_DEFINE_FUNCTION_GROUP(sequence, rows);
