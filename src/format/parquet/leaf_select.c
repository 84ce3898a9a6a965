/* format/parquet/leaf_select.c - single rows of a flat leaf: what a selective filter has left of a window.
 *
 * Within a page without nulls a value's place follows from its row, so the chosen ones are picked out of the packed bytes and
 * nothing between them is touched. Everything else goes run by run.
 */
#include "base/limits.h"
#include "column/bits.h"
#include "format/parquet/bitpack.h"
#include "format/parquet/gather.h"
#include "format/parquet/leaf_internal.h"
#include "format/parquet/reader_object.h"

/* All entries of the page that are left are present. */
static bool has_no_nulls(nl_leaf_cursor *cursor)
{
    nl_levels *levels = &cursor->page.definition;
    if (levels->max == 0) return true;
    if (levels->is_msb_packed || !nl_rle_refill(&levels->rle)) return false;
    return levels->rle.is_run && levels->rle.value == levels->max && levels->rle.left >= cursor->entries_left;
}

static bool is_pickable(nl_leaf_cursor *cursor, const nl_leaf_sink *sink)
{
    const nl_map_leaf *leaf = cursor->leaf;
    if (leaf->type == NULL || sink->wants_definitions || leaf->node->max_definition > 1 || !has_no_nulls(cursor)) return false;
    if (cursor->is_dictionary_page) return nl_leaf_takes_codes(cursor, sink) || sink->mode != NL_SINK_CODES;
    return sink->mode != NL_SINK_CODES && leaf->conversion.kind == NL_CONVERT_COPY && !leaf->conversion.is_raw && nl_values_can_pick(&cursor->values);
}

static nl_status room_of(nl_leaf_cursor *cursor, nl_buffer **buffer, size_t bytes, bool is_zeroed)
{
    return *buffer != NULL ? NULL : nl_buffer_new(cursor->memory, bytes, is_zeroed, buffer);
}

static nl_status pick_codes(nl_leaf_cursor *cursor, const uint32_t *places, uint32_t count, nl_leaf_sink *sink)
{
    const nl_vector *dictionary = &cursor->dictionary->vector;
    if (nl_leaf_takes_codes(cursor, sink)) {
        NL_TRY(room_of(cursor, &sink->codes, (size_t)sink->capacity * sizeof(uint32_t), false));
        sink->mode = NL_SINK_CODES;
        return nl_values_pick_indices(&cursor->values, places, count, dictionary->length, (uint32_t *)(void *)sink->codes->data + sink->row_count);
    }
    uint32_t indices[NL_BATCH_ROWS];
    const uint32_t width = cursor->leaf->conversion.out_bytes;
    NL_TRY(nl_leaf_keep_bytes(cursor, &sink->heap));
    NL_TRY(room_of(cursor, &sink->values, (size_t)sink->capacity * width, false));
    sink->mode = NL_SINK_FLAT;
    NL_TRY(nl_values_pick_indices(&cursor->values, places, count, dictionary->length, indices));
    nl_gather_values(dictionary->values, width, indices, count, sink->values->data + (size_t)sink->row_count * width);
    return NULL;
}

static nl_status pick_values(nl_leaf_cursor *cursor, const uint32_t *places, uint32_t count, nl_leaf_sink *sink)
{
    const uint32_t width = cursor->leaf->conversion.out_bytes;
    NL_TRY(room_of(cursor, &sink->values, (size_t)sink->capacity * width, false));
    sink->mode = NL_SINK_FLAT;
    return nl_values_pick(&cursor->values, places, count, sink->values->data + (size_t)sink->row_count * width);
}

/* The rows base + rows[i], all of the present page. */
static nl_status pick(nl_leaf_cursor *cursor, uint64_t base, const uint32_t *rows, uint32_t count, nl_leaf_sink *sink)
{
    uint32_t places[NL_BATCH_ROWS]; /* from the cursor's row on */
    const uint32_t shift = (uint32_t)(cursor->row - base); /* the cursor stands at or behind the window's first row */
    for (uint32_t i = 0; i < count; i++) places[i] = rows[i] - shift;
    NL_TRY(cursor->is_dictionary_page ? pick_codes(cursor, places, count, sink) : pick_values(cursor, places, count, sink));
    if (cursor->page.definition.max > 0) {
        NL_TRY(room_of(cursor, &sink->validity, sink->capacity / 8 + 16, true));
        nl_bits_fill(sink->validity->data, sink->row_count, count, true);
    }
    const uint32_t done = places[count - 1] + 1;
    if (cursor->page.definition.max > 0) cursor->page.definition.rle.left -= done;
    cursor->entries_left -= done;
    cursor->row += done;
    sink->row_count += count;
    return NULL;
}

static uint32_t run_length(const uint32_t *rows, uint32_t count)
{
    uint32_t length = 1;
    while (length < count && rows[length] == rows[0] + length) length++;
    return length;
}

nl_status nl_leaf_read_rows(nl_leaf_cursor *cursor, uint64_t base, const uint32_t *rows, uint32_t count, nl_leaf_sink *sink)
{
    NL_ASSERT(count <= NL_BATCH_ROWS && sink->row_count + count <= sink->capacity);
    while (count > 0) {
        uint32_t part = 0;
        NL_TRY(nl_leaf_skip_to(cursor, base + rows[0]));
        NL_TRY(nl_leaf_enter_page(cursor));
        if (is_pickable(cursor, sink)) {
            const uint64_t end = cursor->row + cursor->entries_left;
            for (part = count; base + rows[part - 1] >= end;) part--; /* the first row is in the page */
            NL_TRY(pick(cursor, base, rows, part, sink));
        } else {
            part = run_length(rows, count);
            NL_TRY(nl_leaf_read(cursor, part, sink));
        }
        rows += part;
        count -= part;
    }
    return NULL;
}
