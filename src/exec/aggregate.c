/* exec/aggregate.c - building and feeding hash aggregation. */
#include "exec/aggregate.h"

#include <stdlib.h>

#include "base/hash.h"

#define LOCAL_GROUPS_MIN   65536u /* of a worker's table when there are several workers: about what its cache holds */
#define LOCAL_GROUPS_MAX   (1u << 20)
#define RECURRING_PART     4u     /* of the rows must be of older groups for the table to grow beyond its cache */
#define FEW_GROUPS           16u
#define FEW_PLACES_BITS      6u
#define FEW_GROUPS_ROWS_MIN  256u /* below, putting rows in order costs more */
#define DICTIONARY_CODES_MAX 65536u
#define COPIES_PER_BUDGET  64u    /* rows being written or output take at most this part of the budget */
#define TABLES_PER_BUDGET  32u    /* a table smaller than this part of the budget is not spilled: others hold the memory */

nl_status nl_aggregate_scratch(nl_agg_worker *worker, uint32_t count)
{
    if (count <= worker->state_capacity) return NULL;
    void **grown = realloc(worker->states, sizeof(void *) * count);
    if (!grown) return nl_out_of_memory(sizeof(void *) * count);
    worker->states = grown;
    worker->state_capacity = count;
    return NULL;
}

void nl_aggregate_init_states(const nl_aggregate *aggregate, nl_group_table *table)
{
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        if (!call->function->aggregate->init) continue;
        for (uint32_t i = 0; i < table->fresh_count; i++)
            call->function->aggregate->init(call->function, table->rows[table->fresh[i]] + call->state_offset);
    }
}

bool nl_aggregate_has_large_states(const nl_aggregate *aggregate)
{
    for (uint32_t c = 0; c < aggregate->call_count; c++)
        if (aggregate->calls[c].function->aggregate->destroy) return true;
    return false;
}

uint32_t nl_aggregate_rows_at_once(const nl_aggregate *aggregate, uint64_t row_count, uint32_t most)
{
    if (row_count == 0 || (!aggregate->layout.has_heap && !nl_aggregate_has_large_states(aggregate))) return most;
    const nl_memory *memory = aggregate->exec->query->memory;
    uint64_t row_bytes = nl_memory_used(memory) / row_count + 1; /* if nothing else were in memory: never too small */
    return (uint32_t)NL_MAX(NL_MIN(nl_memory_limit(memory) / COPIES_PER_BUDGET / row_bytes, (uint64_t)most), 1u);
}

void nl_aggregate_destroy_rows(const nl_aggregate *aggregate, nl_eval *eval, nl_group_table *table)
{
    if (!nl_aggregate_has_large_states(aggregate) || !table->exec) return;
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++) {
        const nl_row_store *store = &table->parts[part];
        for (const nl_row_block *block = store->first; block; block = block->next) {
            for (uint32_t i = 0; i < block->row_count; i++) {
                uint8_t *row = block->data + (size_t)i * store->row_bytes;
                if (((const nl_group_header *)(const void *)row)->is_dead) continue;
                for (uint32_t c = 0; c < aggregate->call_count; c++) {
                    const nl_agg_call *call = &aggregate->calls[c];
                    if (call->function->aggregate->destroy)
                        call->function->aggregate->destroy(call->function, eval, row + call->state_offset);
                }
            }
        }
    }
}

/* The rows of selection where the filter is true; their positions in the selection go along. */
static uint32_t apply_filter(const nl_vector *filter, nl_selection selection, uint32_t *rows, uint32_t *positions)
{
    nl_reader reader;
    nl_reader_init(&reader, filter);
    const uint8_t *values = reader.values;
    uint32_t count = 0;
    for (uint32_t i = 0; filter->type->id != NL_TYPE_NULL && i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        if (nl_reader_is_null(&reader, row) || !values[nl_reader_index(&reader, row)]) continue;
        rows[count] = row;
        positions[count++] = i;
    }
    return count;
}

static nl_status update_call(const nl_aggregate *aggregate, nl_agg_worker *worker, const nl_agg_call *call, const nl_vector *outputs,
                             nl_selection selection, bool is_filtered)
{
    const nl_aggregate_ops *ops = call->function->aggregate;
    const nl_vector *arguments = outputs + call->argument_first;
    uint8_t *const *rows = worker->table.rows;
    nl_buffer *buffer = NULL;
    nl_selection chosen = selection;
    uint32_t *positions = NULL;
    if (is_filtered && call->filter >= 0) {
        NL_TRY(nl_buffer_new(aggregate->exec->query->memory, sizeof(uint32_t) * 2 * ((size_t)selection.count + 1), false, &buffer));
        uint32_t *kept = (uint32_t *)(void *)buffer->data;
        positions = kept + selection.count + 1;
        chosen = (nl_selection){kept, apply_filter(&outputs[call->filter], selection, kept, positions)};
    }
    nl_status status = NULL;
    if (worker->global) {
        status = ops->update_one(call->function, &worker->eval, arguments, chosen, worker->global + call->state_offset);
    } else {
        for (uint32_t i = 0; i < chosen.count; i++)
            worker->states[i] = rows[positions ? positions[i] : i] + call->state_offset;
        if (chosen.count) status = ops->update(call->function, &worker->eval, arguments, chosen, worker->states);
    }
    nl_buffer_release(buffer);
    return status;
}

