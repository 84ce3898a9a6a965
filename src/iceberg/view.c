/* iceberg/view.c - view metadata as JSON and back, with the keys in the order of Java's ViewMetadataParser. */
#include "iceberg/view.h"

#include <stdlib.h>

#include "base/json.h"
#include "iceberg/metadata.h"

/* ---- reading --------------------------------------------------------------------------------------------------- */

static nl_status read_representations(nl_arena *arena, const json_t *list, nl_str path, nl_view_version *version)
{
    nl_view_representation *items = NL_NEW_ARRAY(arena, nl_view_representation, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i);
        NL_TRY(nl_json_object(item, path, "representation"));
        NL_TRY(nl_json_text(item, "type", path, &items[i].type));
        if (!nl_str_is_nocase(items[i].type, "sql")) continue;
        NL_TRY(nl_json_text(item, "sql", path, &items[i].sql));
        NL_TRY(nl_json_text(item, "dialect", path, &items[i].dialect));
    }
    version->representations = items;
    version->representation_count = (uint32_t)json_array_size(list);
    return NULL;
}

static nl_status read_namespace(nl_arena *arena, const json_t *list, nl_str path, nl_view_version *version)
{
    nl_str *parts = NL_NEW_ARRAY(arena, nl_str, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *part = json_array_get(list, i);
        if (!json_is_string(part)) return nl_json_corrupt(path, "default-namespace: its parts must be texts");
        parts[i] = (nl_str){json_string_value(part), json_string_length(part)};
    }
    version->default_namespace = parts;
    version->default_namespace_count = (uint32_t)json_array_size(list);
    return NULL;
}

nl_status nl_view_version_from_json(nl_arena *arena, const json_t *json, nl_str path, nl_view_version *version)
{
    static const char *const known[] = {"version-id", "timestamp-ms", "schema-id", "summary", "default-catalog", "default-namespace", "representations", NULL};
    const json_t *list;
    NL_TRY(nl_json_object(json, path, "version"));
    NL_TRY(nl_json_int32(json, "version-id", path, &version->version_id));
    NL_TRY(nl_json_int64(json, "timestamp-ms", path, &version->timestamp_ms));
    NL_TRY(nl_json_int32(json, "schema-id", path, &version->schema_id));
    NL_TRY(nl_properties_from_json(arena, json_object_get(json, "summary"), "summary", path, &version->summary, &version->summary_count));
    NL_TRY(nl_json_optional_text(json, "default-catalog", path, &version->default_catalog));
    NL_TRY(nl_json_array(json, "default-namespace", path, &list));
    NL_TRY(read_namespace(arena, list, path, version));
    NL_TRY(nl_json_array(json, "representations", path, &list));
    NL_TRY(read_representations(arena, list, path, version));
    version->unknown = nl_json_unknown(arena, json, known);
    return NULL;
}

static nl_status read_versions(nl_arena *arena, const json_t *json, nl_str path, nl_view_metadata *view)
{
    const json_t *list;
    NL_TRY(nl_json_array(json, "versions", path, &list));
    nl_view_version *versions = NL_NEW_ARRAY(arena, nl_view_version, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) NL_TRY(nl_view_version_from_json(arena, json_array_get(list, i), path, &versions[i]));
    view->versions = versions;
    view->version_count = (uint32_t)json_array_size(list);
    NL_TRY(nl_json_array(json, "version-log", path, &list));
    nl_view_log_entry *log = NL_NEW_ARRAY(arena, nl_view_log_entry, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) {
        NL_TRY(nl_json_object(json_array_get(list, i), path, "version-log"));
        NL_TRY(nl_json_int64(json_array_get(list, i), "timestamp-ms", path, &log[i].timestamp_ms));
        NL_TRY(nl_json_int32(json_array_get(list, i), "version-id", path, &log[i].version_id));
    }
    view->log = log;
    view->log_count = (uint32_t)json_array_size(list);
    return NULL;
}

