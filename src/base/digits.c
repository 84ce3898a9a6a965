/* base/digits.c - binary floating point to decimal digits as Java 17 does it.
 *
 * The idea is Steele and White's free-format algorithm ("How to Print Floating-Point Numbers Accurately", 1990): write
 * the value as B/S times a power of ten, take off quotient digits, and stop as soon as what is left is smaller than
 * half a unit in the last place (M). Java 17 differs from the ideal in ways that people see, so they are kept:
 *   - integers below 2^63 are printed from the integer, with the digits that the 53 bits cannot hold rounded off;
 *   - the distance to the neighbour is taken as equal on both sides (halved as a whole for powers of two);
 *   - at least two digits are made when the number is printed with an exponent (4.9E-324, 2.0E-3 never needs it);
 *   - "close enough from above" includes equality only in the arithmetic on big integers, and products wrap in the
 *     32- and 64-bit arithmetic, which is chosen by the sizes of B and 10*S.
 * A test compares with Java's own answers.
 */
#include "base/digits.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"

#define FRACTION_BITS 52
#define SMALL_EXPONENT_MAX 62    /* integers this large still fit in 63 bits     */
#define SMALL_EXPONENT_MIN (-21) /* below, too many bits lie behind the point    */
#define FIVES_MAX          27    /* powers of five that fit in 63 bits           */
#define LIMBS              40    /* 1,280 bits; B, S, M and their sum need about 900 */

/* Bits that Java reckons for 5^i; zero for 5^0. */
static const uint8_t five_bits[FIVES_MAX] = {0,  3,  5,  7,  10, 12, 14, 17, 19, 21, 24, 26, 28, 31,
                                             33, 35, 38, 40, 42, 45, 47, 49, 52, 54, 56, 59, 61};

typedef struct parts { /* value = fraction / 2^52 * 2^exponent, bit 52 of fraction set */
    uint64_t fraction;
    int exponent;
    int significant_bits;
} parts;

/* value = B/S * 10^exponent; M is half a unit in the last place, scaled as B. Powers of two and five of each. */
typedef struct scaling {
    uint64_t fraction; /* odd */
    int fraction_bits;
    int exponent; /* decimal, may be one too high */
    int b2, b5, s2, s5, m2, m5;
} scaling;

typedef struct big {
    uint32_t limb[LIMBS]; /* least significant first */
    int count;
} big;

static uint64_t power_of(uint64_t base, int exponent)
{
    uint64_t power = 1;
    while (exponent-- > 0) power *= base;
    return power;
}

static void round_up(nl_digits *digits)
{
    int i = digits->count - 1;
    while (i > 0 && digits->text[i] == '9') digits->text[i--] = '0';
    if (digits->text[i] == '9') { /* all nines: a one and zeros, ten times larger */
        digits->text[i] = '1';
        digits->exponent++;
    } else {
        digits->text[i]++;
    }
}

/* Digits of an integer, of which the last `dropped` mean nothing and are rounded off. */
static void digits_of_integer(uint64_t value, int dropped, nl_digits *digits)
{
    int exponent = dropped;
    if (dropped > 0) {
        uint64_t unit = power_of(10, dropped);
        uint64_t rest = value % unit;
        value = value / unit + (rest >= unit / 2 ? 1 : 0);
    }
    for (; value % 10 == 0; exponent++) value /= 10;
    char reversed[NL_DIGITS_MAX];
    int count = 0;
    for (; value > 0; value /= 10) reversed[count++] = (char)('0' + value % 10);
    for (int i = 0; i < count; i++) digits->text[i] = reversed[count - 1 - i];
    digits->count = count;
    digits->exponent = exponent + count;
}

/* floor(log10) from a straight line through the logarithm's curve at 1.5; exact or one too high. */
static int estimate_exponent(const parts *in)
{
    double mantissa = (double)in->fraction / (double)(1ull << FRACTION_BITS);
    return (int)floor((mantissa - 1.5) * 0.289529654 + 0.176091259 + in->exponent * 0.301029995663981);
}

