/* shell/output.c - the printed forms of a result; rows are printed as they come. */
#include "shell/output_private.h"

#include <errno.h>

#include "storage/io_error.h"

#define DESCRIBE_WIDTH 20u

bool nl_output_format_find(nl_str name, nl_output_format *format)
{
    static const char *const names[] = {"hive", "table", "csv", "json", "markdown", "vertical"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        if (nl_str_is_nocase(name, names[i])) {
            *format = (nl_output_format)i;
            return true;
        }
    return false;
}

void nl_printer_flush(nl_printer *self)
{
    if (!self->has_printed && self->options->before_output) self->options->before_output();
    self->has_printed = true;
    if (fwrite(self->line.data, 1, self->line.length, self->file) < self->line.length && !self->write_error) self->write_error = errno;
    nl_builder_clear(&self->line);
}

nl_str nl_printer_cell(nl_printer *self, const nl_batch *batch, uint32_t column, uint32_t row, nl_text_style style)
{
    const nl_text_options text = {.style = style, .binary = self->options->binary, .zone = self->options->zone};
    nl_builder_clear(&self->cell);
    nl_vector_append_text(&batch->columns[column], row, &text, &self->cell);
    return nl_builder_str(&self->cell);
}

nl_str nl_printer_one_line(nl_printer *self, nl_str text)
{
    static const char escapes[] = "\a\b\n\r\t\v\f", letters[] = "abnrtvf";
    bool is_plain = true;
    for (size_t i = 0; i < text.length && is_plain; i++)
        is_plain = (unsigned char)text.data[i] >= 0x20;
    if (is_plain) return text;
    nl_builder_clear(&self->escaped);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const char *found = c ? strchr(escapes, c) : NULL;
        if (found)
            nl_append_f(&self->escaped, "\\%c", letters[found - escapes]);
        else
            nl_append_char(&self->escaped, c);
    }
    return nl_builder_str(&self->escaped);
}

/* ---- spark-sql's own form -------------------------------------------------------------------------------------- */

static void hive_header(nl_printer *self)
{
    if (!self->options->has_header) return;
    for (uint32_t i = 0; i < self->schema->child_count; i++) {
        if (i) nl_append_char(&self->line, '\t');
        nl_append(&self->line, self->schema->children[i].name);
    }
    nl_append_char(&self->line, '\n');
    nl_printer_flush(self);
}

/* DESCRIBE pads its cells and leaves out NULL, as Hive's did; SHOW TABLES gives the names alone. */
static void hive_row(nl_printer *self, const nl_batch *batch, uint32_t row)
{
    const nl_result_kind kind = nl_result_kind_of(self->result);
    const bool is_padded = kind == NL_RESULT_DESCRIBE, is_name = kind == NL_RESULT_SHOW_TABLES;
    for (uint32_t i = is_name ? 1 : 0; i < (is_name ? 2 : batch->column_count); i++) {
        if (i && !is_name) nl_append_char(&self->line, '\t');
        nl_str text = nl_printer_cell(self, batch, i, row, NL_TEXT_HIVE);
        if (is_padded && nl_vector_is_null(&batch->columns[i], row)) text.length = 0;
        nl_append(&self->line, text);
        const size_t characters = nl_utf8_length(text);
        if (is_padded && characters < DESCRIBE_WIDTH) nl_append_fill(&self->line, ' ', DESCRIBE_WIDTH - characters);
    }
    nl_append_char(&self->line, '\n');
    nl_printer_flush(self);
}

/* ---- csv ------------------------------------------------------------------------------------------------------- */

static void csv_cell(nl_printer *self, nl_str text, bool is_first)
{
    if (!is_first) nl_append_char(&self->line, ',');
    bool needs_quotes = false;
    for (size_t i = 0; i < text.length && !needs_quotes; i++)
        needs_quotes = text.data[i] && strchr(",\"\r\n", text.data[i]) != NULL;
    if (!needs_quotes) {
        nl_append(&self->line, text);
        return;
    }
    nl_append_char(&self->line, '"');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '"') nl_append_char(&self->line, '"');
        nl_append_char(&self->line, text.data[i]);
    }
    nl_append_char(&self->line, '"');
}

