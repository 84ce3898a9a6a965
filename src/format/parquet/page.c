/* format/parquet/page.c - see page.h. Every size a header announces is compared with the chunk and the limits first. */
#include "format/parquet/page.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "base/limits.h"
#include "format/parquet/bitpack.h"
#include "format/parquet/narrow.h"
#include "format/parquet/thrift.h"

#define HEADER_GUESS_BYTES 512u         /* without statistics headers have some 30 bytes */
#define HEADER_BYTES_MAX   (16u << 20)  /* statistics may hold whole values */

typedef struct raw_header {
    int32_t kind, uncompressed, stored, crc;
    int32_t value_count, encoding, definition_encoding, repetition_encoding;
    int32_t row_count, definition_bytes, repetition_bytes;
    bool has_body;
} raw_header;

static void read_data_header(nl_cursor *in, raw_header *raw)
{
    nl_thrift_field field = {0};
    raw->has_body = true;
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: (void)nl_thrift_i32(in, &field, &raw->value_count); break;
        case 2: (void)nl_thrift_i32(in, &field, &raw->encoding); break;
        case 3: (void)nl_thrift_i32(in, &field, &raw->definition_encoding); break;
        case 4: (void)nl_thrift_i32(in, &field, &raw->repetition_encoding); break;
        default: nl_thrift_skip(in, &field);
        }
    }
}

static void read_data_header_v2(nl_cursor *in, raw_header *raw, bool *is_compressed)
{
    nl_thrift_field field = {0};
    raw->has_body = true;
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: (void)nl_thrift_i32(in, &field, &raw->value_count); break;
        case 3: (void)nl_thrift_i32(in, &field, &raw->row_count); break;
        case 4: (void)nl_thrift_i32(in, &field, &raw->encoding); break;
        case 5: (void)nl_thrift_i32(in, &field, &raw->definition_bytes); break;
        case 6: (void)nl_thrift_i32(in, &field, &raw->repetition_bytes); break;
        case 7: (void)nl_thrift_bool(in, &field, is_compressed); break;
        default: nl_thrift_skip(in, &field);
        }
    }
}

static nl_status check_header(const raw_header *raw, const nl_parquet_place *place, nl_page_header *header)
{
    if (raw->stored < 0 || raw->uncompressed < 0) return nl_parquet_corrupt(place, "a page of negative size");
    if ((uint32_t)raw->uncompressed > NL_PARQUET_PAGE_BYTES_MAX)
        return nl_parquet_corrupt(place, "a page of %d bytes, above the limit of %u", raw->uncompressed, NL_PARQUET_PAGE_BYTES_MAX);
    header->kind = raw->kind >= 0 && raw->kind < NL_PAGE_OTHER ? (nl_page_kind)raw->kind : NL_PAGE_OTHER;
    header->stored_bytes = (uint32_t)raw->stored;
    header->uncompressed_bytes = (uint32_t)raw->uncompressed;
    if (header->kind == NL_PAGE_INDEX || header->kind == NL_PAGE_OTHER) return NULL;
    if (!raw->has_body || raw->value_count < 0) return nl_parquet_corrupt(place, "a page header without its values");
    header->value_count = (uint32_t)raw->value_count;
    header->encoding = (nl_parquet_encoding)raw->encoding;
    header->definition_encoding = (nl_parquet_encoding)raw->definition_encoding;
    header->repetition_encoding = (nl_parquet_encoding)raw->repetition_encoding;
    if (header->kind != NL_PAGE_DATA_V2) return NULL;
    if (raw->row_count < 0 || raw->row_count > raw->value_count || raw->definition_bytes < 0 || raw->repetition_bytes < 0)
        return nl_parquet_corrupt(place, "a page header with impossible counts");
    const uint64_t level_bytes = (uint64_t)raw->definition_bytes + (uint64_t)raw->repetition_bytes;
    if (level_bytes > header->stored_bytes || level_bytes > header->uncompressed_bytes)
        return nl_parquet_corrupt(place, "the levels of a page are larger than the page");
    header->row_count = (uint32_t)raw->row_count;
    header->definition_bytes = (uint32_t)raw->definition_bytes;
    header->repetition_bytes = (uint32_t)raw->repetition_bytes;
    return NULL;
}

