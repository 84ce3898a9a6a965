/* format/parquet/column_writer.c - pages fill up to a number of rows or bytes and are compressed at once; the chunk keeps
 * them until the row group is written, since its dictionary has to come first in the file.
 *
 * Values start dictionary-encoded; when the dictionary outgrows its limit, or the first page shows that it saves nothing,
 * the rest of the chunk is PLAIN, as parquet-mr's FallbackValuesWriter does. Source: parquet.thrift; Parquet format.
 */
#include "format/parquet/column_writer.h"

#include "base/hash.h"
#include "base/limits.h"
#include "format/parquet/bloom.h"
#include "format/parquet/page.h"
#include "format/parquet/rle.h"
#include "format/parquet/thrift.h"
#include "format/parquet/write_form.h"

#define HEADER_BYTES_MAX (1u << 16)
#define UNMAPPED         UINT32_MAX
/* Values are taken in parts of at most this many entries, so that scratch stays in the cache. */
#define PART_ENTRIES 2048u

#define OUT_COUNT 7

static void list_outs(nl_column_writer *writer, nl_bytes_out *(*list)[OUT_COUNT])
{
    nl_bytes_out *all[OUT_COUNT] = {&writer->repetition, &writer->definition, &writer->plain, &writer->codes,
                                    &writer->stamps,     &writer->code_map,   &writer->pages};
    memcpy(*list, all, sizeof(all));
}

static nl_status start_bloom(nl_column_writer *writer)
{
    const nl_write_leaf *leaf = writer->leaf;
    if (!leaf->has_bloom) return NULL;
    const size_t bytes_max = (size_t)NL_MIN(writer->options->bloom_bytes_max, (uint64_t)NL_BLOOM_BYTES_MAX);
    /* Without a number of distinct values the largest filter is filled, and folded to what they needed at the end. */
    writer->bloom_bytes = nl_bloom_size(leaf->bloom_ndv != 0 ? leaf->bloom_ndv : UINT64_MAX, leaf->bloom_fpp, bytes_max);
    NL_TRY(nl_buffer_new(writer->memory, writer->bloom_bytes, true, &writer->bloom_buffer));
    writer->bloom = writer->bloom_buffer->data;
    writer->bloom_has_dictionary = false;
    return NULL;
}

nl_status nl_column_writer_init(nl_column_writer *writer, const nl_write_leaf *leaf, const nl_parquet_write_options *options, nl_memory *memory)
{
    nl_bytes_out *list[OUT_COUNT];
    *writer = (nl_column_writer){.leaf = leaf, .options = options, .memory = memory, .uses_dictionary = leaf->has_dictionary};
    list_outs(writer, &list);
    for (size_t i = 0; i < NL_COUNT(list); i++) nl_bytes_out_init(list[i], memory);
    nl_bounds_init(&writer->page_bounds, leaf, memory);
    nl_bounds_init(&writer->chunk_bounds, leaf, memory);
    nl_bounds_init(&writer->file_bounds, leaf, memory);
    nl_dictionary_out_init(&writer->dictionary, leaf->physical == NL_PARQUET_BYTE_ARRAY ? 0 : leaf->stride, memory);
    return start_bloom(writer);
}

static void release_pages(nl_column_writer *writer)
{
    nl_page_record *pages = nl_column_writer_pages(writer);
    for (uint32_t i = 0; i < writer->page_count; i++) {
        nl_buffer_release(pages[i].bytes);
        nl_buffer_release(pages[i].bounds);
    }
    nl_buffer_release(writer->dictionary_page);
    nl_buffer_release(writer->bloom_buffer);
    writer->dictionary_page = writer->bloom_buffer = NULL;
    writer->bloom = NULL;
    writer->pages.length = 0;
    writer->page_count = writer->dictionary_page_count = 0;
}

