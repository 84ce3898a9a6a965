/* lakehouse/athena/run.c - one query in a session of its own; its result goes to S3 as it comes. */
#include "lakehouse/athena/athena_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "lakehouse/dialect.h"

#define SESSION_MEMORY "1g"

/* ---- the session ----------------------------------------------------------------------------------------------- */

nl_status nl_athena_find_catalog(nl_athena *athena, nl_str name, nl_arena *arena, nl_warehouse *warehouse, bool *exists)
{
    static const nl_str federated = NL_STR_INIT(NL_ATHENA_FEDERATED);
    *exists = false;
    if (nl_str_starts_nocase(name, federated))
        return nl_tables_find_warehouse(athena->tables, NL_WAREHOUSE_TABLE_BUCKET, nl_str_slice(name, federated.length, name.length), arena, warehouse, exists);
    if (!nl_str_is_nocase(name, NL_ATHENA_CATALOG)) return nl_tables_find_warehouse(athena->tables, NL_WAREHOUSE_PLAIN, name, arena, warehouse, exists);
    return nl_tables_find_warehouse(athena->tables, NL_WAREHOUSE_GLUE, NL_STR(NL_ATHENA_CATALOG), arena, warehouse, exists);
}

static const nl_property environment_properties[] = {{NL_STR_INIT("engine-name"), NL_STR_INIT("nilas")}, {NL_STR_INIT("engine-version"), NL_STR_INIT(NILAS_VERSION)}};
static const nl_commit_environment environment = {environment_properties, NL_COUNT(environment_properties)};

static nl_status add_catalogs(nl_athena *athena, nl_warehouse_kind kind, const char *prefix, nl_session *session, nl_arena *arena)
{
    const nl_warehouse *list;
    uint32_t count;
    NL_TRY(nl_tables_list_warehouses(athena->tables, kind, arena, &list, &count));
    for (uint32_t i = 0; i < count; i++) {
        nl_catalog *catalog;
        const nl_str name = kind == NL_WAREHOUSE_GLUE ? NL_STR("awsdatacatalog") : nl_arena_f(arena, "%s" NL_STR_FMT, prefix, NL_STR_ARG(list[i].name));
        NL_TRY(nl_tables_catalog(athena->tables, list[i].id, name, &environment, &catalog));
        NL_TRY(nl_session_put_catalog(session, catalog));
    }
    return NULL;
}

static nl_status use(nl_athena *athena, nl_str catalog, nl_str database, nl_session *session, nl_arena *arena)
{
    nl_warehouse warehouse;
    bool exists;
    if (!catalog.length) catalog = NL_STR(NL_ATHENA_CATALOG);
    NL_TRY(nl_athena_find_catalog(athena, catalog, arena, &warehouse, &exists));
    if (!exists) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "CATALOG_NOT_FOUND: Catalog '" NL_STR_FMT "' does not exist", NL_STR_ARG(catalog));
    const nl_str name = nl_str_is_nocase(catalog, NL_ATHENA_CATALOG) ? NL_STR("awsdatacatalog") : catalog;
    const nl_str scope = database.length ? database : NL_STR("default");
    return nl_session_use(session, name, &scope, 1);
}

nl_status nl_athena_session(nl_athena *athena, nl_str catalog, nl_str database, nl_session **session)
{
    nl_session *made;
    NL_TRY(nl_session_new(nl_dialect_confs, nl_dialect_conf_count, &made));
    nl_session_confine(made, athena->tables->object_fs); /* clients see the lakehouse, not this machine */
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = add_catalogs(athena, NL_WAREHOUSE_TABLE_BUCKET, NL_ATHENA_FEDERATED, made, arena);
    if (!status) status = add_catalogs(athena, NL_WAREHOUSE_PLAIN, "", made, arena);
    if (!status) status = add_catalogs(athena, NL_WAREHOUSE_GLUE, "", made, arena);
    if (!status) status = use(athena, catalog, database, made, arena);
    nl_arena_free(arena);
    if (status) {
        nl_session_free(made);
        return status;
    }
    *session = made;
    return NULL;
}

/* ---- values and types as Athena shows them --------------------------------------------------------------------- */

