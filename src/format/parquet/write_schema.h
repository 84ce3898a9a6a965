/* format/parquet/write_schema.h - the tree of what is written: from nl_type to leaves and Thrift. Inside the folder only. */
#pragma once

#include "format/parquet/writer.h"

/* How bounds of a leaf compare. */
typedef enum nl_order { NL_ORDER_INTEGER, NL_ORDER_REAL, NL_ORDER_WIDE, NL_ORDER_BYTES } nl_order;

typedef struct nl_write_leaf {
    nl_str *path;        /* path_in_schema */
    uint32_t path_length;
    nl_str dotted;
    const nl_type *type;
    int32_t field_id;
    nl_parquet_physical physical;
    uint32_t stride;     /* bytes of a value's form: 1, 4, 8, the length of FIXED; 16 (a view) for BYTE_ARRAY */
    uint8_t max_definition, max_repetition;
    nl_order order;
    nl_parquet_stored stored;
    bool has_statistics, has_dictionary, has_bloom;
    double bloom_fpp;
    uint64_t bloom_ndv;
} nl_write_leaf;

typedef enum nl_write_kind { NL_WRITE_LEAF, NL_WRITE_STRUCT, NL_WRITE_LIST, NL_WRITE_NOTHING } nl_write_kind;
typedef struct nl_write_node nl_write_node;
struct nl_write_node {
    nl_write_kind kind;
    const nl_type *type;
    nl_str name;
    int32_t field_id; /* 0: none */
    bool is_nullable;
    uint8_t definition; /* of a value that is there */
    uint8_t repetition; /* LIST: of its elements    */
    uint32_t leaf;      /* LEAF */
    nl_write_node *children;
    uint32_t child_count;
};

typedef struct nl_write_schema {
    nl_write_node *columns; /* one per field of the type; NOTHING: void, left out */
    uint32_t column_count;
    nl_write_leaf *leaves;
    uint32_t leaf_count;
    uint32_t element_count; /* schema elements in the footer, the root included */
} nl_write_schema;

NL_MUST_USE nl_status nl_write_schema_make(const nl_type *type, const nl_parquet_write_options *options, nl_arena *arena, nl_write_schema *schema);
void nl_write_schema_put(const nl_write_schema *schema, nl_str root_name, nl_builder *out); /* the list's elements */
