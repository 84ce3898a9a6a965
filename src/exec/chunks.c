/* exec/chunks.c - materialised batches. */
#include "exec/chunks.h"

#include <stdlib.h>

void nl_chunks_init(nl_chunks *chunks, nl_exec *exec, const nl_column *columns, uint32_t column_count)
{
    *chunks = (nl_chunks){.exec = exec, .column_count = column_count};
    chunks->types = nl_column_types(exec->arena, columns, column_count);
}

static void drop_batches(nl_chunks *chunks)
{
    for (uint32_t i = 0; i < chunks->batch_count; i++)
        nl_batch_fini(&chunks->batches[i]);
    free(chunks->batches);
    chunks->batches = NULL;
    chunks->batch_count = chunks->batch_capacity = 0;
}

void nl_chunks_fini(nl_chunks *chunks)
{
    drop_batches(chunks);
    nl_spill_free(chunks->spill);
    chunks->spill = NULL;
}

static nl_status spill_one(nl_chunks *chunks, const nl_batch *batch)
{
    uint64_t before = nl_spill_bytes(chunks->spill);
    NL_TRY(nl_spill_write(chunks->spill, batch, chunks->exec->query->memory));
    nl_metric_add_spilled(chunks->metric, nl_spill_bytes(chunks->spill) - before);
    return NULL;
}

static nl_status spill_all(nl_chunks *chunks)
{
    NL_TRY(nl_spill_new(chunks->exec->query->spill_directory, chunks->types, chunks->column_count, &chunks->spill));
    for (uint32_t i = 0; i < chunks->batch_count; i++)
        NL_TRY(spill_one(chunks, &chunks->batches[i]));
    drop_batches(chunks);
    return NULL;
}

nl_status nl_chunks_append(nl_chunks *chunks, nl_batch *batch)
{
    chunks->row_count += nl_batch_live_rows(batch);
    /* Without columns there is nothing to spill. */
    if (!chunks->spill && chunks->column_count > 0 && !nl_exec_may_grow(chunks->exec, 0)) NL_TRY(spill_all(chunks));
    if (chunks->spill) return spill_one(chunks, batch);
    if (chunks->batch_count == chunks->batch_capacity) {
        uint32_t capacity = NL_MAX(8u, chunks->batch_capacity * 2);
        nl_batch *grown = realloc(chunks->batches, capacity * sizeof *grown);
        if (!grown) return nl_out_of_memory(capacity * sizeof *grown);
        chunks->batches = grown;
        chunks->batch_capacity = capacity;
    }
    nl_batch_move(batch, &chunks->batches[chunks->batch_count++]);
    return NULL;
}

uint32_t nl_chunks_count(const nl_chunks *chunks)
{
    return chunks->spill ? nl_spill_chunk_count(chunks->spill) : chunks->batch_count;
}

nl_status nl_chunks_read(const nl_chunks *chunks, uint32_t i, nl_batch *batch)
{
    if (chunks->spill) return nl_spill_read(chunks->spill, i, chunks->exec->query->memory, batch);
    return nl_batch_ref(&chunks->batches[i], batch);
}

typedef struct chunks_source {
    nl_source base;
    nl_chunks *chunks;
    atomic_uint next;
} chunks_source;

static nl_status source_start(nl_source *self)
{
    const chunks_source *source = NL_CONTAINER(self, chunks_source, base);
    self->is_serial = nl_chunks_count(source->chunks) <= 2;
    return NULL;
}

static nl_status source_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)worker;
    chunks_source *source = NL_CONTAINER(self, chunks_source, base);
    uint32_t i = atomic_fetch_add_explicit(&source->next, 1, memory_order_relaxed);
    *is_done = i >= nl_chunks_count(source->chunks);
    *morsel = i;
    return *is_done ? NULL : nl_chunks_read(source->chunks, i, batch);
}

static const nl_source_ops chunks_source_ops = {.name = "chunks", .start = source_start, .next = source_next};

nl_source *nl_chunks_source(nl_exec *exec, nl_chunks *chunks, const nl_logical *node)
{
    chunks_source *source = NL_NEW(exec->arena, chunks_source);
    nl_source_init(&source->base, &chunks_source_ops, exec, node, "");
    source->chunks = chunks;
    return &source->base;
}
