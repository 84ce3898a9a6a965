/* connect/client.c - sessions of clients: found by user and id, their lanes, their end. */
#include "connect/streaming.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/calendar.h"
#include "base/hash.h"
#include "base/log.h"
#include "exec/python/worker.h"
#include "plan/table.h"

#define SECOND_MICROS   1000000ll
#define LEFT_MICROS_MAX (90 * SECOND_MICROS) /* PySpark comes back within a minute, if it does */
#define REST_MICROS     (60 * SECOND_MICROS)

bool nl_uuid_is_valid(nl_str text)
{
    if (text.length != NL_UUID_TEXT_LENGTH) return false;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        const bool is_hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (is_dash ? c != '-' : !is_hex) return false;
    }
    return true;
}

nl_client *nl_client_retain(nl_client *client)
{
    atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    return client;
}

static void free_remote(nl_remote *remote)
{
    if (remote->arena) nl_arena_free(remote->arena);
    if (remote->table) nl_table_release(remote->table);
    free(remote);
}

void nl_client_release(nl_client *client)
{
    if (!client || atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) != 1) return;
    NL_ASSERT(!client->operations && !client->first_task);
    while (client->remotes) {
        nl_remote *next = client->remotes->next;
        free_remote(client->remotes);
        client->remotes = next;
    }
    nl_session_free(client->session);
    nl_client_free_artifacts(client);
    nl_error_log_free(client->errors);
    pthread_cond_destroy(&client->turn_ends);
    nl_streams_free(client->streams);
    nl_mutex_fini(&client->mutex);
    free(NL_UNCONST(client->user.data));
    free(NL_UNCONST(client->id.data));
    free(client);
}

static nl_str text_copy(nl_str text)
{
    char *copy = malloc(text.length + 1);
    if (!copy) return (nl_str){0};
    if (text.length) memcpy(copy, text.data, text.length);
    copy[text.length] = 0;
    return (nl_str){copy, text.length};
}

/* ---- what a plan asks of its session ------------------------------------------------------------------------------ */

static nl_status find_artifact(nl_connect_host *host, nl_str hash, nl_str *bytes, bool *is_found)
{
    nl_client *client = NL_CONTAINER(host, nl_client, host);
    nl_builder name;
    nl_builder_init(&name, 4096);
    nl_append_f(&name, "cache/" NL_STR_FMT, NL_STR_ARG(hash));
    nl_bytes content = {0};
    *is_found = nl_client_artifact(client, nl_builder_str(&name), &content); /* it stays: cached relations are never replaced */
    nl_builder_fini(&name);
    if (*is_found) *bytes = (nl_str){(const char *)content.data, content.length};
    return NULL;
}

static nl_remote **find_remote_place(nl_client *client, nl_str id)
{
    nl_remote **place = &client->remotes;
    while (*place && !nl_str_is(id, (*place)->id)) place = &(*place)->next;
    return place;
}

static nl_status find_remote(nl_connect_host *host, nl_str id, const Spark__Connect__Relation **relation)
{
    nl_remote *found = *find_remote_place(NL_CONTAINER(host, nl_client, host), id);
    if (!found || !found->relation) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "No DataFrame with id " NL_STR_FMT " is found in the session", NL_STR_ARG(id));
    *relation = found->relation;
    return NULL;
}

static nl_status find_table(nl_connect_host *host, nl_str id, const nl_table **table)
{
    const nl_remote *found = *find_remote_place(NL_CONTAINER(host, nl_client, host), id);
    *table = found && found->table ? nl_table_retain(found->table) : NULL;
    return NULL;
}

static void add_remote(nl_client *client, nl_remote *remote, nl_arena *arena, nl_str *id)
{
    uint8_t bytes[16];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, remote->id);
    remote->next = client->remotes;
    client->remotes = remote;
    *id = nl_arena_str(arena, nl_str_from(remote->id));
}

static nl_status put_table(nl_connect_host *host, const nl_table *table, nl_arena *arena, nl_str *id)
{
    nl_remote *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->table = nl_table_retain(table);
    add_remote(NL_CONTAINER(host, nl_client, host), made, arena, id);
    return NULL;
}

