/* catalog/jdbc/database.h - what the JDBC catalog asks of a database, whichever it is.
 *
 * A database is a few connections (`clients`, two by default), opened when first needed; any thread takes a free one. SQL
 * is one literal per statement with '?' for values, which are texts.
 */
#pragma once

#include "base/arena.h"

typedef struct nl_jdbc_connection nl_jdbc_connection;
typedef struct nl_jdbc_result { /* in the arena given */
    nl_str *values;             /* row by row; data NULL: NULL */
    uint32_t column_count, row_count;
    int64_t change_count;       /* rows written */
} nl_jdbc_result;

typedef struct nl_jdbc_driver {
    /* Keys of the URI's query and properties: those that cannot be kept are refused, unknown ones are told as the Java driver
     * ignores them. */
    nl_status (*check)(nl_str uri, const nl_property *properties, uint32_t property_count, nl_arena *arena);
    nl_status (*connect)(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_connection **connection);
    /* A duplicate key is NILAS_ALREADY_EXISTS. A connection that broke: kind UNKNOWN_STATE, for libpq does not say
     * whether the statement had reached the server. */
    nl_status (*run)(nl_jdbc_connection *self, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result);
    bool (*is_broken)(nl_jdbc_connection *self);
    bool (*was_rolled_back)(nl_jdbc_connection *self); /* the last run met another transaction: surely not done, worth another try */
    bool (*is_private)(nl_str uri);                    /* each connection has a database of its own; NULL: never */
    void (*close)(nl_jdbc_connection *self);
    /* For nl_jdbc_session: any text, without values. */
    nl_status (*run_text)(nl_jdbc_connection *self, nl_str sql, nl_arena *arena, nl_jdbc_result *result);
    nl_status (*describe)(nl_jdbc_connection *self, nl_str query, nl_arena *arena, nl_jdbc_result *columns); /* a row a column: name, type */
    nl_status (*query)(nl_jdbc_connection *self, nl_str sql);
    nl_status (*next_rows)(nl_jdbc_connection *self, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result);
    /* Columns of a table, by one statement with the name as value: none when the table is absent. */
    const char *columns_sql;
} nl_jdbc_driver;
extern const nl_jdbc_driver nl_jdbc_postgres, nl_jdbc_sqlite;

typedef struct nl_jdbc_database nl_jdbc_database; /* owned; threads: any */
/* By the uri's "jdbc:postgresql:" or "jdbc:sqlite:"; others: NILAS_UNSUPPORTED naming these. Connects to nothing yet.
 * properties: those of the catalog; jdbc.K goes to the driver as K. */
NL_MUST_USE nl_status nl_jdbc_open(nl_str uri, const nl_property *properties, uint32_t property_count, uint32_t client_count, nl_jdbc_database **database);
void nl_jdbc_close(nl_jdbc_database *database);
/* One statement by itself. Reading (SELECT) is repeated on a new connection when the old one was broken; whatever the database
 * has rolled back for another transaction's sake (serialization failure, deadlock) is tried again. */
NL_MUST_USE nl_status nl_jdbc_run(nl_jdbc_database *database, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result);
typedef struct nl_jdbc_statement {
    const char *sql;
    const nl_str *values;
    uint32_t value_count;
} nl_jdbc_statement;
/* Several in one transaction: all or none; tried again as above. */
NL_MUST_USE nl_status nl_jdbc_run_all(nl_jdbc_database *database, const nl_jdbc_statement *statements, uint32_t statement_count);
/* A connection by itself, for tables that are no catalog's (spark.read.jdbc): statements are any text and have no values. Threads:
 * one at a time. Nothing is tried again. */
typedef struct nl_jdbc_session nl_jdbc_session; /* owned */
NL_MUST_USE nl_status nl_jdbc_session_open(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_session **session);
void nl_jdbc_session_close(nl_jdbc_session *session); /* NULL is fine; an open transaction is rolled back */
/* A statement whose answer is small. */
NL_MUST_USE nl_status nl_jdbc_session_run(nl_jdbc_session *session, nl_str sql, nl_arena *arena, nl_jdbc_result *result);
/* The columns of a query: a row for each, its name and its type as the database tells it (data NULL: it does not). Nothing is run. */
NL_MUST_USE nl_status nl_jdbc_session_describe(nl_jdbc_session *session, nl_str query, nl_arena *arena, nl_jdbc_result *columns);
/* A query whose rows come piece by piece: at most row_max at a time; none: they are over. One query a session. */
NL_MUST_USE nl_status nl_jdbc_session_query(nl_jdbc_session *session, nl_str sql);
NL_MUST_USE nl_status nl_jdbc_session_next(nl_jdbc_session *session, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result);

const char *nl_jdbc_columns_sql(const nl_jdbc_database *database);
