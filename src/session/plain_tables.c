/* session/plain_tables.c - see plain_tables.h: entries of the list that the sessions share. */
#include "session/object_list.h"
#include "session/session_private.h"

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

static nl_object_key key_of(const nl_identifier *identifier)
{
    return (nl_object_key){
        .kind = NL_OBJECT_PLAIN_TABLE, .name = identifier->name, .namespace_parts = identifier->namespace_parts, .namespace_count = identifier->namespace_count};
}

static nl_status put(nl_session *session, const nl_plain_table *table, nl_object_put how, const nl_plain_table *instead, bool *is_put)
{
    const nl_object_key key = key_of(&(nl_identifier){table->namespace_parts, table->namespace_count, table->name});
    nl_object *object = nl_object_new(&key);
    object->table = copy_table(object->arena, table);
    return nl_objects_put(session->shared_objects, object, how, instead ? NL_CONTAINER(NL_UNCONST(instead), nl_object, table) : NULL, is_put);
}

nl_status nl_session_put_plain_table(nl_session *session, const nl_plain_table *table)
{
    bool is_put;
    return put(session, table, NL_PUT_ANY, NULL, &is_put);
}

nl_status nl_session_swap_plain_table(nl_session *session, const nl_plain_table *expected, const nl_plain_table *table, bool *is_swapped)
{
    return put(session, table, NL_PUT_INSTEAD, expected, is_swapped);
}

const nl_plain_table *nl_session_find_plain_table(const nl_session *session, const nl_identifier *identifier, nl_arena *arena)
{
    const nl_object_key key = key_of(identifier);
    const nl_object *found = nl_objects_find(session->shared_objects, &key, arena);
    return found ? &found->table : NULL;
}

bool nl_session_drop_plain_table(nl_session *session, const nl_identifier *identifier)
{
    const nl_object_key key = key_of(identifier);
    return nl_objects_drop(session->shared_objects, &key);
}
