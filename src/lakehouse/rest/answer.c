/* lakehouse/rest/answer.c - a request to its reply: who asks, which route, the body; errors in the REST form; and what the
 * routes share. */
#include "lakehouse/rest/rest_private.h"

#include "base/log.h"
#include "base/number.h"
#include "storage/sigv4.h"

#include <stdarg.h>
#include <stdlib.h>

nl_status nl_rest_api_new(const nl_rest_api_options *options, nl_rest_api **rest)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_rest_api *made = NL_NEW(arena, nl_rest_api);
    made->options = *options;
    made->options.keys.access_key = nl_arena_str(arena, options->keys.access_key);
    made->options.keys.secret_key = nl_arena_str(arena, options->keys.secret_key);
    made->arena = arena;
    *rest = made;
    return NULL;
}

void nl_rest_api_free(nl_rest_api *rest)
{
    if (rest) nl_arena_free(rest->arena);
}

/* ---- Errors ---- */

nl_status nl_rest_api_refuse(nl_rest_api_call *call, int32_t status, const char *type, const char *format, ...)
{
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    call->error_status = status;
    call->error_type = type;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s", text);
}

nl_str nl_rest_api_dotted(nl_arena *arena, const nl_identifier *identifier)
{
    nl_str text = {"", 0};
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(text), i ? "." : "", NL_STR_ARG(identifier->namespace_parts[i]));
    if (!identifier->name.length) return text;
    return nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(text), text.length ? "." : "", NL_STR_ARG(identifier->name));
}

nl_status nl_rest_api_no_table(nl_rest_api_call *call, const nl_identifier *identifier)
{
    const nl_str name = nl_rest_api_dotted(call->arena, identifier);
    return nl_rest_api_refuse(call, 404, "NoSuchTableException", "Table does not exist: " NL_STR_FMT, NL_STR_ARG(name));
}

nl_status nl_rest_api_no_view(nl_rest_api_call *call, const nl_identifier *identifier)
{
    const nl_str name = nl_rest_api_dotted(call->arena, identifier);
    return nl_rest_api_refuse(call, 404, "NoSuchViewException", "View does not exist: " NL_STR_FMT, NL_STR_ARG(name));
}

nl_status nl_rest_api_no_namespace(nl_rest_api_call *call, const nl_identifier *identifier)
{
    const nl_identifier scope = {identifier->namespace_parts, identifier->namespace_count, {0}};
    const nl_str name = nl_rest_api_dotted(call->arena, &scope);
    return nl_rest_api_refuse(call, 404, "NoSuchNamespaceException", "Namespace does not exist: " NL_STR_FMT, NL_STR_ARG(name));
}

typedef struct error_row {
    nl_condition condition;
    int32_t status;
    const char *type;
    const char *words; /* before the parameter's text; NULL: the parameter is the whole message */
    const char *param;
} error_row;

static const error_row errors[] = {
    {NL_COND_SCHEMA_NOT_FOUND, 404, "NoSuchNamespaceException", "Namespace does not exist: ", "schemaName"},
    {NL_COND_NILAS_NO_SUCH_NAMESPACE, 404, "NoSuchNamespaceException", NULL, "message"},
    {NL_COND_SCHEMA_ALREADY_EXISTS, 409, "AlreadyExistsException", "Namespace already exists: ", "schemaName"},
    {NL_COND_NILAS_NAMESPACE_NOT_EMPTY, 409, "NamespaceNotEmptyException", NULL, "message"},
    {NL_COND_TABLE_OR_VIEW_NOT_FOUND, 404, "NoSuchTableException", "Table does not exist: ", "relationName"},
    {NL_COND_VIEW_NOT_FOUND, 404, "NoSuchViewException", "View does not exist: ", "relationName"},
    {NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS, 409, "AlreadyExistsException", "Table already exists: ", "relationName"},
    {NL_COND_NILAS_COMMIT_FAILED, 409, "CommitFailedException", NULL, "message"},
    {NL_COND_NILAS_COMMIT_STATE_UNKNOWN, 500, "CommitStateUnknownException", NULL, "message"},
    {NL_COND_NILAS_ILLEGAL_ARGUMENT, 400, "IllegalArgumentException", NULL, "message"},
    {NL_COND_NILAS_VALIDATION_FAILED, 400, "ValidationException", NULL, "message"},
    {NL_COND_NILAS_UNSUPPORTED, 406, "UnsupportedOperationException", NULL, "message"},
    {NL_COND_NILAS_OBJECT_STORE, 400, "BadRequestException", NULL, "message"},
    {NL_COND_PATH_NOT_FOUND, 404, "NotFoundException", "File does not exist: ", "path"},
    {NL_COND_UNABLE_TO_ACQUIRE_MEMORY, 503, "ServiceUnavailableException", "Not enough memory: ", "requestedBytes"},
};

