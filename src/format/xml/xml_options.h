/* format/xml/xml_options.h - Spark's options of XML files and of from_xml, to_xml and schema_of_xml. */
#pragma once

#include "format/text/text_options.h"

typedef struct nl_xml_options {
    nl_text_formats formats; /* multiLine is true unless it is given */
    nl_str row_tag;          /* "ROW" */
    bool has_row_tag;        /* it is given, as files want it */
    nl_str root_tag;         /* "ROWS"; attributes may follow the name */
    nl_str declaration;      /* empty: none */
    nl_str attribute_prefix; /* "_" */
    nl_str value_tag;        /* "_VALUE" */
    nl_str null_value;       /* data NULL: none */
    nl_str indent;           /* "    "; empty: no lines */
    nl_str array_element_name; /* "item" */
    nl_str wildcard_name;    /* "xs_any": the field that takes elements that are no field */
    bool excludes_attributes;
    bool ignores_spaces;     /* around values; default true */
    bool infers_schema;      /* default true */
    bool ignores_namespace;  /* names lose their prefix */
} nl_xml_options;

/* Fails: NILAS_ILLEGAL_ARGUMENT for tags that cannot be; NILAS_UNSUPPORTED for rowValidationXSDPath. */
NL_MUST_USE nl_status nl_xml_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                                           nl_xml_options *parsed);
/* For files: the option rowTag must be there. Fails: XML_ROW_TAG_MISSING. */
NL_MUST_USE nl_status nl_xml_file_options_parse(nl_text_option_list options, const nl_text_session *session, nl_text_use use, nl_arena *arena,
                                                nl_xml_options *parsed);
