/* base/str_test.c - slices, UTF-8, builders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/status.h"
#include "base/str.h"

static void test_comparing_goes_by_bytes_then_length(void **state)
{
    (void)state;
    assert_true(nl_str_compare(NL_STR("a"), NL_STR("b")) < 0);
    assert_true(nl_str_compare(NL_STR("b"), NL_STR("a")) > 0);
    assert_true(nl_str_compare(NL_STR("a"), NL_STR("ab")) < 0);
    assert_true(nl_str_compare(NL_STR("\xff"), NL_STR("a")) > 0);
    assert_int_equal(nl_str_compare((nl_str){NULL, 0}, NL_STR("")), 0);
    assert_true(nl_str_equal((nl_str){NULL, 0}, NL_STR("")));
    assert_true(nl_str_equal_nocase(NL_STR("SeLect"), NL_STR("sELECT")));
    assert_false(nl_str_equal_nocase(NL_STR("a"), NL_STR("ab")));
    assert_false(nl_str_equal_nocase(NL_STR("["), NL_STR("{"))); /* one bit apart, but no letters */
    assert_true(nl_str_is_nocase(NL_STR("Where"), "WHERE"));
}

static void test_prefixes_and_suffixes(void **state)
{
    (void)state;
    assert_true(nl_str_starts(NL_STR("file:/x"), NL_STR("file:")));
    assert_true(nl_str_starts(NL_STR("x"), NL_STR("")));
    assert_false(nl_str_starts(NL_STR("fi"), NL_STR("file")));
    assert_true(nl_str_starts_nocase(NL_STR("FILE:/x"), NL_STR("file:")));
    assert_true(nl_str_ends(NL_STR("a.parquet"), NL_STR(".parquet")));
    assert_false(nl_str_ends(NL_STR("t"), NL_STR(".parquet")));
}

/* Blocks of sixteen, the end behind them, and needles whose ends are everywhere. */
static void test_finding_in_long_texts_agrees_with_memmem(void **state)
{
    (void)state;
    char text[97];
    uint32_t seed = 7;
    for (size_t round = 0; round < 2000; round++) {
        const size_t length = round % sizeof text;
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1664525u + 1013904223u;
            text[i] = (char)('a' + (seed >> 24) % 2);
        }
        for (size_t k = 1; k <= 20; k++) {
            const size_t place = length >= k ? (seed >> 8) % (length - k + 1) : 0;
            char needle[20] = "bbbbbbbbbbbbbbbbbbb";
            if (length >= k && round % 3) memcpy(needle, text + place, k);
            for (size_t from = 0; from <= length; from += 9) {
                const char *hit = length > from ? memmem(text + from, length - from, needle, k) : NULL;
                const size_t expected = hit ? (size_t)(hit - text) : NL_NOT_FOUND;
                assert_true(nl_str_find((nl_str){text, length}, (nl_str){needle, k}, from) == expected);
            }
        }
    }
}

static void test_finding(void **state)
{
    (void)state;
    nl_str text = NL_STR("abcabc");
    assert_int_equal(nl_str_find(text, NL_STR("bc"), 0), 1);
    assert_int_equal(nl_str_find(text, NL_STR("bc"), 2), 4);
    assert_int_equal(nl_str_find(text, NL_STR("bc"), 5), NL_NOT_FOUND);
    assert_int_equal(nl_str_find(text, NL_STR(""), 6), 6);
    assert_int_equal(nl_str_find(text, NL_STR(""), 7), NL_NOT_FOUND);
    assert_int_equal(nl_str_find_char(text, 'c', 3), 5);
    assert_int_equal(nl_str_find_char(text, 'x', 0), NL_NOT_FOUND);
    assert_int_equal(nl_str_find_last_char(text, 'a'), 3);
    assert_int_equal(nl_str_find_last_char((nl_str){NULL, 0}, 'a'), NL_NOT_FOUND);
}

static void test_slices_are_clamped(void **state)
{
    (void)state;
    nl_str text = NL_STR("hello");
    assert_true(nl_str_is(nl_str_slice(text, 1, 3), "el"));
    assert_null(nl_str_slice((nl_str){0}, 3, 9).data);
    assert_true(nl_str_is(nl_str_slice(text, 3, 99), "lo"));
    assert_int_equal(nl_str_slice(text, 9, 99).length, 0);
    assert_int_equal(nl_str_slice(text, 3, 1).length, 0);
}

static void test_trimming_takes_ascii_white_space(void **state)
{
    (void)state;
    assert_true(nl_str_is(nl_str_trim(NL_STR(" \t\n a b \r\v\f")), "a b"));
    assert_int_equal(nl_str_trim(NL_STR("   ")).length, 0);
}

static void test_parts_keep_empty_ones_in_the_middle(void **state)
{
    (void)state;
    nl_str rest = NL_STR("a,,b");
    nl_str part;
    assert_true(nl_str_next_part(&rest, ',', &part) && nl_str_is(part, "a"));
    assert_true(nl_str_next_part(&rest, ',', &part) && nl_str_is(part, ""));
    assert_true(nl_str_next_part(&rest, ',', &part) && nl_str_is(part, "b"));
    assert_false(nl_str_next_part(&rest, ',', &part));
    rest = NL_STR("a,");
    assert_true(nl_str_next_part(&rest, ',', &part) && nl_str_is(part, "a"));
    assert_false(nl_str_next_part(&rest, ',', &part)); /* a separator at the end ends the last part */
}

