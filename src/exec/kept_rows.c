/* stream/rows.c - rows kept in memory or on disk: batches, then chunks of a file that has no name. A set of rows only grows;
 * replacing exchanges the whole set, and scans that run hold the one they began with. */
#include "exec/kept_rows.h"

#include <stdlib.h>

#include "base/lock.h"
#include "exec/engine.h"
#include "exec/source/parts_scan.h"
#include "exec/spill.h"

typedef struct row_set { /* counted: by its rows and by scans */
    atomic_int references;
    nl_batch *batches;
    uint32_t batch_count, batch_capacity;
    nl_spill *spill; /* NULL: everything is in memory */
    uint64_t row_count, bytes;
} row_set;

struct nl_kept_rows {
    nl_table base;
    nl_arena *arena;   /* owned: the row type */
    nl_memory *memory; /* counted */
    nl_str spill_directory;
    const nl_type **types;
    nl_mutex *mutex; /* owned */
    row_set *set; /* guarded by mutex; counted */
};

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
static row_set *hold_set(const nl_kept_rows *rows, uint32_t *batch_count)
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
        if (!grown) return nl_out_of_memory(capacity * sizeof *grown);
        set->batches = grown;
        set->batch_capacity = capacity;
    }
    set->bytes += nl_batch_bytes(batch);
    nl_batch_move(batch, &set->batches[set->batch_count++]);
    return NULL;
}

/* ---- scans ---- */

/* A part of a set, shared or read. The array of batches may be moved by whoever adds. */
static nl_status read_part(const nl_kept_rows *rows, const row_set *set, uint32_t batch_count, uint32_t part, nl_memory *memory, nl_batch *batch)
{
    if (part >= batch_count) return nl_spill_read(set->spill, part - batch_count, memory, batch);
    nl_mutex_lock(rows->mutex);
    nl_status status = nl_batch_ref(&set->batches[part], batch);
    nl_mutex_unlock(rows->mutex);
    return status;
}

typedef struct held_rows { /* what a scan reads: the set in force when it began */
    nl_table *table; /* counted */
    row_set *set;    /* counted */
    uint32_t batch_count;
} held_rows;

static nl_status read_held(void *owner, uint32_t part, nl_memory *memory, nl_batch *batch)
{
    const held_rows *held = owner;
    return read_part(NL_CONTAINER(held->table, nl_kept_rows, base), held->set, held->batch_count, part, memory, batch);
}

static void release_held(void *owner)
{
    held_rows *held = owner;
    release_set(held->set);
    nl_table_release(held->table);
    free(held);
}

/* ---- the table ---- */

nl_kept_rows *nl_kept_rows_of(const nl_table *table)
{
    return NL_CONTAINER(NL_UNCONST(table), nl_kept_rows, base);
}

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    (void)scan;
    *row_count = (int64_t)nl_kept_rows_count(nl_kept_rows_of(table));
    *bytes = nl_kept_rows_are_spilled(nl_kept_rows_of(table)) ? -1 : (int64_t)nl_kept_rows_bytes(nl_kept_rows_of(table));
    return NULL;
}

static uint32_t part_count(const row_set *set, uint32_t batch_count)
{
    return batch_count + nl_spill_chunk_count(set->spill);
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    held_rows *held = calloc(1, sizeof *held);
    if (!held) return nl_out_of_memory(sizeof *held);
    held->table = nl_table_retain(table);
    held->set = hold_set(nl_kept_rows_of(table), &held->batch_count);
    const nl_parts parts = {.count = part_count(held->set, held->batch_count), .read = read_held, .owner = held, .release = release_held};
    return nl_parts_scan_new(&parts, query, node, out);
}

static void append_text(const nl_table *table, nl_builder *out)
{
    (void)table;
    nl_append_c(out, "local");
}

static void free_rows(nl_table *table)
{
    nl_kept_rows *rows = nl_kept_rows_of(table);
    release_set(rows->set);
    nl_mutex_fini(rows->mutex);
    free(rows->mutex);
    nl_memory_release(rows->memory);
    nl_arena_free(rows->arena);
    free(rows);
}

static const nl_table_ops table_ops = {.kind = "rows", .estimate = estimate, .open_scan = open_scan, .append_text = append_text, .free = free_rows};

/* ---- the rows ---- */

