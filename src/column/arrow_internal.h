/* column/arrow_internal.h - shared by the Arrow files. */
#pragma once

#include <stdbool.h>

/* "d:10,2" or "d:10,2,64". False when it is something else or no decimal of Spark's. */
bool nl_arrow_decimal_format(const char *format, int *precision, int *scale, int *bits);

/* Numbers of Arrow's Schema.fbs and Message.fbs. */
enum {
    NL_IPC_NULL = 1, NL_IPC_INT, NL_IPC_FLOATING_POINT, NL_IPC_BINARY, NL_IPC_UTF8, NL_IPC_BOOL, NL_IPC_DECIMAL, NL_IPC_DATE, NL_IPC_TIME,
    NL_IPC_TIMESTAMP, NL_IPC_INTERVAL, NL_IPC_LIST, NL_IPC_STRUCT, NL_IPC_UNION, NL_IPC_FIXED_SIZE_BINARY, NL_IPC_FIXED_SIZE_LIST, NL_IPC_MAP,
    NL_IPC_DURATION, NL_IPC_LARGE_BINARY, NL_IPC_LARGE_UTF8, NL_IPC_LARGE_LIST, NL_IPC_RUN_END_ENCODED, NL_IPC_BINARY_VIEW, NL_IPC_UTF8_VIEW,
    NL_IPC_LIST_VIEW, NL_IPC_LARGE_LIST_VIEW
};
enum { NL_IPC_HEADER_SCHEMA = 1, NL_IPC_HEADER_DICTIONARY_BATCH, NL_IPC_HEADER_RECORD_BATCH };
enum { NL_IPC_VERSION_4 = 3, NL_IPC_VERSION_5 };
