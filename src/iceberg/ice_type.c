/* iceberg/ice_type.c - Iceberg's types: making, comparing, naming, and the two ways to column/type.h. */
#include "iceberg/schema.h"

#include "base/limits.h"

#define SIMPLE(kind) [kind] = {.id = (kind)}
static const nl_ice_type simple_types[] = {
    SIMPLE(NL_ICE_UNKNOWN),      SIMPLE(NL_ICE_BOOLEAN),        SIMPLE(NL_ICE_INT),    SIMPLE(NL_ICE_LONG),      SIMPLE(NL_ICE_FLOAT),
    SIMPLE(NL_ICE_DOUBLE),       SIMPLE(NL_ICE_DATE),           SIMPLE(NL_ICE_TIME),   SIMPLE(NL_ICE_TIMESTAMP), SIMPLE(NL_ICE_TIMESTAMPTZ),
    SIMPLE(NL_ICE_TIMESTAMP_NS), SIMPLE(NL_ICE_TIMESTAMPTZ_NS), SIMPLE(NL_ICE_STRING), SIMPLE(NL_ICE_UUID),      SIMPLE(NL_ICE_BINARY),
    SIMPLE(NL_ICE_VARIANT),      SIMPLE(NL_ICE_GEOMETRY),       SIMPLE(NL_ICE_GEOGRAPHY)};

const nl_ice_type *nl_ice_type_of(nl_ice_type_id id)
{
    NL_ASSERT(id <= NL_ICE_GEOGRAPHY && id != NL_ICE_DECIMAL && id != NL_ICE_FIXED);
    return &simple_types[id];
}

const nl_ice_type *nl_ice_type_decimal(nl_arena *arena, uint8_t precision, uint8_t scale)
{
    nl_ice_type *type = NL_NEW(arena, nl_ice_type);
    *type = (nl_ice_type){.id = NL_ICE_DECIMAL, .precision = precision, .scale = scale};
    return type;
}

const nl_ice_type *nl_ice_type_fixed(nl_arena *arena, uint32_t length)
{
    nl_ice_type *type = NL_NEW(arena, nl_ice_type);
    *type = (nl_ice_type){.id = NL_ICE_FIXED, .length = length};
    return type;
}

static const nl_ice_type *nested(nl_arena *arena, nl_ice_type_id id, const nl_ice_field *fields, uint32_t field_count)
{
    nl_ice_type *type = NL_NEW(arena, nl_ice_type);
    nl_ice_field *copy = NL_NEW_ARRAY(arena, nl_ice_field, field_count + 1);
    for (uint32_t i = 0; i < field_count; i++)
        copy[i] = fields[i];
    *type = (nl_ice_type){.id = id, .field_count = field_count, .fields = copy};
    return type;
}

const nl_ice_type *nl_ice_type_struct(nl_arena *arena, const nl_ice_field *fields, uint32_t field_count)
{
    return nested(arena, NL_ICE_STRUCT, fields, field_count);
}

const nl_ice_type *nl_ice_type_list(nl_arena *arena, int32_t element_id, const nl_ice_type *element, bool is_required)
{
    const nl_ice_field field = {.id = element_id, .name = NL_STR("element"), .is_required = is_required, .type = element};
    return nested(arena, NL_ICE_LIST, &field, 1);
}

const nl_ice_type *nl_ice_type_map(nl_arena *arena, int32_t key_id, const nl_ice_type *key, int32_t value_id, const nl_ice_type *value,
                                   bool is_value_required)
{
    const nl_ice_field fields[2] = {
        {.id = key_id, .name = NL_STR("key"), .is_required = true, .type = key},
        {.id = value_id, .name = NL_STR("value"), .is_required = is_value_required, .type = value},
    };
    return nested(arena, NL_ICE_MAP, fields, 2);
}

static const nl_value *copy_default(nl_arena *arena, const nl_value *value)
{
    if (!value) return NULL;
    nl_value *copy = NL_NEW(arena, nl_value);
    *copy = nl_value_copy(arena, value);
    return copy;
}

nl_ice_field nl_ice_field_copy(nl_arena *arena, const nl_ice_field *field)
{
    return (nl_ice_field){
        .id = field->id,
        .name = nl_arena_str(arena, field->name),
        .is_required = field->is_required,
        .type = nl_ice_type_copy(arena, field->type),
        .doc = field->doc.data ? nl_arena_str(arena, field->doc) : (nl_str){0},
        .initial_default = copy_default(arena, field->initial_default),
        .write_default = copy_default(arena, field->write_default),
    };
}

