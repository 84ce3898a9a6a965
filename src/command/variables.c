/* command/variables.c - DECLARE VARIABLE, SET VARIABLE and EXECUTE IMMEDIATE. */
#include "command/command_private.h"

#include "function/cast.h"

/* v, session.v, system.session.v: the last part, or data NULL. */
static nl_str variable_name(const nl_str *parts, uint32_t count)
{
    const bool is_session = count == 1 || (count == 2 && nl_str_is_nocase(parts[0], "session")) ||
                            (count == 3 && nl_str_is_nocase(parts[0], "system") && nl_str_is_nocase(parts[1], "session"));
    return is_session ? parts[count - 1] : (nl_str){0};
}

static nl_status unresolved(nl_command *command, const nl_str *parts, uint32_t count)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "[UNRESOLVED_VARIABLE] Cannot resolve variable " NL_STR_FMT " on search path `system`.`session`. SQLSTATE: 42883",
                         NL_STR_ARG(nl_command_quoted(command, parts, count)));
}

static nl_status value_of(nl_command *command, const nl_ast_expr *expr, const nl_type *type, nl_value *value)
{
    nl_value given;
    NL_TRY(nl_analyze_constant(&command->context, expr, &given));
    if (nl_type_equal(given.type, type)) {
        *value = given;
        return NULL;
    }
    return nl_cast_value(command->arena, &command->confs, NL_CAST_ANSI, &given, type, value);
}

nl_status nl_run_declare_variable(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_declare_variable *declare = statement->declare_variable;
    const nl_str *parts;
    uint32_t count;
    const nl_type *type = NULL;
    nl_value value;
    NL_TRY(nl_command_name(command, &declare->name, &parts, &count));
    const nl_str name = variable_name(parts, count);
    if (!name.data) return unresolved(command, parts, count);
    if (declare->type) NL_TRY(nl_ast_type_to_type(command->arena, declare->type, &type));
    if (!declare->default_value) {
        value = nl_value_null(type ? type : nl_type_of(NL_TYPE_NULL));
    } else if (type) {
        NL_TRY(value_of(command, declare->default_value, type, &value));
    } else {
        NL_TRY(nl_analyze_constant(&command->context, declare->default_value, &value));
    }
    return nl_session_put_variable(command->session, name, &value, &value, declare->is_replace);
}

static nl_status set_one(nl_command *command, const nl_ast_assignment *assignment)
{
    const nl_str *parts;
    uint32_t count;
    nl_value value;
    NL_TRY(nl_command_name(command, &assignment->target, &parts, &count));
    const nl_str name = variable_name(parts, count);
    const nl_value *held = name.data ? nl_session_find_variable(command->session, name) : NULL;
    if (!held) return unresolved(command, parts, count);
    NL_TRY(value_of(command, assignment->value, held->type, &value));
    return nl_session_put_variable(command->session, name, &value, NULL, true);
}

nl_status nl_run_set_variable(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_set_variable *set = statement->set_variable;
    if (set->query) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas %s does not set variables from a query yet", NILAS_VERSION);
    for (uint32_t i = 0; i < set->assignments.count; i++)
        NL_TRY(set_one(command, &set->assignments.items[i]));
    return NULL;
}
