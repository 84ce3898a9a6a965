/* connect/stream_host.c - what a streaming query asks of its client: the lane, its DataFrame, the user's function, the console. */
#include "connect/streaming_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "connect/captured.h"
#include "connect/show.h"
#include "connect/translate.h"

typedef struct stream_host {
    nl_stream_host base;
    nl_client *client;                 /* counted */
    nl_connect_captured *captured;     /* owned: the relation, and the views that it names */
    nl_stream_function *function;      /* owned; or NULL */
} stream_host;

/* A task of the lane that somebody waits for; both hold it. */
typedef struct lane_call {
    atomic_int references;
    nl_status (*run)(void *argument, nl_session *session);
    void *argument;
    nl_cancel *cancel; /* counted */
    nl_status status;
    bool has_begun, is_done, is_given_up;
    nl_mutex mutex;
    pthread_cond_t done;
} lane_call;

static void release_call(lane_call *call)
{
    if (atomic_fetch_sub(&call->references, 1) != 1) return;
    nl_cancel_release(call->cancel);
    pthread_cond_destroy(&call->done);
    nl_mutex_fini(&call->mutex);
    free(call);
}

static void run_call(nl_client *client, void *argument)
{
    lane_call *call = argument;
    nl_session *session = NULL;
    nl_mutex_lock(&call->mutex);
    call->has_begun = true;
    const bool is_given_up = call->is_given_up;
    nl_mutex_unlock(&call->mutex);
    if (!is_given_up) {
        nl_status status = nl_client_session(client, &session);
        if (!status) {
            nl_session_begin_with(session, call->cancel, NULL);
            status = call->run(call->argument, session);
        }
        nl_mutex_lock(&call->mutex);
        call->status = status;
        call->is_done = true;
        pthread_cond_signal(&call->done);
        nl_mutex_unlock(&call->mutex);
    }
    release_call(call);
}

static void wait_moment(lane_call *call)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 50000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&call->done, &call->mutex, &until);
}

/* A cancelled call that has not begun is given up: the lane may be waiting for this very query to end. */
static nl_status await_call(lane_call *call)
{
    nl_status status = NULL;
    nl_mutex_lock(&call->mutex);
    while (!call->is_done && !(call->is_given_up = !call->has_begun && nl_cancel_is_set(call->cancel))) wait_moment(call);
    status = call->is_done ? call->status : NL_RAISE(OPERATION_CANCELED);
    nl_mutex_unlock(&call->mutex);
    return status;
}

static nl_status in_session(nl_stream_host *base, nl_cancel *cancel, nl_status (*run)(void *argument, nl_session *session), void *argument)
{
    stream_host *self = NL_CONTAINER(base, stream_host, base);
    lane_call *call = calloc(1, sizeof *call);
    if (!call) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *call), NL_P("receivedBytes", "0"));
    atomic_init(&call->references, 2);
    call->run = run;
    call->argument = argument;
    call->cancel = nl_cancel_retain(cancel);
    nl_mutex_init(&call->mutex);
    pthread_cond_init(&call->done, NULL);
    if (!nl_client_enqueue(self->client, true, run_call, call)) {
        release_call(call);
        release_call(call);
        return NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", self->client->id));
    }
    nl_status status = await_call(call);
    release_call(call);
    return status;
}

static nl_status make_query(nl_stream_host *base, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text)
{
    return nl_connect_captured_query(NL_CONTAINER(base, stream_host, base)->captured, session, arena, query, text);
}

/* ---- what happens to a batch ---- */

typedef struct handed_rows {
    nl_connect_host *host;
    nl_kept_rows *rows;
    nl_arena *arena;
    nl_str id; /* in the arena */
} handed_rows;

static nl_status give_id(void *argument, nl_session *session)
{
    handed_rows *handed = argument;
    (void)session;
    return handed->host->put_table(handed->host, nl_kept_rows_table(handed->rows), handed->arena, &handed->id);
}

static nl_status take_id(void *argument, nl_session *session)
{
    handed_rows *handed = argument;
    (void)session;
    (void)handed->host->drop_remote(handed->host, handed->id);
    return NULL;
}

