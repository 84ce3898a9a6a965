/* connect/streaming.c - see streaming.h. Lock order: the client's streams, then what nl_operation_add takes. A query's own lock is
 * never held when it calls here. */
#include "connect/streaming_private.h"

#include <stdlib.h>
#include <string.h>

#include "connect/translate.h"
#include "base/calendar.h"
#include "base/log.h"

#define STOP_WAIT_MICROS 60000000ll

typedef Spark__Connect__ExecutePlanResponse execute_response;
typedef Spark__Connect__StreamingQueryCommandResult query_result;

typedef struct stream_entry {
    struct stream_entry *next;
    nl_stream_query *query; /* counted */
    char *checkpoint;       /* as given; NULL: none */
    bool is_joined;
} stream_entry;

typedef enum wait_kind { WAIT_ENDED, WAIT_STOPPED, WAIT_PROCESSED, WAIT_ANY } wait_kind;

typedef struct waiter {
    struct waiter *next;
    wait_kind kind;
    nl_operation *operation; /* counted */
    nl_stream_query *query;  /* counted; NULL: WAIT_ANY */
    int64_t ticket, deadline_micros; /* 0: none */
} waiter;

struct nl_streams {
    nl_mutex mutex;
    stream_entry *entries;
    waiter *waiters;
    nl_operation *listener;      /* counted; or NULL */
    nl_stream_query *last_ended; /* counted; since the last resetTerminated */
    bool is_closed;
};

/* ---- answers ------------------------------------------------------------------------------------------------------ */

static nl_status add_complete(nl_operation *operation)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__ExecutePlanResponse__ResultComplete complete = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESULT_COMPLETE__INIT;
    if (!operation->is_reattachable) return NULL;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_RESULT_COMPLETE;
    response.result_complete = &complete;
    return nl_operation_add(operation, &response);
}

static void end_operation(nl_operation *operation, nl_status status)
{
    if (!status) status = add_complete(operation);
    nl_operation_finish(operation, status);
}

static nl_status add_query_result(nl_operation *operation, const nl_stream_query *query, query_result *result)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__StreamingQueryInstanceId id = SPARK__CONNECT__STREAMING_QUERY_INSTANCE_ID__INIT;
    id.id = NL_UNCONST(nl_stream_query_id(query));
    id.run_id = NL_UNCONST(nl_stream_query_run_id(query));
    result->query_id = &id;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_STREAMING_QUERY_COMMAND_RESULT;
    response.streaming_query_command_result = result;
    return nl_operation_add(operation, &response);
}

static nl_status add_manager_result(nl_operation *operation, Spark__Connect__StreamingQueryManagerCommandResult *result)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_STREAMING_QUERY_MANAGER_COMMAND_RESULT;
    response.streaming_query_manager_command_result = result;
    return nl_operation_add(operation, &response);
}

static nl_status add_listener_result(nl_operation *operation, Spark__Connect__StreamingQueryListenerEventsResult *result)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_STREAMING_QUERY_LISTENER_EVENTS_RESULT;
    response.streaming_query_listener_events_result = result;
    return nl_operation_add(operation, &response);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

static nl_status answer_ended(const waiter *w, bool is_over)
{
    query_result result = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__INIT;
    Spark__Connect__StreamingQueryCommandResult__AwaitTerminationResult ended = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__AWAIT_TERMINATION_RESULT__INIT;
    if (is_over) {
        nl_error *failure = nl_stream_query_failure(w->query);
        if (failure) return failure;
    }
    ended.has_terminated = true;
    ended.terminated = is_over;
    result.await_termination = &ended;
    result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RESULT_TYPE_AWAIT_TERMINATION;
    return add_query_result(w->operation, w->query, &result);
}

