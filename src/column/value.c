/* column/value.c - one value outside of vectors; its text is in value_text.c. */
#include "column/value.h"

#include "base/hash.h"
#include "column/vector_internal.h"

nl_value nl_value_null(const nl_type *type)
{
    return (nl_value){.type = type, .is_null = true};
}

nl_value nl_value_int(const nl_type *type, int64_t value)
{
    return (nl_value){.type = type, .integer = value};
}

nl_value nl_value_string(nl_str text)
{
    return (nl_value){.type = nl_type_string(), .text = text};
}

nl_value nl_value_boolean(bool value)
{
    return (nl_value){.type = nl_type_boolean(), .boolean = value};
}

nl_value nl_value_copy(nl_arena *arena, const nl_value *value)
{
    nl_value copy = *value;
    if (value->is_null) return copy;
    if (value->type->physical == NL_PHYS_STRING) {
        copy.text = nl_arena_str(arena, value->text);
    } else if (value->type->physical == NL_PHYS_LIST || value->type->physical == NL_PHYS_STRUCT) {
        nl_value *items = NL_NEW_ARRAY(arena, nl_value, value->list.count);
        for (uint32_t i = 0; i < value->list.count; i++)
            items[i] = nl_value_copy(arena, &value->list.items[i]);
        copy.list.items = items;
    }
    return copy;
}

#define SIGN_OF(a, b) (((a) > (b)) - ((a) < (b)))

static int compare_lists(const nl_value *a, const nl_value *b)
{
    uint32_t common = NL_MIN(a->list.count, b->list.count);
    for (uint32_t i = 0; i < common; i++) {
        const nl_value *x = &a->list.items[i];
        const nl_value *y = &b->list.items[i];
        int order = x->is_null || y->is_null ? (int)y->is_null - (int)x->is_null : nl_value_compare(x, y);
        if (order) return order;
    }
    return SIGN_OF(a->list.count, b->list.count);
}

static int compare_reals(double a, double b)
{
    if (a < b) return -1;
    if (a > b) return 1;
    return a == b ? 0 : SIGN_OF(a != a, b != b);
}

static int compare_intervals(const nl_interval *a, const nl_interval *b)
{
    int order = SIGN_OF(a->months, b->months);
    if (!order) order = SIGN_OF(a->days, b->days);
    return order ? order : SIGN_OF(a->micros, b->micros);
}

int nl_value_compare(const nl_value *a, const nl_value *b)
{
    NL_ASSERT(!a->is_null && !b->is_null);
    if (a->type->id == NL_TYPE_DECIMAL) return nl_decimal_compare(a->decimal, a->type->scale, b->decimal, b->type->scale);
    switch (a->type->physical) {
    case NL_PHYS_NONE:
        return 0;
    case NL_PHYS_BOOL:
        return SIGN_OF(a->boolean, b->boolean);
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
        return SIGN_OF(a->integer, b->integer);
    case NL_PHYS_I128:
        return SIGN_OF(a->decimal, b->decimal);
    case NL_PHYS_F32:
    case NL_PHYS_F64:
        return compare_reals(a->real, b->real);
    case NL_PHYS_STRING:
        return nl_str_compare(a->text, b->text);
    case NL_PHYS_INTERVAL:
        return compare_intervals(&a->interval, &b->interval);
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        return compare_lists(a, b);
    }
    return 0;
}

bool nl_value_equal(const nl_value *a, const nl_value *b)
{
    if (a->is_null || b->is_null) return a->is_null && b->is_null;
    return nl_value_compare(a, b) == 0;
}

static nl_value list_value(const nl_vector *vector, nl_list_view view, nl_arena *arena)
{
    uint32_t width = vector->child_count;
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, (size_t)view.length * width);
    for (uint32_t i = 0; i < view.length; i++) {
        for (uint32_t child = 0; child < width; child++)
            items[i * width + child] = nl_vector_value(&vector->children[child], view.offset + i, arena);
    }
    return (nl_value){.type = vector->type, .list = {items, view.length * width}};
}

static nl_value struct_value(const nl_vector *vector, uint32_t row, nl_arena *arena)
{
    nl_value *items = NL_NEW_ARRAY(arena, nl_value, vector->child_count);
    for (uint32_t child = 0; child < vector->child_count; child++)
        items[child] = nl_vector_value(&vector->children[child], row, arena);
    return (nl_value){.type = vector->type, .list = {items, vector->child_count}};
}

