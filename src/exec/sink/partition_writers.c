/* exec/sink/partition_writers.c - see partition_writers.h. */
#include "exec/sink/partition_writers.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/pool.h"
#include "exec/engine.h"
#include "exec/spill.h"

#define LATE_PARTS_BITS  4u
#define LATE_PARTS       (1u << LATE_PARTS_BITS)
#define LATE_LEVELS      (64 / LATE_PARTS_BITS)
#define SLOTS_MIN        8u
#define SHARED_ROWS_MAX  (1u << 16) /* OWN: of a partition, before workers write files of their own */
#define SLOT_BYTES       (64u << 10) /* an open file needs about this much, and as much again for every few columns */
#define COLUMNS_PER_SLOT_BYTES 2u
#define IO_THREADS       16u /* open and close files: each waits for the disk most of its time */
#define SIDE_BY_SIDE_MIN 8u  /* so many files are worth the threads */
#define LEFT_MAX         64u
#define GROUPS_AT_ONCE   64u

typedef struct partition_slot {
    nl_value *values; /* in the arena */
    uint64_t hash;
    nl_data_writer *writer; /* NULL: not open */
    bool is_left;           /* CLUSTERED: other partitions' rows have come since */
    atomic_uint_fast64_t row_count;
    nl_mutex mutex;         /* guards writer */
} partition_slot;

typedef struct slot_table { /* guarded by the writers' mutex, except what a slot guards */
    nl_list slots;          /* partition_slot * */
    uint32_t *buckets;      /* index + 1; open addressing */
    uint32_t bucket_mask;
    uint32_t slot_max;      /* partitions open at once */
    partition_slot *open;   /* CLUSTERED: the one that rows come for */
    partition_slot *left[LEFT_MAX]; /* and those before it that are not closed yet */
    uint32_t left_count;
} slot_table;

typedef struct late_rows { /* of partitions that came when too many were open */
    nl_spill *parts[LATE_PARTS]; /* by bits of the tuple's hash */
    bool has_any;
} late_rows;

struct nl_partition_writers {
    nl_write_target *target;
    nl_partition_writing how;
    uint32_t key_count;
    nl_arena *arena;              /* of slots */
    nl_mutex mutex;               /* guards the tables, the arena and io_threads */
    nl_pool *io_threads;          /* made when many files open or close at once */
    slot_table shared;
    slot_table *own;              /* per worker */
    uint32_t worker_count;
    nl_mutex late_mutex;          /* guards late and late_types */
    late_rows late;
    uint32_t late_level;          /* which bits: rows from disk are parted by the next ones */
    const nl_type **late_types;
};

/* ---- partitions ------------------------------------------------------------------------------------------------ */

/* The column a partition field is made of, nested ones included; null structs give null. */
static nl_status source_vector(nl_partition_writers *self, const nl_batch *rows, int32_t source_id, nl_vector *out)
{
    int32_t path[NL_TYPE_DEPTH_MAX];
    uint32_t depth = 0;
    for (int32_t id = source_id; id != 0 && depth < NL_COUNT(path);) {
        const nl_schema_column *column = nl_schema_find_id(self->target->schema, id);
        if (!column) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: %d", source_id);
        path[depth++] = (int32_t)column->position;
        id = column->parent_id;
    }
    nl_memory *memory = self->target->query->memory;
    if (depth == 1) {
        nl_vector_ref(&rows->columns[path[0]], out);
        return NULL;
    }
    nl_vector current = {0};
    NL_TRY(nl_vector_flatten(&rows->columns[path[depth - 1]], true, memory, &current));
    for (uint32_t level = depth - 1; level-- > 0;) {
        nl_vector child = {0};
        nl_status status = nl_vector_flatten(&current.children[path[level]], true, memory, &child);
        uint8_t *bits = NULL;
        if (!status && current.validity) status = nl_vector_make_validity(&child, memory, &bits);
        for (uint32_t row = 0; !status && bits && row < child.length; row++)
            if (nl_vector_is_null(&current, row)) nl_bit_clear(bits, row);
        nl_vector_fini(&current);
        if (status) {
            nl_vector_fini(&child);
            return status;
        }
        current = child;
    }
    nl_vector_move(&current, out);
    return NULL;
}

