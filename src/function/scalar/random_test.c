/* scalar/random_test.c - random numbers are those of Spark for the same seed. */
#include "function/test_function.h"

#include "function/scalar/random.h"

/* randstr(length, seed) as its first calls on one worker. */
static void test_texts_of_a_seed_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"randstr", "int;int", {"5", "0"}, "ceV0P"},
        {"randstr", "int;int", {"10", "42"}, "pll6YOIJNn"},
        {"randstr", "int;int", {"0", "1"}, ""},
        {"randstr", "int;int", {"-1", "0"}, "!INVALID_PARAMETER_VALUE.LENGTH"},
        {"randstr", "int;string", {"1", "x"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"uniform", "int;int;int", {"10", "20", "0"}, "17"},
        {"uniform", "double;double;int", {"0.0", "1.0", "5"}, "0.02390696427502892"},
        {"uniform", "int;string;int", {"1", "a", "0"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_doubles_go_on_from_the_seed(void **state)
{
    (void)state;
    nl_random random;
    nl_random_start(&random, 0);
    assert_true(nl_random_double(&random) == 0.7604953758285915); /* SELECT rand(0) */
    double second = nl_random_double(&random);
    assert_true(second >= 0 && second < 1 && second != 0.7604953758285915);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_of_a_seed_are_those_of_spark),
        cmocka_unit_test(test_doubles_go_on_from_the_seed),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
