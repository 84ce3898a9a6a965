/* exec/window_large.c - window functions over a partition on disk.
 *
 * Ranks need counters only. Frames that begin with the partition need one state that moves along; with RANGE they end with
 * the row's peers, so a first pass writes down each peer group's end and results. Frames over the whole partition are
 * finished in that pass, too. Frames of so many rows before and after, lag and lead are evaluated in memory over a
 * slice with that many rows around it. Other frames whose ends move forward with the rows are in window_large_frame.c, functions that
 * look for a value in window_large_value.c, frames to the end of max and its like in window_large_rest.c. What is left (frames to the end
 * of aggregates that hang on the order of rows) needs all rows at once.
 */
#include "exec/window_large.h"

#include <stdlib.h>

#include "exec/window_large_private.h"

#define MARGIN_ROWS_MAX    (1u << 20)
#define MARGINS_PER_BUDGET 16u

/* ---- planning -------------------------------------------------------------------------------------------------- */

static bool is_bounded(nl_bound_kind kind)
{
    return kind == NL_BOUND_PRECEDING || kind == NL_BOUND_CURRENT_ROW || kind == NL_BOUND_FOLLOWING;
}

static uint64_t reach(nl_bound_kind kind, nl_bound_kind wanted, uint64_t rows)
{
    return kind == wanted ? rows : 0;
}

/* How many rows may be had around a slice: not more than a part of the budget holds. */
static uint64_t margin_rows_max(const nl_window *w)
{
    const size_t row_bytes = 64 * ((size_t)w->column_count + w->output_count + w->call_count);
    return NL_MIN(nl_memory_limit(w->exec->query->memory) / MARGINS_PER_BUDGET / row_bytes, (size_t)MARGIN_ROWS_MAX);
}

static void plan_frame(const nl_window *w, nl_window_call *call)
{
    const nl_window_spec *spec = call->spec;
    bool is_rows = spec->unit == NL_FRAME_ROWS;
    bool starts_first = spec->start_kind == NL_BOUND_UNBOUNDED_PRECEDING;
    call->road = NL_ROAD_NONE;
    if (is_rows && is_bounded(spec->start_kind) && is_bounded(spec->stop_kind)) {
        const bool can_move = call->function->window || nl_window_can_retract(call);
        call->road = NL_ROAD_MARGIN;
        call->rows_before = NL_MAX(reach(spec->start_kind, NL_BOUND_PRECEDING, call->start_rows), reach(spec->stop_kind, NL_BOUND_PRECEDING, call->stop_rows));
        call->rows_after = NL_MAX(reach(spec->start_kind, NL_BOUND_FOLLOWING, call->start_rows), reach(spec->stop_kind, NL_BOUND_FOLLOWING, call->stop_rows));
        if (call->rows_before + call->rows_after > (can_move ? margin_rows_max(w) : MARGIN_ROWS_MAX)) call->road = call->function->window ? NL_ROAD_VALUE : NL_ROAD_FRAME;
    } else if (call->function->window) {
        call->road = NL_ROAD_VALUE;
    } else if (starts_first && spec->stop_kind == NL_BOUND_UNBOUNDED_FOLLOWING) {
        call->road = NL_ROAD_WHOLE;
    } else if (starts_first && spec->stop_kind == NL_BOUND_CURRENT_ROW) {
        call->road = is_rows ? NL_ROAD_ROWS : NL_ROAD_PEERS;
    } else if (nl_window_frame_is_possible(call)) {
        call->road = NL_ROAD_FRAME;
    } else if (nl_window_is_rest(call)) {
        call->road = NL_ROAD_REST;
    }
    if (call->road != NL_ROAD_MARGIN) call->rows_before = call->rows_after = 0;
}

static nl_status constant_of(nl_window *w, const nl_expr *expr, int64_t *number)
{
    nl_value value = {0};
    NL_TRY(nl_expr_evaluate(w->exec->arena, expr, w->exec->query->confs, w->exec->query->text, &value));
    *number = value.is_null ? INT64_MAX : value.integer;
    return NULL;
}