static nl_status partition_vectors(nl_partition_writers *self, const nl_batch *rows, nl_vector *keys)
{
    const nl_partition_spec *spec = self->target->spec;
    if (self->how.cluster_column >= 0) {
        nl_vector_ref(&rows->columns[self->how.cluster_column], &keys[0]);
        return NULL;
    }
    for (uint32_t i = 0; i < spec->field_count; i++) {
        nl_vector source = {0};
        const nl_schema_column *column = nl_schema_find_id(self->target->schema, spec->fields[i].source_id);
        if (!column) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "Cannot find source column for partition field: " NL_STR_FMT, NL_STR_ARG(spec->fields[i].name));
        NL_TRY(source_vector(self, rows, spec->fields[i].source_id, &source));
        nl_status status = nl_transform_vector(&spec->fields[i].transform, column->field->type, &source, self->target->query->memory, &keys[i]);
        nl_vector_fini(&source);
        if (status) return status;
    }
    return NULL;
}

static nl_status grow_buckets(slot_table *table)
{
    const uint32_t size = table->bucket_mask ? (table->bucket_mask + 1) * 2 : 64;
    uint32_t *buckets = calloc(size, sizeof(*buckets));
    if (!buckets) return nl_out_of_memory(size * sizeof(*buckets));
    for (uint32_t i = 0; i < table->slots.count; i++) {
        uint32_t at = (uint32_t)((partition_slot *)table->slots.items[i])->hash & (size - 1);
        while (buckets[at])
            at = (at + 1) & (size - 1);
        buckets[at] = i + 1;
    }
    free(table->buckets);
    table->buckets = buckets;
    table->bucket_mask = size - 1;
    return NULL;
}

static bool is_clustered(const nl_partition_writers *self)
{
    return self->how.sharing == NL_PARTITIONS_CLUSTERED;
}

/* The slot of a tuple; made when it is new, unless too many are there: then it is NULL. Called with the lock. */
static nl_status slot_of(nl_partition_writers *self, slot_table *table, const nl_value *values, uint64_t hash, partition_slot **slot)
{
    if (table->slots.count * 2 >= table->bucket_mask) NL_TRY(grow_buckets(table));
    uint32_t at = (uint32_t)hash & table->bucket_mask;
    for (; table->buckets[at]; at = (at + 1) & table->bucket_mask) {
        *slot = table->slots.items[table->buckets[at] - 1];
        if ((*slot)->hash == hash && nl_partition_equal((*slot)->values, values, self->key_count)) return NULL;
    }
    *slot = NULL;
    if (!is_clustered(self) && table->slots.count >= table->slot_max && self->late_level < LATE_LEVELS) return NULL;
    partition_slot *made = NL_NEW(self->arena, partition_slot);
    made->hash = hash;
    made->values = NL_NEW_ARRAY(self->arena, nl_value, self->key_count);
    for (uint32_t i = 0; i < self->key_count; i++)
        made->values[i] = nl_value_copy(self->arena, &values[i]);
    nl_mutex_init(&made->mutex);
    nl_list_add(self->arena, &table->slots, made);
    table->buckets[at] = table->slots.count;
    *slot = made;
    return nl_arena_check(self->arena);
}

/* Called with the slot's lock. */
static nl_status need_writer(nl_partition_writers *self, partition_slot *slot)
{
    return slot->writer ? NULL : nl_data_writer_new(self->target, self->how.cluster_column >= 0 ? NULL : slot->values, &slot->writer);
}

/* Rows may have more columns than files have. */
static nl_status append_to_slot(nl_partition_writers *self, partition_slot *slot, const nl_batch *rows)
{
    nl_batch written = *rows;
    written.column_count = self->target->file_type->child_count;
    atomic_fetch_add_explicit(&slot->row_count, rows->row_count, memory_order_relaxed);
    nl_mutex_lock(&slot->mutex);
    nl_status status = need_writer(self, slot);
    if (!status) status = nl_data_writer_append(slot->writer, &written);
    nl_mutex_unlock(&slot->mutex);
    return status;
}

