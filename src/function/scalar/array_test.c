/* scalar/array_test.c - array functions, encodings and odds and ends; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_arrays(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"array_append", "ints;int", {"1,2", "3"}, "[1, 2, 3]"},
        {"array_prepend", "ints;int", {"1", "0"}, "[0, 1]"},
        {"array_compact", "ints", {"1,null,2"}, "[1, 2]"},
        {"array_contains", "ints;int", {"1,null", "2"}, "NULL"},
        {"array_contains", "ints;bigint", {"1", "1"}, "true"},
        {"array_distinct", "ints", {"1,2,1,null,null"}, "[1, 2, null]"},
        {"array_except", "ints;ints", {"1,2,3,2", "2"}, "[1, 3]"},
        {"array_intersect", "ints;ints", {"1,2,2,null", "2,null,2"}, "[2, null]"},
        {"array_union", "ints;ints", {"1,2", "2,3,null"}, "[1, 2, 3, null]"},
        {"array_join", "texts;string", {"a,null,b", ","}, "a,b"},
        {"array_join", "texts;string;string", {"a,null,b", ",", "N"}, "a,N,b"},
        {"array_max", "ints", {"1,null,3"}, "3"},
        {"array_min", "ints", {"1,null,3"}, "1"},
        {"array_position", "ints;int", {"1,2,2", "2"}, "2"},
        {"array_position", "ints;int", {"1", "5"}, "0"},
        {"array_remove", "ints;int", {"1,2,null,2", "2"}, "[1, null]"},
        {"array_repeat", "string;int", {"a", "3"}, "[a, a, a]"},
        {"array_repeat", "int;int", {"1", "-1"}, "[]"},
        {"arrays_overlap", "ints;ints", {"1,2", "2"}, "true"},
        {"arrays_overlap", "ints;ints", {"1,null", "2"}, "NULL"},
        {"sequence", "int;int", {"1", "5"}, "[1, 2, 3, 4, 5]"},
        {"sequence", "int;int;int", {"5", "1", "-2"}, "[5, 3, 1]"},
        {"sequence", "date;date;month", {"2020-01-31", "2020-04-30", "1"}, "[2020-01-31, 2020-02-29, 2020-03-31, 2020-04-30]"},
        {"sequence", "date;date", {"2020-01-01", "2020-01-03"}, "[2020-01-01, 2020-01-02, 2020-01-03]"},
        {"sequence", "int;int;int", {"1", "5", "-1"}, "!NILAS_ILLEGAL_ARGUMENT"},
        {"slice", "ints;int;int", {"1,2,3,4", "2", "2"}, "[2, 3]"},
        {"slice", "ints;int;int", {"1,2,3", "-2", "2"}, "[2, 3]"},
        {"slice", "ints;int;int", {"1", "0", "1"}, "!INVALID_PARAMETER_VALUE.START"},
        {"slice", "ints;int;int", {"1", "1", "-1"}, "!INVALID_PARAMETER_VALUE.LENGTH"},
        {"sort_array", "ints", {"3,null,1"}, "[null, 1, 3]"},
        {"sort_array", "ints;boolean", {"3,null,1", "false"}, "[3, 1, null]"},
        {"array_sort", "ints", {"3,1,null,2"}, "[1, 2, 3, null]"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_encodings(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"hex", "int", {"17"}, "11"},
        {"hex", "int", {"-1"}, "FFFFFFFFFFFFFFFF"},
        {"hex", "string", {"abc"}, "616263"},
        {"hex", "decimal(2,1)", {"1.7"}, "1"},
        {"hex", "boolean", {"true"}, "74727565"},
        {"unhex", "string", {"616263"}, "abc"},
        {"unhex", "string", {"zz"}, "NULL"},
        {"bin", "int", {"13"}, "1101"},
        {"conv", "string;int;int", {"-10", "16", "-10"}, "-16"},
        {"conv", "string;int;int", {"zz", "36", "10"}, "1295"},
        {"conv", "string;int;int", {"9", "8", "10"}, "0"},
        {"conv", "string;int;int", {"", "10", "2"}, "NULL"},
        {"conv", "string;int;int", {"18446744073709551615", "10", "16"}, "FFFFFFFFFFFFFFFF"},
        {"conv", "string;int;int", {"18446744073709551616", "10", "16"}, "!ARITHMETIC_OVERFLOW"},
        {"base64", "string", {"abc"}, "YWJj"},
        {"unbase64", "string", {"YWJj"}, "abc"},
        {"unbase64", "string", {"!!!"}, ""},
        {"url_encode", "string", {"https://a.b/c d?\xC3\xA9"}, "https%3A%2F%2Fa.b%2Fc+d%3F%C3%A9"},
        {"url_decode", "string", {"https%3A%2F%2Fa.b+c"}, "https://a.b c"},
        {"url_decode", "string", {"%zz"}, "!CANNOT_DECODE_URL"},
        {"try_url_decode", "string", {"%zz"}, "NULL"},
        {"typeof", "ints", {"1"}, "array<int>"},
        {"raise_error", "string", {"bad"}, "!USER_RAISED_EXCEPTION"},
        {"assert_true", "boolean", {"true"}, "NULL"},
        {"assert_true", "boolean", {"false"}, "!USER_RAISED_EXCEPTION"},
        {"bitmap_bit_position", "int", {"40000"}, "7231"},
        {"bitmap_bucket_number", "int", {"40000"}, "2"},
    };
    run_cases(cases, NL_COUNT(cases));
}

/* Spark's first numbers of partition 0 for seed 0. */
static void test_random_numbers_are_sparks(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *first;
    } cases[] = {{"rand", "0.7604953758285915"}, {"randn", "1.6034991609278433"}};
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        const nl_bound_function *bound = NULL;
        nl_value seed = nl_value_int(nl_type_int(), 0);
        const nl_value *constants[] = {&seed};
        nl_vector arg = {0};
        nl_vector out = {0};
        nl_eval eval = {.confs = &test_confs, .memory = test_memory};
        expect_success(test_bind(cases[i].name, TYPES(nl_type_int()), 1, constants, &bound));
        expect_success(bound->row->make_worker_state(bound, 0, &eval.worker_state));
        expect_success(nl_vector_new_constant(&arg, &seed, 3, test_memory));
        expect_success(nl_function_call(bound, &eval, &arg, NULL, NL_ALL_ROWS(3), 3, &out));
        assert_string_equal(test_text(&out, 0), cases[i].first);
        assert_string_not_equal(test_text(&out, 1), cases[i].first);
        nl_vector_fini(&out);
        nl_vector_fini(&arg);
        bound->row->free_worker_state(eval.worker_state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_encodings),
        cmocka_unit_test(test_random_numbers_are_sparks),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
