/* exec/kept.c - rows kept between statements. One statement fills, others that want the rows wait for it. */
#include "exec/kept.h"

#include <stdlib.h>
#include <time.h>

#include "base/lock.h"
#include "exec/engine.h"
#include "exec/kept_rows.h"

#define KEPT_PER_BUDGET 2u  /* the part of the budget that may be kept */
#define WAIT_NANOS      50000000

struct nl_kept {
    atomic_int references;
    nl_memory *memory;         /* counted */
    nl_arena *arena;           /* owned: of what follows */
    const nl_type *row_type;
    nl_str spill_directory;
    bool use_memory, use_disk;
    nl_mutex mutex;
    pthread_cond_t changed;
    bool is_filling;           /* guarded by mutex */
    const nl_table *rows;      /* guarded by mutex; counted; NULL: not made */
};

static const nl_type *visible_type(nl_arena *arena, const nl_logical *plan)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const nl_column *column = &plan->columns[i];
        if (column->is_hidden) continue;
        fields[count++] = (nl_field){.name = nl_arena_str(arena, column->name), .type = nl_type_copy(arena, column->type), .is_nullable = column->is_nullable,
                                     .comment = nl_arena_str(arena, column->comment), .metadata = nl_arena_str(arena, column->metadata)};
    }
    return nl_type_struct(arena, fields, count);
}

nl_status nl_kept_new(const nl_kept_options *options, const nl_logical *like, nl_kept **kept)
{
    nl_kept *made = calloc(1, sizeof *made);
    if (!made) return nl_out_of_memory(sizeof *made);
    atomic_init(&made->references, 1);
    made->memory = nl_memory_new(options->memory, "cache", SIZE_MAX);
    made->arena = nl_arena_new(made->memory);
    made->row_type = visible_type(made->arena, like);
    made->spill_directory = nl_arena_str(made->arena, options->spill_directory);
    made->use_memory = options->use_memory;
    made->use_disk = options->use_disk;
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->changed, NULL);
    nl_status status = nl_arena_check(made->arena);
    if (status)
        nl_kept_release(made);
    else
        *kept = made;
    return status;
}

nl_kept *nl_kept_retain(nl_kept *kept)
{
    atomic_fetch_add(&kept->references, 1);
    return kept;
}

void nl_kept_release(nl_kept *kept)
{
    if (!kept || atomic_fetch_sub(&kept->references, 1) != 1) return;
    if (kept->rows) nl_table_release(kept->rows);
    pthread_cond_destroy(&kept->changed);
    nl_mutex_fini(&kept->mutex);
    nl_arena_free(kept->arena);
    nl_memory_release(kept->memory);
    free(kept);
}

bool nl_kept_is_filled(nl_kept *kept)
{
    nl_mutex_lock(&kept->mutex);
    const bool is_filled = kept->rows != NULL;
    nl_mutex_unlock(&kept->mutex);
    return is_filled;
}

/* ---- filling ---- */

typedef struct filling {
    nl_consumer base;
    nl_kept *kept;
    nl_query *query;
    const uint32_t *places; /* of the visible columns in the plan's */
    nl_batch *pending;      /* not yet copied */
    uint32_t pending_count, pending_capacity;
    uint32_t pending_rows;
    nl_kept_rows *rows;     /* counted; NULL: none yet */
} filling;

static nl_status room_for_one(filling *self)
{
    if (self->pending_count < self->pending_capacity) return NULL;
    const uint32_t more = NL_MAX(16u, self->pending_capacity * 2);
    nl_batch *grown = realloc(self->pending, more * sizeof *grown);
    if (!grown) return nl_out_of_memory(more * sizeof *grown);
    self->pending = grown;
    self->pending_capacity = more;
    return NULL;
}

static void drop_batches(nl_batch *batches, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) nl_batch_fini(&batches[i]);
}

