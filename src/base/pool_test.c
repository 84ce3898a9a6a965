/* base/pool_test.c - tasks, groups, cancellation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/pool.h"

typedef struct counter {
    nl_pool *pool;
    atomic_uint runs;
    atomic_uint running[64]; /* per worker number */
    atomic_bool has_clashed;
    uint32_t fail_at; /* this run fails; 0: none */
} counter;

static nl_status count_run(void *argument, uint32_t worker)
{
    counter *self = argument;
    if (worker >= nl_pool_thread_count(self->pool)) atomic_store(&self->has_clashed, true);
    if (atomic_fetch_add(&self->running[worker % 64], 1) != 0) atomic_store(&self->has_clashed, true);
    uint32_t run = atomic_fetch_add(&self->runs, 1) + 1;
    if (run % 50 == 0) usleep(100);
    atomic_fetch_sub(&self->running[worker % 64], 1);
    return run == self->fail_at ? NL_RAISE(PATH_NOT_FOUND, NL_P_INT("path", run)) : NULL;
}

static void test_every_task_runs_once_under_a_number_of_its_own(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 2, 63, 64, 65, 5000};
    for (uint32_t threads = 1; threads <= 4; threads++) {
        nl_pool *pool = nl_pool_new(threads, "test");
        assert_int_equal(nl_pool_thread_count(pool), threads);
        for (size_t i = 0; i < NL_COUNT(counts); i++) {
            counter self = {.pool = pool};
            nl_task_group *group = nl_task_group_new(pool, NULL);
            for (uint32_t j = 0; j < counts[i]; j++) nl_task_group_add(group, count_run, &self);
            assert_null(nl_task_group_wait(group));
            assert_int_equal(atomic_load(&self.runs), counts[i]);
            assert_false(atomic_load(&self.has_clashed));
        }
        nl_pool_free(pool);
    }
    nl_pool_free(NULL);
}

static void test_the_first_failure_is_returned_and_the_rest_dropped(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(2, "test");
    counter self = {.pool = pool, .fail_at = 10};
    nl_task_group *group = nl_task_group_new(pool, NULL);
    for (uint32_t j = 0; j < 10000; j++) nl_task_group_add(group, count_run, &self);
    nl_status status = nl_task_group_wait(group);
    assert_int_equal(nl_error_condition(status), NL_COND_PATH_NOT_FOUND);
    assert_string_equal(nl_error_param(status, "path"), "10");
    nl_error_free(status);
    assert_true(atomic_load(&self.runs) < 10000);
    nl_pool_free(pool);
}

static void test_cancelled_tasks_do_not_run(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(2, "test");
    nl_cancel *cancel = nl_cancel_new(NULL);
    nl_cancel_set(cancel);
    counter self = {.pool = pool};
    nl_task_group *group = nl_task_group_new(pool, cancel);
    for (uint32_t j = 0; j < 100; j++) nl_task_group_add(group, count_run, &self);
    nl_status status = nl_task_group_wait(group);
    assert_int_equal(nl_error_condition(status), NL_COND_OPERATION_CANCELED);
    nl_error_free(status);
    assert_int_equal(atomic_load(&self.runs), 0);
    nl_cancel_release(cancel);
    nl_pool_free(pool);
}

static void test_cancelling_a_parent_reaches_the_children(void **state)
{
    (void)state;
    nl_cancel *query = nl_cancel_new(NULL);
    nl_cancel *part = nl_cancel_new(query);
    nl_cancel *other = nl_cancel_new(query);
    assert_null(nl_cancel_check(part));
    nl_cancel_set(part);
    assert_true(nl_cancel_is_set(part));
    assert_false(nl_cancel_is_set(query));
    assert_false(nl_cancel_is_set(other));
    nl_cancel_set(query);
    nl_cancel_release(query);
    assert_true(nl_cancel_is_set(other));
    nl_status status = nl_cancel_check(other);
    assert_int_equal(nl_error_condition(status), NL_COND_OPERATION_CANCELED);
    nl_error_free(status);
    nl_cancel_release(nl_cancel_retain(part));
    nl_cancel_release(part);
    nl_cancel_release(other);
    assert_false(nl_cancel_is_set(NULL));
    assert_null(nl_cancel_check(NULL));
}

typedef struct nested {
    nl_pool *pool;
    uint32_t depth;
    atomic_uint *leaves;
} nested;

static nl_status run_nested(void *argument, uint32_t worker)
{
    (void)worker;
    const nested *self = argument;
    if (self->depth == 0) {
        atomic_fetch_add(self->leaves, 1);
        return NULL;
    }
    nested below = {self->pool, self->depth - 1, self->leaves};
    nl_task_group *group = nl_task_group_new(self->pool, NULL);
    for (int i = 0; i < 4; i++) nl_task_group_add(group, run_nested, &below);
    return nl_task_group_wait(group);
}

static void test_waiting_inside_a_task_helps_instead_of_hanging(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        nl_pool *pool = nl_pool_new(threads, "test");
        atomic_uint leaves = 0;
        nested top = {pool, 5, &leaves};
        assert_null(run_nested(&top, 0));
        assert_int_equal(atomic_load(&leaves), 1024);
        nl_pool_free(pool);
    }
}