static bool is_worth_spilling(const nl_aggregate *aggregate, const nl_group_table *table)
{
    const nl_query *query = aggregate->exec->query;
    if (table->row_count == 0) return false;
    return query->force_spill || nl_aggregate_has_large_states(aggregate) ||
           nl_group_table_bytes(table) > nl_memory_limit(query->memory) / TABLES_PER_BUDGET;
}

/* A batch whose rows fall into few groups, put in order of these: each state is then fed by one loop that keeps it in
 * registers, instead of being loaded and stored for every row. */
typedef struct few_groups {
    nl_buffer *buffer;
    uint8_t *groups[FEW_GROUPS];
    nl_selection selections[FEW_GROUPS];
    uint32_t group_count; /* 0: not in order */
} few_groups;

static uint32_t place_of(const uint8_t *row)
{
    return (uint32_t)((uint64_t)(uintptr_t)row * 0x9E3779B97F4A7C15ull >> (64 - FEW_PLACES_BITS));
}

static nl_status sort_by_group(const nl_aggregate *aggregate, const nl_group_table *table, nl_selection selection, few_groups *few)
{
    const uint8_t *places[1u << FEW_PLACES_BITS] = {0};
    uint8_t group_at[1u << FEW_PLACES_BITS];
    uint32_t ends[FEW_GROUPS + 1] = {0};
    NL_TRY(nl_buffer_new(aggregate->exec->query->memory, (sizeof(uint32_t) + 1) * ((size_t)selection.count + 1), false, &few->buffer));
    uint32_t *rows = (uint32_t *)(void *)few->buffer->data;
    uint8_t *group_of = (uint8_t *)(rows + selection.count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t place = place_of(table->rows[i]);
        while (places[place] != table->rows[i]) {
            if (!places[place]) {
                if (count == FEW_GROUPS) return NULL; /* rows of groups that were forgotten in between */
                places[place] = table->rows[i];
                few->groups[count] = table->rows[i];
                group_at[place] = (uint8_t)count++;
                break;
            }
            place = (place + 1) & ((1u << FEW_PLACES_BITS) - 1);
        }
        group_of[i] = group_at[place];
        ends[group_at[place] + 1]++;
    }
    for (uint32_t g = 0; g < count; g++) {
        few->selections[g] = (nl_selection){rows + ends[g], ends[g + 1]};
        ends[g + 1] += ends[g];
    }
    for (uint32_t i = 0; i < selection.count; i++)
        rows[ends[group_of[i]]++] = nl_selection_row(selection, i);
    few->group_count = count;
    return NULL;
}

static nl_status update_few(nl_agg_worker *worker, const nl_agg_call *call, const nl_vector *outputs, const few_groups *few)
{
    const nl_aggregate_ops *ops = call->function->aggregate;
    for (uint32_t g = 0; g < few->group_count; g++)
        NL_TRY(ops->update_one(call->function, &worker->eval, outputs + call->argument_first, few->selections[g], few->groups[g] + call->state_offset));
    return NULL;
}

static uint64_t groups_max(const nl_agg_worker *worker)
{
    return NL_MAX(worker->groups_max, (uint64_t)LOCAL_GROUPS_MIN);
}

/* Keys in the order of the table (orders of lineitem) never come again: a table that forgets stays in the cache. Keys
 * in any order come again and again: forgotten ones would all be made anew, and merged later. */
static void limit_groups(nl_agg_worker *worker)
{
    if (groups_max(worker) < LOCAL_GROUPS_MAX && worker->recurring_rows * RECURRING_PART > worker->seen_rows) {
        worker->groups_max = groups_max(worker) * 2;
    } else {
        nl_group_table_forget(&worker->table);
        worker->has_duplicates = true;
    }
    worker->seen_rows = worker->recurring_rows = 0;
}

/* rows_before: in the table before the last find. */
static void note_recurring(nl_agg_worker *worker, uint64_t rows_before, uint32_t count)
{
    if (worker->table.group_count * 2 < groups_max(worker)) return;
    uint32_t recurring = 0;
    for (uint32_t i = 0; i < count; i++)
        recurring += (int32_t)(((const nl_group_header *)(const void *)worker->table.rows[i])->arrival - (uint32_t)rows_before) < 0;
    worker->seen_rows += count;
    worker->recurring_rows += recurring;
}

