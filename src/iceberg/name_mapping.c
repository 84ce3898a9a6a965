/* iceberg/name_mapping.c - see name_mapping.h (Java's NameMappingParser and MappingUtil). */
#include "iceberg/name_mapping.h"

#include "base/json.h"
#include "base/limits.h"

#define PROPERTY NL_STR("schema.name-mapping.default")

static nl_status read_mapping(nl_arena *arena, const json_t *json, uint32_t depth, nl_name_mapping *mapping);

static nl_status read_field(nl_arena *arena, const json_t *json, uint32_t depth, nl_mapped_field *field)
{
    const json_t *names;
    const json_t *nested;
    NL_TRY(nl_json_object(json, PROPERTY, "a mapped field"));
    field->has_field_id = json_is_integer(json_object_get(json, "field-id"));
    NL_TRY(nl_json_optional_int32(json, "field-id", PROPERTY, &field->field_id));
    NL_TRY(nl_json_optional_array(json, "names", PROPERTY, &names));
    NL_TRY(nl_json_optional_array(json, "fields", PROPERTY, &nested));
    const size_t count = json_array_size(names);
    nl_str *copy = NL_NEW_ARRAY(arena, nl_str, count + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < count; i++) {
        const json_t *name = json_array_get(names, i);
        if (!json_is_string(name)) return nl_json_corrupt(PROPERTY, "names holds something that is no string");
        copy[i] = nl_arena_str(arena, (nl_str){json_string_value(name), json_string_length(name)});
    }
    field->names = copy;
    field->name_count = (uint32_t)count;
    return nested ? read_mapping(arena, nested, depth + 1, &field->nested) : NULL;
}

static nl_status read_mapping(nl_arena *arena, const json_t *json, uint32_t depth, nl_name_mapping *mapping)
{
    if (depth > NL_TYPE_DEPTH_MAX) return nl_json_corrupt(PROPERTY, "it is nested too deep");
    if (!json_is_array(json)) return nl_json_corrupt(PROPERTY, "a mapping is not an array");
    const uint32_t count = (uint32_t)json_array_size(json);
    nl_mapped_field *fields = NL_NEW_ARRAY(arena, nl_mapped_field, (size_t)count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < count; i++)
        NL_TRY(read_field(arena, json_array_get(json, i), depth, &fields[i]));
    *mapping = (nl_name_mapping){.fields = fields, .field_count = count};
    return NULL;
}

nl_status nl_name_mapping_parse(nl_arena *arena, nl_str json, nl_name_mapping *mapping)
{
    const json_t *parsed;
    NL_TRY(nl_json_parse(arena, json, PROPERTY, &parsed));
    return read_mapping(arena, parsed, 0, mapping);
}

static void begin_line(nl_builder *out, uint32_t depth, bool is_first)
{
    nl_append_c(out, is_first ? "\n" : ",\n");
    nl_append_fill(out, ' ', 2u * depth);
}

/* As Java's library lays it out: objects over lines, lists within one. */
static void append_mapping(const nl_name_mapping *mapping, uint32_t depth, nl_builder *out)
{
    nl_append_c(out, "[ ");
    for (uint32_t i = 0; i < mapping->field_count; i++) {
        const nl_mapped_field *field = &mapping->fields[i];
        nl_append_c(out, i ? ", {" : "{");
        if (field->has_field_id) {
            begin_line(out, depth + 1, true);
            nl_append_f(out, "\"field-id\" : %d", field->field_id);
        }
        begin_line(out, depth + 1, !field->has_field_id);
        nl_append_c(out, "\"names\" : [ ");
        for (uint32_t k = 0; k < field->name_count; k++) {
            if (k) nl_append_c(out, ", ");
            nl_json_append_quoted(out, field->names[k]);
        }
        nl_append_c(out, field->name_count ? " ]" : "]");
        if (field->nested.field_count) {
            begin_line(out, depth + 1, false);
            nl_append_c(out, "\"fields\" : ");
            append_mapping(&field->nested, depth + 1, out);
        }
        begin_line(out, depth, true);
        nl_append_char(out, '}');
    }
    nl_append_c(out, mapping->field_count ? " ]" : "]");
}

void nl_name_mapping_append_json(const nl_name_mapping *mapping, nl_builder *out)
{
    append_mapping(mapping, 0, out);
}

