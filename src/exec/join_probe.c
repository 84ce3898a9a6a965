/* exec/join_probe.c - probing: candidates by hash, keys compared, pairs checked and output, in the probe rows' order.
 *
 * Pairs (probe row, build row) are collected per batch. Chains are walked in rounds over all candidates; afterwards the
 * pairs are put in the order of the probe rows. A batch with very many pairs is output in several goes.
 */
#include "exec/join.h"

#include <stdlib.h>

#include "base/hash.h"

#define TAG_SHIFT     48
#define PAIRS_MIN     16384u
#define ADDRESS_MASK  ((1ull << TAG_SHIFT) - 1)

typedef struct probe_operator {
    nl_operator base;
    nl_join *join;
} probe_operator;

/* One batch being probed. */
typedef struct probe_run {
    nl_join *join;
    nl_worker *worker;
    nl_join_worker *own;
    const nl_join_table *table;
    nl_batch *batch;
    nl_selection selection; /* rows that take part */
    const nl_vector *keys;  /* encoded */
    const nl_join_pass *pass; /* or NULL */
    bool is_ordered;        /* pairs so far came in the order of the probe rows */
} probe_run;

nl_status nl_join_scratch(nl_join_worker *own, nl_memory *memory, uint32_t rows, uint32_t pair_rows)
{
    if (rows > own->scratch_rows) {
        nl_buffer *buffer = NULL;
        size_t row_bytes = sizeof(uint64_t) + sizeof(uint8_t *) + 3 * sizeof(uint32_t) + 1;
        NL_TRY(nl_buffer_new(memory, row_bytes * rows, false, &buffer));
        nl_buffer_release(own->scratch);
        own->scratch = buffer;
        own->scratch_rows = rows;
        own->hashes = (uint64_t *)(void *)buffer->data;
        own->pointers = (uint8_t **)(void *)(own->hashes + rows);
        own->batch_rows = (uint32_t *)(void *)(own->pointers + rows);
        own->candidates = own->batch_rows + rows;
        own->failed = own->candidates + rows;
        own->matched = (uint8_t *)(own->failed + rows);
    }
    if (pair_rows > own->pair_capacity) {
        uint32_t capacity = NL_MAX(pair_rows, PAIRS_MIN);
        free(own->pair_rows);
        free(own->pair_pointers);
        free(own->sorted_rows);
        free(own->sorted_pointers);
        own->pair_rows = malloc(sizeof(uint32_t) * capacity);
        own->pair_pointers = malloc(sizeof(uint8_t *) * capacity);
        own->sorted_rows = malloc(sizeof(uint32_t) * capacity);
        own->sorted_pointers = malloc(sizeof(uint8_t *) * capacity);
        own->pair_capacity = capacity;
        if (!own->pair_rows || !own->pair_pointers || !own->sorted_rows || !own->sorted_pointers) {
            own->pair_capacity = 0;
            return nl_out_of_memory(sizeof(uint8_t *) * capacity);
        }
    }
    return NULL;
}

/* Columns of the right side for some build rows. wanted: which ones; others become nulls. */
static nl_status gather_right(const nl_join *join, uint8_t *const *rows, uint32_t count, nl_heap *heap, const bool *wanted, nl_vector *columns)
{
    nl_memory *memory = join->exec->query->memory;
    for (uint32_t i = 0; i < join->right_count; i++) {
        if (!wanted[i])
            NL_TRY(nl_vector_new_null(&columns[i], join->right[i].type, count, memory));
        else
            NL_TRY(nl_rows_gather(&join->layout, join->right_to_layout[i], 1, rows, count, heap, memory, &columns[i]));
    }
    return NULL;
}

