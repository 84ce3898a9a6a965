/* format/parquet/write_footer.c - Thrift of page indexes and the file's metadata. Source: parquet.thrift. */
#include "format/parquet/write_footer.h"

#include "base/limits.h"
#include "format/parquet/thrift.h"

/* Statistics of larger values are cut, as parquet-mr leaves them out above this size. */
#define STATISTICS_BYTES_MAX 4096u
#define CUT_BYTES            64u

/* ---- Page indexes ---- */

static nl_status to_arena(nl_arena *arena, const nl_builder *text, nl_str *out)
{
    void *copy = NULL;
    if (nl_builder_failed(text)) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)text->length), NL_P_INT("receivedBytes", 0));
    NL_TRY(nl_arena_alloc_sized(arena, text->length + 1, &copy));
    memcpy(copy, text->data, text->length);
    *out = (nl_str){copy, text->length};
    return NULL;
}

static void put_offset_index(const nl_column_writer *column, uint64_t position, nl_builder *out)
{
    const nl_page_record *pages = nl_column_writer_pages(column);
    int16_t last = 0;
    uint64_t row = 0;
    nl_thrift_put_list(out, &last, 1, NL_THRIFT_STRUCT, column->page_count);
    for (uint32_t i = 0; i < column->page_count; i++) {
        int16_t inner = 0;
        nl_thrift_put_i64(out, &inner, 1, (int64_t)position);
        nl_thrift_put_i32(out, &inner, 2, (int32_t)pages[i].bytes->size_bytes);
        nl_thrift_put_i64(out, &inner, 3, (int64_t)row);
        nl_thrift_end(out);
        position += pages[i].bytes->size_bytes;
        row += pages[i].row_count;
    }
    nl_thrift_end(out);
}

static int compare_bounds(const nl_write_leaf *leaf, nl_bytes a, nl_bytes b)
{
    nl_bounds_out bounds = {.leaf = leaf};
    nl_bounds_out other = {.leaf = leaf};
    if (leaf->order == NL_ORDER_BYTES) return nl_str_compare((nl_str){(const char *)a.data, a.length}, (nl_str){(const char *)b.data, b.length});
    if (leaf->order == NL_ORDER_WIDE) {
        if ((a.data[0] ^ b.data[0]) & 0x80) return a.data[0] & 0x80 ? -1 : 1;
        return memcmp(a.data, b.data, a.length);
    }
    nl_error_free(nl_bounds_add_plain(&bounds, a)); /* numbers cannot fail */
    nl_error_free(nl_bounds_add_plain(&other, b));
    if (leaf->order == NL_ORDER_INTEGER) return bounds.min_integer < other.min_integer ? -1 : bounds.min_integer > other.min_integer;
    return bounds.min_real < other.min_real ? -1 : bounds.min_real > other.min_real;
}

/* 0 unordered, 1 ascending, 2 descending; pages of nulls do not count. */
static int32_t boundary_order(const nl_column_writer *column)
{
    const nl_page_record *pages = nl_column_writer_pages(column);
    const nl_page_record *before = NULL;
    bool is_ascending = true;
    bool is_descending = true;
    for (uint32_t i = 0; i < column->page_count; i++) {
        if (!pages[i].has_bounds) continue;
        if (before != NULL) {
            const int min = compare_bounds(column->leaf, before->min, pages[i].min);
            const int max = compare_bounds(column->leaf, before->max, pages[i].max);
            is_ascending &= min <= 0 && max <= 0;
            is_descending &= min >= 0 && max >= 0;
        }
        before = &pages[i];
    }
    return is_ascending ? 1 : is_descending ? 2 : 0;
}

/* False: some page has values but no bounds (NaN only), which a column index cannot say. */
static bool can_index(const nl_column_writer *column)
{
    const nl_page_record *pages = nl_column_writer_pages(column);
    for (uint32_t i = 0; i < column->page_count; i++) {
        if (!pages[i].has_bounds && !pages[i].is_all_null) return false;
    }
    return column->leaf->has_statistics && column->page_count > 0;
}

