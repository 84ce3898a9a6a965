/* format/parquet/gather.c - the loops are stamped out per width; the width is looked at once per call. */
#include "format/parquet/gather.h"

typedef unsigned __int128 bytes16;

#define GATHER_LOOP(name, type)                                                                             \
    static void name(const type *restrict values, const uint32_t *restrict indices, uint32_t count, type *restrict out) \
    {                                                                                                       \
        for (uint32_t i = 0; i < count; i++) out[i] = values[indices[i]];                                   \
    }
GATHER_LOOP(gather_1, uint8_t)
GATHER_LOOP(gather_2, uint16_t)
GATHER_LOOP(gather_4, uint32_t)
GATHER_LOOP(gather_8, uint64_t)
GATHER_LOOP(gather_16, bytes16)

void nl_gather_values(const void *values, uint32_t value_bytes, const uint32_t *indices, uint32_t count, void *out)
{
    switch (value_bytes) {
    case 1: gather_1(values, indices, count, out); return;
    case 2: gather_2(values, indices, count, out); return;
    case 4: gather_4(values, indices, count, out); return;
    case 8: gather_8(values, indices, count, out); return;
    case 16: gather_16(values, indices, count, out); return;
    default: NL_ASSERT(value_bytes == 16);
    }
}

/* Without a branch: the next dense value is always read and kept or masked out. */
#define SPREAD_LOOP(name, type)                                                                             \
    static void name(const type *restrict dense, const uint8_t *restrict bits, uint32_t start, uint32_t count, type *restrict out) \
    {                                                                                                       \
        uint32_t next = 0;                                                                                  \
        for (uint32_t i = 0; i < count; i++) {                                                              \
            const type is_valid = nl_bit_get(bits, start + i);                                              \
            out[i] = (type)(dense[next] & (type)(0 - is_valid));                                            \
            next += (uint32_t)is_valid;                                                                     \
        }                                                                                                   \
    }
SPREAD_LOOP(spread_1, uint8_t)
SPREAD_LOOP(spread_2, uint16_t)
SPREAD_LOOP(spread_4, uint32_t)
SPREAD_LOOP(spread_8, uint64_t)
SPREAD_LOOP(spread_16, bytes16)

void nl_spread_values(const void *dense, uint32_t value_bytes, const uint8_t *bits, uint32_t start, uint32_t count, void *out)
{
    uint8_t *target = (uint8_t *)out + (size_t)start * value_bytes;
    switch (value_bytes) {
    case 1: spread_1(dense, bits, start, count, target); return;
    case 2: spread_2(dense, bits, start, count, (uint16_t *)(void *)target); return;
    case 4: spread_4(dense, bits, start, count, (uint32_t *)(void *)target); return;
    case 8: spread_8(dense, bits, start, count, (uint64_t *)(void *)target); return;
    case 16: spread_16(dense, bits, start, count, (bytes16 *)(void *)target); return;
    default: NL_ASSERT(value_bytes == 16);
    }
}

uint32_t nl_bits_of_levels(const uint8_t *levels, uint8_t max, uint8_t *bits, uint32_t start, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = start + i;
        const uint32_t is_set = levels[i] == max;
        bits[row >> 3] = (uint8_t)(bits[row >> 3] | (is_set << (row & 7)));
        set += is_set;
    }
    return set;
}

uint32_t nl_count_levels(const uint8_t *levels, uint8_t max, uint32_t count)
{
    uint32_t set = 0;
    for (uint32_t i = 0; i < count; i++) set += levels[i] == max;
    return set;
}
