/* exec/window.c - window functions: rows are sorted by partition and order, then each partition is evaluated as a whole.
 * Those that lie within one batch of the sorter are evaluated together, so that small ones cost little.
 *
 * The sorter's ranges never cut a partition, so that workers evaluate different ones at the same time.
 */
#include "exec/window_large.h"

#include <stdlib.h>

#include "exec/sorter.h"

#define NUMBERS_PER_ROW 6u /* row, peers' start and stop, frame's start and stop, partition's start */

typedef struct sort_operator {
    nl_operator base;
    nl_window *window;
} sort_operator;

static nl_status sort_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    return nl_sorter_add(NL_CONTAINER(self, sort_operator, base)->window->sorter, worker->index, worker->morsel, batch);
}

static nl_status sort_finish_worker(nl_operator *self, nl_worker *worker)
{
    return nl_sorter_finish_worker(NL_CONTAINER(self, sort_operator, base)->window->sorter, worker->index);
}

static void sort_free(nl_operator *self)
{
    nl_window *w = NL_CONTAINER(self, sort_operator, base)->window;
    nl_sorter_fini(w->sorter);
    nl_programs_fini(&w->programs);
}

static const nl_operator_ops sort_ops = {.name = "window sort", .push = sort_push, .finish_worker = sort_finish_worker, .free = sort_free};

/* Sorted rows that do not yet make up a whole partition. */
typedef struct window_reader {
    nl_sorted_range *range;
    uint64_t morsel;
    nl_batch ahead;        /* the sorter's last batch, from `ahead_at` on not used yet */
    uint32_t ahead_at;
    uint8_t *breaks;       /* of ahead */
    nl_batch *pieces;      /* of the partition being collected */
    uint32_t piece_count, piece_capacity;
    uint8_t *new_peer;     /* per row of the partitions: its breaks */
    uint32_t row_count, row_capacity;
    size_t piece_bytes;    /* of pieces */
    bool is_reading_large; /* all its rows are there */
    nl_window_large *large; /* the partition is too large: its rows go there; or NULL */
    nl_batch done;         /* an evaluated partition, from done_at on not given out yet */
    uint32_t done_at;
    nl_eval eval;
} window_reader;

typedef struct window_source {
    nl_source base;
    nl_window *window;
    atomic_uint next_range;
    window_reader *readers; /* per worker */
} window_source;

static nl_status source_start(nl_source *self)
{
    const window_source *source = NL_CONTAINER(self, window_source, base);
    NL_TRY(nl_sorter_prepare(source->window->sorter));
    self->is_serial = nl_sorter_range_count(source->window->sorter) <= 1;
    return NULL;
}

static nl_status keep_piece(window_reader *reader, uint32_t stop, nl_memory *memory)
{
    uint32_t count = stop - reader->ahead_at;
    if (reader->piece_count == reader->piece_capacity) {
        uint32_t capacity = NL_MAX(4u, reader->piece_capacity * 2);
        nl_batch *grown = realloc(reader->pieces, capacity * sizeof *grown);
        if (!grown) return nl_out_of_memory(capacity * sizeof *grown);
        reader->pieces = grown;
        reader->piece_capacity = capacity;
    }
    if (reader->row_count + count > reader->row_capacity) {
        uint32_t capacity = NL_MAX(2 * reader->row_capacity, reader->row_count + count + 1024);
        uint8_t *grown = realloc(reader->new_peer, capacity);
        if (!grown) return nl_out_of_memory(capacity);
        reader->new_peer = grown;
        reader->row_capacity = capacity;
    }
    nl_batch *piece = &reader->pieces[reader->piece_count];
    *piece = (nl_batch){0};
    if (reader->ahead_at == 0 && count == reader->ahead.row_count)
        nl_batch_move(&reader->ahead, piece);
    else
        NL_TRY(nl_batch_slice(&reader->ahead, reader->ahead_at, count, memory, piece));
    reader->piece_bytes += nl_batch_bytes(piece);
    reader->piece_count++;
    for (uint32_t i = 0; i < count; i++)
        reader->new_peer[reader->row_count + i] = reader->breaks[reader->ahead_at + i];
    reader->row_count += count;
    reader->ahead_at = stop;
    return NULL;
}

/* Evaluation in memory needs the pieces once more as a whole, their arguments and results, and some numbers per row. */
static size_t row_bytes_of(const nl_window *w)
{
    return sizeof(uint32_t) * NUMBERS_PER_ROW + 2 * sizeof(int64_t) * ((size_t)w->output_count + w->call_count);
}

