/* base/decimal_text_test.c - decimals to and from text and doubles, as Spark 4.0.1 casts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/decimal.h"
#include "base/number.h"

static const char *text_of(nl_int128 value, int scale)
{
    static char text[64];
    uint32_t length = nl_decimal_format(value, scale, text);
    assert_true(length <= 48);
    text[length] = '\0';
    return text;
}

static void test_text_keeps_the_scale(void **state)
{
    (void)state;
    assert_string_equal(text_of(0, 0), "0");
    assert_string_equal(text_of(0, 2), "0.00");
    assert_string_equal(text_of(-1250, 2), "-12.50");
    assert_string_equal(text_of(5, 3), "0.005");
    assert_string_equal(text_of(-5, 1), "-0.5");
    assert_string_equal(text_of(5, -3), "5000");
    assert_string_equal(text_of(nl_decimal_powers[38] - 1, 0), "99999999999999999999999999999999999999");
    assert_string_equal(text_of(1 - nl_decimal_powers[38], 38), "-0.99999999999999999999999999999999999999");
    assert_string_equal(text_of((nl_int128)UINT64_MAX + 1, 5), "184467440737095.51616");
}

static void test_parsing_keeps_the_texts_own_scale(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
        int scale;
    } good[] = {
        {"0", 0, 0},         {"-12.50", -1250, 2}, {" 1.5E-2 ", 15, 3}, {"1e3", 1, -3},       {".5", 5, 1},
        {"5.", 5, 0},        {"+5", 5, 0},         {"0.00", 0, 2},      {"1E+2", 1, -2},      {"\t7\n", 7, 0},
        {"007.10", 710, 2},  {"-0", 0, 0},         {"1e-50", 1, 50},
    };
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        nl_int128 value;
        int scale;
        assert_true(nl_decimal_parse(nl_str_from(good[i].text), &value, &scale, NULL));
        assert_int_equal((int64_t)value, good[i].value);
        assert_int_equal(scale, good[i].scale);
    }
    static const char *const bad[] = {"",   " ",  ".",   "-",    "e5",  "1e",         "1e+", "1 2", "1d",
                                      "0x1", "1_0", "1.2.3", "NaN", "--1", "1e99999999999", "\xd9\xa3"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_int128 value;
        int scale;
        bool is_overflow = true;
        assert_false(nl_decimal_parse(nl_str_from(bad[i]), &value, &scale, &is_overflow));
        assert_false(is_overflow);
    }
    nl_int128 value;
    int scale;
    bool is_overflow = false;
    assert_false(nl_decimal_parse(NL_STR("123456789012345678901234567890123456789"), &value, &scale, &is_overflow));
    assert_true(is_overflow);
    assert_true(nl_decimal_parse(NL_STR("000099999999999999999999999999999999999999"), &value, &scale, NULL));
}

static void test_casting_rounds_once_whatever_the_length(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int precision, scale;
        const char *expected; /* NULL: refused */
        bool is_overflow;
    } cases[] = {
        {"0.33333333333333333333333333333333333333333333333333", 10, 2, "0.33", false},
        {"0.00499999999999999999999999999999999999999999999999", 10, 2, "0.00", false},
        {"0.00500000000000000000000000000000000000000000000000", 10, 2, "0.01", false},
        {"1e3", 10, 2, "1000.00", false},
        {"1.5E-2", 10, 4, "0.0150", false},
        {"-0.5", 3, 0, "-1", false},
        {"1e-400", 38, 0, "0", false},
        {"1e40", 38, 0, NULL, true},
        {"0e400", 38, 0, NULL, true}, /* Spark counts digits before the point, also of zero */
        {"999.995", 5, 2, NULL, true},
        {"999.994", 5, 2, "999.99", false},
        {"1e", 10, 2, NULL, false},
        {"1 2", 10, 2, NULL, false},
        {"", 10, 2, NULL, false},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_int128 out = 0;
        bool is_overflow = false;
        bool is_good = nl_cast_decimal(nl_str_from(cases[i].text), cases[i].precision, cases[i].scale, &out, &is_overflow);
        assert_int_equal(is_good, cases[i].expected != NULL);
        assert_int_equal(is_overflow, cases[i].is_overflow);
        if (is_good) assert_string_equal(text_of(out, cases[i].scale), cases[i].expected);
    }
}

static void test_doubles_become_decimals_by_their_text(void **state)
{
    (void)state;
    static const struct {
        double value;
        int precision, scale;
        const char *expected;
    } cases[] = {
        {0.1, 38, 30, "0.100000000000000000000000000000"},
        {1e22, 38, 0, "10000000000000000000000"},
        {2.5, 2, 0, "3"},
        {-2.5, 2, 0, "-3"},
        {1.005, 5, 2, "1.01"}, /* the binary value is below the tie, the text is on it */
        {1e-10, 20, 12, "0.000000000100"},
        {0.0, 3, 1, "0.0"},
        {100.0, 2, 0, NULL},
        {1e300, 38, 0, NULL},
        {(double)NAN, 38, 0, NULL},
        {(double)INFINITY, 38, 0, NULL},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_int128 out = 0;
        bool fits = nl_decimal_from_double(cases[i].value, cases[i].precision, cases[i].scale, &out);
        assert_int_equal(fits, cases[i].expected != NULL);
        if (fits) assert_string_equal(text_of(out, cases[i].scale), cases[i].expected);
    }
}

static void test_decimals_become_the_nearest_double(void **state)
{
    (void)state;
    assert_true(nl_decimal_to_double(1, 1) == 0.1);
    assert_true(nl_decimal_to_double(-1250, 2) == -12.5);
    assert_true(nl_decimal_to_double(0, 38) == 0.0);
    assert_true(nl_decimal_to_double(9007199254740993, 0) == 9007199254740992.0);
    assert_true(nl_decimal_to_double(nl_decimal_powers[38] - 1, 0) == 1e38);
    assert_true(nl_decimal_to_double(nl_decimal_powers[37] / 3, 37) == 0.3333333333333333);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_keeps_the_scale),
        cmocka_unit_test(test_parsing_keeps_the_texts_own_scale),
        cmocka_unit_test(test_casting_rounds_once_whatever_the_length),
        cmocka_unit_test(test_doubles_become_decimals_by_their_text),
        cmocka_unit_test(test_decimals_become_the_nearest_double),
    };
    return cmocka_run_group_tests_name("base/decimal_text", tests, NULL, NULL);
}
