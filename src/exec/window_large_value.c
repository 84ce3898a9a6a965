/* exec/window_large_value.c - functions that give some row's value, over a partition on disk: lag, lead, first_value, last_value,
 * nth_value, with and without IGNORE NULLS.
 *
 * Which row it is follows from how many values lie before the row or before the ends of its frame. All of these places move forward
 * with the rows, so that each is found from the one before it, with the chunk around it in memory.
 */
#include "exec/window_large_private.h"

#include <stdlib.h>

#include "column/value.h"

bool nl_window_looks_for_value(const nl_window_call *call, nl_window_look *look)
{
    static const struct {
        const char *name;
        nl_window_look look;
    } all[] = {{"lag", NL_LOOK_BACK}, {"lead", NL_LOOK_AHEAD}, {"first", NL_LOOK_FIRST}, {"any_value", NL_LOOK_FIRST}, {"last", NL_LOOK_LAST}, {"nth_value", NL_LOOK_NTH}};
    for (uint32_t i = 0; i < NL_COUNT(all); i++) {
        if (strcmp(call->function->row->name, all[i].name) != 0) continue;
        *look = all[i].look;
        return true;
    }
    return false;
}

static const nl_vector *argument_of(const nl_window_call *call, const nl_window_slice *s)
{
    return &s->outputs[call->argument_first];
}

/* Moves to `row`, counting what it passes that is not null. */
static nl_status count_to(const nl_window_large *self, const nl_window_call *call, nl_window_count *count, uint64_t row)
{
    nl_window_edge *edge = &count->edge;
    if (row < edge->at) edge->at = count->values = 0;
    while (edge->at < row) {
        uint32_t index;
        NL_TRY(nl_window_open_edge(self, edge, edge->at, &index));
        const uint32_t end = (uint32_t)(NL_MIN(row, edge->slice.first + edge->slice.row_count) - edge->slice.first);
        for (uint32_t i = index; i < end; i++) count->values += !nl_vector_is_null(argument_of(call, &edge->slice), i);
        edge->at += end - index;
    }
    return NULL;
}

/* Moves to the row of the value with `wanted` values before it; there is one. */
static nl_status move_to_value(const nl_window_large *self, const nl_window_call *call, nl_window_count *count, uint64_t wanted)
{
    nl_window_edge *edge = &count->edge;
    if (wanted < count->values) edge->at = count->values = 0;
    for (; edge->at < self->row_count; edge->at++) {
        uint32_t index;
        NL_TRY(nl_window_open_edge(self, edge, edge->at, &index));
        if (nl_vector_is_null(argument_of(call, &edge->slice), index)) continue;
        if (count->values == wanted) return NULL;
        count->values++;
    }
    return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a window's value is not where it was counted"));
}

/* offset rows from `at`, forward or back; false: not within start … stop. */
static bool shifted(uint64_t at, int64_t offset, uint64_t start, uint64_t stop, uint64_t *found)
{
    const uint64_t distance = offset < 0 ? 0 - (uint64_t)offset : (uint64_t)offset;
    if (offset < 0 ? distance > at : distance > UINT64_MAX - at) return false;
    *found = offset < 0 ? at - distance : at + distance;
    return *found >= start && *found < stop;
}

/* Among the places start … stop (rows, or values by their number) the one that the call wants. */
static bool choose(const nl_window_call *call, uint64_t start, uint64_t stop, uint64_t *found)
{
    if (start >= stop) return false;
    *found = call->look == NL_LOOK_LAST ? stop - 1 : start;
    return call->look != NL_LOOK_NTH || shifted(start, call->constant - 1, start, stop, found);
}

/* The row's value, opened in framing->found.edge, or *is_found false. */
static nl_status find_row(const nl_window_large *self, uint32_t c, const nl_window_slice *s, uint32_t i, const uint64_t *starts, const uint64_t *stops, bool *is_found)
{
    const nl_window_call *call = &self->window->calls[c];
    nl_window_framing *framing = &self->framings[c];
    const bool is_shift = call->look == NL_LOOK_BACK || call->look == NL_LOOK_AHEAD;
    const int64_t offset = call->look == NL_LOOK_BACK ? -call->constant : call->constant;
    const uint64_t row = s->first + i;
    uint64_t found = 0;
    if (!call->function->ignore_nulls || (is_shift && offset == 0)) {
        *is_found = is_shift ? shifted(row, offset, 0, self->row_count, &found) : choose(call, starts[i], stops[i], &found);
        if (*is_found) framing->found.edge.at = found;
        return NULL;
    }
    if (is_shift) {
        NL_TRY(count_to(self, call, &framing->from, row));
        const bool counts_itself = offset > 0 && !nl_vector_is_null(argument_of(call, s), i);
        *is_found = shifted(framing->from.values + counts_itself, offset > 0 ? offset - 1 : offset, 0, framing->value_count, &found);
    } else {
        NL_TRY(count_to(self, call, &framing->from, starts[i]));
        NL_TRY(count_to(self, call, &framing->until, stops[i]));
        *is_found = choose(call, framing->from.values, framing->until.values, &found);
    }
    return *is_found ? move_to_value(self, call, &framing->found, found) : NULL;
}

static nl_status append_row(const nl_window_large *self, uint32_t c, const nl_window_slice *s, uint32_t i, const uint64_t *starts, const uint64_t *stops, nl_column_builder *builder)
{
    const nl_window_call *call = &self->window->calls[c];
    nl_window_edge *edge = &self->framings[c].found.edge;
    bool is_found = false;
    uint32_t index;
    NL_TRY(find_row(self, c, s, i, starts, stops, &is_found));
    if (is_found) {
        NL_TRY(nl_window_open_edge(self, edge, edge->at, &index));
        return nl_column_builder_row(builder, argument_of(call, &edge->slice), index);
    }
    const bool has_default = call->argument_count > 2 && (call->look == NL_LOOK_BACK || call->look == NL_LOOK_AHEAD);
    return has_default ? nl_column_builder_row(builder, argument_of(call, s) + 2, i) : nl_column_builder_null(builder);
}

nl_status nl_window_count_values(nl_window_large *self, uint32_t c)
{
    const nl_window_call *call = &self->window->calls[c];
    nl_window_framing *framing = &self->framings[c];
    if (!call->function->ignore_nulls || (call->look != NL_LOOK_BACK && call->look != NL_LOOK_AHEAD)) return NULL;
    NL_TRY(count_to(self, call, &framing->from, self->row_count));
    framing->value_count = framing->from.values;
    framing->from.edge.at = framing->from.values = 0;
    return NULL;
}

nl_status nl_window_value_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out)
{
    const nl_window_call *call = &self->window->calls[c];
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    uint64_t *starts = malloc(sizeof *starts * 2 * ((size_t)s->row_count + 1));
    if (!starts) return nl_out_of_memory(sizeof *starts * 2 * s->row_count);
    uint64_t *stops = starts + s->row_count + 1;
    NL_GO(nl_column_builder_new(call->function->result_type, self->eval->memory, &builder));
    if (call->function->window->needs_frame) NL_GO(nl_window_find_frames(self, c, s, peer_stops, starts, stops));
    for (uint32_t i = 0; i < s->row_count; i++) NL_GO(append_row(self, c, s, i, starts, stops, builder));
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    free(starts);
    return status;
}
