#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "format/json/json_text.h"

static const nl_json_options lenient = {.allows_single_quotes = true,
                                        .allows_comments = true,
                                        .allows_unquoted_names = true,
                                        .allows_leading_zeros = true,
                                        .allows_non_numeric_numbers = true,
                                        .allows_backslash_escaping_any = true,
                                        .allows_unquoted_controls = true};

/* Events as letters: { } [ ] n(name) s(tring) i(nteger) d(ecimal) t f 0(null), ! an error; texts in between. */
static void trace(nl_str text, const nl_json_options *options, nl_builder *out)
{
    static const char letters[] = {[NL_JSON_ERROR] = '!',       [NL_JSON_OBJECT_START] = '{', [NL_JSON_OBJECT_END] = '}',
                                   [NL_JSON_ARRAY_START] = '[', [NL_JSON_ARRAY_END] = ']',    [NL_JSON_NAME] = 'n',
                                   [NL_JSON_STRING] = 's',      [NL_JSON_NUMBER] = 'd',       [NL_JSON_TRUE] = 't',
                                   [NL_JSON_FALSE] = 'f',       [NL_JSON_NULL] = '0'};
    nl_json_parser in;
    nl_json_init(&in, text, options);
    nl_json_event event;
    while ((event = nl_json_next(&in)) != NL_JSON_END) {
        nl_append_char(out, event == NL_JSON_NUMBER && in.is_integer ? 'i' : letters[event]);
        if (event == NL_JSON_ERROR) {
            assert_non_null(nl_json_problem(&in));
            assert_true(nl_json_offset(&in) <= text.length);
            assert_int_equal(nl_json_next(&in), NL_JSON_ERROR);
            break;
        }
        if (event == NL_JSON_NAME || event == NL_JSON_STRING || event == NL_JSON_NUMBER) {
            nl_append(out, in.text);
            nl_append_char(out, ' ');
        }
    }
    nl_json_fini(&in);
}

static void assert_trace(const char *text, const nl_json_options *options, const char *expected)
{
    nl_builder out;
    nl_builder_init(&out, 10000);
    trace(nl_str_from(text), options, &out);
    if (strcmp(nl_builder_c(&out), expected) != 0) fail_msg("%s: %s, not %s", text, nl_builder_c(&out), expected);
    nl_builder_fini(&out);
}

static void test_values_of_every_kind(void **state)
{
    (void)state;
    assert_trace("", NULL, "");
    assert_trace(" {\"a\" : [1, -2.5e+3,true,false,null], \"b\":{}, \"c\":\"x\"}\n", NULL,
                 "{na [i1 d-2.5e+3 tf0]nb {}nc sx }");
    assert_trace("1 2[]{}\"a\"", NULL, "i1 i2 []{}sa ");
    assert_trace("\xef\xbb\xbf[0]", NULL, "[i0 ]");
    assert_trace("0.5 1E5 -0", NULL, "d0.5 d1E5 i-0 ");
}

static void test_escapes_are_decoded(void **state)
{
    (void)state;
    assert_trace("\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\ud83d\\ude00\"", NULL,
                 "sa\"\\/\b\f\n\r\tA\xc3\xa9\xf0\x9f\x98\x80 ");
    assert_trace("\"\\ud83d x\"", NULL, "s? x ");
    assert_trace("\"\\udc00\"", NULL, "s? ");
    assert_trace("\"\xc3\xa9 long text without any escape at all\"", NULL, "s\xc3\xa9 long text without any escape at all ");
}

static void test_broken_text_is_refused(void **state)
{
    (void)state;
    static const char *const broken[] = {"{",      "[1",      "[1,]",    "{\"a\"}",  "{\"a\":}", "{\"a\":1,}", "{a:1}",  "{'a':1}",
                                         "01",     "1.",      ".5",      "+1",       "-",        "1e",         "1x",     "tru",
                                         "truex",  "NaN",     "\"a",     "\"a\nb\"", "\"\\x\"",  "\"\\u12\"",  "]",      "}",
                                         "[1}",    "{\"a\" 1}", "[1 2]", "{,}",      "[,1]",     "// c\n1",    "\"\\u12g4\""};
    for (size_t i = 0; i < NL_COUNT(broken); i++) {
        nl_builder out;
        nl_builder_init(&out, 10000);
        trace(nl_str_from(broken[i]), NULL, &out);
        if (out.length == 0 || out.data[out.length - 1] != '!') fail_msg("%s was taken: %s", broken[i], nl_builder_c(&out));
        nl_builder_fini(&out);
    }
}