static nl_status take_left(const nl_join *join, const nl_batch *batch, const uint32_t *rows, uint32_t count, const bool *wanted, nl_vector *columns)
{
    nl_memory *memory = join->exec->query->memory;
    bool is_identity = count == batch->row_count;
    for (uint32_t i = 0; i < count && is_identity; i++)
        is_identity = rows[i] == i;
    for (uint32_t i = 0; i < join->left_count; i++) {
        if (!wanted[i])
            NL_TRY(nl_vector_new_null(&columns[i], join->left[i].type, count, memory));
        else if (is_identity)
            nl_vector_ref(&batch->columns[i], &columns[i]);
        else
            NL_TRY(nl_vector_take(&batch->columns[i], rows, count, memory, &columns[i]));
    }
    return NULL;
}

/* Drops the pairs for which the residual condition is not true. */
static nl_status check_residual(probe_run *run)
{
    nl_join *join = run->join;
    nl_join_worker *own = run->own;
    uint32_t kept = 0;
    uint32_t step = NL_MAX(nl_exec_batch_rows(join->exec), 256u);
    for (uint32_t start = 0; start < own->pair_count; start += step) {
        uint32_t count = NL_MIN(step, own->pair_count - start);
        nl_batch pairs = {0};
        nl_status status = nl_batch_init(&pairs, join->left_count + join->right_count, count);
        if (!status) status = take_left(join, run->batch, own->pair_rows + start, count, join->is_residual_left, pairs.columns);
        if (!status)
            status = gather_right(join, own->pair_pointers + start, count, run->table->heap, join->is_residual_right, pairs.columns + join->left_count);
        if (!status) status = nl_programs_filter(&join->residual, run->worker->index, &pairs);
        nl_selection selection = nl_batch_selection(&pairs);
        for (uint32_t i = 0; i < selection.count && !status; i++, kept++) {
            uint32_t at = start + nl_selection_row(selection, i);
            own->pair_rows[kept] = own->pair_rows[at];
            own->pair_pointers[kept] = own->pair_pointers[at];
        }
        nl_batch_fini(&pairs);
        if (status) return status;
    }
    own->pair_count = kept;
    return NULL;
}

/* A stable counting sort of the pairs by probe row. */
static nl_status order_pairs(probe_run *run)
{
    nl_join_worker *own = run->own;
    uint32_t row_count = run->batch->row_count;
    uint32_t *ends = calloc((size_t)row_count + 1, sizeof *ends);
    if (!ends) return nl_out_of_memory(row_count * sizeof *ends);
    for (uint32_t i = 0; i < own->pair_count; i++)
        ends[own->pair_rows[i] + 1]++;
    for (uint32_t row = 0; row < row_count; row++)
        ends[row + 1] += ends[row];
    for (uint32_t i = 0; i < own->pair_count; i++) {
        uint32_t at = ends[own->pair_rows[i]]++;
        own->sorted_rows[at] = own->pair_rows[i];
        own->sorted_pointers[at] = own->pair_pointers[i];
    }
    free(ends);
    uint32_t *rows = own->pair_rows;
    uint8_t **pointers = own->pair_pointers;
    own->pair_rows = own->sorted_rows;
    own->pair_pointers = own->sorted_pointers;
    own->sorted_rows = rows;
    own->sorted_pointers = pointers;
    return NULL;
}

static nl_status output_pairs(probe_run *run)
{
    nl_join *join = run->join;
    nl_join_worker *own = run->own;
    if (!run->is_ordered) NL_TRY(order_pairs(run));
    uint32_t step = nl_exec_batch_rows(join->exec);
    for (uint32_t start = 0; start < own->pair_count; start += step) {
        uint32_t count = NL_MIN(step, own->pair_count - start);
        nl_batch out = {0};
        nl_status status = nl_batch_init(&out, join->left_count + join->right_count, count);
        if (!status) status = take_left(join, run->batch, own->pair_rows + start, count, join->is_wanted_left, out.columns);
        if (!status) status = gather_right(join, own->pair_pointers + start, count, run->table->heap, join->is_wanted_right, out.columns + join->left_count);
        if (!status) status = nl_push(join->probe->next, run->worker, &out);
        nl_batch_fini(&out);
        if (status) return status;
    }
    return NULL;
}

