/* catalog/glue/input.c - see input.h. */
#include "catalog/glue/input.h"

#include "base/hash.h"
#include "catalog/hive_type.h"

/* ---- columns ---- */

/* Texts by name: an open hash table of borrowed texts; the first of a name stays. */
typedef struct name_map {
    nl_property *slots;
    size_t slot_count; /* a power of two, more than twice the names */
} name_map;

static name_map map_new(nl_arena *arena, size_t name_count)
{
    name_map map = {.slot_count = 4};
    while (map.slot_count <= 2 * name_count)
        map.slot_count *= 2;
    map.slots = NL_NEW_ARRAY(arena, nl_property, map.slot_count);
    return map;
}

static nl_property *slot_of(const name_map *map, nl_str name)
{
    size_t at = nl_hash_bytes(name.data, name.length, 0) & (map->slot_count - 1);
    while (map->slots[at].key.data && !nl_str_equal(map->slots[at].key, name))
        at = (at + 1) & (map->slot_count - 1);
    return &map->slots[at];
}

/* False when the name is there already. */
static bool map_add(name_map *map, nl_str name, nl_str value)
{
    nl_property *slot = slot_of(map, name);
    if (slot->key.data) return false;
    *slot = (nl_property){name.data ? name : NL_STR(""), value};
    return true;
}

static nl_str text_of(const json_t *object, const char *key)
{
    const json_t *value = object ? json_object_get(object, key) : NULL;
    return json_is_string(value) ? (nl_str){json_string_value(value), json_string_length(value)} : (nl_str){0};
}

/* The comments of the Glue table's columns. */
static name_map existing_comments(nl_arena *arena, const json_t *existing)
{
    const json_t *columns = existing ? json_object_get(json_object_get(existing, "StorageDescriptor"), "Columns") : NULL;
    name_map comments = map_new(arena, json_array_size(columns));
    size_t i;
    json_t *column;
    json_array_foreach(columns, i, column)
    {
        const nl_str comment = text_of(column, "Comment");
        if (comment.data) map_add(&comments, text_of(column, "Name"), comment);
    }
    return comments;
}

static void write_member(nl_json_writer *writer, const char *key, nl_str value)
{
    nl_json_key(writer, key);
    nl_json_write_text(writer, value);
}

static void write_column(nl_json_writer *writer, const nl_ice_field *field, bool is_current, const name_map *comments, nl_builder *text)
{
    const nl_str comment = field->doc.length > 0 ? field->doc : slot_of(comments, field->name)->value;
    nl_json_begin(writer, '{');
    write_member(writer, "Name", field->name);
    nl_builder_clear(text);
    nl_append_hive_type(field->type, text);
    write_member(writer, "Type", nl_builder_str(text));
    if (comment.length > 0) write_member(writer, "Comment", comment);
    nl_json_key(writer, "Parameters");
    nl_json_begin(writer, '{');
    nl_builder_clear(text);
    nl_append_int(text, field->id);
    write_member(writer, "iceberg.field.id", nl_builder_str(text));
    write_member(writer, "iceberg.field.optional", field->is_required ? NL_STR("false") : NL_STR("true"));
    write_member(writer, "iceberg.field.current", is_current ? NL_STR("true") : NL_STR("false"));
    nl_json_end(writer, '}');
    nl_json_end(writer, '}');
}

static void write_columns(nl_json_writer *writer, const nl_table_metadata *metadata, const json_t *existing)
{
    size_t name_count = 0;
    nl_builder text;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *current = nl_table_schema(metadata);
    for (uint32_t i = 0; i < metadata->schema_count; i++)
        name_count += metadata->schemas[i]->root->field_count;
    const name_map comments = existing_comments(arena, existing);
    name_map written = map_new(arena, name_count);
    nl_builder_init(&text, 1 << 20);
    nl_json_begin(writer, '[');
    for (uint32_t i = 0; i <= metadata->schema_count; i++) { /* the current one first */
        const nl_schema *schema = i == 0 ? current : metadata->schemas[i - 1];
        for (uint32_t c = 0; (i == 0 || schema != current) && c < schema->root->field_count; c++)
            if (map_add(&written, schema->root->fields[c].name, NL_STR(""))) write_column(writer, &schema->root->fields[c], i == 0, &comments, &text);
    }
    nl_json_end(writer, ']');
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

void nl_glue_write_table(nl_json_writer *writer, const nl_table_metadata *metadata, const json_t *existing)
{
    static const char *const locations[] = {"write.data.path", "write.metadata.path", "write.object-storage.path", "write.folder-storage.path"};
    nl_str description = nl_table_property(metadata, "comment", NULL);
    if (!description.data) description = text_of(existing, "Description");
    if (description.data) write_member(writer, "Description", description);
    nl_json_key(writer, "StorageDescriptor");
    nl_json_begin(writer, '{');
    nl_json_key(writer, "Columns");
    write_columns(writer, metadata, existing);
    write_member(writer, "Location", metadata->location);
    nl_json_key(writer, "AdditionalLocations");
    nl_json_begin(writer, '[');
    for (size_t i = 0; i < NL_COUNT(locations); i++) {
        const nl_str location = nl_table_property(metadata, locations[i], NULL);
        if (location.length > 0) nl_json_write_text(writer, location);
    }
    nl_json_end(writer, ']');
    nl_json_end(writer, '}');
}

void nl_glue_write_database(nl_json_writer *writer, nl_str name, const nl_property *properties, uint32_t property_count)
{
    nl_json_begin(writer, '{');
    write_member(writer, "Name", name);
    for (uint32_t i = 0; i < property_count; i++) {
        if (nl_str_is(properties[i].key, "location")) write_member(writer, "LocationUri", properties[i].value);
        if (nl_str_is(properties[i].key, "comment")) write_member(writer, "Description", properties[i].value);
    }
    nl_json_key(writer, "Parameters");
    nl_json_begin(writer, '{');
    for (uint32_t i = 0; i < property_count; i++) {
        if (nl_str_is(properties[i].key, "location") || nl_str_is(properties[i].key, "comment")) continue;
        nl_json_key_str(writer, properties[i].key);
        nl_json_write_text(writer, properties[i].value);
    }
    nl_json_end(writer, '}');
    nl_json_end(writer, '}');
}
