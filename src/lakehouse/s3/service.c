/* lakehouse/s3/service.c - a request's way: bucket and key, operation, signature, body, answer. */
#include <stdlib.h>

#include "base/limits.h"
#include "lakehouse/s3/s3.h"
#include "storage/http.h"

static const nl_s3_operation operations[] = {
#define X(name, level, method, parameter, body, begin, answer) {#name, level, method, parameter, body, begin, answer},
#include "lakehouse/s3/operations.def"
#undef X
};

/* Parameters that make another operation of a request: one that no row knows is not offered. */
static const char *const subresources[] = {
    "abac", "accelerate", "acl", "analytics", "attributes", "cors", "delete", "encryption", "intelligent-tiering", "inventory", "legal-hold", "lifecycle", "location", "logging",
    "metadataConfiguration", "metadataInventoryTable", "metadataJournalTable", "metadataTable", "metrics", "notification", "object-lock", "ownershipControls", "policy",
    "policyStatus", "publicAccessBlock", "renameObject", "replication", "requestPayment", "restore", "retention", "select", "session", "tagging", "torrent", "uploads", "versioning",
    "versions", "website",
};

static nl_s3_service *service_of(nl_service *self)
{
    return NL_CONTAINER(self, nl_s3_service, base);
}

/* ---- Which bucket, which key. */

/* "bucket.localhost:9000", "bucket.s3.eu-west-1.example": the bucket; empty for path style. */
static nl_str bucket_of_host(nl_str host)
{
    if (host.length && host.data[0] == '[') return (nl_str){0};
    host = nl_str_slice(host, 0, nl_str_find_char(host, ':', 0));
    size_t end = NL_NOT_FOUND;
    if (nl_str_ends(host, NL_STR(".localhost"))) end = host.length - strlen(".localhost");
    const size_t s3 = nl_str_find(host, NL_STR(".s3."), 0);
    const size_t old = nl_str_find(host, NL_STR(".s3-"), 0);
    end = NL_MIN(end, NL_MIN(s3, old));
    if (end == NL_NOT_FOUND) return (nl_str){0};
    nl_str bucket = nl_str_slice(host, 0, end);
    const bool is_service = nl_str_is(bucket, "s3") || nl_str_starts(bucket, NL_STR("s3.")) || nl_str_starts(bucket, NL_STR("s3-"));
    return is_service ? (nl_str){0} : bucket;
}

static nl_status bad_path(nl_status status)
{
    if (!status) return NULL;
    nl_error_free(status);
    return NL_STORE_RAISE("InvalidURI", "Couldn't parse the specified URI.");
}

static nl_status read_path(nl_s3_call *call)
{
    nl_str path = call->request->path;
    path = nl_str_slice(path, nl_str_starts(path, NL_STR("/")) ? 1 : 0, path.length);
    call->bucket = bucket_of_host(nl_s3_header(call, "Host"));
    if (!call->bucket.length) {
        const size_t slash = nl_str_find_char(path, '/', 0);
        NL_TRY(bad_path(nl_url_decode(call->arena, nl_str_slice(path, 0, slash), false, &call->bucket)));
        path = slash == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(path, slash + 1, path.length);
    }
    NL_TRY(bad_path(nl_url_decode(call->arena, path, false, &call->key)));
    if (!nl_utf8_is_valid(call->key) || nl_str_find_char(call->key, '\0', 0) != NL_NOT_FOUND) return NL_STORE_RAISE("InvalidURI", "Couldn't parse the specified URI.");
    if (call->key.length > NL_OBJECT_KEY_BYTES_MAX) return NL_STORE_RAISE("KeyTooLongError", "Your key is too long");
    return NULL;
}

