/* connect/operation.c - what an operation has answered so far, and who listens.
 *
 * Responses are numbered from 1 and kept until they are sent, or, when the client may come back (reattachable), until it
 * releases them. A response's id is the operation's key and the number, so that any id can be looked up without a table.
 */
#include "connect/service_private.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "base/hash.h"

#define UNSENT_BYTES_MAX (4u << 20)  /* then the pump waits */
#define UNSENT_BYTES_LOW (1u << 20)  /* then it goes on     */
#define CLIENT_BYTES_MAX (64u << 20) /* kept for operations of one client that have ended and were not released */
#define KEPT_BYTES_MAX   (10u << 20) /* spark.connect.execute.reattachable.observerRetryBufferSize */

nl_operation *nl_operation_retain(nl_operation *operation)
{
    atomic_fetch_add_explicit(&operation->references, 1, memory_order_relaxed);
    return operation;
}

/* Takes the oldest response out. The mutex is held, or nobody else is left. */
static void drop_first(nl_operation *operation)
{
    nl_response *first = operation->first;
    operation->first = first->next;
    if (!operation->first) operation->last = NULL;
    if (first == operation->unsent) {
        operation->unsent = first->next;
        operation->unsent_bytes -= first->framed->size_bytes;
    } else {
        operation->kept_bytes -= first->framed->size_bytes;
    }
    nl_buffer_release(first->framed);
    free(first);
}

void nl_operation_release(nl_operation *operation)
{
    if (!operation || atomic_fetch_sub_explicit(&operation->references, 1, memory_order_acq_rel) != 1) return;
    NL_ASSERT(!operation->result && !operation->rpc);
    while (operation->first) drop_first(operation);
    if (operation->failure.arena) nl_failure_fini(&operation->failure);
    nl_cancel_release(operation->cancel);
    free(operation->batches);
    nl_arena_free(operation->arena);
    nl_client_release(operation->client);
    nl_mutex_fini(&operation->mutex);
    nl_mutex_fini(&operation->adding);
    free(operation);
}

/* ---- ids ---------------------------------------------------------------------------------------------------------- */

