/* format/xml/xml_infer.c - see xml_infer.h. Recursion is as deep as the text, which the reader bounds. */
#include "format/xml/xml_infer.h"

#include <stdlib.h>

#include "base/number.h"

typedef struct inference {
    nl_arena *arena;
    const nl_xml_options *options;
} inference;

static const nl_type *type_of_element(const inference *in, const nl_xml_node *element);

static bool is_double(nl_str text)
{
    double value;
    const char last = text.data[text.length - 1];
    const bool starts_well = (text.data[0] >= '0' && text.data[0] <= '9') || text.data[0] == '-' || text.data[0] == '+' || text.data[0] == '.';
    return starts_well && last != 'd' && last != 'D' && last != 'f' && last != 'F' && nl_parse_double(text, &value);
}

static const nl_type *type_of_text(const inference *in, nl_str text)
{
    int64_t integer;
    int32_t days;
    if (in->options->ignores_spaces) text = nl_str_trim(text);
    if (text.length == 0) return nl_type_of(NL_TYPE_NULL);
    if (!in->options->infers_schema) return nl_type_string();
    if (nl_parse_int64(text, &integer)) return nl_type_bigint();
    if (is_double(text)) return nl_type_double();
    if (nl_str_is_nocase(text, "true") || nl_str_is_nocase(text, "false")) return nl_type_boolean();
    if (nl_str_find_char(text, 'T', 0) == NL_NOT_FOUND && nl_str_find_char(text, ' ', 0) == NL_NOT_FOUND && nl_cast_date(text, &days)) return nl_type_of(NL_TYPE_DATE);
    if (nl_cast_timestamp(text, in->options->formats.zone, &integer)) return nl_type_of(NL_TYPE_TIMESTAMP);
    return nl_type_string();
}

/* Names that differ in case only are one field, called as it was first. */
static bool is_same_name(const inference *in, nl_str a, nl_str b)
{
    return in->options->formats.is_case_sensitive ? nl_str_equal(a, b) : nl_str_equal_nocase(a, b);
}

static const nl_field *find_field(const nl_type *type, nl_str name)
{
    for (uint32_t i = 0; type->id == NL_TYPE_STRUCT && i < type->child_count; i++)
        if (nl_str_equal(type->children[i].name, name)) return &type->children[i];
    return NULL;
}

static int compare_fields(const void *a, const void *b)
{
    return nl_str_compare(((const nl_field *)a)->name, ((const nl_field *)b)->name);
}

static const nl_type *merge(const inference *in, const nl_type *a, const nl_type *b);

static const nl_type *merge_structs(const inference *in, const nl_type *a, const nl_type *b)
{
    nl_field *fields = NL_NEW_ARRAY(in->arena, nl_field, a->child_count + b->child_count + 1);
    uint32_t count = a->child_count;
    if (count) memcpy(fields, a->children, count * sizeof *fields);
    for (uint32_t i = 0; i < b->child_count; i++) {
        uint32_t at = 0;
        while (at < a->child_count && !is_same_name(in, fields[at].name, b->children[i].name)) at++;
        if (at < a->child_count)
            fields[at].type = merge(in, fields[at].type, b->children[i].type);
        else
            fields[count++] = b->children[i];
    }
    qsort(fields, count, sizeof *fields, compare_fields);
    return nl_type_struct(in->arena, fields, count);
}

/* A text where others are structs with text: it is their value. */
static const nl_type *merge_value(const inference *in, const nl_type *with_value, const nl_type *text)
{
    const nl_field value = {.name = in->options->value_tag, .type = text, .is_nullable = true};
    return merge_structs(in, with_value, nl_type_struct(in->arena, &value, 1));
}

static const nl_type *merge(const inference *in, const nl_type *a, const nl_type *b)
{
    const nl_str tag = in->options->value_tag;
    if (nl_type_equal(a, b) || b->id == NL_TYPE_NULL) return a;
    if (a->id == NL_TYPE_NULL) return b;
    if (a->id == NL_TYPE_STRUCT && b->id == NL_TYPE_STRUCT) return merge_structs(in, a, b);
    if (find_field(a, tag)) return merge_value(in, a, b);
    if (find_field(b, tag)) return merge_value(in, b, a);
    if (a->id == NL_TYPE_ARRAY || b->id == NL_TYPE_ARRAY) {
        const nl_type *one = a->id == NL_TYPE_ARRAY ? a->children[0].type : a;
        const nl_type *other = b->id == NL_TYPE_ARRAY ? b->children[0].type : b;
        return nl_type_array(in->arena, merge(in, one, other), true);
    }
    if (nl_type_is_numeric(a) && nl_type_is_numeric(b)) return nl_type_double();
    if ((a->id == NL_TYPE_DATE && b->id == NL_TYPE_TIMESTAMP) || (a->id == NL_TYPE_TIMESTAMP && b->id == NL_TYPE_DATE)) return nl_type_of(NL_TYPE_TIMESTAMP);
    return nl_type_string();
}

