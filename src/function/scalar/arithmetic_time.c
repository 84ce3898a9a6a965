/* scalar/arithmetic_time.c - + - * / div on dates, timestamps and intervals.
 *
 * Every case becomes one of the kernels below on operands of fixed types: a date and days; a date or timestamp and
 * months, microseconds or a calendar interval; two times; two intervals; an interval and a number. Timestamps with
 * time zone move in local time for months and days, on the time line for microseconds.
 */
#include <math.h>

#include "base/number.h"
#include "function/scalar/arithmetic.h"

static bool is_timestamp(const nl_type *type)
{
    return type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

static bool is_ansi_interval(const nl_type *type)
{
    return type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

static bool is_interval(const nl_type *type)
{
    return is_ansi_interval(type) || type->id == NL_TYPE_INTERVAL;
}

static nl_status out_of_range(const nl_arith *arith, nl_output *output, uint32_t row, nl_status error)
{
    if (arith->mode != NL_ARITH_NULL) return error;
    nl_error_free(error);
    return nl_output_null(output, row);
}

static nl_status raise_datetime_overflow(void)
{
    return NL_RAISE(DATETIME_OVERFLOW, NL_P("operation", "add an interval to a date or timestamp"));
}

static int64_t local_of(const nl_type *type, const nl_timezone *zone, int64_t micros)
{
    return type->id == NL_TYPE_TIMESTAMP ? nl_timezone_to_local(zone, micros) : micros;
}

static int64_t from_local(const nl_type *type, const nl_timezone *zone, int64_t local)
{
    return type->id == NL_TYPE_TIMESTAMP ? nl_timezone_from_local(zone, local) : local;
}

/* A point in local time moved by months and days. */
static int64_t move_local(int64_t local, int64_t months, int64_t days)
{
    int64_t day = nl_floor_div(local, NL_MICROS_PER_DAY);
    int64_t rest = local - day * NL_MICROS_PER_DAY;
    return (nl_add_months(day, months) + days) * NL_MICROS_PER_DAY + rest;
}

#define OPEN_OPERANDS                                                                             \
    const nl_arith *arith = function->state;                                                      \
    const uint32_t left = arith->is_swapped, right = !arith->is_swapped;                          \
    const int64_t sign = arith->op == NL_ARITH_SUBTRACT ? -1 : 1;                                 \
    nl_output output;                                                                             \
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));            \
    nl_reader a, b;                                                                               \
    nl_reader_init(&a, &args[left]);                                                              \
    nl_reader_init(&b, &args[right]);

#define SKIP_NULLS \
    if (nl_reader_is_null(&a, row) || nl_reader_is_null(&b, row)) continue;

static nl_status date_days(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t days = nl_physical_i64(arith->b->physical, b.values, nl_reader_index(&b, row));
        if (arith->b->id == NL_TYPE_INTERVAL_DT) days /= NL_MICROS_PER_DAY;
        int64_t result = nl_reader_i32(&a, row) + sign * days;
        ((int32_t *)output.values)[row] = (int32_t)result; /* wraps, as Spark's date_add */
    }
    return NULL;
}

static nl_status date_months(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        ((int32_t *)output.values)[row] = (int32_t)nl_add_months(nl_reader_i32(&a, row), sign * nl_reader_i32(&b, row));
    }
    return NULL;
}

static nl_status date_calendar(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        nl_interval interval = ((const nl_interval *)b.values)[nl_reader_index(&b, row)];
        if (interval.micros != 0) {
            if (function->can_fail) return NL_RAISE(INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION);
            if (arith->mode == NL_ARITH_NULL) {
                NL_TRY(nl_output_null(&output, row));
                continue;
            }
        }
        int64_t moved = move_local(nl_reader_i32(&a, row) * NL_MICROS_PER_DAY, sign * interval.months, sign * interval.days);
        moved += sign * interval.micros;
        ((int32_t *)output.values)[row] = (int32_t)nl_floor_div(moved, NL_MICROS_PER_DAY);
    }
    return NULL;
}

