/* scalar/aes_test.c - AES in its modes. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"aes_decrypt", "binary;binary;string", {"", "1234567890abcdef", "ECB"}, "!INVALID_PARAMETER_VALUE.AES_CRYPTO_ERROR"},
        {"aes_encrypt", "binary;binary", {"a", "b"}, "!INVALID_PARAMETER_VALUE.AES_KEY_LENGTH"},
        {"aes_encrypt", "binary;binary;string;string", {"a", "0000111122223333", "CBC", "FOO"}, "!UNSUPPORTED_FEATURE.AES_MODE"},
        {"aes_encrypt", "binary;binary;string;string;binary", {"a", "0000111122223333", "GCM", "DEFAULT", "abc"}, "!INVALID_PARAMETER_VALUE.AES_IV_LENGTH"},
        {"aes_encrypt", "binary;binary;string;string;binary", {"a", "0000111122223333", "ECB", "DEFAULT", "abc"}, "!UNSUPPORTED_FEATURE.AES_MODE_IV"},
        {"try_aes_decrypt", "binary;binary", {"a", "0000111122223333"}, "NULL"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
