/* catalog/rest/plan.c - planning of scans by the server (POST …/tables/{table}/plan), where the catalog or the table's config
 * says scan-planning-mode=server and the server offers it. The answer comes at once, or later (GET …/plan/{id}), whole or in
 * further tasks (POST …/tasks). What it says is a set of files as nilas would have found them itself, but for statistics.
 *
 * Source: the REST catalog's OpenAPI description, "PlanTableScanRequest" and what follows it.
 */
#include "catalog/rest/plan.h"

#include <time.h>

#include "base/calendar.h"

#define WHERE          NL_STR("the REST catalog's plan")
#define WAIT_MS_MIN    50
#define WAIT_MS_MAX    2000
#define PATIENCE_MS    600000 /* for a plan that the server works on */
#define PLAN_TASKS_MAX 100000

static nl_status parse_content(const json_t *json, nl_file_content *content)
{
    nl_str text = NL_STR("data");
    NL_TRY(nl_json_optional_text(json, "content", WHERE, &text));
    if (nl_str_is_nocase(text, "data")) *content = NL_CONTENT_DATA;
    else if (nl_str_is_nocase(text, "position-deletes") || nl_str_is_nocase(text, "position_deletes")) *content = NL_CONTENT_POSITION_DELETES;
    else if (nl_str_is_nocase(text, "equality-deletes") || nl_str_is_nocase(text, "equality_deletes")) *content = NL_CONTENT_EQUALITY_DELETES;
    else return nl_json_corrupt(WHERE, "content: " NL_STR_FMT, NL_STR_ARG(text));
    return NULL;
}

/* An array in the order of the spec's fields, or an object by field id. */
static nl_status parse_partition(nl_arena *arena, const json_t *json, const nl_ice_type *type, const nl_value **partition)
{
    if (!type->field_count) return NULL;
    if (!json_is_array(json) && !json_is_object(json)) return nl_json_corrupt(WHERE, "partition: neither list nor object");
    if (json_is_array(json) && json_array_size(json) != type->field_count) return nl_json_corrupt(WHERE, "partition: %zu values for %u fields", json_array_size(json), type->field_count);
    nl_value *values = NL_NEW_ARRAY(arena, nl_value, type->field_count);
    for (uint32_t i = 0; i < type->field_count; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", type->fields[i].id);
        const json_t *value = json_is_array(json) ? json_array_get(json, i) : json_object_get(json, key);
        if (!value || json_is_null(value)) values[i] = nl_value_null(nl_ice_type_storage(arena, type->fields[i].type));
        else NL_TRY(nl_single_value_from_json(type->fields[i].type, value, WHERE, arena, &values[i]));
    }
    *partition = values;
    return NULL;
}

static nl_status parse_file(nl_arena *arena, const json_t *json, const nl_table_metadata *metadata, nl_data_file *file)
{
    nl_str format, key_metadata = {0};
    *file = (nl_data_file){.sort_order_id = NL_NONE, .first_row_id = NL_NONE, .content_offset = NL_NONE, .content_size_bytes = NL_NONE};
    NL_TRY(nl_json_object(json, WHERE, "file"));
    NL_TRY(parse_content(json, &file->content));
    NL_TRY(nl_json_text(json, "file-path", WHERE, &file->path));
    NL_TRY(nl_json_text(json, "file-format", WHERE, &format));
    NL_TRY(nl_json_int32(json, "spec-id", WHERE, &file->spec_id));
    NL_TRY(nl_json_int64(json, "file-size-in-bytes", WHERE, &file->file_size_bytes));
    NL_TRY(nl_json_int64(json, "record-count", WHERE, &file->record_count));
    NL_TRY(nl_json_optional_int32(json, "sort-order-id", WHERE, &file->sort_order_id));
    NL_TRY(nl_json_optional_int64(json, "first-row-id", WHERE, &file->first_row_id));
    NL_TRY(nl_json_optional_int64(json, "content-offset", WHERE, &file->content_offset));
    NL_TRY(nl_json_optional_int64(json, "content-size-in-bytes", WHERE, &file->content_size_bytes));
    NL_TRY(nl_json_optional_text(json, "referenced-data-file", WHERE, &file->referenced_data_file));
    const json_t *ids = json_object_get(json, "equality-ids");
    if (json_is_array(ids)) NL_TRY(nl_json_int32_list(arena, ids, "equality-ids", WHERE, &file->equality_ids, &file->equality_id_count));
    if (file->file_size_bytes < 0 || file->record_count < 0) return nl_json_corrupt(WHERE, "a file of negative size");
    if (!nl_file_format_parse(format, &file->format)) return nl_json_corrupt(WHERE, "file-format: " NL_STR_FMT, NL_STR_ARG(format));
    const nl_partition_spec *spec = nl_table_spec_by_id(metadata, file->spec_id);
    if (!spec) return nl_json_corrupt(WHERE, "spec-id: %d is none of the table", file->spec_id);
    NL_TRY(nl_json_optional_text(json, "key-metadata", WHERE, &key_metadata));
    if (key_metadata.length) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "Cannot read an encrypted file: " NL_STR_FMT, NL_STR_ARG(file->path));
    file->path = nl_arena_str(arena, file->path);
    file->referenced_data_file = nl_arena_str(arena, file->referenced_data_file);
    return parse_partition(arena, json_object_get(json, "partition"), nl_table_partition_type(arena, metadata, spec), &file->partition);
}

