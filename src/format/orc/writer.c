/* format/orc/writer.c - see writer.h. Source: ORC specification v1, File Tail and Stripes; orc_proto.proto for field numbers. */
#include "format/orc/writer.h"

#include <stdlib.h>

#include "format/orc/column_out.h"
#include "format/orc/proto.h"
#include "format/orc/stripe.h"

#define STRIPE_BYTES_DEFAULT (64ull << 20)
#define STRIPE_BYTES_MIN     (1u << 20) /* short memory ends no smaller stripe */
#define STRIDE_DEFAULT       10000u
#define CHUNK_BYTES_MAX      (256u << 10)
#define WRITER_CODE          0u /* of Java's writer, whose layout this is: readers trust the same of it */
#define WRITER_VERSION       9u

typedef struct stripe_info {
    uint64_t offset, index_length, data_length, footer_length, row_count;
} stripe_info;

struct nl_orc_writer {
    nl_output *output; /* owned */
    nl_arena *arena;   /* owned */
    nl_memory *memory; /* counted */
    nl_codec_context *codecs;
    nl_orc_write_options options;
    nl_orc_out_context context;
    const nl_type *type;      /* borrowed */
    nl_orc_column_out root;
    nl_orc_column_out **columns; /* by id */
    uint32_t column_count;
    uint64_t row_count, stripe_rows;
    uint32_t group_rows;      /* of the present group; 0: none has begun */
    stripe_info *stripes;
    uint32_t stripe_count, stripe_room;
    nl_bytes_out stripe_statistics; /* StripeStatistics, each with its head */
    bool has_failed;
};

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

typedef struct codec_row {
    const char *name, *ending;
    nl_codec codec;
    uint32_t number; /* CompressionKind */
} codec_row;

static const codec_row codec_rows[] = {
    {"zlib", ".zlib", NL_CODEC_DEFLATE, 1}, {"snappy", ".snappy", NL_CODEC_SNAPPY, 2}, {"lz4", ".lz4", NL_CODEC_LZ4_RAW, 4},
    {"zstd", ".zstd", NL_CODEC_ZSTD, 5},    {"brotli", ".brotli", NL_CODEC_BROTLI, 6}, {"none", "", NL_CODEC_NONE, 0},
    {"uncompressed", "", NL_CODEC_NONE, 0},
};

nl_status nl_orc_codec_find(nl_str name, nl_codec *codec)
{
    for (uint32_t i = 0; i < NL_COUNT(codec_rows); i++) {
        if (!nl_str_is_nocase(name, codec_rows[i].name)) continue;
        *codec = codec_rows[i].codec;
        return NULL;
    }
    return NL_RAISE(CODEC_NOT_AVAILABLE__WITH_AVAILABLE_CODECS_SUGGESTION, NL_P_STR("codecName", name), NL_P("availableCodecs", "brotli, uncompressed, lz4, snappy, zlib, none, zstd"));
}

/* True recursion: types have a limited depth. */
static bool is_storable(const nl_type *type)
{
    if (type->id == NL_TYPE_NULL || type->id == NL_TYPE_VARIANT || type->id == NL_TYPE_INTERVAL) return false;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (!is_storable(type->children[i].type)) return false;
    return true;
}

nl_status nl_orc_check_type(const nl_type *struct_type)
{
    for (uint32_t i = 0; i < struct_type->child_count; i++) {
        const nl_field *field = &struct_type->children[i];
        if (is_storable(field->type)) continue;
        nl_arena *arena = nl_arena_new(NULL);
        nl_status status = NL_RAISE(UNSUPPORTED_DATA_TYPE_FOR_DATASOURCE, NL_P("format", "ORC"), NL_P_STR("columnName", nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name))),
                                    NL_P_STR("columnType", nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(arena, field->type)))));
        nl_arena_free(arena);
        return status;
    }
    return NULL;
}

