/* storage/http_attempt.c - one try of a request: the easy handle, the callbacks, and what to make of its end. All of it
 * runs on the driver's thread.
 */
#include <stdlib.h>

#include "base/uuid.h"
#include "storage/http_private.h"

#define EXPECT_CONTINUE_BYTES (1u << 20) /* below it is cheaper to send a body for nothing than to ask */
#define RETRY_AFTER_MS_MAX    20000
#define BODY_FIRST_BYTES      (16u << 10)
#define STALLS_MAX            3 /* a server that takes connections and says nothing will not say more at the sixth time */

/* ---- Callbacks ---- */

static bool is_success(const nl_http_call *call)
{
    long code = 0;
    call->client->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &code);
    return code >= 200 && code < 300;
}

static size_t on_header(char *data, size_t one, size_t length, void *argument)
{
    (void)one;
    nl_http_call *call = argument;
    nl_str line = nl_str_trim((nl_str){data, length});
    if (nl_str_starts(line, NL_STR("HTTP/"))) { /* another message begins: the one after 100 Continue */
        nl_builder_clear(&call->head);
        call->head_count = 0;
        call->is_head_whole = false;
        return length;
    }
    if (line.length == 0) {
        call->is_head_whole = true;
        return length;
    }
    if (call->head_count == NL_HTTP_HEADERS_MAX) {
        call->problem = "the answer has too many headers";
        return 0;
    }
    nl_append(&call->head, line);
    nl_append_char(&call->head, '\n');
    call->head_count++;
    if (!nl_builder_failed(&call->head)) return length;
    call->problem = "the head of the answer is too large";
    return 0;
}

static size_t body_max(const nl_http_call *call) /* the words of a refusal may be longer than what was asked for */
{
    return call->request.body_max > 0 && is_success(call) ? call->request.body_max : NL_HTTP_BODY_BYTES_MAX;
}

/* Room for `more` bytes behind what there is; as large as announced from the beginning when that is honest. */
static nl_status make_room(nl_http_call *call, size_t more)
{
    nl_http_body *body = &call->body;
    const size_t needed = body->length + more;
    if (body->buffer && needed <= body->buffer->size_bytes) return NULL;
    size_t capacity = NL_MAX(BODY_FIRST_BYTES, nl_size_mul(needed, 2));
    curl_off_t announced = -1;
    call->client->curl->easy_getinfo(call->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &announced);
    if (!body->buffer && announced >= (curl_off_t)needed && (size_t)announced <= body_max(call)) capacity = (size_t)announced;
    nl_buffer *larger = NULL;
    NL_TRY(nl_buffer_new(call->client->memory, capacity, false, &larger));
    if (body->length > 0) memcpy(larger->data, body->buffer->data, body->length);
    nl_buffer_release(body->buffer);
    body->buffer = larger;
    return NULL;
}

static size_t on_body(char *data, size_t one, size_t length, void *argument)
{
    (void)one;
    nl_http_call *call = argument;
    nl_http_body *body = &call->body;
    if (call->has_fault && call->fault.kind == NL_FAULT_CUT && body->length + length > (uint64_t)call->fault.number) {
        call->problem = "cut on purpose";
        return 0;
    }
    if (call->request.into && is_success(call)) {
        if (length > call->request.into_size - body->length) {
            call->problem = "the answer is longer than it may be";
            return 0;
        }
        memcpy(call->request.into + body->length, data, length);
        body->length += length;
        return length;
    }
    if (length > body_max(call) - body->length) {
        call->problem = "the answer is longer than it may be";
        return 0;
    }
    call->refusal = make_room(call, length);
    if (call->refusal) return 0;
    memcpy(body->buffer->data + body->length, data, length);
    body->length += length;
    return length;
}

/* ---- Setting up ---- */

static bool is_credential(nl_str name)
{
    return nl_str_is_nocase(name, "authorization") || nl_str_is_nocase(name, "cookie") || nl_str_is_nocase(name, "proxy-authorization") ||
           nl_str_starts_nocase(name, NL_STR("x-amz-"));
}

static bool has_header(const nl_property *headers, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(headers[i].key, name)) return true;
    return false;
}

