/* catalog/rest/answer_test.c - answers as Java's server writes them, broken ones, and which condition a failure becomes. */
#include "base/test_support.h"

#include "catalog/rest/answer.h"

static const json_t *json_of(nl_arena *arena, const char *text)
{
    const json_t *json;
    assert_ok(nl_json_parse(arena, nl_str_from(text), NL_STR("test"), &json));
    return json;
}

static void test_a_configuration_is_read(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_remote_config config;
    assert_ok(nl_remote_config_read(arena, json_of(arena, "{\"defaults\":{\"a\":\"1\"},\"overrides\":{\"prefix\":\"arn%3Aaws\"},\"endpoints\":[\"GET /v1/{prefix}/namespaces\"],"
                                                          "\"idempotency-key-lifetime\":\"PT30M\",\"more\":[1]}"), &config));
    assert_int_equal(config.default_count, 1);
    assert_text(config.overrides[0].value, "arn%3Aaws");
    assert_text(config.endpoints[0], "GET /v1/{prefix}/namespaces");
    assert_true(config.has_idempotency_keys);
    assert_ok(nl_remote_config_read(arena, json_of(arena, "{\"defaults\":null,\"overrides\":{}}"), &config));
    assert_int_equal(config.endpoint_count + config.default_count, 0);
    assert_false(config.has_idempotency_keys);
    assert_fails(nl_remote_config_read(arena, json_of(arena, "{\"endpoints\":[7]}"), &config), NILAS_CORRUPT_FILE, "endpoints");
    assert_fails(nl_remote_config_read(arena, json_of(arena, "{\"defaults\":{\"a\":1}}"), &config), NILAS_CORRUPT_FILE, NULL);
    assert_fails(nl_remote_config_read(arena, json_of(arena, "[]"), &config), NILAS_CORRUPT_FILE, NULL);
    assert_fails(nl_remote_config_read(arena, NULL, &config), NILAS_CORRUPT_FILE, NULL);
    nl_arena_free(arena);
}

static void test_pages_are_read_to_their_end(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_list items = {0};
    nl_str next;
    assert_ok(nl_remote_page_read(arena, json_of(arena, "{\"identifiers\":[{\"namespace\":[\"a\",\"b\"],\"name\":\"t\"}],\"next-page-token\":\"2\"}"), false, &items, &next));
    assert_text(next, "2");
    assert_ok(nl_remote_page_read(arena, json_of(arena, "{\"identifiers\":[{\"namespace\":[],\"name\":\"u\"}],\"next-page-token\":null}"), false, &items, &next));
    assert_int_equal(next.length, 0);
    assert_int_equal(items.count, 2);
    const nl_identifier *first = items.items[0];
    assert_int_equal(first->namespace_count, 2);
    assert_text(first->name, "t");
    assert_ok(nl_remote_page_read(arena, json_of(arena, "{\"namespaces\":[[\"a\"],[\"b\",\"c\"]]}"), true, &items, &next));
    assert_int_equal(items.count, 4);
    assert_fails(nl_remote_page_read(arena, json_of(arena, "{\"namespaces\":[\"a\"]}"), true, &items, &next), NILAS_CORRUPT_FILE, NULL);
    assert_fails(nl_remote_page_read(arena, json_of(arena, "{\"identifiers\":[{\"name\":\"t\"}]}"), false, &items, &next), NILAS_CORRUPT_FILE, NULL);
    nl_arena_free(arena);
}

static void test_tokens_are_fit_for_a_header(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_remote_token token;
    assert_ok(nl_remote_token_read(arena, json_of(arena, "{\"access_token\":\"abc\",\"token_type\":\"bearer\",\"expires_in\":60}"), &token));
    assert_text(token.access_token, "abc");
    assert_int_equal(token.expires_in_seconds, 60);
    assert_fails(nl_remote_token_read(arena, json_of(arena, "{\"access_token\":\"a\\r\\nX: y\"}"), &token), NILAS_CORRUPT_FILE, "header");
    assert_fails(nl_remote_token_read(arena, json_of(arena, "{\"token_type\":\"bearer\"}"), &token), NILAS_CORRUPT_FILE, NULL);
    assert_int_equal(nl_jwt_expiry(NL_STR("eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3MzI5NzA0MDB9.x")), 1732970400);
    assert_int_equal(nl_jwt_expiry(NL_STR("plain")), NL_NONE);
    assert_int_equal(nl_jwt_expiry(NL_STR("a.!!.b")), NL_NONE);
    nl_arena_free(arena);
}

