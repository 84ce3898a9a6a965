/* format/xml/xml_convert.c - see xml_convert.h. Recursion is as deep as the type. */
#include "format/xml/xml_convert.h"

#include "base/limits.h"
#include "base/number.h"
#include "format/text/text_value.h"

static void drop_prefix(nl_xml_node *node)
{
    const size_t colon = nl_str_find_char(node->name, ':', 0);
    if (colon != NL_NOT_FOUND) node->name = nl_str_slice(node->name, colon + 1, node->name.length);
}

/* Over all elements in the document's order, back up by the parents. */
static void drop_prefixes(nl_xml_node *root)
{
    for (nl_xml_node *at = root; at;) {
        if (at->kind == NL_XML_ELEMENT) drop_prefix(at);
        for (nl_xml_node *a = at->first_attribute; a; a = a->next) drop_prefix(a);
        if (at->first_child) {
            at = at->first_child;
            continue;
        }
        while (at != root && !at->next) at = at->parent;
        at = at == root ? NULL : at->next;
    }
}

const nl_xml_node *nl_xml_read_record(nl_arena *arena, nl_str text, const nl_xml_options *options)
{
    const nl_xml_node *document = nl_xml_read(arena, text, true);
    nl_xml_node *root = document ? document->first_child : NULL;
    while (root && root->kind != NL_XML_ELEMENT) root = root->next;
    if (root && options->ignores_namespace) drop_prefixes(root);
    return root;
}

void nl_xml_converter_init(nl_xml_converter *converter, const nl_xml_options *options)
{
    *converter = (nl_xml_converter){.options = options};
    nl_builder_init(&converter->text, NL_VALUE_BYTES_MAX);
}

void nl_xml_converter_fini(nl_xml_converter *converter)
{
    nl_builder_fini(&converter->text);
}

static nl_status misfit(nl_xml_converter *c, nl_column_builder *builder)
{
    c->is_misfit = true;
    return nl_column_builder_null(builder);
}

static nl_str without(nl_str text, char dropped, nl_builder *out)
{
    nl_builder_clear(out);
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] != dropped) nl_append_char(out, text.data[i]);
    return nl_builder_str(out);
}

static bool parse_integer(nl_str text, const nl_type *type, int64_t *value)
{
    const uint32_t bits = nl_physical_size(type->physical) * 8;
    if (text.length && text.data[0] == '+') text = nl_str_slice(text, 1, text.length);
    return nl_parse_int64(text, value) && *value >> (bits - 1) == (*value < 0 ? -1 : 0);
}

static nl_status add_scalar(nl_xml_converter *c, nl_str text, const nl_type *type, nl_column_builder *builder)
{
    int64_t integer = 0;
    double real = 0;
    float single = 0;
    nl_value value = {.type = type};
    if (c->options->ignores_spaces || type->id != NL_TYPE_STRING) text = nl_str_trim(text);
    if (c->options->null_value.data && nl_str_equal(text, c->options->null_value)) return nl_column_builder_null(builder);
    if (type->id == NL_TYPE_STRING) return nl_column_builder_str(builder, text);
    if (type->id == NL_TYPE_BINARY) return nl_column_builder_str(builder, text);
    if (text.length == 0) return nl_column_builder_null(builder);
    if (nl_type_is_integral(type)) return parse_integer(text, type, &integer) ? nl_column_builder_i64(builder, integer) : misfit(c, builder);
    if (type->id == NL_TYPE_DOUBLE) return nl_parse_double(text, &real) ? nl_column_builder_f64(builder, real) : misfit(c, builder);
    if (type->id == NL_TYPE_FLOAT) return nl_parse_float(text, &single) ? nl_column_builder_f64(builder, (double)single) : misfit(c, builder);
    if (type->id == NL_TYPE_BOOLEAN) {
        const bool is_true = nl_str_is(text, "true") || nl_str_is(text, "1");
        if (!is_true && !nl_str_is(text, "false") && !nl_str_is(text, "0")) return misfit(c, builder);
        return nl_column_builder_i64(builder, is_true);
    }
    if (type->id == NL_TYPE_DECIMAL) text = without(text, ',', &c->text);
    if (nl_type_is_nested(type) || !nl_text_parse_value(&c->options->formats, type, text, &value)) return misfit(c, builder);
    return nl_column_builder_value(builder, &value);
}

