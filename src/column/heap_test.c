#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/limits.h"
#include "column/test_vectors.h"

static void test_strings_stay_readable_as_the_heap_grows(void **state)
{
    (void)state;
    nl_heap *heap;
    must(nl_heap_new(NULL, &heap));
    enum { COUNT = 20000 };
    nl_string_view *views = calloc(COUNT, sizeof *views);
    char text[64];
    for (int i = 0; i < COUNT; i++) {
        int length = snprintf(text, sizeof text, "%d%s", i, i % 2 ? " is a text beyond twelve bytes" : "");
        must(nl_heap_add(heap, (nl_str){text, (size_t)length}, &views[i]));
    }
    for (int i = 0; i < COUNT; i++) {
        int length = snprintf(text, sizeof text, "%d%s", i, i % 2 ? " is a text beyond twelve bytes" : "");
        assert_true(nl_str_equal(nl_view_str(&views[i]), (nl_str){text, (size_t)length}));
    }
    assert_true(nl_heap_bytes(heap) > COUNT * 15);
    nl_heap_release(heap);
    free(views);
}

static void test_a_large_value_does_not_waste_the_open_chunk(void **state)
{
    (void)state;
    nl_heap *heap;
    must(nl_heap_new(NULL, &heap));
    char *small, *large, *next;
    must(nl_heap_alloc(heap, 100, &small));
    must(nl_heap_alloc(heap, 1 << 20, &large));
    must(nl_heap_alloc(heap, 100, &next));
    assert_ptr_equal(next, small + 100);
    memset(large, 1, 1 << 20);
    nl_heap_release(heap);
}

static void test_kept_owners_live_as_long_and_are_kept_once(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "test", 1 << 20);
    nl_heap *heap;
    must(nl_heap_new(NULL, &heap));
    nl_string_view views[100];
    for (int i = 0; i < 100; i++) {
        nl_heap *other;
        must(nl_heap_new(memory, &other));
        must(nl_heap_add(other, NL_STR("kept alive by another heap"), &views[i]));
        for (int again = 0; again < 3; again++)
            must(nl_heap_keep(heap, other));
        nl_heap_release(other);
    }
    size_t used = nl_memory_used(memory);
    assert_true(used > 0);
    for (int i = 0; i < 100; i++)
        assert_true(nl_str_is(nl_view_str(&views[i]), "kept alive by another heap"));
    nl_buffer *buffer;
    must(nl_buffer_new(memory, 1000, false, &buffer));
    must(nl_heap_keep_buffer(heap, buffer));
    must(nl_heap_keep_buffer(heap, buffer));
    must(nl_heap_keep(heap, NULL));
    must(nl_heap_keep(heap, heap));
    nl_buffer_release(buffer);
    assert_true(nl_memory_used(memory) > used);
    nl_heap_release(heap);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strings_stay_readable_as_the_heap_grows),
        cmocka_unit_test(test_a_large_value_does_not_waste_the_open_chunk),
        cmocka_unit_test(test_kept_owners_live_as_long_and_are_kept_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
