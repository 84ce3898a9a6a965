/* base/memory.c - budgets, reservations, counted buffers.
 *
 * A charge climbs from the budget to its root and is undone when one level refuses, so a limit is never passed, not
 * even for a moment. Counters are relaxed: they guard no other data. A buffer is one allocation: its head, then the
 * bytes at the next 64-byte border, then the padding.
 */
#include "base/memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/lock.h"
#include "base/process.h"

#define BUFFER_ALIGNMENT 64u

struct nl_memory {
    nl_memory *parent; /* counted */
    size_t limit_bytes;
    atomic_size_t used_bytes;
    atomic_size_t peak_bytes;
    atomic_uint references;
    bool is_static;
    atomic_size_t reclaimable_bytes;
    atomic_bool has_reclaimer;
    nl_mutex mutex;
    nl_reclaimer *reclaimer; /* guarded by mutex; not counted */
    char name[];
};

/* Stands in when the system cannot even give a budget: it refuses everything, so nothing goes unpaid. */
static nl_memory refuses_all = {.is_static = true};

nl_memory *nl_memory_new(nl_memory *parent, const char *name, size_t limit_bytes)
{
    size_t name_bytes = strlen(name) + 1;
    nl_memory *memory = calloc(1, sizeof *memory + name_bytes);
    if (memory == NULL) return &refuses_all;
    memory->parent = nl_memory_retain(parent);
    memory->limit_bytes = limit_bytes;
    atomic_init(&memory->references, 1);
    nl_mutex_init(&memory->mutex);
    memcpy(memory->name, name, name_bytes);
    return memory;
}

nl_memory *nl_memory_retain(nl_memory *memory)
{
    if (memory != NULL && !memory->is_static) atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
    return memory;
}

void nl_memory_release(nl_memory *memory)
{
    while (memory != NULL && !memory->is_static &&
           atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) == 1) {
        nl_memory *parent = memory->parent;
        NL_ASSERT(nl_memory_used(memory) == 0);
        nl_mutex_fini(&memory->mutex);
        free(memory);
        memory = parent;
    }
}

#ifdef NL_FAULTS
static bool is_refused_on_purpose(void)
{
    _Atomic uint64_t *left = &nl_process_state.charges_until_refusal;
    if (NL_LIKELY(atomic_load_explicit(left, memory_order_relaxed) == 0)) return false;
    return atomic_fetch_sub_explicit(left, 1, memory_order_relaxed) == 1;
}

void nl_memory_fail_charge(uint64_t n)
{
    atomic_store(&nl_process_state.charges_until_refusal, n);
}
#else
static inline bool is_refused_on_purpose(void)
{
    return false;
}

void nl_memory_fail_charge(uint64_t n)
{
    (void)n;
}
#endif

