/* format/xml/xml_options.c - see xml_options.h. */
#include "format/xml/xml_options.h"

static void take_text(nl_text_option_list options, const char *key, nl_str *value)
{
    const nl_str *found = nl_text_option_find(options, key);
    if (found) *value = *found;
}

static nl_status check_no_brackets(const char *option, nl_str value)
{
    if (!nl_str_starts(value, NL_STR("<")) && !nl_str_ends(value, NL_STR(">"))) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: '%s' should not include angle brackets", option);
}

static nl_status check_not_empty(const char *option, nl_str value)
{
    return value.length ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: '%s' option should not be an empty string.", option);
}

static nl_status check(const nl_xml_options *options, nl_text_option_list given)
{
    NL_TRY(check_not_empty("rowTag", options->row_tag));
    NL_TRY(check_no_brackets("rowTag", options->row_tag));
    NL_TRY(check_not_empty("rootTag", options->root_tag));
    NL_TRY(check_no_brackets("rootTag", options->root_tag));
    NL_TRY(check_no_brackets("declaration", options->declaration));
    NL_TRY(check_not_empty("valueTag", options->value_tag));
    if (nl_str_equal(options->value_tag, options->attribute_prefix))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "requirement failed: 'valueTag' and 'attributePrefix' options should not be the same.");
    if (nl_text_option_find(given, "rowValidationXSDPath"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "[UNSUPPORTED_FEATURE] nilas does not validate XML by a schema: the option rowValidationXSDPath.");
    return NULL;
}

nl_status nl_xml_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                               nl_xml_options *parsed)
{
    *parsed = (nl_xml_options){.row_tag = NL_STR("ROW"),
                               .root_tag = NL_STR("ROWS"),
                               .declaration = NL_STR("version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\""),
                               .attribute_prefix = NL_STR("_"),
                               .value_tag = NL_STR("_VALUE"),
                               .indent = NL_STR("    "),
                               .array_element_name = NL_STR("item"),
                               .wildcard_name = NL_STR("xs_any"),
                               .ignores_spaces = true,
                               .infers_schema = true};
    NL_TRY(nl_text_formats_parse(options, session, use, "XmlOptions", arena, &parsed->formats));
    if (!nl_text_option_find(options, "multiLine")) parsed->formats.is_multi_line = true;
    parsed->has_row_tag = nl_text_option_find(options, "rowTag") != NULL;
    take_text(options, "rowTag", &parsed->row_tag);
    take_text(options, "rootTag", &parsed->root_tag);
    take_text(options, "declaration", &parsed->declaration);
    take_text(options, "attributePrefix", &parsed->attribute_prefix);
    take_text(options, "valueTag", &parsed->value_tag);
    take_text(options, "nullValue", &parsed->null_value);
    take_text(options, "indent", &parsed->indent);
    take_text(options, "arrayElementName", &parsed->array_element_name);
    take_text(options, "wildcardColName", &parsed->wildcard_name);
    NL_TRY(nl_text_option_bool(options, "excludeAttribute", &parsed->excludes_attributes));
    NL_TRY(nl_text_option_bool(options, "inferSchema", &parsed->infers_schema));
    NL_TRY(nl_text_option_bool(options, "ignoreNamespace", &parsed->ignores_namespace));
    NL_TRY(nl_text_option_bool(options, "ignoreSurroundingSpaces", &parsed->ignores_spaces));
    return check(parsed, options);
}

nl_status nl_xml_file_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                                    nl_xml_options *parsed)
{
    NL_TRY(nl_xml_options_parse(options, session, use, arena, parsed));
    return parsed->has_row_tag ? NULL : NL_RAISE(XML_ROW_TAG_MISSING, NL_P("rowTag", "`rowTag`"));
}
