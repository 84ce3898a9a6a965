/* format/parquet/delta.c - blocks of a minimum delta, the miniblocks' bit widths, and their packed differences to it. */
#include "format/parquet/delta.h"

#include "format/parquet/bitpack.h"

/* Writers use blocks of 128 or some multiple; the limits keep a few bytes from announcing billions of values. */
#define BLOCK_VALUES_MAX (1u << 16)

static bool read_uvarint(nl_delta *delta, uint64_t *value)
{
    uint64_t sum = 0;
    for (uint32_t shift = 0; shift < 70 && delta->at < delta->end; shift += 7) {
        const uint8_t byte = *delta->at++;
        if (shift == 63 && byte > 1) return false;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = sum;
            return true;
        }
    }
    return false;
}

static bool read_zigzag(nl_delta *delta, uint64_t *value)
{
    uint64_t raw = 0;
    if (!read_uvarint(delta, &raw)) return false;
    *value = (raw >> 1) ^ (0 - (raw & 1));
    return true;
}

bool nl_delta_init(nl_delta *delta, nl_bytes encoded, uint64_t *value_count)
{
    *delta = (nl_delta){.at = encoded.data, .end = encoded.data + encoded.length};
    uint64_t block_values = 0;
    uint64_t miniblock_count = 0;
    if (!read_uvarint(delta, &block_values) || !read_uvarint(delta, &miniblock_count)) return false;
    if (!read_uvarint(delta, &delta->values_left) || !read_zigzag(delta, &delta->last)) return false;
    if (block_values == 0 || block_values > BLOCK_VALUES_MAX || miniblock_count == 0 || miniblock_count > block_values) return false;
    if (block_values % miniblock_count != 0 || (block_values / miniblock_count) % NL_DELTA_GROUP != 0) return false;
    delta->miniblock_count = (uint32_t)miniblock_count;
    delta->miniblock_values = (uint32_t)(block_values / miniblock_count);
    delta->miniblock = delta->miniblock_count;
    delta->is_first_pending = true;
    if (value_count != NULL) *value_count = delta->values_left;
    return true;
}

static bool next_block(nl_delta *delta)
{
    if (!read_zigzag(delta, &delta->delta_min)) return false;
    if ((size_t)(delta->end - delta->at) < delta->miniblock_count) return false;
    delta->widths = delta->at;
    delta->at += delta->miniblock_count;
    delta->miniblock = 0;
    return true;
}

static bool next_miniblock(nl_delta *delta)
{
    if (delta->miniblock == delta->miniblock_count && !next_block(delta)) return false;
    delta->width = delta->widths[delta->miniblock++];
    delta->miniblock_left = delta->miniblock_values;
    return delta->width <= 64;
}

static bool next_group(nl_delta *delta)
{
    if (delta->miniblock_left == 0 && !next_miniblock(delta)) return false;
    const size_t bytes = (size_t)delta->width * NL_DELTA_GROUP / 8;
    const size_t available = (size_t)(delta->end - delta->at);
    if (bytes <= available) {
        nl_bitpack_unpack64(delta->at, delta->width, NL_DELTA_GROUP, delta->group);
        delta->at += bytes;
    } else { /* the very last miniblock may lack the bytes of values that do not exist */
        uint8_t rest[NL_DELTA_GROUP * sizeof(uint64_t) + 16] = {0};
        const uint64_t needed_bits = NL_MIN(delta->values_left, (uint64_t)NL_DELTA_GROUP) * delta->width;
        if (available * 8 < needed_bits) return false;
        memcpy(rest, delta->at, available);
        nl_bitpack_unpack64(rest, delta->width, NL_DELTA_GROUP, delta->group);
        delta->at = delta->end;
    }
    delta->miniblock_left -= NL_DELTA_GROUP;
    delta->group_used = 0;
    delta->group_count = NL_DELTA_GROUP;
    return true;
}

bool nl_delta_read(nl_delta *delta, uint64_t *out, uint32_t count)
{
    if (count > delta->values_left) return false;
    uint32_t done = 0;
    if (count > 0 && delta->is_first_pending) {
        delta->is_first_pending = false;
        delta->values_left--;
        out[done++] = delta->last;
    }
    while (done < count) {
        if (delta->group_used == delta->group_count && !next_group(delta)) return false;
        const uint32_t part = NL_MIN(count - done, delta->group_count - delta->group_used);
        const uint64_t *deltas = delta->group + delta->group_used;
        uint64_t last = delta->last;
        for (uint32_t i = 0; i < part; i++) {
            last += deltas[i] + delta->delta_min;
            out[done + i] = last;
        }
        delta->last = last;
        delta->group_used += part;
        delta->values_left -= part;
        done += part;
    }
    return true;
}

bool nl_delta_skip(nl_delta *delta, uint64_t count)
{
    uint64_t ignored[256]; /* skipped values still have to be summed up */
    while (count > 0) {
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)NL_COUNT(ignored));
        if (!nl_delta_read(delta, ignored, part)) return false;
        count -= part;
    }
    return true;
}

bool nl_delta_find_end(nl_delta *delta, const uint8_t **end)
{
    NL_ASSERT(delta->is_first_pending);
    uint64_t left = delta->values_left > 0 ? delta->values_left - 1 : 0;
    while (left > 0) {
        if (!next_miniblock(delta)) return false;
        const size_t bytes = (size_t)delta->width * delta->miniblock_values / 8;
        if (bytes > (size_t)(delta->end - delta->at)) return false;
        delta->at += bytes;
        left -= NL_MIN(left, (uint64_t)delta->miniblock_values);
    }
    *end = delta->at;
    return true;
}