static void csv_header(nl_printer *self)
{
    for (uint32_t i = 0; i < self->schema->child_count; i++)
        csv_cell(self, self->schema->children[i].name, i == 0);
    nl_append_char(&self->line, '\n');
    nl_printer_flush(self);
}

/* NULL is nothing between the commas; an empty text is "", so that the two differ. */
static void csv_row(nl_printer *self, const nl_batch *batch, uint32_t row)
{
    for (uint32_t i = 0; i < batch->column_count; i++) {
        const bool is_null = nl_vector_is_null(&batch->columns[i], row);
        const nl_str text = is_null ? (nl_str){0} : nl_printer_cell(self, batch, i, row, NL_TEXT_SHOW);
        csv_cell(self, text, i == 0);
        if (!is_null && text.length == 0) nl_append_c(&self->line, "\"\"");
    }
    nl_append_char(&self->line, '\n');
    nl_printer_flush(self);
}

static void print_row(nl_printer *self, const nl_batch *batch, uint32_t row)
{
    switch (self->options->format) {
    case NL_OUTPUT_HIVE: hive_row(self, batch, row); break;
    case NL_OUTPUT_CSV: csv_row(self, batch, row); break;
    case NL_OUTPUT_JSON: nl_print_json_row(self, batch, row); break;
    case NL_OUTPUT_VERTICAL: nl_print_vertical_row(self, batch, row); break;
    case NL_OUTPUT_TABLE:
    case NL_OUTPUT_MARKDOWN: break;
    }
}

static nl_status print_rows(nl_printer *self)
{
    if (self->options->format == NL_OUTPUT_HIVE) hive_header(self);
    if (self->options->format == NL_OUTPUT_CSV) csv_header(self);
    nl_status status = NULL;
    for (bool is_done = false; !is_done && !status && !ferror(self->file);) {
        nl_batch batch = {0};
        status = nl_result_next(self->result, &batch, &is_done);
        for (uint32_t row = 0; !status && row < batch.row_count; row++, self->row_count++)
            print_row(self, &batch, row);
        nl_batch_fini(&batch);
    }
    return status;
}

nl_status nl_output_print(FILE *file, nl_result *result, const nl_output_options *options, nl_output_facts *facts)
{
    nl_printer self = {.file = file, .options = options, .result = result, .schema = nl_result_schema(result),
                       .rule = options->is_terminal ? NL_WIDTH_TERMINAL : NL_WIDTH_SPARK};
    *facts = (nl_output_facts){0};
    if (self.schema->child_count == 0) {
        if (options->format == NL_OUTPUT_HIVE && options->has_header) fputs("Response code\n", file); /* Hive's name for nothing */
        fflush(file);
        return NULL;
    }
    nl_builder_init(&self.cell, NL_CELL_BYTES_MAX);
    nl_builder_init(&self.escaped, (size_t)NL_CELL_BYTES_MAX * 2);
    nl_builder_init(&self.line, (size_t)NL_CELL_BYTES_MAX * 4);
    const bool is_box = options->format == NL_OUTPUT_TABLE || options->format == NL_OUTPUT_MARKDOWN;
    nl_status status = is_box ? nl_print_box(&self, options->format == NL_OUTPUT_MARKDOWN) : print_rows(&self);
    if (!status && (nl_builder_failed(&self.line) || nl_builder_failed(&self.cell) || nl_builder_failed(&self.escaped)))
        status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "a row is too long to be printed");
    if (fflush(file) != 0 && !self.write_error) self.write_error = errno;
    if (!status && self.write_error && self.write_error != EPIPE) status = nl_raise_errno(self.write_error, "writing", NL_STR("standard output"));
    *facts = (nl_output_facts){.row_count = self.row_count, .has_shortened = self.has_shortened};
    nl_builder_fini(&self.line);
    nl_builder_fini(&self.escaped);
    nl_builder_fini(&self.cell);
    return status;
}
