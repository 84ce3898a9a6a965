/* connect/rpc_private.h - what the files of the transport share: calls, connections, the server.
 *
 * Locks: a call's mutex guards its queue and its end; the server's mutex guards the list of calls that have something to
 * send. They are taken in this order. Everything else belongs to the network thread.
 */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "base/pool.h"
#include "connect/rpc.h"
#include "connect/tls.h"

struct nghttp2_session;

#define NL_RPC_NO_DEADLINE INT64_MAX

typedef struct nl_rpc_queued {
    struct nl_rpc_queued *next;
    nl_buffer *framed; /* counted */
} nl_rpc_queued;

typedef struct nl_connection nl_connection;

struct nl_rpc {
    atomic_uint references;
    nl_rpc_server *server; /* borrowed: outlives its calls */
    uint64_t connection_id;
    nl_mutex mutex;
    /* guarded by mutex */
    nl_rpc_queued *first, *last;
    size_t queued_bytes;
    bool is_finished; /* code, message, details count */
    bool is_closed;
    bool is_ready;    /* in the server's ready list */
    nl_rpc_code code;
    nl_str message;   /* owned */
    nl_bytes details; /* owned */
    const nl_rpc_hooks *hooks;
    void *state;
    /* guarded by the server's mutex */
    nl_rpc *next_ready;
    /* network thread */
    nl_connection *connection; /* NULL once closed */
    nl_rpc *previous, *next;   /* calls of the connection */
    int32_t stream_id;
    const nl_rpc_method *method; /* NULL: unknown */
    int64_t deadline_micros;     /* monotonic */
    size_t sent_of_first;        /* bytes of the head of the queue that are gone */
    bool has_answered;           /* response headers are submitted */
    bool has_ended;              /* trailers are submitted */
    bool is_post, is_grpc, is_gzip, is_authorized, has_unknown_encoding;
    bool was_drained;
    bool is_half_closed;
    bool has_head;              /* all header frames have come */
    int64_t begun_micros;       /* monotonic */
    uint64_t received_bytes;    /* of the body */
    uint8_t prefix[NL_RPC_PREFIX_BYTES];
    uint32_t prefix_length;
    uint32_t incoming_length; /* of the message being received */
    nl_buffer *incoming;      /* counted; its first incoming_filled bytes */
    uint32_t incoming_filled;
    nl_buffer *only_message;  /* counted: unary */
    bool has_message;
};

struct nl_connection {
    nl_rpc_server *server;
    nl_connection *previous, *next;
    int fd;
    nl_tls_connection *tls; /* owned, or NULL */
    struct nghttp2_session *http2;
    uint64_t id;
    bool has_called; /* there was a call */
    nl_rpc *calls;
    uint32_t call_count;
    uint8_t *out; /* bytes not yet taken by the socket */
    size_t out_length, out_sent, out_capacity;
    bool wants_write, is_broken, has_spoken;
    int64_t last_heard_micros, pinged_micros; /* monotonic; pinged 0: no answer is awaited */
};

struct nl_rpc_server {
    nl_rpc_server_options options;
    nl_memory *memory;   /* counted */
    nl_memory *incoming; /* counted: messages being received, of all calls together */
    nl_tls_server *tls;  /* owned, or NULL */
    int listener, epoll, wake;
    uint16_t port;
    nl_pool *pool; /* one thread: the network's */
    nl_task_group *group;
    atomic_bool is_stopping;
    nl_mutex mutex;
    nl_rpc *ready; /* guarded by mutex; counted */
    nl_connection *connections;
    uint32_t connection_count;
    uint64_t last_connection_id;
    int64_t stop_micros;
    bool has_said_goodbye;
};

int64_t nl_monotonic_micros(void);

/* rpc.c */
nl_rpc *nl_rpc_new(nl_connection *connection, int32_t stream_id);
void nl_rpc_refuse(nl_rpc *rpc, nl_rpc_code code, const char *message);
/* Bytes of the request's body. */
void nl_rpc_receive(nl_rpc *rpc, const uint8_t *data, size_t length);
void nl_rpc_half_close(nl_rpc *rpc);
void nl_rpc_close(nl_rpc *rpc); /* out of its connection; hooks; releases the connection's reference */
/* "10S", "250m": microseconds; -1 when it is no timeout. */
int64_t nl_rpc_parse_timeout(nl_str text);
bool nl_rpc_is_authorized(const nl_rpc_server *server, nl_str authorization);

/* rpc_http2.c */
NL_MUST_USE nl_status nl_connection_new(nl_rpc_server *server, int fd, nl_connection **connection);
void nl_connection_free(nl_connection *connection);
void nl_connection_read(nl_connection *connection);  /* what the socket has; sets is_broken at its end */
void nl_connection_flush(nl_connection *connection); /* what HTTP/2 wants to send, as far as the socket takes it */
void nl_connection_resume(nl_rpc *rpc);              /* the call has something to send */
void nl_connection_ping(nl_connection *connection);
void nl_connection_goodbye(nl_connection *connection);
void nl_connection_cancel(nl_rpc *rpc);
