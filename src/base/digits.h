/* base/digits.h - the decimal digits Java 17 chooses for a double or float (not always the shortest: see digits.c). */
#pragma once

#include <stdint.h>

#define NL_DIGITS_MAX 20

typedef struct nl_digits {
    char text[NL_DIGITS_MAX]; /* ASCII digits, `count` of them, no leading zero */
    int32_t count;
    int32_t exponent; /* value = 0.text * 10^exponent */
} nl_digits;

void nl_digits_of_double(double value, nl_digits *digits); /* finite and greater than zero */
void nl_digits_of_float(float value, nl_digits *digits);   /* finite and greater than zero */
