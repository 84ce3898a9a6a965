/* exec/materialise.c - LIMIT inside a plan, single-row checks, CTEs used more than once: a pipeline ends in chunks, the
 * next one starts from them. */
#include "exec/chunks.h"
#include "exec/collect.h"

typedef struct kept { /* chunks with a free hook: an operator of the list, never pushed to */
    nl_operator base;
    nl_chunks chunks;
} kept;

static void kept_free(nl_operator *self)
{
    nl_chunks_fini(&NL_CONTAINER(self, kept, base)->chunks);
}

static const nl_operator_ops kept_ops = {.name = "chunks", .free = kept_free};

static nl_chunks *new_chunks(nl_exec *exec, const nl_logical *node)
{
    kept *keeper = NL_NEW(exec->arena, kept);
    nl_operator_init(&keeper->base, &kept_ops, exec, NULL, "");
    nl_chunks_init(&keeper->chunks, exec, node->columns, node->column_count);
    keeper->chunks.metric = nl_exec_metric(exec, node, "rows kept");
    return &keeper->chunks;
}

static nl_status append_chunk(void *context, nl_batch *batch)
{
    return nl_chunks_append(context, batch);
}

static nl_status materialise(nl_exec *exec, const nl_logical *node, const nl_logical *child, int64_t offset, int64_t limit, nl_chunks **chunks)
{
    nl_pipeline *pipeline = NULL;
    bool is_top = child->kind == NL_PLAN_SORT && limit < INT64_MAX && offset < INT64_MAX - limit;
    NL_TRY(is_top ? nl_build_sort(exec, child, offset + limit, &pipeline) : nl_build(exec, child, &pipeline));
    *chunks = new_chunks(exec, node);
    nl_pipeline_append(pipeline, nl_collect_new(exec, NULL, offset, limit, append_chunk, *chunks));
    nl_exec_add_pipeline(exec, pipeline);
    return NULL;
}

nl_status nl_build_limit(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    int64_t limit = node->limit.limit < 0 ? INT64_MAX : node->limit.limit;
    nl_chunks *chunks = NULL;
    NL_TRY(materialise(exec, node, node->children[0], node->limit.offset, limit, &chunks));
    *pipeline = nl_pipeline_new(exec, nl_chunks_source(exec, chunks, node));
    return NULL;
}

typedef struct single_row_source {
    nl_source base;
    const nl_logical *node;
    nl_chunks *chunks;
    bool is_done;
} single_row_source;

static nl_status single_row_next(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done)
{
    (void)worker;
    single_row_source *source = NL_CONTAINER(self, single_row_source, base);
    nl_query *query = self->exec->query;
    *morsel = 0;
    *is_done = source->is_done;
    if (source->is_done) return NULL;
    source->is_done = true;
    if (source->chunks->row_count > 1)
        return nl_status_at(NL_RAISE(SCALAR_SUBQUERY_TOO_MANY_ROWS), source->node->span, query->text);
    if (source->chunks->row_count == 1) return nl_chunks_read(source->chunks, 0, batch);
    NL_TRY(nl_batch_init(batch, source->node->column_count, 1));
    for (uint32_t i = 0; i < batch->column_count; i++)
        NL_TRY(nl_vector_new_null(&batch->columns[i], source->node->columns[i].type, 1, query->memory));
    return NULL;
}

static const nl_source_ops single_row_ops = {.name = "single row", .next = single_row_next};

nl_status nl_build_single_row(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    single_row_source *source = NL_NEW(exec->arena, single_row_source);
    nl_source_init(&source->base, &single_row_ops, exec, node, "");
    source->base.is_serial = true;
    source->node = node;
    NL_TRY(materialise(exec, node, node->children[0], 0, 2, &source->chunks));
    *pipeline = nl_pipeline_new(exec, &source->base);
    return NULL;
}

/* What is known of a CTE by its id: built when it is first used. */
typedef struct cte {
    uint32_t id;
    const nl_logical *definition;
    nl_exec *exec; /* whose pipelines fill the chunks */
    nl_chunks *chunks;
} cte;

static cte *find_cte(nl_exec *exec, uint32_t id)
{
    for (uint32_t i = 0; i < exec->ctes->count; i++) {
        cte *known = exec->ctes->items[i];
        if (known->id == id) return known;
    }
    return NULL;
}

/* The list is shared by the statement's subqueries: entries live in the outermost run. */
static nl_exec *outermost(nl_exec *exec)
{
    while (exec->parent)
        exec = exec->parent;
    return exec;
}

static cte *note_cte(nl_exec *exec, uint32_t id, const nl_logical *definition)
{
    cte *known = find_cte(exec, id);
    if (known) return known;
    nl_exec *owner = outermost(exec);
    known = NL_NEW(owner->arena, cte);
    *known = (cte){.id = id, .definition = definition, .exec = owner};
    nl_list_add(owner->arena, owner->ctes, known);
    return known;
}

nl_status nl_build_cte(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    note_cte(exec, node->cte.id, node->cte.definition);
    return nl_build(exec, node->children[0], pipeline);
}

nl_status nl_build_cte_reference(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline)
{
    cte *known = node->cte.definition ? note_cte(exec, node->cte.id, node->cte.definition) : find_cte(exec, node->cte.id);
    if (!known) return nl_raise_text(NL_COND_INTERNAL_ERROR, NL_HERE, "common table expression %u has no definition", node->cte.id);
    if (!known->chunks) NL_TRY(materialise(known->exec, known->definition, known->definition, 0, INT64_MAX, &known->chunks));
    /* A subquery runs while its statement is being built: what it reads must be there. */
    if (exec != known->exec) NL_TRY(nl_exec_run(known->exec));
    *pipeline = nl_pipeline_new(exec, nl_chunks_source(exec, known->chunks, node));
    return NULL;
}
