/* base/process_test.c - the clock that tests hold; the other parts of the state are tested where they are used. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/calendar.h"
#include "base/log.h"
#include "base/process.h"

static void test_a_held_clock_stands_still_until_it_is_let_go(void **state)
{
    (void)state;
    int64_t before = nl_now_micros();
    nl_clock_hold(-5);
    assert_int_equal(nl_now_micros(), -5);
    assert_int_equal(nl_now_micros(), -5);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    assert_true(nl_now_micros() >= before);
}

static void test_warnings_are_shown_unless_told_otherwise(void **state)
{
    (void)state;
    assert_int_equal(atomic_load(&nl_process_state.log_level), NL_LOG_WARN);
}

static void test_the_user_database_knows_root_and_not_everybody(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_user root = nl_process_user(arena, 0);
    assert_true(nl_str_is(root.name, "root") && nl_str_is(root.home, "/root"));
    assert_null(nl_process_user(arena, 4000000123u).name.data);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_held_clock_stands_still_until_it_is_let_go),
        cmocka_unit_test(test_the_user_database_knows_root_and_not_everybody),
        cmocka_unit_test(test_warnings_are_shown_unless_told_otherwise),
    };
    return cmocka_run_group_tests_name("base/process", tests, NULL, NULL);
}
