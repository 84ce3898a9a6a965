/* exec/sink/iceberg_sink.c - rows to data files, deleted positions to delete files.
 *
 * Which rows share a file is the layout's matter (layout.h). Unordered rows: of a partitioned table by partition
 * (partition_writers.h); of another one, a writer per worker once there are many rows. Ordered rows: the plan is sorted,
 * as a whole or each worker's rows for themselves, and each worker writes the part that it reads from the sort: files
 * of disjoint ranges (Spark's range distribution), or of whole partitions (hash), or of what one worker had (none).
 */
#include "exec/sinks.h"

#include <stdlib.h>

#include "exec/engine.h"
#include "exec/sink/layout.h"
#include "exec/sink/partition_writers.h"
#include "exec/sink/position_deletes.h"
#include "exec/sink/sort_plan.h"

#define SHARED_ROWS_MAX  (1 << 16)
struct nl_iceberg_sink {
    nl_parallel_sink parallel;
    nl_consumer consumer;
    nl_write_target target;
    nl_iceberg_table *table;          /* counted */
    const nl_snapshot *snapshot;      /* merge-on-read: what positions refer to */
    bool is_delta;
    nl_distribution_mode mode;
    bool is_serial;                   /* one thread writes all rows in the plan's order */
    bool is_ordered;                  /* a worker's rows lie in files in the order in which they come */
    bool shares_writers;              /* unpartitioned: one writer for all workers */
    bool deletes_by_partition;
    uint32_t column_count;            /* of the table's schema: the first columns of every row */
    nl_partition_writers *partitions; /* or NULL: unpartitioned */
    nl_data_writer **workers;         /* unpartitioned: one per worker */
    nl_mutex first_mutex;             /* guards workers[0], which the others use too while there are few rows */
    nl_position_set **positions;      /* merge-on-read: one per worker */
    uint32_t worker_count;
    atomic_int_fast64_t row_count;
};

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
    if (self->partitions) return nl_partition_writers_append(self->partitions, worker, rows);
    if (worker == 0 || self->shares_writers || (rows_before < SHARED_ROWS_MAX && !self->is_ordered)) return write_first(self, rows);
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
    int64_t deleted_only = 0;
    split->deleted = NL_NEW_ARRAY(arena, uint32_t, batch->row_count);
    split->inserted = NL_NEW_ARRAY(arena, uint32_t, batch->row_count);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        const int32_t operation = operations[nl_reader_index(&reader, row)];
        if (operation & OPERATION_DELETE) split->deleted[split->deleted_count++] = row;
        if (operation & OPERATION_INSERT) split->inserted[split->inserted_count++] = row;
        deleted_only += !(operation & OPERATION_INSERT) && (operation & OPERATION_DELETE);
    }
    atomic_fetch_add_explicit(&self->row_count, deleted_only, memory_order_relaxed); /* the others are counted as they are written */
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

/* ---- the two ways of running ----------------------------------------------------------------------------------- */

static nl_status start(nl_iceberg_sink *self, uint32_t worker_count)
{
    self->workers = calloc(worker_count, sizeof(*self->workers));
    self->positions = calloc(worker_count, sizeof(*self->positions));
    if (!self->workers || !self->positions) return nl_out_of_memory(worker_count * sizeof(*self->workers));
    self->worker_count = worker_count;
    return self->partitions ? nl_partition_writers_start(self->partitions, worker_count) : NULL;
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
    if (self->partitions) return nl_partition_writers_finish_worker(self->partitions, worker);
    if (worker > 0) return self->workers[worker] ? nl_data_writer_flush(self->workers[worker]) : NULL;
    /* While others may still bring rows for it, it is flushed at the very end. */
    nl_mutex_lock(&self->first_mutex);
    const bool is_its_own = !self->shares_writers && (self->is_ordered || atomic_load(&self->row_count) >= SHARED_ROWS_MAX);
    const bool is_complete = self->workers[0] && is_its_own;
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
    if (!sink->is_serial) return nl_query_run_parallel(query, plan, &sink->parallel);
    NL_TRY(start(sink, 1));
    NL_TRY(nl_query_run(query, plan, &sink->consumer));
    return finish_worker(&sink->parallel, 0);
}

/* ---- making, finishing ----------------------------------------------------------------------------------------- */

static nl_status make_partitions(nl_iceberg_sink *self, const nl_write_options *options, const nl_write_layout *layout)
{
    const bool is_clustered = layout->order->field_count > 0 || layout->checks_clusters;
    /* A cluster of files is large: its rows are not worth that workers wait for each other. */
    const bool is_own = layout->mode == NL_DISTRIBUTE_NONE || options->has_clusters;
    const nl_partition_writing how = {
        .sharing = is_clustered ? NL_PARTITIONS_CLUSTERED : is_own ? NL_PARTITIONS_OWN : NL_PARTITIONS_SHARED,
        .refuses_unclustered = layout->checks_clusters,
        .cluster_column = options->has_clusters ? (int32_t)self->column_count : NL_NONE,
    };
    return self->target.spec->field_count > 0 || options->has_clusters ? nl_partition_writers_new(&self->target, &how, &self->partitions) : NULL;
}

