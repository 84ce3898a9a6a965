/* format/parquet/scan.c - windows of rows, and the columns of a window, each decoded when asked for. */
#include <stdlib.h>

#include "base/limits.h"
#include "format/parquet/assemble.h"
#include "format/parquet/reader.h"
#include "format/parquet/reader_object.h"

/* When at least one row in this many survives, decoding all and choosing is cheaper than stepping from run to run. */
#define DENSE_SELECTION 4u

struct nl_parquet_scan {
    nl_parquet_reader *reader; /* counted */
    uint32_t row_group;
    nl_memory *memory; /* counted */
    nl_codec_context *context;
    nl_parquet_rows *ranges; /* owned */
    uint32_t range_count;
    uint32_t range;          /* the present one */
    uint64_t range_done;     /* rows of it that windows have had */
    uint64_t stream_row;     /* 0: see nl_parquet_scan_follow */
    nl_parquet_window window;
    nl_leaf_cursor *cursors; /* owned; one per mapping leaf; .reader NULL: not begun */
};

static nl_status check_ranges(const nl_parquet_scan *scan)
{
    uint64_t end = 0;
    const uint64_t row_count = scan->reader->footer->row_groups[scan->row_group].row_count;
    for (uint32_t i = 0; i < scan->range_count; i++) {
        const nl_parquet_rows *rows = &scan->ranges[i];
        NL_CHECK(rows->first_row >= end && rows->first_row <= row_count && rows->row_count <= row_count - rows->first_row);
        end = rows->first_row + rows->row_count;
    }
    return NULL;
}

static nl_status copy_ranges(nl_parquet_scan *scan, const nl_parquet_rows *ranges, uint32_t range_count)
{
    scan->range_count = ranges != NULL ? range_count : 1;
    scan->ranges = calloc(scan->range_count + 1u, sizeof(*scan->ranges));
    scan->cursors = calloc(scan->reader->mapping.leaf_count + 1u, sizeof(*scan->cursors));
    scan->context = nl_codec_context_new(scan->memory);
    if (scan->ranges == NULL || scan->cursors == NULL || scan->context == NULL)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    if (ranges != NULL && range_count > 0)
        memcpy(scan->ranges, ranges, range_count * sizeof(*ranges));
    else if (ranges == NULL)
        scan->ranges[0].row_count = scan->reader->footer->row_groups[scan->row_group].row_count;
    return check_ranges(scan);
}

nl_status nl_parquet_scan_open(nl_parquet_reader *reader, uint32_t row_group, const nl_parquet_rows *ranges, uint32_t range_count,
                               nl_memory *memory, nl_parquet_scan **scan)
{
    NL_TRY(nl_reader_group_open(reader, row_group));
    nl_parquet_scan *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        nl_reader_group_close(reader, row_group);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    }
    made->reader = nl_parquet_reader_retain(reader);
    made->row_group = row_group;
    made->memory = memory != NULL ? nl_memory_retain(memory) : NULL;
    nl_status status = copy_ranges(made, ranges, range_count);
    if (status != NULL) {
        nl_parquet_scan_close(made);
        return status;
    }
    *scan = made;
    return NULL;
}

void nl_parquet_scan_close(nl_parquet_scan *scan)
{
    if (scan == NULL) return;
    for (uint32_t i = 0; scan->cursors != NULL && i < scan->reader->mapping.leaf_count; i++) {
        if (scan->cursors[i].reader != NULL) nl_leaf_cursor_fini(&scan->cursors[i]);
    }
    free(scan->cursors);
    free(scan->ranges);
    nl_codec_context_free(scan->context);
    nl_reader_group_close(scan->reader, scan->row_group);
    nl_parquet_reader_release(scan->reader);
    if (scan->memory != NULL) nl_memory_release(scan->memory);
    free(scan);
}

void nl_parquet_scan_follow(nl_parquet_scan *scan, uint64_t last_row)
{
    scan->stream_row = last_row;
}

