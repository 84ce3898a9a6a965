/* window/places_test.c - values found by their number agree with looking row by row. */
#include "function/window/places.h"

#include "function/test_function.h"

enum { ROWS = 12 };
static const char *const texts[ROWS] = {NULL, "1", "2", NULL, NULL, "3", NULL, "4", NULL, NULL, "5", NULL};

/* `offset` values on from before row `from` (0: the first at or after it; -1: the last before it), in start … stop. */
static int64_t look(uint32_t from, int64_t offset, uint32_t start, uint32_t stop)
{
    int64_t left = offset;
    if (offset >= 0) {
        for (uint32_t row = from; row < stop; row++)
            if (texts[row] && left-- == 0) return row >= start ? (int64_t)row : -1;
        return -1;
    }
    for (uint32_t row = from; row > start; row--)
        if (texts[row - 1] && ++left == 0) return row - 1;
    return -1;
}

static void test_places_are_those_of_a_slow_loop(void **state)
{
    (void)state;
    nl_vector column = test_column(nl_type_int(), texts, ROWS);
    nl_value_places places;
    expect_success(nl_value_places_init(&places, &column, ROWS, test_memory));
    for (uint32_t start = 0; start < ROWS; start++)
        for (uint32_t stop = start + 1; stop <= ROWS; stop++)
            for (uint32_t from = start; from <= stop; from++)
                for (int64_t offset = -7; offset <= 7; offset++)
                    assert_int_equal(nl_value_places_find(&places, from, offset, start, stop), look(from, offset, start, stop));
    nl_value_places_fini(&places);
    nl_vector_fini(&column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_places_are_those_of_a_slow_loop)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
