/* connect/captured.h - a DataFrame kept for later, with the temporary views that it may name as they were when it was kept. */
#pragma once

#include "connect/plan.h"

typedef struct nl_connect_captured nl_connect_captured; /* counted */
NL_MUST_USE nl_status nl_connect_capture(nl_connect_host *host, const Spark__Connect__Relation *relation, nl_connect_captured **captured);
/* Its query, made anew in the arena. In the host's session. */
NL_MUST_USE nl_status nl_connect_captured_query(nl_connect_captured *captured, nl_session *session, nl_arena *arena, const struct nl_ast_query **query, nl_str *text);
/* Temporary views of one client's session also in another's, which is new. Those over DataFrames are made in that one from then on. */
NL_MUST_USE nl_status nl_connect_copy_views(const nl_session *from, nl_connect_host *to);
void nl_connect_captured_release(nl_connect_captured *captured); /* NULL is fine */
