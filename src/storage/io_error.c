/* storage/io_error.c - what went wrong with a file, in words. */
#include "storage/io_error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static bool may_pass(int error)
{
    return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EMFILE || error == ENFILE || error == ENOMEM ||
           error == EAGAIN || error == EINTR || error == ETIMEDOUT || error == ECONNRESET;
}

nl_status nl_raise_errno(int error, const char *operation, nl_str path)
{
    if (error == ENOENT || error == ENOTDIR) return NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", path));
    if (error == ELOOP) return nl_raise_io(operation, path, "it is a symbolic link, which is not followed here");
    if (error == EEXIST) return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P_STR("path", path));
    char words[128];
    const char *problem = strerror_r(error, words, sizeof words); /* GNU's form: never fails */
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", operation), NL_P_STR("path", path),
                                NL_P("problem", problem));
    if (may_pass(error)) nl_error_set_kind(status, NL_KIND_RETRY);
    return status;
}

nl_status nl_raise_io(const char *operation, nl_str path, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *problem = NULL;
    if (vasprintf(&problem, format, arguments) < 0) problem = NULL;
    va_end(arguments);
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", operation), NL_P_STR("path", path),
                                NL_P("problem", problem != NULL ? problem : format));
    free(problem);
    return status;
}
