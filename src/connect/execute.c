/* connect/execute.c - running an operation: in the client's lane until its result is open, then batch by batch beside it. */
#include "connect/streaming.h"

#include <stdlib.h>

#include "base/calendar.h"
#include "column/arrow_ipc.h"

#define BATCH_BYTES        ((4u << 20) / 10 * 7) /* Spark's: seven tenths of spark.connect.grpc.arrow.maxBatchSize */
#define PROGRESS_MICROS    2000000    /* spark.connect.progress.reportInterval */
#define BATCH_ROWS_DEFAULT 10000      /* spark.sql.execution.arrow.maxRecordsPerBatch */

typedef Spark__Connect__ExecutePlanResponse execute_response;

void nl_operation_close_result(nl_operation *operation)
{
    for (uint32_t i = 0; i < operation->batch_count; i++) nl_batch_fini(&operation->batches[i]);
    operation->batch_count = 0;
    operation->pulled_rows = operation->pulled_bytes = 0;
    nl_result_close(operation->result);
    operation->result = NULL;
}

/* ---- what is said ------------------------------------------------------------------------------------------------- */

static nl_status add_schema(nl_operation *operation, const nl_type *schema)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    nl_arena *arena = nl_arena_new(operation->client->connect->memory);
    nl_status status = nl_connect_type_to_proto(arena, nl_connect_shown_type(arena, schema), &response.schema);
    if (!status) status = nl_arena_check(arena);
    if (!status) status = nl_operation_add(operation, &response);
    nl_arena_free(arena);
    return status;
}

static nl_status add_batch(nl_operation *operation, const nl_type *schema, nl_batch *batch)
{
    const nl_ipc_options options = {.time_zone = operation->time_zone};
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__ExecutePlanResponse__ArrowBatch message = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__ARROW_BATCH__INIT;
    nl_buffer *stream = NULL;
    NL_TRY(nl_ipc_encode(schema, batch, 1, &options, operation->client->connect->memory, &stream));
    message.has_row_count = message.has_data = message.has_start_offset = true;
    message.row_count = nl_batch_live_rows(batch);
    message.start_offset = operation->row_count;
    message.data = (ProtobufCBinaryData){stream->size_bytes, stream->data};
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_ARROW_BATCH;
    response.arrow_batch = &message;
    nl_status status = nl_operation_add(operation, &response);
    nl_buffer_release(stream);
    operation->row_count += message.row_count;
    operation->has_sent_batch = true;
    return status;
}

/* Clients make their table from batches: without one they have no columns. */
static nl_status add_empty_batch(nl_operation *operation, const nl_type *schema)
{
    nl_batch batch;
    NL_TRY(nl_batch_init(&batch, schema->child_count, 0));
    nl_status status = NULL;
    for (uint32_t i = 0; i < schema->child_count && !status; i++) status = nl_vector_new_flat(&batch.columns[i], schema->children[i].type, 0, operation->client->connect->memory);
    if (!status) status = add_batch(operation, schema, &batch);
    nl_batch_fini(&batch);
    return status;
}

static nl_status add_metrics(nl_operation *operation)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__ExecutePlanResponse__Metrics metrics = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__METRICS__INIT;
    Spark__Connect__ExecutePlanResponse__Metrics__MetricObject object = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__METRICS__METRIC_OBJECT__INIT, *objects[] = {&object};
    Spark__Connect__ExecutePlanResponse__Metrics__MetricObject__ExecutionMetricsEntry entry = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__METRICS__METRIC_OBJECT__EXECUTION_METRICS_ENTRY__INIT, *entries[] = {&entry};
    Spark__Connect__ExecutePlanResponse__Metrics__MetricValue value = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__METRICS__METRIC_VALUE__INIT;
    char name[] = "Result", key[] = "numOutputRows", text[] = "number of output rows", kind[] = "sum";
    value.name = text;
    value.has_value = true;
    value.value = operation->row_count;
    value.metric_type = kind;
    entry.key = key;
    entry.value = &value;
    object.name = name;
    object.n_execution_metrics = 1;
    object.execution_metrics = entries;
    metrics.n_metrics = 1;
    metrics.metrics = objects;
    response.metrics = &metrics;
    return nl_operation_add(operation, &response);
}

