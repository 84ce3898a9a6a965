/* command/catalog_views.h - views that a catalog keeps (Iceberg's): finding, expanding, changing them. */
#pragma once

#include "command/facts.h"
#include "command/views.h"

/* *view NULL: no view of that name, or a catalog without views. Kept until the command ends. */
NL_MUST_USE nl_status nl_catalog_view_find(nl_command *command, const nl_session_name *name, const nl_view_metadata **view);
/* The view as a relation: its Spark text in its own catalog and namespace, its columns cast to what they were. */
NL_MUST_USE nl_status nl_catalog_view_resolve(nl_command *command, const nl_session_name *name, const nl_view_metadata *view, nl_resolved_relation *found);
/* The same as the session's views look, for what only shows them. */
NL_MUST_USE nl_status nl_catalog_view_as_temporary(nl_command *command, const nl_session_name *name, const nl_view_metadata *view, const nl_temp_view **as);

/* CREATE [OR REPLACE] VIEW [IF NOT EXISTS]. */
NL_MUST_USE nl_status nl_catalog_view_create(nl_command *command, const nl_ast_create_view *create, const nl_session_name *name);
/* ALTER VIEW … RENAME, SET and UNSET TBLPROPERTIES. */
NL_MUST_USE nl_status nl_catalog_view_alter(nl_command *command, const nl_ast_alter_table *alter, const nl_session_name *name, const nl_view_metadata *view);
/* Properties as Spark shows them: location, provider and format-version first, then the user's. */
void nl_catalog_view_properties(nl_command *command, const nl_view_metadata *view, bool is_sorted, const nl_property **items, uint32_t *count);
/* "[id, name]": the query's own column names. */
nl_str nl_catalog_view_query_columns(nl_command *command, const nl_view_metadata *view);
