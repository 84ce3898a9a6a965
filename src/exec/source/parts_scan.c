/* exec/source/parts_scan.c - see parts_scan.h. */
#include "exec/source/parts_scan.h"

#include <stdlib.h>

#include "exec/engine.h"
#include "exec/expression.h"

typedef struct parts_scan {
    nl_scan base;
    nl_parts parts;
    nl_query *query;
    const nl_logical *node;
    nl_program *filter; /* or NULL */
    atomic_uint next_part;
    atomic_uint_fast64_t row_count;
} parts_scan;

typedef struct parts_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_batch batch; /* the present part; zeroed: none */
    uint32_t offset;
} parts_reader;

static nl_status take_rows(parts_reader *self, nl_batch *batch)
{
    parts_scan *scan = NL_CONTAINER(self->base.scan, parts_scan, base);
    const uint32_t count = NL_MIN(self->batch.row_count - self->offset, NL_BATCH_ROWS);
    NL_TRY(nl_batch_init(batch, scan->node->column_count, count));
    for (uint32_t i = 0; i < scan->node->column_count; i++)
        NL_TRY(nl_vector_slice(&self->batch.columns[scan->node->scan.table_columns[i]], self->offset, count, scan->query->memory, &batch->columns[i]));
    self->offset += count;
    return self->filter ? nl_program_filter(self->filter, batch) : NULL;
}

static nl_status next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    parts_reader *self = NL_CONTAINER(base, parts_reader, base);
    parts_scan *scan = NL_CONTAINER(base->scan, parts_scan, base);
    *is_done = false;
    for (;;) {
        while (self->offset < self->batch.row_count) {
            NL_TRY(take_rows(self, batch));
            if (nl_batch_live_rows(batch) > 0) return NULL;
            nl_batch_fini(batch);
        }
        NL_TRY(nl_cancel_check(scan->query->cancel));
        const uint32_t part = atomic_fetch_add(&scan->next_part, 1);
        *is_done = part >= scan->parts.count;
        nl_batch_fini(&self->batch);
        self->offset = 0;
        if (*is_done) return NULL;
        NL_TRY(scan->parts.read(scan->parts.owner, part, scan->query->memory, &self->batch));
        self->base.morsel = part;
        atomic_fetch_add(&scan->row_count, self->batch.row_count);
    }
}

static void free_reader(nl_scan_reader *base)
{
    parts_reader *self = NL_CONTAINER(base, parts_reader, base);
    if (self->filter) nl_program_state_free(self->filter);
    nl_batch_fini(&self->batch);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    parts_scan *scan = NL_CONTAINER(base, parts_scan, base);
    parts_reader *self = calloc(1, sizeof *self);
    if (!self) return nl_out_of_memory(sizeof *self);
    self->base.scan = base;
    nl_status status = NULL;
    if (scan->filter) status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &self->filter);
    if (status)
        free_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

static void append_metrics(const nl_scan *base, nl_builder *out)
{
    const parts_scan *self = (const parts_scan *)(const void *)base;
    nl_append_f(out, "rows %llu", (unsigned long long)atomic_load(&self->row_count));
}

static void free_scan(nl_scan *base)
{
    parts_scan *self = NL_CONTAINER(base, parts_scan, base);
    self->parts.release(self->parts.owner);
    free(self);
}

static const nl_scan_ops scan_ops = {.new_reader = new_reader, .next = next, .free_reader = free_reader, .append_metrics = append_metrics, .free = free_scan};

nl_status nl_parts_scan_new(const nl_parts *parts, nl_query *query, const nl_logical *node, nl_scan **scan)
{
    parts_scan *self = calloc(1, sizeof *self);
    if (!self) {
        parts->release(parts->owner);
        return nl_out_of_memory(sizeof *self);
    }
    self->base.ops = &scan_ops;
    self->parts = *parts;
    self->query = query;
    self->node = node;
    nl_status status = NULL;
    if (node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &self->filter);
    if (status)
        free_scan(&self->base);
    else
        *scan = &self->base;
    return status;
}
