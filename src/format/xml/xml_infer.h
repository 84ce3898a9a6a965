/* format/xml/xml_infer.h - the type an XML text seems to have, as Spark's schema_of_xml tells it. */
#pragma once

#include "format/xml/xml_options.h"
#include "format/xml/xml_tree.h"

/* For several records: the type of one, in which what was never seen is NULL; of two; and with text for what was never seen. */
const nl_type *nl_xml_infer_record(nl_arena *arena, const nl_xml_node *root, const nl_xml_options *options);
const nl_type *nl_xml_merge(nl_arena *arena, const nl_type *a, const nl_type *b, const nl_xml_options *options);
const nl_type *nl_xml_canonical(nl_arena *arena, const nl_type *type);

/* A STRUCT with its fields by name, in the arena. */
NL_MUST_USE nl_status nl_xml_infer(nl_arena *arena, const nl_xml_node *root, const nl_xml_options *options, const nl_type **type);
