/* lakehouse/trino/service.c - routes, the statements that are known, and the answers that lead a client from page to page. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/calendar.h"
#include "base/number.h"
#include "base/uuid.h"
#include "lakehouse/access.h"
#include "lakehouse/trino/trino_private.h"
#include "storage/digest.h"
#include "storage/http.h"

#define WAIT_MS     1000  /* for a page: then the client is told to ask again */
#define ENDED_MS    60000 /* an ended statement is kept that long for a client that asks once more */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Statements. */

static void release(nl_trino_statement *statement)
{
    if (atomic_fetch_sub(&statement->references, 1) != 1) return;
    nl_builder_fini(&statement->ready);
    free(NL_UNCONST(statement->served.data));
    nl_arena_free(statement->arena); /* the statement itself lies in it */
}

/* The mutex is held. */
static void cancel(nl_trino_statement *statement)
{
    statement->is_cancelled = true;
    if (statement->session) nl_session_cancel(statement->session);
    pthread_cond_broadcast(&statement->trino->changed);
}

/* Forgets what has ended, and stops what nobody asks for any more; when there is no room for more, also what has just ended and
 * told its client so. The mutex is held. */
static void sweep(nl_trino *self)
{
    const int64_t now = now_ms();
    for (nl_trino_statement **link = &self->first; *link;) {
        nl_trino_statement *statement = *link;
        if (!statement->is_done && now - statement->asked_ms > NL_TRINO_ABANDONED_MS) cancel(statement);
        const bool is_crowded = self->statement_count >= NL_TRINO_STATEMENTS_MAX / 2 && statement->is_over;
        if (!statement->is_done || (now - statement->asked_ms < ENDED_MS && !is_crowded)) {
            link = &statement->next;
            continue;
        }
        *link = statement->next;
        self->statement_count--;
        release(statement);
    }
}

static nl_status run_task(void *argument, uint32_t worker)
{
    nl_status status = nl_trino_run(argument, worker);
    release(argument);
    return status;
}

/* "20261030_120000_00042_nilas" */
static nl_str make_id(nl_arena *arena, uint32_t number)
{
    nl_civil at;
    nl_civil_from_micros(nl_now_micros(), &at);
    return nl_arena_f(arena, "%04d%02d%02d_%02d%02d%02d_%05u_nilas", at.year, at.month, at.day, at.hour, at.minute, at.second, number);
}

/* X-Trino-Prepared-Statement: name=encoded text, several apart by commas or as several headers. */
static nl_status read_prepared(const nl_request *request, nl_trino_statement *statement)
{
    nl_list found = {0};
    for (uint32_t i = 0; i < request->header_count; i++) {
        if (!nl_str_is_nocase(request->headers[i].key, "X-Trino-Prepared-Statement")) continue;
        nl_str rest = request->headers[i].value;
        for (nl_str part; nl_str_next_part(&rest, ',', &part);) {
            const size_t equals = nl_str_find_char(part, '=', 0);
            nl_property *one = NL_NEW(statement->arena, nl_property);
            if (equals == NL_NOT_FOUND) continue;
            one->key = nl_arena_str(statement->arena, nl_str_trim(nl_str_slice(part, 0, equals)));
            NL_TRY(nl_url_decode(statement->arena, nl_str_trim(nl_str_slice(part, equals + 1, part.length)), true, &one->value));
            nl_list_add(statement->arena, &found, one);
        }
    }
    nl_property *prepared = NL_NEW_ARRAY(statement->arena, nl_property, found.count + 1);
    for (uint32_t i = 0; i < found.count; i++) prepared[i] = *(const nl_property *)found.items[i];
    statement->prepared = prepared;
    statement->prepared_count = found.count;
    return NULL;
}

static nl_status new_statement(nl_trino *self, const nl_request *request, nl_trino_statement **statement)
{
    nl_arena *arena = nl_arena_new(self->memory);
    nl_trino_statement *made = NL_NEW(arena, nl_trino_statement);
    uint8_t random[16];
    char slug[33] = "";
    nl_random_bytes(random, sizeof(random));
    nl_format_hex(random, sizeof(random), false, slug);
    *made = (nl_trino_statement){.trino = self, .arena = arena, .slug = nl_arena_str(arena, nl_str_from(slug)), .asked_ms = now_ms(), .begun_ms = now_ms(), .references = 2, .update_count = -1};
    made->sql = nl_arena_str(arena, (nl_str){(const char *)request->body.data, request->body.length});
    made->catalog = nl_arena_str(arena, nl_request_header(request, "X-Trino-Catalog"));
    made->schema = nl_arena_str(arena, nl_request_header(request, "X-Trino-Schema"));
    made->base_url = nl_arena_f(arena, "http://" NL_STR_FMT, NL_STR_ARG(nl_request_header(request, "Host")));
    nl_builder_init(&made->ready, NL_VALUE_BYTES_MAX);
    nl_status status = read_prepared(request, made);
    if (!status) status = nl_arena_check(arena);
    if (status) nl_arena_free(arena);
    else *statement = made;
    return status;
}

