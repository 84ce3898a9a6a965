/* lakehouse/athena/executions.c - query executions: started, watched, stopped, listed. */
#include "lakehouse/athena/athena_private.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/number.h"
#include "base/uuid.h"

#define QUERY_BYTES_MAX 262144u
#define TOKEN_KIND      "token" /* ClientRequestToken → id */

/* ---- one execution --------------------------------------------------------------------------------------------- */

void nl_execution_release(nl_execution *execution)
{
    if (!execution || atomic_fetch_sub_explicit(&execution->references, 1, memory_order_acq_rel) != 1) return;
    nl_arena_free(execution->arena);
    free(execution);
}

static void write_millis(nl_json_writer *json, const char *key, int64_t from_micros, int64_t to_micros)
{
    nl_json_key(json, key);
    nl_json_write_int(json, from_micros && to_micros > from_micros ? (to_micros - from_micros) / 1000 : 0);
}

static void append_status(nl_json_writer *json, const nl_execution *execution)
{
    nl_json_key(json, "Status");
    nl_json_begin(json, '{');
    nl_athena_write_text(json, "State", nl_str_from(execution->state));
    if (execution->reason.length) nl_athena_write_text(json, "StateChangeReason", execution->reason);
    nl_athena_write_seconds(json, "SubmissionDateTime", execution->submitted_micros);
    if (execution->completed_micros) nl_athena_write_seconds(json, "CompletionDateTime", execution->completed_micros);
    if (execution->error_category) {
        nl_json_key(json, "AthenaError");
        nl_json_begin(json, '{');
        nl_json_key(json, "ErrorCategory");
        nl_json_write_int(json, execution->error_category);
        nl_json_key(json, "ErrorType");
        nl_json_write_int(json, execution->error_type);
        nl_json_key(json, "Retryable");
        nl_json_write_bool(json, false);
        nl_athena_write_text(json, "ErrorMessage", execution->reason);
        nl_json_end(json, '}');
    }
    nl_json_end(json, '}');
}

static void append_statistics(nl_json_writer *json, const nl_execution *execution)
{
    const int64_t end = execution->completed_micros ? execution->completed_micros : nl_now_micros();
    nl_json_key(json, "Statistics");
    nl_json_begin(json, '{');
    write_millis(json, "EngineExecutionTimeInMillis", execution->started_micros, end);
    nl_json_key(json, "DataScannedInBytes");
    nl_json_write_int(json, execution->bytes_scanned);
    write_millis(json, "TotalExecutionTimeInMillis", execution->submitted_micros, end);
    write_millis(json, "QueryQueueTimeInMillis", execution->submitted_micros, execution->started_micros ? execution->started_micros : end);
    write_millis(json, "QueryPlanningTimeInMillis", execution->started_micros, execution->planned_micros);
    nl_json_key(json, "ServiceProcessingTimeInMillis");
    nl_json_write_int(json, 0);
    nl_json_key(json, "ResultReuseInformation");
    nl_json_begin(json, '{');
    nl_json_key(json, "ReusedPreviousResult");
    nl_json_write_bool(json, false);
    nl_json_end(json, '}');
    nl_json_end(json, '}');
}

void nl_execution_append_json(const nl_execution *execution, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '{');
    nl_athena_write_text(&json, "QueryExecutionId", execution->id);
    nl_athena_write_text(&json, "Query", execution->sql);
    nl_athena_write_text(&json, "StatementType", nl_str_from(execution->statement_type));
    nl_json_key(&json, "ResultConfiguration");
    nl_json_begin(&json, '{');
    nl_athena_write_text(&json, "OutputLocation", execution->output_location);
    nl_json_end(&json, '}');
    nl_json_key(&json, "QueryExecutionContext");
    nl_json_begin(&json, '{');
    if (execution->database.length) nl_athena_write_text(&json, "Database", execution->database);
    if (execution->catalog.length) nl_athena_write_text(&json, "Catalog", execution->catalog);
    nl_json_end(&json, '}');
    append_status(&json, execution);
    append_statistics(&json, execution);
    nl_athena_write_text(&json, "WorkGroup", execution->work_group);
    nl_json_key(&json, "EngineVersion");
    nl_json_begin(&json, '{');
    nl_athena_write_text(&json, "SelectedEngineVersion", NL_STR("AUTO"));
    nl_athena_write_text(&json, "EffectiveEngineVersion", NL_STR("Athena engine version 3"));
    nl_json_end(&json, '}');
    if (execution->parameter_count) {
        nl_json_key(&json, "ExecutionParameters");
        nl_json_begin(&json, '[');
        for (uint32_t i = 0; i < execution->parameter_count; i++) nl_json_write_text(&json, execution->parameters[i]);
        nl_json_end(&json, ']');
    }
    nl_athena_write_text(&json, "SubstatementType", nl_str_from(execution->substatement_type));
    /* What GetQueryResults needs; taken out of what clients see. */
    nl_json_key(&json, "_Columns");
    nl_json_before_value(&json);
    nl_append(out, execution->columns.length ? execution->columns : NL_STR("[]"));
    nl_json_after_value(&json);
    nl_json_key(&json, "_HasHeader");
    nl_json_write_bool(&json, execution->has_header);
    nl_json_key(&json, "_UpdateCount");
    nl_json_write_int(&json, execution->update_count);
    nl_json_end(&json, '}');
}

