/* connect/remote.c - see remote.h. As PySpark's client does it: a statement goes as sql_command; a query comes back as a
 * relation, which a second call runs. */
#include "connect/remote.h"

#include <stdlib.h>

#include "base/uuid.h"
#include "column/arrow_ipc.h"
#include "connect/proto/base.pb-c.h"
#include "connect/proto/status.pb-c.h"
#include "connect/rpc_client.h"
#include "storage/digest.h"

#define SERVICE "/spark.connect.SparkConnectService/"

struct nl_remote_session {
    nl_session *session; /* borrowed */
    nl_arena *arena;
    nl_http_channel *channel;
    nl_rpc_client_endpoint endpoint;
    Spark__Connect__UserContext user;
    char *session_id;
    char *user_agent;
};

/* Rows on their way. */
typedef struct remote_rows {
    nl_remote_session *remote;
    nl_rpc_client_call *call; /* NULL: everything is in `reader` */
    char operation_id[NL_UUID_TEXT_LENGTH];
    nl_ipc_reader *reader;    /* of the batch that came last; or NULL */
    nl_arena *arena;
    const nl_type *schema;    /* of the first batch; in the arena */
    bool is_done;
} remote_rows;

/* ---- the address */

static nl_status wrong_url(nl_str url, const char *problem)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " is no address of a Spark Connect server: %s. It looks like sc://host:15002/;token=…", NL_STR_ARG(url), problem);
}

static char *copy_text(nl_arena *arena, nl_str text)
{
    return NL_UNCONST(nl_arena_str(arena, text).data);
}

static nl_status read_parameters(nl_remote_session *self, nl_str url, nl_str rest, nl_list *headers, bool *is_secure, nl_str *user_id)
{
    nl_str part;
    while (rest.length && nl_str_next_part(&rest, ';', &part)) {
        if (!part.length) continue;
        const size_t equals = nl_str_find_char(part, '=', 0);
        nl_str value;
        if (equals == NL_NOT_FOUND || equals == 0) return wrong_url(url, "a parameter is name=value");
        const nl_str name = nl_str_slice(part, 0, equals);
        NL_TRY(nl_url_decode(self->arena, nl_str_slice(part, equals + 1, part.length), false, &value));
        if (nl_str_is(name, "use_ssl")) {
            *is_secure = nl_str_is_nocase(value, "true");
        } else if (nl_str_is(name, "token")) {
            nl_property *header = NL_NEW(self->arena, nl_property);
            *header = (nl_property){NL_STR("authorization"), nl_arena_f(self->arena, "Bearer " NL_STR_FMT, NL_STR_ARG(value))};
            nl_list_add(self->arena, headers, header);
        } else if (nl_str_is(name, "user_id")) {
            *user_id = value;
        } else if (nl_str_is(name, "user_agent")) {
            self->user_agent = copy_text(self->arena, value);
        } else if (nl_str_is(name, "session_id")) {
            self->session_id = copy_text(self->arena, value);
        } else {
            nl_property *header = NL_NEW(self->arena, nl_property);
            *header = (nl_property){name, value};
            nl_list_add(self->arena, headers, header);
        }
    }
    return NULL;
}

