/* lakehouse/rest/plan.c - scans planned by the server: a filter in JSON, and the files that may hold its rows with the deletes
 * that apply to them. Every plan is complete when it is answered, so there are no plan ids and no tasks to fetch.
 *
 * The client filters rows itself by the residual: a file too many costs it time, a file too few would lose rows. A term
 * that is no plain column therefore makes the whole filter true here.
 */
#include "lakehouse/rest/rest_private.h"

#include "base/limits.h"
#include "iceberg/scan_planning.h"

#include <stdlib.h>

/* ---- The filter ---- */

typedef struct filter {
    nl_rest_api_call *call;
    const nl_schema *schema;
    bool is_case_sensitive;
    bool is_given_up; /* something in it cannot be judged by files */
} filter;

static const struct kind_row {
    const char *name;
    nl_predicate_kind kind;
    uint32_t values; /* 0, 1, 2: a list */
} kinds[] = {
    {"is-null", NL_PREDICATE_IS_NULL, 0},     {"not-null", NL_PREDICATE_NOT_NULL, 0},
    {"is-nan", NL_PREDICATE_IS_NAN, 0},       {"not-nan", NL_PREDICATE_NOT_NAN, 0},
    {"lt", NL_PREDICATE_LT, 1},               {"lt-eq", NL_PREDICATE_LTE, 1},
    {"gt", NL_PREDICATE_GT, 1},               {"gt-eq", NL_PREDICATE_GTE, 1},
    {"eq", NL_PREDICATE_EQ, 1},               {"not-eq", NL_PREDICATE_NEQ, 1},
    {"starts-with", NL_PREDICATE_STARTS_WITH, 1}, {"not-starts-with", NL_PREDICATE_NOT_STARTS_WITH, 1},
    {"in", NL_PREDICATE_IN, 2},               {"not-in", NL_PREDICATE_NOT_IN, 2},
};

static nl_status bad_filter(filter *self, const char *why)
{
    return nl_rest_api_refuse(self->call, 400, "BadRequestException", "Malformed request: the filter %s", why);
}

/* "name", {"type":"reference","term":"name"}, or a transform, which is given up. */
static nl_status read_term(filter *self, const json_t *term, const nl_ice_field **field)
{
    *field = NULL;
    if (json_is_object(term)) {
        const char *type = json_string_value(json_object_get(term, "type"));
        if (!type || strcmp(type, "reference") != 0) return NULL;
        term = json_object_get(term, "term");
    }
    if (!json_is_string(term)) return bad_filter(self, "has a term that is no column");
    const nl_str name = {json_string_value(term), json_string_length(term)};
    const nl_schema_column *column = nl_schema_find_name(self->schema, name, self->is_case_sensitive);
    if (!column)
        return nl_rest_api_refuse(self->call, 400, "ValidationException", "Cannot find field '" NL_STR_FMT "' in the table's schema", NL_STR_ARG(name));
    if (!nl_ice_type_is_nested(column->field->type)) *field = column->field;
    return NULL;
}

static nl_status read_leaf(filter *self, const json_t *json, const struct kind_row *row, const nl_predicate **predicate)
{
    const nl_ice_field *field;
    const json_t *list = row->values == 2 ? json_object_get(json, "values") : NULL;
    const size_t count = row->values == 2 ? json_array_size(list) : row->values;
    NL_TRY(read_term(self, json_object_get(json, "term"), &field));
    if (row->values == 2 && !json_is_array(list)) return bad_filter(self, "lacks values");
    if (row->values == 1 && !json_object_get(json, "value")) return bad_filter(self, "lacks a value");
    if (!field) {
        self->is_given_up = true;
        *predicate = nl_predicate_true();
        return NULL;
    }
    nl_value *values = NL_NEW_ARRAY(self->call->arena, nl_value, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = list ? json_array_get(list, i) : json_object_get(json, "value");
        NL_TRY(nl_single_value_from_json(field->type, value, NL_REST_API_BODY, self->call->arena, &values[i]));
    }
    if (row->values == 2 && count == 0) {
        *predicate = row->kind == NL_PREDICATE_IN ? nl_predicate_false() : nl_predicate_true();
        return NULL;
    }
    *predicate = nl_predicate_leaf(self->call->arena, row->kind, field->id, values, (uint32_t)count);
    return nl_arena_check(self->call->arena);
}

