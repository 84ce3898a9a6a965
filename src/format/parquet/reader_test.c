#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "base/limits.h"
#include "base/pool.h"
#include "base/process.h"
#include "format/parquet/test_file.h"
#include "storage/piece_cache.h"

/* Files by pyarrow, DuckDB and Spark; see tests/make_fixtures_parquet.py. */
static const char *const fixtures[] = {
    "flat_none",    "flat_snappy",   "flat_gzip",     "flat_brotli",   "flat_zstd",      "flat_lz4",     "flat_v2",        "flat_plain",
    "flat_fallback", "flat_delta_v1", "flat_delta_v2", "flat_streams",  "flat_required",  "flat_nulls",   "flat_empty",     "nested_v1",
    "nested_v2",    "nested_plain",  "nested_delta",  "nested_required", "nested_old_names", "int96",     "nanos",          "page_index",
    "duckdb_bloom", "spark_modern",  "spark_legacy",
};

static uint32_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

static nl_memory *payer; /* in the present test; NULL: nobody */

static nl_parquet_reader *open_reader(const open_file *file, const nl_parquet_read_options *options)
{
    nl_parquet_reader *reader = NULL;
    must(nl_parquet_reader_open(file->file, file->footer, file->type, options, payer, &reader));
    return reader;
}

static void check_batch(const char *name, const expected_rows *expected, uint64_t first_row, const nl_batch *batch)
{
    nl_builder line;
    nl_builder_init(&line, 1 << 24);
    for (uint32_t i = 0; i < batch->row_count; i++) {
        nl_builder_clear(&line);
        text_of_batch_row(batch, i, &line);
        assert_true(first_row + i < expected->count);
        check_line(name, first_row + i, expected->lines[first_row + i], nl_builder_str(&line));
    }
    nl_builder_fini(&line);
}

static void check_whole_file(const char *name, const nl_parquet_read_options *options)
{
    open_file file;
    expected_rows expected;
    open_fixture(name, &file);
    read_expected(name, &expected);
    nl_parquet_reader *reader = open_reader(&file, options);
    uint64_t row = 0;
    for (uint32_t g = 0; g < file.footer->row_group_count; g++) {
        nl_parquet_scan *scan = NULL;
        nl_batch batch = {0};
        must(nl_parquet_scan_open(reader, g, NULL, 0, payer, &scan));
        for (;;) {
            must(nl_parquet_scan_next(scan, &batch));
            if (batch.row_count == 0) break;
            check_batch(name, &expected, row, &batch);
            row += batch.row_count;
            nl_batch_fini(&batch);
        }
        nl_batch_fini(&batch);
        nl_parquet_scan_close(scan);
    }
    assert_int_equal(row, expected.count);
    nl_parquet_reader_release(reader);
    free_expected(&expected);
    close_file(&file);
}

static void test_files_of_others_read_as_they_read_them(void **state)
{
    (void)state;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) check_whole_file(fixtures[i], &options);
}

static void test_flattened_dictionaries_and_tiny_blocks_change_nothing(void **state)
{
    (void)state;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME, .flattens_dictionaries = true, .read_block_bytes = 64};
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) check_whole_file(fixtures[i], &options);
}

/* Some disjoint ranges of a row group, in order. */
static uint32_t pick_ranges(uint64_t row_count, nl_parquet_rows ranges[4])
{
    uint32_t count = 0;
    uint64_t at = 0;
    while (count < 4 && at < row_count) {
        at += random_below((uint32_t)(row_count - at) / 2 + 1);
        const uint64_t length = random_below((uint32_t)(row_count - at) + 1);
        ranges[count++] = (nl_parquet_rows){.first_row = at, .row_count = length};
        at += length;
    }
    return count;
}

static void check_range_scan(const char *name, nl_parquet_reader *reader, uint32_t row_group, const expected_rows *expected)
{
    nl_parquet_rows ranges[4];
    const nl_parquet_row_group *group = &nl_parquet_reader_footer(reader)->row_groups[row_group];
    const uint32_t range_count = pick_ranges(group->row_count, ranges);
    nl_parquet_scan *scan = NULL;
    must(nl_parquet_scan_open(reader, row_group, ranges, range_count, payer, &scan));
    for (uint32_t r = 0; r < range_count; r++) {
        if (ranges[r].row_count == 0) continue;
        nl_batch batch = {0};
        must(nl_parquet_scan_next(scan, &batch));
        assert_int_equal(batch.row_count, ranges[r].row_count);
        check_batch(name, expected, group->first_row + ranges[r].first_row, &batch);
        nl_batch_fini(&batch);
    }
    nl_batch batch = {0};
    must(nl_parquet_scan_next(scan, &batch));
    assert_int_equal(batch.row_count, 0);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
}

