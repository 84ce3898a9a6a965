/* nilas.h - the public C API: a session, statements, results as Arrow C streams.
 *
 * Threads: a session runs one statement at a time; nilas_session_cancel may be called from any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NILAS_API __attribute__((visibility("default")))

struct ArrowArrayStream; /* the Arrow C stream interface */

typedef struct nilas_session nilas_session;
typedef struct nilas_error nilas_error;

/* Opens a session. keys and values: `count` Spark confs (may be 0), borrowed. A failure is owned by the caller. */
NILAS_API nilas_error *nilas_session_open(const char *const *keys, const char *const *values, size_t count, nilas_session **session);
NILAS_API void nilas_session_close(nilas_session *session); /* NULL is fine */

/* Runs one statement of `length` bytes. *stream is filled in and must be released by the caller before the session is
 * closed; a statement without output gives a stream of no columns. */
NILAS_API nilas_error *nilas_session_run(nilas_session *session, const char *sql, size_t length, struct ArrowArrayStream *stream);
NILAS_API void nilas_session_cancel(nilas_session *session);

/* Spark's condition ("DIVIDE_BY_ZERO"), SQLSTATE ("22012", "" for none) and message. Borrowed from the error. */
NILAS_API const char *nilas_error_condition(const nilas_error *error);
NILAS_API const char *nilas_error_sqlstate(const nilas_error *error);
NILAS_API const char *nilas_error_message(nilas_error *error);
NILAS_API void nilas_error_free(nilas_error *error); /* NULL is fine */

NILAS_API const char *nilas_version(void); /* "0.1.0"; static */

#ifdef __cplusplus
}
#endif
