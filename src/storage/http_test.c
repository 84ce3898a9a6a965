/* The client against a server of real sockets that fails in every way the quality page lists. */
#include "base/calendar.h"
#include "storage/fault.h"
#include "storage/http.h"
#include "storage/test_server.h"

typedef struct script { /* what the server does at each request; the last one goes on */
    struct {
        int status;
        const char *headers, *body, *raw;
        int then;
    } steps[8];
    uint32_t count;
    char heads[8][2048];
    char bodies[8][256];
} script;

static void play(void *argument, const test_request *request, test_answer *answer)
{
    script *self = argument;
    const uint32_t at = NL_MIN(request->number, self->count) - 1;
    if (request->number <= 8) {
        snprintf(self->heads[request->number - 1], sizeof(self->heads[0]), "%s", request->head);
        snprintf(self->bodies[request->number - 1], sizeof(self->bodies[0]), "%s", request->body);
    }
    if (self->steps[at].raw) {
        answer->bytes = strdup(self->steps[at].raw);
        answer->length = strlen(answer->bytes);
    } else if (self->steps[at].status > 0) {
        test_answer_text(answer, self->steps[at].status, self->steps[at].headers ? self->steps[at].headers : "", self->steps[at].body ? self->steps[at].body : "");
    }
    answer->then = self->steps[at].then;
}

typedef struct fixture {
    test_server server;
    nl_http_client *client;
    nl_memory *memory;
    nl_fault_plan *faults;
    char url[256];
} fixture;

static void start(fixture *f, script *steps, const char *faults)
{
    test_server_start(&f->server, play, steps);
    f->memory = nl_memory_new(NULL, "test", 64u << 20);
    assert_ok(nl_fault_plan_parse(nl_str_from(faults), &f->faults));
    const nl_http_options options = {.stall_timeout_ms = 1000, .deadline_ms = 30000, .attempts_max = 4, .faults = f->faults};
    assert_ok(nl_http_client_new(&options, f->memory, &f->client));
    snprintf(f->url, sizeof(f->url), "%s/k?q=secret", f->server.url);
}

static void stop(fixture *f)
{
    nl_http_client_release(f->client);
    test_server_stop(&f->server);
    nl_fault_plan_free(f->faults);
    assert_int_equal(nl_memory_used(f->memory), 0);
    nl_memory_release(f->memory);
}

static nl_http_request request_of(const fixture *f, const char *method)
{
    return (nl_http_request){.method = method, .url = nl_str_from(f->url)};
}

static nl_str body_of(const nl_http_response *response)
{
    return response->body ? (nl_str){(const char *)response->body->data, response->body->size_bytes} : (nl_str){0};
}

