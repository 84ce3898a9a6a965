/* exec/python/task.c - see task.h. */
#include "exec/python/task.h"

#include "base/json.h"
#include "base/number.h"
#include "column/arrow_ipc.h"
#include "storage/io_error.h"

#define ORDER_BYTES_MAX ((size_t)1 << 30)

/* ---- the order ---- */

static nl_str conf_or(const nl_session *session, const char *key, const char *otherwise)
{
    const nl_str value = nl_session_get(session, nl_str_from(key));
    return value.data ? value : nl_str_from(otherwise);
}

static void write_confs(nl_json_writer *json, const nl_python_plan *plan, const nl_session *session)
{
    static const struct {
        const char *key, *otherwise;
    } confs[] = {
        {"spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "true"},
        {"spark.sql.execution.pandas.convertToArrowArraySafely", "false"},
        {"spark.sql.execution.arrow.useLargeVarTypes", "false"},
        {"spark.sql.execution.arrow.maxRecordsPerBatch", "10000"},
    };
    nl_json_key(json, "confs");
    nl_json_begin(json, '{');
    nl_json_key(json, "spark.sql.session.timeZone");
    nl_json_write_text(json, nl_timezone_name(plan->exec->query->confs->zone));
    for (size_t i = 0; i < NL_COUNT(confs); i++) {
        nl_json_key(json, confs[i].key);
        nl_json_write_text(json, conf_or(session, confs[i].key, confs[i].otherwise));
    }
    if (plan->node->python.shape == NL_PYTHON_WINDOW) {
        nl_json_key(json, "pandas_window_bound_types");
        nl_builder kinds;
        nl_builder_init(&kinds, 1 << 16);
        for (uint32_t i = 0; i < plan->node->python.call_count; i++) nl_append_f(&kinds, "%s%sbounded", i ? "," : "", plan->node->python.calls[i].is_bounded ? "" : "un");
        nl_json_write_text(json, nl_builder_str(&kinds));
        nl_builder_fini(&kinds);
    }
    nl_json_end(json, '}');
}

/* A data frame of grouped functions, as PySpark is told: how many numbers follow, how many keys, keys, values. */
static void write_frame(nl_json_writer *json, uint32_t keys, uint32_t first, uint32_t count)
{
    nl_json_write_int(json, 1 + (int64_t)keys + count);
    nl_json_write_int(json, keys);
    for (uint32_t i = 0; i < keys; i++) nl_json_write_int(json, i);
    for (uint32_t i = 0; i < count; i++) nl_json_write_int(json, first + i);
}

static void write_offsets(nl_json_writer *json, const nl_logical *node, const nl_python_call *call)
{
    const uint32_t keys = node->python.key_count, count = node->python.argument_count;
    nl_json_key(json, "offsets");
    nl_json_begin(json, '[');
    if (node->python.shape == NL_PYTHON_MAP && node->python.eval != NL_PYTHON_TABLE) {
        nl_json_write_int(json, 0);
    } else if (node->python.shape == NL_PYTHON_GROUP) {
        write_frame(json, keys, keys, count - keys);
    } else if (node->python.shape == NL_PYTHON_COGROUP) {
        write_frame(json, keys, keys, node->python.left_count);
        write_frame(json, keys, keys, count - keys - 1 - node->python.left_count);
    } else {
        const uint32_t first = keys; /* which are not sent */
        for (uint32_t i = 0; i < call->offset_count; i++) nl_json_write_int(json, call->offsets[i] - first);
    }
    nl_json_end(json, ']');
    if (!call->names) return;
    nl_json_key(json, "names");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < call->offset_count; i++) {
        if (call->names[i].data)
            nl_json_write_text(json, call->names[i]);
        else
            nl_json_write_null(json);
    }
    nl_json_end(json, ']');
}

/* Which fields of a table argument's rows tell the partition. */
static void write_partitions(nl_json_writer *json, const nl_logical *node)
{
    const uint32_t count = node->python.left_count;
    uint32_t table = 0;
    nl_json_key(json, "partitions");
    nl_json_begin(json, '[');
    while (table < node->python.argument_count && node->python.arguments[table]->type->id != NL_TYPE_STRUCT) table++;
    for (uint32_t i = count; i > 0 && table < node->python.argument_count; i--) nl_json_write_int(json, node->python.arguments[table]->type->child_count - i);
    nl_json_end(json, ']');
}

