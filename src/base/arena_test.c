/* base/arena_test.c - arenas: alignment, growth, refusal, hooks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"

static void test_allocations_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 4095, 4096, 4097, 300000};
    nl_arena *arena = nl_arena_new(NULL);
    for (int round = 0; round < 50; round++)
        for (size_t i = 0; i < NL_COUNT(sizes); i++) {
            uint8_t *bytes = nl_arena_alloc(arena, sizes[i]);
            assert_int_equal((uintptr_t)bytes % 16, 0);
            for (size_t j = 0; j < sizes[i]; j++) assert_int_equal(bytes[j], 0);
            if (sizes[i] > 0) memset(bytes, 0xFF, sizes[i]);
        }
    assert_true(nl_arena_used(arena) > 50 * 300000);
    assert_null(nl_arena_check(arena));
    nl_arena_free(arena);
    nl_arena_free(NULL);
}

static void test_everything_is_charged_and_given_back(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 1 << 20);
    nl_arena *arena = nl_arena_new(memory);
    assert_true(nl_memory_used(memory) > 0);
    nl_arena_alloc(arena, 100000);
    assert_true(nl_memory_used(memory) > 100000);
    nl_arena_free(arena);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_refusal_shows_at_the_checkpoint_only(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 20000);
    nl_arena *arena = nl_arena_new(memory);
    assert_null(nl_arena_check(arena));
    for (int i = 0; i < 2000; i++) { /* far beyond budget and reserve: still never NULL */
        char *bytes = nl_arena_alloc(arena, 100);
        assert_non_null(bytes);
        memset(bytes, 1, 100);
    }
    assert_true(nl_memory_used(memory) <= 20000);
    nl_status status = nl_arena_check(arena);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    nl_error_free(status);
    nl_arena_free(arena);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_an_arena_born_over_budget_says_so(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 10);
    nl_arena *arena = nl_arena_new(memory);
    assert_non_null(nl_arena_alloc(arena, 16));
    nl_status status = nl_arena_check(arena);
    assert_non_null(status);
    nl_error_free(status);
    nl_arena_free(arena);
    nl_memory_release(memory);
}

static void test_sizes_from_outside_fail_cleanly(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "m", 1 << 20);
    nl_arena *arena = nl_arena_new(memory);
    void *out = NULL;
    assert_null(nl_arena_alloc_sized(arena, 1000, &out));
    assert_non_null(out);
    static const size_t bad[] = {SIZE_MAX, SIZE_MAX - 15, SIZE_MAX / 2, 2 << 20};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        out = NULL;
        nl_status status = nl_arena_alloc_sized(arena, bad[i], &out);
        assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
        assert_null(out);
        nl_error_free(status);
    }
    assert_null(nl_arena_check(arena)); /* a clean refusal leaves no mark */
    nl_arena_free(arena);
    nl_memory_release(memory);
}

static void test_strings_are_copied_with_a_zero_behind(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    char text[] = "abc";
    nl_str copy = nl_arena_str(arena, (nl_str){text, 2});
    text[0] = 'x';
    assert_string_equal(copy.data, "ab");
    assert_int_equal(copy.length, 2);
    assert_string_equal(nl_str_c(arena, (nl_str){NULL, 0}), "");
    nl_str made = nl_arena_f(arena, "%s-%05d", "n", 42);
    assert_string_equal(made.data, "n-00042");
    assert_int_equal(made.length, 7);
    nl_arena_free(arena);
}

static void note_order(void *object)
{
    int *order = object;
    order[0] = order[0] * 10 + order[1];
}

typedef struct noted {
    int *order;
    int number;
} noted;

static void note(void *object)
{
    const noted *one = object;
    *one->order = *one->order * 10 + one->number;
}

static void test_hooks_run_newest_first(void **state)
{
    (void)state;
    int order = 0;
    noted all[] = {{&order, 1}, {&order, 2}, {&order, 3}};
    nl_arena *arena = nl_arena_new(NULL);
    for (int i = 0; i < 3; i++) nl_arena_on_free(arena, note, &all[i]);
    nl_arena_free(arena);
    assert_int_equal(order, 321);
    int twice[] = {0, 7};
    arena = nl_arena_new(NULL);
    nl_arena_on_free(arena, note_order, twice);
    nl_arena_free(arena);
    assert_int_equal(twice[0], 7);
}

static void test_lists_grow_in_order(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 4, 5, 63, 64, 65, 1000};
    for (size_t i = 0; i < NL_COUNT(counts); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_list list = {0};
        for (uintptr_t j = 0; j < counts[i]; j++) nl_list_add(arena, &list, (void *)(j + 1));
        assert_int_equal(list.count, counts[i]);
        for (uintptr_t j = 0; j < counts[i]; j++) assert_int_equal((uintptr_t)list.items[j], j + 1);
        nl_arena_free(arena);
    }
}

static void test_sizes_saturate(void **state)
{
    (void)state;
    assert_int_equal(nl_size_mul(3, 4), 12);
    assert_int_equal(nl_size_mul(SIZE_MAX / 2, 3), SIZE_MAX);
    assert_int_equal(nl_size_add(SIZE_MAX, 1), SIZE_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations_are_zeroed_aligned_and_apart),
        cmocka_unit_test(test_everything_is_charged_and_given_back),
        cmocka_unit_test(test_refusal_shows_at_the_checkpoint_only),
        cmocka_unit_test(test_an_arena_born_over_budget_says_so),
        cmocka_unit_test(test_sizes_from_outside_fail_cleanly),
        cmocka_unit_test(test_strings_are_copied_with_a_zero_behind),
        cmocka_unit_test(test_hooks_run_newest_first),
        cmocka_unit_test(test_lists_grow_in_order),
        cmocka_unit_test(test_sizes_saturate),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
