/* stream/query.c - a query's life: its start, its thread, what is new, what is written down before and after each batch. */
#include "stream/query_private.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crash.h"
#include "base/log.h"
#include "exec/source/plain_files.h"

#define POLL_MICROS_MIN   10000ll
#define POLL_MICROS_MAX   200000ll /* between looks when nothing comes */
#define IDLE_MICROS       10000000ll
#define MULTIPLE_WATERMARKS "spark.sql.streaming.multipleWatermarkPolicy"
#define LOG_ENTRIES_KEPT  100     /* spark.sql.streaming.minBatchesToRetain */

int64_t nl_stream_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

const char *nl_output_mode_name(nl_output_mode mode)
{
    return mode == NL_OUTPUT_APPEND ? "append" : mode == NL_OUTPUT_UPDATE ? "update" : "complete";
}

void nl_stream_set_message(nl_stream_query *query, const char *message)
{
    char *copy = strdup(message);
    nl_mutex_lock(&query->mutex);
    free(query->message);
    query->message = copy;
    nl_mutex_unlock(&query->mutex);
}

static bool is_stopping(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    const bool answer = query->is_stopping;
    nl_mutex_unlock(&query->mutex);
    return answer;
}

/* ---- where a checkpoint left off ---- */

static nl_status take_offsets(nl_stream_query *query, const nl_stream_offsets *offsets, bool is_committed)
{
    if (offsets->offset_count != query->leaf_count)
        return NL_RAISE_TEXT(NILAS_STREAM_STATE,
                             "There are [%u] sources in the checkpoint offsets and now there are [%u] sources requested by the query. Cannot continue.", offsets->offset_count,
                             query->leaf_count);
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        char **into = is_committed ? &leaf->committed : &leaf->available;
        free(*into);
        *into = offsets->offsets[i].length ? strndup(offsets->offsets[i].data, offsets->offsets[i].length) : NULL;
    }
    return NULL;
}

static void copy_offsets(nl_stream_query *query, bool is_back)
{
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        char **into = is_back ? &leaf->available : &leaf->committed;
        const char *from = is_back ? leaf->committed : leaf->available;
        free(*into);
        *into = from ? strdup(from) : NULL;
    }
}

/* What held in the first batch holds for the query: confs of the session count for a new checkpoint only. Those that Spark has
 * written and nilas has no use for are handed on. */
static nl_status keep_confs(nl_stream_query *query, const nl_stream_offsets *offsets)
{
    nl_property *confs = NL_NEW_ARRAY(query->arena, nl_property, (size_t)query->conf_count + offsets->conf_count + 1);
    uint32_t count = 0;
    for (; count < offsets->conf_count; count++) confs[count] = (nl_property){nl_arena_str(query->arena, offsets->confs[count].key), nl_arena_str(query->arena, offsets->confs[count].value)};
    for (uint32_t i = 0; i < query->conf_count; i++) {
        uint32_t k = 0;
        while (k < offsets->conf_count && !nl_str_equal(confs[k].key, query->confs[i].key)) k++;
        if (k == offsets->conf_count) confs[count++] = query->confs[i];
    }
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(confs[i].key, MULTIPLE_WATERMARKS)) query->is_watermark_max = nl_str_is_nocase(confs[i].value, "max");
    query->confs = confs;
    query->conf_count = count;
    return nl_arena_check(query->arena);
}