static const codec_row *row_of(nl_codec codec)
{
    uint32_t i = 0;
    while (i + 1 < NL_COUNT(codec_rows) && codec_rows[i].codec != codec) i++;
    return &codec_rows[i];
}

const char *nl_orc_codec_ending(nl_codec codec)
{
    return row_of(codec)->ending;
}

/* ---- making ---- */

/* Many columns get smaller chunks, for every stream holds one: as Java's writer chooses. */
static uint32_t chunk_bytes_for(uint64_t stripe_bytes, uint32_t column_count)
{
    const uint64_t wanted = stripe_bytes / (20ull * column_count);
    uint32_t bytes = 4u << 10;
    while (bytes < CHUNK_BYTES_MAX && bytes < wanted) bytes *= 2;
    return bytes;
}

static uint32_t count_columns(const nl_type *type)
{
    uint32_t count = 1;
    for (uint32_t i = 0; i < type->child_count; i++) count += count_columns(type->children[i].type);
    return count;
}

static void collect(nl_orc_writer *writer, nl_orc_column_out *column)
{
    writer->columns[column->id] = column;
    for (uint32_t i = 0; i < column->child_count; i++) collect(writer, &column->children[i]);
}

static nl_status start(nl_orc_writer *writer)
{
    const nl_field root = {.type = writer->type};
    uint32_t next_id = 0;
    writer->column_count = count_columns(writer->type);
    writer->codecs = nl_codec_context_new(writer->memory);
    writer->context = (nl_orc_out_context){
        .packer = {.codec = writer->options.codec, .level = writer->options.level, .chunk_bytes = chunk_bytes_for(writer->options.stripe_bytes, writer->column_count),
                   .codecs = writer->codecs, .memory = writer->memory},
        .is_iceberg = writer->options.is_iceberg,
        .zone = writer->options.zone,
        .stored = writer->options.columns,
        .stored_count = writer->options.column_count,
    };
    nl_bytes_out_init(&writer->stripe_statistics, writer->memory);
    NL_TRY(nl_orc_column_out_init(&writer->root, &writer->context, &root, (nl_str){0}, false, writer->arena, &next_id));
    writer->root.is_nullable = true;
    writer->columns = NL_NEW_ARRAY(writer->arena, nl_orc_column_out *, (size_t)writer->column_count + 1);
    NL_TRY(nl_arena_check(writer->arena));
    collect(writer, &writer->root);
    return nl_output_write(writer->output, "ORC", 3);
}

nl_status nl_orc_writer_create(nl_output *output, const nl_type *type, const nl_orc_write_options *options, nl_memory *memory, nl_orc_writer **writer)
{
    nl_orc_writer *made = calloc(1, sizeof(*made));
    if (!made) {
        nl_output_abort(output);
        return out_of_memory(sizeof(*made));
    }
    made->output = output;
    made->arena = nl_arena_new(memory);
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    made->options = *options;
    if (made->options.level == 0) made->options.level = NL_CODEC_LEVEL_DEFAULT;
    if (made->options.stripe_bytes == 0) made->options.stripe_bytes = STRIPE_BYTES_DEFAULT;
    if (made->options.row_index_stride == 0) made->options.row_index_stride = STRIDE_DEFAULT;
    if (!made->options.zone) made->options.zone = nl_timezone_utc();
    made->type = type;
    nl_status status = start(made);
    if (status) nl_orc_writer_abort(made);
    else *writer = made;
    return status;
}

static void free_writer(nl_orc_writer *writer)
{
    nl_orc_column_out_fini(&writer->root);
    nl_bytes_out_fini(&writer->stripe_statistics);
    nl_codec_context_free(writer->codecs);
    free(writer->stripes);
    nl_arena_free(writer->arena);
    if (writer->memory) nl_memory_release(writer->memory);
    free(writer);
}

void nl_orc_writer_abort(nl_orc_writer *writer)
{
    if (!writer) return;
    nl_output_abort(writer->output);
    free_writer(writer);
}

/* ---- sections ---- */

