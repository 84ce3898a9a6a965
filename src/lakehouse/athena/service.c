/* lakehouse/athena/service.c - which operation a request is, whose it is, and errors in AWS's form. */
#include "lakehouse/athena/athena_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/number.h"

#define MEMORY_BYTES ((size_t)2 << 30) /* for all queries that run at once */

static const struct {
    const char *operation;
    nl_athena_handler handle;
} operations[] = {
    {"StartQueryExecution", nl_athena_start_query},
    {"GetQueryExecution", nl_athena_get_query},
    {"BatchGetQueryExecution", nl_athena_batch_get_query},
    {"ListQueryExecutions", nl_athena_list_queries},
    {"StopQueryExecution", nl_athena_stop_query},
    {"GetQueryRuntimeStatistics", nl_athena_get_statistics},
    {"GetQueryResults", nl_athena_get_results},
    {"ListDataCatalogs", nl_athena_list_catalogs},
    {"GetDataCatalog", nl_athena_get_catalog},
    {"ListDatabases", nl_athena_list_databases},
    {"GetDatabase", nl_athena_get_database},
    {"ListTableMetadata", nl_athena_list_tables},
    {"GetTableMetadata", nl_athena_get_table},
    {"CreateWorkGroup", nl_athena_create_work_group},
    {"GetWorkGroup", nl_athena_get_work_group},
    {"ListWorkGroups", nl_athena_list_work_groups},
    {"UpdateWorkGroup", nl_athena_update_work_group},
    {"DeleteWorkGroup", nl_athena_delete_work_group},
    {"CreateNamedQuery", nl_athena_create_named_query},
    {"GetNamedQuery", nl_athena_get_named_query},
    {"BatchGetNamedQuery", nl_athena_batch_get_named_query},
    {"ListNamedQueries", nl_athena_list_named_queries},
    {"UpdateNamedQuery", nl_athena_update_named_query},
    {"DeleteNamedQuery", nl_athena_delete_named_query},
    {"CreatePreparedStatement", nl_athena_create_prepared},
    {"GetPreparedStatement", nl_athena_get_prepared},
    {"BatchGetPreparedStatement", nl_athena_batch_get_prepared},
    {"ListPreparedStatements", nl_athena_list_prepared},
    {"UpdatePreparedStatement", nl_athena_update_prepared},
    {"DeletePreparedStatement", nl_athena_delete_prepared},
    {"ListEngineVersions", nl_athena_list_engines},
    {"TagResource", nl_athena_tag},
    {"UntagResource", nl_athena_untag},
    {"ListTagsForResource", nl_athena_list_tags},
};

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static nl_status refuse(nl_athena_call *call, const char *type, const char *format, va_list arguments)
{
    char text[4096];
    vsnprintf(text, sizeof(text), format, arguments);
    call->error_type = type;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s", text);
}

nl_status nl_athena_invalid(nl_athena_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status status = refuse(call, "InvalidRequestException", format, arguments);
    va_end(arguments);
    return status;
}

nl_status nl_athena_refuse(nl_athena_call *call, const char *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status status = refuse(call, type, format, arguments);
    va_end(arguments);
    return status;
}

static void write_error(nl_request *request, nl_reply *reply, int32_t status, const char *type, nl_str message)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_athena_write_text(&json, "__type", nl_str_from(type));
    nl_athena_write_text(&json, "Message", message);
    if (nl_str_is(nl_str_from(type), "InvalidRequestException")) nl_athena_write_text(&json, "AthenaErrorCode", NL_STR("INVALID_INPUT"));
    nl_json_end(&json, '}');
    reply->body = NULL;
    nl_reply_text(request, reply, status, "application/x-amz-json-1.1", nl_arena_str(request->arena, nl_builder_str(&text)));
    nl_builder_fini(&text);
}

static void answer_error(nl_athena_call *call, nl_error *error)
{
    const char *message = nl_error_param(error, "message");
    if (!call->error_type && message && nl_error_condition(error) == NL_COND_NILAS_ILLEGAL_ARGUMENT) call->error_type = "InvalidRequestException";
    if (call->error_type) {
        write_error(call->request, call->reply, call->error_status ? call->error_status : 400, call->error_type, nl_arena_str(call->arena, nl_str_from(message)));
    } else {
        nl_log(NL_LOG_ERROR, "athena: %s %s", nl_error_message(error), nl_error_notes(error));
        const bool is_passing = nl_error_kind_of(error) == NL_KIND_RETRY; /* a full disk: nothing was changed */
        write_error(call->request, call->reply, is_passing ? 503 : 500, "InternalServerException", nl_arena_str(call->arena, nl_str_from(nl_error_message(error))));
    }
    nl_error_free(error);
}

/* ---- reading and writing --------------------------------------------------------------------------------------- */

nl_str nl_athena_text(nl_athena_call *call, const json_t *object, const char *key)
{
    const json_t *value = object ? json_object_get(object, key) : NULL;
    (void)call;
    return json_is_string(value) ? (nl_str){json_string_value(value), json_string_length(value)} : (nl_str){0};
}

