/* catalog/rest/rest_test.c - the client against a server of the test's own: who asks, what is asked, lost answers, ETags. */
#include "storage/test_server.h"

#include "base/calendar.h"
#include "base/json.h"
#include "catalog/catalog_private.h"
#include "catalog/rest/auth.h"
#include "catalog/rest/rest.h"
#include "iceberg/scan_planning.h"
#include "storage/sigv4.h"

/* One table, kept as its metadata's JSON; commits are applied as a real server would. */
typedef struct fake {
    const char *config;         /* answer of /v1/config */
    const nl_table_metadata *metadata;
    uint32_t version;
    const char *fates;          /* of commits, in turn: 'k' good, 'l' applied but the connection breaks, 'd' broken before, '5' 500 before, 'a' 500 after, 'c' 409, 't' 429,
                                   'h' 'e' 'j' applied and answered 200 with a page, with nothing, with other JSON, 'x' with half of it, 'H' a page and not applied,
                                   'L' 500 now, and applied when the next request comes */
    const nl_table_metadata *late; /* of 'L' */
    uint32_t commit_count, get_count, unchanged_count, token_count;
    bool has_etags;
    int refuse;                 /* the next so many requests with a token get 401 */
    char last_authorization[512];
    char last_form[2048];
    char last_report[4096];
    char last_transaction[16384];
    char keys[4][64];           /* Idempotency-Key of transactions */
    uint32_t transaction_count, credential_count;
    int64_t expires_ms;         /* of a table's credentials; 0: it has none */
    char seen[8192];            /* "METHOD target\n" of all */
} fake;

static void answer_json(test_answer *answer, int status, const char *headers, nl_str text)
{
    test_answer_f(answer, status, headers, text.data, text.length);
}

static void answer_table(const fake *self, test_answer *answer)
{
    nl_builder text;
    char headers[128] = "";
    nl_builder_init(&text, 1 << 22);
    nl_append_f(&text, "{\"metadata-location\":\"/w/t/metadata/%05u.metadata.json\",\"metadata\":", self->version);
    nl_table_metadata_append_json(self->metadata, &text);
    if (self->expires_ms)
        nl_append_f(&text, ",\"config\":{},\"storage-credentials\":[{\"prefix\":\"s3://b/\",\"config\":{\"s3.access-key-id\":\"k\",\"s3.secret-access-key\":\"s\","
                           "\"s3.session-token-expires-at-ms\":\"%lld\"}}]}", (long long)self->expires_ms);
    else nl_append_c(&text, ",\"config\":{}}");
    if (self->has_etags) snprintf(headers, sizeof(headers), "ETag: \"v%u\"\r\n", self->version);
    answer_json(answer, 200, headers, nl_builder_str(&text));
    nl_builder_fini(&text);
}

static void answer_load(fake *self, const test_request *request, test_answer *answer)
{
    char tag[64], known[64];
    snprintf(tag, sizeof(tag), "\"v%u\"", self->version);
    self->get_count++;
    if (!self->metadata) {
        test_answer_text(answer, 404, "", "{\"error\":{\"message\":\"no\",\"type\":\"NoSuchTableException\",\"code\":404}}");
    } else if (self->has_etags && test_header(request, "If-None-Match", known, sizeof(known)) && strcmp(known, tag) == 0) {
        self->unchanged_count++;
        test_answer_text(answer, 304, "", "");
    } else {
        answer_table(self, answer);
    }
}

