/* scalar/datetime_basic_test.c - parts, moves and distances of dates and times; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_parts(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"year", "date", {"2020-02-29"}, "2020"},
        {"year", "string", {"2020-1-1"}, "2020"},
        {"year", "int", {"1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"year", "timestamp", {"2020-01-01"}, "2020"},
        {"quarter", "date", {"2020-02-29"}, "1"},
        {"day", "date", {"2020-02-29"}, "29"},
        {"dayofyear", "date", {"2020-02-29"}, "60"},
        {"dayofweek", "date", {"2020-02-29"}, "7"},
        {"weekday", "date", {"2020-02-29"}, "5"},
        {"weekofyear", "date", {"2021-01-01"}, "53"},
        {"hour", "timestamp", {"2020-01-01 12:34:56.789"}, "12"},
        {"hour", "string", {"2020-01-01 12:34:56"}, "12"},
        {"hour", "date", {"2020-01-01"}, "0"},
        {"hour", "ntz", {"2020-05-17 12:34:56"}, "12"},
        {"second", "timestamp", {"2020-01-01 12:34:56.789"}, "56"},
        {"extract", "string;date", {"yearofweek", "2021-01-01"}, "2020"},
        {"extract", "string;date", {"dow", "2020-05-17"}, "1"},
        {"extract", "string;timestamp", {"second", "2020-05-17 12:34:56.789"}, "56.789000"},
        {"extract", "string;date", {"hour", "2020-05-17"}, "0"},
        {"extract", "string;string", {"years", "2020-01-01"}, "2020"},
        {"extract", "string;ym", {"year", "1-2"}, "1"},
        {"extract", "string;ym", {"month", "1-2"}, "2"},
        {"date_part", "string;dt", {"second", "1 02:03:04.5"}, "4.500000"},
        {"date_part", "string;dt", {"hour", "1 02:03:04.5"}, "2"},
        {"extract", "string;interval", {"seconds", "1 year 7.5 seconds"}, "7.500000"},
        {"extract", "string;date", {"foo", "2020-05-17"}, "!INVALID_EXTRACT_FIELD"},
        {"trunc", "date;string", {"2020-05-17", "quarter"}, "2020-04-01"},
        {"trunc", "date;string", {"2020-05-17", "week"}, "2020-05-11"},
        {"trunc", "date;string", {"2020-05-17", "day"}, "NULL"},
        {"trunc", "string;string", {"2020-05-17", "MONTH"}, "2020-05-01"},
        {"date_trunc", "string;timestamp", {"millisecond", "2020-05-17 12:34:56.789123"}, "2020-05-17 12:34:56.789"},
        {"date_trunc", "string;timestamp", {"HOUR", "2020-05-17 12:34:56.789"}, "2020-05-17 12:00:00"},
        {"date_trunc", "string;date", {"week", "2020-05-17"}, "2020-05-11 00:00:00"},
        {"date_trunc", "string;timestamp", {"x", "2020-05-17 12:34:56"}, "NULL"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_moves_and_distances(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"date_add", "date;int", {"2020-01-01", "5"}, "2020-01-06"},
        {"date_add", "string;int", {"2020-01-01", "1"}, "2020-01-02"},
        {"date_add", "date;string", {"2020-01-01", "1"}, "2020-01-02"},
        {"date_add", "date;tinyint", {"2020-01-01", "1"}, "2020-01-02"},
        {"date_add", "date;decimal(2,1)", {"2020-01-01", "1.5"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"date_sub", "date;int", {"2020-01-01", "5"}, "2019-12-27"},
        {"datediff", "date;date", {"2020-01-10", "2020-01-01"}, "9"},
        {"date_diff", "timestamp;date", {"2020-01-10 10:00:00", "2020-01-01"}, "9"},
        {"add_months", "date;int", {"2020-01-31", "1"}, "2020-02-29"},
        {"last_day", "date", {"2020-02-01"}, "2020-02-29"},
        {"next_day", "date;string", {"2015-01-14", "TU"}, "2015-01-20"},
        {"next_day", "date;string", {"2015-01-14", "Monday"}, "2015-01-19"},
        {"next_day", "date;string", {"2015-01-14", "xx"}, "!ILLEGAL_DAY_OF_WEEK"},
        {"months_between", "timestamp;date", {"1997-02-28 10:30:00", "1996-10-30"}, "3.94959677"},
        {"months_between", "date;date", {"2020-01-31", "2020-02-29"}, "-1.0"},
        {"to_date", "string", {"x"}, "!CAST_INVALID_INPUT"},
        {"to_date", "timestamp", {"2020-01-02 10:00:00"}, "2020-01-02"},
        {"to_date", "int", {"1"}, "!CAST_INVALID_INPUT"},
        {"to_timestamp", "string", {"2020-01-02 03:04:05"}, "2020-01-02 03:04:05"},
        {"date", "string", {"2020-01-02"}, "2020-01-02"},
        {"make_interval", "int;int;int;int;int;int", {"0", "0", "0", "1", "0", "0"}, "1 days"},
        {"make_interval", "int;int", {"1", NULL}, "NULL"},
        {"try_make_interval", "int", {"2147483647"}, "NULL"},
        {"make_interval", "int", {"2147483647"}, "!INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION"},
        {"make_date", "int;int;int", {"2020", "1", "2"}, "2020-01-02"},
        {"make_date", "int;int;int", {"2020", "13", "2"}, "!DATETIME_FIELD_OUT_OF_BOUNDS"},
        {"unix_seconds", "timestamp", {"1970-01-01 00:00:01.5"}, "1"},
        {"timestamp_seconds", "decimal(2,1)", {"1.5"}, "1970-01-01 00:00:01.5"},
        {"timestamp_millis", "int", {"1500"}, "1970-01-01 00:00:01.5"},
        {"make_dt_interval", "int;int;int;decimal(2,1)", {"1", "2", "3", "4.5"}, "INTERVAL '1 02:03:04.5' DAY TO SECOND"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),
        cmocka_unit_test(test_moves_and_distances),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