/* Packs and writes a section of its own: an index, a footer. *length: of what is written. */
static nl_status write_section(nl_orc_writer *writer, const nl_bytes_out *plain, uint64_t *length)
{
    nl_orc_out out;
    nl_orc_out_init(&out, &writer->context.packer);
    nl_status status = nl_orc_out_put(&out, plain->data, plain->length);
    if (!status) status = nl_orc_out_finish(&out);
    const nl_bytes bytes = nl_orc_out_bytes(&out);
    if (!status && bytes.length > 0) status = nl_output_write(writer->output, bytes.data, bytes.length);
    *length = bytes.length;
    nl_orc_out_fini(&out);
    return status;
}

static nl_status put_message(nl_bytes_out *out, uint32_t number, nl_status (*write)(const void *of, nl_bytes_out *part), const void *of)
{
    nl_bytes_out part;
    nl_bytes_out_init(&part, out->memory);
    nl_status status = write(of, &part);
    if (!status) status = nl_proto_put_bytes(out, number, part.data, part.length);
    nl_bytes_out_fini(&part);
    return status;
}

typedef struct entry_of { /* of a row index */
    const nl_orc_column_out *column;
    const nl_orc_group *group;
} entry_of;

static nl_status write_entry(const void *of, nl_bytes_out *out)
{
    const entry_of *entry = of;
    const nl_orc_places *parts[] = {entry->column->has_null ? &entry->group->present : NULL, &entry->group->values};
    nl_bytes_out packed;
    nl_bytes_out_init(&packed, out->memory);
    nl_status status = NULL;
    for (uint32_t i = 0; i < NL_COUNT(parts); i++)
        for (uint32_t k = 0; !status && parts[i] && k < parts[i]->count; k++) status = nl_proto_put_varint(&packed, parts[i]->items[k]);
    if (!status && packed.length > 0) status = nl_proto_put_bytes(out, 1, packed.data, packed.length);
    if (!status) status = nl_proto_put_bytes(out, 2, entry->group->statistics.data, entry->group->statistics.length);
    nl_bytes_out_fini(&packed);
    return status;
}

static nl_status write_index(nl_orc_writer *writer, const nl_orc_column_out *column, uint64_t *length)
{
    nl_bytes_out index;
    nl_bytes_out_init(&index, writer->memory);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < column->group_count; i++) {
        const entry_of entry = {column, &column->groups[i]};
        status = put_message(&index, 1, write_entry, &entry);
    }
    if (!status) status = write_section(writer, &index, length);
    nl_bytes_out_fini(&index);
    return status;
}

static nl_status put_stream(nl_bytes_out *footer, nl_orc_stream_kind kind, uint32_t column, uint64_t length)
{
    nl_bytes_out part;
    nl_bytes_out_init(&part, footer->memory);
    nl_status status = nl_proto_put_number(&part, 1, kind);
    if (!status) status = nl_proto_put_number(&part, 2, column);
    if (!status) status = nl_proto_put_number(&part, 3, length);
    if (!status) status = nl_proto_put_bytes(footer, 1, part.data, part.length);
    nl_bytes_out_fini(&part);
    return status;
}

static nl_status write_stream(nl_orc_writer *writer, nl_orc_column_out *column, nl_orc_stream_kind kind, const nl_orc_out *stream, nl_bytes_out *footer, uint64_t *disk_bytes)
{
    const nl_bytes bytes = nl_orc_out_bytes(stream);
    if (bytes.length > 0) NL_TRY(nl_output_write(writer->output, bytes.data, bytes.length));
    *disk_bytes += bytes.length;
    return put_stream(footer, kind, column->id, bytes.length);
}

