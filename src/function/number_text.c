/* function/number_text.c - digits of numbers. */
#include "function/number_text.h"

#include <stdio.h>

#include "base/digits.h"

static void strip_zeros(nl_number_digits *digits)
{
    int32_t leading = 0;
    while (digits->count > 0 && digits->text[digits->count - 1] == '0') digits->count--;
    while (leading < digits->count && digits->text[leading] == '0') leading++;
    if (leading > 0) memmove(digits->text, digits->text + leading, (size_t)(digits->count - leading));
    digits->count -= leading;
    digits->exponent = digits->count > 0 ? digits->exponent - leading : 0;
}

void nl_number_digits_of_decimal(nl_int128 value, int scale, nl_number_digits *out)
{
    *out = (nl_number_digits){.is_negative = value < 0};
    char text[64];
    uint32_t length = nl_decimal_format(value, 0, text);
    const char *start = text + (text[0] == '-');
    out->count = (int32_t)(length - (uint32_t)(start - text));
    memcpy(out->text, start, (size_t)out->count);
    out->exponent = out->count - scale;
    strip_zeros(out);
}

void nl_number_digits_of_double(double value, nl_number_digits *out)
{
    *out = (nl_number_digits){.is_negative = __builtin_signbit(value) != 0, .is_double = true, .real = value};
    if (value == 0) return;
    nl_digits digits;
    nl_digits_of_double(value < 0 ? -value : value, &digits);
    memcpy(out->text, digits.text, (size_t)digits.count);
    out->count = digits.count;
    out->exponent = digits.exponent;
    strip_zeros(out);
}

void nl_number_digits_shift(nl_number_digits *digits, int32_t places)
{
    if (digits->count > 0) digits->exponent += places;
    digits->is_double = false;
}

/* The digits end with a five that is cut off: is the exact number above, on or below the middle? */
static int compare_tie(const nl_number_digits *digits)
{
    char exact[800]; /* a double has at most 767 significant digits */
    if (!digits->is_double) return 0;
    snprintf(exact, sizeof exact, "%.766e", digits->real < 0 ? -digits->real : digits->real);
    exact[1] = exact[0]; /* one digit, a point, more digits */
    int order = memcmp(exact + 1, digits->text, (size_t)digits->count);
    if (order != 0) return order;
    for (const char *rest = exact + 1 + digits->count; *rest >= '0' && *rest <= '9'; rest++)
        if (*rest != '0') return 1;
    return 0;
}

static bool rounds_up(const nl_number_digits *digits, int32_t keep, nl_rounding rounding)
{
    char next = digits->text[keep];
    if (rounding == NL_ROUND_HALF_UP) return next >= '5';
    if (next != '5' || keep + 1 < digits->count) return next >= '5';
    int order = compare_tie(digits);
    if (order != 0) return order > 0;
    return keep > 0 && (digits->text[keep - 1] - '0') % 2 == 1;
}

void nl_number_digits_round(nl_number_digits *digits, int32_t places, nl_rounding rounding)
{
    int64_t keep = (int64_t)digits->exponent + places;
    if (keep >= digits->count) return;
    if (keep < 0) {
        digits->count = 0;
        digits->exponent = 0;
        return;
    }
    bool is_up = rounds_up(digits, (int32_t)keep, rounding);
    digits->count = (int32_t)keep;
    if (is_up) {
        int32_t at = digits->count;
        while (at > 0 && digits->text[at - 1] == '9') at--;
        if (at == 0) { /* all nines, or nothing was kept: one more digit in front */
            digits->text[0] = '1';
            digits->count = 1;
            digits->exponent++;
        } else {
            digits->text[at - 1]++;
            digits->count = at;
        }
    }
    digits->is_double = false;
    strip_zeros(digits);
}