/* The newest offsets say which batch was begun, the newest commit which one was ended. */
static nl_status recover_in(nl_stream_query *query, nl_arena *scratch)
{
    int64_t begun, ended;
    nl_stream_offsets offsets;
    NL_TRY(nl_stream_log_latest(query->checkpoint, "offsets", &begun));
    NL_TRY(nl_stream_log_latest(query->checkpoint, "commits", &ended));
    query->batch = begun == NL_STREAM_NO_BATCH ? 0 : begun;
    if (begun == NL_STREAM_NO_BATCH) return NULL;
    NL_TRY(nl_stream_offsets_read(query->checkpoint, begun, scratch, &offsets));
    query->watermark_ms = query->next_watermark_ms = query->late_ms = offsets.watermark_ms;
    query->timestamp_ms = offsets.timestamp_ms;
    NL_TRY(keep_confs(query, &offsets));
    NL_TRY(take_offsets(query, &offsets, false));
    if (ended == begun) {
        copy_offsets(query, false);
        query->batch = begun + 1;
        NL_TRY(nl_stream_commit_read(query->checkpoint, ended, &query->next_watermark_ms));
        query->next_watermark_ms = NL_MAX(query->next_watermark_ms, query->watermark_ms);
        return NULL;
    }
    query->is_planned = true;
    if (begun == 0) return NULL;
    NL_TRY(nl_stream_offsets_read(query->checkpoint, begun - 1, scratch, &offsets));
    query->late_ms = offsets.watermark_ms;
    return take_offsets(query, &offsets, true);
}

static nl_status recover(nl_stream_query *query)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_status status = recover_in(query, scratch);
    nl_arena_free(scratch);
    /* Each withWatermark of the plan begins where the whole stood. */
    for (uint32_t i = 0; i < query->seen_count; i++) {
        query->seen[i].watermark_ms = query->next_watermark_ms;
        query->seen[i].has_watermark = query->next_watermark_ms > 0;
    }
    return status;
}

/* ---- what is new ---- */

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static nl_status look(nl_stream_query *query, bool is_limited, bool *is_new)
{
    *is_new = false;
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        nl_arena *scratch = nl_arena_new(NULL);
        nl_str end = {0};
        nl_status status = leaf->source->ops->latest(leaf->source, scratch, nl_str_from(leaf->committed ? leaf->committed : ""), is_limited, &end);
        free(leaf->available);
        leaf->available = !status && end.length ? strndup(end.data, end.length) : leaf->committed ? strdup(leaf->committed) : NULL;
        nl_arena_free(scratch);
        NL_TRY(status);
        *is_new = *is_new || !same_text(leaf->available, leaf->committed);
    }
    return NULL;
}

static nl_status write_offsets(nl_stream_query *query)
{
    nl_arena *scratch = nl_arena_new(NULL);
    nl_str *offsets = NL_NEW_ARRAY(scratch, nl_str, query->leaf_count + 1);
    for (uint32_t i = 0; i < query->leaf_count; i++) offsets[i] = nl_str_from(query->leaves[i].available ? query->leaves[i].available : "");
    const nl_stream_offsets line = {.watermark_ms = query->watermark_ms,
                                    .timestamp_ms = query->timestamp_ms,
                                    .confs = query->confs,
                                    .conf_count = query->conf_count,
                                    .offsets = offsets,
                                    .offset_count = query->leaf_count};
    nl_status status = nl_stream_offsets_write(query->checkpoint, query->batch, &line);
    nl_arena_free(scratch);
    return status;
}

/* Decides on the next batch: *is_there when it is worth running. */
static nl_status plan_batch(nl_stream_query *query, bool is_limited, bool may_be_empty, bool *is_there)
{
    const int64_t started = nl_stream_clock();
    bool is_new = false;
    *is_there = query->is_planned;
    if (query->is_planned) return NULL;
    nl_stream_set_message(query, "Getting offsets from the sources");
    NL_TRY(look(query, is_limited, &is_new));
    query->times.latest_offset = nl_stream_clock() - started;
    nl_mutex_lock(&query->mutex);
    query->is_data_available = is_new;
    nl_mutex_unlock(&query->mutex);
    const bool moves = may_be_empty && query->is_no_data_batch_enabled && query->may_evict && query->batch > 0 && query->next_watermark_ms > query->watermark_ms;
    *is_there = is_new || moves;
    if (!*is_there) return NULL;
    query->late_ms = query->watermark_ms;
    query->watermark_ms = query->next_watermark_ms;
    query->timestamp_ms = nl_now_micros() / 1000;
    const int64_t writing = nl_stream_clock();
    nl_stream_set_message(query, "Writing offsets to log");
    NL_CRASH_POINT("stream.planned");
    NL_TRY(write_offsets(query));
    NL_CRASH_POINT("stream.offsets");
    query->times.wal_commit = nl_stream_clock() - writing;
    query->is_planned = true;
    return NULL;
}