static nl_status add_line(nl_http_call *call, nl_str name, nl_str value)
{
    /* "Name;" is how libcurl is told to send a header without a value. */
    nl_str line = value.length > 0 ? nl_arena_f(call->arena, NL_STR_FMT ": " NL_STR_FMT, NL_STR_ARG(name), NL_STR_ARG(value))
                                   : nl_arena_f(call->arena, NL_STR_FMT ";", NL_STR_ARG(name));
    struct curl_slist *longer = call->client->curl->slist_append(call->lines, line.data);
    if (!longer) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)line.length), NL_P_INT("receivedBytes", 0));
    call->lines = longer;
    return NULL;
}

static nl_status drop_line(nl_http_call *call, const char *line) /* "Expect:" keeps libcurl from adding its own */
{
    struct curl_slist *longer = call->client->curl->slist_append(call->lines, line);
    if (!longer) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)strlen(line)), NL_P_INT("receivedBytes", 0));
    call->lines = longer;
    return NULL;
}

static nl_status set_headers(nl_http_call *call)
{
    const nl_http_request *request = &call->request;
    const nl_property *headers = request->headers;
    uint32_t count = request->header_count;
    if (request->sign && !call->is_elsewhere) NL_TRY(request->sign(request->sign_argument, request, call->arena, &headers, &count));
    for (uint32_t i = 0; i < count; i++) {
        if (call->is_elsewhere && is_credential(headers[i].key)) continue;
        NL_TRY(add_line(call, headers[i].key, headers[i].value));
    }
    if (!has_header(headers, count, "expect") && (call->is_get_now || request->body.length < EXPECT_CONTINUE_BYTES)) NL_TRY(drop_line(call, "Expect:"));
    if (!has_header(headers, count, "content-type")) NL_TRY(drop_line(call, "Content-Type:"));
    if (!has_header(headers, count, "accept")) NL_TRY(drop_line(call, "Accept:"));
    if (!has_header(headers, count, "user-agent")) NL_TRY(add_line(call, NL_STR("User-Agent"), NL_STR("nilas/" NILAS_VERSION)));
    NL_TRY(nl_arena_check(call->arena));
    call->client->curl->easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->lines);
    return NULL;
}

static void set_method(nl_http_call *call)
{
    const nl_curl *curl = call->client->curl;
    const nl_http_request *request = &call->request;
    const nl_str method = call->is_get_now ? NL_STR("GET") : nl_str_from(request->method);
    const bool has_body = !call->is_get_now && (request->body.data || nl_str_is(method, "PUT") || nl_str_is(method, "POST"));
    if (nl_str_is(method, "HEAD")) {
        curl->easy_setopt(call->easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (has_body) { /* also an empty one: servers want to read "Content-Length: 0" */
        curl->easy_setopt(call->easy, CURLOPT_POST, 1L);
        curl->easy_setopt(call->easy, CURLOPT_POSTFIELDS, request->body.length > 0 ? (const char *)request->body.data : "");
        curl->easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.length);
    }
    curl->easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, method.data);
}

bool nl_http_is_this_machine(nl_str host)
{
    return nl_str_is_nocase(host, "localhost") || nl_str_starts(host, NL_STR("127.")) || nl_str_is(host, "::1") || nl_str_ends(host, NL_STR(".localhost"));
}

