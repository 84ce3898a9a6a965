/* command/substitution.c - see substitution.h. */
#include "command/substitution.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/limits.h"

#define SUBSTITUTIONS_MAX 100 /* a value may hold ${…} again: Spark gives up after as many rounds */

/* The few properties of a JVM that say something about a program without one. */
static nl_str system_property(nl_session *session, nl_arena *arena, nl_str name)
{
    char folder[4096];
    if (nl_str_is(name, "user.dir")) return nl_arena_str(arena, nl_str_from(getcwd(folder, sizeof folder)));
    if (nl_str_is(name, "user.home")) return nl_str_from(getenv("HOME"));
    if (nl_str_is(name, "user.name")) return nl_session_user(session);
    if (nl_str_is(name, "java.io.tmpdir")) return NL_STR("/tmp");
    if (nl_str_is(name, "file.separator")) return NL_STR("/");
    return (nl_str){0};
}

/* A conf that is not set is the empty text, as Spark has it; data NULL: the reference stays as it is. */
static nl_str lookup(nl_session *session, nl_arena *arena, nl_str name)
{
    static const char *const conf_prefixes[] = {"hivevar:", "hiveconf:", "spark:", "sparkconf:", ""};
    for (uint32_t i = 0; i < NL_COUNT(conf_prefixes) - 1; i++)
        if (nl_str_starts(name, nl_str_from(conf_prefixes[i])))
            name = nl_str_slice(name, strlen(conf_prefixes[i]), name.length);
    if (nl_str_starts(name, NL_STR("env:"))) return nl_str_from(getenv(nl_str_c(arena, nl_str_slice(name, 4, name.length))));
    if (nl_str_starts(name, NL_STR("system:"))) return system_property(session, arena, nl_str_slice(name, 7, name.length));
    nl_str value = nl_session_get(session, name);
    if (!value.data) value = nl_session_get(session, nl_arena_f(arena, "hivevar:" NL_STR_FMT, NL_STR_ARG(name))); /* SET hivevar:x=1 */
    return value.data || nl_str_find_char(name, ':', 0) != NL_NOT_FOUND ? value : NL_STR("");
}

static bool replace_once(nl_session *session, nl_arena *arena, nl_str text, nl_builder *out)
{
    bool has_replaced = false;
    size_t at = 0;
    while (at < text.length) {
        const size_t open = nl_str_find(text, NL_STR("${"), at);
        const size_t close = open == NL_NOT_FOUND ? NL_NOT_FOUND : nl_str_find_char(text, '}', open);
        if (close == NL_NOT_FOUND) break;
        const nl_str value = lookup(session, arena, nl_str_slice(text, open + 2, close));
        nl_append(out, nl_str_slice(text, at, open));
        nl_append(out, value.data ? value : nl_str_slice(text, open, close + 1));
        has_replaced = has_replaced || value.data;
        at = close + 1;
    }
    nl_append(out, nl_str_slice(text, at, text.length));
    return has_replaced;
}

nl_status nl_substitute_variables(nl_session *session, nl_arena *arena, nl_str text, nl_str *result)
{
    *result = nl_arena_str(arena, text);
    if (nl_str_find(text, NL_STR("${"), 0) == NL_NOT_FOUND || !nl_session_get_bool(session, "spark.sql.variable.substitute")) return NULL;
    nl_builder out;
    nl_builder_init(&out, NL_SQL_TEXT_BYTES_MAX);
    bool has_replaced = true;
    for (uint32_t round = 0; has_replaced && round < SUBSTITUTIONS_MAX; round++) {
        nl_builder_clear(&out);
        has_replaced = replace_once(session, arena, *result, &out);
        *result = nl_arena_str(arena, nl_builder_str(&out));
    }
    const bool has_failed = nl_builder_failed(&out);
    nl_builder_fini(&out);
    if (has_failed) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "the statement grows beyond its limit when its variables are replaced");
    return NULL;
}