const nl_ice_type *nl_ice_type_copy(nl_arena *arena, const nl_ice_type *type)
{
    if (type->id <= NL_ICE_GEOGRAPHY && type == &simple_types[type->id]) return type;
    nl_ice_type *copy = NL_NEW(arena, nl_ice_type);
    *copy = *type;
    copy->parameters = type->parameters.length ? nl_arena_str(arena, type->parameters) : (nl_str){0};
    if (!nl_ice_type_is_nested(type)) return copy;
    nl_ice_field *fields = NL_NEW_ARRAY(arena, nl_ice_field, type->field_count + 1);
    for (uint32_t i = 0; i < type->field_count; i++)
        fields[i] = nl_ice_field_copy(arena, &type->fields[i]);
    copy->fields = fields;
    return copy;
}

static bool same_default(const nl_value *a, const nl_value *b)
{
    if (!a || !b) return a == b;
    return nl_value_equal(a, b);
}

bool nl_ice_field_equal(const nl_ice_field *a, const nl_ice_field *b)
{
    return a->id == b->id && a->is_required == b->is_required && nl_str_equal(a->name, b->name) && !a->doc.data == !b->doc.data &&
           nl_str_equal(a->doc, b->doc) && nl_ice_type_equal(a->type, b->type) && same_default(a->initial_default, b->initial_default) &&
           same_default(a->write_default, b->write_default);
}

bool nl_ice_type_equal(const nl_ice_type *a, const nl_ice_type *b)
{
    if (a == b) return true;
    if (a->id != b->id || a->precision != b->precision || a->scale != b->scale || a->length != b->length ||
        a->field_count != b->field_count || !nl_str_equal(a->parameters, b->parameters))
        return false;
    for (uint32_t i = 0; i < a->field_count; i++)
        if (!nl_ice_field_equal(&a->fields[i], &b->fields[i])) return false;
    return true;
}

static const char *const simple_names[] = {
    [NL_ICE_UNKNOWN] = "unknown",          [NL_ICE_BOOLEAN] = "boolean",
    [NL_ICE_INT] = "int",                  [NL_ICE_LONG] = "long",
    [NL_ICE_FLOAT] = "float",              [NL_ICE_DOUBLE] = "double",
    [NL_ICE_DATE] = "date",                [NL_ICE_TIME] = "time",
    [NL_ICE_TIMESTAMP] = "timestamp",      [NL_ICE_TIMESTAMPTZ] = "timestamptz",
    [NL_ICE_TIMESTAMP_NS] = "timestamp_ns", [NL_ICE_TIMESTAMPTZ_NS] = "timestamptz_ns",
    [NL_ICE_STRING] = "string",            [NL_ICE_UUID] = "uuid",
    [NL_ICE_BINARY] = "binary",            [NL_ICE_VARIANT] = "variant",
    [NL_ICE_GEOMETRY] = "geometry",        [NL_ICE_GEOGRAPHY] = "geography"};

void nl_ice_type_append_name(const nl_ice_type *type, nl_builder *out)
{
    if (type->id == NL_ICE_DECIMAL) {
        nl_append_f(out, "decimal(%u, %u)", type->precision, type->scale);
    } else if (type->id == NL_ICE_FIXED) {
        nl_append_f(out, "fixed[%u]", type->length);
    } else if (type->id == NL_ICE_STRUCT) {
        nl_append_c(out, "struct<");
        for (uint32_t i = 0; i < type->field_count; i++) {
            const nl_ice_field *field = &type->fields[i];
            nl_append_f(out, "%s%d: " NL_STR_FMT ": %s ", i ? ", " : "", field->id, NL_STR_ARG(field->name),
                        field->is_required ? "required" : "optional");
            nl_ice_type_append_name(field->type, out);
            if (field->doc.data) nl_append_f(out, " (" NL_STR_FMT ")", NL_STR_ARG(field->doc));
        }
        nl_append_char(out, '>');
    } else if (type->id == NL_ICE_LIST || type->id == NL_ICE_MAP) {
        nl_append_c(out, type->id == NL_ICE_LIST ? "list<" : "map<");
        for (uint32_t i = 0; i < type->field_count; i++) {
            if (i) nl_append_c(out, ", ");
            nl_ice_type_append_name(type->fields[i].type, out);
        }
        nl_append_char(out, '>');
    } else {
        nl_append_c(out, simple_names[type->id]);
        if (type->parameters.length) nl_append_f(out, "(" NL_STR_FMT ")", NL_STR_ARG(type->parameters));
    }
}

nl_str nl_ice_type_name(nl_arena *arena, const nl_ice_type *type)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 20);
    nl_ice_type_append_name(type, &text);
    const nl_str name = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return name;
}

