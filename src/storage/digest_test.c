/* storage/digest_test.c - published check values, pieces against the whole, hardware against plain loops. */
#include "base/test_support.h"

#include "storage/digest.h"

static nl_bytes text_bytes(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

static nl_str digest_of(nl_arena *arena, nl_digest_kind kind, nl_bytes bytes, size_t piece)
{
    nl_digest digest;
    uint8_t out[NL_DIGEST_BYTES_MAX];
    assert_ok(nl_digest_begin(kind, &digest));
    for (size_t i = 0; i < bytes.length; i += piece)
        nl_digest_update(&digest, (nl_bytes){bytes.data + i, NL_MIN(piece, bytes.length - i)});
    const uint32_t length = nl_digest_end(&digest, out);
    return nl_hex(arena, out, length);
}

/* The catalogue of parametrised CRC algorithms' "check" column, RFC 1321, FIPS 180-4. */
static void test_check_values(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const struct {
        nl_digest_kind kind;
        const char *text, *expected;
    } rows[] = {
        {NL_DIGEST_CRC32, "123456789", "cbf43926"},
        {NL_DIGEST_CRC32C, "123456789", "e3069283"},
        {NL_DIGEST_CRC64NVME, "123456789", "ae8b14860a799888"},
        {NL_DIGEST_CRC32, "", "00000000"},
        {NL_DIGEST_CRC64NVME, "", "0000000000000000"},
        {NL_DIGEST_MD5, "message digest", "f96b697d7cb7938d525a2f31aaf161d0"},
        {NL_DIGEST_SHA1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"},
        {NL_DIGEST_SHA256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {NL_DIGEST_SHA256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_text(digest_of(arena, rows[i].kind, text_bytes(rows[i].text), 100), rows[i].expected);
    nl_arena_free(arena);
}

static void test_pieces_give_what_the_whole_gives(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    uint8_t *bytes = nl_arena_alloc(arena, 1000);
    uint32_t seed = 7;
    for (size_t i = 0; i < 1000; i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (int kind = NL_DIGEST_MD5; kind <= NL_DIGEST_CRC64NVME; kind++)
        for (size_t length = 0; length <= 1000; length += 37) {
            const nl_str whole = digest_of(arena, (nl_digest_kind)kind, (nl_bytes){bytes, length}, 1000);
            for (size_t piece = 1; piece < 40; piece += 6)
                assert_true(nl_str_equal(digest_of(arena, (nl_digest_kind)kind, (nl_bytes){bytes, length}, piece), whole));
        }
    nl_arena_free(arena);
}

/* Bit by bit, from the polynomials. */
static void test_crcs_agree_with_the_definition(void **state)
{
    (void)state;
    uint8_t bytes[257];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 31 + 5);
    for (size_t length = 0; length <= sizeof(bytes); length++) {
        uint32_t crc32 = UINT32_MAX;
        uint64_t crc64 = UINT64_MAX;
        for (size_t i = 0; i < length; i++) {
            crc32 ^= bytes[i];
            crc64 ^= bytes[i];
            for (int bit = 0; bit < 8; bit++) {
                crc32 = crc32 & 1 ? (crc32 >> 1) ^ 0x82F63B78u : crc32 >> 1;
                crc64 = crc64 & 1 ? (crc64 >> 1) ^ 0x9A6C9329AC4BC9B5ull : crc64 >> 1;
            }
        }
        assert_int_equal(nl_crc32c((nl_bytes){bytes, length}, 0), ~crc32);
        assert_true(nl_crc64nvme((nl_bytes){bytes, length}, 0) == ~crc64);
    }
}

static void test_a_digest_can_be_given_up(void **state)
{
    (void)state;
    nl_digest digest = {0};
    nl_digest_fini(&digest);
    assert_ok(nl_digest_begin(NL_DIGEST_SHA256, &digest));
    nl_digest_update(&digest, text_bytes("x"));
    nl_digest_fini(&digest);
    nl_digest_fini(&digest);
}

/* RFC 4231, test case 2. */
static void test_hmac(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    uint8_t digest[32];
    nl_hmac_sha256(text_bytes("Jefe"), text_bytes("what do ya want for nothing?"), digest);
    assert_text(nl_hex(arena, digest, 32), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    nl_arena_free(arena);
}

/* RFC 4648, section 10; and what is none. */
static void test_base64(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const char *const rows[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_bytes back;
        assert_text(nl_base64_encode(arena, text_bytes(rows[i][0])), rows[i][1]);
        assert_true(nl_base64_decode(arena, nl_str_from(rows[i][1]), &back));
        assert_text(((nl_str){(const char *)back.data, back.length}), rows[i][0]);
    }
    const char *const wrong[] = {"Z", "Zg", "Zg=", "Zg===", "=", "====", "Zh==", "Zm9=", "Z=9v", "Zm 9", "Zm9v\n", "Zm9_"};
    for (size_t i = 0; i < NL_COUNT(wrong); i++) {
        nl_bytes back;
        assert_false(nl_base64_decode(arena, nl_str_from(wrong[i]), &back));
    }
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_check_values),
        cmocka_unit_test(test_pieces_give_what_the_whole_gives),
        cmocka_unit_test(test_crcs_agree_with_the_definition),
        cmocka_unit_test(test_a_digest_can_be_given_up),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_base64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