/* Checks what was collected, and outputs it when pairs are the output. The rest of the batch may follow. */
static nl_status flush_pairs(probe_run *run, bool is_last)
{
    nl_join *join = run->join;
    nl_join_worker *own = run->own;
    NL_TRY(nl_cancel_check(join->exec->query->cancel)); /* one batch may have very many pairs */
    if (join->has_residual && own->pair_count) NL_TRY(check_residual(run));
    const bool asks_matched = join->node->join.is_single || (join->kind != NL_JOIN_INNER && join->kind != NL_JOIN_RIGHT && join->kind != NL_JOIN_CROSS);
    for (uint32_t i = 0; asks_matched && i < own->pair_count; i++) {
        if (join->node->join.is_single && own->matched[own->pair_rows[i]]) return NL_RAISE(SCALAR_SUBQUERY_TOO_MANY_ROWS);
        own->matched[own->pair_rows[i]] = 1;
    }
    for (uint32_t i = 0; nl_join_keeps_right(join) && i < own->pair_count; i++)
        __atomic_store_n(&nl_join_header_of(own->pair_pointers[i])->matched, 1, __ATOMIC_RELAXED);
    bool is_known = is_last && (!run->pass || run->pass->is_last);
    if (is_known && (join->kind == NL_JOIN_LEFT || join->kind == NL_JOIN_FULL)) {
        bool has_room = own->pair_count + run->selection.count <= own->pair_capacity;
        if (!has_room && own->pair_count) NL_TRY(output_pairs(run));
        if (!has_room) own->pair_count = 0;
        for (uint32_t i = 0; i < run->selection.count; i++) {
            uint32_t row = nl_selection_row(run->selection, i);
            own->pair_rows[own->pair_count] = row;
            own->pair_pointers[own->pair_count] = NULL;
            own->pair_count += !own->matched[row];
        }
        run->is_ordered = false;
    }
    if (nl_join_gives_pairs(join) && own->pair_count) NL_TRY(output_pairs(run));
    own->pair_count = 0;
    return NULL;
}

static nl_status add_pair(probe_run *run, uint32_t row, uint8_t *pointer)
{
    nl_join_worker *own = run->own;
    if (own->pair_count == own->pair_capacity) NL_TRY(flush_pairs(run, false));
    own->pair_rows[own->pair_count] = row;
    own->pair_pointers[own->pair_count++] = pointer;
    return NULL;
}

static bool is_null_key(const nl_join *join, const nl_vector *keys, uint32_t row)
{
    for (uint32_t k = 0; k < join->key_count; k++)
        if (!join->is_null_safe[k] && nl_vector_is_null(&keys[k], row)) return true;
    return false;
}

/* The chains that may hold each row's key: candidates and their first build rows. */
static uint32_t find_chains(probe_run *run)
{
    const nl_join *join = run->join;
    nl_join_worker *own = run->own;
    const uint64_t *directory = (const uint64_t *)(const void *)run->table->directory->data;
    uint32_t shift = run->table->shift;
    bool may_be_null = false;
    for (uint32_t k = 0; k < join->key_count; k++)
        may_be_null = may_be_null || (!join->is_null_safe[k] && (run->keys[k].validity || run->keys[k].type->id == NL_TYPE_NULL));
    for (uint32_t i = 0; i < run->selection.count; i++) {
        own->batch_rows[i] = nl_selection_row(run->selection, i);
        __builtin_prefetch(&directory[own->hashes[own->batch_rows[i]] >> shift]);
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < run->selection.count; i++) {
        uint64_t hash = own->hashes[own->batch_rows[i]];
        uint64_t entry = directory[hash >> shift];
        uint8_t *row = (uint8_t *)(uintptr_t)(entry & ADDRESS_MASK);
        __builtin_prefetch(row);
        own->pointers[i] = row;
        own->candidates[count] = i;
        count += (uint32_t)(entry >> (TAG_SHIFT + (hash & 15)) & 1);
    }
    if (!may_be_null) return count;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        own->candidates[kept] = own->candidates[k];
        kept += !is_null_key(join, run->keys, own->batch_rows[own->candidates[k]]);
    }
    return kept;
}

