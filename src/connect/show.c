/* connect/show.c - what Spark's Dataset.showString and htmlString print, character by character. */
#include "connect/show.h"

#include "base/text_width.h"
#include "column/value.h"

enum { COLUMN_MIN = 3 };

typedef struct cells {
    nl_arena *arena;
    const nl_type *schema;
    nl_list texts; /* nl_str *: names, then row after row */
    uint32_t row_count;
    bool has_more;
} cells;

/* Control characters would break a box. */
static nl_str one_line(nl_arena *arena, nl_str text)
{
    static const char escapes[] = "\a\b\n\r\t\v\f", letters[] = "abnrtvf";
    bool is_plain = true;
    for (size_t i = 0; i < text.length && is_plain; i++) is_plain = (unsigned char)text.data[i] >= 0x20;
    if (is_plain) return nl_arena_str(arena, text);
    char *made = NL_NEW_ARRAY(arena, char, 2 * text.length + 1);
    size_t length = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char *found = text.data[i] ? strchr(escapes, text.data[i]) : NULL;
        if (found) made[length++] = '\\';
        made[length++] = found ? letters[found - escapes] : text.data[i];
    }
    return (nl_str){made, length};
}

/* Characters, counted as Java does: those beyond U+FFFF are two. */
static size_t bytes_of(nl_str text, size_t characters)
{
    size_t at = 0, count = 0;
    while (at < text.length && count < characters) {
        const unsigned char c = (unsigned char)text.data[at];
        count += c >= 0xF0 ? 2 : 1;
        at += c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    }
    return NL_MIN(at, text.length);
}

static nl_str cut(nl_arena *arena, nl_str text, int32_t truncate)
{
    if (truncate <= 0 || bytes_of(text, (size_t)truncate) == text.length) return text;
    if (truncate < 4) return nl_str_slice(text, 0, bytes_of(text, (size_t)truncate));
    const nl_str kept = nl_str_slice(text, 0, bytes_of(text, (size_t)truncate - 3));
    return nl_arena_f(arena, NL_STR_FMT "...", NL_STR_ARG(kept));
}

static void add(cells *c, nl_str text)
{
    nl_str *copy = NL_NEW(c->arena, nl_str);
    *copy = text;
    nl_list_add(c->arena, &c->texts, copy);
}

static nl_str at(const cells *c, uint32_t row, uint32_t column) /* row 0: names */
{
    return *(const nl_str *)c->texts.items[(size_t)row * c->schema->child_count + column];
}

static nl_status add_rows(cells *c, const nl_batch *batch, const nl_show_options *options)
{
    const nl_text_options text_options = {.style = NL_TEXT_SHOW, .zone = options->zone};
    const nl_selection selection = nl_batch_selection(batch);
    nl_builder text;
    for (uint32_t i = 0; i < selection.count; i++) {
        if (c->row_count >= (uint32_t)NL_MAX(options->row_count, 0)) {
            c->has_more = true;
            return NULL;
        }
        for (uint32_t k = 0; k < batch->column_count; k++) {
            nl_builder_init(&text, SIZE_MAX);
            nl_vector_append_text(&batch->columns[k], nl_selection_row(selection, i), &text_options, &text);
            add(c, cut(c->arena, one_line(c->arena, nl_builder_str(&text)), options->truncate));
            nl_builder_fini(&text);
        }
        c->row_count++;
    }
    return nl_arena_check(c->arena);
}

static nl_status collect(nl_result *rows, const nl_show_options *options, cells *c)
{
    c->schema = nl_result_schema(rows);
    for (uint32_t i = 0; i < c->schema->child_count; i++) add(c, one_line(c->arena, c->schema->children[i].name));
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        NL_TRY(nl_result_next(rows, &batch, &is_done));
        nl_status status = is_done ? NULL : add_rows(c, &batch, options);
        nl_batch_fini(&batch);
        NL_TRY(status);
    }
    return NULL;
}

static void pad(nl_builder *out, nl_str text, uint32_t width, bool is_left)
{
    const uint32_t used = nl_text_width(text, NL_WIDTH_SPARK);
    if (!is_left && width > used) nl_append_fill(out, ' ', width - used);
    nl_append(out, text);
    if (is_left && width > used) nl_append_fill(out, ' ', width - used);
}

