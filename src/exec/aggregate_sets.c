/* exec/aggregate_sets.c - grouping sets out of each other: ROLLUP, CUBE and others that have a set of all keys.
 *
 * A worker that sees many rows groups them by all keys only. The other sets are made when its input ends, each out of the
 * groups of the smallest set above it (partial results, as those of workers are merged), so that a row is looked up
 * once and not once per set. Only for calls whose results do not depend on the order in which they are fed.
 *
 * Groups of one set lie one after the other in each of the table's stores: sets are made one by one. When memory is
 * refused, what is not made yet goes to the files as partial results, to be merged there. */
#include "exec/aggregate.h"

#include <stdlib.h>

#define BATCH_ROWS_MIN 64u /* few rows: their groups come in the order in which Spark gives them, set by set */

typedef struct store_place {
    const nl_row_block *block; /* NULL: the first one */
    uint32_t at;
} store_place;

/* How a worker groups by all keys. */
struct nl_agg_finest {
    store_place begin[NL_GROUP_PARTS]; /* rows before these were fed to every set */
};

/* The rows that one set has got, by part. */
typedef struct set_rows {
    store_place begin[NL_GROUP_PARTS];
    uint64_t counts[NL_GROUP_PARTS];
} set_rows;

typedef struct set_run {
    nl_aggregate *aggregate;
    nl_agg_worker *worker;
    set_rows *made;      /* by place in the order */
    bool is_written;     /* to files: the table is not to grow */
    uint8_t **rows;
    nl_vector *columns;  /* keys, partials */
} set_run;

static bool is_exact_type(const nl_type *type)
{
    return nl_type_is_integral(type) || type->id == NL_TYPE_DECIMAL || type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP ||
           type->id == NL_TYPE_BOOLEAN;
}

/* Is its result the same in whatever order, and in whatever parts, its rows are fed? */
static bool is_exact_call(const nl_agg_call *call, const nl_expr *expr)
{
    static const char *const names[] = {"count", "sum", "avg", "min", "max"};
    bool is_known = false;
    for (size_t i = 0; i < NL_COUNT(names); i++) is_known = is_known || strcmp(call->function->row->name, names[i]) == 0;
    for (uint32_t i = 0; i < expr->child_count; i++) is_known = is_known && is_exact_type(expr->children[i]->type);
    return is_known && !call->function->aggregate->destroy && !expr->is_distinct;
}

