/* connect/tls.h - TLS of a server, by OpenSSL's libssl opened when a certificate is given (base/library.h). */
#pragma once

#include "base/status.h"

typedef struct nl_tls_server nl_tls_server;         /* owned */
typedef struct nl_tls_connection nl_tls_connection; /* owned */

/* Reads certificate chain and key (PEM files), offers HTTP/2 by ALPN, TLS 1.2 and newer. */
NL_MUST_USE nl_status nl_tls_server_new(nl_str certificate_path, nl_str key_path, nl_tls_server **server);
void nl_tls_server_free(nl_tls_server *server); /* NULL is fine */
/* A connection over a non-blocking socket; the handshake happens in the first reads. NULL when there is no memory. */
nl_tls_connection *nl_tls_connection_new(nl_tls_server *server, int fd);
void nl_tls_connection_free(nl_tls_connection *connection); /* NULL is fine */
/* As read(2) and write(2): -1 with errno EAGAIN when the socket has to be waited for, other errnos when it is over. */
ptrdiff_t nl_tls_read(nl_tls_connection *connection, void *into, size_t size);
ptrdiff_t nl_tls_write(nl_tls_connection *connection, const void *from, size_t size);
