/* format/avro/file.c - see file.h. */
#include "format/avro/file.h"

#include "base/hash.h"
#include "base/limits.h"
#include "format/codec/codec.h"

#define HEADER_BYTES_FIRST (64u << 10)
#define HEADER_BYTES_MAX   (256u << 20)
#define WINDOW_BYTES       (1u << 20)
#define SYNC_BYTES         16u
#define EMPTY_ROWS_MAX     (1ull << 32) /* rows of a block that take no bytes: nothing else bounds them */

typedef struct metadata_pair {
    nl_str key;
    nl_str value;
} metadata_pair;

struct nl_avro_file {
    nl_file *file; /* borrowed */
    nl_memory *memory; /* counted */
    nl_arena *arena;
    nl_codec_context *codecs;
    nl_codec codec;
    const nl_avro_type *schema;
    nl_list metadata; /* of metadata_pair */
    uint8_t sync[SYNC_BYTES];
    uint64_t offset; /* of the next block */
    uint64_t end;    /* blocks that start here or later are not read */
    double ratio;    /* plain to stored bytes of the block before; 0: none yet */
    nl_buffer *window;
    uint64_t window_start;
};

static nl_status corrupt(const nl_avro_file *in, uint64_t offset, const char *problem)
{
    return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", nl_file_path(in->file)), NL_P_INT("offset", (int64_t)offset), NL_P("column", ""),
                    NL_P("problem", problem));
}

/* Makes bytes [offset, offset + length) readable at *data. The range lies within the file. */
static nl_status fetch(nl_avro_file *in, uint64_t offset, size_t length, const uint8_t **data)
{
    const uint64_t size = nl_file_size(in->file);
    NL_CHECK(offset <= size && length <= size - offset);
    const bool has_it = in->window && offset >= in->window_start && offset - in->window_start <= in->window->size_bytes &&
                        length <= in->window->size_bytes - (size_t)(offset - in->window_start);
    if (!has_it) {
        nl_buffer *window = NULL;
        const size_t wanted = (size_t)NL_MIN((uint64_t)NL_MAX(length, WINDOW_BYTES), size - offset);
        NL_TRY(nl_buffer_new(in->memory, wanted, false, &window));
        nl_status status = nl_file_read(in->file, offset, wanted, window->data);
        if (status) {
            nl_buffer_release(window);
            return status;
        }
        nl_buffer_release(in->window);
        in->window = window;
        in->window_start = offset;
    }
    *data = in->window->data + (offset - in->window_start);
    return NULL;
}

static nl_status read_map(nl_avro_file *in, nl_cursor *cursor)
{
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(cursor, 2, &count, &block_bytes));
        if (count == 0) return NULL;
        for (uint64_t i = 0; i < count; i++) {
            nl_bytes key;
            nl_bytes value;
            NL_TRY(nl_avro_bytes(cursor, &key));
            NL_TRY(nl_avro_bytes(cursor, &value));
            metadata_pair *pair = NL_NEW(in->arena, metadata_pair);
            pair->key = nl_arena_str(in->arena, (nl_str){(const char *)key.data, key.length});
            pair->value = nl_arena_str(in->arena, (nl_str){(const char *)value.data, value.length});
            nl_list_add(in->arena, &in->metadata, pair);
            NL_TRY(nl_arena_check(in->arena));
        }
    }
}

static nl_status try_header(nl_avro_file *in, const uint8_t *data, size_t length)
{
    in->metadata = (nl_list){0};
    nl_cursor cursor = nl_cursor_over(data, length, nl_file_path(in->file));
    const nl_bytes magic = nl_cursor_bytes(&cursor, 4);
    if (magic.length != 4 || memcmp(magic.data, "Obj\x01", 4) != 0) return corrupt(in, 0, "it does not start as an Avro file");
    NL_TRY(read_map(in, &cursor));
    const nl_bytes sync = nl_cursor_bytes(&cursor, SYNC_BYTES);
    NL_TRY(nl_cursor_status(&cursor));
    memcpy(in->sync, sync.data, SYNC_BYTES);
    in->offset = cursor.offset;
    return NULL;
}

/* The header's length is not known before it is read: more of the file is tried until it parses. */
static nl_status read_header(nl_avro_file *in)
{
    const uint64_t size = nl_file_size(in->file);
    for (uint64_t length = HEADER_BYTES_FIRST;; length *= 8) {
        const size_t wanted = (size_t)NL_MIN(length, size);
        const uint8_t *data;
        NL_TRY(fetch(in, 0, wanted, &data));
        nl_status status = try_header(in, data, wanted);
        if (!status || wanted == size || length >= HEADER_BYTES_MAX || nl_error_condition(status) != NL_COND_NILAS_CORRUPT_FILE) return status;
        nl_error_free(status);
    }
}

