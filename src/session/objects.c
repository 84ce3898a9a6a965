/* session/objects.c - temporary views, session variables and functions: small arrays of entries with an arena each. */
#include "function/python.h"
#include "session/session_private.h"

#include <stdlib.h>

static uint32_t find_view(const nl_session *session, nl_str name, bool is_global)
{
    for (uint32_t i = 0; i < session->view_count; i++)
        if (session->views[i].view.is_global == is_global && nl_str_equal_nocase(session->views[i].view.name, name)) return i;
    return UINT32_MAX;
}

static void free_view(nl_view_entry *entry)
{
    if (entry->view.free) entry->view.free(entry->view.handle);
    nl_arena_free(entry->arena);
}

nl_temp_view nl_temp_view_copy(nl_arena *arena, const nl_temp_view *view)
{
    nl_temp_view copy = *view;
    copy.name = nl_arena_str(arena, view->name);
    copy.sql = nl_arena_str(arena, view->sql);
    copy.catalog = nl_arena_str(arena, view->catalog);
    copy.comment = nl_arena_str(arena, view->comment);
    copy.collation = nl_arena_str(arena, view->collation);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, view->namespace_count);
    for (uint32_t i = 0; i < view->namespace_count; i++)
        parts[i] = nl_arena_str(arena, view->namespace_parts[i]);
    copy.namespace_parts = parts;
    nl_property *properties = NL_NEW_ARRAY(arena, nl_property, view->property_count);
    for (uint32_t i = 0; i < view->property_count; i++)
        properties[i] = (nl_property){nl_arena_str(arena, view->properties[i].key), nl_arena_str(arena, view->properties[i].value)};
    copy.properties = properties;
    if (view->columns) copy.columns = nl_type_copy(arena, nl_type_struct(arena, view->columns, view->column_count))->children;
    nl_str *names = NL_NEW_ARRAY(arena, nl_str, view->column_count);
    for (uint32_t i = 0; view->query_columns && i < view->column_count; i++) names[i] = nl_arena_str(arena, view->query_columns[i]);
    copy.query_columns = view->query_columns ? names : NULL;
    return copy;
}

nl_status nl_session_put_view(nl_session *session, const nl_temp_view *view, bool is_replace)
{
    uint32_t at = find_view(session, view->name, view->is_global);
    if (at != UINT32_MAX && !is_replace) {
        if (view->free) view->free(view->handle);
        nl_builder name;
        nl_builder_init(&name, 4096);
        nl_append_f(&name, "`" NL_STR_FMT "`", NL_STR_ARG(view->name));
        nl_status status = NL_RAISE(TEMP_TABLE_OR_VIEW_ALREADY_EXISTS, NL_P("relationName", nl_builder_c(&name)));
        nl_builder_fini(&name);
        return status;
    }
    if (at == UINT32_MAX) {
        nl_view_entry *views = realloc(session->views, (session->view_count + 1) * sizeof(*views));
        if (!views) {
            if (view->free) view->free(view->handle);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*views)), NL_P("receivedBytes", "0"));
        }
        session->views = views;
        at = session->view_count++;
    } else {
        free_view(&session->views[at]);
    }
    nl_arena *arena = nl_arena_new(NULL);
    session->views[at] = (nl_view_entry){arena, nl_temp_view_copy(arena, view)};
    return NULL;
}

const nl_temp_view *nl_session_find_view(const nl_session *session, nl_str name, bool is_global)
{
    const uint32_t at = find_view(session, name, is_global);
    return at == UINT32_MAX ? NULL : &session->views[at].view;
}

bool nl_session_drop_view(nl_session *session, nl_str name, bool is_global)
{
    const uint32_t at = find_view(session, name, is_global);
    if (at == UINT32_MAX) return false;
    free_view(&session->views[at]);
    session->view_count--;
    memmove(&session->views[at], &session->views[at + 1], (session->view_count - at) * sizeof(*session->views));
    return true;
}

const nl_temp_view *nl_session_view_at(const nl_session *session, uint32_t i)
{
    return i < session->view_count ? &session->views[i].view : NULL;
}

static uint32_t find_variable(const nl_session *session, nl_str name)
{
    for (uint32_t i = 0; i < session->variable_count; i++)
        if (nl_str_equal_nocase(session->variables[i].name, name)) return i;
    return UINT32_MAX;
}