static nl_status read_schemas(nl_arena *arena, const json_t *json, nl_str path, nl_view_metadata *view)
{
    const json_t *list;
    NL_TRY(nl_json_array(json, "schemas", path, &list));
    const nl_schema **schemas = NL_NEW_ARRAY(arena, const nl_schema *, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) NL_TRY(nl_schema_from_json(arena, json_array_get(list, i), path, &schemas[i]));
    view->schemas = schemas;
    view->schema_count = (uint32_t)json_array_size(list);
    return NULL;
}

static const nl_schema *schema_by_id(const nl_view_metadata *view, int32_t schema_id)
{
    for (uint32_t i = 0; i < view->schema_count; i++)
        if (view->schemas[i]->schema_id == schema_id) return view->schemas[i];
    return NULL;
}

static nl_status read_view(nl_arena *arena, const json_t *json, nl_str path, nl_view_metadata *view)
{
    static const char *const known[] = {"view-uuid", "format-version", "location", "schemas", "current-version-id", "versions", "version-log", "properties", NULL};
    NL_TRY(nl_json_object(json, path, "view metadata"));
    NL_TRY(nl_json_text(json, "view-uuid", path, &view->uuid));
    NL_TRY(nl_json_int32(json, "format-version", path, &view->format_version));
    if (view->format_version != 1)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The view metadata " NL_STR_FMT " has format version %d; nilas reads version 1.", NL_STR_ARG(path), view->format_version);
    NL_TRY(nl_json_text(json, "location", path, &view->location));
    NL_TRY(nl_properties_from_json(arena, json_object_get(json, "properties"), "properties", path, &view->properties, &view->property_count));
    NL_TRY(read_schemas(arena, json, path, view));
    NL_TRY(nl_json_int32(json, "current-version-id", path, &view->current_version_id));
    NL_TRY(read_versions(arena, json, path, view));
    view->unknown = nl_json_unknown(arena, json, known);
    const nl_view_version *current = nl_view_current_version(view);
    if (!current) return nl_json_corrupt(path, "current-version-id: no version %d", view->current_version_id);
    for (uint32_t i = 0; i < view->version_count; i++)
        if (!schema_by_id(view, view->versions[i].schema_id)) return nl_json_corrupt(path, "versions: no schema %d", view->versions[i].schema_id);
    return NULL;
}

static nl_status new_view(nl_memory *memory, nl_view_metadata **view)
{
    nl_arena *arena = nl_arena_new(memory);
    *view = NL_NEW(arena, nl_view_metadata);
    (*view)->arena = arena;
    (*view)->references = NL_NEW(arena, atomic_uint);
    atomic_init((*view)->references, 1);
    nl_status status = nl_arena_check(arena);
    if (status) nl_arena_free(arena);
    return status;
}

static nl_status finish_reading(nl_view_metadata *view, const json_t *json, nl_str metadata_file, const nl_view_metadata **metadata)
{
    view->metadata_file = nl_arena_str(view->arena, metadata_file);
    nl_status status = read_view(view->arena, json, view->metadata_file, view);
    if (!status) status = nl_arena_check(view->arena);
    if (status) nl_arena_free(view->arena);
    else *metadata = view;
    return status;
}

nl_status nl_view_metadata_from_json(const json_t *json, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata)
{
    nl_view_metadata *view;
    NL_TRY(new_view(memory, &view));
    return finish_reading(view, nl_json_keep(view->arena, json), metadata_file, metadata);
}

static nl_status parse_text(nl_str text, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata)
{
    nl_view_metadata *view;
    const json_t *json;
    NL_TRY(new_view(memory, &view));
    nl_status status = nl_json_parse(view->arena, text, metadata_file, &json);
    if (status) {
        nl_arena_free(view->arena);
        return status;
    }
    return finish_reading(view, json, metadata_file, metadata);
}

nl_status nl_view_metadata_parse(nl_bytes content, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata)
{
    nl_buffer *plain;
    nl_str text;
    nl_status status = nl_metadata_text(content, metadata_file, memory, &plain, &text);
    if (!status) status = parse_text(text, metadata_file, memory, metadata);
    nl_buffer_release(plain);
    return status;
}

