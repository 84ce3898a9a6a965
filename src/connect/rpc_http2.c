/* connect/rpc_http2.c - one connection: nghttp2's callbacks, and bytes between it and the socket.
 *
 * A call's answer is headers, messages as DATA, and trailers with grpc-status; an error before any message is one HEADERS
 * frame ("Trailers-Only"). Flow control is nghttp2's: it asks for data only as fast as the client takes them.
 */
#include "connect/rpc_private.h"

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define STREAMS_MAX            256u         /* at a time in one connection */
#define STREAM_WINDOW_BYTES    (1 << 20)
#define CONNECTION_WINDOW_BYTES (4 << 20)
#define OUT_BYTES              (256u << 10) /* gathered for one write */
#define HEADER_BYTES_MAX       (64u << 10)
#define READ_BYTES             (64u << 10)
#define READS_MAX              16 /* then others have their turn */

#define HEADER(name_, value_, length_)                                                                                    \
    ((nghttp2_nv){.name = (uint8_t *)NL_UNCONST(name_), .value = (uint8_t *)NL_UNCONST(value_), .namelen = sizeof(name_) - 1, .valuelen = (length_)})
#define HEADER_TEXT(name, value) HEADER(name, value, sizeof(value) - 1)

/* ---- answers ------------------------------------------------------------------------------------------------------ */

/* "Percent-Byte-Encoded" of gRPC: printable ASCII but % stays. */
static void append_percent(nl_builder *out, nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        const uint8_t c = (uint8_t)text.data[i];
        if (c >= 0x20 && c <= 0x7E && c != '%')
            nl_append_char(out, (char)c);
        else
            nl_append_f(out, "%%%02X", c);
    }
}

/* Base64 without padding, as gRPC's "-bin" metadata. */
static void append_base64(nl_builder *out, nl_bytes bytes)
{
    char *text = malloc(bytes.length / 3 * 4 + 5);
    if (!text) return;
    int length = EVP_EncodeBlock((unsigned char *)text, bytes.data, (int)bytes.length);
    while (length > 0 && text[length - 1] == '=') length--;
    nl_append(out, (nl_str){text, (size_t)length});
    free(text);
}

/* grpc-status, grpc-message, grpc-status-details-bin: as trailers, or after the headers when nothing else is sent. */
static void submit_end(nl_rpc *rpc, bool is_whole_answer)
{
    enum { HEADERS_MAX = 5, TEXT_BYTES_MAX = 64 << 10 };
    nghttp2_nv headers[HEADERS_MAX];
    size_t count = 0;
    char code[16];
    nl_builder message, details;
    nl_builder_init(&message, TEXT_BYTES_MAX);
    nl_builder_init(&details, TEXT_BYTES_MAX);
    const int code_length = snprintf(code, sizeof code, "%d", (int)rpc->code);
    append_percent(&message, rpc->message);
    append_base64(&details, rpc->details);
    if (is_whole_answer) {
        headers[count++] = HEADER_TEXT(":status", "200");
        headers[count++] = HEADER_TEXT("content-type", "application/grpc");
    }
    headers[count++] = HEADER("grpc-status", code, (size_t)code_length);
    if (message.length > 0) headers[count++] = HEADER("grpc-message", message.data, message.length);
    if (details.length > 0) headers[count++] = HEADER("grpc-status-details-bin", details.data, details.length);
    if (is_whole_answer)
        (void)nghttp2_submit_response(rpc->connection->http2, rpc->stream_id, headers, count, NULL);
    else
        (void)nghttp2_submit_trailer(rpc->connection->http2, rpc->stream_id, headers, count);
    rpc->has_answered = rpc->has_ended = true;
    nl_builder_fini(&message);
    nl_builder_fini(&details);
}

