/* GROUP BY, DISTINCT, grouping sets, FILTER. Expected values are computed here row by row, or are Spark 4.0.1's. */
#include "exec/test_plan.h"

#define ROWS   6000
#define GROUPS 777

static const nl_logical *keyed_rows(uint64_t rows, int64_t groups)
{
    const nl_logical *numbers = range(0, (int64_t)rows, 1);
    const nl_expr *exprs[] = {call("%", call("*", column_of(numbers, 0), integer(31)), integer(groups)), column_of(numbers, 0)};
    return project(numbers, exprs, 2);
}

static void append_group(nl_builder *out, uint64_t group)
{
    int64_t count = 0, sum = 0, least = INT64_MAX, most = INT64_MIN;
    for (int64_t i = 0; i < ROWS; i++) {
        if ((uint64_t)(i * 31 % GROUPS) != group) continue;
        count++;
        sum += i;
        least = NL_MIN(least, i);
        most = NL_MAX(most, i);
    }
    nl_append_f(out, "%llu|%lld|%lld|%lld|%lld\n", (unsigned long long)group, (long long)count, (long long)sum, (long long)least, (long long)most);
}

static void test_groups_are_counted_and_summed(void **state)
{
    (void)state;
    const nl_logical *rows = keyed_rows(ROWS, GROUPS);
    const nl_expr *keys[] = {column_of(rows, 0)};
    const nl_expr *value = column_of(rows, 1);
    const nl_expr *calls[] = {aggregate_call("count", value), aggregate_call("sum", value), aggregate_call("min", value), aggregate_call("max", value)};
    char *expected = rows_text(GROUPS, append_group);
    expect_rows(aggregate(rows, keys, 1, calls, 4), false, expected);
    free(expected);
}

static void test_more_groups_than_a_local_table_holds(void **state)
{
    (void)state;
    const nl_logical *rows = keyed_rows(400000, 250007);
    const nl_expr *keys[] = {column_of(rows, 0)};
    const nl_expr *calls[] = {aggregate_call("count", column_of(rows, 1)), aggregate_call("sum", column_of(rows, 1))};
    const nl_logical *grouped = aggregate(rows, keys, 1, calls, 2);
    const nl_expr *counts[] = {aggregate_call("count", column_of(grouped, 0)), aggregate_call("sum", column_of(grouped, 1)),
                               aggregate_call("sum", column_of(grouped, 2)), aggregate_call("max", column_of(grouped, 1))};
    const nl_logical *plan = aggregate(grouped, NULL, 0, counts, 4);
    const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {4, NL_BATCH_ROWS, false}, {2, NL_BATCH_ROWS, true}};
    for (size_t i = 0; i < NL_COUNT(modes); i++) {
        char *text = NULL;
        expect_success(run_in_mode(plan, "", &modes[i], &text));
        assert_string_equal(text, "250007|400000|79999800000|2\n");
        free(text);
    }
}

static void test_without_keys_there_is_always_one_row(void **state)
{
    (void)state;
    const nl_logical *none = range(0, 0, 1);
    const nl_expr *calls[] = {aggregate_call("count", column_of(none, 0)), aggregate_call("sum", column_of(none, 0))};
    expect_rows(aggregate(none, NULL, 0, calls, 2), true, "0|NULL\n");
    const nl_logical *some = range(0, 100000, 1);
    const nl_expr *sums[] = {aggregate_call("count", column_of(some, 0)), aggregate_call("sum", column_of(some, 0))};
    expect_rows(aggregate(some, NULL, 0, sums, 2), true, "100000|4999950000\n");
    const nl_expr *keys[] = {column_of(none, 0)};
    expect_rows(aggregate(none, keys, 1, calls, 2), true, "");
}

/* As Spark 4.0.1 prints SELECT id % 12, count(*) FROM range(1000) GROUP BY 1: by shuffle partition, pmod(hash(key), 200). */
static void test_few_groups_come_in_the_order_of_sparks_shuffle(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 1000, 1);
    const nl_expr *exprs[] = {call("%", column_of(numbers, 0), integer(12))};
    const nl_logical *rows = project(numbers, exprs, 1);
    const nl_expr *keys[] = {column_of(rows, 0)}, *calls[] = {aggregate_call("count", column_of(rows, 0))};
    const nl_logical *plan = aggregate(rows, keys, 1, calls, 1);
    for (size_t i = 0; i < NL_COUNT(run_modes); i++) {
        if (run_modes[i].force_spill) continue; /* what was on disk comes as it comes */
        char *text = NULL;
        expect_success(run_in_mode(plan, "", &run_modes[i], &text));
        assert_string_equal(text, "0|84\n7|83\n6|83\n9|83\n5|83\n1|84\n10|83\n3|84\n8|83\n11|83\n2|84\n4|83\n");
        free(text);
    }
}

