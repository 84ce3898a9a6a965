/* storage/digest.c - checksums. The hashes are OpenSSL's; CRC-32C goes through the processor's instruction where the
 * build knows that there is one, CRC-64/NVME through carry-less multiplication where the processor has it, else eight bytes
 * at a time through tables (slicing-by-8, Kounavis and Berry 2005).
 */
#include "storage/digest.h"

#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <stdlib.h>

#ifdef __SSE4_2__
#include <nmmintrin.h>
#include <wmmintrin.h>
#endif

static uint64_t load_le64(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static const EVP_MD *hash_of(nl_digest_kind kind)
{
    switch (kind) {
    case NL_DIGEST_MD5:
        return EVP_md5();
    case NL_DIGEST_SHA1:
        return EVP_sha1();
    case NL_DIGEST_SHA256:
        return EVP_sha256();
    case NL_DIGEST_CRC32:
    case NL_DIGEST_CRC32C:
    case NL_DIGEST_CRC64NVME:
        return NULL;
    }
    return NULL;
}

static void fill_random(uint8_t *digest, int length)
{
    if (RAND_bytes(digest, length) != 1) abort(); /* no memory and no random numbers: nothing can be done safely */
}

nl_status nl_digest_begin(nl_digest_kind kind, nl_digest *digest)
{
    nl_digest begun = {.kind = kind};
    const EVP_MD *hash = hash_of(kind);
    if (hash) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        if (!context || EVP_DigestInit_ex(context, hash, NULL) != 1) {
            EVP_MD_CTX_free(context);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", 512), NL_P_INT("receivedBytes", 0));
        }
        begun.context = context;
    }
    *digest = begun;
    return NULL;
}

void nl_digest_update(nl_digest *digest, nl_bytes bytes)
{
    if (bytes.length == 0) return;
    switch (digest->kind) {
    case NL_DIGEST_MD5:
    case NL_DIGEST_SHA1:
    case NL_DIGEST_SHA256:
        NL_ASSERT(digest->context);
        EVP_DigestUpdate(digest->context, bytes.data, bytes.length); /* cannot fail once begun: it allocates nothing */
        return;
    case NL_DIGEST_CRC32:
        digest->crc = nl_crc32(bytes.data, bytes.length, (uint32_t)digest->crc);
        return;
    case NL_DIGEST_CRC32C:
        digest->crc = nl_crc32c(bytes, (uint32_t)digest->crc);
        return;
    case NL_DIGEST_CRC64NVME:
        digest->crc = nl_crc64nvme(bytes, digest->crc);
        return;
    }
}

uint32_t nl_digest_end(nl_digest *digest, uint8_t out[NL_DIGEST_BYTES_MAX])
{
    uint32_t length = digest->kind == NL_DIGEST_CRC64NVME ? 8 : 4;
    if (digest->context) {
        unsigned hash_length = 0;
        length = (uint32_t)EVP_MD_get_size(hash_of(digest->kind));
        if (EVP_DigestFinal_ex(digest->context, out, &hash_length) != 1) fill_random(out, (int)length);
    } else {
        for (uint32_t i = 0; i < length; i++)
            out[i] = (uint8_t)(digest->crc >> (8 * (length - 1 - i)));
    }
    nl_digest_fini(digest);
    return length;
}

void nl_digest_fini(nl_digest *digest)
{
    EVP_MD_CTX_free(digest->context);
    *digest = (nl_digest){.kind = digest->kind};
}

void nl_sha256(nl_bytes bytes, uint8_t digest[32])
{
    unsigned length = 0;
    if (EVP_Digest(bytes.data ? bytes.data : (const uint8_t *)"", bytes.length, digest, &length, EVP_sha256(), NULL) != 1) fill_random(digest, 32);
}

void nl_md5(nl_bytes bytes, uint8_t digest[16])
{
    unsigned length = 0;
    if (EVP_Digest(bytes.data ? bytes.data : (const uint8_t *)"", bytes.length, digest, &length, EVP_md5(), NULL) != 1) fill_random(digest, 16);
}

void nl_hmac_sha256(nl_bytes key, nl_bytes bytes, uint8_t digest[32])
{
    unsigned length = 0;
    const uint8_t *data = bytes.data ? bytes.data : (const uint8_t *)"";
    const bool is_done = key.length <= INT32_MAX && HMAC(EVP_sha256(), key.data ? key.data : (const uint8_t *)"", (int)key.length, data, bytes.length, digest, &length);
    if (!is_done) fill_random(digest, 32);
}

/* CRC-32C: polynomial 0x1EDC6F41, reflected 0x82F63B78. */
static uint32_t crc32c_byte(uint32_t crc, uint8_t byte)
{
    crc ^= byte;
    for (int bit = 0; bit < 8; bit++)
        crc = (crc >> 1) ^ (0x82F63B78u & (0u - (crc & 1)));
    return crc;
}

