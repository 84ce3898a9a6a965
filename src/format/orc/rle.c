/* format/orc/rle.c - see rle.h. Source: ORC specification v1, Run Length Encoding. */
#include "format/orc/rle.h"

#include "base/status.h"

/* ---- bytes ---- */

void nl_orc_byte_reader_init(nl_orc_byte_reader *reader, nl_orc_stream *stream)
{
    *reader = (nl_orc_byte_reader){.stream = stream};
}

static void next_group(nl_orc_byte_reader *reader)
{
    const uint8_t control = nl_orc_stream_u8(reader->stream);
    reader->is_run = control < 0x80;
    reader->left = reader->is_run ? control + 3u : 256u - control;
    if (reader->is_run) reader->value = nl_orc_stream_u8(reader->stream);
}

void nl_orc_byte_reader_read(nl_orc_byte_reader *reader, uint8_t *into, size_t count)
{
    while (count > 0) {
        if (reader->left == 0) next_group(reader);
        if (reader->stream->error) {
            memset(into, 0, count);
            return;
        }
        const size_t part = NL_MIN(count, (size_t)reader->left);
        if (reader->is_run) memset(into, reader->value, part);
        else nl_orc_stream_read(reader->stream, into, part);
        reader->left -= (uint32_t)part;
        into += part;
        count -= part;
    }
}

void nl_orc_byte_reader_skip(nl_orc_byte_reader *reader, uint64_t count)
{
    while (count > 0) {
        if (reader->left == 0) next_group(reader);
        if (reader->stream->error) return;
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)reader->left);
        if (!reader->is_run) nl_orc_stream_skip(reader->stream, part);
        reader->left -= part;
        count -= part;
    }
}

/* ---- bits ---- */

void nl_orc_bit_reader_init(nl_orc_bit_reader *reader, nl_orc_stream *stream)
{
    *reader = (nl_orc_bit_reader){.bytes = {.stream = stream}};
}

static bool next_bit(nl_orc_bit_reader *reader)
{
    if (reader->left == 0) {
        nl_orc_byte_reader_read(&reader->bytes, &reader->byte, 1);
        reader->left = 8;
    }
    return reader->byte >> --reader->left & 1;
}

static uint8_t reversed(uint8_t byte)
{
    byte = (uint8_t)(byte >> 4 | byte << 4);
    byte = (uint8_t)((byte & 0xcc) >> 2 | (byte & 0x33) << 2);
    return (uint8_t)((byte & 0xaa) >> 1 | (byte & 0x55) << 1);
}

uint64_t nl_orc_bit_reader_read(nl_orc_bit_reader *reader, uint8_t *into, size_t count)
{
    uint64_t set = 0;
    size_t done = 0;
    if (reader->left == 0) { /* whole bytes at once */
        nl_orc_byte_reader_read(&reader->bytes, into, count / 8);
        for (size_t i = 0; i < count / 8; i++) {
            set += (uint64_t)__builtin_popcount(into[i]);
            into[i] = reversed(into[i]);
        }
        done = count / 8 * 8;
    }
    memset(into + done / 8, 0, (count + 7) / 8 - done / 8);
    for (; done < count; done++) {
        if (!next_bit(reader)) continue;
        into[done / 8] = (uint8_t)(into[done / 8] | 1u << (done % 8));
        set++;
    }
    return set;
}

void nl_orc_bit_reader_read_bytes(nl_orc_bit_reader *reader, uint8_t *into, size_t count)
{
    for (size_t i = 0; i < count; i++) into[i] = next_bit(reader);
}

uint64_t nl_orc_bit_reader_skip(nl_orc_bit_reader *reader, uint64_t count)
{
    uint64_t set = 0;
    for (; count > 0 && reader->left > 0; count--) set += next_bit(reader);
    while (count >= 8 && !reader->bytes.stream->error) {
        uint8_t bytes[256];
        const size_t part = (size_t)NL_MIN(count / 8, (uint64_t)sizeof(bytes));
        nl_orc_byte_reader_read(&reader->bytes, bytes, part);
        for (size_t i = 0; i < part; i++) set += (uint64_t)__builtin_popcount(bytes[i]);
        count -= part * 8;
    }
    for (; count > 0 && !reader->bytes.stream->error; count--) set += next_bit(reader);
    return set;
}

/* ---- integers ---- */

static int64_t unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/* The table of widths: 24 codes for 1 to 24 bits, then 26, 28, 30, 32, 40, 48, 56, 64. */
static uint32_t width_of(uint32_t code)
{
    static const uint8_t wide[] = {26, 28, 30, 32, 40, 48, 56, 64};
    return code < 24 ? code + 1 : wide[code - 24];
}

