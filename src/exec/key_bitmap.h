/* exec/key_bitmap.h - which integer keys a build side has, exactly: one bit per value between the least and the greatest.
 * Keys of tables are dense most of the time; then the bits are fewer than a Bloom filter's and need no hash.
 */
#pragma once

#include "base/memory.h"

typedef struct nl_key_bitmap {
    nl_buffer *buffer;
    uint64_t *words; /* NULL: there is none */
    int64_t lower;
    uint64_t span;   /* values, at least 1 */
} nl_key_bitmap;

static inline void nl_key_bitmap_add(nl_key_bitmap *bitmap, int64_t value) /* by any thread */
{
    const uint64_t at = (uint64_t)value - (uint64_t)bitmap->lower;
    const uint64_t bit = 1ull << (at & 63);
    uint64_t *word = &bitmap->words[at >> 6];
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}
static inline bool nl_key_bitmap_has(const nl_key_bitmap *bitmap, int64_t value)
{
    const uint64_t at = (uint64_t)value - (uint64_t)bitmap->lower;
    const bool is_inside = at < bitmap->span;
    const uint64_t place = is_inside ? at : 0;
    return bitmap->words[place >> 6] >> (place & 63) & is_inside;
}
