/* format/orc/column.h - decoding one column of a stripe, rows in order, with what lies below it.
 *
 * A column stands before a row; it is read or skipped from there, or sought to the start of a row group.
 */
#pragma once

#include "format/orc/mapping.h"
#include "format/orc/rle.h"
#include "format/orc/stripe.h"

/* What the columns of one scan share. */
typedef struct nl_orc_context {
    const nl_orc_tail *tail;
    const nl_orc_stripe_footer *footer;
    nl_orc_store *store;
    nl_arena *arena;           /* the scan's: indexes */
    nl_memory *memory;
    bool is_hybrid;
    const nl_timezone *zone;   /* the reader's */
} nl_orc_context;

typedef struct nl_orc_column nl_orc_column;
struct nl_orc_column {
    const nl_orc_plan *plan;
    const nl_orc_context *context;
    bool is_open, has_present, has_dictionary, has_index;
    nl_orc_stream present, data, second; /* second: LENGTH or SECONDARY */
    nl_orc_bit_reader bits, booleans;
    nl_orc_byte_reader bytes;
    nl_orc_int_reader *numbers, *seconds; /* owned */
    nl_shared_vector *dictionary;         /* counted; read at first use */
    uint32_t dictionary_size;
    nl_orc_row_index index;
    nl_orc_column *children;              /* owned */
};

NL_MUST_USE nl_status nl_orc_column_open(nl_orc_column *column, const nl_orc_plan *plan, const nl_orc_context *context);
void nl_orc_column_close(nl_orc_column *column); /* zeroed is fine */
/* The next `count` rows. parent: which of them the column has values for (count bits), NULL: all. *vector: FLAT, or as reader.h says. */
NL_MUST_USE nl_status nl_orc_column_read(nl_orc_column *column, uint32_t count, const uint8_t *parent, nl_vector *vector);
NL_MUST_USE nl_status nl_orc_column_skip(nl_orc_column *column, uint64_t count);
/* To the first row of a row group; *is_done false: the stripe has no index for it, nothing has moved. */
NL_MUST_USE nl_status nl_orc_column_seek(nl_orc_column *column, uint32_t group, bool *is_done);
