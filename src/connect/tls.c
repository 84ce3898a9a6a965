/* connect/tls.c - libssl behind a table of pointers. */
#include "connect/tls.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/library.h"

static struct {
    __typeof__(TLS_server_method) *server_method;
    __typeof__(SSL_CTX_new) *context_new;
    __typeof__(SSL_CTX_free) *context_free;
    __typeof__(SSL_CTX_ctrl) *context_ctrl;
    __typeof__(SSL_CTX_use_certificate_chain_file) *use_certificate;
    __typeof__(SSL_CTX_use_PrivateKey_file) *use_key;
    __typeof__(SSL_CTX_check_private_key) *check_key;
    __typeof__(SSL_CTX_set_alpn_select_cb) *set_alpn;
    __typeof__(SSL_new) *connection_new;
    __typeof__(SSL_free) *connection_free;
    __typeof__(SSL_set_fd) *set_fd;
    __typeof__(SSL_set_accept_state) *set_accept_state;
    __typeof__(SSL_read) *read;
    __typeof__(SSL_write) *write;
    __typeof__(SSL_ctrl) *ctrl;
    __typeof__(SSL_get_error) *get_error;
} ssl;

struct nl_tls_server {
    SSL_CTX *context;
};

struct nl_tls_connection {
    SSL *ssl;
};

static nl_status open_status; /* of opening the library; NULL: it is open */

static void open_library(void)
{
    const nl_library_symbol symbols[] = {
        {"TLS_server_method", &ssl.server_method},
        {"SSL_CTX_new", &ssl.context_new},
        {"SSL_CTX_free", &ssl.context_free},
        {"SSL_CTX_ctrl", &ssl.context_ctrl},
        {"SSL_CTX_use_certificate_chain_file", &ssl.use_certificate},
        {"SSL_CTX_use_PrivateKey_file", &ssl.use_key},
        {"SSL_CTX_check_private_key", &ssl.check_key},
        {"SSL_CTX_set_alpn_select_cb", &ssl.set_alpn},
        {"SSL_new", &ssl.connection_new},
        {"SSL_free", &ssl.connection_free},
        {"SSL_set_fd", &ssl.set_fd},
        {"SSL_set_accept_state", &ssl.set_accept_state},
        {"SSL_read", &ssl.read},
        {"SSL_write", &ssl.write},
        {"SSL_ctrl", &ssl.ctrl},
        {"SSL_get_error", &ssl.get_error},
    };
    open_status = nl_library_open("libssl.so.3", "libssl3", symbols, NL_COUNT(symbols));
}

/* The client's offers must hold HTTP/2: gRPC speaks nothing else. */
static int select_http2(SSL *connection, const unsigned char **out, unsigned char *out_length, const unsigned char *in, unsigned int in_length, void *argument)
{
    (void)connection, (void)argument;
    for (unsigned int at = 0; at + 1 < in_length + 1 && at < in_length; at += 1u + in[at]) {
        if (in[at] != 2 || at + 3 > in_length || memcmp(in + at + 1, "h2", 2) != 0) continue;
        *out = in + at + 1;
        *out_length = 2;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static nl_status configure(nl_tls_server *server, const char *certificate, const char *key)
{
    server->context = ssl.context_new(ssl.server_method());
    if (!server->context) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "TLS cannot be set up");
    (void)ssl.context_ctrl(server->context, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION, NULL);
    if (ssl.use_certificate(server->context, certificate) != 1)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s holds no certificate that can be read (PEM, the server's own first)", certificate);
    if (ssl.use_key(server->context, key, SSL_FILETYPE_PEM) != 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s holds no private key that can be read (PEM)", key);
    if (ssl.check_key(server->context) != 1) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the private key in %s is not that of the certificate in %s", key, certificate);
    ssl.set_alpn(server->context, select_http2, NULL);
    return NULL;
}

nl_status nl_tls_server_new(nl_str certificate_path, nl_str key_path, nl_tls_server **server)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_library);
    if (open_status) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s", nl_error_message(open_status));
    nl_tls_server *made = calloc(1, sizeof *made);
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof *made), NL_P("receivedBytes", "0"));
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = configure(made, nl_str_c(arena, certificate_path), nl_str_c(arena, key_path));
    nl_arena_free(arena);
    if (status)
        nl_tls_server_free(made);
    else
        *server = made;
    return status;
}

void nl_tls_server_free(nl_tls_server *server)
{
    if (!server) return;
    if (server->context) ssl.context_free(server->context);
    free(server);
}

nl_tls_connection *nl_tls_connection_new(nl_tls_server *server, int fd)
{
    nl_tls_connection *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->ssl = ssl.connection_new(server->context);
    if (!made->ssl || ssl.set_fd(made->ssl, fd) != 1) {
        nl_tls_connection_free(made);
        return NULL;
    }
    ssl.set_accept_state(made->ssl);
    (void)ssl.ctrl(made->ssl, SSL_CTRL_MODE, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER, NULL);
    return made;
}

void nl_tls_connection_free(nl_tls_connection *connection)
{
    if (!connection) return;
    if (connection->ssl) ssl.connection_free(connection->ssl);
    free(connection);
}

/* A renegotiation may make a read wait for writing; both sides are asked again when the socket moves. */
static ptrdiff_t result_of(nl_tls_connection *connection, int result)
{
    if (result > 0) return result;
    const int reason = ssl.get_error(connection->ssl, result);
    if (reason == SSL_ERROR_ZERO_RETURN) return 0;
    errno = reason == SSL_ERROR_WANT_READ || reason == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
    return -1;
}

ptrdiff_t nl_tls_read(nl_tls_connection *connection, void *into, size_t size)
{
    return result_of(connection, ssl.read(connection->ssl, into, (int)size));
}

ptrdiff_t nl_tls_write(nl_tls_connection *connection, const void *from, size_t size)
{
    return result_of(connection, ssl.write(connection->ssl, from, (int)NL_MIN(size, (size_t)1 << 30)));
}
