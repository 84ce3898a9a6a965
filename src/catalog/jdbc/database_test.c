/* catalog/jdbc/database_test.c - the pool of connections and its transactions, on SQLite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_commit_that_fails_is_rolled_back),
        cmocka_unit_test(another_database_is_refused_without_its_password),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