nl_status nl_page_header_read(nl_bytes bytes, const nl_parquet_place *place, nl_page_header *header, bool *is_short)
{
    nl_cursor in = nl_cursor_over(bytes.data, bytes.length, place->path);
    nl_thrift_field field = {0};
    raw_header raw = {.kind = -1, .stored = -1, .uncompressed = -1, .value_count = -1};
    *header = (nl_page_header){.is_compressed = true};
    while (nl_thrift_next(&in, &field)) {
        switch (field.id) {
        case 1: (void)nl_thrift_i32(&in, &field, &raw.kind); break;
        case 2: (void)nl_thrift_i32(&in, &field, &raw.uncompressed); break;
        case 3: (void)nl_thrift_i32(&in, &field, &raw.stored); break;
        case 4: header->has_crc = nl_thrift_i32(&in, &field, &raw.crc); break;
        case 5:
        case 7: /* a dictionary's header starts like a data page's */
            if (nl_thrift_is_struct(&in, &field)) read_data_header(&in, &raw);
            break;
        case 8:
            if (nl_thrift_is_struct(&in, &field)) read_data_header_v2(&in, &raw, &header->is_compressed);
            break;
        default: nl_thrift_skip(&in, &field);
        }
    }
    *is_short = in.has_failed;
    if (in.has_failed) return NULL;
    header->header_bytes = (uint32_t)in.offset;
    header->crc = (uint32_t)raw.crc;
    return check_header(&raw, place, header);
}

void nl_page_source_fini(nl_page_source *source)
{
    nl_buffer_release(source->block);
    nl_buffer_release(source->kept_page);
    source->block = source->kept_page = NULL;
}

/* Blocks belong to their source alone, so a large enough one is filled again in place. */
static nl_status fetch_block(nl_page_source *source, uint64_t offset, uint64_t length)
{
    uint64_t size = length;
    if (offset < source->fetch_end) size = NL_MAX(length, NL_MIN(source->block_bytes, source->fetch_end - offset));
    nl_buffer *block = source->block;
    if (block == NULL || block->size_bytes < size) {
        nl_status status = nl_buffer_new(source->memory, (size_t)size, false, &block);
        if (status != NULL && size > length) { /* reading ahead is a luxury: a small budget gets what is needed */
            nl_error_free(status);
            size = length;
            status = nl_buffer_new(source->memory, (size_t)size, false, &block);
        }
        const bool is_apart = offset < source->block_start || offset >= source->block_start + source->block_length;
        if (status != NULL && source->block != NULL && is_apart) { /* the old block is of no use any more */
            nl_error_free(status);
            nl_buffer_release(source->block);
            source->block = NULL;
            source->block_length = 0;
            status = nl_buffer_new(source->memory, (size_t)size, false, &block);
        }
        NL_TRY(status);
    }
    uint64_t have = 0; /* what the old block already holds is not fetched again */
    if (offset >= source->block_start && offset < source->block_start + source->block_length) {
        have = NL_MIN(source->block_start + source->block_length - offset, size);
        memmove(block->data, source->block->data + (offset - source->block_start), (size_t)have);
    }
    if (block != source->block) nl_buffer_release(source->block);
    source->block = block;
    source->block_start = offset;
    source->block_length = have;
    if (source->stream_end > offset + have) nl_file_stream(source->file, offset + have, source->stream_end);
    if (size > have) NL_TRY(nl_file_read(source->file, offset + have, (size_t)(size - have), block->data + have));
    source->block_length = size;
    const uint64_t next = offset + size;
    if (next < source->fetch_end && source->stream_end == 0) {
        const nl_range range = {.offset = next, .length = NL_MIN(source->block_bytes, source->fetch_end - next)};
        nl_file_prefetch(source->file, &range, 1);
    }
    return NULL;
}

nl_status nl_page_source_need(nl_page_source *source, uint64_t offset, uint64_t length, const uint8_t **data)
{
    if (offset > source->end || length > source->end - offset) {
        source->place.offset = offset;
        return nl_parquet_corrupt(&source->place, "a page that reaches beyond the end of its column chunk");
    }
    const bool is_there = source->block != NULL && offset >= source->block_start &&
                          offset + length <= source->block_start + source->block_length;
    if (!is_there) NL_TRY(fetch_block(source, offset, length));
    *data = source->block->data + (offset - source->block_start);
    return NULL;
}

