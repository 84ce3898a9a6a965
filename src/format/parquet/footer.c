/* format/parquet/footer.c - the last bytes of a file: metadata in Thrift, its length, "PAR1".
 *
 * Strings and statistics point into the footer's bytes, which the object keeps. Source: parquet.thrift.
 */
#include "format/parquet/footer.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/limits.h"
#include "format/parquet/schema.h"
#include "format/parquet/thrift.h"

#define TAIL_BYTES 8u            /* length and magic */
#define FIRST_READ_BYTES (64u << 10) /* most footers fit: one request instead of two */

typedef struct footer_object {
    nl_parquet_footer public; /* first member */
    nl_arena *arena;
    nl_buffer *bytes;
    atomic_uint references;
} footer_object;

typedef struct parser {
    nl_cursor in;
    nl_arena *arena;
    nl_parquet_footer *footer;
} parser;

static void read_statistics(nl_cursor *in, nl_parquet_statistics *out)
{
    nl_thrift_field field = {0};
    int64_t count = -1;
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: (void)nl_thrift_binary(in, &field, &out->old_max); break;
        case 2: (void)nl_thrift_binary(in, &field, &out->old_min); break;
        case 3:
            out->has_null_count = nl_thrift_i64(in, &field, &count) && count >= 0;
            out->null_count = out->has_null_count ? (uint64_t)count : 0;
            break;
        case 4:
            out->has_distinct_count = nl_thrift_i64(in, &field, &count) && count >= 0;
            out->distinct_count = out->has_distinct_count ? (uint64_t)count : 0;
            break;
        case 5: (void)nl_thrift_binary(in, &field, &out->max_value); break;
        case 6: (void)nl_thrift_binary(in, &field, &out->min_value); break;
        case 7: (void)nl_thrift_bool(in, &field, &out->is_max_exact); break;
        case 8: (void)nl_thrift_bool(in, &field, &out->is_min_exact); break;
        default: nl_thrift_skip(in, &field);
        }
    }
}

/* What a chunk announces, as signed as it lies in the file. */
typedef struct raw_chunk {
    int32_t physical, codec;
    int64_t value_count, uncompressed, compressed, data_offset, dictionary_offset;
    int64_t column_index_offset, offset_index_offset, bloom_offset;
    int32_t column_index_length, offset_index_length, bloom_length;
    bool has_metadata, is_encrypted, is_elsewhere;
    bool has_encoding_stats, has_plain_pages;
} raw_chunk;

static void read_encoding_stats(nl_cursor *in, uint32_t count, raw_chunk *raw)
{
    for (uint32_t i = 0; i < count && !in->has_failed; i++) {
        nl_thrift_field field = {0};
        int32_t page_type = -1;
        int32_t encoding = -1;
        int32_t pages = 0;
        while (nl_thrift_next(in, &field)) {
            if (field.id == 1)
                (void)nl_thrift_i32(in, &field, &page_type);
            else if (field.id == 2)
                (void)nl_thrift_i32(in, &field, &encoding);
            else if (field.id == 3)
                (void)nl_thrift_i32(in, &field, &pages);
            else
                nl_thrift_skip(in, &field);
        }
        const bool is_data = page_type == 0 || page_type == 3;
        const bool is_dictionary = encoding == NL_PARQUET_PLAIN_DICTIONARY || encoding == NL_PARQUET_RLE_DICTIONARY;
        raw->has_encoding_stats = true;
        if (is_data && pages > 0 && !is_dictionary) raw->has_plain_pages = true;
    }
}

static void read_chunk_metadata(nl_cursor *in, raw_chunk *raw, nl_parquet_chunk *chunk)
{
    nl_thrift_field field = {0};
    uint32_t count = 0;
    raw->has_metadata = true;
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: (void)nl_thrift_i32(in, &field, &raw->physical); break;
        case 2:
            if (!nl_thrift_list(in, &field, NL_THRIFT_I32, &count)) break;
            for (uint32_t i = 0; i < count && !in->has_failed; i++) {
                const int32_t encoding = nl_thrift_element_i32(in);
                if (encoding >= 0 && encoding < 32) chunk->encodings |= 1u << encoding;
            }
            break;
        case 4: (void)nl_thrift_i32(in, &field, &raw->codec); break;
        case 5: (void)nl_thrift_i64(in, &field, &raw->value_count); break;
        case 6: (void)nl_thrift_i64(in, &field, &raw->uncompressed); break;
        case 7: (void)nl_thrift_i64(in, &field, &raw->compressed); break;
        case 9: (void)nl_thrift_i64(in, &field, &raw->data_offset); break;
        case 11: (void)nl_thrift_i64(in, &field, &raw->dictionary_offset); break;
        case 12:
            if (nl_thrift_is_struct(in, &field)) read_statistics(in, &chunk->statistics);
            break;
        case 13:
            if (nl_thrift_list(in, &field, NL_THRIFT_STRUCT, &count)) read_encoding_stats(in, count, raw);
            break;
        case 14: (void)nl_thrift_i64(in, &field, &raw->bloom_offset); break;
        case 15: (void)nl_thrift_i32(in, &field, &raw->bloom_length); break;
        default: nl_thrift_skip(in, &field);
        }
    }
}

