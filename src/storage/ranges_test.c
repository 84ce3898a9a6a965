/* storage/ranges_test.c - which ranges become one request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "storage/filesystem_ops.h"
#include "storage/ranges.h"

static uint32_t group(const nl_range *ranges, uint32_t count, nl_range_group *groups)
{
    uint32_t order[16];
    return nl_ranges_group(ranges, count, order, groups);
}

static void test_gaps_below_the_limit_are_read_over(void **state)
{
    (void)state;
    nl_range_group groups[4];
    const nl_range near[] = {{NL_COALESCE_GAP_BYTES + 9, 5}, {0, 10}}; /* in any order; the gap is one byte too small */
    assert_int_equal(group(near, 2, groups), 1);
    assert_int_equal(groups[0].offset, 0);
    assert_int_equal(groups[0].length, NL_COALESCE_GAP_BYTES + 14);
    const nl_range far[] = {{0, 10}, {NL_COALESCE_GAP_BYTES + 10, 5}};
    assert_int_equal(group(far, 2, groups), 2);
    assert_int_equal(groups[1].offset, NL_COALESCE_GAP_BYTES + 10);
    assert_int_equal(groups[1].count, 1);
}

static void test_requests_stay_below_the_size_limit(void **state)
{
    (void)state;
    nl_range_group groups[4];
    const uint64_t half = NL_COALESCE_BYTES_MAX / 2;
    const nl_range ranges[] = {{0, half}, {half, half}, {2 * half, 1}};
    assert_int_equal(group(ranges, 3, groups), 2);
    assert_int_equal(groups[0].length, NL_COALESCE_BYTES_MAX);
    const nl_range large[] = {{0, 3ull * NL_COALESCE_BYTES_MAX}, {5, 10}}; /* one that is larger stays whole */
    assert_int_equal(group(large, 2, groups), 1);
    assert_int_equal(groups[0].length, 3ull * NL_COALESCE_BYTES_MAX);
}

static void test_overlapping_equal_and_empty_ranges(void **state)
{
    (void)state;
    nl_range_group groups[8];
    const nl_range ranges[] = {{10, 10}, {15, 10}, {10, 10}, {12, 0}, {0, 0}};
    assert_int_equal(group(ranges, 5, groups), 1);
    assert_int_equal(groups[0].offset, 0);
    assert_int_equal(groups[0].length, 25);
    assert_int_equal(groups[0].count, 5);
    assert_int_equal(group(ranges, 0, groups), 0);
}

/* A file that counts requests and fails on demand. */
typedef struct counted_file {
    nl_file base;
    uint32_t request_count;
    uint32_t fail_at;
} counted_file;

static nl_status counted_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    counted_file *file = NL_CONTAINER(self, counted_file, base);
    if (++file->request_count == file->fail_at) return NL_RAISE(OPERATION_CANCELED);
    for (size_t i = 0; i < length; i++) into[i] = (uint8_t)(offset + i);
    return NULL;
}

static void test_slices_of_one_request_share_its_bytes(void **state)
{
    (void)state;
    static const nl_file_ops ops = {.read = counted_read};
    counted_file file = {.base = {.ops = &ops, .path = NL_STR("x"), .size_bytes = 1 << 20}};
    const nl_range ranges[] = {{500000, 10}, {100, 50}, {300, 20}, {0, 10}};
    nl_memory *memory = nl_memory_new(NULL, "m", 1 << 20);
    nl_buffer *buffers[4];
    assert_null(nl_file_read_ranges(&file.base, ranges, 4, memory, buffers));
    assert_int_equal(file.request_count, 2);
    assert_ptr_equal(buffers[1]->data + 200, buffers[2]->data);
    for (int i = 3; i > 0; i--) nl_buffer_release(buffers[i]);
    assert_int_equal(buffers[0]->data[9], (uint8_t)(500009));
    assert_true(nl_memory_used(memory) < 1000); /* the shared request is gone with its last slice */
    nl_buffer_release(buffers[0]);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_a_failing_request_leaves_nothing(void **state)
{
    (void)state;
    static const nl_file_ops ops = {.read = counted_read};
    const nl_range ranges[] = {{0, 10}, {20, 10}, {200000, 10}};
    nl_memory *memory = nl_memory_new(NULL, "m", 1 << 20);
    for (uint32_t fail_at = 1; fail_at <= 2; fail_at++) {
        counted_file file = {.base = {.ops = &ops, .path = NL_STR("x"), .size_bytes = 1 << 20}, .fail_at = fail_at};
        nl_buffer *buffers[3];
        nl_status status = nl_file_read_ranges(&file.base, ranges, 3, memory, buffers);
        assert_non_null(status);
        nl_error_free(status);
        assert_int_equal(nl_memory_used(memory), 0);
        for (int i = 0; i < 3; i++) assert_null(buffers[i]);
    }
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gaps_below_the_limit_are_read_over),
        cmocka_unit_test(test_requests_stay_below_the_size_limit),
        cmocka_unit_test(test_overlapping_equal_and_empty_ranges),
        cmocka_unit_test(test_slices_of_one_request_share_its_bytes),
        cmocka_unit_test(test_a_failing_request_leaves_nothing),
    };
    return cmocka_run_group_tests_name("storage/ranges", tests, NULL, NULL);
}
