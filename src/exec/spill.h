/* exec/spill.h - batches on disk while a query runs: a compact column format of our own, never seen by anyone else.
 *
 * A file is unlinked when it is made, so nothing stays behind after a crash. Chunks are compressed with LZ4 when that
 * saves something. Threads: one writer at a time; after the last write any number of readers.
 */
#pragma once

#include "column/batch.h"

typedef struct nl_spill nl_spill;

/* types: of the columns; borrowed, outliving the file. Fails: NILAS_IO_ERROR naming the directory. */
NL_MUST_USE nl_status nl_spill_new(nl_str directory, const nl_type *const *types, uint32_t type_count, nl_spill **spill); /* owned */
void nl_spill_free(nl_spill *spill); /* NULL is fine */
/* The batch's live rows as the next chunk, or as several when they are large. */
NL_MUST_USE nl_status nl_spill_write(nl_spill *spill, const nl_batch *batch, nl_memory *memory);
uint32_t nl_spill_chunk_count(const nl_spill *spill);
uint32_t nl_spill_chunk_rows(const nl_spill *spill, uint32_t chunk);
uint64_t nl_spill_row_count(const nl_spill *spill);
uint64_t nl_spill_bytes(const nl_spill *spill);
NL_MUST_USE nl_status nl_spill_read(const nl_spill *spill, uint32_t chunk, nl_memory *memory, nl_batch *batch);
/* The chunk *chunk and those after it while they are small and have row_count_max rows together at most, as one batch;
 * *chunk is then the first one that was not read. */
NL_MUST_USE nl_status nl_spill_read_some(const nl_spill *spill, uint32_t row_count_max, nl_memory *memory, uint32_t *chunk, nl_batch *batch);
