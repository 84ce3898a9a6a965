/* storage/http.c - clients and calls as callers see them. The work is the driver's (http_drive.c): a call goes into
 * `incoming`, the driver takes it, and marks it done. Between these two moments a call belongs to the driver.
 */
#include <stdlib.h>
#include <time.h>

#include "storage/http_private.h"

int64_t nl_http_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nl_http_append(nl_http_list *list, nl_http_call *call)
{
    call->list = list;
    call->next = NULL;
    call->previous = list->last;
    if (list->last)
        list->last->next = call;
    else
        list->first = call;
    list->last = call;
}

void nl_http_unlink(nl_http_call *call)
{
    nl_http_list *list = call->list;
    if (!list) return;
    if (call->previous)
        call->previous->next = call->next;
    else
        list->first = call->next;
    if (call->next)
        call->next->previous = call->previous;
    else
        list->last = call->previous;
    call->list = NULL;
}

static void fill_options(nl_http_client *client, const nl_http_options *options)
{
    nl_http_options *own = &client->options;
    *own = options ? *options : (nl_http_options){0};
    if (own->connections_max == 0) own->connections_max = 50;
    if (own->connect_timeout_ms <= 0) own->connect_timeout_ms = 10000;
    if (own->stall_timeout_ms <= 0) own->stall_timeout_ms = 30000;
    if (own->deadline_ms <= 0) own->deadline_ms = 300000;
    if (own->attempts_max == 0) own->attempts_max = 6;
    if (own->backoff_first_ms <= 0) own->backoff_first_ms = 100;
    if (own->backoff_ms_max <= 0) own->backoff_ms_max = 20000;
    own->proxy = nl_arena_str(client->arena, own->proxy);
    own->ca_file = nl_arena_str(client->arena, own->ca_file.length > 0 ? own->ca_file : nl_str_from(getenv("AWS_CA_BUNDLE")));
    client->faults = own->faults ? own->faults : nl_fault_process_plan();
}

nl_status nl_http_client_new(const nl_http_options *options, nl_memory *memory, nl_http_client **client)
{
    const nl_curl *curl = NULL;
    NL_TRY(nl_curl_open(&curl));
    nl_http_client *made = calloc(1, sizeof(*made));
    CURLM *multi = curl->multi_init();
    if (!made || !multi) {
        free(made);
        if (multi) curl->multi_cleanup(multi);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    }
    atomic_init(&made->references, 1);
    made->curl = curl;
    made->multi = multi;
    made->memory = nl_memory_retain(memory);
    made->arena = nl_arena_new(memory);
    nl_mutex_init(&made->mutex);
    fill_options(made, options);
    made->pool = nl_pool_new(1, "nilas-http");
    curl->multi_setopt(multi, CURLMOPT_MAXCONNECTS, (long)made->options.connections_max);
    *client = made;
    return NULL;
}

nl_http_client *nl_http_client_retain(nl_http_client *client)
{
    if (client) atomic_fetch_add_explicit(&client->references, 1, memory_order_relaxed);
    return client;
}

void nl_http_client_release(nl_http_client *client)
{
    if (!client || atomic_fetch_sub_explicit(&client->references, 1, memory_order_acq_rel) != 1) return;
    nl_mutex_lock(&client->mutex);
    client->is_ending = true;
    nl_mutex_unlock(&client->mutex);
    client->curl->multi_wakeup(client->multi);
    if (client->group) nl_error_free(nl_task_group_wait(client->group));
    nl_pool_free(client->pool);
    for (uint32_t i = 0; i < client->idle_count; i++) client->curl->easy_cleanup(client->idle[i]);
    client->curl->multi_cleanup(client->multi);
    nl_mutex_fini(&client->mutex);
    nl_arena_free(client->arena);
    nl_memory_release(client->memory);
    free(client);
}

static void free_call(nl_http_call *call)
{
    nl_http_client *client = call->client;
    nl_http_attempt_end(call);
    nl_builder_fini(&call->head);
    nl_buffer_release(call->body.buffer);
    nl_error_free(call->refusal);
    nl_error_free(call->status);
    nl_arena_free(call->arena);
    pthread_cond_destroy(&call->changed);
    free(call);
    nl_http_client_release(client);
}

static nl_status check_request(const nl_http_request *request)
{
    nl_url url;
    NL_TRY(nl_url_parse(request->url, &url));
    if (!nl_str_is_nocase(url.scheme, "http") && !nl_str_is_nocase(url.scheme, "https"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Not a URL nilas can reach: its scheme is \"" NL_STR_FMT "\", not http or https.", NL_STR_ARG(url.scheme));
    for (uint32_t i = 0; i < request->header_count; i++) {
        const nl_property *header = &request->headers[i];
        for (size_t j = 0; j < header->key.length + header->value.length; j++) {
            const unsigned char c = (unsigned char)(j < header->key.length ? header->key.data[j] : header->value.data[j - header->key.length]);
            if (c < 0x20 && c != '\t')
                return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "The HTTP header \"" NL_STR_FMT "\" holds a control character.", NL_STR_ARG(nl_str_slice(header->key, 0, 64)));
        }
    }
    return NULL;
}

