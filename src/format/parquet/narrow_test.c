/* format/parquet/narrow_test.c - what is packed comes back, from any place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/test_support.h"
#include "format/parquet/narrow.h"

static void check_round_trip(const void *values, uint32_t count, uint32_t value_bytes, uint32_t expected_width)
{
    nl_narrow narrow;
    assert_true(nl_narrow_plan(values, count, value_bytes, &narrow));
    assert_int_equal(narrow.width, expected_width);
    const size_t bytes = nl_narrow_bytes(&narrow);
    uint8_t *packed = calloc(1, bytes + 16);
    uint8_t *out = calloc(count, value_bytes);
    nl_narrow_pack(&narrow, values, value_bytes, packed);
    for (uint32_t start = 0; start < count; start += start < 20 ? 1 : 611) {
        const uint32_t length = NL_MIN(count - start, 1500u);
        nl_narrow_read(&narrow, packed, start, length, value_bytes, out);
        assert_memory_equal(out, (const uint8_t *)values + (size_t)start * value_bytes, (size_t)length * value_bytes);
    }
    free(out);
    free(packed);
}

static void test_integers_come_back_whatever_their_width(void **state)
{
    (void)state;
    enum { COUNT = 4001 };
    int64_t wide[COUNT];
    int32_t short_ones[COUNT];
    const int64_t leasts[] = {0, -1, 17, INT64_MIN, INT64_MAX - UINT32_MAX, -(1ll << 31)};
    for (size_t k = 0; k < NL_COUNT(leasts); k++) {
        for (uint32_t width = 0; width <= 32; width++) {
            const uint64_t top = width == 0 ? 0 : (1ull << width) - 1;
            for (uint32_t i = 0; i < COUNT; i++) {
                const uint64_t offset = i == 7 ? top : (i * 2654435761ull) & top;
                wide[i] = (int64_t)((uint64_t)leasts[k] + (i == 0 ? 0 : offset));
                short_ones[i] = (int32_t)(uint32_t)(INT32_MIN + (int64_t)(i == 0 ? 0 : offset));
            }
            check_round_trip(wide, COUNT, 8, width);
            if (width <= 24) check_round_trip(short_ones, COUNT, 4, width);
        }
    }
}

static void test_what_would_stay_as_large_is_left_alone(void **state)
{
    (void)state;
    const int64_t far_apart[] = {INT64_MIN, INT64_MAX};
    const int64_t a_bit_too_far[] = {-1, UINT32_MAX};
    const int32_t short_ones[] = {0, 1 << 24};
    nl_narrow narrow;
    assert_false(nl_narrow_plan((const uint8_t *)far_apart, 2, 8, &narrow));
    assert_false(nl_narrow_plan((const uint8_t *)a_bit_too_far, 2, 8, &narrow));
    assert_false(nl_narrow_plan((const uint8_t *)short_ones, 2, 4, &narrow));
    assert_false(nl_narrow_plan((const uint8_t *)far_apart, 0, 8, &narrow));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_come_back_whatever_their_width),
        cmocka_unit_test(test_what_would_stay_as_large_is_left_alone),
    };
    return cmocka_run_group_tests_name("format/parquet/narrow", tests, NULL, NULL);
}
