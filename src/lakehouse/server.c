/* lakehouse/server.c - see server.h.
 *
 * One thread accepts on all listeners and hands each connection to libmicrohttpd, which gives it a thread. The same thread
 * looks once a second at what the connections are doing: one whose head does not come, that idles or that moves no byte is
 * shut down (libmicrohttpd only knows a limit of silence, which a client that sends a byte now and then never meets); when
 * a client goes away while its request is being answered, that request is cancelled.
 *
 * A head that can be read in two ways is refused at once and ends the connection: what follows it has no known length.
 * Any other refusal that is known from the head is sent at once to a client that waits for 100 Continue, else after the body has
 * been read and thrown away: closing on unread bytes would reset the connection and the client would never read why.
 */
#include "lakehouse/server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h> /* libc's own lacks the counters of bytes */
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/log.h"
#include "base/number.h"
#include "base/uuid.h"
#include "lakehouse/server_mhd.h"
#include "lakehouse/server_private.h"

#define POOL_BYTES     (192u << 10) /* of libmicrohttpd per connection: half of it reads, and a head fits in */
#define STACK_BYTES    (2u << 20)   /* touched as far as needed: planning a query recurses */
#define STREAM_BYTES   (128u << 10)
#define LINGERING_MAX  64u

typedef enum phase {
    PHASE_FRESH,     /* nothing read yet */
    PHASE_IDLE,      /* between two requests */
    PHASE_HEAD,      /* the request line is there */
    PHASE_BODY,
    PHASE_ANSWERING, /* in the service's hands */
    PHASE_SENDING,
} phase;

typedef struct connection {
    bool is_used;
    int descriptor;
    phase phase;
    int64_t since_ms;     /* of the phase, or of the last byte that moved */
    uint64_t moved_bytes; /* both ways, when last looked at */
    nl_cancel *cancel;    /* of the running request; borrowed */
    nl_service *service;
    char client[64];
} connection;

struct nl_server {
    nl_server_options options; /* owned copies */
    nl_memory *memory;         /* counted */
    const nl_mhd *mhd;
    struct MHD_Daemon *daemon;
    nl_pool *pool; /* one thread: accept */
    nl_task_group *group;
    nl_cancel *cancel;
    int wake; /* an eventfd */
    nl_mutex mutex;
    nl_listener listeners[NL_SERVER_LISTENERS_MAX];   /* guarded by mutex until stopped */
    uint32_t listener_count;                          /* guarded by mutex */
    connection connections[NL_SERVER_CONNECTIONS_MAX]; /* guarded by mutex; used ones stay where they are */
    uint32_t connection_count;                        /* guarded by mutex */
    bool is_stopping;                                 /* guarded by mutex */
    struct {
        int descriptor;
        int64_t until_ms;
    } lingering[LINGERING_MAX]; /* the accept thread's: refused ones, closed a little later */
    uint32_t lingering_count;
};

typedef struct exchange {
    nl_server *server;
    connection *connection;
    nl_service *service;
    nl_request request;
    nl_reply reply;
    char id[17];
    char *bytes; /* the gathered body; owned, charged */
    size_t length, capacity;
    uint64_t drained_bytes;
    nl_head head;
    int64_t started_ms;
    nl_status failure; /* of a part of the body, answered when the rest was read */
    bool has_begun, is_streamed, is_begin_called, is_refused, is_last, is_queued;
} exchange;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- The reply. */

static bool is_own_header(nl_str name)
{
    return nl_str_is_nocase(name, "Content-Length") || nl_str_is_nocase(name, "Transfer-Encoding") || nl_str_is_nocase(name, "x-amz-request-id");
}

