/* lakehouse/glue/service.c - which operation a request is, whose it is, and errors in AWS's form. */
#include "lakehouse/glue/glue_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"

#define REQUEST NL_STR("the request")

static const struct {
    const char *operation;
    nl_glue_handler handle;
} operations[] = {
    {"GetDatabase", nl_glue_get_database},
    {"GetDatabases", nl_glue_get_databases},
    {"CreateDatabase", nl_glue_create_database},
    {"UpdateDatabase", nl_glue_update_database},
    {"DeleteDatabase", nl_glue_delete_database},
    {"GetTable", nl_glue_get_table},
    {"GetTables", nl_glue_get_tables},
    {"CreateTable", nl_glue_create_table},
    {"UpdateTable", nl_glue_update_table},
    {"DeleteTable", nl_glue_delete_table},
    {"BatchDeleteTable", nl_glue_batch_delete_table},
    {"GetTableVersion", nl_glue_get_table_version},
    {"GetTableVersions", nl_glue_get_table_versions},
    {"DeleteTableVersion", nl_glue_delete_table_version},
    {"BatchDeleteTableVersion", nl_glue_batch_delete_table_version},
    {"CreatePartition", nl_glue_create_partition},
    {"BatchCreatePartition", nl_glue_batch_create_partition},
    {"GetPartition", nl_glue_get_partition},
    {"GetPartitions", nl_glue_get_partitions},
    {"BatchGetPartition", nl_glue_batch_get_partition},
    {"UpdatePartition", nl_glue_update_partition},
    {"BatchUpdatePartition", nl_glue_batch_update_partition},
    {"DeletePartition", nl_glue_delete_partition},
    {"BatchDeletePartition", nl_glue_batch_delete_partition},
    {"GetPartitionIndexes", nl_glue_get_partition_indexes},
    {"SearchTables", nl_glue_search_tables},
    {"TagResource", nl_glue_tag},
    {"UntagResource", nl_glue_untag},
    {"GetTags", nl_glue_get_tags},
    {"CreateUserDefinedFunction", nl_glue_create_function},
    {"GetUserDefinedFunction", nl_glue_get_function},
    {"GetUserDefinedFunctions", nl_glue_get_functions},
    {"UpdateUserDefinedFunction", nl_glue_update_function},
    {"DeleteUserDefinedFunction", nl_glue_delete_function},
    {"GetCatalogImportStatus", nl_glue_get_import_status},
};

/* ---- errors ---------------------------------------------------------------------------------------------------- */

static nl_status refuse(nl_glue_call *call, const char *type, const char *format, va_list arguments)
{
    char text[4096];
    vsnprintf(text, sizeof(text), format, arguments);
    call->error_type = type;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s", text);
}

nl_status nl_glue_invalid(nl_glue_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status status = refuse(call, "InvalidInputException", format, arguments);
    va_end(arguments);
    return status;
}

nl_status nl_glue_refuse(nl_glue_call *call, const char *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status status = refuse(call, type, format, arguments);
    va_end(arguments);
    return status;
}

nl_status nl_glue_not_found(nl_glue_call *call, const char *kind, nl_str name)
{
    return nl_glue_refuse(call, "EntityNotFoundException", "%s " NL_STR_FMT " not found.", kind, NL_STR_ARG(name));
}

static void write_error(nl_request *request, nl_reply *reply, int32_t status, const char *type, nl_str message)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_glue_write_text(&json, "__type", nl_str_from(type));
    nl_glue_write_text(&json, "Message", message);
    nl_json_end(&json, '}');
    if (reply->body) nl_builder_fini(reply->body);
    reply->body = NULL;
    nl_reply_text(request, reply, status, "application/x-amz-json-1.1", nl_arena_str(request->arena, nl_builder_str(&text)));
    nl_builder_fini(&text);
}

/* What the table store refuses, in Glue's words; NULL: it is our fault. */
static const char *type_of(const nl_error *error)
{
    static const struct {
        nl_condition condition;
        const char *type;
    } types[] = {
        {NL_COND_SCHEMA_NOT_FOUND, "EntityNotFoundException"},
        {NL_COND_TABLE_OR_VIEW_NOT_FOUND, "EntityNotFoundException"},
        {NL_COND_SCHEMA_ALREADY_EXISTS, "AlreadyExistsException"},
        {NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS, "AlreadyExistsException"},
        {NL_COND_NILAS_ALREADY_EXISTS, "AlreadyExistsException"},
        {NL_COND_NILAS_COMMIT_FAILED, "ConcurrentModificationException"},
        {NL_COND_NILAS_ILLEGAL_ARGUMENT, "InvalidInputException"},
        {NL_COND_NILAS_NAMESPACE_NOT_EMPTY, "InvalidInputException"},
    };
    for (size_t i = 0; i < NL_COUNT(types); i++)
        if (nl_error_condition(error) == types[i].condition) return types[i].type;
    return NULL;
}

