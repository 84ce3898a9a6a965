/* stream/state.h - between a micro-batch and the operators that remember something: the interface of state_*.c.
 *
 * A batch's plan is walked from its leaves. Where an operator over streams needs what came before (AGGREGATE, DISTINCT,
 * deduplication, a JOIN of two streams) its children have become plans over the batch's rows; the operator runs what it needs
 * (nl_state_run), gives its store the new version, and answers a plan over what this batch gives out. That plan is all that
 * the operators above see.
 *
 * A store holds named parts (state_index.h). Version N is what batch N begins with; a batch makes version N+1, which is on disk
 * before the sink is fed. A batch that is repeated begins with N again. A batch costs what it touches: it writes what it has
 * changed; everything is written again only when that has become about as much.
 *
 * On disk: state/<operator>/<part>/<version>.snapshot or .delta: see state_store.c.
 */
#pragma once

#include "exec/exec.h"
#include "plan/plan.h"
#include "stream/checkpoint.h"
#include "exec/kept_rows.h"
#include "stream/state_index.h"

typedef enum nl_output_mode { NL_OUTPUT_APPEND, NL_OUTPUT_UPDATE, NL_OUTPUT_COMPLETE } nl_output_mode;

typedef struct nl_state_store nl_state_store; /* of one operator */

/* What the operators of one batch share. */
typedef struct nl_state_batch {
    nl_plan_context *planning;
    nl_query *query;
    const nl_stream_checkpoint *checkpoint;
    nl_memory *memory;       /* of the query: state stays beyond the batch */
    nl_output_mode mode;
    int64_t version;         /* the batch's number: state begins with this version */
    bool has_watermark;
    int64_t late_micros;     /* rows with an event time up to this come too late       */
    int64_t evict_micros;    /* state with an event time up to this will not change any more */
    nl_state_store **stores; /* by the operator's number, in the order of the walk; kept by the query */
    uint32_t store_count;
    uint32_t next_operator;
    nl_list *counts;         /* nl_state_counts *, for progress */
    nl_arena *counts_arena;
    nl_list made;            /* const nl_table *: rows that operators of this batch have given */
} nl_state_batch;

typedef struct nl_state_counts { /* of one operator in one batch: progress.stateOperators */
    const char *name;        /* "stateStoreSave", "dedupe", "symmetricHashJoin" */
    int64_t total, updated, removed, late;
    uint64_t memory_bytes;
} nl_state_counts;

/* The event time's column in the plan: the one with a watermark (or a window of it); id 0: there is none. */
typedef struct nl_event_time {
    nl_column_id column;
    bool is_window;          /* a struct: its `end` counts */
    int64_t delay_ms;
} nl_event_time;
nl_event_time nl_event_time_of(const nl_logical *plan);
bool nl_column_event_time(const nl_logical *plan, const nl_column *column, nl_event_time *event);
/* "event time <= micros", of a window its end. */
NL_MUST_USE nl_status nl_event_time_is_past(nl_state_batch *batch, const nl_logical *plan, const nl_event_time *event, int64_t micros, const nl_expr **condition);

/* The operator `node`, whose children are done; *result: what it gives out in this batch. */
NL_MUST_USE nl_status nl_state_aggregate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result);
NL_MUST_USE nl_status nl_state_deduplicate(nl_state_batch *batch, const nl_logical *node, const nl_logical **result);
NL_MUST_USE nl_status nl_state_join(nl_state_batch *batch, const nl_logical *node, const nl_logical **result);

NL_MUST_USE nl_status nl_state_limit(nl_state_batch *batch, const nl_logical *node, const nl_logical **result);
/* Is the WINDOW node a step of making sessions? */
bool nl_state_is_session_step(const nl_logical *window);
/* Is the aggregation one by sessions? */
struct nl_state_session;
bool nl_state_session_of(const nl_logical *aggregate, struct nl_state_session *session);
/* Does the watermark ever set rows of that side (0: left) of a join free? */
bool nl_state_join_forgets(nl_arena *arena, const nl_logical *join, uint32_t side);
/* Is the conjunct of a join's condition an equation between the sides? keys: the left one's and the right one's expression. */
bool nl_state_join_key(const nl_expr *conjunct, const nl_logical *left, const nl_logical *right, const nl_expr *keys[2]);

/* ---- stores (state_store.c) ---- */

/* The operator's store. */
NL_MUST_USE nl_status nl_state_store_open(nl_state_batch *batch, const char *name, nl_state_store **store);

typedef struct nl_state_part nl_state_part; /* of a store; borrowed */
/* The part at version batch->version: read from the checkpoint when it is not in memory; empty when the query begins.
 * Fails: NILAS_STREAM_STATE when what is on disk has another row type (the query was changed), is damaged, or is Spark's. */
NL_MUST_USE nl_status nl_state_part_open(nl_state_batch *batch, nl_state_store *store, const char *name, const nl_state_layout *layout, nl_state_part **part);
uint64_t nl_state_part_count(const nl_state_part *part);
uint64_t nl_state_part_bytes(const nl_state_part *part);
/* Rows of the part, `_id` first, then its columns; counted. Those that may have a key of `rows` (its key_columns): hashes are equal. */
NL_MUST_USE nl_status nl_state_find(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows, const uint32_t *key_columns, nl_kept_rows **found);
/* Whose time is not later; all of them. */
NL_MUST_USE nl_status nl_state_past(nl_state_batch *batch, nl_state_part *part, int64_t micros, nl_kept_rows **found);
NL_MUST_USE nl_status nl_state_all(nl_state_batch *batch, nl_state_part *part, nl_kept_rows **found);
/* Adds rows of the part's columns, by position. *added: the same with their `_id`; counted; NULL: nobody asks. */
NL_MUST_USE nl_status nl_state_add(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows, nl_kept_rows **added);
/* Removes the rows whose `_id` is the first column. */
NL_MUST_USE nl_status nl_state_remove(nl_state_batch *batch, nl_state_part *part, nl_kept_rows *rows);
/* Makes the next version of what was added and removed. Written before it returns. */
NL_MUST_USE nl_status nl_state_commit(nl_state_batch *batch, nl_state_part *part);
void nl_state_store_free(nl_state_store *store); /* NULL is fine */

/* Runs a plan (analyzed, not optimized) into new rows. */
NL_MUST_USE nl_status nl_state_run(nl_state_batch *batch, const nl_logical *plan, nl_kept_rows **rows);
/* A scan of rows with columns like those given (ids, names, qualifiers), by position. */
const nl_logical *nl_state_scan(nl_state_batch *batch, nl_kept_rows *rows, const nl_column *columns, uint32_t column_count);
/* Is the table one that nl_state_scan has been given in this batch? */
bool nl_state_is_rows(const nl_state_batch *batch, const nl_table *table);
void nl_state_count(nl_state_batch *batch, const nl_state_counts *counts);