static const char *const cells[] = {"a", "1", "b", "2", "a", "1", "NULL", "3", "a long key of many bytes", "4", "b", "2",
                                    "NULL", "NULL", "a long key of many bytes", "5", "", "6", "a", "7"};

static const nl_logical *text_rows(void)
{
    const nl_type *types[] = {nl_type_string(), nl_type_bigint()};
    return values(types, 2, cells, 10);
}

static void test_null_and_text_keys_group(void **state)
{
    (void)state;
    const nl_logical *rows = text_rows();
    const nl_expr *keys[] = {column_of(rows, 0)};
    const nl_expr *calls[] = {aggregate_call("count", column_of(rows, 1)), aggregate_call("max", column_of(rows, 0)), aggregate_call("sum", column_of(rows, 1))};
    expect_rows(aggregate(rows, keys, 1, calls, 3), false,
                "a|3|a|9\nb|2|b|4\nNULL|1|NULL|3\na long key of many bytes|2|a long key of many bytes|9\n|1||6\n");
    const nl_expr *both[] = {column_of(rows, 0), column_of(rows, 1)};
    expect_rows(aggregate(rows, both, 2, NULL, 0), false,
                "a|1\nb|2\nNULL|3\na long key of many bytes|4\nNULL|NULL\na long key of many bytes|5\n|6\na|7\n");
}

static void test_distinct_drops_repeated_rows(void **state)
{
    (void)state;
    const nl_logical *rows = text_rows();
    nl_logical *distinct = new_node(NL_PLAN_DISTINCT, rows, NULL);
    set_columns(distinct, rows->columns, 2);
    expect_rows(distinct, false, "a|1\nb|2\nNULL|3\na long key of many bytes|4\nNULL|NULL\na long key of many bytes|5\n|6\na|7\n");
}

static void test_distinct_aggregates_see_each_value_once(void **state)
{
    (void)state;
    const nl_logical *rows = text_rows();
    const nl_expr *keys[] = {column_of(rows, 0)};
    nl_expr *count = aggregate_call("count", column_of(rows, 1));
    nl_expr *sum = aggregate_call("sum", column_of(rows, 1));
    nl_expr *some = aggregate_call("count", column_of(rows, 1));
    count->is_distinct = sum->is_distinct = some->is_distinct = true;
    some->filter = call(">", column_of(rows, 1), integer(1));
    const nl_expr *calls[] = {count, aggregate_call("count", column_of(rows, 1)), sum, some};
    expect_rows(aggregate(rows, keys, 1, calls, 4), false, "a|2|3|8|1\nb|1|2|2|1\nNULL|1|1|3|1\na long key of many bytes|2|2|9|2\n|1|1|6|1\n");
    nl_expr *names = aggregate_call("count", column_of(rows, 0));
    names->is_distinct = true;
    const nl_expr *global[] = {names, count, aggregate_call("sum", column_of(rows, 1))};
    expect_rows(aggregate(rows, NULL, 0, global, 3), true, "4|7|31\n");
}

static void test_filters_choose_the_rows_of_an_aggregate(void **state)
{
    (void)state;
    const nl_logical *rows = keyed_rows(100, 3);
    const nl_expr *keys[] = {column_of(rows, 0)};
    nl_expr *some = aggregate_call("sum", column_of(rows, 1));
    some->filter = call("<", column_of(rows, 1), integer(4));
    const nl_expr *calls[] = {some, aggregate_call("count", column_of(rows, 1))};
    expect_rows(aggregate(rows, keys, 1, calls, 2), false, "0|3|34\n1|1|33\n2|2|33\n");
    const nl_expr *global[] = {some};
    expect_rows(aggregate(rows, NULL, 0, global, 1), true, "6\n");
}

