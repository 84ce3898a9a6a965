/* sql/lexer_test.c - tokens, keywords, what the lexer keeps together and what it takes apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sql/token.h"

/* The kinds of a text's tokens: words as W, `w` as B, strings S, "s" D, numbers by their suffix, signs and keywords as
 * they are, everything else as !. */
static void kinds_of(const nl_tokens *tokens, char *out, size_t size)
{
    static const struct {
        uint16_t kind;
        const char *shown;
    } names[] = {
        {NL_T_IDENTIFIER_WORD, "W"}, {NL_T_BACKQUOTED, "B"},       {NL_T_STRING_LITERAL, "S"},  {NL_T_DOUBLE_QUOTED, "D"},
        {NL_T_INTEGER_VALUE, "1"},   {NL_T_TINYINT_LITERAL, "1Y"}, {NL_T_SMALLINT_LITERAL, "1S"}, {NL_T_BIGINT_LITERAL, "1L"},
        {NL_T_EXPONENT, "1e1"},      {NL_T_DECIMAL_VALUE, "1.1"},  {NL_T_FLOAT_LITERAL, "1F"},  {NL_T_DOUBLE_LITERAL, "1D"},
        {NL_T_BIGDECIMAL_LITERAL, "1BD"},                          {NL_T_UNRECOGNIZED, "!"},
    };
    size_t length = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i + 1 < tokens->count && length + 1 < size; i++) {
        nl_token_kind kind = (nl_token_kind)tokens->items[i].kind;
        const char *shown = nl_token_text(kind);
        for (size_t j = 0; j < NL_COUNT(names); j++)
            if (names[j].kind == kind) shown = names[j].shown;
        length += (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? " " : "", shown);
    }
}

static void check_tokens(const char *text, const char *expected)
{
    nl_tokens tokens = {0};
    assert_null(nl_lex(nl_str_from(text), &tokens));
    assert_int_equal(tokens.items[tokens.count - 1].kind, NL_T_EOF);
    char actual[512];
    kinds_of(&tokens, actual, sizeof(actual));
    assert_string_equal(actual, expected);
    nl_tokens_free(&tokens);
}

static void test_numbers_carry_their_suffix(void **state)
{
    (void)state;
    check_tokens("1 1Y 1s 1L 1e5 1.5 1. .5 1F 1.5f 1D 1e5d 1BD 1.5bd", "1 1Y 1S 1L 1e1 1.1 1.1 1.1 1F 1F 1D 1D 1BD 1BD");
    check_tokens("1e400 1e-3 1E+3 00.1", "1e1 1e1 1e1 1.1");
    check_tokens("1a 1_000 1e 1LL", "W W W W");
    check_tokens("1..5 a.1 a.b", "1.1 1.1 W 1.1 W . W");
    check_tokens("1-1", "1 - 1");
}

static void test_quotes(void **state)
{
    (void)state;
    check_tokens("'a' \"b\" `c` r'd\\' R\"e\"", "S D B S S");
    check_tokens("'a\\'b' 'a''b' `a``b`", "S S S B");
    check_tokens("'a", "! W");
    check_tokens("x'1F' X 'a'", "X S X S");
}

static void test_comments_vanish_and_hints_stay(void **state)
{
    (void)state;
    check_tokens("1 -- a\n2", "1 1");
    check_tokens("1 -- a\\\nb\n2", "1 1");
    check_tokens("1 /* a /* b */ c */ 2", "1 1");
    check_tokens("/*+ A(b) */", "/*+ W ( W ) */");
    check_tokens("1 * / 2", "1 * / 1");
    nl_tokens tokens = {0};
    assert_null(nl_lex(NL_STR("SELECT /* a"), &tokens));
    assert_true(tokens.has_unclosed_comment);
    nl_tokens_free(&tokens);
}

