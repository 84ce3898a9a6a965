/* scalar/json_test.c - paths into JSON, lengths, keys. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"get_json_object", "string;string", {"{\"a\":{\"b\":[1,2,{\"c\":3}]}}", "$.a.b[2].c"}, "3"},
        {"get_json_object", "string;string", {"[{\"a\":1},{\"a\":2}]", "$[*].a"}, "[1,2]"},
        {"get_json_object", "string;string", {"[[1,2],[3]]", "$[*][*]"}, "[1,2,3]"},
        {"get_json_object", "string;string", {"{\"a\":[{\"b\":1}]}", "$.a[*].b"}, "1"},
        {"get_json_object", "string;string", {"{\"a\":1.50}", "$.a"}, "1.5"},
        {"get_json_object", "string;string", {"{\"a\":null}", "$.a"}, "NULL"},
        {"get_json_object", "string;string", {"{\"a\":1", "$.a"}, "NULL"},
        {"get_json_object", "string;string", {"{\"a\":1}", "a"}, "NULL"},
        {"get_json_object", "int;string", {"1", "$.a"}, "!DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE"},
        {"json_array_length", "string", {"[1,2,3,{\"f1\":1,\"f2\":[5,6]},4]"}, "5"},
        {"json_array_length", "string", {"[1,2"}, "NULL"},
        {"json_object_keys", "string", {"{\"a\":1,\"a\":2}"}, "[a, a]"},
        {"json_object_keys", "string", {"[1]"}, "NULL"},
        {"to_json", "ints", {"1,null,2"}, "[1,null,2]"},
        {"to_json", "int", {"1"}, "!DATATYPE_MISMATCH.INVALID_JSON_SCHEMA"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
