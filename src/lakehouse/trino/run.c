/* lakehouse/trino/run.c - one statement in a session of its own. Pages are handed to whoever asks for them one at a time, so
 * that a client that stops reading stops the query instead of filling memory.
 */
#include "lakehouse/trino/trino_private.h"

#include "lakehouse/tables_private.h"

#include <ctype.h>
#include <stdlib.h>

#include "command/command.h"
#include "lakehouse/dialect.h"

/* ---- The session. */

nl_status nl_trino_find_catalog(nl_trino *trino, nl_str name, nl_arena *arena, nl_warehouse *warehouse, bool *exists)
{
    static const nl_str federated = NL_STR_INIT("s3tablescatalog/");
    if (nl_str_is_nocase(name, "awsdatacatalog")) return nl_tables_find_warehouse(trino->tables, NL_WAREHOUSE_GLUE, NL_STR("AwsDataCatalog"), arena, warehouse, exists);
    if (nl_str_starts_nocase(name, federated))
        return nl_tables_find_warehouse(trino->tables, NL_WAREHOUSE_TABLE_BUCKET, nl_str_slice(name, federated.length, name.length), arena, warehouse, exists);
    NL_TRY(nl_tables_find_warehouse(trino->tables, NL_WAREHOUSE_PLAIN, name, arena, warehouse, exists));
    return *exists ? NULL : nl_tables_find_warehouse(trino->tables, NL_WAREHOUSE_TABLE_BUCKET, name, arena, warehouse, exists);
}

static nl_status add_catalog(nl_trino *trino, nl_session *session, const nl_warehouse *warehouse, nl_str name)
{
    nl_catalog *catalog = NULL;
    if (nl_session_has_catalog(session, name)) return NULL;
    NL_TRY(nl_tables_catalog(trino->tables, warehouse->id, name, nl_session_environment(session), &catalog));
    return nl_session_put_catalog(session, catalog);
}

/* Plain warehouses and table buckets by their names, buckets by Athena's too, the Glue catalog as awsdatacatalog. */
static nl_status add_catalogs(nl_trino *trino, nl_session *session, nl_arena *arena)
{
    static const nl_warehouse_kind kinds[] = {NL_WAREHOUSE_PLAIN, NL_WAREHOUSE_TABLE_BUCKET, NL_WAREHOUSE_GLUE};
    for (size_t k = 0; k < NL_COUNT(kinds); k++) {
        const nl_warehouse *list = NULL;
        uint32_t count = 0;
        NL_TRY(nl_tables_list_warehouses(trino->tables, kinds[k], arena, &list, &count));
        for (uint32_t i = 0; i < count; i++) {
            NL_TRY(add_catalog(trino, session, &list[i], kinds[k] == NL_WAREHOUSE_GLUE ? NL_STR("awsdatacatalog") : list[i].name));
            if (kinds[k] == NL_WAREHOUSE_TABLE_BUCKET) NL_TRY(add_catalog(trino, session, &list[i], nl_arena_f(arena, "s3tablescatalog/" NL_STR_FMT, NL_STR_ARG(list[i].name))));
        }
    }
    return NULL;
}

static nl_status open_session(nl_trino_statement *self, nl_session **session)
{
    nl_session *made = NULL;
    NL_TRY(nl_session_new(nl_dialect_confs, nl_dialect_conf_count, &made));
    nl_session_confine(made, self->trino->tables->object_fs); /* clients see the lakehouse, not this machine */
    nl_status status = add_catalogs(self->trino, made, self->arena);
    if (!status && self->catalog.length && !nl_session_has_catalog(made, self->catalog))
        status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "CATALOG_NOT_FOUND: Catalog '" NL_STR_FMT "' not found", NL_STR_ARG(self->catalog));
    const nl_str schema = self->schema.length ? self->schema : NL_STR("default");
    if (!status && self->catalog.length) status = nl_session_use(made, self->catalog, &schema, 1);
    if (status) nl_session_free(made);
    else *session = made;
    return status;
}

/* ---- Pages. */

