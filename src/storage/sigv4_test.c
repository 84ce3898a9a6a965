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

/* ---- what botocore signs (sigv4_vectors.def) ---- */

#define VECTOR_SECRET "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
#define VECTOR_TIME   1790858096000000ll /* 2026-10-01T12:34:56Z */

typedef struct vector {
    const char *what, *method, *path, *query, *headers, *payload, *service, *token, *canonical, *signature;
} vector;
static const vector vectors[] = {
#define X(what, method, path, query, headers, payload, service, token, canonical, signature) \
    {what, method, path, query, headers, payload, service, token, canonical, signature},
#include "storage/sigv4_vectors.def"
#undef X
};

/* "name\037value\036…", with room for one header more. */
static nl_property *split_headers(nl_arena *arena, nl_str text, uint32_t *count)
{
    nl_property *headers = nl_arena_alloc(arena, 300 * sizeof(nl_property));
    nl_str rest = text;
    nl_str one;
    *count = 0;
    while (nl_str_next_part(&rest, 036, &one)) {
        const size_t at = nl_str_find_char(one, 037, 0);
        headers[(*count)++] = (nl_property){nl_str_slice(one, 0, at), nl_str_slice(one, at + 1, one.length)};
    }
    return headers;
}

/* The line of the canonical request before the last. */
static nl_str signed_of(const vector *row)
{
    const nl_str canonical = nl_str_from(row->canonical);
    const size_t last = nl_str_find_last_char(canonical, '\n');
    const size_t before = nl_str_find_last_char(nl_str_slice(canonical, 0, last), '\n');
    return nl_str_slice(canonical, before + 1, last);
}

static nl_sigv4_request request_of(nl_arena *arena, const vector *row, nl_property **headers)
{
    nl_sigv4_request request = {.method = nl_str_from(row->method), .path = nl_str_from(row->path), .query = nl_str_from(row->query), .payload_hash = nl_str_from(row->payload)};
    *headers = split_headers(arena, nl_str_from(row->headers), &request.header_count);
    const nl_str signed_headers = signed_of(row);
    (*headers)[request.header_count++] =
        (nl_property){NL_STR("Authorization"), nl_arena_f(arena, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261001/eu-west-1/%s/aws4_request, SignedHeaders=" NL_STR_FMT ", Signature=%s",
                                                          row->service, NL_STR_ARG(signed_headers), row->signature)};
    request.headers = *headers;
    return request;
}

static void test_vectors_are_signed_and_verified_as_botocore_signs_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(vectors); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const vector *row = &vectors[i];
        nl_property *headers;
        const nl_sigv4_request request = request_of(arena, row, &headers);
        const nl_sigv4_scope scope = {NL_STR("AKIDEXAMPLE"), NL_STR("eu-west-1"), nl_str_from(row->service), NL_STR("20261001")};
        nl_str signature;
        nl_str canonical;
        assert_ok(nl_sigv4_signature(&request, &scope, NL_STR(VECTOR_SECRET), NL_STR("20261001T123456Z"), signed_of(row), arena, &signature, &canonical));
        assert_text(canonical, row->canonical);
        assert_text(signature, row->signature);
        nl_sigv4_claim claim;
        nl_sigv4_claim_parse(&request, arena, &claim);
        assert_int_equal(claim.kind, NL_SIGV4_HEADER);
        assert_text(claim.scope.access_key, "AKIDEXAMPLE");
        assert_text(claim.token, row->token);
        assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(VECTOR_SECRET), VECTOR_TIME, arena, NULL), NL_SIGV4_GOOD);
        nl_arena_free(arena);
    }
}

static nl_sigv4_verdict verdict_of(nl_arena *arena, const nl_sigv4_request *request, const char *secret)
{
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(request, arena, &claim);
    if (claim.kind != NL_SIGV4_HEADER && claim.kind != NL_SIGV4_PRESIGNED) return NL_SIGV4_MALFORMED;
    return nl_sigv4_verify(request, &claim, nl_str_from(secret), VECTOR_TIME, arena, NULL);
}

static nl_str with_x(nl_arena *arena, nl_str text)
{
    return nl_arena_f(arena, NL_STR_FMT "x", NL_STR_ARG(text));
}

static bool names(nl_str signed_headers, nl_str header)
{
    nl_str rest = signed_headers;
    nl_str one;
    while (nl_str_next_part(&rest, ';', &one))
        if (nl_str_equal_nocase(one, header)) return true;
    return false;
}

