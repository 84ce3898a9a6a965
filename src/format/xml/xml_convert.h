/* format/xml/xml_convert.h - an XML element as a row of a type, as Spark's from_xml reads it.
 *
 * Attributes are fields with a prefix, text beside elements is the field of the value tag, several elements of one name
 * are an array, or the last one counts. What does not fit its type is null.
 */
#pragma once

#include "column/value.h"
#include "format/xml/xml_options.h"
#include "format/xml/xml_tree.h"

/* The root element of a record, its names without prefixes if the options say so. NULL: it is no XML, or memory did not suffice. */
const nl_xml_node *nl_xml_read_record(nl_arena *arena, nl_str text, const nl_xml_options *options);

typedef struct nl_xml_converter {
    const nl_xml_options *options; /* borrowed */
    nl_builder text;               /* scratch */
    bool is_misfit;                /* something became null since the caller cleared it */
} nl_xml_converter;

void nl_xml_converter_init(nl_xml_converter *converter, const nl_xml_options *options);
void nl_xml_converter_fini(nl_xml_converter *converter);
/* Appends one row of `type` (a STRUCT) to `builder`. Fails for memory. */
NL_MUST_USE nl_status nl_xml_convert(nl_xml_converter *converter, const nl_xml_node *element, const nl_type *type, nl_column_builder *builder);
