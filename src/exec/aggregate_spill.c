/* exec/aggregate_spill.c - partial results on disk, and the source that merges and outputs the groups. */
#include "exec/aggregate.h"

#include <stdlib.h>

#include "function/spark_hash.h"

#define ARRIVAL_ROWS 16u /* of input: each is a partition of its own in Spark, as long as it has that many cores */
#define SMALL_ROWS  16384u /* groups of all workers: output as one piece, in Spark's order */
#define SHUFFLE_PARTITIONS 200 /* Spark's default */
#define LEVEL_MAX   12u    /* partitioning again and again by 4 bits of the hash ends here */
#define MERGE_ROWS_MIN 1024u /* a table of fewer rows is not worth splitting further, unless its states are large */

/* Rows (one heap) as keys and partials. */
static nl_status write_rows(nl_aggregate *aggregate, nl_agg_worker *worker, uint8_t *const *rows, uint32_t count, nl_heap *heap, nl_spill **spill)
{
    nl_exec *exec = aggregate->exec;
    nl_memory *memory = exec->query->memory;
    uint32_t column_count = aggregate->table_keys + aggregate->call_count;
    NL_TRY(nl_cancel_check(exec->query->cancel));
    if (!*spill) NL_TRY(nl_spill_new(exec->query->spill_directory, aggregate->spill_types, column_count, spill));
    nl_batch batch = {0};
    nl_status status = NULL;
    uint64_t before = nl_spill_bytes(*spill);
    NL_GO(nl_aggregate_scratch(worker, count));
    NL_GO(nl_batch_init(&batch, column_count, count));
    NL_GO(nl_rows_gather(&aggregate->layout, 0, aggregate->table_keys, rows, count, heap, memory, batch.columns));
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        for (uint32_t i = 0; i < count; i++)
            worker->states[i] = rows[i] + call->state_offset;
        NL_GO(call->function->aggregate->to_partial(call->function, &worker->eval, worker->states, count, &batch.columns[aggregate->table_keys + c]));
    }
    NL_GO(nl_spill_write(*spill, &batch, memory));
    nl_metric_add_spilled(aggregate->metric, nl_spill_bytes(*spill) - before);
done:
    nl_batch_fini(&batch);
    return status;
}

static uint64_t hash_of(const uint8_t *row)
{
    return ((const nl_group_header *)(const void *)row)->hash;
}

static uint32_t part_of(uint64_t hash, uint32_t level)
{
    return (uint32_t)(hash >> (64 - NL_GROUP_PARTS_BITS * (level + 1))) & (NL_GROUP_PARTS - 1);
}

/* One store's living rows into the files of their parts at a level. */
static nl_status spill_store(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_row_store *store, nl_spill **spills, uint32_t level,
                             uint32_t batch_rows)
{
    uint8_t **lists = malloc(sizeof(uint8_t *) * batch_rows * NL_GROUP_PARTS);
    if (!lists) return nl_out_of_memory(sizeof(uint8_t *) * batch_rows * NL_GROUP_PARTS);
    uint32_t counts[NL_GROUP_PARTS] = {0};
    nl_status status = NULL;
    for (const nl_row_block *block = store->first; block && !status; block = block->next) {
        for (uint32_t i = 0; i < block->row_count && !status; i++) {
            uint8_t *row = block->data + (size_t)i * store->row_bytes;
            if (((const nl_group_header *)(const void *)row)->is_dead) continue;
            uint32_t part = part_of(hash_of(row), level);
            lists[part * batch_rows + counts[part]++] = row;
            if (counts[part] < batch_rows) continue;
            status = write_rows(aggregate, worker, lists + part * batch_rows, batch_rows, store->heap, &spills[part]);
            counts[part] = 0;
        }
    }
    for (uint32_t part = 0; part < NL_GROUP_PARTS && !status; part++)
        if (counts[part]) status = write_rows(aggregate, worker, lists + part * batch_rows, counts[part], store->heap, &spills[part]);
    free(lists);
    return status;
}

