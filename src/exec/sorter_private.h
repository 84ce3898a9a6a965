/* exec/sorter_private.h - shared by sorter.c (making runs) and sorter_merge.c (reading them). */
#pragma once

#include "exec/row.h"
#include "exec/sort_entry.h"
#include "exec/sort_key.h"
#include "exec/sorter.h"
#include "exec/spill.h"

typedef struct nl_sort_run { /* one worker's */
    nl_row_store store;
    nl_sort_entry *entries;
    uint64_t count, capacity;
    uint64_t added_count;         /* rows so far, spilled ones too */
    uint64_t morsel, morsel_rows; /* rows of the present morsel so far */
    bool has_bound;
    nl_sort_entry bound;          /* top-N: the last wanted row; later ones with this key are behind it */
    nl_spill *spill;              /* runs that did not fit, one after the other */
    uint32_t *stops;              /* owned; per spilled run one past its last chunk */
    uint32_t spilled_run_count;
    uint64_t peak_bytes;          /* for metrics */
} nl_sort_run;

typedef struct nl_sorter_keys { /* of one batch */
    nl_buffer *bytes, *offset_buffer;
    uint32_t *offsets, *partition_lengths;
} nl_sorter_keys;

struct nl_sorter {
    nl_exec *exec;
    nl_sorter_plan plan;
    nl_sort_keys keys;
    nl_programs programs;
    nl_row_layout layout;
    const nl_type **spill_types;
    nl_sort_run *runs;
    nl_spill *merged;      /* runs merged from many small ones */
    uint32_t *merged_stops;
    uint32_t merged_run_count;
    bool is_spilled;
    bool has_own_rows;     /* range w: the rows that worker w has brought */
    uint32_t range_count;
    uint64_t *bounds;      /* owned; (range_count + 1) x worker_count positions in the runs in memory */
};

NL_MUST_USE nl_status nl_sorter_write(nl_sorter *sorter, const nl_sort_entry *entries, uint64_t count, nl_spill **spill);
/* Sorts what a run has in memory and writes it behind its earlier ones. */
NL_MUST_USE nl_status nl_sorter_spill_run(nl_sorter *sorter, nl_sort_run *run);
NL_MUST_USE nl_status nl_sorter_note_run(nl_spill *spill, uint32_t **stops, uint32_t *run_count);