typedef struct growing {
    nl_task_group *group;
    atomic_uint left;
} growing;

static nl_status add_more(void *argument, uint32_t worker)
{
    (void)worker;
    growing *self = argument;
    if (atomic_fetch_sub(&self->left, 1) > 2) {
        nl_task_group_add(self->group, add_more, self);
    }
    return NULL;
}

static void test_tasks_may_add_tasks(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(2, "test");
    growing self = {.group = nl_task_group_new(pool, NULL), .left = 1000};
    nl_task_group_add(self.group, add_more, &self);
    assert_null(nl_task_group_wait(self.group));
    assert_int_equal(atomic_load(&self.left), 1);
    nl_pool_free(pool);
}

static nl_status mark(void *argument, uint64_t i)
{
    atomic_uchar *marks = argument;
    atomic_fetch_add(&marks[i], 1);
    return NULL;
}

static nl_status fail_in_the_middle(void *argument, uint64_t i)
{
    atomic_fetch_add((atomic_uint *)argument, 1);
    return i == 500 ? NL_RAISE(PATH_NOT_FOUND, NL_P("path", "500")) : NULL;
}

static void test_parallel_for_visits_each_index_once(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, 2, 63, 64, 65, 10000};
    nl_pool *pool = nl_pool_new(3, "test");
    for (size_t i = 0; i < NL_COUNT(counts); i++) {
        atomic_uchar *marks = calloc(counts[i] + 1, 1);
        assert_null(nl_pool_for(pool, counts[i], mark, marks));
        for (uint64_t j = 0; j < counts[i]; j++) assert_int_equal(marks[j], 1);
        assert_int_equal(marks[counts[i]], 0);
        free(marks);
    }
    atomic_uint runs = 0;
    nl_status status = nl_pool_for(pool, 1000000, fail_in_the_middle, &runs);
    assert_int_equal(nl_error_condition(status), NL_COND_PATH_NOT_FOUND);
    assert_true(atomic_load(&runs) < 1000000);
    nl_error_free(status);
    nl_pool_free(pool);
}

static nl_status mark_worker(void *argument, uint32_t worker)
{
    atomic_fetch_add(&((atomic_uint *)argument)[worker], 1);
    return NULL;
}

static void test_run_on_all_reaches_every_worker_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 4; threads++) {
        nl_pool *pool = nl_pool_new(threads, "test");
        atomic_uint marks[5] = {0};
        assert_null(nl_pool_run_on_all(pool, mark_worker, marks));
        for (uint32_t i = 0; i < 5; i++) assert_int_equal(marks[i], i < threads);
        nl_pool_free(pool);
    }
}

static void *use_pool(void *argument)
{
    counter self = {.pool = argument};
    for (int round = 0; round < 20; round++) {
        nl_task_group *group = nl_task_group_new(argument, NULL);
        for (int i = 0; i < 200; i++) nl_task_group_add(group, count_run, &self);
        nl_error_free(nl_task_group_wait(group));
    }
    return (void *)(uintptr_t)(atomic_load(&self.runs) == 4000 && !atomic_load(&self.has_clashed));
}

static void test_groups_of_many_threads_share_a_pool(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(3, "test");
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, use_pool, pool), 0);
    for (int i = 0; i < 4; i++) {
        void *is_good;
        pthread_join(threads[i], &is_good);
        assert_non_null(is_good);
    }
    nl_pool_free(pool);
}

static void test_a_failing_task_sets_the_groups_cancellation_and_no_other(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(1, "test");
    nl_cancel *query = nl_cancel_new(NULL);
    counter self = {.pool = pool, .fail_at = 1};
    nl_task_group *group = nl_task_group_new(pool, query);
    nl_cancel *own = nl_cancel_retain(nl_task_group_cancel(group));
    nl_task_group_add(group, count_run, &self);
    nl_status status = nl_task_group_wait(group);
    assert_non_null(status);
    nl_error_free(status);
    assert_true(nl_cancel_is_set(own));
    assert_false(nl_cancel_is_set(query));
    nl_cancel_release(own);
    nl_cancel_release(query);
    nl_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_task_runs_once_under_a_number_of_its_own),
        cmocka_unit_test(test_the_first_failure_is_returned_and_the_rest_dropped),
        cmocka_unit_test(test_cancelled_tasks_do_not_run),
        cmocka_unit_test(test_cancelling_a_parent_reaches_the_children),
        cmocka_unit_test(test_waiting_inside_a_task_helps_instead_of_hanging),
        cmocka_unit_test(test_tasks_may_add_tasks),
        cmocka_unit_test(test_parallel_for_visits_each_index_once),
        cmocka_unit_test(test_run_on_all_reaches_every_worker_once),
        cmocka_unit_test(test_groups_of_many_threads_share_a_pool),
        cmocka_unit_test(test_a_failing_task_sets_the_groups_cancellation_and_no_other),
    };
    return cmocka_run_group_tests_name("base/pool", tests, NULL, NULL);
}
