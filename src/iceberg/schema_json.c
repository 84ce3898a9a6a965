/* iceberg/schema_json.c - types and schemas as JSON (spec, Appendix C), in the key order of Java's SchemaParser. */
#include "iceberg/schema.h"

#include "base/json.h"
#include "base/limits.h"
#include "base/number.h"

/* ---- Reading ---- */

static nl_status bad_type(nl_str path, nl_str text)
{
    return nl_json_corrupt(path, "Cannot parse type string: " NL_STR_FMT, NL_STR_ARG(text));
}

/* The text between `open` right behind `name` and `close` at the end; false when text is not of that form. */
static bool in_brackets(nl_str text, const char *name, char open, char close, nl_str *inside)
{
    const nl_str prefix = nl_str_from(name);
    if (!nl_str_starts_nocase(text, prefix)) return false;
    const nl_str rest = nl_str_trim(nl_str_slice(text, prefix.length, text.length));
    if (rest.length < 2 || rest.data[0] != open || rest.data[rest.length - 1] != close) return false;
    *inside = nl_str_trim(nl_str_slice(rest, 1, rest.length - 1));
    return true;
}

static nl_status parametric_type(nl_arena *arena, nl_str text, nl_str path, const nl_ice_type **type)
{
    nl_str inside;
    int64_t number;
    if (in_brackets(text, "fixed", '[', ']', &inside)) {
        if (!nl_parse_int64(inside, &number) || number < 0 || number > NL_VALUE_BYTES_MAX) return bad_type(path, text);
        *type = nl_ice_type_fixed(arena, (uint32_t)number);
        return NULL;
    }
    if (in_brackets(text, "decimal", '(', ')', &inside)) {
        int64_t scale;
        nl_str first;
        if (!nl_str_next_part(&inside, ',', &first) || !nl_parse_int64(nl_str_trim(first), &number) ||
            !nl_parse_int64(nl_str_trim(inside), &scale))
            return bad_type(path, text);
        if (number < 1 || number > NL_DECIMAL_PRECISION_MAX || scale < 0 || scale > number) return bad_type(path, text);
        *type = nl_ice_type_decimal(arena, (uint8_t)number, (uint8_t)scale);
        return NULL;
    }
    const bool is_geometry = in_brackets(text, "geometry", '(', ')', &inside);
    if (is_geometry || in_brackets(text, "geography", '(', ')', &inside)) {
        nl_ice_type *made = NL_NEW(arena, nl_ice_type);
        made->id = is_geometry ? NL_ICE_GEOMETRY : NL_ICE_GEOGRAPHY;
        made->parameters = nl_arena_str(arena, inside);
        *type = made;
        return NULL;
    }
    return bad_type(path, text);
}

static nl_status primitive_type(nl_arena *arena, nl_str text, nl_str path, const nl_ice_type **type)
{
    static const struct {
        const char *name;
        nl_ice_type_id id;
    } names[] = {{"boolean", NL_ICE_BOOLEAN},
                 {"int", NL_ICE_INT},
                 {"long", NL_ICE_LONG},
                 {"float", NL_ICE_FLOAT},
                 {"double", NL_ICE_DOUBLE},
                 {"date", NL_ICE_DATE},
                 {"time", NL_ICE_TIME},
                 {"timestamp", NL_ICE_TIMESTAMP},
                 {"timestamptz", NL_ICE_TIMESTAMPTZ},
                 {"timestamp_ns", NL_ICE_TIMESTAMP_NS},
                 {"timestamptz_ns", NL_ICE_TIMESTAMPTZ_NS},
                 {"string", NL_ICE_STRING},
                 {"uuid", NL_ICE_UUID},
                 {"binary", NL_ICE_BINARY},
                 {"unknown", NL_ICE_UNKNOWN},
                 {"variant", NL_ICE_VARIANT},
                 {"geometry", NL_ICE_GEOMETRY},
                 {"geography", NL_ICE_GEOGRAPHY}};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        if (!nl_str_is_nocase(text, names[i].name)) continue;
        *type = nl_ice_type_of(names[i].id);
        return NULL;
    }
    return parametric_type(arena, text, path, type);
}

static nl_status read_type(nl_arena *arena, const json_t *json, nl_str path, uint32_t depth, const nl_ice_type **type);