nl_status nl_aggregate_spill(nl_aggregate *aggregate, nl_agg_worker *worker, nl_group_table *table, nl_spill **spills, uint32_t level)
{
    nl_metric_note_memory(aggregate->metric, &worker->peak_bytes, nl_group_table_bytes(table));
    uint32_t batch_rows = nl_aggregate_rows_at_once(aggregate, table->row_count, NL_MAX(nl_exec_batch_rows(aggregate->exec), 64u));
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++)
        NL_TRY(spill_store(aggregate, worker, &table->parts[part], spills, level, batch_rows));
    nl_aggregate_destroy_rows(aggregate, &worker->eval, table);
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++)
        nl_row_store_clear(&table->parts[part]);
    nl_group_table_forget(table);
    table->row_count = 0;
    return NULL;
}

/* Files that hold one partition at some level, waiting to be merged. */
typedef struct merge_task {
    struct merge_task *next;
    nl_spill *spill;
    uint32_t level;
} merge_task;

typedef struct output_worker {
    bool is_active;           /* has a piece to output */
    uint64_t morsel;
    nl_group_table merged;
    merge_task *tasks;
    const nl_row_store **stores; /* of the piece */
    uint32_t store_count, store;
    const nl_row_block *block;
    uint32_t at;
    uint32_t rows_at_once;    /* in a batch of the output */
    nl_heap *heap;            /* of all stores */
    uint8_t **rows;           /* batch_rows entries */
    uint8_t **ordered;        /* rows of the whole output; NULL: as they lie in the stores */
    uint32_t ordered_count, ordered_at;
} output_worker;

typedef struct aggregate_source {
    nl_source base;
    nl_aggregate *aggregate;
    nl_row_layout raw_layout; /* nested keys as their encoded form */
    bool needs_merge, is_whole; /* is_whole: all parts are one piece */
    uint32_t sole_worker;
    atomic_uint next_part;
    output_worker *workers;
    int64_t *grouping_ids;    /* by set */
} aggregate_source;

static nl_status merge_states(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_group_table *table, const nl_vector *partials,
                              const uint32_t *positions, uint32_t count, nl_selection selection)
{
    NL_TRY(nl_aggregate_scratch(worker, count));
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        for (uint32_t i = 0; i < count; i++)
            worker->states[i] = table->rows[positions ? positions[i] : i] + call->state_offset;
        NL_TRY(call->function->aggregate->merge_partial(call->function, &worker->eval, &partials[c], selection, worker->states));
    }
    return NULL;
}

/* Rows that stay where they are: the first of a key is adopted, later ones are merged into it and die. */
static nl_status adopt_rows(aggregate_source *source, nl_agg_worker *worker, nl_group_table *table, const nl_row_store *store, uint8_t **rows, uint32_t count)
{
    nl_aggregate *aggregate = source->aggregate;
    nl_memory *memory = aggregate->exec->query->memory;
    nl_vector *columns = calloc((size_t)aggregate->table_keys + aggregate->call_count + 1, sizeof *columns);
    uint32_t *others = malloc(sizeof *others * ((size_t)count + 1));
    uint8_t **dying = malloc(sizeof *dying * ((size_t)count + 1));
    uint32_t other_count = 0;
    nl_status status = columns && others && dying ? NULL : nl_out_of_memory(count * sizeof *others);
    if (status) goto done;
    NL_GO(nl_rows_gather(&source->raw_layout, 0, aggregate->table_keys, rows, count, store->heap, memory, columns));
    NL_GO(nl_group_table_hash(table, columns, count)); /* sizes the array; the stored hashes are the same */
    NL_GO(nl_group_table_find(table, columns, NL_ALL_ROWS(count), rows));
    for (uint32_t i = 0; i < count; i++) {
        others[other_count] = i;
        dying[other_count] = rows[i];
        other_count += table->rows[i] != rows[i];
    }
    if (other_count == 0) goto done;
    NL_GO(nl_aggregate_scratch(worker, other_count));
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        const nl_aggregate_ops *ops = call->function->aggregate;
        for (uint32_t i = 0; i < other_count; i++)
            worker->states[i] = dying[i] + call->state_offset;
        NL_GO(ops->to_partial(call->function, &worker->eval, worker->states, other_count, &columns[aggregate->table_keys + c]));
    }
    NL_GO(merge_states(aggregate, worker, table, columns + aggregate->table_keys, others, other_count, NL_ALL_ROWS(other_count)));
    for (uint32_t i = 0; i < other_count; i++) {
        for (uint32_t c = 0; c < aggregate->call_count; c++) {
            const nl_agg_call *call = &aggregate->calls[c];
            if (call->function->aggregate->destroy)
                call->function->aggregate->destroy(call->function, &worker->eval, dying[i] + call->state_offset);
        }
        ((nl_group_header *)(void *)dying[i])->is_dead = 1;
    }
