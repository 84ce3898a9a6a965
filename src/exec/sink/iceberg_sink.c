/* exec/sink/iceberg_sink.c - rows to the data files of their partitions, deleted positions to delete files.
 *
 * Partitioned tables: one writer per partition, shared by all workers and guarded by its lock, so that a partition gets
 * one file and not one per worker (Spark's hash distribution). When so many partitions are open that memory or
 * descriptors run short, rows of further ones wait on disk by the hash of their tuple and are written after all others,
 * a sixteenth at a time. Unpartitioned ones: a writer per worker, once there are
 * many rows. Sorted tables: the plan is sorted as a
 * whole and written in order by one thread, which gives files of disjoint ranges (Spark's range distribution).
 */
#include "exec/sinks.h"

#include <stdlib.h>

#include "base/hash.h"
#include "exec/engine.h"
#include "exec/sink/data_writer.h"
#include "exec/sink/position_deletes.h"
#include "exec/sink/sort_plan.h"
#include "exec/spill.h"

#define SHARED_ROWS_MAX  (1 << 16)
#define LATE_PARTS_BITS  4u
#define LATE_PARTS       (1u << LATE_PARTS_BITS)
#define LATE_LEVELS      (64 / LATE_PARTS_BITS)
#define SLOTS_MIN        8u
#define SLOT_BYTES       (64u << 10) /* an open file needs about this much, and as much again for every few columns */
#define COLUMNS_PER_SLOT_BYTES 2u

typedef struct partition_slot {
    nl_value *values; /* in the sink's arena */
    uint64_t hash;
    nl_data_writer *writer;
    nl_mutex mutex;   /* guards writer */
} partition_slot;

typedef struct late_rows { /* of partitions that came when too many were open; the table's columns */
    nl_spill *parts[LATE_PARTS]; /* by bits of the tuple's hash */
    bool has_any;
} late_rows;

struct nl_iceberg_sink {
    nl_parallel_sink parallel;
    nl_consumer consumer;
    nl_write_target target;
    nl_iceberg_table *table;          /* counted */
    const nl_snapshot *snapshot;      /* merge-on-read: what positions refer to */
    bool is_delta;
    bool is_ordered;
    bool deletes_by_partition;
    uint32_t column_count;            /* of the table's schema: the first columns of every row */
    nl_arena *arena;                  /* of slots; guarded by mutex */
    nl_mutex mutex;                   /* guards slots */
    nl_list slots;                    /* partition_slot * */
    uint32_t *buckets;                /* index + 1; open addressing */
    uint32_t bucket_mask;
    uint32_t slot_max;                /* partitions open at once */
    nl_mutex late_mutex;              /* guards late and late_types */
    late_rows late;
    uint32_t late_level;              /* which bits: rows from disk are parted by the next ones */
    const nl_type **late_types;
    nl_data_writer **workers;         /* unpartitioned: one per worker */
    nl_mutex first_mutex;             /* guards workers[0], which the others use too while there are few rows */
    nl_position_set **positions;      /* merge-on-read: one per worker */
    uint32_t worker_count;
    atomic_int_fast64_t row_count;
};

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

/* ---- partitions ------------------------------------------------------------------------------------------------ */

/* The column a partition field is made of, nested ones included; null structs give null. */
static nl_status source_vector(nl_iceberg_sink *self, const nl_batch *rows, int32_t source_id, nl_vector *out)
{
    int32_t path[NL_TYPE_DEPTH_MAX];
    uint32_t depth = 0;
    for (int32_t id = source_id; id != 0 && depth < NL_COUNT(path);) {
        const nl_schema_column *column = nl_schema_find_id(self->target.schema, id);
        if (!column) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: %d", source_id);
        path[depth++] = (int32_t)column->position;
        id = column->parent_id;
    }
    nl_memory *memory = self->target.query->memory;
    if (depth == 1) {
        nl_vector_ref(&rows->columns[path[0]], out);
        return NULL;
    }
    nl_vector current = {0};
    NL_TRY(nl_vector_flatten(&rows->columns[path[depth - 1]], true, memory, &current));
    for (uint32_t level = depth - 1; level-- > 0;) {
        nl_vector child = {0};
        nl_status status = nl_vector_flatten(&current.children[path[level]], true, memory, &child);
        uint8_t *bits = NULL;
        if (!status && current.validity) status = nl_vector_make_validity(&child, memory, &bits);
        for (uint32_t row = 0; !status && bits && row < child.length; row++)
            if (nl_vector_is_null(&current, row)) nl_bit_clear(bits, row);
        nl_vector_fini(&current);
        if (status) {
            nl_vector_fini(&child);
            return status;
        }
        current = child;
    }
    nl_vector_move(&current, out);
    return NULL;
}

