#include "base/test_support.h"
#include "storage/xml.h"

static const nl_xml *parse(nl_arena *arena, const char *text)
{
    const nl_xml *root = NULL;
    assert_ok(nl_xml_parse(arena, (nl_bytes){(const uint8_t *)text, strlen(text)}, &root));
    return root;
}

static void test_a_listing_becomes_a_tree(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_xml *root = parse(arena, "  <?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<s3:ListBucketResult xmlns:s3='http://s3.amazonaws.com/doc/2006-03-01/'>\n"
                                      "  <Name>b</Name><!-- no --><Contents><Key>a&amp;b&#13;&#x1F600;c\r\nd</Key><ETag>&#34;e&quot;</ETag></Contents>\n"
                                      "  <Prefix/><Contents><Key><![CDATA[<x>&amp;]]>y</Key></Contents></s3:ListBucketResult>\n");
    assert_text(root->name, "ListBucketResult");
    assert_int_equal(root->child_count, 4);
    assert_text(nl_xml_attribute(root, "xmlns:s3"), "http://s3.amazonaws.com/doc/2006-03-01/");
    assert_text(nl_xml_text(root, "Name"), "b");
    assert_non_null(nl_xml_text(root, "Prefix").data);
    assert_null(nl_xml_text(root, "Marker").data);
    const nl_xml *first = nl_xml_child(root, "Contents");
    assert_text(nl_xml_text(first, "Key"), "a&b\r\xf0\x9f\x98\x80" "c\nd");
    assert_text(nl_xml_text(first, "ETag"), "\"e\"");
    const nl_xml *second = nl_xml_next(first);
    assert_text(nl_xml_text(second, "Key"), "<x>&amp;y");
    assert_null(nl_xml_next(second));
    nl_arena_free(arena);
}

static void test_what_is_written_reads_back(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder out;
    nl_builder_init(&out, 1000);
    const nl_str text = NL_STR("a<b>&'\"\x01\r\n\tq\xc3\xa9");
    nl_xml_append_element(&out, "K", text);
    const nl_xml *root = parse(arena, nl_builder_c(&out));
    assert_true(nl_str_equal(root->text, text));
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

static void test_what_is_not_plain_xml_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *problem;
    } cases[] = {
        {"", "ends too early"},
        {"<a>", "ends too early"},
        {"<a></b>", "another element"},
        {"</a>", "another element"},
        {"<a/><b/>", "second root"},
        {"<a/>x", "outside of the root"},
        {"<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>", "document types"},
        {"<a>&x;</a>", "not one of the five"},
        {"<a>&amp</a>", "without its end"},
        {"<a>&#0;</a>", "no character"},
        {"<a>&#xD800;</a>", "no character"},
        {"<a>&#x;</a>", "reference"},
        {"<a>\x01</a>", "control character"},
        {"<a>\xff</a>", "not UTF-8"},
        {"<a x=1/>", "quoted"},
        {"<a x='1' x='2'/>", "twice"},
        {"<a x='1'y='2'/>", "apart"},
        {"<a x='<'/>", "without its end"},
        {"<a><?php ?></a>", "processing"},
        {"<a><!-- </a>", "without its end"},
        {"<1/>", "name is missing"},
        {"<a:1/>", "colons"},
        {"<:a/>", "colons"},
        {"<a:b:c/>", "colons"},
        {"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>", "too many levels"},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_xml *root = NULL;
        assert_fails(nl_xml_parse(arena, (nl_bytes){(const uint8_t *)cases[i].text, strlen(cases[i].text)}, &root), NILAS_ILLEGAL_ARGUMENT, cases[i].problem);
        nl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_listing_becomes_a_tree),
        cmocka_unit_test(test_what_is_written_reads_back),
        cmocka_unit_test(test_what_is_not_plain_xml_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