static ssize_t read_stream(void *argument, uint64_t position, char *into, size_t room)
{
    (void)position;
    exchange *self = argument;
    size_t length = 0;
    nl_status status = self->reply.stream(self->reply.stream_argument, (uint8_t *)into, room, &length);
    if (!status) return length ? (ssize_t)length : MHD_CONTENT_READER_END_OF_STREAM;
    nl_log(NL_LOG_ERROR, "%s request %s: the reply is cut: %s", self->service->ops->name, self->id, nl_error_message(status));
    nl_error_free(status);
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t read_nothing(void *argument, uint64_t position, char *into, size_t room)
{
    (void)argument, (void)position, (void)into, (void)room;
    return MHD_CONTENT_READER_END_WITH_ERROR;
}

static struct MHD_Response *make_response(exchange *self)
{
    const nl_mhd *mhd = self->server->mhd;
    nl_reply *reply = &self->reply;
    if (reply->is_head) {
        const uint64_t length = reply->body ? reply->body->length : reply->file_length ? reply->file_length : reply->stream_length > 0 ? (uint64_t)reply->stream_length : 0;
        return mhd->create_response_from_callback(length, 512, read_nothing, NULL, NULL);
    }
    if (reply->stream) return mhd->create_response_from_callback(reply->stream_length < 0 ? MHD_SIZE_UNKNOWN : (uint64_t)reply->stream_length, STREAM_BYTES, read_stream, self, NULL);
    if (reply->file >= 0 && reply->file_length > 0) {
        const int file = reply->file;
        reply->file = -1; /* the response closes it, also when it cannot be made */
        struct MHD_Response *made = mhd->create_response_from_fd_at_offset64(reply->file_length, file, reply->file_offset);
        if (!made) close(file);
        return made;
    }
    const nl_str body = reply->body ? nl_builder_str(reply->body) : (nl_str){0};
    return mhd->create_response_from_buffer(body.length, NL_UNCONST(body.length ? body.data : ""), MHD_RESPMEM_PERSISTENT);
}

static void set_phase(exchange *self, phase next)
{
    nl_mutex_lock(&self->server->mutex);
    self->connection->phase = next;
    self->connection->since_ms = now_ms();
    self->connection->cancel = next == PHASE_ANSWERING || next == PHASE_BODY ? self->request.cancel : NULL;
    nl_mutex_unlock(&self->server->mutex);
}

static enum MHD_Result queue_reply(exchange *self, struct MHD_Connection *handle)
{
    const nl_mhd *mhd = self->server->mhd;
    nl_reply *reply = &self->reply;
    if (reply->body && nl_builder_failed(reply->body)) return MHD_NO;
    struct MHD_Response *response = make_response(self);
    if (!response) return MHD_NO;
    for (uint32_t i = 0; i < reply->header_count; i++)
        if (!is_own_header(reply->headers[i].key)) mhd->add_response_header(response, nl_str_c(self->request.arena, reply->headers[i].key), nl_str_c(self->request.arena, reply->headers[i].value));
    mhd->add_response_header(response, "x-amz-request-id", self->id);
    nl_mutex_lock(&self->server->mutex);
    const bool is_stopping = self->server->is_stopping;
    nl_mutex_unlock(&self->server->mutex);
    if (is_stopping || self->is_last) mhd->add_response_header(response, "Connection", "close");
    if (reply->status == 0) reply->status = 200;
    set_phase(self, PHASE_SENDING);
    const enum MHD_Result result = mhd->queue_response(handle, (unsigned)reply->status, response);
    mhd->destroy_response(response);
    self->is_queued = true;
    return result;
}

static void release_reply(nl_reply *reply)
{
    if (reply->body) nl_builder_fini(reply->body);
    if (reply->file >= 0) close(reply->file);
    if (reply->stream_free) reply->stream_free(reply->stream_argument);
    *reply = (nl_reply){.file = -1, .stream_length = -1};
}

/* Takes the error. */
static void fail(exchange *self, nl_error *error)
{
    release_reply(&self->reply);
    if (self->service->ops->fail) self->service->ops->fail(self->service, &self->request, error, &self->reply);
    else nl_reply_text(&self->request, &self->reply, 500, "text/plain; charset=utf-8", nl_str_from(nl_error_message(error)));
    if (self->reply.status >= 500 && self->reply.status != 501) /* 501 is no failure */
        nl_log(NL_LOG_ERROR, "%s request %s failed: %s\n%s", self->service->ops->name, self->id, nl_error_message(error), nl_error_notes(error));
    nl_error_free(error);
}

static void refuse(exchange *self, int32_t status, const char *text)
{
    release_reply(&self->reply);
    nl_reply_text(&self->request, &self->reply, status, "text/plain; charset=utf-8", nl_str_from(text));
}

/* ---- The head. */

static enum MHD_Result count_header(void *argument, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value, size_t value_size)
{
    (void)kind, (void)key, (void)value;
    exchange *self = argument;
    self->request.header_count++;
    self->head.bytes += key_size + value_size + 4;
    return MHD_YES;
}

static enum MHD_Result keep_header(void *argument, enum MHD_ValueKind kind, const char *key, size_t key_size, const char *value, size_t value_size)
{
    (void)kind;
    exchange *self = argument;
    nl_property *header = NL_UNCONST(&self->request.headers[self->request.header_count++]);
    *header = (nl_property){{key, key_size}, {value ? value : "", value ? value_size : 0}};
    return MHD_YES;
}

static void read_headers(exchange *self, struct MHD_Connection *handle)
{
    const nl_mhd *mhd = self->server->mhd;
    mhd->get_connection_values_n(handle, MHD_HEADER_KIND, count_header, self);
    self->request.headers = NL_NEW_ARRAY(self->request.arena, nl_property, self->request.header_count + 1);
    self->request.header_count = 0;
    mhd->get_connection_values_n(handle, MHD_HEADER_KIND, keep_header, self);
    self->head.raw_bytes = nl_mhd_raw_head_bytes(mhd, handle);
}

static bool waits_for_continue(const exchange *self)
{
    return nl_str_is_nocase(nl_request_header(&self->request, "Expect"), "100-continue");
}

/* What no service gets to see. */
static void refuse_by_head(exchange *self)
{
    const char *text = NULL;
    int32_t status = nl_head_check(&self->head, &self->request, &text);
    self->is_last = status != 0;
    if (status == 0) status = nl_head_check_origin(&self->head, &self->request, &self->server->options, self->connection->descriptor, &text);
    self->is_refused = status != 0;
    if (status) refuse(self, status, text);
}

/* The head is there. Either a reply is queued, or the body is read (and 100 Continue sent to those who wait for it). */
static enum MHD_Result begin(exchange *self, struct MHD_Connection *handle, const char *method, const char *version)
{
    nl_request *request = &self->request;
    self->has_begun = true;
    request->method = nl_str_from(method);
    self->head.method = method;
    self->head.version = nl_str_from(version);
    read_headers(self, handle);
    refuse_by_head(self);
    if (self->is_last) return queue_reply(self, handle);
    if (!self->is_refused && self->service->ops->begin) {
        self->is_begin_called = true;
        nl_status status = self->service->ops->begin(self->service, request, &self->is_streamed, &self->reply);
        if (status) fail(self, status);
        self->is_refused = status || self->reply.status != 0;
    }
    self->is_begin_called |= !self->is_refused;
    if (!self->is_refused && !self->is_streamed && request->content_length != UINT64_MAX && request->content_length > NL_SERVER_BODY_BYTES_MAX) {
        refuse(self, 413, "The body is larger than 16 MiB.\n");
        self->is_refused = true;
    }
    set_phase(self, PHASE_BODY);
    const bool is_drained = request->content_length == UINT64_MAX || request->content_length <= NL_SERVER_DRAIN_BYTES_MAX;
    if (self->is_refused && (request->content_length == 0 || waits_for_continue(self) || !is_drained)) return queue_reply(self, handle);
    return MHD_YES;
}

/* ---- The body. */

static nl_status gather(exchange *self, const char *bytes, size_t length)
{
    if (length > NL_SERVER_BODY_BYTES_MAX - self->length) {
        refuse(self, 413, "The body is larger than 16 MiB.\n");
        self->is_refused = true;
        return NULL;
    }
    if (self->length + length > self->capacity) {
        size_t capacity = NL_MAX(self->capacity * 2, self->length + length);
        if (self->capacity == 0 && self->request.content_length <= NL_SERVER_BODY_BYTES_MAX) capacity = NL_MAX(capacity, (size_t)self->request.content_length);
        if (!nl_memory_try_charge(self->server->memory, capacity - self->capacity))
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P("receivedBytes", "0"));
        char *grown = realloc(self->bytes, capacity);
        if (!grown) {
            nl_memory_discharge(self->server->memory, capacity - self->capacity);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)capacity), NL_P("receivedBytes", "0"));
        }
        self->bytes = grown;
        self->capacity = capacity;
    }
    memcpy(self->bytes + self->length, bytes, length);
    self->length += length;
    return NULL;
}

