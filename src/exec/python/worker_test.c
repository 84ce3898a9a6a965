#include "base/number.h"
#include "base/test_support.h"
#include "exec/python/worker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* A Python without pyspark that does what the order (T) says, in place of python/nilas/worker.py. */
static const char fake[] =
    "#!/usr/bin/env python3\n"
    "import os, socket, struct, sys, time\n"
    "s = socket.socket(fileno=3); f = s.makefile('rb')\n"
    "def frame():\n"
    "    head = f.read(5)\n"
    "    if len(head) < 5: sys.exit(0)\n"
    "    return head[:1], f.read(struct.unpack('<I', head[1:])[0])\n"
    "def send(kind, payload=b''): s.sendall(kind + struct.pack('<I', len(payload)) + payload)\n"
    "while True:\n"
    "    order = frame()[1].decode()\n"
    "    if order == 'die': os._exit(3)\n"
    "    if order == 'garbage': s.sendall(b'hello from a function that writes where it must not'); time.sleep(600)\n"
    "    if order == 'huge': s.sendall(b'R\\xff\\xff\\xff\\xff'); time.sleep(600)\n"
    "    if order == 'large': send(b'R', bytes(64 << 20)); continue\n"
    "    if order == 'half': s.sendall(b'R' + struct.pack('<I', 100) + b'x'); os._exit(0)\n"
    "    if order == 'hang':\n"
    "        send(b'R', str(os.getpid()).encode())\n"
    "        while True: time.sleep(600)\n"
    "    if order == 'error':\n"
    "        send(b'X', b'Traceback: of the function')\n"
    "        while frame()[0] != b'K': pass\n"
    "        continue\n"
    "    if order == 'pid': send(b'R', str(os.getpid()).encode()); send(b'D', b'1'); continue\n"
    "    if order == 'early': send(b'D', b'0'); time.sleep(600)\n"
    "    if order == 'flood':\n"
    "        for i in range(64): send(b'R', bytes(1 << 20))\n"
    "    while True:\n"
    "        kind, payload = frame()\n"
    "        if kind == b'E': break\n"
    "        send(b'R', payload)\n"
    "    send(b'D', b'1')\n";

typedef struct world {
    char path[64];
    nl_session *session;
    nl_python_pool *pool;
    nl_cancel *cancel;
    nl_memory *memory;
} world;

static int set_up(void **state)
{
    world *w = calloc(1, sizeof *w);
    snprintf(w->path, sizeof(w->path), "/tmp/nilas-fake-python-%d", (int)getpid());
    FILE *file = fopen(w->path, "w");
    assert_non_null(file);
    fputs(fake, file);
    fclose(file);
    chmod(w->path, 0700);
    const nl_property confs[] = {{NL_STR("spark.pyspark.python"), nl_str_from(w->path)}};
    assert_ok(nl_session_new(confs, 1, &w->session));
    assert_ok(nl_python_pool_of(w->session, &w->pool));
    w->cancel = nl_cancel_new(NULL);
    w->memory = nl_memory_new(NULL, "test", (size_t)32 << 20);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    world *w = *state;
    nl_session_free(w->session);
    assert_int_equal(nl_memory_used(w->memory), 0);
    nl_memory_release(w->memory);
    nl_cancel_release(w->cancel);
    unlink(w->path);
    free(w);
    return 0;
}

static nl_status take(world *w, nl_memory *memory, nl_python_worker **worker)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_str interpreter = {0};
    nl_status status = nl_python_interpreter(w->session, arena, &interpreter);
    if (!status) status = nl_python_worker_take(w->pool, interpreter, w->cancel, memory, worker);
    nl_arena_free(arena);
    return status;
}

static nl_python_worker *ordered(world *w, const char *order)
{
    nl_python_worker *worker = NULL;
    assert_ok(take(w, w->memory, &worker));
    assert_ok(nl_python_send(worker, 'T', nl_str_from(order)));
    return worker;
}

static char next_kind(nl_python_worker *worker, char *text, size_t size)
{
    nl_python_frame frame = {0};
    bool is_there = false;
    assert_ok(nl_python_receive(worker, true, &frame, &is_there));
    assert_true(is_there);
    if (text) snprintf(text, size, "%.*s", (int)frame.payload->size_bytes, (const char *)frame.payload->data);
    nl_buffer_release(frame.payload);
    return frame.kind;
}

static pid_t pid_of(const char *text)
{
    int64_t number = 0;
    assert_true(nl_parse_int64(nl_str_from(text), &number));
    return (pid_t)number;
}

static pid_t ask_pid(world *w)
{
    char text[32];
    nl_python_worker *worker = ordered(w, "pid");
    assert_int_equal(next_kind(worker, text, sizeof(text)), 'R');
    assert_int_equal(next_kind(worker, NULL, 0), 'D');
    nl_python_worker_give_back(worker, true);
    return pid_of(text);
}

static void test_frames_come_back_in_order(void **state)
{
    nl_python_worker *worker = ordered(*state, "echo");
    char text[32], wanted[32];
    for (int i = 0; i < 100; i++) {
        snprintf(wanted, sizeof(wanted), "batch %d", i);
        assert_ok(nl_python_send(worker, 'B', nl_str_from(wanted)));
    }
    assert_ok(nl_python_send(worker, 'E', (nl_str){0}));
    for (int i = 0; i < 100; i++) {
        snprintf(wanted, sizeof(wanted), "batch %d", i);
        assert_int_equal(next_kind(worker, text, sizeof(text)), 'R');
        assert_string_equal(text, wanted);
    }
    assert_int_equal(next_kind(worker, NULL, 0), 'D');
    nl_python_worker_give_back(worker, true);
}