/* ---- the end of a batch ---- */

static void advance_watermark(nl_stream_query *query)
{
    int64_t chosen = query->is_watermark_max ? INT64_MIN : INT64_MAX;
    for (uint32_t i = 0; i < query->seen_count; i++) {
        nl_stream_seen *seen = &query->seen[i];
        if (atomic_load(&seen->count) > 0) {
            const int64_t reached = nl_floor_div(atomic_load(&seen->max_micros), 1000) - seen->delay_ms;
            seen->watermark_ms = seen->has_watermark ? NL_MAX(seen->watermark_ms, reached) : reached;
            seen->has_watermark = true;
        }
        const int64_t reached = seen->has_watermark ? seen->watermark_ms : 0;
        chosen = query->is_watermark_max ? NL_MAX(chosen, reached) : NL_MIN(chosen, reached);
    }
    if (query->seen_count && chosen > query->next_watermark_ms) query->next_watermark_ms = chosen;
}

static nl_status end_batch(nl_stream_query *query)
{
    const int64_t started = nl_stream_clock();
    advance_watermark(query);
    NL_TRY(nl_stream_commit_write(query->checkpoint, query->batch, query->next_watermark_ms));
    query->times.commit_offsets = nl_stream_clock() - started;
    return NULL;
}

/* What the batch was is forgotten: the next one begins where it ended. */
static nl_status leave_batch(nl_stream_query *query)
{
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        if (leaf->source->ops->commit && leaf->available) NL_TRY(leaf->source->ops->commit(leaf->source, nl_str_from(leaf->available)));
    }
    copy_offsets(query, false);
    query->is_planned = false;
    query->batch++;
    if (query->batch % 10 == 0 && query->batch > LOG_ENTRIES_KEPT) {
        NL_TRY(nl_stream_log_purge(query->checkpoint, "offsets", query->batch - LOG_ENTRIES_KEPT));
        NL_TRY(nl_stream_log_purge(query->checkpoint, "commits", query->batch - LOG_ENTRIES_KEPT));
    }
    return NULL;
}

static void begin_trigger(nl_stream_query *query)
{
    query->times = (nl_stream_times){.begin_micros = nl_now_micros(), .started = nl_stream_clock(), .latest_offset = -1, .get_batch = -1, .planning = -1, .wal_commit = -1, .add_batch = -1, .commit_offsets = -1};
    nl_mutex_lock(&query->mutex);
    query->is_trigger_active = true;
    nl_mutex_unlock(&query->mutex);
}

static void end_trigger(nl_stream_query *query, bool has_run)
{
    query->times.ended = nl_stream_clock();
    nl_mutex_lock(&query->mutex);
    query->is_trigger_active = false;
    nl_mutex_unlock(&query->mutex);
    const bool is_due = !query->last_report_micros || query->times.ended - query->last_report_micros >= IDLE_MICROS;
    if (has_run || is_due) {
        query->last_report_micros = query->times.ended;
        nl_stream_report(query, has_run);
    }
    query->last_trigger_micros = query->times.started;
}

/* One trigger. *has_run: there was a batch. */
static nl_status run_trigger(nl_stream_query *query, bool is_limited, bool may_be_empty, bool *has_run)
{
    begin_trigger(query);
    nl_status status = plan_batch(query, is_limited, may_be_empty, has_run);
    if (!status && *has_run) {
        nl_stream_set_message(query, "Processing new data");
        status = nl_stream_run_batch(query);
        NL_CRASH_POINT("stream.written");
        if (!status) status = end_batch(query);
        NL_CRASH_POINT("stream.committed");
    }
    if (!status) {
        end_trigger(query, *has_run);
        if (*has_run) status = leave_batch(query);
        if (!*has_run) nl_stream_set_message(query, "Waiting for data to arrive");
    }
    return status;
}