static nl_status put_remote(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_arena *arena, nl_str *id)
{
    nl_client *client = NL_CONTAINER(host, nl_client, host);
    nl_remote *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->arena = nl_arena_new(client->session ? nl_session_memory(client->session) : NULL);
    const size_t size = protobuf_c_message_get_packed_size(&relation->base);
    uint8_t *packed = NULL;
    ProtobufCMessage *copy = NULL;
    nl_status status = nl_arena_alloc_sized(made->arena, size + 1, (void **)&packed);
    if (!status) {
        (void)protobuf_c_message_pack(&relation->base, packed);
        status = nl_message_unpack(made->arena, &spark__connect__relation__descriptor, (nl_bytes){packed, size}, &copy);
    }
    if (status) {
        free_remote(made);
        return status;
    }
    made->relation = (const Spark__Connect__Relation *)(const void *)copy;
    add_remote(client, made, arena, id);
    return NULL;
}

static bool drop_remote(nl_connect_host *host, nl_str id)
{
    nl_remote **place = find_remote_place(NL_CONTAINER(host, nl_client, host), id);
    nl_remote *found = *place;
    if (!found) return false;
    *place = found->next;
    free_remote(found);
    return true;
}

/* ---- finding ------------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(nl_str user, nl_str id)
{
    return nl_hash_bytes(id.data, id.length, nl_hash_bytes(user.data, user.length, 1));
}

static nl_client *make_client(nl_connect *connect, nl_str user, nl_str id, uint64_t hash)
{
    uint8_t bytes[16];
    nl_client *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->turn_ends, NULL);
    made->connect = connect;
    made->hash = hash;
    made->user = text_copy(user);
    made->id = text_copy(id);
    made->errors = nl_error_log_new();
    made->streams = nl_streams_new();
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, made->server_id);
    if (made->user.data && made->id.data && made->errors && made->streams) return made;
    nl_client_release(made);
    return NULL;
}

static bool has_tombstone(const nl_connect *connect, uint64_t hash)
{
    for (uint32_t i = 0; i < NL_CLIENT_TOMBSTONES; i++)
        if (connect->tombstones[i] == hash) return true;
    return false;
}

nl_status nl_client_new(nl_connect *connect, nl_str user, nl_str id, nl_client **client)
{
    if (!nl_uuid_is_valid(id)) return NL_RAISE(INVALID_CLONE_SESSION_REQUEST__TARGET_SESSION_ID_FORMAT, NL_P_STR("targetSessionId", id));
    *client = make_client(connect, user, id, hash_of(user, id));
    if (!*client) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof **client), NL_P("receivedBytes", "0"));
    atomic_store(&(*client)->used_micros, nl_now_micros());
    return NULL;
}

/* The service's mutex is held. */
static nl_client *find_in_bucket(const nl_connect *connect, nl_str user, nl_str id, uint64_t hash)
{
    nl_client *found = connect->buckets[hash % NL_CLIENT_BUCKETS];
    while (found && (found->hash != hash || !nl_str_equal(found->user, user) || !nl_str_equal(found->id, id))) found = found->next_in_bucket;
    return found;
}

static nl_status raise_full(void)
{
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "There are %u sessions already; end some, or have them end sooner (--idle-timeout).", NL_CLIENTS_MAX);
}

nl_status nl_client_publish(nl_client *client)
{
    nl_connect *connect = client->connect;
    nl_client **bucket = &connect->buckets[client->hash % NL_CLIENT_BUCKETS];
    nl_mutex_lock(&connect->mutex);
    const bool is_there = find_in_bucket(connect, client->user, client->id, client->hash) != NULL, was_there = has_tombstone(connect, client->hash);
    const bool is_full = connect->client_count >= NL_CLIENTS_MAX;
    if (!is_there && !was_there && !is_full) {
        connect->client_count++;
        client->next_in_bucket = *bucket;
        *bucket = nl_client_retain(client);
    }
    nl_mutex_unlock(&connect->mutex);
    if (is_there) return NL_RAISE(INVALID_CLONE_SESSION_REQUEST__TARGET_SESSION_ID_ALREADY_EXISTS, NL_P_STR("targetSessionId", client->id));
    if (was_there) return NL_RAISE(INVALID_CLONE_SESSION_REQUEST__TARGET_SESSION_ID_ALREADY_CLOSED, NL_P_STR("targetSessionId", client->id));
    return is_full ? raise_full() : NULL;
}

