/* exec/scan.h - where rows come from: one scan is shared by all workers, each with a reader of its own.
 *
 * The scan hands out work (files, row groups, row ranges) to its readers so that one big file keeps every core busy.
 */
#pragma once

#include "exec/exec.h"

typedef struct nl_scan nl_scan;
typedef struct nl_scan_reader nl_scan_reader;

/* What a join knows of its build side when the probe side's scan starts: applied to files, row groups, pages, rows. */
typedef struct nl_runtime_filter {
    nl_column_id column;
    bool has_range;
    nl_value lower, upper;
    const struct nl_bloom *bloom;       /* over nl_vector_hash of the column; or NULL */
    const struct nl_key_bitmap *bitmap; /* of an integer column's values: exact, used instead; or NULL */
} nl_runtime_filter;

typedef struct nl_scan_ops {
    nl_status (*add_runtime_filter)(nl_scan *scan, const nl_runtime_filter *filter); /* before the first reader; or NULL */
    nl_status (*new_reader)(nl_scan *scan, uint32_t worker, nl_scan_reader **reader);
    /* Fills batch (zeroed on entry) with the scan's columns; the scan's filter has been applied (a selection may stay).
     * *is_done: no more for this reader, batch is then empty. */
    nl_status (*next)(nl_scan_reader *reader, nl_batch *batch, bool *is_done);
    void (*free_reader)(nl_scan_reader *reader);
    void (*append_metrics)(const nl_scan *scan, nl_builder *out); /* "files 3 of 7, row groups 3 of 9, rows 1,000" */
    void (*free)(nl_scan *scan);
} nl_scan_ops;

struct nl_scan { /* first member of every kind */
    const nl_scan_ops *ops;
};
struct nl_scan_reader {
    nl_scan *scan;
    /* Which piece of work the batch just given came from. Pieces are numbered in the table's order and handed out in
     * ascending order; a reader finishes one before it takes the next. Results then keep the table's order. A scan
     * that does not care leaves it 0. Below 2^40. */
    uint64_t morsel;
};