static void test_utf8_is_strict(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t characters;
        bool is_valid;
    } cases[] = {
        {"", 0, true},
        {"abcdefgh", 8, true},
        {"abcdefghi", 9, true},
        {"abcdefg\xc3\xa9", 8, true},
        {"\xe2\x82\xac", 1, true},
        {"\xf0\x9f\x98\x80", 1, true},
        {"\xf4\x8f\xbf\xbf", 1, true},
        {"\xc0\x80", 2, false},             /* overlong zero   */
        {"\xe0\x80\x80", 3, false},         /* overlong        */
        {"\xed\xa0\x80", 3, false},         /* a surrogate     */
        {"\xf4\x90\x80\x80", 4, false},     /* above U+10FFFF  */
        {"\xc3", 1, false},                  /* cut             */
        {"a\xe2\x82", 3, false},             /* cut             */
        {"\x80", 1, false},                  /* stray           */
        {"\xff\xfe", 2, false},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_str text = nl_str_from(cases[i].bytes);
        assert_int_equal(nl_utf8_length(text), cases[i].characters);
        assert_int_equal(nl_utf8_is_valid(text), cases[i].is_valid);
    }
}

static void test_every_code_point_survives_encoding(void **state)
{
    (void)state;
    for (uint32_t code_point = 0; code_point <= 0x10FFFF; code_point++) {
        if (code_point >= 0xD800 && code_point <= 0xDFFF) continue;
        char bytes[4];
        nl_str text = {bytes, nl_utf8_encode(code_point, bytes)};
        size_t offset = 0;
        assert_int_equal(nl_utf8_decode(text, &offset), code_point);
        assert_int_equal(offset, text.length);
        assert_int_equal(nl_utf8_next(text, 0), text.length);
    }
    char bytes[4];
    assert_int_equal(nl_utf8_encode(0xD800, bytes), 3);
    assert_memory_equal(bytes, "\xef\xbf\xbd", 3);
}

static void test_decoding_bad_bytes_gives_the_replacement_and_goes_on(void **state)
{
    (void)state;
    nl_str text = NL_STR("\xffz");
    size_t offset = 0;
    assert_int_equal(nl_utf8_decode(text, &offset), 0xFFFD);
    assert_int_equal(nl_utf8_decode(text, &offset), 'z');
    assert_int_equal(nl_utf8_decode(text, &offset), 0xFFFD);
    assert_int_equal(offset, 2);
}

static void test_a_builder_grows_to_its_limit_and_no_further(void **state)
{
    (void)state;
    nl_builder builder;
    nl_builder_init(&builder, 65);
    assert_string_equal(nl_builder_c(&builder), "");
    nl_append_fill(&builder, 'x', 63);
    nl_append_char(&builder, 'y');
    nl_append_c(&builder, "z");
    assert_false(nl_builder_failed(&builder));
    assert_int_equal(builder.length, 65);
    nl_append_char(&builder, '!');
    assert_true(nl_builder_failed(&builder));
    assert_int_equal(strlen(nl_builder_c(&builder)), 65);
    nl_append(&builder, NL_STR(""));
    assert_int_equal(nl_builder_str(&builder).length, 65);
    nl_builder_clear(&builder);
    assert_false(nl_builder_failed(&builder));
    assert_string_equal(nl_builder_c(&builder), "");
    nl_append_int(&builder, INT64_MIN);
    nl_append_f(&builder, " %s %d", "a", 5);
    nl_append_code_point(&builder, 0x20AC);
    assert_string_equal(nl_builder_c(&builder), "-9223372036854775808 a 5\xe2\x82\xac");
    nl_append_f(&builder, "%60s", "too long");
    assert_true(nl_builder_failed(&builder));
    nl_builder_fini(&builder);
}

static void test_a_builder_refuses_impossible_sizes(void **state)
{
    (void)state;
    nl_builder builder;
    nl_builder_init(&builder, SIZE_MAX);
    nl_append_fill(&builder, 'x', SIZE_MAX);
    assert_true(nl_builder_failed(&builder));
    nl_builder_fini(&builder);
}

static void test_repeated_text_is_whole_or_refused_at_once(void **state)
{
    (void)state;
    nl_builder text;
    nl_builder_init(&text, 100);
    nl_append_c(&text, "x");
    nl_append_repeated(&text, NL_STR("abc"), 7);
    nl_append_repeated(&text, NL_STR("abc"), 0);
    nl_append_repeated(&text, NL_STR(""), SIZE_MAX);
    assert_true(nl_str_is(nl_builder_str(&text), "xabcabcabcabcabcabcabc"));
    nl_append_repeated(&text, NL_STR("abc"), SIZE_MAX / 2); /* the product wraps */
    assert_true(nl_builder_failed(&text));
    nl_builder_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_repeated_text_is_whole_or_refused_at_once),
        cmocka_unit_test(test_comparing_goes_by_bytes_then_length),
        cmocka_unit_test(test_prefixes_and_suffixes),
        cmocka_unit_test(test_finding),
        cmocka_unit_test(test_finding_in_long_texts_agrees_with_memmem),
        cmocka_unit_test(test_slices_are_clamped),
        cmocka_unit_test(test_trimming_takes_ascii_white_space),
        cmocka_unit_test(test_parts_keep_empty_ones_in_the_middle),
        cmocka_unit_test(test_utf8_is_strict),
        cmocka_unit_test(test_every_code_point_survives_encoding),
        cmocka_unit_test(test_decoding_bad_bytes_gives_the_replacement_and_goes_on),
        cmocka_unit_test(test_a_builder_grows_to_its_limit_and_no_further),
        cmocka_unit_test(test_a_builder_refuses_impossible_sizes),
    };
    return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
