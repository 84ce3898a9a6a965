/* shell/output_json.c - rows as JSON objects, one a line. */
#include "shell/output_private.h"

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

static void json_value(nl_printer *self, const nl_value *value)
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

void nl_print_json_row(nl_printer *self, const nl_batch *batch, uint32_t row)
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
    nl_printer_flush(self);
    nl_arena_free(arena);
}
