/* lakehouse/server_private.h - what the sources of the server share: listeners, connections, and the request being served. */
#pragma once

#include <sys/socket.h>

#include "base/lock.h"
#include "lakehouse/server.h"

#define NL_SERVER_LISTENERS_MAX   16u
#define NL_SERVER_CONNECTIONS_MAX 256u               /* over all listeners; the next one gets a 503 */
#define NL_SERVER_HEAD_BYTES_MAX  (64u << 10)
#define NL_SERVER_HEADERS_MAX     100u
#define NL_SERVER_BODY_BYTES_MAX  (16u << 20)        /* gathered bodies; streamed ones have no limit here */
#define NL_SERVER_DRAIN_BYTES_MAX (256u << 20)       /* of a refused body: so that the client reads the refusal */
#define NL_SERVER_HEAD_MS_MAX     10000
#define NL_SERVER_IDLE_MS_MAX     60000
#define NL_SERVER_STOP_MS_MAX     10000

typedef struct nl_listener {
    int descriptors[2]; /* 127.0.0.1 and ::1, or the one asked for; -1: none */
    uint16_t port;
    nl_service *service; /* owned */
} nl_listener;

/* Binds both loopback addresses, or the one in `listen`; port 0: a free one, the same for both. Fails: NILAS_IO_ERROR
 * that names who holds the port. */
NL_MUST_USE nl_status nl_listener_open(nl_str listen, uint16_t port, nl_listener *listener);
void nl_listener_close(nl_listener *listener);
/* "process 123 (python3 app.py)", or "" when /proc does not tell (another user's process). */
void nl_port_holder(uint16_t port, char *text, size_t room);
/* "127.0.0.1:53412", "[::1]:53412" */
void nl_address_format(const struct sockaddr *address, char text[64]);

/* A Host header, with or without port, is one that this machine is known by: loopback, a name of the options, a name
 * below one of these, or the very address that the connection came in on. A browser lured here by a foreign name that
 * resolves to loopback sends that name. */
bool nl_host_is_known(nl_str host, const nl_server_options *options, int connection);

/* The head of a request beside its headers. */
typedef struct nl_head {
    const char *method; /* as libmicrohttpd gives it: where the head begins in its buffer */
    nl_str version;     /* "HTTP/1.1" */
    nl_str target;      /* as sent */
    nl_str authority;   /* of a whole URL as target; data NULL: none */
    size_t raw_bytes;   /* of the head in the buffer; 0: the library has checked what it hides */
    size_t bytes;       /* target and headers together */
} nl_head;

/* Sets the request's path and query. target: "/path?query", or a whole URL as clients of a proxy send it. */
void nl_head_split(nl_head *head, nl_request *request, nl_str target);
/* Whether the head can be read in one way only; sets request->content_length. 0, or the status of a refusal (*text: static)
 * after which the connection must end, since where the next request begins is not known. */
int32_t nl_head_check(const nl_head *head, nl_request *request, const char **text);
/* Whether the name that was called is this machine's, and the page it was called from too. 0, or the status of a refusal. */
int32_t nl_head_check_origin(const nl_head *head, const nl_request *request, const nl_server_options *options, int connection, const char **text);