static void test_a_request_with_any_part_changed_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(vectors); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const vector *row = &vectors[i];
        nl_property *headers;
        const nl_sigv4_request good = request_of(arena, row, &headers);
        assert_int_equal(verdict_of(arena, &good, VECTOR_SECRET), NL_SIGV4_GOOD);
        assert_int_equal(verdict_of(arena, &good, VECTOR_SECRET "x"), NL_SIGV4_WRONG);
        nl_sigv4_request other = good;
        other.method = with_x(arena, good.method);
        assert_int_equal(verdict_of(arena, &other, VECTOR_SECRET), NL_SIGV4_WRONG);
        other = good;
        other.path = nl_arena_f(arena, NL_STR_FMT "/x", NL_STR_ARG(good.path));
        assert_int_equal(verdict_of(arena, &other, VECTOR_SECRET), NL_SIGV4_WRONG);
        other = good;
        other.query = with_x(arena, good.query);
        assert_int_equal(verdict_of(arena, &other, VECTOR_SECRET), NL_SIGV4_WRONG);
        other = good;
        other.payload_hash = with_x(arena, good.payload_hash);
        assert_int_equal(verdict_of(arena, &other, VECTOR_SECRET), NL_SIGV4_WRONG);
        for (uint32_t h = 0; h + 1 < good.header_count; h++) {
            const nl_property kept = headers[h];
            const bool is_signed = names(signed_of(row), kept.key);
            headers[h].value = with_x(arena, kept.value);
            assert_int_equal(verdict_of(arena, &good, VECTOR_SECRET) == NL_SIGV4_GOOD, !is_signed);
            headers[h] = (nl_property){NL_STR("gone"), kept.value};
            assert_int_equal(verdict_of(arena, &good, VECTOR_SECRET) == NL_SIGV4_GOOD, !is_signed);
            headers[h] = kept;
        }
        nl_arena_free(arena);
    }
}

/* Every character of the authorization header in turn: nothing but the request as it was signed passes. */
static void test_an_authorization_with_any_character_changed_is_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property *headers;
    nl_sigv4_request request = request_of(arena, &vectors[0], &headers);
    nl_property *last = &headers[request.header_count - 1];
    const nl_str good = last->value;
    char *text = NL_UNCONST(nl_arena_str(arena, good).data);
    for (size_t i = 0; i < good.length; i++) {
        const char instead[] = {'0', 'f', 'A', ';', ',', '=', '/', ' ', 0};
        for (size_t c = 0; c < sizeof(instead); c++) {
            memcpy(text, good.data, good.length);
            text[i] = instead[c];
            last->value = (nl_str){text, good.length};
            nl_sigv4_claim claim;
            nl_sigv4_claim_parse(&request, arena, &claim);
            const bool is_key = claim.kind == NL_SIGV4_HEADER && !nl_str_is(claim.scope.access_key, "AKIDEXAMPLE"); /* looked up by the server: unknown there */
            const bool is_same = instead[c] == good.data[i] || (instead[c] == ' ' && good.data[i] == ' ');
            if (!is_key && !is_same) assert_int_not_equal(verdict_of(arena, &request, VECTOR_SECRET), NL_SIGV4_GOOD);
        }
    }
    nl_arena_free(arena);
}

static void test_time_may_differ_by_a_quarter_of_an_hour(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property *headers;
    const nl_sigv4_request request = request_of(arena, &vectors[0], &headers);
    const struct {
        int64_t seconds;
        nl_sigv4_verdict verdict;
    } rows[] = {{0, NL_SIGV4_GOOD}, {900, NL_SIGV4_GOOD}, {-900, NL_SIGV4_GOOD}, {901, NL_SIGV4_SKEWED}, {-901, NL_SIGV4_SKEWED}};
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(VECTOR_SECRET), VECTOR_TIME + rows[i].seconds * NL_MICROS_PER_SECOND, arena, NULL), rows[i].verdict);
    nl_arena_free(arena);
}

/* What is between the client and S3 adds nothing that means something. */
static void test_an_unsigned_amz_header_is_refused_by_s3(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property *headers;
    nl_sigv4_request request = request_of(arena, &vectors[1], &headers);
    assert_string_equal(vectors[1].service, "s3");
    assert_int_equal(verdict_of(arena, &request, VECTOR_SECRET), NL_SIGV4_GOOD);
    headers[request.header_count++] = (nl_property){NL_STR("X-Amz-Copy-Source"), NL_STR("/other/secret")};
    assert_int_equal(verdict_of(arena, &request, VECTOR_SECRET), NL_SIGV4_UNSIGNED_HEADERS);
    nl_arena_free(arena);
}

