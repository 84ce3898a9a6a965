/* catalog/rest/metrics.c - scan and commit reports (POST …/tables/{table}/metrics) in the form of Java's parsers. */
#include "catalog/rest/metrics.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/number.h"

#define PENDING_MAX 8
#define PATIENCE_MS 3000 /* for the answer of one report */

typedef struct pending {
    nl_arena *arena;    /* owned: the request */
    nl_http_call *call; /* owned */
} pending;

struct nl_remote_reporter {
    nl_http_client *http;
    nl_mutex mutex;
    pending ring[PENDING_MAX]; /* guarded */
    uint32_t next;
};

nl_status nl_remote_reporter_new(nl_memory *memory, nl_remote_reporter **reporter)
{
    nl_remote_reporter *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    const nl_http_options options = {.connections_max = 2, .connect_timeout_ms = PATIENCE_MS, .stall_timeout_ms = PATIENCE_MS, .deadline_ms = PATIENCE_MS, .attempts_max = 1};
    nl_status status = nl_http_client_new(&options, memory, &made->http);
    if (status) {
        free(made);
        return status;
    }
    nl_mutex_init(&made->mutex);
    *reporter = made;
    return NULL;
}

static void settle(pending *one)
{
    nl_http_response response = {0};
    if (!one->call) return;
    nl_error *error = nl_http_wait(one->call, &response);
    if (error) nl_log(NL_LOG_INFO, "a report of metrics was not delivered: %s", nl_error_message(error));
    else if (response.status >= 300) nl_log(NL_LOG_INFO, "a report of metrics was answered with HTTP %d", response.status);
    if (!error) nl_http_response_fini(&response);
    nl_error_free(error);
    nl_arena_free(one->arena);
}

void nl_remote_reporter_free(nl_remote_reporter *reporter)
{
    if (!reporter) return;
    for (uint32_t i = 0; i < PENDING_MAX; i++)
        settle(&reporter->ring[i]);
    nl_http_client_release(reporter->http);
    nl_mutex_fini(&reporter->mutex);
    free(reporter);
}

/* ---- Sending ---- */

static nl_status start(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_str token, nl_str body, pending *made)
{
    nl_remote_ticket *ticket = NL_NEW(made->arena, nl_remote_ticket);
    nl_property *headers = NL_NEW_ARRAY(made->arena, nl_property, (size_t)catalog->header_count + 4);
    uint32_t count = 0;
    NL_TRY(nl_remote_auth_ticket(session->auth, token, made->arena, ticket));
    for (uint32_t i = 0; i < catalog->header_count; i++)
        headers[count++] = (nl_property){nl_arena_str(made->arena, catalog->headers[i].key), nl_arena_str(made->arena, catalog->headers[i].value)};
    headers[count++] = (nl_property){NL_STR("Content-Type"), NL_STR("application/json")};
    for (uint32_t i = 0; i < ticket->header_count; i++)
        headers[count++] = ticket->headers[i];
    const nl_str path = nl_remote_item_path(made->arena, session, identifier, "tables"), copy = nl_arena_str(made->arena, body);
    nl_http_request *request = NL_NEW(made->arena, nl_http_request);
    *request = (nl_http_request){.method = "POST", .url = nl_arena_f(made->arena, NL_STR_FMT "/v1/" NL_STR_FMT "/metrics", NL_STR_ARG(session->uri), NL_STR_ARG(path)),
                                 .headers = headers, .header_count = count, .body = {(const uint8_t *)copy.data, copy.length}, .sign = ticket->sign,
                                 .sign_argument = ticket->sign_argument, .retries_nothing = true, .fault = "metrics"};
    NL_TRY(nl_arena_check(made->arena));
    return nl_http_start(catalog->reporter->http, request, &made->call);
}

