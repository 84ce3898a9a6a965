/* format/csv/csv_reader.c - CSV records to columns, with Spark's treatment of records that do not fit. */
#include <stdlib.h>

#include "base/limits.h"
#include "base/number.h"
#include "column/value.h"
#include "format/csv/csv_reader.h"
#include "format/csv/csv_records.h"
#include "format/text/text_value.h"

#define NO_TOKEN UINT32_MAX /* the corrupt record's column */

typedef struct column {
    const nl_type *type;
    uint32_t token; /* its place in the file, or NO_TOKEN */
    nl_column_builder *builder;
} column;

struct nl_csv_reader {
    nl_csv_records records;
    const nl_csv_options *options;
    nl_str path;
    nl_memory *memory;
    column *columns;
    nl_value *values; /* of one record, before it is known whether it is kept */
    uint32_t column_count;
    uint32_t data_count;   /* columns of the file */
    uint32_t token_limit;  /* values to look at in a record */
    uint32_t corrupt;      /* index into columns, or NO_TOKEN */
    bool checks_count;     /* a record with more or fewer values than the file's columns is malformed */
};

void nl_csv_reader_close(nl_csv_reader *reader)
{
    if (!reader) return;
    for (uint32_t i = 0; i < reader->column_count; i++)
        nl_column_builder_free(reader->columns[i].builder);
    free(reader->columns);
    free(reader->values);
    if (reader->records.options) nl_csv_records_fini(&reader->records);
    free(reader);
}

static nl_status out_of_memory(void)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(nl_csv_reader)),
                    NL_P_INT("receivedBytes", 0));
}

static uint32_t find_corrupt(const nl_csv_source *source)
{
    nl_str name = source->options->formats.corrupt_record_name;
    for (uint32_t i = 0; i < source->file_type->child_count; i++) {
        if (nl_str_equal(source->file_type->children[i].name, name)) return i;
    }
    return NO_TOKEN;
}

static nl_status check_corrupt_type(const nl_field *field)
{
    if (field->type->id == NL_TYPE_STRING) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str name = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(field->name));
    nl_str sql = nl_type_sql(arena, field->type);
    nl_str type = nl_arena_f(arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(sql));
    nl_status status =
        NL_RAISE(INVALID_CORRUPT_RECORD_TYPE, NL_P_STR("columnName", name), NL_P_STR("actualType", type));
    nl_arena_free(arena);
    return status;
}

static nl_status make_columns(nl_csv_reader *reader, const nl_csv_source *source)
{
    uint32_t corrupt = find_corrupt(source);
    if (corrupt != NO_TOKEN) NL_TRY(check_corrupt_type(&source->file_type->children[corrupt]));
    reader->data_count = source->file_type->child_count - (corrupt != NO_TOKEN);
    reader->columns = calloc(NL_MAX(source->wanted_count, 1), sizeof *reader->columns);
    reader->values = calloc(NL_MAX(source->wanted_count, 1), sizeof *reader->values);
    if (!reader->columns || !reader->values) return out_of_memory();
    for (uint32_t i = 0; i < source->wanted_count; i++) {
        uint32_t place = source->wanted[i];
        NL_ASSERT(place < source->file_type->child_count);
        column *made = &reader->columns[i];
        made->type = source->file_type->children[place].type;
        made->token = place == corrupt ? NO_TOKEN : place - (corrupt != NO_TOKEN && place > corrupt);
        if (place == corrupt) reader->corrupt = i;
        NL_TRY(nl_column_builder_new(made->type, reader->memory, &made->builder));
        reader->column_count++;
        if (made->token != NO_TOKEN) reader->token_limit = NL_MAX(reader->token_limit, made->token + 1);
    }
    /* Like Spark's column pruning: a record is checked only when all columns, or the corrupt one, are asked for. */
    uint32_t wanted_data = source->wanted_count - (reader->corrupt != NO_TOKEN);
    reader->checks_count = reader->corrupt != NO_TOKEN || wanted_data >= reader->data_count;
    if (reader->checks_count) reader->token_limit = UINT32_MAX;
    return NULL;
}

static bool names_equal(const nl_csv_options *options, nl_str a, nl_str b)
{
    return options->formats.is_case_sensitive ? nl_str_equal(a, b) : nl_str_equal_nocase(a, b);
}

/* enforceSchema=false: the header must be the schema. */
static nl_status check_header(nl_csv_reader *reader, const nl_csv_source *source)
{
    const nl_csv_parser *parser = &reader->records.parser;
    uint32_t corrupt = find_corrupt(source);
    if (parser->token_count != reader->data_count)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "Number of column in CSV header is not equal to number of fields in the schema:\n"
                             " Header length: %u, schema size: %u\nCSV file: " NL_STR_FMT,
                             parser->token_count, reader->data_count, NL_STR_ARG(reader->path));
    uint32_t token = 0;
    for (uint32_t i = 0; i < source->file_type->child_count; i++) {
        if (i == corrupt) continue;
        nl_str name = source->file_type->children[i].name;
        nl_str found = nl_csv_token_text(parser, token++);
        if (names_equal(source->options, name, found)) continue;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                             "CSV header does not conform to the schema.\n"
                             "Expected: " NL_STR_FMT " but found: " NL_STR_FMT "\nCSV file: " NL_STR_FMT,
                             NL_STR_ARG(name), NL_STR_ARG(found), NL_STR_ARG(reader->path));
    }
    return NULL;
}

