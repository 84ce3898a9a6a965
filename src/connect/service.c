/* connect/service.c - requests on their way: unpacked on a thread of the service, answered there or in the client's lane. */
#include "connect/streaming.h"

#include <stdlib.h>

#include "base/calendar.h"

#define STATEMENT_THREADS_MIN 64u /* statements of different sessions that run at a time; each uses the engine's workers */
#define ANSWER_THREADS        4u
#define IDLE_SECONDS          3600
#define DETACHED_SECONDS      300

/* A kind of request: what it is, where its common fields lie, and how it is answered. */
typedef struct nl_request_row {
    const ProtobufCMessageDescriptor *descriptor;
    size_t session_id, user_context, observed; /* offsets; observed 0: there is none */
    bool may_create;
    nl_status (*in_lane)(nl_request *request, ProtobufCMessage **answer); /* with the session, in turn          */
    nl_status (*at_once)(nl_request *request, ProtobufCMessage **answer); /* beside everything else; may answer itself: *answer NULL */
} nl_request_row;

void nl_request_free(nl_request *request)
{
    nl_client_release(request->client);
    nl_rpc_release(request->rpc);
    nl_buffer_release(request->packed);
    nl_arena_free(request->arena);
    free(request);
}

void nl_request_answer(nl_request *request, const ProtobufCMessage *answer)
{
    nl_buffer *framed = NULL;
    nl_status status = nl_arena_check(request->arena);
    if (!status) status = nl_message_frame(answer, request->connect->memory, &framed);
    if (status) {
        nl_request_fail(request, status);
        return;
    }
    (void)nl_rpc_send(request->rpc, framed);
    nl_rpc_finish(request->rpc, &(nl_rpc_status){.code = NL_RPC_OK});
    nl_buffer_release(framed);
}

void nl_request_fail(nl_request *request, nl_error *error)
{
    nl_rpc_fail(request->rpc, error, request->client ? request->client->errors : NULL);
}

/* ---- ExecutePlan and its relatives -------------------------------------------------------------------------------- */

static nl_status execute(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__ExecutePlanRequest *message = (const Spark__Connect__ExecutePlanRequest *)(const void *)request->message;
    nl_operation *operation = NULL;
    (void)answer;
    NL_TRY(nl_operation_new(request->client, request->arena, message, &operation));
    const bool is_new = operation->arena == request->arena;
    if (is_new) request->arena = NULL;
    nl_status status = nl_operation_attach(operation, request->rpc, (nl_str){0});
    if (is_new && !status && nl_stream_is_asked(operation->request->plan)) {
        nl_connect_add_task(request->connect, true, nl_stream_operation_run, nl_operation_retain(operation));
    } else if (is_new && !status && !nl_client_enqueue(request->client, true, nl_operation_run, nl_operation_retain(operation))) {
        status = NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", request->client->id));
        nl_operation_remove(operation, false);
        nl_operation_release(operation);
    }
    nl_operation_release(operation);
    return status;
}

static nl_status reattach(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__ReattachExecuteRequest *message = (const Spark__Connect__ReattachExecuteRequest *)(const void *)request->message;
    const nl_str id = nl_message_text(message->operation_id);
    (void)answer;
    if (!nl_uuid_is_valid(id)) return NL_RAISE(INVALID_HANDLE__FORMAT, NL_P_STR("handle", id));
    nl_operation *operation = nl_operation_find(request->client, id);
    if (!operation) {
        bool is_abandoned = false;
        nl_mutex_lock(&request->client->mutex);
        for (uint32_t i = 0; i < NL_OPERATION_TOMBSTONES; i++) is_abandoned |= nl_str_is(id, request->client->abandoned[i]);
        nl_mutex_unlock(&request->client->mutex);
        if (is_abandoned) return NL_RAISE(INVALID_HANDLE__OPERATION_ABANDONED, NL_P_STR("handle", id));
        return NL_RAISE(INVALID_HANDLE__OPERATION_NOT_FOUND, NL_P_STR("handle", id));
    }
    nl_status status = operation->is_reattachable ? nl_operation_attach(operation, request->rpc, nl_message_text(message->last_response_id)) : NL_RAISE(INVALID_CURSOR__NOT_REATTACHABLE);
    nl_operation_release(operation);
    return status;
}

