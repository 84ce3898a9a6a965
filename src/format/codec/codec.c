/* format/codec/codec.c - one context around zstd, libdeflate, snappy, lz4 and brotli.
 *
 * Sources: Parquet format, Compression; Hadoop's BlockCompressorStream for the framing of LZ4_HADOOP (big-endian
 * uncompressed size, then big-endian compressed size and block, until the uncompressed size is reached).
 */
#include "format/codec/codec.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <libdeflate.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zstd.h>

#include <stdlib.h>

struct nl_codec_context {
    nl_memory *memory; /* counted */
    size_t charged_bytes;
    ZSTD_DCtx *zstd_in;
    ZSTD_CCtx *zstd_out;
    struct libdeflate_decompressor *deflate_in;
    struct libdeflate_compressor *deflate_out;
    int deflate_level; /* of deflate_out */
    LZ4F_dctx *frame_in;
};

/* Hadoop's LZ4 decompressor has 256 KiB of room for one compressed block, so blocks stay well below that. */
#define HADOOP_BLOCK_BYTES (128u << 10)

static const char short_output[] = "the compressed data holds fewer bytes than announced";
static const char bad_data[] = "the compressed data cannot be decompressed to the announced size";
static const char no_memory[] = "no memory for the decompressor";

nl_codec_context *nl_codec_context_new(nl_memory *memory)
{
    nl_codec_context *context = calloc(1, sizeof(*context));
    if (context == NULL) return NULL;
    context->memory = memory ? nl_memory_retain(memory) : NULL;
    return context;
}

void nl_codec_context_free(nl_codec_context *context)
{
    if (context == NULL) return;
    ZSTD_freeDCtx(context->zstd_in);
    ZSTD_freeCCtx(context->zstd_out);
    libdeflate_free_decompressor(context->deflate_in);
    libdeflate_free_compressor(context->deflate_out);
    LZ4F_freeDecompressionContext(context->frame_in);
    if (context->memory != NULL) {
        nl_memory_discharge(context->memory, context->charged_bytes);
        nl_memory_release(context->memory);
    }
    free(context);
}

const char *nl_codec_name(nl_codec codec)
{
    static const char *const names[NL_CODEC_COUNT] = {
        [NL_CODEC_NONE] = "none",         [NL_CODEC_ZSTD] = "zstd",
        [NL_CODEC_GZIP] = "gzip",         [NL_CODEC_DEFLATE] = "deflate",
        [NL_CODEC_ZLIB] = "zlib",         [NL_CODEC_SNAPPY] = "snappy",
        [NL_CODEC_LZ4_RAW] = "lz4_raw",   [NL_CODEC_LZ4_HADOOP] = "lz4",
        [NL_CODEC_LZ4_FRAME] = "lz4_frame", [NL_CODEC_BROTLI] = "brotli",
    };
    return codec < NL_CODEC_COUNT ? names[codec] : "unknown";
}

static const char *decompress_zstd(nl_codec_context *context, nl_bytes in, uint8_t *out, size_t out_length)
{
    if (context->zstd_in == NULL) context->zstd_in = ZSTD_createDCtx();
    if (context->zstd_in == NULL) return no_memory;
    const size_t done = ZSTD_decompressDCtx(context->zstd_in, out, out_length, in.data, in.length);
    if (ZSTD_isError(done)) return bad_data;
    return done == out_length ? NULL : short_output;
}

typedef enum wrapper { WRAP_NONE, WRAP_ZLIB, WRAP_GZIP } wrapper;

static wrapper wrapper_of(nl_codec codec, nl_bytes in)
{
    if (codec == NL_CODEC_DEFLATE) return WRAP_NONE;
    if (codec == NL_CODEC_ZLIB) return WRAP_ZLIB;
    const bool is_gzip = in.length >= 2 && in.data[0] == 0x1f && in.data[1] == 0x8b;
    return is_gzip ? WRAP_GZIP : WRAP_ZLIB;
}

static enum libdeflate_result inflate_once(struct libdeflate_decompressor *state, wrapper wrap, nl_bytes in, uint8_t *out,
                                           size_t capacity, size_t *consumed, size_t *produced)
{
    switch (wrap) {
    case WRAP_NONE:
        return libdeflate_deflate_decompress_ex(state, in.data, in.length, out, capacity, consumed, produced);
    case WRAP_ZLIB:
        return libdeflate_zlib_decompress_ex(state, in.data, in.length, out, capacity, consumed, produced);
    case WRAP_GZIP:
        return libdeflate_gzip_decompress_ex(state, in.data, in.length, out, capacity, consumed, produced);
    }
    return LIBDEFLATE_BAD_DATA;
}

