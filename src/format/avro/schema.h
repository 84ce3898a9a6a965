/* format/avro/schema.h - Avro schemas as trees (Avro specification 1.12, "Schema Declaration"), with the attributes that
 * Iceberg adds: field-id, element-id, key-id, value-id, adjust-to-utc, and the logical type `map` of arrays.
 *
 * Named types are resolved; a type that contains itself is refused, since no column type can hold it. Trees live in the
 * arena they were parsed into.
 */
#pragma once

#include "base/arena.h"
#include "base/cursor.h"

typedef enum nl_avro_kind {
    NL_AVRO_NULL,
    NL_AVRO_BOOLEAN,
    NL_AVRO_INT,
    NL_AVRO_LONG,
    NL_AVRO_FLOAT,
    NL_AVRO_DOUBLE,
    NL_AVRO_BYTES,
    NL_AVRO_STRING,
    NL_AVRO_RECORD,
    NL_AVRO_ENUM,
    NL_AVRO_ARRAY,
    NL_AVRO_MAP,
    NL_AVRO_UNION,
    NL_AVRO_FIXED
} nl_avro_kind;

typedef enum nl_avro_logical {
    NL_AVRO_PLAIN,
    NL_AVRO_DECIMAL,          /* of BYTES or FIXED */
    NL_AVRO_UUID,             /* of STRING or FIXED 16 */
    NL_AVRO_DATE,
    NL_AVRO_TIME_MILLIS,
    NL_AVRO_TIME_MICROS,
    NL_AVRO_TIMESTAMP_MILLIS, /* adjusts_to_utc says whether it is an instant */
    NL_AVRO_TIMESTAMP_MICROS,
    NL_AVRO_TIMESTAMP_NANOS,
    NL_AVRO_LOGICAL_MAP,      /* of ARRAY: items are records of key and value */
    NL_AVRO_VARIANT           /* of RECORD: metadata and value */
} nl_avro_logical;

typedef struct nl_avro_type nl_avro_type;

typedef struct nl_avro_field {
    nl_str name;      /* as Iceberg knows it: the attribute iceberg-field-name when there is one */
    int32_t field_id; /* 0: none. ARRAY: element-id, MAP: value-id */
    const nl_avro_type *type;
} nl_avro_field;

struct nl_avro_type {
    nl_avro_kind kind;
    nl_avro_logical logical;
    uint8_t precision; /* DECIMAL */
    uint8_t scale;
    bool adjusts_to_utc;
    uint32_t size_bytes; /* FIXED */
    nl_str name;         /* RECORD, ENUM, FIXED: the full name */
    int32_t key_id;      /* MAP */
    uint32_t field_count;
    const nl_avro_field *fields; /* RECORD: fields; ARRAY 1: item; MAP 1: value; UNION: branches (no names) */
    uint32_t symbol_count;
    const nl_str *symbols; /* ENUM */
    uint32_t bytes_min;    /* the least an encoded value takes */
    uint32_t node_count;   /* of the tree, named types counted wherever they are used */
};

/* path: the file, for errors. Fails: NILAS_CORRUPT_FILE; NILAS_UNSUPPORTED for recursive types. */
NL_MUST_USE nl_status nl_avro_schema_parse(nl_arena *arena, nl_str json, nl_str path, const nl_avro_type **type);
/* The other branch of a union of null and one type, or `type` itself. *null_branch is the index of null, or -1. */
const nl_avro_type *nl_avro_unwrap(const nl_avro_type *type, int32_t *null_branch);
bool nl_avro_has_field_ids(const nl_avro_type *type); /* anywhere in it */

/* Moves the cursor behind one value. Bounded by the bytes there are, whatever counts the value claims. */
NL_MUST_USE nl_status nl_avro_skip(const nl_avro_type *type, nl_cursor *in);
/* The count of an array's or map's next block: 0 at its end. *block_bytes is -1 when the writer gave none. */
NL_MUST_USE nl_status nl_avro_block_count(nl_cursor *in, uint32_t item_bytes_min, uint64_t *count, int64_t *block_bytes);
/* A length-prefixed value's bytes, borrowed from the cursor. */
NL_MUST_USE nl_status nl_avro_bytes(nl_cursor *in, nl_bytes *bytes);
/* The branch of a union, checked. */
NL_MUST_USE nl_status nl_avro_branch(const nl_avro_type *type, nl_cursor *in, uint32_t *branch);
