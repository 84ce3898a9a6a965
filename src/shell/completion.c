/* shell/completion.c - candidates: SQL keywords, function names, and the tables of the current namespace. */
#include "shell/completion.h"

#include <editline/readline.h>
#include <stdlib.h>

#include "function/function.h"

/* libedit's callbacks take no argument. */
static nl_session *completed_session;

static const char *const keywords[] = {
    "ALTER TABLE", "CALL",   "CREATE TABLE", "CREATE NAMESPACE", "DELETE FROM", "DESCRIBE", "DROP TABLE", "EXPLAIN", "FROM",  "GROUP BY",
    "HAVING",      "INSERT INTO", "INSERT OVERWRITE", "JOIN",    "LIMIT",       "MERGE INTO", "ORDER BY", "PARTITIONED BY", "SELECT", "SET",
    "SHOW TABLES", "SHOW NAMESPACES", "SHOW CATALOGS", "TBLPROPERTIES", "UPDATE", "USE", "USING iceberg", "VALUES", "VERSION AS OF", "WHERE", "WITH",
};

typedef struct candidates {
    nl_arena *arena;
    nl_list items; /* const char * */
    nl_str prefix;
} candidates;

static void offer(candidates *self, nl_str text)
{
    if (nl_str_starts_nocase(text, self->prefix)) nl_list_add(self->arena, &self->items, (void *)(uintptr_t)nl_str_c(self->arena, text));
}

static void offer_tables(candidates *self)
{
    const nl_str *parts;
    uint32_t part_count;
    nl_catalog *catalog;
    nl_session_current_namespace(completed_session, &parts, &part_count);
    nl_name_list tables = {0};
    nl_status status = nl_session_catalog(completed_session, nl_session_current_catalog(completed_session), &catalog);
    if (!status) status = nl_catalog_list_tables(catalog, parts, part_count, self->arena, &tables);
    nl_error_free(status); /* no completions is all a failure means here */
    for (uint32_t i = 0; i < tables.count; i++)
        offer(self, tables.items[i].name);
    const nl_temp_view *view;
    for (uint32_t i = 0; (view = nl_session_view_at(completed_session, i)) != NULL; i++)
        offer(self, view->name);
}

static char **make_matches(const candidates *self)
{
    if (self->items.count == 0) return NULL;
    char **matches = calloc(self->items.count + 2, sizeof(*matches));
    if (!matches) return NULL;
    nl_str common = nl_str_from(self->items.items[0]);
    for (uint32_t i = 0; i < self->items.count; i++) {
        const nl_str item = nl_str_from(self->items.items[i]);
        size_t same = 0;
        while (same < common.length && same < item.length && (common.data[same] | 0x20) == (item.data[same] | 0x20))
            same++;
        common.length = same;
        matches[i + 1] = strdup(item.data);
    }
    matches[0] = strndup(common.data, common.length);
    return matches;
}

static char **complete(const char *text, int start, int end)
{
    (void)start;
    (void)end;
    candidates self = {.arena = nl_arena_new(NULL), .prefix = nl_str_from(text)};
    for (size_t i = 0; i < NL_COUNT(keywords); i++)
        offer(&self, nl_str_from(keywords[i]));
    const nl_function_row *row;
    for (uint32_t i = 0; (row = nl_function_at(i)) != NULL; i++)
        if (!row->is_internal) offer(&self, nl_str_from(row->name));
    offer_tables(&self);
    char **matches = make_matches(&self);
    nl_arena_free(self.arena);
    rl_attempted_completion_over = 1;
    return matches;
}

void nl_completion_install(nl_session *session)
{
    completed_session = session;
    rl_attempted_completion_function = complete;
}
