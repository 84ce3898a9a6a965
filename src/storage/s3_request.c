/* storage/s3_request.c - one request to S3: its URL, headers and signature, and what a refusal means. */
#include <stdlib.h>

#include "base/calendar.h"
#include "base/hash.h"
#include "storage/digest.h"
#include "storage/s3_private.h"
#include "storage/sigv4.h"
#include "storage/xml.h"

#define HEADERS_MAX 40u

struct nl_s3_call {
    nl_s3_fs *fs;      /* counted */
    nl_arena *arena;   /* owned */
    nl_s3_ask ask;     /* its texts copied; body and into borrowed */
    nl_str region;
    nl_str payload_hash;
    nl_credentials credentials;
    nl_property headers[HEADERS_MAX];
    uint32_t header_count;
    nl_http_call *http;
    bool has_moved;    /* to another region, once */
};

nl_status nl_s3_place_parse(nl_str path, nl_s3_place *place)
{
    const size_t colon = nl_str_find(path, NL_STR("://"), 0);
    const nl_str scheme = nl_str_slice(path, 0, colon);
    if (colon == NL_NOT_FOUND || !(nl_str_is_nocase(scheme, "s3") || nl_str_is_nocase(scheme, "s3a") || nl_str_is_nocase(scheme, "s3n")))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a path in S3: \"" NL_STR_FMT "\".", NL_STR_ARG(path));
    const nl_str rest = nl_str_slice(path, colon + 3, path.length);
    const size_t slash = nl_str_find_char(rest, '/', 0);
    nl_s3_place made = {.bucket = nl_str_slice(rest, 0, slash)};
    bool is_good = made.bucket.length > 0 && made.bucket.length <= 255;
    for (size_t i = 0; i < made.bucket.length && is_good; i++) {
        const char c = made.bucket.data[i];
        is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    }
    if (!is_good) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a path in S3: \"" NL_STR_FMT "\" has no valid bucket.", NL_STR_ARG(path));
    made.key = slash == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(rest, slash + 1, rest.length);
    made.root = nl_str_slice(path, 0, path.length - made.key.length);
    *place = made;
    return NULL;
}

/* ---- URLs ---- */

static bool fits_host(nl_str bucket) /* as a label of a host name; dots would break the certificate's wildcard */
{
    if (bucket.length < 3 || bucket.length > 63) return false;
    for (size_t i = 0; i < bucket.length; i++) {
        const char c = bucket.data[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
    }
    return bucket.data[0] != '-' && bucket.data[bucket.length - 1] != '-';
}

static nl_str host_of(const nl_s3_call *call)
{
    const nl_s3_options *options = &call->fs->options;
    if (options->has_endpoint) return nl_str_find_char(options->host, ':', 0) == NL_NOT_FOUND ? options->host : nl_arena_f(call->arena, "[" NL_STR_FMT "]", NL_STR_ARG(options->host));
    const char *suffix = nl_str_starts(call->region, NL_STR("cn-")) ? "amazonaws.com.cn" : "amazonaws.com";
    if (options->is_accelerated) return nl_arena_f(call->arena, "s3-accelerate.%s%s", options->is_dual_stack ? "dualstack." : "", suffix);
    return nl_arena_f(call->arena, "s3.%s" NL_STR_FMT ".%s", options->is_dual_stack ? "dualstack." : "", NL_STR_ARG(call->region), suffix);
}

/* *host: what the Host header says, which is signed. */
static nl_str url_of(nl_s3_call *call, nl_str *host)
{
    const nl_s3_options *options = &call->fs->options;
    nl_arena *arena = call->arena;
    const bool is_path = options->is_path_style || options->is_host_fixed || !fits_host(call->ask.bucket);
    nl_str name = host_of(call);
    nl_str path = NL_STR("");
    if (is_path)
        path = nl_arena_f(arena, "/" NL_STR_FMT, NL_STR_ARG(call->ask.bucket));
    else
        name = nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(call->ask.bucket), NL_STR_ARG(name));
    const bool is_standard = options->port.length == 0 || nl_str_is(options->port, nl_str_is(options->scheme, "http") ? "80" : "443");
    *host = is_standard ? name : nl_arena_f(arena, NL_STR_FMT ":" NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(options->port));
    const nl_str key = nl_url_encode(arena, call->ask.key, true);
    return nl_arena_f(arena, NL_STR_FMT "://" NL_STR_FMT NL_STR_FMT NL_STR_FMT "/" NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(options->scheme), NL_STR_ARG(*host),
                      NL_STR_ARG(options->base_path), NL_STR_ARG(path), NL_STR_ARG(key), call->ask.query.length ? "?" : "", NL_STR_ARG(call->ask.query));
}

