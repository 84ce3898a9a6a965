/* stream/rows.c - rows kept in memory or on disk: batches, then chunks of a file that has no name. A set of rows only grows;
 * replacing exchanges the whole set, and scans that run hold the one they began with. */
#include "stream/rows.h"

#include <stdlib.h>

#include "base/lock.h"
#include "exec/expression.h"
#include "exec/spill.h"

typedef struct row_set { /* counted: by its rows and by scans */
    atomic_int references;
    nl_batch *batches;
    uint32_t batch_count, batch_capacity;
    nl_spill *spill; /* NULL: everything is in memory */
    uint64_t row_count, bytes;
} row_set;

struct nl_stream_rows {
    nl_table base;
    nl_arena *arena;   /* owned: the row type */
    nl_memory *memory; /* counted */
    nl_str spill_directory;
    const nl_type **types;
    nl_mutex *mutex; /* owned */
    row_set *set; /* guarded by mutex; counted */
};

typedef struct rows_scan {
    nl_scan base;
    nl_table *table; /* counted */
    row_set *set;    /* counted */
    uint32_t part_count, batch_count;
    nl_query *query;
    const nl_logical *node;
    nl_program *filter; /* or NULL */
    atomic_uint next_part;
    atomic_uint_fast64_t row_count;
} rows_scan;

typedef struct rows_reader {
    nl_scan_reader base;
    nl_program_state *filter;
    nl_batch batch; /* the present part, shared or read */
    uint32_t offset;
} rows_reader;

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

/* ---- sets ---- */

static row_set *new_set(void)
{
    row_set *made = calloc(1, sizeof *made);
    if (made) atomic_init(&made->references, 1);
    return made;
}

static void release_set(row_set *set)
{
    if (!set || atomic_fetch_sub(&set->references, 1) != 1) return;
    for (uint32_t i = 0; i < set->batch_count; i++) nl_batch_fini(&set->batches[i]);
    free(set->batches);
    nl_spill_free(set->spill);
    free(set);
}

/* The set in force, counted, and how many batches it has now. */
static row_set *hold_set(const nl_stream_rows *rows, uint32_t *batch_count)
{
    nl_mutex_lock(rows->mutex);
    row_set *set = rows->set;
    *batch_count = set->batch_count;
    atomic_fetch_add(&set->references, 1);
    nl_mutex_unlock(rows->mutex);
    return set;
}

static nl_status keep_batch(row_set *set, nl_batch *batch)
{
    if (set->batch_count == set->batch_capacity) {
        const uint32_t capacity = NL_MAX(16u, set->batch_capacity * 2);
        nl_batch *grown = realloc(set->batches, capacity * sizeof *grown);
        if (!grown) return no_memory(capacity * sizeof *grown);
        set->batches = grown;
        set->batch_capacity = capacity;
    }
    set->bytes += nl_batch_bytes(batch);
    nl_batch_move(batch, &set->batches[set->batch_count++]);
    return NULL;
}

/* ---- scans ---- */

/* A part of a set, shared or read. The array of batches may be moved by whoever adds. */
static nl_status read_part(const nl_stream_rows *rows, const row_set *set, uint32_t batch_count, uint32_t part, nl_memory *memory, nl_batch *batch)
{
    if (part >= batch_count) return nl_spill_read(set->spill, part - batch_count, memory, batch);
    nl_mutex_lock(rows->mutex);
    nl_status status = nl_batch_ref(&set->batches[part], batch);
    nl_mutex_unlock(rows->mutex);
    return status;
}

static nl_status open_part(rows_scan *scan, rows_reader *self, uint32_t part)
{
    nl_batch_fini(&self->batch);
    self->offset = 0;
    self->base.morsel = part;
    NL_TRY(read_part(NL_CONTAINER(scan->table, nl_stream_rows, base), scan->set, scan->batch_count, part, scan->query->memory, &self->batch));
    atomic_fetch_add(&scan->row_count, self->batch.row_count);
    return NULL;
}

static nl_status take_rows(rows_scan *scan, rows_reader *self, nl_batch *batch)
{
    const uint32_t count = NL_MIN(self->batch.row_count - self->offset, NL_BATCH_ROWS);
    NL_TRY(nl_batch_init(batch, scan->node->column_count, count));
    for (uint32_t i = 0; i < scan->node->column_count; i++)
        NL_TRY(nl_vector_slice(&self->batch.columns[scan->node->scan.table_columns[i]], self->offset, count, scan->query->memory, &batch->columns[i]));
    self->offset += count;
    return self->filter ? nl_program_filter(self->filter, batch) : NULL;
}

