/* format/orc/proto.h - the wire form of Protocol Buffers, as far as ORC's metadata uses it: messages are walked field by
 * field, and written field by field. Unknown fields are passed over.
 */
#pragma once

#include "base/cursor.h"
#include "format/parquet/bytes_out.h"

typedef enum nl_proto_wire { NL_PROTO_VARINT = 0, NL_PROTO_FIXED64 = 1, NL_PROTO_BYTES = 2, NL_PROTO_FIXED32 = 5 } nl_proto_wire;

typedef struct nl_proto_field {
    uint32_t number;
    nl_proto_wire wire;
    uint64_t value;   /* VARINT, FIXED64, FIXED32 */
    nl_cursor bytes;  /* BYTES: over the message's own bytes */
} nl_proto_field;

/* The next field. False at the end, or after a failure, which the cursor remembers. */
bool nl_proto_next(nl_cursor *in, nl_proto_field *field);
/* Of repeated numbers, packed or one by one: call until false. *is_started is false before the first call. */
bool nl_proto_next_number(nl_proto_field *field, bool *is_started, uint64_t *value);
static inline int64_t nl_proto_signed(uint64_t value) /* sint32, sint64 */
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}
static inline nl_str nl_proto_str(const nl_proto_field *field) /* borrowed from the message */
{
    return (nl_str){(const char *)field->bytes.data, field->wire == NL_PROTO_BYTES ? field->bytes.length : 0};
}
double nl_proto_double(const nl_proto_field *field);

/* ---- Writing ---- */

NL_MUST_USE nl_status nl_proto_put_varint(nl_bytes_out *out, uint64_t value); /* without a field number */
NL_MUST_USE nl_status nl_proto_put_number(nl_bytes_out *out, uint32_t number, uint64_t value);
NL_MUST_USE nl_status nl_proto_put_signed(nl_bytes_out *out, uint32_t number, int64_t value);
NL_MUST_USE nl_status nl_proto_put_double(nl_bytes_out *out, uint32_t number, double value);
NL_MUST_USE nl_status nl_proto_put_bytes(nl_bytes_out *out, uint32_t number, const void *bytes, size_t length);
static inline nl_status nl_proto_put_str(nl_bytes_out *out, uint32_t number, nl_str text)
{
    return nl_proto_put_bytes(out, number, text.data, text.length);
}
