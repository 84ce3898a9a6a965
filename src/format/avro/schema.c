/* format/avro/schema.c - see schema.h. */
#include "format/avro/schema.h"

#include "base/json.h"
#include "base/limits.h"

#define NODES_MAX      (1u << 20) /* an expanded schema; the widest tables have some ten thousand columns */
#define EMPTY_ITEMS_MAX (1u << 20) /* items that take no bytes in one array: nothing else bounds them */

typedef struct named_type {
    nl_str name;
    nl_avro_type *type;
    bool is_open; /* still being parsed: a reference to it is a recursion */
} named_type;

typedef struct parser {
    nl_arena *arena;
    nl_str path;
    nl_list named;
} parser;

static nl_status bad_schema(const parser *in, const char *what, nl_str name)
{
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_append_f(&text, "its Avro schema: %s " NL_STR_FMT, what, NL_STR_ARG(name));
    nl_status status = NL_RAISE(NILAS_CORRUPT_FILE, NL_P_STR("path", in->path), NL_P_INT("offset", 0), NL_P("column", ""),
                                NL_P_STR("problem", nl_builder_str(&text)));
    nl_builder_fini(&text);
    return status;
}

static nl_str text_of(const json_t *json)
{
    return (nl_str){json_string_value(json), json_string_length(json)};
}

static nl_str member_text(const json_t *json, const char *key)
{
    return text_of(json_object_get(json, key));
}

static int32_t member_id(const json_t *json, const char *key)
{
    const json_t *value = json_object_get(json, key);
    const json_int_t number = json_integer_value(value);
    return json_is_integer(value) && number > 0 && number <= INT32_MAX ? (int32_t)number : 0;
}

static const struct {
    const char *name;
    nl_avro_kind kind;
    uint32_t bytes_min;
} primitives[] = {{"null", NL_AVRO_NULL, 0},     {"boolean", NL_AVRO_BOOLEAN, 1}, {"int", NL_AVRO_INT, 1},     {"long", NL_AVRO_LONG, 1},
                  {"float", NL_AVRO_FLOAT, 4},   {"double", NL_AVRO_DOUBLE, 8},   {"bytes", NL_AVRO_BYTES, 1}, {"string", NL_AVRO_STRING, 1}};

static bool make_primitive(nl_arena *arena, nl_str name, nl_avro_type **type)
{
    for (size_t i = 0; i < NL_COUNT(primitives); i++) {
        if (!nl_str_is(name, primitives[i].name)) continue;
        *type = NL_NEW(arena, nl_avro_type);
        **type = (nl_avro_type){.kind = primitives[i].kind, .bytes_min = primitives[i].bytes_min, .node_count = 1};
        return true;
    }
    return false;
}

/* Names without a dot belong to the namespace around them. */
static nl_str full_name(nl_arena *arena, nl_str name, nl_str space)
{
    if (!space.length || nl_str_find_char(name, '.', 0) != NL_NOT_FOUND) return nl_arena_str(arena, name);
    return nl_arena_f(arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(space), NL_STR_ARG(name));
}

static nl_str namespace_of(nl_str name)
{
    const size_t dot = nl_str_find_last_char(name, '.');
    return dot == NL_NOT_FOUND ? (nl_str){0} : nl_str_slice(name, 0, dot);
}

static nl_status find_named(const parser *in, nl_str name, nl_str space, nl_avro_type **type)
{
    const nl_str full = full_name(in->arena, name, space);
    for (uint32_t i = 0; i < in->named.count; i++) {
        const named_type *known = in->named.items[i];
        if (!nl_str_equal(known->name, full) && !nl_str_equal(known->name, name)) continue;
        if (known->is_open)
            return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The Avro type " NL_STR_FMT " of " NL_STR_FMT " contains itself: recursive types cannot be read",
                                 NL_STR_ARG(full), NL_STR_ARG(in->path));
        *type = known->type;
        return NULL;
    }
    return bad_schema(in, "unknown type", name);
}

static nl_status parse_type(parser *in, const json_t *json, nl_str space, uint32_t depth, nl_avro_type **type);

