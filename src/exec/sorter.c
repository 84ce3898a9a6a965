/* exec/sorter.c - collecting rows into sorted runs. */
#include "exec/sorter_private.h"

#include <stdlib.h>

#define RUNS_PER_BUDGET 32u /* a run smaller than this part of the budget is not spilled: others hold the memory */
#define TOP_ROWS_MIN 8192u /* a top-N is cut back when it holds twice its rows, and at least this many */

nl_status nl_sorter_new(nl_exec *exec, const nl_sorter_plan *plan, nl_sorter **out)
{
    nl_sorter *sorter = NL_NEW(exec->arena, nl_sorter);
    sorter->exec = exec;
    sorter->plan = *plan;
    nl_sort_keys_init(&sorter->keys, plan->keys, plan->key_count);
    const nl_type **types = NL_NEW_ARRAY(exec->arena, const nl_type *, plan->column_count + 3);
    for (uint32_t i = 0; i < plan->column_count; i++)
        types[i] = plan->columns[i].type;
    nl_row_layout_init(&sorter->layout, exec->arena, types, plan->column_count, sizeof(nl_sort_header));
    types[plan->column_count] = nl_type_binary();      /* key */
    types[plan->column_count + 1] = nl_type_bigint();  /* sequence */
    types[plan->column_count + 2] = nl_type_int();     /* partition_length */
    sorter->spill_types = types;
    sorter->runs = NL_NEW_ARRAY(exec->arena, nl_sort_run, exec->worker_count);
    for (uint32_t i = 0; i < exec->worker_count; i++)
        nl_row_store_init(&sorter->runs[i].store, exec->query->memory, sorter->layout.row_bytes);
    const nl_expr **exprs = NL_NEW_ARRAY(exec->arena, const nl_expr *, plan->key_count);
    for (uint32_t i = 0; i < plan->key_count; i++) {
        exprs[i] = plan->keys[i].expr;
        NL_TRY(nl_check_bytewise(exprs[i], "Sorting by", exec->query->text));
    }
    NL_TRY(nl_programs_init(&sorter->programs, exec, exprs, plan->key_count, plan->columns, plan->column_count));
    *out = sorter;
    return NULL;
}

static void clear_run(nl_sorter *sorter, nl_sort_run *run)
{
    nl_row_store_clear(&run->store);
    nl_memory_discharge(sorter->exec->query->memory, run->capacity * sizeof *run->entries);
    free(run->entries);
    run->entries = NULL;
    run->count = run->capacity = 0;
    run->has_bound = false;
}

void nl_sorter_fini(nl_sorter *sorter)
{
    if (!sorter) return;
    nl_programs_fini(&sorter->programs);
    for (uint32_t i = 0; i < sorter->exec->worker_count; i++) {
        clear_run(sorter, &sorter->runs[i]);
        nl_spill_free(sorter->runs[i].spill);
        free(sorter->runs[i].stops);
    }
    nl_spill_free(sorter->merged);
    free(sorter->merged_stops);
    free(sorter->bounds);
}

static uint64_t next_capacity(const nl_sort_run *run, uint64_t more)
{
    return NL_MAX(run->capacity * 2, NL_MAX(run->count + more, 64u));
}

static nl_status grow_entries(nl_sorter *sorter, nl_sort_run *run, uint64_t more)
{
    if (run->count + more <= run->capacity) return NULL;
    uint64_t capacity = next_capacity(run, more);
    nl_memory *memory = sorter->exec->query->memory;
    size_t bytes = (capacity - run->capacity) * sizeof *run->entries;
    if (!nl_memory_try_charge(memory, bytes)) return nl_out_of_memory(bytes);
    nl_sort_entry *grown = realloc(run->entries, capacity * sizeof *grown);
    if (!grown) {
        nl_memory_discharge(memory, bytes);
        return nl_out_of_memory(bytes);
    }
    run->entries = grown;
    run->capacity = capacity;
    return NULL;
}

