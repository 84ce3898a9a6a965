/* command/alter_view.c - ALTER VIEW: another query, another name, other properties. */
#include "command/catalog_views.h"

#include "plan/table.h"

static nl_status not_found(nl_command *command, const nl_ast_name *name, const nl_str *parts, uint32_t count)
{
    return nl_command_at(command, NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P_STR("relationName", nl_command_quoted(command, parts, count))), name->range);
}

static nl_status find(nl_command *command, const nl_ast_name *name, const nl_temp_view **view)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(command, name, &parts, &count));
    *view = nl_command_find_view(command, parts, count);
    return *view ? NULL : not_found(command, name, parts, count);
}

/* *view NULL: the name is a session view's, or nobody's. */
static nl_status find_in_catalog(nl_command *command, const nl_ast_name *name, nl_session_name *resolved, const nl_view_metadata **view)
{
    const nl_str *parts;
    uint32_t count;
    *view = NULL;
    NL_TRY(nl_command_name(command, name, &parts, &count));
    if (nl_command_find_view(command, parts, count)) return NULL;
    nl_error *error = nl_session_resolve(command->session, parts, count, command->arena, resolved);
    if (!error) return nl_catalog_view_find(command, resolved, view);
    nl_error_free(error);
    return NULL;
}

/* ALTER VIEW v AS query: the comment and the properties stay. */
nl_status nl_run_alter_view(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_alter_view *alter = statement->alter_view;
    const nl_temp_view *old = NULL;
    const nl_view_metadata *kept = NULL;
    nl_session_name name = {0};
    NL_TRY(find_in_catalog(command, &alter->name, &name, &kept));
    if (kept) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "ALTER VIEW <viewName> AS is not supported. Use CREATE OR REPLACE VIEW instead;");
    if (name.catalog && name.catalog->ops->has_views)
        return NL_RAISE(UNSUPPORTED_FEATURE__CATALOG_OPERATION, NL_P_STR("catalogName", nl_command_quoted(command, &name.catalog_name, 1)), NL_P("operation", "views"));
    NL_TRY(find(command, &alter->name, &old));
    const bool is_permanent = nl_view_is_permanent(old);
    if (!alter->query) {
        if (!is_permanent) return nl_view_raise_temporary(command, "ALTER VIEW ... WITH SCHEMA ...", old);
        nl_temp_view *bound = nl_view_copy(command->arena, old);
        NL_TRY(nl_view_set_binding(command, alter->binding, bound));
        return nl_session_put_view(command->session, bound, true);
    }
    nl_temp_view view = *old;
    const nl_logical *plan = NULL;
    view.name = nl_arena_str(command->arena, old->name);
    view.sql = alter->query_text;
    view.columns = NULL;
    view.column_count = 0;
    view.query_columns = NULL;
    view.handle = NULL;
    view.retain = NULL;
    view.free = NULL;
    view.make_query = NULL;
    view.collation = nl_arena_str(command->arena, old->collation);
    NL_TRY(nl_view_analyze(command, &view, alter->query, &plan));
    NL_TRY(is_permanent ? nl_view_set_columns(command, plan, NULL, &view) : nl_view_check_columns(command, plan, NULL, 0));
    view.catalog = nl_session_current_catalog(command->session);
    nl_session_current_namespace(command->session, &view.namespace_parts, &view.namespace_count);
    return nl_session_put_view(command->session, nl_view_copy(command->arena, &view), true);
}

static nl_status rename_to(nl_command *command, const nl_ast_alter_table *alter, const nl_temp_view *old)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(command, &alter->rename_to, &parts, &count));
    nl_str new_name = parts[0];
    if (nl_view_is_permanent(old)) {
        nl_session_name name;
        NL_TRY(nl_session_resolve(command->session, parts, count, command->arena, &name));
        new_name = nl_command_dotted_name(command, &name);
    } else {
        if (count != 1)
            return NL_RAISE(_LEGACY_ERROR_TEMP_1074, NL_P_STR("oldName", nl_command_quoted(command, &old->name, 1)),
                            NL_P_STR("newName", nl_command_quoted(command, parts, count)), NL_P_STR("db", parts[0]));
    }
    if (nl_session_find_view(command->session, new_name, old->is_global, command->arena))
        return NL_RAISE(TABLE_OR_VIEW_ALREADY_EXISTS, NL_P_STR("relationName", nl_command_quoted(command, parts, count)));
    nl_temp_view *view = nl_view_copy(command->arena, old);
    view->name = new_name;
    NL_TRY(nl_session_put_view(command->session, view, false));
    nl_session_drop_view(command->session, old->name, old->is_global);
    return NULL;
}

static uint32_t without(const nl_property *items, uint32_t count, nl_str key, nl_property *kept)
{
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!nl_str_equal(items[i].key, key)) kept[kept_count++] = items[i];
    return kept_count;
}

static nl_status change_properties(nl_command *command, const nl_ast_alter_table *alter, const nl_temp_view *old)
{
    const nl_property *given;
    uint32_t given_count;
    nl_command_properties(command, alter->properties, &given, &given_count);
    nl_temp_view *view = nl_view_copy(command->arena, old);
    nl_property *items = NL_NEW_ARRAY(command->arena, nl_property, view->property_count + given_count + 1);
    uint32_t count = view->property_count;
    if (count) memcpy(items, view->properties, count * sizeof(*items));
    for (uint32_t i = 0; i < given_count; i++) {
        count = without(items, count, given[i].key, items);
        if (alter->action == NL_AST_ALTER_SET_PROPERTIES) items[count++] = given[i];
    }
    view->properties = items;
    view->property_count = count;
    return nl_session_put_view(command->session, view, true);
}

nl_status nl_alter_view_table(nl_command *command, const nl_ast_alter_table *alter)
{
    const nl_temp_view *view = NULL;
    const nl_view_metadata *kept = NULL;
    nl_session_name name;
    NL_TRY(find_in_catalog(command, &alter->name, &name, &kept));
    if (kept) return nl_catalog_view_alter(command, alter, &name, kept);
    NL_TRY(find(command, &alter->name, &view));
    if (alter->action == NL_AST_ALTER_RENAME_TABLE) return rename_to(command, alter, view);
    const bool is_set = alter->action == NL_AST_ALTER_SET_PROPERTIES;
    if (!is_set && alter->action != NL_AST_ALTER_UNSET_PROPERTIES)
        return NL_RAISE(NOT_SUPPORTED_COMMAND_FOR_V2_TABLE, NL_P("cmd", "ALTER VIEW"));
    if (!nl_view_is_permanent(view)) {
        const char *operation = is_set ? "ALTER VIEW ... SET TBLPROPERTIES" : "ALTER VIEW ... UNSET TBLPROPERTIES";
        return nl_command_at(command, nl_view_raise_temporary(command, operation, view), alter->name.range);
    }
    return change_properties(command, alter, view);
}
