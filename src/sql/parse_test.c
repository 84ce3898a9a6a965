/* sql/parse_test.c - statements against the answers recorded from Spark 4.0.1: what it accepts (and that it prints to
 * text that parses the same), where it sees syntax errors and how it words them, what it refuses behind the grammar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/limits.h"
#include "sql/parser.h"
#include "sql/printer.h"
#include "sql/token.h"

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

/* The statement printed into *out, or a failed test. */
static void print_parsed(nl_str text, const nl_sql_options *options, nl_builder *out)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, text, options, &statement);
    if (status) fail_msg("%.*s\n%s", (int)text.length, text.data, nl_error_message(status));
    nl_builder_init(out, NL_SQL_TEXT_BYTES_MAX);
    nl_sql_print(out, statement);
    nl_arena_free(arena);
}

/* Parsing what was printed prints it again. */
static void check_accepted(const char *text, const char *printed, const nl_sql_options *options)
{
    nl_builder first;
    nl_builder second;
    print_parsed(nl_str_from(text), options, &first);
    print_parsed(nl_builder_str(&first), options, &second);
    if (printed) assert_string_equal(nl_builder_c(&first), *printed ? printed : text);
    assert_string_equal(nl_builder_c(&second), nl_builder_c(&first));
    nl_builder_fini(&first);
    nl_builder_fini(&second);
}

static nl_status parse_wrong(const char *text, const nl_sql_options *options)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, nl_str_from(text), options, &statement);
    nl_arena_free(arena);
    if (!status) fail_msg("was accepted: %s", text);
    return status;
}

static void check_syntax(const char *text, const nl_sql_options *options, const char *error, const char *hint, uint32_t line,
                         uint32_t position)
{
    nl_status status = parse_wrong(text, options);
    if (nl_error_condition(status) != NL_COND_PARSE_SYNTAX_ERROR) fail_msg("%s\n%s", text, nl_error_message(status));
    const nl_query_context *context = nl_error_context(status);
    char expected[512];
    char actual[512];
    snprintf(expected, sizeof(expected), "%s%s @%u:%u %s", error, hint, line, position, text);
    snprintf(actual, sizeof(actual), "%s%s @%u:%u %s", nl_error_param(status, "error"), nl_error_param(status, "hint"),
             context->line, context->position, text);
    assert_string_equal(actual, expected);
    assert_string_equal(nl_condition_sqlstate(nl_error_condition(status)), "42601");
    nl_error_free(status);
}

/* Messages begin and end with line breaks that say nothing. */
static nl_str trimmed(const char *message)
{
    nl_str text = nl_str_from(message);
    while (text.length > 0 && text.data[0] == '\n') text = nl_str_slice(text, 1, text.length);
    while (text.length > 0 && text.data[text.length - 1] == '\n') text.length--;
    return text;
}

static void check_refused(const char *text, const nl_sql_options *options, nl_condition condition, const char *message)
{
    nl_status status = parse_wrong(text, options);
    nl_str actual = trimmed(nl_error_message(status));
    if (nl_error_condition(status) != condition || !nl_str_equal(actual, trimmed(message)))
        fail_msg("%s\n--- Spark\n%s\n--- here\n%.*s", text, message, (int)actual.length, actual.data);
    nl_error_free(status);
}

/* ---- recorded answers --------------------------------------------------------------------------------------------- */

static void test_what_spark_accepts_is_read_and_printed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *printed;
    } rows[] = {
#define ACCEPTED(text, printed) {text, printed},
#include "sql/parse_accepted_queries.def"
#include "sql/parse_accepted_statements.def"
#undef ACCEPTED
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) check_accepted(rows[i].text, rows[i].printed, NULL);
}

static void test_syntax_errors_have_spark_s_place_and_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *error;
        const char *hint;
        uint32_t line;
        uint32_t position;
    } rows[] = {
#define SYNTAX(text, error, hint, line, position) {text, error, hint, line, position},
#include "sql/parse_syntax_queries.def"
#include "sql/parse_syntax_statements.def"
#undef SYNTAX
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        check_syntax(rows[i].text, NULL, rows[i].error, rows[i].hint, rows[i].line, rows[i].position);
}

static void test_refusals_have_spark_s_condition_and_message(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        nl_condition condition;
        const char *message;
    } rows[] = {
#define REFUSED(text, condition, message) {text, NL_COND_##condition, message},
#include "sql/parse_refused.def"
#undef REFUSED
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) check_refused(rows[i].text, NULL, rows[i].condition, rows[i].message);
}