static nl_status read_url(nl_remote_session *self, nl_str url)
{
    if (!nl_str_starts(url, NL_STR("sc://"))) return wrong_url(url, "it must begin with sc://");
    nl_str host = nl_str_slice(url, 5, url.length), parameters = {0};
    const size_t semicolon = nl_str_find_char(host, ';', 0);
    if (semicolon != NL_NOT_FOUND) {
        parameters = nl_str_slice(host, semicolon + 1, host.length);
        host = nl_str_slice(host, 0, semicolon);
    }
    const size_t slash = nl_str_find_char(host, '/', 0);
    if (slash != NL_NOT_FOUND) {
        if (slash + 1 != host.length) return wrong_url(url, "the path must be empty");
        host = nl_str_slice(host, 0, slash);
    }
    if (!host.length) return wrong_url(url, "the host is missing");
    nl_list headers = {0};
    bool is_secure = false;
    nl_str user_id = nl_session_user(self->session);
    NL_TRY(read_parameters(self, url, parameters, &headers, &is_secure, &user_id));
    const size_t bracket = nl_str_find_last_char(host, ']'), colon = nl_str_find_last_char(host, ':');
    const bool has_port = colon != NL_NOT_FOUND && (bracket == NL_NOT_FOUND || colon > bracket);
    self->endpoint.base = nl_arena_f(self->arena, "%s://" NL_STR_FMT "%s", is_secure ? "https" : "http", NL_STR_ARG(host), has_port ? "" : ":15002");
    nl_property *list = NL_NEW_ARRAY(self->arena, nl_property, headers.count + 1);
    for (uint32_t i = 0; i < headers.count; i++) list[i] = *(const nl_property *)headers.items[i];
    list[headers.count] = (nl_property){NL_STR("user-agent"), nl_str_from(self->user_agent)};
    self->endpoint.headers = list;
    self->endpoint.header_count = headers.count + 1;
    spark__connect__user_context__init(&self->user);
    self->user.user_id = copy_text(self->arena, user_id);
    return NULL;
}

/* ---- errors */

/* The errorId in ErrorInfo; NULL: none. In the arena. */
static char *error_id(nl_arena *arena, nl_str details)
{
    nl_bytes bytes;
    char *id = NULL;
    nl_builder padded; /* trailers come without padding */
    nl_builder_init(&padded, 1 << 20);
    nl_append(&padded, details);
    while (padded.length % 4 && padded.length < details.length + 3) nl_append_char(&padded, '=');
    const bool is_base64 = details.length && nl_base64_decode(arena, nl_builder_str(&padded), &bytes);
    nl_builder_fini(&padded);
    if (!is_base64) return NULL;
    Spark__Connect__RpcStatus *status = spark__connect__rpc_status__unpack(NULL, bytes.length, bytes.data);
    for (size_t i = 0; status && i < status->n_details; i++) {
        const Spark__Connect__RpcAny *detail = status->details[i];
        if (!detail->type_url || !nl_str_ends(nl_str_from(detail->type_url), NL_STR("ErrorInfo"))) continue;
        Spark__Connect__RpcErrorInfo *info = spark__connect__rpc_error_info__unpack(NULL, detail->value.len, detail->value.data);
        for (size_t k = 0; info && k < info->n_metadata; k++)
            if (info->metadata[k]->key && strcmp(info->metadata[k]->key, "errorId") == 0 && info->metadata[k]->value) id = copy_text(arena, nl_str_from(info->metadata[k]->value));
        if (info) spark__connect__rpc_error_info__free_unpacked(info, NULL);
    }
    if (status) spark__connect__rpc_status__free_unpacked(status, NULL);
    return id;
}

/* One request, one answer. */
static nl_status ask(nl_remote_session *self, const char *method, const ProtobufCMessage *request, const ProtobufCMessageDescriptor *type, ProtobufCMessage **answer)
{
    nl_rpc_client_call *call;
    *answer = NULL;
    NL_TRY(nl_rpc_client_start(&self->endpoint, method, request, &call));
    nl_status status = nl_rpc_client_next(call, type, answer);
    if (!status && !*answer) status = NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server answered nothing to %s.", method);
    ProtobufCMessage *more = NULL; /* there is none, but the end of the call */
    if (!status) status = nl_rpc_client_next(call, type, &more);
    if (more) protobuf_c_message_free_unpacked(more, NULL);
    nl_rpc_client_end(call);
    if (status && *answer) {
        protobuf_c_message_free_unpacked(*answer, NULL);
        *answer = NULL;
    }
    return status;
}

