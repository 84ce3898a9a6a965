/* base/memory_test.c - budgets, reservations, buffers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/memory.h"

static void test_a_charge_counts_at_every_level_or_at_none(void **state)
{
    (void)state;
    nl_memory *process = nl_memory_new(NULL, "process", 1000);
    nl_memory *query = nl_memory_new(process, "query", 600);
    nl_memory *other = nl_memory_new(process, "other", SIZE_MAX);
    assert_true(nl_memory_try_charge(query, 600));
    assert_false(nl_memory_try_charge(query, 1));
    assert_true(nl_memory_try_charge(other, 400));
    assert_false(nl_memory_try_charge(other, 1)); /* the root refuses */
    assert_int_equal(nl_memory_used(other), 400);
    assert_int_equal(nl_memory_used(process), 1000);
    nl_memory_discharge(query, 600);
    assert_int_equal(nl_memory_used(process), 400);
    assert_int_equal(nl_memory_peak(process), 1000);
    assert_int_equal(nl_memory_peak(query), 600);
    assert_int_equal(nl_memory_limit(query), 600);
    assert_int_equal(nl_memory_limit(other), 1000); /* its parent's */
    assert_int_equal(nl_memory_limit(NULL), SIZE_MAX);
    assert_true(nl_memory_has_room(query, 350)); /* 400 of 1000 are used above, 0 of 600 here */
    assert_false(nl_memory_has_room(query, 351));
    assert_false(nl_memory_has_room(other, 400));
    assert_false(nl_memory_has_room(query, SIZE_MAX));
    assert_true(nl_memory_has_room(NULL, SIZE_MAX));
    assert_false(nl_memory_try_charge(query, SIZE_MAX));
    nl_memory_discharge(other, 400);
    nl_memory_release(query);
    nl_memory_release(other);
    nl_memory_release(process);
}

static void test_a_small_budget_keeps_twelve_mebibytes_for_what_is_in_flight(void **state)
{
    (void)state;
    static const struct {
        size_t limit_mib, room_mib;
    } rows[] = {{8, 6}, {16, 8}, {24, 12}, {26, 14}, {48, 36}, {64, 48}, {1024, 768}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_memory *budget = nl_memory_new(NULL, "query", rows[i].limit_mib << 20);
        assert_true(nl_memory_has_room(budget, rows[i].room_mib << 20));
        assert_false(nl_memory_has_room(budget, (rows[i].room_mib << 20) + 1));
        nl_memory_release(budget);
    }
}

static void test_a_budget_keeps_its_parent(void **state)
{
    (void)state;
    nl_memory *parent = nl_memory_new(NULL, "parent", 10);
    nl_memory *child = nl_memory_new(parent, "child", 20);
    nl_memory_release(parent);
    assert_false(nl_memory_try_charge(child, 11));
    assert_true(nl_memory_try_charge(child, 10));
    nl_memory_discharge(child, 10);
    nl_memory_release(nl_memory_retain(child));
    nl_memory_release(child);
}

static void test_no_budget_agrees_to_everything(void **state)
{
    (void)state;
    assert_true(nl_memory_try_charge(NULL, SIZE_MAX));
    nl_memory_discharge(NULL, SIZE_MAX);
    assert_int_equal(nl_memory_used(NULL), 0);
    nl_memory_release(NULL);
}

static void test_reservations_grow_shrink_and_clear(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 100);
    nl_reservation held = {.memory = memory};
    assert_true(nl_reservation_grow(&held, 60));
    assert_false(nl_reservation_grow(&held, 41));
    assert_true(nl_reservation_grow(&held, 40));
    nl_reservation_shrink(&held, 30);
    assert_int_equal(nl_memory_used(memory), 70);
    assert_false(nl_reservation_grow(&held, SIZE_MAX));
    nl_reservation_clear(&held);
    nl_reservation_clear(&held);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_buffers_are_aligned_padded_and_paid_for(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 63, 64, 65, 127, 128, 129, 4096};
    nl_memory *memory = nl_memory_new(NULL, "m", 1 << 20);
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        nl_buffer *buffer = NULL;
        assert_null(nl_buffer_new(memory, sizes[i], i % 2 == 0, &buffer));
        assert_int_equal((uintptr_t)buffer->data % 64, 0);
        assert_int_equal(buffer->size_bytes, sizes[i]);
        assert_true(nl_memory_used(memory) >= sizes[i] + 64);
        for (size_t j = i % 2 == 0 ? 0 : sizes[i]; j < sizes[i] + 64; j++) assert_int_equal(buffer->data[j], 0);
        memset(buffer->data, 0xAB, sizes[i] + 64);
        assert_ptr_equal(nl_buffer_retain(buffer), buffer);
        nl_buffer_release(buffer);
        assert_true(nl_memory_used(memory) > 0);
        nl_buffer_release(buffer);
        assert_int_equal(nl_memory_used(memory), 0);
    }
    assert_null(nl_buffer_retain(NULL));
    nl_buffer_release(NULL);
    nl_memory_release(memory);
}

static void test_a_buffer_over_budget_is_an_error_that_names_the_bytes(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 1000);
    nl_buffer *buffer = NULL;
    nl_status status = nl_buffer_new(memory, 1000, false, &buffer);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY);
    assert_string_equal(nl_error_param(status, "receivedBytes"), "1000");
    assert_null(buffer);
    nl_error_free(status);
    status = nl_buffer_new(NULL, SIZE_MAX, false, &buffer);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    nl_error_free(status);
    nl_memory_release(memory);
}

static void note_release(nl_buffer *buffer)
{
    ++*(int *)buffer->owner;
}