nl_status nl_trino_hand_over(nl_trino_statement *self, nl_builder *rows)
{
    nl_trino *trino = self->trino;
    if (rows->length == 0) return NULL;
    if (nl_builder_failed(rows)) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)rows->length), NL_P("receivedBytes", "0"));
    nl_mutex_lock(&trino->mutex);
    while (self->has_ready && !self->is_cancelled) pthread_cond_wait(&trino->changed, &trino->mutex);
    const bool is_cancelled = self->is_cancelled;
    if (!is_cancelled) {
        nl_builder_fini(&self->ready);
        self->ready = *rows;
        self->has_ready = true;
        nl_builder_init(rows, NL_VALUE_BYTES_MAX);
        pthread_cond_broadcast(&trino->changed);
    }
    nl_mutex_unlock(&trino->mutex);
    return is_cancelled ? NL_RAISE(OPERATION_CANCELED) : NULL;
}

void nl_trino_set_columns(nl_trino_statement *self, nl_str columns)
{
    nl_mutex_lock(&self->trino->mutex);
    self->columns = nl_arena_str(self->arena, columns);
    nl_mutex_unlock(&self->trino->mutex);
}

void nl_trino_add_header(nl_trino_statement *self, const char *name, nl_str value)
{
    nl_mutex_lock(&self->trino->mutex);
    nl_property *headers = NL_NEW_ARRAY(self->arena, nl_property, self->header_count + 1);
    if (self->header_count) memcpy(headers, self->headers, self->header_count * sizeof(*headers));
    headers[self->header_count] = (nl_property){nl_arena_str(self->arena, nl_str_from(name)), nl_arena_str(self->arena, value)};
    self->headers = headers;
    self->header_count++;
    nl_mutex_unlock(&self->trino->mutex);
}

static void tell_columns(nl_trino_statement *self, const nl_type *schema)
{
    nl_builder out;
    nl_builder_init(&out, 16 << 20);
    nl_json_writer json = {.out = &out};
    nl_json_begin(&json, '[');
    for (uint32_t i = 0; i < schema->child_count; i++) nl_trino_write_column(&json, self->arena, schema->children[i].name, schema->children[i].type);
    nl_json_end(&json, ']');
    nl_trino_set_columns(self, nl_builder_str(&out));
    nl_builder_fini(&out);
}

static nl_status write_batch(nl_trino_statement *self, const nl_type *schema, const nl_batch *batch, nl_builder *rows)
{
    const nl_selection selection = nl_batch_selection(batch);
    nl_status status = NULL;
    nl_arena *arena = nl_arena_new(self->trino->memory);
    for (uint32_t i = 0; !status && i < selection.count; i++) {
        nl_append_c(rows, rows->length ? ",[" : "[");
        for (uint32_t c = 0; c < batch->column_count; c++) {
            nl_value value = nl_vector_value(&batch->columns[c], nl_selection_row(selection, i), arena);
            value.type = schema->children[c].type; /* which says how many digits of a time are shown */
            if (c) nl_append_char(rows, ',');
            nl_trino_append_value(&value, rows);
        }
        nl_append_char(rows, ']');
        atomic_fetch_add_explicit(&self->row_count, 1, memory_order_relaxed);
        if (rows->length >= NL_TRINO_PAGE_BYTES) status = nl_trino_hand_over(self, rows);
    }
    nl_arena_free(arena);
    return status;
}

static nl_status write_rows(nl_trino_statement *self, nl_result *result, bool is_told)
{
    nl_builder rows;
    nl_builder_init(&rows, NL_VALUE_BYTES_MAX);
    nl_status status = NULL;
    for (bool is_done = false; !status && !is_done;) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        if (!status && is_told) status = write_batch(self, nl_result_schema(result), &batch, &rows);
        nl_batch_fini(&batch);
    }
    if (!status) status = nl_trino_hand_over(self, &rows);
    nl_builder_fini(&rows);
    return status;
}

/* ---- The statement. */

