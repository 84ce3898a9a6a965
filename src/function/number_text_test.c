/* function/number_text_test.c - digits of numbers, rounded as Java rounds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function/number_text.h"

static void expect_digits(const nl_number_digits *digits, const char *text, int32_t exponent)
{
    assert_int_equal(digits->count, strlen(text));
    assert_memory_equal(digits->text, text, strlen(text));
    assert_int_equal(digits->exponent, exponent);
}

static void test_decimals_lose_zeros_at_both_ends(void **state)
{
    (void)state;
    nl_number_digits digits;
    nl_number_digits_of_decimal(-1200, 4, &digits); /* -0.1200 */
    expect_digits(&digits, "12", 0);
    assert_true(digits.is_negative);
    nl_number_digits_of_decimal(0, 2, &digits);
    expect_digits(&digits, "", 0);
}

static void test_half_even_looks_at_the_exact_double(void **state)
{
    (void)state;
    static const struct {
        double value;
        int32_t places;
        const char *digits;
        int32_t exponent;
    } cases[] = {
        {0.125, 2, "12", 0},  /* exactly in the middle: to the even digit */
        {0.375, 2, "38", 0},
        {1.005, 2, "1", 1},   /* the double is below 1.005 */
        {0.135, 2, "14", 0},  /* and this one above 0.135  */
        {9.995, 2, "999", 1}, /* below */
        {9.5, 0, "1", 2},     /* one digit more */
        {0.5, 0, "", 0},
        {1.5, 0, "2", 1},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_number_digits digits;
        nl_number_digits_of_double(cases[i].value, &digits);
        nl_number_digits_round(&digits, cases[i].places, NL_ROUND_HALF_EVEN);
        expect_digits(&digits, cases[i].digits, cases[i].exponent);
    }
}

static void test_half_up_looks_at_the_printed_digits(void **state)
{
    (void)state;
    nl_number_digits digits;
    nl_number_digits_of_double(1.005, &digits);
    nl_number_digits_round(&digits, 2, NL_ROUND_HALF_UP);
    expect_digits(&digits, "101", 1);
    nl_number_digits_of_double(999.9996, &digits);
    nl_number_digits_round(&digits, 3, NL_ROUND_HALF_UP);
    expect_digits(&digits, "1", 4);
    assert_int_equal(nl_number_digit(&digits, -4), '1');
    assert_int_equal(nl_number_digit(&digits, 0), '0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decimals_lose_zeros_at_both_ends),
        cmocka_unit_test(test_half_even_looks_at_the_exact_double),
        cmocka_unit_test(test_half_up_looks_at_the_printed_digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
