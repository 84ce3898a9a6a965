/* command/execute.c - EXECUTE IMMEDIATE: the text runs as a statement of its own, with parameters. */
#include "command/variables.h"

#include "base/limits.h"

static nl_status query_text(nl_command *command, const nl_ast_execute_immediate *execute, nl_str *text)
{
    *text = execute->text;
    if (execute->is_string) return NULL;
    nl_str name;
    NL_TRY(nl_variable_find(command, &execute->variable, &name));
    const nl_value *value = nl_session_find_variable(command->session, name);
    const nl_str shown = nl_command_quoted(command, &execute->variable.parts[execute->variable.count - 1].text, 1);
    if (value->type->id != NL_TYPE_STRING)
        return NL_RAISE(INVALID_VARIABLE_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE,
                        NL_P_STR("varType", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_type_sql(command->arena, value->type)))));
    if (value->is_null) return NL_RAISE(NULL_QUERY_STRING_EXECUTE_IMMEDIATE, NL_P_STR("varName", shown));
    *text = nl_arena_str(command->arena, value->text);
    return NULL;
}

/* A name among them is a variable's. */
static nl_status as_variable(nl_command *command, const nl_ast_expr *value, nl_status status)
{
    const bool is_column = value->kind == NL_AST_EXPR_COLUMN && value->column.count;
    if (!status || !is_column) return status;
    if (nl_error_condition(status) != NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION) return status;
    nl_error_free(status);
    nl_str *parts = NL_NEW_ARRAY(command->arena, nl_str, value->column.count);
    for (uint32_t i = 0; i < value->column.count; i++) parts[i] = value->column.parts[i].text;
    return nl_command_at(command, nl_variable_unresolved(command, parts, value->column.count), value->range);
}

/* The values of USING, analyzed in the text of the EXECUTE statement itself. */
static nl_status make_parameters(nl_command *command, const nl_ast_exprs *arguments, nl_value **values, nl_str **names)
{
    *values = NL_NEW_ARRAY(command->arena, nl_value, arguments->count + 1);
    *names = NL_NEW_ARRAY(command->arena, nl_str, arguments->count + 1);
    for (uint32_t i = 0; i < arguments->count; i++) {
        const nl_ast_expr *argument = arguments->items[i];
        const bool is_named = argument->kind == NL_AST_EXPR_ALIAS;
        const nl_ast_expr *value = is_named ? argument->alias.input : argument;
        const nl_expr *expr = NULL;
        const bool is_variable = value->kind == NL_AST_EXPR_COLUMN && value->column.count;
        if (is_named) (*names)[i] = argument->alias.names.items[0].text;
        if (is_variable && !is_named) (*names)[i] = value->column.parts[value->column.count - 1].text; /* USING p gives :p, too */
        NL_TRY(as_variable(command, value, nl_analyze_expr(&command->context, value, NULL, 0, &expr)));
        const bool has_variable = !is_variable && nl_str_find(nl_expr_pretty_str(command->arena, expr), NL_STR("variablereference("), 0) != NL_NOT_FOUND;
        if (!nl_expr_is_constant(expr) || has_variable)
            return NL_RAISE(UNSUPPORTED_EXPR_FOR_PARAMETER,
                            NL_P_STR("invalidExprSql", nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(nl_expr_pretty_str(command->arena, expr)))));
        NL_TRY(nl_expr_evaluate(command->arena, expr, &command->confs, command->text, &(*values)[i]));
    }
    return NULL;
}

/* ---- which markers the text holds -------------------------------------------------------------------------------- */

typedef struct markers {
    bool has_named, has_positional;
} markers;

