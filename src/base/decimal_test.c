/* base/decimal_test.c - arithmetic against Spark 4.0.1, java.math.BigDecimal and Python's decimal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/decimal.h"
#include "base/number.h"

static nl_int128 number(const char *text)
{
    nl_int128 value;
    int scale;
    assert_true(nl_decimal_parse(nl_str_from(text), &value, &scale, NULL));
    assert_int_equal(scale, 0);
    return value;
}

static const char *text_of(nl_int128 value, int scale)
{
    static char text[64];
    text[nl_decimal_format(value, scale, text)] = '\0';
    return text;
}

typedef struct row {
    const char *a; /* with its scale */
    char operation;
    const char *b;
    int precision, scale;      /* of the result        */
    const char *expected;      /* NULL: out of range   */
} row;

/* Types as Spark derives them; values printed by Spark where it has the operation on these types. */
static const row rows[] = {
    {"0.10000000000000000000000000000000000000", '/', "3", 38, 38, "0.03333333333333333333333333333333333333"},
    {"0.00000000000000000000000000000000000006", '/', "13", 38, 38, "0.00000000000000000000000000000000000000"},
    {"0.00000000000000000000000000000000000007", '/', "13", 38, 38, "0.00000000000000000000000000000000000001"},
    {"5000000000000000000000000000000.000000", '/', "0.13", 38, 6, "38461538461538461538461538461538.461538"},
    {"12345678901234567890123456789012345678", '*', "0.00000000000000000000000000000000000001", 38, 6, "0.123457"},
    {"7", '%', "0.30000000000000000000000000000000000001", 38, 38, "0.09999999999999999999999999999999999977"},
    {"-7.500", '%', "2", 10, 3, "-1.500"},
    {"7.500", '%', "-2", 10, 3, "1.500"},
    {"0.06", '-', "0.01", 3, 2, "0.05"},
    {"1.5", '+', "-1.25", 10, 1, "0.3"},
    {"-1.5", '+', "1.25", 10, 1, "-0.3"},
    {"2.5", '*', "0.5", 10, 1, "1.3"},
    {"99999999999999999999999999999999999999", '+', "1", 38, 0, NULL},
    {"99999999999999999999999999999999999999", '+', "-1", 38, 0, "99999999999999999999999999999999999998"},
    {"99999999999999999999999999999999999999", '-', "0.00000000000000000000000000000000000001", 38, 0,
     "99999999999999999999999999999999999999"},
    {"99999999999999999999999999999999999999", '*', "99999999999999999999999999999999999999", 38, 0, NULL},
    {"99999999999999999999999999999999999999", '/', "0.00000000000000000000000000000000000001", 38, 6, NULL},
    {"9.99", '*', "9.99", 3, 2, NULL},
    {"9.99", '*', "9.99", 5, 2, "99.80"},
    {"0", '/', "7", 38, 6, "0.000000"},
    {"1", '/', "8", 3, 2, "0.13"},
    {"-1", '/', "8", 3, 2, "-0.13"},
    {"1", '/', "-800", 3, 2, "0.00"},
};

static void test_results_are_exact_and_rounded_half_up_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const row *one = &rows[i];
        nl_int128 a, b, out = 0;
        int a_scale, b_scale;
        assert_true(nl_decimal_parse(nl_str_from(one->a), &a, &a_scale, NULL));
        assert_true(nl_decimal_parse(nl_str_from(one->b), &b, &b_scale, NULL));
        bool fits = false;
        switch (one->operation) {
        case '+': fits = nl_decimal_add(a, a_scale, b, b_scale, one->precision, one->scale, &out); break;
        case '-': fits = nl_decimal_subtract(a, a_scale, b, b_scale, one->precision, one->scale, &out); break;
        case '*': fits = nl_decimal_multiply(a, a_scale, b, b_scale, one->precision, one->scale, &out); break;
        case '/': fits = nl_decimal_divide(a, a_scale, b, b_scale, one->precision, one->scale, &out); break;
        default: fits = nl_decimal_remainder(a, a_scale, b, b_scale, one->precision, one->scale, &out); break;
        }
        assert_int_equal(fits, one->expected != NULL);
        if (fits) assert_string_equal(text_of(out, one->scale), one->expected);
    }
}

