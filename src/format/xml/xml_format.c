/* format/xml/xml_format.c - see xml_format.h. Recursion is as deep as the type. */
#include "format/xml/xml_format.h"

#include "base/limits.h"
#include "column/value.h"
#include "format/text/text_value.h"

typedef struct writer {
    const nl_xml_options *options;
    nl_builder *out;
    uint32_t depth;
} writer;

static void new_line(const writer *to)
{
    if (to->options->indent.length == 0) return;
    nl_append_char(to->out, '\n');
    for (uint32_t i = 0; i < to->depth; i++) nl_append(to->out, to->options->indent);
}

static void append_escaped(const writer *to, nl_str text, bool is_attribute)
{
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (c == '&')
            nl_append_c(to->out, "&amp;");
        else if (c == '<')
            nl_append_c(to->out, "&lt;");
        else if (c == '"' && is_attribute)
            nl_append_c(to->out, "&quot;");
        else if (c == '\r' || (is_attribute && (c == '\n' || c == '\t')))
            nl_append_f(to->out, "&#x%x;", (unsigned)c);
        else
            nl_append_char(to->out, c);
    }
}

static nl_status check_name(nl_str name)
{
    bool is_good = name.length > 0;
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        const bool is_start = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == ':' || (uint8_t)c >= 0x80;
        is_good &= is_start || (i > 0 && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
    }
    return is_good ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "\"" NL_STR_FMT "\" cannot be the name of an XML element or attribute.", NL_STR_ARG(name));
}

static nl_status append_scalar(const writer *to, const nl_vector *vector, uint32_t row, bool is_attribute)
{
    const nl_type_id id = vector->type->id;
    if (id == NL_TYPE_STRING || id == NL_TYPE_BINARY) {
        const nl_str text = nl_view_str((const nl_string_view *)vector->values + row);
        if (id == NL_TYPE_STRING)
            append_escaped(to, text, is_attribute);
        else
            nl_append_binary(to->out, text, to->options->formats.binary == NL_BINARY_UNSAID ? NL_BINARY_HEX_DISCRETE : to->options->formats.binary);
        return NULL;
    }
    if (id == NL_TYPE_DATE) return nl_text_append_datetime(&to->options->formats, id, ((const int32_t *)vector->values)[row], to->out);
    if (id == NL_TYPE_TIMESTAMP || id == NL_TYPE_TIMESTAMP_NTZ)
        return nl_text_append_datetime(&to->options->formats, id, ((const int64_t *)vector->values)[row], to->out);
    if (!nl_type_is_numeric(vector->type) && id != NL_TYPE_BOOLEAN) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_status status = NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A value of type " NL_STR_FMT " has no XML form.", NL_STR_ARG(nl_type_sql(arena, vector->type)));
        nl_arena_free(arena);
        return status;
    }
    nl_vector_append_text(vector, row, &(nl_text_options){.style = NL_TEXT_CAST}, to->out);
    return NULL;
}

static bool is_attribute(const writer *to, const nl_field *field)
{
    const nl_str prefix = to->options->attribute_prefix;
    return nl_str_starts(field->name, prefix) && !nl_str_equal(field->name, to->options->value_tag) && !nl_type_is_nested(field->type);
}

static nl_status append_element(writer *to, nl_str name, const nl_vector *vector, uint32_t row, bool *is_written);

static nl_status append_attributes(writer *to, const nl_vector *fields, const nl_type *type, uint32_t row)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_str name = type->children[i].name;
        const bool is_null = nl_vector_is_null(&fields[i], row);
        if (!is_attribute(to, &type->children[i]) || (is_null && !to->options->null_value.data)) continue;
        const nl_str bare = nl_str_slice(name, to->options->attribute_prefix.length, name.length);
        NL_TRY(check_name(bare));
        nl_append_f(to->out, " " NL_STR_FMT "=\"", NL_STR_ARG(bare));
        if (is_null)
            append_escaped(to, to->options->null_value, true);
        else
            NL_TRY(append_scalar(to, &fields[i], row, true));
        nl_append_char(to->out, '"');
    }
    return NULL;
}

/* Closes a start tag that has nothing inside yet. */
static void close_tag(const writer *to, bool *is_open)
{
    if (*is_open) nl_append_char(to->out, '>');
    *is_open = false;
}

