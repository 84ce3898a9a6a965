/* format/parquet/prune.c - bounds of row groups and pages, and Bloom filters, as values of the wanted type.
 *
 * Statistics are hints: whatever cannot be trusted is left out, never guessed. Source: parquet.thrift, Statistics,
 * ColumnIndex; BloomFilter.md.
 */
#include <math.h>

#include "base/cursor.h"
#include "base/limits.h"
#include "format/parquet/bloom.h"
#include "format/parquet/reader.h"
#include "format/parquet/reader_object.h"
#include "format/parquet/thrift.h"

static const nl_parquet_chunk *chunk_of(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf)
{
    NL_ASSERT(row_group < reader->footer->row_group_count);
    NL_ASSERT(leaf < reader->mapping.leaf_count);
    return &reader->footer->row_groups[row_group].chunks[reader->mapping.leaves[leaf].ordinal];
}

/* The deprecated fields were written in signed byte order, which is right for numbers only. */
static bool is_old_order_right(const nl_parquet_node *leaf)
{
    const bool is_unsigned = leaf->logical == NL_PARQUET_INTEGER && !leaf->is_signed;
    return !is_unsigned && (leaf->physical == NL_PARQUET_INT32 || leaf->physical == NL_PARQUET_INT64 || leaf->physical == NL_PARQUET_FLOAT ||
                            leaf->physical == NL_PARQUET_DOUBLE || leaf->physical == NL_PARQUET_BOOLEAN);
}

/* Byte-array decimals may be stored with surplus bytes, and 16-bit floats were ordered in different ways. */
static bool has_usable_order(const nl_parquet_node *leaf)
{
    return leaf->physical != NL_PARQUET_INT96 && leaf->logical != NL_PARQUET_FLOAT16 && leaf->logical != NL_PARQUET_INTERVAL;
}

/* NaN is no bound, and a zero bound stands for both zeros (parquet.thrift, TypeDefinedOrder). */
static bool fix_real(nl_value *value, bool is_max)
{
    if (value->type->physical != NL_PHYS_F32 && value->type->physical != NL_PHYS_F64) return true;
    if (isnan(value->real)) return false;
    if (value->real == 0) value->real = is_max ? 0.0 : -0.0;
    return true;
}

static nl_status set_bound(const nl_map_leaf *leaf, nl_bytes bytes, bool is_max, nl_arena *arena, nl_value *value, bool *has_value)
{
    NL_TRY(nl_convert_statistic(&leaf->conversion, leaf->type, bytes, arena, value, has_value));
    *has_value = *has_value && fix_real(value, is_max);
    return NULL;
}

static bool is_byte_valued(const nl_parquet_node *leaf)
{
    return leaf->physical == NL_PARQUET_BYTE_ARRAY || leaf->physical == NL_PARQUET_FIXED;
}

nl_status nl_parquet_chunk_bounds(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, nl_arena *arena, nl_parquet_bounds *bounds)
{
    const nl_parquet_chunk *chunk = chunk_of(reader, row_group, leaf);
    const nl_map_leaf *map_leaf = &reader->mapping.leaves[leaf];
    const nl_parquet_statistics *s = &chunk->statistics;
    *bounds = (nl_parquet_bounds){.has_null_count = s->has_null_count, .null_count = s->null_count, .value_count = chunk->value_count};
    if (bounds->null_count > bounds->value_count) bounds->has_null_count = false;
    bounds->is_all_null = bounds->has_null_count && bounds->null_count == bounds->value_count;
    if (chunk->leaf->max_definition == 0 && !bounds->has_null_count) {
        bounds->has_null_count = true; /* a required column has none */
        bounds->null_count = 0;
    }
    if (!has_usable_order(chunk->leaf)) return NULL;
    const bool is_old_right = is_old_order_right(chunk->leaf);
    const bool is_new_right = reader->footer->has_column_orders || is_old_right;
    const nl_bytes none = {0};
    const nl_bytes min = is_new_right && s->min_value.data != NULL ? s->min_value : is_old_right ? s->old_min : none;
    const nl_bytes max = is_new_right && s->max_value.data != NULL ? s->max_value : is_old_right ? s->old_max : none;
    NL_TRY(set_bound(map_leaf, min, false, arena, &bounds->min, &bounds->has_min));
    NL_TRY(set_bound(map_leaf, max, true, arena, &bounds->max, &bounds->has_max));
    /* Only the values of byte arrays can have been cut; they count as whole when the file says so. */
    bounds->is_min_exact = bounds->has_min && (s->is_min_exact || !is_byte_valued(chunk->leaf));
    bounds->is_max_exact = bounds->has_max && (s->is_max_exact || !is_byte_valued(chunk->leaf));
    return nl_arena_check(arena);
}

