/* command/cache.c - CACHE, UNCACHE, CLEAR CACHE and REFRESH TABLE; what they keep is in cached.c. */
#include "command/cached.h"
#include "command/plain_tables.h"

static nl_status check_relation(nl_command *command, const nl_ast_name *name)
{
    const nl_str *parts;
    uint32_t count;
    nl_resolved_relation found = {0};
    NL_TRY(nl_command_name(command, name, &parts, &count));
    nl_status status = command->resolver.find_relation(&command->resolver, parts, count, NULL, NULL, 0, command->arena, &found);
    if (status) return nl_command_at(command, status, name->range);
    nl_table_release(found.table);
    return NULL;
}

static nl_status level_of(nl_command *command, const nl_ast_properties *options, nl_storage_level *level)
{
    const nl_property *items;
    uint32_t count;
    nl_command_properties(command, options, &items, &count);
    NL_TRY(nl_storage_level_parse(NL_STR("MEMORY_AND_DISK"), level));
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is_nocase(items[i].key, "storageLevel")) NL_TRY(nl_storage_level_parse(items[i].value, level));
    return NULL;
}

static nl_status put(nl_command *command, const nl_ast_cache *cache, const nl_storage_level *level)
{
    const nl_str *parts;
    uint32_t count;
    NL_TRY(nl_command_name(command, &cache->name, &parts, &count));
    return nl_cached_put_name(command, parts, count, level, cache->is_lazy);
}

nl_status nl_run_cache(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_cache *cache = statement->cache;
    nl_storage_level level;
    NL_TRY(level_of(command, cache->options, &level));
    if (!cache->query) {
        NL_TRY(check_relation(command, &cache->name));
        return put(command, cache, &level);
    }
    nl_ast_create_view view = {.is_temporary = true, .name = cache->name, .query = cache->query, .query_text = cache->query_text};
    nl_ast_statement create = {.kind = NL_AST_STATEMENT_CREATE_VIEW, .range = statement->range, .text = statement->text, .create_view = &view};
    NL_TRY(nl_run_create_view(command, &create));
    return put(command, cache, &level);
}

nl_status nl_run_uncache(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_cache *cache = statement->cache;
    const nl_str *parts;
    uint32_t count;
    nl_status status = check_relation(command, &cache->name);
    if (status && cache->is_if_exists && nl_error_condition(status) == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        nl_error_free(status);
        return NULL;
    }
    NL_TRY(status);
    NL_TRY(nl_command_name(command, &cache->name, &parts, &count));
    const bool is_view = count == 1 && nl_session_find_view(command->session, parts[0], false, command->arena);
    return nl_cached_drop_name(command, parts, count, !is_view);
}

nl_status nl_run_clear_cache(nl_command *command, const nl_ast_statement *statement)
{
    (void)statement;
    nl_command_clear_cache(command->session);
    return NULL;
}

static nl_status check_function(nl_command *command, const nl_ast_name *name)
{
    const nl_str *parts;
    uint32_t count;
    const nl_function_row *const *rows = NULL;
    NL_TRY(nl_command_name(command, name, &parts, &count));
    if (count == 1 && nl_function_find(parts[0], &rows) > 0)
        return NL_RAISE(_LEGACY_ERROR_TEMP_1017, NL_P_STR("name", parts[0]), NL_P("cmd", "REFRESH FUNCTION"), NL_P("hintStr", ""));
    return nl_command_find_function(command, parts, count) ? NULL : nl_command_raise_routine(command, parts, count, name->range);
}

nl_status nl_run_refresh(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_refresh *refresh = statement->refresh;
    if (refresh->kind == NL_AST_REFRESH_TABLE) return check_relation(command, &refresh->name);
    return refresh->kind == NL_AST_REFRESH_FUNCTION ? check_function(command, &refresh->name) : NULL;
}

/* MSCK REPAIR TABLE: the partitions become those that there are folders of. */
nl_status nl_run_repair(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_repair *repair = statement->repair;
    const nl_plain_table *plain;
    NL_TRY(nl_plain_find_name(command, &repair->table, &plain));
    if (plain) return nl_plain_repair(command, plain, repair->option != NL_AST_REPAIR_DROP, repair->option == NL_AST_REPAIR_DROP || repair->option == NL_AST_REPAIR_SYNC);
    NL_TRY(check_relation(command, &repair->table));
    return NL_RAISE(NOT_SUPPORTED_COMMAND_FOR_V2_TABLE, NL_P("cmd", "MSCK REPAIR TABLE"));
}

nl_status nl_run_analyze(nl_command *command, const nl_ast_statement *statement)
{
    const nl_ast_analyze *analyze = statement->analyze;
    const nl_plain_table *plain = NULL;
    if (!analyze->is_tables) NL_TRY(nl_plain_find_name(command, &analyze->name, &plain));
    if (plain) return nl_plain_analyze(command, plain, analyze);
    if (!analyze->is_tables) NL_TRY(check_relation(command, &analyze->name));
    return NL_RAISE(NOT_SUPPORTED_COMMAND_FOR_V2_TABLE, NL_P("cmd", analyze->is_tables ? "ANALYZE TABLES" : "ANALYZE TABLE"));
}