/* ---- the thread ---- */

/* Waits at most so long, or until somebody asks or stops. */
static void wait_for(nl_stream_query *query, int64_t micros)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const int64_t nanos = until.tv_nsec + micros % 1000000 * 1000;
    until.tv_sec += micros / 1000000 + nanos / 1000000000;
    until.tv_nsec = nanos % 1000000000;
    nl_mutex_lock(&query->mutex);
    if (!query->is_stopping) pthread_cond_timedwait(&query->wake, &query->mutex, &until);
    nl_mutex_unlock(&query->mutex);
}

/* Nothing was there: those who asked before this trigger began have their answer. */
static void note_processed(nl_stream_query *query, int64_t ticket)
{
    nl_mutex_lock(&query->mutex);
    query->processed = NL_MAX(query->processed, ticket);
    nl_mutex_unlock(&query->mutex);
    query->host->notify(query->host, query, NL_STREAM_IDLE, (nl_str){0});
}

static int64_t present_ticket(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    const int64_t ticket = query->tickets;
    nl_mutex_unlock(&query->mutex);
    return ticket;
}

static nl_status run_for_ever(nl_stream_query *query)
{
    int64_t pause = POLL_MICROS_MIN;
    const int64_t interval = query->options.interval_micros;
    while (!is_stopping(query)) {
        const int64_t ticket = present_ticket(query);
        bool has_run = false;
        NL_TRY(run_trigger(query, true, true, &has_run));
        if (!has_run && ticket > query->processed) note_processed(query, ticket);
        if (interval > 0) {
            const int64_t now = nl_now_micros();
            const int64_t next = (query->times.begin_micros / interval + 1) * interval;
            if (next > now) wait_for(query, next - now);
            continue;
        }
        pause = has_run ? POLL_MICROS_MIN : NL_MIN(pause * 2, POLL_MICROS_MAX);
        if (!has_run) wait_for(query, pause);
    }
    return NULL;
}

/* What was there when the query began, in as many batches as the limits want, and what the watermark sets free at the end. */
static nl_status run_available(nl_stream_query *query)
{
    for (uint32_t i = 0; i < query->leaf_count; i++) NL_TRY(query->leaves[i].source->ops->freeze(query->leaves[i].source));
    for (bool has_run = true; has_run && !is_stopping(query);) NL_TRY(run_trigger(query, true, true, &has_run));
    return NULL;
}

static nl_status run_once(nl_stream_query *query)
{
    bool has_run = false;
    return run_trigger(query, false, false, &has_run);
}

static nl_status run_all(nl_stream_query *query)
{
    switch (query->options.trigger) {
    case NL_TRIGGER_ONCE: return run_once(query);
    case NL_TRIGGER_AVAILABLE_NOW: return run_available(query);
    case NL_TRIGGER_PROCESSING_TIME:
    default: return run_for_ever(query);
    }
}

/* The failure as awaitTermination raises it; takes status. */
static nl_error *failure_of(nl_stream_query *query, nl_status status)
{
    if (!status) return NULL;
    nl_error *failure = NL_RAISE(STREAM_FAILED, NL_P("id", query->checkpoint->id), NL_P("runId", query->run_id), NL_P("message", nl_error_message(status)));
    nl_error_free(status);
    return failure;
}

