/* command/plain_defaults.c - DEFAULT of columns of tables over plain files: kept as the text that was written, as Spark does. */
#include "command/plain_tables.h"

#include "function/cast.h"
#include "function/coercion.h"

static nl_status unresolved(const char *statement, nl_str column, nl_str text, nl_error *error)
{
    const bool is_column = nl_error_condition(error) == NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION || nl_error_condition(error) == NL_COND_UNRESOLVED_COLUMN__WITH_SUGGESTION;
    const bool is_alter = nl_str_starts(nl_str_from(statement), NL_STR("ALTER"));
    nl_error_free(error);
    if (is_column && !is_alter) return NL_RAISE(INVALID_DEFAULT_VALUE__NOT_CONSTANT, NL_P("statement", statement), NL_P_STR("colName", column), NL_P_STR("defaultValue", text));
    return NL_RAISE(INVALID_DEFAULT_VALUE__UNRESOLVED_EXPRESSION, NL_P("statement", statement), NL_P_STR("colName", column), NL_P_STR("defaultValue", text));
}

nl_status nl_plain_check_default(nl_command *command, const char *statement, const nl_field *field, nl_str text)
{
    nl_ast_expr *written = NULL;
    const nl_expr *expr = NULL;
    const nl_str column = nl_command_quoted(command, &field->name, 1);
    NL_TRY(nl_sql_parse_expression(command->arena, text, NULL, &written));
    nl_error *error = nl_analyze_expr(&command->context, written, NULL, 0, &expr);
    if (error) return unresolved(statement, column, text, error);
    if (nl_expr_has(expr, NL_EXPR_SUBQUERY))
        return NL_RAISE(INVALID_DEFAULT_VALUE__SUBQUERY_EXPRESSION, NL_P("statement", statement), NL_P_STR("colName", column), NL_P_STR("defaultValue", text));
    if (!nl_expr_is_constant(expr))
        return NL_RAISE(INVALID_DEFAULT_VALUE__NOT_CONSTANT, NL_P("statement", statement), NL_P_STR("colName", column), NL_P_STR("defaultValue", text));
    nl_value value, stored;
    NL_TRY(nl_expr_evaluate(command->arena, expr, &command->confs, command->text, &value));
    if (expr->type->id == NL_TYPE_NULL) return NULL;
    if (nl_can_store(expr->type, field->type)) return nl_cast_value(command->arena, &command->confs, NL_CAST_STORE, &value, field->type, &stored);
    return NL_RAISE(INVALID_DEFAULT_VALUE__DATA_TYPE, NL_P("statement", statement), NL_P_STR("colName", column),
                    NL_P_STR("expectedType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, field->type)))), NL_P_STR("defaultValue", text),
                    NL_P_STR("actualType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, expr->type)))));
}

nl_status nl_plain_default(nl_command *command, const nl_plain_table *table, uint32_t column, nl_ast_expr **expr)
{
    *expr = NULL;
    if (!table->defaults || !table->defaults[column].data) return NULL;
    return nl_sql_parse_expression(command->arena, nl_arena_str(command->arena, table->defaults[column]), NULL, expr);
}
