/* lakehouse/s3/payload.c - see payload.h. */
#include "lakehouse/s3/payload.h"

#include "base/number.h"
#include "lakehouse/object_store.h"

const nl_s3_checksum_kind nl_s3_checksums[NL_S3_CHECKSUM_COUNT] = {
    {"CRC32", "x-amz-checksum-crc32", "ChecksumCRC32", NL_DIGEST_CRC32, 4, 0xEDB88320u},
    {"CRC32C", "x-amz-checksum-crc32c", "ChecksumCRC32C", NL_DIGEST_CRC32C, 4, 0x82F63B78u},
    {"CRC64NVME", "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME", NL_DIGEST_CRC64NVME, 8, 0x9A6C9329AC4BC9B5u},
    {"SHA1", "x-amz-checksum-sha1", "ChecksumSHA1", NL_DIGEST_SHA1, 20, 0},
    {"SHA256", "x-amz-checksum-sha256", "ChecksumSHA256", NL_DIGEST_SHA256, 32, 0},
};

const nl_s3_checksum_kind *nl_s3_checksum_find(nl_str name)
{
    for (uint32_t i = 0; i < NL_S3_CHECKSUM_COUNT; i++)
        if (nl_str_is_nocase(name, nl_s3_checksums[i].name)) return &nl_s3_checksums[i];
    return NULL;
}

/* ---- Combining CRCs: a polynomial times another modulo the CRC's, coefficients reflected (Mark Adler, zlib's crc32.c). */

static uint64_t multiply(const nl_s3_checksum_kind *kind, uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (uint64_t bit = 1ull << (kind->byte_count * 8 - 1); bit; bit >>= 1) {
        if (a & bit) product ^= b;
        b = b & 1 ? (b >> 1) ^ kind->polynomial : b >> 1;
    }
    return product;
}

uint64_t nl_s3_crc_combine(const nl_s3_checksum_kind *kind, uint64_t a, uint64_t b, uint64_t b_length)
{
    uint64_t power = 1ull << (kind->byte_count * 8 - 2); /* x */
    for (int i = 0; i < 3; i++) power = multiply(kind, power, power);
    for (uint64_t rest = b_length; rest; rest >>= 1) { /* power is x to 8 times 2 to the i-th */
        if (rest & 1) a = multiply(kind, power, a);
        power = multiply(kind, power, power);
    }
    return a ^ b;
}

/* ---- What the head says. */

static nl_str header_of(const nl_sigv4_request *request, const char *name)
{
    for (uint32_t i = 0; i < request->header_count; i++)
        if (nl_str_is_nocase(request->headers[i].key, name)) return nl_str_trim(request->headers[i].value);
    return (nl_str){0};
}

static bool is_hex_hash(nl_str text)
{
    if (text.length != 64) return false;
    for (size_t i = 0; i < 64; i++) {
        const char c = (char)(text.data[i] | 0x20);
        if (!((text.data[i] >= '0' && text.data[i] <= '9') || (c >= 'a' && c <= 'f'))) return false;
    }
    return true;
}

