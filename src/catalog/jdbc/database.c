/* catalog/jdbc/database.c - the pool of connections, and which driver a URI means. */
#include "catalog/jdbc/database.h"

#include <stdlib.h>
#include <time.h>

#include "base/lock.h"
#include "base/uuid.h"

#define ROLLED_BACK_TRIES 10
#define ROLLED_BACK_MS    5 /* doubled each time, with as much jitter */

struct nl_jdbc_database {
    const nl_jdbc_driver *driver;
    nl_arena *arena; /* owned: uri, properties */
    nl_str uri;
    nl_property *properties;
    uint32_t property_count;
    nl_mutex mutex;
    pthread_cond_t is_free;
    nl_jdbc_connection **idle; /* connections nobody uses */
    uint32_t idle_count;
    uint32_t open_count;       /* idle ones and those in use */
    uint32_t client_count;
};

static const nl_jdbc_driver *driver_of(nl_str uri)
{
    if (nl_str_starts(uri, NL_STR("jdbc:postgresql:"))) return &nl_jdbc_postgres;
    if (nl_str_starts(uri, NL_STR("jdbc:sqlite:"))) return &nl_jdbc_sqlite;
    return NULL;
}

/* jdbc.K for the driver as K, but for those that are the catalog's. */
static void copy_properties(nl_jdbc_database *made, const nl_property *properties, uint32_t property_count)
{
    static const nl_str prefix = NL_STR_INIT("jdbc.");
    static const char *const own[] = {"jdbc.schema-version", "jdbc.init-catalog-tables", "jdbc.strict-mode"};
    made->properties = NL_NEW_ARRAY(made->arena, nl_property, property_count + 1);
    for (uint32_t i = 0; i < property_count; i++) {
        bool is_own = !nl_str_starts(properties[i].key, prefix);
        for (size_t k = 0; k < NL_COUNT(own); k++) is_own = is_own || nl_str_is(properties[i].key, own[k]);
        if (is_own) continue;
        made->properties[made->property_count++] =
            (nl_property){nl_arena_str(made->arena, nl_str_slice(properties[i].key, prefix.length, properties[i].key.length)), nl_arena_str(made->arena, properties[i].value)};
    }
}

nl_status nl_jdbc_open(nl_str uri, const nl_property *properties, uint32_t property_count, uint32_t client_count, nl_jdbc_database **database)
{
    const nl_jdbc_driver *driver = driver_of(uri);
    if (!driver) {
        /* The part after the second colon may hold a password: it is not shown. */
        const size_t second = nl_str_starts(uri, NL_STR("jdbc:")) ? nl_str_find_char(uri, ':', 5) : NL_NOT_FOUND;
        const nl_str shown = second == NL_NOT_FOUND ? NL_STR("this URI") : nl_str_slice(uri, 0, second);
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas has no database driver for " NL_STR_FMT ". It has jdbc:postgresql: and jdbc:sqlite:.", NL_STR_ARG(shown));
    }
    if (driver->is_private && driver->is_private(uri)) client_count = 1;
    nl_jdbc_database *made = calloc(1, sizeof(*made));
    nl_jdbc_connection **idle = calloc(client_count, sizeof(*idle));
    if (!made || !idle) {
        free(made);
        free(idle);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    }
    made->driver = driver;
    made->idle = idle;
    made->client_count = client_count;
    made->arena = nl_arena_new(NULL);
    made->uri = nl_arena_str(made->arena, uri);
    copy_properties(made, properties, property_count);
    nl_status status = driver->check(made->uri, made->properties, made->property_count, made->arena);
    if (status) {
        nl_arena_free(made->arena);
        free(idle);
        free(made);
        return status;
    }
    nl_mutex_init(&made->mutex);
    pthread_cond_init(&made->is_free, NULL);
    *database = made;
    return NULL;
}

void nl_jdbc_close(nl_jdbc_database *database)
{
    if (!database) return;
    for (uint32_t i = 0; i < database->idle_count; i++) database->driver->close(database->idle[i]);
    free(database->idle);
    pthread_cond_destroy(&database->is_free);
    nl_mutex_fini(&database->mutex);
    nl_arena_free(database->arena);
    free(database);
}

static void give_back(nl_jdbc_database *database, nl_jdbc_connection *connection)
{
    if (connection && database->driver->is_broken(connection)) {
        database->driver->close(connection);
        connection = NULL;
    }
    nl_mutex_lock(&database->mutex);
    if (connection) database->idle[database->idle_count++] = connection;
    else database->open_count--;
    pthread_cond_signal(&database->is_free);
    nl_mutex_unlock(&database->mutex);
}

static nl_status take(nl_jdbc_database *database, nl_jdbc_connection **connection)
{
    *connection = NULL;
    nl_mutex_lock(&database->mutex);
    while (database->idle_count == 0 && database->open_count == database->client_count) pthread_cond_wait(&database->is_free, &database->mutex);
    if (database->idle_count) *connection = database->idle[--database->idle_count];
    else database->open_count++;
    nl_mutex_unlock(&database->mutex);
    if (*connection) return NULL;
    nl_status status = database->driver->connect(database->uri, database->properties, database->property_count, connection);
    if (status) {
        *connection = NULL;
        give_back(database, NULL);
    }
    return status;
}

