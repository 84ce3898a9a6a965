/* scalar/comparison_test.c - results as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_comparisons(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"=", "int;string", {"1", "1"}, "true"},
        {"=", "int;string", {"1", "x"}, "!CAST_INVALID_INPUT"},
        {"=", "date;string", {"2020-01-01", "2020-01-01"}, "true"},
        {"=", "int;int", {NULL, "1"}, "NULL"},
        {"<=>", "int;int", {NULL, "1"}, "false"},
        {"<=>", "int;int", {NULL, NULL}, "true"},
        {"<=>", "int;int", {"1", "1"}, "true"},
        {"=", "double;double", {"NaN", "NaN"}, "true"},
        {"<", "double;double", {"1", "NaN"}, "true"},
        {">", "double;double", {"NaN", "Infinity"}, "true"},
        {">=", "double;double", {"NaN", "NaN"}, "true"},
        {"=", "double;double", {"0.0", "-0.0"}, "true"},
        {"!=", "double;double", {"NaN", "NaN"}, "false"},
        {"<>", "int;bigint", {"1", "2"}, "true"},
        {"<", "date;timestamp", {"2020-01-01", "2020-01-01 01:00:00"}, "true"},
        {"=", "binary;string", {"a", "a"}, "true"},
        {"<", "string;string", {"a", "a "}, "true"},
        {">=", "string;string", {"abcdefghijklmnop", "abcdefghijklmnoq"}, "false"},
        {"<=", "decimal(3,1);int", {"1.5", "2"}, "true"},
        {"=", "int;boolean", {"1", "true"}, "!DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"},
        {"=", "day;string", {"1", "1"}, "!DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES"},
        {"<", "interval;interval", {"1 day", "1 day"}, "!DATATYPE_MISMATCH.INVALID_ORDERING_TYPE"},
        {"<=>", "void;void", {NULL, NULL}, "true"},
        {"concat", "int;string;boolean", {"1", "a", "true"}, "1atrue"},
        {"||", "string;string", {"a", NULL}, "NULL"},
        {"concat", "binary;binary", {"a", "b"}, "ab"},
    };
    run_cases(cases, NL_COUNT(cases));
}

/* 2,049 rows in every shape against the element-wise answer. */
static void test_long_columns_with_nulls_constants_and_selections(void **state)
{
    (void)state;
    enum { ROWS = 2049 };
    static int32_t a[ROWS];
    static int32_t b[ROWS];
    static uint32_t selected[ROWS];
    static uint8_t validity[(ROWS + 7) / 8];
    uint32_t count = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        a[i] = (int32_t)(i * 7919u % 100u);
        b[i] = (int32_t)(i * 104729u % 100u);
        if (i % 5 != 0) nl_bit_set(validity, i);
        if (i % 5 == 0) a[i] = 0;
        if (i % 11 == 3) selected[count++] = i;
    }
    const nl_bound_function *bound = NULL;
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    expect_success(test_bind(">", TYPES(nl_type_int(), nl_type_int()), 2, NULL, &bound));
    for (int form = 0; form < 4; form++) {
        nl_vector args[2] = {{.type = nl_type_int(), .length = ROWS, .values = a, .validity = validity, .null_count = UINT32_MAX},
                             {.type = nl_type_int(), .length = ROWS, .values = b}};
        if (form & 1) args[1].encoding = NL_CONSTANT;
        nl_selection selection = form & 2 ? (nl_selection){selected, count} : NL_ALL_ROWS(ROWS);
        nl_vector out = {0};
        expect_success(nl_function_call(bound, &eval, args, NULL, selection, ROWS, &out));
        for (uint32_t i = 0; i < selection.count; i++) {
            uint32_t row = nl_selection_row(selection, i);
            assert_int_equal(nl_vector_is_null(&out, row), row % 5 == 0);
            assert_int_equal(((const uint8_t *)out.values)[row], row % 5 != 0 && a[row] > b[form & 1 ? 0 : row]);
        }
        nl_vector_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons),
        cmocka_unit_test(test_long_columns_with_nulls_constants_and_selections),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
