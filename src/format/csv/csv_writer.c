/* format/csv/csv_writer.c - rows to CSV text, quoted and escaped as univocity-parsers does it for Spark. */
#include <stdlib.h>

#include "base/limits.h"
#include "column/value.h"
#include "format/csv/csv_writer.h"
#include "format/text/text_value.h"

#define FLUSH_BYTES (64u << 10)

struct nl_csv_writer {
    nl_text_output *output;
    const nl_type *type;
    const nl_csv_options *options;
    char comment;      /* a row must not begin with it */
    nl_str line_end;
    nl_builder out;    /* rows not yet handed to the file */
    nl_builder value;
};

static bool is_blank(char c)
{
    return (uint8_t)c <= ' ';
}

static nl_str trim(const nl_csv_options *options, nl_str text)
{
    size_t start = 0;
    size_t end = text.length;
    while (options->ignores_leading_blanks && start < end && is_blank(text.data[start]))
        start++;
    while (options->ignores_trailing_blanks && end > start && is_blank(text.data[end - 1]))
        end--;
    return nl_str_slice(text, start, end);
}

static bool contains_char(nl_str text, char c)
{
    return text.length > 0 && memchr(text.data, c, text.length) != NULL;
}

static bool needs_quotes(const nl_csv_writer *writer, nl_str text, bool is_first)
{
    const nl_csv_options *options = writer->options;
    if (options->quotes_all) return true;
    if (text.length == 0) return false;
    if (text.data[0] == options->quote || (is_first && text.data[0] == writer->comment)) return true;
    if (contains_char(text, '\n') || contains_char(text, '\r') || contains_char(text, writer->line_end.data[0])) return true;
    if (options->escapes_quotes && contains_char(text, options->quote)) return true;
    return nl_str_find(text, options->delimiter, 0) != NL_NOT_FOUND;
}

static void append_quoted(nl_csv_writer *writer, nl_str text)
{
    const nl_csv_options *options = writer->options;
    nl_append_char(&writer->out, options->quote);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        if (c == options->quote)
            nl_append_char(&writer->out, options->escape);
        else if (c == options->escape && options->char_to_escape)
            nl_append_char(&writer->out, options->char_to_escape);
        nl_append_char(&writer->out, c);
    }
    nl_append_char(&writer->out, options->quote);
}

/* is_null: the value is nullValue. What trimming leaves empty is emptyValue, and an empty emptyValue is null. */
static void append_value(nl_csv_writer *writer, nl_str text, bool is_null, bool is_first)
{
    const nl_csv_options *options = writer->options;
    if (!is_null) {
        text = trim(options, text);
        if (text.length == 0) {
            if (nl_str_is(options->empty_value, "\"\"")) {
                nl_append(&writer->out, options->empty_value);
                return;
            }
            text = options->empty_value;
            is_null = text.length == 0;
        }
    }
    if (is_null) text = options->null_value;
    if (needs_quotes(writer, text, is_first))
        append_quoted(writer, text);
    else
        nl_append(&writer->out, text);
}

/* A row without any text would read as no row: Spark leaves it out. */
static void end_row(nl_csv_writer *writer, size_t row_start)
{
    if (writer->out.length > row_start) nl_append(&writer->out, writer->line_end);
}

static nl_status format_value(nl_csv_writer *writer, const nl_vector *vector, uint32_t row)
{
    nl_type_id id = vector->type->id;
    nl_builder_clear(&writer->value);
    if (id == NL_TYPE_DATE || id == NL_TYPE_TIMESTAMP || id == NL_TYPE_TIMESTAMP_NTZ) {
        nl_reader reader;
        nl_reader_init(&reader, vector);
        uint32_t index = nl_reader_index(&reader, row);
        int64_t value = id == NL_TYPE_DATE ? ((const int32_t *)reader.values)[index] : ((const int64_t *)reader.values)[index];
        return nl_text_append_datetime(&writer->options->formats, id, value, &writer->value);
    }
    nl_text_options options = {.style = id == NL_TYPE_BINARY ? NL_TEXT_SHOW : NL_TEXT_CAST, .binary = writer->options->formats.binary};
    nl_vector_append_text(vector, row, &options, &writer->value);
    return NULL;
}