static void put_column_index(const nl_column_writer *column, nl_builder *out)
{
    const nl_page_record *pages = nl_column_writer_pages(column);
    const uint32_t count = column->page_count;
    int16_t last = 0;
    nl_thrift_put_list(out, &last, 1, NL_THRIFT_FALSE, count);
    for (uint32_t i = 0; i < count; i++) nl_thrift_element_put_bool(out, pages[i].is_all_null);
    nl_thrift_put_list(out, &last, 2, NL_THRIFT_BINARY, count);
    for (uint32_t i = 0; i < count; i++) nl_thrift_element_put_binary(out, pages[i].min);
    nl_thrift_put_list(out, &last, 3, NL_THRIFT_BINARY, count);
    for (uint32_t i = 0; i < count; i++) nl_thrift_element_put_binary(out, pages[i].max);
    nl_thrift_put_i32(out, &last, 4, boundary_order(column));
    nl_thrift_put_list(out, &last, 5, NL_THRIFT_I64, count);
    for (uint32_t i = 0; i < count; i++) nl_thrift_element_put_i64(out, pages[i].null_count);
    nl_thrift_end(out);
}

static nl_status make_indexes(const nl_column_writer *column, uint64_t position, nl_arena *arena, nl_written_chunk *chunk)
{
    if (column->options->no_page_index) return NULL;
    nl_builder out;
    nl_builder_init(&out, NL_PARQUET_FOOTER_BYTES_MAX);
    put_offset_index(column, position, &out);
    nl_status status = to_arena(arena, &out, &chunk->offset_index);
    if (status == NULL && can_index(column)) {
        nl_builder_clear(&out);
        put_column_index(column, &out);
        status = to_arena(arena, &out, &chunk->column_index);
    }
    nl_builder_fini(&out);
    return status;
}

/* ---- Chunks ---- */

static nl_status bytes_to_arena(nl_arena *arena, nl_bytes bytes, nl_bytes *out)
{
    void *copy = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, bytes.length + 1, &copy));
    if (bytes.length > 0) memcpy(copy, bytes.data, bytes.length);
    *out = (nl_bytes){copy, bytes.length};
    return NULL;
}

static nl_status make_statistics(const nl_column_writer *column, nl_arena *arena, nl_written_chunk *chunk)
{
    const nl_bounds_out *bounds = &column->chunk_bounds;
    if (!column->leaf->has_statistics || !bounds->has_values) return NULL;
    size_t bytes_max = column->options->statistics_bytes_max;
    if (bytes_max == 0 && bounds->min_bytes.length + bounds->max_bytes.length > STATISTICS_BYTES_MAX) bytes_max = CUT_BYTES;
    uint8_t room[16];
    nl_bytes value;
    nl_bytes_out max_room;
    nl_bytes_out_init(&max_room, column->memory);
    chunk->has_min = nl_bounds_min(bounds, bytes_max, room, &value, &chunk->is_min_exact);
    nl_status status = bytes_to_arena(arena, value, &chunk->min);
    if (status == NULL) status = nl_bounds_max(bounds, bytes_max, &max_room, &value, &chunk->is_max_exact, &chunk->has_max);
    if (status == NULL && chunk->has_max) status = bytes_to_arena(arena, value, &chunk->max);
    nl_bytes_out_fini(&max_room);
    return status;
}

nl_status nl_written_chunk_make(const nl_column_writer *column, uint64_t position, nl_arena *arena, nl_written_chunk *chunk)
{
    const uint64_t dictionary_bytes = column->dictionary_page != NULL ? column->dictionary_page->size_bytes : 0;
    *chunk = (nl_written_chunk){
        .start = position,
        .data_offset = position + dictionary_bytes,
        .dictionary_offset = dictionary_bytes > 0 ? position : 0,
        .has_dictionary = dictionary_bytes > 0,
        .value_count = column->chunk_entries,
        .null_count = column->chunk_nulls,
        .compressed_bytes = column->compressed_bytes,
        .uncompressed_bytes = column->uncompressed_bytes,
        .dictionary_pages = column->dictionary_page_count,
        .plain_pages = column->page_count - column->dictionary_page_count,
    };
    NL_TRY(make_statistics(column, arena, chunk));
    return make_indexes(column, chunk->data_offset, arena, chunk);
}