void nl_aggregate_plan_sets(nl_aggregate *aggregate)
{
    const nl_logical *node = aggregate->node;
    const uint32_t count = node->aggregate.grouping_set_count;
    const uint64_t all = aggregate->key_count >= 64 ? UINT64_MAX : (1ull << aggregate->key_count) - 1;
    bool is_possible = aggregate->has_sets && count > 1 && aggregate->key_count > 0 && aggregate->distinct_count == 0;
    for (uint32_t i = 0; i < aggregate->key_count; i++) is_possible = is_possible && !nl_type_is_encoded(node->aggregate.keys[i]->type);
    for (uint32_t c = 0; c < aggregate->call_count; c++)
        is_possible = is_possible && is_exact_call(&aggregate->calls[c], node->aggregate.aggregates[c]);
    if (!is_possible) return;
    uint32_t *order = NL_NEW_ARRAY(aggregate->exec->arena, uint32_t, count);
    uint32_t *parents = NL_NEW_ARRAY(aggregate->exec->arena, uint32_t, count);
    for (uint32_t i = 0; i < count; i++) { /* those with more keys first */
        uint32_t at = i;
        const int size = __builtin_popcountll(node->aggregate.grouping_sets[i]);
        for (; at > 0 && __builtin_popcountll(node->aggregate.grouping_sets[order[at - 1]]) < size; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    if (node->aggregate.grouping_sets[order[0]] != all) return;
    for (uint32_t k = 1; k < count; k++)
        for (uint32_t p = 0; p < k; p++) /* the last one that has all keys has the fewest */
            if (!(node->aggregate.grouping_sets[order[k]] & ~node->aggregate.grouping_sets[order[p]])) parents[k] = p;
    aggregate->set_order = order;
    aggregate->set_parents = parents;
}

static void note_ends(const nl_group_table *table, store_place *places)
{
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++)
        places[part] = (store_place){table->parts[part].last, table->parts[part].last ? table->parts[part].last->row_count : 0};
}

nl_status nl_aggregate_begin_finest(nl_aggregate *aggregate, nl_agg_worker *worker, uint32_t row_count, bool *is_finest)
{
    *is_finest = worker->finest != NULL;
    if (*is_finest || !aggregate->set_order || worker->has_spilled || row_count < BATCH_ROWS_MIN) return NULL;
    worker->finest = calloc(1, sizeof *worker->finest);
    if (!worker->finest) return nl_out_of_memory(sizeof *worker->finest);
    *is_finest = true;
    note_ends(&worker->table, worker->finest->begin);
    if (worker->table.row_count == 0) return NULL;
    /* The groups so far belong to every set already: what comes now makes rows of its own, merged at the end. */
    nl_group_table_forget(&worker->table);
    worker->has_duplicates = true;
    return NULL;
}

/* ---- making one set out of another ---- */

/* Texts stay in the table's heaps, which must have one owner to grow. */
static nl_status gather_group(set_run *run, uint32_t set, uint32_t count)
{
    nl_aggregate *aggregate = run->aggregate;
    nl_agg_worker *worker = run->worker;
    nl_memory *memory = aggregate->exec->query->memory;
    const uint64_t keys = aggregate->node->aggregate.grouping_sets[set];
    for (uint32_t i = 0; i < aggregate->key_count; i++) {
        if (keys >> i & 1)
            NL_TRY(nl_rows_gather(&aggregate->layout, i, 1, run->rows, count, NULL, memory, &run->columns[i]));
        else
            NL_TRY(nl_vector_new_null(&run->columns[i], aggregate->spill_types[i], count, memory));
    }
    const nl_value number = nl_value_int(nl_type_int(), set);
    NL_TRY(nl_vector_new_constant(&run->columns[aggregate->key_count], &number, count, memory));
    NL_TRY(nl_aggregate_scratch(worker, count));
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        for (uint32_t i = 0; i < count; i++) worker->states[i] = run->rows[i] + call->state_offset;
        NL_TRY(call->function->aggregate->to_partial(call->function, &worker->eval, worker->states, count, &run->columns[aggregate->table_keys + c]));
    }
    return NULL;
}

static nl_status merge_group(set_run *run, uint32_t count)
{
    nl_aggregate *aggregate = run->aggregate;
    nl_agg_worker *worker = run->worker;
    NL_TRY(nl_group_table_find(&worker->table, run->columns, NL_ALL_ROWS(count), NULL));
    nl_aggregate_init_states(aggregate, &worker->table);
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        for (uint32_t i = 0; i < count; i++) worker->states[i] = worker->table.rows[i] + call->state_offset;
        NL_TRY(call->function->aggregate->merge_partial(call->function, &worker->eval, &run->columns[aggregate->table_keys + c], NL_ALL_ROWS(count),
                                                        worker->states));
    }
    return NULL;
}

static nl_status write_group(set_run *run, uint32_t count)
{
    nl_aggregate *aggregate = run->aggregate;
    nl_exec *exec = aggregate->exec;
    const uint32_t column_count = aggregate->table_keys + aggregate->call_count;
    nl_buffer *chosen = NULL;
    nl_status status = nl_buffer_new(exec->query->memory, sizeof(uint32_t) * ((size_t)count + 1), false, &chosen);
    for (uint32_t part = 0; part < NL_GROUP_PARTS && !status; part++) {
        nl_spill **spill = &run->worker->spills[part];
        nl_batch batch = {.columns = run->columns, .column_count = column_count, .row_count = count, .is_selective = true, .selection = chosen};
        for (uint32_t i = 0; i < count; i++)
            if (run->worker->table.hashes[i] >> (64 - NL_GROUP_PARTS_BITS) == part) ((uint32_t *)(void *)chosen->data)[batch.selected_count++] = i;
        if (batch.selected_count == 0) continue;
        if (!*spill) status = nl_spill_new(exec->query->spill_directory, aggregate->spill_types, column_count, spill);
        const uint64_t before = *spill ? nl_spill_bytes(*spill) : 0;
        if (!status) status = nl_spill_write(*spill, &batch, exec->query->memory);
        if (!status) nl_metric_add_spilled(aggregate->metric, nl_spill_bytes(*spill) - before);
    }
    nl_buffer_release(chosen);
    return status;
}

