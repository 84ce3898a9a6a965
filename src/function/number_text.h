/* function/number_text.h - the decimal digits of numbers, rounded for printing. Private to function/. */
#pragma once

#include "base/decimal.h"
#include "base/str.h"

/* value = 0.text * 10^exponent; zero has no digits. No leading or trailing zeros. */
typedef struct nl_number_digits {
    char text[48]; /* ASCII */
    int32_t count;
    int32_t exponent;
    bool is_negative;
    bool is_double; /* `real` is the exact value */
    double real;
} nl_number_digits;

void nl_number_digits_of_decimal(nl_int128 value, int scale, nl_number_digits *out);
void nl_number_digits_of_double(double value, nl_number_digits *out); /* finite; the digits Java prints */
void nl_number_digits_shift(nl_number_digits *digits, int32_t places); /* times 10^places */
/* Keeps `places` digits behind the point (may be negative). Half even looks at the exact value of a double. */
void nl_number_digits_round(nl_number_digits *digits, int32_t places, nl_rounding rounding);
/* The digit worth 10^-(i + 1), so -1 is that of the ones; '0' where there is none. */
static inline char nl_number_digit(const nl_number_digits *digits, int32_t i)
{
    int32_t at = i + digits->exponent;
    return at >= 0 && at < digits->count ? digits->text[at] : '0';
}
