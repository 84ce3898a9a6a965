/* stream/rows.h - rows kept for a while: in memory as long as they are few, else on disk; scanned as a table.
 *
 * Threads: one adds; any number scans. A scan sees the batches that were there when it began.
 */
#pragma once

#include "exec/exec.h"
#include "exec/scan.h"

#define NL_STREAM_ROWS_MEMORY ((size_t)64 << 20) /* bytes of one set that stay in memory */

typedef struct nl_stream_rows nl_stream_rows; /* counted: it is a table (nl_stream_rows_table) */

/* row_type: copied. memory: pays, and is retained. spill_directory: where what is too much goes; copied; empty: everything stays in memory,
 * and rows may be added while others are read. */
NL_MUST_USE nl_status nl_stream_rows_new(const nl_type *row_type, nl_memory *memory, nl_str spill_directory, nl_stream_rows **rows);
nl_stream_rows *nl_stream_rows_retain(nl_stream_rows *rows);
void nl_stream_rows_release(nl_stream_rows *rows); /* NULL is fine */
/* The batch's live rows; it is moved out. */
NL_MUST_USE nl_status nl_stream_rows_add(nl_stream_rows *rows, nl_batch *batch);
/* Runs the plan and adds its rows; its columns have the types of the row type. */
NL_MUST_USE nl_status nl_stream_rows_run(nl_stream_rows *rows, nl_query *query, const nl_logical *optimized);
/* Takes the other's rows in place of its own; scans that run keep theirs. Same row type; nobody else reads the other, which
 * stays in memory. */
void nl_stream_rows_replace(nl_stream_rows *rows, nl_stream_rows *by);
uint64_t nl_stream_rows_count(const nl_stream_rows *rows);
uint64_t nl_stream_rows_bytes(const nl_stream_rows *rows); /* in memory */
const nl_type *nl_stream_rows_type(const nl_stream_rows *rows);
const nl_table *nl_stream_rows_table(nl_stream_rows *rows); /* borrowed */
/* The i-th batch, shared: nl_batch_fini. *is_done: there are no more. */
NL_MUST_USE nl_status nl_stream_rows_batch(const nl_stream_rows *rows, uint32_t i, nl_memory *memory, nl_batch *batch, bool *is_done);