static nl_status partition_vectors(nl_iceberg_sink *self, const nl_batch *rows, nl_vector *keys)
{
    const nl_partition_spec *spec = self->target.spec;
    for (uint32_t i = 0; i < spec->field_count; i++) {
        nl_vector source = {0};
        const nl_schema_column *column = nl_schema_find_id(self->target.schema, spec->fields[i].source_id);
        if (!column) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: " NL_STR_FMT, NL_STR_ARG(spec->fields[i].name));
        NL_TRY(source_vector(self, rows, spec->fields[i].source_id, &source));
        nl_status status = nl_transform_vector(&spec->fields[i].transform, column->field->type, &source, self->target.query->memory, &keys[i]);
        nl_vector_fini(&source);
        if (status) return status;
    }
    return NULL;
}

static nl_status grow_buckets(nl_iceberg_sink *self)
{
    const uint32_t size = self->bucket_mask ? (self->bucket_mask + 1) * 2 : 64;
    uint32_t *buckets = calloc(size, sizeof(*buckets));
    if (!buckets) return no_memory(size * sizeof(*buckets));
    for (uint32_t i = 0; i < self->slots.count; i++) {
        uint32_t at = (uint32_t)((partition_slot *)self->slots.items[i])->hash & (size - 1);
        while (buckets[at])
            at = (at + 1) & (size - 1);
        buckets[at] = i + 1;
    }
    free(self->buckets);
    self->buckets = buckets;
    self->bucket_mask = size - 1;
    return NULL;
}

/* The slot of a tuple; made when it is new, unless too many are there: then it is NULL. Called with the sink's lock. */
static nl_status slot_of(nl_iceberg_sink *self, const nl_value *values, uint64_t hash, partition_slot **slot)
{
    const uint32_t field_count = self->target.spec->field_count;
    if (self->slots.count * 2 >= self->bucket_mask) NL_TRY(grow_buckets(self));
    uint32_t at = (uint32_t)hash & self->bucket_mask;
    for (; self->buckets[at]; at = (at + 1) & self->bucket_mask) {
        *slot = self->slots.items[self->buckets[at] - 1];
        if ((*slot)->hash == hash && nl_partition_equal((*slot)->values, values, field_count)) return NULL;
    }
    *slot = NULL;
    if (self->slots.count >= self->slot_max && self->late_level < LATE_LEVELS) return NULL;
    partition_slot *made = NL_NEW(self->arena, partition_slot);
    made->hash = hash;
    made->values = NL_NEW_ARRAY(self->arena, nl_value, field_count);
    for (uint32_t i = 0; i < field_count; i++)
        made->values[i] = nl_value_copy(self->arena, &values[i]);
    NL_TRY(nl_data_writer_new(&self->target, made->values, &made->writer));
    nl_mutex_init(&made->mutex);
    nl_list_add(self->arena, &self->slots, made);
    self->buckets[at] = self->slots.count;
    *slot = made;
    return nl_arena_check(self->arena);
}

static nl_status append_to_slot(partition_slot *slot, const nl_batch *rows)
{
    nl_mutex_lock(&slot->mutex);
    nl_status status = nl_data_writer_append(slot->writer, rows);
    nl_mutex_unlock(&slot->mutex);
    return status;
}

/* Rows of one partition: the batch with a selection. */
static nl_status append_selected(partition_slot *slot, const nl_batch *rows, const uint32_t *selected, uint32_t count, nl_memory *memory)
{
    nl_batch part = {0};
    if (count == rows->row_count) return append_to_slot(slot, rows);
    NL_TRY(nl_batch_ref(rows, &part));
    nl_status status = nl_buffer_new(memory, count * sizeof(*selected), false, &part.selection);
    if (!status) {
        memcpy(part.selection->data, selected, count * sizeof(*selected));
        part.is_selective = true;
        part.selected_count = count;
        status = nl_batch_compact(&part, memory);
    }
    if (!status) status = append_to_slot(slot, &part);
    nl_batch_fini(&part);
    return status;
}