static nl_status read_parameters(nl_s3_call *call)
{
    nl_str rest = call->request->query, part;
    uint32_t count = 1;
    for (size_t i = 0; i < rest.length; i++) count += rest.data[i] == '&';
    nl_property *all = NL_NEW_ARRAY(call->arena, nl_property, count);
    call->parameters = all;
    while (nl_str_next_part(&rest, '&', &part)) {
        if (!part.length) continue;
        const size_t equals = nl_str_find_char(part, '=', 0);
        nl_property *one = &all[call->parameter_count++];
        one->value = NL_STR("");
        NL_TRY(bad_path(nl_url_decode(call->arena, nl_str_slice(part, 0, equals), true, &one->key)));
        if (equals != NL_NOT_FOUND) NL_TRY(bad_path(nl_url_decode(call->arena, nl_str_slice(part, equals + 1, part.length), true, &one->value)));
    }
    return nl_arena_check(call->arena);
}

/* ---- Which operation. */

static bool has_subresource(const nl_s3_call *call, nl_str *name)
{
    for (uint32_t i = 0; i < NL_COUNT(subresources); i++) {
        if (!nl_s3_has(call, subresources[i])) continue;
        *name = nl_str_from(subresources[i]);
        return true;
    }
    return false;
}

static nl_status find_operation(nl_s3_call *call)
{
    nl_str level = call->key.length ? NL_STR("object") : call->bucket.length ? NL_STR("bucket") : NL_STR("service");
    nl_str method = call->request->method, subresource;
    for (uint32_t i = 0; i < NL_COUNT(operations); i++) {
        const nl_s3_operation *one = &operations[i];
        if (!nl_str_is(level, one->level) || !nl_str_is(method, one->method)) continue;
        if (one->parameter[0] ? !nl_s3_has(call, one->parameter) : has_subresource(call, &subresource)) continue;
        call->operation = one;
        return NULL;
    }
    if (has_subresource(call, &subresource)) return NL_STORE_RAISE("NotImplemented", "The operation " NL_STR_FMT " ?" NL_STR_FMT " is not offered.", NL_STR_ARG(method), NL_STR_ARG(subresource));
    return NL_STORE_RAISE("MethodNotAllowed", "The specified method is not allowed against this resource.");
}

/* ---- The body. */

static nl_status sink(void *argument, nl_bytes bytes)
{
    nl_s3_call *call = argument;
    switch (call->operation->body) {
    case NL_S3_BODY_NONE:
        return NULL;
    case NL_S3_BODY_DOCUMENT:
        nl_append(&call->document, (nl_str){(const char *)bytes.data, bytes.length});
        return nl_builder_failed(&call->document) ? NL_STORE_RAISE("SlowDown", "There is no memory for the request.") : NULL;
    case NL_S3_BODY_OBJECT:
        return call->incoming ? nl_incoming_write(call->incoming, bytes.data, bytes.length) : NULL;
    case NL_S3_BODY_FORM:
        return nl_s3_form_take(call, bytes);
    }
    return NULL;
}

static nl_status begin_payload(nl_s3_call *call, const nl_sigv4_request *request)
{
    const nl_s3_body_kind kind = call->operation->body;
    call->payload = (nl_s3_payload){.arena = call->arena, .sink = sink, .argument = call};
    call->payload.bytes_max = kind == NL_S3_BODY_OBJECT || kind == NL_S3_BODY_FORM ? NL_S3_PUT_BYTES_MAX : NL_HTTP_BODY_BYTES_MAX;
    call->payload.is_of_object = call->operation->answer == nl_s3_complete_upload;
    nl_builder_init(&call->document, NL_HTTP_BODY_BYTES_MAX + 1);
    call->has_payload = true;
    if (kind == NL_S3_BODY_NONE) return NULL; /* checksum headers of a GET mean nothing (Java's SDK sends some) */
    return nl_s3_payload_begin(&call->payload, request, &call->claim, call->is_verified, call->service->secret_key);
}

static nl_sigv4_request signed_request(nl_s3_call *call)
{
    const nl_request *request = call->request;
    nl_str hash = nl_s3_header(call, "x-amz-content-sha256");
    if (!hash.length) hash = NL_STR("UNSIGNED-PAYLOAD"); /* of a presigned link */
    return (nl_sigv4_request){.method = request->method, .path = request->path, .query = request->query, .headers = request->headers, .header_count = request->header_count, .payload_hash = hash};
}