/* ---- Pages that are kept ---- */

_Static_assert(sizeof(nl_page_header) <= NL_KEPT_PAGE_HEAD, "a header fits before its page");

/* What is kept was made of this version of the file by the code below and needs no checks. */
static bool find_kept(nl_page_source *source, uint64_t offset, nl_page_header *header)
{
    nl_buffer_release(source->kept_page);
    source->kept_page = source->kept != NULL ? nl_kept_object_find_part(source->kept, offset) : NULL;
    if (source->kept_page == NULL) return false;
    memcpy(header, source->kept_page->data, sizeof(*header));
    return true;
}

nl_buffer *nl_page_source_take(nl_page_source *source)
{
    nl_buffer *page = source->kept_page;
    source->kept_page = NULL;
    return page;
}

nl_buffer *nl_page_source_room(const nl_page_source *source, const nl_page_header *header)
{
    return source->kept != NULL ? nl_kept_object_buffer(source->kept, NL_KEPT_PAGE_HEAD + (size_t)header->uncompressed_bytes) : NULL;
}

void nl_page_source_keep(const nl_page_source *source, uint64_t offset, const nl_page_header *header, nl_buffer *page)
{
    memcpy(page->data, header, sizeof(*header));
    (void)nl_kept_object_put_part(source->kept, offset, page); /* somebody may have been faster */
}

/* Long texts take more memory than they are worth: most of the time of reading them is not their decompression. */
#define KEPT_TEXT_BYTES_MAX 24u

nl_page_form nl_page_kept_form(const nl_page_header *header, const nl_parquet_node *leaf)
{
    if (header->encoding != NL_PARQUET_PLAIN || header->kind == NL_PAGE_DICTIONARY) return NL_PAGE_AS_IT_IS;
    if (leaf->physical == NL_PARQUET_INT32 || leaf->physical == NL_PARQUET_INT64) return NL_PAGE_NARROW;
    const bool is_long = leaf->physical == NL_PARQUET_BYTE_ARRAY && header->uncompressed_bytes / KEPT_TEXT_BYTES_MAX > header->value_count;
    return is_long ? NL_PAGE_NOT_KEPT : NL_PAGE_AS_IT_IS;
}

void nl_page_source_keep_narrow(const nl_page_source *source, const nl_page_header *header, const nl_parquet_node *leaf, const uint8_t *unpacked,
                                const nl_page *page)
{
    const uint32_t value_bytes = leaf->physical == NL_PARQUET_INT32 ? 4 : 8;
    const size_t level_bytes = (size_t)(page->values.data - unpacked);
    const uint32_t count = (uint32_t)NL_MIN(page->values.length / value_bytes, (size_t)header->value_count);
    nl_page_header kept = *header;
    nl_narrow narrow = {0};
    kept.is_narrow = nl_narrow_plan(page->values.data, count, value_bytes, &narrow);
    const size_t bytes = kept.is_narrow ? level_bytes + sizeof(narrow) + nl_narrow_bytes(&narrow) : header->uncompressed_bytes;
    kept.uncompressed_bytes = (uint32_t)bytes;
    nl_buffer *room = nl_page_source_room(source, &kept);
    if (room == NULL) return;
    uint8_t *into = room->data + NL_KEPT_PAGE_HEAD;
    memcpy(into, unpacked, kept.is_narrow ? level_bytes : bytes);
    if (kept.is_narrow) {
        memcpy(into + level_bytes, &narrow, sizeof(narrow));
        nl_narrow_pack(&narrow, page->values.data, value_bytes, into + level_bytes + sizeof(narrow));
    }
    memset(into + bytes, 0, 16);
    nl_page_source_keep(source, page->place.offset, &kept, room);
    nl_buffer_release(room);
}

nl_status nl_page_source_header(nl_page_source *source, uint64_t offset, nl_page_header *header)
{
    source->place.offset = offset;
    if (offset >= source->end) return nl_parquet_corrupt(&source->place, "the column chunk ends before all of its values");
    if (find_kept(source, offset, header)) return NULL;
    for (uint64_t guess = HEADER_GUESS_BYTES;; guess *= 8) {
        const uint64_t left = source->end - offset;
        const uint64_t length = NL_MIN(guess, left);
        const uint8_t *data = NULL;
        bool is_short = false;
        NL_TRY(nl_page_source_need(source, offset, length, &data));
        NL_TRY(nl_page_header_read((nl_bytes){data, (size_t)length}, &source->place, header, &is_short));
        if (!is_short) break;
        if (length == left || guess >= HEADER_BYTES_MAX) return nl_parquet_corrupt(&source->place, "a damaged page header");
    }
    if (header->stored_bytes > source->end - offset - header->header_bytes)
        return nl_parquet_corrupt(&source->place, "a page of %u bytes that reaches beyond its column chunk", header->stored_bytes);
    return NULL;
}

