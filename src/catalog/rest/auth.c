/* catalog/rest/auth.c - the kinds of authentication, and the life of a bearer token.
 *
 * Source: RFC 6749 (client credentials), RFC 8693 (token exchange) as the REST catalog's description and Java's
 * OAuth2Manager use them; RESTSigV4AuthManager: the delegate's Authorization moves to Original-Authorization.
 */
#include "catalog/rest/auth.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/number.h"
#include "catalog/rest/answer.h"
#include "storage/sigv4.h"

#define TOKEN_BODY_MAX   (1u << 20)
#define REFRESH_MS_MAX   300000 /* a token is renewed when a tenth of its life is left, at most this long before its end */
#define MICROS_PER_MS    1000
#define AGAIN_MS         60000  /* a renewal that failed is tried again after so long */
#define SECRET_MIN_SHOWN 4      /* shorter "secrets" would tear holes into every text */

typedef enum auth_kind { AUTH_NONE, AUTH_BASIC, AUTH_OAUTH2 } auth_kind;

struct nl_remote_auth {
    auth_kind kind;
    bool is_signed;
    nl_arena *arena; /* owned: everything below that is text */
    nl_http_client *http;
    nl_str catalog;
    nl_str basic;    /* "Basic …" */
    nl_str client_id, scope, audience, resource, token_url;
    nl_secret client_secret;
    const nl_property *headers; /* header.X of the catalog, for requests of tokens */
    uint32_t header_count;
    bool refreshes, exchanges;
    int64_t expires_ms_default;
    nl_credential_source *source; /* sigv4; owned */
    nl_str region, service;
    const nl_str *secrets;
    uint32_t secret_count;
    nl_mutex mutex;
    char *token;                /* guarded; owned; NULL: none yet */
    int64_t refresh_micros;     /* guarded; NL_NONE: never */
    atomic_int references;
};

static nl_str find_property(const nl_remote_auth_options *options, const char *key)
{
    for (uint32_t i = 0; i < options->property_count; i++)
        if (nl_str_is(options->properties[i].key, key)) return options->properties[i].value;
    return (nl_str){0};
}

static nl_str text_property(nl_arena *arena, const nl_remote_auth_options *options, const char *key, const char *fallback)
{
    const nl_str value = find_property(options, key);
    return nl_arena_str(arena, value.data ? value : nl_str_from(fallback));
}

static bool bool_property(const nl_remote_auth_options *options, const char *key, bool fallback)
{
    const nl_str value = find_property(options, key);
    return value.data ? nl_str_is_nocase(value, "true") : fallback;
}

static nl_str base64(nl_arena *arena, nl_str text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *out = nl_arena_alloc(arena, nl_size_add(nl_size_mul(text.length / 3 + 1, 4), 1));
    size_t length = 0;
    for (size_t i = 0; i < text.length; i += 3) {
        uint32_t bits = (uint32_t)(unsigned char)text.data[i] << 16;
        if (i + 1 < text.length) bits |= (uint32_t)(unsigned char)text.data[i + 1] << 8;
        if (i + 2 < text.length) bits |= (unsigned char)text.data[i + 2];
        out[length++] = digits[bits >> 18 & 63];
        out[length++] = digits[bits >> 12 & 63];
        out[length++] = i + 1 < text.length ? digits[bits >> 6 & 63] : '=';
        out[length++] = i + 2 < text.length ? digits[bits & 63] : '=';
    }
    return (nl_str){out, length};
}

/* ---- Setting up ---- */

static const struct {
    const char *name;
    const char *class_name;
    auth_kind kind;
    bool is_signed;
} kinds[] = {
    {"none", "org.apache.iceberg.rest.auth.NoopAuthManager", AUTH_NONE, false},
    {"basic", "org.apache.iceberg.rest.auth.BasicAuthManager", AUTH_BASIC, false},
    {"oauth2", "org.apache.iceberg.rest.auth.OAuth2Manager", AUTH_OAUTH2, false},
    {"sigv4", "org.apache.iceberg.aws.RESTSigV4AuthManager", AUTH_OAUTH2, true},
};

