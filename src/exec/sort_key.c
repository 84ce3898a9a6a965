/* exec/sort_key.c - normalised keys. */
#include "exec/sort_key.h"

#include <math.h>

static uint32_t fixed_value_bytes(const nl_type *type)
{
    switch (type->physical) {
    case NL_PHYS_BOOL:
    case NL_PHYS_I8: return 1;
    case NL_PHYS_I16: return 2;
    case NL_PHYS_I32:
    case NL_PHYS_F32: return 4;
    case NL_PHYS_I64:
    case NL_PHYS_F64: return 8;
    case NL_PHYS_I128:
    case NL_PHYS_INTERVAL: return 16;
    case NL_PHYS_NONE: return 0;
    case NL_PHYS_STRING:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return UINT32_MAX;
}

void nl_sort_keys_init(nl_sort_keys *keys, const nl_sort_key *sort_keys, uint32_t count)
{
    *keys = (nl_sort_keys){.count = count, .keys = sort_keys, .is_fixed = true};
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = fixed_value_bytes(sort_keys[i].expr->type);
        keys->is_fixed = keys->is_fixed && bytes != UINT32_MAX;
        keys->fixed_bytes += bytes + sort_keys[i].expr->is_nullable;
    }
}

static const nl_vector *resolve(const nl_vector *vector, uint32_t *row)
{
    if (vector->encoding == NL_CONSTANT) *row = 0;
    if (vector->encoding != NL_DICTIONARY) return vector;
    *row = vector->indices[*row];
    return &vector->dictionary->vector;
}

static uint32_t string_bytes(nl_str text)
{
    uint32_t zeros = 0;
    for (size_t i = 0; i < text.length; i++)
        zeros += text.data[i] == 0;
    return (uint32_t)text.length + zeros + 2;
}

static uint32_t value_bytes(const nl_vector *vector, uint32_t row);

/* Inside nested values every value has a null byte, nulls first. */
static uint32_t inner_bytes(const nl_vector *vector, uint32_t row)
{
    return nl_vector_is_null(vector, row) ? 1 : 1 + value_bytes(vector, row);
}

static uint32_t value_bytes(const nl_vector *vector, uint32_t row)
{
    vector = resolve(vector, &row);
    uint32_t bytes = 0;
    switch (vector->type->physical) {
    case NL_PHYS_STRING: return string_bytes(nl_view_str(&((const nl_string_view *)vector->values)[row]));
    case NL_PHYS_LIST: {
        nl_list_view view = ((const nl_list_view *)vector->values)[row];
        for (uint32_t i = 0; i < view.length; i++)
            for (uint32_t child = 0; child < vector->child_count; child++)
                bytes += 1 + inner_bytes(&vector->children[child], view.offset + i);
        return bytes + 1;
    }
    case NL_PHYS_STRUCT:
        for (uint32_t child = 0; child < vector->child_count; child++)
            bytes += inner_bytes(&vector->children[child], row);
        return bytes;
    case NL_PHYS_NONE:
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
    case NL_PHYS_I64:
    case NL_PHYS_I128:
    case NL_PHYS_F32:
    case NL_PHYS_F64:
    case NL_PHYS_INTERVAL: break;
    }
    return fixed_value_bytes(vector->type);
}

static uint8_t *put_big_endian(uint8_t *to, uint64_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    return to + bytes;
}

static uint8_t *put_u64(uint8_t *to, uint64_t value)
{
    value = __builtin_bswap64(value);
    memcpy(to, &value, sizeof value);
    return to + 8;
}

/* Bits of a double in an order where NaN is greatest and -0.0 equals 0.0. */
static uint64_t real_bits(double value)
{
    if (value != value) return UINT64_MAX;
    if (value == 0) value = 0;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 63 ? ~bits : bits | 1ull << 63;
}

static uint32_t float_bits(float value)
{
    if (value != value) return UINT32_MAX;
    if (value == 0) value = 0;
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits >> 31 ? ~bits : bits | 1u << 31;
}

static uint8_t *put_string(uint8_t *to, nl_str text)
{
    for (size_t i = 0; i < text.length; i++) {
        *to++ = (uint8_t)text.data[i];
        if (text.data[i] == 0) *to++ = 0xFF;
    }
    *to++ = 0;
    *to++ = 0;
    return to;
}

static uint8_t *put_value(uint8_t *to, const nl_vector *vector, uint32_t row);

static uint8_t *put_inner(uint8_t *to, const nl_vector *vector, uint32_t row)
{
    bool is_null = nl_vector_is_null(vector, row);
    *to++ = is_null ? 0 : 1;
    return is_null ? to : put_value(to, vector, row);
}

static uint8_t *put_list(uint8_t *to, const nl_vector *vector, uint32_t row)
{
    nl_list_view view = ((const nl_list_view *)vector->values)[row];
    for (uint32_t i = 0; i < view.length; i++) {
        for (uint32_t child = 0; child < vector->child_count; child++) {
            *to++ = 1; /* another one follows */
            to = put_inner(to, &vector->children[child], view.offset + i);
        }
    }
    *to++ = 0;
    return to;
}

