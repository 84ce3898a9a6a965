/* connect/rpc_client.c - see rpc_client.h ("gRPC over HTTP2": messages behind five bytes, the outcome in the trailers). */
#include "connect/rpc_client.h"

#include <stdlib.h>

#include "base/number.h"

#define PREFIX_BYTES 5u

struct nl_rpc_client_call {
    nl_arena *arena;
    nl_http_stream *stream;
    nl_builder received; /* from the message that is not whole yet on */
    size_t at;           /* what of it was given out                  */
    nl_str method;
    bool is_done;
};

static nl_status pack(nl_arena *arena, const ProtobufCMessage *request, nl_bytes *body)
{
    const size_t size = protobuf_c_message_get_packed_size(request);
    uint8_t *bytes = NL_NEW_ARRAY(arena, uint8_t, size + PREFIX_BYTES);
    NL_TRY(nl_arena_check(arena));
    const uint32_t length = __builtin_bswap32((uint32_t)size);
    bytes[0] = 0; /* not compressed */
    memcpy(bytes + 1, &length, sizeof(length));
    protobuf_c_message_pack(request, bytes + PREFIX_BYTES);
    *body = (nl_bytes){bytes, size + PREFIX_BYTES};
    return NULL;
}

nl_status nl_rpc_client_start(const nl_rpc_client_endpoint *endpoint, const char *method, const ProtobufCMessage *request, nl_rpc_client_call **call)
{
    static const nl_property always[] = {{NL_STR_INIT("content-type"), NL_STR_INIT("application/grpc")}, {NL_STR_INIT("te"), NL_STR_INIT("trailers")}};
    nl_arena *arena = nl_arena_new(NULL);
    nl_rpc_client_call *self = NL_NEW(arena, nl_rpc_client_call);
    *self = (nl_rpc_client_call){.arena = arena, .method = nl_str_from(method)};
    nl_builder_init(&self->received, (size_t)1 << 31);
    nl_property *headers = NL_NEW_ARRAY(arena, nl_property, endpoint->header_count + NL_COUNT(always));
    memcpy(headers, always, sizeof(always));
    for (uint32_t i = 0; i < endpoint->header_count; i++) headers[NL_COUNT(always) + i] = endpoint->headers[i];
    nl_http_request http = {.method = "POST", .headers = headers, .header_count = endpoint->header_count + (uint32_t)NL_COUNT(always), .cancel = endpoint->cancel};
    http.url = nl_arena_f(arena, NL_STR_FMT "%s", NL_STR_ARG(endpoint->base), method);
    nl_status status = pack(arena, request, &http.body);
    if (!status) status = nl_http_stream_open(endpoint->channel, &http, &self->stream);
    if (status)
        nl_rpc_client_end(self);
    else
        *call = self;
    return status;
}

/* "%0A" and its like in grpc-message. */
static nl_str decode_message(nl_arena *arena, nl_str text)
{
    nl_str decoded = {0};
    nl_status status = nl_url_decode(arena, text, false, &decoded);
    if (!status) return decoded;
    nl_error_free(status);
    return text;
}

/* The names of gRPC's status codes, for servers that send no message. */
static const char *code_name(int64_t code)
{
    static const char *const names[] = {"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
                                        "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE",
                                        "DATA_LOSS", "UNAUTHENTICATED"};
    return code >= 0 && code < (int64_t)NL_COUNT(names) ? names[code] : "UNKNOWN";
}

static nl_status outcome(nl_rpc_client_call *call)
{
    int64_t code;
    const nl_str text = nl_http_stream_header(call->stream, "grpc-status");
    if (!text.data) {
        const int32_t status = nl_http_stream_status(call->stream);
        return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server answered " NL_STR_FMT " with HTTP status %d and no gRPC status: it is no Spark Connect server.",
                             NL_STR_ARG(call->method), status);
    }
    if (!nl_parse_int64(text, &code)) return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server ended " NL_STR_FMT " with a gRPC status that is no number.", NL_STR_ARG(call->method));
    if (code == 0) return call->received.length == call->at ? NULL : NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server ended inside a message.");
    const nl_str message = decode_message(call->arena, nl_http_stream_header(call->stream, "grpc-message"));
    if (!message.length) return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server answered %s to " NL_STR_FMT ".", code_name(code), NL_STR_ARG(call->method));
    return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, NL_STR_FMT, NL_STR_ARG(message));
}

/* Bytes of the first message in `received`, prefix included; 0: not known yet. */
static size_t message_size(const nl_rpc_client_call *call)
{
    uint32_t length;
    if (call->received.length - call->at < PREFIX_BYTES) return 0;
    memcpy(&length, call->received.data + call->at + 1, sizeof(length));
    return PREFIX_BYTES + (size_t)__builtin_bswap32(length);
}

static nl_status receive(nl_rpc_client_call *call)
{
    nl_str bytes;
    if (call->at > 0) { /* move what is left to the front */
        const size_t left = call->received.length - call->at;
        memmove(call->received.data, call->received.data + call->at, left);
        call->received.length = left;
        call->at = 0;
    }
    NL_TRY(nl_http_stream_read(call->stream, &bytes, &call->is_done));
    nl_append(&call->received, bytes);
    if (!nl_builder_failed(&call->received)) return NULL;
    return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server sent a message that is longer than 2 GiB.");
}

nl_status nl_rpc_client_next(nl_rpc_client_call *call, const ProtobufCMessageDescriptor *type, ProtobufCMessage **message)
{
    *message = NULL;
    size_t size;
    while ((size = message_size(call)) == 0 || size > call->received.length - call->at) {
        if (call->is_done) return outcome(call);
        NL_TRY(receive(call));
    }
    const uint8_t *bytes = (const uint8_t *)call->received.data + call->at;
    call->at += size;
    if (bytes[0] != 0) return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server sent a compressed message, which was not asked for.");
    *message = protobuf_c_message_unpack(type, NULL, size - PREFIX_BYTES, bytes + PREFIX_BYTES);
    if (*message) return NULL;
    return NL_RAISE_TEXT(NILAS_REMOTE_ERROR, "The server's answer to " NL_STR_FMT " is no %s.", NL_STR_ARG(call->method), type->name);
}

nl_str nl_rpc_client_details(const nl_rpc_client_call *call)
{
    return nl_http_stream_header(call->stream, "grpc-status-details-bin");
}

void nl_rpc_client_end(nl_rpc_client_call *call)
{
    if (!call) return;
    nl_http_stream_close(call->stream);
    nl_builder_fini(&call->received);
    nl_arena_free(call->arena);
}
