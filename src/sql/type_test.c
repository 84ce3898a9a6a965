/* sql/type_test.c - types, schemas, names and expressions that come alone, with Spark's answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "sql/parser.h"
#include "sql/printer.h"

static nl_status parse_as_type(nl_arena *arena, const char *text, const nl_type **type)
{
    nl_ast_type *node = NULL;
    NL_TRY(nl_sql_parse_type(arena, nl_str_from(text), NULL, &node));
    return nl_ast_type_to_type(arena, node, type);
}

static void check_failure(nl_status status, const char *text, const char *condition, uint32_t position)
{
    if (!status) fail_msg("was accepted: %s", text);
    assert_string_equal(nl_condition_name(nl_error_condition(status)), condition);
    const nl_query_context *context = nl_error_context(status);
    if (context && context->line > 0) assert_int_equal(context->position, position);
    nl_error_free(status);
}

static void test_types_by_their_names(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"int", "int"},
        {"INTEGER", "int"},
        {"byte", "tinyint"},
        {"short", "smallint"},
        {"long", "bigint"},
        {"real", "float"},
        {"double", "double"},
        {"boolean", "boolean"},
        {"string", "string"},
        {"binary", "binary"},
        {"date", "date"},
        {"timestamp", "timestamp"},
        {"timestamp_ltz", "timestamp"},
        {"timestamp_ntz", "timestamp_ntz"},
        {"void", "void"},
        {"variant", "variant"},
        {"decimal", "decimal(10,0)"},
        {"dec(5)", "decimal(5,0)"},
        {"numeric(3, 3)", "decimal(3,3)"},
        {"char(5)", "char(5)"},
        {"character(3)", "char(3)"},
        {"varchar(5)", "varchar(5)"},
        {"interval", "interval"},
        {"interval year", "interval year"},
        {"interval year to month", "interval year to month"},
        {"interval day to second", "interval day to second"},
        {"interval hour to second", "interval hour to second"},
        {"array<int>", "array<int>"},
        {"array<array<int>>", "array<array<int>>"},
        {"ARRAY < INT >", "array<int>"},
        {"map<int, array<map<string,int>>>", "map<int,array<map<string,int>>>"},
        {"struct<a int>", "struct<a:int>"},
        {"struct<a:int,b:string not null comment 'x'>", "struct<a:int,b:string>"},
        {"struct<>", "struct<>"},
        {"struct<`a b` int, `c``d`: int>", "struct<a b:int,c`d:int>"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_type *type = NULL;
        nl_status status = parse_as_type(arena, rows[i][0], &type);
        if (status) fail_msg("%s: %s", rows[i][0], nl_error_message(status));
        assert_string_equal(nl_str_c(arena, nl_type_name(arena, type)), rows[i][1]);
        nl_arena_free(arena);
    }
}

static void test_what_is_no_type(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *condition;
        uint32_t position;
    } rows[] = {
        {"decimal(39)", "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION", 0},
        {"decimal(5,6)", "_LEGACY_ERROR_TEMP_1228", 0},
        {"decimal(1,2,3)", "UNSUPPORTED_DATATYPE", 0},
        {"decimal()", "PARSE_SYNTAX_ERROR", 7},
        {"decimal(-1)", "PARSE_SYNTAX_ERROR", 7},
        {"char", "DATATYPE_MISSING_SIZE", 0},
        {"varchar", "DATATYPE_MISSING_SIZE", 0},
        {"varchar(1,2)", "UNSUPPORTED_DATATYPE", 0},
        {"string(5)", "UNSUPPORTED_DATATYPE", 0},
        {"text", "UNSUPPORTED_DATATYPE", 0},
        {"int collate x", "PARSE_SYNTAX_ERROR", 4},
        {"struct", "INCOMPLETE_TYPE_DEFINITION.STRUCT", 0},
        {"array", "INCOMPLETE_TYPE_DEFINITION.ARRAY", 0},
        {"map", "INCOMPLETE_TYPE_DEFINITION.MAP", 0},
        {"interval second to day", "PARSE_SYNTAX_ERROR", 16},
        {"interval second to second", "INVALID_INTERVAL_FORMAT.UNSUPPORTED_FROM_TO_EXPRESSION", 0},
        {"interval day to month", "PARSE_SYNTAX_ERROR", 13},
        {"time", "UNSUPPORTED_DATATYPE", 0},
        {"`int`", "UNSUPPORTED_DATATYPE", 0},
        {"int not null", "PARSE_SYNTAX_ERROR", 4},
        {"array<int", "PARSE_SYNTAX_ERROR", 5},
        {"map<int>", "PARSE_SYNTAX_ERROR", 3},
        {"struct<a-b int>", "INVALID_IDENTIFIER", 8},
        {"struct<a.b int>", "PARSE_SYNTAX_ERROR", 6},
        {"float(3)", "UNSUPPORTED_DATATYPE", 0},
        {"", "PARSE_EMPTY_STATEMENT", 0},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_type *type = NULL;
        check_failure(parse_as_type(arena, rows[i].text, &type), rows[i].text, rows[i].condition, rows[i].position);
        nl_arena_free(arena);
    }
}

static void check_schema(const char *text, const char *expected)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *type = NULL;
    nl_status status = nl_sql_parse_schema(arena, nl_str_from(text), &type);
    if (status) fail_msg("%s: %s", text, nl_error_message(status));
    assert_string_equal(nl_str_c(arena, nl_type_name(arena, type)), expected);
    nl_arena_free(arena);
}

static void test_a_schema_is_a_list_of_columns_or_a_type(void **state)
{
    (void)state;
    check_schema("a INT, b STRING", "struct<a:int,b:string>");
    check_schema("a INT NOT NULL COMMENT 'x', `b c` decimal(10,2)", "struct<a:int,b c:decimal(10,2)>");
    check_schema("struct<a: int>", "struct<a:int>");
    check_schema("int", "int");
    check_schema("struct int", "struct<struct:int>");
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *type = NULL;
    check_failure(nl_sql_parse_schema(arena, NL_STR("a INT b"), &type), "a INT b", "PARSE_SYNTAX_ERROR", 6);
    check_failure(nl_sql_parse_schema(arena, NL_STR("a: INT"), &type), "a: INT", "PARSE_SYNTAX_ERROR", 1);
    check_failure(nl_sql_parse_schema(arena, NL_STR("a FOO"), &type), "a FOO", "UNSUPPORTED_DATATYPE", 2);
    nl_arena_free(arena);
}

static void test_names_alone(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_name name;
    assert_null(nl_sql_parse_name(arena, NL_STR("a.`b.c``d`.select"), NULL, &name));
    assert_int_equal(name.count, 3);
    assert_true(nl_str_is(name.parts[0].text, "a"));
    assert_true(nl_str_is(name.parts[1].text, "b.c`d"));
    assert_true(name.parts[1].is_quoted);
    assert_true(nl_str_is(name.parts[2].text, "select"));
    check_failure(nl_sql_parse_name(arena, NL_STR("a-b"), NULL, &name), "a-b", "INVALID_IDENTIFIER", 1);
    check_failure(nl_sql_parse_name(arena, NL_STR("a b"), NULL, &name), "a b", "PARSE_SYNTAX_ERROR", 2);
    check_failure(nl_sql_parse_name(arena, NL_STR("a."), NULL, &name), "a.", "PARSE_SYNTAX_ERROR", 1);
    nl_arena_free(arena);
}

static void test_expressions_alone_print_with_the_parentheses_they_need(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"1 + 2 * 3", "1 + 2 * 3"},
        {"(1 + 2) * 3", "(1 + 2) * 3"},
        {"1 - (2 - 3)", "1 - (2 - 3)"},
        {"(1 - 2) - 3", "1 - 2 - 3"},
        {"a OR b AND NOT c", "a OR b AND NOT c"},
        {"(a OR b) AND c", "(a OR b) AND c"},
        {"NOT (a AND b)", "NOT (a AND b)"},
        {"- -1", "- (-1)"},
        {"-(1)", "- (1)"},
        {"~a | b ^ c & d << 1", "~ a | b ^ c & d << 1"},
        {"a = b = c", "a = b = c"},
        {"a = (b = c)", "a = (b = c)"},
        {"(a IS NULL) IS NULL", "(a IS NULL) IS NULL"},
        {"(a BETWEEN 1 AND 2) AND b", "a BETWEEN 1 AND 2 AND b"},
        {"(a IN (1)) = b", "(a IN (1)) = b"},
        {"a || b || c", "a || b || c"},
        {"(a).b[1].c", "a.b[1].c"},
        {"f(a).b", "f(a).b"},
        {"(a, b)", "(a, b)"},
        {"((a, b)).c", "(a, b).c"},
        {"a::int::string", "a::int::string"},
        {"(a + b)::int", "(a + b)::int"},
        {"a -> a + 1", "a -> a + 1"},
        {"(a, b) -> a", "(a, b) -> a"},
        {"a AS b", "a AS b"},
        {"a b", "a AS b"},
        {"f(DISTINCT a, b) FILTER (WHERE c) OVER (PARTITION BY d ORDER BY e DESC NULLS LAST ROWS 1 PRECEDING)",
         "f(DISTINCT a, b) FILTER (WHERE c) OVER (PARTITION BY d ORDER BY e DESC NULLS LAST ROWS 1 PRECEDING)"},
        {"'it\\'s'", "'it\\'s'"},
        {"`a``b`", "`a``b`"},
        {"interval '1-2' year to month", "INTERVAL '1-2' YEAR TO MONTH"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_ast_expr *expr = NULL;
        nl_status status = nl_sql_parse_expression(arena, nl_str_from(rows[i][0]), NULL, &expr);
        if (status) fail_msg("%s: %s", rows[i][0], nl_error_message(status));
        nl_builder out;
        nl_builder_init(&out, 1 << 20);
        nl_sql_print_expr(&out, expr);
        assert_string_equal(nl_builder_c(&out), rows[i][1]);
        nl_builder_fini(&out);
        nl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_by_their_names),
        cmocka_unit_test(test_what_is_no_type),
        cmocka_unit_test(test_a_schema_is_a_list_of_columns_or_a_type),
        cmocka_unit_test(test_names_alone),
        cmocka_unit_test(test_expressions_alone_print_with_the_parentheses_they_need),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
