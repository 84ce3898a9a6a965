/* base/hash.h - hash functions. nl_hash_* is nilas's own choice inside the engine; the murmur3 and xxhash64 forms are
 * wire formats: Iceberg's bucket transform (spec, Appendix B), Spark's hash() and xxhash64(). */
#pragma once

#include "base/str.h"

uint64_t nl_hash_bytes(const void *data, size_t length, uint64_t seed); /* XXH3 */
static inline uint64_t nl_hash_u64(uint64_t value)                      /* Stafford's mix 13 (2011) */
{
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9ull;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebull;
    return value ^ (value >> 31);
}
static inline uint64_t nl_hash_mix(uint64_t a, uint64_t b)
{
    return nl_hash_u64(a + 0x9e3779b97f4a7c15ull + (b << 6) + (b >> 2)) ^ b;
}
uint32_t nl_murmur3_32(const void *data, size_t length, uint32_t seed);       /* the standard one (Iceberg, seed 0) */
uint32_t nl_spark_murmur3_int(int32_t value, uint32_t seed);                  /* org.apache.spark hash(int)         */
uint32_t nl_spark_murmur3_long(int64_t value, uint32_t seed);
uint32_t nl_spark_murmur3_bytes(const void *data, size_t length, uint32_t seed); /* tail bytes one by one, as Spark */
uint64_t nl_xxhash64(const void *data, size_t length, uint64_t seed);
uint64_t nl_spark_xxhash64_int(int32_t value, uint64_t seed);
uint64_t nl_spark_xxhash64_long(int64_t value, uint64_t seed);
uint32_t nl_crc32(const void *data, size_t length, uint32_t start);           /* zlib's polynomial; start 0 */
