/* format/parquet/rle.c - see rle.h. A run's head is a varint: odd for packed groups of 8 values, even for a run. */
#include "format/parquet/rle.h"

#include "column/bits.h"
#include "format/parquet/bitpack.h"

void nl_rle_init(nl_rle *rle, nl_bytes encoded, uint32_t width)
{
    NL_ASSERT(width <= 32);
    *rle = (nl_rle){.at = encoded.data, .end = encoded.data + encoded.length, .width = width};
}

static bool read_varint(nl_rle *rle, uint32_t *value)
{
    uint64_t sum = 0;
    for (uint32_t shift = 0; shift < 35 && rle->at < rle->end; shift += 7) {
        const uint8_t byte = *rle->at++;
        sum |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = (uint32_t)sum;
            return sum <= UINT32_MAX;
        }
    }
    return false;
}

static bool start_packed(nl_rle *rle, uint32_t group_count)
{
    const size_t available = (size_t)(rle->end - rle->at);
    uint64_t value_count = (uint64_t)group_count * 8;
    uint64_t bytes = (uint64_t)group_count * rle->width;
    if (bytes > available) { /* the last group may be cut short where no more values exist */
        bytes = available;
        value_count = bytes * 8 / rle->width;
    }
    rle->is_run = false;
    rle->packed = rle->at;
    rle->packed_index = 0;
    rle->left = (uint32_t)NL_MIN(value_count, (uint64_t)UINT32_MAX);
    rle->at += bytes;
    return true;
}

static bool start_run(nl_rle *rle, uint32_t length)
{
    const size_t bytes = (rle->width + 7) / 8;
    if (bytes > (size_t)(rle->end - rle->at)) return false;
    uint32_t value = 0;
    for (size_t i = 0; i < bytes; i++) value |= (uint32_t)rle->at[i] << (8 * i);
    if (rle->width < 32 && (value >> rle->width) != 0) return false;
    rle->at += bytes;
    rle->is_run = true;
    rle->value = value;
    rle->left = length;
    return true;
}

bool nl_rle_refill(nl_rle *rle)
{
    while (rle->left == 0) { /* empty runs are legal and useless; each takes a byte, so this ends */
        uint32_t head = 0;
        if (!read_varint(rle, &head)) return false;
        if (!((head & 1) ? start_packed(rle, head >> 1) : start_run(rle, head >> 1))) return false;
    }
    return true;
}

bool nl_rle_read32(nl_rle *rle, uint32_t *out, uint32_t count)
{
    while (count > 0) {
        if (!nl_rle_refill(rle)) return false;
        const uint32_t part = NL_MIN(count, rle->left);
        if (rle->is_run) {
            for (uint32_t i = 0; i < part; i++) out[i] = rle->value;
        } else {
            nl_bitpack_unpack32(rle->packed, rle->packed_index, rle->width, part, out);
            rle->packed_index += part;
        }
        rle->left -= part;
        out += part;
        count -= part;
    }
    return true;
}

bool nl_rle_read8(nl_rle *rle, uint8_t *out, uint32_t count)
{
    NL_ASSERT(rle->width <= 8);
    while (count > 0) {
        if (!nl_rle_refill(rle)) return false;
        const uint32_t part = NL_MIN(count, rle->left);
        if (rle->is_run) {
            memset(out, (int)rle->value, part);
        } else {
            nl_bitpack_unpack8(rle->packed, rle->packed_index, rle->width, part, out);
            rle->packed_index += part;
        }
        rle->left -= part;
        out += part;
        count -= part;
    }
    return true;
}

bool nl_rle_skip(nl_rle *rle, uint64_t count)
{
    while (count > 0) {
        if (!nl_rle_refill(rle)) return false;
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)rle->left);
        rle->packed_index += part;
        rle->left -= part;
        count -= part;
    }
    return true;
}

static void pick_packed(const nl_rle *rle, const uint32_t *places, uint32_t count, uint64_t first, uint32_t *out)
{
    const uint64_t index = rle->packed_index - first;
    const uint32_t width = rle->width;
    for (uint32_t i = 0; i < count; i++) out[i] = (uint32_t)nl_bitpack_get(rle->packed, index + places[i], width);
}

bool nl_rle_pick32(nl_rle *rle, const uint32_t *places, uint32_t count, uint32_t *out)
{
    const uint64_t end = (uint64_t)places[count - 1] + 1;
    uint32_t i = 0;
    for (uint64_t first = 0; first < end;) { /* the place that the present run begins with, or what is left of it */
        if (!nl_rle_refill(rle)) return false;
        const uint64_t run_end = NL_MIN(first + rle->left, end);
        uint32_t here = i;
        while (here < count && places[here] < run_end) here++;
        if (rle->is_run) {
            for (; i < here; i++) out[i] = rle->value;
        } else {
            pick_packed(rle, places + i, here - i, first, out + i);
            i = here;
        }
        rle->packed_index += run_end - first;
        rle->left -= (uint32_t)(run_end - first);
        first = run_end;
    }
    return true;
}