done:
    for (uint32_t i = 0; columns && i < aggregate->table_keys + aggregate->call_count; i++)
        nl_vector_fini(&columns[i]);
    free(columns);
    free(others);
    free(dying);
    return status;
}

static nl_status merge_chunk(aggregate_source *source, nl_agg_worker *worker, nl_group_table *table, nl_batch *batch)
{
    nl_aggregate *aggregate = source->aggregate;
    nl_selection all = NL_ALL_ROWS(batch->row_count);
    NL_TRY(nl_group_table_hash(table, batch->columns, batch->row_count));
    NL_TRY(nl_group_table_find(table, batch->columns, all, NULL));
    nl_aggregate_init_states(aggregate, table);
    return merge_states(aggregate, worker, table, batch->columns + aggregate->table_keys, NULL, batch->row_count, all);
}

/* Is the table to be split before more_rows come? If not, *held is to be given back when they are in. */
static bool must_split(nl_aggregate *aggregate, const nl_group_table *table, uint32_t level, const nl_batch *batch, size_t *held)
{
    bool has_large_states = nl_aggregate_has_large_states(aggregate);
    size_t key_bytes = nl_rows_heap_bytes(batch->columns, aggregate->table_keys, NL_ALL_ROWS(batch->row_count));
    size_t growth = nl_group_table_growth(table, batch->row_count, key_bytes) + (has_large_states ? nl_batch_bytes(batch) : 0);
    bool is_held = nl_exec_hold(aggregate->exec, growth);
    *held = is_held ? growth : 0;
    if (is_held || table->row_count == 0 || level >= LEVEL_MAX) return false;
    if (aggregate->exec->query->force_spill) return level < 2 && table->row_count > 4;
    return table->row_count >= (has_large_states ? 2 : MERGE_ROWS_MIN);
}

/* Merges a file's chunks; when the table grows too large its rows go to sub[] by the next bits. */
static nl_status merge_file(aggregate_source *source, nl_agg_worker *worker, nl_group_table *table, const nl_spill *spill, uint32_t level, nl_spill **sub)
{
    for (uint32_t i = 0; i < nl_spill_chunk_count(spill); i++) {
        nl_batch batch = {0};
        NL_TRY(nl_cancel_check(source->base.exec->query->cancel));
        NL_TRY(nl_spill_read(spill, i, source->base.exec->query->memory, &batch));
        size_t held = 0;
        nl_status status = nl_group_keys_encode(batch.columns, source->aggregate->table_keys, NL_ALL_ROWS(batch.row_count), source->base.exec->query->memory);
        if (!status && must_split(source->aggregate, table, level, &batch, &held)) {
            status = nl_aggregate_spill(source->aggregate, worker, table, sub, level + 1);
            nl_group_table_drop_directory(table);
        }
        if (!status) status = merge_chunk(source, worker, table, &batch);
        nl_exec_unhold(source->base.exec, held);
        nl_batch_fini(&batch);
        if (status) return status;
    }
    return NULL;
}

static bool has_any(nl_spill *const *spills)
{
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        if (spills[i]) return true;
    return false;
}

