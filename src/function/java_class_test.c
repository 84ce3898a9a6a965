#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "function/java_class.h"

static void check(nl_arena *arena, const char *function, const char *plain, const char *called)
{
    assert_string_equal(nl_str_c(arena, nl_java_class(arena, nl_str_from(function))), plain);
    assert_string_equal(nl_str_c(arena, nl_java_class_called(arena, nl_str_from(function))), called);
}

static void functions_have_the_classes_that_spark_names(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
#define P "org.apache.spark.sql.catalyst.expressions."
    check(arena, "abs", P "Abs", P "Abs");
    check(arena, "Xpath_Short", P "xml.XPathShort", P "xml.XPathShort");
    check(arena, "sum", P "aggregate.Sum", P "aggregate.AggregateExpression");
    check(arena, "floor", P "FloorExpressionBuilder", P "FloorExpressionBuilder$");
    check(arena, "zip_with", P "ZipWith", P "ZipWith");
    check(arena, "nothing", P "Expression", P "Expression");
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(functions_have_the_classes_that_spark_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
