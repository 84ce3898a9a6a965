/* format/json/json_reader.c - JSON records to batches, with Spark's treatment of records that do not fit. */
#include <stdlib.h>

#include "base/limits.h"
#include "format/json/json_convert.h"
#include "format/json/json_reader.h"
#include "format/json/json_records.h"
#include "format/text/text_value.h"

#define NO_COLUMN UINT32_MAX

struct nl_json_reader {
    nl_json_records records;
    const nl_json_file_options *options;
    nl_str path;
    nl_memory *memory;
    nl_arena *arena;
    uint32_t column_count;
    uint32_t corrupt; /* the corrupt record's column among the wanted ones, or NO_COLUMN */
    bool is_variant;  /* singleVariantColumn: a record is one value */
    nl_json_converter *converter;
    nl_column_builder *builder; /* of the wanted columns but the corrupt record's */
    nl_column_builder *corrupt_builder;
    nl_builder scratch;
    nl_batch pending; /* rows of one record may be more than a batch: given in slices from pending_row on */
    uint32_t pending_row;
};

static nl_status out_of_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(nl_json_reader)),
                    NL_P_INT("receivedBytes", 0));
}

void nl_json_reader_close(nl_json_reader *reader)
{
    if (!reader) return;
    nl_json_converter_free(reader->converter);
    nl_column_builder_free(reader->builder);
    nl_column_builder_free(reader->corrupt_builder);
    nl_json_records_fini(&reader->records);
    nl_batch_fini(&reader->pending);
    nl_builder_fini(&reader->scratch);
    nl_arena_free(reader->arena);
    free(reader);
}

static nl_status check_corrupt_type(nl_arena *arena, const nl_field *field)
{
    if (field->type->id == NL_TYPE_STRING) return NULL;
    nl_str name = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name));
    nl_str sql = nl_type_sql(arena, field->type);
    nl_str type = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(sql));
    return NL_RAISE(INVALID_CORRUPT_RECORD_TYPE, NL_P_STR("columnName", name), NL_P_STR("actualType", type));
}

/* The type records are converted to: the wanted columns without the corrupt record's. */
static nl_status make_builders(nl_json_reader *reader, const nl_type *wanted)
{
    nl_field *fields = NL_NEW_ARRAY(reader->arena, nl_field, wanted->child_count);
    uint32_t count = 0;
    for (uint32_t i = 0; i < wanted->child_count; i++) {
        const nl_field *field = &wanted->children[i];
        if (!nl_str_equal(field->name, reader->options->formats.corrupt_record_name)) {
            fields[count++] = *field;
            continue;
        }
        NL_TRY(check_corrupt_type(reader->arena, field));
        reader->corrupt = i;
        NL_TRY(nl_column_builder_new(field->type, reader->memory, &reader->corrupt_builder));
    }
    reader->is_variant = reader->options->variant_column.length && count == 1 && fields[0].type->id == NL_TYPE_VARIANT;
    const nl_type *type = reader->is_variant ? fields[0].type : nl_type_struct(reader->arena, fields, count);
    NL_TRY(nl_json_converter_new(type, reader->options, reader->memory, &reader->converter));
    return nl_column_builder_new(type, reader->memory, &reader->builder);
}

nl_status nl_json_reader_open(const nl_json_source *source, nl_memory *memory, nl_json_reader **reader)
{
    NL_TRY(nl_json_check_type(source->wanted));
    nl_json_reader *made = calloc(1, sizeof *made);
    if (!made) return out_of_memory();
    *made = (nl_json_reader){.options = source->options,
                             .path = nl_file_path(source->file),
                             .memory = memory,
                             .arena = nl_arena_new(memory),
                             .column_count = source->wanted->child_count,
                             .corrupt = NO_COLUMN};
    nl_builder_init(&made->scratch, 3 * (size_t)NL_JSON_BYTES_MAX);
    nl_status status = make_builders(made, source->wanted);
    if (!status)
        status = nl_json_records_init(&made->records, source->file, source->options, source->start, source->stop, memory);
    if (status)
        nl_json_reader_close(made);
    else
        *reader = made;
    return status;
}

/* A record that is no JSON: one row of nulls. */
static nl_status add_null_row(nl_json_reader *reader, uint32_t *row_count)
{
    *row_count = 1;
    if (reader->is_variant) return nl_column_builder_null(reader->builder);
    uint32_t child_count = reader->column_count - (reader->corrupt != NO_COLUMN);
    for (uint32_t i = 0; i < child_count; i++)
        NL_TRY(nl_column_builder_null(nl_column_builder_child(reader->builder, i)));
    return nl_column_builder_end_struct(reader->builder);
}

