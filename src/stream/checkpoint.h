/* stream/checkpoint.h - the folder that a query continues from: Spark's own files and folders.
 *
 *   metadata      {"id":"…"}                 offsets/N   v1, a line of what holds for the batch, a line per source
 *   commits/N     v1, {"nextBatchWatermarkMs":…}          sources/S/… what each source keeps       state/… see state.h
 *
 * A log's file is written once: whoever finds it there has lost against another query on the same folder.
 */
#pragma once

#include "base/json.h"
#include "storage/filesystem.h"

typedef struct nl_stream_checkpoint {
    nl_arena *arena;  /* owned */
    nl_fs *fs;        /* counted */
    nl_str path;      /* without a slash at its end */
    bool is_temporary; /* removed with the query */
    char id[40];      /* of the query: made with the folder */
} nl_stream_checkpoint;

/* Makes the folder or reads what is there. fs is retained. */
NL_MUST_USE nl_status nl_stream_checkpoint_open(nl_fs *fs, nl_str path, bool is_temporary, nl_stream_checkpoint **checkpoint);
void nl_stream_checkpoint_close(nl_stream_checkpoint *checkpoint); /* NULL is fine */
nl_str nl_stream_checkpoint_path(const nl_stream_checkpoint *checkpoint, nl_arena *arena, const char *folder, nl_str name);

typedef struct nl_stream_offsets {
    int64_t watermark_ms, timestamp_ms;
    const nl_property *confs; /* that a continued query keeps */
    uint32_t conf_count;
    const nl_str *offsets;    /* per source; empty: none yet ("-") */
    uint32_t offset_count;
} nl_stream_offsets;

#define NL_STREAM_NO_BATCH (-1)
/* The newest batch in a log ("offsets", "commits", "sources/0" …), or NL_STREAM_NO_BATCH. N.compact counts as N. */
NL_MUST_USE nl_status nl_stream_log_latest(const nl_stream_checkpoint *checkpoint, const char *log, int64_t *batch);
/* CONCURRENT_STREAM_LOG_UPDATE when it is there already. */
NL_MUST_USE nl_status nl_stream_log_add(const nl_stream_checkpoint *checkpoint, const char *log, nl_str name, nl_str text);
/* The text behind "v1\n"; *is_found false: there is no such file. */
NL_MUST_USE nl_status nl_stream_log_read(const nl_stream_checkpoint *checkpoint, const char *log, nl_str name, nl_arena *arena, nl_str *text, bool *is_found);
/* Forgets what is older than the batch. */
NL_MUST_USE nl_status nl_stream_log_purge(const nl_stream_checkpoint *checkpoint, const char *log, int64_t before);

NL_MUST_USE nl_status nl_stream_offsets_write(const nl_stream_checkpoint *checkpoint, int64_t batch, const nl_stream_offsets *offsets);
NL_MUST_USE nl_status nl_stream_offsets_read(const nl_stream_checkpoint *checkpoint, int64_t batch, nl_arena *arena, nl_stream_offsets *offsets);
NL_MUST_USE nl_status nl_stream_commit_write(const nl_stream_checkpoint *checkpoint, int64_t batch, int64_t next_watermark_ms);
NL_MUST_USE nl_status nl_stream_commit_read(const nl_stream_checkpoint *checkpoint, int64_t batch, int64_t *next_watermark_ms);
