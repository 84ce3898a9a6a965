/* storage/http_stream.h - answers read while they come, over HTTP/2: the calls of gRPC.
 *
 * A channel keeps connections and is used by one thread at a time; so are its streams, of which several may be open. The
 * connection is HTTP/2 from its first byte (no upgrade) for http, by ALPN for https. What the reader does not take
 * stays with the server: nothing is read ahead but the protocol's window.
 */
#pragma once

#include "storage/http.h"

typedef struct nl_http_channel nl_http_channel;
typedef struct nl_http_stream nl_http_stream;

/* Of the options connect_timeout_ms, proxy, ca_file, is_insecure count, and stall_timeout_ms for the first byte (0: none). */
NL_MUST_USE nl_status nl_http_channel_new(const nl_http_options *options, nl_http_channel **channel);
void nl_http_channel_free(nl_http_channel *channel); /* its streams are closed before; NULL is fine */

/* Sends the request (POST; url, headers, body and cancel count; all borrowed until the stream is closed). */
NL_MUST_USE nl_status nl_http_stream_open(nl_http_channel *channel, const nl_http_request *request, nl_http_stream **stream);
/* Waits for bytes; *bytes is borrowed until the next call; *is_done: the answer is whole, trailers included.
 * Fails: NILAS_IO_ERROR naming the URL and what happened; OPERATION_CANCELED. */
NL_MUST_USE nl_status nl_http_stream_read(nl_http_stream *stream, nl_str *bytes, bool *is_done);
int32_t nl_http_stream_status(const nl_http_stream *stream); /* 0: no head has come yet */
/* A header, or a trailer once the answer is done; lower-case name; data NULL: absent. Borrowed from the stream. */
nl_str nl_http_stream_header(const nl_http_stream *stream, const char *name);
void nl_http_stream_close(nl_http_stream *stream); /* tells the server when it is not done; NULL is fine */
