/* iceberg/theta_sketch_test.c - bytes as DataSketches writes them; the expected ones are from files of real Spark. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/test_support.h"
#include "iceberg/theta_sketch.h"

static void add_text(nl_theta_sketch *sketch, const char *text)
{
    nl_theta_sketch_add(sketch, (nl_bytes){(const uint8_t *)text, strlen(text)});
}

static nl_str encoded(nl_theta_sketch *sketch, nl_arena *arena)
{
    const nl_bytes bytes = nl_theta_sketch_encode(sketch, arena);
    nl_str text = {0};
    for (size_t i = 0; i < bytes.length; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%02x", NL_STR_ARG(text), bytes.data[i]);
    return text;
}

static void test_small_sketches_have_the_bytes_of_datasketches(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_theta_sketch *sketch = NULL;
    assert_null(nl_theta_sketch_new(&sketch));
    assert_text(encoded(sketch, arena), "01030300001e0000");
    add_text(sketch, "");
    assert_int_equal(nl_theta_sketch_estimate(sketch), 0);
    add_text(sketch, "x");
    add_text(sketch, "x");
    assert_text(encoded(sketch, arena), "01030300003acc93397149d9823ef668");
    assert_int_equal(nl_theta_sketch_estimate(sketch), 1);
    nl_theta_sketch_free(sketch);
    assert_null(nl_theta_sketch_new(&sketch));
    nl_theta_sketch_add(sketch, (nl_bytes){(const uint8_t[]){0}, 1}); /* false and true */
    nl_theta_sketch_add(sketch, (nl_bytes){(const uint8_t[]){1}, 1});
    assert_memory_equal(encoded(sketch, arena).data, "02030300001acc93020000000000803f649f00331e40e8035443e83313d70104", 64);
    nl_theta_sketch_free(sketch);
    nl_arena_free(arena);
}

static void test_large_counts_are_estimated_within_some_percent(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_theta_sketch *sketch = NULL;
    assert_null(nl_theta_sketch_new(&sketch));
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 4096; i++) nl_theta_sketch_add(sketch, (nl_bytes){(const uint8_t *)&i, sizeof(i)});
    assert_int_equal(nl_theta_sketch_estimate(sketch), 4096);
    for (uint32_t i = 0; i < 200000; i++) nl_theta_sketch_add(sketch, (nl_bytes){(const uint8_t *)&i, sizeof(i)});
    assert_in_range(nl_theta_sketch_estimate(sketch), 190000, 210000);
    assert_int_equal(nl_theta_sketch_encode(sketch, arena).length, NL_THETA_BYTES_MAX);
    nl_theta_sketch_free(sketch);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_sketches_have_the_bytes_of_datasketches),
        cmocka_unit_test(test_large_counts_are_estimated_within_some_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
