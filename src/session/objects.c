/* session/objects.c - views and functions: those of the session in its own list, those that all sessions of the program see in
 * the shared one. Session variables.
 */
#include "function/python.h"
#include "session/object_list.h"
#include "session/session_private.h"

#include <stdlib.h>

/* ---- views ---- */

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

/* Global ones, and those that are kept by their full name ("spark_catalog.default.v"). */
static nl_shared_objects *list_of_view(const nl_session *session, nl_str name, bool is_global)
{
    return is_global || nl_str_find_char(name, '.', 0) != NL_NOT_FOUND ? session->shared_objects : session->own_objects;
}

nl_status nl_session_put_view(nl_session *session, const nl_temp_view *view, bool is_replace)
{
    nl_object *object = nl_object_new(&(nl_object_key){.kind = NL_OBJECT_VIEW, .is_global = view->is_global, .name = view->name});
    bool is_put;
    object->view = nl_temp_view_copy(object->arena, view);
    NL_TRY(nl_objects_put(list_of_view(session, view->name, view->is_global), object, is_replace ? NL_PUT_ANY : NL_PUT_NEW, NULL, &is_put));
    if (is_put) return NULL;
    nl_builder name;
    nl_builder_init(&name, 4096);
    nl_append_f(&name, "`" NL_STR_FMT "`", NL_STR_ARG(view->name));
    nl_status status = NL_RAISE(TEMP_TABLE_OR_VIEW_ALREADY_EXISTS, NL_P("relationName", nl_builder_c(&name)));
    nl_builder_fini(&name);
    return status;
}

const nl_temp_view *nl_session_find_view(const nl_session *session, nl_str name, bool is_global, nl_arena *arena)
{
    const nl_object_key key = {.kind = NL_OBJECT_VIEW, .is_global = is_global, .name = name};
    const nl_object *found = nl_objects_find(list_of_view(session, name, is_global), &key, arena);
    return found ? &found->view : NULL;
}

bool nl_session_drop_view(nl_session *session, nl_str name, bool is_global)
{
    return nl_objects_drop(list_of_view(session, name, is_global), &(nl_object_key){.kind = NL_OBJECT_VIEW, .is_global = is_global, .name = name});
}

/* What the lists hold of a kind becomes what it is: the session's own first. */
static nl_list all_of(const nl_session *session, nl_object_kind kind, nl_arena *arena)
{
    nl_list found = {0};
    nl_objects_list(session->own_objects, kind, arena, &found);
    nl_objects_list(session->shared_objects, kind, arena, &found);
    for (uint32_t i = 0; i < found.count; i++) {
        nl_object *object = found.items[i];
        found.items[i] = kind == NL_OBJECT_VIEW ? (void *)&object->view : kind == NL_OBJECT_FUNCTION ? (void *)&object->function : (void *)&object->table;
    }
    return found;
}

nl_list nl_session_views(const nl_session *session, nl_arena *arena)
{
    return all_of(session, NL_OBJECT_VIEW, arena);
}

/* ---- functions ---- */

static nl_shared_objects *list_of_function(const nl_session *session, bool is_temporary)
{
    return is_temporary ? session->own_objects : session->shared_objects;
}

nl_status nl_session_put_function(nl_session *session, const nl_session_function *function)
{
    nl_object *object = nl_object_new(&(nl_object_key){.kind = NL_OBJECT_FUNCTION, .name = function->name});
    nl_arena *arena = object->arena;
    nl_session_function *copy = &object->function;
    bool is_put;
    *copy = *function;
    copy->name = object->key.name;
    copy->text = nl_arena_str(arena, function->text);
    copy->catalog = nl_arena_str(arena, function->catalog);
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, function->namespace_count + 1);
    for (uint32_t i = 0; i < function->namespace_count; i++) parts[i] = nl_arena_str(arena, function->namespace_parts[i]);
    copy->namespace_parts = parts;
    if (function->python) copy->python = nl_python_function_copy(arena, function->python);
    return nl_objects_put(list_of_function(session, function->is_temporary), object, NL_PUT_ANY, NULL, &is_put);
}

const nl_session_function *nl_session_find_function(const nl_session *session, nl_str name, bool is_temporary, nl_arena *arena)
{
    const nl_object *found = nl_objects_find(list_of_function(session, is_temporary), &(nl_object_key){.kind = NL_OBJECT_FUNCTION, .name = name}, arena);
    return found ? &found->function : NULL;
}

bool nl_session_drop_function(nl_session *session, nl_str name, bool is_temporary)
{
    return nl_objects_drop(list_of_function(session, is_temporary), &(nl_object_key){.kind = NL_OBJECT_FUNCTION, .name = name});
}

nl_list nl_session_functions(const nl_session *session, nl_arena *arena)
{
    return all_of(session, NL_OBJECT_FUNCTION, arena);
}

nl_list nl_session_plain_tables(const nl_session *session, nl_arena *arena)
{
    return all_of(session, NL_OBJECT_PLAIN_TABLE, arena);
}

/* ---- variables ---- */

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
