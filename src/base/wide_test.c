/* base/wide_test.c - 256-bit arithmetic. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "base/wide.h"

typedef unsigned __int128 u128;

/* A repeatable stream of numbers of all lengths. */
static u128 next_random(uint64_t *seed)
{
    u128 value = 0;
    for (int i = 0; i < 2; i++) {
        *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
        value = value << 64 | (*seed ^ *seed >> 29);
    }
    return value >> (*seed >> 57);
}

static void test_product_divided_by_a_factor_gives_the_other(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 200000; i++) {
        u128 a = next_random(&seed);
        u128 b = next_random(&seed);
        u128 rest = next_random(&seed);
        if (b == 0) b = 1;
        rest %= b;
        nl_wide dividend = nl_wide_product(a, b);
        nl_wide more = nl_wide_from(rest);
        nl_wide_add(&dividend, &more);
        nl_wide divisor = nl_wide_from(b);
        nl_wide quotient;
        nl_wide remainder;
        nl_wide_divide(&dividend, &divisor, &quotient, &remainder);
        u128 value;
        assert_true(nl_wide_to_128(&quotient, &value) && value == a);
        assert_true(nl_wide_to_128(&remainder, &value) && value == rest);
    }
}

static void test_divisors_of_all_lengths(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int i = 0; i < 100000; i++) {
        nl_wide divisor = nl_wide_product(next_random(&seed), next_random(&seed));
        if (nl_wide_is_zero(&divisor)) continue;
        nl_wide dividend = nl_wide_product(next_random(&seed), next_random(&seed));
        nl_wide quotient;
        nl_wide remainder;
        nl_wide_divide(&dividend, &divisor, &quotient, &remainder);
        assert_true(nl_wide_compare(&remainder, &divisor) < 0);
        u128 count;
        if (!nl_wide_to_128(&quotient, &count) || count > 1000) continue;
        for (; count > 0; count--) nl_wide_add(&remainder, &divisor);
        assert_int_equal(nl_wide_compare(&remainder, &dividend), 0);
    }
}

static void test_scaling_up_stops_at_256_bits(void **state)
{
    (void)state;
    nl_wide value = nl_wide_from(1);
    assert_true(nl_wide_scale_up(&value, 77)); /* 10^77 < 2^256 */
    nl_wide divisor = nl_wide_from((u128)10000000000000000000ull * 10000000000000000000ull);
    nl_wide quotient;
    nl_wide remainder;
    nl_wide_divide(&value, &divisor, &quotient, &remainder);
    nl_wide expected = nl_wide_from(1);
    assert_true(nl_wide_scale_up(&expected, 39));
    assert_int_equal(nl_wide_compare(&quotient, &expected), 0);
    assert_true(nl_wide_is_zero(&remainder));
    assert_false(nl_wide_scale_up(&value, 1));
    nl_wide zero = nl_wide_from(0);
    assert_true(nl_wide_scale_up(&zero, 1000));
}

static void test_narrowing_refuses_what_is_larger(void **state)
{
    (void)state;
    u128 value = 0;
    nl_wide wide = nl_wide_from(~(u128)0);
    assert_true(nl_wide_to_128(&wide, &value) && value == ~(u128)0);
    nl_wide one = nl_wide_from(1);
    nl_wide_add(&wide, &one);
    assert_false(nl_wide_to_128(&wide, &value));
    nl_wide_subtract(&wide, &one);
    assert_true(nl_wide_to_128(&wide, &value) && value == ~(u128)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_product_divided_by_a_factor_gives_the_other),
        cmocka_unit_test(test_divisors_of_all_lengths),
        cmocka_unit_test(test_scaling_up_stops_at_256_bits),
        cmocka_unit_test(test_narrowing_refuses_what_is_larger),
    };
    return cmocka_run_group_tests_name("base/wide", tests, NULL, NULL);
}