nl_status nl_view_metadata_read(nl_fs *fs, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **metadata)
{
    nl_buffer *content = NULL;
    NL_TRY_NOTE(nl_fs_read_all(fs, metadata_file, NL_METADATA_BYTES_MAX, &content), "reading view metadata " NL_STR_FMT, NL_STR_ARG(metadata_file));
    nl_status status = nl_view_metadata_parse((nl_bytes){content->data, content->size_bytes}, metadata_file, memory, metadata);
    nl_buffer_release(content);
    return status;
}

const nl_view_metadata *nl_view_metadata_retain(const nl_view_metadata *metadata)
{
    if (metadata) atomic_fetch_add_explicit(metadata->references, 1, memory_order_relaxed);
    return metadata;
}

void nl_view_metadata_release(const nl_view_metadata *metadata)
{
    if (metadata && atomic_fetch_sub_explicit(metadata->references, 1, memory_order_acq_rel) == 1) nl_arena_free(metadata->arena);
}

/* ---- writing --------------------------------------------------------------------------------------------------- */

static void write_properties(nl_json_writer *json, const char *key, const nl_property *properties, uint32_t property_count)
{
    nl_json_key(json, key);
    nl_json_begin(json, '{');
    for (uint32_t i = 0; i < property_count; i++) {
        nl_json_key_str(json, properties[i].key);
        nl_json_write_text(json, properties[i].value);
    }
    nl_json_end(json, '}');
}

void nl_view_version_append_json(const nl_view_version *version, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "version-id");
    nl_json_write_int(&json, version->version_id);
    nl_json_key(&json, "timestamp-ms");
    nl_json_write_int(&json, version->timestamp_ms);
    nl_json_key(&json, "schema-id");
    nl_json_write_int(&json, version->schema_id);
    write_properties(&json, "summary", version->summary, version->summary_count);
    if (version->default_catalog.length) {
        nl_json_key(&json, "default-catalog");
        nl_json_write_text(&json, version->default_catalog);
    }
    nl_json_key(&json, "default-namespace");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < version->default_namespace_count; i++) nl_json_write_text(&json, version->default_namespace[i]);
    nl_json_end(&json, ']');
    nl_json_key(&json, "representations");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < version->representation_count; i++) {
        const nl_view_representation *item = &version->representations[i];
        nl_json_begin(&json, '{');
        nl_json_key(&json, "type");
        nl_json_write_text(&json, item->type);
        nl_json_key(&json, "sql");
        nl_json_write_text(&json, item->sql);
        nl_json_key(&json, "dialect");
        nl_json_write_text(&json, item->dialect);
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    nl_json_write_members(&json, version->unknown);
    nl_json_end(&json, '}');
}

static void write_history(nl_json_writer *json, const nl_view_metadata *view)
{
    nl_json_key(json, "versions");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < view->version_count; i++) {
        nl_json_before_value(json);
        nl_view_version_append_json(&view->versions[i], json->out);
        nl_json_after_value(json);
    }
    nl_json_end(json, ']');
    nl_json_key(json, "version-log");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < view->log_count; i++) {
        nl_json_begin(json, '{');
        nl_json_key(json, "timestamp-ms");
        nl_json_write_int(json, view->log[i].timestamp_ms);
        nl_json_key(json, "version-id");
        nl_json_write_int(json, view->log[i].version_id);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
}

void nl_view_metadata_append_json(const nl_view_metadata *view, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "view-uuid");
    nl_json_write_text(&json, view->uuid);
    nl_json_key(&json, "format-version");
    nl_json_write_int(&json, view->format_version);
    nl_json_key(&json, "location");
    nl_json_write_text(&json, view->location);
    if (view->property_count) write_properties(&json, "properties", view->properties, view->property_count);
    nl_json_key(&json, "schemas");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < view->schema_count; i++) {
        nl_json_before_value(&json);
        nl_schema_append_json(view->schemas[i], out);
        nl_json_after_value(&json);
    }
    nl_json_end(&json, ']');
    nl_json_key(&json, "current-version-id");
    nl_json_write_int(&json, view->current_version_id);
    write_history(&json, view);
    nl_json_write_members(&json, view->unknown);
    nl_json_end(&json, '}');
}