/* ---- Page index ---- */

typedef struct column_index {
    const uint8_t *null_pages; /* thrift booleans, one byte each */
    nl_bytes *min, *max;
    int64_t *null_counts;      /* NULL: none */
    uint32_t count;
    bool has_min, has_max;
} column_index;

static nl_status read_values(nl_cursor *in, const nl_thrift_field *field, uint32_t expected, nl_arena *arena, nl_bytes **values, bool *is_there)
{
    uint32_t count = 0;
    void *memory = NULL;
    *is_there = nl_thrift_list(in, field, NL_THRIFT_BINARY, &count) && count == expected;
    if (!*is_there) return NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(count, sizeof(nl_bytes)), &memory));
    *values = memory;
    for (uint32_t i = 0; i < count; i++) (*values)[i] = nl_thrift_element_binary(in);
    return NULL;
}

static nl_status read_null_counts(nl_cursor *in, const nl_thrift_field *field, uint32_t expected, nl_arena *arena, int64_t **counts)
{
    uint32_t count = 0;
    void *memory = NULL;
    if (!nl_thrift_list(in, field, NL_THRIFT_I64, &count) || count != expected) return NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(count, sizeof(int64_t)), &memory));
    *counts = memory;
    for (uint32_t i = 0; i < count; i++) (*counts)[i] = nl_thrift_element_i64(in);
    return NULL;
}

/* index->count stays 0 when the index does not fit the pages; it is then left aside. */
static nl_status parse_column_index(nl_cursor *in, uint32_t page_count, nl_arena *arena, column_index *index)
{
    nl_thrift_field field = {0};
    uint32_t count = 0;
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1:
            if (!nl_thrift_list(in, &field, NL_THRIFT_TRUE, &count)) break;
            index->null_pages = nl_cursor_bytes(in, count).data;
            break;
        case 2: NL_TRY(read_values(in, &field, page_count, arena, &index->min, &index->has_min)); break;
        case 3: NL_TRY(read_values(in, &field, page_count, arena, &index->max, &index->has_max)); break;
        case 5: NL_TRY(read_null_counts(in, &field, page_count, arena, &index->null_counts)); break;
        default: nl_thrift_skip(in, &field);
        }
    }
    const bool is_whole = !in->has_failed && index->null_pages != NULL && count == page_count && index->has_min && index->has_max;
    index->count = is_whole ? page_count : 0;
    return NULL;
}

static nl_status set_page(const nl_map_leaf *leaf, const column_index *index, uint32_t i, nl_arena *arena, nl_parquet_bounds *page)
{
    page->is_all_null = index->null_pages[i] == NL_THRIFT_TRUE;
    if (index->null_counts != NULL && index->null_counts[i] >= 0 && (uint64_t)index->null_counts[i] <= page->value_count) {
        page->has_null_count = true;
        page->null_count = (uint64_t)index->null_counts[i];
    } else if (page->is_all_null) {
        page->has_null_count = true;
        page->null_count = page->value_count;
    }
    if (page->is_all_null || !has_usable_order(leaf->node)) return NULL;
    NL_TRY(set_bound(leaf, index->min[i], false, arena, &page->min, &page->has_min));
    return set_bound(leaf, index->max[i], true, arena, &page->max, &page->has_max);
}

