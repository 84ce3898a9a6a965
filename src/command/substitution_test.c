#include "base/test_support.h"
#include "command/substitution.h"

#include <unistd.h>

static nl_session *session;
static nl_arena *arena;

static int open_session(void **state)
{
    (void)state;
    const nl_property confs[] = {{NL_STR("x"), NL_STR("1")}, {NL_STR("outer"), NL_STR("<${inner}>")}, {NL_STR("inner"), NL_STR("in")}, {NL_STR("loop"), NL_STR("${loop}")},
                                 {NL_STR("spark.my.key"), NL_STR("v")}};
    arena = nl_arena_new(NULL);
    nl_error *error = nl_session_new(confs, NL_COUNT(confs), &session);
    nl_error_free(error);
    return error ? 1 : 0;
}

static int close_session(void **state)
{
    (void)state;
    nl_session_free(session);
    nl_arena_free(arena);
    return 0;
}

static void expect(const char *text, const char *expected)
{
    nl_str result;
    assert_ok(nl_substitute_variables(session, arena, nl_str_from(text), &result));
    assert_text(result, expected);
}

/* What spark-sql 4.0.1 does: tests/shell/spark_sql.json, define, define_unset, hiveconf, spark_variable, env_and_system. */
static void test_references_are_replaced_by_confs(void **state)
{
    (void)state;
    expect("SELECT ${x}, '${hivevar:x}${hiveconf:x}'", "SELECT 1, '11'");
    expect("${spark.my.key} ${spark:spark.my.key} ${sparkconf:spark.my.key}", "v v v");
    expect("no reference", "no reference");
    expect("${outer}", "<in>");
}

static void test_what_is_not_set_is_empty_and_other_prefixes_stay(void **state)
{
    (void)state;
    expect("[${nope}] [${hivevar:nope}]", "[] []");
    expect("${strange:x} ${env:NILAS_NO_SUCH_VARIABLE} ${system:no.such.property}", "${strange:x} ${env:NILAS_NO_SUCH_VARIABLE} ${system:no.such.property}");
    expect("${open", "${open");
    expect("$ {x} $x", "$ {x} $x");
}

static void test_the_environment_is_there(void **state)
{
    (void)state;
    char folder[4096];
    assert_int_equal(setenv("NILAS_TEST_WORD", "word", 1), 0);
    expect("${env:NILAS_TEST_WORD}", "word");
    expect("${system:user.dir}", getcwd(folder, sizeof folder));
}

static void test_a_value_that_holds_itself_ends(void **state)
{
    (void)state;
    nl_str result;
    nl_error_free(nl_substitute_variables(session, arena, NL_STR("${loop}"), &result));
}

static void test_it_can_be_switched_off(void **state)
{
    (void)state;
    assert_ok(nl_session_set(session, NL_STR("spark.sql.variable.substitute"), NL_STR("false")));
    expect("${x}", "${x}");
    assert_ok(nl_session_unset(session, NL_STR("spark.sql.variable.substitute")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references_are_replaced_by_confs),
        cmocka_unit_test(test_what_is_not_set_is_empty_and_other_prefixes_stay),
        cmocka_unit_test(test_the_environment_is_there),
        cmocka_unit_test(test_a_value_that_holds_itself_ends),
        cmocka_unit_test(test_it_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
