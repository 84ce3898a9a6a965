#include "base/test_support.h"
#include "storage/http.h"

static void test_encoding_leaves_only_unreserved_characters(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_text(nl_url_encode(arena, NL_STR("a b/c+d~e%\xc3\xa9"), false), "a%20b%2Fc%2Bd~e%25%C3%A9");
    assert_text(nl_url_encode(arena, NL_STR("a b/c"), true), "a%20b/c");
    assert_text(nl_url_encode(arena, NL_STR(""), true), "");
    nl_arena_free(arena);
}

static void test_decoding_undoes_it_and_refuses_broken_escapes(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str text = {0};
    assert_ok(nl_url_decode(arena, NL_STR("a%20b%2fc+d"), false, &text));
    assert_text(text, "a b/c+d");
    assert_ok(nl_url_decode(arena, NL_STR("a+b"), true, &text));
    assert_text(text, "a b");
    const char *broken[] = {"%", "%4", "x%zz", "%%41"};
    for (uint32_t i = 0; i < NL_COUNT(broken); i++) assert_fails(nl_url_decode(arena, nl_str_from(broken[i]), false, &text), NILAS_ILLEGAL_ARGUMENT, "percent-encoding");
    nl_arena_free(arena);
}

static void test_urls_fall_into_their_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *scheme, *host, *port, *path, *query;
    } cases[] = {
        {"http://h", "http", "h", "", "/", ""},
        {"https://h:9000/a/b?x=1&y=2#f", "https", "h", "9000", "/a/b", "x=1&y=2"},
        {"http://[::1]:80?q", "http", "::1", "80", "/", "q"},
        {"http://a.b/c?d?e/f", "http", "a.b", "", "/c", "d?e/f"},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        nl_url url = {0};
        assert_ok(nl_url_parse(nl_str_from(cases[i].text), &url));
        assert_text(url.scheme, cases[i].scheme);
        assert_text(url.host, cases[i].host);
        assert_text(url.port, cases[i].port);
        assert_text(url.path, cases[i].path);
        assert_text(url.query, cases[i].query);
    }
}

static void test_what_is_not_a_url_is_refused_without_showing_secrets(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "h", "://h", "http://", "http:///p", "http://h:", "http://h:0", "http://h:99999", "http://h:1x", "http://[::1", "http://h/a b", "http://h/\n"};
    nl_url url = {0};
    for (uint32_t i = 0; i < NL_COUNT(bad); i++) assert_fails(nl_url_parse(nl_str_from(bad[i]), &url), NILAS_ILLEGAL_ARGUMENT, NULL);
    nl_status status = nl_url_parse(NL_STR("http://me:hidden@h/"), &url);
    assert_non_null(status);
    assert_null(strstr(nl_error_message(status), "hidden"));
    nl_error_free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoding_leaves_only_unreserved_characters),
        cmocka_unit_test(test_decoding_undoes_it_and_refuses_broken_escapes),
        cmocka_unit_test(test_urls_fall_into_their_parts),
        cmocka_unit_test(test_what_is_not_a_url_is_refused_without_showing_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
