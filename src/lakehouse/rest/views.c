/* lakehouse/rest/views.c - views: made, loaded, replaced, registered, renamed, dropped. */
#include "lakehouse/rest/rest_private.h"

#define ATTEMPTS_MAX 16u

void nl_rest_api_write_view(nl_rest_api_call *call, const nl_view_metadata *view)
{
    nl_json_writer json = nl_rest_api_begin(call);
    nl_json_key(&json, "metadata-location");
    nl_json_write_text(&json, view->metadata_file);
    nl_json_key(&json, "metadata");
    nl_json_before_value(&json);
    nl_view_metadata_append_json(view, json.out);
    nl_json_after_value(&json);
    nl_json_key(&json, "config");
    nl_json_begin(&json, '{');
    nl_json_end(&json, '}');
    nl_rest_api_end(call, &json, 200);
}

nl_status nl_rest_api_list_views(nl_rest_api_call *call)
{
    return nl_rest_api_list(call, true);
}

static nl_status find_view(nl_rest_api_call *call, nl_table_entry *entry)
{
    bool exists;
    NL_TRY(nl_rest_api_check_path(call, true));
    NL_TRY(nl_tables_find(call->tables, call->warehouse.id, &call->identifier, call->arena, entry, &exists));
    return exists && entry->is_view ? NULL : nl_rest_api_no_view(call, &call->identifier);
}

static nl_status check_locations(nl_rest_api_call *call, const nl_view_metadata *base, const nl_view_metadata *updated)
{
    const nl_str metadata_path = nl_view_property(updated, "write.metadata.path");
    if (metadata_path.data) NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, metadata_path));
    if (base && nl_str_equal(base->location, updated->location)) return NULL;
    return nl_tables_check_location(call->tables, &call->warehouse, updated->location);
}

/* ---- Creation ---- */

typedef struct view_creation {
    nl_identifier identifier;
    nl_str location;
    const nl_schema *schema;
    nl_view_version version;
    const nl_property *properties;
    uint32_t property_count;
} view_creation;

static nl_status read_creation(nl_rest_api_call *call, view_creation *view)
{
    const json_t *schema = json_object_get(call->body, "schema"), *version = json_object_get(call->body, "view-version");
    view->identifier = (nl_identifier){call->identifier.namespace_parts, call->identifier.namespace_count, {0}};
    NL_TRY(nl_json_text(call->body, "name", NL_REST_API_BODY, &view->identifier.name));
    NL_TRY(nl_rest_api_check_names(call, &view->identifier));
    if (!schema || !version) return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: schema and view-version are required");
    NL_TRY(nl_schema_from_json(call->arena, schema, NL_REST_API_BODY, &view->schema));
    NL_TRY(nl_view_version_from_json(call->arena, version, NL_REST_API_BODY, &view->version));
    NL_TRY(nl_json_optional_text(call->body, "location", NL_REST_API_BODY, &view->location));
    NL_TRY(nl_properties_from_json(call->arena, json_object_get(call->body, "properties"), "properties", NL_REST_API_BODY, &view->properties, &view->property_count));
    if (!view->location.length) NL_TRY(nl_tables_default_location(call->tables, &call->warehouse, &view->identifier, call->arena, &view->location));
    while (view->location.length > 1 && view->location.data[view->location.length - 1] == '/')
        view->location.length--;
    view->version.schema_id = -1; /* the one of this request */
    return NULL;
}

static nl_status build(nl_rest_api_call *call, const view_creation *view, const nl_view_metadata **made)
{
    const nl_view_update updates[] = {
        {.kind = NL_VIEW_SET_LOCATION, .text = view->location},
        {.kind = NL_VIEW_SET_PROPERTIES, .properties = view->properties, .property_count = view->property_count},
        {.kind = NL_VIEW_ADD_SCHEMA, .schema = view->schema},
        {.kind = NL_VIEW_ADD_VERSION, .version = &view->version},
        {.kind = NL_VIEW_SET_CURRENT_VERSION, .number = -1},
    };
    return nl_view_metadata_update(NULL, updates, NL_COUNT(updates), call->request->memory, made);
}

nl_status nl_rest_api_create_view(nl_rest_api_call *call)
{
    view_creation view = {0};
    const nl_view_metadata *made = NULL, *committed = NULL;
    NL_TRY(read_creation(call, &view));
    NL_TRY(nl_rest_api_check_free(call, &view.identifier, true));
    NL_TRY(build(call, &view, &made));
    nl_status status = check_locations(call, NULL, made);
    if (!status) status = nl_tables_commit_view(call->tables, call->warehouse.id, &view.identifier, NULL, made, nl_rest_api_remembered(call, 200, (nl_str){0}),
                                                 call->request->memory, &committed);
    if (!status) nl_rest_api_write_view(call, committed);
    nl_view_metadata_release(made);
    nl_view_metadata_release(committed);
    return status;
}

nl_status nl_rest_api_register_view(nl_rest_api_call *call)
{
    nl_identifier identifier = {call->identifier.namespace_parts, call->identifier.namespace_count, {0}};
    const nl_view_metadata *view = NULL;
    nl_str file;
    nl_fs *fs;
    NL_TRY(nl_json_text(call->body, "name", NL_REST_API_BODY, &identifier.name));
    NL_TRY(nl_json_text(call->body, "metadata-location", NL_REST_API_BODY, &file));
    NL_TRY(nl_rest_api_check_names(call, &identifier));
    NL_TRY(nl_rest_api_check_free(call, &identifier, true));
    NL_TRY(nl_tables_check_location(call->tables, &call->warehouse, file));
    NL_TRY(nl_tables_fs(call->tables, file, &fs));
    NL_TRY(nl_view_metadata_read(fs, file, call->request->memory, &view));
    const nl_pointer_change change = {.identifier = identifier, .is_view = true, .next = file, .remembered = nl_rest_api_remembered(call, 200, (nl_str){0})};
    nl_status status = nl_tables_commit(call->tables, call->warehouse.id, &change, 1);
    if (!status) nl_rest_api_write_view(call, view);
    nl_view_metadata_release(view);
    return status;
}

