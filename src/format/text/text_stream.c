/* format/text/text_stream.c - block-wise reading with zlib, bzip2 and zstd decoders, and transcoding to UTF-8.
 *
 * The decoders stream: memory is one input block, one output block and the library's window. Members that follow each
 * other in one file (gzip, bzip2, zstd frames) are read as one text.
 */
#include <bzlib.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "format/text/text_stream.h"

#define BLOCK_BYTES (256u << 10)
/* A transcoded character takes at most three bytes for two, or two for one. */
#define TRANSCODED_BYTES (BLOCK_BYTES * 2 + 16)

struct nl_text_stream {
    nl_file *file;
    uint64_t position; /* of the next byte to read */
    nl_text_compression compression;
    nl_text_encoding encoding;
    nl_buffer *in;
    nl_buffer *out;        /* decompressed */
    nl_buffer *transcoded; /* UTF-8 */
    const uint8_t *in_at;  /* input not yet decoded */
    size_t in_left;
    bool is_started;       /* a decoder is open; inside of a member unless is_between */
    bool is_between;
    z_stream zlib;
    bz_stream bzip2;
    ZSTD_DCtx *zstd;
    uint8_t carry[4]; /* of a character cut by a block's end */
    uint32_t carry_length;
    bool has_seen_mark;
    uint16_t high_surrogate;
};

/* "||" may be found at two places in "|||": where a part starts would decide which. */
static bool overlaps_itself(nl_str separator)
{
    for (size_t length = 1; length < separator.length; length++) {
        if (nl_str_ends(separator, nl_str_slice(separator, 0, length))) return true;
    }
    return false;
}

bool nl_text_is_splittable(nl_str path, const nl_text_formats *formats)
{
    nl_text_compression compression;
    nl_status status = nl_text_compression_of(path, &compression);
    nl_error_free(status);
    return !status && compression == NL_TEXT_PLAIN && formats->encoding == NL_ENCODING_UTF8 && !formats->is_multi_line &&
           !overlaps_itself(formats->line_separator);
}

static nl_status corrupt(const nl_text_stream *stream, const char *problem)
{
    return NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", nl_file_path(stream->file)),
                    NL_P_INT("offset", (int64_t)(stream->position - stream->in_left)), NL_P("column", ""),
                    NL_P("problem", problem));
}

nl_status nl_text_stream_open(nl_file *file, uint64_t start, nl_text_encoding encoding, nl_memory *memory,
                              nl_text_stream **stream)
{
    nl_text_stream *made = calloc(1, sizeof *made);
    if (!made)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    *made = (nl_text_stream){.file = file, .position = start, .encoding = encoding, .is_between = true};
    nl_status status = nl_text_compression_of(nl_file_path(file), &made->compression);
    if (!status) status = nl_buffer_new(memory, BLOCK_BYTES, false, &made->in);
    if (!status && made->compression != NL_TEXT_PLAIN) status = nl_buffer_new(memory, BLOCK_BYTES, false, &made->out);
    if (!status && encoding != NL_ENCODING_UTF8) status = nl_buffer_new(memory, TRANSCODED_BYTES, false, &made->transcoded);
    if (status) {
        nl_text_stream_close(made);
        return status;
    }
    NL_ASSERT(start == 0 || (made->compression == NL_TEXT_PLAIN && encoding == NL_ENCODING_UTF8));
    *stream = made;
    return NULL;
}

static void end_decoder(nl_text_stream *stream)
{
    if (!stream->is_started) return;
    if (stream->compression == NL_TEXT_GZIP || stream->compression == NL_TEXT_ZLIB) inflateEnd(&stream->zlib);
    if (stream->compression == NL_TEXT_BZIP2) BZ2_bzDecompressEnd(&stream->bzip2);
    if (stream->compression == NL_TEXT_ZSTD) ZSTD_freeDCtx(stream->zstd);
    stream->is_started = false;
}

void nl_text_stream_close(nl_text_stream *stream)
{
    if (!stream) return;
    end_decoder(stream);
    nl_buffer_release(stream->in);
    nl_buffer_release(stream->out);
    nl_buffer_release(stream->transcoded);
    free(stream);
}

