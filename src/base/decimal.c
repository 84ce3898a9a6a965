/* base/decimal.c - arithmetic on 38-digit decimals: sign and magnitude, in 128 bits when that is enough and in 256 bits
 * otherwise. Every result is the exact one rounded once, half up (away from zero), which is what Spark's decimals give.
 * Scales lie within 0 … 38 in SQL; rescaling also takes negative ones.
 */
#include "base/decimal.h"

#include "base/wide.h"

#define POWER(high) ((nl_int128)high##ull * 10000000000000000000ull) /* high times 10^19 */

const nl_int128 nl_decimal_powers[NL_DECIMAL_PRECISION_MAX + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
    1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
    1000000000000000000, POWER(1), POWER(10), POWER(100), POWER(1000), POWER(10000), POWER(100000),
    POWER(1000000), POWER(10000000), POWER(100000000), POWER(1000000000), POWER(10000000000),
    POWER(100000000000), POWER(1000000000000), POWER(10000000000000), POWER(100000000000000),
    POWER(1000000000000000), POWER(10000000000000000), POWER(100000000000000000),
    POWER(1000000000000000000), POWER(10000000000000000000)};

static inline nl_uint128 magnitude(nl_int128 value)
{
    return value < 0 ? -(nl_uint128)value : (nl_uint128)value;
}

/* Puts the sign back; false when the magnitude has more than `precision` digits. */
static inline bool finish(nl_uint128 value, bool is_negative, int precision, nl_int128 *out)
{
    if (value >= (nl_uint128)nl_decimal_powers[precision]) return false;
    *out = is_negative ? -(nl_int128)value : (nl_int128)value;
    return true;
}

/* Whether a truncated magnitude goes up by one. half: remainder against half the divisor (-1, 0, 1). */
static bool rounds_up(nl_rounding rounding, bool is_negative, bool is_odd, bool has_remainder, int half)
{
    switch (rounding) {
    case NL_ROUND_HALF_UP: return half >= 0;
    case NL_ROUND_HALF_EVEN: return half > 0 || (half == 0 && is_odd);
    case NL_ROUND_DOWN: return false;
    case NL_ROUND_FLOOR: return has_remainder && is_negative;
    case NL_ROUND_CEILING: return has_remainder && !is_negative;
    }
    return false;
}

static inline int compare_half(nl_uint128 remainder, nl_uint128 divisor)
{
    nl_uint128 rest = divisor - remainder;
    return remainder < rest ? -1 : remainder > rest;
}

bool nl_decimal_rescale(nl_int128 value, int from_scale, int to_scale, nl_rounding rounding, nl_int128 *out)
{
    if (to_scale >= from_scale) {
        int power = to_scale - from_scale;
        if (value == 0) {
            *out = 0;
            return true;
        }
        if (power > NL_DECIMAL_PRECISION_MAX || !nl_decimal_fits(value, NL_DECIMAL_PRECISION_MAX - power)) return false;
        *out = value * nl_decimal_powers[power];
        return true;
    }
    int power = from_scale - to_scale;
    bool is_negative = value < 0;
    nl_uint128 whole = magnitude(value);
    nl_uint128 quotient = 0;
    nl_uint128 remainder = whole;
    int half = -1; /* ten to the 39th and more: less than half of it is left, whatever the value */
    if (power <= NL_DECIMAL_PRECISION_MAX) {
        nl_uint128 divisor = (nl_uint128)nl_decimal_powers[power];
        quotient = whole / divisor;
        remainder = whole % divisor;
        half = compare_half(remainder, divisor);
    }
    if (rounds_up(rounding, is_negative, (quotient & 1) != 0, remainder != 0, half)) quotient++;
    return finish(quotient, is_negative, NL_DECIMAL_PRECISION_MAX, out);
}

/* dividend / divisor rounded half up, with a sign. */
static bool wide_quotient(const nl_wide *dividend, const nl_wide *divisor, bool is_negative, int precision,
                          nl_int128 *out)
{
    nl_wide quotient;
    nl_wide remainder;
    nl_wide_divide(dividend, divisor, &quotient, &remainder);
    nl_uint128 value;
    if (!nl_wide_to_128(&quotient, &value)) return false;
    nl_wide rest = *divisor;
    nl_wide_subtract(&rest, &remainder);
    bool is_up = nl_wide_compare(&remainder, &rest) >= 0;
    if (is_up && value == ~(nl_uint128)0) return false;
    return finish(value + (is_up ? 1 : 0), is_negative, precision, out);
}

/* A magnitude at from_scale (0 … 76) brought to to_scale, rounded half up, with a sign. */
static bool wide_rescale(nl_wide value, int from_scale, int to_scale, bool is_negative, int precision, nl_int128 *out)
{
    nl_wide one = nl_wide_from(1);
    if (from_scale > to_scale) {
        if (!nl_wide_scale_up(&one, from_scale - to_scale)) return finish(0, false, precision, out);
    } else if (!nl_wide_scale_up(&value, to_scale - from_scale)) {
        return false;
    }
    return wide_quotient(&value, &one, is_negative, precision, out);
}

/* Narrows an exact 128-bit result to the result type. */
static bool narrow(nl_int128 value, int from_scale, int to_scale, int precision, nl_int128 *out)
{
    nl_int128 rounded;
    if (!nl_decimal_rescale(value, from_scale, to_scale, NL_ROUND_HALF_UP, &rounded)) return false;
    if (!nl_decimal_fits(rounded, precision)) return false;
    *out = rounded;
    return true;
}

