/* stream/state_index.c - see state_index.h. A slot is a row's place among all that were added since the last tidying. Slots with
 * equal low bits of their key's hash are a chain, the newest first. */
#include "stream/state_index.h"

#include <stdlib.h>
#include <string.h>

#include "exec/spill.h"
#include "function/kernel.h"

#define CHUNK_ROWS   16384u /* chunks in memory grow up to this */
#define SPILLED_ROWS 1024u  /* rows that are read together from disk */
#define DEAD_MIN     4096u
#define HEADS_MIN    1024u
#define NO_SLOT      UINT32_MAX

typedef struct chunk {
    uint32_t first_slot, row_count, live_count;
    int64_t first_id, last_id;
    int64_t time_min;    /* not more than the least of the live rows */
    int64_t *ids;        /* owned; NULL: nothing is alive */
    int64_t *times;      /* owned; NULL: nothing is alive, or the rows have no times */
    uint64_t *dead;      /* owned; bits */
    nl_batch batch;      /* in memory */
    bool is_spilled;
    uint32_t spill_chunk;
    size_t bytes;        /* of the batch */
} chunk;

struct nl_state_index {
    nl_arena *arena;     /* owned: types, texts */
    nl_memory *memory;   /* counted */
    nl_str spill_directory;
    size_t memory_bytes_max, bytes;
    const nl_type *row_type, *numbered_type;
    const nl_type **types;
    const uint32_t *keys;
    uint32_t key_count, time_column;
    chunk *chunks;       /* of malloc */
    uint32_t chunk_count, chunk_capacity;
    uint32_t *hashes, *next; /* by slot; of malloc */
    uint32_t slot_count, slot_capacity;
    uint32_t *heads;     /* of malloc; a power of two of them */
    uint32_t head_count;
    uint64_t live_count;
    int64_t next_id;
    nl_spill *spill;     /* or NULL */
    nl_reservation reservation; /* of slots and heads */
};

static nl_status no_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P("receivedBytes", "0"));
}

/* ---- chunks ---- */

static bool is_dead(const chunk *one, uint32_t row)
{
    return !one->ids || (one->dead[row / 64] >> (row % 64) & 1);
}

static void empty_chunk(nl_state_index *index, chunk *one)
{
    if (!one->is_spilled) index->bytes -= one->bytes;
    one->bytes = 0;
    free(one->ids);
    free(one->times);
    free(one->dead);
    one->ids = one->times = NULL;
    one->dead = NULL;
    nl_batch_fini(&one->batch);
}

static bool alloc_rows(chunk *one, uint32_t row_count, bool has_times)
{
    one->ids = malloc(((size_t)row_count + 1) * sizeof *one->ids);
    one->times = has_times ? malloc(((size_t)row_count + 1) * sizeof *one->times) : NULL;
    one->dead = calloc((size_t)row_count / 64 + 1, sizeof *one->dead);
    if (one->ids && one->dead && (one->times || !has_times)) return true;
    free(one->ids);
    free(one->times);
    free(one->dead);
    one->ids = one->times = NULL;
    one->dead = NULL;
    return false;
}

static nl_status room_for_chunks(nl_state_index *index, uint32_t more)
{
    if (index->chunk_count + more <= index->chunk_capacity) return NULL;
    const uint32_t capacity = NL_MAX(index->chunk_count + more, index->chunk_capacity * 2);
    chunk *grown = realloc(index->chunks, capacity * sizeof *grown);
    if (!grown) return no_memory(capacity * sizeof *grown);
    index->chunks = grown;
    index->chunk_capacity = capacity;
    return NULL;
}

/* ---- slots and chains ---- */

static nl_status rehash(nl_state_index *index, uint32_t head_count)
{
    uint32_t *heads = malloc(head_count * sizeof *heads);
    if (!heads) return no_memory(head_count * sizeof *heads);
    memset(heads, 0xff, head_count * sizeof *heads);
    for (uint32_t slot = 0; slot < index->slot_count; slot++) {
        uint32_t *head = &heads[index->hashes[slot] & (head_count - 1)];
        index->next[slot] = *head;
        *head = slot;
    }
    free(index->heads);
    index->heads = heads;
    index->head_count = head_count;
    return NULL;
}

