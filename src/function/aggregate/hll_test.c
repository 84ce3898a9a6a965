/* HLL sketches: small ones count exactly, large ones within their error, and bytes come back as they went. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "function/aggregate/hll.h"

static nl_memory *memory;

static void fill(nl_hll *sketch, uint8_t lg_k, int64_t from, int64_t to)
{
    *sketch = (nl_hll){0};
    assert_null(nl_hll_begin(sketch, lg_k, memory));
    for (int64_t i = from; i < to; i++) assert_null(nl_hll_add_long(sketch, memory, i));
}

static void test_few_values_are_counted_exactly(void **state)
{
    static const int64_t counts[] = {0, 1, 2, 7, 8, 9, 50, 150};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(counts); i++) {
        nl_hll sketch;
        fill(&sketch, 12, 0, counts[i]);
        for (int64_t again = 0; again < counts[i]; again++) assert_null(nl_hll_add_long(&sketch, memory, again));
        assert_int_equal(llround(nl_hll_estimate(&sketch)), counts[i]);
        nl_hll_free(&sketch, memory);
    }
}

static void test_many_values_are_estimated_within_the_error(void **state)
{
    static const uint8_t sizes[] = {4, 10, 12, 15};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        nl_hll sketch;
        fill(&sketch, sizes[i], 0, 100000);
        const double error = fabs(nl_hll_estimate(&sketch) / 100000 - 1);
        assert_true(error < 4 * 0.85 / sqrt((double)(1u << sizes[i])));
        nl_hll_free(&sketch, memory);
    }
}

static void test_a_merge_counts_the_union(void **state)
{
    static const int64_t sizes[][2] = {{5, 5}, {100, 5}, {5, 20000}, {20000, 20000}};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(sizes); i++) {
        nl_hll left, right;
        fill(&left, 12, 0, sizes[i][0]);
        fill(&right, 12, sizes[i][0] / 2, sizes[i][0] / 2 + sizes[i][1]);
        const double whole = (double)NL_MAX(sizes[i][0], sizes[i][0] / 2 + sizes[i][1]);
        assert_null(nl_hll_merge(&left, memory, &right));
        assert_true(fabs(nl_hll_estimate(&left) / whole - 1) < 0.07);
        nl_hll_free(&left, memory);
        nl_hll_free(&right, memory);
    }
}

static void test_bytes_come_back(void **state)
{
    static const int64_t counts[] = {0, 3, 100, 5000};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(counts); i++) {
        nl_hll sketch, again = {0};
        nl_agg_bytes bytes = {0};
        bool is_sketch = false;
        fill(&sketch, 12, 0, counts[i]);
        assert_null(nl_hll_write(&sketch, memory, &bytes));
        assert_null(nl_hll_read(&again, memory, (nl_str){(const char *)bytes.data, bytes.length}, &is_sketch));
        assert_true(is_sketch);
        assert_true(fabs(nl_hll_estimate(&again) - nl_hll_estimate(&sketch)) < 0.5);
        for (size_t cut = 0; cut < bytes.length && cut < 64; cut++) { /* what was cut off is noticed, or none of it is needed */
            nl_hll part = {0};
            nl_error_free(nl_hll_read(&part, memory, (nl_str){(const char *)bytes.data, cut}, &is_sketch));
            nl_hll_free(&part, memory);
        }
        nl_hll_free(&sketch, memory);
        nl_hll_free(&again, memory);
        nl_agg_bytes_free(&bytes, memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few_values_are_counted_exactly),
        cmocka_unit_test(test_many_values_are_estimated_within_the_error),
        cmocka_unit_test(test_a_merge_counts_the_union),
        cmocka_unit_test(test_bytes_come_back),
    };
    memory = nl_memory_new(NULL, "test", SIZE_MAX / 2);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    nl_memory_release(memory);
    return failed;
}
