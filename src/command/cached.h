/* command/cached.h - results that the session keeps (Spark's CacheManager): plans by what they mean, each with its rows.
 *
 * A later plan that contains one of them scans the rows instead. They are made when they are first wanted. After a statement
 * that may have changed tables, or another session's change of one over plain files, they are compared with the tables' states
 * and made anew where these differ; changes by others are seen after REFRESH, as in Spark.
 */
#pragma once

#include "command/command_private.h"

/* The plan with every part that is kept replaced by a scan of its rows. */
NL_MUST_USE nl_status nl_cached_use(nl_command *command, const nl_logical *plan, const nl_logical **result);
/* nl_analyze_query and nl_cached_use. */
NL_MUST_USE nl_status nl_cached_analyze(nl_command *command, const nl_ast_query *query, const nl_logical **plan);
/* The rows of an optimized plan, made now, as a plan that scans them; they last as long as the statement. */
NL_MUST_USE nl_status nl_cached_make(nl_command *command, const nl_logical *optimized, const nl_logical **scan);
/* CACHE, UNCACHE, DROP: the relation of that name. is_cascade: also what is made of it. *is_found: there was one. */
NL_MUST_USE nl_status nl_cached_put_name(nl_command *command, const nl_str *parts, uint32_t part_count, const nl_storage_level *level, bool is_lazy);
NL_MUST_USE nl_status nl_cached_drop_name(nl_command *command, const nl_str *parts, uint32_t part_count, bool is_cascade);
bool nl_cached_is_empty(const nl_session *session);
/* "MEMORY_AND_DISK" …; an IllegalArgumentException for others. */
NL_MUST_USE nl_status nl_storage_level_parse(nl_str name, nl_storage_level *level);
