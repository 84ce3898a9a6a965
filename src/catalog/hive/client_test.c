/* The client against a metastore of a few lines: a thread that does with each request what its script says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/test_support.h"
#include "catalog/hive/client.h"

typedef struct fake_metastore {
    int listener;
    char port[8];
    const char *script; /* a: answers; A: answers and closes; c: closes instead; s: says nothing; e: throws; u: knows no such method; g: garbage */
    atomic_uint request_count;
    pthread_t thread;
} fake_metastore;

typedef struct socket_source {
    nl_wire_source source;
    int socket;
} socket_source;

static nl_status socket_read(nl_wire_source *source, uint8_t *into, size_t length)
{
    const socket_source *self = NL_CONTAINER(source, socket_source, source);
    while (length > 0) {
        const ssize_t got = recv(self->socket, into, length, 0);
        if (got <= 0) return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "the client went");
        into += got;
        length -= (size_t)got;
    }
    return NULL;
}

static void answer(int socket, char action, const nl_wire_message *request, nl_arena *arena)
{
    nl_wire_value body = nl_wire_struct(), thrown = nl_wire_struct();
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    nl_wire_set_text(arena, &thrown, 1, NL_STR("no such thing"));
    nl_wire_set_number(arena, &thrown, 2, NL_WIRE_I32, 1);
    if (action == 'e') nl_wire_set(arena, &body, 2, thrown);
    else nl_wire_set_text(arena, &body, 0, NL_STR("done"));
    if (action == 'u') nl_wire_append_message(&out, NL_WIRE_EXCEPTION, request->name, request->sequence, &thrown);
    else nl_wire_append_message(&out, NL_WIRE_REPLY, request->name, request->sequence, &body);
    if (action == 'g') memset(out.data, 'x', out.length);
    (void)!send(socket, out.data, out.length, MSG_NOSIGNAL);
    nl_builder_fini(&out);
}

static void serve(fake_metastore *self, int socket)
{
    for (;;) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_wire_message request;
        socket_source in = {.source = {.read = socket_read, .bytes_left = 1 << 16}, .socket = socket};
        nl_error *error = nl_wire_read_message(&in.source, arena, &request);
        const char action = error || !*self->script ? 'c' : *self->script++;
        if (!error) atomic_fetch_add(&self->request_count, 1);
        if (action != 'c' && action != 's') answer(socket, action, &request, arena);
        nl_error_free(error);
        nl_arena_free(arena);
        if (action == 'c' || action == 'A' || action == 'g') break;
    }
    close(socket);
}

static void *run(void *argument)
{
    fake_metastore *self = argument;
    for (;;) {
        const int socket = accept(self->listener, NULL, NULL);
        if (socket < 0) return NULL;
        serve(self, socket);
    }
}

static void start(fake_metastore *self, const char *script)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    memset(self, 0, sizeof(*self));
    self->script = script;
    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(self->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(listen(self->listener, 8), 0);
    snprintf(self->port, sizeof(self->port), "%u", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&self->thread, NULL, run, self), 0);
}

/* After the client has closed its connections. */
static void stop(fake_metastore *self)
{
    shutdown(self->listener, SHUT_RDWR);
    pthread_join(self->thread, NULL);
    close(self->listener);
}

static const nl_hive_method reading = {.name = "get_database", .exceptions = {"MetaException", "NoSuchObjectException"}};
static const nl_hive_method changing = {.name = "create_table", .changes = true, .exceptions = {"AlreadyExistsException", "InvalidObjectException"}};

typedef struct fixture {
    fake_metastore metastore;
    nl_hive_address addresses[2];
    nl_hive_options options;
    nl_hive_client *client;
    nl_arena *arena;
    nl_hive_answer answer;
} fixture;

static void begin(fixture *self, const char *script)
{
    memset(self, 0, sizeof(*self));
    start(&self->metastore, script);
    self->addresses[0] = self->addresses[1] = (nl_hive_address){NL_STR("127.0.0.1"), nl_str_from(self->metastore.port)};
    self->options = (nl_hive_options){.addresses = self->addresses, .address_count = 1, .uri = NL_STR("thrift://fake"), .idle_max = 2, .connect_tries = 1, .timeout_ms = 500,
                                      .answer_bytes_max = 1 << 20};
    self->arena = nl_arena_new(NULL);
    assert_ok(nl_hive_client_new(&self->options, NULL, &self->client));
}

