/* lakehouse/s3tables/service.c - the S3 Tables API on :8013, with the Iceberg REST catalog of its table buckets below
 * /iceberg: which operation a request is, whose it is, errors in AWS's form. */
#include "lakehouse/s3tables/s3tables_private.h"

#include "base/log.h"
#include "base/number.h"
#include "iceberg/schema.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define SEGMENTS_MAX 8u

typedef struct s3tables_service {
    nl_service base;
    nl_tables *tables;      /* borrowed */
    nl_lakehouse_keys keys; /* texts owned by arena */
    nl_arena *arena;        /* owned */
    nl_rest_api *rest;          /* owned: /iceberg */
} s3tables_service;

/* ---- Errors ---- */

static nl_status refuse(nl_s3tables_call *call, int32_t status, const char *type, const char *format, va_list arguments)
{
    char text[2048];
    vsnprintf(text, sizeof(text), format, arguments);
    call->error_status = status;
    call->error_type = type;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s", text);
}

nl_status nl_s3tables_refuse(nl_s3tables_call *call, int32_t status, const char *type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status made = refuse(call, status, type, format, arguments);
    va_end(arguments);
    return made;
}

nl_status nl_s3tables_bad(nl_s3tables_call *call, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    nl_status made = refuse(call, 400, "BadRequestException", format, arguments);
    va_end(arguments);
    return made;
}

nl_status nl_s3tables_not_found(nl_s3tables_call *call, const char *what)
{
    return nl_s3tables_refuse(call, 404, "NotFoundException", "The specified %s does not exist.", what);
}

typedef struct error_row {
    nl_condition condition;
    int32_t status;
    const char *type;
    const char *message; /* NULL: the error's own */
} error_row;

static const error_row errors[] = {
    {NL_COND_SCHEMA_NOT_FOUND, 404, "NotFoundException", "The specified namespace does not exist."},
    {NL_COND_SCHEMA_ALREADY_EXISTS, 409, "ConflictException", "A namespace with an identical name already exists in the bucket."},
    {NL_COND_NILAS_NAMESPACE_NOT_EMPTY, 409, "ConflictException", "The resource that you tried to delete is not empty."},
    {NL_COND_TABLE_OR_VIEW_NOT_FOUND, 404, "NotFoundException", "The specified table does not exist."},
    {NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS, 409, "ConflictException", "A table with an identical name already exists in the namespace."},
    {NL_COND_NILAS_COMMIT_FAILED, 409, "ConflictException", "The provided version token does not match the table's version token."},
    {NL_COND_NILAS_ALREADY_EXISTS, 409, "ConflictException", NULL},
    {NL_COND_NILAS_ILLEGAL_ARGUMENT, 400, "BadRequestException", NULL},
    {NL_COND_NILAS_VALIDATION_FAILED, 400, "BadRequestException", NULL},
    {NL_COND_NILAS_CORRUPT_FILE, 400, "BadRequestException", NULL},
    {NL_COND_NILAS_UNSUPPORTED, 400, "BadRequestException", NULL},
    {NL_COND_NILAS_OBJECT_STORE, 400, "BadRequestException", NULL},
    {NL_COND_PATH_NOT_FOUND, 400, "BadRequestException", "The metadata location does not exist."},
};

static void write_error(nl_request *request, nl_reply *reply, int32_t status, const char *type, nl_str message)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_s3tables_text(&json, "message", nl_valid_text(request->arena, message));
    nl_json_end(&json, '}');
    if (reply->body) nl_builder_fini(reply->body);
    reply->body = NULL;
    nl_reply_text(request, reply, status, "application/json", nl_arena_str(request->arena, nl_builder_str(&text)));
    nl_reply_header(request, reply, "x-amzn-ErrorType", nl_str_from(type));
    nl_builder_fini(&text);
}

static void answer_error(nl_s3tables_call *call, nl_error *error)
{
    int32_t status = call->error_status;
    const char *type = call->error_type;
    const char *param = nl_error_param(error, "message");
    if (!param) param = nl_error_param(error, "problem");
    if (!param) param = nl_error_message(error);
    for (size_t i = 0; !status && i < NL_COUNT(errors); i++) {
        if (errors[i].condition != nl_error_condition(error)) continue;
        status = errors[i].status;
        type = errors[i].type;
        if (errors[i].message) param = errors[i].message;
    }
    if (!status) {
        nl_log(NL_LOG_ERROR, "s3tables: %.*s %.*s: %s %s", NL_STR_ARG(call->request->method), NL_STR_ARG(call->request->path), nl_error_message(error),
               nl_error_notes(error));
        const bool is_passing = nl_error_kind_of(error) == NL_KIND_RETRY; /* a full disk: nothing was changed */
        status = is_passing ? 503 : 500;
        if (is_passing) param = nl_error_message(error);
        type = "InternalServerErrorException";
    }
    write_error(call->request, call->reply, status, type, nl_arena_str(call->arena, nl_str_from(param)));
    nl_error_free(error);
}