typedef struct row_groups { /* rows of a batch by partition */
    uint32_t *first_rows;   /* a row of each group */
    uint32_t *group_of;     /* per row */
    uint32_t group_count;
} row_groups;

static bool is_same_key(const nl_vector *key, uint32_t a, uint32_t b, nl_arena *arena)
{
    const bool left = nl_vector_is_null(key, a), right = nl_vector_is_null(key, b);
    if (left || right) return left == right;
    if (key->type->physical != NL_PHYS_F32 && key->type->physical != NL_PHYS_F64) return nl_vector_row_equal(key, a, key, b);
    const nl_value values[] = {nl_vector_value(key, a, arena), nl_vector_value(key, b, arena)};
    return nl_partition_equal(&values[0], &values[1], 1); /* it tells 0.0 from -0.0 */
}

/* Rows with equal keys get one group number: neighbours first, then by hash. */
static nl_status group_rows(const nl_vector *keys, uint32_t key_count, uint32_t row_count, const uint64_t *hashes, nl_arena *arena, row_groups *groups)
{
    uint32_t size = 64;
    while (size < row_count * 2)
        size *= 2;
    uint32_t *buckets = NL_NEW_ARRAY(arena, uint32_t, size);
    groups->first_rows = NL_NEW_ARRAY(arena, uint32_t, row_count);
    groups->group_of = NL_NEW_ARRAY(arena, uint32_t, row_count);
    groups->group_count = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        uint32_t at = (uint32_t)hashes[row] & (size - 1);
        for (; buckets[at]; at = (at + 1) & (size - 1)) {
            const uint32_t other = groups->first_rows[buckets[at] - 1];
            bool is_equal = hashes[other] == hashes[row];
            for (uint32_t i = 0; is_equal && i < key_count; i++)
                is_equal = is_same_key(&keys[i], row, other, arena);
            if (is_equal) break;
        }
        if (!buckets[at]) {
            groups->first_rows[groups->group_count++] = row;
            buckets[at] = groups->group_count;
        }
        groups->group_of[row] = buckets[at] - 1;
    }
    return nl_arena_check(arena);
}

static nl_status find_slot(nl_iceberg_sink *self, const nl_vector *keys, uint32_t row, nl_arena *arena, partition_slot **slot)
{
    const uint32_t field_count = self->target.spec->field_count;
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, field_count);
    for (uint32_t i = 0; i < field_count; i++)
        values[i] = nl_vector_value(&keys[i], row, arena);
    nl_mutex_lock(&self->mutex);
    nl_status status = slot_of(self, values, nl_partition_hash(values, field_count), slot);
    nl_mutex_unlock(&self->mutex);
    return status;
}

static nl_status write_late_part(nl_iceberg_sink *self, const nl_batch *rows, uint32_t *chosen, uint32_t count, uint32_t part)
{
    nl_query *query = self->target.query;
    nl_spill **spill = &self->late.parts[part];
    if (!*spill) NL_TRY(nl_spill_new(query->spill_directory, self->late_types, rows->column_count, spill));
    self->late.has_any = true;
    nl_buffer view = {.data = (uint8_t *)chosen};
    const nl_batch batch = {.columns = rows->columns, .column_count = rows->column_count, .row_count = rows->row_count,
                            .is_selective = true, .selected_count = count, .selection = &view};
    return nl_spill_write(*spill, &batch, query->memory);
}

