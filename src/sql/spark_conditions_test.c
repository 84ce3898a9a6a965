/* sql/spark_conditions_test.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/status.h"
#include "sql/spark_conditions.h"

static void test_names_are_found_with_and_without_subclasses(void **state)
{
    (void)state;
    const char *const known[] = {"AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION", "DIVIDE_BY_ZERO", "UNRESOLVED_COLUMN", "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                                 "XML_ROW_TAG_MISSING", "_LEGACY_ERROR_TEMP_2008"};
    const char *const unknown[] = {"", "DIVIDE_BY_ZER", "DIVIDE_BY_ZERO.X", "DIVIDE_BY_ZEROS", "divide_by_zero", "UNRESOLVED_COLUMN.", "ZZZ", "_LEGACY_ERROR_TEMP_", "_LEGACY_ERROR_TEMP_2x08"};
    for (size_t i = 0; i < NL_COUNT(known); i++) assert_true(nl_sql_is_spark_condition(nl_str_from(known[i])));
    for (size_t i = 0; i < NL_COUNT(unknown); i++) assert_false(nl_sql_is_spark_condition(nl_str_from(unknown[i])));
}

static void test_the_names_are_sorted(void **state)
{
    (void)state;
    static const char *const names[] = {
#define X(name) name,
#include "sql/spark_conditions.def"
#undef X
    };
    for (size_t i = 0; i < NL_COUNT(names); i++) assert_true(nl_sql_is_spark_condition(nl_str_from(names[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_found_with_and_without_subclasses),
        cmocka_unit_test(test_the_names_are_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
