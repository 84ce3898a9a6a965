/* shell/output.c - the printed forms of a result. Rows are printed as they come; the box of `table` needs widths, which
 * are taken from the first rows (WIDTH_ROWS), so that a large result needs no large memory. */
#include "shell/output.h"

#include <errno.h>
#include <stdlib.h>

#include "base/number.h"

#define CELL_BYTES_MAX (64u << 20)
#define WIDTH_ROWS     4096u
#define COLUMN_MIN     3u /* show() makes no column narrower */
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

/* Columns a terminal needs: East Asian wide characters take two, as Spark counts them. */
static uint32_t display_width(nl_str text)
{
    uint32_t width = 0;
    for (size_t at = 0; at < text.length;) {
        const uint32_t c = nl_utf8_decode(text, &at);
        const bool is_wide = (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7A3) ||
                             (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFE30 && c <= 0xFE4F) || (c >= 0xFF00 && c <= 0xFF60) ||
                             (c >= 0xFFE0 && c <= 0xFFE6);
        width += is_wide ? 2 : 1;
    }
    return width;
}

typedef struct printer {
    FILE *file;
    const nl_output_options *options;
    const nl_type *schema;
    nl_builder cell;
    nl_builder line;
    uint32_t *widths;
    uint64_t row_count;
} printer;

static void flush_line(printer *self)
{
    fwrite(self->line.data, 1, self->line.length, self->file);
    nl_builder_clear(&self->line);
}

static nl_str cell_text(printer *self, const nl_batch *batch, uint32_t column, uint32_t row, nl_text_style style)
{
    const nl_text_options text = {.style = style, .zone = self->options->zone};
    nl_builder_clear(&self->cell);
    nl_vector_append_text(&batch->columns[column], row, &text, &self->cell);
    return nl_builder_str(&self->cell);
}

/* ---- spark-sql's own form -------------------------------------------------------------------------------------- */

static void hive_header(printer *self)
{
    if (!self->options->has_header) return;
    for (uint32_t i = 0; i < self->schema->child_count; i++) {
        if (i) nl_append_char(&self->line, '\t');
        nl_append(&self->line, self->schema->children[i].name);
    }
    nl_append_char(&self->line, '\n');
    flush_line(self);
}

static void hive_row(printer *self, const nl_batch *batch, uint32_t row, bool is_padded)
{
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (i) nl_append_char(&self->line, '\t');
        const nl_str text = cell_text(self, batch, i, row, NL_TEXT_HIVE);
        nl_append(&self->line, text);
        const size_t characters = nl_utf8_length(text);
        if (is_padded && characters < DESCRIBE_WIDTH) nl_append_fill(&self->line, ' ', DESCRIBE_WIDTH - characters);
    }
    nl_append_char(&self->line, '\n');
    flush_line(self);
}

/* ---- csv ------------------------------------------------------------------------------------------------------- */

static void csv_cell(printer *self, nl_str text, bool is_first)
{
    if (!is_first) nl_append_char(&self->line, ',');
    bool needs_quotes = false;
    for (size_t i = 0; i < text.length && !needs_quotes; i++)
        needs_quotes = strchr(",\"\r\n", text.data[i]) != NULL;
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

static void csv_header(printer *self)
{
    for (uint32_t i = 0; i < self->schema->child_count; i++)
        csv_cell(self, self->schema->children[i].name, i == 0);
    nl_append_char(&self->line, '\n');
    flush_line(self);
}

static void csv_row(printer *self, const nl_batch *batch, uint32_t row)
{
    for (uint32_t i = 0; i < batch->column_count; i++)
        csv_cell(self, nl_vector_is_null(&batch->columns[i], row) ? (nl_str){0} : cell_text(self, batch, i, row, NL_TEXT_SHOW), i == 0);
    nl_append_char(&self->line, '\n');
    flush_line(self);
}

/* ---- json ------------------------------------------------------------------------------------------------------ */

static void append_json_string(nl_builder *out, nl_str text)
{
    nl_append_char(out, '"');
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        switch (c) {
        case '"': nl_append_c(out, "\\\""); break;
        case '\\': nl_append_c(out, "\\\\"); break;
        case '\n': nl_append_c(out, "\\n"); break;
        case '\r': nl_append_c(out, "\\r"); break;
        case '\t': nl_append_c(out, "\\t"); break;
        default:
            if (c < 0x20)
                nl_append_f(out, "\\u%04x", c);
            else
                nl_append_char(out, (char)c);
        }
    }
    nl_append_char(out, '"');
}

static bool is_bare_in_json(const nl_value *value)
{
    if (value->type->id == NL_TYPE_BOOLEAN) return true;
    if (value->type->id == NL_TYPE_FLOAT || value->type->id == NL_TYPE_DOUBLE) return value->real - value->real == 0; /* finite */
    return nl_type_is_numeric(value->type);
}