nl_status nl_athena_need(nl_athena_call *call, const char *key, nl_str *text)
{
    *text = nl_athena_text(call, call->body, key);
    return text->length ? NULL : nl_athena_invalid(call, "%s is missing or empty", key);
}

nl_status nl_athena_page_size(nl_athena_call *call, const char *key, int64_t most, int64_t *size)
{
    const json_t *value = json_object_get(call->body, key);
    *size = most;
    if (!value || json_is_null(value)) return NULL;
    *size = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    return *size >= 1 && *size <= most ? NULL : nl_athena_invalid(call, "%s must be between 1 and %lld", key, (long long)most);
}

nl_json_writer nl_athena_begin(nl_athena_call *call)
{
    call->reply->body = NL_NEW(call->arena, nl_builder);
    nl_builder_init(call->reply->body, 64u << 20);
    nl_json_writer json = {.out = call->reply->body};
    nl_json_begin(&json, '{');
    return json;
}

void nl_athena_end(nl_athena_call *call, nl_json_writer *json)
{
    nl_json_end(json, '}');
    nl_reply_header(call->request, call->reply, "Content-Type", NL_STR("application/x-amz-json-1.1"));
}

void nl_athena_write_text(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

void nl_athena_write_seconds(nl_json_writer *json, const char *key, int64_t micros)
{
    nl_json_key(json, key);
    nl_json_before_value(json);
    nl_append_f(json->out, "%lld.%03lld", (long long)(micros / 1000000), (long long)(micros / 1000 % 1000));
    nl_json_after_value(json);
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static nl_status run(nl_athena_call *call)
{
    static const nl_str prefix = NL_STR_INIT("AmazonAthena.");
    nl_access access;
    nl_access_check(call->request, &call->athena->keys, "athena", &access);
    if (!access.is_allowed) {
        call->error_status = 403;
        return nl_athena_refuse(call, access.code, NL_STR_FMT, NL_STR_ARG(access.message));
    }
    const nl_str target = nl_request_header(call->request, "X-Amz-Target");
    if (!nl_str_starts(target, prefix)) return nl_athena_refuse(call, "UnknownOperationException", "X-Amz-Target names no operation of Athena");
    const nl_str text = {(const char *)call->request->body.data, call->request->body.length};
    nl_status status = nl_json_parse(call->arena, text.length ? text : NL_STR("{}"), NL_ATHENA_REQUEST, &call->body);
    if (status || !json_is_object(call->body)) {
        nl_error_free(status);
        return nl_athena_refuse(call, "SerializationException", "The request is not a JSON object");
    }
    const nl_str operation = nl_str_slice(target, prefix.length, target.length);
    for (size_t i = 0; i < NL_COUNT(operations); i++)
        if (nl_str_is(operation, operations[i].operation)) return operations[i].handle(call);
    return nl_athena_invalid(call, NL_STR_FMT " is not offered here", NL_STR_ARG(operation));
}

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    nl_athena_call call = {.athena = NL_CONTAINER(service, nl_athena, base), .request = request, .reply = reply, .arena = request->arena};
    nl_status status = run(&call);
    if (status) answer_error(&call, status);
    return NULL;
}

static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service, (void)error;
    const int32_t status = reply->status >= 400 ? reply->status : 500;
    write_error(request, reply, status, status >= 500 ? "InternalServerException" : "InvalidRequestException", NL_STR("The request could not be read"));
}

static void stop_all(nl_athena *self)
{
    nl_mutex_lock(&self->mutex);
    for (nl_execution *execution = self->live; execution; execution = execution->next) {
        execution->is_cancelled = true;
        if (execution->session) nl_session_cancel(execution->session);
    }
    nl_mutex_unlock(&self->mutex);
}

static void free_service(nl_service *service)
{
    nl_athena *self = NL_CONTAINER(service, nl_athena, base);
    stop_all(self);
    if (self->tasks) nl_error_free(nl_task_group_wait(self->tasks));
    nl_pool_free(self->pool);
    while (self->live) {
        nl_execution *next = self->live->next;
        nl_execution_release(self->live);
        self->live = next;
    }
    nl_memory_release(self->memory);
    nl_mutex_fini(&self->mutex);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_service_ops ops = {.name = "athena", .default_port = 8009, .answer = answer, .fail = fail, .free = free_service};

nl_status nl_athena_service_new(nl_tables *tables, nl_queries *queries, const nl_lakehouse_keys *keys, nl_service **service)
{
    nl_athena *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &ops;
    made->tables = tables;
    made->queries = queries;
    made->arena = nl_arena_new(NULL);
    made->keys = (nl_lakehouse_keys){nl_arena_str(made->arena, keys->access_key), nl_arena_str(made->arena, keys->secret_key), keys->is_strict};
    made->memory = nl_memory_new(tables->memory, "athena", MEMORY_BYTES);
    nl_mutex_init(&made->mutex);
    made->pool = nl_pool_new(NL_ATHENA_WORKERS, "athena");
    made->tasks = nl_task_group_new(made->pool, NULL);
    nl_warehouse glue;
    nl_status status = nl_athena_items_open(made);
    if (!status) status = nl_tables_open_glue(tables, made->arena, &glue);
    if (status) {
        free_service(&made->base);
        return status;
    }
    *service = &made->base;
    return NULL;
}
