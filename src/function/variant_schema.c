/* function/variant_schema.c - see variant_schema.h. Recursion is as deep as a variant, which NL_JSON_DEPTH_MAX bounds. */
#include "function/variant_schema.h"

#include "base/limits.h"
#include "function/coercion.h"

static nl_status infer(nl_arena *arena, const nl_variant *variant, uint32_t depth, const nl_type **type);

static nl_status infer_array(nl_arena *arena, const nl_variant *variant, uint32_t depth, const nl_type **type)
{
    const nl_type *element = nl_type_of(NL_TYPE_NULL);
    for (uint32_t i = 0; i < variant->count && element->id != NL_TYPE_VARIANT; i++) {
        nl_variant part;
        const nl_type *found = NULL;
        NL_TRY(nl_variant_element(variant, i, &part));
        NL_TRY(infer(arena, &part, depth + 1, &found));
        element = nl_variant_schema_merge(arena, element, found);
    }
    *type = nl_type_array(arena, element, true);
    return nl_arena_check(arena);
}

static nl_status infer_object(nl_arena *arena, const nl_variant *variant, uint32_t depth, const nl_type **type)
{
    void *memory = NULL;
    NL_TRY(nl_arena_alloc_sized(arena, nl_size_mul(NL_MAX(variant->count, 1u), sizeof(nl_field)), &memory));
    nl_field *fields = memory;
    for (uint32_t i = 0; i < variant->count; i++) {
        nl_variant part;
        NL_TRY(nl_variant_field(variant, i, &fields[i].name, &part));
        NL_TRY(infer(arena, &part, depth + 1, &fields[i].type));
        fields[i].is_nullable = true;
    }
    *type = nl_type_struct(arena, fields, variant->count);
    return nl_arena_check(arena);
}

static nl_status infer(nl_arena *arena, const nl_variant *variant, uint32_t depth, const nl_type **type)
{
    static const nl_type_id ids[] = {[NL_VARIANT_NULL] = NL_TYPE_NULL,
                                     [NL_VARIANT_BOOLEAN] = NL_TYPE_BOOLEAN,
                                     [NL_VARIANT_INTEGER] = NL_TYPE_BIGINT,
                                     [NL_VARIANT_FLOAT] = NL_TYPE_FLOAT,
                                     [NL_VARIANT_DOUBLE] = NL_TYPE_DOUBLE,
                                     [NL_VARIANT_DATE] = NL_TYPE_DATE,
                                     [NL_VARIANT_TIMESTAMP] = NL_TYPE_TIMESTAMP,
                                     [NL_VARIANT_TIMESTAMP_NTZ] = NL_TYPE_TIMESTAMP_NTZ,
                                     [NL_VARIANT_BINARY] = NL_TYPE_BINARY,
                                     [NL_VARIANT_STRING] = NL_TYPE_STRING};
    if (depth >= NL_JSON_DEPTH_MAX) return NL_RAISE(MALFORMED_VARIANT);
    if (variant->kind == NL_VARIANT_ARRAY) return infer_array(arena, variant, depth, type);
    if (variant->kind == NL_VARIANT_OBJECT) return infer_object(arena, variant, depth, type);
    if (variant->kind == NL_VARIANT_DECIMAL) {
        const int digits = nl_decimal_digits(variant->decimal);
        *type = nl_type_decimal(NL_MAX(digits, NL_MAX((int)variant->scale, 1)), variant->scale);
        return NULL;
    }
    if (variant->kind >= NL_COUNT(ids) || (variant->kind != NL_VARIANT_NULL && ids[variant->kind] == NL_TYPE_NULL))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A variant holds a time, a nanosecond timestamp or a UUID, which Spark 4.0 does not know.");
    *type = nl_type_of(ids[variant->kind]);
    return NULL;
}

nl_status nl_variant_schema(nl_arena *arena, const nl_variant *variant, const nl_type **type)
{
    return infer(arena, variant, 0, type);
}

/* --- merging: as Spark's readers of JSON do it --- */

static const nl_type *merge_objects(nl_arena *arena, const nl_type *a, const nl_type *b)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, a->child_count + b->child_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a->child_count || j < b->child_count;) {
        const int order = i == a->child_count   ? 1
                          : j == b->child_count ? -1
                                                : nl_str_compare(a->children[i].name, b->children[j].name);
        fields[count] = order <= 0 ? a->children[i] : b->children[j];
        if (order == 0) fields[count].type = nl_variant_schema_merge(arena, a->children[i].type, b->children[j].type);
        i += order <= 0;
        j += order >= 0;
        count++;
    }
    return nl_type_struct(arena, fields, count);
}

static const nl_type *merge_decimals(const nl_type *a, const nl_type *b)
{
    const int scale = NL_MAX(a->scale, b->scale);
    const int range = NL_MAX(a->precision - a->scale, b->precision - b->scale);
    return range + scale > NL_DECIMAL_PRECISION_MAX ? nl_type_double() : nl_type_decimal(range + scale, scale);
}