/* Widths of a patch and its gap together are rounded up to one of the table. */
static uint32_t rounded_width(uint32_t width)
{
    if (width <= 24) return NL_MAX(width, 1u);
    if (width <= 32) return (width + 1) / 2 * 2;
    return (width + 7) / 8 * 8;
}

static uint64_t big_endian(nl_orc_stream *stream, uint32_t bytes)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) value = value << 8 | nl_orc_stream_u8(stream);
    return value;
}

/* `count` values of `width` bits, most significant bit first, out of bytes with 8 readable ones behind them. */
static void unpack(const uint8_t *bytes, uint32_t width, uint32_t count, uint64_t *into)
{
    if (width == 64) {
        for (uint32_t i = 0; i < count; i++) {
            uint64_t word;
            memcpy(&word, bytes + i * 8u, sizeof(word));
            into[i] = __builtin_bswap64(word);
        }
        return;
    }
    for (uint32_t i = 0, bit = 0; i < count; i++, bit += width) { /* 56 bits and 7 of a shift fit into a word */
        uint64_t word;
        memcpy(&word, bytes + bit / 8, sizeof(word));
        into[i] = __builtin_bswap64(word) << (bit % 8) >> (64 - width);
    }
}

static void read_packed(nl_orc_stream *stream, uint32_t width, uint32_t count, uint64_t *into)
{
    uint8_t bytes[NL_ORC_RUN_MAX * 8 + 8];
    const size_t length = ((size_t)width * count + 7) / 8;
    nl_orc_stream_read(stream, bytes, length);
    memset(bytes + length, 0, 8);
    unpack(bytes, width, count, into);
}

static uint32_t read_repeat(nl_orc_int_reader *reader, uint8_t first, int64_t *into)
{
    const uint32_t count = (first & 7u) + 3;
    const uint64_t bits = big_endian(reader->stream, (first >> 3 & 7u) + 1);
    const int64_t value = reader->is_signed ? unzigzag(bits) : (int64_t)bits;
    for (uint32_t i = 0; i < count; i++) into[i] = value;
    return count;
}

static uint32_t read_direct(nl_orc_int_reader *reader, uint32_t width, uint32_t count, int64_t *into)
{
    read_packed(reader->stream, width, count, (uint64_t *)into);
    for (uint32_t i = 0; reader->is_signed && i < count; i++) into[i] = unzigzag((uint64_t)into[i]);
    return count;
}

static uint32_t read_patched(nl_orc_int_reader *reader, uint32_t width, uint32_t count, int64_t *into)
{
    const uint8_t third = nl_orc_stream_u8(reader->stream), fourth = nl_orc_stream_u8(reader->stream);
    const uint32_t base_bytes = (third >> 5) + 1u, patch_width = width_of(third & 31u);
    const uint32_t gap_width = (fourth >> 5) + 1u, patch_count = fourth & 31u;
    uint64_t patches[31];
    if (gap_width + patch_width > 64) {
        nl_orc_stream_fail(reader->stream, "patches of more than 64 bits");
        return count;
    }
    const uint64_t base_bits = big_endian(reader->stream, base_bytes);
    const uint64_t sign = 1ull << (base_bytes * 8 - 1);
    const uint64_t base = base_bits & sign ? 0 - (base_bits & (sign - 1)) : base_bits;
    read_packed(reader->stream, width, count, (uint64_t *)into);
    read_packed(reader->stream, rounded_width(gap_width + patch_width), patch_count, patches);
    uint64_t at = 0;
    for (uint32_t i = 0; i < patch_count; i++) {
        const uint64_t patch = patch_width == 64 ? patches[i] : patches[i] & ((1ull << patch_width) - 1);
        at += patches[i] >> patch_width;
        if (patch == 0) continue; /* only to go on by 255 */
        if (at >= count || width >= 64) {
            nl_orc_stream_fail(reader->stream, "a patch lies outside of its run");
            return count;
        }
        into[at] = (int64_t)((uint64_t)into[at] | patch << width);
    }
    for (uint32_t i = 0; i < count; i++) into[i] = (int64_t)(base + (uint64_t)into[i]);
    return count;
}