static nl_name_mapping map_type(nl_arena *arena, const nl_ice_type *type)
{
    nl_mapped_field *fields = NL_NEW_ARRAY(arena, nl_mapped_field, (size_t)type->field_count + 1);
    for (uint32_t i = 0; i < type->field_count; i++) {
        nl_str *name = NL_NEW(arena, nl_str);
        *name = nl_arena_str(arena, type->fields[i].name);
        fields[i] = (nl_mapped_field){.has_field_id = true, .field_id = type->fields[i].id, .names = name, .name_count = 1};
        fields[i].nested = map_type(arena, type->fields[i].type);
    }
    return (nl_name_mapping){.fields = fields, .field_count = type->field_count};
}

void nl_name_mapping_of_schema(nl_arena *arena, const nl_schema *schema, nl_name_mapping *mapping)
{
    *mapping = map_type(arena, schema->root);
}

static bool has_name(const nl_mapped_field *field, nl_str name)
{
    for (uint32_t i = 0; i < field->name_count; i++)
        if (nl_str_equal(field->names[i], name)) return true;
    return false;
}

/* One level: renamed fields keep their old names and get the new one; a name now borne by another field leaves those
 * that had it; new fields join at the end. */
static nl_name_mapping update_level(nl_arena *arena, const nl_name_mapping *old_mapping, const nl_schema *old_schema, const nl_ice_type *new_type)
{
    nl_mapped_field *fields = NL_NEW_ARRAY(arena, nl_mapped_field, (size_t)old_mapping->field_count + new_type->field_count + 1);
    const nl_ice_field **renamed = NL_NEW_ARRAY(arena, const nl_ice_field *, (size_t)new_type->field_count + 1);
    uint32_t renamed_count = 0; /* fields whose name is new to them */
    for (uint32_t f = 0; f < new_type->field_count; f++) {
        const nl_schema_column *before = nl_schema_find_id(old_schema, new_type->fields[f].id);
        if (!before || !nl_str_equal(before->field->name, new_type->fields[f].name)) renamed[renamed_count++] = &new_type->fields[f];
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < old_mapping->field_count; i++) {
        const nl_mapped_field *old_field = &old_mapping->fields[i];
        nl_str *names = NL_NEW_ARRAY(arena, nl_str, (size_t)old_field->name_count + 1);
        const nl_ice_field *now = NULL;
        uint32_t name_count = 0;
        for (uint32_t k = 0; k < new_type->field_count && old_field->has_field_id; k++)
            if (new_type->fields[k].id == old_field->field_id) now = &new_type->fields[k];
        for (uint32_t k = 0; k < old_field->name_count; k++) {
            bool is_taken = false;
            for (uint32_t f = 0; f < renamed_count; f++)
                if (renamed[f] != now && nl_str_equal(renamed[f]->name, old_field->names[k])) is_taken = true;
            if (!is_taken) names[name_count++] = old_field->names[k];
        }
        if (now && !has_name(old_field, now->name)) names[name_count++] = nl_arena_str(arena, now->name);
        fields[count] = *old_field;
        fields[count].names = names;
        fields[count].name_count = name_count;
        if (now) fields[count].nested = update_level(arena, &old_field->nested, old_schema, now->type);
        count++;
    }
    for (uint32_t f = 0; f < new_type->field_count; f++) {
        const nl_ice_field *field = &new_type->fields[f];
        if (nl_schema_find_id(old_schema, field->id)) continue;
        const nl_ice_type one = {.id = NL_ICE_STRUCT, .field_count = 1, .fields = field};
        fields[count++] = map_type(arena, &one).fields[0];
    }
    return (nl_name_mapping){.fields = fields, .field_count = count};
}

void nl_name_mapping_update(nl_arena *arena, const nl_name_mapping *old_mapping, const nl_schema *old_schema, const nl_schema *new_schema,
                            nl_name_mapping *mapping)
{
    *mapping = update_level(arena, old_mapping, old_schema, new_schema->root);
}

const nl_mapped_field *nl_name_mapping_find(const nl_name_mapping *mapping, nl_str name)
{
    for (uint32_t i = 0; i < mapping->field_count; i++)
        if (has_name(&mapping->fields[i], name)) return &mapping->fields[i];
    return NULL;
}