static nl_status append_child(writer *to, nl_str name, const nl_vector *vector, uint32_t row, bool *is_open, bool *has_elements)
{
    bool is_written = false;
    if (vector->type->id != NL_TYPE_ARRAY) {
        if (nl_vector_is_null(vector, row) && !to->options->null_value.data) return NULL;
        close_tag(to, is_open);
        NL_TRY(append_element(to, name, vector, row, &is_written));
        *has_elements |= is_written;
        return NULL;
    }
    if (nl_vector_is_null(vector, row)) return NULL;
    const nl_list_view list = ((const nl_list_view *)vector->values)[row];
    const nl_vector *elements = &vector->children[0];
    for (uint32_t e = list.offset; e < list.offset + list.length; e++) {
        if (nl_vector_is_null(elements, e) && !to->options->null_value.data) continue;
        close_tag(to, is_open);
        NL_TRY(append_element(to, name, elements, e, &is_written));
        *has_elements |= is_written;
    }
    return NULL;
}

static nl_status append_struct(writer *to, const nl_vector *vector, uint32_t row, bool *is_open, bool *has_elements)
{
    const nl_type *type = vector->type;
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        const nl_vector *values = &vector->children[i];
        if (is_attribute(to, field)) continue;
        if (nl_str_equal(field->name, to->options->value_tag) && !nl_type_is_nested(field->type)) {
            if (nl_vector_is_null(values, row)) continue;
            close_tag(to, is_open);
            NL_TRY(append_scalar(to, values, row, false));
        } else {
            NL_TRY(append_child(to, field->name, values, row, is_open, has_elements));
        }
    }
    return NULL;
}

static nl_status append_map(writer *to, const nl_vector *vector, uint32_t row, bool *is_open, bool *has_elements)
{
    const nl_list_view list = ((const nl_list_view *)vector->values)[row];
    nl_builder name;
    nl_status status = NULL;
    nl_builder_init(&name, NL_ERROR_MESSAGE_BYTES_MAX);
    for (uint32_t e = list.offset; e < list.offset + list.length && !status; e++) {
        nl_builder_clear(&name);
        nl_vector_append_text(&vector->children[0], e, &(nl_text_options){.style = NL_TEXT_CAST}, &name);
        status = append_child(to, nl_builder_str(&name), &vector->children[1], e, is_open, has_elements);
    }
    nl_builder_fini(&name);
    return status;
}

/* The element of an ARRAY inside an array is called after the option. */
static nl_status append_content(writer *to, const nl_vector *flat, uint32_t row, bool *is_open, bool *has_elements)
{
    if (flat->type->id == NL_TYPE_STRUCT) return append_struct(to, flat, row, is_open, has_elements);
    if (flat->type->id == NL_TYPE_MAP) return append_map(to, flat, row, is_open, has_elements);
    if (flat->type->id == NL_TYPE_ARRAY) return append_child(to, to->options->array_element_name, flat, row, is_open, has_elements);
    close_tag(to, is_open);
    return append_scalar(to, flat, row, false);
}

static nl_status append_tag(writer *to, nl_str name, const nl_vector *flat, uint32_t row)
{
    bool is_open = true;
    bool has_elements = false;
    NL_TRY(check_name(name));
    nl_append_char(to->out, '<');
    nl_append(to->out, name);
    if (flat && flat->type->id == NL_TYPE_STRUCT) NL_TRY(append_attributes(to, flat->children, flat->type, row));
    to->depth++;
    if (flat) {
        NL_TRY(append_content(to, flat, row, &is_open, &has_elements));
    } else {
        close_tag(to, &is_open);
        append_escaped(to, to->options->null_value, false);
    }
    to->depth--;
    if (is_open) {
        nl_append_c(to->out, "/>");
        return NULL;
    }
    if (has_elements) new_line(to);
    nl_append_f(to->out, "</" NL_STR_FMT ">", NL_STR_ARG(name));
    return NULL;
}

static nl_status append_element(writer *to, nl_str name, const nl_vector *vector, uint32_t row, bool *is_written)
{
    *is_written = true;
    new_line(to);
    if (nl_vector_is_null(vector, row)) return append_tag(to, name, NULL, row);
    return append_tag(to, name, vector, row);
}

nl_status nl_xml_append_row(const nl_xml_options *options, const nl_vector *structs, uint32_t row, uint32_t depth, nl_builder *out)
{
    writer to = {.options = options, .out = out, .depth = depth};
    NL_ASSERT(structs->encoding == NL_FLAT);
    if (depth) new_line(&to);
    NL_TRY(append_tag(&to, options->row_tag, structs, row));
    if (options->indent.length == 0) nl_append_char(out, '\n');
    return NULL;
}
