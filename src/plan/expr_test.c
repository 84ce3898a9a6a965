/* Making, comparing, rewriting and printing typed expressions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/expr.h"

static nl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_arena_free(arena);
    return 0;
}

static const nl_expr *column(nl_column_id id, const char *name, const nl_type *type)
{
    return nl_expr_column(arena, id, nl_str_from(name), type, true);
}

static const nl_expr *integer(int64_t value)
{
    const nl_value literal = nl_value_int(nl_type_int(), value);
    return nl_expr_literal(arena, &literal);
}

static const nl_expr *flag(nl_column_id id)
{
    return column(id, "f", nl_type_boolean());
}

static const char *text_of(const nl_expr *expr)
{
    nl_builder out;
    nl_builder_init(&out, 1u << 16);
    nl_expr_append_text(expr, &out);
    const char *text = nl_str_c(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return text;
}

static void test_conjunctions_are_flat(void **state)
{
    (void)state;
    const nl_expr *both = nl_expr_and(arena, nl_expr_and(arena, flag(1), flag(2)), nl_expr_and(arena, flag(3), flag(4)));
    assert_int_equal(both->child_count, 4);
    assert_ptr_equal(nl_expr_and(arena, NULL, both), both);
    nl_list conjuncts = {0};
    nl_expr_conjuncts(arena, both, &conjuncts);
    assert_int_equal(conjuncts.count, 4);
    nl_expr_conjuncts(arena, NULL, &conjuncts);
    assert_int_equal(conjuncts.count, 4);
}

static void test_equality_is_structural(void **state)
{
    (void)state;
    assert_true(nl_expr_equal(column(1, "a", nl_type_int()), column(1, "b", nl_type_int())));
    assert_false(nl_expr_equal(column(1, "a", nl_type_int()), column(2, "a", nl_type_int())));
    assert_true(nl_expr_equal(nl_expr_not(arena, flag(1)), nl_expr_not(arena, flag(1))));
    assert_false(nl_expr_equal(integer(1), integer(2)));
    assert_true(nl_expr_equal(nl_expr_is_null(arena, flag(1), false), nl_expr_is_null(arena, flag(1), false)));
    assert_false(nl_expr_equal(nl_expr_is_null(arena, flag(1), false), nl_expr_is_null(arena, flag(1), true)));
}

static void test_what_commutes_is_the_same(void **state)
{
    (void)state;
    const nl_expr *both = nl_expr_and(arena, flag(1), flag(2));
    const nl_expr *other = nl_expr_and(arena, flag(2), flag(1));
    assert_false(nl_expr_equal(both, other));
    assert_true(nl_expr_same(both, other));
    assert_true(nl_expr_same(nl_expr_or(arena, both, flag(3)), nl_expr_or(arena, flag(3), other)));
    assert_false(nl_expr_same(both, nl_expr_or(arena, flag(2), flag(1))));
    assert_false(nl_expr_same(both, nl_expr_and(arena, flag(1), flag(1)))); /* each operand has a partner of its own */
    const nl_expr *const ab[] = {flag(1), flag(2)}, *const ba[] = {flag(2), flag(1)};
    assert_false(nl_expr_same(nl_expr_coalesce(arena, ab, 2), nl_expr_coalesce(arena, ba, 2)));
}

static void test_a_set_finds_what_is_the_same(void **state)
{
    (void)state;
    nl_expr_set set = {0};
    nl_expr_set exact = {.is_exact = true};
    assert_int_equal(nl_expr_set_find(&set, flag(1)), NL_EXPR_SET_NONE);
    for (nl_column_id id = 1; id <= 100; id++) {
        const nl_expr *both = nl_expr_and(arena, flag(id), nl_expr_not(arena, flag(id + 1)));
        nl_expr_set_add(arena, &set, both);
        nl_expr_set_add(arena, &exact, both);
    }
    for (nl_column_id id = 1; id <= 100; id++) {
        const nl_expr *other = nl_expr_and(arena, nl_expr_not(arena, flag(id + 1)), flag(id));
        assert_int_equal(nl_expr_set_find(&set, other), id - 1);
        assert_int_equal(nl_expr_set_find(&exact, other), NL_EXPR_SET_NONE);
        assert_int_equal(nl_expr_set_find(&exact, set.exprs.items[id - 1]), id - 1);
    }
    assert_int_equal(nl_expr_set_find(&set, nl_expr_and(arena, flag(1), flag(2))), NL_EXPR_SET_NONE);
    assert_int_equal(nl_expr_set_find(&set, integer(1)), NL_EXPR_SET_NONE);
}

