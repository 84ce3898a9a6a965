/* function/xpath.h - XPath 1.0 over the trees of format/xml/xml_tree.h (W3C, XML Path Language 1.0). Names with a prefix
 * find nothing, as in Java's readers without namespaces. Private to function/.
 */
#pragma once

#include "format/xml/xml_tree.h"

typedef struct nl_xpath nl_xpath; /* a compiled expression; lives in its arena, immutable */

typedef enum nl_xpath_kind { NL_XPATH_NODES, NL_XPATH_TEXT, NL_XPATH_NUMBER, NL_XPATH_BOOLEAN } nl_xpath_kind;
typedef struct nl_xpath_value {
    nl_xpath_kind kind;
    nl_list nodes; /* const nl_xml_node *, in the document's order */
    nl_str text;
    double number;
    bool boolean;
} nl_xpath_value;

/* NULL: not an expression. */
const nl_xpath *nl_xpath_compile(nl_arena *arena, nl_str text);
/* What it gives at the document's root; in the arena, whose checkpoint tells whether memory sufficed. */
nl_xpath_value nl_xpath_evaluate(nl_arena *arena, const nl_xpath *expression, const nl_xml_node *document);
nl_str nl_xpath_text(nl_arena *arena, const nl_xpath_value *value);
double nl_xpath_number(nl_arena *arena, const nl_xpath_value *value);
bool nl_xpath_boolean(const nl_xpath_value *value);
