/* function/cast_time.c - casts among dates, timestamps and intervals, and between them and numbers.
 *
 * Numbers are seconds for timestamps; for intervals they count the end field (INTERVAL DAY TO SECOND: seconds).
 */
#include <math.h>

#include "function/cast_internal.h"

#define EACH_ROW(cast, row, index)                                                                          \
    for (uint32_t i_ = 0, row, index;                                                                       \
         i_ < (cast)->selection.count &&                                                                    \
         (row = nl_selection_row((cast)->selection, i_), index = nl_reader_index(&(cast)->in, row), true);  \
         i_++)

#define I32_IN(cast) ((const int32_t *)(cast)->in.values)
#define I64_IN(cast) ((const int64_t *)(cast)->in.values)
#define I64_OUT(cast) ((int64_t *)(cast)->out.values)
#define I32_OUT(cast) ((int32_t *)(cast)->out.values)

static nl_status date_to_timestamp(nl_cast *cast)
{
    const nl_timezone *zone = cast->eval->confs->zone;
    EACH_ROW(cast, row, index)
    I64_OUT(cast)[row] = nl_timezone_from_local(zone, I32_IN(cast)[index] * NL_MICROS_PER_DAY);
    return NULL;
}

static nl_status date_to_ntz(nl_cast *cast)
{
    EACH_ROW(cast, row, index) I64_OUT(cast)[row] = I32_IN(cast)[index] * NL_MICROS_PER_DAY;
    return NULL;
}

static nl_status timestamp_to_date(nl_cast *cast)
{
    const nl_timezone *zone = cast->eval->confs->zone;
    EACH_ROW(cast, row, index)
    I32_OUT(cast)[row] = (int32_t)nl_floor_div(nl_timezone_to_local(zone, I64_IN(cast)[index]), NL_MICROS_PER_DAY);
    return NULL;
}

static nl_status ntz_to_date(nl_cast *cast)
{
    EACH_ROW(cast, row, index) I32_OUT(cast)[row] = (int32_t)nl_floor_div(I64_IN(cast)[index], NL_MICROS_PER_DAY);
    return NULL;
}

static nl_status timestamp_to_ntz(nl_cast *cast)
{
    const nl_timezone *zone = cast->eval->confs->zone;
    EACH_ROW(cast, row, index) I64_OUT(cast)[row] = nl_timezone_to_local(zone, I64_IN(cast)[index]);
    return NULL;
}

static nl_status ntz_to_timestamp(nl_cast *cast)
{
    const nl_timezone *zone = cast->eval->confs->zone;
    EACH_ROW(cast, row, index) I64_OUT(cast)[row] = nl_timezone_from_local(zone, I64_IN(cast)[index]);
    return NULL;
}

/* Stores an integer into an integral target, with the range of its type. */
static nl_status store_integral(nl_cast *cast, uint32_t row, int64_t value)
{
    uint32_t bits = nl_physical_size(cast->to->physical) * 8;
    int64_t max = (int64_t)(UINT64_MAX >> 1 >> (64 - bits));
    const bool wraps = cast->mode == NL_CAST_LEGACY && (cast->from->id == NL_TYPE_TIMESTAMP || cast->from->id == NL_TYPE_TIMESTAMP_NTZ);
    if ((value > max || value < -max - 1) && !wraps) return nl_cast_overflow(cast, row);
    nl_physical_set_i128(cast->to->physical, cast->out.values, row, value);
    return NULL;
}

static nl_status timestamp_to_integral(nl_cast *cast)
{
    EACH_ROW(cast, row, index) NL_TRY(store_integral(cast, row, nl_floor_div(I64_IN(cast)[index], NL_MICROS_PER_SECOND)));
    return NULL;
}

static nl_status timestamp_to_real(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        double seconds = (double)I64_IN(cast)[index] / 1000000.0;
        if (cast->to->physical == NL_PHYS_F32)
            ((float *)cast->out.values)[row] = (float)seconds;
        else
            ((double *)cast->out.values)[row] = seconds;
    }
    return NULL;
}

static nl_status store_decimal(nl_cast *cast, uint32_t row, nl_int128 value, int scale)
{
    nl_int128 result = 0;
    if (nl_decimal_rescale(value, scale, cast->to->scale, NL_ROUND_HALF_UP, &result) &&
        nl_decimal_fits(result, cast->to->precision)) {
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, result);
        return NULL;
    }
    char text[48];
    uint32_t length = nl_decimal_format(value, scale, text);
    return nl_cast_decimal_overflow(cast, row, (nl_str){text, length});
}

