/* lakehouse/rest/namespaces.c - namespaces and their properties. */
#include "lakehouse/rest/rest_private.h"

#define CHANGES_MAX 1000u /* each is compared with each */

static void write_parts(nl_json_writer *json, const nl_str *parts, uint32_t count)
{
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < count; i++)
        nl_json_write_text(json, parts[i]);
    nl_json_end(json, ']');
}

static void write_properties(nl_json_writer *json, const nl_property *properties, uint32_t count)
{
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_key_str(json, properties[i].key);
        nl_json_write_text(json, properties[i].value);
    }
    nl_json_end(json, '}');
}

static nl_status read_parent(nl_rest_api_call *call, const nl_str **parts, uint32_t *count)
{
    bool has_parent;
    const nl_str parent = nl_request_parameter(call->request, "parent", &has_parent);
    nl_str *made = NL_NEW_ARRAY(call->arena, nl_str, parent.length + 1);
    nl_str rest = parent;
    *count = 0;
    while (nl_str_next_part(&rest, '\x1F', &made[*count]))
        (*count)++;
    *parts = made;
    return nl_arena_check(call->arena);
}

nl_status nl_rest_api_list_namespaces(nl_rest_api_call *call)
{
    const nl_str *parent;
    const nl_namespace_entry *entries;
    nl_str after;
    uint32_t parent_count, count_max, count;
    bool is_paged;
    NL_TRY(read_parent(call, &parent, &parent_count));
    NL_TRY(nl_rest_api_page(call, &after, &count_max, &is_paged));
    NL_TRY(nl_tables_list_namespaces(call->tables, call->warehouse.id, parent, parent_count, (nl_str){0}, after, count_max + 1, call->arena, &entries, &count));
    const bool has_more = count > count_max;
    if (has_more) count = count_max;
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "namespaces");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count; i++)
        write_parts(&json, entries[i].parts, entries[i].part_count);
    nl_json_end(&json, ']');
    nl_rest_api_write_page_token(call, &json, is_paged, has_more, count ? entries[count - 1].parts[entries[count - 1].part_count - 1] : (nl_str){0});
    nl_rest_api_end(call, &json, 200);
    return NULL;
}

nl_status nl_rest_api_create_namespace(nl_rest_api_call *call)
{
    nl_identifier identifier = {0};
    const nl_property *properties = NULL;
    uint32_t count = 0;
    NL_TRY(nl_rest_api_read_namespace(call, json_object_get(call->body, "namespace"), &identifier));
    NL_TRY(nl_rest_api_check_names(call, &identifier));
    NL_TRY(nl_properties_from_json(call->arena, json_object_get(call->body, "properties"), "properties", NL_REST_API_BODY, &properties, &count));
    NL_TRY(nl_tables_check_scope(call->tables, &call->warehouse, properties, count));
    for (uint32_t i = 0; i < count; i++)
        if (nl_str_is(properties[i].key, "location")) NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, properties[i].value));
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "namespace");
    write_parts(&json, identifier.namespace_parts, identifier.namespace_count);
    nl_json_key(&json, "properties");
    write_properties(&json, properties, count);
    nl_json_end(&json, '}');
    NL_TRY(nl_tables_create_namespace(call->tables, call->warehouse.id, identifier.namespace_parts, identifier.namespace_count, properties, count,
                                      nl_rest_api_remembered(call, 200, nl_builder_str(json.out))));
    nl_rest_api_send(call, 200);
    return NULL;
}

static nl_status find_namespace(nl_rest_api_call *call, nl_namespace_entry *entry)
{
    bool exists = false;
    bool is_empty = false;
    for (uint32_t i = 0; i < call->identifier.namespace_count; i++)
        is_empty = is_empty || call->identifier.namespace_parts[i].length == 0;
    if (!is_empty)
        NL_TRY(nl_tables_find_namespace(call->tables, call->warehouse.id, call->identifier.namespace_parts, call->identifier.namespace_count, call->arena,
                                        entry, &exists));
    return exists ? NULL : nl_rest_api_no_namespace(call, &call->identifier);
}

nl_status nl_rest_api_load_namespace(nl_rest_api_call *call)
{
    nl_namespace_entry entry;
    NL_TRY(find_namespace(call, &entry));
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "namespace");
    write_parts(&json, entry.parts, entry.part_count);
    nl_json_key(&json, "properties");
    write_properties(&json, entry.properties, entry.property_count);
    nl_rest_api_end(call, &json, 200);
    return NULL;
}