static void write_response_id(const nl_operation *operation, uint64_t index, char id[NL_UUID_TEXT_LENGTH + 1])
{
    uint8_t bytes[16];
    for (uint32_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(operation->key >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(index >> (56 - 8 * i));
    }
    nl_uuid_format(bytes, id);
    id[NL_UUID_TEXT_LENGTH] = 0;
}

static bool read_response_id(const nl_operation *operation, nl_str id, uint64_t *index)
{
    uint64_t halves[2] = {0};
    uint32_t digits = 0;
    if (!nl_uuid_is_valid(id)) return false;
    for (size_t i = 0; i < id.length; i++) {
        const char c = id.data[i];
        if (c == '-') continue;
        const uint32_t digit = c <= '9' ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10);
        halves[digits / 16] = halves[digits / 16] << 4 | digit;
        digits++;
    }
    *index = halves[1];
    return halves[0] == operation->key;
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static void detach(nl_operation *operation)
{
    nl_rpc_release(operation->rpc);
    operation->rpc = NULL;
    operation->detached_micros = nl_now_micros();
}

/* Whether who listens is to come back for the rest. The mutex is held. */
static bool is_stream_over(const nl_operation *operation, int64_t now)
{
    const nl_connect *connect = operation->client->connect;
    if (!operation->rpc || !operation->is_reattachable || (operation->is_finished && !operation->unsent)) return false;
    const bool is_long = connect->stream_micros_max && now - operation->attached_micros >= connect->stream_micros_max;
    return is_long || (connect->stream_bytes_max && operation->stream_bytes >= connect->stream_bytes_max);
}

static void end_stream(nl_operation *operation)
{
    nl_rpc_finish(operation->rpc, &(nl_rpc_status){.code = NL_RPC_OK});
    detach(operation);
}

void nl_operation_limit_stream(nl_operation *operation, int64_t now)
{
    nl_mutex_lock(&operation->mutex);
    if (is_stream_over(operation, now)) end_stream(operation);
    nl_mutex_unlock(&operation->mutex);
}

/* Gives the call what it has room for, and its end. The mutex is held. */
static void feed(nl_operation *operation)
{
    size_t queued = operation->rpc ? nl_rpc_queued_bytes(operation->rpc) : 0;
    while (operation->rpc && operation->unsent && queued < 2u * NL_RPC_QUEUE_LOW) {
        nl_response *response = operation->unsent;
        queued = nl_rpc_send(operation->rpc, response->framed);
        operation->sent_index = response->index;
        operation->unsent = response->next;
        operation->unsent_bytes -= response->framed->size_bytes;
        operation->kept_bytes += response->framed->size_bytes;
        operation->stream_bytes += (int64_t)response->framed->size_bytes;
        if (is_stream_over(operation, operation->attached_micros)) end_stream(operation);
    }
    while (operation->first && operation->first != operation->unsent && (!operation->is_reattachable || operation->kept_bytes > KEPT_BYTES_MAX)) drop_first(operation);
    if (!operation->rpc || !operation->is_finished || operation->unsent) return;
    nl_rpc_finish(operation->rpc, operation->failure.arena ? &operation->failure.status : &(nl_rpc_status){.code = NL_RPC_OK});
    detach(operation);
}

/* True when the pump is to be started. The mutex is held. */
static bool may_resume(nl_operation *operation)
{
    if (!operation->is_paused || (operation->unsent_bytes > UNSENT_BYTES_LOW && !nl_cancel_is_set(operation->cancel))) return false;
    operation->is_paused = false;
    return true;
}

static void on_drained(nl_rpc *rpc, void *state)
{
    (void)rpc;
    nl_operation *operation = state;
    nl_mutex_lock(&operation->mutex);
    feed(operation);
    const bool must_resume = may_resume(operation);
    nl_mutex_unlock(&operation->mutex);
    if (must_resume) nl_operation_resume(operation);
}

/* Whoever does not come back cannot want the rest. */
static void on_closed(nl_rpc *rpc, void *state)
{
    nl_operation *operation = state;
    nl_mutex_lock(&operation->mutex);
    if (operation->rpc == rpc) detach(operation);
    nl_mutex_unlock(&operation->mutex);
    if (!operation->is_reattachable) nl_operation_remove(operation, false);
    nl_operation_release(operation);
}

static const nl_rpc_hooks hooks = {.drained = on_drained, .closed = on_closed};

bool nl_operation_must_pause(nl_operation *operation)
{
    nl_mutex_lock(&operation->mutex);
    operation->is_paused = operation->unsent_bytes > UNSENT_BYTES_MAX && !nl_cancel_is_set(operation->cancel);
    const bool is_paused = operation->is_paused;
    nl_mutex_unlock(&operation->mutex);
    return is_paused;
}

/* `adding` is held. */
static nl_status add(nl_operation *operation, Spark__Connect__ExecutePlanResponse *response)
{
    char id[NL_UUID_TEXT_LENGTH + 1];
    nl_response *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->index = operation->next_index; /* changed only under `adding` */
    write_response_id(operation, made->index, id);
    response->session_id = NL_UNCONST(operation->client->id.data);
    response->server_side_session_id = operation->client->server_id;
    response->operation_id = operation->id;
    response->response_id = id;
    nl_status status = nl_message_frame(&response->base, operation->client->connect->memory, &made->framed);
    if (status) {
        free(made);
        return status;
    }
    nl_mutex_lock(&operation->mutex);
    *(operation->last ? &operation->last->next : &operation->first) = made;
    operation->last = made;
    if (!operation->unsent) operation->unsent = made;
    operation->unsent_bytes += made->framed->size_bytes;
    operation->next_index++;
    feed(operation);
    nl_mutex_unlock(&operation->mutex);
    return NULL;
}

nl_status nl_operation_add(nl_operation *operation, Spark__Connect__ExecutePlanResponse *response)
{
    nl_mutex_lock(&operation->adding);
    nl_status status = add(operation, response);
    nl_mutex_unlock(&operation->adding);
    return status;
}

nl_status nl_operation_add_beside(nl_operation *operation, Spark__Connect__ExecutePlanResponse *response)
{
    if (pthread_mutex_trylock(&operation->adding) != 0) return NULL;
    nl_mutex_lock(&operation->mutex);
    const bool is_over = operation->is_complete || operation->is_finished || !operation->rpc || operation->unsent;
    nl_mutex_unlock(&operation->mutex);
    nl_status status = is_over ? NULL : add(operation, response);
    nl_mutex_unlock(&operation->adding);
    return status;
}

void nl_operation_completes(nl_operation *operation)
{
    nl_mutex_lock(&operation->adding);
    nl_mutex_lock(&operation->mutex);
    operation->is_complete = true;
    nl_mutex_unlock(&operation->mutex);
    nl_mutex_unlock(&operation->adding);
}

void nl_operation_finish(nl_operation *operation, nl_error *error)
{
    nl_operation_completes(operation);
    atomic_store(&operation->client->used_micros, nl_now_micros());
    atomic_fetch_add_explicit(&operation->client->connect->ended_count, 1, memory_order_relaxed);
    nl_failure failure = {0};
    if (error) nl_failure_init(&failure, error, operation->client->errors);
    nl_mutex_lock(&operation->mutex);
    const bool is_first = !operation->is_finished;
    if (is_first) {
        operation->is_finished = true;
        operation->failure = failure;
        feed(operation);
    }
    nl_mutex_unlock(&operation->mutex);
    if (!is_first && failure.arena) nl_failure_fini(&failure);
}

/* ---- life --------------------------------------------------------------------------------------------------------- */

static bool wants_reattach(const Spark__Connect__ExecutePlanRequest *request)
{
    for (size_t i = 0; i < request->n_request_options; i++) {
        const Spark__Connect__ExecutePlanRequest__RequestOption *option = request->request_options[i];
        if (option->request_option_case == SPARK__CONNECT__EXECUTE_PLAN_REQUEST__REQUEST_OPTION__REQUEST_OPTION_REATTACH_OPTIONS && option->reattach_options->reattachable) return true;
    }
    return false;
}

/* Of the plan as it would be sent: two requests with the same plan have the same. */
static uint64_t hash_plan(const Spark__Connect__Plan *plan)
{
    const size_t size = plan ? protobuf_c_message_get_packed_size(&plan->base) : 0;
    uint8_t *packed = malloc(size + 1);
    if (!packed || !plan) {
        free(packed);
        return 0;
    }
    (void)protobuf_c_message_pack(&plan->base, packed);
    const uint64_t hash = nl_hash_bytes(packed, size, 0);
    free(packed);
    return hash;
}

static bool is_abandoned_before(const nl_client *client, nl_str id)
{
    for (uint32_t i = 0; i < NL_OPERATION_TOMBSTONES; i++)
        if (nl_str_is(id, client->abandoned[i])) return true;
    return false;
}

static nl_operation *find_in(nl_client *client, nl_str id)
{
    nl_operation *operation = client->operations;
    while (operation && !nl_str_is(id, operation->id)) operation = operation->next;
    return operation;
}

static nl_operation *make_operation(nl_client *client, const Spark__Connect__ExecutePlanRequest *request, nl_str id)
{
    nl_operation *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    atomic_init(&made->references, 1);
    nl_mutex_init(&made->mutex);
    nl_mutex_init(&made->adding);
    made->client = nl_client_retain(client);
    made->cancel = nl_cancel_new(NULL);
    made->request = request;
    made->is_reattachable = wants_reattach(request);
    made->next_index = 1;
    nl_random_bytes(&made->key, sizeof made->key);
    if (id.length > 0) {
        memcpy(made->id, id.data, NL_UUID_TEXT_LENGTH);
    } else {
        uint8_t bytes[16];
        nl_uuid_new(bytes);
        nl_uuid_format(bytes, made->id);
    }
    return made;
}

/* Puts a new operation among the client's; or gives the one that runs the same plan under this id already. */
static nl_status enter(nl_client *client, nl_operation *made, nl_operation **operation)
{
    nl_status status = NULL;
    const nl_str id = nl_str_from(made->id);
    nl_mutex_lock(&client->mutex);
    nl_operation *found = find_in(client, id);
    if (client->is_closed) {
        status = NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P_STR("handle", client->id));
    } else if (found && (found->plan_hash != made->plan_hash || !found->is_reattachable)) {
        status = NL_RAISE(INVALID_HANDLE__OPERATION_ALREADY_EXISTS, NL_P_STR("handle", id));
    } else if (found) {
        *operation = nl_operation_retain(found);
    } else if (is_abandoned_before(client, id)) {
        status = NL_RAISE(INVALID_HANDLE__OPERATION_ABANDONED, NL_P_STR("handle", id));
    } else {
        made->next = client->operations;
        client->operations = nl_operation_retain(made);
        *operation = nl_operation_retain(made);
    }
    nl_mutex_unlock(&client->mutex);
    return status;
}

