/* format/xml/xml_infer.h - the type an XML text seems to have, as Spark's schema_of_xml tells it. */
#pragma once

#include "format/xml/xml_options.h"
#include "format/xml/xml_tree.h"

/* A STRUCT with its fields by name, in the arena. */
NL_MUST_USE nl_status nl_xml_infer(nl_arena *arena, const nl_xml_node *root, const nl_xml_options *options, const nl_type **type);
