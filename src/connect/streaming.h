/* connect/streaming.h - a client's streaming queries: their start, what is asked of them, who waits for them, who listens.
 *
 * Starting one is a task of the client's lane. Everything else runs beside it: a query's batches need the lane, and whoever
 * waits for a query must not keep it. Waiting costs no thread: operations are finished when what they wait for happens.
 */
#pragma once

#include "connect/service_private.h"

typedef struct nl_streams nl_streams; /* of one client; owned */
nl_streams *nl_streams_new(void);     /* NULL: no memory */
/* Stops all queries and waits for their threads. Not from a query's thread, not from the lane. */
void nl_streams_stop(nl_streams *streams);
void nl_streams_free(nl_streams *streams); /* after nl_streams_stop; NULL is fine */
bool nl_streams_is_active(nl_streams *streams);
void nl_streams_tick(nl_streams *streams); /* deadlines; threads of queries that have ended */

/* Is it one of those that run beside the lane? */
bool nl_stream_is_asked(const Spark__Connect__Plan *plan);
/* A task of the statements' pool for such an operation; takes the reference. */
nl_status nl_stream_operation_run(void *operation, uint32_t worker);
/* WriteStreamOperationStart, in the lane: adds its result. */
NL_MUST_USE nl_status nl_stream_start(nl_operation *operation, const Spark__Connect__WriteStreamOperationStart *message);

/* stream_function.c: foreachBatch and foreach, in a Python of the user's that is a client of this service. */
typedef struct nl_stream_function nl_stream_function; /* owned */
/* Nothing runs before the first call. command: the pickled function; copied, as all else. */
NL_MUST_USE nl_status nl_stream_function_new(nl_client *client, nl_session *session, const ProtobufCBinaryData *command, nl_str python_version, bool is_foreach, nl_stream_function **function);
void nl_stream_function_free(nl_stream_function *function); /* ends the process; NULL is fine */
/* Fails: NILAS_PYTHON_EXCEPTION with the traceback, NILAS_PYTHON_WORKER, OPERATION_CANCELED. */
NL_MUST_USE nl_status nl_stream_function_call(nl_stream_function *function, nl_str rows_id, int64_t batch, const nl_cancel *cancel);