/* The message that travels with a refusal is cut; the whole one is asked for. Takes and returns the failure. */
static nl_status explain(nl_remote_session *self, const nl_rpc_client_call *call, nl_status failure)
{
    nl_arena *arena = nl_arena_new(NULL);
    Spark__Connect__FetchErrorDetailsRequest request = SPARK__CONNECT__FETCH_ERROR_DETAILS_REQUEST__INIT;
    request.session_id = self->session_id;
    request.user_context = &self->user;
    request.client_type = self->user_agent;
    request.error_id = nl_error_condition(failure) == NL_COND_NILAS_REMOTE_ERROR ? error_id(arena, nl_rpc_client_details(call)) : NULL;
    ProtobufCMessage *message = NULL;
    nl_status status = request.error_id ? ask(self, SERVICE "FetchErrorDetails", &request.base, &spark__connect__fetch_error_details_response__descriptor, &message) : NULL;
    if (status) nl_error_free(status);
    const Spark__Connect__FetchErrorDetailsResponse *details = (const Spark__Connect__FetchErrorDetailsResponse *)message;
    if (details && details->has_root_error_idx && details->root_error_idx >= 0 && (size_t)details->root_error_idx < details->n_errors) {
        const char *text = details->errors[details->root_error_idx]->message;
        if (text) {
            nl_error_free(failure);
            failure = NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "%s", text);
        }
    }
    if (message) protobuf_c_message_free_unpacked(message, NULL);
    nl_arena_free(arena);
    return failure;
}

/* Ctrl-C: what runs there ends too. */
static void interrupt(nl_remote_session *self, char *operation_id)
{
    Spark__Connect__InterruptRequest request = SPARK__CONNECT__INTERRUPT_REQUEST__INIT;
    request.session_id = self->session_id;
    request.user_context = &self->user;
    request.client_type = self->user_agent;
    request.has_interrupt_type = true;
    request.interrupt_type = SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_TYPE__INTERRUPT_TYPE_OPERATION_ID;
    request.interrupt_case = SPARK__CONNECT__INTERRUPT_REQUEST__INTERRUPT_OPERATION_ID;
    request.operation_id = operation_id;
    ProtobufCMessage *answer = NULL;
    nl_cancel *cancel = self->endpoint.cancel;
    self->endpoint.cancel = NULL; /* this call is not cancelled */
    nl_status status = ask(self, SERVICE "Interrupt", &request.base, &spark__connect__interrupt_response__descriptor, &answer);
    self->endpoint.cancel = cancel;
    if (status) nl_error_free(status);
    if (answer) protobuf_c_message_free_unpacked(answer, NULL);
}

/* ---- confs */

static nl_status set_confs(nl_remote_session *self, const nl_property *confs, uint32_t count)
{
    if (count == 0) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    Spark__Connect__ConfigRequest request = SPARK__CONNECT__CONFIG_REQUEST__INIT;
    Spark__Connect__ConfigRequest__Operation operation = SPARK__CONNECT__CONFIG_REQUEST__OPERATION__INIT;
    Spark__Connect__ConfigRequest__Set set = SPARK__CONNECT__CONFIG_REQUEST__SET__INIT;
    Spark__Connect__KeyValue *pairs = NL_NEW_ARRAY(arena, Spark__Connect__KeyValue, count);
    set.pairs = NL_NEW_ARRAY(arena, Spark__Connect__KeyValue *, count);
    for (uint32_t i = 0; i < count; i++) {
        if (nl_str_is(confs[i].key, "spark.master") || nl_str_is(confs[i].key, "spark.remote")) continue;
        spark__connect__key_value__init(&pairs[i]);
        pairs[i].key = copy_text(arena, confs[i].key);
        pairs[i].value = copy_text(arena, confs[i].value);
        set.pairs[set.n_pairs++] = &pairs[i];
    }
    set.has_silent = set.silent = true; /* static ones are the server's, as for the options of PySpark's builder */
    operation.op_type_case = SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_SET;
    operation.set = &set;
    request.session_id = self->session_id;
    request.user_context = &self->user;
    request.client_type = self->user_agent;
    request.operation = &operation;
    ProtobufCMessage *answer = NULL;
    nl_status status = ask(self, SERVICE "Config", &request.base, &spark__connect__config_response__descriptor, &answer);
    const Spark__Connect__ConfigResponse *response = (const Spark__Connect__ConfigResponse *)answer;
    for (size_t i = 0; response && i < response->n_warnings; i++) fprintf(stderr, "Warning: %s\n", response->warnings[i]);
    if (answer) protobuf_c_message_free_unpacked(answer, NULL);
    nl_arena_free(arena);
    return status;
}