void nl_column_writer_fini(nl_column_writer *writer)
{
    nl_bytes_out *list[OUT_COUNT];
    if (writer->leaf == NULL) return;
    release_pages(writer);
    list_outs(writer, &list);
    for (size_t i = 0; i < NL_COUNT(list); i++) nl_bytes_out_fini(list[i]);
    nl_dictionary_out_fini(&writer->dictionary);
    nl_bounds_fini(&writer->page_bounds);
    nl_bounds_fini(&writer->chunk_bounds);
    nl_bounds_fini(&writer->file_bounds);
}

nl_status nl_column_writer_next_chunk(nl_column_writer *writer)
{
    const uint32_t stride = writer->dictionary.stride;
    release_pages(writer);
    nl_dictionary_out_fini(&writer->dictionary);
    nl_dictionary_out_init(&writer->dictionary, stride, writer->memory);
    nl_bytes_out_fini(&writer->stamps);
    nl_bytes_out_fini(&writer->code_map);
    writer->mapped_identity = 0;
    writer->uses_dictionary = writer->leaf->has_dictionary;
    writer->chunk_entries = writer->chunk_nulls = writer->chunk_rows = 0;
    writer->compressed_bytes = writer->uncompressed_bytes = 0;
    writer->dictionary_page_raw = 0;
    nl_bounds_clear(&writer->chunk_bounds);
    return start_bloom(writer);
}

size_t nl_column_writer_buffered(const nl_column_writer *writer)
{
    return (size_t)writer->compressed_bytes + writer->plain.length + writer->codes.length + writer->dictionary.plain.length +
           writer->repetition.length + writer->definition.length;
}

size_t nl_column_writer_charged(nl_column_writer *writer)
{
    nl_bytes_out *list[OUT_COUNT];
    const nl_dictionary_out *dictionary = &writer->dictionary;
    size_t bytes = (size_t)writer->compressed_bytes + writer->bloom_bytes + dictionary->plain.capacity + dictionary->offsets.capacity + dictionary->slots.capacity;
    list_outs(writer, &list);
    for (size_t i = 0; i < NL_COUNT(list); i++) bytes += list[i]->capacity;
    return bytes;
}

/* ---- Bloom filter ---- */

static void bloom_add(nl_column_writer *writer, nl_bytes value)
{
    nl_bloom_insert(writer->bloom, writer->bloom_bytes, nl_bloom_hash(value));
}

static void bloom_add_form(nl_column_writer *writer, const void *form, uint32_t count)
{
    const nl_string_view *views = form;
    const uint8_t *fixed = form;
    for (uint32_t i = 0; i < count; i++) {
        if (writer->leaf->physical == NL_PARQUET_BYTE_ARRAY)
            bloom_add(writer, (nl_bytes){(const uint8_t *)nl_view_data(&views[i]), views[i].length});
        else
            bloom_add(writer, (nl_bytes){fixed + (size_t)i * writer->leaf->stride, writer->leaf->stride});
    }
}

static void bloom_add_dictionary(nl_column_writer *writer)
{
    if (writer->bloom == NULL || writer->bloom_has_dictionary) return;
    for (uint32_t code = 0; code < writer->dictionary.count; code++) bloom_add(writer, nl_dictionary_out_value(&writer->dictionary, code));
    writer->bloom_has_dictionary = true;
}

/* ---- Values ---- */

static nl_status add_plain_strings(nl_column_writer *writer, const nl_string_view *views, uint32_t count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += sizeof(uint32_t) + views[i].length;
    NL_TRY(nl_bytes_out_reserve(&writer->plain, bytes));
    uint8_t *at = writer->plain.data + writer->plain.length;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(at, &views[i].length, sizeof(uint32_t));
        at += sizeof(uint32_t);
        if (views[i].length > 0) memcpy(at, nl_view_data(&views[i]), views[i].length);
        at += views[i].length;
    }
    writer->plain.length += bytes;
    writer->page_raw_bytes += bytes;
    return NULL;
}

