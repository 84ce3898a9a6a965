/* fuzz/orc_file.c - any bytes as an ORC file: read its tail, type, statistics and rows, twice in different ways, within a small
 * budget. */
#include <stdlib.h>

#include "base/limits.h"
#include "format/orc/orc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUDGET_BYTES (64u << 20)
#define WINDOWS_MAX  4u /* a few bytes can announce billions of nulls; nobody waits for them here */

static void forget(nl_status status)
{
    nl_error_free(status);
}

static void read_stripe(nl_orc_reader *reader, uint32_t stripe, const nl_orc_rows *rows, nl_memory *memory)
{
    nl_orc_scan *scan = NULL;
    nl_status status = nl_orc_scan_open(reader, stripe, memory, &scan);
    if (!status && rows) status = nl_orc_scan_restrict(scan, rows, 1);
    for (uint32_t i = 0; !status && i < WINDOWS_MAX; i++) {
        nl_batch batch = {0};
        nl_orc_window window = {0};
        status = nl_orc_scan_next(scan, &batch, &window);
        nl_batch_fini(&batch);
        if (window.row_count == 0) break;
    }
    nl_orc_scan_close(scan);
    forget(status);
}

static void read_statistics(nl_orc_reader *reader, uint32_t stripe, uint32_t column_count, nl_arena *arena)
{
    for (uint32_t c = 1; c <= column_count; c++) {
        nl_orc_bounds bounds, *groups = NULL;
        uint32_t group_count = 0;
        uint64_t group_rows = 0;
        bool is_known = false;
        forget(nl_orc_stripe_bounds(reader, stripe, (int32_t)c, arena, &bounds, &is_known));
        forget(nl_orc_group_bounds(reader, stripe, (int32_t)c, arena, &groups, &group_count, &group_rows));
    }
}

static void read_file(nl_file *file, nl_memory *memory)
{
    nl_orc_tail *tail = NULL;
    nl_orc_reader *reader = NULL;
    nl_arena *arena = nl_arena_new(memory);
    const nl_type *type = NULL;
    const nl_orc_read_options options = {.match = NL_ORC_MATCH_NAME, .is_hybrid = true};
    nl_status status = nl_orc_tail_read(file, memory, &tail);
    if (!status) status = nl_orc_tail_type(tail, arena, &type);
    if (!status) status = nl_orc_reader_open(file, tail, type, &options, memory, &reader);
    for (uint32_t i = 0; !status && i < tail->stripe_count && i < 8; i++) {
        const uint64_t half = tail->stripes[i].row_count / 2;
        const nl_orc_rows rows = {half, NL_MIN(tail->stripes[i].row_count - half, (uint64_t)3000)};
        read_statistics(reader, i, type->child_count, arena);
        read_stripe(reader, i, NULL, memory);
        read_stripe(reader, i, &rows, memory);
    }
    forget(status);
    nl_orc_reader_release(reader);
    nl_orc_tail_release(tail);
    nl_arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    nl_memory *memory = nl_memory_new(NULL, "fuzz", BUDGET_BYTES);
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file = NULL;
    forget(nl_fs_write_all(fs, NL_STR("memory:/f.orc"), (nl_bytes){data, size}));
    nl_status status = nl_fs_open(fs, NL_STR("memory:/f.orc"), &file);
    if (!status) read_file(file, memory);
    forget(status);
    nl_file_close(file);
    nl_fs_release(fs);
    nl_memory_release(memory);
    return 0;
}
