/* format/parquet/bloom.h - split-block Bloom filters. Source: Parquet format, BloomFilter.md (XXH64 with seed 0). */
#pragma once

#include "base/memory.h"
#include "base/str.h"

#define NL_BLOOM_BLOCK_BYTES 32u
#define NL_BLOOM_BYTES_MAX   (128u << 20)

/* bits: length bytes, a multiple of the block's. */
bool nl_bloom_may_contain(const uint8_t *bits, size_t length, uint64_t hash);
size_t nl_bloom_block_offset(size_t length, uint64_t hash); /* of the one block a hash looks at */
void nl_bloom_insert(uint8_t *bits, size_t length, uint64_t hash);
/* Bytes, a power of two, for `distinct` values and a false positive probability; at most bytes_max. */
size_t nl_bloom_size(uint64_t distinct, double fpp, size_t bytes_max);
/* Halves the filter as long as the probability stays below fpp. Returns the new length. */
size_t nl_bloom_fold(uint8_t *bits, size_t length, double fpp);
uint64_t nl_bloom_hash(nl_bytes plain); /* of a value's PLAIN bytes; strings without their length */