/* Rows of one partition: the batch with a selection. */
static nl_status append_selected(nl_partition_writers *self, partition_slot *slot, const nl_batch *rows, const uint32_t *selected, uint32_t count)
{
    nl_memory *memory = self->target->query->memory;
    nl_batch part = {0};
    if (count == rows->row_count) return append_to_slot(self, slot, rows);
    NL_TRY(nl_batch_ref(rows, &part));
    nl_status status = nl_buffer_new(memory, count * sizeof(*selected), false, &part.selection);
    if (!status) {
        memcpy(part.selection->data, selected, count * sizeof(*selected));
        part.is_selective = true;
        part.selected_count = count;
        status = nl_batch_compact(&part, memory);
    }
    if (!status) status = append_to_slot(self, slot, &part);
    nl_batch_fini(&part);
    return status;
}

typedef struct row_groups { /* rows of a batch by partition */
    uint32_t *first_rows;   /* a row of each group */
    uint32_t *group_of;     /* per row */
    uint32_t group_count;
} row_groups;

static bool is_same_key(const nl_vector *key, uint32_t a, uint32_t b, nl_arena *arena)
{
    const bool left = nl_vector_is_null(key, a), right = nl_vector_is_null(key, b);
    if (left || right) return left == right;
    if (key->type->physical != NL_PHYS_F32 && key->type->physical != NL_PHYS_F64) return nl_vector_row_equal(key, a, key, b);
    const nl_value values[] = {nl_vector_value(key, a, arena), nl_vector_value(key, b, arena)};
    return nl_partition_equal(&values[0], &values[1], 1); /* it tells 0.0 from -0.0 */
}

/* Rows with equal keys get one group number: neighbours first, then by hash. */
static nl_status group_rows(const nl_vector *keys, uint32_t key_count, uint32_t row_count, const uint64_t *hashes, nl_arena *arena, row_groups *groups)
{
    uint32_t size = 64;
    while (size < row_count * 2)
        size *= 2;
    uint32_t *buckets = NL_NEW_ARRAY(arena, uint32_t, size);
    groups->first_rows = NL_NEW_ARRAY(arena, uint32_t, row_count);
    groups->group_of = NL_NEW_ARRAY(arena, uint32_t, row_count);
    groups->group_count = 0;
    for (uint32_t row = 0; row < row_count; row++) {
        uint32_t at = (uint32_t)hashes[row] & (size - 1);
        for (; buckets[at]; at = (at + 1) & (size - 1)) {
            const uint32_t other = groups->first_rows[buckets[at] - 1];
            bool is_equal = hashes[other] == hashes[row];
            for (uint32_t i = 0; is_equal && i < key_count; i++)
                is_equal = is_same_key(&keys[i], row, other, arena);
            if (is_equal) break;
        }
        if (!buckets[at]) {
            groups->first_rows[groups->group_count++] = row;
            buckets[at] = groups->group_count;
        }
        groups->group_of[row] = buckets[at] - 1;
    }
    return nl_arena_check(arena);
}

static nl_status find_slot(nl_partition_writers *self, slot_table *table, const nl_vector *keys, uint32_t row, nl_arena *arena, partition_slot **slot)
{
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, self->key_count);
    for (uint32_t i = 0; i < self->key_count; i++)
        values[i] = nl_vector_value(&keys[i], row, arena);
    nl_mutex_lock(&self->mutex);
    nl_status status = slot_of(self, table, values, nl_partition_hash(values, self->key_count), slot);
    nl_mutex_unlock(&self->mutex);
    return status;
}

/* ---- opening and closing --------------------------------------------------------------------------------------- */

typedef struct slot_group {
    nl_partition_writers *writers;
    partition_slot **slots;
} slot_group;

static nl_status open_slot(void *argument, uint64_t i)
{
    const slot_group *group = argument;
    partition_slot *slot = group->slots[i];
    nl_mutex_lock(&slot->mutex);
    nl_status status = need_writer(group->writers, slot);
    if (!status) status = nl_data_writer_open(slot->writer);
    nl_mutex_unlock(&slot->mutex);
    return status;
}

