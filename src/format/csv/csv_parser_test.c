/* Expected values: Spark 4.0.1 reading a file with these lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/csv/csv_parser.h"

typedef struct row {
    const char *line;
    const char *expected; /* values with bars between, ~ for null */
    nl_text_option options[3];
} row;

#define OPTION(k, v) {NL_STR_INIT(k), NL_STR_INIT(v)}
#define NONE {.key = {NULL, 0}}
#define BLANKS OPTION("ignoreLeadingWhiteSpace", "true"), OPTION("ignoreTrailingWhiteSpace", "true")

static const row rows[] = {
    {"a,b,c", "a|b|c", {NONE}},
    {"\"a\",\"b\"", "a|b", {NONE}},
    {"\"a\"\"b\",c", "\"a\"\"b\"|c", {NONE}},
    {"\"a\\\"b\",c", "a\"b|c", {NONE}},
    {"\"a\\\\\",c", "a\\|c", {NONE}},
    {"\"a\\\\b\",c", "a\\b|c", {NONE}},
    {"\"a\\nb\",c", "a\\nb|c", {NONE}},
    {"a\\\"b,c", "a\\\"b|c", {NONE}},
    {"a\\,b", "a\\|b", {NONE}},
    {"a\"b,c", "a\"b|c", {NONE}},
    {"a\"b\"c,d", "a\"b\"c|d", {NONE}},
    {"\"a\"b,c", "\"a\"b|c", {NONE}},
    {"\"a\"b\",c", "\"a\"b\"|c", {NONE}},
    {"\"a\" ,c", "a|c", {NONE}},
    {" \"a\" ,c", " \"a\" |c", {NONE}},
    {" \"a\",c", "a|c", {OPTION("ignoreLeadingWhiteSpace", "true")}},
    {"\"abc,d", "abc,d", {NONE}},
    {"\"abc", "abc", {NONE}},
    {"\"", "\"", {NONE}},
    {"a,\"", "a|\"", {NONE}},
    {"\"a,b\"c,d", "\"a,b\"c|d", {NONE}},
    {"\"a\"b,c\"d,e", "\"a\"b|c\"d|e", {NONE}},
    {"\"\",a", "~|a", {NONE}},
    {",a", "~|a", {NONE}},
    {",", "~|~", {NONE}},
    {"\" \",a", " |a", {NONE}},
    {" a , b ", " a | b ", {NONE}},
    {" a , b ", "a|b", {BLANKS}},
    {"\" a \",\" b \"", " a | b ", {BLANKS}},
    {"\ta\t,\tb\t", "a|b", {BLANKS}},
    {"a||b||\"c||d\"", "a|b|c||d", {OPTION("sep", "||")}},
    {"a--b-c--d", "a|b-c|d", {OPTION("sep", "--")}},
    {"a\tb", "a|b", {OPTION("sep", "\\t")}},
    {"a'b','c", "a'b'|c", {OPTION("quote", "'")}},
    {"\"a,b\",c", "\"a|b\"|c", {OPTION("quote", "")}},
    {"\"a$\"b\",c", "a\"b|c", {OPTION("escape", "$")}},
    {"\"a\"\"b\",c", "a\"b|c", {OPTION("escape", "\"")}},
    {"\"a\"b\",c", "\"a\"b\"|c", {OPTION("escape", "\"")}},
    {"null,NULL,a", "~|NULL|a", {OPTION("nullValue", "null")}},
    {"\"null\",a", "~|a", {OPTION("nullValue", "null")}},
    {"\"\",,a", "|~|a", {OPTION("nullValue", "x")}},
    {"\"\",,a", "E|~|a", {OPTION("emptyValue", "E")}},
    {"\"a\\\"b\"c,d", "\"a\"b\"c|d", {NONE}},
    {"\"a\\\\\"b,c", "\"a\\\"b|c", {NONE}},
    {"\"a\\\"", "a\"", {NONE}},
    {"\"a\\", "a", {NONE}},
    {"\"a\" b,c", "\"a\" b|c", {NONE}},
    {"\"a\"  \"b\",c", "\"a\"  \"b\"|c", {NONE}},
    {"\"\"a,b", "\"\"a|b", {NONE}},
    {"\"\"\"a\",b", "\"\"\"a\"|b", {NONE}},
    {"\"\"\"", "\"", {NONE}},
    {"\"\"\"\"", "\"\"", {NONE}},
    {"\"\" ,b", "~|b", {NONE}},
    {"\"\"  x,b", "\"\"  x|b", {NONE}},
    {"\"a\"b,\"c\",d", "\"a\"b|c|d", {NONE}},
    {"\"a\"b\"c,d\",e", "\"a\"b\"c|d\"|e", {NONE}},
    {"\"a\\xb\",c", "a\\xb|c", {NONE}},
    {"\"\\\"\",c", "\"|c", {NONE}},
    {"\"\\\\\\\"\",c", "\\\"|c", {NONE}},
    {"\"a\tb\" \t,c", "a\tb|c", {NONE}},
    {"\"a\",", "a|~", {NONE}},
    {"\"a\",\"b", "a|b", {NONE}},
    {"\"a\"b", "\"a\"b", {NONE}},
    {"\"a\"b\"", "\"a\"b\"", {NONE}},
    {"\"a\"\"", "a\"", {NONE}},
    {"\"a\"b\\\"c,d", "\"a\"b\\\"c|d", {NONE}},
    {"\"a\"b \"c\" ,d", "\"a\"b \"c\" |d", {NONE}},
    {"\"\"\"\"", "\"", {OPTION("escape", "\"")}},
    {"\"a\"\"", "a\"", {OPTION("escape", "\"")}},
    {"\"a\"\",b", "a\",b", {OPTION("escape", "\"")}},
    {"\"a\"\"\" ,b", "a\"|b", {OPTION("escape", "\"")}},
    {"\"a\"\"b\"c\"\",d", "\"a\"b\"c\"\"|d", {OPTION("escape", "\"")}},
    {"\"\"\"a\"\"\",b", "\"a\"|b", {OPTION("escape", "\"")}},
    {"a\"\"b,c", "a\"\"b|c", {OPTION("escape", "\"")}},
    {"\"a$$\",b", "a$|b", {OPTION("escape", "$")}},
    {"\"a$$$\"b\",c", "a$\"b|c", {OPTION("escape", "$")}},
    {"\"a#\\\",c", "a\\|c", {OPTION("charToEscapeQuoteEscaping", "#")}},
    {"\"a\\\\\",c", "a\\\",c", {OPTION("charToEscapeQuoteEscaping", "\\u0000")}},
    {"\"a\"b,c", "a\"b,c", {OPTION("unescapedQuoteHandling", "STOP_AT_CLOSING_QUOTE")}},
    {"\"a\"b\",c", "a\"b|c", {OPTION("unescapedQuoteHandling", "STOP_AT_CLOSING_QUOTE")}},
    {"\"a\"b,c", "~|c", {OPTION("unescapedQuoteHandling", "SKIP_VALUE")}},
    {"  \"a\"b ,c", "\"a\"b|c", {BLANKS}},
    {"\"a  ,c", "a  ,c", {OPTION("ignoreTrailingWhiteSpace", "true")}},
    {"   ,b", "~|b", {OPTION("ignoreLeadingWhiteSpace", "true")}},
    {"   ,b", "   |b", {NONE}},
    {" , ", "~|~", {BLANKS}},
};

