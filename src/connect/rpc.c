/* connect/rpc.c - a call: messages out of the request's bytes (gRPC over HTTP/2, "Length-Prefixed-Message"), a queue of
 * messages to send, and its end. */
#include "connect/rpc_private.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zlib.h>

#include "base/number.h"

#define FIRST_PIECE_BYTES (64u << 10) /* a length is only believed as far as bytes arrive */

nl_rpc *nl_rpc_new(nl_connection *connection, int32_t stream_id)
{
    nl_rpc *rpc = calloc(1, sizeof *rpc);
    if (!rpc) return NULL;
    atomic_init(&rpc->references, 1);
    nl_mutex_init(&rpc->mutex);
    rpc->server = connection->server;
    rpc->connection = connection;
    rpc->stream_id = stream_id;
    rpc->connection_id = connection->id;
    rpc->begun_micros = nl_monotonic_micros();
    connection->has_called = true;
    rpc->deadline_micros = NL_RPC_NO_DEADLINE;
    rpc->next = connection->calls;
    if (rpc->next) rpc->next->previous = rpc;
    connection->calls = rpc;
    connection->call_count++;
    return rpc;
}

nl_rpc *nl_rpc_retain(nl_rpc *rpc)
{
    atomic_fetch_add_explicit(&rpc->references, 1, memory_order_relaxed);
    return rpc;
}

static void drop_queue(nl_rpc *rpc)
{
    while (rpc->first) {
        nl_rpc_queued *next = rpc->first->next;
        nl_buffer_release(rpc->first->framed);
        free(rpc->first);
        rpc->first = next;
    }
    rpc->last = NULL;
    rpc->queued_bytes = 0;
}

void nl_rpc_release(nl_rpc *rpc)
{
    if (!rpc || atomic_fetch_sub_explicit(&rpc->references, 1, memory_order_acq_rel) != 1) return;
    drop_queue(rpc);
    nl_buffer_release(rpc->incoming);
    nl_buffer_release(rpc->only_message);
    free(NL_UNCONST(rpc->message.data));
    free(NL_UNCONST(rpc->details.data));
    nl_mutex_fini(&rpc->mutex);
    free(rpc);
}

void *nl_rpc_service(const nl_rpc *rpc)
{
    return rpc->server->options.service;
}

uint64_t nl_rpc_connection_id(const nl_rpc *rpc)
{
    return rpc->connection_id;
}

bool nl_rpc_is_open(nl_rpc *rpc)
{
    nl_mutex_lock(&rpc->mutex);
    const bool is_open = !rpc->is_closed;
    nl_mutex_unlock(&rpc->mutex);
    return is_open;
}

void *nl_rpc_state(const nl_rpc *rpc)
{
    return rpc->state;
}

bool nl_rpc_set_hooks(nl_rpc *rpc, const nl_rpc_hooks *hooks, void *state)
{
    nl_mutex_lock(&rpc->mutex);
    const bool is_open = !rpc->is_closed;
    if (is_open) {
        rpc->hooks = hooks;
        rpc->state = state;
    }
    nl_mutex_unlock(&rpc->mutex);
    return is_open;
}

/* Tells the network thread. The call's mutex is held. */
static void make_ready(nl_rpc *rpc)
{
    nl_rpc_server *server = rpc->server;
    if (rpc->is_ready || rpc->is_closed) return;
    rpc->is_ready = true;
    nl_rpc_retain(rpc);
    nl_mutex_lock(&server->mutex);
    const bool must_wake = !server->ready;
    rpc->next_ready = server->ready;
    server->ready = rpc;
    nl_mutex_unlock(&server->mutex);
    if (must_wake) (void)eventfd_write(server->wake, 1);
}