/* What Trino calls a statement that is no query, by its first words; `counts`: its answer says how many rows it changed. */
static const struct {
    const char *words, *type;
    bool counts;
} update_types[] = {
    {"insert", "INSERT", true}, {"update", "UPDATE", true}, {"delete", "DELETE", true}, {"merge", "MERGE", true}, {"truncate", "TRUNCATE TABLE", false},
    {"create table", "CREATE TABLE", false}, {"create or replace table", "CREATE TABLE", false}, {"create view", "CREATE VIEW", false}, {"create or replace view", "CREATE VIEW", false},
    {"create schema", "CREATE SCHEMA", false}, {"create database", "CREATE SCHEMA", false}, {"drop table", "DROP TABLE", false}, {"drop view", "DROP VIEW", false}, {"drop schema", "DROP SCHEMA", false},
    {"alter table * execute", "ALTER TABLE EXECUTE", false}, {"alter table * add column", "ADD COLUMN", false}, {"alter table * rename column", "RENAME COLUMN", false},
    {"alter table * drop column", "DROP COLUMN", false}, {"alter table * alter column * set", "SET COLUMN TYPE", false}, {"alter table * rename to", "RENAME TABLE", false},
    {"alter table * set properties", "SET PROPERTIES", false}, {"comment", "COMMENT", false}, {"call", "CALL", false}, {"analyze", "ANALYZE", false},
};

static bool has_words(nl_str sql, nl_str words)
{
    nl_str word, part;
    while (nl_str_next_part(&words, ' ', &word)) {
        sql = nl_str_trim(sql);
        size_t end = 0;
        while (end < sql.length && !strchr(" \t\r\n(", sql.data[end])) end++;
        part = nl_str_slice(sql, 0, end);
        sql = nl_str_slice(sql, end, sql.length);
        if (!nl_str_is(word, "*") && !nl_str_equal_nocase(word, part)) return false;
    }
    return true;
}

static bool has_query(nl_str sql)
{
    static const char *const openers[] = {"AS SELECT", "AS WITH", "AS VALUES", "AS TABLE", "AS ("};
    for (size_t at = 1; at + 2 < sql.length; at++) {
        if (!nl_str_starts_nocase(nl_str_slice(sql, at, sql.length), NL_STR("as"))) continue;
        const nl_str behind = nl_str_trim(nl_str_slice(sql, at + 2, sql.length));
        for (size_t i = 0; isspace((unsigned char)sql.data[at - 1]) && i < NL_COUNT(openers); i++)
            if (nl_str_starts_nocase(behind, nl_str_from(openers[i] + strlen("AS ")))) return true;
    }
    return false;
}

/* A CREATE TABLE counts when it has a query. */
static void set_update(nl_trino_statement *self, nl_session *session, bool is_done)
{
    for (size_t i = 0; i < NL_COUNT(update_types); i++) {
        if (!has_words(self->sql, nl_str_from(update_types[i].words))) continue;
        const uint64_t changed = atomic_load(&nl_session_progress(session)->changed_rows);
        self->update_type = nl_str_from(update_types[i].type);
        if (is_done && (update_types[i].counts || (nl_str_is(self->update_type, "CREATE TABLE") && (changed || has_query(self->sql))))) self->update_count = (int64_t)changed;
        return;
    }
}

static nl_status run_in(nl_trino_statement *self, nl_session *session)
{
    bool is_own = false;
    nl_result *result = NULL;
    NL_TRY(nl_trino_show(self, session, self->sql, &is_own));
    if (is_own) return NULL;
    nl_str text, then;
    const nl_dialect_names names = {.find = nl_trino_find_table, .argument = self, .catalog = self->catalog, .schema = self->schema};
    NL_TRY(nl_dialect_to_engine(self->arena, self->sql, &names, &text, &then));
    NL_TRY(nl_command_run(session, text, &result));
    const nl_type *schema = nl_result_schema(result);
    const bool is_query = nl_result_kind_of(result) == NL_RESULT_QUERY;
    if (!is_query) set_update(self, session, false);
    const bool is_told = is_query || !self->update_type.length; /* what a procedure of the engine answers is not Trino's */
    if (schema->child_count && is_told) tell_columns(self, schema);
    nl_status status = write_rows(self, result, is_told);
    nl_result_close(result);
    if (!status && then.length) status = nl_command_run(session, then, &result);
    if (!status && then.length) nl_result_close(result);
    if (!status && !is_query) set_update(self, session, true);
    return status;
}