/* What decides how rows are printed here follows what holds there. */
static nl_status fetch_confs(nl_remote_session *self)
{
    static const char *const keys[] = {"spark.sql.session.timeZone", "spark.sql.cli.print.header"};
    Spark__Connect__ConfigRequest request = SPARK__CONNECT__CONFIG_REQUEST__INIT;
    Spark__Connect__ConfigRequest__Operation operation = SPARK__CONNECT__CONFIG_REQUEST__OPERATION__INIT;
    Spark__Connect__ConfigRequest__GetOption get = SPARK__CONNECT__CONFIG_REQUEST__GET_OPTION__INIT;
    char *wanted[NL_COUNT(keys)];
    for (size_t i = 0; i < NL_COUNT(keys); i++) wanted[i] = NL_UNCONST(keys[i]);
    get.keys = wanted;
    get.n_keys = NL_COUNT(keys);
    operation.op_type_case = SPARK__CONNECT__CONFIG_REQUEST__OPERATION__OP_TYPE_GET_OPTION;
    operation.get_option = &get;
    request.session_id = self->session_id;
    request.user_context = &self->user;
    request.client_type = self->user_agent;
    request.operation = &operation;
    ProtobufCMessage *answer = NULL;
    NL_TRY(ask(self, SERVICE "Config", &request.base, &spark__connect__config_response__descriptor, &answer));
    const Spark__Connect__ConfigResponse *response = (const Spark__Connect__ConfigResponse *)answer;
    nl_status status = NULL;
    for (size_t i = 0; !status && i < response->n_pairs; i++)
        if (response->pairs[i]->key && response->pairs[i]->value) status = nl_session_set(self->session, nl_str_from(response->pairs[i]->key), nl_str_from(response->pairs[i]->value));
    protobuf_c_message_free_unpacked(answer, NULL);
    return status;
}

/* ---- rows */

static void free_message(nl_buffer *buffer)
{
    protobuf_c_message_free_unpacked(buffer->owner, NULL);
}

/* Reads the stream in `bytes`, which lies in the message; takes the message. */
static nl_status open_reader(remote_rows *rows, ProtobufCBinaryData bytes, ProtobufCMessage *message)
{
    nl_ipc_reader_free(rows->reader);
    rows->reader = NULL;
    nl_buffer *owner = nl_buffer_wrap(bytes.data, bytes.len, free_message, message);
    if (!owner) {
        protobuf_c_message_free_unpacked(message, NULL);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(*owner)), NL_P_INT("receivedBytes", 0));
    }
    nl_status status = nl_ipc_reader_new((nl_str){(const char *)bytes.data, bytes.len}, owner, nl_session_memory(rows->remote->session), &rows->reader);
    nl_buffer_release(owner);
    if (!status && !rows->schema) rows->schema = nl_type_copy(rows->arena, nl_ipc_reader_schema(rows->reader));
    return status;
}

static nl_status fail_rows(remote_rows *rows, nl_status failure)
{
    if (nl_error_condition(failure) == NL_COND_OPERATION_CANCELED) interrupt(rows->remote, rows->operation_id);
    return explain(rows->remote, rows->call, failure);
}

/* The next batch of the stream, in `reader`; is_done otherwise. */
static nl_status next_stream(remote_rows *rows)
{
    while (!rows->is_done) {
        ProtobufCMessage *message = NULL;
        nl_status status = rows->call ? nl_rpc_client_next(rows->call, &spark__connect__execute_plan_response__descriptor, &message) : NULL;
        if (status) return fail_rows(rows, status);
        const Spark__Connect__ExecutePlanResponse *response = (const Spark__Connect__ExecutePlanResponse *)message;
        rows->is_done = !message;
        if (message && response->response_type_case == SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_ARROW_BATCH)
            return open_reader(rows, response->arrow_batch->data, message);
        if (message) protobuf_c_message_free_unpacked(message, NULL);
    }
    return NULL;
}