static nl_status find_codec(nl_avro_file *in)
{
    const nl_str name = nl_avro_file_metadata(in, "avro.codec");
    if (!name.length || nl_str_is(name, "null")) in->codec = NL_CODEC_NONE;
    else if (nl_str_is(name, "deflate")) in->codec = NL_CODEC_DEFLATE;
    else if (nl_str_is(name, "snappy")) in->codec = NL_CODEC_SNAPPY;
    else if (nl_str_is(name, "zstandard")) in->codec = NL_CODEC_ZSTD;
    else
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED,
                             "The Avro codec " NL_STR_FMT " of " NL_STR_FMT " is not supported; null, deflate, snappy and zstandard are",
                             NL_STR_ARG(name), NL_STR_ARG(nl_file_path(in->file)));
    return NULL;
}

static nl_status open_file(nl_avro_file *in)
{
    NL_TRY(read_header(in));
    NL_TRY(find_codec(in));
    const nl_str json = nl_avro_file_metadata(in, "avro.schema");
    if (!json.data) return corrupt(in, 0, "it has no avro.schema");
    return nl_avro_schema_parse(in->arena, json, nl_file_path(in->file), &in->schema);
}

nl_status nl_avro_file_open(nl_file *file, nl_memory *memory, nl_avro_file **out)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_avro_file *made = NL_NEW(arena, nl_avro_file);
    made->arena = arena;
    made->file = file;
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->codecs = nl_codec_context_new(memory);
    made->end = UINT64_MAX;
    nl_status status = open_file(made);
    if (status) nl_avro_file_close(made);
    else *out = made;
    return status;
}

void nl_avro_file_close(nl_avro_file *file)
{
    if (!file) return;
    nl_memory *memory = file->memory;
    nl_buffer_release(file->window);
    nl_codec_context_free(file->codecs);
    nl_arena_free(file->arena);
    if (memory) nl_memory_release(memory);
}

const nl_avro_type *nl_avro_file_schema(const nl_avro_file *file)
{
    return file->schema;
}

nl_str nl_avro_file_path(const nl_avro_file *file)
{
    return nl_file_path(file->file);
}

nl_str nl_avro_file_metadata(const nl_avro_file *file, const char *key)
{
    for (uint32_t i = 0; i < file->metadata.count; i++) {
        const metadata_pair *pair = file->metadata.items[i];
        if (nl_str_is(pair->key, key)) return pair->value;
    }
    return (nl_str){0};
}

/* Snappy blocks end with the CRC-32 of the plain bytes, big-endian. */
static nl_status decompress(nl_avro_file *in, nl_bytes stored, uint64_t offset, nl_buffer **plain)
{
    nl_buffer *made = NULL;
    const char *problem = NULL;
    if (in->codec == NL_CODEC_NONE) {
        NL_TRY(nl_buffer_new(in->memory, stored.length, false, &made));
        if (stored.length) memcpy(made->data, stored.data, stored.length);
        *plain = made;
        return NULL;
    }
    uint32_t expected = 0;
    if (in->codec == NL_CODEC_SNAPPY) {
        if (stored.length < 4) return corrupt(in, offset, "a snappy block is too short");
        stored.length -= 4;
        nl_cursor tail = nl_cursor_over(stored.data + stored.length, 4, nl_file_path(in->file));
        expected = nl_cursor_u32_be(&tail);
    }
    /* Blocks of a file are alike: what the one before grew to, and a little more. */
    const size_t guess = in->ratio > 0 ? (size_t)((double)stored.length * in->ratio * 1.05) + 2048 : 0;
    NL_TRY(nl_codec_decompress_guess(in->codecs, in->codec, stored, guess, NL_AVRO_BLOCK_BYTES_MAX, in->memory, &made, &problem));
    if (problem) return corrupt(in, offset, problem);
    in->ratio = stored.length ? (double)made->size_bytes / (double)stored.length : 0;
    if (in->codec == NL_CODEC_SNAPPY && nl_crc32(made->data, made->size_bytes, 0) != expected) {
        nl_buffer_release(made);
        return corrupt(in, offset, "the checksum of a snappy block does not match");
    }
    *plain = made;
    return NULL;
}

typedef struct block_head {
    uint64_t start, body; /* in the file */
    uint64_t row_count;
    size_t stored_bytes;
} block_head;