static void test_the_longest_sign_wins(void **state)
{
    (void)state;
    check_tokens("<=> <= < << <> >= > >> >>> != ! == = => -> - || |> | :: :", "<=> <= < << <> >= > >> >>> != ! = = => -> - || |> | :: :");
    check_tokens("!< !>", ">= <=");
    check_tokens("$ #", "! !");
}

static void test_brackets_of_types_stay_apart(void **state)
{
    (void)state;
    check_tokens("array<array<int>>", "ARRAY < ARRAY < INT > >");
    check_tokens("8 >> 1", "1 >> 1");
    check_tokens("map<int,int> 8 >> 1", "MAP < INT , INT > 1 >> 1");
}

static void test_words(void **state)
{
    (void)state;
    check_tokens("select SeLeCt selec a_1 _a", "SELECT SELECT W W W");
    check_tokens("\xc3\xa9t\xc3\xa9 hdfs://a/b-c", "W W");
}

static void test_places_count_lines_and_characters(void **state)
{
    (void)state;
    nl_tokens tokens = {0};
    assert_null(nl_lex(NL_STR("a '\xc3\xa9' b\n\n  c\r\nd"), &tokens));
    static const uint32_t expected[][4] = {{0, 1, 1, 0}, {2, 6, 1, 2}, {7, 8, 1, 6}, {12, 13, 3, 2}, {15, 16, 4, 0}};
    for (size_t i = 0; i < NL_COUNT(expected); i++) {
        const nl_token *token = &tokens.items[i];
        const uint32_t actual[4] = {token->start, token->stop, token->line, token->position};
        assert_memory_equal(actual, expected[i], sizeof(actual));
    }
    nl_tokens_free(&tokens);
}

static void test_every_keyword_is_found_in_any_case(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < nl_keyword_count(); i++) {
        nl_token_kind kind;
        nl_str word = nl_keyword_at(i, &kind);
        char text[64];
        assert_in_range(word.length, 1, sizeof(text) - 2);
        for (size_t j = 0; j <= word.length; j++) text[j] = (char)tolower(word.data[j]);
        assert_int_equal(nl_keyword_find(word), kind);
        text[0] = (char)toupper(text[0]);
        assert_int_equal(nl_keyword_find((nl_str){text, word.length}), kind);
        text[word.length] = '_';
        assert_int_equal(nl_keyword_find((nl_str){text, word.length + 1}), NL_T_IDENTIFIER_WORD);
        assert_true(nl_token_is_keyword(kind));
    }
    assert_int_equal(nl_keyword_find(NL_STR("")), NL_T_IDENTIFIER_WORD);
    assert_int_equal(nl_keyword_find(NL_STR("a_word_that_is_longer_than_any_keyword")), NL_T_IDENTIFIER_WORD);
}

static void test_the_keywords_are_spark_s(void **state)
{
    (void)state;
    uint32_t reserved = 0;
    for (uint32_t i = 0; i < nl_keyword_count(); i++) {
        nl_token_kind kind;
        (void)nl_keyword_at(i, &kind);
        reserved += nl_token_is_ansi_reserved(kind);
    }
    assert_int_equal(nl_keyword_count(), 381);
    assert_int_equal(reserved, 77);
    assert_true(nl_token_is_ansi_reserved(NL_T_SELECT));
    assert_false(nl_token_is_ansi_reserved(NL_T_YEAR));
    assert_true(nl_token_is_join_word(NL_T_ANTI));
    assert_false(nl_token_is_join_word(NL_T_SELECT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_carry_their_suffix),
        cmocka_unit_test(test_quotes),
        cmocka_unit_test(test_comments_vanish_and_hints_stay),
        cmocka_unit_test(test_the_longest_sign_wins),
        cmocka_unit_test(test_brackets_of_types_stay_apart),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_places_count_lines_and_characters),
        cmocka_unit_test(test_every_keyword_is_found_in_any_case),
        cmocka_unit_test(test_the_keywords_are_spark_s),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
