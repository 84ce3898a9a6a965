/* storage/http_drive.c - the thread that moves all requests of a client: takes calls, starts their tries when it is time
 * and a connection is free, looks after those that stall, are cancelled or out of time, and tells the waiters.
 */
#include "storage/http_private.h"

#define SWEEP_MS     50   /* how often running calls are looked at */
#define IDLE_POLL_MS 30000

static void finish(nl_http_call *call)
{
    nl_http_client *client = call->client; /* kept alive by whoever waits */
    nl_http_attempt_end(call);
    nl_http_unlink(call);
    nl_mutex_lock(&client->mutex);
    if (call->is_abandoned && client->abandon_count > 0) client->abandon_count--;
    call->is_done = true;
    pthread_cond_broadcast(&call->changed); /* the waiter frees the call as soon as the mutex is released */
    nl_mutex_unlock(&client->mutex);
}

static void stop_transfer(nl_http_client *client, nl_http_call *call)
{
    if (call->list != &client->active) return;
    if (call->easy) client->curl->multi_remove_handle(client->multi, call->easy);
    nl_http_unlink(call);
    client->active_count--;
}

/* After a try: an answer, a failure, or back into the queue. */
static void settle(nl_http_client *client, nl_http_call *call, nl_http_verdict verdict)
{
    stop_transfer(client, call);
    if (verdict == NL_HTTP_AGAIN) {
        nl_http_attempt_end(call);
        nl_http_unlink(call);
        nl_http_append(&client->waiting, call);
    } else {
        finish(call);
    }
}

static void take_incoming(nl_http_client *client, bool *is_ending)
{
    nl_mutex_lock(&client->mutex);
    for (nl_http_call *call = client->incoming.first; call; call = client->incoming.first) {
        nl_http_unlink(call);
        call->is_taken = true;
        nl_http_append(&client->waiting, call);
    }
    *is_ending = client->is_ending;
    nl_mutex_unlock(&client->mutex);
}

/* A try that a fault plan answers instead of the network. */
static bool strikes_at_start(nl_http_client *client, nl_http_call *call, nl_http_verdict *verdict)
{
    if (call->has_fault && call->fault.kind == NL_FAULT_LATE) {
        call->has_fault = false; /* it has waited */
        return false;
    }
    nl_fault_effect effect = {0};
    const uint64_t bytes = call->request.body.length + call->request.into_size;
    call->has_fault = call->request.fault && nl_fault_meet(client->faults, call->request.fault, bytes, &effect);
    if (!call->has_fault) call->has_fault = nl_fault_meet(client->faults, "http.connect", 0, &effect);
    if (!call->has_fault) return false;
    call->fault = effect;
    call->attempts++;
    switch (effect.kind) {
    case NL_FAULT_HTTP:
        call->code = (int32_t)effect.number;
        nl_builder_clear(&call->head);
        call->head_count = 0;
        call->body.length = 0;
        *verdict = nl_http_attempt_judge(call, CURLE_OK);
        return true;
    case NL_FAULT_ERRNO:
    case NL_FAULT_RESET:
    case NL_FAULT_FAIL:
        *verdict = nl_http_attempt_stopped(call, CURLE_SEND_ERROR, "failed on purpose");
        return true;
    case NL_FAULT_LATE:
        call->attempts--;
        call->due_ms = nl_http_now_ms() + effect.number;
        *verdict = NL_HTTP_AGAIN;
        return true;
    case NL_FAULT_CUT:
    case NL_FAULT_LOST_REPLY: break;
    }
    call->attempts--; /* the real one follows, its answer is spoiled */
    return false;
}

static void start_try(nl_http_client *client, nl_http_call *call)
{
    nl_http_verdict verdict = NL_HTTP_FAILED;
    nl_http_unlink(call);
    nl_http_append(&client->active, call);
    client->active_count++;
    if (strikes_at_start(client, call, &verdict)) {
        settle(client, call, verdict);
        return;
    }
    call->attempts++;
    call->status = nl_http_attempt_begin(call);
    if (!call->status && client->curl->multi_add_handle(client->multi, call->easy) != CURLM_OK)
        call->status = NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    if (call->status) settle(client, call, NL_HTTP_FAILED);
}