/* *held: to be given back when the rows are in. */
static nl_status make_room(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_vector *keys, nl_selection selection, size_t *held)
{
    nl_group_table *table = &worker->table;
    size_t key_bytes = aggregate->layout.has_heap ? nl_rows_heap_bytes(keys, aggregate->table_keys, selection) : 0;
    size_t growth = nl_group_table_growth(table, selection.count, key_bytes);
    bool is_held = nl_exec_hold(aggregate->exec, growth);
    if (!is_held && is_worth_spilling(aggregate, table)) {
        NL_TRY(nl_aggregate_make_sets(aggregate, worker, true));
        NL_TRY(nl_aggregate_spill(aggregate, worker, table, worker->spills, 0));
        worker->has_spilled = true;
        nl_group_table_drop_directory(table); /* of the size of what has left */
        growth = nl_group_table_growth(table, selection.count, key_bytes);
        is_held = nl_exec_hold(aggregate->exec, growth);
    }
    *held = is_held ? growth : 0;
    if (aggregate->exec->worker_count > 1 && table->group_count > groups_max(worker)) limit_groups(worker);
    return NULL;
}

static nl_status find_and_init(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_vector *keys, nl_selection selection)
{
    NL_TRY(nl_group_table_find(&worker->table, keys, selection, NULL));
    nl_aggregate_init_states(aggregate, &worker->table);
    return NULL;
}

/* The codes of dictionary-coded keys as one number per selected row; the last code of a key is null. */
static void combine_codes(const nl_vector *keys, uint32_t key_count, nl_selection selection, uint32_t *codes)
{
    uint32_t stride = 1;
    for (uint32_t k = 0; k < key_count; k++) {
        const nl_vector *key = &keys[k];
        const uint32_t null_code = key->dictionary->vector.length;
        for (uint32_t i = 0; i < selection.count; i++) {
            uint32_t row = nl_selection_row(selection, i);
            uint32_t code = key->validity && !nl_bit_get(key->validity, row) ? null_code : key->indices[row];
            codes[i] = (k ? codes[i] : 0) + code * stride;
        }
        stride *= null_code + 1;
    }
}

/* How many combinations the keys' dictionaries have; 0: too many, or not all of them are dictionaries. */
static uint32_t combination_count(const nl_vector *keys, uint32_t key_count)
{
    uint64_t count = key_count > 0 && key_count <= NL_AGG_CODED_KEYS ? 1 : 0;
    for (uint32_t k = 0; k < key_count && count > 0; k++) {
        if (keys[k].encoding != NL_DICTIONARY) return 0;
        count *= (uint64_t)keys[k].dictionary->vector.length + 1;
        if (count > DICTIONARY_CODES_MAX) return 0;
    }
    return (uint32_t)count;
}

/* What is remembered belongs to these dictionaries and to the table as it is. */
static nl_status remember_codes_of(nl_agg_worker *worker, const nl_vector *keys, uint32_t key_count, uint32_t code_count)
{
    bool is_same = worker->dictionary_epoch == worker->table.epoch && worker->code_count == code_count;
    for (uint32_t k = 0; k < key_count; k++)
        is_same = is_same && worker->dictionary_identities[k] == keys[k].dictionary->identity;
    if (is_same) return NULL;
    uint8_t **cleared = realloc(worker->by_code, sizeof(uint8_t *) * code_count);
    if (!cleared) return nl_out_of_memory(sizeof(uint8_t *) * code_count);
    memset(cleared, 0, sizeof(uint8_t *) * code_count);
    worker->by_code = cleared;
    worker->code_count = code_count;
    worker->dictionary_epoch = worker->table.epoch;
    for (uint32_t k = 0; k < key_count; k++)
        worker->dictionary_identities[k] = keys[k].dictionary->identity;
    return NULL;
}

/* Dictionary-coded keys: groups are remembered by code, so that only codes not seen before are hashed. Leaves the
 * addresses in table.rows like find does. *is_done false: not such keys. */
