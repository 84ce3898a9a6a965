/* base/decimal.h - decimals of up to 38 digits as unscaled 128-bit integers; rounding and overflow as Spark's. */
#pragma once

#include "base/status.h"
#include "base/str.h"

typedef __int128 nl_int128;
typedef unsigned __int128 nl_uint128;

#define NL_DECIMAL_PRECISION_MAX 38
extern const nl_int128 nl_decimal_powers[NL_DECIMAL_PRECISION_MAX + 1]; /* 10^0 … 10^38 */

typedef enum nl_rounding { NL_ROUND_HALF_UP, NL_ROUND_HALF_EVEN, NL_ROUND_DOWN, NL_ROUND_FLOOR, NL_ROUND_CEILING } nl_rounding;

static inline bool nl_decimal_fits(nl_int128 value, int precision) /* |value| < 10^precision */
{
    return value < nl_decimal_powers[precision] && value > -nl_decimal_powers[precision];
}
/* value at from_scale brought to to_scale. False when the result leaves 38 digits. */
bool nl_decimal_rescale(nl_int128 value, int from_scale, int to_scale, nl_rounding rounding, nl_int128 *out);
/* Results are exact up to 256 bits inside, then rounded half-up to result_scale and checked against precision. */
bool nl_decimal_add(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out);
bool nl_decimal_subtract(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out);
bool nl_decimal_multiply(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out);
bool nl_decimal_divide(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out); /* b != 0 */
bool nl_decimal_remainder(nl_int128 a, int a_scale, nl_int128 b, int b_scale, int precision, int scale, nl_int128 *out);
int nl_decimal_compare(nl_int128 a, int a_scale, nl_int128 b, int b_scale);
int nl_decimal_digits(nl_int128 value); /* decimal digits of |value|; 1 for 0 */

/* "-12.50", scale kept, never an exponent. Returns bytes written; `out` needs 48. */
uint32_t nl_decimal_format(nl_int128 value, int scale, char *out);
/* Plain or exponent notation, trimmed of white space; *scale is the text's own. False when it is no number or has
 * more than 38 digits (is_overflow then true, when not NULL). */
bool nl_decimal_parse(nl_str text, nl_int128 *value, int *scale, bool *is_overflow);
double nl_decimal_to_double(nl_int128 value, int scale);
bool nl_decimal_from_double(double value, int precision, int scale, nl_int128 *out); /* shortest text, then half-up, as Spark */
