/* exec/join_build.c - collecting the build side and chaining it. */
#include "exec/join.h"

#include <stdlib.h>

#include "base/hash.h"

#define TAG_SHIFT     48
#define PREFETCH_ROWS 16u /* ahead of the row being chained */

typedef struct build_operator {
    nl_operator base;
    nl_join *join;
} build_operator;

nl_status nl_join_store_rows(nl_join *join, const nl_vector *values, const uint64_t *hashes, nl_selection selection, nl_row_store *store)
{
    uint8_t **rows = malloc(sizeof(uint8_t *) * ((size_t)selection.count + 1));
    if (!rows) return nl_out_of_memory(sizeof(uint8_t *) * selection.count);
    nl_status status = nl_row_store_add(store, selection.count, rows);
    uint32_t key_count = join->key_count;
    if (!status) status = nl_rows_scatter(&join->layout, 0, values, key_count, selection, rows, store, true);
    if (!status)
        status = nl_rows_scatter(&join->layout, key_count, values + key_count, join->build_value_count - key_count, selection, rows, store, false);
    for (uint32_t i = 0; i < selection.count && !status; i++)
        nl_join_header_of(rows[i])->hash = hashes[nl_selection_row(selection, i)];
    free(rows);
    return status;
}

static nl_status spill_values(nl_join *join, const nl_vector *values, uint32_t row_count, nl_selection selection, nl_spill **spill)
{
    nl_exec *exec = join->exec;
    if (!*spill) NL_TRY(nl_spill_new(exec->query->spill_directory, join->build_types, join->build_value_count, spill));
    uint64_t before = nl_spill_bytes(*spill);
    nl_batch batch = {.columns = NL_UNCONST(values), .column_count = join->build_value_count, .row_count = row_count};
    nl_buffer rows = {.data = NL_UNCONST(selection.rows)};
    if (selection.rows) {
        batch.is_selective = true;
        batch.selected_count = selection.count;
        batch.selection = &rows;
    }
    NL_TRY(nl_spill_write(*spill, &batch, exec->query->memory));
    nl_metric_add_spilled(join->build_metric, nl_spill_bytes(*spill) - before);
    return NULL;
}

/* A partition that has been given up: what this worker holds of it goes to its file. */
static nl_status spill_part(nl_join *join, nl_join_worker *own, uint32_t part)
{
    nl_row_store *store = &own->parts[part];
    uint32_t batch_rows = nl_exec_batch_rows(join->exec);
    uint8_t **rows = malloc(sizeof(uint8_t *) * batch_rows);
    nl_vector *values = calloc((size_t)join->build_value_count + 1, sizeof *values);
    nl_status status = rows && values ? NULL : nl_out_of_memory(sizeof(uint8_t *) * batch_rows);
    const nl_row_block *block = store->first;
    uint32_t at = 0, count;
    while (!status && (count = nl_row_store_next(store, &block, &at, batch_rows, rows)) > 0) {
        status = nl_cancel_check(join->exec->query->cancel);
        if (!status) status = nl_rows_gather(&join->layout, 0, join->build_value_count, rows, count, store->heap, join->exec->query->memory, values);
        if (!status) status = spill_values(join, values, count, NL_ALL_ROWS(count), &own->build_spills[part]);
        for (uint32_t i = 0; i < join->build_value_count; i++)
            nl_vector_fini(&values[i]);
    }
    free(rows);
    free(values);
    nl_row_store_clear(store);
    return status;
}

static nl_status spill_given_up(nl_join *join, nl_join_worker *own)
{
    if (!atomic_load_explicit(&join->any_spilled, memory_order_relaxed)) return NULL;
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
        if (own->parts[part].row_count && atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed))
            NL_TRY(spill_part(join, own, part));
    return NULL;
}