/* *is_short tells a caller that grows its buffer that more room may help. */
static const char *inflate_all(nl_codec_context *context, nl_codec codec, nl_bytes in, uint8_t *out, size_t capacity,
                               size_t *out_length, bool *is_short)
{
    if (context->deflate_in == NULL) context->deflate_in = libdeflate_alloc_decompressor();
    if (context->deflate_in == NULL) return no_memory;
    *is_short = false;
    *out_length = 0;
    do {
        size_t consumed = 0;
        size_t produced = 0;
        const wrapper wrap = wrapper_of(codec, in);
        const enum libdeflate_result result =
            inflate_once(context->deflate_in, wrap, in, out + *out_length, capacity - *out_length, &consumed, &produced);
        if (result != LIBDEFLATE_SUCCESS) {
            *is_short = result == LIBDEFLATE_INSUFFICIENT_SPACE;
            return bad_data;
        }
        *out_length += produced;
        in = (nl_bytes){in.data + consumed, in.length - consumed};
    } while (in.length > 0 && codec == NL_CODEC_GZIP);
    return NULL;
}

static const char *decompress_deflate(nl_codec_context *context, nl_codec codec, nl_bytes in, uint8_t *out, size_t out_length)
{
    size_t done = 0;
    bool is_short = false;
    const char *problem = inflate_all(context, codec, in, out, out_length, &done, &is_short);
    if (problem != NULL) return problem;
    return done == out_length ? NULL : short_output;
}

static const char *decompress_snappy(nl_bytes in, uint8_t *out, size_t out_length)
{
    size_t announced = 0;
    if (snappy_uncompressed_length((const char *)in.data, in.length, &announced) != SNAPPY_OK) return bad_data;
    if (announced != out_length) return "the Snappy data announces another size than its container";
    const snappy_status status = snappy_uncompress((const char *)in.data, in.length, (char *)out, &announced);
    return status == SNAPPY_OK ? NULL : bad_data;
}

static const char *decompress_lz4_block(nl_bytes in, uint8_t *out, size_t out_length)
{
    if (in.length > INT32_MAX || out_length > INT32_MAX) return bad_data;
    const int done = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.length, (int)out_length);
    return done >= 0 && (size_t)done == out_length ? NULL : bad_data;
}

/* At most `capacity` bytes; *is_short when the data wants more. */
static const char *unpack_lz4_frame(nl_codec_context *context, nl_bytes in, uint8_t *out, size_t capacity, size_t *out_length, bool *is_short)
{
    if (context->frame_in == NULL && LZ4F_isError(LZ4F_createDecompressionContext(&context->frame_in, LZ4F_VERSION)))
        return no_memory;
    LZ4F_resetDecompressionContext(context->frame_in);
    size_t done = 0;
    while (in.length > 0) {
        size_t consumed = in.length;
        size_t produced = capacity - done;
        const size_t hint = LZ4F_decompress(context->frame_in, out + done, &produced, in.data, &consumed, NULL);
        if (LZ4F_isError(hint)) return bad_data;
        if (consumed == 0 && produced == 0) {
            *is_short = done == capacity;
            return bad_data;
        }
        done += produced;
        in = (nl_bytes){in.data + consumed, in.length - consumed};
        if (in.length == 0 && hint != 0) { /* all is read but the frame goes on: its rest waits for room, or is missing */
            *is_short = done == capacity;
            return bad_data;
        }
    }
    *out_length = done;
    return NULL;
}

static const char *decompress_lz4_frame(nl_codec_context *context, nl_bytes in, uint8_t *out, size_t out_length)
{
    size_t done = 0;
    bool is_short = false;
    const char *problem = unpack_lz4_frame(context, in, out, out_length, &done, &is_short);
    if (problem) return problem;
    return done == out_length ? NULL : short_output;
}

static uint32_t big_endian_u32(const uint8_t *data)
{
    uint32_t value;
    memcpy(&value, data, sizeof(value));
    return __builtin_bswap32(value);
}

static const char *decompress_hadoop_blocks(nl_bytes in, uint8_t *out, size_t out_length)
{
    size_t done = 0;
    size_t at = 0;
    while (at < in.length) {
        if (in.length - at < 4) return bad_data;
        size_t block_left = big_endian_u32(in.data + at);
        at += 4;
        if (block_left > out_length - done) return bad_data;
        while (block_left > 0) {
            if (in.length - at < 4) return bad_data;
            const size_t stored = big_endian_u32(in.data + at);
            at += 4;
            if (stored > in.length - at || stored > INT32_MAX || block_left > INT32_MAX) return bad_data;
            const int got = LZ4_decompress_safe((const char *)in.data + at, (char *)out + done, (int)stored, (int)block_left);
            if (got <= 0) return bad_data;
            at += stored;
            done += (size_t)got;
            block_left -= (size_t)got;
        }
    }
    return done == out_length ? NULL : short_output;
}

