/* exec/python/worker.c - the pool of processes, and frames over non-blocking sockets. */
#include "exec/python/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/calendar.h"
#include "base/lock.h"
#include "storage/io_error.h"

#define HEAD_BYTES      5u
#define WAIT_MS         100  /* between looks at the cancellation */
#define IDLE_MICROS     (60 * (int64_t)1000000) /* then an idle process is one too many */
#define PROCESSES_PER_CORE 8u
#define PROCESSES_MIN   64u

typedef struct kept_frame {
    struct kept_frame *next;
    nl_python_frame frame;
} kept_frame;

struct nl_python_worker {
    nl_python_worker *next;   /* of the idle ones */
    nl_python_pool *pool;
    char *interpreter;
    pid_t process;
    int file;
    int64_t idle_since;       /* microseconds */
    const nl_cancel *cancel;
    nl_memory *memory;
    uint8_t head[HEAD_BYTES]; /* of the frame that is coming */
    size_t head_length;
    nl_buffer *payload;       /* room for all of it; NULL: its head is not complete */
    size_t payload_length;
    kept_frame *first, *last; /* complete ones that nobody has asked for */
    bool has_failed;          /* its function raised an exception: it waits to hear that the task is over */
    bool is_broken;
};

struct nl_python_pool {
    nl_session_attachment base;
    nl_mutex mutex;
    nl_python_worker *idle; /* guarded by mutex */
    uint32_t process_count; /* guarded by mutex; at work and idle */
    uint32_t process_max;
};

/* ---- processes ---- */

static void drop_frames(nl_python_worker *worker)
{
    while (worker->first) {
        kept_frame *frame = worker->first;
        worker->first = frame->next;
        nl_buffer_release(frame->frame.payload);
        free(frame);
    }
    worker->last = NULL;
    nl_buffer_release(worker->payload);
    worker->payload = NULL;
    worker->head_length = 0;
}

/* Its whole group: what the function has started ends with it. */
static void end_process(nl_python_worker *worker)
{
    close(worker->file);
    kill(-worker->process, SIGKILL);
    kill(worker->process, SIGKILL);
    while (waitpid(worker->process, NULL, 0) < 0 && errno == EINTR) {}
    drop_frames(worker);
    free(worker->interpreter);
    free(worker);
}

static void end_all(nl_python_worker *list)
{
    while (list) {
        nl_python_worker *next = list->next;
        end_process(list);
        list = next;
    }
}

static void free_pool(nl_session_attachment *self)
{
    nl_python_pool *pool = NL_CONTAINER(self, nl_python_pool, base);
    end_all(pool->idle);
    nl_mutex_fini(&pool->mutex);
    free(pool);
}

nl_status nl_python_pool_of(nl_session *session, nl_python_pool **pool)
{
    nl_session_attachment *attachment = nl_session_python(session);
    if (attachment) {
        *pool = NL_CONTAINER(attachment, nl_python_pool, base);
        return NULL;
    }
    nl_python_pool *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made), NL_P_INT("receivedBytes", 0));
    made->base.free = free_pool;
    made->process_max = NL_MAX(PROCESSES_MIN, PROCESSES_PER_CORE * nl_pool_thread_count(nl_session_pool(session)));
    nl_mutex_init(&made->mutex);
    attachment = nl_session_set_python(session, &made->base);
    if (attachment != &made->base) free_pool(&made->base);
    *pool = NL_CONTAINER(attachment, nl_python_pool, base);
    return NULL;
}

void nl_python_trim(nl_session *session)
{
    nl_session_attachment *attachment = nl_session_python(session);
    if (!attachment) return;
    nl_python_pool *pool = NL_CONTAINER(attachment, nl_python_pool, base);
    nl_mutex_lock(&pool->mutex);
    nl_python_worker *idle = pool->idle;
    pool->idle = NULL;
    for (const nl_python_worker *worker = idle; worker; worker = worker->next) pool->process_count--;
    nl_mutex_unlock(&pool->mutex);
    end_all(idle);
}

/* An idle process says nothing; one that has ended has its end of the socket closed. */
static bool is_alive(const nl_python_worker *worker)
{
    struct pollfd at = {.fd = worker->file, .events = POLLIN};
    return poll(&at, 1, 0) == 0;
}

/* Takes an idle one of this interpreter; those that are dead or have been idle too long go to *ended. */
static nl_python_worker *take_idle(nl_python_pool *pool, nl_str interpreter, nl_python_worker **ended)
{
    const int64_t now = nl_now_micros();
    nl_python_worker *found = NULL, **link = &pool->idle;
    while (*link) {
        nl_python_worker *worker = *link;
        const bool is_good = is_alive(worker) && nl_str_is(interpreter, worker->interpreter);
        if (is_good && !found) {
            found = worker;
            *link = worker->next;
        } else if (!is_good || now - worker->idle_since > IDLE_MICROS) {
            *link = worker->next;
            worker->next = *ended;
            *ended = worker;
            pool->process_count--;
        } else {
            link = &worker->next;
        }
    }
    return found;
}

