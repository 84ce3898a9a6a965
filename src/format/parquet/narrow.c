/* format/parquet/narrow.c - see narrow.h. Frame of reference: (Goldstein, Ramakrishnan and Shaft, 1998). */
#include "format/parquet/narrow.h"

#include "format/parquet/bitpack.h"

#define PART_VALUES 512u
#define WIDTH_MAX_32 24u /* of four-byte integers: above it little is saved */
#define WIDTH_MAX_64 32u

/* The least and the greatest in two passes over small parts would be no faster: one pass, which vectorises. */
#define RANGE_LOOP(name, type)                                                                                 \
    static void name(const uint8_t *restrict values, uint32_t count, int64_t *least, int64_t *greatest)        \
    {                                                                                                          \
        type low;                                                                                              \
        memcpy(&low, values, sizeof(low));                                                                     \
        type high = low;                                                                                       \
        for (uint32_t i = 0; i < count; i++) {                                                                 \
            type value;                                                                                        \
            memcpy(&value, values + (size_t)i * sizeof(value), sizeof(value));                                 \
            low = value < low ? value : low;                                                                   \
            high = value > high ? value : high;                                                                \
        }                                                                                                      \
        *least = low;                                                                                          \
        *greatest = high;                                                                                      \
    }
RANGE_LOOP(range_32, int32_t)
RANGE_LOOP(range_64, int64_t)

bool nl_narrow_plan(const uint8_t *values, uint32_t count, uint32_t value_bytes, nl_narrow *narrow)
{
    NL_ASSERT(value_bytes == 4 || value_bytes == 8);
    int64_t least = 0;
    int64_t greatest = 0;
    if (count == 0) return false;
    if (value_bytes == 4)
        range_32(values, count, &least, &greatest);
    else
        range_64(values, count, &least, &greatest);
    const uint64_t range = (uint64_t)greatest - (uint64_t)least;
    const uint32_t width = range == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(range);
    if (width > (value_bytes == 4 ? WIDTH_MAX_32 : WIDTH_MAX_64)) return false;
    *narrow = (nl_narrow){.least = least, .width = width, .count = count};
    return true;
}

size_t nl_narrow_bytes(const nl_narrow *narrow)
{
    return (size_t)(((uint64_t)narrow->count * narrow->width + 7) / 8);
}

void nl_narrow_pack(const nl_narrow *narrow, const uint8_t *values, uint32_t value_bytes, uint8_t *packed)
{
    uint32_t part[PART_VALUES]; /* a multiple of 8: each part begins at a byte */
    if (narrow->width == 0) return;
    for (uint32_t done = 0; done < narrow->count; done += PART_VALUES) {
        const uint32_t count = NL_MIN(narrow->count - done, PART_VALUES);
        for (uint32_t i = 0; i < count; i++) {
            int64_t value = 0;
            int32_t short_value;
            const uint8_t *at = values + (size_t)(done + i) * value_bytes;
            if (value_bytes == 8) {
                memcpy(&value, at, sizeof(value));
            } else {
                memcpy(&short_value, at, sizeof(short_value));
                value = short_value;
            }
            part[i] = (uint32_t)((uint64_t)value - (uint64_t)narrow->least);
        }
        nl_bitpack_pack32(part, count, narrow->width, packed + (size_t)done / 8 * narrow->width);
    }
}

void nl_narrow_read(const nl_narrow *narrow, const uint8_t *packed, uint64_t start, uint32_t count, uint32_t value_bytes, void *out)
{
    NL_ASSERT(start + count <= narrow->count);
    uint32_t part[PART_VALUES];
    for (uint32_t done = 0; done < count; done += PART_VALUES) {
        const uint32_t length = NL_MIN(count - done, PART_VALUES);
        if (narrow->width == 0)
            memset(part, 0, length * sizeof(*part));
        else
            nl_bitpack_unpack32(packed, start + done, narrow->width, length, part);
        if (value_bytes == 8) {
            int64_t *values = (int64_t *)out + done;
            for (uint32_t i = 0; i < length; i++) values[i] = (int64_t)((uint64_t)narrow->least + part[i]);
        } else {
            int32_t *values = (int32_t *)out + done;
            const uint32_t least = (uint32_t)(uint64_t)narrow->least;
            for (uint32_t i = 0; i < length; i++) values[i] = (int32_t)(least + part[i]);
        }
    }
}

void nl_narrow_pick(const nl_narrow *narrow, const uint8_t *packed, uint64_t start, const uint32_t *places, uint32_t count, uint32_t value_bytes, void *out)
{
    const uint32_t width = narrow->width;
    const uint64_t least = (uint64_t)narrow->least;
    if (value_bytes == 8) {
        int64_t *values = out;
        for (uint32_t i = 0; i < count; i++) values[i] = (int64_t)(least + nl_bitpack_get(packed, start + places[i], width));
    } else {
        int32_t *values = out;
        for (uint32_t i = 0; i < count; i++) values[i] = (int32_t)(uint32_t)(least + nl_bitpack_get(packed, start + places[i], width));
    }
}
