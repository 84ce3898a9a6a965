#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "format/parquet/bitpack.h"
#include "format/parquet/rle.h"

static uint32_t random_state = 11;
static uint32_t random_word(void)
{
    random_state = random_state * 1664525u + 1013904223u;
    return random_state ^ (random_state >> 16);
}

/* Values in runs of up to run_max. */
static void fill(uint32_t *values, uint32_t count, uint32_t width, uint32_t run_max)
{
    const uint32_t mask = width == 32 ? UINT32_MAX : (1u << width) - 1;
    for (uint32_t i = 0; i < count;) {
        const uint32_t value = random_word() & mask;
        const uint32_t run = 1 + random_word() % run_max;
        for (uint32_t k = 0; k < run && i < count; k++) values[i++] = value;
    }
}

#define COUNT_MAX 3000u

static void check(uint32_t width, uint32_t count, uint32_t run_max)
{
    static uint32_t values[COUNT_MAX];
    static uint32_t got[COUNT_MAX];
    fill(values, count, width, run_max);
    const size_t bound = nl_rle_bound(width, count);
    uint8_t *bytes = calloc(1, bound + 16);
    const size_t length = nl_rle_encode(values, count, width, bytes);
    assert_true(length <= bound);
    nl_rle rle;
    nl_rle_init(&rle, (nl_bytes){bytes, length}, width);
    assert_true(nl_rle_read32(&rle, got, count));
    assert_memory_equal(got, values, count * sizeof(uint32_t));
    assert_false(nl_rle_read32(&rle, got, 9)); /* a last group may be filled up to eight */

    nl_rle_init(&rle, (nl_bytes){bytes, length}, width); /* in parts, skipping every other */
    for (uint32_t at = 0; at < count;) {
        const uint32_t pick = 1 + random_word() % 70;
        const uint32_t part = NL_MIN(pick, count - at);
        if (random_word() & 1) {
            assert_true(nl_rle_read32(&rle, got, part));
            assert_memory_equal(got, values + at, part * sizeof(uint32_t));
        } else {
            assert_true(nl_rle_skip(&rle, part));
        }
        at += part;
    }
    free(bytes);
}

static void test_every_width_gives_back_what_it_took(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 7, 8, 9, 31, 32, 33, 63, 64, 65, 1000, COUNT_MAX};
    for (uint32_t width = 0; width <= 32; width++) {
        for (size_t i = 0; i < NL_COUNT(counts); i++) {
            check(width, counts[i], 1);
            check(width, counts[i], 12);
            check(width, counts[i], 500);
        }
    }
}

static void test_levels_and_bits_agree_with_words(void **state)
{
    (void)state;
    static uint32_t values[COUNT_MAX];
    static uint8_t levels[COUNT_MAX];
    static uint8_t bits[COUNT_MAX / 8 + 16];
    for (uint32_t round = 0; round < 50; round++) {
        fill(values, COUNT_MAX, 1, 1 + round * 3);
        uint8_t *bytes = calloc(1, nl_rle_bound(1, COUNT_MAX) + 16);
        const nl_bytes encoded = {bytes, nl_rle_encode(values, COUNT_MAX, 1, bytes)};
        nl_rle rle;
        nl_rle_init(&rle, encoded, 1);
        assert_true(nl_rle_read8(&rle, levels, COUNT_MAX));
        uint32_t ones = 0;
        for (uint32_t i = 0; i < COUNT_MAX; i++) {
            assert_int_equal(levels[i], values[i]);
            ones += values[i];
        }
        uint32_t counted = 0;
        uint32_t sum = 0;
        memset(bits, 0, sizeof(bits));
        nl_rle_init(&rle, encoded, 1);
        for (uint32_t at = 0; at < COUNT_MAX; at += 100, sum += counted) assert_true(nl_rle_read_bits(&rle, bits, at, 100, &counted));
        assert_int_equal(sum, ones);
        for (uint32_t i = 0; i < COUNT_MAX; i++) assert_int_equal((bits[i >> 3] >> (i & 7)) & 1, values[i]);
        uint64_t equal = 0;
        nl_rle_init(&rle, encoded, 1);
        assert_true(nl_rle_skip_count(&rle, COUNT_MAX, 1, &equal));
        assert_int_equal(equal, ones);
        free(bytes);
    }
}

static void test_the_example_of_the_format_is_read(void **state)
{
    (void)state;
    /* Encodings.md: 0 to 7 with width 3 are 10001000 11000110 11111010. */
    const uint8_t bytes[32] = {0x03, 0x88, 0xc6, 0xfa};
    uint32_t got[8];
    nl_rle rle;
    nl_rle_init(&rle, (nl_bytes){bytes, 4}, 3);
    assert_true(nl_rle_read32(&rle, got, 8));
    for (uint32_t i = 0; i < 8; i++) assert_int_equal(got[i], i);
}

static void test_runs_that_end_early_or_hold_too_much_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[24];
        size_t length;
        uint32_t width;
        uint32_t count;
        const char *why;
    } rows[] = {
        {{0}, 0, 1, 1, "no run at all"},
        {{0x10}, 1, 8, 8, "a run without its value"},
        {{0x10, 0xff}, 2, 3, 8, "a run of a value wider than its width"},
        {{0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 6, 1, 1, "a head of more than 32 bits"},
        {{0x05, 0xff}, 2, 8, 16, "packed groups cut short"},
        {{0x80}, 1, 1, 1, "a head cut short"},
    };
    uint32_t got[16];
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_rle rle;
        nl_rle_init(&rle, (nl_bytes){rows[i].bytes, rows[i].length}, rows[i].width);
        if (nl_rle_read32(&rle, got, rows[i].count)) fail_msg("%s", rows[i].why);
    }
}

static void test_wide_unpacking_agrees_with_bit_by_bit(void **state)
{
    (void)state;
    uint8_t bytes[32 * 8 + 16];
    uint64_t got[32];
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)random_word();
    for (uint32_t width = 0; width <= 64; width++) {
        nl_bitpack_unpack64(bytes, width, 32, got);
        for (uint32_t i = 0; i < 32; i++) {
            uint64_t expected = 0;
            for (uint32_t b = 0; b < width; b++) {
                const uint32_t bit = i * width + b;
                expected |= (uint64_t)((bytes[bit >> 3] >> (bit & 7)) & 1) << b;
            }
            assert_true(got[i] == expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width_gives_back_what_it_took),
        cmocka_unit_test(test_levels_and_bits_agree_with_words),
        cmocka_unit_test(test_the_example_of_the_format_is_read),
        cmocka_unit_test(test_runs_that_end_early_or_hold_too_much_are_refused),
        cmocka_unit_test(test_wide_unpacking_agrees_with_bit_by_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