static void test_the_whole_message_of_a_syntax_error(void **state)
{
    (void)state;
    check_refused("SELECT a\n  FROM (t", NULL, NL_COND_PARSE_SYNTAX_ERROR,
                  "[PARSE_SYNTAX_ERROR] Syntax error at or near end of input: missing ')'. SQLSTATE: 42601 (line 2, pos 9)\n\n"
                  "== SQL ==\nSELECT a\n  FROM (t\n---------^^^");
    check_refused("SELECT 1 + \n\n* 2 2", NULL, NL_COND_PARSE_SYNTAX_ERROR,
                  "[PARSE_SYNTAX_ERROR] Syntax error at or near '2'. SQLSTATE: 42601 (line 3, pos 2)\n\n"
                  "== SQL ==\nSELECT 1 + \n\n* 2 2\n--^^^");
    check_refused("", NULL, NL_COND_PARSE_EMPTY_STATEMENT,
                  "[PARSE_EMPTY_STATEMENT] Syntax error, unexpected empty statement. SQLSTATE: 42617 (line 1, pos 0)\n\n"
                  "== SQL ==\n\n^^^");
}

/* ---- keywords as names ---------------------------------------------------------------------------------------------- */

/* Every keyword at @ makes a statement that Spark accepts. */
static const char *const keyword_places[] = {
    "SELECT @ FROM t",
    "SELECT a AS @ FROM t",
    "SELECT a @",
    "SELECT t.@ FROM t",
    "SELECT @.a FROM @",
    "SELECT * FROM a.@.b",
    "ALTER TABLE t ADD COLUMN @ int",
    "SELECT @(a, b) FROM t",
    "SELECT f(@) FROM t",
    "WITH @ (@) AS (SELECT 1) SELECT * FROM @",
    "INSERT INTO @ VALUES (1)",
    "INSERT INTO t (@) VALUES (1)",
    "DROP TABLE @",
    "SELECT a FROM t ORDER BY @",
    "SELECT a FROM t WHERE @ = 1",
    "SELECT a FROM t WHERE a = @ AND b",
    "SELECT 1 + @",
    "SELECT a, @, b FROM t",
    "UPDATE t SET @ = 1",
    "DELETE FROM @ WHERE a = 1",
    "SELECT sum(a) OVER @ FROM t WINDOW @ AS (PARTITION BY a)",
    "SELECT a[@] FROM t",
    "SELECT @ IS NULL",
    "SELECT a BETWEEN @ AND @",
    "SELECT a IN (@, 1)",
    "SELECT * FROM t LATERAL VIEW explode(a) @ AS @",
    "SELECT @ -> @",
    "SELECT f(@ => 1)",
    "SELECT struct(a AS @)",
    "SELECT -@",
    "SELECT a FROM t GROUP BY @",
    "SELECT a FROM t LIMIT @",
    "SELECT * FROM t PIVOT (sum(@) AS @ FOR @ IN (1 AS @))",
    "SELECT :@",
    "MERGE INTO @ USING u ON @.a = u.a WHEN MATCHED THEN UPDATE SET @ = u.@",
    "CREATE VIEW @ (@) AS SELECT 1",
    "SELECT @, @",
    "SELECT @::int",
    "SHOW TABLES IN @",
    "USE @",
    "DESCRIBE @",
    "CACHE TABLE @",
    "CALL @.@(@ => 1)",
    "ALTER TABLE @ RENAME TO @",
    "ALTER TABLE t RENAME COLUMN @ TO @",
    "SELECT a FROM t JOIN u USING (@)",
    "SELECT a FROM t UNION SELECT @ FROM @",
    "SET VAR @ = 1",
};

static void put_word(nl_builder *out, const char *place, nl_str word)
{
    nl_builder_init(out, NL_SQL_TEXT_BYTES_MAX);
    for (const char *c = place; *c; c++) {
        if (*c == '@')
            nl_append(out, word);
        else
            nl_append_char(out, *c);
    }
}

/* Words that name no relation's alias: the place of JOIN's own words in keywords.def. */
static void check_table_alias(nl_str word, nl_token_kind kind)
{
    nl_builder text;
    put_word(&text, "SELECT * FROM t AS @", word);
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, nl_builder_str(&text), NULL, &statement);
    assert_int_equal(status == NULL, !nl_token_is_join_word(kind));
    nl_error_free(status);
    nl_arena_free(arena);
    nl_builder_fini(&text);
}

static void test_every_keyword_may_be_a_name(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < nl_keyword_count(); i++) {
        nl_token_kind kind;
        nl_str word = nl_keyword_at(i, &kind);
        for (size_t j = 0; j < NL_COUNT(keyword_places); j++) {
            nl_builder text;
            put_word(&text, keyword_places[j], word);
            check_accepted(nl_builder_c(&text), NULL, NULL);
            nl_builder_fini(&text);
        }
        check_table_alias(word, kind);
    }
}