/* ---- One view ---- */

nl_status nl_rest_api_load_view(nl_rest_api_call *call)
{
    nl_table_entry entry;
    const nl_view_metadata *view;
    NL_TRY(find_view(call, &entry));
    NL_TRY(nl_tables_load_view(call->tables, call->warehouse.id, &call->identifier, call->request->memory, &view));
    nl_rest_api_write_view(call, view);
    nl_view_metadata_release(view);
    return NULL;
}

nl_status nl_rest_api_view_exists(nl_rest_api_call *call)
{
    nl_table_entry entry;
    NL_TRY(find_view(call, &entry));
    nl_rest_api_empty(call, 204);
    return NULL;
}

nl_status nl_rest_api_drop_view(nl_rest_api_call *call)
{
    nl_table_entry entry;
    bool was_dropped;
    NL_TRY(find_view(call, &entry));
    NL_TRY(nl_tables_drop(call->tables, call->warehouse.id, &call->identifier, true, (nl_str){0}, nl_rest_api_remembered(call, 204, (nl_str){0}), &was_dropped));
    if (!was_dropped) return nl_rest_api_no_view(call, &call->identifier);
    nl_rest_api_empty(call, 204);
    return NULL;
}

nl_status nl_rest_api_rename_view(nl_rest_api_call *call)
{
    return nl_rest_api_rename(call, true);
}

/* ---- Replacement ---- */

static nl_status check_requirements(nl_rest_api_call *call, const nl_view_metadata *base)
{
    const json_t *requirements = NULL, *requirement;
    size_t i;
    NL_TRY(nl_json_optional_array(call->body, "requirements", NL_REST_API_BODY, &requirements));
    json_array_foreach(requirements, i, requirement)
    {
        nl_str type, uuid;
        NL_TRY(nl_json_object(requirement, NL_REST_API_BODY, "a requirement"));
        NL_TRY(nl_json_text(requirement, "type", NL_REST_API_BODY, &type));
        if (!nl_str_is(type, "assert-view-uuid"))
            return nl_rest_api_refuse(call, 400, "BadRequestException", "Cannot convert update requirement from json. Unrecognized type: " NL_STR_FMT, NL_STR_ARG(type));
        NL_TRY(nl_json_text(requirement, "uuid", NL_REST_API_BODY, &uuid));
        if (!nl_str_equal_nocase(uuid, base->uuid))
            return NL_RAISE_TEXT(NILAS_COMMIT_FAILED, "Requirement failed: view UUID does not match: expected " NL_STR_FMT " != " NL_STR_FMT, NL_STR_ARG(base->uuid),
                                 NL_STR_ARG(uuid));
    }
    return NULL;
}

static nl_status read_updates(nl_rest_api_call *call, const nl_view_update **updates, uint32_t *count)
{
    const json_t *array = NULL;
    NL_TRY(nl_json_array(call->body, "updates", NL_REST_API_BODY, &array));
    nl_view_update *made = NL_NEW_ARRAY(call->arena, nl_view_update, json_array_size(array) + 1);
    for (size_t i = 0; i < json_array_size(array); i++)
        NL_TRY(nl_view_update_from_json(call->arena, json_array_get(array, i), &made[i]));
    *updates = made;
    *count = (uint32_t)json_array_size(array);
    return nl_arena_check(call->arena);
}

static nl_status replace(nl_rest_api_call *call, const nl_view_update *updates, uint32_t count, bool *is_race)
{
    nl_table_entry entry;
    const nl_view_metadata *base = NULL, *updated = NULL, *committed = NULL;
    *is_race = false;
    NL_TRY(find_view(call, &entry));
    NL_TRY(nl_tables_load_view(call->tables, call->warehouse.id, &call->identifier, call->request->memory, &base));
    nl_status status = check_requirements(call, base);
    if (!status) status = nl_view_metadata_update(base, updates, count, call->request->memory, &updated);
    if (!status) status = check_locations(call, base, updated);
    if (!status && updated == base) committed = nl_view_metadata_retain(base);
    if (!status && !committed) {
        status = nl_tables_commit_view(call->tables, call->warehouse.id, &call->identifier, base, updated, nl_rest_api_remembered(call, 200, (nl_str){0}),
                                       call->request->memory, &committed);
        *is_race = status && nl_error_condition(status) == NL_COND_NILAS_COMMIT_FAILED;
    }
    if (!status) nl_rest_api_write_view(call, committed);
    nl_view_metadata_release(base);
    nl_view_metadata_release(updated);
    nl_view_metadata_release(committed);
    return status;
}

nl_status nl_rest_api_replace_view(nl_rest_api_call *call)
{
    const nl_view_update *updates = NULL;
    uint32_t count = 0;
    NL_TRY(read_updates(call, &updates, &count));
    for (uint32_t attempt = 1;; attempt++) {
        bool is_race;
        nl_status status = replace(call, updates, count, &is_race);
        if (!is_race || attempt == ATTEMPTS_MAX) return status;
        nl_error_free(status);
    }
}
