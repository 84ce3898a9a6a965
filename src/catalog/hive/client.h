/* catalog/hive/client.h - calls of a Hive metastore: connections that are kept, and an error for each way a call can fail.
 *
 * Threads: a client may be used from many; each call has a connection for itself.
 */
#pragma once

#include "catalog/hive/options.h"
#include "catalog/hive/wire.h"

typedef struct nl_hive_client nl_hive_client;

/* A method of hive_metastore.thrift: its name and what it may throw, by the field of the result. */
typedef struct nl_hive_method {
    const char *name;
    bool changes; /* an answer that is lost leaves open whether it was done; without, the call is made once more */
    const char *exceptions[5];
} nl_hive_method;

typedef struct nl_hive_answer {
    const nl_wire_value *result; /* in the arena; NULL for none */
    const char *exception;         /* "NoSuchObjectException"; "UnknownMethod" of an older or newer metastore; NULL: it was done */
    nl_str message;                /* of the exception */
} nl_hive_answer;

/* options: borrowed, outlive the client. Connects to nothing yet. */
NL_MUST_USE nl_status nl_hive_client_new(const nl_hive_options *options, nl_memory *memory, nl_hive_client **client);
void nl_hive_client_free(nl_hive_client *client); /* NULL is fine; no call may be under way */

/* Fails: NILAS_SERVICE_UNAVAILABLE, of kind RETRY when nothing was sent; UNKNOWN_STATE when a change was sent and its answer
 * did not come. What the metastore throws is no failure here. Blocks: on the network. */
NL_MUST_USE nl_status nl_hive_call(nl_hive_client *client, const nl_hive_method *method, const nl_wire_value *arguments, nl_arena *arena, nl_hive_answer *answer);

bool nl_hive_is(const nl_hive_answer *answer, const char *exception);
/* The error for an exception that the caller has no words for; NULL when there was none. */
NL_MUST_USE nl_status nl_hive_failure(const nl_hive_answer *answer, const nl_hive_method *method);
int64_t nl_hive_now_ms(void); /* a clock that nobody sets: for waits */
void nl_hive_sleep_ms(int64_t wait_ms);