static nl_status add_plain(nl_column_writer *writer, const void *form, uint32_t count)
{
    if (writer->leaf->has_statistics || writer->leaf->order == NL_ORDER_REAL) NL_TRY(nl_bounds_add(&writer->page_bounds, form, count));
    if (writer->bloom != NULL) bloom_add_form(writer, form, count);
    if (writer->leaf->physical == NL_PARQUET_BYTE_ARRAY) return add_plain_strings(writer, form, count);
    writer->page_raw_bytes += (uint64_t)count * writer->leaf->stride;
    return nl_bytes_out_add(&writer->plain, form, (size_t)count * writer->leaf->stride);
}

/* Turns the present page's codes into PLAIN values; its bounds are known already. */
static nl_status codes_to_plain(nl_column_writer *writer)
{
    const uint32_t *codes = (const uint32_t *)(const void *)writer->codes.data;
    const bool is_string = writer->leaf->physical == NL_PARQUET_BYTE_ARRAY;
    NL_TRY(nl_bytes_out_reserve(&writer->plain, (size_t)writer->page_raw_bytes));
    for (uint32_t i = 0; i < writer->page_values; i++) {
        const nl_bytes value = nl_dictionary_out_value(&writer->dictionary, codes[i]);
        const uint32_t length = (uint32_t)value.length;
        if (is_string) NL_TRY(nl_bytes_out_add(&writer->plain, &length, sizeof(length)));
        NL_TRY(nl_bytes_out_add(&writer->plain, value.data, value.length));
    }
    writer->codes.length = 0;
    return NULL;
}

static nl_status leave_dictionary(nl_column_writer *writer)
{
    bloom_add_dictionary(writer);
    NL_TRY(codes_to_plain(writer));
    writer->uses_dictionary = false;
    nl_bytes_out_fini(&writer->stamps);
    nl_bytes_out_fini(&writer->code_map);
    writer->mapped_identity = 0;
    if (writer->dictionary_page_count > 0) return NULL;
    const uint32_t stride = writer->dictionary.stride; /* no page needs it */
    nl_dictionary_out_fini(&writer->dictionary);
    nl_dictionary_out_init(&writer->dictionary, stride, writer->memory);
    return NULL;
}

/* Codes of an input dictionary's values are looked up once each. */
static nl_status map_codes(nl_column_writer *writer, nl_parquet_encoder *encoder, const nl_shredded *shredded, const uint32_t *index, uint32_t count, uint32_t *codes)
{
    const uint32_t length = shredded->values->length;
    if (writer->mapped_identity != shredded->dictionary->identity) {
        writer->code_map.length = 0;
        NL_TRY(nl_bytes_out_reserve(&writer->code_map, (size_t)length * sizeof(uint32_t)));
        memset(writer->code_map.data, 0xff, (size_t)length * sizeof(uint32_t));
        writer->mapped_identity = shredded->dictionary->identity;
    }
    uint32_t *map = (uint32_t *)(void *)writer->code_map.data;
    uint32_t highest = 0;
    for (uint32_t i = 0; i < count; i++) {
        codes[i] = map[index[i]];
        highest = codes[i] > highest ? codes[i] : highest;
    }
    for (uint32_t i = 0; highest == UNMAPPED && i < count; i++) {
        if (codes[i] != UNMAPPED) continue;
        if (map[index[i]] == UNMAPPED) {
            NL_TRY(nl_bytes_out_reserve(&encoder->form, NL_MAX(writer->leaf->stride, 16u)));
            NL_TRY(nl_write_form(writer->leaf, shredded->values, &index[i], 1, encoder->form.data));
            NL_TRY(nl_dictionary_out_codes(&writer->dictionary, encoder->form.data, 1, &map[index[i]]));
        }
        codes[i] = map[index[i]];
    }
    return NULL;
}

static uint64_t raw_bytes_of(const nl_column_writer *writer, const uint32_t *codes, uint32_t count)
{
    uint64_t bytes = 0;
    if (writer->dictionary.stride > 0) return (uint64_t)count * writer->dictionary.stride;
    for (uint32_t i = 0; i < count; i++) bytes += sizeof(uint32_t) + nl_dictionary_out_value(&writer->dictionary, codes[i]).length;
    return bytes;
}