/* PRESENT only of a column with nulls; DATA, LENGTH and SECONDARY of the kinds that have them, also when they are empty. */
static nl_status write_streams(nl_orc_writer *writer, nl_orc_column_out *column, nl_bytes_out *footer, uint64_t *disk_bytes)
{
    const nl_orc_kind kind = column->kind;
    const bool is_list = kind == NL_ORC_LIST || kind == NL_ORC_MAP;
    const bool has_dictionary = nl_orc_column_out_has_dictionary(column);
    if (column->has_null) NL_TRY(write_stream(writer, column, NL_ORC_PRESENT, &column->present, footer, disk_bytes));
    if (!is_list && kind != NL_ORC_STRUCT) NL_TRY(write_stream(writer, column, NL_ORC_DATA, &column->data, footer, disk_bytes));
    if (is_list || kind == NL_ORC_STRING || kind == NL_ORC_BINARY) NL_TRY(write_stream(writer, column, NL_ORC_LENGTH, &column->second, footer, disk_bytes));
    if (has_dictionary) NL_TRY(write_stream(writer, column, NL_ORC_DICTIONARY_DATA, &column->dictionary, footer, disk_bytes));
    const bool has_second = kind == NL_ORC_DECIMAL || kind == NL_ORC_TIMESTAMP || kind == NL_ORC_TIMESTAMP_INSTANT;
    return has_second ? write_stream(writer, column, NL_ORC_SECONDARY, &column->second, footer, disk_bytes) : NULL;
}

static nl_status put_encoding(nl_bytes_out *footer, const nl_orc_column_out *column)
{
    const bool has_dictionary = nl_orc_column_out_has_dictionary(column);
    const bool is_plain = !column->numbers && !column->seconds; /* nothing in it depends on the encoding's version */
    nl_bytes_out part;
    nl_bytes_out_init(&part, footer->memory);
    nl_status status = nl_proto_put_number(&part, 1, has_dictionary ? NL_ORC_DICTIONARY_V2 : is_plain ? NL_ORC_DIRECT : NL_ORC_DIRECT_V2);
    if (!status && has_dictionary) status = nl_proto_put_number(&part, 2, nl_orc_column_out_dictionary_size(column));
    if (!status) status = nl_proto_put_bytes(footer, 2, part.data, part.length);
    nl_bytes_out_fini(&part);
    return status;
}

static nl_status put_tally(nl_bytes_out *out, uint32_t number, const nl_orc_tally *tally, uint64_t disk_bytes)
{
    nl_bytes_out part;
    nl_bytes_out_init(&part, out->memory);
    nl_status status = nl_orc_tally_write(tally, disk_bytes, &part);
    if (!status) status = nl_proto_put_bytes(out, number, part.data, part.length);
    nl_bytes_out_fini(&part);
    return status;
}

/* ---- stripes ---- */

static nl_status end_group(nl_orc_writer *writer)
{
    if (writer->group_rows == 0) return NULL;
    writer->group_rows = 0;
    return nl_orc_column_out_end_group(&writer->root);
}

static nl_status write_parts(nl_orc_writer *writer, stripe_info *info, nl_bytes_out *footer, nl_bytes_out *statistics)
{
    for (uint32_t i = 0; i < writer->column_count; i++) {
        uint64_t length;
        NL_TRY(write_index(writer, writer->columns[i], &length));
        NL_TRY(put_stream(footer, NL_ORC_ROW_INDEX, i, length));
        info->index_length += length;
    }
    for (uint32_t i = 0; i < writer->column_count; i++) {
        uint64_t disk_bytes = 0;
        NL_TRY(write_streams(writer, writer->columns[i], footer, &disk_bytes));
        NL_TRY(put_tally(statistics, 1, &writer->columns[i]->stripe_tally, disk_bytes));
        writer->columns[i]->file_bytes += disk_bytes;
        info->data_length += disk_bytes;
    }
    for (uint32_t i = 0; i < writer->column_count; i++) NL_TRY(put_encoding(footer, writer->columns[i]));
    NL_TRY(nl_proto_put_str(footer, 3, nl_timezone_name(writer->options.is_iceberg ? nl_timezone_utc() : writer->options.zone)));
    NL_TRY(write_section(writer, footer, &info->footer_length));
    return nl_proto_put_bytes(&writer->stripe_statistics, 1, statistics->data, statistics->length);
}