static void test_an_answer_has_status_headers_and_body(void **state)
{
    (void)state;
    script steps = {.count = 2, .steps = {{.status = 200, .headers = "ETag:  \"x\" \r\nX-Empty:\r\n", .body = "hello"}, {.status = 404, .body = "no"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "GET");
    const nl_property headers[] = {{NL_STR_INIT("x-a"), NL_STR_INIT("1")}, {NL_STR_INIT("x-b"), NL_STR_INIT("")}};
    request.headers = headers;
    request.header_count = 2;
    nl_http_response response = {0};
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_int_equal(response.status, 200);
    assert_int_equal(response.attempts, 1);
    assert_text(body_of(&response), "hello");
    assert_text(nl_http_header(&response, "etag"), "\"x\"");
    assert_null(nl_http_header(&response, "nothing").data);
    nl_http_response_fini(&response);
    assert_ok(nl_http_send(f.client, &request, &response)); /* not tried again */
    assert_int_equal(response.status, 404);
    assert_text(body_of(&response), "no");
    nl_http_response_fini(&response);
    assert_non_null(strstr(steps.heads[0], "GET /k?q=secret HTTP/1.1\r\n"));
    assert_non_null(strstr(steps.heads[0], "x-a: 1\r\n"));
    assert_non_null(strstr(steps.heads[0], "x-b:\r\n"));
    assert_non_null(strstr(steps.heads[0], "User-Agent: nilas/"));
    assert_null(strstr(steps.heads[0], "Accept:"));
    assert_int_equal(atomic_load(&f.server.connection_count), 1); /* the connection was used again */
    stop(&f);
}

static void test_bodies_are_sent_and_head_has_none(void **state)
{
    (void)state;
    script steps = {.count = 4, .steps = {{.status = 200}, {.status = 200}, {.status = 200}, {.raw = "HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "PUT");
    nl_http_response response = {0};
    request.body = (nl_bytes){(const uint8_t *)"some bytes", 10};
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    request.body = (nl_bytes){0};
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    request = request_of(&f, "DELETE");
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    request = request_of(&f, "HEAD");
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_text(nl_http_header(&response, "content-length"), "12345");
    nl_http_response_fini(&response);
    assert_string_equal(steps.bodies[0], "some bytes");
    assert_non_null(strstr(steps.heads[0], "Content-Length: 10\r\n"));
    assert_null(strstr(steps.heads[0], "Expect"));
    assert_null(strstr(steps.heads[0], "Content-Type"));
    assert_non_null(strstr(steps.heads[1], "PUT "));
    assert_non_null(strstr(steps.heads[1], "Content-Length: 0\r\n"));
    assert_non_null(strstr(steps.heads[2], "DELETE "));
    assert_non_null(strstr(steps.heads[3], "HEAD "));
    stop(&f);
}

static void test_what_may_pass_is_tried_again(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        int status, then;
        const char *raw;
    } failures[] = {
        {"500", 500, TEST_KEEP, NULL},
        {"502", 502, TEST_KEEP, NULL},
        {"503", 503, TEST_KEEP, NULL},
        {"504", 504, TEST_KEEP, NULL},
        {"429", 429, TEST_KEEP, NULL},
        {"reset before the answer", 0, TEST_RESET, NULL},
        {"closed before the answer", 0, TEST_CLOSE, NULL},
        {"reset within the body", 0, TEST_RESET, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"},
        {"body shorter than announced", 0, TEST_CLOSE, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"},
        {"body shorter than wanted", 0, TEST_KEEP, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab"},
        {"body longer than wanted, once", 0, TEST_CLOSE, "HTTP/1.1 200 OK\r\n\r\nab"},
        {"head cut off", 0, TEST_CLOSE, "HTTP/1.1 200 OK\r\nContent-Le"},
        {"head without its end", 0, TEST_CLOSE, "HTTP/1.1 200 OK\r\nContent-Type: x\r\n"},
        {"status alone", 0, TEST_CLOSE, "HTTP/1.1 200 OK"},
        {"stalled body", 0, TEST_STALL, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab"},
        {"stalled head", 0, TEST_STALL, "HTTP/1.1 200 OK\r\n"},
        {"no answer at all", 0, TEST_STALL, NULL},
    };
    for (uint32_t i = 0; i < NL_COUNT(failures); i++) {
        script steps = {.count = 2, .steps = {{.status = failures[i].status, .then = failures[i].then, .raw = failures[i].raw}, {.status = 200, .body = "good"}}};
        fixture f;
        start(&f, &steps, "");
        nl_http_request request = request_of(&f, "GET");
        uint8_t into[5] = "....";
        request.into = into;
        request.into_size = 4;
        nl_http_response response = {0};
        nl_status status = nl_http_send(f.client, &request, &response);
        if (status) fprintf(stderr, "%s: %s\n", failures[i].what, nl_error_message(status));
        assert_ok(status);
        if (response.status != 200 || response.attempts != 2) fprintf(stderr, "%s: %d after %u\n", failures[i].what, response.status, response.attempts);
        assert_int_equal(response.status, 200);
        assert_int_equal(response.attempts, 2);
        assert_string_equal((char *)into, "good");
        assert_null(response.body);
        nl_http_response_fini(&response);
        stop(&f);
    }
}

static void test_the_last_answer_is_given_and_a_broken_one_is_an_error(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.status = 503, .body = "slow down"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "GET");
    nl_http_response response = {0};
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_int_equal(response.status, 503);
    assert_int_equal(response.attempts, 4);
    assert_text(body_of(&response), "slow down");
    nl_http_response_fini(&response);
    stop(&f);

    script broken = {.count = 1, .steps = {{.then = TEST_CLOSE}}};
    start(&f, &broken, "");
    request = request_of(&f, "GET");
    nl_status status = nl_http_send(f.client, &request, &response);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_IO_ERROR);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY);
    assert_non_null(strstr(nl_error_message(status), "after 4 attempts"));
    assert_null(strstr(nl_error_message(status), "secret")); /* queries may hold signatures */
    nl_error_free(status);
    stop(&f);
}

static void test_a_request_that_may_have_been_done_is_not_sent_twice(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.then = TEST_CLOSE}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "POST");
    request.body = (nl_bytes){(const uint8_t *)"commit", 6};
    nl_http_response response = {0};
    nl_status status = nl_http_send(f.client, &request, &response);
    assert_non_null(status);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    assert_int_equal(atomic_load(&f.server.request_count), 1);
    request.is_idempotent = true;
    status = nl_http_send(f.client, &request, &response);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY);
    nl_error_free(status);
    assert_int_equal(atomic_load(&f.server.request_count), 5);
    stop(&f);

    script answers = {.count = 3, .steps = {{.status = 503}, {.status = 429, .headers = "Retry-After: 0\r\n"}, {.status = 500}}};
    start(&f, &answers, ""); /* 503 and 429 say that nothing was done; 500 does not */
    request = request_of(&f, "POST");
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_int_equal(response.status, 500);
    assert_int_equal(response.attempts, 3);
    nl_http_response_fini(&response);
    stop(&f);
}

static void test_a_kept_connection_that_was_closed_costs_nothing(void **state)
{
    (void)state;
    script steps = {.count = 3, .steps = {{.status = 200, .then = TEST_CLOSE}, {.status = 200, .then = TEST_CLOSE}, {.status = 200}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "POST");
    nl_http_response response = {0};
    for (int i = 0; i < 3; i++) { /* also when the request must not be sent twice */
        assert_ok(nl_http_send(f.client, &request, &response));
        assert_int_equal(response.status, 200);
        nl_http_response_fini(&response);
        usleep(20000);
    }
    assert_int_equal(atomic_load(&f.server.request_count), 3);
    stop(&f);
}

static void test_nobody_there_and_no_such_host(void **state)
{
    (void)state;
    nl_http_client *client = NULL;
    const nl_http_options options = {.attempts_max = 2, .deadline_ms = 3000};
    assert_ok(nl_http_client_new(&options, NULL, &client));
    nl_http_response response = {0};
    const char *urls[] = {"http://127.0.0.1:1/x", "http://no-such-host.invalid/x"};
    for (uint32_t i = 0; i < NL_COUNT(urls); i++) {
        const nl_http_request request = {.method = "POST", .url = nl_str_from(urls[i])};
        nl_status status = nl_http_send(client, &request, &response);
        assert_non_null(status);
        assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY); /* it never arrived */
        assert_non_null(strstr(nl_error_message(status), nl_str_slice(nl_str_from(urls[i]), 7, SIZE_MAX).data)); /* host and port */
        assert_non_null(strstr(nl_error_message(status), "Check "));
        nl_error_free(status);
    }
    const nl_http_request file = {.method = "GET", .url = NL_STR("file:///etc/passwd")};
    assert_fails(nl_http_send(client, &file, &response), NILAS_ILLEGAL_ARGUMENT, NULL);
    const nl_property split = {NL_STR_INIT("x"), NL_STR_INIT("a\r\nb: c")};
    const nl_http_request smuggler = {.method = "GET", .url = NL_STR("http://127.0.0.1:1/"), .headers = &split, .header_count = 1};
    assert_fails(nl_http_send(client, &smuggler, &response), NILAS_ILLEGAL_ARGUMENT, "control character");
    nl_http_client_release(client);
}

/* A server that takes connections and says nothing: three times the stall time, then an error that names it and says what to
 * look at; what may be done only once is sent once, and its outcome is unknown. */
static void test_a_silent_server_is_given_up_in_time(void **state)
{
    (void)state;
    static const char *const methods[] = {"GET", "POST"};
    for (uint32_t i = 0; i < NL_COUNT(methods); i++) {
        script steps = {.count = 1, .steps = {{.then = TEST_STALL}}};
        fixture f;
        start(&f, &steps, "");
        nl_http_response response = {0};
        const nl_http_request request = {.method = methods[i], .url = nl_str_from(f.url), .body = {(const uint8_t *)"x", i}};
        const int64_t start_us = nl_now_micros();
        nl_status status = nl_http_send(f.client, &request, &response);
        assert_non_null(status);
        assert_true(nl_now_micros() - start_us < 8000000);
        assert_int_equal(nl_error_kind_of(status), i ? NL_KIND_UNKNOWN_STATE : NL_KIND_RETRY);
        assert_int_equal(atomic_load(&f.server.request_count), i ? 1 : 3);
        assert_non_null(strstr(nl_error_message(status), f.server.url));
        assert_non_null(strstr(nl_error_message(status), "look at the server"));
        nl_error_free(status);
        stop(&f);
    }
}

/* Also where no certain length is waited for: a head that is cut off is no answer, least of all a good one without a body. */
static void test_a_head_that_is_cut_off_is_no_answer(void **state)
{
    (void)state;
    static const char *const heads[] = {"HTTP/1.1 200 OK", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 204 No Content\r\nX: y\r\n"};
    for (uint32_t i = 0; i < NL_COUNT(heads); i++) {
        for (uint32_t k = 0; k < 2; k++) {
            script steps = {.count = 1, .steps = {{.raw = heads[i], .then = TEST_CLOSE}}};
            fixture f;
            start(&f, &steps, "");
            nl_http_response response = {0};
            const nl_http_request request = {.method = k ? "POST" : "GET", .url = nl_str_from(f.url), .body = {(const uint8_t *)"x", k}};
            nl_status status = nl_http_send(f.client, &request, &response);
            assert_non_null(status);
            assert_int_equal(nl_error_kind_of(status), k ? NL_KIND_UNKNOWN_STATE : NL_KIND_RETRY);
            nl_error_free(status);
            stop(&f);
        }
    }
}

static void test_bodies_above_their_limit_are_refused(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.status = 200, .body = "0123456789"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "GET");
    request.body_max = 9;
    nl_http_response response = {0};
    assert_fails(nl_http_send(f.client, &request, &response), NILAS_IO_ERROR, "longer than it may be");
    assert_int_equal(atomic_load(&f.server.request_count), 1);
    uint8_t into[9];
    request.into = into;
    request.into_size = 9;
    assert_fails(nl_http_send(f.client, &request, &response), NILAS_IO_ERROR, "longer than it may be");
    request.body_max = 10;
    request.into = NULL;
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    stop(&f);

    nl_builder many;
    nl_builder_init(&many, 8000);
    nl_append_c(&many, "HTTP/1.1 200 OK\r\n");
    for (int i = 0; i < 101; i++) nl_append_f(&many, "x-%d: 1\r\n", i);
    nl_append_c(&many, "Content-Length: 0\r\n\r\n");
    script heads = {.count = 1, .steps = {{.raw = nl_builder_c(&many)}}};
    start(&f, &heads, "");
    request = request_of(&f, "GET");
    assert_fails(nl_http_send(f.client, &request, &response), NILAS_IO_ERROR, "too many headers");
    stop(&f);
    nl_builder_fini(&many);
}

static void test_a_budget_refuses_bodies(void **state)
{
    (void)state;
    static char body[200001];
    memset(body, 'x', sizeof(body) - 1);
    script steps = {.count = 1, .steps = {{.status = 200, .body = body}}};
    fixture f;
    start(&f, &steps, "");
    nl_memory *small = nl_memory_new(NULL, "small", 100000);
    nl_http_client *client = NULL;
    assert_ok(nl_http_client_new(NULL, small, &client));
    nl_http_request request = request_of(&f, "GET");
    nl_http_response response = {0};
    assert_fails(nl_http_send(client, &request, &response), UNABLE_TO_ACQUIRE_MEMORY, NULL);
    nl_http_client_release(client);
    assert_int_equal(nl_memory_used(small), 0);
    nl_memory_release(small);
    stop(&f);
}

static nl_status sign(void *argument, const nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count)
{
    (*(int *)argument)++;
    nl_property *more = NL_NEW_ARRAY(arena, nl_property, *header_count + 1);
    if (*header_count > 0) memcpy(more, *headers, *header_count * sizeof(*more));
    more[*header_count] = (nl_property){NL_STR("authorization"), nl_arena_f(arena, "signed %d for %s", *(int *)argument, nl_str_ends(request->url, NL_STR("moved")) ? "moved" : "k")};
    *headers = more;
    (*header_count)++;
    return NULL;
}

static void test_each_try_has_its_own_signature(void **state)
{
    (void)state;
    script steps = {.count = 3, .steps = {{.status = 500}, {.status = 307, .headers = "Location: /moved\r\n"}, {.status = 200}}};
    fixture f;
    start(&f, &steps, "");
    int count = 0;
    nl_http_request request = request_of(&f, "PUT");
    request.body = (nl_bytes){(const uint8_t *)"again", 5};
    request.sign = sign;
    request.sign_argument = &count;
    nl_http_response response = {0};
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    assert_int_equal(count, 3);
    assert_non_null(strstr(steps.heads[0], "authorization: signed 1 for k\r\n"));
    assert_non_null(strstr(steps.heads[1], "authorization: signed 2 for k\r\n"));
    assert_non_null(strstr(steps.heads[2], "authorization: signed 3 for moved\r\n"));
    assert_non_null(strstr(steps.heads[2], "PUT /moved"));
    assert_string_equal(steps.bodies[2], "again");
    stop(&f);
}

static void test_credentials_stay_with_their_host(void **state)
{
    (void)state;
    script other_steps = {.count = 1, .steps = {{.status = 200, .body = "there"}}};
    test_server other;
    test_server_start(&other, play, &other_steps);
    char location[128];
    snprintf(location, sizeof(location), "Location: %s/there\r\n", other.url);
    script steps = {.count = 1, .steps = {{.status = 302, .headers = location}}};
    fixture f;
    start(&f, &steps, "");
    int count = 0;
    const nl_property headers[] = {{NL_STR_INIT("Cookie"), NL_STR_INIT("c=1")}, {NL_STR_INIT("x-amz-security-token"), NL_STR_INIT("t")}, {NL_STR_INIT("Range"), NL_STR_INIT("bytes=0-9")}};
    nl_http_request request = request_of(&f, "GET");
    request.headers = headers;
    request.header_count = 3;
    request.sign = sign;
    request.sign_argument = &count;
    nl_http_response response = {0};
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_text(body_of(&response), "there");
    nl_http_response_fini(&response);
    assert_non_null(strstr(steps.heads[0], "Cookie: c=1"));
    assert_null(strstr(other_steps.heads[0], "Cookie"));
    assert_null(strstr(other_steps.heads[0], "x-amz"));
    assert_null(strstr(other_steps.heads[0], "authorization"));
    assert_non_null(strstr(other_steps.heads[0], "Range: bytes=0-9"));
    stop(&f);
    test_server_stop(&other);
}

static void test_redirects_end(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.status = 302, .headers = "Location: /k\r\n"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "GET");
    nl_http_response response = {0};
    assert_fails(nl_http_send(f.client, &request, &response), NILAS_IO_ERROR, "too many redirects");
    request = request_of(&f, "POST"); /* is not made a GET */
    assert_ok(nl_http_send(f.client, &request, &response));
    assert_int_equal(response.status, 302);
    nl_http_response_fini(&response);
    stop(&f);
    script elsewhere = {.count = 1, .steps = {{.status = 302, .headers = "Location: file:///etc/passwd\r\n"}}};
    start(&f, &elsewhere, "");
    request = request_of(&f, "GET");
    assert_fails(nl_http_send(f.client, &request, &response), NILAS_IO_ERROR, NULL);
    stop(&f);
}

static void test_cancelling_and_abandoning_end_a_call(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.then = TEST_STALL}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_client *patient = NULL;
    assert_ok(nl_http_client_new(NULL, f.memory, &patient));
    nl_cancel *cancel = nl_cancel_new(NULL);
    nl_http_request request = request_of(&f, "GET");
    request.cancel = cancel;
    nl_http_call *call = NULL;
    nl_http_response response = {0};
    assert_ok(nl_http_start(patient, &request, &call));
    usleep(30000);
    nl_cancel_set(cancel);
    assert_fails(nl_http_wait(call, &response), OPERATION_CANCELED, NULL);
    assert_fails(nl_http_start(patient, &request, &call), OPERATION_CANCELED, NULL);
    request.cancel = NULL;
    nl_http_call *calls[3];
    for (int i = 0; i < 3; i++) assert_ok(nl_http_start(patient, &request, &calls[i]));
    nl_http_abandon(calls[1]);
    usleep(30000);
    nl_http_abandon(calls[0]);
    nl_http_abandon(calls[2]);
    nl_http_abandon(NULL);
    nl_cancel_release(cancel);
    nl_http_client_release(patient);
    stop(&f);
}

