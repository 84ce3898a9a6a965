/* command/command.h - one statement from text to result. */
#pragma once

#include "column/batch.h"
#include "session/session.h"

typedef struct nl_result nl_result; /* owned: nl_result_close */

/* Parses, plans and runs one statement. Commands have run when this returns; queries run while results are pulled. */
NL_MUST_USE nl_status nl_command_run(nl_session *session, nl_str text, nl_result **result);

/* The result's columns (a STRUCT); child_count 0: the statement has no rows to show. Borrowed. */
const nl_type *nl_result_schema(const nl_result *result);
/* Whether it was a query (SELECT …) rather than a command; spark-sql pads DESCRIBE rows and shows only names for SHOW TABLES. */
typedef enum nl_result_kind { NL_RESULT_QUERY, NL_RESULT_COMMAND, NL_RESULT_DESCRIBE, NL_RESULT_SHOW_TABLES } nl_result_kind;
nl_result_kind nl_result_kind_of(const nl_result *result);
NL_MUST_USE nl_status nl_result_next(nl_result *result, nl_batch *batch, bool *is_done);
void nl_result_close(nl_result *result); /* cancels what still runs; NULL is fine */
