/* column/test_vectors.h - random vectors of every type and encoding, for unit tests only. */
#pragma once

#include "base/decimal.h"
#include "column/value.h"
#include "column/vector.h"

static uint64_t test_seed = 1;

static inline uint32_t test_random(uint32_t below)
{
    test_seed = test_seed * 6364136223846793005ull + 1442695040888963407ull;
    return below ? (uint32_t)(test_seed >> 33) % below : 0;
}

static inline void must(nl_status status)
{
    if (status) nl_assert_failed(nl_error_message(status), NL_HERE);
}

static inline void test_append_row(nl_column_builder *builder, const nl_type *type, uint32_t null_percent);

static inline void test_append_text(nl_column_builder *builder)
{
    static const uint32_t lengths[] = {0, 1, 4, 5, 11, 12, 13, 14, 40};
    char text[40];
    uint32_t length = lengths[test_random(NL_COUNT(lengths))];
    for (uint32_t i = 0; i < length; i++)
        text[i] = (char)('a' + test_random(3));
    must(nl_column_builder_str(builder, (nl_str){text, length}));
}

static inline void test_append_real(nl_column_builder *builder)
{
    static const double values[] = {0.0, -0.0, 1.5, -1e30, 1e-10};
    uint32_t choice = test_random(NL_COUNT(values) + 1);
    must(nl_column_builder_f64(builder, choice == NL_COUNT(values) ? __builtin_nan("") : values[choice]));
}

static inline void test_append_nested(nl_column_builder *builder, const nl_type *type, uint32_t null_percent)
{
    if (type->id == NL_TYPE_VARIANT) {
        test_append_text(nl_column_builder_child(builder, 0));
        test_append_text(nl_column_builder_child(builder, 1));
        must(nl_column_builder_end_struct(builder));
        return;
    }
    uint32_t count = type->id == NL_TYPE_STRUCT ? 1 : test_random(4);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t child = 0; child < type->child_count; child++)
            test_append_row(nl_column_builder_child(builder, child), type->children[child].type,
                            type->id == NL_TYPE_MAP && child == 0 ? 0 : null_percent);
    }
    must(type->id == NL_TYPE_STRUCT ? nl_column_builder_end_struct(builder)
                                    : nl_column_builder_end_list(builder, count));
}

static inline void test_append_row(nl_column_builder *builder, const nl_type *type, uint32_t null_percent)
{
    if (type->physical == NL_PHYS_NONE || test_random(100) < null_percent) {
        must(nl_column_builder_null(builder));
        return;
    }
    switch (type->physical) {
    case NL_PHYS_BOOL:
        must(nl_column_builder_i64(builder, test_random(2)));
        break;
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
        must(nl_column_builder_i64(builder, (int64_t)test_random(200) - 100));
        break;
    case NL_PHYS_I128:
        must(nl_column_builder_i128(builder, ((nl_int128)test_random(3) << 70) - test_random(50)));
        break;
    case NL_PHYS_F32:
    case NL_PHYS_F64:
        test_append_real(builder);
        break;
    case NL_PHYS_STRING:
        test_append_text(builder);
        break;
    case NL_PHYS_INTERVAL:
        must(nl_column_builder_interval(
            builder, (nl_interval){(int32_t)test_random(5), (int32_t)test_random(5) - 2, (int64_t)test_random(9)}));
        break;
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT:
        test_append_nested(builder, type, null_percent);
        break;
    case NL_PHYS_NONE:
        break;
    }
}

static inline nl_vector test_flat(const nl_type *type, uint32_t length, uint32_t null_percent)
{
    nl_column_builder *builder;
    nl_vector vector;
    must(nl_column_builder_new(type, NULL, &builder));
    for (uint32_t row = 0; row < length; row++)
        test_append_row(builder, type, null_percent);
    must(nl_column_builder_finish(builder, &vector));
    nl_column_builder_free(builder);
    return vector;
}

