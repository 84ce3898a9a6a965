/* exec/group_table.c - finding and making groups, a batch at a time.
 *
 * A batch is looked up in rounds: each row walks to the first slot that is free or has its hash's tag; free slots are
 * taken; then the new keys are written and all candidates are compared column by column; the unequal ones walk on.
 */
#include "exec/group_table.h"

#include <math.h>

#define CAPACITY_MIN   1024u
#define PREFETCH_SLOTS 24u /* rows ahead */
#define PREFETCH_ROWS  12u
#define CACHED_SLOTS   4096u
#define TAG_SHIFT    48
#define ADDRESS_MASK ((1ull << TAG_SHIFT) - 1)

void nl_group_table_init(nl_group_table *table, nl_exec *exec, const nl_row_layout *layout, uint32_t key_count)
{
    *table = (nl_group_table){.exec = exec, .layout = layout, .key_count = key_count};
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        nl_row_store_init(&table->parts[i], exec->query->memory, layout->row_bytes);
}

void nl_group_table_fini(nl_group_table *table)
{
    if (!table->exec) return;
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        nl_row_store_clear(&table->parts[i]);
    nl_buffer_release(table->directory);
    nl_buffer_release(table->scratch);
    nl_buffer_release(table->hash_buffer);
    *table = (nl_group_table){0};
}

void nl_group_table_forget(nl_group_table *table)
{
    if (table->directory) memset(table->directory->data, 0, table->directory->size_bytes);
    table->group_count = 0;
    table->epoch++;
}

void nl_group_table_drop_directory(nl_group_table *table)
{
    nl_buffer_release(table->directory);
    table->directory = NULL;
    table->mask = 0;
    nl_group_table_forget(table);
}

size_t nl_group_table_bytes(const nl_group_table *table)
{
    size_t bytes = table->directory ? table->directory->size_bytes : 0;
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        bytes += nl_row_store_bytes(&table->parts[i]);
    return bytes;
}

static uint64_t wanted_capacity(const nl_group_table *table, uint32_t count)
{
    uint64_t capacity = table->directory ? table->mask + 1 : CAPACITY_MIN;
    while (capacity < 2 * (table->group_count + count))
        capacity *= 2;
    return capacity;
}

/* Hashes spread evenly: a store gets its share, or some more. */
static uint64_t share_of(uint64_t count)
{
    return NL_MIN(count, count / NL_GROUP_PARTS * 2 + 32);
}

size_t nl_group_table_growth(const nl_group_table *table, uint32_t count, size_t key_bytes)
{
    uint64_t capacity = wanted_capacity(table, count);
    size_t bytes = !table->directory || capacity > table->mask + 1 ? capacity * sizeof(uint64_t) : 0;
    for (uint32_t i = 0; i < NL_GROUP_PARTS; i++)
        bytes += nl_row_store_growth(&table->parts[i], share_of(count), (size_t)share_of(key_bytes));
    return bytes;
}

static uint64_t *directory_of(const nl_group_table *table)
{
    return (uint64_t *)(void *)table->directory->data;
}

static uint8_t *address_of(uint64_t entry)
{
    return (uint8_t *)(uintptr_t)(entry & ADDRESS_MASK);
}

static uint64_t entry_of(uint64_t hash, const uint8_t *row)
{
    return (hash >> TAG_SHIFT << TAG_SHIFT) | (uint64_t)(uintptr_t)row;
}

static nl_status grow_directory(nl_group_table *table, uint32_t count)
{
    uint64_t capacity = wanted_capacity(table, count);
    if (table->directory && capacity == table->mask + 1) return NULL;
    nl_buffer *grown = NULL;
    NL_TRY(nl_buffer_new(table->exec->query->memory, capacity * sizeof(uint64_t), true, &grown));
    uint64_t *to = (uint64_t *)(void *)grown->data;
    for (uint64_t i = 0; table->directory && i <= table->mask; i++) {
        uint64_t entry = directory_of(table)[i];
        if (!entry) continue;
        uint64_t slot = ((const nl_group_header *)(const void *)address_of(entry))->hash & (capacity - 1);
        while (to[slot])
            slot = (slot + 1) & (capacity - 1);
        to[slot] = entry;
    }
    nl_buffer_release(table->directory);
    table->directory = grown;
    table->mask = capacity - 1;
    return NULL;
}