/* The pending rows as one batch of our own: buffers of files and of other statements are let go. */
static nl_status copy_pending(filling *self, nl_batch *made)
{
    const uint32_t column_count = self->kept->row_type->child_count;
    const nl_vector **parts = calloc(self->pending_count + 1, sizeof *parts);
    if (!parts) return nl_out_of_memory(self->pending_count * sizeof *parts);
    nl_status status = nl_batch_init(made, column_count, self->pending_rows);
    for (uint32_t c = 0; !status && c < column_count; c++) {
        for (uint32_t i = 0; i < self->pending_count; i++) parts[i] = &self->pending[i].columns[self->places[c]];
        status = nl_vector_concat(parts, self->pending_count, self->kept->memory, &made->columns[c]);
    }
    free(parts);
    if (status) nl_batch_fini(made);
    return status;
}

static bool has_room(const filling *self, size_t bytes)
{
    const size_t limit = nl_memory_limit(self->kept->memory);
    return self->kept->use_memory && nl_memory_has_room(self->kept->memory, bytes) && nl_kept_rows_bytes(self->rows) + bytes <= limit / KEPT_PER_BUDGET;
}

static nl_status keep_pending(filling *self)
{
    nl_batch made = {0};
    if (self->pending_rows == 0) return NULL;
    NL_TRY(copy_pending(self, &made));
    drop_batches(self->pending, self->pending_count);
    self->pending_count = self->pending_rows = 0;
    nl_status status = nl_kept_rows_put(self->rows, &made, made.column_count == 0 || has_room(self, nl_batch_bytes(&made)));
    nl_batch_fini(&made);
    return status;
}

static nl_status take(nl_consumer *base, nl_batch *batch)
{
    filling *self = NL_CONTAINER(base, filling, base);
    NL_TRY(nl_batch_compact(batch, self->query->memory));
    if (batch->row_count == 0) return NULL;
    if (self->pending_rows > 0 && self->pending_rows + batch->row_count > NL_BATCH_ROWS) NL_TRY(keep_pending(self));
    NL_TRY(room_for_one(self));
    self->pending_rows += batch->row_count;
    nl_batch_move(batch, &self->pending[self->pending_count++]);
    return NULL;
}

static const uint32_t *places_of(nl_arena *arena, const nl_logical *plan)
{
    uint32_t *places = NL_NEW_ARRAY(arena, uint32_t, plan->column_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->column_count; i++)
        if (!plan->columns[i].is_hidden) places[count++] = i;
    return places;
}

/* Runs the plan; *rows is counted. */
static nl_status make_rows(nl_kept *kept, nl_query *query, const nl_logical *plan, const nl_table **rows)
{
    nl_query fill = *query;
    nl_arena *arena = nl_arena_new(query->memory);
    filling self = {.base.consume = take, .kept = kept, .query = &fill, .places = places_of(arena, plan)};
    fill.metrics = NULL;
    nl_status status = nl_kept_rows_new(kept->row_type, kept->memory, kept->spill_directory, &self.rows);
    if (!status) status = nl_query_run(&fill, plan, &self.base);
    if (!status) status = keep_pending(&self);
    drop_batches(self.pending, self.pending_count);
    free(self.pending);
    if (status)
        nl_kept_rows_release(self.rows);
    else
        *rows = nl_kept_rows_table(self.rows); /* is the reference */
    nl_arena_free(arena);
    return nl_note_if(status, NL_HERE, "keeping rows");
}

/* Until the rows are there (*rows, counted) or it is the caller's turn to make them. */
static nl_status wait_for_rows(nl_kept *kept, const nl_cancel *cancel, const nl_table **rows)
{
    nl_status status = NULL;
    nl_mutex_lock(&kept->mutex);
    while (!kept->rows && kept->is_filling && !status) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WAIT_NANOS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&kept->changed, &kept->mutex, &until);
        nl_mutex_unlock(&kept->mutex);
        status = nl_cancel_check(cancel);
        nl_mutex_lock(&kept->mutex);
    }
    if (kept->rows)
        *rows = nl_table_retain(kept->rows);
    else if (!status)
        kept->is_filling = true;
    nl_mutex_unlock(&kept->mutex);
    return status;
}

static bool may_keep(const nl_kept *kept, const nl_table *rows)
{
    return kept->use_disk || !nl_kept_rows_are_spilled(nl_kept_rows_of(rows));
}