/* "`a`.`b`" as REST says it: a.b. */
static nl_str without_quotes(nl_arena *arena, const char *text)
{
    char *out = nl_arena_alloc(arena, strlen(text) + 1);
    size_t length = 0;
    for (; *text; text++)
        if (*text != '`') out[length++] = *text;
    return (nl_str){out, length};
}

static void write_error(nl_rest_api_call *call, int32_t status, const char *type, nl_str message)
{
    if (call->reply->body) nl_builder_fini(call->reply->body);
    call->reply->body = NULL;
    if (nl_str_is(call->request->method, "HEAD")) {
        nl_rest_api_empty(call, status);
        return;
    }
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "error");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "message");
    nl_json_write_text(&json, nl_valid_text(call->arena, message));
    nl_json_key(&json, "type");
    nl_json_write_text(&json, nl_str_from(type));
    nl_json_key(&json, "code");
    nl_json_write_int(&json, status);
    nl_json_end(&json, '}');
    nl_rest_api_end(call, &json, status);
}

static void answer_error(nl_rest_api_call *call, nl_error *error)
{
    int32_t status = call->error_status;
    const char *type = call->error_type;
    const char *param = nl_error_param(error, "message");
    nl_str message = param ? nl_str_from(param) : nl_str_from(nl_error_message(error));
    const nl_condition condition = nl_error_condition(error);
    const char *path = nl_error_param(error, "path");
    if (!status && condition == NL_COND_NILAS_CORRUPT_FILE && path && nl_str_equal(nl_str_from(path), NL_REST_API_BODY)) {
        status = 400;
        type = "BadRequestException";
        message = nl_arena_f(call->arena, "Malformed request: %s", nl_error_param(error, "problem"));
    }
    if (!status && condition == NL_COND_NILAS_CORRUPT_FILE) { /* a file that a client named or wrote, or a part of the request */
        status = 400;
        type = "BadRequestException";
        message = nl_arena_f(call->arena, "Cannot read %s: %s", path ? path : "the request", nl_error_param(error, "problem"));
    }
    for (size_t i = 0; !status && i < NL_COUNT(errors); i++) {
        if (errors[i].condition != condition) continue;
        status = errors[i].status;
        type = errors[i].type;
        const char *text = nl_error_param(error, errors[i].param);
        const nl_str clean = without_quotes(call->arena, text ? text : "");
        message = errors[i].words ? nl_arena_f(call->arena, "%s" NL_STR_FMT, errors[i].words, NL_STR_ARG(clean)) : nl_str_from(text);
    }
    if (!status && nl_error_kind_of(error) == NL_KIND_RETRY) { /* a full disk: for certain nothing was changed */
        status = 503;
        type = "ServiceUnavailableException";
    }
    if (!status) {
        status = 500;
        type = "InternalServerError";
        nl_log(NL_LOG_ERROR, "rest: %.*s %.*s: %s %s", NL_STR_ARG(call->request->method), NL_STR_ARG(call->request->path), nl_error_message(error),
               nl_error_notes(error));
    }
    write_error(call, status, type, nl_arena_str(call->arena, message));
    nl_error_free(error);
}

/* ---- Replies ---- */

nl_json_writer nl_rest_api_begin(nl_rest_api_call *call)
{
    if (call->reply->body) nl_builder_fini(call->reply->body); /* of an attempt that came to nothing */
    call->reply->body = NL_NEW(call->arena, nl_builder);
    nl_builder_init(call->reply->body, NL_REST_API_ANSWER_BYTES_MAX);
    nl_json_writer json = {.out = call->reply->body};
    nl_json_begin(&json, '{');
    return json;
}