static nl_str as_text(const nl_view_metadata *metadata, nl_builder *text)
{
    nl_builder_init(text, NL_METADATA_BYTES_MAX);
    nl_view_metadata_append_json(metadata, text);
    return nl_builder_str(text);
}

static nl_status copy_view(const nl_view_metadata *metadata, nl_str metadata_file, nl_memory *memory, const nl_view_metadata **copy)
{
    nl_builder text;
    nl_status status = parse_text(as_text(metadata, &text), metadata_file, memory, copy);
    nl_builder_fini(&text);
    return status;
}

nl_status nl_view_metadata_with_file(const nl_view_metadata *metadata, nl_str metadata_file, const nl_view_metadata **named)
{
    return copy_view(metadata, metadata_file, NULL, named);
}

nl_status nl_view_metadata_begin(const nl_view_metadata *base, nl_memory *memory, nl_view_metadata **view)
{
    const nl_view_metadata *copy;
    if (!base) {
        NL_TRY(new_view(memory, view));
        (*view)->format_version = 1;
        return NULL;
    }
    NL_TRY(copy_view(base, NL_STR(""), memory, &copy));
    *view = (nl_view_metadata *)(uintptr_t)copy; /* nobody else has seen it */
    return NULL;
}

/* ---- looking up ------------------------------------------------------------------------------------------------ */

const nl_view_version *nl_view_current_version(const nl_view_metadata *metadata)
{
    for (uint32_t i = 0; i < metadata->version_count; i++)
        if (metadata->versions[i].version_id == metadata->current_version_id) return &metadata->versions[i];
    return NULL;
}

const nl_schema *nl_view_schema(const nl_view_metadata *metadata)
{
    return schema_by_id(metadata, nl_view_current_version(metadata)->schema_id);
}

const nl_view_representation *nl_view_representation_of(const nl_view_metadata *metadata, nl_str dialect)
{
    const nl_view_version *version = nl_view_current_version(metadata);
    for (uint32_t i = 0; i < version->representation_count; i++)
        if (nl_str_equal_nocase(version->representations[i].dialect, dialect)) return &version->representations[i];
    return NULL;
}

nl_str nl_view_property(const nl_view_metadata *metadata, const char *key)
{
    for (uint32_t i = 0; i < metadata->property_count; i++)
        if (nl_str_is(metadata->properties[i].key, key)) return metadata->properties[i].value;
    return (nl_str){0};
}

/* ---- updates as JSON (REST specification) ---------------------------------------------------------------------- */

static nl_status version_from_json(nl_arena *arena, const json_t *json, nl_view_update *update)
{
    nl_view_version *version = NL_NEW(arena, nl_view_version);
    update->version = version;
    return nl_view_version_from_json(arena, json, NL_STR("add-view-version"), version);
}

static nl_status removals_from_json(nl_arena *arena, const json_t *list, nl_view_update *update)
{
    nl_property *keys = NL_NEW_ARRAY(arena, nl_property, json_array_size(list));
    for (size_t i = 0; i < json_array_size(list); i++) keys[i].key = nl_str_from(json_string_value(json_array_get(list, i)));
    update->properties = keys;
    update->property_count = (uint32_t)json_array_size(list);
    return NULL;
}

