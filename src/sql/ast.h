/* sql/ast.h - the tree of one SQL text: what the parser makes, the printer prints and the analyzer reads.
 *
 * Nodes are tagged structs in one arena, never freed one by one, and immutable once parsed. Texts are slices of the
 * arena (identifiers without their quotes, string literals with escapes resolved). Lists are {items, count}; an empty
 * list has count 0. Pointers to optional parts are NULL when the part is absent; optional names have a NULL `data`.
 * Every node that can be blamed carries a range, so that errors can show where in the text they belong.
 *
 * ast_expression.h  expressions, literals, data types
 * ast_query.h       queries, relations, pipe operators
 * ast_dataframe.h   what DataFrames have beyond SQL
 * ast_statement.h   every statement
 */
#pragma once

#include "sql/ast_dataframe.h"
#include "sql/ast_expression.h"
#include "sql/ast_query.h"
#include "sql/ast_statement.h"