uint32_t nl_crc32c(nl_bytes bytes, uint32_t start)
{
    uint32_t crc = ~start;
    size_t i = 0;
#ifdef __SSE4_2__
    uint64_t wide = crc;
    for (; i + 8 <= bytes.length; i += 8)
        wide = _mm_crc32_u64(wide, load_le64(bytes.data + i));
    crc = (uint32_t)wide;
#endif
    for (; i < bytes.length; i++)
        crc = crc32c_byte(crc, bytes.data[i]);
    return ~crc;
}

/* The tables of CRC-64/NVME (reflected 0x9A6C9329AC4BC9B5). A CRC is linear, so the entry of a byte is the sum of those of
 * its bits: row k lists them for a byte that k more bytes follow. */
#define PICK(i, bit, value) ((((i) >> (bit)) & 1) ? UINT64_C(value) : 0)
#define ENTRY(i, a, b, c, d, e, f, g, h) \
    (PICK(i, 0, a) ^ PICK(i, 1, b) ^ PICK(i, 2, c) ^ PICK(i, 3, d) ^ PICK(i, 4, e) ^ PICK(i, 5, f) ^ PICK(i, 6, g) ^ PICK(i, 7, h))
#define ENTRIES_4(i, ...)  ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__), ENTRY(i + 3, __VA_ARGS__)
#define ENTRIES_16(i, ...) ENTRIES_4(i, __VA_ARGS__), ENTRIES_4(i + 4, __VA_ARGS__), ENTRIES_4(i + 8, __VA_ARGS__), ENTRIES_4(i + 12, __VA_ARGS__)
#define ENTRIES_64(i, ...) ENTRIES_16(i, __VA_ARGS__), ENTRIES_16(i + 16, __VA_ARGS__), ENTRIES_16(i + 32, __VA_ARGS__), ENTRIES_16(i + 48, __VA_ARGS__)
#define ROW(...)           {ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__), ENTRIES_64(192, __VA_ARGS__)}
static const uint64_t crc64_rows[8][256] = {
    ROW(0x7f6ef0c830358979, 0xfedde190606b12f2, 0xc962e5739841b68f, 0xa61cecb46814fe75, 0x78e0ff3b88be6f81, 0xf1c1fe77117cdf02, 0xd75adabd7a6e2d6f, 0x9a6c9329ac4bc9b5),
    ROW(0x8776a97d73bddf69, 0x3a3474a9bfec2db9, 0x7468e9537fd85b72, 0xe8d1d2a6ffb0b6e4, 0xe57a831ea7f6fea3, 0xfe2c206e177a6e2d, 0xc881668f76634f31, 0xa5dbeb4db4510d09),
    ROW(0xff6e4e1f4e4038be, 0xca05ba6dc417e217, 0xa0d25288d0b85745, 0x757d8342f9e73de1, 0xeafb0685f3ce7bc2, 0xe12f2b58bf0b64ef, 0xf68770e226815ab5, 0xd9d7c79715952601),
    ROW(0x8211147cbaf96306, 0x30fb0eaa2d655567, 0x61f61d545acaaace, 0xc3ec3aa8b595559c, 0xb301530233bd3853, 0x52db80573fede3cd, 0xa5b700ae7fdbc79a, 0x7fb7270fa7201c5f),
    ROW(0x373d15f784905d1e, 0x6e7a2bef0920ba3c, 0xdcf457de12417478, 0x8d3189ef7c157b9b, 0x2eba358da0bd645d, 0x5d746b1b417ac8ba, 0xbae8d63682f59174, 0x41088a3e5d7cb183),
    ROW(0xe9742a79ef04a5d4, 0xe63172a0869ed8c3, 0xf8bbc31255aa22ed, 0xc5aea077f3c3d6b1, 0xbf8466bcbf103e09, 0x4bd1eb2a26b7ef79, 0x97a3d6544d6fdef2, 0x1b9e8afbc2482e8f),
    ROW(0xfc5d27f6bf353971, 0xcc6369be26fde189, 0xac1ff52f156c5079, 0x6ce6cc0d724f3399, 0xd9cd981ae49e6732, 0x8742166691ab5d0f, 0x3a5d0a9e7bc12975, 0x74ba153cf78252ea),
    ROW(0x21e9761e252621ac, 0x43d2ec3c4a4c4358, 0x87a5d878949886b0, 0x3b9296a271a69e0b, 0x77252d44e34d3c16, 0xee4a5a89c69a782c, 0xe84d9340d5a36333, 0xe44200d2f3d1550d),
};

/* The same without the inversions before and after. */
static uint64_t crc64_by_rows(nl_bytes bytes, uint64_t crc)
{
    size_t i = 0;
    for (; i + 8 <= bytes.length; i += 8) {
        const uint64_t mixed = crc ^ load_le64(bytes.data + i);
        crc = 0;
        for (int k = 0; k < 8; k++)
            crc ^= crc64_rows[7 - k][(mixed >> (8 * k)) & 0xff];
    }
    for (; i < bytes.length; i++)
        crc = (crc >> 8) ^ crc64_rows[0][(crc ^ bytes.data[i]) & 0xff];
    return crc;
}

