/* connect/rpc_client.h - calls of gRPC as a client: one request, any number of answers. Inside the folder. */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "storage/http_stream.h"

typedef struct nl_rpc_client_endpoint { /* texts are borrowed */
    nl_http_channel *channel;
    nl_str base;                /* "http://host:15002" */
    const nl_property *headers; /* of every call       */
    uint32_t header_count;
    nl_cancel *cancel;          /* or NULL */
} nl_rpc_client_endpoint;

typedef struct nl_rpc_client_call nl_rpc_client_call;

/* method: "/spark.connect.SparkConnectService/Config". The request is packed here. */
NL_MUST_USE nl_status nl_rpc_client_start(const nl_rpc_client_endpoint *endpoint, const char *method, const ProtobufCMessage *request, nl_rpc_client_call **call);
/* The next answer, unpacked (owned: protobuf_c_message_free_unpacked); *message NULL: the call has ended well. What the server
 * refuses is NILAS_REMOTE_ERROR with its message; `details` of nl_rpc_client_details then tells more. */
NL_MUST_USE nl_status nl_rpc_client_next(nl_rpc_client_call *call, const ProtobufCMessageDescriptor *type, ProtobufCMessage **message);
/* google.rpc.Status of the failure, still in base64; data NULL: none. Borrowed from the call. */
nl_str nl_rpc_client_details(const nl_rpc_client_call *call);
void nl_rpc_client_end(nl_rpc_client_call *call); /* NULL is fine */