static nl_status call_function(nl_stream_host *base, nl_kept_rows *rows, int64_t batch, nl_cancel *cancel)
{
    stream_host *self = NL_CONTAINER(base, stream_host, base);
    handed_rows handed = {.host = &self->client->host, .rows = rows, .arena = nl_arena_new(NULL)};
    nl_status status = in_session(base, cancel, give_id, &handed);
    if (!status) {
        status = nl_stream_function_call(self->function, handed.id, batch, cancel);
        nl_status after = in_session(base, cancel, take_id, &handed);
        if (status)
            nl_error_free(after);
        else
            status = after;
    }
    nl_arena_free(handed.arena);
    return status;
}

typedef struct row_feed {
    nl_kept_rows *rows;
    uint32_t at;
    nl_memory *memory;
} row_feed;

static nl_status feed_next(void *context, nl_batch *batch, bool *is_done)
{
    row_feed *feed = context;
    return nl_kept_rows_batch(feed->rows, feed->at++, feed->memory, batch, is_done);
}

static void end_feed(void *context)
{
    (void)context;
}

typedef struct printing {
    row_feed feed;
    int64_t batch, row_max;
    bool is_truncated;
} printing;

static nl_status print_in(void *argument, nl_session *session)
{
    printing *p = argument;
    const nl_result_source source = {.next = feed_next, .close = end_feed, .context = &p->feed};
    const nl_show_options options = {.row_count = (int32_t)NL_MIN(p->row_max, INT32_MAX - 1), .truncate = p->is_truncated ? 20 : 0, .zone = nl_session_zone(session)};
    nl_result *result = NULL;
    nl_builder out;
    p->feed.memory = nl_session_memory(session);
    NL_TRY(nl_command_make_stream(session, NL_RESULT_QUERY, nl_kept_rows_type(p->feed.rows), &source, &result));
    nl_builder_init(&out, SIZE_MAX);
    nl_append_f(&out, "-------------------------------------------\nBatch: %lld\n-------------------------------------------\n", (long long)p->batch);
    nl_status status = nl_show_text(result, &options, &out);
    if (!status) {
        fwrite(nl_builder_str(&out).data, 1, out.length, stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    nl_builder_fini(&out);
    nl_result_close(result);
    return status;
}

static nl_status print_rows(nl_stream_host *base, nl_kept_rows *rows, int64_t batch, int64_t row_max, bool is_truncated)
{
    printing p = {.feed.rows = rows, .batch = batch, .row_max = row_max, .is_truncated = is_truncated};
    nl_cancel *cancel = nl_cancel_new(NULL);
    nl_status status = in_session(base, cancel, print_in, &p);
    nl_cancel_release(cancel);
    return status;
}

static void free_host(nl_stream_host *base)
{
    stream_host *self = NL_CONTAINER(base, stream_host, base);
    nl_stream_function_free(self->function);
    nl_connect_captured_release(self->captured);
    nl_client_release(self->client);
    free(self);
}

static void notify(nl_stream_host *base, nl_stream_query *query, nl_stream_event event, nl_str json)
{
    nl_streams_notify(NL_CONTAINER(base, stream_host, base)->client->streams, query, event, json);
}

nl_status nl_stream_host_new(nl_client *client, nl_session *session, const Spark__Connect__WriteStreamOperationStart *message, nl_stream_host **host)
{
    const Spark__Connect__StreamingForeachFunction *given = message->foreach_batch ? message->foreach_batch : message->foreach_writer;
    stream_host *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->base = (nl_stream_host){.in_session = in_session, .make_query = make_query, .call_function = call_function, .print = print_rows, .notify = notify, .free = free_host};
    made->client = nl_client_retain(client);
    nl_status status = message->input ? nl_connect_capture(&client->host, message->input, &made->captured) : nl_connect_invalid("a streaming query has no DataFrame");
    if (!status && given && given->function_case != SPARK__CONNECT__STREAMING_FOREACH_FUNCTION__FUNCTION_PYTHON_FUNCTION) status = nl_connect_unsupported("functions written in Scala");
    if (!status && given)
        status = nl_stream_function_new(client, session, &given->python_function->command, nl_message_text(given->python_function->python_ver), message->foreach_writer != NULL, &made->function);
    if (status)
        free_host(&made->base);
    else
        *host = &made->base;
    return status;
}