static nl_status grow_scratch(nl_group_table *table, uint32_t count)
{
    if (count <= table->scratch_rows) return NULL;
    nl_buffer *buffer = NULL;
    size_t row_bytes = sizeof(uint8_t *) + sizeof(uint64_t) + 4 * sizeof(uint32_t);
    NL_TRY(nl_buffer_new(table->exec->query->memory, row_bytes * count, false, &buffer));
    nl_buffer_release(table->scratch);
    table->scratch = buffer;
    table->scratch_rows = count;
    table->rows = (uint8_t **)(void *)buffer->data;
    table->slots = (uint64_t *)(void *)(table->rows + count);
    table->fresh = (uint32_t *)(void *)(table->slots + count);
    table->batch_rows = table->fresh + count;
    table->pending = table->batch_rows + count;
    table->candidates = table->pending + count;
    return NULL;
}

nl_status nl_group_table_hash(nl_group_table *table, const nl_vector *keys, uint32_t row_count)
{
    if (row_count > table->hash_rows) {
        nl_buffer *buffer = NULL;
        NL_TRY(nl_buffer_new(table->exec->query->memory, sizeof(uint64_t) * row_count, false, &buffer));
        nl_buffer_release(table->hash_buffer);
        table->hash_buffer = buffer;
        table->hash_rows = row_count;
        table->hashes = (uint64_t *)(void *)buffer->data;
    }
    for (uint32_t i = 0; i < table->key_count; i++)
        NL_TRY(nl_vector_hash(&keys[i], row_count, i > 0, table->hashes));
    if (table->key_count == 0) memset(table->hashes, 0, sizeof(uint64_t) * row_count);
    return NULL;
}

static uint32_t part_of(uint64_t hash)
{
    return (uint32_t)(hash >> (64 - NL_GROUP_PARTS_BITS));
}

static nl_status make_row(nl_group_table *table, uint64_t hash, uint8_t **row)
{
    nl_row_store *store = &table->parts[part_of(hash)];
    NL_TRY(nl_row_store_add(store, 1, row));
    ((nl_group_header *)(void *)*row)->hash = hash;
    ((nl_group_header *)(void *)*row)->arrival = (uint32_t)table->row_count;
    table->row_count++;
    return NULL;
}

static nl_status take_slot(nl_group_table *table, uint32_t position, uint64_t slot, uint64_t hash, uint8_t *const *adopt)
{
    uint8_t *row = adopt ? adopt[position] : NULL;
    if (!adopt) NL_TRY(make_row(table, hash, &row));
    directory_of(table)[slot] = entry_of(hash, row);
    table->rows[position] = row;
    table->fresh[table->fresh_count++] = position;
    table->group_count++;
    return NULL;
}

/* The new groups' rows, those of one store together where stores have heaps: starts[part] … starts[part + 1]. */
static void list_fresh(const nl_group_table *table, uint32_t from, uint32_t *batch_rows, uint8_t **rows, uint32_t *starts)
{
    const bool by_part = table->layout->has_heap;
    uint32_t ends[NL_GROUP_PARTS];
    for (uint32_t k = from; k < table->fresh_count; k++)
        starts[(by_part ? part_of(table->hashes[table->batch_rows[table->fresh[k]]]) : 0) + 1]++;
    for (uint32_t part = 0; part < NL_GROUP_PARTS; part++)
        starts[part + 1] += starts[part];
    memcpy(ends, starts, sizeof ends);
    for (uint32_t k = from; k < table->fresh_count; k++) {
        const uint32_t position = table->fresh[k];
        const uint32_t row = table->batch_rows[position];
        const uint32_t at = ends[by_part ? part_of(table->hashes[row]) : 0]++;
        batch_rows[at] = row;
        rows[at] = table->rows[position];
    }
}

