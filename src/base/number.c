/* base/number.c - numbers and truth values to and from text, in the forms of Java and of Spark's casts. White space
 * around a cast's text is what Java calls white space or a control character.
 */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/digits.h"
#include "base/scan.h"

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool is_sign(char c)
{
    return c == '-' || c == '+';
}

nl_str nl_trim_blanks(nl_str text)
{
    size_t start = 0;
    size_t stop = text.length;
    while (start < stop && ((uint8_t)text.data[start] <= ' ' || text.data[start] == 0x7F)) start++;
    while (stop > start && ((uint8_t)text.data[stop - 1] <= ' ' || text.data[stop - 1] == 0x7F)) stop--;
    return nl_str_slice(text, start, stop);
}

bool nl_parse_int64(nl_str text, int64_t *value)
{
    bool is_negative = text.length > 0 && text.data[0] == '-';
    size_t start = text.length > 0 && is_sign(text.data[0]) ? 1 : 0;
    if (start == text.length) return false;
    int64_t result = 0; /* counts down, so that the smallest number needs no special case */
    for (size_t at = start; at < text.length; at++) {
        if (!is_digit(text.data[at])) return false;
        if (__builtin_mul_overflow(result, (int64_t)10, &result)) return false;
        if (__builtin_sub_overflow(result, (int64_t)(text.data[at] - '0'), &result)) return false;
    }
    if (!is_negative && result == INT64_MIN) return false;
    *value = is_negative ? result : -result;
    return true;
}

bool nl_cast_int64(nl_str text, int64_t *value)
{
    return nl_parse_int64(nl_trim_blanks(text), value);
}

bool nl_cast_int64_legacy(nl_str text, int64_t *value)
{
    text = nl_trim_blanks(text);
    size_t point = nl_str_find_char(text, '.', 0);
    if (point == NL_NOT_FOUND) return nl_parse_int64(text, value);
    for (size_t i = point + 1; i < text.length; i++)
        if (!is_digit(text.data[i])) return false;
    nl_str whole = nl_str_slice(text, 0, point);
    if (whole.length > 1 || (whole.length == 1 && !is_sign(whole.data[0]))) return nl_parse_int64(whole, value);
    *value = 0; /* ".5", "-.", "." */
    return true;
}

bool nl_cast_bool(nl_str text, bool *value)
{
    static const char *const words[2][5] = {{"f", "false", "n", "no", "0"}, {"t", "true", "y", "yes", "1"}};
    text = nl_trim_blanks(text);
    for (int truth = 0; truth < 2; truth++)
        for (int i = 0; i < 5; i++)
            if (nl_str_is_nocase(text, words[truth][i])) {
                *value = truth;
                return true;
            }
    return false;
}

