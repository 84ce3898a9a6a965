/* base/pool.c - threads that run tasks of groups.
 *
 * One mutex guards a pool: its ring of groups that have queued tasks, and every group's queue and counters. Tasks are
 * morsels or requests, thousands of instructions at least, so the mutex is not where time goes. Threads take from the
 * groups in turn, so a large query does not starve a small one. Whoever waits for a group runs that group's tasks in the
 * meantime and nothing else: a wait inside a task can therefore not end in a circle, and not last longer than the group.
 *
 * A task occupies one of the group's slots (0 … thread_count-1) while it runs: that is the worker number it sees.
 */
#include "base/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "base/lock.h"
#include "base/memory.h"

#define REST_SECONDS 1 /* without work */

struct nl_cancel {
    nl_cancel *parent; /* counted */
    atomic_bool is_set;
    atomic_uint references;
};

nl_cancel *nl_cancel_new(nl_cancel *parent)
{
    nl_cancel *cancel = calloc(1, sizeof *cancel);
    if (cancel == NULL) nl_assert_failed("the system has no memory for a flag", NL_HERE);
    cancel->parent = nl_cancel_retain(parent);
    atomic_init(&cancel->references, 1);
    return cancel;
}

nl_cancel *nl_cancel_retain(nl_cancel *cancel)
{
    if (cancel != NULL) atomic_fetch_add_explicit(&cancel->references, 1, memory_order_relaxed);
    return cancel;
}

void nl_cancel_release(nl_cancel *cancel)
{
    while (cancel != NULL && atomic_fetch_sub_explicit(&cancel->references, 1, memory_order_acq_rel) == 1) {
        nl_cancel *parent = cancel->parent;
        free(cancel);
        cancel = parent;
    }
}

void nl_cancel_set(nl_cancel *cancel)
{
    atomic_store_explicit(&cancel->is_set, true, memory_order_relaxed);
}

bool nl_cancel_is_set(const nl_cancel *cancel)
{
    for (; cancel != NULL; cancel = cancel->parent)
        if (atomic_load_explicit(&cancel->is_set, memory_order_relaxed)) return true;
    return false;
}

nl_status nl_cancel_check(const nl_cancel *cancel)
{
    return NL_UNLIKELY(nl_cancel_is_set(cancel)) ? NL_RAISE(OPERATION_CANCELED) : NULL;
}

typedef struct task {
    struct task *next;
    nl_task_fn run;
    void *argument;
} task;

struct nl_task_group {
    nl_pool *pool;
    nl_cancel *cancel;   /* counted; the group's own */
    nl_task_group *next; /* in the pool's ring while tasks are queued; all below: guarded by pool->mutex */
    nl_task_group *previous;
    task *first_task;
    task *last_task;
    uint64_t unfinished_count; /* queued or running */
    bool has_dropped;
    nl_status status; /* the first failure; owned */
    pthread_cond_t changed; /* a task was queued, a slot freed, or the last task finished */
    uint32_t free_slot_count;
    uint32_t free_slots[]; /* a stack */
};

struct nl_pool {
    nl_mutex mutex;
    pthread_cond_t has_work;
    nl_task_group *ring; /* guarded by mutex: the group whose turn is next; NULL when nothing is queued */
    bool is_ending;      /* guarded by mutex */
    uint32_t started_count; /* guarded by mutex */
    uint32_t thread_count;
    char name[16];
    pthread_t threads[];
};

nl_pool *nl_pool_new(uint32_t thread_count, const char *name)
{
    thread_count = NL_MAX(1, NL_MIN(thread_count, NL_POOL_THREADS_MAX));
    nl_pool *pool = calloc(1, sizeof *pool + thread_count * sizeof(pthread_t));
    if (pool == NULL) nl_assert_failed("the system has no memory for a thread pool", NL_HERE);
    nl_mutex_init(&pool->mutex);
    pthread_cond_init(&pool->has_work, NULL);
    pool->thread_count = thread_count;
    snprintf(pool->name, sizeof pool->name, "%.15s", name);
    return pool;
}

uint32_t nl_pool_thread_count(const nl_pool *pool)
{
    return pool->thread_count;
}

static void enter_ring(nl_pool *pool, nl_task_group *group)
{
    if (pool->ring == NULL) {
        group->next = group->previous = group;
        pool->ring = group;
        return;
    }
    group->next = pool->ring;
    group->previous = pool->ring->previous;
    group->previous->next = group;
    group->next->previous = group;
}