static void add_child(nl_avro_type *type, const nl_avro_type *child)
{
    type->node_count = type->node_count > NODES_MAX || child->node_count > NODES_MAX ? NODES_MAX + 1 : type->node_count + child->node_count;
}

static nl_status check_size(const parser *in, const nl_avro_type *type)
{
    return type->node_count > NODES_MAX ? bad_schema(in, "it has too many fields below", type->name) : NULL;
}

static nl_status parse_fields(parser *in, const json_t *json, nl_str space, uint32_t depth, nl_avro_type *type)
{
    const json_t *array = json_object_get(json, "fields");
    if (!json_is_array(array)) return bad_schema(in, "no fields in record", type->name);
    const size_t count = json_array_size(array);
    nl_avro_field *fields = NL_NEW_ARRAY(in->arena, nl_avro_field, count + 1);
    NL_TRY(nl_arena_check(in->arena));
    uint64_t bytes_min = 0;
    for (size_t i = 0; i < count; i++) {
        const json_t *field = json_array_get(array, i);
        nl_str name = member_text(field, "iceberg-field-name");
        if (!name.length) name = member_text(field, "name");
        if (!name.length) return bad_schema(in, "a field without name in record", type->name);
        nl_avro_type *child;
        NL_TRY(parse_type(in, json_object_get(field, "type"), space, depth + 1, &child));
        fields[i] = (nl_avro_field){.name = nl_arena_str(in->arena, name), .field_id = member_id(field, "field-id"), .type = child};
        add_child(type, child);
        bytes_min += child->bytes_min;
    }
    type->fields = fields;
    type->field_count = (uint32_t)count;
    type->bytes_min = (uint32_t)NL_MIN(bytes_min, NL_AVRO_BLOCK_BYTES_MAX);
    return check_size(in, type);
}

static nl_status parse_symbols(const parser *in, const json_t *json, nl_avro_type *type)
{
    const json_t *array = json_object_get(json, "symbols");
    const size_t count = json_array_size(array);
    if (!json_is_array(array) || count == 0) return bad_schema(in, "no symbols in enum", type->name);
    nl_str *symbols = NL_NEW_ARRAY(in->arena, nl_str, count);
    NL_TRY(nl_arena_check(in->arena));
    for (size_t i = 0; i < count; i++)
        symbols[i] = nl_arena_str(in->arena, text_of(json_array_get(array, i)));
    type->symbols = symbols;
    type->symbol_count = (uint32_t)count;
    type->bytes_min = 1;
    return NULL;
}

static nl_status parse_named(parser *in, const json_t *json, nl_avro_kind kind, nl_str space, uint32_t depth, nl_avro_type **out)
{
    const nl_str name = member_text(json, "name");
    const json_t *own_space = json_object_get(json, "namespace");
    if (!name.length) return bad_schema(in, "a named type without name", (nl_str){0});
    nl_avro_type *type = NL_NEW(in->arena, nl_avro_type);
    named_type *named = NL_NEW(in->arena, named_type);
    type->kind = kind;
    type->node_count = 1;
    type->name = full_name(in->arena, name, own_space ? text_of(own_space) : space);
    *named = (named_type){.name = type->name, .type = type, .is_open = true};
    nl_list_add(in->arena, &in->named, named);
    if (kind == NL_AVRO_RECORD) {
        NL_TRY(parse_fields(in, json, namespace_of(type->name), depth, type));
    } else if (kind == NL_AVRO_ENUM) {
        NL_TRY(parse_symbols(in, json, type));
    } else {
        const json_t *size = json_object_get(json, "size");
        const json_int_t bytes = json_integer_value(size);
        if (!json_is_integer(size) || bytes < 0 || bytes > NL_VALUE_BYTES_MAX) return bad_schema(in, "a bad size of fixed", type->name);
        type->size_bytes = (uint32_t)bytes;
        type->bytes_min = type->size_bytes;
    }
    named->is_open = false;
    *out = type;
    return NULL;
}