static nl_status find_by_code(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_vector *keys, uint32_t row_count,
                              nl_selection selection, bool *is_done)
{
    nl_group_table *table = &worker->table;
    uint32_t code_count = combination_count(keys, aggregate->table_keys);
    *is_done = code_count > 0;
    if (!*is_done) return NULL;
    NL_TRY(remember_codes_of(worker, keys, aggregate->table_keys, code_count));
    NL_TRY(nl_aggregate_scratch(worker, selection.count));
    nl_buffer *buffer = NULL;
    NL_TRY(nl_buffer_new(aggregate->exec->query->memory, sizeof(uint32_t) * 3 * ((size_t)selection.count + 1), false, &buffer));
    uint32_t *codes = (uint32_t *)(void *)buffer->data;
    uint32_t *missing = codes + selection.count + 1;
    uint32_t *missing_codes = missing + selection.count + 1;
    uint32_t missing_count = 0;
    nl_status status = NULL;
    combine_codes(keys, aggregate->table_keys, selection, codes);
    for (uint32_t i = 0; i < selection.count; i++) {
        missing[missing_count] = nl_selection_row(selection, i);
        missing_codes[missing_count] = codes[i];
        missing_count += !worker->by_code[codes[i]];
    }
    if (missing_count > 0) {
        status = nl_group_table_hash(table, keys, row_count);
        if (!status) status = find_and_init(aggregate, worker, keys, (nl_selection){missing, missing_count});
        for (uint32_t i = 0; i < missing_count && !status; i++)
            worker->by_code[missing_codes[i]] = table->rows[i];
    }
    /* Room for all positions without another look-up: an empty find only grows the scratch. */
    if (!status && selection.count > table->scratch_rows) {
        status = nl_group_table_hash(table, keys, row_count);
        if (!status) status = find_and_init(aggregate, worker, keys, selection);
    }
    for (uint32_t i = 0; i < selection.count && !status; i++)
        table->rows[i] = worker->by_code[codes[i]];
    nl_buffer_release(buffer);
    return status;
}

static nl_status find_groups(nl_aggregate *aggregate, nl_agg_worker *worker, const nl_vector *keys, uint32_t row_count, nl_selection selection)
{
    bool is_done = false;
    NL_TRY(find_by_code(aggregate, worker, keys, row_count, selection, &is_done));
    if (!is_done) {
        NL_TRY(nl_group_table_hash(&worker->table, keys, row_count));
        NL_TRY(find_and_init(aggregate, worker, keys, selection));
    }
    return nl_aggregate_scratch(worker, selection.count);
}

nl_status nl_aggregate_add(nl_aggregate *aggregate, uint32_t worker_index, nl_vector *keys, const nl_vector *outputs, uint32_t row_count,
                           nl_selection selection, int32_t distinct_set)
{
    nl_agg_worker *worker = &aggregate->workers[worker_index];
    worker->has_rows = true;
    worker->arrived_rows += selection.count;
    if (!worker->global) {
        size_t held = 0;
        NL_TRY(nl_group_keys_encode(keys, aggregate->table_keys, selection, aggregate->exec->query->memory));
        NL_TRY(make_room(aggregate, worker, keys, selection, &held));
        uint64_t rows_before = worker->table.row_count;
        nl_status status = find_groups(aggregate, worker, keys, row_count, selection);
        nl_exec_unhold(aggregate->exec, held);
        if (status) return status;
        if (aggregate->exec->worker_count > 1) note_recurring(worker, rows_before, selection.count);
    }
    few_groups few = {0};
    if (!worker->global && worker->table.group_count <= FEW_GROUPS && selection.count >= FEW_GROUPS_ROWS_MIN)
        NL_TRY(sort_by_group(aggregate, &worker->table, selection, &few));
    nl_status status = NULL;
    for (uint32_t c = 0; c < aggregate->call_count && !status; c++) {
        const nl_agg_call *call = &aggregate->calls[c];
        if (call->distinct_set != distinct_set) continue;
        if (few.group_count > 0 && call->filter < 0)
            status = update_few(worker, call, outputs, &few);
        else
            status = update_call(aggregate, worker, call, outputs, selection, distinct_set < 0);
        status = nl_status_at(status, call->span, aggregate->exec->query->text);
    }
    nl_buffer_release(few.buffer);
    return status;
}

/* The operator at the end of the input's pipeline. */
typedef struct aggregate_operator {
    nl_operator base;
    nl_aggregate *aggregate;
} aggregate_operator;

static nl_status add_distincts(nl_aggregate *aggregate, uint32_t worker, const nl_vector *keys, const nl_vector *outputs, uint32_t row_count,
                               nl_selection selection)
{
    nl_memory *memory = aggregate->exec->query->memory;
    nl_status status = NULL;
    for (uint32_t d = 0; d < aggregate->distinct_count && !status; d++) {
        const nl_agg_distinct *distinct = &aggregate->distincts[d];
        uint32_t count = aggregate->table_keys + distinct->argument_count;
        nl_vector *all = calloc((size_t)count + 1, sizeof *all);
        if (!all) return nl_out_of_memory(count * sizeof *all);
        for (uint32_t i = 0; i < count; i++)
            nl_vector_ref(i < aggregate->table_keys ? &keys[i] : &outputs[distinct->argument_first + i - aggregate->table_keys], &all[i]);
        nl_buffer *kept = NULL;
        nl_selection chosen = selection;
        if (distinct->filter >= 0) {
            status = nl_buffer_new(memory, sizeof(uint32_t) * 2 * ((size_t)selection.count + 1), false, &kept);
            uint32_t *rows = kept ? (uint32_t *)(void *)kept->data : NULL;
            if (!status) chosen = (nl_selection){rows, apply_filter(&outputs[distinct->filter], selection, rows, rows + selection.count + 1)};
        }
        if (!status && chosen.count > 0) status = nl_aggregate_add(distinct->dedupe, worker, all, NULL, row_count, chosen, -1);
        for (uint32_t i = 0; i < count; i++)
            nl_vector_fini(&all[i]);
        free(all);
        nl_buffer_release(kept);
    }
    return status;
}