static void test_failures_become_conditions_by_code_and_type(void **state)
{
    (void)state;
    static const struct {
        int32_t status;
        nl_remote_subject_kind kind;
        const char *type;
        nl_condition condition;
        const char *message;
    } rows[] = {
        {400, NL_REMOTE_TABLE, "IllegalArgumentException", NL_COND_NILAS_ILLEGAL_ARGUMENT, "words"},
        {400, NL_REMOTE_TABLE, "BadRequestException", NL_COND_NILAS_ILLEGAL_ARGUMENT, "Malformed request: words"},
        {400, NL_REMOTE_NAMESPACE, "NamespaceNotEmptyException", NL_COND_NILAS_NAMESPACE_NOT_EMPTY, "words"},
        {401, NL_REMOTE_TABLE, "NotAuthorizedException", NL_COND_NILAS_NOT_AUTHORIZED, "spark.sql.catalog.c.credential"},
        {403, NL_REMOTE_TABLE, "ForbiddenException", NL_COND_NILAS_FORBIDDEN, "Forbidden: words"},
        {404, NL_REMOTE_TABLE, "NoSuchTableException", NL_COND_TABLE_OR_VIEW_NOT_FOUND, "`c`.`n`.`t`"},
        {404, NL_REMOTE_COMMIT, "NoSuchTableException", NL_COND_TABLE_OR_VIEW_NOT_FOUND, "`c`.`n`.`t`"},
        {404, NL_REMOTE_NAMESPACE, "NoSuchNamespaceException", NL_COND_SCHEMA_NOT_FOUND, "`c`.`n`.`t`"},
        {404, NL_REMOTE_NEW_TABLE, "NoSuchNamespaceException", NL_COND_NILAS_NO_SUCH_NAMESPACE, "words"},
        {404, NL_REMOTE_SERVICE, "", NL_COND_NILAS_ILLEGAL_ARGUMENT, "Check uri and warehouse"},
        {409, NL_REMOTE_NEW_TABLE, "AlreadyExistsException", NL_COND_TABLE_OR_VIEW_ALREADY_EXISTS, "`c`.`n`.`t`"},
        {409, NL_REMOTE_NAMESPACE, "AlreadyExistsException", NL_COND_SCHEMA_ALREADY_EXISTS, NULL},
        {409, NL_REMOTE_NAMESPACE, "NamespaceNotEmptyException", NL_COND_NILAS_NAMESPACE_NOT_EMPTY, "words"},
        {409, NL_REMOTE_COMMIT, "CommitFailedException", NL_COND_NILAS_COMMIT_FAILED, "Commit failed: words"},
        {406, NL_REMOTE_TABLE, "UnsupportedOperationException", NL_COND_NILAS_UNSUPPORTED, "words"},
        {429, NL_REMOTE_TABLE, "", NL_COND_NILAS_SERVICE_UNAVAILABLE, "Too many"},
        {429, NL_REMOTE_COMMIT, "", NL_COND_NILAS_COMMIT_FAILED, NULL},
        {500, NL_REMOTE_TABLE, "RuntimeException", NL_COND_NILAS_SERVICE_UNAVAILABLE, "Server error: RuntimeException: words"},
        {500, NL_REMOTE_COMMIT, "RuntimeException", NL_COND_NILAS_COMMIT_STATE_UNKNOWN, "HTTP 500"},
        {502, NL_REMOTE_COMMIT, "", NL_COND_NILAS_COMMIT_STATE_UNKNOWN, NULL},
        {503, NL_REMOTE_COMMIT, "", NL_COND_NILAS_COMMIT_STATE_UNKNOWN, NULL},
        {504, NL_REMOTE_COMMIT, "", NL_COND_NILAS_COMMIT_STATE_UNKNOWN, NULL},
        {503, NL_REMOTE_NAMESPACE, "", NL_COND_NILAS_SERVICE_UNAVAILABLE, "Service unavailable"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_remote_answer answer = {.status = rows[i].status, .body = nl_arena_f(arena, "{\"error\":{\"message\":\"words\",\"type\":\"%s\",\"code\":%d}}", rows[i].type, rows[i].status)};
        const nl_remote_subject subject = {.kind = rows[i].kind, .catalog = NL_STR("c"), .quoted = NL_STR("`c`.`n`.`t`"), .authentication = "oauth2"};
        assert_fails_at(nl_remote_failure(&answer, &subject), rows[i].condition, rows[i].message, __FILE__, (int)i);
    }
    nl_arena_free(arena);
}

static void test_any_body_makes_a_message(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        const char *message;
    } rows[] = {{"<html>\x01 502 Bad Gateway</html>", "<html>  502 Bad Gateway</html>"}, {"", ""}, {"{\"error\":\"invalid_client\",\"error_description\":\"no such\"}", "no such"},
                {"{\"error\":\"invalid_client\"}", "invalid_client"}, {"{\"message\":\"of AWS\"}", "of AWS"}, {"{\"error\":{}}", "{\"error\":{}}"}, {"[1", "[1"}};
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        nl_remote_error error;
        nl_remote_error_read(arena, nl_str_from(rows[i].body), &error);
        assert_text(error.message, rows[i].message);
    }
    nl_arena_free(arena);
}

