/* base/hash.c - MurmurHash3 x86 32 (Austin Appleby, public domain algorithm, 2011) in the standard and in Spark's form,
 * XXH3 and XXH64 from libxxhash, CRC-32 from libdeflate. Words are read little-endian; so are the formats.
 */
#include "base/hash.h"

#include <libdeflate.h>
#include <xxhash.h>

static inline uint32_t rotate(uint32_t value, int count)
{
    return value << count | value >> (32 - count);
}

static inline uint32_t mix_key(uint32_t key)
{
    return rotate(key * 0xcc9e2d51u, 15) * 0x1b873593u;
}

static inline uint32_t mix_hash(uint32_t hash, uint32_t key)
{
    return rotate(hash ^ mix_key(key), 13) * 5 + 0xe6546b64u;
}

static inline uint32_t finish(uint32_t hash, uint32_t length)
{
    hash ^= length;
    hash ^= hash >> 16;
    hash *= 0x85ebca6bu;
    hash ^= hash >> 13;
    hash *= 0xc2b2ae35u;
    return hash ^ hash >> 16;
}

static inline uint32_t load_word(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t hash_words(const uint8_t *bytes, size_t word_count, uint32_t hash)
{
    for (size_t i = 0; i < word_count; i++) hash = mix_hash(hash, load_word(bytes + 4 * i));
    return hash;
}

uint32_t nl_murmur3_32(const void *data, size_t length, uint32_t seed)
{
    const uint8_t *bytes = data;
    uint32_t hash = hash_words(bytes, length / 4, seed);
    uint32_t tail = 0;
    for (size_t i = length & ~(size_t)3, shift = 0; i < length; i++, shift += 8) tail |= (uint32_t)bytes[i] << shift;
    if (length % 4 != 0) hash ^= mix_key(tail);
    return finish(hash, (uint32_t)length);
}

uint32_t nl_spark_murmur3_int(int32_t value, uint32_t seed)
{
    return finish(mix_hash(seed, (uint32_t)value), 4);
}

uint32_t nl_spark_murmur3_long(int64_t value, uint32_t seed)
{
    uint32_t hash = mix_hash(seed, (uint32_t)value);
    return finish(mix_hash(hash, (uint32_t)((uint64_t)value >> 32)), 8);
}

uint32_t nl_spark_murmur3_bytes(const void *data, size_t length, uint32_t seed)
{
    const uint8_t *bytes = data;
    uint32_t hash = hash_words(bytes, length / 4, seed);
    for (size_t i = length & ~(size_t)3; i < length; i++) hash = mix_hash(hash, (uint32_t)(int8_t)bytes[i]);
    return finish(hash, (uint32_t)length);
}

uint64_t nl_hash_bytes(const void *data, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, length, seed);
}

uint64_t nl_xxhash64(const void *data, size_t length, uint64_t seed)
{
    return XXH64(data, length, seed);
}

/* Spark's forms for numbers are XXH64 over the value's little-endian bytes. */
uint64_t nl_spark_xxhash64_int(int32_t value, uint64_t seed)
{
    return XXH64(&value, sizeof value, seed);
}

uint64_t nl_spark_xxhash64_long(int64_t value, uint64_t seed)
{
    return XXH64(&value, sizeof value, seed);
}

uint32_t nl_crc32(const void *data, size_t length, uint32_t start)
{
    return length == 0 ? start : libdeflate_crc32(start, data, length);
}
