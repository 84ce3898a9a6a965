/* Damaged files cost an error, never a crash: bytes flipped and files cut at many places. Set NILAS_BAD_ROUNDS for more. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/number.h"
#include "format/parquet/test_file.h"

#define BUDGET_BYTES (64u << 20)

static uint32_t random_state = 7;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

static nl_status read_rows(nl_parquet_reader *reader, uint32_t row_group, nl_memory *memory)
{
    nl_parquet_scan *scan = NULL;
    nl_parquet_rows rows = {.row_count = nl_parquet_reader_footer(reader)->row_groups[row_group].row_count};
    if (random_below(2) && rows.row_count > 2) {
        rows.first_row = random_below((uint32_t)NL_MIN(rows.row_count, (uint64_t)1000));
        rows.row_count -= rows.first_row;
    }
    rows.row_count = NL_MIN(rows.row_count, (uint64_t)8000);
    NL_TRY(nl_parquet_scan_open(reader, row_group, &rows, 1, memory, &scan));
    nl_status status = NULL;
    for (bool is_end = false; !is_end && status == NULL;) {
        nl_batch batch = {0};
        status = nl_parquet_scan_next(scan, &batch);
        is_end = batch.row_count == 0;
        nl_batch_fini(&batch);
    }
    nl_parquet_scan_close(scan);
    return status;
}

static nl_status read_all(nl_file *file, nl_memory *memory, nl_arena *arena)
{
    nl_parquet_footer *footer = NULL;
    nl_parquet_reader *reader = NULL;
    const nl_type *type = NULL;
    const nl_parquet_type_options type_options = {.is_iceberg = true};
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION, .skips_checksums = true};
    NL_TRY(nl_parquet_footer_read(file, memory, &footer));
    nl_status status = nl_parquet_footer_type(footer, &type_options, arena, &type);
    if (status == NULL) status = nl_parquet_reader_open(file, footer, type, &options, memory, &reader);
    for (uint32_t g = 0; status == NULL && g < footer->row_group_count; g++) {
        for (uint32_t c = 0; c < type->child_count && status == NULL; c++) {
            const uint32_t leaf = nl_parquet_reader_leaf(reader, c);
            nl_parquet_bounds bounds;
            nl_parquet_bounds *pages = NULL;
            uint32_t page_count = 0;
            if (leaf == NL_PARQUET_NO_LEAF) continue;
            status = nl_parquet_chunk_bounds(reader, g, leaf, arena, &bounds);
            if (status == NULL) status = nl_parquet_page_bounds(reader, g, leaf, arena, &pages, &page_count);
        }
        if (status == NULL) status = read_rows(reader, g, memory);
    }
    nl_parquet_reader_release(reader);
    nl_parquet_footer_release(footer);
    return status;
}

/* True when the damaged file was noticed. */
static bool is_refused(nl_fs *fs, const uint8_t *bytes, size_t length)
{
    nl_file *file = NULL;
    nl_memory *memory = nl_memory_new(NULL, "bad", BUDGET_BYTES);
    nl_arena *arena = nl_arena_new(NULL);
    must(nl_fs_write_all(fs, NL_STR("memory:/bad"), (nl_bytes){bytes, length}));
    must(nl_fs_open(fs, NL_STR("memory:/bad"), &file));
    nl_status status = read_all(file, memory, arena);
    const bool is_bad = status != NULL;
    if (is_bad) {
        const nl_condition condition = nl_error_condition(status);
        const bool is_expected = condition == NL_COND_NILAS_CORRUPT_FILE || condition == NL_COND_NILAS_UNSUPPORTED ||
                                 condition == NL_COND_UNABLE_TO_ACQUIRE_MEMORY || condition == NL_COND_PARQUET_TYPE_ILLEGAL ||
                                 condition == NL_COND_PARQUET_TYPE_NOT_SUPPORTED || condition == NL_COND_PARQUET_TYPE_NOT_RECOGNIZED ||
                                 condition == NL_COND_FAILED_READ_FILE__PARQUET_COLUMN_DATA_TYPE_MISMATCH;
        if (!is_expected) fail_msg("%s", nl_error_message(status));
        nl_error_free(status);
    }
    nl_file_close(file);
    nl_arena_free(arena);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
    return is_bad;
}