/* Outside of texts, quoted names and comments; `::` is a cast. */
static markers find_markers(nl_str text)
{
    markers found = {0};
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.data[i];
        const char next = i + 1 < text.length ? text.data[i + 1] : '\0';
        if (c == '\'' || c == '"' || c == '`') {
            for (i++; i < text.length && text.data[i] != c; i++)
                if (text.data[i] == '\\' && c != '`') i++;
        } else if (c == '-' && next == '-') {
            while (i < text.length && text.data[i] != '\n') i++;
        } else if (c == '/' && next == '*') {
            const size_t end = nl_str_find(text, NL_STR("*/"), i + 2);
            i = end == NL_NOT_FOUND ? text.length : end + 1;
        } else if (c == ':' && next == ':') {
            i++;
        } else if (c == ':' && (next == '_' || (next >= 'a' && next <= 'z') || (next >= 'A' && next <= 'Z'))) {
            found.has_named = true;
        } else if (c == '?') {
            found.has_positional = true;
        }
    }
    return found;
}

static nl_status check_markers(nl_command *command, nl_str text, const nl_ast_exprs *arguments, const nl_str *names)
{
    const markers found = find_markers(text);
    if (found.has_named && found.has_positional) return NL_RAISE(INVALID_QUERY_MIXED_QUERY_PARAMETERS);
    if (!found.has_named) return NULL;
    nl_str missing = {0};
    for (uint32_t i = 0; i < arguments->count; i++) {
        if (names[i].data) continue;
        const nl_str sql = nl_str_slice(command->text, arguments->items[i]->range.start, arguments->items[i]->range.stop);
        missing = missing.data ? nl_arena_f(command->arena, NL_STR_FMT ", \"" NL_STR_FMT "\"", NL_STR_ARG(missing), NL_STR_ARG(sql))
                               : nl_arena_f(command->arena, "\"" NL_STR_FMT "\"", NL_STR_ARG(sql));
    }
    if (!missing.data) return NULL;
    return NL_RAISE(ALL_PARAMETERS_MUST_BE_NAMED, NL_P_STR("exprs", missing));
}

/* ---- running ------------------------------------------------------------------------------------------------------ */

static nl_status run_into(nl_command *command, const nl_ast_execute_immediate *execute, const nl_ast_statement *statement, const nl_str *targets)
{
    const nl_logical *plan = NULL;
    if (statement->kind == NL_AST_STATEMENT_SET_VARIABLE) /* Spark takes it for a query without columns */
        return NL_RAISE(ASSIGNMENT_ARITY_MISMATCH, NL_P_INT("numTarget", execute->into.count), NL_P("numExpr", "0"));
    if (statement->kind != NL_AST_STATEMENT_QUERY) return NL_RAISE(INVALID_STATEMENT_FOR_EXECUTE_INTO, NL_P_STR("sqlString", command->text));
    NL_TRY(nl_analyze_query(&command->context, statement->query, &plan));
    return nl_variables_assign(command, targets, execute->into.count, plan);
}

nl_status nl_run_execute_immediate(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_execute_immediate *execute = statement->execute_immediate;
    nl_str text = {0};
    nl_value *values = NULL;
    nl_str *names = NULL;
    nl_str *targets = NL_NEW_ARRAY(command->arena, nl_str, execute->into.count + 1);
    NL_TRY(query_text(command, execute, &text));
    NL_TRY(nl_variables_find(command, execute->into.items, execute->into.count, targets));
    NL_TRY(make_parameters(command, &execute->arguments, &values, &names));
    NL_TRY(check_markers(command, text, &execute->arguments, names));
    command->text = nl_arena_str(command->arena, text);
    command->context.text = command->text;
    command->query.text = command->text;
    command->context.parameters = values;
    command->context.parameter_names = names;
    command->context.parameter_count = execute->arguments.count;
    command->scope = NULL; /* the text knows nothing of a script around it */
    nl_ast_statement *inner = NULL;
    NL_TRY(nl_command_parse(command, &inner));
    if (inner->kind == NL_AST_STATEMENT_EXECUTE_IMMEDIATE) return NL_RAISE(NESTED_EXECUTE_IMMEDIATE, NL_P_STR("sqlString", command->text));
    if (inner->kind == NL_AST_STATEMENT_BLOCK) return NL_RAISE(SQL_SCRIPT_IN_EXECUTE_IMMEDIATE, NL_P_STR("sqlString", command->text));
    if (execute->into.count > 0) return run_into(command, execute, inner, targets);
    return nl_command_dispatch(command, inner);
}
