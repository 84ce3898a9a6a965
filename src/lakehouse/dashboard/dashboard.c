/* lakehouse/dashboard/dashboard.c - see dashboard.h. */
#include "lakehouse/dashboard/dashboard_private.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/uuid.h"

#define UPLOAD_PATH "/api/upload"

/* Nothing from elsewhere is loaded, no script or style stands in the page itself, and no other page may frame it. */
#define POLICY                                                                                                   \
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; " \
    "form-action 'none'; frame-ancestors 'none'"

typedef struct route {
    const char *method, *path;
    nl_status (*handle)(nl_dashboard_call *call);
} route;

static nl_status session(nl_dashboard_call *call)
{
    nl_json_begin(&call->json, '{');
    nl_dashboard_member_text(call, "version", NL_STR(NILAS_VERSION));
    nl_dashboard_member_text(call, "token", nl_str_from(call->dashboard->token));
    nl_json_end(&call->json, '}');
    return NULL;
}

static const route routes[] = {
    {"GET", "/api/session", session},
    {"GET", "/api/buckets", nl_dashboard_buckets},
    {"GET", "/api/objects", nl_dashboard_objects},
    {"GET", "/api/object", nl_dashboard_object},
    {"GET", "/api/warehouses", nl_dashboard_warehouses},
    {"GET", "/api/tables", nl_dashboard_tables},
    {"GET", "/api/table", nl_dashboard_table},
    {"GET", "/api/health", nl_dashboard_health},
    {"GET", "/api/queries", nl_dashboard_queries},
    {"POST", UPLOAD_PATH, nl_dashboard_upload},
    {"POST", "/api/create-bucket", nl_dashboard_create_bucket},
    {"POST", "/api/delete-bucket", nl_dashboard_delete_bucket},
    {"POST", "/api/delete-object", nl_dashboard_delete_object},
    {"POST", "/api/maintenance", nl_dashboard_maintenance},
    {"POST", "/api/cancel-query", nl_dashboard_cancel_query},
};

nl_status nl_dashboard_parameter(nl_dashboard_call *call, const char *name, nl_str *value)
{
    bool has = false;
    *value = nl_request_parameter(call->request, name, &has);
    return has ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The parameter %s is missing", name);
}

void nl_dashboard_member_text(nl_dashboard_call *call, const char *key, nl_str value)
{
    nl_json_key(&call->json, key);
    nl_json_write_text(&call->json, value);
}

void nl_dashboard_member_int(nl_dashboard_call *call, const char *key, int64_t value)
{
    nl_json_key(&call->json, key);
    nl_json_write_int(&call->json, value);
}

void nl_dashboard_member_bool(nl_dashboard_call *call, const char *key, bool value)
{
    nl_json_key(&call->json, key);
    nl_json_write_bool(&call->json, value);
}

/* ---- Guards. */

static void reply_error(nl_request *request, nl_reply *reply, int32_t status, nl_str text)
{
    nl_builder body;
    nl_builder_init(&body, 1 << 20);
    nl_json_writer json = {.out = &body};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "error");
    nl_json_write_text(&json, text);
    nl_json_end(&json, '}');
    nl_reply_text(request, reply, status, "application/json", nl_builder_str(&body));
    nl_builder_fini(&body);
}

/* Takes as long whatever differs. */
static bool is_same(nl_str given, nl_str wanted)
{
    unsigned difference = given.length != wanted.length;
    for (size_t i = 0; i < given.length; i++) difference |= (unsigned char)(given.data[i] ^ wanted.data[wanted.length ? i % wanted.length : 0]);
    return difference == 0 && wanted.length > 0;
}

static void append_base64(nl_builder *out, nl_str text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < text.length; i += 3) {
        uint32_t three = (uint32_t)(unsigned char)text.data[i] << 16;
        if (i + 1 < text.length) three |= (uint32_t)(unsigned char)text.data[i + 1] << 8;
        if (i + 2 < text.length) three |= (uint32_t)(unsigned char)text.data[i + 2];
        nl_append_char(out, digits[three >> 18]);
        nl_append_char(out, digits[three >> 12 & 63]);
        nl_append_char(out, i + 1 < text.length ? digits[three >> 6 & 63] : '=');
        nl_append_char(out, i + 2 < text.length ? digits[three & 63] : '=');
    }
}

static bool is_known_person(const nl_dashboard *self, const nl_request *request)
{
    const nl_lakehouse_keys *keys = self->stores.keys;
    if (!keys->is_strict) return true;
    nl_builder pair, expected;
    nl_builder_init(&pair, 4096);
    nl_builder_init(&expected, 8192);
    nl_append_f(&pair, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(keys->access_key), NL_STR_ARG(keys->secret_key));
    nl_append_c(&expected, "Basic ");
    append_base64(&expected, nl_builder_str(&pair));
    const bool is_known = is_same(nl_request_header(request, "Authorization"), nl_builder_str(&expected));
    nl_builder_fini(&expected);
    nl_builder_fini(&pair);
    return is_known;
}

