#include "base/test_support.h"
#include "session/session_private.h"

#include <unistd.h>

static nl_session *open_session(const nl_property *confs, uint32_t count)
{
    nl_session *session = NULL;
    assert_ok(nl_session_new(confs, count, &session));
    return session;
}

static void assert_current(const nl_session *session, const char *catalog, const char *first)
{
    const nl_str *parts;
    uint32_t count;
    assert_text(nl_session_current_catalog(session), catalog);
    nl_session_current_namespace(session, &parts, &count);
    assert_int_equal(count, 1);
    assert_text(parts[0], first);
}

static void test_without_configuration_the_built_in_catalog_is_current(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    assert_current(session, "local", "default");
    assert_true(nl_session_has_catalog(session, NL_STR("local")));
    assert_true(nl_session_has_catalog(session, NL_STR("spark_catalog")));
    assert_false(nl_session_has_catalog(session, NL_STR("lake")));
    nl_session_free(session);
}

static void test_a_configured_catalog_makes_the_session_catalog_current_as_in_spark(void **state)
{
    (void)state;
    const nl_property confs[] = {
        {NL_STR("spark.sql.catalog.lake"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
        {NL_STR("spark.sql.catalog.lake.default-namespace"), NL_STR("main")},
        {NL_STR("spark.sql.defaultCatalog"), NL_STR("lake")},
    };
    nl_session *session = open_session(confs, 2);
    assert_current(session, "spark_catalog", "default");
    assert_true(nl_session_has_catalog(session, NL_STR("lake")));
    nl_session_free(session);
    session = open_session(confs, 3);
    assert_current(session, "lake", "main");
    nl_session_free(session);
}

static void test_names_are_resolved_by_catalog_then_by_the_current_one(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_session *session = open_session(NULL, 0);
    nl_session_name name;
    const nl_str bare[] = {NL_STR("t")}, qualified[] = {NL_STR("db"), NL_STR("t")}, full[] = {NL_STR("local"), NL_STR("a"), NL_STR("b"), NL_STR("t")};
    assert_ok(nl_session_resolve(session, bare, 1, arena, &name));
    assert_text(name.catalog_name, "local");
    assert_int_equal(name.identifier.namespace_count, 1);
    assert_text(name.identifier.namespace_parts[0], "default");
    assert_ok(nl_session_resolve(session, qualified, 2, arena, &name));
    assert_text(name.identifier.namespace_parts[0], "db");
    assert_ok(nl_session_resolve(session, full, 4, arena, &name));
    assert_int_equal(name.identifier.namespace_count, 2);
    assert_text(name.identifier.name, "t");
    assert_ok(nl_session_resolve_namespace(session, full, 3, arena, &name));
    assert_int_equal(name.identifier.namespace_count, 2);
    assert_ok(nl_session_resolve_namespace(session, NULL, 0, arena, &name));
    assert_text(name.identifier.namespace_parts[0], "default");
    nl_session_free(session);
    nl_arena_free(arena);
}

static void test_use_changes_where_names_are_looked_for(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    const nl_str parts[] = {NL_STR("db")};
    assert_ok(nl_session_use(session, NL_STR("local"), parts, 1));
    assert_current(session, "local", "db");
    const nl_str *current;
    uint32_t count;
    nl_session_current_namespace(session, &current, &count);
    assert_ok(nl_session_use(session, nl_session_current_catalog(session), current, count)); /* what it gives may be given back */
    assert_current(session, "local", "db");
    nl_session_free(session);
}

static void test_unknown_catalogs_are_named_with_their_key(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    nl_catalog *catalog = NULL;
    assert_fails(nl_session_catalog(session, NL_STR("nope"), &catalog), CATALOG_NOT_FOUND, "spark.sql.catalog.nope");
    nl_session_free(session);
    const nl_property wrong = {NL_STR("spark.sql.catalog.c"), NL_STR("org.example.Catalog")};
    session = open_session(&wrong, 1);
    assert_fails(nl_session_catalog(session, NL_STR("c"), &catalog), NILAS_ILLEGAL_ARGUMENT, "org.apache.iceberg.spark.SparkCatalog");
    nl_session_free(session);
}

static void test_cancelling_lasts_until_the_next_statement(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    nl_session_begin(session);
    nl_session_cancel(session);
    assert_fails(nl_cancel_check(nl_session_cancel_token(session)), OPERATION_CANCELED, NULL);
    atomic_store(&nl_session_progress(session)->rows, 5);
    nl_session_begin(session);
    assert_ok(nl_cancel_check(nl_session_cancel_token(session)));
    assert_int_equal(nl_session_progress(session)->rows, 0);
    nl_session_free(session);
}

static void test_master_limits_the_workers(void **state)
{
    (void)state;
    static const struct {
        const char *master;
        uint32_t workers; /* 0: one per core */
    } rows[] = {{"local", 1}, {"local[1]", 1}, {"local[3]", 3}, {"local[*]", 0}, {"yarn", 0}, {"local[0]", 0}, {"local[99999]", 0}};
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_property conf = {NL_STR("spark.master"), nl_str_from(rows[i].master)};
        nl_session *session = open_session(&conf, 1);
        assert_int_equal(nl_pool_thread_count(nl_session_pool(session)), rows[i].workers ? rows[i].workers : (uint32_t)cores);
        nl_session_free(session);
    }
}

typedef struct turn {
    bool is_mine;
    int leaves, enters;
} turn;

static bool turn_is_mine(void *context)
{
    return ((turn *)context)->is_mine;
}

static void turn_leave(void *context)
{
    ((turn *)context)->is_mine = false;
    ((turn *)context)->leaves++;
}

static void turn_enter(void *context)
{
    ((turn *)context)->is_mine = true;
    ((turn *)context)->enters++;
}

static void test_a_statement_goes_on_with_what_it_had_before_it_left_its_turn(void **state)
{
    (void)state;
    nl_session *session = open_session(NULL, 0);
    turn t = {.is_mine = true};
    nl_progress first = {0}, second = {0};
    nl_cancel *one = nl_cancel_new(NULL), *two = nl_cancel_new(NULL);
    nl_session_set_turns(session, &(nl_session_turns){turn_is_mine, turn_leave, turn_enter, &t});
    nl_session_begin_with(session, one, &first);
    nl_session_pause pause = nl_session_leave(session);
    nl_session_pause nothing = nl_session_leave(session); /* the turn is somebody else's now */
    assert_true(pause.is_left && !nothing.is_left);
    nl_session_enter(session, &nothing);
    assert_int_equal(t.enters, 0);
    nl_session_begin_with(session, two, &second);
    assert_ptr_equal(nl_session_progress(session), &second);
    nl_session_enter(session, &pause);
    assert_ptr_equal(nl_session_progress(session), &first);
    assert_ptr_equal(nl_session_cancel_token(session), one);
    assert_false(nl_session_claim(session)); /* it is ours */
    t.is_mine = false;
    const bool is_claimed = nl_session_claim(session);
    assert_true(is_claimed && t.is_mine);
    nl_session_unclaim(session, is_claimed);
    assert_false(t.is_mine);
    nl_cancel_release(one);
    nl_cancel_release(two);
    nl_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_configuration_the_built_in_catalog_is_current),
        cmocka_unit_test(test_a_configured_catalog_makes_the_session_catalog_current_as_in_spark),
        cmocka_unit_test(test_names_are_resolved_by_catalog_then_by_the_current_one),
        cmocka_unit_test(test_use_changes_where_names_are_looked_for),
        cmocka_unit_test(test_unknown_catalogs_are_named_with_their_key),
        cmocka_unit_test(test_cancelling_lasts_until_the_next_statement),
        cmocka_unit_test(test_a_statement_goes_on_with_what_it_had_before_it_left_its_turn),
        cmocka_unit_test(test_master_limits_the_workers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
