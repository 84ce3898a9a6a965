/* command/file_clusters.h - copy-on-write DELETE and UPDATE of an unpartitioned table keep rows near those they lay with.
 *
 * Spark's hash distribution clusters such rows by _file, so that a table whose files were written one after the other
 * keeps narrow bounds. Small files go together until they are worth a file.
 */
#pragma once

#include "command/row_level.h"

/* An INT that says which of the rewritten files' clusters a row of plan (the scan of these files, or what is made of it)
 * belongs to; it must be the last column of what nl_row_level_replace gets. NULL: rows need not part, and no column is
 * wanted. files: sorted. */
NL_MUST_USE nl_status nl_row_level_cluster(nl_row_level *self, const nl_logical *plan, const nl_str *files, uint32_t file_count, const nl_expr **cluster);