/* ---- Answers ---- */

nl_json_writer nl_s3tables_begin(nl_s3tables_call *call)
{
    call->reply->body = NL_NEW(call->arena, nl_builder);
    nl_builder_init(call->reply->body, 64u << 20);
    nl_json_writer json = {.out = call->reply->body};
    nl_json_begin(&json, '{');
    return json;
}

void nl_s3tables_end(nl_s3tables_call *call, nl_json_writer *json)
{
    nl_json_end(json, '}');
    call->reply->status = call->route->status;
    nl_reply_header(call->request, call->reply, "Content-Type", NL_STR("application/json"));
}

void nl_s3tables_text(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

void nl_s3tables_time(nl_s3tables_call *call, nl_json_writer *json, const char *key, int64_t micros)
{
    nl_builder text;
    nl_builder_init(&text, 64);
    nl_timestamp_append_iso(nl_ice_type_of(NL_ICE_TIMESTAMP), micros, &text);
    nl_append_char(&text, 'Z');
    nl_s3tables_text(json, key, nl_arena_str(call->arena, nl_builder_str(&text)));
    nl_builder_fini(&text);
}

void nl_s3tables_namespace(nl_json_writer *json, nl_str name)
{
    nl_json_key(json, "namespace");
    nl_json_begin(json, '[');
    nl_json_write_text(json, name);
    nl_json_end(json, ']');
}

nl_str nl_s3tables_table_arn(nl_s3tables_call *call, const nl_warehouse *bucket, nl_str uuid)
{
    return nl_arena_f(call->arena, NL_STR_FMT "/table/" NL_STR_FMT, NL_STR_ARG(bucket->arn), NL_STR_ARG(uuid));
}

/* ---- What a request names ---- */

nl_str nl_s3tables_parameter(nl_s3tables_call *call, const char *name)
{
    return nl_request_parameter(call->request, name, NULL);
}

nl_status nl_s3tables_check_name(nl_s3tables_call *call, nl_str name, const char *what)
{
    bool is_good = name.length > 0 && name.length <= 255;
    for (size_t i = 0; i < name.length; i++)
        is_good = is_good && ((name.data[i] >= 'a' && name.data[i] <= 'z') || (name.data[i] >= '0' && name.data[i] <= '9') || name.data[i] == '_');
    return is_good ? NULL : nl_s3tables_bad(call, "The specified %s name is not valid.", what);
}

nl_status nl_s3tables_find_bucket(nl_s3tables_call *call, nl_str arn, nl_warehouse *bucket)
{
    bool exists = false;
    if (!nl_str_starts(arn, NL_STR("arn:"))) return nl_s3tables_bad(call, "The specified table bucket ARN is not valid: " NL_STR_FMT, NL_STR_ARG(arn));
    NL_TRY(nl_tables_find_warehouse(call->tables, NL_WAREHOUSE_TABLE_BUCKET, arn, call->arena, bucket, &exists));
    return exists ? NULL : nl_s3tables_not_found(call, "bucket");
}

nl_status nl_s3tables_find_table_arn(nl_s3tables_call *call, nl_str arn)
{
    static const nl_str middle = NL_STR_INIT("/table/");
    bool exists = false;
    const size_t at = nl_str_find(arn, middle, 0);
    if (at == NL_NOT_FOUND) return nl_s3tables_bad(call, "The specified table ARN is not valid: " NL_STR_FMT, NL_STR_ARG(arn));
    NL_TRY(nl_s3tables_find_bucket(call, nl_str_slice(arn, 0, at), &call->bucket));
    NL_TRY(nl_tables_find_uuid(call->tables, nl_str_slice(arn, at + middle.length, arn.length), call->arena, &call->table, &exists));
    return exists && call->table.warehouse_id == call->bucket.id && !call->table.is_view ? NULL : nl_s3tables_not_found(call, "table");
}

nl_status nl_s3tables_find_namespace(nl_s3tables_call *call, nl_str name, nl_namespace_entry *entry)
{
    bool exists = false;
    if (name.length) NL_TRY(nl_tables_find_namespace(call->tables, call->bucket.id, &name, 1, call->arena, entry, &exists));
    return exists ? NULL : nl_s3tables_not_found(call, "namespace");
}

static nl_status find_table(nl_s3tables_call *call)
{
    bool exists = false;
    const nl_identifier identifier = {&call->namespace_name, 1, call->name};
    if (call->namespace_name.length && call->name.length)
        NL_TRY(nl_tables_find(call->tables, call->bucket.id, &identifier, call->arena, &call->table, &exists));
    return exists && !call->table.is_view ? NULL : nl_s3tables_not_found(call, "table");
}

static nl_status find_subject(nl_s3tables_call *call)
{
    switch (call->route->subject) {
    case NL_S3TABLES_NOTHING: return NULL;
    case NL_S3TABLES_BUCKET: return nl_s3tables_find_bucket(call, call->bucket_arn, &call->bucket);
    case NL_S3TABLES_TABLE: NL_TRY(nl_s3tables_find_bucket(call, call->bucket_arn, &call->bucket)); return find_table(call);
    case NL_S3TABLES_QUERY_BUCKET: return nl_s3tables_find_bucket(call, nl_s3tables_parameter(call, "tableBucketARN"), &call->bucket);
    case NL_S3TABLES_QUERY_TABLE: return nl_s3tables_find_table_arn(call, nl_s3tables_parameter(call, "tableArn"));
    }
    return NULL;
}

/* ---- Pages: the token is the last name in hex ---- */

nl_status nl_s3tables_page(nl_s3tables_call *call, const char *size_name, nl_str *after, uint32_t *count_max)
{
    const nl_str token = nl_s3tables_parameter(call, "continuationToken"), size = nl_s3tables_parameter(call, size_name);
    int64_t wanted = 1000;
    if (size.length && (!nl_parse_int64(size, &wanted) || wanted < 1 || wanted > 1000)) return nl_s3tables_bad(call, "%s is between 1 and 1000", size_name);
    char *name = nl_arena_alloc(call->arena, token.length / 2 + 1);
    bool is_good = token.length % 2 == 0;
    for (size_t i = 0; is_good && i < token.length; i++) {
        const char c = token.data[i];
        is_good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
        const int digit = c <= '9' ? c - '0' : c - 'a' + 10;
        name[i / 2] = (char)(i % 2 ? (unsigned char)name[i / 2] * 16 + digit : digit);
    }
    if (!is_good) return nl_s3tables_bad(call, "The continuation token is not valid.");
    *after = (nl_str){name, token.length / 2};
    *count_max = (uint32_t)wanted;
    return NULL;
}

void nl_s3tables_write_token(nl_s3tables_call *call, nl_json_writer *json, nl_str last)
{
    nl_builder token;
    nl_builder_init(&token, 4096);
    for (size_t i = 0; i < last.length; i++)
        nl_append_f(&token, "%02x", (unsigned char)last.data[i]);
    nl_s3tables_text(json, "continuationToken", nl_arena_str(call->arena, nl_builder_str(&token)));
    nl_builder_fini(&token);
}

/* ---- Routing ---- */

static bool matches(nl_s3tables_call *call, const char *pattern, const nl_str *segments, uint32_t count, bool is_filled)
{
    nl_str rest = nl_str_from(pattern), part;
    uint32_t i = 0;
    for (; nl_str_next_part(&rest, '/', &part); i++) {
        if (i == count) return false;
        if (part.data[0] != '{') {
            if (!nl_str_equal(part, segments[i])) return false;
            continue;
        }
        if (!is_filled) continue;
        if (nl_str_is(part, "{bucket}")) call->bucket_arn = segments[i];
        else if (nl_str_is(part, "{namespace}")) call->namespace_name = segments[i];
        else if (nl_str_is(part, "{name}")) call->name = segments[i];
        else call->type = segments[i];
    }
    return i == count;
}

/* An ARN whose slash came unencoded is two segments (a table's four): they are put together again. */
static uint32_t join_arn(nl_s3tables_call *call, nl_str *segments, uint32_t count)
{
    if (count < 3 || !nl_str_starts(segments[1], NL_STR("arn:")) || nl_str_find_char(segments[1], '/', 0) != NL_NOT_FOUND) return count;
    const uint32_t taken = count == 5 && nl_str_is(segments[0], "tag") && nl_str_is(segments[3], "table") ? 3 : 1;
    for (uint32_t i = 0; i < taken; i++)
        segments[1] = nl_arena_f(call->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(segments[1]), NL_STR_ARG(segments[2 + i]));
    for (uint32_t i = 2; i + taken < count; i++)
        segments[i] = segments[i + taken];
    return count - taken;
}

static nl_status find_route(nl_s3tables_call *call)
{
    const nl_str *split;
    nl_str segments[SEGMENTS_MAX];
    uint32_t count;
    bool is_known_path = false;
    NL_TRY(nl_request_segments(call->request, &split, &count));
    while (count && split[count - 1].length == 0)
        count--;
    if (count > SEGMENTS_MAX) count = 0;
    for (uint32_t i = 0; i < count; i++)
        segments[i] = split[i];
    count = join_arn(call, segments, count);
    for (uint32_t i = 0; i < nl_s3tables_route_count; i++) {
        const nl_s3tables_route *route = &nl_s3tables_routes[i];
        if (!matches(call, route->path, segments, count, false)) continue;
        is_known_path = true;
        if (!nl_str_is(call->request->method, route->method)) continue;
        matches(call, route->path, segments, count, true);
        call->route = route;
        return NULL;
    }
    if (is_known_path) return nl_s3tables_refuse(call, 405, "MethodNotAllowedException", "The specified method is not allowed against this resource.");
    return nl_s3tables_refuse(call, 404, "NotFoundException", "There is no such operation: " NL_STR_FMT " " NL_STR_FMT, NL_STR_ARG(call->request->method),
                              NL_STR_ARG(call->request->path));
}

static nl_status run(nl_s3tables_call *call)
{
    nl_access_check(call->request, call->keys, "s3tables", &call->access);
    if (!call->access.is_allowed) return nl_s3tables_refuse(call, 403, call->access.code, NL_STR_FMT, NL_STR_ARG(call->access.message));
    NL_TRY(find_route(call));
    const nl_str text = {(const char *)call->request->body.data, call->request->body.length};
    if (text.length && call->route->method[0] != 'G') {
        NL_TRY(nl_json_parse(call->arena, text, NL_S3TABLES_BODY, &call->body));
        NL_TRY(nl_json_object(call->body, NL_S3TABLES_BODY, "the body"));
    }
    NL_TRY(find_subject(call));
    call->reply->status = call->route->status;
    return call->route->handle(call);
}

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    s3tables_service *self = NL_CONTAINER(service, s3tables_service, base);
    if (nl_str_starts(request->path, NL_STR("/iceberg/"))) {
        nl_rest_api_answer(self->rest, request, reply);
        return NULL;
    }
    nl_s3tables_call call = {.tables = self->tables, .keys = &self->keys, .request = request, .reply = reply, .arena = request->arena};
    nl_status status = run(&call);
    if (status) answer_error(&call, status);
    return NULL;
}