static nl_status push_tasks(output_worker *own, nl_spill **sub, uint32_t level)
{
    for (uint32_t i = NL_GROUP_PARTS; i > 0; i--) {
        if (!sub[i - 1]) continue;
        merge_task *task = malloc(sizeof *task);
        if (!task) return nl_out_of_memory(sizeof *task);
        *task = (merge_task){.next = own->tasks, .spill = sub[i - 1], .level = level};
        own->tasks = task;
        sub[i - 1] = NULL;
    }
    return NULL;
}

static nl_status begin_output(aggregate_source *source, output_worker *own, const nl_row_store *const *stores, uint32_t store_count)
{
    nl_memory *memory = source->base.exec->query->memory;
    uint64_t row_count = 0;
    for (uint32_t i = 0; i < store_count; i++)
        row_count += stores[i]->row_count;
    own->rows_at_once = nl_aggregate_rows_at_once(source->aggregate, row_count, nl_exec_batch_rows(source->base.exec));
    own->store_count = store_count;
    own->store = 0;
    own->block = store_count ? stores[0]->first : NULL;
    own->at = 0;
    own->is_active = true;
    nl_heap_release(own->heap);
    own->heap = NULL;
    NL_TRY(nl_heap_new(memory, &own->heap));
    for (uint32_t i = 0; i < store_count; i++)
        if (stores[i]->heap) NL_TRY(nl_heap_keep(own->heap, stores[i]->heap));
    return NULL;
}

static void clear_merged(aggregate_source *source, output_worker *own, nl_agg_worker *worker)
{
    nl_aggregate_destroy_rows(source->aggregate, &worker->eval, &own->merged);
    for (uint32_t i = 0; own->merged.exec && i < NL_GROUP_PARTS; i++)
        nl_row_store_clear(&own->merged.parts[i]);
    nl_group_table_forget(&own->merged);
    own->merged.row_count = 0;
}

/* Output of what is in own->merged, and (is_first) the workers' rows of that part. */
static nl_status output_merged(aggregate_source *source, output_worker *own, uint32_t part, bool with_workers)
{
    uint32_t count = 0;
    for (uint32_t w = 0; with_workers && w < source->base.exec->worker_count; w++)
        own->stores[count++] = &source->aggregate->workers[w].table.parts[part];
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        if (own->merged.parts[i].row_count) own->stores[count++] = &own->merged.parts[i];
    return begin_output(source, own, own->stores, count);
}

static nl_status adopt_part(aggregate_source *source, nl_agg_worker *worker, output_worker *own, uint32_t part)
{
    for (uint32_t w = 0; w < source->base.exec->worker_count; w++) {
        const nl_row_store *store = &source->aggregate->workers[w].table.parts[part];
        uint32_t batch_rows = nl_aggregate_rows_at_once(source->aggregate, store->row_count, nl_exec_batch_rows(source->base.exec));
        const nl_row_block *block = store->first;
        uint32_t at = 0, count;
        while ((count = nl_row_store_next(store, &block, &at, batch_rows, own->rows)) > 0) {
            NL_TRY(nl_cancel_check(source->base.exec->query->cancel));
            NL_TRY(adopt_rows(source, worker, &own->merged, store, own->rows, count));
        }
    }
    return NULL;
}

static nl_status merge_part(aggregate_source *source, output_worker *own, nl_agg_worker *worker, uint32_t part)
{
    nl_aggregate *aggregate = source->aggregate;
    uint32_t batch_rows = NL_MAX(nl_exec_batch_rows(aggregate->exec), 64u);
    nl_spill *sub[NL_GROUP_PARTS] = {0};
    nl_status status = NULL;
    for (uint32_t w = 0; w < aggregate->exec->worker_count && !status; w++)
        if (aggregate->workers[w].spills[part])
            status = merge_file(source, worker, &own->merged, aggregate->workers[w].spills[part], 0, sub);
    bool is_split = has_any(sub);
    if (!status && is_split) {
        status = nl_aggregate_spill(aggregate, worker, &own->merged, sub, 1);
        for (uint32_t w = 0; w < aggregate->exec->worker_count && !status; w++)
            status = spill_store(aggregate, worker, &aggregate->workers[w].table.parts[part], sub, 1,
                                 nl_aggregate_rows_at_once(aggregate, aggregate->workers[w].table.parts[part].row_count, batch_rows));
        if (!status) status = push_tasks(own, sub, 1);
    } else if (!status) {
        status = adopt_part(source, worker, own, part);
        if (!status) status = output_merged(source, own, part, true);
    }
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        nl_spill_free(sub[i]);
    return status;
}