/* ---- Headers ---- */

static void add(nl_s3_call *call, nl_str name, nl_str value)
{
    NL_ASSERT(call->header_count < HEADERS_MAX);
    call->headers[call->header_count++] = (nl_property){nl_arena_str(call->arena, name), nl_arena_str(call->arena, value)};
}

static void add_checksum(nl_s3_call *call)
{
    const nl_bytes body = call->ask.body;
    const uint32_t crc = nl_crc32(body.data, body.length, 0);
    const uint8_t bytes[4] = {(uint8_t)(crc >> 24), (uint8_t)(crc >> 16), (uint8_t)(crc >> 8), (uint8_t)crc};
    add(call, NL_STR("x-amz-sdk-checksum-algorithm"), NL_STR("CRC32"));
    add(call, NL_STR("x-amz-checksum-crc32"), nl_base64_encode(call->arena, (nl_bytes){bytes, sizeof(bytes)}));
    if (!call->fs->options.sends_md5) return;
    uint8_t digest[16];
    nl_md5(body, digest);
    add(call, NL_STR("content-md5"), nl_base64_encode(call->arena, (nl_bytes){digest, sizeof(digest)}));
}

/* Over TLS the bytes of an object need no second protection; without it they are signed. */
static nl_str hash_payload(const nl_s3_call *call)
{
    uint8_t digest[32];
    if (nl_str_is(call->fs->options.scheme, "https") && call->ask.body.length > 0) return NL_STR("UNSIGNED-PAYLOAD");
    nl_sha256(call->ask.body, digest);
    return nl_hex(call->arena, digest, sizeof(digest));
}

static void add_headers(nl_s3_call *call, nl_str host)
{
    const nl_s3_options *options = &call->fs->options;
    add(call, NL_STR("host"), host);
    for (uint32_t i = 0; i < call->ask.header_count; i++) add(call, call->ask.headers[i].key, call->ask.headers[i].value);
    for (uint32_t i = 0; call->ask.uses_key && i < options->key_header_count; i++) add(call, options->key_headers[i].key, options->key_headers[i].value);
    if (call->ask.adds_checksum) add_checksum(call);
    call->ask.headers = NULL;
}

/* Called by the client for each try, in its own thread. */
static nl_status sign_try(void *argument, const nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count)
{
    const nl_s3_call *call = argument;
    nl_url url;
    if (call->credentials.access_key.length == 0) return NULL; /* anonymous */
    NL_TRY(nl_url_parse(request->url, &url));
    const nl_sigv4_request signed_request = {
        .method = nl_str_from(request->method),
        .path = url.path,
        .query = url.query,
        .headers = *headers,
        .header_count = *header_count,
        .payload_hash = call->payload_hash,
    };
    const nl_sigv4_scope scope = {.access_key = call->credentials.access_key, .region = call->region, .service = NL_STR("s3")};
    return nl_sigv4_sign(&signed_request, &scope, nl_secret_text(&call->credentials.secret_key), nl_secret_text(&call->credentials.token), nl_now_micros(), arena,
                         headers, header_count);
}

/* ---- Regions ---- */

static nl_str region_of(nl_s3_fs *fs, nl_str bucket, nl_arena *arena)
{
    nl_str region = fs->options.region;
    nl_mutex_lock(&fs->mutex);
    for (const nl_s3_region *known = fs->regions; known; known = known->next)
        if (nl_str_equal(known->bucket, bucket)) region = nl_arena_str(arena, known->region);
    nl_mutex_unlock(&fs->mutex);
    return region;
}

static void note_region(nl_s3_fs *fs, nl_str bucket, nl_str region)
{
    nl_mutex_lock(&fs->mutex);
    nl_s3_region *known = fs->regions;
    while (known && !nl_str_equal(known->bucket, bucket)) known = known->next;
    if (!known) {
        known = NL_NEW(fs->arena, nl_s3_region);
        *known = (nl_s3_region){fs->regions, nl_arena_str(fs->arena, bucket), {0}};
        fs->regions = known;
    }
    known->region = nl_arena_str(fs->arena, region);
    nl_mutex_unlock(&fs->mutex);
}

