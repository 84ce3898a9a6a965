/* Tests of bodies: framing, signatures, checksums. Signatures are those of Amazon's own example ("Signature Calculations for
 * the Authorization Header: Transferring Payload in Multiple Chunks"). */
#include "base/test_support.h"

#include "lakehouse/object_store.h"
#include "lakehouse/s3/payload.h"

static nl_status gather(void *argument, nl_bytes bytes)
{
    nl_append(argument, (nl_str){(const char *)bytes.data, bytes.length});
    return NULL;
}

static void assert_code(nl_status status, const char *code)
{
    if (!nl_store_failed_with(status, code)) fprintf(stderr, "%s, wanted %s\n", status ? nl_error_message(status) : "success", code);
    assert_true(nl_store_failed_with(status, code));
    nl_error_free(status);
}

/* The framing taken off, fed in pieces of `step` bytes. */
static nl_status unframe(nl_arena *arena, nl_str framed, size_t step, nl_sigv4_chain *chain, bool is_signed, nl_builder *out, nl_str *trailer)
{
    nl_s3_chunks chunks = {.arena = arena, .sink = gather, .argument = out, .chain = chain, .is_signed = is_signed};
    nl_status status = NULL;
    for (size_t at = 0; !status && at < framed.length; at += step) {
        nl_str piece = nl_str_slice(framed, at, at + step);
        status = nl_s3_chunks_take(&chunks, (nl_bytes){(const uint8_t *)piece.data, piece.length});
    }
    if (!status) status = nl_s3_chunks_end(&chunks);
    if (!status && trailer && chunks.trailer_count) *trailer = chunks.trailers[0].value;
    nl_s3_chunks_fini(&chunks);
    return status;
}

static void test_framing_in_pieces_of_every_size(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str framed = NL_STR("6\r\nhello \r\nB\r\nwide\r\nworld\r\n0\r\nX-Amz-Checksum-CRC32: AAAA \r\n\r\n");
    for (size_t step = 1; step <= framed.length; step++) {
        nl_builder out;
        nl_str trailer = {0};
        nl_builder_init(&out, 1000);
        assert_ok(unframe(arena, framed, step, NULL, false, &out, &trailer));
        assert_text(nl_builder_str(&out), "hello wide\r\nworld");
        assert_text(trailer, "AAAA");
        nl_builder_fini(&out);
    }
    nl_arena_free(arena);
}

