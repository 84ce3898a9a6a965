/* base/wide.c - 256-bit arithmetic in eight limbs. Division is Knuth's Algorithm D (The Art of Computer Programming,
 * volume 2, section 4.3.1). Decimals reach this only when 128 bits are too few.
 */
#include "base/wide.h"

#include <string.h>

#include "base/status.h"

nl_wide nl_wide_from(unsigned __int128 value)
{
    nl_wide wide = {{0}};
    for (int i = 0; i < 4; i++) wide.limb[i] = (uint32_t)(value >> (32 * i));
    return wide;
}

nl_wide nl_wide_product(unsigned __int128 a, unsigned __int128 b)
{
    nl_wide x = nl_wide_from(a);
    nl_wide y = nl_wide_from(b);
    nl_wide product = {{0}};
    for (int i = 0; i < 4; i++) {
        uint64_t carry = 0;
        for (int j = 0; j < 4; j++) {
            carry += (uint64_t)x.limb[i] * y.limb[j] + product.limb[i + j];
            product.limb[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product.limb[i + 4] = (uint32_t)carry;
    }
    return product;
}

/* value * factor; returns what does not fit. */
static uint32_t multiply_small(nl_wide *value, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < NL_WIDE_LIMBS; i++) {
        carry += (uint64_t)value->limb[i] * factor;
        value->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    return (uint32_t)carry;
}

bool nl_wide_scale_up(nl_wide *value, int power)
{
    if (nl_wide_is_zero(value)) return true;
    for (; power >= 9; power -= 9)
        if (multiply_small(value, 1000000000u) != 0) return false;
    for (; power > 0; power--)
        if (multiply_small(value, 10) != 0) return false;
    return true;
}

void nl_wide_add(nl_wide *a, const nl_wide *b)
{
    uint64_t carry = 0;
    for (int i = 0; i < NL_WIDE_LIMBS; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        a->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

void nl_wide_subtract(nl_wide *a, const nl_wide *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < NL_WIDE_LIMBS; i++) {
        uint64_t difference = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
}

int nl_wide_compare(const nl_wide *a, const nl_wide *b)
{
    for (int i = NL_WIDE_LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

bool nl_wide_is_zero(const nl_wide *a)
{
    uint32_t any = 0;
    for (int i = 0; i < NL_WIDE_LIMBS; i++) any |= a->limb[i];
    return any == 0;
}

bool nl_wide_to_128(const nl_wide *a, unsigned __int128 *value)
{
    if ((a->limb[4] | a->limb[5] | a->limb[6] | a->limb[7]) != 0) return false;
    unsigned __int128 result = 0;
    for (int i = 3; i >= 0; i--) result = result << 32 | a->limb[i];
    *value = result;
    return true;
}

static int limb_count(const nl_wide *a)
{
    int count = NL_WIDE_LIMBS;
    while (count > 0 && a->limb[count - 1] == 0) count--;
    return count;
}

static void divide_by_limb(const nl_wide *dividend, uint32_t divisor, nl_wide *quotient, nl_wide *remainder)
{
    uint64_t rest = 0;
    for (int i = NL_WIDE_LIMBS - 1; i >= 0; i--) {
        rest = rest << 32 | dividend->limb[i];
        quotient->limb[i] = (uint32_t)(rest / divisor);
        rest %= divisor;
    }
    *remainder = nl_wide_from(rest);
}

/* to = from << shift (0 … 31), `count` limbs and one more for what is shifted out. */
static void shift_left(const uint32_t *from, int count, int shift, uint32_t *to)
{
    uint64_t carry = 0;
    for (int i = 0; i < count; i++) {
        carry |= (uint64_t)from[i] << shift;
        to[i] = (uint32_t)carry;
        carry >>= 32;
    }
    to[count] = (uint32_t)carry;
}

/* One step: the quotient digit of rest[0 … n] by divisor[0 … n-1] (normalised); rest becomes what is left. */
static uint32_t divide_step(uint32_t *rest, const uint32_t *divisor, int n)
{
    uint64_t head = (uint64_t)rest[n] << 32 | rest[n - 1];
    uint64_t digit = head / divisor[n - 1];
    uint64_t left = head % divisor[n - 1];
    while (digit > UINT32_MAX || digit * divisor[n - 2] > (left << 32 | rest[n - 2])) {
        digit--;
        left += divisor[n - 1];
        if (left > UINT32_MAX) break;
    }
    int64_t borrow = 0;
    uint64_t carry = 0;
    for (int i = 0; i < n; i++) {
        carry += digit * divisor[i];
        borrow += (int64_t)rest[i] - (int64_t)(uint32_t)carry;
        rest[i] = (uint32_t)borrow;
        borrow >>= 32;
        carry >>= 32;
    }
    borrow += (int64_t)rest[n] - (int64_t)carry;
    rest[n] = (uint32_t)borrow;
    if (borrow >= 0) return (uint32_t)digit;
    uint64_t back = 0; /* the guess was one too high: add the divisor back */
    for (int i = 0; i < n; i++) {
        back += (uint64_t)rest[i] + divisor[i];
        rest[i] = (uint32_t)back;
        back >>= 32;
    }
    rest[n] += (uint32_t)back;
    return (uint32_t)digit - 1;
}

void nl_wide_divide(const nl_wide *dividend, const nl_wide *divisor, nl_wide *quotient, nl_wide *remainder)
{
    NL_ASSERT(!nl_wide_is_zero(divisor));
    int n = limb_count(divisor);
    if (n <= 1) {
        divide_by_limb(dividend, divisor->limb[0], quotient, remainder);
        return;
    }
    int m = limb_count(dividend);
    memset(quotient, 0, sizeof *quotient);
    if (m < n) {
        *remainder = *dividend;
        return;
    }
    int shift = __builtin_clz(divisor->limb[n - 1]);
    uint32_t u[NL_WIDE_LIMBS + 1] = {0};
    uint32_t v[NL_WIDE_LIMBS + 1] = {0};
    shift_left(dividend->limb, m, shift, u);
    shift_left(divisor->limb, n, shift, v);
    for (int j = m - n; j >= 0; j--) quotient->limb[j] = divide_step(u + j, v, n);
    memset(remainder, 0, sizeof *remainder);
    for (int i = 0; i < n; i++)
        remainder->limb[i] = (uint32_t)(((uint64_t)u[i + 1] << 32 | u[i]) >> shift);
}
