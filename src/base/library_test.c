/* base/library_test.c - opening libraries when needed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/library.h"
#include "base/test_support.h"

static void a_symbol_is_found_and_can_be_called(void **state)
{
    (void)state;
    double (*cosine)(double) = NULL;
    const nl_library_symbol symbols[] = {{"cos", &cosine}};
    assert_null(nl_library_open("libm.so.6", "libc6", symbols, 1));
    assert_non_null(cosine);
    assert_true(cosine(0.0) > 0.99);
}

static void what_is_missing_names_the_package(void **state)
{
    (void)state;
    nl_error *error = nl_library_open("libnowhere.so.9", "libnowhere9", NULL, 0);
    assert_int_equal(nl_error_condition(error), NL_COND_NILAS_UNSUPPORTED);
    assert_non_null(strstr(nl_error_message(error), "apt-get install libnowhere9"));
    nl_error_free(error);
    void (*none)(void) = NULL;
    const nl_library_symbol symbols[] = {{"no_such_function", &none}};
    error = nl_library_open("libm.so.6", "libc6", symbols, 1);
    assert_non_null(strstr(nl_error_message(error), "no_such_function"));
    nl_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_symbol_is_found_and_can_be_called),
        cmocka_unit_test(what_is_missing_names_the_package),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
