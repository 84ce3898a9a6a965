/* column/heap.c - the bytes that long strings point to: chunks of its own, and other owners it keeps alive.
 *
 * Everything kept sits in one open-addressing table of pointers, so that keeping the same heap again for each of a
 * thousand batches costs a look-up and no memory. The lowest bit of an entry tells heaps (1) from buffers (0).
 */
#include <stdlib.h>

#include "base/hash.h"
#include "base/limits.h"
#include "column/vector.h"

#define CHUNK_BYTES_MIN 4096u
#define CHUNK_BYTES_MAX (256u << 10)
#define CHUNKS_PER_BUDGET 1024u /* a small budget gets small chunks: many heaps grow at the same time */

struct nl_heap {
    atomic_uint references;
    nl_memory *memory; /* counted */
    nl_buffer *chunk;  /* the one being filled; kept by the table */
    size_t chunk_used;
    size_t bytes;
    uintptr_t last_kept;
    uintptr_t *kept; /* slot_count entries, 0 = free; slot_count is a power of two */
    uint32_t kept_count;
    uint32_t slot_count;
};

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_status nl_heap_new(nl_memory *memory, nl_heap **heap)
{
    nl_heap *made = calloc(1, sizeof *made);
    if (!made) return out_of_memory(sizeof *made);
    atomic_init(&made->references, 1);
    made->memory = memory ? nl_memory_retain(memory) : NULL;
    *heap = made;
    return NULL;
}

nl_heap *nl_heap_retain(nl_heap *heap)
{
    if (heap) atomic_fetch_add_explicit(&heap->references, 1, memory_order_relaxed);
    return heap;
}

void nl_heap_release(nl_heap *heap)
{
    if (!heap || atomic_fetch_sub_explicit(&heap->references, 1, memory_order_acq_rel) != 1) return;
    for (uint32_t i = 0; i < heap->slot_count; i++) {
        uintptr_t entry = heap->kept[i];
        if (entry & 1)
            nl_heap_release((nl_heap *)(entry & ~(uintptr_t)1));
        else if (entry)
            nl_buffer_release((nl_buffer *)entry);
    }
    free(heap->kept);
    if (heap->memory) nl_memory_release(heap->memory);
    free(heap);
}

/* The slot of `entry`, or the free one where it belongs. */
static uintptr_t *find_slot(uintptr_t *slots, uint32_t slot_count, uintptr_t entry)
{
    uint32_t i = (uint32_t)nl_hash_u64(entry) & (slot_count - 1);
    while (slots[i] && slots[i] != entry)
        i = (i + 1) & (slot_count - 1);
    return &slots[i];
}

static nl_status make_room(nl_heap *heap)
{
    if (heap->kept_count * 2 < heap->slot_count) return NULL;
    uint32_t slot_count = heap->slot_count ? heap->slot_count * 2 : 4;
    uintptr_t *slots = calloc(slot_count, sizeof *slots);
    if (!slots) return out_of_memory(slot_count * sizeof *slots);
    for (uint32_t i = 0; i < heap->slot_count; i++) {
        if (heap->kept[i]) *find_slot(slots, slot_count, heap->kept[i]) = heap->kept[i];
    }
    free(heap->kept);
    heap->kept = slots;
    heap->slot_count = slot_count;
    return NULL;
}

/* *is_new tells the caller to hand its reference over. */
static nl_status keep(nl_heap *heap, uintptr_t entry, bool *is_new)
{
    NL_ASSERT(atomic_load_explicit(&heap->references, memory_order_relaxed) == 1);
    *is_new = false;
    if (entry == heap->last_kept) return NULL;
    NL_TRY(make_room(heap));
    heap->last_kept = entry;
    uintptr_t *slot = find_slot(heap->kept, heap->slot_count, entry);
    if (*slot) return NULL;
    *slot = entry;
    heap->kept_count++;
    *is_new = true;
    return NULL;
}

nl_status nl_heap_keep(nl_heap *heap, nl_heap *other)
{
    if (!other || other == heap) return NULL;
    bool is_new;
    NL_TRY(keep(heap, (uintptr_t)other | 1, &is_new));
    if (is_new) {
        nl_heap_retain(other);
        heap->bytes += other->bytes;
    }
    return NULL;
}

nl_status nl_heap_keep_buffer(nl_heap *heap, nl_buffer *buffer)
{
    if (!buffer) return NULL;
    bool is_new;
    NL_TRY(keep(heap, (uintptr_t)buffer, &is_new));
    if (is_new) {
        nl_buffer_retain(buffer);
        heap->bytes += buffer->size_bytes;
    }
    return NULL;
}

static nl_status add_chunk(nl_heap *heap, size_t bytes, nl_buffer **chunk)
{
    NL_TRY(nl_buffer_new(heap->memory, bytes, false, chunk));
    nl_status status = nl_heap_keep_buffer(heap, *chunk); /* the table's reference is the only one that stays */
    nl_buffer_release(*chunk);
    return status;
}

static size_t chunk_bytes_max(const nl_memory *memory)
{
    return NL_MAX(NL_MIN(nl_memory_limit(memory) / CHUNKS_PER_BUDGET, CHUNK_BYTES_MAX), CHUNK_BYTES_MIN);
}

size_t nl_heap_growth(const nl_heap *heap, const nl_memory *memory, size_t bytes)
{
    size_t room = heap && heap->chunk ? heap->chunk->size_bytes - heap->chunk_used : 0;
    if (bytes <= room) return 0;
    size_t last = heap && heap->chunk ? heap->chunk->size_bytes : CHUNK_BYTES_MIN;
    return bytes + NL_MIN(chunk_bytes_max(memory), 2 * (last + bytes)); /* the last chunk is at most this much too large */
}

nl_status nl_heap_alloc(nl_heap *heap, size_t bytes, char **out)
{
    NL_ASSERT(atomic_load_explicit(&heap->references, memory_order_relaxed) == 1);
    if (heap->chunk && bytes <= heap->chunk->size_bytes - heap->chunk_used) {
        *out = (char *)heap->chunk->data + heap->chunk_used;
        heap->chunk_used += bytes;
        return NULL;
    }
    nl_buffer *chunk = NULL;
    size_t chunk_bytes = heap->chunk ? NL_MIN(heap->chunk->size_bytes * 2, chunk_bytes_max(heap->memory)) : CHUNK_BYTES_MIN;
    if (bytes > chunk_bytes / 2) { /* a large value gets its own chunk; the present one goes on being filled */
        NL_TRY(add_chunk(heap, bytes, &chunk));
        *out = (char *)chunk->data;
        return NULL;
    }
    NL_TRY(add_chunk(heap, chunk_bytes, &chunk));
    heap->chunk = chunk;
    heap->chunk_used = bytes;
    *out = (char *)chunk->data;
    return NULL;
}

nl_status nl_heap_add(nl_heap *heap, nl_str text, nl_string_view *view)
{
    if (text.length <= NL_STRING_INLINE_MAX) {
        *view = nl_view_of(text);
        return NULL;
    }
    if (text.length > NL_VALUE_BYTES_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A value of %zu bytes is longer than the largest one of %u bytes.",
                             text.length, NL_VALUE_BYTES_MAX);
    char *copy;
    NL_TRY(nl_heap_alloc(heap, text.length, &copy));
    memcpy(copy, text.data, text.length);
    *view = nl_view_of((nl_str){copy, text.length});
    return NULL;
}

size_t nl_heap_bytes(const nl_heap *heap)
{
    return heap ? heap->bytes : 0;
}
