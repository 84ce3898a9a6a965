/* connect/stream_function.c - PySpark's own worker for foreachBatch (pyspark.sql.connect.streaming.worker), started with one end
 * of a socket. It opens a session of this service under the query's session id; rows are a DataFrame that it names by an id.
 * Numbers are big endian: lengths and answers have four bytes, a batch's number has eight. */
#include "connect/streaming.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/python/program.h"
#include "exec/python/worker.h"
#include "storage/io_error.h"

#define WAIT_MS       100
#define EXCEPTION     (-2)
#define TEXT_MAX      (64 << 20)

/* foreachBatch: the module's main() does all of it, but for what it says to itself. foreach: the function wants the rows of a
 * partition; the batch's rows are one. */
static const char batch_program[] =
    "import socket\n"
    "from pyspark.sql.connect.streaming.worker import foreach_batch_worker as w\n"
    "w.print = lambda *a, **k: None\n"
    "f = socket.socket(fileno=3).makefile('rwb', 65536)\n"
    "w.main(f, f)\n";
static const char foreach_program[] =
    "import socket\n"
    "from pyspark import TaskContext, worker as pw\n"
    "from pyspark.sql.connect.streaming.worker import foreach_batch_worker as w\n"
    "w.print = lambda *a, **k: None\n"
    "def read(serializer, file):\n"
    "    function = serializer._read_with_length(file)[0]\n"
    "    def call(df, batch):\n"
    "        context = TaskContext._getOrCreate()\n"
    "        context._localProperties = {'streaming.sql.batchId': str(batch)}\n"
    "        context._partitionId = 0\n"
    "        for _ in function(0, df.toLocalIterator()): pass\n"
    "    return call\n"
    "w.worker = type('worker', (), {'read_command': staticmethod(read)})\n"
    "f = socket.socket(fileno=3).makefile('rwb', 65536)\n"
    "w.main(f, f)\n";

struct nl_stream_function {
    nl_arena *arena; /* owned */
    nl_str command, python_version, interpreter, url, session_id;
    bool is_foreach;
    pid_t process; /* 0: not started */
    int file;
};

static nl_status raise_died(void)
{
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "The Python process of a streaming query's function has ended unexpectedly.");
}

/* ---- bytes ---- */

static nl_status wait_for(const nl_stream_function *self, short events, const nl_cancel *cancel)
{
    struct pollfd at = {.fd = self->file, .events = events};
    NL_TRY(nl_cancel_check(cancel));
    return poll(&at, 1, WAIT_MS) < 0 && errno != EINTR ? nl_raise_errno(errno, "Waiting for", NL_STR("a Python worker")) : NULL;
}

static nl_status send_bytes(const nl_stream_function *self, const void *bytes, size_t length, const nl_cancel *cancel)
{
    for (size_t done = 0; done < length;) {
        const ssize_t sent = send(self->file, (const char *)bytes + done, length - done, MSG_NOSIGNAL);
        if (sent > 0) done += (size_t)sent;
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return raise_died();
        if (sent < 0) NL_TRY(wait_for(self, POLLOUT, cancel));
    }
    return NULL;
}

static nl_status receive_bytes(const nl_stream_function *self, void *into, size_t length, const nl_cancel *cancel)
{
    for (size_t done = 0; done < length;) {
        const ssize_t got = recv(self->file, (char *)into + done, length - done, 0);
        if (got > 0) done += (size_t)got;
        if (got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)) return raise_died();
        if (got < 0) NL_TRY(wait_for(self, POLLIN, cancel));
    }
    return NULL;
}

static nl_status send_int(const nl_stream_function *self, int32_t number, const nl_cancel *cancel)
{
    const uint32_t bits = (uint32_t)number;
    const uint8_t bytes[4] = {(uint8_t)(bits >> 24), (uint8_t)(bits >> 16), (uint8_t)(bits >> 8), (uint8_t)bits};
    return send_bytes(self, bytes, sizeof bytes, cancel);
}

static nl_status send_text(const nl_stream_function *self, nl_str text, const nl_cancel *cancel)
{
    NL_TRY(send_int(self, (int32_t)text.length, cancel));
    return send_bytes(self, text.data, text.length, cancel);
}

static nl_status receive_int(const nl_stream_function *self, int32_t *number, const nl_cancel *cancel)
{
    uint8_t bytes[4];
    NL_TRY(receive_bytes(self, bytes, sizeof bytes, cancel));
    *number = (int32_t)((uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3]);
    return NULL;
}

