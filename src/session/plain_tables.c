/* session/plain_tables.c - see plain_tables.h: a small array of entries with an arena each. */
#include "session/plain_tables.h"

#include <stdlib.h>

#include "session/session_private.h"

struct nl_plain_entry {
    nl_arena *arena; /* owned: everything of the table */
    nl_plain_table table;
};

static bool is_named(const nl_plain_table *table, const nl_identifier *identifier)
{
    if (table->namespace_count != identifier->namespace_count || !nl_str_equal_nocase(table->name, identifier->name)) return false;
    for (uint32_t i = 0; i < table->namespace_count; i++)
        if (!nl_str_equal_nocase(table->namespace_parts[i], identifier->namespace_parts[i])) return false;
    return true;
}

static uint32_t find(const nl_session *session, const nl_identifier *identifier)
{
    for (uint32_t i = 0; i < session->plain_table_count; i++)
        if (is_named(&session->plain_tables[i].table, identifier)) return i;
    return UINT32_MAX;
}

static const nl_str *copy_texts(nl_arena *arena, const nl_str *texts, uint32_t count)
{
    nl_str *copy = NL_NEW_ARRAY(arena, nl_str, count + 1);
    for (uint32_t i = 0; i < count; i++) copy[i] = nl_arena_str(arena, texts[i]);
    return copy;
}

static const nl_property *copy_properties(nl_arena *arena, const nl_property *items, uint32_t count)
{
    nl_property *copy = NL_NEW_ARRAY(arena, nl_property, count + 1);
    for (uint32_t i = 0; i < count; i++) copy[i] = (nl_property){nl_arena_str(arena, items[i].key), nl_arena_str(arena, items[i].value)};
    return copy;
}

static nl_plain_table copy_table(nl_arena *arena, const nl_plain_table *table)
{
    nl_plain_table copy = *table;
    copy.namespace_parts = copy_texts(arena, table->namespace_parts, table->namespace_count);
    copy.name = nl_arena_str(arena, table->name);
    copy.provider = nl_arena_str(arena, table->provider);
    copy.location = nl_arena_str(arena, table->location);
    if (table->comment.data) copy.comment = nl_arena_str(arena, table->comment);
    if (table->owner.data) copy.owner = nl_arena_str(arena, table->owner);
    copy.row_type = nl_type_copy(arena, table->row_type);
    copy.options = copy_properties(arena, table->options, table->option_count);
    copy.properties = copy_properties(arena, table->properties, table->property_count);
    copy.folders = copy_texts(arena, table->folders, table->folder_count);
    copy.collation = nl_arena_str(arena, table->collation);
    copy.bucket_columns = copy_texts(arena, table->bucket_columns, table->bucket_column_count);
    copy.sort_columns = copy_texts(arena, table->sort_columns, table->sort_column_count);
    nl_str *defaults = table->defaults ? NL_NEW_ARRAY(arena, nl_str, table->row_type->child_count + 1) : NULL;
    for (uint32_t i = 0; defaults && i < table->row_type->child_count; i++)
        if (table->defaults[i].data) defaults[i] = nl_arena_str(arena, table->defaults[i]);
    copy.defaults = defaults;
    nl_plain_statistics *statistics = NL_NEW_ARRAY(arena, nl_plain_statistics, table->statistics_count + 1);
    for (uint32_t i = 0; i < table->statistics_count; i++) {
        statistics[i] = table->statistics[i];
        statistics[i].folder = nl_arena_str(arena, table->statistics[i].folder);
    }
    copy.statistics = statistics;
    return copy;
}

nl_status nl_session_put_plain_table(nl_session *session, const nl_plain_table *table)
{
    const nl_identifier identifier = {table->namespace_parts, table->namespace_count, table->name};
    uint32_t at = find(session, &identifier);
    nl_arena *arena = nl_arena_new(NULL);
    const nl_plain_entry entry = {arena, copy_table(arena, table)}; /* of one that is there, perhaps: copied before that goes */
    if (at == UINT32_MAX) {
        nl_plain_entry *entries = realloc(session->plain_tables, (session->plain_table_count + 1) * sizeof(*entries));
        if (!entries) {
            nl_arena_free(arena);
            return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*entries)), NL_P("receivedBytes", "0"));
        }
        session->plain_tables = entries;
        at = session->plain_table_count++;
    } else {
        nl_arena_free(session->plain_tables[at].arena);
    }
    session->plain_tables[at] = entry;
    return NULL;
}

const nl_plain_table *nl_session_find_plain_table(const nl_session *session, const nl_identifier *identifier)
{
    const uint32_t at = find(session, identifier);
    return at == UINT32_MAX ? NULL : &session->plain_tables[at].table;
}

bool nl_session_drop_plain_table(nl_session *session, const nl_identifier *identifier)
{
    const uint32_t at = find(session, identifier);
    if (at == UINT32_MAX) return false;
    nl_arena_free(session->plain_tables[at].arena);
    session->plain_table_count--;
    memmove(&session->plain_tables[at], &session->plain_tables[at + 1], (session->plain_table_count - at) * sizeof(*session->plain_tables));
    return true;
}

const nl_plain_table *nl_session_plain_table_at(const nl_session *session, uint32_t i)
{
    return i < session->plain_table_count ? &session->plain_tables[i].table : NULL;
}

void nl_session_free_plain_tables(nl_session *session)
{
    for (uint32_t i = 0; i < session->plain_table_count; i++) nl_arena_free(session->plain_tables[i].arena);
    free(session->plain_tables);
}
