/* catalog/hive/client.c - see client.h. */
#include "catalog/hive/client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/lock.h"

#define BUFFER_BYTES      16384u
#define REQUEST_BYTES_MAX (64u << 20)
#define CONNECT_MS_MAX    20000 /* an address that does not answer at all must not hold up the next one for ten minutes */
#define APPLICATION_UNKNOWN_METHOD 1

typedef struct connection {
    nl_wire_source source;
    const nl_hive_options *options;
    int socket;
    int64_t deadline_ms;
    uint32_t frame_left; /* of a framed transport */
    size_t begin, end;   /* what was received and not read yet */
    int32_t sequence;
    bool sent;           /* something of the present request is on its way */
    struct connection *next;
    uint8_t buffer[BUFFER_BYTES];
} connection;

struct nl_hive_client {
    const nl_hive_options *options;
    nl_memory *memory;         /* counted */
    nl_mutex mutex;            /* guards the following */
    connection *idle;          /* newest first */
    uint32_t idle_count;
    uint32_t first_address;    /* that answered last */
};

int64_t nl_hive_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nl_hive_sleep_ms(int64_t wait_ms)
{
    struct timespec wait = {.tv_sec = (time_t)(wait_ms / 1000), .tv_nsec = (long)(wait_ms % 1000) * 1000000};
    while (nanosleep(&wait, &wait) != 0 && errno == EINTR) continue;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static nl_status unavailable(const connection *self, const char *what, const char *why)
{
    return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "The Hive metastore " NL_STR_FMT " %s: %s", NL_STR_ARG(self->options->uri), what, why);
}

/* Until the socket is ready or the time is up. */
static nl_status await(const connection *self, short events)
{
    for (;;) {
        struct pollfd wanted = {.fd = self->socket, .events = events};
        const int64_t left = self->deadline_ms - nl_hive_now_ms();
        const int ready = left > 0 ? poll(&wanted, 1, (int)NL_MIN(left, INT32_MAX)) : 0;
        if (ready > 0) return NULL;
        if (ready == 0) return unavailable(self, "does not answer", "the time is up (hive.metastore.client.socket.timeout)");
        if (errno != EINTR) return unavailable(self, "cannot be waited for", strerrordesc_np(errno));
    }
}

static nl_status send_all(connection *self, nl_str bytes)
{
    while (bytes.length > 0) {
        const ssize_t sent = send(self->socket, bytes.data, bytes.length, MSG_NOSIGNAL);
        if (sent > 0) {
            self->sent = true;
            bytes = nl_str_slice(bytes, (size_t)sent, bytes.length);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            NL_TRY(await(self, POLLOUT));
        } else if (errno != EINTR) {
            return unavailable(self, "did not take a request", strerrordesc_np(errno));
        }
    }
    return NULL;
}

/* At least one byte into the buffer, which is empty. */
static nl_status receive(connection *self)
{
    for (;;) {
        const ssize_t got = recv(self->socket, self->buffer, sizeof(self->buffer), 0);
        if (got > 0) {
            self->begin = 0;
            self->end = (size_t)got;
            return NULL;
        }
        if (got == 0) return unavailable(self, "did not answer", "it closed the connection");
        if (errno == EAGAIN || errno == EWOULDBLOCK) NL_TRY(await(self, POLLIN));
        else if (errno != EINTR) return unavailable(self, "did not answer", strerrordesc_np(errno));
    }
}

static nl_status read_plain(connection *self, uint8_t *into, size_t length)
{
    while (length > 0) {
        if (self->begin == self->end) NL_TRY(receive(self));
        const size_t part = NL_MIN(length, self->end - self->begin);
        memcpy(into, self->buffer + self->begin, part);
        self->begin += part;
        into += part;
        length -= part;
    }
    return NULL;
}