/* What gives no rows gives one that says so: the JDBC driver takes nothing else. What writes says how many rows it wrote. */
static nl_status tell_done(nl_trino_statement *self)
{
    nl_builder out;
    if (self->columns.data) return NULL;
    nl_builder_init(&out, 4096);
    nl_json_writer json = {.out = &out};
    nl_json_begin(&json, '[');
    if (self->update_count >= 0) nl_trino_write_column(&json, self->arena, NL_STR("rows"), nl_type_bigint());
    else nl_trino_write_column(&json, self->arena, NL_STR("result"), nl_type_boolean());
    nl_json_end(&json, ']');
    nl_trino_set_columns(self, nl_builder_str(&out));
    nl_builder_clear(&out);
    if (self->update_count >= 0) nl_append_f(&out, "[%lld]", (long long)self->update_count);
    else nl_append_c(&out, "[true]");
    nl_status status = nl_trino_hand_over(self, &out);
    nl_builder_fini(&out);
    return status;
}

/* ---- Errors: Trino's names and numbers where there is one. */

static const struct {
    nl_condition condition;
    const char *name;
    int32_t code;
} known[] = {
    {NL_COND_TABLE_OR_VIEW_NOT_FOUND, "TABLE_NOT_FOUND", 46},
    {NL_COND_UNRESOLVED_COLUMN__WITH_SUGGESTION, "COLUMN_NOT_FOUND", 47},
    {NL_COND_UNRESOLVED_COLUMN__WITHOUT_SUGGESTION, "COLUMN_NOT_FOUND", 47},
    {NL_COND_SCHEMA_NOT_FOUND, "SCHEMA_NOT_FOUND", 45},
    {NL_COND_CATALOG_NOT_FOUND, "CATALOG_NOT_FOUND", 44},
    {NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS, "TABLE_ALREADY_EXISTS", 49},
    {NL_COND_SCHEMA_ALREADY_EXISTS, "SCHEMA_ALREADY_EXISTS", 50},
    {NL_COND_DIVIDE_BY_ZERO, "DIVISION_BY_ZERO", 8},
    {NL_COND_OPERATION_CANCELED, "USER_CANCELED", 3},
    {NL_COND_UNRESOLVED_ROUTINE, "FUNCTION_NOT_FOUND", 6},
    {NL_COND_CAST_INVALID_INPUT, "INVALID_CAST_ARGUMENT", 9},
    {NL_COND_ARITHMETIC_OVERFLOW, "NUMERIC_VALUE_OUT_OF_RANGE", 19},
    {NL_COND_BINARY_ARITHMETIC_OVERFLOW, "NUMERIC_VALUE_OUT_OF_RANGE", 19},
    {NL_COND_NUMERIC_VALUE_OUT_OF_RANGE__WITH_SUGGESTION, "NUMERIC_VALUE_OUT_OF_RANGE", 19},
    {NL_COND_NUMERIC_VALUE_OUT_OF_RANGE__WITHOUT_SUGGESTION, "NUMERIC_VALUE_OUT_OF_RANGE", 19},
    {NL_COND_SCALAR_SUBQUERY_TOO_MANY_ROWS, "SUBQUERY_MULTIPLE_ROWS", 28},
    {NL_COND_AMBIGUOUS_REFERENCE, "AMBIGUOUS_NAME", 62},
    {NL_COND_MISSING_AGGREGATION, "EXPRESSION_NOT_AGGREGATE", 73},
    {NL_COND_NILAS_UNSUPPORTED, "NOT_SUPPORTED", 13},
};

