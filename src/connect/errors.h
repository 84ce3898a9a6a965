/* connect/errors.h - nilas's errors as Spark Connect tells them: a gRPC status with a google.rpc.ErrorInfo, and the whole
 * of it by FetchErrorDetails for some minutes.
 *
 * PySpark raises the first Java class of a list that it knows; classes.def tells which list belongs to which condition.
 */
#pragma once

#include "base/arena.h"
#include "connect/proto/base.pb-c.h"
#include "connect/rpc.h"

/* Errors of one session, remembered for FetchErrorDetails: owned. Threads: any. */
typedef struct nl_error_log nl_error_log;
nl_error_log *nl_error_log_new(void);
void nl_error_log_free(nl_error_log *log);
/* The error with that id, in the arena; *details is left alone when there is none. */
void nl_error_log_find(nl_error_log *log, nl_str id, nl_arena *arena, const Spark__Connect__FetchErrorDetailsResponse__Error **details);

/* An error as the status of a call; owned: nl_failure_fini. */
typedef struct nl_failure {
    nl_arena *arena;
    nl_rpc_status status;
} nl_failure;
/* Takes error. With a log it gets an id and is remembered; without one it has none (there is no session to ask). */
void nl_failure_init(nl_failure *failure, nl_error *error, nl_error_log *log);
void nl_failure_fini(nl_failure *failure);
/* Ends a call with an error, which is taken. */
void nl_rpc_fail(nl_rpc *rpc, nl_error *error, nl_error_log *log);
