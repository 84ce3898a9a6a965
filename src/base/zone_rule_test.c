/* base/zone_rule_test.c - POSIX rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/calendar.h"
#include "base/zone_rule.h"

static int64_t at(int year, int month, int day, int hour)
{
    return nl_days_from_civil(year, month, day) * 86400 + hour * 3600;
}

static void test_central_europe(void **state)
{
    (void)state;
    nl_zone_rule rule;
    assert_true(nl_zone_rule_parse(NL_STR("CET-1CEST,M3.5.0,M10.5.0/3"), &rule));
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 1, 1, 0)), 3600);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 7, 1, 0)), 7200);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 3, 27, 1) - 1), 3600);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 3, 27, 1)), 7200);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 10, 30, 1) - 1), 7200);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 10, 30, 1)), 3600);
}

static void test_the_southern_summer_spans_new_year(void **state)
{
    (void)state;
    nl_zone_rule rule;
    assert_true(nl_zone_rule_parse(NL_STR("AEST-10AEDT,M10.1.0,M4.1.0/3"), &rule));
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 1, 1, 0)), 39600);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 7, 1, 0)), 36000);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2050, 12, 31, 23)), 39600);
}

static void test_other_forms(void **state)
{
    (void)state;
    nl_zone_rule rule;
    assert_true(nl_zone_rule_parse(NL_STR("<+0330>-3:30"), &rule));
    assert_int_equal(nl_zone_rule_offset_at(&rule, 0), 12600);
    assert_true(nl_zone_rule_parse(NL_STR("UTC0"), &rule));
    assert_false(rule.has_daylight);
    assert_true(nl_zone_rule_parse(NL_STR("AAA5BBB4:30,J60,J300/-1:30"), &rule));
    assert_int_equal(rule.daylight_offset, -16200);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2024, 3, 1, 7)), -16200); /* J60 is 1 March in every year */
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2024, 3, 1, 6)), -18000);
    assert_int_equal(rule.daylight_end.second, -5400);
    assert_true(nl_zone_rule_parse(NL_STR("AAA5BBB,59,300"), &rule)); /* day 59 of a leap year is 29 February */
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2024, 2, 29, 7)), -14400);
    assert_int_equal(nl_zone_rule_offset_at(&rule, at(2024, 2, 29, 6)), -18000);
}

static void test_what_is_no_rule_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "CET",
                                      "CE-1",
                                      "CET-1CEST",
                                      "CET-1CEST,M3.5.0",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.0.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,J0,J366",
                                      "CET-1CEST,366,1",
                                      "CET-168",
                                      "CET-1x",
                                      "<+0>-3",
                                      "<+03-3",
                                      "CET-1:60",
                                      "CET-1CEST,M3.5.0/200,M10.5.0"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_zone_rule rule;
        assert_false(nl_zone_rule_parse(nl_str_from(bad[i]), &rule));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_central_europe),
        cmocka_unit_test(test_the_southern_summer_spans_new_year),
        cmocka_unit_test(test_other_forms),
        cmocka_unit_test(test_what_is_no_rule_is_refused),
    };
    return cmocka_run_group_tests_name("base/zone_rule", tests, NULL, NULL);
}