static nl_status add_set(nl_aggregate *aggregate, uint32_t worker, const nl_vector *outputs, const nl_batch *batch, uint32_t set)
{
    nl_memory *memory = aggregate->exec->query->memory;
    nl_vector *keys = calloc((size_t)aggregate->table_keys + 1, sizeof *keys);
    if (!keys) return nl_out_of_memory(aggregate->table_keys * sizeof *keys);
    nl_status status = NULL;
    for (uint32_t i = 0; i < aggregate->key_count && !status; i++) {
        if (aggregate->has_sets && !(aggregate->node->aggregate.grouping_sets[set] >> i & 1))
            status = nl_vector_new_null(&keys[i], outputs[i].type, batch->row_count, memory);
        else
            nl_vector_ref(&outputs[i], &keys[i]);
    }
    if (aggregate->has_sets && !status) {
        nl_value number = nl_value_int(nl_type_int(), set);
        status = nl_vector_new_constant(&keys[aggregate->key_count], &number, batch->row_count, memory);
    }
    nl_selection selection = nl_batch_selection(batch);
    if (!status) status = add_distincts(aggregate, worker, keys, outputs, batch->row_count, selection);
    if (!status) status = nl_aggregate_add(aggregate, worker, keys, outputs, batch->row_count, selection, -1);
    for (uint32_t i = 0; i < aggregate->table_keys; i++)
        nl_vector_fini(&keys[i]);
    free(keys);
    return status;
}

static nl_status aggregate_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    nl_aggregate *aggregate = NL_CONTAINER(self, aggregate_operator, base)->aggregate;
    nl_vector *outputs = calloc((size_t)aggregate->output_count + 1, sizeof *outputs);
    if (!outputs) return nl_out_of_memory(aggregate->output_count * sizeof *outputs);
    nl_status status = nl_programs_run(&aggregate->programs, worker->index, batch, outputs);
    const uint32_t set_count = aggregate->has_sets ? aggregate->node->aggregate.grouping_set_count : 1;
    bool is_finest = false;
    if (!status) status = nl_aggregate_begin_finest(aggregate, &aggregate->workers[worker->index], nl_batch_selection(batch).count, &is_finest);
    if (is_finest && !status) status = add_set(aggregate, worker->index, outputs, batch, aggregate->set_order[0]);
    for (uint32_t set = 0; set < set_count && !is_finest && !status; set++)
        status = add_set(aggregate, worker->index, outputs, batch, set);
    for (uint32_t i = 0; i < aggregate->output_count; i++)
        nl_vector_fini(&outputs[i]);
    free(outputs);
    return status;
}

static void free_aggregate(nl_aggregate *aggregate)
{
    nl_programs_fini(&aggregate->programs);
    for (uint32_t i = 0; i < aggregate->exec->worker_count; i++) {
        nl_agg_worker *worker = &aggregate->workers[i];
        nl_aggregate_destroy_rows(aggregate, &worker->eval, &worker->table);
        for (uint32_t c = 0; worker->global && c < aggregate->call_count; c++) {
            const nl_agg_call *call = &aggregate->calls[c];
            if (call->function->aggregate->destroy)
                call->function->aggregate->destroy(call->function, &worker->eval, worker->global + call->state_offset);
        }
        nl_group_table_fini(&worker->table);
        for (uint32_t p = 0; p < NL_GROUP_PARTS; p++)
            nl_spill_free(worker->spills[p]);
        free(worker->states);
        free(worker->global);
        free(worker->by_code);
        free(worker->finest);
    }
    for (uint32_t d = 0; d < aggregate->distinct_count; d++)
        free_aggregate(aggregate->distincts[d].dedupe);
}

static void aggregate_free(nl_operator *self)
{
    nl_aggregate *aggregate = NL_CONTAINER(self, aggregate_operator, base)->aggregate;
    if (aggregate) free_aggregate(aggregate);
}

static nl_status aggregate_finish_worker(nl_operator *self, nl_worker *worker)
{
    nl_aggregate *aggregate = NL_CONTAINER(self, aggregate_operator, base)->aggregate;
    nl_agg_worker *own = &aggregate->workers[worker->index];
    NL_TRY(nl_aggregate_make_sets(aggregate, own, false));
    nl_metric_note_memory(self->metric, &own->peak_bytes, nl_group_table_bytes(&own->table));
    if (!own->has_spilled || own->table.row_count == 0 || self->exec->query->force_spill) return NULL;
    return nl_aggregate_spill(aggregate, own, &own->table, own->spills, 0); /* merging needs the memory */
}