/* The plan with the order that the layout asks for. */
static nl_status order_plan(nl_iceberg_sink *self, const nl_write_layout *layout, bool has_clusters, const nl_logical *input, const nl_logical **plan)
{
    nl_arena *arena = self->target.query->arena;
    *plan = input;
    if (layout->order->field_count == 0) return NULL;
    NL_TRY(nl_sort_by_order(arena, self->target.schema, layout->order, input, plan));
    nl_logical *sort = (nl_logical *)(uintptr_t)*plan; /* made for us */
    self->is_ordered = true;
    sort->sort.parts = layout->mode == NL_DISTRIBUTE_NONE ? NL_SORT_OWN_ROWS : NL_SORT_PART_PER_WORKER;
    sort->sort.partition_count = layout->mode == NL_DISTRIBUTE_HASH ? layout->partition_key_count : 0;
    if (has_clusters) { /* they are this write's partitions */
        nl_sort_key *keys = NL_NEW_ARRAY(arena, nl_sort_key, sort->sort.key_count + 1);
        keys[0] = (nl_sort_key){.expr = nl_column_ref(arena, &input->columns[self->column_count])};
        memcpy(keys + 1, sort->sort.keys, sort->sort.key_count * sizeof(*keys));
        sort->sort.keys = keys;
        sort->sort.key_count++;
        sort->sort.partition_count = 1;
        return NULL;
    }
    /* Partitions that the order only implies cannot be told from its keys: one part, so that none is cut through. */
    self->is_serial = layout->mode == NL_DISTRIBUTE_HASH && layout->partition_key_count == 0 && self->partitions;
    if (self->is_serial) sort->sort.parts = NL_SORT_RANGES;
    return NULL;
}

static nl_status plan_layout(nl_iceberg_sink *self, const nl_write_options *options, const nl_logical *input, const nl_logical **plan)
{
    nl_write_layout layout;
    NL_TRY(nl_write_layout_choose(self->target.query->arena, self->target.metadata, self->target.spec, options, self->is_delta, &layout));
    self->mode = layout.mode;
    NL_TRY(make_partitions(self, options, &layout));
    NL_TRY(order_plan(self, &layout, options->has_clusters, input, plan));
    if (options->keeps_plan_order || layout.checks_clusters) self->is_serial = true;
    self->shares_writers = options->shares_writers;
    return NULL;
}

static nl_status new_sink(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_write_options *options, nl_iceberg_sink **sink)
{
    nl_iceberg_sink *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    nl_status status = nl_write_target_init(&self->target, query, table, metadata, options);
    if (status) {
        free(self);
        return status;
    }
    self->parallel = (nl_parallel_sink){.start = parallel_start, .consume = parallel_consume, .finish_worker = finish_worker};
    self->consumer = (nl_consumer){.consume = ordered_consume};
    self->table = nl_iceberg_table_retain(table);
    self->column_count = self->target.file_type->child_count;
    self->deletes_by_partition = options->deletes_by_partition;
    nl_mutex_init(&self->first_mutex);
    *sink = self;
    return NULL;
}

static nl_status plan_sink(nl_iceberg_sink **sink, const nl_write_options *options, const nl_logical *input, const nl_logical **plan)
{
    nl_status status = plan_layout(*sink, options, input, plan);
    if (status) {
        nl_iceberg_sink_free(*sink);
        *sink = NULL;
    }
    return status;
}

nl_status nl_iceberg_append_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_write_options *options,
                                 const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink)
{
    NL_TRY(new_sink(query, table, metadata, options, sink));
    return plan_sink(sink, options, input, plan);
}

nl_status nl_iceberg_delta_plan(nl_query *query, nl_iceberg_table *table, const nl_table_metadata *metadata, const nl_snapshot *snapshot,
                                const nl_write_options *options, const nl_logical *input, const nl_logical **plan, nl_iceberg_sink **sink)
{
    NL_TRY(new_sink(query, table, metadata, options, sink));
    (*sink)->is_delta = true;
    (*sink)->snapshot = snapshot;
    return plan_sink(sink, options, input, plan);
}

void nl_iceberg_sink_describe(const nl_iceberg_sink *self, nl_str name, nl_builder *out)
{
    static const char *const modes[] = {"none", "hash", "range"};
    nl_append_f(out, "IcebergWrite(table=" NL_STR_FMT ", format=%s, distribution=%s", NL_STR_ARG(name), nl_file_format_name(self->target.data.format), modes[self->mode]);
    const nl_partition_spec *spec = self->target.spec;
    for (uint32_t i = 0; i < spec->field_count && self->mode == NL_DISTRIBUTE_HASH; i++) {
        const nl_sort_field field = {.transform = spec->fields[i].transform, .source_id = spec->fields[i].source_id};
        const nl_sort_order order = {.order_id = 1, .field_count = 1, .fields = &field};
        const nl_str text = nl_sort_order_describe(self->target.query->arena, &order, self->target.schema);
        nl_append_c(out, i ? ", " : " by ");
        nl_append(out, nl_str_slice(text, 0, text.length - sizeof " ASC NULLS FIRST" + 1));
    }
    nl_append_char(out, ')');
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
    if (self->partitions) NL_TRY(nl_partition_writers_finish(self->partitions));
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
    nl_partition_writers_free(self->partitions);
    for (uint32_t i = 0; i < self->worker_count; i++) {
        nl_data_writer_free(self->workers[i]);
        nl_position_set_free(self->positions[i]);
    }
    free(self->workers);
    free(self->positions);
    nl_write_target_fini(&self->target);
    nl_iceberg_table_release(self->table);
    nl_mutex_fini(&self->first_mutex);
    free(self);
}