static void rule(nl_builder *out, const uint32_t *widths, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        nl_append_char(out, '+');
        nl_append_fill(out, '-', widths[i]);
    }
    nl_append_c(out, count ? "+\n" : "++\n");
}

static void box(const cells *c, const nl_show_options *options, nl_builder *out)
{
    const uint32_t count = c->schema->child_count;
    uint32_t *widths = NL_NEW_ARRAY(c->arena, uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        widths[i] = COLUMN_MIN;
        for (uint32_t row = 0; row <= c->row_count; row++) widths[i] = NL_MAX(widths[i], nl_text_width(at(c, row, i), NL_WIDTH_SPARK));
    }
    rule(out, widths, count);
    for (uint32_t row = 0; row <= c->row_count; row++) {
        nl_append_char(out, '|');
        for (uint32_t i = 0; i < count; i++) {
            pad(out, at(c, row, i), widths[i], options->truncate <= 0);
            nl_append_char(out, '|');
        }
        if (count == 0) nl_append_char(out, '|');
        nl_append_char(out, '\n');
        if (row == 0) rule(out, widths, count);
    }
    rule(out, widths, count);
}

static void records(const cells *c, nl_builder *out)
{
    const uint32_t count = c->schema->child_count;
    uint32_t name_width = COLUMN_MIN, value_width = COLUMN_MIN;
    for (uint32_t i = 0; i < count; i++) {
        name_width = NL_MAX(name_width, nl_text_width(at(c, 0, i), NL_WIDTH_SPARK));
        for (uint32_t row = 1; row <= c->row_count; row++) value_width = NL_MAX(value_width, nl_text_width(at(c, row, i), NL_WIDTH_SPARK));
    }
    for (uint32_t row = 1; row <= c->row_count; row++) {
        const nl_str title = nl_arena_f(c->arena, "-RECORD %u", row - 1);
        nl_append(out, title);
        if (name_width + value_width + 5 > title.length) nl_append_fill(out, '-', name_width + value_width + 5 - (uint32_t)title.length);
        nl_append_char(out, '\n');
        for (uint32_t i = 0; i < count; i++) {
            nl_append_char(out, ' ');
            pad(out, at(c, 0, i), name_width, true);
            nl_append_c(out, " | ");
            pad(out, at(c, row, i), value_width, true);
            nl_append_c(out, " \n");
        }
    }
}

static void footer(const cells *c, const nl_show_options *options, nl_builder *out)
{
    if (options->is_vertical && c->row_count == 0)
        nl_append_c(out, "(0 rows)");
    else if (c->has_more)
        nl_append_f(out, "only showing top %d %s", options->row_count, options->row_count == 1 ? "row" : "rows");
}

static void escape(nl_builder *out, nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        switch (text.data[i]) {
        case '&': nl_append_c(out, "&amp;"); break;
        case '<': nl_append_c(out, "&lt;"); break;
        case '>': nl_append_c(out, "&gt;"); break;
        case '"': nl_append_c(out, "&quot;"); break;
        case '\'': nl_append_c(out, "&#39;"); break;
        default: nl_append_char(out, text.data[i]);
        }
    }
}

static void table(const cells *c, nl_builder *out)
{
    nl_append_c(out, "<table border='1'>\n");
    for (uint32_t row = 0; row <= c->row_count; row++) {
        nl_append_c(out, "<tr>");
        for (uint32_t i = 0; i < c->schema->child_count; i++) {
            nl_append_c(out, row ? "<td>" : "<th>");
            escape(out, at(c, row, i));
            nl_append_c(out, row ? "</td>" : "</th>");
        }
        nl_append_c(out, "</tr>\n");
    }
    nl_append_c(out, "</table>\n");
}

static nl_status show(nl_result *rows, const nl_show_options *options, bool is_html, nl_builder *out)
{
    cells c = {.arena = nl_arena_new(NULL)};
    nl_status status = collect(rows, options, &c);
    if (!status) {
        if (is_html)
            table(&c, out);
        else if (options->is_vertical)
            records(&c, out);
        else
            box(&c, options, out);
        footer(&c, options, out);
    }
    nl_arena_free(c.arena);
    return status;
}

nl_status nl_show_text(nl_result *rows, const nl_show_options *options, nl_builder *out)
{
    return show(rows, options, false, out);
}

nl_status nl_show_html(nl_result *rows, const nl_show_options *options, nl_builder *out)
{
    return show(rows, options, true, out);
}
