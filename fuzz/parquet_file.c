/* fuzz/parquet_file.c - any bytes as a Parquet file: read its footer, schema, bounds and every row, twice in different
 * ways, within a small budget. Beyond not crashing: what a selection gives is what the whole window holds.
 */
#include <stdlib.h>

#include "base/limits.h"
#include "format/parquet/parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET_BYTES (64u << 20)
#define ROWS_MAX     20000u /* a few bytes can announce billions of nulls; nobody waits for them here */

static void forget(nl_status status)
{
    nl_error_free(status);
}

static void compare(const nl_vector *whole, const nl_vector *part, const nl_selection *selection)
{
    for (uint32_t i = 0; i < selection->count; i++) {
        const uint32_t row = selection->rows[i];
        const bool is_null = nl_vector_is_null(whole, row);
        if (is_null != nl_vector_is_null(part, i)) abort();
        if (!is_null && !nl_vector_row_equal(whole, row, part, i)) abort();
    }
}

static void read_both_ways(nl_parquet_reader *reader, uint32_t row_group, uint32_t column_count, nl_memory *memory)
{
    nl_parquet_scan *scans[2] = {NULL, NULL};
    nl_parquet_window window = {0};
    uint32_t rows[NL_BATCH_ROWS];
    for (int i = 0; i < 2; i++) forget(nl_parquet_scan_open(reader, row_group, NULL, 0, memory, &scans[i]));
    for (uint64_t done = 0; scans[0] != NULL && scans[1] != NULL && done < ROWS_MAX; done += window.row_count) {
        forget(nl_parquet_scan_advance(scans[0], &window));
        forget(nl_parquet_scan_advance(scans[1], &window));
        if (window.row_count == 0) break;
        nl_selection selection = {.rows = rows};
        for (uint32_t row = 0; row < window.row_count; row += 1 + row % 7) rows[selection.count++] = row;
        bool has_failed = false;
        for (uint32_t c = 0; c < column_count; c++) {
            nl_vector whole = {0};
            nl_vector part = {0};
            nl_status status = nl_parquet_scan_read(scans[0], c, NULL, &whole);
            nl_status other = nl_parquet_scan_read(scans[1], c, &selection, &part);
            if (status == NULL && other == NULL) compare(&whole, &part, &selection);
            has_failed |= status != NULL || other != NULL;
            forget(status);
            forget(other);
            nl_vector_fini(&whole);
            nl_vector_fini(&part);
        }
        if (has_failed) break;
    }
    for (int i = 0; i < 2; i++) nl_parquet_scan_close(scans[i]);
}

static void prune(nl_parquet_reader *reader, uint32_t row_group, uint32_t column_count, nl_arena *arena)
{
    for (uint32_t c = 0; c < column_count; c++) {
        const uint32_t leaf = nl_parquet_reader_leaf(reader, c);
        nl_parquet_bounds bounds = {0};
        nl_parquet_bounds *pages = NULL;
        uint32_t page_count = 0;
        bool may_contain = true;
        if (leaf == NL_PARQUET_NO_LEAF) continue;
        forget(nl_parquet_chunk_bounds(reader, row_group, leaf, arena, &bounds));
        forget(nl_parquet_page_bounds(reader, row_group, leaf, arena, &pages, &page_count));
        if (bounds.has_min) forget(nl_parquet_bloom_check(reader, row_group, leaf, &bounds.min, &may_contain));
    }
}

static void read_file(nl_file *file, nl_memory *memory, nl_arena *arena)
{
    nl_parquet_footer *footer = NULL;
    nl_parquet_reader *reader = NULL;
    const nl_type *type = NULL;
    const nl_parquet_type_options type_options = {.is_iceberg = true};
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_POSITION};
    forget(nl_parquet_footer_read(file, memory, &footer));
    if (footer == NULL) return;
    forget(nl_parquet_footer_type(footer, &type_options, arena, &type));
    if (type != NULL) forget(nl_parquet_reader_open(file, footer, type, &options, memory, &reader));
    for (uint32_t g = 0; reader != NULL && g < footer->row_group_count && g < 4; g++) {
        prune(reader, g, type->child_count, arena);
        read_both_ways(reader, g, type->child_count, memory);
    }
    nl_parquet_reader_release(reader);
    nl_parquet_footer_release(footer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_fs *fs = nl_fs_memory_new();
    nl_memory *memory = nl_memory_new(NULL, "fuzz", BUDGET_BYTES);
    nl_arena *arena = nl_arena_new(memory);
    nl_file *file = NULL;
    const nl_str path = NL_STR("memory:/f.parquet");
    forget(nl_fs_write_all(fs, path, (nl_bytes){data, size}));
    forget(nl_fs_open(fs, path, &file));
    if (file != NULL) read_file(file, memory, arena);
    nl_file_close(file);
    nl_arena_free(arena);
    if (nl_memory_used(memory) != 0) abort();
    nl_memory_release(memory);
    nl_fs_release(fs);
    return 0;
}