static nl_str as_json(nl_athena *athena, const nl_execution *execution, nl_arena *arena)
{
    nl_builder text;
    nl_builder_init(&text, 16u << 20);
    nl_mutex_lock(&athena->mutex);
    nl_execution_append_json(execution, &text);
    nl_mutex_unlock(&athena->mutex);
    const nl_str kept = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return kept;
}

/* Counted; or NULL. */
static nl_execution *find_live(nl_athena *athena, nl_str id)
{
    nl_mutex_lock(&athena->mutex);
    nl_execution *execution = athena->live;
    while (execution && !nl_str_equal(execution->id, id)) execution = execution->next;
    if (execution) atomic_fetch_add_explicit(&execution->references, 1, memory_order_relaxed);
    nl_mutex_unlock(&athena->mutex);
    return execution;
}

/* A query that the last process left behind did not end. */
static nl_status as_lost(nl_athena_call *call, nl_str id, const json_t *json, const json_t **answer)
{
    const json_t *state = json_object_get(json_object_get(json, "Status"), "State");
    *answer = json;
    if (!json_is_string(state) || (!nl_str_is(nl_str_from(json_string_value(state)), "QUEUED") && !nl_str_is(nl_str_from(json_string_value(state)), "RUNNING"))) return NULL;
    json_t *status = json_object_get(json, "Status");
    json_object_set_new(status, "State", json_string("FAILED"));
    json_object_set_new(status, "StateChangeReason", json_string("INTERNAL_ERROR: the service was stopped while the query ran"));
    nl_builder text;
    nl_builder_init(&text, 16u << 20);
    nl_json_writer writer = {.out = &text};
    nl_json_write_json(&writer, json);
    nl_status stored = nl_athena_put_item(call->athena, "query", id, nl_builder_str(&text), false);
    nl_builder_fini(&text);
    return stored;
}

nl_status nl_athena_find_execution(nl_athena_call *call, nl_str id, const json_t **json)
{
    nl_str text;
    nl_execution *live = find_live(call->athena, id);
    if (live) {
        text = as_json(call->athena, live, call->arena);
        nl_execution_release(live);
        return nl_json_parse(call->arena, text, NL_ATHENA_REQUEST, json);
    }
    NL_TRY(nl_athena_get_item(call->athena, "query", id, call->arena, &text));
    if (!text.data) return nl_athena_invalid(call, "QueryExecution " NL_STR_FMT " was not found", NL_STR_ARG(id));
    const json_t *stored;
    NL_TRY(nl_json_parse(call->arena, text, NL_STR("the data folder"), &stored));
    return as_lost(call, id, stored, json);
}

/* ---- starting -------------------------------------------------------------------------------------------------- */

typedef struct query_task {
    nl_athena *athena;
    nl_execution *execution; /* counted */
} query_task;

static nl_status store(nl_athena *athena, const nl_execution *execution)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = nl_athena_put_item(athena, "query", execution->id, as_json(athena, execution, arena), false);
    nl_arena_free(arena);
    return status;
}

static void forget(nl_athena *athena, nl_execution *execution)
{
    nl_mutex_lock(&athena->mutex);
    nl_execution **at = &athena->live;
    while (*at && *at != execution) at = &(*at)->next;
    const bool is_there = *at != NULL;
    if (is_there) *at = execution->next;
    nl_mutex_unlock(&athena->mutex);
    if (is_there) nl_execution_release(execution);
}