static nl_status make_pages(const nl_map_leaf *leaf, const nl_page_slot *slots, uint64_t row_count,
                            const column_index *index, nl_arena *arena, nl_parquet_bounds **pages)
{
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(index->count, sizeof(nl_parquet_bounds)), &memory));
    nl_parquet_bounds *made = memory;
    for (uint32_t i = 0; i < index->count; i++) {
        const uint64_t end = i + 1 < index->count ? slots[i + 1].first_row : row_count;
        made[i] = (nl_parquet_bounds){.first_row = slots[i].first_row, .value_count = end - slots[i].first_row};
        NL_TRY(set_page(leaf, index, i, arena, &made[i]));
        NL_TRY(nl_arena_check(arena));
    }
    *pages = made;
    return NULL;
}

nl_status nl_parquet_page_bounds(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, nl_arena *arena, nl_parquet_bounds **pages,
                                 uint32_t *page_count)
{
    const nl_parquet_chunk *chunk = chunk_of(reader, row_group, leaf);
    const uint64_t row_count = reader->footer->row_groups[row_group].row_count;
    *pages = NULL;
    *page_count = 0;
    if (chunk->column_index_length == 0 || chunk->column_index_length > NL_PARQUET_FOOTER_BYTES_MAX) return NULL;
    nl_buffer *slots = NULL;
    nl_buffer *bytes = NULL;
    nl_status status = NULL;
    uint32_t slot_count = 0;
    column_index index = {0};
    NL_TRY(nl_offset_index_read(reader->file, chunk, row_count, reader->memory, &slots, &slot_count));
    if (slots == NULL) return NULL;
    NL_GO(nl_buffer_new(reader->memory, (size_t)chunk->column_index_length, false, &bytes));
    NL_GO(nl_file_read(reader->file, chunk->column_index_offset, (size_t)chunk->column_index_length, bytes->data));
    nl_cursor in = nl_cursor_over(bytes->data, bytes->size_bytes, reader->footer->path);
    NL_GO(parse_column_index(&in, slot_count, arena, &index));
    if (index.count > 0)
        NL_GO(make_pages(&reader->mapping.leaves[leaf], (const nl_page_slot *)(const void *)slots->data, row_count, &index, arena, pages));
    *page_count = index.count;
done:
    nl_buffer_release(slots);
    nl_buffer_release(bytes);
    return status;
}

/* ---- Bloom filters ---- */

bool nl_parquet_has_bloom(const nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf)
{
    return chunk_of(reader, row_group, leaf)->bloom_offset != 0;
}

/* The PLAIN bytes the file would store for a value. False: it cannot be said, so the filter is not asked. */
static bool plain_of(const nl_map_leaf *leaf, const nl_value *value, uint8_t room[16], nl_bytes *plain)
{
    const nl_conversion *conversion = &leaf->conversion;
    const nl_physical physical = value->type->physical;
    const bool is_integer = physical == NL_PHYS_I8 || physical == NL_PHYS_I16 || physical == NL_PHYS_I32 || physical == NL_PHYS_I64;
    int64_t integer = value->integer;
    if (value->type->id == NL_TYPE_DECIMAL) integer = (int64_t)value->decimal;
    switch (conversion->kind) {
    case NL_CONVERT_COPY:
        if (conversion->from == NL_PARQUET_BYTE_ARRAY) {
            *plain = (nl_bytes){(const uint8_t *)value->text.data, value->text.length};
            return true;
        }
        if (conversion->from == NL_PARQUET_DOUBLE || conversion->from == NL_PARQUET_FLOAT) {
            const float narrow = (float)value->real;
            if (value->real == 0 || isnan(value->real)) return false; /* equal values of different bits */
            memcpy(room, conversion->from == NL_PARQUET_FLOAT ? (const void *)&narrow : (const void *)&value->real, conversion->stored_bytes);
            *plain = (nl_bytes){room, conversion->stored_bytes};
            return true;
        }
        break;
    case NL_CONVERT_FIXED_VIEW:
        *plain = (nl_bytes){(const uint8_t *)value->text.data, value->text.length};
        return true;
    case NL_CONVERT_I32_I8:
    case NL_CONVERT_I32_I16:
    case NL_CONVERT_I32_I64:
        break;
    case NL_CONVERT_I32_DECIMAL:
        if (conversion->multiplier != 1) return false;
        break;
    case NL_CONVERT_U32_I64:
    case NL_CONVERT_I32_F64:
    case NL_CONVERT_F32_F64:
    case NL_CONVERT_F16_F32:
    case NL_CONVERT_MILLIS:
    case NL_CONVERT_NANOS:
    case NL_CONVERT_DAYS:
    case NL_CONVERT_INT96:
    case NL_CONVERT_I64_DECIMAL:
    case NL_CONVERT_U64_DECIMAL:
    case NL_CONVERT_VIEW_DECIMAL:
    case NL_CONVERT_FIXED_DECIMAL:
    case NL_CONVERT_UUID_TEXT:
        return false;
    }
    if (!is_integer || (conversion->from != NL_PARQUET_INT32 && conversion->from != NL_PARQUET_INT64)) return false;
    if (conversion->from == NL_PARQUET_INT32 && (integer < INT32_MIN || integer > INT32_MAX)) return false;
    memcpy(room, &integer, sizeof(integer)); /* little-endian: an INT32 is the first half */
    *plain = (nl_bytes){room, conversion->stored_bytes};
    return true;
}