/* ---- Answers. */

static void write_number(nl_json_writer *json, const char *key, int64_t number)
{
    nl_json_key(json, key);
    nl_json_write_int(json, number);
}

static void write_text(nl_json_writer *json, const char *key, nl_str text)
{
    nl_json_key(json, key);
    nl_json_write_text(json, text);
}

/* The mutex is held. Trino's clients want every one of these. */
static void write_statistics(nl_json_writer *json, const nl_trino_statement *statement)
{
    static const char *const zeros[] = {"queuedSplits", "runningSplits", "queuedTimeMillis", "processedBytes", "physicalInputBytes", "physicalWrittenBytes", "peakMemoryBytes", "spilledBytes"};
    const char *state = !statement->is_started && !statement->is_done ? "QUEUED" : !statement->is_done ? "RUNNING" : statement->error.data ? "FAILED" : "FINISHED";
    const int64_t elapsed = now_ms() - statement->begun_ms;
    nl_json_key(json, "stats");
    nl_json_begin(json, '{');
    write_text(json, "state", nl_str_from(state));
    nl_json_key(json, "queued");
    nl_json_write_bool(json, !statement->is_started && !statement->is_done);
    nl_json_key(json, "scheduled");
    nl_json_write_bool(json, statement->is_started);
    write_number(json, "nodes", 1);
    write_number(json, "totalSplits", 1);
    write_number(json, "completedSplits", statement->is_done);
    for (size_t i = 0; i < NL_COUNT(zeros); i++) write_number(json, zeros[i], 0);
    write_number(json, "cpuTimeMillis", elapsed);
    write_number(json, "wallTimeMillis", elapsed);
    write_number(json, "elapsedTimeMillis", elapsed);
    write_number(json, "processedRows", (int64_t)atomic_load_explicit(&statement->row_count, memory_order_relaxed));
    nl_json_end(json, '}');
}

/* The mutex is held. next_token 0: this is the last answer. rows: without brackets; empty: none. */
static void write_answer(nl_builder *out, const nl_trino_statement *statement, uint64_t next_token, nl_str rows)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    write_text(&json, "id", statement->id);
    nl_json_key(&json, "infoUri");
    nl_json_before_value(&json);
    nl_append_f(out, "\"" NL_STR_FMT "/ui/query.html?" NL_STR_FMT "\"", NL_STR_ARG(statement->base_url), NL_STR_ARG(statement->id));
    nl_json_after_value(&json);
    if (next_token) {
        nl_json_key(&json, "nextUri");
        nl_json_before_value(&json);
        nl_append_f(out, "\"" NL_STR_FMT "/v1/statement/executing/" NL_STR_FMT "/" NL_STR_FMT "/%llu\"", NL_STR_ARG(statement->base_url), NL_STR_ARG(statement->id), NL_STR_ARG(statement->slug),
                    (unsigned long long)next_token);
        nl_json_after_value(&json);
    }
    if (statement->columns.data) {
        nl_json_key(&json, "columns");
        nl_json_before_value(&json);
        nl_append(out, statement->columns);
        nl_json_after_value(&json);
    }
    if (rows.length) {
        nl_json_key(&json, "data");
        nl_json_before_value(&json);
        nl_append_char(out, '[');
        nl_append(out, rows);
        nl_append_char(out, ']');
        nl_json_after_value(&json);
    }
    write_statistics(&json, statement);
    if (statement->is_done && statement->error.data) {
        nl_json_key(&json, "error");
        nl_json_before_value(&json);
        nl_append(out, statement->error);
        nl_json_after_value(&json);
    }
    if ((statement->is_done || statement->columns.data) && statement->update_type.length) write_text(&json, "updateType", statement->update_type);
    if (statement->is_done && statement->update_count >= 0) write_number(&json, "updateCount", statement->update_count);
    nl_json_key(&json, "warnings");
    nl_json_begin(&json, '[');
    nl_json_end(&json, ']');
    nl_json_end(&json, '}');
}