nl_status nl_session_put_variable(nl_session *session, nl_str name, const nl_value *value, const nl_value *default_value, bool is_replace)
{
    uint32_t at = find_variable(session, name);
    if (at != UINT32_MAX && !is_replace) {
        nl_builder quoted;
        nl_builder_init(&quoted, 4096);
        nl_append_f(&quoted, "`system`.`session`.`" NL_STR_FMT "`", NL_STR_ARG(name));
        nl_status status = NL_RAISE(VARIABLE_ALREADY_EXISTS, NL_P("variableName", nl_builder_c(&quoted)));
        nl_builder_fini(&quoted);
        return status;
    }
    nl_arena *arena = nl_arena_new(NULL);
    nl_variable_entry entry = {.arena = arena, .name = nl_arena_str(arena, name)};
    entry.value = nl_value_copy(arena, value);
    entry.value.type = nl_type_copy(arena, value->type);
    if (!default_value) default_value = at == UINT32_MAX ? value : &session->variables[at].default_value;
    entry.default_value = nl_value_copy(arena, default_value);
    entry.default_value.type = nl_type_copy(arena, default_value->type);
    if (at == UINT32_MAX) {
        nl_variable_entry *variables = realloc(session->variables, (session->variable_count + 1) * sizeof(*variables));
        if (!variables) {
            nl_arena_free(arena);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*variables)), NL_P("receivedBytes", "0"));
        }
        session->variables = variables;
        at = session->variable_count++;
    } else {
        nl_arena_free(session->variables[at].arena);
    }
    session->variables[at] = entry;
    return NULL;
}

const nl_value *nl_session_find_variable(const nl_session *session, nl_str name)
{
    const uint32_t at = find_variable(session, name);
    return at == UINT32_MAX ? NULL : &session->variables[at].value;
}

const nl_value *nl_session_variable_default(const nl_session *session, nl_str name)
{
    const uint32_t at = find_variable(session, name);
    return at == UINT32_MAX ? NULL : &session->variables[at].default_value;
}

bool nl_session_drop_variable(nl_session *session, nl_str name)
{
    const uint32_t at = find_variable(session, name);
    if (at == UINT32_MAX) return false;
    nl_arena_free(session->variables[at].arena);
    session->variable_count--;
    memmove(&session->variables[at], &session->variables[at + 1], (session->variable_count - at) * sizeof(*session->variables));
    return true;
}

static uint32_t find_function(const nl_session *session, nl_str name, bool is_temporary)
{
    for (uint32_t i = 0; i < session->function_count; i++)
        if (session->functions[i].function.is_temporary == is_temporary && nl_str_equal_nocase(session->functions[i].function.name, name)) return i;
    return UINT32_MAX;
}

nl_status nl_session_put_function(nl_session *session, const nl_session_function *function)
{
    uint32_t at = find_function(session, function->name, function->is_temporary);
    nl_arena *arena = nl_arena_new(NULL);
    nl_function_entry entry = {.arena = arena, .function = *function};
    entry.function.name = nl_arena_str(arena, function->name);
    entry.function.text = nl_arena_str(arena, function->text);
    entry.function.catalog = nl_arena_str(arena, function->catalog);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, function->namespace_count + 1);
    for (uint32_t i = 0; i < function->namespace_count; i++) parts[i] = nl_arena_str(arena, function->namespace_parts[i]);
    entry.function.namespace_parts = parts;
    if (function->python) entry.function.python = nl_python_function_copy(arena, function->python);
    if (at == UINT32_MAX) {
        nl_function_entry *functions = realloc(session->functions, (session->function_count + 1) * sizeof(*functions));
        if (!functions) {
            nl_arena_free(arena);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*functions)), NL_P("receivedBytes", "0"));
        }
        session->functions = functions;
        at = session->function_count++;
    } else {
        nl_arena_free(session->functions[at].arena);
    }
    session->functions[at] = entry;
    return NULL;
}

const nl_session_function *nl_session_find_function(const nl_session *session, nl_str name, bool is_temporary)
{
    const uint32_t at = find_function(session, name, is_temporary);
    return at == UINT32_MAX ? NULL : &session->functions[at].function;
}

bool nl_session_drop_function(nl_session *session, nl_str name, bool is_temporary)
{
    const uint32_t at = find_function(session, name, is_temporary);
    if (at == UINT32_MAX) return false;
    nl_arena_free(session->functions[at].arena);
    session->function_count--;
    memmove(&session->functions[at], &session->functions[at + 1], (session->function_count - at) * sizeof(*session->functions));
    return true;
}

const nl_session_function *nl_session_function_at(const nl_session *session, uint32_t i)
{
    return i < session->function_count ? &session->functions[i].function : NULL;
}
