/* exec/source/batches_source.c - rows that are there already: batches held in memory, as a client sent them or a cache keeps
 * them, or in a spill file. Each batch is one piece of work, cut to the engine's size; the scan's filter is applied here. */
#include "exec/sources.h"

#include <stdlib.h>

#include "exec/expression.h"
#include "exec/spill.h"

typedef struct batches_source {
    nl_table base;
    nl_arena *arena;   /* owned: of the row type */
    nl_batch *batches; /* owned */
    uint32_t batch_count;
    nl_spill *spill;   /* owned; or NULL: it holds them, then */
    bool has_identity;
    uint64_t identity[2];
} batches_source;

typedef struct batches_scan {
    nl_scan base;
    const batches_source *source; /* counted */
    nl_query *query;
    const nl_logical *node;
    nl_program *filter; /* or NULL */
    atomic_uint next_batch;
    atomic_uint_fast64_t row_count;
} batches_scan;

typedef struct batches_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_batch batch; /* present one; zeroed: none */
    uint32_t offset;
} batches_reader;

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

static nl_status take_rows(batches_reader *self, nl_batch *batch)
{
    batches_scan *scan = NL_CONTAINER(self->base.scan, batches_scan, base);
    const uint32_t count = NL_MIN(self->batch.row_count - self->offset, NL_BATCH_ROWS);
    NL_TRY(nl_batch_init(batch, scan->node->column_count, count));
    for (uint32_t i = 0; i < scan->node->column_count; i++)
        NL_TRY(nl_vector_slice(&self->batch.columns[scan->node->scan.table_columns[i]], self->offset, count, scan->query->memory, &batch->columns[i]));
    self->offset += count;
    return self->filter ? nl_program_filter(self->filter, batch) : NULL;
}

static uint32_t batch_count(const batches_source *source)
{
    return source->spill ? nl_spill_chunk_count(source->spill) : source->batch_count;
}

static nl_status read_batch(const batches_scan *scan, uint32_t i, nl_batch *batch)
{
    if (scan->source->spill) return nl_spill_read(scan->source->spill, i, scan->query->memory, batch);
    return nl_batch_ref(&scan->source->batches[i], batch);
}

static nl_status batches_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    batches_reader *self = NL_CONTAINER(base, batches_reader, base);
    batches_scan *scan = NL_CONTAINER(base->scan, batches_scan, base);
    *is_done = false;
    for (;;) {
        while (self->offset < self->batch.row_count) {
            NL_TRY(take_rows(self, batch));
            if (nl_batch_live_rows(batch) > 0) return NULL;
            nl_batch_fini(batch);
        }
        NL_TRY(nl_cancel_check(scan->query->cancel));
        const uint32_t next = atomic_fetch_add(&scan->next_batch, 1);
        *is_done = next >= batch_count(scan->source);
        nl_batch_fini(&self->batch);
        self->offset = 0;
        if (*is_done) return NULL;
        NL_TRY(read_batch(scan, next, &self->batch));
        self->base.morsel = next;
        atomic_fetch_add(&scan->row_count, self->batch.row_count);
    }
}

static void free_batches_reader(nl_scan_reader *base)
{
    batches_reader *self = NL_CONTAINER(base, batches_reader, base);
    if (self->filter) nl_program_state_free(self->filter);
    nl_batch_fini(&self->batch);
    free(self);
}

static nl_status new_batches_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    batches_scan *scan = NL_CONTAINER(base, batches_scan, base);
    batches_reader *self = calloc(1, sizeof(*self));
    if (!self) return no_memory(sizeof(*self));
    self->base.scan = base;
    nl_status status = NULL;
    if (scan->filter) status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &self->filter);
    if (status)
        free_batches_reader(&self->base);
    else
        *reader = &self->base;
    return status;
}

static void append_batches_metrics(const nl_scan *base, nl_builder *out)
{
    const batches_scan *self = (const batches_scan *)(const void *)base;
    nl_append_f(out, "rows %llu", (unsigned long long)atomic_load(&self->row_count));
}

static void free_batches_scan(nl_scan *base)
{
    batches_scan *self = NL_CONTAINER(base, batches_scan, base);
    nl_table_release(&self->source->base);
    free(self);
}

static const nl_scan_ops scan_ops = {
    .new_reader = new_batches_reader,
    .next = batches_next,
    .free_reader = free_batches_reader,
    .append_metrics = append_batches_metrics,
    .free = free_batches_scan,
};