static void test_row_ranges_give_exactly_their_rows(void **state)
{
    (void)state;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION, .read_block_bytes = 256};
    random_state = 1;
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) {
        open_file file;
        expected_rows expected;
        open_fixture(fixtures[i], &file);
        read_expected(fixtures[i], &expected);
        nl_parquet_reader *reader = open_reader(&file, &options);
        for (int round = 0; round < 20; round++) {
            for (uint32_t g = 0; g < file.footer->row_group_count; g++) check_range_scan(fixtures[i], reader, g, &expected);
        }
        nl_parquet_reader_release(reader);
        free_expected(&expected);
        close_file(&file);
    }
}

/* Ascending rows of a window, kept with probability 1/sparsity. */
static uint32_t pick_selection(uint32_t row_count, uint32_t sparsity, uint32_t *rows)
{
    uint32_t count = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        if (random_below(sparsity) == 0) rows[count++] = row;
    }
    return count;
}

static void check_selected(const char *name, nl_parquet_reader *reader, uint32_t row_group, const expected_rows *expected)
{
    nl_parquet_rows ranges[4];
    const nl_parquet_row_group *group = &nl_parquet_reader_footer(reader)->row_groups[row_group];
    const uint32_t range_count = pick_ranges(group->row_count, ranges);
    nl_parquet_scan *scan = NULL;
    nl_parquet_window window;
    uint32_t rows[NL_BATCH_ROWS];
    nl_builder line;
    nl_builder_init(&line, 1 << 24);
    must(nl_parquet_scan_open(reader, row_group, ranges, range_count, payer, &scan));
    for (must(nl_parquet_scan_advance(scan, &window)); window.row_count > 0; must(nl_parquet_scan_advance(scan, &window))) {
        if (random_below(3) == 0) continue; /* a window of which nothing is read */
        const nl_selection selection = {.rows = rows, .count = pick_selection(window.row_count, 1 + random_below(8), rows)};
        const uint32_t columns = nl_parquet_reader_footer(reader)->root->child_count;
        nl_batch batch = {0};
        must(nl_batch_init(&batch, columns, selection.count));
        for (uint32_t c = 0; c < columns; c++) {
            must(nl_parquet_scan_read(scan, c, &selection, &batch.columns[c]));
            assert_int_equal(batch.columns[c].length, selection.count);
        }
        for (uint32_t i = 0; i < selection.count; i++) {
            nl_builder_clear(&line);
            text_of_batch_row(&batch, i, &line);
            const uint64_t row = window.file_row + rows[i];
            check_line(name, row, expected->lines[row], nl_builder_str(&line));
        }
        nl_batch_fini(&batch);
    }
    nl_parquet_scan_close(scan);
    nl_builder_fini(&line);
}

static void test_selected_rows_are_those_of_the_whole_window(void **state)
{
    (void)state;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
    random_state = 2;
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) {
        open_file file;
        expected_rows expected;
        open_fixture(fixtures[i], &file);
        read_expected(fixtures[i], &expected);
        nl_parquet_reader *reader = open_reader(&file, &options);
        for (int round = 0; round < 20; round++) {
            for (uint32_t g = 0; g < file.footer->row_group_count; g++) check_selected(fixtures[i], reader, g, &expected);
        }
        nl_parquet_reader_release(reader);
        free_expected(&expected);
        close_file(&file);
    }
}

/* Fixtures were made long ago, so their pages are kept from the first reading on. */
static void read_everything_twice(size_t limit_bytes, nl_piece_cache_stats *stats)
{
    payer = nl_memory_new(NULL, "test", 256u << 20);
    nl_piece_cache *cache = nl_piece_cache_obtain(payer, &(nl_piece_cache_options){.limit_bytes = limit_bytes, .keeps_parts = true});
    assert_non_null(cache);
    for (int round = 0; round < 2; round++) {
        test_files_of_others_read_as_they_read_them(NULL);
        test_row_ranges_give_exactly_their_rows(NULL);
        test_selected_rows_are_those_of_the_whole_window(NULL);
    }
    *stats = nl_piece_cache_read_stats(cache);
    nl_piece_cache_release(cache);
    assert_int_equal(nl_memory_used(payer), 0);
    nl_memory_release(payer);
    payer = NULL;
}