/* What is not there is released already: clients send this late and out of order. */
static nl_status release_execute(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__ReleaseExecuteRequest *message = (const Spark__Connect__ReleaseExecuteRequest *)(const void *)request->message;
    Spark__Connect__ReleaseExecuteResponse *made = NL_NEW(request->arena, Spark__Connect__ReleaseExecuteResponse);
    spark__connect__release_execute_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    *answer = &made->base;
    nl_operation *operation = nl_operation_find(request->client, nl_message_text(message->operation_id));
    if (!operation) return NULL;
    made->operation_id = message->operation_id;
    if (message->release_case == SPARK__CONNECT__RELEASE_EXECUTE_REQUEST__RELEASE_RELEASE_ALL)
        nl_operation_remove(operation, false);
    else if (message->release_case == SPARK__CONNECT__RELEASE_EXECUTE_REQUEST__RELEASE_RELEASE_UNTIL)
        nl_operation_release_until(operation, nl_message_text(message->release_until->response_id));
    nl_operation_release(operation);
    return NULL;
}

static bool has_tag(const nl_operation *operation, nl_str tag)
{
    for (size_t i = 0; i < operation->request->n_tags; i++)
        if (nl_str_is(tag, operation->request->tags[i])) return true;
    return false;
}

static bool is_meant(const nl_operation *operation, const Spark__Connect__InterruptRequest *message)
{
    switch (message->interrupt_type) {
    case SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_ALL:
        return true;
    case SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_TAG:
        return message->interrupt_case == SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_OPERATION_TAG && has_tag(operation, nl_message_text(message->operation_tag));
    case SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_OPERATION_ID:
        return message->interrupt_case == SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_OPERATION_ID && nl_str_is(nl_message_text(message->operation_id), operation->id);
    case SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_UNSPECIFIED:
    case _SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE_IS_INT_SIZE:
    default:
        return false;
    }
}

static nl_status interrupt(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__InterruptRequest *message = (const Spark__Connect__InterruptRequest *)(const void *)request->message;
    Spark__Connect__InterruptResponse *made = NL_NEW(request->arena, Spark__Connect__InterruptResponse);
    nl_list meant = {0};
    spark__connect__interrupt_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    nl_mutex_lock(&request->client->mutex);
    for (nl_operation *operation = request->client->operations; operation; operation = operation->next) {
        nl_mutex_lock(&operation->mutex);
        const bool is_running = !operation->is_finished;
        nl_mutex_unlock(&operation->mutex);
        if (is_running && is_meant(operation, message)) nl_list_add(request->arena, &meant, nl_operation_retain(operation));
    }
    nl_mutex_unlock(&request->client->mutex);
    made->interrupted_ids = NL_NEW_ARRAY(request->arena, char *, (size_t)meant.count + 1);
    for (uint32_t i = 0; i < meant.count; i++) {
        nl_operation *operation = meant.items[i];
        nl_operation_interrupt(operation);
        made->interrupted_ids[made->n_interrupted_ids++] = NL_UNCONST(nl_str_c(request->arena, nl_str_from(operation->id)));
        nl_operation_release(operation);
    }
    *answer = &made->base;
    return NULL;
}

/* ---- the rest ----------------------------------------------------------------------------------------------------- */

static nl_status artifact_status(nl_request *request, ProtobufCMessage **answer)
{
    typedef Spark__Connect__ArtifactStatusesResponse__StatusesEntry status_entry;
    const Spark__Connect__ArtifactStatusesRequest *message = (const Spark__Connect__ArtifactStatusesRequest *)(const void *)request->message;
    Spark__Connect__ArtifactStatusesResponse *made = NL_NEW(request->arena, Spark__Connect__ArtifactStatusesResponse);
    spark__connect__artifact_statuses_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    made->statuses = NL_NEW_ARRAY(request->arena, status_entry *, message->n_names + 1);
    for (size_t i = 0; i < message->n_names; i++) {
        status_entry *entry = NL_NEW(request->arena, status_entry);
        nl_bytes content;
        spark__connect__artifact_statuses_response__statuses_entry__init(entry);
        entry->key = message->names[i];
        entry->value = NL_NEW(request->arena, Spark__Connect__ArtifactStatusesResponse__ArtifactStatus);
        spark__connect__artifact_statuses_response__artifact_status__init(entry->value);
        entry->value->has_exists = true;
        entry->value->exists = nl_client_artifact(request->client, nl_message_text(message->names[i]), &content);
        made->statuses[made->n_statuses++] = entry;
    }
    *answer = &made->base;
    return NULL;
}

