/* exec/window_large_rest.c - frames to the end of a partition on disk, of aggregates that no row can be taken out of: max over the rest.
 *
 * What such a frame gives depends on its start alone. So the partition is read backwards once, and the state after each row is written
 * down: result k is that of the last k rows, 0 that of none. Reading forward, a row's result is that of its frame's start.
 */
#include "exec/window_large_private.h"

#include <stdlib.h>

#include "column/value.h"

bool nl_window_is_rest(const nl_window_call *call)
{
    static const char *const any_order[] = {"max", "min", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "sum", "avg", "try_sum", "try_avg", "count", "count_if", "stddev_pop", "stddev_samp",
                                            "var_pop", "var_samp", "approx_count_distinct", "bitmap_or_agg"};
    if (call->function->window || call->spec->stop_kind != NL_BOUND_UNBOUNDED_FOLLOWING) return false;
    for (uint32_t i = 0; i < NL_COUNT(any_order); i++)
        if (strcmp(call->function->row->name, any_order[i]) == 0) return true;
    return false;
}

static nl_status write_results(nl_window_large *self, uint32_t c, uint32_t count)
{
    nl_window_rest *rest = &self->framings[c].rest;
    nl_batch batch = {0};
    nl_status status = NULL;
    const uint32_t before = nl_spill_chunk_count(rest->results);
    NL_GO(nl_batch_init(&batch, 1, count));
    NL_GO(nl_window_take_results(self, &self->states[c], &batch.columns[0]));
    NL_GO(nl_spill_write(rest->results, &batch, self->eval->memory));
    const uint32_t after = nl_spill_chunk_count(rest->results);
    uint64_t *grown = realloc(rest->starts, sizeof *grown * ((size_t)after + 1));
    if (!grown) NL_GO(nl_out_of_memory(sizeof *grown * after));
    rest->starts = grown;
    if (before == 0) grown[0] = 0;
    for (uint32_t chunk = before; chunk < after; chunk++) grown[chunk + 1] = grown[chunk] + nl_spill_chunk_rows(rest->results, chunk);
done:
    nl_batch_fini(&batch);
    return status;
}

nl_status nl_window_read_backwards(nl_window_large *self, uint32_t c)
{
    nl_window_rest *rest = &self->framings[c].rest;
    nl_moving_state *moving = &self->states[c];
    NL_TRY(nl_window_start_state(self, c));
    NL_TRY(nl_spill_new(self->window->exec->query->spill_directory, &moving->call->function->result_type, 1, &rest->results));
    NL_TRY(nl_window_note_result(self, moving));
    NL_TRY(write_results(self, c, 1));
    for (uint32_t chunk = nl_spill_chunk_count(self->rows); chunk > 0; chunk--) {
        nl_window_slice s = {0};
        nl_status status = nl_window_open_slice(self, self->starts[chunk - 1], self->starts[chunk], &s);
        for (uint32_t row = s.row_count; row > 0 && !status; row--) {
            status = nl_window_move_state(self, moving, s.outputs, s.numbers, row - 1, row);
            if (!status) status = nl_window_note_result(self, moving);
        }
        if (!status) status = write_results(self, c, s.row_count);
        nl_window_end_slice(self, &s);
        NL_TRY(status);
    }
    nl_window_end_state(self, moving);
    return NULL;
}

/* Opens the chunk of result k. */
static nl_status open_result(const nl_window_large *self, nl_window_rest *rest, uint64_t k, uint32_t *index)
{
    const bool is_open = rest->open.columns && k >= rest->open_first && k - rest->open_first < rest->open.row_count;
    if (!is_open) {
        uint32_t low = 0, high = nl_spill_chunk_count(rest->results);
        while (high - low > 1) {
            const uint32_t middle = low + (high - low) / 2;
            if (rest->starts[middle] <= k)
                low = middle;
            else
                high = middle;
        }
        nl_batch_fini(&rest->open);
        NL_TRY(nl_spill_read(rest->results, low, self->eval->memory, &rest->open));
        rest->open_first = rest->starts[low];
    }
    *index = (uint32_t)(k - rest->open_first);
    return NULL;
}

nl_status nl_window_rest_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, const uint64_t *peer_stops, nl_vector *out)
{
    nl_window_rest *rest = &self->framings[c].rest;
    nl_column_builder *builder = NULL;
    nl_status status = NULL;
    uint64_t *starts = malloc(sizeof *starts * 2 * ((size_t)s->row_count + 1));
    if (!starts) return nl_out_of_memory(sizeof *starts * 2 * s->row_count);
    NL_GO(nl_column_builder_new(self->window->calls[c].function->result_type, self->eval->memory, &builder));
    NL_GO(nl_window_find_frames(self, c, s, peer_stops, starts, starts + s->row_count + 1));
    for (uint32_t i = 0; i < s->row_count; i++) {
        uint32_t index;
        NL_GO(open_result(self, rest, self->row_count - starts[i], &index));
        NL_GO(nl_column_builder_row(builder, &rest->open.columns[0], index));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    free(starts);
    return status;
}

void nl_window_end_rest(nl_window_rest *rest)
{
    nl_batch_fini(&rest->open);
    nl_spill_free(rest->results);
    free(rest->starts);
}