static void read_raw_chunk(nl_cursor *in, raw_chunk *raw, nl_parquet_chunk *chunk)
{
    nl_thrift_field field = {0};
    nl_bytes path = {0};
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: raw->is_elsewhere = nl_thrift_binary(in, &field, &path) && path.length > 0; break;
        case 3:
            if (nl_thrift_is_struct(in, &field)) read_chunk_metadata(in, raw, chunk);
            break;
        case 4: (void)nl_thrift_i64(in, &field, &raw->offset_index_offset); break;
        case 5: (void)nl_thrift_i32(in, &field, &raw->offset_index_length); break;
        case 6: (void)nl_thrift_i64(in, &field, &raw->column_index_offset); break;
        case 7: (void)nl_thrift_i32(in, &field, &raw->column_index_length); break;
        case 8:
        case 9:
            raw->is_encrypted = true;
            nl_thrift_skip(in, &field);
            break;
        default: nl_thrift_skip(in, &field);
        }
    }
}

static bool is_inside(int64_t offset, int64_t length, uint64_t file_bytes)
{
    return offset >= 0 && length >= 0 && (uint64_t)offset <= file_bytes && (uint64_t)length <= file_bytes - (uint64_t)offset;
}

/* An index that does not lie in the file is as good as none: the pages themselves say everything. */
static void set_index_place(int64_t offset, int32_t length, uint64_t file_bytes, uint64_t *out_offset, uint64_t *out_length)
{
    if (offset <= 0 || length <= 0 || !is_inside(offset, length, file_bytes)) return;
    *out_offset = (uint64_t)offset;
    *out_length = (uint64_t)length;
}

static nl_status check_chunk(parser *p, const raw_chunk *raw, nl_parquet_chunk *chunk)
{
    nl_cursor *in = &p->in;
    const uint64_t file_bytes = p->footer->file_bytes;
    if (raw->is_encrypted)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Parquet file " NL_STR_FMT " is encrypted, which nilas cannot read.",
                             NL_STR_ARG(p->footer->path));
    if (raw->is_elsewhere)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Parquet file " NL_STR_FMT " keeps columns in other files, which nilas cannot read.",
                             NL_STR_ARG(p->footer->path));
    if (!raw->has_metadata) return nl_cursor_corrupt(in, "a column chunk has no metadata");
    if (raw->physical != (int32_t)chunk->leaf->physical) return nl_cursor_corrupt(in, "a column chunk has another type than its column");
    if (raw->codec < 0 || raw->codec >= NL_PARQUET_CODEC_COUNT) return nl_cursor_corrupt(in, "unknown compression codec %d", raw->codec);
    if (raw->value_count < 0 || raw->uncompressed < 0) return nl_cursor_corrupt(in, "a column chunk has a negative size");
    /* Some writers announce a dictionary offset of 0, others one behind the data, for "none". */
    const bool has_dictionary = raw->dictionary_offset > 0 && raw->dictionary_offset < raw->data_offset;
    const int64_t start = has_dictionary ? raw->dictionary_offset : raw->data_offset;
    if (!is_inside(start, raw->compressed, file_bytes)) return nl_cursor_corrupt(in, "a column chunk lies outside of the file");
    chunk->codec = (nl_parquet_codec)raw->codec;
    chunk->value_count = (uint64_t)raw->value_count;
    chunk->compressed_bytes = (uint64_t)raw->compressed;
    chunk->uncompressed_bytes = (uint64_t)raw->uncompressed;
    chunk->start = (uint64_t)start;
    chunk->length = (uint64_t)raw->compressed;
    chunk->dictionary_offset = has_dictionary ? (uint64_t)start : 0;
    chunk->data_offset = (uint64_t)raw->data_offset;
    chunk->is_all_dictionary = raw->has_encoding_stats && !raw->has_plain_pages;
    set_index_place(raw->column_index_offset, raw->column_index_length, file_bytes, &chunk->column_index_offset,
                    &chunk->column_index_length);
    set_index_place(raw->offset_index_offset, raw->offset_index_length, file_bytes, &chunk->offset_index_offset,
                    &chunk->offset_index_length);
    if (raw->bloom_offset > 0 && (uint64_t)raw->bloom_offset < file_bytes) {
        chunk->bloom_offset = (uint64_t)raw->bloom_offset;
        if (is_inside(raw->bloom_offset, raw->bloom_length, file_bytes)) chunk->bloom_length = (uint64_t)raw->bloom_length;
    }
    return NULL;
}