/* Each waits for the other when both write and neither reads. */
static void test_large_frames_both_ways_do_not_lock_up(void **state)
{
    world *w = *state;
    nl_memory *large = nl_memory_new(NULL, "large", (size_t)1 << 30);
    nl_python_worker *worker = NULL;
    char *bytes = calloc(1, (size_t)16 << 20);
    assert_ok(take(w, large, &worker));
    assert_ok(nl_python_send(worker, 'T', NL_STR("flood")));
    assert_ok(nl_python_send(worker, 'B', (nl_str){bytes, (size_t)16 << 20}));
    assert_ok(nl_python_send(worker, 'E', (nl_str){0}));
    for (int i = 0; i < 65; i++) assert_int_equal(next_kind(worker, NULL, 0), 'R');
    assert_int_equal(next_kind(worker, NULL, 0), 'D');
    nl_python_worker_give_back(worker, true);
    nl_memory_release(large);
    free(bytes);
}

static void test_processes_are_reused_and_end_with_the_session(void **state)
{
    world *w = *state;
    const pid_t first = ask_pid(w);
    assert_int_equal(ask_pid(w), first);
    assert_int_equal(kill(first, 0), 0);
    nl_session_free(w->session);
    assert_int_equal(kill(first, 0), -1);
    const nl_property confs[] = {{NL_STR("spark.pyspark.python"), nl_str_from(w->path)}};
    assert_ok(nl_session_new(confs, 1, &w->session));
    assert_ok(nl_python_pool_of(w->session, &w->pool));
}

static void test_an_idle_process_that_has_died_is_not_given_out(void **state)
{
    world *w = *state;
    const pid_t first = ask_pid(w);
    kill(first, SIGKILL);
    usleep(100000);
    assert_int_not_equal(ask_pid(w), first);
}

static void fails_after(world *w, const char *order, nl_condition condition, const char *text)
{
    nl_python_worker *worker = ordered(w, order);
    nl_python_frame frame = {0};
    bool is_there = false;
    assert_fails_at(nl_python_receive(worker, true, &frame, &is_there), condition, text, order, __LINE__);
    nl_python_worker_give_back(worker, true); /* says it is reusable: it must not be */
    assert_int_not_equal(ask_pid(w), 0);
}

static void test_what_a_worker_does_wrong_is_an_error_and_the_next_one_works(void **state)
{
    fails_after(*state, "die", NL_COND_NILAS_PYTHON_WORKER, "Python worker exited unexpectedly");
    fails_after(*state, "half", NL_COND_NILAS_PYTHON_WORKER, "Python worker exited unexpectedly");
    fails_after(*state, "garbage", NL_COND_NILAS_PYTHON_WORKER, "no answer");
    fails_after(*state, "huge", NL_COND_NILAS_PYTHON_WORKER, "no answer");
    fails_after(*state, "error", NL_COND_NILAS_PYTHON_EXCEPTION, "Traceback: of the function");
    fails_after(*state, "large", NL_COND_UNABLE_TO_ACQUIRE_MEMORY, NULL); /* 64 MiB for a query of 32 */
}

static void test_a_process_outlives_an_exception_of_its_function(void **state)
{
    world *w = *state;
    const pid_t first = ask_pid(w);
    fails_after(w, "error", NL_COND_NILAS_PYTHON_EXCEPTION, NULL);
    assert_int_equal(ask_pid(w), first);
}

static void test_a_worker_that_wants_no_more_ends_the_sending(void **state)
{
    nl_python_worker *worker = ordered(*state, "early");
    char *bytes = calloc(1, (size_t)8 << 20);
    for (int i = 0; i < 4; i++) assert_ok(nl_python_send(worker, 'B', (nl_str){bytes, (size_t)8 << 20}));
    assert_int_equal(next_kind(worker, NULL, 0), 'D');
    nl_python_worker_give_back(worker, false);
    free(bytes);
}

static void *cancel_soon(void *context)
{
    usleep(200000);
    nl_cancel_set(context);
    return NULL;
}

static void test_a_worker_that_hangs_ends_when_the_query_is_cancelled(void **state)
{
    world *w = *state;
    char text[32];
    nl_python_worker *worker = ordered(w, "hang");
    assert_int_equal(next_kind(worker, text, sizeof(text)), 'R');
    pthread_t thread;
    pthread_create(&thread, NULL, cancel_soon, w->cancel);
    nl_python_frame frame = {0};
    bool is_there = false;
    assert_fails(nl_python_receive(worker, true, &frame, &is_there), OPERATION_CANCELED, NULL);
    pthread_join(thread, NULL);
    nl_python_worker_give_back(worker, true);
    assert_int_equal(kill(pid_of(text), 0), -1);
}

static void test_a_python_that_is_not_there_is_named(void **state)
{
    world *w = *state;
    nl_python_worker *worker = NULL;
    assert_ok(nl_session_set(w->session, NL_STR("spark.pyspark.python"), NL_STR("/no/such/python")));
    assert_fails(take(w, w->memory, &worker), NILAS_PYTHON_WORKER, "spark.pyspark.python names the Python /no/such/python");
}

int main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_frames_come_back_in_order),
        WITH_WORLD(test_large_frames_both_ways_do_not_lock_up),
        WITH_WORLD(test_processes_are_reused_and_end_with_the_session),
        WITH_WORLD(test_an_idle_process_that_has_died_is_not_given_out),
        WITH_WORLD(test_what_a_worker_does_wrong_is_an_error_and_the_next_one_works),
        WITH_WORLD(test_a_process_outlives_an_exception_of_its_function),
        WITH_WORLD(test_a_worker_that_wants_no_more_ends_the_sending),
        WITH_WORLD(test_a_worker_that_hangs_ends_when_the_query_is_cancelled),
        WITH_WORLD(test_a_python_that_is_not_there_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