/* Both operands at the larger scale, when 37 digits hold them: their sum then fits in 128 bits. */
static bool align(nl_int128 *a, int a_scale, nl_int128 *b, int b_scale)
{
    int difference = a_scale - b_scale;
    nl_int128 *raised = difference < 0 ? a : b;
    int power = difference < 0 ? -difference : difference;
    if (power > 36 || !nl_decimal_fits(*raised, 37 - power)) return false;
    *raised *= nl_decimal_powers[power];
    return true;
}

/* |a| and |b| at their common scale, in 256 bits; 10^76 fits. */
static void align_wide(nl_int128 a, int a_scale, nl_int128 b, int b_scale, nl_wide *wide_a, nl_wide *wide_b)
{
    int scale = NL_MAX(a_scale, b_scale);
    *wide_a = nl_wide_from(magnitude(a));
    *wide_b = nl_wide_from(magnitude(b));
    bool fits = nl_wide_scale_up(wide_a, scale - a_scale) && nl_wide_scale_up(wide_b, scale - b_scale);
    NL_ASSERT(fits);
    (void)fits;
}

bool nl_decimal_add(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out)
{
    int common_scale = NL_MAX(a_scale, b_scale);
    nl_int128 x = a;
    nl_int128 y = b;
    if (align(&x, a_scale, &y, b_scale)) return narrow(x + y, common_scale, scale, precision, out);
    nl_wide sum;
    nl_wide other;
    align_wide(a, a_scale, b, b_scale, &sum, &other);
    bool is_negative = a < 0;
    if ((a < 0) == (b < 0)) {
        nl_wide_add(&sum, &other);
    } else if (nl_wide_compare(&sum, &other) >= 0) {
        nl_wide_subtract(&sum, &other);
    } else {
        nl_wide_subtract(&other, &sum);
        sum = other;
        is_negative = b < 0;
    }
    return wide_rescale(sum, common_scale, scale, is_negative, precision, out);
}

bool nl_decimal_subtract(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out)
{
    return nl_decimal_add(a, a_scale, -b, b_scale, precision, scale, out);
}

bool nl_decimal_multiply(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out)
{
    int exact_scale = a_scale + b_scale;
    if (nl_decimal_fits(a, 19) && nl_decimal_fits(b, 19)) return narrow(a * b, exact_scale, scale, precision, out);
    bool is_negative = (a < 0) != (b < 0);
    return wide_rescale(nl_wide_product(magnitude(a), magnitude(b)), exact_scale, scale, is_negative, precision, out);
}

bool nl_decimal_divide(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out)
{
    NL_ASSERT(b != 0);
    bool is_negative = (a < 0) != (b < 0);
    nl_uint128 x = magnitude(a);
    nl_uint128 y = magnitude(b);
    int power = scale - a_scale + b_scale; /* quotient = a * 10^power / b */
    if (power >= 0 && power <= NL_DECIMAL_PRECISION_MAX && nl_decimal_fits(a, NL_DECIMAL_PRECISION_MAX - power)) {
        nl_uint128 dividend = x * (nl_uint128)nl_decimal_powers[power];
        nl_uint128 quotient = dividend / y;
        nl_uint128 remainder = dividend % y;
        return finish(quotient + (compare_half(remainder, y) >= 0 ? 1 : 0), is_negative, precision, out);
    }
    nl_wide dividend = nl_wide_from(x);
    nl_wide divisor = nl_wide_from(y);
    /* More than 256 bits over at most 38 digits leave more than 38 digits. */
    if (power >= 0 ? !nl_wide_scale_up(&dividend, power) : !nl_wide_scale_up(&divisor, -power)) return false;
    return wide_quotient(&dividend, &divisor, is_negative, precision, out);
}

bool nl_decimal_remainder(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out)
{
    NL_ASSERT(b != 0);
    int common_scale = NL_MAX(a_scale, b_scale);
    nl_int128 x = a;
    nl_int128 y = b;
    if (align(&x, a_scale, &y, b_scale)) return narrow(x % y, common_scale, scale, precision, out);
    nl_wide dividend;
    nl_wide divisor;
    nl_wide quotient;
    nl_wide remainder;
    align_wide(a, a_scale, b, b_scale, &dividend, &divisor);
    nl_wide_divide(&dividend, &divisor, &quotient, &remainder);
    return wide_rescale(remainder, common_scale, scale, a < 0, precision, out);
}

int nl_decimal_compare(nl_int128 a, int a_scale, nl_int128 b, int b_scale)
{
    if (a_scale == b_scale || (a < 0) != (b < 0)) return a < b ? -1 : a > b;
    nl_int128 x = a;
    nl_int128 y = b;
    if (align(&x, a_scale, &y, b_scale)) return x < y ? -1 : x > y;
    nl_wide wide_a;
    nl_wide wide_b;
    align_wide(a, a_scale, b, b_scale, &wide_a, &wide_b);
    int order = nl_wide_compare(&wide_a, &wide_b);
    return a < 0 ? -order : order;
}

int nl_decimal_digits(nl_int128 value)
{
    nl_uint128 rest = magnitude(value);
    int digits = 1;
    while (digits <= NL_DECIMAL_PRECISION_MAX && rest >= (nl_uint128)nl_decimal_powers[digits]) digits++;
    return digits;
}
