/* base/arena.h - memory for structure (AST, plans, schemas, metadata): one arena per phase or object, freed as a whole.
 *
 * Allocation never returns NULL: when the budget or the system refuses a new chunk, the arena serves from a reserve
 * set aside at birth and remembers it; phases ask at checkpoints (nl_arena_check). Sizes that come from input use
 * nl_arena_alloc_sized. Threads: an arena belongs to one thread at a time.
 */
#pragma once

#include "base/memory.h"
#include "base/status.h"
#include "base/str.h"

typedef struct nl_arena nl_arena;

nl_arena *nl_arena_new(nl_memory *memory); /* owned; memory is counted and may be NULL (charged to nobody) */
void nl_arena_free(nl_arena *arena);       /* runs the cleanup hooks, newest first; NULL is fine          */

void *nl_arena_alloc(nl_arena *arena, size_t size_bytes); /* zeroed, 16-byte aligned; lives as long as the arena */
NL_MUST_USE nl_status nl_arena_alloc_sized(nl_arena *arena, size_t size_bytes, void **out);
NL_MUST_USE nl_status nl_arena_check(nl_arena *arena); /* UNABLE_TO_ACQUIRE_MEMORY when the reserve was touched */
size_t nl_arena_used(const nl_arena *arena);           /* bytes handed out */

#define NL_NEW(arena, type)              ((type *)nl_arena_alloc((arena), sizeof(type)))
#define NL_NEW_ARRAY(arena, type, count) ((type *)nl_arena_alloc((arena), nl_size_mul(sizeof(type), (count))))

nl_str nl_arena_str(nl_arena *arena, nl_str text);        /* a copy; NUL follows it, so data is also a C string */
const char *nl_str_c(nl_arena *arena, nl_str text);       /* a NUL-terminated copy                              */
nl_str nl_arena_f(nl_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Calls free(object) when the arena ends: for handles kept by structure. */
void nl_arena_on_free(nl_arena *arena, void (*free)(void *object), void *object);

/* A growing array of pointers in an arena: nl_list columns = {0}; nl_list_add(arena, &columns, item). */
typedef struct nl_list {
    void **items;
    uint32_t count;
    uint32_t capacity;
} nl_list;
void nl_list_add(nl_arena *arena, nl_list *list, void *item);

/* Sizes are computed with these; they saturate at SIZE_MAX, which every allocator refuses. */
static inline size_t nl_size_mul(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}
static inline size_t nl_size_add(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}
