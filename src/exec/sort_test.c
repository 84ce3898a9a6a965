/* ORDER BY and top-N against qsort. */
#include "exec/test_plan.h"

#define ROWS 5000

static int64_t scrambled(uint64_t i)
{
    return (int64_t)((i * 2654435761u) % 100003) - 50000;
}

static void append_sorted(nl_builder *out, uint64_t i)
{
    static int64_t numbers[ROWS];
    if (i == 0) {
        for (uint64_t k = 0; k < ROWS; k++)
            numbers[k] = scrambled(k);
        for (uint64_t a = 1; a < ROWS; a++) { /* insertion sort: the reference may be slow */
            int64_t number = numbers[a];
            uint64_t b = a;
            for (; b > 0 && numbers[b - 1] > number; b--)
                numbers[b] = numbers[b - 1];
            numbers[b] = number;
        }
    }
    nl_append_int(out, numbers[i]);
    nl_append_char(out, '\n');
}

static const nl_logical *scrambled_rows(void)
{
    const nl_logical *numbers = range(0, ROWS, 1);
    const nl_expr *product = call("%", call("*", column_of(numbers, 0), integer(2654435761)), integer(100003));
    const nl_expr *exprs[] = {call("-", product, integer(50000))};
    return project(numbers, exprs, 1);
}

static void test_numbers_are_sorted(void **state)
{
    (void)state;
    const nl_logical *rows = scrambled_rows();
    nl_sort_key key = {.expr = column_of(rows, 0), .nulls_first = true};
    char *expected = rows_text(ROWS, append_sorted);
    expect_rows(sort(rows, &key, 1), true, expected);
    expected[0] = 0;
    char *first = rows_text(7, append_sorted);
    expect_rows(limit(sort(rows, &key, 1), 0, 7), true, first);
    free(first);
    free(expected);
}

static void test_a_top_of_many_rows_is_cut_back(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 300000, 1);
    const nl_expr *exprs[] = {call("%", call("*", column_of(numbers, 0), integer(7919)), integer(300007)), column_of(numbers, 0)};
    const nl_logical *rows = project(numbers, exprs, 2);
    nl_sort_key key = {.expr = column_of(rows, 0), .is_descending = true};
    const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {4, NL_BATCH_ROWS, false}};
    char *texts[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++)
        expect_success(run_in_mode(limit(sort(rows, &key, 1), 1, 3), "", &modes[i], &texts[i]));
    assert_string_equal(texts[0], texts[1]);
    assert_int_equal(strncmp(texts[0], "300005|", 7), 0);
    free(texts[0]);
    free(texts[1]);
}

static const char *const people[] = {"Bob", "3", "NULL", "1", "Alice", "NULL", "a name of more than twelve", "2",
                                     "a name of more than eight", "2", "", "3", "NULL", "0"};

static const nl_logical *people_rows(void)
{
    const nl_type *types[] = {nl_type_string(), nl_type_int()};
    return values(types, 2, people, 7);
}

static void test_nulls_and_directions_are_as_asked(void **state)
{
    (void)state;
    const nl_logical *rows = people_rows();
    nl_sort_key keys[] = {{.expr = column_of(rows, 1), .is_descending = true}, {.expr = column_of(rows, 0), .nulls_first = true}};
    expect_rows(sort(rows, keys, 2), true,
                "|3\nBob|3\na name of more than eight|2\na name of more than twelve|2\nNULL|1\nNULL|0\nAlice|NULL\n");
    nl_sort_key name[] = {{.expr = column_of(rows, 0), .is_descending = true, .nulls_first = true}};
    expect_rows(sort(rows, name, 1), true,
                "NULL|1\nNULL|0\na name of more than twelve|2\na name of more than eight|2\nBob|3\nAlice|NULL\n|3\n");
}

static void test_equal_keys_keep_the_order_of_arrival(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 9, 1);
    const nl_expr *exprs[] = {call("%", column_of(numbers, 0), integer(3)), column_of(numbers, 0)};
    const nl_logical *rows = project(numbers, exprs, 2);
    nl_sort_key key = {.expr = column_of(rows, 0)};
    expect_rows(sort(rows, &key, 1), true, "0|0\n0|3\n0|6\n1|1\n1|4\n1|7\n2|2\n2|5\n2|8\n");
}

static void test_doubles_have_nan_last_and_one_zero(void **state)
{
    (void)state;
    const nl_type *types[] = {nl_type_double(), nl_type_int()};
    const char *cells[] = {"NaN", "1", "0.0", "2", "-0.0", "3", "-1.5", "4", "Infinity", "5", "-Infinity", "6", "NULL", "7"};
    const nl_logical *rows = values(types, 2, cells, 7);
    nl_sort_key key = {.expr = column_of(rows, 0), .nulls_first = true};
    expect_rows(sort(rows, &key, 1), true, "NULL|7\n-Infinity|6\n-1.5|4\n0.0|2\n-0.0|3\nInfinity|5\nNaN|1\n");
}

/* ---- parts per worker, as writers read them ---- */