static nl_status close_slot(void *argument, uint64_t i)
{
    partition_slot *slot = ((const slot_group *)argument)->slots[i];
    nl_status status = slot->writer ? nl_data_writer_flush(slot->writer) : NULL;
    nl_data_writer_free(slot->writer);
    slot->writer = NULL;
    return status;
}

/* A folder or file is on disk only when the disk says so: many wait for it side by side. */
static nl_status for_slots(nl_partition_writers *self, partition_slot **slots, uint32_t count, nl_status (*act)(void *argument, uint64_t i))
{
    slot_group group = {self, slots};
    nl_status status = NULL;
    if (count >= SIDE_BY_SIDE_MIN) {
        nl_mutex_lock(&self->mutex);
        if (!self->io_threads) self->io_threads = nl_pool_new(IO_THREADS, "files");
        nl_mutex_unlock(&self->mutex);
        if (self->io_threads) return nl_pool_for(self->io_threads, count, act, &group);
    }
    for (uint32_t i = 0; i < count && !status; i++)
        status = act(&group, i);
    return status;
}

static nl_status close_left(nl_partition_writers *self, slot_table *table)
{
    const uint32_t count = table->left_count;
    table->left_count = 0;
    return for_slots(self, table->left, count, close_slot);
}

static nl_status close_table(nl_partition_writers *self, slot_table *table)
{
    table->open = NULL;
    table->left_count = 0;
    return for_slots(self, (partition_slot **)table->slots.items, table->slots.count, close_slot);
}

static void append_spec(nl_arena *arena, const nl_partition_spec *spec, nl_builder *out)
{
    nl_append_c(out, "[");
    for (uint32_t i = 0; i < spec->field_count; i++) {
        const nl_partition_field *field = &spec->fields[i];
        nl_append_f(out, "\n  %d: " NL_STR_FMT ": " NL_STR_FMT "(%d)", field->field_id, NL_STR_ARG(field->name),
                    NL_STR_ARG(nl_transform_name(arena, &field->transform)), field->source_id);
    }
    nl_append_c(out, spec->field_count ? "\n]" : "]");
}

static nl_status refuse(nl_partition_writers *self, const partition_slot *slot)
{
    nl_builder text;
    nl_arena *arena = nl_arena_new(self->target->query->memory);
    nl_builder_init(&text, 1 << 20);
    nl_append_c(&text, "partition '");
    nl_partition_append_path(self->target->spec, self->target->schema, slot->values, &text);
    nl_append_c(&text, "' in spec ");
    append_spec(arena, self->target->spec, &text);
    nl_status status = NL_RAISE_TEXT(NILAS_VALIDATION_FAILED,
                                     "Incoming records violate the writer assumption that records are clustered by spec and by partition within each "
                                     "spec. Either cluster the incoming records or switch to fanout writers.\nEncountered records that belong to "
                                     "already closed files:\n%s",
                                     nl_builder_c(&text));
    nl_builder_fini(&text);
    nl_arena_free(arena);
    return status;
}

/* Rows of another partition come: the one before gets no more. Some are closed together. */
static nl_status move_on(nl_partition_writers *self, slot_table *table, partition_slot *next)
{
    const nl_write_target *target = self->target;
    if (table->open == next) return NULL;
    if (next->is_left) {
        if (self->how.refuses_unclustered) return refuse(self, next);
        NL_TRY(close_left(self, table)); /* it may be among them */
        next->is_left = false;
    }
    if (table->open) {
        table->open->is_left = true;
        table->left[table->left_count++] = table->open;
    }
    table->open = next;
    return table->left_count == LEFT_MAX || atomic_load(&target->memory_used) > target->memory_max / 2 ? close_left(self, table) : NULL;
}

/* ---- routing --------------------------------------------------------------------------------------------------- */

static nl_status write_late_part(nl_partition_writers *self, const nl_batch *rows, uint32_t *chosen, uint32_t count, uint32_t part)
{
    nl_query *query = self->target->query;
    nl_spill **spill = &self->late.parts[part];
    if (!*spill) NL_TRY(nl_spill_new(query->spill_directory, self->late_types, rows->column_count, spill));
    self->late.has_any = true;
    nl_buffer view = {.data = (uint8_t *)chosen};
    const nl_batch batch = {.columns = rows->columns, .column_count = rows->column_count, .row_count = rows->row_count,
                            .is_selective = true, .selected_count = count, .selection = &view};
    return nl_spill_write(*spill, &batch, query->memory);
}