static bool is_too_large(const nl_window *w, const window_reader *reader)
{
    if (!w->can_be_large) return false;
    if (w->exec->query->force_spill) return reader->row_count > 2;
    return !nl_exec_may_grow(w->exec, reader->piece_bytes + row_bytes_of(w) * reader->row_count);
}

static nl_status move_to_disk(nl_window *w, window_reader *reader)
{
    if (!reader->large) NL_TRY(nl_window_large_new(w, &reader->eval, &reader->large));
    uint32_t at = 0;
    for (uint32_t i = 0; i < reader->piece_count; i++) {
        NL_TRY(nl_window_large_add(reader->large, &reader->pieces[i], reader->new_peer + at));
        at += reader->pieces[i].row_count;
        nl_batch_fini(&reader->pieces[i]);
    }
    NL_ASSERT(at == reader->row_count);
    reader->piece_count = 0;
    reader->piece_bytes = 0;
    reader->row_count = 0;
    return NULL;
}

/* Whole partitions that lie within the present batch. False: there are none, or no room for them. */
static bool find_whole_partitions(const nl_window *w, const window_reader *reader, uint32_t *stop)
{
    if (reader->row_count > 0 || reader->large || w->exec->query->force_spill) return false;
    uint32_t last = reader->ahead.row_count - 1; /* the last partition may go on in the next batch */
    while (last > reader->ahead_at && !(reader->breaks[last] & NL_SORT_NEW_PARTITION))
        last--;
    *stop = last;
    return last > reader->ahead_at && (!w->can_be_large || nl_exec_may_grow(w->exec, row_bytes_of(w) * (last - reader->ahead_at)));
}

/* Collects one whole partition, or several small ones. *is_done: the range has no more. */
static nl_status collect_partition(nl_window *w, window_reader *reader, bool *is_done)
{
    *is_done = false;
    for (;;) {
        if (reader->ahead_at == reader->ahead.row_count || !reader->ahead.columns) {
            nl_batch_fini(&reader->ahead);
            reader->ahead_at = 0;
            NL_TRY(nl_sorted_range_next(reader->range, &reader->ahead, reader->breaks));
            if (reader->ahead.row_count == 0) {
                *is_done = reader->row_count == 0 && !reader->large;
                return NULL;
            }
        }
        uint32_t stop = reader->ahead_at;
        if (find_whole_partitions(w, reader, &stop)) return keep_piece(reader, stop, w->exec->query->memory);
        stop = reader->ahead_at;
        if ((reader->row_count > 0 || reader->large) && reader->breaks[stop] & NL_SORT_NEW_PARTITION) return NULL;
        do
            stop++;
        while (stop < reader->ahead.row_count && !(reader->breaks[stop] & NL_SORT_NEW_PARTITION));
        bool is_whole = stop < reader->ahead.row_count;
        NL_TRY(keep_piece(reader, stop, w->exec->query->memory));
        if (reader->large || is_too_large(w, reader)) NL_TRY(move_to_disk(w, reader));
        if (is_whole) return NULL;
    }
}

static nl_status join_pieces(nl_window *w, window_reader *reader, nl_batch *partition)
{
    nl_status status = NULL;
    if (reader->piece_count == 1) {
        nl_batch_move(&reader->pieces[0], partition);
    } else {
        const nl_batch **list = malloc(sizeof *list * reader->piece_count);
        if (!list) return nl_out_of_memory(sizeof *list * reader->piece_count);
        for (uint32_t i = 0; i < reader->piece_count; i++)
            list[i] = &reader->pieces[i];
        status = nl_batch_concat(list, reader->piece_count, w->exec->query->memory, partition);
        free(list);
    }
    for (uint32_t i = 0; i < reader->piece_count; i++)
        nl_batch_fini(&reader->pieces[i]);
    reader->piece_count = 0;
    reader->piece_bytes = 0;
    return status;
}

static void find_peers(const window_reader *reader, uint32_t *peer_start, uint32_t *peer_stop, uint32_t *numbers)
{
    uint32_t n = reader->row_count;
    for (uint32_t i = 0; i < n; i++) {
        peer_start[i] = i == 0 || reader->new_peer[i] ? i : peer_start[i - 1];
        numbers[i] = i;
    }
    for (uint32_t i = n; i > 0; i--)
        peer_stop[i - 1] = i == n || reader->new_peer[i] ? i : peer_stop[i];
}

/* Where partitions start, and the rows' end behind them; returns how many partitions there are. */
static uint32_t find_starts(const window_reader *reader, uint32_t *starts)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < reader->row_count; i++)
        if (i == 0 || reader->new_peer[i] & NL_SORT_NEW_PARTITION) starts[count++] = i;
    starts[count] = reader->row_count;
    return count;
}