static nl_status keep_for_later(nl_iceberg_sink *self, const nl_batch *rows, const uint64_t *hashes, const uint32_t *late, uint32_t late_count, nl_arena *arena)
{
    uint32_t *chosen = NL_NEW_ARRAY(arena, uint32_t, late_count);
    nl_status status = nl_arena_check(arena);
    nl_mutex_lock(&self->late_mutex);
    if (!status && !self->late_types) {
        self->late_types = calloc(rows->column_count, sizeof(*self->late_types));
        if (!self->late_types) status = no_memory(rows->column_count * sizeof(*self->late_types));
        for (uint32_t i = 0; i < rows->column_count && !status; i++)
            self->late_types[i] = rows->columns[i].type;
    }
    const uint32_t shift = 64 - LATE_PARTS_BITS * (self->late_level + 1);
    for (uint32_t part = 0; part < LATE_PARTS && !status; part++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < late_count; i++) {
            chosen[count] = late[i];
            count += (hashes[late[i]] >> shift & (LATE_PARTS - 1)) == part;
        }
        if (count > 0) status = write_late_part(self, rows, chosen, count, part);
    }
    nl_mutex_unlock(&self->late_mutex);
    return status;
}

static nl_status route_groups(nl_iceberg_sink *self, const nl_batch *rows, const nl_vector *keys, nl_arena *arena)
{
    const uint32_t key_count = self->target.spec->field_count, row_count = rows->row_count;
    uint64_t *hashes = NL_NEW_ARRAY(arena, uint64_t, row_count);
    row_groups groups;
    for (uint32_t i = 0; i < key_count; i++)
        NL_TRY(nl_vector_hash(&keys[i], row_count, i > 0, hashes));
    NL_TRY(group_rows(keys, key_count, row_count, hashes, arena, &groups));
    uint32_t *starts = NL_NEW_ARRAY(arena, uint32_t, groups.group_count + 1);
    uint32_t *ordered = NL_NEW_ARRAY(arena, uint32_t, row_count);
    for (uint32_t row = 0; row < row_count; row++)
        starts[groups.group_of[row] + 1]++;
    for (uint32_t g = 0; g < groups.group_count; g++)
        starts[g + 1] += starts[g];
    uint32_t *next = NL_NEW_ARRAY(arena, uint32_t, groups.group_count);
    memcpy(next, starts, groups.group_count * sizeof(*next));
    for (uint32_t row = 0; row < row_count; row++)
        ordered[next[groups.group_of[row]]++] = row;
    uint32_t *late = NL_NEW_ARRAY(arena, uint32_t, row_count);
    uint32_t late_count = 0;
    for (uint32_t g = 0; g < groups.group_count; g++) {
        partition_slot *slot = NULL;
        NL_TRY(find_slot(self, keys, groups.first_rows[g], arena, &slot));
        for (uint32_t i = starts[g]; !slot && i < starts[g + 1]; i++)
            late[late_count++] = ordered[i];
        if (!slot) continue;
        NL_TRY(append_selected(slot, rows, ordered + starts[g], starts[g + 1] - starts[g], self->target.query->memory));
    }
    return late_count > 0 ? keep_for_later(self, rows, hashes, late, late_count, arena) : NULL;
}

