/* exec/row.c - layout and storage of rows. */
#include "exec/row.h"

#include <stdlib.h>

#define BLOCK_BYTES_MIN (8u << 10)
#define BLOCK_BYTES_MAX (256u << 10)
#define BLOCKS_PER_BUDGET 1024u /* a block is no larger than this part of the budget */

static uint32_t align_up(uint32_t value, uint32_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

void nl_row_layout_init(nl_row_layout *layout, nl_arena *arena, const nl_type *const *types, uint32_t count, uint32_t header_bytes)
{
    *layout = (nl_row_layout){.column_count = count, .header_bytes = header_bytes};
    layout->columns = NL_NEW_ARRAY(arena, nl_row_column, count);
    for (uint32_t i = 0; i < count; i++) {
        bool is_encoded = nl_type_is_encoded(types[i]);
        nl_physical physical = is_encoded ? NL_PHYS_STRING : types[i]->physical;
        layout->columns[i] = (nl_row_column){.type = types[i], .physical = physical, .width = nl_physical_size(physical)};
        layout->has_heap = layout->has_heap || physical == NL_PHYS_STRING;
    }
    uint32_t at = align_up(header_bytes, 16);
    for (uint32_t width = 16; width > 0; width /= 2) { /* wide ones first, so that nothing needs padding */
        for (uint32_t i = 0; i < count; i++) {
            if (layout->columns[i].width != width) continue;
            layout->columns[i].offset = at;
            at += width;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        layout->columns[i].null_offset = at++;
    layout->body_bytes = align_up(at, 16);
    layout->row_bytes = layout->body_bytes;
}

uint32_t nl_row_layout_extend(nl_row_layout *layout, uint32_t bytes)
{
    uint32_t offset = align_up(layout->row_bytes, 16);
    layout->row_bytes = align_up(offset + bytes, 16);
    return offset;
}

void nl_row_store_init(nl_row_store *store, nl_memory *memory, uint32_t row_bytes)
{
    *store = (nl_row_store){.memory = memory, .row_bytes = NL_MAX(row_bytes, 1u)};
}

static size_t block_bytes(const nl_row_store *store, const nl_row_block *block)
{
    return sizeof *block + (size_t)block->row_capacity * store->row_bytes;
}

void nl_row_store_clear(nl_row_store *store)
{
    for (nl_row_block *block = store->first; block;) {
        nl_row_block *next = block->next;
        free(block->data);
        free(block);
        block = next;
    }
    nl_memory_discharge(store->memory, store->charged_bytes);
    nl_heap_release(store->heap);
    nl_row_store_init(store, store->memory, store->row_bytes);
}

size_t nl_row_store_bytes(const nl_row_store *store)
{
    return store->charged_bytes + nl_heap_bytes(store->heap);
}

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

/* Rows of the block that follows one of last_rows (0: the first). Many stores grow at the same time, so that a small
 * budget gets small blocks. */
static uint32_t next_capacity(const nl_row_store *store, uint32_t last_rows, size_t block_bytes_max, uint64_t wanted_rows)
{
    size_t bytes = last_rows ? NL_MIN((size_t)last_rows * store->row_bytes * 2, block_bytes_max) : BLOCK_BYTES_MIN;
    uint32_t capacity = NL_MAX((uint32_t)(bytes / store->row_bytes), 1u);
    return capacity > wanted_rows && !last_rows ? (uint32_t)NL_MAX(wanted_rows, 16u) : capacity;
}

static size_t block_bytes_max(const nl_row_store *store)
{
    return NL_MAX(NL_MIN(nl_memory_limit(store->memory) / BLOCKS_PER_BUDGET, BLOCK_BYTES_MAX), BLOCK_BYTES_MIN);
}

size_t nl_row_store_growth(const nl_row_store *store, uint64_t count, size_t heap_bytes)
{
    size_t bytes = heap_bytes ? nl_heap_growth(store->heap, store->memory, heap_bytes) : 0;
    uint32_t last = store->last ? store->last->row_capacity : 0;
    uint64_t room = store->last ? store->last->row_capacity - store->last->row_count : 0;
    size_t max = block_bytes_max(store);
    while (room < count) {
        last = next_capacity(store, last, max, count - room);
        bytes += sizeof(nl_row_block) + (size_t)last * store->row_bytes;
        room += last;
    }
    return bytes;
}

static nl_status add_block(nl_row_store *store, uint32_t wanted_rows)
{
    uint32_t capacity = next_capacity(store, store->last ? store->last->row_capacity : 0, block_bytes_max(store), wanted_rows);
    nl_row_block plan = {.row_capacity = capacity};
    size_t charge = block_bytes(store, &plan);
    if (!nl_memory_try_charge(store->memory, charge)) return out_of_memory(charge);
    nl_row_block *block = malloc(sizeof *block);
    uint8_t *data = aligned_alloc(64, ((size_t)capacity * store->row_bytes + 63) / 64 * 64);
    if (!block || !data) {
        free(block);
        free(data);
        nl_memory_discharge(store->memory, charge);
        return out_of_memory(charge);
    }
    *block = (nl_row_block){.data = data, .row_capacity = capacity};
    store->charged_bytes += charge;
    if (store->last)
        store->last->next = block;
    else
        store->first = block;
    store->last = block;
    return NULL;
}

nl_status nl_row_store_add(nl_row_store *store, uint32_t count, uint8_t **rows)
{
    for (uint32_t done = 0; done < count;) {
        if (!store->last || store->last->row_count == store->last->row_capacity) NL_TRY(add_block(store, count - done));
        nl_row_block *block = store->last;
        uint32_t part = NL_MIN(count - done, block->row_capacity - block->row_count);
        uint8_t *at = block->data + (size_t)block->row_count * store->row_bytes;
        memset(at, 0, (size_t)part * store->row_bytes);
        for (uint32_t i = 0; i < part; i++, at += store->row_bytes)
            rows[done + i] = at;
        block->row_count += part;
        store->row_count += part;
        done += part;
    }
    return NULL;
}

nl_status nl_row_store_heap(nl_row_store *store, nl_heap **heap)
{
    if (!store->heap) NL_TRY(nl_heap_new(store->memory, &store->heap));
    *heap = store->heap;
    return NULL;
}

nl_status nl_row_store_adopt(nl_row_store *target, nl_row_store *source)
{
    NL_ASSERT(target->row_bytes == source->row_bytes);
    if (source->heap) {
        nl_heap *heap = NULL;
        NL_TRY(nl_row_store_heap(target, &heap));
        NL_TRY(nl_heap_keep(heap, source->heap));
    }
    if (source->first) {
        if (target->last)
            target->last->next = source->first;
        else
            target->first = source->first;
        target->last = source->last;
    }
    target->row_count += source->row_count;
    target->charged_bytes += source->charged_bytes;
    nl_heap_release(source->heap);
    nl_row_store_init(source, source->memory, source->row_bytes);
    return NULL;
}

static size_t long_string_bytes(const nl_vector *column, nl_selection selection)
{
    if (column->encoding == NL_DICTIONARY && column->dictionary->vector.length == 0) return 0;
    nl_reader reader;
    nl_reader_init(&reader, column);
    const nl_string_view *views = reader.values;
    size_t bytes = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        uint32_t length = nl_reader_is_null(&reader, row) ? 0 : views[nl_reader_index(&reader, row)].length;
        bytes += length > NL_STRING_INLINE_MAX ? length : 0;
    }
    return bytes;
}

size_t nl_rows_heap_bytes(const nl_vector *columns, uint32_t count, nl_selection selection)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (columns[i].type->physical == NL_PHYS_STRING)
            bytes += long_string_bytes(&columns[i], selection);
        else if (nl_type_is_encoded(columns[i].type))
            bytes += nl_vector_bytes(&columns[i]);
    }
    return bytes;
}

uint32_t nl_row_store_next(const nl_row_store *store, const nl_row_block **block, uint32_t *at, uint32_t count, uint8_t **rows)
{
    uint32_t found = 0;
    while (*block && found < count) {
        if (*at == (*block)->row_count) {
            *block = (*block)->next;
            *at = 0;
            continue;
        }
        uint32_t part = NL_MIN(count - found, (*block)->row_count - *at);
        uint8_t *row = (*block)->data + (size_t)*at * store->row_bytes;
        for (uint32_t i = 0; i < part; i++, row += store->row_bytes)
            rows[found + i] = row;
        found += part;
        *at += part;
    }
    return found;
}