static void json_value(printer *self, const nl_value *value)
{
    nl_builder *out = &self->line;
    if (value->is_null) {
        nl_append_c(out, "null");
    } else if (value->type->id == NL_TYPE_ARRAY) {
        nl_append_char(out, '[');
        for (uint32_t i = 0; i < value->list.count; i++) {
            if (i) nl_append_char(out, ',');
            json_value(self, &value->list.items[i]);
        }
        nl_append_char(out, ']');
    } else if (value->type->id == NL_TYPE_STRUCT || value->type->id == NL_TYPE_MAP) {
        const bool is_map = value->type->id == NL_TYPE_MAP;
        nl_append_char(out, '{');
        for (uint32_t i = 0; i < value->list.count; i += is_map ? 2 : 1) {
            if (i) nl_append_char(out, ',');
            nl_builder_clear(&self->cell);
            const nl_text_options text = {.style = NL_TEXT_SHOW, .zone = self->options->zone};
            if (is_map)
                nl_value_append_text(&value->list.items[i], &text, &self->cell);
            else
                nl_append(&self->cell, value->type->children[i].name);
            append_json_string(out, nl_builder_str(&self->cell));
            nl_append_char(out, ':');
            json_value(self, &value->list.items[i + is_map]);
        }
        nl_append_char(out, '}');
    } else {
        const nl_text_options text = {.style = NL_TEXT_SHOW, .zone = self->options->zone};
        nl_builder_clear(&self->cell);
        nl_value_append_text(value, &text, &self->cell);
        if (is_bare_in_json(value) || value->type->id == NL_TYPE_VARIANT)
            nl_append(out, nl_builder_str(&self->cell));
        else
            append_json_string(out, nl_builder_str(&self->cell));
    }
}

static void json_row(printer *self, const nl_batch *batch, uint32_t row)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_append_char(&self->line, '{');
    for (uint32_t i = 0; i < batch->column_count; i++) {
        if (i) nl_append_char(&self->line, ',');
        append_json_string(&self->line, self->schema->children[i].name);
        nl_append_char(&self->line, ':');
        const nl_value value = nl_vector_value(&batch->columns[i], row, arena);
        json_value(self, &value);
    }
    nl_append_c(&self->line, "}\n");
    flush_line(self);
    nl_arena_free(arena);
}

/* ---- box and markdown ------------------------------------------------------------------------------------------ */

/* Control characters would break the box: show() writes them as escapes. */
static nl_str one_line(printer *self, nl_str text, nl_builder *escaped)
{
    (void)self;
    bool is_plain = true;
    for (size_t i = 0; i < text.length && is_plain; i++)
        is_plain = (unsigned char)text.data[i] >= 0x20;
    if (is_plain) return text;
    nl_builder_clear(escaped);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const char *const escapes = "\a\b\n\r\t\v\f", *const letters = "abnrtvf";
        const char *found = c ? strchr(escapes, c) : NULL;
        if (found)
            nl_append_f(escaped, "\\%c", letters[found - escapes]);
        else
            nl_append_char(escaped, c);
    }
    return nl_builder_str(escaped);
}

static void box_rule(printer *self)
{
    for (uint32_t i = 0; i < self->schema->child_count; i++) {
        nl_append_char(&self->line, '+');
        nl_append_fill(&self->line, '-', self->widths[i]);
    }
    nl_append_c(&self->line, "+\n");
    flush_line(self);
}

static void box_cell(printer *self, uint32_t column, nl_str text, bool is_markdown)
{
    const uint32_t width = display_width(text);
    nl_append_c(&self->line, is_markdown ? "| " : "|");
    if (self->widths[column] > width) nl_append_fill(&self->line, ' ', self->widths[column] - width);
    nl_append(&self->line, text);
    if (is_markdown) nl_append_char(&self->line, ' ');
}

static void box_header(printer *self, bool is_markdown)
{
    if (!is_markdown) box_rule(self);
    for (uint32_t i = 0; i < self->schema->child_count; i++)
        box_cell(self, i, self->schema->children[i].name, is_markdown);
    nl_append_c(&self->line, "|\n");
    flush_line(self);
    if (!is_markdown) {
        box_rule(self);
        return;
    }
    for (uint32_t i = 0; i < self->schema->child_count; i++) {
        nl_append_c(&self->line, "| ");
        nl_append_fill(&self->line, '-', self->widths[i] - 1);
        nl_append_c(&self->line, ": ");
    }
    nl_append_c(&self->line, "|\n");
    flush_line(self);
}

static void box_row(printer *self, const nl_batch *batch, uint32_t row, bool is_markdown, nl_builder *escaped)
{
    for (uint32_t i = 0; i < batch->column_count; i++)
        box_cell(self, i, one_line(self, cell_text(self, batch, i, row, NL_TEXT_SHOW), escaped), is_markdown);
    nl_append_c(&self->line, "|\n");
    flush_line(self);
}

static void widen(printer *self, const nl_batch *batch, nl_builder *escaped)
{
    for (uint32_t i = 0; i < batch->column_count; i++)
        for (uint32_t row = 0; row < batch->row_count; row++) {
            const uint32_t width = display_width(one_line(self, cell_text(self, batch, i, row, NL_TEXT_SHOW), escaped));
            self->widths[i] = NL_MAX(self->widths[i], width);
        }
}

