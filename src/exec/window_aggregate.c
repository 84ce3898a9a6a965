/* exec/window_aggregate.c - aggregates over frames.
 *
 * One state when all frames are the whole partition; one growing state when frames start at the first row, begun anew in
 * each partition; adding and taking out when the aggregate can do that exactly; short frames are computed one by one; long ones from a tree of
 * partial results (Leis and others, "Efficient Processing of Window Functions in Analytical SQL Queries", 2015).
 */
#include "exec/window.h"

#include <stdlib.h>

#include "column/value.h"

#define SHORT_FRAME_ROWS 48u /* mean length up to which frames are computed from their rows */
#define FAN_OUT          16u
#define LEVELS_MAX       9u  /* 16^8 rows */

typedef struct frames_run {
    const nl_window_call *call;
    nl_eval *eval;
    const nl_window_rows *rows;
    const nl_aggregate_ops *ops;
    const nl_vector *arguments;
    size_t state_bytes;  /* a multiple of 16 */
    uint8_t *states;     /* state_count of them, initialised */
    uint32_t state_count;
    void **pointers;     /* scratch */
    uint32_t pointer_capacity;
    uint32_t chunk_rows;
    nl_column_builder *singles; /* results of states that own memory: each is finished at once */
    nl_vector *parts;    /* finished chunks */
    uint32_t part_count, part_capacity;
} frames_run;

static nl_status make_states(frames_run *run, uint32_t count)
{
    run->states = aligned_alloc(64, (run->state_bytes * count + 63) / 64 * 64);
    run->pointers = malloc(sizeof(void *) * count);
    if (!run->states || !run->pointers) return nl_out_of_memory(run->state_bytes * count);
    run->pointer_capacity = count;
    memset(run->states, 0, run->state_bytes * count);
    for (uint32_t i = 0; i < count; i++)
        if (run->ops->init) run->ops->init(run->call->function, run->states + i * run->state_bytes);
    run->state_count = count;
    return NULL;
}

static void end_states(frames_run *run)
{
    for (uint32_t i = 0; run->ops->destroy && i < run->state_count; i++)
        run->ops->destroy(run->call->function, run->eval, run->states + i * run->state_bytes);
    free(run->states);
    free(run->pointers);
    run->states = NULL;
    run->pointers = NULL;
    run->state_count = 0;
}

static nl_status new_part(frames_run *run, nl_vector **part)
{
    if (run->part_count == run->part_capacity) {
        uint32_t capacity = NL_MAX(16u, run->part_capacity * 2);
        nl_vector *grown = realloc(run->parts, capacity * sizeof *grown);
        if (!grown) return nl_out_of_memory(capacity * sizeof *grown);
        run->parts = grown;
        run->part_capacity = capacity;
    }
    *part = &run->parts[run->part_count++];
    **part = (nl_vector){0};
    return NULL;
}

/* Results of the first `count` states as the next part. */
static nl_status finish_states(frames_run *run, uint32_t count)
{
    nl_vector *part = NULL;
    NL_TRY(nl_cancel_check(run->rows->cancel));
    NL_TRY(new_part(run, &part));
    for (uint32_t i = 0; i < count; i++)
        run->pointers[i] = run->states + i * run->state_bytes;
    return run->ops->finish(run->call->function, run->eval, run->pointers, count, part);
}

static nl_status finish_single(frames_run *run)
{
    nl_vector result = {0};
    run->pointers[0] = run->states;
    nl_status status = run->ops->finish(run->call->function, run->eval, run->pointers, 1, &result);
    if (!status) status = nl_column_builder_row(run->singles, &result, 0);
    nl_vector_fini(&result);
    return status;
}

static nl_status join_parts(frames_run *run, nl_vector *out)
{
    if (run->part_count == 1) {
        nl_vector_move(&run->parts[0], out);
        return NULL;
    }
    const nl_vector **list = malloc(sizeof *list * ((size_t)run->part_count + 1));
    if (!list) return nl_out_of_memory(sizeof *list * run->part_count);
    for (uint32_t i = 0; i < run->part_count; i++)
        list[i] = &run->parts[i];
    nl_status status = nl_vector_concat(list, run->part_count, run->eval->memory, out);
    free(list);
    return status;
}

