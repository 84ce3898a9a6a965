#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/bits.h"

#define BITS 300u

static bool bit(const uint8_t *bits, uint32_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}

static void fill_pattern(uint8_t *bytes, uint32_t seed)
{
    for (uint32_t i = 0; i < BITS / 8 + 16; i++)
        bytes[i] = (uint8_t)((seed = seed * 1103515245u + 12345u) >> 16);
}

static void test_copy_moves_any_run_and_nothing_else(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 7, 8, 9, 63, 64, 65, 130, 200};
    uint8_t source[BITS / 8 + 16], target[BITS / 8 + 16], before[BITS / 8 + 16];
    for (uint32_t from = 0; from < 17; from++) {
        for (uint32_t to = 0; to < 17; to++) {
            for (uint32_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
                uint32_t count = counts[i];
                fill_pattern(source, from + 1);
                fill_pattern(target, to + 99);
                memcpy(before, target, sizeof before);
                nl_bits_copy(target, to, source, from, count);
                for (uint32_t at = 0; at < BITS; at++) {
                    bool is_inside = at >= to && at < to + count;
                    assert_int_equal(bit(target, at), is_inside ? bit(source, at - to + from) : bit(before, at));
                }
                uint32_t set = 0;
                for (uint32_t at = 0; at < count; at++)
                    set += bit(source, from + at);
                assert_int_equal(nl_bits_count(source, from, count), set);
            }
        }
    }
}

static void test_fill_sets_a_run(void **state)
{
    (void)state;
    for (uint32_t start = 0; start < 10; start++) {
        for (uint32_t count = 0; count < 80; count++) {
            uint8_t bits[BITS / 8 + 16] = {0};
            nl_bits_fill(bits, start, count, true);
            for (uint32_t at = 0; at < BITS; at++)
                assert_int_equal(bit(bits, at), at >= start && at < start + count);
            nl_bits_fill(bits, start, count, false);
            assert_int_equal(nl_bits_count(bits, 0, BITS), 0);
        }
    }
}

static void test_gather_follows_the_rows(void **state)
{
    (void)state;
    uint8_t source[BITS / 8 + 16];
    fill_pattern(source, 5);
    uint32_t rows[130];
    for (uint32_t i = 0; i < 130; i++)
        rows[i] = (i * 37) % BITS;
    uint8_t target[BITS / 8 + 16];
    for (uint32_t count = 0; count <= 130; count++) {
        uint32_t set = nl_bits_gather(target, source, rows, count);
        uint32_t expected = 0;
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(bit(target, i), bit(source, rows[i]));
            expected += bit(source, rows[i]);
        }
        assert_int_equal(set, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copy_moves_any_run_and_nothing_else),
        cmocka_unit_test(test_fill_sets_a_run),
        cmocka_unit_test(test_gather_follows_the_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
