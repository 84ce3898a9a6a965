/* sql/print_script.c - BEGIN … END scripts as text. */
#include "sql/print.h"

static void print_statements(nl_builder *out, const nl_ast_statements *statements)
{
    for (uint32_t i = 0; i < statements->count; i++) {
        nl_append_char(out, ' ');
        nl_sql_print(out, statements->items[i]);
        nl_append_char(out, ';');
    }
}

static void print_label(nl_builder *out, const nl_ast_ident *label)
{
    if (!label->text.data) return;
    nl_print_ident(out, label);
    nl_append_c(out, ": ");
}

static void print_end_label(nl_builder *out, const nl_ast_ident *label)
{
    if (!label->text.data) return;
    nl_append_char(out, ' ');
    nl_print_ident(out, label);
}

static void print_block(nl_builder *out, const nl_ast_block *block)
{
    print_label(out, &block->label);
    nl_append_c(out, block->is_not_atomic ? "BEGIN NOT ATOMIC" : "BEGIN");
    print_statements(out, &block->body);
    nl_append_c(out, " END");
    print_end_label(out, &block->label);
}

static void print_branches(nl_builder *out, const nl_ast_script_branches *node, const char *word, const char *more)
{
    for (uint32_t i = 0; i < node->branch_count; i++) {
        nl_append_c(out, i == 0 ? word : more);
        nl_sql_print_expr(out, node->branches[i].condition);
        nl_append_c(out, " THEN");
        print_statements(out, &node->branches[i].body);
    }
    if (!node->has_else) return;
    nl_append_c(out, " ELSE");
    print_statements(out, &node->otherwise);
}

static void print_case(nl_builder *out, const nl_ast_script_branches *node)
{
    nl_append_c(out, "CASE");
    if (node->operand) {
        nl_append_char(out, ' ');
        nl_sql_print_expr(out, node->operand);
    }
    print_branches(out, node, " WHEN ", " WHEN ");
    nl_append_c(out, " END CASE");
}

static void print_loop(nl_builder *out, const nl_ast_statement *statement)
{
    const nl_ast_script_loop *loop = statement->loop;
    const char *word = statement->kind == NL_AST_STATEMENT_WHILE    ? "WHILE"
                       : statement->kind == NL_AST_STATEMENT_REPEAT ? "REPEAT"
                       : statement->kind == NL_AST_STATEMENT_LOOP   ? "LOOP"
                                                                    : "FOR";
    print_label(out, &loop->label);
    nl_append_c(out, word);
    if (statement->kind == NL_AST_STATEMENT_WHILE) {
        nl_append_char(out, ' ');
        nl_sql_print_expr(out, loop->condition);
        nl_append_c(out, " DO");
    } else if (statement->kind == NL_AST_STATEMENT_FOR) {
        nl_append_char(out, ' ');
        if (loop->variable.text.data) {
            nl_print_ident(out, &loop->variable);
            nl_append_c(out, " AS ");
        }
        nl_sql_print_query(out, loop->query);
        nl_append_c(out, " DO");
    }
    print_statements(out, &loop->body);
    if (statement->kind == NL_AST_STATEMENT_REPEAT) {
        nl_append_c(out, " UNTIL ");
        nl_sql_print_expr(out, loop->condition);
    }
    nl_append_f(out, " END %s", word);
    print_end_label(out, &loop->label);
}

static void print_declare_condition(nl_builder *out, const nl_ast_declare_condition *node)
{
    nl_append_c(out, "DECLARE ");
    nl_sql_print_name(out, &node->name);
    nl_append_c(out, " CONDITION");
    if (!node->has_sqlstate) return;
    nl_append_c(out, " FOR SQLSTATE ");
    nl_print_string(out, node->sqlstate);
}

static void print_condition_value(nl_builder *out, const nl_ast_condition_value *value)
{
    switch ((int)value->kind) {
    case NL_AST_ON_SQLSTATE:
        nl_append_c(out, "SQLSTATE ");
        nl_print_string(out, value->sqlstate);
        break;
    case NL_AST_ON_SQLEXCEPTION: nl_append_c(out, "SQLEXCEPTION"); break;
    case NL_AST_ON_NOT_FOUND: nl_append_c(out, "NOT FOUND"); break;
    default: nl_sql_print_name(out, &value->condition); break;
    }
}

static void print_declare_handler(nl_builder *out, const nl_ast_declare_handler *handler)
{
    nl_append_c(out, handler->is_continue ? "DECLARE CONTINUE HANDLER FOR " : "DECLARE EXIT HANDLER FOR ");
    for (uint32_t i = 0; i < handler->condition_count; i++) {
        if (i > 0) nl_append_c(out, ", ");
        print_condition_value(out, &handler->conditions[i]);
    }
    nl_append_char(out, ' ');
    nl_sql_print(out, handler->body);
}

void nl_print_script(nl_builder *out, const nl_ast_statement *statement)
{
    switch ((int)statement->kind) {
    case NL_AST_STATEMENT_BLOCK: print_block(out, statement->block); break;
    case NL_AST_STATEMENT_DECLARE_CONDITION: print_declare_condition(out, statement->declare_condition); break;
    case NL_AST_STATEMENT_DECLARE_HANDLER: print_declare_handler(out, statement->declare_handler); break;
    case NL_AST_STATEMENT_IF:
        print_branches(out, statement->branches, "IF ", " ELSEIF ");
        nl_append_c(out, " END IF");
        break;
    case NL_AST_STATEMENT_CASE: print_case(out, statement->branches); break;
    case NL_AST_STATEMENT_WHILE:
    case NL_AST_STATEMENT_REPEAT:
    case NL_AST_STATEMENT_LOOP:
    case NL_AST_STATEMENT_FOR: print_loop(out, statement); break;
    default:
        nl_append_c(out, statement->kind == NL_AST_STATEMENT_LEAVE ? "LEAVE " : "ITERATE ");
        nl_print_ident(out, &statement->label);
        break;
    }
}
