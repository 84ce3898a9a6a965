/* exec/spill.c - chunk: u32 row_count, u32 raw_bytes, u32 stored_bytes (less than raw_bytes: LZ4), then per column:
 * u8 has_nulls, [validity bits], values. Strings: u32 lengths, then all bytes. Nested: encoded as strings.
 */
#include "exec/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cursor.h"
#include "exec/row.h"
#include "storage/io_error.h"

#define CHUNK_BYTES_MAX    (1u << 30)
#define COMPRESS_BYTES_MIN 512u
#define CHUNKS_PER_BUDGET  256u
#define PIECE_BYTES_MIN    (64u << 10)
#define PIECE_BYTES_MAX    (16u << 20)

typedef struct chunk_place {
    uint64_t offset;
    uint32_t row_count, raw_bytes, stored_bytes;
} chunk_place;

struct nl_spill {
    int descriptor;
    const nl_type *const *types;
    uint32_t type_count;
    chunk_place *chunks;
    uint32_t chunk_count, chunk_capacity;
    uint64_t end, row_count;
    nl_builder raw;   /* kept between writes */
    char *packed;
    size_t packed_capacity;
};

static nl_status io_error(const char *operation, nl_str path)
{
    return nl_raise_errno(errno, operation, path);
}

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

static int open_unlinked(const char *directory, nl_str path)
{
    int descriptor = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return descriptor;
    char name[4096]; /* a file system without O_TMPFILE */
    int length = snprintf(name, sizeof name, "%.*s/nilas-spill-XXXXXX", (int)path.length, path.data);
    if (length < 0 || (size_t)length >= sizeof name) {
        errno = ENAMETOOLONG;
        return -1;
    }
    descriptor = mkostemp(name, O_CLOEXEC);
    if (descriptor >= 0) unlink(name);
    return descriptor;
}

nl_status nl_spill_new(nl_str directory, const nl_type *const *types, uint32_t type_count, nl_spill **out)
{
    nl_spill *spill = calloc(1, sizeof *spill);
    char *path = strndup(directory.length ? directory.data : "/tmp", directory.length ? directory.length : 4);
    if (!spill || !path) {
        free(spill);
        free(path);
        return out_of_memory(sizeof *spill);
    }
    *spill = (nl_spill){.types = types, .type_count = type_count};
    spill->descriptor = open_unlinked(path, nl_str_from(path));
    nl_status status = spill->descriptor < 0 ? io_error("creating a spill file", nl_str_from(path)) : NULL;
    free(path);
    if (status) {
        free(spill);
        return status;
    }
    nl_builder_init(&spill->raw, CHUNK_BYTES_MAX);
    *out = spill;
    return NULL;
}

void nl_spill_free(nl_spill *spill)
{
    if (!spill) return;
    close(spill->descriptor);
    free(spill->chunks);
    free(spill->packed);
    nl_builder_fini(&spill->raw);
    free(spill);
}

uint32_t nl_spill_chunk_count(const nl_spill *spill)
{
    return spill ? spill->chunk_count : 0;
}

uint32_t nl_spill_chunk_rows(const nl_spill *spill, uint32_t chunk)
{
    NL_ASSERT(chunk < spill->chunk_count);
    return spill->chunks[chunk].row_count;
}

uint64_t nl_spill_row_count(const nl_spill *spill)
{
    return spill ? spill->row_count : 0;
}

uint64_t nl_spill_bytes(const nl_spill *spill)
{
    return spill ? spill->end : 0;
}

static void put(nl_builder *to, const void *bytes, size_t count)
{
    nl_append(to, (nl_str){bytes, count});
}

static void write_validity(nl_builder *to, const nl_reader *reader, bool is_void, nl_selection selection)
{
    bool has_nulls = is_void || reader->validity;
    nl_append_char(to, has_nulls ? 1 : 0);
    for (uint32_t i = 0; has_nulls && i < selection.count; i += 8) {
        uint8_t byte = 0;
        for (uint32_t k = i; k < i + 8 && k < selection.count; k++)
            if (!is_void && !nl_reader_is_null(reader, nl_selection_row(selection, k))) byte = (uint8_t)(byte | (1u << (k - i)));
        nl_append_char(to, (char)byte);
    }
}