nl_status nl_view_update_from_json(nl_arena *arena, const json_t *json, nl_view_update *update)
{
    const nl_str path = NL_STR("the view's update");
    const json_t *list;
    nl_str action;
    NL_TRY(nl_json_object(json, path, "update"));
    NL_TRY(nl_json_text(json, "action", path, &action));
    *update = (nl_view_update){0};
    if (nl_str_is(action, "assign-uuid")) return update->kind = NL_VIEW_ASSIGN_UUID, nl_json_text(json, "uuid", path, &update->text);
    if (nl_str_is(action, "upgrade-format-version")) return update->kind = NL_VIEW_UPGRADE_FORMAT_VERSION, nl_json_int32(json, "format-version", path, &update->number);
    if (nl_str_is(action, "add-schema")) return update->kind = NL_VIEW_ADD_SCHEMA, nl_schema_from_json(arena, json_object_get(json, "schema"), path, &update->schema);
    if (nl_str_is(action, "set-location")) return update->kind = NL_VIEW_SET_LOCATION, nl_json_text(json, "location", path, &update->text);
    if (nl_str_is(action, "set-properties")) {
        const json_t *updates = json_object_get(json, "updates");
        update->kind = NL_VIEW_SET_PROPERTIES;
        return nl_properties_from_json(arena, updates ? updates : json_object_get(json, "updated"), "updates", path, &update->properties, &update->property_count);
    }
    if (nl_str_is(action, "remove-properties")) {
        update->kind = NL_VIEW_REMOVE_PROPERTIES;
        NL_TRY(nl_json_array(json, json_object_get(json, "removals") ? "removals" : "removed", path, &list));
        return removals_from_json(arena, list, update);
    }
    if (nl_str_is(action, "add-view-version")) return update->kind = NL_VIEW_ADD_VERSION, version_from_json(arena, json_object_get(json, "view-version"), update);
    if (nl_str_is(action, "set-current-view-version"))
        return update->kind = NL_VIEW_SET_CURRENT_VERSION, nl_json_int32(json, "view-version-id", path, &update->number);
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot convert view update from json. Unknown action: " NL_STR_FMT, NL_STR_ARG(action));
}

static void begin_update(nl_json_writer *json, const char *action)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "action");
    nl_json_write_text(json, nl_str_from(action));
}

void nl_view_update_append_json(const nl_view_update *update, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    switch (update->kind) {
    case NL_VIEW_ASSIGN_UUID:
        begin_update(&json, "assign-uuid");
        nl_json_key(&json, "uuid");
        nl_json_write_text(&json, update->text);
        break;
    case NL_VIEW_UPGRADE_FORMAT_VERSION:
        begin_update(&json, "upgrade-format-version");
        nl_json_key(&json, "format-version");
        nl_json_write_int(&json, update->number);
        break;
    case NL_VIEW_ADD_SCHEMA:
        begin_update(&json, "add-schema");
        nl_json_key(&json, "schema");
        nl_schema_append_json(update->schema, out);
        nl_json_after_value(&json);
        nl_json_key(&json, "last-column-id"); /* deprecated, and asked for by some servers */
        nl_json_write_int(&json, update->schema->highest_field_id);
        break;
    case NL_VIEW_SET_LOCATION:
        begin_update(&json, "set-location");
        nl_json_key(&json, "location");
        nl_json_write_text(&json, update->text);
        break;
    case NL_VIEW_SET_PROPERTIES:
        begin_update(&json, "set-properties");
        write_properties(&json, "updates", update->properties, update->property_count);
        break;
    case NL_VIEW_REMOVE_PROPERTIES:
        begin_update(&json, "remove-properties");
        nl_json_key(&json, "removals");
        nl_json_begin(&json, '[');
        for (uint32_t i = 0; i < update->property_count; i++) nl_json_write_text(&json, update->properties[i].key);
        nl_json_end(&json, ']');
        break;
    case NL_VIEW_ADD_VERSION:
        begin_update(&json, "add-view-version");
        nl_json_key(&json, "view-version");
        nl_view_version_append_json(update->version, out);
        nl_json_after_value(&json);
        break;
    case NL_VIEW_SET_CURRENT_VERSION:
        begin_update(&json, "set-current-view-version");
        nl_json_key(&json, "view-version-id");
        nl_json_write_int(&json, update->number);
        break;
    }
    nl_json_end(&json, '}');
}