static nl_status keep_for_later(nl_partition_writers *self, const nl_batch *rows, const uint64_t *hashes, const uint32_t *late, uint32_t late_count, nl_arena *arena)
{
    uint32_t *chosen = NL_NEW_ARRAY(arena, uint32_t, late_count);
    nl_status status = nl_arena_check(arena);
    nl_mutex_lock(&self->late_mutex);
    if (!status && !self->late_types) {
        self->late_types = calloc(rows->column_count, sizeof(*self->late_types));
        if (!self->late_types) status = nl_out_of_memory(rows->column_count * sizeof(*self->late_types));
        for (uint32_t i = 0; i < rows->column_count && !status; i++)
            self->late_types[i] = rows->columns[i].type;
    }
    const uint32_t shift = 64 - LATE_PARTS_BITS * (self->late_level + 1);
    for (uint32_t part = 0; part < LATE_PARTS && !status; part++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < late_count; i++) {
            chosen[count] = late[i];
            count += (hashes[late[i]] >> shift & (LATE_PARTS - 1)) == part;
        }
        if (count > 0) status = write_late_part(self, rows, chosen, count, part);
    }
    nl_mutex_unlock(&self->late_mutex);
    return status;
}

typedef struct routed_rows { /* groups of a batch: the rows of group g are ordered[starts[g]] … ordered[starts[g + 1] - 1] */
    row_groups groups;
    uint64_t *hashes; /* per row */
    uint32_t *starts, *ordered;
} routed_rows;

static nl_status group_batch(nl_partition_writers *self, const nl_batch *rows, const nl_vector *keys, nl_arena *arena, routed_rows *routed)
{
    const uint32_t row_count = rows->row_count;
    row_groups *groups = &routed->groups;
    routed->hashes = NL_NEW_ARRAY(arena, uint64_t, row_count);
    for (uint32_t i = 0; i < self->key_count; i++)
        NL_TRY(nl_vector_hash(&keys[i], row_count, i > 0, routed->hashes));
    NL_TRY(group_rows(keys, self->key_count, row_count, routed->hashes, arena, groups));
    routed->starts = NL_NEW_ARRAY(arena, uint32_t, groups->group_count + 1);
    routed->ordered = NL_NEW_ARRAY(arena, uint32_t, row_count);
    for (uint32_t row = 0; row < row_count; row++)
        routed->starts[groups->group_of[row] + 1]++;
    for (uint32_t g = 0; g < groups->group_count; g++)
        routed->starts[g + 1] += routed->starts[g];
    uint32_t *next = NL_NEW_ARRAY(arena, uint32_t, groups->group_count);
    memcpy(next, routed->starts, groups->group_count * sizeof(*next));
    for (uint32_t row = 0; row < row_count; row++)
        routed->ordered[next[groups->group_of[row]]++] = row;
    return nl_arena_check(arena);
}

/* Groups are numbered as they come: a row of an earlier group than its neighbour's comes back to it. */
static nl_status check_clusters(nl_partition_writers *self, slot_table *table, const nl_vector *keys, uint32_t row_count, const row_groups *groups, nl_arena *arena)
{
    for (uint32_t row = 1; row < row_count; row++) {
        if (groups->group_of[row] >= groups->group_of[row - 1]) continue;
        partition_slot *slot = NULL;
        NL_TRY(find_slot(self, table, keys, row, arena, &slot));
        return refuse(self, slot);
    }
    return NULL;
}

/* The slot that rows like `row` of the batch go to; NULL: they wait. OWN: few rows of a partition share a file, and so do all
 * that find no more room. */
