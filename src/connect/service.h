/* connect/service.h - Spark Connect as a service: sessions of clients, their operations, and the server that carries them. */
#pragma once

#include "base/arena.h"
#include "connect/rpc.h"

typedef struct nl_connect_options {
    nl_str host; /* empty: 127.0.0.1 */
    uint16_t port; /* 0: any free one */
    nl_str token; /* empty: nobody is asked */
    nl_str tls_certificate, tls_key;
    const nl_property *confs; /* of every session; borrowed as long as the service */
    uint32_t conf_count;
    bool is_private; /* of one program (nilas submit): its builder's static confs count, and are never warned of */
    int64_t idle_seconds;     /* after which a session that does nothing is ended; 0: an hour */
    int64_t detached_seconds; /* after which an operation nobody listens to is ended; 0: five minutes, 90 seconds when its client has hung up */
} nl_connect_options;

typedef struct nl_connect nl_connect; /* owned */
/* Listens and answers. Fails: NILAS_ILLEGAL_ARGUMENT for what is wrong with the options. */
NL_MUST_USE nl_status nl_connect_start(const nl_connect_options *options, nl_connect **connect);
uint16_t nl_connect_port(const nl_connect *connect);
/* Ends sessions and operations, says goodbye to clients. NULL is fine. */
void nl_connect_stop(nl_connect *connect);
