/* format/avro/writer.c - see writer.h (Avro specification, "Object Container Files"). */
#include "format/avro/writer.h"

#include "base/hash.h"
#include "base/uuid.h"
#include "format/avro/encode.h"

#include <stdlib.h>

#define BLOCK_BYTES_DEFAULT (64u << 10)
#define SYNC_BYTES          16u

struct nl_avro_writer {
    nl_output *output; /* owned */
    nl_memory *memory; /* counted; may be NULL */
    nl_arena *arena;   /* the parsed schema */
    nl_codec_context *codecs;
    nl_codec codec;
    int32_t level;
    size_t block_bytes;
    nl_avro_sink sink; /* the open block */
    nl_buffer *packed; /* room for a compressed block */
    uint64_t block_rows;
    uint64_t row_count;
    const nl_avro_type *schema;
    nl_avro_encoder *encoder; /* in the arena; made with the first batch */
    const nl_type *encoder_type;
    uint8_t sync[SYNC_BYTES];
};

bool nl_avro_sink_reserve(nl_avro_sink *sink, size_t more_bytes)
{
    if (sink->has_failed) return false;
    const size_t needed = nl_size_add(sink->length, more_bytes);
    size_t capacity = NL_MAX(sink->capacity, 256);
    while (capacity < needed)
        capacity = nl_size_mul(capacity, 2);
    if (capacity == sink->capacity) return true;
    if (capacity == SIZE_MAX || !nl_memory_try_charge(sink->memory, capacity - sink->capacity)) {
        sink->has_failed = true;
        return false;
    }
    uint8_t *data = realloc(sink->data, capacity);
    if (!data) {
        nl_memory_discharge(sink->memory, capacity - sink->capacity);
        sink->has_failed = true;
        return false;
    }
    sink->data = data;
    sink->capacity = capacity;
    return true;
}

void nl_avro_sink_fini(nl_avro_sink *sink)
{
    free(sink->data);
    if (sink->memory) nl_memory_discharge(sink->memory, sink->capacity);
    *sink = (nl_avro_sink){0};
}

static void put_little_endian(nl_avro_sink *sink, uint64_t bits, size_t length)
{
    uint8_t bytes[8];
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(bits >> (8 * i));
    nl_avro_put_raw(sink, bytes, length);
}

void nl_avro_put_float(nl_avro_sink *sink, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_little_endian(sink, bits, 4);
}

void nl_avro_put_double(nl_avro_sink *sink, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    put_little_endian(sink, bits, 8);
}

static const char *codec_name(nl_codec codec)
{
    switch ((int)codec) {
    case NL_CODEC_DEFLATE: return "deflate";
    case NL_CODEC_SNAPPY: return "snappy";
    case NL_CODEC_ZSTD: return "zstandard";
    default: return "null";
    }
}

nl_status nl_avro_codec_find(nl_str name, nl_codec *codec)
{
    static const struct {
        const char *name;
        nl_codec codec;
    } rows[] = {{"gzip", NL_CODEC_DEFLATE}, {"deflate", NL_CODEC_DEFLATE}, {"zstd", NL_CODEC_ZSTD}, {"zstandard", NL_CODEC_ZSTD},
                {"snappy", NL_CODEC_SNAPPY}, {"uncompressed", NL_CODEC_NONE}, {"none", NL_CODEC_NONE}, {"null", NL_CODEC_NONE}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        if (!nl_str_is_nocase(name, rows[i].name)) continue;
        *codec = rows[i].codec;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unsupported compression codec: " NL_STR_FMT, NL_STR_ARG(name));
}

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

static nl_status write_header(nl_avro_writer *writer, const nl_avro_write_options *options)
{
    nl_avro_sink *sink = &writer->sink;
    const char *codec = codec_name(options->codec);
    nl_random_bytes(writer->sync, SYNC_BYTES);
    nl_avro_put_raw(sink, "Obj\x01", 4);
    nl_avro_put_long(sink, (int64_t)options->metadata_count + 2);
    nl_avro_put_bytes(sink, "avro.schema", 11);
    nl_avro_put_bytes(sink, options->schema.data, options->schema.length);
    nl_avro_put_bytes(sink, "avro.codec", 10);
    nl_avro_put_bytes(sink, codec, strlen(codec));
    for (uint32_t i = 0; i < options->metadata_count; i++) {
        nl_avro_put_bytes(sink, options->metadata[i].key.data, options->metadata[i].key.length);
        nl_avro_put_bytes(sink, options->metadata[i].value.data, options->metadata[i].value.length);
    }
    nl_avro_put_long(sink, 0);
    nl_avro_put_raw(sink, writer->sync, SYNC_BYTES);
    if (sink->has_failed) return no_memory(options->schema.length);
    nl_status status = nl_output_write(writer->output, sink->data, sink->length);
    sink->length = 0;
    return status;
}

static void free_writer(nl_avro_writer *writer)
{
    nl_memory *memory = writer->memory;
    nl_avro_sink_fini(&writer->sink);
    nl_buffer_release(writer->packed);
    nl_codec_context_free(writer->codecs);
    nl_arena_free(writer->arena);
    if (memory) nl_memory_release(memory);
}

nl_status nl_avro_writer_create(nl_output *output, const nl_avro_write_options *options, nl_memory *memory, nl_avro_writer **writer)
{
    nl_arena *arena = nl_arena_new(memory);
    nl_avro_writer *made = NL_NEW(arena, nl_avro_writer);
    made->arena = arena;
    made->output = output;
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->codecs = nl_codec_context_new(memory);
    made->codec = options->codec;
    made->level = options->level;
    made->block_bytes = options->block_bytes ? options->block_bytes : BLOCK_BYTES_DEFAULT;
    made->sink.memory = memory;
    nl_status status = nl_avro_schema_parse(arena, options->schema, NL_STR("the file to be written"), &made->schema);
    if (!status && made->schema->kind != NL_AVRO_RECORD) status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "An Avro file to be written needs a record schema");
    if (!status) status = write_header(made, options);
    if (status) {
        nl_avro_writer_abort(made);
        return status;
    }
    *writer = made;
    return NULL;
}