static nl_status rows_of(nl_kept *kept, nl_query *query, const nl_logical *plan, const nl_table **rows)
{
    *rows = NULL;
    NL_TRY(wait_for_rows(kept, query->cancel, rows));
    if (*rows) return NULL;
    nl_status status = make_rows(kept, query, plan, rows);
    nl_mutex_lock(&kept->mutex);
    kept->is_filling = false;
    if (!status && may_keep(kept, *rows)) kept->rows = nl_table_retain(*rows);
    pthread_cond_broadcast(&kept->changed);
    nl_mutex_unlock(&kept->mutex);
    return status;
}

nl_status nl_kept_fill(nl_kept *kept, nl_query *query, const nl_logical *plan)
{
    const nl_table *rows = NULL;
    NL_TRY(rows_of(kept, query, plan, &rows));
    nl_table_release(rows);
    return NULL;
}

/* ---- the table ---- */

typedef struct kept_source {
    nl_table base;
    nl_kept *kept;          /* counted */
    const nl_logical *plan; /* borrowed; NULL: the rows are there */
    void *owner;            /* of plan; or NULL */
    void (*release)(void *owner);
    _Atomic(const nl_table *) rows; /* counted; set by the first prepare */
} kept_source;

static const kept_source *source_of(const nl_table *table)
{
    return (const kept_source *)(const void *)table;
}

static nl_status prepare(const nl_table *table, nl_query *query)
{
    kept_source *self = NL_UNCONST(source_of(table));
    const nl_table *rows = NULL, *none = NULL;
    if (atomic_load(&self->rows)) return NULL;
    if (!self->plan && !nl_kept_is_filled(self->kept)) return NL_RAISE_TEXT(INTERNAL_ERROR, "kept rows are gone");
    NL_TRY(rows_of(self->kept, query, self->plan, &rows));
    if (!atomic_compare_exchange_strong(&self->rows, &none, rows)) nl_table_release(rows);
    return NULL;
}

static nl_status open_scan(const nl_table *table, nl_query *query, const nl_logical *node, nl_scan **out)
{
    const nl_table *rows = atomic_load(&source_of(table)->rows);
    NL_CHECK(rows != NULL);
    return rows->ops->open_scan(rows, query, node, out);
}

static nl_status estimate(const nl_table *table, const nl_logical *scan, int64_t *row_count, int64_t *bytes)
{
    nl_kept *kept = source_of(table)->kept;
    *row_count = *bytes = -1;
    nl_mutex_lock(&kept->mutex);
    const nl_table *rows = kept->rows ? nl_table_retain(kept->rows) : NULL;
    nl_mutex_unlock(&kept->mutex);
    if (!rows) return NULL;
    nl_status status = rows->ops->estimate(rows, scan, row_count, bytes);
    nl_table_release(rows);
    return status;
}

static bool is_same(const nl_table *a, const nl_table *b)
{
    return source_of(a)->kept == source_of(b)->kept;
}

static void append_text(const nl_table *table, nl_builder *out)
{
    (void)table;
    nl_append_c(out, "InMemoryRelation");
}

static void free_source(nl_table *table)
{
    kept_source *self = NL_UNCONST(source_of(table));
    const nl_table *rows = atomic_load(&self->rows);
    if (rows) nl_table_release(rows);
    nl_kept_release(self->kept);
    if (self->owner) self->release(self->owner);
    free(self);
}

static const nl_table_ops kept_ops = {
    .kind = "cache",
    .estimate = estimate,
    .is_same = is_same,
    .prepare = prepare,
    .open_scan = open_scan,
    .append_text = append_text,
    .free = free_source,
};

nl_status nl_kept_source_new(nl_kept *kept, const nl_logical *plan, const nl_table **source)
{
    kept_source *self = calloc(1, sizeof *self);
    if (!self) return nl_out_of_memory(sizeof *self);
    self->base.ops = &kept_ops;
    self->base.row_type = kept->row_type;
    self->kept = nl_kept_retain(kept);
    self->plan = plan;
    atomic_init(&self->base.references, 1);
    *source = &self->base;
    return NULL;
}

void nl_kept_source_own(const nl_table *source, void *owner, void (*release)(void *owner))
{
    kept_source *self = NL_UNCONST(source_of(source));
    NL_ASSERT(!self->owner);
    self->owner = owner;
    self->release = release;
}