static nl_status connection_read(nl_wire_source *source, uint8_t *into, size_t length)
{
    connection *self = NL_CONTAINER(source, connection, source);
    if (!self->options->is_framed) return read_plain(self, into, length);
    while (length > 0) {
        if (self->frame_left == 0) {
            uint8_t head[4];
            NL_TRY(read_plain(self, head, sizeof(head)));
            self->frame_left = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 | (uint32_t)head[2] << 8 | head[3];
            if (self->frame_left == 0 || self->frame_left > self->options->answer_bytes_max) return unavailable(self, "answered", "a frame of an impossible length");
        }
        const size_t part = NL_MIN(length, self->frame_left);
        NL_TRY(read_plain(self, into, part));
        self->frame_left -= (uint32_t)part;
        into += part;
        length -= part;
    }
    return NULL;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static void connection_close(connection *self)
{
    if (!self) return;
    if (self->socket >= 0) close(self->socket);
    free(self);
}

/* Connected, or the reason. */
static const char *connect_to(connection *self, const struct addrinfo *address)
{
    const int one = 1;
    int problem = 0;
    socklen_t problem_size = sizeof(problem);
    self->socket = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (self->socket < 0) return strerrordesc_np(errno);
    if (connect(self->socket, address->ai_addr, address->ai_addrlen) != 0) {
        if (errno != EINPROGRESS) return strerrordesc_np(errno);
        nl_error *error = await(self, POLLOUT);
        nl_error_free(error);
        if (error) return strerrordesc_np(ETIMEDOUT);
        if (getsockopt(self->socket, SOL_SOCKET, SO_ERROR, &problem, &problem_size) != 0) return strerrordesc_np(errno);
        if (problem != 0) return strerrordesc_np(problem);
    }
    setsockopt(self->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(self->socket, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    return NULL;
}

static const char *connect_any(connection *self, const nl_hive_address *address)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    struct addrinfo *found = NULL;
    nl_arena *arena = nl_arena_new(NULL);
    const int code = getaddrinfo(nl_str_c(arena, address->host), nl_str_c(arena, address->port), &hints, &found);
    const char *problem = code ? gai_strerror(code) : "the name has no address";
    for (const struct addrinfo *one = found; !code && one && problem; one = one->ai_next) {
        if (self->socket >= 0) close(self->socket);
        self->deadline_ms = nl_hive_now_ms() + NL_MIN(self->options->timeout_ms, CONNECT_MS_MAX);
        problem = connect_to(self, one);
    }
    if (found) freeaddrinfo(found);
    nl_arena_free(arena);
    return problem;
}

static nl_status connection_open(const nl_hive_client *client, uint32_t address, connection **opened)
{
    const nl_hive_address *where = &client->options->addresses[address];
    connection *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*self)), NL_P("receivedBytes", "0"));
    self->socket = -1;
    self->options = client->options;
    self->source.read = connection_read;
    const char *problem = connect_any(self, where);
    if (problem) {
        connection_close(self);
        return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "Failed to connect to Hive Metastore thrift://" NL_STR_FMT ":" NL_STR_FMT ": %s", NL_STR_ARG(where->host), NL_STR_ARG(where->port),
                             problem);
    }
    *opened = self;
    return NULL;
}

/* ---- a call ------------------------------------------------------------------------------------------------------ */

static nl_status send_request(connection *self, const nl_hive_method *method, const nl_wire_value *arguments)
{
    nl_builder out;
    nl_builder_init(&out, REQUEST_BYTES_MAX);
    if (self->options->is_framed) nl_append_fill(&out, '\0', 4);
    nl_wire_append_message(&out, NL_WIRE_CALL, nl_str_from(method->name), ++self->sequence, arguments);
    const nl_str bytes = nl_builder_str(&out);
    if (self->options->is_framed && !nl_builder_failed(&out))
        for (unsigned i = 0; i < 4; i++) out.data[i] = (char)((bytes.length - 4) >> (8 * (3 - i)));
    nl_status status = nl_builder_failed(&out) ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "A request to the Hive metastore (%s) is longer than 64 MiB", method->name) : send_all(self, bytes);
    nl_builder_fini(&out);
    return status;
}

static void note_exception(const nl_hive_method *method, const nl_wire_message *message, nl_hive_answer *answer)
{
    const nl_wire_value *body = &message->body;
    if (message->kind == NL_WIRE_EXCEPTION) { /* TApplicationException: 1 message, 2 type */
        answer->exception = nl_wire_number(body, 2, 0) == APPLICATION_UNKNOWN_METHOD ? "UnknownMethod" : "TApplicationException";
        answer->message = nl_wire_text(body, 1);
        return;
    }
    for (uint32_t i = 0; i < body->count; i++) {
        const nl_wire_value *field = &body->items[i];
        if (field->field_id == 0) answer->result = field;
        else if (field->field_id > 0 && field->field_id <= (int16_t)NL_COUNT(method->exceptions)) {
            const char *name = method->exceptions[field->field_id - 1];
            answer->exception = name ? name : "an exception that has no name here";
            answer->message = nl_wire_text(field, 1);
        }
    }
}

static nl_status call_on(connection *self, const nl_hive_method *method, const nl_wire_value *arguments, nl_arena *arena, nl_hive_answer *answer)
{
    nl_wire_message message;
    *answer = (nl_hive_answer){0};
    self->sent = false;
    self->deadline_ms = nl_hive_now_ms() + self->options->timeout_ms;
    self->source.bytes_left = self->options->answer_bytes_max;
    NL_TRY(send_request(self, method, arguments));
    NL_TRY(nl_wire_read_message(&self->source, arena, &message));
    if (message.sequence != self->sequence || (message.kind != NL_WIRE_REPLY && message.kind != NL_WIRE_EXCEPTION))
        return unavailable(self, "answered", "something that was not asked");
    note_exception(method, &message, answer);
    return NULL;
}