/* One flat 4- or 8-byte integer key: compared without looking at the hash. Moves equal candidates to the front. */
#define MATCH_INTEGERS(name, T)                                                                          \
    static uint32_t name(const probe_run *run, uint32_t count, uint32_t *matches)                        \
    {                                                                                                    \
        const nl_join_worker *own = run->own;                                                            \
        const T *values = run->keys[0].values;                                                           \
        uint32_t offset = run->join->layout.columns[0].offset;                                           \
        uint32_t match_count = 0;                                                                        \
        for (uint32_t k = 0; k < count; k++) {                                                           \
            uint32_t i = own->candidates[k];                                                             \
            matches[match_count] = i;                                                                    \
            match_count += *(const T *)(const void *)(own->pointers[i] + offset) == values[own->batch_rows[i]]; \
        }                                                                                                \
        return match_count;                                                                              \
    }
MATCH_INTEGERS(match_i32, int32_t)
MATCH_INTEGERS(match_i64, int64_t)

/* The candidates whose build row has the key, into own->failed (used as the list of matches). */
static uint32_t match_candidates(probe_run *run, uint32_t count)
{
    nl_join_worker *own = run->own;
    const nl_join *join = run->join;
    bool is_plain = join->key_count == 1 && !join->is_null_safe[0] && run->keys[0].encoding == NL_FLAT;
    if (is_plain && join->layout.columns[0].physical == NL_PHYS_I64) return match_i64(run, count, own->failed);
    if (is_plain && join->layout.columns[0].physical == NL_PHYS_I32) return match_i32(run, count, own->failed);
    uint32_t match_count = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = own->candidates[k];
        own->failed[match_count] = i;
        match_count += nl_join_header_of(own->pointers[i])->hash == own->hashes[own->batch_rows[i]];
    }
    uint32_t *lost = own->sorted_rows; /* free between flushes, and larger than a batch */
    uint32_t lost_count = 0;
    return nl_rows_match(&join->layout, run->keys, join->key_count, own->batch_rows, own->pointers, own->failed, match_count, lost, &lost_count);
}

/* The candidates that have another row in their chain; those that need no more matches end. */
static uint32_t advance(probe_run *run, uint32_t count, bool first_is_enough)
{
    nl_join_worker *own = run->own;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t i = own->candidates[k];
        uint8_t *next = nl_join_header_of(own->pointers[i])->next;
        own->pointers[i] = next;
        if (next) __builtin_prefetch(next);
        own->candidates[kept] = i;
        kept += next && !(first_is_enough && own->matched[own->batch_rows[i]]);
    }
    return kept;
}

static nl_status probe_chains(probe_run *run)
{
    const nl_join *join = run->join;
    nl_join_worker *own = run->own;
    bool first_is_enough = !nl_join_gives_right(join) && !join->has_residual;
    uint32_t rounds = 0;
    for (uint32_t count = find_chains(run); count > 0;) {
        uint32_t match_count = match_candidates(run, count);
        if (match_count && rounds++ > 0) run->is_ordered = false;
        for (uint32_t k = 0; k < match_count; k++) {
            uint32_t i = own->failed[k];
            if (first_is_enough)
                own->matched[own->batch_rows[i]] = 1;
            else if (!join->builds_left || !__atomic_load_n(&nl_join_header_of(own->pointers[i])->matched, __ATOMIC_RELAXED))
                NL_TRY(add_pair(run, own->batch_rows[i], own->pointers[i]));
        }
        count = advance(run, count, first_is_enough);
    }
    return flush_pairs(run, true);
}