static void test_many_at_once_share_connections(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.status = 200, .body = "x"}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_client *client = NULL;
    const nl_http_options options = {.connections_max = 4};
    assert_ok(nl_http_client_new(&options, f.memory, &client));
    nl_http_request request = request_of(&f, "GET");
    nl_http_call *calls[200];
    for (uint32_t i = 0; i < NL_COUNT(calls); i++) assert_ok(nl_http_start(client, &request, &calls[i]));
    for (uint32_t i = 0; i < NL_COUNT(calls); i++) {
        nl_http_response response = {0};
        assert_ok(nl_http_wait(calls[i], &response));
        assert_int_equal(response.status, 200);
        nl_http_response_fini(&response);
    }
    assert_true(atomic_load(&f.server.connection_count) <= 8);
    nl_http_client_release(client);
    stop(&f);
}

static void test_fault_plans_strike(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        uint32_t attempts;
        int32_t status;
        uint32_t requests;
    } cases[] = {
        {"s3.get:1=503", 2, 200, 1},
        {"s3.get:any=503", 4, 503, 0},
        {"s3.get:1=404", 1, 404, 0},
        {"s3.get:1=reset", 2, 200, 1},
        {"s3.get:1=cut(2)", 2, 200, 2},
        {"s3.get:1=lost-reply", 2, 200, 2},
        {"s3.get:1=late(50)", 1, 200, 1},
        {"s3.put:1=503", 1, 200, 1},
        {"http.connect:1=reset", 2, 200, 1},
        {"http.receive:1=reset", 2, 200, 2},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        script steps = {.count = 1, .steps = {{.status = 200, .body = "hello"}}};
        fixture f;
        start(&f, &steps, cases[i].plan);
        nl_http_request request = request_of(&f, "GET");
        request.fault = "s3.get";
        nl_http_response response = {0};
        assert_ok(nl_http_send(f.client, &request, &response));
        if (response.attempts != cases[i].attempts || response.status != cases[i].status) fprintf(stderr, "%s: %d after %u\n", cases[i].plan, response.status, response.attempts);
        assert_int_equal(response.attempts, cases[i].attempts);
        assert_int_equal(response.status, cases[i].status);
        assert_int_equal(atomic_load(&f.server.request_count), cases[i].requests);
        if (response.status == 200) assert_text(body_of(&response), "hello");
        nl_http_response_fini(&response);
        stop(&f);
    }
}

