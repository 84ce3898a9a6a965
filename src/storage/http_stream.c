/* storage/http_stream.c - see http_stream.h. The caller's own thread drives libcurl, and only while it waits for bytes: so the
 * protocol's flow control holds the server back when the caller is slow. */
#include "storage/http_stream.h"

#include <stdlib.h>

#include "storage/http_private.h"

#define POLL_MS 100 /* how long a cancelled caller waits at most */

struct nl_http_channel {
    const nl_curl *curl;
    CURLM *multi;
    nl_arena *arena; /* texts of options */
    nl_http_options options;
    bool has_broken_off; /* libcurl does not find its way on a connection of which a stream was given up */
};

struct nl_http_stream {
    nl_http_channel *channel; /* borrowed */
    CURL *easy;
    struct curl_slist *lines;
    nl_arena *arena;
    nl_cancel *cancel;
    nl_str url;
    nl_builder head;     /* lines "name: value\n", trailers behind */
    nl_builder received; /* bytes that have come and were not given out */
    nl_builder given;    /* what the caller looks at */
    bool is_done;
    CURLcode outcome;
    char words[CURL_ERROR_SIZE];
};

nl_status nl_http_channel_new(const nl_http_options *options, nl_http_channel **channel)
{
    const nl_curl *curl;
    NL_TRY(nl_curl_open(&curl));
    nl_http_channel *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(*self)), NL_P_INT("receivedBytes", 0));
    *self = (nl_http_channel){.curl = curl, .multi = curl->multi_init(), .arena = nl_arena_new(NULL), .options = *options};
    self->options.proxy = nl_arena_str(self->arena, options->proxy);
    self->options.ca_file = nl_arena_str(self->arena, options->ca_file);
    if (self->options.connect_timeout_ms == 0) self->options.connect_timeout_ms = 10000;
    curl->multi_setopt(self->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
    *channel = self;
    return NULL;
}

void nl_http_channel_free(nl_http_channel *channel)
{
    if (!channel) return;
    channel->curl->multi_cleanup(channel->multi);
    nl_arena_free(channel->arena);
    free(channel);
}

static size_t on_header(char *data, size_t one, size_t length, void *argument)
{
    (void)one;
    nl_http_stream *stream = argument;
    const nl_str line = nl_str_trim((nl_str){data, length});
    if (nl_str_starts(line, NL_STR("HTTP/"))) nl_builder_clear(&stream->head);
    nl_append(&stream->head, line);
    nl_append_char(&stream->head, '\n');
    return nl_builder_failed(&stream->head) ? 0 : length;
}

static size_t on_body(char *data, size_t one, size_t length, void *argument)
{
    (void)one;
    nl_http_stream *stream = argument;
    nl_append(&stream->received, (nl_str){data, length});
    return nl_builder_failed(&stream->received) ? 0 : length;
}

static nl_status add_line(nl_http_stream *stream, nl_str line)
{
    struct curl_slist *longer = stream->channel->curl->slist_append(stream->lines, line.data);
    if (!longer) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)line.length), NL_P_INT("receivedBytes", 0));
    stream->lines = longer;
    return NULL;
}

static nl_status set_up(nl_http_stream *stream, const nl_http_request *request)
{
    const nl_curl *curl = stream->channel->curl;
    const nl_http_options *options = &stream->channel->options;
    nl_url url;
    NL_TRY(nl_url_parse(request->url, &url));
    const bool is_secure = nl_str_is_nocase(url.scheme, "https");
    for (uint32_t i = 0; i < request->header_count; i++)
        NL_TRY(add_line(stream, nl_arena_f(stream->arena, NL_STR_FMT ": " NL_STR_FMT, NL_STR_ARG(request->headers[i].key), NL_STR_ARG(request->headers[i].value))));
    NL_TRY(add_line(stream, NL_STR("Expect:")));
    NL_TRY(add_line(stream, NL_STR("Accept:")));
    CURL *easy = stream->easy;
    curl->easy_setopt(easy, CURLOPT_PRIVATE, stream);
    curl->easy_setopt(easy, CURLOPT_URL, stream->url.data);
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)(is_secure ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE));
    curl->easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
    /* libcurl 7.88 fails on a connection without TLS that it takes up again. */
    curl->easy_setopt(easy, CURLOPT_FRESH_CONNECT, stream->channel->has_broken_off || !is_secure ? 1L : 0L);
    curl->easy_setopt(easy, CURLOPT_FORBID_REUSE, is_secure ? 0L : 1L);
    stream->channel->has_broken_off = false;
    curl->easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
    curl->easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)options->connect_timeout_ms);
    curl->easy_setopt(easy, CURLOPT_BUFFERSIZE, 256L << 10);
    curl->easy_setopt(easy, CURLOPT_ERRORBUFFER, stream->words);
    curl->easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl->easy_setopt(easy, CURLOPT_HEADERDATA, stream);
    curl->easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl->easy_setopt(easy, CURLOPT_WRITEDATA, stream);
    curl->easy_setopt(easy, CURLOPT_POST, 1L);
    curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.length > 0 ? (const char *)request->body.data : "");
    curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.length);
    curl->easy_setopt(easy, CURLOPT_HTTPHEADER, stream->lines);
    if (nl_http_is_this_machine(url.host))
        curl->easy_setopt(easy, CURLOPT_PROXY, "");
    else if (options->proxy.length > 0)
        curl->easy_setopt(easy, CURLOPT_PROXY, options->proxy.data);
    if (options->ca_file.length > 0) curl->easy_setopt(easy, CURLOPT_CAINFO, options->ca_file.data);
    if (options->is_insecure) {
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    return nl_arena_check(stream->arena);
}

