/* lakehouse/server_test.c - requests over real sockets: bodies of every kind, refusals, limits, stopping. */
#include "lakehouse/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/test_support.h"
#include "lakehouse/server_private.h"

/* Answers with what it got; the path says how. */
typedef struct echo {
    nl_service base;
    atomic_int abandon_count, answer_count;
    atomic_bool was_cancelled;
} echo;

typedef struct counted {
    uint64_t bytes, sum;
} counted;

static nl_status echo_begin(nl_service *self, nl_request *request, bool *is_streamed, nl_reply *reply)
{
    (void)self;
    if (nl_str_is(request->path, "/no")) nl_reply_text(request, reply, 403, "text/plain", NL_STR("no"));
    if (nl_str_is(request->path, "/begin-fails")) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "begin fails");
    *is_streamed = nl_str_starts(request->path, NL_STR("/stream"));
    if (*is_streamed) request->data = calloc(1, sizeof(counted));
    return NULL;
}

static nl_status echo_body(nl_service *self, nl_request *request, const uint8_t *bytes, size_t length)
{
    (void)self;
    counted *count = request->data;
    count->bytes += length;
    for (size_t i = 0; i < length; i++) count->sum += bytes[i];
    return nl_str_is(request->path, "/stream-fails") && count->bytes > 1000 ? NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the body fails") : NULL;
}

static nl_status stream_counter(void *argument, uint8_t *into, size_t room, size_t *length)
{
    uint64_t *left = argument;
    if (*left == 13) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "cut");
    *length = NL_MIN(room, *left % 1000 == 13 ? *left - 13 : *left);
    memset(into, 'x', *length);
    *left -= *length;
    return NULL;
}

static void answer_with_file(nl_request *request, nl_reply *reply)
{
    char name[] = "/tmp/nilas-file-XXXXXX";
    reply->file = mkstemp(name);
    unlink(name);
    for (int i = 0; i < 20000; i++) assert_int_equal(write(reply->file, "0123456789", 10), 10);
    reply->status = 206;
    reply->file_offset = 5;
    reply->file_length = 100000;
    reply->is_head = nl_str_is(request->method, "HEAD");
}

static void answer_with_stream(nl_request *request, nl_reply *reply)
{
    bool has = false;
    uint64_t *left = NL_NEW(request->arena, uint64_t);
    *left = nl_str_is(nl_request_parameter(request, "cut", &has), "yes") ? 100013 : 300000;
    reply->stream = stream_counter;
    reply->stream_argument = left;
    reply->stream_length = has ? -1 : (int64_t)*left;
}

static nl_status echo_answer(nl_service *self, nl_request *request, nl_reply *reply)
{
    echo *own = NL_CONTAINER(self, echo, base);
    atomic_fetch_add(&own->answer_count, 1);
    if (nl_str_is(request->path, "/fails")) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "it fails");
    if (nl_str_is(request->path, "/file")) {
        answer_with_file(request, reply);
        return NULL;
    }
    if (nl_str_is(request->path, "/out")) {
        answer_with_stream(request, reply);
        return NULL;
    }
    if (nl_str_is(request->path, "/wait")) {
        for (int i = 0; i < 1000 && !nl_cancel_is_set(request->cancel); i++) poll(NULL, 0, 5);
        own->was_cancelled = nl_cancel_is_set(request->cancel);
    }
    const counted *count = request->data;
    nl_reply_header(request, reply, "x-evil", NL_STR("a\r\nb"));
    nl_reply_text(request, reply, 200, "text/plain",
                  nl_arena_f(request->arena, NL_STR_FMT " " NL_STR_FMT " " NL_STR_FMT " %llu %llu", NL_STR_ARG(request->method), NL_STR_ARG(request->path), NL_STR_ARG(request->query),
                             (unsigned long long)(count ? count->bytes : request->body.length), (unsigned long long)(count ? count->sum : 0)));
    return NULL;
}

static void echo_abandon(nl_service *self, nl_request *request)
{
    atomic_fetch_add(&NL_CONTAINER(self, echo, base)->abandon_count, 1);
    free(request->data);
}

static void echo_fail(nl_service *self, nl_request *request, nl_error *error, nl_reply *reply)
{
    (void)self;
    nl_reply_text(request, reply, 400, "text/plain", nl_arena_f(request->arena, "own form: %s", nl_error_message(error)));
}

static const nl_service_ops echo_ops = {
    .name = "echo", .begin = echo_begin, .body = echo_body, .answer = echo_answer, .abandon = echo_abandon, .fail = echo_fail};

