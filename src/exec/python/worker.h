/* exec/python/worker.h - processes of the user's own Python that run functions, and the frames exchanged with them.
 *
 * A frame is a letter, a length (4 bytes, little endian) and so many bytes; python/nilas/worker.py lists the letters.
 * A pool belongs to a session: processes are reused by its later queries and end with it. They have their own process
 * group (Ctrl-C in a terminal does not reach them) and end when the other end of their socket is closed, so that none
 * outlives this process, however that ends.
 * Threads: the pool may be used from many threads; a worker by one at a time.
 */
#pragma once

#include "base/pool.h"
#include "session/session.h"

#define NL_PYTHON_FRAME_MAX ((size_t)1 << 31)

typedef struct nl_python_pool nl_python_pool;
typedef struct nl_python_worker nl_python_worker; /* a process at work for one task */

/* The session's pool: made when first asked for, borrowed. */
NL_MUST_USE nl_status nl_python_pool_of(nl_session *session, nl_python_pool **pool);

/* An idle process of that interpreter (an absolute path or a name) or a new one. cancel, memory (pays for what comes back): borrowed until the worker is given back.
 * Fails: NILAS_PYTHON_WORKER (no Python, too many processes). */
NL_MUST_USE nl_status nl_python_worker_take(nl_python_pool *pool, nl_str interpreter, const nl_cancel *cancel, nl_memory *memory, nl_python_worker **worker);
/* Ends the session's idle processes: new ones are started when they are needed. In the session's turn. */
void nl_python_trim(nl_session *session);
/* Ends the process unless it is reusable and its task is over; an exception of the function is no reason to. NULL is fine. */
void nl_python_worker_give_back(nl_python_worker *worker, bool is_reusable);

typedef struct nl_python_frame {
    char kind;
    nl_buffer *payload; /* counted: yours */
} nl_python_frame;

/* Writes a frame; what the worker says meanwhile is kept for nl_python_receive, so that neither waits for the other.
 * Both fail: NILAS_PYTHON_EXCEPTION (an exception of the function, Spark's text), NILAS_PYTHON_WORKER (it died, or what
 * it wrote is no frame), OPERATION_CANCELED. Then the worker is of no more use. */
NL_MUST_USE nl_status nl_python_send(nl_python_worker *worker, char kind, nl_str payload);
/* The next frame. Without is_waiting *is_there is false when none is complete. */
NL_MUST_USE nl_status nl_python_receive(nl_python_worker *worker, bool is_waiting, nl_python_frame *frame, bool *is_there);

/* Waits a moment for one of several to say something. */
NL_MUST_USE nl_status nl_python_wait_any(nl_python_worker *const *workers, uint32_t count);

/* program.c: the interpreter (spark.pyspark.python, $PYSPARK_PYTHON, an activated environment, python3 on $PATH), and
 * its process with one end of a socket. */
NL_MUST_USE nl_status nl_python_interpreter(const nl_session *session, nl_arena *arena, nl_str *interpreter);
NL_MUST_USE nl_status nl_python_start(nl_str interpreter, pid_t *process, int *socket_file);
/* The same with a program of one's own and more variables ("NAME=value", each with a NUL behind it); what it prints goes where
 * our own output goes. */
NL_MUST_USE nl_status nl_python_start_program(nl_str interpreter, const char *program, const nl_str *variables, uint32_t variable_count, pid_t *process, int *socket_file);
