/* format/parquet/bitpack.h - values of 0 to 64 bits packed one behind the other, least significant bit first.
 *
 * Readers load whole words: at least 16 bytes behind the packed ones must be readable, which the padding of every
 * nl_buffer allows.
 */
#pragma once

#include <stdint.h>
#include <string.h>

static inline uint64_t nl_bitpack_load(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof(word));
    return word;
}

/* Value `index` of a packed sequence; width 0 … 57. */
static inline uint64_t nl_bitpack_get(const uint8_t *packed, uint64_t index, uint32_t width)
{
    const uint64_t bit = index * width;
    return (nl_bitpack_load(packed + (bit >> 3)) >> (bit & 7)) & ((1ull << width) - 1);
}

/* `count` values of width 0 … 32, from value `start` on. */
void nl_bitpack_unpack32(const uint8_t *packed, uint64_t start, uint32_t width, uint32_t count, uint32_t *out);
/* The same for levels: width 0 … 8. */
void nl_bitpack_unpack8(const uint8_t *packed, uint64_t start, uint32_t width, uint32_t count, uint8_t *out);
/* `count` values of width 0 … 64 from the start. */
void nl_bitpack_unpack64(const uint8_t *packed, uint32_t width, uint32_t count, uint64_t *out);

/* Packs `count` values of width 1 … 32; writes (count * width + 7) / 8 bytes. Bits above width must be zero. */
void nl_bitpack_pack32(const uint32_t *values, uint32_t count, uint32_t width, uint8_t *out);