static nl_status room_for_slots(nl_state_index *index, uint32_t more)
{
    const uint64_t wanted = (uint64_t)index->slot_count + more;
    if (wanted >= NO_SLOT) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "State of more than %u rows in one part is not supported.", NO_SLOT - 1);
    if (wanted > index->slot_capacity) {
        const uint32_t capacity = (uint32_t)NL_MIN((uint64_t)NO_SLOT, NL_MAX(wanted, (uint64_t)index->slot_capacity * 2));
        const size_t growth = (size_t)(capacity - index->slot_capacity) * 12; /* heads, too */
        if (!nl_reservation_grow(&index->reservation, growth)) return no_memory(growth);
        uint32_t *hashes = realloc(index->hashes, (size_t)capacity * sizeof *hashes);
        if (hashes) index->hashes = hashes;
        uint32_t *next = realloc(index->next, (size_t)capacity * sizeof *next);
        if (next) index->next = next;
        if (!hashes || !next) return no_memory((size_t)capacity * sizeof *next);
        index->slot_capacity = capacity;
    }
    uint32_t heads = NL_MAX(HEADS_MIN, index->head_count);
    while (heads < wanted && heads < 1u << 30) heads *= 2;
    return heads == index->head_count ? NULL : rehash(index, heads);
}

static nl_status hash_keys(const nl_batch *batch, const uint32_t *columns, uint32_t column_count, uint64_t **hashes)
{
    uint64_t *made = calloc((size_t)batch->row_count + 1, sizeof *made);
    if (!made) return no_memory(batch->row_count * sizeof *made);
    nl_status status = NULL;
    for (uint32_t i = 0; i < column_count && !status; i++) status = nl_vector_hash(&batch->columns[columns[i]], batch->row_count, i > 0, made);
    if (status)
        free(made);
    else
        *hashes = made;
    return status;
}

static uint32_t fold(uint64_t hash)
{
    return (uint32_t)((hash * 0x9E3779B97F4A7C15ull) >> 32);
}

/* The chunk of a slot. */
static uint32_t chunk_of_slot(const nl_state_index *index, uint32_t slot)
{
    uint32_t low = 0, high = index->chunk_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (index->chunks[middle].first_slot <= slot) low = middle;
        else high = middle;
    }
    return low;
}

/* ---- spilling and merging ---- */

static nl_status slice_batch(const nl_batch *batch, uint32_t start, uint32_t count, nl_memory *memory, nl_batch *slice)
{
    NL_TRY(nl_batch_init(slice, batch->column_count, count));
    for (uint32_t i = 0; i < batch->column_count; i++) {
        nl_status status = nl_vector_slice(&batch->columns[i], start, count, memory, &slice->columns[i]);
        if (!status) continue;
        nl_batch_fini(slice);
        return status;
    }
    return NULL;
}

static nl_status write_piece(nl_state_index *index, const chunk *from, uint32_t start, chunk *piece)
{
    const uint32_t count = NL_MIN(SPILLED_ROWS, from->row_count - start);
    nl_batch slice = {0};
    *piece = (chunk){.first_slot = from->first_slot + start, .row_count = count, .first_id = from->ids[start], .last_id = from->ids[start + count - 1], .time_min = INT64_MAX, .is_spilled = true, .spill_chunk = nl_spill_chunk_count(index->spill)};
    if (!alloc_rows(piece, count, from->times != NULL)) return no_memory(count * sizeof *piece->ids);
    for (uint32_t row = 0; row < count; row++) {
        piece->ids[row] = from->ids[start + row];
        if (from->times) piece->times[row] = from->times[start + row];
        if (is_dead(from, start + row)) {
            piece->dead[row / 64] |= 1ull << (row % 64);
            continue;
        }
        piece->live_count++;
        if (from->times) piece->time_min = NL_MIN(piece->time_min, piece->times[row]);
    }
    nl_status status = slice_batch(&from->batch, start, count, index->memory, &slice);
    if (!status) status = nl_spill_write(index->spill, &slice, index->memory);
    nl_batch_fini(&slice);
    if (!status) NL_CHECK(nl_spill_chunk_count(index->spill) == piece->spill_chunk + 1);
    return status;
}