static nl_status fill_corrupt(nl_json_reader *reader, nl_str record, bool is_bad, uint32_t row_count)
{
    if (reader->corrupt == NO_COLUMN) return NULL;
    nl_str text = is_bad ? nl_text_valid_utf8(record, &reader->scratch) : record;
    for (uint32_t i = 0; i < row_count; i++) {
        if (is_bad)
            NL_TRY(nl_column_builder_str(reader->corrupt_builder, text));
        else
            NL_TRY(nl_column_builder_null(reader->corrupt_builder));
    }
    return NULL;
}

static nl_status add_record(nl_json_reader *reader, nl_str record)
{
    uint32_t before = nl_column_builder_length(reader->builder);
    uint32_t row_count = 0;
    nl_json_fit fit = NL_JSON_BROKEN;
    if (nl_utf8_is_valid(record)) NL_TRY(nl_json_convert(reader->converter, record, reader->builder, &row_count, &fit));
    bool is_bad = fit != NL_JSON_FITS;
    if (is_bad && reader->options->formats.mode == NL_TEXT_FAIL_FAST) {
        nl_column_builder_truncate(reader->builder, before);
        return nl_text_malformed_record(reader->path, record, fit == NL_JSON_BROKEN ? "it is no JSON"
                                                                                   : "a value does not fit its column");
    }
    if (is_bad && reader->options->formats.mode == NL_TEXT_DROP_MALFORMED) {
        nl_column_builder_truncate(reader->builder, before);
        return NULL;
    }
    if (fit >= NL_JSON_MISFIT) NL_TRY(add_null_row(reader, &row_count));
    return fill_corrupt(reader, record, is_bad, row_count);
}

static nl_status move_columns(nl_json_reader *reader, nl_vector *rows, nl_batch *batch)
{
    uint32_t from = 0;
    for (uint32_t i = 0; i < reader->column_count; i++) {
        if (i == reader->corrupt)
            NL_TRY(nl_column_builder_finish(reader->corrupt_builder, &batch->columns[i]));
        else if (reader->is_variant)
            nl_vector_move(rows, &batch->columns[i]);
        else
            nl_vector_move(&rows->children[from++], &batch->columns[i]);
    }
    return NULL;
}

static nl_status finish_batch(nl_json_reader *reader, nl_batch *batch)
{
    nl_vector rows;
    nl_batch made;
    uint32_t row_count = nl_column_builder_length(reader->builder);
    NL_TRY(nl_column_builder_finish(reader->builder, &rows));
    nl_status status = nl_batch_init(&made, reader->column_count, row_count);
    if (!status) {
        status = move_columns(reader, &rows, &made);
        if (status)
            nl_batch_fini(&made);
        else
            *batch = made;
    }
    nl_vector_fini(&rows);
    return status;
}

/* The next slice of more rows than one batch holds. */
static nl_status give_slice(nl_json_reader *reader, nl_batch *batch)
{
    uint32_t left = reader->pending.row_count - reader->pending_row;
    if (reader->pending_row == 0 && left <= NL_BATCH_ROWS) {
        nl_batch_move(&reader->pending, batch);
        return NULL;
    }
    nl_batch made;
    uint32_t count = NL_MIN(left, NL_BATCH_ROWS);
    NL_TRY(nl_batch_init(&made, reader->column_count, count));
    for (uint32_t i = 0; i < made.column_count; i++) {
        nl_status status = nl_vector_slice(&reader->pending.columns[i], reader->pending_row, count, reader->memory,
                                           &made.columns[i]);
        if (status) {
            nl_batch_fini(&made);
            return status;
        }
    }
    reader->pending_row += count;
    if (reader->pending_row == reader->pending.row_count) {
        nl_batch_fini(&reader->pending);
        reader->pending_row = 0;
    }
    *batch = made;
    return NULL;
}

nl_status nl_json_reader_next(nl_json_reader *reader, nl_batch *batch, bool *is_done)
{
    bool is_at_end = false;
    *is_done = false;
    if (reader->pending.row_count) return give_slice(reader, batch);
    while (nl_column_builder_length(reader->builder) < NL_BATCH_ROWS) {
        nl_str record;
        NL_TRY(nl_json_records_next(&reader->records, &record, &is_at_end));
        if (is_at_end) break;
        NL_TRY(add_record(reader, record));
    }
    *is_done = nl_column_builder_length(reader->builder) == 0;
    if (*is_done) return NULL;
    NL_TRY(finish_batch(reader, &reader->pending));
    return give_slice(reader, batch);
}