nl_status nl_window_evaluate(const nl_window *w, nl_eval *eval, const nl_window_call *call, nl_window_rows *rows, nl_vector *out)
{
    const nl_bound_function *function = call->function;
    bool is_aggregate = function->window == NULL;
    bool needs_frame = is_aggregate || function->window->needs_frame;
    if (needs_frame) nl_window_frames(call, rows);
    if (is_aggregate) return nl_window_aggregate(call, eval, rows, NL_MAX(nl_exec_batch_rows(w->exec), 256u), out);
    nl_window_partitions all = {.args = rows->outputs + call->argument_first, .row_count = rows->row_count, .partition_count = rows->partition_count,
                                .starts = rows->starts, .peer_start = rows->peer_start, .peer_stop = rows->peer_stop,
                                .frame_start = needs_frame ? rows->frame_start : NULL, .frame_stop = needs_frame ? rows->frame_stop : NULL};
    return function->window->evaluate(function, eval, &all, out);
}

/* The partitions' columns and results, into reader->done. */
static nl_status evaluate_partition(nl_window *w, window_reader *reader)
{
    nl_memory *memory = w->exec->query->memory;
    nl_batch partition = {0};
    nl_buffer *buffer = NULL;
    nl_vector *outputs = NULL;
    uint32_t n = reader->row_count;
    nl_status status = NULL;
    NL_GO(join_pieces(w, reader, &partition));
    NL_GO(nl_buffer_new(memory, sizeof(uint32_t) * NUMBERS_PER_ROW * ((size_t)n + 1), false, &buffer));
    outputs = calloc((size_t)w->output_count + 1, sizeof *outputs);
    if (!outputs) NL_GO(nl_out_of_memory(w->output_count * sizeof *outputs));
    NL_GO(nl_programs_run(&w->programs, reader->eval.worker, &partition, outputs));
    uint32_t *numbers = (uint32_t *)(void *)buffer->data;
    uint32_t *peer_start = numbers + n + 1, *peer_stop = peer_start + n + 1;
    find_peers(reader, peer_start, peer_stop, numbers);
    uint32_t *starts = peer_stop + 3 * ((size_t)n + 1);
    nl_window_rows rows = {.row_count = n, .partition_count = find_starts(reader, starts), .starts = starts, .outputs = outputs, .peer_start = peer_start, .peer_stop = peer_stop, .numbers = numbers, .cancel = w->exec->query->cancel,
                           .frame_start = peer_stop + n + 1, .frame_stop = peer_stop + 2 * ((size_t)n + 1)};
    NL_GO(nl_batch_init(&reader->done, partition.column_count + w->call_count, n));
    for (uint32_t i = 0; i < partition.column_count; i++)
        nl_vector_ref(&partition.columns[i], &reader->done.columns[i]);
    for (uint32_t c = 0; c < w->call_count; c++)
        NL_GO(nl_status_at(nl_window_evaluate(w, &reader->eval, &w->calls[c], &rows, &reader->done.columns[partition.column_count + c]),
                           w->calls[c].expr->span, w->exec->query->text));
    reader->done_at = 0;
done:
    reader->row_count = 0;
    for (uint32_t i = 0; outputs && i < w->output_count; i++)
        nl_vector_fini(&outputs[i]);
    free(outputs);
    nl_buffer_release(buffer);
    nl_batch_fini(&partition);
    return status;
}

static nl_status give_piece(nl_window *w, window_reader *reader, nl_batch *batch)
{
    uint32_t step = nl_exec_batch_rows(w->exec);
    uint32_t left = reader->done.row_count - reader->done_at;
    if (reader->done_at == 0 && left <= step) {
        nl_batch_move(&reader->done, batch);
        return NULL;
    }
    uint32_t count = NL_MIN(step, left);
    NL_TRY(nl_batch_slice(&reader->done, reader->done_at, count, w->exec->query->memory, batch));
    reader->done_at += count;
    if (reader->done_at == reader->done.row_count) nl_batch_fini(&reader->done);
    return NULL;
}