nl_status nl_http_start(nl_http_client *client, const nl_http_request *request, nl_http_call **call)
{
    NL_TRY(check_request(request));
    NL_TRY(nl_cancel_check(request->cancel));
    nl_http_call *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P_INT("receivedBytes", 0));
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&made->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    made->client = nl_http_client_retain(client);
    made->arena = nl_arena_new(client->memory);
    made->request = *request;
    made->request.url = nl_arena_str(made->arena, request->url);
    nl_builder_init(&made->head, NL_HTTP_HEAD_BYTES_MAX);
    made->due_ms = nl_http_now_ms();
    made->deadline_ms = made->due_ms + client->options.deadline_ms;
    nl_mutex_lock(&client->mutex);
    if (!client->is_started) {
        client->is_started = true;
        client->group = nl_task_group_new(client->pool, NULL);
        nl_task_group_add(client->group, nl_http_drive, client);
    }
    nl_http_append(&client->incoming, made);
    nl_mutex_unlock(&client->mutex);
    client->curl->multi_wakeup(client->multi);
    *call = made;
    return NULL;
}

/* Waits until the driver is done with the call. When the system refused the driver's thread nobody would ever take it:
 * then it is taken back after its time. */
static void wait_until_done(nl_http_call *call)
{
    nl_http_client *client = call->client;
    nl_mutex_lock(&client->mutex);
    while (!call->is_done) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 1;
        pthread_cond_timedwait(&call->changed, &client->mutex, &until);
        if (call->is_done || call->is_taken || nl_http_now_ms() < call->deadline_ms + 1000) continue;
        nl_http_unlink(call);
        call->is_done = true;
        call->status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", call->request.method), NL_P("path", "the network"), NL_P("problem", "no thread could be started for it"));
    }
    nl_mutex_unlock(&client->mutex);
}

/* "name: value" lines into a list with names in lower case. */
static void read_head(nl_http_call *call, nl_http_response *response)
{
    nl_str rest = nl_builder_str(&call->head);
    nl_str line = {0};
    nl_property *headers = NL_NEW_ARRAY(call->arena, nl_property, call->head_count + 1);
    uint32_t count = 0;
    while (count < call->head_count && nl_str_next_part(&rest, '\n', &line)) {
        const size_t colon = nl_str_find_char(line, ':', 0);
        if (colon == NL_NOT_FOUND) continue;
        nl_str name = nl_arena_str(call->arena, nl_str_trim(nl_str_slice(line, 0, colon)));
        for (size_t i = 0; i < name.length; i++) {
            char *c = (char *)NL_UNCONST(name.data) + i;
            if (*c >= 'A' && *c <= 'Z') *c = (char)(*c | 0x20);
        }
        headers[count++] = (nl_property){name, nl_arena_str(call->arena, nl_str_trim(nl_str_slice(line, colon + 1, line.length)))};
    }
    response->headers = headers;
    response->header_count = count;
}

nl_status nl_http_wait(nl_http_call *call, nl_http_response *response)
{
    wait_until_done(call);
    nl_status status = call->status;
    call->status = NULL;
    if (!status) {
        nl_http_response made = {.status = call->code, .attempts = call->attempts};
        read_head(call, &made);
        status = nl_arena_check(call->arena);
        if (!status) {
            if (call->body.buffer) call->body.buffer->size_bytes = call->body.length;
            made.body = call->body.buffer;
            made.arena = call->arena;
            call->body.buffer = NULL;
            call->arena = NULL;
            *response = made;
        }
    }
    free_call(call);
    return status;
}

void nl_http_abandon(nl_http_call *call)
{
    if (!call) return;
    nl_http_client *client = call->client;
    nl_mutex_lock(&client->mutex);
    if (!call->is_taken && !call->is_done) {
        nl_http_unlink(call);
        call->is_done = true;
    }
    const bool must_wait = !call->is_done;
    if (must_wait) {
        call->is_abandoned = true;
        client->abandon_count++;
    }
    nl_mutex_unlock(&client->mutex);
    if (must_wait) {
        client->curl->multi_wakeup(client->multi);
        wait_until_done(call);
    }
    free_call(call);
}

nl_status nl_http_send(nl_http_client *client, const nl_http_request *request, nl_http_response *response)
{
    nl_http_call *call = NULL;
    NL_TRY(nl_http_start(client, request, &call));
    return nl_http_wait(call, response);
}

nl_str nl_http_header(const nl_http_response *response, const char *name)
{
    for (uint32_t i = 0; i < response->header_count; i++)
        if (nl_str_is(response->headers[i].key, name)) return response->headers[i].value;
    return (nl_str){0};
}

void nl_http_response_fini(nl_http_response *response)
{
    nl_buffer_release(response->body);
    nl_arena_free(response->arena);
    *response = (nl_http_response){0};
}