static bool is_nan(const nl_write_leaf *leaf, nl_bytes value)
{
    float narrow;
    double wide;
    if (leaf->stride == 4) {
        memcpy(&narrow, value.data, sizeof(narrow));
        return narrow != narrow;
    }
    memcpy(&wide, value.data, sizeof(wide));
    return wide != wide;
}

/* Bounds of a dictionary page: a value is compared when the page meets it for the first time. */
static nl_status bound_codes(nl_column_writer *writer, const uint32_t *codes, uint32_t count)
{
    const bool counts_nan = writer->leaf->order == NL_ORDER_REAL;
    const size_t stamp_bytes = (size_t)writer->dictionary.count * sizeof(uint32_t);
    if (!writer->leaf->has_statistics && !counts_nan) return NULL;
    if (writer->stamps.length < stamp_bytes) {
        NL_TRY(nl_bytes_out_reserve(&writer->stamps, stamp_bytes - writer->stamps.length));
        memset(writer->stamps.data + writer->stamps.length, 0, stamp_bytes - writer->stamps.length);
        writer->stamps.length = stamp_bytes;
    }
    uint32_t *stamps = (uint32_t *)(void *)writer->stamps.data;
    const uint32_t page = writer->page_count + 1;
    for (uint32_t i = 0; i < count; i++) {
        if (counts_nan && is_nan(writer->leaf, nl_dictionary_out_value(&writer->dictionary, codes[i]))) {
            writer->page_bounds.nan_count++;
            continue;
        }
        if (stamps[codes[i]] == page) continue;
        stamps[codes[i]] = page;
        NL_TRY(nl_bounds_add_plain(&writer->page_bounds, nl_dictionary_out_value(&writer->dictionary, codes[i])));
    }
    return NULL;
}

static nl_status add_values(nl_column_writer *writer, nl_parquet_encoder *encoder, const nl_shredded *shredded, const uint32_t *index, uint32_t count)
{
    if (count == 0) return NULL;
    const nl_write_leaf *leaf = writer->leaf;
    const bool is_mapped = writer->uses_dictionary && shredded->dictionary != NULL;
    if (!is_mapped) {
        NL_TRY(nl_bytes_out_reserve(&encoder->form, (size_t)count * leaf->stride + 16));
        NL_TRY(nl_write_form(leaf, shredded->values, index, count, encoder->form.data));
    }
    if (!writer->uses_dictionary) {
        NL_TRY(add_plain(writer, encoder->form.data, count));
        writer->page_values += count;
        return NULL;
    }
    NL_TRY(nl_bytes_out_reserve(&writer->codes, (size_t)count * sizeof(uint32_t)));
    uint32_t *codes = (uint32_t *)(void *)(writer->codes.data + writer->codes.length);
    if (is_mapped)
        NL_TRY(map_codes(writer, encoder, shredded, index, count, codes));
    else
        NL_TRY(nl_dictionary_out_codes(&writer->dictionary, encoder->form.data, count, codes));
    NL_TRY(bound_codes(writer, codes, count));
    writer->page_raw_bytes += raw_bytes_of(writer, codes, count);
    writer->codes.length += (size_t)count * sizeof(uint32_t);
    writer->page_values += count;
    return writer->dictionary.plain.length > writer->options->dictionary_bytes ? leave_dictionary(writer) : NULL;
}

/* ---- Pages ---- */