static void test_large_bodies_ask_first(void **state)
{
    (void)state;
    script steps = {.count = 1, .steps = {{.status = 200}}};
    fixture f;
    start(&f, &steps, "");
    nl_http_request request = request_of(&f, "PUT");
    uint8_t *large = calloc(1, 3u << 20);
    request.body = (nl_bytes){large, 3u << 20};
    nl_http_response response = {0};
    assert_ok(nl_http_send(f.client, &request, &response));
    nl_http_response_fini(&response);
    assert_non_null(strstr(steps.heads[0], "Expect: 100-continue"));
    free(large);
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_has_status_headers_and_body),
        cmocka_unit_test(test_bodies_are_sent_and_head_has_none),
        cmocka_unit_test(test_what_may_pass_is_tried_again),
        cmocka_unit_test(test_the_last_answer_is_given_and_a_broken_one_is_an_error),
        cmocka_unit_test(test_a_request_that_may_have_been_done_is_not_sent_twice),
        cmocka_unit_test(test_a_kept_connection_that_was_closed_costs_nothing),
        cmocka_unit_test(test_nobody_there_and_no_such_host),
        cmocka_unit_test(test_a_head_that_is_cut_off_is_no_answer),
        cmocka_unit_test(test_a_silent_server_is_given_up_in_time),
        cmocka_unit_test(test_bodies_above_their_limit_are_refused),
        cmocka_unit_test(test_a_budget_refuses_bodies),
        cmocka_unit_test(test_each_try_has_its_own_signature),
        cmocka_unit_test(test_credentials_stay_with_their_host),
        cmocka_unit_test(test_redirects_end),
        cmocka_unit_test(test_cancelling_and_abandoning_end_a_call),
        cmocka_unit_test(test_many_at_once_share_connections),
        cmocka_unit_test(test_fault_plans_strike),
        cmocka_unit_test(test_large_bodies_ask_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