static enum MHD_Result take_body(exchange *self, const char *bytes, size_t *length)
{
    if (self->is_refused || self->failure) {
        self->drained_bytes += *length;
        if (self->drained_bytes > NL_SERVER_DRAIN_BYTES_MAX) return MHD_NO;
    } else if (self->is_streamed) {
        self->failure = self->service->ops->body(self->service, &self->request, (const uint8_t *)bytes, *length);
    } else {
        self->failure = gather(self, bytes, *length);
    }
    *length = 0;
    return MHD_YES;
}

static enum MHD_Result answer(exchange *self, struct MHD_Connection *handle)
{
    if (!self->is_refused) {
        set_phase(self, PHASE_ANSWERING);
        self->request.body = (nl_bytes){(const uint8_t *)self->bytes, self->length};
        nl_status status = self->failure ? self->failure : self->service->ops->answer(self->service, &self->request, &self->reply);
        self->failure = NULL;
        if (!status) status = nl_arena_check(self->request.arena);
        if (status) fail(self, status);
    }
    return queue_reply(self, handle);
}

static enum MHD_Result handle_request(void *argument, struct MHD_Connection *handle, const char *url, const char *method, const char *version, const char *upload, size_t *upload_length,
                                      void **context)
{
    (void)argument, (void)url;
    exchange *self = *context;
    if (!self) return MHD_NO;
    if (!self->has_begun) return begin(self, handle, method, version);
    if (*upload_length > 0) return take_body(self, upload, upload_length);
    return self->is_queued ? MHD_YES : answer(self, handle);
}

