/* catalog/rest/auth.h - who asks: the headers and the signature of each request to a REST catalog.
 *
 * Kinds by rest.auth.type (unset: oauth2 when there is a token or a credential, else none; rest.sigv4-enabled=true is
 * sigv4): none, basic, oauth2 (a bearer token, given or fetched for client credentials, renewed before it ends by token
 * exchange or by asking again), sigv4 over another kind. Secrets stay in here: what a server echoes is cleared of them.
 */
#pragma once

#include "storage/credentials.h"
#include "storage/http.h"

typedef struct nl_remote_auth nl_remote_auth; /* counted; threads: any */

typedef struct nl_remote_auth_options { /* borrowed */
    const nl_property *properties;    /* the catalog's */
    uint32_t property_count;
    nl_str catalog;                   /* its name, for messages */
    nl_str uri;                       /* without a slash at its end */
    nl_http_client *http;             /* retained */
    nl_memory *memory;
} nl_remote_auth_options;
/* Connects to nothing yet. Fails: NILAS_ILLEGAL_ARGUMENT, NILAS_UNSUPPORTED for kinds that do not exist here. */
NL_MUST_USE nl_status nl_remote_auth_new(const nl_remote_auth_options *options, nl_remote_auth **auth);
nl_remote_auth *nl_remote_auth_retain(nl_remote_auth *auth);
void nl_remote_auth_release(nl_remote_auth *auth); /* NULL is fine */
const char *nl_remote_auth_kind(const nl_remote_auth *auth); /* "none", "basic", "oauth2", "sigv4"; static */

/* What one request carries: an authorization header and what its signature needs. In the arena. */
typedef struct nl_remote_ticket {
    nl_property headers[2];
    uint32_t header_count;
    nl_http_sign sign; /* or NULL */
    void *sign_argument;
    nl_str token;      /* the bearer token used, for nl_remote_auth_reject; empty: none */
} nl_remote_ticket;
/* May fetch or renew a token: blocks. table_token: a table's own token in the place of the catalog's, or empty. */
NL_MUST_USE nl_status nl_remote_auth_ticket(nl_remote_auth *auth, nl_str table_token, nl_arena *arena, nl_remote_ticket *ticket);
/* A server did not take the ticket (401). True: another one can be had, ask again. */
bool nl_remote_auth_reject(nl_remote_auth *auth, const nl_remote_ticket *ticket);
/* The text with every secret of this catalog replaced by *(redacted). */
nl_str nl_remote_auth_redact(const nl_remote_auth *auth, nl_arena *arena, nl_str text);
