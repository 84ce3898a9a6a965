/* Checkpoints: Spark's texts, written once, and what is found again. */
#include "base/test_support.h"

#include "stream/checkpoint.h"
#include "stream/file_log.h"

typedef struct fixture {
    nl_fs *fs;
    nl_arena *arena;
    nl_stream_checkpoint *checkpoint;
} fixture;

static int setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->fs = nl_fs_memory_new();
    f->arena = nl_arena_new(NULL);
    assert_ok(nl_stream_checkpoint_open(f->fs, NL_STR("memory:/q/"), false, &f->checkpoint));
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    nl_stream_checkpoint_close(f->checkpoint);
    nl_arena_free(f->arena);
    nl_fs_release(f->fs);
    free(f);
    return 0;
}

static nl_str content(fixture *f, const char *path)
{
    nl_buffer *buffer = NULL;
    assert_ok(nl_fs_read_all(f->fs, nl_str_from(path), 1 << 20, &buffer));
    const nl_str text = nl_arena_str(f->arena, (nl_str){(const char *)buffer->data, buffer->size_bytes});
    nl_buffer_release(buffer);
    return text;
}

static void test_the_id_stays_with_the_folder(void **state)
{
    fixture *f = *state;
    nl_stream_checkpoint *again = NULL;
    assert_ok(nl_stream_checkpoint_open(f->fs, NL_STR("memory:/q"), false, &again));
    assert_string_equal(again->id, f->checkpoint->id);
    assert_int_equal(strlen(again->id), 36);
    nl_stream_checkpoint_close(again);
}

static void test_offsets_are_written_as_spark_writes_them(void **state)
{
    fixture *f = *state;
    const nl_property conf = {NL_STR("spark.sql.shuffle.partitions"), NL_STR("2")};
    const nl_str texts[] = {NL_STR("{\"logOffset\":0}"), {0}};
    const nl_stream_offsets offsets = {.watermark_ms = 5, .timestamp_ms = 7, .confs = &conf, .conf_count = 1, .offsets = texts, .offset_count = 2};
    nl_stream_offsets found;
    assert_ok(nl_stream_offsets_write(f->checkpoint, 3, &offsets));
    assert_string_equal(content(f, "memory:/q/offsets/3").data,
                        "v1\n{\"batchWatermarkMs\":5,\"batchTimestampMs\":7,\"conf\":{\"spark.sql.shuffle.partitions\":\"2\"}}\n{\"logOffset\":0}\n-");
    assert_ok(nl_stream_offsets_read(f->checkpoint, 3, f->arena, &found));
    assert_int_equal(found.watermark_ms, 5);
    assert_int_equal(found.offset_count, 2);
    assert_true(nl_str_is(found.offsets[0], "{\"logOffset\":0}"));
    assert_int_equal(found.offsets[1].length, 0);
    assert_int_equal(found.conf_count, 1);
}

static void test_a_batch_is_written_once(void **state)
{
    fixture *f = *state;
    int64_t watermark = -1, latest = 0;
    assert_ok(nl_stream_log_latest(f->checkpoint, "commits", &latest));
    assert_int_equal(latest, NL_STREAM_NO_BATCH);
    assert_ok(nl_stream_commit_write(f->checkpoint, 9, 1234));
    assert_fails(nl_stream_commit_write(f->checkpoint, 9, 1234), CONCURRENT_STREAM_LOG_UPDATE, "Multiple streaming jobs detected for 9");
    assert_string_equal(content(f, "memory:/q/commits/9").data, "v1\n{\"nextBatchWatermarkMs\":1234}");
    assert_ok(nl_stream_commit_read(f->checkpoint, 9, &watermark));
    assert_int_equal(watermark, 1234);
    assert_ok(nl_stream_commit_write(f->checkpoint, 10, 0));
    assert_ok(nl_stream_log_latest(f->checkpoint, "commits", &latest));
    assert_int_equal(latest, 10);
    assert_ok(nl_stream_log_purge(f->checkpoint, "commits", 10));
    assert_ok(nl_stream_commit_read(f->checkpoint, 9, &watermark));
    assert_int_equal(watermark, 0);
}

static void test_damaged_logs_are_refused(void **state)
{
    fixture *f = *state;
    nl_stream_offsets found;
    static const char *const bad[] = {"", "v1", "v9\n{}", "v1\n{\"batchWatermarkMs\":\"x\"}", "v1\nnothing", "v1\n{\"conf\":{\"a\":1}}"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        const nl_str path = nl_arena_f(f->arena, "memory:/q/offsets/%zu", 100 + i);
        assert_ok(nl_fs_write_all(f->fs, path, (nl_bytes){(const uint8_t *)bad[i], strlen(bad[i])}));
        nl_status status = nl_stream_offsets_read(f->checkpoint, 100 + (int64_t)i, f->arena, &found);
        assert_non_null(status);
        nl_error_free(status);
    }
    assert_fails(nl_stream_offsets_read(f->checkpoint, 999, f->arena, &found), NILAS_CORRUPT_FILE, "batch 999");
}

static void test_a_sinks_log_holds_everything_every_tenth_time(void **state)
{
    fixture *f = *state;
    nl_list files = {0};
    bool is_sink = false, is_there = false;
    assert_ok(nl_stream_sink_log_files(f->fs, NL_STR("memory:/out"), f->arena, &files, &is_sink));
    assert_false(is_sink);
    for (int64_t batch = 0; batch < 12; batch++) {
        const nl_file_info file = {.path = nl_arena_f(f->arena, "memory:/out/%d", (int)batch), .size_bytes = 3, .modified_micros = 5000};
        assert_ok(nl_stream_sink_log_add(f->fs, NL_STR("memory:/out"), batch, &file, 1));
    }
    assert_ok(nl_stream_sink_log_files(f->fs, NL_STR("memory:/out"), f->arena, &files, &is_sink));
    assert_true(is_sink);
    assert_int_equal(files.count, 12);
    assert_true(nl_str_starts(content(f, "memory:/out/_spark_metadata/9.compact"), NL_STR("v1\n{\"path\":\"memory:/out/0\",\"size\":3,\"isDir\":false,\"modificationTime\":5,")));
    assert_ok(nl_stream_sink_log_has(f->fs, NL_STR("memory:/out"), 11, &is_there));
    assert_true(is_there);
    assert_ok(nl_stream_sink_log_has(f->fs, NL_STR("memory:/out"), 12, &is_there));
    assert_false(is_there);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_id_stays_with_the_folder, setup, teardown),
        cmocka_unit_test_setup_teardown(test_offsets_are_written_as_spark_writes_them, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_batch_is_written_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damaged_logs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_sinks_log_holds_everything_every_tenth_time, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