static nl_status timestamp_months(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t local = local_of(arith->a, eval->confs->zone, nl_reader_i64(&a, row));
        int64_t moved = move_local(local, sign * nl_reader_i32(&b, row), 0);
        ((int64_t *)output.values)[row] = from_local(arith->a, eval->confs->zone, moved);
    }
    return NULL;
}

/* Whole days of a day-time interval move the local clock, the rest the time line (as Spark's timestampAddDayTime). */
static nl_status timestamp_micros(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t amount = nl_reader_i64(&b, row);
        int64_t days = amount / NL_MICROS_PER_DAY * sign;
        int64_t micros = amount % NL_MICROS_PER_DAY * sign;
        int64_t local = local_of(arith->a, eval->confs->zone, nl_reader_i64(&a, row));
        int64_t result;
        if (__builtin_add_overflow(local, days * NL_MICROS_PER_DAY, &local)) {
            NL_TRY(out_of_range(arith, &output, row, raise_datetime_overflow()));
            continue;
        }
        if (__builtin_add_overflow(from_local(arith->a, eval->confs->zone, local), micros, &result)) {
            NL_TRY(out_of_range(arith, &output, row, raise_datetime_overflow()));
            continue;
        }
        ((int64_t *)output.values)[row] = result;
    }
    return NULL;
}

static nl_status timestamp_calendar(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        nl_interval interval = ((const nl_interval *)b.values)[nl_reader_index(&b, row)];
        int64_t local = local_of(arith->a, eval->confs->zone, nl_reader_i64(&a, row));
        int64_t moved = move_local(local, sign * interval.months, sign * interval.days);
        int64_t result;
        if (__builtin_add_overflow(from_local(arith->a, eval->confs->zone, moved), sign * interval.micros, &result))
            NL_TRY(out_of_range(arith, &output, row, raise_datetime_overflow()));
        else
            ((int64_t *)output.values)[row] = result;
    }
    return NULL;
}

static nl_status dates_apart(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t days = (int64_t)nl_reader_i32(&a, row) - nl_reader_i32(&b, row);
        ((int64_t *)output.values)[row] = days * NL_MICROS_PER_DAY;
    }
    return NULL;
}

/* Local clocks are compared, so a day is a day across a change of offset (as Spark's subtractTimestamps). */
static nl_status timestamps_apart(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t x = local_of(arith->a, eval->confs->zone, nl_reader_i64(&a, row));
        int64_t y = local_of(arith->b, eval->confs->zone, nl_reader_i64(&b, row));
        int64_t result;
        if (__builtin_sub_overflow(x, y, &result))
            NL_TRY(out_of_range(arith, &output, row, raise_datetime_overflow()));
        else
            ((int64_t *)output.values)[row] = result;
    }
    return NULL;
}

/* spark.sql.legacy.interval.enabled: whole months and days, both of one sign (java.time's Period.between). */
static nl_interval period_between(int64_t from, int64_t to)
{
    nl_civil x, y;
    nl_civil_from_days(from, &x);
    nl_civil_from_days(to, &y);
    int64_t months = (y.year - x.year) * 12 + y.month - x.month;
    int64_t days = y.day - x.day;
    if (months > 0 && days < 0) {
        months--;
        days = to - nl_add_months(from, months);
    } else if (months < 0 && days > 0) {
        months++;
        days -= nl_days_in_month(y.year, y.month);
    }
    return (nl_interval){(int32_t)months, (int32_t)days, 0};
}

static nl_status legacy_apart(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    const bool has_dates = arith->a->id == NL_TYPE_DATE;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        nl_interval *result = (nl_interval *)output.values + row;
        if (has_dates) {
            *result = period_between(nl_reader_i32(&b, row), nl_reader_i32(&a, row));
            continue;
        }
        int64_t micros;
        if (__builtin_sub_overflow(nl_reader_i64(&a, row), nl_reader_i64(&b, row), &micros))
            NL_TRY(out_of_range(arith, &output, row, raise_datetime_overflow()));
        else
            *result = (nl_interval){0, 0, micros};
    }
    return NULL;
}

