/* format/xml/xml_options.c - see xml_options.h. */
#include "format/xml/xml_options.h"

static void take_text(nl_text_option_list options, const char *key, nl_str *value)
{
    const nl_str *found = nl_text_option_find(options, key);
    if (found) *value = *found;
}

nl_status nl_xml_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                               nl_xml_options *parsed)
{
    *parsed = (nl_xml_options){.row_tag = NL_STR("ROW"),
                               .attribute_prefix = NL_STR("_"),
                               .value_tag = NL_STR("_VALUE"),
                               .indent = NL_STR("    "),
                               .array_element_name = NL_STR("item"),
                               .ignores_spaces = true,
                               .infers_schema = true};
    NL_TRY(nl_text_formats_parse(options, session, use, "XmlOptions", arena, &parsed->formats));
    take_text(options, "rowTag", &parsed->row_tag);
    take_text(options, "attributePrefix", &parsed->attribute_prefix);
    take_text(options, "valueTag", &parsed->value_tag);
    take_text(options, "nullValue", &parsed->null_value);
    take_text(options, "indent", &parsed->indent);
    take_text(options, "arrayElementName", &parsed->array_element_name);
    NL_TRY(nl_text_option_bool(options, "excludeAttribute", &parsed->excludes_attributes));
    NL_TRY(nl_text_option_bool(options, "inferSchema", &parsed->infers_schema));
    return nl_text_option_bool(options, "ignoreSurroundingSpaces", &parsed->ignores_spaces);
}
