/* Window functions and frames; expected rows computed by hand as Spark 4.0.1 gives them, frames against a slow loop. */
#include "exec/test_plan.h"

static nl_expr *over(const char *name, const nl_expr *argument, const nl_window_spec *spec)
{
    nl_expr *expr = aggregate_call(name, argument);
    expr->kind = NL_EXPR_WINDOW;
    expr->window = spec;
    return expr;
}

static const nl_logical *window(const nl_logical *child, const nl_expr *const *exprs, uint32_t count)
{
    nl_logical *node = new_node(NL_PLAN_WINDOW, child, NULL);
    nl_column *columns = NL_NEW_ARRAY(arena, nl_column, child->column_count + count);
    const nl_expr **copies = NL_NEW_ARRAY(arena, const nl_expr *, count);
    for (uint32_t i = 0; i < child->column_count; i++)
        columns[i] = child->columns[i];
    for (uint32_t i = 0; i < count; i++) {
        columns[child->column_count + i] = new_column(exprs[i]->type);
        copies[i] = exprs[i];
    }
    node->window.exprs = copies;
    node->window.expr_count = count;
    set_columns(node, columns, child->column_count + count);
    return node;
}

static const char *const sales[] = {"b", "3", "a", "1", "a", "2", "b", "3", "a", "2", "NULL", "9", "a", "5"};

static const nl_logical *sales_rows(void)
{
    const nl_type *types[] = {nl_type_string(), nl_type_bigint()};
    return values(types, 2, sales, 7);
}

/* PARTITION BY column 0 ORDER BY column 1, with a frame. */
static nl_window_spec *spec_of(const nl_logical *rows, nl_frame_unit unit, nl_bound_kind start, int64_t start_offset, nl_bound_kind stop, int64_t stop_offset)
{
    nl_window_spec *spec = NL_NEW(arena, nl_window_spec);
    const nl_expr **partition = NL_NEW_ARRAY(arena, const nl_expr *, 1);
    nl_sort_key *order = NL_NEW(arena, nl_sort_key);
    partition[0] = column_of(rows, 0);
    *order = (nl_sort_key){.expr = column_of(rows, 1), .nulls_first = true};
    *spec = (nl_window_spec){.partition_by = partition, .partition_count = 1, .order_by = order, .order_count = 1, .unit = unit, .start_kind = start,
                             .stop_kind = stop, .start_offset = integer(start_offset), .stop_offset = integer(stop_offset)};
    return spec;
}

static void test_ranks_count_peers(void **state)
{
    (void)state;
    const nl_logical *rows = sales_rows();
    const nl_window_spec *spec = spec_of(rows, NL_FRAME_ROWS, NL_BOUND_UNBOUNDED_PRECEDING, 0, NL_BOUND_CURRENT_ROW, 0);
    const nl_expr *exprs[] = {over("row_number", NULL, spec), over("rank", NULL, spec), over("dense_rank", NULL, spec), over("lag", column_of(rows, 1), spec)};
    expect_rows(window(rows, exprs, 4), true,
                "NULL|9|1|1|1|NULL\na|1|1|1|1|NULL\na|2|2|2|2|1\na|2|3|2|2|2\na|5|4|4|3|2\nb|3|1|1|1|NULL\nb|3|2|1|1|3\n");
}

static void test_relative_ranks_know_the_size_of_the_partition(void **state)
{
    (void)state;
    const nl_logical *rows = sales_rows();
    const nl_window_spec *spec = spec_of(rows, NL_FRAME_ROWS, NL_BOUND_UNBOUNDED_PRECEDING, 0, NL_BOUND_CURRENT_ROW, 0);
    const nl_expr *exprs[] = {over("percent_rank", NULL, spec), over("cume_dist", NULL, spec)};
    expect_rows(window(rows, exprs, 2), true,
                "NULL|9|0.0|1.0\na|1|0.0|0.25\na|2|0.3333333333333333|0.75\na|2|0.3333333333333333|0.75\na|5|1.0|1.0\nb|3|0.0|1.0\nb|3|0.0|1.0\n");
}

static void test_running_sums_include_peers_in_range_frames(void **state)
{
    (void)state;
    const nl_logical *rows = sales_rows();
    const nl_window_spec *by_range = spec_of(rows, NL_FRAME_RANGE, NL_BOUND_UNBOUNDED_PRECEDING, 0, NL_BOUND_CURRENT_ROW, 0);
    const nl_window_spec *by_rows = spec_of(rows, NL_FRAME_ROWS, NL_BOUND_UNBOUNDED_PRECEDING, 0, NL_BOUND_CURRENT_ROW, 0);
    const nl_window_spec *whole = spec_of(rows, NL_FRAME_ROWS, NL_BOUND_UNBOUNDED_PRECEDING, 0, NL_BOUND_UNBOUNDED_FOLLOWING, 0);
    const nl_expr *value = column_of(rows, 1);
    const nl_expr *exprs[] = {over("sum", value, by_range), over("sum", value, by_rows), over("count", value, whole), over("max", column_of(rows, 0), whole)};
    expect_rows(window(rows, exprs, 4), true,
                "NULL|9|9|9|1|NULL\na|1|1|1|4|a\na|2|5|3|4|a\na|2|5|5|4|a\na|5|10|10|4|a\nb|3|6|3|2|b\nb|3|6|6|2|b\n");
}

