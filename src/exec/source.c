/* exec/source.c - scans, VALUES, RANGE, and nothing at all. */
#include "exec/engine.h"

#define RANGE_MORSEL_ROWS 65536u /* big enough to hand out rarely, small enough to keep all workers busy to the end */

typedef struct scan_source {
    nl_source base;
    const nl_logical *node;
    nl_scan *scan;
    nl_scan_reader **readers;
} scan_source;

static nl_status scan_start(nl_source *self)
{
    scan_source *source = NL_CONTAINER(self, scan_source, base);
    const nl_table *table = source->node->scan.table;
    NL_TRY(table->ops->open_scan(table, self->exec->query, source->node, &source->scan));
    for (uint32_t i = 0; i < self->exec->filters->count; i++) {
        const nl_filter_note *note = self->exec->filters->items[i];
        if (note->scan->columns != source->node->columns || !source->scan->ops->add_runtime_filter) continue;
        NL_TRY(source->scan->ops->add_runtime_filter(source->scan, &note->filter));
    }
    return NULL;
}

static nl_status scan_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    scan_source *source = NL_CONTAINER(self, scan_source, base);
    nl_scan_reader **reader = &source->readers[worker->index];
    if (!*reader) NL_TRY(source->scan->ops->new_reader(source->scan, worker->index, reader));
    NL_TRY(source->scan->ops->next(*reader, batch, is_done));
    *morsel = (*reader)->morsel;
    return NULL;
}

static void scan_free(nl_source *self)
{
    scan_source *source = NL_CONTAINER(self, scan_source, base);
    if (!source->scan) return;
    for (uint32_t i = 0; i < self->exec->worker_count; i++)
        if (source->readers[i]) source->scan->ops->free_reader(source->readers[i]);
    if (self->metric && source->scan->ops->append_metrics) source->scan->ops->append_metrics(source->scan, &self->metric->detail);
    source->scan->ops->free(source->scan);
}

static const nl_source_ops scan_source_ops = {.name = "scan", .start = scan_start, .next = scan_next, .free = scan_free};

nl_status nl_build_scan(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    scan_source *source = NL_NEW(exec->arena, scan_source);
    nl_source_init(&source->base, &scan_source_ops, exec, node, "");
    source->node = node;
    if (node->scan.table->ops->prepare) NL_TRY(node->scan.table->ops->prepare(node->scan.table, exec->query));
    source->readers = NL_NEW_ARRAY(exec->arena, nl_scan_reader *, exec->worker_count);
    if (node->scan.filter) {
        const nl_expr *filter = NULL;
        NL_TRY(nl_resolve_subqueries(exec, node->scan.filter, &filter));
        nl_logical *copy = NL_NEW(exec->arena, nl_logical);
        *copy = *node;
        copy->scan.filter = filter;
        source->node = copy;
    }
    *pipeline = nl_pipeline_new(exec, &source->base);
    return NULL;
}

typedef struct values_source {
    nl_source base;
    const nl_logical *node;
    uint32_t next;
} values_source;

static nl_status append_values(values_source *source, uint32_t column, uint32_t count, nl_arena *arena, nl_column_builder *builder)
{
    nl_query *query = source->base.exec->query;
    for (uint32_t i = 0; i < count; i++) {
        const nl_expr *expr = source->node->values.rows[source->next + i][column];
        nl_value value = {0};
        NL_TRY(nl_expr_evaluate(arena, expr, query->confs, query->text, &value));
        NL_TRY(value.is_null ? nl_column_builder_null(builder) : nl_column_builder_value(builder, &value));
    }
    return NULL;
}

static nl_status values_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)worker;
    values_source *source = NL_CONTAINER(self, values_source, base);
    uint32_t left = source->node->values.row_count - source->next;
    uint32_t count = NL_MIN(left, nl_exec_batch_rows(self->exec));
    *is_done = count == 0;
    *morsel = 0;
    if (count == 0) return NULL;
    NL_TRY(nl_batch_init(batch, source->node->column_count, count));
    nl_arena *arena = nl_arena_new(self->exec->query->memory);
    nl_status status = NULL;
    for (uint32_t column = 0; column < batch->column_count && !status; column++) {
        nl_column_builder *builder = NULL;
        status = nl_column_builder_new(source->node->columns[column].type, self->exec->query->memory, &builder);
        if (!status) status = append_values(source, column, count, arena, builder);
        if (!status) status = nl_column_builder_finish(builder, &batch->columns[column]);
        nl_column_builder_free(builder);
    }
    source->next += count;
    if (!status) status = nl_arena_check(arena);
    nl_arena_free(arena);
    return status;
}