static nl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_arena_free(arena);
    return 0;
}

static nl_csv_options options_of(const nl_text_option *options)
{
    nl_csv_options parsed;
    nl_text_option_list list = {.items = options};
    while (list.count < 3 && options[list.count].key.length)
        list.count++;
    nl_status status = nl_csv_options_parse(list, &(nl_text_session){0}, NL_TEXT_READ, arena, &parsed);
    if (status) fail_msg("%s", nl_error_message(status));
    return parsed;
}

static void append_values(const nl_csv_parser *parser, nl_builder *out)
{
    for (uint32_t i = 0; i < parser->token_count; i++) {
        nl_str value;
        if (i) nl_append_char(out, '|');
        nl_append(out, nl_csv_token_value(parser, i, &value) ? value : NL_STR("~"));
    }
}

static void test_lines_are_split_as_spark_splits_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_csv_options options = options_of(rows[i].options);
        nl_csv_parser parser;
        nl_builder out;
        nl_csv_parser_init(&parser, &options);
        nl_builder_init(&out, 1000);
        assert_null(nl_csv_parse(&parser, nl_str_from(rows[i].line), UINT32_MAX));
        append_values(&parser, &out);
        const char *got = out.length ? nl_builder_c(&out) : "";
        if (strcmp(got, rows[i].expected) != 0) fail_msg("%s: %s, not %s", rows[i].line, got, rows[i].expected);
        nl_builder_fini(&out);
        nl_csv_parser_fini(&parser);
    }
}

typedef struct line_list {
    const char *const *lines;
    uint32_t at;
} line_list;

static nl_status give_line(void *argument, nl_str *line, bool *is_done)
{
    line_list *list = argument;
    *is_done = list->lines[list->at] == NULL;
    if (!*is_done) *line = nl_str_from(list->lines[list->at++]);
    return NULL;
}

