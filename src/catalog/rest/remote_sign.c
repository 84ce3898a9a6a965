/* catalog/rest/remote_sign.c - S3 without keys of one's own: the REST server signs each request for a table's files
 * (s3.remote-signing-enabled; POST to s3.signer.endpoint). Source: the S3 signer's OpenAPI description; Java's
 * S3V4RestSignerClient: the payload stays unsigned, the body goes along for bulk deletes only. */
#include "catalog/rest/rest_private.h"

#include <stdlib.h>

typedef struct remote_signer {
    nl_remote_catalog *catalog; /* retained */
    nl_arena *arena;            /* owned: the texts */
    nl_str url;                 /* where signatures are asked for */
    nl_str other_url;           /* of a table that is not there yet (CTAS); or empty */
    nl_str token;               /* a table's own; or empty */
    nl_str region;
} remote_signer;

static void append_request(nl_builder *out, const remote_signer *self, const nl_http_request *request)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "region");
    nl_json_write_text(&writer, self->region);
    nl_json_key(&writer, "uri");
    nl_json_write_text(&writer, request->url);
    nl_json_key(&writer, "method");
    nl_json_write_text(&writer, nl_str_from(request->method));
    nl_json_key(&writer, "headers");
    nl_json_begin(&writer, '{');
    for (uint32_t i = 0; i < request->header_count; i++) {
        nl_json_key_str(&writer, request->headers[i].key);
        nl_json_begin(&writer, '[');
        nl_json_write_text(&writer, request->headers[i].value);
        nl_json_end(&writer, ']');
    }
    nl_json_key(&writer, "x-amz-content-sha256");
    nl_json_begin(&writer, '[');
    nl_json_write_text(&writer, NL_STR("UNSIGNED-PAYLOAD"));
    nl_json_end(&writer, ']');
    nl_json_end(&writer, '}');
    if (nl_str_is(nl_str_from(request->method), "POST") && nl_str_find(request->url, NL_STR("?delete"), 0) != NL_NOT_FOUND) {
        nl_json_key(&writer, "body");
        nl_json_write_text(&writer, (nl_str){(const char *)request->body.data, request->body.length});
    }
    nl_json_end(&writer, '}');
}

/* The request's own headers with those of the answer in their place. */
static void merge_headers(nl_arena *arena, const nl_http_request *request, const nl_property *signed_headers, uint32_t signed_count, const nl_property **headers, uint32_t *count)
{
    nl_property *merged = NL_NEW_ARRAY(arena, nl_property, (size_t)request->header_count + signed_count + 1);
    uint32_t merged_count = 0;
    for (uint32_t i = 0; i < signed_count; i++)
        merged[merged_count++] = signed_headers[i];
    for (uint32_t i = 0; i < request->header_count; i++) {
        bool is_there = false;
        for (uint32_t k = 0; k < signed_count; k++)
            is_there = is_there || nl_str_equal_nocase(signed_headers[k].key, request->headers[i].key);
        if (!is_there) merged[merged_count++] = request->headers[i];
    }
    *headers = merged;
    *count = merged_count;
}

static nl_status ask(const remote_signer *self, nl_str body, nl_arena *arena, nl_remote_answer *answer)
{
    const nl_remote_session *session;
    NL_TRY(nl_remote_session_of(self->catalog, &session));
    const nl_remote_subject subject = {.kind = NL_REMOTE_SERVICE, .catalog = self->catalog->base.name, .authentication = nl_remote_auth_kind(session->auth)};
    nl_remote_request request = {.method = "POST", .path = self->url, .body = body, .token = self->token, .is_idempotent = true};
    NL_TRY(nl_remote_send(self->catalog, session, &request, arena, answer));
    if (answer->status == 404 && self->other_url.length) {
        request.path = self->other_url;
        NL_TRY(nl_remote_send(self->catalog, session, &request, arena, answer));
    }
    return nl_remote_is_good(answer) ? NULL : nl_remote_failure(answer, &subject);
}

static nl_status sign(void *argument, const nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count)
{
    const remote_signer *self = argument;
    nl_builder body;
    nl_remote_answer answer;
    nl_str uri;
    const nl_property *signed_headers;
    uint32_t signed_count;
    nl_builder_init(&body, 16u << 20);
    append_request(&body, self, request);
    nl_status status = ask(self, nl_builder_str(&body), arena, &answer);
    nl_builder_fini(&body);
    if (!status) status = nl_remote_signature_read(arena, answer.json, &uri, &signed_headers, &signed_count);
    if (status) return nl_note_if(status, NL_HERE, "asking " NL_STR_FMT " for a signature", NL_STR_ARG(self->url));
    if (!nl_str_equal(uri, request->url))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The signer of catalog " NL_STR_FMT " signs another address than was asked for: " NL_STR_FMT, NL_STR_ARG(self->catalog->base.name),
                             NL_STR_ARG(uri));
    merge_headers(arena, request, signed_headers, signed_count, headers, header_count);
    return nl_arena_check(arena);
}

static void signer_free(void *argument)
{
    remote_signer *self = argument;
    nl_catalog_release(&self->catalog->base);
    nl_arena_free(self->arena);
    free(self);
}

static nl_str find_property(const nl_property *properties, uint32_t count, const char *key)
{
    for (uint32_t i = count; i-- > 0;)
        if (nl_str_is(properties[i].key, key)) return properties[i].value;
    return (nl_str){0};
}

bool nl_remote_signs(const nl_property *properties, uint32_t property_count)
{
    return nl_str_is_nocase(find_property(properties, property_count, "s3.remote-signing-enabled"), "true");
}

nl_status nl_remote_signed_fs(nl_remote_catalog *catalog, const nl_remote_session *session, const nl_identifier *identifier, const nl_property *properties,
                              uint32_t property_count, nl_str token, nl_fs **fs)
{
    remote_signer *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P_INT("receivedBytes", 0));
    self->arena = nl_arena_new(NULL);
    self->catalog = nl_remote_of(nl_catalog_retain(&catalog->base));
    nl_str uri = find_property(properties, property_count, "s3.signer.uri"), endpoint = find_property(properties, property_count, "s3.signer.endpoint");
    const nl_str region = find_property(properties, property_count, "client.region");
    if (!uri.length) uri = session->uri;
    while (uri.length && uri.data[uri.length - 1] == '/')
        uri.length--;
    if (!endpoint.length && nl_remote_offers(session, NL_REMOTE_SIGN)) { /* the table's own, where it is offered */
        const nl_str path = nl_remote_item_path(self->arena, session, identifier, "tables");
        endpoint = nl_arena_f(self->arena, "v1/" NL_STR_FMT "/sign", NL_STR_ARG(path));
        self->other_url = nl_arena_f(self->arena, NL_STR_FMT "/v1/aws/s3/sign", NL_STR_ARG(uri));
    }
    if (!endpoint.length) endpoint = NL_STR("v1/aws/s3/sign");
    while (endpoint.length && endpoint.data[0] == '/')
        endpoint = nl_str_slice(endpoint, 1, endpoint.length);
    self->url = nl_arena_f(self->arena, NL_STR_FMT "/" NL_STR_FMT, NL_STR_ARG(uri), NL_STR_ARG(endpoint));
    self->token = nl_arena_str(self->arena, token);
    self->region = nl_arena_str(self->arena, region.length ? region : NL_STR("us-east-1"));
    const nl_s3_signer signer = {.sign = sign, .argument = self, .free = signer_free};
    return nl_fs_s3_new_signed(properties, property_count, &signer, catalog->base.memory, fs);
}
