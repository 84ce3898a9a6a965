/* catalog/jdbc/database_test.c - the pool of connections and its transactions, on SQLite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#include "base/sqlite.h"
#include "base/test_support.h"
#include "catalog/jdbc/database.h"

static nl_jdbc_database *opened(const char *path, nl_arena *arena)
{
    const nl_property hurry = {NL_STR("jdbc.busy_timeout"), NL_STR("1")};
    nl_jdbc_database *database = NULL;
    assert_ok(nl_jdbc_open(nl_arena_f(arena, "jdbc:sqlite:%s", path), &hurry, 1, 1, &database));
    return database;
}

static nl_status run(nl_jdbc_database *database, const char *sql, nl_arena *arena, nl_jdbc_result *result)
{
    return nl_jdbc_run(database, sql, NULL, 0, arena, result);
}

/* SQLite stays in its transaction when COMMIT finds a reader: what came after it would be acknowledged and lost. */
static void a_commit_that_fails_is_rolled_back(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    char path[] = "/tmp/nilas-jdbc-XXXXXX";
    close(mkstemp(path));
    nl_jdbc_database *database = opened(path, arena);
    nl_jdbc_result result;
    assert_ok(run(database, "CREATE TABLE t (a TEXT)", arena, &result));
    assert_ok(run(database, "INSERT INTO t VALUES ('there')", arena, &result));
    nl_sqlite *reader = NULL;
    nl_sqlite_statement *statement;
    bool has_row = false;
    assert_ok(nl_sqlite_open(path, &(nl_sqlite_options){0}, &reader));
    assert_ok(nl_sqlite_prepare(reader, "SELECT a FROM t", &statement));
    assert_ok(nl_sqlite_step(statement, &has_row)); /* its read lock is held until the reset */
    const nl_jdbc_statement statements[] = {{.sql = "INSERT INTO t VALUES ('refused')"}};
    assert_fails(nl_jdbc_run_all(database, statements, 1), NILAS_IO_ERROR, NULL);
    nl_sqlite_reset(statement);
    nl_sqlite_close(reader);
    assert_ok(run(database, "INSERT INTO t VALUES ('acknowledged')", arena, &result));
    nl_jdbc_close(database);
    database = opened(path, arena);
    assert_ok(run(database, "SELECT a FROM t ORDER BY a", arena, &result));
    assert_int_equal(result.row_count, 2);
    assert_true(nl_str_is(result.values[0], "acknowledged"));
    assert_true(nl_str_is(result.values[1], "there"));
    nl_jdbc_close(database);
    unlink(path);
    nl_arena_free(arena);
}

static void another_database_is_refused_without_its_password(void **state)
{
    (void)state;
    nl_jdbc_database *database = NULL;
    assert_fails(nl_jdbc_open(NL_STR("jdbc:mysql://u:hidden@h/d"), NULL, 0, 1, &database), NILAS_UNSUPPORTED, "no database driver for jdbc:mysql.");
}

/* What the Java driver would keep and nilas cannot is refused; what neither knows is told, and changes nothing. */
static void keys_are_kept_refused_or_told(void **state)
{
    (void)state;
    static const struct {
        const char *uri, *key, *value;
        nl_condition condition; /* NL_CONDITION_COUNT: opened */
    } rows[] = {
        {"jdbc:postgresql://h/d", "jdbc.user", "me", NL_CONDITION_COUNT},
        {"jdbc:postgresql://h/d", "jdbc.prepareThreshold", "0", NL_CONDITION_COUNT},
        {"jdbc:postgresql://h/d", "jdbc.schema-version", "V1", NL_CONDITION_COUNT},
        {"jdbc:postgresql://h/d", "jdbc.nobody-knows", "x", NL_CONDITION_COUNT},
        {"jdbc:postgresql://h/d", "jdbc.socketFactory", "a.B", NL_COND_NILAS_UNSUPPORTED},
        {"jdbc:postgresql://h/d", "jdbc.sslfactory", "org.postgresql.ssl.NonValidatingFactory", NL_COND_NILAS_UNSUPPORTED},
        {"jdbc:postgresql://h/d?readOnly=true", "", "", NL_COND_NILAS_UNSUPPORTED},
        {"jdbc:postgresql://h/d?user=me&socketTimeout=5", "", "", NL_CONDITION_COUNT},
        {"jdbc:postgresql://h/d?user=%zz", "", "", NL_COND_NILAS_ILLEGAL_ARGUMENT},
        {"jdbc:sqlite:/tmp/x.db", "jdbc.user", "me", NL_CONDITION_COUNT},
        {"jdbc:sqlite:/tmp/x.db", "jdbc.busy_timeout", "soon", NL_COND_NILAS_ILLEGAL_ARGUMENT},
        {"jdbc:sqlite:file:/tmp/x.db?mode=ro", "", "", NL_COND_NILAS_UNSUPPORTED},
        {"jdbc:sqlite:/tmp/x.db", "jdbc.cipher", "sqlcipher", NL_COND_NILAS_UNSUPPORTED},
        {"jdbc:sqlite::resource:x.db", "", "", NL_COND_NILAS_UNSUPPORTED},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_property property = {nl_str_from(rows[i].key), nl_str_from(rows[i].value)};
        nl_jdbc_database *database = NULL;
        nl_status status = nl_jdbc_open(nl_str_from(rows[i].uri), &property, 1, 2, &database);
        const nl_condition condition = status ? nl_error_condition(status) : NL_CONDITION_COUNT;
        if (condition != rows[i].condition) fail_msg("row %zu: %s", i, status ? nl_error_message(status) : "opened");
        nl_error_free(status);
        nl_jdbc_close(database);
    }
}