/* The checksum whose value comes in a header or trailer; *value: of the header. */
static nl_status find_checksum(nl_s3_payload *self, const nl_sigv4_request *request)
{
    nl_str trailer = header_of(request, "x-amz-trailer");
    nl_str algorithm = header_of(request, "x-amz-sdk-checksum-algorithm");
    for (uint32_t i = 0; i < NL_S3_CHECKSUM_COUNT; i++) {
        nl_str value = header_of(request, nl_s3_checksums[i].header);
        const bool is_trailer = nl_str_is_nocase(trailer, nl_s3_checksums[i].header);
        if (!value.data && !is_trailer) continue;
        if (self->checksum) return NL_STORE_RAISE("InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed.");
        self->checksum = &nl_s3_checksums[i];
        self->has_checksum_value = true;
        self->checksum_value = value;
        nl_bytes bytes;
        if (value.data && (!nl_base64_decode(self->arena, value, &bytes) || bytes.length != nl_s3_checksums[i].byte_count))
            return NL_STORE_RAISE("InvalidRequest", "Value for %s header is invalid.", nl_s3_checksums[i].header);
    }
    if (self->checksum) return nl_digest_begin(self->checksum->digest, &self->checksum_digest);
    for (uint32_t i = 0; i < request->header_count; i++) {
        nl_str name = request->headers[i].key;
        const bool is_known = nl_str_is_nocase(name, "x-amz-checksum-algorithm") || nl_str_is_nocase(name, "x-amz-checksum-type") || nl_str_is_nocase(name, "x-amz-checksum-mode");
        if (nl_str_starts_nocase(name, NL_STR("x-amz-checksum-")) && !is_known)
            return NL_STORE_RAISE("InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]");
    }
    if (algorithm.length && !nl_s3_checksum_find(algorithm))
        return NL_STORE_RAISE("InvalidRequest", "Checksum algorithm provided is unsupported. Please try again with any of the valid types: [CRC32, CRC32C, CRC64NVME, SHA1, SHA256]");
    return nl_s3_payload_want(self, nl_s3_checksum_find(algorithm));
}

static nl_status read_md5(nl_s3_payload *self, nl_str header)
{
    nl_bytes bytes;
    if (!header.data) return NULL;
    if (!nl_base64_decode(self->arena, header, &bytes) || bytes.length != 16) return NL_STORE_RAISE("InvalidDigest", "The Content-MD5 you specified was invalid.");
    self->content_md5 = (nl_str){(const char *)bytes.data, bytes.length};
    return nl_digest_begin(NL_DIGEST_MD5, &self->md5);
}

static nl_status sink_decoded(void *argument, nl_bytes bytes);

static nl_status begin_chunks(nl_s3_payload *self, const nl_sigv4_request *request, const nl_sigv4_claim *claim, bool is_verified, nl_str secret_key, nl_str kind)
{
    static const char *const forms[] = {"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"};
    bool is_known = false;
    for (uint32_t i = 0; i < NL_COUNT(forms); i++) is_known = is_known || nl_str_is(kind, forms[i]);
    if (!is_known) return NL_STORE_RAISE("NotImplemented", "Payloads of the form " NL_STR_FMT " are not offered.", NL_STR_ARG(nl_str_slice(kind, 0, 64)));
    self->is_chunked = true;
    self->chunks = (nl_s3_chunks){.arena = self->arena, .sink = sink_decoded, .argument = self};
    self->chunks.is_signed = !nl_str_is(kind, forms[2]);
    if (self->chunks.is_signed && is_verified) {
        nl_sigv4_chain_begin(&self->chain, &claim->scope, secret_key, claim->timestamp, claim->signature, self->arena);
        self->chunks.chain = &self->chain;
    }
    nl_str length = header_of(request, "x-amz-decoded-content-length");
    int64_t value = -1;
    if (!length.data) return NULL;
    if (!nl_parse_int64(length, &value) || value < 0) return NL_STORE_RAISE("InvalidArgument", "x-amz-decoded-content-length is not a number.");
    self->announced_bytes = (uint64_t)value;
    return NULL;
}

nl_status nl_s3_payload_begin(nl_s3_payload *self, const nl_sigv4_request *request, const nl_sigv4_claim *claim, bool is_verified, nl_str secret_key)
{
    nl_str kind = header_of(request, "x-amz-content-sha256");
    self->announced_bytes = UINT64_MAX;
    NL_TRY(read_md5(self, header_of(request, "content-md5")));
    if (nl_str_starts(kind, NL_STR("STREAMING-"))) {
        NL_TRY(begin_chunks(self, request, claim, is_verified, secret_key, kind));
    } else if (is_hex_hash(kind)) {
        self->sha256 = kind;
        NL_TRY(nl_digest_begin(NL_DIGEST_SHA256, &self->hash));
    } else if (kind.length && !nl_str_is(kind, "UNSIGNED-PAYLOAD")) {
        return NL_STORE_RAISE("InvalidArgument", "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, "
                                                 "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER or a valid sha256 value.");
    }
    return self->is_of_object ? NULL : find_checksum(self, request);
}

