/* Tests of sessions that are copied: the copy has everything, and changes of one are none of the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "session/session.h"

static nl_session *new_session(void)
{
    nl_session *session = NULL;
    assert_null(nl_session_new(NULL, 0, &session));
    return session;
}

static void test_settings_variables_and_functions_are_copied(void **state)
{
    (void)state;
    nl_session *from = new_session(), *to = new_session();
    const nl_value one = {.type = nl_type_int(), .integer = 1}, two = {.type = nl_type_int(), .integer = 2};
    const nl_session_function function = {.name = NL_STR("f"), .is_temporary = true, .text = NL_STR("CREATE TEMPORARY FUNCTION f() RETURN 1")};
    assert_null(nl_session_set(from, NL_STR("my.key"), NL_STR("1")));
    assert_null(nl_session_set(from, NL_STR("spark.sql.session.timeZone"), NL_STR("Asia/Tokyo")));
    assert_null(nl_session_put_variable(from, NL_STR("v"), &one, &two, false));
    assert_null(nl_session_put_function(from, &function));
    const nl_str name = NL_STR("other");
    assert_null(nl_session_use(from, nl_session_current_catalog(from), &name, 1));
    assert_null(nl_session_copy(from, to));
    assert_null(nl_session_set(from, NL_STR("my.key"), NL_STR("2")));
    assert_true(nl_session_drop_variable(from, NL_STR("v")));
    nl_session_free(from);
    assert_true(nl_str_is(nl_session_get(to, NL_STR("my.key")), "1"));
    assert_true(nl_str_is(nl_session_get(to, NL_STR("spark.sql.session.timeZone")), "Asia/Tokyo"));
    assert_int_equal(nl_session_find_variable(to, NL_STR("V"))->integer, 1);
    assert_int_equal(nl_session_variable_default(to, NL_STR("v"))->integer, 2);
    nl_arena *arena = nl_arena_new(NULL);
    assert_non_null(nl_session_find_function(to, NL_STR("F"), true, arena));
    nl_arena_free(arena);
    const nl_str *parts;
    uint32_t count;
    nl_session_current_namespace(to, &parts, &count);
    assert_int_equal(count, 1);
    assert_true(nl_str_is(parts[0], "other"));
    nl_session_free(to);
}

static void test_folders_of_functions_stay_with_their_session(void **state)
{
    (void)state;
    nl_session *from = new_session(), *to = new_session();
    assert_null(nl_session_set(from, NL_STR("nilas.python.files"), NL_STR("/somewhere")));
    assert_null(nl_session_copy(from, to));
    assert_null(nl_session_get(to, NL_STR("nilas.python.files")).data);
    nl_session_free(from);
    nl_session_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_variables_and_functions_are_copied),
        cmocka_unit_test(test_folders_of_functions_stay_with_their_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