static nl_status plan_function(nl_window *w, nl_window_call *call)
{
    static const struct {
        const char *name;
        nl_window_road road;
    } roads[] = {{"row_number", NL_ROAD_ROW_NUMBER}, {"rank", NL_ROAD_RANK}, {"dense_rank", NL_ROAD_DENSE_RANK}, {"percent_rank", NL_ROAD_PERCENT_RANK},
                 {"cume_dist", NL_ROAD_CUME_DIST}, {"ntile", NL_ROAD_NTILE}, {"lag", NL_ROAD_MARGIN}, {"lead", NL_ROAD_MARGIN}};
    const nl_bound_function *function = call->function;
    for (uint32_t i = 0; i < NL_COUNT(roads); i++)
        if (strcmp(function->row->name, roads[i].name) == 0) call->road = roads[i].road;
    call->constant = 1;
    if (call->road == NL_ROAD_NTILE && call->expr->child_count > 0) return constant_of(w, call->expr->children[0], &call->constant);
    if (call->road != NL_ROAD_MARGIN) return NULL;
    if (call->expr->child_count > 1) NL_TRY(constant_of(w, call->expr->children[1], &call->constant));
    if (call->constant == INT64_MAX || call->constant == INT64_MIN) call->constant = 0; /* null */
    call->rows_before = call->rows_after = (uint64_t)(call->constant < 0 ? -call->constant : call->constant);
    if (!function->ignore_nulls && 2 * call->rows_before <= margin_rows_max(w)) return NULL;
    call->road = NL_ROAD_VALUE;
    call->rows_before = call->rows_after = 0;
    return NULL;
}

static nl_status plan_call(nl_window *w, nl_window_call *call)
{
    const nl_bound_function *function = call->function;
    call->road = NL_ROAD_NONE;
    const bool is_look = function->window && nl_window_looks_for_value(call, &call->look);
    if (function->window && !function->window->needs_frame) return plan_function(w, call);
    plan_frame(w, call);
    if (call->road == NL_ROAD_VALUE && !is_look) call->road = NL_ROAD_NONE;
    if (call->road == NL_ROAD_VALUE && call->look == NL_LOOK_NTH) return constant_of(w, call->expr->children[1], &call->constant);
    return NULL;
}

nl_status nl_window_large_plan(nl_window *window, bool *is_possible)
{
    *is_possible = true;
    for (uint32_t c = 0; c < window->call_count; c++) {
        NL_TRY(plan_call(window, &window->calls[c]));
        *is_possible = *is_possible && window->calls[c].road != NL_ROAD_NONE;
    }
    return NULL;
}

/* ---- states that move along ------------------------------------------------------------------------------------ */

nl_status nl_window_start_state(const nl_window_large *self, uint32_t c)
{
    nl_moving_state *moving = &self->states[c];
    const nl_window_call *call = &self->window->calls[c];
    uint32_t most = nl_exec_batch_rows(self->window->exec) + 1;
    *moving = (nl_moving_state){.call = call, .ops = call->function->aggregate};
    moving->bytes = (moving->ops->state_size(call->function) + 15u) / 16 * 16;
    moving->state = calloc(1, moving->bytes);
    moving->pointers = malloc(sizeof(void *) * most);
    bool owns_memory = moving->ops->destroy != NULL;
    if (!owns_memory) moving->copies = malloc(moving->bytes * most);
    if (!moving->state || !moving->pointers || (!owns_memory && !moving->copies)) return nl_out_of_memory(moving->bytes * most);
    if (moving->ops->init) moving->ops->init(call->function, moving->state);
    return NULL;
}

void nl_window_end_state(const nl_window_large *self, nl_moving_state *moving)
{
    if (!moving->ops) return;
    if (moving->ops->destroy && moving->state) moving->ops->destroy(moving->call->function, self->eval, moving->state);
    nl_column_builder_free(moving->singles);
    free(moving->state);
    free(moving->copies);
    free(moving->pointers);
    *moving = (nl_moving_state){0};
}

void nl_window_begin_anew(const nl_window_large *self, nl_moving_state *moving)
{
    const nl_bound_function *function = moving->call->function;
    if (moving->ops->destroy) moving->ops->destroy(function, self->eval, moving->state);
    memset(moving->state, 0, moving->bytes);
    if (moving->ops->init) moving->ops->init(function, moving->state);
}

nl_status nl_window_move_state(const nl_window_large *self, nl_moving_state *moving, const nl_vector *outputs, const uint32_t *numbers, uint32_t start, uint32_t stop)
{
    if (start >= stop) return NULL;
    nl_selection selection = {numbers + start, stop - start};
    return moving->ops->update_one(moving->call->function, self->eval, outputs + moving->call->argument_first, selection, moving->state);
}

