/* exec/sorter.h - sorting any number of rows: runs in memory, runs on disk, merged when read.
 *
 * Equal keys keep the input's order (the morsel's, then the row's), so results can be repeated. Used by ORDER BY and by
 * windows, which also ask where partitions begin.
 */
#pragma once

#include "exec/engine.h"

typedef struct nl_sorter nl_sorter;

typedef struct nl_sorter_plan {
    const nl_column *columns;   /* of the rows; all are carried along */
    uint32_t column_count;
    const nl_sort_key *keys;    /* expressions over the columns */
    uint32_t key_count;
    uint32_t partition_count;   /* the first keys that make partitions (windows) */
    bool is_one_range;          /* read by one reader, whatever the size */
    nl_sort_parts parts;        /* PART_PER_WORKER, OWN_ROWS: at most one range per worker, few rows are one           */
    int64_t keep;               /* only the first rows of the order are wanted; INT64_MAX: all */
    nl_metric *metric;
} nl_sorter_plan;

/* In the arena of exec; ends with nl_sorter_fini. */
NL_MUST_USE nl_status nl_sorter_new(nl_exec *exec, const nl_sorter_plan *plan, nl_sorter **sorter);
void nl_sorter_fini(nl_sorter *sorter);
/* One worker at a time per index. */
NL_MUST_USE nl_status nl_sorter_add(nl_sorter *sorter, uint32_t worker, uint64_t morsel, const nl_batch *batch);
NL_MUST_USE nl_status nl_sorter_finish_worker(nl_sorter *sorter, uint32_t worker); /* sorts what it has */

/* Reading, after all workers have finished. The order is cut into ranges that can be read at the same time; with
 * partitions, none is cut through. */
NL_MUST_USE nl_status nl_sorter_prepare(nl_sorter *sorter);
uint32_t nl_sorter_range_count(const nl_sorter *sorter);
typedef struct nl_sorted_range nl_sorted_range;
NL_MUST_USE nl_status nl_sorter_open(nl_sorter *sorter, uint32_t range, nl_sorted_range **reader); /* owned */
void nl_sorted_range_free(nl_sorted_range *reader);

enum { NL_SORT_NEW_KEY = 1, NL_SORT_NEW_PARTITION = 2 };
/* The next rows; breaks (batch_rows entries, or NULL) gets per row whether it differs from the row before it: the
 * first row of a range is new in both. An empty batch: no more. */
NL_MUST_USE nl_status nl_sorted_range_next(nl_sorted_range *reader, nl_batch *batch, uint8_t *breaks);
