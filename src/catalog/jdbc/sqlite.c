/* catalog/jdbc/sqlite.c - "jdbc:sqlite:FILE[?pragma=value…]" as Xerial's driver reads it. */
#include "catalog/jdbc/database.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/number.h"
#include "base/sqlite.h"

struct nl_jdbc_connection {
    nl_sqlite *database; /* owned */
    nl_sqlite_statement *rows; /* owned: of the query being read; or NULL */
};

/* "file:NAME?query" → NAME and query. */
static nl_str path_of(nl_str uri, nl_str *query)
{
    nl_str path = nl_str_slice(uri, NL_STR("jdbc:sqlite:").length, uri.length);
    const size_t question = nl_str_find_char(path, '?', 0);
    *query = question == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(path, question + 1, path.length);
    if (question != NL_NOT_FOUND) path = nl_str_slice(path, 0, question);
    return nl_str_starts(path, NL_STR("file:")) ? nl_str_slice(path, 5, path.length) : path;
}

static bool next_parameter(nl_str *query, nl_property *parameter)
{
    if (query->length == 0) return false;
    const size_t ampersand = nl_str_find_char(*query, '&', 0);
    const nl_str part = ampersand == NL_NOT_FOUND ? *query : nl_str_slice(*query, 0, ampersand);
    *query = ampersand == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(*query, ampersand + 1, query->length);
    const size_t equals = nl_str_find_char(part, '=', 0);
    *parameter = (nl_property){nl_str_slice(part, 0, equals), equals == NL_NOT_FOUND ? NL_STR("") : nl_str_slice(part, equals + 1, part.length)};
    return true;
}

/* A database in memory is its connection's own, as with Java's driver; of two clients each would see another one. */
static bool sqlite_is_private(nl_str uri)
{
    nl_str query;
    nl_property parameter;
    const nl_str path = path_of(uri, &query);
    bool is_memory = path.length == 0 || nl_str_is(path, ":memory:");
    while (next_parameter(&query, &parameter)) is_memory = is_memory || (nl_str_is(parameter.key, "mode") && nl_str_is(parameter.value, "memory"));
    return is_memory;
}

/* Pragmas that Java's driver takes as keys and that change nothing of what a catalog is. */
static const char *const idle_keys[] = {"user", "password", "cache", "cache_size", "mmap_size", "page_size", "synchronous", "journal_mode", "temp_store", "foreign_keys", "locking_mode",
                                        "transaction_mode", "shared_cache", "date_class", "date_precision", "date_string_format", "limit_worker_threads", "encoding"};

static nl_status check_key(nl_str key, nl_str value)
{
    int64_t timeout_ms;
    if (nl_str_is(key, "busy_timeout")) {
        if (nl_parse_int64(value, &timeout_ms) && timeout_ms >= 0 && timeout_ms <= INT32_MAX) return NULL;
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "busy_timeout of a SQLite catalog must be a number of milliseconds, not " NL_STR_FMT, NL_STR_ARG(value));
    }
    if (nl_str_is(key, "mode") && (nl_str_is(value, "memory") || nl_str_is(value, "rwc") || nl_str_is(value, "rw"))) return NULL;
    if (nl_str_is(key, "mode") || nl_str_is(key, "open_mode") || nl_str_is(key, "immutable") || nl_str_is(key, "vfs") || nl_str_is(key, "cipher") || nl_str_is(key, "key") ||
        nl_str_is(key, "hexkey_mode"))
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "The property " NL_STR_FMT " of the SQLite driver is not supported.", NL_STR_ARG(key));
    for (size_t i = 0; i < NL_COUNT(idle_keys); i++)
        if (nl_str_is(key, idle_keys[i])) return NULL;
    if (value.length) nl_log(NL_LOG_WARN, "The property " NL_STR_FMT " has no effect on a SQLite catalog.", NL_STR_ARG(key));
    return NULL;
}

static nl_status sqlite_check(nl_str uri, const nl_property *properties, uint32_t property_count, nl_arena *arena)
{
    nl_str query;
    nl_property parameter;
    (void)arena;
    if (nl_str_starts(path_of(uri, &query), NL_STR(":resource:"))) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "jdbc:sqlite::resource: is a place of Java's that nilas does not have.");
    while (next_parameter(&query, &parameter)) NL_TRY(check_key(parameter.key, parameter.value));
    for (uint32_t i = 0; i < property_count; i++) NL_TRY(check_key(properties[i].key, properties[i].value));
    return NULL;
}

static void read_timeout(const nl_property *property, nl_sqlite_options *options)
{
    int64_t timeout_ms;
    if (nl_str_is(property->key, "busy_timeout") && nl_parse_int64(property->value, &timeout_ms)) options->busy_timeout_ms = (int32_t)timeout_ms;
}

