/* exec/source/rows_source.c - see rows_source.h. Parts are handed out one by one; the scan's filter is applied here. */
#include "exec/source/rows_source.h"

#include <stdlib.h>

#include "exec/engine.h"
#include "exec/expression.h"

typedef struct rows_source {
    nl_table base;
    nl_rows_definition definition;
} rows_source;

typedef struct rows_scan {
    nl_scan base;
    const rows_source *source; /* counted */
    nl_query *query;
    const nl_logical *node;
    nl_program *filter;        /* or NULL */
    bool *wanted;              /* per column of the row type */
    atomic_uint next_part;
    atomic_uint_fast64_t row_count;
} rows_scan;

typedef struct rows_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_batch rows;   /* of the present part: the scan's columns */
    uint32_t offset; /* rows given so far */
} rows_reader;

static nl_status build_part(rows_scan *scan, uint32_t part, nl_column_builder **builders, nl_batch *batch)
{
    const nl_type *row_type = scan->source->definition.row_type;
    for (uint32_t i = 0; i < row_type->child_count; i++)
        NL_TRY(nl_column_builder_new(row_type->children[i].type, scan->query->memory, &builders[i]));
    NL_TRY(scan->source->definition.produce(scan->source->definition.owner, scan->query, part, scan->wanted, builders));
    const uint32_t row_count = row_type->child_count ? nl_column_builder_length(builders[0]) : 0;
    NL_TRY(nl_batch_init(batch, scan->node->column_count, row_count));
    for (uint32_t i = 0; i < scan->node->column_count; i++) {
        nl_vector *column = &batch->columns[i];
        const uint32_t at = scan->node->scan.table_columns[i];
        for (uint32_t j = 0; j < i && !column->type; j++) /* a column that the scan gives twice */
            if (scan->node->scan.table_columns[j] == at) nl_vector_ref(&batch->columns[j], column);
        if (!column->type) NL_TRY(nl_column_builder_finish(builders[at], column));
    }
    return NULL;
}

static nl_status next_part(rows_reader *self, bool *is_done)
{
    rows_scan *scan = NL_CONTAINER(self->base.scan, rows_scan, base);
    const uint32_t part = atomic_fetch_add(&scan->next_part, 1), column_count = scan->source->definition.row_type->child_count;
    *is_done = part >= scan->source->definition.part_count;
    if (*is_done) return NULL;
    NL_TRY(nl_cancel_check(scan->query->cancel));
    nl_batch_fini(&self->rows);
    self->offset = 0;
    nl_column_builder **builders = calloc(column_count + 1, sizeof(*builders));
    if (!builders) return nl_out_of_memory(column_count);
    nl_status status = build_part(scan, part, builders, &self->rows);
    for (uint32_t i = 0; i < column_count; i++)
        nl_column_builder_free(builders[i]);
    free(builders);
    if (!status) atomic_fetch_add(&scan->row_count, self->rows.row_count);
    return status;
}

static nl_status take_rows(rows_reader *self, nl_batch *batch)
{
    rows_scan *scan = NL_CONTAINER(self->base.scan, rows_scan, base);
    const uint32_t count = NL_MIN(self->rows.row_count - self->offset, NL_BATCH_ROWS);
    NL_TRY(nl_batch_init(batch, self->rows.column_count, count));
    for (uint32_t i = 0; i < self->rows.column_count; i++)
        NL_TRY(nl_vector_slice(&self->rows.columns[i], self->offset, count, scan->query->memory, &batch->columns[i]));
    self->offset += count;
    return self->filter ? nl_program_filter(self->filter, batch) : NULL;
}

static nl_status rows_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    rows_reader *self = NL_CONTAINER(base, rows_reader, base);
    *is_done = false;
    for (;;) {
        while (self->offset < self->rows.row_count) {
            NL_TRY(take_rows(self, batch));
            if (nl_batch_live_rows(batch) > 0) return NULL;
            nl_batch_fini(batch);
        }
        NL_TRY(next_part(self, is_done));
        if (*is_done) return NULL;
    }
}

static void free_rows_reader(nl_scan_reader *base)
{
    rows_reader *self = NL_CONTAINER(base, rows_reader, base);
    nl_batch_fini(&self->rows);
    if (self->filter) nl_program_state_free(self->filter);
    free(self);
}

static nl_status new_rows_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    rows_scan *scan = NL_CONTAINER(base, rows_scan, base);
    rows_reader *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.scan = base;
    nl_status status = NULL;
    if (scan->filter) status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &self->filter);
    if (status)
        free_rows_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

static void append_rows_metrics(const nl_scan *base, nl_builder *out)
{
    const rows_scan *self = (const rows_scan *)(const void *)base;
    nl_append_f(out, "rows %llu", (unsigned long long)atomic_load(&self->row_count));
}

static void free_rows_scan(nl_scan *base)
{
    rows_scan *self = NL_CONTAINER(base, rows_scan, base);
    nl_table_release((nl_table *)(uintptr_t)&self->source->base);
    free(self->wanted);
    free(self);
}

static const nl_scan_ops rows_scan_ops = {
    .new_reader = new_rows_reader,
    .next = rows_next,
    .free_reader = free_rows_reader,
    .append_metrics = append_rows_metrics,
    .free = free_rows_scan,
};

static nl_status open_rows(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const rows_source *source = (const rows_source *)(const void *)table;
    rows_scan *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->base.ops = &rows_scan_ops;
    self->source = source;
    (void)nl_table_retain(table);
    self->query = query;
    self->node = node;
    self->wanted = calloc(source->definition.row_type->child_count + 1, sizeof(*self->wanted));
    nl_status status = self->wanted ? NULL : nl_out_of_memory(source->definition.row_type->child_count);
    if (!status) {
        self->wanted[0] = true; /* its length is the part's row count */
        for (uint32_t i = 0; i < node->column_count; i++)
            self->wanted[node->scan.table_columns[i]] = true;
        if (node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &self->filter);
    }
    if (status)
        free_rows_scan(&self->base);
    else
        *out = &self->base;
    return status;
}

static nl_status estimate_rows(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)table, (void)scan;
    *row_count = *bytes = -1;
    return NULL;
}

static void append_rows_text(const nl_table *table, nl_builder *out)
{
    nl_append(out, ((const rows_source *)(const void *)table)->definition.name);
}

static void free_rows_source(nl_table *table)
{
    rows_source *self = (rows_source *)(void *)table;
    if (self->definition.free_owner) self->definition.free_owner(self->definition.owner);
    free(self);
}

static const nl_table_ops rows_ops = {
    .kind = "metadata",
    .estimate = estimate_rows,
    .open_scan = open_rows,
    .append_text = append_rows_text,
    .free = free_rows_source,
};

nl_status nl_rows_source_new(const nl_rows_definition *definition, const nl_table **source)
{
    rows_source *self = calloc(1, sizeof(*self));
    if (!self) {
        if (definition->free_owner) definition->free_owner(definition->owner);
        return nl_out_of_memory(sizeof(*self));
    }
    self->base.ops = &rows_ops;
    self->base.row_type = definition->row_type;
    self->definition = *definition;
    atomic_init(&self->base.references, 1);
    *source = &self->base;
    return NULL;
}
