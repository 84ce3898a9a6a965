/* format/parquet/bloom.c - a hash picks a block by its upper half and one bit in each of the block's eight words. */
#include "format/parquet/bloom.h"

#include <math.h>

#include "base/hash.h"

#define WORDS 8u

static const uint32_t salts[WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du, 0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};

size_t nl_bloom_block_offset(size_t length, uint64_t hash)
{
    const uint64_t block_count = length / NL_BLOOM_BLOCK_BYTES;
    return (size_t)(((hash >> 32) * block_count) >> 32) * NL_BLOOM_BLOCK_BYTES;
}

bool nl_bloom_may_contain(const uint8_t *bits, size_t length, uint64_t hash)
{
    if (length < NL_BLOOM_BLOCK_BYTES) return true;
    uint32_t words[WORDS];
    memcpy(words, bits + nl_bloom_block_offset(length, hash), sizeof(words));
    const uint32_t key = (uint32_t)hash;
    for (uint32_t i = 0; i < WORDS; i++) {
        if (!(words[i] & (1u << ((key * salts[i]) >> 27)))) return false;
    }
    return true;
}

void nl_bloom_insert(uint8_t *bits, size_t length, uint64_t hash)
{
    uint32_t words[WORDS];
    uint8_t *block = bits + nl_bloom_block_offset(length, hash);
    memcpy(words, block, sizeof(words));
    const uint32_t key = (uint32_t)hash;
    for (uint32_t i = 0; i < WORDS; i++) words[i] |= 1u << ((key * salts[i]) >> 27);
    memcpy(block, words, sizeof(words));
}

size_t nl_bloom_size(uint64_t distinct, double fpp, size_t bytes_max)
{
    /* BloomFilter.md: bits = -8 * distinct / ln(1 - fpp^(1/8)) */
    const double bits = -8.0 * (double)distinct / log(1.0 - pow(fpp, 1.0 / 8.0));
    size_t bytes = NL_BLOOM_BLOCK_BYTES;
    while (bytes * 2 <= bytes_max && (double)bytes * 8.0 < bits) bytes *= 2;
    return bytes;
}

static double probability(const uint8_t *bits, size_t length)
{
    uint64_t set = 0;
    for (size_t i = 0; i + 8 <= length; i += 8) {
        uint64_t word;
        memcpy(&word, bits + i, sizeof(word));
        set += (uint64_t)__builtin_popcountll(word);
    }
    return pow((double)set / ((double)length * 8.0), 8.0);
}

/* Block i of n/2 is picked by exactly the hashes that picked blocks 2i and 2i+1 of n. After folding, bits double in
 * density, so the probability grows by up to 2^8. */
size_t nl_bloom_fold(uint8_t *bits, size_t length, double fpp)
{
    while (length > NL_BLOOM_BLOCK_BYTES && probability(bits, length) * 256.0 <= fpp) {
        for (size_t i = 0; i < length / 2; i += NL_BLOOM_BLOCK_BYTES) {
            for (size_t k = 0; k < NL_BLOOM_BLOCK_BYTES; k++)
                bits[i + k] = (uint8_t)(bits[2 * i + k] | bits[2 * i + NL_BLOOM_BLOCK_BYTES + k]);
        }
        length /= 2;
    }
    return length;
}

uint64_t nl_bloom_hash(nl_bytes plain)
{
    return nl_xxhash64(plain.data, plain.length, 0);
}