static nl_status merge_next_task(aggregate_source *source, output_worker *own, nl_agg_worker *worker)
{
    merge_task *task = own->tasks;
    own->tasks = task->next;
    nl_spill *sub[NL_GROUP_PARTS] = {0};
    nl_status status = merge_file(source, worker, &own->merged, task->spill, task->level, sub);
    if (!status && has_any(sub)) {
        status = nl_aggregate_spill(source->aggregate, worker, &own->merged, sub, task->level + 1);
        if (!status) status = push_tasks(own, sub, task->level + 1);
    } else if (!status) {
        status = output_merged(source, own, 0, false);
    }
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        nl_spill_free(sub[i]);
    nl_spill_free(task->spill);
    free(task);
    return status;
}

/* All groups of all workers at once. */
static nl_status output_whole(aggregate_source *source, output_worker *own, nl_agg_worker *worker)
{
    const nl_aggregate *aggregate = source->aggregate;
    uint32_t count = 0;
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++) {
        if (source->needs_merge) NL_TRY(adopt_part(source, worker, own, part));
        for (uint32_t w = 0; w < source->base.exec->worker_count; w++)
            if (aggregate->workers[w].table.parts[part].row_count) own->stores[count++] = &aggregate->workers[w].table.parts[part];
    }
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++)
        if (own->merged.parts[part].row_count) own->stores[count++] = &own->merged.parts[part];
    return begin_output(source, own, own->stores, count);
}

/* Finds the next piece to output. */
static nl_status next_piece(aggregate_source *source, output_worker *own, nl_agg_worker *worker, bool *is_done)
{
    nl_aggregate *aggregate = source->aggregate;
    clear_merged(source, own, worker);
    if (own->tasks) return merge_next_task(source, own, worker);
    uint32_t part = atomic_fetch_add(&source->next_part, 1);
    own->morsel = part;
    *is_done = part >= (source->is_whole ? 1 : NL_GROUP_PARTS);
    if (*is_done) return NULL;
    if (source->is_whole) return output_whole(source, own, worker);
    if (source->needs_merge) return merge_part(source, own, worker, part);
    own->stores[0] = &aggregate->workers[source->sole_worker].table.parts[part];
    return begin_output(source, own, own->stores, 1);
}

/* The next living rows of the piece, in the order of the stores. */
static uint32_t take_stored(output_worker *own, uint32_t wanted)
{
    uint32_t count = 0;
    while (count < wanted && own->store < own->store_count) {
        const nl_row_store *store = own->stores[own->store];
        if (!own->block) {
            own->store++;
            own->block = own->store < own->store_count ? own->stores[own->store]->first : NULL;
            own->at = 0;
            continue;
        }
        if (own->at == own->block->row_count) {
            own->block = own->block->next;
            own->at = 0;
            continue;
        }
        uint8_t *row = own->block->data + (size_t)own->at++ * store->row_bytes;
        own->rows[count] = row;
        count += !((const nl_group_header *)(const void *)row)->is_dead;
    }
    return count;
}

static nl_status grouping_column(const aggregate_source *source, uint8_t *const *rows, uint32_t count, nl_vector *out)
{
    const nl_aggregate *aggregate = source->aggregate;
    NL_TRY(nl_vector_new_flat(out, nl_type_bigint(), count, aggregate->exec->query->memory));
    int64_t *ids = nl_vector_values(out);
    uint32_t offset = aggregate->layout.columns[aggregate->key_count].offset;
    for (uint32_t i = 0; i < count; i++)
        ids[i] = source->grouping_ids[*(const int32_t *)(const void *)(rows[i] + offset)];
    return NULL;
}

