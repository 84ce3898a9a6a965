/* trino/trino_test.c - values as Trino 476 gave them; whole statements are in tests/trino. */
#include "function/test_function.h"

static void test_texts(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"trino_substr", "string;bigint", {"hello", "2"}, "ello"},
        {"trino_substr", "string;bigint", {"hello", "0"}, ""},
        {"trino_substr", "string;bigint;bigint", {"hello", "-3", "2"}, "ll"},
        {"trino_substr", "string;bigint", {"hello", "-10"}, ""},
        {"trino_trim", "string", {"\t a\n"}, "a"},
        {"trino_trim", "string;string", {"xaxx", "x"}, "a"},
        {"trino_ltrim", "string;string", {"xxa", "x"}, "a"},
        {"trino_strpos", "string;string", {"hello", "l"}, "3"},
        {"trino_strpos", "string;string;bigint", {"hello", "l", "2"}, "4"},
        {"trino_strpos", "string;string;bigint", {"a.b.c", ".", "3"}, "0"},
        {"trino_strpos", "string;string;bigint", {"hello", "l", "-1"}, "4"},
        {"trino_split", "string;string", {"a,b,,c", ","}, "[a, b, , c]"},
        {"trino_split", "string;string;bigint", {"a,b,c", ",", "2"}, "[a, b,c]"},
        {"trino_split", "string;string", {"abc", ""}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_split_part", "string;string;bigint", {"a,b,c", ",", "2"}, "b"},
        {"trino_split_part", "string;string;bigint", {"a,b,c", ",", "4"}, "NULL"},
        {"trino_split_part", "string;string;bigint", {"a,b,c", ",", "0"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_replace", "string;string;string", {"abc", "", "x"}, "xaxbxcx"},
        {"trino_replace", "string;string", {"banana", "an"}, "ba"},
        {"trino_upper", "string", {"stra\xc3\x9f"}, "STRA\xc3\x9f"},
        {"trino_chr", "bigint", {"8364"}, "\xe2\x82\xac"},
        {"trino_real_text", "double", {"1"}, "1.0E0"},
        {"trino_real_text", "double", {"12345678"}, "1.2345678E7"},
        {"trino_real_text", "double", {"0.1"}, "1.0E-1"},
        {"trino_real_text", "double", {"0"}, "0E0"},
        {"trino_boolean", "string", {"T"}, "true"},
        {"trino_boolean", "string", {"yes"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_fit", "string;bigint", {"12345", "3"}, "!NILAS_ILLEGAL_ARGUMENT"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_times(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"trino_date_trunc", "string;date", {"week", "2026-02-28"}, "2026-02-23"},
        {"trino_date_trunc", "string;date", {"hour", "2026-02-28"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_date_add", "string;bigint;date", {"month", "1", "2026-01-31"}, "2026-02-28"},
        {"trino_date_diff", "string;date;date", {"month", "2026-01-31", "2026-02-28"}, "1"},
        {"trino_date_diff", "string;date;date", {"month", "2026-03-31", "2026-02-28"}, "-1"},
        {"trino_date_diff", "string;date;date", {"quarter", "2026-01-01", "2026-12-31"}, "3"},
        {"trino_date_format", "date;string", {"2026-02-08", "%W %e %M %Y, %j"}, "Sunday 8 February 2026, 039"},
        {"trino_date_format", "date;string", {"2026-02-08", "%w"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_format_datetime", "date;string", {"2026-01-01", "xxxx-ww-e 'at'"}, "2026-01-4 at"},
        {"trino_date_parse", "string;string", {"8/2/26 1:05 PM", "%d/%m/%y %l:%i %p"}, "2026-02-08 13:05:00"},
        {"trino_date_parse", "string;string", {"2026-02-08", "%Y/%m/%d"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_date", "string", {" 2026-1-2 "}, "2026-01-02"},
        {"trino_date", "string", {"2026"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_from_iso8601_date", "string", {"2026-02-08"}, "2026-02-08"},
        {"trino_to_iso8601", "date", {"2026-02-08"}, "2026-02-08"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_numbers(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"trino_sign", "int", {"-3"}, "-1"},
        {"trino_round", "double", {"-2.5"}, "-3.0"},
        {"trino_round", "decimal(4,3);bigint", {"1.005", "2"}, "1.010"},
        {"trino_truncate", "decimal(3,2)", {"-1.99"}, "-1"},
        {"trino_ceil", "decimal(2,1)", {"1.2"}, "2"},
        {"trino_floor", "double", {"-1.5"}, "-2.0"},
        {"trino_ln", "double", {"-1"}, "NaN"},
        {"trino_from_hex", "string", {"0G"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"trino_greatest", "int;int", {"1", NULL}, "NULL"},
        {"trino_least", "int;int", {"2", "1"}, "1"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_operators_follow_trino_when_the_session_does(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"/", "decimal(4,2);decimal(2,1)", {"10.00", "3.0"}, "3.33"},
        {"/", "decimal(10,2);int", {"2", "3"}, "0.67"},
        {"*", "decimal(10,2);decimal(5,1)", {"10", "3"}, "30.000"},
        {"+", "decimal(10,2);bigint", {"2", "1"}, "3.00"},
        {"/", "double;double", {"1", "0"}, "Infinity"},
        {"%", "decimal(2,1);decimal(2,1)", {"2.5", "1.2"}, "0.1"},
        {"=", "double;double", {"NaN", "NaN"}, "false"},
        {">", "double;double", {"NaN", "1"}, "false"},
        {"!=", "double;double", {"NaN", "NaN"}, "true"},
        {"=", "int;string", {"1", "1"}, "!DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"},
    };
    test_confs.is_trino = true;
    run_cases(cases, NL_COUNT(cases));
    test_confs.is_trino = false;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_operators_follow_trino_when_the_session_does),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