static void test_enforced_keywords_are_no_names(void **state)
{
    (void)state;
    static const nl_sql_options enforced = {.is_ansi_reserved = true};
    static const char *const good[] = {
        "SELECT CASE WHEN a THEN b END FROM t",
        "SELECT a LIKE ANY ('a', 'b'), a ILIKE ALL (b)",
        "SELECT a FROM t LIMIT ALL OFFSET 1",
        "SELECT a AS b FROM t semi LEFT JOIN u anti ON a = b",
        "SELECT left(a, 1), right(b, 1), filter(c, x -> x), current_date, current_user, cast(a AS int)",
        "SELECT NOT a, a IS NOT NULL, NULL, TRUE, interval 1 day, `select`",
        "SELECT date '2020-01-01', timestamp '2020-01-01'",
        "SELECT year, day, date, version, table_name FROM values",
    };
    for (size_t i = 0; i < NL_COUNT(good); i++) check_accepted(good[i], NULL, &enforced);
    check_syntax("SELECT select FROM t", &enforced, "'select'", "", 1, 7);
    check_syntax("SELECT a AS from FROM t", &enforced, "'AS'", "", 1, 9);
    check_syntax("SELECT * FROM user", &enforced, "'user'", "", 1, 14);
    check_syntax("CREATE TABLE table (a int)", &enforced, "'table'", "", 1, 13);
}

/* Whatever the options were, the printed text is for the default ones. */
static void check_printed(const char *text, const nl_sql_options *options, const char *printed)
{
    nl_builder out;
    print_parsed(nl_str_from(text), options, &out);
    assert_string_equal(nl_builder_c(&out), printed);
    check_accepted(nl_builder_c(&out), NULL, NULL);
    nl_builder_fini(&out);
}

static void test_options_of_the_language(void **state)
{
    (void)state;
    static const nl_sql_options identifiers = {.is_double_quote_identifier = true};
    static const nl_sql_options escapes = {.is_escape_off = true};
    static const nl_sql_options setops = {.is_legacy_setops = true};
    static const nl_sql_options exponents = {.is_exponent_decimal = true};
    check_printed("SELECT \"a b\" FROM \"t\"", &identifiers, "SELECT `a b` FROM `t`");
    check_printed("SELECT \"a b\"", NULL, "SELECT 'a b'");
    check_printed("SELECT 'a\\nb'", &escapes, "SELECT 'a\\\\nb'");
    check_printed("SELECT 1 UNION SELECT 2 INTERSECT SELECT 3", &setops, "(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3");
    check_printed("SELECT 1e2, 1.5e-3", &exponents, "SELECT 1e2BD, 1.5e-3BD");
}

/* ---- limits ---------------------------------------------------------------------------------------------------------- */

static void repeat(nl_builder *out, const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) nl_append_c(out, text);
}

static void check_condition(nl_builder *text, nl_condition condition)
{
    nl_status status = parse_wrong(nl_builder_c(text), NULL);
    assert_string_equal(nl_condition_name(nl_error_condition(status)), nl_condition_name(condition));
    nl_error_free(status);
    nl_builder_fini(text);
}

/* What may nest: prefix, inner, suffix. */
static const char *const nestings[][3] = {
    {"(", "1", ")"},
    {"f(", "1", ")"},
    {"NOT ", "a", ""},
    {"- ", "a", ""},
    {"CASE WHEN ", "a", " THEN 1 END"},
    {"(SELECT ", "1", ")"},
    {"(SELECT * FROM ", "t", ")"},
    {"x -> ", "x", ""},
    {"a[", "1", "]"},
    {"EXISTS (SELECT ", "1", ")"},
    {"struct(", "1", ")"},
    {"cast(", "1", " AS int)"},
    {"a IN (", "1", ")"},
    {"", "a", ".b"},
    {"", "a", "[1]"},
    {"", "a", "::int"},
    {"", "1", " + 1"},
};

static void test_deep_nesting_is_refused_and_not_followed(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(nestings); i++) {
        for (uint32_t depth = NL_EXPRESSION_DEPTH_MAX + 1; depth <= 100000; depth *= 10) {
            nl_builder text;
            nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
            nl_append_c(&text, "SELECT ");
            repeat(&text, nestings[i][0], depth);
            nl_append_c(&text, nestings[i][1]);
            repeat(&text, nestings[i][2], depth);
            bool is_name = nestings[i][2][0] == '.'; /* parts of a name are no levels */
            if (is_name)
                nl_builder_fini(&text);
            else
                check_condition(&text, NL_COND_FAILED_TO_PARSE_TOO_COMPLEX);
        }
    }
}

