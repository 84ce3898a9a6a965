/* Parallel sinks and metrics. */
#include "exec/test_plan.h"

typedef struct counting_sink {
    nl_parallel_sink base;
    atomic_uint_fast64_t rows, finished;
    uint32_t worker_count;
} counting_sink;

static nl_status sink_start(nl_parallel_sink *self, uint32_t worker_count)
{
    NL_CONTAINER(self, counting_sink, base)->worker_count = worker_count;
    return NULL;
}
static nl_status sink_consume(nl_parallel_sink *self, uint32_t worker, nl_batch *batch)
{
    counting_sink *sink = NL_CONTAINER(self, counting_sink, base);
    assert_true(worker < sink->worker_count);
    atomic_fetch_add(&sink->rows, batch->row_count);
    return NULL;
}
static nl_status sink_finish_worker(nl_parallel_sink *self, uint32_t worker)
{
    (void)worker;
    atomic_fetch_add(&NL_CONTAINER(self, counting_sink, base)->finished, 1);
    return NULL;
}

static void test_a_parallel_sink_gets_all_rows(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(3, "test");
    nl_query query = {.arena = arena, .memory = memory, .pool = pool, .confs = &confs};
    counting_sink sink = {.base = {.start = sink_start, .consume = sink_consume, .finish_worker = sink_finish_worker}};
    expect_success(nl_query_run_parallel(&query, range(0, 1000000, 1), &sink.base));
    assert_int_equal(sink.rows, 1000000);
    assert_int_equal(sink.finished, 3);
    nl_pool_free(pool);
}

static void test_metrics_stand_behind_their_nodes(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 1000, 1);
    const nl_logical *some = filter(numbers, call("<", column_of(numbers, 0), integer(10)));
    nl_sort_key key = {.expr = column_of(some, 0), .is_descending = true};
    const nl_logical *plan = sort(some, &key, 1);
    nl_progress progress = {0};
    nl_query query = {.arena = arena, .memory = memory, .confs = &confs, .metrics = nl_metrics_new(arena), .progress = &progress};
    text_consumer consumer = {.base = {.consume = consume_text}};
    nl_builder_init(&consumer.text, 1 << 20);
    expect_success(nl_query_run(&query, plan, &consumer.base));
    assert_int_equal(progress.rows, 1000);
    assert_int_equal(progress.rows_total, 1000);
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_metrics_append_text(query.metrics, plan, &text);
    const char *printed = nl_builder_c(&text);
    const char *of_sort = strstr(printed, "Sort"), *of_filter = strstr(printed, "Filter"), *of_range = strstr(printed, "Range");
    assert_true(of_sort && of_filter && of_range);
    assert_non_null(strstr(of_range, "(rows 1000, time"));
    assert_true(strstr(of_filter, "(rows 10, time") < of_range);
    assert_true(strstr(of_sort, "(rows 10, time") < of_filter);
    nl_builder_fini(&text);
    nl_builder_fini(&consumer.text);
}

static nl_status refuse(nl_consumer *self, nl_batch *batch)
{
    (void)self;
    (void)batch;
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "the consumer has had enough"));
}

static void test_a_failing_consumer_ends_the_query(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(4, "test");
    nl_query query = {.arena = arena, .memory = memory, .pool = pool, .confs = &confs};
    nl_consumer consumer = {.consume = refuse};
    nl_status status = nl_query_run(&query, range(0, 100000000000, 1), &consumer);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_INTERNAL_ERROR);
    nl_error_free(status);
    nl_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_parallel_sink_gets_all_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_metrics_stand_behind_their_nodes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_failing_consumer_ends_the_query, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
