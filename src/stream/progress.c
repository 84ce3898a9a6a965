/* stream/progress.c - what a query tells of itself: status, progress as Spark's JSON, its plan. */
#include "stream/query_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

void nl_stream_append_time(int64_t micros, nl_builder *out)
{
    nl_civil civil;
    nl_civil_from_micros(micros, &civil);
    nl_append_f(out, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second, civil.microsecond / 1000);
}

static void write_time(nl_json_writer *writer, const char *key, int64_t micros)
{
    nl_json_key(writer, key);
    nl_json_before_value(writer);
    nl_append_char(writer->out, '"');
    nl_stream_append_time(micros, writer->out);
    nl_append_char(writer->out, '"');
    nl_json_after_value(writer);
}

static void write_text(nl_json_writer *writer, const char *key, nl_str text)
{
    nl_json_key(writer, key);
    if (text.length)
        nl_json_write_text(writer, text);
    else
        nl_json_write_null(writer);
}

static void write_int(nl_json_writer *writer, const char *key, int64_t value)
{
    nl_json_key(writer, key);
    nl_json_write_int(writer, value);
}

/* NaN and infinity are left out, as Spark does. */
static void write_rate(nl_json_writer *writer, const char *key, int64_t rows, double seconds)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_json_key(writer, key);
    nl_json_before_value(writer);
    nl_append(writer->out, (nl_str){text, nl_format_double(seconds > 0 ? (double)rows / seconds : 0.0, text)});
    nl_json_after_value(writer);
}

typedef struct rates {
    double input_seconds, processing_seconds;
} rates;

static void write_counts(nl_json_writer *writer, int64_t rows, const rates *by)
{
    write_int(writer, "numInputRows", rows);
    write_rate(writer, "inputRowsPerSecond", rows, by->input_seconds);
    write_rate(writer, "processedRowsPerSecond", rows, by->processing_seconds);
}

static int64_t rows_of(const nl_stream_leaf *leaf)
{
    return leaf->row_count >= 0 ? leaf->row_count : (int64_t)atomic_load(&leaf->read_count);
}

static void write_durations(nl_json_writer *writer, const nl_stream_times *times)
{
    const struct {
        const char *name;
        int64_t micros;
    } steps[] = {{"addBatch", times->add_batch >= 0 ? NL_MAX(times->add_batch - NL_MAX(times->planning, 0), 0) : -1},
                 {"commitOffsets", times->commit_offsets},
                 {"getBatch", times->get_batch},
                 {"latestOffset", times->latest_offset},
                 {"queryPlanning", times->planning},
                 {"triggerExecution", times->ended - times->started},
                 {"walCommit", times->wal_commit}};
    nl_json_key(writer, "durationMs");
    nl_json_begin(writer, '{');
    for (size_t i = 0; i < NL_COUNT(steps); i++)
        if (steps[i].micros >= 0) write_int(writer, steps[i].name, steps[i].micros / 1000);
    nl_json_end(writer, '}');
}

static void write_event_time(nl_json_writer *writer, const nl_stream_query *query, bool has_run)
{
    int64_t most = INT64_MIN, least = INT64_MAX, count = 0, sum_ms = 0;
    nl_json_key(writer, "eventTime");
    nl_json_begin(writer, '{');
    for (uint32_t i = 0; i < query->seen_count; i++) {
        most = NL_MAX(most, (int64_t)atomic_load(&query->seen[i].max_micros));
        least = NL_MIN(least, (int64_t)atomic_load(&query->seen[i].min_micros));
        count += atomic_load(&query->seen[i].count);
        sum_ms += atomic_load(&query->seen[i].sum_ms);
    }
    if (count && has_run) {
        write_time(writer, "avg", sum_ms / count * 1000);
        write_time(writer, "max", most);
        write_time(writer, "min", least);
    }
    if (query->seen_count) write_time(writer, "watermark", query->watermark_ms * 1000);
    nl_json_end(writer, '}');
}

