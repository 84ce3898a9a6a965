/* storage/test_server.h - a web server for tests: real sockets on a free port of this machine, a thread for each
 * connection, and a function of the test that answers each request. Only *_test.c files include it.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/number.h"
#include "base/test_support.h"

typedef struct test_request {
    char method[16];
    char target[4096];  /* path?query, as sent */
    const char *head;   /* all of it, NUL-terminated */
    const char *body;
    size_t body_length;
    uint32_t number;    /* from 1 */
} test_request;

typedef struct test_answer { /* starts zeroed */
    char *bytes;        /* malloc'ed by the test: the whole message; NULL: nothing is sent */
    size_t length;
    enum { TEST_KEEP, TEST_CLOSE, TEST_RESET, TEST_STALL } then; /* what happens to the connection behind it */
    uint32_t delay_ms;
} test_answer;

typedef struct test_server {
    int listener;
    char url[64]; /* http://127.0.0.1:PORT */
    void (*answer)(void *argument, const test_request *request, test_answer *answer); /* one at a time */
    void *argument;
    pthread_t thread;
    pthread_mutex_t mutex;
    atomic_uint request_count, connection_count;
    atomic_bool is_ending;
    pthread_t workers[256];
    int sockets[256];
} test_server;

/* The value of a header of a request, into `value`; false: absent. */
static inline bool test_header(const test_request *request, const char *name, char *value, size_t size)
{
    const size_t length = strlen(name);
    for (const char *line = strchr(request->head, '\n'); line && line[1] != '\r'; line = strchr(line + 1, '\n')) {
        if (strncasecmp(line + 1, name, length) != 0 || line[1 + length] != ':') continue;
        const char *start = line + 2 + length;
        while (*start == ' ') start++;
        const size_t count = strcspn(start, "\r\n");
        snprintf(value, size, "%.*s", (int)count, start);
        return true;
    }
    return false;
}

static inline void test_answer_f(test_answer *answer, int status, const char *headers, const void *body, size_t body_length)
{
    char head[4096];
    const int head_length = snprintf(head, sizeof(head), "HTTP/1.1 %d X\r\nContent-Length: %zu\r\n%s\r\n", status, body_length, headers);
    answer->bytes = malloc((size_t)head_length + body_length);
    memcpy(answer->bytes, head, (size_t)head_length);
    if (body_length > 0) memcpy(answer->bytes + head_length, body, body_length);
    answer->length = (size_t)head_length + body_length;
}

static inline void test_answer_text(test_answer *answer, int status, const char *headers, const char *text)
{
    test_answer_f(answer, status, headers, text, strlen(text));
}

typedef struct test_connection {
    test_server *server;
    int socket;
} test_connection;

static inline bool test_send_all(int socket, const char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t sent = send(socket, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

/* Reads one message; false: the connection has ended. *have bytes of the next one stay in the buffer. */
static inline bool test_read_request(int socket, char **buffer, size_t *have, test_request *request, size_t *used)
{
    size_t capacity = 1u << 20;
    if (!*buffer) *buffer = calloc(1, capacity + 1);
    char *end = NULL;
    for (;;) {
        (*buffer)[*have] = '\0';
        end = strstr(*buffer, "\r\n\r\n");
        if (end) break;
        const ssize_t got = recv(socket, *buffer + *have, capacity - *have, 0);
        if (got <= 0) return false;
        *have += (size_t)got;
    }
    const size_t head_length = (size_t)(end - *buffer) + 4;
    char *head = strndup(*buffer, head_length);
    char value[64];
    request->head = head;
    sscanf(head, "%15s %4095s", request->method, request->target);
    int64_t announced = 0;
    if (test_header(request, "Content-Length", value, sizeof(value)) && !nl_parse_int64(nl_str_from(value), &announced)) return false;
    request->body_length = (size_t)announced;
    if (test_header(request, "Expect", value, sizeof(value))) test_send_all(socket, "HTTP/1.1 100 Continue\r\n\r\n", 25);
    char *body = malloc(request->body_length + 1);
    size_t body_have = NL_MIN(*have - head_length, request->body_length);
    memcpy(body, *buffer + head_length, body_have);
    *used = head_length + body_have;
    while (body_have < request->body_length) {
        const ssize_t got = recv(socket, body + body_have, request->body_length - body_have, 0);
        if (got <= 0) break;
        body_have += (size_t)got;
    }
    body[body_have] = '\0';
    request->body = body;
    return true;
}

static inline bool test_send_answer(test_connection *connection, const test_answer *answer)
{
    if (answer->delay_ms > 0) usleep(answer->delay_ms * 1000);
    bool is_open = !answer->bytes || test_send_all(connection->socket, answer->bytes, answer->length);
    if (answer->then == TEST_STALL)
        while (!atomic_load(&connection->server->is_ending)) usleep(10000);
    if (answer->then == TEST_RESET) { /* closing with linger 0 sends RST */
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        setsockopt(connection->socket, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
        usleep(20000); /* let what was sent arrive first */
    }
    return is_open && answer->then == TEST_KEEP;
}

static inline void *test_serve_connection(void *argument)
{
    test_connection *connection = argument;
    test_server *server = connection->server;
    char *buffer = NULL;
    size_t have = 0;
    bool is_open = true;
    while (is_open) {
        test_request request = {0};
        test_answer answer = {0};
        size_t used = 0;
        if (!test_read_request(connection->socket, &buffer, &have, &request, &used)) break;
        pthread_mutex_lock(&server->mutex);
        request.number = atomic_fetch_add(&server->request_count, 1) + 1;
        server->answer(server->argument, &request, &answer);
        pthread_mutex_unlock(&server->mutex);
        is_open = test_send_answer(connection, &answer);
        memmove(buffer, buffer + used, have - used);
        have -= used;
        free(answer.bytes);
        free(NL_UNCONST(request.head));
        free(NL_UNCONST(request.body));
    }
    free(buffer);
    close(connection->socket);
    free(connection);
    return NULL;
}

static inline void *test_serve(void *argument)
{
    test_server *server = argument;
    for (;;) {
        const int socket = accept(server->listener, NULL, NULL);
        if (socket < 0) return NULL;
        const uint32_t index = atomic_fetch_add(&server->connection_count, 1);
        if (index >= NL_COUNT(server->workers)) abort();
        const int one = 1;
        setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        test_connection *connection = malloc(sizeof(*connection));
        *connection = (test_connection){server, socket};
        server->sockets[index] = socket;
        pthread_create(&server->workers[index], NULL, test_serve_connection, connection);
    }
}

static inline void test_server_start(test_server *server, void (*answer)(void *, const test_request *, test_answer *), void *argument)
{
    memset(server, 0, sizeof(*server));
    server->answer = answer;
    server->argument = argument;
    pthread_mutex_init(&server->mutex, NULL);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(server->listener, 64) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0)
        abort();
    snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%u", ntohs(address.sin_port));
    pthread_create(&server->thread, NULL, test_serve, server);
}

/* Clients should be gone: their connections end the workers. */
static inline void test_server_stop(test_server *server)
{
    atomic_store(&server->is_ending, true);
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
    for (uint32_t i = 0; i < atomic_load(&server->connection_count); i++) pthread_join(server->workers[i], NULL);
    pthread_mutex_destroy(&server->mutex);
}
