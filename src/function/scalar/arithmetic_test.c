/* scalar/arithmetic_test.c - results and conditions as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_integers_and_their_overflow(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"+", "int;int", {"1", "2"}, "3"},
        {"+", "int;int", {"2147483647", "1"}, "!ARITHMETIC_OVERFLOW"},
        {"+", "bigint;int", {"9223372036854775807", "1"}, "!ARITHMETIC_OVERFLOW"},
        {"+", "tinyint;tinyint", {"127", "1"}, "!BINARY_ARITHMETIC_OVERFLOW"},
        {"*", "smallint;smallint", {"200", "200"}, "!BINARY_ARITHMETIC_OVERFLOW"},
        {"-", "int;int", {"-2147483648", "1"}, "!ARITHMETIC_OVERFLOW"},
        {"*", "bigint;bigint", {"4611686018427387904", "2"}, "!ARITHMETIC_OVERFLOW"},
        {"try_add", "int;int", {"2147483647", "1"}, "NULL"},
        {"try_multiply", "int;int", {"2147483647", "2"}, "NULL"},
        {"/", "int;int", {"5", "2"}, "2.5"},
        {"/", "int;int", {"1", "0"}, "!DIVIDE_BY_ZERO"},
        {"try_divide", "int;int", {"1", "0"}, "NULL"},
        {"%", "int;int", {"-7", "3"}, "-1"},
        {"%", "int;int", {"5", "0"}, "!DIVIDE_BY_ZERO"},
        {"mod", "int;int", {"-2147483648", "-1"}, "0"},
        {"pmod", "int;int", {"-7", "3"}, "2"},
        {"div", "int;int", {"-7", "2"}, "-3"},
        {"div", "bigint;int", {"-9223372036854775808", "-1"}, "!ARITHMETIC_OVERFLOW"},
        {"+", "int;int", {NULL, "2"}, "NULL"},
        {"+", "string;int", {"1", "1"}, "2"},
        {"+", "string;int", {"a", "1"}, "!CAST_INVALID_INPUT"},
        {"/", "string;int", {"1", "2"}, "0.5"},
        {"%", "double;int", {"1.5", "0"}, "!DIVIDE_BY_ZERO"},
        {"+", "float;int", {"1.5", "1"}, "2.5"},
        {"negative", "tinyint", {"-128"}, "!ARITHMETIC_OVERFLOW"},
        {"negative", "int", {"5"}, "-5"},
        {"abs", "double", {"-2.5"}, "2.5"},
        {"abs", "string", {"1"}, "1.0"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_legacy_mode_wraps_and_gives_null(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"+", "int;int", {"2147483647", "1"}, "-2147483648"},
        {"/", "int;int", {"1", "0"}, "NULL"},
        {"%", "bigint;bigint", {"1", "0"}, "NULL"},
        {"negative", "tinyint", {"-128"}, "-128"},
    };
    test_confs.is_ansi = false;
    run_cases(cases, NL_COUNT(cases));
    test_confs.is_ansi = true;
}

static void test_decimals_are_exact(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"-", "decimal(3,2);decimal(3,2)", {"0.06", "0.01"}, "0.05"},
        {"*", "decimal(2,1);int", {"1.5", "2"}, "3.0"},
        {"/", "decimal(2,1);int", {"1.5", "3"}, "0.500000"},
        {"%", "int;decimal(2,1)", {"7", "2.5"}, "2.0"},
        {"+", "decimal(10,2);decimal(4,1)", {"12345678.12", "999.9"}, "12346678.02"},
        {"div", "decimal(2,1);int", {"5.5", "2"}, "2"},
        {"/", "decimal(2,1);int", {"1.5", "0"}, "!DIVIDE_BY_ZERO"},
        {"*", "decimal(38,10);decimal(38,10)", {"1", "1"}, "1.000000"},
        {"/", "decimal(38,10);decimal(38,10)", {"1", "3"}, "0.333333"},
        {"/", "decimal(20,10);int", {"1", "3"}, "0.333333333333"},
        {"+", "decimal(38,10);decimal(38,0)", {"1", "1"}, "2.000000"},
        {"+", "decimal(38,0);int", {"99999999999999999999999999999999999999", "1"}, "!NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION"},
        {"try_add", "decimal(38,0);int", {"99999999999999999999999999999999999999", "1"}, "NULL"},
        {"+", "decimal(2,1);double", {"1.5", "1"}, "2.5"},
        {"pmod", "decimal(3,1);int", {"-7.5", "2"}, "0.5"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_decimal_result_types(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *a;
        const char *b;
        const char *result;
    } cases[] = {
        {"+", "decimal(10,2)", "int", "decimal(13,2)"},   {"+", "bigint", "decimal(2,1)", "decimal(22,1)"},
        {"/", "decimal(20,10)", "int", "decimal(31,21)"}, {"*", "decimal(38,18)", "decimal(38,18)", "decimal(38,6)"},
        {"/", "float", "int", "double"},                  {"+", "tinyint", "smallint", "smallint"},
        {"+", "float", "float", "float"},                 {"*", "float", "bigint", "double"},
    };
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        const nl_bound_function *bound = NULL;
        expect_success(test_bind(cases[i].name, TYPES(test_type(nl_str_from(cases[i].a)), test_type(nl_str_from(cases[i].b))), 2, NULL, &bound));
        assert_string_equal(nl_str_c(test_arena, nl_type_name(test_arena, bound->result_type)), cases[i].result);
    }
}

static void test_overflow_of_decimals_names_the_exact_value(void **state)
{
    (void)state;
    const char *text = NULL;
    nl_status status = test_call("+", 2, TYPES(nl_type_decimal(38, 0), nl_type_int()), VALUES("99999999999999999999999999999999999999", "1"), &text);
    assert_string_equal(nl_error_param(status, "value"), "100000000000000000000000000000000000000");
    assert_string_equal(nl_error_param(status, "precision"), "38");
    nl_error_free(status);
    status = test_call("+", 2, TYPES(nl_type_of(NL_TYPE_TINYINT), nl_type_of(NL_TYPE_TINYINT)), VALUES("127", "1"), &text);
    assert_string_equal(nl_error_message(status), "[BINARY_ARITHMETIC_OVERFLOW] 127S + 1S caused overflow. Use `try_add` to ignore "
                                                  "overflow problem and return NULL. SQLSTATE: 22003");
    nl_error_free(status);
}

static void test_dates_and_intervals(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"+", "date;int", {"2020-01-01", "1"}, "2020-01-02"},
        {"+", "int;date", {"1", "2020-01-01"}, "2020-01-02"},
        {"-", "date;int", {"2020-01-01", "1"}, "2019-12-31"},
        {"+", "date;bigint", {"2020-01-01", "1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"+", "date;month", {"2020-01-31", "1"}, "2020-02-29"},
        {"+", "date;day", {"2020-01-01", "1"}, "2020-01-02"},
        {"+", "date;dt", {"2020-01-01", "0 01:00:00"}, "2020-01-01 01:00:00"},
        {"-", "date;date", {"2020-01-01", "2019-01-01"}, "INTERVAL '365' DAY"},
        {"-", "timestamp;date", {"2020-01-01 10:00:00", "2020-01-01"}, "INTERVAL '0 10:00:00' DAY TO SECOND"},
        {"+", "timestamp;interval", {"2020-01-01", "1 day 60 seconds"}, "2020-01-02 00:01:00"},
        {"+", "date;interval", {"2020-01-01", "1 hour"}, "!INVALID_INTERVAL_WITH_MICROSECONDS_ADDITION"},
        {"*", "month;decimal(2,1)", {"1", "2.5"}, "INTERVAL '0-3' YEAR TO MONTH"},
        {"/", "day;int", {"1", "3"}, "INTERVAL '0 08:00:00' DAY TO SECOND"},
        {"/", "day;int", {"1", "0"}, "!INTERVAL_DIVIDED_BY_ZERO"},
        {"*", "int;day", {"2", "1"}, "INTERVAL '2 00:00:00' DAY TO SECOND"},
        {"div", "day;day", {"7", "2"}, "3"},
        {"+", "interval;interval", {"1 year 2 months", "3 months"}, "1 years 5 months"},
        {"+", "month;day", {"1", "1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"+", "timestamp;int", {"2020-01-01", "1"}, "!DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"},
    };
    run_cases(cases, NL_COUNT(cases));
}

/* The element functions against 128-bit arithmetic, through the kernel, on extreme and random operands. */
static void test_overflow_is_found_exactly(void **state)
{
    (void)state;
    static const int64_t extremes[] = {INT64_MIN, INT64_MIN + 1, INT32_MIN, -3, -1, 0, 1, 2, 7, INT32_MAX, INT64_MAX - 1, INT64_MAX};
    static const char *const names[] = {"try_add", "try_subtract", "try_multiply"};
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    for (uint32_t n = 0; n < 3; n++) {
        const nl_bound_function *bound = NULL;
        expect_success(test_bind(names[n], TYPES(nl_type_bigint(), nl_type_bigint()), 2, NULL, &bound));
        for (uint32_t i = 0; i < NL_COUNT(extremes); i++) {
            for (uint32_t j = 0; j < NL_COUNT(extremes); j++) {
                int64_t a[3] = {1, extremes[i], 2};
                int64_t b[3] = {1, extremes[j], 2};
                nl_vector args[2] = {{.type = nl_type_bigint(), .length = 3, .values = a}, {.type = nl_type_bigint(), .length = 3, .values = b}};
                nl_vector out = {0};
                expect_success(nl_function_call(bound, &eval, args, NULL, NL_ALL_ROWS(3), 3, &out));
                nl_int128 exact = n == 0 ? (nl_int128)a[1] + b[1] : n == 1 ? (nl_int128)a[1] - b[1] : (nl_int128)a[1] * b[1];
                assert_int_equal(nl_vector_is_null(&out, 1), exact > INT64_MAX || exact < INT64_MIN);
                assert_int_equal(((const int64_t *)out.values)[1], nl_vector_is_null(&out, 1) ? 0 : (int64_t)exact);
                assert_false(nl_vector_is_null(&out, 2));
                nl_vector_fini(&out);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_integers_and_their_overflow),
        cmocka_unit_test(test_legacy_mode_wraps_and_gives_null),
        cmocka_unit_test(test_decimals_are_exact),
        cmocka_unit_test(test_decimal_result_types),
        cmocka_unit_test(test_overflow_of_decimals_names_the_exact_value),
        cmocka_unit_test(test_dates_and_intervals),
        cmocka_unit_test(test_overflow_is_found_exactly),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