static nl_status skip_header(nl_csv_reader *reader, const nl_csv_source *source)
{
    bool is_done;
    if (!source->options->has_header || source->start > 0) return NULL;
    NL_TRY(nl_csv_records_next(&reader->records, &is_done));
    if (is_done) return NULL;
    NL_TRY(nl_csv_records_split(&reader->records, UINT32_MAX));
    return source->options->enforces_schema ? NULL : check_header(reader, source);
}

nl_status nl_csv_reader_open(const nl_csv_source *source, nl_memory *memory, nl_csv_reader **reader)
{
    NL_TRY(nl_csv_check_type(source->file_type));
    nl_csv_reader *made = calloc(1, sizeof *made);
    if (!made) return out_of_memory();
    made->options = source->options;
    made->path = nl_file_path(source->file);
    made->memory = memory;
    made->corrupt = NO_TOKEN;
    nl_status status = make_columns(made, source);
    if (!status)
        status = nl_csv_records_init(&made->records, source->file, source->options, source->start, source->stop, memory);
    if (!status) status = skip_header(made, source);
    if (status)
        nl_csv_reader_close(made);
    else
        *reader = made;
    return status;
}

static bool parse_integer(const nl_type *type, nl_str text, nl_value *value)
{
    int bits = (int)nl_physical_size(type->physical) * 8;
    int64_t parsed;
    if (!nl_parse_int64(text, &parsed) || parsed != (int64_t)((uint64_t)parsed << (64 - bits)) >> (64 - bits)) return false;
    value->integer = parsed;
    return true;
}

static bool parse_real(const nl_csv_options *options, const nl_type *type, nl_str text, nl_value *value)
{
    if (nl_str_equal(text, options->nan_value))
        value->real = (double)__builtin_nanf("");
    else if (nl_str_equal(text, options->positive_inf))
        value->real = __builtin_inf();
    else if (nl_str_equal(text, options->negative_inf))
        value->real = -__builtin_inf();
    else
        return nl_text_parse_value(&options->formats, type, text, value);
    return true;
}

bool nl_csv_parse_value(const nl_csv_options *options, const nl_type *type, nl_str text, nl_value *value)
{
    *value = (nl_value){.type = type};
    switch ((int)type->id) {
    case NL_TYPE_STRING:
    case NL_TYPE_BINARY:
        value->text = text;
        return true;
    case NL_TYPE_BOOLEAN:
        value->boolean = nl_str_is_nocase(text, "true");
        return value->boolean || nl_str_is_nocase(text, "false");
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
        return parse_integer(type, text, value);
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
        return parse_real(options, type, text, value);
    default:
        return nl_text_parse_value(&options->formats, type, text, value);
    }
}

/* The record's values; *is_malformed when one did not fit or their number is wrong. */
static void convert_record(nl_csv_reader *reader, bool *is_malformed)
{
    const nl_csv_parser *parser = &reader->records.parser;
    *is_malformed = reader->checks_count && parser->token_count != reader->data_count;
    for (uint32_t i = 0; i < reader->column_count; i++) {
        const column *to = &reader->columns[i];
        nl_value *value = &reader->values[i];
        nl_str text;
        *value = nl_value_null(to->type);
        if (to->token == NO_TOKEN || !nl_csv_token_value(parser, to->token, &text)) continue;
        if (nl_csv_parse_value(reader->options, to->type, text, value)) continue;
        *value = nl_value_null(to->type);
        *is_malformed = true;
    }
    if (*is_malformed && reader->corrupt != NO_TOKEN)
        reader->values[reader->corrupt] =
            (nl_value){.type = reader->columns[reader->corrupt].type, .text = parser->input};
}

/* Adds the present record, unless it is malformed and to be dropped. */
static nl_status add_record(nl_csv_reader *reader, uint32_t *row_count)
{
    bool is_malformed;
    if (reader->column_count == 0 && !reader->options->formats.is_multi_line) { /* rows are only counted */
        (*row_count)++;
        return NULL;
    }
    nl_status status = nl_csv_records_split(&reader->records, reader->token_limit);
    if (status)
        return nl_error_because(NL_RAISE(FAILED_READ_FILE__NO_HINT, NL_P_STR("path", reader->path)), status);
    convert_record(reader, &is_malformed);
    if (is_malformed && reader->options->formats.mode == NL_TEXT_DROP_MALFORMED) return NULL;
    if (is_malformed && reader->options->formats.mode == NL_TEXT_FAIL_FAST)
        return nl_text_malformed_record(reader->path, reader->records.parser.input,
                                        "a value does not fit its column, or their number is not the schema's");
    for (uint32_t i = 0; i < reader->column_count; i++)
        NL_TRY(nl_column_builder_value(reader->columns[i].builder, &reader->values[i]));
    (*row_count)++;
    return NULL;
}

static nl_status finish_batch(nl_csv_reader *reader, uint32_t row_count, nl_batch *batch)
{
    nl_batch made;
    NL_TRY(nl_batch_init(&made, reader->column_count, row_count));
    for (uint32_t i = 0; i < reader->column_count; i++) {
        nl_status status = nl_column_builder_finish(reader->columns[i].builder, &made.columns[i]);
        if (status) {
            nl_batch_fini(&made);
            return status;
        }
    }
    *batch = made;
    return NULL;
}

nl_status nl_csv_reader_next(nl_csv_reader *reader, nl_batch *batch, bool *is_done)
{
    uint32_t row_count = 0;
    bool is_at_end = false;
    while (row_count < NL_BATCH_ROWS) {
        NL_TRY(nl_csv_records_next(&reader->records, &is_at_end));
        if (is_at_end) break;
        NL_TRY(add_record(reader, &row_count));
    }
    *is_done = row_count == 0;
    return *is_done ? NULL : finish_batch(reader, row_count, batch);
}
