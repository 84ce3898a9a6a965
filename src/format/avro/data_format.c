/* format/avro/data_format.c - see data_format.h: the reader and the writer of Avro files behind the interface that all
 * formats of data files have. Every scan has the file open for itself: a window and a decompressor belong to one thread. */
#include "format/avro/data_format.h"

#include "base/number.h"
#include "format/avro/reader.h"
#include "format/avro/writer.h"

#include <stdlib.h>

/* ---- Reading ---- */

typedef struct part {
    uint64_t start, end; /* blocks that start here are the part's */
    uint64_t first_row;  /* known when positions are needed */
} part;

typedef struct avro_reader {
    nl_data_reader base;
    nl_arena *arena;
    nl_file *file;     /* borrowed */
    nl_memory *memory; /* borrowed */
    nl_data_read read;
    part *parts;
} avro_reader;

typedef struct avro_scan {
    nl_data_scan base;
    nl_avro_file *file;
    nl_avro_reader *reader;
    uint64_t first_row; /* of the part */
} avro_scan;

#define PARTS_MAX 65536u

static uint32_t part_capacity(const avro_reader *self)
{
    const uint64_t part_bytes = self->read.part_bytes;
    const uint64_t size = nl_file_size(self->file);
    return part_bytes == 0 || size <= part_bytes ? 1 : (uint32_t)NL_MIN(size / part_bytes + 1, PARTS_MAX);
}

/* Parts that start at blocks, with the rows before them counted: only the heads of blocks are looked at. */
static nl_status cut_at_blocks(avro_reader *self, uint32_t capacity)
{
    nl_avro_file *file = NULL;
    const uint64_t part_bytes = nl_file_size(self->file) / capacity;
    uint64_t row = 0;
    NL_TRY(nl_avro_file_open(self->file, self->memory, &file));
    nl_status status = NULL;
    for (;;) {
        nl_avro_head head;
        status = nl_avro_file_skip(file, &head);
        if (status || head.row_count == 0) break;
        const uint32_t count = self->base.part_count;
        if (count == 0 || (count < capacity && head.file_offset >= self->parts[count - 1].start + part_bytes)) {
            if (count > 0) self->parts[count - 1].end = head.file_offset;
            self->parts[count] = (part){.start = head.file_offset, .end = UINT64_MAX, .first_row = row};
            self->base.part_count++;
        }
        row += head.row_count;
    }
    nl_avro_file_close(file);
    return status;
}

static void cut_at_bytes(avro_reader *self, uint32_t capacity)
{
    const uint64_t part_bytes = nl_file_size(self->file) / capacity;
    for (uint32_t i = 0; i < capacity; i++)
        self->parts[i] = (part){.start = i * part_bytes, .end = i + 1 < capacity ? (i + 1) * part_bytes : UINT64_MAX};
    self->base.part_count = capacity;
}

static nl_status cut_parts(avro_reader *self)
{
    const uint32_t capacity = part_capacity(self);
    self->parts = NL_NEW_ARRAY(self->arena, part, capacity);
    nl_data_part *parts = NL_NEW_ARRAY(self->arena, nl_data_part, capacity);
    NL_TRY(nl_arena_check(self->arena));
    for (uint32_t i = 0; i < capacity; i++)
        parts[i].row_count = NL_DATA_ROWS_UNKNOWN;
    self->base.parts = parts;
    if (self->read.needs_positions && capacity > 1) return cut_at_blocks(self, capacity);
    cut_at_bytes(self, capacity);
    return NULL;
}

static void close_reader(nl_data_reader *base)
{
    nl_arena_free(NL_CONTAINER(base, avro_reader, base)->arena);
}

static nl_status open_reader(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_data_reader **reader)
{
    nl_arena *arena = nl_arena_new(memory);
    avro_reader *self = NL_NEW(arena, avro_reader);
    *self = (avro_reader){.base = {.format = &nl_avro_data_format}, .arena = arena, .file = file, .memory = memory, .read = *read};
    nl_status status = cut_parts(self);
    if (status) close_reader(&self->base);
    else *reader = &self->base;
    return status;
}

static void close_scan(nl_data_scan *base)
{
    avro_scan *self = NL_CONTAINER(base, avro_scan, base);
    nl_avro_reader_close(self->reader);
    nl_avro_file_close(self->file);
    free(self);
}

static nl_status prepare_scan(avro_scan *self, const avro_reader *reader, const part *of, nl_memory *memory)
{
    const nl_avro_read_options options = {
        .match = NL_AVRO_MATCH_FIELD_ID,
        .field_id_of = reader->read.field_id_of,
        .missing_value_of = reader->read.missing_value_of,
        .argument = reader->read.argument,
    };
    const uint64_t size = nl_file_size(reader->file);
    if (of->start < size && reader->base.part_count > 1) nl_file_prefetch(reader->file, &(nl_range){of->start, NL_MIN(of->end, size) - of->start}, 1);
    NL_TRY(nl_avro_file_open(reader->file, memory, &self->file));
    NL_TRY(nl_avro_file_restrict(self->file, of->start, of->end));
    self->first_row = of->first_row;
    return nl_avro_reader_open(self->file, reader->read.wanted, &options, memory, &self->reader);
}

