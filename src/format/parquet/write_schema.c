/* format/parquet/write_schema.c - types as Iceberg's TypeToMessageType lays them out. Source: Iceberg spec, Parquet. */
#include "format/parquet/write_schema.h"

#include "base/decimal.h"
#include "base/limits.h"
#include "format/parquet/thrift.h"

typedef struct maker {
    const nl_parquet_write_options *options;
    nl_arena *arena;
    nl_write_schema *schema;
    uint32_t leaf_capacity;
} maker;

/* The names from the root to a node. */
typedef struct trail {
    const struct trail *above;
    nl_str name;
    uint32_t length;
} trail;

static nl_str *path_of(const maker *m, const trail *at)
{
    nl_str *path = NL_NEW_ARRAY(m->arena, nl_str, at->length);
    for (const trail *step = at; step != NULL; step = step->above) path[step->length - 1] = nl_arena_str(m->arena, step->name);
    return path;
}

static nl_str dotted_path(const maker *m, const nl_str *path, uint32_t length)
{
    nl_str text = path[0];
    for (uint32_t i = 1; i < length; i++) text = nl_arena_f(m->arena, NL_STR_FMT "." NL_STR_FMT, NL_STR_ARG(text), NL_STR_ARG(path[i]));
    return text;
}

static const nl_parquet_column_options *options_of(const maker *m, const nl_write_leaf *leaf)
{
    for (uint32_t i = 0; i < m->options->column_count; i++) {
        const nl_parquet_column_options *column = &m->options->columns[i];
        if (column->field_id != 0 ? column->field_id == leaf->field_id : nl_str_equal(column->path, leaf->dotted)) return column;
    }
    return NULL;
}

/* Bytes that hold every decimal of that precision. */
static uint32_t decimal_bytes(uint32_t precision)
{
    uint32_t bytes = 1;
    while (bytes < 16) {
        const nl_int128 max = ((nl_int128)1 << (8 * bytes - 1)) - 1;
        if (max >= nl_decimal_powers[precision] - 1) break;
        bytes++;
    }
    return bytes;
}

static void set_physical(nl_write_leaf *leaf, nl_parquet_physical physical, uint32_t stride, nl_order order)
{
    leaf->physical = physical;
    leaf->stride = stride;
    leaf->order = order;
}

static nl_status unsupported(const nl_write_leaf *leaf, nl_arena *arena)
{
    const nl_str name = nl_type_sql(arena, leaf->type);
    return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Column " NL_STR_FMT " of type " NL_STR_FMT " cannot be written to Parquet.", NL_STR_ARG(leaf->dotted),
                         NL_STR_ARG(name));
}