static nl_status rename_column(void *context, nl_arena *where, const nl_expr *expr, const nl_expr **result)
{
    *result = expr;
    if (expr->kind == NL_EXPR_COLUMN && expr->column == 1) *result = nl_expr_column(where, *(const nl_column_id *)context, expr->name, expr->type, true);
    return NULL;
}

static void test_rewrites_share_what_does_not_change(void **state)
{
    (void)state;
    nl_column_id target = 9;
    const nl_expr *kept = nl_expr_not(arena, flag(2));
    const nl_expr *expr = nl_expr_or(arena, nl_expr_not(arena, flag(1)), kept);
    const nl_expr *result = NULL;
    assert_null(nl_expr_rewrite(arena, expr, rename_column, &target, &result));
    assert_ptr_not_equal(result, expr);
    assert_ptr_equal(result->children[1], kept);
    assert_string_equal(text_of(result), "(NOT f#9 OR NOT f#2)");
    assert_null(nl_expr_rewrite(arena, kept, rename_column, &target, &result));
    assert_ptr_equal(result, kept);
}

static void test_casts_that_change_nothing_are_not_made(void **state)
{
    (void)state;
    const nl_expr *a = column(1, "a", nl_type_int());
    assert_ptr_equal(nl_expr_cast(arena, a, nl_type_int(), NL_CAST_ANSI), a);
    const nl_expr *wide = nl_expr_cast(arena, a, nl_type_bigint(), NL_CAST_ANSI);
    assert_string_equal(text_of(wide), "cast(a#1 as bigint)");
    assert_true(nl_str_is(nl_expr_pretty_str(arena, wide), "a"));
    assert_false(nl_expr_can_fail(wide));
    assert_true(nl_expr_can_fail(nl_expr_cast(arena, column(1, "s", nl_type_string()), nl_type_int(), NL_CAST_ANSI)));
}

static void test_columns_are_found_once(void **state)
{
    (void)state;
    nl_list ids = {0};
    nl_expr_columns(arena, nl_expr_and(arena, nl_expr_or(arena, flag(1), flag(2)), flag(1)), &ids);
    assert_int_equal(ids.count, 2);
    assert_true(nl_expr_is_constant(integer(1)));
    assert_false(nl_expr_is_constant(flag(1)));
}

static void test_pretty_ropes_are_rendered(void **state)
{
    (void)state;
    const nl_pretty *const parts[] = {nl_pretty_text(arena, NL_STR("a")), nl_expr_pretty(arena, integer(5))};
    const nl_pretty *sum = nl_pretty_parts(arena, NL_STR("(\1 + \1)"), parts, 2);
    assert_true(nl_str_is(nl_expr_pretty_str(arena, nl_expr_with_pretty(arena, integer(1), sum)), "(a + 5)"));
    const nl_expr *choice = nl_expr_if(arena, flag(1), integer(1), integer(2));
    assert_true(nl_str_is(nl_expr_pretty_str(arena, choice), "CASE WHEN f THEN 1 ELSE 2 END"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conjunctions_are_flat),
        cmocka_unit_test(test_equality_is_structural),
        cmocka_unit_test(test_what_commutes_is_the_same),
        cmocka_unit_test(test_a_set_finds_what_is_the_same),
        cmocka_unit_test(test_rewrites_share_what_does_not_change),
        cmocka_unit_test(test_casts_that_change_nothing_are_not_made),
        cmocka_unit_test(test_columns_are_found_once),
        cmocka_unit_test(test_pretty_ropes_are_rendered),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