/* The markup inside an element, as one may write it. */
static void append_inner(const nl_xml_node *node, nl_builder *out)
{
    for (const nl_xml_node *child = node->first_child; child; child = child->next) {
        if (child->kind == NL_XML_TEXT) nl_append(out, child->text);
        if (child->kind != NL_XML_ELEMENT) continue;
        nl_append_f(out, "<" NL_STR_FMT, NL_STR_ARG(child->name));
        for (const nl_xml_node *a = child->first_attribute; a; a = a->next)
            nl_append_f(out, " " NL_STR_FMT "=\"" NL_STR_FMT "\"", NL_STR_ARG(a->name), NL_STR_ARG(a->text));
        nl_append_char(out, '>');
        append_inner(child, out);
        nl_append_f(out, "</" NL_STR_FMT ">", NL_STR_ARG(child->name));
    }
}

static bool has_elements(const nl_xml_node *element)
{
    for (const nl_xml_node *child = element->first_child; child; child = child->next)
        if (child->kind == NL_XML_ELEMENT) return true;
    return false;
}

static nl_status add_element(nl_xml_converter *c, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder);

static nl_status add_text_element(nl_xml_converter *c, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder)
{
    const bool is_string = type->id == NL_TYPE_STRING;
    if (!element->first_child) {
        const bool is_null = !is_string || (c->options->null_value.data && c->options->null_value.length == 0);
        return is_null ? nl_column_builder_null(builder) : nl_column_builder_str(builder, NL_STR(""));
    }
    if (has_elements(element) && !is_string) return misfit(c, builder);
    if (!has_elements(element) && element->first_child == element->last_child) return add_scalar(c, element->first_child->text, type, builder);
    nl_builder inner;
    nl_builder_init(&inner, NL_VALUE_BYTES_MAX);
    append_inner(element, &inner);
    nl_status status = add_scalar(c, nl_builder_str(&inner), type, builder);
    nl_builder_fini(&inner);
    return status;
}

static bool is_wanted(const nl_xml_converter *c, nl_str name, nl_str field)
{
    return c->options->formats.is_case_sensitive ? nl_str_equal(name, field) : nl_str_equal_nocase(name, field);
}

/* The attribute a field with the prefix stands for, or NULL. */
static const nl_xml_node *find_attribute(const nl_xml_converter *c, const nl_xml_node *element, nl_str field)
{
    const nl_str prefix = c->options->attribute_prefix;
    if (c->options->excludes_attributes || !nl_str_starts(field, prefix)) return NULL;
    const nl_str name = nl_str_slice(field, prefix.length, field.length);
    for (const nl_xml_node *a = element->first_attribute; a; a = a->next)
        if (is_wanted(c, a->name, name)) return a;
    return NULL;
}

/* The last text of an element that is not blank. */
static const nl_xml_node *find_value(const nl_xml_node *element)
{
    for (const nl_xml_node *child = element->last_child; child; child = child->previous)
        if (child->kind == NL_XML_TEXT && !nl_xml_is_blank(child->text)) return child;
    return NULL;
}

static nl_status add_texts(nl_xml_converter *c, const nl_xml_node *element, const nl_type *array, nl_column_builder *builder)
{
    uint32_t count = 0;
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        if (child->kind != NL_XML_TEXT || nl_xml_is_blank(child->text)) continue;
        NL_TRY(add_scalar(c, child->text, array->children[0].type, nl_column_builder_child(builder, 0)));
        count++;
    }
    return nl_column_builder_end_list(builder, count);
}

static nl_status add_elements(nl_xml_converter *c, const nl_xml_node *element, const nl_field *field, nl_column_builder *builder)
{
    uint32_t count = 0;
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        if (child->kind != NL_XML_ELEMENT || !is_wanted(c, child->name, field->name)) continue;
        NL_TRY(add_element(c, child, field->type->children[0].type, nl_column_builder_child(builder, 0)));
        count++;
    }
    return count ? nl_column_builder_end_list(builder, count) : nl_column_builder_null(builder);
}

