/* column/vector_internal.h - what the vector files share and nobody else needs. */
#pragma once

#include "column/bits.h"
#include "column/vector.h"

/* A FLAT vector of `length` rows: values uninitialised unless is_zeroed, all valid, children an array of zeroed
 * vectors. *vector must be zeroed or empty before; after a failure it can be finished with nl_vector_fini. */
NL_MUST_USE nl_status nl_vector_start(nl_vector *vector, const nl_type *type, uint32_t length, bool is_zeroed,
                                      nl_memory *memory);
/* An uninitialised validity bitmap with whole words; sets validity and its buffer. */
NL_MUST_USE nl_status nl_vector_start_validity(nl_vector *vector, nl_memory *memory, uint8_t **bits);
/* Drops the bitmap when no row is null. */
void nl_vector_settle_validity(nl_vector *vector, uint32_t null_count);
/* Zeroes the value slots of null rows of a FLAT vector made here. */
void nl_vector_zero_nulls(nl_vector *vector);
/* Children of a type's vectors: VARIANT has two although its type has none. */
uint32_t nl_vector_child_count(const nl_type *type);
const nl_type *nl_vector_child_type(const nl_type *type, uint32_t i);
/* values[i] = source[rows[i]] for values of `size` bytes (0, 1, 2, 4, 8, 16). */
void nl_gather(void *target, const void *source, const uint32_t *rows, uint32_t count, uint32_t size);
/* A one-row vector as a CONSTANT of `length` rows (shares buffers). */
NL_MUST_USE nl_status nl_vector_spread(const nl_vector *one_row, uint32_t length, nl_memory *memory,
                                       nl_vector *target);
/* Child i of a STRUCT vector of any encoding, with one row per row of the parent (the parent's nulls not applied). */
NL_MUST_USE nl_status nl_vector_struct_child(const nl_vector *parent, uint32_t i, nl_memory *memory,
                                             nl_vector *child);
/* A FLAT LIST vector whose views are in order, without gaps, and cover the children exactly: what Arrow's offsets can
 * say. Children keep their encoding. */
NL_MUST_USE nl_status nl_vector_dense_list(const nl_vector *source, nl_memory *memory, nl_vector *target);
