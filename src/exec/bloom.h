/* exec/bloom.h - a Bloom filter of 64-bit blocks over nl_vector_hash values: one cache line, one word per question.
 *
 * Register-blocked as in Lang and others, "Performance-Optimal Filtering" (2019): four bits of one word, about 12 bits
 * per key for 2 % false positives.
 */
#pragma once

#include "base/memory.h"

typedef struct nl_bloom {
    nl_buffer *buffer;
    uint64_t *words;
    uint32_t shift; /* word = hash >> shift: rows that differ in the top four bits never share a word */
} nl_bloom;

NL_MUST_USE nl_status nl_bloom_init(nl_bloom *bloom, uint64_t key_count, nl_memory *memory);
void nl_bloom_fini(nl_bloom *bloom);

static inline uint64_t nl_bloom_bits(uint64_t hash)
{
    return 1ull << (hash & 63) | 1ull << (hash >> 6 & 63) | 1ull << (hash >> 12 & 63) | 1ull << (hash >> 18 & 63);
}
static inline void nl_bloom_add(nl_bloom *bloom, uint64_t hash)
{
    bloom->words[hash >> bloom->shift] |= nl_bloom_bits(hash);
}
static inline bool nl_bloom_may_contain(const nl_bloom *bloom, uint64_t hash)
{
    uint64_t bits = nl_bloom_bits(hash);
    return (bloom->words[hash >> bloom->shift] & bits) == bits;
}