/* What keeping these rows may be charged for; rows of partitions on disk cost nothing. */
static size_t growth_of(const nl_join *join, const nl_join_worker *own, const nl_vector *values, nl_selection kept)
{
    size_t heap_bytes = join->layout.has_heap ? nl_rows_heap_bytes(values, join->build_value_count, kept) : 0;
    uint32_t part_count = join->key_count ? NL_JOIN_PARTS : 1;
    uint64_t share = part_count == 1 ? kept.count : NL_MIN(kept.count, kept.count / NL_JOIN_PARTS * 2 + 32);
    size_t heap_share = part_count == 1 ? heap_bytes : heap_bytes / NL_JOIN_PARTS * 2;
    size_t bytes = 0;
    for (uint32_t part = 0; part < part_count; part++)
        if (!atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed))
            bytes += nl_row_store_growth(&own->parts[part], share, heap_share);
    return bytes;
}

static void note_memory(const nl_join *join, nl_join_worker *own)
{
    uint64_t bytes = 0;
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
        bytes += nl_row_store_bytes(&own->parts[part]);
    nl_metric_note_memory(join->build_metric, &own->peak_bytes, bytes);
}

/* Makes room by giving up this worker's largest partitions. *held is to be given back when the rows are in. */
static nl_status make_room(nl_join *join, nl_join_worker *own, const nl_vector *values, nl_selection kept, size_t *held)
{
    NL_TRY(spill_given_up(join, own));
    *held = 0;
    bool is_forced = join->exec->query->force_spill; /* a test: every other partition, so that both ways are taken */
    for (;;) {
        size_t bytes = growth_of(join, own, values, kept);
        if (nl_exec_hold(join->exec, bytes)) {
            *held = bytes;
            return NULL;
        }
        uint32_t largest = NL_JOIN_PARTS;
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part += is_forced ? 2 : 1)
            if (own->parts[part].row_count && (largest == NL_JOIN_PARTS || own->parts[part].row_count > own->parts[largest].row_count)) largest = part;
        if (largest == NL_JOIN_PARTS) return NULL;
        note_memory(join, own);
        atomic_store_explicit(&join->is_spilled[largest], true, memory_order_relaxed);
        atomic_store_explicit(&join->any_spilled, true, memory_order_relaxed);
        NL_TRY(spill_part(join, own, largest));
    }
}

/* Rows that can never be matched and need not be output: dropped. Notes null keys. */
static uint32_t keep_rows(nl_join *join, nl_join_worker *own, const nl_vector *keys, nl_selection selection, uint32_t *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        bool is_null = false;
        for (uint32_t k = 0; k < join->key_count; k++)
            is_null = is_null || (!join->is_null_safe[k] && nl_vector_is_null(&keys[k], row));
        own->has_null_key = own->has_null_key || is_null;
        rows[count] = row;
        count += !is_null || nl_join_keeps_right(join);
    }
    return count;
}

#define NOTE_RANGE(T)                                                                      \
    for (uint32_t i = 0; i < selection.count; i++) {                                       \
        uint32_t row = nl_selection_row(selection, i);                                     \
        if (nl_reader_is_null(&reader, row)) continue;                                     \
        int64_t value = ((const T *)reader.values)[nl_reader_index(&reader, row)];         \
        own->lower[k] = own->has_range[k] ? NL_MIN(own->lower[k], value) : value;          \
        own->upper[k] = own->has_range[k] ? NL_MAX(own->upper[k], value) : value;          \
        own->has_range[k] = true;                                                          \
    }

static void note_range(nl_join_worker *own, uint32_t k, const nl_vector *key, nl_selection selection)
{
    if (key->encoding == NL_DICTIONARY && key->dictionary->vector.length == 0) return;
    nl_reader reader;
    nl_reader_init(&reader, key);
    if (key->type->physical == NL_PHYS_I32)
        NOTE_RANGE(int32_t)
    else if (key->type->physical == NL_PHYS_I64)
        NOTE_RANGE(int64_t)
}

