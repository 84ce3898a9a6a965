/* command/confs.c - SET, SET TIME ZONE, RESET. */
#include "command/command_private.h"
#include "storage/credentials.h"

static const nl_field key_value_fields[] = {
    {.name = NL_STR_INIT("key"), .is_nullable = false},
    {.name = NL_STR_INIT("value"), .is_nullable = false},
};

static nl_status two_columns(nl_command *command, nl_rows **rows)
{
    nl_field fields[NL_COUNT(key_value_fields)];
    for (uint32_t i = 0; i < NL_COUNT(fields); i++) {
        fields[i] = key_value_fields[i];
        fields[i].type = nl_type_string();
    }
    return nl_command_rows(command, fields, NL_COUNT(fields), rows);
}

static nl_status one_row(nl_command *command, nl_str key, nl_str value)
{
    nl_rows *rows = NULL;
    NL_TRY(two_columns(command, &rows));
    return nl_rows_add_text(rows, (const nl_str[]){key, value});
}

/* As Spark shows a conf: not at all when its name, or what it holds, looks like a secret. */
static nl_str shown(nl_str key, nl_str value)
{
    return nl_key_is_secret(key) || nl_looks_secret(value) ? NL_STR(NL_REDACTED) : value;
}

static nl_status list_all(nl_command *command)
{
    const nl_property *confs;
    uint32_t conf_count;
    nl_rows *rows = NULL;
    nl_session_list(command->session, command->arena, &confs, &conf_count);
    NL_TRY(two_columns(command, &rows));
    for (uint32_t i = 0; i < conf_count; i++)
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){confs[i].key, shown(confs[i].key, confs[i].value)}));
    return NULL;
}

static nl_status list_known(nl_command *command)
{
    static const char *const names[] = {"key", "value", "meaning", "Since version"};
    nl_field fields[NL_COUNT(names)];
    nl_rows *rows = NULL;
    for (uint32_t i = 0; i < NL_COUNT(names); i++)
        fields[i] = (nl_field){.name = nl_str_from(names[i]), .type = nl_type_string()};
    NL_TRY(nl_command_rows(command, fields, NL_COUNT(names), &rows));
    const nl_conf_row *row;
    for (uint32_t i = 0; (row = nl_conf_at(i)) != NULL; i++) {
        const nl_str value = nl_session_get(command->session, nl_str_from(row->key));
        NL_TRY(nl_rows_add_text(rows, (const nl_str[]){nl_str_from(row->key), shown(nl_str_from(row->key), value.data ? value : NL_STR("<undefined>")), nl_str_from(row->doc),
                                                       nl_str_from(row->since)}));
    }
    return NULL;
}

/* a.b as `a`.`b` */
static nl_str quoted_parts(nl_command *command, nl_str name)
{
    nl_str quoted = {0};
    for (size_t at = 0; at <= name.length;) {
        const size_t point = nl_str_find_char(name, '.', at);
        const size_t stop = point == NL_NOT_FOUND ? name.length : point;
        quoted = nl_arena_f(command->arena, NL_STR_FMT "%s`" NL_STR_FMT "`", NL_STR_ARG(quoted), quoted.length ? "." : "", NL_STR_ARG(nl_str_slice(name, at, stop)));
        at = stop + 1;
    }
    return quoted;
}

nl_status nl_run_set_conf(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_set_conf *set = statement->set_conf;
    if (set->is_verbose) return list_known(command);
    if (!set->key.data) return list_all(command);
    nl_str variable = set->key;
    if (nl_str_starts_nocase(variable, NL_STR("system.session."))) variable = nl_str_slice(variable, 7, variable.length);
    if (nl_str_starts_nocase(variable, NL_STR("session."))) variable = nl_str_slice(variable, 8, variable.length);
    if (nl_session_find_variable(command->session, variable))
        return NL_RAISE(UNSUPPORTED_FEATURE__SET_VARIABLE_USING_SET, NL_P_STR("variableName", quoted_parts(command, set->key)));
    if (set->value.data) {
        NL_TRY(nl_session_set(command->session, set->key, set->value));
        return one_row(command, set->key, set->value);
    }
    const nl_str value = nl_session_get(command->session, set->key);
    return one_row(command, set->key, shown(set->key, value.data ? value : NL_STR("<undefined>")));
}

/* INTERVAL '1' HOUR or '02:30' HOUR TO MINUTE as an offset: "+01:00". */
static nl_status interval_zone(nl_command *command, nl_ast_expr *expr, nl_str *zone)
{
    nl_value value;
    NL_TRY(nl_analyze_constant(&command->context, expr, &value));
    if (value.is_null || value.type->id != NL_TYPE_INTERVAL_DT || value.integer % NL_MICROS_PER_SECOND != 0 ||
        value.integer < -18 * 3600 * NL_MICROS_PER_SECOND || value.integer > 18 * 3600 * NL_MICROS_PER_SECOND)
        return NL_RAISE(INVALID_INTERVAL_FORMAT__TIMEZONE_INTERVAL_OUT_OF_RANGE, NL_P("input", "INTERVAL"));
    const int64_t seconds = value.integer / NL_MICROS_PER_SECOND;
    const int64_t size = seconds < 0 ? -seconds : seconds;
    *zone = nl_arena_f(command->arena, "%c%02d:%02d", seconds < 0 ? '-' : '+', (int)(size / 3600), (int)(size / 60 % 60));
    if (size % 60) *zone = nl_arena_f(command->arena, NL_STR_FMT ":%02d", NL_STR_ARG(*zone), (int)(size % 60));
    return NULL;
}

nl_status nl_run_set_time_zone(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_set_time_zone *set = statement->set_time_zone;
    const nl_str key = NL_STR("spark.sql.session.timeZone");
    nl_str zone = set->zone;
    if (set->interval) NL_TRY(interval_zone(command, set->interval, &zone));
    if (set->is_local)
        NL_TRY(nl_session_unset(command->session, key));
    else
        NL_TRY(nl_session_set(command->session, key, zone));
    return one_row(command, key, nl_session_get(command->session, key));
}

nl_status nl_run_reset(nl_command *command, const nl_ast_statement *statement)
{
    if (statement->reset->key.data) return nl_session_unset(command->session, statement->reset->key);
    const nl_property *confs;
    uint32_t conf_count;
    nl_session_list(command->session, command->arena, &confs, &conf_count);
    for (uint32_t i = 0; i < conf_count; i++)
        NL_TRY(nl_session_unset(command->session, confs[i].key));
    return NULL;
}
