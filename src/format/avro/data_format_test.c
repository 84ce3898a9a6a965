/* format/avro/data_format_test.c - Avro files behind the interface of data files: parts, row numbers, codecs, facts. */
#include "base/test_support.h"

#include "base/number.h"
#include "format/avro/data_format.h"

#include <stdlib.h>

enum { ROWS = 30000 };

static const char schema[] = "{\"type\":\"record\",\"name\":\"table\",\"fields\":["
                             "{\"name\":\"id\",\"type\":\"long\",\"field-id\":1},"
                             "{\"name\":\"s\",\"type\":[\"null\",\"string\"],\"default\":null,\"field-id\":2}]}";

static const nl_type *row_type(nl_arena *arena)
{
    const nl_field fields[] = {{.name = NL_STR("id"), .type = nl_type_bigint(), .field_id = 1},
                               {.name = NL_STR("s"), .type = nl_type_string(), .is_nullable = true, .field_id = 2}};
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

/* Rows 0, 1, 2 …: each hundredth without text, the others with their number twice, so that blocks hold some thousand rows. */
static void append_rows(nl_data_output *output)
{
    for (int64_t start = 0; start < ROWS; start += 1000) {
        nl_batch batch;
        nl_column_builder *ids, *texts;
        assert_ok(nl_batch_init(&batch, 2, 1000));
        assert_ok(nl_column_builder_new(nl_type_bigint(), NULL, &ids));
        assert_ok(nl_column_builder_new(nl_type_string(), NULL, &texts));
        for (int64_t id = start; id < start + 1000; id++) {
            char text[64];
            const int length = snprintf(text, sizeof text, "text %lld of row %lld", (long long)(id * 7919), (long long)id);
            assert_ok(nl_column_builder_i64(ids, id));
            if (id % 100 == 0) assert_ok(nl_column_builder_null(texts));
            else assert_ok(nl_column_builder_str(texts, (nl_str){text, (size_t)length}));
        }
        assert_ok(nl_column_builder_finish(ids, &batch.columns[0]));
        assert_ok(nl_column_builder_finish(texts, &batch.columns[1]));
        assert_ok(nl_data_output_append(output, &batch));
        nl_column_builder_free(ids);
        nl_column_builder_free(texts);
        nl_batch_fini(&batch);
    }
}

static nl_status create(nl_fs *fs, const nl_type *type, const char *codec, const char *level, nl_data_output **out)
{
    static const nl_data_pair pair = {NL_STR_INIT("iceberg.schema"), NL_STR_INIT("{}")};
    const nl_data_write write = {.type = type, .avro_schema = nl_str_from(schema), .codec = nl_str_from(codec), .codec_level = nl_str_from(level), .metadata = &pair, .metadata_count = 1};
    nl_output *output;
    assert_ok(nl_fs_create(fs, NL_STR("memory:/d.avro"), &output));
    return nl_data_output_create(&nl_avro_data_format, output, &write, NULL, out);
}

static nl_written_file write_file(nl_fs *fs, const nl_type *type, nl_arena *arena, const char *codec)
{
    nl_data_output *output;
    nl_written_file written;
    assert_ok(create(fs, type, codec, "", &output));
    append_rows(output);
    assert_true(nl_data_output_bytes(output) > 0);
    assert_ok(nl_data_output_finish(output, arena, &written));
    return written;
}

/* Reads all parts; each row must come once and, with positions, know its number. Returns the number of parts. */
static uint32_t read_parts(nl_fs *fs, const nl_data_read *read)
{
    nl_file *file;
    nl_data_reader *reader;
    uint8_t *seen = calloc(ROWS, 1);
    assert_non_null(seen);
    assert_ok(nl_fs_open(fs, NL_STR("memory:/d.avro"), &file));
    assert_ok(nl_data_file_open(&nl_avro_data_format, file, read, NULL, &reader));
    for (uint32_t part = reader->part_count; part-- > 0;) { /* in whatever order */
        nl_data_scan *scan;
        assert_ok(nl_data_scan_open(reader, part, NULL, &scan));
        for (bool is_last = false; !is_last;) {
            nl_batch batch;
            uint64_t first_row = 0;
            assert_ok(nl_data_scan_next(scan, &batch, &first_row));
            const int64_t *ids = batch.columns[0].values;
            for (uint32_t row = 0; row < batch.row_count; row++) {
                if (read->needs_positions) assert_int_equal(ids[row], first_row + row);
                assert_in_range(ids[row], 0, ROWS - 1);
                seen[ids[row]]++;
            }
            is_last = batch.row_count == 0;
            nl_batch_fini(&batch);
        }
        nl_data_scan_close(scan);
    }
    for (uint32_t i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], 1);
    const uint32_t part_count = reader->part_count;
    nl_data_reader_close(reader);
    nl_file_close(file);
    free(seen);
    return part_count;
}

