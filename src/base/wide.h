/* base/wide.h - unsigned 256-bit integers for what lies between two 38-digit decimals and their rounded result. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NL_WIDE_LIMBS 8 /* of 32 bits, least significant first: products of two limbs fit a machine word */

typedef struct nl_wide {
    uint32_t limb[NL_WIDE_LIMBS];
} nl_wide;

nl_wide nl_wide_from(unsigned __int128 value);
nl_wide nl_wide_product(unsigned __int128 a, unsigned __int128 b); /* always fits */
bool nl_wide_scale_up(nl_wide *value, int power);                  /* times 10^power; false (value lost) on overflow */
void nl_wide_add(nl_wide *a, const nl_wide *b);                    /* modulo 2^256 */
void nl_wide_subtract(nl_wide *a, const nl_wide *b);               /* modulo 2^256 */
int nl_wide_compare(const nl_wide *a, const nl_wide *b);
bool nl_wide_is_zero(const nl_wide *a);
/* The value as 128 bits; false when it is larger. */
bool nl_wide_to_128(const nl_wide *a, unsigned __int128 *value);
/* Schoolbook division; divisor != 0. quotient and remainder may not be the operands. */
void nl_wide_divide(const nl_wide *dividend, const nl_wide *divisor, nl_wide *quotient, nl_wide *remainder);