static nl_status add_rows(frames_run *run, uint32_t start, uint32_t stop, void *state)
{
    if (start >= stop) return NULL;
    nl_selection selection = {run->rows->numbers + start, stop - start};
    return run->ops->update_one(run->call->function, run->eval, run->arguments, selection, state);
}

/* Results computed once per group of equal frames: rows[i] says which result row i has. */
static nl_status spread(frames_run *run, const uint32_t *result_of, nl_vector *out)
{
    nl_vector joined = {0};
    nl_status status = join_parts(run, &joined);
    if (!status) status = nl_vector_take(&joined, result_of, run->rows->row_count, run->eval->memory, out);
    nl_vector_fini(&joined);
    return status;
}

static void begin_anew(frames_run *run, void *state)
{
    if (run->ops->destroy) run->ops->destroy(run->call->function, run->eval, state);
    memset(state, 0, run->state_bytes);
    if (run->ops->init) run->ops->init(run->call->function, state);
}

/* Frames whose ends only move forward. The state moves along; copies of it are finished in chunks when it owns
 * nothing, else each result is finished at once. */
static nl_status sliding(frames_run *run, nl_vector *out)
{
    const nl_window_rows *rows = run->rows;
    bool owns_memory = run->ops->destroy != NULL;
    uint32_t *result_of = malloc(sizeof *result_of * ((size_t)rows->row_count + 1));
    if (!result_of) return nl_out_of_memory(sizeof *result_of * rows->row_count);
    nl_status status = NULL;
    uint32_t result_count = 0, pending = 0, start = 0, stop = 0;
    NL_GO(make_states(run, owns_memory ? 1 : run->chunk_rows + 1));
    if (owns_memory) NL_GO(nl_column_builder_new(run->call->function->result_type, run->eval->memory, &run->singles));
    uint8_t *moving = run->states + (owns_memory ? 0 : run->chunk_rows * run->state_bytes);
    for (uint32_t i = 0; i < rows->row_count; i++) {
        uint32_t new_start = rows->frame_start[i], new_stop = rows->frame_stop[i];
        bool is_same = i > 0 && new_start == start && new_stop == stop;
        if (!is_same) {
            if (new_start >= stop && stop > start) { /* nothing in common: the next partition, for instance */
                begin_anew(run, moving);
                start = new_start;
            }
            NL_GO(add_rows(run, NL_MAX(stop, new_start), new_stop, moving));
            if (start < NL_MIN(new_start, stop)) {
                nl_selection gone = {rows->numbers + start, NL_MIN(new_start, stop) - start};
                NL_GO(run->ops->retract(run->call->function, run->eval, run->arguments, gone, moving));
            }
            start = new_start;
            stop = NL_MAX(stop, new_stop);
            if (owns_memory) {
                if (result_count % run->chunk_rows == 0) NL_GO(nl_cancel_check(rows->cancel));
                NL_GO(finish_single(run));
            } else {
                memcpy(run->states + pending++ * run->state_bytes, moving, run->state_bytes);
            }
            if (pending == run->chunk_rows) {
                NL_GO(finish_states(run, pending));
                pending = 0;
            }
            result_count++;
        }
        result_of[i] = result_count - 1;
    }
    if (pending) NL_GO(finish_states(run, pending));
    if (owns_memory) {
        nl_vector *part = NULL;
        NL_GO(new_part(run, &part));
        NL_GO(nl_column_builder_finish(run->singles, part));
    }
    NL_GO(spread(run, result_of, out));
done:
    free(result_of);
    return status;
}

/* Rows (or partial results) to be added to states: pairs in the order of addition. */
typedef struct additions {
    uint32_t *sources, *targets;
    uint32_t count, capacity;
} additions;

