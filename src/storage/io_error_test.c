/* storage/io_error_test.c - errno to conditions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "storage/io_error.h"

static void test_errno_chooses_condition_and_kind(void **state)
{
    (void)state;
    static const struct {
        int error;
        nl_condition condition;
        nl_error_kind kind;
    } cases[] = {
        {ENOENT, NL_COND_PATH_NOT_FOUND, NL_KIND_USER},
        {ENOTDIR, NL_COND_PATH_NOT_FOUND, NL_KIND_USER},
        {EEXIST, NL_COND_NILAS_ALREADY_EXISTS, NL_KIND_USER},
        {EIO, NL_COND_NILAS_IO_ERROR, NL_KIND_DATA},
        {EACCES, NL_COND_NILAS_IO_ERROR, NL_KIND_DATA},
        {ENOSPC, NL_COND_NILAS_IO_ERROR, NL_KIND_RETRY},
        {EMFILE, NL_COND_NILAS_IO_ERROR, NL_KIND_RETRY},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_status status = nl_raise_errno(cases[i].error, "Writing", NL_STR("/x"));
        assert_int_equal(nl_error_condition(status), cases[i].condition);
        assert_int_equal(nl_error_kind_of(status), cases[i].kind);
        assert_string_equal(nl_error_param(status, "path"), "/x");
        nl_error_free(status);
    }
}

static void test_the_message_has_operation_path_and_words(void **state)
{
    (void)state;
    nl_status status = nl_raise_errno(ENOSPC, "Writing", NL_STR("/x/y"));
    assert_string_equal(nl_error_message(status),
                        "[NILAS_IO_ERROR] Writing failed on /x/y: No space left on device SQLSTATE: 58030");
    nl_error_free(status);
    status = nl_raise_io("Reading", NL_STR("/x"), "%d bytes are missing", 7);
    assert_string_equal(nl_error_param(status, "problem"), "7 bytes are missing");
    nl_error_free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errno_chooses_condition_and_kind),
        cmocka_unit_test(test_the_message_has_operation_path_and_words),
    };
    return cmocka_run_group_tests_name("storage/io_error", tests, NULL, NULL);
}