static nl_status error_details(nl_request *request, ProtobufCMessage **answer)
{
    typedef Spark__Connect__FetchErrorDetailsResponse__Error error_message;
    const Spark__Connect__FetchErrorDetailsRequest *message = (const Spark__Connect__FetchErrorDetailsRequest *)(const void *)request->message;
    Spark__Connect__FetchErrorDetailsResponse *made = NL_NEW(request->arena, Spark__Connect__FetchErrorDetailsResponse);
    const error_message *details = NULL;
    spark__connect__fetch_error_details_response__init(made);
    made->session_id = NL_UNCONST(request->client->id.data);
    made->server_side_session_id = request->client->server_id;
    nl_error_log_find(request->client->errors, nl_message_text(message->error_id), request->arena, &details);
    if (details) {
        made->has_root_error_idx = true;
        made->errors = NL_NEW_ARRAY(request->arena, error_message *, 1);
        made->errors[made->n_errors++] = NL_UNCONST(details);
    }
    *answer = &made->base;
    return NULL;
}

/* Ending a session that is not there is no error. */
static nl_status release_session(nl_request *request, ProtobufCMessage **answer)
{
    const Spark__Connect__ReleaseSessionRequest *message = (const Spark__Connect__ReleaseSessionRequest *)(const void *)request->message;
    Spark__Connect__ReleaseSessionResponse *made = NL_NEW(request->arena, Spark__Connect__ReleaseSessionResponse);
    spark__connect__release_session_response__init(made);
    made->session_id = message->session_id;
    if (request->client) {
        made->server_side_session_id = request->client->server_id;
        nl_connect_forget(request->connect, request->client);
    }
    *answer = &made->base;
    return NULL;
}

