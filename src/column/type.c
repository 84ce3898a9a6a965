/* column/type.c - Spark's types: singletons, constructors, comparison.
 *
 * Types without parameters, all decimals and all interval ranges are entries of static const tables, so they may be
 * compared by pointer as a shortcut and never need an arena. Their printed forms are in type_text.c.
 */
#include "column/type.h"

#define SIMPLE(type_id, phys) [type_id] = {.id = type_id, .physical = phys}

static const nl_type simple_types[NL_TYPE_COUNT] = {
    SIMPLE(NL_TYPE_NULL, NL_PHYS_NONE),
    SIMPLE(NL_TYPE_BOOLEAN, NL_PHYS_BOOL),
    SIMPLE(NL_TYPE_TINYINT, NL_PHYS_I8),
    SIMPLE(NL_TYPE_SMALLINT, NL_PHYS_I16),
    SIMPLE(NL_TYPE_INT, NL_PHYS_I32),
    SIMPLE(NL_TYPE_BIGINT, NL_PHYS_I64),
    SIMPLE(NL_TYPE_FLOAT, NL_PHYS_F32),
    SIMPLE(NL_TYPE_DOUBLE, NL_PHYS_F64),
    SIMPLE(NL_TYPE_STRING, NL_PHYS_STRING),
    SIMPLE(NL_TYPE_BINARY, NL_PHYS_STRING),
    SIMPLE(NL_TYPE_DATE, NL_PHYS_I32),
    SIMPLE(NL_TYPE_TIMESTAMP, NL_PHYS_I64),
    SIMPLE(NL_TYPE_TIMESTAMP_NTZ, NL_PHYS_I64),
    SIMPLE(NL_TYPE_INTERVAL, NL_PHYS_INTERVAL),
    SIMPLE(NL_TYPE_VARIANT, NL_PHYS_STRUCT),
};

#define YM(start, end)                                                                                   \
    {                                                                                                    \
        .id = NL_TYPE_INTERVAL_YM, .physical = NL_PHYS_I32, .start_field = (start), .end_field = (end)   \
    }
#define DT(start, end)                                                                                   \
    {                                                                                                    \
        .id = NL_TYPE_INTERVAL_DT, .physical = NL_PHYS_I64, .start_field = (start), .end_field = (end)   \
    }

/* Indexed [start - YEAR][end - YEAR]; entries with end before start are never handed out. */
static const nl_type interval_ym_types[2][2] = {
    {YM(NL_FIELD_YEAR, NL_FIELD_YEAR), YM(NL_FIELD_YEAR, NL_FIELD_MONTH)},
    {YM(NL_FIELD_MONTH, NL_FIELD_MONTH), YM(NL_FIELD_MONTH, NL_FIELD_MONTH)},
};

/* Indexed [start - DAY][end - DAY]. */
#define DT_ROW(start)                                                                  \
    {                                                                                  \
        DT(start, NL_FIELD_DAY), DT(start, NL_FIELD_HOUR), DT(start, NL_FIELD_MINUTE), DT(start, NL_FIELD_SECOND) \
    }
static const nl_type interval_dt_types[4][4] = {
    DT_ROW(NL_FIELD_DAY),
    DT_ROW(NL_FIELD_HOUR),
    DT_ROW(NL_FIELD_MINUTE),
    DT_ROW(NL_FIELD_SECOND),
};

/* Indexed [precision][scale]; the physical form changes above 18 digits, where int64 ends. */
#define DECIMAL(p, s)                                                                                             \
    {                                                                                                             \
        .id = NL_TYPE_DECIMAL, .physical = (p) <= 18 ? NL_PHYS_I64 : NL_PHYS_I128, .precision = (p), .scale = (s) \
    }
#define DECIMAL_10(p, s)                                                                                           \
    DECIMAL(p, (s)), DECIMAL(p, (s) + 1), DECIMAL(p, (s) + 2), DECIMAL(p, (s) + 3), DECIMAL(p, (s) + 4),           \
        DECIMAL(p, (s) + 5), DECIMAL(p, (s) + 6), DECIMAL(p, (s) + 7), DECIMAL(p, (s) + 8), DECIMAL(p, (s) + 9)
#define DECIMAL_ROW(p) {DECIMAL_10(p, 0), DECIMAL_10(p, 10), DECIMAL_10(p, 20), DECIMAL_10(p, 30)}
static const nl_type decimal_types[39][40] = {
    DECIMAL_ROW(0),  DECIMAL_ROW(1),  DECIMAL_ROW(2),  DECIMAL_ROW(3),  DECIMAL_ROW(4),  DECIMAL_ROW(5),
    DECIMAL_ROW(6),  DECIMAL_ROW(7),  DECIMAL_ROW(8),  DECIMAL_ROW(9),  DECIMAL_ROW(10), DECIMAL_ROW(11),
    DECIMAL_ROW(12), DECIMAL_ROW(13), DECIMAL_ROW(14), DECIMAL_ROW(15), DECIMAL_ROW(16), DECIMAL_ROW(17),
    DECIMAL_ROW(18), DECIMAL_ROW(19), DECIMAL_ROW(20), DECIMAL_ROW(21), DECIMAL_ROW(22), DECIMAL_ROW(23),
    DECIMAL_ROW(24), DECIMAL_ROW(25), DECIMAL_ROW(26), DECIMAL_ROW(27), DECIMAL_ROW(28), DECIMAL_ROW(29),
    DECIMAL_ROW(30), DECIMAL_ROW(31), DECIMAL_ROW(32), DECIMAL_ROW(33), DECIMAL_ROW(34), DECIMAL_ROW(35),
    DECIMAL_ROW(36), DECIMAL_ROW(37), DECIMAL_ROW(38),
};