static void test_leniencies_of_spark(void **state)
{
    (void)state;
    assert_trace("{'a':'it\"s', b_1: 007} // end", &lenient, "{na sit\"s nb_1 i007 }");
    assert_trace("/* x */[NaN, Infinity,-Infinity,+INF, -INF]", &lenient, "[dNaN dInfinity d-Infinity d+INF d-INF ]");
    assert_trace("\"\\x\\'\n\"", &lenient, "sx'\n ");
    assert_trace("/* no end", &lenient, "!");
    assert_trace("+1", &lenient, "!");
}

static void test_depth_is_limited(void **state)
{
    (void)state;
    char text[NL_JSON_DEPTH_MAX * 2 + 2];
    memset(text, '[', NL_JSON_DEPTH_MAX);
    memset(text + NL_JSON_DEPTH_MAX, ']', NL_JSON_DEPTH_MAX);
    nl_builder out;
    nl_builder_init(&out, 10000);
    trace((nl_str){text, NL_JSON_DEPTH_MAX * 2}, NULL, &out);
    assert_int_equal(out.data[out.length - 1], ']');
    nl_builder_clear(&out);
    memset(text, '[', NL_JSON_DEPTH_MAX + 1);
    trace((nl_str){text, NL_JSON_DEPTH_MAX + 1}, NULL, &out);
    assert_int_equal(out.data[out.length - 1], '!');
    nl_builder_fini(&out);
}

static void test_values_are_skipped_copied_and_cut_out(void **state)
{
    (void)state;
    nl_json_parser in;
    nl_builder out;
    nl_str raw;
    nl_builder_init(&out, 1000);
    nl_json_init(&in, NL_STR("{\"a\": {\"x\": [1, {}]}, \"b\": [1.10, \"\\u0041\\n\", {\"q\" : null}] , \"c\": [true, 2], \"d\":3}"), NULL);
    assert_int_equal(nl_json_next(&in), NL_JSON_OBJECT_START);
    assert_int_equal(nl_json_next(&in), NL_JSON_NAME);
    assert_true(nl_json_skip(&in));
    assert_int_equal(nl_json_next(&in), NL_JSON_NAME);
    assert_int_equal(nl_json_next(&in), NL_JSON_ARRAY_START);
    assert_true(nl_json_copy_value(&in, &out));
    assert_string_equal(nl_builder_c(&out), "[1.10,\"A\\n\",{\"q\":null}]");
    assert_int_equal(nl_json_next(&in), NL_JSON_NAME);
    assert_int_equal(nl_json_next(&in), NL_JSON_ARRAY_START);
    assert_true(nl_json_raw_value(&in, &raw));
    assert_true(nl_str_is(raw, "[true, 2]"));
    assert_int_equal(nl_json_next(&in), NL_JSON_NAME);
    assert_int_equal(nl_json_next(&in), NL_JSON_NUMBER);
    assert_true(nl_json_raw_value(&in, &raw));
    assert_true(nl_str_is(raw, "3"));
    assert_int_equal(nl_json_next(&in), NL_JSON_OBJECT_END);
    assert_int_equal(nl_json_next(&in), NL_JSON_END);
    nl_json_reset(&in, NL_STR("[1"));
    assert_int_equal(nl_json_next(&in), NL_JSON_ARRAY_START);
    assert_false(nl_json_skip(&in));
    nl_json_fini(&in);
    nl_builder_fini(&out);
}

static void test_any_bytes_end_in_an_answer(void **state)
{
    (void)state;
    static const char alphabet[] = "{}[]\"\\,:0123eE.+-truefalsn/* \n'u";
    uint64_t seed = 3;
    for (int round = 0; round < 50000; round++) {
        char text[24];
        for (size_t i = 0; i < sizeof text; i++) {
            seed = seed * 6364136223846793005ull + 1442695040888963407ull;
            text[i] = alphabet[(seed >> 33) % (sizeof alphabet - 1)];
        }
        nl_builder out;
        nl_builder_init(&out, 10000);
        trace((nl_str){text, sizeof text}, round % 2 ? &lenient : NULL, &out);
        nl_builder_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_of_every_kind),
        cmocka_unit_test(test_escapes_are_decoded),
        cmocka_unit_test(test_broken_text_is_refused),
        cmocka_unit_test(test_leniencies_of_spark),
        cmocka_unit_test(test_depth_is_limited),
        cmocka_unit_test(test_values_are_skipped_copied_and_cut_out),
        cmocka_unit_test(test_any_bytes_end_in_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