/* The delete files of one answer; tasks name them by their place. */
static nl_status parse_deletes(nl_arena *arena, const json_t *json, const nl_table_metadata *metadata, nl_data_file **files, uint32_t *count)
{
    const json_t *array = NULL;
    NL_TRY(nl_json_optional_array(json, "delete-files", WHERE, &array));
    nl_data_file *made = NL_NEW_ARRAY(arena, nl_data_file, json_array_size(array) + 1);
    for (size_t i = 0; i < json_array_size(array); i++)
        NL_TRY(parse_file(arena, json_array_get(array, i), metadata, &made[i]));
    *files = made;
    *count = (uint32_t)json_array_size(array);
    return NULL;
}

/* Which deletes apply was decided by the server: their sequence numbers are made up so that they all do. */
static nl_status parse_task(nl_arena *arena, const json_t *json, const nl_table_metadata *metadata, nl_data_file *deletes, uint32_t delete_count, nl_file_task *task)
{
    const json_t *references = NULL;
    nl_data_file *file = NL_NEW(arena, nl_data_file);
    NL_TRY(nl_json_object(json, WHERE, "file-scan-task"));
    NL_TRY(parse_file(arena, json_object_get(json, "data-file"), metadata, file));
    NL_TRY(nl_json_optional_array(json, "delete-file-references", WHERE, &references));
    const size_t count = json_array_size(references);
    const nl_data_file **found = NL_NEW_ARRAY(arena, const nl_data_file *, count + 1);
    int64_t *numbers = NL_NEW_ARRAY(arena, int64_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        const json_t *reference = json_array_get(references, i);
        const json_int_t at = json_integer_value(reference);
        if (!json_is_integer(reference) || at < 0 || at >= delete_count) return nl_json_corrupt(WHERE, "delete-file-references: no such file");
        found[i] = &deletes[at];
        numbers[i] = 2;
    }
    *task = (nl_file_task){.file = file, .data_sequence_number = 1, .file_sequence_number = 1, .spec = nl_table_spec_by_id(metadata, file->spec_id), .deletes = found,
                           .delete_sequence_numbers = numbers, .delete_count = (uint32_t)count};
    return nl_arena_check(arena);
}

nl_status nl_remote_plan_read(nl_arena *arena, const json_t *json, const nl_table_metadata *metadata, nl_remote_plan *plan)
{
    const json_t *tasks = NULL, *further = NULL;
    nl_data_file *deletes = NULL;
    uint32_t delete_count = 0;
    NL_TRY(nl_json_object(json, WHERE, "plan"));
    NL_TRY(nl_json_optional_array(json, "file-scan-tasks", WHERE, &tasks));
    NL_TRY(nl_json_optional_array(json, "plan-tasks", WHERE, &further));
    NL_TRY(parse_deletes(arena, json, metadata, &deletes, &delete_count));
    plan->delete_files += delete_count;
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        nl_file_task *task = NL_NEW(arena, nl_file_task);
        NL_TRY(parse_task(arena, json_array_get(tasks, i), metadata, deletes, delete_count, task));
        nl_list_add(arena, &plan->tasks, task);
    }
    for (size_t i = 0; i < json_array_size(further); i++) {
        const json_t *name = json_array_get(further, i);
        if (!json_is_string(name)) return nl_json_corrupt(WHERE, "plan-tasks: no text");
        nl_str *copy = NL_NEW(arena, nl_str);
        *copy = nl_arena_str(arena, (nl_str){json_string_value(name), json_string_length(name)});
        nl_list_add(arena, &plan->further, copy);
    }
    if (plan->further.count > PLAN_TASKS_MAX) return nl_json_corrupt(WHERE, "plan-tasks: more than %d", PLAN_TASKS_MAX);
    return nl_arena_check(arena);
}

/* ---- Asking ---- */

typedef struct planning {
    nl_remote_catalog *catalog;
    const nl_remote_session *session;
    const nl_scan_planning *input;
    nl_str path, token;
    nl_remote_subject subject;
    nl_arena *arena; /* of the requests */
} planning;

static void append_request(nl_builder *out, const nl_scan_planning *input)
{
    nl_json_writer writer = {.out = out};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "snapshot-id");
    nl_json_write_int(&writer, input->snapshot->snapshot_id);
    nl_json_key(&writer, "filter");
    nl_json_before_value(&writer);
    nl_predicate_append_json(input->predicate, input->schema, out);
    nl_json_after_value(&writer);
    nl_json_key(&writer, "case-sensitive");
    nl_json_write_bool(&writer, true);
    nl_json_key(&writer, "use-snapshot-schema");
    nl_json_write_bool(&writer, input->schema->schema_id != nl_table_schema(input->metadata)->schema_id);
    nl_json_end(&writer, '}');
}