static void append_terminated(nl_stream_query *query, nl_error *failure, nl_str condition, nl_builder *out)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "id");
    nl_json_write_text(&writer, nl_str_from(query->checkpoint->id));
    nl_json_key(&writer, "runId");
    nl_json_write_text(&writer, nl_str_from(query->run_id));
    nl_json_key(&writer, "exception");
    if (failure)
        nl_json_write_text(&writer, nl_str_from(nl_error_message(failure)));
    else
        nl_json_write_null(&writer);
    nl_json_key(&writer, "errorClassOnException");
    if (failure && condition.length)
        nl_json_write_text(&writer, condition);
    else
        nl_json_write_null(&writer);
    nl_json_end(&writer, '}');
}

static void finish(nl_stream_query *query, nl_status status)
{
    nl_builder json, message;
    const nl_str condition = status ? nl_str_from(nl_condition_name(nl_error_condition(status))) : (nl_str){0};
    nl_builder_init(&message, SIZE_MAX);
    if (status)
        nl_append_f(&message, "Terminated with exception: %s", nl_error_message(status));
    else
        nl_append_c(&message, "Stopped");
    nl_stream_set_message(query, nl_builder_c(&message));
    nl_builder_fini(&message);
    nl_error *failure = failure_of(query, status);
    nl_builder_init(&json, SIZE_MAX);
    append_terminated(query, failure, condition, &json);
    nl_mutex_lock(&query->mutex);
    query->failure = failure;
    query->is_active = query->is_trigger_active = query->is_data_available = false;
    pthread_cond_broadcast(&query->wake);
    nl_mutex_unlock(&query->mutex);
    query->host->notify(query->host, query, NL_STREAM_TERMINATED, nl_builder_str(&json));
    nl_builder_fini(&json);
}

/* Sources and state: of no use when the thread has ended. */
static void free_leaves(nl_stream_query *query)
{
    for (uint32_t i = 0; i < NL_STREAM_SOURCES_MAX; i++) {
        nl_stream_leaf *leaf = &query->leaves[i];
        nl_table_release(leaf->table);
        nl_stream_source_free(leaf->source);
        free(leaf->committed);
        free(leaf->available);
        *leaf = (nl_stream_leaf){0};
        nl_state_store_free(query->stores[i]);
        query->stores[i] = NULL;
    }
}

static nl_status run_query(void *argument, uint32_t worker)
{
    nl_stream_query *query = argument;
    (void)worker;
    nl_status status = run_all(query);
    free_leaves(query);
    if (status && is_stopping(query)) { /* what was interrupted begins again from the checkpoint */
        nl_error_free(status);
        status = NULL;
    }
    if (status) nl_log(NL_LOG_WARN, "the streaming query %s has failed: %s", query->checkpoint->id, nl_error_message(status));
    finish(query, status);
    return NULL;
}

/* ---- the start ---- */

nl_str nl_stream_sink_option(const nl_stream_query *query, const char *key)
{
    for (uint32_t i = query->options.option_count; i-- > 0;)
        if (nl_str_is_nocase(query->options.options[i].key, key)) return query->options.options[i].value;
    return (nl_str){0};
}

static void copy_options(nl_stream_query *query, const nl_stream_options *from)
{
    nl_arena *arena = query->arena;
    nl_property *options = NL_NEW_ARRAY(arena, nl_property, from->option_count + 1);
    nl_str *columns = NL_NEW_ARRAY(arena, nl_str, from->partition_count + 1);
    query->options = *from;
    query->options.format = nl_arena_str(arena, from->format);
    query->options.path = nl_arena_str(arena, from->path);
    query->options.table = nl_arena_str(arena, from->table);
    query->options.name = nl_arena_str(arena, from->name);
    for (uint32_t i = 0; i < from->option_count; i++) options[i] = (nl_property){nl_arena_str(arena, from->options[i].key), nl_arena_str(arena, from->options[i].value)};
    for (uint32_t i = 0; i < from->partition_count; i++) columns[i] = nl_arena_str(arena, from->partition_columns[i]);
    query->options.options = options;
    query->options.partition_columns = columns;
}

/* Confs that a query keeps from its first batch on, as Spark writes them; those that mean nothing here, too, so that Spark may
 * go on with the folder of a query without state. */
