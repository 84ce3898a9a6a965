/* lakehouse/queries_test.c - the list of running statements: order, progress, cancelling, ending from many threads. */
#include "lakehouse/queries.h"

#include "base/pool.h"
#include "base/test_support.h"

static void what_runs_is_listed_in_order_until_it_ends(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_queries *queries = nl_queries_new();
    nl_running_query *running[3];
    const char *const ids[] = {"a", "b", "c"};
    for (size_t i = 0; i < 3; i++) assert_ok(nl_query_begin(queries, "athena", nl_str_from(ids[i]), NL_STR("SELECT 1"), NULL, &running[i]));
    nl_query_end(running[1]);
    const nl_query_facts *list = NULL;
    uint32_t count = 0;
    nl_queries_list(queries, arena, &list, &count);
    assert_int_equal(count, 2);
    assert_text(list[0].id, "a");
    assert_text(list[1].id, "c");
    assert_text(list[1].text, "SELECT 1");
    assert_string_equal(list[0].source, "athena");
    assert_true(list[0].started_micros > 0);
    nl_query_end(running[0]);
    nl_query_end(running[2]);
    nl_query_end(NULL);
    nl_queries_list(queries, arena, &list, &count);
    assert_int_equal(count, 0);
    nl_queries_free(queries);
    nl_arena_free(arena);
}

static void progress_is_shown_and_cancelling_reaches_the_session(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_queries *queries = nl_queries_new();
    nl_session *session = NULL;
    nl_running_query *running = NULL;
    assert_ok(nl_session_new(NULL, 0, &session));
    nl_session_begin(session);
    atomic_store(&nl_session_progress(session)->rows, 7);
    atomic_store(&nl_session_progress(session)->files_total, 3);
    assert_ok(nl_query_begin(queries, "trino", NL_STR("q"), NL_STR("SELECT 2"), session, &running));
    const nl_query_facts *list = NULL;
    uint32_t count = 0;
    nl_queries_list(queries, arena, &list, &count);
    assert_int_equal(list[0].rows, 7);
    assert_int_equal(list[0].files_total, 3);
    assert_false(nl_queries_cancel(queries, NL_STR("another")));
    assert_false(nl_cancel_is_set(nl_session_cancel_token(session)));
    assert_true(nl_queries_cancel(queries, NL_STR("q")));
    assert_true(nl_cancel_is_set(nl_session_cancel_token(session)));
    nl_query_end(running);
    nl_session_free(session);
    nl_queries_free(queries);
    nl_arena_free(arena);
}

static nl_status begin_and_end(void *argument, uint64_t i)
{
    nl_queries *queries = argument;
    nl_arena *arena = nl_arena_new(NULL);
    nl_running_query *running = NULL;
    const nl_query_facts *list = NULL;
    uint32_t count = 0;
    nl_status status = nl_query_begin(queries, "athena", nl_arena_f(arena, "%llu", (unsigned long long)i), NL_STR("SELECT 1"), NULL, &running);
    nl_queries_list(queries, arena, &list, &count);
    nl_query_end(running);
    nl_arena_free(arena);
    return status;
}

static void many_threads_begin_and_end(void **state)
{
    (void)state;
    nl_queries *queries = nl_queries_new();
    nl_pool *pool = nl_pool_new(8, "queries");
    assert_ok(nl_pool_for(pool, 2000, begin_and_end, queries));
    nl_pool_free(pool);
    nl_queries_free(queries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_runs_is_listed_in_order_until_it_ends),
        cmocka_unit_test(progress_is_shown_and_cancelling_reaches_the_session),
        cmocka_unit_test(many_threads_begin_and_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