static void test_grouping_sets_tell_absent_keys(void **state)
{
    (void)state;
    const nl_type *types[] = {nl_type_string(), nl_type_int(), nl_type_bigint()};
    const char *sales[] = {"x", "1", "10", "x", "2", "20", "y", "1", "30", "NULL", "1", "40"};
    const nl_logical *rows = values(types, 3, sales, 4);
    const nl_expr *keys[] = {column_of(rows, 0), column_of(rows, 1)};
    const nl_expr *calls[] = {aggregate_call("sum", column_of(rows, 2))};
    nl_logical *plan = aggregate(rows, keys, 2, calls, 1);
    static const uint64_t sets[] = {3, 1, 0}; /* ROLLUP */
    plan->aggregate.grouping_sets = sets;
    plan->aggregate.grouping_set_count = 3;
    nl_column columns[4] = {plan->columns[0], plan->columns[1], plan->columns[2], new_column(nl_type_bigint())};
    set_columns(plan, columns, 4);
    expect_rows(plan, false, "x|1|10|0\nx|2|20|0\ny|1|30|0\nNULL|1|40|0\nx|NULL|30|1\ny|NULL|30|1\nNULL|NULL|40|1\nNULL|NULL|100|3\n");
}

static nl_logical *with_sets(nl_logical *plan, const uint64_t *sets, uint32_t count)
{
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, plan->column_count + 1);
    memcpy(columns, plan->columns, plan->column_count * sizeof *columns);
    columns[plan->column_count] = new_column(nl_type_bigint());
    plan->aggregate.grouping_sets = sets;
    plan->aggregate.grouping_set_count = count;
    set_columns(plan, columns, plan->column_count + 1);
    return plan;
}

enum { SET_ROWS = 5000, SET_A = 7, SET_B = 40 };

/* One line of each group of the sets (a, b), (a), (b), (), (a) again. */
static void append_set_group(nl_builder *out, uint64_t number)
{
    static const char absent[] = "NULL";
    const uint64_t all = SET_A * SET_B;
    const bool has_a = number < all + SET_A || number > all + SET_A + SET_B;
    const bool has_b = number < all || (number >= all + SET_A && number < all + SET_A + SET_B);
    const int64_t a = (int64_t)(number < all ? number / SET_B : number < all + SET_A ? number - all : number - all - SET_A - SET_B - 1);
    const int64_t b = (int64_t)(number < all ? number % SET_B : number - all - SET_A);
    int64_t count = 0, sum = 0, least = INT64_MAX, some = 0;
    for (int64_t i = 0; i < SET_ROWS; i++) {
        if ((has_a && i % SET_A != a) || (has_b && i % SET_B != b)) continue;
        count++;
        sum += i;
        least = NL_MIN(least, i);
        some += i < 100;
    }
    if (has_a)
        nl_append_f(out, "%lld|", (long long)a);
    else
        nl_append_f(out, "%s|", absent);
    if (has_b)
        nl_append_f(out, "%lld|", (long long)b);
    else
        nl_append_f(out, "%s|", absent);
    nl_append_f(out, "%lld|%lld|%lld|%lld|%d\n", (long long)count, (long long)sum, (long long)least, (long long)some, (has_a ? 0 : 2) + (has_b ? 0 : 1));
}

static const nl_logical *rows_of_sets(int64_t count, int64_t a, int64_t b)
{
    const nl_logical *numbers = range(0, count, 1);
    const nl_expr *exprs[] = {call("%", column_of(numbers, 0), integer(a)), call("%", column_of(numbers, 0), integer(b)), column_of(numbers, 0)};
    return project(numbers, exprs, 3);
}

static void test_sets_are_made_of_each_other(void **state)
{
    (void)state;
    static const uint64_t sets[] = {3, 1, 2, 0, 1};
    const nl_logical *rows = rows_of_sets(SET_ROWS, SET_A, SET_B);
    const nl_expr *keys[] = {column_of(rows, 0), column_of(rows, 1)};
    const nl_expr *value = column_of(rows, 2);
    nl_expr *some = aggregate_call("count", value);
    some->filter = call("<", value, integer(100));
    const nl_expr *calls[] = {aggregate_call("count", value), aggregate_call("sum", value), aggregate_call("min", value), some};
    char *expected = rows_text(SET_A * SET_B + 2 * SET_A + SET_B + 1, append_set_group);
    expect_rows(with_sets(aggregate(rows, keys, 2, calls, 4), sets, 5), false, expected);
    free(expected);
}

static void test_zero_and_nan_are_one_group_each(void **state)
{
    (void)state;
    const nl_type *types[] = {nl_type_double()};
    const char *reals[] = {"-0.0", "0.0", "NaN", "NaN", "1.5"};
    const nl_logical *rows = values(types, 1, reals, 5);
    const nl_expr *keys[] = {column_of(rows, 0)};
    const nl_expr *calls[] = {aggregate_call("count", column_of(rows, 0))};
    expect_rows(aggregate(rows, keys, 1, calls, 1), false, "0.0|2\nNaN|2\n1.5|1\n");
}