static const nl_source_ops values_source_ops = {.name = "values", .next = values_next};

nl_status nl_build_values(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    values_source *source = NL_NEW(exec->arena, values_source);
    nl_source_init(&source->base, &values_source_ops, exec, node, "");
    source->base.is_serial = true;
    source->node = node;
    *pipeline = nl_pipeline_new(exec, &source->base);
    return NULL;
}

typedef struct range_part {
    uint64_t next, stop; /* row numbers */
    uint64_t morsel;
} range_part;

typedef struct range_source {
    nl_source base;
    int64_t start, step;
    uint64_t row_count;
    atomic_uint_fast64_t next_morsel;
    range_part *parts; /* per worker */
} range_source;

static nl_status range_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    range_source *source = NL_CONTAINER(self, range_source, base);
    range_part *part = &source->parts[worker->index];
    if (part->next == part->stop) {
        part->morsel = atomic_fetch_add(&source->next_morsel, 1);
        uint64_t first = part->morsel * RANGE_MORSEL_ROWS;
        *is_done = first >= source->row_count || part->morsel > UINT64_MAX / RANGE_MORSEL_ROWS;
        if (*is_done) return NULL;
        part->next = first;
        part->stop = source->row_count - first > RANGE_MORSEL_ROWS ? first + RANGE_MORSEL_ROWS : source->row_count;
    }
    uint32_t count = (uint32_t)NL_MIN(part->stop - part->next, nl_exec_batch_rows(self->exec));
    NL_TRY(nl_batch_init(batch, 1, count));
    NL_TRY(nl_vector_new_flat(&batch->columns[0], nl_type_bigint(), count, self->exec->query->memory));
    uint64_t *values = nl_vector_values(&batch->columns[0]);
    uint64_t first = (uint64_t)source->start + part->next * (uint64_t)source->step;
    for (uint32_t i = 0; i < count; i++)
        values[i] = first + i * (uint64_t)source->step;
    part->next += count;
    *morsel = part->morsel;
    nl_query_has_read(self->exec->query, 0, 0, count);
    return NULL;
}

static const nl_source_ops range_source_ops = {.name = "range", .next = range_next};

static uint64_t range_row_count(int64_t start, int64_t stop, int64_t step)
{
    if (step == 0 || (step > 0) != (stop > start) || start == stop) return 0;
    uint64_t distance = step > 0 ? (uint64_t)stop - (uint64_t)start : (uint64_t)start - (uint64_t)stop;
    uint64_t stride = step > 0 ? (uint64_t)step : 0 - (uint64_t)step;
    return distance / stride + (distance % stride != 0);
}

nl_status nl_build_range(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    range_source *source = NL_NEW(exec->arena, range_source);
    nl_source_init(&source->base, &range_source_ops, exec, node, "");
    source->start = node->range.start;
    source->step = node->range.step;
    source->row_count = range_row_count(node->range.start, node->range.stop, node->range.step);
    nl_query_expects(exec->query, 0, source->row_count);
    source->parts = NL_NEW_ARRAY(exec->arena, range_part, exec->worker_count);
    source->base.is_serial = source->row_count <= RANGE_MORSEL_ROWS;
    *pipeline = nl_pipeline_new(exec, &source->base);
    return NULL;
}

static nl_status empty_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)self;
    (void)worker;
    (void)batch;
    *morsel = 0;
    *is_done = true;
    return NULL;
}

static const nl_source_ops empty_source_ops = {.name = "empty", .next = empty_next};

nl_status nl_build_empty(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    nl_source *source = NL_NEW(exec->arena, nl_source);
    nl_source_init(source, &empty_source_ops, exec, node, "");
    source->is_serial = true;
    *pipeline = nl_pipeline_new(exec, source);
    return NULL;
}
