/* sql/ast_test.c - what stands in the nodes: their places in the text, the values of literals, the shape of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sql/parser.h"

static nl_ast_expr *parse(nl_arena *arena, const char *text)
{
    nl_ast_expr *expr = NULL;
    nl_status status = nl_sql_parse_expression(arena, nl_str_from(text), NULL, &expr);
    if (status) fail_msg("%s: %s", text, nl_error_message(status));
    return expr;
}

static void check_range(const char *text, nl_ast_range range, const char *expected, uint32_t position)
{
    assert_true(nl_str_is((nl_str){text + range.start, range.stop - range.start}, expected));
    assert_int_equal(range.position, position);
}

static void test_ranges_are_the_words_of_a_node(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const char *text = "a.b + f(1, x -> x)[2] * CAST('1' AS int)";
    nl_ast_expr *sum = parse(arena, text);
    assert_int_equal(sum->kind, NL_AST_EXPR_BINARY);
    check_range(text, sum->range, text, 0);
    check_range(text, sum->binary.left->range, "a.b", 0);
    nl_ast_expr *product = sum->binary.right;
    check_range(text, product->range, "f(1, x -> x)[2] * CAST('1' AS int)", 6);
    check_range(text, product->binary.left->range, "f(1, x -> x)[2]", 6);
    check_range(text, product->binary.left->subscript.input->range, "f(1, x -> x)", 6);
    check_range(text, product->binary.right->range, "CAST('1' AS int)", 24);
    check_range(text, product->binary.right->cast.type->range, "int", 36);
    text = "(a) OR b AND c";
    nl_ast_expr *any = parse(arena, text);
    check_range(text, any->binary.left->range, "a", 1);
    check_range(text, any->binary.right->range, "b AND c", 7);
    text = "x IS NOT NULL";
    check_range(text, parse(arena, text)->range, "IS NOT NULL", 2);
    nl_arena_free(arena);
}

static void test_lines_of_a_statement(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_statement *statement = NULL;
    nl_str text = NL_STR("SELECT\n  a,\n  t.b FROM x.t AS u\nWHERE c = 1");
    assert_null(nl_sql_parse(arena, text, NULL, &statement));
    assert_true(nl_str_equal(statement->text, text));
    const nl_ast_select *select = statement->query->body->select;
    assert_int_equal(select->items.items[1]->range.line, 3);
    assert_int_equal(select->items.items[1]->range.position, 2);
    assert_int_equal(select->from->range.line, 3);
    assert_int_equal(select->from->range.position, 11);
    assert_true(nl_str_is(select->from->alias.name.text, "u"));
    assert_int_equal(select->where->range.line, 4);
    nl_arena_free(arena);
}

static const nl_ast_literal *literal(nl_arena *arena, const char *text, nl_ast_literal_kind kind)
{
    nl_ast_expr *expr = parse(arena, text);
    assert_int_equal(expr->kind, NL_AST_EXPR_LITERAL);
    assert_int_equal(expr->literal.kind, kind);
    return &expr->literal;
}

static void test_numbers_have_the_type_spark_gives_them(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_int_equal(literal(arena, "1", NL_AST_LITERAL_INT)->integer, 1);
    assert_int_equal(literal(arena, "-2147483648", NL_AST_LITERAL_INT)->integer, INT32_MIN);
    assert_int_equal(literal(arena, "2147483648", NL_AST_LITERAL_BIGINT)->integer, 2147483648);
    assert_int_equal(literal(arena, "-128Y", NL_AST_LITERAL_TINYINT)->integer, -128);
    assert_int_equal(literal(arena, "5S", NL_AST_LITERAL_SMALLINT)->integer, 5);
    assert_int_equal(literal(arena, "-9223372036854775808L", NL_AST_LITERAL_BIGINT)->integer, INT64_MIN);
    assert_true(literal(arena, "1e3", NL_AST_LITERAL_DOUBLE)->real == 1000.0);
    assert_true(literal(arena, "1.5F", NL_AST_LITERAL_FLOAT)->real == 1.5);
    const nl_ast_literal *decimal = literal(arena, "-00.10", NL_AST_LITERAL_DECIMAL);
    assert_true(decimal->decimal == -10);
    assert_int_equal(decimal->precision, 2);
    assert_int_equal(decimal->scale, 2);
    decimal = literal(arena, "12345678901234567890", NL_AST_LITERAL_DECIMAL);
    assert_int_equal(decimal->precision, 20);
    assert_int_equal(decimal->scale, 0);
    decimal = literal(arena, "1e3BD", NL_AST_LITERAL_DECIMAL);
    assert_int_equal(decimal->precision, 4);
    assert_int_equal(decimal->scale, 0);
    nl_arena_free(arena);
}

static void test_texts_without_their_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } rows[] = {
        {"'a\\nb\\t\\\\c'", "a\nb\t\\c"},      {"'it''s'", "its"},        {"'a' \"b\" 'c'", "abc"},
        {"r'a\\nb'", "a\\nb"},                 {"'\\u0041\\U00000042'", "AB"}, {"'\\101'", "A"},
        {"'\\%\\_'", "\\%\\_"},                {"'\\q'", "q"},           {"'\\ud83d\\ude00'", "\xf0\x9f\x98\x80"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_true(nl_str_is(literal(arena, rows[i].text, NL_AST_LITERAL_STRING)->text, rows[i].expected));
    const nl_ast_literal *binary = literal(arena, "X'1f0'", NL_AST_LITERAL_BINARY);
    assert_int_equal(binary->text.length, 2);
    assert_memory_equal(binary->text.data, "\x01\xf0", 2);
    assert_true(nl_str_is(literal(arena, "date '2020-01-01'", NL_AST_LITERAL_DATE)->text, "2020-01-01"));
    nl_arena_free(arena);
}

static void test_intervals_have_parts(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_ast_literal *interval = literal(arena, "INTERVAL -1 DAY '2' HOURS", NL_AST_LITERAL_INTERVAL);
    assert_int_equal(interval->part_count, 2);
    assert_true(nl_str_is(interval->parts[0].value, "-1"));
    assert_int_equal(interval->parts[0].unit, NL_AST_UNIT_DAY);
    assert_true(interval->parts[1].is_string);
    assert_int_equal(interval->parts[1].unit, NL_AST_UNIT_HOUR);
    interval = literal(arena, "INTERVAL '1-2' YEAR TO MONTH", NL_AST_LITERAL_INTERVAL);
    assert_true(interval->parts[0].has_to);
    assert_int_equal(interval->parts[0].to, NL_AST_UNIT_MONTH);
    assert_true(nl_str_is(literal(arena, "INTERVAL '1 day'", NL_AST_LITERAL_INTERVAL_TEXT)->text, "1 day"));
    nl_arena_free(arena);
}

static void test_special_forms_are_calls_with_a_mark(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        nl_ast_call_form form;
        const char *name;
        uint32_t arg_count;
    } rows[] = {
        {"EXTRACT(day FROM a)", NL_AST_CALL_EXTRACT, "extract", 2},
        {"TIMESTAMPADD(day, 1, a)", NL_AST_CALL_TIMESTAMPADD, "timestampadd", 3},
        {"dateadd(a, 1)", NL_AST_CALL_PLAIN, "dateadd", 2},
        {"datediff(day, a, b)", NL_AST_CALL_TIMESTAMPDIFF, "timestampdiff", 3},
        {"STRUCT(a, b AS c)", NL_AST_CALL_STRUCT, "struct", 2},
        {"FIRST(a IGNORE NULLS)", NL_AST_CALL_FIRST, "first", 1},
        {"POSITION(a IN b)", NL_AST_CALL_POSITION, "position", 2},
        {"SUBSTRING(a FROM 1 FOR 2)", NL_AST_CALL_SUBSTRING, "substring", 3},
        {"substr(a, 1)", NL_AST_CALL_PLAIN, "substr", 2},
        {"TRIM(BOTH a FROM b)", NL_AST_CALL_TRIM_BOTH, "trim", 2},
        {"TRIM(LEADING FROM b)", NL_AST_CALL_TRIM_LEADING, "ltrim", 1},
        {"TRIM(b)", NL_AST_CALL_PLAIN, "TRIM", 1},
        {"OVERLAY(a PLACING b FROM 1)", NL_AST_CALL_OVERLAY, "overlay", 3},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_ast_expr *expr = parse(arena, rows[i].text);
        assert_int_equal(expr->kind, NL_AST_EXPR_CALL);
        assert_int_equal(expr->call.form, rows[i].form);
        assert_true(nl_str_is(expr->call.name.parts[0].text, rows[i].name));
        assert_int_equal(expr->call.args.count, rows[i].arg_count);
    }
    nl_arena_free(arena);
}

static void test_fields_of_columns_make_names_longer(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_ast_expr *column = parse(arena, "(a.b).c");
    assert_int_equal(column->kind, NL_AST_EXPR_COLUMN);
    assert_int_equal(column->column.count, 3);
    nl_ast_expr *field = parse(arena, "f(a).c");
    assert_int_equal(field->kind, NL_AST_EXPR_FIELD);
    assert_true(nl_str_is(field->field.name.text, "c"));
    nl_arena_free(arena);
}

static void test_long_chains_of_and_are_balanced(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder text;
    nl_builder_init(&text, 1 << 20);
    nl_append_c(&text, "a");
    for (int i = 0; i < 4095; i++) nl_append_c(&text, " AND a");
    nl_ast_expr *expr = parse(arena, nl_builder_c(&text));
    uint32_t depth = 0;
    for (; expr->kind == NL_AST_EXPR_BINARY; expr = expr->binary.left) depth++;
    assert_in_range(depth, 11, 13);
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ranges_are_the_words_of_a_node),
        cmocka_unit_test(test_lines_of_a_statement),
        cmocka_unit_test(test_numbers_have_the_type_spark_gives_them),
        cmocka_unit_test(test_texts_without_their_escapes),
        cmocka_unit_test(test_intervals_have_parts),
        cmocka_unit_test(test_special_forms_are_calls_with_a_mark),
        cmocka_unit_test(test_fields_of_columns_make_names_longer),
        cmocka_unit_test(test_long_chains_of_and_are_balanced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
