/* scalar/sentences_test.c - sentences and their words. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"sentences", "string", {"Is it? \"Yes,\" he said. (No!)"}, "[[Is, it], [Yes, he, said], [No]]"},
        {"sentences", "string", {"Hello\nworld. foo"}, "[[Hello, world, foo]]"},
        {"sentences", "string", {"Its 3.14 oclock. Mr. Smith went? Yes!"}, "[[Its, 3.14, oclock], [Mr], [Smith, went], [Yes]]"},
        {"sentences", "string", {""}, "[]"},
        {"sentences", "string", {NULL}, "NULL"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