static nl_status choose_kind(nl_remote_auth *auth, const nl_remote_auth_options *options, const char *key)
{
    const nl_str wanted = find_property(options, key);
    for (uint32_t i = 0; i < NL_COUNT(kinds); i++) {
        if (!nl_str_is_nocase(wanted, kinds[i].name) && !nl_str_is(wanted, kinds[i].class_name)) continue;
        auth->kind = kinds[i].kind;
        auth->is_signed = auth->is_signed || kinds[i].is_signed;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Catalog " NL_STR_FMT ": nilas has no authentication %s=" NL_STR_FMT ". It has none, basic, oauth2 and sigv4.",
                         NL_STR_ARG(options->catalog), key, NL_STR_ARG(wanted));
}

static nl_status set_kind(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    const bool has_oauth2 = find_property(options, "token").length || find_property(options, "credential").length;
    auth->kind = has_oauth2 ? AUTH_OAUTH2 : AUTH_NONE;
    auth->is_signed = bool_property(options, "rest.sigv4-enabled", false);
    if (find_property(options, "rest.auth.type").data) NL_TRY(choose_kind(auth, options, "rest.auth.type"));
    if (auth->is_signed && find_property(options, "rest.auth.sigv4.delegate-auth-type").data) NL_TRY(choose_kind(auth, options, "rest.auth.sigv4.delegate-auth-type"));
    if (auth->is_signed && auth->kind == AUTH_OAUTH2 && !has_oauth2) auth->kind = AUTH_NONE;
    return NULL;
}

static nl_status set_basic(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    const nl_str user = find_property(options, "rest.auth.basic.username"), password = find_property(options, "rest.auth.basic.password");
    if (!user.data || !password.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog " NL_STR_FMT ": rest.auth.type=basic needs rest.auth.basic.username and rest.auth.basic.password",
                             NL_STR_ARG(options->catalog));
    const nl_str pair = nl_arena_f(auth->arena, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(user), NL_STR_ARG(password));
    const nl_str encoded = base64(auth->arena, pair);
    auth->basic = nl_arena_f(auth->arena, "Basic " NL_STR_FMT, NL_STR_ARG(encoded));
    return NULL;
}

static void set_token(nl_remote_auth *auth, nl_str token, int64_t life_ms)
{
    char *copy = strndup(token.data, token.length);
    int64_t refresh_micros = NL_NONE;
    if (life_ms > 0) refresh_micros = nl_now_micros() + (life_ms - NL_MIN(life_ms / 10, REFRESH_MS_MAX)) * MICROS_PER_MS;
    nl_mutex_lock(&auth->mutex);
    char *previous = auth->token;
    auth->token = copy;
    auth->refresh_micros = refresh_micros;
    nl_mutex_unlock(&auth->mutex);
    free(previous);
}

static int64_t life_of_jwt(nl_str token)
{
    const int64_t expiry_seconds = nl_jwt_expiry(token);
    if (expiry_seconds == NL_NONE || expiry_seconds > INT64_MAX / 1000000) return NL_NONE;
    return NL_MAX(expiry_seconds * 1000 - nl_now_micros() / MICROS_PER_MS, 1);
}

static nl_status set_oauth2(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    nl_arena *arena = auth->arena;
    const nl_str credential = find_property(options, "credential"), server = find_property(options, "oauth2-server-uri");
    const size_t colon = nl_str_find_char(credential, ':', 0);
    if (colon == NL_NOT_FOUND) {
        auth->client_secret.hidden = nl_arena_str(arena, credential);
    } else {
        auth->client_id = nl_arena_str(arena, nl_str_slice(credential, 0, colon));
        auth->client_secret.hidden = nl_arena_str(arena, nl_str_slice(credential, colon + 1, credential.length));
    }
    auth->scope = text_property(arena, options, "scope", "catalog");
    auth->audience = text_property(arena, options, "audience", "");
    auth->resource = text_property(arena, options, "resource", "");
    if (nl_str_find(server, NL_STR("://"), 0) != NL_NOT_FOUND) auth->token_url = nl_arena_str(arena, server);
    else auth->token_url = nl_arena_f(arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(options->uri), NL_STR_ARG(server.length ? server : NL_STR("v1/oauth/tokens")));
    auth->refreshes = bool_property(options, "token-refresh-enabled", true);
    auth->exchanges = bool_property(options, "token-exchange-enabled", true);
    auth->expires_ms_default = 3600000;
    const nl_str expires = find_property(options, "token-expires-in-ms");
    if (expires.length && (!nl_parse_int64(expires, &auth->expires_ms_default) || auth->expires_ms_default < 1))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "token-expires-in-ms is no number of milliseconds: " NL_STR_FMT, NL_STR_ARG(expires));
    const nl_str token = find_property(options, "token");
    if (token.length) set_token(auth, token, nl_jwt_expiry(token) != NL_NONE ? life_of_jwt(token) : auth->expires_ms_default);
    return NULL;
}