/* 0, or an exception with its traceback. */
static nl_status receive_answer(const nl_stream_function *self, const nl_cancel *cancel)
{
    int32_t answer = 0, length = 0;
    NL_TRY(receive_int(self, &answer, cancel));
    if (answer == 0) return NULL;
    if (answer != EXCEPTION) return raise_died();
    NL_TRY(receive_int(self, &length, cancel));
    if (length < 0 || length > TEXT_MAX) return raise_died();
    char *text = malloc((size_t)length + 1);
    if (!text) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", length), NL_P("receivedBytes", "0"));
    nl_status status = receive_bytes(self, text, (size_t)length, cancel);
    if (!status) status = NL_RAISE_TEXT(NILAS_PYTHON_EXCEPTION, "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch sink. Reason: %.*s", (int)length, text);
    free(text);
    return status;
}

/* ---- the process ---- */

static nl_status start(nl_stream_function *self, const nl_cancel *cancel)
{
    const nl_str variables[] = {nl_arena_f(self->arena, "SPARK_CONNECT_LOCAL_URL=" NL_STR_FMT, NL_STR_ARG(self->url)), NL_STR("SPARK_CONNECT_MODE_ENABLED=1")};
    NL_TRY(nl_python_start_program(self->interpreter, self->is_foreach ? foreach_program : batch_program, variables, NL_COUNT(variables), &self->process, &self->file));
    NL_TRY(send_text(self, self->python_version, cancel));
    NL_TRY(send_text(self, self->session_id, cancel));
    NL_TRY(send_text(self, self->command, cancel));
    return receive_answer(self, cancel);
}

nl_status nl_stream_function_call(nl_stream_function *self, nl_str rows_id, int64_t batch, const nl_cancel *cancel)
{
    if (!self->process) NL_TRY(start(self, cancel));
    NL_TRY(send_text(self, rows_id, cancel));
    NL_TRY(send_int(self, (int32_t)(batch >> 32), cancel));
    NL_TRY(send_int(self, (int32_t)(uint32_t)batch, cancel));
    return receive_answer(self, cancel);
}

static nl_str service_url(nl_client *client, nl_arena *arena)
{
    const nl_connect_options *options = &client->connect->options;
    const bool is_any = !options->host.length || nl_str_is(options->host, "0.0.0.0") || nl_str_is(options->host, "127.0.0.1");
    const nl_str host = !is_any ? options->host : options->token.length ? NL_STR("localhost") : NL_STR("127.0.0.1");
    nl_str url = nl_arena_f(arena, "sc://" NL_STR_FMT ":%u/;user_id=" NL_STR_FMT, NL_STR_ARG(host), nl_connect_port(client->connect), NL_STR_ARG(client->user));
    if (options->token.length) url = nl_arena_f(arena, NL_STR_FMT ";token=" NL_STR_FMT, NL_STR_ARG(url), NL_STR_ARG(options->token));
    if (options->tls_certificate.length) url = nl_arena_f(arena, NL_STR_FMT ";use_ssl=true", NL_STR_ARG(url));
    return url;
}

nl_status nl_stream_function_new(nl_client *client, nl_session *session, const ProtobufCBinaryData *command, nl_str python_version, bool is_foreach, nl_stream_function **function)
{
    nl_arena *arena = nl_arena_new(client->connect->memory);
    nl_stream_function *made = NL_NEW(arena, nl_stream_function);
    *made = (nl_stream_function){.arena = arena, .is_foreach = is_foreach, .file = -1};
    made->command = nl_arena_str(arena, (nl_str){(const char *)command->data, command->len});
    made->python_version = nl_arena_str(arena, python_version);
    made->session_id = nl_arena_str(arena, client->id);
    made->url = service_url(client, arena);
    nl_status status = nl_python_interpreter(session, arena, &made->interpreter);
    if (!status) made->interpreter = nl_arena_str(arena, made->interpreter);
    if (!status) status = nl_arena_check(arena);
    if (status)
        nl_arena_free(arena);
    else
        *function = made;
    return status;
}

void nl_stream_function_free(nl_stream_function *function)
{
    if (!function) return;
    if (function->file >= 0) close(function->file);
    if (function->process) {
        kill(-function->process, SIGKILL);
        kill(function->process, SIGKILL);
        while (waitpid(function->process, NULL, 0) < 0 && errno == EINTR) {}
    }
    nl_arena_free(function->arena);
}
