/* function/xpath_evaluate.c - what XPath expressions give; see xpath.h. Recursion is as deep as the expression. */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "function/xpath_internal.h"

typedef struct context {
    nl_arena *arena;
    const nl_xml_node *document;
    const nl_xml_node *node;
    uint32_t position, size;
} context;

static nl_xpath_value evaluate(const context *at, const nl_xpath *e);

static nl_xpath_value number_value(double number)
{
    return (nl_xpath_value){.kind = NL_XPATH_NUMBER, .number = number};
}

static nl_xpath_value text_value(nl_str text)
{
    return (nl_xpath_value){.kind = NL_XPATH_TEXT, .text = text};
}

static nl_xpath_value boolean_value(bool boolean)
{
    return (nl_xpath_value){.kind = NL_XPATH_BOOLEAN, .boolean = boolean};
}

static const nl_xml_node *node_at(const nl_list *nodes, uint32_t i)
{
    return nodes->items[i];
}

static void add_node(const context *at, nl_list *nodes, const nl_xml_node *node)
{
    nl_list_add(at->arena, nodes, (void *)(uintptr_t)node);
}

/* --- conversions --- */

static nl_str text_of_node(nl_arena *arena, const nl_xml_node *node)
{
    nl_builder text;
    nl_builder_init(&text, SIZE_MAX / 4);
    nl_xml_append_text(node, &text);
    const nl_str copy = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static nl_str text_of_number(nl_arena *arena, double number)
{
    char text[NL_NUMBER_TEXT_MAX];
    if (number == 0) return NL_STR("0"); /* -0, too */
    nl_str shown = {text, nl_format_double(number, text)};
    if (nl_str_ends(shown, NL_STR(".0"))) shown.length -= 2;
    if (floor(number) == number && fabs(number) < 1e18) return nl_arena_f(arena, "%.0f", number);
    return nl_arena_str(arena, shown);
}

nl_str nl_xpath_text(nl_arena *arena, const nl_xpath_value *value)
{
    switch (value->kind) {
    case NL_XPATH_NODES:
        return value->nodes.count ? text_of_node(arena, node_at(&value->nodes, 0)) : NL_STR("");
    case NL_XPATH_NUMBER:
        return text_of_number(arena, value->number);
    case NL_XPATH_BOOLEAN:
        return nl_str_from(value->boolean ? "true" : "false");
    case NL_XPATH_TEXT:
        break;
    }
    return value->text;
}

double nl_xpath_number(nl_arena *arena, const nl_xpath_value *value)
{
    if (value->kind == NL_XPATH_NUMBER) return value->number;
    if (value->kind == NL_XPATH_BOOLEAN) return value->boolean;
    return nl_xpath_parse_number(nl_xpath_text(arena, value));
}

bool nl_xpath_boolean(const nl_xpath_value *value)
{
    switch (value->kind) {
    case NL_XPATH_NODES:
        return value->nodes.count > 0;
    case NL_XPATH_NUMBER:
        return value->number != 0 && !isnan(value->number);
    case NL_XPATH_TEXT:
        return value->text.length > 0;
    case NL_XPATH_BOOLEAN:
        break;
    }
    return value->boolean;
}

/* --- comparisons --- */

static bool compare_numbers(xpath_node_kind how, double a, double b)
{
    switch ((int)how) {
    case XPATH_EQUAL: return a == b;
    case XPATH_UNEQUAL: return a != b;
    case XPATH_LESS: return a < b;
    case XPATH_LESS_EQUAL: return a <= b;
    case XPATH_GREATER: return a > b;
    default: return a >= b;
    }
}

static bool compare_plain(nl_arena *arena, xpath_node_kind how, const nl_xpath_value *a, const nl_xpath_value *b)
{
    if (how != XPATH_EQUAL && how != XPATH_UNEQUAL) return compare_numbers(how, nl_xpath_number(arena, a), nl_xpath_number(arena, b));
    bool is_equal;
    if (a->kind == NL_XPATH_BOOLEAN || b->kind == NL_XPATH_BOOLEAN)
        is_equal = nl_xpath_boolean(a) == nl_xpath_boolean(b);
    else if (a->kind == NL_XPATH_NUMBER || b->kind == NL_XPATH_NUMBER)
        return compare_numbers(how, nl_xpath_number(arena, a), nl_xpath_number(arena, b));
    else
        is_equal = nl_str_equal(nl_xpath_text(arena, a), nl_xpath_text(arena, b));
    return is_equal == (how == XPATH_EQUAL);
}

/* Some node of a set must stand in the relation; a boolean on the other side makes one of the set. */
static bool compare(nl_arena *arena, xpath_node_kind how, const nl_xpath_value *a, const nl_xpath_value *b)
{
    if (a->kind == NL_XPATH_NODES && b->kind != NL_XPATH_BOOLEAN) {
        for (uint32_t i = 0; i < a->nodes.count; i++) {
            const nl_xpath_value one = text_value(text_of_node(arena, node_at(&a->nodes, i)));
            if (compare(arena, how, &one, b)) return true;
        }
        return false;
    }
    if (b->kind == NL_XPATH_NODES && a->kind != NL_XPATH_BOOLEAN) {
        for (uint32_t i = 0; i < b->nodes.count; i++) {
            const nl_xpath_value one = text_value(text_of_node(arena, node_at(&b->nodes, i)));
            if (compare_plain(arena, how, a, &one)) return true;
        }
        return false;
    }
    return compare_plain(arena, how, a, b);
}

/* --- paths --- */

static bool passes(const xpath_step *step, const nl_xml_node *node)
{
    const nl_xml_kind main = step->axis == AXIS_ATTRIBUTE ? NL_XML_ATTRIBUTE : NL_XML_ELEMENT;
    switch (step->test) {
    case TEST_NAME:
        return node->kind == main && nl_str_equal(node->name, step->name);
    case TEST_ANY_NAME:
        return node->kind == main;
    case TEST_NODE:
        return true;
    case TEST_TEXT:
        return node->kind == NL_XML_TEXT;
    case TEST_COMMENT:
        return node->kind == NL_XML_COMMENT;
    case TEST_NOTHING:
        break;
    }
    return false;
}

static void try_node(const context *at, const xpath_step *step, const nl_xml_node *node, nl_list *found)
{
    if (passes(step, node)) add_node(at, found, node);
}

/* The node after `node` in the document's order; NULL behind the end of `top`. */
static const nl_xml_node *after(const nl_xml_node *node, const nl_xml_node *top)
{
    if (node->first_child) return node->first_child;
    while (node != top && !node->next) node = node->parent;
    return node == top ? NULL : node->next;
}

static bool is_ancestor(const nl_xml_node *node, const nl_xml_node *of)
{
    for (const nl_xml_node *up = of; up; up = up->parent)
        if (up == node) return true;
    return false;
}

/* What lies before or behind a node, ancestors and descendants excepted. */
static void walk_document(const context *at, const xpath_step *step, const nl_xml_node *from, nl_list *found)
{
    nl_list all = {0};
    const bool is_following = step->axis == AXIS_FOLLOWING;
    for (const nl_xml_node *node = at->document; node; node = after(node, at->document)) {
        const bool is_side = is_following ? node->place > from->place : node->place < from->place;
        if (is_side && !is_ancestor(node, from) && !is_ancestor(from, node)) add_node(at, &all, node);
    }
    for (uint32_t i = 0; i < all.count; i++) try_node(at, step, node_at(&all, is_following ? i : all.count - 1 - i), found);
}

/* The nodes of an axis that pass the test, nearest first. */
static void walk_axis(const context *at, const xpath_step *step, const nl_xml_node *from, nl_list *found)
{
    switch (step->axis) {
    case AXIS_CHILD:
        for (const nl_xml_node *node = from->first_child; node; node = node->next) try_node(at, step, node, found);
        break;
    case AXIS_DESCENDANT_OR_SELF:
        try_node(at, step, from, found);
        for (const nl_xml_node *node = after(from, from); node; node = after(node, from)) try_node(at, step, node, found);
        break;
    case AXIS_DESCENDANT:
        for (const nl_xml_node *node = after(from, from); node; node = after(node, from)) try_node(at, step, node, found);
        break;
    case AXIS_SELF:
        try_node(at, step, from, found);
        break;
    case AXIS_PARENT:
        if (from->parent) try_node(at, step, from->parent, found);
        break;
    case AXIS_ANCESTOR:
    case AXIS_ANCESTOR_OR_SELF:
        for (const nl_xml_node *node = step->axis == AXIS_ANCESTOR ? from->parent : from; node; node = node->parent) try_node(at, step, node, found);
        break;
    case AXIS_FOLLOWING_SIBLING:
        for (const nl_xml_node *node = from->kind == NL_XML_ATTRIBUTE ? NULL : from->next; node; node = node->next) try_node(at, step, node, found);
        break;
    case AXIS_PRECEDING_SIBLING:
        for (const nl_xml_node *node = from->kind == NL_XML_ATTRIBUTE ? NULL : from->previous; node; node = node->previous) try_node(at, step, node, found);
        break;
    case AXIS_FOLLOWING:
    case AXIS_PRECEDING:
        walk_document(at, step, from, found);
        break;
    case AXIS_ATTRIBUTE:
        for (const nl_xml_node *node = from->first_attribute; node; node = node->next) try_node(at, step, node, found);
        break;
    case AXIS_NAMESPACE:
        break;
    }
}

/* A number is the position it asks for. */
static nl_list filter(const context *at, const nl_list *predicates, nl_list nodes)
{
    for (uint32_t p = 0; p < predicates->count; p++) {
        nl_list kept = {0};
        for (uint32_t i = 0; i < nodes.count; i++) {
            const context inner = {.arena = at->arena, .document = at->document, .node = node_at(&nodes, i), .position = i + 1, .size = nodes.count};
            const nl_xpath_value value = evaluate(&inner, predicates->items[p]);
            const bool is_kept = value.kind == NL_XPATH_NUMBER ? value.number == (double)inner.position : nl_xpath_boolean(&value);
            if (is_kept) add_node(at, &kept, inner.node);
        }
        nodes = kept;
    }
    return nodes;
}

static int compare_places(const void *a, const void *b)
{
    const uint32_t left = (*(const nl_xml_node *const *)a)->place;
    const uint32_t right = (*(const nl_xml_node *const *)b)->place;
    return (left > right) - (left < right);
}

static void order_nodes(nl_list *nodes)
{
    uint32_t count = 0;
    if (nodes->count < 2) return;
    qsort(nodes->items, nodes->count, sizeof *nodes->items, compare_places);
    for (uint32_t i = 0; i < nodes->count; i++)
        if (count == 0 || nodes->items[count - 1] != nodes->items[i]) nodes->items[count++] = nodes->items[i];
    nodes->count = count;
}

static nl_list take_step(const context *at, const xpath_step *step, const nl_list *from)
{
    nl_list all = {0};
    for (uint32_t i = 0; i < from->count; i++) {
        nl_list found = {0};
        walk_axis(at, step, node_at(from, i), &found);
        found = filter(at, &step->predicates, found);
        for (uint32_t f = 0; f < found.count; f++) add_node(at, &all, node_at(&found, f));
    }
    order_nodes(&all);
    return all;
}

static nl_xpath_value evaluate_path(const context *at, const nl_xpath *e)
{
    nl_xpath_value value = {.kind = NL_XPATH_NODES};
    if (e->left) {
        value = evaluate(at, e->left);
        if (value.kind != NL_XPATH_NODES) return (nl_xpath_value){.kind = NL_XPATH_NODES};
        value.nodes = filter(at, &e->predicates, value.nodes);
    } else {
        add_node(at, &value.nodes, e->is_absolute ? at->document : at->node);
    }
    for (uint32_t i = 0; i < e->steps.count; i++) value.nodes = take_step(at, e->steps.items[i], &value.nodes);
    return value;
}

/* --- functions --- */

/* Text of argument i; of the context's node when there is none. */
static nl_str text_argument(const context *at, const nl_xpath *e, uint32_t i)
{
    if (i >= e->arguments.count) return text_of_node(at->arena, at->node);
    const nl_xpath_value value = evaluate(at, e->arguments.items[i]);
    return nl_xpath_text(at->arena, &value);
}

static double number_argument(const context *at, const nl_xpath *e, uint32_t i)
{
    if (i >= e->arguments.count) return nl_xpath_parse_number(text_of_node(at->arena, at->node));
    const nl_xpath_value value = evaluate(at, e->arguments.items[i]);
    return nl_xpath_number(at->arena, &value);
}

static double round_half_up(double x)
{
    return floor(x + 0.5);
}

/* substring(text, first, length): characters whose place, from 1, is at least first and less than first + length, rounded. */
static nl_str substring(const context *at, const nl_xpath *e)
{
    const nl_str text = text_argument(at, e, 0);
    const double first = round_half_up(number_argument(at, e, 1));
    const double stop = e->arguments.count == 3 ? first + round_half_up(number_argument(at, e, 2)) : (double)INFINITY;
    size_t from = text.length, to = text.length;
    double place = 1;
    for (size_t i = 0; i < text.length; i = nl_utf8_next(text, i), place++) {
        if (from == text.length && place >= first && place < stop) from = i;
        if (from < text.length && !(place < stop)) {
            to = i;
            break;
        }
    }
    return nl_str_slice(text, from, to);
}

static nl_str normalize(const context *at, nl_str text)
{
    char *made = NL_NEW_ARRAY(at->arena, char, text.length + 1);
    size_t length = 0;
    text = nl_str_trim(text);
    for (size_t i = 0; i < text.length; i++) {
        const bool is_space = strchr(" \t\r\n", text.data[i]) != NULL && text.data[i];
        if (is_space && length && made[length - 1] == ' ') continue;
        made[length++] = is_space ? ' ' : text.data[i];
    }
    return (nl_str){made, length};
}

static nl_str translate(const context *at, nl_str text, nl_str from, nl_str to)
{
    nl_builder made;
    nl_builder_init(&made, SIZE_MAX / 4);
    for (size_t i = 0; i < text.length;) {
        const uint32_t c = nl_utf8_decode(text, &i);
        size_t f = 0, t = 0;
        bool is_found = false;
        while (f < from.length && !is_found) {
            const size_t before = t;
            is_found = nl_utf8_decode(from, &f) == c;
            if (t < to.length) t = nl_utf8_next(to, t);
            if (is_found) {
                if (before < to.length) nl_append(&made, nl_str_slice(to, before, t));
            }
        }
        if (!is_found) nl_append_code_point(&made, c);
    }
    const nl_str copy = nl_arena_str(at->arena, nl_builder_str(&made));
    nl_builder_fini(&made);
    return copy;
}

static nl_str concat(const context *at, const nl_xpath *e)
{
    nl_str all = NL_STR("");
    for (uint32_t i = 0; i < e->arguments.count; i++) {
        const nl_str part = text_argument(at, e, i);
        all = nl_arena_f(at->arena, NL_STR_FMT NL_STR_FMT, NL_STR_ARG(all), NL_STR_ARG(part));
    }
    return all;
}

/* The nodes of argument 0; the context's when there is none. */
static nl_list nodes_argument(const context *at, const nl_xpath *e)
{
    nl_list nodes = {0};
    if (e->arguments.count) return evaluate(at, e->arguments.items[0]).nodes;
    add_node(at, &nodes, at->node);
    return nodes;
}

static nl_str name_of(const context *at, const nl_xpath *e)
{
    const nl_list nodes = nodes_argument(at, e);
    return nodes.count && node_at(&nodes, 0)->name.data ? node_at(&nodes, 0)->name : NL_STR("");
}

static double sum(const context *at, const nl_xpath *e)
{
    const nl_list nodes = nodes_argument(at, e);
    double total = 0;
    for (uint32_t i = 0; i < nodes.count; i++) total += nl_xpath_parse_number(text_of_node(at->arena, node_at(&nodes, i)));
    return total;
}

static nl_str cut_at(const context *at, const nl_xpath *e, bool is_before)
{
    const nl_str text = text_argument(at, e, 0);
    const nl_str part = text_argument(at, e, 1);
    const size_t found = nl_str_find(text, part, 0);
    if (found == NL_NOT_FOUND) return NL_STR("");
    return is_before ? nl_str_slice(text, 0, found) : nl_str_slice(text, found + part.length, text.length);
}

static nl_xpath_value call(const context *at, const nl_xpath *e)
{
    switch (e->function) {
    case FUNCTION_LAST: return number_value(at->size);
    case FUNCTION_POSITION: return number_value(at->position);
    case FUNCTION_COUNT: return number_value(nodes_argument(at, e).count);
    case FUNCTION_LOCAL_NAME:
    case FUNCTION_NAME: return text_value(name_of(at, e));
    case FUNCTION_STRING: return text_value(text_argument(at, e, 0));
    case FUNCTION_CONCAT: return text_value(concat(at, e));
    case FUNCTION_STARTS_WITH: return boolean_value(nl_str_starts(text_argument(at, e, 0), text_argument(at, e, 1)));
    case FUNCTION_CONTAINS: return boolean_value(nl_str_find(text_argument(at, e, 0), text_argument(at, e, 1), 0) != NL_NOT_FOUND);
    case FUNCTION_SUBSTRING_BEFORE: return text_value(cut_at(at, e, true));
    case FUNCTION_SUBSTRING_AFTER: return text_value(cut_at(at, e, false));
    case FUNCTION_SUBSTRING: return text_value(substring(at, e));
    case FUNCTION_STRING_LENGTH: return number_value((double)nl_utf8_length(text_argument(at, e, 0)));
    case FUNCTION_NORMALIZE_SPACE: return text_value(normalize(at, text_argument(at, e, 0)));
    case FUNCTION_TRANSLATE: return text_value(translate(at, text_argument(at, e, 0), text_argument(at, e, 1), text_argument(at, e, 2)));
    case FUNCTION_BOOLEAN:
    case FUNCTION_NOT: {
        const nl_xpath_value value = evaluate(at, e->arguments.items[0]);
        return boolean_value(nl_xpath_boolean(&value) == (e->function == FUNCTION_BOOLEAN));
    }
    case FUNCTION_TRUE: return boolean_value(true);
    case FUNCTION_FALSE: return boolean_value(false);
    case FUNCTION_NUMBER: return number_value(number_argument(at, e, 0));
    case FUNCTION_SUM: return number_value(sum(at, e));
    case FUNCTION_FLOOR: return number_value(floor(number_argument(at, e, 0)));
    case FUNCTION_CEILING: return number_value(ceil(number_argument(at, e, 0)));
    case FUNCTION_ROUND: return number_value(round_half_up(number_argument(at, e, 0)));
    }
    return boolean_value(false);
}

static double calculate(xpath_node_kind how, double a, double b)
{
    switch ((int)how) {
    case XPATH_ADD: return a + b;
    case XPATH_SUBTRACT: return a - b;
    case XPATH_MULTIPLY: return a * b;
    case XPATH_DIVIDE: return a / b;
    default: return fmod(a, b);
    }
}

static nl_xpath_value combine(const context *at, const nl_xpath *e)
{
    nl_xpath_value left = evaluate(at, e->left);
    if (e->kind == XPATH_NEGATE) return number_value(-nl_xpath_number(at->arena, &left));
    if (e->kind == XPATH_OR && nl_xpath_boolean(&left)) return boolean_value(true);
    if (e->kind == XPATH_AND && !nl_xpath_boolean(&left)) return boolean_value(false);
    const nl_xpath_value right = evaluate(at, e->right);
    if (e->kind == XPATH_OR || e->kind == XPATH_AND) return boolean_value(nl_xpath_boolean(&right));
    if (e->kind == XPATH_UNION) {
        for (uint32_t i = 0; i < right.nodes.count; i++) add_node(at, &left.nodes, node_at(&right.nodes, i));
        order_nodes(&left.nodes);
        left.kind = NL_XPATH_NODES;
        return left;
    }
    if (e->kind <= XPATH_GREATER_EQUAL) return boolean_value(compare(at->arena, e->kind, &left, &right));
    return number_value(calculate(e->kind, nl_xpath_number(at->arena, &left), nl_xpath_number(at->arena, &right)));
}

static nl_xpath_value evaluate(const context *at, const nl_xpath *e)
{
    if (e->kind == XPATH_LITERAL) return text_value(e->text);
    if (e->kind == XPATH_CONSTANT) return number_value(e->number);
    if (e->kind == XPATH_CALL) return call(at, e);
    return e->kind == XPATH_PATH ? evaluate_path(at, e) : combine(at, e);
}

nl_xpath_value nl_xpath_evaluate(nl_arena *arena, const nl_xpath *expression, const nl_xml_node *document)
{
    const context at = {.arena = arena, .document = document, .node = document, .position = 1, .size = 1};
    return evaluate(&at, expression);
}