/* Starts what is due, oldest first. *next_ms: when the next one will be. */
static void start_due(nl_http_client *client, int64_t now, int64_t *next_ms)
{
    for (nl_http_call *call = client->waiting.first, *next = NULL; call; call = next) {
        next = call->next;
        if (client->active_count >= client->options.connections_max) return;
        if (call->due_ms <= now)
            start_try(client, call);
        else
            *next_ms = NL_MIN(*next_ms, call->due_ms);
    }
}

static void collect_finished(nl_http_client *client)
{
    const nl_curl *curl = client->curl;
    int left = 0;
    for (CURLMsg *message = curl->multi_info_read(client->multi, &left); message; message = curl->multi_info_read(client->multi, &left)) {
        if (message->msg != CURLMSG_DONE) continue;
        nl_http_call *call = NULL;
        char *private_data = NULL;
        const CURLcode result = message->data.result; /* message is gone once the handle is removed */
        curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private_data);
        call = (nl_http_call *)(void *)private_data;
        const nl_http_verdict verdict = nl_http_attempt_judge(call, result);
        settle(client, call, verdict);
    }
}

static uint64_t bytes_moved(const nl_http_call *call)
{
    curl_off_t up = 0;
    if (call->easy) call->client->curl->easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &up);
    return (uint64_t)up + call->body.length + call->head.length;
}

/* Cancelled, abandoned, out of time or without movement? True: it was stopped and may be gone. */
static bool look_after(nl_http_client *client, nl_http_call *call, bool is_abandoned, int64_t now)
{
    if (is_abandoned || nl_cancel_is_set(call->request.cancel)) {
        stop_transfer(client, call);
        call->status = NL_RAISE(OPERATION_CANCELED);
        finish(call);
        return true;
    }
    if (now >= call->deadline_ms) {
        settle(client, call, nl_http_attempt_stopped(call, CURLE_OPERATION_TIMEDOUT, "no answer within the time allowed"));
        return true;
    }
    if (!call->easy || call->list != &client->active) return false;
    const uint64_t moved = bytes_moved(call);
    if (moved != call->moved_bytes) {
        call->moved_bytes = moved;
        call->moved_ms = now;
    }
    if (now - call->moved_ms < client->options.stall_timeout_ms) return false;
    settle(client, call, nl_http_attempt_stopped(call, CURLE_OPERATION_TIMEDOUT, "the connection stalled"));
    return true;
}

static void sweep(nl_http_client *client, int64_t now)
{
    nl_mutex_lock(&client->mutex);
    const bool has_abandoned = client->abandon_count > 0;
    nl_mutex_unlock(&client->mutex);
    if (!has_abandoned && now - client->swept_ms < SWEEP_MS) return;
    client->swept_ms = now;
    nl_http_list *lists[] = {&client->active, &client->waiting};
    for (uint32_t i = 0; i < NL_COUNT(lists); i++) {
        for (nl_http_call *call = lists[i]->first, *next = NULL; call; call = next) {
            next = call->next;
            nl_mutex_lock(&client->mutex);
            const bool is_abandoned = call->is_abandoned;
            nl_mutex_unlock(&client->mutex);
            look_after(client, call, is_abandoned, now);
        }
    }
}

nl_status nl_http_drive(void *argument, uint32_t worker)
{
    (void)worker;
    nl_http_client *client = argument;
    const nl_curl *curl = client->curl;
    for (;;) {
        bool is_ending = false;
        int running = 0;
        take_incoming(client, &is_ending);
        if (is_ending && !client->active.first && !client->waiting.first) return NULL;
        int64_t now = nl_http_now_ms();
        int64_t next_ms = now + IDLE_POLL_MS;
        start_due(client, now, &next_ms);
        curl->multi_perform(client->multi, &running);
        collect_finished(client);
        sweep(client, now);
        if (client->waiting.first && client->active_count < client->options.connections_max && client->waiting.first->due_ms <= now) continue;
        if (client->active.first || client->waiting.first) next_ms = NL_MIN(next_ms, now + SWEEP_MS);
        const int64_t wait_ms = next_ms - nl_http_now_ms();
        if (wait_ms > 0) curl->multi_poll(client->multi, NULL, 0, (int)wait_ms, NULL);
    }
}