/* The codec number 5 of Parquet was written in three ways; as other readers do, they are tried in turn. */
static const char *decompress_lz4_hadoop(nl_codec_context *context, nl_bytes in, uint8_t *out, size_t out_length)
{
    static const uint8_t frame_magic[4] = {0x04, 0x22, 0x4d, 0x18};
    if (decompress_hadoop_blocks(in, out, out_length) == NULL) return NULL;
    if (in.length >= 4 && memcmp(in.data, frame_magic, 4) == 0) return decompress_lz4_frame(context, in, out, out_length);
    return decompress_lz4_block(in, out, out_length);
}

static const char *decompress_brotli(nl_bytes in, uint8_t *out, size_t out_length)
{
    size_t done = out_length;
    const BrotliDecoderResult result = BrotliDecoderDecompress(in.length, in.data, &done, out);
    if (result != BROTLI_DECODER_RESULT_SUCCESS) return bad_data;
    return done == out_length ? NULL : short_output;
}

const char *nl_codec_decompress(nl_codec_context *context, nl_codec codec, nl_bytes in, uint8_t *out, size_t out_length)
{
    NL_ASSERT(context != NULL);
    switch (codec) {
    case NL_CODEC_NONE:
        if (in.length != out_length) return "the uncompressed data has another size than announced";
        if (out_length > 0) memcpy(out, in.data, out_length);
        return NULL;
    case NL_CODEC_ZSTD:
        return decompress_zstd(context, in, out, out_length);
    case NL_CODEC_GZIP:
    case NL_CODEC_DEFLATE:
    case NL_CODEC_ZLIB:
        return decompress_deflate(context, codec, in, out, out_length);
    case NL_CODEC_SNAPPY:
        return decompress_snappy(in, out, out_length);
    case NL_CODEC_LZ4_RAW:
        return decompress_lz4_block(in, out, out_length);
    case NL_CODEC_LZ4_HADOOP:
        return decompress_lz4_hadoop(context, in, out, out_length);
    case NL_CODEC_LZ4_FRAME:
        return decompress_lz4_frame(context, in, out, out_length);
    case NL_CODEC_BROTLI:
        return decompress_brotli(in, out, out_length);
    case NL_CODEC_COUNT:
        break;
    }
    return "unknown compression codec";
}

/* What the data says of its own size, or a first guess. */
static size_t first_guess(nl_codec codec, nl_bytes in, size_t length_max)
{
    size_t guess = nl_size_add(nl_size_mul(in.length, 4), 256);
    if (codec == NL_CODEC_ZSTD) {
        const unsigned long long size = ZSTD_getFrameContentSize(in.data, in.length);
        if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR) guess = (size_t)size;
    }
    return NL_MIN(guess, length_max);
}

/* One attempt with `capacity` bytes of room. */
static const char *decompress_into(nl_codec_context *context, nl_codec codec, nl_bytes in, uint8_t *out, size_t capacity,
                                   size_t *out_length, bool *is_short)
{
    *is_short = false;
    if (codec == NL_CODEC_GZIP || codec == NL_CODEC_DEFLATE || codec == NL_CODEC_ZLIB)
        return inflate_all(context, codec, in, out, capacity, out_length, is_short);
    if (codec == NL_CODEC_ZSTD) {
        if (context->zstd_in == NULL) context->zstd_in = ZSTD_createDCtx();
        if (context->zstd_in == NULL) return no_memory;
        *out_length = ZSTD_decompressDCtx(context->zstd_in, out, capacity, in.data, in.length);
        if (!ZSTD_isError(*out_length)) return NULL;
        *is_short = strcmp(ZSTD_getErrorName(*out_length), "Destination buffer is too small") == 0;
        return bad_data;
    }
    if (codec == NL_CODEC_BROTLI) {
        *out_length = capacity;
        if (BrotliDecoderDecompress(in.length, in.data, out_length, out) == BROTLI_DECODER_RESULT_SUCCESS) return NULL;
        *is_short = true; /* the one-shot call does not tell; the limit ends the attempts */
        return bad_data;
    }
    if (codec == NL_CODEC_LZ4_FRAME) return unpack_lz4_frame(context, in, out, capacity, out_length, is_short);
    if (codec == NL_CODEC_LZ4_RAW && in.length <= INT32_MAX && capacity <= INT32_MAX) {
        const int done = LZ4_decompress_safe((const char *)in.data, (char *)out, (int)in.length, (int)capacity);
        if (done >= 0) *out_length = (size_t)done;
        *is_short = done < 0; /* it does not tell either */
        return done >= 0 ? NULL : bad_data;
    }
    return "this codec needs the size to be announced";
}