static nl_status answer_any(const waiter *w, nl_stream_query *ended)
{
    Spark__Connect__StreamingQueryManagerCommandResult result = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__INIT;
    Spark__Connect__StreamingQueryManagerCommandResult__AwaitAnyTerminationResult any = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__AWAIT_ANY_TERMINATION_RESULT__INIT;
    nl_error *failure = ended ? nl_stream_query_failure(ended) : NULL;
    if (failure) return failure;
    any.has_terminated = true;
    any.terminated = ended != NULL;
    result.await_any_termination = &any;
    result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__RESULT_TYPE_AWAIT_ANY_TERMINATION;
    return add_manager_result(w->operation, &result);
}

static nl_status answer_waiter(const waiter *w, nl_stream_query *last_ended)
{
    query_result result = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__INIT;
    nl_error *failure = NULL;
    switch (w->kind) {
    case WAIT_ENDED: return answer_ended(w, !nl_stream_query_is_active(w->query));
    case WAIT_ANY: return answer_any(w, last_ended);
    case WAIT_PROCESSED: failure = nl_stream_query_failure(w->query); break;
    case WAIT_STOPPED:
    default: break;
    }
    return failure ? failure : add_query_result(w->operation, w->query, &result);
}

static bool is_ready(const nl_streams *streams, const waiter *w, int64_t now)
{
    if (nl_cancel_is_set(w->operation->cancel) || (w->deadline_micros && now >= w->deadline_micros)) return true;
    if (w->kind == WAIT_ANY) return streams->last_ended != NULL;
    return w->kind == WAIT_PROCESSED ? nl_stream_query_has_processed(w->query, w->ticket) : !nl_stream_query_is_active(w->query);
}

static void answer_ready(nl_streams *streams)
{
    const int64_t now = nl_now_micros();
    waiter *ready = NULL;
    nl_mutex_lock(&streams->mutex);
    for (waiter **link = &streams->waiters; *link;) {
        waiter *w = *link;
        if (!streams->is_closed && !is_ready(streams, w, now)) {
            link = &w->next;
            continue;
        }
        *link = w->next;
        w->next = ready;
        ready = w;
    }
    nl_stream_query *ended = streams->last_ended ? nl_stream_query_retain(streams->last_ended) : NULL;
    nl_mutex_unlock(&streams->mutex);
    while (ready) {
        waiter *w = ready;
        ready = w->next;
        end_operation(w->operation, nl_cancel_is_set(w->operation->cancel) ? NL_RAISE(OPERATION_CANCELED) : answer_waiter(w, ended));
        nl_operation_release(w->operation);
        nl_stream_query_release(w->query);
        free(w);
    }
    nl_stream_query_release(ended);
}

static nl_status wait_for(nl_streams *streams, nl_operation *operation, const waiter *like)
{
    waiter *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    *made = *like;
    made->operation = nl_operation_retain(operation);
    if (made->query) made->query = nl_stream_query_retain(made->query);
    nl_mutex_lock(&streams->mutex);
    made->next = streams->waiters;
    streams->waiters = made;
    nl_mutex_unlock(&streams->mutex);
    answer_ready(streams);
    return NULL;
}

/* ---- listening ---------------------------------------------------------------------------------------------------- */

static void send_event(nl_streams *streams, nl_str json, Spark__Connect__StreamingQueryEventType type)
{
    Spark__Connect__StreamingQueryListenerEventsResult result = SPARK__CONNECT__STREAMING_QUERY_LISTENER_EVENTS_RESULT__INIT;
    Spark__Connect__StreamingQueryListenerEvent event = SPARK__CONNECT__STREAMING_QUERY_LISTENER_EVENT__INIT, *events[] = {&event};
    nl_builder text;
    nl_builder_init(&text, SIZE_MAX);
    nl_append(&text, json);
    event.event_json = NL_UNCONST(nl_builder_c(&text));
    event.has_event_type = true;
    event.event_type = type;
    result.n_events = 1;
    result.events = events;
    nl_mutex_lock(&streams->mutex); /* one adds at a time */
    nl_operation *gone = NULL;
    if (streams->listener && nl_cancel_is_set(streams->listener->cancel)) {
        gone = streams->listener;
        streams->listener = NULL;
    }
    if (streams->listener) nl_error_free(add_listener_result(streams->listener, &result));
    nl_mutex_unlock(&streams->mutex);
    if (gone) nl_operation_release(gone);
    nl_builder_fini(&text);
}