/* The oldest chunks in memory go to disk, in pieces that are small enough to be read for a few rows. */
static nl_status spill_old(nl_state_index *index)
{
    uint32_t pieces = 0, kept = 0;
    if (index->bytes <= index->memory_bytes_max || !index->spill_directory.length) return NULL;
    if (!index->spill) NL_TRY(nl_spill_new(index->spill_directory, index->types, index->row_type->child_count, &index->spill));
    for (uint32_t i = 0; i < index->chunk_count; i++) pieces += NL_MAX(1u, (index->chunks[i].row_count + SPILLED_ROWS - 1) / SPILLED_ROWS);
    chunk *chunks = malloc(pieces * sizeof *chunks);
    if (!chunks) return no_memory(pieces * sizeof *chunks);
    nl_status status = NULL;
    for (uint32_t i = 0; i < index->chunk_count; i++) {
        chunk *one = &index->chunks[i];
        const bool goes = !status && one->ids && !one->is_spilled && index->bytes > index->memory_bytes_max / 4 * 3;
        const uint32_t first = kept;
        for (uint32_t start = 0; goes && !status && start < one->row_count; start += SPILLED_ROWS) status = write_piece(index, one, start, &chunks[kept++]);
        if (goes && !status) {
            empty_chunk(index, one);
            continue;
        }
        if (goes) /* what was written of it counts for nothing */
            while (kept > first) {
                empty_chunk(index, &chunks[--kept]);
            }
        chunks[kept++] = *one;
    }
    free(index->chunks);
    index->chunks = chunks;
    index->chunk_count = kept;
    index->chunk_capacity = pieces;
    return status;
}

/* Heaps of the batches that the rows came from are let go. */
static nl_status own_strings(nl_state_index *index, nl_batch *batch)
{
    for (uint32_t i = 0; i < batch->column_count; i++) {
        nl_vector own = {0};
        NL_TRY(nl_vector_own(&batch->columns[i], index->memory, &own));
        nl_vector_fini(&batch->columns[i]);
        nl_vector_move(&own, &batch->columns[i]);
    }
    return NULL;
}

static nl_status merge_batches(nl_state_index *index, const chunk *a, const chunk *b, nl_batch *merged)
{
    const nl_batch *const parts[] = {&a->batch, &b->batch};
    NL_TRY(nl_batch_concat(parts, 2, index->memory, merged));
    return own_strings(index, merged);
}

/* Two chunks become one; dead rows keep their slots. */
static nl_status merge_last(nl_state_index *index)
{
    chunk *a = &index->chunks[index->chunk_count - 2], *b = &index->chunks[index->chunk_count - 1];
    chunk made = {.first_slot = a->first_slot, .row_count = a->row_count + b->row_count, .live_count = a->live_count + b->live_count, .first_id = a->first_id, .last_id = b->last_id, .time_min = NL_MIN(a->time_min, b->time_min)};
    if (!alloc_rows(&made, made.row_count, a->times != NULL)) return no_memory(made.row_count * sizeof *made.ids);
    memcpy(made.ids, a->ids, a->row_count * sizeof *made.ids);
    memcpy(made.ids + a->row_count, b->ids, b->row_count * sizeof *made.ids);
    if (made.times) memcpy(made.times, a->times, a->row_count * sizeof *made.times);
    if (made.times) memcpy(made.times + a->row_count, b->times, b->row_count * sizeof *made.times);
    for (uint32_t row = 0; row < made.row_count; row++)
        if (row < a->row_count ? is_dead(a, row) : is_dead(b, row - a->row_count)) made.dead[row / 64] |= 1ull << (row % 64);
    nl_status status = merge_batches(index, a, b, &made.batch);
    if (status) {
        free(made.ids);
        free(made.times);
        free(made.dead);
        return status;
    }
    empty_chunk(index, a);
    empty_chunk(index, b);
    made.bytes = nl_batch_bytes(&made.batch);
    index->bytes += made.bytes;
    *a = made;
    index->chunk_count--;
    return NULL;
}

static nl_status merge_small(nl_state_index *index)
{
    while (index->chunk_count >= 2) {
        const chunk *a = &index->chunks[index->chunk_count - 2], *b = a + 1;
        const bool is_worth = a->ids && b->ids && !a->is_spilled && !b->is_spilled && a->row_count <= 2 * b->row_count && a->row_count + b->row_count <= CHUNK_ROWS;
        if (!is_worth) return NULL;
        NL_TRY(merge_last(index));
    }
    return NULL;
}

/* ---- adding and removing ---- */