static nl_status parse_container(parser *in, const json_t *json, bool is_map, nl_str space, uint32_t depth, nl_avro_type **out)
{
    nl_avro_type *type = NL_NEW(in->arena, nl_avro_type);
    nl_avro_field *item = NL_NEW(in->arena, nl_avro_field);
    nl_avro_type *child;
    NL_TRY(parse_type(in, json_object_get(json, is_map ? "values" : "items"), space, depth + 1, &child));
    *item = (nl_avro_field){.name = is_map ? NL_STR("value") : NL_STR("element"),
                            .field_id = member_id(json, is_map ? "value-id" : "element-id"),
                            .type = child};
    *type = (nl_avro_type){.kind = is_map ? NL_AVRO_MAP : NL_AVRO_ARRAY, .field_count = 1, .fields = item, .bytes_min = 1, .node_count = 1};
    type->key_id = member_id(json, "key-id");
    add_child(type, child);
    *out = type;
    return check_size(in, type);
}

static nl_status parse_union(parser *in, const json_t *json, nl_str space, uint32_t depth, nl_avro_type **out)
{
    const size_t count = json_array_size(json);
    nl_avro_type *type = NL_NEW(in->arena, nl_avro_type);
    nl_avro_field *branches = NL_NEW_ARRAY(in->arena, nl_avro_field, count + 1);
    NL_TRY(nl_arena_check(in->arena));
    if (count == 0) return bad_schema(in, "a union of nothing", (nl_str){0});
    *type = (nl_avro_type){.kind = NL_AVRO_UNION, .field_count = (uint32_t)count, .fields = branches, .bytes_min = 1, .node_count = 1};
    for (size_t i = 0; i < count; i++) {
        nl_avro_type *child;
        NL_TRY(parse_type(in, json_array_get(json, i), space, depth + 1, &child));
        if (child->kind == NL_AVRO_UNION) return bad_schema(in, "a union within a union", (nl_str){0});
        branches[i].type = child;
        add_child(type, child);
    }
    *out = type;
    return check_size(in, type);
}

/* Sets what the attribute logicalType says; an unknown or ill-fitting one is ignored, as the specification asks. */
static void apply_logical(const json_t *json, nl_avro_type *type)
{
    static const struct {
        const char *name;
        nl_avro_kind kind;
        nl_avro_logical logical;
        bool adjusts_to_utc;
    } rows[] = {{"date", NL_AVRO_INT, NL_AVRO_DATE, false},
                {"time-millis", NL_AVRO_INT, NL_AVRO_TIME_MILLIS, false},
                {"time-micros", NL_AVRO_LONG, NL_AVRO_TIME_MICROS, false},
                {"timestamp-millis", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_MILLIS, true},
                {"timestamp-micros", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_MICROS, true},
                {"timestamp-nanos", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_NANOS, true},
                {"local-timestamp-millis", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_MILLIS, false},
                {"local-timestamp-micros", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_MICROS, false},
                {"local-timestamp-nanos", NL_AVRO_LONG, NL_AVRO_TIMESTAMP_NANOS, false},
                {"uuid", NL_AVRO_STRING, NL_AVRO_UUID, false},
                {"variant", NL_AVRO_RECORD, NL_AVRO_VARIANT, false}};
    const nl_str name = member_text(json, "logicalType");
    if (!name.length) return;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        if (type->kind != rows[i].kind || !nl_str_is(name, rows[i].name)) continue;
        type->logical = rows[i].logical;
        type->adjusts_to_utc = rows[i].adjusts_to_utc;
    }
    const json_t *adjust = json_object_get(json, "adjust-to-utc");
    if (json_is_boolean(adjust)) type->adjusts_to_utc = json_is_true(adjust);
    if (nl_str_is(name, "uuid") && type->kind == NL_AVRO_FIXED && type->size_bytes == 16) type->logical = NL_AVRO_UUID;
    const nl_avro_type *item = type->kind == NL_AVRO_ARRAY ? type->fields[0].type : NULL;
    if (nl_str_is(name, "map") && item && item->kind == NL_AVRO_RECORD && item->field_count == 2) type->logical = NL_AVRO_LOGICAL_MAP;
    if (type->logical == NL_AVRO_VARIANT && type->field_count != 2) type->logical = NL_AVRO_PLAIN;
    if (nl_str_is(name, "decimal") && (type->kind == NL_AVRO_BYTES || type->kind == NL_AVRO_FIXED)) {
        const json_int_t precision = json_integer_value(json_object_get(json, "precision"));
        const json_int_t scale = json_integer_value(json_object_get(json, "scale"));
        if (precision < 1 || precision > 38 || scale < 0 || scale > precision) return;
        type->logical = NL_AVRO_DECIMAL;
        type->precision = (uint8_t)precision;
        type->scale = (uint8_t)scale;
    }
}