enum { PART_WORKERS = 4 };

typedef struct part_sink { /* numbers, then what they are divided by */
    nl_parallel_sink base;
    struct {
        int64_t first, last, count;
        bool is_ordered;
    } parts[PART_WORKERS];
} part_sink;

static nl_status part_start(nl_parallel_sink *self, uint32_t worker_count)
{
    part_sink *sink = NL_CONTAINER(self, part_sink, base);
    assert_true(worker_count <= PART_WORKERS);
    for (uint32_t w = 0; w < PART_WORKERS; w++)
        sink->parts[w].is_ordered = true;
    return NULL;
}

static nl_status part_consume(nl_parallel_sink *self, uint32_t worker, nl_batch *batch)
{
    part_sink *sink = NL_CONTAINER(self, part_sink, base);
    const int64_t *numbers = nl_vector_values(&batch->columns[0]);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        if (sink->parts[worker].count++ == 0) sink->parts[worker].first = numbers[row];
        else if (numbers[row] < sink->parts[worker].last) sink->parts[worker].is_ordered = false;
        sink->parts[worker].last = numbers[row];
    }
    return NULL;
}

static nl_status part_finish(nl_parallel_sink *self, uint32_t worker)
{
    (void)self, (void)worker;
    return NULL;
}

static uint32_t run_parts(int64_t row_count, nl_sort_parts parts, uint32_t partition_count, bool force_spill, part_sink *sink)
{
    const nl_logical *numbers = range(0, row_count, 1);
    const nl_expr *exprs[] = {call("%", call("*", column_of(numbers, 0), integer(7919)), integer(partition_count ? 3 : 1000003)), column_of(numbers, 0)};
    const nl_logical *rows = project(numbers, exprs, 2);
    const nl_sort_key keys[] = {{.expr = column_of(rows, 0)}, {.expr = column_of(rows, 1)}};
    nl_logical *sorted = (nl_logical *)(uintptr_t)sort(rows, keys, 2);
    sorted->sort.parts = parts;
    sorted->sort.partition_count = partition_count;
    nl_pool *pool = nl_pool_new(PART_WORKERS, "test");
    nl_query query = {.arena = arena, .memory = memory, .pool = pool, .confs = &confs, .force_spill = force_spill};
    *sink = (part_sink){.base = {.start = part_start, .consume = part_consume, .finish_worker = part_finish}};
    expect_success(nl_query_run_parallel(&query, sorted, &sink->base));
    nl_pool_free(pool);
    uint32_t used = 0;
    int64_t total = 0;
    for (uint32_t w = 0; w < PART_WORKERS; w++) {
        assert_true(sink->parts[w].is_ordered);
        total += sink->parts[w].count;
        used += sink->parts[w].count > 0;
    }
    assert_int_equal(total, row_count);
    return used;
}

static void test_parts_of_workers_are_disjoint_ranges(void **state)
{
    (void)state;
    part_sink sink;
    assert_int_equal(run_parts(1 << 21, NL_SORT_PART_PER_WORKER, 0, false, &sink), PART_WORKERS);
    for (uint32_t w = 1; w < PART_WORKERS; w++)
        assert_true(sink.parts[w].first >= sink.parts[w - 1].last);
}

static void test_parts_do_not_cut_through_partitions(void **state)
{
    (void)state;
    part_sink sink;
    assert_in_range(run_parts(1 << 21, NL_SORT_PART_PER_WORKER, 1, false, &sink), 2, 3);
    int64_t last = -1;
    for (uint32_t w = 0; w < PART_WORKERS; w++) {
        if (sink.parts[w].count == 0) continue;
        assert_true(sink.parts[w].first > last);
        last = sink.parts[w].last;
    }
}

static void test_few_rows_are_one_part(void **state)
{
    (void)state;
    part_sink sink;
    assert_int_equal(run_parts(60000, NL_SORT_PART_PER_WORKER, 0, false, &sink), 1);
    assert_int_equal(run_parts(60000, NL_SORT_OWN_ROWS, 0, false, &sink), 1);
}

static void test_own_rows_are_sorted_for_themselves(void **state)
{
    (void)state;
    part_sink sink;
    for (int spills = 0; spills < 2; spills++) {
        const uint32_t used = run_parts(300000, NL_SORT_OWN_ROWS, 0, spills == 1, &sink);
        assert_in_range(used, 1, PART_WORKERS); /* a busy machine may leave all rows to one worker */
        for (uint32_t w = 0; w < PART_WORKERS; w++) /* everyone brings numbers from everywhere */
            if (used > 1 && sink.parts[w].count > 100000) assert_true(sink.parts[w].last - sink.parts[w].first > 900000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers_are_sorted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_top_of_many_rows_is_cut_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nulls_and_directions_are_as_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equal_keys_keep_the_order_of_arrival, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_doubles_have_nan_last_and_one_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_of_workers_are_disjoint_ranges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_parts_do_not_cut_through_partitions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_few_rows_are_one_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_own_rows_are_sorted_for_themselves, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