static nl_status read_chunks(parser *p, uint32_t count, nl_parquet_row_group *group)
{
    if (count != p->footer->leaf_count)
        return nl_cursor_corrupt(&p->in, "a row group has %u column chunks for %u columns", count, p->footer->leaf_count);
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(p->arena, nl_size_mul(sizeof(nl_parquet_chunk), count), &memory));
    group->chunks = memory;
    for (uint32_t i = 0; i < count; i++) {
        nl_parquet_chunk *chunk = &group->chunks[i];
        raw_chunk raw = {.physical = -1, .codec = -1, .value_count = -1, .uncompressed = -1, .compressed = -1, .data_offset = -1};
        *chunk = (nl_parquet_chunk){.leaf = p->footer->leaves[i]};
        read_raw_chunk(&p->in, &raw, chunk);
        NL_TRY(nl_cursor_status(&p->in));
        NL_TRY(check_chunk(p, &raw, chunk));
        group->compressed_bytes = nl_size_add(group->compressed_bytes, chunk->compressed_bytes);
        if (i == 0 || chunk->start < group->start) group->start = chunk->start;
    }
    return NULL;
}

static nl_status read_row_group(parser *p, nl_parquet_row_group *group)
{
    nl_cursor *in = &p->in;
    nl_thrift_field field = {0};
    uint32_t count = 0;
    int64_t rows = -1;
    int64_t bytes = 0;
    while (nl_thrift_next(in, &field)) {
        if (field.id == 1) {
            if (nl_thrift_list(in, &field, NL_THRIFT_STRUCT, &count)) NL_TRY(read_chunks(p, count, group));
        } else if (field.id == 2) {
            (void)nl_thrift_i64(in, &field, &bytes);
        } else if (field.id == 3) {
            (void)nl_thrift_i64(in, &field, &rows);
        } else {
            nl_thrift_skip(in, &field);
        }
    }
    NL_TRY(nl_cursor_status(in));
    if (rows < 0 || bytes < 0) return nl_cursor_corrupt(in, "a row group has no valid number of rows");
    if (group->chunks == NULL && p->footer->leaf_count > 0) return nl_cursor_corrupt(in, "a row group has no columns");
    group->row_count = (uint64_t)rows;
    group->uncompressed_bytes = (uint64_t)bytes;
    for (uint32_t i = 0; i < p->footer->leaf_count; i++) {
        const nl_parquet_chunk *chunk = &group->chunks[i];
        if (chunk->leaf->max_repetition == 0 && chunk->value_count != group->row_count)
            return nl_cursor_corrupt(in, "column " NL_STR_FMT " has %llu values in a row group of %llu rows", NL_STR_ARG(chunk->leaf->name),
                                     (unsigned long long)chunk->value_count, (unsigned long long)group->row_count);
    }
    return NULL;
}

static nl_status read_row_groups(parser *p, uint32_t count)
{
    if (p->footer->root == NULL) return nl_cursor_corrupt(&p->in, "row groups come before the schema");
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(p->arena, nl_size_mul(sizeof(nl_parquet_row_group), count), &memory));
    nl_parquet_row_group *groups = memory;
    uint64_t first_row = 0;
    for (uint32_t i = 0; i < count; i++) {
        groups[i] = (nl_parquet_row_group){.first_row = first_row};
        NL_TRY(read_row_group(p, &groups[i]));
        if (__builtin_add_overflow(first_row, groups[i].row_count, &first_row))
            return nl_cursor_corrupt(&p->in, "the row groups have too many rows");
    }
    p->footer->row_groups = groups;
    p->footer->row_group_count = count;
    return NULL;
}

