/* format/orc/stream.c - see stream.h. Source: ORC specification v1, Compression: chunks have a header of three bytes,
 * little-endian: twice the stored length, plus one when the chunk is stored as it is. */
#include "format/orc/stream.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/limits.h"

#define HEADER_BYTES 3u
#define SECTION_BYTES_MAX (512ull << 20) /* of metadata, decompressed */

nl_status nl_orc_corrupt(nl_str path, uint64_t offset, nl_str column, const char *format, ...)
{
    char problem[256], where[320];
    va_list args;
    va_start(args, format);
    vsnprintf(problem, sizeof(problem), format, args);
    va_end(args);
    where[0] = '\0';
    if (column.length) snprintf(where, sizeof(where), " in column " NL_STR_FMT, (int)NL_MIN(column.length, (size_t)256), column.data);
    return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", path), NL_P_INT("offset", (int64_t)offset), NL_P("column", where), NL_P("problem", problem));
}

void nl_orc_stream_init(nl_orc_stream *stream, nl_orc_store *store, uint64_t offset, uint64_t length, nl_str column)
{
    *stream = (nl_orc_stream){.store = store, .offset = offset, .length = length, .column = column};
}

void nl_orc_stream_fini(nl_orc_stream *stream)
{
    nl_buffer_release(stream->stored);
    nl_buffer_release(stream->chunk);
    nl_error_free(stream->error);
    *stream = (nl_orc_stream){0};
}

nl_status nl_orc_stream_status(nl_orc_stream *stream)
{
    nl_status status = stream->error;
    stream->error = NULL;
    if (status) stream->next = stream->length; /* nothing more comes */
    return status;
}

static void give_up(nl_orc_stream *stream, nl_status error)
{
    if (stream->error) nl_error_free(error);
    else stream->error = error;
    stream->plain_at = stream->plain_length = 0;
}

void nl_orc_stream_fail(nl_orc_stream *stream, const char *problem)
{
    if (stream->error) return;
    const uint64_t at = stream->offset + (stream->store->codec == NL_CODEC_NONE ? stream->next - (stream->plain_length - stream->plain_at) : stream->chunk_start);
    give_up(stream, nl_orc_corrupt(nl_file_path(stream->store->file), at, stream->column, "%s", problem));
}

static size_t stored_left(const nl_orc_stream *stream)
{
    return stream->stored ? stream->stored->size_bytes - stream->stored_at : 0;
}

/* At least `needed` stored bytes in one piece, when the stream has them. */
static nl_status fetch(nl_orc_stream *stream, size_t needed)
{
    const size_t left = stored_left(stream);
    const uint64_t rest = stream->length - stream->next;
    nl_buffer *buffer = NULL;
    if (left >= needed || rest == 0) return NULL;
    const uint64_t more = NL_MIN(rest, NL_MAX(stream->store->fetch_bytes, (uint64_t)(needed - left)));
    NL_TRY(nl_buffer_new(stream->store->memory, left + (size_t)more, false, &buffer));
    if (left > 0) memcpy(buffer->data, stream->stored->data + stream->stored_at, left);
    nl_status status = nl_file_read(stream->store->file, stream->offset + stream->next, (size_t)more, buffer->data + left);
    if (status) {
        nl_buffer_release(buffer);
        return status;
    }
    nl_buffer_release(stream->stored);
    stream->stored = buffer;
    stream->stored_at = 0;
    stream->next += more;
    return NULL;
}

