/* stream/chain.c - tables of one row type, one after the other: the files of several snapshots, of several folders. */
#include "stream/source.h"

#include <stdlib.h>

#include "exec/scan.h"

#define MORSEL_BITS 28u /* pieces of one table; those of the next come behind them */

struct nl_stream_chain {
    nl_table base;
    nl_arena *arena; /* owned */
    nl_list tables;  /* const nl_table *, counted */
    nl_list places;  /* const uint32_t *: where each column of the chain is in the table; NULL: at the same place */
};

typedef struct chain_scan {
    nl_scan base;
    const nl_table *table; /* counted */
    nl_scan **scans;       /* owned */
    uint32_t count;
} chain_scan;

typedef struct chain_reader {
    nl_scan_reader base;
    nl_scan_reader *reader; /* of the present scan; NULL: none */
    uint32_t worker, at;
} chain_reader;

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

static void end_reader(chain_reader *self)
{
    if (self->reader) self->reader->scan->ops->free_reader(self->reader);
    self->reader = NULL;
}

static nl_status chain_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    chain_reader *self = NL_CONTAINER(base, chain_reader, base);
    const chain_scan *scan = NL_CONTAINER(base->scan, chain_scan, base);
    for (*is_done = true; self->at < scan->count; self->at++) {
        nl_scan *present = scan->scans[self->at];
        if (!self->reader) NL_TRY(present->ops->new_reader(present, self->worker, &self->reader));
        NL_TRY(present->ops->next(self->reader, batch, is_done));
        self->base.morsel = ((uint64_t)self->at << MORSEL_BITS) + self->reader->morsel;
        if (!*is_done) return NULL;
        end_reader(self);
    }
    return NULL;
}

static void free_reader(nl_scan_reader *base)
{
    chain_reader *self = NL_CONTAINER(base, chain_reader, base);
    end_reader(self);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    chain_reader *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->base.scan = base;
    made->worker = worker;
    *reader = &made->base;
    return NULL;
}

static void append_metrics(const nl_scan *base, nl_builder *out)
{
    const chain_scan *scan = NL_CONTAINER(NL_UNCONST(base), chain_scan, base);
    nl_append_f(out, "parts %u", scan->count);
}

static void free_scan(nl_scan *base)
{
    chain_scan *scan = NL_CONTAINER(NL_UNCONST(base), chain_scan, base);
    for (uint32_t i = 0; i < scan->count; i++) scan->scans[i]->ops->free(scan->scans[i]);
    free(scan->scans);
    nl_table_release(scan->table);
    free(scan);
}

static const nl_scan_ops scan_ops = {.new_reader = new_reader, .next = chain_next, .free_reader = free_reader, .append_metrics = append_metrics, .free = free_scan};

/* Hidden columns lie behind the visible ones. */
static const uint32_t *moved_columns(const nl_stream_chain *chain, const nl_logical *node, const uint32_t *places, const nl_table *table, nl_arena *arena)
{
    uint32_t *moved = NL_NEW_ARRAY(arena, uint32_t, node->column_count + 1);
    const uint32_t own = chain->base.row_type->child_count;
    for (uint32_t i = 0; i < node->column_count; i++) {
        const uint32_t at = node->scan.table_columns[i];
        moved[i] = at < own ? places[at] : at - own + table->row_type->child_count;
    }
    return moved;
}

