/* storage/digest.h - checksums of requests and objects: MD5, SHA-1, SHA-256 and the three CRCs of S3, piece by piece.
 *
 * Source: RFC 1321, FIPS 180-4 (OpenSSL's); CRC-32 as in zlib; CRC-32C (RFC 3720, B.4); CRC-64/NVME (NVM Express 2.0).
 * The bytes of a CRC are big-endian, as S3 puts them into base64.
 */
#pragma once

#include "base/arena.h"

typedef enum nl_digest_kind { NL_DIGEST_MD5, NL_DIGEST_SHA1, NL_DIGEST_SHA256, NL_DIGEST_CRC32, NL_DIGEST_CRC32C, NL_DIGEST_CRC64NVME } nl_digest_kind;

#define NL_DIGEST_BYTES_MAX 32u

/* In place; begun by nl_digest_begin, ended by nl_digest_end or nl_digest_fini. One thread at a time. */
typedef struct nl_digest {
    nl_digest_kind kind;
    void *context; /* OpenSSL's; NULL for the CRCs */
    uint64_t crc;
} nl_digest;

NL_MUST_USE nl_status nl_digest_begin(nl_digest_kind kind, nl_digest *digest); /* UNABLE_TO_ACQUIRE_MEMORY */
void nl_digest_update(nl_digest *digest, nl_bytes bytes);
/* The bytes written to `out`: 16, 20, 32, 4, 4, 8. The digest is over and holds nothing any more. */
uint32_t nl_digest_end(nl_digest *digest, uint8_t out[NL_DIGEST_BYTES_MAX]);
void nl_digest_fini(nl_digest *digest); /* one that is not wanted any more; also after the end, and of one all zero */

/* In one go. When OpenSSL has no memory the digest is random, so nothing that is signed or compared with it passes. */
void nl_sha256(nl_bytes bytes, uint8_t digest[32]);
void nl_md5(nl_bytes bytes, uint8_t digest[16]);
void nl_hmac_sha256(nl_bytes key, nl_bytes bytes, uint8_t digest[32]);
uint32_t nl_crc32c(nl_bytes bytes, uint32_t start); /* start 0, or the value so far */
uint64_t nl_crc64nvme(nl_bytes bytes, uint64_t start);

nl_str nl_hex(nl_arena *arena, const uint8_t *bytes, size_t byte_count); /* lower case */
nl_str nl_base64_encode(nl_arena *arena, nl_bytes bytes);                /* RFC 4648 with padding */
bool nl_base64_decode(nl_arena *arena, nl_str text, nl_bytes *bytes);    /* false: not base64, or badly padded */
