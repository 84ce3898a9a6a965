/* scalar/charset_test.c - encode, decode, to_binary. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"decode", "binary;string", {"a", "utf-16"}, "!MALFORMED_CHARACTER_CODING"},
        {"decode", "binary;string", {"\xE9", "iso-8859-1"}, "\xC3\xA9"},
        {"decode", "binary;string", {"\xFF", "utf-8"}, "!MALFORMED_CHARACTER_CODING"},
        {"decode", "binary;string", {"a", "FOO"}, "!INVALID_PARAMETER_VALUE.CHARSET"},
        {"encode", "string;string", {"\xE2\x82\xAC", "US-ASCII"}, "!MALFORMED_CHARACTER_CODING"},
        {"encode", "string;string", {"abc", "utf-8"}, "abc"},
        {"encode", "string;string", {NULL, "FOO"}, "NULL"},
        {"to_binary", "string;string", {"616263", "hex"}, "abc"},
        {"to_binary", "string;string", {"YQ==", "base64"}, "a"},
        {"to_binary", "string;string", {"a!", "base64"}, "!CONVERSION_INVALID_INPUT"},
        {"to_binary", "string;string", {"abc", "foo"}, "!DATATYPE_MISMATCH.INVALID_ARG_VALUE"},
        {"try_to_binary", "string;string", {"YQ =  =", "base64"}, "NULL"},
        {"try_to_binary", "string;string", {"YWJjYQ", "base64"}, "abca"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
