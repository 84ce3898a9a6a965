/* stream/query_private.h - what the files of a query share. Inside the folder. */
#pragma once

#include <pthread.h>

#include "base/calendar.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "stream/stream.h"

#define NL_STREAM_SOURCES_MAX  64u
#define NL_STREAM_RECENT_COUNT 100u /* spark.sql.streaming.numRecentProgressUpdates */

/* A withWatermark of the plan: what the rows of one batch have shown. Many workers look. */
typedef struct nl_stream_seen {
    int64_t delay_ms;
    atomic_int_fast64_t max_micros, min_micros, count, sum_ms;
    bool has_watermark;    /* of the query's thread: some batch had rows */
    int64_t watermark_ms;
} nl_stream_seen;

typedef struct nl_stream_leaf { /* a stream of the plan */
    nl_stream_source *source;   /* owned */
    char *committed, *available; /* owned offsets; NULL: none */
    atomic_int_fast64_t read_count;
    int64_t row_count;          /* of the batch; -1: read_count tells */
    const nl_table *table;      /* of the batch; counted; NULL: none */
} nl_stream_leaf;

/* How long the steps of one trigger took. */
typedef struct nl_stream_times {
    int64_t begin_micros;       /* wall clock */
    int64_t started, ended;     /* monotonic */
    int64_t latest_offset, get_batch, planning, wal_commit, add_batch, commit_offsets; /* microseconds; -1: not done */
} nl_stream_times;

struct nl_stream_query {
    atomic_int references;
    nl_arena *arena;            /* owned: options, names */
    nl_stream_host *host;       /* owned */
    nl_stream_options options;
    char run_id[NL_UUID_TEXT_LENGTH + 1];
    nl_memory *memory;          /* counted */
    nl_pool *workers;           /* of the engine; borrowed */
    nl_str spill_directory;
    nl_fs *files;               /* counted */
    const nl_timezone *zone;
    nl_stream_checkpoint *checkpoint; /* owned */
    const nl_type *row_type;    /* of what goes to the sink; in the arena */
    nl_kept_rows *memory_rows; /* MEMORY: what its view shows; counted */
    const nl_property *confs;   /* that the offset log keeps */
    uint32_t conf_count;
    bool is_no_data_batch_enabled;
    bool is_watermark_max;      /* multipleWatermarkPolicy of the first batch */
    /* The thread's. */
    nl_pool *thread;            /* owned: one thread */
    nl_task_group *group;
    nl_stream_leaf leaves[NL_STREAM_SOURCES_MAX];
    uint32_t leaf_count;
    nl_stream_seen seen[NL_STREAM_SOURCES_MAX];
    uint32_t seen_count;
    nl_state_store *stores[NL_STREAM_SOURCES_MAX]; /* owned */
    uint32_t operator_count;    /* stateful ones */
    bool may_evict;             /* a batch without rows may give something out when the watermark moves */
    int64_t batch;              /* the next one, or the one that runs */
    bool is_planned;            /* its offsets are written already */
    int64_t watermark_ms, late_ms; /* of the batch; of the one before */
    int64_t timestamp_ms;
    int64_t next_watermark_ms;
    nl_progress progress;       /* of the batch's statement */
    int64_t output_rows;        /* of the last batch; -1: unknown */
    int64_t last_trigger_micros, last_report_micros; /* monotonic; 0: never */
    nl_stream_times times;
    const char *plan_text;      /* of the last batch; owned; guarded by mutex */
    nl_cancel *cancel;          /* counted: the whole query's */
    nl_mutex mutex;
    pthread_cond_t wake;
    /* guarded by mutex */
    char *message;
    bool is_data_available, is_trigger_active, is_active, is_stopping, is_joined;
    nl_error *failure;          /* owned */
    char *recent[NL_STREAM_RECENT_COUNT]; /* JSON texts; a ring */
    uint32_t recent_next, recent_count;
    int64_t tickets, processed; /* asked for; up to which one everything was processed */
    nl_arena *counts_arena;     /* owned: state_counts */
    nl_list state_counts;       /* nl_state_counts * of the last batch */
};

/* microbatch.c */
/* Analyzes the query once: checks it, finds its streams and their sources, its columns. In the session. */
NL_MUST_USE nl_status nl_stream_plan_query(nl_stream_query *query, nl_session *session);
/* Runs the present batch into its sink. */
NL_MUST_USE nl_status nl_stream_run_batch(nl_stream_query *query);

/* sink.c */
NL_MUST_USE nl_status nl_stream_sink_prepare(nl_stream_query *query, nl_session *session);
/* The rows of a batch that no statement has written: taken from the result until it is done. */
NL_MUST_USE nl_status nl_stream_sink_take(nl_stream_query *query, nl_result *result);
void nl_stream_sink_describe(const nl_stream_query *query, nl_builder *out);
/* FILES: the folder that a batch is written into before its files count. */
nl_str nl_stream_sink_staging(const nl_stream_query *query, nl_arena *arena);
NL_MUST_USE nl_status nl_stream_sink_publish(nl_stream_query *query);

/* progress.c */
void nl_stream_append_progress(nl_stream_query *query, bool has_run, nl_builder *out);
void nl_stream_append_time(int64_t micros, nl_builder *out); /* "2026-11-30T18:05:00.543Z" */
void nl_stream_report(nl_stream_query *query, bool has_run);

/* check.c */
/* Raises what Spark refuses. plan: as analyzed. */
NL_MUST_USE nl_status nl_stream_check(const nl_logical *plan, nl_output_mode mode, nl_session *session);

int64_t nl_stream_clock(void); /* monotonic microseconds */
void nl_stream_set_message(nl_stream_query *query, const char *message);
const char *nl_output_mode_name(nl_output_mode mode); /* "append" */
nl_str nl_stream_sink_option(const nl_stream_query *query, const char *key);