void nl_rest_api_end(nl_rest_api_call *call, nl_json_writer *json, int32_t status)
{
    nl_json_end(json, '}');
    nl_rest_api_send(call, status);
}

void nl_rest_api_send(nl_rest_api_call *call, int32_t status)
{
    call->reply->status = status;
    nl_reply_header(call->request, call->reply, "Content-Type", NL_STR("application/json"));
}

void nl_rest_api_empty(nl_rest_api_call *call, int32_t status)
{
    call->reply->status = status;
    call->reply->is_head = nl_str_is(call->request->method, "HEAD");
}

/* ---- Parts of requests ---- */

static bool is_plain_name(nl_str name)
{
    bool is_good = name.length > 0 && name.length <= 1024 && nl_utf8_is_valid(name);
    for (size_t i = 0; i < name.length; i++)
        is_good = is_good && (unsigned char)name.data[i] >= 0x20;
    return is_good;
}

static bool is_bucket_name(nl_str name)
{
    bool is_good = name.length > 0 && name.length <= 255;
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.data[i];
        is_good = is_good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_');
    }
    return is_good;
}

/* New names only: what does not fit does not exist, which is said otherwise. */
nl_status nl_rest_api_check_names(nl_rest_api_call *call, const nl_identifier *identifier)
{
    const bool is_bucket = call->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET;
    bool (*const is_good)(nl_str) = is_bucket ? is_bucket_name : is_plain_name;
    if (is_bucket && identifier->namespace_count != 1)
        return nl_rest_api_refuse(call, 400, "BadRequestException", "A namespace of a table bucket has exactly one level");
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        if (!is_good(identifier->namespace_parts[i]))
            return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid namespace name: '" NL_STR_FMT "'%s", NL_STR_ARG(identifier->namespace_parts[i]),
                                  is_bucket ? " (1 to 255 of a-z, 0-9, _)" : "");
    if (identifier->name.data && !is_good(identifier->name))
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid table name: '" NL_STR_FMT "'%s", NL_STR_ARG(identifier->name),
                              is_bucket ? " (1 to 255 of a-z, 0-9, _)" : "");
    return NULL;
}

nl_status nl_rest_api_read_namespace(nl_rest_api_call *call, const json_t *array, nl_identifier *identifier)
{
    const size_t count = json_array_size(array);
    if (!json_is_array(array) || count == 0 || count > 1000)
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: namespace must be an array of at least one name");
    nl_str *parts = NL_NEW_ARRAY(call->arena, nl_str, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: a level of the namespace is no text");
        parts[i] = (nl_str){json_string_value(item), json_string_length(item)};
    }
    identifier->namespace_parts = parts;
    identifier->namespace_count = (uint32_t)count;
    return nl_arena_check(call->arena);
}

