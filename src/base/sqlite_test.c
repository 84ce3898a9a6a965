/* base/sqlite_test.c - the thin layer over SQLite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/memory.h"
#include "base/sqlite.h"
#include "base/test_support.h"

static nl_sqlite *opened(const char *path)
{
    nl_sqlite *database = NULL;
    assert_ok(nl_sqlite_open(path, &(nl_sqlite_options){.is_durable = true}, &database));
    return database;
}

static void values_come_back_as_they_went_in(void **state)
{
    (void)state;
    nl_sqlite *database = opened(":memory:");
    assert_ok(nl_sqlite_run(database, "CREATE TABLE t (a TEXT, b INTEGER, c BLOB, d TEXT)"));
    nl_sqlite_statement *statement;
    assert_ok(nl_sqlite_prepare(database, "INSERT INTO t VALUES (?, ?, ?, ?)", &statement));
    const nl_str text = {"a\0b", 3};
    nl_sqlite_bind_text(statement, 1, text);
    nl_sqlite_bind_int(statement, 2, INT64_MIN);
    nl_sqlite_bind_bytes(statement, 3, (nl_bytes){NULL, 0});
    nl_sqlite_bind_null(statement, 4);
    int64_t change_count = 0;
    assert_ok(nl_sqlite_finish(statement, &change_count));
    assert_int_equal(change_count, 1);
    nl_arena *arena = nl_arena_new(NULL);
    bool has_row = false;
    assert_ok(nl_sqlite_prepare(database, "SELECT a, b, c, d FROM t", &statement));
    assert_ok(nl_sqlite_step(statement, &has_row));
    assert_true(has_row);
    assert_true(nl_str_equal(nl_sqlite_text(statement, 0, arena), text));
    assert_true(nl_sqlite_int(statement, 1) == INT64_MIN);
    assert_false(nl_sqlite_is_null(statement, 2));
    assert_int_equal(nl_sqlite_bytes(statement, 2).length, 0);
    assert_true(nl_sqlite_is_null(statement, 3));
    assert_null(nl_sqlite_text(statement, 3, arena).data);
    assert_ok(nl_sqlite_step(statement, &has_row));
    assert_false(has_row);
    nl_arena_free(arena);
    nl_sqlite_close(database);
}

static void a_duplicate_key_is_told_from_other_failures(void **state)
{
    (void)state;
    nl_sqlite *database = opened(":memory:");
    assert_ok(nl_sqlite_run(database, "CREATE TABLE t (a TEXT PRIMARY KEY)"));
    static const char insert[] = "INSERT INTO t VALUES ('x')";
    nl_sqlite_statement *statement;
    assert_ok(nl_sqlite_prepare(database, insert, &statement));
    assert_ok(nl_sqlite_finish(statement, NULL));
    assert_ok(nl_sqlite_prepare(database, insert, &statement));
    nl_error *error = nl_sqlite_finish(statement, NULL);
    assert_true(nl_sqlite_is_duplicate(error));
    nl_error_free(error);
    error = nl_sqlite_run(database, "INSERT INTO nowhere VALUES (1)");
    assert_false(nl_sqlite_is_duplicate(error));
    assert_non_null(strstr(nl_error_message(error), "no such table: nowhere"));
    nl_error_free(error);
    nl_sqlite_close(database);
}

static void a_file_that_is_no_database_is_named(void **state)
{
    (void)state;
    nl_sqlite *database = NULL;
    nl_error *error = nl_sqlite_open("/no/such/folder/x.db", &(nl_sqlite_options){0}, &database);
    assert_int_equal(nl_error_condition(error), NL_COND_NILAS_IO_ERROR);
    assert_non_null(strstr(nl_error_message(error), "/no/such/folder/x.db"));
    nl_error_free(error);
    error = nl_sqlite_open("README.md", &(nl_sqlite_options){.is_wal = true}, &database);
    assert_non_null(strstr(nl_error_message(error), "README.md"));
    nl_error_free(error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back_as_they_went_in),
        cmocka_unit_test(a_duplicate_key_is_told_from_other_failures),
        cmocka_unit_test(a_file_that_is_no_database_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