const nl_type *nl_type_of(nl_type_id id)
{
    NL_ASSERT(id < NL_TYPE_COUNT);
    NL_ASSERT(id != NL_TYPE_DECIMAL && id != NL_TYPE_ARRAY && id != NL_TYPE_MAP && id != NL_TYPE_STRUCT);
    if (id == NL_TYPE_INTERVAL_YM) return nl_type_interval_ym(NL_FIELD_YEAR, NL_FIELD_MONTH);
    if (id == NL_TYPE_INTERVAL_DT) return nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_SECOND);
    return &simple_types[id];
}

const nl_type *nl_type_decimal(int precision, int scale)
{
    NL_ASSERT(precision >= 1 && precision <= 38);
    NL_ASSERT(scale >= 0 && scale <= precision);
    return &decimal_types[precision][scale];
}

const nl_type *nl_type_interval_ym(nl_interval_field start, nl_interval_field end)
{
    NL_ASSERT(start <= end && end <= NL_FIELD_MONTH);
    return &interval_ym_types[start - NL_FIELD_YEAR][end - NL_FIELD_YEAR];
}

const nl_type *nl_type_interval_dt(nl_interval_field start, nl_interval_field end)
{
    NL_ASSERT(start >= NL_FIELD_DAY && start <= end && end <= NL_FIELD_SECOND);
    return &interval_dt_types[start - NL_FIELD_DAY][end - NL_FIELD_DAY];
}

const nl_type *nl_type_char(nl_arena *arena, nl_string_kind kind, uint32_t length)
{
    nl_type *type = NL_NEW(arena, nl_type);
    *type = (nl_type){.id = NL_TYPE_STRING, .physical = NL_PHYS_STRING, .string_kind = (uint8_t)kind, .length = length};
    return type;
}

const nl_type *nl_type_collated(nl_arena *arena, nl_str collation)
{
    if (collation.length == 0 || nl_str_is(collation, "UTF8_BINARY")) return nl_type_string();
    nl_type *type = NL_NEW(arena, nl_type);
    *type = (nl_type){
        .id = NL_TYPE_STRING, .physical = NL_PHYS_STRING, .collation = nl_arena_str(arena, collation)};
    return type;
}

const nl_type *nl_type_array(nl_arena *arena, const nl_type *element, bool contains_null)
{
    nl_field *children = NL_NEW_ARRAY(arena, nl_field, 1);
    children[0] = (nl_field){.name = NL_STR("element"), .type = element, .is_nullable = contains_null};
    nl_type *type = NL_NEW(arena, nl_type);
    *type = (nl_type){.id = NL_TYPE_ARRAY,
                      .physical = NL_PHYS_LIST,
                      .contains_null = contains_null,
                      .child_count = 1,
                      .children = children};
    return type;
}

const nl_type *nl_type_map(nl_arena *arena, const nl_type *key, const nl_type *value, bool value_contains_null)
{
    nl_field *children = NL_NEW_ARRAY(arena, nl_field, 2);
    children[0] = (nl_field){.name = NL_STR("key"), .type = key};
    children[1] = (nl_field){.name = NL_STR("value"), .type = value, .is_nullable = value_contains_null};
    nl_type *type = NL_NEW(arena, nl_type);
    *type = (nl_type){.id = NL_TYPE_MAP,
                      .physical = NL_PHYS_LIST,
                      .contains_null = value_contains_null,
                      .child_count = 2,
                      .children = children};
    return type;
}

const nl_type *nl_type_struct(nl_arena *arena, const nl_field *fields, uint32_t field_count)
{
    nl_field *children = NL_NEW_ARRAY(arena, nl_field, field_count);
    for (uint32_t i = 0; i < field_count; i++) {
        children[i] = fields[i];
        children[i].name = nl_arena_str(arena, fields[i].name);
        children[i].comment = fields[i].comment.length ? nl_arena_str(arena, fields[i].comment) : (nl_str){NULL, 0};
        children[i].metadata = fields[i].metadata.length ? nl_arena_str(arena, fields[i].metadata) : (nl_str){NULL, 0};
    }
    nl_type *type = NL_NEW(arena, nl_type);
    *type = (nl_type){
        .id = NL_TYPE_STRUCT, .physical = NL_PHYS_STRUCT, .child_count = field_count, .children = children};
    return type;
}