static nl_status sqlite_connect(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_connection **connection)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_sqlite_options options = {.is_durable = true, .busy_timeout_ms = 30000};
    nl_str query;
    nl_property parameter;
    nl_str path = path_of(uri, &query);
    while (next_parameter(&query, &parameter)) read_timeout(&parameter, &options);
    for (uint32_t i = 0; i < property_count; i++) read_timeout(&properties[i], &options);
    if (sqlite_is_private(uri)) path = NL_STR(":memory:");
    nl_sqlite *database = NULL;
    nl_status status = nl_sqlite_open(nl_str_c(arena, path), &options, &database);
    nl_arena_free(arena);
    if (status) return status;
    nl_jdbc_connection *made = calloc(1, sizeof(*made));
    if (!made) {
        nl_sqlite_close(database);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->database = database;
    *connection = made;
    return NULL;
}

/* At most row_max of them; *is_over: the last one has been read. */
static nl_status read_some(nl_sqlite_statement *statement, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result, bool *is_over)
{
    nl_list rows = {0};
    result->column_count = nl_sqlite_column_count(statement);
    for (bool has_row = true; rows.count < row_max;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        *is_over = !has_row;
        if (!has_row) break;
        nl_str *row = NL_NEW_ARRAY(arena, nl_str, result->column_count);
        for (uint32_t i = 0; i < result->column_count; i++) row[i] = nl_sqlite_text(statement, (int)i, arena);
        nl_list_add(arena, &rows, row);
    }
    result->row_count = rows.count;
    result->values = NL_NEW_ARRAY(arena, nl_str, (size_t)rows.count * result->column_count);
    for (uint32_t i = 0; i < rows.count; i++)
        for (uint32_t k = 0; k < result->column_count; k++) result->values[(size_t)i * result->column_count + k] = ((nl_str *)rows.items[i])[k];
    return nl_arena_check(arena);
}

static nl_status read_rows(nl_sqlite_statement *statement, nl_arena *arena, nl_jdbc_result *result)
{
    bool is_over;
    NL_TRY(read_some(statement, UINT32_MAX, arena, result, &is_over));
    result->change_count = nl_sqlite_change_count(statement);
    return NULL;
}

static nl_status sqlite_run(nl_jdbc_connection *self, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    nl_sqlite_statement *statement;
    *result = (nl_jdbc_result){0};
    NL_TRY(nl_sqlite_prepare(self->database, sql, &statement));
    for (uint32_t i = 0; i < value_count; i++) nl_sqlite_bind_text(statement, (int)i + 1, values[i]);
    return read_rows(statement, arena, result);
}

static nl_status sqlite_run_text(nl_jdbc_connection *self, nl_str sql, nl_arena *arena, nl_jdbc_result *result)
{
    nl_sqlite_statement *statement = NULL;
    *result = (nl_jdbc_result){0};
    NL_TRY(nl_sqlite_prepare_text(self->database, sql, &statement));
    nl_status status = read_rows(statement, arena, result);
    nl_sqlite_statement_free(statement);
    return status;
}

static nl_status sqlite_describe(nl_jdbc_connection *self, nl_str query, nl_arena *arena, nl_jdbc_result *columns)
{
    nl_sqlite_statement *statement = NULL;
    NL_TRY(nl_sqlite_prepare_text(self->database, query, &statement));
    *columns = (nl_jdbc_result){.column_count = 2, .row_count = nl_sqlite_column_count(statement)};
    columns->values = NL_NEW_ARRAY(arena, nl_str, (size_t)columns->row_count * 2);
    for (uint32_t i = 0; i < columns->row_count; i++) {
        columns->values[(size_t)i * 2] = nl_sqlite_column_name(statement, (int)i, arena);
        columns->values[(size_t)i * 2 + 1] = nl_sqlite_column_declaration(statement, (int)i, arena);
    }
    nl_sqlite_statement_free(statement);
    return nl_arena_check(arena);
}

static nl_status sqlite_query(nl_jdbc_connection *self, nl_str sql)
{
    nl_sqlite_statement_free(self->rows);
    self->rows = NULL;
    return nl_sqlite_prepare_text(self->database, sql, &self->rows);
}

static nl_status sqlite_next_rows(nl_jdbc_connection *self, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result)
{
    bool is_over = false;
    *result = (nl_jdbc_result){0};
    if (!self->rows) return NULL;
    nl_status status = read_some(self->rows, row_max, arena, result, &is_over);
    if (!status && !is_over) return NULL;
    nl_sqlite_statement_free(self->rows);
    self->rows = NULL;
    return status;
}

static bool sqlite_is_broken(nl_jdbc_connection *self)
{
    (void)self; /* a file does not hang up */
    return false;
}

static bool sqlite_was_rolled_back(nl_jdbc_connection *self)
{
    (void)self; /* its busy_timeout waits */
    return false;
}

static void sqlite_close(nl_jdbc_connection *self)
{
    nl_sqlite_statement_free(self->rows);
    nl_sqlite_close(self->database);
    free(self);
}

const nl_jdbc_driver nl_jdbc_sqlite = {
    .check = sqlite_check,
    .connect = sqlite_connect,
    .run = sqlite_run,
    .is_broken = sqlite_is_broken,
    .was_rolled_back = sqlite_was_rolled_back,
    .is_private = sqlite_is_private,
    .close = sqlite_close,
    .run_text = sqlite_run_text,
    .describe = sqlite_describe,
    .query = sqlite_query,
    .next_rows = sqlite_next_rows,
    .columns_sql = "SELECT name FROM pragma_table_info(?)",
};
