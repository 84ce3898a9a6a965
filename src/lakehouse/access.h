/* lakehouse/access.h - who asks: SigV4 signatures and bearer tokens of requests to the catalog services.
 *
 * Without strict mode everybody on this machine may ask; yet a request that names the known key must be signed with its
 * secret, for the service it is sent to and the date it bears: a wrong signature is refused, since it is a client's fault that
 * would show at AWS too. The region is the client's choice. In strict mode only the known key, or a token got for it, is let in. The S3 service has its own rules (chunked bodies) and does not use this.
 */
#pragma once

#include "lakehouse/objects.h"
#include "lakehouse/server.h"

typedef struct nl_access {
    bool is_allowed;
    bool is_signed;    /* with the known key, or carries a good token */
    nl_str region;     /* of the signature; empty: none */
    nl_str access_key; /* as claimed; empty: none */
    const char *code;  /* refused: "InvalidSignatureException" …; static */
    nl_str message;
} nl_access;
/* signing_name: of the service ("glue"), which the credential's scope must have; NULL: any. */
void nl_access_check(const nl_request *request, const nl_lakehouse_keys *keys, const char *signing_name, nl_access *access);

/* A bearer token for the known key: its end of life with an HMAC under the secret; no state is kept. */
nl_str nl_access_token(const nl_lakehouse_keys *keys, int64_t expires_seconds, nl_arena *arena);
bool nl_access_token_is_good(const nl_lakehouse_keys *keys, nl_str token, nl_arena *arena);
nl_str nl_valid_text(nl_arena *arena, nl_str text); /* bytes that are no UTF-8 replaced: what a client sent goes into an answer's JSON */
bool nl_same_secret(nl_str a, nl_str b); /* in time that does not tell where they differ */