static uint8_t *put_value(uint8_t *to, const nl_vector *vector, uint32_t row)
{
    vector = resolve(vector, &row);
    const void *values = vector->values;
    switch (vector->type->physical) {
    case NL_PHYS_NONE: return to;
    case NL_PHYS_BOOL: *to = ((const uint8_t *)values)[row]; return to + 1;
    case NL_PHYS_I8: *to = (uint8_t)(((const uint8_t *)values)[row] ^ 0x80u); return to + 1;
    case NL_PHYS_I16: return put_big_endian(to, ((const uint16_t *)values)[row] ^ 0x8000u, 2);
    case NL_PHYS_I32: return put_big_endian(to, ((const uint32_t *)values)[row] ^ 0x80000000u, 4);
    case NL_PHYS_I64: return put_u64(to, ((const uint64_t *)values)[row] ^ 1ull << 63);
    case NL_PHYS_I128: {
        nl_uint128 value = (nl_uint128)((const nl_int128 *)values)[row];
        to = put_u64(to, (uint64_t)(value >> 64) ^ 1ull << 63);
        return put_u64(to, (uint64_t)value);
    }
    case NL_PHYS_F32: return put_big_endian(to, float_bits(((const float *)values)[row]), 4);
    case NL_PHYS_F64: return put_u64(to, real_bits(((const double *)values)[row]));
    case NL_PHYS_STRING: return put_string(to, nl_view_str(&((const nl_string_view *)values)[row]));
    case NL_PHYS_INTERVAL: {
        nl_interval interval = ((const nl_interval *)values)[row];
        to = put_big_endian(to, (uint32_t)interval.months ^ 0x80000000u, 4);
        to = put_big_endian(to, (uint32_t)interval.days ^ 0x80000000u, 4);
        return put_u64(to, (uint64_t)interval.micros ^ 1ull << 63);
    }
    case NL_PHYS_LIST: return put_list(to, vector, row);
    case NL_PHYS_STRUCT:
        for (uint32_t child = 0; child < vector->child_count; child++)
            to = put_inner(to, &vector->children[child], row);
        return to;
    }
    return to;
}

/* One key column into all rows; ends[i] moves on. */
static void encode_column(const nl_sort_key *key, const nl_vector *vector, nl_selection selection, uint8_t **ends)
{
    uint8_t null_byte = key->nulls_first ? 0 : 2;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        uint8_t *to = ends[i];
        bool is_null = nl_vector_is_null(vector, row);
        if (key->expr->is_nullable) *to++ = is_null ? null_byte : 1;
        uint8_t *start = to;
        uint32_t bytes = fixed_value_bytes(key->expr->type);
        if (!is_null) {
            to = put_value(to, vector, row);
            for (uint8_t *at = start; key->is_descending && at < to; at++)
                *at = (uint8_t)~*at;
        } else if (bytes != UINT32_MAX) { /* fixed keys keep their width */
            memset(to, 0, bytes);
            to += bytes;
        }
        ends[i] = to;
    }
}

static uint32_t column_bytes(const nl_sort_key *key, const nl_vector *vector, uint32_t row)
{
    uint32_t fixed = fixed_value_bytes(key->expr->type);
    if (fixed != UINT32_MAX) return fixed + key->expr->is_nullable;
    return key->expr->is_nullable + (nl_vector_is_null(vector, row) ? 0 : value_bytes(vector, row));
}

nl_status nl_sort_keys_encode(const nl_sort_keys *keys, const nl_vector *values, nl_selection selection, uint32_t partition_count,
                              nl_memory *memory, nl_buffer **out, uint32_t *offsets, uint32_t *partition_lengths)
{
    size_t total = 0;
    for (uint32_t i = 0; i < selection.count; i++) {
        uint32_t row = nl_selection_row(selection, i);
        offsets[i] = (uint32_t)total;
        if (keys->is_fixed)
            total += keys->fixed_bytes;
        else
            for (uint32_t k = 0; k < keys->count; k++)
                total += column_bytes(&keys->keys[k], &values[k], row);
        if (total > UINT32_MAX) return nl_out_of_memory(total);
    }
    offsets[selection.count] = (uint32_t)total;
    nl_buffer *bytes = NULL;
    nl_buffer *end_buffer = NULL;
    nl_status status = NULL;
    NL_GO(nl_buffer_new(memory, total + 8, false, &bytes));
    NL_GO(nl_buffer_new(memory, sizeof(uint8_t *) * ((size_t)selection.count + 1), false, &end_buffer));
    uint8_t **ends = (uint8_t **)(void *)end_buffer->data;
    for (uint32_t i = 0; i < selection.count; i++)
        ends[i] = bytes->data + offsets[i];
    for (uint32_t k = 0; k < keys->count; k++) {
        encode_column(&keys->keys[k], &values[k], selection, ends);
        if (k + 1 != partition_count) continue;
        for (uint32_t i = 0; i < selection.count; i++)
            partition_lengths[i] = (uint32_t)(ends[i] - bytes->data) - offsets[i];
    }
    *out = nl_buffer_retain(bytes);
done:
    nl_buffer_release(bytes);
    nl_buffer_release(end_buffer);
    return status;
}