#define BLOOM_HEADER_BYTES_MAX 256u

static bool parse_bloom_header(nl_bytes bytes, uint32_t *header_bytes, uint32_t *filter_bytes)
{
    nl_cursor in = nl_cursor_over(bytes.data, bytes.length, NL_STR(""));
    nl_thrift_field field = {0};
    int32_t size = 0;
    bool is_known = true;
    while (nl_thrift_next(&in, &field)) {
        if (field.id == 1) {
            (void)nl_thrift_i32(&in, &field, &size);
            continue;
        }
        nl_thrift_field choice = {0}; /* algorithm, hash, compression: unions whose first member is the only one known */
        if (!nl_thrift_is_struct(&in, &field)) continue;
        while (nl_thrift_next(&in, &choice)) {
            is_known &= choice.id == 1;
            nl_thrift_skip(&in, &choice);
        }
    }
    *header_bytes = (uint32_t)in.offset;
    *filter_bytes = size > 0 ? (uint32_t)size : 0;
    return !in.has_failed && is_known && size > 0 && size <= (int32_t)NL_BLOOM_BYTES_MAX && size % (int32_t)NL_BLOOM_BLOCK_BYTES == 0;
}

nl_status nl_parquet_bloom_check(nl_parquet_reader *reader, uint32_t row_group, uint32_t leaf, const nl_value *value, bool *may_contain)
{
    const nl_parquet_chunk *chunk = chunk_of(reader, row_group, leaf);
    const uint64_t file_bytes = reader->footer->file_bytes;
    uint8_t room[16];
    uint8_t head[BLOOM_HEADER_BYTES_MAX] = {0};
    nl_bytes plain;
    uint32_t header_bytes = 0;
    uint32_t filter_bytes = 0;
    *may_contain = true;
    if (chunk->bloom_offset == 0 || value->is_null || !plain_of(&reader->mapping.leaves[leaf], value, room, &plain)) return NULL;
    const size_t head_length = (size_t)NL_MIN(file_bytes - chunk->bloom_offset, (uint64_t)sizeof(head));
    NL_TRY(nl_file_read(reader->file, chunk->bloom_offset, head_length, head));
    if (!parse_bloom_header((nl_bytes){head, head_length}, &header_bytes, &filter_bytes)) return NULL;
    if (filter_bytes > file_bytes - chunk->bloom_offset - header_bytes) return NULL;
    /* One block decides, so one block is read. */
    const uint64_t hash = nl_bloom_hash(plain);
    uint8_t block[NL_BLOOM_BLOCK_BYTES];
    const uint64_t offset = chunk->bloom_offset + header_bytes + nl_bloom_block_offset(filter_bytes, hash);
    NL_TRY(nl_file_read(reader->file, offset, sizeof(block), block));
    *may_contain = nl_bloom_may_contain(block, sizeof(block), hash);
    return NULL;
}
