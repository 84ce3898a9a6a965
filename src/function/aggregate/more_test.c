/* aggregate/more_test.c - moments, logic, collections; values as Spark 4.0.1 gave them. */
#include "function/aggregate/test_aggregate.h"

static void test_moments(void **state)
{
    (void)state;
#define FOUR {"1", "2", "3.5", "10"}, 4
#define PAIRS {"2", "1", "3.5", "2", "7", "3", NULL, "4", "20", "10"}, 5
    static const aggregate_case cases[] = {
        {"skewness", "double", FOUR, "0.9416562446360872"},
        {"kurtosis", "double", FOUR, "-0.8387471765619527"},
        {"stddev", "double", FOUR, "4.049176871085447"},
        {"stddev_pop", "double", FOUR, "3.5066900347763843"},
        {"var_pop", "double", FOUR, "12.296875"},
        {"variance", "double", FOUR, "16.395833333333332"},
        {"stddev", "int", {"1"}, 1, "NULL"},
        {"var_pop", "int", {"1"}, 1, "0.0"},
        {"skewness", "int", {"1"}, 1, "NULL"},
        {"covar_pop", "double;double", PAIRS, "25.0"},
        {"covar_samp", "double;double", PAIRS, "33.333333333333336"},
        {"corr", "double;double", PAIRS, "0.9970444051403548"},
        {"regr_count", "double;double", PAIRS, "4"},
        {"regr_avgx", "double;double", PAIRS, "4.0"},
        {"regr_avgy", "decimal(3,1);int", PAIRS, "8.12500"},
        {"regr_sxx", "double;double", PAIRS, "50.0"},
        {"regr_syy", "double;double", PAIRS, "201.18749999999997"},
        {"regr_sxy", "double;double", PAIRS, "100.0"},
        {"regr_slope", "double;double", PAIRS, "2.0"},
        {"regr_intercept", "double;double", PAIRS, "0.125"},
        {"regr_r2", "double;double", PAIRS, "0.9940975458216839"},
        {"corr", "int;int", {"1", "2"}, 1, "NULL"},
        {"corr", "int;int", {"1", "2", "1", "3"}, 2, "!DIVIDE_BY_ZERO"},
        {"regr_slope", "int;int", {"2", "1", "3", "1"}, 2, "NULL"},
        {"regr_r2", "int;int", {"1", "2", "1", "3"}, 2, "1.0"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_logic_and_collections(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"count_if", "boolean", {"true", NULL, "false", "true"}, 4, "2"},
        {"bool_and", "boolean", {"true", NULL, "false"}, 3, "false"},
        {"some", "boolean", {"true", NULL, "false"}, 3, "true"},
        {"every", "boolean", {NULL}, 1, "NULL"},
        {"bit_and", "int", {"3", "5", NULL}, 3, "1"},
        {"bit_or", "tinyint", {"3", "5"}, 2, "7"},
        {"bit_xor", "bigint", {"3", "5"}, 2, "6"},
        {"max_by", "string;int", {"a", "10", "b", "50", "c", "20"}, 3, "b"},
        {"min_by", "string;int", {"a", NULL, NULL, "5", "c", "3"}, 3, "c"},
        {"max_by", "string;int", {"a", NULL, NULL, "5", "c", "3"}, 3, "NULL"},
        {"collect_list", "int", {"1", "2", NULL, "1"}, 4, "[1, 2, 1]"},
        {"array_agg", "string", {"a", "a text longer than twelve", "a"}, 3, "[a, a text longer than twelve, a]"},
        {"collect_set", "int", {"1", "2", NULL, "1", "3", "2"}, 6, "[1, 2, 3]"},
        {"collect_set", "double", {"0.0", "-0.0", "NaN", "NaN"}, 4, "[0.0, NaN, NaN]"},
        {"collect_list", "int", {NULL}, 1, "[]"},
        {"mode", "int", {"1", "2", "2", "1", "3"}, 5, "1"},
        {"mode", "string", {"a", "b", "b"}, 3, "b"},
        {"listagg", "string;string", {"a", ",", "b", ",", NULL, ",", "c", ","}, 4, "a,b,c"},
        {"string_agg", "string", {NULL}, 1, "NULL"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_logic_and_collections),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