/* Keys as binary, sequence, partition length behind the columns. */
static nl_status add_key_columns(nl_sorter *sorter, const nl_sort_entry *entries, uint32_t count, nl_vector *columns)
{
    nl_memory *memory = sorter->exec->query->memory;
    NL_TRY(nl_vector_new_flat(&columns[0], nl_type_binary(), count, memory));
    NL_TRY(nl_vector_new_flat(&columns[1], nl_type_bigint(), count, memory));
    NL_TRY(nl_vector_new_flat(&columns[2], nl_type_int(), count, memory));
    nl_string_view *keys = nl_vector_values(&columns[0]);
    uint64_t *sequences = nl_vector_values(&columns[1]);
    uint32_t *lengths = nl_vector_values(&columns[2]);
    for (uint32_t i = 0; i < count; i++) {
        const nl_sort_header *header = nl_sort_header_of(&entries[i]);
        uint64_t prefix = __builtin_bswap64(entries[i].prefix);
        const char *key = header->key ? (const char *)header->key : (const char *)&prefix;
        keys[i] = nl_view_of((nl_str){key, header->key_length}); /* short ones are copied into the view */
        sequences[i] = header->sequence;
        lengths[i] = header->partition_length;
    }
    return NULL;
}

nl_status nl_sorter_write(nl_sorter *sorter, const nl_sort_entry *entries, uint64_t count, nl_spill **spill)
{
    nl_exec *exec = sorter->exec;
    uint32_t column_count = sorter->plan.column_count;
    uint32_t batch_rows = nl_exec_batch_rows(exec);
    if (!*spill) NL_TRY(nl_spill_new(exec->query->spill_directory, sorter->spill_types, column_count + 3, spill));
    uint8_t **rows = malloc(sizeof(uint8_t *) * batch_rows);
    if (!rows) return nl_out_of_memory(sizeof(uint8_t *) * batch_rows);
    uint64_t before = nl_spill_bytes(*spill);
    nl_status status = NULL;
    for (uint64_t start = 0; start < count && !status; start += batch_rows) {
        uint32_t part = (uint32_t)NL_MIN((uint64_t)batch_rows, count - start);
        for (uint32_t i = 0; i < part; i++)
            rows[i] = entries[start + i].row;
        nl_batch batch = {0};
        status = nl_cancel_check(exec->query->cancel);
        if (!status) status = nl_batch_init(&batch, column_count + 3, part);
        if (!status) status = nl_rows_gather(&sorter->layout, 0, column_count, rows, part, NULL, exec->query->memory, batch.columns);
        if (!status) status = add_key_columns(sorter, entries + start, part, batch.columns + column_count);
        if (!status) status = nl_spill_write(*spill, &batch, exec->query->memory);
        nl_batch_fini(&batch);
    }
    nl_metric_add_spilled(sorter->plan.metric, nl_spill_bytes(*spill) - before);
    free(rows);
    return status;
}

nl_status nl_sorter_note_run(nl_spill *spill, uint32_t **stops, uint32_t *run_count)
{
    uint32_t *grown = realloc(*stops, (*run_count + 1u) * sizeof *grown);
    if (!grown) return nl_out_of_memory(*run_count * sizeof *grown);
    *stops = grown;
    grown[(*run_count)++] = nl_spill_chunk_count(spill);
    return NULL;
}

static void note_memory(nl_sorter *sorter, nl_sort_run *run)
{
    nl_metric_note_memory(sorter->plan.metric, &run->peak_bytes, nl_row_store_bytes(&run->store) + run->capacity * sizeof(nl_sort_entry));
}

nl_status nl_sorter_spill_run(nl_sorter *sorter, nl_sort_run *run)
{
    note_memory(sorter, run);
    NL_TRY(nl_sort_entries(run->entries, run->count, sorter->exec->query->cancel));
    NL_TRY(nl_sorter_write(sorter, run->entries, run->count, &run->spill));
    NL_TRY(nl_sorter_note_run(run->spill, &run->stops, &run->spilled_run_count));
    clear_run(sorter, run);
    return NULL;
}

static nl_status set_headers(nl_sorter *sorter, nl_sort_run *run, const nl_sorter_keys *keys, const uint32_t *positions, uint32_t count,
                             uint8_t *const *rows, uint64_t sequence)
{
    nl_sort_entry *entries = run->entries + run->count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = positions ? positions[i] : i;
        const uint8_t *key = keys->bytes->data + keys->offsets[at];
        nl_sort_header *header = (nl_sort_header *)(void *)rows[i];
        header->sequence = sequence + at;
        header->key_length = keys->offsets[at + 1] - keys->offsets[at];
        header->partition_length = sorter->plan.partition_count ? keys->partition_lengths[at] : 0;
        entries[i] = (nl_sort_entry){.prefix = nl_sort_prefix(key, header->key_length), .row = rows[i]};
        if (header->key_length <= 8) continue;
        nl_heap *heap = NULL;
        char *copy = NULL;
        NL_TRY(nl_row_store_heap(&run->store, &heap));
        NL_TRY(nl_heap_alloc(heap, header->key_length, &copy));
        memcpy(copy, key, header->key_length);
        header->key = (const uint8_t *)copy;
    }
    run->count += count;
    run->added_count += count;
    return NULL;
}

