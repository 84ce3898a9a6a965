/* format/parquet/thrift.c - fields are a type and the distance to the previous id in one byte, or the id in full. */
#include "format/parquet/thrift.h"

#include "base/limits.h"

#define SKIP_DEPTH_MAX 64

bool nl_thrift_next(nl_cursor *in, nl_thrift_field *field)
{
    const uint8_t head = nl_cursor_u8(in);
    field->type = head & 0x0f;
    if (in->has_failed || field->type == NL_THRIFT_STOP) return false;
    const int distance = head >> 4;
    const int64_t id = distance != 0 ? field->id + distance : nl_cursor_zigzag(in);
    if (id < INT16_MIN || id > INT16_MAX || field->type > NL_THRIFT_STRUCT) nl_cursor_fail(in);
    field->id = (int16_t)id;
    return !in->has_failed;
}

/* True recursion: Thrift values nest. The depth limit keeps hostile input off the stack. */
static void skip_value(nl_cursor *in, uint8_t type, bool is_element, int depth);

static void skip_items(nl_cursor *in, uint8_t type, uint8_t other_type, uint64_t count, int depth)
{
    if (count > nl_cursor_remaining(in)) nl_cursor_fail(in); /* every element takes a byte at least */
    for (uint64_t i = 0; i < count && !in->has_failed; i++) {
        skip_value(in, type, true, depth + 1);
        if (other_type != NL_THRIFT_STOP) skip_value(in, other_type, true, depth + 1);
    }
}

static void skip_value(nl_cursor *in, uint8_t type, bool is_element, int depth)
{
    if (depth > SKIP_DEPTH_MAX) nl_cursor_fail(in);
    if (in->has_failed) return;
    switch (type) {
    case NL_THRIFT_TRUE:
    case NL_THRIFT_FALSE:
        if (is_element) nl_cursor_skip(in, 1);
        return;
    case NL_THRIFT_I8:
        nl_cursor_skip(in, 1);
        return;
    case NL_THRIFT_I16:
    case NL_THRIFT_I32:
    case NL_THRIFT_I64:
        (void)nl_cursor_uvarint(in);
        return;
    case NL_THRIFT_DOUBLE:
        nl_cursor_skip(in, 8);
        return;
    case NL_THRIFT_BINARY:
        nl_cursor_skip(in, nl_cursor_uvarint32(in));
        return;
    case NL_THRIFT_LIST:
    case NL_THRIFT_SET: {
        const uint8_t head = nl_cursor_u8(in);
        const uint64_t count = (head >> 4) == 15 ? nl_cursor_uvarint32(in) : (uint64_t)(head >> 4);
        skip_items(in, head & 0x0f, NL_THRIFT_STOP, count, depth);
        return;
    }
    case NL_THRIFT_MAP: {
        const uint64_t count = nl_cursor_uvarint32(in);
        if (count == 0) return;
        const uint8_t types = nl_cursor_u8(in);
        skip_items(in, types >> 4, types & 0x0f, count, depth);
        return;
    }
    case NL_THRIFT_STRUCT: {
        nl_thrift_field field = {0};
        while (nl_thrift_next(in, &field)) skip_value(in, field.type, false, depth + 1);
        return;
    }
    default:
        nl_cursor_fail(in);
    }
}

void nl_thrift_skip(nl_cursor *in, const nl_thrift_field *field)
{
    skip_value(in, field->type, false, 0);
}

bool nl_thrift_bool(nl_cursor *in, const nl_thrift_field *field, bool *value)
{
    if (field->type == NL_THRIFT_TRUE || field->type == NL_THRIFT_FALSE) {
        *value = field->type == NL_THRIFT_TRUE;
        return true;
    }
    nl_thrift_skip(in, field);
    return false;
}

bool nl_thrift_i64(nl_cursor *in, const nl_thrift_field *field, int64_t *value)
{
    if (field->type == NL_THRIFT_I8) {
        *value = (int8_t)nl_cursor_u8(in);
        return !in->has_failed;
    }
    if (field->type >= NL_THRIFT_I16 && field->type <= NL_THRIFT_I64) {
        *value = nl_cursor_zigzag(in);
        return !in->has_failed;
    }
    nl_thrift_skip(in, field);
    return false;
}

bool nl_thrift_i32(nl_cursor *in, const nl_thrift_field *field, int32_t *value)
{
    int64_t wide = 0;
    if (!nl_thrift_i64(in, field, &wide)) return false;
    if (wide < INT32_MIN || wide > INT32_MAX) {
        nl_cursor_fail(in);
        return false;
    }
    *value = (int32_t)wide;
    return true;
}

bool nl_thrift_binary(nl_cursor *in, const nl_thrift_field *field, nl_bytes *value)
{
    if (field->type != NL_THRIFT_BINARY) {
        nl_thrift_skip(in, field);
        return false;
    }
    *value = nl_thrift_element_binary(in);
    return !in->has_failed;
}