/* The state's present result is the next one. */
nl_status nl_window_note_result(const nl_window_large *self, nl_moving_state *moving)
{
    if (moving->copies) {
        memcpy(moving->copies + moving->pending++ * moving->bytes, moving->state, moving->bytes);
        return NULL;
    }
    nl_vector result = {0};
    moving->pointers[0] = moving->state;
    if (!moving->singles) NL_TRY(nl_column_builder_new(moving->call->function->result_type, self->eval->memory, &moving->singles));
    nl_status status = moving->ops->finish(moving->call->function, self->eval, moving->pointers, 1, &result);
    if (!status) status = nl_column_builder_row(moving->singles, &result, 0);
    nl_vector_fini(&result);
    return status;
}

static nl_status concat_parts(const nl_window_large *self, nl_vector *parts, uint32_t count, nl_vector *out)
{
    if (count == 1) {
        nl_vector_move(&parts[0], out);
        return NULL;
    }
    const nl_vector **list = malloc(sizeof *list * ((size_t)count + 1));
    if (!list) return nl_out_of_memory(sizeof *list * count);
    for (uint32_t i = 0; i < count; i++)
        list[i] = &parts[i];
    nl_status status = nl_vector_concat(list, count, self->eval->memory, out);
    free(list);
    return status;
}

/* All results noted since the last time; at least one. */
nl_status nl_window_take_results(const nl_window_large *self, nl_moving_state *moving, nl_vector *out)
{
    if (!moving->copies) {
        nl_status status = nl_column_builder_finish(moving->singles, out);
        nl_column_builder_free(moving->singles);
        moving->singles = NULL;
        return status;
    }
    for (uint32_t i = 0; i < moving->pending; i++)
        moving->pointers[i] = moving->copies + i * moving->bytes;
    const uint32_t count = moving->pending;
    moving->pending = 0;
    return moving->ops->finish(moving->call->function, self->eval, moving->pointers, count, out);
}

/* ---- rows on disk ---------------------------------------------------------------------------------------------- */

static bool looks_at_frames(const nl_window_call *call)
{
    const bool is_framed = !call->function->window || call->function->window->needs_frame;
    return call->road == NL_ROAD_FRAME || call->road == NL_ROAD_REST || (call->road == NL_ROAD_VALUE && is_framed);
}

static bool needs_peers(const nl_window *w)
{
    for (uint32_t c = 0; c < w->call_count; c++)
        if (w->calls[c].road == NL_ROAD_PEERS || w->calls[c].road == NL_ROAD_CUME_DIST || (looks_at_frames(&w->calls[c]) && w->calls[c].spec->unit == NL_FRAME_RANGE)) return true;
    return false;
}

nl_status nl_window_large_new(nl_window *window, nl_eval *eval, nl_window_large **out)
{
    nl_exec *exec = window->exec;
    nl_window_large *self = calloc(1, sizeof *self);
    if (!self) return nl_out_of_memory(sizeof *self);
    *self = (nl_window_large){.window = window, .eval = eval, .column_count = window->column_count};
    self->row_types = calloc((size_t)self->column_count + 1, sizeof *self->row_types);
    self->peer_types = calloc((size_t)window->call_count + 1, sizeof *self->peer_types);
    self->states = calloc((size_t)window->call_count + 1, sizeof *self->states);
    self->finals = calloc((size_t)window->call_count + 1, sizeof *self->finals);
    self->framings = calloc((size_t)window->call_count + 1, sizeof *self->framings);
    nl_status status = self->row_types && self->peer_types && self->states && self->finals && self->framings ? NULL : nl_out_of_memory(sizeof *self);
    for (uint32_t i = 0; i < self->column_count && !status; i++)
        self->row_types[i] = window->column_types[i];
    if (!status) {
        self->row_types[self->column_count] = nl_type_boolean();
        self->peer_types[0] = nl_type_bigint();
        for (uint32_t c = 0; c < window->call_count; c++)
            if (window->calls[c].road == NL_ROAD_PEERS) self->peer_types[1 + self->peer_calls++] = window->calls[c].function->result_type;
        status = nl_spill_new(exec->query->spill_directory, self->row_types, self->column_count + 1, &self->rows);
    }
    if (!status && needs_peers(window)) status = nl_spill_new(exec->query->spill_directory, self->peer_types, self->peer_calls + 1, &self->peers);
    if (status)
        nl_window_large_free(self);
    else
        *out = self;
    return status;
}

