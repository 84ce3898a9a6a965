#include "base/test_support.h"
#include "session/plain_tables.h"
#include "session/session_private.h"

static nl_session *session;
static nl_arena *arena;

static int open_session(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    nl_error *error = nl_session_new(NULL, 0, &session);
    nl_error_free(error);
    return error ? 1 : 0;
}

static int close_session(void **state)
{
    (void)state;
    nl_arena_free(arena);
    nl_session_free(session);
    return 0;
}

static int freed;
static void count_free(void *handle)
{
    freed++;
    free(handle);
}

static void test_views_are_found_in_any_case_and_local_ones_apart_from_global_ones(void **state)
{
    (void)state;
    const nl_temp_view local = {.name = NL_STR("V"), .sql = NL_STR("SELECT 1")};
    const nl_temp_view global = {.name = NL_STR("v"), .sql = NL_STR("SELECT 2"), .is_global = true};
    assert_ok(nl_session_put_view(session, &local, false));
    assert_ok(nl_session_put_view(session, &global, false));
    assert_text(nl_session_find_view(session, NL_STR("v"), false, arena)->sql, "SELECT 1");
    assert_text(nl_session_find_view(session, NL_STR("V"), true, arena)->sql, "SELECT 2");
    assert_null(nl_session_find_view(session, NL_STR("w"), false, arena));
    assert_int_equal(nl_session_views(session, arena).count, 2);
    assert_true(nl_session_drop_view(session, NL_STR("v"), false));
    assert_false(nl_session_drop_view(session, NL_STR("v"), false));
    assert_non_null(nl_session_find_view(session, NL_STR("v"), true, arena));
}

static void test_a_view_that_exists_is_replaced_only_when_asked(void **state)
{
    (void)state;
    const nl_temp_view first = {.name = NL_STR("twice"), .handle = malloc(1), .free = count_free};
    freed = 0;
    assert_ok(nl_session_put_view(session, &first, false));
    const nl_temp_view second = {.name = NL_STR("TWICE"), .handle = malloc(1), .free = count_free};
    assert_fails(nl_session_put_view(session, &second, false), TEMP_TABLE_OR_VIEW_ALREADY_EXISTS, "`TWICE`");
    assert_int_equal(freed, 1); /* the refused handle was taken */
    const nl_temp_view third = {.name = NL_STR("Twice"), .handle = malloc(1), .free = count_free};
    assert_ok(nl_session_put_view(session, &third, true));
    assert_int_equal(freed, 2);
    nl_arena *statement = nl_arena_new(NULL);
    assert_ptr_equal(nl_session_find_view(session, NL_STR("twice"), false, statement)->handle, third.handle);
    assert_true(nl_session_drop_view(session, NL_STR("twice"), false));
    assert_int_equal(freed, 2); /* the statement that found it still has it */
    nl_arena_free(statement);
    assert_int_equal(freed, 3);
}

static void test_views_are_copied(void **state)
{
    (void)state;
    char text[] = "SELECT a";
    nl_str part = {text, 1};
    const nl_property property = {.key = {text, 3}, .value = {text + 1, 2}};
    const nl_temp_view view = {.name = NL_STR("copied"), .sql = nl_str_from(text), .namespace_parts = &part, .namespace_count = 1, .properties = &property, .property_count = 1};
    assert_ok(nl_session_put_view(session, &view, false));
    memset(text, 'x', sizeof text - 1);
    const nl_temp_view *found = nl_session_find_view(session, NL_STR("copied"), false, arena);
    assert_text(found->sql, "SELECT a");
    assert_text(found->namespace_parts[0], "S");
    assert_text(found->properties[0].key, "SEL");
    assert_text(found->properties[0].value, "EL");
}