static void test_a_hundred_levels_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(nestings); i++) {
        nl_builder text;
        nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
        nl_append_c(&text, "SELECT ");
        repeat(&text, nestings[i][0], 100);
        nl_append_c(&text, nestings[i][1]);
        repeat(&text, nestings[i][2], 100);
        check_accepted(nl_builder_c(&text), NULL, NULL);
        nl_builder_fini(&text);
    }
}

static void test_types_nest_as_deep_as_expressions(void **state)
{
    (void)state;
    nl_builder text;
    nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
    nl_append_c(&text, "CREATE TABLE t (a ");
    repeat(&text, "array<", 2000);
    nl_append_c(&text, "int");
    repeat(&text, ">", 2000);
    nl_append_c(&text, ")");
    check_condition(&text, NL_COND_FAILED_TO_PARSE_TOO_COMPLEX);
}

static void test_a_text_over_the_limit_is_refused(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    size_t length = (size_t)NL_SQL_TEXT_BYTES_MAX + 1;
    char *text = test_malloc(length);
    memset(text, ' ', length);
    memcpy(text, "SELECT 1", 8);
    nl_ast_statement *statement = NULL;
    nl_status status = nl_sql_parse(arena, (nl_str){text, length}, NULL, &statement);
    assert_non_null(status);
    nl_error_free(status);
    assert_null(nl_sql_parse(arena, (nl_str){text, length - 1}, NULL, &statement));
    test_free(text);
    nl_arena_free(arena);
}

/* Long texts of one kind of element: with anything quadratic in it this test runs into its time limit. */
static void test_long_statements_take_linear_time(void **state)
{
    (void)state;
    static const struct {
        const char *head;
        const char *element;
        const char *tail;
    } rows[] = {
        {"SELECT 1", ", a + 1 AS b", " FROM t"},
        {"SELECT a", " OR a = 1 AND b", ""},
        {"SELECT 'a'", " 'b'", ""},
        {"SELECT a.b", ".c", ""},
        {"SELECT a IN (1", ", 2", ")"},
        {"SELECT f(1", ", x -> x", ")"},
        {"VALUES (1)", ", (2)", ""},
        {"WITH a AS (SELECT 1)", ", `b` AS (SELECT 2)", " SELECT 3"},
        {"CREATE TABLE t (a int", ", b array<int> COMMENT 'x'", ")"},
        {"CREATE TABLE t (a int) TBLPROPERTIES ('a'='b'", ", 'c'='d'", ")"},
        {"INSERT INTO t VALUES (1)", ", (2)", ""},
        {"ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS a", ", b", ""},
        {"SELECT /*", "*/ /*", "*/ 1"},
        {"SELECT /*", " /* */", "*/ 1"},
        {"SELECT --", "\n--", "\n1"},
        {"SELECT 1", "\n", ""},
        {"SELECT CASE", " WHEN a THEN b", " END"},
        {"SELECT a FROM t GROUP BY a", ", b", ""},
        {"SELECT a FROM t ORDER BY a", ", b DESC", ""},
        {"SELECT a FROM t WHERE (b", ", c", ") = 1"},
        {"SET x=", "a;", ""},
        {"", ";", ""},
        {"SELECT 1", ";", ""},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_builder text;
        nl_builder_init(&text, NL_SQL_TEXT_BYTES_MAX);
        nl_append_c(&text, rows[i].head);
        while (text.length < 1u << 20) nl_append_c(&text, rows[i].element);
        nl_append_c(&text, rows[i].tail);
        nl_arena *arena = nl_arena_new(NULL);
        nl_ast_statement *statement = NULL;
        nl_error_free(nl_sql_parse(arena, nl_builder_str(&text), NULL, &statement));
        nl_arena_free(arena);
        nl_builder_fini(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_spark_accepts_is_read_and_printed),
        cmocka_unit_test(test_syntax_errors_have_spark_s_place_and_words),
        cmocka_unit_test(test_refusals_have_spark_s_condition_and_message),
        cmocka_unit_test(test_the_whole_message_of_a_syntax_error),
        cmocka_unit_test(test_every_keyword_may_be_a_name),
        cmocka_unit_test(test_enforced_keywords_are_no_names),
        cmocka_unit_test(test_options_of_the_language),
        cmocka_unit_test(test_deep_nesting_is_refused_and_not_followed),
        cmocka_unit_test(test_a_hundred_levels_are_read),
        cmocka_unit_test(test_types_nest_as_deep_as_expressions),
        cmocka_unit_test(test_a_text_over_the_limit_is_refused),
        cmocka_unit_test(test_long_statements_take_linear_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