static nl_status next_chunk(nl_orc_stream *stream)
{
    const char *problem = NULL;
    stream->plain_at = stream->plain_length = 0;
    NL_TRY(fetch(stream, HEADER_BYTES));
    stream->chunk_start = stream->next - stored_left(stream);
    if (stored_left(stream) == 0) return NULL;
    const uint64_t at = stream->offset + stream->chunk_start;
    if (stored_left(stream) < HEADER_BYTES) return nl_orc_corrupt(nl_file_path(stream->store->file), at, stream->column, "the stream ends inside the header of a chunk");
    const uint8_t *header = stream->stored->data + stream->stored_at;
    const uint32_t word = (uint32_t)header[0] | (uint32_t)header[1] << 8 | (uint32_t)header[2] << 16;
    const size_t length = word >> 1;
    NL_TRY(fetch(stream, HEADER_BYTES + length));
    if (stored_left(stream) < HEADER_BYTES + length)
        return nl_orc_corrupt(nl_file_path(stream->store->file), at, stream->column, "a chunk of %zu bytes, only %zu left", length, stored_left(stream) - HEADER_BYTES);
    const nl_bytes packed = {stream->stored->data + stream->stored_at + HEADER_BYTES, length};
    stream->stored_at += HEADER_BYTES + length;
    if (word & 1) {
        if (length > stream->store->chunk_max) return nl_orc_corrupt(nl_file_path(stream->store->file), at, stream->column, "a chunk of %zu bytes is larger than the file says they are", length);
        stream->plain = packed.data;
        stream->plain_length = length;
        return NULL;
    }
    nl_buffer_release(stream->chunk);
    stream->chunk = NULL;
    NL_TRY(nl_codec_decompress_guess(stream->store->codecs, stream->store->codec, packed, stream->store->chunk_max, stream->store->chunk_max, stream->store->memory, &stream->chunk, &problem));
    if (problem) return nl_orc_corrupt(nl_file_path(stream->store->file), at, stream->column, "%s", problem);
    stream->plain = stream->chunk->data;
    stream->plain_length = stream->chunk->size_bytes;
    return NULL;
}

static nl_status next_block(nl_orc_stream *stream)
{
    stream->plain_at = stream->plain_length = 0;
    NL_TRY(fetch(stream, 1));
    if (stored_left(stream) == 0) return NULL;
    stream->plain = stream->stored->data;
    stream->stored_at = stream->plain_length = stream->stored->size_bytes;
    return NULL;
}

bool nl_orc_stream_fill(nl_orc_stream *stream)
{
    while (stream->plain_at == stream->plain_length) {
        if (stream->error || (stored_left(stream) == 0 && stream->next == stream->length)) return false;
        nl_status status = stream->store->codec == NL_CODEC_NONE ? next_block(stream) : next_chunk(stream);
        if (status) give_up(stream, status);
    }
    return true;
}

bool nl_orc_stream_is_at_end(nl_orc_stream *stream)
{
    return !nl_orc_stream_fill(stream);
}

void nl_orc_stream_read(nl_orc_stream *stream, void *into, size_t length)
{
    uint8_t *out = into;
    while (length > 0) {
        if (stream->plain_at == stream->plain_length && !nl_orc_stream_fill(stream)) {
            nl_orc_stream_fail(stream, "the stream ends too early");
            memset(out, 0, length);
            return;
        }
        const size_t part = NL_MIN(length, stream->plain_length - stream->plain_at);
        memcpy(out, stream->plain + stream->plain_at, part);
        stream->plain_at += part;
        out += part;
        length -= part;
    }
}

void nl_orc_stream_skip(nl_orc_stream *stream, uint64_t length)
{
    while (length > 0) {
        if (stream->plain_at == stream->plain_length && !nl_orc_stream_fill(stream)) {
            nl_orc_stream_fail(stream, "the stream ends too early");
            return;
        }
        const size_t part = (size_t)NL_MIN(length, (uint64_t)(stream->plain_length - stream->plain_at));
        stream->plain_at += part;
        length -= part;
    }
}

uint64_t nl_orc_stream_uvarint(nl_orc_stream *stream)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70; shift += 7) {
        const uint8_t byte = nl_orc_stream_u8(stream);
        if (shift == 63 && byte > 1) break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    nl_orc_stream_fail(stream, "a number of more than 64 bits");
    return 0;
}

void nl_orc_stream_seek(nl_orc_stream *stream, uint64_t chunk_start, uint64_t plain_offset)
{
    const bool is_packed = stream->store->codec != NL_CODEC_NONE;
    const uint64_t start = is_packed ? chunk_start : plain_offset;
    if (stream->error) return;
    if (start > stream->length) {
        nl_orc_stream_fail(stream, "the row index points behind the stream's end");
        return;
    }
    const uint64_t have = stream->next - (stream->stored ? stream->stored->size_bytes : 0); /* first byte held */
    stream->plain_at = stream->plain_length = 0;
    if (stream->stored && start >= have && start <= stream->next) {
        stream->stored_at = (size_t)(start - have);
        if (!is_packed) { /* plain bytes are the stored ones */
            stream->plain = stream->stored->data;
            stream->plain_at = stream->stored_at;
            stream->plain_length = stream->stored->size_bytes;
            stream->stored_at = stream->plain_length;
        }
    } else {
        nl_buffer_release(stream->stored);
        stream->stored = NULL;
        stream->stored_at = 0;
        stream->next = start;
    }
    if (is_packed && plain_offset > 0) nl_orc_stream_skip(stream, plain_offset);
}

