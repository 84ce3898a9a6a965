/* scalar/format_number_test.c - numbers by patterns of DecimalFormat. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"format_number", "double;int", {"0.125", "2"}, "0.12"},
        {"format_number", "double;int", {"0.135", "2"}, "0.14"},
        {"format_number", "double;int", {"1e23", "2"}, "99,999,999,999,999,990,000,000.00"},
        {"format_number", "double;int", {"-0.0", "1"}, "-0.0"},
        {"format_number", "double;int", {"NaN", "2"}, "NaN"},
        {"format_number", "decimal(10,3)", {"1"}, "!WRONG_NUM_ARGS.WITHOUT_SUGGESTION"},
        {"format_number", "decimal(10,4);int", {"2.5", "0"}, "2"},
        {"format_number", "decimal(10,4);int", {"3.5", "0"}, "4"},
        {"format_number", "int;int", {"5", "-1"}, "NULL"},
        {"format_number", "int;string", {"12345", "0.##E0"}, "1.23E4"},
        {"format_number", "double;string", {"0.256", "#.##%"}, "25.6%"},
        {"format_number", "double;string", {"-5.5", "0.0;(0.0)"}, "(5.5)"},
        {"format_number", "boolean;int", {"true", "1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