static nl_status store_by_part(nl_join *join, nl_join_worker *own, const nl_vector *values, uint32_t row_count, nl_selection kept)
{
    uint32_t *rows = malloc(sizeof(uint32_t) * ((size_t)kept.count + 1));
    if (!rows) return nl_out_of_memory(sizeof(uint32_t) * kept.count);
    uint32_t starts[NL_JOIN_PARTS + 1] = {0};
    for (uint32_t i = 0; i < kept.count; i++)
        starts[(own->hashes[kept.rows[i]] >> (64 - NL_JOIN_PARTS_BITS)) + 1]++;
    for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
        starts[part + 1] += starts[part];
    uint32_t ends[NL_JOIN_PARTS];
    memcpy(ends, starts, sizeof ends);
    for (uint32_t i = 0; i < kept.count; i++)
        rows[ends[own->hashes[kept.rows[i]] >> (64 - NL_JOIN_PARTS_BITS)]++] = kept.rows[i];
    nl_status status = NULL;
    for (uint32_t part = 0; part < NL_JOIN_PARTS && !status; part++) {
        nl_selection chosen = {rows + starts[part], ends[part] - starts[part]};
        if (chosen.count == 0) continue;
        if (atomic_load_explicit(&join->is_spilled[part], memory_order_relaxed))
            status = spill_values(join, values, row_count, chosen, &own->build_spills[part]);
        else
            status = nl_join_store_rows(join, values, own->hashes, chosen, &own->parts[part]);
    }
    free(rows);
    return status;
}

static nl_status hash_keys(const nl_join *join, nl_join_worker *own, const nl_vector *keys, uint32_t row_count)
{
    for (uint32_t k = 0; k < join->key_count; k++)
        NL_TRY(nl_vector_hash(&keys[k], row_count, k > 0, own->hashes));
    if (join->key_count == 0) memset(own->hashes, 0, sizeof(uint64_t) * row_count);
    return NULL;
}

static nl_status add_values(nl_join *join, nl_join_worker *own, nl_vector *values, const nl_batch *batch)
{
    nl_memory *memory = join->exec->query->memory;
    NL_TRY(nl_join_scratch(own, memory, batch->row_count, 0));
    NL_TRY(hash_keys(join, own, values, batch->row_count));
    nl_selection selection = nl_batch_selection(batch);
    nl_buffer *kept = NULL;
    NL_TRY(nl_buffer_new(memory, sizeof(uint32_t) * ((size_t)selection.count + 1), false, &kept));
    uint32_t *rows = (uint32_t *)(void *)kept->data;
    uint32_t count = keep_rows(join, own, values, selection, rows);
    for (uint32_t k = 0; k < join->key_count; k++)
        note_range(own, k, &values[k], (nl_selection){rows, count});
    size_t held = 0;
    nl_status status = make_room(join, own, values, (nl_selection){rows, count}, &held);
    if (!status) status = store_by_part(join, own, values, batch->row_count, (nl_selection){rows, count});
    nl_exec_unhold(join->exec, held);
    nl_buffer_release(kept);
    return status;
}

static nl_status build_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    nl_join *join = NL_CONTAINER(self, build_operator, base)->join;
    nl_vector *values = calloc((size_t)join->build_value_count + 1, sizeof *values);
    if (!values) return nl_out_of_memory(join->build_value_count * sizeof *values);
    nl_status status = nl_programs_run(&join->build_values, worker->index, batch, values);
    if (!status) status = add_values(join, &join->workers[worker->index], values, batch);
    for (uint32_t i = 0; i < join->build_value_count; i++)
        nl_vector_fini(&values[i]);
    free(values);
    return status;
}

/* Chains the rows of one partition; partitions touch different slots. */
typedef struct chain_run {
    const nl_join *join;
    nl_join_table *table;
    nl_row_store *const *stores;
    uint32_t store_count;
} chain_run;

static bool has_null_key(const nl_join *join, const uint8_t *row)
{
    for (uint32_t k = 0; k < join->key_count; k++)
        if (!join->is_null_safe[k] && row[join->layout.columns[k].null_offset]) return true;
    return false;
}