static bool is_reading(const char *sql)
{
    return nl_str_starts(nl_str_from(sql), NL_STR("SELECT"));
}

static void pause_before(uint32_t attempt)
{
    uint8_t noise = 0;
    nl_random_bytes(&noise, sizeof(noise));
    const int64_t least_us = (int64_t)ROLLED_BACK_MS * 1000 << attempt, wait_us = least_us + least_us * noise / 256;
    nanosleep(&(struct timespec){.tv_sec = wait_us / 1000000, .tv_nsec = wait_us % 1000000 * 1000}, NULL);
}

nl_status nl_jdbc_run(nl_jdbc_database *database, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    for (uint32_t attempt = 0, lost_count = 0;; attempt++) {
        nl_jdbc_connection *connection;
        NL_TRY(take(database, &connection));
        nl_status status = database->driver->run(connection, sql, values, value_count, arena, result);
        const bool is_lost = status && database->driver->is_broken(connection);
        const bool is_rolled_back = status && !is_lost && database->driver->was_rolled_back(connection) && attempt < ROLLED_BACK_TRIES;
        give_back(database, connection);
        if (is_rolled_back) pause_before(attempt);
        else if (!is_lost || lost_count++ >= database->client_count || !is_reading(sql)) return status;
        nl_error_free(status); /* lost: a connection that lay idle for long; the others may be dead too */
    }
}

static nl_status run_transaction(nl_jdbc_database *database, const nl_jdbc_statement *statements, uint32_t statement_count, nl_arena *arena, bool *is_rolled_back)
{
    nl_jdbc_connection *connection;
    nl_jdbc_result result;
    *is_rolled_back = false;
    NL_TRY(take(database, &connection));
    nl_status status = database->driver->run(connection, "BEGIN", NULL, 0, arena, &result);
    for (uint32_t i = 0; !status && i < statement_count; i++)
        status = database->driver->run(connection, statements[i].sql, statements[i].values, statements[i].value_count, arena, &result);
    if (!status) status = database->driver->run(connection, "COMMIT", NULL, 0, arena, &result);
    if (status && !database->driver->is_broken(connection)) {
        *is_rolled_back = database->driver->was_rolled_back(connection);
        /* Also after a COMMIT that failed: SQLite stays in its transaction then. */
        nl_error_free(database->driver->run(connection, "ROLLBACK", NULL, 0, arena, &result));
    }
    give_back(database, connection);
    return status;
}

nl_status nl_jdbc_run_all(nl_jdbc_database *database, const nl_jdbc_statement *statements, uint32_t statement_count)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NULL;
    bool is_rolled_back = true;
    for (uint32_t attempt = 0; is_rolled_back && attempt <= ROLLED_BACK_TRIES; attempt++) {
        if (attempt) pause_before(attempt);
        nl_error_free(status);
        status = run_transaction(database, statements, statement_count, arena, &is_rolled_back);
    }
    nl_arena_free(arena);
    return status;
}

const char *nl_jdbc_columns_sql(const nl_jdbc_database *database)
{
    return database->driver->columns_sql;
}

/* ---- sessions ---- */

struct nl_jdbc_session {
    nl_jdbc_database *database; /* owned: the driver, uri and properties */
    nl_jdbc_connection *connection;
};

nl_status nl_jdbc_session_open(nl_str uri, const nl_property *properties, uint32_t property_count, nl_jdbc_session **session)
{
    nl_jdbc_session *made = calloc(1, sizeof(*made));
    if (!made) return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", sizeof(*made)), NL_P("receivedBytes", "0"));
    nl_status status = nl_jdbc_open(uri, properties, property_count, 1, &made->database);
    if (!status) status = take(made->database, &made->connection);
    if (status)
        nl_jdbc_session_close(made);
    else
        *session = made;
    return status;
}

void nl_jdbc_session_close(nl_jdbc_session *session)
{
    if (!session) return;
    if (session->connection) session->database->driver->close(session->connection);
    nl_jdbc_close(session->database);
    free(session);
}

nl_status nl_jdbc_session_run(nl_jdbc_session *session, nl_str sql, nl_arena *arena, nl_jdbc_result *result)
{
    return session->database->driver->run_text(session->connection, sql, arena, result);
}

nl_status nl_jdbc_session_describe(nl_jdbc_session *session, nl_str query, nl_arena *arena, nl_jdbc_result *columns)
{
    return session->database->driver->describe(session->connection, query, arena, columns);
}

nl_status nl_jdbc_session_query(nl_jdbc_session *session, nl_str sql)
{
    return session->database->driver->query(session->connection, sql);
}

nl_status nl_jdbc_session_next(nl_jdbc_session *session, uint32_t row_max, nl_arena *arena, nl_jdbc_result *result)
{
    return session->database->driver->next_rows(session->connection, row_max, arena, result);
}