static nl_status set_connection(nl_http_call *call)
{
    const nl_curl *curl = call->client->curl;
    const nl_http_options *options = &call->client->options;
    nl_url url;
    NL_TRY(nl_url_parse(call->request.url, &url));
    curl->easy_setopt(call->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_timeout_ms);
    if (nl_http_is_this_machine(url.host))
        curl->easy_setopt(call->easy, CURLOPT_PROXY, "");
    else if (options->proxy.length > 0)
        curl->easy_setopt(call->easy, CURLOPT_PROXY, options->proxy.data);
    if (options->ca_file.length > 0) curl->easy_setopt(call->easy, CURLOPT_CAINFO, options->ca_file.data);
    if (options->is_insecure) {
        curl->easy_setopt(call->easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(call->easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return NULL;
}

static bool is_idempotent(const nl_http_request *request)
{
    const nl_str method = nl_str_from(request->method);
    return request->is_idempotent || nl_str_is(method, "GET") || nl_str_is(method, "HEAD") || nl_str_is(method, "PUT");
}

static CURL *take_easy(nl_http_client *client)
{
    if (client->idle_count == 0) return client->curl->easy_init();
    return client->idle[--client->idle_count];
}

/* Done only while nothing is there yet, or while what is there has a certain tag. */
static bool is_conditional(const nl_http_request *request)
{
    for (uint32_t i = 0; i < request->header_count; i++)
        if (nl_str_is_nocase(request->headers[i].key, "if-none-match") || nl_str_is_nocase(request->headers[i].key, "if-match"))
            return nl_str_is(nl_str_from(request->method), "PUT");
    return false;
}

nl_status nl_http_attempt_begin(nl_http_call *call)
{
    const nl_curl *curl = call->client->curl;
    nl_builder_clear(&call->head);
    call->head_count = 0;
    call->is_head_whole = false;
    call->body.length = 0;
    call->problem = NULL;
    call->words[0] = '\0';
    call->moved_ms = nl_http_now_ms();
    call->moved_bytes = 0;
    call->easy = take_easy(call->client);
    if (!call->easy) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    curl->easy_setopt(call->easy, CURLOPT_PRIVATE, call);
    curl->easy_setopt(call->easy, CURLOPT_URL, call->request.url.data);
    curl->easy_setopt(call->easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(call->easy, CURLOPT_TCP_NODELAY, 1L);
    curl->easy_setopt(call->easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(call->easy, CURLOPT_PATH_AS_IS, 1L); /* keys may hold ".." */
    curl->easy_setopt(call->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl->easy_setopt(call->easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(call->easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl->easy_setopt(call->easy, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
    curl->easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->words);
    curl->easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
    curl->easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
    if (call->request.decodes_gzip) curl->easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
    /* libcurl sends a request again by itself when a kept connection turns out to be closed, whatever its method, and counts
     * it nowhere: one that may be done only once would meet its own first try. */
    if (!is_idempotent(&call->request) || is_conditional(&call->request)) curl->easy_setopt(call->easy, CURLOPT_FRESH_CONNECT, 1L);
    NL_TRY(set_connection(call));
    set_method(call);
    return set_headers(call);
}

void nl_http_attempt_end(nl_http_call *call)
{ /* also called by waiters, after the driver did: there is nothing left to do then */
    nl_http_client *client = call->client;
    if (call->easy) {
        client->curl->easy_reset(call->easy);
        if (client->idle_count < NL_COUNT(client->idle))
            client->idle[client->idle_count++] = call->easy;
        else
            client->curl->easy_cleanup(call->easy);
    }
    if (call->lines) client->curl->slist_free_all(call->lines);
    call->easy = NULL;
    call->lines = NULL;
}

/* ---- Judging ---- */

static nl_str shown_url(const nl_http_call *call) /* without the query, which may hold a signature */
{
    return nl_str_slice(call->request.url, 0, nl_str_find_char(call->request.url, '?', 0));
}

/* advice: what to do about it, a sentence; or NULL. */
static nl_http_verdict fail(nl_http_call *call, nl_error_kind kind, const char *problem, const char *advice)
{
    nl_error_free(call->status);
    if (call->refusal) {
        call->status = call->refusal;
        call->refusal = NULL;
        return NL_HTTP_FAILED;
    }
    nl_str words = call->attempts > 1 ? nl_arena_f(call->arena, "%s (after %u attempts)", problem, call->attempts) : nl_arena_f(call->arena, "%s", problem);
    if (advice) words = nl_arena_f(call->arena, NL_STR_FMT ". %s", NL_STR_ARG(words), advice);
    call->status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", call->request.method), NL_P_STR("path", shown_url(call)), NL_P_STR("problem", words));
    nl_error_set_kind(call->status, kind);
    return NL_HTTP_FAILED;
}

/* Waits longer each time, by a random part of it, so that those who failed together do not come back together. */
static int64_t backoff_ms(const nl_http_call *call)
{
    uint32_t random = 0;
    nl_random_bytes(&random, sizeof(random));
    const nl_http_options *options = &call->client->options;
    const uint32_t doublings = NL_MIN(call->attempts - 1, 12u);
    const int64_t longest = NL_MIN(NL_MIN(options->backoff_first_ms, (int64_t)INT32_MAX) << doublings, NL_MIN(options->backoff_ms_max, (int64_t)INT32_MAX));
    return longest / 2 + (int64_t)(random % (uint32_t)(longest / 2 + 1));
}

/* "Retry-After: 3" of the answer; -1: none. Dates are rare enough to be left to the backoff. */
static int64_t retry_after_ms(const nl_http_call *call)
{
    nl_str rest = nl_builder_str(&call->head);
    nl_str line = {0};
    while (nl_str_next_part(&rest, '\n', &line)) {
        if (!nl_str_starts_nocase(line, NL_STR("retry-after:"))) continue;
        const nl_str value = nl_str_trim(nl_str_slice(line, sizeof("retry-after:") - 1, line.length));
        int64_t seconds = 0;
        for (size_t i = 0; i < value.length; i++) {
            if (value.data[i] < '0' || value.data[i] > '9' || i == 6) return -1;
            seconds = seconds * 10 + (value.data[i] - '0');
        }
        return value.length > 0 ? seconds * 1000 : -1;
    }
    return -1;
}

static bool may_retry(nl_http_call *call, int64_t wait_ms)
{
    if (call->request.retries_nothing || call->attempts >= call->client->options.attempts_max) return false;
    call->due_ms = nl_http_now_ms() + wait_ms;
    return call->due_ms < call->deadline_ms;
}

static bool was_sent_whole(const nl_http_call *call)
{
    if (!call->easy) return true; /* a fault plan's doing: the worst is assumed */
    const nl_curl *curl = call->client->curl;
    curl_off_t sent = 0;
    long head_bytes = 0;
    curl->easy_getinfo(call->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    curl->easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &head_bytes);
    /* libcurl counts a short body as part of the head. */
    return head_bytes > 0 && ((uint64_t)sent >= call->request.body.length || (uint64_t)head_bytes > call->request.body.length);
}

static bool may_pass(CURLcode result)
{
    switch ((int)result) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_WEIRD_SERVER_REPLY: return true;
    default: return false;
    }
}

static const char *advice_for(CURLcode result)
{
    switch ((int)result) {
    case CURLE_COULDNT_CONNECT: return "Check that the server runs there, and the address and port";
    case CURLE_COULDNT_RESOLVE_HOST: return "Check the name of the host";
    case CURLE_COULDNT_RESOLVE_PROXY: return "Check the name of the proxy";
    case CURLE_PEER_FAILED_VERIFICATION: return "Check the server's certificate, and where those that are trusted lie (AWS_CA_BUNDLE)";
    case CURLE_OPERATION_TIMEDOUT: return "The server took the connection, or did not refuse it, and says nothing: look at the server, the network and its firewalls";
    default: return NULL;
    }
}

/* No answer came, or not all of it. */
static nl_http_verdict judge_failure(nl_http_call *call, CURLcode result, const char *problem)
{
    const bool never_arrived = result == CURLE_COULDNT_CONNECT || result == CURLE_COULDNT_RESOLVE_HOST || result == CURLE_COULDNT_RESOLVE_PROXY ||
                               result == CURLE_PEER_FAILED_VERIFICATION || result == CURLE_SSL_CONNECT_ERROR;
    const bool is_unknown = !never_arrived && !is_idempotent(&call->request) && was_sent_whole(call);
    if (result == CURLE_OPERATION_TIMEDOUT) call->stall_count++;
    if (!is_unknown && may_pass(result) && call->stall_count < STALLS_MAX && may_retry(call, backoff_ms(call))) return NL_HTTP_AGAIN;
    return fail(call, is_unknown ? NL_KIND_UNKNOWN_STATE : may_pass(result) ? NL_KIND_RETRY : NL_KIND_DATA, problem, advice_for(result));
}

nl_http_verdict nl_http_attempt_stopped(nl_http_call *call, CURLcode result, const char *problem)
{
    return judge_failure(call, result, problem);
}

static nl_str location_of(const nl_http_call *call)
{
    nl_str rest = nl_builder_str(&call->head);
    nl_str line = {0};
    while (nl_str_next_part(&rest, '\n', &line))
        if (nl_str_starts_nocase(line, NL_STR("location:"))) return nl_str_trim(nl_str_slice(line, sizeof("location:") - 1, line.length));
    return (nl_str){0};
}

/* The absolute form of a Location; data NULL: it is none. */
static nl_str resolve(nl_http_call *call, nl_str location)
{
    const nl_curl *curl = call->client->curl;
    nl_str resolved = {0};
    char *text = NULL;
    CURLU *url = curl->url();
    if (!url) return resolved;
    if (curl->url_set(url, CURLUPART_URL, call->request.url.data, CURLU_PATH_AS_IS) == CURLUE_OK &&
        curl->url_set(url, CURLUPART_URL, nl_str_c(call->arena, location), CURLU_PATH_AS_IS) == CURLUE_OK &&
        curl->url_get(url, CURLUPART_URL, &text, 0) == CURLUE_OK)
        resolved = nl_arena_str(call->arena, nl_str_from(text));
    if (text) curl->free(text);
    curl->url_cleanup(url);
    return resolved;
}

static bool is_same_place(const nl_url *a, const nl_url *b)
{
    const nl_str standard = nl_str_is_nocase(a->scheme, "https") ? NL_STR("443") : NL_STR("80");
    return nl_str_equal_nocase(a->scheme, b->scheme) && nl_str_equal_nocase(a->host, b->host) &&
           nl_str_equal(a->port.length ? a->port : standard, b->port.length ? b->port : standard);
}

/* True: the answer leads elsewhere and the call is ready to go there. */
static bool follows_redirect(nl_http_call *call, nl_http_verdict *verdict)
{
    const nl_str method = call->is_get_now ? NL_STR("GET") : nl_str_from(call->request.method);
    const bool is_reading = nl_str_is(method, "GET") || nl_str_is(method, "HEAD");
    const bool keeps_method = call->code == 307 || call->code == 308;
    if (!keeps_method && call->code != 303 && !(is_reading && (call->code == 301 || call->code == 302))) return false;
    const nl_str location = location_of(call);
    if (location.length == 0) return false;
    if (call->redirect_count == NL_HTTP_REDIRECTS_MAX) {
        *verdict = fail(call, NL_KIND_DATA, "too many redirects", NULL);
        return true;
    }
    nl_url from = {0};
    nl_url to = {0};
    const nl_str target = resolve(call, location);
    nl_status status = nl_url_parse(call->request.url, &from);
    if (!status) status = nl_url_parse(target, &to);
    if (status) {
        nl_error_free(status);
        *verdict = fail(call, NL_KIND_DATA, "a redirect to something that is not a URL", NULL);
        return true;
    }
    call->is_elsewhere = call->is_elsewhere || !is_same_place(&from, &to);
    call->is_get_now = call->is_get_now || (call->code == 303 && !is_reading);
    call->request.url = target;
    call->redirect_count++;
    call->attempts--;
    call->due_ms = nl_http_now_ms();
    *verdict = NL_HTTP_AGAIN;
    return true;
}

static bool is_passing_code(const nl_http_call *call)
{
    switch (call->code) {
    case 429:
    case 503: return true;
    case 500:
    case 502:
    case 504: return is_idempotent(&call->request);
    default: return false;
    }
}

nl_http_verdict nl_http_attempt_judge(nl_http_call *call, CURLcode result)
{
    nl_http_verdict verdict = NL_HTTP_DONE;
    if (call->has_fault && call->fault.kind == NL_FAULT_LOST_REPLY) {
        call->has_fault = false;
        return judge_failure(call, CURLE_RECV_ERROR, "the answer was lost on purpose");
    }
    nl_fault_effect effect = {0};
    if (nl_fault_meet(call->client->faults, "http.receive", call->body.length, &effect)) return judge_failure(call, CURLE_RECV_ERROR, "failed on purpose");
    if (result == CURLE_WRITE_ERROR && call->has_fault && call->fault.kind == NL_FAULT_CUT) result = CURLE_PARTIAL_FILE;
    if (result != CURLE_OK) {
        const char *problem = call->problem ? call->problem : call->words[0] ? call->words : call->client->curl->easy_strerror(result);
        return judge_failure(call, result, problem);
    }
    if (call->easy && !call->is_head_whole) return judge_failure(call, CURLE_PARTIAL_FILE, "the answer ends within its head");
    if (call->easy) {
        long code = 0;
        call->client->curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &code);
        call->code = (int32_t)code;
    }
    if (follows_redirect(call, &verdict)) return verdict;
    const bool is_good = call->code >= 200 && call->code < 300;
    if (is_good && call->request.into) {
        nl_buffer_release(call->body.buffer); /* an earlier try's words of failure */
        call->body.buffer = NULL;
    }
    if (is_good && call->request.into && call->body.length != call->request.into_size) /* a length that lies, or none at all */
        return judge_failure(call, CURLE_PARTIAL_FILE, "the answer is shorter than it should be");
    if (is_passing_code(call)) {
        const int64_t asked_ms = retry_after_ms(call);
        if (may_retry(call, asked_ms >= 0 ? NL_MIN(asked_ms, (int64_t)RETRY_AFTER_MS_MAX) + backoff_ms(call) / 4 : backoff_ms(call))) return NL_HTTP_AGAIN;
    }
    return NL_HTTP_DONE;
}