/* ---- Spark's order ---- */

typedef struct place {
    uint32_t partition, hash;
    uint8_t *row;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *left = a, *right = b;
    if (left->partition != right->partition) return left->partition < right->partition ? -1 : 1;
    return left->hash == right->hash ? 0 : left->hash < right->hash ? -1 : 1;
}

/* Where Spark would shuffle these groups to. */
static nl_status find_partitions(const aggregate_source *source, output_worker *own, place *places, uint32_t count)
{
    const nl_aggregate *aggregate = source->aggregate;
    const uint32_t column_count = aggregate->key_count + aggregate->has_sets;
    nl_vector *keys = calloc(column_count, sizeof(*keys));
    uint32_t *hashes = malloc(sizeof(*hashes) * count);
    nl_status status = keys && hashes ? NULL : nl_out_of_memory(sizeof(*keys) * column_count);
    for (uint32_t i = 0; !status && i < count; i++) {
        own->rows[i] = places[i].row;
        hashes[i] = 42;
    }
    if (!status) status = nl_rows_gather(&aggregate->layout, 0, aggregate->key_count, own->rows, count, own->heap, aggregate->exec->query->memory, keys);
    if (!status && aggregate->has_sets) status = grouping_column(source, own->rows, count, &keys[aggregate->key_count]);
    if (!status) nl_spark_hash_rows(keys, column_count, count, hashes);
    const int64_t partitions = aggregate->exec->query->shuffle_partitions > 0 ? aggregate->exec->query->shuffle_partitions : SHUFFLE_PARTITIONS;
    for (uint32_t i = 0; !status && i < count; i++) {
        const int64_t remainder = (int32_t)hashes[i] % partitions;
        places[i].partition = (uint32_t)(remainder < 0 ? remainder + partitions : remainder);
        places[i].hash = hashes[i];
    }
    for (uint32_t i = 0; keys && i < column_count; i++) nl_vector_fini(&keys[i]);
    free(keys);
    free(hashes);
    return status;
}

/* A handful of rows, which one worker saw: Spark reads them from as many partitions, in order, so groups come as they
 * first appeared. */
static bool is_in_arrival_order(const nl_aggregate *aggregate)
{
    uint64_t row_count = 0;
    uint32_t worker_count = 0;
    for (uint32_t w = 0; w < aggregate->exec->worker_count; w++) {
        row_count += aggregate->workers[w].arrived_rows;
        worker_count += aggregate->workers[w].arrived_rows > 0;
    }
    return worker_count == 1 && row_count <= ARRIVAL_ROWS;
}

/* Small results come in the order in which Spark gives them: by shuffle partition. Queries without ORDER BY promise no
 * order, but people compare what they see, and what documents print. */
static nl_status order_rows(const aggregate_source *source, output_worker *own)
{
    const uint32_t step = nl_exec_batch_rows(source->base.exec);
    uint64_t row_count = 0;
    for (uint32_t i = 0; i < own->store_count; i++) row_count += own->stores[i]->row_count;
    place *places = malloc(sizeof(*places) * NL_MAX(row_count, 1));
    own->ordered = malloc(sizeof(*own->ordered) * NL_MAX(row_count, 1));
    nl_status status = places && own->ordered ? NULL : nl_out_of_memory(sizeof(*places) * row_count);
    own->ordered_count = 0;
    own->ordered_at = 0;
    for (uint32_t count; !status && (count = take_stored(own, step)) > 0; own->ordered_count += count) {
        for (uint32_t i = 0; i < count; i++) places[own->ordered_count + i].row = own->rows[i];
        status = find_partitions(source, own, places + own->ordered_count, count);
    }
    for (uint32_t i = 0; !status && is_in_arrival_order(source->aggregate) && i < own->ordered_count; i++) {
        places[i].partition = 0;
        places[i].hash = ((const nl_group_header *)(const void *)places[i].row)->arrival;
    }
    if (!status) qsort(places, own->ordered_count, sizeof(*places), compare_places);
    for (uint32_t i = 0; !status && i < own->ordered_count; i++) own->ordered[i] = places[i].row;
    free(places);
    return status;
}