/* The path and the query may come in another spelling than the one that was signed. */
static void test_other_spellings_of_the_same_path_are_accepted(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property host = {NL_STR_INIT("host"), NL_STR_INIT("examplebucket.s3.amazonaws.com")};
    nl_sigv4_request request = {.method = NL_STR("GET"), .path = NL_STR("/a%20b%2Bc~"), .query = NL_STR("prefix=x%2Fy"), .headers = &host, .header_count = 1};
    const nl_property *headers;
    assert_ok(nl_sigv4_sign(&request, &s3_scope, NL_STR(SECRET_KEY), (nl_str){0}, EXAMPLE_TIME, arena, &headers, &request.header_count));
    request.headers = headers;
    request.path = NL_STR("/a%20b+c%7e");
    request.query = NL_STR("prefix=x/y");
    nl_sigv4_claim claim;
    nl_sigv4_claim_parse(&request, arena, &claim);
    assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(SECRET_KEY), EXAMPLE_TIME, arena, NULL), NL_SIGV4_GOOD);
    request.path = NL_STR("/a%2520b+c~");
    assert_int_equal(nl_sigv4_verify(&request, &claim, NL_STR(SECRET_KEY), EXAMPLE_TIME, arena, NULL), NL_SIGV4_WRONG);
    nl_arena_free(arena);
}

