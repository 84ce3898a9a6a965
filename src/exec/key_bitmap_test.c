/* exec/key_bitmap_test.c - exact sets of integer keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/key_bitmap.h"

static void test_only_what_was_added_is_there(void **state)
{
    (void)state;
    uint64_t words[3] = {0};
    nl_key_bitmap bitmap = {.words = words, .lower = -70, .span = 140};
    nl_key_bitmap_add(&bitmap, -70);
    nl_key_bitmap_add(&bitmap, 0);
    nl_key_bitmap_add(&bitmap, 69);
    for (int64_t value = -200; value <= 200; value++)
        assert_int_equal(nl_key_bitmap_has(&bitmap, value), value == -70 || value == 0 || value == 69);
}

static void test_values_far_outside_are_not_there(void **state)
{
    (void)state;
    uint64_t words[1] = {UINT64_MAX};
    nl_key_bitmap bitmap = {.words = words, .lower = INT64_MAX - 63, .span = 64};
    assert_true(nl_key_bitmap_has(&bitmap, INT64_MAX));
    assert_false(nl_key_bitmap_has(&bitmap, INT64_MIN));
    assert_false(nl_key_bitmap_has(&bitmap, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_was_added_is_there),
        cmocka_unit_test(test_values_far_outside_are_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
