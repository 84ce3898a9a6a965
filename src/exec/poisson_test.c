#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "exec/poisson.h"

/* spark.range(0, 30, 1, 1).sample(True, 0.8, 42) and its like in Spark 4.0.1: which rows come, and how often. */
static void check_rows(double mean, int64_t seed, uint32_t row_count, const uint32_t *expected, uint32_t expected_count)
{
    nl_poisson poisson;
    uint32_t at = 0;
    nl_poisson_start(&poisson, mean, seed);
    for (uint32_t row = 0; row < row_count; row++) {
        for (uint32_t times = nl_poisson_next(&poisson); times > 0; times--) {
            assert_true(at < expected_count);
            assert_int_equal(row, expected[at++]);
        }
    }
    assert_int_equal(at, expected_count);
}

static void test_rows_are_sparks_for_the_same_seed(void **state)
{
    static const uint32_t first[] = {5, 6, 7, 10, 11, 13, 13, 17, 18, 18, 19, 25, 26, 26, 27, 28, 29, 29, 29};
    static const uint32_t second[] = {15, 16, 21, 23, 45, 50, 58, 64, 68};
    static const uint32_t third[] = {0, 1, 3, 3, 3, 4, 5, 5, 7, 7, 7, 7, 8, 9, 9, 9, 9};
    (void)state;
    check_rows(0.8, 42, 30, first, sizeof first / sizeof *first);
    check_rows(0.1, 7, 100, second, sizeof second / sizeof *second);
    check_rows(2.5, 3, 10, third, sizeof third / sizeof *third);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows_are_sparks_for_the_same_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
