/* What is written compressed is read back by the streaming reader, whole and not when cut or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "format/text/text_output.h"
#include "format/text/text_stream.h"

static void must(nl_status status)
{
    if (status) fail_msg("%s %s", nl_error_message(status), nl_error_notes(status));
}

static void make_text(nl_builder *text, size_t size)
{
    uint32_t seed = 5;
    nl_builder_init(text, size + 100);
    while (text->length < size)
        nl_append_f(text, "%u,", (seed = seed * 1103515245u + 12345u) >> 12);
}

static nl_str file_name(nl_builder *path, nl_text_compression compression)
{
    nl_builder_clear(path);
    nl_append_f(path, "memory:/text%s", nl_text_compression_suffix(compression));
    return nl_builder_str(path);
}

static nl_status read_back(nl_fs *fs, nl_str path, nl_builder *out)
{
    nl_file *file;
    nl_text_stream *stream = NULL;
    NL_TRY(nl_fs_open(fs, path, &file));
    nl_status status = nl_text_stream_open(file, 0, NL_ENCODING_UTF8, NULL, &stream);
    nl_str block = {"", 1};
    while (!status && block.length) {
        status = nl_text_stream_next(stream, &block);
        if (!status) nl_append(out, block);
    }
    nl_text_stream_close(stream);
    nl_file_close(file);
    return status;
}

static void test_text_comes_back_in_every_compression(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 1000, 1000000};
    nl_fs *fs = nl_fs_memory_new();
    nl_builder path, text, back;
    nl_builder_init(&path, 100);
    nl_builder_init(&back, 4 << 20);
    for (nl_text_compression compression = NL_TEXT_PLAIN; compression < NL_TEXT_COMPRESSION_COUNT; compression++) {
        for (size_t i = 0; i < NL_COUNT(sizes); i++) {
            nl_text_output *output;
            make_text(&text, sizes[i]);
            nl_str name = file_name(&path, compression);
            must(nl_text_output_open(fs, name, compression, NULL, &output));
            for (size_t at = 0; at < text.length; at += 77777)
                must(nl_text_output_write(output, nl_str_slice(nl_builder_str(&text), at, at + 77777)));
            must(nl_text_output_close(output));
            nl_builder_clear(&back);
            must(read_back(fs, name, &back));
            assert_true(nl_str_equal(nl_builder_str(&back), nl_builder_str(&text)));
            nl_builder_fini(&text);
        }
    }
    nl_builder_fini(&path);
    nl_builder_fini(&back);
    nl_fs_release(fs);
}

static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    nl_builder path, text, back;
    nl_builder_init(&path, 100);
    nl_builder_init(&back, 4 << 20);
    make_text(&text, 50000);
    for (nl_text_compression compression = NL_TEXT_GZIP; compression < NL_TEXT_COMPRESSION_COUNT; compression++) {
        nl_text_output *output;
        nl_buffer *content;
        nl_str name = file_name(&path, compression);
        must(nl_text_output_open(fs, name, compression, NULL, &output));
        must(nl_text_output_write(output, nl_builder_str(&text)));
        must(nl_text_output_close(output));
        must(nl_fs_read_all(fs, name, 1 << 20, &content));
        must(nl_fs_write_all(fs, name, (nl_bytes){content->data, content->size_bytes / 2}));
        nl_status status = read_back(fs, name, &back);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
        nl_error_free(status);
        content->data[content->size_bytes / 2] ^= 0x55;
        content->data[3] ^= 0x55;
        must(nl_fs_write_all(fs, name, (nl_bytes){content->data, content->size_bytes}));
        nl_builder_clear(&back);
        status = read_back(fs, name, &back);
        assert_true(status || !nl_str_equal(nl_builder_str(&back), nl_builder_str(&text)));
        nl_error_free(status);
        nl_buffer_release(content);
    }
    nl_builder_fini(&text);
    nl_builder_fini(&path);
    nl_builder_fini(&back);
    nl_fs_release(fs);
}

static void assert_transcoded(nl_text_encoding encoding, nl_str bytes, const char *expected)
{
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file;
    nl_text_stream *stream;
    nl_str block;
    must(nl_fs_write_all(fs, NL_STR("memory:/t"), (nl_bytes){(const uint8_t *)bytes.data, bytes.length}));
    must(nl_fs_open(fs, NL_STR("memory:/t"), &file));
    must(nl_text_stream_open(file, 0, encoding, NULL, &stream));
    must(nl_text_stream_next(stream, &block));
    assert_int_equal(block.length, strlen(expected));
    assert_memory_equal(block.data, expected, block.length);
    nl_text_stream_close(stream);
    nl_file_close(file);
    nl_fs_release(fs);
}

static void test_other_encodings_become_utf8(void **state)
{
    (void)state;
    assert_transcoded(NL_ENCODING_LATIN1, NL_STR("a\xe9"), "a\xc3\xa9");
    assert_transcoded(NL_ENCODING_UTF16, NL_STR("\xff\xfe" "a\0\xe9\0\x3d\xd8\0\xde"), "a\xc3\xa9\xf0\x9f\x98\x80");
    assert_transcoded(NL_ENCODING_UTF16, NL_STR("\0a\0\xe9"), "a\xc3\xa9");
    assert_transcoded(NL_ENCODING_UTF16LE, NL_STR("a\0"), "a");
    assert_transcoded(NL_ENCODING_UTF16BE, NL_STR("\xfe\xff\0a\xd8\x3d\0a"), "a\xef\xbf\xbd" "a");
    assert_transcoded(NL_ENCODING_UTF32, NL_STR("\0\0\0a\0\x01\xf6\0"), "a\xf0\x9f\x98\x80");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_comes_back_in_every_compression),
        cmocka_unit_test(test_damaged_files_are_refused),
        cmocka_unit_test(test_other_encodings_become_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
