/* format/orc/stream.h - the bytes of one stream of a stripe: fetched block by block, decompressed chunk by chunk.
 *
 * A stream remembers its first failure, so that decoders read straight through and ask once (nl_orc_stream_status). After
 * a failure every read yields zeros. Threads: a stream belongs to one at a time.
 */
#pragma once

#include "format/codec/codec.h"
#include "storage/filesystem.h"

/* What all streams of a file share. Borrowed by them. */
typedef struct nl_orc_store {
    nl_file *file;
    nl_memory *memory;
    nl_codec_context *codecs;
    nl_codec codec;      /* of the file; NONE: no chunks either */
    uint32_t chunk_max;  /* no chunk is larger when decompressed */
    uint64_t fetch_bytes;
} nl_orc_store;

typedef struct nl_orc_stream {
    nl_orc_store *store;
    uint64_t offset, length;       /* in the file */
    nl_str column;                 /* for messages; borrowed */
    uint64_t next;                 /* first byte of the stream that is not fetched */
    nl_buffer *stored;             /* fetched bytes: up to `next` */
    size_t stored_at;
    nl_buffer *chunk;              /* decompressed; NULL: the plain bytes lie in `stored` */
    const uint8_t *plain;
    size_t plain_at, plain_length;
    uint64_t chunk_start;          /* where the chunk's header lies in the stream */
    nl_status error;               /* owned */
} nl_orc_stream;

/* The stream need not exist: length 0. */
void nl_orc_stream_init(nl_orc_stream *stream, nl_orc_store *store, uint64_t offset, uint64_t length, nl_str column);
void nl_orc_stream_fini(nl_orc_stream *stream);
/* Hands the failure over; NULL: none so far. */
NL_MUST_USE nl_status nl_orc_stream_status(nl_orc_stream *stream);
void nl_orc_stream_fail(nl_orc_stream *stream, const char *problem); /* unless it has failed already */

bool nl_orc_stream_fill(nl_orc_stream *stream); /* at least one plain byte; false: the end (no failure), or a failure */
bool nl_orc_stream_is_at_end(nl_orc_stream *stream);
/* Exactly `length` plain bytes; fails when the stream ends before. */
void nl_orc_stream_read(nl_orc_stream *stream, void *into, size_t length);
void nl_orc_stream_skip(nl_orc_stream *stream, uint64_t length);
static inline uint8_t nl_orc_stream_u8(nl_orc_stream *stream)
{
    uint8_t byte = 0;
    if (stream->plain_at < stream->plain_length) return stream->plain[stream->plain_at++];
    nl_orc_stream_read(stream, &byte, 1);
    return byte;
}
uint64_t nl_orc_stream_uvarint(nl_orc_stream *stream); /* at most 64 bits */
/* To a place of a row index: where a chunk starts in the stream and a byte of it decompressed; without codec the first is 0. */
void nl_orc_stream_seek(nl_orc_stream *stream, uint64_t chunk_start, uint64_t plain_offset);

/* A whole section (metadata, footers, indexes) decompressed. *plain: counted. */
NL_MUST_USE nl_status nl_orc_section_read(nl_orc_store *store, uint64_t offset, uint64_t length, nl_buffer **plain);
/* The same where its stored bytes are there already. bytes_max: of the result. */
NL_MUST_USE nl_status nl_orc_section_unpack(nl_orc_store *store, nl_bytes stored, uint64_t file_offset, nl_buffer **plain);
NL_MUST_USE nl_status nl_orc_corrupt(nl_str path, uint64_t offset, nl_str column, const char *format, ...) __attribute__((format(printf, 4, 5)));