static nl_status choose_slot(nl_partition_writers *self, slot_table *own, const nl_vector *keys, uint32_t row, nl_arena *arena, partition_slot **slot)
{
    partition_slot *own_slot = NULL;
    NL_TRY(find_slot(self, own && is_clustered(self) ? own : &self->shared, keys, row, arena, slot));
    if (!own || is_clustered(self) || !*slot || atomic_load_explicit(&(*slot)->row_count, memory_order_relaxed) < SHARED_ROWS_MAX) return NULL;
    NL_TRY(find_slot(self, own, keys, row, arena, &own_slot));
    if (own_slot) *slot = own_slot;
    return NULL;
}

/* Some groups of a batch: their slots, opened together where many are new; then their rows. */
static nl_status route_some(nl_partition_writers *self, slot_table *own, const nl_batch *rows, const nl_vector *keys, const routed_rows *routed, uint32_t start,
                            uint32_t stop, nl_arena *arena)
{
    partition_slot *slots[GROUPS_AT_ONCE] = {NULL}, *opened[GROUPS_AT_ONCE];
    uint32_t opened_count = 0;
    for (uint32_t g = start; g < stop; g++) {
        partition_slot **slot = &slots[g - start];
        NL_TRY(choose_slot(self, own, keys, routed->groups.first_rows[g], arena, slot));
        if (*slot && atomic_load_explicit(&(*slot)->row_count, memory_order_relaxed) == 0) opened[opened_count++] = *slot;
    }
    if (opened_count >= SIDE_BY_SIDE_MIN) NL_TRY(for_slots(self, opened, opened_count, open_slot));
    for (uint32_t g = start; g < stop; g++) {
        partition_slot *slot = slots[g - start];
        if (!slot) continue;
        if (is_clustered(self)) NL_TRY(move_on(self, own, slot));
        NL_TRY(append_selected(self, slot, rows, routed->ordered + routed->starts[g], routed->starts[g + 1] - routed->starts[g]));
    }
    uint32_t *late = NULL, late_count = 0;
    for (uint32_t g = start; g < stop; g++) {
        if (slots[g - start]) continue;
        if (!late) late = NL_NEW_ARRAY(arena, uint32_t, rows->row_count);
        for (uint32_t i = routed->starts[g]; i < routed->starts[g + 1]; i++)
            late[late_count++] = routed->ordered[i];
    }
    return late_count > 0 ? keep_for_later(self, rows, routed->hashes, late, late_count, arena) : NULL;
}

static nl_status route(nl_partition_writers *self, slot_table *own, const nl_batch *rows, const nl_vector *keys, nl_arena *arena)
{
    routed_rows routed = {0};
    NL_TRY(group_batch(self, rows, keys, arena, &routed));
    if (is_clustered(self) && self->how.refuses_unclustered) NL_TRY(check_clusters(self, own, keys, rows->row_count, &routed.groups, arena));
    for (uint32_t g = 0; g < routed.groups.group_count; g += GROUPS_AT_ONCE)
        NL_TRY(route_some(self, own, rows, keys, &routed, g, NL_MIN(g + GROUPS_AT_ONCE, routed.groups.group_count), arena));
    return NULL;
}

/* own: the worker's table; NULL: the shared one is all. */
static nl_status append(nl_partition_writers *self, slot_table *own, const nl_batch *rows)
{
    nl_arena *arena = nl_arena_new(self->target->query->memory);
    nl_vector *keys = NL_NEW_ARRAY(arena, nl_vector, self->key_count);
    nl_status status = partition_vectors(self, rows, keys);
    if (!status) status = route(self, own, rows, keys, arena);
    for (uint32_t i = 0; i < self->key_count; i++)
        if (keys[i].type) nl_vector_fini(&keys[i]);
    nl_arena_free(arena);
    return status;
}

/* ---- partitions on disk ---------------------------------------------------------------------------------------- */

static void forget_slots(slot_table *table)
{
    for (uint32_t i = 0; i < table->slots.count; i++) {
        partition_slot *slot = table->slots.items[i];
        nl_data_writer_free(slot->writer);
        nl_mutex_fini(&slot->mutex);
    }
    table->slots.count = 0;
    if (table->buckets) memset(table->buckets, 0, sizeof(*table->buckets) * (table->bucket_mask + 1));
}

