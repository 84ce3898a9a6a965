/* storage/xml.h - the XML of S3 and STS, both ways: a strict reader that makes a small tree, and an escaper for writing.
 *
 * Read: elements, attributes, text, CDATA, comments, the declaration, numeric references and the five named ones. Refused:
 * DTDs, other entities, processing instructions, more than NL_XML_DEPTH_MAX levels, invalid UTF-8, characters that XML does
 * not allow. Names lose their prefix ("s3:Key" is "Key"). Source: W3C, XML 1.0 (fifth edition).
 */
#pragma once

#include "base/arena.h"

typedef struct nl_xml {
    nl_str name;            /* local name */
    nl_str text;            /* the character data directly inside, put together; white space stays */
    const nl_property *attributes; /* with their prefixes ("xsi:type") */
    uint32_t attribute_count;
    uint32_t child_count;
    const struct nl_xml *first_child, *next; /* in order */
} nl_xml;

/* The document's root, in the arena. Fails: NILAS_ILLEGAL_ARGUMENT with the byte offset. */
NL_MUST_USE nl_status nl_xml_parse(nl_arena *arena, nl_bytes document, const nl_xml **root);
const nl_xml *nl_xml_child(const nl_xml *parent, const char *name); /* the first of that name, or NULL; parent may be NULL */
const nl_xml *nl_xml_next(const nl_xml *element);                   /* the next sibling of the same name, or NULL */
nl_str nl_xml_text(const nl_xml *parent, const char *name);         /* of the first child of that name; data NULL: there is none */
nl_str nl_xml_attribute(const nl_xml *element, const char *name);   /* data NULL: absent */

/* Text as it may stand between tags and in attributes: & < > " ' and control characters are written as references. Those
 * that XML 1.0 cannot carry at all (below U+0020 but tab, LF, CR) become references too: S3 does the same. */
void nl_xml_append(nl_builder *builder, nl_str text);
/* <name>text</name> */
void nl_xml_append_element(nl_builder *builder, const char *name, nl_str text);
