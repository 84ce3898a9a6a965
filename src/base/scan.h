/* base/scan.h - decimal text taken apart, for numbers and decimals; internal to base. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/decimal.h"
#include "base/str.h"

/* 767 digits decide any double and 77 any decimal; of what follows only "is there something" matters. */
#define NL_SCAN_DIGITS_MAX 800

typedef struct nl_scan { /* value = digits * 10^exponent, with the sign */
    char digits[NL_SCAN_DIGITS_MAX]; /* ASCII, no leading zeros; none at all for zero */
    uint32_t count;
    int64_t exponent;
    bool is_negative;
    size_t end; /* first byte behind the number */
} nl_scan;

/* [sign] digits with at most one point [e [sign] digits] at the start of `text`. False when that is not there. */
bool nl_scan_decimal(nl_str text, nl_scan *out);
/* The nearest double or float, ties to even. */
double nl_scan_to_double(const nl_scan *in);
float nl_scan_to_float(const nl_scan *in);
/* Rounded half up to `scale` and checked against `precision`. */
bool nl_scan_to_decimal(const nl_scan *in, int precision, int scale, nl_int128 *out);
