/* exec/window_large_frame.c - frames of any width over a partition on disk, as long as their ends move forward with the rows: RANGE
 * with offsets, ROWS with large ones, frames to the partition's end.
 *
 * Each end is a place that is looked for from the one before it, with the chunk around it in memory. When all rows that a
 * slice's frames hold fit into memory they are evaluated there as in a small partition; else a state moves along, taking rows in and
 * out, or is begun anew for each frame when the aggregate cannot take out.
 */
#include "exec/window_large_private.h"

#include <stdlib.h>

#define AROUND_ROWS_MAX    (1u << 20)
#define MOVING_SLICES      8u  /* a state moves along when frames reach over so many: reading them anew for each slice takes longer */
#define AROUND_ROWS_TESTED 48u /* with nilas.debug.spill, so that tests see both ways */

bool nl_window_frame_is_possible(const nl_window_call *call)
{
    const bool is_to_end = call->spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING;
    return !call->function->window && (!is_to_end || nl_window_can_retract(call)); /* beginning anew each time would be quadratic */
}

/* ---- Places ------------------------------------------------------------------------------------------------------ */

nl_status nl_window_open_edge(const nl_window_large *self, nl_window_edge *edge, uint64_t row, uint32_t *index)
{
    nl_window_slice *s = &edge->slice;
    if (s->row_count == 0 || row < s->first || row - s->first >= s->row_count) {
        const uint32_t chunk = nl_window_chunk_of(self, row);
        nl_window_end_slice(self, s);
        NL_TRY(nl_window_open_slice(self, self->starts[chunk], self->starts[chunk + 1], s));
    }
    *index = (uint32_t)(row - s->first);
    return NULL;
}

/* Moves on to the first row whose order key has reached bound i (passed it, for the end). Rows with a null key lie together and
 * are in nobody else's frame. */
static nl_status seek(const nl_window_large *self, const nl_window_call *call, nl_window_edge *edge, const nl_vector *bounds, uint32_t i, bool is_start)
{
    const nl_sort_key *order = &call->spec->order_by[0];
    for (; edge->at < self->row_count; edge->at++) {
        uint32_t index;
        NL_TRY(nl_window_open_edge(self, edge, edge->at, &index));
        const nl_vector *keys = &edge->slice.outputs[call->order_key];
        if (nl_vector_is_null(keys, index)) {
            if (order->nulls_first) continue;
            return NULL;
        }
        const int compared = nl_vector_row_compare(keys, index, bounds, i);
        if ((order->is_descending ? -compared : compared) >= (is_start ? 0 : 1)) return NULL;
    }
    return NULL;
}

static uint64_t minus(uint64_t row, uint64_t offset)
{
    return offset > row ? 0 : row - offset;
}

static uint64_t plus(uint64_t row, uint64_t offset, uint64_t stop)
{
    return row > stop || offset > stop - row ? stop : row + offset;
}

static void rows_frame(const nl_window_call *call, uint64_t row, uint64_t row_count, uint64_t *start, uint64_t *stop)
{
    const nl_window_spec *spec = call->spec;
    const uint64_t before = call->start_rows, after = call->stop_rows;
    *start = spec->start_kind == NL_BOUND_PRECEDING ? minus(row, before) : spec->start_kind == NL_BOUND_FOLLOWING ? plus(row, before, row_count) : spec->start_kind == NL_BOUND_CURRENT_ROW ? row : 0;
    *stop = spec->stop_kind == NL_BOUND_PRECEDING ? (after > row ? 0 : row - after + 1) : spec->stop_kind == NL_BOUND_FOLLOWING ? plus(row + 1, after, row_count) : spec->stop_kind == NL_BOUND_CURRENT_ROW ? row + 1 : row_count;
}

static nl_status range_frame(const nl_window_large *self, uint32_t c, const nl_window_slice *s, uint32_t i, uint64_t peer_start, uint64_t peer_stop, uint64_t *start, uint64_t *stop)
{
    const nl_window_call *call = &self->window->calls[c];
    nl_window_framing *framing = &self->framings[c];
    *start = call->spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING ? 0 : peer_start;
    *stop = call->spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING ? self->row_count : peer_stop;
    if (call->order_key < 0 || nl_vector_is_null(&s->outputs[call->order_key], i)) return NULL;
    if (call->start_bound >= 0) {
        NL_TRY(seek(self, call, &framing->start, &s->outputs[call->start_bound], i, true));
        *start = framing->start.at;
    }
    if (call->stop_bound >= 0) {
        NL_TRY(seek(self, call, &framing->stop, &s->outputs[call->stop_bound], i, false));
        *stop = framing->stop.at;
    }
    return NULL;
}