#define ROW(Type, type, ...)                                                                                                                  \
    {.descriptor = &spark__connect__##type##__descriptor, .session_id = offsetof(Spark__Connect__##Type, session_id), \
     .user_context = offsetof(Spark__Connect__##Type, user_context), __VA_ARGS__}
#define OBSERVED(Type) .observed = offsetof(Spark__Connect__##Type, client_observed_server_side_session_id)

enum { EXECUTE, ANALYZE, CONFIG, ARTIFACT_STATUS, INTERRUPT, REATTACH, RELEASE_EXECUTE, RELEASE_SESSION, ERROR_DETAILS, CLONE_SESSION };
static const nl_request_row rows[] = {
    [EXECUTE] = ROW(ExecutePlanRequest, execute_plan_request, OBSERVED(ExecutePlanRequest), .may_create = true, .at_once = execute),
    [ANALYZE] = ROW(AnalyzePlanRequest, analyze_plan_request, OBSERVED(AnalyzePlanRequest), .may_create = true, .in_lane = nl_answer_analyze),
    [CONFIG] = ROW(ConfigRequest, config_request, OBSERVED(ConfigRequest), .may_create = true, .in_lane = nl_answer_config),
    [ARTIFACT_STATUS] = ROW(ArtifactStatusesRequest, artifact_statuses_request, OBSERVED(ArtifactStatusesRequest), .may_create = true, .at_once = artifact_status),
    [INTERRUPT] = ROW(InterruptRequest, interrupt_request, OBSERVED(InterruptRequest), .may_create = true, .at_once = interrupt),
    [REATTACH] = ROW(ReattachExecuteRequest, reattach_execute_request, OBSERVED(ReattachExecuteRequest), .at_once = reattach),
    [RELEASE_EXECUTE] = ROW(ReleaseExecuteRequest, release_execute_request, OBSERVED(ReleaseExecuteRequest), .at_once = release_execute),
    [RELEASE_SESSION] = ROW(ReleaseSessionRequest, release_session_request, .at_once = release_session),
    [CLONE_SESSION] = ROW(CloneSessionRequest, clone_session_request, OBSERVED(CloneSessionRequest), .in_lane = nl_answer_clone),
    [ERROR_DETAILS] = ROW(FetchErrorDetailsRequest, fetch_error_details_request, OBSERVED(FetchErrorDetailsRequest), .at_once = error_details),
};

static void give_answer(nl_request *request, nl_status status, ProtobufCMessage *answer)
{
    if (status)
        nl_request_fail(request, status);
    else if (answer)
        nl_request_answer(request, answer);
    nl_request_free(request);
}

static void answer_in_lane(nl_client *client, void *argument)
{
    nl_request *request = argument;
    ProtobufCMessage *answer = NULL;
    nl_cancel *cancel = nl_cancel_new(NULL);
    nl_status status = nl_client_session(client, &request->session);
    if (!status) {
        nl_session_begin_with(request->session, cancel, NULL);
        status = request->row->in_lane(request, &answer);
    }
    nl_cancel_release(cancel); /* the session has its own reference */
    give_answer(request, status, answer);
}

static nl_str text_at(const ProtobufCMessage *message, size_t offset)
{
    const char *text;
    memcpy(&text, (const uint8_t *)message + offset, sizeof text);
    return nl_message_text(text);
}

static nl_status find_client(nl_request *request)
{
    const nl_request_row *row = request->row;
    const Spark__Connect__UserContext *user;
    memcpy(&user, (const uint8_t *)request->message + row->user_context, sizeof user);
    const nl_str observed = row->observed ? text_at(request->message, row->observed) : (nl_str){0};
    nl_status status = nl_client_find(request->connect, nl_message_text(user ? user->user_id : NULL), text_at(request->message, row->session_id), observed, row->may_create, &request->client);
    if (!status) nl_client_heard(request->client, request->rpc);
    if (!status || row != &rows[RELEASE_SESSION] || nl_error_condition(status) == NL_COND_INVALID_HANDLE__FORMAT) return status;
    nl_error_free(status);
    return NULL;
}

static nl_status open_request(nl_request *request)
{
    NL_TRY(nl_message_unpack(request->arena, request->row->descriptor, (nl_bytes){request->packed->data, request->packed->size_bytes}, &request->message));
    nl_buffer_release(request->packed); /* everything is in the arena now */
    request->packed = NULL;
    return find_client(request);
}

static nl_status take_request(void *argument, uint32_t worker)
{
    (void)worker;
    nl_request *request = argument;
    ProtobufCMessage *answer = NULL;
    nl_status status = open_request(request);
    if (!status && request->row->in_lane) {
        if (nl_client_enqueue(request->client, false, answer_in_lane, request)) return NULL;
        status = NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", request->client->id));
    } else if (!status) {
        status = request->row->at_once(request, &answer);
    }
    give_answer(request, status, answer);
    return NULL;
}

/* On the network thread: nothing of the message is looked at yet. */
static void receive(nl_rpc *rpc, nl_buffer *message, const nl_request_row *row)
{
    nl_connect *connect = nl_rpc_service(rpc);
    nl_request *request = calloc(1, sizeof *request);
    if (!request) {
        nl_rpc_finish(rpc, &(nl_rpc_status){.code = NL_RPC_RESOURCE_EXHAUSTED, .message = NL_STR("no memory for a request")});
        return;
    }
    *request = (nl_request){.connect = connect, .rpc = nl_rpc_retain(rpc), .packed = nl_buffer_retain(message), .row = row, .arena = nl_arena_new(connect->memory)};
    nl_connect_add_task(connect, false, take_request, request);
}

#define RECEIVER(name, row)                                     \
    static void name(nl_rpc *rpc, nl_buffer *message)           \
    {                                                           \
        receive(rpc, message, &rows[row]);                      \
    }
RECEIVER(on_execute, EXECUTE)
RECEIVER(on_analyze, ANALYZE)
RECEIVER(on_config, CONFIG)
RECEIVER(on_artifact_status, ARTIFACT_STATUS)
RECEIVER(on_interrupt, INTERRUPT)
RECEIVER(on_reattach, REATTACH)
RECEIVER(on_release_execute, RELEASE_EXECUTE)
RECEIVER(on_release_session, RELEASE_SESSION)
RECEIVER(on_error_details, ERROR_DETAILS)
RECEIVER(on_clone_session, CLONE_SESSION)

static const nl_rpc_method methods[] = {
    {.name = "ExecutePlan", .message = on_execute},
    {.name = "AnalyzePlan", .message = on_analyze},
    {.name = "Config", .message = on_config},
    {.name = "AddArtifacts", .is_client_streaming = true, .message = nl_artifacts_message, .end = nl_artifacts_end},
    {.name = "ArtifactStatus", .message = on_artifact_status},
    {.name = "Interrupt", .message = on_interrupt},
    {.name = "ReattachExecute", .message = on_reattach},
    {.name = "ReleaseExecute", .message = on_release_execute},
    {.name = "ReleaseSession", .message = on_release_session},
    {.name = "FetchErrorDetails", .message = on_error_details},
    {.name = "CloneSession", .message = on_clone_session},
};

/* ---- start and stop ----------------------------------------------------------------------------------------------- */

nl_status nl_connect_start(const nl_connect_options *options, nl_connect **connect)
{
    nl_connect *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->options = *options;
    if (made->options.idle_seconds <= 0) made->options.idle_seconds = IDLE_SECONDS;
    if (made->options.detached_seconds <= 0) made->options.detached_seconds = DETACHED_SECONDS;
    nl_mutex_init(&made->mutex);
    made->quick = nl_pool_new(ANSWER_THREADS, "answer");
    made->answers = nl_task_group_new(made->quick, NULL);
    const nl_rpc_server_options server = {.host = options->host,
                                          .port = options->port,
                                          .token = options->token,
                                          .tls_certificate = options->tls_certificate,
                                          .tls_key = options->tls_key,
                                          .service_name = "spark.connect.SparkConnectService",
                                          .methods = methods,
                                          .method_count = NL_COUNT(methods),
                                          .service = made,
                                          .tick = nl_connect_tick,
                                          .hung_up = nl_connect_hung_up};
    nl_status status = nl_session_new(options->confs, options->conf_count, &made->shared); /* checks the confs, too */
    if (!status) {
        nl_connect_clean_files(made);
        made->memory = nl_session_memory(made->shared);
        made->workers = nl_session_pool(made->shared);
        made->stream_micros_max = NL_MIN(nl_session_get_millis(made->shared, "spark.connect.execute.reattachable.senderMaxStreamDuration"), INT64_MAX / 1000) * 1000;
        made->stream_bytes_max = nl_session_get_bytes(made->shared, "spark.connect.execute.reattachable.senderMaxStreamSize");
        made->threads = nl_pool_new(NL_MAX(STATEMENT_THREADS_MIN, nl_pool_thread_count(made->workers) * 2), "statement");
        made->statements = nl_task_group_new(made->threads, NULL);
        status = nl_rpc_server_new(&server, made->memory, &made->server);
    }
    if (status) {
        nl_connect_stop(made);
        return status;
    }
    nl_rpc_server_start(made->server);
    *connect = made;
    return NULL;
}

uint16_t nl_connect_port(const nl_connect *connect)
{
    return nl_rpc_server_port(connect->server);
}

/* All sessions end: what runs is interrupted, and its calls end with that. */
static void end_clients(nl_connect *connect)
{
    for (uint32_t i = 0; i < NL_CLIENT_BUCKETS; i++) {
        for (;;) {
            nl_mutex_lock(&connect->mutex);
            nl_client *client = connect->buckets[i] ? nl_client_retain(connect->buckets[i]) : NULL;
            nl_mutex_unlock(&connect->mutex);
            if (!client) break;
            nl_connect_forget(connect, client);
            nl_client_release(client);
        }
    }
}

void nl_connect_stop(nl_connect *connect)
{
    if (!connect) return;
    end_clients(connect);
    if (connect->server) nl_rpc_server_stop(connect->server);
    end_clients(connect); /* of requests that came in the meantime */
    nl_error_free(nl_task_group_wait(connect->answers));
    if (connect->statements) nl_error_free(nl_task_group_wait(connect->statements));
    end_clients(connect);
    nl_rpc_server_free(connect->server);
    nl_pool_free(connect->quick);
    nl_pool_free(connect->threads);
    nl_session_free(connect->shared);
    nl_mutex_fini(&connect->mutex);
    free(connect);
}