/* The metrics of observe(), each in a message. */
static nl_status add_observed(nl_operation *operation, const nl_observation *observation)
{
    nl_arena *arena = nl_arena_new(operation->client->connect->memory); /* the operation's own is the lane's */
    nl_status status = NULL;
    for (; observation && !status; observation = observation->next) {
        execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
        Spark__Connect__ExecutePlanResponse__ObservedMetrics observed = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__OBSERVED_METRICS__INIT, *one[] = {&observed};
        observed.name = NL_UNCONST(nl_str_c(arena, observation->name));
        observed.has_plan_id = true;
        observed.plan_id = observation->plan_id;
        observed.n_keys = observed.n_values = observation->count;
        observed.keys = NL_NEW_ARRAY(arena, char *, observation->count + 1);
        observed.values = NL_NEW_ARRAY(arena, Spark__Connect__Expression__Literal *, observation->count + 1);
        for (uint32_t k = 0; k < observation->count && !status; k++) {
            observed.keys[k] = NL_UNCONST(nl_str_c(arena, observation->keys[k]));
            status = nl_connect_value_to_proto(arena, &observation->values[k], &observed.values[k]);
        }
        response.n_observed_metrics = 1;
        response.observed_metrics = one;
        if (!status) status = nl_operation_add(operation, &response);
    }
    nl_arena_free(arena);
    return status;
}

/* One stage, as far as we know its end: files are its tasks, or the workers when it reads none. */
void nl_operation_tell_progress(nl_operation *operation, int64_t now)
{
    typedef Spark__Connect__ExecutePlanResponse__ExecutionProgress progress_message;
    typedef Spark__Connect__ExecutePlanResponse__ExecutionProgress__StageInfo stage_message;
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    progress_message message = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__EXECUTION_PROGRESS__INIT;
    stage_message stage = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__EXECUTION_PROGRESS__STAGE_INFO__INIT, *stages[] = {&stage};
    const int64_t workers = nl_pool_thread_count(operation->client->connect->workers);
    nl_mutex_lock(&operation->mutex);
    const bool is_due = operation->progress_micros && now - operation->progress_micros >= PROGRESS_MICROS && operation->rpc && !operation->is_finished;
    if (is_due) operation->progress_micros = now;
    nl_mutex_unlock(&operation->mutex);
    if (!is_due) return;
    const nl_progress *progress = &operation->progress;
    const int64_t total = (int64_t)atomic_load(&progress->files_total), done = (int64_t)atomic_load(&progress->files);
    stage.has_stage_id = stage.has_num_tasks = stage.has_num_completed_tasks = stage.has_input_bytes_read = stage.has_done = true;
    stage.num_tasks = total > 0 ? total : workers;
    stage.num_completed_tasks = total > 0 ? NL_MIN(done, total) : 0;
    stage.input_bytes_read = (int64_t)atomic_load(&progress->bytes);
    stage.done = total > 0 && done >= total;
    message.n_stages = 1;
    message.stages = stages;
    message.has_num_inflight_tasks = true;
    message.num_inflight_tasks = NL_MIN(workers, stage.num_tasks - stage.num_completed_tasks);
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_EXECUTION_PROGRESS;
    response.execution_progress = &message;
    nl_error_free(nl_operation_add_beside(operation, &response)); /* the query will find out that there is no memory */
}

static nl_status add_complete(nl_operation *operation)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__ExecutePlanResponse__ResultComplete complete = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESULT_COMPLETE__INIT;
    nl_operation_completes(operation);
    if (!operation->is_reattachable) return NULL;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_RESULT_COMPLETE;
    response.result_complete = &complete;
    return nl_operation_add(operation, &response);
}

/* ---- rows of a query ---------------------------------------------------------------------------------------------- */

/* What a column takes in Arrow: constants and dictionaries are written out. */
static uint64_t wire_bytes(const nl_vector *vector)
{
    const uint64_t rows = vector->length;
    const nl_vector *values = vector->encoding == NL_DICTIONARY ? &vector->dictionary->vector : vector;
    if (vector->type->physical != NL_PHYS_STRING) {
        uint64_t bytes = rows * nl_physical_size(vector->type->physical);
        for (uint32_t i = 0; i < values->child_count; i++)
            bytes += wire_bytes(&values->children[i]) * (vector->encoding == NL_CONSTANT ? NL_MAX(rows, 1) : 1);
        return bytes;
    }
    nl_reader reader;
    uint64_t bytes = rows * sizeof(int32_t);
    nl_reader_init(&reader, vector);
    const nl_string_view *views = reader.values;
    if (vector->encoding == NL_CONSTANT) return bytes + rows * (rows > 0 && views ? views[0].length : 0);
    for (uint32_t row = 0; row < rows; row++)
        if (!nl_reader_is_null(&reader, row)) bytes += views[nl_reader_index(&reader, row)].length;
    return bytes;
}