static nl_status source_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    window_source *source = NL_CONTAINER(self, window_source, base);
    nl_window *w = source->window;
    window_reader *reader = &source->readers[worker->index];
    *morsel = reader->morsel;
    if (!reader->breaks) {
        reader->breaks = malloc(nl_exec_batch_rows(self->exec));
        if (!reader->breaks) return nl_out_of_memory(nl_exec_batch_rows(self->exec));
        reader->eval = (nl_eval){.confs = self->exec->query->confs, .memory = self->exec->query->memory, .worker = worker->index};
    }
    while (!reader->done.row_count) {
        bool is_range_done = true;
        NL_TRY(nl_cancel_check(self->exec->query->cancel));
        if (reader->is_reading_large) {
            NL_TRY(nl_window_large_next(reader->large, &reader->done));
            reader->done_at = 0;
            if (reader->done.row_count) continue;
            nl_window_large_free(reader->large);
            reader->large = NULL;
            reader->is_reading_large = false;
        }
        if (reader->range) NL_TRY(collect_partition(w, reader, &is_range_done));
        if (!is_range_done) {
            if (reader->large) NL_TRY(nl_window_large_finish(reader->large));
            reader->is_reading_large = reader->large != NULL;
            if (!reader->large) NL_TRY(evaluate_partition(w, reader));
            continue;
        }
        nl_sorted_range_free(reader->range);
        reader->range = NULL;
        uint32_t range = atomic_fetch_add(&source->next_range, 1);
        *is_done = range >= nl_sorter_range_count(w->sorter);
        if (*is_done) return NULL;
        *morsel = reader->morsel = range;
        NL_TRY(nl_sorter_open(w->sorter, range, &reader->range));
    }
    return give_piece(w, reader, batch);
}

static void source_free(nl_source *self)
{
    window_source *source = NL_CONTAINER(self, window_source, base);
    for (uint32_t i = 0; i < self->exec->worker_count; i++) {
        window_reader *reader = &source->readers[i];
        nl_sorted_range_free(reader->range);
        nl_window_large_free(reader->large);
        nl_batch_fini(&reader->ahead);
        nl_batch_fini(&reader->done);
        for (uint32_t k = 0; k < reader->piece_count; k++)
            nl_batch_fini(&reader->pieces[k]);
        free(reader->pieces);
        free(reader->breaks);
        free(reader->new_peer);
    }
}

static const nl_source_ops source_ops = {.name = "window", .start = source_start, .next = source_next, .free = source_free};

static nl_status row_offset(nl_window *w, const nl_expr *offset, uint64_t *rows)
{
    nl_value value = {0};
    nl_query *query = w->exec->query;
    NL_TRY(nl_expr_evaluate(w->exec->arena, offset, query->confs, query->text, &value));
    if (value.is_null || value.integer < 0) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A window frame's offset must not be negative or null.");
    *rows = (uint64_t)value.integer;
    return NULL;
}

/* The order key moved by a RANGE offset. */
static nl_status add_bound(nl_window *w, const nl_window_call *call, bool is_preceding, const nl_expr *offset, nl_list *exprs, int32_t *position)
{
    nl_exec *exec = w->exec;
    const nl_sort_key *key = &call->spec->order_by[0];
    const nl_expr *arguments[] = {key->expr, offset};
    const nl_expr *bound = NULL;
    bool is_lower = is_preceding != key->is_descending;
    NL_TRY(nl_expr_call_named(exec->arena, exec->query->confs, is_lower ? "-" : "+", arguments, 2, &bound));
    bound = nl_expr_cast(exec->arena, bound, key->expr->type, NL_CAST_ANSI);
    *position = (int32_t)exprs->count;
    nl_list_add(exec->arena, exprs, NL_UNCONST(bound));
    return NULL;
}

static nl_status plan_frame(nl_window *w, nl_window_call *call, nl_list *exprs)
{
    const nl_window_spec *spec = call->spec;
    bool is_rows = spec->unit == NL_FRAME_ROWS;
    bool has_start = spec->start_kind == NL_BOUND_PRECEDING || spec->start_kind == NL_BOUND_FOLLOWING;
    bool has_stop = spec->stop_kind == NL_BOUND_PRECEDING || spec->stop_kind == NL_BOUND_FOLLOWING;
    if (is_rows && has_start) NL_TRY(row_offset(w, spec->start_offset, &call->start_rows));
    if (is_rows && has_stop) NL_TRY(row_offset(w, spec->stop_offset, &call->stop_rows));
    if (is_rows || (!has_start && !has_stop)) return NULL;
    if (spec->order_count != 1) return NL_RAISE(INTERNAL_ERROR, NL_P("message", "a RANGE frame with an offset needs one order key"));
    call->order_key = (int32_t)exprs->count;
    nl_list_add(w->exec->arena, exprs, NL_UNCONST(spec->order_by[0].expr));
    if (has_start) NL_TRY(add_bound(w, call, spec->start_kind == NL_BOUND_PRECEDING, spec->start_offset, exprs, &call->start_bound));
    if (has_stop) NL_TRY(add_bound(w, call, spec->stop_kind == NL_BOUND_PRECEDING, spec->stop_offset, exprs, &call->stop_bound));
    return NULL;
}

