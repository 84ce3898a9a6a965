/* command/result.c - the result of a statement: a stream of a plan's batches, or rows made by a command. */
#include "command/cached.h"
#include "command/command_private.h"

#include <stdlib.h>

struct nl_rows {
    nl_command *command;
    const nl_type *row_type;
    nl_column_builder **builders; /* one per field */
};

struct nl_result {
    nl_command *command; /* owned */
    nl_result_kind kind;
    const nl_type *schema;
    nl_stream *stream; /* a query's; or NULL */
    const nl_logical *deferred; /* a query's that is not open yet; or NULL */
    nl_rows *rows;     /* a command's; or NULL */
    nl_result_source source; /* next NULL: none   */
    bool is_finished;
};

const nl_type *nl_result_schema(const nl_result *result)
{
    return result->schema;
}

nl_result_kind nl_result_kind_of(const nl_result *result)
{
    return result->kind;
}

nl_command *nl_result_command(nl_result *result)
{
    return result->command;
}

void nl_command_set_kind(nl_command *command, nl_result_kind kind)
{
    command->result->kind = kind;
}

static nl_status finish_rows(nl_rows *rows, nl_batch *batch)
{
    const uint32_t row_count = nl_column_builder_length(rows->builders[0]);
    NL_TRY(nl_batch_init(batch, rows->row_type->child_count, row_count));
    for (uint32_t i = 0; i < rows->row_type->child_count; i++)
        NL_TRY(nl_column_builder_finish(rows->builders[i], &batch->columns[i]));
    return NULL;
}

const nl_observation *nl_result_observations(const nl_result *result)
{
    return result->command->observations.first;
}

void nl_result_add_observations(nl_result *result, const nl_observation *first)
{
    nl_observations *into = &result->command->observations;
    into->first = nl_observations_copy(into->arena, first);
}

nl_status nl_result_next(nl_result *result, nl_batch *batch, bool *is_done)
{
    *is_done = true;
    if (result->is_finished) return NULL;
    if (result->deferred) {
        const nl_logical *plan = result->deferred;
        result->deferred = NULL;
        result->is_finished = true; /* unless it opens */
        NL_TRY(nl_stream_open(&result->command->query, plan, &result->stream));
        result->is_finished = false;
    }
    if (result->stream) {
        NL_TRY(nl_stream_next(result->stream, batch, is_done));
        result->is_finished = *is_done;
        return NULL;
    }
    if (result->source.next) {
        NL_TRY(result->source.next(result->source.context, batch, is_done));
        result->is_finished = *is_done;
        return NULL;
    }
    result->is_finished = true;
    if (!result->rows || nl_column_builder_length(result->rows->builders[0]) == 0) return NULL;
    *is_done = false;
    nl_status status = finish_rows(result->rows, batch);
    if (status) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE); /* what the command changed is in force: it is no clean failure */
    return nl_note_if(status, NL_HERE, "the statement was carried out; only the rows that tell about it could not be made");
}

void nl_result_close(nl_result *result)
{
    if (!result) return;
    nl_command *command = result->command;
    if (result->stream) nl_stream_close(result->stream);
    if (result->source.close) result->source.close(result->source.context);
    for (uint32_t i = 0; result->rows && i < result->rows->row_type->child_count; i++)
        nl_column_builder_free(result->rows->builders[i]);
    nl_arena_free(command->observations.arena);
    nl_arena_free(command->arena);
    nl_memory_release(command->memory);
    free(command);
    free(result);
}

nl_status nl_command_optimize(nl_command *command, const nl_logical *plan, const nl_logical **optimized)
{
    return nl_optimize(&command->context, plan, optimized);
}