static nl_status read_filter(filter *self, const json_t *json, uint32_t depth, const nl_predicate **predicate)
{
    if (depth > NL_JSON_DEPTH_MAX) return bad_filter(self, "is too deep");
    if (json_is_boolean(json)) {
        *predicate = json_is_true(json) ? nl_predicate_true() : nl_predicate_false();
        return NULL;
    }
    nl_str type = {0};
    const nl_predicate *left, *right;
    NL_TRY(nl_json_object(json, NL_REST_API_BODY, "the filter"));
    NL_TRY(nl_json_text(json, "type", NL_REST_API_BODY, &type));
    if (nl_str_is(type, "true") || nl_str_is(type, "false")) {
        *predicate = nl_str_is(type, "true") ? nl_predicate_true() : nl_predicate_false();
        return NULL;
    }
    if (nl_str_is(type, "not")) {
        NL_TRY(read_filter(self, json_object_get(json, "child"), depth + 1, &left));
        *predicate = nl_predicate_not(self->call->arena, left);
        return NULL;
    }
    const bool is_and = nl_str_is(type, "and");
    if (is_and || nl_str_is(type, "or")) {
        NL_TRY(read_filter(self, json_object_get(json, "left"), depth + 1, &left));
        NL_TRY(read_filter(self, json_object_get(json, "right"), depth + 1, &right));
        *predicate = is_and ? nl_predicate_and(self->call->arena, left, right) : nl_predicate_or(self->call->arena, left, right);
        return NULL;
    }
    for (size_t i = 0; i < NL_COUNT(kinds); i++)
        if (nl_str_is(type, kinds[i].name)) return read_leaf(self, json, &kinds[i], predicate);
    return nl_rest_api_refuse(self->call, 400, "BadRequestException", "Malformed request: unknown expression type: " NL_STR_FMT, NL_STR_ARG(type));
}

/* ---- The request ---- */

typedef struct plan_request {
    const nl_table_metadata *metadata;
    const nl_snapshot *snapshot; /* NULL: an empty table */
    int64_t after_snapshot_id;
    const nl_schema *schema;
    const nl_predicate *predicate;
    const json_t *filter_json; /* NULL: none */
} plan_request;

static nl_status find_snapshot(nl_rest_api_call *call, const nl_table_metadata *metadata, const char *key, int64_t *id, const nl_snapshot **snapshot)
{
    *id = NL_NONE;
    *snapshot = NULL;
    NL_TRY(nl_json_optional_int64(call->body, key, NL_REST_API_BODY, id));
    if (*id == NL_NONE) return NULL;
    *snapshot = nl_table_snapshot(metadata, *id);
    if (*snapshot) return NULL;
    return nl_rest_api_refuse(call, 400, "ValidationException", "Cannot find snapshot with ID %lld", (long long)*id);
}

static nl_status read_request(nl_rest_api_call *call, plan_request *plan)
{
    const nl_snapshot *one, *start, *end;
    int64_t one_id, start_id, end_id;
    filter self = {.call = call, .is_case_sensitive = true};
    bool uses_snapshot_schema = false;
    NL_TRY(find_snapshot(call, plan->metadata, "snapshot-id", &one_id, &one));
    NL_TRY(find_snapshot(call, plan->metadata, "start-snapshot-id", &start_id, &start));
    NL_TRY(find_snapshot(call, plan->metadata, "end-snapshot-id", &end_id, &end));
    if ((start && !end) || (one && (start || end)))
        return nl_rest_api_refuse(call, 400, "BadRequestException", "Malformed request: either snapshot-id, or start-snapshot-id with end-snapshot-id");
    NL_TRY(nl_json_optional_bool(call->body, "case-sensitive", NL_REST_API_BODY, &self.is_case_sensitive));
    NL_TRY(nl_json_optional_bool(call->body, "use-snapshot-schema", NL_REST_API_BODY, &uses_snapshot_schema));
    plan->snapshot = one ? one : end ? end : nl_table_current_snapshot(plan->metadata);
    plan->after_snapshot_id = start_id;
    plan->schema = uses_snapshot_schema && plan->snapshot ? nl_table_snapshot_schema(plan->metadata, plan->snapshot) : nl_table_schema(plan->metadata);
    self.schema = plan->schema;
    const json_t *json = json_object_get(call->body, "filter");
    plan->predicate = NULL;
    if (!json || json_is_null(json)) return NULL;
    NL_TRY(read_filter(&self, json, 0, &plan->predicate));
    if (self.is_given_up) plan->predicate = NULL;
    plan->filter_json = json;
    return NULL;
}