static nl_status write_spilled(nl_partition_writers *self, const nl_spill *spill)
{
    for (uint32_t chunk = 0; chunk < nl_spill_chunk_count(spill); chunk++) {
        nl_batch rows = {0};
        NL_TRY(nl_cancel_check(self->target->query->cancel));
        NL_TRY(nl_spill_read(spill, chunk, self->target->query->memory, &rows));
        nl_status status = append(self, NULL, &rows);
        nl_batch_fini(&rows);
        if (status) return status;
    }
    return NULL;
}

/* Part after part, each with all its partitions open; those that are still too many wait again, by the next bits. */
static nl_status write_late(nl_partition_writers *self)
{
    late_rows late = self->late;
    const uint32_t level = self->late_level;
    nl_status status = NULL;
    self->late = (late_rows){0};
    for (uint32_t part = 0; part < LATE_PARTS; part++) {
        if (late.parts[part] && !status) {
            self->late_level = level + 1;
            status = close_table(self, &self->shared);
            forget_slots(&self->shared);
            if (!status) status = write_spilled(self, late.parts[part]);
            if (!status && self->late.has_any) status = write_late(self); /* at most LATE_LEVELS deep */
        }
        nl_spill_free(late.parts[part]);
    }
    self->late_level = level;
    return status;
}

/* ---- from outside ---------------------------------------------------------------------------------------------- */

nl_status nl_partition_writers_new(nl_write_target *target, const nl_partition_writing *how, nl_partition_writers **writers)
{
    nl_partition_writers *self = calloc(1, sizeof(*self));
    if (!self) return nl_out_of_memory(sizeof(*self));
    self->target = target;
    self->how = *how;
    self->key_count = how->cluster_column >= 0 ? 1 : target->spec->field_count;
    self->arena = nl_arena_new(target->query->memory);
    nl_mutex_init(&self->mutex);
    nl_mutex_init(&self->late_mutex);
    *writers = self;
    return NULL;
}

nl_status nl_partition_writers_start(nl_partition_writers *self, uint32_t worker_count)
{
    const size_t slot_bytes = SLOT_BYTES * (1 + (size_t)self->target->file_type->child_count / COLUMNS_PER_SLOT_BYTES);
    const uint32_t slot_max = (uint32_t)NL_MIN(self->target->memory_max / slot_bytes, (size_t)self->target->open_max);
    self->own = calloc(worker_count, sizeof(*self->own));
    if (!self->own) return nl_out_of_memory(worker_count * sizeof(*self->own));
    self->worker_count = worker_count;
    self->shared.slot_max = NL_MAX(slot_max, SLOTS_MIN);
    for (uint32_t i = 0; i < worker_count; i++)
        self->own[i].slot_max = NL_MAX(slot_max / worker_count, SLOTS_MIN);
    return NULL;
}

nl_status nl_partition_writers_append(nl_partition_writers *self, uint32_t worker, const nl_batch *rows)
{
    const bool has_own = is_clustered(self) || (self->how.sharing == NL_PARTITIONS_OWN && worker > 0);
    return append(self, has_own ? &self->own[worker] : NULL, rows);
}

nl_status nl_partition_writers_finish_worker(nl_partition_writers *self, uint32_t worker)
{
    return close_table(self, &self->own[worker]);
}

nl_status nl_partition_writers_finish(nl_partition_writers *self)
{
    if (self->late.has_any) NL_TRY(write_late(self));
    for (uint32_t i = 0; i < self->worker_count; i++)
        NL_TRY(close_table(self, &self->own[i]));
    return close_table(self, &self->shared);
}

void nl_partition_writers_free(nl_partition_writers *self)
{
    if (!self) return;
    forget_slots(&self->shared);
    free(self->shared.buckets);
    for (uint32_t i = 0; i < self->worker_count; i++) {
        forget_slots(&self->own[i]);
        free(self->own[i].buckets);
    }
    for (uint32_t part = 0; part < LATE_PARTS; part++)
        nl_spill_free(self->late.parts[part]);
    if (self->io_threads) nl_pool_free(self->io_threads);
    free(self->late_types);
    free(self->own);
    nl_arena_free(self->arena);
    nl_mutex_fini(&self->mutex);
    nl_mutex_fini(&self->late_mutex);
    free(self);
}