static nl_status read_default(nl_arena *arena, const json_t *json, const char *key, const nl_ice_type *type, nl_str path, const nl_value **value)
{
    const json_t *member = json_object_get(json, key);
    if (!member || json_is_null(member)) return NULL;
    nl_value *made = NL_NEW(arena, nl_value);
    NL_TRY(nl_single_value_from_json(type, member, path, arena, made));
    *value = made;
    return NULL;
}

static nl_status read_field(nl_arena *arena, const json_t *json, nl_str path, uint32_t depth, nl_ice_field *field)
{
    NL_TRY(nl_json_object(json, path, "a schema field"));
    NL_TRY(nl_json_int32(json, "id", path, &field->id));
    NL_TRY(nl_json_text(json, "name", path, &field->name));
    NL_TRY(nl_json_bool(json, "required", path, &field->is_required));
    NL_TRY(nl_json_optional_text(json, "doc", path, &field->doc));
    NL_TRY(read_type(arena, json_object_get(json, "type"), path, depth + 1, &field->type));
    field->name = nl_arena_str(arena, field->name);
    if (field->doc.data) field->doc = nl_arena_str(arena, field->doc);
    NL_TRY(read_default(arena, json, "initial-default", field->type, path, &field->initial_default));
    return read_default(arena, json, "write-default", field->type, path, &field->write_default);
}

static nl_status read_struct(nl_arena *arena, const json_t *json, nl_str path, uint32_t depth, const nl_ice_type **type)
{
    const json_t *array;
    NL_TRY(nl_json_array(json, "fields", path, &array));
    const size_t count = json_array_size(array);
    nl_ice_field *fields = NL_NEW_ARRAY(arena, nl_ice_field, count + 1);
    NL_TRY(nl_arena_check(arena));
    for (size_t i = 0; i < count; i++)
        NL_TRY(read_field(arena, json_array_get(array, i), path, depth, &fields[i]));
    nl_ice_type *made = NL_NEW(arena, nl_ice_type);
    *made = (nl_ice_type){.id = NL_ICE_STRUCT, .field_count = (uint32_t)count, .fields = fields};
    *type = made;
    return NULL;
}

static nl_status read_type(nl_arena *arena, const json_t *json, nl_str path, uint32_t depth, const nl_ice_type **type)
{
    if (depth > NL_TYPE_DEPTH_MAX) return nl_json_corrupt(path, "a type is nested more than %u levels deep", NL_TYPE_DEPTH_MAX);
    if (json_is_string(json)) return primitive_type(arena, (nl_str){json_string_value(json), json_string_length(json)}, path, type);
    NL_TRY(nl_json_object(json, path, "a type"));
    nl_str kind = {0};
    NL_TRY(nl_json_text(json, "type", path, &kind));
    if (nl_str_is(kind, "struct")) return read_struct(arena, json, path, depth, type);
    if (nl_str_is(kind, "list")) {
        int32_t element_id = 0;
        bool is_required = false;
        const nl_ice_type *element;
        NL_TRY(nl_json_int32(json, "element-id", path, &element_id));
        NL_TRY(nl_json_bool(json, "element-required", path, &is_required));
        NL_TRY(read_type(arena, json_object_get(json, "element"), path, depth + 1, &element));
        *type = nl_ice_type_list(arena, element_id, element, is_required);
        return NULL;
    }
    if (!nl_str_is(kind, "map")) return bad_type(path, kind);
    int32_t key_id = 0;
    int32_t value_id = 0;
    bool is_required = false;
    const nl_ice_type *key;
    const nl_ice_type *value;
    NL_TRY(nl_json_int32(json, "key-id", path, &key_id));
    NL_TRY(nl_json_int32(json, "value-id", path, &value_id));
    NL_TRY(nl_json_bool(json, "value-required", path, &is_required));
    NL_TRY(read_type(arena, json_object_get(json, "key"), path, depth + 1, &key));
    NL_TRY(read_type(arena, json_object_get(json, "value"), path, depth + 1, &value));
    *type = nl_ice_type_map(arena, key_id, key, value_id, value, is_required);
    return NULL;
}

nl_status nl_ice_type_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_ice_type **type)
{
    return read_type(arena, json, path, 0, type);
}