/* The next bytes of the call's queue, of several messages if they fit. */
static ssize_t read_queue(nghttp2_session *session, int32_t stream_id, uint8_t *into, size_t size, uint32_t *flags, nghttp2_data_source *source,
                          void *user_data)
{
    (void)session, (void)stream_id, (void)user_data;
    nl_rpc *rpc = source->ptr;
    size_t filled = 0;
    nl_mutex_lock(&rpc->mutex);
    while (filled < size && rpc->first) {
        nl_rpc_queued *head = rpc->first;
        const size_t taken = NL_MIN(size - filled, head->framed->size_bytes - rpc->sent_of_first);
        memcpy(into + filled, head->framed->data + rpc->sent_of_first, taken);
        filled += taken;
        rpc->sent_of_first += taken;
        rpc->queued_bytes -= taken;
        if (rpc->sent_of_first < head->framed->size_bytes) continue;
        rpc->sent_of_first = 0;
        rpc->first = head->next;
        if (!rpc->first) rpc->last = NULL;
        nl_buffer_release(head->framed);
        free(head);
    }
    const bool is_low = rpc->queued_bytes < NL_RPC_QUEUE_LOW;
    const bool is_over = rpc->is_finished && !rpc->first;
    nl_mutex_unlock(&rpc->mutex);
    if (is_low && filled > 0) rpc->was_drained = true;
    if (is_over) {
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        submit_end(rpc, false);
    } else if (filled == 0) {
        return NGHTTP2_ERR_DEFERRED;
    }
    return (ssize_t)filled;
}

static void submit_headers(nl_rpc *rpc)
{
    const nghttp2_nv headers[] = {HEADER_TEXT(":status", "200"), HEADER_TEXT("content-type", "application/grpc"),
                                  HEADER_TEXT("grpc-accept-encoding", "identity,gzip")};
    const nghttp2_data_provider provider = {.source.ptr = rpc, .read_callback = read_queue};
    rpc->has_answered = true;
    (void)nghttp2_submit_response(rpc->connection->http2, rpc->stream_id, headers, NL_COUNT(headers), &provider);
}

void nl_connection_resume(nl_rpc *rpc)
{
    nl_mutex_lock(&rpc->mutex);
    const bool has_messages = rpc->first != NULL;
    const bool is_finished = rpc->is_finished;
    nl_mutex_unlock(&rpc->mutex);
    if (!rpc->connection || rpc->has_ended) return;
    if (!rpc->has_answered && is_finished && !has_messages)
        submit_end(rpc, true);
    else if (!rpc->has_answered)
        submit_headers(rpc);
    else
        (void)nghttp2_session_resume_data(rpc->connection->http2, rpc->stream_id);
}

void nl_connection_cancel(nl_rpc *rpc)
{
    (void)nghttp2_submit_rst_stream(rpc->connection->http2, NGHTTP2_FLAG_NONE, rpc->stream_id, NGHTTP2_CANCEL);
}

/* Something that is not gRPC. */
static void submit_plain(nl_rpc *rpc, const char *status, size_t status_length)
{
    const nghttp2_nv headers[] = {HEADER(":status", status, status_length)};
    rpc->has_answered = rpc->has_ended = true;
    (void)nghttp2_submit_response(rpc->connection->http2, rpc->stream_id, headers, 1, NULL);
}

/* ---- nghttp2's callbacks ------------------------------------------------------------------------------------------ */

static nl_rpc *call_of(nghttp2_session *session, int32_t stream_id)
{
    return nghttp2_session_get_stream_user_data(session, stream_id);
}

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    nl_rpc *rpc = nl_rpc_new(user_data, frame->hd.stream_id);
    if (!rpc) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    rpc->is_authorized = rpc->server->options.token.length == 0;
    nghttp2_session_set_stream_user_data(session, frame->hd.stream_id, rpc);
    return 0;
}

