/* format/orc/out.c - see out.h. Source: ORC specification v1, Compression, Run Length Encoding. Integers are gathered to 512
 * and then cut: runs of equal ones, and what lies between them as steps or as they are, in widths that readers unpack fast. */
#include "format/orc/out.h"

#include "base/arena.h"

/* ---- chunks ---- */

void nl_orc_out_init(nl_orc_out *out, const nl_orc_packer *packer)
{
    *out = (nl_orc_out){.packer = packer};
    nl_bytes_out_init(&out->plain, packer->memory);
    nl_bytes_out_init(&out->packed, packer->memory);
}

void nl_orc_out_fini(nl_orc_out *out)
{
    nl_bytes_out_fini(&out->plain);
    nl_bytes_out_fini(&out->packed);
}

static nl_status pack_chunk(nl_orc_out *out)
{
    const nl_orc_packer *packer = out->packer;
    const nl_bytes plain = nl_bytes_out_bytes(&out->plain);
    const size_t room = nl_codec_bound(packer->codec, plain.length);
    size_t length = 0;
    if (plain.length == 0) return NULL;
    NL_TRY(nl_bytes_out_reserve(&out->packed, nl_size_add(NL_MAX(room, plain.length), 3)));
    uint8_t *header = out->packed.data + out->packed.length;
    NL_TRY(nl_codec_compress(packer->codecs, packer->codec, packer->level, plain, header + 3, room, &length));
    const bool is_original = length >= plain.length;
    if (is_original) {
        memcpy(header + 3, plain.data, plain.length);
        length = plain.length;
    }
    const uint32_t word = (uint32_t)length << 1 | is_original;
    header[0] = (uint8_t)word;
    header[1] = (uint8_t)(word >> 8);
    header[2] = (uint8_t)(word >> 16);
    out->packed.length += length + 3;
    out->plain.length = 0;
    return NULL;
}

nl_status nl_orc_out_put(nl_orc_out *out, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;
    if (out->packer->codec == NL_CODEC_NONE) return nl_bytes_out_add(&out->plain, bytes, length);
    while (length > 0) {
        const size_t part = NL_MIN(length, out->packer->chunk_bytes - out->plain.length);
        NL_TRY(nl_bytes_out_add(&out->plain, from, part));
        if (out->plain.length == out->packer->chunk_bytes) NL_TRY(pack_chunk(out));
        from += part;
        length -= part;
    }
    return NULL;
}

nl_status nl_orc_out_finish(nl_orc_out *out)
{
    return out->packer->codec == NL_CODEC_NONE ? NULL : pack_chunk(out);
}

nl_bytes nl_orc_out_bytes(const nl_orc_out *out)
{
    return nl_bytes_out_bytes(out->packer->codec == NL_CODEC_NONE ? &out->plain : &out->packed);
}

size_t nl_orc_out_size(const nl_orc_out *out)
{
    return out->plain.length + out->packed.length;
}

void nl_orc_out_clear(nl_orc_out *out)
{
    const nl_orc_packer *packer = out->packer;
    nl_orc_out_fini(out);
    nl_orc_out_init(out, packer);
}

static void add_place(nl_orc_places *places, uint64_t value)
{
    NL_ASSERT(places->count < NL_ORC_PLACES_MAX);
    places->items[places->count++] = value;
}

void nl_orc_out_place(const nl_orc_out *out, nl_orc_places *places)
{
    if (out->packer->codec != NL_CODEC_NONE) add_place(places, out->packed.length);
    add_place(places, out->plain.length);
}

/* ---- bytes ---- */

nl_status nl_orc_byte_writer_flush(nl_orc_byte_writer *writer)
{
    const uint8_t *values = writer->values;
    for (uint32_t at = 0; at < writer->count;) {
        uint32_t run = 1, literals = 0;
        while (at + run < writer->count && run < 130 && values[at + run] == values[at]) run++;
        if (run >= 3) {
            const uint8_t pair[] = {(uint8_t)(run - 3), values[at]};
            NL_TRY(nl_orc_out_put(writer->out, pair, sizeof(pair)));
            at += run;
            continue;
        }
        while (at + literals < writer->count && literals < 128) { /* up to the next run of three */
            const uint32_t next = at + literals;
            if (next + 2 < writer->count && values[next] == values[next + 1] && values[next] == values[next + 2]) break;
            literals++;
        }
        const uint8_t control = (uint8_t)(256u - literals);
        NL_TRY(nl_orc_out_put(writer->out, &control, 1));
        NL_TRY(nl_orc_out_put(writer->out, values + at, literals));
        at += literals;
    }
    writer->count = 0;
    return NULL;
}