static nl_status intervals_kernel(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    nl_physical physical = function->result_type->physical;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        bool has_overflow;
        if (physical == NL_PHYS_INTERVAL) {
            nl_interval x = ((const nl_interval *)a.values)[nl_reader_index(&a, row)];
            nl_interval y = ((const nl_interval *)b.values)[nl_reader_index(&b, row)];
            nl_interval *sum = (nl_interval *)output.values + row;
            if (sign > 0)
                has_overflow = __builtin_add_overflow(x.months, y.months, &sum->months) |
                               __builtin_add_overflow(x.days, y.days, &sum->days) |
                               __builtin_add_overflow(x.micros, y.micros, &sum->micros);
            else
                has_overflow = __builtin_sub_overflow(x.months, y.months, &sum->months) |
                               __builtin_sub_overflow(x.days, y.days, &sum->days) |
                               __builtin_sub_overflow(x.micros, y.micros, &sum->micros);
        } else {
            nl_int128 sum = (nl_int128)nl_physical_i64(physical, a.values, nl_reader_index(&a, row)) +
                            sign * (nl_int128)nl_physical_i64(physical, b.values, nl_reader_index(&b, row));
            has_overflow = physical == NL_PHYS_I32 ? sum != (int32_t)sum : sum != (int64_t)sum;
            nl_physical_set_i128(physical, output.values, row, sum);
        }
        if (NL_UNLIKELY(has_overflow)) NL_TRY(out_of_range(arith, &output, row, nl_arith_overflow(arith, 0, 0)));
    }
    return NULL;
}

/* interval * number and interval / number, rounded half up. The number is BIGINT, DOUBLE or a decimal. */
static bool scale_interval(const nl_arith *arith, const nl_reader *b, uint32_t row, int64_t amount, int64_t max, int64_t *out)
{
    uint32_t index = nl_reader_index(b, row);
    if (arith->b->id == NL_TYPE_DOUBLE) {
        double factor = ((const double *)b->values)[index];
        double result = arith->op == NL_ARITH_MULTIPLY ? (double)amount * factor : (double)amount / factor;
        double rounded = result < 0 ? -floor(-result + 0.5) : floor(result + 0.5);
        if (!(rounded <= (double)max && rounded >= -(double)max - 1)) return false;
        if (rounded >= 9223372036854775807.0) return false;
        *out = (int64_t)rounded;
        return true;
    }
    nl_int128 factor = nl_physical_i128(arith->b->physical, b->values, index);
    int scale = arith->b->id == NL_TYPE_DECIMAL ? arith->b->scale : 0;
    nl_int128 result = 0;
    bool fits = arith->op == NL_ARITH_MULTIPLY ? nl_decimal_multiply(amount, 0, factor, scale, 38, 0, &result)
                                               : nl_decimal_divide(amount, 0, factor, scale, 38, 0, &result);
    if (!fits || result > max || result < -(nl_int128)max - 1) return false;
    *out = (int64_t)result;
    return true;
}

/* What Java says of it: these errors have no condition. */
static nl_status raise_scaled(const nl_arith *arith, const nl_reader *b, uint32_t row, int64_t amount)
{
    const bool is_product = arith->op == NL_ARITH_MULTIPLY;
    if (arith->b->id == NL_TYPE_DECIMAL) return NL_RAISE_TEXT(NILAS_ARITHMETIC, "Overflow");
    if (arith->b->id != NL_TYPE_DOUBLE)
        return is_product ? NL_RAISE_TEXT(NILAS_ARITHMETIC, arith->a->physical == NL_PHYS_I32 ? "integer overflow" : "long overflow") : nl_arith_overflow(arith, 0, 0);
    const double factor = ((const double *)b->values)[nl_reader_index(b, row)];
    const double result = is_product ? (double)amount * factor : (double)amount / factor;
    if (!isfinite(result)) return NL_RAISE_TEXT(NILAS_ARITHMETIC, "input is infinite or NaN");
    char text[64];
    const uint32_t length = nl_format_double(result, text);
    return NL_RAISE_TEXT(NILAS_ARITHMETIC, "rounded value is out of range for input %.*s and rounding mode HALF_UP", (int)length, text);
}