/* schema: of a table function's rows, which follows its command; or NULL. */
static void write_calls(nl_json_writer *json, const nl_logical *node, const nl_buffer *schema)
{
    nl_json_key(json, "udfs");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < node->python.call_count; i++) {
        nl_json_begin(json, '{');
        write_offsets(json, node, &node->python.calls[i]);
        nl_json_key(json, "chain");
        nl_json_write_int(json, node->python.calls[i].chain_count);
        nl_json_end(json, '}');
    }
    nl_json_end(json, ']');
    nl_json_key(json, "commands");
    nl_json_begin(json, '[');
    for (uint32_t i = 0; i < node->python.call_count; i++)
        for (uint32_t k = 0; k < node->python.calls[i].chain_count; k++)
            nl_json_write_int(json, (int64_t)node->python.calls[i].chain[k]->command.length);
    if (schema) nl_json_write_int(json, (int64_t)schema->size_bytes);
    nl_json_end(json, ']');
    if (!schema) return;
    nl_json_key(json, "table_name");
    nl_json_write_text(json, node->python.calls[0].chain[0]->name);
    nl_json_key(json, "each");
    nl_json_write_int(json, node->python.shape == NL_PYTHON_EXPLODE);
    write_partitions(json, node);
}

/* Names apart by line ends, as a list. */
static void write_names(nl_json_writer *json, const char *key, nl_str names)
{
    nl_str name;
    nl_json_key(json, key);
    nl_json_begin(json, '[');
    while (names.length && nl_str_next_part(&names, '\n', &name)) nl_json_write_text(json, name);
    nl_json_end(json, ']');
}

static bool has_groups(const nl_logical *node)
{
    const nl_python_shape shape = node->python.shape;
    return shape == NL_PYTHON_GROUP || shape == NL_PYTHON_COGROUP || shape == NL_PYTHON_AGGREGATE || shape == NL_PYTHON_WINDOW;
}

static void write_order(nl_json_writer *json, const nl_python_plan *plan, const nl_session *session, const nl_buffer *schema)
{
    const nl_logical *node = plan->node;
    nl_json_begin(json, '{');
    nl_json_key(json, "eval");
    nl_json_write_int(json, node->python.shape == NL_PYTHON_WINDOW ? NL_PYTHON_WINDOW_AGG_PANDAS : node->python.eval);
    nl_json_key(json, "version");
    nl_json_write_text(json, node->python.calls[0].chain[0]->version);
    nl_json_key(json, "partition");
    nl_json_write_int(json, 0);
    nl_json_key(json, "id");
    nl_json_write_int(json, 0);
    nl_json_key(json, "files");
    nl_json_write_text(json, conf_or(session, "nilas.python.files", ""));
    write_names(json, "includes", conf_or(session, "nilas.python.includes", ""));
    write_names(json, "archives", conf_or(session, "nilas.python.archives", ""));
    nl_json_key(json, "tells");
    nl_json_write_int(json, has_groups(node));
    nl_json_key(json, "memory"); /* of one process */
    nl_json_write_text(json, conf_or(session, "spark.executor.pyspark.memory", ""));
    nl_json_key(json, "environment");
    nl_json_begin(json, '{');
    nl_json_key(json, "SPARK_SIMPLIFIED_TRACEBACK");
    nl_json_write_text(json, nl_str_is(conf_or(session, "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled", "true"), "true") ? NL_STR("1") : NL_STR(""));
    nl_json_end(json, '}');
    write_confs(json, plan, session);
    write_calls(json, node, schema);
    nl_json_end(json, '}');
}

