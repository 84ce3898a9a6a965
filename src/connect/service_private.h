/* connect/service_private.h - what the files of the service share: the service, clients, operations, requests.
 *
 * A client is one session of one user. Whatever touches the nl_session has its turn at it, one thread at a time; tasks wait
 * for theirs in the client's lane. While a statement's workers run (a write, a CALL, show()) its turn is free for the next
 * task (nl_session_leave), so statements of one session go on side by side. A query leaves the lane as soon as its result is
 * open; its rows are pulled beside the tasks that follow, a few messages ahead of the client and no more, so that a slow
 * client costs neither a thread nor memory.
 *
 * Locks, in the order they are taken: the service's, a client's, an operation's, then those of the transport.
 */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "base/pool.h"
#include "base/uuid.h"
#include "connect/errors.h"
#include "connect/message.h"
#include "connect/plan.h"
#include "connect/service.h"

#define NL_CLIENT_BUCKETS    512u
#define NL_CLIENTS_MAX       10000u
#define NL_CLIENT_TOMBSTONES 4096u /* sessions that ended, so that their ids are refused */
#define NL_OPERATION_TOMBSTONES 64u
#define NL_CLIENT_CONNECTIONS   8u

typedef struct nl_client nl_client;
typedef struct nl_operation nl_operation;

struct nl_connect {
    nl_connect_options options;
    nl_session *shared;        /* owned: nobody's; its memory and workers are those of all sessions */
    nl_memory *memory;         /* of shared */
    nl_pool *workers;          /* of shared */
    nl_pool *threads, *quick;  /* statements; what answers at once  */
    nl_task_group *statements, *answers;
    nl_rpc_server *server;
    atomic_bool is_stopping;
    int64_t stream_micros_max, stream_bytes_max; /* of one stream of responses, when the client can come back; 0: no limit */
    atomic_uint_fast64_t ended_count; /* operations */
    uint64_t trimmed_count;           /* the network thread's: ended_count when free memory was given back last */
    nl_mutex mutex;
    nl_client *buckets[NL_CLIENT_BUCKETS];          /* guarded by mutex; counted */
    uint64_t tombstones[NL_CLIENT_TOMBSTONES];      /* guarded by mutex; hashes  */
    uint32_t next_tombstone, client_count;          /* guarded by mutex */
};

/* ---- clients (client.c) ------------------------------------------------------------------------------------------- */

typedef struct nl_lane_task {
    struct nl_lane_task *next;
    bool is_statement; /* may take long */
    void (*run)(nl_client *client, void *argument);
    void *argument;
} nl_lane_task;

typedef struct nl_artifact {
    struct nl_artifact *next;
    nl_str name;       /* owned, NUL-terminated */
    nl_bytes content;  /* in `held`, or a mapped file without a name */
    nl_buffer *held;   /* counted; NULL: it is mapped */
    bool is_published; /* the lane's: it lies in files_root */
} nl_artifact;

typedef struct nl_remote {
    struct nl_remote *next;
    char id[NL_UUID_TEXT_LENGTH + 1];
    nl_arena *arena; /* owned: the relation; or NULL */
    const Spark__Connect__Relation *relation;
    const nl_table *table; /* counted; or NULL */
} nl_remote;

struct nl_client {
    atomic_uint references;
    nl_connect *connect;
    nl_client *next_in_bucket; /* guarded by the service's mutex */
    uint64_t hash;
    nl_str user, id;           /* owned, NUL-terminated */
    char server_id[NL_UUID_TEXT_LENGTH + 1];
    nl_error_log *errors;      /* owned */
    struct nl_streams *streams; /* owned: connect/streaming.h */
    nl_connect_host host;
    nl_session *session;       /* owned; the lane's; NULL until its first task */
    nl_remote *remotes;        /* the lane's */
    bool has_run;              /* the lane's: a plan was executed */
    char *files_root;          /* the lane's; owned: a folder of artifacts for workers in Python; NULL: none */
    atomic_int_fast64_t used_micros; /* of the wall clock */
    nl_mutex mutex;
    pthread_cond_t turn_ends;
    /* guarded by mutex */
    nl_lane_task *first_task, *last_task; /* of the lane */
    bool is_lane_called;  /* run_lane is in a pool's queue: it takes the turn when it gets a thread */
    bool is_turn_taken;   /* a thread has the session */
    pthread_t turn_thread;
    uint32_t turn_waiters; /* statements that come back to the session after their workers have run */
    uint32_t lane_count;   /* tasks of the lane that have begun and not ended */
    bool is_closed;
    bool is_resting;           /* what only made it faster was given up since it was used last */
    uint64_t connections[NL_CLIENT_CONNECTIONS]; /* that its requests came by and that have not hung up */
    uint32_t connection_count; /* more than fit are not remembered: then it never counts as left */
    int64_t left_micros;       /* wall clock; since when it has no connection; 0: it has one */
    nl_operation *operations;  /* counted */
    char abandoned[NL_OPERATION_TOMBSTONES][NL_UUID_TEXT_LENGTH + 1]; /* a ring */
    uint32_t next_abandoned;
    nl_artifact *artifacts;
};