static void leave_ring(nl_pool *pool, nl_task_group *group)
{
    if (group->next == group) {
        pool->ring = NULL;
    } else {
        group->previous->next = group->next;
        group->next->previous = group->previous;
        if (pool->ring == group) pool->ring = group->next;
    }
    group->next = group->previous = NULL;
}

/* Takes the group's oldest task out of its queue. The mutex is held. */
static task *pop_task(nl_pool *pool, nl_task_group *group)
{
    task *taken = group->first_task;
    group->first_task = taken->next;
    if (group->first_task == NULL) {
        group->last_task = NULL;
        leave_ring(pool, group);
    }
    return taken;
}

/* Runs one queued task of a group that has a task and a free slot. The mutex is held on entry and exit, not between. */
static void run_one(nl_pool *pool, nl_task_group *group)
{
    NL_ASSERT(group->first_task != NULL && group->free_slot_count > 0);
    task *taken = pop_task(pool, group);
    uint32_t slot = group->free_slots[--group->free_slot_count];
    nl_mutex_unlock(&pool->mutex);
    bool is_dropped = nl_cancel_is_set(group->cancel);
    nl_status status = is_dropped ? NULL : taken->run(taken->argument, slot);
    free(taken);
    if (status != NULL) nl_cancel_set(group->cancel);
    nl_mutex_lock(&pool->mutex);
    group->free_slots[group->free_slot_count++] = slot;
    group->has_dropped |= is_dropped;
    group->status = nl_first_error(group->status, status);
    group->unfinished_count--;
    /* The waiter may free the group as soon as the mutex is released and the count is zero. */
    pthread_cond_broadcast(&group->changed);
    if (group->first_task != NULL) pthread_cond_signal(&pool->has_work);
}

/* The next group in turn with a task and a free slot, or NULL. */
static nl_task_group *next_group(nl_pool *pool)
{
    nl_task_group *group = pool->ring;
    if (group == NULL) return NULL;
    do {
        if (group->free_slot_count > 0) {
            pool->ring = group->next;
            return group;
        }
        group = group->next;
    } while (group != pool->ring);
    return NULL;
}

/* Waits for work; a thread that gets none for a while keeps no memory. The mutex is held. */
static void rest(nl_pool *pool)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += REST_SECONDS;
    if (pthread_cond_timedwait(&pool->has_work, &pool->mutex, &until) != ETIMEDOUT) return;
    nl_mutex_unlock(&pool->mutex);
    nl_memory_trim_thread();
    nl_mutex_lock(&pool->mutex);
    if (!pool->is_ending && next_group(pool) == NULL) pthread_cond_wait(&pool->has_work, &pool->mutex);
}

static void *thread_main(void *argument)
{
    nl_pool *pool = argument;
    pthread_setname_np(pthread_self(), pool->name);
    nl_mutex_lock(&pool->mutex);
    while (!pool->is_ending) {
        nl_task_group *group = next_group(pool);
        if (group != NULL)
            run_one(pool, group);
        else
            rest(pool);
    }
    nl_mutex_unlock(&pool->mutex);
    return NULL;
}

/* Starts the threads at the first task. When the system refuses some, those that run and the waiters do the work. */
static void start_threads(nl_pool *pool)
{
    while (pool->started_count < pool->thread_count) {
        if (pthread_create(&pool->threads[pool->started_count], NULL, thread_main, pool) != 0) return;
        pool->started_count++;
    }
}

void nl_pool_free(nl_pool *pool)
{
    if (pool == NULL) return;
    nl_mutex_lock(&pool->mutex);
    NL_ASSERT(pool->ring == NULL);
    pool->is_ending = true;
    pthread_cond_broadcast(&pool->has_work);
    nl_mutex_unlock(&pool->mutex);
    for (uint32_t i = 0; i < pool->started_count; i++) pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->has_work);
    nl_mutex_fini(&pool->mutex);
    free(pool);
}

nl_task_group *nl_task_group_new(nl_pool *pool, nl_cancel *cancel)
{
    nl_task_group *group = calloc(1, sizeof *group + pool->thread_count * sizeof(uint32_t));
    if (group == NULL) nl_assert_failed("the system has no memory for a task group", NL_HERE);
    group->pool = pool;
    group->cancel = nl_cancel_new(cancel);
    pthread_cond_init(&group->changed, NULL);
    for (uint32_t i = 0; i < pool->thread_count; i++) group->free_slots[i] = pool->thread_count - 1 - i;
    group->free_slot_count = pool->thread_count;
    return group;
}