static bool charge_level(nl_memory *memory, size_t bytes)
{
    size_t used = atomic_load_explicit(&memory->used_bytes, memory_order_relaxed);
    do {
        if (bytes > memory->limit_bytes || used > memory->limit_bytes - bytes) return false;
    } while (!atomic_compare_exchange_weak_explicit(&memory->used_bytes, &used, used + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    used += bytes;
    size_t peak = atomic_load_explicit(&memory->peak_bytes, memory_order_relaxed);
    while (peak < used && !atomic_compare_exchange_weak_explicit(&memory->peak_bytes, &peak, used,
                                                                 memory_order_relaxed, memory_order_relaxed)) {
    }
    return true;
}

nl_memory *nl_memory_root(nl_memory *memory)
{
    while (memory && memory->parent) memory = memory->parent;
    return memory;
}

nl_reclaimer *nl_memory_reclaimer(nl_memory *memory)
{
    nl_memory *root = nl_memory_root(memory);
    if (!root || !atomic_load_explicit(&root->has_reclaimer, memory_order_acquire)) return NULL;
    nl_mutex_lock(&root->mutex);
    nl_reclaimer *found = root->reclaimer;
    uint32_t references = found ? atomic_load(&found->references) : 0;
    /* One that has no user left is on its way out. */
    while (references > 0 && !atomic_compare_exchange_weak(&found->references, &references, references + 1)) {
    }
    nl_mutex_unlock(&root->mutex);
    return references > 0 ? found : NULL;
}

bool nl_memory_add_reclaimer(nl_memory *memory, nl_reclaimer *reclaimer)
{
    nl_memory *root = nl_memory_root(memory);
    if (!root || root->is_static) return false;
    nl_mutex_lock(&root->mutex);
    const bool is_first = !root->reclaimer || atomic_load(&root->reclaimer->references) == 0;
    if (is_first) {
        reclaimer->root = nl_memory_retain(root);
        root->reclaimer = reclaimer;
        atomic_store_explicit(&root->has_reclaimer, true, memory_order_release);
    }
    nl_mutex_unlock(&root->mutex);
    return is_first;
}

void nl_reclaimer_release(nl_reclaimer *reclaimer)
{
    if (!reclaimer || atomic_fetch_sub(&reclaimer->references, 1) != 1) return;
    nl_memory *root = reclaimer->root;
    if (root) {
        nl_mutex_lock(&root->mutex);
        if (root->reclaimer == reclaimer) {
            root->reclaimer = NULL;
            atomic_store_explicit(&root->has_reclaimer, false, memory_order_release);
        }
        nl_mutex_unlock(&root->mutex);
    }
    reclaimer->free(reclaimer);
    nl_memory_release(root);
}

void nl_reclaimer_note(nl_reclaimer *reclaimer, ptrdiff_t bytes)
{
    if (reclaimer->root) atomic_fetch_add_explicit(&reclaimer->root->reclaimable_bytes, (size_t)bytes, memory_order_relaxed);
}

/* May the charge that a root has just refused be tried again? */
static bool reclaim(nl_memory *root, size_t bytes)
{
    if (root->parent || bytes > root->limit_bytes) return false;
    nl_reclaimer *reclaimer = nl_memory_reclaimer(root);
    const size_t back = reclaimer ? reclaimer->reclaim(reclaimer, bytes) : 0;
    nl_reclaimer_release(reclaimer);
    return back > 0;
}

bool nl_memory_try_charge(nl_memory *memory, size_t bytes)
{
    if (is_refused_on_purpose()) return false;
    for (nl_memory *level = memory; level != NULL; level = level->parent) {
        bool is_charged = charge_level(level, bytes);
        while (NL_UNLIKELY(!is_charged) && reclaim(level, bytes)) is_charged = charge_level(level, bytes);
        if (is_charged) continue;
        for (nl_memory *paid = memory; paid != level; paid = paid->parent)
            atomic_fetch_sub_explicit(&paid->used_bytes, bytes, memory_order_relaxed);
        return false;
    }
    return true;
}

void nl_memory_discharge(nl_memory *memory, size_t bytes)
{
    for (; memory != NULL; memory = memory->parent) {
        size_t before = atomic_fetch_sub_explicit(&memory->used_bytes, bytes, memory_order_relaxed);
        NL_ASSERT(before >= bytes);
        (void)before;
    }
}

size_t nl_memory_used(const nl_memory *memory)
{
    return memory == NULL ? 0 : atomic_load_explicit(&memory->used_bytes, memory_order_relaxed);
}

size_t nl_memory_peak(const nl_memory *memory)
{
    return memory == NULL ? 0 : atomic_load_explicit(&memory->peak_bytes, memory_order_relaxed);
}

size_t nl_memory_limit(const nl_memory *memory)
{
    size_t limit = SIZE_MAX;
    for (; memory != NULL; memory = memory->parent)
        limit = NL_MIN(limit, memory->limit_bytes);
    return limit;
}

/* What is kept free for kernels, pages and batches in flight: a quarter. They need the same few MiB however small the
 * budget is: TPC-DS 18 reads nine columns through seven joins, with 26 MiB a quarter was too little. */
#define IN_FLIGHT_BYTES   ((size_t)12 << 20)
#define TINY_BUDGET_BYTES ((size_t)16 << 20)

static size_t in_flight_share(size_t limit)
{
    if (limit < TINY_BUDGET_BYTES) return limit / 4;
    return NL_MAX(limit / 4, NL_MIN(IN_FLIGHT_BYTES, limit / 2));
}

bool nl_memory_has_room(const nl_memory *memory, size_t bytes)
{
    for (; memory != NULL; memory = memory->parent) {
        const size_t limit = memory->limit_bytes;
        const size_t used = nl_memory_used(memory);
        const size_t reclaimable = atomic_load_explicit(&memory->reclaimable_bytes, memory_order_relaxed);
        if (nl_size_add(used - NL_MIN(used, reclaimable), bytes) > limit - in_flight_share(limit)) return false;
    }
    return true;
}

bool nl_reservation_grow(nl_reservation *reservation, size_t more_bytes)
{
    if (nl_size_add(reservation->bytes, more_bytes) == SIZE_MAX) return false;
    if (!nl_memory_try_charge(reservation->memory, more_bytes)) return false;
    reservation->bytes += more_bytes;
    return true;
}

void nl_reservation_shrink(nl_reservation *reservation, size_t fewer_bytes)
{
    NL_ASSERT(fewer_bytes <= reservation->bytes);
    nl_memory_discharge(reservation->memory, fewer_bytes);
    reservation->bytes -= fewer_bytes;
}

void nl_reservation_clear(nl_reservation *reservation)
{
    nl_reservation_shrink(reservation, reservation->bytes);
}

static nl_status refused(nl_memory *memory, size_t bytes)
{
    size_t limit = nl_memory_limit(memory);
    size_t used = nl_memory_used(memory);
    size_t left = limit > used ? limit - used : 0;
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)NL_MIN(bytes, (size_t)INT64_MAX)),
                    NL_P_INT("receivedBytes", (int64_t)NL_MIN(left, bytes)));
}

