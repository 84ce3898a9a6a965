/* format/avro/direct.c - see direct.h. Works on raw pointers between the cursor's bounds; every read compares with the end. */
#include "format/avro/direct.h"

#include "base/limits.h"
#include "base/number.h"

typedef struct bytes_left {
    const uint8_t *at, *end;
} bytes_left;

static bool take_long(bytes_left *in, int64_t *value)
{
    uint64_t bits = 0;
    for (uint32_t shift = 0; shift < 70 && in->at < in->end; shift += 7) {
        const uint8_t byte = *in->at++;
        bits |= (uint64_t)(byte & 0x7f) << (shift & 63);
        if (byte & 0x80) continue;
        *value = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
        return shift < 63 || byte <= 1;
    }
    return false;
}

static inline bool take_bytes(bytes_left *in, size_t length, const uint8_t **bytes)
{
    if (length > (size_t)(in->end - in->at)) return false;
    *bytes = in->at;
    in->at += length;
    return true;
}

static inline bool take_text(bytes_left *in, nl_str *text)
{
    int64_t length = 0;
    const uint8_t *bytes = NULL;
    if (!take_long(in, &length) || length < 0 || length > NL_VALUE_BYTES_MAX || !take_bytes(in, (size_t)length, &bytes)) return false;
    *text = (nl_str){(const char *)bytes, (size_t)length};
    return true;
}

/* ---- Planning ---- */

static bool plan_int(const nl_avro_type *avro, const nl_type *type, nl_avro_direct *out)
{
    const bool is_plain = avro->logical == NL_AVRO_PLAIN || (avro->logical == NL_AVRO_DATE && type->id == NL_TYPE_DATE) ||
                          (avro->logical == NL_AVRO_TIMESTAMP_MICROS && (type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ));
    const bool is_int = type->id == NL_TYPE_TINYINT || type->id == NL_TYPE_SMALLINT || type->id == NL_TYPE_INT || type->id == NL_TYPE_DATE;
    const bool is_long = type->id == NL_TYPE_BIGINT || type->id == NL_TYPE_TIMESTAMP || type->id == NL_TYPE_TIMESTAMP_NTZ;
    if (!is_plain || !(is_int ? avro->kind == NL_AVRO_INT : is_long)) return false;
    if (type->id != NL_TYPE_BIGINT && is_long && avro->kind == NL_AVRO_INT) return false;
    out->kind = NL_AVRO_DIRECT_INT;
    out->min = type->physical == NL_PHYS_I8 ? INT8_MIN : type->physical == NL_PHYS_I16 ? INT16_MIN : is_int ? INT32_MIN : INT64_MIN;
    out->max = type->physical == NL_PHYS_I8 ? INT8_MAX : type->physical == NL_PHYS_I16 ? INT16_MAX : is_int ? INT32_MAX : INT64_MAX;
    return true;
}

static bool plan_fixed(const nl_avro_type *avro, const nl_type *type, nl_avro_direct *out)
{
    out->size_bytes = avro->size_bytes;
    if (type->id == NL_TYPE_BINARY) {
        out->kind = NL_AVRO_DIRECT_BYTES;
        return true;
    }
    if (type->id != NL_TYPE_DECIMAL || avro->logical != NL_AVRO_DECIMAL || avro->scale != type->scale || avro->precision > type->precision) return false;
    if (avro->size_bytes == 0 || avro->size_bytes > (type->physical == NL_PHYS_I64 ? 8u : 16u)) return false;
    out->kind = NL_AVRO_DIRECT_DECIMAL;
    out->precision = avro->precision;
    out->max = 1;
    for (uint32_t i = 0; i < avro->precision && type->physical == NL_PHYS_I64; i++)
        out->max *= 10;
    out->max--;
    out->min = -out->max;
    return true;
}