/* The head at the present offset; *has_ended: there is none. */
static nl_status read_head(nl_avro_file *file, block_head *head, bool *has_ended)
{
    const uint64_t size = nl_file_size(file->file);
    *has_ended = file->offset >= size || file->offset >= file->end;
    if (*has_ended) return NULL;
    const uint64_t start = file->offset;
    const uint8_t *data;
    const size_t head_bytes = (size_t)NL_MIN(20, size - start); /* two varints take at most ten bytes each */
    NL_TRY(fetch(file, start, head_bytes, &data));
    nl_cursor cursor = nl_cursor_over(data, head_bytes, nl_file_path(file->file));
    cursor.file_offset = start;
    const int64_t row_count = nl_cursor_zigzag(&cursor);
    const int64_t stored_bytes = nl_cursor_zigzag(&cursor);
    NL_TRY(nl_cursor_status(&cursor));
    const uint64_t body = start + cursor.offset;
    if (row_count < 0 || stored_bytes < 0 || stored_bytes > NL_AVRO_BLOCK_BYTES_MAX || (uint64_t)stored_bytes + SYNC_BYTES > size - body)
        return corrupt(file, start, "the head of a block claims more than the file holds");
    *head = (block_head){.start = start, .body = body, .row_count = (uint64_t)row_count, .stored_bytes = (size_t)stored_bytes};
    return NULL;
}

nl_status nl_avro_file_next(nl_avro_file *file, nl_avro_block *block)
{
    for (;;) {
        block_head head = {0};
        bool has_ended;
        const uint8_t *data;
        NL_TRY(read_head(file, &head, &has_ended));
        if (has_ended) {
            *block = (nl_avro_block){.file_offset = file->offset};
            return NULL;
        }
        NL_TRY(fetch(file, head.body, head.stored_bytes + SYNC_BYTES, &data));
        if (memcmp(data + head.stored_bytes, file->sync, SYNC_BYTES) != 0)
            return corrupt(file, head.body + head.stored_bytes, "the sync marker behind a block is wrong");
        file->offset = head.body + head.stored_bytes + SYNC_BYTES;
        if (head.row_count == 0) continue;
        nl_buffer *plain = NULL;
        NL_TRY(decompress(file, (nl_bytes){data, head.stored_bytes}, head.body, &plain));
        const uint32_t row_bytes_min = file->schema->bytes_min;
        if (head.row_count > (row_bytes_min ? plain->size_bytes / row_bytes_min : EMPTY_ROWS_MAX)) {
            nl_buffer_release(plain);
            return corrupt(file, head.start, "the head of a block claims more rows than its bytes can hold");
        }
        *block = (nl_avro_block){.data = plain, .row_count = head.row_count, .file_offset = head.start};
        return NULL;
    }
}

nl_status nl_avro_file_skip(nl_avro_file *file, nl_avro_head *head)
{
    for (;;) {
        block_head found = {0};
        bool has_ended;
        NL_TRY(read_head(file, &found, &has_ended));
        *head = (nl_avro_head){.row_count = found.row_count, .file_offset = found.start};
        if (has_ended) return NULL;
        file->offset = found.body + found.stored_bytes + SYNC_BYTES;
        if (found.row_count > 0) return NULL;
    }
}

nl_cursor nl_avro_block_cursor(const nl_avro_file *file, const nl_avro_block *block)
{
    nl_cursor cursor = nl_cursor_over(block->data->data, block->data->size_bytes, nl_file_path(file->file));
    cursor.file_offset = block->file_offset;
    return cursor;
}

nl_status nl_avro_file_restrict(nl_avro_file *file, uint64_t start, uint64_t end)
{
    const uint64_t size = nl_file_size(file->file);
    file->end = end;
    if (start <= file->offset) return NULL; /* the first block is ours */
    /* A block belongs to the part in which it starts: look for the marker that ends the block before. */
    for (uint64_t at = start - SYNC_BYTES; at + SYNC_BYTES <= size;) {
        const size_t length = (size_t)NL_MIN(WINDOW_BYTES, size - at);
        const uint8_t *data = NULL;
        NL_TRY(fetch(file, at, length, &data));
        const uint8_t *found = memmem(data, length, file->sync, SYNC_BYTES);
        if (found) {
            file->offset = at + (uint64_t)(found - data) + SYNC_BYTES;
            return NULL;
        }
        if (length < WINDOW_BYTES) break;
        at += length - SYNC_BYTES + 1;
    }
    file->offset = size;
    return NULL;
}
