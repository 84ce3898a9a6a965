/* column/batch.h - some rows of a relation: columns of equal length, and which rows are alive. */
#pragma once

#include "column/vector.h"

/* Which rows of a batch something is about: rows[0…count) ascending, or, when rows is NULL, all of 0…count. */
typedef struct nl_selection {
    const uint32_t *rows; /* borrowed */
    uint32_t count;
} nl_selection;
#define NL_ALL_ROWS(n) ((nl_selection){.rows = NULL, .count = (n)})
static inline uint32_t nl_selection_row(nl_selection selection, uint32_t i)
{
    return selection.rows ? selection.rows[i] : i;
}

typedef struct nl_batch {
    nl_vector *columns;   /* owned array */
    uint32_t column_count;
    uint32_t row_count;   /* length of every column */
    bool is_selective;    /* selection_rows counts */
    uint32_t selected_count;
    nl_buffer *selection; /* counted; uint32_t[selected_count], ascending */
} nl_batch;

NL_MUST_USE nl_status nl_batch_init(nl_batch *batch, uint32_t column_count, uint32_t row_count); /* zeroed columns */
void nl_batch_fini(nl_batch *batch);                          /* leaves it zeroed */
void nl_batch_move(nl_batch *source, nl_batch *target);
NL_MUST_USE nl_status nl_batch_ref(const nl_batch *source, nl_batch *target); /* shares all buffers */
static inline nl_selection nl_batch_selection(const nl_batch *batch)
{
    return batch->is_selective ? (nl_selection){(const uint32_t *)(const void *)batch->selection->data, batch->selected_count}
                               : NL_ALL_ROWS(batch->row_count);
}
static inline uint32_t nl_batch_live_rows(const nl_batch *batch)
{
    return batch->is_selective ? batch->selected_count : batch->row_count;
}
/* Drops dead rows: afterwards row_count == live rows and there is no selection. */
NL_MUST_USE nl_status nl_batch_compact(nl_batch *batch, nl_memory *memory);
NL_MUST_USE nl_status nl_batch_concat(const nl_batch *const *parts, uint32_t part_count, nl_memory *memory, nl_batch *target);
size_t nl_batch_bytes(const nl_batch *batch);