static const nl_type *plan_row_type(nl_arena *arena, const nl_logical *plan)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, plan->column_count);
    for (uint32_t i = 0; i < plan->column_count; i++)
        fields[i] = (nl_field){.name = plan->columns[i].name,
                               .type = plan->columns[i].type,
                               .is_nullable = plan->columns[i].is_nullable,
                               .comment = plan->columns[i].comment,
                               .metadata = plan->columns[i].metadata};
    return nl_type_struct(arena, fields, plan->column_count);
}

void nl_command_show_schema(nl_command *command, const nl_logical *plan)
{
    command->result->schema = plan_row_type(command->arena, plan);
    command->result->kind = NL_RESULT_QUERY;
}

nl_status nl_command_stream(nl_command *command, const nl_logical *plan)
{
    const nl_logical *optimized = NULL;
    command->result->schema = plan_row_type(command->arena, plan);
    NL_TRY(nl_command_optimize(command, plan, &optimized));
    command->result->kind = NL_RESULT_QUERY;
    if (command->is_kept) NL_TRY(nl_cached_make(command, optimized, &optimized));
    command->result->deferred = command->is_deferred ? optimized : NULL;
    return command->is_deferred ? NULL : nl_stream_open(&command->query, optimized, &command->result->stream);
}

void nl_command_forward(nl_command *command, const nl_type *schema, const nl_result_source *source)
{
    command->result->schema = schema;
    command->result->kind = NL_RESULT_QUERY;
    command->result->source = *source;
}

nl_status nl_command_rows(nl_command *command, const nl_field *fields, uint32_t field_count, nl_rows **rows)
{
    NL_ASSERT(!command->result->rows && field_count > 0);
    nl_rows *made = NL_NEW(command->arena, nl_rows);
    made->command = command;
    made->row_type = nl_type_struct(command->arena, fields, field_count);
    made->builders = NL_NEW_ARRAY(command->arena, nl_column_builder *, field_count);
    command->result->schema = made->row_type;
    command->result->rows = made;
    for (uint32_t i = 0; i < field_count; i++)
        NL_TRY(nl_column_builder_new(made->row_type->children[i].type, command->memory, &made->builders[i]));
    *rows = made;
    return NULL;
}

nl_status nl_rows_add(nl_rows *rows, const nl_value *values)
{
    for (uint32_t i = 0; i < rows->row_type->child_count; i++)
        NL_TRY(nl_column_builder_value(rows->builders[i], &values[i]));
    return NULL;
}

nl_status nl_rows_add_text(nl_rows *rows, const nl_str *texts)
{
    for (uint32_t i = 0; i < rows->row_type->child_count; i++) {
        if (texts[i].data)
            NL_TRY(nl_column_builder_str(rows->builders[i], texts[i]));
        else
            NL_TRY(nl_column_builder_null(rows->builders[i]));
    }
    return NULL;
}

nl_status nl_result_new(nl_session *session, nl_result **result, nl_command **command_out)
{
    nl_result *made = calloc(1, sizeof(*made));
    nl_command *command = calloc(1, sizeof(*command));
    if (!made || !command) {
        free(made);
        free(command);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*command)), NL_P("receivedBytes", "0"));
    }
    *made = (nl_result){.command = command, .kind = NL_RESULT_COMMAND};
    command->session = session;
    command->result = made;
    command->memory = nl_memory_new(nl_session_memory(session), "statement", SIZE_MAX);
    command->arena = nl_arena_new(command->memory);
    command->observations.arena = nl_arena_new(command->memory);
    made->schema = nl_type_struct(command->arena, NULL, 0);
    *result = made;
    *command_out = command;
    return NULL;
}

nl_status nl_command_make_stream(nl_session *session, nl_result_kind kind, const nl_type *schema, const nl_result_source *source, nl_result **result)
{
    nl_result *made = NULL;
    nl_command *command = NULL;
    nl_status status = nl_result_new(session, &made, &command);
    if (status) {
        source->close(source->context);
        return status;
    }
    made->source = *source;
    made->kind = kind;
    made->schema = nl_type_copy(command->arena, schema);
    *result = made;
    return NULL;
}