bool nl_rle_read_bits(nl_rle *rle, uint8_t *bits, uint32_t start, uint32_t count, uint32_t *ones)
{
    NL_ASSERT(rle->width == 1);
    uint32_t set = 0;
    while (count > 0) {
        if (!nl_rle_refill(rle)) return false;
        const uint32_t part = NL_MIN(count, rle->left);
        if (rle->is_run) {
            if (rle->value) nl_bits_fill(bits, start, part, true);
            set += rle->value ? part : 0;
        } else {
            const uint8_t *source = rle->packed + (rle->packed_index >> 3);
            nl_bits_copy(bits, start, source, (uint32_t)(rle->packed_index & 7), part);
            set += nl_bits_count(bits, start, part);
            rle->packed_index += part;
        }
        rle->left -= part;
        start += part;
        count -= part;
    }
    *ones = set;
    return true;
}

static uint64_t count_packed(const nl_rle *rle, uint32_t part, uint32_t value)
{
    if (rle->width == 1) {
        const uint8_t *source = rle->packed + (rle->packed_index >> 3);
        const uint32_t ones = nl_bits_count(source, (uint32_t)(rle->packed_index & 7), part);
        return value == 1 ? ones : part - ones;
    }
    uint64_t equal = 0;
    for (uint32_t i = 0; i < part; i++) equal += nl_bitpack_get(rle->packed, rle->packed_index + i, rle->width) == value;
    return equal;
}

bool nl_rle_skip_count(nl_rle *rle, uint64_t count, uint32_t value, uint64_t *equal)
{
    uint64_t sum = 0;
    while (count > 0) {
        if (!nl_rle_refill(rle)) return false;
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)rle->left);
        if (rle->is_run)
            sum += rle->value == value ? part : 0;
        else
            sum += count_packed(rle, part, value);
        rle->packed_index += part;
        rle->left -= part;
        count -= part;
    }
    *equal = sum;
    return true;
}

size_t nl_rle_bound(uint32_t width, uint32_t count)
{
    /* Every value in packed groups, and a head for each run or group that may interrupt them. */
    return (size_t)(count / 8 + 1) * (width + 10) + 16;
}

static uint8_t *put_varint(uint8_t *out, uint32_t value)
{
    for (; value >= 0x80; value >>= 7) *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

/* Groups of 8 values from `values`; the last may be shorter than 8 and is filled with zeros. */
static uint8_t *put_packed(uint8_t *out, const uint32_t *values, uint32_t count, uint32_t width)
{
    if (count == 0) return out;
    const uint32_t group_count = (count + 7) / 8;
    out = put_varint(out, group_count << 1 | 1);
    const uint32_t whole = count & ~7u;
    if (width > 0) nl_bitpack_pack32(values, whole, width, out);
    out += (size_t)(whole / 8) * width;
    if (whole < count) {
        uint32_t rest[8] = {0};
        memcpy(rest, values + whole, (count - whole) * sizeof(*rest));
        if (width > 0) nl_bitpack_pack32(rest, 8, width, out);
        out += width;
    }
    return out;
}

static uint8_t *put_run(uint8_t *out, uint32_t value, uint32_t count, uint32_t width)
{
    out = put_varint(out, count << 1);
    for (uint32_t i = 0; i < (width + 7) / 8; i++) *out++ = (uint8_t)(value >> (8 * i));
    return out;
}

static uint32_t run_length(const uint32_t *values, uint32_t count)
{
    uint32_t length = 1;
    while (length < count && values[length] == values[0]) length++;
    return length;
}

size_t nl_rle_encode(const uint32_t *values, uint32_t count, uint32_t width, uint8_t *out)
{
    uint8_t *at = out;
    uint32_t packed_start = 0; /* values from here on wait to be packed */
    for (uint32_t i = 0; i < count;) {
        uint32_t length = run_length(values + i, count - i);
        /* A packed group holds whole eights except at the very end, so a run gives its first values to it. */
        const uint32_t given = (8 - ((i - packed_start) & 7)) & 7;
        if (length < given + 8) {
            i += length;
            continue;
        }
        at = put_packed(at, values + packed_start, i + given - packed_start, width);
        at = put_run(at, values[i], length - given, width);
        i += length;
        packed_start = i;
    }
    at = put_packed(at, values + packed_start, count - packed_start, width);
    return (size_t)(at - out);
}

size_t nl_rle_encode_same(uint32_t value, uint32_t count, uint32_t width, uint8_t *out)
{
    return count > 0 ? (size_t)(put_run(out, value, count, width) - out) : 0;
}
