/* base/log_test.c - what reaches standard error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/log.h"
#include "base/process.h"

/* Runs `act` with standard error going into a file and gives back what was written. */
static const char *capture(void (*act)(void))
{
    static char text[4096];
    FILE *file = tmpfile();
    assert_non_null(file);
    int saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    act();
    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void write_each_level(void)
{
    nl_log(NL_LOG_ERROR, "first %d", 1);
    nl_log(NL_LOG_WARN, "second");
    nl_log(NL_LOG_INFO, "third");
    nl_log(NL_LOG_DEBUG, "fourth");
    nl_log(NL_LOG_OFF, "never");
}

static void test_lines_are_dated_and_filtered_by_level(void **state)
{
    (void)state;
    nl_clock_hold(nl_days_from_civil(2026, 1, 2) * NL_MICROS_PER_DAY);
    assert_string_equal(capture(write_each_level),
                        "26/01/02 00:00:00 ERROR first 1\n26/01/02 00:00:00 WARN second\n");
    nl_log_set_level(NL_LOG_DEBUG);
    assert_non_null(strstr(capture(write_each_level), "DEBUG fourth\n"));
    assert_null(strstr(capture(write_each_level), "never"));
    nl_log_set_level(NL_LOG_OFF);
    assert_string_equal(capture(write_each_level), "");
    nl_log_set_level(NL_LOG_WARN);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_dated_and_filtered_by_level),
    };
    return cmocka_run_group_tests_name("base/log", tests, NULL, NULL);
}
