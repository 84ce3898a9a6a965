/* base/datetime_text_test.c - dates and timestamps as Spark 4.0.1 casts and prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "base/process.h"

/* The text of the value, or NULL when the cast refuses: as Spark printed it with session time zone UTC. */
typedef struct cast {
    const char *text;
    const char *expected;
} cast;

static const cast dates[] = {
    {"2020-1-2", "2020-01-02"},
    {"2020", "2020-01-01"},
    {"2020-1", "2020-01-01"},
    {"2020-1-", NULL},
    {"2020-1 ", "2020-01-01"},
    {"2020-1 x", NULL},
    {"2020-1-2x", NULL},
    {"2020-1-2 x", "2020-01-02"},
    {"2020-1-2Tx", "2020-01-02"},
    {"+2020-1-2", "2020-01-02"},
    {"-0001-1-2", "-0001-01-02"},
    {"99999-1-2", "+99999-01-02"},
    {"999-1-2", NULL},
    {"12345678-1-1", NULL},
    {"1234567-1-1", "+1234567-01-01"},
    {"2020-02-30", NULL},
    {"", NULL},
    {"-", NULL},
    {"2020-001-01", NULL},
    {" 2020-01-01 ", "2020-01-01"},
    {"\x01" "2020-01-01", "2020-01-01"},
    {"9999999-12-31", NULL},
    {"5881580-07-11", "+5881580-07-11"},
    {"5881580-07-12", NULL},
    {"-5877641-06-23", "-5877641-06-23"},
    {"-5877641-06-22", NULL},
    {"2020-1-2-3", NULL},
    {"2020--2", NULL},
    {"T", NULL},
};

static const cast timestamps[] = {
    {"2020-1-2 3:4:5", "2020-01-02 03:04:05"},
    {"2020", "2020-01-01 00:00:00"},
    {"2020-1", "2020-01-01 00:00:00"},
    {"2020-1-2T", NULL},
    {"2020-1-2 3", "2020-01-02 03:00:00"},
    {"2020-1-2 3:4", "2020-01-02 03:04:00"},
    {"2020-1-2 3:4:5.", "2020-01-02 03:04:05"},
    {"2020-1-2 3:4:5.1234567", "2020-01-02 03:04:05.123456"},
    {"2020-1-2 3:4:5.1+01:00", "2020-01-02 02:04:05.1"},
    {"2020-1-2 3:4:5Z", "2020-01-02 03:04:05"},
    {"2020-1-2 3:4:5 Europe/Berlin", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5 UTC+1", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5+1:0", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5 PST", "2020-01-02 11:04:05"},
    {"2020-1-2 3:4Z", NULL},
    {"2020-1-2Z", NULL},
    {"2020-1-2 24:00:00", NULL},
    {"+2020-1-2 1:1:1", "2020-01-02 01:01:01"},
    {"-0001-1-2 1:1:1", "-0001-01-02 01:01:01"},
    {"294247-01-10 04:00:54.775807", "+294247-01-10 04:00:54.775807"},
    {"294247-01-10 04:00:54.775808", NULL},
    {"-290308-12-21 19:59:05.224192", "-290308-12-21 19:59:05.224192"},
    {"-290308-12-21 19:59:05.224191", NULL},
    {"294247-01-10 05:00:54.775807+01:00", "+294247-01-10 04:00:54.775807"},
    {"294247-01-10 05:00:54.775808+01:00", NULL},
    {"-290308-12-21 18:59:05.224192-01:00", "-290308-12-21 19:59:05.224192"},
    {"294247-01-10 04:00:54.775807-01:00", NULL},
    {" 2020-01-02 03:04:05 ", "2020-01-02 03:04:05"},
    {"2020-1-2 3:4:5.1 ", "2020-01-02 03:04:05.1"},
    {"2020-1-2 3:4:5+01", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5+0100", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5+19:00", NULL},
    {"2020-1-2 3:4:5+01:02:03", "2020-01-02 02:02:02"},
    {"2020-1-2 3:4:5 GMT-3", "2020-01-02 06:04:05"},
    {"2020-1-2 3:4:5 +1", "2020-01-02 02:04:05"},
    {"2020-1-2 3:4:5 foo", NULL},
    {"2020-1-2 3:4:5 europe/berlin", NULL},
    {"2020-1-2 3:4:5.Z", "2020-01-02 03:04:05"},
    {"2020-1-2 3:4:5 z", NULL},
    {"2020-1-2 3:4:60", NULL},
    {"2020-1-2 3:60:0", NULL},
    {"1234567-1-2 3:4:5", NULL},
    {"123456-1-2 3:4:5", "+123456-01-02 03:04:05"},
    {"2020-1-2 3:4:5 EST", "2020-01-02 08:04:05"},
    {"2020-1-2 3:4:5.123 UTC", "2020-01-02 03:04:05.123"},
    {"2020-01-02 123:04:05", NULL},
    {"2020-1-2  3:4:5", NULL},
    {"2020-1-2 3:4:5.1.2", NULL},
    {"2020-1-2 3:4:5:", NULL},
    {"2020-1-2 3:4:5-08:30:1", NULL},
    {"2020-1-2 3:4:5 UT", "2020-01-02 03:04:05"},
    {"2020-1-2 3:4:5 UTC0", NULL},
    {"2020-1-2 3:4:5 Etc/GMT+3", "2020-01-02 06:04:05"},
    {"2020-1-2 3:4:5 HST", "2020-01-02 13:04:05"},
    {"2020-02-30 1:1:1", NULL},
    {"3:4", "2020-05-06 03:04:00"}, /* a time alone is of today; the test holds the clock */
    {"T3:4:5", "2020-05-06 03:04:05"},
    {"T3", "2020-05-06 03:00:00"},
    {"T", NULL},
    {"+3:4", NULL},
    {"3:", NULL},
    {"", NULL},
};

static const cast plain_timestamps[] = {
    {"2020-1-2 3:4:5Z", "2020-01-02 03:04:05"}, /* the zone is read and ignored */
    {"2020-1-2 3:4:5.5", "2020-01-02 03:04:05.5"},
    {"2020-1-2 3:4:5 foo", NULL},
    {"3:4:5", NULL},
    {"T3:4", NULL},
    {"2020-1-2", "2020-01-02 00:00:00"},
    {"300000-1-2 1:1:1", NULL},
    {"-290308-12-21 19:59:05.224192", "-290308-12-21 19:59:05.224192"},
};

static void test_dates(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(dates); i++) {
        int32_t days = 0;
        bool is_good = nl_cast_date(nl_str_from(dates[i].text), &days);
        assert_int_equal(is_good, dates[i].expected != NULL);
        if (!is_good) continue;
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_date(days, text)] = '\0';
        assert_string_equal(text, dates[i].expected);
    }
}

