/* catalog/glue/client.c - see client.h. */
#include "catalog/glue/client.h"

#include <stdlib.h>
#include <time.h>

#include "base/calendar.h"
#include "base/json.h"
#include "base/log.h"
#include "base/number.h"
#include "storage/credentials.h"
#include "storage/http.h"
#include "storage/io_error.h"
#include "storage/sigv4.h"

#define THROTTLED_TRIES_MAX 8
#define THROTTLED_WAIT_MS   100 /* doubled each time */

struct nl_glue_client {
    nl_memory *memory;             /* counted */
    nl_arena *arena;               /* owned: the texts below */
    nl_http_client *http;          /* owned */
    nl_credential_source *source;  /* owned */
    nl_str url, host, path, query, region;
};

static nl_str property_of(const nl_property *properties, uint32_t property_count, const char *key)
{
    for (uint32_t i = 0; i < property_count; i++)
        if (nl_str_is(properties[i].key, key) && properties[i].value.length > 0) return properties[i].value;
    return (nl_str){0};
}

static nl_status choose_place(nl_glue_client *client, const nl_property *properties, uint32_t property_count)
{
    nl_aws_profile profile;
    nl_url parts;
    NL_TRY(nl_aws_profile_read(client->arena, &profile));
    nl_str region = property_of(properties, property_count, "glue.region");
    if (region.length == 0) region = property_of(properties, property_count, "client.region");
    if (region.length == 0) region = profile.region;
    nl_str url = property_of(properties, property_count, "glue.endpoint");
    if (url.length == 0) NL_TRY(nl_aws_endpoint(client->arena, "glue", &url));
    if (region.length == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The AWS region of the Glue catalog is not known: set client.region, AWS_REGION, or region in the AWS profile " NL_STR_FMT ".",
                             NL_STR_ARG(profile.name));
    client->region = nl_arena_str(client->arena, region);
    client->url = url.length > 0 ? nl_arena_str(client->arena, url) : nl_aws_service_url(client->arena, "glue", region);
    NL_TRY_NOTE(nl_url_parse(client->url, &parts), "reading glue.endpoint");
    const bool is_v6 = nl_str_find_char(parts.host, ':', 0) != NL_NOT_FOUND;
    client->host = nl_arena_f(client->arena, "%s" NL_STR_FMT "%s%s" NL_STR_FMT, is_v6 ? "[" : "", NL_STR_ARG(parts.host), is_v6 ? "]" : "", parts.port.length > 0 ? ":" : "",
                              NL_STR_ARG(parts.port));
    client->path = parts.path;
    client->query = parts.query;
    return NULL;
}

/* Those of Java's clients of AWS, as for S3. */
static nl_status read_times(const nl_property *properties, uint32_t property_count, nl_http_options *options)
{
    static const struct {
        const char *key;
        bool is_connect;
    } keys[] = {{"http-client.urlconnection.connection-timeout-ms", true}, {"http-client.apache.connection-timeout-ms", true},
                {"http-client.urlconnection.socket-timeout-ms", false}, {"http-client.apache.socket-timeout-ms", false}};
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        const nl_str text = property_of(properties, property_count, keys[i].key);
        int64_t *time_ms = keys[i].is_connect ? &options->connect_timeout_ms : &options->stall_timeout_ms;
        if (text.length && (!nl_parse_int64(text, time_ms) || *time_ms < 1 || *time_ms > 86400000))
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s must be a number of milliseconds, not " NL_STR_FMT, keys[i].key, NL_STR_ARG(text));
    }
    return NULL;
}

nl_status nl_glue_client_new(const nl_property *properties, uint32_t property_count, nl_memory *memory, nl_glue_client **client)
{
    nl_glue_client *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    nl_http_options options = {0};
    made->memory = nl_memory_retain(memory);
    made->arena = nl_arena_new(memory);
    nl_status status = choose_place(made, properties, property_count);
    if (!status) status = read_times(properties, property_count, &options);
    if (!status) status = nl_credential_source_new(properties, property_count, "glue", memory, &made->source);
    if (!status) status = nl_http_client_new(&options, memory, &made->http);
    if (status) {
        nl_glue_client_free(made);
        return status;
    }
    *client = made;
    return NULL;
}

void nl_glue_client_free(nl_glue_client *client)
{
    if (!client) return;
    nl_http_client_release(client->http);
    nl_credential_source_release(client->source);
    nl_arena_free(client->arena);
    nl_memory_release(client->memory);
    free(client);
}

typedef struct signer { /* one request; borrowed by the HTTP client's thread until the answer is there */
    const nl_glue_client *client;
    nl_credentials credentials;
    nl_str payload_hash;
} signer;

static nl_status sign_attempt(void *argument, const nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count)
{
    const signer *self = argument;
    if (self->credentials.access_key.length == 0) return NULL; /* anonymous */
    const nl_sigv4_request unsigned_request = {.method = nl_str_from(request->method), .path = self->client->path, .query = self->client->query, .headers = *headers,
                                               .header_count = *header_count, .payload_hash = self->payload_hash};
    const nl_sigv4_scope scope = {.access_key = self->credentials.access_key, .region = self->client->region, .service = NL_STR("glue")};
    return nl_sigv4_sign(&unsigned_request, &scope, nl_secret_text(&self->credentials.secret_key), nl_secret_text(&self->credentials.token), nl_now_micros(), arena, headers,
                         header_count);
}

/* "com.amazonaws.glue#EntityNotFoundException:http://…" is "EntityNotFoundException". */
static nl_str error_name(nl_str text)
{
    const size_t hash = nl_str_find_char(text, '#', 0);
    if (hash != NL_NOT_FOUND) text = nl_str_slice(text, hash + 1, text.length);
    return nl_str_trim(nl_str_slice(text, 0, nl_str_find_char(text, ':', 0)));
}