/* ---- Levels ---- */

static uint8_t msb_packed_get(const nl_levels *levels, uint64_t index)
{
    const uint32_t width = nl_rle_width_for(levels->max);
    uint32_t value = 0;
    for (uint32_t k = 0; k < width; k++) {
        const uint64_t bit = index * width + k;
        value = value << 1 | ((levels->packed[bit >> 3] >> (7 - (bit & 7))) & 1);
    }
    return (uint8_t)value;
}

static bool read_msb_packed(nl_levels *levels, uint8_t *out, uint32_t count)
{
    if (count > levels->packed_count - levels->packed_index) return false;
    for (uint32_t i = 0; i < count; i++) out[i] = msb_packed_get(levels, levels->packed_index + i);
    levels->packed_index += count;
    return true;
}

bool nl_levels_read(nl_levels *levels, uint8_t *out, uint32_t count)
{
    if (levels->max == 0) {
        memset(out, 0, count);
        return true;
    }
    if (!(levels->is_msb_packed ? read_msb_packed(levels, out, count) : nl_rle_read8(&levels->rle, out, count))) return false;
    uint8_t highest = 0;
    for (uint32_t i = 0; i < count; i++) highest = out[i] > highest ? out[i] : highest;
    return highest <= levels->max;
}

bool nl_levels_read_bits(nl_levels *levels, uint8_t *bits, uint32_t start, uint32_t count, uint32_t *ones)
{
    NL_ASSERT(levels->max == 1);
    if (!levels->is_msb_packed) return nl_rle_read_bits(&levels->rle, bits, start, count, ones);
    if (count > levels->packed_count - levels->packed_index) return false;
    *ones = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!msb_packed_get(levels, levels->packed_index + i)) continue;
        nl_bit_set(bits, start + i);
        (*ones)++;
    }
    levels->packed_index += count;
    return true;
}

bool nl_levels_skip(nl_levels *levels, uint64_t count, uint64_t *full)
{
    if (levels->max == 0) {
        *full = count;
        return true;
    }
    if (!levels->is_msb_packed) return nl_rle_skip_count(&levels->rle, count, levels->max, full);
    if (count > levels->packed_count - levels->packed_index) return false;
    *full = 0;
    for (uint64_t i = 0; i < count; i++) *full += msb_packed_get(levels, levels->packed_index + i) == levels->max;
    levels->packed_index += count;
    return true;
}

/* ---- Contents ---- */

nl_codec nl_parquet_codec_of(nl_parquet_codec codec)
{
    static const nl_codec codecs[NL_PARQUET_CODEC_COUNT] = {
        [NL_PARQUET_UNCOMPRESSED] = NL_CODEC_NONE,     [NL_PARQUET_SNAPPY] = NL_CODEC_SNAPPY,
        [NL_PARQUET_GZIP] = NL_CODEC_GZIP,             [NL_PARQUET_LZO] = NL_CODEC_COUNT,
        [NL_PARQUET_BROTLI] = NL_CODEC_BROTLI,         [NL_PARQUET_LZ4_HADOOP] = NL_CODEC_LZ4_HADOOP,
        [NL_PARQUET_ZSTD] = NL_CODEC_ZSTD,             [NL_PARQUET_LZ4_RAW] = NL_CODEC_LZ4_RAW,
    };
    return codec < NL_PARQUET_CODEC_COUNT ? codecs[codec] : NL_CODEC_COUNT;
}

static nl_status decompress(nl_codec codec, nl_codec_context *context, nl_bytes in, uint8_t *out, size_t out_length, const nl_parquet_place *place)
{
    if (out_length == 0) return NULL; /* nothing is there to be read, whatever was stored for it */
    const char *problem = nl_codec_decompress(context, codec, in, out, out_length);
    return problem == NULL ? NULL : nl_parquet_corrupt(place, "%s (%s)", problem, nl_codec_name(codec));
}