void nl_streams_notify(nl_streams *streams, nl_stream_query *query, nl_stream_event event, nl_str json)
{
    nl_stream_query *before = NULL;
    if (event == NL_STREAM_STARTED) return; /* told with the answer */
    if (event == NL_STREAM_TERMINATED) {
        nl_mutex_lock(&streams->mutex);
        before = streams->last_ended;
        streams->last_ended = nl_stream_query_retain(query);
        nl_mutex_unlock(&streams->mutex);
    }
    if (json.length)
        send_event(streams, json,
                   event == NL_STREAM_PROGRESS ? SPARK__CONNECT__STREAMING_QUERY_EVENT_TYPE__QUERY_PROGRESS_EVENT
                   : event == NL_STREAM_IDLE   ? SPARK__CONNECT__STREAMING_QUERY_EVENT_TYPE__QUERY_IDLE_EVENT
                                               : SPARK__CONNECT__STREAMING_QUERY_EVENT_TYPE__QUERY_TERMINATED_EVENT);
    answer_ready(streams);
    nl_stream_query_release(before);
}

static nl_status bus_command(nl_streams *streams, nl_operation *operation, const Spark__Connect__StreamingQueryListenerBusCommand *message)
{
    Spark__Connect__StreamingQueryListenerEventsResult result = SPARK__CONNECT__STREAMING_QUERY_LISTENER_EVENTS_RESULT__INIT;
    const bool adds = message->command_case == SPARK__CONNECT__STREAMING_QUERY_LISTENER_BUS_COMMAND__COMMAND_ADD_LISTENER_BUS_LISTENER;
    nl_mutex_lock(&streams->mutex);
    nl_operation *before = streams->listener;
    streams->listener = adds ? nl_operation_retain(operation) : NULL;
    nl_status status = NULL;
    if (adds) {
        result.has_listener_bus_listener_added = result.listener_bus_listener_added = true;
        status = add_listener_result(operation, &result);
    }
    nl_mutex_unlock(&streams->mutex);
    if (before) {
        end_operation(before, NULL);
        nl_operation_release(before);
    }
    if (!adds || status) end_operation(operation, status);
    return NULL;
}

/* ---- questions ---------------------------------------------------------------------------------------------------- */

/* Counted; NULL when there is none. run_id empty: the newest run. */
static nl_stream_query *find_query(nl_streams *streams, nl_str id, nl_str run_id, bool is_active_only)
{
    nl_stream_query *found = NULL;
    nl_mutex_lock(&streams->mutex);
    for (stream_entry *entry = streams->entries; entry && !found; entry = entry->next) { /* the newest first */
        const bool is_same = nl_str_is(id, nl_stream_query_id(entry->query)) && (!run_id.length || nl_str_is(run_id, nl_stream_query_run_id(entry->query)));
        if (is_same && (!is_active_only || nl_stream_query_is_active(entry->query))) found = nl_stream_query_retain(entry->query);
    }
    nl_mutex_unlock(&streams->mutex);
    return found;
}

static nl_status answer_status(nl_operation *operation, nl_stream_query *query, query_result *result)
{
    Spark__Connect__StreamingQueryCommandResult__StatusResult message = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__STATUS_RESULT__INIT;
    nl_stream_status status;
    nl_stream_query_status(query, operation->arena, &status);
    message.status_message = NL_UNCONST(nl_str_c(operation->arena, status.message));
    message.has_is_data_available = message.has_is_trigger_active = message.has_is_active = true;
    message.is_data_available = status.is_data_available;
    message.is_trigger_active = status.is_trigger_active;
    message.is_active = status.is_active;
    result->status = &message;
    result->result_type_case = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RESULT_TYPE_STATUS;
    return add_query_result(operation, query, result);
}

