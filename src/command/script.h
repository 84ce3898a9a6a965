/* command/script.h - SQL scripts: the scopes of their local variables.
 *
 * Every BEGIN … END and every row of a FOR has a scope while it runs. Its variables are kept by the session under keys that
 * no name in SQL can be; they go with the scope.
 */
#pragma once

#include "command/command_private.h"

struct nl_script_scope {
    const nl_script_scope *outer; /* NULL: of the script itself */
    nl_str label;                 /* as written, or one that nobody can write */
    uint64_t id;                  /* unlike that of any other scope of the process */
    nl_list variables;            /* nl_str *: keys */
    nl_arena *arena;              /* of the keys; owned */
};

/* The key of the local variable that a name means in the statement: "x", "label.x"; data NULL: there is none. `owner` is its
 * scope. Threads: that of the statement. */
nl_str nl_script_find(nl_command *command, const nl_str *parts, uint32_t count, const nl_script_scope **owner);
nl_str nl_script_shown(nl_arena *arena, const nl_script_scope *owner, nl_str name); /* "local.label.x" */
/* Makes a variable of the innermost scope. VARIABLE_ALREADY_EXISTS. */
NL_MUST_USE nl_status nl_script_declare(nl_command *command, nl_str name, const nl_value *value);