/* ---- Beginning and end of a request. */

/* libmicrohttpd makes a list of the query's parameters, which nobody here asks for; when it does not fit into the connection's pool the
 * connection is closed without a word. The target lies in that pool, and the library is about to write NULs into it: with
 * other bytes in the place of these it sees one parameter. */
static void join_parameters(char *target)
{
    char *query = strchr(target, '?');
    for (char *at = query ? strchr(query, '&') : NULL; at; at = strchr(at, '&')) *at = '_';
}

/* The request line was read: `target` is as the client sent it. What is returned comes back as the context. */
static void *start_exchange(void *argument, const char *target, struct MHD_Connection *handle)
{
    nl_server *server = argument;
    const union MHD_ConnectionInfo *info = server->mhd->get_connection_info(handle, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    connection *peer = info ? info->socket_context : NULL;
    exchange *self = peer ? calloc(1, sizeof(*self)) : NULL;
    if (!self) return NULL;
    uint8_t random[8];
    nl_random_bytes(random, sizeof(random));
    nl_format_hex(random, sizeof(random), true, self->id);
    self->server = server;
    self->connection = peer;
    self->service = peer->service;
    self->started_ms = now_ms();
    self->reply = (nl_reply){.file = -1, .stream_length = -1};
    nl_arena *arena = nl_arena_new(server->memory);
    self->request = (nl_request){.id = nl_str_from(self->id), .client = nl_str_from(peer->client), .arena = arena, .memory = server->memory, .cancel = nl_cancel_new(server->cancel)};
    nl_head_split(&self->head, &self->request, nl_arena_str(arena, nl_str_from(target)));
    join_parameters(NL_UNCONST(target));
    set_phase(self, PHASE_HEAD);
    return self;
}

/* One line per request. Presigned links are secrets: their queries are not shown. */
static void log_exchange(exchange *self, enum MHD_RequestTerminationCode code)
{
    const nl_request *request = &self->request;
    const bool is_signed = nl_str_find(request->query, NL_STR("X-Amz-"), 0) != NL_NOT_FOUND;
    char target[300];
    int length = snprintf(target, sizeof(target), "%.*s%s%.*s", (int)NL_MIN(request->path.length, 200), request->path.data, request->query.length ? "?" : "",
                          is_signed ? 1 : (int)NL_MIN(request->query.length, 90), is_signed ? "*" : request->query.data);
    for (int i = 0; i < length; i++)
        if ((unsigned char)target[i] < 0x20 || target[i] == 0x7f) target[i] = '?';
    nl_log(NL_LOG_INFO, "%-8s " NL_STR_FMT " %s %d%s %lld ms " NL_STR_FMT " %s", self->service->ops->name, NL_STR_ARG(request->method), target, self->reply.status,
           code == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "" : " (cut)", (long long)(now_ms() - self->started_ms), NL_STR_ARG(request->client), self->id);
}

static void end_exchange(void *argument, struct MHD_Connection *handle, void **context, enum MHD_RequestTerminationCode code)
{
    (void)argument, (void)handle;
    exchange *self = *context;
    if (!self) return;
    *context = NULL;
    log_exchange(self, code);
    set_phase(self, PHASE_IDLE);
    release_reply(&self->reply);
    if (self->is_begin_called && self->service->ops->abandon) self->service->ops->abandon(self->service, &self->request);
    nl_error_free(self->failure);
    free(self->bytes);
    nl_memory_discharge(self->server->memory, self->capacity);
    nl_cancel_release(self->request.cancel);
    nl_arena_free(self->request.arena);
    free(self);
}

/* ---- Connections. */

/* libmicrohttpd's beginning and end of a connection: finds and frees what accept_one has put down. */
static void notice_connection(void *argument, struct MHD_Connection *handle, void **context, enum MHD_ConnectionNotificationCode code)
{
    nl_server *server = argument;
    const union MHD_ConnectionInfo *info = server->mhd->get_connection_info(handle, MHD_CONNECTION_INFO_CONNECTION_FD);
    nl_mutex_lock(&server->mutex);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        for (uint32_t i = 0; info && i < NL_SERVER_CONNECTIONS_MAX && !*context; i++)
            if (server->connections[i].is_used && server->connections[i].descriptor == info->connect_fd) *context = &server->connections[i];
    } else if (*context) {
        ((connection *)*context)->is_used = false;
        server->connection_count--;
        *context = NULL;
    }
    nl_mutex_unlock(&server->mutex);
}