static nl_status run_task(void *argument, uint32_t worker)
{
    query_task *task = argument;
    (void)worker;
    nl_athena_run(task->athena, task->execution);
    nl_error *error = store(task->athena, task->execution);
    if (error) nl_log(NL_LOG_ERROR, "athena: the end of a query was not stored: %s", nl_error_message(error)); /* it stays live */
    else forget(task->athena, task->execution);
    nl_error_free(error);
    nl_execution_release(task->execution);
    free(task);
    return NULL;
}

/* The first words say what kind of statement it is; parsing is the run's. */
static void classify(nl_execution *execution)
{
    static const struct {
        const char *word, *type, *substatement;
    } kinds[] = {
        {"SELECT", "DML", "SELECT"},   {"WITH", "DML", "SELECT"},     {"VALUES", "DML", "SELECT"},   {"TABLE", "DML", "SELECT"},       {"(", "DML", "SELECT"},
        {"INSERT", "DML", "INSERT"},   {"UPDATE", "DML", "UPDATE"},   {"DELETE", "DML", "DELETE"},   {"MERGE", "DML", "MERGE"},        {"EXECUTE", "DML", "SELECT"},
        {"UNLOAD", "DML", "UNLOAD"},   {"CREATE", "DDL", "CREATE"},   {"ALTER", "DDL", "ALTER"},     {"DROP", "DDL", "DROP"},          {"PREPARE", "DDL", "PREPARE"},
        {"SHOW", "UTILITY", "SHOW"},   {"DESCRIBE", "UTILITY", "DESCRIBE"}, {"DESC", "UTILITY", "DESCRIBE"}, {"EXPLAIN", "UTILITY", "EXPLAIN"},
    };
    const nl_str text = nl_str_trim(execution->sql);
    execution->statement_type = "DDL";
    execution->substatement_type = "OTHER";
    for (size_t i = 0; i < NL_COUNT(kinds); i++) {
        if (!nl_str_starts_nocase(text, nl_str_from(kinds[i].word))) continue;
        execution->statement_type = kinds[i].type;
        execution->substatement_type = kinds[i].substatement;
        return;
    }
}

static nl_status new_execution(nl_athena_call *call, nl_str sql, nl_execution **execution)
{
    nl_execution *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    uint8_t bytes[16];
    char id[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, id);
    const json_t *context = json_object_get(call->body, "QueryExecutionContext"), *parameters = json_object_get(call->body, "ExecutionParameters");
    made->arena = nl_arena_new(NULL);
    made->id = nl_arena_str(made->arena, (nl_str){id, sizeof(id)});
    made->sql = nl_arena_str(made->arena, sql);
    made->catalog = nl_arena_str(made->arena, nl_athena_text(call, context, "Catalog"));
    made->database = nl_arena_str(made->arena, nl_athena_text(call, context, "Database"));
    made->token = nl_arena_str(made->arena, nl_athena_text(call, call->body, "ClientRequestToken"));
    nl_str *texts = NL_NEW_ARRAY(made->arena, nl_str, json_array_size(parameters) + 1);
    for (size_t i = 0; i < json_array_size(parameters); i++) texts[i] = nl_arena_str(made->arena, nl_str_from(json_string_value(json_array_get(parameters, i))));
    made->parameters = texts;
    made->parameter_count = (uint32_t)json_array_size(parameters);
    made->state = "QUEUED";
    made->submitted_micros = nl_now_micros();
    made->update_count = -1;
    atomic_init(&made->references, 1);
    classify(made);
    *execution = made;
    return NULL;
}

/* Where the result goes: the request's place, the work group's, or a bucket of this lakehouse's own. */
static nl_status choose_output(nl_athena_call *call, nl_execution *execution)
{
    nl_str location = nl_athena_text(call, json_object_get(call->body, "ResultConfiguration"), "OutputLocation"), group_location;
    nl_str work_group = nl_athena_text(call, call->body, "WorkGroup");
    if (!work_group.length) work_group = NL_STR(NL_ATHENA_WORK_GROUP);
    NL_TRY(nl_athena_work_group_location(call, work_group, &group_location));
    if (!location.length) location = group_location;
    if (!location.length) {
        location = NL_STR("s3://" NL_ATHENA_BUCKET "/");
        nl_error *error = call->athena->tables->objects ? nl_objects_create_bucket(call->athena->tables->objects, NL_STR(NL_ATHENA_BUCKET), false) : NULL;
        if (error && nl_error_condition(error) != NL_COND_NILAS_ALREADY_EXISTS) return error;
        nl_error_free(error);
    }
    if (!nl_str_starts(location, NL_STR("s3://"))) return nl_athena_invalid(call, "outputLocation is not a valid S3 path. Provided " NL_STR_FMT, NL_STR_ARG(location));
    while (location.length > 5 && location.data[location.length - 1] == '/') location.length--;
    const bool is_table = nl_str_is(nl_str_from(execution->statement_type), "DML") && !nl_str_is(nl_str_from(execution->substatement_type), "UNLOAD");
    execution->work_group = nl_arena_str(execution->arena, work_group);
    execution->output_location =
        nl_arena_f(execution->arena, NL_STR_FMT "/" NL_STR_FMT "%s", NL_STR_ARG(location), NL_STR_ARG(execution->id), is_table ? ".csv" : ".txt");
    return NULL;
}