/* Last rows first, so that chains are in the order of arrival. */
static nl_status chain_store(const chain_run *run, const nl_row_store *store)
{
    uint32_t block_count = 0;
    for (const nl_row_block *block = store->first; block; block = block->next)
        block_count++;
    const nl_row_block **blocks = malloc(sizeof *blocks * ((size_t)block_count + 1));
    if (!blocks) return nl_out_of_memory(sizeof *blocks * block_count);
    uint32_t n = 0;
    for (const nl_row_block *block = store->first; block; block = block->next)
        blocks[n++] = block;
    uint64_t *directory = (uint64_t *)(void *)run->table->directory->data;
    while (n > 0) {
        const nl_row_block *block = blocks[--n];
        if (nl_cancel_is_set(run->join->exec->query->cancel)) break;
        if (run->table->direct) {
            nl_join_direct_chain(run->join, run->table, block, store->row_bytes);
            continue;
        }
        for (uint32_t i = block->row_count; i > 0; i--) {
            uint8_t *row = block->data + (size_t)(i - 1) * store->row_bytes;
            if (i > PREFETCH_ROWS) __builtin_prefetch(&directory[nl_join_header_of(row - PREFETCH_ROWS * store->row_bytes)->hash >> run->table->shift], 1);
            if (has_null_key(run->join, row)) continue;
            nl_join_header *header = nl_join_header_of(row);
            uint64_t *slot = &directory[header->hash >> run->table->shift];
            header->next = (uint8_t *)(uintptr_t)(*slot & ((1ull << TAG_SHIFT) - 1));
            uint64_t tags = (*slot >> TAG_SHIFT) | 1ull << (header->hash & 15);
            *slot = tags << TAG_SHIFT | (uint64_t)(uintptr_t)row;
        }
    }
    free(blocks);
    return nl_cancel_check(run->join->exec->query->cancel);
}

static nl_status chain_part(void *argument, uint64_t part)
{
    const chain_run *run = argument;
    for (uint32_t i = run->store_count; i > 0; i--) /* stores of one partition are NL_JOIN_PARTS apart */
        if ((i - 1) % NL_JOIN_PARTS == part) NL_TRY(chain_store(run, run->stores[i - 1]));
    return NULL;
}

static nl_status list_rows(nl_join *join, nl_row_store *const *stores, uint32_t store_count, nl_join_table *table)
{
    NL_TRY(nl_buffer_new(join->exec->query->memory, sizeof(uint8_t *) * (table->row_count + 1), false, &table->row_list));
    table->all_rows = (uint8_t **)(void *)table->row_list->data;
    uint64_t at = 0;
    for (uint32_t i = 0; i < store_count; i++) {
        const nl_row_block *block = stores[i]->first;
        uint32_t place = 0, count;
        while ((count = nl_row_store_next(stores[i], &block, &place, 1u << 20, table->all_rows + at)) > 0)
            at += count;
    }
    return NULL;
}

nl_status nl_join_table_make(nl_join *join, nl_row_store *const *stores, uint32_t store_count, bool is_whole, nl_join_table *table)
{
    nl_memory *memory = join->exec->query->memory;
    NL_TRY(nl_heap_new(memory, &table->heap));
    for (uint32_t i = 0; i < store_count; i++) {
        table->row_count += stores[i]->row_count;
        if (stores[i]->heap) NL_TRY(nl_heap_keep(table->heap, stores[i]->heap));
    }
    if (join->key_count == 0 || nl_join_keeps_right(join)) NL_TRY(list_rows(join, stores, store_count, table));
    bool is_direct = false;
    if (is_whole) NL_TRY(nl_join_direct_make(join, table, &is_direct));
    uint32_t bits = 8;
    while (join->key_count && (1ull << bits) < table->row_count + table->row_count / 2)
        bits++;
    table->shift = 64 - bits;
    if (!is_direct) NL_TRY(nl_buffer_new(memory, sizeof(uint64_t) << bits, true, &table->directory));
    if (join->key_count == 0) return NULL;
    chain_run run = {.join = join, .table = table, .stores = stores, .store_count = store_count};
    if (is_whole && join->exec->query->pool && table->row_count > 65536)
        return nl_pool_for(join->exec->query->pool, NL_JOIN_PARTS, chain_part, &run);
    for (uint32_t i = store_count; i > 0; i--)
        NL_TRY(chain_store(&run, stores[i - 1]));
    return NULL;
}

void nl_join_table_fini(nl_join_table *table)
{
    nl_buffer_release(table->directory);
    nl_heap_release(table->heap);
    nl_buffer_release(table->row_list);
    nl_buffer_release(table->rank_buffer);
    *table = (nl_join_table){0};
}

void nl_join_release_built(nl_join *join)
{
    nl_join_table_fini(&join->table);
    for (uint32_t w = 0; w < join->exec->worker_count; w++)
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++)
            nl_row_store_clear(&join->workers[w].parts[part]);
}

