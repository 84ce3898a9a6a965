/* shell/output_box.c - tables and records for people. A box needs widths, which are taken from the first rows
 * (WIDTH_ROWS), so that a large result needs no large memory. */
#include "base/number.h"
#include "shell/output_private.h"

#define WIDTH_ROWS    4096u
#define HELD_BATCHES  512u
#define SHORTENED_MIN 8u /* a column is not made narrower to fit a window */

typedef struct box {
    nl_printer *printer;
    bool is_markdown;
    uint32_t *widths;
    nl_batch held[HELD_BATCHES]; /* the rows whose widths were taken */
    uint32_t held_count;
    uint32_t held_rows;
    bool is_done;
    bool is_fitted; /* widths were reduced: longer cells are cut */
    bool has_shortened;
} box;

static void rule(box *self)
{
    nl_builder *line = &self->printer->line;
    for (uint32_t i = 0; i < self->printer->schema->child_count; i++) {
        nl_append_char(line, '+');
        nl_append_fill(line, '-', self->widths[i]);
    }
    nl_append_c(line, "+\n");
    nl_printer_flush(self->printer);
}

static void cell(box *self, uint32_t column, nl_str text)
{
    nl_builder *line = &self->printer->line;
    const nl_width_rule width_rule = self->printer->rule;
    const uint32_t room = self->widths[column];
    uint32_t width = nl_text_width(text, width_rule);
    const bool is_cut = self->is_fitted && width > room;
    if (is_cut) {
        text = nl_text_cut(text, room - 3, width_rule);
        width = nl_text_width(text, width_rule) + 3;
        self->has_shortened = true;
    }
    nl_append_c(line, self->is_markdown ? "| " : "|");
    if (room > width) nl_append_fill(line, ' ', room - width);
    if (self->is_markdown) {
        for (size_t i = 0; i < text.length; i++) { /* a bar would end the cell */
            if (text.data[i] == '|') nl_append_char(line, '\\');
            nl_append_char(line, text.data[i]);
        }
    } else {
        nl_append(line, text);
    }
    if (is_cut) nl_append_c(line, "...");
    if (self->is_markdown) nl_append_char(line, ' ');
}

static void end_line(box *self)
{
    nl_append_c(&self->printer->line, "|\n");
    nl_printer_flush(self->printer);
}

static void header(box *self)
{
    const nl_type *schema = self->printer->schema;
    if (!self->is_markdown) rule(self);
    for (uint32_t i = 0; i < schema->child_count; i++)
        cell(self, i, nl_printer_one_line(self->printer, schema->children[i].name));
    end_line(self);
    if (!self->is_markdown) {
        rule(self);
        return;
    }
    for (uint32_t i = 0; i < schema->child_count; i++) {
        nl_append_c(&self->printer->line, "| ");
        nl_append_fill(&self->printer->line, '-', self->widths[i] - 1);
        nl_append_c(&self->printer->line, ": ");
    }
    end_line(self);
}

static void rows(box *self, const nl_batch *batch)
{
    nl_printer *printer = self->printer;
    for (uint32_t row = 0; row < batch->row_count; row++, printer->row_count++) {
        for (uint32_t i = 0; i < batch->column_count; i++)
            cell(self, i, nl_printer_one_line(printer, nl_printer_cell(printer, batch, i, row, NL_TEXT_SHOW)));
        end_line(self);
    }
}

static void widen(box *self, const nl_batch *batch)
{
    nl_printer *printer = self->printer;
    for (uint32_t i = 0; i < batch->column_count; i++)
        for (uint32_t row = 0; row < batch->row_count; row++) {
            const nl_str text = nl_printer_one_line(printer, nl_printer_cell(printer, batch, i, row, NL_TEXT_SHOW));
            self->widths[i] = NL_MAX(self->widths[i], nl_text_width(text, printer->rule));
        }
}

static nl_status hold_first_rows(box *self)
{
    nl_printer *printer = self->printer;
    for (uint32_t i = 0; i < printer->schema->child_count; i++)
        self->widths[i] = NL_MAX(NL_COLUMN_MIN, nl_text_width(printer->schema->children[i].name, printer->rule));
    while (!self->is_done && self->held_rows < WIDTH_ROWS && self->held_count < HELD_BATCHES) {
        nl_batch *batch = &self->held[self->held_count];
        NL_TRY(nl_result_next(printer->result, batch, &self->is_done));
        if (self->is_done) break;
        widen(self, batch);
        self->held_rows += batch->row_count;
        self->held_count++;
    }
    return NULL;
}