/* The groups of run->rows. The first refusal of memory turns to the files for good. */
static nl_status take_group(set_run *run, uint32_t set, uint32_t count)
{
    nl_aggregate *aggregate = run->aggregate;
    const uint32_t column_count = aggregate->table_keys + aggregate->call_count;
    size_t held = 0;
    nl_status status = nl_cancel_check(aggregate->exec->query->cancel);
    if (!status) status = gather_group(run, set, count);
    if (!status) status = nl_group_table_hash(&run->worker->table, run->columns, count);
    if (!status && !run->is_written) {
        const size_t key_bytes = aggregate->layout.has_heap ? nl_rows_heap_bytes(run->columns, aggregate->table_keys, NL_ALL_ROWS(count)) : 0;
        held = nl_group_table_growth(&run->worker->table, count, key_bytes);
        run->is_written = !nl_exec_hold(aggregate->exec, held);
        if (run->is_written) held = 0;
    }
    if (!status) status = run->is_written ? write_group(run, count) : merge_group(run, count);
    nl_exec_unhold(aggregate->exec, held);
    for (uint32_t i = 0; i < column_count; i++) nl_vector_fini(&run->columns[i]);
    return status;
}

static nl_status make_set(set_run *run, uint32_t place)
{
    nl_aggregate *aggregate = run->aggregate;
    nl_group_table *table = &run->worker->table;
    const uint32_t batch_rows = nl_exec_batch_rows(aggregate->exec);
    const set_rows *from = &run->made[run->is_written ? 0 : aggregate->set_parents[place]]; /* the finest is whole in any case */
    set_rows *own = &run->made[place];
    note_ends(table, own->begin);
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++) own->counts[part] = table->parts[part].row_count;
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++) {
        const nl_row_store *store = &table->parts[part];
        const nl_row_block *block = from->begin[part].block ? from->begin[part].block : store->first;
        uint32_t at = from->begin[part].at;
        for (uint64_t left = from->counts[part]; left > 0;) {
            const uint32_t count = nl_row_store_next(store, &block, &at, (uint32_t)NL_MIN(left, (uint64_t)batch_rows), run->rows);
            left -= count;
            NL_TRY(take_group(run, aggregate->set_order[place], count));
        }
    }
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++) own->counts[part] = table->parts[part].row_count - own->counts[part];
    return NULL;
}

static uint64_t rows_before(const nl_row_store *store, const store_place *place)
{
    uint64_t count = place->at;
    for (const nl_row_block *block = store->first; place->block && block != place->block; block = block->next) count += block->row_count;
    return count;
}

nl_status nl_aggregate_make_sets(nl_aggregate *aggregate, nl_agg_worker *worker, bool to_files)
{
    if (!worker->finest) return NULL;
    const uint32_t set_count = aggregate->node->aggregate.grouping_set_count;
    set_run run = {.aggregate = aggregate, .worker = worker, .is_written = to_files};
    nl_arena *arena = nl_arena_new(aggregate->exec->query->memory);
    run.made = NL_NEW_ARRAY(arena, set_rows, set_count);
    run.rows = NL_NEW_ARRAY(arena, uint8_t *, nl_exec_batch_rows(aggregate->exec));
    run.columns = NL_NEW_ARRAY(arena, nl_vector, aggregate->table_keys + aggregate->call_count);
    nl_status status = nl_arena_check(arena);
    if (!status) memcpy(run.made[0].begin, worker->finest->begin, sizeof run.made[0].begin);
    for (uint32_t part = 0; part < NL_GROUP_PARTS && !status; part++)
        run.made[0].counts[part] = worker->table.parts[part].row_count - rows_before(&worker->table.parts[part], &run.made[0].begin[part]);
    for (uint32_t place = 1; place < set_count && !status; place++) status = make_set(&run, place);
    worker->has_spilled = worker->has_spilled || run.is_written;
    nl_arena_free(arena);
    *worker->finest = (nl_agg_finest){0};
    return status;
}
