/* exec/exec.h - running a plan: pipelines of operators over morsels, with budget, spilling, cancellation, progress. */
#pragma once

#include "base/pool.h"
#include "plan/logical.h"
#include "session/session.h"
#include "storage/filesystem.h"

/* What observe() has seen; there once the rows have been read to their end. */
typedef struct nl_observation {
    struct nl_observation *next;
    nl_str name;
    int64_t plan_id;
    const nl_str *keys;
    const nl_value *values;
    uint32_t count;
} nl_observation;
typedef struct nl_observations {
    nl_arena *arena;
    nl_observation *first;
} nl_observations;
nl_observation *nl_observations_copy(nl_arena *arena, const nl_observation *first); /* all of them; NULL: none */

/* What one running statement has. Made by command (or a test), borrowed by everything below. */
typedef struct nl_query {
    nl_arena *arena;              /* the plan's                                           */
    nl_memory *memory;            /* the query's budget                                   */
    nl_pool *pool;                /* compute workers                                      */
    nl_fs *files;                 /* of files that belong to no table; borrowed           */
    nl_cancel *cancel;
    const nl_eval_confs *confs;
    nl_str text;                  /* the statement, for query contexts                    */
    nl_str spill_directory;       /* spark.local.dir                                      */
    struct nl_metrics *metrics;   /* per-operator counters for EXPLAIN ANALYZE; or NULL   */
    nl_progress *progress;        /* the session's; or NULL                               */
    nl_observations *observations; /* or NULL: nobody asks                                */
    uint32_t batch_rows;          /* NL_BATCH_ROWS unless a test forces another           */
    int64_t shuffle_partitions;   /* spark.sql.shuffle.partitions: in which order small results of GROUP BY come; 0: the default */
    bool force_spill;             /* a test: every growing operator spills as soon as it can */
} nl_query;

/* Scans tell what they are going to read, and what they have read. */
static inline void nl_query_expects(const nl_query *query, uint64_t files, uint64_t rows)
{
    if (!query->progress) return;
    atomic_fetch_add_explicit(&query->progress->files_total, files, memory_order_relaxed);
    atomic_fetch_add_explicit(&query->progress->rows_total, rows, memory_order_relaxed);
}
static inline void nl_query_has_read(const nl_query *query, uint64_t files, uint64_t bytes, uint64_t rows)
{
    if (!query->progress) return;
    atomic_fetch_add_explicit(&query->progress->files, files, memory_order_relaxed);
    atomic_fetch_add_explicit(&query->progress->bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&query->progress->rows, rows, memory_order_relaxed);
}

/* Runs the plan; the consumer gets compacted batches, from one thread at a time, in the result's order when the root is
 * sorted or limited. It may keep a batch by moving it out. */
typedef struct nl_consumer nl_consumer;
struct nl_consumer {
    nl_status (*consume)(nl_consumer *self, nl_batch *batch);
};
NL_MUST_USE nl_status nl_query_run(nl_query *query, const nl_logical *plan, nl_consumer *consumer);

/* A sink that many workers feed at once (table writers): each worker has a state of its own. */
typedef struct nl_parallel_sink nl_parallel_sink;
struct nl_parallel_sink {
    nl_status (*start)(nl_parallel_sink *self, uint32_t worker_count);
    nl_status (*consume)(nl_parallel_sink *self, uint32_t worker, nl_batch *batch);
    nl_status (*finish_worker)(nl_parallel_sink *self, uint32_t worker); /* in parallel, after the last batch */
};
NL_MUST_USE nl_status nl_query_run_parallel(nl_query *query, const nl_logical *plan, nl_parallel_sink *sink);

/* The same, pulled: runs ahead of the caller by a bounded queue. */
typedef struct nl_stream nl_stream;
NL_MUST_USE nl_status nl_stream_open(nl_query *query, const nl_logical *plan, nl_stream **stream); /* owned */
NL_MUST_USE nl_status nl_stream_next(nl_stream *stream, nl_batch *batch, bool *is_done);
void nl_stream_close(nl_stream *stream); /* cancels what still runs */
