/* lakehouse/access_test.c - who is let in: tokens, signatures of the known key and of others, strict mode. */
#include "lakehouse/access.h"

#include "base/calendar.h"
#include "base/process.h"
#include "base/test_support.h"
#include "storage/sigv4.h"

static const nl_lakehouse_keys open_keys = {NL_STR_INIT("nilas"), NL_STR_INIT("secret"), false};
static const nl_lakehouse_keys strict_keys = {NL_STR_INIT("nilas"), NL_STR_INIT("secret"), true};

static nl_access check(nl_arena *arena, const nl_lakehouse_keys *keys, const nl_property *headers, uint32_t header_count, const char *body)
{
    nl_access access;
    const nl_request request = {.method = NL_STR("POST"),
                                .path = NL_STR("/iceberg/v1/arn%3Aaws%3As3tables/namespaces"),
                                .query = NL_STR("a=b"),
                                .headers = headers,
                                .header_count = header_count,
                                .body = {(const uint8_t *)body, strlen(body)},
                                .arena = arena};
    nl_access_check(&request, keys, "s3tables", &access);
    return access;
}

/* Signed for the body "{}" at the hour that the clock has. */
static const nl_property *sign_for(nl_arena *arena, const char *service, const char *key, const char *secret, uint32_t *count)
{
    static const nl_property host = {NL_STR_INIT("host"), NL_STR_INIT("localhost:8013")};
    uint8_t digest[32];
    const nl_property *headers;
    nl_sha256((nl_bytes){(const uint8_t *)"{}", 2}, digest);
    const nl_sigv4_request request = {.method = NL_STR("POST"),
                                      .path = NL_STR("/iceberg/v1/arn%3Aaws%3As3tables/namespaces"),
                                      .query = NL_STR("a=b"),
                                      .headers = &host,
                                      .header_count = 1,
                                      .payload_hash = nl_hex(arena, digest, sizeof(digest))};
    const nl_sigv4_scope scope = {.access_key = nl_str_from(key), .region = NL_STR("eu-west-1"), .service = nl_str_from(service)};
    assert_ok(nl_sigv4_sign(&request, &scope, nl_str_from(secret), (nl_str){0}, nl_now_micros(), arena, &headers, count));
    return headers;
}

static const nl_property *sign(nl_arena *arena, const char *key, const char *secret, uint32_t *count)
{
    return sign_for(arena, "s3tables", key, secret, count);
}

static void test_a_signature_for_another_service_or_day_is_refused(void **unused)
{
    (void)unused;
    static const char *const services[] = {"s3", "glue", "athena", "execute-api", "S3Tables", "s3tables "};
    nl_arena *arena = nl_arena_new(NULL);
    uint32_t count;
    for (size_t i = 0; i < NL_COUNT(services); i++) {
        const nl_property *headers = sign_for(arena, services[i], "nilas", "secret", &count);
        const nl_access access = check(arena, &open_keys, headers, count, "{}");
        assert_false(access.is_allowed || access.is_signed);
        assert_string_equal(access.code, "InvalidSignatureException");
        assert_text(access.message, "Credential should be scoped to correct service: 's3tables'.");
    }
    const nl_property *good = sign(arena, "nilas", "secret", &count);
    for (uint32_t i = 0; i < count; i++) {
        if (!nl_str_is_nocase(good[i].key, "authorization")) continue;
        char *text = NL_UNCONST(good[i].value.data);
        text[nl_str_find(good[i].value, NL_STR("/20"), 0) + 1] = '3'; /* the scope's day is no longer that of x-amz-date */
    }
    nl_access access = check(arena, &open_keys, good, count, "{}");
    assert_false(access.is_allowed);
    assert_string_equal(access.code, "IncompleteSignatureException");
    static const char *const broken[] = {"AWS4-HMAC-SHA256 Credential=nilas", "AWS nilas:abc", "AWS4-ECDSA-P256-SHA256 Credential=nilas/20260101/s3tables/aws4_request"};
    for (size_t i = 0; i < NL_COUNT(broken); i++) {
        const nl_property header = {NL_STR("Authorization"), nl_str_from(broken[i])};
        access = check(arena, &open_keys, &header, 1, "{}");
        assert_false(access.is_allowed);
        assert_string_equal(access.code, "IncompleteSignatureException");
    }
    nl_arena_free(arena);
}