/* NULL: a requirement does not hold. */
static const nl_table_metadata *apply(const fake *self, const test_request *request)
{
    nl_arena *arena = nl_arena_new(NULL);
    const json_t *json;
    const nl_table_metadata *next = NULL, *named = NULL;
    assert_ok(nl_json_parse(arena, (nl_str){request->body, request->body_length}, NL_STR("commit"), &json));
    const json_t *requirements = json_object_get(json, "requirements"), *updates = json_object_get(json, "updates");
    nl_metadata_builder *builder = nl_metadata_builder_new(self->metadata, NULL);
    nl_error *error = NULL;
    for (size_t i = 0; i < json_array_size(requirements) && !error; i++) {
        nl_table_requirement requirement;
        assert_ok(nl_table_requirement_from_json(arena, json_array_get(requirements, i), &requirement));
        error = nl_table_requirement_check(&requirement, self->metadata);
    }
    for (size_t i = 0; i < json_array_size(updates) && !error; i++) {
        nl_table_update update;
        assert_ok(nl_table_update_from_json(arena, json_array_get(updates, i), &update));
        error = nl_metadata_builder_apply(builder, &update);
    }
    if (!error) assert_ok(nl_metadata_builder_finish(builder, NL_NONE, &next));
    nl_metadata_builder_free(builder);
    nl_error_free(error);
    if (next) {
        assert_ok(nl_table_metadata_with_file(next, nl_arena_f(arena, "/w/t/metadata/%05u.metadata.json", self->version + 1), &named));
        nl_table_metadata_release(next);
    }
    nl_arena_free(arena);
    return named;
}

static void answer_commit(fake *self, const test_request *request, test_answer *answer)
{
    const char fate = *self->fates ? *self->fates++ : 'k';
    self->commit_count++;
    if (self->late) {
        nl_table_metadata_release(self->metadata);
        self->metadata = self->late;
        self->late = NULL;
        self->version++;
    }
    if (strchr("d5tHL", fate)) {
        if (fate == 'd') answer->then = TEST_RESET;
        else if (fate == 't') test_answer_text(answer, 429, "", "slowly, please");
        else if (fate == 'H') test_answer_text(answer, 200, "Content-Type: text/html\r\n", "<html>please log in</html>");
        else test_answer_text(answer, 500, "", "{\"error\":{\"message\":\"before\",\"type\":\"E\",\"code\":500}}");
        if (fate == 'L') self->late = apply(self, request);
        return;
    }
    const nl_table_metadata *next = fate == 'c' ? NULL : apply(self, request);
    if (!next) {
        test_answer_text(answer, 409, "", "{\"error\":{\"message\":\"Requirement failed\",\"type\":\"CommitFailedException\",\"code\":409}}");
        return;
    }
    nl_table_metadata_release(self->metadata);
    self->metadata = next;
    self->version++;
    if (fate == 'l') answer->then = TEST_RESET;
    else if (fate == 'h') test_answer_text(answer, 200, "", "<html>done</html>");
    else if (fate == 'e') test_answer_text(answer, 204, "", "");
    else if (fate == 'j') test_answer_text(answer, 200, "", "{\"metadata-location\":\"/w\",\"metadata\":{\"format-version\":2}}");
    else if (fate == 'x') {
        answer_table(self, answer);
        answer->length /= 2;
        answer->then = TEST_CLOSE;
    } else if (fate == 'a') test_answer_text(answer, 500, "", "{\"error\":{\"message\":\"after\",\"type\":\"E\",\"code\":500}}");
    else answer_table(self, answer);
}

static void answer_token(fake *self, const test_request *request, test_answer *answer)
{
    char text[256];
    snprintf(self->last_form, sizeof(self->last_form), "%s", request->body);
    if (strstr(request->body, "wrong-secret")) {
        test_answer_text(answer, 401, "", "{\"error\":\"invalid_client\",\"error_description\":\"wrong-secret is not known\"}");
        return;
    }
    snprintf(text, sizeof(text), "{\"access_token\":\"token-%u\",\"token_type\":\"bearer\",\"expires_in\":1}", ++self->token_count);
    test_answer_text(answer, 200, "", text);
}

static void answer_transaction(fake *self, const test_request *request, test_answer *answer)
{
    snprintf(self->last_transaction, sizeof(self->last_transaction), "%s", request->body);
    test_header(request, "Idempotency-Key", self->keys[self->transaction_count % 4], sizeof(self->keys[0]));
    test_answer_text(answer, self->transaction_count++ ? 204 : 500, "", "");
}

