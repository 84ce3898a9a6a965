/* catalog/jdbc/database.c - the pool of connections, and which driver a URI means. */
#include "catalog/jdbc/database.h"

#include <stdlib.h>

#include "base/lock.h"

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

nl_status nl_jdbc_open(nl_str uri, const nl_property *properties, uint32_t property_count, uint32_t client_count, nl_jdbc_database **database)
{
    const nl_jdbc_driver *driver = driver_of(uri);
    if (!driver) {
        /* The part after the second colon may hold a password: it is not shown. */
        const size_t second = nl_str_starts(uri, NL_STR("jdbc:")) ? nl_str_find_char(uri, ':', 5) : NL_NOT_FOUND;
        const nl_str shown = second == NL_NOT_FOUND ? NL_STR("this URI") : nl_str_slice(uri, 0, second);
        return NL_RAISE_TEXT(NILAS_UNSUPPORTED, "nilas has no database driver for " NL_STR_FMT ". It has jdbc:postgresql: and jdbc:sqlite:.", NL_STR_ARG(shown));
    }
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
    made->properties = NL_NEW_ARRAY(made->arena, nl_property, property_count + 1);
    for (uint32_t i = 0; i < property_count; i++) {
        static const nl_str prefix = NL_STR_INIT("jdbc.");
        if (!nl_str_starts(properties[i].key, prefix)) continue;
        made->properties[made->property_count++] =
            (nl_property){nl_arena_str(made->arena, nl_str_slice(properties[i].key, prefix.length, properties[i].key.length)), nl_arena_str(made->arena, properties[i].value)};
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

nl_status nl_jdbc_run(nl_jdbc_database *database, const char *sql, const nl_str *values, uint32_t value_count, nl_arena *arena, nl_jdbc_result *result)
{
    for (uint32_t attempt = 0;; attempt++) {
        nl_jdbc_connection *connection;
        NL_TRY(take(database, &connection));
        nl_status status = database->driver->run(connection, sql, values, value_count, arena, result);
        const bool is_lost = status && database->driver->is_broken(connection);
        give_back(database, connection);
        if (!is_lost || attempt >= database->client_count || !is_reading(sql)) return status;
        nl_error_free(status); /* a connection that lay idle for long: the others may be dead too */
    }
}

nl_status nl_jdbc_run_all(nl_jdbc_database *database, const nl_jdbc_statement *statements, uint32_t statement_count)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_jdbc_connection *connection;
    nl_jdbc_result result;
    nl_status status = take(database, &connection);
    if (!status) {
        status = database->driver->run(connection, "BEGIN", NULL, 0, arena, &result);
        for (uint32_t i = 0; !status && i < statement_count; i++)
            status = database->driver->run(connection, statements[i].sql, statements[i].values, statements[i].value_count, arena, &result);
        if (!status) status = database->driver->run(connection, "COMMIT", NULL, 0, arena, &result);
        /* Also after a COMMIT that failed: SQLite stays in its transaction then. */
        if (status && !database->driver->is_broken(connection)) nl_error_free(database->driver->run(connection, "ROLLBACK", NULL, 0, arena, &result));
        give_back(database, connection);
    }
    nl_arena_free(arena);
    return status;
}

const char *nl_jdbc_columns_sql(const nl_jdbc_database *database)
{
    return database->driver->columns_sql;
}