/* The oldest operation that has ended, counted, when such ones keep too much; or NULL. */
static nl_operation *find_excess(nl_client *client)
{
    nl_operation *oldest = NULL;
    size_t bytes = 0;
    nl_mutex_lock(&client->mutex);
    for (nl_operation *operation = client->operations; operation; operation = operation->next) { /* the newest first */
        nl_mutex_lock(&operation->mutex);
        if (operation->is_finished && !operation->rpc) {
            bytes += operation->kept_bytes + operation->unsent_bytes;
            oldest = operation;
        }
        nl_mutex_unlock(&operation->mutex);
    }
    if (bytes <= CLIENT_BYTES_MAX) oldest = NULL;
    if (oldest) nl_operation_retain(oldest);
    nl_mutex_unlock(&client->mutex);
    return oldest;
}

static void end_excess(nl_client *client)
{
    for (nl_operation *excess = find_excess(client); excess; excess = find_excess(client)) {
        nl_operation_remove(excess, true);
        nl_operation_release(excess);
    }
}

nl_status nl_operation_new(nl_client *client, nl_arena *arena, const Spark__Connect__ExecutePlanRequest *request, nl_operation **operation)
{
    const nl_str id = nl_message_text(request->operation_id);
    if (id.length > 0 && !nl_uuid_is_valid(id)) return NL_RAISE(INVALID_HANDLE__FORMAT, NL_P_STR("handle", id));
    end_excess(client);
    nl_operation *made = make_operation(client, request, id);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    made->plan_hash = hash_plan(request->plan);
    nl_status status = enter(client, made, operation);
    if (!status && *operation == made) made->arena = arena;
    nl_operation_release(made);
    return status;
}

