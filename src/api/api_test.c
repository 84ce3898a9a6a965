#include "base/test_support.h"
#include "nilas/arrow.h"
#include "nilas/nilas.h"

static nilas_session *session;

static int open_session(void **state)
{
    (void)state;
    static const char *const keys[] = {"spark.sql.session.timeZone", "spark.sql.shuffle.partitions"}, *const values[] = {"UTC", "3"};
    return nilas_session_open(keys, values, 2, &session) != NULL;
}

static int close_session(void **state)
{
    (void)state;
    nilas_session_close(session);
    return 0;
}

static void run(const char *sql, struct ArrowArrayStream *stream)
{
    nilas_error *error = nilas_session_run(session, sql, strlen(sql), stream);
    if (error) fail_msg("%s: %s", sql, nilas_error_message(error));
}

static void test_rows_come_as_an_arrow_stream(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    int64_t row_count = 0, sum = 0;
    run("SELECT id, cast(NULL AS string) AS nothing FROM range(10000)", &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_string_equal(schema.format, "+s");
    assert_int_equal(schema.n_children, 2);
    assert_string_equal(schema.children[0]->name, "id");
    assert_string_equal(schema.children[0]->format, "l");
    schema.release(&schema);
    while (stream.get_next(&stream, &rows) == 0 && rows.release) {
        const int64_t *ids = rows.children[0]->buffers[1];
        for (int64_t i = 0; i < rows.length; i++)
            sum += ids[rows.children[0]->offset + i];
        assert_int_equal(rows.children[1]->null_count, rows.length);
        row_count += rows.length;
        rows.release(&rows);
    }
    assert_int_equal(row_count, 10000);
    assert_int_equal(sum, 49995000);
    stream.release(&stream);
    assert_null(stream.release);
}

static void test_errors_carry_condition_state_and_message(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    nilas_error *error = nilas_session_run(session, "SELECT nope", 11, &stream);
    assert_non_null(error);
    assert_string_equal(nilas_error_condition(error), "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION");
    assert_string_equal(nilas_error_sqlstate(error), "42703");
    assert_non_null(strstr(nilas_error_message(error), "`nope`"));
    nilas_error_free(error);
    nilas_error_free(NULL);
    static const char *const keys[] = {"spark.sql.ansi.enabled"}, *const values[] = {"maybe"};
    nilas_session *none = NULL;
    error = nilas_session_open(keys, values, 1, &none);
    assert_non_null(error);
    assert_null(none);
    nilas_error_free(error);
}

static void test_a_failure_while_rows_are_read_is_told_by_the_stream(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowArray rows;
    nilas_error *error = nilas_session_run(session, "SELECT 1 / (id - 5) FROM range(10)", 34, &stream);
    if (error) { /* it may be found before the first row is asked for */
        assert_string_equal(nilas_error_condition(error), "DIVIDE_BY_ZERO");
        nilas_error_free(error);
        return;
    }
    int failed = 0;
    while (!(failed = stream.get_next(&stream, &rows)) && rows.release)
        rows.release(&rows);
    assert_int_not_equal(failed, 0);
    assert_non_null(strstr(stream.get_last_error(&stream), "DIVIDE_BY_ZERO"));
    stream.release(&stream);
}

static void test_statements_without_output_give_no_columns(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray rows;
    run("CREATE TEMPORARY VIEW v AS SELECT 1", &stream);
    assert_int_equal(stream.get_schema(&stream, &schema), 0);
    assert_int_equal(schema.n_children, 0);
    schema.release(&schema);
    assert_int_equal(stream.get_next(&stream, &rows), 0);
    assert_null(rows.release);
    stream.release(&stream);
}

static void test_a_stream_may_be_released_before_its_end(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowArray rows;
    run("SELECT id FROM range(1000000000000)", &stream);
    assert_int_equal(stream.get_next(&stream, &rows), 0);
    stream.release(&stream);
    assert_true(rows.length > 0); /* what was taken outlives the stream */
    assert_int_equal(((const int64_t *)rows.children[0]->buffers[1])[rows.children[0]->offset], 0);
    rows.release(&rows);
}

static void test_confs_reach_the_session(void **state)
{
    (void)state;
    struct ArrowArrayStream stream;
    struct ArrowArray rows;
    run("SET spark.sql.shuffle.partitions", &stream);
    assert_int_equal(stream.get_next(&stream, &rows), 0);
    const int32_t *offsets = rows.children[1]->buffers[1];
    assert_int_equal(offsets[rows.children[1]->offset + 1] - offsets[rows.children[1]->offset], 1);
    assert_int_equal(((const char *)rows.children[1]->buffers[2])[offsets[rows.children[1]->offset]], '3');
    rows.release(&rows);
    stream.release(&stream);
    assert_string_equal(nilas_version(), NILAS_VERSION);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_come_as_an_arrow_stream),
        cmocka_unit_test(test_errors_carry_condition_state_and_message),
        cmocka_unit_test(test_a_failure_while_rows_are_read_is_told_by_the_stream),
        cmocka_unit_test(test_statements_without_output_give_no_columns),
        cmocka_unit_test(test_a_stream_may_be_released_before_its_end),
        cmocka_unit_test(test_confs_reach_the_session),
    };
    return cmocka_run_group_tests(tests, open_session, close_session);
}
