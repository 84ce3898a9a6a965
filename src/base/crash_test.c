/* base/crash_test.c - death at a named place, seen from a parent process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"

/* Passes "here" five times and "there" once in a child. Returns the signal that ended it, or minus the passes. */
static int outcome(const char *environment)
{
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        setenv("NILAS_CRASH", environment, 1);
        NL_CRASH_POINT("there");
        for (int i = 0; i < 5; i++) NL_CRASH_POINT("here");
        _exit(5);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

static void test_the_named_pass_is_the_last(void **state)
{
    (void)state;
#ifdef NL_FAULTS
    assert_int_equal(outcome("here"), SIGKILL);
    assert_int_equal(outcome("here:5"), SIGKILL);
    assert_int_equal(outcome("there"), SIGKILL);
#endif
    assert_int_equal(outcome("here:6"), -5);
    assert_int_equal(outcome("elsewhere"), -5);
    assert_int_equal(outcome(""), -5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_named_pass_is_the_last),
    };
    return cmocka_run_group_tests_name("base/crash", tests, NULL, NULL);
}