nl_status nl_kept_rows_new(const nl_type *row_type, nl_memory *memory, nl_str spill_directory, nl_kept_rows **rows)
{
    nl_kept_rows *made = calloc(1, sizeof *made);
    nl_mutex *mutex = malloc(sizeof *mutex);
    row_set *set = new_set();
    if (!made || !mutex || !set) {
        free(made);
        free(mutex);
        free(set);
        return nl_out_of_memory(sizeof *made);
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

nl_kept_rows *nl_kept_rows_retain(nl_kept_rows *rows)
{
    (void)nl_table_retain(&rows->base);
    return rows;
}

void nl_kept_rows_release(nl_kept_rows *rows)
{
    if (rows) nl_table_release(&rows->base);
}

/* With the mutex held, so that scans see whole batches. */
static nl_status add_locked(nl_kept_rows *rows, nl_batch *batch, bool may_stay)
{
    row_set *set = rows->set;
    const uint64_t row_count = batch->row_count;
    if (!set->spill && (may_stay || !rows->spill_directory.length))
        NL_TRY(keep_batch(set, batch));
    else if (atomic_load(&set->references) > 1)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Rows that are being read have outgrown %zu MiB of memory.", NL_KEPT_ROWS_MEMORY >> 20);
    else {
        if (!set->spill) NL_TRY(nl_spill_new(rows->spill_directory, rows->types, rows->base.row_type->child_count, &set->spill));
        NL_TRY(nl_spill_write(set->spill, batch, rows->memory));
        nl_batch_fini(batch);
    }
    set->row_count += row_count;
    return NULL;
}

nl_status nl_kept_rows_put(nl_kept_rows *rows, nl_batch *batch, bool may_stay)
{
    NL_TRY(nl_batch_compact(batch, rows->memory));
    for (uint32_t i = 0; i < batch->column_count; i++) nl_vector_relabel(&batch->columns[i], rows->types[i]); /* rows outlive the statement whose types they have */
    if (batch->row_count == 0) {
        nl_batch_fini(batch);
        return NULL;
    }
    nl_mutex_lock(rows->mutex);
    nl_status status = add_locked(rows, batch, may_stay);
    nl_mutex_unlock(rows->mutex);
    return status;
}

nl_status nl_kept_rows_add(nl_kept_rows *rows, nl_batch *batch)
{
    return nl_kept_rows_put(rows, batch, nl_kept_rows_bytes(rows) < NL_KEPT_ROWS_MEMORY);
}

bool nl_kept_rows_are_spilled(const nl_kept_rows *rows)
{
    nl_mutex_lock(rows->mutex);
    const bool answer = rows->set->spill != NULL;
    nl_mutex_unlock(rows->mutex);
    return answer;
}

typedef struct adder {
    nl_consumer base;
    nl_kept_rows *rows;
} adder;

static nl_status add_consumed(nl_consumer *base, nl_batch *batch)
{
    nl_batch taken = {0};
    nl_batch_move(batch, &taken);
    nl_status status = nl_kept_rows_add(NL_CONTAINER(base, adder, base)->rows, &taken);
    nl_batch_fini(&taken);
    return status;
}

nl_status nl_kept_rows_run(nl_kept_rows *rows, nl_query *query, const nl_logical *optimized)
{
    adder to = {.base.consume = add_consumed, .rows = rows};
    return nl_query_run(query, optimized, &to.base);
}

void nl_kept_rows_replace(nl_kept_rows *rows, nl_kept_rows *by)
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

uint64_t nl_kept_rows_count(const nl_kept_rows *rows)
{
    nl_mutex_lock(rows->mutex);
    const uint64_t count = rows->set->row_count;
    nl_mutex_unlock(rows->mutex);
    return count;
}

uint64_t nl_kept_rows_bytes(const nl_kept_rows *rows)
{
    nl_mutex_lock(rows->mutex);
    const uint64_t bytes = rows->set->bytes;
    nl_mutex_unlock(rows->mutex);
    return bytes;
}

const nl_type *nl_kept_rows_type(const nl_kept_rows *rows)
{
    return rows->base.row_type;
}

const nl_table *nl_kept_rows_table(nl_kept_rows *rows)
{
    return &rows->base;
}

nl_status nl_kept_rows_batch(const nl_kept_rows *rows, uint32_t i, nl_memory *memory, nl_batch *batch, bool *is_done)
{
    uint32_t batch_count;
    row_set *set = hold_set(rows, &batch_count);
    nl_status status = NULL;
    *is_done = i >= part_count(set, batch_count);
    if (!*is_done) status = read_part(rows, set, batch_count, i, memory, batch);
    release_set(set);
    return status;
}
