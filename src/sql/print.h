/* sql/print.h - the printer inside this folder: the pieces that its files share. */
#pragma once

#include "sql/printer.h"
#include "sql/token.h"

void nl_print_ident(nl_builder *out, const nl_ast_ident *ident);
void nl_print_idents(nl_builder *out, const nl_ast_idents *idents);      /* a, b   */
void nl_print_ident_list(nl_builder *out, const nl_ast_idents *idents);  /* (a, b) */
void nl_print_names(nl_builder *out, const nl_ast_names *names);
void nl_print_string(nl_builder *out, nl_str text); /* a literal, in single quotes */
void nl_print_exprs(nl_builder *out, const nl_ast_exprs *exprs);
void nl_print_operands(nl_builder *out, const nl_ast_exprs *exprs); /* each in parentheses unless it is a primary one */
void nl_print_sort_items(nl_builder *out, const nl_ast_sort_items *items);
void nl_print_arguments(nl_builder *out, const nl_ast_arguments *args);
void nl_print_window(nl_builder *out, const nl_ast_window *window);
void nl_print_fields(nl_builder *out, const nl_ast_fields *fields);
void nl_print_properties(nl_builder *out, const nl_ast_properties *properties);

void nl_print_ctes(nl_builder *out, const nl_ast_ctes *ctes); /* with a space behind; nothing when there are none */
void nl_print_relation(nl_builder *out, const nl_ast_relation *relation);
void nl_print_table_alias(nl_builder *out, const nl_ast_table_alias *alias);
void nl_print_assignments(nl_builder *out, const nl_ast_assignments *assignments);
void nl_print_row_format(nl_builder *out, const nl_ast_row_format *format);
/* A query that begins with FROM elsewhere: only what stands above `from` is printed. */
void nl_print_query_without_from(nl_builder *out, const nl_ast_query *query, const nl_ast_relation *from);

void nl_print_partition_spec(nl_builder *out, const nl_ast_partition_spec *spec);
void nl_print_ddl(nl_builder *out, const nl_ast_statement *statement);    /* CREATE, ALTER, DROP …        */
void nl_print_alter_table(nl_builder *out, const nl_ast_alter_table *alter);
void nl_print_partition_field(nl_builder *out, const nl_ast_partition_field *field);
void nl_print_file_format(nl_builder *out, const nl_ast_file_format *format);
void nl_print_write(nl_builder *out, const nl_ast_statement *statement);  /* INSERT, DELETE, UPDATE, MERGE */
void nl_print_script(nl_builder *out, const nl_ast_statement *statement); /* BEGIN … END and what is inside */
