/* session/copy.c - a new session with what another one has. */
#include "session/session_private.h"

static nl_status copy_confs(const nl_session *from, nl_session *to)
{
    for (uint32_t i = 0; i < from->confs.count; i++) {
        const nl_property *conf = &from->confs.items[i];
        if (nl_str_starts(conf->key, NL_STR("nilas.python."))) continue; /* folders of that session alone */
        NL_TRY(nl_session_put_conf(to, conf->key, conf->value));
    }
    return NULL;
}

nl_status nl_session_copy(const nl_session *from, nl_session *to)
{
    NL_TRY(copy_confs(from, to));
    for (uint32_t i = 0; i < from->variable_count; i++) {
        const nl_variable_entry *entry = &from->variables[i];
        NL_TRY(nl_session_put_variable(to, entry->name, &entry->value, &entry->default_value, true));
    }
    nl_arena *arena = nl_arena_new(NULL);
    const nl_list functions = nl_session_functions(from, arena);
    nl_status status = NULL;
    for (uint32_t i = 0; i < functions.count && !status; i++) {
        const nl_session_function *function = functions.items[i];
        if (function->is_temporary) status = nl_session_put_function(to, function);
    }
    nl_arena_free(arena);
    NL_TRY(status);
    return nl_session_use(to, from->current_catalog, from->current_namespace, from->current_namespace_count);
}