static const nl_operator_ops aggregate_ops = {
    .name = "aggregate", .push = aggregate_push, .finish_worker = aggregate_finish_worker, .free = aggregate_free};

/* Feeds what a DISTINCT left into the main table. */
typedef struct feed_operator {
    nl_operator base;
    nl_aggregate *aggregate;
    uint32_t distinct_set;
} feed_operator;

static nl_status feed_push(nl_operator *self, nl_worker *worker, nl_batch *batch)
{
    const feed_operator *feed = NL_CONTAINER(self, feed_operator, base);
    nl_aggregate *aggregate = feed->aggregate;
    const nl_agg_distinct *distinct = &aggregate->distincts[feed->distinct_set];
    /* The calls find their arguments where the program would have put them. */
    nl_vector *outputs = calloc((size_t)aggregate->output_count + 1, sizeof *outputs);
    if (!outputs) return nl_out_of_memory(aggregate->output_count * sizeof *outputs);
    for (uint32_t i = 0; i < distinct->argument_count; i++)
        outputs[distinct->argument_first + i] = batch->columns[aggregate->table_keys + i]; /* borrowed */
    nl_status status = nl_aggregate_add(aggregate, worker->index, batch->columns, outputs, batch->row_count, nl_batch_selection(batch),
                                        (int32_t)feed->distinct_set);
    free(outputs);
    return status;
}

static const nl_operator_ops feed_ops = {.name = "distinct", .push = feed_push};

static nl_status new_worker_states(nl_aggregate *aggregate, bool is_global)
{
    nl_exec *exec = aggregate->exec;
    aggregate->workers = NL_NEW_ARRAY(exec->arena, nl_agg_worker, exec->worker_count);
    for (uint32_t i = 0; i < exec->worker_count; i++) {
        nl_agg_worker *worker = &aggregate->workers[i];
        worker->eval = (nl_eval){.confs = exec->query->confs, .memory = exec->query->memory, .worker = i};
        nl_group_table_init(&worker->table, exec, &aggregate->layout, aggregate->table_keys);
        if (!is_global) continue;
        worker->global = aligned_alloc(64, (aggregate->layout.row_bytes + 63u) / 64 * 64);
        if (!worker->global) return nl_out_of_memory(aggregate->layout.row_bytes);
        memset(worker->global, 0, aggregate->layout.row_bytes);
        for (uint32_t c = 0; c < aggregate->call_count; c++) {
            const nl_agg_call *call = &aggregate->calls[c];
            if (call->function->aggregate->init) call->function->aggregate->init(call->function, worker->global + call->state_offset);
        }
    }
    return NULL;
}

/* Layout, spill types and workers for keys of these types. */
static nl_status lay_out(nl_aggregate *aggregate, const nl_type *const *key_types, bool is_global)
{
    nl_exec *exec = aggregate->exec;
    nl_row_layout_init(&aggregate->layout, exec->arena, key_types, aggregate->table_keys, sizeof(nl_group_header));
    aggregate->spill_types = NL_NEW_ARRAY(exec->arena, const nl_type *, aggregate->table_keys + aggregate->call_count);
    for (uint32_t i = 0; i < aggregate->table_keys; i++)
        aggregate->spill_types[i] = key_types[i];
    for (uint32_t c = 0; c < aggregate->call_count; c++) {
        nl_agg_call *call = &aggregate->calls[c];
        call->state_offset = nl_row_layout_extend(&aggregate->layout, call->function->aggregate->state_size(call->function));
        aggregate->spill_types[aggregate->table_keys + c] = call->function->partial_type;
    }
    return new_worker_states(aggregate, is_global);
}

static nl_aggregate *new_aggregate(nl_exec *exec, const nl_logical *node)
{
    nl_aggregate *aggregate = NL_NEW(exec->arena, nl_aggregate);
    aggregate->exec = exec;
    aggregate->node = node;
    aggregate->metric_node = node;
    aggregate->programs.exec = exec;
    return aggregate;
}

static nl_status new_dedupe(nl_aggregate *aggregate, nl_agg_distinct *distinct, const nl_type *const *key_types, const nl_expr *const *exprs)
{
    nl_exec *exec = aggregate->exec;
    nl_aggregate *dedupe = new_aggregate(exec, aggregate->node);
    distinct->dedupe = dedupe;
    dedupe->metric_node = NULL;
    dedupe->table_keys = dedupe->key_count = aggregate->table_keys + distinct->argument_count;
    dedupe->metric = aggregate->metric;
    const nl_type **types = NL_NEW_ARRAY(exec->arena, const nl_type *, dedupe->table_keys);
    for (uint32_t i = 0; i < dedupe->table_keys; i++)
        types[i] = i < aggregate->table_keys ? key_types[i] : exprs[distinct->argument_first + i - aggregate->table_keys]->type;
    return lay_out(dedupe, types, false);
}