static nl_status flush_stripe(nl_orc_writer *writer)
{
    if (writer->stripe_rows == 0) return NULL;
    if (writer->stripe_count == writer->stripe_room) {
        const uint32_t room = writer->stripe_room * 2 + 16;
        stripe_info *larger = realloc(writer->stripes, room * sizeof(*larger));
        if (!larger) return out_of_memory(room * sizeof(*larger));
        writer->stripes = larger;
        writer->stripe_room = room;
    }
    stripe_info *info = &writer->stripes[writer->stripe_count];
    *info = (stripe_info){.offset = nl_output_position(writer->output), .row_count = writer->stripe_rows};
    NL_TRY(end_group(writer));
    NL_TRY(nl_orc_column_out_end_stripe(&writer->root));
    nl_bytes_out footer, statistics;
    nl_bytes_out_init(&footer, writer->memory);
    nl_bytes_out_init(&statistics, writer->memory);
    nl_status status = write_parts(writer, info, &footer, &statistics);
    nl_bytes_out_fini(&footer);
    nl_bytes_out_fini(&statistics);
    if (status) return status;
    writer->stripe_count++;
    writer->stripe_rows = 0;
    return nl_orc_column_out_clear(&writer->root);
}

/* ---- rows ---- */

static nl_status append_rows(nl_orc_writer *writer, const nl_vector *row, const uint32_t *rows, uint32_t count)
{
    while (count > 0) {
        if (writer->group_rows == 0) NL_TRY(nl_orc_column_out_begin_group(&writer->root));
        const uint32_t part = NL_MIN(count, writer->options.row_index_stride - writer->group_rows);
        NL_TRY(nl_orc_column_out_write(&writer->root, row, rows, part));
        writer->group_rows += part;
        writer->stripe_rows += part;
        writer->row_count += part;
        if (writer->group_rows == writer->options.row_index_stride) NL_TRY(end_group(writer));
        rows += part;
        count -= part;
    }
    const size_t size = nl_orc_column_out_size(&writer->root);
    const bool is_full = size >= writer->options.stripe_bytes || (size >= STRIPE_BYTES_MIN && !nl_memory_has_room(writer->memory, size));
    return is_full ? flush_stripe(writer) : NULL;
}

static nl_status append(nl_orc_writer *writer, const nl_batch *batch)
{
    const uint32_t count = nl_batch_live_rows(batch), column_count = writer->type->child_count;
    const nl_selection selection = nl_batch_selection(batch);
    nl_vector row = {.type = writer->type, .encoding = NL_FLAT, .length = batch->row_count, .child_count = column_count};
    nl_buffer *numbers = NULL;
    if (count == 0) return NULL;
    row.children = calloc((size_t)column_count + 1, sizeof(*row.children));
    if (!row.children) return out_of_memory(column_count * sizeof(*row.children));
    nl_status status = nl_buffer_new(writer->memory, nl_size_mul(count, sizeof(uint32_t)), false, &numbers);
    for (uint32_t i = 0; !status && i < column_count; i++) status = nl_vector_flatten(&batch->columns[i], true, writer->memory, &row.children[i]);
    if (!status) {
        uint32_t *rows = (uint32_t *)(void *)numbers->data;
        for (uint32_t i = 0; i < count; i++) rows[i] = nl_selection_row(selection, i);
        status = append_rows(writer, &row, rows, count);
    }
    for (uint32_t i = 0; i < column_count; i++) nl_vector_fini(&row.children[i]);
    free(row.children);
    nl_buffer_release(numbers);
    return status;
}

nl_status nl_orc_writer_append(nl_orc_writer *writer, const nl_batch *batch)
{
    NL_CHECK(!writer->has_failed);
    nl_status status = append(writer, batch);
    writer->has_failed = status != NULL; /* half a row may be there: nothing good comes of going on */
    return status;
}