static void vertical_row(printer *self, const nl_batch *batch, uint32_t row, nl_builder *escaped)
{
    uint32_t name_width = COLUMN_MIN;
    for (uint32_t i = 0; i < batch->column_count; i++)
        name_width = NL_MAX(name_width, display_width(self->schema->children[i].name));
    nl_append_f(&self->line, "-RECORD %llu", (unsigned long long)self->row_count);
    nl_append_fill(&self->line, '-', name_width > 4 ? name_width - 4 : 1);
    nl_append_char(&self->line, '\n');
    for (uint32_t i = 0; i < batch->column_count; i++) {
        const nl_str name = self->schema->children[i].name;
        nl_append_char(&self->line, ' ');
        nl_append(&self->line, name);
        nl_append_fill(&self->line, ' ', name_width - display_width(name));
        nl_append_c(&self->line, " | ");
        nl_append(&self->line, one_line(self, cell_text(self, batch, i, row, NL_TEXT_SHOW), escaped));
        nl_append_char(&self->line, '\n');
    }
    flush_line(self);
}

/* Takes in batches until WIDTH_ROWS rows are there, then prints everything with the widths found. */
static nl_status print_box(printer *self, nl_result *result, bool is_markdown)
{
    nl_builder escaped;
    nl_builder_init(&escaped, CELL_BYTES_MAX);
    nl_batch held[WIDTH_ROWS / 8] = {{0}};
    uint32_t held_count = 0, held_rows = 0;
    bool is_done = false;
    nl_status status = NULL;
    for (uint32_t i = 0; i < self->schema->child_count; i++)
        self->widths[i] = NL_MAX(COLUMN_MIN, display_width(self->schema->children[i].name));
    while (!is_done && held_rows < WIDTH_ROWS && held_count < NL_COUNT(held)) {
        NL_GO(nl_result_next(result, &held[held_count], &is_done));
        if (is_done) break;
        widen(self, &held[held_count], &escaped);
        held_rows += held[held_count++].row_count;
    }
    box_header(self, is_markdown);
    for (uint32_t i = 0; i < held_count; i++)
        for (uint32_t row = 0; row < held[i].row_count; row++, self->row_count++)
            box_row(self, &held[i], row, is_markdown, &escaped);
    while (!is_done) {
        nl_batch batch = {0};
        NL_GO(nl_result_next(result, &batch, &is_done));
        for (uint32_t row = 0; row < batch.row_count; row++, self->row_count++)
            box_row(self, &batch, row, is_markdown, &escaped);
        nl_batch_fini(&batch);
    }
    if (!is_markdown) box_rule(self);
done:
    for (uint32_t i = 0; i < held_count; i++)
        nl_batch_fini(&held[i]);
    nl_builder_fini(&escaped);
    return status;
}

static void print_row(printer *self, nl_result *result, const nl_batch *batch, uint32_t row, nl_builder *escaped)
{
    switch (self->options->format) {
    case NL_OUTPUT_HIVE: hive_row(self, batch, row, nl_result_kind_of(result) == NL_RESULT_DESCRIBE); break;
    case NL_OUTPUT_CSV: csv_row(self, batch, row); break;
    case NL_OUTPUT_JSON: json_row(self, batch, row); break;
    case NL_OUTPUT_VERTICAL: vertical_row(self, batch, row, escaped); break;
    case NL_OUTPUT_TABLE:
    case NL_OUTPUT_MARKDOWN: break;
    }
}

static nl_status print_rows(printer *self, nl_result *result)
{
    nl_builder escaped;
    nl_builder_init(&escaped, CELL_BYTES_MAX);
    if (self->options->format == NL_OUTPUT_HIVE) hive_header(self);
    if (self->options->format == NL_OUTPUT_CSV) csv_header(self);
    nl_status status = NULL;
    for (bool is_done = false; !is_done && !status && !ferror(self->file);) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        for (uint32_t row = 0; !status && row < batch.row_count; row++, self->row_count++)
            print_row(self, result, &batch, row, &escaped);
        nl_batch_fini(&batch);
    }
    nl_builder_fini(&escaped);
    return status;
}

nl_status nl_output_print(FILE *file, nl_result *result, const nl_output_options *options, uint64_t *row_count)
{
    printer self = {.file = file, .options = options, .schema = nl_result_schema(result)};
    *row_count = 0;
    if (self.schema->child_count == 0) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    self.widths = NL_NEW_ARRAY(arena, uint32_t, self.schema->child_count);
    nl_builder_init(&self.cell, CELL_BYTES_MAX);
    nl_builder_init(&self.line, CELL_BYTES_MAX * 4);
    const bool is_box = options->format == NL_OUTPUT_TABLE || options->format == NL_OUTPUT_MARKDOWN;
    nl_status status = is_box ? print_box(&self, result, options->format == NL_OUTPUT_MARKDOWN) : print_rows(&self, result);
    if (!status && (nl_builder_failed(&self.line) || nl_builder_failed(&self.cell)))
        status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "a row is too long to be printed");
    fflush(file);
    nl_builder_fini(&self.cell);
    nl_builder_fini(&self.line);
    nl_arena_free(arena);
    *row_count = self.row_count;
    return status;
}