/* ---- FileMetaData ---- */

static void put_statistics(const nl_written_chunk *chunk, nl_builder *out, int16_t *last)
{
    int16_t inner = 0;
    nl_thrift_put_struct(out, last, 12);
    nl_thrift_put_i64(out, &inner, 3, (int64_t)chunk->null_count);
    if (chunk->has_max) nl_thrift_put_binary(out, &inner, 5, chunk->max);
    if (chunk->has_min) nl_thrift_put_binary(out, &inner, 6, chunk->min);
    if (chunk->has_max) nl_thrift_put_bool(out, &inner, 7, chunk->is_max_exact);
    if (chunk->has_min) nl_thrift_put_bool(out, &inner, 8, chunk->is_min_exact);
    nl_thrift_end(out);
}

static void put_encoding_stats(int32_t kind, int32_t encoding, uint32_t count, nl_builder *out)
{
    int16_t inner = 0;
    nl_thrift_put_i32(out, &inner, 1, kind);
    nl_thrift_put_i32(out, &inner, 2, encoding);
    nl_thrift_put_i32(out, &inner, 3, (int32_t)count);
    nl_thrift_end(out);
}

static void put_encodings(const nl_written_chunk *chunk, nl_builder *out, int16_t *last)
{
    const bool has_plain = chunk->plain_pages > 0 || chunk->has_dictionary;
    nl_thrift_put_list(out, last, 2, NL_THRIFT_I32, 1u + has_plain + chunk->has_dictionary);
    nl_thrift_element_put_i32(out, NL_PARQUET_RLE);
    if (has_plain) nl_thrift_element_put_i32(out, NL_PARQUET_PLAIN);
    if (chunk->has_dictionary) nl_thrift_element_put_i32(out, NL_PARQUET_RLE_DICTIONARY);
}

static void put_all_encoding_stats(const nl_written_chunk *chunk, int32_t data_kind, nl_builder *out, int16_t *last)
{
    const uint32_t count = (uint32_t)chunk->has_dictionary + (chunk->dictionary_pages > 0) + (chunk->plain_pages > 0);
    nl_thrift_put_list(out, last, 13, NL_THRIFT_STRUCT, count);
    if (chunk->has_dictionary) put_encoding_stats(2, NL_PARQUET_PLAIN, 1, out);
    if (chunk->dictionary_pages > 0) put_encoding_stats(data_kind, NL_PARQUET_RLE_DICTIONARY, chunk->dictionary_pages, out);
    if (chunk->plain_pages > 0) put_encoding_stats(data_kind, NL_PARQUET_PLAIN, chunk->plain_pages, out);
}

static void put_chunk_metadata(const nl_write_leaf *leaf, const nl_written_chunk *chunk, const nl_parquet_write_options *options, nl_builder *out,
                               int16_t *last)
{
    int16_t inner = 0;
    nl_thrift_put_struct(out, last, 3);
    nl_thrift_put_i32(out, &inner, 1, (int32_t)leaf->physical);
    put_encodings(chunk, out, &inner);
    nl_thrift_put_list(out, &inner, 3, NL_THRIFT_BINARY, leaf->path_length);
    for (uint32_t i = 0; i < leaf->path_length; i++)
        nl_thrift_element_put_binary(out, (nl_bytes){(const uint8_t *)leaf->path[i].data, leaf->path[i].length});
    nl_thrift_put_i32(out, &inner, 4, (int32_t)options->codec);
    nl_thrift_put_i64(out, &inner, 5, (int64_t)chunk->value_count);
    nl_thrift_put_i64(out, &inner, 6, (int64_t)chunk->uncompressed_bytes);
    nl_thrift_put_i64(out, &inner, 7, (int64_t)chunk->compressed_bytes);
    nl_thrift_put_i64(out, &inner, 9, (int64_t)chunk->data_offset);
    if (chunk->has_dictionary) nl_thrift_put_i64(out, &inner, 11, (int64_t)chunk->dictionary_offset);
    if (leaf->has_statistics) put_statistics(chunk, out, &inner);
    put_all_encoding_stats(chunk, options->page_v2 ? 3 : 0, out, &inner);
    if (chunk->bloom_length > 0) {
        nl_thrift_put_i64(out, &inner, 14, (int64_t)chunk->bloom_offset);
        nl_thrift_put_i32(out, &inner, 15, (int32_t)chunk->bloom_length);
    }
    nl_thrift_end(out);
}

