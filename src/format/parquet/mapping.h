/* format/parquet/mapping.h - which leaves of a file make up the wanted columns, and how levels become nested vectors.
 * Inside the folder only.
 */
#pragma once

#include "format/parquet/convert.h"
#include "format/parquet/reader.h"

/* One leaf of the file that some wanted column needs. */
typedef struct nl_map_leaf {
    const nl_parquet_node *node;
    uint32_t ordinal;    /* among the file's leaves: its chunk in every row group */
    const nl_type *type; /* wanted; NULL: only its levels are needed */
    int32_t field_id;    /* of the wanted field */
    nl_conversion conversion;
    nl_parquet_place place; /* path and column, for messages */
} nl_map_leaf;

typedef enum nl_map_kind { NL_MAP_MISSING, NL_MAP_LEAF, NL_MAP_STRUCT, NL_MAP_LIST } nl_map_kind; /* LIST: also maps */

/* One node of the wanted type. `slots` are the rows of its vector: entries of a leaf below it with a repetition level of
 * at most slot_repetition and a definition level of at least slot_definition. */
typedef struct nl_map_node nl_map_node;
struct nl_map_node {
    nl_map_kind kind;
    const nl_type *type;
    const nl_parquet_node *node;     /* NULL: missing */
    const nl_value *missing_value;   /* NULL: null */
    uint16_t slot_definition, slot_repetition;
    uint16_t definition;             /* the node itself is not null from this level on */
    uint16_t element_definition;     /* LIST: an element exists from this level on */
    uint16_t element_repetition;
    uint32_t leaf;                   /* the leaf whose levels describe this node: index among the mapping's leaves */
    uint32_t first_leaf, leaf_count; /* all of its leaves */
    nl_map_node *children;           /* one per child vector */
    uint32_t child_count;
};

typedef struct nl_mapping {
    nl_map_node *columns; /* one per wanted field */
    uint32_t column_count;
    nl_map_leaf *leaves;
    uint32_t leaf_count;
} nl_mapping;

/* Everything lives in the arena. Fails as nl_parquet_reader_open says. */
NL_MUST_USE nl_status nl_mapping_make(const nl_parquet_footer *footer, const nl_type *wanted, const nl_parquet_read_options *options,
                                      nl_arena *arena, nl_mapping *mapping);

/* The two ways lists and maps lie in a file. False: the node is no list (map). */
typedef struct nl_parquet_list_shape {
    const nl_parquet_node *repeated;
    const nl_parquet_node *element; /* == repeated when the repeated node is the element */
} nl_parquet_list_shape;
bool nl_parquet_list_shape_of(const nl_parquet_node *node, nl_parquet_list_shape *shape);
typedef struct nl_parquet_map_shape {
    const nl_parquet_node *repeated;
    const nl_parquet_node *key, *value;
} nl_parquet_map_shape;
bool nl_parquet_map_shape_of(const nl_parquet_node *node, nl_parquet_map_shape *shape);
/* "optional int64 ts (TIMESTAMP(MICROS,true))"-like words for messages. */
nl_str nl_parquet_node_text(nl_arena *arena, const nl_parquet_node *node);
nl_str nl_parquet_node_path(nl_arena *arena, const nl_parquet_node *node); /* dotted, without the root */
