/* sql/printer.h - tree to text that parses to the same tree, under the default options (whatever the text was read
 * with). */
#pragma once

#include "sql/ast.h"

void nl_sql_print(nl_builder *out, const nl_ast_statement *statement);
void nl_sql_print_query(nl_builder *out, const nl_ast_query *query);
void nl_sql_print_expr(nl_builder *out, const nl_ast_expr *expr);
void nl_sql_print_type(nl_builder *out, const nl_ast_type *type);
void nl_sql_print_name(nl_builder *out, const nl_ast_name *name);