nl_status nl_codec_decompress_grow(nl_codec_context *context, nl_codec codec, nl_bytes in, size_t length_max,
                                   nl_memory *memory, nl_buffer **out, const char **problem)
{
    return nl_codec_decompress_guess(context, codec, in, 0, length_max, memory, out, problem);
}

nl_status nl_codec_decompress_guess(nl_codec_context *context, nl_codec codec, nl_bytes in, size_t length_guess, size_t length_max,
                                    nl_memory *memory, nl_buffer **out, const char **problem)
{
    const bool is_guessed = length_guess > 0 && codec != NL_CODEC_ZSTD; /* zstd mostly says its size */
    size_t capacity = is_guessed ? NL_MIN(length_guess, length_max) : first_guess(codec, in, length_max);
    if (codec == NL_CODEC_NONE) capacity = in.length;
    if (codec == NL_CODEC_SNAPPY && snappy_uncompressed_length((const char *)in.data, in.length, &capacity) != SNAPPY_OK) {
        *problem = bad_data;
        return NULL;
    }
    for (;;) {
        if (capacity > length_max) {
            *problem = "the decompressed data is larger than the limit";
            return NULL;
        }
        nl_buffer *buffer = NULL;
        NL_TRY(nl_buffer_new(memory, capacity, false, &buffer));
        size_t done = capacity;
        bool is_short = false;
        *problem = codec == NL_CODEC_NONE || codec == NL_CODEC_SNAPPY
                       ? nl_codec_decompress(context, codec, in, buffer->data, capacity)
                       : decompress_into(context, codec, in, buffer->data, capacity, &done, &is_short);
        if (*problem == NULL) {
            buffer->size_bytes = done;
            *out = buffer;
            return NULL;
        }
        nl_buffer_release(buffer);
        if (!is_short || capacity == length_max) return NULL;
        capacity = NL_MIN(nl_size_mul(NL_MAX(capacity, 64), 4), length_max); /* a frame may claim to hold nothing */
    }
}

static size_t deflate_bound(size_t length)
{
    return libdeflate_gzip_compress_bound(NULL, length);
}

size_t nl_codec_bound(nl_codec codec, size_t length)
{
    switch (codec) {
    case NL_CODEC_ZSTD:
        return ZSTD_compressBound(length);
    case NL_CODEC_GZIP:
    case NL_CODEC_DEFLATE:
    case NL_CODEC_ZLIB:
        return deflate_bound(length);
    case NL_CODEC_SNAPPY:
        return snappy_max_compressed_length(length);
    case NL_CODEC_LZ4_RAW:
    case NL_CODEC_LZ4_HADOOP:
        return length + length / 255 + 64 + (length / HADOOP_BLOCK_BYTES + 1) * 24;
    case NL_CODEC_LZ4_FRAME:
        return LZ4F_compressFrameBound(length, NULL);
    case NL_CODEC_BROTLI:
        return BrotliEncoderMaxCompressedSize(length) + 64;
    case NL_CODEC_NONE:
    case NL_CODEC_COUNT:
        break;
    }
    return length;
}

static nl_status refused(nl_codec codec, int32_t level)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot compress with codec %s at level %d", nl_codec_name(codec), level);
}

/* The library's state has grown to `bytes`; the budget must agree before the context is used again. */
static nl_status charge_state(nl_codec_context *context, size_t bytes)
{
    if (bytes <= context->charged_bytes || context->memory == NULL) return NULL;
    const size_t more = bytes - context->charged_bytes;
    if (!nl_memory_try_charge(context->memory, more))
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)more), NL_P_INT("receivedBytes", 0));
    context->charged_bytes = bytes;
    return NULL;
}

static nl_status compress_zstd(nl_codec_context *context, int32_t level, nl_bytes in, uint8_t *out, size_t capacity, size_t *done)
{
    if (context->zstd_out == NULL) context->zstd_out = ZSTD_createCCtx();
    if (context->zstd_out == NULL) return refused(NL_CODEC_ZSTD, level);
    *done = ZSTD_compressCCtx(context->zstd_out, out, capacity, in.data, in.length, level);
    if (ZSTD_isError(*done)) return refused(NL_CODEC_ZSTD, level);
    return charge_state(context, ZSTD_sizeof_CCtx(context->zstd_out));
}

