/* base/sqlite.c - see sqlite.h. */
#include "base/sqlite.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/library.h"

static struct {
    __typeof__(sqlite3_open_v2) *open_v2;
    __typeof__(sqlite3_close_v2) *close_v2;
    __typeof__(sqlite3_exec) *exec;
    __typeof__(sqlite3_prepare_v3) *prepare_v3;
    __typeof__(sqlite3_finalize) *finalize;
    __typeof__(sqlite3_reset) *reset;
    __typeof__(sqlite3_clear_bindings) *clear_bindings;
    __typeof__(sqlite3_bind_text) *bind_text;
    __typeof__(sqlite3_bind_int64) *bind_int64;
    __typeof__(sqlite3_bind_blob) *bind_blob;
    __typeof__(sqlite3_bind_null) *bind_null;
    __typeof__(sqlite3_step) *step;
    __typeof__(sqlite3_changes) *changes;
    __typeof__(sqlite3_column_count) *column_count;
    __typeof__(sqlite3_column_text) *column_text;
    __typeof__(sqlite3_column_name) *column_name;
    __typeof__(sqlite3_column_decltype) *column_decltype;
    __typeof__(sqlite3_column_bytes) *column_bytes;
    __typeof__(sqlite3_column_int64) *column_int64;
    __typeof__(sqlite3_column_type) *column_type;
    __typeof__(sqlite3_column_blob) *column_blob;
    __typeof__(sqlite3_errmsg) *errmsg;
    __typeof__(sqlite3_errstr) *errstr;
    __typeof__(sqlite3_extended_errcode) *extended_errcode;
    __typeof__(sqlite3_busy_timeout) *busy_timeout;
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static nl_error *load_error; /* kept: each later call gets a copy of its words */

struct nl_sqlite_statement {
    nl_sqlite *database;
    const char *sql;
    sqlite3_stmt *handle;
};

struct nl_sqlite {
    sqlite3 *handle;
    char *path; /* owned */
    nl_sqlite_statement **statements; /* owned; looked up by the address of their text */
    uint32_t statement_count, statement_capacity;
};

static void load(void)
{
    const nl_library_symbol symbols[] = {
        {"sqlite3_open_v2", &lib.open_v2},
        {"sqlite3_close_v2", &lib.close_v2},
        {"sqlite3_exec", &lib.exec},
        {"sqlite3_prepare_v3", &lib.prepare_v3},
        {"sqlite3_finalize", &lib.finalize},
        {"sqlite3_reset", &lib.reset},
        {"sqlite3_clear_bindings", &lib.clear_bindings},
        {"sqlite3_bind_text", &lib.bind_text},
        {"sqlite3_bind_int64", &lib.bind_int64},
        {"sqlite3_bind_blob", &lib.bind_blob},
        {"sqlite3_bind_null", &lib.bind_null},
        {"sqlite3_step", &lib.step},
        {"sqlite3_changes", &lib.changes},
        {"sqlite3_column_count", &lib.column_count},
        {"sqlite3_column_text", &lib.column_text},
        {"sqlite3_column_name", &lib.column_name},
        {"sqlite3_column_decltype", &lib.column_decltype},
        {"sqlite3_column_bytes", &lib.column_bytes},
        {"sqlite3_column_int64", &lib.column_int64},
        {"sqlite3_column_type", &lib.column_type},
        {"sqlite3_column_blob", &lib.column_blob},
        {"sqlite3_errmsg", &lib.errmsg},
        {"sqlite3_errstr", &lib.errstr},
        {"sqlite3_extended_errcode", &lib.extended_errcode},
        {"sqlite3_busy_timeout", &lib.busy_timeout},
    };
    load_error = nl_library_open("libsqlite3.so.0", "libsqlite3-0", symbols, NL_COUNT(symbols));
}

static nl_status raise_error(nl_sqlite *database, const char *doing)
{
    const int code = database->handle ? lib.extended_errcode(database->handle) : SQLITE_NOMEM;
    const char *message = database->handle ? lib.errmsg(database->handle) : "out of memory";
    if (code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_ROWID)
        return NL_RAISE(NILAS_ALREADY_EXISTS, NL_P("path", message));
    char problem[512];
    snprintf(problem, sizeof(problem), "%s (%s)", message, lib.errstr(code));
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", doing), NL_P("path", database->path), NL_P("problem", problem));
    const int primary = code & 0xff;
    if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED || primary == SQLITE_FULL) nl_error_set_kind(status, NL_KIND_RETRY);
    return status;
}

