/* scalar/datetime_format_test.c - date_format, to_date and their kin over every encoding of their arguments. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"date_format", "timestamp;string", {"2021-03-04 05:06:07.089", "yyyy-MM-dd HH:mm:ss.SSS"}, "2021-03-04 05:06:07.089"},
        {"date_format", "timestamp;string", {"1969-12-31 23:59:59.999999", "yy/M/d H:m:s.SSSSSS"}, "69/12/31 23:59:59.999999"},
        {"date_format", "timestamp;string", {NULL, "yyyy"}, "NULL"},
        {"date_format", "timestamp;string", {"2021-03-04 05:06:07", "ppp"}, "!INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER"},
        {"from_unixtime", "bigint", {"-1"}, "1969-12-31 23:59:59"},
        {"from_unixtime", "bigint;string", {"1614834367", "yyyy/MM/dd HH-mm"}, "2021/03/04 05-06"},
        {"to_date", "string;string", {"Feb 3, 2021", "MMM d, yyyy"}, "2021-02-03"},
        {"to_date", "string;string", {"2021034", "yyyyDDD"}, "2021-02-03"},
        {"to_date", "string;string", {"2021-02-30", "yyyy-MM-dd"}, "!CANNOT_PARSE_TIMESTAMP"},
        {"to_date", "timestamp;string", {"2021-03-04 05:06:07", "yyyy"}, "2021-03-04"},
        {"to_timestamp", "string;string", {"2021-03-04 05:06", "yyyy-MM-dd[ HH:mm[:ss]]"}, "2021-03-04 05:06:00"},
        {"to_timestamp", "string;string", {"10000-01-01", "yyyy-MM-dd"}, "!CANNOT_PARSE_TIMESTAMP"},
        {"to_timestamp_ntz", "string;string", {"2021-03-04 05:06:07 +03:00", "yyyy-MM-dd HH:mm:ss XXX"}, "2021-03-04 05:06:07"},
        {"try_to_timestamp", "string;string", {"x", "yyyy"}, "NULL"},
        {"unix_timestamp", "timestamp", {"1969-12-31 23:59:59.5"}, "0"},
        {"unix_timestamp", "string", {"1970-01-02"}, "!CANNOT_PARSE_TIMESTAMP"},
        {"to_unix_timestamp", "string;string", {"2.1.1970", "d.M.yyyy"}, "86400"},
        {"to_unix_timestamp", "int", {"1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"dayname", "date", {"2024-01-05"}, "Fri"},
        {"monthname", "date", {"1969-06-01"}, "Jun"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