static void write_failure(nl_json_writer *json, nl_error *error)
{
    nl_json_key(json, "failureInfo");
    nl_json_begin(json, '{');
    nl_json_key(json, "type");
    nl_json_write_text(json, nl_str_from(nl_condition_name(nl_error_condition(error))));
    nl_json_key(json, "message");
    nl_json_write_text(json, nl_str_from(nl_error_message(error)));
    nl_json_key(json, "suppressed");
    nl_json_begin(json, '[');
    nl_json_end(json, ']');
    nl_json_key(json, "stack");
    nl_json_begin(json, '[');
    nl_json_end(json, ']');
    nl_json_end(json, '}');
}

static void write_error(nl_json_writer *json, nl_error *error)
{
    const bool is_internal = nl_error_kind_of(error) == NL_KIND_INTERNAL;
    const nl_query_context *context = nl_error_context(error);
    const char *name = is_internal ? "GENERIC_INTERNAL_ERROR" : "GENERIC_USER_ERROR";
    int32_t code = is_internal ? 65536 : 0;
    for (size_t i = 0; i < NL_COUNT(known); i++) {
        if (known[i].condition != nl_error_condition(error)) continue;
        name = known[i].name;
        code = known[i].code;
    }
    if (nl_str_starts(nl_str_from(nl_condition_name(nl_error_condition(error))), NL_STR("PARSE_"))) {
        name = "SYNTAX_ERROR";
        code = 1;
    }
    if (nl_str_starts(nl_str_from(nl_condition_name(nl_error_condition(error))), NL_STR("DATATYPE_MISMATCH"))) {
        name = "TYPE_MISMATCH";
        code = 58;
    }
    nl_json_begin(json, '{');
    nl_json_key(json, "message");
    nl_json_write_text(json, nl_str_trim(nl_str_from(nl_error_message(error))));
    nl_json_key(json, "errorCode");
    nl_json_write_int(json, code);
    nl_json_key(json, "errorName");
    nl_json_write_text(json, nl_str_from(name));
    nl_json_key(json, "errorType");
    nl_json_write_text(json, is_internal ? NL_STR("INTERNAL_ERROR") : NL_STR("USER_ERROR"));
    if (context && context->line) {
        nl_json_key(json, "errorLocation");
        nl_json_begin(json, '{');
        nl_json_key(json, "lineNumber");
        nl_json_write_int(json, context->line);
        nl_json_key(json, "columnNumber");
        nl_json_write_int(json, context->position + 1);
        nl_json_end(json, '}');
    }
    write_failure(json, error);
    nl_json_end(json, '}');
}

/* Takes status. */
static void finish(nl_trino_statement *self, nl_status status)
{
    nl_trino *trino = self->trino;
    nl_builder out;
    nl_builder_init(&out, 16 << 20);
    nl_json_writer json = {.out = &out};
    if (status) write_error(&json, status);
    nl_mutex_lock(&trino->mutex);
    self->session = NULL;
    if (status) self->error = nl_arena_str(self->arena, nl_builder_str(&out));
    self->is_done = true;
    pthread_cond_broadcast(&trino->changed);
    nl_mutex_unlock(&trino->mutex);
    nl_builder_fini(&out);
    nl_error_free(status);
}

nl_status nl_trino_run(void *argument, uint32_t worker)
{
    (void)worker;
    nl_trino_statement *self = argument;
    nl_trino *trino = self->trino;
    nl_session *session = NULL;
    nl_running_query *shown = NULL;
    nl_status status = open_session(self, &session);
    nl_mutex_lock(&trino->mutex);
    self->is_started = true;
    self->session = session;
    const bool is_cancelled = self->is_cancelled;
    nl_mutex_unlock(&trino->mutex);
    if (!status && is_cancelled) status = NL_RAISE(OPERATION_CANCELED);
    if (!status && trino->queries) status = nl_query_begin(trino->queries, "trino", self->id, self->sql, session, &shown);
    if (!status) status = run_in(self, session);
    if (!status) status = tell_done(self);
    nl_query_end(shown);
    finish(self, status);
    nl_session_free(session);
    return NULL;
}