void nl_parquet_scan_expect(nl_parquet_scan *scan, const uint32_t *columns, uint32_t column_count)
{
    if (scan->range_count == 0 || scan->ranges[0].first_row > 0) return; /* where pages start is not known yet */
    nl_parquet_reader_prefetch(scan->reader, scan->row_group, columns, column_count);
}

nl_status nl_parquet_scan_advance(nl_parquet_scan *scan, nl_parquet_window *window)
{
    while (scan->range < scan->range_count && scan->range_done == scan->ranges[scan->range].row_count) {
        scan->range++;
        scan->range_done = 0;
    }
    scan->window.row_count = 0;
    if (scan->range < scan->range_count) {
        const nl_parquet_rows *rows = &scan->ranges[scan->range];
        scan->window.first_row = rows->first_row + scan->range_done;
        scan->window.file_row = scan->reader->footer->row_groups[scan->row_group].first_row + scan->window.first_row;
        scan->window.row_count = (uint32_t)NL_MIN(rows->row_count - scan->range_done, (uint64_t)NL_BATCH_ROWS);
        scan->range_done += scan->window.row_count;
    }
    *window = scan->window;
    return NULL;
}

static nl_status cursor_at_window(nl_parquet_scan *scan, uint32_t leaf, nl_leaf_cursor **out)
{
    nl_leaf_cursor *cursor = &scan->cursors[leaf];
    if (cursor->reader == NULL) {
        const nl_parquet_rows *last = &scan->ranges[scan->range_count - 1];
        const uint64_t last_row = last->first_row + (last->row_count > 0 ? last->row_count - 1 : 0);
        nl_leaf_cursor_init(cursor, scan->reader, scan->row_group, leaf, scan->memory, scan->context, last_row);
        if (scan->stream_row > 0) cursor->stream_row = NL_MAX(scan->stream_row, last_row);
    }
    NL_CHECK(cursor->row <= scan->window.first_row);
    *out = cursor;
    return nl_leaf_skip_to(cursor, scan->window.first_row);
}

/* Runs of neighbouring rows of the selection, or the whole window. */
typedef struct runs {
    const nl_selection *selection;
    uint32_t at;
} runs;

static bool next_run(const nl_parquet_scan *scan, runs *r, uint64_t *first_row, uint32_t *row_count)
{
    if (r->selection == NULL || r->selection->rows == NULL) {
        if (r->at > 0) return false;
        r->at = 1;
        *first_row = scan->window.first_row;
        *row_count = r->selection != NULL ? r->selection->count : scan->window.row_count;
        return *row_count > 0;
    }
    if (r->at >= r->selection->count) return false;
    const uint32_t *rows = r->selection->rows + r->at;
    const uint32_t left = r->selection->count - r->at;
    uint32_t length = 1;
    while (length < left && rows[length] == rows[0] + length) length++;
    r->at += length;
    *first_row = scan->window.first_row + rows[0];
    *row_count = length;
    return true;
}

static uint32_t rows_of(const nl_parquet_scan *scan, const nl_selection *selection)
{
    return selection != NULL ? selection->count : scan->window.row_count;
}

static nl_status read_sink(nl_parquet_scan *scan, nl_leaf_cursor *cursor, const nl_selection *selection, nl_leaf_sink *sink)
{
    runs r = {.selection = selection};
    uint64_t first_row = 0;
    uint32_t row_count = 0;
    sink->capacity = rows_of(scan, selection);
    if (selection != NULL && selection->rows != NULL)
        return nl_leaf_read_rows(cursor, scan->window.first_row, selection->rows, selection->count, sink);
    while (next_run(scan, &r, &first_row, &row_count)) {
        NL_TRY(nl_leaf_skip_to(cursor, first_row));
        NL_TRY(nl_leaf_read(cursor, row_count, sink));
    }
    return NULL;
}

