/* lakehouse/queries.h - the statements that run right now, for the dashboard: Athena, Trino and maintenance enter theirs. */
#pragma once

#include "session/session.h"

typedef struct nl_queries nl_queries; /* owned; threads: any */
nl_queries *nl_queries_new(void);
void nl_queries_free(nl_queries *queries); /* none may be running; NULL is fine */

typedef struct nl_running_query nl_running_query; /* owned by who runs it: nl_query_end */
/* source: "athena"; id and text are copied. session: borrowed until nl_query_end, its progress is shown and cancelling sets
 * it; NULL: neither. */
NL_MUST_USE nl_status nl_query_begin(nl_queries *queries, const char *source, nl_str id, nl_str text, nl_session *session, nl_running_query **query);
void nl_query_end(nl_running_query *query); /* NULL is fine */

typedef struct nl_query_facts { /* in the arena given */
    const char *source;
    nl_str id, text;
    int64_t started_micros;
    uint64_t rows, rows_total, bytes, files, files_total; /* read so far */
} nl_query_facts;
/* Oldest first. */
void nl_queries_list(nl_queries *queries, nl_arena *arena, const nl_query_facts **list, uint32_t *count);
bool nl_queries_cancel(nl_queries *queries, nl_str id); /* false: no such one runs */