static nl_status plan_calls(nl_window *w, nl_list *exprs)
{
    const nl_logical *node = w->node;
    w->call_count = node->window.expr_count;
    w->calls = NL_NEW_ARRAY(w->exec->arena, nl_window_call, w->call_count);
    for (uint32_t c = 0; c < w->call_count; c++) {
        const nl_expr *expr = node->window.exprs[c];
        nl_window_call *call = &w->calls[c];
        if (expr->is_distinct || expr->filter)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "DISTINCT and FILTER are not supported in window functions.");
        *call = (nl_window_call){.expr = expr, .function = expr->call, .spec = expr->window, .argument_first = exprs->count,
                                 .argument_count = expr->child_count, .order_key = -1, .start_bound = -1, .stop_bound = -1};
        for (uint32_t i = 0; i < expr->child_count; i++) {
            const nl_expr *argument = NULL;
            NL_TRY(nl_resolve_subqueries(w->exec, expr->children[i], &argument));
            nl_list_add(w->exec->arena, exprs, NL_UNCONST(argument));
        }
        NL_TRY(plan_frame(w, call, exprs));
    }
    return NULL;
}

static nl_status new_sorter(nl_window *w, nl_metric *metric)
{
    nl_exec *exec = w->exec;
    const nl_logical *child = w->node->children[0];
    const nl_window_spec *spec = w->calls[0].spec;
    nl_sort_key *keys = NL_NEW_ARRAY(exec->arena, nl_sort_key, spec->partition_count + spec->order_count);
    for (uint32_t i = 0; i < spec->partition_count; i++)
        keys[i] = (nl_sort_key){.expr = spec->partition_by[i], .nulls_first = true};
    for (uint32_t i = 0; i < spec->order_count; i++)
        keys[spec->partition_count + i] = spec->order_by[i];
    nl_sorter_plan plan = {.columns = child->columns, .column_count = child->column_count, .keys = keys,
                           .key_count = spec->partition_count + spec->order_count, .partition_count = spec->partition_count,
                           .is_one_range = spec->partition_count == 0, .keep = INT64_MAX, .metric = metric};
    return nl_sorter_new(exec, &plan, &w->sorter);
}

/* The node with its uncorrelated subqueries answered: in keys and bounds as in arguments. */
static nl_status answer_subqueries(nl_exec *exec, const nl_logical *node, const nl_logical **answered)
{
    nl_logical *copy = NL_NEW(exec->arena, nl_logical);
    const nl_expr **exprs = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->window.expr_count + 1);
    for (uint32_t i = 0; i < node->window.expr_count; i++) NL_TRY(nl_resolve_subqueries(exec, node->window.exprs[i], &exprs[i]));
    *copy = *node;
    copy->window.exprs = exprs;
    *answered = copy;
    return NULL;
}

nl_status nl_build_window(nl_exec *exec, const nl_logical *node, nl_pipeline **out)
{
    nl_pipeline *input = NULL;
    NL_TRY(nl_build(exec, node->children[0], &input));
    if (node->window.expr_count == 0) {
        *out = input;
        return NULL;
    }
    nl_window *w = NL_NEW(exec->arena, nl_window);
    w->exec = exec;
    NL_TRY(answer_subqueries(exec, node, &w->node));
    w->programs.exec = exec;
    nl_list exprs = {0};
    NL_TRY(plan_calls(w, &exprs));
    w->column_count = node->children[0]->column_count;
    w->column_types = nl_column_types(exec->arena, node->children[0]->columns, w->column_count);
    w->output_count = exprs.count;
    NL_TRY(nl_window_large_plan(w, &w->can_be_large));
    NL_TRY(nl_programs_init(&w->programs, exec, (const nl_expr *const *)(void *)exprs.items, exprs.count, node->children[0]->columns,
                            node->children[0]->column_count));
    sort_operator *sort = NL_NEW(exec->arena, sort_operator);
    nl_operator_init(&sort->base, &sort_ops, exec, node, "sorting");
    sort->window = w;
    w->metric = sort->base.metric;
    NL_TRY(new_sorter(w, sort->base.metric));
    nl_pipeline_append(input, &sort->base);
    nl_exec_add_pipeline(exec, input);
    window_source *source = NL_NEW(exec->arena, window_source);
    nl_source_init(&source->base, &source_ops, exec, node, "");
    source->window = w;
    source->readers = NL_NEW_ARRAY(exec->arena, window_reader, exec->worker_count);
    *out = nl_pipeline_new(exec, &source->base);
    return NULL;
}