nl_avro_sink *nl_avro_writer_sink(nl_avro_writer *writer)
{
    return &writer->sink;
}

static nl_status compress(nl_avro_writer *writer, nl_bytes *stored)
{
    const nl_bytes plain = {writer->sink.data, writer->sink.length};
    *stored = plain;
    if (writer->codec == NL_CODEC_NONE) return NULL;
    const size_t room = nl_size_add(nl_codec_bound(writer->codec, plain.length), 4);
    if (!writer->packed || writer->packed->size_bytes < room) {
        nl_buffer_release(writer->packed);
        writer->packed = NULL;
        NL_TRY(nl_buffer_new(writer->memory, room, false, &writer->packed));
    }
    size_t length = 0;
    NL_TRY(nl_codec_compress(writer->codecs, writer->codec, writer->level, plain, writer->packed->data, room - 4, &length));
    if (writer->codec == NL_CODEC_SNAPPY) { /* the CRC-32 of the plain bytes follows, big-endian */
        const uint32_t crc = nl_crc32(plain.data, plain.length, 0);
        for (int i = 0; i < 4; i++)
            writer->packed->data[length++] = (uint8_t)(crc >> (24 - 8 * i));
    }
    *stored = (nl_bytes){writer->packed->data, length};
    return NULL;
}

static nl_status flush_block(nl_avro_writer *writer)
{
    if (writer->block_rows == 0) return NULL;
    nl_bytes stored;
    NL_TRY(compress(writer, &stored));
    uint8_t head[20];
    nl_avro_sink head_sink = {.data = head, .capacity = sizeof(head)};
    nl_avro_put_long(&head_sink, (int64_t)writer->block_rows);
    nl_avro_put_long(&head_sink, (int64_t)stored.length);
    NL_TRY(nl_output_write(writer->output, head, head_sink.length));
    NL_TRY(nl_output_write(writer->output, stored.data, stored.length));
    NL_TRY(nl_output_write(writer->output, writer->sync, SYNC_BYTES));
    writer->sink.length = 0;
    writer->block_rows = 0;
    return NULL;
}

nl_status nl_avro_writer_end_row(nl_avro_writer *writer)
{
    if (writer->sink.has_failed) return no_memory(writer->sink.capacity);
    writer->block_rows++;
    writer->row_count++;
    return writer->sink.length >= writer->block_bytes ? flush_block(writer) : NULL;
}

nl_status nl_avro_writer_append(nl_avro_writer *writer, const nl_type *type, const nl_batch *batch)
{
    if (!writer->encoder || writer->encoder_type != type) {
        NL_TRY(nl_avro_encoder_new(writer->arena, writer->schema, type, &writer->encoder));
        writer->encoder_type = type;
    }
    const nl_selection selection = nl_batch_selection(batch);
    NL_TRY(nl_avro_encoder_begin(writer->encoder, batch, writer->memory));
    nl_status status = NULL;
    for (uint32_t i = 0; i < selection.count && !status; i++) {
        status = nl_avro_encoder_row(writer->encoder, nl_selection_row(selection, i), &writer->sink);
        if (!status) status = nl_avro_writer_end_row(writer);
    }
    nl_avro_encoder_end(writer->encoder);
    return status;
}

uint64_t nl_avro_writer_rows(const nl_avro_writer *writer)
{
    return writer->row_count;
}

uint64_t nl_avro_writer_bytes(const nl_avro_writer *writer)
{
    return nl_output_position(writer->output) + writer->sink.length;
}

size_t nl_avro_writer_memory(const nl_avro_writer *writer)
{
    return writer->sink.capacity + (writer->packed ? writer->packed->size_bytes : 0);
}

nl_status nl_avro_writer_close(nl_avro_writer *writer, uint64_t *bytes)
{
    nl_status status = flush_block(writer);
    if (status) {
        nl_avro_writer_abort(writer);
        return status;
    }
    const uint64_t position = nl_output_position(writer->output);
    status = nl_output_close(writer->output);
    free_writer(writer);
    if (!status && bytes) *bytes = position;
    return status;
}

void nl_avro_writer_abort(nl_avro_writer *writer)
{
    if (!writer) return;
    nl_output_abort(writer->output);
    free_writer(writer);
}
