/* scalar/to_number_test.c - number patterns, both ways. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"to_char", "decimal(10,0);string", {"12", "S9,999"}, "   +12"},
        {"to_char", "decimal(10,0);string", {"1234", "$9,99"}, "$# ##"},
        {"to_char", "decimal(10,2);string", {"-0.5", "9.9PR"}, " <.5>"},
        {"to_char", "decimal(10,2);string", {"0.5", "9.9"}, "0.5"},
        {"to_char", "decimal(10,0);string", {"5", "9.S"}, "5+ "},
        {"to_char", "decimal(10,0);string", {"1", "9,9,,9"}, "!INVALID_FORMAT.CONT_THOUSANDS_SEPS"},
        {"to_number", "string;string", {"12,454.8-", "99,999.9S"}, "-12454.8"},
        {"to_number", "string;string", {"<5>", "9PR"}, "-5"},
        {"to_number", "string;string", {"1,23,456", "9,999,999"}, "123456"},
        {"to_number", "string;string", {"1234", "999"}, "!INVALID_FORMAT.MISMATCH_INPUT"},
        {"to_number", "string;string", {"1", "xyz"}, "!INVALID_FORMAT.WRONG_NUM_DIGIT"},
        {"try_to_number", "string;string", {"12", "0,000"}, "NULL"},
        {"try_to_number", "string;string", {"1", "0.00"}, "1.00"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
