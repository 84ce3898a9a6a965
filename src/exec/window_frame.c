/* exec/window_frame.c - which rows each row's frame holds. */
#include "exec/window.h"

static uint32_t minus(uint32_t row, uint64_t offset)
{
    return offset > row ? 0 : row - (uint32_t)offset;
}

static uint32_t plus(uint32_t row, uint64_t offset, uint32_t row_count)
{
    return offset > row_count - row ? row_count : row + (uint32_t)offset;
}

static void rows_frame(const nl_window_call *call, nl_window_rows *rows)
{
    uint32_t n = rows->row_count;
    for (uint32_t i = 0; i < n; i++) {
        switch (call->spec->start_kind) {
        case NL_BOUND_UNBOUNDED_PRECEDING: rows->frame_start[i] = 0; break;
        case NL_BOUND_PRECEDING: rows->frame_start[i] = minus(i, call->start_rows); break;
        case NL_BOUND_CURRENT_ROW: rows->frame_start[i] = i; break;
        case NL_BOUND_FOLLOWING: rows->frame_start[i] = plus(i, call->start_rows, n); break;
        case NL_BOUND_UNBOUNDED_FOLLOWING: rows->frame_start[i] = n; break;
        }
        switch (call->spec->stop_kind) {
        case NL_BOUND_UNBOUNDED_PRECEDING: rows->frame_stop[i] = 0; break;
        case NL_BOUND_PRECEDING: rows->frame_stop[i] = call->stop_rows > i ? 0 : i - (uint32_t)call->stop_rows + 1; break;
        case NL_BOUND_CURRENT_ROW: rows->frame_stop[i] = i + 1; break;
        case NL_BOUND_FOLLOWING: rows->frame_stop[i] = plus(i + 1, call->stop_rows, n); break;
        case NL_BOUND_UNBOUNDED_FOLLOWING: rows->frame_stop[i] = n; break;
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
static void offset_ends(const nl_window_call *call, nl_window_rows *rows, const nl_vector *bounds, bool is_start, uint32_t *ends)
{
    const nl_vector *keys = &rows->outputs[call->order_key];
    uint32_t first = 0, last = rows->row_count; /* rows with a key */
    while (first < last && nl_vector_is_null(keys, first))
        first++;
    while (last > first && nl_vector_is_null(keys, last - 1))
        last--;
    uint32_t at = first;
    for (uint32_t i = 0; i < rows->row_count; i++) {
        if (i < first || i >= last) {
            ends[i] = is_start ? rows->peer_start[i] : rows->peer_stop[i];
            continue;
        }
        while (at < last && compare_bound(call, keys, at, bounds, i) < (is_start ? 0 : 1))
            at++;
        ends[i] = at;
    }
}

static void range_frame(const nl_window_call *call, nl_window_rows *rows)
{
    uint32_t n = rows->row_count;
    const nl_window_spec *spec = call->spec;
    if (call->start_bound >= 0) offset_ends(call, rows, &rows->outputs[call->start_bound], true, rows->frame_start);
    if (call->stop_bound >= 0) offset_ends(call, rows, &rows->outputs[call->stop_bound], false, rows->frame_stop);
    for (uint32_t i = 0; i < n; i++) {
        if (spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING) rows->frame_start[i] = 0;
        if (spec->start_kind == NL_BOUND_CURRENT_ROW) rows->frame_start[i] = rows->peer_start[i];
        if (spec->stop_kind == NL_BOUND_CURRENT_ROW) rows->frame_stop[i] = rows->peer_stop[i];
        if (spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING) rows->frame_stop[i] = n;
    }
}

void nl_window_frames(const nl_window_call *call, nl_window_rows *rows)
{
    if (call->spec->unit == NL_FRAME_ROWS)
        rows_frame(call, rows);
    else
        range_frame(call, rows);
    for (uint32_t i = 0; i < rows->row_count; i++)
        rows->frame_stop[i] = NL_MAX(rows->frame_stop[i], rows->frame_start[i]); /* an empty frame stays at its start */
}