typedef struct field_list {
    nl_field *fields;
    uint32_t count;
} field_list;

/* A name that comes again makes an array. */
static void add_field(const inference *in, field_list *list, nl_str name, const nl_type *type)
{
    for (uint32_t i = 0; i < list->count; i++) {
        nl_field *field = &list->fields[i];
        if (!is_same_name(in, field->name, name)) continue;
        const nl_type *element = field->type->id == NL_TYPE_ARRAY ? field->type->children[0].type : field->type;
        field->type = nl_type_array(in->arena, merge(in, element, type), true);
        return;
    }
    list->fields[list->count++] = (nl_field){.name = name, .type = type, .is_nullable = true};
}

static uint32_t count_parts(const nl_xml_node *element)
{
    uint32_t count = 1;
    for (const nl_xml_node *a = element->first_attribute; a; a = a->next) count++;
    for (const nl_xml_node *child = element->first_child; child; child = child->next) count++;
    return count;
}

static const nl_type *type_of_struct(const inference *in, const nl_xml_node *element)
{
    field_list list = {.fields = NL_NEW_ARRAY(in->arena, nl_field, count_parts(element))};
    for (const nl_xml_node *a = element->first_attribute; a && !in->options->excludes_attributes; a = a->next)
        add_field(in, &list, nl_arena_f(in->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(in->options->attribute_prefix), NL_STR_ARG(a->name)), type_of_text(in, a->text));
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        if (child->kind == NL_XML_ELEMENT) add_field(in, &list, child->name, type_of_element(in, child));
        if (child->kind == NL_XML_TEXT && !nl_xml_is_blank(child->text)) add_field(in, &list, in->options->value_tag, type_of_text(in, child->text));
    }
    qsort(list.fields, list.count, sizeof *list.fields, compare_fields);
    return nl_type_struct(in->arena, list.fields, list.count);
}

static const nl_type *type_of_element(const inference *in, const nl_xml_node *element)
{
    bool has_elements = false;
    const nl_xml_node *text = NULL;
    for (const nl_xml_node *child = element->first_child; child; child = child->next) {
        has_elements |= child->kind == NL_XML_ELEMENT;
        if (child->kind == NL_XML_TEXT && !nl_xml_is_blank(child->text)) text = child;
    }
    if (has_elements || (element->first_attribute && !in->options->excludes_attributes)) return type_of_struct(in, element);
    return text ? type_of_text(in, text->text) : nl_type_of(NL_TYPE_NULL);
}

/* What was never seen is text. */
const nl_type *nl_xml_canonical(nl_arena *arena, const nl_type *type)
{
    if (type->id == NL_TYPE_NULL) return nl_type_string();
    if (type->id == NL_TYPE_ARRAY) return nl_type_array(arena, nl_xml_canonical(arena, type->children[0].type), true);
    if (type->id != NL_TYPE_STRUCT) return type;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->child_count + 1);
    for (uint32_t i = 0; i < type->child_count; i++) {
        fields[i] = type->children[i];
        fields[i].type = nl_xml_canonical(arena, fields[i].type);
    }
    return nl_type_struct(arena, fields, type->child_count);
}

const nl_type *nl_xml_infer_record(nl_arena *arena, const nl_xml_node *root, const nl_xml_options *options)
{
    const inference in = {.arena = arena, .options = options};
    return type_of_struct(&in, root);
}

const nl_type *nl_xml_merge(nl_arena *arena, const nl_type *a, const nl_type *b, const nl_xml_options *options)
{
    const inference in = {.arena = arena, .options = options};
    return merge(&in, a, b);
}

nl_status nl_xml_infer(nl_arena *arena, const nl_xml_node *root, const nl_xml_options *options, const nl_type **type)
{
    *type = nl_xml_canonical(arena, nl_xml_infer_record(arena, root, options));
    return nl_arena_check(arena);
}
