/* catalog/rest/session.c - the first request (GET /v1/config) and what follows from it; every other request goes out here.
 *
 * Properties merge as server defaults < the client's < server overrides. When the server lists no endpoints, the fourteen
 * that every server has had from the start are taken for granted, those of views with view-endpoints-supported.
 */
#include "catalog/rest/rest_private.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/number.h"
#include "base/uuid.h"
#include "catalog/pointer.h"

#define CLASSIC true
#define LATER   false

static const struct {
    const char *text;
    bool is_classic; /* assumed of a server that lists nothing */
    bool is_view;
} endpoints[] = {
    [NL_REMOTE_LIST_NAMESPACES] = {"GET /v1/{prefix}/namespaces", CLASSIC, false},
    [NL_REMOTE_CREATE_NAMESPACE] = {"POST /v1/{prefix}/namespaces", CLASSIC, false},
    [NL_REMOTE_LOAD_NAMESPACE] = {"GET /v1/{prefix}/namespaces/{namespace}", CLASSIC, false},
    [NL_REMOTE_NAMESPACE_EXISTS] = {"HEAD /v1/{prefix}/namespaces/{namespace}", LATER, false},
    [NL_REMOTE_DROP_NAMESPACE] = {"DELETE /v1/{prefix}/namespaces/{namespace}", CLASSIC, false},
    [NL_REMOTE_UPDATE_NAMESPACE] = {"POST /v1/{prefix}/namespaces/{namespace}/properties", CLASSIC, false},
    [NL_REMOTE_LIST_TABLES] = {"GET /v1/{prefix}/namespaces/{namespace}/tables", CLASSIC, false},
    [NL_REMOTE_CREATE_TABLE] = {"POST /v1/{prefix}/namespaces/{namespace}/tables", CLASSIC, false},
    [NL_REMOTE_LOAD_TABLE] = {"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}", CLASSIC, false},
    [NL_REMOTE_TABLE_EXISTS] = {"HEAD /v1/{prefix}/namespaces/{namespace}/tables/{table}", LATER, false},
    [NL_REMOTE_DROP_TABLE] = {"DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}", CLASSIC, false},
    [NL_REMOTE_COMMIT_TABLE] = {"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}", CLASSIC, false},
    [NL_REMOTE_RENAME_TABLE] = {"POST /v1/{prefix}/tables/rename", CLASSIC, false},
    [NL_REMOTE_REGISTER_TABLE] = {"POST /v1/{prefix}/namespaces/{namespace}/register", CLASSIC, false},
    [NL_REMOTE_REPORT_METRICS] = {"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics", CLASSIC, false},
    [NL_REMOTE_TRANSACTION] = {"POST /v1/{prefix}/transactions/commit", CLASSIC, false},
    [NL_REMOTE_CREDENTIALS] = {"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials", LATER, false},
    [NL_REMOTE_PLAN] = {"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan", LATER, false},
    [NL_REMOTE_SIGN] = {"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/sign", LATER, false},
    [NL_REMOTE_LIST_VIEWS] = {"GET /v1/{prefix}/namespaces/{namespace}/views", LATER, true},
    [NL_REMOTE_CREATE_VIEW] = {"POST /v1/{prefix}/namespaces/{namespace}/views", LATER, true},
    [NL_REMOTE_LOAD_VIEW] = {"GET /v1/{prefix}/namespaces/{namespace}/views/{view}", LATER, true},
    [NL_REMOTE_VIEW_EXISTS] = {"HEAD /v1/{prefix}/namespaces/{namespace}/views/{view}", LATER, false},
    [NL_REMOTE_COMMIT_VIEW] = {"POST /v1/{prefix}/namespaces/{namespace}/views/{view}", LATER, true},
    [NL_REMOTE_DROP_VIEW] = {"DELETE /v1/{prefix}/namespaces/{namespace}/views/{view}", LATER, true},
    [NL_REMOTE_RENAME_VIEW] = {"POST /v1/{prefix}/views/rename", LATER, true},
};

nl_status nl_remote_require(const nl_remote_session *session, nl_remote_endpoint endpoint)
{
    if (nl_remote_offers(session, endpoint)) return NULL;
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Server does not support endpoint: %s", endpoints[endpoint].text);
}