static void test_nested_values_are_keys(void **state)
{
    (void)state;
    const nl_type *array = nl_type_array(arena, nl_type_bigint(), true);
    nl_value items[2][2] = {{nl_value_int(nl_type_bigint(), 1), nl_value_null(nl_type_bigint())},
                            {nl_value_int(nl_type_bigint(), 2), nl_value_int(nl_type_bigint(), 3)}};
    nl_logical *rows = new_node(NL_PLAN_VALUES, NULL, NULL);
    const nl_expr *const **lists = NL_NEW_ARRAY(arena, const nl_expr *const *, 5);
    for (uint32_t i = 0; i < 5; i++) {
        nl_value value = {.type = array, .is_null = i == 4, .list = {.items = items[i % 2], .count = 2}};
        if (i == 4) value = nl_value_null(array);
        const nl_expr **cell = NL_NEW_ARRAY(arena, const nl_expr *, 1);
        cell[0] = nl_expr_literal(arena, &value);
        lists[i] = cell;
    }
    nl_column column = new_column(array);
    rows->values.rows = lists;
    rows->values.row_count = 5;
    set_columns(rows, &column, 1);
    const nl_expr *keys[] = {column_of(rows, 0)};
    nl_value one = nl_value_int(nl_type_bigint(), 1);
    const nl_expr *calls[] = {aggregate_call("count", nl_expr_literal(arena, &one)), aggregate_call("first", column_of(rows, 0))};
    expect_rows(aggregate(rows, keys, 1, calls, 2), false, "[1, null]|2|[1, null]\n[2, 3]|2|[2, 3]\nNULL|1|NULL\n");
}

/* The first rows by the value of a column, in a budget that the groups do not fit into. */
static void expect_same_in_small_budget(const nl_logical *grouped, uint32_t column)
{
    nl_sort_key key = {.expr = column_of(grouped, column), .is_descending = true};
    const nl_logical *plan = limit(sort(grouped, &key, 1), 0, 2);
    nl_memory *large = memory;
    for (uint32_t workers = 1; workers <= 2; workers++) {
        char *text = NULL, *wanted = NULL;
        run_mode mode = {workers, NL_BATCH_ROWS, false};
        expect_success(run_in_mode(plan, "", &mode, &wanted));
        memory = nl_memory_new(large, "small", 8u << 20);
        expect_success(run_in_mode(plan, "", &mode, &text));
        assert_string_equal(text, wanted);
        assert_true(nl_memory_peak(memory) > 4u << 20);
        nl_memory_release(memory);
        memory = large;
        free(text);
        free(wanted);
    }
}

static void test_a_small_budget_spills_instead_of_failing(void **state)
{
    (void)state;
    const nl_logical *rows = keyed_rows(1000000, 300007);
    const nl_expr *keys[] = {column_of(rows, 0)};
    const nl_expr *calls[] = {aggregate_call("count", column_of(rows, 1)), aggregate_call("sum", column_of(rows, 1))};
    expect_same_in_small_budget(aggregate(rows, keys, 1, calls, 2), 2);
}

static void test_sets_are_made_in_a_small_budget(void **state)
{
    (void)state;
    static const uint64_t sets[] = {0, 1, 2, 3};
    const nl_logical *rows = rows_of_sets(600000, 30011, 80021);
    const nl_expr *keys[] = {column_of(rows, 0), column_of(rows, 1)};
    const nl_expr *calls[] = {aggregate_call("count", column_of(rows, 2)), aggregate_call("sum", column_of(rows, 2))};
    const nl_logical *grouped = with_sets(aggregate(rows, keys, 2, calls, 2), sets, 4);
    expect_same_in_small_budget(grouped, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_groups_are_counted_and_summed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_more_groups_than_a_local_table_holds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_groups_come_in_the_order_of_sparks_shuffle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_keys_there_is_always_one_row, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_and_text_keys_group, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_distinct_drops_repeated_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_distinct_aggregates_see_each_value_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filters_choose_the_rows_of_an_aggregate, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_grouping_sets_tell_absent_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sets_are_made_of_each_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_zero_and_nan_are_one_group_each, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested_values_are_keys, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_small_budget_spills_instead_of_failing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sets_are_made_in_a_small_budget, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