nl_status nl_client_find(nl_connect *connect, nl_str user, nl_str id, nl_str observed, bool may_create, nl_client **client)
{
    const uint64_t hash = hash_of(user, id);
    if (!nl_uuid_is_valid(id)) return NL_RAISE(INVALID_HANDLE__FORMAT, NL_P_STR("handle", id));
    nl_mutex_lock(&connect->mutex);
    nl_client *found = find_in_bucket(connect, user, id, hash);
    const bool is_closed = !found && has_tombstone(connect, hash);
    const bool is_full = connect->client_count >= NL_CLIENTS_MAX;
    if (!found && !is_closed && may_create && observed.length == 0 && !is_full) {
        found = make_client(connect, user, id, hash);
        if (found) {
            connect->client_count++;
            found->next_in_bucket = connect->buckets[hash % NL_CLIENT_BUCKETS];
            connect->buckets[hash % NL_CLIENT_BUCKETS] = found;
        }
    }
    if (found) nl_client_retain(found);
    nl_mutex_unlock(&connect->mutex);
    if (is_closed) return NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", id));
    if (!found && may_create && is_full) return raise_full();
    if (!found && observed.length > 0) return NL_RAISE(INVALID_HANDLE__SESSION_CHANGED, NL_P_STR("handle", id));
    if (!found) return NL_RAISE(INVALID_HANDLE__SESSION_NOT_FOUND, NL_P_STR("handle", id));
    if (observed.length > 0 && !nl_str_is(observed, found->server_id)) {
        nl_client_release(found);
        return NL_RAISE(INVALID_HANDLE__SESSION_CHANGED, NL_P_STR("handle", id));
    }
    atomic_store(&found->used_micros, nl_now_micros());
    nl_mutex_lock(&found->mutex);
    found->is_resting = false;
    nl_mutex_unlock(&found->mutex);
    *client = found;
    return NULL;
}

/* ---- connections -------------------------------------------------------------------------------------------------- */

static bool remove_connection(nl_client *client, uint64_t id)
{
    for (uint32_t i = 0; i < NL_MIN(client->connection_count, NL_CLIENT_CONNECTIONS); i++) {
        if (client->connections[i] != id) continue;
        if (client->connection_count > NL_CLIENT_CONNECTIONS) return false;
        client->connections[i] = client->connections[--client->connection_count];
        return true;
    }
    return false;
}

static void note_left(nl_client *client)
{
    client->left_micros = nl_now_micros();
    client->is_resting = false;
}

void nl_client_heard(nl_client *client, nl_rpc *rpc)
{
    const uint64_t id = nl_rpc_connection_id(rpc);
    bool is_known = false;
    nl_mutex_lock(&client->mutex);
    for (uint32_t i = 0; i < NL_MIN(client->connection_count, NL_CLIENT_CONNECTIONS); i++) is_known |= client->connections[i] == id;
    if (!is_known && client->connection_count < NL_CLIENT_CONNECTIONS) client->connections[client->connection_count] = id;
    if (!is_known && client->connection_count <= NL_CLIENT_CONNECTIONS) client->connection_count++;
    client->left_micros = 0;
    nl_mutex_unlock(&client->mutex);
    /* It may have hung up before the client knew of it; if it does so now, the network thread finds it in the list. */
    if (!nl_rpc_is_open(rpc)) {
        nl_mutex_lock(&client->mutex);
        if (!is_known && remove_connection(client, id) && client->connection_count == 0) note_left(client);
        nl_mutex_unlock(&client->mutex);
    }
}