nl_status nl_rest_api_namespace_exists(nl_rest_api_call *call)
{
    nl_namespace_entry entry;
    NL_TRY(find_namespace(call, &entry));
    nl_rest_api_empty(call, 204);
    return NULL;
}

nl_status nl_rest_api_drop_namespace(nl_rest_api_call *call)
{
    nl_namespace_entry entry;
    bool was_dropped;
    NL_TRY(find_namespace(call, &entry));
    NL_TRY(nl_tables_drop_namespace(call->tables, call->warehouse.id, entry.parts, entry.part_count, nl_rest_api_remembered(call, 204, (nl_str){0}), &was_dropped));
    if (!was_dropped) return nl_rest_api_no_namespace(call, &call->identifier);
    nl_rest_api_empty(call, 204);
    return NULL;
}

static nl_status read_removals(nl_rest_api_call *call, const nl_str **removed, uint32_t *count)
{
    const json_t *array = NULL;
    NL_TRY(nl_json_optional_array(call->body, "removals", NL_REST_API_BODY, &array));
    nl_str *made = NL_NEW_ARRAY(call->arena, nl_str, json_array_size(array) + 1);
    *count = 0;
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *item = json_array_get(array, i);
        if (!json_is_string(item)) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: removals holds something that is no text");
        made[(*count)++] = (nl_str){json_string_value(item), json_string_length(item)};
    }
    *removed = made;
    return nl_arena_check(call->arena);
}

static void write_names(nl_json_writer *json, const char *key, const nl_str *names, const bool *flags, bool wanted, uint32_t count)
{
    nl_json_key(json, key);
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < count; i++)
        if (!flags || flags[i] == wanted) nl_json_write_text(json, names[i]);
    nl_json_end(json, ']');
}

typedef struct namespace_answer {
    nl_rest_api_call *call;
    nl_namespace_update update;
} namespace_answer;

static void write_update(void *argument)
{
    namespace_answer *self = argument;
    const nl_namespace_update *update = &self->update;
    nl_str *updated = NL_NEW_ARRAY(self->call->arena, nl_str, (size_t)update->set_count + 1);
    for (uint32_t i = 0; i < update->set_count; i++)
        updated[i] = update->set[i].key;
    nl_json_writer json = nl_rest_api_begin(self->call);
    write_names(&json, "updated", updated, NULL, true, update->set_count);
    write_names(&json, "removed", update->removed, update->was_there, true, update->removed_count);
    write_names(&json, "missing", update->removed, update->was_there, false, update->removed_count);
    nl_json_end(&json, '}');
    if (update->remembered) update->remembered->body = nl_builder_str(json.out);
}

nl_status nl_rest_api_update_namespace(nl_rest_api_call *call)
{
    const nl_str *removed = NULL;
    const nl_property *set = NULL;
    uint32_t removed_count = 0, set_count = 0;
    NL_TRY(read_removals(call, &removed, &removed_count));
    NL_TRY(nl_properties_from_json(call->arena, json_object_get(call->body, "updates"), "updates", NL_REST_API_BODY, &set, &set_count));
    if (removed_count > CHANGES_MAX || set_count > CHANGES_MAX)
        return nl_rest_api_refuse(call, 400, "BadRequestException", "More than %u properties in one request", CHANGES_MAX);
    for (uint32_t i = 0; i < removed_count; i++)
        for (uint32_t k = 0; k < set_count; k++)
            if (nl_str_equal(removed[i], set[k].key))
                return nl_rest_api_refuse(call, 422, "UnprocessableEntityException", "Invalid namespace update: cannot simultaneously set and remove keys: [" NL_STR_FMT "]",
                                      NL_STR_ARG(removed[i]));
    NL_TRY(nl_tables_check_scope(call->tables, &call->warehouse, set, set_count));
    for (uint32_t i = 0; i < set_count; i++)
        if (nl_str_is(set[i].key, "location")) NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, set[i].value));
    namespace_answer answer = {.call = call,
                               .update = {.set = set,
                                          .set_count = set_count,
                                          .removed = removed,
                                          .removed_count = removed_count,
                                          .was_there = NL_NEW_ARRAY(call->arena, bool, (size_t)removed_count + 1),
                                          .remembered = nl_rest_api_remembered(call, 200, (nl_str){0}),
                                          .write_answer = write_update}};
    answer.update.argument = &answer;
    NL_TRY(nl_tables_update_namespace(call->tables, call->warehouse.id, call->identifier.namespace_parts, call->identifier.namespace_count, &answer.update));
    if (!answer.update.remembered) write_update(&answer);
    nl_rest_api_send(call, 200);
    return NULL;
}
