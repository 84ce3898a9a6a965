/* approx_count_distinct, histogram_numeric, count_min_sketch, bitmaps, listagg, the order of sets: by every road, with
 * Spark 4.0.1's answers. */
#include "function/aggregate/test_aggregate.h"

static void test_distinct_values_are_estimated(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"approx_count_distinct", "int", {"1", "1", "2", "2", "3", NULL}, 6, "3"},
        {"approx_count_distinct", "double", {"0", "-0", "NaN", "NaN"}, 4, "2"},
        {"approx_count_distinct", "string", {NULL, NULL}, 2, "0"},
        {"approx_count_distinct", "int;double", {"1", "0.4"}, 1, "!FAILED_FUNCTION_CALL"},
        {"approx_count_distinct", "int;int", {"1", "0"}, 1, "!_LEGACY_ERROR_TEMP_1104"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_histograms_join_the_nearest_bins(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"histogram_numeric", "int;int", {"0", "5", "1", "5", "2", "5", "10", "5"}, 4, "[{0, 1.0}, {1, 1.0}, {2, 1.0}, {10, 1.0}]"},
        {"histogram_numeric", "int;int", {NULL, "5"}, 1, "NULL"},
        {"histogram_numeric", "int;int", {"0", "1"}, 1, "!DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
        {"histogram_numeric", "boolean;int", {"true", "2"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_bitmaps_have_a_bit_per_position(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"bitmap_or_agg", "int", {"1"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"bitmap_construct_agg", "date", {"2024-01-01"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"count_min_sketch", "int;double;double", {"1", "0.5", "0.5"}, 1, "!REQUIRED_PARAMETER_NOT_FOUND"},
        {"count_min_sketch", "int;double;double;int", {"1", "0", "0.5", "1"}, 1, "!DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
        {"count_min_sketch", "double;double;double;int", {"1", "0.5", "0.5", "1"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

/* listagg(value, delimiter, directions, keys …) is how the analyzer hands over WITHIN GROUP. */
static void test_texts_are_joined_in_the_order_asked_for(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"listagg", "string", {"a", "b", NULL, "c"}, 4, "abc"},
        {"listagg", "int;string", {"1", ",", "2", ","}, 2, "1,2"},
        {"listagg", "string;string;string;int", {"a", ",", "df", "1", "b", ",", "df", "2", "c", ",", "df", NULL}, 3, "c,b,a"},
        {"listagg", "string;string;string;int", {"a", ",", "al", "1", "b", ",", "al", NULL, "c", ",", "al", "0"}, 3, "c,a,b"},
        {"listagg", "string", {NULL, NULL}, 2, "NULL"},
        {"listagg", "string;binary", {"a", "b"}, 1, "!DATATYPE_MISMATCH.DATA_DIFF_TYPES"},
        {"listagg", "ints", {"1"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_sets_come_in_the_order_of_their_hashes(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"collect_set", "int", {"3", "1", "2", "20", "17", "33", "1"}, 7, "[1, 17, 33, 2, 3, 20]"},
        {"collect_set", "double", {"0", "-0", "NaN", "NaN"}, 4, "[0.0, NaN, NaN]"},
        {"collect_set", "map", {"1:a"}, 1, "!DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distinct_values_are_estimated),          cmocka_unit_test(test_histograms_join_the_nearest_bins),
        cmocka_unit_test(test_bitmaps_have_a_bit_per_position),        cmocka_unit_test(test_texts_are_joined_in_the_order_asked_for),
        cmocka_unit_test(test_sets_come_in_the_order_of_their_hashes),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