static nl_status interval_number(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    nl_physical physical = arith->a->physical;
    int64_t max = physical == NL_PHYS_I32 ? INT32_MAX : INT64_MAX;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        uint32_t index = nl_reader_index(&b, row);
        bool is_zero = arith->b->id == NL_TYPE_DOUBLE ? ((const double *)b.values)[index] == 0
                                                      : nl_physical_i128(arith->b->physical, b.values, index) == 0;
        if (arith->op == NL_ARITH_DIVIDE && is_zero) {
            NL_TRY(out_of_range(arith, &output, row, NL_RAISE(INTERVAL_DIVIDED_BY_ZERO)));
            continue;
        }
        int64_t result = 0;
        int64_t amount = nl_physical_i64(physical, a.values, nl_reader_index(&a, row));
        if (!scale_interval(arith, &b, row, amount, max, &result))
            NL_TRY(out_of_range(arith, &output, row, raise_scaled(arith, &b, row, amount)));
        else
            nl_physical_set_i128(physical, output.values, row, result);
    }
    return NULL;
}

/* Fractions of months are dropped, fractions of days become microseconds (Spark's IntervalUtils.multiply, divide). */
static nl_status calendar_number(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        nl_interval x = ((const nl_interval *)a.values)[nl_reader_index(&a, row)];
        double factor = nl_reader_f64(&b, row);
        bool divides = arith->op == NL_ARITH_DIVIDE;
        if (divides && factor == 0) {
            if (arith->mode == NL_ARITH_RAISE) return NL_RAISE(INTERVAL_DIVIDED_BY_ZERO);
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        double months = divides ? x.months / factor : x.months * factor;
        double days = divides ? x.days / factor : x.days * factor;
        double micros = (divides ? (double)x.micros / factor : (double)x.micros * factor) +
                        (days - trunc(days)) * (double)NL_MICROS_PER_DAY;
        if (!(fabs(months) <= 2147483647.0 && fabs(days) <= 2147483647.0 && fabs(micros) < 9.2e18)) {
            NL_TRY(out_of_range(arith, &output, row, nl_arith_overflow(arith, 0, 0)));
            continue;
        }
        ((nl_interval *)output.values)[row] = (nl_interval){(int32_t)months, (int32_t)days, (int64_t)round(micros)};
    }
    return NULL;
}

static nl_status intervals_quotient(NL_KERNEL_PARAMETERS)
{
    OPEN_OPERANDS
    (void)sign;
    NL_EACH_SELECTED(row)
    {
        SKIP_NULLS
        int64_t x = nl_physical_i64(arith->a->physical, a.values, nl_reader_index(&a, row));
        int64_t y = nl_physical_i64(arith->b->physical, b.values, nl_reader_index(&b, row));
        if (y == 0)
            NL_TRY(out_of_range(arith, &output, row, NL_RAISE(INTERVAL_DIVIDED_BY_ZERO)));
        else
            ((int64_t *)output.values)[row] = y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
    }
    return NULL;
}

/* --- which kernel --- */

typedef struct operands {
    nl_bind *bind;
    nl_bound_function *bound;
    nl_arith *arith;
    const nl_type *a; /* after swapping */
    const nl_type *b;
} operands;

static nl_status settle(operands *o, const nl_type *a, const nl_type *b, const nl_type *result, nl_scalar_kernel kernel)
{
    o->bind->argument_types[o->arith->is_swapped] = o->arith->a = a;
    o->bind->argument_types[!o->arith->is_swapped] = o->arith->b = b;
    o->bound->result_type = result;
    o->bound->kernel = kernel;
    return NULL;
}