nl_operation *nl_operation_find(nl_client *client, nl_str id)
{
    nl_mutex_lock(&client->mutex);
    nl_operation *found = find_in(client, id);
    if (found) nl_operation_retain(found);
    nl_mutex_unlock(&client->mutex);
    return found;
}

/* Where the responses after last_id begin. The mutex is held. */
static nl_status find_position(nl_operation *operation, nl_str last_id, uint64_t *last_index)
{
    const uint64_t first_index = operation->first ? operation->first->index : operation->next_index;
    *last_index = 0;
    if (last_id.length > 0 && (!read_response_id(operation, last_id, last_index) || *last_index >= operation->next_index))
        return NL_RAISE(INVALID_CURSOR__POSITION_NOT_FOUND, NL_P_STR("responseId", last_id));
    if (*last_index + 1 < first_index)
        return NL_RAISE(INVALID_CURSOR__POSITION_NOT_AVAILABLE, NL_P_STR("responseId", last_id), NL_P_INT("index", (int64_t)*last_index + 1));
    return NULL;
}

static void rewind_to(nl_operation *operation, uint64_t last_index)
{
    operation->unsent = NULL;
    operation->unsent_bytes = operation->kept_bytes = 0;
    operation->sent_index = last_index;
    for (nl_response *response = operation->first; response; response = response->next) {
        const bool is_sent = response->index <= last_index;
        if (!is_sent && !operation->unsent) operation->unsent = response;
        *(is_sent ? &operation->kept_bytes : &operation->unsent_bytes) += response->framed->size_bytes;
    }
}

