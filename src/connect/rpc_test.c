/* The parts of the transport that need no network; tests/connect/wire_test.py speaks to all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test_support.h"
#include "connect/rpc_private.h"

static void test_timeouts_are_read_as_grpc_writes_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t micros;
    } rows[] = {{"10S", 10000000},  {"250m", 250000}, {"99999999H", 359999996400000000}, {"3M", 180000000}, {"7u", 7}, {"1500n", 1},
                {"S", -1},          {"", -1},         {"100000000S", -1},                {"-1S", -1},       {"1x", -1}, {"1.5S", -1}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) assert_int_equal(nl_rpc_parse_timeout(nl_str_from(rows[i].text)), rows[i].micros);
}

static void test_only_the_whole_token_opens(void **state)
{
    (void)state;
    const nl_rpc_server server = {.options = {.token = NL_STR("secret")}};
    assert_true(nl_rpc_is_authorized(&server, NL_STR("Bearer secret")));
    assert_true(nl_rpc_is_authorized(&server, NL_STR("bearer secret")));
    assert_false(nl_rpc_is_authorized(&server, NL_STR("Bearer secre")));
    assert_false(nl_rpc_is_authorized(&server, NL_STR("Bearer secret ")));
    assert_false(nl_rpc_is_authorized(&server, NL_STR("Basic secret")));
    assert_false(nl_rpc_is_authorized(&server, NL_STR("")));
}

static void test_a_server_on_a_taken_port_says_so(void **state)
{
    (void)state;
    nl_rpc_server *first = NULL, *second = NULL;
    nl_memory *memory = nl_memory_new(NULL, "test", SIZE_MAX);
    assert_ok(nl_rpc_server_new(&(nl_rpc_server_options){.service_name = "s"}, memory, &first));
    nl_error *error = nl_rpc_server_new(&(nl_rpc_server_options){.service_name = "s", .port = nl_rpc_server_port(first)}, memory, &second);
    assert_non_null(error);
    assert_int_equal(nl_error_condition(error), NL_COND_NILAS_ILLEGAL_ARGUMENT);
    assert_non_null(strstr(nl_error_message(error), "127.0.0.1"));
    nl_error_free(error);
    nl_rpc_server_free(first);
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeouts_are_read_as_grpc_writes_them),
        cmocka_unit_test(test_only_the_whole_token_opens),
        cmocka_unit_test(test_a_server_on_a_taken_port_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