static nl_status put_levels(const nl_column_writer *writer, nl_parquet_encoder *encoder, uint32_t max, const nl_bytes_out *levels, bool is_full)
{
    nl_bytes_out *body = &encoder->body;
    if (max == 0) return NULL;
    const uint32_t width = nl_rle_width_for(max);
    const size_t prefix = writer->options->page_v2 ? 0 : sizeof(uint32_t);
    NL_TRY(nl_bytes_out_reserve(&encoder->packed, (size_t)writer->page_entries * sizeof(uint32_t)));
    NL_TRY(nl_bytes_out_reserve(body, prefix + nl_rle_bound(width, writer->page_entries)));
    uint8_t *const target = body->data + body->length + prefix;
    uint32_t *wide = (uint32_t *)(void *)encoder->packed.data;
    for (uint32_t i = 0; !is_full && i < writer->page_entries; i++) wide[i] = levels->data[i];
    const uint32_t length = (uint32_t)(is_full ? nl_rle_encode_same(max, writer->page_entries, width, target) : nl_rle_encode(wide, writer->page_entries, width, target));
    if (prefix > 0) memcpy(body->data + body->length, &length, sizeof(length));
    body->length += prefix + length;
    return NULL;
}

static nl_status put_codes(const nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    nl_bytes_out *body = &encoder->body;
    const uint32_t width = nl_rle_width_for(writer->dictionary.count > 0 ? writer->dictionary.count - 1 : 0);
    NL_TRY(nl_bytes_out_reserve(body, 1 + nl_rle_bound(width, writer->page_values)));
    body->data[body->length++] = (uint8_t)width;
    body->length += nl_rle_encode((const uint32_t *)(const void *)writer->codes.data, writer->page_values, width, body->data + body->length);
    return NULL;
}

static nl_status put_booleans(const nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    nl_bytes_out *body = &encoder->body;
    const size_t bytes = (writer->page_values + 7u) / 8u;
    NL_TRY(nl_bytes_out_reserve(body, bytes));
    uint8_t *bits = body->data + body->length;
    memset(bits, 0, bytes);
    for (uint32_t i = 0; i < writer->page_values; i++) bits[i >> 3] = (uint8_t)(bits[i >> 3] | (writer->plain.data[i] << (i & 7)));
    body->length += bytes;
    return NULL;
}

static nl_status put_values(const nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    if (writer->uses_dictionary) return put_codes(writer, encoder);
    if (writer->leaf->physical == NL_PARQUET_BOOLEAN) return put_booleans(writer, encoder);
    return nl_bytes_out_add(&encoder->body, writer->plain.data, writer->plain.length);
}

/* What a page's header says. */
typedef struct page_facts {
    int32_t kind, encoding;
    uint32_t value_count, null_count, row_count;
    uint32_t repetition_bytes, definition_bytes; /* v2 */
} page_facts;

static void put_header_v2(nl_builder *out, int16_t *last, const page_facts *facts)
{
    int16_t inner = 0;
    nl_thrift_put_struct(out, last, 8);
    nl_thrift_put_i32(out, &inner, 1, (int32_t)facts->value_count);
    nl_thrift_put_i32(out, &inner, 2, (int32_t)facts->null_count);
    nl_thrift_put_i32(out, &inner, 3, (int32_t)facts->row_count);
    nl_thrift_put_i32(out, &inner, 4, facts->encoding);
    nl_thrift_put_i32(out, &inner, 5, (int32_t)facts->definition_bytes);
    nl_thrift_put_i32(out, &inner, 6, (int32_t)facts->repetition_bytes);
    nl_thrift_put_bool(out, &inner, 7, true);
    nl_thrift_end(out);
}

static void put_header_v1(nl_builder *out, int16_t *last, const page_facts *facts)
{
    int16_t inner = 0;
    nl_thrift_put_struct(out, last, facts->kind == NL_PAGE_DICTIONARY ? 7 : 5);
    nl_thrift_put_i32(out, &inner, 1, (int32_t)facts->value_count);
    nl_thrift_put_i32(out, &inner, 2, facts->encoding);
    if (facts->kind == NL_PAGE_DATA) {
        nl_thrift_put_i32(out, &inner, 3, NL_PARQUET_RLE);
        nl_thrift_put_i32(out, &inner, 4, NL_PARQUET_RLE);
    }
    nl_thrift_end(out);
}

