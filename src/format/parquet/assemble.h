/* format/parquet/assemble.h - levels and values of leaves become nested vectors. Inside the folder only. */
#pragma once

#include "format/parquet/leaf.h"

/* What was read of one leaf for a window of rows: a sink when it is flat, a window when it is repeated. */
typedef struct nl_leaf_part {
    nl_leaf_cursor *cursor; /* borrowed */
    nl_leaf_sink sink;
    nl_leaf_window window;
} nl_leaf_part;

/* Makes the vector of `node` with slot_count rows. parts: those of the column's leaves, by leaf index minus first_leaf;
 * their contents are used up. */
NL_MUST_USE nl_status nl_assemble(const nl_map_node *node, nl_leaf_part *parts, uint32_t first_leaf, uint32_t slot_count, nl_memory *memory,
                                  nl_vector *vector);
/* A column the file lacks. */
NL_MUST_USE nl_status nl_assemble_missing(const nl_map_node *node, uint32_t row_count, nl_memory *memory, nl_vector *vector);