static nl_status start(nl_python_pool *pool, nl_str interpreter, nl_python_worker **worker)
{
    nl_python_worker *made = calloc(1, sizeof *made);
    char *name = strndup(interpreter.data, interpreter.length);
    nl_status status = NULL;
    if (!made || !name) status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *made), NL_P_INT("receivedBytes", 0));
    if (!status) status = nl_python_start(interpreter, &made->process, &made->file);
    if (status) {
        free(made);
        free(name);
        return status;
    }
    made->interpreter = name;
    made->pool = pool;
    *worker = made;
    return NULL;
}

/* Room for one more process, or a refusal: two functions of one query that waited for each other's would wait for ever. */
static nl_status reserve(nl_python_pool *pool)
{
    nl_mutex_lock(&pool->mutex);
    const bool is_full = pool->process_count >= pool->process_max;
    if (!is_full) pool->process_count++;
    nl_mutex_unlock(&pool->mutex);
    if (!is_full) return NULL;
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "The session runs %u Python workers already, as many as it may.", pool->process_max);
}

nl_status nl_python_worker_take(nl_python_pool *pool, nl_str interpreter, const nl_cancel *cancel, nl_memory *memory, nl_python_worker **worker)
{
    nl_python_worker *ended = NULL, *found = NULL;
    nl_status status = NULL;
    nl_mutex_lock(&pool->mutex);
    found = take_idle(pool, interpreter, &ended);
    nl_mutex_unlock(&pool->mutex);
    end_all(ended);
    if (!found) {
        status = reserve(pool);
        if (!status) {
            status = start(pool, interpreter, &found);
            if (status) {
                nl_mutex_lock(&pool->mutex);
                pool->process_count--;
                nl_mutex_unlock(&pool->mutex);
            }
        }
    }
    NL_TRY(status);
    found->cancel = cancel;
    found->memory = memory;
    *worker = found;
    return NULL;
}

/* A small frame finds room, or the process is given up. */
static bool end_failed_task(nl_python_worker *worker)
{
    static const char over[HEAD_BYTES] = {'K'};
    if (worker->is_broken) return false;
    drop_frames(worker);
    worker->has_failed = false;
    return send(worker->file, over, sizeof over, MSG_NOSIGNAL) == (ssize_t)sizeof over;
}

void nl_python_worker_give_back(nl_python_worker *worker, bool is_reusable)
{
    if (!worker) return;
    nl_python_pool *pool = worker->pool;
    const bool is_over = worker->has_failed ? end_failed_task(worker) : is_reusable;
    const bool is_kept = is_over && !worker->is_broken && !worker->first && !worker->payload && !worker->head_length;
    worker->cancel = NULL;
    worker->memory = NULL;
    worker->idle_since = nl_now_micros();
    nl_mutex_lock(&pool->mutex);
    if (is_kept) {
        worker->next = pool->idle;
        pool->idle = worker;
    } else {
        pool->process_count--;
    }
    nl_mutex_unlock(&pool->mutex);
    if (!is_kept) end_process(worker);
}

/* ---- frames ---- */

static nl_status raise_died(void)
{
    return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "Python worker exited unexpectedly (crashed). Consider setting "
                                              "'spark.sql.execution.pyspark.udf.faulthandler.enabled' or'spark.python.worker.faulthandler.enabled' "
                                              "configuration to 'true' for the better Python traceback.");
}

static nl_status raise_exception(const nl_buffer *text)
{
    return NL_RAISE(NILAS_PYTHON_EXCEPTION, NL_P_STR("message", ((nl_str){(const char *)text->data, text->size_bytes})));
}

/* The head is complete. */
static nl_status start_payload(nl_python_worker *worker)
{
    const char kind = (char)worker->head[0];
    const size_t length = worker->head[1] | (size_t)worker->head[2] << 8 | (size_t)worker->head[3] << 16 | (size_t)worker->head[4] << 24;
    if ((kind != 'R' && kind != 'X' && kind != 'D' && kind != 'W') || length > NL_PYTHON_FRAME_MAX)
        return NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "The Python worker has written what is no answer (a frame %d of %zu bytes). Does the function write to file 3?",
                             kind, length);
    worker->payload_length = 0;
    return nl_buffer_new(worker->memory, length, false, &worker->payload);
}

static nl_status keep_frame(nl_python_worker *worker)
{
    const char kind = (char)worker->head[0];
    worker->has_failed = kind == 'X';
    if (kind == 'X') return raise_exception(worker->payload);
    kept_frame *frame = calloc(1, sizeof *frame);
    if (!frame) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof *frame), NL_P_INT("receivedBytes", 0));
    frame->frame = (nl_python_frame){.kind = kind, .payload = worker->payload};
    if (worker->last)
        worker->last->next = frame;
    else
        worker->first = frame;
    worker->last = frame;
    worker->payload = NULL;
    worker->head_length = 0;
    return NULL;
}