nl_status nl_operation_attach(nl_operation *operation, nl_rpc *rpc, nl_str last_id)
{
    uint64_t last_index = 0;
    nl_rpc *disconnected = NULL;
    nl_mutex_lock(&operation->mutex);
    nl_status status = find_position(operation, last_id, &last_index);
    if (!status && nl_rpc_set_hooks(rpc, &hooks, nl_operation_retain(operation))) {
        disconnected = operation->rpc;
        operation->rpc = nl_rpc_retain(rpc);
        operation->detached_micros = 0;
        operation->attached_micros = nl_now_micros();
        operation->stream_bytes = 0;
        rewind_to(operation, last_index);
        feed(operation);
    } else if (!status) { /* it has gone in the meantime */
        if (!operation->rpc) operation->detached_micros = nl_now_micros();
        atomic_fetch_sub_explicit(&operation->references, 1, memory_order_acq_rel);
    }
    const bool must_resume = may_resume(operation);
    nl_mutex_unlock(&operation->mutex);
    if (must_resume) nl_operation_resume(operation);
    if (disconnected) nl_rpc_fail(disconnected, NL_RAISE(INVALID_CURSOR__DISCONNECTED), operation->client->errors);
    nl_rpc_release(disconnected);
    return status;
}

void nl_operation_release_until(nl_operation *operation, nl_str response_id)
{
    uint64_t index;
    if (!read_response_id(operation, response_id, &index)) return;
    nl_mutex_lock(&operation->mutex);
    while (operation->first && operation->first != operation->unsent && operation->first->index <= index) drop_first(operation);
    nl_mutex_unlock(&operation->mutex);
}

void nl_operation_interrupt(nl_operation *operation)
{
    nl_cancel_set(operation->cancel);
    nl_mutex_lock(&operation->mutex);
    const bool must_resume = may_resume(operation);
    nl_mutex_unlock(&operation->mutex);
    if (must_resume) nl_operation_resume(operation);
}

/* Out of the client's list. True when it was there: then the list's reference is the caller's. */
static bool unlink_operation(nl_operation *operation, bool is_abandoned)
{
    nl_client *client = operation->client;
    nl_mutex_lock(&client->mutex);
    nl_operation **place = &client->operations;
    while (*place && *place != operation) place = &(*place)->next;
    const bool was_there = *place != NULL;
    if (was_there) *place = operation->next;
    if (was_there && is_abandoned) memcpy(client->abandoned[client->next_abandoned++ % NL_OPERATION_TOMBSTONES], operation->id, sizeof operation->id);
    nl_mutex_unlock(&client->mutex);
    return was_there;
}

void nl_operation_remove(nl_operation *operation, bool is_abandoned)
{
    if (!unlink_operation(operation, is_abandoned)) return;
    nl_operation_interrupt(operation);
    nl_mutex_lock(&operation->mutex);
    const bool has_ended = operation->is_finished;
    nl_mutex_unlock(&operation->mutex);
    if (!has_ended) nl_operation_finish(operation, NL_RAISE(OPERATION_CANCELED));
    nl_mutex_lock(&operation->mutex);
    while (operation->first && !operation->rpc) drop_first(operation);
    nl_mutex_unlock(&operation->mutex);
    nl_operation_release(operation);
}