static nl_status add_to_date(operands *o, bool *is_handled)
{
    const nl_type *date = nl_type_of(NL_TYPE_DATE);
    const nl_type *timestamp = nl_type_of(NL_TYPE_TIMESTAMP);
    *is_handled = true;
    switch (o->b->id) {
    case NL_TYPE_NULL:
    case NL_TYPE_STRING:
        return settle(o, date, nl_type_int(), date, date_days);
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
        return settle(o, date, o->b, date, date_days);
    case NL_TYPE_INTERVAL_YM:
        return settle(o, date, o->b, date, date_months);
    case NL_TYPE_INTERVAL_DT:
        if (o->b->start_field == NL_FIELD_DAY && o->b->end_field == NL_FIELD_DAY) return settle(o, date, o->b, date, date_days);
        return settle(o, timestamp, o->b, timestamp, timestamp_micros);
    case NL_TYPE_INTERVAL:
        return settle(o, date, o->b, date, date_calendar);
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_BIGINT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
    case NL_TYPE_DECIMAL:
    case NL_TYPE_BINARY:
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    if (o->b->id == NL_TYPE_BIGINT || nl_type_is_numeric(o->b))
        return nl_bind_unexpected_type(o->bind, !o->arith->is_swapped, "(\"INT\" or \"SMALLINT\" or \"TINYINT\")");
    *is_handled = false;
    return NULL;
}

static nl_status add_to_timestamp(operands *o, bool *is_handled)
{
    *is_handled = true;
    if (o->b->id == NL_TYPE_INTERVAL_YM) return settle(o, o->a, o->b, o->a, timestamp_months);
    if (o->b->id == NL_TYPE_INTERVAL_DT) return settle(o, o->a, o->b, o->a, timestamp_micros);
    if (o->b->id == NL_TYPE_INTERVAL) return settle(o, o->a, o->b, o->a, timestamp_calendar);
    if (o->b->id == NL_TYPE_NULL) return settle(o, o->a, nl_type_of(NL_TYPE_INTERVAL_DT), o->a, timestamp_micros);
    *is_handled = false;
    return NULL;
}

static nl_status subtract_times(operands *o, bool *is_handled)
{
    const nl_type *timestamp = nl_type_of(NL_TYPE_TIMESTAMP);
    const nl_type *span = nl_type_of(NL_TYPE_INTERVAL_DT);
    const nl_type *a = o->a;
    const nl_type *b = o->b;
    *is_handled = true;
    if (a->id == NL_TYPE_STRING || a->id == NL_TYPE_NULL) a = b;
    if ((b->id == NL_TYPE_STRING || b->id == NL_TYPE_NULL) && is_timestamp(a)) b = a;
    const bool is_legacy = o->bind->confs->is_legacy_interval;
    if (a->id == NL_TYPE_DATE && b->id == NL_TYPE_DATE && is_legacy) return settle(o, a, b, nl_type_of(NL_TYPE_INTERVAL), legacy_apart);
    if (a->id == NL_TYPE_DATE && b->id == NL_TYPE_DATE)
        return settle(o, a, b, nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_DAY), dates_apart);
    if (a->id == NL_TYPE_DATE) a = is_timestamp(b) ? b : timestamp;
    if (b->id == NL_TYPE_DATE) b = a;
    return is_legacy ? settle(o, a, b, nl_type_of(NL_TYPE_INTERVAL), legacy_apart) : settle(o, a, b, span, timestamps_apart);
}

/* Two kinds of intervals: for Spark one is a time, and the other is added to it. */
static nl_status raise_mixed_intervals(const operands *o)
{
    nl_arena *arena = o->bind->arena;
    const bool is_add = o->arith->op == NL_ARITH_ADD;
    const uint32_t time = is_add && o->b->id == NL_TYPE_INTERVAL_YM ? 1 : 0;
    const nl_str shown = nl_bind_argument_sql(o->bind, time), added = nl_bind_argument_sql(o->bind, 1 - time);
    const nl_type *type = time ? o->b : o->a;
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_INPUT_TYPE,
                    NL_P_STR("sqlExpr", nl_arena_f(arena, is_add ? "\"" NL_STR_FMT " + " NL_STR_FMT "\"" : "\"" NL_STR_FMT " + (- " NL_STR_FMT ")\"", NL_STR_ARG(shown), NL_STR_ARG(added))),
                    NL_P("paramIndex", "first"), NL_P("requiredType", "\"(TIMESTAMP OR TIMESTAMP WITHOUT TIME ZONE)\""),
                    NL_P_STR("inputSql", nl_quoted(arena, shown)), NL_P_STR("inputType", nl_quoted_type(arena, type)));
}

