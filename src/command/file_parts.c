/* command/file_parts.c - a query's rows into the files of a sink: where a DataFrame says which partition a row is of (repartition,
 * coalesce), each partition's rows go to files of its own, whatever worker brings them. One partition keeps the rows' order.
 */
#include "command/command_private.h"

#include <stdlib.h>

#include "base/lock.h"
#include "exec/exec.h"

#define PARTS_MAX 10000u

typedef struct parted_sink {
    nl_parallel_sink base;
    nl_consumer consumer; /* of one part */
    nl_parallel_sink *inner;
    nl_memory *memory;
    uint32_t part_count;
    nl_mutex *mutexes; /* part_count: a part is written by one worker at a time */
} parted_sink;

static nl_status start(nl_parallel_sink *base, uint32_t worker_count)
{
    const parted_sink *self = NL_CONTAINER(base, parted_sink, base);
    (void)worker_count;
    return self->inner->start(self->inner, self->part_count);
}

static nl_status finish_worker(nl_parallel_sink *base, uint32_t worker)
{
    (void)base;
    (void)worker; /* parts end when all workers have */
    return NULL;
}

static nl_status finish_parts(const parted_sink *self)
{
    for (uint32_t i = 0; i < self->part_count; i++) NL_TRY(self->inner->finish_worker(self->inner, i));
    return NULL;
}

/* The batch without its last column, the partition. */
static nl_status give(const parted_sink *self, uint32_t part, nl_batch *batch)
{
    nl_mutex_lock(&self->mutexes[part]);
    nl_status status = self->inner->consume(self->inner, part, batch);
    nl_mutex_unlock(&self->mutexes[part]);
    return status;
}

static nl_status give_rows(const parted_sink *self, uint32_t part, const nl_batch *batch, const uint32_t *rows, uint32_t count)
{
    nl_batch piece = {0};
    NL_TRY(nl_batch_init(&piece, batch->column_count - 1, count));
    nl_status status = NULL;
    for (uint32_t i = 0; i < piece.column_count && !status; i++) status = nl_vector_take(&batch->columns[i], rows, count, self->memory, &piece.columns[i]);
    if (!status) status = give(self, part, &piece);
    nl_batch_fini(&piece);
    return status;
}

static nl_status split(const parted_sink *self, const nl_batch *batch, nl_arena *arena)
{
    uint32_t *next = NL_NEW_ARRAY(arena, uint32_t, self->part_count + 2), *parts = NL_NEW_ARRAY(arena, uint32_t, batch->row_count), *order = NL_NEW_ARRAY(arena, uint32_t, batch->row_count);
    nl_reader reader;
    NL_TRY(nl_arena_check(arena));
    nl_reader_init(&reader, &batch->columns[batch->column_count - 1]);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        const int32_t part = nl_reader_is_null(&reader, row) ? 0 : ((const int32_t *)reader.values)[nl_reader_index(&reader, row)];
        parts[row] = (uint32_t)part % self->part_count;
        next[parts[row] + 2]++;
    }
    for (uint32_t i = 2; i < self->part_count + 2; i++) next[i] += next[i - 1];
    for (uint32_t row = 0; row < batch->row_count; row++) order[next[parts[row] + 1]++] = row;
    for (uint32_t i = 0; i < self->part_count; i++)
        if (next[i + 1] > next[i]) NL_TRY(give_rows(self, i, batch, order + next[i], next[i + 1] - next[i]));
    return NULL;
}

static nl_status consume(nl_parallel_sink *base, uint32_t worker, nl_batch *batch)
{
    const parted_sink *self = NL_CONTAINER(base, parted_sink, base);
    (void)worker;
    if (batch->row_count == 0) return NULL;
    NL_TRY(nl_batch_compact(batch, self->memory));
    nl_arena *arena = nl_arena_new(self->memory);
    nl_status status = split(self, batch, arena);
    nl_arena_free(arena);
    return status;
}

static nl_status consume_in_order(nl_consumer *consumer, nl_batch *batch)
{
    return consume(&NL_CONTAINER(consumer, parted_sink, consumer)->base, 0, batch);
}

static nl_status run_parts(nl_command *command, const nl_logical *optimized, nl_parallel_sink *sink, uint32_t part_count)
{
    parted_sink self = {.base = {.start = start, .consume = consume, .finish_worker = finish_worker},
                        .consumer.consume = consume_in_order,
                        .inner = sink,
                        .memory = command->query.memory,
                        .part_count = part_count,
                        .mutexes = calloc(part_count, sizeof(nl_mutex))};
    if (!self.mutexes) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)(part_count * sizeof(nl_mutex))), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < part_count; i++) nl_mutex_init(&self.mutexes[i]);
    nl_status status = NULL;
    if (part_count > 1) {
        status = nl_query_run_parallel(&command->query, optimized, &self.base);
    } else {
        status = start(&self.base, 1);
        if (!status) status = nl_query_run(&command->query, optimized, &self.consumer);
    }
    if (!status) status = finish_parts(&self);
    for (uint32_t i = 0; i < part_count; i++) nl_mutex_fini(&self.mutexes[i]);
    free(self.mutexes);
    return status;
}

nl_status nl_command_plan_files(nl_command *command, const nl_logical *plan, bool has_folders, nl_file_plan *made)
{
    uint32_t part_count = 0;
    const nl_logical *carrying = NULL;
    *made = (nl_file_plan){0};
    const bool has_parts = nl_plan_carry_partition(&command->context, plan, &carrying, &part_count) && (part_count > 0 || has_folders);
    if (has_parts) made->part_count = part_count ? NL_MIN(part_count, PARTS_MAX) : 64;
    return nl_command_optimize(command, has_parts ? carrying : plan, &made->optimized);
}

nl_status nl_command_run_files(nl_command *command, const nl_file_plan *plan, nl_parallel_sink *sink)
{
    if (plan->part_count) return run_parts(command, plan->optimized, sink, plan->part_count);
    return nl_query_run_parallel(&command->query, plan->optimized, sink);
}