static nl_status answer_progress(nl_operation *operation, nl_stream_query *query, bool is_last, query_result *result)
{
    Spark__Connect__StreamingQueryCommandResult__RecentProgressResult message = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RECENT_PROGRESS_RESULT__INIT;
    const nl_str *texts = NULL;
    uint32_t count = 0;
    nl_stream_query_progress(query, operation->arena, is_last, &texts, &count);
    message.recent_progress_json = NL_NEW_ARRAY(operation->arena, char *, (size_t)count + 1);
    for (uint32_t i = 0; i < count; i++) message.recent_progress_json[message.n_recent_progress_json++] = NL_UNCONST(texts[i].data);
    result->recent_progress = &message;
    result->result_type_case = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RESULT_TYPE_RECENT_PROGRESS;
    return add_query_result(operation, query, result);
}

static nl_status answer_exception(nl_operation *operation, nl_stream_query *query, query_result *result)
{
    Spark__Connect__StreamingQueryCommandResult__ExceptionResult message = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__EXCEPTION_RESULT__INIT;
    char condition[] = "STREAM_FAILED";
    nl_error *failure = nl_stream_query_failure(query);
    if (failure) {
        const char *text = nl_error_param(failure, "message");
        message.exception_message = NL_UNCONST(nl_arena_f(operation->arena, "org.apache.spark.sql.streaming.StreamingQueryException: %s", text ? text : "").data);
        message.error_class = condition;
        nl_error_free(failure);
    }
    result->exception = &message;
    result->result_type_case = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RESULT_TYPE_EXCEPTION;
    return add_query_result(operation, query, result);
}

static nl_status answer_explain(nl_operation *operation, nl_stream_query *query, bool is_extended, query_result *result)
{
    Spark__Connect__StreamingQueryCommandResult__ExplainResult message = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__EXPLAIN_RESULT__INIT;
    message.result = NL_UNCONST(nl_str_c(operation->arena, nl_stream_query_explain(query, operation->arena, is_extended)));
    result->explain = &message;
    result->result_type_case = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__RESULT_TYPE_EXPLAIN;
    return add_query_result(operation, query, result);
}

/* *waits: the operation ends later. */
static nl_status ask_query(nl_streams *streams, nl_operation *operation, nl_stream_query *query, const Spark__Connect__StreamingQueryCommand *message, bool *waits)
{
    query_result result = SPARK__CONNECT__STREAMING_QUERY_COMMAND_RESULT__INIT;
    waiter w = {.query = query};
    switch ((int)message->command_case) {
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_STATUS: return answer_status(operation, query, &result);
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_LAST_PROGRESS: return answer_progress(operation, query, true, &result);
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_RECENT_PROGRESS: return answer_progress(operation, query, false, &result);
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_EXCEPTION: return answer_exception(operation, query, &result);
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_EXPLAIN: return answer_explain(operation, query, message->explain->has_extended && message->explain->extended, &result);
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_STOP:
        nl_stream_query_stop(query);
        w.kind = WAIT_STOPPED;
        w.deadline_micros = nl_now_micros() + STOP_WAIT_MICROS;
        break;
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_PROCESS_ALL_AVAILABLE:
        w.kind = WAIT_PROCESSED;
        w.ticket = nl_stream_query_ask(query);
        break;
    case SPARK__CONNECT__STREAMING_QUERY_COMMAND__COMMAND_AWAIT_TERMINATION:
        w.kind = WAIT_ENDED;
        if (message->await_termination->has_timeout_ms) w.deadline_micros = nl_now_micros() + message->await_termination->timeout_ms * 1000;
        break;
    default: return nl_connect_invalid("Unknown command COMMAND_NOT_SET");
    }
    *waits = true;
    return wait_for(streams, operation, &w);
}

static nl_status query_command(nl_streams *streams, nl_operation *operation, const Spark__Connect__StreamingQueryCommand *message, bool *waits)
{
    const nl_str id = nl_message_text(message->query_id ? message->query_id->id : NULL), run_id = nl_message_text(message->query_id ? message->query_id->run_id : NULL);
    nl_stream_query *query = find_query(streams, id, run_id, false);
    if (!query) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Streaming query " NL_STR_FMT " is not found", NL_STR_ARG(id));
    nl_status status = ask_query(streams, operation, query, message, waits);
    nl_stream_query_release(query);
    return status;
}

