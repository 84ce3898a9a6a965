/* storage/sigv4_test.c - the worked examples of the S3 API's documentation, and every part of a request changed. */
#include "base/test_support.h"

#include "base/calendar.h"
#include "storage/sigv4.h"

#define ACCESS_KEY "AKIAIOSFODNN7EXAMPLE"
#define SECRET_KEY "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
#define EMPTY_HASH "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
#define EXAMPLE_TIME 1369353600000000ll /* 2013-05-24T00:00:00Z */

static const nl_sigv4_scope s3_scope = {NL_STR_INIT(ACCESS_KEY), NL_STR_INIT("us-east-1"), NL_STR_INIT("s3"), NL_STR_INIT("20130524")};

static nl_str header_of(const nl_property *headers, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(headers[i].key, name)) return headers[i].value;
    return (nl_str){0};
}

/* "Authenticating Requests: Using the Authorization Header", examples GET Object and PUT Object. */
static void test_signatures_of_the_documentation(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property get[] = {{NL_STR_INIT("Host"), NL_STR_INIT("examplebucket.s3.amazonaws.com")}, {NL_STR_INIT("Range"), NL_STR_INIT("bytes=0-9")}};
    const nl_sigv4_request request = {.method = NL_STR("GET"), .path = NL_STR("/test.txt"), .headers = get, .header_count = 2};
    const nl_property *headers;
    uint32_t count;
    assert_ok(nl_sigv4_sign(&request, &s3_scope, NL_STR(SECRET_KEY), (nl_str){0}, EXAMPLE_TIME, arena, &headers, &count));
    assert_int_equal(count, 5);
    assert_text(header_of(headers, count, "x-amz-date"), "20130524T000000Z");
    assert_text(header_of(headers, count, "x-amz-content-sha256"), EMPTY_HASH);
    assert_text(header_of(headers, count, "authorization"),
                "AWS4-HMAC-SHA256 Credential=" ACCESS_KEY "/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");

    const nl_property put[] = {{NL_STR_INIT("date"), NL_STR_INIT("Fri, 24 May 2013 00:00:00 GMT")},
                               {NL_STR_INIT("host"), NL_STR_INIT("examplebucket.s3.amazonaws.com")},
                               {NL_STR_INIT("x-amz-storage-class"), NL_STR_INIT("REDUCED_REDUNDANCY")},
                               {NL_STR_INIT("x-amz-content-sha256"), NL_STR_INIT("44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072")},
                               {NL_STR_INIT("x-amz-date"), NL_STR_INIT("20130524T000000Z")}};
    const nl_sigv4_request upload = {.method = NL_STR("PUT"), .path = NL_STR("/test%24file.text"), .headers = put, .header_count = 5, .payload_hash = put[3].value};
    nl_str signature;
    nl_str canonical;
    assert_ok(nl_sigv4_signature(&upload, &s3_scope, NL_STR(SECRET_KEY), put[4].value, NL_STR("date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class"), arena,
                                 &signature, &canonical));
    assert_text(signature, "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
    assert_true(nl_str_starts(canonical, NL_STR("PUT\n/test%24file.text\n\ndate:Fri, 24 May 2013 00:00:00 GMT\nhost:examplebucket.s3.amazonaws.com\n")));
    nl_arena_free(arena);
}

/* "Signature Calculations: Transferring Payload in Multiple Chunks", without and with a trailer. */
static void test_chain_of_chunks(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    uint8_t *bytes = nl_arena_alloc(arena, 65536);
    memset(bytes, 'a', 65536);
    uint8_t large[32];
    uint8_t small[32];
    uint8_t none[32];
    nl_sha256((nl_bytes){bytes, 65536}, large);
    nl_sha256((nl_bytes){bytes, 1024}, small);
    nl_sha256((nl_bytes){0}, none);

    nl_sigv4_chain chain;
    nl_sigv4_chain_begin(&chain, &s3_scope, NL_STR(SECRET_KEY), NL_STR("20130524T000000Z"), NL_STR("4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9"),
                         arena);
    nl_sigv4_chain_next(&chain, large);
    assert_string_equal(chain.previous, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648");
    nl_sigv4_chain_next(&chain, small);
    assert_string_equal(chain.previous, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497");
    nl_sigv4_chain_next(&chain, none);
    assert_string_equal(chain.previous, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9");

    nl_sigv4_chain_begin(&chain, &s3_scope, NL_STR(SECRET_KEY), NL_STR("20130524T000000Z"), NL_STR("106e2a8a18243abcf37539882f36619c00e2dfc72633413f02d3b74544bfeb8e"),
                         arena);
    nl_sigv4_chain_next(&chain, large);
    assert_string_equal(chain.previous, "b474d8862b1487a5145d686f57f013e54db672cee1c953b3010fb58501ef5aa2");
    nl_sigv4_chain_next(&chain, small);
    assert_string_equal(chain.previous, "1c1344b170168f8e65b41376b44b20fe354e373826ccbbe2c1d40a8cae51e5c7");
    nl_sigv4_chain_next(&chain, none);
    assert_string_equal(chain.previous, "2ca2aba2005185cf7159c6277faf83795951dd77a3a99e6e65d5c9f85863f992");
    nl_sigv4_chain_trailer(&chain, NL_STR("x-amz-checksum-crc32c:sOO8/Q==\n"));
    assert_string_equal(chain.previous, "d81f82fc3505edab99d459891051a732e8730629a2e4a59689829ca17fe2e435");
    nl_arena_free(arena);
}

/* "Authenticating Requests: Using Query Parameters". */
static void test_presigned_link(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property host = {NL_STR_INIT("host"), NL_STR_INIT("examplebucket.s3.amazonaws.com")};
    nl_sigv4_request request = {.method = NL_STR("GET"), .path = NL_STR("/test.txt"), .headers = &host, .header_count = 1};
    assert_ok(nl_sigv4_presign(&request, &s3_scope, NL_STR(SECRET_KEY), (nl_str){0}, EXAMPLE_TIME, 86400, arena, &request.query));
    assert_text(request.query, "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" ACCESS_KEY "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Date=20130524T000000Z&"
                               "X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404");
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    assert_int_equal(claim.kind, NL_SIGV4_PRESIGNED);
    assert_int_equal(claim.expires_seconds, 86400);
    const struct {
        int64_t seconds;
        nl_sigv4_verdict verdict;
    } rows[] = {{0, NL_SIGV4_GOOD}, {86400, NL_SIGV4_GOOD}, {86401, NL_SIGV4_EXPIRED}, {-900, NL_SIGV4_GOOD}, {-901, NL_SIGV4_SKEWED}};
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(SECRET_KEY), EXAMPLE_TIME + rows[i].seconds * NL_MICROS_PER_SECOND, arena, NULL), rows[i].verdict);
    request.method = NL_STR("PUT");
    assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(SECRET_KEY), EXAMPLE_TIME, arena, NULL), NL_SIGV4_WRONG);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_of_the_documentation),
        cmocka_unit_test(test_chain_of_chunks),
        cmocka_unit_test(test_presigned_link),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