/* Microseconds; rows without a time stay for ever. */
static nl_status read_times(nl_state_index *index, const nl_batch *batch, int64_t *times)
{
    const nl_vector *column = &batch->columns[index->time_column];
    nl_vector flat = {0};
    nl_reader reader;
    NL_TRY(nl_vector_flatten(column, true, index->memory, &flat));
    const bool is_window = flat.type->id == NL_TYPE_STRUCT;
    const nl_vector *time = is_window ? &flat.children[1] : &flat;
    nl_reader_init(&reader, time);
    for (uint32_t row = 0; row < batch->row_count; row++)
        times[row] = nl_vector_is_null(&flat, row) || nl_vector_is_null(time, row) ? INT64_MAX : nl_reader_i64(&reader, row);
    nl_vector_fini(&flat);
    return NULL;
}

/* A copy of our own, of our types: buffers of statements are let go. */
static nl_status copy_rows(nl_state_index *index, const nl_batch *batch, nl_batch *copy)
{
    nl_batch none = {0};
    NL_TRY(slice_batch(batch, 0, 0, index->memory, &none));
    const nl_batch *const parts[] = {batch, &none};
    nl_status status = nl_batch_concat(parts, 2, index->memory, copy);
    nl_batch_fini(&none);
    if (!status) status = own_strings(index, copy);
    for (uint32_t i = 0; !status && i < copy->column_count; i++) nl_vector_relabel(&copy->columns[i], index->types[i]);
    return status;
}

static nl_status add_chunk(nl_state_index *index, nl_batch *batch, const int64_t *ids)
{
    uint64_t *hashes = NULL;
    const uint32_t count = batch->row_count;
    NL_TRY(room_for_chunks(index, 1));
    NL_TRY(room_for_slots(index, count));
    chunk *one = &index->chunks[index->chunk_count];
    *one = (chunk){.first_slot = index->slot_count, .row_count = count, .live_count = count, .time_min = INT64_MAX};
    if (!alloc_rows(one, count, index->time_column != NL_STATE_NO_TIME)) return no_memory(count * sizeof *one->ids);
    nl_status status = one->times ? read_times(index, batch, one->times) : NULL;
    if (!status) status = hash_keys(batch, index->keys, index->key_count, &hashes);
    if (status) {
        free(one->ids);
        free(one->times);
        free(one->dead);
        return status;
    }
    for (uint32_t row = 0; row < count; row++) {
        const uint32_t slot = index->slot_count++, hash = fold(hashes[row]);
        uint32_t *head = &index->heads[hash & (index->head_count - 1)];
        one->ids[row] = ids ? ids[row] : index->next_id + row;
        if (one->times) one->time_min = NL_MIN(one->time_min, one->times[row]);
        index->hashes[slot] = hash;
        index->next[slot] = *head;
        *head = slot;
    }
    free(hashes);
    one->first_id = one->ids[0];
    one->last_id = one->ids[count - 1];
    index->next_id = one->last_id + 1;
    index->live_count += count;
    nl_batch_move(batch, &one->batch);
    one->bytes = nl_batch_bytes(&one->batch);
    index->bytes += one->bytes;
    index->chunk_count++;
    return NULL;
}

nl_status nl_state_index_add(nl_state_index *index, const nl_batch *batch, const int64_t *ids)
{
    for (uint32_t start = 0, count; start < batch->row_count; start += count) {
        nl_batch slice = {0}, copy = {0};
        count = NL_MIN(CHUNK_ROWS, batch->row_count - start);
        NL_ASSERT(!batch->is_selective);
        NL_TRY(slice_batch(batch, start, count, index->memory, &slice));
        nl_status status = copy_rows(index, &slice, &copy);
        nl_batch_fini(&slice);
        if (!status) status = add_chunk(index, &copy, ids ? ids + start : NULL);
        nl_batch_fini(&copy);
        if (!status) status = merge_small(index);
        if (!status) status = spill_old(index);
        NL_TRY(status);
    }
    return NULL;
}

static chunk *chunk_of_id(const nl_state_index *index, int64_t id)
{
    uint32_t low = 0, high = index->chunk_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (index->chunks[middle].last_id < id) low = middle + 1;
        else high = middle;
    }
    return low < index->chunk_count && index->chunks[low].first_id <= id ? &index->chunks[low] : NULL;
}