static nl_status rows_next(nl_scan_reader *base, nl_batch *batch, bool *is_done)
{
    rows_reader *self = NL_CONTAINER(base, rows_reader, base);
    rows_scan *scan = NL_CONTAINER(base->scan, rows_scan, base);
    *is_done = false;
    for (;;) {
        while (self->offset < self->batch.row_count) {
            NL_TRY(take_rows(scan, self, batch));
            if (nl_batch_live_rows(batch) > 0) return NULL;
            nl_batch_fini(batch);
        }
        NL_TRY(nl_cancel_check(scan->query->cancel));
        const uint32_t part = atomic_fetch_add(&scan->next_part, 1);
        *is_done = part >= scan->part_count;
        if (*is_done) return NULL;
        NL_TRY(open_part(scan, self, part));
    }
}

static void free_reader(nl_scan_reader *base)
{
    rows_reader *self = NL_CONTAINER(base, rows_reader, base);
    if (self->filter) nl_program_state_free(self->filter);
    nl_batch_fini(&self->batch);
    free(self);
}

static nl_status new_reader(nl_scan *base, uint32_t worker, nl_scan_reader **reader)
{
    rows_scan *scan = NL_CONTAINER(NL_UNCONST(base), rows_scan, base);
    rows_reader *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->base.scan = base;
    nl_status status = NULL;
    if (scan->filter)
        status = nl_program_state_new(scan->filter, scan->query->confs, scan->query->memory, scan->query->text, worker, &made->filter);
    if (status)
        free(made);
    else
        *reader = &made->base;
    return status;
}

static void append_metrics(const nl_scan *base, nl_builder *out)
{
    const rows_scan *scan = NL_CONTAINER(NL_UNCONST(base), rows_scan, base);
    nl_append_f(out, "rows %llu", (unsigned long long)atomic_load(&scan->row_count));
}

static void free_scan(nl_scan *base)
{
    rows_scan *scan = NL_CONTAINER(NL_UNCONST(base), rows_scan, base);
    release_set(scan->set);
    nl_table_release(scan->table);
    free(scan);
}

static const nl_scan_ops scan_ops = {.new_reader = new_reader, .next = rows_next, .free_reader = free_reader, .append_metrics = append_metrics, .free = free_scan};

/* ---- the table ---- */

static nl_stream_rows *rows_of(const nl_table *table)
{
    return NL_CONTAINER(NL_UNCONST(table), nl_stream_rows, base);
}

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)scan;
    *row_count = (int64_t)nl_stream_rows_count(rows_of(table));
    *bytes = -1;
    return NULL;
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    rows_scan *scan = calloc(1, sizeof *scan);
    if (!scan) return no_memory(sizeof *scan);
    scan->base.ops = &scan_ops;
    scan->table = nl_table_retain(table);
    scan->set = hold_set(rows_of(table), &scan->batch_count);
    scan->part_count = scan->batch_count + (scan->set->spill ? nl_spill_chunk_count(scan->set->spill) : 0);
    scan->query = query;
    scan->node = node;
    nl_status status = NULL;
    if (node->scan.filter) status = nl_program_compile_filter(query->arena, node->scan.filter, node->columns, node->column_count, &scan->filter);
    if (status)
        free_scan(&scan->base);
    else
        *out = &scan->base;
    return status;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    (void)table;
    nl_append_c(out, "StreamRows");
}

static void free_rows(nl_table *table)
{
    nl_stream_rows *rows = rows_of(table);
    release_set(rows->set);
    nl_mutex_fini(rows->mutex);
    free(rows->mutex);
    nl_memory_release(rows->memory);
    nl_arena_free(rows->arena);
    free(rows);
}

static const nl_table_ops table_ops = {.kind = "rows", .estimate = estimate, .open_scan = open_scan, .append_text = append_text, .free = free_rows};

/* ---- the rows ---- */

nl_status nl_stream_rows_new(const nl_type *row_type, nl_memory *memory, nl_str spill_directory, nl_stream_rows **rows)
{
    nl_stream_rows *made = calloc(1, sizeof *made);
    nl_mutex *mutex = malloc(sizeof *mutex);
    row_set *set = new_set();
    if (!made || !mutex || !set) {
        free(made);
        free(mutex);
        free(set);
        return no_memory(sizeof *made);
    }
    nl_mutex_init(mutex);
    made->mutex = mutex;
    made->set = set;
    made->memory = nl_memory_retain(memory);
    made->arena = nl_arena_new(memory);
    made->spill_directory = nl_arena_str(made->arena, spill_directory);
    made->base.ops = &table_ops;
    made->base.row_type = nl_type_copy(made->arena, row_type);
    atomic_init(&made->base.references, 1);
    made->types = NL_NEW_ARRAY(made->arena, const nl_type *, row_type->child_count + 1);
    for (uint32_t i = 0; i < row_type->child_count; i++) made->types[i] = made->base.row_type->children[i].type;
    *rows = made;
    return NULL;
}

