/* format/orc/out.h - the streams of a stripe while they are written: bytes packed chunk by chunk, and ORC's run-length
 * encodings in front of them. Everything waits in memory, charged, until the stripe is written.
 */
#pragma once

#include "format/codec/codec.h"
#include "format/parquet/bytes_out.h"

/* How chunks are made; shared by a writer's streams. */
typedef struct nl_orc_packer {
    nl_codec codec;
    int32_t level;
    uint32_t chunk_bytes;
    nl_codec_context *codecs; /* borrowed */
    nl_memory *memory;        /* borrowed */
} nl_orc_packer;

typedef struct nl_orc_out {
    const nl_orc_packer *packer;
    nl_bytes_out plain;  /* of the present chunk; without codec: of the whole stream */
    nl_bytes_out packed; /* finished chunks */
} nl_orc_out;

void nl_orc_out_init(nl_orc_out *out, const nl_orc_packer *packer);
void nl_orc_out_fini(nl_orc_out *out);
NL_MUST_USE nl_status nl_orc_out_put(nl_orc_out *out, const void *bytes, size_t length);
NL_MUST_USE nl_status nl_orc_out_finish(nl_orc_out *out); /* the last chunk */
nl_bytes nl_orc_out_bytes(const nl_orc_out *out);         /* of a finished one; borrowed */
size_t nl_orc_out_size(const nl_orc_out *out);            /* that it has now, about */
void nl_orc_out_clear(nl_orc_out *out);                   /* for the next stripe */

#define NL_ORC_PLACES_MAX 8u
typedef struct nl_orc_places { /* positions of a row index entry */
    uint64_t items[NL_ORC_PLACES_MAX];
    uint32_t count;
} nl_orc_places;
void nl_orc_out_place(const nl_orc_out *out, nl_orc_places *places);

#define NL_ORC_ENCODED_MAX 512u

typedef struct nl_orc_byte_writer {
    nl_orc_out *out; /* borrowed */
    uint8_t values[NL_ORC_ENCODED_MAX];
    uint32_t count;
} nl_orc_byte_writer;
NL_MUST_USE nl_status nl_orc_byte_writer_put(nl_orc_byte_writer *writer, uint8_t value);
NL_MUST_USE nl_status nl_orc_byte_writer_flush(nl_orc_byte_writer *writer);
NL_MUST_USE nl_status nl_orc_byte_writer_place(nl_orc_byte_writer *writer, nl_orc_places *places); /* flushes: runs begin here */

typedef struct nl_orc_bit_writer {
    nl_orc_byte_writer bytes;
    uint8_t byte;
    uint32_t count; /* bits of byte */
} nl_orc_bit_writer;
NL_MUST_USE nl_status nl_orc_bit_writer_put(nl_orc_bit_writer *writer, bool value);
NL_MUST_USE nl_status nl_orc_bit_writer_flush(nl_orc_bit_writer *writer); /* at the end of the stream only */
NL_MUST_USE nl_status nl_orc_bit_writer_place(nl_orc_bit_writer *writer, nl_orc_places *places);

typedef struct nl_orc_int_writer { /* version 2 */
    nl_orc_out *out; /* borrowed */
    bool is_signed;
    int64_t values[NL_ORC_ENCODED_MAX];
    uint32_t count;
} nl_orc_int_writer;
NL_MUST_USE nl_status nl_orc_int_writer_put(nl_orc_int_writer *writer, int64_t value);
NL_MUST_USE nl_status nl_orc_int_writer_flush(nl_orc_int_writer *writer);
NL_MUST_USE nl_status nl_orc_int_writer_place(nl_orc_int_writer *writer, nl_orc_places *places);