bool nl_state_index_remove(nl_state_index *index, int64_t id)
{
    chunk *one = chunk_of_id(index, id);
    if (!one || !one->ids) return false;
    uint32_t low = 0, high = one->row_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (one->ids[middle] < id) low = middle + 1;
        else high = middle;
    }
    if (low >= one->row_count || one->ids[low] != id || is_dead(one, low)) return false;
    one->dead[low / 64] |= 1ull << (low % 64);
    index->live_count--;
    if (--one->live_count == 0) empty_chunk(index, one);
    return true;
}

/* ---- finding ---- */

static nl_status add_slot(nl_state_slots *slots, uint32_t slot)
{
    if (slots->count == slots->capacity) {
        const size_t capacity = NL_MAX((size_t)64, slots->capacity * 2);
        uint32_t *grown = realloc(slots->items, capacity * sizeof *grown);
        if (!grown) return no_memory(capacity * sizeof *grown);
        slots->items = grown;
        slots->capacity = capacity;
    }
    slots->items[slots->count++] = slot;
    return NULL;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Chains are of the keys' hashes: every hash is followed once. */
static nl_status follow(nl_state_index *index, const uint32_t *hashes, uint32_t count, nl_state_slots *slots)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i && hashes[i] == hashes[i - 1]) continue;
        for (uint32_t slot = index->heads[hashes[i] & (index->head_count - 1)]; slot != NO_SLOT; slot = index->next[slot]) {
            if (index->hashes[slot] != hashes[i]) continue;
            const chunk *one = &index->chunks[chunk_of_slot(index, slot)];
            if (!is_dead(one, slot - one->first_slot)) NL_TRY(add_slot(slots, slot));
        }
    }
    if (slots->count) qsort(slots->items, slots->count, sizeof *slots->items, compare_numbers);
    return NULL;
}

nl_status nl_state_index_find(nl_state_index *index, const nl_batch *batch, const uint32_t *key_columns, nl_state_slots *slots)
{
    uint64_t *hashes = NULL;
    slots->count = 0;
    if (!index->live_count || !batch->row_count) return NULL;
    NL_TRY(hash_keys(batch, key_columns, index->key_count, &hashes));
    uint32_t *folded = (uint32_t *)(void *)hashes; /* each is read before it is written over */
    for (uint32_t i = 0; i < batch->row_count; i++) {
        const uint32_t hash = fold(hashes[i]);
        memcpy(folded + i, &hash, sizeof hash);
    }
    qsort(folded, batch->row_count, sizeof *folded, compare_numbers);
    nl_status status = follow(index, folded, batch->row_count, slots);
    free(hashes);
    return status;
}

static nl_status past_in_chunk(chunk *one, int64_t micros, nl_state_slots *slots)
{
    int64_t left = INT64_MAX;
    for (uint32_t row = 0; row < one->row_count; row++) {
        if (is_dead(one, row)) continue;
        left = NL_MIN(left, one->times[row]);
        if (one->times[row] <= micros) NL_TRY(add_slot(slots, one->first_slot + row));
    }
    one->time_min = left;
    return NULL;
}

nl_status nl_state_index_past(nl_state_index *index, int64_t micros, nl_state_slots *slots)
{
    slots->count = 0;
    for (uint32_t i = 0; i < index->chunk_count; i++)
        if (index->chunks[i].times && index->chunks[i].time_min <= micros) NL_TRY(past_in_chunk(&index->chunks[i], micros, slots));
    return NULL;
}

nl_status nl_state_index_since(nl_state_index *index, int64_t id, nl_state_slots *slots)
{
    slots->count = 0;
    for (uint32_t i = index->chunk_count; i-- > 0 && index->chunks[i].last_id >= id;) {
        const chunk *one = &index->chunks[i];
        for (uint32_t row = one->row_count; one->ids && row-- > 0 && one->ids[row] >= id;)
            if (!is_dead(one, row)) NL_TRY(add_slot(slots, one->first_slot + row));
    }
    if (slots->count) qsort(slots->items, slots->count, sizeof *slots->items, compare_numbers);
    return NULL;
}

void nl_state_slots_free(nl_state_slots *slots)
{
    free(slots->items);
    *slots = (nl_state_slots){0};
}

/* ---- gathering ---- */

