/* iceberg/schema.h - Iceberg's types and schemas (spec: "Schemas and Data Types", "Schema Evolution", Appendix C).
 *
 * Types, fields and schemas are immutable and live in the arena they were made in. Iceberg's types are more than
 * Spark's, so they are a type of their own; two conversions lead to column/type.h:
 *   nl_ice_type_storage  how values lie in manifests, bounds and defaults: uuid and fixed are BINARY, time and the
 *                        nanosecond timestamps BIGINT. Every Iceberg type has one.
 *   nl_ice_type_to_sql   what Spark shows: uuid is STRING, fixed BINARY; time and nanoseconds are refused.
 */
#pragma once

#include <jansson.h>

#include "column/value.h"

typedef enum nl_ice_type_id {
    NL_ICE_UNKNOWN,
    NL_ICE_BOOLEAN,
    NL_ICE_INT,
    NL_ICE_LONG,
    NL_ICE_FLOAT,
    NL_ICE_DOUBLE,
    NL_ICE_DECIMAL,
    NL_ICE_DATE,
    NL_ICE_TIME,           /* microseconds of the day */
    NL_ICE_TIMESTAMP,      /* without zone            */
    NL_ICE_TIMESTAMPTZ,
    NL_ICE_TIMESTAMP_NS,
    NL_ICE_TIMESTAMPTZ_NS,
    NL_ICE_STRING,
    NL_ICE_UUID,
    NL_ICE_FIXED,
    NL_ICE_BINARY,
    NL_ICE_VARIANT,
    NL_ICE_GEOMETRY,
    NL_ICE_GEOGRAPHY,
    NL_ICE_STRUCT,
    NL_ICE_LIST,           /* one child, "element"        */
    NL_ICE_MAP             /* two children, "key", "value" */
} nl_ice_type_id;

typedef struct nl_ice_type nl_ice_type;

typedef struct nl_ice_field {
    int32_t id;
    nl_str name;
    bool is_required;
    const nl_ice_type *type;
    nl_str doc;                      /* data NULL: none */
    const nl_value *initial_default; /* of the storage type; NULL: none */
    const nl_value *write_default;
} nl_ice_field;

struct nl_ice_type {
    nl_ice_type_id id;
    uint8_t precision;          /* DECIMAL */
    uint8_t scale;
    uint32_t length;            /* FIXED, bytes */
    nl_str parameters;          /* GEOMETRY, GEOGRAPHY: what stands in the parentheses, or empty */
    uint32_t field_count;       /* STRUCT n, LIST 1, MAP 2 */
    const nl_ice_field *fields;
};

const nl_ice_type *nl_ice_type_of(nl_ice_type_id id);                     /* static: types without parameters */
const nl_ice_type *nl_ice_type_decimal(nl_arena *arena, uint8_t precision, uint8_t scale);
const nl_ice_type *nl_ice_type_fixed(nl_arena *arena, uint32_t length);
const nl_ice_type *nl_ice_type_struct(nl_arena *arena, const nl_ice_field *fields, uint32_t field_count); /* array copied, strings not */
const nl_ice_type *nl_ice_type_list(nl_arena *arena, int32_t element_id, const nl_ice_type *element, bool is_required);
const nl_ice_type *nl_ice_type_map(nl_arena *arena, int32_t key_id, const nl_ice_type *key, int32_t value_id, const nl_ice_type *value,
                                   bool is_value_required);
const nl_ice_type *nl_ice_type_copy(nl_arena *arena, const nl_ice_type *type); /* deep */
nl_ice_field nl_ice_field_copy(nl_arena *arena, const nl_ice_field *field);    /* deep */
static inline bool nl_ice_type_is_nested(const nl_ice_type *type)
{
    return type->id >= NL_ICE_STRUCT;
}
/* Same type including ids, names, requiredness, docs and defaults of nested fields, as Java's Type.equals. */
bool nl_ice_type_equal(const nl_ice_type *a, const nl_ice_type *b);
bool nl_ice_field_equal(const nl_ice_field *a, const nl_ice_field *b);
/* "decimal(10, 2)", "struct<1: a: optional int>": as Java's Type.toString, for messages. */
nl_str nl_ice_type_name(nl_arena *arena, const nl_ice_type *type);
void nl_ice_type_append_name(const nl_ice_type *type, nl_builder *out);
/* int→long, float→double, decimal widening, and in v3 date→timestamp, unknown→any. */
bool nl_ice_type_can_promote(const nl_ice_type *from, const nl_ice_type *to, int32_t format_version);

const nl_type *nl_ice_type_storage(nl_arena *arena, const nl_ice_type *type);
/* field ids, nullability and docs are kept. Fails: NILAS_UNSUPPORTED ("Cannot convert unsupported type …"). */
NL_MUST_USE nl_status nl_ice_type_to_sql(nl_arena *arena, const nl_ice_type *type, const nl_type **sql);
/* Spark's type to Iceberg's. Ids are those of the nl_fields (0 where none: assign fresh ones afterwards). TINYINT and
 * SMALLINT become int, CHAR and VARCHAR string. Fails: "Not a supported type: interval day". */
NL_MUST_USE nl_status nl_ice_type_from_sql(nl_arena *arena, const nl_type *sql, const nl_ice_type **type);