static void test_the_known_key_must_sign_rightly(void **unused)
{
    (void)unused;
    nl_arena *arena = nl_arena_new(NULL);
    uint32_t count;
    const nl_property *good = sign(arena, "nilas", "secret", &count);
    nl_access access = check(arena, &strict_keys, good, count, "{}");
    assert_true(access.is_allowed && access.is_signed);
    assert_text(access.region, "eu-west-1");
    access = check(arena, &open_keys, good, count, "{ }");
    assert_false(access.is_allowed);
    assert_string_equal(access.code, "InvalidSignatureException");
    const nl_property *wrong = sign(arena, "nilas", "guess", &count);
    assert_false(check(arena, &open_keys, wrong, count, "{}").is_allowed);
    const nl_property *other = sign(arena, "somebody", "x", &count);
    assert_true(check(arena, &open_keys, other, count, "{}").is_allowed);
    access = check(arena, &strict_keys, other, count, "{}");
    assert_false(access.is_allowed);
    assert_string_equal(access.code, "UnrecognizedClientException");
    nl_arena_free(arena);
}

static void test_a_signature_of_twenty_minutes_ago_is_refused(void **unused)
{
    (void)unused;
    nl_arena *arena = nl_arena_new(NULL);
    uint32_t count;
    const int64_t now = nl_now_micros();
    const nl_property *headers = sign(arena, "nilas", "secret", &count);
    nl_clock_hold(now + 20ll * 60 * 1000000);
    const nl_access access = check(arena, &open_keys, headers, count, "{}");
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    assert_false(access.is_allowed);
    nl_arena_free(arena);
}

static void test_tokens_hold_for_their_time_and_key(void **unused)
{
    (void)unused;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str token = nl_access_token(&strict_keys, 3600, arena);
    const nl_property good = {NL_STR("Authorization"), nl_arena_f(arena, "Bearer " NL_STR_FMT, NL_STR_ARG(token))};
    const nl_property bad = {NL_STR("Authorization"), NL_STR("Bearer nilas.99999999999.0000")};
    assert_true(check(arena, &strict_keys, &good, 1, "").is_signed);
    assert_false(check(arena, &strict_keys, &bad, 1, "").is_allowed);
    assert_true(check(arena, &open_keys, &bad, 1, "").is_allowed);
    assert_true(check(arena, &open_keys, NULL, 0, "").is_allowed);
    assert_false(check(arena, &strict_keys, NULL, 0, "").is_allowed);
    const nl_lakehouse_keys other = {NL_STR("nilas"), NL_STR("another secret"), true};
    assert_false(nl_access_token_is_good(&other, token, arena));
    nl_clock_hold(nl_now_micros() + 3700ll * 1000000);
    assert_false(nl_access_token_is_good(&strict_keys, token, arena));
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    static const char *const broken[] = {"", "nilas", "nilas.", "nilas.x.y", "nilas.-1.", "nilas.99999999999", "..", "nilas.9999999999999999999999.00"};
    for (size_t i = 0; i < NL_COUNT(broken); i++)
        assert_false(nl_access_token_is_good(&strict_keys, nl_str_from(broken[i]), arena));
    nl_arena_free(arena);
}

static void test_bad_bytes_become_the_replacement_character(void **unused)
{
    (void)unused;
    nl_arena *arena = nl_arena_new(NULL);
    assert_text(nl_valid_text(arena, NL_STR("plain é")), "plain é");
    assert_text(nl_valid_text(arena, NL_STR("a\xff" "b\xd8")), "a\xEF\xBF\xBD" "b\xEF\xBF\xBD");
    assert_true(nl_utf8_is_valid(nl_valid_text(arena, NL_STR("\xe2\x82\xf0\x9f\xc3"))));
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_known_key_must_sign_rightly),
        cmocka_unit_test(test_a_signature_for_another_service_or_day_is_refused),
        cmocka_unit_test(test_a_signature_of_twenty_minutes_ago_is_refused),
        cmocka_unit_test(test_tokens_hold_for_their_time_and_key),
        cmocka_unit_test(test_bad_bytes_become_the_replacement_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
