#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shell/progress.h"

static void expect_line(nl_progress progress, uint32_t ticks, uint32_t columns, const char *expected)
{
    char line[160];
    const size_t length = nl_progress_line(&progress, ticks, columns, line, sizeof line - 1);
    line[length] = 0;
    assert_string_equal(line, expected);
}

static void test_nothing_known_is_a_wheel_and_the_time(void **state)
{
    (void)state;
    expect_line((nl_progress){0}, 5, 80, "/ 1 s");
    expect_line((nl_progress){.rows = 1234567}, 8, 80, "| 1.2 M rows  2 s");
}

static void test_rows_give_the_share_when_their_total_is_known(void **state)
{
    (void)state;
    expect_line((nl_progress){.rows = 250, .rows_total = 1000, .files = 1, .files_total = 4, .bytes = 1536}, 40, 100,
                "[=====               ] 25 %  250 rows  1/4 files  1.5 KiB  10 s");
    expect_line((nl_progress){.rows = 2000, .rows_total = 1000}, 4, 100, "[====================] 100 %  2.0 k rows  1 s");
}

static void test_files_give_the_share_otherwise(void **state)
{
    (void)state;
    expect_line((nl_progress){.files = 2, .files_total = 4, .bytes = 5ull << 30}, 4, 100, "[==========          ] 50 %  2/4 files  5.0 GiB  1 s");
}

static void test_a_narrow_terminal_gets_the_beginning(void **state)
{
    (void)state;
    expect_line((nl_progress){.rows = 250, .rows_total = 1000}, 4, 10, "[=====    ");
    expect_line((nl_progress){.rows = UINT64_MAX, .rows_total = 0}, 4, 80, "| 18446744.0 T rows  1 s");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known_is_a_wheel_and_the_time),
        cmocka_unit_test(test_rows_give_the_share_when_their_total_is_known),
        cmocka_unit_test(test_files_give_the_share_otherwise),
        cmocka_unit_test(test_a_narrow_terminal_gets_the_beginning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