static void write_state(nl_json_writer *writer, const nl_stream_query *query, bool has_run)
{
    nl_json_key(writer, "stateOperators");
    nl_json_begin(writer, '[');
    for (uint32_t i = query->state_counts.count; i-- > 0;) { /* from the sink on */
        const nl_state_counts *counts = query->state_counts.items[i];
        nl_json_before_value(writer);
        nl_json_begin(writer, '{');
        nl_json_key(writer, "operatorName");
        nl_json_write_text(writer, nl_str_from(counts->name));
        write_int(writer, "numRowsTotal", counts->total);
        write_int(writer, "numRowsUpdated", has_run ? counts->updated : 0);
        write_int(writer, "allUpdatesTimeMs", 0);
        write_int(writer, "numRowsRemoved", has_run ? counts->removed : 0);
        write_int(writer, "allRemovalsTimeMs", 0);
        write_int(writer, "commitTimeMs", 0);
        write_int(writer, "memoryUsedBytes", (int64_t)counts->memory_bytes);
        write_int(writer, "numRowsDroppedByWatermark", has_run ? counts->late : 0);
        write_int(writer, "numShufflePartitions", 1);
        write_int(writer, "numStateStoreInstances", 1);
        nl_json_key(writer, "customMetrics");
        nl_json_begin(writer, '{');
        nl_json_end(writer, '}');
        nl_json_end(writer, '}');
        nl_json_after_value(writer);
    }
    nl_json_end(writer, ']');
}

static void write_sources(nl_json_writer *writer, const nl_stream_query *query, bool has_run, const rates *by)
{
    nl_json_key(writer, "sources");
    nl_json_begin(writer, '[');
    for (uint32_t i = 0; i < query->leaf_count; i++) {
        const nl_stream_leaf *leaf = &query->leaves[i];
        nl_builder description;
        nl_builder_init(&description, 1 << 16);
        leaf->source->ops->append_description(leaf->source, &description);
        nl_json_before_value(writer);
        nl_json_begin(writer, '{');
        nl_json_key(writer, "description");
        nl_json_write_text(writer, nl_builder_str(&description));
        write_text(writer, "startOffset", nl_str_from(leaf->committed ? leaf->committed : ""));
        write_text(writer, "endOffset", nl_str_from(leaf->available ? leaf->available : ""));
        write_text(writer, "latestOffset", nl_str_from(leaf->available ? leaf->available : ""));
        write_counts(writer, has_run ? rows_of(leaf) : 0, by);
        nl_json_key(writer, "metrics");
        nl_json_begin(writer, '{');
        nl_json_end(writer, '}');
        nl_json_end(writer, '}');
        nl_json_after_value(writer);
        nl_builder_fini(&description);
    }
    nl_json_end(writer, ']');
}

static void write_sink(nl_json_writer *writer, const nl_stream_query *query, bool has_run)
{
    nl_builder description;
    nl_builder_init(&description, 1 << 16);
    nl_stream_sink_describe(query, &description);
    nl_json_key(writer, "sink");
    nl_json_begin(writer, '{');
    nl_json_key(writer, "description");
    nl_json_write_text(writer, nl_builder_str(&description));
    write_int(writer, "numOutputRows", has_run ? query->output_rows : -1);
    nl_json_key(writer, "metrics");
    nl_json_begin(writer, '{');
    nl_json_end(writer, '}');
    nl_json_end(writer, '}');
    nl_builder_fini(&description);
}

void nl_stream_append_progress(nl_stream_query *query, bool has_run, nl_builder *out)
{
    nl_json_writer writer = {.out = out};
    const nl_stream_times *times = &query->times;
    const rates by = {.input_seconds = query->last_trigger_micros ? (double)(times->started - query->last_trigger_micros) / 1e6 : 0,
                      .processing_seconds = (double)(times->ended - times->started) / 1e6};
    nl_json_begin(&writer, '{');
    write_text(&writer, "id", nl_str_from(query->checkpoint->id));
    write_text(&writer, "runId", nl_str_from(query->run_id));
    write_text(&writer, "name", query->options.name);
    write_time(&writer, "timestamp", times->begin_micros);
    write_int(&writer, "batchId", query->batch);
    write_int(&writer, "batchDuration", (times->ended - times->started) / 1000);
    write_durations(&writer, times);
    write_event_time(&writer, query, has_run);
    write_state(&writer, query, has_run);
    write_sources(&writer, query, has_run, &by);
    write_sink(&writer, query, has_run);
    nl_json_key(&writer, "observedMetrics");
    nl_json_begin(&writer, '{');
    nl_json_end(&writer, '}');
    nl_json_end(&writer, '}');
}

