/* function/xpath.c - compiling XPath expressions; see xpath.h. A parenthesis costs a level of the stack: there is a limit. */
#include "function/xpath.h"

#include <math.h>

#include "base/number.h"
#include "function/xpath_internal.h"

enum { NESTING_MAX = 64 };

typedef struct parser {
    nl_arena *arena;
    nl_str text;
    size_t at;
    uint32_t depth;
    bool is_bad;
} parser;

static const nl_xpath *parse_or(parser *in);

static bool is_name_char(char c, bool is_first)
{
    const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (uint8_t)c >= 0x80;
    return is_letter || (!is_first && ((c >= '0' && c <= '9') || c == '-' || c == '.'));
}

static void skip_space(parser *in)
{
    while (in->at < in->text.length && strchr(" \t\r\n", in->text.data[in->at])) in->at++;
}

/* The character `ahead` of the place, or NUL. */
static char look(const parser *in, size_t ahead)
{
    return in->at + ahead < in->text.length ? in->text.data[in->at + ahead] : 0;
}

static bool take(parser *in, const char *token)
{
    skip_space(in);
    if (!nl_str_starts(nl_str_slice(in->text, in->at, in->text.length), nl_str_from(token))) return false;
    in->at += strlen(token);
    return true;
}

/* A word that is an operator here: nothing of a name follows it. */
static bool take_word(parser *in, const char *word)
{
    const size_t before = in->at;
    if (!take(in, word)) return false;
    if (!is_name_char(look(in, 0), false)) return true;
    in->at = before;
    return false;
}

static nl_str read_name(parser *in)
{
    const size_t start = in->at;
    while (is_name_char(look(in, 0), in->at == start)) in->at++;
    return nl_str_slice(in->text, start, in->at);
}

static const nl_xpath *fail(parser *in)
{
    in->is_bad = true;
    nl_xpath *node = NL_NEW(in->arena, nl_xpath);
    node->kind = XPATH_CONSTANT;
    return node;
}

static const nl_xpath *binary(parser *in, xpath_node_kind kind, const nl_xpath *left, const nl_xpath *right)
{
    nl_xpath *node = NL_NEW(in->arena, nl_xpath);
    *node = (nl_xpath){.kind = kind, .left = left, .right = right};
    return node;
}

double nl_xpath_parse_number(nl_str text)
{
    double value;
    bool has_digit = false, has_point = false;
    text = nl_str_trim(text);
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        if (c >= '0' && c <= '9')
            has_digit = true;
        else if (c == '.' && !has_point)
            has_point = true;
        else if (c != '-' || i > 0)
            return (double)NAN;
    }
    return has_digit && nl_parse_double(text, &value) ? value : (double)NAN;
}

/* --- steps --- */

static void parse_predicates(parser *in, nl_list *predicates)
{
    while (!in->is_bad && take(in, "[")) {
        nl_list_add(in->arena, predicates, (void *)(uintptr_t)parse_or(in));
        if (!take(in, "]")) in->is_bad = true;
    }
}

static bool find_axis(nl_str name, xpath_axis *axis)
{
    static const char *const names[] = {"child", "descendant", "descendant-or-self", "self", "parent", "ancestor", "ancestor-or-self",
                                        "following-sibling", "preceding-sibling", "following", "preceding", "attribute", "namespace"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is(name, names[i])) continue;
        *axis = (xpath_axis)i;
        return true;
    }
    return false;
}

static void parse_test(parser *in, xpath_step *step)
{
    skip_space(in);
    if (look(in, 0) == '*') {
        in->at++;
        step->test = TEST_ANY_NAME;
        return;
    }
    step->name = read_name(in);
    if (step->name.length == 0) {
        in->is_bad = true;
    } else if (look(in, 0) == ':' && look(in, 1) != ':') { /* a prefix */
        in->at++;
        if (look(in, 0) == '*')
            in->at++;
        else if (read_name(in).length == 0)
            in->is_bad = true;
        step->test = TEST_NOTHING;
    } else if (take(in, "(")) {
        if (nl_str_is(step->name, "text")) step->test = TEST_TEXT;
        else if (nl_str_is(step->name, "node")) step->test = TEST_NODE;
        else if (nl_str_is(step->name, "comment")) step->test = TEST_COMMENT;
        else if (nl_str_is(step->name, "processing-instruction")) step->test = TEST_NOTHING;
        else in->is_bad = true;
        if (!take(in, ")")) in->is_bad = true;
    }
}

static xpath_step *add_step(parser *in, nl_xpath *path, xpath_axis axis, xpath_test test)
{
    xpath_step *step = NL_NEW(in->arena, xpath_step);
    *step = (xpath_step){.axis = axis, .test = test};
    nl_list_add(in->arena, &path->steps, step);
    return step;
}