static nl_status choose_physical(nl_write_leaf *leaf, const nl_parquet_column_options *column, nl_arena *arena)
{
    const nl_type *type = leaf->type;
    leaf->stored = column != NULL ? column->stored : NL_PARQUET_STORED_DEFAULT;
    const bool is_bytes = type->id == NL_TYPE_STRING || type->id == NL_TYPE_BINARY;
    if (leaf->stored == NL_PARQUET_STORED_UUID || leaf->stored == NL_PARQUET_STORED_FIXED) {
        const uint32_t length = leaf->stored == NL_PARQUET_STORED_UUID ? 16 : column->fixed_length;
        if (!is_bytes || length == 0) return unsupported(leaf, arena);
        set_physical(leaf, NL_PARQUET_FIXED, length, NL_ORDER_BYTES);
        return NULL;
    }
    switch (type->physical) {
    case NL_PHYS_BOOL: set_physical(leaf, NL_PARQUET_BOOLEAN, 1, NL_ORDER_INTEGER); return NULL;
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32: set_physical(leaf, NL_PARQUET_INT32, 4, NL_ORDER_INTEGER); return NULL;
    case NL_PHYS_I64:
        if (type->id == NL_TYPE_DECIMAL && type->precision <= 9)
            set_physical(leaf, NL_PARQUET_INT32, 4, NL_ORDER_INTEGER);
        else
            set_physical(leaf, NL_PARQUET_INT64, 8, NL_ORDER_INTEGER);
        return NULL;
    case NL_PHYS_I128: set_physical(leaf, NL_PARQUET_FIXED, decimal_bytes(type->precision), NL_ORDER_WIDE); return NULL;
    case NL_PHYS_F32: set_physical(leaf, NL_PARQUET_FLOAT, 4, NL_ORDER_REAL); return NULL;
    case NL_PHYS_F64: set_physical(leaf, NL_PARQUET_DOUBLE, 8, NL_ORDER_REAL); return NULL;
    case NL_PHYS_STRING: set_physical(leaf, NL_PARQUET_BYTE_ARRAY, 16, NL_ORDER_BYTES); return NULL;
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return unsupported(leaf, arena);
}

static nl_status add_leaf(maker *m, const trail *at, nl_write_node *node, uint8_t repetition)
{
    nl_write_schema *schema = m->schema;
    if (schema->leaf_count == m->leaf_capacity) {
        const uint32_t capacity = m->leaf_capacity ? m->leaf_capacity * 2 : 16;
        nl_write_leaf *grown = NL_NEW_ARRAY(m->arena, nl_write_leaf, capacity);
        if (schema->leaf_count > 0) memcpy(grown, schema->leaves, schema->leaf_count * sizeof(*grown));
        schema->leaves = grown;
        m->leaf_capacity = capacity;
    }
    node->kind = NL_WRITE_LEAF;
    node->leaf = schema->leaf_count++;
    nl_write_leaf *leaf = &schema->leaves[node->leaf];
    *leaf = (nl_write_leaf){.path = path_of(m, at), .path_length = at->length, .type = node->type, .field_id = node->field_id};
    leaf->dotted = dotted_path(m, leaf->path, leaf->path_length);
    leaf->max_definition = node->definition;
    leaf->max_repetition = repetition;
    const nl_parquet_column_options *column = options_of(m, leaf);
    NL_TRY(choose_physical(leaf, column, m->arena));
    const bool is_boolean = leaf->physical == NL_PARQUET_BOOLEAN;
    leaf->has_statistics = column == NULL || !column->no_statistics;
    leaf->has_dictionary = !is_boolean && !m->options->no_dictionary && (column == NULL || !column->no_dictionary);
    leaf->has_bloom = !is_boolean && column != NULL && column->has_bloom;
    leaf->bloom_fpp = column != NULL && column->bloom_fpp > 0 && column->bloom_fpp < 1 ? column->bloom_fpp : 0.01;
    leaf->bloom_ndv = column != NULL ? column->bloom_ndv : 0;
    return NULL;
}

/* The levels of the place a node stands in. */
typedef struct place {
    uint8_t definition, repetition;
    uint32_t depth;
} place;

/* True recursion over the type; place.depth bounds it, and with it the levels (three a depth at most, below 255). */
static nl_status add_node(maker *m, const nl_field *field, const trail *at, place p, nl_write_node *node);

static nl_status add_children(maker *m, const nl_field *fields, uint32_t count, const trail *at, place p, nl_write_node *node)
{
    node->child_count = count;
    node->children = NL_NEW_ARRAY(m->arena, nl_write_node, count);
    NL_TRY(nl_arena_check(m->arena));
    for (uint32_t i = 0; i < count; i++) {
        const trail step = {.above = at, .name = fields[i].name, .length = at->length + 1};
        NL_TRY(add_node(m, &fields[i], &step, p, &node->children[i]));
    }
    return NULL;
}

static nl_status add_list(maker *m, const trail *at, place p, nl_write_node *node)
{
    const bool is_map = node->type->id == NL_TYPE_MAP;
    const nl_field *from = node->type->children;
    nl_field fields[2] = {from[0], is_map ? from[1] : from[0]};
    fields[0].name = is_map ? NL_STR("key") : NL_STR("element");
    fields[1].name = NL_STR("value");
    fields[0].is_nullable = !is_map && node->type->contains_null;
    fields[1].is_nullable = node->type->contains_null;
    node->kind = NL_WRITE_LIST;
    p.definition++;
    p.repetition++;
    node->repetition = p.repetition;
    m->schema->element_count++; /* the repeated group */
    const trail step = {.above = at, .name = is_map ? NL_STR("key_value") : NL_STR("list"), .length = at->length + 1};
    return add_children(m, fields, is_map ? 2 : 1, &step, p, node);
}

static nl_status add_struct(maker *m, const trail *at, place p, nl_write_node *node)
{
    static const nl_str names[2] = {NL_STR_INIT("metadata"), NL_STR_INIT("value")};
    node->kind = NL_WRITE_STRUCT;
    if (node->type->id == NL_TYPE_STRUCT) return add_children(m, node->type->children, node->type->child_count, at, p, node);
    const nl_field parts[2] = {{.name = names[0], .type = nl_type_binary()}, {.name = names[1], .type = nl_type_binary()}};
    return add_children(m, parts, 2, at, p, node);
}

static nl_status add_node(maker *m, const nl_field *field, const trail *at, place p, nl_write_node *node)
{
    if (++p.depth > NL_TYPE_DEPTH_MAX) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The schema is nested deeper than %u levels.", NL_TYPE_DEPTH_MAX);
    *node = (nl_write_node){.type = field->type, .name = nl_arena_str(m->arena, field->name), .field_id = field->field_id, .is_nullable = field->is_nullable};
    if (field->type->id == NL_TYPE_NULL) {
        node->kind = NL_WRITE_NOTHING;
        return NULL;
    }
    m->schema->element_count++;
    p.definition = (uint8_t)(p.definition + field->is_nullable);
    node->definition = p.definition;
    const nl_type_id id = field->type->id;
    if (id == NL_TYPE_ARRAY || id == NL_TYPE_MAP) return add_list(m, at, p, node);
    if (id == NL_TYPE_STRUCT || id == NL_TYPE_VARIANT) return add_struct(m, at, p, node);
    return add_leaf(m, at, node, p.repetition);
}

nl_status nl_write_schema_make(const nl_type *type, const nl_parquet_write_options *options, nl_arena *arena, nl_write_schema *schema)
{
    NL_ASSERT(type->id == NL_TYPE_STRUCT);
    *schema = (nl_write_schema){.column_count = type->child_count, .element_count = 1};
    schema->columns = NL_NEW_ARRAY(arena, nl_write_node, type->child_count);
    maker m = {.options = options, .arena = arena, .schema = schema};
    for (uint32_t i = 0; i < type->child_count; i++) {
        const trail step = {.name = type->children[i].name, .length = 1};
        NL_TRY(add_node(&m, &type->children[i], &step, (place){0}, &schema->columns[i]));
    }
    return nl_arena_check(arena);
}

/* ---- Thrift ---- */

/* What a leaf or group means, in the new form and, where it has one, the old. */
typedef struct annotation {
    int16_t logical; /* field of the LogicalType union; 0: none */
    int32_t converted; /* -1: none */
    int32_t precision, scale;
    int8_t bit_width;
    bool is_utc, is_nanos;
} annotation;

static annotation annotation_of(const nl_write_node *node, const nl_write_leaf *leaf)
{
    const annotation none = {.converted = -1};
    if (node->kind == NL_WRITE_LIST) return node->type->id == NL_TYPE_MAP ? (annotation){.logical = 2, .converted = 1} : (annotation){.logical = 3, .converted = 3};
    if (node->kind == NL_WRITE_STRUCT) return node->type->id == NL_TYPE_VARIANT ? (annotation){.logical = 16, .converted = -1} : none;
    switch (leaf->stored) {
    case NL_PARQUET_STORED_UUID: return (annotation){.logical = 14, .converted = -1};
    case NL_PARQUET_STORED_FIXED: return none;
    case NL_PARQUET_STORED_TIME_MICROS: return (annotation){.logical = 7, .converted = -1};
    case NL_PARQUET_STORED_TIMESTAMP_NANOS:
        return (annotation){.logical = 8, .converted = -1, .is_nanos = true, .is_utc = node->type->id == NL_TYPE_TIMESTAMP};
    case NL_PARQUET_STORED_DEFAULT: break;
    }
    static const annotation by_type[NL_TYPE_COUNT] = {
        [NL_TYPE_TINYINT] = {.logical = 10, .converted = 15, .bit_width = 8},
        [NL_TYPE_SMALLINT] = {.logical = 10, .converted = 16, .bit_width = 16},
        [NL_TYPE_DECIMAL] = {.logical = 5, .converted = 5},
        [NL_TYPE_STRING] = {.logical = 1, .converted = 0},
        [NL_TYPE_DATE] = {.logical = 6, .converted = 6},
        [NL_TYPE_TIMESTAMP] = {.logical = 8, .converted = 10, .is_utc = true},
        [NL_TYPE_TIMESTAMP_NTZ] = {.logical = 8, .converted = -1}, /* the old annotation would mean UTC */
    };
    annotation a = by_type[node->type->id];
    if (a.logical == 0) return none;
    a.precision = node->type->precision;
    a.scale = node->type->scale;
    return a;
}

static void put_time_unit(nl_builder *out, int16_t *last, bool is_nanos)
{
    int16_t unit = 0;
    nl_thrift_put_struct(out, last, 2);
    nl_thrift_put_empty_struct(out, &unit, is_nanos ? 3 : 2);
    nl_thrift_end(out);
}

static void put_logical(const annotation *a, nl_builder *out, int16_t *last)
{
    int16_t member = 0;
    int16_t inner = 0;
    nl_thrift_put_struct(out, last, 10);
    nl_thrift_put_struct(out, &member, a->logical);
    if (a->logical == 5) {
        nl_thrift_put_i32(out, &inner, 1, a->scale);
        nl_thrift_put_i32(out, &inner, 2, a->precision);
    } else if (a->logical == 7 || a->logical == 8) {
        nl_thrift_put_bool(out, &inner, 1, a->is_utc);
        put_time_unit(out, &inner, a->is_nanos);
    } else if (a->logical == 10) {
        nl_thrift_put_i8(out, &inner, 1, a->bit_width);
        nl_thrift_put_bool(out, &inner, 2, true);
    } else if (a->logical == 16) {
        nl_thrift_put_i8(out, &inner, 1, 1); /* the variant specification's version */
    }
    nl_thrift_end(out);
    nl_thrift_end(out);
}

static void put_group(nl_builder *out, nl_str name, nl_parquet_repetition repetition, uint32_t child_count)
{
    int16_t last = 0;
    nl_thrift_put_i32(out, &last, 3, (int32_t)repetition);
    nl_thrift_put_str(out, &last, 4, name);
    nl_thrift_put_i32(out, &last, 5, (int32_t)child_count);
    nl_thrift_end(out);
}

static uint32_t written_children(const nl_write_node *children, uint32_t count)
{
    uint32_t written = 0;
    for (uint32_t i = 0; i < count; i++) written += children[i].kind != NL_WRITE_NOTHING;
    return written;
}

/* True recursion; the tree's depth was bounded when it was made. */
static void put_node(const nl_write_schema *schema, const nl_write_node *node, nl_builder *out)
{
    if (node->kind == NL_WRITE_NOTHING) return;
    const nl_write_leaf *leaf = node->kind == NL_WRITE_LEAF ? &schema->leaves[node->leaf] : NULL;
    const annotation a = annotation_of(node, leaf);
    int16_t last = 0;
    if (leaf != NULL) nl_thrift_put_i32(out, &last, 1, (int32_t)leaf->physical);
    if (leaf != NULL && leaf->physical == NL_PARQUET_FIXED) nl_thrift_put_i32(out, &last, 2, (int32_t)leaf->stride);
    nl_thrift_put_i32(out, &last, 3, node->is_nullable ? NL_PARQUET_OPTIONAL : NL_PARQUET_REQUIRED);
    nl_thrift_put_str(out, &last, 4, node->name);
    if (node->kind == NL_WRITE_LIST) nl_thrift_put_i32(out, &last, 5, 1);
    if (node->kind == NL_WRITE_STRUCT) nl_thrift_put_i32(out, &last, 5, (int32_t)written_children(node->children, node->child_count));
    if (a.converted >= 0) nl_thrift_put_i32(out, &last, 6, a.converted);
    if (a.converted == 5) {
        nl_thrift_put_i32(out, &last, 7, a.scale);
        nl_thrift_put_i32(out, &last, 8, a.precision);
    }
    if (node->field_id != 0) nl_thrift_put_i32(out, &last, 9, node->field_id);
    if (a.logical != 0) put_logical(&a, out, &last);
    nl_thrift_end(out);
    if (node->kind == NL_WRITE_LIST)
        put_group(out, node->type->id == NL_TYPE_MAP ? NL_STR("key_value") : NL_STR("list"), NL_PARQUET_REPEATED, node->child_count);
    for (uint32_t i = 0; i < node->child_count; i++) put_node(schema, &node->children[i], out);
}

void nl_write_schema_put(const nl_write_schema *schema, nl_str root_name, nl_builder *out)
{
    int16_t last = 0;
    nl_thrift_put_str(out, &last, 4, root_name);
    nl_thrift_put_i32(out, &last, 5, (int32_t)written_children(schema->columns, schema->column_count));
    nl_thrift_end(out);
    for (uint32_t i = 0; i < schema->column_count; i++) put_node(schema, &schema->columns[i], out);
}