bool nl_thrift_list(nl_cursor *in, const nl_thrift_field *field, uint8_t element_type, uint32_t *count)
{
    if (field->type != NL_THRIFT_LIST) {
        nl_thrift_skip(in, field);
        return false;
    }
    const size_t start = in->offset;
    const uint8_t head = nl_cursor_u8(in);
    const uint32_t length = (head >> 4) == 15 ? nl_cursor_uvarint32(in) : (uint32_t)(head >> 4);
    const uint8_t type = head & 0x0f;
    const bool is_bool = element_type == NL_THRIFT_TRUE && type == NL_THRIFT_FALSE;
    if (length > nl_cursor_remaining(in)) nl_cursor_fail(in);
    if (in->has_failed) return false;
    if (type != element_type && !is_bool && length > 0) {
        in->offset = start;
        nl_thrift_skip(in, field);
        return false;
    }
    *count = length;
    return true;
}

bool nl_thrift_is_struct(nl_cursor *in, const nl_thrift_field *field)
{
    if (field->type == NL_THRIFT_STRUCT) return true;
    nl_thrift_skip(in, field);
    return false;
}

bool nl_thrift_element_bool(nl_cursor *in)
{
    return nl_cursor_u8(in) == NL_THRIFT_TRUE;
}

int32_t nl_thrift_element_i32(nl_cursor *in)
{
    const int64_t wide = nl_cursor_zigzag(in);
    if (wide < INT32_MIN || wide > INT32_MAX) nl_cursor_fail(in);
    return in->has_failed ? 0 : (int32_t)wide;
}

int64_t nl_thrift_element_i64(nl_cursor *in)
{
    return nl_cursor_zigzag(in);
}

nl_bytes nl_thrift_element_binary(nl_cursor *in)
{
    return nl_cursor_bytes(in, nl_cursor_uvarint32(in));
}

static void put_uvarint(nl_builder *out, uint64_t value)
{
    char bytes[10];
    size_t length = 0;
    while (value >= 0x80) {
        bytes[length++] = (char)(uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[length++] = (char)(uint8_t)value;
    nl_append(out, (nl_str){bytes, length});
}

static void put_zigzag(nl_builder *out, int64_t value)
{
    put_uvarint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void put_head(nl_builder *out, int16_t *last, int16_t id, uint8_t type)
{
    const int distance = id - *last;
    *last = id;
    if (distance > 0 && distance <= 15) {
        nl_append_char(out, (char)(uint8_t)(distance << 4 | type));
        return;
    }
    nl_append_char(out, (char)type);
    put_zigzag(out, id);
}

void nl_thrift_put_bool(nl_builder *out, int16_t *last, int16_t id, bool value)
{
    put_head(out, last, id, value ? NL_THRIFT_TRUE : NL_THRIFT_FALSE);
}

void nl_thrift_put_i8(nl_builder *out, int16_t *last, int16_t id, int8_t value)
{
    put_head(out, last, id, NL_THRIFT_I8);
    nl_append_char(out, (char)value);
}

void nl_thrift_put_i32(nl_builder *out, int16_t *last, int16_t id, int32_t value)
{
    put_head(out, last, id, NL_THRIFT_I32);
    put_zigzag(out, value);
}

void nl_thrift_put_i64(nl_builder *out, int16_t *last, int16_t id, int64_t value)
{
    put_head(out, last, id, NL_THRIFT_I64);
    put_zigzag(out, value);
}

void nl_thrift_put_binary(nl_builder *out, int16_t *last, int16_t id, nl_bytes value)
{
    put_head(out, last, id, NL_THRIFT_BINARY);
    nl_thrift_element_put_binary(out, value);
}

void nl_thrift_put_str(nl_builder *out, int16_t *last, int16_t id, nl_str value)
{
    nl_thrift_put_binary(out, last, id, (nl_bytes){(const uint8_t *)value.data, value.length});
}

void nl_thrift_put_struct(nl_builder *out, int16_t *last, int16_t id)
{
    put_head(out, last, id, NL_THRIFT_STRUCT);
}

void nl_thrift_put_list(nl_builder *out, int16_t *last, int16_t id, nl_thrift_type element_type, uint32_t count)
{
    put_head(out, last, id, NL_THRIFT_LIST);
    if (count < 15) {
        nl_append_char(out, (char)(uint8_t)(count << 4 | element_type));
        return;
    }
    nl_append_char(out, (char)(uint8_t)(0xf0u | element_type));
    put_uvarint(out, count);
}

void nl_thrift_put_empty_struct(nl_builder *out, int16_t *last, int16_t id)
{
    nl_thrift_put_struct(out, last, id);
    nl_thrift_end(out);
}

void nl_thrift_end(nl_builder *out)
{
    nl_append_char(out, '\0');
}

void nl_thrift_element_put_bool(nl_builder *out, bool value)
{
    nl_append_char(out, value ? NL_THRIFT_TRUE : NL_THRIFT_FALSE);
}

void nl_thrift_element_put_i32(nl_builder *out, int32_t value)
{
    put_zigzag(out, value);
}

void nl_thrift_element_put_i64(nl_builder *out, int64_t value)
{
    put_zigzag(out, value);
}

void nl_thrift_element_put_binary(nl_builder *out, nl_bytes value)
{
    put_uvarint(out, value.length);
    nl_append(out, (nl_str){(const char *)value.data, value.length});
}