static void parse_step(parser *in, nl_xpath *path)
{
    if (take(in, "..")) {
        add_step(in, path, AXIS_PARENT, TEST_NODE);
        return;
    }
    skip_space(in);
    if (look(in, 0) == '.' && !(look(in, 1) >= '0' && look(in, 1) <= '9')) {
        in->at++;
        add_step(in, path, AXIS_SELF, TEST_NODE);
        return;
    }
    xpath_step *step = add_step(in, path, AXIS_CHILD, TEST_NAME);
    if (take(in, "@")) {
        step->axis = AXIS_ATTRIBUTE;
    } else {
        const size_t before = in->at;
        skip_space(in);
        const nl_str name = read_name(in);
        if (!take(in, "::"))
            in->at = before;
        else if (!find_axis(name, &step->axis))
            in->is_bad = true;
    }
    parse_test(in, step);
    parse_predicates(in, &step->predicates);
}

/* Steps after the first slash, if any. */
static void parse_steps(parser *in, nl_xpath *path)
{
    parse_step(in, path);
    while (!in->is_bad) {
        if (take(in, "//"))
            add_step(in, path, AXIS_DESCENDANT_OR_SELF, TEST_NODE);
        else if (!take(in, "/"))
            return;
        parse_step(in, path);
    }
}

static bool starts_step(const parser *in)
{
    const char c = look(in, 0);
    return c == '.' || c == '@' || c == '*' || is_name_char(c, true);
}

/* --- primaries --- */

static const struct {
    const char *name;
    xpath_function function;
    uint8_t count_min, count_max;
} functions[] = {
    {"last", FUNCTION_LAST, 0, 0},
    {"position", FUNCTION_POSITION, 0, 0},
    {"count", FUNCTION_COUNT, 1, 1},
    {"local-name", FUNCTION_LOCAL_NAME, 0, 1},
    {"name", FUNCTION_NAME, 0, 1},
    {"string", FUNCTION_STRING, 0, 1},
    {"concat", FUNCTION_CONCAT, 2, 255},
    {"starts-with", FUNCTION_STARTS_WITH, 2, 2},
    {"contains", FUNCTION_CONTAINS, 2, 2},
    {"substring-before", FUNCTION_SUBSTRING_BEFORE, 2, 2},
    {"substring-after", FUNCTION_SUBSTRING_AFTER, 2, 2},
    {"substring", FUNCTION_SUBSTRING, 2, 3},
    {"string-length", FUNCTION_STRING_LENGTH, 0, 1},
    {"normalize-space", FUNCTION_NORMALIZE_SPACE, 0, 1},
    {"translate", FUNCTION_TRANSLATE, 3, 3},
    {"boolean", FUNCTION_BOOLEAN, 1, 1},
    {"not", FUNCTION_NOT, 1, 1},
    {"true", FUNCTION_TRUE, 0, 0},
    {"false", FUNCTION_FALSE, 0, 0},
    {"number", FUNCTION_NUMBER, 0, 1},
    {"sum", FUNCTION_SUM, 1, 1},
    {"floor", FUNCTION_FLOOR, 1, 1},
    {"ceiling", FUNCTION_CEILING, 1, 1},
    {"round", FUNCTION_ROUND, 1, 1},
};

/* name( that is no test of nodes: a call. */
static bool is_call(parser *in)
{
    const size_t before = in->at;
    const nl_str name = read_name(in);
    const bool is_open = name.length && take(in, "(");
    in->at = before;
    return is_open && !nl_str_is(name, "text") && !nl_str_is(name, "node") && !nl_str_is(name, "comment") &&
           !nl_str_is(name, "processing-instruction");
}

static const nl_xpath *parse_call(parser *in)
{
    nl_xpath *node = NL_NEW(in->arena, nl_xpath);
    const nl_str name = read_name(in);
    node->kind = XPATH_CALL;
    if (!take(in, "(")) return fail(in);
    if (!take(in, ")")) {
        do nl_list_add(in->arena, &node->arguments, (void *)(uintptr_t)parse_or(in));
        while (!in->is_bad && take(in, ","));
        if (!take(in, ")")) return fail(in);
    }
    for (size_t i = 0; i < NL_COUNT(functions); i++) {
        if (!nl_str_is(name, functions[i].name)) continue;
        node->function = functions[i].function;
        const uint32_t count = node->arguments.count;
        return count >= functions[i].count_min && count <= functions[i].count_max ? node : fail(in);
    }
    return fail(in);
}

static const nl_xpath *parse_literal(parser *in, char quote)
{
    nl_xpath *node = NL_NEW(in->arena, nl_xpath);
    const size_t stop = nl_str_find_char(in->text, quote, in->at + 1);
    if (stop == NL_NOT_FOUND) return fail(in);
    *node = (nl_xpath){.kind = XPATH_LITERAL, .text = nl_str_slice(in->text, in->at + 1, stop)};
    in->at = stop + 1;
    return node;
}

static const nl_xpath *parse_constant(parser *in)
{
    nl_xpath *node = NL_NEW(in->arena, nl_xpath);
    const size_t start = in->at;
    while ((look(in, 0) >= '0' && look(in, 0) <= '9') || look(in, 0) == '.') in->at++;
    *node = (nl_xpath){.kind = XPATH_CONSTANT, .number = nl_xpath_parse_number(nl_str_slice(in->text, start, in->at))};
    return isnan(node->number) ? fail(in) : node;
}

