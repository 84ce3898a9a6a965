/* lakehouse/glue/databases.c - databases: namespaces of one level, whose "comment" and "location" are members of their own. */
#include "lakehouse/glue/glue_private.h"

#define REST "glue" /* the document with members of a DatabaseInput that are no properties */

static const char *const shown[] = {"Name", "Description", "LocationUri", "Parameters", "CreateTime", "CatalogId", NULL};

static nl_status write_database(nl_glue_call *call, nl_json_writer *json, const nl_namespace_entry *entry)
{
    nl_str text;
    const json_t *rest = NULL;
    NL_TRY(nl_tables_get_document(call->glue->tables, entry->uuid, NL_STR(REST), call->arena, &text));
    if (text.data) NL_TRY(nl_json_parse(call->arena, text, NL_STR("the data folder"), &rest));
    nl_json_begin(json, '{');
    nl_glue_write_text(json, "Name", entry->parts[entry->part_count - 1]);
    for (uint32_t i = 0; i < entry->property_count; i++) {
        if (nl_str_is(entry->properties[i].key, "comment")) nl_glue_write_text(json, "Description", entry->properties[i].value);
        if (nl_str_is(entry->properties[i].key, "location")) nl_glue_write_text(json, "LocationUri", entry->properties[i].value);
    }
    nl_json_key(json, "Parameters");
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < entry->property_count; i++) {
        if (nl_str_is(entry->properties[i].key, "comment") || nl_str_is(entry->properties[i].key, "location")) continue;
        nl_json_key_str(json, entry->properties[i].key);
        nl_json_write_text(json, entry->properties[i].value);
    }
    nl_json_end(json, '}');
    nl_glue_write_seconds(json, "CreateTime", entry->created_micros);
    nl_glue_write_text(json, "CatalogId", NL_STR(NL_GLUE_ACCOUNT));
    if (rest) nl_glue_write_members(json, rest, shown);
    nl_json_end(json, '}');
    return NULL;
}

static nl_status load(nl_glue_call *call, nl_str name, nl_namespace_entry *entry)
{
    bool exists;
    const nl_str lower = nl_glue_lower(call->arena, name);
    NL_TRY(nl_tables_find_namespace(call->glue->tables, call->glue->warehouse.id, &name, 1, call->arena, entry, &exists));
    if (!exists) NL_TRY(nl_tables_find_namespace(call->glue->tables, call->glue->warehouse.id, &lower, 1, call->arena, entry, &exists));
    return exists ? NULL : nl_glue_not_found(call, "Database", name);
}

nl_status nl_glue_get_database(nl_glue_call *call)
{
    nl_str name;
    nl_namespace_entry entry;
    NL_TRY(nl_glue_need(call, call->body, "Name", &name));
    NL_TRY(load(call, name, &entry));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "Database");
    NL_TRY(write_database(call, &json, &entry));
    nl_glue_end(call, &json);
    return NULL;
}

nl_status nl_glue_get_databases(nl_glue_call *call)
{
    int64_t size;
    const nl_namespace_entry *entries;
    uint32_t count;
    NL_TRY(nl_glue_page_size(call, 100, &size));
    NL_TRY(nl_tables_list_namespaces(call->glue->tables, call->glue->warehouse.id, NULL, 0, NL_STR(""), nl_glue_text(call->body, "NextToken"), (uint32_t)size + 1, call->arena,
                                     &entries, &count));
    nl_json_writer json = nl_glue_begin(call);
    nl_json_key(&json, "DatabaseList");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count && i < size; i++) NL_TRY(write_database(call, &json, &entries[i]));
    nl_json_end(&json, ']');
    if (count > size) nl_glue_write_text(&json, "NextToken", entries[size - 1].parts[0]);
    nl_glue_end(call, &json);
    return NULL;
}

static nl_status read_properties(nl_glue_call *call, const json_t *input, nl_property **properties, uint32_t *count)
{
    const json_t *parameters = json_object_get(input, "Parameters");
    const nl_str description = nl_glue_text(input, "Description"), location = nl_glue_text(input, "LocationUri");
    const char *key;
    json_t *value;
    nl_property *made = NL_NEW_ARRAY(call->arena, nl_property, json_object_size(parameters) + 2);
    *count = 0;
    if (description.data) made[(*count)++] = (nl_property){NL_STR("comment"), description};
    if (location.data) made[(*count)++] = (nl_property){NL_STR("location"), location};
    json_object_foreach(NL_UNCONST(parameters), key, value) {
        const nl_str name = nl_str_from(key);
        if (!json_is_string(value)) return nl_glue_invalid(call, "Parameters: the value of %s is no text", key);
        if ((description.data && nl_str_is(name, "comment")) || (location.data && nl_str_is(name, "location"))) continue;
        made[(*count)++] = (nl_property){name, {json_string_value(value), json_string_length(value)}};
    }
    *properties = made;
    NL_TRY(nl_arena_check(call->arena));
    return nl_tables_check_scope(call->glue->tables, &call->glue->warehouse, made, *count);
}