static nl_status compress_deflate(nl_codec_context *context, nl_codec codec, int32_t level, nl_bytes in, uint8_t *out,
                                  size_t capacity, size_t *done)
{
    if (context->deflate_out == NULL || context->deflate_level != level) {
        libdeflate_free_compressor(context->deflate_out);
        context->deflate_out = libdeflate_alloc_compressor(level);
        context->deflate_level = level;
        if (context->deflate_out == NULL) return refused(codec, level);
    }
    if (codec == NL_CODEC_GZIP)
        *done = libdeflate_gzip_compress(context->deflate_out, in.data, in.length, out, capacity);
    else if (codec == NL_CODEC_ZLIB)
        *done = libdeflate_zlib_compress(context->deflate_out, in.data, in.length, out, capacity);
    else
        *done = libdeflate_deflate_compress(context->deflate_out, in.data, in.length, out, capacity);
    return *done > 0 ? NULL : refused(codec, level);
}

static void put_big_endian(uint8_t *out, uint32_t value)
{
    value = __builtin_bswap32(value);
    memcpy(out, &value, sizeof(value));
}

static bool compress_hadoop(nl_bytes in, uint8_t *out, size_t capacity, size_t *done)
{
    *done = 0;
    for (size_t at = 0; at < in.length;) {
        const size_t block = NL_MIN(in.length - at, HADOOP_BLOCK_BYTES);
        if (capacity - *done < 8) return false;
        const int room = (int)NL_MIN(capacity - *done - 8, (size_t)INT32_MAX);
        const int stored = LZ4_compress_default((const char *)in.data + at, (char *)out + *done + 8, (int)block, room);
        if (stored <= 0) return false;
        put_big_endian(out + *done, (uint32_t)block);
        put_big_endian(out + *done + 4, (uint32_t)stored);
        *done += 8 + (size_t)stored;
        at += block;
    }
    return true;
}

static int32_t level_or_default(nl_codec codec, int32_t level)
{
    if (level != NL_CODEC_LEVEL_DEFAULT) return level;
    if (codec == NL_CODEC_ZSTD) return 3;
    return codec == NL_CODEC_BROTLI ? 1 : 6;
}

nl_status nl_codec_compress(nl_codec_context *context, nl_codec codec, int32_t level, nl_bytes in, uint8_t *out,
                            size_t capacity, size_t *out_length)
{
    NL_ASSERT(context != NULL);
    NL_ASSERT(capacity >= nl_codec_bound(codec, in.length));
    level = level_or_default(codec, level);
    switch (codec) {
    case NL_CODEC_NONE:
        if (in.length > 0) memcpy(out, in.data, in.length);
        *out_length = in.length;
        return NULL;
    case NL_CODEC_ZSTD:
        return compress_zstd(context, level, in, out, capacity, out_length);
    case NL_CODEC_GZIP:
    case NL_CODEC_DEFLATE:
    case NL_CODEC_ZLIB:
        return compress_deflate(context, codec, level, in, out, capacity, out_length);
    case NL_CODEC_SNAPPY:
        *out_length = capacity;
        return snappy_compress((const char *)in.data, in.length, (char *)out, out_length) == SNAPPY_OK ? NULL : refused(codec, level);
    case NL_CODEC_LZ4_RAW: {
        if (in.length > LZ4_MAX_INPUT_SIZE) return refused(codec, level);
        const int room = (int)NL_MIN(capacity, (size_t)INT32_MAX);
        const int done = LZ4_compress_default((const char *)in.data, (char *)out, (int)in.length, room);
        *out_length = done > 0 ? (size_t)done : 0;
        return done > 0 ? NULL : refused(codec, level);
    }
    case NL_CODEC_LZ4_HADOOP:
        return compress_hadoop(in, out, capacity, out_length) ? NULL : refused(codec, level);
    case NL_CODEC_LZ4_FRAME: {
        const LZ4F_preferences_t preferences = {.frameInfo = {.contentSize = in.length}};
        *out_length = LZ4F_compressFrame(out, capacity, in.data, in.length, &preferences);
        return LZ4F_isError(*out_length) ? refused(codec, level) : NULL;
    }
    case NL_CODEC_BROTLI: {
        *out_length = capacity;
        const BROTLI_BOOL ok = BrotliEncoderCompress(level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, in.length, in.data,
                                                     out_length, out);
        return ok ? NULL : refused(codec, level);
    }
    case NL_CODEC_COUNT:
        break;
    }
    return refused(codec, level);
}