static const nl_rpc_method *find_method(const nl_rpc_server *server, nl_str path)
{
    nl_str service, name;
    nl_str rest = nl_str_slice(path, 1, path.length);
    if (!nl_str_starts(path, NL_STR("/")) || !nl_str_next_part(&rest, '/', &service) || !nl_str_next_part(&rest, '/', &name)) return NULL;
    if (rest.length > 0 || !nl_str_is(service, server->options.service_name)) return NULL;
    for (uint32_t i = 0; i < server->options.method_count; i++)
        if (nl_str_is(name, server->options.methods[i].name)) return &server->options.methods[i];
    return NULL;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name_data, size_t name_length, const uint8_t *value_data,
                     size_t value_length, uint8_t flags, void *user_data)
{
    (void)flags, (void)user_data;
    nl_rpc *rpc = call_of(session, frame->hd.stream_id);
    const nl_str name = {(const char *)name_data, name_length}, value = {(const char *)value_data, value_length};
    if (!rpc || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    if (nl_str_is(name, ":method")) rpc->is_post = nl_str_is(value, "POST");
    if (nl_str_is(name, ":path")) rpc->method = find_method(rpc->server, value);
    if (nl_str_is(name, "content-type")) rpc->is_grpc = nl_str_starts_nocase(value, NL_STR("application/grpc")) && !nl_str_starts_nocase(value, NL_STR("application/grpc-web"));
    if (nl_str_is(name, "grpc-encoding")) {
        rpc->is_gzip = nl_str_is(value, "gzip");
        rpc->has_unknown_encoding = !rpc->is_gzip && !nl_str_is(value, "identity");
    }
    if (nl_str_is(name, "authorization") && !rpc->is_authorized) rpc->is_authorized = nl_rpc_is_authorized(rpc->server, value);
    if (nl_str_is(name, "grpc-timeout")) {
        const int64_t timeout_micros = nl_rpc_parse_timeout(value);
        if (timeout_micros >= 0) rpc->deadline_micros = nl_monotonic_micros() + timeout_micros;
    }
    return 0;
}

/* The request's head is complete: refuses what cannot be answered. */
static void check_head(nl_rpc *rpc)
{
    if (!rpc->is_post)
        submit_plain(rpc, "405", 3);
    else if (!rpc->is_grpc)
        submit_plain(rpc, "415", 3);
    else if (!rpc->is_authorized)
        nl_rpc_refuse(rpc, NL_RPC_UNAUTHENTICATED, "Invalid token");
    else if (!rpc->method)
        nl_rpc_refuse(rpc, NL_RPC_UNIMPLEMENTED, "Method not found");
    else if (rpc->has_unknown_encoding)
        nl_rpc_refuse(rpc, NL_RPC_UNIMPLEMENTED, "messages may be compressed by gzip only");
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    nl_connection *connection = user_data;
    if (frame->hd.type == NGHTTP2_PING && (frame->hd.flags & NGHTTP2_FLAG_ACK)) connection->pinged_micros = 0;
    if (frame->hd.type == NGHTTP2_SETTINGS) connection->has_spoken = true;
    if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA) return 0;
    nl_rpc *rpc = call_of(session, frame->hd.stream_id);
    if (!rpc) return 0;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
        rpc->has_head = true;
        check_head(rpc);
    }
    if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM && !rpc->has_ended) nl_rpc_half_close(rpc);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data, size_t length, void *user_data)
{
    (void)flags, (void)user_data;
    nl_rpc *rpc = call_of(session, stream_id);
    if (rpc && !rpc->has_ended) nl_rpc_receive(rpc, data, length);
    return 0;
}

/* A client that still sends after it was answered is told to stop. */
static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user_data)
{
    (void)user_data;
    if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM)) return 0;
    const nl_rpc *rpc = call_of(session, frame->hd.stream_id);
    if (rpc && !rpc->is_half_closed) (void)nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code, void *user_data)
{
    (void)error_code, (void)user_data;
    nl_rpc *rpc = call_of(session, stream_id);
    nghttp2_session_set_stream_user_data(session, stream_id, NULL);
    if (rpc) nl_rpc_close(rpc);
    return 0;
}

/* ---- connections -------------------------------------------------------------------------------------------------- */

static bool start_http2(nl_connection *connection)
{
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, STREAMS_MAX},
                                               {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW_BYTES},
                                               {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, HEADER_BYTES_MAX}};
    if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&option) != 0) {
        nghttp2_session_callbacks_del(callbacks);
        return false;
    }
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_frame_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
    nghttp2_option_set_peer_max_concurrent_streams(option, STREAMS_MAX);
    const bool is_made = nghttp2_session_server_new2(&connection->http2, callbacks, connection, option) == 0;
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_option_del(option);
    return is_made && nghttp2_submit_settings(connection->http2, NGHTTP2_FLAG_NONE, settings, NL_COUNT(settings)) == 0 &&
           nghttp2_session_set_local_window_size(connection->http2, NGHTTP2_FLAG_NONE, 0, CONNECTION_WINDOW_BYTES) == 0;
}

nl_status nl_connection_new(nl_rpc_server *server, int fd, nl_connection **connection)
{
    nl_connection *made = calloc(1, sizeof *made);
    if (made) {
        *made = (nl_connection){.server = server, .id = ++server->last_connection_id, .fd = fd, .last_heard_micros = nl_monotonic_micros(), .out_capacity = OUT_BYTES};
        made->out = malloc(OUT_BYTES);
        if (server->tls) made->tls = nl_tls_connection_new(server->tls, fd);
    }
    if (!made || !made->out || (server->tls && !made->tls) || !start_http2(made)) {
        if (made) {
            made->fd = -1;
            nl_connection_free(made);
        }
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", OUT_BYTES), NL_P("receivedBytes", "0"));
    }
    *connection = made;
    return NULL;
}