void nl_connect_hung_up(void *argument, uint64_t connection_id)
{
    nl_connect *connect = argument;
    nl_mutex_lock(&connect->mutex);
    for (uint32_t i = 0; i < NL_CLIENT_BUCKETS; i++) {
        for (nl_client *client = connect->buckets[i]; client; client = client->next_in_bucket) {
            nl_mutex_lock(&client->mutex);
            if (remove_connection(client, connection_id) && client->connection_count == 0) note_left(client);
            nl_mutex_unlock(&client->mutex);
        }
    }
    nl_mutex_unlock(&connect->mutex);
}

/* ---- the lane ----------------------------------------------------------------------------------------------------- */

void nl_connect_add_task(nl_connect *connect, bool is_statement, nl_task_fn run, void *argument)
{
    nl_task_group_add(is_statement ? connect->statements : connect->answers, run, argument);
}

static nl_status run_lane(void *argument, uint32_t worker);

/* Has the lane's next task called when nothing hinders it. The mutex is held. */
static void call_lane(nl_client *client)
{
    if (client->is_turn_taken || client->is_lane_called || !client->first_task) return;
    client->is_lane_called = true;
    nl_connect_add_task(client->connect, client->first_task->is_statement, run_lane, nl_client_retain(client));
}

static void take_turn(nl_client *client)
{
    client->is_turn_taken = true;
    client->turn_thread = pthread_self();
}

static bool is_turn_mine(void *context)
{
    nl_client *client = context;
    nl_mutex_lock(&client->mutex);
    const bool is_mine = client->is_turn_taken && pthread_equal(client->turn_thread, pthread_self());
    nl_mutex_unlock(&client->mutex);
    return is_mine;
}

static void leave_turn(void *context)
{
    nl_client *client = context;
    nl_mutex_lock(&client->mutex);
    NL_ASSERT(client->is_turn_taken);
    client->is_turn_taken = false;
    call_lane(client);
    if (client->turn_waiters) pthread_cond_broadcast(&client->turn_ends);
    nl_mutex_unlock(&client->mutex);
}

/* A task that has been called gets its chance first, or a statement of many short steps would keep it waiting; but it may
 * itself wait for a thread, so the chance is a short one. */
static void enter_turn(void *context)
{
    enum { CHANCE_NANOS = 20000000, SECOND_NANOS = 1000000000 };
    nl_client *client = context;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += CHANCE_NANOS;
    if (until.tv_nsec >= SECOND_NANOS) until = (struct timespec){until.tv_sec + 1, until.tv_nsec - SECOND_NANOS};
    bool has_waited = false;
    nl_mutex_lock(&client->mutex);
    client->turn_waiters++;
    while (client->is_turn_taken || (client->is_lane_called && !has_waited)) {
        if (client->is_turn_taken)
            pthread_cond_wait(&client->turn_ends, &client->mutex);
        else
            has_waited = pthread_cond_timedwait(&client->turn_ends, &client->mutex, &until) != 0;
    }
    client->turn_waiters--;
    take_turn(client);
    nl_mutex_unlock(&client->mutex);
}

/* Runs one task, if the turn is free; who has it calls again when it leaves. */
static nl_status run_lane(void *argument, uint32_t worker)
{
    (void)worker;
    nl_client *client = argument;
    nl_mutex_lock(&client->mutex);
    client->is_lane_called = false;
    nl_lane_task *task = client->is_turn_taken ? NULL : client->first_task;
    if (task) {
        client->first_task = task->next;
        if (!client->first_task) client->last_task = NULL;
        client->lane_count++;
        take_turn(client);
    } else if (client->turn_waiters) {
        pthread_cond_broadcast(&client->turn_ends);
    }
    nl_mutex_unlock(&client->mutex);
    if (task) {
        task->run(client, task->argument);
        free(task);
        nl_mutex_lock(&client->mutex);
        client->lane_count--;
        nl_mutex_unlock(&client->mutex);
        leave_turn(client);
    }
    nl_client_release(client);
    return NULL;
}

