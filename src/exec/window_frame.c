/* exec/window_frame.c - which rows each row's frame holds. */
#include "exec/window.h"

static uint32_t minus(uint32_t row, uint64_t offset, uint32_t first)
{
    return offset > row - first ? first : row - (uint32_t)offset;
}

static uint32_t plus(uint32_t row, uint64_t offset, uint32_t stop)
{
    return offset > stop - row ? stop : row + (uint32_t)offset;
}

static void rows_frame(const nl_window_call *call, nl_window_rows *rows, uint32_t first, uint32_t stop)
{
    for (uint32_t i = first; i < stop; i++) {
        switch (call->spec->start_kind) {
        case NL_BOUND_UNBOUNDED_PRECEDING: rows->frame_start[i] = first; break;
        case NL_BOUND_PRECEDING: rows->frame_start[i] = minus(i, call->start_rows, first); break;
        case NL_BOUND_CURRENT_ROW: rows->frame_start[i] = i; break;
        case NL_BOUND_FOLLOWING: rows->frame_start[i] = plus(i, call->start_rows, stop); break;
        case NL_BOUND_UNBOUNDED_FOLLOWING: rows->frame_start[i] = stop; break;
        }
        switch (call->spec->stop_kind) {
        case NL_BOUND_UNBOUNDED_PRECEDING: rows->frame_stop[i] = first; break;
        case NL_BOUND_PRECEDING: rows->frame_stop[i] = call->stop_rows > i - first ? first : i - (uint32_t)call->stop_rows + 1; break;
        case NL_BOUND_CURRENT_ROW: rows->frame_stop[i] = i + 1; break;
        case NL_BOUND_FOLLOWING: rows->frame_stop[i] = plus(i + 1, call->stop_rows, stop); break;
        case NL_BOUND_UNBOUNDED_FOLLOWING: rows->frame_stop[i] = stop; break;
        }
    }
}

/* The bound of row i compared with the order key of row `at`, in the window's direction. */
static int compare_bound(const nl_window_call *call, const nl_vector *keys, uint32_t at, const nl_vector *bounds, uint32_t i)
{
    int order = nl_vector_row_compare(keys, at, bounds, i);
    return call->spec->order_by[0].is_descending ? -order : order;
}

/* Bounds grow with the rows, so both ends only move forward. Rows with a null key form a group of their own. */
static void offset_ends(const nl_window_call *call, nl_window_rows *rows, uint32_t start, uint32_t stop, const nl_vector *bounds, bool is_start, uint32_t *ends)
{
    const nl_vector *keys = &rows->outputs[call->order_key];
    uint32_t first = start, last = stop; /* rows with a key */
    while (first < last && nl_vector_is_null(keys, first))
        first++;
    while (last > first && nl_vector_is_null(keys, last - 1))
        last--;
    uint32_t at = first;
    for (uint32_t i = start; i < stop; i++) {
        if (i < first || i >= last) {
            ends[i] = is_start ? rows->peer_start[i] : rows->peer_stop[i];
            continue;
        }
        while (at < last && compare_bound(call, keys, at, bounds, i) < (is_start ? 0 : 1))
            at++;
        ends[i] = at;
    }
}

static void range_frame(const nl_window_call *call, nl_window_rows *rows, uint32_t first, uint32_t stop)
{
    const nl_window_spec *spec = call->spec;
    if (call->start_bound >= 0) offset_ends(call, rows, first, stop, &rows->outputs[call->start_bound], true, rows->frame_start);
    if (call->stop_bound >= 0) offset_ends(call, rows, first, stop, &rows->outputs[call->stop_bound], false, rows->frame_stop);
    for (uint32_t i = first; i < stop; i++) {
        if (spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING) rows->frame_start[i] = first;
        if (spec->start_kind == NL_BOUND_CURRENT_ROW) rows->frame_start[i] = rows->peer_start[i];
        if (spec->stop_kind == NL_BOUND_CURRENT_ROW) rows->frame_stop[i] = rows->peer_stop[i];
        if (spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING) rows->frame_stop[i] = stop;
    }
}

void nl_window_frames(const nl_window_call *call, nl_window_rows *rows)
{
    for (uint32_t p = 0; p < rows->partition_count; p++) {
        if (call->spec->unit == NL_FRAME_ROWS)
            rows_frame(call, rows, rows->starts[p], rows->starts[p + 1]);
        else
            range_frame(call, rows, rows->starts[p], rows->starts[p + 1]);
    }
    for (uint32_t i = 0; i < rows->row_count; i++)
        rows->frame_stop[i] = NL_MAX(rows->frame_stop[i], rows->frame_start[i]); /* an empty frame stays at its start */
}
