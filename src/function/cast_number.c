/* function/cast_number.c - casts among booleans, integers, floats and decimals.
 *
 * Integers and booleans are read as int64, floats as double, decimals as 128-bit integers with their scale; the common
 * widenings have flat loops of their own. Legacy mode follows Java: integers wrap, doubles saturate, narrower targets
 * take the low bits of the int.
 */
#include <math.h>

#include "function/cast_internal.h"

typedef struct int_range {
    int64_t min;
    int64_t max;
} int_range;

static int_range range_of(const nl_type *type)
{
    switch (type->physical) {
    case NL_PHYS_I8:
        return (int_range){INT8_MIN, INT8_MAX};
    case NL_PHYS_I16:
        return (int_range){INT16_MIN, INT16_MAX};
    case NL_PHYS_I32:
        return (int_range){INT32_MIN, INT32_MAX};
    case NL_PHYS_NONE:
    case NL_PHYS_BOOL:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_STRING:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        break;
    }
    return (int_range){INT64_MIN, INT64_MAX};
}

#define EACH_ROW(cast, row, index)                                                                          \
    for (uint32_t i_ = 0, row, index;                                                                       \
         i_ < (cast)->selection.count &&                                                                    \
         (row = nl_selection_row((cast)->selection, i_), index = nl_reader_index(&(cast)->in, row), true);  \
         i_++)

static nl_status int_to_int(nl_cast *cast)
{
    nl_physical from = cast->from->physical;
    nl_physical to = cast->to->physical;
    int_range range = range_of(cast->to);
    EACH_ROW(cast, row, index)
    {
        int64_t value = nl_physical_i64(from, cast->in.values, index);
        if (NL_UNLIKELY(value < range.min || value > range.max) && cast->mode != NL_CAST_LEGACY)
            NL_TRY(nl_cast_overflow(cast, row));
        else
            nl_physical_set_i128(to, cast->out.values, row, value);
    }
    return NULL;
}

/* Widening loops: cannot fail, so they are flat over all rows when nothing is filtered. */
#define WIDEN_LOOP(name, in_type, out_type)                                                              \
    static nl_status name(nl_cast *cast)                                                                 \
    {                                                                                                    \
        const in_type *restrict in = cast->in.values;                                                    \
        out_type *restrict out = cast->out.values;                                                       \
        if (cast->selection.rows == NULL && cast->source->encoding == NL_FLAT) {                         \
            for (uint32_t row = 0; row < cast->selection.count; row++) out[row] = (out_type)in[row];     \
            return NULL;                                                                                 \
        }                                                                                                \
        EACH_ROW(cast, row, index) out[row] = (out_type)in[index];                                       \
        return NULL;                                                                                     \
    }
WIDEN_LOOP(i32_to_i64, int32_t, int64_t)
WIDEN_LOOP(i32_to_f64, int32_t, double)
WIDEN_LOOP(i64_to_f64, int64_t, double)
WIDEN_LOOP(f32_to_f64, float, double)
WIDEN_LOOP(f64_to_f32, double, float)

static nl_status int_to_real(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        int64_t value = nl_physical_i64(cast->from->physical, cast->in.values, index);
        if (cast->to->physical == NL_PHYS_F32)
            ((float *)cast->out.values)[row] = (float)value;
        else
            ((double *)cast->out.values)[row] = (double)value;
    }
    return NULL;
}

static nl_status int_to_bool(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    ((uint8_t *)cast->out.values)[row] = nl_physical_i128(cast->from->physical, cast->in.values, index) != 0;
    return NULL;
}

static nl_status real_to_bool(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    ((uint8_t *)cast->out.values)[row] = nl_physical_f64(cast->from->physical, cast->in.values, index) != 0;
    return NULL;
}

