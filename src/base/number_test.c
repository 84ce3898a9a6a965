/* base/number_test.c - numbers and truth values as Spark 4.0.1 casts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/number.h"

static void test_integers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {
        {"0", 0},
        {"+5", 5},
        {"-0", 0},
        {"9223372036854775807", INT64_MAX},
        {"-9223372036854775808", INT64_MIN},
        {"00000000000000000000000000000000001", 1},
    };
    static const char *const bad[] = {"",    "-",   "+",   "1.", ".",  "1e3", " 1", "1 ", "9223372036854775808",
                                      "-9223372036854775809", "99999999999999999999999", "\xd9\xa3", "1a", "--1"};
    int64_t value = 77;
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        assert_true(nl_parse_int64(nl_str_from(good[i].text), &value));
        assert_int_equal(value, good[i].value);
        char text[NL_NUMBER_TEXT_MAX];
        nl_str again = {text, nl_format_int64(good[i].value, text)};
        assert_true(nl_parse_int64(again, &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        value = 77;
        assert_false(nl_parse_int64(nl_str_from(bad[i]), &value));
        assert_int_equal(value, 77);
    }
}

static void test_casts_to_integers_trim(void **state)
{
    (void)state;
    static const char *const good[] = {"5", "  5 ", " \t5\n", "\x01" "5", "5\x7f"};
    static const char *const bad[] = {"", " ", "1.5", "\xc2\xa0" "5", "\xc2\x85" "5", "5 5"};
    int64_t value;
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        assert_true(nl_cast_int64(nl_str_from(good[i]), &value));
        assert_int_equal(value, 5);
    }
    for (size_t i = 0; i < NL_COUNT(bad); i++) assert_false(nl_cast_int64(nl_str_from(bad[i]), &value));
}

static void test_without_ansi_a_fraction_is_cut_off(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{".", 0}, {"1.9", 1}, {"-.5", 0}, {".5", 0}, {"-.", 0}, {"-1.9", -1}, {"7", 7}, {" 1. ", 1}};
    static const char *const bad[] = {"1.x", "1e3", "1..", "", "-", "9223372036854775808.0"};
    int64_t value;
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        assert_true(nl_cast_int64_legacy(nl_str_from(good[i].text), &value));
        assert_int_equal(value, good[i].value);
    }
    for (size_t i = 0; i < NL_COUNT(bad); i++) assert_false(nl_cast_int64_legacy(nl_str_from(bad[i]), &value));
}

static void test_truth_values(void **state)
{
    (void)state;
    static const char *const yes[] = {"t", "TRUE", "y", "Yes", "1", " T ", "\x01true"};
    static const char *const no[] = {"f", "False", "n", "NO", "0", " 0\n"};
    static const char *const bad[] = {"", "tru", "2", "on", "10"};
    bool value;
    for (size_t i = 0; i < NL_COUNT(yes); i++) assert_true(nl_cast_bool(nl_str_from(yes[i]), &value) && value);
    for (size_t i = 0; i < NL_COUNT(no); i++) assert_true(nl_cast_bool(nl_str_from(no[i]), &value) && !value);
    for (size_t i = 0; i < NL_COUNT(bad); i++) assert_false(nl_cast_bool(nl_str_from(bad[i]), &value));
}

static void test_doubles(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {
        {"1.0d", 1.0},       {" 12 ", 12.0},  {"inf", (double)INFINITY},        {"-Infinity", -(double)INFINITY},
        {"0x1p3", 8.0},      {"1f", 1.0},     {"1e400", (double)INFINITY},      {"1e-400", 0.0},
        {".5", 0.5},         {"5.", 5.0},     {"+infinity", (double)INFINITY},  {"INF", (double)INFINITY},
        {" inf ", (double)INFINITY},          {"123456789.123456789123456789e-3", 123456.7891234568},
        {"-0x1.8p1D", -3.0}, {"0.1e1", 1.0},  {"4.9E-324", 0x1p-1074},          {"1.7976931348623157E308", 0x1.fffffffffffffp1023},
        {"9007199254740993", 9007199254740992.0},
    };
    static const char *const nans[] = {"NaN", "nan", "-NaN", "+NaN", " NAN "};
    static const char *const bad[] = {"", "1 2", "e5", "1e", "+nan", "infinit", "1ff", ".", "1_0", "0x1.8", "0x", "0xp1",
                                      "1dd", "0x1p", "x1", "0x1..8p1", "\xc2\xa0" "1"};
    double value;
    for (size_t i = 0; i < NL_COUNT(good); i++) {
        assert_true(nl_parse_double(nl_str_from(good[i].text), &value));
        assert_true(value == good[i].value);
        float narrow;
        assert_true(nl_parse_float(nl_str_from(good[i].text), &narrow));
    }
    for (size_t i = 0; i < NL_COUNT(nans); i++) {
        assert_true(nl_parse_double(nl_str_from(nans[i]), &value) && isnan(value));
        float narrow;
        assert_true(nl_parse_float(nl_str_from(nans[i]), &narrow) && isnan(narrow));
    }
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        float narrow;
        assert_false(nl_parse_double(nl_str_from(bad[i]), &value));
        assert_false(nl_parse_float(nl_str_from(bad[i]), &narrow));
    }
}

static void test_special_values_print_as_in_java(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *expected;
    } cases[] = {{0.0, "0.0"}, {-0.0, "-0.0"}, {(double)NAN, "NaN"}, {(double)INFINITY, "Infinity"}, {-(double)INFINITY, "-Infinity"}};
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_double(cases[i].value, text)] = '\0';
        assert_string_equal(text, cases[i].expected);
        text[nl_format_float((float)cases[i].value, text)] = '\0';
        assert_string_equal(text, cases[i].expected);
    }
}

static void test_hex(void **state)
{
    (void)state;
    char text[8];
    assert_int_equal(nl_format_hex((const uint8_t *)"\x00\xaf\x7e", 3, true, text), 6);
    assert_memory_equal(text, "00AF7E", 6);
    assert_int_equal(nl_format_hex((const uint8_t *)"\xaf", 1, false, text), 2);
    assert_memory_equal(text, "af", 2);
    assert_int_equal(nl_format_hex(NULL, 0, false, text), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_casts_to_integers_trim),
        cmocka_unit_test(test_without_ansi_a_fraction_is_cut_off),
        cmocka_unit_test(test_truth_values),
        cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_special_values_print_as_in_java),
        cmocka_unit_test(test_hex),
    };
    return cmocka_run_group_tests_name("base/number", tests, NULL, NULL);
}