/* Where a field stands in its schema. */
typedef struct nl_schema_column {
    const nl_ice_field *field;
    nl_str full_name;   /* "st.a", "m.key", "b.element.c" */
    nl_str short_name;  /* without ".element" and ".value" before struct fields: Java's alias; often the same data */
    int32_t parent_id;  /* of the enclosing field; 0 at the top */
    uint32_t position;  /* among its parent's fields */
} nl_schema_column;

typedef struct nl_schema_name {
    nl_str name;
    const nl_schema_column *column;
} nl_schema_name;

typedef struct nl_schema {
    int32_t schema_id;
    const nl_ice_type *root;          /* STRUCT */
    uint32_t identifier_count;
    const int32_t *identifier_ids;    /* ascending */
    int32_t highest_field_id;         /* 0 when empty */
    uint32_t column_count;            /* nested ones included */
    const nl_schema_column *columns;  /* by field id, ascending */
    uint32_t name_count;
    const nl_schema_name *by_name;       /* full and short names, ascending by bytes */
    const nl_schema_name *by_lower_name; /* the same in lower case (ASCII); of equal ones the first column */
    const json_t *unknown;            /* keys of the JSON that nilas does not know, or NULL; borrowed from the arena */
} nl_schema;

/* Fails: duplicate ids or names, identifier fields that break the rules. root is borrowed by the schema. */
NL_MUST_USE nl_status nl_schema_new(nl_arena *arena, int32_t schema_id, const nl_ice_type *root, const int32_t *identifier_ids,
                                    uint32_t identifier_count, const nl_schema **schema);
const nl_schema *nl_schema_copy(nl_arena *arena, const nl_schema *schema); /* deep */
const nl_schema_column *nl_schema_find_id(const nl_schema *schema, int32_t field_id);                    /* or NULL */
const nl_schema_column *nl_schema_find_name(const nl_schema *schema, nl_str name, bool is_case_sensitive); /* dotted; or NULL */
bool nl_schema_same(const nl_schema *a, const nl_schema *b); /* equal struct and identifier fields: the id can be reused */
/* Fails when a type or default needs a later format version: "Invalid type for va: variant is not supported until v3". */
NL_MUST_USE nl_status nl_schema_check_version(const nl_schema *schema, int32_t format_version);

/* JSON (Appendix C). Reading takes depth limits and checks everything; `path` names the file in errors. */
NL_MUST_USE nl_status nl_ice_type_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_ice_type **type);
NL_MUST_USE nl_status nl_schema_from_json(nl_arena *arena, const json_t *json, nl_str path, const nl_schema **schema);
void nl_ice_type_append_json(const nl_ice_type *type, nl_builder *out);
void nl_schema_append_json(const nl_schema *schema, nl_builder *out);

/* Fresh ids: a struct's own fields first, then each child is descended in order. *last_id is the last id used so far
 * and is moved. A field of `base` (may be NULL) with the same full name keeps its id when base is given (RTAS). */
NL_MUST_USE nl_status nl_schema_assign_fresh_ids(nl_arena *arena, const nl_ice_type *root, const nl_schema *base, int32_t *last_id,
                                                 const nl_ice_type **fresh);

/* Single values. The binary form is Appendix D's, the JSON form Appendix C's. Types here are Iceberg's; values have the
 * storage type. Bounds of promoted columns may be shorter (4-byte int for a long), which decoding accepts. */
NL_MUST_USE nl_status nl_single_value_decode(const nl_ice_type *type, nl_bytes bytes, nl_arena *arena, nl_value *value);
NL_MUST_USE nl_status nl_single_value_encode(const nl_ice_type *type, const nl_value *value, nl_arena *arena, nl_bytes *bytes);
NL_MUST_USE nl_status nl_single_value_from_json(const nl_ice_type *type, const json_t *json, nl_str path, nl_arena *arena, nl_value *value);
void nl_single_value_append_json(const nl_ice_type *type, const nl_value *value, nl_builder *out);
/* "2017-11-16T22:31:08.5+00:00" without quotes; type is one of the timestamps. */
void nl_timestamp_append_iso(const nl_ice_type *type, int64_t value, nl_builder *out);
void nl_uuid_append(nl_str bytes, nl_builder *out); /* 16 bytes as 8-4-4-4-12 */

/* Reserved ids of metadata columns (spec: "Reserved Field IDs"). */
#define NL_FIELD_ID_FILE                 2147483646
#define NL_FIELD_ID_POS                  2147483645
#define NL_FIELD_ID_DELETED              2147483644
#define NL_FIELD_ID_SPEC_ID              2147483643
#define NL_FIELD_ID_PARTITION            2147483642
#define NL_FIELD_ID_DELETE_FILE_PATH     2147483546
#define NL_FIELD_ID_DELETE_FILE_POS      2147483545
#define NL_FIELD_ID_DELETE_FILE_ROW      2147483544
#define NL_FIELD_ID_CHANGE_TYPE          2147483543
#define NL_FIELD_ID_CHANGE_ORDINAL       2147483542
#define NL_FIELD_ID_COMMIT_SNAPSHOT_ID   2147483541
#define NL_FIELD_ID_ROW_ID               2147483540
#define NL_FIELD_ID_LAST_UPDATED_SEQUENCE_NUMBER 2147483539
