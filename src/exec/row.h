/* exec/row.h - rows in memory: what hash tables, sorts and joins keep. A row has a header of the operator's own, a byte
 * per column that says null, then the fixed parts; long strings lie in a heap, nested values are encoded into strings.
 *
 * Threads: a store belongs to one worker while it grows; afterwards rows may be read by all.
 */
#pragma once

#include "base/arena.h"
#include "column/batch.h"
#include "column/value.h"

typedef struct nl_row_column {
    const nl_type *type;
    nl_physical physical; /* of the fixed part: STRING for nested types */
    uint32_t null_offset; /* a byte: 1 is null */
    uint32_t offset;
    uint32_t width;
} nl_row_column;

typedef struct nl_row_layout {
    uint32_t column_count;
    nl_row_column *columns;
    uint32_t header_bytes;
    uint32_t body_bytes;  /* of everything above, a multiple of 8 */
    uint32_t row_bytes;   /* body_bytes, or more where an operator adds states behind (nl_row_layout_extend) */
    bool has_heap;
} nl_row_layout;

/* In place; the columns live in the arena. */
void nl_row_layout_init(nl_row_layout *layout, nl_arena *arena, const nl_type *const *types, uint32_t count, uint32_t header_bytes);
/* Adds `bytes` aligned to 16 behind the row; returns their offset. */
uint32_t nl_row_layout_extend(nl_row_layout *layout, uint32_t bytes);

/* A growing set of rows that never move. */
typedef struct nl_row_block {
    struct nl_row_block *next;
    uint8_t *data;
    uint32_t row_count, row_capacity;
} nl_row_block;
typedef struct nl_row_store {
    nl_memory *memory;    /* borrowed; charged for the blocks */
    uint32_t row_bytes;
    nl_row_block *first, *last;
    uint64_t row_count;
    size_t charged_bytes; /* blocks; the heap's come on top */
    nl_heap *heap;        /* counted; or NULL so far */
} nl_row_store;

void nl_row_store_init(nl_row_store *store, nl_memory *memory, uint32_t row_bytes);
void nl_row_store_clear(nl_row_store *store); /* frees all rows; usable again */
size_t nl_row_store_bytes(const nl_row_store *store);
/* What `count` more rows with heap_bytes of long values may be charged for: whole blocks, not only what they fill. */
size_t nl_row_store_growth(const nl_row_store *store, uint64_t count, size_t heap_bytes);
/* `count` new rows, zeroed, their addresses in rows[]. */
NL_MUST_USE nl_status nl_row_store_add(nl_row_store *store, uint32_t count, uint8_t **rows);
/* All of source's blocks and heaps to the end of target; source becomes empty. */
NL_MUST_USE nl_status nl_row_store_adopt(nl_row_store *target, nl_row_store *source);
NL_MUST_USE nl_status nl_row_store_heap(nl_row_store *store, nl_heap **heap); /* borrowed */
/* The next up to `count` rows from *block, *at on; both advance. Start: store->first, 0. */
uint32_t nl_row_store_next(const nl_row_store *store, const nl_row_block **block, uint32_t *at, uint32_t count, uint8_t **rows);

/* Nested values as bytes: canonical (equal values give equal bytes; -0.0 and NaN are normalised when is_key). */
NL_MUST_USE nl_status nl_nested_encode(const nl_vector *vector, nl_selection selection, bool is_key, nl_memory *memory, nl_vector *out);
NL_MUST_USE nl_status nl_nested_decode(const nl_vector *binary, const nl_type *type, nl_memory *memory, nl_vector *out);
static inline bool nl_type_is_encoded(const nl_type *type)
{
    return type->physical == NL_PHYS_LIST || type->physical == NL_PHYS_STRUCT;
}

/* About what the selected rows' values need in a heap. */
size_t nl_rows_heap_bytes(const nl_vector *columns, uint32_t count, nl_selection selection);
/* Writes columns[0…count) of the selected batch rows: rows[i] gets row selection[i]. Strings go to the store's heap. */
NL_MUST_USE nl_status nl_rows_scatter(const nl_row_layout *layout, uint32_t first_column, const nl_vector *columns, uint32_t count,
                                      nl_selection selection, uint8_t *const *rows, nl_row_store *store, bool is_key);
/* Reads columns back as flat vectors of row_count rows. A NULL row gives nulls. `heap` (or NULL) is kept alive by them. */
NL_MUST_USE nl_status nl_rows_gather(const nl_row_layout *layout, uint32_t first_column, uint32_t count, uint8_t *const *rows,
                                     uint32_t row_count, nl_heap *heap, nl_memory *memory, nl_vector *columns);

/* Comparing keys: candidates are positions i of rows[i] (a stored row) and batch_rows[i]. Those whose first key_count
 * columns all equal the vectors' stay in candidates (their count is returned), the others go to failed. Nulls equal
 * nulls. Nested key vectors must have been encoded. */
uint32_t nl_rows_match(const nl_row_layout *layout, const nl_vector *keys, uint32_t key_count, const uint32_t *batch_rows,
                       uint8_t *const *rows, uint32_t *candidates, uint32_t candidate_count, uint32_t *failed, uint32_t *failed_count);
