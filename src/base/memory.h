/* base/memory.h - who pays for bytes: a tree of budgets (process, query, operator, cache), reservations, buffers.
 *
 * Refusal is normal and means "spill, then ask again". Counters are atomic: a budget may be used from many threads.
 */
#pragma once

#include <stdatomic.h>

#include "base/status.h"

typedef struct nl_memory nl_memory;

/* A budget of at most limit_bytes below `parent` (NULL: a root). Counted; retains its parent. name is copied. */
nl_memory *nl_memory_new(nl_memory *parent, const char *name, size_t limit_bytes);
nl_memory *nl_memory_retain(nl_memory *memory);
void nl_memory_release(nl_memory *memory);
bool nl_memory_try_charge(nl_memory *memory, size_t bytes); /* all levels or none; NULL memory always agrees */
void nl_memory_discharge(nl_memory *memory, size_t bytes);
/* For tests: the n-th charge in this process from now on is refused, whoever asks (0: none). With NL_FAULTS only. */
void nl_memory_fail_charge(uint64_t n);
size_t nl_memory_used(const nl_memory *memory);
size_t nl_memory_peak(const nl_memory *memory);
size_t nl_memory_limit(const nl_memory *memory); /* the smallest of its own and those above; SIZE_MAX: none */
/* Would `bytes` more leave a quarter of every limit, its own and those above, free? Nothing is charged; what a root's
 * reclaimer would give back counts as free. */
bool nl_memory_has_room(const nl_memory *memory, size_t bytes);

/* Freed buffers that the calling thread keeps for its next ones go back to the system: it is going to rest. */
void nl_memory_trim_thread(void);

/* What a root has bytes back from before it refuses any: a cache. First member of it; counted by whoever uses the cache, not by
 * the root, which forgets it when the last of them goes. */
typedef struct nl_reclaimer nl_reclaimer;
struct nl_reclaimer {
    size_t (*reclaim)(nl_reclaimer *self, size_t bytes); /* about as many; returns how many. Any thread, under any lock of others: takes only its own and charges nothing */
    void (*free)(nl_reclaimer *self);                    /* after the last release */
    nl_memory *root;                                     /* counted; filled in by nl_memory_add_reclaimer */
    atomic_uint references;                              /* starts at 1 */
};
nl_memory *nl_memory_root(nl_memory *memory); /* the budget above all; borrowed */
nl_reclaimer *nl_memory_reclaimer(nl_memory *memory); /* that of the root above; counted; NULL: none */
/* Makes it that of memory's root, unless there is one: the answer is false then and nothing has happened. */
bool nl_memory_add_reclaimer(nl_memory *memory, nl_reclaimer *reclaimer);
void nl_reclaimer_release(nl_reclaimer *reclaimer); /* NULL is fine */
/* It holds so many bytes more or less that it would give back. */
void nl_reclaimer_note(nl_reclaimer *reclaimer, ptrdiff_t bytes);

/* What one operator holds. In place; starts as {.memory = m}. Not thread-safe by itself. */
typedef struct nl_reservation {
    nl_memory *memory; /* borrowed */
    size_t bytes;
} nl_reservation;
NL_MUST_USE bool nl_reservation_grow(nl_reservation *reservation, size_t more_bytes);
void nl_reservation_shrink(nl_reservation *reservation, size_t fewer_bytes);
void nl_reservation_clear(nl_reservation *reservation);

/* Counted bytes, 64-byte aligned, with 64 readable and writable bytes of padding behind the end. Immutable once
 * published to another thread or vector. */
typedef struct nl_buffer {
    uint8_t *data;
    size_t size_bytes;
    size_t charged_bytes;
    nl_memory *memory;                  /* counted; NULL: charged to nobody               */
    void (*release)(struct nl_buffer *); /* NULL: data was allocated here; else a foreign owner's hook */
    void *owner;                        /* for release                                    */
    atomic_uint references;
} nl_buffer;

/* Zeroed when is_zeroed. Fails: UNABLE_TO_ACQUIRE_MEMORY. */
NL_MUST_USE nl_status nl_buffer_new(nl_memory *memory, size_t size_bytes, bool is_zeroed, nl_buffer **buffer);
/* Wraps foreign bytes (a mapped file, an Arrow import); release(buffer) is called at the last release.
 * NULL when the system has no memory for the head; the bytes then stay the caller's. */
nl_buffer *nl_buffer_wrap(const void *data, size_t size_bytes, void (*release)(nl_buffer *), void *owner);
nl_buffer *nl_buffer_retain(nl_buffer *buffer); /* NULL gives NULL */
void nl_buffer_release(nl_buffer *buffer);      /* NULL is fine    */