static nl_status build_finish_worker(nl_operator *self, nl_worker *worker)
{
    nl_join *join = NL_CONTAINER(self, build_operator, base)->join;
    return spill_given_up(join, &join->workers[worker->index]);
}

static uint64_t part_rows(const nl_join *join, uint32_t part)
{
    uint64_t rows = 0;
    for (uint32_t w = 0; w < join->exec->worker_count; w++)
        rows += join->workers[w].parts[part].row_count;
    return rows;
}

/* The directory needs room, too: partitions go until there is some. */
static nl_status make_room_for_directory(nl_join *join)
{
    if (join->exec->query->force_spill) return NULL;
    for (;;) {
        uint64_t total = 0;
        uint32_t largest = 0;
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
            total += part_rows(join, part);
            if (part_rows(join, part) > part_rows(join, largest)) largest = part;
        }
        if (total == 0 || nl_exec_may_grow(join->exec, total * NL_JOIN_TABLE_ROW_BYTES)) return NULL;
        atomic_store_explicit(&join->is_spilled[largest], true, memory_order_relaxed);
        atomic_store_explicit(&join->any_spilled, true, memory_order_relaxed);
        for (uint32_t w = 0; w < join->exec->worker_count; w++)
            NL_TRY(spill_given_up(join, &join->workers[w]));
    }
}

static nl_status build_finish(nl_operator *self)
{
    nl_join *join = NL_CONTAINER(self, build_operator, base)->join;
    uint32_t worker_count = join->exec->worker_count;
    nl_row_store **stores = malloc(sizeof *stores * worker_count * NL_JOIN_PARTS);
    if (!stores) return nl_out_of_memory(sizeof *stores * worker_count * NL_JOIN_PARTS);
    nl_status status = NULL;
    for (uint32_t w = 0; w < worker_count && !status; w++)
        status = spill_given_up(join, &join->workers[w]); /* a partition may have been given up after the worker ended */
    if (!status) status = make_room_for_directory(join);
    for (uint32_t w = 0; w < worker_count && !status; w++) {
        nl_join_worker *own = &join->workers[w];
        note_memory(join, own);
        join->has_null_key = join->has_null_key || own->has_null_key;
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
            stores[w * NL_JOIN_PARTS + part] = &own->parts[part];
            join->build_rows += own->parts[part].row_count + nl_spill_row_count(own->build_spills[part]);
        }
    }
    if (!status) status = nl_join_table_make(join, stores, worker_count * NL_JOIN_PARTS, true, &join->table);
    free(stores);
    return status ? status : nl_join_note_filters(join);
}

static void build_free(nl_operator *self)
{
    nl_join *join = NL_CONTAINER(self, build_operator, base)->join;
    nl_programs_fini(&join->build_values);
    nl_programs_fini(&join->probe_keys);
    if (join->has_residual) nl_programs_fini(&join->residual);
    nl_join_table_fini(&join->table);
    nl_bloom_fini(&join->bloom);
    for (uint32_t k = 0; k < join->key_count; k++)
        nl_buffer_release(join->bitmaps[k].buffer);
    for (uint32_t w = 0; w < join->exec->worker_count; w++) {
        nl_join_worker *own = &join->workers[w];
        for (uint32_t part = 0; part < NL_JOIN_PARTS; part++) {
            nl_row_store_clear(&own->parts[part]);
            nl_spill_free(own->build_spills[part]);
            nl_spill_free(own->probe_spills[part]);
        }
        nl_buffer_release(own->scratch);
        free(own->pair_rows);
        free(own->pair_pointers);
        free(own->sorted_rows);
        free(own->sorted_pointers);
    }
}

static const nl_operator_ops build_ops = {
    .name = "join build", .push = build_push, .finish_worker = build_finish_worker, .finish = build_finish, .free = build_free};

nl_operator *nl_join_build_operator(nl_join *join)
{
    build_operator *operator = NL_NEW(join->exec->arena, build_operator);
    nl_operator_init(&operator->base, &build_ops, join->exec, join->node, "build");
    operator->join = join;
    join->build_metric = operator->base.metric;
    return &operator->base;
}