size_t nl_rpc_send(nl_rpc *rpc, nl_buffer *framed)
{
    nl_rpc_queued *queued = calloc(1, sizeof *queued);
    nl_mutex_lock(&rpc->mutex);
    if (queued && !rpc->is_closed && !rpc->is_finished) {
        queued->framed = nl_buffer_retain(framed);
        *(rpc->last ? &rpc->last->next : &rpc->first) = queued;
        rpc->last = queued;
        rpc->queued_bytes += framed->size_bytes;
        make_ready(rpc);
    } else {
        free(queued);
    }
    const size_t bytes = rpc->queued_bytes;
    nl_mutex_unlock(&rpc->mutex);
    if (!queued) nl_rpc_refuse(rpc, NL_RPC_RESOURCE_EXHAUSTED, "the server has no memory for an answer");
    return bytes;
}

size_t nl_rpc_queued_bytes(nl_rpc *rpc)
{
    nl_mutex_lock(&rpc->mutex);
    const size_t bytes = rpc->queued_bytes;
    nl_mutex_unlock(&rpc->mutex);
    return bytes;
}

static void *copy_of(const void *data, size_t length)
{
    void *copy = malloc(length + 1);
    if (copy && length) memcpy(copy, data, length);
    return copy;
}

/* The start of a text, at most so many bytes, not cut inside a character. */
static nl_str shortened(nl_str text, size_t bytes_max)
{
    if (text.length <= bytes_max) return text;
    size_t length = bytes_max;
    while (length > 0 && ((uint8_t)text.data[length] & 0xC0) == 0x80) length--;
    return nl_str_slice(text, 0, length);
}

void nl_rpc_finish(nl_rpc *rpc, const nl_rpc_status *status)
{
    const nl_str message = shortened(status->message, NL_RPC_MESSAGE_CHARACTERS_MAX);
    char *text = copy_of(message.data, message.length);
    uint8_t *details = copy_of(status->details.data, status->details.length);
    nl_mutex_lock(&rpc->mutex);
    const bool is_first = !rpc->is_finished && !rpc->is_closed;
    if (is_first) {
        rpc->is_finished = true;
        rpc->code = status->code;
        if (text) rpc->message = (nl_str){text, message.length};
        if (details) rpc->details = (nl_bytes){details, status->details.length};
        make_ready(rpc);
    }
    nl_mutex_unlock(&rpc->mutex);
    if (is_first) return;
    free(text);
    free(details);
}

void nl_rpc_refuse(nl_rpc *rpc, nl_rpc_code code, const char *message)
{
    nl_rpc_finish(rpc, &(nl_rpc_status){.code = code, .message = nl_str_from(message)});
}

