/* command/views.h - views of the session: finding them, refusing them where a table is wanted. */
#pragma once

#include "command/command_private.h"

/* The view a name stands for, or NULL: a temporary one, a global temporary one, one kept under its full name. */
const nl_temp_view *nl_command_find_view(nl_command *command, const nl_str *parts, uint32_t part_count);
/* Kept under its full name, as its catalog would keep it. */
bool nl_view_is_permanent(const nl_temp_view *view);
/* A copy in the arena that holds the handle, too: nl_session_put_view takes it. */
nl_temp_view *nl_view_copy(nl_arena *arena, const nl_temp_view *view);
/* EXPECT_TABLE_NOT_VIEW when the name is a view's; NULL when it is not. operation: as "ALTER TABLE ... ADD COLUMN". */
NL_MUST_USE nl_status nl_command_refuse_view(nl_command *command, const nl_ast_name *name, const char *operation);
nl_status nl_view_raise_temporary(nl_command *command, const char *operation, const nl_temp_view *view); /* EXPECT_PERMANENT_VIEW_NOT_TEMP */
/* What the session catalog keeps by itself (views, tables over plain files) lies one namespace deep. REQUIRES_SINGLE_PART_NAMESPACE. */
NL_MUST_USE nl_status nl_check_session_namespace(nl_command *command, const nl_session_name *name);
/* COLUMN_ALREADY_EXISTS when two columns have one name. names: those given to the view, or NULL. */
NL_MUST_USE nl_status nl_view_check_columns(nl_command *command, const nl_logical *plan, const nl_field *names, uint32_t name_count);
/* The columns of a view that is kept: those of its plan, perhaps with names and comments of their own. In the arena. */
NL_MUST_USE nl_status nl_view_set_columns(nl_command *command, const nl_logical *plan, const nl_ast_view_column *named, nl_temp_view *view);
/* WITH SCHEMA …, or what the session says where nothing is said. FEATURE_NOT_ENABLED. */
NL_MUST_USE nl_status nl_view_set_binding(nl_command *command, nl_ast_schema_binding said, nl_temp_view *view);
/* ALTER VIEW … RENAME, SET and UNSET TBLPROPERTIES; ALTER TABLE … RENAME of a view. */
NL_MUST_USE nl_status nl_alter_view_table(nl_command *command, const nl_ast_alter_table *alter);
/* The query of a view that is being made: it may not mention the view; literals and casts have its default collation. */
NL_MUST_USE nl_status nl_view_analyze(nl_command *command, const nl_temp_view *view, const nl_ast_query *query, const nl_logical **plan);
/* What DESCRIBE and SHOW say of a view that is kept; "" when the session knows no modes. */
const char *nl_view_binding_words(nl_command *command, const nl_temp_view *view);
/* "COMPENSATION"; "" for UNSAID. */
const char *nl_schema_binding_words(nl_ast_schema_binding binding);