#if defined(__x86_64__) && defined(__SSE4_2__)
#define FOLDED_BYTES 64u

/* `block` moved on by as many bits as the constants stand for: x^(d+63) and x^(d-1) modulo the polynomial, reflected. */
__attribute__((target("pclmul"))) static inline __m128i fold(__m128i block, __m128i constants)
{
    return _mm_xor_si128(_mm_clmulepi64_si128(block, constants, 0x00), _mm_clmulepi64_si128(block, constants, 0x11));
}

/* Carry-less multiplication (Gopal et al., Intel, 2009): four blocks of 16 bytes at a time take the place of those 64
 * bytes before; what is left is one block with the same remainder. Returns how many bytes that covers. */
__attribute__((target("pclmul"))) static size_t crc64_by_folding(nl_bytes bytes, uint64_t *crc)
{
    const __m128i far = _mm_set_epi64x((long long)0x62242240ace5045aull, (long long)0xc32cdb31e18a84aull);
    const __m128i near = _mm_set_epi64x((long long)0x21e9761e252621acull, (long long)0xeadc41fd2ba3d420ull);
    __m128i blocks[4];
    size_t i = FOLDED_BYTES;
    for (int b = 0; b < 4; b++)
        blocks[b] = _mm_loadu_si128((const __m128i *)(const void *)(bytes.data + 16 * b));
    blocks[0] = _mm_xor_si128(blocks[0], _mm_set_epi64x(0, (long long)*crc));
    for (; i + FOLDED_BYTES <= bytes.length; i += FOLDED_BYTES)
        for (int b = 0; b < 4; b++)
            blocks[b] = _mm_xor_si128(fold(blocks[b], far), _mm_loadu_si128((const __m128i *)(const void *)(bytes.data + i + 16 * (size_t)b)));
    for (int b = 1; b < 4; b++)
        blocks[b] = _mm_xor_si128(fold(blocks[b - 1], near), blocks[b]);
    uint8_t last[16];
    _mm_storeu_si128((__m128i *)(void *)last, blocks[3]);
    *crc = crc64_by_rows((nl_bytes){last, sizeof(last)}, 0);
    return i;
}
#endif

uint64_t nl_crc64nvme(nl_bytes bytes, uint64_t start)
{
    uint64_t crc = ~start;
#ifdef FOLDED_BYTES
    if (bytes.length >= 2 * FOLDED_BYTES && __builtin_cpu_supports("pclmul")) {
        const size_t done = crc64_by_folding(bytes, &crc);
        bytes = (nl_bytes){bytes.data + done, bytes.length - done};
    }
#endif
    return ~crc64_by_rows(bytes, crc);
}

nl_str nl_hex(nl_arena *arena, const uint8_t *bytes, size_t byte_count)
{
    static const char digits[] = "0123456789abcdef";
    char *text = nl_arena_alloc(arena, nl_size_add(nl_size_mul(byte_count, 2), 1));
    for (size_t i = 0; i < byte_count; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
    return (nl_str){text, 2 * byte_count};
}

nl_str nl_base64_encode(nl_arena *arena, nl_bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t length = (bytes.length + 2) / 3 * 4;
    char *text = nl_arena_alloc(arena, nl_size_add(length, 1));
    for (size_t i = 0, out = 0; i < bytes.length; i += 3, out += 4) {
        const size_t left = bytes.length - i;
        const uint32_t group = (uint32_t)bytes.data[i] << 16 | (left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0) | (left > 2 ? bytes.data[i + 2] : 0);
        text[out] = digits[group >> 18];
        text[out + 1] = digits[(group >> 12) & 63];
        text[out + 2] = left > 1 ? digits[(group >> 6) & 63] : '=';
        text[out + 3] = left > 2 ? digits[group & 63] : '=';
    }
    return (nl_str){text, length};
}

static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool nl_base64_decode(nl_arena *arena, nl_str text, nl_bytes *bytes)
{
    if (text.length % 4 != 0) return false;
    size_t digit_count = text.length;
    for (int padding = 0; padding < 2 && digit_count > 0 && text.data[digit_count - 1] == '='; padding++)
        digit_count--;
    uint8_t *out = nl_arena_alloc(arena, digit_count / 4 * 3 + 3);
    size_t length = 0;
    uint32_t group = 0;
    for (size_t i = 0; i < digit_count; i++) {
        const int value = base64_value(text.data[i]);
        if (value < 0) return false;
        group = group << 6 | (uint32_t)value;
        if (i % 4 == 0) continue;
        out[length++] = (uint8_t)(group >> (2 * (3 - i % 4)));
    }
    const uint32_t left_over = digit_count % 4 == 2 ? group & 15 : digit_count % 4 == 3 ? group & 3 : 0;
    if (digit_count % 4 == 1 || left_over != 0) return false;
    *bytes = (nl_bytes){out, length};
    return true;
}
