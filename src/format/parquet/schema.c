/* format/parquet/schema.c - schema elements come depth first, each with its number of children.
 *
 * Source: parquet.thrift, SchemaElement, LogicalType, ConvertedType; LogicalTypes.md for what old files mean.
 */
#include "format/parquet/schema.h"

#include "base/limits.h"
#include "format/parquet/thrift.h"

/* A level of nl_type is at most three of Parquet's (a list's group, its repeated group, the element). */
#define SCHEMA_DEPTH_MAX (3 * NL_TYPE_DEPTH_MAX)

/* One element as it lies in the file, before the tree is known. */
typedef struct element {
    nl_parquet_node *node;
    int32_t child_count;
    int32_t converted;
    bool has_physical;
    bool has_logical;
} element;

typedef struct builder {
    nl_cursor *in;
    nl_arena *arena;
    element *elements;
    uint32_t count;
    uint32_t next;
    const nl_parquet_node **leaves;
    uint32_t leaf_count;
    bool has_field_ids;
} builder;

static void read_unit(nl_cursor *in, nl_parquet_node *node)
{
    nl_thrift_field field = {0};
    while (nl_thrift_next(in, &field)) {
        if (field.id >= 1 && field.id <= 3) node->unit = (nl_parquet_unit)(field.id - 1);
        nl_thrift_skip(in, &field);
    }
}

static void read_time(nl_cursor *in, nl_parquet_node *node)
{
    nl_thrift_field field = {0};
    while (nl_thrift_next(in, &field)) {
        if (field.id == 1)
            (void)nl_thrift_bool(in, &field, &node->is_utc);
        else if (field.id == 2 && nl_thrift_is_struct(in, &field))
            read_unit(in, node);
        else if (field.id != 2)
            nl_thrift_skip(in, &field);
    }
}

static void read_decimal(nl_cursor *in, int32_t *precision, int32_t *scale)
{
    nl_thrift_field field = {0};
    while (nl_thrift_next(in, &field)) {
        if (field.id == 1)
            (void)nl_thrift_i32(in, &field, scale);
        else if (field.id == 2)
            (void)nl_thrift_i32(in, &field, precision);
        else
            nl_thrift_skip(in, &field);
    }
}

static void read_integer(nl_cursor *in, nl_parquet_node *node)
{
    nl_thrift_field field = {0};
    int32_t width = 0;
    while (nl_thrift_next(in, &field)) {
        if (field.id == 1)
            (void)nl_thrift_i32(in, &field, &width);
        else if (field.id == 2)
            (void)nl_thrift_bool(in, &field, &node->is_signed);
        else
            nl_thrift_skip(in, &field);
    }
    node->bit_width = (uint8_t)width;
}

static nl_parquet_logical logical_of_field(int16_t id)
{
    static const nl_parquet_logical kinds[] = {
        [1] = NL_PARQUET_STRING,     [2] = NL_PARQUET_MAP,       [3] = NL_PARQUET_LIST,      [4] = NL_PARQUET_ENUM,
        [5] = NL_PARQUET_DECIMAL,    [6] = NL_PARQUET_DATE,      [7] = NL_PARQUET_TIME,      [8] = NL_PARQUET_TIMESTAMP,
        [9] = NL_PARQUET_OTHER,      [10] = NL_PARQUET_INTEGER,  [11] = NL_PARQUET_UNKNOWN,  [12] = NL_PARQUET_JSON,
        [13] = NL_PARQUET_BSON,      [14] = NL_PARQUET_UUID,     [15] = NL_PARQUET_FLOAT16,  [16] = NL_PARQUET_VARIANT,
        [17] = NL_PARQUET_GEOMETRY,  [18] = NL_PARQUET_GEOGRAPHY,
    };
    return id >= 1 && id < (int16_t)NL_COUNT(kinds) ? kinds[id] : NL_PARQUET_OTHER;
}