static void test_claims_that_are_none(void **state)
{
    (void)state;
#define SCOPED "Credential=AK/20261001/eu-west-1/s3/aws4_request"
#define DIGITS "e86048db106f9ef7c8ced942db1d7f75c4b29e126a7dcb599adbf5417ce4ad46"
    static const struct {
        const char *authorization, *query, *problem; /* problem NULL: not signed at all */
    } rows[] = {
        {"Bearer abc", "", NULL},
        {"Basic abc", "X=1", NULL},
        {"", "Signature=x", NULL},
        {"AWS AK:signature=", "", "Version 2"},
        {"", "AWSAccessKeyId=AK&Signature=x&Expires=1", "Version 2"},
        {"AWS4-ECDSA-P256-SHA256 " SCOPED, "", "4A"},
        {"AWS4-HMAC-SHA512 " SCOPED, "", "algorithm"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=host", "", "lacks"},
        {"AWS4-HMAC-SHA256 " SCOPED ", " SCOPED ", SignedHeaders=host, Signature=" DIGITS, "", "twice"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=host, Other=1, Signature=" DIGITS, "", "unknown"},
        {"AWS4-HMAC-SHA256 Credential=20261001/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=" DIGITS, "", "form"},
        {"AWS4-HMAC-SHA256 Credential=/20261001/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=" DIGITS, "", "empty"},
        {"AWS4-HMAC-SHA256 Credential=AK/20261001/eu-west-1/s3/aws5_request, SignedHeaders=host, Signature=" DIGITS, "", "aws4_request"},
        {"AWS4-HMAC-SHA256 Credential=AK/2026101/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=" DIGITS, "", "yyyyMMdd"},
        {"AWS4-HMAC-SHA256 Credential=AK/20261002/eu-west-1/s3/aws4_request, SignedHeaders=host, Signature=" DIGITS, "", "not that of X-Amz-Date"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=x;host, Signature=" DIGITS, "", "sorted"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=host;host, Signature=" DIGITS, "", "sorted"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=Host, Signature=" DIGITS, "", "lower case"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=, Signature=" DIGITS, "", "empty"},
        {"AWS4-HMAC-SHA256 " SCOPED ", SignedHeaders=host, Signature=xyz", "", "hexadecimal"},
        {"", "X-Amz-Signature=" DIGITS, "Algorithm"},
        {"", "X-Amz-Algorithm=AWS4-HMAC-SHA256", "needs"},
        {"AWS4-HMAC-SHA256 x", "X-Amz-Algorithm=AWS4-HMAC-SHA256", "only one"},
        {"", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261001%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261001T123456Z&X-Amz-Expires=604801&"
             "X-Amz-SignedHeaders=host&X-Amz-Signature=" DIGITS, "604800"},
        {"", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261001%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261001T123456Z&X-Amz-Expires=-1&"
             "X-Amz-SignedHeaders=host&X-Amz-Signature=" DIGITS, "negative"},
        {"", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F20261001%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=20261001T126056Z&X-Amz-Expires=1&"
             "X-Amz-SignedHeaders=host&X-Amz-Signature=" DIGITS, "X-Amz-Date"},
        {"", "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=1&X-Amz-Expires=2", "twice"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_property headers[] = {{NL_STR("host"), NL_STR("h")}, {NL_STR("x-amz-date"), NL_STR("20261001T123456Z")}, {NL_STR("authorization"), nl_str_from(rows[i].authorization)}};
        const nl_sigv4_request request = {.method = NL_STR("GET"), .path = NL_STR("/"), .query = nl_str_from(rows[i].query), .headers = headers,
                                          .header_count = rows[i].authorization[0] ? 3 : 2};
        nl_sigv4_claim claim;
        nl_sigv4_claim_parse(&request, arena, &claim);
        assert_int_equal(claim.kind, rows[i].problem ? NL_SIGV4_UNKNOWN : NL_SIGV4_NONE);
        if (rows[i].problem && !strstr(claim.problem, rows[i].problem)) fail_msg("row %zu: %s", i, claim.problem);
        nl_arena_free(arena);
    }
}

static void test_a_signature_that_does_not_cover_the_host_is_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_property headers[] = {{NL_STR("host"), NL_STR("h")}, {NL_STR("x-amz-date"), NL_STR("20261001T123456Z")}, {NL_STR("authorization"), NL_STR("")}};
    nl_sigv4_request request = {.method = NL_STR("GET"), .path = NL_STR("/"), .headers = headers, .header_count = 3};
    const nl_sigv4_scope scope = {NL_STR("AK"), NL_STR("eu-west-1"), NL_STR("glue"), NL_STR("20261001")};
    nl_str signature;
    assert_ok(nl_sigv4_signature(&request, &scope, NL_STR(VECTOR_SECRET), headers[1].value, NL_STR("x-amz-date"), arena, &signature, NULL));
    headers[2].value =
        nl_arena_f(arena, "AWS4-HMAC-SHA256 Credential=AK/20261001/eu-west-1/glue/aws4_request, SignedHeaders=x-amz-date, Signature=" NL_STR_FMT, NL_STR_ARG(signature));
    assert_int_equal(verdict_of(arena, &request, VECTOR_SECRET), NL_SIGV4_MALFORMED);
    const nl_sigv4_request without = {.method = NL_STR("GET"), .path = NL_STR("/"), .headers = headers + 1, .header_count = 1};
    const nl_property *signed_with;
    uint32_t count;
    assert_fails(nl_sigv4_sign(&without, &scope, NL_STR(VECTOR_SECRET), (nl_str){0}, VECTOR_TIME, arena, &signed_with, &count), NILAS_ILLEGAL_ARGUMENT, "host");
    nl_arena_free(arena);
}

static void test_a_request_can_be_signed_again(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_property host = {NL_STR_INIT("Host"), NL_STR_INIT("h:9000")};
    nl_sigv4_request request = {.method = NL_STR("PUT"), .path = NL_STR("/b/k"), .headers = &host, .header_count = 1, .payload_hash = NL_STR("UNSIGNED-PAYLOAD")};
    const nl_sigv4_scope scope = {NL_STR("AK"), NL_STR("eu-west-1"), NL_STR("s3"), {0}};
    for (int i = 0; i < 3; i++) {
        const nl_property *headers;
        assert_ok(nl_sigv4_sign(&request, &scope, NL_STR(VECTOR_SECRET), i < 2 ? NL_STR("token") : NL_STR(""), VECTOR_TIME + i * NL_MICROS_PER_SECOND, arena, &headers,
                                &request.header_count));
        request.headers = headers;
        assert_int_equal(request.header_count, i < 2 ? 5 : 4);
        assert_int_equal(verdict_of(arena, &request, VECTOR_SECRET), NL_SIGV4_GOOD);
    }
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signatures_of_the_documentation),
        cmocka_unit_test(test_chain_of_chunks),
        cmocka_unit_test(test_presigned_link),
        cmocka_unit_test(test_vectors_are_signed_and_verified_as_botocore_signs_them),
        cmocka_unit_test(test_a_request_with_any_part_changed_is_refused),
        cmocka_unit_test(test_an_authorization_with_any_character_changed_is_refused),
        cmocka_unit_test(test_time_may_differ_by_a_quarter_of_an_hour),
        cmocka_unit_test(test_an_unsigned_amz_header_is_refused_by_s3),
        cmocka_unit_test(test_other_spellings_of_the_same_path_are_accepted),
        cmocka_unit_test(test_claims_that_are_none),
        cmocka_unit_test(test_a_signature_that_does_not_cover_the_host_is_refused),
        cmocka_unit_test(test_a_request_can_be_signed_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
