/* format/orc/stripe.h - a stripe's own footer: where its streams lie, how its columns are encoded, and its row indexes. */
#pragma once

#include "base/calendar.h"
#include "format/orc/tail.h"

typedef enum nl_orc_stream_kind {
    NL_ORC_PRESENT = 0, NL_ORC_DATA = 1, NL_ORC_LENGTH = 2, NL_ORC_DICTIONARY_DATA = 3, NL_ORC_SECONDARY = 5, NL_ORC_ROW_INDEX = 6
} nl_orc_stream_kind;

typedef enum nl_orc_encoding { NL_ORC_DIRECT, NL_ORC_DICTIONARY, NL_ORC_DIRECT_V2, NL_ORC_DICTIONARY_V2 } nl_orc_encoding;

typedef struct nl_orc_stream_place {
    uint32_t kind, column;
    uint64_t offset, length; /* in the file */
} nl_orc_stream_place;

typedef struct nl_orc_stripe_footer { /* in an arena */
    const nl_orc_stripe *stripe;
    nl_orc_stream_place *streams;
    uint32_t stream_count;
    nl_orc_encoding *encodings;      /* by column */
    uint32_t *dictionary_sizes;
    const nl_timezone *writer_zone;  /* UTC when it does not say */
} nl_orc_stripe_footer;

NL_MUST_USE nl_status nl_orc_stripe_footer_read(const nl_orc_tail *tail, uint32_t stripe, nl_orc_store *store, nl_arena *arena, nl_orc_stripe_footer *footer);
/* length 0: the stripe has no such stream. */
nl_orc_stream_place nl_orc_stripe_stream(const nl_orc_stripe_footer *footer, uint32_t column, nl_orc_stream_kind kind);

typedef struct nl_orc_row_index { /* of a column of a stripe */
    uint32_t group_count;       /* 0: there is none, or it does not fit the stripe */
    const uint32_t *starts;     /* group_count + 1 places in positions */
    const uint64_t *positions;
    const nl_orc_statistics *statistics; /* by group; texts point into the arena */
} nl_orc_row_index;
NL_MUST_USE nl_status nl_orc_row_index_read(const nl_orc_tail *tail, const nl_orc_stripe_footer *footer, uint32_t column, nl_orc_store *store, nl_arena *arena, nl_orc_row_index *index);
