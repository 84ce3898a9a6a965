/* exec/engine.h - pipelines: a source of batches and a chain of operators, run by all workers at once.
 *
 * Building (one thread) turns a plan into pipelines in the order they must run: a breaker (sort, aggregate, join build)
 * ends one and is the source of a later one. Running: each worker takes batches from the source and pushes them
 * through the chain; every operator keeps a state per worker. Batches carry an order: the worker's current morsel, a
 * number that grows along the source, so that collectors can give rows back in the source's order.
 */
#pragma once

#include "base/lock.h"
#include "exec/exec.h"
#include "exec/expression.h"
#include "exec/metrics.h"
#include "exec/scan.h"

#define NL_INPUT_SHIFT 40 /* morsel numbers of a pipeline's later inputs follow those of its earlier ones */

typedef struct nl_exec nl_exec;
typedef struct nl_pipeline nl_pipeline;
typedef struct nl_operator nl_operator;
typedef struct nl_source nl_source;

/* One worker's way through one pipeline. */
typedef struct nl_worker {
    nl_exec *exec;
    nl_pipeline *pipeline;
    uint32_t index;
    uint32_t input;       /* which of the pipeline's inputs it reads   */
    uint64_t morsel;      /* of the current batch                      */
    atomic_uint_fast64_t floor; /* it brings no earlier morsel any more; UINT64_MAX before it starts and when it has ended */
    bool is_stopped;      /* its rows are enough (limit)               */
    bool is_finished;     /* finish_worker has been called             */
    nl_metric *metric;    /* whose time is being measured; or NULL     */
    uint64_t since;       /* nanoseconds                               */
} nl_worker;

typedef struct nl_operator_ops {
    const char *name;
    nl_status (*start)(nl_operator *self);  /* alone, before the pipeline runs; or NULL */
    /* batch is the operator's to change, to move out of, and to hand on; whoever called ends it. Never empty. */
    nl_status (*push)(nl_operator *self, nl_worker *worker, nl_batch *batch);
    nl_status (*finish_worker)(nl_operator *self, nl_worker *worker); /* after the worker's last batch; may push on; or NULL */
    nl_status (*finish)(nl_operator *self); /* alone, after all workers; or NULL */
    void (*free)(nl_operator *self);        /* or NULL; the struct itself is in the arena */
} nl_operator_ops;

struct nl_operator { /* first member of every kind */
    const nl_operator_ops *ops;
    nl_operator *next;
    nl_exec *exec;
    nl_pipeline *pipeline;
    nl_metric *metric; /* or NULL */
};

typedef struct nl_source_ops {
    const char *name;
    nl_status (*start)(nl_source *self); /* alone; or NULL */
    /* Fills batch (zeroed on entry; an empty one is passed over) and *morsel, which never goes down for one worker. */
    nl_status (*next)(nl_source *self, nl_worker *worker, nl_batch *batch, uint64_t *morsel, bool *is_done);
    void (*free)(nl_source *self);
} nl_source_ops;

struct nl_source { /* first member of every kind */
    const nl_source_ops *ops;
    nl_exec *exec;
    nl_metric *metric;
    bool is_serial; /* only worker 0 reads it; start may set it */
};

typedef struct nl_input {
    nl_source *source;
    nl_operator *head;  /* NULL until an operator follows */
    bool has_started;
    bool is_late;       /* read only when all workers are done with the inputs before it */
} nl_input;

struct nl_pipeline {
    nl_exec *exec;
    nl_list inputs;    /* nl_input *  */
    nl_list operators; /* nl_operator *, upstream first */
    nl_operator *tail; /* NULL: heads are open */
    nl_worker *workers;
    uint32_t group_start; /* first input that not all workers have read to its end */
    bool is_serial;    /* nondeterministic expressions: one worker, so that results can be repeated */
    bool has_started, has_run;
    atomic_bool is_stopped; /* enough rows */
    atomic_bool has_failed;
    atomic_bool is_paused;  /* a stream's queue is full: workers return and are called again */
};

