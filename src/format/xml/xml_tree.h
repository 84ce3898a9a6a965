/* format/xml/xml_tree.h - XML text as a tree of nodes, as lenient as Java's readers: a document type is read over (its
 * plain text entities count), processing instructions are dropped, names keep their prefix.
 */
#pragma once

#include "base/arena.h"

typedef enum nl_xml_kind { NL_XML_DOCUMENT, NL_XML_ELEMENT, NL_XML_TEXT, NL_XML_COMMENT, NL_XML_ATTRIBUTE } nl_xml_kind;

typedef struct nl_xml_node nl_xml_node;
struct nl_xml_node {
    nl_xml_kind kind;
    nl_str name;                  /* ELEMENT, ATTRIBUTE */
    nl_str text;                  /* TEXT, COMMENT, ATTRIBUTE: decoded */
    nl_xml_node *parent;          /* of an attribute: its element */
    nl_xml_node *first_child, *last_child;
    nl_xml_node *previous, *next; /* siblings; of an attribute the other attributes */
    nl_xml_node *first_attribute;
    uint32_t place;               /* in the document's order */
};

/* The document of the first root element; what follows it is not looked at when `is_first_only`. NULL: not XML. The
 * arena's checkpoint tells whether memory sufficed. */
nl_xml_node *nl_xml_read(nl_arena *arena, nl_str text, bool is_first_only);
/* All text below a node, or its own. */
void nl_xml_append_text(const nl_xml_node *node, nl_builder *out);
bool nl_xml_is_blank(nl_str text);