/* A width code of zero: every step is the first one. */
static uint32_t read_delta(nl_orc_int_reader *reader, uint32_t code, uint32_t count, int64_t *into)
{
    const uint64_t first = nl_orc_stream_uvarint(reader->stream);
    const int64_t step = unzigzag(nl_orc_stream_uvarint(reader->stream));
    uint64_t value = reader->is_signed ? (uint64_t)unzigzag(first) : first;
    into[0] = (int64_t)value;
    if (count > 1) into[1] = (int64_t)(value += (uint64_t)step);
    if (count > 2 && code > 0) read_packed(reader->stream, width_of(code), count - 2, (uint64_t *)into + 2);
    for (uint32_t i = 2; i < count; i++) {
        if (code == 0) value += (uint64_t)step;
        else value = step < 0 ? value - (uint64_t)into[i] : value + (uint64_t)into[i];
        into[i] = (int64_t)value;
    }
    return count;
}

/* Version 1: a run with a small step, or single numbers. At most 130 values. */
static uint32_t read_run_v1(nl_orc_int_reader *reader, int64_t *into)
{
    const uint8_t control = nl_orc_stream_u8(reader->stream);
    const uint32_t count = control < 0x80 ? control + 3u : 256u - control;
    if (control >= 0x80) {
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t bits = nl_orc_stream_uvarint(reader->stream);
            into[i] = reader->is_signed ? unzigzag(bits) : (int64_t)bits;
        }
        return count;
    }
    const int8_t step = (int8_t)nl_orc_stream_u8(reader->stream);
    const uint64_t bits = nl_orc_stream_uvarint(reader->stream);
    uint64_t value = reader->is_signed ? (uint64_t)unzigzag(bits) : bits;
    for (uint32_t i = 0; i < count; i++, value += (uint64_t)(int64_t)step) into[i] = (int64_t)value;
    return count;
}

/* The next run, at most NL_ORC_RUN_MAX values; returns how many. */
static uint32_t read_run(nl_orc_int_reader *reader, int64_t *into)
{
    if (!reader->is_v2) return read_run_v1(reader, into);
    const uint8_t first = nl_orc_stream_u8(reader->stream);
    if (first >> 6 == 0) return read_repeat(reader, first, into);
    const uint32_t code = first >> 1 & 31u;
    const uint32_t count = ((first & 1u) << 8 | nl_orc_stream_u8(reader->stream)) + 1;
    if (first >> 6 == 1) return read_direct(reader, width_of(code), count, into);
    if (first >> 6 == 2) return read_patched(reader, width_of(code), count, into);
    return read_delta(reader, code, count, into);
}

void nl_orc_int_reader_init(nl_orc_int_reader *reader, nl_orc_stream *stream, bool is_v2, bool is_signed)
{
    reader->stream = stream;
    reader->is_v2 = is_v2;
    reader->is_signed = is_signed;
    reader->at = reader->count = 0;
}

void nl_orc_int_reader_reset(nl_orc_int_reader *reader)
{
    reader->at = reader->count = 0;
}

static void fill(nl_orc_int_reader *reader)
{
    reader->at = 0;
    reader->count = read_run(reader, reader->values);
}

void nl_orc_int_reader_read(nl_orc_int_reader *reader, int64_t *into, size_t count)
{
    while (count > 0) {
        if (reader->stream->error) {
            memset(into, 0, count * sizeof(*into));
            return;
        }
        if (reader->at == reader->count && count >= NL_ORC_RUN_MAX) {
            const uint32_t got = read_run(reader, into);
            into += got;
            count -= got;
            continue;
        }
        if (reader->at == reader->count) fill(reader);
        const size_t part = NL_MIN(count, (size_t)(reader->count - reader->at));
        memcpy(into, reader->values + reader->at, part * sizeof(*into));
        reader->at += (uint32_t)part;
        into += part;
        count -= part;
    }
}

void nl_orc_int_reader_skip(nl_orc_int_reader *reader, uint64_t count)
{
    while (count > 0 && !reader->stream->error) {
        if (reader->at == reader->count) fill(reader);
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)(reader->count - reader->at));
        reader->at += part;
        count -= part;
    }
}

uint64_t nl_orc_int_reader_sum(nl_orc_int_reader *reader, uint64_t count, uint64_t most)
{
    uint64_t sum = 0;
    while (count > 0 && !reader->stream->error) {
        if (reader->at == reader->count) fill(reader);
        const uint32_t part = (uint32_t)NL_MIN(count, (uint64_t)(reader->count - reader->at));
        for (uint32_t i = 0; i < part; i++) {
            const uint64_t length = (uint64_t)reader->values[reader->at + i];
            if (length > most || sum > most - length) {
                nl_orc_stream_fail(reader->stream, "lengths that cannot be");
                return 0;
            }
            sum += length;
        }
        reader->at += part;
        count -= part;
    }
    return reader->stream->error ? 0 : sum;
}
