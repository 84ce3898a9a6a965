/* connect/remote.h - the other side: statements sent to a Spark Connect server, nilas's or a Spark cluster's. */
#pragma once

#include "command/command.h"

typedef struct nl_remote_session nl_remote_session; /* one session there; one thread at a time */

/* "sc://host[:15002]/;use_ssl=true;token=…;user_id=…;user_agent=…;session_id=…;name=value": other parameters travel as
 * headers. confs are set there when the server lets it. `session` (borrowed) lends memory and the cancel token, and its
 * confs that concern printing follow the server's. Fails: NILAS_ILLEGAL_ARGUMENT for the URL; what the server says. */
NL_MUST_USE nl_status nl_remote_open(nl_session *session, nl_str url, const nl_property *confs, uint32_t conf_count, nl_remote_session **remote);
/* A statement: a command has run there when this returns, rows of a query come while they are pulled. Errors are the
 * server's words (NILAS_REMOTE_ERROR, its condition and SQLSTATE in the text). A cancelled one is interrupted there. */
NL_MUST_USE nl_status nl_remote_run(nl_remote_session *remote, nl_str statement, nl_result **result);
void nl_remote_close(nl_remote_session *remote); /* releases the session there; NULL is fine */