/* AWS tells where a bucket lies when the region was wrong. */
static bool lies_elsewhere(const nl_s3_call *call, const nl_http_response *response, nl_str *region)
{
    if (call->fs->options.has_endpoint || call->has_moved) return false;
    if (response->status != 301 && response->status != 307 && response->status != 400 && response->status != 403) return false;
    *region = nl_http_header(response, "x-amz-bucket-region");
    return region->length > 0 && region->length < 64 && !nl_str_equal(*region, call->region);
}

/* ---- Sending ---- */

static nl_status client_of(nl_s3_fs *fs, nl_http_client **client)
{
    nl_mutex_lock(&fs->mutex);
    *client = fs->client;
    nl_mutex_unlock(&fs->mutex);
    if (*client) return NULL;
    nl_http_client *made = NULL;
    NL_TRY(nl_http_client_new(&fs->options.http, fs->memory, &made));
    nl_mutex_lock(&fs->mutex);
    if (!fs->client) {
        fs->client = made;
        made = NULL;
    }
    *client = fs->client;
    nl_mutex_unlock(&fs->mutex);
    nl_http_client_release(made); /* somebody else was faster */
    return NULL;
}

static nl_status send_off(nl_s3_call *call)
{
    nl_http_client *client = NULL;
    nl_str host = {0};
    NL_TRY(client_of(call->fs, &client));
    if (call->fs->credentials) NL_TRY(nl_credential_source_get(call->fs->credentials, call->arena, &call->credentials));
    const nl_str url = url_of(call, &host);
    if (call->header_count == 0)
        add_headers(call, host);
    else
        call->headers[0].value = host;
    if (!call->payload_hash.data) call->payload_hash = hash_payload(call);
    nl_http_request request = {
        .method = call->ask.method,
        .url = url,
        .headers = call->headers,
        .header_count = call->header_count,
        .body = call->ask.body,
        .into = call->ask.into,
        .into_size = call->ask.into_size,
        .body_max = call->ask.body_max,
        .is_idempotent = call->ask.is_idempotent,
        .fault = call->ask.fault,
    };
    if (call->fs->signer.sign) {
        NL_TRY(call->fs->signer.sign(call->fs->signer.argument, &request, call->arena, &request.headers, &request.header_count));
    } else {
        request.sign = sign_try;
        request.sign_argument = call;
    }
    NL_TRY(nl_arena_check(call->arena));
    return nl_http_start(client, &request, &call->http);
}

/* What is kept of an object that is written or removed: not believed any more, before it happens and when it has. */
static void forget_changed(const nl_s3_call *call)
{
    const nl_object_name name = nl_s3_object_name(call->fs, call->ask.bucket, call->ask.key);
    const bool is_reading = strcmp(call->ask.method, "GET") == 0 || strcmp(call->ask.method, "HEAD") == 0;
    if (!is_reading && name.key.length > 0) nl_piece_cache_forget(call->fs->cache, &name);
}

static void forget_missed(const nl_s3_call *call, const nl_http_response *response)
{
    const nl_object_name name = nl_s3_object_name(call->fs, call->ask.bucket, call->ask.key);
    const bool is_other = response->status == 404 || response->status == 412;
    if (is_other && name.key.length > 0) nl_piece_cache_forget(call->fs->cache, &name);
}

static void free_call(nl_s3_call *call)
{
    nl_fs *fs = &call->fs->base;
    forget_changed(call);
    nl_arena_free(call->arena);
    free(call);
    nl_fs_release(fs);
}

nl_status nl_s3_start(nl_s3_fs *fs, const nl_s3_ask *ask, nl_s3_call **call)
{
    nl_s3_call *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    made->fs = NL_CONTAINER(nl_fs_retain(&fs->base), nl_s3_fs, base);
    made->arena = nl_arena_new(fs->memory);
    made->ask = *ask;
    made->ask.bucket = nl_arena_str(made->arena, ask->bucket);
    made->ask.key = nl_arena_str(made->arena, ask->key);
    made->ask.query = nl_arena_str(made->arena, ask->query);
    made->region = region_of(fs, ask->bucket, made->arena);
    forget_changed(made);
    nl_status status = send_off(made);
    if (status)
        free_call(made);
    else
        *call = made;
    return status;
}

