/* format/parquet/schema_type.c - a file's schema as Spark's ParquetToSparkSchemaConverter reads it. */
#include "base/decimal.h"
#include "base/limits.h"
#include "format/parquet/footer.h"
#include "format/parquet/mapping.h"

typedef struct converter {
    const nl_parquet_type_options *options;
    nl_arena *arena;
} converter;

/* "INT64 (TIMESTAMP(NANOS,true))", as Spark's errors print a type. */
static nl_str type_text(const converter *c, const nl_parquet_node *node)
{
    static const char *const physicals[] = {"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BINARY", "FIXED_LEN_BYTE_ARRAY"};
    const nl_str text = nl_parquet_node_text(c->arena, node);
    const size_t open = nl_str_find(text, NL_STR(" ("), 0);
    const nl_str logical = open == NL_NOT_FOUND || node->logical == NL_PARQUET_NO_LOGICAL ? NL_STR("") : nl_str_slice(text, open, text.length);
    return nl_arena_f(c->arena, "%s" NL_STR_FMT, physicals[node->physical], NL_STR_ARG(logical));
}

static nl_status illegal(const converter *c, const nl_parquet_node *node)
{
    const nl_str text = type_text(c, node);
    return NL_RAISE(PARQUET_TYPE_ILLEGAL, NL_P_STR("parquetType", text));
}

static nl_status unsupported(const converter *c, const nl_parquet_node *node)
{
    const nl_str text = type_text(c, node);
    return NL_RAISE(PARQUET_TYPE_NOT_SUPPORTED, NL_P_STR("parquetType", text));
}

static nl_status decimal_type(const converter *c, const nl_parquet_node *node, int precision_max, const nl_type **type)
{
    if (node->precision > precision_max) return illegal(c, node);
    *type = nl_type_decimal(node->precision, node->scale);
    return NULL;
}

static nl_status int32_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    nl_type_id id = NL_TYPE_INT;
    if (node->logical == NL_PARQUET_DECIMAL) return decimal_type(c, node, 9, type);
    if (node->logical == NL_PARQUET_DATE) {
        id = NL_TYPE_DATE;
    } else if (node->logical == NL_PARQUET_INTEGER) {
        /* An unsigned type reads as the next wider signed one. */
        const uint32_t width = node->is_signed ? node->bit_width : node->bit_width * 2u;
        id = width == 8 ? NL_TYPE_TINYINT : width == 16 ? NL_TYPE_SMALLINT : width == 32 ? NL_TYPE_INT : NL_TYPE_BIGINT;
    } else if (node->logical != NL_PARQUET_NO_LOGICAL) {
        return illegal(c, node);
    }
    *type = nl_type_of(id);
    return NULL;
}

static nl_status timestamp_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    if (node->unit == NL_PARQUET_NANOS && !c->options->is_iceberg) {
        if (!c->options->nanos_as_long) return illegal(c, node);
        *type = nl_type_bigint();
        return NULL;
    }
    const bool is_ntz = !node->is_utc && !c->options->timestamp_ntz_disabled;
    *type = nl_type_of(is_ntz ? NL_TYPE_TIMESTAMP_NTZ : NL_TYPE_TIMESTAMP);
    return NULL;
}

static nl_status int64_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    if (node->logical == NL_PARQUET_DECIMAL) return decimal_type(c, node, 18, type);
    if (node->logical == NL_PARQUET_TIMESTAMP) return timestamp_type(c, node, type);
    if (node->logical != NL_PARQUET_NO_LOGICAL && node->logical != NL_PARQUET_INTEGER) return illegal(c, node);
    const bool is_unsigned = node->logical == NL_PARQUET_INTEGER && !node->is_signed;
    *type = is_unsigned ? nl_type_decimal(20, 0) : nl_type_bigint();
    return NULL;
}

static nl_status binary_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    const bool is_text = node->logical == NL_PARQUET_STRING || node->logical == NL_PARQUET_ENUM || node->logical == NL_PARQUET_JSON;
    if (node->logical == NL_PARQUET_DECIMAL) return decimal_type(c, node, NL_DECIMAL_PRECISION_MAX, type);
    if (is_text || (node->logical == NL_PARQUET_NO_LOGICAL && c->options->binary_as_string)) {
        *type = nl_type_string();
        return NULL;
    }
    if (node->logical != NL_PARQUET_NO_LOGICAL && node->logical != NL_PARQUET_BSON) return illegal(c, node);
    *type = nl_type_binary();
    return NULL;
}

static nl_status fixed_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    if (node->logical == NL_PARQUET_DECIMAL) return decimal_type(c, node, NL_DECIMAL_PRECISION_MAX, type);
    if (node->logical == NL_PARQUET_INTERVAL) return unsupported(c, node);
    if (node->logical == NL_PARQUET_UUID && c->options->is_iceberg) {
        *type = nl_type_string();
        return NULL;
    }
    if (node->logical != NL_PARQUET_NO_LOGICAL) return illegal(c, node);
    *type = nl_type_binary();
    return NULL;
}