static void append_timestamp(const nl_value *value, bool is_zoned, nl_builder *out)
{
    static const nl_text_options options = {.style = NL_TEXT_CAST};
    const int64_t seconds = nl_floor_div(value->integer, 1000000), millis = (value->integer - seconds * 1000000) / 1000;
    const nl_value whole = {.type = nl_type_of(NL_TYPE_TIMESTAMP_NTZ), .integer = seconds * 1000000};
    nl_value_append_text(&whole, &options, out);
    nl_append_f(out, ".%03lld%s", (long long)millis, is_zoned ? " UTC" : "");
}

static void append_nested(const nl_value *value, nl_builder *out)
{
    if (value->is_null) nl_append_c(out, "null");
    else nl_athena_append_value(value, out);
}

static void append_list(const nl_value *value, nl_builder *out)
{
    const bool is_struct = value->type->id == NL_TYPE_STRUCT, is_map = value->type->id == NL_TYPE_MAP;
    nl_append_char(out, is_struct || is_map ? '{' : '[');
    for (uint32_t i = 0; i < value->list.count; i++) {
        const bool is_value = is_map && i % 2 == 1;
        if (i) nl_append_c(out, is_value ? "=" : ", ");
        if (is_struct) nl_append_f(out, NL_STR_FMT "=", NL_STR_ARG(value->type->children[i].name));
        append_nested(&value->list.items[i], out);
    }
    nl_append_char(out, is_struct || is_map ? '}' : ']');
}

void nl_athena_append_value(const nl_value *value, nl_builder *out)
{
    static const nl_text_options options = {.style = NL_TEXT_CAST};
    const nl_type_id id = value->type->id;
    if (id == NL_TYPE_TIMESTAMP || id == NL_TYPE_TIMESTAMP_NTZ) {
        append_timestamp(value, id == NL_TYPE_TIMESTAMP, out);
    } else if (id == NL_TYPE_BINARY) {
        for (size_t i = 0; i < value->text.length; i++) nl_append_f(out, "%s%02x", i ? " " : "", (unsigned char)value->text.data[i]);
    } else if (id == NL_TYPE_ARRAY || id == NL_TYPE_MAP || id == NL_TYPE_STRUCT) {
        append_list(value, out);
    } else {
        nl_value_append_text(value, &options, out);
    }
}

typedef struct type_row {
    nl_type_id id;
    const char *name;
    int32_t precision;
} type_row;

static const type_row type_rows[] = {
    {NL_TYPE_BOOLEAN, "boolean", 0},  {NL_TYPE_TINYINT, "tinyint", 3},    {NL_TYPE_SMALLINT, "smallint", 5},
    {NL_TYPE_INT, "integer", 10},     {NL_TYPE_BIGINT, "bigint", 19},     {NL_TYPE_FLOAT, "float", 17},
    {NL_TYPE_DOUBLE, "double", 17},   {NL_TYPE_STRING, "varchar", 2147483647}, {NL_TYPE_BINARY, "varbinary", 1073741824},
    {NL_TYPE_DATE, "date", 0},        {NL_TYPE_TIMESTAMP_NTZ, "timestamp", 3}, {NL_TYPE_TIMESTAMP, "timestamp with time zone", 3},
    {NL_TYPE_ARRAY, "array", 0},      {NL_TYPE_MAP, "map", 0},            {NL_TYPE_STRUCT, "row", 0},
};

static const type_row *row_of(const nl_type *type)
{
    static const type_row other = {NL_TYPE_STRING, "varchar", 2147483647};
    for (size_t i = 0; i < NL_COUNT(type_rows); i++)
        if (type_rows[i].id == type->id) return &type_rows[i];
    return &other;
}

void nl_athena_append_type(const nl_type *type, nl_builder *out)
{
    if (type->id == NL_TYPE_DECIMAL) {
        nl_append_f(out, "decimal(%d,%d)", type->precision, type->scale);
        return;
    }
    nl_append_c(out, type->id == NL_TYPE_FLOAT ? "real" : row_of(type)->name);
    if (type->id != NL_TYPE_ARRAY && type->id != NL_TYPE_MAP && type->id != NL_TYPE_STRUCT) return;
    nl_append_char(out, '(');
    for (uint32_t i = 0; i < type->child_count; i++) {
        if (i) nl_append_c(out, ", ");
        if (type->id == NL_TYPE_STRUCT) nl_append_f(out, NL_STR_FMT " ", NL_STR_ARG(type->children[i].name));
        nl_athena_append_type(type->children[i].type, out);
    }
    nl_append_char(out, ')');
}