uint64_t nl_orc_writer_bytes(const nl_orc_writer *writer)
{
    return nl_output_position(writer->output) + nl_orc_column_out_size(&writer->root);
}

size_t nl_orc_writer_memory(const nl_orc_writer *writer)
{
    return nl_orc_column_out_size(&writer->root);
}

/* ---- the tail ---- */

static nl_status put_attribute(nl_bytes_out *type, const char *key, nl_str value)
{
    nl_bytes_out part;
    nl_bytes_out_init(&part, type->memory);
    nl_status status = nl_proto_put_str(&part, 1, nl_str_from(key));
    if (!status) status = nl_proto_put_str(&part, 2, value);
    if (!status) status = nl_proto_put_bytes(type, 7, part.data, part.length);
    nl_bytes_out_fini(&part);
    return status;
}

static nl_status put_iceberg_attributes(nl_bytes_out *type, const nl_orc_column_out *column, nl_arena *arena)
{
    const nl_data_stored stored = column->stored ? column->stored->stored : NL_DATA_STORED_DEFAULT;
    if (column->field_id <= 0) return NULL;
    if (column->kind == NL_ORC_BINARY) NL_TRY(put_attribute(type, "iceberg.binary-type", stored == NL_DATA_STORED_UUID ? NL_STR("UUID") : stored == NL_DATA_STORED_FIXED ? NL_STR("FIXED") : NL_STR("BINARY")));
    NL_TRY(put_attribute(type, "iceberg.id", nl_arena_f(arena, "%d", (int)column->field_id)));
    if (stored == NL_DATA_STORED_FIXED) NL_TRY(put_attribute(type, "iceberg.length", nl_arena_f(arena, "%u", column->stored->length)));
    if (column->kind == NL_ORC_LONG) NL_TRY(put_attribute(type, "iceberg.long-type", stored == NL_DATA_STORED_TIME ? NL_STR("TIME") : NL_STR("LONG")));
    NL_TRY(put_attribute(type, "iceberg.required", column->is_nullable ? NL_STR("false") : NL_STR("true")));
    const bool is_time = column->kind == NL_ORC_TIMESTAMP || column->kind == NL_ORC_TIMESTAMP_INSTANT;
    return is_time ? put_attribute(type, "iceberg.timestamp-unit", NL_STR("MICROS")) : NULL;
}

static nl_status put_type(nl_orc_writer *writer, const nl_orc_column_out *column, nl_bytes_out *footer)
{
    nl_bytes_out type, ids;
    nl_bytes_out_init(&type, writer->memory);
    nl_bytes_out_init(&ids, writer->memory);
    const bool has_name = column->kind == NL_ORC_STRING || column->type->id == NL_TYPE_TIMESTAMP || column->type->id == NL_TYPE_TIMESTAMP_NTZ || column->type->id == NL_TYPE_INTERVAL_YM ||
                          column->type->id == NL_TYPE_INTERVAL_DT;
    nl_status status = nl_proto_put_number(&type, 1, column->kind);
    for (uint32_t i = 0; !status && i < column->child_count; i++) status = nl_proto_put_varint(&ids, column->children[i].id);
    if (!status && column->child_count > 0) status = nl_proto_put_bytes(&type, 2, ids.data, ids.length);
    for (uint32_t i = 0; !status && column->kind == NL_ORC_STRUCT && i < column->child_count; i++) status = nl_proto_put_str(&type, 3, column->type->children[i].name);
    if (!status && column->kind == NL_ORC_DECIMAL) status = nl_proto_put_number(&type, 5, column->type->precision);
    if (!status && column->kind == NL_ORC_DECIMAL) status = nl_proto_put_number(&type, 6, column->type->scale);
    if (!status && writer->options.is_iceberg) status = put_iceberg_attributes(&type, column, writer->arena);
    if (!status && !writer->options.is_iceberg && has_name)
        status = put_attribute(&type, "spark.sql.catalyst.type", column->type->id == NL_TYPE_STRING ? NL_STR("string") : nl_type_name(writer->arena, column->type));
    if (!status) status = nl_proto_put_bytes(footer, 4, type.data, type.length);
    nl_bytes_out_fini(&type);
    nl_bytes_out_fini(&ids);
    return status;
}

