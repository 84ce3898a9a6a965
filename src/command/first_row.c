/* command/first_row.c - the first row of a query, for statements that take one. */
#include "command/cached.h"
#include "command/command_private.h"

typedef struct row_keeper {
    nl_consumer base;
    nl_arena *arena;
    nl_value *values;
    uint32_t column_count;
    uint32_t row_count;
} row_keeper;

static nl_status keep_first(nl_consumer *base, nl_batch *batch)
{
    row_keeper *self = NL_CONTAINER(base, row_keeper, base);
    if (batch->row_count == 0) return NULL;
    if (self->row_count == 0)
        for (uint32_t i = 0; i < self->column_count; i++) {
            const nl_value value = nl_vector_value(&batch->columns[i], 0, self->arena);
            self->values[i] = nl_value_copy(self->arena, &value);
        }
    self->row_count += batch->row_count;
    return NULL;
}

nl_status nl_command_first_row(nl_command *command, const nl_logical *plan, nl_value *values, uint32_t *row_count)
{
    const nl_logical *optimized = NULL;
    row_keeper keeper = {.base.consume = keep_first, .arena = command->arena, .values = values, .column_count = plan->column_count};
    NL_TRY(nl_cached_use(command, plan, &plan));
    NL_TRY(nl_command_optimize(command, nl_logical_limit(command->arena, plan, 2, 0), &optimized));
    NL_TRY(nl_query_run(&command->query, optimized, &keeper.base));
    *row_count = keeper.row_count;
    return NULL;
}