/* Rows behind the last of the wanted ones cannot matter: positions of the others. */
static uint32_t drop_behind_bound(const nl_sort_run *run, const nl_sorter_keys *keys, uint32_t count, uint32_t *positions)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *key = keys->bytes->data + keys->offsets[i];
        nl_sort_header header = {.key = key, .key_length = keys->offsets[i + 1] - keys->offsets[i]};
        nl_sort_entry entry = {.prefix = nl_sort_prefix(key, header.key_length), .row = (uint8_t *)&header};
        positions[kept] = i;
        kept += nl_sort_compare_keys(&entry, &run->bound) < 0;
    }
    return kept;
}

static nl_status add_rows(nl_sorter *sorter, nl_sort_run *run, const nl_sorter_keys *keys, const nl_batch *batch, uint64_t sequence)
{
    nl_selection selection = nl_batch_selection(batch);
    nl_arena *arena = nl_arena_new(sorter->exec->query->memory);
    uint32_t *positions = NULL;
    uint32_t count = selection.count;
    if (run->has_bound) {
        positions = NL_NEW_ARRAY(arena, uint32_t, count);
        count = drop_behind_bound(run, keys, count, positions);
        uint32_t *rows = NL_NEW_ARRAY(arena, uint32_t, count);
        for (uint32_t i = 0; i < count; i++)
            rows[i] = nl_selection_row(selection, positions[i]);
        selection = (nl_selection){rows, count};
    }
    uint8_t **rows = NL_NEW_ARRAY(arena, uint8_t *, count);
    nl_status status = nl_arena_check(arena);
    if (!status) status = grow_entries(sorter, run, count);
    if (!status) status = nl_row_store_add(&run->store, count, rows);
    if (!status) status = nl_rows_scatter(&sorter->layout, 0, batch->columns, sorter->plan.column_count, selection, rows, &run->store, false);
    if (!status) status = set_headers(sorter, run, keys, positions, count, rows, sequence);
    nl_arena_free(arena);
    return status;
}

/* Keeps the first `keep` rows only, in a store of their own. */
static nl_status cut_back(nl_sorter *sorter, nl_sort_run *run)
{
    uint64_t keep = (uint64_t)sorter->plan.keep;
    NL_TRY(nl_sort_entries(run->entries, run->count, sorter->exec->query->cancel));
    run->count = NL_MIN(run->count, keep);
    nl_row_store old = run->store;
    nl_row_store_init(&run->store, old.memory, old.row_bytes);
    uint8_t *row = NULL;
    nl_status status = NULL;
    for (uint64_t i = 0; i < run->count && !status; i++) {
        status = nl_row_store_add(&run->store, 1, &row);
        if (status) break;
        memcpy(row, run->entries[i].row, run->store.row_bytes);
        nl_heap *heap = NULL;
        nl_sort_header *header = (nl_sort_header *)(void *)row;
        if (sorter->layout.has_heap || header->key) status = nl_row_store_heap(&run->store, &heap);
        if (!status && header->key) {
            char *copy = NULL;
            status = nl_heap_alloc(heap, header->key_length, &copy);
            if (!status) header->key = memcpy(copy, header->key, header->key_length);
        }
        for (uint32_t c = 0; c < sorter->layout.column_count && !status; c++) {
            if (sorter->layout.columns[c].physical != NL_PHYS_STRING) continue;
            nl_string_view *view = (nl_string_view *)(void *)(row + sorter->layout.columns[c].offset);
            status = nl_heap_add(heap, nl_view_str(view), view);
        }
        if (!status) run->entries[i].row = row;
    }
    if (status) { /* rows moved so far point into the new store, the others into the old one */
        nl_status joined = nl_row_store_adopt(&run->store, &old);
        nl_row_store_clear(&old);
        return nl_first_error(status, joined);
    }
    nl_row_store_clear(&old);
    run->has_bound = run->count == keep;
    if (run->has_bound && keep > 0) run->bound = run->entries[keep - 1];
    return NULL;
}