static nl_status append_cell(nl_csv_writer *writer, const nl_vector *vector, uint32_t row, bool is_first)
{
    if (nl_vector_is_null(vector, row)) {
        append_value(writer, (nl_str){NULL, 0}, true, is_first);
        return NULL;
    }
    if (vector->type->id == NL_TYPE_STRING) {
        nl_reader reader;
        nl_reader_init(&reader, vector);
        const nl_string_view *view = &((const nl_string_view *)reader.values)[nl_reader_index(&reader, row)];
        append_value(writer, nl_view_str(view), false, is_first);
        return NULL;
    }
    NL_TRY(format_value(writer, vector, row));
    append_value(writer, nl_builder_str(&writer->value), false, is_first);
    return NULL;
}

nl_status nl_csv_append_struct(const nl_csv_options *options, const nl_vector *structs, uint32_t row, nl_builder *scratch,
                               nl_builder *out)
{
    nl_csv_writer writer = {.options = options, .comment = options->comment ? options->comment : '#', .line_end = NL_STR("\n"),
                            .out = *out, .value = *scratch};
    nl_status status = NULL;
    for (uint32_t i = 0; i < structs->child_count && !status; i++) {
        if (i) nl_append(&writer.out, options->delimiter);
        status = append_cell(&writer, &structs->children[i], row, i == 0);
    }
    *out = writer.out;
    *scratch = writer.value;
    return status;
}

static void append_header(nl_csv_writer *writer)
{
    for (uint32_t i = 0; i < writer->type->child_count; i++) {
        if (i) nl_append(&writer->out, writer->options->delimiter);
        append_value(writer, writer->type->children[i].name, false, i == 0);
    }
    end_row(writer, 0);
}

static nl_status flush(nl_csv_writer *writer)
{
    if (nl_builder_failed(&writer->out) || nl_builder_failed(&writer->value))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A row is longer than %u bytes.", NL_VALUE_BYTES_MAX);
    NL_TRY(nl_text_output_write(writer->output, nl_builder_str(&writer->out)));
    nl_builder_clear(&writer->out);
    return NULL;
}

static void free_writer(nl_csv_writer *writer)
{
    nl_builder_fini(&writer->out);
    nl_builder_fini(&writer->value);
    free(writer);
}

nl_status nl_csv_writer_open(nl_fs *fs, nl_str path, const nl_type *struct_type, const nl_csv_options *options,
                             nl_memory *memory, nl_csv_writer **writer)
{
    NL_TRY(nl_csv_check_type(struct_type));
    if (options->formats.encoding != NL_ENCODING_UTF8)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "CSV files are written in UTF-8 only.");
    nl_csv_writer *made = calloc(1, sizeof *made);
    if (!made)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made),
                        NL_P_INT("receivedBytes", 0));
    nl_str separator = options->formats.line_separator;
    *made = (nl_csv_writer){.type = struct_type,
                            .options = options,
                            .comment = options->comment ? options->comment : '#',
                            .line_end = separator.length ? separator : NL_STR("\n")};
    nl_builder_init(&made->out, NL_VALUE_BYTES_MAX);
    nl_builder_init(&made->value, NL_VALUE_BYTES_MAX);
    nl_status status = nl_text_output_open(fs, path, options->formats.compression, memory, &made->output);
    if (status) {
        free_writer(made);
        return status;
    }
    if (options->has_header) append_header(made);
    *writer = made;
    return NULL;
}

nl_status nl_csv_writer_write(nl_csv_writer *writer, const nl_batch *batch)
{
    nl_selection live = nl_batch_selection(batch);
    for (uint32_t i = 0; i < live.count; i++) {
        size_t row_start = writer->out.length;
        for (uint32_t column = 0; column < batch->column_count; column++) {
            if (column) nl_append(&writer->out, writer->options->delimiter);
            NL_TRY(append_cell(writer, &batch->columns[column], nl_selection_row(live, i), column == 0));
        }
        end_row(writer, row_start);
        if (writer->out.length >= FLUSH_BYTES) NL_TRY(flush(writer));
    }
    return NULL;
}

uint64_t nl_csv_writer_bytes(const nl_csv_writer *writer)
{
    return nl_text_output_bytes(writer->output) + writer->out.length;
}

nl_status nl_csv_writer_close(nl_csv_writer *writer)
{
    nl_status status = nl_text_output_end(writer->output, flush(writer));
    free_writer(writer);
    return status;
}

void nl_csv_writer_abort(nl_csv_writer *writer)
{
    if (!writer) return;
    nl_text_output_abort(writer->output);
    free_writer(writer);
}
