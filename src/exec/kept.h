/* exec/kept.h - the rows of a plan, kept for later statements: cache(), persist(), CACHE TABLE, checkpoint().
 *
 * Columns in memory as far as the budget goes, else a spill file. Made by the first scan that finds none, of whatever
 * statement. Threads: any.
 */
#pragma once

#include "exec/exec.h"

typedef struct nl_kept nl_kept; /* counted */

typedef struct nl_kept_options {
    bool use_memory, use_disk; /* memory alone: rows that do not fit are computed by every statement that wants them */
    nl_memory *memory;         /* the session's: what is kept takes at most half of it; borrowed */
    nl_str spill_directory;
} nl_kept_options;

/* For rows with the visible columns of `like`; empty. */
NL_MUST_USE nl_status nl_kept_new(const nl_kept_options *options, const nl_logical *like, nl_kept **kept);
nl_kept *nl_kept_retain(nl_kept *kept);
void nl_kept_release(nl_kept *kept); /* NULL is fine; scans that have begun go on */

/* They as a table (counted). `plan`, optimized, makes them if they are not there when a scan is built; it lives as long as the
 * query. */
NL_MUST_USE nl_status nl_kept_source_new(nl_kept *kept, const nl_logical *plan, const nl_table **source);
/* The plan of that table lives as long as `owner`, which the table ends with `release`. */
void nl_kept_source_own(const nl_table *source, void *owner, void (*release)(void *owner));
/* Makes the rows now. */
NL_MUST_USE nl_status nl_kept_fill(nl_kept *kept, nl_query *query, const nl_logical *plan);
bool nl_kept_is_filled(nl_kept *kept);