static nl_status combine_intervals(operands *o, bool *is_handled)
{
    *is_handled = true;
    if (o->a->id == NL_TYPE_NULL) o->a = o->b;
    if (o->b->id == NL_TYPE_NULL) o->b = o->a;
    if (o->a->id == o->b->id) {
        const nl_type *common = nl_common_type(o->bind->arena, o->a, o->b, nl_confs_rules(o->bind->confs));
        return settle(o, o->a, o->b, common, intervals_kernel);
    }
    if (o->arith->op == NL_ARITH_SUBTRACT && o->a->id == NL_TYPE_INTERVAL_DT && is_interval(o->b)) return nl_bind_diff_types(o->bind);
    if (is_interval(o->a) && is_interval(o->b)) return raise_mixed_intervals(o);
    *is_handled = false;
    return NULL;
}

static nl_status scale_by_number(operands *o, bool *is_handled)
{
    *is_handled = true;
    const nl_type *number = o->b;
    if (number->id == NL_TYPE_STRING || number->id == NL_TYPE_NULL || number->id == NL_TYPE_FLOAT) number = nl_type_double();
    if (nl_type_is_integral(number)) number = nl_type_bigint();
    if (!nl_type_is_numeric(number)) {
        *is_handled = false;
        return NULL;
    }
    if (o->a->id == NL_TYPE_INTERVAL) return settle(o, o->a, nl_type_double(), o->a, calendar_number);
    return settle(o, o->a, number, nl_type_of(o->a->id), interval_number);
}

nl_status nl_bind_time_arithmetic(nl_bind *bind, nl_bound_function *bound, nl_arith *arith, bool *is_handled)
{
    operands o = {bind, bound, arith, bind->argument_types[0], bind->argument_types[1]};
    bool is_raising = arith->mode != NL_ARITH_NULL;
    bound->is_nullable |= arith->mode == NL_ARITH_NULL;
    bound->can_fail = is_raising;
    *is_handled = false;
    bool a_time = o.a->id == NL_TYPE_DATE || is_timestamp(o.a);
    bool b_time = o.b->id == NL_TYPE_DATE || is_timestamp(o.b);
    if (arith->op == NL_ARITH_SUBTRACT && b_time)
        return a_time || o.a->id == NL_TYPE_STRING || o.a->id == NL_TYPE_NULL ? subtract_times(&o, is_handled) : NULL;
    if (arith->op == NL_ARITH_SUBTRACT && is_timestamp(o.a) && o.b->id == NL_TYPE_STRING) return subtract_times(&o, is_handled);
    bool commutes = arith->op == NL_ARITH_ADD || arith->op == NL_ARITH_MULTIPLY;
    bool b_leads = arith->op == NL_ARITH_ADD ? b_time : is_interval(o.b) && !is_interval(o.a);
    if (commutes && b_leads && !a_time) {
        arith->is_swapped = true;
        o.a = bind->argument_types[1];
        o.b = bind->argument_types[0];
    }
    if (arith->op == NL_ARITH_ADD || arith->op == NL_ARITH_SUBTRACT) {
        if (o.a->id == NL_TYPE_DATE) return add_to_date(&o, is_handled);
        if (is_timestamp(o.a)) return add_to_timestamp(&o, is_handled);
        return combine_intervals(&o, is_handled);
    }
    if (arith->op == NL_ARITH_MULTIPLY || arith->op == NL_ARITH_DIVIDE)
        return is_interval(o.a) ? scale_by_number(&o, is_handled) : NULL;
    if (arith->op == NL_ARITH_DIV && is_ansi_interval(o.a) && o.a->id == o.b->id) {
        *is_handled = true;
        return settle(&o, o.a, o.b, nl_type_bigint(), intervals_quotient);
    }
    return NULL;
}