static nl_status keep_batch(nl_operation *operation, nl_batch *batch)
{
    if (operation->batch_count == operation->batch_capacity) {
        const uint32_t capacity = NL_MAX(16u, operation->batch_capacity * 2);
        nl_batch *batches = realloc(operation->batches, capacity * sizeof *batches);
        if (!batches) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", capacity * sizeof *batches), NL_P("receivedBytes", "0"));
        operation->batches = batches;
        operation->batch_capacity = capacity;
    }
    operation->pulled_rows += nl_batch_live_rows(batch);
    for (uint32_t i = 0; i < batch->column_count; i++) operation->pulled_bytes += wire_bytes(&batch->columns[i]);
    nl_batch_move(batch, &operation->batches[operation->batch_count++]);
    return NULL;
}

/* Sends what has been pulled as one batch. */
static nl_status send_pulled(nl_operation *operation)
{
    nl_memory *memory = nl_session_memory(operation->client->session);
    const nl_type *schema = nl_result_schema(operation->result);
    const uint32_t count = operation->batch_count;
    const nl_batch **parts = calloc(count, sizeof *parts);
    nl_batch all = {0};
    nl_status status = parts ? NULL : NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", count * sizeof *parts), NL_P("receivedBytes", "0"));
    for (uint32_t i = 0; i < count && !status; i++) parts[i] = &operation->batches[i];
    if (!status && count > 1) status = nl_batch_concat(parts, count, memory, &all);
    if (!status) status = add_batch(operation, schema, count > 1 ? &all : &operation->batches[0]);
    nl_batch_fini(&all);
    free(parts);
    for (uint32_t i = 0; i < count; i++) nl_batch_fini(&operation->batches[i]);
    operation->batch_count = 0;
    operation->pulled_rows = operation->pulled_bytes = 0;
    return status;
}

/* Pulls and sends until the result ends (*is_over) or the client is too far behind. */
static nl_status pump_rows(nl_operation *operation, bool *is_over)
{
    const nl_type *schema = nl_result_schema(operation->result);
    *is_over = false;
    while (!nl_operation_must_pause(operation)) {
        nl_batch batch = {0};
        bool is_done = false;
        NL_TRY(nl_cancel_check(operation->cancel));
        NL_TRY(nl_result_next(operation->result, &batch, &is_done));
        if (!is_done && nl_batch_live_rows(&batch) > 0) {
            nl_status status = nl_batch_compact(&batch, nl_session_memory(operation->client->session));
            if (!status) status = keep_batch(operation, &batch);
            nl_batch_fini(&batch);
            NL_TRY(status);
        } else if (!is_done) {
            nl_batch_fini(&batch);
        }
        const bool is_full = operation->pulled_bytes >= BATCH_BYTES || (operation->batch_rows_max > 0 && operation->pulled_rows >= (uint64_t)operation->batch_rows_max);
        if (operation->batch_count > 0 && (is_done || is_full)) NL_TRY(send_pulled(operation));
        if (!is_done) continue;
        if (!operation->has_sent_batch) NL_TRY(add_empty_batch(operation, schema));
        NL_TRY(add_observed(operation, nl_result_observations(operation->result)));
        NL_TRY(add_metrics(operation));
        NL_TRY(add_complete(operation));
        *is_over = true;
        return NULL;
    }
    return NULL;
}

static nl_status pump(void *argument, uint32_t worker)
{
    (void)worker;
    nl_operation *operation = argument;
    bool is_over = false;
    nl_status status = pump_rows(operation, &is_over);
    if (status || is_over) {
        nl_operation_close_result(operation);
        nl_operation_finish(operation, status);
    }
    nl_operation_release(operation);
    return NULL;
}

void nl_operation_resume(nl_operation *operation)
{
    nl_connect_add_task(operation->client->connect, true, pump, nl_operation_retain(operation));
}

/* ---- commands ----------------------------------------------------------------------------------------------------- */

static nl_status add_sql_result(nl_operation *operation, const Spark__Connect__Relation *relation)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__ExecutePlanResponse__SqlCommandResult result = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__SQL_COMMAND_RESULT__INIT;
    result.relation = NL_UNCONST(relation);
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_SQL_COMMAND_RESULT;
    response.sql_command_result = &result;
    return nl_operation_add(operation, &response);
}

/* The rows of a command that has run, as a relation which the client may read as often as it likes. */
static nl_status add_rows(nl_operation *operation, nl_result *rows)
{
    const nl_ipc_options options = {.time_zone = operation->time_zone};
    Spark__Connect__Relation relation = SPARK__CONNECT__RELATION__INIT;
    Spark__Connect__LocalRelation local = SPARK__CONNECT__LOCAL_RELATION__INIT;
    nl_buffer *stream = NULL;
    operation->result = rows;
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        NL_TRY(nl_result_next(rows, &batch, &is_done));
        if (is_done) break;
        nl_status status = keep_batch(operation, &batch);
        nl_batch_fini(&batch);
        NL_TRY(status);
    }
    NL_TRY(nl_ipc_encode(nl_result_schema(rows), operation->batches, operation->batch_count, &options, operation->client->connect->memory, &stream));
    local.has_data = true;
    local.data = (ProtobufCBinaryData){stream->size_bytes, stream->data};
    relation.rel_type_case = SPARK__CONNECT__RELATION__REL_TYPE_LOCAL_RELATION;
    relation.local_relation = &local;
    nl_status status = add_sql_result(operation, &relation);
    nl_buffer_release(stream);
    if (!status) status = add_metrics(operation);
    return status;
}