nl_cancel *nl_task_group_cancel(nl_task_group *group)
{
    return group->cancel;
}

static void queue_task(nl_task_group *group, task *added)
{
    nl_pool *pool = group->pool;
    nl_mutex_lock(&pool->mutex);
    if (group->last_task != NULL) {
        group->last_task->next = added;
    } else {
        group->first_task = added;
        enter_ring(pool, group);
    }
    group->last_task = added;
    group->unfinished_count++;
    start_threads(pool);
    pthread_cond_signal(&pool->has_work);
    pthread_cond_broadcast(&group->changed);
    nl_mutex_unlock(&pool->mutex);
}

void nl_task_group_add(nl_task_group *group, nl_task_fn run, void *argument)
{
    task *added = calloc(1, sizeof *added);
    if (added != NULL) {
        *added = (task){.run = run, .argument = argument};
        queue_task(group, added);
        return;
    }
    /* Without memory for a queue entry the task cannot be promised: the group fails. */
    nl_status status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *added),
                                NL_P_INT("receivedBytes", 0));
    nl_cancel_set(group->cancel);
    nl_mutex_lock(&group->pool->mutex);
    group->status = nl_first_error(group->status, status);
    nl_mutex_unlock(&group->pool->mutex);
}

nl_status nl_task_group_wait(nl_task_group *group)
{
    nl_pool *pool = group->pool;
    nl_mutex_lock(&pool->mutex);
    while (group->unfinished_count > 0) {
        if (group->first_task != NULL && group->free_slot_count > 0)
            run_one(pool, group);
        else
            pthread_cond_wait(&group->changed, &pool->mutex);
    }
    nl_status status = group->status;
    bool has_dropped = group->has_dropped;
    nl_mutex_unlock(&pool->mutex);
    pthread_cond_destroy(&group->changed);
    nl_cancel_release(group->cancel);
    free(group);
    return status == NULL && has_dropped ? NL_RAISE(OPERATION_CANCELED) : status;
}

typedef struct numbered {
    nl_task_fn run;
    void *argument;
    uint32_t number;
} numbered;

static nl_status run_numbered(void *argument, uint32_t worker)
{
    (void)worker;
    const numbered *one = argument;
    return one->run(one->argument, one->number);
}

nl_status nl_pool_run_on_all(nl_pool *pool, nl_task_fn run, void *argument)
{
    uint32_t count = pool->thread_count;
    numbered *all = calloc(count, sizeof *all);
    if (all == NULL)
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", count * sizeof *all),
                        NL_P_INT("receivedBytes", 0));
    nl_task_group *group = nl_task_group_new(pool, NULL);
    for (uint32_t i = 0; i < count; i++) {
        all[i] = (numbered){.run = run, .argument = argument, .number = i};
        nl_task_group_add(group, run_numbered, &all[i]);
    }
    nl_status status = nl_task_group_wait(group);
    free(all);
    return status;
}

typedef struct loop {
    nl_status (*run)(void *argument, uint64_t i);
    void *argument;
    uint64_t count;
    atomic_uint_fast64_t next;
    nl_cancel *cancel; /* borrowed from the group */
} loop;

static nl_status run_loop(void *argument, uint32_t worker)
{
    (void)worker;
    loop *self = argument;
    for (;;) {
        uint64_t i = atomic_fetch_add_explicit(&self->next, 1, memory_order_relaxed);
        if (i >= self->count || nl_cancel_is_set(self->cancel)) return NULL;
        NL_TRY(self->run(self->argument, i));
    }
}

nl_status nl_pool_for(nl_pool *pool, uint64_t count, nl_status (*run)(void *argument, uint64_t i), void *argument)
{
    loop self = {.run = run, .argument = argument, .count = count};
    if (count <= 1 || pool->thread_count == 1) return run_loop(&self, 0); /* no need to wake anybody */
    nl_task_group *group = nl_task_group_new(pool, NULL);
    self.cancel = nl_task_group_cancel(group);
    for (uint64_t i = 0; i < NL_MIN(count, pool->thread_count); i++) nl_task_group_add(group, run_loop, &self);
    return nl_task_group_wait(group);
}