nl_status nl_schema_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_schema **schema)
{
    static const char *const known[] = {"type", "schema-id", "identifier-field-ids", "fields", NULL};
    NL_TRY(nl_json_object(json, path, "schema"));
    int32_t schema_id = 0;
    const json_t *identifiers;
    const int32_t *identifier_ids = NULL;
    uint32_t identifier_count = 0;
    const nl_ice_type *root;
    NL_TRY(nl_json_optional_int32(json, "schema-id", path, &schema_id));
    NL_TRY(nl_json_optional_array(json, "identifier-field-ids", path, &identifiers));
    if (identifiers) NL_TRY(nl_json_int32_list(arena, identifiers, "identifier-field-ids", path, &identifier_ids, &identifier_count));
    NL_TRY(read_struct(arena, json, path, 0, &root));
    NL_TRY_NOTE(nl_schema_new(arena, schema_id, root, identifier_ids, identifier_count, schema), "reading a schema of " NL_STR_FMT,
                NL_STR_ARG(path));
    ((nl_schema *)(uintptr_t)*schema)->unknown = nl_json_unknown(arena, json, known);
    return NULL;
}

/* ---- Writing ---- */

static void write_type(nl_json_writer *json, const nl_ice_type *type);

static void write_default(nl_json_writer *json, const char *key, const nl_ice_type *type, const nl_value *value)
{
    if (!value) return;
    nl_json_key(json, key);
    nl_json_before_value(json);
    nl_single_value_append_json(type, value, json->out);
    nl_json_after_value(json);
}

static void write_fields(nl_json_writer *json, const nl_ice_type *type)
{
    nl_json_key(json, "fields");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < type->field_count; i++) {
        const nl_ice_field *field = &type->fields[i];
        nl_json_begin(json, '{');
        nl_json_key(json, "id");
        nl_json_write_int(json, field->id);
        nl_json_key(json, "name");
        nl_json_write_text(json, field->name);
        nl_json_key(json, "required");
        nl_json_write_bool(json, field->is_required);
        nl_json_key(json, "type");
        write_type(json, field->type);
        if (field->doc.data) {
            nl_json_key(json, "doc");
            nl_json_write_text(json, field->doc);
        }
        write_default(json, "initial-default", field->type, field->initial_default);
        write_default(json, "write-default", field->type, field->write_default);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
}

static void write_child(nl_json_writer *json, const char *id_key, const char *key, const nl_ice_field *field)
{
    nl_json_key(json, id_key);
    nl_json_write_int(json, field->id);
    nl_json_key(json, key);
    write_type(json, field->type);
}

static void write_type(nl_json_writer *json, const nl_ice_type *type)
{
    if (!nl_ice_type_is_nested(type)) {
        nl_json_before_value(json);
        nl_builder name;
        nl_builder_init(&name, 1u << 16);
        nl_ice_type_append_name(type, &name);
        nl_json_append_quoted(json->out, nl_builder_str(&name));
        nl_builder_fini(&name);
        nl_json_after_value(json);
        return;
    }
    nl_json_begin(json, '{');
    nl_json_key(json, "type");
    if (type->id == NL_ICE_STRUCT) {
        nl_json_write_text(json, NL_STR("struct"));
        write_fields(json, type);
    } else if (type->id == NL_ICE_LIST) {
        nl_json_write_text(json, NL_STR("list"));
        write_child(json, "element-id", "element", &type->fields[0]);
        nl_json_key(json, "element-required");
        nl_json_write_bool(json, type->fields[0].is_required);
    } else {
        nl_json_write_text(json, NL_STR("map"));
        write_child(json, "key-id", "key", &type->fields[0]);
        write_child(json, "value-id", "value", &type->fields[1]);
        nl_json_key(json, "value-required");
        nl_json_write_bool(json, type->fields[1].is_required);
    }
    nl_json_end(json, '}');
}

void nl_ice_type_append_json(const nl_ice_type *type, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    write_type(&json, type);
}

void nl_schema_append_json(const nl_schema *schema, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "type");
    nl_json_write_text(&json, NL_STR("struct"));
    nl_json_key(&json, "schema-id");
    nl_json_write_int(&json, schema->schema_id);
    if (schema->identifier_count) {
        nl_json_key(&json, "identifier-field-ids");
        nl_json_begin(&json, '[');
        for (uint32_t i = 0; i < schema->identifier_count; i++)
            nl_json_write_int(&json, schema->identifier_ids[i]);
        nl_json_end(&json, ']');
    }
    write_fields(&json, schema->root);
    nl_json_write_members(&json, schema->unknown);
    nl_json_end(&json, '}');
}