bool nl_client_enqueue(nl_client *client, bool is_statement, void (*run)(nl_client *client, void *argument), void *argument)
{
    nl_lane_task *task = calloc(1, sizeof *task);
    if (!task) return false;
    *task = (nl_lane_task){.is_statement = is_statement, .run = run, .argument = argument};
    nl_mutex_lock(&client->mutex);
    const bool is_closed = client->is_closed;
    if (!is_closed) {
        *(client->last_task ? &client->last_task->next : &client->first_task) = task;
        client->last_task = task;
        call_lane(client);
    }
    nl_mutex_unlock(&client->mutex);
    if (is_closed) free(task);
    return !is_closed;
}

nl_status nl_client_session(nl_client *client, nl_session **session)
{
    nl_connect *connect = client->connect;
    if (!client->session) {
        const nl_session_turns turns = {.is_mine = is_turn_mine, .leave = leave_turn, .enter = enter_turn, .context = client};
        const nl_session_shared shared = {.memory = connect->memory, .pool = connect->workers, .objects = nl_session_shared_objects(connect->shared)};
        NL_TRY(nl_session_new_sharing(connect->options.confs, connect->options.conf_count, &shared, &client->session));
        nl_session_set_turns(client->session, &turns);
        client->host = (nl_connect_host){.session = client->session, .find_artifact = find_artifact, .find_remote = find_remote, .find_table = find_table, .put_table = put_table, .put_remote = put_remote, .drop_remote = drop_remote};
    }
    *session = client->session;
    return NULL;
}

/* ---- the end ------------------------------------------------------------------------------------------------------ */

void nl_client_close(nl_client *client)
{
    nl_streams_stop(client->streams); /* its batches still need the lane */
    for (;;) {
        nl_mutex_lock(&client->mutex);
        client->is_closed = true;
        nl_operation *first = client->operations ? nl_operation_retain(client->operations) : NULL;
        nl_mutex_unlock(&client->mutex);
        if (!first) return;
        nl_operation_remove(first, false);
        nl_operation_release(first);
    }
}

void nl_connect_forget(nl_connect *connect, nl_client *client)
{
    nl_mutex_lock(&connect->mutex);
    nl_client **place = &connect->buckets[client->hash % NL_CLIENT_BUCKETS];
    while (*place && *place != client) place = &(*place)->next_in_bucket;
    const bool was_there = *place != NULL;
    if (was_there) {
        *place = client->next_in_bucket;
        connect->client_count--;
        connect->tombstones[connect->next_tombstone++ % NL_CLIENT_TOMBSTONES] = client->hash;
    }
    nl_mutex_unlock(&connect->mutex);
    if (!was_there) return;
    atomic_fetch_add_explicit(&connect->ended_count, 1, memory_order_relaxed); /* its memory is worth giving back, too */
    nl_client_close(client);
    nl_client_release(client);
}

/* Counted operations of the client that nobody has listened to for too long; those of a client that has hung up have
 * less time: it would have come back. */
static void end_abandoned(nl_client *client, int64_t now)
{
    const int64_t micros_max = client->connect->options.detached_seconds * SECOND_MICROS;
    for (;;) {
        nl_operation *found = NULL;
        nl_mutex_lock(&client->mutex);
        const bool has_left = client->left_micros && now - client->left_micros > NL_MIN(micros_max, LEFT_MICROS_MAX);
        for (nl_operation *operation = client->operations; operation && !found; operation = operation->next) {
            nl_mutex_lock(&operation->mutex);
            if (operation->detached_micros && (has_left || now - operation->detached_micros > micros_max)) found = nl_operation_retain(operation);
            nl_mutex_unlock(&operation->mutex);
        }
        nl_mutex_unlock(&client->mutex);
        if (!found) return;
        nl_operation_remove(found, true);
        nl_operation_release(found);
    }
}

static void rest(nl_client *client, void *argument)
{
    (void)argument;
    if (!client->session) return;
    nl_mutex_lock(&client->mutex);
    const bool has_left = client->left_micros != 0;
    nl_mutex_unlock(&client->mutex);
    nl_python_trim(client->session);
    if (has_left) nl_command_rest_cache(client->session);
}

/* A client that does nothing for a while gives up its processes, one that has hung up what it has cached, too: both come
 * again when they are needed. */
