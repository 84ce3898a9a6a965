/* Names of collations, and how UTF8_LCASE folds; expected values are what Spark 4.0.1 answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function/collation.h"

static void test_names_have_one_spelling(void **state)
{
    static const struct {
        const char *written, *name;
        nl_collation_kind kind;
        bool ignores_case, ignores_accents;
    } rows[] = {
        {"utf8_binary", "UTF8_BINARY", NL_COLLATION_BINARY, false, false},
        {"UTF8_lcase", "UTF8_LCASE", NL_COLLATION_LCASE, true, false},
        {"unicode", "UNICODE", NL_COLLATION_ICU, false, false},
        {"Unicode_CI", "UNICODE_CI", NL_COLLATION_ICU, true, false},
        {"unicode_ai", "UNICODE_AI", NL_COLLATION_ICU, false, true},
        {"sr_ci_ai", "sr_CI_AI", NL_COLLATION_ICU, true, true},
        {"SR_AI_CI", "sr_CI_AI", NL_COLLATION_ICU, true, true},
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_collation found;
        assert_null(nl_collation_find(arena, nl_str_from(rows[i].written), &found));
        assert_true(nl_str_is(found.name, rows[i].name));
        assert_int_equal(found.kind, rows[i].kind);
        if (rows[i].kind == NL_COLLATION_ICU) {
            assert_int_equal(found.is_case_insensitive, rows[i].ignores_case);
            assert_int_equal(found.is_accent_insensitive, rows[i].ignores_accents);
        }
        nl_arena_free(arena);
    }
}

static void test_names_of_none_are_refused(void **state)
{
    static const char *const names[] = {"", "UTF8", "UNICODE_XX", "xx_CI", "utf8_lcase_ci"};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_collation found;
        nl_error *error = nl_collation_find(arena, nl_str_from(names[i]), &found);
        assert_non_null(error);
        assert_int_equal(nl_error_condition(error), NL_COND_COLLATION_INVALID_NAME);
        nl_error_free(error);
        nl_arena_free(arena);
    }
}

static void test_folding_goes_character_by_character(void **state)
{
    static const struct {
        const char *text, *folded;
    } rows[] = {{"", ""}, {"aBc", "abc"}, {"\xc3\x84", "\xc3\xa4"}, {"\xc4\xb0", "i\xcc\x87"}, {"\xce\xa3", "\xcf\x83"}, {"1-2", "1-2"}};
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_builder out;
        nl_builder_init(&out, 1024);
        nl_collation_fold(nl_str_from(rows[i].text), &out);
        assert_true(nl_str_is(nl_builder_str(&out), rows[i].folded));
        nl_builder_fini(&out);
    }
}

static void test_the_list_ends(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_collation_row row;
    uint32_t count = 0;
    (void)state;
    while (nl_collation_at(arena, count, &row)) {
        nl_collation found;
        assert_true(row.name.length > 0);
        if (!row.is_trimming) assert_null(nl_collation_find(arena, row.name, &found));
        count++;
    }
    assert_true(count > 100);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_have_one_spelling),
        cmocka_unit_test(test_names_of_none_are_refused),
        cmocka_unit_test(test_folding_goes_character_by_character),
        cmocka_unit_test(test_the_list_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
