/* stream/state_index.h - the rows of one part of a store, found by key, by time and by number. Inside the folder.
 *
 * Rows have numbers that only grow; a row never changes: what changes is removed and added under a new number. What is looked
 * up costs as many steps as rows are found; rows lie in chunks that grow like the digits of a counter, in memory up to a
 * limit, then in a file without a name; numbers, hashes and times stay in memory (about 30 bytes a row).
 * Threads: one at a time.
 */
#pragma once

#include "column/batch.h"

typedef struct nl_state_index nl_state_index; /* owned */

#define NL_STATE_NO_TIME UINT32_MAX

typedef struct nl_state_layout {
    const nl_type *row_type;
    const uint32_t *keys; /* columns that rows are looked up by */
    uint32_t key_count;
    uint32_t time_column; /* TIMESTAMP, BIGINT of microseconds, or a window (its end counts); NL_STATE_NO_TIME: none */
} nl_state_layout;

typedef struct nl_state_slots { /* places of rows, ascending; items: of malloc, owned */
    uint32_t *items;
    size_t count, capacity;
} nl_state_slots;

typedef struct nl_state_index_options {
    nl_memory *memory;      /* pays, and is retained */
    nl_str spill_directory; /* copied */
    size_t memory_bytes_max; /* of rows; what is older goes to disk */
} nl_state_index_options;

/* The layout is copied. */
NL_MUST_USE nl_status nl_state_index_new(const nl_state_layout *layout, const nl_state_index_options *options, nl_state_index **index);
void nl_state_index_free(nl_state_index *index); /* NULL is fine */
const nl_type *nl_state_index_type(const nl_state_index *index);          /* of the rows */
const nl_type *nl_state_index_numbered_type(const nl_state_index *index); /* _id, then those columns */
uint64_t nl_state_index_count(const nl_state_index *index);
size_t nl_state_index_bytes(const nl_state_index *index); /* in memory */
int64_t nl_state_index_next_id(const nl_state_index *index);
void nl_state_index_set_next_id(nl_state_index *index, int64_t id); /* not less than it is */

/* Adds the batch's live rows: with the given numbers (ascending, not less than the next), or, NULL, the next ones. */
NL_MUST_USE nl_status nl_state_index_add(nl_state_index *index, const nl_batch *batch, const int64_t *ids);
bool nl_state_index_remove(nl_state_index *index, int64_t id); /* false: it is not there */
/* Makes room when most of what lies there is dead. Slots that were found before hold no more. */
NL_MUST_USE nl_status nl_state_index_tidy(nl_state_index *index);

/* Rows that may have a key of the batch's (hashes are equal), each once. key_columns: of the batch. */
NL_MUST_USE nl_status nl_state_index_find(nl_state_index *index, const nl_batch *batch, const uint32_t *key_columns, nl_state_slots *slots);
NL_MUST_USE nl_status nl_state_index_past(nl_state_index *index, int64_t micros, nl_state_slots *slots); /* time <= micros */
NL_MUST_USE nl_status nl_state_index_since(nl_state_index *index, int64_t id, nl_state_slots *slots);     /* number >= id  */
/* The rows in those slots, as batches of the numbered type: `take` gets each (it may move it). */
NL_MUST_USE nl_status nl_state_index_gather(nl_state_index *index, const nl_state_slots *slots, nl_status (*take)(void *context, nl_batch *batch), void *context);
void nl_state_slots_free(nl_state_slots *slots);
