/* window/ranking_test.c - results as Spark 4.0.1 gave them for ORDER BY v over (10, 20, 20, 30). */
#include "function/test_function.h"

static const uint32_t peer_start[] = {0, 1, 1, 3};
static const uint32_t peer_stop[] = {1, 3, 3, 4};
static const uint32_t frame_start[] = {0, 0, 0, 0};
static const uint32_t frame_stop[] = {1, 3, 3, 4};
static const uint32_t one_partition[] = {0, 4};
static const uint32_t two_partitions[] = {0, 2, 4}; /* (10, 20) and (20, 30) */
static const uint32_t two_peer_start[] = {0, 1, 2, 3};
static const uint32_t two_peer_stop[] = {1, 2, 3, 4};
static const uint32_t two_frame_start[] = {0, 0, 2, 2};
static bool is_in_two;

static const char *run_window(const char *name, uint32_t count, const nl_type *const *types, const char *const *texts, bool ignore_nulls)
{
    const nl_function_row *const *rows = NULL;
    nl_value values[3];
    const nl_value *constants[3] = {NULL};
    const nl_type *given[3];
    nl_vector args[3] = {{0}};
    for (uint32_t i = 0; i < count; i++) given[i] = types[i];
    static const char *const column[] = {NULL, "20", NULL, "30"};
    bool has_column = count > 0 && strcmp(name, "ntile") != 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i == 0 && has_column) {
            args[i] = test_column(types[0], column, 4);
            continue;
        }
        values[i] = test_value(types[i], texts[i]);
        constants[i] = &values[i];
        expect_success(nl_vector_new_constant(&args[i], &values[i], 4, test_memory));
    }
    nl_bind bind = {.arena = test_arena, .confs = &test_confs, .name = nl_str_from(name), .argument_count = count,
                    .argument_types = given, .constants = constants, .ignore_nulls = ignore_nulls};
    const nl_bound_function *bound = NULL;
    uint32_t found = nl_function_find(nl_str_from(name), &rows);
    expect_success(nl_function_bind(&bind, rows, found, &bound));
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    nl_window_partitions all = {.args = args, .row_count = 4, .partition_count = 1, .starts = one_partition, .peer_start = peer_start, .peer_stop = peer_stop,
                                .frame_start = frame_start, .frame_stop = frame_stop};
    if (is_in_two)
        all = (nl_window_partitions){.args = args, .row_count = 4, .partition_count = 2, .starts = two_partitions, .peer_start = two_peer_start,
                                     .peer_stop = two_peer_stop, .frame_start = two_frame_start, .frame_stop = two_peer_stop};
    nl_vector out = {0};
    expect_success(bound->window->evaluate(bound, &eval, &all, &out));
    const char *result = nl_arena_f(test_arena, "%s %s %s %s", test_text(&out, 0), test_text(&out, 1), test_text(&out, 2), test_text(&out, 3)).data;
    nl_vector_fini(&out);
    for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    return result;
}

static void test_ranks(void **state)
{
    (void)state;
    assert_string_equal(run_window("row_number", 0, NULL, NULL, false), "1 2 3 4");
    assert_string_equal(run_window("rank", 0, NULL, NULL, false), "1 2 2 4");
    assert_string_equal(run_window("dense_rank", 0, NULL, NULL, false), "1 2 2 3");
    assert_string_equal(run_window("percent_rank", 0, NULL, NULL, false), "0.0 0.3333333333333333 0.3333333333333333 1.0");
    assert_string_equal(run_window("cume_dist", 0, NULL, NULL, false), "0.25 0.75 0.75 1.0");
    assert_string_equal(run_window("ntile", 1, TYPES(nl_type_int()), VALUES("3"), false), "1 1 2 3");
}

static void test_shifts_and_places(void **state)
{
    (void)state;
    const nl_type *integer = nl_type_int();
    assert_string_equal(run_window("lag", 1, TYPES(integer), VALUES(NULL), false), "NULL NULL 20 NULL");
    assert_string_equal(run_window("lead", 1, TYPES(integer), VALUES(NULL), false), "20 NULL 30 NULL");
    assert_string_equal(run_window("lead", 3, TYPES(integer, integer, integer), VALUES(NULL, "2", "7"), false), "NULL 30 7 7");
    assert_string_equal(run_window("lead", 1, TYPES(integer), VALUES(NULL), true), "20 30 30 NULL");
    assert_string_equal(run_window("lag", 1, TYPES(integer), VALUES(NULL), true), "NULL NULL 20 20");
    assert_string_equal(run_window("nth_value", 2, TYPES(integer, integer), VALUES(NULL, "2"), false), "NULL 20 20 20");
    assert_string_equal(run_window("nth_value", 2, TYPES(integer, integer), VALUES(NULL, "2"), true), "NULL NULL NULL 30");
    assert_string_equal(run_window("first_value", 1, TYPES(integer), VALUES(NULL), true), "NULL 20 20 20");
    assert_string_equal(run_window("last", 1, TYPES(integer), VALUES(NULL), false), "NULL NULL NULL 30");
}

/* The columns are (NULL, 20) and (NULL, 30). */
static void test_partitions_are_apart(void **state)
{
    (void)state;
    const nl_type *integer = nl_type_int();
    is_in_two = true;
    assert_string_equal(run_window("row_number", 0, NULL, NULL, false), "1 2 1 2");
    assert_string_equal(run_window("rank", 0, NULL, NULL, false), "1 2 1 2");
    assert_string_equal(run_window("dense_rank", 0, NULL, NULL, false), "1 2 1 2");
    assert_string_equal(run_window("percent_rank", 0, NULL, NULL, false), "0.0 1.0 0.0 1.0");
    assert_string_equal(run_window("cume_dist", 0, NULL, NULL, false), "0.5 1.0 0.5 1.0");
    assert_string_equal(run_window("ntile", 1, TYPES(nl_type_int()), VALUES("3"), false), "1 2 1 2");
    assert_string_equal(run_window("lag", 1, TYPES(integer), VALUES(NULL), true), "NULL NULL NULL NULL");
    assert_string_equal(run_window("lead", 1, TYPES(integer), VALUES(NULL), false), "20 NULL 30 NULL");
    assert_string_equal(run_window("lead", 3, TYPES(integer, integer, integer), VALUES(NULL, "2", "7"), false), "7 7 7 7");
    assert_string_equal(run_window("nth_value", 2, TYPES(integer, integer), VALUES(NULL, "2"), false), "NULL 20 NULL 30");
    assert_string_equal(run_window("first_value", 1, TYPES(integer), VALUES(NULL), true), "NULL 20 NULL 30");
    is_in_two = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranks),
        cmocka_unit_test(test_shifts_and_places),
        cmocka_unit_test(test_partitions_are_apart),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