nl_status nl_orc_section_unpack(nl_orc_store *store, nl_bytes stored, uint64_t file_offset, nl_buffer **plain)
{
    size_t at = 0, length = 0;
    nl_buffer *out = NULL;
    if (store->codec == NL_CODEC_NONE) {
        NL_TRY(nl_buffer_new(store->memory, stored.length, false, plain));
        if (stored.length) memcpy((*plain)->data, stored.data, stored.length);
        return NULL;
    }
    nl_status status = nl_buffer_new(store->memory, NL_MAX(nl_size_mul(stored.length, 3), (size_t)1024), false, &out);
    while (!status && at < stored.length) {
        nl_buffer *chunk = NULL;
        const char *problem = NULL;
        if (stored.length - at < HEADER_BYTES) {
            status = nl_orc_corrupt(nl_file_path(store->file), file_offset + at, (nl_str){0}, "the section ends inside the header of a chunk");
            break;
        }
        const uint32_t word = (uint32_t)stored.data[at] | (uint32_t)stored.data[at + 1] << 8 | (uint32_t)stored.data[at + 2] << 16;
        nl_bytes part = {stored.data + at + HEADER_BYTES, word >> 1};
        if (part.length > stored.length - at - HEADER_BYTES) {
            status = nl_orc_corrupt(nl_file_path(store->file), file_offset + at, (nl_str){0}, "a chunk of %zu bytes, only %zu left", part.length, stored.length - at - HEADER_BYTES);
            break;
        }
        at += HEADER_BYTES + part.length;
        if (!(word & 1)) {
            status = nl_codec_decompress_guess(store->codecs, store->codec, part, store->chunk_max, store->chunk_max, store->memory, &chunk, &problem);
            if (!status && problem) status = nl_orc_corrupt(nl_file_path(store->file), file_offset + at, (nl_str){0}, "%s", problem);
            if (status) break;
            part = (nl_bytes){chunk->data, chunk->size_bytes};
        }
        if (length + part.length > SECTION_BYTES_MAX) status = nl_orc_corrupt(nl_file_path(store->file), file_offset, (nl_str){0}, "metadata of more than %llu bytes", SECTION_BYTES_MAX);
        if (!status && length + part.length > out->size_bytes) {
            nl_buffer *larger = NULL;
            status = nl_buffer_new(store->memory, NL_MAX(2 * out->size_bytes, length + part.length), false, &larger);
            if (!status) {
                memcpy(larger->data, out->data, length);
                nl_buffer_release(out);
                out = larger;
            }
        }
        if (!status && part.length) memcpy(out->data + length, part.data, part.length);
        length += part.length;
        nl_buffer_release(chunk);
    }
    if (status) {
        nl_buffer_release(out);
        return status;
    }
    out->size_bytes = length;
    *plain = out;
    return NULL;
}

nl_status nl_orc_section_read(nl_orc_store *store, uint64_t offset, uint64_t length, nl_buffer **plain)
{
    nl_buffer *stored = NULL;
    const uint64_t size = nl_file_size(store->file);
    if (offset > size || length > size - offset) return nl_orc_corrupt(nl_file_path(store->file), offset, (nl_str){0}, "a section of %llu bytes goes beyond the file's end", (unsigned long long)length);
    NL_TRY(nl_buffer_new(store->memory, (size_t)length, false, &stored));
    nl_status status = length > 0 ? nl_file_read(store->file, offset, (size_t)length, stored->data) : NULL;
    if (!status) status = nl_orc_section_unpack(store, (nl_bytes){stored->data, (size_t)length}, offset, plain);
    nl_buffer_release(stored);
    return status;
}