static nl_status make_order(nl_python_plan *plan, const nl_session *session)
{
    nl_builder text, order;
    nl_builder_init(&text, ORDER_BYTES_MAX);
    nl_builder_init(&order, ORDER_BYTES_MAX);
    nl_json_writer json = {.out = &text};
    nl_buffer *schema = NULL;
    nl_status status = NULL;
    if (plan->node->python.eval == NL_PYTHON_TABLE) status = nl_ipc_encode(plan->node->python.calls[0].chain[0]->type, NULL, 0, &(nl_ipc_options){0}, plan->exec->query->memory, &schema);
    if (!status) write_order(&json, plan, session, schema);
    for (uint32_t i = 0; i < 4; i++) nl_append_char(&order, (char)(text.length >> (8 * i) & 0xff));
    nl_append(&order, nl_builder_str(&text));
    for (uint32_t i = 0; i < plan->node->python.call_count; i++)
        for (uint32_t k = 0; k < plan->node->python.calls[i].chain_count; k++) nl_append(&order, plan->node->python.calls[i].chain[k]->command);
    if (schema) nl_append(&order, (nl_str){(const char *)schema->data, schema->size_bytes});
    nl_buffer_release(schema);
    if (!status && (nl_builder_failed(&text) || nl_builder_failed(&order))) status = nl_out_of_memory(ORDER_BYTES_MAX);
    if (!status) plan->order = nl_arena_str(plan->exec->arena, nl_builder_str(&order));
    nl_builder_fini(&text);
    nl_builder_fini(&order);
    return status;
}

/* ---- types ---- */

static const nl_type *sent_type(const nl_python_plan *plan, uint32_t first, uint32_t count, uint32_t key_count)
{
    const nl_logical *node = plan->node;
    nl_arena *arena = plan->exec->arena;
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, key_count + count + 1);
    for (uint32_t i = 0; i < key_count + count; i++) {
        const uint32_t at = i < key_count ? i : first + i - key_count;
        const nl_str name = node->python.argument_names ? node->python.argument_names[at] : nl_arena_f(arena, "_%u", i);
        fields[i] = (nl_field){.name = name, .type = node->python.arguments[at]->type, .is_nullable = true};
    }
    const nl_type *columns = nl_type_struct(arena, fields, key_count + count);
    if (!plan->is_wrapped) return columns;
    const nl_field whole = {.name = NL_STR("_0"), .type = columns};
    return nl_type_struct(arena, &whole, 1);
}

/* EXPLODE: of which row, then the function's own. */
static const nl_type *numbered_type(nl_arena *arena, const nl_type *type)
{
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, (size_t)type->child_count + 1);
    fields[0] = (nl_field){.name = NL_STR("_"), .type = nl_type_int()};
    for (uint32_t i = 0; i < type->child_count; i++) fields[i + 1] = type->children[i];
    return nl_type_struct(arena, fields, type->child_count + 1);
}

static const nl_type *received_type(const nl_python_plan *plan)
{
    const nl_logical *node = plan->node;
    if (node->python.shape == NL_PYTHON_EXPLODE) return numbered_type(plan->exec->arena, node->python.calls[0].chain[0]->type);
    if (plan->is_unwrapped) return node->python.calls[0].chain[0]->type;
    nl_field *fields = NL_NEW_ARRAY(plan->exec->arena, nl_field, node->python.call_count + 1);
    for (uint32_t i = 0; i < node->python.call_count; i++) {
        const nl_python_call *call = &node->python.calls[i];
        fields[i] = (nl_field){.name = NL_STR("_"), .type = call->chain[call->chain_count - 1]->type, .is_nullable = true};
    }
    return nl_type_struct(plan->exec->arena, fields, node->python.call_count);
}

