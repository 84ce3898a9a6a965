/* format/parquet/delta.h - DELTA_BINARY_PACKED, decoded as a stream. Source: Parquet format, Encodings.
 *
 * Sums wrap at 64 bits; INT32 columns use the low half. The encoded bytes need 16 readable bytes behind them.
 */
#pragma once

#include "base/status.h"
#include "base/str.h"

#define NL_DELTA_GROUP 32u /* miniblocks hold a multiple of this */

typedef struct nl_delta {
    const uint8_t *at, *end;
    uint64_t values_left;      /* of all values announced */
    uint64_t last;             /* the value given out last */
    uint64_t delta_min;        /* of the present block */
    uint32_t miniblock_count;  /* per block */
    uint32_t miniblock_values;
    uint32_t miniblock;        /* next one in the block; miniblock_count: a block ended */
    uint32_t miniblock_left;   /* deltas not yet unpacked in the present one */
    uint32_t width;
    const uint8_t *widths;     /* one byte per miniblock of the block */
    bool is_first_pending;
    uint32_t group_used, group_count;
    uint64_t group[NL_DELTA_GROUP]; /* unpacked deltas */
} nl_delta;

/* False: damaged. *value_count (may be NULL): as announced. */
NL_MUST_USE bool nl_delta_init(nl_delta *delta, nl_bytes encoded, uint64_t *value_count);
NL_MUST_USE bool nl_delta_read(nl_delta *delta, uint64_t *out, uint32_t count);
NL_MUST_USE bool nl_delta_skip(nl_delta *delta, uint64_t count);
/* Where the data behind all announced values starts; a fresh decoder is needed to read values as well. */
NL_MUST_USE bool nl_delta_find_end(nl_delta *delta, const uint8_t **end);