static nl_status ask(const planning *self, const char *method, nl_str path, nl_str body, nl_remote_answer *answer)
{
    const nl_remote_request request = {.method = method, .path = path, .body = body, .token = self->token, .is_idempotent = true};
    return nl_remote_ask(self->catalog, self->session, &request, &self->subject, self->arena, answer);
}

/* Until the server has planned: completed, or a failure. */
static nl_status await(const planning *self, nl_remote_answer *answer)
{
    const int64_t end_micros = nl_now_micros() + (int64_t)PATIENCE_MS * 1000;
    for (int64_t wait_ms = WAIT_MS_MIN;; wait_ms = NL_MIN(2 * wait_ms, WAIT_MS_MAX)) {
        nl_str state = {0}, id = {0};
        NL_TRY(nl_json_object(answer->json, WHERE, "plan"));
        NL_TRY(nl_json_text(answer->json, "status", WHERE, &state));
        NL_TRY(nl_json_optional_text(answer->json, "plan-id", WHERE, &id));
        if (nl_str_is_nocase(state, "completed")) return NULL;
        if (!nl_str_is_nocase(state, "submitted") || !id.length || nl_now_micros() > end_micros)
            return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "The REST catalog " NL_STR_FMT " could not plan the scan: status " NL_STR_FMT, NL_STR_ARG(self->subject.catalog),
                                 NL_STR_ARG(state));
        nanosleep(&(struct timespec){.tv_sec = wait_ms / 1000, .tv_nsec = wait_ms % 1000 * 1000000}, NULL);
        const nl_str encoded = nl_url_encode(self->arena, id, false);
        NL_TRY(ask(self, "GET", nl_arena_f(self->arena, NL_STR_FMT "/plan/" NL_STR_FMT, NL_STR_ARG(self->path), NL_STR_ARG(encoded)), (nl_str){0}, answer));
        if (!json_object_get(answer->json, "plan-id")) json_object_set_new(NL_UNCONST(answer->json), "plan-id", json_stringn(id.data, id.length));
    }
}

static nl_status fetch_task(const planning *self, nl_str name, nl_remote_answer *answer)
{
    nl_builder body;
    nl_builder_init(&body, 16u << 20);
    nl_json_writer writer = {.out = &body};
    nl_json_begin(&writer, '{');
    nl_json_key(&writer, "plan-task");
    nl_json_write_text(&writer, name);
    nl_json_end(&writer, '}');
    nl_status status = ask(self, "POST", nl_arena_f(self->arena, NL_STR_FMT "/tasks", NL_STR_ARG(self->path)), nl_builder_str(&body), answer);
    nl_builder_fini(&body);
    return status;
}

static nl_status collect(const planning *self, nl_arena *arena, nl_remote_plan *plan)
{
    nl_remote_answer answer;
    nl_builder body;
    nl_builder_init(&body, 16u << 20);
    append_request(&body, self->input);
    nl_status status = ask(self, "POST", nl_arena_f(self->arena, NL_STR_FMT "/plan", NL_STR_ARG(self->path)), nl_builder_str(&body), &answer);
    nl_builder_fini(&body);
    if (!status) status = await(self, &answer);
    if (!status) status = nl_remote_plan_read(arena, answer.json, self->input->metadata, plan);
    for (uint32_t i = 0; !status && i < plan->further.count; i++) { /* each may name more */
        status = fetch_task(self, *(const nl_str *)plan->further.items[i], &answer);
        if (!status) status = nl_remote_plan_read(arena, answer.json, self->input->metadata, plan);
    }
    return status;
}

nl_status nl_remote_plan_scan(nl_remote_catalog *catalog, const nl_identifier *identifier, nl_str token, const nl_scan_planning *input, nl_scan_plan **plan)
{
    nl_arena *arena;
    nl_scan_plan *made = NULL;
    nl_remote_plan found = {0};
    planning self = {.catalog = catalog, .input = input, .token = token, .arena = nl_arena_new(input->memory)};
    nl_status status = nl_remote_session_of(catalog, &self.session);
    if (!status) status = nl_scan_plan_begin(input->memory, &made, &arena);
    if (!status) {
        self.path = nl_remote_item_path(self.arena, self.session, identifier, "tables");
        self.subject = nl_remote_subject_of(self.arena, catalog, self.session, NL_REMOTE_TABLE, identifier);
        status = collect(&self, arena, &found);
    }
    nl_arena_free(self.arena);
    if (status) {
        nl_scan_plan_release(made);
        return status;
    }
    nl_file_task *tasks = NL_NEW_ARRAY(arena, nl_file_task, (size_t)found.tasks.count + 1);
    for (uint32_t i = 0; i < found.tasks.count; i++) {
        tasks[i] = *(const nl_file_task *)found.tasks.items[i];
        made->row_count += tasks[i].file->record_count;
        made->bytes += tasks[i].file->file_size_bytes;
    }
    made->tasks = tasks;
    made->task_count = made->files_total = found.tasks.count;
    made->delete_files = found.delete_files;
    status = nl_arena_check(arena);
    if (status) nl_scan_plan_release(made);
    else *plan = made;
    return status;
}