/* Gives a struct's children encodings of their own. */
static inline nl_vector test_vector(const nl_type *type, nl_encoding encoding, uint32_t length, uint32_t null_percent);

static inline nl_vector test_dictionary(const nl_type *type, uint32_t length, uint32_t null_percent)
{
    uint32_t value_count = null_percent == 100 ? 0 : 1 + test_random(20);
    nl_vector values = test_flat(type, value_count, 0);
    nl_vector vector = {.type = type, .encoding = NL_DICTIONARY, .length = length, .null_count = UINT32_MAX};
    must(nl_buffer_new(NULL, sizeof(uint32_t) * length, true, &vector.values_buffer));
    uint32_t *indices = (uint32_t *)(void *)vector.values_buffer->data;
    vector.indices = indices;
    vector.dictionary = nl_shared_vector_new(&values);
    uint8_t *bits = NULL;
    if (null_percent) must(nl_vector_make_validity(&vector, NULL, &bits));
    for (uint32_t row = 0; row < length; row++) {
        if (bits && test_random(100) < null_percent)
            nl_bit_clear(bits, row);
        else
            indices[row] = test_random(value_count);
    }
    return vector;
}

static inline nl_vector test_vector(const nl_type *type, nl_encoding encoding, uint32_t length, uint32_t null_percent)
{
    nl_vector vector;
    if (encoding == NL_DICTIONARY && type->physical != NL_PHYS_NONE) return test_dictionary(type, length, null_percent);
    vector = test_flat(type, encoding == NL_CONSTANT ? 1 : length, null_percent);
    if (encoding == NL_CONSTANT) {
        vector.encoding = NL_CONSTANT;
        vector.length = length;
        vector.null_count = UINT32_MAX;
    } else if (type->id == NL_TYPE_STRUCT && encoding == NL_FLAT) {
        for (uint32_t i = 0; i < type->child_count; i++) {
            if (type->children[i].type->physical == NL_PHYS_NONE) continue;
            nl_vector child = test_vector(type->children[i].type, (nl_encoding)test_random(3), length, null_percent);
            nl_vector_set_child(&vector, i, &child);
        }
    }
    return vector;
}

#define TEST_TYPES_MAX 40u

/* One type of every kind and physical form. */
static inline uint32_t test_types(nl_arena *arena, const nl_type *types[TEST_TYPES_MAX])
{
    uint32_t count = 0;
    for (nl_type_id id = NL_TYPE_NULL; id < NL_TYPE_COUNT; id++) {
        if (id != NL_TYPE_DECIMAL && id != NL_TYPE_ARRAY && id != NL_TYPE_MAP && id != NL_TYPE_STRUCT)
            types[count++] = nl_type_of(id);
    }
    types[count++] = nl_type_decimal(10, 2);
    types[count++] = nl_type_decimal(38, 10);
    types[count++] = nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_HOUR);
    types[count++] = nl_type_interval_ym(NL_FIELD_MONTH, NL_FIELD_MONTH);
    const nl_type *ints = nl_type_array(arena, nl_type_int(), true);
    nl_field fields[] = {
        {.name = NL_STR("a"), .type = nl_type_int(), .is_nullable = true},
        {.name = NL_STR("b"), .type = nl_type_string(), .is_nullable = true},
        {.name = NL_STR("c"), .type = ints, .is_nullable = true},
    };
    const nl_type *record = nl_type_struct(arena, fields, 3);
    types[count++] = ints;
    types[count++] = nl_type_array(arena, nl_type_string(), true);
    types[count++] = nl_type_array(arena, ints, true);
    types[count++] = nl_type_map(arena, nl_type_string(), nl_type_int(), true);
    types[count++] = nl_type_map(arena, nl_type_int(), record, true);
    types[count++] = record;
    types[count++] = nl_type_array(arena, record, true);
    types[count++] = nl_type_struct(arena, NULL, 0);
    return count;
}