/* Fills the input when it is empty; *in_left stays 0 at the file's end. */
static nl_status refill(nl_text_stream *stream)
{
    uint64_t size = nl_file_size(stream->file);
    if (stream->in_left || stream->position >= size) return NULL;
    size_t length = (size_t)NL_MIN(size - stream->position, (uint64_t)BLOCK_BYTES);
    NL_TRY(nl_file_read(stream->file, stream->position, length, stream->in->data));
    stream->position += length;
    stream->in_at = stream->in->data;
    stream->in_left = length;
    return NULL;
}

static nl_status start_decoder(nl_text_stream *stream)
{
    bool has_started;
    if (stream->compression == NL_TEXT_BZIP2) {
        stream->bzip2 = (bz_stream){0};
        has_started = BZ2_bzDecompressInit(&stream->bzip2, 0, 0) == BZ_OK;
    } else if (stream->compression == NL_TEXT_ZSTD) {
        stream->zstd = ZSTD_createDCtx();
        has_started = stream->zstd != NULL;
    } else {
        stream->zlib = (z_stream){0};
        has_started = inflateInit2(&stream->zlib, stream->compression == NL_TEXT_GZIP ? 15 + 16 : 15) == Z_OK;
    }
    if (!has_started)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 1 << 16), NL_P_INT("receivedBytes", 0));
    stream->is_started = true;
    stream->is_between = false;
    return NULL;
}

/* One step: input to out + produced. Sets is_between at a member's end. */
static nl_status step_zlib(nl_text_stream *stream, uint8_t *out, size_t room, size_t *produced)
{
    stream->zlib.next_in = (uint8_t *)(uintptr_t)stream->in_at;
    stream->zlib.avail_in = (uInt)stream->in_left;
    stream->zlib.next_out = out;
    stream->zlib.avail_out = (uInt)room;
    int code = inflate(&stream->zlib, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR) return corrupt(stream, "the compressed data is damaged");
    *produced = room - stream->zlib.avail_out;
    stream->in_at = stream->zlib.next_in;
    stream->in_left = stream->zlib.avail_in;
    stream->is_between = code == Z_STREAM_END;
    return NULL;
}

static nl_status step_bzip2(nl_text_stream *stream, uint8_t *out, size_t room, size_t *produced)
{
    stream->bzip2.next_in = (char *)(uintptr_t)stream->in_at;
    stream->bzip2.avail_in = (unsigned)stream->in_left;
    stream->bzip2.next_out = (char *)out;
    stream->bzip2.avail_out = (unsigned)room;
    int code = BZ2_bzDecompress(&stream->bzip2);
    if (code != BZ_OK && code != BZ_STREAM_END) return corrupt(stream, "the compressed data is damaged");
    *produced = room - stream->bzip2.avail_out;
    stream->in_at = (const uint8_t *)stream->bzip2.next_in;
    stream->in_left = stream->bzip2.avail_in;
    stream->is_between = code == BZ_STREAM_END;
    return NULL;
}

static nl_status step_zstd(nl_text_stream *stream, uint8_t *out, size_t room, size_t *produced)
{
    ZSTD_inBuffer from = {stream->in_at, stream->in_left, 0};
    ZSTD_outBuffer to = {out, room, 0};
    size_t code = ZSTD_decompressStream(stream->zstd, &to, &from);
    if (ZSTD_isError(code)) return corrupt(stream, "the compressed data is damaged");
    *produced = to.pos;
    stream->in_at += from.pos;
    stream->in_left -= from.pos;
    stream->is_between = code == 0;
    return NULL;
}

static nl_status next_decompressed(nl_text_stream *stream, nl_str *block)
{
    size_t length = 0;
    while (length < BLOCK_BYTES) {
        NL_TRY(refill(stream));
        if (stream->in_left == 0 && stream->is_between) break;
        if (stream->is_between) {
            end_decoder(stream);
            NL_TRY(start_decoder(stream));
        }
        size_t produced = 0;
        size_t in_before = stream->in_left;
        uint8_t *out = stream->out->data + length;
        if (stream->compression == NL_TEXT_BZIP2)
            NL_TRY(step_bzip2(stream, out, BLOCK_BYTES - length, &produced));
        else if (stream->compression == NL_TEXT_ZSTD)
            NL_TRY(step_zstd(stream, out, BLOCK_BYTES - length, &produced));
        else
            NL_TRY(step_zlib(stream, out, BLOCK_BYTES - length, &produced));
        length += produced;
        if (produced == 0 && stream->in_left == in_before && !stream->is_between) {
            if (in_before == 0) return corrupt(stream, "the compressed data ends too early");
            return corrupt(stream, "the compressed data is damaged");
        }
    }
    *block = (nl_str){(const char *)stream->out->data, length};
    return NULL;
}

