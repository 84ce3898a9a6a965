/* storage/io_error.h - NILAS_IO_ERROR from errno or from words; for implementations of file systems. */
#pragma once

#include "storage/filesystem.h"

/* The failure of a system call. ENOENT and ENOTDIR become PATH_NOT_FOUND, EEXIST becomes NILAS_ALREADY_EXISTS; those
 * that may pass by themselves (no space, no descriptors) are of kind RETRY. operation: "Opening", "Writing". */
NL_MUST_USE nl_status nl_raise_errno(int error, const char *operation, nl_str path);
NL_MUST_USE nl_status nl_raise_io(const char *operation, nl_str path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