static nl_status next_rows(void *context, nl_batch *batch, bool *is_done)
{
    remote_rows *rows = context;
    *is_done = false;
    for (;;) {
        bool is_end = true;
        if (rows->reader) NL_TRY(nl_ipc_reader_next(rows->reader, batch, &is_end));
        if (!is_end) return NULL;
        if (rows->reader && !rows->call) rows->is_done = true;
        if (!rows->is_done) NL_TRY(next_stream(rows));
        if (rows->is_done) {
            *is_done = true;
            return NULL;
        }
    }
}

static void close_rows(void *context)
{
    remote_rows *rows = context;
    nl_rpc_client_end(rows->call);
    nl_ipc_reader_free(rows->reader);
    nl_arena_free(rows->arena);
}

static remote_rows *new_rows(nl_remote_session *self)
{
    nl_arena *arena = nl_arena_new(NULL);
    remote_rows *rows = NL_NEW(arena, remote_rows);
    *rows = (remote_rows){.remote = self, .arena = arena};
    uint8_t id[16];
    nl_uuid_new(id);
    nl_uuid_format(id, rows->operation_id);
    return rows;
}

static nl_status start_execution(remote_rows *rows, Spark__Connect__Plan *plan)
{
    nl_remote_session *self = rows->remote;
    Spark__Connect__ExecutePlanRequest request = SPARK__CONNECT__EXECUTE_PLAN_REQUEST__INIT;
    request.session_id = self->session_id;
    request.user_context = &self->user;
    request.client_type = self->user_agent;
    request.operation_id = rows->operation_id;
    request.plan = plan;
    self->endpoint.cancel = nl_session_cancel_token(self->session);
    return nl_rpc_client_start(&self->endpoint, SERVICE "ExecutePlan", &request.base, &rows->call);
}

static bool has_columns(const nl_type *schema, const char *const *names, uint32_t count)
{
    if (schema->child_count != count) return false;
    for (uint32_t i = 0; i < count; i++)
        if (names[i] && !nl_str_is(schema->children[i].name, names[i])) return false;
    return true;
}

/* The shell prints some commands' rows in forms of their own; what came back does not say which command it was. */
static nl_result_kind kind_of(const remote_rows *rows)
{
    static const char *const tables[] = {NULL, "tableName", "isTemporary"}, *const columns[] = {"col_name", "data_type", "comment"};
    if (rows->call || !rows->schema) return rows->call ? NL_RESULT_QUERY : NL_RESULT_COMMAND;
    if (has_columns(rows->schema, tables, NL_COUNT(tables))) return NL_RESULT_SHOW_TABLES;
    if (has_columns(rows->schema, columns, NL_COUNT(columns))) return NL_RESULT_DESCRIBE;
    return NL_RESULT_COMMAND;
}

static nl_status finish_rows(remote_rows *rows, nl_result **result)
{
    static const nl_type no_columns = {.id = NL_TYPE_STRUCT, .physical = NL_PHYS_STRUCT};
    const nl_result_source source = {next_rows, close_rows, rows};
    return nl_command_make_stream(rows->remote->session, kind_of(rows), rows->schema ? rows->schema : &no_columns, &source, result);
}

/* Runs what came back for a query: `answer` (taken) holds the relation. */
static nl_status run_relation(nl_remote_session *self, Spark__Connect__ExecutePlanResponse *answer, nl_result **result)
{
    Spark__Connect__Relation *relation = answer->sql_command_result->relation;
    remote_rows *rows = new_rows(self);
    nl_status status;
    if (relation->rel_type_case == SPARK__CONNECT__RELATION__REL_TYPE_LOCAL_RELATION) {
        status = relation->local_relation->has_data ? open_reader(rows, relation->local_relation->data, &answer->base) : NULL;
        rows->is_done = !relation->local_relation->has_data;
    } else {
        Spark__Connect__Plan plan = SPARK__CONNECT__PLAN__INIT;
        plan.op_type_case = SPARK__CONNECT__PLAN__OP_TYPE_ROOT;
        plan.root = relation;
        status = start_execution(rows, &plan);
        protobuf_c_message_free_unpacked(&answer->base, NULL);
        if (!status) status = next_stream(rows); /* the schema is that of the first batch, which always comes */
    }
    if (!status) return finish_rows(rows, result);
    close_rows(rows);
    return status;
}