static void take_confs(nl_stream_query *query, nl_session *session)
{
    static const char *const kept[][2] = {
        {"spark.sql.streaming.stateStore.providerClass", "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"},
        {"spark.sql.streaming.statefulOperator.useStrictDistribution", "true"},
        {"spark.sql.streaming.flatMapGroupsWithState.stateFormatVersion", "2"},
        {MULTIPLE_WATERMARKS, "min"},
        {"spark.sql.streaming.aggregation.stateFormatVersion", "2"},
        {"spark.sql.shuffle.partitions", "200"},
        {"spark.sql.streaming.join.stateFormatVersion", "2"},
        {"spark.sql.streaming.stateStore.compression.codec", "lz4"}};
    nl_property *confs = NL_NEW_ARRAY(query->arena, nl_property, NL_COUNT(kept));
    for (size_t i = 0; i < NL_COUNT(kept); i++) {
        const nl_str value = nl_session_get(session, nl_str_from(kept[i][0]));
        confs[i] = (nl_property){nl_str_from(kept[i][0]), value.data ? nl_arena_str(query->arena, value) : nl_str_from(kept[i][1])};
    }
    query->confs = confs;
    query->conf_count = NL_COUNT(kept);
    query->is_watermark_max = nl_str_is_nocase(nl_session_get(session, nl_str_from(MULTIPLE_WATERMARKS)), "max");
    query->is_no_data_batch_enabled = !nl_str_is_nocase(nl_session_get(session, NL_STR("spark.sql.streaming.noDataMicroBatches.enabled")), "false");
}

static bool may_be_temporary(const nl_stream_query *query)
{
    switch (query->options.sink) {
    case NL_SINK_MEMORY:
    case NL_SINK_CONSOLE:
    case NL_SINK_NOOP:
    case NL_SINK_FUNCTION: return true;
    case NL_SINK_TABLE:
    case NL_SINK_FILES:
    default: return false;
    }
}

static nl_status open_checkpoint(nl_stream_query *query, nl_session *session)
{
    const nl_str given = nl_stream_sink_option(query, "checkpointLocation"), base = nl_session_get(session, NL_STR("spark.sql.streaming.checkpointLocation"));
    nl_str path = given;
    bool is_temporary = false;
    char unique[NL_UUID_TEXT_LENGTH + 1] = {0};
    uint8_t bytes[16];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, unique);
    if (!path.length && base.length) path = nl_path_join(query->arena, base, query->options.name.length ? query->options.name : nl_str_from(unique));
    if (!path.length) {
        if (!may_be_temporary(query))
            return NL_RAISE(_LEGACY_ERROR_TEMP_3102, NL_P("msg", "checkpointLocation must be specified either through option(\"checkpointLocation\", ...) or "
                                                                 "SparkSession.conf.set(\"spark.sql.streaming.checkpointLocation\", ...)."));
        path = nl_arena_f(query->arena, NL_STR_FMT "/nilas-stream-%s", NL_STR_ARG(nl_session_local_directory(session)), unique);
        is_temporary = true;
    }
    NL_TRY(nl_plain_path_absolute(query->arena, path, &path));
    return nl_stream_checkpoint_open(query->files, path, is_temporary, &query->checkpoint);
}

static nl_status prepare(nl_stream_query *query, nl_session *session)
{
    NL_TRY(nl_stream_plan_query(query, session)); /* refuses before anything is made */
    NL_TRY(open_checkpoint(query, session));
    NL_TRY(nl_stream_plan_query(query, session)); /* and opens the streams */
    NL_TRY(nl_stream_sink_prepare(query, session));
    return recover(query);
}