static nl_status write_partitioned(nl_iceberg_sink *self, const nl_batch *rows)
{
    const uint32_t field_count = self->target.spec->field_count;
    nl_arena *arena = nl_arena_new(self->target.query->memory);
    nl_vector *keys = NL_NEW_ARRAY(arena, nl_vector, field_count);
    nl_status status = partition_vectors(self, rows, keys);
    if (!status) status = route_groups(self, rows, keys, arena);
    for (uint32_t i = 0; i < field_count; i++)
        if (keys[i].type) nl_vector_fini(&keys[i]);
    nl_arena_free(arena);
    return status;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static nl_status write_first(nl_iceberg_sink *self, const nl_batch *rows)
{
    nl_status status = NULL;
    nl_mutex_lock(&self->first_mutex);
    if (!self->workers[0]) status = nl_data_writer_new(&self->target, NULL, &self->workers[0]);
    if (!status) status = nl_data_writer_append(self->workers[0], rows);
    nl_mutex_unlock(&self->first_mutex);
    return status;
}

/* Few rows are one file, however many workers there are: the first rows all go to the first worker's writer. */
static nl_status write_rows(nl_iceberg_sink *self, uint32_t worker, const nl_batch *rows)
{
    if (rows->row_count == 0) return NULL;
    const int64_t rows_before = (int64_t)atomic_fetch_add_explicit(&self->row_count, rows->row_count, memory_order_relaxed);
    if (self->target.spec->field_count > 0) return write_partitioned(self, rows);
    if (worker == 0 || rows_before < SHARED_ROWS_MAX) return write_first(self, rows);
    if (!self->workers[worker]) NL_TRY(nl_data_writer_new(&self->target, NULL, &self->workers[worker]));
    return nl_data_writer_append(self->workers[worker], rows);
}

/* The first columns of a batch as a batch of their own. */
static nl_status table_columns(nl_iceberg_sink *self, const nl_batch *batch, nl_batch *rows)
{
    NL_TRY(nl_batch_init(rows, self->column_count, batch->row_count));
    for (uint32_t i = 0; i < self->column_count; i++)
        nl_vector_ref(&batch->columns[i], &rows->columns[i]);
    return NULL;
}

enum { OPERATION_DELETE = 1, OPERATION_INSERT = 2, OPERATION_UPDATE = 3 };

typedef struct delta_rows {
    uint32_t *deleted, *inserted;
    uint32_t deleted_count, inserted_count;
} delta_rows;

static nl_status split_delta(nl_iceberg_sink *self, const nl_batch *batch, nl_arena *arena, delta_rows *split)
{
    nl_reader reader;
    nl_reader_init(&reader, &batch->columns[self->column_count]);
    const int32_t *operations = reader.values;
    split->deleted = NL_NEW_ARRAY(arena, uint32_t, batch->row_count);
    split->inserted = NL_NEW_ARRAY(arena, uint32_t, batch->row_count);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        const int32_t operation = operations[nl_reader_index(&reader, row)];
        if (operation & OPERATION_DELETE) split->deleted[split->deleted_count++] = row;
        if (operation & OPERATION_INSERT) split->inserted[split->inserted_count++] = row;
    }
    return NULL;
}

static nl_status write_inserted(nl_iceberg_sink *self, uint32_t worker, const nl_batch *batch, const delta_rows *split)
{
    nl_batch rows = {0};
    nl_memory *memory = self->target.query->memory;
    NL_TRY(table_columns(self, batch, &rows));
    nl_status status = NULL;
    if (split->inserted_count < batch->row_count) {
        status = nl_buffer_new(memory, split->inserted_count * sizeof(uint32_t) + 1, false, &rows.selection);
        if (!status) {
            memcpy(rows.selection->data, split->inserted, split->inserted_count * sizeof(uint32_t));
            rows.is_selective = true;
            rows.selected_count = split->inserted_count;
            status = nl_batch_compact(&rows, memory);
        }
    }
    if (!status) status = write_rows(self, worker, &rows);
    nl_batch_fini(&rows);
    return status;
}

static nl_status write_delta(nl_iceberg_sink *self, uint32_t worker, const nl_batch *batch)
{
    nl_arena *arena = nl_arena_new(self->target.query->memory);
    delta_rows split = {0};
    nl_status status = split_delta(self, batch, arena, &split);
    if (!status && split.deleted_count > 0) {
        const nl_selection deleted = {split.deleted, split.deleted_count};
        if (!self->positions[worker]) status = nl_position_set_new(&self->positions[worker]);
        if (!status) status = nl_position_set_add(self->positions[worker], &batch->columns[self->column_count + 1], &batch->columns[self->column_count + 2], deleted);
    }
    if (!status && split.inserted_count > 0) status = write_inserted(self, worker, batch, &split);
    nl_arena_free(arena);
    return status;
}

static nl_status consume_batch(nl_iceberg_sink *self, uint32_t worker, nl_batch *batch)
{
    NL_TRY(nl_batch_compact(batch, self->target.query->memory));
    return self->is_delta ? write_delta(self, worker, batch) : write_rows(self, worker, batch);
}

/* ---- partitions on disk ---------------------------------------------------------------------------------------- */

static nl_status close_slots(nl_iceberg_sink *self)
{
    nl_status status = NULL;
    for (uint32_t i = 0; i < self->slots.count; i++) {
        partition_slot *slot = self->slots.items[i];
        if (!status) status = nl_data_writer_flush(slot->writer);
        nl_data_writer_free(slot->writer);
        nl_mutex_fini(&slot->mutex);
    }
    self->slots.count = 0;
    if (self->buckets) memset(self->buckets, 0, sizeof(*self->buckets) * (self->bucket_mask + 1));
    return status;
}