static void reply_json(nl_request *request, nl_reply *reply, nl_str text)
{
    nl_reply_text(request, reply, 200, "application/json", text);
    nl_reply_header(request, reply, "Cache-Control", NL_STR("no-store"));
}

static nl_status post_statement(nl_trino *self, nl_request *request, nl_reply *reply)
{
    nl_trino_statement *made = NULL;
    if (request->body.length == 0) {
        nl_reply_text(request, reply, 400, "text/plain", NL_STR("SQL statement is empty"));
        return NULL;
    }
    NL_TRY(new_statement(self, request, &made));
    nl_builder body;
    nl_builder_init(&body, 1 << 20);
    nl_mutex_lock(&self->mutex);
    sweep(self);
    const bool is_full = self->statement_count >= NL_TRINO_STATEMENTS_MAX;
    if (!is_full) {
        made->id = make_id(made->arena, ++self->number % 100000);
        made->next = self->first;
        self->first = made;
        self->statement_count++;
        write_answer(&body, made, 1, (nl_str){0});
    }
    nl_mutex_unlock(&self->mutex);
    if (is_full) {
        nl_builder_fini(&body);
        release(made);
        release(made);
        nl_reply_text(request, reply, 503, "text/plain", NL_STR("Too many statements are running"));
        return NULL;
    }
    nl_task_group_add(self->tasks, run_task, made);
    reply_json(request, reply, nl_builder_str(&body));
    nl_builder_fini(&body);
    return NULL;
}

/* The mutex is held. */
static void wait_for_page(nl_trino *self, const nl_trino_statement *statement)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_MS / 1000;
    int waited = 0;
    while (!statement->has_ready && !statement->is_done && waited == 0) waited = pthread_cond_timedwait(&self->changed, &self->mutex, &until);
}

/* The mutex is held. *body: the answer for this token. */
static void answer_page(nl_trino_statement *statement, uint64_t token, nl_builder *body)
{
    nl_str rows = {0};
    const bool has_page = statement->has_ready;
    if (has_page) rows = nl_builder_str(&statement->ready);
    statement->has_ready = false;
    const bool is_last = statement->is_done;
    statement->is_over = is_last;
    write_answer(body, statement, is_last ? 0 : has_page ? token + 1 : token, rows);
    if (has_page) nl_builder_clear(&statement->ready);
    pthread_cond_broadcast(&statement->trino->changed);
    if (!has_page && !is_last) return;
    free(NL_UNCONST(statement->served.data));
    char *copy = malloc(body->length + 1);
    if (copy) memcpy(copy, body->data, body->length);
    statement->served = (nl_str){copy, copy ? body->length : 0};
    statement->served_token = token;
}

static void add_headers(nl_request *request, nl_reply *reply, const nl_trino_statement *statement)
{
    for (uint32_t i = 0; statement->is_done && i < statement->header_count; i++)
        nl_reply_header(request, reply, nl_str_c(request->arena, statement->headers[i].key), statement->headers[i].value);
}

static void get_page(nl_trino *self, nl_trino_statement *statement, uint64_t token, nl_request *request, nl_reply *reply)
{
    nl_builder body;
    nl_builder_init(&body, SIZE_MAX);
    nl_mutex_lock(&self->mutex);
    statement->asked_ms = now_ms();
    bool is_gone = false;
    if (token == statement->served_token && statement->served.data) {
        nl_append(&body, statement->served);
    } else if (token == statement->served_token + 1) {
        wait_for_page(self, statement);
        answer_page(statement, token, &body);
    } else {
        is_gone = true;
    }
    add_headers(request, reply, statement);
    nl_mutex_unlock(&self->mutex);
    if (is_gone) nl_reply_text(request, reply, 410, "text/plain", NL_STR("That page has gone"));
    else reply_json(request, reply, nl_builder_str(&body));
    nl_builder_fini(&body);
}

/* Counted for the caller; NULL: none of that id and slug. */
static nl_trino_statement *find(nl_trino *self, nl_str id, nl_str slug)
{
    nl_trino_statement *found = NULL;
    nl_mutex_lock(&self->mutex);
    for (nl_trino_statement *statement = self->first; statement && !found; statement = statement->next)
        if (nl_str_equal(statement->id, id) && nl_same_secret(statement->slug, slug)) found = statement;
    if (found) atomic_fetch_add(&found->references, 1);
    nl_mutex_unlock(&self->mutex);
    return found;
}

