#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "format/text/line_reader.h"

static nl_fs *fs;

static int set_up(void **state)
{
    (void)state;
    fs = nl_fs_memory_new();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_fs_release(fs);
    return 0;
}

static void must(nl_status status)
{
    if (status) fail_msg("%s %s", nl_error_message(status), nl_error_notes(status));
}

static nl_file *make_file(const char *path, nl_str content)
{
    nl_file *file;
    must(nl_fs_write_all(fs, nl_str_from(path), (nl_bytes){(const uint8_t *)content.data, content.length}));
    must(nl_fs_open(fs, nl_str_from(path), &file));
    return file;
}

/* The lines of a part, each followed by a bar. */
static void append_lines(nl_file *file, const nl_text_formats *formats, uint64_t start, uint64_t stop, nl_builder *out)
{
    nl_line_reader *reader;
    nl_str line;
    bool is_done;
    must(nl_line_reader_open(file, formats, start, stop, NULL, &reader));
    for (;;) {
        must(nl_line_reader_next(reader, &line, &is_done));
        if (is_done) break;
        nl_append(out, line);
        nl_append_char(out, '|');
    }
    nl_line_reader_close(reader);
}

/* In one piece, and in every pair and every single-byte sequence of parts. */
static void assert_lines(nl_str content, nl_text_formats formats, const char *expected)
{
    nl_file *file = make_file("memory:/lines.txt", content);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    append_lines(file, &formats, 0, UINT64_MAX, &out);
    assert_string_equal(out.length ? nl_builder_c(&out) : "", expected);
    for (uint64_t cut = 0; cut <= content.length; cut++) {
        nl_builder_clear(&out);
        append_lines(file, &formats, 0, cut, &out);
        append_lines(file, &formats, cut, UINT64_MAX, &out);
        if (strcmp(out.length ? nl_builder_c(&out) : "", expected) != 0)
            fail_msg("cut at %d: %s, not %s", (int)cut, nl_builder_c(&out), expected);
    }
    nl_builder_clear(&out);
    for (uint64_t at = 0; at < content.length; at++)
        append_lines(file, &formats, at, at + 1, &out);
    assert_string_equal(out.length ? nl_builder_c(&out) : "", expected);
    nl_builder_fini(&out);
    nl_file_close(file);
}

static void test_lines_end_in_three_ways(void **state)
{
    (void)state;
    assert_lines(NL_STR("a\nb\r\nc\rd"), (nl_text_formats){0}, "a|b|c|d|");
    assert_lines(NL_STR("\n\r\n\r\n\nx\n"), (nl_text_formats){0}, "||||x|");
    assert_lines(NL_STR("one\n"), (nl_text_formats){0}, "one|");
    assert_lines(NL_STR(""), (nl_text_formats){0}, "");
    assert_lines(NL_STR("\r\r\n\r"), (nl_text_formats){0}, "|||");
}

static void test_a_separator_of_ones_own(void **state)
{
    (void)state;
    assert_lines(NL_STR("a\nb<>c<d<>"), (nl_text_formats){.line_separator = NL_STR("<>")}, "a\nb|c<d|");
    assert_lines(NL_STR("a;b\r\n;c"), (nl_text_formats){.line_separator = NL_STR(";")}, "a|b\r\n|c|");
}

static void test_files_that_cannot_be_read_in_parts_say_so(void **state)
{
    (void)state;
    assert_true(nl_text_is_splittable(NL_STR("a.csv"), &(nl_text_formats){.line_separator = NL_STR("\r\n")}));
    assert_false(nl_text_is_splittable(NL_STR("a.csv"), &(nl_text_formats){.line_separator = NL_STR("||")}));
    assert_false(nl_text_is_splittable(NL_STR("a.csv.gz"), &(nl_text_formats){0}));
    assert_false(nl_text_is_splittable(NL_STR("a.csv"), &(nl_text_formats){.is_multi_line = true}));
    assert_false(nl_text_is_splittable(NL_STR("a.csv"), &(nl_text_formats){.encoding = NL_ENCODING_UTF16}));
}

static void test_a_byte_order_mark_is_dropped(void **state)
{
    (void)state;
    nl_file *file = make_file("memory:/lines.txt", NL_STR("\xef\xbb\xbf" "a\nb"));
    nl_builder out;
    nl_builder_init(&out, 100);
    append_lines(file, &(nl_text_formats){0}, 0, UINT64_MAX, &out);
    assert_string_equal(nl_builder_c(&out), "a|b|");
    nl_builder_fini(&out);
    nl_file_close(file);
}

/* Lines of many lengths over several blocks, with each line end falling on block borders now and then. */
static void test_long_files_come_line_by_line(void **state)
{
    (void)state;
    static const char *const ends[] = {"\n", "\r\n", "\r"};
    for (int kind = 0; kind < 4; kind++) {
        nl_builder content;
        nl_builder_init(&content, 16 << 20);
        uint32_t line_count = 0;
        while (content.length < (3u << 18)) {
            nl_append_f(&content, "%u:", line_count);
            nl_append_fill(&content, 'x', line_count % 97 == 0 ? 70000 : line_count * 7 % 100);
            nl_append_c(&content, kind == 3 ? "<end>" : ends[kind]);
            line_count++;
        }
        nl_file *file = make_file("memory:/long.txt", nl_builder_str(&content));
        nl_text_formats formats = {.line_separator = kind == 3 ? NL_STR("<end>") : (nl_str){NULL, 0}};
        uint32_t seen = 0;
        for (uint64_t start = 0; start < content.length; start += 100003) {
            nl_line_reader *reader;
            nl_str line;
            bool is_done;
            must(nl_line_reader_open(file, &formats, start, start + 100003, NULL, &reader));
            for (;;) {
                must(nl_line_reader_next(reader, &line, &is_done));
                if (is_done) break;
                char expected[24];
                int length = snprintf(expected, sizeof expected, "%u:", seen);
                assert_true(nl_str_starts(line, (nl_str){expected, (size_t)length}));
                assert_int_equal(line.length, (size_t)length + (seen % 97 == 0 ? 70000 : seen * 7 % 100));
                seen++;
            }
            nl_line_reader_close(reader);
        }
        assert_int_equal(seen, line_count);
        nl_file_close(file);
        nl_builder_fini(&content);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_end_in_three_ways, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_separator_of_ones_own, set_up, tear_down),
        cmocka_unit_test(test_files_that_cannot_be_read_in_parts_say_so),
        cmocka_unit_test_setup_teardown(test_a_byte_order_mark_is_dropped, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_long_files_come_line_by_line, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