typedef struct writer {
    nl_jdbc_database *database;
    nl_status status;
} writer;

static void *insert_many(void *argument)
{
    writer *self = argument;
    nl_arena *arena = nl_arena_new(NULL);
    nl_jdbc_result result;
    for (int i = 0; i < 100 && !self->status; i++) self->status = run(self->database, "INSERT INTO t VALUES ('x')", arena, &result);
    nl_arena_free(arena);
    return NULL;
}

/* Each connection to a database in memory has one of its own: two clients would see two catalogs. */
static void a_database_in_memory_is_one_for_all_clients(void **state)
{
    (void)state;
    static const char *const uris[] = {"jdbc:sqlite::memory:", "jdbc:sqlite:", "jdbc:sqlite:file::memory:?icebergDB", "jdbc:sqlite:file:name?mode=memory&cache=shared"};
    for (size_t i = 0; i < NL_COUNT(uris); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_jdbc_database *database = NULL;
        nl_jdbc_result result;
        pthread_t threads[4];
        assert_ok(nl_jdbc_open(nl_str_from(uris[i]), NULL, 0, 4, &database));
        assert_ok(run(database, "CREATE TABLE t (a TEXT)", arena, &result));
        writer writers[4] = {{database, NULL}, {database, NULL}, {database, NULL}, {database, NULL}};
        for (int k = 0; k < 4; k++) pthread_create(&threads[k], NULL, insert_many, &writers[k]);
        for (int k = 0; k < 4; k++) pthread_join(threads[k], NULL);
        for (int k = 0; k < 4; k++) assert_ok(writers[k].status);
        assert_ok(run(database, "SELECT count(*) FROM t", arena, &result));
        assert_text(result.values[0], "400");
        nl_jdbc_close(database);
        nl_arena_free(arena);
    }
    assert_int_not_equal(access("name", F_OK), 0); /* not a file of that name */
}

/* Nobody listens: the error says where, and comes at once. */
static void a_database_that_is_away_is_named(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_jdbc_database *database = NULL;
    nl_jdbc_result result;
    assert_ok(nl_jdbc_open(NL_STR("jdbc:postgresql://127.0.0.1:1/d"), NULL, 0, 1, &database));
    nl_status status = run(database, "SELECT 1", arena, &result);
    assert_non_null(status);
    if (nl_error_condition(status) != NL_COND_NILAS_UNSUPPORTED) { /* libpq is there */
        assert_non_null(strstr(nl_error_message(status), "the PostgreSQL database at 127.0.0.1:1"));
        assert_non_null(strstr(nl_error_message(status), "jdbc.user"));
    }
    nl_error_free(status);
    nl_jdbc_close(database);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_fails_is_rolled_back),
        cmocka_unit_test(keys_are_kept_refused_or_told),
        cmocka_unit_test(a_database_in_memory_is_one_for_all_clients),
        cmocka_unit_test(a_database_that_is_away_is_named),
        cmocka_unit_test(another_database_is_refused_without_its_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