static void test_timestamps(void **state)
{
    (void)state;
    nl_clock_hold(nl_days_from_civil(2020, 5, 6) * NL_MICROS_PER_DAY + 1);
    for (size_t i = 0; i < NL_COUNT(timestamps); i++) {
        int64_t micros = 0;
        bool is_good = nl_cast_timestamp(nl_str_from(timestamps[i].text), nl_timezone_utc(), &micros);
        if (is_good != (timestamps[i].expected != NULL)) print_message("%s\n", timestamps[i].text);
        assert_int_equal(is_good, timestamps[i].expected != NULL);
        if (!is_good) continue;
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_timestamp(micros, text)] = '\0';
        assert_string_equal(text, timestamps[i].expected);
    }
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
}

static void test_timestamps_without_zone(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(plain_timestamps); i++) {
        int64_t micros = 0;
        bool is_good = nl_cast_timestamp_ntz(nl_str_from(plain_timestamps[i].text), true, &micros);
        assert_int_equal(is_good, plain_timestamps[i].expected != NULL);
        if (!is_good) continue;
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_timestamp(micros, text)] = '\0';
        assert_string_equal(text, plain_timestamps[i].expected);
    }
    int64_t micros;
    assert_false(nl_cast_timestamp_ntz(NL_STR("2020-1-2 3:4:5Z"), false, &micros));
}

static void test_the_sessions_zone_holds_where_the_text_has_none(void **state)
{
    (void)state;
    const nl_timezone *zone;
    assert_null(nl_timezone_find(NL_STR("America/Los_Angeles"), &zone));
    int64_t micros;
    assert_true(nl_cast_timestamp(NL_STR("1970-01-01 00:00:00"), zone, &micros));
    assert_int_equal(micros, 8 * 3600 * NL_MICROS_PER_SECOND);
    assert_true(nl_cast_timestamp(NL_STR("1970-01-01 00:00:00Z"), zone, &micros));
    assert_int_equal(micros, 0);
}

static void test_years_print_with_four_digits_or_a_sign(void **state)
{
    (void)state;
    static const struct {
        int year;
        const char *expected;
    } cases[] = {{10000, "+10000-03-15"}, {9999, "9999-03-15"}, {44, "0044-03-15"}, {0, "0000-03-15"}, {-44, "-0044-03-15"}, {12345, "+12345-03-15"}};
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        char text[NL_NUMBER_TEXT_MAX];
        text[nl_format_date((int32_t)nl_days_from_civil(cases[i].year, 3, 15), text)] = '\0';
        assert_string_equal(text, cases[i].expected);
    }
    char text[NL_NUMBER_TEXT_MAX];
    text[nl_format_timestamp(-1, text)] = '\0';
    assert_string_equal(text, "1969-12-31 23:59:59.999999");
    text[nl_format_timestamp(120000, text)] = '\0';
    assert_string_equal(text, "1970-01-01 00:00:00.12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_timestamps),
        cmocka_unit_test(test_timestamps_without_zone),
        cmocka_unit_test(test_the_sessions_zone_holds_where_the_text_has_none),
        cmocka_unit_test(test_years_print_with_four_digits_or_a_sign),
    };
    return cmocka_run_group_tests_name("base/datetime_text", tests, NULL, NULL);
}