static nl_status read_flat(nl_parquet_scan *scan, const nl_map_node *node, const nl_selection *selection, nl_vector *vector)
{
    nl_leaf_cursor *cursor = NULL;
    NL_TRY(cursor_at_window(scan, node->leaf, &cursor));
    nl_leaf_sink sink = {.allows_codes = !scan->reader->options.flattens_dictionaries, .allows_constant = true};
    nl_status status = read_sink(scan, cursor, selection, &sink);
    if (status == NULL) status = nl_leaf_sink_finish(cursor, &sink, vector);
    nl_leaf_sink_fini(&sink);
    return status;
}

static nl_status read_part(nl_parquet_scan *scan, uint32_t leaf, const nl_selection *selection, nl_leaf_part *part)
{
    NL_TRY(cursor_at_window(scan, leaf, &part->cursor));
    if (part->cursor->leaf->node->max_repetition == 0) {
        part->sink.wants_definitions = true;
        return read_sink(scan, part->cursor, selection, &part->sink);
    }
    runs r = {.selection = selection};
    uint64_t first_row = 0;
    uint32_t row_count = 0;
    while (next_run(scan, &r, &first_row, &row_count)) {
        NL_TRY(nl_leaf_skip_to(part->cursor, first_row));
        NL_TRY(nl_leaf_read_repeated(part->cursor, row_count, &part->window));
    }
    return NULL;
}

static nl_status read_nested(nl_parquet_scan *scan, const nl_map_node *node, const nl_selection *selection, nl_vector *vector)
{
    nl_leaf_part *parts = calloc(node->leaf_count, sizeof(*parts));
    if (parts == NULL) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    nl_status status = NULL;
    for (uint32_t i = 0; i < node->leaf_count && status == NULL; i++) status = read_part(scan, node->first_leaf + i, selection, &parts[i]);
    if (status == NULL) status = nl_assemble(node, parts, node->first_leaf, rows_of(scan, selection), scan->memory, vector);
    for (uint32_t i = 0; i < node->leaf_count; i++) {
        nl_leaf_sink_fini(&parts[i].sink);
        nl_leaf_window_fini(&parts[i].window);
    }
    free(parts);
    return status;
}

static bool is_dense(const nl_parquet_scan *scan, const nl_selection *selection)
{
    return selection != NULL && selection->rows != NULL && selection->count < scan->window.row_count &&
           selection->count >= scan->window.row_count / DENSE_SELECTION;
}

nl_status nl_parquet_scan_read(nl_parquet_scan *scan, uint32_t column, const nl_selection *selection, nl_vector *vector)
{
    NL_ASSERT(column < scan->reader->mapping.column_count);
    NL_ASSERT(selection == NULL || selection->count <= scan->window.row_count);
    const nl_map_node *node = &scan->reader->mapping.columns[column];
    const uint32_t row_count = rows_of(scan, selection);
    if (node->kind == NL_MAP_MISSING) return nl_assemble_missing(node, row_count, scan->memory, vector);
    if (row_count == 0) return nl_vector_new_flat(vector, node->type, 0, scan->memory);
    if (node->kind != NL_MAP_LEAF) return read_nested(scan, node, selection, vector);
    if (!is_dense(scan, selection)) return read_flat(scan, node, selection, vector);
    nl_vector all = {0};
    NL_TRY(read_flat(scan, node, NULL, &all));
    nl_status status = nl_vector_take(&all, selection->rows, selection->count, scan->memory, vector);
    nl_vector_fini(&all);
    return status;
}

nl_status nl_parquet_scan_next(nl_parquet_scan *scan, nl_batch *batch)
{
    nl_parquet_window window;
    NL_TRY(nl_parquet_scan_advance(scan, &window));
    const uint32_t column_count = scan->reader->mapping.column_count;
    NL_TRY(nl_batch_init(batch, column_count, window.row_count));
    nl_status status = NULL;
    for (uint32_t i = 0; i < column_count && window.row_count > 0 && status == NULL; i++)
        status = nl_parquet_scan_read(scan, i, NULL, &batch->columns[i]);
    if (status != NULL) nl_batch_fini(batch);
    return status;
}
