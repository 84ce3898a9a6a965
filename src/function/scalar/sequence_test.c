/* sequence, array_insert and the type rules of array functions, with Spark 4.0.1's answers. */
#include "function/test_function.h"

static void test_sequences_step_through_the_calendar(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"sequence", "int;int", {"1", "3"}, "[1, 2, 3]"},
        {"sequence", "int;int;int", {"5", "1", "-2"}, "[5, 3, 1]"},
        {"sequence", "int;int;int", {"1", "1", "0"}, "[1]"},
        {"sequence", "int;int;int", {"1", "5", "-1"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"sequence", "int;bigint", {"1", "10000000000"}, "!COLLECTION_SIZE_LIMIT_EXCEEDED.PARAMETER"},
        {"sequence", "date;date;ym", {"2024-01-31", "2024-04-30", "0-1"}, "[2024-01-31, 2024-02-29, 2024-03-31, 2024-04-30]"},
        {"sequence", "date;date", {"2024-01-03", "2024-01-01"}, "[2024-01-03, 2024-01-02, 2024-01-01]"},
        {"sequence", "date;date;dt", {"2024-01-01", "2024-01-02", "0 12:00:00"}, "!_LEGACY_ERROR_TEMP_3242"},
        {"sequence", "ntz;ntz;dt", {"2024-01-01 00:00:00", "2024-01-01 03:00:00", "0 01:30:00"},
         "[2024-01-01 00:00:00, 2024-01-01 01:30:00, 2024-01-01 03:00:00]"},
        {"sequence", "string;string", {"a", "b"}, "!DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES"},
        {"sequence", "date;date;int", {"2024-01-01", "2024-01-02", "1"}, "!DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_elements_are_put_in_at_a_position(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"array_insert", "ints;int;int", {"1,2,3", "1", "9"}, "[9, 1, 2, 3]"},
        {"array_insert", "ints;int;int", {"1,2,3", "6", "9"}, "[1, 2, 3, null, null, 9]"},
        {"array_insert", "ints;int;int", {"1,2,3", "-1", "9"}, "[1, 2, 3, 9]"},
        {"array_insert", "ints;int;int", {"1,2,3", "-6", "9"}, "[9, null, null, 1, 2, 3]"},
        {"array_insert", "ints;int;int", {"1,2,3", "0", "9"}, "!INVALID_INDEX_OF_ZERO"},
        {"array_insert", "ints;int;string", {"1,2,3", "1", "a"}, "!DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES"},
        {"array_insert", "ints;bigint;int", {"1,2,3", "1", "9"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_text_and_numbers_do_not_mix_in_arrays(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"array_contains", "ints;bigint", {"1,2", "2"}, "true"},
        {"array_contains", "ints;string", {"1,2", "2"}, "!DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES"},
        {"array_contains", "ints;void", {"1,2", NULL}, "!DATATYPE_MISMATCH.NULL_TYPE"},
        {"array_position", "int;int", {"1", "1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"array_remove", "int;int", {"1", "1"}, "!DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES"},
        {"array_union", "ints;texts", {"1", "a"}, "!DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES"},
        {"map_contains_key", "map;string", {"1:a", "1"}, "!DATATYPE_MISMATCH.MAP_FUNCTION_DIFF_TYPES"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_texts_become_maps(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"str_to_map", "string", {"a:1,b:2"}, "{a -> 1, b -> 2}"},
        {"str_to_map", "string", {""}, "{ -> null}"},
        {"str_to_map", "string;string", {"a1b2c", "[0-9]"}, "{a -> null, b -> null, c -> null}"},
        {"str_to_map", "string", {"a:1:2"}, "{a -> 1:2}"},
        {"str_to_map", "string", {"a:1,a:2"}, "!DUPLICATED_MAP_KEY"},
        {"str_to_map", "int", {"1"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sequences_step_through_the_calendar),
        cmocka_unit_test(test_elements_are_put_in_at_a_position),
        cmocka_unit_test(test_text_and_numbers_do_not_mix_in_arrays),
        cmocka_unit_test(test_texts_become_maps),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