nl_status nl_window_find_frames(const nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, uint64_t *starts, uint64_t *stops)
{
    const nl_window_call *call = &self->window->calls[c];
    const uint8_t *breaks = nl_window_new_peers(self, s);
    uint64_t peer_start = self->peer_start;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const uint64_t row = s->first + i;
        if (breaks[i] || row == 0) peer_start = row;
        if (call->spec->unit == NL_FRAME_ROWS)
            rows_frame(call, row, self->row_count, &starts[i], &stops[i]);
        else
            NL_TRY(range_frame(self, c, s, i, peer_start, peer_stops[i], &starts[i], &stops[i]));
        stops[i] = NL_MAX(stops[i], starts[i]); /* an empty frame stays at its start */
    }
    return NULL;
}

/* ---- In memory --------------------------------------------------------------------------------------------------- */

/* Peers as far as they are known; those who look at frames do not ask. */
static void fill_rows(const nl_window_large *self, const nl_window_slice *around, const nl_window_slice *s, const uint64_t *starts, const uint64_t *stops, nl_window_rows *rows)
{
    const uint32_t n = around->row_count, before = (uint32_t)(s->first - around->first);
    uint32_t *peers = around->scratch;
    const uint8_t *breaks = nl_window_new_peers(self, around);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t of = i < before ? 0 : NL_MIN(i - before, s->row_count - 1); /* rows outside: like the nearest, so that ends move forward */
        rows->frame_start[i] = (uint32_t)NL_MIN(NL_MAX(starts[of], around->first) - around->first, (uint64_t)n);
        rows->frame_stop[i] = (uint32_t)NL_MIN(NL_MAX(stops[of], around->first) - around->first, (uint64_t)n);
        peers[i] = i == 0 || breaks[i] ? i : peers[i - 1];
    }
    uint32_t *peer_stop = peers + n + 1;
    for (uint32_t i = n; i > 0; i--) peer_stop[i - 1] = i == n || breaks[i] ? i : peer_stop[i];
    rows->peer_start = peers;
    rows->peer_stop = peer_stop;
}

static nl_status evaluate_around(const nl_window_large *self, uint32_t c, const nl_window_slice *around, const nl_window_slice *s, const uint64_t *starts, const uint64_t *stops, nl_vector *out)
{
    const nl_window *w = self->window;
    const nl_window_call *call = &w->calls[c];
    const uint32_t n = around->row_count;
    const uint32_t partitions[] = {0, n};
    uint32_t *frames = around->scratch + 2 * ((size_t)n + 1);
    nl_window_rows rows = {.row_count = n, .partition_count = 1, .starts = partitions, .outputs = around->outputs, .numbers = around->numbers,
                           .cancel = w->exec->query->cancel, .frame_start = frames, .frame_stop = frames + n + 1};
    fill_rows(self, around, s, starts, stops, &rows);
    nl_vector all = {0};
    nl_status status = nl_window_aggregate(call, self->eval, &rows, NL_MAX(nl_exec_batch_rows(w->exec), 256u), &all);
    if (!status) status = nl_vector_take(&all, around->numbers + (s->first - around->first), s->row_count, self->eval->memory, out);
    nl_vector_fini(&all);
    return status;
}

/* Which rows the slice and its frames hold; false: too many to have them all at once. */
static bool find_around(const nl_window_large *self, const nl_window_slice *s, const uint64_t *starts, const uint64_t *stops, uint64_t *first, uint64_t *stop)
{
    const nl_window *w = self->window;
    *first = s->first;
    *stop = s->first + s->row_count;
    for (uint32_t i = 0; i < s->row_count; i++) {
        if (starts[i] == stops[i]) continue;
        *first = NL_MIN(*first, starts[i]);
        *stop = NL_MAX(*stop, stops[i]);
    }
    const uint64_t rows = *stop - *first;
    const uint64_t row_bytes = 2 * nl_spill_bytes(self->rows) / self->row_count + 24 + 32 * ((uint64_t)w->output_count + w->call_count);
    if (w->exec->query->force_spill) return rows <= s->row_count + AROUND_ROWS_TESTED;
    return rows <= AROUND_ROWS_MAX && nl_exec_may_grow(w->exec, (size_t)(rows * row_bytes));
}

/* ---- A state that moves along ------------------------------------------------------------------------------------ */

