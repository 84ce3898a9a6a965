/* lakehouse/dashboard/api_maintenance.c - procedures that a person runs on a table from the page, and what runs now.
 *
 * The page names a procedure; its arguments come from the advice that is worked out here again, never from the page. A dry
 * run tells what would be done and changes nothing.
 */
#include "lakehouse/dashboard/dashboard_private.h"

#include "base/calendar.h"
#include "iceberg/health.h"
#include "lakehouse/maintenance/job.h"

#define SHOWN_ROWS 1000u

typedef struct job {
    nl_dashboard_call *call;
    nl_dashboard_name name;
    nl_str procedure;
    bool is_dry;
    nl_str arguments; /* of the advice */
    nl_str effect;
} job;

static nl_maintenance_job job_of(const job *self, bool is_dry)
{
    nl_arena *arena = self->call->request->arena;
    const nl_dashboard_stores *stores = &self->call->dashboard->stores;
    nl_str arguments = self->arguments;
    if (is_dry) arguments = nl_arena_f(arena, NL_STR_FMT "%sdry_run => true", NL_STR_ARG(arguments), arguments.length ? ", " : "");
    return (nl_maintenance_job){
        .tables = stores->tables,
        .queries = stores->queries,
        .source = "dashboard",
        .id = self->call->request->id,
        .warehouse_id = self->name.warehouse_id,
        .identifier = &self->name.identifier,
        .procedure = nl_str_c(arena, self->procedure),
        .arguments = arguments,
    };
}

/* ---- Running it. */

static void write_columns(nl_dashboard_call *call, const nl_type *schema)
{
    nl_json_key(&call->json, "columns");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < schema->child_count; i++) nl_json_write_text(&call->json, schema->children[i].name);
    nl_json_end(&call->json, ']');
}

static void write_batch(nl_dashboard_call *call, const nl_batch *batch, uint32_t *row_count)
{
    const nl_text_options options = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    const nl_selection selection = nl_batch_selection(batch);
    for (uint32_t i = 0; i < selection.count && *row_count < SHOWN_ROWS; i++, (*row_count)++) {
        nl_json_begin(&call->json, '[');
        for (uint32_t c = 0; c < batch->column_count; c++) {
            nl_builder cell;
            nl_builder_init(&cell, 1 << 20);
            nl_vector_append_text(&batch->columns[c], nl_selection_row(selection, i), &options, &cell);
            nl_json_write_text(&call->json, nl_builder_str(&cell));
            nl_builder_fini(&cell);
        }
        nl_json_end(&call->json, ']');
    }
}

static nl_status write_result(void *argument, nl_result *result)
{
    nl_dashboard_call *call = argument;
    uint32_t row_count = 0;
    write_columns(call, nl_result_schema(result));
    nl_json_key(&call->json, "rows");
    nl_json_begin(&call->json, '[');
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        NL_TRY(nl_result_next(result, &batch, &is_done));
        if (!is_done) write_batch(call, &batch, &row_count);
        nl_batch_fini(&batch);
    }
    nl_json_end(&call->json, ']');
    return NULL;
}

static nl_status run_statement(const job *self)
{
    nl_session *session = NULL;
    const nl_maintenance_job one = job_of(self, self->is_dry);
    NL_TRY(nl_maintenance_session(&one, &session));
    nl_json_begin(&self->call->json, '{');
    nl_dashboard_member_text(self->call, "statement", nl_maintenance_statement(&one, self->call->request->arena));
    nl_status status = nl_maintenance_run(&one, session, write_result, self->call);
    nl_json_end(&self->call->json, '}');
    nl_session_free(session);
    return status;
}

/* ---- Dry runs of what has none of its own. */