static void append_column(const nl_field *field, nl_json_writer *json)
{
    const bool is_decimal = field->type->id == NL_TYPE_DECIMAL;
    const type_row *row = row_of(field->type);
    nl_json_begin(json, '{');
    nl_athena_write_text(json, "CatalogName", NL_STR("hive"));
    nl_athena_write_text(json, "SchemaName", NL_STR(""));
    nl_athena_write_text(json, "TableName", NL_STR(""));
    nl_athena_write_text(json, "Name", field->name);
    nl_athena_write_text(json, "Label", field->name);
    nl_athena_write_text(json, "Type", nl_str_from(is_decimal ? "decimal" : row->name));
    nl_json_key(json, "Precision");
    nl_json_write_int(json, is_decimal ? field->type->precision : row->precision);
    nl_json_key(json, "Scale");
    nl_json_write_int(json, is_decimal ? field->type->scale : 0);
    nl_athena_write_text(json, "Nullable", NL_STR("UNKNOWN"));
    nl_json_key(json, "CaseSensitive");
    nl_json_write_bool(json, field->type->id == NL_TYPE_STRING);
    nl_json_end(json, '}');
}

void nl_athena_append_columns(const nl_type *row_type, nl_builder *out)
{
    nl_json_writer json = {.out = out};
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < row_type->child_count; i++) append_column(&row_type->children[i], &json);
    nl_json_end(&json, ']');
}

/* ---- the result's file ----------------------------------------------------------------------------------------- */

typedef struct writer {
    nl_output *output;
    nl_builder line;
    bool is_csv;
} writer;

static void append_cell(writer *self, nl_str text, bool is_null, uint32_t column)
{
    if (column) nl_append_char(&self->line, self->is_csv ? ',' : '\t');
    if (is_null) return; /* nothing at all: the empty text has its quotes */
    if (!self->is_csv) {
        nl_append(&self->line, text);
        return;
    }
    nl_append_char(&self->line, '"');
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] == '"') nl_append_char(&self->line, '"');
        nl_append_char(&self->line, text.data[i]);
    }
    nl_append_char(&self->line, '"');
}

static nl_status end_line(writer *self)
{
    nl_append_char(&self->line, '\n');
    nl_status status = nl_output_write(self->output, self->line.data, self->line.length);
    nl_builder_clear(&self->line);
    return status;
}

static nl_status write_batch(writer *self, const nl_batch *batch, nl_arena *arena)
{
    const nl_selection selection = nl_batch_selection(batch);
    nl_builder cell;
    nl_builder_init(&cell, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    for (uint32_t i = 0; !status && i < selection.count; i++) {
        const uint32_t row = nl_selection_row(selection, i);
        for (uint32_t k = 0; k < batch->column_count; k++) {
            const nl_value value = nl_vector_value(&batch->columns[k], row, arena);
            nl_builder_clear(&cell);
            if (!value.is_null) nl_athena_append_value(&value, &cell);
            append_cell(self, nl_builder_str(&cell), value.is_null, k);
        }
        status = end_line(self);
    }
    nl_builder_fini(&cell);
    return status;
}

static nl_status write_rows(writer *self, nl_result *result, const nl_type *schema, bool has_header)
{
    if (has_header) {
        for (uint32_t i = 0; i < schema->child_count; i++) append_cell(self, schema->children[i].name, false, i);
        NL_TRY(end_line(self));
    }
    nl_status status = NULL;
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        nl_arena *arena = nl_arena_new(NULL);
        status = nl_result_next(result, &batch, &is_done);
        if (!status) status = write_batch(self, &batch, arena);
        nl_batch_fini(&batch);
        nl_arena_free(arena);
    }
    return status;
}