static nl_status set_signing(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    nl_arena *arena = auth->arena;
    nl_aws_profile profile = {0};
    auth->service = text_property(arena, options, "rest.signing-name", "execute-api");
    auth->region = text_property(arena, options, "rest.signing-region", "");
    if (!auth->region.length) auth->region = text_property(arena, options, "client.region", "");
    if (!auth->region.length) {
        NL_TRY(nl_aws_profile_read(arena, &profile));
        auth->region = profile.region;
    }
    if (!auth->region.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog " NL_STR_FMT ": signing needs a region: set rest.signing-region, client.region or AWS_REGION",
                             NL_STR_ARG(options->catalog));
    return nl_credential_source_new(options->properties, options->property_count, "rest", options->memory, &auth->source);
}

static void collect_secrets(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    nl_str *secrets = NL_NEW_ARRAY(auth->arena, nl_str, (size_t)options->property_count + 3);
    for (uint32_t i = 0; i < options->property_count; i++)
        if (nl_key_is_secret(options->properties[i].key) && options->properties[i].value.length >= SECRET_MIN_SHOWN)
            secrets[auth->secret_count++] = nl_arena_str(auth->arena, options->properties[i].value);
    if (auth->client_secret.hidden.length >= SECRET_MIN_SHOWN) secrets[auth->secret_count++] = auth->client_secret.hidden;
    if (auth->basic.length) secrets[auth->secret_count++] = nl_str_slice(auth->basic, strlen("Basic "), auth->basic.length);
    auth->secrets = secrets;
}

static void copy_headers(nl_remote_auth *auth, const nl_remote_auth_options *options)
{
    static const nl_str prefix = NL_STR_INIT("header.");
    nl_property *headers = NL_NEW_ARRAY(auth->arena, nl_property, (size_t)options->property_count + 1);
    for (uint32_t i = 0; i < options->property_count; i++) {
        if (!nl_str_starts(options->properties[i].key, prefix)) continue;
        headers[auth->header_count++] = (nl_property){nl_arena_str(auth->arena, nl_str_slice(options->properties[i].key, prefix.length, options->properties[i].key.length)),
                                                      nl_arena_str(auth->arena, options->properties[i].value)};
    }
    auth->headers = headers;
}

nl_status nl_remote_auth_new(const nl_remote_auth_options *options, nl_remote_auth **auth)
{
    nl_remote_auth *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->arena = nl_arena_new(options->memory);
    made->http = nl_http_client_retain(options->http);
    made->catalog = nl_arena_str(made->arena, options->catalog);
    made->refresh_micros = NL_NONE;
    nl_mutex_init(&made->mutex);
    atomic_init(&made->references, 1);
    copy_headers(made, options);
    nl_status status = set_kind(made, options);
    if (!status && made->kind == AUTH_BASIC) status = set_basic(made, options);
    if (!status && made->kind == AUTH_OAUTH2) status = set_oauth2(made, options);
    if (!status && made->is_signed) status = set_signing(made, options);
    collect_secrets(made, options);
    if (!status) status = nl_arena_check(made->arena);
    if (status) {
        nl_remote_auth_release(made);
        return status;
    }
    *auth = made;
    return NULL;
}

nl_remote_auth *nl_remote_auth_retain(nl_remote_auth *auth)
{
    atomic_fetch_add_explicit(&auth->references, 1, memory_order_relaxed);
    return auth;
}

