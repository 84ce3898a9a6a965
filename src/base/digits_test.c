/* base/digits_test.c - digits against what Double.toString and Float.toString of Java 17 print. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/number.h"

static const struct {
    double value;
    const char *expected;
} doubles[] = {
    {0x1.0p0, "1.0"},
    {0x1.999999999999ap-4, "0.1"},
    {0x1.0624dd2f1a9fcp-10, "0.001"},
    {0x1.0624db774ca22p-10, "9.999999E-4"},
    {0x1.47ae147ae147bp-7, "0.01"},
    {0x1.312cfep23, "9999999.0"},
    {0x1.312dp23, "1.0E7"},
    {0x1.78c29dccccccdp23, "1.23456789E7"},
    {0x1.52d02c7e14af6p76, "9.999999999999999E22"},
    {0x1.0624dd2f1a9fcp-9, "0.002"},
    {0x1.52d02c7e14af6p77, "1.9999999999999998E23"},
    {0x1.c7e83209e90b2p72, "8.409999999999999E21"},
    {0x1.0p-1022, "2.2250738585072014E-308"},
    {0x0.0000000000001p-1022, "4.9E-324"},
    {0x0.0000000000002p-1022, "1.0E-323"},
    {0x1.fffffffffffffp1023, "1.7976931348623157E308"},
    {0x1.0p53, "9.007199254740992E15"},
    {0x1.0p63, "9.223372036854776E18"},
    {0x1.0p64, "1.8446744073709552E19"},
    {0x1.0p-44, "5.6843418860808015E-14"},
    {0x0.000000000002dp-1022, "2.2E-322"},
    {0x1.d6f34548p26, "1.23456789125E8"},
    {0x1.9p6, "100.0"},
    {0x1.5555555555555p-2, "0.3333333333333333"},
    {0x1.711947cfa26a2p-17, "1.1E-5"},
    {0x1.1666666666666p2, "4.35"},
    {0x1.0p-25, "2.9802322387695312E-8"},
    {0x1.0p-20, "9.5367431640625E-7"},
    {0x1.0f0cf064dd592p73, "1.0E22"},
    {0x1.bf08ebp34, "3.0E10"},
    {0x1.56a95319d63e1p63, "1.2345678901234567E19"},
    {0x1.0p-1, "0.5"},
    {0x1.80d43de9cc603p-31, "7.0E-10"},
    {0x1.4f8b588e368f1p-16, "2.0E-5"},
    {0x1.c6bf52634p49, "1.0E15"},
    {0x1.1c37937e08p53, "1.0E16"},
    {0x1.0p57, "1.44115188075855872E17"},
    {0x1.0p56, "7.2057594037927936E16"},
};

static const struct {
    float value;
    const char *expected;
} floats[] = {
    {0x1.0p0f, "1.0"},
    {0x1.99999ap-4f, "0.1"},
    {0x1.19999ap0f, "1.1"},
    {0x1.0p24f, "1.6777216E7"},
    {0x1.fffffep127f, "3.4028235E38"},
    {0x0.000002p-126f, "1.4E-45"},
    {0x1.0p-126f, "1.17549435E-38"},
    {0x1.0p25f, "3.3554432E7"},
    {0x1.0624dep-10f, "0.001"},
    {0x1.061e28p-10f, "9.999E-4"},
    {0x1.312dp23f, "1.0E7"},
    {0x1.312cfep23f, "9999999.0"},
    {0x1.00004cp33f, "8.5899735E9"},
    {0x1.bf08ecp34f, "3.0000001E10"},
    {0x1.2a05f2p33f, "1.0E10"},
    {0x0.00001cp-126f, "2.0E-44"},
};

static void test_doubles_print_as_in_java_17(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(doubles); i++) {
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_double(doubles[i].value, text)] = '\0';
        assert_string_equal(text, doubles[i].expected);
        text[nl_format_double(-doubles[i].value, text)] = '\0';
        assert_int_equal(text[0], '-');
        assert_string_equal(text + 1, doubles[i].expected);
    }
}

static void test_floats_print_as_in_java_17(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(floats); i++) {
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_float(floats[i].value, text)] = '\0';
        assert_string_equal(text, floats[i].expected);
    }
}

static void test_every_kind_of_double_survives_text(void **state)
{
    (void)state;
    uint64_t bits = 1;
    for (int i = 0; i < 200000; i++) {
        bits = bits * 6364136223846793005ull + 1442695040888963407ull;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        char text[NL_NUMBER_TEXT_MAX];
        double again;
        assert_true(nl_parse_double((nl_str){text, nl_format_double(value, text)}, &again));
        assert_memory_equal(&value, &again, sizeof value);
        float narrow = (float)value;
        float narrow_again;
        assert_true(nl_parse_float((nl_str){text, nl_format_float(narrow, text)}, &narrow_again));
        assert_memory_equal(&narrow, &narrow_again, sizeof narrow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_doubles_print_as_in_java_17),
        cmocka_unit_test(test_floats_print_as_in_java_17),
        cmocka_unit_test(test_every_kind_of_double_survives_text),
    };
    return cmocka_run_group_tests_name("base/digits", tests, NULL, NULL);
}
