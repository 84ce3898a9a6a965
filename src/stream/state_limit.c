/* stream/state_limit.c - limit over a stream: so many rows in all. State: one row, how many have come out. */
#include "stream/state_plan.h"

#include "function/kernel.h"

static nl_status take_count(nl_state_batch *batch, nl_kept_rows *rows, int64_t *count)
{
    nl_batch one = {0};
    bool is_done = false;
    *count = 0;
    NL_TRY(nl_kept_rows_batch(rows, 0, batch->memory, &one, &is_done));
    if (is_done) return NULL;
    nl_reader reader;
    nl_reader_init(&reader, &one.columns[1]);
    *count = nl_reader_i64(&reader, 0);
    nl_batch_fini(&one);
    return NULL;
}

static nl_status put_count(nl_state_batch *batch, nl_state_part *part, const nl_type *row_type, int64_t count)
{
    nl_kept_rows *rows = NULL;
    nl_batch one = {0};
    NL_TRY(nl_kept_rows_new(row_type, batch->memory, batch->query->spill_directory, &rows));
    nl_status status = nl_batch_init(&one, 1, 1);
    if (!status) status = nl_vector_new_flat(&one.columns[0], nl_type_bigint(), 1, batch->memory);
    if (!status) *(int64_t *)nl_vector_values(&one.columns[0]) = count;
    if (!status) status = nl_kept_rows_add(rows, &one);
    nl_batch_fini(&one);
    if (!status) status = nl_state_add(batch, part, rows, NULL);
    nl_kept_rows_release(rows);
    return status;
}

static nl_status run(nl_state_batch *batch, const nl_logical *node, nl_kept_rows **before, nl_kept_rows **given)
{
    const nl_column column = {.name = NL_STR("count"), .type = nl_type_bigint()};
    const nl_state_layout layout = {.row_type = nl_state_row_type(batch, &column, 1), .keys = nl_state_first_columns(batch, 0), .time_column = NL_STATE_NO_TIME};
    nl_state_store *store = NULL;
    nl_state_part *part = NULL;
    int64_t count;
    NL_TRY(nl_state_store_open(batch, "globalLimit", &store));
    NL_TRY(nl_state_part_open(batch, store, "count", &layout, &part));
    NL_TRY(nl_state_all(batch, part, before));
    NL_TRY(take_count(batch, *before, &count));
    nl_logical *rest = nl_logical_copy(batch->planning->arena, node);
    rest->limit.limit = NL_MAX(node->limit.limit - count, 0);
    NL_TRY(nl_state_run(batch, rest, given));
    const int64_t more = (int64_t)nl_kept_rows_count(*given);
    NL_TRY(nl_state_remove(batch, part, *before));
    NL_TRY(put_count(batch, part, layout.row_type, count + more));
    NL_TRY(nl_state_commit(batch, part));
    const nl_state_counts counts = {.name = "globalLimit", .total = 1, .updated = more > 0, .memory_bytes = nl_state_part_bytes(part)};
    nl_state_count(batch, &counts);
    return NULL;
}

nl_status nl_state_limit(nl_state_batch *batch, const nl_logical *node, const nl_logical **result)
{
    nl_kept_rows *before = NULL, *given = NULL;
    nl_status status = run(batch, node, &before, &given);
    if (!status) *result = nl_state_give(batch, given, node);
    nl_kept_rows_release(before);
    nl_kept_rows_release(given);
    return status;
}
