/* column/type.h - Spark's types and how their values lie in memory.
 *
 * Types are immutable. The ones without parameters are static singletons (nl_type_int() …); the others live in the
 * arena they were made in, which must outlive every vector and plan that mentions them.
 */
#pragma once

#include "base/arena.h"

typedef enum nl_type_id {
    NL_TYPE_NULL,           /* void: every value is null                                                          */
    NL_TYPE_BOOLEAN,
    NL_TYPE_TINYINT,
    NL_TYPE_SMALLINT,
    NL_TYPE_INT,
    NL_TYPE_BIGINT,
    NL_TYPE_FLOAT,
    NL_TYPE_DOUBLE,
    NL_TYPE_DECIMAL,        /* precision 1…38, scale 0…precision                                                  */
    NL_TYPE_STRING,         /* with a collation; CHAR(n) and VARCHAR(n) are strings with a length                 */
    NL_TYPE_BINARY,
    NL_TYPE_DATE,
    NL_TYPE_TIMESTAMP,      /* with local time zone                                                               */
    NL_TYPE_TIMESTAMP_NTZ,
    NL_TYPE_INTERVAL_YM,    /* year-month family; start and end field                                             */
    NL_TYPE_INTERVAL_DT,    /* day-time family; start and end field                                               */
    NL_TYPE_INTERVAL,       /* CalendarInterval: months, days, microseconds                                       */
    NL_TYPE_ARRAY,
    NL_TYPE_MAP,
    NL_TYPE_STRUCT,
    NL_TYPE_VARIANT,
    NL_TYPE_COUNT
} nl_type_id;

/* How values lie in a flat vector's `values`. */
typedef enum nl_physical {
    NL_PHYS_NONE,     /* NULL type: no values                                                  */
    NL_PHYS_BOOL,     /* one byte per row, 0 or 1 (bytes, not bits: kernels vectorise better)  */
    NL_PHYS_I8,
    NL_PHYS_I16,
    NL_PHYS_I32,      /* INT, DATE (days), INTERVAL_YM (months)                                */
    NL_PHYS_I64,      /* BIGINT, TIMESTAMP* (microseconds), INTERVAL_DT (microseconds), DECIMAL p<=18 (unscaled) */
    NL_PHYS_I128,     /* DECIMAL p>18: nl_int128, 16-byte aligned                              */
    NL_PHYS_F32,
    NL_PHYS_F64,
    NL_PHYS_STRING,   /* nl_string_view: STRING, BINARY                                        */
    NL_PHYS_INTERVAL, /* nl_interval                                                           */
    NL_PHYS_LIST,     /* nl_list_view {offset, length} into child 0: ARRAY. MAP: children 0 key, 1 value, same views */
    NL_PHYS_STRUCT,   /* no values of its own; children have the parent's row positions. VARIANT: children 0 metadata, 1 value (BINARY) */
} nl_physical;

typedef enum nl_string_kind { NL_STRING_PLAIN, NL_STRING_CHAR, NL_STRING_VARCHAR } nl_string_kind;
typedef enum nl_interval_field { NL_FIELD_YEAR, NL_FIELD_MONTH, NL_FIELD_DAY, NL_FIELD_HOUR, NL_FIELD_MINUTE, NL_FIELD_SECOND } nl_interval_field;

typedef struct nl_type nl_type;

typedef struct nl_field {
    nl_str name;
    const nl_type *type;
    bool is_nullable;
    nl_str comment;   /* empty: none */
    int32_t field_id; /* Iceberg column id; 0: none */
    nl_str metadata;  /* of a DataFrame's column: a JSON object; empty: none */
} nl_field;