static nl_status write_stripe_info(const void *of, nl_bytes_out *out)
{
    const stripe_info *info = of;
    NL_TRY(nl_proto_put_number(out, 1, info->offset));
    NL_TRY(nl_proto_put_number(out, 2, info->index_length));
    NL_TRY(nl_proto_put_number(out, 3, info->data_length));
    NL_TRY(nl_proto_put_number(out, 4, info->footer_length));
    return nl_proto_put_number(out, 5, info->row_count);
}

static nl_status write_item(const void *of, nl_bytes_out *out)
{
    const nl_data_pair *pair = of;
    NL_TRY(nl_proto_put_str(out, 1, pair->key));
    return nl_proto_put_str(out, 2, pair->value);
}

static nl_status fill_footer(nl_orc_writer *writer, nl_bytes_out *footer)
{
    NL_TRY(nl_proto_put_number(footer, 1, 3));
    NL_TRY(nl_proto_put_number(footer, 2, nl_output_position(writer->output)));
    for (uint32_t i = 0; i < writer->stripe_count; i++) NL_TRY(put_message(footer, 3, write_stripe_info, &writer->stripes[i]));
    for (uint32_t i = 0; i < writer->column_count; i++) NL_TRY(put_type(writer, writer->columns[i], footer));
    for (uint32_t i = 0; i < writer->options.metadata_count; i++) NL_TRY(put_message(footer, 5, write_item, &writer->options.metadata[i]));
    NL_TRY(nl_proto_put_number(footer, 6, writer->row_count));
    for (uint32_t i = 0; i < writer->column_count; i++) NL_TRY(put_tally(footer, 7, &writer->columns[i]->file_tally, writer->columns[i]->file_bytes));
    NL_TRY(nl_proto_put_number(footer, 8, writer->options.row_index_stride));
    NL_TRY(nl_proto_put_number(footer, 9, WRITER_CODE));
    NL_TRY(nl_proto_put_number(footer, 11, 1)); /* the hybrid calendar, which is what Java's writer says under Spark and Iceberg alike */
    return nl_proto_put_str(footer, 12, NL_STR("nilas " NILAS_VERSION));
}

static nl_status write_postscript(nl_orc_writer *writer, uint64_t footer_length, uint64_t metadata_length)
{
    static const uint8_t version[] = {0, 12};
    nl_bytes_out script;
    nl_bytes_out_init(&script, writer->memory);
    nl_status status = nl_proto_put_number(&script, 1, footer_length);
    if (!status) status = nl_proto_put_number(&script, 2, row_of(writer->options.codec)->number);
    if (!status) status = nl_proto_put_number(&script, 3, writer->context.packer.chunk_bytes);
    if (!status) status = nl_proto_put_bytes(&script, 4, version, sizeof(version));
    if (!status) status = nl_proto_put_number(&script, 5, metadata_length);
    if (!status) status = nl_proto_put_number(&script, 6, WRITER_VERSION);
    if (!status) status = nl_proto_put_str(&script, 8000, NL_STR("ORC"));
    const uint8_t length = (uint8_t)script.length;
    if (!status) status = nl_output_write(writer->output, script.data, script.length);
    if (!status) status = nl_output_write(writer->output, &length, 1);
    nl_bytes_out_fini(&script);
    return status;
}

static nl_status write_tail(nl_orc_writer *writer)
{
    nl_bytes_out footer;
    uint64_t footer_length = 0, metadata_length = 0;
    nl_bytes_out_init(&footer, writer->memory);
    nl_status status = fill_footer(writer, &footer);
    if (!status) status = write_section(writer, &writer->stripe_statistics, &metadata_length);
    if (!status) status = write_section(writer, &footer, &footer_length);
    if (!status) status = write_postscript(writer, footer_length, metadata_length);
    nl_bytes_out_fini(&footer);
    return status;
}

