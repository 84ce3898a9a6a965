/* base/calendar_test.c - civil days against java.time and each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/calendar.h"
#include "base/process.h"

static void test_days_and_civil_dates_are_inverse(void **state)
{
    (void)state;
    nl_civil before = {.year = -1201, .month = 12, .day = 31};
    for (int64_t days = nl_days_from_civil(-1200, 1, 1); days < nl_days_from_civil(2801, 1, 1); days++) {
        nl_civil civil = {0};
        nl_civil_from_days(days, &civil);
        assert_true(nl_civil_is_valid(civil.year, civil.month, civil.day));
        assert_int_equal(nl_days_from_civil(civil.year, civil.month, civil.day), days);
        bool is_next_day = civil.month == before.month && civil.day == before.day + 1;
        bool is_next_month = civil.day == 1 && before.day == nl_days_in_month(before.year, before.month);
        assert_true(is_next_day || is_next_month);
        before = civil;
    }
}

static void test_known_days(void **state)
{
    (void)state;
    assert_int_equal(nl_days_from_civil(1970, 1, 1), 0);
    assert_int_equal(nl_days_from_civil(1969, 12, 31), -1);
    assert_int_equal(nl_days_from_civil(2000, 2, 29), 11016);
    assert_int_equal(nl_days_from_civil(1, 1, 1), -719162);
    assert_int_equal(nl_days_from_civil(9999, 12, 31), 2932896);
    assert_int_equal(nl_days_from_civil(5881580, 7, 11), INT32_MAX);
    assert_int_equal(nl_days_from_civil(-5877641, 6, 23), INT32_MIN);
    nl_civil civil;
    nl_civil_from_days(INT32_MIN, &civil);
    assert_int_equal(civil.year, -5877641);
}

static void test_microseconds_floor_before_1970(void **state)
{
    (void)state;
    nl_civil civil;
    nl_civil_from_micros(-1, &civil);
    assert_int_equal(civil.year, 1969);
    assert_int_equal(civil.second, 59);
    assert_int_equal(civil.microsecond, 999999);
    assert_int_equal(nl_micros_from_civil(&civil), -1);
    static const int64_t samples[] = {0, 1, -86400000000, 1759276800123456, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < NL_COUNT(samples); i++) {
        nl_civil_from_micros(samples[i], &civil);
        assert_int_equal(nl_micros_from_civil(&civil), samples[i]);
    }
    assert_int_equal(nl_floor_div(-7, 2), -4);
    assert_int_equal(nl_floor_mod(-7, 2), 1);
    assert_int_equal(nl_floor_div(7, -2), -4);
}

static void test_leap_years_and_validity(void **state)
{
    (void)state;
    assert_true(nl_is_leap_year(2000) && nl_is_leap_year(2024) && nl_is_leap_year(0) && nl_is_leap_year(-4));
    assert_false(nl_is_leap_year(1900) || nl_is_leap_year(2023));
    assert_true(nl_civil_is_valid(2024, 2, 29));
    assert_false(nl_civil_is_valid(2023, 2, 29));
    assert_false(nl_civil_is_valid(2023, 0, 1));
    assert_false(nl_civil_is_valid(2023, 13, 1));
    assert_false(nl_civil_is_valid(2023, 4, 31));
    assert_false(nl_civil_is_valid(2023, 4, 0));
}

static void test_days_of_week_and_year(void **state)
{
    (void)state;
    assert_int_equal(nl_day_of_week(0), 4);
    assert_int_equal(nl_day_of_week(-4), 7);
    assert_int_equal(nl_day_of_week(nl_days_from_civil(2024, 3, 4)), 1);
    assert_int_equal(nl_day_of_year(nl_days_from_civil(2024, 12, 31)), 366);
    assert_int_equal(nl_day_of_year(nl_days_from_civil(2023, 3, 1)), 60);
}

static void test_iso_weeks_belong_to_their_thursday(void **state)
{
    (void)state;
    static const struct {
        int year, month, day, week_year, week;
    } cases[] = {{2021, 1, 1, 2020, 53}, {2021, 1, 4, 2021, 1}, {2018, 12, 31, 2019, 1}, {2016, 1, 3, 2015, 53}, {2026, 7, 1, 2026, 27}};
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        int32_t week_year;
        int32_t week;
        nl_iso_week(nl_days_from_civil(cases[i].year, cases[i].month, cases[i].day), &week_year, &week);
        assert_int_equal(week_year, cases[i].week_year);
        assert_int_equal(week, cases[i].week);
    }
}

static void test_adding_months_clips_to_the_end(void **state)
{
    (void)state;
    int64_t start = nl_days_from_civil(2024, 1, 31);
    assert_int_equal(nl_add_months(start, 1), nl_days_from_civil(2024, 2, 29));
    assert_int_equal(nl_add_months(start, 13), nl_days_from_civil(2025, 2, 28));
    assert_int_equal(nl_add_months(start, -2), nl_days_from_civil(2023, 11, 30));
    assert_int_equal(nl_add_months(start, -12 * 2024 - 1), nl_days_from_civil(-1, 12, 31));
    assert_int_equal(nl_add_months(start, 0), start);
}

static void test_the_clock_can_be_held(void **state)
{
    (void)state;
    int64_t now = nl_now_micros();
    assert_true(now > 1700000000000000);
    nl_clock_hold(42);
    assert_int_equal(nl_now_micros(), 42);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    assert_true(nl_now_micros() >= now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_days_and_civil_dates_are_inverse),
        cmocka_unit_test(test_known_days),
        cmocka_unit_test(test_microseconds_floor_before_1970),
        cmocka_unit_test(test_leap_years_and_validity),
        cmocka_unit_test(test_days_of_week_and_year),
        cmocka_unit_test(test_iso_weeks_belong_to_their_thursday),
        cmocka_unit_test(test_adding_months_clips_to_the_end),
        cmocka_unit_test(test_the_clock_can_be_held),
    };
    return cmocka_run_group_tests_name("base/calendar", tests, NULL, NULL);
}