/* The next living rows of the piece. */
static uint32_t take_rows(output_worker *own, uint32_t wanted)
{
    if (!own->ordered) return take_stored(own, wanted);
    const uint32_t count = NL_MIN(wanted, own->ordered_count - own->ordered_at);
    memcpy(own->rows, own->ordered + own->ordered_at, sizeof(*own->rows) * count);
    own->ordered_at += count;
    return count;
}

static nl_status finish_rows(aggregate_source *source, nl_agg_worker *worker, uint8_t *const *rows, uint32_t count, nl_heap *heap, nl_batch *batch)
{
    nl_aggregate *aggregate = source->aggregate;
    NL_TRY(nl_batch_init(batch, aggregate->key_count + aggregate->call_count + aggregate->has_sets, count));
    NL_TRY(nl_rows_gather(&aggregate->layout, 0, aggregate->key_count, rows, count, heap, aggregate->exec->query->memory, batch->columns));
    NL_TRY(nl_aggregate_scratch(worker, count));
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        for (uint32_t i = 0; i < count; i++)
            worker->states[i] = rows[i] + call->state_offset;
        NL_TRY(nl_status_at(call->function->aggregate->finish(call->function, &worker->eval, worker->states, count,
                                                              &batch->columns[aggregate->key_count + c]),
                            call->span, aggregate->exec->query->text));
    }
    return aggregate->has_sets ? grouping_column(source, rows, count, &batch->columns[batch->column_count - 1]) : NULL;
}

/* When some went to disk, all goes there: merging needs the memory. */
static nl_status spill_rest(nl_aggregate *aggregate)
{
    for (uint32_t w = 0; w < aggregate->exec->worker_count; w++) {
        nl_agg_worker *worker = &aggregate->workers[w];
        if (worker->table.row_count) NL_TRY(nl_aggregate_spill(aggregate, worker, &worker->table, worker->spills, 0));
        nl_group_table_drop_directory(&worker->table);
    }
    return NULL;
}

static nl_status merge_globals(nl_aggregate *aggregate)
{
    nl_agg_worker *first = &aggregate->workers[0];
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        const nl_aggregate_ops *ops = call->function->aggregate;
        void *into = first->global + call->state_offset;
        for (uint32_t w = 1; w < aggregate->exec->worker_count; w++) {
            if (!aggregate->workers[w].has_rows) continue;
            void *from = aggregate->workers[w].global + call->state_offset;
            nl_vector partial = {0};
            nl_status status = ops->to_partial(call->function, &first->eval, &from, 1, &partial);
            if (!status) status = ops->merge_partial(call->function, &first->eval, &partial, NL_ALL_ROWS(1), &into);
            nl_vector_fini(&partial);
            if (status) return nl_status_at(status, call->span, aggregate->exec->query->text);
        }
    }
    return NULL;
}

static nl_status source_start(nl_source *self)
{
    aggregate_source *source = NL_CONTAINER(self, aggregate_source, base);
    nl_aggregate *aggregate = source->aggregate;
    if (aggregate->workers[0].global) {
        self->is_serial = true;
        return merge_globals(aggregate);
    }
    uint32_t with_rows = 0;
    uint64_t row_count = 0;
    bool has_spilled = false;
    for (uint32_t w = 0; w < self->exec->worker_count; w++) {
        const nl_agg_worker *worker = &aggregate->workers[w];
        if (!worker->has_rows) continue;
        with_rows++;
        source->sole_worker = w;
        row_count += worker->table.row_count;
        has_spilled = has_spilled || worker->has_spilled;
        source->needs_merge = source->needs_merge || worker->has_spilled || worker->has_duplicates;
    }
    source->needs_merge = source->needs_merge || with_rows > 1;
    source->is_whole = !has_spilled && row_count <= SMALL_ROWS;
    self->is_serial = source->is_whole;
    return has_spilled && !self->exec->query->force_spill ? spill_rest(aggregate) : NULL; /* a test merges both kinds */
}