static nl_status add_checkpoint(nl_operation *operation, nl_str id)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__CheckpointCommandResult result = SPARK__CONNECT__CHECKPOINT_COMMAND_RESULT__INIT;
    Spark__Connect__CachedRemoteRelation remote = SPARK__CONNECT__CACHED_REMOTE_RELATION__INIT;
    remote.relation_id = NL_UNCONST(nl_str_c(operation->arena, id));
    result.relation = &remote;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_CHECKPOINT_COMMAND_RESULT;
    response.checkpoint_command_result = &result;
    return nl_operation_add(operation, &response);
}

static nl_status add_resources(nl_operation *operation)
{
    execute_response response = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__INIT;
    Spark__Connect__GetResourcesCommandResult result = SPARK__CONNECT__GET_RESOURCES_COMMAND_RESULT__INIT;
    response.response_type_case = SPARK__CONNECT__EXECUTE_PLAN_RESPONSE__RESPONSE_TYPE_GET_RESOURCES_COMMAND_RESULT;
    response.get_resources_command_result = &result;
    return nl_operation_add(operation, &response);
}

static nl_status run_command(nl_operation *operation)
{
    nl_connect_answer answer = {0};
    const Spark__Connect__Command *command = operation->request->plan->command;
    if (command && command->command_type_case == SPARK__CONNECT__COMMAND__COMMAND_TYPE_WRITE_STREAM_OPERATION_START) {
        NL_TRY(nl_stream_start(operation, command->write_stream_operation_start));
        return add_complete(operation);
    }
    NL_TRY(nl_connect_command(&operation->client->host, operation->request->plan->command, operation->arena, &answer));
    switch (answer.kind) {
    case NL_CONNECT_QUERY:
        NL_TRY(add_sql_result(operation, answer.relation));
        break;
    case NL_CONNECT_ROWS:
        NL_TRY(add_rows(operation, answer.rows));
        break;
    case NL_CONNECT_CHECKPOINT:
        NL_TRY(add_checkpoint(operation, answer.id));
        break;
    case NL_CONNECT_RESOURCES:
        NL_TRY(add_resources(operation));
        break;
    case NL_CONNECT_DONE:
        break;
    }
    NL_TRY(add_observed(operation, answer.observed));
    return add_complete(operation);
}

/* ---- the lane ----------------------------------------------------------------------------------------------------- */

/* *is_open: the result is there, to be pumped. */
static nl_status start(nl_operation *operation, bool *is_open)
{
    nl_session *session = NULL;
    const Spark__Connect__Plan *plan = operation->request->plan;
    NL_TRY(nl_cancel_check(operation->cancel));
    NL_TRY(nl_client_session(operation->client, &session));
    operation->client->has_run = true;
    nl_mutex_lock(&operation->mutex);
    operation->progress_micros = nl_now_micros();
    nl_mutex_unlock(&operation->mutex);
    nl_session_begin_with(session, operation->cancel, &operation->progress);
    operation->time_zone = nl_arena_str(operation->arena, nl_session_get(session, NL_STR("spark.sql.session.timeZone")));
    const nl_str rows_max = nl_session_get(session, NL_STR("spark.sql.execution.arrow.maxRecordsPerBatch"));
    operation->batch_rows_max = rows_max.length > 0 ? nl_session_get_int(session, "spark.sql.execution.arrow.maxRecordsPerBatch") : BATCH_ROWS_DEFAULT;
    if (plan && plan->op_type_case == SPARK__CONNECT__PLAN__OP_TYPE_COMMAND) return run_command(operation);
    if (!plan || plan->op_type_case != SPARK__CONNECT__PLAN__OP_TYPE_ROOT) return NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "The plan has neither a relation nor a command.");
    NL_TRY(nl_connect_run(&operation->client->host, plan->root, &operation->result));
    NL_TRY(add_schema(operation, nl_result_schema(operation->result)));
    *is_open = true;
    return NULL;
}

void nl_operation_run(nl_client *client, void *argument)
{
    (void)client;
    nl_operation *operation = argument;
    bool is_open = false;
    nl_status status = start(operation, &is_open);
    if (!status && is_open) {
        nl_operation_resume(operation);
    } else {
        nl_operation_close_result(operation);
        nl_operation_finish(operation, status);
    }
    nl_operation_release(operation);
}
