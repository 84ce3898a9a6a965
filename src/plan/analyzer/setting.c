/* Settings that only a rare statement asks for: looked up in the session when they are. */
#include "plan/analyzer/analyzer.h"

#include "session/session.h"

bool nl_env_is_set(const nl_env *env, const char *key, const char *value)
{
    const nl_session *session = env->context->confs->session;
    const nl_conf_row *row = session ? NULL : nl_conf_find(nl_str_from(key));
    const nl_str own = session ? nl_session_get(session, nl_str_from(key)) : row && row->default_value ? nl_str_from(row->default_value) : (nl_str){0};
    return own.data && nl_str_is_nocase(own, value);
}