static void answer_error(nl_glue_call *call, nl_error *error)
{
    const bool is_passing = !call->error_type && !type_of(error) && nl_error_kind_of(error) == NL_KIND_RETRY;
    const char *type = call->error_type ? call->error_type : is_passing ? "InternalServiceException" : type_of(error);
    const char *message = call->error_type ? nl_error_param(error, "message") : nl_error_message(error);
    if (!type) nl_log(NL_LOG_ERROR, "glue: %s %s", message, nl_error_notes(error));
    write_error(call->request, call->reply, is_passing ? 503 : type ? (call->error_status ? call->error_status : 400) : 500, type ? type : "InternalServiceException",
                nl_arena_str(call->arena, nl_str_from(message)));
    nl_error_free(error);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

nl_str nl_glue_text(const json_t *object, const char *key)
{
    const json_t *value = object ? json_object_get(object, key) : NULL;
    return json_is_string(value) ? (nl_str){json_string_value(value), json_string_length(value)} : (nl_str){0};
}

nl_status nl_glue_need(nl_glue_call *call, const json_t *object, const char *key, nl_str *text)
{
    *text = nl_glue_text(object, key);
    return text->length ? NULL : nl_glue_invalid(call, "%s is missing or empty", key);
}

nl_str nl_glue_lower(nl_arena *arena, nl_str text)
{
    char *bytes = nl_arena_alloc(arena, text.length + 1);
    for (size_t i = 0; i < text.length; i++) bytes[i] = text.data[i] >= 'A' && text.data[i] <= 'Z' ? (char)(text.data[i] + ('a' - 'A')) : text.data[i];
    return (nl_str){bytes, text.length};
}

nl_status nl_glue_new_name(nl_glue_call *call, const json_t *object, const char *key, nl_str *name)
{
    NL_TRY(nl_glue_need(call, object, key, name));
    for (size_t i = 0; i < name->length; i++)
        if ((unsigned char)name->data[i] < 0x20) return nl_glue_invalid(call, "%s has a control character", key);
    if (name->length > NL_GLUE_NAME_MAX) return nl_glue_invalid(call, "%s is longer than %u characters", key, NL_GLUE_NAME_MAX);
    *name = nl_glue_lower(call->arena, *name);
    return NULL;
}

nl_status nl_glue_need_object(nl_glue_call *call, const char *key, const json_t **object)
{
    *object = json_object_get(call->body, key);
    return json_is_object(*object) ? NULL : nl_glue_invalid(call, "%s is missing", key);
}

nl_status nl_glue_need_list(nl_glue_call *call, const char *key, size_t most, const json_t **list)
{
    *list = json_object_get(call->body, key);
    if (!json_is_array(*list)) return nl_glue_invalid(call, "%s is missing", key);
    return json_array_size(*list) <= most ? NULL : nl_glue_invalid(call, "%s has more than %zu members", key, most);
}

nl_status nl_glue_page_size(nl_glue_call *call, int64_t most, int64_t *size)
{
    const json_t *value = json_object_get(call->body, "MaxResults");
    *size = most;
    if (!value || json_is_null(value)) return NULL;
    *size = json_is_integer(value) ? (int64_t)json_integer_value(value) : 0;
    return *size >= 1 && *size <= most ? NULL : nl_glue_invalid(call, "MaxResults must be between 1 and %lld", (long long)most);
}

nl_str nl_glue_json_text(nl_arena *arena, const json_t *json)
{
    nl_builder text;
    nl_builder_init(&text, 32u << 20);
    nl_json_writer writer = {.out = &text};
    nl_json_write_json(&writer, json);
    const nl_str kept = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return kept;
}

static void free_regex(void *regex)
{
    nl_regex_free(regex);
}

nl_status nl_glue_pattern(nl_glue_call *call, nl_str pattern, nl_regex **regex)
{
    *regex = NULL;
    if (!pattern.length || nl_str_is(pattern, "*")) return NULL;
    *regex = nl_regex_compile(nl_arena_f(call->arena, "\\A(?:" NL_STR_FMT ")\\z", NL_STR_ARG(pattern)));
    if (!*regex) return nl_glue_invalid(call, "The pattern " NL_STR_FMT " is not a regular expression", NL_STR_ARG(pattern));
    nl_arena_on_free(call->arena, free_regex, *regex);
    return NULL;
}

nl_status nl_glue_matches(const nl_regex *regex, nl_str name, bool *matches)
{
    nl_status status = NULL;
    *matches = true;
    if (!regex) return NULL;
    nl_regex_match *match = nl_regex_match_new(regex);
    if (!match) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P("requestedBytes", "1"), NL_P("receivedBytes", "0"));
    *matches = nl_regex_find(regex, match, name, 0, &status);
    nl_regex_match_free(match);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

nl_json_writer nl_glue_begin(nl_glue_call *call)
{
    call->reply->body = NL_NEW(call->arena, nl_builder);
    nl_builder_init(call->reply->body, 64u << 20);
    nl_json_writer json = {.out = call->reply->body};
    nl_json_begin(&json, '{');
    return json;
}

void nl_glue_end(nl_glue_call *call, nl_json_writer *json)
{
    nl_json_end(json, '}');
    nl_reply_header(call->request, call->reply, "Content-Type", NL_STR("application/x-amz-json-1.1"));
}

nl_status nl_glue_answer_nothing(nl_glue_call *call)
{
    nl_json_writer json = nl_glue_begin(call);
    nl_glue_end(call, &json);
    return NULL;
}

void nl_glue_write_text(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

void nl_glue_write_seconds(nl_json_writer *json, const char *key, int64_t micros)
{
    nl_json_key(json, key);
    nl_json_before_value(json);
    nl_append_f(json->out, "%lld.%03lld", (long long)(micros / 1000000), (long long)(micros / 1000 % 1000));
    nl_json_after_value(json);
}

void nl_glue_write_members(nl_json_writer *json, const json_t *object, const char *const *without)
{
    const char *key;
    json_t *value;
    json_object_foreach(NL_UNCONST(object), key, value) {
        bool is_wanted = !json_is_null(value);
        for (size_t i = 0; without[i]; i++) is_wanted = is_wanted && strcmp(key, without[i]) != 0;
        if (!is_wanted) continue;
        nl_json_key(json, key);
        nl_json_write_json(json, value);
    }
}

void nl_glue_write_failure(nl_json_writer *json, const char *code, const char *message)
{
    nl_json_key(json, "ErrorDetail");
    nl_json_begin(json, '{');
    nl_glue_write_text(json, "ErrorCode", nl_str_from(code));
    nl_glue_write_text(json, "ErrorMessage", nl_str_from(message));
    nl_json_end(json, '}');
}

/* ---- requests -------------------------------------------------------------------------------------------------- */

static nl_status run(nl_glue_call *call)
{
    static const nl_str prefix = NL_STR_INIT("AWSGlue.");
    nl_access access;
    nl_access_check(call->request, &call->glue->keys, "glue", &access);
    if (!access.is_allowed) {
        call->error_status = 403;
        return nl_glue_refuse(call, access.code, NL_STR_FMT, NL_STR_ARG(access.message));
    }
    const nl_str target = nl_request_header(call->request, "X-Amz-Target");
    if (!nl_str_starts(target, prefix)) return nl_glue_refuse(call, "UnknownOperationException", "X-Amz-Target names no operation of Glue");
    const nl_str text = {(const char *)call->request->body.data, call->request->body.length};
    nl_status status = nl_json_parse(call->arena, text.length ? text : NL_STR("{}"), REQUEST, &call->body);
    if (status || !json_is_object(call->body)) {
        nl_error_free(status);
        return nl_glue_refuse(call, "SerializationException", "The request is not a JSON object");
    }
    const nl_str operation = nl_str_slice(target, prefix.length, target.length), catalog = nl_glue_text(call->body, "CatalogId");
    if (nl_glue_text(call->body, "TransactionId").length || json_is_number(json_object_get(call->body, "QueryAsOfTime")))
        return nl_glue_refuse(call, "OperationNotSupportedException", "Governed tables (TransactionId, QueryAsOfTime) are not offered here");
    for (size_t i = 0; i < NL_COUNT(operations); i++) {
        if (!nl_str_is(operation, operations[i].operation)) continue;
        if (catalog.length && !nl_str_is(catalog, NL_GLUE_ACCOUNT)) return nl_glue_not_found(call, "Catalog", catalog);
        return operations[i].handle(call);
    }
    return nl_glue_refuse(call, "OperationNotSupportedException", NL_STR_FMT " is not offered here", NL_STR_ARG(operation));
}

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    nl_glue_call call = {.glue = NL_CONTAINER(service, nl_glue, base), .request = request, .reply = reply, .arena = request->arena};
    nl_status status = run(&call);
    if (!status) status = nl_arena_check(call.arena);
    if (!status && reply->body && nl_builder_failed(reply->body)) status = nl_glue_invalid(&call, "The answer is longer than 64 MiB: ask for smaller pages");
    if (status) answer_error(&call, status);
    return NULL;
}

static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service, (void)error;
    const int32_t status = reply->status >= 400 ? reply->status : 500;
    write_error(request, reply, status, status >= 500 ? "InternalServiceException" : "InvalidInputException", NL_STR("The request could not be read"));
}

static void free_service(nl_service *service)
{
    nl_glue *self = NL_CONTAINER(service, nl_glue, base);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_service_ops ops = {.name = "glue", .default_port = 8486, .answer = answer, .fail = fail, .free = free_service};

nl_status nl_glue_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, nl_service **service)
{
    nl_glue *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &ops;
    made->tables = tables;
    made->arena = nl_arena_new(NULL);
    made->keys = (nl_lakehouse_keys){nl_arena_str(made->arena, keys->access_key), nl_arena_str(made->arena, keys->secret_key), keys->is_strict};
    nl_status status = nl_tables_open_glue(tables, made->arena, &made->warehouse);
    if (status) {
        free_service(&made->base);
        return status;
    }
    *service = &made->base;
    return NULL;
}
