/* catalog/jdbc/sqlite.c - "jdbc:sqlite:FILE[?pragma=value…]" as Xerial's driver reads it. */
#include "catalog/jdbc/database.h"

#include <stdlib.h>

#include "base/number.h"
#include "base/sqlite.h"

struct nl_jdbc_connection {
    nl_sqlite *database; /* owned */
};

static nl_status sqlite_connect(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_connection **connection)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_sqlite_options options = {.is_durable = true, .busy_timeout_ms = 30000};
    nl_str path = nl_str_slice(uri, NL_STR("jdbc:sqlite:").length, uri.length);
    const size_t question = nl_str_find_char(path, '?', 0);
    if (question != NL_NOT_FOUND) path = nl_str_slice(path, 0, question);
    if (nl_str_starts(path, NL_STR("file:"))) path = nl_str_slice(path, 5, path.length);
    for (uint32_t i = 0; i < property_count; i++) {
        int64_t timeout_ms;
        if (nl_str_is(properties[i].key, "busy_timeout") && nl_parse_int64(properties[i].value, &timeout_ms) && timeout_ms >= 0 && timeout_ms <= INT32_MAX)
            options.busy_timeout_ms = (int32_t)timeout_ms;
    }
    nl_sqlite *database = NULL;
    nl_status status = nl_sqlite_open(path.length ? nl_str_c(arena, path) : ":memory:", &options, &database);
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

static nl_status read_rows(nl_sqlite_statement *statement, nl_arena *arena, nl_jdbc_result *result)
{
    nl_list rows = {0};
    result->column_count = nl_sqlite_column_count(statement);
    for (bool has_row = true;;) {
        NL_TRY(nl_sqlite_step(statement, &has_row));
        if (!has_row) break;
        nl_str *row = NL_NEW_ARRAY(arena, nl_str, result->column_count);
        for (uint32_t i = 0; i < result->column_count; i++) row[i] = nl_sqlite_text(statement, (int)i, arena);
        nl_list_add(arena, &rows, row);
    }
    result->row_count = rows.count;
    result->values = NL_NEW_ARRAY(arena, nl_str, (size_t)rows.count * result->column_count);
    for (uint32_t i = 0; i < rows.count; i++)
        for (uint32_t k = 0; k < result->column_count; k++) result->values[(size_t)i * result->column_count + k] = ((nl_str *)rows.items[i])[k];
    result->change_count = nl_sqlite_change_count(statement);
    return nl_arena_check(arena);
}

static nl_status sqlite_run(nl_jdbc_connection *self, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    nl_sqlite_statement *statement;
    *result = (nl_jdbc_result){0};
    NL_TRY(nl_sqlite_prepare(self->database, sql, &statement));
    for (uint32_t i = 0; i < value_count; i++) nl_sqlite_bind_text(statement, (int)i + 1, values[i]);
    return read_rows(statement, arena, result);
}

static bool sqlite_is_broken(nl_jdbc_connection *self)
{
    (void)self; /* a file does not hang up */
    return false;
}

static void sqlite_close(nl_jdbc_connection *self)
{
    nl_sqlite_close(self->database);
    free(self);
}

const nl_jdbc_driver nl_jdbc_sqlite = {
    .connect = sqlite_connect,
    .run = sqlite_run,
    .is_broken = sqlite_is_broken,
    .close = sqlite_close,
    .columns_sql = "SELECT name FROM pragma_table_info(?)",
};