/* Who says whose bucket it is wants to be told when it is another's. */
static nl_status check_owner(const nl_s3_call *call)
{
    static const char *const names[] = {"x-amz-expected-bucket-owner", "x-amz-source-expected-bucket-owner"};
    for (uint32_t i = 0; i < NL_COUNT(names); i++) {
        const nl_str wanted = nl_s3_header(call, names[i]);
        if (wanted.data && !nl_str_is(wanted, NL_S3_ACCOUNT)) return NL_STORE_RAISE("AccessDenied", "Access Denied");
    }
    return NULL;
}

static nl_status begin_call(nl_s3_call *call)
{
    const nl_sigv4_request request = signed_request(call);
    NL_TRY(read_path(call));
    NL_TRY(read_parameters(call));
    NL_TRY(find_operation(call));
    if (call->operation->body != NL_S3_BODY_FORM || nl_request_header(call->request, "authorization").data) NL_TRY(nl_s3_authorize(call, &request));
    NL_TRY(check_owner(call));
    NL_TRY(begin_payload(call, &request));
    if (call->operation->begin) NL_TRY(call->operation->begin(call));
    return nl_arena_check(call->arena);
}

static nl_status service_begin(nl_service *self, nl_request *request, bool *is_streamed, nl_reply *reply)
{
    (void)reply;
    *is_streamed = true;
    nl_s3_call *call = NL_NEW(request->arena, nl_s3_call);
    call->service = service_of(self);
    call->objects = call->service->objects;
    call->request = request;
    call->arena = request->arena;
    request->data = call;
    return begin_call(call);
}

static nl_status service_body(nl_service *self, nl_request *request, const uint8_t *bytes, size_t length)
{
    (void)self;
    nl_s3_call *call = request->data;
    return nl_s3_payload_take(&call->payload, (nl_bytes){bytes, length});
}

static nl_status service_answer(nl_service *self, nl_request *request, nl_reply *reply)
{
    (void)self;
    nl_s3_call *call = request->data;
    if (call->operation->body != NL_S3_BODY_NONE) NL_TRY(nl_s3_payload_end(&call->payload));
    return call->operation->answer(call, reply);
}

static void service_abandon(nl_service *self, nl_request *request)
{
    (void)self;
    nl_s3_call *call = request->data;
    if (!call) return;
    if (call->has_payload) {
        nl_s3_payload_fini(&call->payload);
        nl_builder_fini(&call->document);
    }
    nl_incoming_free(call->incoming);
    nl_s3_form_free(call->form);
}

static void service_fail(nl_service *self, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)self;
    nl_s3_write_error(request->data, request, error, reply);
}

static void service_free(nl_service *self)
{
    nl_s3_service *service = service_of(self);
    free(NL_UNCONST(service->access_key.data));
    free(NL_UNCONST(service->secret_key.data));
    free(service);
}

static const nl_service_ops s3_ops = {
    .name = "s3",
    .default_port = 9000,
    .begin = service_begin,
    .body = service_body,
    .answer = service_answer,
    .abandon = service_abandon,
    .fail = service_fail,
    .free = service_free,
};

static nl_str own_copy(nl_str text)
{
    char *copy = malloc(text.length + 1);
    if (!copy) return (nl_str){0};
    if (text.length) memcpy(copy, text.data, text.length);
    copy[text.length] = '\0';
    return (nl_str){copy, text.length};
}

nl_status nl_s3_service_new(nl_objects *objects, const nl_lakehouse_keys *keys, nl_service **service)
{
    nl_s3_service *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->base.ops = &s3_ops;
    made->objects = objects;
    made->access_key = own_copy(keys->access_key);
    made->secret_key = own_copy(keys->secret_key);
    made->is_strict = keys->is_strict;
    if (!made->access_key.data || !made->secret_key.data) {
        service_free(&made->base);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)keys->secret_key.length), NL_P("receivedBytes", "0"));
    }
    *service = &made->base;
    return NULL;
}