/* The metastore does as this user what it does with files. One that does not know the call does without. */
static nl_status tell_user(connection *self, nl_memory *memory)
{
    static const nl_hive_method set_ugi = {.name = "set_ugi", .exceptions = {"MetaException"}};
    nl_arena *arena = nl_arena_new(memory);
    nl_wire_value arguments = nl_wire_struct(), groups = nl_wire_list(NL_WIRE_STRING);
    nl_hive_answer answer;
    nl_wire_add_text(arena, &groups, self->options->user);
    nl_wire_set_text(arena, &arguments, 1, self->options->user);
    nl_wire_set(arena, &arguments, 2, groups);
    nl_status status = call_on(self, &set_ugi, &arguments, arena, &answer);
    nl_arena_free(arena);
    return status;
}

/* Each address, from the one that answered last. */
static nl_status open_some(nl_hive_client *client, connection **opened)
{
    const uint32_t count = client->options->address_count;
    nl_mutex_lock(&client->mutex);
    const uint32_t first = client->first_address;
    nl_mutex_unlock(&client->mutex);
    nl_status status = NULL;
    for (uint32_t i = 0; i < count; i++) {
        connection *self = NULL;
        nl_error_free(status);
        status = connection_open(client, (first + i) % count, &self);
        if (!status && client->options->tells_user) status = tell_user(self, client->memory);
        if (!status) {
            nl_mutex_lock(&client->mutex);
            client->first_address = (first + i) % count;
            nl_mutex_unlock(&client->mutex);
            *opened = self;
            return NULL;
        }
        connection_close(self);
    }
    return status;
}

static nl_status open_new(nl_hive_client *client, connection **opened)
{
    nl_status status = NULL;
    for (uint32_t i = 0; i < client->options->connect_tries; i++) {
        if (i > 0) nl_hive_sleep_ms(client->options->connect_delay_ms);
        nl_error_free(status);
        status = open_some(client, opened);
        if (!status) return NULL;
    }
    return status;
}

/* A connection that is idle has nothing to say: one that does was closed by the other side. */
static bool is_alive(const connection *self)
{
    struct pollfd wanted = {.fd = self->socket, .events = POLLIN};
    return self->begin == self->end && self->frame_left == 0 && poll(&wanted, 1, 0) == 0;
}

/* NULL: there is none. */
static connection *take_idle(nl_hive_client *client)
{
    for (;;) {
        nl_mutex_lock(&client->mutex);
        connection *self = client->idle;
        if (self) {
            client->idle = self->next;
            client->idle_count--;
        }
        nl_mutex_unlock(&client->mutex);
        if (!self || is_alive(self)) return self;
        connection_close(self);
    }
}

static void put_back(nl_hive_client *client, connection *self)
{
    nl_mutex_lock(&client->mutex);
    const bool is_kept = client->idle_count < client->options->idle_max;
    if (is_kept) {
        self->next = client->idle;
        client->idle = self;
        client->idle_count++;
    }
    nl_mutex_unlock(&client->mutex);
    if (!is_kept) connection_close(self);
}

nl_status nl_hive_call(nl_hive_client *client, const nl_hive_method *method, const nl_wire_value *arguments, nl_arena *arena, nl_hive_answer *answer)
{
    NL_TRY(nl_arena_check(arena));
    for (int tries = 1;; tries++) {
        connection *self = tries == 1 ? take_idle(client) : NULL;
        if (!self) NL_TRY(open_new(client, &self));
        nl_status status = call_on(self, method, arguments, arena, answer);
        const bool was_sent = self->sent;
        if (!status) put_back(client, self);
        else connection_close(self);
        if (!status) return NULL;
        if (was_sent && method->changes) {
            nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
            return status;
        }
        if (tries == 2 || nl_error_condition(status) != NL_COND_NILAS_SERVICE_UNAVAILABLE) return status;
        nl_error_free(status);
    }
}

bool nl_hive_is(const nl_hive_answer *answer, const char *exception)
{
    return answer->exception && strcmp(answer->exception, exception) == 0;
}

nl_status nl_hive_failure(const nl_hive_answer *answer, const nl_hive_method *method)
{
    if (!answer->exception) return NULL;
    return NL_RAISE_TEXT(NILAS_VALIDATION_FAILED, "The Hive metastore refused %s with %s: " NL_STR_FMT, method->name, answer->exception, NL_STR_ARG(answer->message));
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

nl_status nl_hive_client_new(const nl_hive_options *options, nl_memory *memory, nl_hive_client **client)
{
    nl_hive_client *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    made->options = options;
    made->memory = nl_memory_retain(memory);
    nl_mutex_init(&made->mutex);
    *client = made;
    return NULL;
}

void nl_hive_client_free(nl_hive_client *client)
{
    if (!client) return;
    while (client->idle) {
        connection *next = client->idle->next;
        connection_close(client->idle);
        client->idle = next;
    }
    nl_mutex_fini(&client->mutex);
    nl_memory_release(client->memory);
    free(client);
}