static void follow(nl_trino *self, const nl_str *segments, nl_request *request, nl_reply *reply)
{
    int64_t token = 0;
    nl_trino_statement *statement = find(self, segments[3], segments[4]);
    if (!statement || !nl_parse_int64(segments[5], &token) || token < 1) {
        nl_reply_text(request, reply, 404, "text/plain", NL_STR("Query not found"));
    } else if (nl_str_is(request->method, "DELETE")) {
        nl_mutex_lock(&self->mutex);
        cancel(statement);
        nl_mutex_unlock(&self->mutex);
        reply->status = 204;
    } else {
        get_page(self, statement, (uint64_t)token, request, reply);
    }
    if (statement) release(statement);
}

static void info(nl_request *request, nl_reply *reply)
{
    reply_json(request, reply, NL_STR("{\"nodeVersion\":{\"version\":\"nilas " NILAS_VERSION "\"},\"environment\":\"nilas\",\"coordinator\":true,\"starting\":false,\"uptime\":\"1.00m\"}"));
}

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    nl_trino *self = NL_CONTAINER(service, nl_trino, base);
    const nl_str *segments = NULL;
    uint32_t count = 0;
    NL_TRY(nl_request_segments(request, &segments, &count));
    const bool is_post = nl_str_is(request->method, "POST");
    const bool is_statement = count >= 2 && nl_str_is(segments[0], "v1") && nl_str_is(segments[1], "statement");
    if (is_statement && count == 2 && is_post) return post_statement(self, request, reply);
    if (is_statement && count == 6 && nl_str_is(segments[2], "executing") && !is_post) follow(self, segments, request, reply);
    else if (count == 2 && nl_str_is(segments[0], "v1") && (nl_str_is(segments[1], "info") || nl_str_is(segments[1], "status")) && !is_post) info(request, reply);
    else nl_reply_text(request, reply, 404, "text/plain", NL_STR("There is nothing here."));
    return NULL;
}

static nl_status begin(nl_service *service, nl_request *request, bool *is_streamed, nl_reply *reply)
{
    (void)is_streamed;
    const nl_lakehouse_keys *keys = &NL_CONTAINER(service, nl_trino, base)->keys;
    if (!keys->is_strict) return NULL;
    const nl_str pair = nl_arena_f(request->arena, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(keys->access_key), NL_STR_ARG(keys->secret_key));
    const nl_str expected = nl_arena_f(request->arena, "Basic " NL_STR_FMT, NL_STR_ARG(nl_base64_encode(request->arena, (nl_bytes){(const uint8_t *)pair.data, pair.length})));
    if (nl_same_secret(nl_request_header(request, "Authorization"), expected)) return NULL;
    nl_reply_header(request, reply, "WWW-Authenticate", NL_STR("Basic realm=\"nilas\""));
    nl_reply_text(request, reply, 401, "text/plain", NL_STR("Log in with the access key as the user and the secret key as the password."));
    return NULL;
}

static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service;
    nl_reply_text(request, reply, nl_error_kind_of(error) == NL_KIND_INTERNAL ? 500 : 400, "text/plain; charset=utf-8", nl_str_from(nl_error_message(error)));
}

static void free_service(nl_service *service)
{
    nl_trino *self = NL_CONTAINER(service, nl_trino, base);
    nl_mutex_lock(&self->mutex);
    for (nl_trino_statement *statement = self->first; statement; statement = statement->next) cancel(statement);
    nl_mutex_unlock(&self->mutex);
    nl_error_free(nl_task_group_wait(self->tasks));
    nl_pool_free(self->pool);
    while (self->first) {
        nl_trino_statement *statement = self->first;
        self->first = statement->next;
        release(statement);
    }
    pthread_cond_destroy(&self->changed);
    nl_mutex_fini(&self->mutex);
    nl_memory_release(self->memory);
    free(self);
}

static const nl_service_ops trino_ops = {.name = "trino", .default_port = 8485, .begin = begin, .answer = answer, .fail = fail, .free = free_service};

nl_status nl_trino_service_new(nl_tables *tables, nl_queries *queries, const nl_lakehouse_keys *keys, nl_service **service)
{
    nl_trino *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &trino_ops;
    made->tables = tables;
    made->queries = queries;
    made->keys = *keys;
    made->memory = nl_memory_new(NULL, "trino", SIZE_MAX);
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->changed, NULL);
    made->pool = nl_pool_new(NL_TRINO_WORKERS, "nilas-trino");
    made->tasks = nl_task_group_new(made->pool, NULL);
    *service = &made->base;
    return NULL;
}
