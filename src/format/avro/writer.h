/* format/avro/writer.h - writing Avro object container files: record by record, or from batches (encode.c).
 *
 * Records are encoded into the present block, which is compressed and written when it is full. Threads: a writer belongs
 * to one at a time.
 */
#pragma once

#include "column/batch.h"
#include "format/avro/schema.h"
#include "format/codec/codec.h"
#include "storage/filesystem.h"

/* Where bytes are encoded to. Memory is charged; after a refusal puts do nothing and the row fails at its end. */
typedef struct nl_avro_sink {
    uint8_t *data;
    size_t length;
    size_t capacity;
    nl_memory *memory; /* counted by the writer */
    bool has_failed;
} nl_avro_sink;
bool nl_avro_sink_reserve(nl_avro_sink *sink, size_t more_bytes);
void nl_avro_sink_fini(nl_avro_sink *sink);

static inline void nl_avro_put_long(nl_avro_sink *sink, int64_t value) /* INT, LONG, counts and lengths: zigzag varint */
{
    if (sink->capacity - sink->length < 10 && !nl_avro_sink_reserve(sink, 10)) return;
    uint64_t bits = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    while (bits >= 0x80) {
        sink->data[sink->length++] = (uint8_t)(bits | 0x80);
        bits >>= 7;
    }
    sink->data[sink->length++] = (uint8_t)bits;
}
static inline void nl_avro_put_raw(nl_avro_sink *sink, const void *bytes, size_t length) /* FIXED and the like */
{
    if (sink->capacity - sink->length < length && !nl_avro_sink_reserve(sink, length)) return;
    if (length) memcpy(sink->data + sink->length, bytes, length);
    sink->length += length;
}
static inline void nl_avro_put_bytes(nl_avro_sink *sink, const void *bytes, size_t length) /* BYTES, STRING */
{
    nl_avro_put_long(sink, (int64_t)length);
    nl_avro_put_raw(sink, bytes, length);
}
static inline void nl_avro_put_bool(nl_avro_sink *sink, bool value)
{
    const uint8_t byte = value;
    nl_avro_put_raw(sink, &byte, 1);
}
void nl_avro_put_float(nl_avro_sink *sink, float value);
void nl_avro_put_double(nl_avro_sink *sink, double value);

typedef struct nl_avro_pair { /* of the file's metadata map */
    nl_str key;
    nl_str value;
} nl_avro_pair;

typedef struct nl_avro_write_options {
    nl_str schema;               /* JSON, written as it is */
    const nl_avro_pair *metadata; /* besides avro.schema and avro.codec; copied */
    uint32_t metadata_count;
    nl_codec codec;              /* NONE, DEFLATE, SNAPPY, ZSTD */
    int32_t level;               /* NL_CODEC_LEVEL_DEFAULT */
    size_t block_bytes;          /* 0: 64 KiB, as Java's */
} nl_avro_write_options;

typedef struct nl_avro_writer nl_avro_writer;
/* output: taken, also on failure. memory: counted. *writer: owned. */
NL_MUST_USE nl_status nl_avro_writer_create(nl_output *output, const nl_avro_write_options *options, nl_memory *memory, nl_avro_writer **writer);
nl_avro_sink *nl_avro_writer_sink(nl_avro_writer *writer); /* for one record's bytes; borrowed */
NL_MUST_USE nl_status nl_avro_writer_end_row(nl_avro_writer *writer);
/* The batch's live rows; columns are the fields of `type` in order and become the record's fields of the same position.
 * Fails: a null where the schema has no union; types that do not fit. */
NL_MUST_USE nl_status nl_avro_writer_append(nl_avro_writer *writer, const nl_type *type, const nl_batch *batch);
uint64_t nl_avro_writer_rows(const nl_avro_writer *writer);
uint64_t nl_avro_writer_bytes(const nl_avro_writer *writer); /* the file's so far, with the open block uncompressed */
size_t nl_avro_writer_memory(const nl_avro_writer *writer);  /* buffered now */
/* Writes what is left and publishes the file; *bytes (may be NULL) is its size. Takes writer, also on failure. */
NL_MUST_USE nl_status nl_avro_writer_close(nl_avro_writer *writer, uint64_t *bytes);
void nl_avro_writer_abort(nl_avro_writer *writer); /* nothing stays behind; NULL is fine */
/* "gzip"/"deflate", "zstd", "snappy", "uncompressed"/"null" in any case: values of write.avro.compression-codec. */
NL_MUST_USE nl_status nl_avro_codec_find(nl_str name, nl_codec *codec);