static bool plan_wanted(const nl_avro_type *avro, const nl_type *type, nl_avro_direct *out)
{
    switch ((int)avro->kind) {
    case NL_AVRO_INT:
    case NL_AVRO_LONG: return plan_int(avro, type, out);
    case NL_AVRO_FLOAT: out->kind = type->id == NL_TYPE_DOUBLE ? NL_AVRO_DIRECT_WIDENED : NL_AVRO_DIRECT_FLOAT; return type->id == NL_TYPE_FLOAT || type->id == NL_TYPE_DOUBLE;
    case NL_AVRO_DOUBLE: out->kind = NL_AVRO_DIRECT_DOUBLE; return type->id == NL_TYPE_DOUBLE;
    case NL_AVRO_BOOLEAN: out->kind = NL_AVRO_DIRECT_BOOLEAN; return type->id == NL_TYPE_BOOLEAN;
    case NL_AVRO_STRING: out->kind = NL_AVRO_DIRECT_TEXT; return type->physical == NL_PHYS_STRING;
    case NL_AVRO_BYTES: out->kind = NL_AVRO_DIRECT_TEXT; return type->physical == NL_PHYS_STRING && avro->logical != NL_AVRO_UUID;
    case NL_AVRO_FIXED: return plan_fixed(avro, type, out);
    default: return false;
    }
}

static bool plan_skipped(const nl_avro_type *avro, nl_avro_direct *out)
{
    out->is_skipped = true;
    switch ((int)avro->kind) {
    case NL_AVRO_INT:
    case NL_AVRO_LONG:
    case NL_AVRO_ENUM: out->kind = NL_AVRO_DIRECT_INT; return true;
    case NL_AVRO_FLOAT: out->kind = NL_AVRO_DIRECT_FLOAT; return true;
    case NL_AVRO_DOUBLE: out->kind = NL_AVRO_DIRECT_DOUBLE; return true;
    case NL_AVRO_BOOLEAN: out->kind = NL_AVRO_DIRECT_BOOLEAN; return true;
    case NL_AVRO_STRING:
    case NL_AVRO_BYTES: out->kind = NL_AVRO_DIRECT_TEXT; return true;
    case NL_AVRO_FIXED:
        out->kind = NL_AVRO_DIRECT_BYTES;
        out->size_bytes = avro->size_bytes;
        return true;
    default: return false;
    }
}

void nl_avro_direct_plan(const nl_avro_type *avro, const nl_type *type, nl_avro_direct *direct)
{
    *direct = (nl_avro_direct){.type = type, .physical = type ? type->physical : NL_PHYS_NONE};
    const nl_avro_type *plain = nl_avro_unwrap(avro, &direct->null_branch);
    if (!(type ? plan_wanted(plain, type, direct) : plan_skipped(plain, direct))) direct->kind = NL_AVRO_NOT_DIRECT;
}

/* ---- Decoding ---- */

nl_status nl_avro_direct_begin(nl_avro_direct *direct, nl_memory *memory)
{
    NL_ASSERT(!direct->is_skipped && !direct->vector.type);
    NL_TRY(nl_vector_new_flat(&direct->vector, direct->type, NL_BATCH_ROWS, memory));
    direct->values = nl_vector_values(&direct->vector);
    direct->validity = NULL;
    return NULL;
}

nl_status nl_avro_direct_keep(nl_avro_direct *direct, nl_memory *memory, nl_buffer *block)
{
    nl_heap *heap = NULL;
    if (direct->is_skipped || direct->physical != NL_PHYS_STRING) return NULL;
    NL_TRY(nl_vector_make_heap(&direct->vector, memory, &heap));
    return nl_heap_keep_buffer(heap, block);
}

static nl_status set_null(nl_avro_direct *field, uint32_t row, nl_memory *memory)
{
    if (!field->validity) NL_TRY(nl_vector_make_validity(&field->vector, memory, &field->validity));
    nl_bit_clear(field->validity, row);
    field->vector.null_count = UINT32_MAX;
    return NULL;
}

static inline bool store_int(const nl_avro_direct *field, uint32_t row, int64_t value)
{
    if (value < field->min || value > field->max) return false;
    switch ((int)field->physical) {
    case NL_PHYS_I8: ((int8_t *)field->values)[row] = (int8_t)value; break;
    case NL_PHYS_I16: ((int16_t *)field->values)[row] = (int16_t)value; break;
    case NL_PHYS_I32: ((int32_t *)field->values)[row] = (int32_t)value; break;
    default: ((int64_t *)field->values)[row] = value; break;
    }
    return true;
}