static nl_status encode_keys(nl_sorter *sorter, uint32_t worker, const nl_batch *batch, nl_sorter_keys *keys)
{
    nl_memory *memory = sorter->exec->query->memory;
    nl_selection selection = nl_batch_selection(batch);
    nl_vector *values = calloc((size_t)sorter->plan.key_count + 1, sizeof *values);
    if (!values) return nl_out_of_memory(sorter->plan.key_count * sizeof *values);
    nl_status status = nl_programs_run(&sorter->programs, worker, batch, values);
    if (!status) status = nl_buffer_new(memory, sizeof(uint32_t) * 2 * ((size_t)selection.count + 1), false, &keys->offset_buffer);
    if (!status) {
        keys->offsets = (uint32_t *)(void *)keys->offset_buffer->data;
        keys->partition_lengths = keys->offsets + selection.count + 1;
        status = nl_sort_keys_encode(&sorter->keys, values, selection, sorter->plan.partition_count, memory, &keys->bytes, keys->offsets,
                                     keys->partition_lengths);
    }
    for (uint32_t i = 0; i < sorter->plan.key_count; i++)
        nl_vector_fini(&values[i]);
    free(values);
    return status;
}

/* Where a batch's first row stands in the input: the pipeline's input, the morsel, the row. */
static uint64_t sequence_of(uint64_t morsel, uint64_t row)
{
    return (morsel >> 40 & 0xFF) << 56 | (morsel & 0xFFFFFFF) << 28 | NL_MIN(row, 0xFFFFFFFull);
}

/* What adding a batch may be charged for. */
static size_t growth_of(const nl_sorter *sorter, const nl_sort_run *run, const nl_sorter_keys *keys, const nl_batch *batch)
{
    uint32_t count = nl_batch_live_rows(batch);
    size_t heap_bytes = keys->offsets[count];
    if (sorter->layout.has_heap) heap_bytes += nl_rows_heap_bytes(batch->columns, sorter->plan.column_count, nl_batch_selection(batch));
    size_t growth = nl_row_store_growth(&run->store, count, heap_bytes);
    if (run->count + count > run->capacity) growth += (next_capacity(run, count) - run->capacity) * sizeof(nl_sort_entry);
    return growth;
}

static bool is_worth_spilling(const nl_sorter *sorter, const nl_sort_run *run)
{
    const nl_query *query = sorter->exec->query;
    if (run->count == 0) return false;
    return query->force_spill || nl_row_store_bytes(&run->store) > nl_memory_limit(query->memory) / RUNS_PER_BUDGET;
}

nl_status nl_sorter_add(nl_sorter *sorter, uint32_t worker, uint64_t morsel, const nl_batch *batch)
{
    nl_sort_run *run = &sorter->runs[worker];
    nl_sorter_keys keys = {0};
    if (morsel != run->morsel) run->morsel_rows = 0;
    run->morsel = morsel;
    nl_status status = encode_keys(sorter, worker, batch, &keys);
    size_t growth = !status ? growth_of(sorter, run, &keys, batch) : 0;
    bool is_held = nl_exec_hold(sorter->exec, growth);
    if (!status && !is_held && is_worth_spilling(sorter, run)) {
        status = nl_sorter_spill_run(sorter, run);
        if (!status) growth = growth_of(sorter, run, &keys, batch);
        is_held = nl_exec_hold(sorter->exec, growth);
    }
    if (!status) status = add_rows(sorter, run, &keys, batch, sequence_of(morsel, run->morsel_rows));
    if (is_held) nl_exec_unhold(sorter->exec, growth);
    run->morsel_rows += batch->row_count;
    nl_buffer_release(keys.bytes);
    nl_buffer_release(keys.offset_buffer);
    if (!status && sorter->plan.keep < INT64_MAX / 4 && run->count > 2 * (uint64_t)sorter->plan.keep && run->count > TOP_ROWS_MIN)
        status = cut_back(sorter, run);
    return status;
}

nl_status nl_sorter_finish_worker(nl_sorter *sorter, uint32_t worker)
{
    nl_sort_run *run = &sorter->runs[worker];
    NL_TRY(nl_sort_entries(run->entries, run->count, sorter->exec->query->cancel));
    run->count = (uint64_t)NL_MIN((int64_t)run->count, sorter->plan.keep);
    note_memory(sorter, run);
    return NULL;
}