/* Compresses the body behind its first `level_bytes` and puts the header before it. */
static nl_status seal_page(nl_column_writer *writer, nl_parquet_encoder *encoder, const page_facts *facts, size_t level_bytes, nl_buffer **page,
                           uint32_t *raw_bytes)
{
    const nl_codec codec = nl_parquet_codec_of(writer->options->codec);
    const nl_bytes in = {encoder->body.data + level_bytes, encoder->body.length - level_bytes};
    const size_t bound = nl_codec_bound(codec, in.length);
    const int32_t level = writer->options->compression_level != 0 ? writer->options->compression_level : NL_CODEC_LEVEL_DEFAULT;
    size_t stored = 0;
    if (encoder->body.length > NL_PARQUET_PAGE_BYTES_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A page of column " NL_STR_FMT " would have %zu bytes.", NL_STR_ARG(writer->leaf->dotted), encoder->body.length);
    encoder->packed.length = 0;
    NL_TRY(nl_bytes_out_reserve(&encoder->packed, level_bytes + bound + 16));
    if (level_bytes > 0) memcpy(encoder->packed.data, encoder->body.data, level_bytes);
    NL_TRY(nl_codec_compress(encoder->codec, codec, level, in, encoder->packed.data + level_bytes, bound, &stored));
    stored += level_bytes;
    nl_builder header;
    int16_t last = 0;
    nl_builder_init(&header, HEADER_BYTES_MAX);
    nl_thrift_put_i32(&header, &last, 1, facts->kind);
    nl_thrift_put_i32(&header, &last, 2, (int32_t)encoder->body.length);
    nl_thrift_put_i32(&header, &last, 3, (int32_t)stored);
    if (writer->options->writes_checksums) nl_thrift_put_i32(&header, &last, 4, (int32_t)nl_crc32(encoder->packed.data, stored, 0));
    if (facts->kind == NL_PAGE_DATA_V2)
        put_header_v2(&header, &last, facts);
    else
        put_header_v1(&header, &last, facts);
    nl_thrift_end(&header);
    nl_status status = nl_builder_failed(&header) ? NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", HEADER_BYTES_MAX), NL_P_INT("receivedBytes", 0))
                                                  : nl_buffer_new(writer->memory, header.length + stored, false, page);
    if (status == NULL) {
        memcpy((*page)->data, header.data, header.length);
        memcpy((*page)->data + header.length, encoder->packed.data, stored);
        *raw_bytes = (uint32_t)(header.length + encoder->body.length);
        writer->compressed_bytes += (*page)->size_bytes;
        writer->uncompressed_bytes += *raw_bytes;
    }
    nl_builder_fini(&header);
    return status;
}

/* Keeps the page's bounds, cut to what the column index holds. */
static nl_status record_bounds(const nl_column_writer *writer, nl_parquet_encoder *encoder, nl_page_record *record)
{
    uint8_t room[16];
    bool is_exact = true;
    bool is_usable = true;
    const size_t bytes_max = writer->options->index_bytes_max;
    if (!writer->leaf->has_statistics || !writer->page_bounds.has_values) return NULL;
    (void)nl_bounds_min(&writer->page_bounds, bytes_max, room, &record->min, &is_exact);
    NL_TRY(nl_bounds_max(&writer->page_bounds, bytes_max, &encoder->form, &record->max, &is_exact, &is_usable));
    if (!is_usable) record->max = nl_bytes_out_bytes(&writer->page_bounds.max_bytes); /* all 0xff: only the whole value will do */
    NL_TRY(nl_buffer_new(writer->memory, record->min.length + record->max.length + 1, false, &record->bounds));
    uint8_t *at = record->bounds->data;
    memcpy(at, record->min.data, record->min.length);
    memcpy(at + record->min.length, record->max.data, record->max.length);
    record->min.data = at;
    record->max.data = at + record->min.length;
    record->has_bounds = true;
    return NULL;
}

/* The first page decides whether the dictionary saves anything. */
static bool dictionary_saves(const nl_column_writer *writer)
{
    const uint32_t width = nl_rle_width_for(writer->dictionary.count > 0 ? writer->dictionary.count - 1 : 0);
    const uint64_t code_bytes = (uint64_t)writer->page_values * width / 8;
    return code_bytes + writer->dictionary.plain.length < writer->page_raw_bytes;
}

static void clear_page(nl_column_writer *writer)
{
    writer->repetition.length = writer->definition.length = writer->plain.length = writer->codes.length = 0;
    writer->page_entries = writer->page_rows = writer->page_values = 0;
    writer->page_raw_bytes = 0;
    nl_bounds_clear(&writer->page_bounds);
}

static nl_status finish_page(nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    const nl_write_leaf *leaf = writer->leaf;
    if (writer->page_entries == 0) return NULL;
    if (writer->uses_dictionary && writer->page_count == 0 && writer->page_values > 0 && !dictionary_saves(writer)) NL_TRY(leave_dictionary(writer));
    nl_page_record record = {
        .row_count = writer->page_rows,
        .value_count = writer->page_entries,
        .null_count = writer->page_entries - writer->page_values,
        .is_dictionary_encoded = writer->uses_dictionary,
        .is_all_null = writer->page_values == 0,
    };
    page_facts facts = {.kind = writer->options->page_v2 ? NL_PAGE_DATA_V2 : NL_PAGE_DATA,
                        .encoding = writer->uses_dictionary ? NL_PARQUET_RLE_DICTIONARY : NL_PARQUET_PLAIN,
                        .value_count = record.value_count, .null_count = record.null_count, .row_count = record.row_count};
    encoder->body.length = 0;
    NL_TRY(put_levels(writer, encoder, leaf->max_repetition, &writer->repetition, false));
    facts.repetition_bytes = (uint32_t)encoder->body.length;
    NL_TRY(put_levels(writer, encoder, leaf->max_definition, &writer->definition, record.null_count == 0));
    facts.definition_bytes = (uint32_t)encoder->body.length - facts.repetition_bytes;
    const size_t level_bytes = writer->options->page_v2 ? encoder->body.length : 0;
    NL_TRY(put_values(writer, encoder));
    NL_TRY(nl_bytes_out_reserve(&writer->pages, sizeof(record)));
    NL_TRY(seal_page(writer, encoder, &facts, level_bytes, &record.bytes, &record.uncompressed_bytes));
    nl_status status = record_bounds(writer, encoder, &record);
    if (status == NULL) status = nl_bounds_merge(&writer->chunk_bounds, &writer->page_bounds);
    if (status != NULL) {
        nl_buffer_release(record.bytes);
        nl_buffer_release(record.bounds);
        return status;
    }
    memcpy(writer->pages.data + writer->pages.length, &record, sizeof(record));
    writer->pages.length += sizeof(record);
    writer->page_count++;
    writer->dictionary_page_count += record.is_dictionary_encoded;
    writer->chunk_entries += record.value_count;
    writer->chunk_nulls += record.null_count;
    writer->chunk_rows += record.row_count;
    clear_page(writer);
    return NULL;
}

/* ---- Taking shredded entries ---- */

/* How far the present page can take entries from `from` on: whole rows, up to the limits, at least one row. */
static uint32_t part_end(const nl_column_writer *writer, const nl_shredded *s, uint32_t from, uint32_t value, uint32_t *rows, uint32_t *values)
{
    const nl_write_leaf *leaf = writer->leaf;
    const uint32_t rows_left = writer->options->page_rows_max - writer->page_rows;
    const uint64_t used = writer->uses_dictionary ? 0 : writer->plain.length;
    const uint64_t bytes_left = writer->options->page_bytes > used ? writer->options->page_bytes - used : 0;
    const bool is_string = leaf->physical == NL_PARQUET_BYTE_ARRAY;
    if (s->repetition == NULL && s->definition == NULL && !is_string) { /* the same without looking at each entry */
        const uint64_t by_bytes = (bytes_left + leaf->stride - 1) / leaf->stride;
        const uint64_t most = NL_MIN(NL_MIN(by_bytes, (uint64_t)rows_left), (uint64_t)PART_ENTRIES);
        *rows = *values = (uint32_t)NL_MIN(NL_MAX(most, (uint64_t)1), (uint64_t)(s->entry_count - from));
        return from + *rows;
    }
    const nl_string_view *views = is_string ? s->values->values : NULL;
    uint64_t bytes = 0;
    uint32_t at = from;
    *rows = *values = 0;
    for (; at < s->entry_count; at++) {
        if (s->repetition == NULL || s->repetition[at] == 0) {
            if (*rows > 0 && (*rows >= rows_left || bytes >= bytes_left || at - from >= PART_ENTRIES)) break;
            (*rows)++;
        }
        if (s->definition != NULL && s->definition[at] != leaf->max_definition) continue;
        bytes += is_string ? views[s->index[value + *values]].length + sizeof(uint32_t) : leaf->stride;
        (*values)++;
    }
    return at;
}

static nl_status add_levels(nl_column_writer *writer, const nl_shredded *s, uint32_t from, uint32_t end)
{
    const nl_write_leaf *leaf = writer->leaf;
    const uint32_t count = end - from;
    if (leaf->max_repetition > 0) NL_TRY(nl_bytes_out_add(&writer->repetition, s->repetition + from, count));
    if (leaf->max_definition == 0) return NULL;
    if (s->definition != NULL) return nl_bytes_out_add(&writer->definition, s->definition + from, count);
    NL_TRY(nl_bytes_out_reserve(&writer->definition, count));
    memset(writer->definition.data + writer->definition.length, leaf->max_definition, count);
    writer->definition.length += count;
    return NULL;
}

static bool is_page_full(const nl_column_writer *writer)
{
    const size_t bytes = writer->uses_dictionary ? writer->codes.length : writer->plain.length;
    return writer->page_rows >= writer->options->page_rows_max || bytes >= writer->options->page_bytes ||
           writer->page_entries >= writer->options->page_bytes;
}

nl_status nl_column_writer_add(nl_column_writer *writer, nl_parquet_encoder *encoder, const nl_shredded *shredded)
{
    uint32_t entry = 0;
    uint32_t value = 0;
    while (entry < shredded->entry_count) {
        uint32_t rows = 0;
        uint32_t values = 0;
        const uint32_t end = part_end(writer, shredded, entry, value, &rows, &values);
        NL_TRY(add_levels(writer, shredded, entry, end));
        NL_TRY(add_values(writer, encoder, shredded, shredded->index + value, values));
        writer->page_entries += end - entry;
        writer->page_rows += rows;
        entry = end;
        value += values;
        if (is_page_full(writer)) NL_TRY(finish_page(writer, encoder));
    }
    NL_ASSERT(value == shredded->value_count);
    return NULL;
}

static nl_status finish_dictionary(nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    bloom_add_dictionary(writer);
    if (writer->dictionary_page_count == 0) return NULL;
    const page_facts facts = {.kind = NL_PAGE_DICTIONARY, .encoding = NL_PARQUET_PLAIN, .value_count = writer->dictionary.count};
    encoder->body.length = 0;
    NL_TRY(nl_bytes_out_add(&encoder->body, writer->dictionary.plain.data, writer->dictionary.plain.length));
    return seal_page(writer, encoder, &facts, 0, &writer->dictionary_page, &writer->dictionary_page_raw);
}

nl_status nl_column_writer_finish_chunk(nl_column_writer *writer, nl_parquet_encoder *encoder)
{
    NL_TRY(finish_page(writer, encoder));
    NL_TRY(finish_dictionary(writer, encoder));
    if (writer->bloom != NULL && writer->leaf->bloom_ndv == 0)
        writer->bloom_bytes = nl_bloom_fold(writer->bloom, writer->bloom_bytes, writer->leaf->bloom_fpp);
    writer->file_entries += writer->chunk_entries;
    writer->file_nulls += writer->chunk_nulls;
    writer->file_bytes += writer->compressed_bytes;
    return nl_bounds_merge(&writer->file_bounds, &writer->chunk_bounds);
}