nl_client *nl_client_retain(nl_client *client);
void nl_client_release(nl_client *client); /* NULL is fine */
/* The session of that user and id, made when it is new and may_create; counted. `observed`: what the client believes the server's
 * id to be; empty: nothing. Fails: INVALID_HANDLE.FORMAT, SESSION_CHANGED, SESSION_CLOSED, SESSION_NOT_FOUND. */
NL_MUST_USE nl_status nl_client_find(nl_connect *connect, nl_str user, nl_str id, nl_str observed, bool may_create, nl_client **client);
/* The request came by that connection: the client is there as long as it is. */
void nl_client_heard(nl_client *client, nl_rpc *rpc);
void nl_connect_hung_up(void *connect, uint64_t connection_id);
/* Puts a task at the end of the lane. False: the client is closed; the task will not run. */
bool nl_client_enqueue(nl_client *client, bool is_statement, void (*run)(nl_client *client, void *argument), void *argument);
/* In a task of the lane: the session, made when it is not there yet. */
NL_MUST_USE nl_status nl_client_session(nl_client *client, nl_session **session);
/* Streaming queries are stopped, no more tasks, operations are interrupted; the client goes when nothing uses it any more. */
void nl_client_close(nl_client *client);
/* A client that nobody finds yet: of a session that is being cloned. Counted. */
NL_MUST_USE nl_status nl_client_new(nl_connect *connect, nl_str user, nl_str id, nl_client **client);
/* Among the others. Fails: INVALID_CLONE_SESSION_REQUEST when there is or was one of its id. */
NL_MUST_USE nl_status nl_client_publish(nl_client *client);
void nl_connect_forget(nl_connect *connect, nl_client *client); /* out of the service, with a tombstone */
void nl_connect_tick(void *connect);
/* A task for one of the pools, outside of any lane. */
void nl_connect_add_task(nl_connect *connect, bool is_statement, nl_task_fn run, void *argument);
bool nl_uuid_is_valid(nl_str text);

/* ---- artifacts (artifacts.c) -------------------------------------------------------------------------------------- */

/* The content, as long as the session lives. False: there is none of that name. */
bool nl_client_artifact(nl_client *client, nl_str name, nl_bytes *content);
void nl_client_free_artifacts(nl_client *client);
NL_MUST_USE nl_status nl_client_copy_artifacts(nl_client *from, nl_client *to);
/* In the lane: files that are new go where functions in Python find them. (artifact_files.c) */
NL_MUST_USE nl_status nl_client_publish_files(nl_client *client);
void nl_client_free_files(nl_client *client);
void nl_connect_clean_files(const nl_connect *connect); /* of processes that were killed */
void nl_artifacts_message(nl_rpc *rpc, nl_buffer *message);
void nl_artifacts_end(nl_rpc *rpc);

/* ---- requests (service.c) ----------------------------------------------------------------------------------------- */

typedef struct nl_request {
    nl_connect *connect;
    nl_rpc *rpc;         /* counted */
    nl_buffer *packed;   /* counted */
    const struct nl_request_row *row;
    nl_arena *arena;     /* owned: the message, and the answer */
    ProtobufCMessage *message;
    nl_client *client;   /* counted */
    nl_session *session; /* in the lane only */
} nl_request;
void nl_request_free(nl_request *request);
/* Ends the call with the answer, or with an error, which is taken. */
void nl_request_answer(nl_request *request, const ProtobufCMessage *answer);
void nl_request_fail(nl_request *request, nl_error *error);

/* In the lane; each gives its answer in the arena. */
NL_MUST_USE nl_status nl_answer_analyze(nl_request *request, ProtobufCMessage **answer);
NL_MUST_USE nl_status nl_answer_config(nl_request *request, ProtobufCMessage **answer);
NL_MUST_USE nl_status nl_answer_clone(nl_request *request, ProtobufCMessage **answer); /* clone.c */

