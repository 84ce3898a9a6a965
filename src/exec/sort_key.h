/* exec/sort_key.h - sort keys as bytes whose memcmp order is the wanted order. */
#pragma once

#include "exec/engine.h"

/* Per key: a byte for null (unless the key is never null), then the value: big-endian with the sign flipped; strings
 * with 0x00 as 0x00 0xFF and 0x00 0x00 at the end; all bytes of the value inverted when descending. */
typedef struct nl_sort_keys {
    uint32_t count;
    const nl_sort_key *keys;
    uint32_t fixed_bytes;      /* of a whole key, when is_fixed */
    bool is_fixed;
} nl_sort_keys;

void nl_sort_keys_init(nl_sort_keys *keys, const nl_sort_key *sort_keys, uint32_t count);
/* The keys of the selected rows, one after the other, in *bytes (owned); offsets: selection.count + 1 entries.
 * values: the key expressions' vectors. *partition_lengths (when partition_count > 0): bytes of the first
 * partition_count keys of each row. */
NL_MUST_USE nl_status nl_sort_keys_encode(const nl_sort_keys *keys, const nl_vector *values, nl_selection selection, uint32_t partition_count,
                                          nl_memory *memory, nl_buffer **bytes, uint32_t *offsets, uint32_t *partition_lengths);
