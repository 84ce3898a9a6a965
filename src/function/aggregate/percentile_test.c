/* Percentiles by every road: one state, states per row, partials. Expected values from Spark 4.0.1. */
#include "function/aggregate/test_aggregate.h"

static void test_percentiles_fall_between_values(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"percentile", "int;double", {"0", "0.3", "10", "0.3", "20", "0.3", NULL, "0.3"}, 4, "6.0"},
        {"percentile", "double;double", {"NaN", "0.5", "2", "0.5", "4", "0.5"}, 3, "4.0"},
        {"percentile", "decimal(3,2);double", {"1.50", "0.5", "2.25", "0.5", "4.00", "0.5"}, 3, "2.25"},
        {"percentile", "ym;double", {"0-1", "0.5", "0-4", "0.5"}, 2, "INTERVAL '0-2' YEAR TO MONTH"},
        {"percentile", "int;double;int", {"0", "0.5", "1", "10", "0.5", "2", "20", "0.5", "0", "30", "0.5", NULL}, 4, "10.0"},
        {"percentile", "int;double", {NULL, "0.5", NULL, "0.5"}, 2, "NULL"},
        {"median", "int", {"1", "2", "4", "4"}, 4, "3.0"},
        {"median", "string", {"1", "4"}, 2, "2.5"},
        {"percentile_cont", "int;double", {"0", "0.25", "10", "0.25"}, 2, "2.5"},
        {"percentile_cont", "int;double;int", {"0", "0.25", "-1", "10", "0.25", "-1"}, 2, "7.5"},
        {"percentile_disc", "int;double", {"0", "0.5", "1", "0.5", "2", "0.5", "3", "0.5"}, 4, "1.0"},
        {"percentile_disc", "int;double;int", {"0", "0.5", "-1", "1", "0.5", "-1", "2", "0.5", "-1", "3", "0.5", "-1"}, 4, "2.0"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

static void test_percentages_and_types_are_checked(void **state)
{
    (void)state;
    static const aggregate_case cases[] = {
        {"percentile", "int;double", {"1", "1.5", "2", "1.5"}, 2, "!DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE"},
        {"percentile", "int;double", {"1", "0.5", "2", "0.7"}, 2, "!DATATYPE_MISMATCH.NON_FOLDABLE_INPUT"},
        {"percentile", "int;double", {"1", NULL, "2", NULL}, 2, "!DATATYPE_MISMATCH.UNEXPECTED_NULL"},
        {"percentile", "boolean;double", {"true", "0.5"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"percentile", "int;double;string", {"1", "0.5", "x"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"median", "date", {"2024-01-01"}, 1, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_aggregates(cases, NL_COUNT(cases));
}

/* Two large parts share no value: merging them must not walk from crowd to crowd (it took minutes, now milliseconds). */
static void test_large_parts_merge_in_linear_time(void **state)
{
    (void)state;
    enum { ROWS = 200000 };
    const nl_type *types[] = {nl_type_bigint()};
    const nl_bound_function *bound = NULL;
    expect_success(test_bind("median", types, 1, NULL, &bound));
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    int64_t *values = NL_NEW_ARRAY(test_arena, int64_t, ROWS);
    void *parts[2] = {new_state(bound), new_state(bound)};
    for (int64_t p = 0; p < 2; p++) {
        for (int64_t i = 0; i < ROWS; i++) values[i] = 2 * i + p;
        nl_vector arg = {.type = nl_type_bigint(), .encoding = NL_FLAT, .length = ROWS, .values = values};
        expect_success(bound->aggregate->update_one(bound, &eval, &arg, NL_ALL_ROWS(ROWS), parts[p]));
    }
    nl_vector partial = {0};
    expect_success(bound->aggregate->to_partial(bound, &eval, &parts[1], 1, &partial));
    expect_success(bound->aggregate->merge_partial(bound, &eval, &partial, NL_ALL_ROWS(1), &parts[0]));
    assert_string_equal(finish_one(bound, &eval, parts[0]), "199999.5");
    nl_vector_fini(&partial);
    end_state(bound, &eval, parts[0]);
    end_state(bound, &eval, parts[1]);
}

static void update_rows(const nl_bound_function *bound, nl_eval *eval, const nl_vector *args, uint32_t start, uint32_t stop, bool is_gone, void *state)
{
    uint32_t numbers[400];
    for (uint32_t i = start; i < stop; i++) numbers[i - start] = i;
    const nl_selection selection = {numbers, stop - start};
    if (start >= stop) return;
    expect_success(is_gone ? bound->aggregate->retract(bound, eval, args, selection, state) : bound->aggregate->update_one(bound, eval, args, selection, state));
}

/* A state that rows enter and leave, asked after each step, against one that is begun anew for the same rows. */
static void test_a_moving_frame_has_the_percentiles_of_its_rows(void **state)
{
    (void)state;
    enum { ROWS = 400 };
    static const struct {
        const char *name, *types;
        bool slides;
    } cases[] = {{"percentile", "int;double", true}, {"percentile", "double;double", false}, {"percentile_cont", "int;double;int", true}, {"percentile_disc", "int;double", true},
                 {"percentile_disc", "int;double;int", true}, {"percentile", "int;double;int", true}};
    for (size_t k = 0; k < NL_COUNT(cases); k++) {
        const nl_type *types[3];
        uint32_t count = 0;
        nl_str rest = nl_str_from(cases[k].types), part;
        while (nl_str_next_part(&rest, ';', &part)) types[count++] = test_type(part);
        nl_vector args[3] = {{0}};
        const char *texts[3][ROWS];
        for (int i = 0; i < ROWS; i++) {
            texts[0][i] = i % 13 == 5 ? NULL : nl_arena_f(test_arena, "%d", i * 37 % 101 - 50).data;
            texts[1][i] = "0.3";
            texts[2][i] = count == 3 && strcmp(cases[k].name, "percentile") == 0 ? nl_arena_f(test_arena, "%d", i % 3).data : "-1";
        }
        const nl_bound_function *bound = NULL;
        nl_eval eval = {.confs = &test_confs, .memory = test_memory};
        nl_value percentage = test_value(types[1], "0.3");
        const nl_value *constants[3] = {NULL, &percentage, NULL};
        for (uint32_t i = 0; i < count; i++) args[i] = test_column(types[i], texts[i], ROWS);
        expect_success(test_bind(cases[k].name, types, count, constants, &bound));
        void *moving = new_state(bound);
        uint32_t start = 0;
        uint32_t stop = 0;
        for (uint32_t step = 0; stop < ROWS; step++) {
            const uint32_t new_stop = NL_MIN(stop + 1 + step % 3, (uint32_t)ROWS);
            update_rows(bound, &eval, args, stop, new_stop, false, moving);
            stop = new_stop;
            if (cases[k].slides && step > 40) {
                const uint32_t new_start = NL_MIN(start + step % 5, stop);
                update_rows(bound, &eval, args, start, new_start, true, moving);
                start = new_start;
            }
            void *fresh = new_state(bound);
            update_rows(bound, &eval, args, start, stop, false, fresh);
            assert_string_equal(finish_one(bound, &eval, moving), finish_one(bound, &eval, fresh));
            if (step % 50 == 49) { /* its partial is as good as itself */
                nl_vector partial = {0};
                void *merged = new_state(bound);
                expect_success(bound->aggregate->to_partial(bound, &eval, &moving, 1, &partial));
                expect_success(bound->aggregate->merge_partial(bound, &eval, &partial, NL_ALL_ROWS(1), &merged));
                assert_string_equal(finish_one(bound, &eval, merged), finish_one(bound, &eval, fresh));
                nl_vector_fini(&partial);
                end_state(bound, &eval, merged);
            }
            end_state(bound, &eval, fresh);
        }
        end_state(bound, &eval, moving);
        for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_percentiles_fall_between_values),
                                       cmocka_unit_test(test_percentages_and_types_are_checked),
                                       cmocka_unit_test(test_large_parts_merge_in_linear_time),
                                       cmocka_unit_test(test_a_moving_frame_has_the_percentiles_of_its_rows)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