static void test_variables_keep_their_default_when_they_are_set(void **state)
{
    (void)state;
    const nl_value one = nl_value_int(nl_type_int(), 1), two = nl_value_int(nl_type_int(), 2);
    assert_ok(nl_session_put_variable(session, NL_STR("x"), &one, &one, false));
    assert_fails(nl_session_put_variable(session, NL_STR("X"), &two, &two, false), VARIABLE_ALREADY_EXISTS, "`X`");
    assert_ok(nl_session_put_variable(session, NL_STR("X"), &two, NULL, true));
    assert_int_equal(nl_session_find_variable(session, NL_STR("x"))->integer, 2);
    assert_true(nl_session_drop_variable(session, NL_STR("x")));
    assert_false(nl_session_drop_variable(session, NL_STR("x")));
    assert_null(nl_session_find_variable(session, NL_STR("x")));
}

static void test_sessions_of_a_program_share_all_but_what_is_temporary(void **state)
{
    (void)state;
    nl_session *other = NULL;
    const nl_temp_view global = {.name = NL_STR("both"), .sql = NL_STR("SELECT 1"), .is_global = true}, own = {.name = NL_STR("mine"), .sql = NL_STR("SELECT 2")};
    const nl_session_function kept = {.name = NL_STR("spark_catalog.default.f"), .text = NL_STR("CREATE FUNCTION f() RETURN 1")};
    const nl_session_function temporary = {.name = NL_STR("g"), .is_temporary = true, .text = NL_STR("CREATE TEMPORARY FUNCTION g() RETURN 1")};
    assert_ok(nl_session_new_sharing(NULL, 0, &(nl_session_shared){.objects = nl_session_shared_objects(session)}, &other));
    assert_true(nl_session_number(other) != nl_session_number(session));
    assert_ok(nl_session_put_view(session, &global, false));
    assert_ok(nl_session_put_view(session, &own, false));
    assert_ok(nl_session_put_function(session, &kept));
    assert_ok(nl_session_put_function(session, &temporary));
    assert_non_null(nl_session_find_view(other, NL_STR("BOTH"), true, arena));
    assert_null(nl_session_find_view(other, NL_STR("mine"), false, arena));
    assert_non_null(nl_session_find_function(other, NL_STR("spark_catalog.default.F"), false, arena));
    assert_null(nl_session_find_function(other, NL_STR("g"), true, arena));
    assert_true(nl_session_drop_view(other, NL_STR("both"), true));
    assert_null(nl_session_find_view(session, NL_STR("both"), true, arena));
    nl_session_free(other);
    assert_non_null(nl_session_find_function(session, NL_STR("spark_catalog.default.f"), false, arena));
}

static void test_a_table_is_swapped_only_for_the_one_that_was_found(void **state)
{
    (void)state;
    const nl_str part = NL_STR("default"), one = NL_STR("b=1");
    const nl_identifier identifier = {&part, 1, NL_STR("T")};
    const nl_plain_table table = {.namespace_parts = &part, .namespace_count = 1, .name = NL_STR("t"), .row_type = nl_type_struct(arena, NULL, 0)};
    bool is_swapped = true;
    assert_ok(nl_session_put_plain_table(session, &table));
    const nl_plain_table *first = nl_session_find_plain_table(session, &identifier, arena);
    nl_plain_table changed = *first;
    changed.folders = &one;
    changed.folder_count = 1;
    assert_ok(nl_session_swap_plain_table(session, first, &changed, &is_swapped));
    assert_true(is_swapped);
    assert_int_equal(first->folder_count, 0); /* what was found does not change */
    assert_ok(nl_session_swap_plain_table(session, first, &changed, &is_swapped));
    assert_false(is_swapped);
    assert_int_equal(nl_session_find_plain_table(session, &identifier, arena)->folder_count, 1);
    assert_true(nl_session_drop_plain_table(session, &identifier));
    assert_ok(nl_session_swap_plain_table(session, first, &changed, &is_swapped));
    assert_false(is_swapped);
    assert_int_equal(nl_session_plain_tables(session, arena).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_views_are_found_in_any_case_and_local_ones_apart_from_global_ones),
        cmocka_unit_test(test_a_view_that_exists_is_replaced_only_when_asked),
        cmocka_unit_test(test_views_are_copied),
        cmocka_unit_test(test_sessions_of_a_program_share_all_but_what_is_temporary),
        cmocka_unit_test(test_a_table_is_swapped_only_for_the_one_that_was_found),
        cmocka_unit_test(test_variables_keep_their_default_when_they_are_set),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