void nl_remote_auth_release(nl_remote_auth *auth)
{
    if (!auth || atomic_fetch_sub_explicit(&auth->references, 1, memory_order_acq_rel) != 1) return;
    if (auth->source) nl_credential_source_release(auth->source);
    nl_http_client_release(auth->http);
    nl_mutex_fini(&auth->mutex);
    free(auth->token);
    nl_arena_free(auth->arena);
    free(auth);
}

const char *nl_remote_auth_kind(const nl_remote_auth *auth)
{
    static const char *const names[] = {[AUTH_NONE] = "none", [AUTH_BASIC] = "basic", [AUTH_OAUTH2] = "oauth2"};
    return auth->is_signed ? "sigv4" : names[auth->kind];
}

/* ---- Tokens ---- */

static void add_field(nl_arena *arena, nl_builder *form, const char *name, nl_str value)
{
    if (!value.length) return;
    nl_append_f(form, "%s%s=", form->length ? "&" : "", name);
    nl_append(form, nl_url_encode(arena, value, false));
}

/* Asks the token server with the form given; bearer: a token that vouches for the exchange, or empty. */
static nl_status request_token(nl_remote_auth *auth, nl_arena *arena, nl_str form, nl_str bearer)
{
    nl_property *headers = NL_NEW_ARRAY(arena, nl_property, (size_t)auth->header_count + 3);
    uint32_t count = 0;
    for (uint32_t i = 0; i < auth->header_count; i++)
        headers[count++] = auth->headers[i];
    headers[count++] = (nl_property){NL_STR("Content-Type"), NL_STR("application/x-www-form-urlencoded")};
    headers[count++] = (nl_property){NL_STR("Accept"), NL_STR("application/json")};
    if (bearer.length) headers[count++] = (nl_property){NL_STR("Authorization"), nl_arena_f(arena, "Bearer " NL_STR_FMT, NL_STR_ARG(bearer))};
    const nl_http_request request = {.method = "POST", .url = auth->token_url, .headers = headers, .header_count = count, .is_idempotent = true,
                                     .body = {(const uint8_t *)form.data, form.length}, .body_max = TOKEN_BODY_MAX};
    nl_http_response response = {0};
    NL_TRY_NOTE(nl_http_send(auth->http, &request, &response), "asking " NL_STR_FMT " for a token", NL_STR_ARG(auth->token_url));
    const nl_str body = response.body ? nl_arena_str(arena, (nl_str){(const char *)response.body->data, response.body->size_bytes}) : (nl_str){0};
    const int32_t code = response.status;
    nl_http_response_fini(&response);
    if (code < 200 || code > 299) {
        nl_remote_error error;
        nl_remote_error_read(arena, nl_remote_auth_redact(auth, arena, body), &error);
        if (code >= 500) return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "The token server answered HTTP %d: " NL_STR_FMT, code, NL_STR_ARG(error.message));
        return NL_RAISE_TEXT(NILAS_NOT_AUTHORIZED, "Not authorized: " NL_STR_FMT ": the token server gives catalog " NL_STR_FMT
                             " no token. Check spark.sql.catalog." NL_STR_FMT ".credential (id:secret), .scope and .oauth2-server-uri.",
                             NL_STR_ARG(error.message), NL_STR_ARG(auth->catalog), NL_STR_ARG(auth->catalog));
    }
    const json_t *json;
    nl_remote_token token;
    NL_TRY(nl_json_parse(arena, body, NL_STR("the token server's answer"), &json));
    NL_TRY(nl_remote_token_read(arena, json, &token));
    int64_t life_ms = life_of_jwt(token.access_token);
    if (token.expires_in_seconds > 0 && token.expires_in_seconds < INT64_MAX / 1000000000) life_ms = token.expires_in_seconds * 1000;
    set_token(auth, token.access_token, life_ms != NL_NONE ? life_ms : auth->expires_ms_default);
    return NULL;
}

static void add_common(nl_remote_auth *auth, nl_arena *arena, nl_builder *form)
{
    add_field(arena, form, "scope", auth->scope);
    add_field(arena, form, "audience", auth->audience);
    add_field(arena, form, "resource", auth->resource);
}