static const nl_type *merge_numbers(const nl_type *a, const nl_type *b)
{
    const nl_type *long_decimal = nl_type_decimal(20, 0);
    const bool a_real = a->id == NL_TYPE_FLOAT || a->id == NL_TYPE_DOUBLE;
    const bool b_real = b->id == NL_TYPE_FLOAT || b->id == NL_TYPE_DOUBLE;
    if (a->id == NL_TYPE_DECIMAL || b->id == NL_TYPE_DECIMAL) {
        if (a_real || b_real) return a->id == NL_TYPE_DOUBLE || b->id == NL_TYPE_DOUBLE ? nl_type_double() : nl_type_of(NL_TYPE_VARIANT);
        return merge_decimals(a->id == NL_TYPE_DECIMAL ? a : long_decimal, b->id == NL_TYPE_DECIMAL ? b : long_decimal);
    }
    if (a->id == NL_TYPE_DOUBLE || b->id == NL_TYPE_DOUBLE) return nl_type_double();
    return nl_type_of(NL_TYPE_FLOAT); /* BIGINT and FLOAT; equal types do not come here */
}

static bool is_datetime(const nl_type *type)
{
    return type->id == NL_TYPE_DATE || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
}

const nl_type *nl_variant_schema_merge(nl_arena *arena, const nl_type *a, const nl_type *b)
{
    if (nl_type_equal(a, b) || b->id == NL_TYPE_NULL) return a;
    if (a->id == NL_TYPE_NULL) return b;
    if (a->id == NL_TYPE_STRUCT && b->id == NL_TYPE_STRUCT) return merge_objects(arena, a, b);
    if (a->id == NL_TYPE_ARRAY && b->id == NL_TYPE_ARRAY)
        return nl_type_array(arena, nl_variant_schema_merge(arena, a->children[0].type, b->children[0].type), true);
    if (nl_type_is_numeric(a) && nl_type_is_numeric(b)) return merge_numbers(a, b);
    if (is_datetime(a) && is_datetime(b))
        return nl_type_of(a->id == NL_TYPE_TIMESTAMP || b->id == NL_TYPE_TIMESTAMP ? NL_TYPE_TIMESTAMP : NL_TYPE_TIMESTAMP_NTZ);
    return nl_type_of(NL_TYPE_VARIANT);
}

/* --- texts and bytes --- */

void nl_variant_schema_append_sql(const nl_type *type, nl_builder *out)
{
    if (type->id == NL_TYPE_ARRAY) {
        nl_append_c(out, "ARRAY<");
        nl_variant_schema_append_sql(type->children[0].type, out);
        nl_append_char(out, '>');
    } else if (type->id == NL_TYPE_STRUCT) {
        nl_append_c(out, "OBJECT<");
        for (uint32_t i = 0; i < type->child_count && !nl_builder_failed(out); i++) {
            if (i) nl_append_c(out, ", ");
            nl_append_field_name(out, type->children[i].name);
            nl_append_c(out, ": ");
            nl_variant_schema_append_sql(type->children[i].type, out);
        }
        nl_append_char(out, '>');
    } else {
        nl_arena *arena = nl_arena_new(NULL);
        nl_append(out, nl_type_sql(arena, type));
        nl_arena_free(arena);
    }
}

static void append_u32(nl_builder *out, uint32_t value)
{
    nl_append(out, (nl_str){(const char *)&value, sizeof value});
}

void nl_variant_schema_encode(const nl_type *type, nl_builder *out)
{
    const char head[] = {(char)type->id, (char)type->precision, (char)type->scale};
    nl_append(out, (nl_str){head, sizeof head});
    append_u32(out, type->child_count);
    for (uint32_t i = 0; i < type->child_count; i++) {
        append_u32(out, (uint32_t)type->children[i].name.length);
        nl_append(out, type->children[i].name);
        nl_variant_schema_encode(type->children[i].type, out);
    }
}

static bool take(nl_str *bytes, size_t length, nl_str *part)
{
    if (length > bytes->length) return false;
    *part = nl_str_slice(*bytes, 0, length);
    *bytes = nl_str_slice(*bytes, length, bytes->length);
    return true;
}

static bool take_u32(nl_str *bytes, uint32_t *value)
{
    nl_str part;
    if (!take(bytes, sizeof *value, &part)) return false;
    memcpy(value, part.data, sizeof *value);
    return true;
}

const nl_type *nl_variant_schema_decode(nl_arena *arena, nl_str *bytes)
{
    nl_str head;
    uint32_t count = 0;
    if (!take(bytes, 3, &head) || !take_u32(bytes, &count) || count > bytes->length) return NULL;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, NL_MAX(count, 1u));
    for (uint32_t i = 0; i < count; i++) {
        uint32_t length = 0;
        if (!take_u32(bytes, &length) || !take(bytes, length, &fields[i].name)) return NULL;
        fields[i].type = nl_variant_schema_decode(arena, bytes);
        fields[i].is_nullable = true;
        if (fields[i].type == NULL) return NULL;
    }
    const nl_type_id id = (nl_type_id)head.data[0];
    if (id == NL_TYPE_STRUCT) return nl_type_struct(arena, fields, count);
    if (id == NL_TYPE_ARRAY) return count == 1 ? nl_type_array(arena, fields[0].type, true) : NULL;
    if (id == NL_TYPE_DECIMAL) return nl_type_decimal((uint8_t)head.data[1], (uint8_t)head.data[2]);
    return (uint32_t)id < NL_TYPE_COUNT ? nl_type_of(id) : NULL;
}