static nl_status int_to_decimal(nl_cast *cast)
{
    nl_int128 power = nl_decimal_powers[cast->to->scale];
    nl_int128 limit = nl_decimal_powers[cast->to->precision - cast->to->scale];
    EACH_ROW(cast, row, index)
    {
        int64_t value = nl_physical_i64(cast->from->physical, cast->in.values, index);
        if (NL_UNLIKELY(value >= limit || value <= -limit)) {
            char text[NL_NUMBER_TEXT_MAX];
            uint32_t length = nl_format_int64(value, text);
            NL_TRY(nl_cast_decimal_overflow(cast, row, (nl_str){text, length}));
            continue;
        }
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, value * power);
    }
    return NULL;
}

/* Java's (int) and (long) of a double: NaN is 0, too large ones saturate. */
static int64_t saturate(double value, const nl_type *to)
{
    if (isnan(value)) return 0;
    bool is_long = to->physical == NL_PHYS_I64;
    double low = is_long ? -9223372036854775808.0 : -2147483648.0;
    double high = is_long ? 9223372036854775807.0 : 2147483647.0;
    if (value <= low) return is_long ? INT64_MIN : INT32_MIN;
    if (value >= high) return is_long ? INT64_MAX : INT32_MAX;
    return (int64_t)value;
}

static nl_status real_to_int(nl_cast *cast)
{
    int_range range = range_of(cast->to);
    /* Spark compares floor(x) <= max and ceil(x) >= min; both bounds are exact in double but INT64_MAX. */
    double high = cast->to->physical == NL_PHYS_I64 ? 9223372036854775807.0 : (double)range.max;
    double low = (double)range.min;
    EACH_ROW(cast, row, index)
    {
        double value = nl_physical_f64(cast->from->physical, cast->in.values, index);
        bool fits = floor(value) <= high && ceil(value) >= low;
        if (NL_UNLIKELY(!fits) && cast->mode != NL_CAST_LEGACY) {
            NL_TRY(nl_cast_overflow(cast, row));
            continue;
        }
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, saturate(value, cast->to));
    }
    return NULL;
}

void nl_append_plain_double(double value, nl_builder *out)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_str whole = {text, nl_format_double(value, text)};
    size_t e = nl_str_find_char(whole, 'E', 0);
    if (e == NL_NOT_FOUND) {
        nl_append(out, whole);
        return;
    }
    int64_t exponent = 0;
    if (!nl_parse_int64(nl_str_slice(whole, e + 1, whole.length), &exponent)) exponent = 0;
    nl_str mantissa = nl_str_slice(whole, 0, e);
    if (mantissa.data[0] == '-') {
        nl_append_char(out, '-');
        mantissa = nl_str_slice(mantissa, 1, mantissa.length);
    }
    char digits[NL_NUMBER_TEXT_MAX];
    uint32_t count = 0;
    for (size_t i = 0; i < mantissa.length; i++)
        if (mantissa.data[i] != '.') digits[count++] = mantissa.data[i];
    if (count == 2 && digits[1] == '0') count = 1; /* Java writes 1.0E20 for one digit */
    int64_t point = exponent + 1;                  /* digits before the point */
    if (point <= 0) {
        nl_append_c(out, "0.");
        nl_append_fill(out, '0', (size_t)-point);
        nl_append(out, (nl_str){digits, count});
        return;
    }
    for (int64_t i = 0; i < NL_MAX(point, (int64_t)count); i++) {
        if (i == point) nl_append_char(out, '.');
        nl_append_char(out, i < count ? digits[i] : '0');
    }
}

static nl_status real_to_decimal(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        double value = nl_physical_f64(cast->from->physical, cast->in.values, index);
        nl_int128 unscaled = 0;
        if (!isfinite(value)) {
            NL_TRY(nl_output_null(&cast->out, row)); /* null in every mode, as in Spark */
            continue;
        }
        if (cast->from->physical == NL_PHYS_F32) {
            /* Spark widens by the float's own shortest text: 12.345f is 12.345, not 12.34500026702881. */
            char text[NL_NUMBER_TEXT_MAX];
            uint32_t length = nl_format_float((float)value, text);
            if (!nl_parse_double((nl_str){text, length}, &value)) value = 0;
        }
        if (!nl_decimal_from_double(value, cast->to->precision, cast->to->scale, &unscaled)) {
            nl_builder text;
            nl_builder_init(&text, 1024);
            nl_append_plain_double(value, &text);
            nl_status status = nl_cast_decimal_overflow(cast, row, nl_builder_str(&text));
            nl_builder_fini(&text);
            NL_TRY(status);
            continue;
        }
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, unscaled);
    }
    return NULL;
}

