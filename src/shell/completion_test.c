#include "base/test_support.h"
#include "command/command.h"
#include "shell/completion.h"

static nl_session *session;
static nl_arena *arena;

static void run(const char *sql)
{
    nl_result *result = NULL;
    assert_ok(nl_command_run(session, nl_str_from(sql), &result));
    nl_result_close(result);
}

static int set_up(void **state)
{
    (void)state;
    const nl_property confs[] = {{NL_STR("spark.sql.catalog.lake"), NL_STR("org.apache.iceberg.spark.SparkCatalog")}};
    arena = nl_arena_new(NULL);
    if (nl_session_new(confs, 1, &session)) return 1;
    run("CREATE TEMPORARY VIEW readings AS SELECT 1 AS station_id, 2 AS station_name, 3 AS celsius");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_session_free(session);
    nl_arena_free(arena);
    return 0;
}

static nl_completions complete(const char *before)
{
    nl_completions found;
    nl_complete(session, nl_str_from(before), arena, &found);
    return found;
}

/* The completions in one line, divided by blanks. */
static const char *all(const char *before)
{
    const nl_completions found = complete(before);
    nl_str text = NL_STR("");
    for (uint32_t i = 0; i < found.count; i++)
        text = nl_arena_f(arena, NL_STR_FMT "%s" NL_STR_FMT, NL_STR_ARG(text), i ? " " : "", NL_STR_ARG(found.items[i]));
    return nl_str_c(arena, text);
}

static void test_keywords_come_in_the_case_that_was_begun(void **state)
{
    (void)state;
    assert_string_equal(all("SELE"), "SELECT");
    assert_string_equal(all("sele"), "select");
    assert_int_equal(complete("SELECT 1 zzz").count, 0);
    assert_int_equal(complete("SELECT 1 zzz").word_length, 3);
}

static void test_columns_are_those_of_the_tables_named_so_far(void **state)
{
    (void)state;
    assert_string_equal(all("FROM readings SELECT celsi"), "celsius");
    assert_string_equal(all("SELECT * FROM readings WHERE station_"), "station_id station_name");
    assert_string_equal(all("SELECT * FROM readings AS r WHERE r.c"), "r.celsius");
    assert_string_equal(all("SELECT * FROM readings r WHERE R.C"), "R.celsius");
    assert_string_equal(all("SELECT * FROM readings r WHERE other.c"), "");
    assert_string_equal(all("SELECT celsi"), "");
    assert_string_equal(all("SELECT * FROM no_such_table WHERE celsi"), "");
}

static void test_tables_stand_behind_from_and_join(void **state)
{
    (void)state;
    assert_string_equal(all("SELECT * FROM rea"), "readings");
    assert_string_equal(all("SELECT * FROM a JOIN\nrea"), "readings");
    assert_string_equal(all("USE la"), "lake");
    assert_string_equal(all("USE rea"), ""); /* no namespace */
}

static void test_keys_stand_behind_set(void **state)
{
    (void)state;
    assert_string_equal(all("SET spark.sql.ansi.en"), "spark.sql.ansi.enabled spark.sql.ansi.enforceReservedKeywords");
    assert_string_equal(all("RESET spark.sql.session.t"), "spark.sql.session.timeZone");
}

static void test_the_common_part_is_what_all_share(void **state)
{
    (void)state;
    const nl_completions found = complete("SELECT * FROM readings WHERE st");
    assert_true(found.count >= 2);
    const nl_completions stations = complete("SELECT * FROM readings WHERE station");
    assert_text(nl_completions_common(&stations), "station_");
    const nl_completions none = complete("SELECT 1 zzz");
    assert_int_equal(nl_completions_common(&none).length, 0);
}

static void test_texts_that_are_no_sql_give_nothing_bad(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "'", "\"open", "/* open", "....", "`a.b", "SELECT \xff\xfe", "FROM", "FROM ", "FROM a.", "FROM .", "USE ..", "SELECT * FROM a AS", "SET"};
    for (size_t i = 0; i < NL_COUNT(texts); i++)
        (void)complete(texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keywords_come_in_the_case_that_was_begun),
        cmocka_unit_test(test_columns_are_those_of_the_tables_named_so_far),
        cmocka_unit_test(test_tables_stand_behind_from_and_join),
        cmocka_unit_test(test_keys_stand_behind_set),
        cmocka_unit_test(test_the_common_part_is_what_all_share),
        cmocka_unit_test(test_texts_that_are_no_sql_give_nothing_bad),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