static nl_status next_bytes(nl_text_stream *stream, nl_str *block)
{
    if (stream->compression != NL_TEXT_PLAIN) return next_decompressed(stream, block);
    NL_TRY(refill(stream));
    *block = (nl_str){(const char *)stream->in_at, stream->in_left};
    stream->in_left = 0;
    return NULL;
}

static uint32_t load_unit(const uint8_t *at, uint32_t size, bool is_little)
{
    uint32_t unit = 0;
    for (uint32_t i = 0; i < size; i++)
        unit = unit << 8 | at[is_little ? size - 1 - i : i];
    return unit;
}

/* One unit of UTF-16 or UTF-32 to UTF-8; halves of pairs wait for each other, lonely ones become U+FFFD. */
static uint32_t put_unit(nl_text_stream *stream, uint32_t unit, char *out)
{
    uint32_t length = 0;
    if (stream->high_surrogate) {
        uint32_t high = stream->high_surrogate;
        stream->high_surrogate = 0;
        if (unit >= 0xdc00 && unit < 0xe000)
            return nl_utf8_encode(0x10000u + ((high - 0xd800u) << 10) + (unit - 0xdc00u), out);
        length = nl_utf8_encode(0xfffd, out);
    }
    if (unit >= 0xd800 && unit < 0xdc00 && stream->encoding != NL_ENCODING_UTF32) {
        stream->high_surrogate = (uint16_t)unit;
        return length;
    }
    bool is_bad = (unit >= 0xd800 && unit < 0xe000) || unit > 0x10ffff;
    return length + nl_utf8_encode(is_bad ? 0xfffd : unit, out + length);
}

/* A byte order mark decides, and is dropped. */
static bool take_mark(nl_text_stream *stream, uint32_t big_endian_unit, uint32_t size)
{
    uint32_t swapped = size == 2 ? 0xfffeu : 0xfffe0000u;
    if (stream->has_seen_mark) return false;
    stream->has_seen_mark = true;
    if (stream->encoding == NL_ENCODING_UTF16) {
        stream->encoding = big_endian_unit == swapped ? NL_ENCODING_UTF16LE : NL_ENCODING_UTF16BE;
        return big_endian_unit == swapped || big_endian_unit == 0xfeff;
    }
    if (stream->encoding == NL_ENCODING_UTF16LE) return big_endian_unit == swapped;
    return big_endian_unit == 0xfeff;
}

static size_t transcode_wide(nl_text_stream *stream, nl_str block, char *out)
{
    uint32_t size = stream->encoding == NL_ENCODING_UTF32 ? 4 : 2;
    size_t length = 0;
    for (size_t i = 0; i < block.length; i++) {
        stream->carry[stream->carry_length++] = (uint8_t)block.data[i];
        if (stream->carry_length < size) continue;
        stream->carry_length = 0;
        if (take_mark(stream, load_unit(stream->carry, size, false), size)) continue;
        uint32_t unit = load_unit(stream->carry, size, stream->encoding == NL_ENCODING_UTF16LE);
        length += put_unit(stream, unit, out + length);
    }
    return length;
}

static size_t transcode_latin1(nl_str block, char *out)
{
    size_t length = 0;
    for (size_t i = 0; i < block.length; i++)
        length += nl_utf8_encode((uint8_t)block.data[i], out + length);
    return length;
}

nl_status nl_text_stream_next(nl_text_stream *stream, nl_str *block)
{
    if (stream->encoding == NL_ENCODING_UTF8) return next_bytes(stream, block);
    nl_str bytes;
    size_t length = 0;
    char *out = (char *)stream->transcoded->data;
    do {
        NL_TRY(next_bytes(stream, &bytes));
        length = stream->encoding == NL_ENCODING_LATIN1 ? transcode_latin1(bytes, out) : transcode_wide(stream, bytes, out);
        if (bytes.length == 0 && (stream->carry_length || stream->high_surrogate)) { /* the end, inside a character */
            stream->carry_length = stream->high_surrogate = 0;
            length = nl_utf8_encode(0xfffd, out);
        }
    } while (length == 0 && bytes.length);
    *block = (nl_str){out, length};
    return NULL;
}