/* "NaN" and "Infinity" as Java spells them, and Spark's spellings in any case. */
static bool parse_special(nl_str text, double *value)
{
    bool has_sign = text.length > 0 && is_sign(text.data[0]);
    bool is_negative = has_sign && text.data[0] == '-';
    nl_str word = nl_str_slice(text, has_sign ? 1 : 0, text.length);
    if (nl_str_is(word, "NaN") || (!has_sign && nl_str_is_nocase(word, "nan"))) {
        *value = (double)NAN;
        return true;
    }
    if (!nl_str_is_nocase(word, "infinity") && !nl_str_is_nocase(word, "inf")) return false;
    *value = is_negative ? -HUGE_VAL : HUGE_VAL;
    return true;
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_suffix(char c)
{
    return c == 'f' || c == 'F' || c == 'd' || c == 'D';
}

#define HEX_TEXT_BYTES 512 /* more digits than that are nobody's number */

/* "[sign]0x1.8p3", where Java requires the binary exponent; a copy that libc understands. */
static bool copy_hex(nl_str text, char out[HEX_TEXT_BYTES])
{
    size_t at = text.length > 0 && is_sign(text.data[0]) ? 1 : 0;
    if (text.length < at + 3 || text.data[at] != '0' || (text.data[at + 1] | 0x20) != 'x') return false;
    uint32_t digit_count = 0;
    uint32_t point_count = 0;
    for (at += 2; at < text.length && (is_hex_digit(text.data[at]) || text.data[at] == '.'); at++) {
        if (text.data[at] == '.')
            point_count++;
        else
            digit_count++;
    }
    if (digit_count == 0 || point_count > 1 || at == text.length || (text.data[at] | 0x20) != 'p') return false;
    at++;
    if (at < text.length && is_sign(text.data[at])) at++;
    size_t first = at;
    while (at < text.length && is_digit(text.data[at])) at++;
    size_t end = at;
    if (at < text.length && is_suffix(text.data[at])) at++;
    if (end == first || at != text.length || end >= HEX_TEXT_BYTES) return false;
    memcpy(out, text.data, end);
    out[end] = '\0';
    return true;
}

static nl_str trim_java(nl_str text) /* String.trim */
{
    size_t start = 0;
    size_t stop = text.length;
    while (start < stop && (uint8_t)text.data[start] <= ' ') start++;
    while (stop > start && (uint8_t)text.data[stop - 1] <= ' ') stop--;
    return nl_str_slice(text, start, stop);
}

/* A whole decimal number with Java's optional type letter. */
static bool scan_real(nl_str text, nl_scan *scan)
{
    if (!nl_scan_decimal(text, scan)) return false;
    size_t end = scan->end;
    if (end < text.length && is_suffix(text.data[end])) end++;
    return end == text.length;
}

bool nl_parse_double(nl_str text, double *value)
{
    text = trim_java(text);
    nl_scan scan;
    char hex[HEX_TEXT_BYTES];
    if (scan_real(text, &scan)) {
        *value = nl_scan_to_double(&scan);
        return true;
    }
    if (parse_special(text, value)) return true;
    if (!copy_hex(text, hex)) return false;
    *value = strtod_l(hex, NULL, newlocale(LC_ALL_MASK, "C", NULL));
    return true;
}

bool nl_parse_float(nl_str text, float *value)
{
    text = trim_java(text);
    nl_scan scan;
    char hex[HEX_TEXT_BYTES];
    double special;
    if (scan_real(text, &scan)) {
        *value = nl_scan_to_float(&scan);
        return true;
    }
    if (parse_special(text, &special)) {
        *value = (float)special;
        return true;
    }
    if (!copy_hex(text, hex)) return false;
    *value = strtof_l(hex, NULL, newlocale(LC_ALL_MASK, "C", NULL));
    return true;
}

uint32_t nl_format_int64(int64_t value, char *out)
{
    char reversed[24];
    uint32_t count = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        reversed[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    uint32_t length = 0;
    if (value < 0) out[length++] = '-';
    while (count > 0) out[length++] = reversed[--count];
    return length;
}

static uint32_t put(char *out, const char *text)
{
    size_t length = strlen(text);
    memcpy(out, text, length);
    return (uint32_t)length;
}

/* Plain notation from 0.001 to below 10^7, else one digit, a point and an exponent; always a digit after the point. */
static uint32_t lay_out(const nl_digits *digits, char *out)
{
    uint32_t length = 0;
    int32_t whole = digits->exponent; /* digits before the point */
    if (whole > 0 && whole < 8) {
        for (int32_t i = 0; i < whole; i++) out[length++] = i < digits->count ? digits->text[i] : '0';
        out[length++] = '.';
        for (int32_t i = whole; i < digits->count; i++) out[length++] = digits->text[i];
        if (digits->count <= whole) out[length++] = '0';
        return length;
    }
    if (whole <= 0 && whole > -3) {
        out[length++] = '0';
        out[length++] = '.';
        for (int32_t i = whole; i < 0; i++) out[length++] = '0';
        for (int32_t i = 0; i < digits->count; i++) out[length++] = digits->text[i];
        return length;
    }
    out[length++] = digits->text[0];
    out[length++] = '.';
    for (int32_t i = 1; i < digits->count; i++) out[length++] = digits->text[i];
    if (digits->count == 1) out[length++] = '0';
    out[length++] = 'E';
    return length + nl_format_int64(whole - 1, out + length);
}

/* NaN, infinities and zeros; 0 when the value is none of them. */
static uint32_t format_special(double value, char *out)
{
    if (isnan(value)) return put(out, "NaN");
    if (isinf(value)) return put(out, value < 0 ? "-Infinity" : "Infinity");
    if (value == 0) return put(out, signbit(value) ? "-0.0" : "0.0");
    return 0;
}

uint32_t nl_format_double(double value, char *out)
{
    uint32_t length = format_special(value, out);
    if (length > 0) return length;
    if (value < 0) out[length++] = '-';
    nl_digits digits;
    nl_digits_of_double(fabs(value), &digits);
    return length + lay_out(&digits, out + length);
}

uint32_t nl_format_float(float value, char *out)
{
    uint32_t length = format_special((double)value, out);
    if (length > 0) return length;
    if (value < 0) out[length++] = '-';
    nl_digits digits;
    nl_digits_of_float(fabsf(value), &digits);
    return length + lay_out(&digits, out + length);
}

uint32_t nl_format_hex(const uint8_t *bytes, size_t length, bool is_upper, char *out)
{
    const char *digits = is_upper ? "0123456789ABCDEF" : "0123456789abcdef";
    for (size_t i = 0; i < length; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    return (uint32_t)(2 * length);
}
