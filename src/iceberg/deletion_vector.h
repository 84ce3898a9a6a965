/* iceberg/deletion_vector.h - positions of deleted rows of one data file (Puffin spec: blob "deletion-vector-v1").
 *
 * A set of 64-bit positions: 32-bit roaring bitmaps by the high word. Threads: a finished one may be read by many.
 */
#pragma once

#include "base/arena.h"
#include "base/memory.h"

typedef struct nl_deletion_vector nl_deletion_vector;

nl_deletion_vector *nl_deletion_vector_new(void); /* owned */
void nl_deletion_vector_free(nl_deletion_vector *vector); /* NULL is fine */
NL_MUST_USE nl_status nl_deletion_vector_add(nl_deletion_vector *vector, int64_t position); /* fails on negatives and beyond the format's limit */
NL_MUST_USE nl_status nl_deletion_vector_add_many(nl_deletion_vector *vector, const int64_t *positions, uint32_t count);
NL_MUST_USE nl_status nl_deletion_vector_add_all(nl_deletion_vector *vector, const nl_deletion_vector *other);
bool nl_deletion_vector_contains(const nl_deletion_vector *vector, int64_t position);
uint64_t nl_deletion_vector_cardinality(const nl_deletion_vector *vector);
size_t nl_deletion_vector_bytes(const nl_deletion_vector *vector); /* memory held, for budgets */
/* Clears bit i of `alive` (LSB first) for every deleted position first_position + i, i < row_count; returns how many
 * positions of the range are deleted. */
uint32_t nl_deletion_vector_mask(const nl_deletion_vector *vector, int64_t first_position, uint32_t row_count, uint8_t *alive);
/* The next positions from *position on, ascending; returns how many were put out and moves *position behind the last. */
uint32_t nl_deletion_vector_positions(const nl_deletion_vector *vector, int64_t *position, int64_t *out, uint32_t out_count);

/* The blob: length, magic, 64-bit portable roaring, CRC-32. Everything is checked before CRoaring sees a byte;
 * path and blob_offset are for errors. expected_cardinality NL_NONE (-1): not checked. */
NL_MUST_USE nl_status nl_deletion_vector_parse(nl_bytes blob, nl_str path, uint64_t blob_offset, int64_t expected_cardinality,
                                               nl_deletion_vector **vector);
NL_MUST_USE nl_status nl_deletion_vector_serialize(nl_deletion_vector *vector, nl_memory *memory, nl_buffer **blob);