static nl_status prepare_worker(aggregate_source *source, output_worker *own)
{
    if (own->rows) return NULL;
    nl_exec *exec = source->base.exec;
    own->rows = malloc(sizeof(uint8_t *) * nl_exec_batch_rows(exec));
    own->stores = malloc(sizeof(nl_row_store *) * (exec->worker_count + 1) * NL_GROUP_PARTS);
    if (!own->rows || !own->stores) return nl_out_of_memory(sizeof(uint8_t *) * nl_exec_batch_rows(exec));
    nl_group_table_init(&own->merged, exec, &source->aggregate->layout, source->aggregate->table_keys);
    return NULL;
}

static nl_status source_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    aggregate_source *source = NL_CONTAINER(self, aggregate_source, base);
    output_worker *own = &source->workers[worker->index];
    nl_agg_worker *agg_worker = &source->aggregate->workers[worker->index];
    *morsel = own->morsel;
    if (agg_worker->global) {
        *is_done = own->is_active;
        own->is_active = true;
        return *is_done ? NULL : finish_rows(source, agg_worker, &agg_worker->global, 1, NULL, batch);
    }
    NL_TRY(prepare_worker(source, own));
    for (;;) {
        uint32_t count = own->is_active ? take_rows(own, own->rows_at_once) : 0;
        *morsel = own->morsel;
        if (count > 0) return finish_rows(source, agg_worker, own->rows, count, own->heap, batch);
        own->is_active = false;
        NL_TRY(next_piece(source, own, agg_worker, is_done));
        if (*is_done) return NULL;
        if (source->is_whole) NL_TRY(order_rows(source, own));
    }
}

static void source_free(nl_source *self)
{
    aggregate_source *source = NL_CONTAINER(self, aggregate_source, base);
    for (uint32_t w = 0; w < self->exec->worker_count; w++) {
        output_worker *own = &source->workers[w];
        nl_aggregate_destroy_rows(source->aggregate, &source->aggregate->workers[w].eval, &own->merged);
        nl_group_table_fini(&own->merged);
        nl_heap_release(own->heap);
        for (merge_task *task = own->tasks; task;) {
            merge_task *next = task->next;
            nl_spill_free(task->spill);
            free(task);
            task = next;
        }
        free(own->rows);
        free(own->ordered);
        free(own->stores);
    }
}

static const nl_source_ops source_ops = {.name = "groups", .start = source_start, .next = source_next, .free = source_free};

nl_source *nl_aggregate_source(nl_aggregate *aggregate)
{
    nl_exec *exec = aggregate->exec;
    aggregate_source *source = NL_NEW(exec->arena, aggregate_source);
    nl_source_init(&source->base, &source_ops, exec, aggregate->metric_node, "");
    source->aggregate = aggregate;
    source->workers = NL_NEW_ARRAY(exec->arena, output_worker, exec->worker_count);
    source->raw_layout = aggregate->layout;
    source->raw_layout.columns = NL_NEW_ARRAY(exec->arena, nl_row_column, aggregate->table_keys);
    for (uint32_t i = 0; i < aggregate->table_keys; i++) {
        source->raw_layout.columns[i] = aggregate->layout.columns[i];
        if (nl_type_is_encoded(aggregate->layout.columns[i].type)) source->raw_layout.columns[i].type = nl_type_binary();
    }
    if (!aggregate->has_sets) return &source->base;
    uint32_t set_count = aggregate->node->aggregate.grouping_set_count;
    source->grouping_ids = NL_NEW_ARRAY(exec->arena, int64_t, set_count);
    for (uint32_t set = 0; set < set_count; set++)
        for (uint32_t i = 0; i < aggregate->key_count; i++)
            if (!(aggregate->node->aggregate.grouping_sets[set] >> i & 1)) source->grouping_ids[set] |= (int64_t)1 << (aggregate->key_count - 1 - i);
    return &source->base;
}
