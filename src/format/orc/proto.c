/* format/orc/proto.c - see proto.h. Source: Protocol Buffers, Encoding. */
#include "format/orc/proto.h"

bool nl_proto_next(nl_cursor *in, nl_proto_field *field)
{
    if (in->has_failed || nl_cursor_remaining(in) == 0) return false;
    const uint64_t key = nl_cursor_uvarint(in);
    *field = (nl_proto_field){.number = (uint32_t)(key >> 3), .wire = (nl_proto_wire)(key & 7)};
    if (key >> 3 == 0 || key >> 3 > UINT32_MAX) nl_cursor_fail(in);
    switch (field->wire) {
    case NL_PROTO_VARINT: field->value = nl_cursor_uvarint(in); break;
    case NL_PROTO_FIXED64: field->value = nl_cursor_u64(in); break;
    case NL_PROTO_FIXED32: field->value = nl_cursor_u32(in); break;
    case NL_PROTO_BYTES: {
        const uint64_t length = nl_cursor_uvarint(in);
        if (length > nl_cursor_remaining(in)) nl_cursor_fail(in);
        const size_t start = in->offset;
        const nl_bytes bytes = nl_cursor_bytes(in, in->has_failed ? 0 : (size_t)length);
        field->bytes = nl_cursor_over(bytes.data, bytes.length, in->path);
        field->bytes.file_offset = in->file_offset + start;
        field->bytes.column = in->column;
        break;
    }
    default: nl_cursor_fail(in);
    }
    return !in->has_failed;
}

bool nl_proto_next_number(nl_proto_field *field, bool *is_started, uint64_t *value)
{
    if (field->wire == NL_PROTO_BYTES) {
        *is_started = true;
        if (field->bytes.has_failed || nl_cursor_remaining(&field->bytes) == 0) return false;
        *value = nl_cursor_uvarint(&field->bytes);
        return !field->bytes.has_failed;
    }
    if (*is_started) return false;
    *is_started = true;
    *value = field->value;
    return true;
}

double nl_proto_double(const nl_proto_field *field)
{
    double value;
    memcpy(&value, &field->value, sizeof(value));
    return value;
}

nl_status nl_proto_put_varint(nl_bytes_out *out, uint64_t value)
{
    NL_TRY(nl_bytes_out_reserve(out, 10));
    while (value >= 0x80) {
        out->data[out->length++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out->data[out->length++] = (uint8_t)value;
    return NULL;
}

nl_status nl_proto_put_number(nl_bytes_out *out, uint32_t number, uint64_t value)
{
    NL_TRY(nl_proto_put_varint(out, (uint64_t)number << 3 | NL_PROTO_VARINT));
    return nl_proto_put_varint(out, value);
}

nl_status nl_proto_put_signed(nl_bytes_out *out, uint32_t number, int64_t value)
{
    return nl_proto_put_number(out, number, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

nl_status nl_proto_put_double(nl_bytes_out *out, uint32_t number, double value)
{
    NL_TRY(nl_proto_put_varint(out, (uint64_t)number << 3 | NL_PROTO_FIXED64));
    return nl_bytes_out_add(out, &value, sizeof(value));
}

nl_status nl_proto_put_bytes(nl_bytes_out *out, uint32_t number, const void *bytes, size_t length)
{
    NL_TRY(nl_proto_put_varint(out, (uint64_t)number << 3 | NL_PROTO_BYTES));
    NL_TRY(nl_proto_put_varint(out, length));
    return nl_bytes_out_add(out, bytes, length);
}