static connection *new_connection(nl_server *server, int descriptor, const struct sockaddr *address, nl_service *service)
{
    connection *made = NULL;
    nl_mutex_lock(&server->mutex);
    for (uint32_t i = 0; i < NL_SERVER_CONNECTIONS_MAX && !made; i++)
        if (!server->connections[i].is_used) made = &server->connections[i];
    if (made) {
        *made = (connection){.is_used = true, .descriptor = descriptor, .phase = PHASE_FRESH, .since_ms = now_ms(), .service = service};
        nl_address_format(address, made->client);
        server->connection_count++;
    }
    nl_mutex_unlock(&server->mutex);
    return made;
}

/* The refusal is sent, and the connection closed a little later: at once, what the client has sent meanwhile would make
 * the system reset it before the refusal is read. */
static void refuse_connection(nl_server *server, int descriptor)
{
    static const char refusal[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 66\r\nRetry-After: 1\r\nConnection: close\r\n"
                                  "x-amz-request-id: 0000000000000000\r\n\r\nnilas has 256 connections open, which is its limit. Try once more.";
    const ssize_t sent = send(descriptor, refusal, sizeof(refusal) - 1, MSG_NOSIGNAL);
    if (sent < 0 || shutdown(descriptor, SHUT_WR) != 0 || server->lingering_count == LINGERING_MAX) {
        close(descriptor);
        return;
    }
    server->lingering[server->lingering_count].descriptor = descriptor;
    server->lingering[server->lingering_count++].until_ms = now_ms() + 1000;
}

static void accept_one(nl_server *server, int listener, nl_service *service)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    const int descriptor = accept4(listener, (struct sockaddr *)&address, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (descriptor < 0) {
        /* Without descriptors the connection stays in the queue: trying at once would only burn time. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) poll(NULL, 0, 100);
        return;
    }
    connection *made = new_connection(server, descriptor, (struct sockaddr *)&address, service);
    if (!made) {
        nl_log(NL_LOG_WARN, "A connection is refused: %u are open, which is the limit", NL_SERVER_CONNECTIONS_MAX);
        refuse_connection(server, descriptor);
        return;
    }
    if (server->mhd->add_connection(server->daemon, descriptor, (struct sockaddr *)&address, length) == MHD_YES) return;
    nl_mutex_lock(&server->mutex);
    if (made->is_used) server->connection_count--;
    made->is_used = false;
    nl_mutex_unlock(&server->mutex);
}

static uint64_t moved_bytes(int descriptor)
{
    struct tcp_info info = {0};
    socklen_t length = sizeof(info);
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return 0;
    return info.tcpi_bytes_received + info.tcpi_bytes_acked;
}

/* The mutex is held: the descriptor stays open as long as the connection is used. */
static void look_at(connection *peer, int64_t now)
{
    if (peer->phase == PHASE_ANSWERING) {
        struct pollfd state = {.fd = peer->descriptor, .events = POLLRDHUP};
        if (peer->cancel && poll(&state, 1, 0) > 0) nl_cancel_set(peer->cancel);
        return;
    }
    if (peer->phase == PHASE_BODY || peer->phase == PHASE_SENDING) {
        const uint64_t moved = moved_bytes(peer->descriptor);
        if (moved != peer->moved_bytes) peer->since_ms = now;
        peer->moved_bytes = moved;
    }
    const int64_t limit_ms = peer->phase == PHASE_FRESH || peer->phase == PHASE_HEAD ? NL_SERVER_HEAD_MS_MAX : NL_SERVER_IDLE_MS_MAX;
    if (now - peer->since_ms > limit_ms) shutdown(peer->descriptor, SHUT_RDWR);
}

static void look_at_connections(nl_server *server)
{
    const int64_t now = now_ms();
    nl_mutex_lock(&server->mutex);
    for (uint32_t i = 0; i < NL_SERVER_CONNECTIONS_MAX; i++)
        if (server->connections[i].is_used) look_at(&server->connections[i], now);
    nl_mutex_unlock(&server->mutex);
    for (uint32_t i = 0; i < server->lingering_count;) {
        if (now < server->lingering[i].until_ms) {
            i++;
            continue;
        }
        close(server->lingering[i].descriptor);
        server->lingering[i] = server->lingering[--server->lingering_count];
    }
}

/* What to wait for; descriptors beside the first belong to listeners. */
static uint32_t poll_set(nl_server *server, struct pollfd *set, nl_service **services, bool *has_connections)
{
    uint32_t count = 0;
    set[count++] = (struct pollfd){.fd = server->wake, .events = POLLIN};
    nl_mutex_lock(&server->mutex);
    for (uint32_t i = 0; i < server->listener_count; i++) {
        for (uint32_t k = 0; k < 2; k++) {
            if (server->listeners[i].descriptors[k] < 0) continue;
            services[count] = server->listeners[i].service;
            set[count++] = (struct pollfd){.fd = server->listeners[i].descriptors[k], .events = POLLIN};
        }
    }
    *has_connections = server->connection_count > 0 || server->lingering_count > 0;
    if (server->is_stopping) count = 0;
    nl_mutex_unlock(&server->mutex);
    return count;
}

static nl_status accept_loop(void *argument, uint32_t worker)
{
    (void)worker;
    nl_server *server = argument;
    struct pollfd set[1 + 2 * NL_SERVER_LISTENERS_MAX];
    nl_service *services[1 + 2 * NL_SERVER_LISTENERS_MAX];
    bool has_connections = false;
    int64_t looked_ms = now_ms();
    for (uint32_t count; (count = poll_set(server, set, services, &has_connections)) > 0;) {
        if (poll(set, count, has_connections ? 1000 : -1) < 0 && errno != EINTR) return NULL;
        uint64_t wakes;
        if ((set[0].revents & POLLIN) && read(server->wake, &wakes, sizeof(wakes)) < 0) continue;
        for (uint32_t i = 1; i < count; i++)
            if (set[i].revents & POLLIN) accept_one(server, set[i].fd, services[i]);
        if (now_ms() - looked_ms < 1000) continue;
        looked_ms = now_ms();
        look_at_connections(server);
    }
    for (uint32_t i = 0; i < server->lingering_count; i++) close(server->lingering[i].descriptor);
    return NULL;
}

/* ---- The server. */

/* Paths and queries stay as they were sent. */
static size_t keep_escapes(void *argument, struct MHD_Connection *handle, char *text)
{
    (void)argument, (void)handle;
    return strlen(text);
}

static void log_library(void *argument, const char *format, va_list arguments)
{
    (void)argument;
    char text[512];
    vsnprintf(text, sizeof(text), format, arguments);
    nl_log(NL_LOG_DEBUG, "libmicrohttpd: %s", text);
}

static nl_status start_daemon(nl_server *server)
{
    server->daemon = server->mhd->start_daemon(
        MHD_USE_POLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_ITC | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle_request, server,
        MHD_OPTION_EXTERNAL_LOGGER, log_library, NULL, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK, start_exchange, server,
        MHD_OPTION_NOTIFY_COMPLETED, end_exchange, server, MHD_OPTION_NOTIFY_CONNECTION, notice_connection, server, MHD_OPTION_CONNECTION_LIMIT, 2 * NL_SERVER_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_TIMEOUT, 0u, MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK_BYTES,
        MHD_OPTION_STRICT_FOR_CLIENT, 0, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    if (!server->daemon) return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Starting the HTTP server"), NL_P("path", "libmicrohttpd"), NL_P("problem", "it gives no reason"));
    return NULL;
}

static nl_str own_copy(nl_str text)
{
    return text.length ? nl_str_from(strndup(text.data, text.length)) : (nl_str){0};
}

nl_status nl_server_new(const nl_server_options *options, nl_memory *memory, nl_server **server)
{
    nl_server *made = calloc(1, sizeof(*made));
    nl_str *hosts = calloc(options->host_count + 1, sizeof(*hosts));
    if (!made || !hosts) {
        free(made);
        free(hosts);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->options = (nl_server_options){.listen = own_copy(options->listen), .hosts = hosts, .host_count = options->host_count};
    for (uint32_t i = 0; i < options->host_count; i++) hosts[i] = own_copy(options->hosts[i]);
    made->memory = nl_memory_retain(memory);
    made->cancel = nl_cancel_new(NULL);
    nl_mutex_init(&made->mutex);
    made->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    nl_status status = nl_mhd_open(&made->mhd);
    if (!status) status = start_daemon(made);
    if (status) {
        nl_server_free(made);
        return status;
    }
    made->pool = nl_pool_new(1, "nilas-accept");
    made->group = nl_task_group_new(made->pool, NULL);
    nl_task_group_add(made->group, accept_loop, made);
    *server = made;
    return NULL;
}

static void wake(nl_server *server)
{
    const uint64_t one = 1;
    if (write(server->wake, &one, sizeof(one)) < 0) nl_log(NL_LOG_DEBUG, "the accept thread is awake already");
}

nl_status nl_server_add(nl_server *server, nl_service *service, uint16_t port, uint16_t *bound)
{
    nl_listener made = {.service = service};
    nl_status status = server->listener_count < NL_SERVER_LISTENERS_MAX ? nl_listener_open(server->options.listen, port, &made)
                                                                         : NL_RAISE(INTERNAL_ERROR, NL_P("message", "too many listeners"));
    if (status) {
        status = nl_note_if(status, NL_HERE, "starting the service %s", service->ops->name);
        if (service->ops->free) service->ops->free(service);
        return status;
    }
    nl_mutex_lock(&server->mutex);
    server->listeners[server->listener_count++] = made;
    nl_mutex_unlock(&server->mutex);
    wake(server);
    if (bound) *bound = made.port;
    return NULL;
}

/* Shuts the connections down that serve no request (all of them when asked); how many do serve one. */
static uint32_t shut_down_idle(nl_server *server, bool all)
{
    uint32_t busy_count = 0;
    nl_mutex_lock(&server->mutex);
    for (uint32_t i = 0; i < NL_SERVER_CONNECTIONS_MAX; i++) {
        connection *peer = &server->connections[i];
        if (!peer->is_used) continue;
        const bool is_busy = peer->phase == PHASE_BODY || peer->phase == PHASE_ANSWERING || peer->phase == PHASE_SENDING;
        busy_count += is_busy;
        if (all || !is_busy) shutdown(peer->descriptor, SHUT_RDWR);
    }
    nl_mutex_unlock(&server->mutex);
    return busy_count;
}

void nl_server_stop(nl_server *server)
{
    nl_mutex_lock(&server->mutex);
    const bool was_stopping = server->is_stopping;
    server->is_stopping = true;
    nl_mutex_unlock(&server->mutex);
    if (was_stopping) return;
    wake(server);
    if (server->group) nl_error_free(nl_task_group_wait(server->group));
    for (uint32_t i = 0; i < server->listener_count; i++) nl_listener_close(&server->listeners[i]);
    for (const int64_t until = now_ms() + NL_SERVER_STOP_MS_MAX; shut_down_idle(server, false) > 0 && now_ms() < until;) poll(NULL, 0, 5);
    nl_cancel_set(server->cancel);
    shut_down_idle(server, true);
    if (server->daemon) server->mhd->stop_daemon(server->daemon); /* waits for the connections' threads */
}

void nl_server_free(nl_server *server)
{
    if (!server) return;
    nl_server_stop(server);
    nl_pool_free(server->pool);
    for (uint32_t i = 0; i < server->listener_count; i++)
        if (server->listeners[i].service->ops->free) server->listeners[i].service->ops->free(server->listeners[i].service);
    for (uint32_t i = 0; i < server->options.host_count; i++) free(NL_UNCONST(server->options.hosts[i].data));
    free(NL_UNCONST(server->options.hosts));
    free(NL_UNCONST(server->options.listen.data));
    if (server->wake >= 0) close(server->wake);
    nl_cancel_release(server->cancel);
    nl_memory_release(server->memory);
    nl_mutex_fini(&server->mutex);
    free(server);
}