nl_stream_rows *nl_stream_rows_retain(nl_stream_rows *rows)
{
    (void)nl_table_retain(&rows->base);
    return rows;
}

void nl_stream_rows_release(nl_stream_rows *rows)
{
    if (rows) nl_table_release(&rows->base);
}

/* With the mutex held, so that scans see whole batches. */
static nl_status add_locked(nl_stream_rows *rows, nl_batch *batch)
{
    row_set *set = rows->set;
    const uint64_t row_count = batch->row_count;
    if (!set->spill && (set->bytes < NL_STREAM_ROWS_MEMORY || !rows->spill_directory.length))
        NL_TRY(keep_batch(set, batch));
    else if (atomic_load(&set->references) > 1)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Rows that are being read have outgrown %zu MiB of memory.", NL_STREAM_ROWS_MEMORY >> 20);
    else {
        if (!set->spill) NL_TRY(nl_spill_new(rows->spill_directory, rows->types, rows->base.row_type->child_count, &set->spill));
        NL_TRY(nl_spill_write(set->spill, batch, rows->memory));
        nl_batch_fini(batch);
    }
    set->row_count += row_count;
    return NULL;
}

nl_status nl_stream_rows_add(nl_stream_rows *rows, nl_batch *batch)
{
    NL_TRY(nl_batch_compact(batch, rows->memory));
    for (uint32_t i = 0; i < batch->column_count; i++) nl_vector_relabel(&batch->columns[i], rows->types[i]); /* rows outlive the statement whose types they have */
    if (batch->row_count == 0) {
        nl_batch_fini(batch);
        return NULL;
    }
    nl_mutex_lock(rows->mutex);
    nl_status status = add_locked(rows, batch);
    nl_mutex_unlock(rows->mutex);
    return status;
}

typedef struct adder {
    nl_consumer base;
    nl_stream_rows *rows;
} adder;

static nl_status add_consumed(nl_consumer *base, nl_batch *batch)
{
    nl_batch taken = {0};
    nl_batch_move(batch, &taken);
    nl_status status = nl_stream_rows_add(NL_CONTAINER(base, adder, base)->rows, &taken);
    nl_batch_fini(&taken);
    return status;
}

nl_status nl_stream_rows_run(nl_stream_rows *rows, nl_query *query, const nl_logical *optimized)
{
    adder to = {.base.consume = add_consumed, .rows = rows};
    return nl_query_run(query, optimized, &to.base);
}

void nl_stream_rows_replace(nl_stream_rows *rows, nl_stream_rows *by)
{
    uint32_t batch_count;
    row_set *set = hold_set(by, &batch_count);
    NL_ASSERT(!set->spill); /* a file has the types of its rows for ever */
    for (uint32_t i = 0; i < batch_count; i++)
        for (uint32_t c = 0; c < set->batches[i].column_count; c++) nl_vector_relabel(&set->batches[i].columns[c], rows->types[c]);
    nl_mutex_lock(rows->mutex);
    row_set *before = rows->set;
    rows->set = set;
    nl_mutex_unlock(rows->mutex);
    release_set(before);
}

uint64_t nl_stream_rows_count(const nl_stream_rows *rows)
{
    nl_mutex_lock(rows->mutex);
    const uint64_t count = rows->set->row_count;
    nl_mutex_unlock(rows->mutex);
    return count;
}

uint64_t nl_stream_rows_bytes(const nl_stream_rows *rows)
{
    nl_mutex_lock(rows->mutex);
    const uint64_t bytes = rows->set->bytes;
    nl_mutex_unlock(rows->mutex);
    return bytes;
}

const nl_type *nl_stream_rows_type(const nl_stream_rows *rows)
{
    return rows->base.row_type;
}

const nl_table *nl_stream_rows_table(nl_stream_rows *rows)
{
    return &rows->base;
}

nl_status nl_stream_rows_batch(const nl_stream_rows *rows, uint32_t i, nl_memory *memory, nl_batch *batch, bool *is_done)
{
    uint32_t batch_count;
    row_set *set = hold_set(rows, &batch_count);
    nl_status status = NULL;
    *is_done = i >= batch_count + (set->spill ? nl_spill_chunk_count(set->spill) : 0);
    if (!*is_done) status = read_part(rows, set, batch_count, i, memory, batch);
    release_set(set);
    return status;
}
