/* function/registry_test.c - every row is complete and can be parsed; names are found in any case. */
#include "function/groups.h"
#include "function/signature.h"
#include "function/test_function.h"

static void test_every_row_is_documented_and_its_signature_parses(void **state)
{
    (void)state;
    const nl_function_row *row = NULL;
    for (uint32_t i = 0; (row = nl_function_at(i)) != NULL; i++) {
        nl_signature signature;
        if (row->name == NULL || row->doc == NULL || row->since == NULL || row->group == NULL || row->signature == NULL)
            fail_msg("row %u (%s) is not complete", i, row->name ? row->name : "?");
        expect_success(nl_signature_parse(test_arena, row, &signature));
        if (!row->is_internal && (row->examples[0].sql == NULL || row->examples[0].result == NULL))
            fail_msg("%s has no example", row->name);
        if (row->kind == NL_FUNCTION_SCALAR && row->kernel == NULL && row->bind == NULL) fail_msg("%s has no kernel", row->name);
    }
}

static void test_names_and_aliases_are_found_in_any_case(void **state)
{
    (void)state;
    const nl_function_row *const *rows = NULL;
    assert_int_equal(nl_function_find(NL_STR("SUM"), &rows), 1);
    assert_string_equal(rows[0]->name, "sum");
    assert_int_equal(nl_function_find(NL_STR("Mean"), &rows), 1);
    assert_string_equal(rows[0]->name, "avg");
    assert_int_equal(nl_function_find(NL_STR("<=>"), &rows), 1);
    assert_int_equal(nl_function_find(NL_STR("no_such_function"), &rows), 0);
}

static void test_wrong_numbers_of_arguments_are_named_as_spark_does(void **state)
{
    (void)state;
    const nl_bound_function *bound = NULL;
    nl_status status = test_bind("row_number", TYPES(nl_type_int()), 1, NULL, &bound);
    assert_string_equal(nl_error_message(status),
                        "[WRONG_NUM_ARGS.WITHOUT_SUGGESTION] The `row_number` requires 0 parameters but the actual number is 1. "
                        "Please, refer to 'https://spark.apache.org/docs/latest/sql-ref-functions.html' for a fix. SQLSTATE: 42605");
    nl_error_free(status);
}

static void test_types_that_do_not_fit_are_named_as_spark_does(void **state)
{
    (void)state;
    const nl_bound_function *bound = NULL;
    nl_status status = test_bind("sum", TYPES(nl_type_of(NL_TYPE_DATE)), 1, NULL, &bound);
    assert_string_equal(nl_error_message(status),
                        "[DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE] Cannot resolve \"sum(a1)\" due to data type mismatch: The "
                        "first parameter requires the \"NUMERIC\" or \"ANSI INTERVAL\" type, however \"a1\" has the type "
                        "\"DATE\". SQLSTATE: 42K09");
    nl_error_free(status);
    expect_error(test_bind("=", TYPES(nl_type_boolean(), nl_type_int()), 2, NULL, &bound), "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES");
    expect_error(test_bind("+", TYPES(nl_type_string(), nl_type_string()), 2, NULL, &bound), "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_is_documented_and_its_signature_parses),
        cmocka_unit_test(test_names_and_aliases_are_found_in_any_case),
        cmocka_unit_test(test_wrong_numbers_of_arguments_are_named_as_spark_does),
        cmocka_unit_test(test_types_that_do_not_fit_are_named_as_spark_does),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