/* The logical type is a union: a struct with one field, whose value is a struct too. */
static void read_logical(nl_cursor *in, nl_parquet_node *node, int32_t *precision, int32_t *scale)
{
    nl_thrift_field field = {0};
    while (nl_thrift_next(in, &field)) {
        node->logical = logical_of_field(field.id);
        if (!nl_thrift_is_struct(in, &field)) continue;
        if (node->logical == NL_PARQUET_DECIMAL) {
            read_decimal(in, precision, scale);
        } else if (node->logical == NL_PARQUET_TIME || node->logical == NL_PARQUET_TIMESTAMP) {
            read_time(in, node);
        } else if (node->logical == NL_PARQUET_INTEGER) {
            read_integer(in, node);
        } else {
            nl_thrift_field inner = {0};
            while (nl_thrift_next(in, &inner)) nl_thrift_skip(in, &inner);
        }
    }
}

static void set_integer(nl_parquet_node *node, uint8_t bit_width, bool is_signed)
{
    node->logical = NL_PARQUET_INTEGER;
    node->bit_width = bit_width;
    node->is_signed = is_signed;
}

static void set_time(nl_parquet_node *node, nl_parquet_logical logical, nl_parquet_unit unit)
{
    node->logical = logical;
    node->unit = unit;
    node->is_utc = true; /* LogicalTypes.md: the old annotations are UTC-adjusted */
}

static void apply_converted(nl_parquet_node *node, int32_t converted)
{
    static const nl_parquet_logical plain[] = {
        [0] = NL_PARQUET_STRING, [1] = NL_PARQUET_MAP,     [2] = NL_PARQUET_MAP,  [3] = NL_PARQUET_LIST,
        [4] = NL_PARQUET_ENUM,   [5] = NL_PARQUET_DECIMAL, [6] = NL_PARQUET_DATE,
    };
    if (converted < 0) return;
    if (converted <= 6)
        node->logical = plain[converted];
    else if (converted == 7 || converted == 8)
        set_time(node, NL_PARQUET_TIME, converted == 7 ? NL_PARQUET_MILLIS : NL_PARQUET_MICROS);
    else if (converted == 9 || converted == 10)
        set_time(node, NL_PARQUET_TIMESTAMP, converted == 9 ? NL_PARQUET_MILLIS : NL_PARQUET_MICROS);
    else if (converted <= 14)
        set_integer(node, (uint8_t)(8 << (converted - 11)), false);
    else if (converted <= 18)
        set_integer(node, (uint8_t)(8 << (converted - 15)), true);
    else if (converted <= 21)
        node->logical = converted == 19 ? NL_PARQUET_JSON : converted == 20 ? NL_PARQUET_BSON : NL_PARQUET_INTERVAL;
    else
        node->logical = NL_PARQUET_OTHER;
}

static nl_status check_leaf(const builder *b, const nl_parquet_node *node, int32_t precision, int32_t scale)
{
    if (node->physical >= NL_PARQUET_PHYSICAL_COUNT)
        return nl_cursor_corrupt(b->in, "column " NL_STR_FMT " has an unknown physical type", NL_STR_ARG(node->name));
    if (node->physical == NL_PARQUET_FIXED && (node->type_length == 0 || node->type_length > NL_VALUE_BYTES_MAX))
        return nl_cursor_corrupt(b->in, "column " NL_STR_FMT " has values of %u bytes", NL_STR_ARG(node->name), node->type_length);
    if (node->logical == NL_PARQUET_DECIMAL && (precision < 1 || scale < 0 || scale > precision || precision > 255))
        return nl_cursor_corrupt(b->in, "column " NL_STR_FMT " is a decimal(%d,%d)", NL_STR_ARG(node->name), precision, scale);
    return NULL;
}