nl_status nl_s3_wait(nl_s3_call *call, nl_http_response *response)
{
    nl_status status = nl_http_wait(call->http, response);
    nl_str region = {0};
    if (!status && lies_elsewhere(call, response, &region)) {
        call->has_moved = true;
        call->region = nl_arena_str(call->arena, region);
        note_region(call->fs, call->ask.bucket, region);
        nl_http_response_fini(response);
        status = send_off(call);
        if (!status) status = nl_http_wait(call->http, response);
    }
    if (!status) forget_missed(call, response);
    free_call(call);
    return status;
}

void nl_s3_abandon(nl_s3_call *call)
{
    if (!call) return;
    nl_http_abandon(call->http);
    free_call(call);
}

nl_status nl_s3_send(nl_s3_fs *fs, const nl_s3_ask *ask, nl_http_response *response)
{
    nl_s3_call *call = NULL;
    NL_TRY(nl_s3_start(fs, ask, &call));
    return nl_s3_wait(call, response);
}

/* ---- Refusals ---- */

/* The <Error> of an answer; NULL: its body is none. */
static const nl_xml *error_document(const nl_http_response *response)
{
    const nl_xml *root = NULL;
    const nl_bytes body = nl_s3_body(response);
    if (body.length == 0 || body.length > (64u << 10)) return NULL;
    nl_status status = nl_xml_parse(response->arena, body, &root);
    nl_error_free(status);
    if (status) return NULL;
    return nl_str_is(root->name, "Error") ? root : nl_xml_child(root, "Error");
}

nl_str nl_s3_error_code(const nl_http_response *response)
{
    return nl_xml_text(error_document(response), "Code");
}

nl_str nl_s3_hidden_error(nl_http_response *response)
{
    const nl_xml *root = NULL;
    const nl_bytes body = nl_s3_body(response);
    if (body.length == 0) return (nl_str){0};
    nl_status status = nl_xml_parse(response->arena, body, &root);
    nl_error_free(status);
    if (status) return NL_STR("an answer that is not XML");
    if (!nl_str_is(root->name, "Error")) return (nl_str){0};
    const nl_str code = nl_xml_text(root, "Code");
    return code.length > 0 ? code : NL_STR("an error without a code");
}

static nl_str meaning_of(int32_t status)
{
    switch (status) {
    case 400: return NL_STR("Bad Request");
    case 403: return NL_STR("Forbidden");
    case 404: return NL_STR("Not Found");
    case 409: return NL_STR("Conflict");
    case 412: return NL_STR("Precondition Failed");
    case 416: return NL_STR("Range Not Satisfiable");
    case 301:
    case 307: return NL_STR("the bucket lies in another region: set client.region");
    default: return NL_STR("refused");
    }
}

nl_status nl_s3_refusal(const char *operation, nl_str path, const nl_http_response *response, bool is_reading)
{
    const nl_xml *document = error_document(response);
    nl_str code = nl_xml_text(document, "Code");
    nl_str message = nl_xml_text(document, "Message");
    nl_str id = nl_xml_text(document, "RequestId");
    nl_s3_place place = {0};
    nl_error_free(nl_s3_place_parse(path, &place));
    if (code.length == 0) code = meaning_of(response->status);
    if (id.length == 0) id = nl_http_header(response, "x-amz-request-id");
    const nl_str words = nl_arena_f(response->arena, NL_STR_FMT "%s" NL_STR_FMT " (HTTP %d, bucket " NL_STR_FMT ", key " NL_STR_FMT "%s" NL_STR_FMT ")", NL_STR_ARG(code),
                                    message.length ? ": " : "", NL_STR_ARG(nl_str_slice(message, 0, 1000)), response->status, NL_STR_ARG(place.bucket), NL_STR_ARG(place.key),
                                    id.length ? ", request id " : "", NL_STR_ARG(nl_str_slice(id, 0, 100)));
    if (response->status == 404 && is_reading) return nl_note_if(NL_RAISE(PATH_NOT_FOUND, NL_P_STR("path", path)), NL_HERE, NL_STR_FMT, NL_STR_ARG(words));
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", operation), NL_P_STR("path", path), NL_P_STR("problem", words));
    const bool may_pass = response->status == 429 || response->status >= 500 || response->status == 409 || nl_str_is(code, "RequestTimeout");
    nl_error_set_kind(status, response->status == 403 ? NL_KIND_USER : may_pass ? NL_KIND_RETRY : NL_KIND_DATA);
    return status;
}
