/* XPath over small documents; expected values follow XPath 1.0 as Java's javax.xml.xpath evaluates it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/number.h"
#include "function/xpath.h"

static const char document[] = "<a x='1'><b>b1</b><b y='2'>b2</b><c><d>3</d><d>4</d></c><e/></a>";

static nl_str evaluate(nl_arena *arena, const char *expression)
{
    const nl_xml_node *root = nl_xml_read(arena, nl_str_from(document), false);
    assert_non_null(root);
    const nl_xpath *compiled = nl_xpath_compile(arena, nl_str_from(expression));
    assert_non_null(compiled);
    const nl_xpath_value value = nl_xpath_evaluate(arena, compiled, root);
    return nl_xpath_text(arena, &value);
}

static void test_expressions_give_texts(void **state)
{
    static const struct {
        const char *expression, *text;
    } rows[] = {
        {"/a/b", "b1"},                  {"a/b[2]", "b2"},
        {"a/b[@y='2']", "b2"},           {"/a/@x", "1"},
        {"count(/a/b)", "2"},            {"sum(a/c/d)", "7"},
        {"//d[last()]", "4"},            {"a/c/d[. > 3]", "4"},
        {"name(/a/*[3])", "c"},          {"string(/a/e)", ""},
        {"concat(a/b[1], '-', 2)", "b1-2"}, {"a/b = 'b2'", "true"},
        {"not(a/z)", "true"},            {"substring('abcde', 2, 3)", "bcd"},
        {"normalize-space('  a  b ')", "a b"}, {"1 div 0", "Infinity"},
        {"round(2.5)", "3"},             {"translate('abc', 'ab', 'x')", "xc"},
        {"/a/c/d[1]/following-sibling::d", "4"}, {"//d/ancestor::a/@x", "1"},
        {"a/b | a/c/d", "b1"},           {"starts-with('abc', 'ab')", "true"},
        {"5 mod 2", "1"},                {"-(3)", "-3"},
        {"boolean('')", "false"},        {"/a/z", ""},
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_str text = evaluate(arena, rows[i].expression);
        if (!nl_str_is(text, rows[i].text)) fail_msg("%s: '%.*s', not '%s'", rows[i].expression, (int)text.length, text.data, rows[i].text);
        nl_arena_free(arena);
    }
}

static void test_what_is_no_expression_does_not_compile(void **state)
{
    static const char *const bad[] = {"", "a[", "a]", "//", "a/b[", "count(", "a b", "'x", "@", "1 +"};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        if (nl_xpath_compile(arena, nl_str_from(bad[i]))) fail_msg("'%s' compiled", bad[i]);
        nl_arena_free(arena);
    }
}

static void test_node_sets_are_in_the_documents_order(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_xml_node *root = nl_xml_read(arena, nl_str_from(document), false);
    const nl_xpath_value value = nl_xpath_evaluate(arena, nl_xpath_compile(arena, NL_STR("//d | //b")), root);
    (void)state;
    assert_int_equal(value.kind, NL_XPATH_NODES);
    assert_int_equal(value.nodes.count, 4);
    for (uint32_t i = 1; i < value.nodes.count; i++)
        assert_true(((const nl_xml_node *)value.nodes.items[i - 1])->place < ((const nl_xml_node *)value.nodes.items[i])->place);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions_give_texts),
        cmocka_unit_test(test_what_is_no_expression_does_not_compile),
        cmocka_unit_test(test_node_sets_are_in_the_documents_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