static void answer_credentials(fake *self, test_answer *answer)
{
    self->credential_count++;
    test_answer_text(answer, 200, "", "{\"storage-credentials\":[{\"prefix\":\"s3://b/\",\"config\":{\"s3.access-key-id\":\"k2\",\"s3.secret-access-key\":\"s2\","
                                      "\"s3.session-token-expires-at-ms\":\"4102444800000\"}}]}");
}

#define FILE_JSON(path) "{\"content\":\"data\",\"file-path\":\"" path "\",\"file-format\":\"parquet\",\"spec-id\":0,\"partition\":[\"ab\",\"1.50\"],\"file-size-in-bytes\":100,\"record-count\":7}"
#define DELETE_JSON "{\"content\":\"position-deletes\",\"file-path\":\"/d\",\"file-format\":\"parquet\",\"spec-id\":0,\"partition\":{\"1000\":\"ab\",\"1001\":null},\"file-size-in-bytes\":9,\"record-count\":1}"

/* Submitted, then completed with one file and one task that brings another. */
static void answer_plan(fake *self, const test_request *request, test_answer *answer)
{
    if (strstr(request->target, "/tasks"))
        test_answer_text(answer, 200, "", "{\"file-scan-tasks\":[{\"data-file\":" FILE_JSON("/b") "}]}");
    else if (strstr(request->target, "/plan/p%201"))
        test_answer_text(answer, 200, "", "{\"status\":\"completed\",\"plan-tasks\":[\"more\"],\"delete-files\":[" DELETE_JSON "],\"file-scan-tasks\":[{\"data-file\":" FILE_JSON("/a")
                                          ",\"delete-file-references\":[0]}]}");
    else
        test_answer_text(answer, 200, "", "{\"status\":\"submitted\",\"plan-id\":\"p 1\"}");
    if (request->body_length) snprintf(self->last_form, sizeof(self->last_form), "%s", request->body);
}

static void answer_any(void *argument, const test_request *request, test_answer *answer)
{
    fake *self = argument;
    const size_t used = strlen(self->seen);
    snprintf(self->seen + used, sizeof(self->seen) - used, "%s %s\n", request->method, request->target);
    self->last_authorization[0] = 0;
    test_header(request, "Authorization", self->last_authorization, sizeof(self->last_authorization));
    if (strstr(request->target, "/oauth/tokens")) answer_token(self, request, answer);
    else if (self->refuse > 0 && self->refuse--) test_answer_text(answer, 401, "", "{\"error\":{\"message\":\"expired token-1\",\"type\":\"NotAuthorizedException\",\"code\":401}}");
    else if (strstr(request->target, "/v1/config")) test_answer_text(answer, 200, "", self->config ? self->config : "{\"defaults\":{},\"overrides\":{}}");
    else if (strstr(request->target, "/metrics")) {
        snprintf(self->last_report, sizeof(self->last_report), "%s", request->body);
        test_answer_text(answer, 500, "", "nobody cares");
    } else if (strstr(request->target, "/plan") || strstr(request->target, "/tasks")) {
        answer_plan(self, request, answer);
    } else if (strstr(request->target, "/transactions/commit")) {
        answer_transaction(self, request, answer);
    } else if (strstr(request->target, "/credentials")) {
        answer_credentials(self, answer);
    } else if (strstr(request->target, "/tables/t") && strcmp(request->method, "GET") == 0) answer_load(self, request, answer);
    else if (strstr(request->target, "/tables/t")) answer_commit(self, request, answer);
    else if (strstr(request->target, "/tables?pageToken=&")) test_answer_text(answer, 200, "", "{\"identifiers\":[{\"namespace\":[\"n\"],\"name\":\"a\"}],\"next-page-token\":\"x y\"}");
    else if (strstr(request->target, "/tables?pageToken=x%20y")) test_answer_text(answer, 200, "", "{\"identifiers\":[{\"namespace\":[\"n\"],\"name\":\"b\"}]}");
    else test_answer_text(answer, 200, "", "{\"namespaces\":[[\"n\"]]}");
}

static const nl_commit_environment environment;

