/* Errors of analysis: condition and parameters, as Spark 4.0.1 raised them for the same statements. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/analyzer/test_plan.h"

static const struct {
    const char *sql, *condition;
    struct {
        const char *name, *value;
    } params[6];
} failures[] = {
    {"SELECT DISTINCT a+1 FROM VALUES (1,2),(2,1) t(a,b) ORDER BY a+1",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`a`"}, {"proposal", "`(a + 1)`"}}},
    {"SELECT DISTINCT a FROM VALUES (1,2),(2,1) t(a,b) ORDER BY b",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`b`"}, {"proposal", "`a`"}}},
    {"SELECT a, b FROM VALUES (1,2),(2,1) t(a,b) GROUP BY a",
     "MISSING_AGGREGATION",
     {{"expression", "\"b\""}, {"expressionAnyValue", "\"any_value(b)\""}}},
    {"SELECT a, sum(b) FROM VALUES (1,2),(2,1) t(a,b)",
     "MISSING_GROUP_BY",
     {{0}}},
    {"SELECT a FROM VALUES (1,2),(2,1) t(a,b) HAVING a > 1",
     "MISSING_GROUP_BY",
     {{0}}},
    {"SELECT c FROM VALUES (1,2),(2,1) t(a,b)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`c`"}, {"proposal", "`a`, `b`"}}},
    {"SELECT t.c FROM VALUES (1,2),(2,1) t(a,b)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`t`.`c`"}, {"proposal", "`t`.`a`, `t`.`b`"}}},
    {"SELECT x.a FROM VALUES (1,2),(2,1) t(a,b)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`x`.`a`"}, {"proposal", "`t`.`a`, `t`.`b`"}}},
    {"SELECT aab FROM VALUES (1,2,3,4,5,6,7,8) t(aac,aad,b,c,aabb,ab,f,g)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`aab`"}, {"proposal", "`ab`, `aabb`, `aac`, `aad`, `b`"}}},
    {"SELECT a FROM VALUES (1) t(a), VALUES (1) u(a)",
     "AMBIGUOUS_REFERENCE",
     {{"name", "`a`"}, {"referenceNames", "[`t`.`a`, `u`.`a`]"}}},
    {"SELECT a FROM VALUES (1) t(a) WHERE sum(a) > 1",
     "INVALID_WHERE_CONDITION",
     {{"condition", "\"(sum(a) > 1)\""}, {"expressionList", "sum(t.a)"}}},
    {"SELECT a FROM VALUES (1) t(a) WHERE rank() over (order by a) > 1",
     "_LEGACY_ERROR_TEMP_1034",
     {{"clauseName", "WHERE"}}},
    {"SELECT sum(sum(a)) FROM VALUES (1) t(a)",
     "NESTED_AGGREGATE_FUNCTION",
     {{0}}},
    {"SELECT a FROM VALUES (1) t(a) GROUP BY sum(a)",
     "GROUP_BY_AGGREGATE",
     {{"sqlExpr", "sum(t.a)"}}},
    {"SELECT a FROM VALUES (1) t(a) GROUP BY 2",
     "GROUP_BY_POS_OUT_OF_RANGE",
     {{"index", "2"}, {"size", "1"}}},
    {"SELECT a FROM VALUES (1) t(a) ORDER BY 2",
     "ORDER_BY_POS_OUT_OF_RANGE",
     {{"index", "2"}, {"size", "1"}}},
    {"SELECT sum(a) FROM VALUES (1) t(a) GROUP BY 1",
     "GROUP_BY_POS_AGGREGATE",
     {{"aggExpr", "sum(t.a) AS `sum(a)`"}, {"index", "1"}}},
    {"SELECT sum(a) over (partition by sum(a)) FROM VALUES (1) t(a)",
     "MISSING_GROUP_BY",
     {{0}}},
    {"SELECT 'a' + 'b'",
     "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE",
     {{"actualDataType", "\"STRING\""}, {"inputType", "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\" or \"INTERVAL\")"}, {"sqlExpr", "\"(a + b)\""}}},
    {"SELECT 1 + true",
     "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
     {{"left", "\"INT\""}, {"right", "\"BOOLEAN\""}, {"sqlExpr", "\"(1 + true)\""}}},
    {"SELECT 1 = true",
     "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
     {{"left", "\"INT\""}, {"right", "\"BOOLEAN\""}, {"sqlExpr", "\"(1 = true)\""}}},
    {"SELECT date'2020-01-01' > 5",
     "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
     {{"left", "\"DATE\""}, {"right", "\"INT\""}, {"sqlExpr", "\"(DATE '2020-01-01' > 5)\""}}},
    {"SELECT substring('a')",
     "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
     {{"actualNum", "1"}, {"docroot", "https://spark.apache.org/docs/latest"}, {"expectedNum", "[2, 3]"}, {"functionName", "`substring`"}}},
    {"SELECT abs('a','b')",
     "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
     {{"actualNum", "2"}, {"docroot", "https://spark.apache.org/docs/latest"}, {"expectedNum", "1"}, {"functionName", "`abs`"}}},
    {"SELECT abs(date'2020-01-01')",
     "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
     {{"inputSql", "\"DATE '2020-01-01'\""}, {"inputType", "\"DATE\""}, {"paramIndex", "first"}, {"requiredType", "(\"NUMERIC\" or \"INTERVAL DAY TO SECOND\" or \"INTERVAL YEAR TO MONTH\")"}, {"sqlExpr", "\"abs(DATE '2020-01-01')\""}}},
    {"SELECT nofunc(1)",
     "UNRESOLVED_ROUTINE",
     {{"routineName", "`nofunc`"}, {"searchPath", "[`system`.`builtin`, `system`.`session`, `spark_catalog`.`default`]"}}},
    {"SELECT case when 1 then 2 end",
     "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
     {{"inputSql", "\"1\""}, {"inputType", "\"INT\""}, {"paramIndex", "first"}, {"requiredType", "\"BOOLEAN\""}, {"sqlExpr", "\"CASE WHEN 1 THEN 2 END\""}}},
    {"SELECT 1 WHERE 1",
     "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
     {{"filter", "\"1\""}, {"sqlExpr", "\"1\""}, {"type", "\"INT\""}}},
    {"SELECT a FROM VALUES (1) t(a) WHERE a and true",
     "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
     {{"left", "\"INT\""}, {"right", "\"BOOLEAN\""}, {"sqlExpr", "\"(a AND true)\""}}},
    {"SELECT not 1",
     "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
     {{"inputSql", "\"1\""}, {"inputType", "\"INT\""}, {"paramIndex", "first"}, {"requiredType", "\"BOOLEAN\""}, {"sqlExpr", "\"(NOT 1)\""}}},
    {"SELECT 1 UNION SELECT 1,2",
     "NUM_COLUMNS_MISMATCH",
     {{"firstNumColumns", "1"}, {"invalidNumColumns", "2"}, {"invalidOrdinalNum", "second"}, {"operator", "UNION"}}},
    {"SELECT * FROM nosuch",
     "TABLE_OR_VIEW_NOT_FOUND",
     {{"relationName", "`nosuch`"}}},
    {"SELECT t.* FROM VALUES (1) u(a)",
     "CANNOT_RESOLVE_STAR_EXPAND",
     {{"columns", "`a`"}, {"targetString", "`t`"}}},
    {"SELECT count(*), * FROM VALUES (1) u(a)",
     "MISSING_GROUP_BY",
     {{0}}},
    {"SELECT a.b FROM VALUES (1) u(a)",
     "INVALID_EXTRACT_BASE_FIELD_TYPE",
     {{"base", "\"a\""}, {"other", "\"INT\""}}},
    {"SELECT cast(date'2020-01-01' as int)",
     "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION",
     {{"functionNames", "`UNIX_DATE`"}, {"sqlExpr", "\"CAST(DATE '2020-01-01' AS INT)\""}, {"srcType", "\"DATE\""}, {"targetType", "\"INT\""}}},
    {"SELECT row_number() over ()",
     "_LEGACY_ERROR_TEMP_1037",
     {{"wf", "row_number()"}}},
    {"SELECT row_number()",
     "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
     {{"funcName", "\"row_number()\""}}},
    {"SELECT sum(a) over w FROM VALUES (1) u(a)",
     "MISSING_WINDOW_SPECIFICATION",
     {{"docroot", "https://spark.apache.org/docs/latest"}, {"windowName", "w"}}},
    {"SELECT (SELECT a, b FROM VALUES (1,2) t(a,b))",
     "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
     {{"number", "2"}}},
    {"SELECT 1 IN (SELECT 1,2)",
     "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH",
     {{"leftColumns", "\"1\""}, {"leftLength", "1"}, {"rightColumns", "\"1\", \"2\""}, {"rightLength", "2"}, {"sqlExpr", "\"(1 IN (listquery()))\""}}},
    {"SELECT a FROM VALUES (1) u(a) LIMIT a",
     "INVALID_LIMIT_LIKE_EXPRESSION.IS_UNFOLDABLE",
     {{"expr", "\"a\""}, {"name", "limit"}}},
    {"SELECT a FROM VALUES (1) u(a) LIMIT -1",
     "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
     {{"expr", "\"-1\""}, {"name", "limit"}, {"v", "-1"}}},
    {"SELECT a FROM VALUES (1) u(a) LIMIT 'x'",
     "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE",
     {{"dataType", "\"STRING\""}, {"expr", "\"x\""}, {"name", "limit"}}},
    {"SELECT grouping(a) FROM VALUES (1) u(a) GROUP BY a",
     "UNSUPPORTED_GROUPING_EXPRESSION",
     {{0}}},
    {"SELECT a, sum(b)+b FROM VALUES (1,2) u(a,b) GROUP BY ALL",
     "MISSING_AGGREGATION",
     {{"expression", "\"b\""}, {"expressionAnyValue", "\"any_value(b)\""}}},
    {"VALUES (1),(2,3)",
     "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
     {{"actualNumCols", "2"}, {"expectedNumCols", "1"}, {"rowIndex", "1"}}},
    {"SELECT a FROM VALUES (1) u(a) JOIN VALUES (1) v(b) USING (a)",
     "UNRESOLVED_USING_COLUMN_FOR_JOIN",
     {{"colName", "`a`"}, {"side", "right"}, {"suggestion", "`b`"}}},
    {"SELECT * FROM VALUES (1) u(a) JOIN VALUES (1) v(b) ON a",
     "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
     {{"conditionType", "\"INT\""}, {"joinCondition", "\"a\""}}},
    {"SELECT a as x, sum(x) FROM VALUES (1) u(a) GROUP BY a",
     "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_FUNC",
     {{"aggFunc", "\"sum(lateralAliasReference(x))\""}, {"lca", "`x`"}}},
    {"SELECT a as x, b as x, x+1 FROM VALUES (1,2) u(a,b)",
     "AMBIGUOUS_LATERAL_COLUMN_ALIAS",
     {{"n", "2"}, {"name", "`x`"}}},
    {"SELECT zzz FROM VALUES (1,2,3,4) t(d,c,b,a)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`zzz`"}, {"proposal", "`a`, `b`, `c`, `d`"}}},
    {"SELECT Zxx FROM VALUES (1,2,3,4) t(zbb,zxa,Zab,zxx1)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`Zxx`"}, {"proposal", "`Zab`, `zxa`, `zxx1`, `zbb`"}}},
    {"SELECT a FROM VALUES (1,2) t(b,c), VALUES (1,2) u(d,e)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`a`"}, {"proposal", "`t`.`b`, `t`.`c`, `u`.`d`, `u`.`e`"}}},
    {"SELECT t.a FROM VALUES (1,2) t(b,c), VALUES (1,2) u(d,e)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`t`.`a`"}, {"proposal", "`t`.`b`, `t`.`c`, `u`.`d`, `u`.`e`"}}},
    {"SELECT t.a FROM VALUES (1,2) t(b,c) JOIN VALUES (1,2) t2(d,e)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`t`.`a`"}, {"proposal", "`t`.`b`, `t`.`c`, `t2`.`d`, `t2`.`e`"}}},
    {"SELECT q.w.e FROM VALUES (1,2) t(b,c) JOIN VALUES (1,2) t2(d,e)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`q`.`w`.`e`"}, {"proposal", "`t`.`b`, `t`.`c`, `t2`.`e`, `t2`.`d`"}}},
    {"SELECT a.b.c FROM VALUES (1) t(b)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`a`.`b`.`c`"}, {"proposal", "`t`.`b`"}}},
    {"SELECT `a.b` FROM VALUES (1) t(`a b`)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`a.b`"}, {"proposal", "`a b`"}}},
    {"SELECT * EXCEPT (zz) FROM VALUES (1,2) t(a,b)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`zz`"}, {"proposal", "`a`, `b`"}}},
    {"SELECT (SELECT max(x) FROM VALUES (1) u(x) WHERE u.x = t.zz) FROM VALUES (1) t(a)",
     "UNRESOLVED_COLUMN.WITH_SUGGESTION",
     {{"objectName", "`t`.`zz`"}, {"proposal", "`u`.`x`"}}},
    {"SELECT (SELECT (SELECT a)) FROM VALUES (1) t(a)",
     "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
     {{"objectName", "`a`"}}},
    {"WITH c AS (SELECT nosuch) SELECT 1",
     "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
     {{"objectName", "`nosuch`"}}},
    {"WITH c(x,y) AS (SELECT 1) SELECT * FROM c",
     "ASSIGNMENT_ARITY_MISMATCH",
     {{"numExpr", "2"}, {"numTarget", "1"}}},
    {"WITH c AS (SELECT 1), c AS (SELECT 2) SELECT * FROM c",
     "DUPLICATED_CTE_NAMES",
     {{"duplicateNames", "`c`"}}},
    {"SELECT * FROM (SELECT 1 a, 2 a) t WHERE a = 1",
     "AMBIGUOUS_REFERENCE",
     {{"name", "`a`"}, {"referenceNames", "[`t`.`a`, `t`.`a`]"}}},
    {"SELECT a FROM (SELECT b AS a, b AS a FROM VALUES (1) t(b))",
     "AMBIGUOUS_REFERENCE",
     {{"name", "`a`"}, {"referenceNames", "[`a`, `a`]"}}},
    {"SELECT IF(1,2,3)",
     "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
     {{"inputSql", "\"1\""}, {"inputType", "\"INT\""}, {"paramIndex", "first"}, {"requiredType", "\"BOOLEAN\""}, {"sqlExpr", "\"(IF(1, 2, 3))\""}}},
    {"SELECT count(t.*) FROM VALUES (1,2) t(a,b)",
     "_LEGACY_ERROR_TEMP_1021",
     {{"targetString", "t"}}},
};

static void test_wrong_queries_fail_as_in_spark(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(failures); i++) {
        test_session session;
        test_session_init(&session);
        nl_error *error = NULL;
        test_plan(&session, failures[i].sql, &error);
        if (!error) print_error("no error: %s\n", failures[i].sql);
        assert_non_null(error);
        assert_string_equal(nl_condition_name(nl_error_condition(error)), failures[i].condition);
        for (size_t p = 0; p < NL_COUNT(failures[i].params) && failures[i].params[p].name; p++) {
            const char *value = nl_error_param(error, failures[i].params[p].name);
            assert_non_null(value);
            if (strcmp(value, failures[i].params[p].value) != 0) print_error("%s\n", failures[i].sql);
            assert_string_equal(value, failures[i].params[p].value);
        }
        nl_error_free(error);
        test_session_fini(&session);
    }
}

static void test_errors_say_where(void **state)
{
    (void)state;
    test_session session;
    test_session_init(&session);
    nl_error *error = NULL;
    test_plan(&session, "SELECT a,\n  nosuch FROM VALUES (1) t(a)", &error);
    assert_non_null(error);
    const nl_query_context *context = nl_error_context(error);
    assert_non_null(context);
    assert_int_equal(context->line, 2);
    assert_int_equal(context->position, 2);
    nl_error_free(error);
    test_session_fini(&session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_wrong_queries_fail_as_in_spark), cmocka_unit_test(test_errors_say_where)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
