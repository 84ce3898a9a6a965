/* base/arena.c - chunks that double in size, a reserve set aside at birth, cleanup hooks.
 *
 * When the budget refuses a chunk the arena first uses up its reserve and then takes unpaid chunks from the system;
 * either way it remembers, and the next checkpoint fails. Between two checkpoints a phase asks for little, so the
 * unpaid part stays small. Only when the system itself has nothing left for such a small request does the program
 * stop: there is nobody to report to. Sizes from outside go through nl_arena_alloc_sized, which fails cleanly.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"

#define BIRTH_BYTES     4096u /* small structures never need a second chunk       */
#define RESERVE_BYTES   4096u /* what a phase may use between refusal and check   */
#define CHUNK_BYTES_MAX (256u << 10)
#define ALIGNMENT       16u

typedef struct chunk {
    struct chunk *next;
    size_t charged_bytes;
} chunk;

typedef struct hook {
    struct hook *next;
    void (*free)(void *object);
    void *object;
} hook;

struct nl_arena {
    nl_memory *memory; /* counted */
    chunk *chunks;     /* newest first; the birth chunk is part of this allocation and not in the list */
    hook *hooks;       /* newest first */
    uint8_t *at;
    uint8_t *end;
    uint8_t *reserve;
    uint8_t *reserve_end;
    size_t next_chunk_bytes;
    size_t charged_bytes; /* for the birth allocation */
    size_t used_bytes;
    size_t refused_bytes; /* 0: nothing was refused */
    _Alignas(16) uint8_t birth[];
};

_Static_assert(sizeof(nl_arena) % ALIGNMENT == 0 && sizeof(chunk) % ALIGNMENT == 0, "bodies are aligned");

nl_arena *nl_arena_new(nl_memory *memory)
{
    size_t total = sizeof(nl_arena) + BIRTH_BYTES + RESERVE_BYTES;
    bool is_paid = nl_memory_try_charge(memory, total);
    nl_arena *arena = malloc(total);
    if (arena == NULL) nl_assert_failed("the system has no memory for an arena", NL_HERE);
    *arena = (nl_arena){
        .memory = nl_memory_retain(memory),
        .next_chunk_bytes = BIRTH_BYTES * 2,
        .charged_bytes = is_paid ? total : 0,
        .refused_bytes = is_paid ? 0 : total,
    };
    arena->at = arena->birth;
    arena->end = arena->birth + BIRTH_BYTES;
    arena->reserve = arena->end;
    arena->reserve_end = arena->reserve + RESERVE_BYTES;
    return arena;
}

void nl_arena_free(nl_arena *arena)
{
    if (arena == NULL) return;
    while (arena->hooks != NULL) { /* a hook may look at structure, so all run before any chunk goes */
        hook *newest = arena->hooks;
        arena->hooks = newest->next;
        newest->free(newest->object);
    }
    for (chunk *next, *old = arena->chunks; old != NULL; old = next) {
        next = old->next;
        nl_memory_discharge(arena->memory, old->charged_bytes);
        free(old);
    }
    nl_memory_discharge(arena->memory, arena->charged_bytes);
    nl_memory_release(arena->memory);
    free(arena);
}

/* A chunk with room for `size` bytes becomes the present one; a big request gets a chunk of its own and leaves the
 * present one in use. False when the budget (unless unpaid) or the system refuses. */
static bool add_chunk(nl_arena *arena, size_t size, bool is_unpaid, uint8_t **body)
{
    bool is_own = size > arena->next_chunk_bytes / 4;
    size_t total = nl_size_add(sizeof(chunk), is_own ? size : arena->next_chunk_bytes);
    if (total > NL_ALLOCATION_BYTES_MAX) return false;
    if (!is_unpaid && !nl_memory_try_charge(arena->memory, total)) return false;
    chunk *added = malloc(total);
    if (added == NULL) {
        if (!is_unpaid) nl_memory_discharge(arena->memory, total);
        return false;
    }
    *added = (chunk){.next = arena->chunks, .charged_bytes = is_unpaid ? 0 : total};
    arena->chunks = added;
    *body = (uint8_t *)(added + 1);
    if (is_own) return true;
    arena->at = *body + size;
    arena->end = (uint8_t *)added + total;
    if (arena->next_chunk_bytes < CHUNK_BYTES_MAX) arena->next_chunk_bytes *= 2;
    return true;
}