/* Chains that hold just the key's rows: pairs come in the probe rows' order. */
static nl_status probe_direct(probe_run *run)
{
    const nl_join *join = run->join;
    nl_join_worker *own = run->own;
    uint32_t *ranks = own->failed;
    const uint32_t count = nl_join_direct_find(join, run->table, &run->keys[0], run->selection, own->batch_rows, ranks);
    if (!nl_join_gives_right(join) && !join->has_residual) {
        for (uint32_t k = 0; k < count; k++)
            own->matched[own->batch_rows[k]] = 1;
        return flush_pairs(run, true);
    }
    for (uint32_t k = 0; k < count; k++)
        __builtin_prefetch(&run->table->heads[ranks[k]]);
    for (uint32_t k = 0; k < count; k++) {
        own->pointers[k] = run->table->heads[ranks[k]];
        __builtin_prefetch(own->pointers[k]);
    }
    if (run->table->is_unique && !join->builds_left) { /* fewer than there is room for: a batch's rows */
        memcpy(own->pair_rows, own->batch_rows, sizeof(uint32_t) * count);
        memcpy(own->pair_pointers, own->pointers, sizeof(uint8_t *) * count);
        own->pair_count = count;
        return flush_pairs(run, true);
    }
    for (uint32_t k = 0; k < count; k++)
        for (uint8_t *row = own->pointers[k]; row; row = nl_join_header_of(row)->next)
            if (!join->builds_left || !__atomic_load_n(&nl_join_header_of(row)->matched, __ATOMIC_RELAXED)) NL_TRY(add_pair(run, own->batch_rows[k], row));
    return flush_pairs(run, true);
}

/* Without keys: everything with everything. */
static nl_status probe_all(probe_run *run)
{
    const nl_join *join = run->join;
    nl_join_worker *own = run->own;
    const nl_join_table *table = run->table;
    bool first_is_enough = !nl_join_gives_right(join);
    for (uint32_t i = 0; i < run->selection.count; i++) {
        uint32_t row = nl_selection_row(run->selection, i);
        NL_TRY(nl_cancel_check(join->exec->query->cancel));
        if (first_is_enough && !join->has_residual) {
            own->matched[row] |= table->row_count > 0;
            continue;
        }
        for (uint64_t k = 0; k < table->row_count; k++) {
            if (first_is_enough && own->matched[row]) break; /* a flush has found one */
            NL_TRY(add_pair(run, row, table->all_rows[k]));
        }
        if (atomic_load_explicit(&run->worker->pipeline->is_stopped, memory_order_relaxed)) return NULL;
    }
    return flush_pairs(run, true);
}

/* SEMI, ANTI: the batch narrowed to the rows with, or without, a match. */
static nl_status output_selection(probe_run *run, bool wanted)
{
    nl_join *join = run->join;
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(join->exec->query->memory, sizeof(uint32_t) * ((size_t)run->selection.count + 1), false, &buffer));
    uint32_t *rows = (uint32_t *)(void *)buffer->data;
    uint32_t count = 0;
    bool is_null_aware = join->kind == NL_JOIN_NULL_AWARE_ANTI && (join->build_rows > 0 || join->has_null_key); /* null keys are not built */
    for (uint32_t i = 0; i < run->selection.count && !(is_null_aware && join->has_null_key); i++) {
        uint32_t row = nl_selection_row(run->selection, i);
        rows[count] = row;
        count += run->own->matched[row] == wanted && !(is_null_aware && is_null_key(join, run->keys, row));
    }
    nl_batch out = {0};
    nl_status status = nl_batch_ref(run->batch, &out);
    nl_buffer_release(out.selection);
    out.selection = buffer;
    out.is_selective = true;
    out.selected_count = count;
    if (!status && count < out.row_count / 4) status = nl_batch_compact(&out, join->exec->query->memory);
    if (!status) status = nl_push(join->probe->next, run->worker, &out);
    nl_batch_fini(&out);
    return status;
}

static nl_status make_marks(const probe_run *run, nl_vector *marks)
{
    const nl_join *join = run->join;
    nl_memory *memory = join->exec->query->memory;
    NL_TRY(nl_vector_new_flat(marks, nl_type_boolean(), run->batch->row_count, memory));
    uint8_t *values = nl_vector_values(marks);
    uint8_t *bits = NULL;
    if (join->is_null_aware && (join->build_rows > 0 || join->has_null_key)) NL_TRY(nl_vector_make_validity(marks, memory, &bits));
    for (uint32_t i = 0; i < run->selection.count; i++) {
        uint32_t row = nl_selection_row(run->selection, i);
        values[row] = run->own->matched[row];
        if (bits && !values[row] && (join->has_null_key || is_null_key(join, run->keys, row))) nl_bit_clear(bits, row);
    }
    if (bits) marks->null_count = UINT32_MAX;
    return NULL;
}