static nl_status note_run(additions *list, uint32_t start, uint32_t stop, uint32_t target)
{
    if (list->count + (stop - start) > list->capacity) {
        uint32_t capacity = NL_MAX(list->capacity * 2, list->count + (stop - start) + 1024);
        uint32_t *sources = realloc(list->sources, capacity * sizeof *sources);
        if (sources) list->sources = sources;
        uint32_t *targets = realloc(list->targets, capacity * sizeof *targets);
        if (targets) list->targets = targets;
        if (!sources || !targets) return nl_out_of_memory(capacity * sizeof *sources);
        list->capacity = capacity;
    }
    for (uint32_t i = start; i < stop; i++) {
        list->sources[list->count] = i;
        list->targets[list->count++] = target;
    }
    return NULL;
}

/* partials NULL: rows are updated with; else partial results are merged. */
static nl_status apply(frames_run *run, const additions *list, const nl_vector *partials)
{
    if (list->count == 0) return NULL;
    nl_memory *memory = run->eval->memory;
    const nl_bound_function *function = run->call->function;
    uint32_t column_count = partials ? 1 : run->call->argument_count;
    nl_vector *taken = calloc((size_t)column_count + 1, sizeof *taken);
    void **pointers = malloc(sizeof *pointers * list->count);
    nl_status status = taken && pointers ? NULL : nl_out_of_memory(sizeof *pointers * list->count);
    for (uint32_t i = 0; i < list->count && !status; i++)
        pointers[i] = run->states + list->targets[i] * run->state_bytes;
    for (uint32_t c = 0; c < column_count && !status; c++)
        status = nl_vector_take(partials ? partials : &run->arguments[c], list->sources, list->count, memory, &taken[c]);
    if (!status && partials) status = run->ops->merge_partial(function, run->eval, taken, NL_ALL_ROWS(list->count), pointers);
    if (!status && !partials) status = run->ops->update(function, run->eval, taken, NL_ALL_ROWS(list->count), pointers);
    for (uint32_t c = 0; taken && c < column_count; c++)
        nl_vector_fini(&taken[c]);
    free(taken);
    free(pointers);
    return status;
}

typedef struct tree {
    nl_vector levels[LEVELS_MAX]; /* levels[k]: partials of 16^k rows each; levels[0] is not used */
    uint32_t counts[LEVELS_MAX];
    uint32_t level_count;
} tree;

static nl_status build_level(frames_run *run, tree *t)
{
    uint32_t below = t->level_count - 1;
    uint32_t node_count = t->counts[below] / FAN_OUT;
    nl_status status = NULL;
    additions list = {0};
    nl_vector *level = &t->levels[t->level_count];
    NL_GO(make_states(run, node_count));
    for (uint32_t node = 0; node < node_count; node++)
        NL_GO(note_run(&list, node * FAN_OUT, (node + 1) * FAN_OUT, node));
    NL_GO(apply(run, &list, below ? &t->levels[below] : NULL));
    for (uint32_t i = 0; i < node_count; i++)
        run->pointers[i] = run->states + i * run->state_bytes;
    NL_GO(run->ops->to_partial(run->call->function, run->eval, run->pointers, node_count, level));
    t->counts[t->level_count++] = node_count;
done:
    free(list.sources);
    free(list.targets);
    end_states(run);
    return status;
}

/* A frame as nodes of the tree: left edges going up, then right edges going down, so that order is kept. */
static nl_status note_frame(const tree *t, uint32_t start, uint32_t stop, uint32_t target, additions *left, additions *right)
{
    for (uint32_t level = 0;; level++) {
        bool is_top = level + 1 >= t->level_count || stop - start < 2 * FAN_OUT || stop / FAN_OUT > t->counts[level + 1];
        if (is_top) return note_run(&left[level], start, stop, target);
        uint32_t inner_start = (start + FAN_OUT - 1) / FAN_OUT, inner_stop = stop / FAN_OUT;
        NL_TRY(note_run(&left[level], start, inner_start * FAN_OUT, target));
        NL_TRY(note_run(&right[level], inner_stop * FAN_OUT, stop, target));
        start = inner_start;
        stop = inner_stop;
    }
}

