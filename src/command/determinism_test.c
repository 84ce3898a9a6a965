/* command/determinism_test.c - what real Spark 4.0.1 with Iceberg refuses and takes in DELETE, UPDATE and MERGE. */
#include "command/determinism.h"

#include <stdlib.h>

#include "base/test_support.h"

static nl_session *session;
static char folder[] = "/tmp/nilas-determinism-XXXXXX";

static nl_status run(const char *sql)
{
    nl_result *result = NULL;
    bool is_done = false;
    NL_TRY(nl_command_run(session, nl_str_from(sql), &result));
    nl_status status = NULL;
    while (!status && !is_done) {
        nl_batch batch = {0};
        status = nl_result_next(result, &batch, &is_done);
        nl_batch_fini(&batch);
    }
    nl_result_close(result);
    return status;
}

static int open_session(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    const nl_property confs[] = {{NL_STR("spark.sql.catalog.c"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
                                 {NL_STR("spark.sql.catalog.c.type"), NL_STR("hadoop")},
                                 {NL_STR("spark.sql.catalog.c.warehouse"), nl_str_from(folder)}};
    assert_ok(nl_session_new(confs, NL_COUNT(confs), &session));
    assert_ok(run("CREATE NAMESPACE c.db"));
    assert_ok(run("CREATE TABLE c.db.t USING iceberg AS SELECT id, id % 3 AS k FROM range(10)"));
    return 0;
}

static int close_session(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_local();
    nl_session_free(session);
    assert_ok(nl_fs_remove_tree(fs, nl_str_from(folder)));
    nl_fs_release(fs);
    return 0;
}

static void test_conditions_that_change_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        nl_condition condition;
    } rows[] = {
        {"DELETE FROM c.db.t WHERE rand() < 0.5", NL_COND_INVALID_NON_DETERMINISTIC_EXPRESSIONS},
        {"DELETE FROM c.db.t WHERE id IN (SELECT CAST(rand() * 10 AS BIGINT) FROM range(3))", NL_COND_INVALID_NON_DETERMINISTIC_EXPRESSIONS},
        {"DELETE FROM c.db.t WHERE uuid() = 'x'", NL_COND_INVALID_NON_DETERMINISTIC_EXPRESSIONS},
        {"UPDATE c.db.t SET k = 1 WHERE rand() < 0.5", NL_COND_INVALID_NON_DETERMINISTIC_EXPRESSIONS},
        {"MERGE INTO c.db.t USING (SELECT 1 AS id) s ON t.id = s.id AND rand() < 0.5 WHEN MATCHED THEN DELETE", NL_COND_UNSUPPORTED_MERGE_CONDITION__NON_DETERMINISTIC},
        {"MERGE INTO c.db.t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED AND rand() < 0.5 THEN DELETE", NL_COND_UNSUPPORTED_MERGE_CONDITION__NON_DETERMINISTIC},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_status status = run(rows[i].sql);
        if (!status || nl_error_condition(status) != rows[i].condition) fail_msg("%s: %s", rows[i].sql, status ? nl_error_message(status) : "taken");
        nl_error_free(status);
    }
}

static void test_what_is_the_same_each_time_is_taken(void **state)
{
    (void)state;
    assert_ok(run("DELETE FROM c.db.t WHERE id < 0 AND current_timestamp() > TIMESTAMP '2020-01-01'"));
    assert_ok(run("UPDATE c.db.t SET k = 1 WHERE id IN (SELECT id FROM c.db.t TABLESAMPLE (10 PERCENT) REPEATABLE (1) WHERE id < 0)"));
    assert_ok(run("MERGE INTO c.db.t USING (SELECT 100 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED AND length('x') = 2 THEN INSERT (id, k) VALUES (1, 1)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_that_change_are_refused),
        cmocka_unit_test(test_what_is_the_same_each_time_is_taken),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