/* ---- freed buffers kept by their thread ----
 *
 * Batches ask for the same few sizes again and again; malloc would split, merge and give back pages for each. A thread
 * keeps a bounded number of bytes, by size class, and all threads together no more than what workers on all cores would:
 * a server has many threads that take turns. One that rests gives them back (nl_memory_trim_thread). Sanitizers see
 * every allocation. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static void *take_block(size_t total_bytes)
{
    return aligned_alloc(BUFFER_ALIGNMENT, total_bytes);
}
static void give_block(void *block, size_t total_bytes)
{
    (void)total_bytes;
    free(block);
}
void nl_memory_trim_thread(void)
{
}
#else
#define KEPT_BYTES_MAX   (6u << 20)
#define KEPT_BYTES_STEP  (2u << 20) /* a thread asks for its part of the whole in such steps: the largest block fits */
#define KEPT_BLOCK_BITS  20u /* blocks of up to 2 MiB are kept */
#define KEPT_BLOCK_FIRST 7u
#define KEPT_CLASSES     ((KEPT_BLOCK_BITS - KEPT_BLOCK_FIRST + 1) * 4)

typedef struct kept_block {
    struct kept_block *next;
} kept_block;

typedef struct kept_blocks {
    kept_block *classes[KEPT_CLASSES];
    size_t bytes;
    size_t allowed_bytes; /* its part of all */
    size_t all_bytes_max;
} kept_blocks;

static _Thread_local kept_blocks *kept; /* made when first needed; freed with the thread */
static pthread_key_t kept_key;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static bool may_keep(kept_blocks *blocks, size_t bytes)
{
    if (blocks->bytes + bytes <= blocks->allowed_bytes) return true;
    if (blocks->allowed_bytes + KEPT_BYTES_STEP > KEPT_BYTES_MAX) return false;
    if (atomic_fetch_add_explicit(&nl_process_state.kept_bytes, KEPT_BYTES_STEP, memory_order_relaxed) + KEPT_BYTES_STEP > blocks->all_bytes_max) {
        atomic_fetch_sub_explicit(&nl_process_state.kept_bytes, KEPT_BYTES_STEP, memory_order_relaxed);
        return false;
    }
    blocks->allowed_bytes += KEPT_BYTES_STEP;
    return true;
}

static void empty_kept(kept_blocks *blocks)
{
    for (uint32_t i = 0; i < KEPT_CLASSES; i++) {
        while (blocks->classes[i]) {
            kept_block *next = blocks->classes[i]->next;
            free(blocks->classes[i]);
            blocks->classes[i] = next;
        }
    }
    atomic_fetch_sub_explicit(&nl_process_state.kept_bytes, blocks->allowed_bytes, memory_order_relaxed);
    blocks->bytes = blocks->allowed_bytes = 0;
}

static void free_kept(void *argument)
{
    kept = NULL;
    empty_kept(argument);
    free(argument);
}

void nl_memory_trim_thread(void)
{
    if (kept) empty_kept(kept);
}

static void make_kept_key(void)
{
    (void)pthread_key_create(&kept_key, free_kept);
}

