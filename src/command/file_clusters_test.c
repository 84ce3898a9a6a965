/* command/file_clusters_test.c - rows that a copy-on-write statement keeps stay near those they lay with. */
#include "command/file_clusters.h"

#include <stdlib.h>

#include "base/test_support.h"

static nl_session *session;
static char folder[] = "/tmp/nilas-clusters-XXXXXX";

/* The first cell of the first row, as a number; -1: there is none. */
static int64_t run(const char *sql)
{
    nl_result *result = NULL;
    bool is_done = false;
    int64_t value = -1;
    assert_ok(nl_command_run(session, nl_str_from(sql), &result));
    while (!is_done) {
        nl_batch batch = {0};
        assert_ok(nl_result_next(result, &batch, &is_done));
        if (value < 0 && batch.row_count > 0 && batch.columns[0].type->physical == NL_PHYS_I64) {
            nl_reader reader;
            nl_reader_init(&reader, &batch.columns[0]);
            value = ((const int64_t *)reader.values)[nl_reader_index(&reader, 0)];
        }
        nl_batch_fini(&batch);
    }
    nl_result_close(result);
    return value;
}

static int open_session(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    const nl_property confs[] = {{NL_STR("spark.sql.catalog.c"), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
                                 {NL_STR("spark.sql.catalog.c.type"), NL_STR("hadoop")},
                                 {NL_STR("spark.sql.catalog.c.warehouse"), nl_str_from(folder)}};
    assert_ok(nl_session_new(confs, NL_COUNT(confs), &session));
    (void)run("CREATE NAMESPACE c.db");
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

/* Four files of a hundred ids each, one after the other. */
static void make_table(const char *name, const char *properties)
{
    char sql[512];
    snprintf(sql, sizeof(sql), "CREATE TABLE c.db.%s (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'copy-on-write'%s)", name, properties);
    (void)run(sql);
    for (int i = 0; i < 4; i++) {
        snprintf(sql, sizeof(sql), "INSERT INTO c.db.%s SELECT id FROM range(%d, %d)", name, i * 100, i * 100 + 100);
        (void)run(sql);
    }
}

#define WIDEST "SELECT max(readable_metrics.id.upper_bound - readable_metrics.id.lower_bound) FROM c.db.%s.files"

static int64_t widest_file(const char *name)
{
    char sql[256];
    snprintf(sql, sizeof(sql), WIDEST, name);
    return run(sql);
}

static void test_files_worth_a_task_stay_apart(void **state)
{
    (void)state;
    make_table("apart", ", 'write.spark.advisory-partition-size-bytes' = '1'");
    (void)run("DELETE FROM c.db.apart WHERE id % 10 = 3");
    assert_int_equal(run("SELECT count(*) FROM c.db.apart"), 360);
    assert_true(run("SELECT count(*) FROM c.db.apart.files") >= 4);
    assert_true(widest_file("apart") < 100);
}

static void test_small_files_go_together(void **state)
{
    (void)state;
    make_table("together", "");
    (void)run("DELETE FROM c.db.together WHERE id % 10 = 3");
    assert_int_equal(run("SELECT count(*) FROM c.db.together"), 360);
    assert_true(run("SELECT count(*) FROM c.db.together.files") < 4);
}

static void test_nothing_is_parted_where_the_table_does_not_distribute(void **state)
{
    (void)state;
    make_table("undistributed", ", 'write.spark.advisory-partition-size-bytes' = '1', 'write.delete.distribution-mode' = 'none'");
    (void)run("DELETE FROM c.db.undistributed WHERE id % 10 = 3");
    assert_int_equal(run("SELECT count(*) FROM c.db.undistributed"), 360);
    assert_int_equal(run("SELECT sum(id) FROM c.db.undistributed"), 71880);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_worth_a_task_stay_apart),
        cmocka_unit_test(test_small_files_go_together),
        cmocka_unit_test(test_nothing_is_parted_where_the_table_does_not_distribute),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