static nl_status keep_rest(nl_glue_call *call, nl_str name, const json_t *input)
{
    nl_namespace_entry entry;
    nl_builder text;
    NL_TRY(load(call, name, &entry));
    nl_builder_init(&text, 16u << 20);
    nl_json_writer json = {.out = &text};
    nl_json_begin(&json, '{');
    nl_glue_write_members(&json, input, shown);
    nl_json_end(&json, '}');
    const nl_str kept = nl_arena_str(call->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return nl_tables_put_document(call->glue->tables, entry.uuid, NL_STR(REST), kept.length > 2 ? kept : (nl_str){0});
}

typedef struct tags_work {
    nl_glue_call *call;
    nl_str name, json;
} tags_work;

static nl_status put_tags(void *argument, nl_sqlite *database)
{
    tags_work *self = argument;
    nl_str uuid, stored;
    NL_TRY(nl_glue_need_database(self->call, database, self->name, &uuid, &stored));
    return nl_glue_put_item(database, "tags", uuid, NL_STR(""), self->json);
}

nl_status nl_glue_create_database(nl_glue_call *call)
{
    const json_t *input, *tags = json_object_get(call->body, "Tags");
    nl_str name;
    nl_property *properties;
    uint32_t count;
    NL_TRY(nl_glue_need_object(call, "DatabaseInput", &input));
    NL_TRY(nl_glue_new_name(call, input, "Name", &name));
    NL_TRY(read_properties(call, input, &properties, &count));
    nl_status status = nl_tables_create_namespace(call->glue->tables, call->glue->warehouse.id, &name, 1, properties, count, NULL);
    if (status && nl_error_condition(status) == NL_COND_SCHEMA_ALREADY_EXISTS) {
        nl_error_free(status);
        return nl_glue_refuse(call, "AlreadyExistsException", "Database already exists.");
    }
    NL_TRY(status);
    NL_TRY(keep_rest(call, name, input));
    if (json_object_size(tags)) {
        tags_work work = {.call = call, .name = name, .json = nl_glue_json_text(call->arena, tags)};
        NL_TRY(nl_state_write(call->glue->tables->state, put_tags, &work));
    }
    return nl_glue_answer_nothing(call);
}

nl_status nl_glue_update_database(nl_glue_call *call)
{
    const json_t *input;
    nl_str name, new_name;
    nl_namespace_entry entry;
    nl_property *properties;
    uint32_t count;
    NL_TRY(nl_glue_need(call, call->body, "Name", &name));
    NL_TRY(nl_glue_need_object(call, "DatabaseInput", &input));
    NL_TRY(nl_glue_new_name(call, input, "Name", &new_name));
    NL_TRY(load(call, name, &entry));
    if (!nl_str_equal_nocase(name, new_name)) return nl_glue_invalid(call, "A database cannot be renamed");
    NL_TRY(read_properties(call, input, &properties, &count));
    nl_str *removed = NL_NEW_ARRAY(call->arena, nl_str, (size_t)entry.property_count + 1);
    for (uint32_t i = 0; i < entry.property_count; i++) removed[i] = entry.properties[i].key;
    const nl_namespace_update update = {.set = properties, .set_count = count, .removed = removed, .removed_count = entry.property_count};
    NL_TRY(nl_tables_update_namespace(call->glue->tables, call->glue->warehouse.id, entry.parts, entry.part_count, &update));
    NL_TRY(keep_rest(call, entry.parts[0], input));
    return nl_glue_answer_nothing(call);
}

/* With all that is in it, as Glue does. */
static nl_status delete_work(void *argument, nl_sqlite *database)
{
    static const char *const statements[] = {
        "DELETE FROM documents WHERE owner IN (SELECT entry FROM glue_tables WHERE database = ?1) OR owner = ?1",
        "DELETE FROM tables WHERE uuid IN (SELECT entry FROM glue_tables WHERE database = ?1)",
        "DELETE FROM glue_tables WHERE database = ?1",
        "DELETE FROM namespaces WHERE uuid = ?1",
    };
    tags_work *self = argument;
    nl_str uuid, stored;
    nl_sqlite_statement *statement;
    bool has_more;
    NL_TRY(nl_glue_need_database(self->call, database, self->name, &uuid, &stored));
    NL_TRY(nl_sqlite_prepare(database, "SELECT 1 FROM namespaces WHERE warehouse_id = ?1 AND name > ?2 || char(31) AND name < ?2 || char(32) LIMIT 1", &statement));
    nl_sqlite_bind_int(statement, 1, self->call->glue->warehouse.id);
    nl_sqlite_bind_text(statement, 2, stored);
    NL_TRY(nl_sqlite_step(statement, &has_more));
    nl_sqlite_reset(statement);
    if (has_more) return nl_glue_invalid(self->call, "Database " NL_STR_FMT " has namespaces in it, which the engine made: drop them there", NL_STR_ARG(stored));
    for (size_t i = 0; i < NL_COUNT(statements); i++) {
        NL_TRY(nl_sqlite_prepare(database, statements[i], &statement));
        nl_sqlite_bind_text(statement, 1, uuid);
        NL_TRY(nl_sqlite_finish(statement, NULL));
    }
    return NULL;
}

nl_status nl_glue_delete_database(nl_glue_call *call)
{
    tags_work work = {.call = call};
    NL_TRY(nl_glue_need(call, call->body, "Name", &work.name));
    NL_TRY(nl_state_write_freeing(call->glue->tables->state, delete_work, &work));
    return nl_glue_answer_nothing(call);
}