static void test_pages_that_are_kept_give_the_same_rows(void **state)
{
    (void)state;
    nl_piece_cache_stats stats;
    nl_clock_hold(4102444800000000); /* the year 2100: no file was changed just now */
    read_everything_twice(64u << 20, &stats);
    assert_true(stats.piece_count > 100);
    assert_true(stats.hits > 10 * stats.puts);
    assert_int_equal(stats.evictions, 0);
    read_everything_twice(64u << 10, &stats); /* too little for all of them */
    assert_true(stats.hits > 0 && stats.evictions > 0);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
}

static void copy_fixture(const char *name, const char *target)
{
    char path[4096];
    nl_buffer *content = NULL;
    snprintf(path, sizeof(path), "tests/fixtures/parquet/%s.parquet", name);
    char *absolute = realpath(path, NULL);
    assert_non_null(absolute);
    must(nl_fs_read_all(nl_fs_local(), nl_str_from(absolute), 1 << 24, &content));
    free(absolute);
    const int descriptor = open(target, O_WRONLY | O_TRUNC | O_CLOEXEC); /* in place */
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, content->data, content->size_bytes), content->size_bytes);
    close(descriptor);
    nl_buffer_release(content);
}

static void check_first_row(const char *path, const char *fixture)
{
    open_file file;
    expected_rows expected;
    nl_batch batch = {0};
    nl_parquet_scan *scan = NULL;
    nl_builder line;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
    open_path(nl_fs_local(), nl_str_from(path), &file);
    read_expected(fixture, &expected);
    nl_parquet_reader *reader = open_reader(&file, &options);
    must(nl_parquet_scan_open(reader, 0, NULL, 0, payer, &scan));
    must(nl_parquet_scan_next(scan, &batch));
    nl_builder_init(&line, 1 << 24);
    text_of_batch_row(&batch, 0, &line);
    check_line(fixture, 0, expected.lines[0], nl_builder_str(&line));
    nl_builder_fini(&line);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
    nl_parquet_reader_release(reader);
    free_expected(&expected);
    close_file(&file);
}

static void test_a_file_that_is_overwritten_in_place_is_read_anew(void **state)
{
    (void)state;
    char path[] = "/tmp/nilas-reader-test-XXXXXX";
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    payer = nl_memory_new(NULL, "test", 256u << 20);
    nl_piece_cache *cache = nl_piece_cache_obtain(payer, &(nl_piece_cache_options){.limit_bytes = 64u << 20, .keeps_parts = true});
    for (int round = 0; round < 3; round++) {
        for (size_t i = 15; i < 18; i++) {
            copy_fixture(fixtures[i], path);
            usleep(round == 1 ? 150000 : 0); /* long enough for its pages to be kept, or not */
            for (int again = 0; again < 2; again++) check_first_row(path, fixtures[i]);
        }
    }
    assert_true(nl_piece_cache_read_stats(cache).hits > 0);
    nl_piece_cache_release(cache);
    nl_memory_release(payer);
    payer = NULL;
    unlink(path);
}

static void test_dictionary_pages_share_one_dictionary_per_chunk(void **state)
{
    (void)state;
    open_file file;
    open_fixture("duckdb_bloom", &file);
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = open_reader(&file, &options);
    nl_parquet_scan *scans[2] = {NULL, NULL};
    nl_parquet_window window;
    nl_vector vectors[2] = {{0}, {0}};
    for (uint32_t i = 0; i < 2; i++) {
        must(nl_parquet_scan_open(reader, 0, NULL, 0, NULL, &scans[i]));
        must(nl_parquet_scan_advance(scans[i], &window));
        must(nl_parquet_scan_read(scans[i], 1, NULL, &vectors[i]));
        assert_int_equal(vectors[i].encoding, NL_DICTIONARY);
    }
    assert_ptr_equal(vectors[0].dictionary, vectors[1].dictionary);
    assert_int_equal(vectors[0].dictionary->vector.length, 30);
    /* Vectors outlive the scans and the reader: the dictionary keeps its page. */
    for (uint32_t i = 0; i < 2; i++) nl_parquet_scan_close(scans[i]);
    nl_parquet_reader_release(reader);
    const nl_str text = nl_view_str(&((const nl_string_view *)vectors[0].dictionary->vector.values)[vectors[0].indices[29]]);
    assert_true(nl_str_is(text, "name 29"));
    for (uint32_t i = 0; i < 2; i++) nl_vector_fini(&vectors[i]);
    close_file(&file);
}

typedef struct crowd {
    nl_parquet_reader *reader;
    const expected_rows *expected;
} crowd;