nl_status nl_orc_byte_writer_put(nl_orc_byte_writer *writer, uint8_t value)
{
    writer->values[writer->count++] = value;
    return writer->count == NL_ORC_ENCODED_MAX ? nl_orc_byte_writer_flush(writer) : NULL;
}

nl_status nl_orc_byte_writer_place(nl_orc_byte_writer *writer, nl_orc_places *places)
{
    NL_TRY(nl_orc_byte_writer_flush(writer));
    nl_orc_out_place(writer->out, places);
    add_place(places, 0);
    return NULL;
}

/* ---- bits ---- */

nl_status nl_orc_bit_writer_put(nl_orc_bit_writer *writer, bool value)
{
    writer->byte = (uint8_t)(writer->byte << 1 | value);
    if (++writer->count < 8) return NULL;
    writer->count = 0;
    return nl_orc_byte_writer_put(&writer->bytes, writer->byte);
}

nl_status nl_orc_bit_writer_flush(nl_orc_bit_writer *writer)
{
    while (writer->count > 0) NL_TRY(nl_orc_bit_writer_put(writer, false));
    return nl_orc_byte_writer_flush(&writer->bytes);
}

nl_status nl_orc_bit_writer_place(nl_orc_bit_writer *writer, nl_orc_places *places)
{
    NL_TRY(nl_orc_byte_writer_place(&writer->bytes, places));
    add_place(places, writer->count);
    return NULL;
}

/* ---- integers ---- */

static uint64_t zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static nl_status put_varint(nl_orc_out *out, uint64_t value)
{
    uint8_t bytes[10];
    size_t length = 0;
    for (; value >= 0x80; value >>= 7) bytes[length++] = (uint8_t)(value | 0x80);
    bytes[length++] = (uint8_t)value;
    return nl_orc_out_put(out, bytes, length);
}

typedef struct width { /* and its code in headers */
    uint32_t bits, code;
} width;

static width width_for(uint64_t largest, uint32_t least)
{
    static const width widths[] = {{1, 0}, {2, 1}, {4, 3}, {8, 7}, {16, 15}, {24, 23}, {32, 27}, {40, 28}, {48, 29}, {56, 30}};
    for (uint32_t i = 0; i < NL_COUNT(widths); i++)
        if (widths[i].bits >= least && largest >> widths[i].bits == 0) return widths[i];
    return (width){64, 31};
}

static nl_status put_packed(nl_orc_out *out, const uint64_t *values, uint32_t count, uint32_t bits)
{
    uint8_t bytes[NL_ORC_ENCODED_MAX * 8];
    size_t length = 0;
    uint32_t free_bits = 8;
    if (bits >= 8) { /* whole bytes */
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t shift = bits; shift > 0; shift -= 8) bytes[length++] = (uint8_t)(values[i] >> (shift - 8));
        return nl_orc_out_put(out, bytes, length);
    }
    bytes[0] = 0;
    for (uint32_t i = 0; i < count; i++) {
        free_bits -= bits;
        bytes[length] = (uint8_t)(bytes[length] | values[i] << free_bits);
        if (free_bits > 0) continue;
        free_bits = 8;
        if (++length < sizeof(bytes)) bytes[length] = 0;
    }
    return nl_orc_out_put(out, bytes, length + (free_bits < 8));
}

static nl_status put_header(nl_orc_out *out, uint32_t kind, uint32_t code, uint32_t count)
{
    const uint8_t header[] = {(uint8_t)(kind << 6 | code << 1 | (count - 1) >> 8), (uint8_t)(count - 1)};
    return nl_orc_out_put(out, header, sizeof(header));
}

static uint64_t stored_form(const nl_orc_int_writer *writer, int64_t value)
{
    return writer->is_signed ? zigzag(value) : (uint64_t)value;
}

static nl_status put_steps_head(nl_orc_int_writer *writer, uint32_t code, uint32_t count, int64_t first, int64_t step)
{
    NL_TRY(put_header(writer->out, 3, code, count));
    NL_TRY(put_varint(writer->out, stored_form(writer, first)));
    return put_varint(writer->out, zigzag(step));
}