/* Ids of columns, one bit each (wanted.c). NULL: all. */
typedef struct nl_wanted {
    uint64_t *words;
    uint32_t word_count;
} nl_wanted;
static inline bool nl_is_wanted(const nl_wanted *wanted, nl_column_id id)
{
    return !wanted || (id / 64 < wanted->word_count && (wanted->words[id / 64] >> (id % 64) & 1));
}

struct nl_exec {
    nl_query *query;
    nl_exec *parent;      /* of a subquery; or NULL */
    nl_arena *arena;      /* only the building thread allocates here */
    uint32_t worker_count;
    nl_list pipelines;    /* in running order */
    nl_list operators;    /* all, for free */
    nl_list sources;
    nl_list *ctes;        /* shared with subqueries; nl_cte * */
    nl_list *filters;     /* runtime filters found so far: nl_filter_note * */
    nl_list own_ctes, own_filters;
    const nl_wanted *wanted; /* of the node that is built next; nl_build takes it */
    atomic_size_t *held;  /* bytes that operators are about to take; shared with subqueries */
    atomic_size_t own_held;
};

/* A runtime filter for a scan that may not have been opened yet. */
typedef struct nl_filter_note {
    const nl_logical *scan;
    nl_runtime_filter filter;
} nl_filter_note;

/* engine.c */
void nl_exec_init(nl_exec *exec, nl_query *query, nl_exec *parent);
void nl_exec_fini(nl_exec *exec);
NL_MUST_USE nl_status nl_exec_run(nl_exec *exec); /* all pipelines that have not run */
NL_MUST_USE nl_status nl_pipeline_run(nl_pipeline *pipeline); /* until it ends or is paused (has_run tells) */
nl_pipeline *nl_pipeline_new(nl_exec *exec, nl_source *source);
void nl_pipeline_append(nl_pipeline *pipeline, nl_operator *operator);
void nl_pipeline_add_late(nl_pipeline *pipeline, nl_source *source, nl_operator *head); /* head: an operator of it, or its tail's successor */
void nl_operator_init(nl_operator *operator, const nl_operator_ops *ops, nl_exec *exec, const nl_logical *node, const char *part);
void nl_source_init(nl_source *source, const nl_source_ops *ops, nl_exec *exec, const nl_logical *node, const char *part);
/* For sources that push from inside next: what follows comes from this morsel. */
static inline void nl_worker_at(nl_worker *worker, uint64_t morsel)
{
    worker->morsel = ((uint64_t)worker->input << NL_INPUT_SHIFT) + morsel;
    atomic_store(&worker->floor, worker->morsel);
}
/* Hands a batch to an operator: counts it, skips empty ones and those after a stop. NULL operator: dropped. */
NL_MUST_USE nl_status nl_push(nl_operator *operator, nl_worker *worker, nl_batch *batch);

/* May an operator that can spill take `bytes` more? A quarter of the budget is left to kernels and batches. */
bool nl_exec_may_grow(const nl_exec *exec, size_t bytes);
/* The same, and others are told until nl_exec_unhold: workers that grow at once do not overrun the budget together. */
bool nl_exec_hold(nl_exec *exec, size_t bytes);
void nl_exec_unhold(nl_exec *exec, size_t bytes);
static inline uint32_t nl_exec_batch_rows(const nl_exec *exec)
{
    return exec->query->batch_rows ? exec->query->batch_rows : 2048;
}
void nl_metric_add_spilled(nl_metric *metric, uint64_t bytes);
/* One worker holds `bytes` now; *peak is its own, zero at first. The metric is the sum of the workers' peaks. */
void nl_metric_note_memory(nl_metric *metric, uint64_t *peak, uint64_t bytes);
NL_MUST_USE nl_status nl_out_of_memory(size_t bytes);
/* Rows start … start+count of a batch's live rows, columns shared. */
NL_MUST_USE nl_status nl_batch_slice(const nl_batch *batch, uint32_t start, uint32_t count, nl_memory *memory, nl_batch *out);