/* Everything that is asked of the session. */
static nl_status init_plan(nl_python_plan *plan, nl_exec *exec, const nl_logical *node, nl_session *session)
{
    const uint32_t keys = node->python.key_count, count = node->python.argument_count;
    const bool is_cogroup = node->python.shape == NL_PYTHON_COGROUP;
    const int32_t eval = node->python.eval;
    *plan = (nl_python_plan){.exec = exec, .node = node};
    NL_TRY(nl_python_pool_of(session, &plan->pool));
    NL_TRY(nl_python_interpreter(session, exec->arena, &plan->interpreter));
    plan->is_wrapped = eval == NL_PYTHON_MAP_PANDAS_ITER || eval == NL_PYTHON_MAP_ARROW_ITER || eval == NL_PYTHON_GROUPED_MAP_ARROW;
    plan->is_unwrapped = node->python.shape == NL_PYTHON_MAP || node->python.shape == NL_PYTHON_EXPLODE || node->python.shape == NL_PYTHON_GROUP || is_cogroup;
    if (is_cogroup) {
        plan->sent[0] = sent_type(plan, keys + 1, node->python.left_count, keys);
        plan->sent[1] = sent_type(plan, keys + 1 + node->python.left_count, count - keys - 1 - node->python.left_count, keys);
    } else {
        const bool has_keys = node->python.shape == NL_PYTHON_GROUP;
        plan->sent[0] = sent_type(plan, keys, count - keys, has_keys ? keys : 0);
    }
    plan->received = received_type(plan);
    /* Rows become datetimes without a zone, in the machine's: they are sent as instants. */
    plan->time_zone = eval == NL_PYTHON_BATCHED || eval == NL_PYTHON_TABLE ? NL_STR("UTC") : nl_arena_str(exec->arena, nl_timezone_name(exec->query->confs->zone));
    int64_t rows = 0;
    if (!nl_parse_int64(conf_or(session, "spark.sql.execution.arrow.maxRecordsPerBatch", "10000"), &rows)) rows = 0;
    plan->rows_max = rows > 0 && rows < UINT32_MAX ? (uint32_t)rows : UINT32_MAX;
    return make_order(plan, session);
}

nl_status nl_python_plan_init(nl_python_plan *plan, nl_exec *exec, const nl_logical *node)
{
    nl_session *session = NL_UNCONST(exec->query->confs->session);
    if (!session) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Functions written in Python need a session.");
    const bool is_claimed = nl_session_claim(session);
    nl_status status = init_plan(plan, exec, node, session);
    nl_session_unclaim(session, is_claimed);
    return status;
}

/* ---- the task ---- */

nl_status nl_python_task_begin(const nl_python_plan *plan, nl_python_task *task)
{
    if (task->worker || task->is_done) return NULL;
    const nl_query *query = plan->exec->query;
    NL_TRY(nl_python_worker_take(plan->pool, plan->interpreter, query->cancel, query->memory, &task->worker));
    return nl_python_send(task->worker, 'T', plan->order);
}

/* The columns as those of one struct; *whole is ended by the caller. */
static nl_status wrap(const nl_type *type, const nl_vector *columns, uint32_t rows, nl_memory *memory, nl_vector *whole)
{
    NL_TRY(nl_vector_new_flat(whole, type, rows, memory));
    for (uint32_t i = 0; i < type->child_count; i++) {
        nl_vector column;
        nl_vector_ref(&columns[i], &column);
        nl_vector_set_child(whole, i, &column);
    }
    return NULL;
}

nl_status nl_python_task_send(const nl_python_plan *plan, nl_python_task *task, uint32_t side, const nl_vector *columns, uint32_t rows)
{
    nl_memory *memory = plan->exec->query->memory;
    const nl_type *type = plan->sent[side];
    nl_vector whole = {0};
    nl_buffer *stream = NULL;
    if (task->is_done) return NULL; /* it has read enough */
    nl_status status = plan->is_wrapped ? wrap(type->children[0].type, columns, rows, memory, &whole) : NULL;
    nl_batch batch = {.columns = plan->is_wrapped ? &whole : NL_UNCONST(columns), .column_count = type->child_count, .row_count = rows};
    const nl_ipc_options options = {.time_zone = plan->time_zone};
    if (!status) status = nl_ipc_encode(type, &batch, 1, &options, memory, &stream);
    if (!status) status = nl_python_send(task->worker, 'B', (nl_str){(const char *)stream->data, stream->size_bytes});
    nl_buffer_release(stream);
    nl_vector_fini(&whole);
    return status;
}

nl_status nl_python_task_mark(nl_python_task *task, char kind)
{
    return task->is_done ? NULL : nl_python_send(task->worker, kind, (nl_str){0});
}