static nl_status write_result(nl_athena *athena, const nl_execution *execution, nl_result *result)
{
    nl_fs *fs;
    writer self = {.is_csv = nl_str_ends(execution->output_location, NL_STR(".csv"))};
    NL_TRY(nl_tables_fs(athena->tables, execution->output_location, &fs));
    NL_TRY(nl_fs_create(fs, execution->output_location, &self.output));
    nl_builder_init(&self.line, NL_VALUE_BYTES_MAX);
    nl_status status = write_rows(&self, result, nl_result_schema(result), execution->has_header);
    nl_builder_fini(&self.line);
    if (status) {
        nl_output_abort(self.output);
        return status;
    }
    return nl_output_close(self.output);
}

static nl_status write_metadata(nl_athena *athena, const nl_execution *execution)
{
    nl_fs *fs;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str path = nl_arena_f(arena, NL_STR_FMT ".metadata", NL_STR_ARG(execution->output_location));
    nl_status status = nl_tables_fs(athena->tables, path, &fs);
    if (!status) status = nl_fs_write_all(fs, path, (nl_bytes){(const uint8_t *)execution->columns.data, execution->columns.length});
    nl_arena_free(arena);
    return status;
}

/* ---- the statement --------------------------------------------------------------------------------------------- */

static nl_str next_word(nl_str *text)
{
    *text = nl_str_trim(*text);
    size_t end = 0;
    while (end < text->length && !strchr(" \t\r\n", text->data[end])) end++;
    const nl_str word = nl_str_slice(*text, 0, end);
    *text = nl_str_trim(nl_str_slice(*text, end, text->length));
    return word;
}

/* PREPARE, EXECUTE and DEALLOCATE are the service's; *text empty: there is nothing left to run. */
static nl_status statement_text(nl_athena *athena, const nl_execution *execution, nl_arena *arena, nl_str *text)
{
    nl_str rest = nl_str_trim(execution->sql);
    const nl_str *parameters = execution->parameters;
    uint32_t parameter_count = execution->parameter_count;
    while (rest.length && rest.data[rest.length - 1] == ';') rest = nl_str_trim(nl_str_slice(rest, 0, rest.length - 1));
    nl_str sql = rest;
    const nl_str verb = next_word(&rest);
    if (nl_str_is_nocase(verb, "EXECUTE") && !nl_str_starts_nocase(rest, NL_STR("IMMEDIATE"))) {
        const nl_str name = next_word(&rest);
        NL_TRY(nl_athena_prepared_text(athena, execution->work_group, name, arena, &sql));
        if (nl_str_is_nocase(next_word(&rest), "USING")) parameter_count = nl_dialect_split_parameters(arena, rest, &parameters);
    }
    return nl_dialect_put_parameters(arena, sql, parameters, parameter_count, text);
}

/* ---- running --------------------------------------------------------------------------------------------------- */

static void place(nl_error *error, nl_builder *out)
{
    const nl_query_context *context = nl_error_context(error);
    nl_append_f(out, "line %u:%u: ", context && context->line ? context->line : 1, context ? context->position + 1 : 1);
}

/* Trino's names for what went wrong, where there is one; else the engine's own. */
static nl_str words_of(nl_arena *arena, nl_error *error)
{
    nl_builder out;
    nl_builder_init(&out, 1u << 20);
    const nl_condition condition = nl_error_condition(error);
    const char *name = nl_condition_name(condition), *param;
    if (condition == NL_COND_TABLE_OR_VIEW_NOT_FOUND) {
        param = nl_error_param(error, "relationName");
        nl_append_c(&out, "TABLE_NOT_FOUND: ");
        place(error, &out);
        nl_append_c(&out, "Table '");
        for (const char *at = param ? param : ""; *at; at++)
            if (*at != '`') nl_append_char(&out, *at);
        nl_append_c(&out, "' does not exist");
    } else if (condition == NL_COND_UNRESOLVED_COLUMN__WITH_SUGGESTION || condition == NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION) {
        param = nl_error_param(error, "objectName");
        nl_append_c(&out, "COLUMN_NOT_FOUND: ");
        place(error, &out);
        nl_append_c(&out, "Column '");
        for (const char *at = param ? param : ""; *at; at++)
            if (*at != '`') nl_append_char(&out, *at);
        nl_append_c(&out, "' cannot be resolved");
    } else if (nl_str_starts(nl_str_from(name), NL_STR("PARSE_SYNTAX_ERROR"))) {
        param = nl_error_param(error, "error");
        nl_append_c(&out, "SYNTAX_ERROR: ");
        place(error, &out);
        nl_append_f(&out, "mismatched input %s", param ? param : "");
    } else if (condition == NL_COND_NILAS_ILLEGAL_ARGUMENT) {
        nl_append_c(&out, nl_error_param(error, "message"));
    } else {
        nl_append_f(&out, "%s: %s", name, nl_error_message(error));
    }
    const nl_str words = nl_arena_str(arena, nl_builder_str(&out));
    nl_builder_fini(&out);
    return words;
}