void nl_window_large_free(nl_window_large *self)
{
    if (!self) return;
    for (uint32_t c = 0; c < self->window->call_count; c++) {
        if (self->states) nl_window_end_state(self, &self->states[c]);
        if (self->finals) nl_vector_fini(&self->finals[c]);
        if (self->framings) nl_window_end_framing(self, &self->framings[c]);
    }
    nl_batch_fini(&self->peer_batch);
    nl_spill_free(self->rows);
    nl_spill_free(self->peers);
    free(self->row_types);
    free(self->peer_types);
    free(self->states);
    free(self->finals);
    free(self->framings);
    free(self->starts);
    free(self);
}

/* Where each chunk starts: writing a batch may make several. */
static nl_status note_chunks(nl_window_large *self, uint32_t before, uint32_t row_count)
{
    uint32_t count = nl_spill_chunk_count(self->rows);
    if (count + 1 > self->start_capacity) {
        uint32_t capacity = NL_MAX(64u, (count + 1) * 2);
        uint64_t *grown = realloc(self->starts, sizeof *grown * capacity);
        if (!grown) return nl_out_of_memory(sizeof *grown * capacity);
        self->starts = grown;
        self->start_capacity = capacity;
    }
    uint64_t at = self->row_count;
    for (uint32_t chunk = before; chunk < count; chunk++) {
        self->starts[chunk] = at;
        at += nl_spill_chunk_rows(self->rows, chunk);
    }
    self->row_count += row_count;
    NL_ASSERT(at == self->row_count);
    self->starts[count] = at;
    return NULL;
}

nl_status nl_window_large_add(nl_window_large *self, const nl_batch *rows, const uint8_t *new_peer)
{
    nl_memory *memory = self->eval->memory;
    nl_batch batch = {0};
    nl_status status = NULL;
    NL_TRY(nl_cancel_check(self->window->exec->query->cancel));
    NL_GO(nl_batch_init(&batch, self->column_count + 1, rows->row_count));
    for (uint32_t i = 0; i < self->column_count; i++)
        nl_vector_ref(&rows->columns[i], &batch.columns[i]);
    NL_GO(nl_vector_new_flat(&batch.columns[self->column_count], nl_type_boolean(), rows->row_count, memory));
    memcpy(nl_vector_values(&batch.columns[self->column_count]), new_peer, rows->row_count);
    uint32_t before = nl_spill_chunk_count(self->rows);
    uint64_t bytes = nl_spill_bytes(self->rows);
    NL_GO(nl_spill_write(self->rows, &batch, memory));
    nl_metric_add_spilled(self->window->metric, nl_spill_bytes(self->rows) - bytes);
    NL_GO(note_chunks(self, before, rows->row_count));
done:
    nl_batch_fini(&batch);
    return status;
}

void nl_window_end_slice(const nl_window_large *self, nl_window_slice *s)
{
    for (uint32_t i = 0; s->outputs && i < self->window->output_count; i++)
        nl_vector_fini(&s->outputs[i]);
    free(s->outputs);
    nl_buffer_release(s->buffer);
    nl_batch_fini(&s->batch);
    *s = (nl_window_slice){0};
}

