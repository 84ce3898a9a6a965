/* percentile_approx: small inputs are exact, types come back; large ones stay within the bound when merged. */
#include "function/aggregate/test_aggregate.h"

static void test_few_values_are_answered_exactly(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"percentile_approx", "int;double", {"0", "0.5", "6", "0.5", "7", "0.5", "9", "0.5", "10", "0.5"}, 5, "7"},
        {"percentile_approx", "date;double", {"2024-01-01", "0.5", "2024-02-01", "0.5"}, 2, "2024-01-01"},
        {"percentile_approx", "decimal(3,2);double", {"1.25", "0.5", "2.50", "0.5"}, 2, "1.25"},
        {"percentile_approx", "string;double", {"1.25", "0.5", "2.50", "0.5"}, 2, "1.25"},
        {"percentile_approx", "int;double", {NULL, "0.5", NULL, "0.5"}, 2, "NULL"},
        {"percentile_approx", "int;double;int", {"1", "0.5", "0"}, 1, "!DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
        {"percentile_approx", "int;double;int", {"1", "0.5", NULL}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_NULL"},
        {"percentile_approx", "boolean;double", {"true", "0.5"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static const nl_bound_function *bind_approx(double percentage, int64_t accuracy)
{
    const nl_type *types[] = {nl_type_bigint(), nl_type_double(), nl_type_bigint()};
    nl_value p = {.type = nl_type_double(), .real = percentage};
    nl_value a = nl_value_int(nl_type_bigint(), accuracy);
    const nl_value *constants[] = {NULL, nl_arena_alloc(test_arena, sizeof p), nl_arena_alloc(test_arena, sizeof a)};
    memcpy(NL_UNCONST(constants[1]), &p, sizeof p);
    memcpy(NL_UNCONST(constants[2]), &a, sizeof a);
    const nl_bound_function *bound = NULL;
    expect_success(test_bind("percentile_approx", types, 3, constants, &bound));
    return bound;
}

static void add_range(const nl_bound_function *bound, nl_eval *eval, int64_t start, int64_t stop, int64_t step, void *one)
{
    enum { ROWS = 1000 };
    int64_t values[ROWS];
    uint32_t count = 0;
    for (int64_t v = start; v < stop; v += step) {
        values[count++] = v;
        if (count < ROWS && v + step < stop) continue;
        nl_vector args[3] = {{.type = nl_type_bigint(), .encoding = NL_FLAT, .length = count, .values = values}};
        args[1] = args[2] = args[0];
        expect_success(bound->aggregate->update_one(bound, eval, args, NL_ALL_ROWS(count), one));
        count = 0;
    }
}

/* What Spark says to percentile_approx(id, 0.75, accuracy) FROM range(0, 100000, 1, 1). */
static void test_many_values_give_what_one_partition_gives(void **state)
{
    (void)state;
    static const struct {
        int64_t accuracy;
        const char *expected;
    } cases[] = {{10000, "74992"}, {100, "74106"}, {10, "65443"}};
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        const nl_bound_function *bound = bind_approx(0.75, cases[i].accuracy);
        void *one = new_state(bound);
        add_range(bound, &eval, 0, 100000, 1, one);
        assert_string_equal(finish_one(bound, &eval, one), cases[i].expected);
        end_state(bound, &eval, one);
    }
}

static void test_merged_parts_stay_within_the_bound(void **state)
{
    (void)state;
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    const nl_bound_function *bound = bind_approx(0.25, 100);
    void *parts[3] = {new_state(bound), new_state(bound), new_state(bound)};
    for (int64_t p = 0; p < 3; p++) add_range(bound, &eval, p, 300000, 3, parts[p]);
    nl_vector partial = {0};
    expect_success(bound->aggregate->to_partial(bound, &eval, parts, 3, &partial));
    void *merged = new_state(bound);
    void *targets[3] = {merged, merged, merged};
    expect_success(bound->aggregate->merge_partial(bound, &eval, &partial, NL_ALL_ROWS(3), targets));
    double value = strtod(finish_one(bound, &eval, merged), NULL);
    assert_true(fabs(value - 75000) <= 300000.0 / 100);
    nl_vector_fini(&partial);
    for (uint32_t p = 0; p < 3; p++) end_state(bound, &eval, parts[p]);
    end_state(bound, &eval, merged);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_few_values_are_answered_exactly),
                                       cmocka_unit_test(test_many_values_give_what_one_partition_gives),
                                       cmocka_unit_test(test_merged_parts_stay_within_the_bound)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