static nl_status output_marks(probe_run *run)
{
    nl_join *join = run->join;
    nl_batch out = {0};
    nl_status status = nl_batch_init(&out, join->left_count + 1, run->batch->row_count);
    for (uint32_t i = 0; i < join->left_count && !status; i++)
        nl_vector_ref(&run->batch->columns[i], &out.columns[i]);
    if (!status) status = make_marks(run, &out.columns[join->left_count]);
    nl_buffer *buffer = NULL;
    if (!status && run->selection.rows) status = nl_buffer_new(join->exec->query->memory, sizeof(uint32_t) * ((size_t)run->selection.count + 1), false, &buffer);
    if (buffer) {
        memcpy(buffer->data, run->selection.rows, sizeof(uint32_t) * run->selection.count);
        out.selection = buffer;
        out.is_selective = true;
        out.selected_count = run->selection.count;
    }
    if (!status) status = nl_push(join->probe->next, run->worker, &out);
    nl_batch_fini(&out);
    return status;
}

static nl_status probe_rows(probe_run *run)
{
    nl_join *join = run->join;
    uint8_t *kept = run->pass ? run->pass->matched : NULL;
    if (kept)
        memcpy(run->own->matched, kept, run->batch->row_count);
    else
        memset(run->own->matched, 0, run->batch->row_count);
    run->own->pair_count = 0;
    run->is_ordered = true;
    NL_TRY(run->table->direct ? probe_direct(run) : join->key_count ? probe_chains(run) : probe_all(run));
    if (kept) memcpy(kept, run->own->matched, run->batch->row_count);
    if (run->pass && !run->pass->is_last) return NULL;
    switch (join->kind) {
    case NL_JOIN_SEMI: return output_selection(run, true);
    case NL_JOIN_ANTI:
    case NL_JOIN_NULL_AWARE_ANTI: return output_selection(run, false);
    case NL_JOIN_MARK: return output_marks(run);
    case NL_JOIN_INNER:
    case NL_JOIN_LEFT:
    case NL_JOIN_RIGHT:
    case NL_JOIN_FULL:
    case NL_JOIN_CROSS: break; /* flush_pairs has put them out */
    }
    return NULL;
}

/* Rows whose partition is on disk go to its probe file; the others are left in rows[]. */
static nl_status spill_probe_rows(probe_run *run, uint32_t *rows, uint32_t *count)
{
    nl_join *join = run->join;
    nl_join_worker *own = run->own;
    nl_exec *exec = join->exec;
    uint32_t *leaving = rows + run->selection.count + 1;
    for (uint32_t part = 0; part <= NL_JOIN_PARTS; part++) {
        bool stays = part == NL_JOIN_PARTS;
        if (!stays && !atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed)) continue;
        uint32_t n = 0;
        for (uint32_t i = 0; i < run->selection.count; i++) {
            uint32_t row = nl_selection_row(run->selection, i);
            uint32_t own_part = (uint32_t)(own->hashes[row] >> (64 - NL_JOIN_PARTS_BITS));
            bool is_away = !is_null_key(join, run->keys, row) && atomic_load_explicit(&join->is_spilled[own_part], memory_order_relaxed);
            (stays ? rows : leaving)[n] = row;
            n += stays ? !is_away : is_away && own_part == part;
        }
        if (stays) {
            *count = n;
        } else if (n > 0) {
            nl_spill **spill = &own->probe_spills[part];
            if (!*spill) NL_TRY(nl_spill_new(exec->query->spill_directory, join->left_types, join->left_count, spill));
            nl_buffer view = {.data = (uint8_t *)leaving};
            nl_batch batch = {.columns = run->batch->columns, .column_count = join->left_count, .row_count = run->batch->row_count,
                              .is_selective = true, .selected_count = n, .selection = &view};
            uint64_t before = nl_spill_bytes(*spill);
            NL_TRY(nl_spill_write(*spill, &batch, exec->query->memory));
            nl_metric_add_spilled(join->build_metric, nl_spill_bytes(*spill) - before);
        }
    }
    return NULL;
}