static nl_status fetch_token(nl_remote_auth *auth, nl_arena *arena)
{
    nl_builder form;
    nl_builder_init(&form, TOKEN_BODY_MAX);
    nl_append_c(&form, "grant_type=client_credentials");
    add_field(arena, &form, "client_id", auth->client_id);
    add_field(arena, &form, "client_secret", nl_secret_text(&auth->client_secret));
    add_common(auth, arena, &form);
    nl_status status = request_token(auth, arena, nl_builder_str(&form), (nl_str){0});
    nl_builder_fini(&form);
    return status;
}

static nl_status exchange_token(nl_remote_auth *auth, nl_arena *arena, nl_str token)
{
    nl_builder form;
    nl_builder_init(&form, TOKEN_BODY_MAX);
    nl_append_c(&form, "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange");
    add_field(arena, &form, "subject_token", token);
    nl_append_c(&form, "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token");
    add_common(auth, arena, &form);
    nl_status status = request_token(auth, arena, nl_builder_str(&form), token);
    nl_builder_fini(&form);
    return status;
}

static nl_str current_token(nl_remote_auth *auth, nl_arena *arena, bool *is_due)
{
    nl_mutex_lock(&auth->mutex);
    const nl_str token = auth->token ? nl_arena_str(arena, nl_str_from(auth->token)) : (nl_str){0};
    *is_due = auth->refresh_micros != NL_NONE && nl_now_micros() >= auth->refresh_micros;
    nl_mutex_unlock(&auth->mutex);
    return token;
}

static void put_off(nl_remote_auth *auth)
{
    nl_mutex_lock(&auth->mutex);
    auth->refresh_micros = nl_now_micros() + (int64_t)AGAIN_MS * MICROS_PER_MS;
    nl_mutex_unlock(&auth->mutex);
}

/* A token that is near its end is exchanged, or asked for anew. Should neither work, it is used as long as it lasts. */
static nl_status bearer_token(nl_remote_auth *auth, nl_arena *arena, nl_str *token)
{
    bool is_due = false;
    const bool has_credential = nl_secret_text(&auth->client_secret).length > 0;
    *token = current_token(auth, arena, &is_due);
    if (token->length && (!is_due || !auth->refreshes)) return NULL;
    nl_error *error = NULL;
    if (token->length && auth->exchanges) {
        error = exchange_token(auth, arena, *token);
        if (error) nl_log(NL_LOG_INFO, "a token was not exchanged: %s", nl_error_message(error));
    }
    const bool was_exchanged = token->length && auth->exchanges && !error;
    nl_error_free(error);
    if (!was_exchanged && has_credential) {
        nl_status status = fetch_token(auth, arena);
        if (status && !token->length) return status;
        if (status) nl_log(NL_LOG_WARN, "a token was not renewed: %s", nl_error_message(status));
        nl_error_free(status);
    }
    *token = current_token(auth, arena, &is_due);
    if (is_due) put_off(auth);
    if (!token->length)
        return NL_RAISE_TEXT(NILAS_NOT_AUTHORIZED, "Catalog " NL_STR_FMT " has no token: set spark.sql.catalog." NL_STR_FMT ".token, or .credential as id:secret",
                             NL_STR_ARG(auth->catalog), NL_STR_ARG(auth->catalog));
    return NULL;
}

bool nl_remote_auth_reject(nl_remote_auth *auth, const nl_remote_ticket *ticket)
{
    if (auth->kind != AUTH_OAUTH2 || !ticket->token.length || !nl_secret_text(&auth->client_secret).length) return false;
    nl_mutex_lock(&auth->mutex);
    if (auth->token && nl_str_is(ticket->token, auth->token)) { /* nobody has renewed it meanwhile */
        free(auth->token);
        auth->token = NULL;
    }
    nl_mutex_unlock(&auth->mutex);
    return true;
}

/* ---- Tickets ---- */

typedef struct signer {
    nl_credentials credentials;
    nl_str region, service;
} signer;

