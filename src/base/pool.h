/* base/pool.h - the only place that starts threads: compute workers (one per core) and I/O threads.
 *
 * Compute tasks never block on the network or disk for long; I/O tasks may. The first failing task's error is the
 * group's error; the others are told to stop.
 */
#pragma once

#include <stdatomic.h>

#include "base/status.h"

typedef struct nl_pool nl_pool;
nl_pool *nl_pool_new(uint32_t thread_count, const char *name); /* owned; threads start at the first task */
void nl_pool_free(nl_pool *pool);                              /* waits for running tasks                */
uint32_t nl_pool_thread_count(const nl_pool *pool);

/* Cancellation: set by Ctrl-C, a failing sibling, or a deadline; asked once per morsel. Counted. */
typedef struct nl_cancel nl_cancel;
nl_cancel *nl_cancel_new(nl_cancel *parent); /* parent counted or NULL; cancelled when the parent is */
nl_cancel *nl_cancel_retain(nl_cancel *cancel);
void nl_cancel_release(nl_cancel *cancel);
void nl_cancel_set(nl_cancel *cancel);       /* async-signal-safe */
bool nl_cancel_is_set(const nl_cancel *cancel); /* NULL: false */
NL_MUST_USE nl_status nl_cancel_check(const nl_cancel *cancel); /* OPERATION_CANCELED when set */

/* A set of tasks that end together. run() is called at most once per task: when a task fails or the cancellation is set,
 * those that have not begun are dropped, so a task's argument belongs to whoever added it. worker is below
 * nl_pool_thread_count and differs between tasks of one group that run at the same time: an index into per-worker state.
 * Tasks of different groups may have the same one. */
typedef nl_status (*nl_task_fn)(void *argument, uint32_t worker);
typedef struct nl_task_group nl_task_group;
nl_task_group *nl_task_group_new(nl_pool *pool, nl_cancel *cancel); /* owned; both borrowed, cancel may be NULL */
void nl_task_group_add(nl_task_group *group, nl_task_fn run, void *argument); /* may be called from inside tasks */
/* The group's own cancellation, a child of the one given: set when a task fails. Long tasks ask it. Borrowed. */
nl_cancel *nl_task_group_cancel(nl_task_group *group);
/* Waits for all; the calling thread helps to run tasks. Frees the group. Returns the first failure, or
 * OPERATION_CANCELED when tasks were dropped. */
NL_MUST_USE nl_status nl_task_group_wait(nl_task_group *group);

/* run(argument, worker) once for each worker 0 … thread_count-1, at the same time as far as threads are free, the caller
 * being one of them. On a busy pool some run after others: they must not wait for each other. */
NL_MUST_USE nl_status nl_pool_run_on_all(nl_pool *pool, nl_task_fn run, void *argument);
/* for (i in 0 … count-1) run(argument, i) in parallel; indices are handed out one by one. */
NL_MUST_USE nl_status nl_pool_for(nl_pool *pool, uint64_t count, nl_status (*run)(void *argument, uint64_t i), void *argument);
