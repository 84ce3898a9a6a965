/* base/scan.c - decimal text to digits and exponent, and on to doubles: by exact arithmetic when digits and exponent are
 * small, else by libc's correctly rounding conversion in the "C" locale.
 */
#include "base/scan.h"

#include <locale.h>
#include <stdlib.h>

#include "base/number.h"

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_sign_at(nl_str text, size_t at)
{
    return at < text.length && (text.data[at] == '-' || text.data[at] == '+');
}

static void take_digit(nl_scan *out, char digit, bool is_fraction)
{
    if (out->count == 0 && digit == '0') {
        out->exponent -= is_fraction;
    } else if (out->count < NL_SCAN_DIGITS_MAX) {
        out->digits[out->count++] = digit;
        out->exponent -= is_fraction;
    } else {
        if (digit != '0') out->digits[NL_SCAN_DIGITS_MAX - 1] |= 1; /* larger than what is kept: no longer a tie */
        out->exponent += !is_fraction;
    }
}

static bool scan_exponent(nl_str text, size_t at, nl_scan *out)
{
    bool is_negative = at < text.length && text.data[at] == '-';
    if (is_sign_at(text, at)) at++;
    size_t first = at;
    int64_t exponent = 0;
    for (; at < text.length && is_digit(text.data[at]); at++)
        exponent = NL_MIN(exponent * 10 + (text.data[at] - '0'), (int64_t)1 << 40);
    out->exponent += is_negative ? -exponent : exponent;
    out->end = at;
    return at > first;
}

bool nl_scan_decimal(nl_str text, nl_scan *out)
{
    out->count = 0;
    out->exponent = 0;
    out->is_negative = text.length > 0 && text.data[0] == '-';
    size_t at = is_sign_at(text, 0) ? 1 : 0;
    bool has_point = false;
    bool has_digit = false;
    for (; at < text.length; at++) {
        if (is_digit(text.data[at])) {
            has_digit = true;
            take_digit(out, text.data[at], has_point);
        } else if (text.data[at] == '.' && !has_point) {
            has_point = true;
        } else {
            break;
        }
    }
    out->end = at;
    if (!has_digit) return false;
    if (at == text.length || (text.data[at] != 'e' && text.data[at] != 'E')) return true;
    return scan_exponent(text, at + 1, out);
}

/* digits * 10^exponent when both are exact doubles, so that one rounding is left (William Clinger, 1990). */
static bool convert_fast(const nl_scan *in, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (in->count > 15 || in->exponent < -22 || in->exponent > 22) return false;
    uint64_t digits = 0;
    for (uint32_t i = 0; i < in->count; i++) digits = digits * 10 + (uint64_t)(in->digits[i] - '0');
    *value = in->exponent < 0 ? (double)digits / powers[-in->exponent] : (double)digits * powers[in->exponent];
    return true;
}

#define PLAIN_BYTES (NL_SCAN_DIGITS_MAX + 16)

/* The number as libc reads it, without its sign. */
static void write_plain(const nl_scan *in, char out[PLAIN_BYTES])
{
    memcpy(out, in->digits, in->count);
    out[in->count] = 'e';
    int64_t exponent = NL_MAX(-100000, NL_MIN(in->exponent, 100000)); /* zero and infinity are far nearer */
    uint32_t length = nl_format_int64(exponent, out + in->count + 1);
    out[in->count + 1 + length] = '\0';
}

double nl_scan_to_double(const nl_scan *in)
{
    double value = 0;
    if (in->count > 0 && !convert_fast(in, &value)) {
        char plain[PLAIN_BYTES];
        write_plain(in, plain);
        value = strtod_l(plain, NULL, newlocale(LC_ALL_MASK, "C", NULL)); /* glibc's static object: no allocation */
    }
    return in->is_negative ? -value : value;
}

float nl_scan_to_float(const nl_scan *in)
{
    float value = 0;
    if (in->count > 0) { /* not by way of a double, which would round twice */
        char plain[PLAIN_BYTES];
        write_plain(in, plain);
        value = strtof_l(plain, NULL, newlocale(LC_ALL_MASK, "C", NULL));
    }
    return in->is_negative ? -value : value;
}

bool nl_scan_to_decimal(const nl_scan *in, int precision, int scale, nl_int128 *out)
{
    *out = 0;
    int64_t kept = (int64_t)in->count + in->exponent + scale; /* digits of the unscaled result */
    if (in->count == 0 || kept < 0) return true;
    if (kept > NL_DECIMAL_PRECISION_MAX) return false;
    nl_int128 value = 0;
    for (int64_t i = 0; i < kept; i++) value = value * 10 + (i < in->count ? in->digits[i] - '0' : 0);
    if (kept < in->count && in->digits[kept] >= '5') value++;
    if (!nl_decimal_fits(value, precision)) return false;
    *out = in->is_negative ? -value : value;
    return true;
}