bool nl_ice_type_can_promote(const nl_ice_type *from, const nl_ice_type *to, int32_t format_version)
{
    if (from->id == to->id && from->id == NL_ICE_DECIMAL) return from->scale == to->scale && from->precision <= to->precision;
    if (nl_ice_type_equal(from, to)) return !nl_ice_type_is_nested(from);
    if (from->id == NL_ICE_INT) return to->id == NL_ICE_LONG;
    if (from->id == NL_ICE_FLOAT) return to->id == NL_ICE_DOUBLE;
    if (format_version < 3) return false;
    if (from->id == NL_ICE_DATE) return to->id == NL_ICE_TIMESTAMP || to->id == NL_ICE_TIMESTAMP_NS;
    return from->id == NL_ICE_UNKNOWN && !nl_ice_type_is_nested(to);
}

/* The types that both conversions turn into the same; NULL for the others. */
static const nl_type *common_type(const nl_ice_type *type)
{
    static const nl_type_id ids[] = {[NL_ICE_UNKNOWN] = NL_TYPE_NULL,
                                     [NL_ICE_BOOLEAN] = NL_TYPE_BOOLEAN,
                                     [NL_ICE_INT] = NL_TYPE_INT,
                                     [NL_ICE_LONG] = NL_TYPE_BIGINT,
                                     [NL_ICE_FLOAT] = NL_TYPE_FLOAT,
                                     [NL_ICE_DOUBLE] = NL_TYPE_DOUBLE,
                                     [NL_ICE_DATE] = NL_TYPE_DATE,
                                     [NL_ICE_TIMESTAMP] = NL_TYPE_TIMESTAMP_NTZ,
                                     [NL_ICE_TIMESTAMPTZ] = NL_TYPE_TIMESTAMP,
                                     [NL_ICE_STRING] = NL_TYPE_STRING,
                                     [NL_ICE_FIXED] = NL_TYPE_BINARY,
                                     [NL_ICE_BINARY] = NL_TYPE_BINARY,
                                     [NL_ICE_VARIANT] = NL_TYPE_VARIANT,
                                     [NL_ICE_MAP] = NL_TYPE_NULL};
    if (type->id == NL_ICE_DECIMAL) return nl_type_decimal(type->precision, type->scale);
    if (type->id != NL_ICE_UNKNOWN && ids[type->id] == NL_TYPE_NULL) return NULL;
    return nl_type_of(ids[type->id]);
}

/* A nested type whose children are converted already. */
static const nl_type *make_nested(nl_arena *arena, const nl_ice_type *type, nl_field *fields)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        fields[i].name = type->fields[i].name;
        fields[i].is_nullable = !type->fields[i].is_required;
        fields[i].comment = type->fields[i].doc;
        fields[i].field_id = type->fields[i].id;
    }
    if (type->id == NL_ICE_STRUCT) return nl_type_struct(arena, fields, type->field_count);
    /* The makers of column/type.h know no ids: the children are set afterwards, on a copy. */
    const bool is_list = type->id == NL_ICE_LIST;
    const nl_type *made = is_list ? nl_type_array(arena, fields[0].type, fields[0].is_nullable)
                                  : nl_type_map(arena, fields[0].type, fields[1].type, fields[1].is_nullable);
    nl_type *copy = NL_NEW(arena, nl_type);
    nl_field *children = NL_NEW_ARRAY(arena, nl_field, type->field_count);
    *copy = *made;
    for (uint32_t i = 0; i < type->field_count; i++) {
        children[i] = made->children[i];
        children[i].field_id = type->fields[i].id;
    }
    copy->children = children;
    return copy;
}

const nl_type *nl_ice_type_storage(nl_arena *arena, const nl_ice_type *type)
{
    const nl_type *common = common_type(type);
    if (common) return common;
    if (type->id == NL_ICE_TIME || type->id == NL_ICE_TIMESTAMP_NS || type->id == NL_ICE_TIMESTAMPTZ_NS) return nl_type_bigint();
    if (!nl_ice_type_is_nested(type)) return nl_type_binary(); /* uuid, geometry, geography */
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->field_count + 1);
    for (uint32_t i = 0; i < type->field_count; i++)
        fields[i].type = nl_ice_type_storage(arena, type->fields[i].type);
    return make_nested(arena, type, fields);
}