static void post(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, nl_str token, nl_builder *body)
{
    pending made = {.arena = nl_arena_new(NULL)}, previous;
    nl_remote_reporter *reporter = catalog->reporter;
    nl_error *error = nl_builder_failed(body) ? NULL : start(catalog, session, identifier, token, nl_builder_str(body), &made);
    if (error) nl_log(NL_LOG_INFO, "a report of metrics was not sent: %s", nl_error_message(error));
    nl_error_free(error);
    if (!made.call) {
        nl_arena_free(made.arena);
        return;
    }
    nl_mutex_lock(&reporter->mutex);
    previous = reporter->ring[reporter->next];
    reporter->ring[reporter->next] = made;
    reporter->next = (reporter->next + 1) % PENDING_MAX;
    nl_mutex_unlock(&reporter->mutex);
    settle(&previous);
}

/* NULL: nobody collects reports. */
static const nl_remote_session *collector(nl_remote_catalog *catalog)
{
    const nl_remote_session *session = NULL;
    nl_error *error = nl_remote_session_of(catalog, &session);
    if (error) {
        nl_error_free(error);
        return NULL;
    }
    return session->reports_metrics && catalog->reporter && nl_remote_offers(session, NL_REMOTE_REPORT_METRICS) ? session : NULL;
}

/* ---- Bodies ---- */

static void append_counter(nl_json_writer *out, const char *key, const char *unit, int64_t value)
{
    nl_json_key(out, key);
    nl_json_begin(out, '{');
    nl_json_key(out, "unit");
    nl_json_write_text(out, nl_str_from(unit));
    nl_json_key(out, "value");
    nl_json_write_int(out, value);
    nl_json_end(out, '}');
}

static void append_timer(nl_json_writer *out, const char *key, int64_t micros)
{
    nl_json_key(out, key);
    nl_json_begin(out, '{');
    nl_json_key(out, "count");
    nl_json_write_int(out, 1);
    nl_json_key(out, "time-unit");
    nl_json_write_text(out, NL_STR("nanoseconds"));
    nl_json_key(out, "total-duration");
    nl_json_write_int(out, micros * 1000);
    nl_json_end(out, '}');
}

static void append_head(nl_json_writer *out, const char *type, nl_str table_name, int64_t snapshot_id)
{
    nl_json_begin(out, '{');
    nl_json_key(out, "report-type");
    nl_json_write_text(out, nl_str_from(type));
    nl_json_key(out, "table-name");
    nl_json_write_text(out, table_name);
    nl_json_key(out, "snapshot-id");
    nl_json_write_int(out, snapshot_id);
}

static void append_tail(nl_json_writer *out, const nl_catalog *catalog)
{
    nl_json_key(out, "metadata");
    nl_remote_append_properties(out, catalog->environment.properties, catalog->environment.property_count);
    nl_json_end(out, '}');
}

static void append_scan_metrics(nl_json_writer *out, const nl_scan_report *report)
{
    const nl_scan_plan *plan = report->plan;
    nl_json_key(out, "metrics");
    nl_json_begin(out, '{');
    append_timer(out, "total-planning-duration", report->planning_micros);
    append_counter(out, "result-data-files", "count", plan->task_count);
    append_counter(out, "result-delete-files", "count", plan->delete_files);
    append_counter(out, "total-data-manifests", "count", plan->manifests_total);
    append_counter(out, "scanned-data-manifests", "count", plan->manifests_read);
    append_counter(out, "skipped-data-manifests", "count", (int64_t)plan->manifests_total - plan->manifests_read);
    append_counter(out, "total-file-size-in-bytes", "bytes", plan->bytes);
    append_counter(out, "skipped-data-files", "count", NL_MAX((int64_t)plan->files_total - plan->task_count, 0));
    nl_json_end(out, '}');
}