static nl_catalog *open_catalog(const test_server *server, const nl_property *more, uint32_t more_count)
{
    nl_property properties[16] = {{NL_STR("uri"), nl_str_from(server->url)}};
    nl_catalog *catalog;
    for (uint32_t i = 0; i < more_count; i++)
        properties[i + 1] = more[i];
    assert_ok(nl_remote_catalog_open(NL_STR("c"), properties, more_count + 1, &environment, NULL, &catalog));
    return catalog;
}

static nl_status list(nl_catalog *catalog)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_name_list names;
    nl_status status = nl_catalog_list_namespaces(catalog, NULL, 0, arena, &names);
    nl_arena_free(arena);
    return status;
}

static void test_tokens_are_fetched_renewed_and_asked_for_anew(void **state)
{
    (void)state;
    fake self = {.fates = ""};
    test_server server;
    test_server_start(&server, answer_any, &self);
    const nl_property properties[] = {{NL_STR("credential"), NL_STR("me:my-secret")}, {NL_STR("scope"), NL_STR("all of it")}};
    nl_catalog *catalog = open_catalog(&server, properties, 2);
    assert_ok(list(catalog));
    assert_string_equal(self.last_form, "grant_type=client_credentials&client_id=me&client_secret=my-secret&scope=all%20of%20it");
    assert_string_equal(self.last_authorization, "Bearer token-1");
    usleep(1100000); /* its life is a second */
    assert_ok(list(catalog));
    assert_non_null(strstr(self.last_form, "token-exchange&subject_token=token-1&"));
    assert_string_equal(self.last_authorization, "Bearer token-2");
    self.refuse = 1;
    assert_ok(list(catalog));
    assert_non_null(strstr(self.last_form, "client_credentials"));
    assert_string_equal(self.last_authorization, "Bearer token-3");
    self.refuse = 100;
    assert_fails(list(catalog), NILAS_NOT_AUTHORIZED, "spark.sql.catalog.c.credential");
    nl_catalog_release(catalog);
    self.refuse = 0;
    const nl_property wrong = {NL_STR("credential"), NL_STR("me:wrong-secret")};
    catalog = open_catalog(&server, &wrong, 1);
    nl_error *error = list(catalog);
    assert_non_null(error);
    assert_int_equal(nl_error_condition(error), NL_COND_NILAS_NOT_AUTHORIZED);
    assert_null(strstr(nl_error_message(error), "wrong-secret"));
    assert_null(strstr(nl_error_notes(error), "wrong-secret"));
    nl_error_free(error);
    nl_catalog_release(catalog);
    test_server_stop(&server);
}

static void test_signed_requests_verify(void **state)
{
    (void)state;
    fake self = {.config = "{\"defaults\":{},\"overrides\":{\"prefix\":\"arn%3Aaws%3As3tables%3Abucket%2Flake\"}}", .fates = ""};
    test_server server;
    test_server_start(&server, answer_any, &self);
    const nl_property properties[] = {{NL_STR("rest.sigv4-enabled"), NL_STR("true")}, {NL_STR("rest.signing-name"), NL_STR("s3tables")},
                                      {NL_STR("rest.signing-region"), NL_STR("us-east-1")}, {NL_STR("rest.access-key-id"), NL_STR("AKID")},
                                      {NL_STR("rest.secret-access-key"), NL_STR("SECRETKEY")}, {NL_STR("warehouse"), NL_STR("arn:aws:s3tables:bucket/lake")}};
    nl_catalog *catalog = open_catalog(&server, properties, NL_COUNT(properties));
    assert_ok(list(catalog));
    assert_non_null(strstr(self.seen, "GET /v1/config?warehouse=arn%3Aaws%3As3tables%3Abucket%2Flake\n"));
    assert_non_null(strstr(self.seen, "GET /v1/arn%3Aaws%3As3tables%3Abucket%2Flake/namespaces?pageToken=\n")); /* pasted as sent */
    assert_non_null(strstr(self.last_authorization, "AWS4-HMAC-SHA256 Credential=AKID/"));
    assert_non_null(strstr(self.last_authorization, "/us-east-1/s3tables/aws4_request"));
    nl_catalog_release(catalog);
    test_server_stop(&server);
}