nl_status nl_ice_type_to_sql(nl_arena *arena, const nl_ice_type *type, const nl_type **sql)
{
    const nl_type *common = common_type(type);
    if (common) {
        *sql = common;
        return NULL;
    }
    if (type->id == NL_ICE_UUID) {
        *sql = nl_type_string();
        return NULL;
    }
    if (type->id == NL_ICE_TIME) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Spark does not support time fields");
    if (!nl_ice_type_is_nested(type)) {
        const nl_str name = nl_ice_type_name(arena, type);
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot convert unknown type to Spark: " NL_STR_FMT, NL_STR_ARG(name));
    }
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type->field_count + 1);
    NL_TRY(nl_arena_check(arena));
    for (uint32_t i = 0; i < type->field_count; i++)
        NL_TRY(nl_ice_type_to_sql(arena, type->fields[i].type, &fields[i].type));
    *sql = make_nested(arena, type, fields);
    return NULL;
}

static nl_status children_from_sql(nl_arena *arena, const nl_type *sql, nl_ice_field *fields, uint32_t depth);

static nl_status from_sql(nl_arena *arena, const nl_type *sql, uint32_t depth, const nl_ice_type **type)
{
    static const nl_ice_type_id ids[NL_TYPE_COUNT] = {
        [NL_TYPE_NULL] = NL_ICE_UNKNOWN,     [NL_TYPE_BOOLEAN] = NL_ICE_BOOLEAN,     [NL_TYPE_TINYINT] = NL_ICE_INT,
        [NL_TYPE_SMALLINT] = NL_ICE_INT,     [NL_TYPE_INT] = NL_ICE_INT,             [NL_TYPE_BIGINT] = NL_ICE_LONG,
        [NL_TYPE_FLOAT] = NL_ICE_FLOAT,      [NL_TYPE_DOUBLE] = NL_ICE_DOUBLE,       [NL_TYPE_DECIMAL] = NL_ICE_DECIMAL,
        [NL_TYPE_STRING] = NL_ICE_STRING,    [NL_TYPE_BINARY] = NL_ICE_BINARY,       [NL_TYPE_DATE] = NL_ICE_DATE,
        [NL_TYPE_TIMESTAMP] = NL_ICE_TIMESTAMPTZ, [NL_TYPE_TIMESTAMP_NTZ] = NL_ICE_TIMESTAMP, [NL_TYPE_ARRAY] = NL_ICE_LIST,
        [NL_TYPE_MAP] = NL_ICE_MAP,          [NL_TYPE_STRUCT] = NL_ICE_STRUCT,       [NL_TYPE_VARIANT] = NL_ICE_VARIANT};
    if (depth > NL_TYPE_DEPTH_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A type nested more than %u levels deep", NL_TYPE_DEPTH_MAX);
    const nl_ice_type_id id = ids[sql->id];
    const bool is_collated = sql->id == NL_TYPE_STRING && sql->collation.length > 0;
    if ((id == NL_ICE_UNKNOWN && sql->id != NL_TYPE_NULL) || is_collated) {
        const nl_str name = nl_type_name(arena, sql);
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Not a supported type: " NL_STR_FMT, NL_STR_ARG(name));
    }
    if (id == NL_ICE_DECIMAL) {
        *type = nl_ice_type_decimal(arena, sql->precision, sql->scale);
    } else if (id < NL_ICE_STRUCT) {
        *type = nl_ice_type_of(id);
    } else {
        nl_ice_field *fields = NL_NEW_ARRAY(arena, nl_ice_field, sql->child_count + 1);
        NL_TRY(nl_arena_check(arena));
        NL_TRY(children_from_sql(arena, sql, fields, depth));
        *type = nested(arena, id, fields, sql->child_count);
    }
    return NULL;
}

static nl_status children_from_sql(nl_arena *arena, const nl_type *sql, nl_ice_field *fields, uint32_t depth)
{
    for (uint32_t i = 0; i < sql->child_count; i++) {
        const nl_field *child = &sql->children[i];
        fields[i] = (nl_ice_field){.id = child->field_id,
                                   .name = nl_arena_str(arena, child->name),
                                   .is_required = !child->is_nullable,
                                   .doc = child->comment.length ? nl_arena_str(arena, child->comment) : (nl_str){0}};
        NL_TRY(from_sql(arena, child->type, depth + 1, &fields[i].type));
    }
    if (sql->id == NL_TYPE_ARRAY) fields[0].is_required = !sql->contains_null;
    if (sql->id == NL_TYPE_MAP) {
        fields[0].is_required = true;
        fields[1].is_required = !sql->contains_null;
    }
    return NULL;
}

nl_status nl_ice_type_from_sql(nl_arena *arena, const nl_type *sql, const nl_ice_type **type)
{
    return from_sql(arena, sql, 0, type);
}
