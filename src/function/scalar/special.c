/* scalar/special.c - functions and operators the analyzer makes its own expressions of; here they are documented and
 * found by name.
 */
#include "function/groups.h"

#define SPECIAL(row_name, row_group, row_signature, row_since, row_doc, example, shown)                           \
    {.name = row_name, .kind = NL_FUNCTION_SPECIAL, .group = row_group, .signature = row_signature,               \
     .nulls = NL_NULL_SEEN, .since = row_since, .doc = row_doc, .examples = {{example, shown}}}

#define TABLE(row_name, row_signature, row_since, row_doc, example, shown)                                             \
    {.name = row_name, .kind = NL_FUNCTION_TABLE, .group = "table", .signature = row_signature, .nulls = NL_NULL_SEEN, \
     .since = row_since, .doc = row_doc, .examples = {{example, shown}}}

static const nl_function_row rows[] = {
    TABLE("range", "(bigint [, bigint, bigint, int]) -> ?", "2.0.0", "The numbers from a start to before a stop, in steps: a column named id.",
          "* FROM range(1)", "0"),
    TABLE("collations", "() -> ?", "4.0.0", "The collations of strings.", "count(*) FROM collations()", "1148"),
    TABLE("sql_keywords", "() -> ?", "3.5.0", "The keywords of SQL, and whether they are reserved.", "count(*) FROM sql_keywords()", "377"),
    SPECIAL("and", "predicate", "(boolean, boolean) -> boolean", "1.0.0", "Logical AND with three-valued logic.",
            "true and false", "false"),
    SPECIAL("or", "predicate", "(boolean, boolean) -> boolean", "1.0.0", "Logical OR with three-valued logic.",
            "true or false", "true"),
    {.name = "not", .aliases = "!", .kind = NL_FUNCTION_SPECIAL, .group = "predicate", .signature = "(boolean) -> boolean",
     .nulls = NL_NULL_SEEN, .since = "1.0.0", .doc = "Logical NOT; NULL stays NULL.", .examples = {{"not true", "false"}}},
    SPECIAL("in", "predicate", "(T, T...) -> boolean", "1.0.0",
            "Whether the first value equals any of the others; NULL when none does and one is NULL.", "1 in (1, 2, 3)", "true"),
    SPECIAL("between", "conditional", "(T, T, T) -> boolean", "1.0.0",
            "Whether the first value lies between the second and the third, both included.", "2 between 1 and 3", "true"),
    SPECIAL("isnull", "predicate", "(any) -> boolean", "1.0.0", "Whether the value is NULL.", "isnull(1)", "false"),
    SPECIAL("isnotnull", "predicate", "(any) -> boolean", "1.0.0", "Whether the value is not NULL.", "isnotnull(1)", "true"),
    SPECIAL("coalesce", "conditional", "(T...) -> T", "1.0.0", "The first argument that is not NULL.",
            "coalesce(NULL, 1, NULL)", "1"),
    {.name = "nvl", .aliases = "ifnull", .kind = NL_FUNCTION_SPECIAL, .group = "conditional", .signature = "(T, T) -> T",
     .nulls = NL_NULL_SEEN, .since = "2.0.0", .doc = "The first argument, or the second when the first is NULL.",
     .examples = {{"nvl(NULL, 2)", "2"}}},
    SPECIAL("nvl2", "conditional", "(any, T, T) -> T", "2.0.0",
            "The second argument when the first is not NULL, else the third.", "nvl2(NULL, 2, 1)", "1"),
    SPECIAL("nullif", "conditional", "(T, T) -> T", "2.0.0", "NULL when both arguments are equal, else the first.",
            "nullif(2, 2)", "NULL"),
    SPECIAL("if", "conditional", "(boolean, T, T) -> T", "1.0.0",
            "The second argument when the first is true, else the third.", "if(1 < 2, 'a', 'b')", "a"),
    SPECIAL("case", "conditional", "(T...) -> T", "1.0.1", "CASE expr WHEN value THEN result … END.",
            "CASE 2 WHEN 1 THEN 'a' ELSE 'b' END", "b"),
    SPECIAL("when", "conditional", "(any...) -> ?", "1.0.1", "CASE WHEN condition THEN result … END.",
            "CASE WHEN 1 > 0 THEN 1 ELSE 2 END", "1"),
    SPECIAL("nullifzero", "conditional", "(numeric) -> ?", "4.0.0", "NULL when the argument is zero, else the argument.",
            "nullifzero(0)", "NULL"),
    SPECIAL("zeroifnull", "conditional", "(numeric) -> ?", "4.0.0", "Zero when the argument is NULL, else the argument.",
            "zeroifnull(NULL)", "0"),
    SPECIAL("cast", "conversion", "() -> boolean", "1.0.0", "The value as another type.", "cast('10' AS INT)", "10"),
    SPECIAL("window", "datetime", "(any, any [, any, any]) -> ?", "2.0.0",
            "The windows of time that a time lies in: their length, the distance of their starts, where one starts.",
            "window.start FROM VALUES (TIMESTAMP'2021-01-01 00:07:00') t(a) GROUP BY window(a, '5 minutes')", "2021-01-01 00:05:00"),
    SPECIAL("session_window", "datetime", "(any, any) -> ?", "3.2.0",
            "The span of time of rows that follow each other within the gap.",
            "session_window.end FROM VALUES (TIMESTAMP'2021-01-01 00:07:00') t(a) GROUP BY session_window(a, '5 minutes')", "2021-01-01 00:12:00"),
    SPECIAL("grouping", "agg", "(any) -> tinyint", "2.0.0",
            "1 when the column is aggregated away in this grouping set, else 0.", "grouping(a) FROM VALUES (1) t(a) GROUP BY ROLLUP(a) HAVING a IS NULL", "1"),
    SPECIAL("grouping_id", "agg", "([any...]) -> bigint", "2.0.0",
            "The bits of grouping() of all grouping columns as a number.", "grouping_id() FROM VALUES (1) t(a) GROUP BY ROLLUP(a) HAVING a IS NULL", "1"),
};

NL_DEFINE_FUNCTION_GROUP(special, rows);