static void write_strings(nl_builder *to, const nl_reader *reader, nl_selection selection)
{
    const nl_string_view *views = reader->values;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        uint32_t length = nl_reader_is_null(reader, row) ? 0 : views[nl_reader_index(reader, row)].length;
        put(to, &length, sizeof length);
    }
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (!nl_reader_is_null(reader, row)) nl_append(to, nl_view_str(&views[nl_reader_index(reader, row)]));
    }
}

static nl_status write_column(nl_builder *to, const nl_vector *vector, nl_selection selection, nl_memory *memory)
{
    nl_vector encoded = {0};
    if (nl_type_is_encoded(vector->type)) {
        NL_TRY(nl_nested_encode(vector, selection, false, memory, &encoded));
        vector = &encoded;
    }
    bool is_void = vector->type->id == NL_TYPE_NULL || (vector->encoding == NL_DICTIONARY && vector->dictionary->vector.length == 0);
    nl_reader reader;
    nl_reader_init(&reader, vector);
    write_validity(to, &reader, is_void, selection);
    uint32_t width = nl_physical_size(vector->type->physical);
    if (is_void) {
        nl_append_fill(to, '\0', (size_t)(vector->type->physical == NL_PHYS_STRING ? 4 : width) * selection.count);
    } else if (vector->type->physical == NL_PHYS_STRING) {
        write_strings(to, &reader, selection);
    } else if (!selection.rows && !reader.indices && reader.row_mask) {
        put(to, reader.values, (size_t)width * selection.count);
    } else {
        for (uint32_t i = 0; i < selection.count; i++) {
            uint32_t row = nl_selection_row(selection, i);
            put(to, (const uint8_t *)reader.values + (size_t)width * nl_reader_index(&reader, row), width);
        }
    }
    nl_vector_fini(&encoded);
    return NULL;
}