/* Takes the levels off the front of a v1 page's bytes. */
static nl_status take_levels(uint16_t max, nl_parquet_encoding encoding, uint32_t count, const nl_parquet_place *place, nl_bytes *bytes, nl_levels *levels)
{
    *levels = (nl_levels){.max = max};
    if (max == 0) return NULL;
    const uint32_t width = nl_rle_width_for(max);
    size_t length = 0;
    if (encoding == NL_PARQUET_BIT_PACKED) {
        length = (size_t)(((uint64_t)count * width + 7) / 8);
        if (length > bytes->length) return nl_parquet_corrupt(place, "the levels of a page end too early");
        levels->is_msb_packed = true;
        levels->packed = bytes->data;
        levels->packed_count = count;
    } else if (encoding == NL_PARQUET_RLE) {
        uint32_t announced = 0;
        if (bytes->length >= sizeof(announced)) memcpy(&announced, bytes->data, sizeof(announced));
        if (bytes->length < sizeof(announced) || announced > bytes->length - sizeof(announced))
            return nl_parquet_corrupt(place, "the levels of a page are larger than the page");
        nl_rle_init(&levels->rle, (nl_bytes){bytes->data + sizeof(announced), announced}, width);
        length = sizeof(announced) + announced;
    } else {
        return nl_parquet_corrupt(place, "levels with encoding %d", (int)encoding);
    }
    *bytes = (nl_bytes){bytes->data + length, bytes->length - length};
    return NULL;
}

static void set_levels_v2(uint16_t max, nl_bytes bytes, nl_levels *levels)
{
    *levels = (nl_levels){.max = max};
    if (max > 0) nl_rle_init(&levels->rle, bytes, nl_rle_width_for(max));
}

nl_status nl_page_unpack(const nl_page_header *header, const uint8_t *stored, const nl_page_unpacking *how, const nl_parquet_place *place, uint8_t *into)
{
    if (how->checks_crc && header->has_crc && nl_crc32(stored, header->stored_bytes, 0) != header->crc)
        return nl_parquet_corrupt(place, "a page whose checksum does not match its bytes");
    memset(into + header->uncompressed_bytes, 0, 16); /* readers of packed bits load whole words */
    const size_t level_bytes = header->kind == NL_PAGE_DATA_V2 ? (size_t)header->repetition_bytes + header->definition_bytes : 0;
    const nl_codec codec = header->kind == NL_PAGE_DATA_V2 && !header->is_compressed ? NL_CODEC_NONE : how->codec;
    if (level_bytes > 0) memcpy(into, stored, level_bytes); /* v2 leaves them as they are */
    const nl_bytes in = {stored + level_bytes, header->stored_bytes - level_bytes};
    return decompress(codec, how->context, in, into + level_bytes, header->uncompressed_bytes - level_bytes, place);
}

static void open_v2(const nl_page_header *header, const uint8_t *unpacked, const nl_parquet_node *leaf, nl_page *page)
{
    const size_t level_bytes = (size_t)header->repetition_bytes + header->definition_bytes;
    set_levels_v2(leaf->max_repetition, (nl_bytes){unpacked, header->repetition_bytes}, &page->repetition);
    set_levels_v2(leaf->max_definition, (nl_bytes){unpacked + header->repetition_bytes, header->definition_bytes}, &page->definition);
    page->values = (nl_bytes){unpacked + level_bytes, header->uncompressed_bytes - level_bytes};
}

nl_status nl_page_open(const nl_page_header *header, const uint8_t *unpacked, const nl_parquet_node *leaf, const nl_parquet_place *place, nl_page *page)
{
    *page = (nl_page){.place = *place};
    if (header->kind == NL_PAGE_DATA_V2) {
        open_v2(header, unpacked, leaf, page);
        return NULL;
    }
    nl_bytes bytes = {unpacked, header->uncompressed_bytes};
    if (header->kind == NL_PAGE_DATA) {
        NL_TRY(take_levels(leaf->max_repetition, header->repetition_encoding, header->value_count, place, &bytes, &page->repetition));
        NL_TRY(take_levels(leaf->max_definition, header->definition_encoding, header->value_count, place, &bytes, &page->definition));
    }
    page->values = bytes;
    return NULL;
}