static bool is_field(const nl_xml_converter *c, const nl_type *type, nl_str name)
{
    for (uint32_t i = 0; i < type->child_count; i++)
        if (is_wanted(c, name, type->children[i].name)) return true;
    return false;
}

/* The elements that are no field of the struct: all of them, or the last one. */
static nl_status add_others(nl_xml_converter *c, const nl_xml_node *element, const nl_type *type, const nl_field *field, nl_column_builder *builder)
{
    const bool is_array = field->type->id == NL_TYPE_ARRAY;
    const nl_xml_node *last = NULL;
    uint32_t count = 0;
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        if (child->kind != NL_XML_ELEMENT || is_field(c, type, child->name)) continue;
        if (is_array) NL_TRY(add_element(c, child, field->type->children[0].type, nl_column_builder_child(builder, 0)));
        last = child;
        count++;
    }
    if (!last) return nl_column_builder_null(builder);
    return is_array ? nl_column_builder_end_list(builder, count) : add_element(c, last, field->type, builder);
}

static nl_status add_field(nl_xml_converter *c, const nl_xml_node *element, const nl_field *field, nl_column_builder *builder)
{
    const nl_xml_node *found = NULL;
    for (const nl_xml_node *child = element->last_child; child && !found; child = child->previous)
        if (child->kind == NL_XML_ELEMENT && is_wanted(c, child->name, field->name)) found = child;
    if (found && field->type->id == NL_TYPE_ARRAY) return add_elements(c, element, field, builder);
    if (found) return add_element(c, found, field->type, builder);
    found = find_attribute(c, element, field->name);
    if (!found && nl_str_equal(field->name, c->options->value_tag)) {
        found = find_value(element);
        if (found && field->type->id == NL_TYPE_ARRAY) return add_texts(c, element, field->type, builder);
    }
    return found ? add_scalar(c, found->text, field->type, builder) : nl_column_builder_null(builder);
}

static nl_status add_map(nl_xml_converter *c, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder)
{
    nl_column_builder *keys = nl_column_builder_child(builder, 0);
    nl_column_builder *values = nl_column_builder_child(builder, 1);
    uint32_t count = 0;
    if (type->children[0].type->id != NL_TYPE_STRING) return misfit(c, builder);
    for (const nl_xml_node *a = element->first_attribute; a && !c->options->excludes_attributes; a = a->next) {
        nl_builder_clear(&c->text);
        nl_append(&c->text, c->options->attribute_prefix);
        nl_append(&c->text, a->name);
        NL_TRY(nl_column_builder_str(keys, nl_builder_str(&c->text)));
        NL_TRY(add_scalar(c, a->text, type->children[1].type, values));
        count++;
    }
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        bool is_last = child->kind == NL_XML_ELEMENT;
        for (const nl_xml_node *later = child->next; later && is_last; later = later->next) is_last = !nl_str_equal(later->name, child->name);
        if (!is_last) continue;
        NL_TRY(nl_column_builder_str(keys, child->name));
        NL_TRY(add_element(c, child, type->children[1].type, values));
        count++;
    }
    return nl_column_builder_end_list(builder, count);
}

nl_status nl_xml_convert(nl_xml_converter *converter, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder)
{
    for (uint32_t i = 0; i < type->child_count; i++) {
        const nl_field *field = &type->children[i];
        if (nl_str_equal(field->name, converter->options->wildcard_name))
            NL_TRY(add_others(converter, element, type, field, nl_column_builder_child(builder, i)));
        else
            NL_TRY(add_field(converter, element, field, nl_column_builder_child(builder, i)));
    }
    return nl_column_builder_end_struct(builder);
}

static nl_status add_element(nl_xml_converter *c, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder)
{
    if (type->id == NL_TYPE_STRUCT) return nl_xml_convert(c, element, type, builder);
    if (type->id == NL_TYPE_MAP) return element->first_child || element->first_attribute ? add_map(c, element, type, builder) : nl_column_builder_null(builder);
    if (type->id == NL_TYPE_ARRAY) { /* an array of arrays: one element inside */
        NL_TRY(add_element(c, element, type->children[0].type, nl_column_builder_child(builder, 0)));
        return nl_column_builder_end_list(builder, 1);
    }
    return add_text_element(c, element, type, builder);
}