static nl_status write_fresh_keys(nl_group_table *table, const nl_vector *keys, uint32_t from)
{
    uint32_t count = table->fresh_count - from;
    if (count == 0 || table->key_count == 0) return NULL;
    nl_arena *arena = nl_arena_new(table->exec->query->memory);
    uint32_t *batch_rows = NL_NEW_ARRAY(arena, uint32_t, count);
    uint8_t **rows = NL_NEW_ARRAY(arena, uint8_t *, count);
    uint32_t starts[NL_GROUP_PARTS + 1] = {0};
    nl_status status = nl_arena_check(arena);
    if (!status) list_fresh(table, from, batch_rows, rows, starts);
    for (uint32_t part = 0; part < NL_GROUP_PARTS && !status; part++) {
        const nl_selection chosen = {batch_rows + starts[part], starts[part + 1] - starts[part]};
        if (chosen.count == 0) continue;
        status = nl_rows_scatter(table->layout, 0, keys, table->key_count, chosen, rows + starts[part], &table->parts[part], true);
    }
    nl_arena_free(arena);
    return status;
}

static nl_status find_rounds(nl_group_table *table, const nl_vector *keys, uint32_t count, uint8_t *const *adopt)
{
    for (uint32_t i = 0; i < count; i++) {
        table->pending[i] = i;
        table->slots[i] = table->hashes[table->batch_rows[i]] & table->mask;
    }
    const uint64_t *directory = directory_of(table);
    for (uint32_t i = 0; i < count && table->mask > CACHED_SLOTS; i++)
        __builtin_prefetch(&directory[table->slots[i]]);
    for (uint32_t pending_count = count; pending_count > 0;) {
        uint32_t candidate_count = 0;
        uint32_t fresh_before = table->fresh_count;
        for (uint32_t k = 0; k < pending_count; k++) {
            uint32_t i = table->pending[k];
            uint64_t hash = table->hashes[table->batch_rows[i]];
            uint64_t slot = table->slots[i];
            while (directory[slot] && directory[slot] >> TAG_SHIFT != hash >> TAG_SHIFT)
                slot = (slot + 1) & table->mask;
            table->slots[i] = slot;
            if (directory[slot]) {
                table->rows[i] = address_of(directory[slot]);
                __builtin_prefetch(table->rows[i]);
                table->candidates[candidate_count++] = i;
            } else {
                NL_TRY(take_slot(table, i, slot, hash, adopt));
            }
        }
        if (!adopt) NL_TRY(write_fresh_keys(table, keys, fresh_before));
        pending_count = 0;
        nl_rows_match(table->layout, keys, table->key_count, table->batch_rows, table->rows, table->candidates, candidate_count,
                      table->pending, &pending_count);
        for (uint32_t k = 0; k < pending_count; k++)
            table->slots[table->pending[k]] = (table->slots[table->pending[k]] + 1) & table->mask;
    }
    return NULL;
}

/* One flat integer key without nulls: found, compared and written in one loop. */
#define FIND_INTEGERS(name, T)                                                                                      \
    static nl_status name(nl_group_table *table, const nl_vector *key, uint32_t count)                              \
    {                                                                                                               \
        const T *values = key->values;                                                                              \
        const nl_row_column *column = &table->layout->columns[0];                                                   \
        const uint64_t *directory = directory_of(table);                                                            \
        uint64_t mask = table->mask;                                                                                \
        T last = 0;                                                                                                 \
        for (uint32_t i = 0; i < count; i++) {                                                                      \
            uint32_t batch_row = table->batch_rows[i];                                                              \
            if (i + PREFETCH_SLOTS < count)                                                                         \
                __builtin_prefetch(&directory[table->hashes[table->batch_rows[i + PREFETCH_SLOTS]] & mask]);        \
            if (i + PREFETCH_ROWS < count)                                                                          \
                __builtin_prefetch(address_of(directory[table->hashes[table->batch_rows[i + PREFETCH_ROWS]] & mask])); \
            uint64_t hash = table->hashes[batch_row];                                                               \
            T value = values[batch_row];                                                                            \
            if (i > 0 && value == last) { /* rows of one key often follow each other */                             \
                table->rows[i] = table->rows[i - 1];                                                                \
                continue;                                                                                           \
            }                                                                                                       \
            last = value;                                                                                           \
            for (uint64_t slot = hash & mask;; slot = (slot + 1) & mask) {                                          \
                uint8_t *row = address_of(directory[slot]);                                                         \
                if (!row) {                                                                                         \
                    NL_TRY(take_slot(table, i, slot, hash, NULL));                                                  \
                    *(T *)(void *)(table->rows[i] + column->offset) = value;                                        \
                    break;                                                                                          \
                }                                                                                                   \
                if (*(const T *)(const void *)(row + column->offset) == value && !row[column->null_offset]) {       \
                    table->rows[i] = row;                                                                           \
                    break;                                                                                          \
                }                                                                                                   \
            }                                                                                                       \
        }                                                                                                           \
        return NULL;                                                                                                \
    }
