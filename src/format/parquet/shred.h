/* format/parquet/shred.h - nested vectors become levels and values of leaves: Dremel's record shredding, by columns.
 * Inside the folder only.
 */
#pragma once

#include "column/batch.h"
#include "format/parquet/bytes_out.h"
#include "format/parquet/write_schema.h"

/* Entries of one leaf. The values of those whose definition level is the leaf's maximum are rows index[i] of `vector`
 * (for a DICTIONARY vector: rows of its dictionary), in order. */
typedef struct nl_shredded {
    uint32_t entry_count;
    uint32_t row_count;
    const uint8_t *repetition; /* NULL: all 0 */
    const uint8_t *definition; /* NULL: all at their maximum */
    uint32_t value_count;
    const uint32_t *index;
    const nl_vector *values;          /* FLAT or CONSTANT: where index points to */
    nl_shared_vector *dictionary;     /* the values' dictionary, or NULL; borrowed */
} nl_shredded;

/* Buffers that are used again for each batch. */
typedef struct nl_shredder {
    nl_bytes_out levels, position;
    nl_bytes_out index;
} nl_shredder;
void nl_shredder_init(nl_shredder *shredder, nl_memory *memory);
void nl_shredder_fini(nl_shredder *shredder);

/* Calls take(argument, leaf, shredded) for every leaf below `node`. vector: the column; selection: its live rows. */
typedef nl_status (*nl_shred_take)(void *argument, uint32_t leaf, const nl_shredded *shredded);
NL_MUST_USE nl_status nl_shred(nl_shredder *shredder, const nl_write_schema *schema, const nl_write_node *node, const nl_vector *vector,
                               nl_selection selection, nl_memory *memory, nl_shred_take take, void *argument);
