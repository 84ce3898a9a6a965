/* base/sqlite.h - SQLite with errors as statuses, prepared statements kept, and nothing linked: opened when first needed.
 *
 * A database handle belongs to one thread at a time. Values are bound and read by position, from 1 (bind) and 0 (read).
 */
#pragma once

#include "base/arena.h"

typedef struct nl_sqlite nl_sqlite;                     /* owned: one connection */
typedef struct nl_sqlite_statement nl_sqlite_statement; /* borrowed from the connection, which keeps it prepared */

typedef struct nl_sqlite_options {
    bool is_read_only;
    bool is_wal;           /* journal_mode=WAL: readers beside one writer      */
    bool is_durable;       /* synchronous=FULL; else NORMAL                    */
    int32_t busy_timeout_ms; /* waits for another process's lock; 0: 5 s       */
} nl_sqlite_options;
/* path: a file, or ":memory:". Makes the file unless is_read_only. Fails: NILAS_IO_ERROR naming it, NILAS_UNSUPPORTED. */
NL_MUST_USE nl_status nl_sqlite_open(const char *path, const nl_sqlite_options *options, nl_sqlite **database);
void nl_sqlite_close(nl_sqlite *database); /* NULL is fine; an open transaction is rolled back */

/* One or several statements without values. */
NL_MUST_USE nl_status nl_sqlite_run(nl_sqlite *database, const char *sql);
/* The statement, reset and without values. sql is a literal: its address is the key under which it is kept. */
NL_MUST_USE nl_status nl_sqlite_prepare(nl_sqlite *database, const char *sql, nl_sqlite_statement **statement);
/* The same of any text; owned, not kept. */
NL_MUST_USE nl_status nl_sqlite_prepare_text(nl_sqlite *database, nl_str sql, nl_sqlite_statement **statement);
void nl_sqlite_statement_free(nl_sqlite_statement *statement); /* of nl_sqlite_prepare_text; NULL is fine; before its database is closed */
void nl_sqlite_bind_text(nl_sqlite_statement *statement, int position, nl_str text); /* data NULL: NULL; borrowed until the next prepare */
void nl_sqlite_bind_int(nl_sqlite_statement *statement, int position, int64_t value);
void nl_sqlite_bind_bytes(nl_sqlite_statement *statement, int position, nl_bytes bytes);
void nl_sqlite_bind_null(nl_sqlite_statement *statement, int position);
/* *has_row: a row is there to be read; false: the end, and the statement is reset. */
NL_MUST_USE nl_status nl_sqlite_step(nl_sqlite_statement *statement, bool *has_row);
/* To the end, rows thrown away; *change_count: rows written (or NULL). */
NL_MUST_USE nl_status nl_sqlite_finish(nl_sqlite_statement *statement, int64_t *change_count);
uint32_t nl_sqlite_column_count(nl_sqlite_statement *statement);
nl_str nl_sqlite_column_name(nl_sqlite_statement *statement, int column, nl_arena *arena);
nl_str nl_sqlite_column_declaration(nl_sqlite_statement *statement, int column, nl_arena *arena); /* its type as declared; data NULL: it is an expression */
int64_t nl_sqlite_change_count(nl_sqlite_statement *statement); /* rows written by the statement that finished last */
void nl_sqlite_reset(nl_sqlite_statement *statement); /* before the end was reached: lets locks go */
nl_str nl_sqlite_text(nl_sqlite_statement *statement, int column, nl_arena *arena);       /* data NULL: NULL */
int64_t nl_sqlite_int(nl_sqlite_statement *statement, int column);
bool nl_sqlite_is_null(nl_sqlite_statement *statement, int column);
nl_bytes nl_sqlite_bytes(nl_sqlite_statement *statement, int column); /* borrowed until the next step */
/* A step failed because a unique key was there already (NILAS_ALREADY_EXISTS). */
bool nl_sqlite_is_duplicate(nl_error *error);
bool nl_sqlite_is_full(nl_error *error); /* the disk is: nothing of the statement or commit is in force */