FIND_INTEGERS(find_i32, int32_t)
FIND_INTEGERS(find_i64, int64_t)

nl_status nl_group_table_find(nl_group_table *table, const nl_vector *keys, nl_selection selection, uint8_t *const *adopt)
{
    NL_TRY(grow_scratch(table, selection.count));
    NL_TRY(grow_directory(table, selection.count));
    table->fresh_count = 0;
    for (uint32_t i = 0; i < selection.count; i++)
        table->batch_rows[i] = nl_selection_row(selection, i);
    bool is_plain = table->key_count == 1 && !adopt && keys[0].encoding == NL_FLAT && !keys[0].validity;
    if (is_plain && table->layout->columns[0].physical == NL_PHYS_I64) return find_i64(table, &keys[0], selection.count);
    if (is_plain && table->layout->columns[0].physical == NL_PHYS_I32) return find_i32(table, &keys[0], selection.count);
    return find_rounds(table, keys, selection.count, adopt);
}

#define NORMALISE(T)                                                                    \
    do {                                                                                \
        const T *from = key->values;                                                    \
        bool is_odd = false;                                                            \
        for (uint32_t i = 0; i < count; i++)                                            \
            is_odd = is_odd || from[i] != from[i] || (from[i] == 0 && signbit(from[i])); \
        if (!is_odd) return NULL;                                                       \
        NL_TRY(nl_buffer_new(memory, sizeof(T) * count, false, &buffer));               \
        T *to = (T *)(void *)buffer->data;                                              \
        for (uint32_t i = 0; i < count; i++)                                            \
            to[i] = from[i] != from[i] ? (T)__builtin_nan("") : from[i] == 0 ? 0 : from[i]; \
    } while (0)

static nl_status normalise_reals(nl_vector *key, nl_memory *memory)
{
    nl_vector flat = {0};
    if (key->encoding == NL_DICTIONARY) {
        NL_TRY(nl_vector_flatten(key, false, memory, &flat));
        nl_vector_fini(key);
        nl_vector_move(&flat, key);
    }
    uint32_t count = key->encoding == NL_CONSTANT ? 1 : key->length;
    nl_buffer *buffer = NULL;
    if (key->type->physical == NL_PHYS_F32)
        NORMALISE(float);
    else
        NORMALISE(double);
    nl_buffer_release(key->values_buffer);
    key->values_buffer = buffer;
    key->values = buffer->data;
    return NULL;
}

nl_status nl_group_keys_encode(nl_vector *keys, uint32_t key_count, nl_selection selection, nl_memory *memory)
{
    for (uint32_t i = 0; i < key_count; i++) {
        nl_physical physical = keys[i].type->physical;
        if (physical == NL_PHYS_F32 || physical == NL_PHYS_F64) NL_TRY(normalise_reals(&keys[i], memory));
        if (!nl_type_is_encoded(keys[i].type)) continue;
        nl_vector encoded = {0};
        NL_TRY(nl_nested_encode(&keys[i], selection, true, memory, &encoded));
        nl_vector_fini(&keys[i]);
        nl_vector_move(&encoded, &keys[i]);
    }
    return NULL;
}
