/* base/timezone_test.c - zones by name. The offsets are those of java.time; transitions are of years whose rules will not change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "base/calendar.h"

static const nl_timezone *zone_of(const char *name)
{
    const nl_timezone *zone = NULL;
    nl_status status = nl_timezone_find(nl_str_from(name), &zone);
    assert_null(status);
    return zone;
}

static int64_t micros_at(int year, int month, int day, int hour, int minute)
{
    nl_civil civil = {.year = year, .month = month, .day = day, .hour = hour, .minute = minute};
    return nl_micros_from_civil(&civil);
}

static void test_fixed_offsets_in_java_times_forms(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int offset;
    } cases[] = {
        {"Z", 0},          {"UTC", 0},         {"GMT", 0},          {"UT", 0},          {"+01:00", 3600},
        {"-08:30", -30600}, {"+1", 3600},      {"+01", 3600},       {"+0130", 5400},    {"+013015", 5415},
        {"+01:30:15", 5415}, {"+18:00", 64800}, {"-18:00", -64800}, {"UTC+1", 3600},    {"GMT-03:00", -10800},
        {"UT+0530", 19800}, {"+1:30", 5400},   {"+1:0", 3600},      {"+01:5", 3900},    {"EST", -18000},
        {"HST", -36000},    {"MST", -25200},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        const nl_timezone *zone = zone_of(cases[i].name);
        assert_int_equal(nl_timezone_offset_at(zone, 0), cases[i].offset);
        assert_int_equal(nl_timezone_from_local(zone, nl_timezone_to_local(zone, 123456)), 123456);
        assert_int_equal(nl_timezone_is_utc(zone), cases[i].offset == 0);
        assert_true(nl_str_is(nl_timezone_name(zone), cases[i].name));
    }
}

static void test_what_is_no_zone_is_invalid_timezone(void **state)
{
    (void)state;
    static const char *const bad[] = {"",          "foo",      "+19:00",     "-18:01",         "europe/berlin", "z",
                                      "UTC0",      "UTC+",     "+",          "+1:60",          "+123",          "+01:02:3",
                                      "-08:30:1",  "+01-30",   "tzdata.zi",  "zone.tab",       "../passwd",     "Europe",
                                      "Europe/..", "/etc/passwd", "posix/UTC", "localtime",    "UTCZ",          "Europe/Berlin "};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        const nl_timezone *zone = NULL;
        nl_status status = nl_timezone_find(nl_str_from(bad[i]), &zone);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), NL_COND_INVALID_TIMEZONE);
        assert_string_equal(nl_error_param(status, "timeZone"), bad[i]);
        nl_error_free(status);
    }
    nl_str with_zero = {"Europe/Berlin\0x", 15};
    const nl_timezone *zone;
    nl_status status = nl_timezone_find(with_zero, &zone);
    assert_non_null(status);
    nl_error_free(status);
}

static void test_berlin_at_its_transitions(void **state)
{
    (void)state;
    const nl_timezone *zone = zone_of("Europe/Berlin");
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(2024, 1, 1, 0, 0)), 3600);
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(2024, 3, 31, 1, 0) - 1), 3600);
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(2024, 3, 31, 1, 0)), 7200);
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(1945, 5, 25, 0, 0)), 10800); /* double summer time */
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(1800, 1, 1, 0, 0)), 3208);   /* local mean time    */
    assert_int_equal(nl_timezone_offset_at(zone, micros_at(9000, 7, 1, 0, 0)), 7200);   /* by the rule        */
}

