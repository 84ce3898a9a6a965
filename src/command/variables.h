/* command/variables.h - session variables as targets: of SET VARIABLE, of EXECUTE IMMEDIATE … INTO. */
#pragma once

#include "command/command_private.h"

nl_status nl_variable_unresolved(nl_command *command, const nl_str *parts, uint32_t count); /* UNRESOLVED_VARIABLE */
/* The variable's own name; UNRESOLVED_VARIABLE at the name's place when it is not declared. */
NL_MUST_USE nl_status nl_variable_find(nl_command *command, const nl_ast_name *written, nl_str *name);
/* The same for several, each at most once (DUPLICATE_ASSIGNMENTS). names: count entries, out. */
NL_MUST_USE nl_status nl_variables_find(nl_command *command, const nl_ast_name *written, uint32_t count, nl_str *names);
/* Runs the plan and stores its one row; no row stores nulls. ASSIGNMENT_ARITY_MISMATCH, ROW_SUBQUERY_TOO_MANY_ROWS. */
NL_MUST_USE nl_status nl_variables_assign(nl_command *command, const nl_str *names, uint32_t count, const nl_logical *plan);
/* A value as the variable's type. */
NL_MUST_USE nl_status nl_variable_cast(nl_command *command, const nl_value *value, const nl_type *type, nl_value *cast);