typedef struct plan_state {
    nl_aggregate *aggregate;
    nl_list exprs; /* the program's outputs */
} plan_state;

static nl_status add_output(plan_state *plan, const nl_expr *expr)
{
    nl_exec *exec = plan->aggregate->exec;
    NL_TRY(nl_resolve_subqueries(exec, expr, &expr));
    nl_list_add(exec->arena, &plan->exprs, NL_UNCONST(expr));
    return NULL;
}

/* The argument of a call with a filter is evaluated only where the filter lets it: elsewhere it must not fail. */
static const nl_expr *argument_of(const plan_state *plan, const nl_expr *call, uint32_t at)
{
    const nl_expr *argument = call->children[at];
    if (!call->filter || !nl_expr_can_fail(argument)) return argument;
    nl_expr *guarded = nl_expr_new(plan->aggregate->exec->arena, NL_EXPR_CASE, argument->type, (const nl_expr *[]){call->filter, argument}, 2);
    guarded->is_nullable = true;
    return guarded;
}

static bool is_same_distinct(const plan_state *plan, const nl_agg_distinct *distinct, const nl_expr *expr)
{
    if (distinct->argument_count != expr->child_count || (distinct->filter >= 0) != (expr->filter != NULL)) return false;
    for (uint32_t i = 0; i < expr->child_count; i++)
        if (!nl_expr_equal(plan->exprs.items[distinct->argument_first + i], argument_of(plan, expr, i))) return false;
    return !expr->filter || nl_expr_equal(plan->exprs.items[distinct->filter], expr->filter);
}

static nl_status plan_call(plan_state *plan, const nl_expr *expr, nl_agg_call *call)
{
    nl_aggregate *aggregate = plan->aggregate;
    *call = (nl_agg_call){.function = expr->call, .filter = -1, .distinct_set = -1, .argument_count = expr->child_count, .span = expr->span};
    for (uint32_t d = 0; expr->is_distinct && d < aggregate->distinct_count; d++) {
        if (!is_same_distinct(plan, &aggregate->distincts[d], expr)) continue;
        call->distinct_set = (int32_t)d;
        call->argument_first = aggregate->distincts[d].argument_first;
        return NULL;
    }
    call->argument_first = plan->exprs.count;
    for (uint32_t i = 0; i < expr->child_count; i++) {
        if (expr->is_distinct) NL_TRY(nl_check_bytewise(expr->children[i], "DISTINCT over", aggregate->exec->query->text));
        NL_TRY(add_output(plan, argument_of(plan, expr, i)));
    }
    if (expr->filter) {
        call->filter = (int32_t)plan->exprs.count;
        NL_TRY(add_output(plan, expr->filter));
    }
    if (expr->is_distinct) {
        call->distinct_set = (int32_t)aggregate->distinct_count;
        aggregate->distincts[aggregate->distinct_count++] =
            (nl_agg_distinct){.argument_first = call->argument_first, .argument_count = call->argument_count, .filter = call->filter};
    }
    return NULL;
}

static nl_status plan_outputs(plan_state *plan)
{
    nl_aggregate *aggregate = plan->aggregate;
    const nl_logical *node = aggregate->node;
    nl_exec *exec = aggregate->exec;
    for (uint32_t i = 0; i < node->aggregate.key_count; i++) {
        NL_TRY(nl_check_bytewise(node->aggregate.keys[i], "Grouping by", exec->query->text));
        NL_TRY(add_output(plan, node->aggregate.keys[i]));
    }
    aggregate->call_count = node->aggregate.aggregate_count;
    aggregate->calls = NL_NEW_ARRAY(exec->arena, nl_agg_call, aggregate->call_count);
    aggregate->distincts = NL_NEW_ARRAY(exec->arena, nl_agg_distinct, aggregate->call_count);
    for (uint32_t c = 0; c < aggregate->call_count; c++)
        NL_TRY(plan_call(plan, node->aggregate.aggregates[c], &aggregate->calls[c]));
    aggregate->output_count = plan->exprs.count;
    return NULL;
}