static void test_a_wrapped_buffer_calls_its_owner_once(void **state)
{
    (void)state;
    int release_count = 0;
    nl_buffer *buffer = nl_buffer_wrap("abc", 3, note_release, &release_count);
    nl_buffer_retain(buffer);
    nl_buffer_release(buffer);
    assert_int_equal(release_count, 0);
    assert_memory_equal(buffer->data, "abc", 3);
    nl_buffer_release(buffer);
    assert_int_equal(release_count, 1);
}

#ifdef NL_FAULTS
static void test_a_charge_can_be_refused_on_purpose(void **state)
{
    (void)state;
    nl_memory_fail_charge(2);
    assert_true(nl_memory_try_charge(NULL, 1));
    assert_false(nl_memory_try_charge(NULL, 1));
    assert_true(nl_memory_try_charge(NULL, 1));
    nl_memory_fail_charge(1);
    nl_memory_fail_charge(0);
    assert_true(nl_memory_try_charge(NULL, 1));
}
#else
static void test_a_charge_can_be_refused_on_purpose(void **state)
{
    (void)state;
}
#endif

static void *charge_and_discharge(void *argument)
{
    for (int i = 0; i < 20000; i++)
        if (nl_memory_try_charge(argument, 10)) nl_memory_discharge(argument, 10);
    return NULL;
}

static void test_many_threads_never_pass_the_limit(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 25);
    nl_memory *child = nl_memory_new(memory, "c", 30);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, charge_and_discharge, child), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_int_equal(nl_memory_used(memory), 0);
    assert_true(nl_memory_peak(memory) <= 25);
    nl_memory_release(child);
    nl_memory_release(memory);
}

/* ---- Memory that is had back ---- */

typedef struct hoard { /* of charges that can be given back */
    nl_reclaimer base;
    nl_memory *memory;
    atomic_size_t held;
    bool is_freed;
} hoard;

static size_t give_back(nl_reclaimer *self, size_t bytes)
{
    hoard *one = (hoard *)self;
    const size_t back = NL_MIN(bytes, atomic_load(&one->held));
    atomic_fetch_sub(&one->held, back);
    nl_memory_discharge(one->memory, back);
    nl_reclaimer_note(self, -(ptrdiff_t)back);
    return back;
}

static void free_hoard(nl_reclaimer *self)
{
    hoard *one = (hoard *)self;
    (void)give_back(self, SIZE_MAX);
    nl_memory_release(one->memory);
    one->is_freed = true;
}

static void test_a_root_has_bytes_back_before_it_refuses(void **state)
{
    (void)state;
    nl_memory *root = nl_memory_new(NULL, "root", 1000);
    nl_memory *query = nl_memory_new(root, "query", 800);
    hoard one = {.base = {.reclaim = give_back, .free = free_hoard}, .memory = nl_memory_new(root, "hoard", SIZE_MAX)};
    hoard other = {.base = {.reclaim = give_back, .free = free_hoard}};
    atomic_init(&one.base.references, 1);
    atomic_init(&other.base.references, 1);
    assert_null(nl_memory_reclaimer(query));
    assert_true(nl_memory_add_reclaimer(query, &one.base));
    assert_false(nl_memory_add_reclaimer(root, &other.base));
    assert_ptr_equal(nl_memory_root(query), root);
    nl_reclaimer *found = nl_memory_reclaimer(query);
    assert_ptr_equal(found, &one.base);
    nl_reclaimer_release(found);
    assert_true(nl_memory_try_charge(one.memory, 900));
    atomic_store(&one.held, 900);
    nl_reclaimer_note(&one.base, 900);
    assert_true(nl_memory_has_room(query, 600)); /* of 1000 a quarter stays, and the 900 would go */
    assert_false(nl_memory_has_room(query, 601)); /* but not of its own 800 */
    assert_true(nl_memory_try_charge(query, 300));
    assert_int_equal(atomic_load(&one.held), 600);
    assert_int_equal(nl_memory_used(root), 900);
    assert_false(nl_memory_try_charge(query, 501)); /* its own limit: nothing is given back for that */
    assert_false(nl_memory_try_charge(query, 1001));
    assert_int_equal(atomic_load(&one.held), 600);
    assert_true(nl_memory_try_charge(query, 500));
    assert_int_equal(nl_memory_used(root), 900);
    nl_reclaimer_release(&one.base);
    assert_true(one.is_freed);
    assert_null(nl_memory_reclaimer(query)); /* nobody is left */
    assert_true(nl_memory_add_reclaimer(query, &other.base));
    nl_reclaimer_release(&other.base);
    nl_memory_discharge(query, 800);
    nl_memory_release(query);
    nl_memory_release(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_charge_counts_at_every_level_or_at_none),
        cmocka_unit_test(test_a_small_budget_keeps_twelve_mebibytes_for_what_is_in_flight),
        cmocka_unit_test(test_a_budget_keeps_its_parent),
        cmocka_unit_test(test_no_budget_agrees_to_everything),
        cmocka_unit_test(test_reservations_grow_shrink_and_clear),
        cmocka_unit_test(test_buffers_are_aligned_padded_and_paid_for),
        cmocka_unit_test(test_a_buffer_over_budget_is_an_error_that_names_the_bytes),
        cmocka_unit_test(test_a_wrapped_buffer_calls_its_owner_once),
        cmocka_unit_test(test_a_charge_can_be_refused_on_purpose),
        cmocka_unit_test(test_a_charge_can_be_refused_on_purpose),
        cmocka_unit_test(test_many_threads_never_pass_the_limit),
        cmocka_unit_test(test_a_root_has_bytes_back_before_it_refuses),
    };
    return cmocka_run_group_tests_name("base/memory", tests, NULL, NULL);
}