static size_t padded(size_t size_bytes)
{
    return size_bytes > SIZE_MAX - ALIGNMENT ? SIZE_MAX : (size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The common case: the present chunk has room. */
static inline uint8_t *take(nl_arena *arena, size_t size)
{
    if (size > (size_t)(arena->end - arena->at)) return NULL;
    uint8_t *body = arena->at;
    arena->at += size;
    return body;
}

static uint8_t *take_anyway(nl_arena *arena, size_t size)
{
    if (arena->refused_bytes == 0) arena->refused_bytes = size;
    if (size <= (size_t)(arena->reserve_end - arena->reserve)) {
        uint8_t *body = arena->reserve;
        arena->reserve += size;
        return body;
    }
    uint8_t *body = NULL;
    if (!add_chunk(arena, size, true, &body)) nl_assert_failed("the system has no memory for structure", NL_HERE);
    return body;
}

void *nl_arena_alloc(nl_arena *arena, size_t size_bytes)
{
    size_t size = padded(size_bytes);
    uint8_t *body = take(arena, size);
    if (body == NULL && !add_chunk(arena, size, false, &body)) body = take_anyway(arena, size);
    arena->used_bytes += size;
    return memset(body, 0, size);
}

static nl_status refused(const nl_arena *arena, size_t size_bytes)
{
    size_t limit = nl_memory_limit(arena->memory);
    size_t used = nl_memory_used(arena->memory);
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY,
                    NL_P_INT("requestedBytes", (int64_t)NL_MIN(size_bytes, (size_t)INT64_MAX)),
                    NL_P_INT("receivedBytes", (int64_t)NL_MIN(limit > used ? limit - used : 0, size_bytes)));
}

nl_status nl_arena_alloc_sized(nl_arena *arena, size_t size_bytes, void **out)
{
    size_t size = padded(size_bytes);
    uint8_t *body = take(arena, size);
    if (body == NULL && !add_chunk(arena, size, false, &body)) return refused(arena, size_bytes);
    arena->used_bytes += size;
    *out = memset(body, 0, size);
    return NULL;
}

nl_status nl_arena_check(nl_arena *arena)
{
    return arena->refused_bytes == 0 ? NULL : refused(arena, arena->refused_bytes);
}

size_t nl_arena_used(const nl_arena *arena)
{
    return arena->used_bytes;
}

nl_str nl_arena_str(nl_arena *arena, nl_str text)
{
    char *copy = nl_arena_alloc(arena, nl_size_add(text.length, 1));
    if (text.length > 0) memcpy(copy, text.data, text.length);
    return (nl_str){copy, text.length};
}

const char *nl_str_c(nl_arena *arena, nl_str text)
{
    return nl_arena_str(arena, text).data;
}

nl_str nl_arena_f(nl_arena *arena, const char *format, ...)
{
    va_list arguments;
    va_list again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    size_t size = length < 0 ? 0 : (size_t)length;
    char *text = nl_arena_alloc(arena, size + 1);
    if (size > 0) vsnprintf(text, size + 1, format, again);
    va_end(again);
    return (nl_str){text, size};
}

void nl_arena_on_free(nl_arena *arena, void (*free)(void *object), void *object)
{
    hook *added = NL_NEW(arena, hook);
    *added = (hook){.next = arena->hooks, .free = free, .object = object};
    arena->hooks = added;
}

void nl_list_add(nl_arena *arena, nl_list *list, void *item)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity == 0 ? 4 : list->capacity * 2;
        NL_ASSERT(capacity > list->capacity);
        void **items = NL_NEW_ARRAY(arena, void *, capacity);
        if (list->count > 0) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
}