static void put_chunk(const nl_write_leaf *leaf, const nl_written_chunk *chunk, const nl_parquet_write_options *options, nl_builder *out)
{
    int16_t last = 0;
    nl_thrift_put_i64(out, &last, 2, (int64_t)chunk->start);
    put_chunk_metadata(leaf, chunk, options, out, &last);
    if (chunk->offset_index.length > 0) {
        nl_thrift_put_i64(out, &last, 4, (int64_t)chunk->offset_index_offset);
        nl_thrift_put_i32(out, &last, 5, (int32_t)chunk->offset_index.length);
    }
    if (chunk->column_index.length > 0) {
        nl_thrift_put_i64(out, &last, 6, (int64_t)chunk->column_index_offset);
        nl_thrift_put_i32(out, &last, 7, (int32_t)chunk->column_index.length);
    }
    nl_thrift_end(out);
}

static void put_group(const nl_write_schema *schema, const nl_parquet_write_options *options, const nl_written_group *group, uint32_t ordinal,
                      nl_builder *out)
{
    int16_t last = 0;
    nl_thrift_put_list(out, &last, 1, NL_THRIFT_STRUCT, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) put_chunk(&schema->leaves[i], &group->chunks[i], options, out);
    nl_thrift_put_i64(out, &last, 2, (int64_t)group->uncompressed_bytes);
    nl_thrift_put_i64(out, &last, 3, (int64_t)group->row_count);
    nl_thrift_put_i64(out, &last, 5, (int64_t)group->start);
    nl_thrift_put_i64(out, &last, 6, (int64_t)group->compressed_bytes);
    if (ordinal <= INT16_MAX) { /* an i16, which zigzag writes like any other integer */
        nl_append_char(out, (char)(1 << 4 | NL_THRIFT_I16));
        nl_thrift_element_put_i32(out, (int32_t)ordinal);
    }
    nl_thrift_end(out);
}

static void put_key_values(const nl_parquet_write_options *options, nl_builder *out, int16_t *last)
{
    if (options->key_value_count == 0) return;
    nl_thrift_put_list(out, last, 5, NL_THRIFT_STRUCT, options->key_value_count);
    for (uint32_t i = 0; i < options->key_value_count; i++) {
        int16_t inner = 0;
        nl_thrift_put_str(out, &inner, 1, options->key_values[i].key);
        nl_thrift_put_str(out, &inner, 2, options->key_values[i].value);
        nl_thrift_end(out);
    }
}

nl_status nl_footer_put(const nl_write_schema *schema, const nl_parquet_write_options *options, const nl_list *groups, uint64_t row_count, nl_builder *out)
{
    int16_t last = 0;
    nl_thrift_put_i32(out, &last, 1, options->page_v2 ? 2 : 1);
    nl_thrift_put_list(out, &last, 2, NL_THRIFT_STRUCT, schema->element_count);
    nl_write_schema_put(schema, options->root_name, out);
    nl_thrift_put_i64(out, &last, 3, (int64_t)row_count);
    nl_thrift_put_list(out, &last, 4, NL_THRIFT_STRUCT, groups->count);
    for (uint32_t i = 0; i < groups->count; i++) put_group(schema, options, groups->items[i], i, out);
    put_key_values(options, out, &last);
    nl_thrift_put_str(out, &last, 6, options->created_by);
    nl_thrift_put_list(out, &last, 7, NL_THRIFT_STRUCT, schema->leaf_count);
    for (uint32_t i = 0; i < schema->leaf_count; i++) {
        int16_t inner = 0;
        nl_thrift_put_empty_struct(out, &inner, 1); /* TYPE_ORDER */
        nl_thrift_end(out);
    }
    nl_thrift_end(out);
    if (!nl_builder_failed(out)) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The footer of the Parquet file would be larger than %u bytes.", NL_PARQUET_FOOTER_BYTES_MAX);
}