static nl_status call(fixture *self, const nl_hive_method *method)
{
    const nl_wire_value arguments = nl_wire_struct();
    return nl_hive_call(self->client, method, &arguments, self->arena, &self->answer);
}

static void end(fixture *self, unsigned request_count)
{
    nl_hive_client_free(self->client);
    stop(&self->metastore);
    assert_int_equal(atomic_load(&self->metastore.request_count), request_count);
    nl_arena_free(self->arena);
}

static void expect_kind(nl_status status, nl_error_kind kind, const char *words)
{
    assert_non_null(status);
    if (!strstr(nl_error_message(status), words)) fail_msg("%s", nl_error_message(status));
    assert_int_equal(nl_error_kind_of(status), kind);
    nl_error_free(status);
}

static void test_connections_are_kept_and_answers_are_results(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "aaa");
    for (int i = 0; i < 3; i++) {
        assert_ok(call(&self, i == 1 ? &changing : &reading));
        assert_null(self.answer.exception);
        assert_true(nl_str_is(self.answer.result->text, "done"));
    }
    end(&self, 3);
}

static void test_a_question_is_asked_again_when_its_answer_is_lost(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "ca");
    assert_ok(call(&self, &reading));
    end(&self, 2);
}

static void test_a_change_is_not_sent_again_and_its_outcome_is_unknown(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "ca");
    expect_kind(call(&self, &changing), NL_KIND_UNKNOWN_STATE, "closed the connection");
    end(&self, 1);
}

static void test_garbage_after_a_change_leaves_its_outcome_unknown(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "ga");
    expect_kind(call(&self, &changing), NL_KIND_UNKNOWN_STATE, "breaks the Thrift protocol");
    end(&self, 1);
}

static void test_a_connection_that_the_other_side_closed_is_not_used(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "Aa");
    assert_ok(call(&self, &reading));
    usleep(100000); /* until the end of the connection has arrived */
    assert_ok(call(&self, &changing));
    end(&self, 2);
}

static void test_silence_ends_with_the_time(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "s");
    const int64_t before = nl_hive_now_ms();
    expect_kind(call(&self, &changing), NL_KIND_UNKNOWN_STATE, "the time is up");
    assert_true(nl_hive_now_ms() - before < 5000);
    end(&self, 1);
}

static void test_nobody_there_is_a_failure_that_changed_nothing(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "");
    self.addresses[0].port = NL_STR("1");
    expect_kind(call(&self, &changing), NL_KIND_RETRY, "Connection refused");
    end(&self, 0);
}

static void test_the_next_address_is_taken(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "a");
    self.addresses[0].port = NL_STR("1");
    self.options.address_count = 2;
    assert_ok(call(&self, &changing));
    end(&self, 1);
}

static void test_what_is_thrown_has_its_name(void **state)
{
    fixture self;
    (void)state;
    begin(&self, "eu");
    assert_ok(call(&self, &reading));
    assert_true(nl_hive_is(&self.answer, "NoSuchObjectException"));
    assert_true(nl_str_is(self.answer.message, "no such thing"));
    assert_fails(nl_hive_failure(&self.answer, &reading), NILAS_VALIDATION_FAILED, "refused get_database with NoSuchObjectException: no such thing");
    assert_ok(call(&self, &reading));
    assert_true(nl_hive_is(&self.answer, "UnknownMethod"));
    end(&self, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_connections_are_kept_and_answers_are_results),
        cmocka_unit_test(test_a_question_is_asked_again_when_its_answer_is_lost),
        cmocka_unit_test(test_a_change_is_not_sent_again_and_its_outcome_is_unknown),
        cmocka_unit_test(test_garbage_after_a_change_leaves_its_outcome_unknown),
        cmocka_unit_test(test_a_connection_that_the_other_side_closed_is_not_used),
        cmocka_unit_test(test_silence_ends_with_the_time),
        cmocka_unit_test(test_nobody_there_is_a_failure_that_changed_nothing),
        cmocka_unit_test(test_the_next_address_is_taken),
        cmocka_unit_test(test_what_is_thrown_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