static void test_pages_are_asked_one_after_the_other(void **state)
{
    (void)state;
    fake self = {.fates = ""};
    test_server server;
    test_server_start(&server, answer_any, &self);
    const nl_property size = {NL_STR("rest-page-size"), NL_STR("1")};
    nl_catalog *catalog = open_catalog(&server, &size, 1);
    nl_arena *arena = nl_arena_new(NULL);
    nl_name_list names;
    const nl_str parts[] = {NL_STR("n"), NL_STR("a b/c")};
    assert_ok(nl_catalog_list_tables(catalog, parts, 2, arena, &names));
    assert_int_equal(names.count, 2);
    assert_text(names.items[1].name, "b");
    assert_non_null(strstr(self.seen, "GET /v1/namespaces/n%1Fa%20b%2Fc/tables?pageToken=&pageSize=1\n"));
    nl_arena_free(arena);
    nl_catalog_release(catalog);
    test_server_stop(&server);
}

/* ---- commits ---- */

static const nl_table_metadata *first_metadata(nl_arena *arena)
{
    const nl_table_metadata *metadata, *named;
    const nl_property fast = {NL_STR("commit.status-check.min-wait-ms"), NL_STR("1")};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&fast, 1}};
    assert_ok(nl_table_metadata_parse(read_fixture(arena, "iceberg/v2/v1.metadata.json"), NL_STR("/w/t/metadata/00000.metadata.json"), NULL, &metadata));
    assert_ok(nl_table_metadata_update(metadata, &update, 1, NULL, &named));
    nl_table_metadata_release(metadata);
    return named;
}

/* An append in the form of its snapshot alone, through the store of a handle. */
static nl_status append(nl_iceberg_table *table, int64_t snapshot_id)
{
    const nl_table_metadata *base = nl_iceberg_table_metadata(table), *updated, *committed = NULL;
    const nl_snapshot snapshot = {.snapshot_id = snapshot_id, .parent_id = base->current_snapshot_id, .sequence_number = base->last_sequence_number + 1, .operation = NL_STR("append"),
                                  .timestamp_ms = base->last_updated_ms + 1, .manifest_list = NL_STR("/l"), .schema_id = 0, .first_row_id = NL_NONE, .added_rows = NL_NONE};
    const nl_snapshot_ref ref = {.name = NL_STR("main"), .snapshot_id = snapshot_id, .min_snapshots_to_keep = NL_NONE, .max_snapshot_age_ms = NL_NONE, .max_ref_age_ms = NL_NONE};
    const nl_table_update updates[] = {{.kind = NL_UPDATE_ADD_SNAPSHOT, .snapshot = &snapshot}, {.kind = NL_UPDATE_SET_SNAPSHOT_REF, .ref = &ref}};
    assert_ok(nl_table_metadata_update(base, updates, 2, NULL, &updated));
    nl_status status = table->store->ops->swap(table->store, base, updated, NULL, &committed);
    nl_table_metadata_release(base);
    nl_table_metadata_release(updated);
    nl_table_metadata_release(committed);
    nl_error *error = nl_iceberg_table_refresh(table);
    if (error) nl_error_free(error);
    return status;
}