#define AT(element) (((const element *)vector->values)[row])

nl_value nl_vector_leaf(const nl_vector *vector, uint32_t row)
{
    nl_value value = {.type = vector->type};
    switch (vector->type->physical) {
    case NL_PHYS_BOOL:
        value.boolean = AT(uint8_t) != 0;
        break;
    case NL_PHYS_I8:
        value.integer = AT(int8_t);
        break;
    case NL_PHYS_I16:
        value.integer = AT(int16_t);
        break;
    case NL_PHYS_I32:
        value.integer = AT(int32_t);
        break;
    case NL_PHYS_I64:
        if (value.type->id == NL_TYPE_DECIMAL)
            value.decimal = AT(int64_t);
        else
            value.integer = AT(int64_t);
        break;
    case NL_PHYS_I128:
        value.decimal = AT(nl_int128);
        break;
    case NL_PHYS_F32:
        value.real = (double)AT(float);
        break;
    case NL_PHYS_F64:
        value.real = AT(double);
        break;
    case NL_PHYS_STRING:
        value.text = nl_view_str(&AT(nl_string_view));
        break;
    case NL_PHYS_INTERVAL:
        value.interval = AT(nl_interval);
        break;
    case NL_PHYS_NONE:
        value.is_null = true;
        break;
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        break;
    }
    return value;
}

nl_value nl_vector_value(const nl_vector *vector, uint32_t row, nl_arena *arena)
{
    if (nl_vector_is_null(vector, row)) return nl_value_null(vector->type);
    if (vector->encoding == NL_CONSTANT) row = 0;
    if (vector->encoding == NL_DICTIONARY) {
        row = vector->indices[row];
        vector = &vector->dictionary->vector;
    }
    if (vector->type->physical == NL_PHYS_LIST) return list_value(vector, AT(nl_list_view), arena);
    if (vector->type->physical == NL_PHYS_STRUCT) return struct_value(vector, row, arena);
    nl_value value = nl_vector_leaf(vector, row);
    if (vector->type->physical == NL_PHYS_STRING) value.text = nl_arena_str(arena, value.text);
    return value;
}

#undef AT

nl_status nl_vector_new_constant(nl_vector *vector, const nl_value *value, uint32_t length, nl_memory *memory)
{
    if (value->is_null) return nl_vector_new_null(vector, value->type, length, memory);
    nl_column_builder *builder;
    NL_TRY(nl_column_builder_new(value->type, memory, &builder));
    nl_status status = nl_column_builder_value(builder, value);
    if (!status) status = nl_column_builder_finish(builder, vector);
    nl_column_builder_free(builder);
    NL_TRY(status);
    vector->encoding = NL_CONSTANT;
    vector->length = length;
    vector->null_count = 0;
    return NULL;
}

static uint64_t hash_text(nl_str text)
{
    return nl_hash_bytes(text.data, text.length, 0);
}

static uint64_t hash_real(double value)
{
    if (value != value) return 0x7ff8;
    if (value == 0) value = 0; /* -0.0 */
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return nl_hash_u64(bits);
}

static uint64_t hash_decimal(nl_int128 value)
{
    return nl_hash_mix(nl_hash_u64((uint64_t)value), (uint64_t)(value >> 64));
}

uint64_t nl_value_hash(const nl_value *value)
{
    const nl_interval *interval = &value->interval;
    if (value->is_null) return 1;
    switch (value->type->physical) {
    case NL_PHYS_BOOL: return nl_hash_u64(value->boolean);
    case NL_PHYS_F32:
    case NL_PHYS_F64: return hash_real(value->real);
    case NL_PHYS_STRING: return hash_text(value->text);
    case NL_PHYS_INTERVAL:
        return nl_hash_mix(nl_hash_mix((uint64_t)interval->months, (uint64_t)interval->days), (uint64_t)interval->micros);
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
        return value->type->id == NL_TYPE_DECIMAL ? hash_decimal(value->decimal) : nl_hash_u64((uint64_t)value->integer);
    case NL_PHYS_NONE:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return 0;
}