static nl_status write_spilled(nl_iceberg_sink *self, const nl_spill *spill)
{
    for (uint32_t chunk = 0; chunk < nl_spill_chunk_count(spill); chunk++) {
        nl_batch rows = {0};
        NL_TRY(nl_cancel_check(self->target.query->cancel));
        NL_TRY(nl_spill_read(spill, chunk, self->target.query->memory, &rows));
        nl_status status = write_partitioned(self, &rows);
        nl_batch_fini(&rows);
        if (status) return status;
    }
    return NULL;
}

/* Part after part, each with all its partitions open; those that are still too many wait again, by the next bits. */
static nl_status write_late(nl_iceberg_sink *self)
{
    late_rows late = self->late;
    const uint32_t level = self->late_level;
    nl_status status = NULL;
    self->late = (late_rows){0};
    for (uint32_t part = 0; part < LATE_PARTS; part++) {
        if (late.parts[part] && !status) {
            self->late_level = level + 1;
            status = close_slots(self);
            if (!status) status = write_spilled(self, late.parts[part]);
            if (!status && self->late.has_any) status = write_late(self); /* at most LATE_LEVELS deep */
        }
        nl_spill_free(late.parts[part]);
    }
    self->late_level = level;
    return status;
}

/* ---- the two ways of running ----------------------------------------------------------------------------------- */

static nl_status start(nl_iceberg_sink *self, uint32_t worker_count)
{
    self->workers = calloc(worker_count, sizeof(*self->workers));
    self->positions = calloc(worker_count, sizeof(*self->positions));
    if (!self->workers || !self->positions) return no_memory(worker_count * sizeof(*self->workers));
    self->worker_count = worker_count;
    return NULL;
}

static nl_status parallel_start(nl_parallel_sink *sink, uint32_t worker_count)
{
    return start(NL_CONTAINER(sink, nl_iceberg_sink, parallel), worker_count);
}

static nl_status parallel_consume(nl_parallel_sink *sink, uint32_t worker, nl_batch *batch)
{
    return consume_batch(NL_CONTAINER(sink, nl_iceberg_sink, parallel), worker, batch);
}

static nl_status finish_worker(nl_parallel_sink *sink, uint32_t worker)
{
    nl_iceberg_sink *self = NL_CONTAINER(sink, nl_iceberg_sink, parallel);
    if (worker > 0) return self->workers[worker] ? nl_data_writer_flush(self->workers[worker]) : NULL;
    /* While there are few rows others may still bring some: then it is flushed at the very end. */
    nl_mutex_lock(&self->first_mutex);
    const bool is_complete = self->workers[0] && atomic_load(&self->row_count) >= SHARED_ROWS_MAX;
    nl_status status = is_complete ? nl_data_writer_flush(self->workers[0]) : NULL;
    nl_mutex_unlock(&self->first_mutex);
    return status;
}

static nl_status ordered_consume(nl_consumer *consumer, nl_batch *batch)
{
    return consume_batch(NL_CONTAINER(consumer, nl_iceberg_sink, consumer), 0, batch);
}

nl_status nl_iceberg_sink_run(nl_iceberg_sink *sink, nl_query *query, const nl_logical *plan)
{
    if (sink->is_ordered) {
        NL_TRY(start(sink, 1));
        NL_TRY(nl_query_run(query, plan, &sink->consumer));
        NL_TRY(finish_worker(&sink->parallel, 0));
    } else {
        NL_TRY(nl_query_run_parallel(query, plan, &sink->parallel));
    }
    return sink->late.has_any ? write_late(sink) : NULL;
}

/* ---- making, finishing ----------------------------------------------------------------------------------------- */

static nl_status new_sink(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_write_options *options, nl_iceberg_sink **sink)
{
    nl_iceberg_sink *self = calloc(1, sizeof(*self));
    if (!self) return no_memory(sizeof(*self));
    nl_status status = nl_write_target_init(&self->target, query, table, metadata, options);
    if (status) {
        free(self);
        return status;
    }
    self->parallel = (nl_parallel_sink){.start = parallel_start, .consume = parallel_consume, .finish_worker = finish_worker};
    self->consumer = (nl_consumer){.consume = ordered_consume};
    self->table = nl_iceberg_table_retain(table);
    self->arena = nl_arena_new(query->memory);
    self->column_count = self->target.file_type->child_count;
    self->deletes_by_partition = options->deletes_by_partition;
    nl_mutex_init(&self->mutex);
    nl_mutex_init(&self->first_mutex);
    nl_mutex_init(&self->late_mutex);
    const size_t slot_bytes = SLOT_BYTES * (1 + (size_t)self->column_count / COLUMNS_PER_SLOT_BYTES);
    self->slot_max = (uint32_t)NL_MAX(NL_MIN(self->target.memory_max / slot_bytes, (size_t)self->target.open_max), SLOTS_MIN);
    *sink = self;
    return NULL;
}