nl_status nl_http_stream_open(nl_http_channel *channel, const nl_http_request *request, nl_http_stream **stream)
{
    nl_http_stream *self = calloc(1, sizeof(*self));
    if (!self) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)sizeof(*self)), NL_P_INT("receivedBytes", 0));
    *self = (nl_http_stream){.channel = channel, .arena = nl_arena_new(NULL), .cancel = request->cancel, .easy = channel->curl->easy_init()};
    self->url = nl_arena_str(self->arena, request->url);
    nl_builder_init(&self->head, 1 << 20);
    nl_builder_init(&self->received, 1 << 30);
    nl_builder_init(&self->given, 1 << 30);
    nl_status status = self->easy ? set_up(self, request) : NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 0), NL_P_INT("receivedBytes", 0));
    if (!status) {
        channel->curl->multi_add_handle(channel->multi, self->easy);
        *stream = self;
        return NULL;
    }
    nl_http_stream_close(self);
    return status;
}

/* What has ended, of all streams of the channel: each learns it when it reads. */
static void note_ends(nl_http_channel *channel)
{
    int left;
    for (CURLMsg *message; (message = channel->curl->multi_info_read(channel->multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        nl_http_stream *ended = NULL;
        channel->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &ended);
        if (!ended) continue;
        ended->is_done = true;
        ended->outcome = message->data.result;
    }
}

static nl_status failed(const nl_http_stream *stream, const char *problem)
{
    return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "POST"), NL_P_STR("path", stream->url), NL_P("problem", problem));
}

nl_status nl_http_stream_read(nl_http_stream *stream, nl_str *bytes, bool *is_done)
{
    nl_http_channel *channel = stream->channel;
    const nl_curl *curl = channel->curl;
    *bytes = (nl_str){0};
    while (stream->received.length == 0 && !stream->is_done) {
        int running;
        if (stream->cancel) NL_TRY(nl_cancel_check(stream->cancel));
        if (curl->multi_perform(channel->multi, &running) != CURLM_OK) return failed(stream, "libcurl cannot go on");
        note_ends(channel);
        if (stream->received.length == 0 && !stream->is_done) curl->multi_poll(channel->multi, NULL, 0, POLL_MS, NULL);
    }
    const nl_builder taken = stream->given;
    stream->given = stream->received;
    stream->received = taken;
    nl_builder_clear(&stream->received);
    *bytes = nl_builder_str(&stream->given);
    *is_done = bytes->length == 0;
    if (!*is_done || stream->outcome == CURLE_OK) return NULL;
    return failed(stream, stream->words[0] ? stream->words : curl->easy_strerror(stream->outcome));
}

int32_t nl_http_stream_status(const nl_http_stream *stream)
{
    long code = 0;
    stream->channel->curl->easy_getinfo(stream->easy, CURLINFO_RESPONSE_CODE, &code);
    return (int32_t)code;
}

nl_str nl_http_stream_header(const nl_http_stream *stream, const char *name)
{
    nl_str rest = nl_builder_str(&stream->head), line, found = {0};
    const nl_str wanted = nl_str_from(name);
    while (nl_str_next_part(&rest, '\n', &line)) {
        const bool is_it = line.length > wanted.length && line.data[wanted.length] == ':' && nl_str_is_nocase(nl_str_slice(line, 0, wanted.length), name);
        if (is_it) found = nl_str_trim(nl_str_slice(line, wanted.length + 1, line.length));
    }
    return found;
}

void nl_http_stream_close(nl_http_stream *stream)
{
    if (!stream) return;
    const nl_curl *curl = stream->channel->curl;
    if (stream->easy) {
        if (!stream->is_done) stream->channel->has_broken_off = true;
        curl->multi_remove_handle(stream->channel->multi, stream->easy);
        curl->easy_cleanup(stream->easy);
    }
    if (stream->lines) curl->slist_free_all(stream->lines);
    nl_builder_fini(&stream->head);
    nl_builder_fini(&stream->received);
    nl_builder_fini(&stream->given);
    nl_arena_free(stream->arena);
    free(stream);
}
