/* exec/source/file_ahead.h - the files a scan opens next: on storage where each request takes its time their ends, with the
 * footers, are fetched while others are read; small files are fetched whole. Elsewhere it only opens files.
 */
#pragma once

#include "exec/source/file_scan.h"

typedef struct nl_file_ahead nl_file_ahead; /* owned; threads: any */
NL_MUST_USE nl_status nl_file_ahead_new(nl_fs *fs, const nl_scan_unit *units, uint32_t unit_count, nl_file_ahead **ahead); /* borrows all */
void nl_file_ahead_free(nl_file_ahead *ahead);                                                                           /* NULL is fine */

/* Opens a unit's file (owned by the caller), each unit at most once, and begins to fetch those behind it. */
NL_MUST_USE nl_status nl_file_ahead_open(nl_file_ahead *ahead, const nl_scan_unit *unit, nl_file **file);