static void test_a_commit_whose_answer_is_lost_takes_effect_once(void **state)
{
    (void)state;
    static const struct {
        const char *fates;
        bool is_done;
        nl_condition condition;
        uint32_t sent; /* requests of commits */
    } rows[] = {
        {"k", true, NL_CONDITION_COUNT, 1},   {"l", true, NL_CONDITION_COUNT, 1},  {"d", true, NL_CONDITION_COUNT, 2},  {"5", true, NL_CONDITION_COUNT, 2},
        {"a", true, NL_CONDITION_COUNT, 1},   {"dl", true, NL_CONDITION_COUNT, 2}, {"55a", true, NL_CONDITION_COUNT, 3}, {"c", false, NL_COND_NILAS_COMMIT_FAILED, 1},
        {"5c", false, NL_COND_NILAS_COMMIT_FAILED, 2}, {"5555555555", false, NL_COND_NILAS_COMMIT_STATE_UNKNOWN, 5},
        /* A good answer that cannot be read: the commit may stand. */
        {"h", true, NL_CONDITION_COUNT, 1},   {"e", true, NL_CONDITION_COUNT, 1},  {"j", true, NL_CONDITION_COUNT, 1},  {"x", true, NL_CONDITION_COUNT, 1},
        {"H", true, NL_CONDITION_COUNT, 2},   {"HHHHHHHHHH", false, NL_COND_NILAS_COMMIT_STATE_UNKNOWN, 5},
        /* 429 says that this try was not done, and nothing of the one before. */
        {"t", false, NL_COND_NILAS_COMMIT_FAILED, 1}, {"5tk", true, NL_CONDITION_COUNT, 3}, {"5tttttttttt", false, NL_COND_NILAS_COMMIT_STATE_UNKNOWN, 5},
        {"Lk", true, NL_CONDITION_COUNT, 2},  {"Lc", true, NL_CONDITION_COUNT, 2}, {"Lt", true, NL_CONDITION_COUNT, 2},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        fake self = {.metadata = first_metadata(arena), .fates = rows[i].fates};
        test_server server;
        nl_iceberg_table *table;
        test_server_start(&server, answer_any, &self);
        nl_catalog *catalog = open_catalog(&server, NULL, 0);
        const nl_str scope = NL_STR("n");
        assert_ok(nl_catalog_load_table(catalog, &(nl_identifier){&scope, 1, NL_STR("t")}, &table));
        nl_status status = append(table, 77);
        if (rows[i].is_done) assert_ok_at(status, __FILE__, (int)i);
        else assert_fails_at(status, rows[i].condition, NULL, __FILE__, (int)i);
        assert_int_equal(self.metadata->snapshot_count, rows[i].is_done ? 1 : 0);
        assert_int_equal(self.commit_count, rows[i].sent);
        nl_iceberg_table_release(table);
        nl_catalog_release(catalog);
        test_server_stop(&server);
        if (rows[i].is_done) assert_non_null(strstr(self.last_report, "{\"report-type\":\"commit-report\",\"table-name\":\"c.n.t\",\"snapshot-id\":77,"));
        else assert_string_equal(self.last_report, "");
        nl_table_metadata_release(self.metadata);
    }
    nl_arena_free(arena);
}

static void test_an_unchanged_table_is_not_sent_again(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    fake self = {.metadata = first_metadata(arena), .fates = "", .has_etags = true};
    test_server server;
    nl_iceberg_table *table;
    test_server_start(&server, answer_any, &self);
    nl_catalog *catalog = open_catalog(&server, NULL, 0);
    const nl_str scope = NL_STR("n");
    const nl_identifier identifier = {&scope, 1, NL_STR("t")};
    assert_ok(nl_catalog_load_table(catalog, &identifier, &table));
    assert_ok(nl_iceberg_table_refresh(table));
    assert_int_equal(self.unchanged_count, 1);
    assert_ok(append(table, 5));
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    assert_int_equal(metadata->current_snapshot_id, 5);
    nl_table_metadata_release(metadata);
    nl_iceberg_table_release(table);
    assert_ok(nl_catalog_load_table(catalog, &identifier, &table));
    assert_int_equal(self.unchanged_count, 2);
    nl_iceberg_table_release(table);
    nl_catalog_release(catalog);
    test_server_stop(&server);
    nl_table_metadata_release(self.metadata);
    nl_arena_free(arena);
}