static void test_rescaling_knows_five_ways_to_round(void **state)
{
    (void)state;
    static const struct {
        int64_t value;
        int64_t expected[5]; /* half up, half even, down, floor, ceiling */
    } cases[] = {
        {25, {3, 2, 2, 2, 3}},    {-25, {-3, -2, -2, -3, -2}}, {35, {4, 4, 3, 3, 4}},     {-35, {-4, -4, -3, -4, -3}},
        {24, {2, 2, 2, 2, 3}},    {-24, {-2, -2, -2, -3, -2}}, {26, {3, 3, 2, 2, 3}},     {20, {2, 2, 2, 2, 2}},
        {0, {0, 0, 0, 0, 0}},     {-1, {0, 0, 0, -1, 0}},      {5, {1, 0, 0, 0, 1}},      {-5, {-1, 0, 0, -1, 0}},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++)
        for (int rounding = 0; rounding < 5; rounding++) {
            nl_int128 out;
            assert_true(nl_decimal_rescale(cases[i].value, 3, 2, (nl_rounding)rounding, &out));
            assert_int_equal((int64_t)out, cases[i].expected[rounding]);
        }
}

static void test_rescaling_at_the_ends_of_the_range(void **state)
{
    (void)state;
    nl_int128 largest = number("99999999999999999999999999999999999999");
    nl_int128 out;
    assert_false(nl_decimal_rescale(largest, 0, 1, NL_ROUND_HALF_UP, &out));
    assert_false(nl_decimal_rescale(1, 0, 38, NL_ROUND_HALF_UP, &out));
    assert_true(nl_decimal_rescale(1, 1, 38, NL_ROUND_HALF_UP, &out));
    assert_string_equal(text_of(out, 38), "0.10000000000000000000000000000000000000");
    assert_false(nl_decimal_rescale(1, 0, 100, NL_ROUND_HALF_UP, &out));
    assert_true(nl_decimal_rescale(0, 0, 100, NL_ROUND_HALF_UP, &out) && out == 0);
    assert_true(nl_decimal_rescale(largest, 38, 0, NL_ROUND_HALF_UP, &out) && out == 1);
    assert_true(nl_decimal_rescale(largest, 39, 0, NL_ROUND_HALF_UP, &out) && out == 0);
    assert_true(nl_decimal_rescale(largest, 100, 0, NL_ROUND_CEILING, &out) && out == 1);
    assert_true(nl_decimal_rescale(-largest, 100, 0, NL_ROUND_FLOOR, &out) && out == -1);
    assert_true(nl_decimal_rescale(12345, 0, -2, NL_ROUND_HALF_UP, &out) && out == 123);
}

static void test_comparing_across_scales(void **state)
{
    (void)state;
    nl_int128 largest = number("99999999999999999999999999999999999999");
    assert_int_equal(nl_decimal_compare(10, 1, 1, 0), 0);
    assert_int_equal(nl_decimal_compare(11, 1, 1, 0), 1);
    assert_int_equal(nl_decimal_compare(-11, 1, -1, 0), -1);
    assert_int_equal(nl_decimal_compare(-1, 0, 1, 38), -1);
    assert_int_equal(nl_decimal_compare(largest, 0, largest, 38), 1);
    assert_int_equal(nl_decimal_compare(-largest, 0, -largest, 38), -1);
    assert_int_equal(nl_decimal_compare(largest, 38, 1, 0), -1);
    assert_int_equal(nl_decimal_compare(0, 0, 0, 38), 0);
}

static void test_counting_digits(void **state)
{
    (void)state;
    assert_int_equal(nl_decimal_digits(0), 1);
    assert_int_equal(nl_decimal_digits(9), 1);
    assert_int_equal(nl_decimal_digits(-10), 2);
    assert_int_equal(nl_decimal_digits(nl_decimal_powers[37]), 38);
    assert_int_equal(nl_decimal_digits(nl_decimal_powers[38] - 1), 38);
    for (int i = 1; i <= NL_DECIMAL_PRECISION_MAX; i++)
        assert_true(nl_decimal_powers[i] == nl_decimal_powers[i - 1] * 10);
    assert_true(nl_decimal_fits(999, 3));
    assert_false(nl_decimal_fits(-1000, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_are_exact_and_rounded_half_up_once),
        cmocka_unit_test(test_rescaling_knows_five_ways_to_round),
        cmocka_unit_test(test_rescaling_at_the_ends_of_the_range),
        cmocka_unit_test(test_comparing_across_scales),
        cmocka_unit_test(test_counting_digits),
    };
    return cmocka_run_group_tests_name("base/decimal", tests, NULL, NULL);
}