static nl_status add_pipelines(nl_aggregate *aggregate, nl_pipeline *input)
{
    nl_exec *exec = aggregate->exec;
    aggregate_operator *operator = NL_NEW(exec->arena, aggregate_operator);
    nl_operator_init(&operator->base, &aggregate_ops, exec, aggregate->metric_node, "grouping");
    operator->aggregate = aggregate;
    aggregate->metric = operator->base.metric;
    for (uint32_t d = 0; d < aggregate->distinct_count; d++)
        aggregate->distincts[d].dedupe->metric = aggregate->metric;
    nl_pipeline_append(input, &operator->base);
    nl_exec_add_pipeline(exec, input);
    for (uint32_t d = 0; d < aggregate->distinct_count; d++) {
        feed_operator *feed = NL_NEW(exec->arena, feed_operator);
        nl_operator_init(&feed->base, &feed_ops, exec, aggregate->node, "distinct");
        feed->aggregate = aggregate;
        feed->distinct_set = d;
        nl_pipeline *pipeline = nl_pipeline_new(exec, nl_aggregate_source(aggregate->distincts[d].dedupe));
        nl_pipeline_append(pipeline, &feed->base);
        nl_exec_add_pipeline(exec, pipeline);
    }
    return NULL;
}

/* first, last, collect_list … over sorted rows: what they give depends on the order, so one worker takes it as it comes. */
static bool depends_on_order(const nl_logical *node)
{
    bool depends = false;
    for (uint32_t c = 0; c < node->aggregate.aggregate_count; c++) depends = depends || !node->aggregate.aggregates[c]->call->is_deterministic;
    const nl_logical *input = node->children[0];
    while (input->kind == NL_PLAN_PROJECT || input->kind == NL_PLAN_FILTER || input->kind == NL_PLAN_ALIAS) input = input->children[0];
    return depends && input->kind == NL_PLAN_SORT && input->sort.is_global;
}

nl_status nl_build_aggregate(nl_exec *exec, const nl_logical *node, nl_pipeline **out)
{
    nl_pipeline *input = NULL;
    nl_aggregate *aggregate = new_aggregate(exec, node);
    plan_state plan = {.aggregate = aggregate};
    NL_TRY(nl_build_wanted(exec, node->children[0], nl_wanted_below(exec, node, NULL), &input));
    input->is_serial = input->is_serial || depends_on_order(node);
    aggregate->has_sets = node->aggregate.grouping_sets != NULL;
    aggregate->key_count = node->aggregate.key_count;
    aggregate->table_keys = aggregate->key_count + aggregate->has_sets;
    NL_TRY(plan_outputs(&plan));
    nl_aggregate_plan_sets(aggregate);
    const nl_expr *const *exprs = (const nl_expr *const *)(void *)plan.exprs.items;
    for (uint32_t i = 0; i < plan.exprs.count; i++)
        if (!nl_expr_is_deterministic(exprs[i])) input->is_serial = true;
    NL_TRY(nl_programs_init(&aggregate->programs, exec, exprs, plan.exprs.count, node->children[0]->columns, node->children[0]->column_count));
    const nl_type **key_types = NL_NEW_ARRAY(exec->arena, const nl_type *, aggregate->table_keys);
    for (uint32_t i = 0; i < aggregate->key_count; i++)
        key_types[i] = exprs[i]->type;
    if (aggregate->has_sets) key_types[aggregate->key_count] = nl_type_int();
    NL_TRY(lay_out(aggregate, key_types, aggregate->table_keys == 0));
    for (uint32_t d = 0; d < aggregate->distinct_count; d++)
        NL_TRY(new_dedupe(aggregate, &aggregate->distincts[d], key_types, exprs));
    NL_TRY(add_pipelines(aggregate, input));
    *out = nl_pipeline_new(exec, nl_aggregate_source(aggregate));
    return NULL;
}

nl_status nl_build_distinct(nl_exec *exec, const nl_logical *node, nl_pipeline **out)
{
    nl_pipeline *input = NULL;
    NL_TRY(nl_build(exec, node->children[0], &input));
    nl_logical *grouped = nl_logical_new(exec->arena, NL_PLAN_AGGREGATE, node->children, 1);
    const nl_expr **keys = NL_NEW_ARRAY(exec->arena, const nl_expr *, node->column_count);
    for (uint32_t i = 0; i < node->column_count; i++) {
        const nl_column *column = &node->children[0]->columns[i];
        keys[i] = nl_expr_column(exec->arena, column->id, column->name, column->type, column->is_nullable);
        NL_TRY(nl_check_bytewise(keys[i], "DISTINCT over", exec->query->text));
    }
    grouped->columns = node->columns;
    grouped->column_count = node->column_count;
    grouped->aggregate.keys = keys;
    grouped->aggregate.key_count = node->column_count;
    nl_aggregate *aggregate = new_aggregate(exec, grouped);
    aggregate->metric_node = node;
    aggregate->table_keys = aggregate->key_count = aggregate->output_count = node->column_count;
    NL_TRY(nl_programs_init(&aggregate->programs, exec, keys, node->column_count, node->children[0]->columns, node->column_count));
    NL_TRY(lay_out(aggregate, nl_column_types(exec->arena, node->columns, node->column_count), false));
    NL_TRY(add_pipelines(aggregate, input));
    *out = nl_pipeline_new(exec, nl_aggregate_source(aggregate));
    return NULL;
}