void nl_remote_report_scan(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_scan_report *report)
{
    const nl_remote_session *session = collector(catalog);
    nl_builder body;
    if (!session || report->snapshot_id == NL_NONE) return;
    nl_builder_init(&body, 1 << 20);
    nl_json_writer writer = {.out = &body};
    append_head(&writer, "scan-report", report->table_name, report->snapshot_id);
    nl_json_key(&writer, "filter");
    nl_json_before_value(&writer);
    nl_predicate_append_json(report->predicate, report->schema, &body);
    nl_json_after_value(&writer);
    nl_json_key(&writer, "schema-id");
    nl_json_write_int(&writer, report->schema->schema_id);
    nl_json_key(&writer, "projected-field-ids");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < report->field_count; i++)
        nl_json_write_int(&writer, report->field_ids[i]);
    nl_json_end(&writer, ']');
    nl_json_key(&writer, "projected-field-names");
    nl_json_begin(&writer, '[');
    for (uint32_t i = 0; i < report->field_count; i++)
        nl_json_write_text(&writer, nl_schema_find_id(report->schema, report->field_ids[i])->full_name);
    nl_json_end(&writer, ']');
    append_scan_metrics(&writer, report);
    append_tail(&writer, &catalog->base);
    post(catalog, session, identifier, token, &body);
    nl_builder_fini(&body);
}

static const struct {
    const char *metric, *summary, *unit;
} commit_rows[] = {
    {"added-data-files", "added-data-files", "count"},           {"removed-data-files", "deleted-data-files", "count"},
    {"total-data-files", "total-data-files", "count"},           {"added-delete-files", "added-delete-files", "count"},
    {"removed-delete-files", "removed-delete-files", "count"},   {"total-delete-files", "total-delete-files", "count"},
    {"added-dvs", "added-dvs", "count"},                         {"removed-dvs", "removed-dvs", "count"},
    {"added-records", "added-records", "count"},                 {"removed-records", "deleted-records", "count"},
    {"total-records", "total-records", "count"},                 {"added-files-size-bytes", "added-files-size", "bytes"},
    {"removed-files-size-bytes", "removed-files-size", "bytes"}, {"total-files-size-bytes", "total-files-size", "bytes"},
    {"added-positional-deletes", "added-position-deletes", "count"}, {"removed-positional-deletes", "removed-position-deletes", "count"},
    {"total-positional-deletes", "total-position-deletes", "count"}, {"added-equality-deletes", "added-equality-deletes", "count"},
    {"removed-equality-deletes", "removed-equality-deletes", "count"}, {"total-equality-deletes", "total-equality-deletes", "count"},
};

static const nl_snapshot *added_snapshot(const nl_commit_report *report)
{
    for (uint32_t i = report->updated->snapshot_count; i-- > 0;) {
        const nl_snapshot *snapshot = &report->updated->snapshots[i];
        if (!report->base || !nl_table_snapshot(report->base, snapshot->snapshot_id)) return snapshot;
    }
    return NULL;
}

void nl_remote_report_commit(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_commit_report *report)
{
    const nl_snapshot *snapshot = added_snapshot(report);
    const nl_remote_session *session = snapshot ? collector(catalog) : NULL;
    nl_builder body;
    if (!session) return;
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder_init(&body, 1 << 20);
    nl_json_writer writer = {.out = &body};
    const nl_str text = nl_identifier_text(arena, identifier);
    append_head(&writer, "commit-report", nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(catalog->base.name), NL_STR_ARG(text)), snapshot->snapshot_id);
    nl_json_key(&writer, "sequence-number");
    nl_json_write_int(&writer, snapshot->sequence_number);
    nl_json_key(&writer, "operation");
    nl_json_write_text(&writer, snapshot->operation);
    nl_json_key(&writer, "metrics");
    nl_json_begin(&writer, '{');
    append_timer(&writer, "total-duration", report->duration_micros);
    append_counter(&writer, "attempts", "count", 1);
    for (uint32_t i = 0; i < NL_COUNT(commit_rows); i++) {
        int64_t value;
        if (nl_parse_int64(nl_snapshot_summary(snapshot, commit_rows[i].summary), &value)) append_counter(&writer, commit_rows[i].metric, commit_rows[i].unit, value);
    }
    nl_json_end(&writer, '}');
    append_tail(&writer, &catalog->base);
    post(catalog, session, identifier, token, &body);
    nl_builder_fini(&body);
    nl_arena_free(arena);
}
