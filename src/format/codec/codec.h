/* format/codec/codec.h - the compression codecs that file formats share.
 *
 * A context keeps the libraries' own states for reuse and belongs to one thread at a time. Every decompressor is bounded
 * by the size its container announced; more or fewer bytes than announced are a failure, never a short result.
 * Damage is reported as a static text, since only the caller knows path, column and offset for NILAS_CORRUPT_FILE.
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/str.h"

typedef enum nl_codec {
    NL_CODEC_NONE,
    NL_CODEC_ZSTD,
    NL_CODEC_GZIP,       /* gzip members, one or more; zlib streams are accepted when reading          */
    NL_CODEC_DEFLATE,    /* raw, without header: Avro                                                   */
    NL_CODEC_ZLIB,
    NL_CODEC_SNAPPY,     /* the raw format, without framing                                             */
    NL_CODEC_LZ4_RAW,    /* one LZ4 block                                                               */
    NL_CODEC_LZ4_HADOOP, /* big-endian sizes before each block; raw blocks and frames are accepted too  */
    NL_CODEC_LZ4_FRAME,  /* Puffin                                                                      */
    NL_CODEC_BROTLI,
    NL_CODEC_COUNT
} nl_codec;

#define NL_CODEC_LEVEL_DEFAULT INT32_MIN /* zstd 3, gzip, zlib and deflate 6, brotli 1; others have no levels */

typedef struct nl_codec_context nl_codec_context;
nl_codec_context *nl_codec_context_new(nl_memory *memory); /* owned; memory is counted, NULL: charged to nobody */
void nl_codec_context_free(nl_codec_context *context);     /* NULL is fine */

const char *nl_codec_name(nl_codec codec); /* "zstd"; static */

/* Decompresses exactly out_length bytes into `out`. Returns NULL, or what is wrong (static). */
NL_MUST_USE const char *nl_codec_decompress(nl_codec_context *context, nl_codec codec, nl_bytes in, uint8_t *out, size_t out_length);

/* For containers that do not announce the size: grows up to length_max. *out: counted; size_bytes is what came out.
 * *problem: NULL, or what is wrong (static; *out is then untouched). Fails only for memory. */
NL_MUST_USE nl_status nl_codec_decompress_grow(nl_codec_context *context, nl_codec codec, nl_bytes in, size_t length_max,
                                               nl_memory *memory, nl_buffer **out, const char **problem);

/* The same with a first guess of the size; 0: none. A good guess saves attempts. */
NL_MUST_USE nl_status nl_codec_decompress_guess(nl_codec_context *context, nl_codec codec, nl_bytes in, size_t length_guess, size_t length_max,
                                                nl_memory *memory, nl_buffer **out, const char **problem);

/* Room that compressing `length` bytes may need at most. */
size_t nl_codec_bound(nl_codec codec, size_t length);
/* Fails: UNABLE_TO_ACQUIRE_MEMORY; NILAS_ILLEGAL_ARGUMENT when the library refuses the level. capacity >= bound. */
NL_MUST_USE nl_status nl_codec_compress(nl_codec_context *context, nl_codec codec, int32_t level, nl_bytes in, uint8_t *out,
                                        size_t capacity, size_t *out_length);
