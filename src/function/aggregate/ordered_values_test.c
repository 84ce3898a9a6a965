/* aggregate/ordered_values_test.c - against a list that is kept in order by shifting. */
#include "function/aggregate/ordered_values.h"
#include "function/aggregate/test_aggregate.h"

static bool is_smaller(const nl_type *type, nl_int128 a, nl_int128 b)
{
    (void)type;
    return a < b;
}

enum { VALUES = 300, STEPS = 20000 };

static int64_t counts[VALUES]; /* of the value i - VALUES / 2 */

static nl_int128 slow_at(int64_t place)
{
    int i = 0;
    while (place > counts[i]) place -= counts[i++];
    return i - VALUES / 2;
}

static nl_status check_value(void *argument, nl_int128 value, int64_t count)
{
    int64_t *left = argument;
    assert_int_equal(counts[(int64_t)value + VALUES / 2], count);
    *left -= count;
    return NULL;
}

static void test_values_come_and_go_and_each_place_is_known(void **state)
{
    (void)state;
    nl_ordered_values *values = NULL;
    expect_success(nl_ordered_values_new(nl_type_bigint(), is_smaller, &values));
    memset(counts, 0, sizeof(counts));
    int64_t total = 0;
    uint32_t x = 1;
    for (int i = 0; i < STEPS; i++) {
        x = x * 1664525u + 1013904223u;
        const uint32_t at = (x >> 8) % VALUES;
        const bool goes = (int)((x >> 20) % 2) == (i / 4000) % 2 && counts[at] > 0; /* now more come, now more go */
        const int64_t change = goes ? -1 - (int64_t)(x >> 24) % counts[at] : (int64_t)((x >> 24) % 3);
        expect_success(nl_ordered_values_add(values, test_memory, (nl_int128)at - VALUES / 2, change));
        counts[at] += change;
        total += change;
        assert_int_equal(nl_ordered_values_total(values), total);
        for (int64_t k = 0; k < 3 && total > 0; k++) {
            const int64_t place = k == 0 ? 1 : k == 1 ? total : 1 + (int64_t)(x >> 4) % total;
            assert_true(nl_ordered_values_at(values, place) == slow_at(place));
        }
    }
    expect_success(nl_ordered_values_each(values, check_value, &total));
    assert_int_equal(total, 0);
    nl_ordered_values_free(values, test_memory);
}

/* A frame that moves over ascending values, the worst order for a plain tree, holds memory for the values in it only. */
static void test_values_that_left_give_their_room_back(void **state)
{
    (void)state;
    enum { WIDTH = 1000, ROWS = 200000 };
    nl_ordered_values *values = NULL;
    expect_success(nl_ordered_values_new(nl_type_bigint(), is_smaller, &values));
    const size_t before = nl_memory_used(test_memory);
    for (int64_t i = 0; i < ROWS; i++) {
        expect_success(nl_ordered_values_add(values, test_memory, i, 1));
        if (i >= WIDTH) expect_success(nl_ordered_values_add(values, test_memory, i - WIDTH, -1));
        if (i >= WIDTH) assert_true(nl_ordered_values_at(values, WIDTH / 2) == i - WIDTH / 2);
        assert_true(nl_memory_used(test_memory) - before < 1 << 20);
    }
    nl_ordered_values_free(values, test_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_come_and_go_and_each_place_is_known), cmocka_unit_test(test_values_that_left_give_their_room_back)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
