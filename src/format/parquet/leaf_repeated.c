/* format/parquet/leaf_repeated.c - leaves below lists and maps: a row is the entries from one repetition level 0 to the
 * next. In old files a row may go on in the next page, so after the last row the next entry is looked at, unless the page
 * is known to end with a row (v2 pages, and files with an offset index).
 */
#include "format/parquet/gather.h"
#include "format/parquet/leaf_internal.h"

static nl_status damaged(const nl_leaf_cursor *cursor)
{
    return nl_parquet_corrupt(&cursor->page.place, "the levels of the page at this place are damaged or end too early");
}

static nl_status decode_levels(nl_leaf_cursor *cursor)
{
    const uint32_t count = NL_MIN(cursor->entries_left, NL_LEVEL_BLOCK);
    if (!nl_levels_read(&cursor->page.repetition, cursor->level_repetition, count)) return damaged(cursor);
    if (!nl_levels_read(&cursor->page.definition, cursor->level_definition, count)) return damaged(cursor);
    cursor->entries_left -= count;
    cursor->level_at = 0;
    cursor->level_count = count;
    cursor->page_rows_met += nl_count_levels(cursor->level_repetition, 0, count);
    if (cursor->ends_at_row && cursor->entries_left == 0 && cursor->page_rows_met != cursor->page_rows)
        return nl_parquet_corrupt(&cursor->page.place, "a page of %llu rows that was announced to hold %llu",
                                  (unsigned long long)cursor->page_rows_met, (unsigned long long)cursor->page_rows);
    return NULL;
}

/* Room for `needed` bytes, the first `used` of which stay. */
static nl_status grow(nl_memory *memory, nl_buffer **buffer, size_t used, size_t needed)
{
    if (*buffer != NULL && (*buffer)->size_bytes >= needed) return NULL;
    nl_buffer *larger = NULL;
    NL_TRY(nl_buffer_new(memory, NL_MAX(needed, *buffer != NULL ? 2 * (*buffer)->size_bytes : 4096), false, &larger));
    if (used > 0) memcpy(larger->data, (*buffer)->data, used);
    nl_buffer_release(*buffer);
    *buffer = larger;
    return NULL;
}

/* Uses up `count` decoded entries: into the window, or away when it is NULL. */
static nl_status take_entries(nl_leaf_cursor *cursor, uint32_t count, nl_leaf_window *window)
{
    const uint8_t *definition = cursor->level_definition + cursor->level_at;
    const uint8_t *repetition = cursor->level_repetition + cursor->level_at;
    const uint32_t present = nl_count_levels(definition, (uint8_t)cursor->leaf->node->max_definition, count);
    cursor->level_at += count;
    if (window == NULL) return cursor->leaf->type != NULL && present > 0 ? nl_values_skip(&cursor->values, present) : NULL;
    const size_t entries = (size_t)window->entry_count;
    NL_TRY(grow(cursor->memory, &window->repetition, entries, entries + count));
    NL_TRY(grow(cursor->memory, &window->definition, entries, entries + count));
    memcpy(window->repetition->data + entries, repetition, count);
    memcpy(window->definition->data + entries, definition, count);
    window->entry_count += count;
    if (cursor->leaf->type == NULL || present == 0) return NULL;
    const size_t width = cursor->leaf->conversion.out_bytes;
    const size_t used = (size_t)window->value_count * width;
    /* One value more than there are: spreading reads it. */
    NL_TRY(grow(cursor->memory, &window->values, used, used + (present + 1) * width));
    NL_TRY(nl_leaf_read_values(cursor, present, &window->heap, window->values->data + used));
    window->value_count += present;
    return NULL;
}

/* The next page, stepping over those that hold only rows to be skipped. */
static nl_status next_page(nl_leaf_cursor *cursor, uint64_t row_count, bool is_skipping, uint64_t *rows, bool *is_end)
{
    nl_page_header header;
    uint64_t offset = 0;
    for (;;) {
        NL_TRY(nl_leaf_next_header(cursor, &header, &offset, is_end));
        if (*is_end) return NULL;
        const bool can_skip = is_skipping && header.kind == NL_PAGE_DATA_V2 && header.row_count <= row_count - *rows;
        if (!can_skip || *rows == row_count) break;
        *rows += header.row_count;
        cursor->ends_at_row = true;
        if (*rows == row_count) {
            cursor->entries_left = 0;
            return NULL;
        }
    }
    return nl_leaf_open_page(cursor, &header, offset);
}

static nl_status advance_rows(nl_leaf_cursor *cursor, uint64_t row_count, nl_leaf_window *window)
{
    uint64_t rows = 0; /* that have begun */
    bool is_complete = false;
    while (!is_complete) {
        if (cursor->level_at == cursor->level_count) {
            if (cursor->entries_left == 0) {
                bool is_end = false;
                if (rows == row_count && cursor->ends_at_row) break;
                NL_TRY(next_page(cursor, row_count, window == NULL, &rows, &is_end));
                if (is_end && rows == row_count) break;
                if (is_end) return nl_parquet_corrupt(&cursor->source.place, "the column chunk ends before all of its rows");
                continue;
            }
            NL_TRY(decode_levels(cursor));
        }
        uint32_t at = cursor->level_at;
        for (; at < cursor->level_count; at++) {
            if (cursor->level_repetition[at] != 0) {
                if (rows == 0) return nl_parquet_corrupt(&cursor->page.place, "a row that does not begin with repetition level 0");
                continue;
            }
            is_complete = rows == row_count;
            if (is_complete) break;
            rows++;
        }
        NL_TRY(take_entries(cursor, at - cursor->level_at, window));
    }
    cursor->row += row_count;
    const bool has_more = cursor->level_at < cursor->level_count || cursor->entries_left > 0;
    if (cursor->row == cursor->group_rows && has_more)
        return nl_parquet_corrupt(&cursor->page.place, "the column chunk holds more than the %llu rows of its row group",
                                  (unsigned long long)cursor->group_rows);
    return NULL;
}

nl_status nl_leaf_skip_repeated(nl_leaf_cursor *cursor, uint64_t row)
{
    if (cursor->slots != NULL) (void)nl_leaf_jump(cursor, row);
    return row == cursor->row ? NULL : advance_rows(cursor, row - cursor->row, NULL);
}

nl_status nl_leaf_read_repeated(nl_leaf_cursor *cursor, uint32_t row_count, nl_leaf_window *window)
{
    NL_TRY(nl_leaf_skip_to(cursor, cursor->row)); /* starts the cursor */
    return row_count == 0 ? NULL : advance_rows(cursor, row_count, window);
}

void nl_leaf_window_fini(nl_leaf_window *window)
{
    nl_buffer_release(window->repetition);
    nl_buffer_release(window->definition);
    nl_buffer_release(window->values);
    nl_heap_release(window->heap);
    *window = (nl_leaf_window){0};
}
