/* function/cast_test.c - CAST in its modes; values and conditions as Spark 4.0.1 gave them. */
#include "function/test_function.h"

typedef struct cast_case {
    const char *from;
    const char *text;
    const char *to;
    const char *expected; /* or "!CONDITION" */
} cast_case;

static void run(nl_cast_mode mode, const cast_case *cases, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_type *from = test_type(nl_str_from(cases[i].from));
        const nl_type *to = test_type(nl_str_from(cases[i].to));
        nl_value source = test_value(from, cases[i].text);
        nl_value result;
        assert_true(nl_can_cast(from, to, mode != NL_CAST_LEGACY));
        nl_status status = nl_cast_value(test_arena, &test_confs, mode, &source, to, &result);
        const char *shown = NULL;
        if (status != NULL) {
            shown = nl_arena_f(test_arena, "!%s", nl_condition_name(nl_error_condition(status))).data;
        } else {
            nl_vector vector = {0};
            expect_success(nl_vector_new_constant(&vector, &result, 1, test_memory));
            shown = test_text(&vector, 0);
            nl_vector_fini(&vector);
        }
        if (strcmp(shown, cases[i].expected) != 0) print_error("case %u: %s '%s' to %s\n", i, cases[i].from, cases[i].text, cases[i].to);
        assert_string_equal(shown, cases[i].expected);
        nl_error_free(status);
    }
}