static nl_status configure(nl_sqlite *database, const nl_sqlite_options *options)
{
    lib.busy_timeout(database->handle, options->busy_timeout_ms ? options->busy_timeout_ms : 5000);
    if (options->is_wal && !options->is_read_only) NL_TRY(nl_sqlite_run(database, "PRAGMA journal_mode=WAL"));
    NL_TRY(nl_sqlite_run(database, options->is_durable ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    return nl_sqlite_run(database, "PRAGMA foreign_keys=ON");
}

nl_status nl_sqlite_open(const char *path, const nl_sqlite_options *options, nl_sqlite **database)
{
    pthread_once(&once, load);
    if (load_error) return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "%s", nl_error_message(load_error));
    nl_sqlite *made = calloc(1, sizeof(*made));
    char *kept = strdup(path);
    if (!made || !kept) {
        free(made);
        free(kept);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->path = kept;
    const int flags = (options->is_read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE) | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    nl_status status = lib.open_v2(path, &made->handle, flags, NULL) == SQLITE_OK ? configure(made, options) : raise_error(made, "Opening");
    if (status) {
        nl_sqlite_close(made);
        return status;
    }
    *database = made;
    return NULL;
}

void nl_sqlite_close(nl_sqlite *database)
{
    if (!database) return;
    for (uint32_t i = 0; i < database->statement_count; i++) {
        lib.finalize(database->statements[i]->handle);
        free(database->statements[i]);
    }
    free(database->statements);
    if (database->handle) lib.close_v2(database->handle);
    free(database->path);
    free(database);
}

nl_status nl_sqlite_run(nl_sqlite *database, const char *sql)
{
    return lib.exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK ? NULL : raise_error(database, sql);
}

static nl_status keep(nl_sqlite *database, const char *sql, nl_sqlite_statement **statement)
{
    if (database->statement_count == database->statement_capacity) {
        const uint32_t capacity = database->statement_capacity ? 2 * database->statement_capacity : 16;
        nl_sqlite_statement **grown = realloc(database->statements, capacity * sizeof(*grown));
        if (!grown) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", capacity * sizeof(*grown)), NL_P("receivedBytes", "0"));
        database->statements = grown;
        database->statement_capacity = capacity;
    }
    nl_sqlite_statement *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    if (lib.prepare_v3(database->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, &made->handle, NULL) != SQLITE_OK) {
        free(made);
        return raise_error(database, sql);
    }
    made->database = database;
    made->sql = sql;
    database->statements[database->statement_count++] = made;
    *statement = made;
    return NULL;
}

nl_status nl_sqlite_prepare(nl_sqlite *database, const char *sql, nl_sqlite_statement **statement)
{
    for (uint32_t i = 0; i < database->statement_count; i++) {
        if (database->statements[i]->sql != sql) continue;
        *statement = database->statements[i];
        lib.reset((*statement)->handle);
        lib.clear_bindings((*statement)->handle);
        return NULL;
    }
    return keep(database, sql, statement);
}

nl_status nl_sqlite_prepare_text(nl_sqlite *database, nl_str sql, nl_sqlite_statement **statement)
{
    nl_sqlite_statement *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    if (sql.length > INT32_MAX || lib.prepare_v3(database->handle, sql.data, (int)sql.length, 0, &made->handle, NULL) != SQLITE_OK) {
        free(made);
        return raise_error(database, "a statement");
    }
    made->database = database;
    made->sql = "a statement";
    *statement = made;
    return NULL;
}

void nl_sqlite_statement_free(nl_sqlite_statement *statement)
{
    if (!statement) return;
    lib.finalize(statement->handle);
    free(statement);
}

void nl_sqlite_bind_text(nl_sqlite_statement *statement, int position, nl_str text)
{
    if (!text.data) nl_sqlite_bind_null(statement, position);
    else lib.bind_text(statement->handle, position, text.data, (int)text.length, SQLITE_STATIC);
}

void nl_sqlite_bind_int(nl_sqlite_statement *statement, int position, int64_t value)
{
    lib.bind_int64(statement->handle, position, value);
}

void nl_sqlite_bind_bytes(nl_sqlite_statement *statement, int position, nl_bytes bytes)
{
    lib.bind_blob(statement->handle, position, bytes.data ? (const void *)bytes.data : "", (int)bytes.length, SQLITE_STATIC);
}

void nl_sqlite_bind_null(nl_sqlite_statement *statement, int position)
{
    lib.bind_null(statement->handle, position);
}

nl_status nl_sqlite_step(nl_sqlite_statement *statement, bool *has_row)
{
    const int code = lib.step(statement->handle);
    *has_row = code == SQLITE_ROW;
    if (*has_row) return NULL;
    nl_status status = code == SQLITE_DONE ? NULL : raise_error(statement->database, statement->sql);
    lib.reset(statement->handle);
    return status;
}

nl_status nl_sqlite_finish(nl_sqlite_statement *statement, int64_t *change_count)
{
    for (bool has_row = true; has_row;) NL_TRY(nl_sqlite_step(statement, &has_row));
    if (change_count) *change_count = nl_sqlite_change_count(statement);
    return NULL;
}

uint32_t nl_sqlite_column_count(nl_sqlite_statement *statement)
{
    return (uint32_t)lib.column_count(statement->handle);
}

int64_t nl_sqlite_change_count(nl_sqlite_statement *statement)
{
    return lib.changes(statement->database->handle);
}

void nl_sqlite_reset(nl_sqlite_statement *statement)
{
    lib.reset(statement->handle);
}

nl_str nl_sqlite_text(nl_sqlite_statement *statement, int column, nl_arena *arena)
{
    const unsigned char *text = lib.column_text(statement->handle, column);
    if (!text) return (nl_str){0};
    return nl_arena_str(arena, (nl_str){(const char *)text, (size_t)lib.column_bytes(statement->handle, column)});
}

static nl_str own_text(const char *text, nl_arena *arena)
{
    return text ? nl_arena_str(arena, nl_str_from(text)) : (nl_str){0};
}

nl_str nl_sqlite_column_name(nl_sqlite_statement *statement, int column, nl_arena *arena)
{
    return own_text(lib.column_name(statement->handle, column), arena);
}

nl_str nl_sqlite_column_declaration(nl_sqlite_statement *statement, int column, nl_arena *arena)
{
    return own_text(lib.column_decltype(statement->handle, column), arena);
}

int64_t nl_sqlite_int(nl_sqlite_statement *statement, int column)
{
    return lib.column_int64(statement->handle, column);
}

bool nl_sqlite_is_null(nl_sqlite_statement *statement, int column)
{
    return lib.column_type(statement->handle, column) == SQLITE_NULL;
}

nl_bytes nl_sqlite_bytes(nl_sqlite_statement *statement, int column)
{
    const uint8_t *bytes = lib.column_blob(statement->handle, column);
    return (nl_bytes){bytes, (size_t)lib.column_bytes(statement->handle, column)};
}

bool nl_sqlite_is_full(nl_error *error)
{
    if (!error || nl_error_condition(error) != NL_COND_NILAS_IO_ERROR || !lib.errstr) return false;
    const char *problem = nl_error_param(error, "problem");
    return problem && nl_str_starts(nl_str_from(problem), nl_str_from(lib.errstr(SQLITE_FULL)));
}

bool nl_sqlite_is_duplicate(nl_error *error)
{
    return error && nl_error_condition(error) == NL_COND_NILAS_ALREADY_EXISTS;
}