typedef Spark__Connect__StreamingQueryManagerCommandResult__StreamingQueryInstance query_instance;

static query_instance *instance_of(nl_arena *arena, const nl_stream_query *query)
{
    query_instance *made = NL_NEW(arena, query_instance);
    Spark__Connect__StreamingQueryInstanceId *id = NL_NEW(arena, Spark__Connect__StreamingQueryInstanceId);
    spark__connect__streaming_query_manager_command_result__streaming_query_instance__init(made);
    spark__connect__streaming_query_instance_id__init(id);
    id->id = NL_UNCONST(nl_str_c(arena, nl_str_from(nl_stream_query_id(query))));
    id->run_id = NL_UNCONST(nl_str_c(arena, nl_str_from(nl_stream_query_run_id(query))));
    made->id = id;
    const nl_str name = nl_stream_query_name(query);
    if (name.length) made->name = NL_UNCONST(nl_str_c(arena, name));
    return made;
}

static nl_status answer_active(nl_streams *streams, nl_operation *operation)
{
    Spark__Connect__StreamingQueryManagerCommandResult result = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__INIT;
    Spark__Connect__StreamingQueryManagerCommandResult__ActiveResult active = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__ACTIVE_RESULT__INIT;
    uint32_t count = 0;
    nl_mutex_lock(&streams->mutex);
    for (const stream_entry *entry = streams->entries; entry; entry = entry->next) count++;
    active.active_queries = NL_NEW_ARRAY(operation->arena, query_instance *, (size_t)count + 1);
    for (const stream_entry *entry = streams->entries; entry; entry = entry->next)
        if (nl_stream_query_is_active(entry->query)) active.active_queries[active.n_active_queries++] = instance_of(operation->arena, entry->query);
    nl_mutex_unlock(&streams->mutex);
    result.active = &active;
    result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__RESULT_TYPE_ACTIVE;
    return add_manager_result(operation, &result);
}

static nl_status answer_get(nl_streams *streams, nl_operation *operation, nl_str id)
{
    Spark__Connect__StreamingQueryManagerCommandResult result = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__INIT;
    nl_stream_query *query = find_query(streams, id, (nl_str){0}, true);
    if (query) {
        result.query = instance_of(operation->arena, query);
        result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__RESULT_TYPE_QUERY;
    }
    nl_status status = add_manager_result(operation, &result);
    nl_stream_query_release(query);
    return status;
}

static nl_status answer_reset(nl_streams *streams, nl_operation *operation)
{
    Spark__Connect__StreamingQueryManagerCommandResult result = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__INIT;
    nl_mutex_lock(&streams->mutex);
    nl_stream_query *before = streams->last_ended;
    streams->last_ended = NULL;
    nl_mutex_unlock(&streams->mutex);
    nl_stream_query_release(before);
    result.reset_terminated = true;
    result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__RESULT_TYPE_RESET_TERMINATED;
    return add_manager_result(operation, &result);
}

static nl_status answer_listeners(nl_operation *operation)
{
    Spark__Connect__StreamingQueryManagerCommandResult result = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__INIT;
    Spark__Connect__StreamingQueryManagerCommandResult__ListStreamingQueryListenerResult list = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__LIST_STREAMING_QUERY_LISTENER_RESULT__INIT;
    result.list_listeners = &list;
    result.result_type_case = SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND_RESULT__RESULT_TYPE_LIST_LISTENERS;
    return add_manager_result(operation, &result);
}