uint32_t nl_window_chunk_of(const nl_window_large *self, uint64_t row)
{
    uint32_t low = 0, high = nl_spill_chunk_count(self->rows);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (self->starts[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static nl_status read_rows(const nl_window_large *self, uint64_t first, uint64_t stop, nl_batch *out)
{
    uint32_t from = nl_window_chunk_of(self, first), to = nl_window_chunk_of(self, stop - 1) + 1;
    nl_batch *parts = calloc((size_t)(to - from) + 1, sizeof *parts);
    const nl_batch **list = malloc(sizeof *list * ((size_t)(to - from) + 1));
    nl_status status = parts && list ? NULL : nl_out_of_memory(sizeof *parts * (to - from));
    for (uint32_t chunk = from; chunk < to && !status; chunk++) {
        nl_batch whole = {0};
        status = nl_spill_read(self->rows, chunk, self->eval->memory, &whole);
        uint64_t start = NL_MAX(first, self->starts[chunk]), end = NL_MIN(stop, self->starts[chunk + 1]);
        if (!status && end - start == whole.row_count)
            nl_batch_move(&whole, &parts[chunk - from]);
        else if (!status)
            status = nl_batch_slice(&whole, (uint32_t)(start - self->starts[chunk]), (uint32_t)(end - start), self->eval->memory, &parts[chunk - from]);
        nl_batch_fini(&whole);
        list[chunk - from] = &parts[chunk - from];
    }
    if (!status && to - from == 1)
        nl_batch_move(&parts[0], out);
    else if (!status)
        status = nl_batch_concat(list, to - from, self->eval->memory, out);
    for (uint32_t i = 0; parts && i < to - from; i++)
        nl_batch_fini(&parts[i]);
    free(parts);
    free(list);
    return status;
}

nl_status nl_window_open_slice(const nl_window_large *self, uint64_t first, uint64_t stop, nl_window_slice *s)
{
    nl_window *w = self->window;
    *s = (nl_window_slice){.first = first, .row_count = (uint32_t)(stop - first)};
    nl_status status = NULL;
    NL_GO(nl_cancel_check(w->exec->query->cancel));
    NL_GO(read_rows(self, first, stop, &s->batch));
    s->outputs = calloc((size_t)w->output_count + 1, sizeof *s->outputs);
    if (!s->outputs) NL_GO(nl_out_of_memory(sizeof *s->outputs * w->output_count));
    nl_batch child = s->batch;
    child.column_count = self->column_count; /* borrowed, without new_peer */
    NL_GO(nl_programs_run(&w->programs, self->eval->worker, &child, s->outputs));
    NL_GO(nl_buffer_new(self->eval->memory, sizeof(uint32_t) * 6 * ((size_t)s->row_count + 1), false, &s->buffer));
    s->numbers = (uint32_t *)(void *)s->buffer->data;
    s->scratch = s->numbers + s->row_count + 1;
    for (uint32_t i = 0; i < s->row_count; i++)
        s->numbers[i] = i;
done:
    if (status) nl_window_end_slice(self, s);
    return status;
}

/* ---- the first pass -------------------------------------------------------------------------------------------- */

static nl_status write_peers(nl_window_large *self, const uint64_t *stops, uint32_t count)
{
    nl_memory *memory = self->eval->memory;
    nl_batch batch = {0};
    nl_status status = NULL;
    if (count == 0) return NULL;
    NL_GO(nl_batch_init(&batch, self->peer_calls + 1, count));
    NL_GO(nl_vector_new_flat(&batch.columns[0], nl_type_bigint(), count, memory));
    memcpy(nl_vector_values(&batch.columns[0]), stops, sizeof *stops * count);
    uint32_t column = 1;
    for (uint32_t c = 0; c < self->window->call_count; c++)
        if (self->window->calls[c].road == NL_ROAD_PEERS) NL_GO(nl_window_take_results(self, &self->states[c], &batch.columns[column++]));
    NL_GO(nl_spill_write(self->peers, &batch, memory));
done:
    nl_batch_fini(&batch);
    return status;
}

/* A call's state over a slice; with peers, a result wherever a group ended before a row of it. */
static nl_status pass_call(nl_window_large *self, const nl_window_slice *s, nl_moving_state *moving, bool by_peers)
{
    const uint8_t *breaks = nl_window_new_peers(self, s);
    uint32_t start = 0;
    for (uint32_t row = 0; row < s->row_count && by_peers; row++) {
        if (!breaks[row] || s->first + row == 0) continue;
        NL_TRY(nl_window_move_state(self, moving, s->outputs, s->numbers, start, row));
        NL_TRY(nl_window_note_result(self, moving));
        start = row;
    }
    return nl_window_move_state(self, moving, s->outputs, s->numbers, start, s->row_count);
}

static nl_status pass_slice(nl_window_large *self, const nl_window_slice *s, uint64_t *stops)
{
    const uint8_t *breaks = nl_window_new_peers(self, s);
    uint32_t count = 0;
    for (uint32_t c = 0; c < self->window->call_count; c++) {
        const nl_window_call *call = &self->window->calls[c];
        if (call->road == NL_ROAD_PEERS || call->road == NL_ROAD_WHOLE)
            NL_TRY(nl_status_at(pass_call(self, s, &self->states[c], call->road == NL_ROAD_PEERS), call->expr->span, self->window->exec->query->text));
    }
    if (!self->peers) return NULL;
    for (uint32_t row = 0; row < s->row_count; row++)
        if (breaks[row] && s->first + row > 0) stops[count++] = s->first + row;
    return write_peers(self, stops, count);
}

static nl_status end_pass(nl_window_large *self)
{
    for (uint32_t c = 0; c < self->window->call_count; c++) {
        nl_moving_state *moving = &self->states[c];
        if (!moving->ops) continue;
        NL_TRY(nl_window_note_result(self, moving));
        if (moving->call->road == NL_ROAD_WHOLE) NL_TRY(nl_window_take_results(self, moving, &self->finals[c]));
    }
    if (self->peers) NL_TRY(write_peers(self, &self->row_count, 1));
    for (uint32_t c = 0; c < self->window->call_count; c++)
        nl_window_end_state(self, &self->states[c]);
    return NULL;
}

nl_status nl_window_large_finish(nl_window_large *self)
{
    nl_window *w = self->window;
    bool needs_pass = self->peers != NULL;
    for (uint32_t c = 0; c < w->call_count; c++) {
        nl_window_road road = w->calls[c].road;
        needs_pass = needs_pass || road == NL_ROAD_WHOLE;
        if (road == NL_ROAD_WHOLE || road == NL_ROAD_PEERS) NL_TRY(nl_window_start_state(self, c));
    }
    uint64_t *stops = malloc(sizeof *stops * nl_exec_batch_rows(w->exec));
    nl_status status = stops ? NULL : nl_out_of_memory(sizeof *stops * nl_exec_batch_rows(w->exec));
    for (uint32_t chunk = 0; needs_pass && chunk < nl_spill_chunk_count(self->rows) && !status; chunk++) {
        nl_window_slice s = {0};
        status = nl_window_open_slice(self, self->starts[chunk], self->starts[chunk + 1], &s);
        if (!status) status = pass_slice(self, &s, stops);
        nl_window_end_slice(self, &s);
    }
    free(stops);
    if (!status && needs_pass) status = end_pass(self);
    for (uint32_t c = 0; c < w->call_count && !status; c++) {
        if (w->calls[c].road == NL_ROAD_ROWS) status = nl_window_start_state(self, c);
        if (w->calls[c].road == NL_ROAD_VALUE) status = nl_window_count_values(self, c);
        if (w->calls[c].road == NL_ROAD_REST) status = nl_status_at(nl_window_read_backwards(self, c), w->calls[c].expr->span, w->exec->query->text);
    }
    return status;
}

/* ---- the second pass ------------------------------------------------------------------------------------------- */

static nl_status next_peers(nl_window_large *self)
{
    nl_batch_fini(&self->peer_batch);
    self->peer_at = 0;
    NL_ASSERT(self->peer_chunk < nl_spill_chunk_count(self->peers));
    return nl_spill_read(self->peers, self->peer_chunk++, self->eval->memory, &self->peer_batch);
}

static nl_status flush_peers(const nl_window_large *self, const uint32_t *chosen, uint32_t count, nl_vector *parts, uint32_t part_stride, uint32_t part)
{
    for (uint32_t k = 0; k < self->peer_calls && count > 0; k++)
        NL_TRY(nl_vector_take(&self->peer_batch.columns[1 + k], chosen, count, self->eval->memory, &parts[k * part_stride + part]));
    return NULL;
}

/* Each row's peer group: its end into stops, its results into results[0 … peer_calls). */
static nl_status find_peers(nl_window_large *self, const nl_window_slice *s, uint64_t *stops, nl_vector *results)
{
    uint32_t stride = s->row_count + 1, part = 0, count = 0;
    nl_vector *parts = calloc((size_t)stride * self->peer_calls + 1, sizeof *parts);
    if (!parts) return nl_out_of_memory(sizeof *parts * stride);
    nl_status status = NULL;
    for (uint32_t row = 0; row < s->row_count; row++) {
        while (self->peer_at == self->peer_batch.row_count || ((const uint64_t *)self->peer_batch.columns[0].values)[self->peer_at] <= s->first + row) {
            if (self->peer_at + 1 < self->peer_batch.row_count) {
                self->peer_at++;
                continue;
            }
            NL_GO(flush_peers(self, s->scratch, count, parts, stride, part));
            part += count > 0;
            count = 0;
            NL_GO(next_peers(self));
        }
        s->scratch[count++] = self->peer_at;
        stops[row] = ((const uint64_t *)self->peer_batch.columns[0].values)[self->peer_at];
    }
    NL_GO(flush_peers(self, s->scratch, count, parts, stride, part));
    part += count > 0;
    for (uint32_t k = 0; k < self->peer_calls; k++)
        NL_GO(concat_parts(self, parts + (size_t)k * stride, part, &results[k]));
done:
    for (uint32_t i = 0; i < stride * self->peer_calls; i++)
        nl_vector_fini(&parts[i]);
    free(parts);
    return status;
}

static int32_t bucket_of(uint64_t row, uint64_t row_count, uint64_t buckets)
{
    uint64_t size = row_count / buckets, rest = row_count % buckets; /* the first `rest` buckets hold one row more */
    uint64_t large = rest * (size + 1);
    return (int32_t)(1 + (row < large ? row / (size + 1) : rest + (row - large) / size));
}

static nl_status rank_rows(nl_window_large *self, const nl_window_call *call, const nl_window_slice *s, const uint64_t *stops, nl_vector *out)
{
    const uint8_t *breaks = nl_window_new_peers(self, s);
    uint64_t peer_start = self->peer_start, dense = self->dense, n = self->row_count;
    NL_TRY(nl_vector_new_flat(out, call->function->result_type, s->row_count, self->eval->memory));
    int32_t *integers = nl_vector_values(out);
    double *reals = nl_vector_values(out);
    for (uint32_t i = 0; i < s->row_count; i++) {
        uint64_t row = s->first + i;
        bool is_new = breaks[i] || row == 0;
        if (is_new) peer_start = row;
        dense += is_new;
        if (call->road == NL_ROAD_ROW_NUMBER) integers[i] = (int32_t)(row + 1);
        if (call->road == NL_ROAD_RANK) integers[i] = (int32_t)(peer_start + 1);
        if (call->road == NL_ROAD_DENSE_RANK) integers[i] = (int32_t)dense;
        if (call->road == NL_ROAD_NTILE) integers[i] = bucket_of(row, n, (uint64_t)call->constant);
        if (call->road == NL_ROAD_PERCENT_RANK) reals[i] = n > 1 ? (double)peer_start / (double)(n - 1) : 0.0;
        if (call->road == NL_ROAD_CUME_DIST) reals[i] = (double)stops[i] / (double)n;
    }
    return NULL;
}

static void advance_ranks(nl_window_large *self, const nl_window_slice *s)
{
    const uint8_t *breaks = nl_window_new_peers(self, s);
    for (uint32_t i = 0; i < s->row_count; i++) {
        if (!breaks[i] && s->first + i > 0) continue;
        self->peer_start = s->first + i;
        self->dense++;
    }
}

/* Rows around the slice are there; only the slice's own results are kept. */
static nl_status margin_rows(nl_window_large *self, const nl_window_call *call, const nl_window_slice *around, const nl_window_slice *s, nl_vector *out)
{
    const uint8_t *breaks = nl_window_new_peers(self, around);
    uint32_t n = around->row_count;
    uint32_t *peer_start = around->scratch, *peer_stop = peer_start + n + 1;
    for (uint32_t i = 0; i < n; i++)
        peer_start[i] = i == 0 || breaks[i] ? i : peer_start[i - 1];
    for (uint32_t i = n; i > 0; i--)
        peer_stop[i - 1] = i == n || breaks[i] ? i : peer_stop[i];
    const uint32_t starts[] = {0, n};
    nl_window_rows rows = {.row_count = n, .partition_count = 1, .starts = starts, .outputs = around->outputs, .peer_start = peer_start, .peer_stop = peer_stop, .numbers = around->numbers,
                           .cancel = self->window->exec->query->cancel, .frame_start = peer_stop + n + 1, .frame_stop = peer_stop + 2 * ((size_t)n + 1)};
    nl_vector all = {0};
    NL_TRY(nl_window_evaluate(self->window, self->eval, call, &rows, &all));
    nl_status status = NULL;
    if (s->row_count == n)
        nl_vector_move(&all, out);
    else
        status = nl_vector_take(&all, around->numbers + (s->first - around->first), s->row_count, self->eval->memory, out);
    nl_vector_fini(&all);
    return status;
}

static nl_status running_rows(nl_window_large *self, uint32_t c, const nl_window_slice *s, nl_vector *out)
{
    nl_moving_state *moving = &self->states[c];
    for (uint32_t row = 0; row < s->row_count; row++) {
        NL_TRY(nl_window_move_state(self, moving, s->outputs, s->numbers, row, row + 1));
        NL_TRY(nl_window_note_result(self, moving));
    }
    return nl_window_take_results(self, moving, out);
}

static nl_status repeat_final(const nl_window_large *self, uint32_t c, const nl_window_slice *s, nl_vector *out)
{
    memset(s->scratch, 0, sizeof *s->scratch * s->row_count);
    return nl_vector_take(&self->finals[c], s->scratch, s->row_count, self->eval->memory, out);
}

static nl_status evaluate_slice(nl_window_large *self, const nl_window_slice *around, nl_window_slice *s, nl_batch *batch)
{
    nl_window *w = self->window;
    nl_vector *of_peers = calloc((size_t)self->peer_calls + 1, sizeof *of_peers);
    uint64_t *stops = malloc(sizeof *stops * ((size_t)s->row_count + 1));
    nl_status status = of_peers && stops ? NULL : nl_out_of_memory(sizeof *stops * s->row_count);
    if (status) goto done;
    uint32_t k = 0;
    NL_GO(nl_batch_init(batch, self->column_count + w->call_count, s->row_count));
    for (uint32_t i = 0; i < self->column_count; i++)
        nl_vector_ref(&s->batch.columns[i], &batch->columns[i]);
    if (self->peers) NL_GO(find_peers(self, s, stops, of_peers));
    for (uint32_t c = 0; c < w->call_count; c++) {
        const nl_window_call *call = &w->calls[c];
        nl_vector *out = &batch->columns[self->column_count + c];
        if (call->road == NL_ROAD_PEERS)
            nl_vector_move(&of_peers[k++], out);
        else if (call->road == NL_ROAD_MARGIN)
            status = margin_rows(self, call, around, s, out);
        else if (call->road == NL_ROAD_ROWS)
            status = running_rows(self, c, s, out);
        else if (call->road == NL_ROAD_FRAME)
            status = nl_window_frame_rows(self, c, s, stops, out);
        else if (call->road == NL_ROAD_VALUE)
            status = nl_window_value_rows(self, c, s, stops, out);
        else if (call->road == NL_ROAD_REST)
            status = nl_window_rest_rows(self, c, s, stops, out);
        else if (call->road == NL_ROAD_WHOLE)
            status = repeat_final(self, c, s, out);
        else
            status = rank_rows(self, call, s, stops, out);
        if (status) {
            status = nl_status_at(status, call->expr->span, w->exec->query->text);
            goto done;
        }
    }
    advance_ranks(self, s);
done:
    for (uint32_t i = 0; of_peers && i < self->peer_calls; i++)
        nl_vector_fini(&of_peers[i]);
    free(of_peers);
    free(stops);
    return status;
}

nl_status nl_window_large_next(nl_window_large *self, nl_batch *batch)
{
    const nl_window *w = self->window;
    uint64_t before = 0, after = 0;
    bool has_margin = false;
    if (self->chunk == nl_spill_chunk_count(self->rows)) return NULL;
    for (uint32_t c = 0; c < w->call_count; c++) {
        has_margin = has_margin || w->calls[c].road == NL_ROAD_MARGIN;
        before = NL_MAX(before, w->calls[c].rows_before);
        after = NL_MAX(after, w->calls[c].rows_after);
    }
    uint64_t first = self->starts[self->chunk], stop = self->starts[++self->chunk];
    uint64_t around_first = first > before ? first - before : 0, around_stop = NL_MIN(stop + after, self->row_count);
    nl_window_slice s = {0}, around = {0};
    nl_status status = nl_window_open_slice(self, first, stop, &s);
    if (!status && has_margin) status = nl_window_open_slice(self, around_first, around_stop, &around);
    if (!status) status = evaluate_slice(self, &around, &s, batch);
    nl_window_end_slice(self, &s);
    nl_window_end_slice(self, &around);
    if (status) nl_batch_fini(batch);
    return status;
}
