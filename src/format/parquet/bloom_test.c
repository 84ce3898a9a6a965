#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "format/parquet/bloom.h"

static uint64_t hash_of(uint64_t value)
{
    return nl_bloom_hash((nl_bytes){(const uint8_t *)&value, sizeof(value)});
}

static uint32_t false_positives(const uint8_t *bits, size_t length, uint64_t from, uint32_t count)
{
    uint32_t hits = 0;
    for (uint32_t i = 0; i < count; i++) hits += nl_bloom_may_contain(bits, length, hash_of(from + i));
    return hits;
}

static void test_what_was_inserted_is_found_and_little_else(void **state)
{
    (void)state;
    const size_t length = nl_bloom_size(1000, 0.01, 1 << 20);
    uint8_t *bits = calloc(1, length);
    for (uint64_t i = 0; i < 1000; i++) nl_bloom_insert(bits, length, hash_of(i));
    assert_int_equal(false_positives(bits, length, 0, 1000), 1000);
    assert_true(false_positives(bits, length, 1000000, 10000) < 200);
    free(bits);
}

static void test_folding_keeps_every_value_and_the_probability(void **state)
{
    (void)state;
    const size_t length = 1 << 20;
    uint8_t *bits = calloc(1, length);
    for (uint64_t i = 0; i < 1000; i++) nl_bloom_insert(bits, length, hash_of(i));
    const size_t folded = nl_bloom_fold(bits, length, 0.01);
    assert_true(folded < length / 100);
    assert_int_equal(false_positives(bits, folded, 0, 1000), 1000);
    assert_true(false_positives(bits, folded, 1000000, 10000) < 200);
    free(bits);
}

static void test_sizes_are_powers_of_two_within_the_limit(void **state)
{
    (void)state;
    assert_int_equal(nl_bloom_size(1, 0.01, 1 << 20), 32);
    assert_int_equal(nl_bloom_size(UINT64_MAX, 0.01, 1 << 20), 1 << 20);
    assert_int_equal(nl_bloom_size(100000, 0.01, 1 << 20), 1 << 17);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_inserted_is_found_and_little_else),
        cmocka_unit_test(test_folding_keeps_every_value_and_the_probability),
        cmocka_unit_test(test_sizes_are_powers_of_two_within_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