static nl_status manager_command(nl_streams *streams, nl_operation *operation, const Spark__Connect__StreamingQueryManagerCommand *message, bool *waits)
{
    waiter w = {.kind = WAIT_ANY};
    switch ((int)message->command_case) {
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_ACTIVE: return answer_active(streams, operation);
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_GET_QUERY: return answer_get(streams, operation, nl_message_text(message->get_query));
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_RESET_TERMINATED: return answer_reset(streams, operation);
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_LIST_LISTENERS: return answer_listeners(operation);
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_AWAIT_ANY_TERMINATION:
        if (message->await_any_termination->has_timeout_ms) w.deadline_micros = nl_now_micros() + message->await_any_termination->timeout_ms * 1000;
        *waits = true;
        return wait_for(streams, operation, &w);
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_ADD_LISTENER:
    case SPARK__CONNECT__STREAMING_QUERY_MANAGER_COMMAND__COMMAND_REMOVE_LISTENER: return nl_connect_unsupported("listeners that run in the server");
    default: return nl_connect_invalid("Unknown command COMMAND_NOT_SET");
    }
}

bool nl_stream_is_asked(const Spark__Connect__Plan *plan)
{
    if (!plan || plan->op_type_case != SPARK__CONNECT__PLAN__OP_TYPE_COMMAND || !plan->command) return false;
    return plan->command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_COMMAND ||
           plan->command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_MANAGER_COMMAND ||
           plan->command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_LISTENER_BUS_COMMAND;
}

nl_status nl_stream_operation_run(void *argument, uint32_t worker)
{
    nl_operation *operation = argument;
    nl_streams *streams = operation->client->streams;
    const Spark__Connect__Command *command = operation->request->plan->command;
    bool waits = false;
    nl_status status = NULL;
    (void)worker;
    if (command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_COMMAND) {
        status = query_command(streams, operation, command->streaming_query_command, &waits);
    } else if (command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_STREAMING_QUERY_MANAGER_COMMAND) {
        status = manager_command(streams, operation, command->streaming_query_manager_command, &waits);
    } else {
        status = bus_command(streams, operation, command->streaming_query_listener_bus_command);
        waits = true;
    }
    if (!waits || status) end_operation(operation, status);
    nl_operation_release(operation);
    return NULL;
}

/* ---- start -------------------------------------------------------------------------------------------------------- */

/* A name may be in use once; a run on the same checkpoint ends before this one begins, as Spark has it. */
static nl_status make_way(nl_streams *streams, const nl_stream_options *options, nl_str checkpoint)
{
    nl_stream_query *older = NULL;
    bool is_named = false;
    nl_mutex_lock(&streams->mutex);
    for (stream_entry *entry = streams->entries; entry && !older; entry = entry->next) {
        if (!nl_stream_query_is_active(entry->query)) continue;
        is_named = is_named || (options->name.length && nl_str_equal(options->name, nl_stream_query_name(entry->query)));
        if (checkpoint.length && entry->checkpoint && nl_str_is(checkpoint, entry->checkpoint)) older = nl_stream_query_retain(entry->query);
    }
    nl_mutex_unlock(&streams->mutex);
    if (older) {
        nl_log(NL_LOG_WARN, "the streaming query %s is stopped: another run begins on its checkpoint", nl_stream_query_id(older));
        nl_stream_query_stop(older);
        nl_stream_query_join(older);
        nl_stream_query_release(older);
        return NULL;
    }
    if (is_named) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot start query with name " NL_STR_FMT " as a query with that name is already active in this SparkSession", NL_STR_ARG(options->name));
    return NULL;
}

static nl_status add_start_result(nl_operation *operation, const nl_stream_query *query)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__WriteStreamOperationStartResult result = SPARK__CONNECT__WRITE_STREAM_OPERATION_START_RESULT__INIT;
    Spark__Connect__StreamingQueryInstanceId id = SPARK__CONNECT__STREAMING_QUERY_INSTANCE_ID__INIT;
    const nl_str name = nl_stream_query_name(query);
    id.id = NL_UNCONST(nl_stream_query_id(query));
    id.run_id = NL_UNCONST(nl_stream_query_run_id(query));
    result.query_id = &id;
    result.name = NL_UNCONST(nl_str_c(operation->arena, name));
    result.query_started_event_json = NL_UNCONST(nl_str_c(operation->arena, nl_stream_query_started(query, operation->arena)));
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_WRITE_STREAM_OPERATION_START_RESULT;
    response.write_stream_operation_start_result = &result;
    return nl_operation_add(operation, &response);
}

