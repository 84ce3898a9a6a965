/* exec/source/batches_source.c - rows that are there already: batches held in memory, as a client sent them or a cache keeps
 * them. */
#include "exec/sources.h"

#include <stdlib.h>

#include "exec/engine.h"
#include "exec/source/parts_scan.h"

typedef struct batches_source {
    nl_table base;
    nl_arena *arena;   /* owned: of the row type */
    nl_batch *batches; /* owned */
    uint32_t batch_count;
    bool has_identity;
    uint64_t identity[2];
} batches_source;

static nl_status read_batch(void *owner, uint32_t i, nl_memory *memory, nl_batch *batch)
{
    const batches_source *source = owner;
    (void)memory;
    return nl_batch_ref(&source->batches[i], batch);
}

static void release_source(void *owner)
{
    nl_table_release(owner);
}

static nl_status open_batches(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const nl_parts parts = {.count = ((const batches_source *)(const void *)table)->batch_count, .read = read_batch, .owner = NL_UNCONST(nl_table_retain(table)), .release = release_source};
    return nl_parts_scan_new(&parts, query, node, out);
}

static nl_status estimate_batches(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    const batches_source *self = (const batches_source *)(const void *)table;
    (void)scan;
    *row_count = *bytes = 0;
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
        return nl_out_of_memory(sizeof(*self));
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