/* Depth is bounded by NL_TYPE_DEPTH_MAX, which parsers of types enforce. */
const nl_type *nl_type_copy(nl_arena *arena, const nl_type *type)
{
    switch (type->id) {
    case NL_TYPE_DECIMAL:
        return nl_type_decimal(type->precision, type->scale);
    case NL_TYPE_INTERVAL_YM:
        return nl_type_interval_ym(type->start_field, type->end_field);
    case NL_TYPE_INTERVAL_DT:
        return nl_type_interval_dt(type->start_field, type->end_field);
    case NL_TYPE_STRING:
        if (type->string_kind != NL_STRING_PLAIN) return nl_type_char(arena, type->string_kind, type->length);
        return nl_type_collated(arena, type->collation);
    case NL_TYPE_ARRAY:
    case NL_TYPE_MAP:
    case NL_TYPE_STRUCT: {
        const nl_type *shallow = nl_type_struct(arena, type->children, type->child_count);
        nl_type *copy = NL_NEW(arena, nl_type);
        *copy = *type;
        nl_field *children = (nl_field *)(uintptr_t)shallow->children; /* made just above, not yet shared */
        for (uint32_t i = 0; i < type->child_count; i++)
            children[i].type = nl_type_copy(arena, type->children[i].type);
        copy->children = children;
        return copy;
    }
    case NL_TYPE_NULL:
    case NL_TYPE_BOOLEAN:
    case NL_TYPE_TINYINT:
    case NL_TYPE_SMALLINT:
    case NL_TYPE_INT:
    case NL_TYPE_BIGINT:
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE:
    case NL_TYPE_BINARY:
    case NL_TYPE_DATE:
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ:
    case NL_TYPE_INTERVAL:
    case NL_TYPE_VARIANT:
    case NL_TYPE_COUNT:
        break;
    }
    return nl_type_of(type->id);
}

static bool types_equal(const nl_type *a, const nl_type *b, bool with_nullability)
{
    if (a == b) return true;
    const bool is_decimal = a->id == NL_TYPE_DECIMAL; /* what a timestamp shows is no part of what it is */
    if (a->id != b->id || (is_decimal && a->precision != b->precision) || a->scale != b->scale || a->start_field != b->start_field ||
        a->end_field != b->end_field || a->string_kind != b->string_kind || a->length != b->length ||
        a->child_count != b->child_count || !nl_str_equal(a->collation, b->collation))
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (a->id == NL_TYPE_STRUCT && !nl_str_equal(a->children[i].name, b->children[i].name)) return false;
        if (with_nullability && a->children[i].is_nullable != b->children[i].is_nullable) return false;
        if (!types_equal(a->children[i].type, b->children[i].type, with_nullability)) return false;
    }
    return true;
}

bool nl_type_equal(const nl_type *a, const nl_type *b)
{
    return types_equal(a, b, false);
}

bool nl_type_equal_with_nullability(const nl_type *a, const nl_type *b)
{
    return types_equal(a, b, true);
}

bool nl_type_has_same_structure(const nl_type *a, const nl_type *b)
{
    if (!nl_type_is_nested(a)) return nl_type_equal(a, b);
    if (a->id != b->id || a->child_count != b->child_count) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (!nl_type_has_same_structure(a->children[i].type, b->children[i].type)) return false;
    return true;
}

bool nl_type_is_integral(const nl_type *type)
{
    return type->id >= NL_TYPE_TINYINT && type->id <= NL_TYPE_BIGINT;
}

bool nl_type_is_numeric(const nl_type *type)
{
    return type->id >= NL_TYPE_TINYINT && type->id <= NL_TYPE_DECIMAL;
}

bool nl_type_is_string(const nl_type *type)
{
    return type->id == NL_TYPE_STRING;
}

bool nl_type_is_nested(const nl_type *type)
{
    return type->id == NL_TYPE_ARRAY || type->id == NL_TYPE_MAP || type->id == NL_TYPE_STRUCT;
}

bool nl_type_is_orderable(const nl_type *type)
{
    if (type->id == NL_TYPE_MAP || type->id == NL_TYPE_VARIANT || type->id == NL_TYPE_INTERVAL) return false;
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (!nl_type_is_orderable(type->children[i].type)) return false;
    }
    return true;
}

uint32_t nl_physical_size(nl_physical physical)
{
    static const uint8_t sizes[] = {
        [NL_PHYS_NONE] = 0,  [NL_PHYS_BOOL] = 1,    [NL_PHYS_I8] = 1,        [NL_PHYS_I16] = 2, [NL_PHYS_I32] = 4,
        [NL_PHYS_I64] = 8,   [NL_PHYS_I128] = 16,   [NL_PHYS_F32] = 4,       [NL_PHYS_F64] = 8, [NL_PHYS_STRING] = 16,
        [NL_PHYS_INTERVAL] = 16, [NL_PHYS_LIST] = 8, [NL_PHYS_STRUCT] = 0,
    };
    NL_ASSERT(physical < NL_COUNT(sizes));
    return sizes[physical];
}