void nl_rpc_frame(nl_buffer *framed)
{
    NL_ASSERT(framed->size_bytes >= NL_RPC_PREFIX_BYTES && framed->size_bytes - NL_RPC_PREFIX_BYTES <= UINT32_MAX);
    const uint32_t length = (uint32_t)(framed->size_bytes - NL_RPC_PREFIX_BYTES);
    framed->data[0] = 0;
    for (uint32_t i = 0; i < 4; i++) framed->data[1 + i] = (uint8_t)(length >> (24 - 8 * i));
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

/* Inflates a gzip member to at most the limit of a message. False: refused already. */
static bool inflate_message(nl_rpc *rpc, const nl_buffer *packed, uint32_t packed_length, nl_buffer **plain)
{
    z_stream stream = {.next_in = packed->data, .avail_in = packed_length};
    size_t capacity = NL_MAX(FIRST_PIECE_BYTES, (size_t)packed_length * 2), length = 0;
    nl_buffer *made = NULL;
    int result = Z_OK;
    if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return nl_rpc_refuse(rpc, NL_RPC_RESOURCE_EXHAUSTED, "no memory to decompress a message"), false;
    while (result == Z_OK) {
        nl_buffer *larger = NULL;
        capacity = NL_MIN(capacity, (size_t)NL_RPC_MESSAGE_BYTES_MAX + 1);
        nl_error *error = nl_buffer_new(rpc->server->incoming, capacity, false, &larger);
        if (error || length > NL_RPC_MESSAGE_BYTES_MAX) {
            nl_error_free(error);
            nl_buffer_release(larger);
            result = Z_BUF_ERROR;
            break;
        }
        if (made) memcpy(larger->data, made->data, length);
        nl_buffer_release(made);
        made = larger;
        stream.next_out = made->data + length;
        stream.avail_out = (uInt)(capacity - length);
        result = inflate(&stream, Z_NO_FLUSH);
        length = capacity - stream.avail_out;
        if (result == Z_BUF_ERROR && stream.avail_out == 0) result = Z_OK;
        capacity *= 2;
    }
    inflateEnd(&stream);
    if (result == Z_STREAM_END && length <= NL_RPC_MESSAGE_BYTES_MAX) {
        made->size_bytes = length;
        *plain = made;
        return true;
    }
    nl_buffer_release(made);
    if (result == Z_BUF_ERROR && length > 0)
        nl_rpc_refuse(rpc, NL_RPC_RESOURCE_EXHAUSTED, "a compressed message is larger than 128 MiB or than the server's memory for requests");
    else
        nl_rpc_refuse(rpc, NL_RPC_INTERNAL, "a compressed message cannot be decompressed");
    return false;
}

static void deliver(nl_rpc *rpc, nl_buffer *message)
{
    if (rpc->method->is_client_streaming) {
        rpc->method->message(rpc, message);
    } else if (rpc->has_message) {
        nl_rpc_refuse(rpc, NL_RPC_INTERNAL, "the method takes one message");
    } else {
        rpc->only_message = nl_buffer_retain(message);
    }
    rpc->has_message = true;
}

static void complete_message(nl_rpc *rpc)
{
    nl_buffer *message = rpc->incoming;
    rpc->incoming = NULL;
    const bool is_packed = rpc->prefix[0] == 1;
    rpc->prefix_length = 0;
    if (!is_packed) {
        message->size_bytes = rpc->incoming_length;
        deliver(rpc, message);
    } else {
        nl_buffer *plain = NULL;
        if (inflate_message(rpc, message, rpc->incoming_length, &plain)) deliver(rpc, plain);
        nl_buffer_release(plain);
    }
    nl_buffer_release(message);
}

/* Room for `more` bytes of the message: doubled, never more than the announced length. */
static bool grow_message(nl_rpc *rpc, size_t more)
{
    const size_t needed = rpc->incoming_filled + more;
    nl_buffer *larger = NULL;
    if (rpc->incoming && needed <= rpc->incoming->size_bytes) return true;
    size_t capacity = rpc->incoming ? rpc->incoming->size_bytes * 2 : FIRST_PIECE_BYTES;
    capacity = NL_MIN(NL_MAX(capacity, needed), (size_t)rpc->incoming_length);
    nl_error *error = nl_buffer_new(rpc->server->incoming, capacity, false, &larger);
    if (error) {
        nl_error_free(error);
        nl_rpc_refuse(rpc, NL_RPC_RESOURCE_EXHAUSTED, "the server's memory for requests is in use; send it again later");
        return false;
    }
    if (rpc->incoming_filled) memcpy(larger->data, rpc->incoming->data, rpc->incoming_filled);
    nl_buffer_release(rpc->incoming);
    rpc->incoming = larger;
    return true;
}

static bool start_message(nl_rpc *rpc)
{
    rpc->incoming_length = 0;
    for (uint32_t i = 1; i < NL_RPC_PREFIX_BYTES; i++) rpc->incoming_length = rpc->incoming_length << 8 | rpc->prefix[i];
    rpc->incoming_filled = 0;
    if (rpc->prefix[0] > 1 || (rpc->prefix[0] == 1 && !rpc->is_gzip)) {
        nl_rpc_refuse(rpc, NL_RPC_INTERNAL, "a message is compressed in a way that was not announced");
        return false;
    }
    if (rpc->incoming_length > NL_RPC_MESSAGE_BYTES_MAX) {
        nl_rpc_refuse(rpc, NL_RPC_RESOURCE_EXHAUSTED, "a message is larger than 128 MiB");
        return false;
    }
    return grow_message(rpc, 0);
}

static bool is_refused(nl_rpc *rpc)
{
    nl_mutex_lock(&rpc->mutex);
    const bool is_over = rpc->is_finished || rpc->is_closed;
    nl_mutex_unlock(&rpc->mutex);
    return is_over || !rpc->method;
}

void nl_rpc_receive(nl_rpc *rpc, const uint8_t *data, size_t length)
{
    rpc->received_bytes += length;
    while (length > 0 && !is_refused(rpc)) {
        if (rpc->prefix_length < NL_RPC_PREFIX_BYTES) {
            const size_t taken = NL_MIN(length, (size_t)(NL_RPC_PREFIX_BYTES - rpc->prefix_length));
            memcpy(rpc->prefix + rpc->prefix_length, data, taken);
            rpc->prefix_length += (uint32_t)taken;
            data += taken;
            length -= taken;
            if (rpc->prefix_length < NL_RPC_PREFIX_BYTES || !start_message(rpc)) return;
        }
        const size_t taken = NL_MIN(length, (size_t)(rpc->incoming_length - rpc->incoming_filled));
        if (!grow_message(rpc, taken)) return;
        if (taken) memcpy(rpc->incoming->data + rpc->incoming_filled, data, taken);
        rpc->incoming_filled += (uint32_t)taken;
        data += taken;
        length -= taken;
        if (rpc->incoming_filled == rpc->incoming_length) complete_message(rpc);
    }
}

void nl_rpc_half_close(nl_rpc *rpc)
{
    rpc->is_half_closed = true;
    if (is_refused(rpc)) return;
    if (rpc->prefix_length > 0) {
        nl_rpc_refuse(rpc, NL_RPC_INTERNAL, "the request ends within a message");
    } else if (rpc->method->is_client_streaming) {
        rpc->method->end(rpc);
    } else if (!rpc->only_message) {
        nl_rpc_refuse(rpc, NL_RPC_INTERNAL, "the request has no message");
    } else {
        nl_buffer *message = rpc->only_message;
        rpc->only_message = NULL;
        rpc->method->message(rpc, message);
        nl_buffer_release(message);
    }
}

void nl_rpc_close(nl_rpc *rpc)
{
    nl_connection *connection = rpc->connection;
    *(rpc->previous ? &rpc->previous->next : &connection->calls) = rpc->next;
    if (rpc->next) rpc->next->previous = rpc->previous;
    connection->call_count--;
    rpc->connection = NULL;
    nl_mutex_lock(&rpc->mutex);
    rpc->is_closed = true;
    drop_queue(rpc);
    const nl_rpc_hooks *hooks = rpc->hooks;
    rpc->hooks = NULL;
    nl_mutex_unlock(&rpc->mutex);
    nl_buffer_release(rpc->incoming);
    rpc->incoming = NULL;
    if (hooks && hooks->closed) hooks->closed(rpc, rpc->state);
    nl_rpc_release(rpc);
}

/* ---- headers ------------------------------------------------------------------------------------------------------ */

int64_t nl_rpc_parse_timeout(nl_str text)
{
    static const struct {
        char unit;
        int64_t micros, per_micro;
    } units[] = {{'H', 3600000000, 1}, {'M', 60000000, 1}, {'S', 1000000, 1}, {'m', 1000, 1}, {'u', 1, 1}, {'n', 1, 1000}};
    enum { DIGITS_MAX = 8 }; /* gRPC's: no product overflows */
    int64_t number;
    if (text.length < 2 || text.length > DIGITS_MAX + 1 || !nl_parse_int64(nl_str_slice(text, 0, text.length - 1), &number) || number < 0) return -1;
    for (size_t i = 0; i < NL_COUNT(units); i++)
        if (text.data[text.length - 1] == units[i].unit) return number * units[i].micros / units[i].per_micro;
    return -1;
}

/* Compared in constant time: how long it takes tells nothing about the token. */
bool nl_rpc_is_authorized(const nl_rpc_server *server, nl_str authorization)
{
    static const nl_str scheme = NL_STR_INIT("Bearer ");
    const nl_str token = server->options.token;
    if (!nl_str_starts_nocase(authorization, scheme)) return false;
    const nl_str given = nl_str_slice(authorization, scheme.length, authorization.length);
    return given.length == token.length && CRYPTO_memcmp(given.data, token.data, token.length) == 0;
}