static nl_status put_equal(nl_orc_int_writer *writer, int64_t value, uint32_t count)
{
    uint8_t bytes[9];
    const uint64_t bits = stored_form(writer, value);
    uint32_t width_bytes = 1;
    if (count > 10) return put_steps_head(writer, 0, count, value, 0);
    while (width_bytes < 8 && bits >> (8 * width_bytes) != 0) width_bytes++;
    bytes[0] = (uint8_t)((width_bytes - 1) << 3 | (count - 3));
    for (uint32_t i = 0; i < width_bytes; i++) bytes[1 + i] = (uint8_t)(bits >> (8 * (width_bytes - 1 - i)));
    return nl_orc_out_put(writer->out, bytes, width_bytes + 1);
}

typedef struct steps {
    bool is_monotonic; /* and the first step is not zero, for its sign tells the direction */
    bool is_fixed;
    int64_t first;
    uint64_t sizes[NL_ORC_ENCODED_MAX]; /* of the second step and those behind it */
    uint64_t largest;
} steps;

static void find_steps(const int64_t *values, uint32_t count, steps *out)
{
    out->is_monotonic = count >= 3 && !__builtin_sub_overflow(values[1], values[0], &out->first) && out->first != 0;
    out->is_fixed = out->is_monotonic;
    out->largest = 0;
    for (uint32_t i = 2; i < count && out->is_monotonic; i++) {
        int64_t step;
        if (__builtin_sub_overflow(values[i], values[i - 1], &step) || (out->first > 0 ? step < 0 : step > 0) || step == INT64_MIN) {
            out->is_monotonic = out->is_fixed = false;
            return;
        }
        out->is_fixed &= step == out->first;
        out->sizes[i - 2] = step < 0 ? (uint64_t)-step : (uint64_t)step;
        out->largest = NL_MAX(out->largest, out->sizes[i - 2]);
    }
}

static nl_status put_mixed(nl_orc_int_writer *writer, const int64_t *values, uint32_t count)
{
    uint64_t stored[NL_ORC_ENCODED_MAX];
    uint64_t all = 0;
    steps found;
    for (uint32_t i = 0; i < count; i++) all |= stored[i] = stored_form(writer, values[i]);
    const width direct = width_for(all, 1);
    find_steps(values, count, &found);
    if (found.is_fixed) return put_steps_head(writer, 0, count, values[0], found.first);
    const width step = width_for(found.largest, 2); /* a code of zero would say that all steps are equal */
    if (found.is_monotonic && step.bits < direct.bits) {
        NL_TRY(put_steps_head(writer, step.code, count, values[0], found.first));
        return put_packed(writer->out, found.sizes, count - 2, step.bits);
    }
    NL_TRY(put_header(writer->out, 1, direct.code, count));
    return put_packed(writer->out, stored, count, direct.bits);
}

#define EQUAL_MIN 8u /* fewer equal ones do not end what surrounds them */

static uint32_t equal_from(const nl_orc_int_writer *writer, uint32_t at)
{
    uint32_t count = 1;
    while (at + count < writer->count && writer->values[at + count] == writer->values[at]) count++;
    return count;
}

nl_status nl_orc_int_writer_flush(nl_orc_int_writer *writer)
{
    for (uint32_t at = 0; at < writer->count;) {
        const uint32_t equal = equal_from(writer, at);
        uint32_t end = at + equal;
        if (equal >= 3) {
            NL_TRY(put_equal(writer, writer->values[at], equal));
            at = end;
            continue;
        }
        while (end < writer->count) {
            const uint32_t next = equal_from(writer, end);
            if (next >= EQUAL_MIN) break;
            end += next;
        }
        NL_TRY(put_mixed(writer, writer->values + at, end - at));
        at = end;
    }
    writer->count = 0;
    return NULL;
}

nl_status nl_orc_int_writer_put(nl_orc_int_writer *writer, int64_t value)
{
    writer->values[writer->count++] = value;
    return writer->count == NL_ORC_ENCODED_MAX ? nl_orc_int_writer_flush(writer) : NULL;
}

nl_status nl_orc_int_writer_place(nl_orc_int_writer *writer, nl_orc_places *places)
{
    NL_TRY(nl_orc_int_writer_flush(writer));
    nl_orc_out_place(writer->out, places);
    add_place(places, 0);
    return NULL;
}