static nl_status id_column(nl_state_index *index, const chunk *one, const uint32_t *rows, uint32_t count, nl_vector *column)
{
    NL_TRY(nl_vector_new_flat(column, nl_type_bigint(), count, index->memory));
    int64_t *values = nl_vector_values(column);
    for (uint32_t i = 0; i < count; i++) values[i] = one->ids[rows[i]];
    return NULL;
}

static nl_status take_rows(nl_state_index *index, const chunk *one, const uint32_t *rows, uint32_t count, nl_batch *part)
{
    const uint32_t column_count = index->row_type->child_count;
    nl_batch read = {0};
    NL_TRY(nl_batch_init(part, column_count + 1, count));
    nl_status status = one->is_spilled ? nl_spill_read(index->spill, one->spill_chunk, index->memory, &read) : nl_batch_ref(&one->batch, &read);
    if (!status) status = id_column(index, one, rows, count, &part->columns[0]);
    for (uint32_t i = 0; i < column_count && !status; i++) status = nl_vector_take(&read.columns[i], rows, count, index->memory, &part->columns[i + 1]);
    nl_batch_fini(&read);
    if (status) nl_batch_fini(part);
    return status;
}

typedef struct gathering {
    nl_state_index *index;
    nl_batch *parts;
    uint32_t part_count, part_capacity, row_count;
    nl_status (*take)(void *context, nl_batch *batch);
    void *context;
} gathering;

static nl_status hand_on(gathering *self)
{
    nl_batch whole = {0};
    if (!self->part_count) return NULL;
    const nl_batch **parts = malloc(self->part_count * sizeof *parts);
    if (!parts) return no_memory(self->part_count * sizeof *parts);
    for (uint32_t i = 0; i < self->part_count; i++) parts[i] = &self->parts[i];
    nl_status status = nl_batch_concat(parts, self->part_count, self->index->memory, &whole);
    free(parts);
    for (uint32_t i = 0; i < self->part_count; i++) nl_batch_fini(&self->parts[i]);
    self->part_count = self->row_count = 0;
    if (!status) status = self->take(self->context, &whole);
    nl_batch_fini(&whole);
    return status;
}

static nl_status gather_chunk(gathering *self, const chunk *one, const uint32_t *rows, uint32_t count)
{
    if (self->row_count + count > CHUNK_ROWS) NL_TRY(hand_on(self));
    if (self->part_count == self->part_capacity) {
        const uint32_t capacity = NL_MAX(16u, self->part_capacity * 2);
        nl_batch *grown = realloc(self->parts, capacity * sizeof *grown);
        if (!grown) return no_memory(capacity * sizeof *grown);
        self->parts = grown;
        self->part_capacity = capacity;
    }
    nl_batch part = {0};
    NL_TRY(take_rows(self->index, one, rows, count, &part));
    self->parts[self->part_count++] = part;
    self->row_count += count;
    return NULL;
}

nl_status nl_state_index_gather(nl_state_index *index, const nl_state_slots *slots, nl_status (*take)(void *context, nl_batch *batch), void *context)
{
    gathering self = {.index = index, .take = take, .context = context};
    uint32_t *rows = malloc(CHUNK_ROWS * sizeof *rows);
    nl_status status = rows ? NULL : no_memory(CHUNK_ROWS * sizeof *rows);
    for (size_t i = 0; i < slots->count && !status;) {
        const chunk *one = &index->chunks[chunk_of_slot(index, slots->items[i])];
        uint32_t count = 0;
        for (; i < slots->count && count < CHUNK_ROWS && slots->items[i] - one->first_slot < one->row_count; i++) rows[count++] = slots->items[i] - one->first_slot;
        status = gather_chunk(&self, one, rows, count);
    }
    if (!status) status = hand_on(&self);
    for (uint32_t i = 0; i < self.part_count; i++) nl_batch_fini(&self.parts[i]);
    free(self.parts);
    free(rows);
    return status;
}

/* ---- tidying ---- */

static nl_status add_numbered(void *context, nl_batch *batch)
{
    nl_state_index *fresh = context;
    nl_batch rows = {0};
    NL_TRY(nl_batch_init(&rows, batch->column_count - 1, batch->row_count));
    for (uint32_t i = 0; i < rows.column_count; i++) nl_vector_ref(&batch->columns[i + 1], &rows.columns[i]);
    nl_status status = nl_state_index_add(fresh, &rows, nl_vector_values(&batch->columns[0]));
    nl_batch_fini(&rows);
    return status;
}