static nl_status read_element(builder *b, element *e)
{
    nl_cursor *in = b->in;
    nl_parquet_node *node = NL_NEW(b->arena, nl_parquet_node);
    *e = (element){.node = node, .converted = -1};
    int32_t physical = -1;
    int32_t length = 0;
    int32_t repetition = 0;
    int32_t precision = 0;
    int32_t scale = 0;
    nl_bytes name = {0};
    node->is_signed = true;
    nl_thrift_field field = {0};
    while (nl_thrift_next(in, &field)) {
        switch (field.id) {
        case 1: e->has_physical = nl_thrift_i32(in, &field, &physical); break;
        case 2: (void)nl_thrift_i32(in, &field, &length); break;
        case 3: (void)nl_thrift_i32(in, &field, &repetition); break;
        case 4: (void)nl_thrift_binary(in, &field, &name); break;
        case 5: (void)nl_thrift_i32(in, &field, &e->child_count); break;
        case 6: (void)nl_thrift_i32(in, &field, &e->converted); break;
        case 7: (void)nl_thrift_i32(in, &field, &scale); break;
        case 8: (void)nl_thrift_i32(in, &field, &precision); break;
        case 9: node->has_field_id = nl_thrift_i32(in, &field, &node->field_id); break;
        case 10:
            e->has_logical = nl_thrift_is_struct(in, &field);
            if (e->has_logical) read_logical(in, node, &precision, &scale);
            break;
        default: nl_thrift_skip(in, &field);
        }
    }
    NL_TRY(nl_cursor_status(in));
    if (repetition < 0 || repetition > 2) return nl_cursor_corrupt(in, "a schema element has repetition %d", repetition);
    node->name = (nl_str){(const char *)name.data, name.length};
    node->repetition = (nl_parquet_repetition)repetition;
    node->is_leaf = e->child_count == 0 && e->has_physical;
    node->physical = (nl_parquet_physical)(physical < 0 ? NL_PARQUET_PHYSICAL_COUNT : physical);
    node->type_length = length < 0 ? 0 : (uint32_t)length;
    if (!e->has_logical || node->logical == NL_PARQUET_OTHER) apply_converted(node, e->converted);
    b->has_field_ids |= node->has_field_id;
    if (!node->is_leaf) return NULL;
    NL_TRY(check_leaf(b, node, precision, scale));
    node->precision = (uint8_t)precision;
    node->scale = (uint8_t)scale;
    return NULL;
}

/* True recursion over the tree; SCHEMA_DEPTH_MAX bounds it. */
static nl_status link_node(builder *b, const nl_parquet_node *parent, uint32_t child_index, uint32_t depth, nl_parquet_node **out)
{
    if (depth > SCHEMA_DEPTH_MAX) return nl_cursor_corrupt(b->in, "the schema is nested deeper than %u levels", SCHEMA_DEPTH_MAX);
    if (b->next >= b->count) return nl_cursor_corrupt(b->in, "the schema announces more columns than it has");
    const element *e = &b->elements[b->next++];
    nl_parquet_node *node = e->node;
    node->parent = parent;
    node->child_index = child_index;
    if (parent != NULL) { /* the root has no levels, whatever it announces */
        node->max_definition = (uint16_t)(parent->max_definition + (node->repetition != NL_PARQUET_REQUIRED));
        node->max_repetition = (uint16_t)(parent->max_repetition + (node->repetition == NL_PARQUET_REPEATED));
    }
    node->first_leaf = b->leaf_count;
    if (node->is_leaf && parent != NULL) {
        b->leaves[b->leaf_count++] = node;
    } else {
        if (e->child_count < 0 || (uint32_t)e->child_count > b->count - b->next)
            return nl_cursor_corrupt(b->in, "the schema announces more columns than it has");
        node->child_count = (uint32_t)e->child_count;
        nl_parquet_node **children = NL_NEW_ARRAY(b->arena, nl_parquet_node *, node->child_count);
        node->children = children;
        for (uint32_t i = 0; i < node->child_count; i++) NL_TRY(link_node(b, node, i, depth + 1, &children[i]));
    }
    node->leaf_count = b->leaf_count - node->first_leaf;
    *out = node;
    return nl_arena_check(b->arena);
}

nl_status nl_parquet_schema_read(nl_cursor *in, uint32_t count, nl_arena *arena, nl_parquet_footer *footer)
{
    builder b = {.in = in, .arena = arena, .count = count};
    if (count == 0) return nl_cursor_corrupt(in, "the schema is empty");
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(sizeof(element), count), &memory));
    b.elements = memory;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(sizeof(*b.leaves), count), &memory));
    b.leaves = memory;
    for (uint32_t i = 0; i < count; i++) {
        NL_TRY(read_element(&b, &b.elements[i]));
        NL_TRY(nl_arena_check(arena));
    }
    nl_parquet_node *root = NULL;
    NL_TRY(link_node(&b, NULL, 0, 0, &root));
    if (b.next != count) return nl_cursor_corrupt(in, "the schema has more elements than its tree");
    footer->root = root;
    footer->leaves = b.leaves;
    footer->leaf_count = b.leaf_count;
    footer->has_field_ids = b.has_field_ids;
    return NULL;
}