static nl_status run_statement(nl_athena *athena, nl_execution *execution, nl_session *session, nl_arena *arena)
{
    nl_str text, then;
    nl_result *result = NULL;
    const nl_dialect_names names = {.catalog = !execution->catalog.length || nl_str_is_nocase(execution->catalog, NL_ATHENA_CATALOG) ? NL_STR("awsdatacatalog") : execution->catalog,
                                    .schema = execution->database.length ? execution->database : NL_STR("default")};
    NL_TRY(statement_text(athena, execution, arena, &text));
    NL_TRY(nl_dialect_to_engine(arena, text, &names, &text, &then));
    NL_TRY(nl_command_run(session, text, &result));
    nl_builder columns;
    nl_builder_init(&columns, 16u << 20);
    nl_athena_append_columns(nl_result_schema(result), &columns);
    nl_mutex_lock(&athena->mutex);
    execution->planned_micros = nl_now_micros();
    execution->columns = nl_arena_str(execution->arena, nl_builder_str(&columns));
    execution->has_header = nl_result_kind_of(result) == NL_RESULT_QUERY;
    nl_mutex_unlock(&athena->mutex);
    nl_builder_fini(&columns);
    nl_status status = write_result(athena, execution, result);
    if (!status) status = write_metadata(athena, execution);
    const bool is_query = nl_result_kind_of(result) == NL_RESULT_QUERY;
    nl_result_close(result);
    if (!status && then.length) status = nl_command_run(session, then, &result);
    if (!status && then.length) nl_result_close(result);
    const uint64_t changed = atomic_load(&nl_session_progress(session)->changed_rows);
    nl_mutex_lock(&athena->mutex);
    if (!status && !is_query && changed) execution->update_count = (int64_t)changed;
    nl_mutex_unlock(&athena->mutex);
    return status;
}

static void finish(nl_athena *athena, nl_execution *execution, nl_status status)
{
    nl_mutex_lock(&athena->mutex);
    if (execution->session) execution->bytes_scanned = (int64_t)atomic_load(&nl_session_progress(execution->session)->bytes);
    execution->session = NULL;
    execution->completed_micros = nl_now_micros();
    const bool is_cancelled = execution->is_cancelled || (status && nl_error_condition(status) == NL_COND_OPERATION_CANCELED);
    execution->state = !status ? "SUCCEEDED" : is_cancelled ? "CANCELLED" : "FAILED";
    if (status && is_cancelled) {
        execution->reason = NL_STR("Query cancelled by user");
    } else if (status) {
        execution->reason = words_of(execution->arena, status);
        execution->error_category = nl_error_kind_of(status) == NL_KIND_USER ? 2 : 1;
        execution->error_type = execution->error_category == 2 ? 1003 : 233;
    }
    nl_mutex_unlock(&athena->mutex);
    nl_error_free(status);
}

void nl_athena_run(nl_athena *athena, nl_execution *execution)
{
    nl_session *session = NULL;
    nl_running_query *shown = NULL;
    nl_arena *arena = nl_arena_new(athena->memory);
    nl_status status = nl_athena_session(athena, execution->catalog, execution->database, &session);
    nl_mutex_lock(&athena->mutex);
    execution->started_micros = nl_now_micros();
    execution->state = "RUNNING";
    execution->session = session;
    const bool is_cancelled = execution->is_cancelled;
    nl_mutex_unlock(&athena->mutex);
    if (!status && is_cancelled) status = NL_RAISE(OPERATION_CANCELED);
    if (!status && athena->queries) status = nl_query_begin(athena->queries, "athena", execution->id, execution->sql, session, &shown);
    if (!status) status = run_statement(athena, execution, session, arena);
    nl_query_end(shown);
    finish(athena, execution, status);
    if (session) nl_session_free(session);
    nl_arena_free(arena);
}