static nl_status decimal_to_int(nl_cast *cast)
{
    int_range range = range_of(cast->to);
    nl_int128 power = nl_decimal_powers[cast->from->scale];
    EACH_ROW(cast, row, index)
    {
        nl_int128 whole = nl_physical_i128(cast->from->physical, cast->in.values, index) / power;
        if (NL_UNLIKELY(whole < range.min || whole > range.max) && cast->mode != NL_CAST_LEGACY) {
            NL_TRY(nl_cast_overflow(cast, row));
            continue;
        }
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, whole);
    }
    return NULL;
}

static nl_status decimal_to_real(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        nl_int128 unscaled = nl_physical_i128(cast->from->physical, cast->in.values, index);
        double value = nl_decimal_to_double(unscaled, cast->from->scale);
        if (cast->to->physical == NL_PHYS_F32)
            ((float *)cast->out.values)[row] = (float)value;
        else
            ((double *)cast->out.values)[row] = value;
    }
    return NULL;
}

static nl_status decimal_to_decimal(nl_cast *cast)
{
    EACH_ROW(cast, row, index)
    {
        nl_int128 value = nl_physical_i128(cast->from->physical, cast->in.values, index);
        nl_int128 result = 0;
        if (NL_UNLIKELY(!nl_decimal_rescale(value, cast->from->scale, cast->to->scale, NL_ROUND_HALF_UP, &result) ||
                        !nl_decimal_fits(result, cast->to->precision))) {
            char text[48];
            uint32_t length = nl_decimal_format(value, cast->from->scale, text);
            NL_TRY(nl_cast_decimal_overflow(cast, row, (nl_str){text, length}));
            continue;
        }
        nl_physical_set_i128(cast->to->physical, cast->out.values, row, result);
    }
    return NULL;
}

static bool is_real(const nl_type *type)
{
    return type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE;
}

nl_cast_loop nl_cast_number_loop(const nl_type *from, const nl_type *to)
{
    bool from_int = nl_type_is_integral(from) || from->id == NL_TYPE_BOOLEAN;
    if (from_int && nl_type_is_integral(to))
        return from->physical == NL_PHYS_I32 && to->physical == NL_PHYS_I64 ? i32_to_i64 : int_to_int;
    if (to->id == NL_TYPE_BOOLEAN) return is_real(from) ? real_to_bool : int_to_bool;
    if (from_int && is_real(to)) {
        if (from->physical == NL_PHYS_I32 && to->physical == NL_PHYS_F64) return i32_to_f64;
        if (from->physical == NL_PHYS_I64 && to->physical == NL_PHYS_F64) return i64_to_f64;
        return int_to_real;
    }
    if (from_int && to->id == NL_TYPE_DECIMAL) return int_to_decimal;
    if (is_real(from) && nl_type_is_integral(to)) return real_to_int;
    if (is_real(from) && to->id == NL_TYPE_DECIMAL) return real_to_decimal;
    if (is_real(from) && is_real(to)) return from->id == NL_TYPE_FLOAT ? f32_to_f64 : f64_to_f32;
    if (from->id == NL_TYPE_DECIMAL && nl_type_is_integral(to)) return decimal_to_int;
    if (from->id == NL_TYPE_DECIMAL && is_real(to)) return decimal_to_real;
    if (from->id == NL_TYPE_DECIMAL && to->id == NL_TYPE_DECIMAL) return decimal_to_decimal;
    return NULL;
}