/* Reads what is there. *has_ended: nothing will come any more. */
static nl_status read_some(nl_python_worker *worker, bool *has_ended)
{
    for (;;) {
        const bool is_head = !worker->payload;
        uint8_t *into = is_head ? worker->head + worker->head_length : worker->payload->data + worker->payload_length;
        const size_t wanted = is_head ? HEAD_BYTES - worker->head_length : worker->payload->size_bytes - worker->payload_length;
        if (wanted) {
            const ssize_t got = recv(worker->file, into, wanted, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return NULL;
            if (got <= 0) {
                *has_ended = true;
                return NULL;
            }
            if (is_head)
                worker->head_length += (size_t)got;
            else
                worker->payload_length += (size_t)got;
        }
        if (is_head && worker->head_length == HEAD_BYTES) NL_TRY(start_payload(worker));
        if (worker->payload && worker->payload_length == worker->payload->size_bytes) NL_TRY(keep_frame(worker));
    }
}

/* Waits until something can be read (or written). */
static nl_status wait_for(nl_python_worker *worker, bool is_writing, bool *can_write, bool *has_ended)
{
    struct pollfd at = {.fd = worker->file, .events = (short)(POLLIN | (is_writing ? POLLOUT : 0))};
    NL_TRY(nl_cancel_check(worker->cancel));
    const int count = poll(&at, 1, WAIT_MS);
    if (count < 0 && errno != EINTR) return nl_raise_errno(errno, "Waiting for", NL_STR("a Python worker"));
    *can_write = count > 0 && (at.revents & POLLOUT);
    return count > 0 && (at.revents & (POLLIN | POLLHUP | POLLERR)) ? read_some(worker, has_ended) : NULL;
}

nl_status nl_python_wait_any(nl_python_worker *const *workers, uint32_t count)
{
    enum { COUNT_MAX = 64 };
    struct pollfd at[COUNT_MAX];
    count = NL_MIN(count, (uint32_t)COUNT_MAX);
    if (count) NL_TRY(nl_cancel_check(workers[0]->cancel));
    for (uint32_t i = 0; i < count; i++) at[i] = (struct pollfd){.fd = workers[i]->file, .events = POLLIN};
    if (poll(at, count, WAIT_MS) < 0 && errno != EINTR) return nl_raise_errno(errno, "Waiting for", NL_STR("Python workers"));
    return NULL;
}

static nl_status send_bytes(nl_python_worker *worker, nl_str bytes)
{
    size_t done = 0;
    bool has_ended = false;
    while (done < bytes.length) {
        const ssize_t sent = send(worker->file, bytes.data + done, bytes.length - done, MSG_NOSIGNAL);
        if (sent > 0) {
            done += (size_t)sent;
            continue;
        }
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK) { /* it may have said why */
            NL_TRY(read_some(worker, &has_ended));
            return worker->last && worker->last->frame.kind == 'D' ? NULL : raise_died();
        }
        bool can_write = false;
        NL_TRY(wait_for(worker, true, &can_write, &has_ended));
        if (worker->last && worker->last->frame.kind == 'D') return NULL; /* it wants no more */
        if (has_ended) return raise_died();
    }
    return NULL;
}

static nl_status note_break(nl_python_worker *worker, nl_status status)
{
    worker->is_broken = worker->is_broken || status;
    return status;
}

nl_status nl_python_send(nl_python_worker *worker, char kind, nl_str payload)
{
    if (payload.length > NL_PYTHON_FRAME_MAX)
        return note_break(worker, NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A function in Python would get more than 2 GiB at once."));
    const uint32_t length = (uint32_t)payload.length;
    const char head[HEAD_BYTES] = {kind, (char)(length & 0xff), (char)(length >> 8 & 0xff), (char)(length >> 16 & 0xff), (char)(length >> 24)};
    NL_TRY(note_break(worker, send_bytes(worker, (nl_str){head, sizeof head})));
    return note_break(worker, send_bytes(worker, payload));
}

/* Nothing was being sent: an exception of the function leaves both sides between two frames. */
static nl_status note_read(nl_python_worker *worker, nl_status status)
{
    return worker->has_failed ? status : note_break(worker, status);
}

nl_status nl_python_receive(nl_python_worker *worker, bool is_waiting, nl_python_frame *frame, bool *is_there)
{
    bool has_ended = false, can_write;
    NL_TRY(note_read(worker, worker->first ? NULL : read_some(worker, &has_ended)));
    while (!worker->first && !has_ended && is_waiting) NL_TRY(note_read(worker, wait_for(worker, false, &can_write, &has_ended)));
    if (!worker->first && has_ended) return note_break(worker, raise_died());
    *is_there = worker->first != NULL;
    if (!worker->first) return NULL;
    kept_frame *kept = worker->first;
    *frame = kept->frame;
    worker->first = kept->next;
    if (!worker->first) worker->last = NULL;
    free(kept);
    return NULL;
}