void nl_stream_report(nl_stream_query *query, bool has_run)
{
    nl_builder json, event;
    nl_builder_init(&json, SIZE_MAX);
    nl_builder_init(&event, SIZE_MAX);
    nl_stream_append_progress(query, has_run, &json);
    char *copy = strndup(nl_builder_str(&json).data, json.length);
    nl_mutex_lock(&query->mutex);
    char **slot = &query->recent[query->recent_next++ % NL_STREAM_RECENT_COUNT];
    free(*slot);
    *slot = copy;
    query->recent_count = NL_MIN(query->recent_count + 1, NL_STREAM_RECENT_COUNT);
    nl_mutex_unlock(&query->mutex);
    if (has_run) {
        nl_append_f(&event, "{\"progress\":" NL_STR_FMT "}", NL_STR_ARG(nl_builder_str(&json)));
    } else {
        nl_append_f(&event, "{\"id\":\"%s\",\"runId\":\"%s\",\"timestamp\":\"", query->checkpoint->id, query->run_id);
        nl_stream_append_time(query->times.begin_micros, &event);
        nl_append_c(&event, "\"}");
    }
    query->host->notify(query->host, query, has_run ? NL_STREAM_PROGRESS : NL_STREAM_IDLE, nl_builder_str(&event));
    nl_builder_fini(&event);
    nl_builder_fini(&json);
}

/* ---- what is asked ---- */

const char *nl_stream_query_id(const nl_stream_query *query)
{
    return query->checkpoint->id;
}

const char *nl_stream_query_run_id(const nl_stream_query *query)
{
    return query->run_id;
}

nl_str nl_stream_query_name(const nl_stream_query *query)
{
    return query->options.name;
}

bool nl_stream_query_is_active(const nl_stream_query *query)
{
    nl_stream_query *self = NL_UNCONST(query);
    nl_mutex_lock(&self->mutex);
    const bool answer = self->is_active;
    nl_mutex_unlock(&self->mutex);
    return answer;
}

void nl_stream_query_status(nl_stream_query *query, nl_arena *arena, nl_stream_status *status)
{
    nl_mutex_lock(&query->mutex);
    *status = (nl_stream_status){.message = nl_arena_str(arena, nl_str_from(query->message ? query->message : "")),
                                 .is_data_available = query->is_data_available,
                                 .is_trigger_active = query->is_trigger_active,
                                 .is_active = query->is_active};
    nl_mutex_unlock(&query->mutex);
}

void nl_stream_query_progress(nl_stream_query *query, nl_arena *arena, bool is_last, const nl_str **texts, uint32_t *count)
{
    nl_str *list = NL_NEW_ARRAY(arena, nl_str, NL_STREAM_RECENT_COUNT);
    *count = 0;
    nl_mutex_lock(&query->mutex);
    for (uint32_t back = is_last ? NL_MIN(query->recent_count, 1u) : query->recent_count; back > 0; back--) {
        const char *text = query->recent[(query->recent_next - back) % NL_STREAM_RECENT_COUNT];
        if (text) list[(*count)++] = nl_arena_str(arena, nl_str_from(text));
    }
    nl_mutex_unlock(&query->mutex);
    *texts = list;
}

nl_error *nl_stream_query_failure(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    const nl_error *failure = query->failure; /* a text of its own, since nobody else may touch it */
    nl_error *copy = failure ? NL_RAISE(STREAM_FAILED, NL_P("id", query->checkpoint->id), NL_P("runId", query->run_id), NL_P("message", nl_error_param(failure, "message"))) : NULL;
    nl_mutex_unlock(&query->mutex);
    return copy;
}

int64_t nl_stream_query_ask(nl_stream_query *query)
{
    nl_mutex_lock(&query->mutex);
    const int64_t ticket = ++query->tickets;
    pthread_cond_broadcast(&query->wake);
    nl_mutex_unlock(&query->mutex);
    return ticket;
}

bool nl_stream_query_has_processed(nl_stream_query *query, int64_t ticket)
{
    nl_mutex_lock(&query->mutex);
    const bool answer = query->processed >= ticket || !query->is_active;
    nl_mutex_unlock(&query->mutex);
    return answer;
}

nl_str nl_stream_query_explain(nl_stream_query *query, nl_arena *arena, bool is_extended)
{
    nl_str text = NL_STR("No physical plan. Waiting for data.");
    nl_mutex_lock(&query->mutex);
    const char *plan = query->plan_text;
    if (plan && is_extended) /* what the analyzer has made, its streams bound to what was new; the rest follows from it */
        text = nl_arena_f(arena, "== Parsed Logical Plan ==\n%s\n== Analyzed Logical Plan ==\n%s\n== Optimized Logical Plan ==\n%s\n== Physical Plan ==\n%s", plan, plan, plan, plan);
    else if (plan)
        text = nl_arena_f(arena, "== Physical Plan ==\n%s", plan);
    nl_mutex_unlock(&query->mutex);
    return text;
}