static nl_status timestamp_to_decimal(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        nl_int128 value = 0;
        double seconds = (double)I64_IN(cast)[index] / 1000000.0; /* by way of a double, as Spark */
        if (nl_decimal_from_double(seconds, cast->to->precision, cast->to->scale, &value))
            nl_physical_set_i128(cast->to->physical, cast->out.values, row, value);
        else
            NL_TRY(store_decimal(cast, row, I64_IN(cast)[index], 6));
    }
    return NULL;
}

static nl_status timestamp_to_bool(nl_cast *cast)
{
    EACH_ROW(cast, row, index) ((uint8_t *)cast->out.values)[row] = I64_IN(cast)[index] != 0;
    return NULL;
}

static nl_status all_null(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        (void)index;
        NL_TRY(nl_output_null(&cast->out, row));
    }
    return NULL;
}

static nl_status bool_to_timestamp(nl_cast *cast)
{
    EACH_ROW(cast, row, index) I64_OUT(cast)[row] = ((const uint8_t *)cast->in.values)[index];
    return NULL;
}

/* Whole seconds; too large ones stop at the ends, as TimeUnit.SECONDS.toMicros. */
static nl_status integral_to_timestamp(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        int64_t micros;
        int64_t seconds = nl_physical_i64(cast->from->physical, cast->in.values, index);
        if (__builtin_mul_overflow(seconds, NL_MICROS_PER_SECOND, &micros)) micros = seconds < 0 ? INT64_MIN : INT64_MAX;
        I64_OUT(cast)[row] = micros;
    }
    return NULL;
}

static nl_status raise_micros_overflow(double micros)
{
    char text[NL_NUMBER_TEXT_MAX + 1];
    uint32_t length = nl_format_double(micros, text);
    text[length++] = 'D';
    return NL_RAISE(CAST_OVERFLOW, NL_P_STR("value", ((nl_str){text, length})), NL_P("sourceType", "\"DOUBLE\""),
                    NL_P("targetType", "\"BIGINT\""), NL_P("ansiConfig", "\"spark.sql.ansi.enabled\""));
}

static nl_status real_to_timestamp(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        double seconds = nl_physical_f64(cast->from->physical, cast->in.values, index);
        if (!isfinite(seconds)) {
            NL_TRY(nl_cast_malformed(cast, row));
            continue;
        }
        double micros = seconds * 1000000.0;
        if (micros >= 9223372036854775807.0 || micros < -9223372036854775808.0) {
            if (nl_cast_raises(cast)) return raise_micros_overflow(micros);
            if (cast->mode == NL_CAST_TRY) {
                NL_TRY(nl_output_null(&cast->out, row));
                continue;
            }
            I64_OUT(cast)[row] = micros < 0 ? INT64_MIN : INT64_MAX;
            continue;
        }
        I64_OUT(cast)[row] = (int64_t)micros;
    }
    return NULL;
}

static nl_status decimal_to_timestamp(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        nl_int128 value = nl_physical_i128(cast->from->physical, cast->in.values, index);
        nl_int128 micros = 0;
        bool fits = nl_decimal_rescale(value, cast->from->scale, 6, NL_ROUND_DOWN, &micros);
        if (!fits || micros > INT64_MAX || micros < INT64_MIN)
            NL_TRY(nl_cast_overflow(cast, row));
        else
            I64_OUT(cast)[row] = (int64_t)micros;
    }
    return NULL;
}

static int64_t unit_of(const nl_type *type)
{
    switch ((nl_interval_field)type->end_field) {
    case NL_FIELD_YEAR:
        return 12;
    case NL_FIELD_MONTH:
        return 1;
    case NL_FIELD_DAY:
        return NL_MICROS_PER_DAY;
    case NL_FIELD_HOUR:
        return 3600 * NL_MICROS_PER_SECOND;
    case NL_FIELD_MINUTE:
        return 60 * NL_MICROS_PER_SECOND;
    case NL_FIELD_SECOND:
        break;
    }
    return NL_MICROS_PER_SECOND;
}

static nl_status integral_to_interval(nl_cast *cast)
{
    int64_t unit = unit_of(cast->to);
    int64_t max = cast->to->id == NL_TYPE_INTERVAL_YM ? INT32_MAX : INT64_MAX;
    EACH_ROW(cast, row, index)
    {
        int64_t amount;
        int64_t count = nl_physical_i64(cast->from->physical, cast->in.values, index);
        if (__builtin_mul_overflow(count, unit, &amount) || amount > max || amount < -max - 1)
            NL_TRY(nl_cast_overflow(cast, row));
        else
            nl_physical_set_i128(cast->to->physical, cast->out.values, row, amount);
    }
    return NULL;
}