typedef struct fixture {
    echo service;
    nl_server *server;
    uint16_t port;
} fixture;

static int start(void **state)
{
    static const nl_str hosts[] = {NL_STR_INIT("lake.example")};
    fixture *self = calloc(1, sizeof(*self));
    self->service.base.ops = &echo_ops;
    assert_ok(nl_server_new(&(nl_server_options){.hosts = hosts, .host_count = 1}, NULL, &self->server));
    assert_ok(nl_server_add(self->server, &self->service.base, 0, &self->port));
    *state = self;
    return 0;
}

static int stop(void **state)
{
    fixture *self = *state;
    nl_server_free(self->server);
    free(self);
    return 0;
}

static int dial(const fixture *self)
{
    const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(self->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(made, (const struct sockaddr *)&address, sizeof(address)), 0);
    const struct timeval limit = {.tv_sec = 20};
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return made;
}

static void say(int peer, const char *text)
{
    const size_t length = strlen(text);
    assert_int_equal(send(peer, text, length, MSG_NOSIGNAL), length);
}

/* Everything until the server closes. */
static nl_str hear(int peer, nl_builder *heard)
{
    char bytes[65536];
    for (ssize_t got; (got = recv(peer, bytes, sizeof(bytes), 0)) > 0;) nl_append(heard, (nl_str){bytes, (size_t)got});
    close(peer);
    return nl_builder_str(heard);
}

static bool contains(nl_str text, const char *part)
{
    if (nl_str_find(text, nl_str_from(part), 0) != NL_NOT_FOUND) return true;
    fprintf(stderr, "no \"%s\" in:\n" NL_STR_FMT "\n", part, (int)NL_MIN(text.length, 600), text.data);
    return false;
}

/* Sends a request and expects the parts in the reply. */
static void check_exchange(const fixture *self, const char *request, const char *first, const char *second)
{
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    const int peer = dial(self);
    say(peer, request);
    const nl_str reply = hear(peer, &heard);
    assert_true(contains(reply, first));
    assert_true(!second || contains(reply, second));
    nl_builder_fini(&heard);
}

#define CLOSE "Host: localhost\r\nConnection: close\r\n\r\n"

static void paths_and_queries_arrive_as_sent(void **state)
{
    check_exchange(*state, "GET /a%2Fb%3A+c//d?x=%2F+1&y&=z HTTP/1.1\r\n" CLOSE, "GET /a%2Fb%3A+c//d x=%2F+1&y&=z 0 0", "x-amz-request-id: ");
    check_exchange(*state, "GET http://localhost/a%20b?q HTTP/1.1\r\n" CLOSE, "GET /a%20b q 0 0", "x-evil: a  b");
}

static void a_gathered_body_is_there_whole(void **state)
{
    check_exchange(*state, "POST /b HTTP/1.1\r\nContent-Length: 5\r\n" CLOSE "12345", "POST /b  5 0", NULL);
    check_exchange(*state, "POST /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n", "POST /b  7 0", NULL);
}