static void append_started(const nl_stream_query *query, nl_builder *out)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "id");
    nl_json_write_text(&writer, nl_str_from(query->checkpoint->id));
    nl_json_key(&writer, "runId");
    nl_json_write_text(&writer, nl_str_from(query->run_id));
    nl_json_key(&writer, "name");
    if (query->options.name.length)
        nl_json_write_text(&writer, query->options.name);
    else
        nl_json_write_null(&writer);
    nl_json_key(&writer, "timestamp");
    nl_json_before_value(&writer);
    nl_append_char(out, '"');
    nl_stream_append_time(nl_now_micros(), out);
    nl_append_char(out, '"');
    nl_json_after_value(&writer);
    nl_json_end(&writer, '}');
}

nl_str nl_stream_query_started(const nl_stream_query *query, nl_arena *arena)
{
    nl_builder json;
    nl_builder_init(&json, 1 << 16);
    append_started(query, &json);
    const nl_str text = nl_arena_str(arena, nl_builder_str(&json));
    nl_builder_fini(&json);
    return text;
}

static nl_stream_query *new_query(nl_session *session, nl_stream_host *host, const nl_stream_options *options)
{
    nl_stream_query *made = calloc(1, sizeof *made);
    uint8_t bytes[16];
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    made->memory = nl_memory_new(nl_session_memory(session), "stream", SIZE_MAX);
    made->arena = nl_arena_new(made->memory);
    made->host = host;
    made->workers = nl_session_pool(session);
    made->spill_directory = nl_arena_str(made->arena, nl_session_local_directory(session));
    made->zone = nl_session_zone(session);
    made->cancel = nl_cancel_new(NULL);
    made->counts_arena = nl_arena_new(NULL);
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->wake, NULL);
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, made->run_id);
    copy_options(made, options);
    take_confs(made, session);
    return made;
}

nl_status nl_stream_query_start(nl_session *session, nl_stream_host *host, const nl_stream_options *options, nl_stream_query **query)
{
    nl_fs *files = NULL;
    NL_TRY(nl_session_files(session, &files));
    nl_stream_query *made = new_query(session, host, options);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->files = nl_fs_retain(files);
    nl_status status = prepare(made, session);
    if (status) {
        made->host = NULL; /* stays the caller's */
        nl_stream_query_release(made);
        return status;
    }
    made->is_active = true;
    nl_stream_set_message(made, "Initializing sources");
    made->thread = nl_pool_new(1, "stream");
    made->group = nl_task_group_new(made->thread, NULL);
    nl_task_group_add(made->group, run_query, made);
    *query = made;
    return NULL;
}

/* ---- the end ---- */

nl_stream_query *nl_stream_query_retain(nl_stream_query *query)
{
    atomic_fetch_add(&query->references, 1);
    return query;
}

void nl_stream_query_stop(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    query->is_stopping = true;
    pthread_cond_broadcast(&query->wake);
    nl_mutex_unlock(&query->mutex);
    nl_cancel_set(query->cancel);
}

void nl_stream_query_join(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    nl_task_group *group = query->group;
    nl_pool *thread = query->thread;
    query->group = NULL;
    query->thread = NULL;
    nl_mutex_unlock(&query->mutex);
    if (group) nl_error_free(nl_task_group_wait(group));
    nl_pool_free(thread);
}

void nl_stream_query_release(nl_stream_query *query)
{
    if (!query || atomic_fetch_sub(&query->references, 1) != 1) return;
    nl_stream_query_join(query);
    free_leaves(query);
    nl_kept_rows_release(query->memory_rows);
    nl_stream_checkpoint_close(query->checkpoint);
    for (uint32_t i = 0; i < NL_STREAM_RECENT_COUNT; i++) free(query->recent[i]);
    free(query->message);
    free(NL_UNCONST(query->plan_text));
    nl_error_free(query->failure);
    nl_fs_release(query->files);
    nl_cancel_release(query->cancel);
    if (query->host) query->host->free(query->host);
    nl_arena_free(query->counts_arena);
    nl_arena_free(query->arena);
    nl_memory_release(query->memory);
    pthread_cond_destroy(&query->wake);
    nl_mutex_fini(&query->mutex);
    free(query);
}