static nl_status decimal_to_interval(nl_cast *cast)
{
    int64_t unit = unit_of(cast->to);
    bool is_ym = cast->to->id == NL_TYPE_INTERVAL_YM;
    int64_t max = is_ym ? INT32_MAX : INT64_MAX;
    EACH_ROW(cast, row, index)
    {
        nl_int128 value = nl_physical_i128(cast->from->physical, cast->in.values, index);
        nl_int128 amount = 0; /* microseconds are kept, whatever the end field */
        bool fits = is_ym ? nl_decimal_rescale(value, cast->from->scale, 0, NL_ROUND_HALF_UP, &amount)
                          : !__builtin_mul_overflow(value, (nl_int128)unit, &value) && nl_decimal_rescale(value, cast->from->scale, 0, NL_ROUND_HALF_UP, &amount);
        if (fits && is_ym) fits = amount <= max / unit && amount >= -(max / unit);
        if (fits && is_ym) amount *= unit;
        if (!fits || amount > max || amount < -(nl_int128)max - 1)
            NL_TRY(nl_cast_overflow(cast, row));
        else
            nl_physical_set_i128(cast->to->physical, cast->out.values, row, amount);
    }
    return NULL;
}

static nl_status interval_to_integral(nl_cast *cast)
{
    int64_t unit = unit_of(cast->from);
    EACH_ROW(cast, row, index)
    NL_TRY(store_integral(cast, row, nl_physical_i64(cast->from->physical, cast->in.values, index) / unit));
    return NULL;
}

static nl_status interval_to_decimal(nl_cast *cast)
{
    int64_t unit = unit_of(cast->from);
    bool has_fraction = cast->from->end_field == NL_FIELD_SECOND;
    EACH_ROW(cast, row, index)
    {
        int64_t amount = nl_physical_i64(cast->from->physical, cast->in.values, index);
        NL_TRY(has_fraction ? store_decimal(cast, row, amount, 6) : store_decimal(cast, row, amount / unit, 0));
    }
    return NULL;
}

/* To other fields of the same family: what lies below the end field is cut off. */
static nl_status interval_to_interval(nl_cast *cast)
{
    int64_t unit = cast->to->end_field == NL_FIELD_SECOND ? 1 : unit_of(cast->to);
    EACH_ROW(cast, row, index)
    {
        int64_t amount = nl_physical_i64(cast->from->physical, cast->in.values, index);
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, amount / unit * unit);
    }
    return NULL;
}

static bool is_interval(const nl_type *type)
{
    return type->id == NL_TYPE_INTERVAL_YM || type->id == NL_TYPE_INTERVAL_DT;
}

static nl_cast_loop from_timestamp(const nl_type *to)
{
    if (to->id == NL_TYPE_DATE) return timestamp_to_date;
    if (to->id == NL_TYPE_TIMESTAMP_NTZ) return timestamp_to_ntz;
    if (nl_type_is_integral(to)) return timestamp_to_integral;
    if (to->id == NL_TYPE_DECIMAL) return timestamp_to_decimal;
    if (to->id == NL_TYPE_BOOLEAN) return timestamp_to_bool;
    return nl_type_is_numeric(to) ? timestamp_to_real : NULL;
}

static nl_cast_loop to_timestamp(const nl_type *from)
{
    if (from->id == NL_TYPE_DATE) return date_to_timestamp;
    if (from->id == NL_TYPE_TIMESTAMP_NTZ) return ntz_to_timestamp;
    if (from->id == NL_TYPE_BOOLEAN) return bool_to_timestamp;
    if (nl_type_is_integral(from)) return integral_to_timestamp;
    if (from->id == NL_TYPE_DECIMAL) return decimal_to_timestamp;
    return nl_type_is_numeric(from) ? real_to_timestamp : NULL;
}

nl_cast_loop nl_cast_time_loop(const nl_type *from, const nl_type *to)
{
    if (is_interval(from)) {
        if (from->id == to->id) return interval_to_interval;
        if (nl_type_is_integral(to)) return interval_to_integral;
        return to->id == NL_TYPE_DECIMAL ? interval_to_decimal : NULL;
    }
    if (is_interval(to)) {
        if (nl_type_is_integral(from)) return integral_to_interval;
        return from->id == NL_TYPE_DECIMAL ? decimal_to_interval : NULL;
    }
    if (from->id == NL_TYPE_TIMESTAMP) return from_timestamp(to);
    if (to->id == NL_TYPE_TIMESTAMP) return to_timestamp(from);
    if (from->id == NL_TYPE_DATE) {
        if (to->id == NL_TYPE_TIMESTAMP_NTZ) return date_to_ntz;
        return nl_type_is_numeric(to) || to->id == NL_TYPE_BOOLEAN ? all_null : NULL;
    }
    if (from->id == NL_TYPE_TIMESTAMP_NTZ && to->id == NL_TYPE_DATE) return ntz_to_date;
    return NULL;
}
