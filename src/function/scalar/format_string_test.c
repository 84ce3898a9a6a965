/* scalar/format_string_test.c - printf formats. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"format_string", "string;int", {"%05d", "42"}, "00042"},
        {"format_string", "string;int", {"%,d", "1234567"}, "1,234,567"},
        {"format_string", "string;int", {"%(d", "-42"}, "(42)"},
        {"format_string", "string;int", {"%x", "-1"}, "ffffffff"},
        {"format_string", "string;double", {"%.2f", "2.345"}, "2.35"},
        {"format_string", "string;double", {"%e", "12345.678"}, "1.234568e+04"},
        {"format_string", "string;double", {"%g", "0.0001"}, "0.000100000"},
        {"format_string", "string;string;string", {"%2$s %1$s %<s", "a", "b"}, "b a a"},
        {"format_string", "string;string", {"%s", NULL}, "null"},
        {"format_string", "string;int", {NULL, "1"}, "NULL"},
        {"format_string", "string;date", {"%s", "2021-03-04"}, "18690"},
        {"format_string", "string;string", {"%d", "a"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"format_string", "string;string", {"%0$s", "a"}, "!INVALID_PARAMETER_VALUE.ZERO_INDEX"},
        {"printf", "string;boolean", {"%b", "true"}, "true"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