nl_str nl_remote_property(const nl_remote_session *session, const char *key)
{
    for (uint32_t i = 0; i < session->property_count; i++)
        if (nl_str_is(session->properties[i].key, key)) return session->properties[i].value;
    return (nl_str){0};
}

static bool bool_property(const nl_remote_session *session, const char *key, bool fallback)
{
    const nl_str value = nl_remote_property(session, key);
    return value.data ? nl_str_is_nocase(value, "true") : fallback;
}

/* ---- Sending ---- */

/* A version 7 UUID (RFC 9562): the time first, so that a server can forget old keys. */
static nl_str idempotency_key(nl_arena *arena)
{
    uint8_t bytes[16];
    char *text = nl_arena_alloc(arena, NL_UUID_TEXT_LENGTH + 1);
    const uint64_t now_ms = (uint64_t)(nl_now_micros() / 1000);
    nl_random_bytes(bytes, sizeof(bytes));
    for (uint32_t i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(now_ms >> (40 - 8 * i));
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0F));
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3F));
    nl_uuid_format(bytes, text);
    return (nl_str){text, NL_UUID_TEXT_LENGTH};
}

static nl_str url_of(nl_arena *arena, nl_str uri, const nl_remote_request *request)
{
    const bool is_whole = nl_str_find(request->path, NL_STR("://"), 0) != NL_NOT_FOUND;
    const nl_str url = is_whole ? request->path : nl_arena_f(arena, NL_STR_FMT "/v1/" NL_STR_FMT, NL_STR_ARG(uri), NL_STR_ARG(request->path));
    return request->query.length ? nl_arena_f(arena, NL_STR_FMT "?" NL_STR_FMT, NL_STR_ARG(url), NL_STR_ARG(request->query)) : url;
}

typedef struct call { /* one request on its way, for both tries */
    nl_remote_catalog *catalog;
    nl_remote_auth *auth;
    nl_str uri;
    nl_str key; /* idempotency key; empty: none */
} call;

static uint32_t fill_headers(const call *c, const nl_remote_request *request, const nl_remote_ticket *ticket, nl_property *headers)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->catalog->header_count; i++)
        if (!ticket->header_count || !nl_str_is_nocase(c->catalog->headers[i].key, "authorization")) headers[count++] = c->catalog->headers[i];
    headers[count++] = (nl_property){NL_STR("Accept"), NL_STR("application/json")};
    headers[count++] = (nl_property){NL_STR("X-Client-Version"), NL_STR("nilas")};
    if (request->body.data) headers[count++] = (nl_property){NL_STR("Content-Type"), NL_STR("application/json")};
    if (request->etag.length) headers[count++] = (nl_property){NL_STR("If-None-Match"), request->etag};
    if (c->key.length) headers[count++] = (nl_property){NL_STR("Idempotency-Key"), c->key};
    for (uint32_t i = 0; i < ticket->header_count; i++)
        headers[count++] = ticket->headers[i];
    return count;
}

static nl_status read_answer(const call *c, nl_arena *arena, nl_http_response *response, nl_remote_answer *answer)
{
    const nl_buffer *body = response->body;
    *answer = (nl_remote_answer){.status = response->status, .attempts = response->attempts, .etag = nl_arena_str(arena, nl_http_header(response, "etag"))};
    if (body) {
        void *copy = NULL;
        NL_TRY(nl_arena_alloc_sized(arena, nl_size_add(body->size_bytes, 1), &copy));
        memcpy(copy, body->data, body->size_bytes);
        answer->body = (nl_str){copy, body->size_bytes};
    }
    if (!nl_remote_is_good(answer)) {
        answer->body = nl_remote_auth_redact(c->auth, arena, answer->body);
        return NULL;
    }
    return nl_str_trim(answer->body).length ? nl_json_parse(arena, answer->body, NL_STR("the REST catalog's answer"), &answer->json) : NULL;
}