void nl_connection_free(nl_connection *connection)
{
    while (connection->calls) nl_rpc_close(connection->calls);
    nghttp2_session_del(connection->http2);
    nl_tls_connection_free(connection->tls);
    if (connection->fd >= 0) close(connection->fd);
    free(connection->out);
    free(connection);
}

void nl_connection_read(nl_connection *connection)
{
    uint8_t bytes[READ_BYTES];
    for (int i = 0; i < READS_MAX && !connection->is_broken; i++) {
        const ssize_t length = connection->tls ? nl_tls_read(connection->tls, bytes, sizeof bytes) : read(connection->fd, bytes, sizeof bytes);
        if (length < 0 && errno == EINTR) continue;
        if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
        if (length <= 0) {
            connection->is_broken = true;
            return;
        }
        connection->last_heard_micros = nl_monotonic_micros();
        if (nghttp2_session_mem_recv(connection->http2, bytes, (size_t)length) < 0) connection->is_broken = true;
        if (!connection->tls && (size_t)length < sizeof bytes) return;
    }
}

/* True when everything gathered is with the socket. */
static bool write_out(nl_connection *connection)
{
    while (connection->out_sent < connection->out_length) {
        const uint8_t *from = connection->out + connection->out_sent;
        const size_t size = connection->out_length - connection->out_sent;
        const ssize_t length = connection->tls ? nl_tls_write(connection->tls, from, size) : write(connection->fd, from, size);
        if (length < 0 && errno == EINTR) continue;
        if (length < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            connection->wants_write = true;
            return false;
        }
        if (length <= 0) {
            connection->is_broken = true;
            return false;
        }
        connection->out_sent += (size_t)length;
    }
    connection->out_length = connection->out_sent = 0;
    return true;
}

/* Calls that want more are asked for it outside of nghttp2. True when one was. */
static bool refill(nl_connection *connection)
{
    bool is_any = false;
    nl_rpc *next = NULL;
    for (nl_rpc *rpc = connection->calls; rpc; rpc = next) {
        next = rpc->next;
        if (!rpc->was_drained) continue;
        rpc->was_drained = false;
        nl_mutex_lock(&rpc->mutex);
        const nl_rpc_hooks *hooks = rpc->hooks;
        nl_mutex_unlock(&rpc->mutex);
        if (!hooks || !hooks->drained) continue;
        hooks->drained(rpc, rpc->state);
        nl_connection_resume(rpc);
        is_any = true;
    }
    return is_any;
}

void nl_connection_flush(nl_connection *connection)
{
    connection->wants_write = false;
    while (!connection->is_broken && write_out(connection)) {
        const uint8_t *piece = NULL;
        ssize_t length = 0;
        while (connection->out_length < OUT_BYTES / 2 && (length = nghttp2_session_mem_send(connection->http2, &piece)) > 0) {
            if (connection->out_length + (size_t)length > connection->out_capacity) { /* a frame is 16 KiB and some bytes, headers may be more */
                const size_t capacity = (connection->out_length + (size_t)length) * 2;
                uint8_t *larger = realloc(connection->out, capacity);
                if (!larger) {
                    connection->is_broken = true;
                    return;
                }
                connection->out = larger;
                connection->out_capacity = capacity;
            }
            memcpy(connection->out + connection->out_length, piece, (size_t)length);
            connection->out_length += (size_t)length;
        }
        if (length < 0) connection->is_broken = true;
        const bool has_more = refill(connection);
        if (connection->out_length == 0 && !has_more) break;
    }
    if (!connection->is_broken && !connection->wants_write && !nghttp2_session_want_read(connection->http2) && !nghttp2_session_want_write(connection->http2))
        connection->is_broken = true;
}

void nl_connection_ping(nl_connection *connection)
{
    connection->pinged_micros = nl_monotonic_micros();
    (void)nghttp2_submit_ping(connection->http2, NGHTTP2_FLAG_NONE, NULL);
}

void nl_connection_goodbye(nl_connection *connection)
{
    (void)nghttp2_submit_goaway(connection->http2, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(connection->http2), NGHTTP2_NO_ERROR, NULL, 0);
}
