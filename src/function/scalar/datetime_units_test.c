/* scalar/datetime_units_test.c - making, moving and measuring times. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"make_timestamp", "int;int;int;int;int;decimal(16,6)", {"2021", "6", "30", "23", "59", "60"}, "2021-07-01 00:00:00"},
        {"make_timestamp", "int;int;int;int;int;decimal(16,6)", {"2021", "13", "1", "0", "0", "0"}, "!DATETIME_FIELD_OUT_OF_BOUNDS"},
        {"make_timestamp", "int;int;int;int;int;decimal(16,6)", {"2021", "2", "20", "23", "59", "60.5"}, "!INVALID_FRACTION_OF_SECOND"},
        {"try_make_timestamp_ntz", "int;int;int;int;int;decimal(16,6)", {"2021", "2", "30", "6", "30", "0"}, "NULL"},
        {"timestampadd", "string;bigint;timestamp", {"MONTH", "1", "2021-01-31 00:00:00"}, "2021-02-28 00:00:00"},
        {"timestampadd", "string;bigint;ntz", {"WEEK", "-1", "2021-03-04 00:00:00"}, "2021-02-25 00:00:00"},
        {"timestampadd", "string;bigint;timestamp", {"YEAR", "2000000", "2020-01-01 00:00:00"}, "!DATETIME_OVERFLOW"},
        {"timestampdiff", "string;timestamp;timestamp", {"MONTH", "2021-01-31 00:00:00", "2021-02-28 00:00:00"}, "0"},
        {"timestampdiff", "string;timestamp;timestamp", {"HOUR", "2021-03-04 05:06:07", "2021-03-05 04:06:07"}, "23"},
        {"timestampdiff", "string;timestamp;timestamp", {"DAYOFYEAR", "2021-03-04 05:06:07", "2021-03-05 04:06:07"}, "!INVALID_PARAMETER_VALUE.DATETIME_UNIT"},
        {"from_utc_timestamp", "timestamp;string", {"2021-07-01 00:00:00", "Europe/Berlin"}, "2021-07-01 02:00:00"},
        {"to_utc_timestamp", "timestamp;string", {"2021-03-14 02:30:00", "America/Los_Angeles"}, "2021-03-14 10:30:00"},
        {"from_utc_timestamp", "timestamp;string", {"2021-07-01 00:00:00", "Foo/Bar"}, "!INVALID_TIMEZONE"},
        {"convert_timezone", "string;string;ntz", {"Europe/Brussels", "America/Los_Angeles", "2021-12-06 00:00:00"}, "2021-12-05 15:00:00"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
