/* storage/sigv4.h - AWS Signature Version 4: the client signs and the servers verify with the same code.
 *
 * Source: AWS, "Signature Version 4 signing process" and "Authenticating Requests" of the S3 API; botocore's auth tests.
 * S3 encodes the path once and does not normalise it; every other service encodes the already encoded path again and
 * normalises it. S3 takes the payload hash from x-amz-content-sha256; others hash the body.
 */
#pragma once

#include "storage/digest.h"

typedef struct nl_sigv4_scope {
    nl_str access_key, region, service;
    nl_str date; /* "20261001" */
} nl_sigv4_scope;

/* A request as it went or goes over the wire. */
typedef struct nl_sigv4_request {
    nl_str method;
    nl_str path;                /* as sent: encoded */
    nl_str query;               /* as sent, without '?'; for presigned links with the signature in it */
    const nl_property *headers; /* as sent; names of any case; host among them */
    uint32_t header_count;
    nl_str payload_hash;        /* hex, UNSIGNED-PAYLOAD or STREAMING-…; the last line of the canonical request; empty: that of no body */
} nl_sigv4_request;

/* The signature (64 hex digits) over the headers named in signed_headers ("host;x-amz-date", sorted). timestamp is
 * "20261001T120000Z". canonical: for tests and error texts, or NULL. */
NL_MUST_USE nl_status nl_sigv4_signature(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str timestamp, nl_str signed_headers,
                                         nl_arena *arena, nl_str *signature, nl_str *canonical);
/* For a client: *headers becomes the request's with x-amz-date, x-amz-security-token (when token is not empty),
 * x-amz-content-sha256 (S3) and authorization added, or put in the place of earlier ones. Signs host, content-type,
 * content-md5, range and all x-amz-*. now_micros: the clock. scope.date may be empty: it is that of now_micros.
 * Fails: NILAS_ILLEGAL_ARGUMENT without a host header. */
NL_MUST_USE nl_status nl_sigv4_sign(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str token, int64_t now_micros, nl_arena *arena,
                                    const nl_property **headers, uint32_t *header_count);
/* A presigned URL's query (with X-Amz-Signature), valid for expires_seconds. payload_hash empty: UNSIGNED-PAYLOAD for S3. */
NL_MUST_USE nl_status nl_sigv4_presign(const nl_sigv4_request *request, const nl_sigv4_scope *scope, nl_str secret_key, nl_str token, int64_t now_micros,
                                       int64_t expires_seconds, nl_arena *arena, nl_str *query);

/* For a server: what the request claims, from its authorization header or its query. kind NONE: it is not signed. */
typedef struct nl_sigv4_claim {
    enum { NL_SIGV4_NONE, NL_SIGV4_HEADER, NL_SIGV4_PRESIGNED, NL_SIGV4_UNKNOWN /* SigV2, SigV4A, broken */ } kind;
    nl_sigv4_scope scope;
    nl_str signed_headers, signature, timestamp, token;
    int64_t expires_seconds; /* presigned */
    const char *problem;     /* UNKNOWN: in words */
} nl_sigv4_claim;
void nl_sigv4_claim_parse(const nl_sigv4_request *request, nl_arena *arena, nl_sigv4_claim *claim);
typedef enum nl_sigv4_verdict {
    NL_SIGV4_GOOD,
    NL_SIGV4_WRONG,           /* SignatureDoesNotMatch */
    NL_SIGV4_SKEWED,          /* RequestTimeTooSkewed; a presigned link of the future */
    NL_SIGV4_EXPIRED,         /* a presigned link's time is over: AccessDenied */
    NL_SIGV4_MALFORMED,       /* AuthorizationHeaderMalformed, AuthorizationQueryParametersError */
    NL_SIGV4_UNSIGNED_HEADERS /* S3: an x-amz-* header is not among the signed ones: AccessDenied */
} nl_sigv4_verdict;
/* Compares in constant time; 15 minutes either way; presigned at most 7 days; host must be signed. The path and query
 * are taken as sent and, when that does not match, encoded again as AWS does. canonical: for the error, as sent. */
nl_sigv4_verdict nl_sigv4_verify(const nl_sigv4_request *request, const nl_sigv4_claim *claim, nl_str secret_key, int64_t now_micros, nl_arena *arena, nl_str *canonical);

/* aws-chunked bodies, signed chunk by chunk: the chain of signatures from the request's on. */
typedef struct nl_sigv4_chain {
    uint8_t key[32];          /* signing key of the scope */
    nl_str timestamp, scope;  /* "20261001/us-east-1/s3/aws4_request"; borrowed */
    char previous[65];
} nl_sigv4_chain;
void nl_sigv4_chain_begin(nl_sigv4_chain *chain, const nl_sigv4_scope *scope, nl_str secret_key, nl_str timestamp, nl_str seed_signature, nl_arena *arena);
/* The next chunk's signature (into the chain's `previous`). hash: SHA-256 of the chunk's bytes, 32 bytes. */
void nl_sigv4_chain_next(nl_sigv4_chain *chain, const uint8_t *hash);
void nl_sigv4_chain_trailer(nl_sigv4_chain *chain, nl_str trailer); /* "name:value\n" lines, as canonicalised */