static const nl_xpath *parse_primary(parser *in, char c)
{
    if (c == '"' || c == '\'') return parse_literal(in, c);
    if (c == '(') {
        in->at++;
        const nl_xpath *inner = parse_or(in);
        return take(in, ")") ? inner : fail(in);
    }
    return is_name_char(c, true) ? parse_call(in) : parse_constant(in);
}

static const nl_xpath *parse_path(parser *in)
{
    nl_xpath *path = NL_NEW(in->arena, nl_xpath);
    path->kind = XPATH_PATH;
    skip_space(in);
    const char c = look(in, 0);
    const bool is_number = (c >= '0' && c <= '9') || (c == '.' && look(in, 1) >= '0' && look(in, 1) <= '9');
    if (is_number || c == '"' || c == '\'' || c == '(' || is_call(in)) {
        path->left = parse_primary(in, c);
        parse_predicates(in, &path->predicates);
        const bool is_deep = take(in, "//");
        if (is_deep) add_step(in, path, AXIS_DESCENDANT_OR_SELF, TEST_NODE);
        if (is_deep || take(in, "/")) parse_steps(in, path);
        return path->steps.count || path->predicates.count ? path : path->left;
    }
    if (take(in, "//")) {
        path->is_absolute = true;
        add_step(in, path, AXIS_DESCENDANT_OR_SELF, TEST_NODE);
    } else if (take(in, "/")) {
        path->is_absolute = true;
        skip_space(in);
        if (!starts_step(in)) return path;
    } else if (!starts_step(in)) {
        return fail(in);
    }
    parse_steps(in, path);
    return path;
}

/* --- operators, loosest last --- */

static const nl_xpath *parse_union(parser *in)
{
    const nl_xpath *left = parse_path(in);
    while (!in->is_bad && take(in, "|")) left = binary(in, XPATH_UNION, left, parse_path(in));
    return left;
}

static const nl_xpath *parse_unary(parser *in)
{
    uint32_t signs = 0;
    while (take(in, "-")) signs++;
    const nl_xpath *operand = parse_union(in);
    if (signs == 0) return operand;
    operand = binary(in, XPATH_NEGATE, operand, NULL);
    return signs % 2 ? operand : binary(in, XPATH_NEGATE, operand, NULL);
}

static const nl_xpath *parse_product(parser *in)
{
    const nl_xpath *left = parse_unary(in);
    while (!in->is_bad) {
        if (take(in, "*")) left = binary(in, XPATH_MULTIPLY, left, parse_unary(in));
        else if (take_word(in, "div")) left = binary(in, XPATH_DIVIDE, left, parse_unary(in));
        else if (take_word(in, "mod")) left = binary(in, XPATH_MODULO, left, parse_unary(in));
        else break;
    }
    return left;
}

static const nl_xpath *parse_sum(parser *in)
{
    const nl_xpath *left = parse_product(in);
    while (!in->is_bad) {
        if (take(in, "+")) left = binary(in, XPATH_ADD, left, parse_product(in));
        else if (take(in, "-")) left = binary(in, XPATH_SUBTRACT, left, parse_product(in));
        else break;
    }
    return left;
}

static const nl_xpath *parse_comparison(parser *in)
{
    const nl_xpath *left = parse_sum(in);
    while (!in->is_bad) {
        if (take(in, "<=")) left = binary(in, XPATH_LESS_EQUAL, left, parse_sum(in));
        else if (take(in, ">=")) left = binary(in, XPATH_GREATER_EQUAL, left, parse_sum(in));
        else if (take(in, "<")) left = binary(in, XPATH_LESS, left, parse_sum(in));
        else if (take(in, ">")) left = binary(in, XPATH_GREATER, left, parse_sum(in));
        else break;
    }
    return left;
}

static const nl_xpath *parse_equality(parser *in)
{
    const nl_xpath *left = parse_comparison(in);
    while (!in->is_bad) {
        if (take(in, "!=")) left = binary(in, XPATH_UNEQUAL, left, parse_comparison(in));
        else if (take(in, "=")) left = binary(in, XPATH_EQUAL, left, parse_comparison(in));
        else break;
    }
    return left;
}

static const nl_xpath *parse_and(parser *in)
{
    const nl_xpath *left = parse_equality(in);
    while (!in->is_bad && take_word(in, "and")) left = binary(in, XPATH_AND, left, parse_equality(in));
    return left;
}

static const nl_xpath *parse_or(parser *in)
{
    if (in->is_bad || in->depth >= NESTING_MAX) return fail(in);
    in->depth++;
    const nl_xpath *left = parse_and(in);
    while (!in->is_bad && take_word(in, "or")) left = binary(in, XPATH_OR, left, parse_and(in));
    in->depth--;
    return left;
}

const nl_xpath *nl_xpath_compile(nl_arena *arena, nl_str text)
{
    parser in = {.arena = arena, .text = nl_arena_str(arena, text)};
    const nl_xpath *expression = parse_or(&in);
    skip_space(&in);
    return in.is_bad || in.at < in.text.length ? NULL : expression;
}
