/* format/xml/xml_options.h - Spark's options of from_xml, to_xml and schema_of_xml. */
#pragma once

#include "format/text/text_options.h"

typedef struct nl_xml_options {
    nl_text_formats formats;
    nl_str row_tag;          /* "ROW" */
    nl_str attribute_prefix; /* "_" */
    nl_str value_tag;        /* "_VALUE" */
    nl_str null_value;       /* data NULL: none */
    nl_str indent;           /* "    "; empty: no lines */
    nl_str array_element_name; /* "item" */
    bool excludes_attributes;
    bool ignores_spaces;     /* around values; default true */
    bool infers_schema;      /* default true */
} nl_xml_options;

NL_MUST_USE nl_status nl_xml_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                                           nl_xml_options *parsed);
