/* XML text as trees: what Java's readers accept is accepted, what is no XML is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/xml/xml_tree.h"

/* name[attributes](children) of elements, 'texts', <comments>. */
static void show(const nl_xml_node *node, nl_builder *out)
{
    if (node->kind == NL_XML_TEXT) nl_append_f(out, "'" NL_STR_FMT "'", NL_STR_ARG(node->text));
    if (node->kind == NL_XML_COMMENT) nl_append_f(out, "<" NL_STR_FMT ">", NL_STR_ARG(node->text));
    if (node->kind == NL_XML_ELEMENT) nl_append(out, node->name);
    for (const nl_xml_node *a = node->first_attribute; a; a = a->next) nl_append_f(out, "[" NL_STR_FMT "=" NL_STR_FMT "]", NL_STR_ARG(a->name), NL_STR_ARG(a->text));
    if (node->kind == NL_XML_ELEMENT) nl_append_char(out, '(');
    for (const nl_xml_node *child = node->first_child; child; child = child->next) show(child, out);
    if (node->kind == NL_XML_ELEMENT) nl_append_char(out, ')');
}

static void test_documents_become_trees(void **state)
{
    static const struct {
        const char *text, *tree;
    } rows[] = {
        {"<a/>", "a()"},
        {"<a>1<b c='2' d=\"3\">x</b></a>", "a('1'b[c=2][d=3]('x'))"},
        {"<?xml version='1.0'?><!-- c --><a>&lt;&amp;&#65;&#x42;</a>", "< c >a('<&AB')"},
        {"<a><![CDATA[<b>]]></a>", "a('<b>')"},
        {"<p:a q:r='1'/>", "p:a[q:r=1]()"},
        {"<!DOCTYPE a [<!ENTITY e 'text'>]><a>&e;</a>", "a('text')"},
        {"<a>\r\n</a>", "a('\n')"},
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_builder out;
        nl_builder_init(&out, 4096);
        const nl_xml_node *document = nl_xml_read(arena, nl_str_from(rows[i].text), false);
        if (!document) fail_msg("%s is refused", rows[i].text);
        show(document, &out);
        if (!nl_str_is(nl_builder_str(&out), rows[i].tree)) fail_msg("%s: %s", rows[i].text, nl_builder_c(&out));
        nl_builder_fini(&out);
        nl_arena_free(arena);
    }
}

static void test_what_is_no_xml_is_refused(void **state)
{
    static const char *const bad[] = {"", "x", "<a>", "<a></b>", "<a b=1/>", "<a b='1' b='2'/>", "<a>&none;</a>", "<a/><b/>", "<a", "<1/>"};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        if (nl_xml_read(arena, nl_str_from(bad[i]), false)) fail_msg("'%s' is accepted", bad[i]);
        nl_arena_free(arena);
    }
}

static void test_only_the_first_root_is_looked_at_when_asked_so(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    (void)state;
    assert_non_null(nl_xml_read(arena, NL_STR("<a/><b>"), true));
    assert_true(nl_xml_is_blank(NL_STR(" \t\r\n")));
    assert_false(nl_xml_is_blank(NL_STR(" x ")));
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_become_trees),
        cmocka_unit_test(test_what_is_no_xml_is_refused),
        cmocka_unit_test(test_only_the_first_root_is_looked_at_when_asked_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
