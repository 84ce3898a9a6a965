/* lakehouse/s3/payload.h - the body of a request as it comes: aws-chunked framing taken off, signatures, hashes and
 * checksums verified, never whole in memory.
 *
 * Source: Amazon S3 API Reference, "Signature Calculations: Transferring Payload in Multiple Chunks" and "… with Trailing
 * Headers", "Checking object integrity". Failures are NILAS_OBJECT_STORE with S3's codes.
 */
#pragma once

#include "storage/digest.h"
#include "storage/sigv4.h"

#define NL_S3_CHUNK_LINE_MAX   1024u /* "size;chunk-signature=…" and one trailer line */
#define NL_S3_TRAILERS_MAX     16u
#define NL_S3_CHECKSUM_TEXT    72u   /* base64 of 32 bytes and "-10000" */

typedef nl_status (*nl_s3_sink)(void *argument, nl_bytes bytes);

/* An aws-chunked body. In place. */
typedef struct nl_s3_chunks {
    enum { NL_S3_CHUNK_LINE, NL_S3_CHUNK_BYTES, NL_S3_CHUNK_END, NL_S3_CHUNK_TRAILER, NL_S3_CHUNK_DONE } state;
    bool is_signed;        /* lines carry chunk signatures (which are verified when chain is there) */
    nl_sigv4_chain *chain; /* borrowed, or NULL */
    nl_arena *arena;       /* borrowed: trailers */
    nl_s3_sink sink;
    void *argument;
    char line[NL_S3_CHUNK_LINE_MAX];
    size_t line_length;
    uint64_t left;         /* bytes of this chunk that are still to come */
    char signature[65];    /* that it claims */
    nl_digest hash;        /* of the chunk; when chain is there */
    nl_property trailers[NL_S3_TRAILERS_MAX];
    uint32_t trailer_count;
} nl_s3_chunks;
/* sink, argument, is_signed, chain and arena are set by the caller; the rest is zero. */
NL_MUST_USE nl_status nl_s3_chunks_take(nl_s3_chunks *chunks, nl_bytes bytes);
NL_MUST_USE nl_status nl_s3_chunks_end(nl_s3_chunks *chunks); /* IncompleteBody */
void nl_s3_chunks_fini(nl_s3_chunks *chunks);

/* One of S3's checksums. */
typedef struct nl_s3_checksum_kind {
    const char *name;    /* "CRC32" */
    const char *header;  /* "x-amz-checksum-crc32" */
    const char *element; /* "ChecksumCRC32" */
    nl_digest_kind digest;
    uint32_t byte_count;
    uint64_t polynomial; /* reflected; 0: no CRC, whose parts cannot be combined */
} nl_s3_checksum_kind;
#define NL_S3_CHECKSUM_COUNT 5u
extern const nl_s3_checksum_kind nl_s3_checksums[NL_S3_CHECKSUM_COUNT];
const nl_s3_checksum_kind *nl_s3_checksum_find(nl_str name); /* "CRC32", any case; NULL: none of S3's that nilas has */
/* The CRC of A followed by B. */
uint64_t nl_s3_crc_combine(const nl_s3_checksum_kind *kind, uint64_t a, uint64_t b, uint64_t b_length);

/* What a request says of its body, and the body's way to the sink. In place. */
typedef struct nl_s3_payload {
    nl_arena *arena;
    nl_s3_sink sink;
    void *argument;
    bool is_of_object;            /* checksum headers are those of an object, not of this body (CompleteMultipartUpload) */
    bool is_chunked;              /* aws-chunked */
    nl_s3_chunks chunks;
    nl_sigv4_chain chain;
    uint64_t announced_bytes;     /* decoded; UINT64_MAX: not said */
    uint64_t bytes_max;           /* EntityTooLarge above */
    uint64_t byte_count;
    nl_str sha256;                /* hex, or empty: not verified */
    nl_digest hash;
    nl_str content_md5;           /* 16 bytes, or empty */
    nl_digest md5;
    const nl_s3_checksum_kind *checksum; /* or NULL */
    bool has_checksum_value;      /* the client sends a value, in a header or trailer */
    nl_str checksum_value;        /* base64 from the header */
    nl_digest checksum_digest;
    uint8_t checksum_bytes[NL_DIGEST_BYTES_MAX]; /* after the end */
    nl_str checksum_text;         /* base64; after the end; data NULL: none */
} nl_s3_payload;
/* Reads x-amz-content-sha256, content-md5, x-amz-checksum-…, x-amz-trailer, x-amz-decoded-content-length. claim: verified
 * (is_verified) or not; borrowed. Another checksum may be asked for afterwards with nl_s3_payload_want. */
NL_MUST_USE nl_status nl_s3_payload_begin(nl_s3_payload *payload, const nl_sigv4_request *request, const nl_sigv4_claim *claim, bool is_verified, nl_str secret_key);
NL_MUST_USE nl_status nl_s3_payload_want(nl_s3_payload *payload, const nl_s3_checksum_kind *kind); /* no-op when it has one */
NL_MUST_USE nl_status nl_s3_payload_take(nl_s3_payload *payload, nl_bytes bytes);
NL_MUST_USE nl_status nl_s3_payload_end(nl_s3_payload *payload); /* everything that was said is compared */
void nl_s3_payload_fini(nl_s3_payload *payload);
