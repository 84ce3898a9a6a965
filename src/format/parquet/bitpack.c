/* format/parquet/bitpack.c - the unpackers, unrolled per width so that every shift and offset is a constant.
 *
 * 32 values of width w take 4w bytes, so each block of 32 starts at a byte. A block becomes straight-line code of one
 * unaligned load, one shift and one mask per value. Source: Parquet format, Encodings, RLE (the packing order).
 */
#include "format/parquet/bitpack.h"

#include "base/status.h"

#define BLOCK 32u

static inline __attribute__((always_inline)) void unpack_block(const uint8_t *in, const uint32_t width, uint32_t *out)
{
    const uint64_t mask = (1ull << width) - 1;
#pragma GCC unroll 32
    for (uint32_t i = 0; i < BLOCK; i++) {
        const uint32_t bit = i * width;
        out[i] = (uint32_t)((nl_bitpack_load(in + (bit >> 3)) >> (bit & 7)) & mask);
    }
}

#define EACH_WIDTH(X)                                                                                               \
    X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) X(17) X(18) X(19) X(20) \
    X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)

#define UNPACK_FUNCTION(width)                                                             \
    static void unpack_##width(const uint8_t *in, uint32_t block_count, uint32_t *out)     \
    {                                                                                      \
        for (uint32_t b = 0; b < block_count; b++, in += 4 * (width), out += BLOCK)        \
            unpack_block(in, (width), out);                                                \
    }
EACH_WIDTH(UNPACK_FUNCTION)

static void unpack_0(const uint8_t *in, uint32_t block_count, uint32_t *out)
{
    (void)in;
    memset(out, 0, (size_t)block_count * BLOCK * sizeof(*out));
}

#define UNPACK_ROW(width) unpack_##width,
static void (*const unpackers[33])(const uint8_t *, uint32_t, uint32_t *) = {unpack_0, EACH_WIDTH(UNPACK_ROW)};

void nl_bitpack_unpack32(const uint8_t *packed, uint64_t start, uint32_t width, uint32_t count, uint32_t *out)
{
    NL_ASSERT(width <= 32);
    for (; count > 0 && (start & 7) != 0; count--) *out++ = (uint32_t)nl_bitpack_get(packed, start++, width);
    const uint8_t *at = packed + (start >> 3) * width;
    const uint32_t block_count = count / BLOCK;
    unpackers[width](at, block_count, out);
    at += (size_t)block_count * 4 * width;
    out += block_count * BLOCK;
    for (uint32_t i = 0; i < count % BLOCK; i++) out[i] = (uint32_t)nl_bitpack_get(at, i, width);
}

void nl_bitpack_unpack8(const uint8_t *packed, uint64_t start, uint32_t width, uint32_t count, uint8_t *out)
{
    NL_ASSERT(width <= 8);
    for (uint32_t i = 0; i < count; i++) out[i] = (uint8_t)nl_bitpack_get(packed, start + i, width);
}

void nl_bitpack_unpack64(const uint8_t *packed, uint32_t width, uint32_t count, uint64_t *out)
{
    NL_ASSERT(width <= 64);
    if (width <= 57) {
        for (uint32_t i = 0; i < count; i++) out[i] = nl_bitpack_get(packed, i, width);
        return;
    }
    const uint64_t mask = width == 64 ? UINT64_MAX : (1ull << width) - 1;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t bit = (uint64_t)i * width;
        const uint8_t *at = packed + (bit >> 3);
        const uint32_t shift = bit & 7;
        uint64_t value = nl_bitpack_load(at) >> shift;
        if (shift > 0) value |= (uint64_t)at[8] << (64 - shift);
        out[i] = value & mask;
    }
}

void nl_bitpack_pack32(const uint32_t *values, uint32_t count, uint32_t width, uint8_t *out)
{
    uint64_t held = 0;
    uint32_t held_bits = 0;
    for (uint32_t i = 0; i < count; i++) {
        held |= (uint64_t)values[i] << held_bits;
        held_bits += width;
        if (held_bits >= 32) { /* width <= 32, so at most 63 bits are held before this */
            const uint32_t low = (uint32_t)held;
            memcpy(out, &low, sizeof(low));
            out += sizeof(low);
            held >>= 32;
            held_bits -= 32;
        }
    }
    for (; held_bits > 0; held_bits = held_bits > 8 ? held_bits - 8 : 0) {
        *out++ = (uint8_t)held;
        held >>= 8;
    }
}