static void let_rest(nl_client *client, int64_t now)
{
    const int64_t left_max = NL_MIN(client->connect->options.detached_seconds * SECOND_MICROS, LEFT_MICROS_MAX);
    nl_mutex_lock(&client->mutex);
    const bool is_busy = client->is_turn_taken || client->turn_waiters || client->first_task || client->operations || client->is_resting;
    const bool has_left = client->left_micros && now - client->left_micros > left_max;
    const bool must_rest = !is_busy && (has_left || now - atomic_load(&client->used_micros) > REST_MICROS);
    client->is_resting |= must_rest && (has_left || !client->left_micros);
    nl_mutex_unlock(&client->mutex);
    if (must_rest) (void)nl_client_enqueue(client, false, rest, NULL);
}

static bool is_idle(nl_client *client, int64_t now)
{
    nl_mutex_lock(&client->mutex);
    const bool is_resting = !client->lane_count && !client->first_task && !client->operations;
    nl_mutex_unlock(&client->mutex);
    return is_resting && !nl_streams_is_active(client->streams) && now - atomic_load(&client->used_micros) > client->connect->options.idle_seconds * SECOND_MICROS;
}

static void tell_progress(nl_client *client, int64_t now)
{
    nl_operation *list[64];
    uint32_t count = 0;
    nl_mutex_lock(&client->mutex);
    for (nl_operation *operation = client->operations; operation && count < NL_COUNT(list); operation = operation->next) list[count++] = nl_operation_retain(operation);
    nl_mutex_unlock(&client->mutex);
    for (uint32_t i = 0; i < count; i++) {
        nl_operation_tell_progress(list[i], now);
        nl_operation_limit_stream(list[i], now);
        nl_operation_release(list[i]);
    }
}

static bool is_busy(nl_client *client)
{
    nl_mutex_lock(&client->mutex);
    bool is_running = client->lane_count || client->first_task;
    for (nl_operation *operation = client->operations; operation && !is_running; operation = operation->next) {
        nl_mutex_lock(&operation->mutex);
        is_running = !operation->is_finished && !operation->is_paused;
        nl_mutex_unlock(&operation->mutex);
    }
    nl_mutex_unlock(&client->mutex);
    return is_running;
}

static nl_status trim(void *argument, uint32_t worker)
{
    (void)argument, (void)worker;
#ifdef __GLIBC__
    (void)malloc_trim(0);
#endif
    return NULL;
}

/* What statements have freed stays with the allocator, in pieces between what is still used. When nothing runs it goes
 * back to the system. */
static void trim_memory(nl_connect *connect)
{
    const uint64_t ended = atomic_load(&connect->ended_count);
    if (ended == connect->trimmed_count) return;
    connect->trimmed_count = ended;
    nl_connect_add_task(connect, false, trim, NULL);
}

/* Ends what nobody wants any more. */
void nl_connect_tick(void *argument)
{
    nl_connect *connect = argument;
    const int64_t now = nl_now_micros();
    bool is_any_busy = false;
    for (uint32_t i = 0; i < NL_CLIENT_BUCKETS; i++) {
        nl_client *list[16];
        uint32_t count = 0;
        nl_mutex_lock(&connect->mutex);
        for (nl_client *client = connect->buckets[i]; client && count < NL_COUNT(list); client = client->next_in_bucket) list[count++] = nl_client_retain(client);
        nl_mutex_unlock(&connect->mutex);
        for (uint32_t k = 0; k < count; k++) {
            end_abandoned(list[k], now);
            nl_streams_tick(list[k]->streams);
            tell_progress(list[k], now);
            let_rest(list[k], now);
            is_any_busy |= is_busy(list[k]);
            if (is_idle(list[k], now)) {
                nl_log(NL_LOG_INFO, "the session " NL_STR_FMT " is ended: nothing was asked of it for a while", NL_STR_ARG(list[k]->id));
                nl_connect_forget(connect, list[k]);
            }
            nl_client_release(list[k]);
        }
    }
    if (!is_any_busy) trim_memory(connect);
}