static scaling scale(const parts *in, int fraction_bits, int tiny_bits)
{
    scaling out = {.fraction_bits = fraction_bits, .exponent = estimate_exponent(in)};
    out.fraction = in->fraction >> (FRACTION_BITS + 1 - fraction_bits);
    out.b5 = NL_MAX(0, -out.exponent);
    out.s5 = NL_MAX(0, out.exponent);
    out.m5 = out.b5;
    out.b2 = out.b5 + tiny_bits + in->exponent;
    out.s2 = out.s5 + tiny_bits;
    out.m2 = out.b2 - in->significant_bits;
    out.b2 -= fraction_bits - 1;
    int common = NL_MIN(out.b2, out.s2);
    out.b2 -= common;
    out.s2 -= common;
    out.m2 -= common;
    if (fraction_bits == 1) out.m2--; /* below a power of two the numbers lie twice as close */
    if (out.m2 < 0) {
        out.b2 -= out.m2;
        out.s2 -= out.m2;
        out.m2 = 0;
    }
    return out;
}

static bool needs_two_digits(int exponent)
{
    return exponent < -3 || exponent >= 8;
}

/* The last digit goes up when only the upper neighbour is near, or both are and the rest is more than half. */
static void round_last(nl_digits *digits, bool is_low, bool is_high, int rest_against_half)
{
    if (!is_high) return;
    bool is_odd = (digits->text[digits->count - 1] & 1) != 0;
    if (!is_low || rest_against_half > 0 || (rest_against_half == 0 && is_odd)) round_up(digits);
}

static int64_t wrap(int64_t value, bool is_32)
{
    return is_32 ? (int64_t)(int32_t)(uint32_t)(uint64_t)value : value;
}

static int64_t wrapping_product(int64_t a, int64_t b, bool is_32)
{
    return wrap((int64_t)((uint64_t)a * (uint64_t)b), is_32);
}

static void digits_in_words(const scaling *in, bool is_32, nl_digits *digits)
{
    int64_t b = (int64_t)(in->fraction * power_of(5, in->b5) << in->b2);
    int64_t s = (int64_t)(power_of(5, in->s5) << in->s2);
    int64_t m = (int64_t)(power_of(5, in->m5) << in->m2);
    int64_t tens = s * 10;
    int exponent = in->exponent;
    bool is_low = false;
    bool is_high = false;
    bool is_first = true;
    while (is_first || (!is_low && !is_high)) {
        int64_t digit = b / s;
        b = wrapping_product(b % s, 10, is_32);
        m = wrapping_product(m, 10, is_32);
        bool has_wrapped = !is_first && m <= 0; /* then it is larger than everything */
        is_low = has_wrapped || b < m;
        is_high = has_wrapped || wrap((int64_t)((uint64_t)b + (uint64_t)m), is_32) > tens;
        if (is_first && digit == 0 && !is_high)
            exponent--; /* the estimate was one too high */
        else
            digits->text[digits->count++] = (char)('0' + digit);
        if (is_first && needs_two_digits(exponent)) is_low = is_high = false;
        is_first = false;
    }
    digits->exponent = exponent + 1;
    int64_t twice = (int64_t)(((uint64_t)b << 1) - (uint64_t)tens); /* wraps, as in Java */
    round_last(digits, is_low, is_high, twice < 0 ? -1 : twice > 0);
}

static void big_multiply(big *value, uint32_t factor)
{
    uint64_t carry = 0;
    for (int i = 0; i < value->count; i++) {
        carry += (uint64_t)value->limb[i] * factor;
        value->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry == 0) return;
    NL_ASSERT(value->count < LIMBS);
    value->limb[value->count++] = (uint32_t)carry;
}

/* start * 5^fives * 2^twos */
static big big_make(uint64_t start, int fives, int twos)
{
    big value = {.limb = {(uint32_t)start, (uint32_t)(start >> 32)}, .count = (start >> 32) != 0 ? 2 : 1};
    for (; fives >= 13; fives -= 13) big_multiply(&value, 1220703125u);
    for (; fives > 0; fives--) big_multiply(&value, 5);
    for (; twos >= 31; twos -= 31) big_multiply(&value, 1u << 31);
    big_multiply(&value, 1u << twos);
    return value;
}