static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service;
    (void)error;
    const int32_t status = reply->status >= 400 ? reply->status : 500;
    write_error(request, reply, status, status >= 500 ? "InternalServerErrorException" : "BadRequestException", NL_STR("The request could not be read"));
}

static void free_service(nl_service *service)
{
    s3tables_service *self = NL_CONTAINER(service, s3tables_service, base);
    nl_rest_api_free(self->rest);
    nl_arena_free(self->arena);
    free(self);
}

static const nl_service_ops ops = {.name = "s3tables", .default_port = 8013, .answer = answer, .fail = fail, .free = free_service};

nl_status nl_s3tables_service_new(nl_tables *tables, const nl_lakehouse_keys *keys, struct nl_service **service)
{
    s3tables_service *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &ops;
    made->tables = tables;
    made->arena = nl_arena_new(NULL);
    made->keys = (nl_lakehouse_keys){nl_arena_str(made->arena, keys->access_key), nl_arena_str(made->arena, keys->secret_key), keys->is_strict};
    nl_status status = nl_rest_api_new(&(nl_rest_api_options){.tables = tables, .keys = *keys, .kind = NL_WAREHOUSE_TABLE_BUCKET, .mount = NL_STR("/iceberg")}, &made->rest);
    if (status) {
        free_service(&made->base);
        return status;
    }
    *service = &made->base;
    return NULL;
}