/* An announced lifetime of keys makes every change safe to send again. */
static void test_several_tables_change_at_once(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    fake self = {.config = "{\"defaults\":{},\"overrides\":{},\"idempotency-key-lifetime\":\"PT30M\"}", .fates = ""};
    test_server server;
    test_server_start(&server, answer_any, &self);
    nl_catalog *catalog = open_catalog(&server, NULL, 0);
    const nl_table_metadata *base = first_metadata(arena), *updated;
    const nl_property property = {NL_STR("k"), NL_STR("v")};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&property, 1}};
    assert_ok(nl_table_metadata_update(base, &update, 1, NULL, &updated));
    const nl_str scope = NL_STR("n");
    const nl_remote_table_change changes[] = {{{&scope, 1, NL_STR("t1")}, base, updated}, {{&scope, 1, NL_STR("t2")}, base, updated}};
    assert_ok(nl_remote_commit_transaction(catalog, changes, 2));
    assert_int_equal(self.transaction_count, 2);
    assert_int_equal(strlen(self.keys[0]), 36);
    assert_string_equal(self.keys[0], self.keys[1]);
    assert_int_equal(self.keys[0][14], '7'); /* version 7 */
    assert_non_null(strstr(self.last_transaction, "{\"table-changes\":[{\"identifier\":{\"namespace\":[\"n\"],\"name\":\"t1\"},\"requirements\":[{\"type\":\"assert-table-uuid\""));
    assert_non_null(strstr(self.last_transaction, "\"name\":\"t2\""));
    nl_table_metadata_release(base);
    nl_table_metadata_release(updated);
    nl_catalog_release(catalog);
    test_server_stop(&server);
    nl_arena_free(arena);
}

static void test_credentials_are_renewed_before_they_end(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    fake self = {.config = "{\"endpoints\":[\"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}\",\"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}/credentials\"]}",
                 .metadata = first_metadata(arena), .fates = "", .expires_ms = nl_now_micros() / 1000 + 60000};
    test_server server;
    nl_iceberg_table *table;
    bool exists;
    test_server_start(&server, answer_any, &self);
    nl_catalog *catalog = open_catalog(&server, NULL, 0);
    const nl_str scope = NL_STR("n");
    assert_ok(nl_catalog_load_table(catalog, &(nl_identifier){&scope, 1, NL_STR("t")}, &table));
    assert_int_equal(self.credential_count, 0);
    assert_ok(nl_fs_exists(table->fs, NL_STR("/nowhere/x"), &exists)); /* a minute is left: less than five */
    assert_int_equal(self.credential_count, 1);
    assert_ok(nl_fs_exists(table->fs, NL_STR("/nowhere/x"), &exists));
    assert_int_equal(self.credential_count, 1);
    nl_iceberg_table_release(table);
    nl_catalog_release(catalog);
    test_server_stop(&server);
    nl_table_metadata_release(self.metadata);
    nl_arena_free(arena);
}

static void test_the_server_plans_when_it_is_to(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    fake self = {.config = "{\"overrides\":{\"scan-planning-mode\":\"server\"},\"endpoints\":[\"GET /v1/{prefix}/namespaces/{namespace}/tables/{table}\","
                           "\"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}\",\"POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/plan\"]}",
                 .metadata = first_metadata(arena), .fates = ""};
    test_server server;
    nl_iceberg_table *table;
    test_server_start(&server, answer_any, &self);
    nl_catalog *catalog = open_catalog(&server, NULL, 0);
    const nl_str scope = NL_STR("n");
    assert_ok(nl_catalog_load_table(catalog, &(nl_identifier){&scope, 1, NL_STR("t")}, &table));
    assert_ok(append(table, 5));
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const nl_value one = nl_value_int(nl_type_bigint(), 1);
    const nl_schema *schema = nl_table_schema(metadata);
    const nl_predicate *predicate = nl_predicate_leaf(arena, NL_PREDICATE_GT, schema->root->fields[0].id, &one, 1);
    const nl_scan_planning planning = {.metadata = metadata, .snapshot = nl_table_current_snapshot(metadata), .schema = schema, .predicate = predicate, .after_snapshot_id = NL_NONE};
    nl_scan_plan *plan = NULL;
    assert_ok(table->store->ops->plan_scan(table->store, &planning, &plan));
    assert_non_null(plan);
    assert_int_equal(plan->task_count, 2);
    assert_text(plan->tasks[0].file->path, "/a");
    assert_text(plan->tasks[0].file->partition[0].text, "ab");
    assert_true(plan->tasks[0].deletes[0]->partition[1].is_null);
    assert_int_equal(plan->tasks[0].delete_count, 1);
    assert_text(plan->tasks[0].deletes[0]->path, "/d");
    assert_text(plan->tasks[1].file->path, "/b");
    assert_int_equal(plan->row_count, 14);
    assert_string_equal(self.last_form, "{\"plan-task\":\"more\"}");
    nl_scan_plan_release(plan);
    nl_table_metadata_release(metadata);
    nl_iceberg_table_release(table);
    nl_catalog_release(catalog);
    test_server_stop(&server);
    nl_table_metadata_release(self.metadata);
    nl_arena_free(arena);
}

