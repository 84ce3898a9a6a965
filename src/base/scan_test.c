/* base/scan_test.c - decimal text taken apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/scan.h"

static void test_digits_and_exponent(void **state)
{
    (void)state;
    nl_scan scan;
    assert_true(nl_scan_decimal(NL_STR("-001.250e2x"), &scan));
    assert_true(scan.is_negative);
    assert_int_equal(scan.count, 4);
    assert_memory_equal(scan.digits, "1250", 4);
    assert_int_equal(scan.exponent, -1);
    assert_int_equal(scan.end, 10);
    assert_true(nl_scan_decimal(NL_STR("0.000"), &scan));
    assert_int_equal(scan.count, 0);
    assert_int_equal(scan.exponent, -3);
    assert_true(nl_scan_decimal(NL_STR("1e999999999999999999999"), &scan));
    assert_true(scan.exponent > INT32_MAX);
    assert_false(nl_scan_decimal(NL_STR("+."), &scan));
    assert_false(nl_scan_decimal(NL_STR("1e-"), &scan));
}

/* 1 + 2^-53 is halfway between two doubles: it rounds to even unless anything at all follows, however far behind. */
static void test_digits_far_behind_still_decide_a_tie(void **state)
{
    (void)state;
    static const char tie[] = "1.00000000000000011102230246251565404236316680908203125";
    enum { LENGTH = 3000 };
    char *text = malloc(LENGTH);
    memset(text, '0', LENGTH);
    memcpy(text, tie, sizeof tie - 1);
    nl_scan scan;
    assert_true(nl_scan_decimal((nl_str){text, LENGTH}, &scan));
    assert_true(nl_scan_to_double(&scan) == 1.0);
    text[LENGTH - 1] = '1';
    assert_true(nl_scan_decimal((nl_str){text, LENGTH}, &scan));
    assert_true(nl_scan_to_double(&scan) == 0x1.0000000000001p0);
    free(text);
}

static void test_many_digits_before_the_point_keep_their_size(void **state)
{
    (void)state;
    enum { LENGTH = 2000 };
    char *text = malloc(LENGTH + 8);
    memset(text, '1', LENGTH);
    memcpy(text + LENGTH, "e-1999", 6);
    nl_scan scan;
    assert_true(nl_scan_decimal((nl_str){text, LENGTH + 6}, &scan));
    assert_true(nl_scan_to_double(&scan) == 1.1111111111111112);
    assert_true(nl_scan_to_float(&scan) == 1.1111111111f);
    nl_int128 value;
    assert_true(nl_scan_to_decimal(&scan, 10, 9, &value));
    assert_true(value == 1111111111);
    assert_false(nl_scan_to_decimal(&scan, 38, 38, &value));
    free(text);
}

static void test_floats_are_rounded_once(void **state)
{
    (void)state;
    nl_scan scan;
    assert_true(nl_scan_decimal(NL_STR("1.00000017881393432617187499"), &scan));
    assert_true(nl_scan_to_float(&scan) == 1.0000001f);
    assert_true(nl_scan_decimal(NL_STR("1.00000017881393432617187500"), &scan));
    assert_true(nl_scan_to_float(&scan) == 1.0000002f);
    assert_true(nl_scan_decimal(NL_STR("-1e-400"), &scan));
    assert_true(nl_scan_to_double(&scan) == 0.0 && __builtin_signbit(nl_scan_to_double(&scan)));
    assert_true(nl_scan_decimal(NL_STR("1e400"), &scan));
    assert_true(__builtin_isinf(nl_scan_to_double(&scan)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digits_and_exponent),
        cmocka_unit_test(test_digits_far_behind_still_decide_a_tie),
        cmocka_unit_test(test_many_digits_before_the_point_keep_their_size),
        cmocka_unit_test(test_floats_are_rounded_once),
    };
    return cmocka_run_group_tests_name("base/scan", tests, NULL, NULL);
}