static nl_status open_scan(nl_data_reader *base, uint32_t part_number, nl_memory *memory, nl_data_scan **scan)
{
    const avro_reader *reader = NL_CONTAINER(base, avro_reader, base);
    avro_scan *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    self->base.format = &nl_avro_data_format;
    nl_status status = prepare_scan(self, reader, &reader->parts[part_number], memory);
    if (status) close_scan(&self->base);
    else *scan = &self->base;
    return status;
}

static nl_status next_batch(nl_data_scan *base, nl_batch *batch, uint64_t *first_row)
{
    avro_scan *self = NL_CONTAINER(base, avro_scan, base);
    NL_TRY(nl_avro_reader_next(self->reader, batch, first_row));
    *first_row += self->first_row;
    return NULL;
}

static nl_status describe_file(nl_file *file, const nl_data_read *read, nl_memory *memory, nl_arena *arena, nl_written_file *written)
{
    nl_avro_file *avro = NULL;
    nl_avro_head head = {.row_count = 1};
    (void)read;
    (void)arena;
    written->file_bytes = nl_file_size(file);
    NL_TRY(nl_avro_file_open(file, memory, &avro));
    nl_status status = NULL;
    while (!status && head.row_count > 0) {
        status = nl_avro_file_skip(avro, &head);
        if (!status) written->row_count += head.row_count;
    }
    nl_avro_file_close(avro);
    return status;
}

/* ---- Writing ---- */

typedef struct avro_output {
    nl_data_output base;
    nl_avro_writer *writer;
    const nl_type *type; /* borrowed */
} avro_output;

static nl_status find_level(nl_codec codec, nl_str text, int32_t *level)
{
    int64_t number;
    *level = codec == NL_CODEC_DEFLATE ? 9 : codec == NL_CODEC_ZSTD ? 1 : NL_CODEC_LEVEL_DEFAULT; /* as Java's */
    if (text.length == 0) return NULL;
    const bool is_number = nl_parse_int64(text, &number);
    if (!is_number || (codec == NL_CODEC_DEFLATE && (number < 0 || number > 9)) || (codec == NL_CODEC_ZSTD && (number < -100 || number > 22)))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid compression level: " NL_STR_FMT, NL_STR_ARG(text));
    *level = (int32_t)number;
    return NULL;
}

static nl_status write_options(const nl_data_write *write, nl_avro_write_options *options)
{
    *options = (nl_avro_write_options){.schema = write->avro_schema, .codec = NL_CODEC_DEFLATE};
    if (write->codec.length) NL_TRY(nl_avro_codec_find(write->codec, &options->codec));
    return find_level(options->codec, write->codec_level, &options->level);
}

static nl_status create_output(nl_output *output, const nl_data_write *write, nl_memory *memory, nl_data_output **out)
{
    nl_avro_write_options options;
    nl_arena *arena = nl_arena_new(memory);
    avro_output *self = calloc(1, sizeof(*self));
    nl_avro_pair *pairs = NL_NEW_ARRAY(arena, nl_avro_pair, (size_t)write->metadata_count + 1);
    nl_status status = self ? write_options(write, &options) : NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    if (status) {
        nl_output_abort(output);
    } else {
        for (uint32_t i = 0; i < write->metadata_count; i++)
            pairs[i] = (nl_avro_pair){write->metadata[i].key, write->metadata[i].value};
        options.metadata = pairs;
        options.metadata_count = write->metadata_count;
        status = nl_avro_writer_create(output, &options, memory, &self->writer);
    }
    nl_arena_free(arena);
    if (status) {
        free(self);
        return status;
    }
    self->base.format = &nl_avro_data_format;
    self->type = write->type;
    *out = &self->base;
    return NULL;
}

static nl_status append_batch(nl_data_output *base, const nl_batch *batch)
{
    avro_output *self = NL_CONTAINER(base, avro_output, base);
    return nl_avro_writer_append(self->writer, self->type, batch);
}

static uint64_t output_bytes(const nl_data_output *base)
{
    return nl_avro_writer_bytes(((const avro_output *)(const void *)base)->writer);
}

static size_t output_memory(const nl_data_output *base)
{
    return nl_avro_writer_memory(((const avro_output *)(const void *)base)->writer);
}

static nl_status finish_output(nl_data_output *base, nl_arena *arena, nl_written_file *written)
{
    (void)arena;
    avro_output *self = NL_CONTAINER(base, avro_output, base);
    written->row_count = nl_avro_writer_rows(self->writer);
    nl_status status = nl_avro_writer_close(self->writer, &written->file_bytes);
    free(self);
    return status;
}

static void abort_output(nl_data_output *base)
{
    avro_output *self = NL_CONTAINER(base, avro_output, base);
    nl_avro_writer_abort(self->writer);
    free(self);
}

const nl_data_format nl_avro_data_format = {
    .name = "avro",
    .open = open_reader,
    .close = close_reader,
    .scan_open = open_scan,
    .scan_next = next_batch,
    .scan_close = close_scan,
    .describe = describe_file,
    .create = create_output,
    .append = append_batch,
    .bytes = output_bytes,
    .memory = output_memory,
    .finish = finish_output,
    .abort = abort_output,
};