static void free_rows(nl_state_index *index)
{
    for (uint32_t i = 0; i < index->chunk_count; i++) empty_chunk(index, &index->chunks[i]);
    free(index->chunks);
    free(index->hashes);
    free(index->next);
    free(index->heads);
    nl_spill_free(index->spill);
    nl_reservation_clear(&index->reservation);
    index->chunks = NULL;
    index->hashes = index->next = index->heads = NULL;
    index->spill = NULL;
    index->chunk_count = index->chunk_capacity = index->slot_count = index->slot_capacity = index->head_count = 0;
    index->live_count = 0;
}

nl_status nl_state_index_tidy(nl_state_index *index)
{
    nl_state_slots slots = {0};
    if (index->slot_count < index->live_count * 2 + DEAD_MIN) return NULL;
    nl_state_index fresh = *index;
    fresh.chunks = NULL;
    fresh.hashes = fresh.next = fresh.heads = NULL;
    fresh.spill = NULL;
    fresh.chunk_count = fresh.chunk_capacity = fresh.slot_count = fresh.slot_capacity = fresh.head_count = 0;
    fresh.live_count = 0;
    fresh.bytes = 0;
    fresh.next_id = 0;
    fresh.reservation = (nl_reservation){.memory = index->memory};
    nl_status status = nl_state_index_since(index, INT64_MIN, &slots);
    if (!status) status = nl_state_index_gather(index, &slots, add_numbered, &fresh);
    nl_state_slots_free(&slots);
    if (status) {
        free_rows(&fresh);
        return status;
    }
    fresh.next_id = index->next_id;
    free_rows(index);
    *index = fresh;
    return NULL;
}

/* ---- the index ---- */

static void make_types(nl_state_index *index, const nl_type *row_type)
{
    const uint32_t count = row_type->child_count;
    nl_field *fields = NL_NEW_ARRAY(index->arena, nl_field, count + 1);
    index->row_type = nl_type_copy(index->arena, row_type);
    index->types = NL_NEW_ARRAY(index->arena, const nl_type *, count + 1);
    fields[0] = (nl_field){.name = NL_STR("_id"), .type = nl_type_bigint()};
    for (uint32_t i = 0; i < count; i++) {
        index->types[i] = index->row_type->children[i].type;
        fields[i + 1] = index->row_type->children[i];
        fields[i + 1].is_nullable = true;
    }
    index->numbered_type = nl_type_struct(index->arena, fields, count + 1);
}

nl_status nl_state_index_new(const nl_state_layout *layout, const nl_state_index_options *options, nl_state_index **index)
{
    nl_state_index *made = calloc(1, sizeof *made);
    if (!made) return no_memory(sizeof *made);
    made->arena = nl_arena_new(NULL);
    made->memory = nl_memory_retain(options->memory);
    made->reservation = (nl_reservation){.memory = made->memory};
    made->spill_directory = nl_arena_str(made->arena, options->spill_directory);
    made->memory_bytes_max = options->memory_bytes_max;
    uint32_t *keys = NL_NEW_ARRAY(made->arena, uint32_t, layout->key_count + 1);
    for (uint32_t i = 0; i < layout->key_count; i++) keys[i] = layout->keys[i];
    made->keys = keys;
    made->key_count = layout->key_count;
    made->time_column = layout->time_column;
    make_types(made, layout->row_type);
    *index = made;
    return NULL;
}

void nl_state_index_free(nl_state_index *index)
{
    if (!index) return;
    free_rows(index);
    nl_memory_release(index->memory);
    nl_arena_free(index->arena);
    free(index);
}

const nl_type *nl_state_index_type(const nl_state_index *index)
{
    return index->row_type;
}

const nl_type *nl_state_index_numbered_type(const nl_state_index *index)
{
    return index->numbered_type;
}

uint64_t nl_state_index_count(const nl_state_index *index)
{
    return index->live_count;
}

size_t nl_state_index_bytes(const nl_state_index *index)
{
    return index->bytes + index->reservation.bytes;
}

int64_t nl_state_index_next_id(const nl_state_index *index)
{
    return index->next_id;
}

void nl_state_index_set_next_id(nl_state_index *index, int64_t id)
{
    NL_ASSERT(id >= index->next_id);
    index->next_id = id;
}
