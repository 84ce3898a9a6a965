/* column/batch.c - columns of equal length with an optional selection of live rows. */
#include <stdlib.h>

#include "column/batch.h"

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes), NL_P_INT("receivedBytes", 0));
}

nl_status nl_batch_init(nl_batch *batch, uint32_t column_count, uint32_t row_count)
{
    nl_vector *columns = NULL;
    if (column_count) {
        columns = calloc(column_count, sizeof *columns);
        if (!columns) return out_of_memory(column_count * sizeof *columns);
    }
    *batch = (nl_batch){.columns = columns, .column_count = column_count, .row_count = row_count};
    return NULL;
}

void nl_batch_fini(nl_batch *batch)
{
    for (uint32_t i = 0; i < batch->column_count; i++)
        nl_vector_fini(&batch->columns[i]);
    free(batch->columns);
    nl_buffer_release(batch->selection);
    *batch = (nl_batch){0};
}

void nl_batch_move(nl_batch *source, nl_batch *target)
{
    *target = *source;
    *source = (nl_batch){0};
}

nl_status nl_batch_ref(const nl_batch *source, nl_batch *target)
{
    nl_batch made;
    NL_TRY(nl_batch_init(&made, source->column_count, source->row_count));
    for (uint32_t i = 0; i < made.column_count; i++)
        nl_vector_ref(&source->columns[i], &made.columns[i]);
    made.is_selective = source->is_selective;
    made.selected_count = source->selected_count;
    made.selection = nl_buffer_retain(source->selection);
    *target = made;
    return NULL;
}

nl_status nl_batch_compact(nl_batch *batch, nl_memory *memory)
{
    if (!batch->is_selective) return NULL;
    nl_selection live = nl_batch_selection(batch);
    if (live.count < batch->row_count) { /* ascending and as many as rows means all of them */
        nl_batch made;
        NL_TRY(nl_batch_init(&made, batch->column_count, live.count));
        for (uint32_t i = 0; i < made.column_count; i++) {
            nl_status status = nl_vector_take(&batch->columns[i], live.rows, live.count, memory, &made.columns[i]);
            if (status) {
                nl_batch_fini(&made);
                return status;
            }
        }
        nl_batch_fini(batch);
        *batch = made;
        return NULL;
    }
    nl_buffer_release(batch->selection);
    batch->selection = NULL;
    batch->is_selective = false;
    batch->selected_count = 0;
    return NULL;
}

/* Column `column` of every part. compacted[i] is the part itself or its compacted copy. */
static nl_status concat_column(const nl_batch *compacted, uint32_t part_count, uint32_t column, nl_memory *memory,
                               nl_vector *target)
{
    const nl_vector **pieces = calloc(part_count, sizeof *pieces);
    if (!pieces) return out_of_memory(part_count * sizeof *pieces);
    for (uint32_t i = 0; i < part_count; i++)
        pieces[i] = &compacted[i].columns[column];
    nl_status status = nl_vector_concat(pieces, part_count, memory, target);
    free(pieces);
    return status;
}

static nl_status concat_compacted(const nl_batch *compacted, uint32_t part_count, nl_memory *memory, nl_batch *target)
{
    uint64_t row_count = 0;
    for (uint32_t i = 0; i < part_count; i++)
        row_count += compacted[i].row_count;
    if (row_count > UINT32_MAX)
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "A batch of %llu rows; at most %u lie in one piece.",
                             (unsigned long long)row_count, UINT32_MAX);
    nl_batch made;
    NL_TRY(nl_batch_init(&made, compacted[0].column_count, (uint32_t)row_count));
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < made.column_count; i++)
        status = concat_column(compacted, part_count, i, memory, &made.columns[i]);
    if (status)
        nl_batch_fini(&made);
    else
        *target = made;
    return status;
}

nl_status nl_batch_concat(const nl_batch *const *parts, uint32_t part_count, nl_memory *memory, nl_batch *target)
{
    NL_ASSERT(part_count > 0);
    nl_batch *compacted = calloc(part_count, sizeof *compacted);
    if (!compacted) return out_of_memory(part_count * sizeof *compacted);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < part_count; i++) {
        NL_ASSERT(parts[i]->column_count == parts[0]->column_count);
        status = nl_batch_ref(parts[i], &compacted[i]);
        if (!status) status = nl_batch_compact(&compacted[i], memory);
    }
    if (!status) status = concat_compacted(compacted, part_count, memory, target);
    for (uint32_t i = 0; i < part_count; i++)
        nl_batch_fini(&compacted[i]);
    free(compacted);
    return status;
}

size_t nl_batch_bytes(const nl_batch *batch)
{
    size_t bytes = batch->selection ? batch->selection->size_bytes : 0;
    for (uint32_t i = 0; i < batch->column_count; i++)
        bytes += nl_vector_bytes(&batch->columns[i]);
    return bytes;
}