/* The class of a size, four to each power of two, and the size of its blocks; false: not kept. */
static bool class_of(size_t bytes, uint32_t *class_index, size_t *class_bytes)
{
    const uint32_t bits = 63u - (uint32_t)__builtin_clzll((unsigned long long)bytes - 1);
    if (bits < KEPT_BLOCK_FIRST || bits > KEPT_BLOCK_BITS) return false;
    const size_t step = (size_t)1 << (bits - 2);
    const size_t steps = (bytes + step - 1) / step; /* 5 to 8 */
    *class_index = (bits - KEPT_BLOCK_FIRST) * 4 + (uint32_t)steps - 5;
    *class_bytes = steps * step;
    return true;
}

static void *take_block(size_t total_bytes)
{
    uint32_t index;
    size_t bytes;
    if (!class_of(total_bytes, &index, &bytes)) return aligned_alloc(BUFFER_ALIGNMENT, total_bytes);
    kept_block *block = kept ? kept->classes[index] : NULL;
    if (!block) return aligned_alloc(BUFFER_ALIGNMENT, bytes);
    kept->classes[index] = block->next;
    kept->bytes -= bytes;
    return block;
}

static void give_block(void *freed, size_t total_bytes)
{
    uint32_t index;
    size_t bytes;
    if (!kept && class_of(total_bytes, &index, &bytes) && pthread_once(&kept_once, make_kept_key) == 0) {
        kept = calloc(1, sizeof *kept);
        if (kept && pthread_setspecific(kept_key, kept) != 0) {
            free(kept);
            kept = NULL;
        }
        if (kept) kept->all_bytes_max = KEPT_BYTES_MAX * (size_t)NL_MAX(sysconf(_SC_NPROCESSORS_ONLN) + 1, 2);
    }
    if (!kept || !class_of(total_bytes, &index, &bytes) || !may_keep(kept, bytes)) {
        free(freed);
        return;
    }
    kept_block *block = freed;
    block->next = kept->classes[index];
    kept->classes[index] = block;
    kept->bytes += bytes;
}
#endif

nl_status nl_buffer_new(nl_memory *memory, size_t size_bytes, bool is_zeroed, nl_buffer **buffer)
{
    _Static_assert(sizeof(nl_buffer) <= BUFFER_ALIGNMENT, "the head fits before the first border");
    if (size_bytes > NL_ALLOCATION_BYTES_MAX) return refused(memory, size_bytes);
    size_t body = (size_bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    size_t total = BUFFER_ALIGNMENT + body + BUFFER_ALIGNMENT;
    if (!nl_memory_try_charge(memory, total)) return refused(memory, total);
    nl_buffer *made = take_block(total);
    if (made == NULL) {
        nl_memory_discharge(memory, total);
        return refused(memory, total);
    }
    memset(made, 0, sizeof *made);
    made->data = (uint8_t *)made + BUFFER_ALIGNMENT;
    made->size_bytes = size_bytes;
    made->charged_bytes = total;
    made->memory = nl_memory_retain(memory);
    atomic_init(&made->references, 1);
    /* Vector loops read and write whole words behind the end: what they find there is defined. */
    size_t zero_from = is_zeroed ? 0 : size_bytes;
    memset(made->data + zero_from, 0, body + BUFFER_ALIGNMENT - zero_from);
    *buffer = made;
    return NULL;
}

nl_buffer *nl_buffer_wrap(const void *data, size_t size_bytes, void (*release)(nl_buffer *), void *owner)
{
    nl_buffer *buffer = calloc(1, sizeof *buffer);
    if (buffer == NULL) return NULL;
    buffer->data = NL_UNCONST(data);
    buffer->size_bytes = size_bytes;
    buffer->release = release;
    buffer->owner = owner;
    atomic_init(&buffer->references, 1);
    return buffer;
}

nl_buffer *nl_buffer_retain(nl_buffer *buffer)
{
    if (buffer != NULL) atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void nl_buffer_release(nl_buffer *buffer)
{
    if (buffer == NULL || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1) return;
    if (buffer->release != NULL) buffer->release(buffer);
    nl_memory *memory = buffer->memory;
    const size_t total = buffer->charged_bytes;
    nl_memory_discharge(memory, total);
    if (total > 0)
        give_block(buffer, total);
    else /* wrapped, not allocated here */
        free(buffer);
    nl_memory_release(memory);
}
