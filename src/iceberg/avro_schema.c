/* iceberg/avro_schema.c - see avro_schema.h. */
#include "iceberg/avro_schema.h"

#include <utf8proc.h>

#include "base/json.h"

typedef struct writer {
    nl_json_writer json;
    nl_arena *arena;
    nl_list defined; /* names of fixed types: a second mention is by name only */
} writer;

uint32_t nl_decimal_bytes(uint8_t precision)
{
    static const uint8_t bytes[NL_DECIMAL_PRECISION_MAX + 1] = {1, 1, 1, 2, 2,  3,  3,  4,  4,  4,  5,  5,  6,  6,  6,  7,  7,  8,  8, 9,
                                                                9, 9, 10, 10, 11, 11, 11, 12, 12, 13, 13, 13, 14, 14, 15, 15, 16, 16, 16};
    return bytes[precision];
}

static void key_text(writer *out, const char *key, const char *value)
{
    nl_json_key(&out->json, key);
    nl_json_write_text(&out->json, nl_str_from(value));
}

static void key_int(writer *out, const char *key, int64_t value)
{
    nl_json_key(&out->json, key);
    nl_json_write_int(&out->json, value);
}

static bool is_digit(int32_t c)
{
    return utf8proc_category(c) == UTF8PROC_CATEGORY_ND;
}

/* Java looks at UTF-16 units, so that letters beyond the first plane are none. */
static bool is_letter(int32_t c)
{
    if (c >= 0x10000) return false;
    switch ((int)utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO: return true;
    default: return false;
    }
}

/* Java's AvroSchemaUtil.sanitize: "_x20" for a space, an underscore before a leading digit. */
void nl_avro_append_name(nl_str name, nl_builder *out)
{
    for (size_t at = 0; at < name.length;) {
        int32_t c = 0;
        const bool is_first = at == 0;
        const utf8proc_ssize_t length = utf8proc_iterate((const uint8_t *)name.data + at, (utf8proc_ssize_t)(name.length - at), &c);
        if (length <= 0) { /* not UTF-8: its bytes stay apart */
            nl_append_f(out, "_x%X", (unsigned char)name.data[at++]);
            continue;
        }
        if (is_first && is_digit(c) && c < 0x10000) nl_append_char(out, '_');
        if (c == '_' || is_letter(c) || (is_digit(c) && c < 0x10000))
            nl_append(out, nl_str_slice(name, at, at + (size_t)length));
        else if (c < 0x10000)
            nl_append_f(out, "_x%X", (unsigned)c);
        else
            nl_append_f(out, "_x%X_x%X", 0xD800u + (((unsigned)c - 0x10000u) >> 10), 0xDC00u + (((unsigned)c - 0x10000u) & 0x3FFu));
        at += (size_t)length;
    }
}

static bool is_valid_name(nl_str name)
{
    nl_builder out;
    nl_builder_init(&out, SIZE_MAX);
    nl_avro_append_name(name, &out);
    const bool is_same = nl_str_equal(nl_builder_str(&out), name);
    nl_builder_fini(&out);
    return is_same && name.length > 0;
}

static void write_type(writer *out, const nl_ice_type *type, nl_str record_name);

static nl_str record_name_of(writer *out, int32_t field_id)
{
    return nl_arena_f(out->arena, "r%d", field_id);
}

/* ["null", T] for optional ones. */
static void write_optional(writer *out, const nl_ice_field *field)
{
    const nl_str name = record_name_of(out, field->id);
    if (field->is_required || field->type->id == NL_ICE_UNKNOWN) {
        write_type(out, field->type, name);
        return;
    }
    nl_json_begin(&out->json, '[');
    nl_json_write_text(&out->json, NL_STR("null"));
    write_type(out, field->type, name);
    nl_json_end(&out->json, ']');
}

static void write_field(writer *out, const nl_ice_field *field)
{
    const bool is_valid = is_valid_name(field->name);
    nl_json_begin(&out->json, '{');
    nl_json_key(&out->json, "name");
    if (is_valid) {
        nl_json_write_text(&out->json, field->name);
    } else {
        nl_builder name;
        nl_builder_init(&name, 1u << 16);
        nl_avro_append_name(field->name, &name);
        nl_json_write_text(&out->json, nl_builder_str(&name));
        nl_builder_fini(&name);
    }
    nl_json_key(&out->json, "type");
    write_optional(out, field);
    if (field->doc.data) {
        nl_json_key(&out->json, "doc");
        nl_json_write_text(&out->json, field->doc);
    }
    if (!field->is_required) {
        nl_json_key(&out->json, "default");
        nl_json_write_null(&out->json);
    }
    if (!is_valid) {
        nl_json_key(&out->json, "iceberg-field-name");
        nl_json_write_text(&out->json, field->name);
    }
    key_int(out, "field-id", field->id);
    nl_json_end(&out->json, '}');
}

static void write_record(writer *out, const nl_ice_type *type, nl_str name)
{
    nl_json_begin(&out->json, '{');
    key_text(out, "type", "record");
    nl_json_key(&out->json, "name");
    nl_json_write_text(&out->json, name);
    nl_json_key(&out->json, "fields");
    nl_json_begin(&out->json, '[');
    for (uint32_t i = 0; i < type->field_count; i++)
        write_field(out, &type->fields[i]);
    nl_json_end(&out->json, ']');
    nl_json_end(&out->json, '}');
}