static nl_status parse_object(parser *in, const json_t *json, nl_str space, uint32_t depth, nl_avro_type **type)
{
    const json_t *kind = json_object_get(json, "type");
    if (!json_is_string(kind)) return parse_type(in, kind, space, depth + 1, type); /* {"type": {…}} */
    const nl_str name = text_of(kind);
    if (nl_str_is(name, "record") || nl_str_is(name, "error")) NL_TRY(parse_named(in, json, NL_AVRO_RECORD, space, depth, type));
    else if (nl_str_is(name, "enum")) NL_TRY(parse_named(in, json, NL_AVRO_ENUM, space, depth, type));
    else if (nl_str_is(name, "fixed")) NL_TRY(parse_named(in, json, NL_AVRO_FIXED, space, depth, type));
    else if (nl_str_is(name, "array")) NL_TRY(parse_container(in, json, false, space, depth, type));
    else if (nl_str_is(name, "map")) NL_TRY(parse_container(in, json, true, space, depth, type));
    else if (!make_primitive(in->arena, name, type)) return find_named(in, name, space, type); /* attributes belong to the definition */
    apply_logical(json, *type);
    return NULL;
}

static nl_status parse_type(parser *in, const json_t *json, nl_str space, uint32_t depth, nl_avro_type **type)
{
    /* A union and an object wrapper each take a level besides the type's own. */
    if (depth > 3 * NL_TYPE_DEPTH_MAX) return bad_schema(in, "it is nested too deep", (nl_str){0});
    NL_TRY(nl_arena_check(in->arena));
    if (json_is_array(json)) return parse_union(in, json, space, depth, type);
    if (json_is_object(json)) return parse_object(in, json, space, depth, type);
    if (!json_is_string(json)) return bad_schema(in, "a type that is neither text, object nor array", (nl_str){0});
    if (make_primitive(in->arena, text_of(json), type)) return NULL;
    return find_named(in, text_of(json), space, type);
}

nl_status nl_avro_schema_parse(nl_arena *arena, nl_str json, nl_str path, const nl_avro_type **type)
{
    parser in = {.arena = arena, .path = path};
    nl_arena *scratch = nl_arena_new(NULL); /* the JSON is needed only for the while */
    const json_t *parsed = NULL;
    nl_avro_type *made = NULL;
    nl_status status = nl_json_parse(scratch, json, path, &parsed);
    if (!status) status = parse_type(&in, parsed, (nl_str){0}, 0, &made);
    nl_arena_free(scratch);
    if (!status) *type = made;
    return nl_note_if(status, NL_HERE, "reading the Avro schema of " NL_STR_FMT, NL_STR_ARG(path));
}

const nl_avro_type *nl_avro_unwrap(const nl_avro_type *type, int32_t *null_branch)
{
    *null_branch = -1;
    if (type->kind != NL_AVRO_UNION || type->field_count != 2) return type;
    for (int32_t i = 0; i < 2; i++) {
        if (type->fields[i].type->kind != NL_AVRO_NULL) continue;
        *null_branch = i;
        return type->fields[1 - i].type;
    }
    return type;
}

bool nl_avro_has_field_ids(const nl_avro_type *type)
{
    if (type->key_id) return true;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (type->fields[i].field_id || nl_avro_has_field_ids(type->fields[i].type)) return true;
    return false;
}

nl_status nl_avro_bytes(nl_cursor *in, nl_bytes *bytes)
{
    const int64_t length = nl_cursor_zigzag(in);
    NL_TRY(nl_cursor_status(in));
    if (length < 0 || (uint64_t)length > nl_cursor_remaining(in) || length > NL_VALUE_BYTES_MAX)
        return nl_cursor_corrupt(in, "a value of %lld bytes where %zu are left", (long long)length, nl_cursor_remaining(in));
    *bytes = nl_cursor_bytes(in, (size_t)length);
    return NULL;
}

