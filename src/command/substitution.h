/* command/substitution.h - ${name} in statements, as Spark's VariableSubstitution does it. */
#pragma once

#include "session/session.h"

/* ${x}, ${hivevar:x}, ${hiveconf:x}, ${spark:x}, ${sparkconf:x}: confs, "" when not set; ${env:x}: the environment, ${system:x}: user.dir and the like, which
 * stay as they are when not known, as do other prefixes.
 * Off when spark.sql.variable.substitute is false. *result is text itself when nothing was replaced. */
NL_MUST_USE nl_status nl_substitute_variables(nl_session *session, nl_arena *arena, nl_str text, nl_str *result);
