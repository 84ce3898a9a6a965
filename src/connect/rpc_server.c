/* connect/rpc_server.c - listens and runs the network thread: one epoll loop over all connections. */
#include "connect/rpc_private.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define CONNECTIONS_MAX        2048u
#define EVENTS_MAX             64
#define TICK_MICROS            1000000
#define INCOMING_BYTES_MAX     (1u << 30)    /* requests being received, all together; an eighth of the budget when that is less */
#define GREETING_MICROS_MAX    10000000      /* from the connection to HTTP/2's settings */
#define PING_AFTER_MICROS      60000000      /* without a byte from the client           */
#define PING_MICROS_MAX        20000000      /* then without an answer                   */
#define HEAD_MICROS_MAX        20000000      /* from the first header of a request to its last */
#define SLOW_MICROS            30000000      /* then a request's body must have come ...       */
#define SLOW_BYTES_PER_SECOND  256u          /* ... at least so fast                           */
#define SPARE_MICROS           10000000      /* without a call: gives way to a new connection when there are too many */
#define GRACE_MICROS           2000000       /* for running calls when the server stops  */

int64_t nl_monotonic_micros(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static nl_status cannot_listen(const nl_rpc_server *server, const char *why)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "cannot listen on " NL_STR_FMT ":%u: %s", NL_STR_ARG(server->options.host), server->options.port, why);
}

static bool bind_one(nl_rpc_server *server, const struct addrinfo *address)
{
    const int on = 1;
    const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, 512) != 0) {
        const int reason = errno;
        close(fd);
        errno = reason;
        return false;
    }
    server->listener = fd;
    return true;
}

static nl_status start_listening(nl_rpc_server *server)
{
    char port[8], host[NI_MAXHOST];
    struct addrinfo *found = NULL;
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    snprintf(port, sizeof port, "%u", server->options.port);
    snprintf(host, sizeof host, NL_STR_FMT, NL_STR_ARG(server->options.host));
    const int problem = getaddrinfo(host, port, &hints, &found);
    if (problem != 0) return cannot_listen(server, gai_strerror(problem));
    for (const struct addrinfo *address = found; address && server->listener < 0; address = address->ai_next) (void)bind_one(server, address);
    const int reason = errno;
    freeaddrinfo(found);
    char words[128];
    if (server->listener < 0) return cannot_listen(server, strerror_r(reason, words, sizeof words));
    struct sockaddr_storage bound = {0};
    socklen_t length = sizeof bound;
    if (getsockname(server->listener, (struct sockaddr *)&bound, &length) != 0) return cannot_listen(server, "the port is not known");
    server->port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port : ((struct sockaddr_in *)&bound)->sin_port);
    return NULL;
}

static nl_status watch(nl_rpc_server *server, int fd, void *of)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = of};
    if (epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0) return NULL;
    return cannot_listen(server, "the system refuses to watch a socket");
}

static nl_status start(nl_rpc_server *server)
{
    NL_TRY(start_listening(server));
    if (server->options.tls_certificate.length > 0) NL_TRY(nl_tls_server_new(server->options.tls_certificate, server->options.tls_key, &server->tls));
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (server->epoll < 0 || server->wake < 0) return cannot_listen(server, "the system has no more descriptors");
    NL_TRY(watch(server, server->listener, &server->listener));
    return watch(server, server->wake, &server->wake);
}

nl_status nl_rpc_server_new(const nl_rpc_server_options *options, nl_memory *memory, nl_rpc_server **server)
{
    nl_rpc_server *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    *made = (nl_rpc_server){.options = *options, .listener = -1, .epoll = -1, .wake = -1};
    if (made->options.host.length == 0) made->options.host = NL_STR("127.0.0.1");
    made->memory = nl_memory_retain(memory);
    made->incoming = nl_memory_new(memory, "requests", NL_MIN((size_t)INCOMING_BYTES_MAX, nl_memory_limit(memory) / 8));
    nl_mutex_init(&made->mutex);
    nl_status status = start(made);
    if (status)
        nl_rpc_server_free(made);
    else
        *server = made;
    return status;
}

uint16_t nl_rpc_server_port(const nl_rpc_server *server)
{
    return server->port;
}

/* ---- the loop ----------------------------------------------------------------------------------------------------- */

