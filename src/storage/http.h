/* storage/http.h - one HTTP client for everything that goes over the network: S3, REST catalogs, Glue, credentials.
 *
 * One thread drives a libcurl multi handle; connections are kept and used again; callers of any thread start requests
 * and wait for them. Retries are in here: they are the same for all (quality page §3). Redirects are followed at most
 * NL_HTTP_REDIRECTS_MAX times, and credentials (authorization, cookies, x-amz-*) go to the first host only.
 * Fault plans strike as layer "http" (http.connect, http.send, http.receive) and through the caller's own layer.
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"
#include "base/pool.h"

struct nl_fault_plan;

typedef struct nl_http_client nl_http_client; /* counted; threads: any */

typedef struct nl_http_options {
    uint32_t connections_max;        /* per host; 0: 50 (s3.connection-pool… / rest.client.max-connections) */
    int64_t connect_timeout_ms;      /* 0: 10 s                                                              */
    int64_t stall_timeout_ms;        /* no byte for so long: the request is tried again; 0: 30 s             */
    int64_t deadline_ms;             /* for a request with all its retries; 0: 5 min                         */
    uint32_t attempts_max;           /* 0: 6                                                                 */
    int64_t backoff_first_ms;        /* waits before the second try, doubling, by half at random; 0: 100 ms  */
    int64_t backoff_ms_max;          /* 0: 20 s                                                              */
    nl_str proxy;                    /* URL; empty: as http_proxy, https_proxy, no_proxy of the environment say; never for this machine */
    nl_str ca_file;                  /* PEM; empty: AWS_CA_BUNDLE, else the system's                         */
    struct nl_fault_plan *faults;    /* borrowed; NULL: the process's (NILAS_FAULT)                          */
    bool is_insecure;                /* certificates are not verified: only when configured so               */
} nl_http_options;
NL_MUST_USE nl_status nl_http_client_new(const nl_http_options *options, nl_memory *memory, nl_http_client **client);
nl_http_client *nl_http_client_retain(nl_http_client *client);
void nl_http_client_release(nl_http_client *client); /* NULL is fine */

/* Gives each attempt its own signature: called with the headers so far; adds to them. May be called from the client's
 * thread; must not block. */
struct nl_http_request;
typedef nl_status (*nl_http_sign)(void *argument, const struct nl_http_request *request, nl_arena *arena, const nl_property **headers, uint32_t *header_count);

typedef struct nl_http_request { /* borrowed until the answer is there */
    const char *method;
    nl_str url;                    /* already encoded; sent as it is */
    const nl_property *headers;
    uint32_t header_count;
    nl_bytes body;                 /* data NULL: none */
    nl_http_sign sign;             /* or NULL */
    void *sign_argument;
    uint8_t *into;                 /* a 2xx body of exactly into_size bytes goes here; NULL: into a buffer of the answer */
    size_t into_size;
    size_t body_max;               /* a longer body is an error; 0: NL_HTTP_BODY_BYTES_MAX */
    bool is_idempotent;            /* may be sent again when nobody knows whether it arrived; GET, HEAD, PUT are */
    bool retries_nothing;          /* one attempt only */
    bool decodes_gzip;             /* asks for a compressed body and undoes it: control bodies, never objects */
    const char *fault;             /* the caller's own layer for fault plans ("s3.get"), or NULL; static */
    nl_cancel *cancel;             /* or NULL */
} nl_http_request;

typedef struct nl_http_response {
    int32_t status;                /* of the last attempt */
    const nl_property *headers;    /* names in lower case */
    uint32_t header_count;
    nl_buffer *body;               /* counted; NULL when it went to `into` or there was none */
    nl_arena *arena;               /* owned: headers */
    uint32_t attempts;
} nl_http_response;
nl_str nl_http_header(const nl_http_response *response, const char *name); /* lower-case name; data NULL: absent */
void nl_http_response_fini(nl_http_response *response);

/* Any status is an answer (NULL is returned), after 429, 500, 502, 503, 504 were tried again as often as allowed (of a
 * request that is not idempotent only 429 and 503, which say that nothing was done). Fails: NILAS_IO_ERROR (kind RETRY)
 * when no answer came; kind UNKNOWN_STATE when the request is not idempotent and had been sent whole before the
 * connection broke; OPERATION_CANCELED; UNABLE_TO_ACQUIRE_MEMORY. Redirects are followed for GET and HEAD, and for other
 * methods by 307 and 308 only (303 turns into GET); any other is an answer. */
NL_MUST_USE nl_status nl_http_send(nl_http_client *client, const nl_http_request *request, nl_http_response *response);

/* The same without waiting: many at once. The call is owned; wait frees it. */
typedef struct nl_http_call nl_http_call;
NL_MUST_USE nl_status nl_http_start(nl_http_client *client, const nl_http_request *request, nl_http_call **call);
NL_MUST_USE nl_status nl_http_wait(nl_http_call *call, nl_http_response *response);
void nl_http_abandon(nl_http_call *call); /* stops it; waits until nothing of the request is touched any more */

/* Percent-encoding of RFC 3986: everything but unreserved characters; keep_slash leaves '/' (paths). In the arena. */
nl_str nl_url_encode(nl_arena *arena, nl_str text, bool keep_slash);
/* %XX, and '+' as a space when is_form. Fails on a broken escape. */
NL_MUST_USE nl_status nl_url_decode(nl_arena *arena, nl_str text, bool is_form, nl_str *decoded);
/* scheme://host[:port]/path?query into its parts (borrowed); a missing path is "/". NILAS_ILLEGAL_ARGUMENT. */
typedef struct nl_url {
    nl_str scheme, host, port, path, query; /* host without brackets; port empty: the scheme's */
} nl_url;
NL_MUST_USE nl_status nl_url_parse(nl_str text, nl_url *url);