/* A relation's schema as clients are told it: CHAR and VARCHAR are strings there, as in Spark. (analyze.c) */
const nl_type *nl_connect_shown_type(nl_arena *arena, const nl_type *type);

/* ---- operations (operation.c, execute.c) -------------------------------------------------------------------------- */

typedef struct nl_response {
    struct nl_response *next;
    uint64_t index;
    nl_buffer *framed; /* counted */
} nl_response;

struct nl_operation {
    atomic_uint references;
    nl_client *client;  /* counted */
    nl_operation *next; /* guarded by the client's mutex */
    char id[NL_UUID_TEXT_LENGTH + 1];
    uint64_t key;       /* its responses' ids begin so */
    uint64_t plan_hash;
    bool is_reattachable;
    nl_arena *arena;    /* owned: the request */
    const Spark__Connect__ExecutePlanRequest *request;
    nl_cancel *cancel;  /* counted */
    nl_progress progress;
    /* Whoever runs it: the lane, then one pump at a time. */
    nl_result *result;
    nl_str time_zone;
    int64_t batch_rows_max;
    int64_t row_count;
    nl_batch *batches;  /* pulled, not yet sent */
    uint32_t batch_count, batch_capacity;
    uint64_t pulled_rows;
    size_t pulled_bytes;
    bool has_sent_batch;
    nl_mutex adding; /* held while a response is made; before mutex */
    nl_mutex mutex;
    /* guarded by mutex */
    nl_response *first, *last, *unsent; /* unsent: the first that no call has got */
    uint64_t next_index;   /* of the response to come; the first is 1 */
    uint64_t sent_index;   /* of the last one given to the call       */
    size_t unsent_bytes, kept_bytes;
    bool is_complete;      /* the last response but trailers is there: no more progress */
    int64_t progress_micros; /* wall clock; when progress was told last, or its run began; 0: it has not begun */
    bool is_finished;      /* no response will come */
    bool is_paused;        /* the pump waits for the client */
    nl_failure failure;    /* how it ended; arena NULL: well */
    nl_rpc *rpc;           /* counted; who listens, or NULL */
    int64_t detached_micros; /* wall clock; since when nobody listens; 0: somebody does */
    int64_t attached_micros; /* wall clock; when the one who listens has come */
    int64_t stream_bytes;    /* that the one who listens has been given      */
};

nl_operation *nl_operation_retain(nl_operation *operation);
void nl_operation_release(nl_operation *operation);
/* *operation is counted. Takes arena on success, which holds request. id: empty: a new one. */
NL_MUST_USE nl_status nl_operation_new(nl_client *client, nl_arena *arena, const Spark__Connect__ExecutePlanRequest *request, nl_operation **operation);
nl_operation *nl_operation_find(nl_client *client, nl_str id); /* counted, or NULL */
/* Sends what follows the response `last_id` (empty: all) to the call; one that listened is disconnected. */
NL_MUST_USE nl_status nl_operation_attach(nl_operation *operation, nl_rpc *rpc, nl_str last_id);
/* Ends a stream that has gone on for too long: the client comes back for the rest. */
void nl_operation_limit_stream(nl_operation *operation, int64_t now);
void nl_operation_release_until(nl_operation *operation, nl_str response_id);
void nl_operation_remove(nl_operation *operation, bool is_abandoned); /* interrupts it and takes it out of its client */
void nl_operation_interrupt(nl_operation *operation);
/* A response: session, operation and response ids are filled in. */
NL_MUST_USE nl_status nl_operation_add(nl_operation *operation, Spark__Connect__ExecutePlanResponse *response);
/* Tells how far it is, when there is somebody to tell and it was not told for a while. Never waits. (execute.c) */
void nl_operation_tell_progress(nl_operation *operation, int64_t now);
/* The same as nl_operation_add, unless another response is being made, or the last one is there. */
NL_MUST_USE nl_status nl_operation_add_beside(nl_operation *operation, Spark__Connect__ExecutePlanResponse *response);
void nl_operation_completes(nl_operation *operation); /* nothing is added beside any more */
/* The last word; takes error (NULL: it went well). */
void nl_operation_finish(nl_operation *operation, nl_error *error);
/* Too much waits for the client: the pump is to come back later. */
bool nl_operation_must_pause(nl_operation *operation);
void nl_operation_run(nl_client *client, void *operation); /* a task of the lane; takes the reference */
void nl_operation_resume(nl_operation *operation);         /* starts the pump, which is not running */
void nl_operation_close_result(nl_operation *operation);