static void write_map(writer *out, const nl_ice_type *type)
{
    const nl_ice_field *key = &type->fields[0];
    const nl_ice_field *value = &type->fields[1];
    nl_json_begin(&out->json, '{');
    if (key->type->id == NL_ICE_STRING) {
        key_text(out, "type", "map");
        nl_json_key(&out->json, "values");
        write_optional(out, value);
        key_int(out, "key-id", key->id);
        key_int(out, "value-id", value->id);
    } else { /* Avro's maps have text for keys: others are arrays of pairs */
        key_text(out, "type", "array");
        nl_json_key(&out->json, "items");
        write_record(out, type, nl_arena_f(out->arena, "k%d_v%d", key->id, value->id));
        key_text(out, "logicalType", "map");
    }
    nl_json_end(&out->json, '}');
}

static void write_fixed(writer *out, nl_str name, uint32_t size, const nl_ice_type *type)
{
    for (uint32_t i = 0; i < out->defined.count; i++) {
        if (!nl_str_equal(*(const nl_str *)out->defined.items[i], name)) continue;
        nl_json_write_text(&out->json, name);
        return;
    }
    nl_str *kept = NL_NEW(out->arena, nl_str);
    *kept = name;
    nl_list_add(out->arena, &out->defined, kept);
    nl_json_begin(&out->json, '{');
    key_text(out, "type", "fixed");
    nl_json_key(&out->json, "name");
    nl_json_write_text(&out->json, name);
    key_int(out, "size", size);
    if (type->id == NL_ICE_DECIMAL) {
        key_text(out, "logicalType", "decimal");
        key_int(out, "precision", type->precision);
        key_int(out, "scale", type->scale);
    } else if (type->id == NL_ICE_UUID) {
        key_text(out, "logicalType", "uuid");
    }
    nl_json_end(&out->json, '}');
}

static void write_logical(writer *out, const char *type, const char *logical, bool is_timestamp, bool adjusts)
{
    nl_json_begin(&out->json, '{');
    key_text(out, "type", type);
    key_text(out, "logicalType", logical);
    if (is_timestamp) {
        nl_json_key(&out->json, "adjust-to-utc");
        nl_json_write_bool(&out->json, adjusts);
    }
    nl_json_end(&out->json, '}');
}

static void write_variant(writer *out, nl_str name)
{
    nl_json_begin(&out->json, '{');
    key_text(out, "type", "record");
    nl_json_key(&out->json, "name");
    nl_json_write_text(&out->json, name);
    nl_json_key(&out->json, "fields");
    nl_json_begin(&out->json, '[');
    static const char *const names[] = {"metadata", "value"};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        nl_json_begin(&out->json, '{');
        key_text(out, "name", names[i]);
        key_text(out, "type", "bytes");
        nl_json_end(&out->json, '}');
    }
    nl_json_end(&out->json, ']');
    key_text(out, "logicalType", "variant");
    nl_json_end(&out->json, '}');
}

static void write_type(writer *out, const nl_ice_type *type, nl_str record_name)
{
    static const char *const plain[] = {[NL_ICE_UNKNOWN] = "null", [NL_ICE_BOOLEAN] = "boolean", [NL_ICE_INT] = "int",
                                        [NL_ICE_LONG] = "long",    [NL_ICE_FLOAT] = "float",     [NL_ICE_DOUBLE] = "double",
                                        [NL_ICE_STRING] = "string"};
    switch (type->id) {
    case NL_ICE_UNKNOWN:
    case NL_ICE_BOOLEAN:
    case NL_ICE_INT:
    case NL_ICE_LONG:
    case NL_ICE_FLOAT:
    case NL_ICE_DOUBLE:
    case NL_ICE_STRING: nl_json_write_text(&out->json, nl_str_from(plain[type->id])); break;
    case NL_ICE_BINARY:
    case NL_ICE_GEOMETRY:
    case NL_ICE_GEOGRAPHY: nl_json_write_text(&out->json, NL_STR("bytes")); break;
    case NL_ICE_DATE: write_logical(out, "int", "date", false, false); break;
    case NL_ICE_TIME: write_logical(out, "long", "time-micros", false, false); break;
    case NL_ICE_TIMESTAMP: write_logical(out, "long", "timestamp-micros", true, false); break;
    case NL_ICE_TIMESTAMPTZ: write_logical(out, "long", "timestamp-micros", true, true); break;
    case NL_ICE_TIMESTAMP_NS: write_logical(out, "long", "timestamp-nanos", true, false); break;
    case NL_ICE_TIMESTAMPTZ_NS: write_logical(out, "long", "timestamp-nanos", true, true); break;
    case NL_ICE_UUID: write_fixed(out, NL_STR("uuid_fixed"), 16, type); break;
    case NL_ICE_FIXED: write_fixed(out, nl_arena_f(out->arena, "fixed_%u", type->length), type->length, type); break;
    case NL_ICE_DECIMAL:
        write_fixed(out, nl_arena_f(out->arena, "decimal_%u_%u", type->precision, type->scale), nl_decimal_bytes(type->precision), type);
        break;
    case NL_ICE_VARIANT: write_variant(out, record_name); break;
    case NL_ICE_STRUCT: write_record(out, type, record_name); break;
    case NL_ICE_LIST:
        nl_json_begin(&out->json, '{');
        key_text(out, "type", "array");
        nl_json_key(&out->json, "items");
        write_optional(out, &type->fields[0]);
        key_int(out, "element-id", type->fields[0].id);
        nl_json_end(&out->json, '}');
        break;
    case NL_ICE_MAP: write_map(out, type); break;
    }
}

void nl_ice_type_append_avro(const nl_ice_type *type, nl_str record_name, nl_builder *out)
{
    writer state = {.json = {.out = out}, .arena = nl_arena_new(NULL)};
    write_type(&state, type, record_name);
    nl_arena_free(state.arena);
}