static void drop_connection(nl_connection *connection)
{
    nl_rpc_server *server = connection->server;
    *(connection->previous ? &connection->previous->next : &server->connections) = connection->next;
    if (connection->next) connection->next->previous = connection->previous;
    server->connection_count--;
    const uint64_t id = connection->id;
    const bool has_called = connection->has_called;
    nl_connection_free(connection);
    if (has_called && server->options.hung_up) server->options.hung_up(server->options.service, id);
}

/* Makes room for one more: the connection without calls that has been silent longest has to go. */
static bool drop_spare(nl_rpc_server *server)
{
    nl_connection *spare = NULL;
    for (nl_connection *connection = server->connections; connection; connection = connection->next)
        if (connection->call_count == 0 && (!spare || connection->last_heard_micros < spare->last_heard_micros)) spare = connection;
    if (!spare || nl_monotonic_micros() - spare->last_heard_micros < SPARE_MICROS) return false;
    drop_connection(spare);
    return true;
}

static void accept_all(nl_rpc_server *server)
{
    for (;;) {
        const int on = 1;
        const int fd = accept4(server->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) return;
        if (server->connection_count >= CONNECTIONS_MAX && !drop_spare(server)) {
            close(fd);
            continue;
        }
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        nl_connection *connection = NULL;
        nl_error *error = nl_connection_new(server, fd, &connection);
        if (!error) error = watch(server, fd, connection);
        if (error) {
            nl_log(NL_LOG_WARN, "a connection was refused: %s", nl_error_message(error));
            nl_error_free(error);
            if (connection) nl_connection_free(connection);
            else close(fd);
            continue;
        }
        connection->next = server->connections;
        if (connection->next) connection->next->previous = connection;
        server->connections = connection;
        server->connection_count++;
        nl_connection_flush(connection);
    }
}

/* Sends what there is to send, then waits for what is needed next, or ends. */
static void settle(nl_connection *connection)
{
    const bool wanted_write = connection->wants_write;
    nl_connection_flush(connection);
    if (connection->is_broken) {
        drop_connection(connection);
        return;
    }
    if (connection->wants_write == wanted_write) return;
    struct epoll_event event = {.events = EPOLLIN | (connection->wants_write ? (uint32_t)EPOLLOUT : 0), .data.ptr = connection};
    (void)epoll_ctl(connection->server->epoll, EPOLL_CTL_MOD, connection->fd, &event);
}

/* Calls that other threads have sent to or finished. */
static void serve_ready(nl_rpc_server *server)
{
    nl_mutex_lock(&server->mutex);
    nl_rpc *list = server->ready;
    server->ready = NULL;
    nl_mutex_unlock(&server->mutex);
    while (list) {
        nl_rpc *rpc = list;
        list = rpc->next_ready;
        nl_mutex_lock(&rpc->mutex);
        rpc->is_ready = false;
        nl_mutex_unlock(&rpc->mutex);
        nl_connection *connection = rpc->connection;
        if (connection) {
            nl_connection_resume(rpc);
            settle(connection);
        }
        nl_rpc_release(rpc);
    }
}

/* A request that dribbles in holds memory and a place. */
static bool is_too_slow(const nl_rpc *rpc, int64_t now)
{
    const int64_t micros = now - rpc->begun_micros;
    return !rpc->is_half_closed && micros > SLOW_MICROS && rpc->received_bytes < (uint64_t)(micros / 1000000) * SLOW_BYTES_PER_SECOND;
}

/* Deadlines are looked at once per tick and never late by more than that; clients watch them exactly themselves. */
static void check_calls(nl_connection *connection, int64_t now)
{
    nl_rpc *next = NULL;
    for (nl_rpc *rpc = connection->calls; rpc; rpc = next) {
        next = rpc->next;
        if (!rpc->has_head) {
            connection->is_broken |= now - rpc->begun_micros > HEAD_MICROS_MAX;
            continue;
        }
        if (!rpc->has_ended && is_too_slow(rpc, now)) nl_rpc_refuse(rpc, NL_RPC_DEADLINE_EXCEEDED, "the request comes too slowly");
        if (rpc->deadline_micros > now || rpc->has_ended) continue;
        rpc->deadline_micros = NL_RPC_NO_DEADLINE;
        nl_rpc_refuse(rpc, NL_RPC_DEADLINE_EXCEEDED, "the deadline of the call has passed");
    }
}