static bool store_decimal(const nl_avro_direct *field, uint32_t row, const uint8_t *bytes)
{
    if (field->physical == NL_PHYS_I64) {
        uint64_t bits = bytes[0] & 0x80 ? UINT64_MAX : 0;
        for (uint32_t i = 0; i < field->size_bytes; i++)
            bits = (bits << 8) | bytes[i];
        return store_int(field, row, (int64_t)bits);
    }
    nl_uint128 bits = bytes[0] & 0x80 ? ~(nl_uint128)0 : 0;
    for (uint32_t i = 0; i < field->size_bytes; i++)
        bits = (bits << 8) | bytes[i];
    ((nl_int128 *)field->values)[row] = (nl_int128)bits;
    return nl_decimal_fits((nl_int128)bits, field->precision);
}

static inline float float_at(const uint8_t *bytes) /* little-endian, as this machine is */
{
    float value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* False: the bytes end too early, or say something that cannot be; which of both, *fits tells. */
static inline bool decode_value(const nl_avro_direct *field, uint32_t row, bytes_left *in, bool *fits)
{
    int64_t number = 0;
    nl_str text = {0};
    const uint8_t *bytes = NULL;
    *fits = true;
    switch (field->kind) {
    case NL_AVRO_DIRECT_INT:
        if (!take_long(in, &number)) return false;
        *fits = field->is_skipped || store_int(field, row, number);
        return *fits;
    case NL_AVRO_DIRECT_TEXT:
        if (!take_text(in, &text)) return false;
        if (!field->is_skipped) ((nl_string_view *)field->values)[row] = nl_view_of(text);
        return true;
    case NL_AVRO_DIRECT_BYTES:
        if (!take_bytes(in, field->size_bytes, &bytes)) return false;
        if (!field->is_skipped) ((nl_string_view *)field->values)[row] = nl_view_of((nl_str){(const char *)bytes, field->size_bytes});
        return true;
    case NL_AVRO_DIRECT_DECIMAL:
        if (!take_bytes(in, field->size_bytes, &bytes)) return false;
        *fits = store_decimal(field, row, bytes);
        return *fits;
    case NL_AVRO_DIRECT_BOOLEAN:
        if (!take_bytes(in, 1, &bytes)) return false;
        if (!field->is_skipped) ((uint8_t *)field->values)[row] = bytes[0] != 0;
        return true;
    case NL_AVRO_DIRECT_FLOAT:
    case NL_AVRO_DIRECT_WIDENED:
        if (!take_bytes(in, 4, &bytes)) return false;
        if (field->is_skipped) return true;
        if (field->kind == NL_AVRO_DIRECT_FLOAT) ((float *)field->values)[row] = float_at(bytes);
        else ((double *)field->values)[row] = (double)float_at(bytes);
        return true;
    case NL_AVRO_DIRECT_DOUBLE:
        if (!take_bytes(in, 8, &bytes)) return false;
        if (!field->is_skipped) memcpy((double *)field->values + row, bytes, sizeof(double));
        return true;
    case NL_AVRO_NOT_DIRECT: break;
    }
    return false;
}

static nl_status refuse(nl_cursor *in, const bytes_left *left, bool fits)
{
    in->offset = (size_t)(left->at - in->data);
    if (!fits) return nl_cursor_corrupt(in, "a number that does not fit its type");
    return nl_cursor_corrupt(in, "a value of more bytes than are left");
}

nl_status nl_avro_direct_row(nl_avro_direct *fields, uint32_t count, uint32_t row, nl_memory *memory, nl_cursor *in)
{
    bytes_left left = {in->data + in->offset, in->data + in->length};
    for (uint32_t i = 0; i < count; i++) {
        nl_avro_direct *field = &fields[i];
        bool fits = true;
        if (field->null_branch >= 0) {
            int64_t branch = 0;
            if (!take_long(&left, &branch)) return refuse(in, &left, true);
            if (branch == field->null_branch) {
                if (!field->is_skipped) NL_TRY(set_null(field, row, memory));
                continue;
            }
            if (branch != 1 - field->null_branch) {
                in->offset = (size_t)(left.at - in->data);
                return nl_cursor_corrupt(in, "branch %lld of a union of 2 types", (long long)branch);
            }
        }
        if (!decode_value(field, row, &left, &fits)) return refuse(in, &left, fits);
    }
    in->offset = (size_t)(left.at - in->data);
    return NULL;
}