static void test_a_gap_moves_forward_and_an_overlap_takes_the_earlier_offset(void **state)
{
    (void)state;
    const nl_timezone *zone = zone_of("Europe/Berlin");
    assert_int_equal(nl_timezone_from_local(zone, micros_at(2024, 3, 31, 2, 30)), micros_at(2024, 3, 31, 1, 30));
    assert_int_equal(nl_timezone_from_local(zone, micros_at(2024, 3, 31, 3, 0)), micros_at(2024, 3, 31, 1, 0));
    assert_int_equal(nl_timezone_from_local(zone, micros_at(2024, 10, 27, 2, 30)), micros_at(2024, 10, 27, 0, 30));
    assert_int_equal(nl_timezone_from_local(zone, micros_at(2024, 10, 27, 3, 0)), micros_at(2024, 10, 27, 2, 0));
    assert_int_equal(nl_timezone_from_local(zone, micros_at(2060, 3, 28, 2, 30)), micros_at(2060, 3, 28, 1, 30));
    const nl_timezone *samoa = zone_of("Pacific/Apia"); /* has no 30 December 2011 */
    assert_int_equal(nl_timezone_from_local(samoa, micros_at(2011, 12, 30, 12, 0)), micros_at(2011, 12, 30, 22, 0));
}

static void test_other_zones(void **state)
{
    (void)state;
    assert_int_equal(nl_timezone_offset_at(zone_of("Asia/Kolkata"), micros_at(2024, 1, 1, 0, 0)), 19800);
    assert_int_equal(nl_timezone_offset_at(zone_of("America/New_York"), micros_at(2024, 7, 1, 0, 0)), -14400);
    assert_int_equal(nl_timezone_offset_at(zone_of("PST"), micros_at(2024, 1, 1, 0, 0)), -28800);
    assert_int_equal(nl_timezone_offset_at(zone_of("Etc/GMT+3"), 0), -10800);
    assert_int_equal(nl_timezone_offset_at(zone_of("Australia/Lord_Howe"), micros_at(2024, 1, 1, 0, 0)), 39600);
    assert_true(nl_timezone_is_utc(zone_of("Etc/UTC")));
    assert_false(nl_timezone_is_utc(zone_of("Europe/London")));
    assert_ptr_equal(zone_of("UTC"), nl_timezone_utc());
}

static void test_a_zone_is_made_once(void **state)
{
    (void)state;
    assert_ptr_equal(zone_of("Asia/Tokyo"), zone_of("Asia/Tokyo"));
    assert_ptr_equal(zone_of("+07:00"), zone_of("+07:00"));
}

static void test_the_ends_of_time_do_not_wrap(void **state)
{
    (void)state;
    const nl_timezone *east = zone_of("+01:00");
    const nl_timezone *west = zone_of("-01:00");
    assert_int_equal(nl_timezone_to_local(east, INT64_MAX), INT64_MAX);
    assert_int_equal(nl_timezone_to_local(west, INT64_MIN), INT64_MIN);
    assert_int_equal(nl_timezone_from_local(east, INT64_MIN), INT64_MIN);
    assert_int_equal(nl_timezone_from_local(zone_of("Europe/Berlin"), INT64_MAX), INT64_MAX - 3600000000);
    assert_int_equal(nl_timezone_to_local(zone_of("Asia/Tokyo"), INT64_MAX), INT64_MAX);
}

static void *find_many(void *argument)
{
    static const char *const names[] = {"Europe/Paris", "Asia/Seoul", "America/Lima", "+03:15", "Africa/Cairo", "Europe/Rome"};
    const nl_timezone **found = argument;
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        nl_status status = nl_timezone_find(nl_str_from(names[i]), &found[i]);
        if (status != NULL) found[i] = NULL;
        nl_error_free(status);
    }
    return NULL;
}

static void test_threads_share_the_cache(void **state)
{
    (void)state;
    pthread_t threads[4];
    const nl_timezone *found[4][6] = {{0}};
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, find_many, found[i]), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 6; j++) {
            assert_non_null(found[i][j]);
            assert_ptr_equal(found[i][j], found[0][j]);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_offsets_in_java_times_forms),
        cmocka_unit_test(test_what_is_no_zone_is_invalid_timezone),
        cmocka_unit_test(test_berlin_at_its_transitions),
        cmocka_unit_test(test_a_gap_moves_forward_and_an_overlap_takes_the_earlier_offset),
        cmocka_unit_test(test_other_zones),
        cmocka_unit_test(test_a_zone_is_made_once),
        cmocka_unit_test(test_the_ends_of_time_do_not_wrap),
        cmocka_unit_test(test_threads_share_the_cache),
    };
    return cmocka_run_group_tests_name("base/timezone", tests, NULL, NULL);
}