static nl_status run_batch(probe_run *run, nl_vector *keys)
{
    nl_join *join = run->join;
    nl_memory *memory = join->exec->query->memory;
    nl_batch *batch = run->batch;
    nl_buffer *kept = NULL;
    nl_status status = NULL;
    NL_GO(nl_join_scratch(run->own, memory, batch->row_count, NL_MAX(2 * batch->row_count, PAIRS_MIN)));
    for (uint32_t k = 0; k < join->key_count; k++) {
        if (!run->table->direct) NL_GO(nl_vector_hash(&keys[k], batch->row_count, k > 0, run->own->hashes));
        if (!nl_type_is_encoded(keys[k].type)) continue;
        nl_vector encoded = {0};
        NL_GO(nl_nested_encode(&keys[k], run->selection, true, memory, &encoded));
        nl_vector_fini(&keys[k]);
        nl_vector_move(&encoded, &keys[k]);
    }
    if (join->key_count == 0) memset(run->own->hashes, 0, sizeof(uint64_t) * batch->row_count);
    if (!run->pass && atomic_load_explicit(&join->any_spilled, memory_order_relaxed)) {
        uint32_t count = 0;
        NL_GO(nl_buffer_new(memory, sizeof(uint32_t) * 2 * ((size_t)run->selection.count + 1), false, &kept));
        uint32_t *rows = (uint32_t *)(void *)kept->data;
        NL_GO(spill_probe_rows(run, rows, &count));
        run->selection = (nl_selection){rows, count};
    }
    if (run->selection.count > 0) NL_GO(probe_rows(run));
done:
    nl_buffer_release(kept);
    return status;
}

nl_status nl_join_probe_batch(nl_join *join, nl_worker *worker, const nl_join_table *table, nl_batch *batch, const nl_join_pass *pass)
{
    nl_vector *keys = calloc((size_t)join->key_count + 1, sizeof *keys);
    if (!keys) return nl_out_of_memory(join->key_count * sizeof *keys);
    probe_run run = {.join = join, .worker = worker, .own = &join->workers[worker->index], .table = table, .batch = batch,
                     .selection = nl_batch_selection(batch), .keys = keys, .pass = pass};
    nl_status status = nl_programs_run(&join->probe_keys, worker->index, batch, keys);
    if (!status) status = run_batch(&run, keys);
    for (uint32_t k = 0; k < join->key_count; k++)
        nl_vector_fini(&keys[k]);
    free(keys);
    return status;
}

nl_status nl_join_output_unmatched(nl_join *join, uint8_t *const *rows, uint32_t count, const nl_join_table *table, nl_batch *out)
{
    uint32_t left_count = join->builds_left ? 0 : join->left_count;
    NL_TRY(nl_batch_init(out, left_count + join->right_count, count));
    for (uint32_t i = 0; i < left_count; i++)
        NL_TRY(nl_vector_new_null(&out->columns[i], join->left[i].type, count, join->exec->query->memory));
    return gather_right(join, rows, count, table->heap, join->is_wanted_right, out->columns + left_count);
}

static nl_status probe_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    nl_join *join = NL_CONTAINER(self, probe_operator, base)->join;
    return nl_join_probe_batch(join, worker, &join->table, batch, NULL);
}

static const nl_operator_ops probe_ops = {.name = "join probe", .push = probe_push};

nl_operator *nl_join_probe_operator(nl_join *join)
{
    probe_operator *operator = NL_NEW(join->exec->arena, probe_operator);
    nl_operator_init(&operator->base, &probe_ops, join->exec, join->node, "");
    operator->join = join;
    join->probe = &operator->base;
    return &operator->base;
}
