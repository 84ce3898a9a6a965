/* format/parquet/thrift.h - Thrift's compact protocol by hand: what Parquet's headers are made of.
 *
 * Reading goes through an nl_cursor, so everything is bounds-checked and asked once at the end. A field whose wire type
 * is not the expected one is skipped, as Thrift's own readers do.
 * Source: Apache Thrift, doc/specs/thrift-compact-protocol.md.
 */
#pragma once

#include "base/cursor.h"
#include "base/str.h"

typedef enum nl_thrift_type {
    NL_THRIFT_STOP,
    NL_THRIFT_TRUE,
    NL_THRIFT_FALSE,
    NL_THRIFT_I8,
    NL_THRIFT_I16,
    NL_THRIFT_I32,
    NL_THRIFT_I64,
    NL_THRIFT_DOUBLE,
    NL_THRIFT_BINARY,
    NL_THRIFT_LIST,
    NL_THRIFT_SET,
    NL_THRIFT_MAP,
    NL_THRIFT_STRUCT
} nl_thrift_type;

/* Where a struct being read stands. Start a struct with {0}. */
typedef struct nl_thrift_field {
    int16_t id;
    uint8_t type; /* nl_thrift_type */
} nl_thrift_field;

/* Goes to the next field of a struct. False at its end or after a failure. Each field must be read or skipped. */
bool nl_thrift_next(nl_cursor *in, nl_thrift_field *field);
void nl_thrift_skip(nl_cursor *in, const nl_thrift_field *field);

/* Each reads the field into *value and is true, or skips a field of another type and is false. */
bool nl_thrift_bool(nl_cursor *in, const nl_thrift_field *field, bool *value);
bool nl_thrift_i32(nl_cursor *in, const nl_thrift_field *field, int32_t *value); /* I8, I16, I32 */
bool nl_thrift_i64(nl_cursor *in, const nl_thrift_field *field, int64_t *value); /* I8 … I64     */
bool nl_thrift_binary(nl_cursor *in, const nl_thrift_field *field, nl_bytes *value); /* borrowed */
/* The head of a list; its elements follow. *count is at most the number of bytes that are left. */
bool nl_thrift_list(nl_cursor *in, const nl_thrift_field *field, uint8_t element_type, uint32_t *count);
bool nl_thrift_is_struct(nl_cursor *in, const nl_thrift_field *field); /* true: its fields follow */
/* Elements of lists. */
bool nl_thrift_element_bool(nl_cursor *in);
int32_t nl_thrift_element_i32(nl_cursor *in);
int64_t nl_thrift_element_i64(nl_cursor *in);
nl_bytes nl_thrift_element_binary(nl_cursor *in);

/* Writing. *last is the id of the struct's previous field, 0 at its start. */
void nl_thrift_put_bool(nl_builder *out, int16_t *last, int16_t id, bool value);
void nl_thrift_put_i8(nl_builder *out, int16_t *last, int16_t id, int8_t value);
void nl_thrift_put_i32(nl_builder *out, int16_t *last, int16_t id, int32_t value);
void nl_thrift_put_i64(nl_builder *out, int16_t *last, int16_t id, int64_t value);
void nl_thrift_put_binary(nl_builder *out, int16_t *last, int16_t id, nl_bytes value);
void nl_thrift_put_str(nl_builder *out, int16_t *last, int16_t id, nl_str value);
void nl_thrift_put_struct(nl_builder *out, int16_t *last, int16_t id); /* its fields follow, then nl_thrift_end */
void nl_thrift_put_list(nl_builder *out, int16_t *last, int16_t id, nl_thrift_type element_type, uint32_t count);
void nl_thrift_put_empty_struct(nl_builder *out, int16_t *last, int16_t id);
void nl_thrift_end(nl_builder *out);
void nl_thrift_element_put_bool(nl_builder *out, bool value);
void nl_thrift_element_put_i32(nl_builder *out, int32_t value);
void nl_thrift_element_put_i64(nl_builder *out, int64_t value);
void nl_thrift_element_put_binary(nl_builder *out, nl_bytes value);
