/* Tests of GetPartitions' Expression: what it takes, what it means, and that anything else is refused with a place. */
#include "base/test_support.h"

#include "lakehouse/glue/glue_private.h"

static const nl_glue_key keys[] = {{NL_STR_INIT("year"), NL_STR_INIT("int")}, {NL_STR_INIT("City"), NL_STR_INIT("string")}, {NL_STR_INIT("size"), NL_STR_INIT("decimal(20,2)")}};
static const nl_str values[] = {NL_STR_INIT("2026"), NL_STR_INIT("O'Hara"), NL_STR_INIT("10.50")};

static bool is_true(nl_glue_call *call, const char *expression)
{
    bool result = false;
    nl_status status = nl_glue_evaluate(call, nl_str_from(expression), keys, values, NL_COUNT(keys), &result);
    if (status) fprintf(stderr, "%s: %s\n", expression, nl_error_message(status));
    assert_null(status);
    return result;
}

static void test_comparisons_are_numbers_or_text_by_the_keys_type(void **state)
{
    (void)state;
    nl_glue_call call = {.arena = nl_arena_new(NULL)};
    static const char *const true_ones[] = {"", "  ", "year = 2026", "YEAR='2026'", "`year` = 2026", "year = '02026'", "year > 900", "year >= 2026 and year <= 2026", "city = 'O''Hara'", "city=\"O'Hara\"",
                                            "city < 'Oslo'", "size = 10.5", "size > 9", "year != 1", "year <> 1", "year in (1, 2026)", "year not in (1)", "year between 2025 and 2027",
                                            "not year between 1 and 2", "year = 1 or year = 2026 and city > 'A'", "((year = 2026))", "year not between 1 and 2 AND NOT (city = 'x' OR city = 'y')"};
    static const char *const false_ones[] = {"year = 1", "year < 900", "city = 'o''hara'", "year in (1, 2)", "not not year = 1", "(year = 2026 or year = 1) and city = 'x'", "size < 9"};
    for (size_t i = 0; i < NL_COUNT(true_ones); i++) assert_true(is_true(&call, true_ones[i]));
    for (size_t i = 0; i < NL_COUNT(false_ones); i++) assert_false(is_true(&call, false_ones[i]));
    nl_arena_free(call.arena);
}

static void test_anything_else_is_refused_with_or_without_values(void **state)
{
    (void)state;
    nl_glue_call call = {.arena = nl_arena_new(NULL)};
    nl_builder deep;
    nl_builder_init(&deep, 1u << 20);
    nl_append_fill(&deep, '(', 100000);
    static const char *const wrong[] = {"year", "year =", "= 1", "month = 1", "year = 1 and", "year = 1 year = 2", "(year = 1", "year = 1)", "city = 'x", "year in 1", "year in (1", "year between 1", "year like 'x'",
                                        "year not = 1", "`year = 1", "and", "not", "'year' = 1", "year in ()"};
    for (size_t i = 0; i <= NL_COUNT(wrong); i++) {
        const nl_str text = i < NL_COUNT(wrong) ? nl_str_from(wrong[i]) : nl_builder_str(&deep);
        for (int pass = 0; pass < 2; pass++) {
            bool result;
            nl_status status = nl_glue_evaluate(&call, text, keys, pass ? values : NULL, NL_COUNT(keys), &result);
            if (!status) fprintf(stderr, "taken: " NL_STR_FMT "\n", NL_STR_ARG(text));
            assert_non_null(status);
            assert_string_equal(call.error_type, "InvalidInputException");
            nl_error_free(status);
        }
    }
    nl_builder_fini(&deep);
    nl_arena_free(call.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_comparisons_are_numbers_or_text_by_the_keys_type),
        cmocka_unit_test(test_anything_else_is_refused_with_or_without_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