static nl_status open_all(const nl_stream_chain *chain, nl_query *query, const nl_logical *node, chain_scan *scan)
{
    for (uint32_t i = 0; i < chain->tables.count; i++) {
        const nl_table *table = chain->tables.items[i];
        nl_logical *inner = nl_logical_copy(query->arena, node);
        inner->scan.table = table;
        if (chain->places.items[i]) inner->scan.table_columns = moved_columns(chain, node, chain->places.items[i], table, query->arena);
        NL_TRY(table->ops->open_scan(table, query, inner, &scan->scans[i]));
        scan->count++;
    }
    return NULL;
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const nl_stream_chain *chain = NL_CONTAINER(NL_UNCONST(table), nl_stream_chain, base);
    chain_scan *scan = calloc(1, sizeof *scan);
    nl_scan **scans = calloc(chain->tables.count + 1, sizeof *scans);
    if (!scan || !scans) {
        free(scan);
        free(scans);
        return no_memory(sizeof *scan);
    }
    *scan = (chain_scan){.base.ops = &scan_ops, .table = nl_table_retain(table), .scans = scans};
    nl_status status = open_all(chain, query, node, scan);
    if (status)
        free_scan(&scan->base);
    else
        *out = &scan->base;
    return status;
}

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    const nl_stream_chain *chain = NL_CONTAINER(NL_UNCONST(table), nl_stream_chain, base);
    *row_count = *bytes = 0;
    for (uint32_t i = 0; i < chain->tables.count; i++) {
        const nl_table *one = chain->tables.items[i];
        int64_t rows = -1, size = -1;
        NL_TRY(one->ops->estimate(one, scan, &rows, &size));
        *row_count = rows < 0 || *row_count < 0 ? -1 : *row_count + rows;
        *bytes = size < 0 || *bytes < 0 ? -1 : *bytes + size;
    }
    return NULL;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    const nl_stream_chain *chain = NL_CONTAINER(NL_UNCONST(table), nl_stream_chain, base);
    if (chain->tables.count == 0) {
        nl_append_c(out, "nothing");
        return;
    }
    const nl_table *first = chain->tables.items[0];
    if (first->ops->append_text) first->ops->append_text(first, out);
}

static void free_table(nl_table *table)
{
    nl_stream_chain_free(NL_CONTAINER(NL_UNCONST(table), nl_stream_chain, base));
}

static const nl_table_ops table_ops = {.kind = "stream", .estimate = estimate, .open_scan = open_scan, .append_text = append_text, .free = free_table};

nl_status nl_stream_chain_new(const nl_type *row_type, nl_stream_chain **chain)
{
    nl_stream_chain *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->arena = nl_arena_new(NULL);
    made->base.ops = &table_ops;
    made->base.row_type = nl_type_copy(made->arena, row_type);
    atomic_init(&made->base.references, 1);
    *chain = made;
    return NULL;
}

nl_arena *nl_stream_chain_arena(nl_stream_chain *chain)
{
    return chain->arena;
}

/* *places: NULL when the table's columns are the chain's. */
static nl_status find_places(nl_stream_chain *chain, const nl_table *table, uint32_t **places)
{
    const nl_type *own = chain->base.row_type, *other = table->row_type;
    if (nl_type_equal(own, other)) return NULL;
    *places = NL_NEW_ARRAY(chain->arena, uint32_t, own->child_count + 1);
    for (uint32_t i = 0; i < own->child_count; i++) {
        const nl_field *field = &own->children[i];
        uint32_t at = 0;
        while (at < other->child_count && (!field->field_id || other->children[at].field_id != field->field_id)) at++;
        if (at == other->child_count || !nl_type_equal(other->children[at].type, field->type))
            return NL_RAISE_TEXT(NILAS_STREAM_STATE, "The column " NL_STR_FMT " of a stream's table has gone or has another type since the query began: stop the query and start it again.",
                                 NL_STR_ARG(field->name));
        (*places)[i] = at;
    }
    return NULL;
}

nl_status nl_stream_chain_add(nl_stream_chain *chain, const nl_table *table)
{
    uint32_t *places = NULL;
    nl_list_add(chain->arena, &chain->tables, NL_UNCONST(table));
    nl_status status = find_places(chain, table, &places);
    nl_list_add(chain->arena, &chain->places, places);
    return status ? status : nl_arena_check(chain->arena);
}

const nl_table *nl_stream_chain_table(nl_stream_chain *chain)
{
    return &chain->base;
}

void nl_stream_chain_free(nl_stream_chain *chain)
{
    if (!chain) return;
    for (uint32_t i = 0; i < chain->tables.count; i++) nl_table_release(chain->tables.items[i]);
    nl_arena_free(chain->arena);
    free(chain);
}
