/* function/xpath_internal.h - the compiled form of XPath expressions. Private to function/xpath*.c. */
#pragma once

#include "function/xpath.h"

typedef enum xpath_node_kind {
    XPATH_OR, XPATH_AND, XPATH_EQUAL, XPATH_UNEQUAL, XPATH_LESS, XPATH_LESS_EQUAL, XPATH_GREATER, XPATH_GREATER_EQUAL,
    XPATH_ADD, XPATH_SUBTRACT, XPATH_MULTIPLY, XPATH_DIVIDE, XPATH_MODULO, XPATH_NEGATE, XPATH_UNION,
    XPATH_LITERAL, XPATH_CONSTANT, XPATH_CALL, XPATH_PATH
} xpath_node_kind;

typedef enum xpath_axis {
    AXIS_CHILD, AXIS_DESCENDANT, AXIS_DESCENDANT_OR_SELF, AXIS_SELF, AXIS_PARENT, AXIS_ANCESTOR, AXIS_ANCESTOR_OR_SELF,
    AXIS_FOLLOWING_SIBLING, AXIS_PRECEDING_SIBLING, AXIS_FOLLOWING, AXIS_PRECEDING, AXIS_ATTRIBUTE, AXIS_NAMESPACE
} xpath_axis;

typedef enum xpath_test { TEST_NAME, TEST_ANY_NAME, TEST_NODE, TEST_TEXT, TEST_COMMENT, TEST_NOTHING } xpath_test;

typedef struct xpath_step {
    xpath_axis axis;
    xpath_test test;
    nl_str name;
    nl_list predicates; /* nl_xpath * */
} xpath_step;

typedef enum xpath_function {
    FUNCTION_LAST, FUNCTION_POSITION, FUNCTION_COUNT, FUNCTION_LOCAL_NAME, FUNCTION_NAME, FUNCTION_STRING, FUNCTION_CONCAT,
    FUNCTION_STARTS_WITH, FUNCTION_CONTAINS, FUNCTION_SUBSTRING_BEFORE, FUNCTION_SUBSTRING_AFTER, FUNCTION_SUBSTRING,
    FUNCTION_STRING_LENGTH, FUNCTION_NORMALIZE_SPACE, FUNCTION_TRANSLATE, FUNCTION_BOOLEAN, FUNCTION_NOT, FUNCTION_TRUE,
    FUNCTION_FALSE, FUNCTION_NUMBER, FUNCTION_SUM, FUNCTION_FLOOR, FUNCTION_CEILING, FUNCTION_ROUND
} xpath_function;

struct nl_xpath {
    xpath_node_kind kind;
    xpath_function function;
    const nl_xpath *left, *right; /* PATH: left is where it starts, or NULL: the context */
    nl_str text;
    double number;
    nl_list arguments;  /* CALL */
    bool is_absolute;   /* PATH */
    nl_list predicates; /* PATH with a start: of the start */
    nl_list steps;      /* xpath_step * */
};

double nl_xpath_parse_number(nl_str text); /* NaN when it is none */