static nl_status send_once(const call *c, const nl_remote_request *request, nl_arena *arena, nl_remote_ticket *ticket, nl_remote_answer *answer)
{
    NL_TRY(nl_remote_auth_ticket(c->auth, request->token, arena, ticket));
    nl_property *headers = NL_NEW_ARRAY(arena, nl_property, (size_t)c->catalog->header_count + 8);
    const uint32_t header_count = fill_headers(c, request, ticket, headers);
    const bool is_keyed = c->key.length > 0;
    const nl_http_request http = {.method = request->method, .url = url_of(arena, c->uri, request), .headers = headers, .header_count = header_count,
                                  .body = {(const uint8_t *)request->body.data, request->body.length}, .sign = ticket->sign, .sign_argument = ticket->sign_argument,
                                  .is_idempotent = request->is_idempotent || is_keyed, .retries_nothing = request->is_commit && !is_keyed, .decodes_gzip = true,
                                  .body_max = NL_METADATA_BYTES_MAX, .fault = "catalog"};
    nl_http_response response = {0};
    nl_status status = nl_http_send(c->catalog->http, &http, &response);
    const bool changes = !request->is_idempotent && !nl_str_is(nl_str_from(request->method), "GET") && !nl_str_is(nl_str_from(request->method), "HEAD");
    if (status) {
        const bool was_sent = nl_error_kind_of(status) == NL_KIND_DATA; /* an answer came that could not be taken */
        if (changes && was_sent) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
        return status;
    }
    status = read_answer(c, arena, &response, answer);
    nl_http_response_fini(&response);
    if (status && changes) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

static nl_status send_call(const call *c, const nl_remote_request *request, nl_arena *arena, nl_remote_answer *answer)
{
    nl_remote_ticket ticket;
    NL_TRY(send_once(c, request, arena, &ticket, answer));
    if (answer->status != 401 || !nl_remote_auth_reject(c->auth, &ticket)) return NULL;
    return send_once(c, request, arena, &ticket, answer);
}

nl_status nl_remote_send(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_remote_request *request, nl_arena *arena, nl_remote_answer *answer)
{
    const bool changes = !nl_str_is(nl_str_from(request->method), "GET") && !nl_str_is(nl_str_from(request->method), "HEAD");
    const call c = {.catalog = catalog, .auth = session->auth, .uri = session->uri,
                    .key = changes && session->has_idempotency_keys ? idempotency_key(arena) : (nl_str){0}};
    return send_call(&c, request, arena, answer);
}

nl_status nl_remote_ask(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_remote_request *request, const nl_remote_subject *subject, nl_arena *arena,
                      nl_remote_answer *answer)
{
    NL_TRY(nl_remote_send(catalog, session, request, arena, answer));
    return nl_remote_is_good(answer) ? NULL : nl_remote_failure(answer, subject);
}

/* Not marked as idempotent, so that libcurl does not send it again on its own and a 404 can be told apart. */
nl_status nl_remote_delete(nl_remote_catalog *catalog, const nl_remote_session *session, nl_str path, nl_str query, nl_arena *arena, nl_remote_answer *answer, bool *was_there)
{
    nl_remote_request request = {.method = "DELETE", .path = path, .query = query};
    nl_status status = nl_remote_send(catalog, session, &request, arena, answer);
    const bool is_lost = status ? nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE : answer->status == 500 || answer->status == 502 || answer->status == 504;
    if (is_lost) {
        nl_error_free(status);
        request.is_idempotent = true;
        status = nl_remote_send(catalog, session, &request, arena, answer);
    }
    if (!status) *was_there = answer->status != 404 || is_lost || answer->attempts > 1;
    return status;
}

/* ---- The session ---- */

static void put_properties(nl_arena *arena, nl_property *merged, uint32_t *count, const nl_property *properties, uint32_t property_count)
{
    for (uint32_t i = 0; i < property_count; i++) {
        uint32_t at = 0;
        while (at < *count && !nl_str_equal(merged[at].key, properties[i].key))
            at++;
        merged[at] = (nl_property){nl_arena_str(arena, properties[i].key), nl_arena_str(arena, properties[i].value)};
        *count = NL_MAX(*count, at + 1);
    }
}

static void merge_properties(nl_remote_session *session, const nl_catalog *catalog, const nl_remote_config *config)
{
    nl_property *merged = NL_NEW_ARRAY(session->arena, nl_property, (size_t)catalog->property_count + config->default_count + config->override_count + 1);
    put_properties(session->arena, merged, &session->property_count, config->defaults, config->default_count);
    put_properties(session->arena, merged, &session->property_count, catalog->properties, catalog->property_count);
    put_properties(session->arena, merged, &session->property_count, config->overrides, config->override_count);
    session->properties = merged;
}

static void set_endpoints(nl_remote_session *session, const nl_remote_config *config)
{
    const bool has_views = bool_property(session, "view-endpoints-supported", false);
    for (uint32_t i = 0; i < NL_REMOTE_ENDPOINT_COUNT; i++) {
        bool is_there = config->endpoint_count == 0 && (endpoints[i].is_classic || (endpoints[i].is_view && has_views));
        for (uint32_t k = 0; k < config->endpoint_count && !is_there; k++)
            is_there = nl_str_is(config->endpoints[k], endpoints[i].text);
        session->endpoints |= (uint64_t)is_there << i;
    }
}

static nl_status set_options(nl_remote_session *session)
{
    int64_t number;
    nl_arena *arena = session->arena;
    const nl_str mode = nl_remote_property(session, "snapshot-loading-mode"), prefix = nl_remote_property(session, "prefix");
    const nl_str separator = nl_remote_property(session, "namespace-separator");
    session->uri = nl_arena_str(arena, nl_without_slash(nl_remote_property(session, "uri")));
    session->prefix = prefix.length ? nl_arena_f(arena, NL_STR_FMT "/", NL_STR_ARG(prefix)) : (nl_str){0};
    session->separator = separator.length ? separator : NL_STR("%1F");
    session->page_size = nl_remote_property(session, "rest-page-size");
    if (session->page_size.length && (!nl_parse_int64(session->page_size, &number) || number < 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "rest-page-size is no positive number: " NL_STR_FMT, NL_STR_ARG(session->page_size));
    if (mode.length && !nl_str_is_nocase(mode, "ALL") && !nl_str_is_nocase(mode, "REFS"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "snapshot-loading-mode is neither ALL nor REFS: " NL_STR_FMT, NL_STR_ARG(mode));
    const nl_str planning = nl_remote_property(session, "scan-planning-mode");
    if (planning.length && !nl_str_is_nocase(planning, "client") && !nl_str_is_nocase(planning, "server"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "scan-planning-mode is neither client nor server: " NL_STR_FMT, NL_STR_ARG(planning));
    session->loads_refs = nl_str_is_nocase(mode, "REFS");
    session->reports_metrics = bool_property(session, "rest-metrics-reporting-enabled", true);
    return NULL;
}

static nl_status make_auth(nl_remote_catalog *catalog, const nl_property *properties, uint32_t property_count, nl_str uri, nl_remote_auth **auth)
{
    const nl_remote_auth_options options = {.properties = properties, .property_count = property_count, .catalog = catalog->base.name, .uri = uri,
                                          .http = catalog->http, .memory = catalog->base.memory};
    return nl_remote_auth_new(&options, auth);
}

/* Do the server's answers change who asks? If not, the token that was fetched for the first request is kept. */
static bool has_same_auth(const nl_remote_session *session, const nl_catalog *catalog)
{
    static const char *const keys[] = {"uri", "token", "credential", "oauth2-server-uri", "scope", "audience", "resource", "token-refresh-enabled", "token-exchange-enabled",
                                       "token-expires-in-ms", "rest.auth.type", "rest.auth.basic.username", "rest.auth.basic.password", "rest.sigv4-enabled",
                                       "rest.auth.sigv4.delegate-auth-type", "rest.signing-name", "rest.signing-region", "rest.access-key-id", "rest.secret-access-key",
                                       "rest.session-token", "client.region", "client.credentials-provider"};
    for (uint32_t i = 0; i < NL_COUNT(keys); i++)
        if (!nl_str_equal(nl_remote_property(session, keys[i]), nl_catalog_property(catalog, keys[i]))) return false;
    return true;
}

static nl_status fetch_config(nl_remote_catalog *catalog, nl_remote_auth *auth, nl_arena *arena, nl_remote_config *config)
{
    nl_remote_answer answer;
    const nl_str warehouse = nl_catalog_property(&catalog->base, "warehouse");
    const call c = {.catalog = catalog, .auth = auth, .uri = catalog->uri};
    nl_remote_request request = {.method = "GET", .path = NL_STR("config")};
    if (warehouse.length) {
        const nl_str encoded = nl_url_encode(arena, warehouse, false);
        request.query = nl_arena_f(arena, "warehouse=" NL_STR_FMT, NL_STR_ARG(encoded));
    }
    const nl_remote_subject subject = {.kind = NL_REMOTE_SERVICE, .catalog = catalog->base.name, .authentication = nl_remote_auth_kind(auth)};
    NL_TRY(send_call(&c, &request, arena, &answer));
    if (!nl_remote_is_good(&answer)) return nl_remote_failure(&answer, &subject);
    return nl_remote_config_read(arena, answer.json, config);
}

static nl_status fill_session(nl_remote_catalog *catalog, nl_remote_auth *first_auth, nl_arena *scratch, nl_remote_session *session)
{
    nl_remote_config config;
    NL_TRY(fetch_config(catalog, first_auth, scratch, &config));
    merge_properties(session, &catalog->base, &config);
    NL_TRY(set_options(session));
    set_endpoints(session, &config);
    session->has_idempotency_keys = config.has_idempotency_keys;
    if (has_same_auth(session, &catalog->base)) session->auth = nl_remote_auth_retain(first_auth);
    else NL_TRY(make_auth(catalog, session->properties, session->property_count, session->uri, &session->auth));
    NL_TRY(nl_fs_from_properties(session->properties, session->property_count, catalog->base.memory, &session->fs));
    return nl_arena_check(session->arena);
}

static nl_status make_session(nl_remote_catalog *catalog, nl_remote_session **session)
{
    nl_remote_auth *auth = NULL;
    NL_TRY(make_auth(catalog, catalog->base.properties, catalog->base.property_count, catalog->uri, &auth));
    nl_arena *arena = nl_arena_new(catalog->base.memory), *scratch = nl_arena_new(catalog->base.memory);
    nl_remote_session *made = NL_NEW(arena, nl_remote_session);
    made->arena = arena;
    nl_status status = fill_session(catalog, auth, scratch, made);
    nl_remote_auth_release(auth);
    nl_arena_free(scratch);
    if (status) nl_remote_session_free(made);
    else *session = made;
    return nl_note_if(status, NL_HERE, "connecting to the REST catalog " NL_STR_FMT " at " NL_STR_FMT, NL_STR_ARG(catalog->base.name), NL_STR_ARG(catalog->uri));
}

void nl_remote_session_free(nl_remote_session *session)
{
    if (!session) return;
    nl_remote_auth_release(session->auth);
    if (session->fs) nl_fs_release(session->fs);
    nl_arena_free(session->arena);
}

nl_status nl_remote_session_of(nl_remote_catalog *catalog, const nl_remote_session **session)
{
    nl_remote_session *made = NULL;
    nl_mutex_lock(&catalog->mutex);
    nl_remote_session *known = catalog->session;
    nl_mutex_unlock(&catalog->mutex);
    if (!known) {
        NL_TRY(make_session(catalog, &made));
        nl_mutex_lock(&catalog->mutex);
        if (!catalog->session) { /* of two who asked at once, the first keeps his */
            catalog->session = made;
            made = NULL;
        }
        known = catalog->session;
        nl_mutex_unlock(&catalog->mutex);
        nl_remote_session_free(made);
    }
    *session = known;
    return NULL;
}

/* ---- Paths and bodies ---- */

nl_str nl_remote_namespace_text(nl_arena *arena, const nl_remote_session *session, const nl_str *parts, uint32_t part_count)
{
    nl_str text = {0};
    for (uint32_t i = 0; i < part_count; i++) {
        const nl_str part = nl_url_encode(arena, parts[i], false);
        text = i ? nl_arena_f(arena, NL_STR_FMT NL_STR_FMT NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(session->separator), NL_STR_ARG(part)) : part;
    }
    return text;
}

nl_str nl_remote_namespace_path(nl_arena *arena, const nl_remote_session *session, const nl_str *parts, uint32_t part_count, const char *rest)
{
    const nl_str text = nl_remote_namespace_text(arena, session, parts, part_count);
    return nl_arena_f(arena, NL_STR_FMT "namespaces/" NL_STR_FMT "%s", NL_STR_ARG(session->prefix), NL_STR_ARG(text), rest);
}

nl_str nl_remote_item_path(nl_arena *arena, const nl_remote_session *session, const nl_identifier *identifier, const char *kind)
{
    const nl_str scope = nl_remote_namespace_path(arena, session, identifier->namespace_parts, identifier->namespace_count, "");
    const nl_str name = nl_url_encode(arena, identifier->name, false);
    return nl_arena_f(arena, NL_STR_FMT "/%s/" NL_STR_FMT, NL_STR_ARG(scope), kind, NL_STR_ARG(name));
}

nl_str nl_remote_quoted(nl_arena *arena, const nl_remote_catalog *catalog, const nl_str *parts, uint32_t part_count, nl_str name)
{
    nl_str text = nl_arena_f(arena, "`" NL_STR_FMT "`", NL_STR_ARG(catalog->base.name));
    for (uint32_t i = 0; i < part_count; i++)
        text = nl_arena_f(arena, NL_STR_FMT ".`" NL_STR_FMT "`", NL_STR_ARG(text), NL_STR_ARG(parts[i]));
    return name.length ? nl_arena_f(arena, NL_STR_FMT ".`" NL_STR_FMT "`", NL_STR_ARG(text), NL_STR_ARG(name)) : text;
}

nl_remote_subject nl_remote_subject_of(nl_arena *arena, const nl_remote_catalog *catalog, const nl_remote_session *session, nl_remote_subject_kind kind, const nl_identifier *identifier)
{
    return (nl_remote_subject){.kind = kind, .catalog = catalog->base.name, .authentication = nl_remote_auth_kind(session->auth),
                             .quoted = nl_remote_quoted(arena, catalog, identifier->namespace_parts, identifier->namespace_count, identifier->name)};
}

void nl_remote_append_identifier(nl_json_writer *out, const nl_identifier *identifier)
{
    nl_json_begin(out, '{');
    nl_json_key(out, "namespace");
    nl_json_begin(out, '[');
    for (uint32_t i = 0; i < identifier->namespace_count; i++)
        nl_json_write_text(out, identifier->namespace_parts[i]);
    nl_json_end(out, ']');
    nl_json_key(out, "name");
    nl_json_write_text(out, identifier->name);
    nl_json_end(out, '}');
}

void nl_remote_append_properties(nl_json_writer *out, const nl_property *properties, uint32_t property_count)
{
    nl_json_begin(out, '{');
    for (uint32_t i = 0; i < property_count; i++) {
        nl_json_key_str(out, properties[i].key);
        nl_json_write_text(out, properties[i].value);
    }
    nl_json_end(out, '}');
}

nl_status nl_remote_list(nl_remote_catalog *catalog, const nl_remote_session *session, nl_str path, nl_str query, const nl_remote_subject *subject, bool is_namespaces,
                       nl_arena *arena, nl_name_list *list)
{
    nl_list items = {0};
    nl_str page = {"", 0};
    do {
        nl_remote_answer answer;
        const nl_str previous = page, token = nl_url_encode(arena, page, false);
        nl_str parameters = nl_arena_f(arena, "pageToken=" NL_STR_FMT, NL_STR_ARG(token));
        if (session->page_size.length) parameters = nl_arena_f(arena, NL_STR_FMT "&pageSize=" NL_STR_FMT, NL_STR_ARG(parameters), NL_STR_ARG(session->page_size));
        if (query.length) parameters = nl_arena_f(arena, NL_STR_FMT "&" NL_STR_FMT, NL_STR_ARG(parameters), NL_STR_ARG(query));
        const nl_remote_request request = {.method = "GET", .path = path, .query = parameters};
        NL_TRY(nl_remote_ask(catalog, session, &request, subject, arena, &answer));
        NL_TRY(nl_remote_page_read(arena, answer.json, is_namespaces, &items, &page));
        if (page.length && nl_str_equal(page, previous)) return nl_json_corrupt(NL_STR("the REST catalog's answer"), "next-page-token: the same page again");
    } while (page.length);
    list->items = NL_NEW_ARRAY(arena, nl_identifier, (size_t)items.count + 1);
    list->count = items.count;
    for (uint32_t i = 0; i < items.count; i++)
        list->items[i] = *(const nl_identifier *)items.items[i];
    return nl_arena_check(arena);
}