static nl_status raise_types(const nl_python_plan *plan, const nl_type *got)
{
    nl_arena *scratch = nl_arena_new(NULL);
    const nl_str text = nl_arena_f(scratch, "Invalid schema from a function in Python: expected " NL_STR_FMT ", got " NL_STR_FMT ".",
                                   NL_STR_ARG(nl_type_sql(scratch, plan->received)), NL_STR_ARG(nl_type_sql(scratch, got)));
    nl_status status = NL_RAISE(NILAS_PYTHON_WORKER, NL_P_STR("message", text));
    nl_arena_free(scratch);
    return status;
}

static bool types_fit(const nl_type *a, const nl_type *b)
{
    if (a->id != b->id || a->physical != b->physical || a->child_count != b->child_count) return false;
    if (a->id == NL_TYPE_DECIMAL && (a->precision != b->precision || a->scale != b->scale)) return false;
    for (uint32_t i = 0; i < a->child_count; i++)
        if (!types_fit(a->children[i].type, b->children[i].type)) return false;
    return true;
}

/* Columns of the types that the function has declared; a struct's own are taken out of it. */
static nl_status conform(const nl_python_plan *plan, const nl_type *got, nl_batch *batch)
{
    if (plan->is_unwrapped && got->child_count == 1 && got->children[0].type->id == NL_TYPE_STRUCT) {
        nl_batch inner = {0};
        nl_vector whole = {0};
        got = got->children[0].type;
        NL_TRY(nl_vector_flatten(&batch->columns[0], false, plan->exec->query->memory, &whole));
        nl_status status = nl_batch_init(&inner, whole.child_count, batch->row_count);
        for (uint32_t i = 0; !status && i < whole.child_count; i++) nl_vector_ref(&whole.children[i], &inner.columns[i]);
        nl_vector_fini(&whole);
        nl_batch_fini(batch);
        nl_batch_move(&inner, batch);
        NL_TRY(status);
    }
    if (!types_fit(got, plan->received)) return raise_types(plan, got);
    for (uint32_t i = 0; i < batch->column_count; i++) nl_vector_relabel(&batch->columns[i], plan->received->children[i].type);
    return NULL;
}

static nl_status decode(const nl_python_plan *plan, nl_buffer *payload, nl_batch *batch)
{
    nl_ipc_reader *reader = NULL;
    bool is_done = false;
    NL_TRY(nl_ipc_reader_new((nl_str){(const char *)payload->data, payload->size_bytes}, payload, plan->exec->query->memory, &reader));
    nl_status status = nl_ipc_reader_next(reader, batch, &is_done);
    if (!status && is_done) status = NL_RAISE_TEXT(NILAS_PYTHON_WORKER, "The Python worker has sent a stream without a batch.");
    if (!status) status = conform(plan, nl_ipc_reader_schema(reader), batch);
    nl_ipc_reader_free(reader);
    if (status) nl_batch_fini(batch);
    return nl_note_if(status, NL_HERE, "reading what a Python worker has sent");
}

nl_status nl_python_task_receive(const nl_python_plan *plan, nl_python_task *task, bool is_waiting, nl_batch *batch, bool *is_there)
{
    *is_there = false;
    while (!*is_there && !task->is_done) {
        nl_python_frame frame = {0};
        bool has_frame = false;
        NL_TRY(nl_python_receive(task->worker, is_waiting, &frame, &has_frame));
        if (!has_frame) return NULL;
        nl_status status = NULL;
        if (frame.kind == 'D') {
            task->is_done = true;
            task->is_reusable = frame.payload->size_bytes == 1 && frame.payload->data[0] == '1';
        } else if (frame.kind == 'W') {
            task->answered++;
            nl_buffer_release(frame.payload);
            return NULL;
        } else {
            status = decode(plan, frame.payload, batch);
            *is_there = !status;
        }
        nl_buffer_release(frame.payload);
        NL_TRY(status);
    }
    return NULL;
}

void nl_python_task_end(nl_python_task *task)
{
    nl_python_worker_give_back(task->worker, task->is_done && task->is_reusable);
    *task = (nl_python_task){.is_done = true};
}
