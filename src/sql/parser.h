/* sql/parser.h - text to tree: statements, and the pieces that come alone (expressions, types, schemas, names).
 *
 * Everything lives in the caller's arena, the text included (it is copied). Parse errors carry Spark's condition,
 * line, position and the text as context. Limits: NL_SQL_TEXT_BYTES_MAX of text, NL_EXPRESSION_DEPTH_MAX of nesting
 * (FAILED_TO_PARSE_TOO_COMPLEX). Threads: functions are pure; an arena belongs to one thread.
 */
#pragma once

#include "sql/ast.h"

/* What the session's confs change in the language. All false is Spark's default. */
typedef struct nl_sql_options {
    bool is_ansi_reserved;            /* spark.sql.ansi.enforceReservedKeywords           */
    bool is_double_quote_identifier;  /* spark.sql.ansi.doubleQuotedIdentifiers           */
    bool is_escape_off;               /* spark.sql.parser.escapedStringLiterals           */
    bool is_legacy_setops;            /* spark.sql.legacy.setopsPrecedence.enabled        */
    bool is_exponent_decimal;         /* spark.sql.legacy.exponentLiteralAsDecimal.enabled */
    bool is_scripting;                /* spark.sql.scripting.enabled                      */
    bool is_timestamp_ntz;            /* spark.sql.timestampType is TIMESTAMP_NTZ: what the word TIMESTAMP means as a type */
    bool is_regex_column;             /* spark.sql.parser.quotedRegexColumnNames: `a.*` in a SELECT list is a pattern */
    bool is_bang_not;                 /* spark.sql.legacy.bangEqualsNot: a ! IN (1) is NOT IN */
    bool is_unplaced;                 /* nodes get no ranges: a piece for a tree that means another text */
    uint32_t range_base;              /* where the text begins in the text that the tree means: ranges are counted from there */
} nl_sql_options;

/* One statement, perhaps with `;` behind it. options NULL: defaults. */
NL_MUST_USE nl_status nl_sql_parse(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_statement **statement);

/* What DataFrame.selectExpr, where("…") and expr("…") take: an expression, perhaps with AS. */
NL_MUST_USE nl_status nl_sql_parse_expression(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_expr **expr);
/* "decimal(10,2)" alone. */
NL_MUST_USE nl_status nl_sql_parse_type(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_type **type);
/* "a INT NOT NULL COMMENT 'x', b STRING" */
NL_MUST_USE nl_status nl_sql_parse_columns(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_fields *fields);
/* "a.`b c`.d" */
NL_MUST_USE nl_status nl_sql_parse_name(nl_arena *arena, nl_str text, const nl_sql_options *options, nl_ast_name *name);

/* A parsed type as a type of the engine, with Spark's errors (UNSUPPORTED_DATATYPE, DATATYPE_MISSING_SIZE …). */
NL_MUST_USE nl_status nl_ast_type_to_type(nl_arena *arena, const nl_ast_type *node, const nl_type **type);
/* Columns as a struct type. */
NL_MUST_USE nl_status nl_ast_fields_to_type(nl_arena *arena, const nl_ast_fields *fields, const nl_type **type);
/* StructType.fromDDL: a column list ("a INT, b STRING") or a type ("STRUCT<a: INT>", "INT"). */
NL_MUST_USE nl_status nl_sql_parse_schema(nl_arena *arena, nl_str text, const nl_type **type);

/* {"type":"struct","fields":[…]} or "integer": Spark's JSON form of a type; fields keep their metadata. */
NL_MUST_USE nl_status nl_sql_parse_json_type(nl_arena *arena, nl_str text, const nl_type **type);

/* Attaches a node's place as the context of a parse or an analysis error. Returns its argument; NULL stays NULL. */
NL_MUST_USE nl_status nl_sql_at(nl_status status, nl_str text, nl_ast_range range, bool is_parse_error);