static nl_status open_batches(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    batches_scan *self = calloc(1, sizeof(*self));
    if (!self) return no_memory(sizeof(*self));
    self->base.ops = &scan_ops;
    self->source = (const batches_source *)(const void *)table;
    (void)nl_table_retain(table);
    self->query = query;
    self->node = node;
    nl_status status = NULL;
    if (node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &self->filter);
    if (status)
        free_batches_scan(&self->base);
    else
        *out = &self->base;
    return status;
}

static nl_status estimate_batches(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    const batches_source *self = (const batches_source *)(const void *)table;
    (void)scan;
    *row_count = (int64_t)nl_spill_row_count(self->spill);
    *bytes = (int64_t)nl_spill_bytes(self->spill);
    for (uint32_t i = 0; i < self->batch_count; i++) {
        *row_count += self->batches[i].row_count;
        *bytes += (int64_t)nl_batch_bytes(&self->batches[i]);
    }
    return NULL;
}

static void append_batches_text(const nl_table *table, nl_builder *out)
{
    (void)table;
    nl_append_c(out, "local");
}

static void free_batches(nl_batch *batches, uint32_t batch_count)
{
    for (uint32_t i = 0; i < batch_count; i++) nl_batch_fini(&batches[i]);
    free(batches);
}

static void free_batches_source(nl_table *table)
{
    batches_source *self = (batches_source *)(void *)table;
    free_batches(self->batches, self->batch_count);
    nl_spill_free(self->spill);
    nl_arena_free(self->arena);
    free(self);
}

static bool is_same_batches(const nl_table *a, const nl_table *b)
{
    const batches_source *x = (const batches_source *)(const void *)a, *y = (const batches_source *)(const void *)b;
    return x->has_identity && y->has_identity && x->identity[0] == y->identity[0] && x->identity[1] == y->identity[1] &&
           nl_type_equal(a->row_type, b->row_type);
}

static const nl_table_ops table_ops = {
    .kind = "local",
    .estimate = estimate_batches,
    .is_same = is_same_batches,
    .open_scan = open_batches,
    .append_text = append_batches_text,
    .free = free_batches_source,
};

/* The vectors' types are the reader's that made them: here they become those that live as long as the source. */
static void retype(nl_vector *vector, const nl_type *type)
{
    vector->type = type;
    if (vector->dictionary) vector->dictionary->vector.type = type;
    for (uint32_t i = 0; i < vector->child_count && i < type->child_count; i++) retype(&vector->children[i], type->children[i].type);
    for (uint32_t i = 0; vector->dictionary && i < vector->dictionary->vector.child_count && i < type->child_count; i++)
        retype(&vector->dictionary->vector.children[i], type->children[i].type);
}

nl_status nl_batches_source_new(const nl_type *row_type, nl_batch *batches, uint32_t batch_count, nl_memory *memory, const nl_table **source)
{
    batches_source *self = calloc(1, sizeof(*self));
    if (!self) {
        free_batches(batches, batch_count);
        return no_memory(sizeof(*self));
    }
    self->arena = nl_arena_new(memory);
    self->base.ops = &table_ops;
    self->base.row_type = nl_type_copy(self->arena, row_type);
    for (uint32_t b = 0; b < batch_count; b++)
        for (uint32_t i = 0; i < batches[b].column_count; i++) retype(&batches[b].columns[i], self->base.row_type->children[i].type);
    self->batches = batches;
    self->batch_count = batch_count;
    atomic_init(&self->base.references, 1);
    *source = &self->base;
    return NULL;
}

void nl_batches_source_identify(const nl_table *source, const uint64_t identity[2])
{
    batches_source *self = NL_UNCONST((const batches_source *)(const void *)source);
    NL_ASSERT(source->ops == &table_ops);
    self->has_identity = true;
    self->identity[0] = identity[0];
    self->identity[1] = identity[1];
}

nl_status nl_spilled_source_new(const nl_type *row_type, nl_str directory, nl_memory *memory, const nl_table **source, nl_spill **spill)
{
    const nl_table *made = NULL;
    NL_TRY(nl_batches_source_new(row_type, NULL, 0, memory, &made));
    batches_source *self = NL_UNCONST((const batches_source *)(const void *)made);
    const nl_type **types = NL_NEW_ARRAY(self->arena, const nl_type *, made->row_type->child_count + 1);
    for (uint32_t i = 0; i < made->row_type->child_count; i++) types[i] = made->row_type->children[i].type;
    nl_status status = nl_spill_new(directory, types, made->row_type->child_count, &self->spill);
    if (status) {
        nl_table_release(made);
        return status;
    }
    *source = made;
    *spill = self->spill;
    return NULL;
}

bool nl_table_is_spilled(const nl_table *source)
{
    return source->ops == &table_ops && ((const batches_source *)(const void *)source)->spill != NULL;
}
