/* aggregate/basic_test.c - count, sum, avg, min, max, first, last; values as Spark 4.0.1 gave them. */
#include "function/aggregate/test_aggregate.h"

static void test_sums_counts_and_extremes(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"count", "int", {"1", NULL, "3"}, 3, "2"},
        {"count", "int;int", {"1", NULL, "2", "3"}, 2, "1"},
        {"count", "int", {NULL}, 0, "0"},
        {"sum", "int", {"1", NULL, "3"}, 3, "4"},
        {"sum", "int", {NULL}, 1, "NULL"},
        {"sum", "bigint", {"9223372036854775807", "1"}, 2, "!ARITHMETIC_OVERFLOW"},
        {"try_sum", "bigint", {"9223372036854775807", "1"}, 2, "NULL"},
        {"sum", "bigint", {"9223372036854775807", "1", "-2"}, 3, "9223372036854775806"},
        {"sum", "bigint", {"-9223372036854775808", "4294967296", "-1"}, 3, "-9223372032559808513"},
        {"sum", "decimal(2,1)", {"1.5", "2.5"}, 2, "4.0"},
        {"sum", "double", {"1.5", "2.5"}, 2, "4.0"},
        {"sum", "float", {"1.5"}, 1, "1.5"},
        {"sum", "string", {"1"}, 1, "1.0"},
        {"sum", "month", {"1", "2"}, 2, "INTERVAL '3' MONTH"},
        {"avg", "int", {"1", "2", NULL}, 3, "1.5"},
        {"avg", "decimal(2,1)", {"1.5"}, 1, "1.50000"},
        {"avg", "decimal(2,1)", {"1.0", "1.0", "2.0"}, 3, "1.33333"},
        {"avg", "day", {"1", "2"}, 2, "INTERVAL '1 12:00:00' DAY TO SECOND"},
        {"avg", "double", {"1", "2"}, 2, "1.5"},
        {"max", "int", {"1", "7", NULL, "3"}, 4, "7"},
        {"min", "int", {"4", "7", NULL, "3"}, 4, "3"},
        {"max", "double", {"1", "NaN", "Infinity"}, 3, "NaN"},
        {"min", "double", {"NaN", "1"}, 2, "1.0"},
        {"max", "string", {"b", "a longer text than twelve", "c"}, 3, "c"},
        {"min", "string", {"b", "a longer text than twelve", "c"}, 3, "a longer text than twelve"},
        {"max", "decimal(38,2)", {"1.00", "12345678901234567890.12"}, 2, "12345678901234567890.12"},
        {"max", "date", {"2020-01-01", "2021-01-01"}, 2, "2021-01-01"},
        {"min", "boolean", {"true", "false"}, 2, "false"},
        {"max", "int", {NULL}, 1, "NULL"},
        {"max", "interval", {"1 day"}, 1, "!DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"},
        {"first", "int", {NULL, "2", "3"}, 3, "NULL"},
        {"first", "int;boolean", {NULL, "true", "2", "true"}, 2, "2"},
        {"last", "string", {"a", "another text of some length"}, 2, "another text of some length"},
        {"last_value", "int;boolean", {"1", "true", NULL, "true"}, 2, "1"},
        {"any_value", "int", {"5", "6"}, 2, "5"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_nested_values_are_kept(void **state)
{
    (void)state;
    const nl_type *type = nl_type_array(test_arena, nl_type_int(), true);
    const nl_bound_function *bound = NULL;
    expect_success(test_bind("max", TYPES(type), 1, NULL, &bound));
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    nl_column_builder *builder = NULL;
    nl_vector arg = {0};
    expect_success(nl_column_builder_new(type, test_memory, &builder));
    for (int64_t i = 0; i < 3; i++) {
        expect_success(nl_column_builder_i64(nl_column_builder_child(builder, 0), i == 1 ? 9 : i));
        expect_success(nl_column_builder_null(nl_column_builder_child(builder, 0)));
        expect_success(nl_column_builder_end_list(builder, 2));
    }
    expect_success(nl_column_builder_finish(builder, &arg));
    nl_column_builder_free(builder);
    void *sum = new_state(bound);
    expect_success(bound->aggregate->update_one(bound, &eval, &arg, NL_ALL_ROWS(3), sum));
    assert_string_equal(finish_one(bound, &eval, sum), "[9, null]");
    end_state(bound, &eval, sum);
    nl_vector_fini(&arg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_counts_and_extremes),
        cmocka_unit_test(test_nested_values_are_kept),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