nl_status nl_s3_payload_want(nl_s3_payload *self, const nl_s3_checksum_kind *kind)
{
    if (!kind || self->checksum) return NULL;
    self->checksum = kind;
    return nl_digest_begin(kind->digest, &self->checksum_digest);
}

/* ---- The bytes. */

static nl_status sink_decoded(void *argument, nl_bytes bytes)
{
    nl_s3_payload *self = argument;
    self->byte_count += bytes.length;
    if (self->byte_count > self->bytes_max) return NL_STORE_RAISE("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
    if (self->content_md5.data) nl_digest_update(&self->md5, bytes);
    if (self->checksum) nl_digest_update(&self->checksum_digest, bytes);
    return self->sink(self->argument, bytes);
}

nl_status nl_s3_payload_take(nl_s3_payload *self, nl_bytes bytes)
{
    if (self->is_chunked) return nl_s3_chunks_take(&self->chunks, bytes);
    if (self->sha256.data) nl_digest_update(&self->hash, bytes);
    return sink_decoded(self, bytes);
}

static nl_status check_hash(nl_s3_payload *self)
{
    if (!self->sha256.data) return NULL;
    uint8_t hash[NL_DIGEST_BYTES_MAX];
    nl_digest_end(&self->hash, hash);
    if (nl_str_equal_nocase(nl_hex(self->arena, hash, 32), self->sha256)) return NULL;
    return NL_STORE_RAISE("XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.");
}

static nl_status check_md5(nl_s3_payload *self)
{
    if (!self->content_md5.data) return NULL;
    uint8_t hash[NL_DIGEST_BYTES_MAX];
    nl_digest_end(&self->md5, hash);
    if (memcmp(hash, self->content_md5.data, 16) == 0) return NULL;
    return NL_STORE_RAISE("BadDigest", "The Content-MD5 you specified did not match what we received.");
}

static nl_status check_checksum(nl_s3_payload *self)
{
    if (!self->checksum) return NULL;
    const uint32_t length = nl_digest_end(&self->checksum_digest, self->checksum_bytes);
    self->checksum_text = nl_base64_encode(self->arena, (nl_bytes){self->checksum_bytes, length});
    nl_str claimed = self->checksum_value;
    for (uint32_t i = 0; !claimed.data && i < self->chunks.trailer_count; i++)
        if (nl_str_is_nocase(self->chunks.trailers[i].key, self->checksum->header)) claimed = self->chunks.trailers[i].value;
    if (!claimed.data && !self->has_checksum_value) return NULL;
    if (!claimed.data) return NL_STORE_RAISE("MalformedTrailerError", "The request contained trailing data that was not well-formed or did not conform to our published schema.");
    if (nl_str_equal(claimed, self->checksum_text)) return NULL;
    return NL_STORE_RAISE("BadDigest", "The %s you specified did not match the calculated checksum.", self->checksum->name);
}

nl_status nl_s3_payload_end(nl_s3_payload *self)
{
    if (self->is_chunked) NL_TRY(nl_s3_chunks_end(&self->chunks));
    if (self->announced_bytes != UINT64_MAX && self->announced_bytes != self->byte_count)
        return NL_STORE_RAISE("IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header");
    NL_TRY(check_hash(self));
    NL_TRY(check_md5(self));
    return check_checksum(self);
}

void nl_s3_payload_fini(nl_s3_payload *self)
{
    nl_s3_chunks_fini(&self->chunks);
    nl_digest_fini(&self->hash);
    nl_digest_fini(&self->md5);
    nl_digest_fini(&self->checksum_digest);
}