static nl_status read_answer(const nl_http_response *response, const char *operation, nl_arena *arena, nl_glue_answer *answer)
{
    const nl_str path = nl_arena_f(arena, "the answer to Glue's %s", operation);
    const nl_str text = response->body ? nl_arena_str(arena, (nl_str){(const char *)response->body->data, response->body->size_bytes}) : NL_STR("");
    *answer = (nl_glue_answer){.status = response->status};
    if (response->status == 200) {
        if (text.length == 0) return NULL; /* operations that answer nothing */
        NL_TRY(nl_json_parse(arena, text, path, &answer->json));
        return nl_json_object(answer->json, path, "the answer");
    }
    const json_t *json = NULL;
    nl_error *no_json = nl_json_parse(arena, text, path, &json); /* a proxy's page, perhaps */
    nl_error_free(no_json);
    nl_str name = nl_arena_str(arena, nl_http_header(response, "x-amzn-errortype"));
    if (json && json_is_object(json)) {
        nl_error_free(nl_json_optional_text(json, "__type", path, &name));
        nl_error_free(nl_json_optional_text(json, "Message", path, &answer->message));
        nl_error_free(nl_json_optional_text(json, "message", path, &answer->message));
    }
    answer->error = error_name(name);
    if (answer->error.length == 0) answer->error = nl_arena_f(arena, "HTTP status %d", response->status);
    return NULL;
}

static nl_status send_once(nl_glue_client *client, const char *operation, nl_str body, bool changes, nl_arena *arena, nl_glue_answer *answer)
{
    signer sign = {.client = client};
    uint8_t hash[32];
    NL_TRY(nl_credential_source_get(client->source, arena, &sign.credentials));
    nl_sha256((nl_bytes){(const uint8_t *)body.data, body.length}, hash);
    sign.payload_hash = nl_hex(arena, hash, sizeof(hash));
    const nl_property headers[] = {{NL_STR("host"), client->host}, {NL_STR("content-type"), NL_STR("application/x-amz-json-1.1")},
                                   {NL_STR("x-amz-target"), nl_arena_f(arena, "AWSGlue.%s", operation)}};
    const nl_http_request request = {.method = "POST",
                                     .url = client->url,
                                     .headers = headers,
                                     .header_count = NL_COUNT(headers),
                                     .body = {(const uint8_t *)body.data, body.length},
                                     .sign = sign_attempt,
                                     .sign_argument = &sign,
                                     .is_idempotent = !changes,
                                     .retries_nothing = changes, /* a 5xx may have done it all the same: who commits looks it up */
                                     .fault = changes ? "glue.change" : "glue.read"};
    nl_http_response response = {0};
    NL_TRY_NOTE(nl_http_send(client->http, &request, &response), "calling Glue's %s", operation);
    nl_status status = read_answer(&response, operation, arena, answer);
    nl_http_response_fini(&response);
    if (status && changes) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

/* These say that nothing was done. */
static bool is_throttled(const nl_glue_answer *answer)
{
    static const char *const names[] = {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded", "RequestThrottledException", "SlowDown"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        if (nl_glue_is(answer, names[i])) return true;
    return false;
}

nl_status nl_glue_call(nl_glue_client *client, const char *operation, nl_str body, bool changes, nl_arena *arena, nl_glue_answer *answer)
{
    for (int try = 1;; try++) {
        NL_TRY(send_once(client, operation, body, changes, arena, answer));
        if (!is_throttled(answer) || try == THROTTLED_TRIES_MAX) return NULL;
        const int64_t wait_ms = (int64_t)THROTTLED_WAIT_MS << (try - 1);
        const struct timespec wait = {.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000};
        nl_log(NL_LOG_DEBUG, "Glue throttles %s: waiting %lld ms", operation, (long long)wait_ms);
        nanosleep(&wait, NULL);
    }
}

bool nl_glue_is(const nl_glue_answer *answer, const char *error)
{
    return nl_str_is(answer->error, error);
}

nl_status nl_glue_failure(const nl_glue_answer *answer, const char *operation, bool changes)
{
    if (answer->error.length == 0) return NULL;
    const nl_str error = answer->error, message = answer->message;
#define WORDS "Glue refuses %s: " NL_STR_FMT ": " NL_STR_FMT, operation, NL_STR_ARG(error), NL_STR_ARG(message)
    if (answer->status >= 500) {
        nl_status status = nl_raise_io("Glue's", nl_str_from(operation), NL_STR_FMT ": " NL_STR_FMT " (status %d)", NL_STR_ARG(error), NL_STR_ARG(message), answer->status);
        nl_error_set_kind(status, changes ? NL_KIND_UNKNOWN_STATE : NL_KIND_RETRY);
        return status;
    }
    static const char *const unknown_keys[] = {"UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "IncompleteSignature", "MissingAuthenticationToken",
                                               "MissingAuthenticationTokenException", "InvalidClientTokenId"};
    for (size_t i = 0; i < NL_COUNT(unknown_keys); i++)
        if (nl_str_is(error, unknown_keys[i])) return NL_RAISE_TEXT(NILAS_NOT_AUTHORIZED, WORDS);
    if (nl_str_is(error, "AccessDeniedException")) return NL_RAISE_TEXT(NILAS_FORBIDDEN, WORDS);
    if (nl_str_is(error, "ValidationException") || nl_str_is(error, "InvalidInputException")) return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, WORDS);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, WORDS);
#undef WORDS
}
