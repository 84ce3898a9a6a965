#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "base/text_width.h"

static void test_widths_follow_their_rule(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t spark, terminal;
    } rows[] = {
        {"", 0, 0},        {"abc", 3, 3},      {"é", 1, 1},           {"漢字", 4, 4},     {"ｆｕｌｌ", 8, 8},
        {"e\u0301", 2, 1}, {"\u200b", 1, 0},   {"😀", 2, 2},           {"\xff", 1, 1},     {"한글", 4, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(nl_text_width(nl_str_from(rows[i].text), NL_WIDTH_SPARK), rows[i].spark);
        assert_int_equal(nl_text_width(nl_str_from(rows[i].text), NL_WIDTH_TERMINAL), rows[i].terminal);
    }
}

static void expect_cut(const char *text, uint32_t width, const char *expected)
{
    const nl_str cut = nl_text_cut(nl_str_from(text), width, NL_WIDTH_TERMINAL);
    assert_true(nl_str_is(cut, expected));
}

static void test_cutting_keeps_characters_whole(void **state)
{
    (void)state;
    expect_cut("abcdef", 3, "abc");
    expect_cut("abc", 3, "abc");
    expect_cut("漢字", 3, "漢");
    expect_cut("e\u0301x", 1, "e\u0301");
    expect_cut("abc", 0, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widths_follow_their_rule),
        cmocka_unit_test(test_cutting_keeps_characters_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
