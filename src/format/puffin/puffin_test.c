/* format/puffin/puffin_test.c - Puffin files of Spark 4.0.1 with Iceberg 1.10, our own, and damaged ones. */
#include "base/test_support.h"

#include "format/puffin/puffin.h"

static void test_statistics_of_spark_are_read(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_local();
    nl_file *file;
    nl_puffin puffin;
    assert_ok(nl_fs_open(fs, NL_STR("tests/fixtures/iceberg/v3/3750359085706608428-0864e3ef-0792-4a42-ba38-026f7a92ec50.stats"), &file));
    assert_ok(nl_puffin_read_footer(file, NULL, arena, &puffin));
    assert_int_equal(puffin.blob_count, 2);
    assert_int_equal(puffin.footer_bytes, 501 + 16);
    assert_text(puffin.blobs[1].type, "apache-datasketches-theta-v1");
    assert_int_equal(puffin.blobs[1].fields[0], 2);
    assert_int_equal(puffin.blobs[1].offset, 105);
    assert_int_equal(puffin.blobs[1].codec, NL_CODEC_ZSTD);
    assert_true(puffin.blobs[1].snapshot_id == 3750359085706608428);
    assert_text(nl_puffin_property_of(&puffin.blobs[1], "ndv"), "9");
    assert_null(nl_puffin_property_of(&puffin.blobs[1], "none").data);
    nl_buffer *content;
    assert_ok(nl_puffin_read_blob(file, &puffin.blobs[1], NULL, &content));
    assert_true(content->size_bytes > 8 && content->size_bytes < 200); /* nine values of 8 bytes and a preamble */
    nl_buffer_release(content);
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_blobs_of_every_codec_come_back(void **state)
{
    (void)state;
    static const nl_codec codecs[] = {NL_CODEC_NONE, NL_CODEC_LZ4_FRAME, NL_CODEC_ZSTD};
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_output *output;
    nl_puffin_writer *writer;
    uint8_t data[10000];
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i / 100);
    assert_ok(nl_fs_create(fs, NL_STR("memory:/p.puffin"), &output));
    assert_ok(nl_puffin_writer_create(output, NULL, &writer));
    const int32_t field = 2147483645;
    for (uint32_t i = 0; i < NL_COUNT(codecs); i++) {
        const nl_puffin_property property = {NL_STR("referenced-data-file"), NL_STR("/a \"quoted\" path")};
        nl_puffin_blob blob = {.type = NL_STR("deletion-vector-v1"), .fields = &field, .field_count = 1, .snapshot_id = -1, .sequence_number = -1,
                               .codec = codecs[i], .properties = &property, .property_count = 1};
        assert_ok(nl_puffin_writer_add(writer, (nl_bytes){data, sizeof(data) - i}, &blob));
        if (i == 0) assert_int_equal(blob.offset, 4);
        if (i > 0) assert_true(blob.length < 1000);
    }
    uint64_t file_bytes;
    uint64_t footer_bytes;
    assert_ok(nl_puffin_writer_close(writer, (nl_str){0}, &file_bytes, &footer_bytes));
    nl_file *file;
    nl_puffin puffin;
    assert_ok(nl_fs_open(fs, NL_STR("memory:/p.puffin"), &file));
    assert_int_equal(nl_file_size(file), file_bytes);
    assert_ok(nl_puffin_read_footer(file, NULL, arena, &puffin));
    assert_int_equal(puffin.footer_bytes, footer_bytes);
    assert_int_equal(puffin.blob_count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        nl_buffer *content;
        assert_ok(nl_puffin_read_blob(file, &puffin.blobs[i], NULL, &content));
        assert_int_equal(content->size_bytes, sizeof(data) - i);
        assert_memory_equal(content->data, data, sizeof(data) - i);
        assert_text(nl_puffin_property_of(&puffin.blobs[i], "referenced-data-file"), "/a \"quoted\" path");
        nl_buffer_release(content);
    }
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static nl_status read_changed(const nl_bytes content, size_t length, size_t at, uint8_t bits)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file;
    nl_puffin puffin;
    uint8_t *copy = nl_arena_alloc(arena, content.length + 1);
    memcpy(copy, content.data, content.length);
    copy[at] ^= bits;
    assert_ok(nl_fs_write_all(fs, NL_STR("memory:/p.puffin"), (nl_bytes){copy, length}));
    assert_ok(nl_fs_open(fs, NL_STR("memory:/p.puffin"), &file));
    nl_status status = nl_puffin_read_footer(file, NULL, arena, &puffin);
    for (uint32_t i = 0; !status && i < puffin.blob_count; i++) {
        nl_buffer *blob = NULL;
        status = nl_puffin_read_blob(file, &puffin.blobs[i], NULL, &blob);
        nl_buffer_release(blob);
    }
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
    return status;
}

static void test_damaged_files_are_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_bytes content = read_fixture(arena, "iceberg/v3/3750359085706608428-0864e3ef-0792-4a42-ba38-026f7a92ec50.stats");
    const size_t size = content.length;
    assert_ok(read_changed(content, size, 0, 0));
    assert_fails(read_changed(content, size, 0, 1), NILAS_CORRUPT_FILE, "does not start as a Puffin file");
    assert_fails(read_changed(content, size, size - 1, 1), NILAS_CORRUPT_FILE, "does not end as a Puffin file");
    assert_fails(read_changed(content, size, size - 9, 0x40), NILAS_CORRUPT_FILE, "claims more bytes than there are");
    assert_fails(read_changed(content, size, size - 12, 1), NILAS_CORRUPT_FILE, "does not start with the magic");
    assert_fails(read_changed(content, size, size - 7, 1), NILAS_UNSUPPORTED, "unknown flags");
    assert_fails(read_changed(content, size, size - 8, 1), NILAS_CORRUPT_FILE, NULL); /* not an LZ4 frame */
    assert_fails(read_changed(content, size, 10, 0xff), NILAS_CORRUPT_FILE, NULL);    /* inside a zstd blob */
    for (size_t length = 0; length < size; length += 7)
        assert_fails(read_changed(content, length, 0, 0), NILAS_CORRUPT_FILE, NULL);
    for (size_t at = 0; at < size; at++)
        nl_error_free(read_changed(content, size, at, 0x11)); /* whatever it says, it must not do harm */
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statistics_of_spark_are_read),
        cmocka_unit_test(test_blobs_of_every_codec_come_back),
        cmocka_unit_test(test_damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