nl_status nl_remote_run(nl_remote_session *remote, nl_str statement, nl_result **result)
{
    remote_rows *rows = new_rows(remote);
    Spark__Connect__Plan plan = SPARK__CONNECT__PLAN__INIT;
    Spark__Connect__Command command = SPARK__CONNECT__COMMAND__INIT;
    Spark__Connect__SqlCommand sql_command = SPARK__CONNECT__SQL_COMMAND__INIT;
    Spark__Connect__Relation relation = SPARK__CONNECT__RELATION__INIT;
    Spark__Connect__SQL sql = SPARK__CONNECT__SQL__INIT;
    sql.query = copy_text(rows->arena, statement);
    relation.rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_SQL;
    relation.sql = &sql;
    sql_command.input = &relation;
    command.command_type_case = SPARK__CONNECT__COMMAND__COMMAND_TYPE_SQL_COMMAND;
    command.sql_command = &sql_command;
    plan.op_type_case = SPARK__CONNECT__PLAN__OP_TYPE_COMMAND;
    plan.command = &command;
    Spark__Connect__ExecutePlanResponse *answer = NULL;
    nl_status status = start_execution(rows, &plan);
    while (!status) {
        ProtobufCMessage *message = NULL;
        status = nl_rpc_client_next(rows->call, &spark__connect__execute_plan_response__descriptor, &message);
        if (status) status = fail_rows(rows, status);
        if (!message) break;
        Spark__Connect__ExecutePlanResponse *response = (Spark__Connect__ExecutePlanResponse *)message;
        const bool is_it = !answer && response->response_type_case == SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_SQL_COMMAND_RESULT && response->sql_command_result->relation;
        if (is_it)
            answer = response;
        else
            protobuf_c_message_free_unpacked(message, NULL);
    }
    close_rows(rows);
    if (!status && !answer) status = NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server ended the statement without a result.");
    if (status) {
        if (answer) protobuf_c_message_free_unpacked(&answer->base, NULL);
        return status;
    }
    const nl_str trimmed = nl_str_trim(statement);
    if (nl_str_starts_nocase(trimmed, NL_STR("set")) || nl_str_starts_nocase(trimmed, NL_STR("reset"))) status = fetch_confs(remote);
    if (!status) return run_relation(remote, answer, result);
    protobuf_c_message_free_unpacked(&answer->base, NULL);
    return status;
}

/* ---- the session */

nl_status nl_remote_open(nl_session *session, nl_str url, const nl_property *confs, uint32_t conf_count, nl_remote_session **remote)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_remote_session *self = NL_NEW(arena, nl_remote_session);
    *self = (nl_remote_session){.session = session, .arena = arena, .user_agent = NL_UNCONST("nilas/" NILAS_VERSION)};
    uint8_t id[16];
    self->session_id = NL_NEW_ARRAY(arena, char, NL_UUID_TEXT_LENGTH);
    nl_uuid_new(id);
    nl_uuid_format(id, self->session_id);
    nl_status status = read_url(self, url);
    if (!status) status = nl_http_channel_new(&(nl_http_options){0}, &self->channel);
    self->endpoint.channel = self->channel;
    if (!status) status = set_confs(self, confs, conf_count);
    if (!status) status = fetch_confs(self);
    if (status) {
        nl_http_channel_free(self->channel);
        nl_arena_free(arena);
        return status;
    }
    *remote = self;
    return NULL;
}

void nl_remote_close(nl_remote_session *remote)
{
    if (!remote) return;
    Spark__Connect__ReleaseSessionRequest request = SPARK__CONNECT__RELEASE_SESSION_REQUEST__INIT;
    request.session_id = remote->session_id;
    request.user_context = &remote->user;
    request.client_type = remote->user_agent;
    ProtobufCMessage *answer = NULL;
    remote->endpoint.cancel = NULL;
    nl_status status = ask(remote, SERVICE "ReleaseSession", &request.base, &spark__connect__release_session_response__descriptor, &answer);
    if (status) nl_error_free(status); /* a server that is gone has released it */
    if (answer) protobuf_c_message_free_unpacked(answer, NULL);
    nl_http_channel_free(remote->channel);
    nl_arena_free(remote->arena);
}