static nl_status enqueue(nl_athena_call *call, nl_execution *execution)
{
    nl_athena *athena = call->athena;
    query_task *task = calloc(1, sizeof(*task));
    if (!task) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*task)), NL_P("receivedBytes", "0"));
    nl_status status = store(athena, execution);
    if (!status && execution->token.length) status = nl_athena_put_item(athena, TOKEN_KIND, execution->token, execution->id, false);
    if (status) {
        free(task);
        return status;
    }
    *task = (query_task){athena, execution};
    atomic_fetch_add_explicit(&execution->references, 1, memory_order_relaxed); /* the list's */
    nl_mutex_lock(&athena->mutex);
    execution->next = athena->live;
    athena->live = execution;
    nl_mutex_unlock(&athena->mutex);
    nl_task_group_add(athena->tasks, run_task, task);
    return NULL;
}

static nl_status answer_id(nl_athena_call *call, nl_str id)
{
    nl_json_writer json = nl_athena_begin(call);
    nl_athena_write_text(&json, "QueryExecutionId", id);
    nl_athena_end(call, &json);
    return NULL;
}

/* The same token with the same query is the same execution. */
static nl_status find_token(nl_athena_call *call, nl_str sql, nl_str *id)
{
    const nl_str token = nl_athena_text(call, call->body, "ClientRequestToken");
    const json_t *json;
    *id = (nl_str){0};
    if (!token.length) return NULL;
    NL_TRY(nl_athena_get_item(call->athena, TOKEN_KIND, token, call->arena, id));
    if (!id->data) return NULL;
    NL_TRY(nl_athena_find_execution(call, *id, &json));
    if (nl_str_equal(nl_athena_text(call, json, "Query"), sql)) return NULL;
    return nl_athena_invalid(call, "Idempotent parameters do not match");
}

nl_status nl_athena_start_query(nl_athena_call *call)
{
    nl_str sql, id;
    nl_execution *execution = NULL;
    NL_TRY(nl_athena_need(call, "QueryString", &sql));
    if (sql.length > QUERY_BYTES_MAX) return nl_athena_invalid(call, "QueryString has more than %u bytes", QUERY_BYTES_MAX);
    NL_TRY(find_token(call, sql, &id));
    if (id.data) return answer_id(call, id);
    NL_TRY(new_execution(call, sql, &execution));
    nl_status status = choose_output(call, execution);
    if (!status) id = nl_arena_str(call->arena, execution->id);
    if (!status) status = enqueue(call, execution);
    if (status) {
        nl_execution_release(execution);
        return status;
    }
    return answer_id(call, id);
}

/* ---- watching -------------------------------------------------------------------------------------------------- */

static void write_public(nl_json_writer *json, const json_t *execution)
{
    const char *key;
    json_t *value;
    nl_json_begin(json, '{');
    json_object_foreach((json_t *)(uintptr_t)execution, key, value) {
        if (key[0] == '_' || json_is_null(value)) continue;
        nl_json_key(json, key);
        nl_json_write_json(json, value);
    }
    nl_json_end(json, '}');
}