static nl_status read_key_values(parser *p, uint32_t count)
{
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(p->arena, nl_size_mul(sizeof(nl_parquet_key_value), count), &memory));
    nl_parquet_key_value *pairs = memory;
    for (uint32_t i = 0; i < count && !p->in.has_failed; i++) {
        nl_thrift_field field = {0};
        nl_bytes key = {0};
        nl_bytes value = {0};
        while (nl_thrift_next(&p->in, &field)) {
            if (field.id == 1)
                (void)nl_thrift_binary(&p->in, &field, &key);
            else if (field.id == 2)
                (void)nl_thrift_binary(&p->in, &field, &value);
            else
                nl_thrift_skip(&p->in, &field);
        }
        pairs[i] = (nl_parquet_key_value){.key = {(const char *)key.data, key.length}, .value = {(const char *)value.data, value.length}};
    }
    p->footer->key_values = pairs;
    p->footer->key_value_count = count;
    return nl_cursor_status(&p->in);
}

static nl_status read_field(parser *p, const nl_thrift_field *field, int64_t *row_count)
{
    nl_cursor *in = &p->in;
    uint32_t count = 0;
    nl_bytes text = {0};
    switch (field->id) {
    case 1: (void)nl_thrift_i32(in, field, &p->footer->version); return NULL;
    case 2:
        if (p->footer->root != NULL) return nl_cursor_corrupt(in, "the footer has two schemas");
        return nl_thrift_list(in, field, NL_THRIFT_STRUCT, &count) ? nl_parquet_schema_read(in, count, p->arena, p->footer) : NULL;
    case 3: (void)nl_thrift_i64(in, field, row_count); return NULL;
    case 4: return nl_thrift_list(in, field, NL_THRIFT_STRUCT, &count) ? read_row_groups(p, count) : NULL;
    case 5: return nl_thrift_list(in, field, NL_THRIFT_STRUCT, &count) ? read_key_values(p, count) : NULL;
    case 6:
        if (nl_thrift_binary(in, field, &text)) p->footer->created_by = (nl_str){(const char *)text.data, text.length};
        return NULL;
    case 7:
        p->footer->has_column_orders = field->type == NL_THRIFT_LIST;
        nl_thrift_skip(in, field);
        return NULL;
    case 8:
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Parquet file " NL_STR_FMT " is encrypted, which nilas cannot read.",
                             NL_STR_ARG(p->footer->path));
    default: nl_thrift_skip(in, field); return NULL;
    }
}

static nl_status parse(parser *p)
{
    nl_thrift_field field = {0};
    int64_t row_count = -1;
    while (nl_thrift_next(&p->in, &field)) {
        NL_TRY(read_field(p, &field, &row_count));
        NL_TRY(nl_arena_check(p->arena));
    }
    NL_TRY(nl_cursor_status(&p->in));
    if (p->footer->root == NULL) return nl_cursor_corrupt(&p->in, "the footer has no schema");
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->footer->row_group_count; i++) sum += p->footer->row_groups[i].row_count;
    if (row_count != 0 && (uint64_t)row_count != sum) /* there are writers that leave it 0 */
        return nl_cursor_corrupt(&p->in, "the file announces %lld rows, its row groups have %llu", (long long)row_count,
                                 (unsigned long long)sum);
    p->footer->row_count = sum;
    return NULL;
}

/* Takes bytes. */
static nl_status parse_buffer(nl_buffer *bytes, size_t start, size_t length, nl_str path, uint64_t file_bytes, uint64_t file_offset,
                              nl_memory *memory, nl_parquet_footer **footer)
{
    nl_arena *arena = nl_arena_new(memory);
    footer_object *object = NL_NEW(arena, footer_object);
    atomic_init(&object->references, 1);
    object->arena = arena;
    object->bytes = bytes;
    object->public.path = nl_arena_str(arena, path);
    object->public.file_bytes = file_bytes;
    parser p = {.arena = arena, .footer = &object->public};
    p.in = nl_cursor_over(bytes->data + start, length, object->public.path);
    p.in.file_offset = file_offset;
    nl_status status = nl_arena_check(arena);
    if (status == NULL) status = parse(&p);
    if (status != NULL) {
        nl_parquet_footer_release(&object->public);
        return status;
    }
    *footer = &object->public;
    return NULL;
}

nl_status nl_parquet_footer_parse(nl_bytes thrift, nl_str path, uint64_t file_bytes, nl_memory *memory, nl_parquet_footer **footer)
{
    nl_buffer *copy = NULL;
    NL_TRY(nl_buffer_new(memory, thrift.length, false, &copy));
    if (thrift.length > 0) memcpy(copy->data, thrift.data, thrift.length);
    return parse_buffer(copy, 0, thrift.length, path, file_bytes, 0, memory, footer);
}