static void test_range_offsets_are_distances_of_the_order_key(void **state)
{
    (void)state;
    const nl_logical *rows = sales_rows();
    const nl_window_spec *near = spec_of(rows, NL_FRAME_RANGE, NL_BOUND_PRECEDING, 1, NL_BOUND_FOLLOWING, 3);
    const nl_window_spec *after = spec_of(rows, NL_FRAME_RANGE, NL_BOUND_FOLLOWING, 1, NL_BOUND_UNBOUNDED_FOLLOWING, 0);
    const nl_expr *exprs[] = {over("sum", column_of(rows, 1), near), over("sum", column_of(rows, 1), after)};
    expect_rows(window(rows, exprs, 2), true, "NULL|9|9|NULL\na|1|5|9\na|2|10|5\na|2|10|5\na|5|5|NULL\nb|3|6|NULL\nb|3|6|NULL\n");
}

#define ROWS 3000

static int64_t frame_low, frame_high; /* relative to the row */
static const char *frame_function;

static void append_frame(nl_builder *out, uint64_t i)
{
    int64_t partition = (int64_t)(i / 1000), start = NL_MAX(partition * 1000, (int64_t)i + frame_low), stop = NL_MIN(partition * 1000 + 999, (int64_t)i + frame_high);
    int64_t sum = 0, least = INT64_MAX;
    for (int64_t k = start; k <= stop; k++) {
        int64_t value = k * 7919 % 1009;
        sum += value;
        least = NL_MIN(least, value);
    }
    bool is_sum = strcmp(frame_function, "sum") == 0;
    nl_append_f(out, "%lld|%llu|", (long long)partition, (unsigned long long)i);
    if (start > stop)
        nl_append_c(out, "NULL\n");
    else
        nl_append_f(out, "%lld\n", (long long)(is_sum ? sum : least));
}

static void test_sliding_frames_agree_with_a_slow_loop(void **state)
{
    (void)state;
    static const struct {
        int64_t low, high;
    } frames[] = {{-2, 0}, {-3, 3}, {-200, -100}, {5, 300}, {-500, 500}, {0, 0}};
    const nl_logical *numbers = range(0, ROWS, 1);
    const nl_expr *exprs[] = {nl_expr_cast(arena, call("div", column_of(numbers, 0), integer(1000)), nl_type_bigint(), NL_CAST_ANSI), column_of(numbers, 0),
                              call("%", call("*", column_of(numbers, 0), integer(7919)), integer(1009))};
    const nl_logical *rows = project(numbers, exprs, 3);
    for (size_t i = 0; i < NL_COUNT(frames); i++) {
        frame_low = frames[i].low;
        frame_high = frames[i].high;
        nl_bound_kind start = frame_low < 0 ? NL_BOUND_PRECEDING : NL_BOUND_FOLLOWING, stop = frame_high < 0 ? NL_BOUND_PRECEDING : NL_BOUND_FOLLOWING;
        const nl_window_spec *spec = spec_of(rows, NL_FRAME_ROWS, start, labs(frame_low), stop, labs(frame_high));
        for (int f = 0; f < 2; f++) {
            frame_function = f ? "min" : "sum";
            const nl_expr *calls[] = {over(frame_function, column_of(rows, 2), spec)};
            const nl_logical *all = window(rows, calls, 1);
            const nl_expr *wanted[] = {column_of(all, 0), column_of(all, 1), column_of(all, 3)};
            char *expected = rows_text(ROWS, append_frame);
            const nl_logical *plan = project(all, wanted, 3);
            const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {4, 100, false}, {2, 700, true}};
            for (size_t m = 0; m < NL_COUNT(modes); m++) {
                char *text = NULL;
                expect_success(run_in_mode(plan, "", &modes[m], &text));
                assert_string_equal(text, expected);
                free(text);
            }
            free(expected);
        }
    }
}

/* ---- RANGE with offsets over partitions on disk ---- */

enum { RANGE_ROWS = 2400 };
static int64_t range_low, range_high; /* relative to the key; INT64_MIN, INT64_MAX: none */

/* Keys of some peers each, every eleventh of a partition null: those come first and are each other's frame. */
static int64_t key_of(int64_t i)
{
    return i % 1200 * 31 % 400;
}

static bool has_key(int64_t i)
{
    return i % 11 != 3;
}

