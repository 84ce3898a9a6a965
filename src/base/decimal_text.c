/* base/decimal_text.c - decimals to and from text and doubles, as java.math.BigDecimal and Spark's casts do it. */
#include <math.h>

#include "base/decimal.h"
#include "base/digits.h"
#include "base/number.h"
#include "base/scan.h"

uint32_t nl_decimal_format(nl_int128 value, int scale, char *out)
{
    char reversed[48];
    int count = 0;
    nl_uint128 rest = value < 0 ? -(nl_uint128)value : (nl_uint128)value;
    uint64_t low_part = 0;
    while (rest > UINT64_MAX) { /* 64-bit divisions are cheaper: take off 18 digits at a time */
        low_part = (uint64_t)(rest % 1000000000000000000ull);
        rest /= 1000000000000000000ull;
        for (int i = 0; i < 18; i++, low_part /= 10) reversed[count++] = (char)('0' + low_part % 10);
    }
    for (uint64_t head = (uint64_t)rest; head > 0; head /= 10) reversed[count++] = (char)('0' + head % 10);
    while (count <= scale) reversed[count++] = '0'; /* at least one digit before the point */
    uint32_t length = 0;
    if (value < 0) out[length++] = '-';
    if (count == 0) out[length++] = '0';
    for (int i = count - 1; i >= 0; i--) {
        out[length++] = reversed[i];
        if (i == scale && scale > 0) out[length++] = '.';
    }
    for (int i = scale; i < 0 && value != 0 && length < 47; i++) out[length++] = '0';
    return length;
}

static nl_str trim_java(nl_str text)
{
    size_t start = 0;
    size_t stop = text.length;
    while (start < stop && (uint8_t)text.data[start] <= ' ') start++;
    while (stop > start && (uint8_t)text.data[stop - 1] <= ' ') stop--;
    return nl_str_slice(text, start, stop);
}

/* The whole text is a number and its scale fits BigDecimal's 32 bits. */
static bool scan_whole(nl_str text, nl_scan *scan)
{
    text = trim_java(text);
    return nl_scan_decimal(text, scan) && scan->end == text.length && scan->exponent <= INT32_MAX &&
           scan->exponent >= -(int64_t)INT32_MAX;
}

bool nl_decimal_parse(nl_str text, nl_int128 *value, int *scale, bool *is_overflow)
{
    if (is_overflow != NULL) *is_overflow = false;
    nl_scan scan;
    if (!scan_whole(text, &scan)) return false;
    if (scan.count > NL_DECIMAL_PRECISION_MAX) {
        if (is_overflow != NULL) *is_overflow = true;
        return false;
    }
    nl_int128 digits = 0;
    for (uint32_t i = 0; i < scan.count; i++) digits = digits * 10 + (scan.digits[i] - '0');
    *value = scan.is_negative ? -digits : digits;
    *scale = (int)-scan.exponent;
    return true;
}

bool nl_cast_decimal(nl_str text, int precision, int scale, nl_int128 *out, bool *is_overflow)
{
    if (is_overflow != NULL) *is_overflow = false;
    nl_scan scan;
    if (!scan_whole(text, &scan)) return false;
    nl_int128 value;
    /* Spark looks at the digits before the point first, also for zero: "0e400" is too large. */
    bool fits = NL_MAX(scan.count, 1) + scan.exponent <= NL_DECIMAL_PRECISION_MAX;
    if (!fits || !nl_scan_to_decimal(&scan, precision, scale, &value)) {
        if (is_overflow != NULL) *is_overflow = true;
        return false;
    }
    *out = value;
    return true;
}

double nl_decimal_to_double(nl_int128 value, int scale)
{
    nl_scan scan = {.exponent = -scale, .is_negative = value < 0};
    char text[48];
    uint32_t length = nl_decimal_format(value, 0, text);
    uint32_t start = value < 0 ? 1 : 0;
    scan.count = value == 0 ? 0 : length - start;
    memcpy(scan.digits, text + start, scan.count);
    double result = nl_scan_to_double(&scan);
    return value == 0 ? 0.0 : result;
}

bool nl_decimal_from_double(double value, int precision, int scale, nl_int128 *out)
{
    if (!isfinite(value)) return false;
    if (value == 0) {
        *out = 0;
        return true;
    }
    nl_digits digits;
    nl_digits_of_double(fabs(value), &digits);
    nl_scan scan;
    memcpy(scan.digits, digits.text, (size_t)digits.count);
    scan.count = (uint32_t)digits.count;
    scan.exponent = digits.exponent - digits.count;
    scan.is_negative = value < 0;
    return nl_scan_to_decimal(&scan, precision, scale, out);
}
