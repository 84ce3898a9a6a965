/* base/library.h - shared libraries with heavy dependencies (libcurl, libpq, libmicrohttpd, SQLite), opened when first
 * needed: a `SELECT 1` pays for none of them. Code calls through a table of pointers with the types of the library's own
 * header; nothing of them is linked.
 */
#pragma once

#include "base/status.h"

typedef struct nl_library_symbol {
    const char *name;
    void *place; /* where the function's address goes: a member of a static table */
} nl_library_symbol;

/* Opens the library of that file name ("libcurl.so.4") and fills in every symbol. The caller makes sure that it happens
 * once (pthread_once). Fails: NILAS_UNSUPPORTED naming the library, what wants it, and the Debian package that brings it. */
NL_MUST_USE nl_status nl_library_open(const char *file_name, const char *debian_package, const nl_library_symbol *symbols, uint32_t symbol_count);