static void test_ansi_casts(void **state)
{
    (void)state;
    static const cast_case cases[] = {
        {"string", "abc", "int", "!CAST_INVALID_INPUT"},
        {"string", "  12 ", "int", "12"},
        {"string", "1.5", "int", "!CAST_INVALID_INPUT"},
        {"string", "99999999999", "int", "!CAST_INVALID_INPUT"},
        {"string", "128", "tinyint", "!CAST_INVALID_INPUT"},
        {"string", "", "int", "!CAST_INVALID_INPUT"},
        {"int", "300", "tinyint", "!CAST_OVERFLOW"},
        {"int", "40000", "smallint", "!CAST_OVERFLOW"},
        {"double", "1e20", "bigint", "!CAST_OVERFLOW"},
        {"double", "NaN", "int", "!CAST_OVERFLOW"},
        {"double", "1.7", "bigint", "1"},
        {"double", "-1.7", "int", "-1"},
        {"decimal(8,3)", "12345.678", "decimal(5,2)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"string", "12345.678", "decimal(5,2)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"string", "x", "decimal(5,2)", "!CAST_INVALID_INPUT"},
        {"string", "1e2", "decimal(10,2)", "100.00"},
        {"string", "99999999999999999999999999999999999999999", "decimal(38,0)", "!NUMERIC_OUT_OF_SUPPORTED_RANGE"},
        {"double", "12.345", "decimal(10,2)", "12.35"},
        {"float", "12.345", "decimal(10,2)", "12.35"},
        {"double", "0.125", "decimal(3,2)", "0.13"},
        {"double", "Infinity", "decimal(5,2)", "NULL"},
        {"double", "1e40", "decimal(38,0)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"int", "123", "decimal(2,0)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"decimal(2,1)", "2.5", "decimal(2,0)", "3"},
        {"decimal(10,2)", "-1.25", "decimal(10,1)", "-1.3"},
        {"decimal(11,1)", "2147483648.5", "int", "!CAST_OVERFLOW"},
        {"decimal(2,1)", "1.7", "int", "1"},
        {"decimal(2,1)", "1.5", "double", "1.5"},
        {"boolean", "true", "int", "1"},
        {"boolean", "true", "decimal(5,2)", "1.00"},
        {"boolean", "true", "decimal(1,1)", "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"double", "NaN", "boolean", "true"},
        {"int", "0", "boolean", "false"},
        {"string", " yes ", "boolean", "true"},
        {"string", "x", "boolean", "!CAST_INVALID_INPUT"},
        {"string", "2020-13-01", "date", "!CAST_INVALID_INPUT"},
        {"string", "2020-1-2 whatever", "date", "2020-01-02"},
        {"string", "2020-01-01 10:20:30 Europe/Berlin", "timestamp", "2020-01-01 09:20:30"},
        {"timestamp", "2020-01-01 00:00:00.5", "double", "1.5778368005E9"},
        {"timestamp", "2020-01-01 00:00:00.5", "bigint", "1577836800"},
        {"timestamp", "1969-12-31 23:59:59.5", "bigint", "-1"},
        {"timestamp", "2020-01-01 00:00:00.5", "decimal(20,3)", "1577836800.500"},
        {"timestamp", "2200-01-01", "int", "!CAST_OVERFLOW"},
        {"decimal(2,1)", "1.5", "timestamp", "1970-01-01 00:00:01.5"},
        {"double", "1.123456789", "timestamp", "1970-01-01 00:00:01.123456"},
        {"bigint", "9223372036854775807", "timestamp", "+294247-01-10 04:00:54.775807"},
        {"double", "1e30", "timestamp", "!CAST_OVERFLOW"},
        {"double", "NaN", "timestamp", "!CAST_INVALID_INPUT"},
        {"date", "2020-01-01", "timestamp", "2020-01-01 00:00:00"},
        {"timestamp", "2020-01-01 12:00:00", "date", "2020-01-01"},
        {"ntz", "2020-01-01 12:00:00", "timestamp", "2020-01-01 12:00:00"},
        {"ym", "1-2", "int", "14"},
        {"day", "5", "decimal(5,2)", "5.00"},
        {"dt", "1 02:03:04.5", "decimal(20,6)", "93784.500000"},
        {"int", "5", "dt", "INTERVAL '0 00:00:05' DAY TO SECOND"},
        {"int", "5", "month", "INTERVAL '5' MONTH"},
        {"dt", "1 02:03:04.5", "day", "INTERVAL '1' DAY"},
        {"string", "x", "month", "!INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING"},
        {"string", "interval 1 day", "day", "!INVALID_INTERVAL_FORMAT.UNMATCHED_FORMAT_STRING_WITH_NOTICE"},
        {"string", "INTERVAL '5' DAY", "day", "INTERVAL '5' DAY"},
        {"string", "1 year 2 months 3 days 4.5 seconds", "interval", "1 years 2 months 3 days 4.5 seconds"},
        {"string", "x", "interval", "NULL"},
        {"ym", "1-2", "string", "INTERVAL '1-2' YEAR TO MONTH"},
        {"binary", "abc", "string", "abc"},
        {"decimal(20,10)", "0.0000000001", "string", "0.0000000001"},
    };
    run(NL_CAST_ANSI, cases, NL_COUNT(cases));
}

static void test_try_casts_give_null(void **state)
{
    (void)state;
    static const cast_case cases[] = {
        {"string", "x", "int", "NULL"},   {"int", "300", "tinyint", "NULL"},        {"double", "1e20", "int", "NULL"},
        {"string", "x", "date", "NULL"},  {"double", "NaN", "timestamp", "NULL"},   {"decimal(8,3)", "12345.678", "decimal(5,2)", "NULL"},
        {"string", "x", "month", "NULL"}, {"string", "12", "bigint", "12"},
    };
    run(NL_CAST_TRY, cases, NL_COUNT(cases));
}

static void test_legacy_casts_wrap_like_java(void **state)
{
    (void)state;
    static const cast_case cases[] = {
        {"string", "x", "int", "NULL"},       {"string", "1.9", "int", "1"},    {"int", "300", "tinyint", "44"},
        {"double", "1e20", "int", "2147483647"}, {"double", "NaN", "int", "0"}, {"double", "1e20", "tinyint", "-1"},
        {"int", "123", "decimal(2,0)", "NULL"},  {"date", "2020-01-01", "int", "NULL"},
    };
    run(NL_CAST_LEGACY, cases, NL_COUNT(cases));
}

static void test_errors_show_the_value_as_sql(void **state)
{
    (void)state;
    nl_value result;
    nl_value source = test_value(nl_type_double(), "1e20");
    nl_status status = nl_cast_value(test_arena, &test_confs, NL_CAST_ANSI, &source, nl_type_bigint(), &result);
    assert_string_equal(nl_error_message(status),
                        "[CAST_OVERFLOW] The value 1.0E20D of the type \"DOUBLE\" cannot be cast to \"BIGINT\" due to an overflow. "
                        "Use `try_cast` to tolerate overflow and return NULL instead. SQLSTATE: 22003");
    nl_error_free(status);
    source = test_value(nl_type_string(), "abc");
    status = nl_cast_value(test_arena, &test_confs, NL_CAST_ANSI, &source, nl_type_int(), &result);
    assert_string_equal(nl_error_param(status, "expression"), "'abc'");
    assert_string_equal(nl_error_param(status, "targetType"), "\"INT\"");
    nl_error_free(status);
    source = test_value(nl_type_of(NL_TYPE_TIMESTAMP), "2200-01-01");
    status = nl_cast_value(test_arena, &test_confs, NL_CAST_ANSI, &source, nl_type_int(), &result);
    assert_string_equal(nl_error_param(status, "value"), "TIMESTAMP '2200-01-01 00:00:00'");
    nl_error_free(status);
    source = test_value(nl_type_double(), "1e40");
    status = nl_cast_value(test_arena, &test_confs, NL_CAST_ANSI, &source, nl_type_decimal(38, 0), &result);
    assert_string_equal(nl_error_param(status, "value"), "10000000000000000000000000000000000000000");
    nl_error_free(status);
}

static void test_elements_of_unselected_rows_are_not_cast(void **state)
{
    (void)state;
    const nl_type *strings = nl_type_array(test_arena, nl_type_string(), true);
    const nl_type *integers = nl_type_array(test_arena, nl_type_int(), true);
    nl_column_builder *builder = NULL;
    nl_vector source = {0};
    nl_vector out = {0};
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    expect_success(nl_column_builder_new(strings, test_memory, &builder));
    static const char *const texts[] = {"1", "x", "2"};
    for (uint32_t i = 0; i < 3; i++) {
        expect_success(nl_column_builder_str(nl_column_builder_child(builder, 0), nl_str_from(texts[i])));
        expect_success(nl_column_builder_end_list(builder, 1));
    }
    expect_success(nl_column_builder_finish(builder, &source));
    nl_column_builder_free(builder);
    static const uint32_t rows[] = {0, 2};
    expect_success(nl_cast_vector(&eval, NL_CAST_ANSI, &source, integers, (nl_selection){rows, 2}, &out));
    assert_string_equal(test_text(&out, 0), "[1]");
    assert_string_equal(test_text(&out, 2), "[2]");
    nl_vector_fini(&out);
    expect_error(nl_cast_vector(&eval, NL_CAST_ANSI, &source, integers, NL_ALL_ROWS(3), &out), "CAST_INVALID_INPUT");
    expect_success(nl_cast_vector(&eval, NL_CAST_TRY, &source, integers, NL_ALL_ROWS(3), &out));
    assert_string_equal(test_text(&out, 1), "[null]");
    nl_vector_fini(&out);
    nl_vector_fini(&source);
}

static void test_storing_into_char_pads_and_refuses_long_texts(void **state)
{
    (void)state;
    nl_value result;
    nl_value source = nl_value_string(NL_STR("ab"));
    const nl_type *type = nl_type_char(test_arena, NL_STRING_CHAR, 3);
    expect_success(nl_cast_value(test_arena, &test_confs, NL_CAST_STORE, &source, type, &result));
    assert_true(nl_str_is(result.text, "ab "));
    source = nl_value_string(NL_STR("abcd"));
    expect_error(nl_cast_value(test_arena, &test_confs, NL_CAST_STORE, &source, type, &result), "EXCEED_LIMIT_LENGTH");
    source = test_value(nl_type_bigint(), "3000000000");
    expect_error(nl_cast_value(test_arena, &test_confs, NL_CAST_STORE, &source, nl_type_int(), &result), "CAST_OVERFLOW_IN_TABLE_INSERT");
}

static void test_what_may_be_cast_and_stored(void **state)
{
    (void)state;
    const nl_type *date = nl_type_of(NL_TYPE_DATE);
    const nl_type *ntz = nl_type_of(NL_TYPE_TIMESTAMP_NTZ);
    assert_false(nl_can_cast(date, nl_type_int(), true));
    assert_false(nl_can_cast(nl_type_int(), date, true));
    assert_false(nl_can_cast(nl_type_boolean(), nl_type_of(NL_TYPE_TIMESTAMP), true));
    assert_true(nl_can_cast(nl_type_boolean(), nl_type_of(NL_TYPE_TIMESTAMP), false));
    assert_false(nl_can_cast(nl_type_int(), nl_type_binary(), true));
    assert_false(nl_can_cast(ntz, nl_type_bigint(), true));
    assert_false(nl_can_store(nl_type_string(), nl_type_int()));
    assert_true(nl_can_store(nl_type_decimal(2, 1), nl_type_bigint()));
    assert_true(nl_can_store(date, nl_type_string()));
    assert_true(nl_is_upcast(nl_type_int(), nl_type_bigint()));
    assert_false(nl_is_upcast(nl_type_bigint(), nl_type_double()));
    assert_true(nl_type_equal(nl_common_type(test_arena, nl_type_int(), nl_type_of(NL_TYPE_FLOAT), true), nl_type_double()));
    assert_true(nl_type_equal(nl_common_type(test_arena, nl_type_int(), nl_type_string(), true), nl_type_bigint()));
    assert_true(nl_type_equal(nl_common_type(test_arena, nl_type_decimal(38, 0), nl_type_decimal(38, 38), true), nl_type_decimal(38, 0)));
    assert_null(nl_common_type(test_arena, nl_type_int(), nl_type_boolean(), true));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ansi_casts),
        cmocka_unit_test(test_try_casts_give_null),
        cmocka_unit_test(test_legacy_casts_wrap_like_java),
        cmocka_unit_test(test_errors_show_the_value_as_sql),
        cmocka_unit_test(test_elements_of_unselected_rows_are_not_cast),
        cmocka_unit_test(test_storing_into_char_pads_and_refuses_long_texts),
        cmocka_unit_test(test_what_may_be_cast_and_stored),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