static void test_broken_framing_is_refused(void **state)
{
    (void)state;
    const struct {
        const char *framed, *code;
    } rows[] = {
        {"", "IncompleteBody"},
        {"5\r\nhel", "IncompleteBody"},
        {"5\r\nhello", "IncompleteBody"},
        {"5\r\nhello\r\n", "IncompleteBody"},
        {"5\r\nhello\r\n0", "IncompleteBody"},
        {"5\r\nhelloX\r\n", "InvalidRequest"},
        {"x\r\n", "InvalidRequest"},
        {"\r\n", "InvalidRequest"},
        {"-1\r\n", "InvalidRequest"},
        {"ffffffffffffffff\r\n", "InvalidRequest"},
        {"0\r\n\r\nmore", "InvalidRequest"},
        {"0\r\nno colon\r\n\r\n", "InvalidRequest"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_builder out;
        nl_builder_init(&out, 1000);
        assert_code(unframe(arena, nl_str_from(rows[i].framed), 3, NULL, false, &out, NULL), rows[i].code);
        nl_builder_fini(&out);
    }
    nl_arena_free(arena);
}

static nl_str amazons_example(nl_arena *arena, const char *second_signature)
{
    nl_builder framed;
    nl_builder_init(&framed, 1 << 20);
    nl_append_c(&framed, "10000;chunk-signature=ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648\r\n");
    nl_append_fill(&framed, 'a', 65536);
    nl_append_f(&framed, "\r\n400;chunk-signature=%s\r\n", second_signature);
    nl_append_fill(&framed, 'a', 1024);
    nl_append_c(&framed, "\r\n0;chunk-signature=b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9\r\n\r\n");
    nl_str text = nl_arena_str(arena, nl_builder_str(&framed));
    nl_builder_fini(&framed);
    return text;
}

static nl_status verify_example(nl_arena *arena, const char *second_signature)
{
    const nl_sigv4_scope scope = {.access_key = NL_STR("AKIAIOSFODNN7EXAMPLE"), .region = NL_STR("us-east-1"), .service = NL_STR("s3"), .date = NL_STR("20130524")};
    nl_sigv4_chain chain;
    nl_sigv4_chain_begin(&chain, &scope, NL_STR("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"), NL_STR("20130524T000000Z"),
                         NL_STR("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"), arena);
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    nl_status status = unframe(arena, amazons_example(arena, second_signature), 1000, &chain, true, &out, NULL);
    if (!status) assert_int_equal(out.length, 66560);
    nl_builder_fini(&out);
    return status;
}

static void test_chunk_signatures_of_amazons_example(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_ok(verify_example(arena, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"));
    assert_code(verify_example(arena, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5498"), "SignatureDoesNotMatch");
    nl_arena_free(arena);
}

static void test_crcs_of_parts_make_that_of_the_whole(void **state)
{
    (void)state;
    uint8_t bytes[10007];
    for (size_t i = 0; i < sizeof(bytes); i++) bytes[i] = (uint8_t)(i * 31 + (i >> 7));
    const size_t cuts[] = {0, 1, 7, 64, 5000, sizeof(bytes) - 1, sizeof(bytes)};
    for (uint32_t k = 0; k < NL_S3_CHECKSUM_COUNT; k++) {
        const nl_s3_checksum_kind *kind = &nl_s3_checksums[k];
        for (size_t i = 0; kind->polynomial && i < NL_COUNT(cuts); i++) {
            nl_digest digests[3];
            for (int d = 0; d < 3; d++) assert_ok(nl_digest_begin(kind->digest, &digests[d]));
            nl_digest_update(&digests[0], (nl_bytes){bytes, sizeof(bytes)});
            nl_digest_update(&digests[1], (nl_bytes){bytes, cuts[i]});
            nl_digest_update(&digests[2], (nl_bytes){bytes + cuts[i], sizeof(bytes) - cuts[i]});
            assert_true(nl_s3_crc_combine(kind, digests[1].crc, digests[2].crc, sizeof(bytes) - cuts[i]) == digests[0].crc);
            for (int d = 0; d < 3; d++) nl_digest_fini(&digests[d]);
        }
    }
}

static nl_status pass(const nl_property *headers, uint32_t count, const char *body)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder out;
    nl_builder_init(&out, 1000);
    const nl_sigv4_request request = {.headers = headers, .header_count = count};
    const nl_sigv4_claim claim = {0};
    nl_s3_payload payload = {.arena = arena, .sink = gather, .argument = &out, .bytes_max = 100};
    nl_status status = nl_s3_payload_begin(&payload, &request, &claim, false, NL_STR(""));
    if (!status) status = nl_s3_payload_take(&payload, (nl_bytes){(const uint8_t *)body, strlen(body)});
    if (!status) status = nl_s3_payload_end(&payload);
    nl_s3_payload_fini(&payload);
    nl_builder_fini(&out);
    nl_arena_free(arena);
    return status;
}

static void test_what_is_said_of_a_body_is_compared(void **state)
{
    (void)state;
    /* Values by md5sum, sha256sum, and zlib.crc32 of "hello". */
    const struct {
        const char *name, *value, *code;
    } rows[] = {
        {"content-md5", "XUFAKrxLKna5cZ2REBfFkg==", NULL},
        {"content-md5", "XUFAKrxLKna5cZ2REBfFkQ==", "BadDigest"},
        {"content-md5", "XUFA", "InvalidDigest"},
        {"x-amz-content-sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", NULL},
        {"x-amz-content-sha256", "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9825", "XAmzContentSHA256Mismatch"},
        {"x-amz-content-sha256", "x", "InvalidArgument"},
        {"x-amz-content-sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "NotImplemented"},
        {"x-amz-content-sha256", "UNSIGNED-PAYLOAD", NULL},
        {"X-Amz-Checksum-Crc32", "NhCmhg==", NULL},
        {"x-amz-checksum-crc32", "NhCmhQ==", "BadDigest"},
        {"x-amz-checksum-crc32", "NhCm", "InvalidRequest"},
        {"x-amz-checksum-xxhash64", "AAAAAAAAAAA=", "InvalidRequest"},
        {"x-amz-sdk-checksum-algorithm", "SHA256", NULL},
        {"x-amz-sdk-checksum-algorithm", "ADLER", "InvalidRequest"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_property header = {nl_str_from(rows[i].name), nl_str_from(rows[i].value)};
        nl_status status = pass(&header, 1, "hello");
        if (rows[i].code) assert_code(status, rows[i].code);
        else assert_ok(status);
    }
    const nl_property two[] = {{NL_STR_INIT("x-amz-checksum-crc32"), NL_STR_INIT("NhCmhg==")}, {NL_STR_INIT("x-amz-checksum-sha1"), NL_STR_INIT("qvTGHdzF6KLavt4PO0gs2a6pQ00=")}};
    assert_code(pass(two, 2, "hello"), "InvalidRequest");
    char long_body[102];
    memset(long_body, 'x', 101);
    long_body[101] = '\0';
    assert_code(pass(NULL, 0, long_body), "EntityTooLarge");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_framing_in_pieces_of_every_size),
        cmocka_unit_test(test_broken_framing_is_refused),
        cmocka_unit_test(test_chunk_signatures_of_amazons_example),
        cmocka_unit_test(test_crcs_of_parts_make_that_of_the_whole),
        cmocka_unit_test(test_what_is_said_of_a_body_is_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
