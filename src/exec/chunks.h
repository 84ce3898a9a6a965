/* exec/chunks.h - a list of batches that outlives its pipeline: in memory while the budget allows, then on disk.
 *
 * Threads: append by one thread at a time; afterwards any number of readers.
 */
#pragma once

#include "exec/engine.h"
#include "exec/spill.h"

typedef struct nl_chunks {
    nl_exec *exec;
    const nl_type *const *types;
    uint32_t column_count;
    nl_batch *batches;
    uint32_t batch_count, batch_capacity;
    uint64_t row_count;
    nl_spill *spill; /* once set, it holds all chunks, in order */
    nl_metric *metric;
} nl_chunks;

void nl_chunks_init(nl_chunks *chunks, nl_exec *exec, const nl_column *columns, uint32_t column_count);
void nl_chunks_fini(nl_chunks *chunks);
NL_MUST_USE nl_status nl_chunks_append(nl_chunks *chunks, nl_batch *batch); /* takes the contents of *batch */
uint32_t nl_chunks_count(const nl_chunks *chunks);
NL_MUST_USE nl_status nl_chunks_read(const nl_chunks *chunks, uint32_t i, nl_batch *batch); /* another owner's copy */
/* A source over them; chunks is borrowed and may still be filled until the source starts. */
nl_source *nl_chunks_source(nl_exec *exec, nl_chunks *chunks, const nl_logical *node);