/* Of a PROJECT's, AGGREGATE's, FILTER's or JOIN's children: what it and those above it read; NULL for other nodes. */
const nl_wanted *nl_wanted_below(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted); /* wanted.c */
/* build.c: the open pipeline that gives the node's rows. */
NL_MUST_USE nl_status nl_build(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
/* The same for a reader that looks at some columns only: the others may come as nulls. */
NL_MUST_USE nl_status nl_build_wanted(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted, nl_pipeline **pipeline);
void nl_exec_add_pipeline(nl_exec *exec, nl_pipeline *pipeline); /* it is complete: to be run in this order */
/* Runs uncorrelated scalar subqueries inside and puts their values in their place. */
NL_MUST_USE nl_status nl_resolve_subqueries(nl_exec *exec, const nl_expr *expr, const nl_expr **resolved);
NL_MUST_USE nl_status nl_exec_run_nested(nl_exec *parent, const nl_logical *plan, nl_consumer *consumer); /* run.c: a subquery */
const nl_type **nl_column_types(nl_arena *arena, const nl_column *columns, uint32_t count);
static inline nl_metric *nl_exec_metric(nl_exec *exec, const nl_logical *node, const char *part)
{
    return exec->query->metrics ? nl_metrics_add(exec->query->metrics, node, part) : NULL;
}
/* Keys are compared byte by byte: a string with a collation is refused rather than compared wrongly. what: "Grouping by". */
NL_MUST_USE nl_status nl_check_bytewise(const nl_expr *expr, const char *what, nl_str text);
/* Expression programs with a state per worker, made when the worker first needs it. */
typedef struct nl_programs {
    nl_exec *exec;
    nl_program *program;
    nl_program_state **states;
} nl_programs;
NL_MUST_USE nl_status nl_programs_init(nl_programs *programs, nl_exec *exec, const nl_expr *const *exprs, uint32_t count,
                                       const nl_column *columns, uint32_t column_count);
NL_MUST_USE nl_status nl_programs_init_filter(nl_programs *programs, nl_exec *exec, const nl_expr *condition,
                                              const nl_column *columns, uint32_t column_count);
NL_MUST_USE nl_status nl_programs_run(nl_programs *programs, uint32_t worker, const nl_batch *batch, nl_vector *outputs);
NL_MUST_USE nl_status nl_programs_filter(nl_programs *programs, uint32_t worker, nl_batch *batch);
void nl_programs_fini(nl_programs *programs);

/* Operators and sources; each appends itself to, or makes, a pipeline. */
NL_MUST_USE nl_status nl_build_scan(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);      /* source.c */
NL_MUST_USE nl_status nl_build_values(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_range(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_empty(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_append_filter(nl_pipeline *pipeline, const nl_logical *node);                   /* streaming.c */
NL_MUST_USE nl_status nl_append_project(nl_pipeline *pipeline, const nl_logical *node);
NL_MUST_USE nl_status nl_append_observe(nl_pipeline *pipeline, const nl_logical *node);                  /* observe.c */
NL_MUST_USE nl_status nl_append_sample(nl_pipeline *pipeline, const nl_logical *node);
NL_MUST_USE nl_status nl_append_generate(nl_pipeline *pipeline, const nl_logical *node);
NL_MUST_USE nl_status nl_build_union(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_aggregate(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline); /* aggregate.c */
NL_MUST_USE nl_status nl_build_distinct(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_join(nl_exec *exec, const nl_logical *node, const nl_wanted *wanted, nl_pipeline **pipeline);      /* join.c */
/* keep: only the first `keep` rows of the order are wanted; INT64_MAX: all. */
NL_MUST_USE nl_status nl_build_sort(nl_exec *exec, const nl_logical *node, int64_t keep, nl_pipeline **pipeline); /* sort.c */
NL_MUST_USE nl_status nl_build_window(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);    /* window.c */
NL_MUST_USE nl_status nl_build_limit(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);     /* materialise.c */
NL_MUST_USE nl_status nl_build_single_row(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_python(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);    /* python/operator.c */
NL_MUST_USE nl_status nl_build_cte(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
NL_MUST_USE nl_status nl_build_cte_reference(nl_exec *exec, const nl_logical *node, nl_pipeline **pipeline);