static void test_parts_give_every_row_once_and_know_its_number(void **state)
{
    (void)state;
    static const char *const codecs[] = {"", "zstd", "snappy", "uncompressed"};
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *type = row_type(arena);
    for (size_t i = 0; i < NL_COUNT(codecs); i++) {
        nl_fs *fs = nl_fs_memory_new();
        const nl_written_file written = write_file(fs, type, arena, codecs[i]);
        assert_int_equal(written.row_count, ROWS);
        assert_null(written.leaves);
        for (uint64_t part_bytes = 0; part_bytes < 1000000; part_bytes = part_bytes * 3 + 1000) {
            nl_data_read read = {.wanted = type, .part_bytes = part_bytes};
            const uint32_t parts = read_parts(fs, &read);
            assert_true(part_bytes == 0 ? parts == 1 : parts <= written.file_bytes / part_bytes + 1);
            read.needs_positions = true;
            read_parts(fs, &read);
        }
        nl_file *file;
        nl_written_file described = {0};
        assert_ok(nl_fs_open(fs, NL_STR("memory:/d.avro"), &file));
        assert_ok(nl_avro_data_format.describe(file, &(nl_data_read){.wanted = type}, NULL, arena, &described));
        assert_int_equal(described.row_count, ROWS);
        assert_int_equal(described.file_bytes, written.file_bytes);
        nl_file_close(file);
        nl_fs_release(fs);
    }
    nl_arena_free(arena);
}

static void test_heads_that_lie_are_found_before_the_rows_are_read(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_type *type = row_type(arena);
    const nl_written_file written = write_file(fs, type, arena, "uncompressed");
    nl_file *file;
    uint8_t *bytes = nl_arena_alloc(arena, written.file_bytes);
    assert_ok(nl_fs_open(fs, NL_STR("memory:/d.avro"), &file));
    assert_ok(nl_file_read(file, 0, written.file_bytes, bytes));
    nl_file_close(file);
    /* The last block's size is cut off with the file's end. */
    assert_ok(nl_fs_write_all(fs, NL_STR("memory:/cut.avro"), (nl_bytes){bytes, written.file_bytes - 100}));
    assert_ok(nl_fs_open(fs, NL_STR("memory:/cut.avro"), &file));
    nl_data_reader *reader = NULL;
    const nl_data_read read = {.wanted = type, .needs_positions = true, .part_bytes = 1000};
    assert_fails(nl_data_file_open(&nl_avro_data_format, file, &read, NULL, &reader), NILAS_CORRUPT_FILE, "claims more than the file holds");
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_codecs_and_levels_that_are_none_are_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_data_output *output = NULL;
    const nl_type *type = row_type(arena);
    assert_fails(create(fs, type, "lzo", "", &output), NILAS_ILLEGAL_ARGUMENT, "Unsupported compression codec");
    assert_fails(create(fs, type, "gzip", "77", &output), NILAS_ILLEGAL_ARGUMENT, "Invalid compression level: 77");
    assert_fails(create(fs, type, "zstd", "much", &output), NILAS_ILLEGAL_ARGUMENT, "Invalid compression level: much");
    assert_ok(create(fs, type, "zstd", "19", &output));
    nl_data_output_abort(output);
    bool exists;
    assert_ok(nl_fs_exists(fs, NL_STR("memory:/d.avro"), &exists));
    assert_false(exists);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_give_every_row_once_and_know_its_number),
        cmocka_unit_test(test_heads_that_lie_are_found_before_the_rows_are_read),
        cmocka_unit_test(test_codecs_and_levels_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