static nl_status show_expirable(const job *self)
{
    nl_dashboard_call *call = self->call;
    nl_arena *arena = call->request->arena;
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(self->name.table);
    const nl_snapshot *const *snapshots = NULL;
    uint32_t count = 0;
    nl_status status = nl_expirable_snapshots(metadata, &(nl_expire_options){.retain_last = NL_NONE}, arena, &snapshots, &count);
    nl_json_key(&call->json, "columns");
    nl_json_begin(&call->json, '[');
    nl_json_write_text(&call->json, NL_STR("snapshot"));
    nl_json_write_text(&call->json, NL_STR("time"));
    nl_json_write_text(&call->json, NL_STR("operation"));
    nl_json_end(&call->json, ']');
    nl_json_key(&call->json, "rows");
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; !status && i < count && i < SHOWN_ROWS; i++) {
        nl_civil at;
        nl_civil_from_micros(snapshots[i]->timestamp_ms * 1000, &at);
        nl_json_begin(&call->json, '[');
        nl_json_write_text(&call->json, nl_arena_f(arena, "%lld", (long long)snapshots[i]->snapshot_id));
        nl_json_write_text(&call->json, nl_arena_f(arena, "%04d-%02d-%02d %02d:%02d:%02d", at.year, at.month, at.day, at.hour, at.minute, at.second));
        nl_json_write_text(&call->json, snapshots[i]->operation);
        nl_json_end(&call->json, ']');
    }
    nl_json_end(&call->json, ']');
    nl_table_metadata_release(metadata);
    return status;
}

static nl_status show_effect(const job *self)
{
    nl_dashboard_call *call = self->call;
    nl_json_begin(&call->json, '{');
    const nl_maintenance_job one = job_of(self, false);
    nl_dashboard_member_text(call, "statement", nl_maintenance_statement(&one, call->request->arena));
    nl_dashboard_member_text(call, "effect", self->effect);
    nl_status status = nl_str_is(self->procedure, "expire_snapshots") ? show_expirable(self) : NULL;
    nl_json_end(&call->json, '}');
    return status;
}

/* ---- */

static nl_status find_advice(job *self)
{
    nl_dashboard_call *call = self->call;
    nl_table_health health;
    NL_TRY(nl_table_health_read(self->name.table, NULL, call->dashboard->memory, call->request->arena, &health));
    for (uint32_t i = 0; i < health.advice_count; i++) {
        if (!nl_str_is(self->procedure, health.advice[i].procedure)) continue;
        self->arguments = health.advice[i].arguments;
        self->effect = health.advice[i].effect;
        return NULL;
    }
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, NL_STR_FMT " would not do anything for this table now", NL_STR_ARG(self->procedure));
}

static nl_status run_job(job *self)
{
    if (nl_str_is(self->procedure, "remove_orphan_files")) return run_statement(self);
    NL_TRY(find_advice(self));
    return self->is_dry ? show_effect(self) : run_statement(self);
}

nl_status nl_dashboard_maintenance(nl_dashboard_call *call)
{
    job self = {.call = call};
    nl_str dry;
    NL_TRY(nl_dashboard_parameter(call, "procedure", &self.procedure));
    NL_TRY(nl_dashboard_parameter(call, "dry", &dry));
    self.is_dry = !nl_str_is(dry, "false");
    NL_TRY(nl_dashboard_open_table(call, &self.name));
    nl_status status = run_job(&self);
    nl_dashboard_close_table(&self.name);
    return status;
}

/* ---- What runs. */

nl_status nl_dashboard_queries(nl_dashboard_call *call)
{
    const nl_query_facts *list = NULL;
    uint32_t count = 0;
    nl_queries_list(call->dashboard->stores.queries, call->request->arena, &list, &count);
    nl_json_begin(&call->json, '[');
    for (uint32_t i = 0; i < count; i++) {
        nl_json_begin(&call->json, '{');
        nl_dashboard_member_text(call, "source", nl_str_from(list[i].source));
        nl_dashboard_member_text(call, "id", list[i].id);
        nl_dashboard_member_text(call, "text", list[i].text);
        nl_dashboard_member_int(call, "started", list[i].started_micros / 1000);
        nl_dashboard_member_int(call, "rows", (int64_t)list[i].rows);
        nl_dashboard_member_int(call, "rowsTotal", (int64_t)list[i].rows_total);
        nl_dashboard_member_int(call, "bytes", (int64_t)list[i].bytes);
        nl_dashboard_member_int(call, "files", (int64_t)list[i].files);
        nl_dashboard_member_int(call, "filesTotal", (int64_t)list[i].files_total);
        nl_json_end(&call->json, '}');
    }
    nl_json_end(&call->json, ']');
    return NULL;
}

nl_status nl_dashboard_cancel_query(nl_dashboard_call *call)
{
    nl_str id;
    NL_TRY(nl_dashboard_parameter(call, "id", &id));
    nl_json_begin(&call->json, '{');
    nl_dashboard_member_bool(call, "done", nl_queries_cancel(call->dashboard->stores.queries, id));
    nl_json_end(&call->json, '}');
    return NULL;
}