static nl_status write_all(const nl_spill *spill, uint64_t offset, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t written = pwrite(spill->descriptor, (const char *)bytes + done, count - done, (off_t)(offset + done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return io_error("writing a spill file", NL_STR("spark.local.dir"));
        done += (size_t)written;
    }
    return NULL;
}

static nl_status add_place(nl_spill *spill, chunk_place place)
{
    if (spill->chunk_count == spill->chunk_capacity) {
        uint32_t capacity = NL_MAX(16u, spill->chunk_capacity * 2);
        chunk_place *grown = realloc(spill->chunks, capacity * sizeof *grown);
        if (!grown) return out_of_memory(capacity * sizeof *grown);
        spill->chunks = grown;
        spill->chunk_capacity = capacity;
    }
    spill->chunks[spill->chunk_count++] = place;
    spill->end += place.stored_bytes;
    spill->row_count += place.row_count;
    return NULL;
}

/* What a chunk may have before compression: it is read back as a whole, sixteen of them at once by a merge. */
static size_t chunk_bytes_max(const nl_memory *memory)
{
    return NL_MAX(NL_MIN(nl_memory_limit(memory) / CHUNKS_PER_BUDGET, PIECE_BYTES_MAX), PIECE_BYTES_MIN);
}

static nl_status encode_rows(nl_spill *spill, const nl_batch *batch, nl_selection selection, nl_memory *memory)
{
    nl_builder_clear(&spill->raw);
    for (uint32_t i = 0; i < batch->column_count; i++)
        NL_TRY(write_column(&spill->raw, &batch->columns[i], selection, memory));
    return NULL;
}

static nl_status write_encoded(nl_spill *spill, uint32_t row_count)
{
    size_t raw_bytes = spill->raw.length;
    const char *stored = spill->raw.data;
    size_t stored_bytes = raw_bytes;
    size_t bound = (size_t)LZ4_compressBound((int)raw_bytes);
    if (raw_bytes >= COMPRESS_BYTES_MIN && spill->packed_capacity < bound) {
        free(spill->packed);
        spill->packed = malloc(bound);
        spill->packed_capacity = spill->packed ? bound : 0;
    }
    if (raw_bytes >= COMPRESS_BYTES_MIN && spill->packed) {
        int packed_bytes = LZ4_compress_default(stored, spill->packed, (int)raw_bytes, (int)spill->packed_capacity);
        if (packed_bytes > 0 && (size_t)packed_bytes < raw_bytes - raw_bytes / 8) {
            stored = spill->packed;
            stored_bytes = (size_t)packed_bytes;
        }
    }
    NL_TRY(write_all(spill, spill->end, stored, stored_bytes));
    return add_place(spill, (chunk_place){.offset = spill->end, .row_count = row_count, .raw_bytes = (uint32_t)raw_bytes,
                                          .stored_bytes = (uint32_t)stored_bytes});
}

/* rows: the selection's. Too large for one chunk: halves, as often as it takes (the depth is that of 32 bits). */
static nl_status write_rows(nl_spill *spill, const nl_batch *batch, const uint32_t *rows, uint32_t count, nl_memory *memory)
{
    NL_TRY(encode_rows(spill, batch, (nl_selection){rows, count}, memory));
    bool is_too_large = nl_builder_failed(&spill->raw) || spill->raw.length > chunk_bytes_max(memory);
    if (is_too_large && count > 1) {
        NL_TRY(write_rows(spill, batch, rows, count / 2, memory));
        return write_rows(spill, batch, rows + count / 2, count - count / 2, memory);
    }
    if (nl_builder_failed(&spill->raw)) return out_of_memory(spill->raw.length);
    return write_encoded(spill, count);
}

nl_status nl_spill_write(nl_spill *spill, const nl_batch *batch, nl_memory *memory)
{
    nl_selection selection = nl_batch_selection(batch);
    NL_ASSERT(batch->column_count == spill->type_count);
    if (selection.count == 0) return NULL;
    NL_TRY(encode_rows(spill, batch, selection, memory));
    if (!nl_builder_failed(&spill->raw) && (spill->raw.length <= chunk_bytes_max(memory) || selection.count == 1))
        return write_encoded(spill, selection.count);
    uint32_t *rows = malloc(sizeof *rows * selection.count);
    if (!rows) return out_of_memory(sizeof *rows * selection.count);
    for (uint32_t i = 0; i < selection.count; i++)
        rows[i] = nl_selection_row(selection, i);
    nl_status status = write_rows(spill, batch, rows, selection.count, memory);
    free(rows);
    return status;
}

static nl_status read_strings(nl_cursor *in, nl_vector *vector, nl_memory *memory)
{
    nl_heap *heap = NULL;
    NL_TRY(nl_vector_make_heap(vector, memory, &heap));
    nl_string_view *views = nl_vector_values(vector);
    nl_bytes lengths = nl_cursor_bytes(in, (size_t)vector->length * sizeof(uint32_t));
    NL_TRY(nl_cursor_status(in));
    size_t total = 0;
    for (uint32_t row = 0; row < vector->length; row++) {
        uint32_t length;
        memcpy(&length, lengths.data + (size_t)row * sizeof length, sizeof length);
        total += length;
    }
    nl_bytes bytes = nl_cursor_bytes(in, total);
    NL_TRY(nl_cursor_status(in));
    char *copy = NULL;
    if (total) {
        NL_TRY(nl_heap_alloc(heap, total, &copy));
        memcpy(copy, bytes.data, total);
    }
    for (uint32_t row = 0; row < vector->length; row++) {
        uint32_t length;
        memcpy(&length, lengths.data + (size_t)row * sizeof length, sizeof length);
        views[row] = nl_view_of((nl_str){copy, length});
        copy = copy ? copy + length : NULL;
    }
    return NULL;
}

static nl_status read_column(nl_cursor *in, const nl_type *type, uint32_t row_count, nl_memory *memory, nl_vector *vector)
{
    NL_TRY(nl_vector_new_flat(vector, type, row_count, memory));
    bool has_nulls = nl_cursor_u8(in) != 0;
    nl_bytes bits = nl_cursor_bytes(in, has_nulls ? ((size_t)row_count + 7) / 8 : 0);
    NL_TRY(nl_cursor_status(in));
    if (has_nulls && type->id != NL_TYPE_NULL) {
        uint8_t *validity = NULL;
        NL_TRY(nl_vector_make_validity(vector, memory, &validity));
        memcpy(validity, bits.data, bits.length);
        vector->null_count = UINT32_MAX;
    }
    if (type->physical == NL_PHYS_STRING) return read_strings(in, vector, memory);
    nl_bytes values = nl_cursor_bytes(in, (size_t)nl_physical_size(type->physical) * row_count);
    NL_TRY(nl_cursor_status(in));
    if (values.length) memcpy(nl_vector_values(vector), values.data, values.length);
    return NULL;
}

static nl_status read_type(nl_cursor *in, const nl_type *type, uint32_t row_count, nl_memory *memory, nl_vector *vector)
{
    if (!nl_type_is_encoded(type)) return read_column(in, type, row_count, memory, vector);
    nl_vector encoded = {0};
    nl_status status = read_column(in, nl_type_binary(), row_count, memory, &encoded);
    if (!status) status = nl_nested_decode(&encoded, type, memory, vector);
    nl_vector_fini(&encoded);
    return status;
}

static nl_status read_bytes(const nl_spill *spill, const chunk_place *place, nl_memory *memory, nl_buffer **out)
{
    nl_buffer *stored = NULL;
    nl_buffer *raw = NULL;
    nl_status status = NULL;
    NL_GO(nl_buffer_new(memory, place->stored_bytes, false, &stored));
    for (size_t done = 0; done < place->stored_bytes;) {
        ssize_t count = pread(spill->descriptor, stored->data + done, place->stored_bytes - done, (off_t)(place->offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) {
            status = io_error("reading a spill file", NL_STR("spark.local.dir"));
            goto done;
        }
        done += (size_t)count;
    }
    if (place->stored_bytes < place->raw_bytes) {
        NL_GO(nl_buffer_new(memory, place->raw_bytes, false, &raw));
        int unpacked = LZ4_decompress_safe((const char *)stored->data, (char *)raw->data, (int)place->stored_bytes, (int)place->raw_bytes);
        if (unpacked != (int)place->raw_bytes) status = NL_RAISE(INTERNAL_ERROR, NL_P("message", "a spill file came back damaged"));
    }
done:
    if (!status) *out = nl_buffer_retain(raw ? raw : stored);
    nl_buffer_release(stored);
    nl_buffer_release(raw);
    return status;
}

nl_status nl_spill_read(const nl_spill *spill, uint32_t chunk, nl_memory *memory, nl_batch *batch)
{
    NL_ASSERT(chunk < spill->chunk_count);
    const chunk_place *place = &spill->chunks[chunk];
    nl_buffer *bytes = NULL;
    nl_batch made = {0};
    NL_TRY(read_bytes(spill, place, memory, &bytes));
    nl_status status = nl_batch_init(&made, spill->type_count, place->row_count);
    nl_cursor in = nl_cursor_over(bytes->data, place->raw_bytes, NL_STR("spill file"));
    for (uint32_t i = 0; i < spill->type_count && !status; i++)
        status = read_type(&in, spill->types[i], place->row_count, memory, &made.columns[i]);
    nl_buffer_release(bytes);
    if (status)
        nl_batch_fini(&made);
    else
        nl_batch_move(&made, batch);
    return status;
}

/* Rows split by their hashes come in chunks of a few rows: what works on batches would spend its time on their number. */
#define TOGETHER_MAX       64u
#define TOGETHER_BYTES_MAX 65536u

nl_status nl_spill_read_some(const nl_spill *spill, uint32_t row_count_max, nl_memory *memory, uint32_t *chunk, nl_batch *batch)
{
    nl_batch parts[TOGETHER_MAX] = {0};
    const nl_batch *places[TOGETHER_MAX] = {0};
    uint32_t count = 0;
    uint64_t rows = 0;
    uint64_t bytes = 0;
    nl_status status = NULL;
    NL_ASSERT(*chunk < spill->chunk_count);
    for (uint32_t at = *chunk; at < spill->chunk_count && count < TOGETHER_MAX && !status; at++) {
        rows += spill->chunks[at].row_count;
        bytes += spill->chunks[at].raw_bytes;
        if (count > 0 && (rows > row_count_max || bytes > TOGETHER_BYTES_MAX)) break;
        places[count] = &parts[count];
        status = nl_spill_read(spill, at, memory, &parts[count]);
        count += !status;
    }
    if (!status && count == 1)
        nl_batch_move(&parts[0], batch);
    else if (!status)
        status = nl_batch_concat(places, count, memory, batch);
    for (uint32_t i = 0; i < count; i++) nl_batch_fini(&parts[i]);
    if (!status) *chunk += count;
    return status;
}