/* Frames of any shape, a chunk of result rows at a time. With an empty tree all come from their rows. */
static nl_status from_tree(frames_run *run, const tree *t)
{
    const nl_window_rows *rows = run->rows;
    additions left[LEVELS_MAX] = {{0}}, right[LEVELS_MAX] = {{0}};
    nl_status status = NULL;
    for (uint32_t first = 0; first < rows->row_count; first += run->chunk_rows) {
        uint32_t count = NL_MIN(run->chunk_rows, rows->row_count - first);
        for (uint32_t level = 0; level < LEVELS_MAX; level++)
            left[level].count = right[level].count = 0;
        NL_GO(make_states(run, count));
        for (uint32_t i = 0; i < count; i++)
            NL_GO(note_frame(t, rows->frame_start[first + i], rows->frame_stop[first + i], i, left, right));
        for (uint32_t level = 0; level < t->level_count; level++)
            NL_GO(apply(run, &left[level], level ? &t->levels[level] : NULL));
        for (uint32_t level = t->level_count; level > 0; level--)
            NL_GO(apply(run, &right[level - 1], level > 1 ? &t->levels[level - 1] : NULL));
        NL_GO(finish_states(run, count));
        end_states(run);
    }
done:
    for (uint32_t level = 0; level < LEVELS_MAX; level++) {
        free(left[level].sources);
        free(left[level].targets);
        free(right[level].sources);
        free(right[level].targets);
    }
    return status;
}

static nl_status any_frames(frames_run *run, bool wants_tree, nl_vector *out)
{
    tree t = {.counts = {run->rows->row_count}, .level_count = 1};
    nl_status status = NULL;
    while (wants_tree && t.counts[t.level_count - 1] >= 2 * FAN_OUT && t.level_count < LEVELS_MAX)
        NL_GO(build_level(run, &t));
    NL_GO(from_tree(run, &t));
    NL_GO(join_parts(run, out));
done:
    for (uint32_t level = 1; level < LEVELS_MAX; level++)
        nl_vector_fini(&t.levels[level]);
    return status;
}

/* Taking a real number out of a sum does not give the sum of the others. */
bool nl_window_can_retract(const nl_window_call *call)
{
    for (uint32_t i = 0; i < call->argument_count && !call->function->aggregate->retracts_reals; i++) {
        nl_type_id id = call->expr->children[i]->type->id;
        if (id == NL_TYPE_FLOAT || id == NL_TYPE_DOUBLE) return false;
    }
    return call->function->aggregate->retract != NULL;
}

nl_status nl_window_aggregate(const nl_window_call *call, nl_eval *eval, const nl_window_rows *rows, uint32_t chunk_rows, nl_vector *out)
{
    frames_run run = {.call = call, .eval = eval, .rows = rows, .ops = call->function->aggregate,
                      .arguments = rows->outputs + call->argument_first, .chunk_rows = chunk_rows,
                      .state_bytes = (call->function->aggregate->state_size(call->function) + 15u) / 16 * 16};
    uint64_t total = 0;
    bool grows = true; /* no row ever leaves a frame, but for all of them at once */
    for (uint32_t i = 0; i < rows->row_count; i++) {
        total += rows->frame_stop[i] - rows->frame_start[i];
        grows = grows && (i == 0 || rows->frame_start[i] == rows->frame_start[i - 1] || rows->frame_start[i] >= rows->frame_stop[i - 1]);
    }
    bool is_short = total <= (uint64_t)SHORT_FRAME_ROWS * rows->row_count;
    nl_status status = grows || nl_window_can_retract(call) ? sliding(&run, out) : any_frames(&run, !is_short, out);
    end_states(&run);
    nl_column_builder_free(run.singles);
    for (uint32_t i = 0; i < run.part_count; i++)
        nl_vector_fini(&run.parts[i]);
    free(run.parts);
    return status;
}