static nl_status not_parquet(nl_file *file, uint64_t offset, const char *problem)
{
    nl_cursor in = nl_cursor_over(NULL, 0, nl_file_path(file));
    in.file_offset = offset;
    return nl_cursor_corrupt(&in, "%s", problem);
}

static nl_status read_tail(nl_file *file, nl_memory *memory, nl_buffer **bytes, uint64_t *start)
{
    const uint64_t size = nl_file_size(file);
    const size_t length = (size_t)NL_MIN(size, (uint64_t)FIRST_READ_BYTES);
    NL_TRY(nl_buffer_new(memory, length, false, bytes));
    *start = size - length;
    nl_status status = nl_file_read(file, *start, length, (*bytes)->data);
    if (status != NULL) nl_buffer_release(*bytes);
    return status;
}

/* The footer's length, checked against the file and the limit. */
static nl_status check_tail(nl_file *file, const nl_buffer *tail, uint32_t *length)
{
    const uint64_t size = nl_file_size(file);
    const uint8_t *magic = tail->data + tail->size_bytes - 4;
    if (memcmp(magic, "PARE", 4) == 0)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Parquet file " NL_STR_FMT " is encrypted, which nilas cannot read.",
                             NL_STR_ARG(nl_file_path(file)));
    if (memcmp(magic, "PAR1", 4) != 0) return not_parquet(file, size - 4, "it does not end as a Parquet file does (PAR1)");
    uint32_t announced;
    memcpy(&announced, magic - 4, sizeof(announced));
    if (announced > size - TAIL_BYTES - 4) return not_parquet(file, size - TAIL_BYTES, "the footer is announced larger than the file");
    if (announced > NL_PARQUET_FOOTER_BYTES_MAX) return not_parquet(file, size - TAIL_BYTES, "the footer is larger than the limit");
    *length = announced;
    return NULL;
}

nl_status nl_parquet_footer_read(nl_file *file, nl_memory *memory, nl_parquet_footer **footer)
{
    const uint64_t size = nl_file_size(file);
    if (size < TAIL_BYTES + 4) return not_parquet(file, 0, "it is too short for a Parquet file");
    nl_buffer *bytes = NULL;
    uint64_t start = 0;
    uint32_t length = 0;
    NL_TRY(read_tail(file, memory, &bytes, &start));
    nl_status status = check_tail(file, bytes, &length);
    if (status == NULL && length > bytes->size_bytes - TAIL_BYTES) {
        nl_buffer_release(bytes);
        bytes = NULL;
        start = size - TAIL_BYTES - length;
        status = nl_buffer_new(memory, length + TAIL_BYTES, false, &bytes);
        if (status == NULL) status = nl_file_read(file, start, length + TAIL_BYTES, bytes->data);
    }
    if (status != NULL) {
        nl_buffer_release(bytes);
        return status;
    }
    const size_t at = bytes->size_bytes - TAIL_BYTES - length;
    return parse_buffer(bytes, at, length, nl_file_path(file), size, start + at, memory, footer);
}

static footer_object *object_of(const nl_parquet_footer *footer)
{
    return (footer_object *)(uintptr_t)footer;
}

nl_parquet_footer *nl_parquet_footer_retain(nl_parquet_footer *footer)
{
    atomic_fetch_add_explicit(&object_of(footer)->references, 1, memory_order_relaxed);
    return footer;
}

void nl_parquet_footer_release(nl_parquet_footer *footer)
{
    if (footer == NULL) return;
    footer_object *object = object_of(footer);
    /* Release pairs with acquire of the last one, which frees what others have read. */
    if (atomic_fetch_sub_explicit(&object->references, 1, memory_order_acq_rel) != 1) return;
    nl_buffer_release(object->bytes);
    nl_arena_free(object->arena);
}

size_t nl_parquet_footer_bytes(const nl_parquet_footer *footer)
{
    const footer_object *object = object_of(footer);
    return nl_arena_used(object->arena) + object->bytes->size_bytes;
}

bool nl_parquet_footer_key_value(const nl_parquet_footer *footer, nl_str key, nl_str *value)
{
    for (uint32_t i = 0; i < footer->key_value_count; i++) {
        if (!nl_str_equal(footer->key_values[i].key, key)) continue;
        *value = footer->key_values[i].value;
        return true;
    }
    return false;
}
