/* connect/rpc.h - one gRPC call as a service sees it, and the server that carries calls over HTTP/2.
 *
 * Everything of a connection happens on one network thread. A method's functions and the hooks of a call run there too:
 * they must not block, only hand work to others. Sending and finishing may come from any thread at any time, also after
 * the client has gone: then nothing happens.
 */
#pragma once

#include "base/memory.h"

typedef struct nl_rpc nl_rpc; /* counted */

/* Codes of gRPC ("Status codes and their use in gRPC"). */
typedef enum nl_rpc_code {
    NL_RPC_OK = 0,
    NL_RPC_CANCELLED = 1,
    NL_RPC_INVALID_ARGUMENT = 3,
    NL_RPC_DEADLINE_EXCEEDED = 4,
    NL_RPC_RESOURCE_EXHAUSTED = 8,
    NL_RPC_UNIMPLEMENTED = 12,
    NL_RPC_INTERNAL = 13,
    NL_RPC_UNAVAILABLE = 14,
    NL_RPC_UNAUTHENTICATED = 16
} nl_rpc_code;

typedef struct nl_rpc_status {
    nl_rpc_code code;
    nl_str message;   /* UTF-8 of any length; at most NL_RPC_MESSAGE_CHARACTERS_MAX bytes are sent */
    nl_bytes details; /* google.rpc.Status as bytes; empty: none                                   */
} nl_rpc_status;

typedef struct nl_rpc_method {
    const char *name; /* "ExecutePlan" */
    bool is_client_streaming;
    /* A whole message, decompressed; counted, borrowed. Without client streaming it is called once, when the client has said all. */
    void (*message)(nl_rpc *rpc, nl_buffer *message);
    void (*end)(nl_rpc *rpc); /* client streaming: the client has said all */
} nl_rpc_method;

nl_rpc *nl_rpc_retain(nl_rpc *rpc);
void nl_rpc_release(nl_rpc *rpc); /* NULL is fine */
void *nl_rpc_service(const nl_rpc *rpc); /* the `service` of the server's options */
uint64_t nl_rpc_connection_id(const nl_rpc *rpc); /* of the connection that it came by; never used again */
bool nl_rpc_is_open(nl_rpc *rpc);                 /* its connection has not hung up, and it was not answered */

/* What a call tells whoever feeds it. Both run on the network thread. */
typedef struct nl_rpc_hooks {
    void (*drained)(nl_rpc *rpc, void *state); /* less than NL_RPC_QUEUE_LOW bytes wait to be sent; or NULL */
    void (*closed)(nl_rpc *rpc, void *state);  /* last: answered, abandoned, reset, or past its deadline   */
} nl_rpc_hooks;
/* False when the call is closed already: no hook will run. */
bool nl_rpc_set_hooks(nl_rpc *rpc, const nl_rpc_hooks *hooks, void *state);
void *nl_rpc_state(const nl_rpc *rpc); /* network thread only */

/* Queues a message: a buffer with NL_RPC_PREFIX_BYTES of room before the message (nl_rpc_frame fills them in). The buffer
 * is retained until it is sent and may be sent by several calls. Returns the bytes that wait now. */
size_t nl_rpc_send(nl_rpc *rpc, nl_buffer *framed);
size_t nl_rpc_queued_bytes(nl_rpc *rpc); /* that wait now */
/* Ends the call after what is queued. The first one counts. Copies. */
void nl_rpc_finish(nl_rpc *rpc, const nl_rpc_status *status);

#define NL_RPC_PREFIX_BYTES           5u         /* compressed or not, length in big endian */
#define NL_RPC_QUEUE_LOW              (1u << 20) /* enough for the network while a feeder wakes up */
#define NL_RPC_MESSAGE_BYTES_MAX      (128u << 20) /* Spark Connect's limit each way               */
#define NL_RPC_MESSAGE_CHARACTERS_MAX 2048u
void nl_rpc_frame(nl_buffer *framed); /* writes the prefix of a buffer whose bytes after it are the message */

typedef struct nl_rpc_server_options {
    nl_str host;              /* numeric address or name; empty: 127.0.0.1 */
    uint16_t port;            /* 0: any free one */
    nl_str token;             /* empty: nobody is asked */
    nl_str tls_certificate;   /* paths of PEM files; empty: cleartext */
    nl_str tls_key;
    const char *service_name; /* "spark.connect.SparkConnectService" */
    const nl_rpc_method *methods;
    uint32_t method_count;
    void *service;
    void (*tick)(void *service); /* about once a second, on the network thread */
    void (*hung_up)(void *service, uint64_t connection_id); /* after all its calls were closed; on the network thread; or NULL */
} nl_rpc_server_options;

typedef struct nl_rpc_server nl_rpc_server; /* owned */
/* Listens; nothing is answered before nl_rpc_server_start. Borrowed options live as long as the server. */
NL_MUST_USE nl_status nl_rpc_server_new(const nl_rpc_server_options *options, nl_memory *memory, nl_rpc_server **server);
uint16_t nl_rpc_server_port(const nl_rpc_server *server);
void nl_rpc_server_start(nl_rpc_server *server);
/* No new calls; those that run get a few seconds, then are cancelled. Waits for the network thread. */
void nl_rpc_server_stop(nl_rpc_server *server);
void nl_rpc_server_free(nl_rpc_server *server); /* stopped; NULL is fine */