static nl_status leaf_type(const converter *c, const nl_parquet_node *node, const nl_type **type)
{
    nl_parquet_node plain = *node;
    if (node->logical == NL_PARQUET_UNKNOWN && c->options->is_iceberg) {
        *type = nl_type_of(NL_TYPE_NULL);
        return NULL;
    }
    if (node->logical == NL_PARQUET_UNKNOWN) { /* Spark goes by what all the nulls are stored as */
        plain.logical = NL_PARQUET_NO_LOGICAL;
        node = &plain;
    }
    switch (node->physical) {
    case NL_PARQUET_BOOLEAN: *type = nl_type_boolean(); return NULL;
    case NL_PARQUET_INT32: return int32_type(c, node, type);
    case NL_PARQUET_INT64: return int64_type(c, node, type);
    case NL_PARQUET_INT96: *type = nl_type_of(NL_TYPE_TIMESTAMP); return NULL;
    case NL_PARQUET_FLOAT: *type = nl_type_of(NL_TYPE_FLOAT); return NULL;
    case NL_PARQUET_DOUBLE: *type = nl_type_double(); return NULL;
    case NL_PARQUET_BYTE_ARRAY: return binary_type(c, node, type);
    case NL_PARQUET_FIXED: return fixed_type(c, node, type);
    case NL_PARQUET_PHYSICAL_COUNT: break;
    }
    return illegal(c, node);
}

/* True recursion over the schema, whose depth footer parsing bounds; nl_type's own bound is checked here. */
static nl_status node_type(const converter *c, const nl_parquet_node *node, bool is_element, uint32_t depth, const nl_type **type);

static bool is_nullable(const converter *c, const nl_parquet_node *node)
{
    return !c->options->is_iceberg || node->repetition == NL_PARQUET_OPTIONAL;
}

static nl_field field_of(const converter *c, const nl_parquet_node *node, nl_str name, const nl_type *type)
{
    return (nl_field){.name = name, .type = type, .is_nullable = is_nullable(c, node), .field_id = node->has_field_id ? node->field_id : 0};
}

static nl_status struct_type(const converter *c, const nl_parquet_node *node, uint32_t depth, const nl_type **type)
{
    nl_field *fields = NL_NEW_ARRAY(c->arena, nl_field, node->child_count);
    NL_TRY(nl_arena_check(c->arena));
    for (uint32_t i = 0; i < node->child_count; i++) {
        const nl_type *child = NULL;
        NL_TRY(node_type(c, node->children[i], false, depth, &child));
        fields[i] = field_of(c, node->children[i], node->children[i]->name, child);
        /* A repeated field is a list that is there even when it is empty. */
        if (node->children[i]->repetition == NL_PARQUET_REPEATED && c->options->is_iceberg) fields[i].is_nullable = false;
    }
    *type = nl_type_struct(c->arena, fields, node->child_count);
    return NULL;
}

/* Children of lists and maps keep their field ids; the types nl_type_array and nl_type_map make are made anew for that. */
static const nl_type *with_child_ids(const converter *c, const nl_type *type, const nl_parquet_node *const *nodes)
{
    nl_type *copy = NL_NEW(c->arena, nl_type);
    nl_field *children = NL_NEW_ARRAY(c->arena, nl_field, type->child_count);
    *copy = *type;
    for (uint32_t i = 0; i < type->child_count; i++) {
        children[i] = type->children[i];
        children[i].field_id = nodes[i]->has_field_id ? nodes[i]->field_id : 0;
    }
    copy->children = children;
    return copy;
}

static nl_status group_type(const converter *c, const nl_parquet_node *node, bool is_element, uint32_t depth, const nl_type **type)
{
    nl_parquet_list_shape list;
    nl_parquet_map_shape map;
    const bool is_own_element = is_element && node->repetition == NL_PARQUET_REPEATED && node->logical != NL_PARQUET_LIST;
    if (node->logical == NL_PARQUET_VARIANT) {
        *type = nl_type_of(NL_TYPE_VARIANT);
        return NULL;
    }
    if (!is_own_element && nl_parquet_list_shape_of(node, &list)) {
        const nl_type *element = NULL;
        NL_TRY(node_type(c, list.element, list.element == list.repeated, depth, &element));
        const bool contains_null = list.element != list.repeated && is_nullable(c, list.element);
        *type = with_child_ids(c, nl_type_array(c->arena, element, contains_null), &list.element);
        return NULL;
    }
    if (nl_parquet_map_shape_of(node, &map)) {
        const nl_parquet_node *const nodes[] = {map.key, map.value};
        const nl_type *types[2] = {NULL, NULL};
        NL_TRY(node_type(c, map.key, false, depth, &types[0]));
        NL_TRY(node_type(c, map.value, false, depth, &types[1]));
        *type = with_child_ids(c, nl_type_map(c->arena, types[0], types[1], is_nullable(c, map.value)), nodes);
        return NULL;
    }
    if (node->is_leaf) return leaf_type(c, node, type);
    if (node->logical == NL_PARQUET_LIST || node->logical == NL_PARQUET_MAP) {
        const nl_str text = nl_parquet_node_text(c->arena, node);
        return NL_RAISE(PARQUET_TYPE_NOT_RECOGNIZED, NL_P_STR("field", text));
    }
    return struct_type(c, node, depth, type);
}

static nl_status node_type(const converter *c, const nl_parquet_node *node, bool is_element, uint32_t depth, const nl_type **type)
{
    if (depth >= NL_TYPE_DEPTH_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The schema is nested deeper than %u levels.", NL_TYPE_DEPTH_MAX);
    NL_TRY(group_type(c, node, is_element, depth + 1, type));
    return nl_arena_check(c->arena);
}

nl_status nl_parquet_footer_type(const nl_parquet_footer *footer, const nl_parquet_type_options *options, nl_arena *arena, const nl_type **type)
{
    static const nl_parquet_type_options none;
    const converter c = {.options = options != NULL ? options : &none, .arena = arena};
    return struct_type(&c, footer->root, 0, type);
}