static nl_status scan_part(void *argument, uint64_t i)
{
    const crowd *c = argument;
    const uint64_t row_count = nl_parquet_reader_footer(c->reader)->row_groups[0].row_count;
    const nl_parquet_rows rows = {.first_row = i % row_count, .row_count = row_count - i % row_count};
    nl_parquet_scan *scan = NULL;
    nl_batch batch = {0};
    NL_TRY(nl_parquet_scan_open(c->reader, 0, &rows, 1, NULL, &scan));
    nl_status status = nl_parquet_scan_next(scan, &batch);
    if (status == NULL) check_batch("shared", c->expected, rows.first_row, &batch);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
    return status;
}

static void test_many_threads_scan_one_row_group(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(4, "test");
    static const char *const names[] = {"spark_modern", "flat_zstd", "nested_plain", "page_index"};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        open_file file;
        expected_rows expected;
        open_fixture(names[i], &file);
        read_expected(names[i], &expected);
        const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
        crowd c = {.reader = open_reader(&file, &options), .expected = &expected};
        must(nl_pool_for(pool, 200, scan_part, &c));
        nl_parquet_reader_release(c.reader);
        free_expected(&expected);
        close_file(&file);
    }
    nl_pool_free(pool);
}

static void test_half_floats_widen_when_asked_for(void **state)
{
    (void)state;
    open_file file;
    expected_rows expected;
    open_fixture("float16", &file);
    read_expected("float16", &expected);
    assert_null(file.type); /* Spark knows no 16-bit floats */
    const nl_field field = {.name = NL_STR("h"), .type = nl_type_of(NL_TYPE_FLOAT), .is_nullable = true};
    file.type = nl_type_struct(file.arena, &field, 1);
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = open_reader(&file, &options);
    nl_parquet_scan *scan = NULL;
    nl_batch batch = {0};
    must(nl_parquet_scan_open(reader, 0, NULL, 0, NULL, &scan));
    must(nl_parquet_scan_next(scan, &batch));
    check_batch("float16", &expected, 0, &batch);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
    nl_parquet_reader_release(reader);
    free_expected(&expected);
    close_file(&file);
}

static void test_a_small_budget_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    open_file file;
    open_fixture("nested_v1", &file);
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = open_reader(&file, &options);
    bool has_succeeded = false;
    for (size_t limit = 1000; !has_succeeded; limit += limit / 3) {
        nl_memory *memory = nl_memory_new(NULL, "small", limit);
        nl_parquet_scan *scan = NULL;
        nl_batch batch = {0};
        nl_status status = nl_parquet_scan_open(reader, 0, NULL, 0, memory, &scan);
        if (status == NULL) status = nl_parquet_scan_next(scan, &batch);
        has_succeeded = status == NULL;
        if (status != NULL) must_fail(status, NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
        nl_batch_fini(&batch);
        nl_parquet_scan_close(scan);
        assert_int_equal(nl_memory_used(memory), 0);
        nl_memory_release(memory);
    }
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_no_columns_at_all_still_count_rows(void **state)
{
    (void)state;
    open_file file;
    open_fixture("nested_v1", &file);
    file.type = nl_type_struct(file.arena, NULL, 0);
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = open_reader(&file, &options);
    uint64_t rows = 0;
    for (uint32_t g = 0; g < file.footer->row_group_count; g++) {
        nl_parquet_scan *scan = NULL;
        nl_batch batch = {0};
        must(nl_parquet_scan_open(reader, g, NULL, 0, payer, &scan));
        must(nl_parquet_scan_next(scan, &batch));
        rows += batch.row_count;
        nl_batch_fini(&batch);
        nl_parquet_scan_close(scan);
    }
    assert_int_equal(rows, 60);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_of_others_read_as_they_read_them),
        cmocka_unit_test(test_flattened_dictionaries_and_tiny_blocks_change_nothing),
        cmocka_unit_test(test_row_ranges_give_exactly_their_rows),
        cmocka_unit_test(test_selected_rows_are_those_of_the_whole_window),
        cmocka_unit_test(test_pages_that_are_kept_give_the_same_rows),
        cmocka_unit_test(test_a_file_that_is_overwritten_in_place_is_read_anew),
        cmocka_unit_test(test_dictionary_pages_share_one_dictionary_per_chunk),
        cmocka_unit_test(test_many_threads_scan_one_row_group),
        cmocka_unit_test(test_no_columns_at_all_still_count_rows),
        cmocka_unit_test(test_half_floats_widen_when_asked_for),
        cmocka_unit_test(test_a_small_budget_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