static void add_headers(nl_request *request, nl_reply *reply)
{
    nl_reply_header(request, reply, "Content-Security-Policy", NL_STR(POLICY));
    nl_reply_header(request, reply, "X-Content-Type-Options", NL_STR("nosniff"));
    nl_reply_header(request, reply, "X-Frame-Options", NL_STR("DENY"));
    nl_reply_header(request, reply, "Referrer-Policy", NL_STR("no-referrer"));
    nl_reply_header(request, reply, "Cross-Origin-Resource-Policy", NL_STR("same-origin"));
    nl_reply_header(request, reply, "Cache-Control", NL_STR("no-store"));
}

static nl_status begin(nl_service *service, nl_request *request, bool *is_streamed, nl_reply *reply)
{
    nl_dashboard *self = NL_CONTAINER(service, nl_dashboard, base);
    if (!is_known_person(self, request)) {
        add_headers(request, reply);
        nl_reply_header(request, reply, "WWW-Authenticate", NL_STR("Basic realm=\"nilas\", charset=\"UTF-8\""));
        reply_error(request, reply, 401, NL_STR("Log in with the access key as the name and the secret key as the password."));
    } else if (nl_str_is(request->method, "POST")) {
        if (!is_same(nl_request_header(request, "x-nilas-token"), nl_str_from(self->token))) {
            add_headers(request, reply);
            reply_error(request, reply, 403, NL_STR("The page is from another run of nilas: load it again."));
        } else if (nl_str_is(request->path, UPLOAD_PATH)) {
            *is_streamed = true;
            return nl_dashboard_upload_begin(self, request);
        }
    }
    return NULL;
}

static nl_status take_body(nl_service *service, nl_request *request, const uint8_t *bytes, size_t length)
{
    (void)service;
    return nl_incoming_write(request->data, bytes, length);
}

static void abandon(nl_service *service, nl_request *request)
{
    (void)service;
    nl_incoming_free(request->data);
}

/* ---- Answers. */

static nl_status run_route(nl_dashboard *self, const route *found, nl_request *request, nl_reply *reply)
{
    nl_builder *body = NL_NEW(request->arena, nl_builder);
    nl_builder_init(body, 64 << 20);
    nl_dashboard_call call = {.dashboard = self, .request = request, .reply = reply, .json = {.out = body}};
    nl_status status = found->handle(&call);
    if (!status && nl_builder_failed(body)) status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "There is too much to show");
    if (status || body->length == 0) {
        nl_builder_fini(body);
        return status;
    }
    nl_reply_header(request, reply, "Content-Type", NL_STR("application/json"));
    reply->body = body;
    return NULL;
}

static nl_status answer(nl_service *service, nl_request *request, nl_reply *reply)
{
    nl_dashboard *self = NL_CONTAINER(service, nl_dashboard, base);
    const bool is_get = nl_str_is(request->method, "GET") || nl_str_is(request->method, "HEAD");
    nl_str content;
    const char *content_type = NULL;
    bool is_path = false;
    add_headers(request, reply);
    if (is_get && nl_dashboard_asset(request->path, &content, &content_type)) {
        nl_reply_text(request, reply, 200, content_type, content);
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(routes); i++) {
        if (!nl_str_is(request->path, routes[i].path)) continue;
        is_path = true;
        if (nl_str_is(is_get ? NL_STR("GET") : request->method, routes[i].method)) return run_route(self, &routes[i], request, reply);
    }
    if (is_path) reply_error(request, reply, 405, NL_STR("That is not done by this method."));
    else reply_error(request, reply, 404, NL_STR("There is nothing here."));
    return NULL;
}

static void fail(nl_service *service, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)service;
    const nl_condition condition = nl_error_condition(error);
    const char *code = nl_store_code(error);
    int32_t status = nl_error_kind_of(error) == NL_KIND_INTERNAL ? 500 : 400;
    if (nl_error_kind_of(error) == NL_KIND_RETRY) status = 503; /* a full disk */
    if (condition == NL_COND_TABLE_OR_VIEW_NOT_FOUND || condition == NL_COND_SCHEMA_NOT_FOUND || (code && strncmp(code, "NoSuch", 6) == 0)) status = 404;
    if (condition == NL_COND_NILAS_ALREADY_EXISTS || condition == NL_COND_NILAS_COMMIT_FAILED || (code && strcmp(code, "BucketNotEmpty") == 0)) status = 409;
    add_headers(request, reply);
    reply_error(request, reply, status, nl_str_from(nl_error_message(error)));
}

static void free_service(nl_service *service)
{
    nl_dashboard *self = NL_CONTAINER(service, nl_dashboard, base);
    nl_memory_release(self->memory);
    free(self);
}

static const nl_service_ops dashboard_ops = {
    .name = "dashboard", .default_port = 8000, .begin = begin, .body = take_body, .answer = answer, .abandon = abandon, .fail = fail, .free = free_service};

nl_status nl_dashboard_service_new(const nl_dashboard_stores *stores, nl_service **service)
{
    nl_dashboard *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    uint8_t random[16];
    nl_random_bytes(random, sizeof(random));
    nl_format_hex(random, sizeof(random), false, made->token);
    made->base.ops = &dashboard_ops;
    made->stores = *stores;
    made->memory = nl_memory_new(NULL, "dashboard", SIZE_MAX);
    *service = &made->base;
    return NULL;
}