/* ---- The answer ---- */

static void write_member(nl_json_writer *json, const char *key, nl_str value)
{
    nl_json_key(json, key);
    nl_json_write_text(json, value);
}

static void write_number(nl_json_writer *json, const char *key, int64_t value)
{
    nl_json_key(json, key);
    nl_json_write_int(json, value);
}

static void write_partition(nl_rest_api_call *call, nl_json_writer *json, const nl_table_metadata *metadata, const nl_data_file *file)
{
    const nl_partition_spec *spec = nl_table_spec_by_id(metadata, file->spec_id);
    nl_json_key(json, "partition");
    nl_json_begin(json, '[');
    if (spec && file->partition) {
        const nl_ice_type *type = nl_table_partition_type(call->arena, metadata, spec);
        for (uint32_t i = 0; i < spec->field_count; i++) {
            if (file->partition[i].is_null) {
                nl_json_write_null(json);
                continue;
            }
            nl_json_before_value(json);
            nl_single_value_append_json(type->fields[i].type, &file->partition[i], json->out);
            nl_json_after_value(json);
        }
    }
    nl_json_end(json, ']');
}

static void write_file(nl_rest_api_call *call, nl_json_writer *json, const nl_table_metadata *metadata, const nl_data_file *file)
{
    static const char *const contents[] = {"data", "position-deletes", "equality-deletes"};
    static const char *const formats[] = {"parquet", "avro", "orc", "puffin"};
    nl_json_begin(json, '{');
    write_number(json, "spec-id", file->spec_id);
    write_partition(call, json, metadata, file);
    write_member(json, "content", nl_str_from(contents[file->content]));
    write_member(json, "file-path", file->path);
    write_member(json, "file-format", nl_str_from(formats[file->format]));
    write_number(json, "file-size-in-bytes", file->file_size_bytes);
    write_number(json, "record-count", file->record_count);
    if (file->sort_order_id != NL_NONE) write_number(json, "sort-order-id", file->sort_order_id);
    if (file->split_offset_count) {
        nl_json_key(json, "split-offsets");
        nl_json_begin(json, '[');
        for (uint32_t i = 0; i < file->split_offset_count; i++)
            nl_json_write_int(json, file->split_offsets[i]);
        nl_json_end(json, ']');
    }
    if (file->content == NL_CONTENT_DATA && file->first_row_id != NL_NONE) write_number(json, "first-row-id", file->first_row_id);
    if (file->content == NL_CONTENT_EQUALITY_DELETES) {
        nl_json_key(json, "equality-ids");
        nl_json_begin(json, '[');
        for (uint32_t i = 0; i < file->equality_id_count; i++)
            nl_json_write_int(json, file->equality_ids[i]);
        nl_json_end(json, ']');
    }
    if (file->referenced_data_file.length) write_member(json, "referenced-data-file", file->referenced_data_file);
    if (file->content_offset != NL_NONE) write_number(json, "content-offset", file->content_offset);
    if (file->content_size_bytes != NL_NONE) write_number(json, "content-size-in-bytes", file->content_size_bytes);
    nl_json_end(json, '}');
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t left = (uintptr_t)*(const nl_data_file *const *)a, right = (uintptr_t)*(const nl_data_file *const *)b;
    return (left > right) - (left < right);
}

/* The delete files of all tasks, each once, sorted by address so that a task's are found again. */
static nl_status gather_deletes(nl_rest_api_call *call, const nl_scan_plan *plan, const nl_data_file ***files, uint32_t *count)
{
    size_t total = 0;
    void *room;
    for (uint32_t i = 0; i < plan->task_count; i++)
        total += plan->tasks[i].delete_count;
    NL_TRY(nl_arena_alloc_sized(call->arena, nl_size_mul(total + 1, sizeof(**files)), &room));
    const nl_data_file **all = room;
    size_t at = 0;
    for (uint32_t i = 0; i < plan->task_count; i++)
        for (uint32_t k = 0; k < plan->tasks[i].delete_count; k++)
            all[at++] = plan->tasks[i].deletes[k];
    if (total) qsort(all, total, sizeof(*all), by_address);
    uint32_t kept = 0;
    for (size_t i = 0; i < total; i++)
        if (i == 0 || all[i] != all[i - 1]) all[kept++] = all[i];
    *files = all;
    *count = kept;
    return NULL;
}