nl_status nl_rest_api_read_identifier(nl_rest_api_call *call, const json_t *object, nl_identifier *identifier)
{
    NL_TRY(nl_json_object(object, NL_REST_API_BODY, "a table identifier"));
    NL_TRY(nl_rest_api_read_namespace(call, json_object_get(object, "namespace"), identifier));
    return nl_json_text(object, "name", NL_REST_API_BODY, &identifier->name);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

nl_status nl_rest_api_page(nl_rest_api_call *call, nl_str *after, uint32_t *count_max, bool *is_paged)
{
    bool has_token, has_size;
    const nl_str token = nl_request_parameter(call->request, "pageToken", &has_token);
    const nl_str size = nl_request_parameter(call->request, "pageSize", &has_size);
    int64_t wanted = NL_REST_API_PAGE_MAX;
    if (has_size && (!nl_parse_int64(size, &wanted) || wanted < 1))
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid pageSize: " NL_STR_FMT, NL_STR_ARG(size));
    const size_t length = token.length / 2;
    char *name = nl_arena_alloc(call->arena, length + 1);
    bool is_good = token.length == 2 * length;
    for (size_t i = 0; is_good && i < length; i++) {
        const int high = hex_digit(token.data[2 * i]), low = hex_digit(token.data[2 * i + 1]);
        is_good = high >= 0 && low >= 0;
        name[i] = (char)(high * 16 + low);
    }
    if (!is_good) return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid pageToken: " NL_STR_FMT, NL_STR_ARG(token));
    *after = (nl_str){name, length};
    *is_paged = has_token || has_size;
    *count_max = *is_paged ? (uint32_t)NL_MIN(wanted, NL_REST_API_PAGE_MAX) : UINT32_MAX - 1;
    return NULL;
}

void nl_rest_api_write_page_token(nl_rest_api_call *call, nl_json_writer *json, bool is_paged, bool has_more, nl_str last)
{
    if (!is_paged) return;
    nl_json_key(json, "next-page-token");
    if (!has_more) {
        nl_json_write_null(json);
        return;
    }
    nl_builder token;
    nl_builder_init(&token, 4096);
    for (size_t i = 0; i < last.length; i++)
        nl_append_f(&token, "%02x", (unsigned char)last.data[i]);
    nl_json_write_text(json, nl_arena_str(call->arena, nl_builder_str(&token)));
    nl_builder_fini(&token);
}

/* ---- Requests that come again ----
 *
 * A client that got no answer sends the request once more under the same Idempotency-Key, perhaps while the first is running.
 * Changes keep their answer in their own transaction, which fails when there is one: a change happens once. Answers to what
 * changes nothing are kept afterwards. Only successes are kept: a failure is found again by trying.
 */

#define KEY_LENGTH_MAX  64u
#define KEPT_BODY_MAX   (64u << 10)

nl_remembered *nl_rest_api_remembered(nl_rest_api_call *call, int32_t status, nl_str body)
{
    if (!call->answer.key.length || body.length > KEPT_BODY_MAX) return NULL;
    call->answer.status = status;
    call->answer.body = body;
    call->is_remembered = true;
    return &call->answer;
}

static nl_status replay(nl_rest_api_call *call, const nl_rest_api_route *route, const nl_remembered *kept)
{
    if (!nl_str_equal(kept->request, call->answer.request))
        return nl_rest_api_refuse(call, 422, "UnprocessableEntityException", "The Idempotency-Key was used for another request");
    if (kept->status == 204) {
        nl_rest_api_empty(call, 204);
        return NULL;
    }
    if (!kept->metadata_location.length) {
        nl_reply_text(call->request, call->reply, kept->status, "application/json", kept->body);
        return NULL;
    }
    if (route->handle == nl_rest_api_create_view || route->handle == nl_rest_api_replace_view || route->handle == nl_rest_api_register_view) {
        const nl_view_metadata *view;
        nl_fs *fs;
        NL_TRY(nl_tables_fs(call->tables, kept->metadata_location, &fs));
        NL_TRY(nl_view_metadata_read(fs, kept->metadata_location, call->request->memory, &view));
        nl_rest_api_write_view(call, view);
        nl_view_metadata_release(view);
        return NULL;
    }
    nl_kept_metadata table;
    NL_TRY(nl_tables_read_metadata(call->tables, kept->metadata_location, &table));
    nl_rest_api_write_table(call, &(nl_rest_api_table_reply){.kept = &table, .is_commit = route->handle == nl_rest_api_commit_table});
    nl_kept_metadata_release(&table);
    return NULL;
}

static nl_status read_key(nl_rest_api_call *call, const nl_rest_api_route *route)
{
    const nl_str key = nl_request_header(call->request, "idempotency-key");
    const bool is_change = (route->method[0] == 'P' || route->method[0] == 'D') && !route->is_global;
    if (!key.data || !is_change) return NULL;
    if (key.length == 0 || key.length > KEY_LENGTH_MAX) return nl_rest_api_refuse(call, 400, "BadRequestException", "Invalid Idempotency-Key: a UUID is expected");
    uint8_t digests[64];
    const nl_str head = nl_arena_f(call->arena, NL_STR_FMT " " NL_STR_FMT "?" NL_STR_FMT, NL_STR_ARG(call->request->method), NL_STR_ARG(call->request->path),
                                   NL_STR_ARG(call->request->query));
    nl_sha256((nl_bytes){(const uint8_t *)head.data, head.length}, digests);
    nl_sha256(call->request->body, digests + 32);
    call->answer = (nl_remembered){.key = key, .request = nl_hex(call->arena, digests, sizeof(digests))};
    return NULL;
}

static nl_status handle(nl_rest_api_call *call, const nl_rest_api_route *route)
{
    nl_remembered kept;
    bool exists = false;
    NL_TRY(read_key(call, route));
    if (!call->answer.key.length) return route->handle(call);
    NL_TRY(nl_tables_recall(call->tables, call->answer.key, call->arena, &kept, &exists));
    if (exists) return replay(call, route, &kept);
    nl_status status = route->handle(call);
    if (status) { /* the same request twice at once: what the first of them was answered counts */
        nl_error *hidden = nl_tables_recall(call->tables, call->answer.key, call->arena, &kept, &exists);
        if (hidden || !exists) {
            nl_error_free(hidden);
            return status;
        }
        nl_error_free(status);
        return replay(call, route, &kept);
    }
    const nl_builder *body = call->reply->body;
    if (call->is_remembered || (body && body->length > KEPT_BODY_MAX)) return NULL;
    call->answer.status = call->reply->status;
    if (body) call->answer.body = nl_builder_str(body);
    nl_error *error = nl_tables_remember(call->tables, &call->answer); /* what was asked is done whether or not this is */
    if (error) nl_log(NL_LOG_WARN, "rest: an answer could not be kept: %s", nl_error_message(error));
    nl_error_free(error);
    return NULL;
}

/* ---- The whole ---- */

static nl_status read_body(nl_rest_api_call *call, const nl_rest_api_route *route)
{
    if (!route->has_body) return NULL;
    const nl_str text = {(const char *)call->request->body.data, call->request->body.length};
    if (!text.length) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: the body is empty");
    NL_TRY(nl_json_parse(call->arena, text, NL_REST_API_BODY, &call->body));
    return nl_json_object(call->body, NL_REST_API_BODY, "the body");
}

static nl_status run(nl_rest_api_call *call)
{
    const nl_rest_api_route *route;
    bool is_wrong_method;
    const bool is_bucket = call->rest->options.kind == NL_WAREHOUSE_TABLE_BUCKET; /* a plain catalog is no service of AWS: any name */
    nl_access_check(call->request, &call->rest->options.keys, is_bucket ? "s3tables" : NULL, &call->access);
    const bool is_token_request = nl_str_ends(call->request->path, NL_STR("/v1/oauth/tokens")); /* where access begins */
    if (!call->access.is_allowed && !is_token_request) {
        const bool is_missing = call->access.code[0] == 'M' || call->access.code[0] == 'N';
        return nl_rest_api_refuse(call, is_missing ? 401 : 403, is_missing ? "NotAuthorizedException" : "ForbiddenException", NL_STR_FMT,
                              NL_STR_ARG(call->access.message));
    }
    NL_TRY(nl_rest_api_find_route(call, &route, &is_wrong_method));
    if (is_wrong_method)
        return nl_rest_api_refuse(call, 405, "MethodNotAllowedException", NL_STR_FMT " is not allowed here", NL_STR_ARG(call->request->method));
    if (!route)
        return nl_rest_api_refuse(call, 404, "NoSuchEndpointException", "No such endpoint: " NL_STR_FMT " " NL_STR_FMT, NL_STR_ARG(call->request->method),
                              NL_STR_ARG(call->request->path));
    if (route->is_plain && call->warehouse.kind == NL_WAREHOUSE_TABLE_BUCKET)
        return nl_rest_api_refuse(call, 406, "UnsupportedOperationException", "A table bucket does not serve %s %s", route->method, route->path);
    NL_TRY(read_body(call, route));
    return handle(call, route);
}

void nl_rest_api_answer(nl_rest_api *rest, nl_request *request, nl_reply *reply)
{
    nl_rest_api_call call = {.rest = rest, .tables = rest->options.tables, .request = request, .reply = reply, .arena = request->arena};
    nl_status status = run(&call);
    if (!status && reply->body && nl_builder_failed(reply->body))
        status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", NL_REST_API_ANSWER_BYTES_MAX), NL_P("receivedBytes", "0"));
    if (status) answer_error(&call, status);
}