/* Takes columns from the widest until the line fits. False when it cannot. */
static bool fit(box *self)
{
    const uint32_t most = self->printer->options->columns_max, count = self->printer->schema->child_count;
    if (most == 0 || self->is_markdown) return true;
    for (;;) {
        uint64_t total = 1;
        uint32_t widest = 0, second = 0;
        for (uint32_t i = 0; i < count; i++) {
            total += self->widths[i] + 1ull;
            if (self->widths[i] > self->widths[widest]) widest = i;
        }
        if (total <= most) return true;
        for (uint32_t i = 0; i < count; i++)
            if (i != widest) second = NL_MAX(second, self->widths[i]);
        /* Down to the second widest at once, or as far as is needed. */
        const uint64_t excess = total - most;
        uint32_t floor = NL_MAX(SHORTENED_MIN, NL_MIN(second, self->widths[widest] - 1));
        if (self->widths[widest] <= SHORTENED_MIN) return false;
        if (self->widths[widest] - floor > excess) floor = self->widths[widest] - (uint32_t)excess;
        self->widths[widest] = floor;
        self->is_fitted = true;
    }
}

static nl_status rest(box *self, void (*print)(box *self, const nl_batch *batch))
{
    for (uint32_t i = 0; i < self->held_count; i++)
        print(self, &self->held[i]);
    while (!self->is_done && !ferror(self->printer->file)) {
        nl_batch batch = {0};
        nl_status status = nl_result_next(self->printer->result, &batch, &self->is_done);
        if (!status && !self->is_done) print(self, &batch);
        nl_batch_fini(&batch);
        if (status) return status;
    }
    return NULL;
}

static void records(box *self, const nl_batch *batch)
{
    for (uint32_t row = 0; row < batch->row_count; row++, self->printer->row_count++)
        nl_print_vertical_row(self->printer, batch, row);
}

static nl_status print(box *self)
{
    NL_TRY(hold_first_rows(self));
    if (!fit(self)) return rest(self, records); /* more columns than the window can show */
    /* After the first rows a wider cell would push its line out of the box. */
    if (self->printer->options->columns_max > 0) self->is_fitted = true;
    header(self);
    NL_TRY(rest(self, rows));
    if (!self->is_markdown) rule(self);
    return NULL;
}

nl_status nl_print_box(nl_printer *printer, bool is_markdown)
{
    nl_arena *arena = nl_arena_new(NULL);
    box *self = NL_NEW(arena, box);
    self->printer = printer;
    self->is_markdown = is_markdown;
    self->widths = NL_NEW_ARRAY(arena, uint32_t, printer->schema->child_count);
    nl_status status = print(self);
    printer->has_shortened = self->has_shortened;
    for (uint32_t i = 0; i < self->held_count; i++)
        nl_batch_fini(&self->held[i]);
    nl_arena_free(arena);
    return status;
}

void nl_print_vertical_row(nl_printer *self, const nl_batch *batch, uint32_t row)
{
    uint32_t name_width = NL_COLUMN_MIN;
    for (uint32_t i = 0; i < batch->column_count; i++)
        name_width = NL_MAX(name_width, nl_text_width(self->schema->children[i].name, self->rule));
    nl_append_f(&self->line, "-RECORD %llu", (unsigned long long)self->row_count);
    nl_append_fill(&self->line, '-', name_width > 4 ? name_width - 4 : 1);
    nl_append_char(&self->line, '\n');
    for (uint32_t i = 0; i < batch->column_count; i++) {
        const nl_str name = self->schema->children[i].name;
        nl_append_char(&self->line, ' ');
        nl_append(&self->line, name);
        nl_append_fill(&self->line, ' ', name_width - nl_text_width(name, self->rule));
        nl_append_c(&self->line, " | ");
        nl_append(&self->line, nl_printer_one_line(self, nl_printer_cell(self, batch, i, row, NL_TEXT_SHOW)));
        nl_append_char(&self->line, '\n');
    }
    nl_printer_flush(self);
}