static nl_buffer *load(const char *name)
{
    char folder[2048];
    char path[4096];
    nl_buffer *bytes = NULL;
    assert_non_null(getcwd(folder, sizeof(folder)));
    snprintf(path, sizeof(path), "%s/tests/fixtures/parquet/%s.parquet", folder, name);
    must(nl_fs_read_all(nl_fs_local(), nl_str_from(path), 1 << 24, &bytes));
    return bytes;
}

static const char *const fixtures[] = {"flat_none",  "flat_v2",    "flat_plain",   "flat_fallback", "flat_delta_v1", "flat_delta_v2", "flat_streams",
                                       "nested_v1",  "nested_v2",  "nested_plain", "nested_delta",  "int96",         "page_index",    "duckdb_bloom",
                                       "flat_snappy", "flat_zstd", "flat_gzip",    "flat_brotli",   "flat_lz4",      "spark_legacy"};

static int rounds(void)
{
    int64_t value = 40;
    const nl_str text = nl_str_from(getenv("NILAS_BAD_ROUNDS"));
    return nl_parse_int64(text, &value) ? (int)value : 40;
}

static void test_flipped_bytes_are_refused_or_read_but_never_crash(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    uint32_t refused = 0;
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) {
        nl_buffer *bytes = load(fixtures[i]);
        for (int round = 0; round < rounds(); round++) {
            nl_buffer *copy = NULL;
            must(nl_buffer_new(NULL, bytes->size_bytes, false, &copy));
            memcpy(copy->data, bytes->data, bytes->size_bytes);
            const uint32_t changes = 1 + random_below(3);
            for (uint32_t k = 0; k < changes; k++) {
                /* Half of the changes go to the last part, where the footer is. */
                const uint32_t size = (uint32_t)bytes->size_bytes;
                const uint32_t span = random_below(2) ? size : NL_MIN(size, 3000u);
                copy->data[size - 1 - random_below(span)] = random_below(3) ? (uint8_t)random_below(256) : (uint8_t)(0xffu * random_below(2));
            }
            refused += is_refused(fs, copy->data, copy->size_bytes);
            nl_buffer_release(copy);
        }
        nl_buffer_release(bytes);
    }
    assert_true(refused > 0);
    nl_fs_release(fs);
}

static void test_cut_files_are_refused(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    for (size_t i = 0; i < NL_COUNT(fixtures); i++) {
        nl_buffer *bytes = load(fixtures[i]);
        for (int round = 0; round < 20; round++) assert_true(is_refused(fs, bytes->data, random_below((uint32_t)bytes->size_bytes)));
        for (size_t length = 0; length < 12; length++) assert_true(is_refused(fs, bytes->data, length));
        nl_buffer_release(bytes);
    }
    nl_fs_release(fs);
}

static void test_damage_names_file_column_and_place(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    nl_buffer *bytes = load("flat_snappy"); /* has checksums */
    nl_file *file = NULL;
    open_file open;
    open_fixture("flat_snappy", &open);
    const nl_parquet_chunk *chunk = &open.footer->row_groups[0].chunks[4];
    bytes->data[chunk->start + chunk->length - 1] ^= 1;
    must(nl_fs_write_all(fs, NL_STR("memory:/damaged"), (nl_bytes){bytes->data, bytes->size_bytes}));
    must(nl_fs_open(fs, NL_STR("memory:/damaged"), &file));
    nl_parquet_footer *footer = NULL;
    nl_parquet_reader *reader = NULL;
    nl_parquet_scan *scan = NULL;
    nl_batch batch = {0};
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
    must(nl_parquet_footer_read(file, NULL, &footer));
    must(nl_parquet_reader_open(file, footer, open.type, &options, NULL, &reader));
    must(nl_parquet_scan_open(reader, 0, NULL, 0, NULL, &scan));
    nl_status status = nl_parquet_scan_next(scan, &batch);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_DATA);
    assert_string_equal(nl_error_param(status, "path"), "memory:/damaged");
    assert_non_null(strstr(nl_error_message(status), "i64"));
    int64_t offset = 0;
    assert_true(nl_parse_int64(nl_str_from(nl_error_param(status, "offset")), &offset));
    assert_true(offset >= (int64_t)chunk->start && offset < (int64_t)(chunk->start + chunk->length));
    nl_error_free(status);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
    nl_parquet_reader_release(reader);
    nl_parquet_footer_release(footer);
    nl_file_close(file);
    close_file(&open);
    nl_buffer_release(bytes);
    nl_fs_release(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_flipped_bytes_are_refused_or_read_but_never_crash),
        cmocka_unit_test(test_cut_files_are_refused),
        cmocka_unit_test(test_damage_names_file_column_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