static void check_connections(nl_rpc_server *server, int64_t now)
{
    nl_connection *next = NULL;
    for (nl_connection *connection = server->connections; connection; connection = next) {
        next = connection->next;
        check_calls(connection, now);
        const int64_t silent_micros = now - connection->last_heard_micros;
        if (!connection->has_spoken && silent_micros > GREETING_MICROS_MAX) connection->is_broken = true;
        if (connection->pinged_micros && now - connection->pinged_micros > PING_MICROS_MAX) connection->is_broken = true;
        if (!connection->pinged_micros && silent_micros > PING_AFTER_MICROS) nl_connection_ping(connection);
        settle(connection);
    }
}

/* Says goodbye, and after the time of grace ends what still runs. True when nothing is left to do. */
static bool wind_down(nl_rpc_server *server, int64_t now)
{
    bool is_idle = true;
    if (!server->has_said_goodbye) {
        server->has_said_goodbye = true;
        server->stop_micros = now + GRACE_MICROS;
        (void)epoll_ctl(server->epoll, EPOLL_CTL_DEL, server->listener, NULL);
        close(server->listener);
        server->listener = -1;
        for (nl_connection *connection = server->connections; connection; connection = connection->next) nl_connection_goodbye(connection);
    }
    for (nl_connection *connection = server->connections; connection; connection = connection->next) is_idle &= connection->call_count == 0 && connection->out_length == 0;
    return is_idle || now > server->stop_micros;
}

static void serve_events(nl_rpc_server *server, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    eventfd_t ignored;
    bool is_accepting = false;
    const int count = epoll_wait(server->epoll, events, EVENTS_MAX, timeout_ms);
    for (int i = 0; i < count; i++) {
        if (events[i].data.ptr == &server->listener) {
            is_accepting = true;
        } else if (events[i].data.ptr == &server->wake) {
            (void)eventfd_read(server->wake, &ignored);
        } else {
            /* A connection is dropped only by its own event, here, or after the loop: the others of this round are alive. */
            nl_connection *connection = events[i].data.ptr;
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) nl_connection_read(connection);
            settle(connection);
        }
    }
    serve_ready(server);
    if (is_accepting) accept_all(server);
}

static nl_status run(void *argument, uint32_t worker)
{
    (void)worker;
    enum { TIMEOUT_MS = 100, CHECK_MICROS = TIMEOUT_MS * 1000 };
    nl_rpc_server *server = argument;
    int64_t ticked = nl_monotonic_micros(), checked = ticked;
    for (;;) {
        serve_events(server, TIMEOUT_MS);
        const int64_t now = nl_monotonic_micros();
        if (now - checked >= CHECK_MICROS) check_connections(server, checked = now);
        if (atomic_load(&server->is_stopping) && wind_down(server, now)) return NULL;
        if (now - ticked < TICK_MICROS) continue;
        ticked = now;
        if (server->options.tick) server->options.tick(server->options.service);
    }
}

void nl_rpc_server_start(nl_rpc_server *server)
{
    server->pool = nl_pool_new(1, "connect-net");
    server->group = nl_task_group_new(server->pool, NULL);
    nl_task_group_add(server->group, run, server);
}

void nl_rpc_server_stop(nl_rpc_server *server)
{
    atomic_store(&server->is_stopping, true);
    if (server->wake >= 0) (void)eventfd_write(server->wake, 1);
    if (server->group) nl_error_free(nl_task_group_wait(server->group));
    server->group = NULL;
    while (server->connections) drop_connection(server->connections);
}

void nl_rpc_server_free(nl_rpc_server *server)
{
    if (!server) return;
    NL_ASSERT(!server->connections && !server->group);
    while (server->ready) {
        nl_rpc *rpc = server->ready;
        server->ready = rpc->next_ready;
        nl_rpc_release(rpc);
    }
    nl_pool_free(server->pool);
    nl_tls_server_free(server->tls);
    if (server->listener >= 0) close(server->listener);
    if (server->epoll >= 0) close(server->epoll);
    if (server->wake >= 0) close(server->wake);
    nl_memory_release(server->incoming);
    nl_memory_release(server->memory);
    nl_mutex_fini(&server->mutex);
    free(server);
}