static nl_status move_rows(const nl_window_large *self, uint32_t c, nl_window_edge *edge, uint64_t start, uint64_t stop, bool is_gone)
{
    nl_moving_state *moving = &self->states[c];
    while (start < stop) {
        uint32_t index;
        NL_TRY(nl_window_open_edge(self, edge, start, &index));
        const nl_window_slice *s = &edge->slice;
        const uint32_t end = (uint32_t)(NL_MIN(stop, s->first + s->row_count) - s->first);
        if (is_gone) {
            const nl_selection gone = {s->numbers + index, end - index};
            NL_TRY(moving->ops->retract(moving->call->function, self->eval, s->outputs + moving->call->argument_first, gone, moving->state));
        } else {
            NL_TRY(nl_window_move_state(self, moving, s->outputs, s->numbers, index, end));
        }
        start = s->first + end;
    }
    return NULL;
}

static nl_status move_frame(nl_window_large *self, uint32_t c, uint64_t start, uint64_t stop)
{
    nl_window_framing *framing = &self->framings[c];
    nl_moving_state *moving = &self->states[c];
    const bool is_apart = start >= framing->has_stop || start < framing->has_start || stop < framing->has_stop;
    if (!moving->ops) NL_TRY(nl_window_start_state(self, c));
    if (is_apart || (start != framing->has_start && !nl_window_can_retract(moving->call))) {
        nl_window_begin_anew(self, moving);
        framing->has_start = framing->has_stop = start;
    }
    NL_TRY(move_rows(self, c, &framing->come, framing->has_stop, stop, false));
    NL_TRY(move_rows(self, c, &framing->gone, framing->has_start, NL_MIN(start, stop), true));
    framing->has_start = start;
    framing->has_stop = stop;
    return NULL;
}

/* A result for each frame that differs from the one before it. */
static nl_status evaluate_moving(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *starts, const uint64_t *stops, nl_vector *out)
{
    nl_vector results = {0};
    nl_status status = NULL;
    uint32_t *result_of = malloc(sizeof *result_of * ((size_t)s->row_count + 1));
    if (!result_of) return nl_out_of_memory(sizeof *result_of * s->row_count);
    uint32_t result_count = 0;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const bool is_same = i > 0 && starts[i] == starts[i - 1] && stops[i] == stops[i - 1];
        if (!is_same) {
            NL_GO(move_frame(self, c, starts[i], stops[i]));
            NL_GO(nl_window_note_result(self, &self->states[c]));
            result_count++;
        }
        result_of[i] = result_count - 1;
    }
    NL_GO(nl_window_take_results(self, &self->states[c], &results));
    NL_GO(nl_vector_take(&results, result_of, s->row_count, self->eval->memory, out));
done:
    nl_vector_fini(&results);
    free(result_of);
    return status;
}

static nl_status evaluate(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, uint64_t *starts, uint64_t *stops, nl_vector *out)
{
    uint64_t first, stop;
    nl_window_slice around = {0};
    NL_TRY(nl_window_find_frames(self, c, s, peer_stops, starts, stops));
    const bool is_near = find_around(self, s, starts, stops, &first, &stop);
    const bool moves_faster = nl_window_can_retract(&self->window->calls[c]) && stop - first > MOVING_SLICES * (uint64_t)s->row_count;
    if (!is_near || moves_faster) return evaluate_moving(self, c, s, starts, stops, out);
    if (stop - first > INT32_MAX) return nl_out_of_memory((size_t)(stop - first));
    NL_TRY(nl_window_open_slice(self, first, stop, &around));
    nl_status status = evaluate_around(self, c, &around, s, starts, stops, out);
    nl_window_end_slice(self, &around);
    return status;
}

nl_status nl_window_frame_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out)
{
    uint64_t *starts = malloc(sizeof *starts * 2 * ((size_t)s->row_count + 1));
    if (!starts) return nl_out_of_memory(sizeof *starts * 2 * s->row_count);
    nl_status status = evaluate(self, c, s, peer_stops, starts, starts + s->row_count + 1, out);
    free(starts);
    return status;
}

void nl_window_end_framing(const nl_window_large *self, nl_window_framing *framing)
{
    nl_window_end_slice(self, &framing->start.slice);
    nl_window_end_slice(self, &framing->stop.slice);
    nl_window_end_slice(self, &framing->come.slice);
    nl_window_end_slice(self, &framing->gone.slice);
    nl_window_end_slice(self, &framing->from.edge.slice);
    nl_window_end_slice(self, &framing->until.edge.slice);
    nl_window_end_slice(self, &framing->found.edge.slice);
    nl_window_end_rest(&framing->rest);
}