static void write_task(nl_rest_api_call *call, nl_json_writer *json, const plan_request *request, const nl_file_task *task, const nl_data_file **deletes,
                       uint32_t delete_count)
{
    nl_json_begin(json, '{');
    nl_json_key(json, "data-file");
    write_file(call, json, request->metadata, task->file);
    if (task->delete_count) {
        nl_json_key(json, "delete-file-references");
        nl_json_begin(json, '[');
        for (uint32_t i = 0; i < task->delete_count; i++) {
            const nl_data_file **found = bsearch(&task->deletes[i], deletes, delete_count, sizeof(*deletes), by_address);
            nl_json_write_int(json, found - deletes);
        }
        nl_json_end(json, ']');
    }
    if (request->filter_json && !task->is_wholly_matching) {
        nl_json_key(json, "residual-filter");
        nl_json_write_json(json, request->filter_json);
    }
    nl_json_end(json, '}');
}

static nl_status write_plan(nl_rest_api_call *call, const plan_request *request, const nl_scan_plan *plan)
{
    const nl_data_file **deletes;
    uint32_t delete_count;
    NL_TRY(gather_deletes(call, plan, &deletes, &delete_count));
    nl_json_writer json = nl_rest_api_begin(call);
    write_member(&json, "status", NL_STR("completed"));
    nl_json_key(&json, "plan-tasks");
    nl_json_begin(&json, '[');
    nl_json_end(&json, ']');
    nl_json_key(&json, "delete-files");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < delete_count; i++)
        write_file(call, &json, request->metadata, deletes[i]);
    nl_json_end(&json, ']');
    nl_json_key(&json, "file-scan-tasks");
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < plan->task_count; i++)
        write_task(call, &json, request, &plan->tasks[i], deletes, delete_count);
    nl_json_end(&json, ']');
    nl_rest_api_end(call, &json, 200);
    return NULL;
}

static nl_status plan_scan(nl_rest_api_call *call, const nl_table_metadata *metadata)
{
    plan_request request = {.metadata = metadata};
    nl_scan_plan *plan = NULL;
    nl_scan_planning planning = {.metadata = metadata, .memory = call->request->memory};
    NL_TRY(read_request(call, &request));
    NL_TRY(nl_tables_warehouse_fs(call->tables, &call->warehouse, metadata->location, &planning.fs));
    planning.snapshot = request.snapshot;
    planning.schema = request.schema;
    planning.predicate = request.predicate;
    planning.after_snapshot_id = request.after_snapshot_id;
    nl_status status = nl_scan_plan_new(&planning, &plan);
    if (!status) {
        status = write_plan(call, &request, plan);
        nl_scan_plan_release(plan);
    }
    nl_fs_release(planning.fs);
    return status;
}

nl_status nl_rest_api_plan(nl_rest_api_call *call)
{
    nl_table_entry entry;
    nl_kept_metadata kept;
    NL_TRY(nl_rest_api_check_path(call, false));
    NL_TRY(nl_rest_api_load(call, &call->identifier, &entry, &kept));
    nl_status status = plan_scan(call, kept.metadata);
    nl_kept_metadata_release(&kept);
    return status;
}

nl_status nl_rest_api_get_plan(nl_rest_api_call *call)
{
    return nl_rest_api_refuse(call, 404, "NoSuchPlanIdException", "Plan does not exist: " NL_STR_FMT, NL_STR_ARG(call->plan_id));
}

nl_status nl_rest_api_cancel_plan(nl_rest_api_call *call)
{
    nl_rest_api_empty(call, 204); /* every plan has ended */
    return NULL;
}

nl_status nl_rest_api_fetch_tasks(nl_rest_api_call *call)
{
    nl_str task;
    NL_TRY(nl_json_text(call->body, "plan-task", NL_REST_API_BODY, &task));
    return nl_rest_api_refuse(call, 404, "NoSuchPlanTaskException", "Plan task does not exist: " NL_STR_FMT, NL_STR_ARG(task));
}