/* Takes query. */
static nl_status enter_query(nl_streams *streams, nl_stream_query *query, nl_str checkpoint)
{
    stream_entry *entry = calloc(1, sizeof *entry);
    if (entry) *entry = (stream_entry){.query = query, .checkpoint = checkpoint.length ? strndup(checkpoint.data, checkpoint.length) : NULL};
    nl_mutex_lock(&streams->mutex);
    const bool is_closed = streams->is_closed || !entry;
    if (!is_closed) {
        entry->next = streams->entries;
        streams->entries = entry;
    }
    nl_mutex_unlock(&streams->mutex);
    if (!is_closed) return NULL;
    free(entry ? entry->checkpoint : NULL);
    free(entry);
    nl_stream_query_stop(query);
    nl_stream_query_release(query);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The session ends.");
}

nl_status nl_stream_start(nl_operation *operation, const Spark__Connect__WriteStreamOperationStart *message)
{
    nl_client *client = operation->client;
    nl_session *session = NULL;
    nl_stream_options options = {0};
    nl_stream_host *host = NULL;
    nl_stream_query *query = NULL;
    NL_TRY(nl_client_session(client, &session));
    NL_TRY(nl_stream_options_take(message, session, operation->arena, &options));
    const nl_str checkpoint = nl_stream_message_option(message, "checkpointLocation");
    NL_TRY(make_way(client->streams, &options, checkpoint));
    NL_TRY(nl_stream_host_new(client, session, message, &host));
    nl_status status = nl_stream_query_start(session, host, &options, &query);
    if (status) {
        host->free(host);
        return status;
    }
    status = add_start_result(operation, query);
    nl_status entered = enter_query(client->streams, query, checkpoint);
    if (!status) return entered;
    nl_error_free(entered);
    return status;
}

/* ---- a client's streams ------------------------------------------------------------------------------------------- */

nl_streams *nl_streams_new(void)
{
    nl_streams *made = calloc(1, sizeof *made);
    if (made) nl_mutex_init(&made->mutex);
    return made;
}

bool nl_streams_is_active(nl_streams *streams)
{
    bool is_active = false;
    nl_mutex_lock(&streams->mutex);
    for (const stream_entry *entry = streams->entries; entry && !is_active; entry = entry->next) is_active = nl_stream_query_is_active(entry->query);
    nl_mutex_unlock(&streams->mutex);
    return is_active;
}

void nl_streams_tick(nl_streams *streams)
{
    nl_mutex_lock(&streams->mutex);
    const bool has_waiters = streams->waiters != NULL;
    nl_mutex_unlock(&streams->mutex);
    if (has_waiters) answer_ready(streams);
}

void nl_streams_stop(nl_streams *streams)
{
    nl_mutex_lock(&streams->mutex);
    streams->is_closed = true;
    stream_entry *entries = streams->entries;
    nl_operation *listener = streams->listener;
    nl_stream_query *ended = streams->last_ended;
    streams->entries = NULL;
    streams->listener = NULL;
    streams->last_ended = NULL;
    nl_mutex_unlock(&streams->mutex);
    for (const stream_entry *entry = entries; entry; entry = entry->next) nl_stream_query_stop(entry->query);
    while (entries) {
        stream_entry *entry = entries;
        entries = entry->next;
        nl_stream_query_join(entry->query);
        nl_stream_query_release(entry->query);
        free(entry->checkpoint);
        free(entry);
    }
    nl_stream_query_release(ended);
    nl_mutex_lock(&streams->mutex); /* what the last of them have left */
    ended = streams->last_ended;
    streams->last_ended = NULL;
    nl_mutex_unlock(&streams->mutex);
    nl_stream_query_release(ended);
    answer_ready(streams);
    if (listener) {
        end_operation(listener, NULL);
        nl_operation_release(listener);
    }
}

void nl_streams_free(nl_streams *streams)
{
    if (!streams) return;
    nl_mutex_fini(&streams->mutex);
    free(streams);
}
