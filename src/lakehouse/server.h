/* lakehouse/server.h - HTTP listeners and what services see of a request.
 *
 * A service is a table of functions; several listen on ports of their own in one process. Each connection has a thread
 * of libmicrohttpd's, so a service may block. Paths and queries arrive as sent (encoded), because signatures are over
 * them. Limits of quality page §8: head 64 KiB, 100 headers, gathered bodies 16 MiB, header read 10 s, idle 60 s, 256
 * connections in all. A Host that is not loopback, a name given with --host, or a bucket below one of these: 421.
 * A request that changes something and comes from a page of another origin: 403 (no CORS).
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"
#include "base/pool.h"

typedef struct nl_server nl_server; /* owned: all listeners */
typedef struct nl_service nl_service;

typedef struct nl_request { /* lives until its reply was sent or the connection broke */
    nl_str id;                  /* goes into the log and the reply (x-amz-request-id) */
    nl_str method;
    nl_str path;                /* as sent: "/iceberg/v1/arn%3Aaws…/namespaces" */
    nl_str query;               /* as sent, without '?' */
    const nl_property *headers; /* as sent */
    uint32_t header_count;
    nl_str client;              /* "127.0.0.1:53412" */
    uint64_t content_length;    /* UINT64_MAX: chunked */
    nl_bytes body;              /* gathered, unless the service streams */
    nl_arena *arena;
    nl_memory *memory;
    nl_cancel *cancel;          /* set when the connection breaks or the server stops */
    void *data;                 /* the service's own, for streaming */
} nl_request;
nl_str nl_request_header(const nl_request *request, const char *name); /* any case; data NULL: absent */
/* One parameter of the query, decoded ('+' is a space): has: it is there, perhaps empty. */
nl_str nl_request_parameter(const nl_request *request, const char *name, bool *has);
/* The path's segments between slashes, each decoded; in the request's arena. NILAS_ILLEGAL_ARGUMENT on broken escapes. */
NL_MUST_USE nl_status nl_request_segments(const nl_request *request, const nl_str **segments, uint32_t *segment_count);

typedef struct nl_reply {
    int32_t status;             /* 0 at first; 200 unless set */
    nl_property *headers;
    uint32_t header_count, header_capacity;
    nl_builder *body;           /* made in the request's arena; its text is freed by the server (nl_builder_fini); or: */
    int file;                   /* a descriptor (taken) whose bytes [file_offset, +file_length) are sent with sendfile; -1 */
    uint64_t file_offset, file_length;
    /* or: called for the next bytes until it gives 0 (end) or fails (the connection is cut). length -1: chunked. */
    nl_status (*stream)(void *argument, uint8_t *into, size_t room, size_t *length);
    void (*stream_free)(void *argument);
    void *stream_argument;
    int64_t stream_length;
    bool is_head;               /* headers only; Content-Length as of the body that is not sent: body, file_length (file may be -1) or stream_length */
} nl_reply;
void nl_reply_header(nl_request *request, nl_reply *reply, const char *name, nl_str value);
void nl_reply_text(nl_request *request, nl_reply *reply, int32_t status, const char *content_type, nl_str text);

typedef struct nl_service_ops {
    const char *name;           /* "s3" */
    uint16_t default_port;
    /* The head is there. *is_streamed: body() gets the bytes as they come, else they are gathered. A reply with a status set
     * answers at once (before 100 Continue). May be NULL. */
    nl_status (*begin)(nl_service *self, nl_request *request, bool *is_streamed, nl_reply *reply);
    nl_status (*body)(nl_service *self, nl_request *request, const uint8_t *bytes, size_t length);
    /* The whole request is there. An error (of body() too, then the rest of the body is read and thrown away) goes to fail(). */
    nl_status (*answer)(nl_service *self, nl_request *request, nl_reply *reply);
    void (*abandon)(nl_service *self, nl_request *request); /* always called last, also after a refusal by begin(): frees request->data; may be NULL */
    void (*fail)(nl_service *self, nl_request *request, nl_error *error, nl_reply *reply); /* the error (borrowed) in the service's own form; statuses from 500 are logged with the error's notes */
    void (*free)(nl_service *self);
} nl_service_ops;
struct nl_service { /* first member of every kind */
    const nl_service_ops *ops;
};

typedef struct nl_server_options {
    nl_str listen;              /* empty: 127.0.0.1 and ::1 */
    const nl_str *hosts;        /* further names that Host may have */
    uint32_t host_count;
} nl_server_options;
NL_MUST_USE nl_status nl_server_new(const nl_server_options *options, nl_memory *memory, nl_server **server);
/* Listens; service: taken (its free() runs in nl_server_free, or at once on failure). Fails: NILAS_IO_ERROR naming the port and, from /proc, who holds it. port 0: any free one. */
NL_MUST_USE nl_status nl_server_add(nl_server *server, nl_service *service, uint16_t port, uint16_t *bound);
void nl_server_stop(nl_server *server); /* no new requests; waits for running ones (10 s), cancels the rest */
void nl_server_free(nl_server *server); /* stops; NULL is fine */
