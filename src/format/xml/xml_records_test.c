/* Records of XML files: where they begin and end, whatever the reader's blocks are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/xml/xml_records.h"
#include "storage/filesystem.h"

/* The records, joined by '|'. */
static void check_records(nl_str text, const char *tag, const char *expected)
{
    nl_fs *fs = nl_fs_memory_new();
    nl_arena *arena = nl_arena_new(NULL);
    nl_file *file = NULL;
    nl_xml_records records;
    nl_xml_options options;
    nl_builder found;
    const nl_text_option option = {NL_STR("rowTag"), nl_str_from(tag)};
    const nl_text_session session = {0};
    bool is_done = false;
    assert_null(nl_fs_write_all(fs, NL_STR("/x.xml"), (nl_bytes){(const uint8_t *)text.data, text.length}));
    assert_null(nl_fs_open(fs, NL_STR("/x.xml"), &file));
    assert_null(nl_xml_file_options_parse((nl_text_option_list){&option, 1}, &session, NL_TEXT_READ, arena, &options));
    assert_null(nl_xml_records_init(&records, file, &options, 0, UINT64_MAX, NULL));
    nl_builder_init(&found, 1 << 24);
    for (;;) {
        nl_str record;
        assert_null(nl_xml_records_next(&records, &record, &is_done));
        if (is_done) break;
        if (found.length) nl_append_char(&found, '|');
        nl_append(&found, record);
    }
    assert_true(nl_str_equal(nl_builder_str(&found), nl_str_from(expected)));
    nl_builder_fini(&found);
    nl_xml_records_fini(&records);
    nl_file_close(file);
    nl_arena_free(arena);
    nl_fs_release(fs);
}

static void test_records_are_elements_of_the_tag(void **state)
{
    static const struct {
        const char *text, *records;
    } rows[] = {
        {"", ""},
        {"<r><p>1</p><pp>2</pp><p/><p >3</p></r>", "<p>1</p>|<p >3</p>"},
        {"<p a='1'/><p a='>'>x</p>", "<p a='1'/>|<p a='>'>x</p>"},
        {"<r><p><p>1</p><p/><p b='2'/></p><p>2</p></r>", "<p><p>1</p><p/><p b='2'/></p>|<p>2</p>"},
        {"<!-- <p>1</p> --><![CDATA[<p>2</p>]]><p><!-- </p> --><![CDATA[</p>]]>3</p>", "<p><!-- </p> --><![CDATA[</p>]]>3</p>"},
        {"<p>1</p><p>cut", "<p>1</p>|<p>cut"},
        {"<p>1</p><p", "<p>1</p>"},
        {"<p>1</p><p a", "<p>1</p>|<p a"},
        {"<!-- <p>1</p>", ""},
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) check_records(nl_str_from(rows[i].text), "p", rows[i].records);
}

/* Filling before a record moves it over the border between two blocks byte by byte. */
static void test_blocks_cut_records_anywhere(void **state)
{
    const nl_str record = NL_STR("<row a=\"1\"><!-- </row> --><row>x</row></row>");
    (void)state;
    for (size_t shift = 0; shift <= record.length; shift++) {
        nl_builder text;
        nl_builder_init(&text, 1 << 20);
        for (size_t i = 0; i < (256u << 10) - shift; i++) nl_append_char(&text, ' ');
        nl_append(&text, record);
        check_records(nl_builder_str(&text), "row", record.data);
        nl_builder_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_are_elements_of_the_tag),
        cmocka_unit_test(test_blocks_cut_records_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