struct nl_type {
    nl_type_id id;
    nl_physical physical;
    uint8_t precision;            /* DECIMAL; timestamps in Trino's dialect: digits shown behind the second and 1, 0: six. No part of equality there */
    uint8_t scale;                /* DECIMAL */
    uint8_t start_field;          /* intervals: nl_interval_field */
    uint8_t end_field;
    uint8_t string_kind;          /* nl_string_kind */
    bool contains_null;           /* ARRAY: elements; MAP: values */
    uint32_t length;              /* CHAR, VARCHAR: characters */
    nl_str collation;             /* STRING: empty is UTF8_BINARY */
    uint32_t child_count;         /* ARRAY 1 (element), MAP 2 (key, value), STRUCT n; VARIANT 0 */
    const nl_field *children;     /* names of ARRAY/MAP children: "element", "key", "value" */
};

typedef struct nl_interval {
    int32_t months;
    int32_t days;
    int64_t micros;
} nl_interval;

const nl_type *nl_type_of(nl_type_id id); /* singletons: all but DECIMAL, ARRAY, MAP, STRUCT; intervals with their full range */
static inline const nl_type *nl_type_boolean(void) { return nl_type_of(NL_TYPE_BOOLEAN); }
static inline const nl_type *nl_type_int(void) { return nl_type_of(NL_TYPE_INT); }
static inline const nl_type *nl_type_bigint(void) { return nl_type_of(NL_TYPE_BIGINT); }
static inline const nl_type *nl_type_double(void) { return nl_type_of(NL_TYPE_DOUBLE); }
static inline const nl_type *nl_type_string(void) { return nl_type_of(NL_TYPE_STRING); }
static inline const nl_type *nl_type_binary(void) { return nl_type_of(NL_TYPE_BINARY); }

const nl_type *nl_type_decimal(int precision, int scale); /* a static table: no arena */
const nl_type *nl_type_interval_ym(nl_interval_field start, nl_interval_field end); /* static */
const nl_type *nl_type_interval_dt(nl_interval_field start, nl_interval_field end); /* static */
const nl_type *nl_type_char(nl_arena *arena, nl_string_kind kind, uint32_t length);
const nl_type *nl_type_collated(nl_arena *arena, nl_str collation);
const nl_type *nl_type_array(nl_arena *arena, const nl_type *element, bool contains_null);
const nl_type *nl_type_map(nl_arena *arena, const nl_type *key, const nl_type *value, bool value_contains_null);
/* fields are copied (names too). */
const nl_type *nl_type_struct(nl_arena *arena, const nl_field *fields, uint32_t field_count);
const nl_type *nl_type_copy(nl_arena *arena, const nl_type *type); /* a deep copy into another arena */

/* Same type, comparing collation, precision, field names (case-sensitive) and child types; nullability is ignored. */
bool nl_type_equal(const nl_type *a, const nl_type *b);
bool nl_type_equal_with_nullability(const nl_type *a, const nl_type *b);
/* Same types by position: field names and nullability are ignored (Spark's equalsStructurally). */
bool nl_type_has_same_structure(const nl_type *a, const nl_type *b);
bool nl_type_is_integral(const nl_type *type); /* TINYINT … BIGINT */
bool nl_type_is_numeric(const nl_type *type);
bool nl_type_is_string(const nl_type *type);
bool nl_type_is_nested(const nl_type *type);
bool nl_type_is_orderable(const nl_type *type); /* no MAP, VARIANT, CalendarInterval inside */
uint32_t nl_physical_size(nl_physical physical); /* bytes per value; 0 for NONE and STRUCT */

/* "decimal(10,2)", "array<struct<a:int>>": simpleString / catalogString, as DESCRIBE and typeof print. */
nl_str nl_type_name(nl_arena *arena, const nl_type *type);
/* "DECIMAL(10,2)", "ARRAY<STRUCT<a: INT>>": sql, as errors and CAST(…) print it; without quotes. */
nl_str nl_type_sql(nl_arena *arena, const nl_type *type);
/* A field's name as in nl_type_sql: in back quotes where it is no plain identifier. */
void nl_append_field_name(nl_builder *out, nl_str name);
/* printSchema's tree: "root\n |-- id: long (nullable = true)\n". */
nl_str nl_type_tree(nl_arena *arena, const nl_type *struct_type);
