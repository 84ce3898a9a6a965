/* Errors as clients get them: the right Java classes, short enough for metadata, whole on request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/test_support.h"
#include "connect/errors.h"
#include "connect/proto/status.pb-c.h"

static Spark__Connect__RpcErrorInfo *read_info(nl_bytes packed)
{
    Spark__Connect__RpcStatus *status = spark__connect__rpc_status__unpack(NULL, packed.length, packed.data);
    assert_non_null(status);
    assert_int_equal(status->n_details, 1);
    assert_string_equal(status->details[0]->type_url, "type.googleapis.com/google.rpc.ErrorInfo");
    Spark__Connect__RpcErrorInfo *info = spark__connect__rpc_error_info__unpack(NULL, status->details[0]->value.len, status->details[0]->value.data);
    spark__connect__rpc_status__free_unpacked(status, NULL);
    assert_non_null(info);
    return info;
}

static const char *find(const Spark__Connect__RpcErrorInfo *info, const char *key)
{
    for (size_t i = 0; i < info->n_metadata; i++)
        if (strcmp(info->metadata[i]->key, key) == 0) return info->metadata[i]->value;
    return NULL;
}

static nl_error *cast_error(const char *type)
{
    return NL_RAISE(CAST_INVALID_INPUT, NL_P("expression", "'x'"), NL_P("sourceType", "\"STRING\""), NL_P("targetType", type));
}

static void test_conditions_have_the_classes_of_spark(void **state)
{
    (void)state;
    const struct {
        nl_error *error;
        const char *class_name;
        const char *condition; /* NULL: a plain exception of Java */
    } rows[] = {
        {NL_RAISE(DIVIDE_BY_ZERO, NL_P("config", "c")), "org.apache.spark.SparkArithmeticException", "DIVIDE_BY_ZERO"},
        {cast_error("\"INT\""), "org.apache.spark.SparkNumberFormatException", "CAST_INVALID_INPUT"},
        {cast_error("\"DATE\""), "org.apache.spark.SparkDateTimeException", "CAST_INVALID_INPUT"},
        {cast_error("\"BOOLEAN\""), "org.apache.spark.SparkRuntimeException", "CAST_INVALID_INPUT"},
        {NL_RAISE(TABLE_OR_VIEW_NOT_FOUND, NL_P("relationName", "`t`")), "org.apache.spark.sql.AnalysisException", "TABLE_OR_VIEW_NOT_FOUND"},
        {NL_RAISE(PARSE_SYNTAX_ERROR, NL_P("error", "'x'"), NL_P("hint", "")), "org.apache.spark.sql.catalyst.parser.ParseException", "PARSE_SYNTAX_ERROR"},
        {NL_RAISE(OPERATION_CANCELED), "org.apache.spark.SparkSQLException", "OPERATION_CANCELED"},
        {NL_RAISE(INVALID_HANDLE__SESSION_CLOSED, NL_P("handle", "h")), "org.apache.spark.SparkSQLException", "INVALID_HANDLE.SESSION_CLOSED"},
        {NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "no"), "java.lang.IllegalArgumentException", NULL},
        {NL_RAISE_TEXT(NILAS_UNSUPPORTED, "no"), "java.lang.UnsupportedOperationException", NULL},
        {NL_RAISE_TEXT(NILAS_INVALID_PLAN_INPUT, "no"), "org.apache.spark.sql.connect.common.InvalidPlanInput", NULL},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_failure failure;
        nl_failure_init(&failure, rows[i].error, NULL);
        assert_int_equal(failure.status.code, NL_RPC_INTERNAL);
        Spark__Connect__RpcErrorInfo *info = read_info(failure.status.details);
        assert_string_equal(info->reason, rows[i].class_name);
        assert_string_equal(info->domain, "org.apache.spark");
        if (rows[i].condition)
            assert_string_equal(find(info, "errorClass"), rows[i].condition);
        else
            assert_null(find(info, "errorClass"));
        assert_null(find(info, "errorId")); /* nobody remembers it */
        spark__connect__rpc_error_info__free_unpacked(info, NULL);
        nl_failure_fini(&failure);
    }
}

static void test_long_errors_are_short_on_the_way_and_whole_on_request(void **state)
{
    (void)state;
    enum { LENGTH = 10000 };
    char *text = malloc(LENGTH + 1);
    memset(text, 'x', LENGTH);
    text[LENGTH] = 0;
    nl_error_log *log = nl_error_log_new();
    nl_failure failure;
    nl_failure_init(&failure, NL_RAISE(USER_RAISED_EXCEPTION, NL_P("errorMessage", text)), log);
    assert_true(failure.status.message.length <= NL_RPC_MESSAGE_CHARACTERS_MAX);
    assert_true(failure.status.details.length < 4096);
    Spark__Connect__RpcErrorInfo *info = read_info(failure.status.details);
    assert_null(find(info, "messageParameters"));
    nl_arena *arena = nl_arena_new(NULL);
    const Spark__Connect__FetchErrorDetailsResponse__Error *details = NULL;
    nl_error_log_find(log, nl_str_from(find(info, "errorId")), arena, &details);
    assert_non_null(details);
    assert_true(strlen(details->message) > LENGTH);
    assert_string_equal(details->spark_throwable->message_parameters[0]->value, text);
    details = NULL;
    nl_error_log_find(log, NL_STR("nosuch"), arena, &details);
    assert_null(details);
    nl_arena_free(arena);
    spark__connect__rpc_error_info__free_unpacked(info, NULL);
    nl_failure_fini(&failure);
    nl_error_log_free(log);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_conditions_have_the_classes_of_spark),
        cmocka_unit_test(test_long_errors_are_short_on_the_way_and_whole_on_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
