/* exec/kept_rows.h - rows kept for a while: in memory as long as they are few, else on disk; scanned as a table.
 *
 * Threads: one adds; any number scans. A scan sees the batches that were there when it began.
 */
#pragma once

#include "exec/exec.h"
#include "exec/scan.h"

#define NL_KEPT_ROWS_MEMORY ((size_t)64 << 20) /* bytes of one set that stay in memory */

typedef struct nl_kept_rows nl_kept_rows; /* counted: it is a table (nl_kept_rows_table) */

/* row_type: copied. memory: pays, and is retained. spill_directory: where what is too much goes; copied; empty: everything stays in memory,
 * and rows may be added while others are read. */
NL_MUST_USE nl_status nl_kept_rows_new(const nl_type *row_type, nl_memory *memory, nl_str spill_directory, nl_kept_rows **rows);
nl_kept_rows *nl_kept_rows_retain(nl_kept_rows *rows);
void nl_kept_rows_release(nl_kept_rows *rows); /* NULL is fine */
/* The batch's live rows; it is moved out. They go to disk when NL_KEPT_ROWS_MEMORY of them are in memory. */
NL_MUST_USE nl_status nl_kept_rows_add(nl_kept_rows *rows, nl_batch *batch);
/* The same; the caller says whether they may stay in memory. When some have gone to disk the rest follows. */
NL_MUST_USE nl_status nl_kept_rows_put(nl_kept_rows *rows, nl_batch *batch, bool may_stay);
bool nl_kept_rows_are_spilled(const nl_kept_rows *rows);
/* Runs the plan and adds its rows; its columns have the types of the row type. */
NL_MUST_USE nl_status nl_kept_rows_run(nl_kept_rows *rows, nl_query *query, const nl_logical *optimized);
/* Takes the other's rows in place of its own; scans that run keep theirs. Same row type; nobody else reads the other, which
 * stays in memory. */
void nl_kept_rows_replace(nl_kept_rows *rows, nl_kept_rows *by);
uint64_t nl_kept_rows_count(const nl_kept_rows *rows);
uint64_t nl_kept_rows_bytes(const nl_kept_rows *rows); /* in memory */
const nl_type *nl_kept_rows_type(const nl_kept_rows *rows);
nl_kept_rows *nl_kept_rows_of(const nl_table *table); /* of such a table; borrowed */
const nl_table *nl_kept_rows_table(nl_kept_rows *rows); /* borrowed */
/* The i-th batch, shared: nl_batch_fini. *is_done: there are no more. */
NL_MUST_USE nl_status nl_kept_rows_batch(const nl_kept_rows *rows, uint32_t i, nl_memory *memory, nl_batch *batch, bool *is_done);