nl_status nl_athena_get_query(nl_athena_call *call)
{
    nl_str id;
    const json_t *execution;
    NL_TRY(nl_athena_need(call, "QueryExecutionId", &id));
    NL_TRY(nl_athena_find_execution(call, id, &execution));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "QueryExecution");
    write_public(&json, execution);
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_batch_get_query(nl_athena_call *call)
{
    const json_t *ids = json_object_get(call->body, "QueryExecutionIds");
    if (!json_is_array(ids) || json_array_size(ids) == 0 || json_array_size(ids) > 50) return nl_athena_invalid(call, "QueryExecutionIds has between 1 and 50 ids");
    nl_json_writer json = nl_athena_begin(call);
    nl_list missing = {0};
    nl_json_key(&json, "QueryExecutions");
    nl_json_begin(&json, '[');
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *execution;
        nl_error *error = nl_athena_find_execution(call, nl_str_from(json_string_value(json_array_get(ids, i))), &execution);
        if (error) nl_list_add(call->arena, &missing, (void *)(uintptr_t)json_array_get(ids, i));
        else write_public(&json, execution);
        nl_error_free(error);
    }
    nl_json_end(&json, ']');
    nl_json_key(&json, "UnprocessedQueryExecutionIds");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < missing.count; i++) {
        nl_json_begin(&json, '{');
        nl_athena_write_text(&json, "QueryExecutionId", nl_str_from(json_string_value(missing.items[i])));
        nl_athena_write_text(&json, "ErrorCode", NL_STR("INVALID_INPUT"));
        nl_athena_write_text(&json, "ErrorMessage", NL_STR("The query execution was not found"));
        nl_json_end(&json, '}');
    }
    nl_json_end(&json, ']');
    call->error_type = NULL;
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_list_queries(nl_athena_call *call)
{
    int64_t size;
    nl_athena_item *items;
    uint32_t count;
    nl_str work_group = nl_athena_text(call, call->body, "WorkGroup"), location;
    if (!work_group.length) work_group = NL_STR(NL_ATHENA_WORK_GROUP);
    NL_TRY(nl_athena_work_group_location(call, work_group, &location));
    NL_TRY(nl_athena_page_size(call, "MaxResults", 50, &size));
    NL_TRY(nl_athena_list_items(call->athena, "query", NL_STR(""), nl_athena_text(call, call->body, "NextToken"), size + 1, true, call->arena, &items, &count));
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "QueryExecutionIds");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < count && i < size; i++) {
        const json_t *execution;
        NL_TRY(nl_json_parse(call->arena, items[i].json, NL_STR("the data folder"), &execution));
        if (nl_str_equal(nl_athena_text(call, execution, "WorkGroup"), work_group)) nl_json_write_text(&json, items[i].name);
    }
    nl_json_end(&json, ']');
    if (count > size) nl_athena_write_text(&json, "NextToken", items[size - 1].name);
    nl_athena_end(call, &json);
    return NULL;
}

nl_status nl_athena_stop_query(nl_athena_call *call)
{
    nl_str id;
    const json_t *json;
    NL_TRY(nl_athena_need(call, "QueryExecutionId", &id));
    NL_TRY(nl_athena_find_execution(call, id, &json)); /* an ended one is stopped already */
    nl_execution *live = find_live(call->athena, id);
    if (live) {
        nl_mutex_lock(&call->athena->mutex);
        live->is_cancelled = true;
        if (live->session) nl_session_cancel(live->session);
        nl_mutex_unlock(&call->athena->mutex);
        nl_execution_release(live);
    }
    nl_json_writer writer = nl_athena_begin(call);
    nl_athena_end(call, &writer);
    return NULL;
}

nl_status nl_athena_get_statistics(nl_athena_call *call)
{
    nl_str id;
    const json_t *execution;
    NL_TRY(nl_athena_need(call, "QueryExecutionId", &id));
    NL_TRY(nl_athena_find_execution(call, id, &execution));
    const json_t *statistics = json_object_get(execution, "Statistics");
    nl_json_writer json = nl_athena_begin(call);
    nl_json_key(&json, "QueryRuntimeStatistics");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "Timeline");
    nl_json_begin(&json, '{');
    static const char *const keys[] = {"QueryQueueTimeInMillis", "QueryPlanningTimeInMillis", "EngineExecutionTimeInMillis", "ServiceProcessingTimeInMillis", "TotalExecutionTimeInMillis"};
    for (size_t i = 0; i < NL_COUNT(keys); i++) {
        nl_json_key(&json, keys[i]);
        nl_json_write_int(&json, (int64_t)json_integer_value(json_object_get(statistics, keys[i])));
    }
    nl_json_end(&json, '}');
    nl_json_key(&json, "Rows");
    nl_json_begin(&json, '{');
    nl_json_key(&json, "InputBytes");
    nl_json_write_int(&json, (int64_t)json_integer_value(json_object_get(statistics, "DataScannedInBytes")));
    nl_json_end(&json, '}');
    nl_json_end(&json, '}');
    nl_athena_end(call, &json);
    return NULL;
}
