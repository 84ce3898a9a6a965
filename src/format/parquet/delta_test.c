#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/delta.h"

/* Encodings.md, Example 1: 1, 2, 3, 4, 5 in a block of 128 values and 4 miniblocks; all deltas are 1. */
static const uint8_t one_to_five[32] = {0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00};
/* Example 2: 7, 5, 3, 1, 2, 3, 4, 5: minimum delta -2, width 2, 0x..: 0 0 0 3 3 3 3 packed into the first miniblock. */
static const uint8_t up_and_down[32] = {0x80, 0x01, 0x04, 0x08, 0x0e, 0x03, 0x02, 0x00, 0x00, 0x00, 0xc0, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};

static void test_the_examples_of_the_format_are_read(void **state)
{
    (void)state;
    static const uint64_t expected[] = {7, 5, 3, 1, 2, 3, 4, 5};
    uint64_t got[8];
    uint64_t count = 0;
    nl_delta delta;
    assert_true(nl_delta_init(&delta, (nl_bytes){one_to_five, 10}, &count));
    assert_int_equal(count, 5);
    assert_true(nl_delta_read(&delta, got, 5));
    for (uint64_t i = 0; i < 5; i++) assert_int_equal(got[i], i + 1);
    assert_false(nl_delta_read(&delta, got, 1));
    assert_true(nl_delta_init(&delta, (nl_bytes){up_and_down, 18}, &count));
    assert_true(nl_delta_read(&delta, got, 3));
    assert_true(nl_delta_read(&delta, got + 3, 5));
    assert_memory_equal(got, expected, sizeof(expected));
}

static void test_skipping_and_the_end_agree_with_reading(void **state)
{
    (void)state;
    uint64_t got[2];
    const uint8_t *end = NULL;
    nl_delta delta;
    assert_true(nl_delta_init(&delta, (nl_bytes){up_and_down, 18}, NULL));
    assert_true(nl_delta_skip(&delta, 5));
    assert_true(nl_delta_read(&delta, got, 2));
    assert_true(got[0] == 3 && got[1] == 4);
    assert_true(nl_delta_init(&delta, (nl_bytes){up_and_down, 18}, NULL));
    assert_true(nl_delta_find_end(&delta, &end));
    assert_ptr_equal(end, up_and_down + 18);
}

static void test_heads_that_cannot_be_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[24];
        size_t length;
        const char *why;
    } rows[] = {
        {{0}, 0, "nothing"},
        {{0x00, 0x04, 0x05, 0x02}, 4, "blocks of no values"},
        {{0x80, 0x01, 0x00, 0x05, 0x02}, 5, "no miniblocks"},
        {{0x80, 0x01, 0x03, 0x05, 0x02}, 5, "miniblocks that do not divide the block"},
        {{0x80, 0x01, 0x08, 0x05, 0x02}, 5, "miniblocks of 16 values"},
        {{0x80, 0x80, 0x80, 0x80, 0x10, 0x04, 0x05, 0x02}, 8, "blocks of 2^32 values"},
        {{0x80, 0x01, 0x04, 0x05}, 4, "no first value"},
    };
    nl_delta delta;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        if (nl_delta_init(&delta, (nl_bytes){rows[i].bytes, rows[i].length}, NULL)) fail_msg("%s", rows[i].why);
    }
}

static void test_blocks_that_end_early_are_refused(void **state)
{
    (void)state;
    uint64_t got[8];
    nl_delta delta;
    for (size_t length = 5; length < 12; length++) {
        assert_true(nl_delta_init(&delta, (nl_bytes){up_and_down, length}, NULL));
        assert_false(nl_delta_read(&delta, got, 8));
    }
    uint8_t wide[32];
    memcpy(wide, up_and_down, sizeof(wide));
    wide[6] = 65; /* bits */
    assert_true(nl_delta_init(&delta, (nl_bytes){wide, 18}, NULL));
    assert_false(nl_delta_read(&delta, got, 8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_examples_of_the_format_are_read),
        cmocka_unit_test(test_skipping_and_the_end_agree_with_reading),
        cmocka_unit_test(test_heads_that_cannot_be_are_refused),
        cmocka_unit_test(test_blocks_that_end_early_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
