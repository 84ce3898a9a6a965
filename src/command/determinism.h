/* command/determinism.h - statements that read their target twice, or write what they read, need conditions that say the
 * same each time. */
#pragma once

#include "command/command_private.h"

/* Subqueries are entered. Sampling counts as deterministic, as in Spark. */
bool nl_is_deterministic(const nl_expr *expr);
bool nl_is_deterministic_plan(const nl_logical *plan);
/* INVALID_NON_DETERMINISTIC_EXPRESSIONS, naming an expression `times` times: Spark's plans hold a condition once or twice. */
NL_MUST_USE nl_status nl_check_deterministic(nl_command *command, const nl_expr *expr, uint32_t times);
