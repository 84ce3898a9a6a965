/* scalar/url_test.c - parts of URLs. Expected values are those of Spark 4.0.1. */
#include "function/test_function.h"

static void test_results_are_those_of_spark(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"parse_url", "string;string", {"http://u:p@h.x:80/a/b?q#r", "AUTHORITY"}, "u:p@h.x:80"},
        {"parse_url", "string;string", {"http://u:p@h.x:80/a/b?q#r", "USERINFO"}, "u:p"},
        {"parse_url", "string;string", {"http://u:p@h.x:80/a/b?q#r", "FILE"}, "/a/b?q"},
        {"parse_url", "string;string", {"http://u:p@h.x:80/a/b?q#r", "REF"}, "r"},
        {"parse_url", "string;string", {"http://h", "PATH"}, ""},
        {"parse_url", "string;string", {"http://h", "QUERY"}, "NULL"},
        {"parse_url", "string;string", {"mailto:a@b", "PROTOCOL"}, "mailto"},
        {"parse_url", "string;string", {"http://[::1]:80/x", "HOST"}, "[::1]"},
        {"parse_url", "string;string", {"http://h_x/", "HOST"}, "NULL"},
        {"parse_url", "string;string", {"http://a b/c", "HOST"}, "!INVALID_URL"},
        {"parse_url", "string;string;string", {"http://h/?a.b=1&axb=2", "QUERY", "a.b"}, "1"},
        {"try_parse_url", "string;string", {"http://h/%zz", "PATH"}, "NULL"},
        {"try_parse_url", "string;string", {"http:", "PROTOCOL"}, "NULL"},
    };
    run_cases(cases, NL_COUNT(cases));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_are_those_of_spark)};
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