static bool is_in_range(int64_t row, int64_t other)
{
    if (row / 1200 != other / 1200) return false;
    const bool is_after_start = range_low == INT64_MIN || (has_key(other) && key_of(other) >= key_of(row) + range_low);
    const bool is_before_stop = range_high == INT64_MAX || (has_key(other) ? key_of(other) <= key_of(row) + range_high : range_low == INT64_MIN);
    if (has_key(row)) return is_after_start && is_before_stop;
    return !has_key(other) || range_high == INT64_MAX;
}

static void append_range(nl_builder *out, uint64_t i)
{
    int64_t sum = 0, least = INT64_MAX, count = 0;
    for (int64_t k = 0; k < RANGE_ROWS; k++) {
        if (!is_in_range((int64_t)i, k)) continue;
        sum += k * 7919 % 1009;
        least = NL_MIN(least, k * 7919 % 1009);
        count++;
    }
    nl_append_f(out, "%llu|", (unsigned long long)i);
    if (count == 0)
        nl_append_c(out, "NULL|NULL|0\n");
    else
        nl_append_f(out, "%lld|%lld|%lld\n", (long long)sum, (long long)least, (long long)count);
}

static nl_window_spec *range_spec(const nl_logical *rows)
{
    const nl_bound_kind start = range_low == INT64_MIN ? NL_BOUND_UNBOUNDED_PRECEDING : range_low < 0 ? NL_BOUND_PRECEDING : NL_BOUND_FOLLOWING;
    const nl_bound_kind stop = range_high == INT64_MAX ? NL_BOUND_UNBOUNDED_FOLLOWING : range_high < 0 ? NL_BOUND_PRECEDING : NL_BOUND_FOLLOWING;
    return spec_of(rows, NL_FRAME_RANGE, start, range_low == INT64_MIN ? 0 : labs(range_low), stop, range_high == INT64_MAX ? 0 : labs(range_high));
}

static void test_range_frames_on_disk_agree_with_a_slow_loop(void **state)
{
    (void)state;
    static const struct {
        int64_t low, high;
    } frames[] = {{-2, 3}, {-150, -20}, {10, 120}, {-390, 390}, {INT64_MIN, 5}, {INT64_MIN, -5}};
    const nl_logical *numbers = range(0, RANGE_ROWS, 1);
    const nl_expr *id = column_of(numbers, 0);
    const nl_expr *key = call("%", call("*", call("%", id, integer(1200)), integer(31)), integer(400));
    const nl_expr *is_lacking = nl_expr_cast(arena, call("div", call("%", call("+", id, integer(7)), integer(11)), integer(10)), nl_type_bigint(), NL_CAST_ANSI); /* 1 or 0 */
    const nl_expr *nullable = call("try_add", call("+", key, integer(1)), call("*", is_lacking, integer(INT64_MAX))); /* what overflows is null */
    const nl_expr *exprs[] = {nl_expr_cast(arena, call("div", id, integer(1200)), nl_type_bigint(), NL_CAST_ANSI), nullable, call("%", call("*", id, integer(7919)), integer(1009)), id};
    const nl_logical *rows = project(numbers, exprs, 4);
    for (size_t i = 0; i < NL_COUNT(frames); i++) {
        range_low = frames[i].low;
        range_high = frames[i].high;
        const nl_window_spec *spec = range_spec(rows);
        const nl_expr *calls[] = {over("sum", column_of(rows, 2), spec), over("min", column_of(rows, 2), spec), over("count", column_of(rows, 2), spec)};
        const nl_logical *all = window(rows, calls, 3);
        const nl_expr *wanted[] = {column_of(all, 3), column_of(all, 4), column_of(all, 5), column_of(all, 6)};
        const nl_logical *projected = project(all, wanted, 4);
        const nl_sort_key by_id = {.expr = column_of(projected, 0)};
        const nl_logical *plan = sort(projected, &by_id, 1);
        char *expected = rows_text(RANGE_ROWS, append_range);
        const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {2, 100, true}, {2, 700, true}};
        for (size_t m = 0; m < NL_COUNT(modes); m++) {
            char *text = NULL;
            expect_success(run_in_mode(plan, "", &modes[m], &text));
            assert_string_equal(text, expected);
            free(text);
        }
        free(expected);
    }
}

static void test_without_partition_there_is_one(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 5, 1);
    nl_window_spec spec = {.unit = NL_FRAME_ROWS, .start_kind = NL_BOUND_UNBOUNDED_PRECEDING, .stop_kind = NL_BOUND_UNBOUNDED_FOLLOWING};
    const nl_expr *exprs[] = {over("row_number", NULL, &spec), over("sum", column_of(numbers, 0), &spec)};
    expect_rows(window(numbers, exprs, 2), true, "0|1|10\n1|2|10\n2|3|10\n3|4|10\n4|5|10\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_ranks_count_peers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_relative_ranks_know_the_size_of_the_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_running_sums_include_peers_in_range_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_range_offsets_are_distances_of_the_order_key, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sliding_frames_agree_with_a_slow_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_range_frames_on_disk_agree_with_a_slow_loop, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_without_partition_there_is_one, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