static nl_str host_of(nl_arena *arena, const nl_url *url)
{
    const bool is_default = (nl_str_is(url->scheme, "http") && nl_str_is(url->port, "80")) || (nl_str_is(url->scheme, "https") && nl_str_is(url->port, "443"));
    const bool is_v6 = nl_str_find_char(url->host, ':', 0) != NL_NOT_FOUND;
    const nl_str host = is_v6 ? nl_arena_f(arena, "[" NL_STR_FMT "]", NL_STR_ARG(url->host)) : url->host;
    return url->port.length && !is_default ? nl_arena_f(arena, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(host), NL_STR_ARG(url->port)) : host;
}

static nl_status sign_request(void *argument, const nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count)
{
    const signer *self = argument;
    nl_url url;
    uint8_t digest[32];
    NL_TRY(nl_url_parse(request->url, &url));
    nl_property *with = NL_NEW_ARRAY(arena, nl_property, (size_t)*header_count + 1);
    for (uint32_t i = 0; i < *header_count; i++) {
        with[i] = (*headers)[i];
        if (nl_str_is_nocase(with[i].key, "authorization")) with[i].key = NL_STR("Original-Authorization");
    }
    with[*header_count] = (nl_property){NL_STR("Host"), host_of(arena, &url)};
    nl_sha256(request->body, digest);
    const nl_sigv4_request signed_request = {.method = nl_str_from(request->method), .path = url.path, .query = url.query, .headers = with,
                                             .header_count = *header_count + 1, .payload_hash = nl_hex(arena, digest, sizeof(digest))};
    const nl_sigv4_scope scope = {.access_key = self->credentials.access_key, .region = self->region, .service = self->service};
    return nl_sigv4_sign(&signed_request, &scope, nl_secret_text(&self->credentials.secret_key), nl_secret_text(&self->credentials.token), nl_now_micros(), arena, headers,
                         header_count);
}

nl_status nl_remote_auth_ticket(nl_remote_auth *auth, nl_str table_token, nl_arena *arena, nl_remote_ticket *ticket)
{
    *ticket = (nl_remote_ticket){0};
    if (table_token.length) {
        ticket->headers[ticket->header_count++] = (nl_property){NL_STR("Authorization"), nl_arena_f(arena, "Bearer " NL_STR_FMT, NL_STR_ARG(table_token))};
    } else if (auth->kind == AUTH_BASIC) {
        ticket->headers[ticket->header_count++] = (nl_property){NL_STR("Authorization"), auth->basic};
    } else if (auth->kind == AUTH_OAUTH2) {
        NL_TRY(bearer_token(auth, arena, &ticket->token));
        ticket->headers[ticket->header_count++] = (nl_property){NL_STR("Authorization"), nl_arena_f(arena, "Bearer " NL_STR_FMT, NL_STR_ARG(ticket->token))};
    }
    if (!auth->is_signed) return nl_arena_check(arena);
    signer *made = NL_NEW(arena, signer);
    *made = (signer){.region = auth->region, .service = auth->service};
    NL_TRY(nl_credential_source_get(auth->source, arena, &made->credentials));
    ticket->sign = sign_request;
    ticket->sign_argument = made;
    return nl_arena_check(arena);
}

static nl_str replace(nl_arena *arena, nl_str text, nl_str secret)
{
    size_t at = nl_str_find(text, secret, 0);
    if (!secret.length || at == NL_NOT_FOUND) return text;
    nl_builder out;
    size_t from = 0;
    nl_builder_init(&out, nl_size_add(nl_size_mul(text.length, 12), 16));
    for (; at != NL_NOT_FOUND; at = nl_str_find(text, secret, from)) {
        nl_append(&out, nl_str_slice(text, from, at));
        nl_append_c(&out, "*(redacted)");
        from = at + secret.length;
    }
    nl_append(&out, nl_str_slice(text, from, text.length));
    const nl_str replaced = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return replaced;
}

nl_str nl_remote_auth_redact(const nl_remote_auth *auth, nl_arena *arena, nl_str text)
{
    nl_remote_auth *self = NL_UNCONST(auth);
    bool is_due;
    for (uint32_t i = 0; i < auth->secret_count; i++)
        text = replace(arena, text, auth->secrets[i]);
    return replace(arena, text, current_token(self, arena, &is_due));
}