/* ---- what the file is ---- */

static nl_value bound_value(const nl_orc_column_out *column, bool is_upper, nl_arena *arena)
{
    const nl_orc_tally *tally = &column->file_tally;
    nl_value value = {.type = column->type};
    switch (tally->kind) {
    case NL_ORC_STATS_DOUBLE: value.real = is_upper ? tally->real_max : tally->real_min; break;
    case NL_ORC_STATS_DECIMAL: value.decimal = is_upper ? tally->wide_max : tally->wide_min; break;
    case NL_ORC_STATS_BOOLEAN: value.boolean = is_upper ? tally->true_count > 0 : tally->true_count == tally->value_count; break;
    case NL_ORC_STATS_STRING: {
        const nl_bytes_out *bytes = is_upper ? &tally->text_max.bytes : &tally->text_min.bytes;
        value.text = nl_arena_str(arena, (nl_str){(const char *)bytes->data, bytes->length});
        break;
    }
    case NL_ORC_STATS_INT:
    case NL_ORC_STATS_DATE:
    case NL_ORC_STATS_TIMESTAMP: value.integer = is_upper ? tally->int_max : tally->int_min; break;
    case NL_ORC_STATS_NONE: break;
    }
    return value;
}

static int compare_leaves(const void *a, const void *b)
{
    const nl_written_leaf *first = a, *second = b;
    return (first->field_id > second->field_id) - (first->field_id < second->field_id);
}

/* Columns by their ids; what lies below lists and maps has neither counts nor sizes of its own, as Java's OrcMetrics has it. */
static void describe(nl_orc_writer *writer, nl_arena *arena, nl_written_file *written)
{
    *written = (nl_written_file){.row_count = writer->row_count};
    written->leaves = NL_NEW_ARRAY(arena, nl_written_leaf, writer->column_count);
    written->split_offsets = NL_NEW_ARRAY(arena, uint64_t, (size_t)writer->stripe_count + 1);
    for (uint32_t i = 0; i < writer->stripe_count; i++) written->split_offsets[written->split_offset_count++] = writer->stripes[i].offset;
    for (uint32_t i = 1; i < writer->column_count; i++) {
        const nl_orc_column_out *column = writer->columns[i];
        const nl_orc_tally *tally = &column->file_tally;
        if (column->is_repeated) continue;
        nl_written_leaf *leaf = &written->leaves[written->leaf_count++];
        *leaf = (nl_written_leaf){
            .field_id = column->field_id, .path = nl_arena_str(arena, column->path), .type = column->type,
            .column_bytes = column->file_bytes, .null_count = tally->null_count > 0 ? writer->row_count - tally->value_count : 0, .nan_count = tally->nan_count,
            .has_bounds = tally->kind != NL_ORC_STATS_NONE && tally->has_bounds,
        };
        leaf->value_count = tally->value_count + leaf->null_count;
        if (!leaf->has_bounds) continue;
        leaf->lower = bound_value(column, false, arena);
        leaf->upper = bound_value(column, true, arena);
    }
    if (written->leaf_count > 1) qsort(written->leaves, written->leaf_count, sizeof(*written->leaves), compare_leaves);
}

nl_status nl_orc_writer_close(nl_orc_writer *writer, nl_arena *arena, nl_written_file *written)
{
    nl_status status = writer->has_failed ? NL_RAISE_TEXT(NILAS_UNSUPPORTED, "An ORC file whose rows failed cannot be finished.") : NULL;
    if (!status) status = flush_stripe(writer);
    if (!status) status = write_tail(writer);
    if (status) {
        nl_orc_writer_abort(writer);
        return status;
    }
    describe(writer, arena, written);
    written->file_bytes = nl_output_position(writer->output);
    status = nl_output_close(writer->output);
    if (!status) status = nl_arena_check(arena);
    free_writer(writer);
    return status;
}