static void a_streamed_body_comes_in_parts(void **state)
{
    check_exchange(*state, "PUT /stream HTTP/1.1\r\nContent-Length: 4\r\n" CLOSE "\1\2\3\4", "PUT /stream  4 10", NULL);
    check_exchange(*state, "PUT /stream HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE "2\r\n\1\2\r\n1\r\n\3\r\n0\r\n\r\n", "PUT /stream  3 6", NULL);
}

static void an_error_takes_the_form_of_the_service(void **state)
{
    check_exchange(*state, "GET /fails HTTP/1.1\r\n" CLOSE, "400 Bad Request", "own form: it fails");
    check_exchange(*state, "GET /begin-fails HTTP/1.1\r\n" CLOSE, "400 Bad Request", "own form: begin fails");
}

static void a_failing_body_is_read_to_its_end_and_answered(void **state)
{
    nl_builder request;
    nl_builder_init(&request, 1 << 24);
    nl_append_c(&request, "PUT /stream-fails HTTP/1.1\r\nContent-Length: 3000000\r\n" CLOSE);
    nl_append_fill(&request, 'x', 3000000);
    check_exchange(*state, nl_builder_c(&request), "400 Bad Request", "own form: the body fails");
    nl_builder_fini(&request);
}

static void who_waits_for_continue_hears_it_or_the_refusal_at_once(void **state)
{
    const fixture *self = *state;
    char bytes[256];
    int peer = dial(self);
    say(peer, "PUT /stream HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n" CLOSE);
    const ssize_t got = recv(peer, bytes, sizeof(bytes), 0);
    assert_true(contains((nl_str){bytes, (size_t)NL_MAX(got, 0)}, "HTTP/1.1 100 Continue\r\n\r\n"));
    say(peer, "\1\1\1");
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    assert_true(contains(hear(peer, &heard), "PUT /stream  3 3"));
    nl_builder_fini(&heard);
    check_exchange(self, "PUT /no HTTP/1.1\r\nContent-Length: 30000\r\nExpect: 100-continue\r\n" CLOSE, "HTTP/1.1 403", NULL);
    check_exchange(self, "PUT /no HTTP/1.1\r\nContent-Length: 3\r\n" CLOSE "abc", "HTTP/1.1 403", NULL);
}

static void files_and_streams_are_sent(void **state)
{
    const fixture *self = *state;
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    int peer = dial(self);
    say(peer, "GET /file HTTP/1.1\r\n" CLOSE);
    nl_str reply = hear(peer, &heard);
    assert_true(contains(reply, "206 Partial Content") && contains(reply, "\r\n\r\n5678901234"));
    assert_int_equal(reply.length - nl_str_find(reply, NL_STR("\r\n\r\n"), 0) - 4, 100000);
    nl_builder_clear(&heard);
    peer = dial(self);
    say(peer, "GET /out HTTP/1.1\r\n" CLOSE);
    reply = hear(peer, &heard);
    assert_true(contains(reply, "Content-Length: 300000\r\n"));
    assert_int_equal(reply.length - nl_str_find(reply, NL_STR("\r\n\r\n"), 0) - 4, 300000);
    nl_builder_fini(&heard);
    check_exchange(self, "GET /out?cut=no HTTP/1.1\r\n" CLOSE, "Transfer-Encoding: chunked", "\r\n0\r\n");
}

static void a_failing_stream_cuts_the_reply(void **state)
{
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    const int peer = dial(*state);
    say(peer, "GET /out?cut=yes HTTP/1.1\r\n" CLOSE);
    assert_int_equal(nl_str_find(hear(peer, &heard), NL_STR("\r\n0\r\n"), 0), NL_NOT_FOUND);
    nl_builder_fini(&heard);
}

static void head_has_the_length_and_no_body(void **state)
{
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    const int peer = dial(*state);
    say(peer, "HEAD /file HTTP/1.1\r\n" CLOSE);
    const nl_str reply = hear(peer, &heard);
    assert_true(contains(reply, "Content-Length: 100000\r\n"));
    assert_true(nl_str_ends(reply, NL_STR("\r\n\r\n")));
    nl_builder_fini(&heard);
}

static void the_host_must_be_known(void **state)
{
    const struct {
        const char *host, *expected;
    } rows[] = {
        {"localhost", "200 OK"}, {"localhost:9000", "200 OK"}, {"LOCALHOST.", "200 OK"}, {"127.0.0.1:80", "200 OK"}, {"[::1]:80", "200 OK"}, {"bucket.localhost:9000", "200 OK"},
        {"a.b.lake.example", "200 OK"}, {"evil.example", "421"}, {"notlocalhost", "421"}, {"localhost.evil.example", "421"}, {"[::1", "421"}, {"", "421"}, {"192.168.1.1", "421"}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        char request[256];
        snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", rows[i].host);
        check_exchange(*state, request, rows[i].expected, NULL);
    }
}

static void a_page_of_another_origin_changes_nothing(void **state)
{
    check_exchange(*state, "POST / HTTP/1.1\r\nOrigin: http://evil.example\r\nContent-Length: 1\r\n" CLOSE "x", "HTTP/1.1 403", "other origins");
    check_exchange(*state, "POST / HTTP/1.1\r\nOrigin: null\r\nContent-Length: 1\r\n" CLOSE "x", "HTTP/1.1 403", NULL);
    check_exchange(*state, "POST / HTTP/1.1\r\nOrigin: http://localhost\r\nContent-Length: 1\r\n" CLOSE "x", "HTTP/1.1 200", NULL);
}

static void an_unclear_length_is_refused(void **state)
{
    check_exchange(*state, "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n" CLOSE "0\r\n\r\n", "HTTP/1.1 400", NULL);
    check_exchange(*state, "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" CLOSE "xx", "HTTP/1.1 400", NULL);
    check_exchange(*state, "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\n", "HTTP/1.1 501", "Connection: close");
    check_exchange(*state, "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: b\r\n c\r\n\r\n", "HTTP/1.1 400", "Connection: close");
    check_exchange(*state, "GET / HTTP/1.1\nHost:localhost\nX-A:\t b \nConnection: close\n\n", "HTTP/1.1 200", NULL);
}

static void huge_heads_and_bodies_are_refused(void **state)
{
    nl_builder request;
    nl_builder_init(&request, 1 << 26);
    nl_append_c(&request, "GET / HTTP/1.1\r\nx-a: ");
    nl_append_fill(&request, 'a', 66000);
    nl_append_c(&request, "\r\n" CLOSE);
    check_exchange(*state, nl_builder_c(&request), "HTTP/1.1 431", NULL);
    nl_builder_clear(&request);
    nl_append_c(&request, "GET / HTTP/1.1\r\n");
    for (int i = 0; i < 101; i++) nl_append_f(&request, "x-%d: 1\r\n", i);
    nl_append_c(&request, CLOSE);
    check_exchange(*state, nl_builder_c(&request), "HTTP/1.1 431", NULL);
    nl_builder_clear(&request);
    nl_append_f(&request, "POST / HTTP/1.1\r\nContent-Length: %u\r\n" CLOSE, (16u << 20) + 1);
    nl_append_fill(&request, 'a', (16u << 20) + 1);
    check_exchange(*state, nl_builder_c(&request), "HTTP/1.1 413", NULL);
    nl_builder_clear(&request);
    nl_append_c(&request, "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" CLOSE);
    for (int i = 0; i < 17; i++) {
        nl_append_c(&request, "100000\r\n");
        nl_append_fill(&request, 'a', 1 << 20);
        nl_append_c(&request, "\r\n");
    }
    nl_append_c(&request, "0\r\n\r\n");
    check_exchange(*state, nl_builder_c(&request), "HTTP/1.1 413", NULL);
    nl_builder_fini(&request);
}

static void the_connection_after_the_limit_hears_why(void **state)
{
    const fixture *self = *state;
    int peers[NL_SERVER_CONNECTIONS_MAX];
    for (size_t i = 0; i < NL_COUNT(peers); i++) peers[i] = dial(self);
    check_exchange(self, "GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 503", "256 connections");
    say(peers[255], "GET / HTTP/1.1\r\n" CLOSE);
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    assert_true(contains(hear(peers[255], &heard), "200 OK"));
    nl_builder_fini(&heard);
    for (size_t i = 0; i < 255; i++) close(peers[i]);
    poll(NULL, 0, 300);
    check_exchange(self, "GET / HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200", NULL);
}

static void one_connection_serves_many_requests(void **state)
{
    const fixture *self = *state;
    const int peer = dial(self);
    for (int i = 0; i < 100; i++) say(peer, "POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nab");
    say(peer, "GET /last HTTP/1.1\r\n" CLOSE);
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    assert_true(contains(hear(peer, &heard), "GET /last"));
    nl_builder_fini(&heard);
    assert_int_equal(self->service.answer_count, 101);
    poll(NULL, 0, 50);
    assert_int_equal(self->service.abandon_count, 101);
}

static void a_client_that_goes_away_cancels_its_request(void **state)
{
    fixture *self = *state;
    const int peer = dial(self);
    say(peer, "GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n");
    poll(NULL, 0, 100);
    close(peer);
    for (int i = 0; i < 600 && !self->service.was_cancelled; i++) poll(NULL, 0, 5);
    assert_true(self->service.was_cancelled);
}

static void free_echo(nl_service *self)
{
    free(NL_CONTAINER(self, echo, base));
}

/* The service is the server's, also when it cannot be added. */
static echo *owned_echo(void)
{
    static nl_service_ops owned_ops;
    owned_ops = echo_ops;
    owned_ops.free = free_echo;
    echo *made = calloc(1, sizeof(*made));
    made->base.ops = &owned_ops;
    return made;
}

static void a_busy_port_names_its_holder(void **state)
{
    const fixture *self = *state;
    nl_server *second = NULL;
    char expected[64];
    snprintf(expected, sizeof(expected), "process %d (", (int)getpid());
    assert_ok(nl_server_new(&(nl_server_options){0}, NULL, &second));
    assert_fails(nl_server_add(second, &owned_echo()->base, self->port, NULL), NILAS_IO_ERROR, expected);
    assert_fails(nl_server_add(second, &owned_echo()->base, self->port, NULL), NILAS_IO_ERROR, "server");
    nl_server_free(second);
}

static void both_loopback_addresses_answer(void **state)
{
    const fixture *self = *state;
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(self->port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    const int peer = socket(AF_INET6, SOCK_STREAM, 0);
    if (peer < 0 || connect(peer, (const struct sockaddr *)&address, sizeof(address)) != 0) skip(); /* a machine without IPv6 */
    say(peer, "GET / HTTP/1.1\r\nHost: [::1]:1\r\nConnection: close\r\n\r\n");
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    assert_true(contains(hear(peer, &heard), "200 OK"));
    nl_builder_fini(&heard);
}

static void *ask_and_wait(void *argument)
{
    check_exchange(argument, "GET /out HTTP/1.1\r\nHost: localhost\r\n\r\n", "200 OK", "xxxx");
    return NULL;
}

static void stopping_ends_idle_connections_and_waits_for_running_ones(void **state)
{
    fixture *self = *state;
    const int idle = dial(self);
    say(idle, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    pthread_t asking;
    pthread_create(&asking, NULL, ask_and_wait, self);
    poll(NULL, 0, 100);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    nl_server_stop(self->server);
    clock_gettime(CLOCK_MONOTONIC, &after);
    assert_true(after.tv_sec - before.tv_sec <= 1);
    pthread_join(asking, NULL);
    nl_builder heard;
    nl_builder_init(&heard, 1 << 20);
    assert_true(contains(hear(idle, &heard), "200 OK"));
    nl_builder_fini(&heard);
}

/* The functions that look at a request alone. */
static void parameters_and_segments_are_decoded(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_request request = {.arena = arena, .path = NL_STR("/iceberg/v1/arn%3Aaws%2Fx//a%1Fb/"), .query = NL_STR("empty=&flag&a%20b=c%2Bd+e&bad=%zz")};
    bool has = false;
    assert_text(nl_request_parameter(&request, "a b", &has), "c+d e");
    assert_true(has);
    assert_text(nl_request_parameter(&request, "empty", &has), "");
    assert_true(has);
    assert_text(nl_request_parameter(&request, "flag", &has), "");
    assert_true(has);
    assert_null(nl_request_parameter(&request, "none", &has).data);
    assert_false(has);
    const nl_str *segments = NULL;
    uint32_t count = 0;
    assert_ok(nl_request_segments(&request, &segments, &count));
    const char *const expected[] = {"iceberg", "v1", "arn:aws/x", "", "a\x1f" "b", ""};
    assert_int_equal(count, NL_COUNT(expected));
    for (uint32_t i = 0; i < count; i++) assert_text(segments[i], expected[i]);
    request.path = NL_STR("/");
    assert_ok(nl_request_segments(&request, &segments, &count));
    assert_int_equal(count, 0);
    const char *const broken[] = {"/a%", "/a%2", "/a%g0"};
    for (size_t i = 0; i < NL_COUNT(broken); i++) {
        request.path = nl_str_from(broken[i]);
        assert_fails(nl_request_segments(&request, &segments, &count), NILAS_ILLEGAL_ARGUMENT, "broken escape");
    }
    nl_arena_free(arena);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, start, stop)
    const struct CMUnitTest tests[] = {
        CASE(paths_and_queries_arrive_as_sent),
        CASE(a_gathered_body_is_there_whole),
        CASE(a_streamed_body_comes_in_parts),
        CASE(an_error_takes_the_form_of_the_service),
        CASE(a_failing_body_is_read_to_its_end_and_answered),
        CASE(who_waits_for_continue_hears_it_or_the_refusal_at_once),
        CASE(files_and_streams_are_sent),
        CASE(a_failing_stream_cuts_the_reply),
        CASE(head_has_the_length_and_no_body),
        CASE(the_host_must_be_known),
        CASE(a_page_of_another_origin_changes_nothing),
        CASE(an_unclear_length_is_refused),
        CASE(huge_heads_and_bodies_are_refused),
        CASE(the_connection_after_the_limit_hears_why),
        CASE(one_connection_serves_many_requests),
        CASE(a_client_that_goes_away_cancels_its_request),
        CASE(a_busy_port_names_its_holder),
        CASE(both_loopback_addresses_answer),
        CASE(stopping_ends_idle_connections_and_waits_for_running_ones),
        cmocka_unit_test(parameters_and_segments_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