static void assert_multi_line(const char *const *lines, const char *expected, uint32_t lines_used)
{
    nl_csv_options options = options_of((nl_text_option[3]){NONE});
    line_list list = {lines, 1};
    nl_csv_parser parser;
    nl_builder out;
    nl_csv_parser_init(&parser, &options);
    nl_builder_init(&out, 1000);
    parser.next_line = give_line;
    parser.argument = &list;
    assert_null(nl_csv_parse(&parser, nl_str_from(lines[0]), UINT32_MAX));
    append_values(&parser, &out);
    assert_string_equal(nl_builder_c(&out), expected);
    assert_int_equal(list.at, lines_used);
    nl_builder_fini(&out);
    nl_csv_parser_fini(&parser);
}

static void test_quoted_values_may_go_over_lines(void **state)
{
    (void)state;
    assert_multi_line((const char *const[]){"\"a", "b\",c", "d", NULL}, "a\nb|c", 2);
    assert_multi_line((const char *const[]){"x,\"a", "", "\\\"b\"", NULL}, "x|a\n\n\"b", 3);
    assert_multi_line((const char *const[]){"\"abc,d", "x,y", NULL}, "abc,d\nx,y\n", 2);
    assert_multi_line((const char *const[]){"a,b", "c", NULL}, "a|b", 1);
}

static void test_limits_are_kept(void **state)
{
    (void)state;
    nl_csv_options options = options_of((nl_text_option[3]){OPTION("maxColumns", "2"), OPTION("maxCharsPerColumn", "3")});
    nl_csv_parser parser;
    nl_csv_parser_init(&parser, &options);
    assert_null(nl_csv_parse(&parser, NL_STR("abc,d"), UINT32_MAX));
    const char *const bad[] = {"a,b,c", "abcd", "\"abcd\""};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_status status = nl_csv_parse(&parser, nl_str_from(bad[i]), UINT32_MAX);
        assert_non_null(status);
        nl_error_free(status);
    }
    assert_null(nl_csv_parse(&parser, NL_STR("a,b,c,d"), 1)); /* only what is asked for is looked at */
    nl_csv_parser_fini(&parser);
}

static void test_blank_lines_and_comments_are_no_records(void **state)
{
    (void)state;
    nl_csv_options options = options_of((nl_text_option[3]){OPTION("comment", "#")});
    assert_true(nl_csv_is_skipped(&options, NL_STR("")));
    assert_true(nl_csv_is_skipped(&options, NL_STR(" \t")));
    assert_true(nl_csv_is_skipped(&options, NL_STR("#a,b")));
    assert_false(nl_csv_is_skipped(&options, NL_STR(" #a")));
    assert_false(nl_csv_is_skipped(&options, NL_STR("\"\"")));
}

static void test_bad_options_are_refused(void **state)
{
    (void)state;
    const struct {
        nl_text_option option;
        nl_condition condition;
    } bad[] = {
        {OPTION("sep", ""), NL_COND_INVALID_DELIMITER_VALUE__EMPTY_STRING},
        {OPTION("sep", "\\"), NL_COND_INVALID_DELIMITER_VALUE__SINGLE_BACKSLASH},
        {OPTION("sep", "\\u0001"), NL_COND_INVALID_DELIMITER_VALUE__UNSUPPORTED_SPECIAL_CHARACTER},
        {OPTION("quote", "ab"), NL_COND_NILAS_ILLEGAL_ARGUMENT},
        {OPTION("header", "maybe"), NL_COND_NILAS_ILLEGAL_ARGUMENT},
        {OPTION("maxColumns", "x"), NL_COND_NILAS_ILLEGAL_ARGUMENT},
        {OPTION("encoding", "nope"), NL_COND_INVALID_PARAMETER_VALUE__CHARSET},
        {OPTION("dateFormat", "e"), NL_COND_INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_WEEK_BASED_PATTERN},
        {OPTION("timeZone", "Nowhere/At_All"), NL_COND_INVALID_TIMEZONE},
        {OPTION("unescapedQuoteHandling", "BACK_TO_DELIMITER"), NL_COND_NILAS_UNSUPPORTED},
        {OPTION("locale", "de"), NL_COND_NILAS_UNSUPPORTED},
    };
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_csv_options parsed;
        nl_text_option_list list = {&bad[i].option, 1};
        nl_status status = nl_csv_options_parse(list, &(nl_text_session){0}, NL_TEXT_READ, arena, &parsed);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), bad[i].condition);
        nl_error_free(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lines_are_split_as_spark_splits_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_quoted_values_may_go_over_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_are_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blank_lines_and_comments_are_no_records, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_options_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