static int big_compare(const big *a, const big *b)
{
    if (a->count != b->count) return a->count < b->count ? -1 : 1;
    for (int i = a->count - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

static big big_sum(const big *a, const big *b)
{
    big sum = {.count = NL_MAX(a->count, b->count)};
    uint64_t carry = 0;
    for (int i = 0; i < sum.count; i++) {
        carry += (uint64_t)a->limb[i] + b->limb[i];
        sum.limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) sum.limb[sum.count++] = (uint32_t)carry;
    return sum;
}

static void big_subtract(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->count; i++) {
        uint64_t difference = (uint64_t)a->limb[i] - b->limb[i] - borrow;
        a->limb[i] = (uint32_t)difference;
        borrow = difference >> 63;
    }
    while (a->count > 1 && a->limb[a->count - 1] == 0) a->count--;
}

/* The digit b / s; b becomes ten times the rest. */
static int big_digit(big *b, const big *s)
{
    int digit = 0;
    for (; big_compare(b, s) >= 0; digit++) big_subtract(b, s);
    big_multiply(b, 10);
    return digit;
}

static void digits_in_bigs(const scaling *in, nl_digits *digits)
{
    big s = big_make(1, in->s5, in->s2);
    big b = big_make(in->fraction, in->b5, in->b2);
    big m = big_make(1, in->m5, in->m2);
    big tens = s;
    big_multiply(&tens, 10);
    int exponent = in->exponent;
    bool is_low = false;
    bool is_high = false;
    bool is_first = true;
    while (is_first || (!is_low && !is_high)) {
        int digit = big_digit(&b, &s);
        big_multiply(&m, 10);
        big sum = big_sum(&b, &m);
        is_low = big_compare(&b, &m) < 0;
        is_high = big_compare(&tens, &sum) <= 0;
        if (is_first && digit == 0 && !is_high)
            exponent--;
        else
            digits->text[digits->count++] = (char)('0' + digit);
        if (is_first && needs_two_digits(exponent)) is_low = is_high = false;
        is_first = false;
    }
    digits->exponent = exponent + 1;
    big_multiply(&b, 2);
    round_last(digits, is_low, is_high, big_compare(&b, &tens));
}

static int bits_of(int fives)
{
    return fives < FIVES_MAX ? five_bits[fives] : 3 * fives;
}

static void choose(const parts *in, nl_digits *digits)
{
    *digits = (nl_digits){.count = 0};
    int fraction_bits = FRACTION_BITS + 1 - __builtin_ctzll(in->fraction);
    int tiny_bits = NL_MAX(0, fraction_bits - in->exponent - 1); /* bits behind the binary point */
    if (tiny_bits == 0 && in->exponent <= SMALL_EXPONENT_MAX && in->exponent >= SMALL_EXPONENT_MIN) {
        int spare_bits = in->exponent - in->significant_bits - 1;
        int dropped = 0;
        if (spare_bits > 1)
            for (uint64_t rest = 1ull << spare_bits; rest >= 10; rest /= 10) dropped++;
        int shift = in->exponent - FRACTION_BITS;
        digits_of_integer(shift >= 0 ? in->fraction << shift : in->fraction >> -shift, dropped, digits);
        return;
    }
    scaling scaled = scale(in, fraction_bits, tiny_bits);
    int b_bits = fraction_bits + scaled.b2 + bits_of(scaled.b5);
    int tens_bits = scaled.s2 + 1 + bits_of(scaled.s5 + 1);
    if (b_bits < 64 && tens_bits < 64)
        digits_in_words(&scaled, b_bits < 32 && tens_bits < 32, digits);
    else
        digits_in_bigs(&scaled, digits);
}

/* Splits a number of fraction_size stored fraction bits; denormals are brought to the normal form. */
static parts split(uint64_t bits, int fraction_size, int exponent_size)
{
    uint64_t fraction = bits & ((1ull << fraction_size) - 1);
    int exponent = (int)(bits >> fraction_size & ((1u << exponent_size) - 1));
    parts out = {.significant_bits = fraction_size + 1};
    if (exponent == 0) {
        NL_ASSERT(fraction != 0);
        int leading = __builtin_clzll(fraction) - (63 - fraction_size);
        fraction <<= leading;
        exponent = 1 - leading;
        out.significant_bits = fraction_size + 1 - leading;
    } else {
        fraction |= 1ull << fraction_size;
    }
    out.fraction = fraction << (FRACTION_BITS - fraction_size);
    out.exponent = exponent - ((1 << (exponent_size - 1)) - 1);
    return out;
}

void nl_digits_of_double(double value, nl_digits *digits)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    parts in = split(bits, FRACTION_BITS, 11);
    choose(&in, digits);
}

void nl_digits_of_float(float value, nl_digits *digits)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    parts in = split(bits, 23, 8);
    choose(&in, digits);
}