static void test_what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    static const struct {
        nl_property properties[3];
        nl_condition condition;
        const char *message;
    } rows[] = {
        {{{NL_STR_INIT("x"), NL_STR_INIT("y")}}, NL_COND_NILAS_ILLEGAL_ARGUMENT, "spark.sql.catalog.c.uri"},
        {{{NL_STR_INIT("uri"), NL_STR_INIT("ftp://h")}}, NL_COND_NILAS_ILLEGAL_ARGUMENT, "neither http nor https"},
        {{{NL_STR_INIT("uri"), NL_STR_INIT("http://h")}, {NL_STR_INIT("rest.client.max-connections"), NL_STR_INIT("many")}}, NL_COND_NILAS_ILLEGAL_ARGUMENT, "rest.client.max-connections"},
        {{{NL_STR_INIT("uri"), NL_STR_INIT("http://h")}, {NL_STR_INIT("rest.client.tls.configurer-impl"), NL_STR_INIT("a.B")}}, NL_COND_NILAS_UNSUPPORTED, "tls.configurer-impl"},
    };
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        nl_catalog *catalog = NULL;
        assert_fails_at(nl_remote_catalog_open(NL_STR("c"), rows[i].properties, 3, &environment, NULL, &catalog), rows[i].condition, rows[i].message, __FILE__, (int)i);
    }
    const nl_property google[] = {{NL_STR("uri"), NL_STR("http://127.0.0.1:1")}, {NL_STR("rest.auth.type"), NL_STR("google")}};
    nl_catalog *catalog = NULL;
    assert_ok(nl_remote_catalog_open(NL_STR("c"), google, 2, &environment, NULL, &catalog));
    assert_fails(list(catalog), NILAS_UNSUPPORTED, "none, basic, oauth2 and sigv4");
    nl_catalog_release(catalog);
}

static void test_nessies_keys_are_mapped(void **state)
{
    (void)state;
    fake self = {.fates = ""};
    test_server server;
    test_server_start(&server, answer_any, &self);
    char uri[128];
    snprintf(uri, sizeof(uri), "%s/api/v2", server.url);
    const nl_property properties[] = {{NL_STR("uri"), nl_str_from(uri)}, {NL_STR("ref"), NL_STR("dev/x")}, {NL_STR("authentication.type"), NL_STR("BEARER")},
                                      {NL_STR("authentication.token"), NL_STR("tok")}};
    nl_catalog *catalog;
    assert_ok(nl_nessie_catalog_open(NL_STR("c"), properties, NL_COUNT(properties), &environment, NULL, &catalog));
    assert_ok(list(catalog));
    assert_non_null(strstr(self.seen, "GET /iceberg/dev%2Fx/v1/config\n"));
    assert_string_equal(self.last_authorization, "Bearer tok");
    nl_catalog_release(catalog);
    test_server_stop(&server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens_are_fetched_renewed_and_asked_for_anew),
        cmocka_unit_test(test_signed_requests_verify),
        cmocka_unit_test(test_pages_are_asked_one_after_the_other),
        cmocka_unit_test(test_a_commit_whose_answer_is_lost_takes_effect_once),
        cmocka_unit_test(test_an_unchanged_table_is_not_sent_again),
        cmocka_unit_test(test_several_tables_change_at_once),
        cmocka_unit_test(test_credentials_are_renewed_before_they_end),
        cmocka_unit_test(test_the_server_plans_when_it_is_to),
        cmocka_unit_test(test_what_cannot_be_opened_says_why),
        cmocka_unit_test(test_nessies_keys_are_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