nl_status nl_avro_branch(const nl_avro_type *type, nl_cursor *in, uint32_t *branch)
{
    const int64_t index = nl_cursor_zigzag(in);
    NL_TRY(nl_cursor_status(in));
    if (index < 0 || index >= type->field_count)
        return nl_cursor_corrupt(in, "branch %lld of a union of %u types", (long long)index, type->field_count);
    *branch = (uint32_t)index;
    return NULL;
}

nl_status nl_avro_block_count(nl_cursor *in, uint32_t item_bytes_min, uint64_t *count, int64_t *block_bytes)
{
    int64_t number = nl_cursor_zigzag(in);
    *block_bytes = -1;
    if (number < 0) {
        *block_bytes = nl_cursor_zigzag(in);
        NL_TRY(nl_cursor_status(in));
        if (*block_bytes < 0 || (uint64_t)*block_bytes > nl_cursor_remaining(in) || number == INT64_MIN)
            return nl_cursor_corrupt(in, "an array block of %lld bytes where %zu are left", (long long)*block_bytes, nl_cursor_remaining(in));
        number = -number;
    }
    NL_TRY(nl_cursor_status(in));
    const uint64_t count_max = item_bytes_min ? nl_cursor_remaining(in) / item_bytes_min : EMPTY_ITEMS_MAX;
    if ((uint64_t)number > count_max)
        return nl_cursor_corrupt(in, "an array block of %lld items where %zu bytes are left", (long long)number, nl_cursor_remaining(in));
    *count = (uint64_t)number;
    return NULL;
}

static nl_status skip_items(const nl_avro_type *type, nl_cursor *in)
{
    const nl_avro_type *item = type->fields[0].type;
    const bool is_map = type->kind == NL_AVRO_MAP;
    uint64_t total = 0;
    for (;;) {
        uint64_t count;
        int64_t block_bytes;
        NL_TRY(nl_avro_block_count(in, item->bytes_min + is_map, &count, &block_bytes));
        if (count == 0) return NULL;
        if (block_bytes >= 0) {
            nl_cursor_skip(in, (size_t)block_bytes);
            continue;
        }
        total += count;
        if (item->bytes_min + is_map == 0 && total > EMPTY_ITEMS_MAX) return nl_cursor_corrupt(in, "an array of too many empty items");
        for (uint64_t i = 0; i < count; i++) {
            nl_bytes key;
            if (is_map) NL_TRY(nl_avro_bytes(in, &key));
            NL_TRY(nl_avro_skip(item, in));
        }
    }
}

nl_status nl_avro_skip(const nl_avro_type *type, nl_cursor *in)
{
    nl_bytes bytes;
    uint32_t branch;
    switch (type->kind) {
    case NL_AVRO_NULL: return NULL;
    case NL_AVRO_BOOLEAN: nl_cursor_skip(in, 1); return NULL;
    case NL_AVRO_INT:
    case NL_AVRO_LONG:
    case NL_AVRO_ENUM: (void)nl_cursor_zigzag(in); return NULL;
    case NL_AVRO_FLOAT: nl_cursor_skip(in, 4); return NULL;
    case NL_AVRO_DOUBLE: nl_cursor_skip(in, 8); return NULL;
    case NL_AVRO_BYTES:
    case NL_AVRO_STRING: return nl_avro_bytes(in, &bytes);
    case NL_AVRO_FIXED: nl_cursor_skip(in, type->size_bytes); return NULL;
    case NL_AVRO_RECORD:
        for (uint32_t i = 0; i < type->field_count; i++)
            NL_TRY(nl_avro_skip(type->fields[i].type, in));
        return NULL;
    case NL_AVRO_ARRAY:
    case NL_AVRO_MAP: return skip_items(type, in);
    case NL_AVRO_UNION:
        NL_TRY(nl_avro_branch(type, in, &branch));
        return nl_avro_skip(type->fields[branch].type, in);
    }
    return NULL;
}