nl_status nl_iceberg_append_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_write_options *options,
                                 const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink)
{
    NL_TRY(new_sink(query, table, metadata, options, sink));
    nl_status status = options->ignores_order ? NULL : nl_sort_for_table(query->arena, metadata, input, plan, &(*sink)->is_ordered);
    if (options->ignores_order) *plan = input;
    if (!status && options->keeps_plan_order) (*sink)->is_ordered = true;
    if (status) {
        nl_iceberg_sink_free(*sink);
        *sink = NULL;
    }
    return status;
}

nl_status nl_iceberg_delta_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot,
                                const nl_write_options *options, const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink)
{
    NL_TRY(new_sink(query, table, metadata, options, sink));
    (*sink)->is_delta = true;
    (*sink)->snapshot = snapshot;
    *plan = input;
    return NULL;
}

static nl_status merge_positions(nl_iceberg_sink *self, nl_position_set **merged)
{
    for (uint32_t i = 0; i < self->worker_count; i++) {
        if (!self->positions[i]) continue;
        if (!*merged)
            *merged = self->positions[i];
        else
            NL_TRY(nl_position_set_merge(*merged, self->positions[i]));
    }
    return NULL;
}

nl_status nl_iceberg_sink_finish(nl_iceberg_sink *self, nl_arena *arena, nl_written_files *files)
{
    nl_position_set *positions = NULL;
    *files = (nl_written_files){0};
    for (uint32_t i = 0; i < self->slots.count; i++)
        NL_TRY(nl_data_writer_flush(((partition_slot *)self->slots.items[i])->writer));
    if (self->worker_count > 0 && self->workers[0]) NL_TRY(nl_data_writer_flush(self->workers[0]));
    NL_TRY(merge_positions(self, &positions));
    if (positions) NL_TRY(nl_position_set_write(positions, &self->target, self->table, self->snapshot, self->deletes_by_partition, false, arena, files));
    files->data_files = NL_NEW_ARRAY(arena, nl_data_file, self->target.files.count);
    for (uint32_t i = 0; i < self->target.files.count; i++)
        files->data_files[files->data_file_count++] =
            nl_data_file_copy(arena, self->target.files.items[i], self->target.spec->field_count);
    files->row_count = atomic_load(&self->row_count);
    return nl_arena_check(arena);
}

void nl_iceberg_sink_discard(nl_iceberg_sink *self)
{
    for (uint32_t i = 0; i < self->target.paths.count; i++) /* what cannot be removed stays as an orphan */
        nl_error_free(nl_fs_remove(self->target.fs, *(const nl_str *)self->target.paths.items[i]));
}

void nl_iceberg_sink_free(nl_iceberg_sink *self)
{
    if (!self) return;
    for (uint32_t i = 0; i < self->slots.count; i++) {
        partition_slot *slot = self->slots.items[i];
        nl_data_writer_free(slot->writer);
        nl_mutex_fini(&slot->mutex);
    }
    for (uint32_t part = 0; part < LATE_PARTS; part++)
        nl_spill_free(self->late.parts[part]);
    free(self->late_types);
    nl_mutex_fini(&self->late_mutex);
    for (uint32_t i = 0; i < self->worker_count; i++) {
        nl_data_writer_free(self->workers[i]);
        nl_position_set_free(self->positions[i]);
    }
    free(self->workers);
    free(self->positions);
    free(self->buckets);
    nl_write_target_fini(&self->target);
    nl_iceberg_table_release(self->table);
    nl_arena_free(self->arena);
    nl_mutex_fini(&self->mutex);
    nl_mutex_fini(&self->first_mutex);
    free(self);
}