static void test_a_table_with_credentials_is_read(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_remote_table table;
    const nl_bytes metadata = read_fixture(arena, "iceberg/v2/v1.metadata.json");
    const nl_str text = nl_arena_f(arena, "{\"metadata-location\":\"s3://b/m.json\",\"metadata\":%.*s,\"config\":{\"token\":\"x\"},\"storage-credentials\":[{\"prefix\":\"s3://b/\","
                                          "\"config\":{\"s3.access-key-id\":\"k\"}}]}", (int)metadata.length, (const char *)metadata.data);
    assert_ok(nl_remote_table_read(arena, json_of(arena, nl_str_c(arena, text)), NULL, &table));
    assert_text(table.metadata->metadata_file, "s3://b/m.json");
    assert_int_equal(table.credential_count, 1);
    assert_text(table.credentials[0].prefix, "s3://b/");
    assert_text(table.config[0].key, "token");
    nl_table_metadata_release(table.metadata);
    assert_fails(nl_remote_table_read(arena, json_of(arena, "{\"metadata-location\":\"x\"}"), NULL, &table), NILAS_CORRUPT_FILE, "metadata");
    assert_fails(nl_remote_table_read(arena, json_of(arena, "{\"storage-credentials\":[{}],\"metadata\":{}}"), NULL, &table), NILAS_CORRUPT_FILE, "prefix");
    nl_arena_free(arena);
}

static void test_signatures_are_read_with_care(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_str uri;
    const nl_property *headers;
    uint32_t count;
    assert_ok(nl_remote_signature_read(arena, json_of(arena, "{\"uri\":\"http://h/b\",\"headers\":{\"Authorization\":[\"AWS4 x\"],\"x-amz-date\":[\"d\"]}}"), &uri, &headers, &count));
    assert_text(uri, "http://h/b");
    assert_int_equal(count, 2);
    assert_fails(nl_remote_signature_read(arena, json_of(arena, "{\"uri\":\"u\",\"headers\":{\"a\":[\"b\\r\\nc: d\"]}}"), &uri, &headers, &count), NILAS_CORRUPT_FILE, NULL);
    assert_fails(nl_remote_signature_read(arena, json_of(arena, "{\"uri\":\"u\"}"), &uri, &headers, &count), NILAS_CORRUPT_FILE, NULL);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_configuration_is_read),
        cmocka_unit_test(test_pages_are_read_to_their_end),
        cmocka_unit_test(test_tokens_are_fit_for_a_header),
        cmocka_unit_test(test_failures_become_conditions_by_code_and_type),
        cmocka_unit_test(test_any_body_makes_a_message),
        cmocka_unit_test(test_a_table_with_credentials_is_read),
        cmocka_unit_test(test_signatures_are_read_with_care),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
