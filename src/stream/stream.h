/* stream/stream.h - one streaming query: a thread of its own that runs micro-batches until it is told to stop.
 *
 * What touches the session happens where its owner says (nl_stream_host.in_session); everything else on the query's thread.
 * Threads: all functions here may be called from any thread. Texts that they give are in the caller's arena.
 */
#pragma once

#include "command/command.h"
#include "stream/source.h"
#include "stream/state.h"

typedef struct nl_stream_query nl_stream_query; /* counted */
struct nl_ast_query;

typedef enum nl_stream_event { NL_STREAM_STARTED, NL_STREAM_PROGRESS, NL_STREAM_IDLE, NL_STREAM_TERMINATED } nl_stream_event;

typedef struct nl_stream_host nl_stream_host;
struct nl_stream_host {
    /* Runs `run` in the session and waits for it. Fails with what run says, or because the session has ended. */
    nl_status (*in_session)(nl_stream_host *self, nl_cancel *cancel, nl_status (*run)(void *argument, nl_session *session), void *argument);
    /* The DataFrame, made anew in the arena. In the session. */
    nl_status (*make_query)(nl_stream_host *self, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text);
    /* The user's function gets the batch's rows: foreachBatch, foreach. */
    nl_status (*call_function)(nl_stream_host *self, nl_kept_rows *rows, int64_t batch, nl_cancel *cancel);
    /* The console sink's table, by show()'s rules. */
    nl_status (*print)(nl_stream_host *self, nl_kept_rows *rows, int64_t batch, int64_t row_max, bool is_truncated);
    /* Something happened; json is borrowed. Called without locks held, from the query's thread (STARTED: from start's caller). */
    void (*notify)(nl_stream_host *self, nl_stream_query *query, nl_stream_event event, nl_str json);
    void (*free)(nl_stream_host *self);
};

typedef enum nl_stream_sink_kind { NL_SINK_TABLE, NL_SINK_MEMORY, NL_SINK_CONSOLE, NL_SINK_NOOP, NL_SINK_FILES, NL_SINK_FUNCTION } nl_stream_sink_kind;
typedef enum nl_stream_trigger { NL_TRIGGER_PROCESSING_TIME, NL_TRIGGER_ONCE, NL_TRIGGER_AVAILABLE_NOW } nl_stream_trigger;

typedef struct nl_stream_options {
    nl_stream_sink_kind sink;
    nl_str format;                 /* of the sink */
    nl_str path;                   /* FILES */
    nl_str table;                  /* TABLE: its name as written */
    const nl_property *options;
    uint32_t option_count;
    const nl_str *partition_columns;
    uint32_t partition_count;
    nl_output_mode mode;
    nl_stream_trigger trigger;
    int64_t interval_micros;       /* PROCESSING_TIME; 0: at once */
    nl_str name;                   /* empty: none */
    bool is_foreach;               /* FUNCTION: for messages */
} nl_stream_options;

/* Checks the query as Spark does and starts it. In the session. host is taken on success. *query: counted, for the caller. */
NL_MUST_USE nl_status nl_stream_query_start(nl_session *session, nl_stream_host *host, const nl_stream_options *options, nl_stream_query **query);
nl_stream_query *nl_stream_query_retain(nl_stream_query *query);
void nl_stream_query_release(nl_stream_query *query); /* NULL is fine; not from the query's thread for the last one */

const char *nl_stream_query_id(const nl_stream_query *query);
const char *nl_stream_query_run_id(const nl_stream_query *query);
nl_str nl_stream_query_started(const nl_stream_query *query, nl_arena *arena); /* the event of its start, JSON */
nl_str nl_stream_query_name(const nl_stream_query *query); /* empty: none */
bool nl_stream_query_is_active(const nl_stream_query *query);
/* Ends it: what runs is interrupted. Does not wait. */
void nl_stream_query_stop(nl_stream_query *query);
void nl_stream_query_join(nl_stream_query *query); /* waits for the end of its thread; not from that thread */

typedef struct nl_stream_status {
    nl_str message; /* in the arena */
    bool is_data_available, is_trigger_active, is_active;
} nl_stream_status;
void nl_stream_query_status(nl_stream_query *query, nl_arena *arena, nl_stream_status *status);
/* JSON texts, the oldest first; the last one only when is_last. */
void nl_stream_query_progress(nl_stream_query *query, nl_arena *arena, bool is_last, const nl_str **texts, uint32_t *count);
/* How it failed; NULL: it has not. The caller's. */
nl_error *nl_stream_query_failure(nl_stream_query *query);
/* Everything that was there when this was called has been processed, or the query has ended. */
int64_t nl_stream_query_ask(nl_stream_query *query);                  /* a ticket                  */
bool nl_stream_query_has_processed(nl_stream_query *query, int64_t ticket);
nl_str nl_stream_query_explain(nl_stream_query *query, nl_arena *arena, bool is_extended);
