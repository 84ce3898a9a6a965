/* catalog/glue/glue_test.c - the catalog against a Glue that refuses, throttles, forgets to answer, and pages. */
#include "storage/test_server.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/hive_type.h"
#include "catalog/catalog.h"
#include "catalog/glue/input.h"
#include "iceberg/operation.h"

typedef enum mode { WORKS, CONFLICTS, FAILS_BEFORE, FAILS_AFTER, DROPS_AFTER, THROTTLES, DENIES, NO_JSON } mode;

/* One database "db" with tables, as GetTable would answer them. */
typedef struct fake_glue {
    test_server server;
    json_t *tables;      /* name → Table */
    uint32_t version;
    mode changing;       /* what happens to CreateTable and UpdateTable, `left` times */
    uint32_t left;
    mode deleting;       /* the same of DeleteTable */
    uint32_t deletes_left, delete_count;
    uint32_t page_size;
    uint32_t gets_until_commit; /* of GetTable: somebody else commits just before that one is answered; 0: nobody does */
    json_t *last_update; /* the last UpdateTable or CreateTable */
    uint32_t unsigned_count;
} fake_glue;

static char warehouse[64];
static nl_memory *memory;
static nl_arena *arena;
static nl_catalog *catalog;
static const nl_commit_environment environment;

static void refuse(test_answer *answer, int status, const char *name)
{
    char text[256];
    snprintf(text, sizeof(text), "{\"__type\": \"com.amazonaws.glue#%s\", \"Message\": \"as the test wants it\"}", name);
    test_answer_text(answer, status, "", text);
}

static void answer_json(test_answer *answer, json_t *json)
{
    char *text = json_dumps(json, 0);
    test_answer_text(answer, 200, "Content-Type: application/x-amz-json-1.1\r\n", text);
    free(text);
    json_decref(json);
}

static void put_table(fake_glue *self, const json_t *input, const char *name)
{
    char version[16];
    json_t *table = json_deep_copy(input);
    snprintf(version, sizeof(version), "%u", ++self->version);
    json_object_set_new(table, "VersionId", json_string(version));
    json_object_set_new(table, "DatabaseName", json_string("db"));
    json_object_set_new(self->tables, name, table);
}

static void change_table(fake_glue *self, const json_t *request, bool is_new, test_answer *answer)
{
    const json_t *input = json_object_get(request, "TableInput");
    const char *name = json_string_value(json_object_get(input, "Name"));
    const json_t *existing = json_object_get(self->tables, name);
    const json_t *version = json_object_get(request, "VersionId");
    const mode now = self->left > 0 ? self->changing : WORKS;
    if (self->left > 0) self->left--;
    json_decref(self->last_update);
    self->last_update = json_deep_copy(request);
    if (now == CONFLICTS) return refuse(answer, 400, "ConcurrentModificationException");
    if (now == THROTTLES) return refuse(answer, 400, "ThrottlingException");
    if (now == DENIES) return refuse(answer, 400, "AccessDeniedException");
    if (now == FAILS_BEFORE) return refuse(answer, 500, "InternalServiceException");
    if (now == NO_JSON) return test_answer_text(answer, 400, "", "<html>a proxy</html>");
    if (is_new && existing) return refuse(answer, 400, "AlreadyExistsException");
    if (!is_new && !existing) return refuse(answer, 400, "EntityNotFoundException");
    if (!is_new && !json_equal(version, json_object_get(existing, "VersionId"))) return refuse(answer, 400, "ConcurrentModificationException");
    put_table(self, input, name);
    if (now == FAILS_AFTER) return refuse(answer, 500, "InternalServiceException");
    if (now == DROPS_AFTER) {
        answer->then = TEST_RESET;
        return;
    }
    answer_json(answer, json_object());
}

static void delete_table(fake_glue *self, const char *name, test_answer *answer)
{
    const mode now = self->deletes_left > 0 ? self->deleting : WORKS;
    if (self->deletes_left > 0) self->deletes_left--;
    self->delete_count++;
    if (now == FAILS_BEFORE) return refuse(answer, 500, "InternalServiceException");
    if (now == DENIES) return refuse(answer, 400, "AccessDeniedException");
    const bool was_there = json_object_del(self->tables, name) == 0;
    if (now == FAILS_AFTER) return refuse(answer, 503, "ServiceUnavailable");
    if (now == DROPS_AFTER) answer->then = TEST_RESET;
    else if (was_there) test_answer_text(answer, 200, "", "");
    else refuse(answer, 400, "EntityNotFoundException");
}

static void list_tables(fake_glue *self, const json_t *request, test_answer *answer)
{
    const char *token = json_string_value(json_object_get(request, "NextToken"));
    int64_t parsed = 0;
    if (token) assert_true(nl_parse_int64(nl_str_from(token), &parsed));
    uint32_t start = (uint32_t)parsed, at = 0;
    json_t *list = json_array(), *result = json_object();
    const char *name;
    json_t *table;
    json_object_foreach(self->tables, name, table)
    {
        if (at >= start && at < start + self->page_size) json_array_append(list, table);
        at++;
    }
    json_object_set_new(result, "TableList", list);
    char next[16];
    snprintf(next, sizeof(next), "%u", start + self->page_size);
    if (start + self->page_size < at) json_object_set_new(result, "NextToken", json_string(next));
    answer_json(answer, result);
}

/* The metadata is the same under another name, one directory up in the log of versions. */
static void commit_of_another(fake_glue *self, json_t *table)
{
    json_t *parameters = json_object_get(table, "Parameters");
    const char *file = json_string_value(json_object_get(parameters, "metadata_location"));
    char next[600], version[16];
    snprintf(next, sizeof(next), "%.*s-again.metadata.json", (int)(strlen(file) - strlen(".metadata.json")), file);
    assert_int_equal(link(file, next), 0);
    snprintf(version, sizeof(version), "%u", ++self->version);
    json_object_set_new(table, "VersionId", json_string(version));
    json_object_set_new(parameters, "metadata_location", json_string(next));
}

static void serve(void *argument, const test_request *request, test_answer *answer)
{
    fake_glue *self = argument;
    char operation[64] = "", authorization[512] = "";
    json_t *json = json_loadb(request->body, request->body_length, 0, NULL);
    test_header(request, "x-amz-target", operation, sizeof(operation));
    test_header(request, "authorization", authorization, sizeof(authorization));
    if (!strstr(authorization, "/eu-west-1/glue/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-target, ")) self->unsigned_count++;
    const char *name = json_string_value(json_object_get(json, "Name"));
    json_t *table = name ? json_object_get(self->tables, name) : NULL;
    if (strcmp(operation, "AWSGlue.GetTable") == 0) {
        if (self->gets_until_commit > 0 && --self->gets_until_commit == 0 && table) commit_of_another(self, table);
        if (table) answer_json(answer, json_pack("{s:O}", "Table", table));
        else refuse(answer, 400, "EntityNotFoundException");
    } else if (strcmp(operation, "AWSGlue.DeleteTable") == 0) {
        delete_table(self, name, answer);
    } else if (strcmp(operation, "AWSGlue.GetDatabase") == 0) {
        if (strcmp(name, "db") == 0) answer_json(answer, json_pack("{s:{s:s}}", "Database", "Name", "db"));
        else refuse(answer, 400, "EntityNotFoundException");
    } else if (strcmp(operation, "AWSGlue.GetTables") == 0) {
        list_tables(self, json, answer);
    } else {
        change_table(self, json, strcmp(operation, "AWSGlue.CreateTable") == 0, answer);
    }
    json_decref(json);
}

static nl_status open_with(const char *key, const char *value, nl_catalog **opened)
{
    nl_property properties[] = {{NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
                                {NL_STR("catalog-impl"), NL_STR("org.apache.iceberg.aws.glue.GlueCatalog")},
                                {NL_STR("warehouse"), nl_str_from(warehouse)},
                                {NL_STR("client.region"), NL_STR("eu-west-1")},
                                {NL_STR("glue.access-key-id"), NL_STR("AK")},
                                {NL_STR("glue.secret-access-key"), NL_STR("hidden")},
                                {NL_STR("io-impl"), NL_STR("org.apache.iceberg.hadoop.HadoopFileIO")},
                                {nl_str_from(key), nl_str_from(value)}};
    return nl_catalog_open(NL_STR("glue"), properties, NL_COUNT(properties), &environment, memory, opened);
}

static int set_up(void **state)
{
    fake_glue *self = calloc(1, sizeof(*self));
    self->tables = json_object();
    self->page_size = 100;
    snprintf(warehouse, sizeof(warehouse), "/tmp/nilas-glue-XXXXXX");
    if (!mkdtemp(warehouse)) return -1;
    test_server_start(&self->server, serve, self);
    memory = nl_memory_new(NULL, "test", 64 << 20);
    arena = nl_arena_new(NULL);
    assert_ok(open_with("glue.endpoint", self->server.url, &catalog));
    *state = self;
    return 0;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    fake_glue *self = *state;
    const bool all_signed = self->unsigned_count == 0;
    nl_catalog_release(catalog);
    nl_arena_free(arena);
    nl_memory_release(memory);
    test_server_stop(&self->server);
    json_decref(self->tables);
    json_decref(self->last_update);
    free(self);
    return nftw(warehouse, remove_entry, 8, FTW_DEPTH | FTW_PHYS) || !all_signed;
}

static const nl_str db[] = {NL_STR_INIT("db")};
static const nl_identifier identifier = {.namespace_parts = db, .namespace_count = 1, .name = NL_STR_INIT("t")};

static nl_status create(nl_iceberg_table **table)
{
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_schema *schema = NULL;
    NL_TRY(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 1), NULL, 0, &schema));
    const nl_table_request request = {.schema = schema};
    return nl_catalog_create_table(catalog, &identifier, &request, table);
}

static nl_status add_property(void *argument, const nl_table_metadata *base, nl_arena *work, nl_metadata_builder *builder)
{
    const nl_property property = {nl_str_from(argument), NL_STR("1")};
    (void)base, (void)work;
    return nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&property, 1}});
}

static nl_status set_property(nl_iceberg_table *table, const char *key)
{
    return nl_table_change(table, add_property, NL_UNCONST(key));
}

static bool has_property(const char *key)
{
    nl_iceberg_table *table = NULL;
    assert_ok(nl_catalog_load_table(catalog, &identifier, &table));
    const bool has = nl_table_property(table->metadata, key, NULL).data != NULL;
    nl_iceberg_table_release(table);
    return has;
}

static uint32_t metadata_count;
static int count_metadata(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info, (void)where;
    metadata_count += kind == FTW_F && strstr(path, ".metadata.json") && !strstr(path, ".crc");
    return 0;
}

static uint32_t metadata_files(void)
{
    metadata_count = 0;
    nftw(warehouse, count_metadata, 8, FTW_PHYS);
    return metadata_count;
}

static const char *text_at(const json_t *json, const char *first, const char *second)
{
    return json_string_value(json_object_get(json_object_get(json, first), second));
}

static void test_a_commit_names_the_version_it_read(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    assert_ok(create(&table));
    const json_t *input = json_object_get(self->last_update, "TableInput");
    const nl_str first = nl_arena_str(arena, nl_str_from(text_at(input, "Parameters", "metadata_location")));
    assert_string_equal(text_at(self->last_update, "TableInput", "TableType"), "EXTERNAL_TABLE");
    assert_string_equal(text_at(input, "Parameters", "table_type"), "ICEBERG");
    assert_null(text_at(input, "Parameters", "previous_metadata_location"));
    assert_text(nl_arena_f(arena, "%s/db.db/t", warehouse), text_at(input, "StorageDescriptor", "Location"));
    json_object_set_new(json_object_get(json_object_get(self->tables, "t"), "Parameters"), "theirs", json_string("kept"));
    assert_ok(set_property(table, "a"));
    input = json_object_get(self->last_update, "TableInput");
    assert_string_equal(json_string_value(json_object_get(self->last_update, "VersionId")), "1");
    assert_true(json_is_true(json_object_get(self->last_update, "SkipArchive")));
    assert_text(first, text_at(input, "Parameters", "previous_metadata_location"));
    assert_string_equal(text_at(input, "Parameters", "theirs"), "kept");
    assert_true(has_property("a"));
    nl_iceberg_table_release(table);
    table = NULL;
    assert_fails(create(&table), TABLE_OR_VIEW_ALREADY_EXISTS, "`glue`.`db`.`t`");
}

/* Refused, and nothing was done: tried again from what is there now. */
static void test_a_conflict_is_tried_again(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    assert_ok(create(&table));
    self->changing = CONFLICTS;
    self->left = 2;
    assert_ok(set_property(table, "a"));
    assert_true(has_property("a"));
    assert_int_equal(metadata_files(), 2); /* those of the attempts that failed are gone */
    nl_iceberg_table_release(table);
}

static void test_a_table_that_another_changed_is_read_again(void **state)
{
    (void)state;
    nl_iceberg_table *table = NULL, *other = NULL;
    assert_ok(create(&table));
    assert_ok(nl_catalog_load_table(catalog, &identifier, &other));
    assert_ok(set_property(other, "a"));
    assert_ok(set_property(table, "b"));
    assert_true(has_property("a") && has_property("b"));
    nl_iceberg_table_release(table);
    nl_iceberg_table_release(other);
}

static void test_throttled_requests_are_sent_again(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    self->changing = THROTTLES;
    self->left = 3;
    assert_ok(create(&table));
    assert_int_equal(self->left, 0);
    nl_iceberg_table_release(table);
}

/* Done, but the answer was lost: Glue is asked what is in force. */
static void test_a_commit_without_an_answer_is_looked_up(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    assert_ok(create(&table));
    const mode modes[] = {FAILS_AFTER, DROPS_AFTER};
    const char *const keys[] = {"a", "b"};
    for (size_t i = 0; i < NL_COUNT(modes); i++) {
        self->changing = modes[i];
        self->left = 1;
        assert_ok(set_property(table, keys[i]));
        assert_true(has_property(keys[i]));
        assert_int_equal(metadata_files(), i + 2);
    }
    nl_iceberg_table_release(table);
    self->changing = DROPS_AFTER;
    self->left = 1;
    json_object_clear(self->tables);
    table = NULL;
    assert_ok(create(&table));
    nl_iceberg_table_release(table);
}

/* Not done, and Glue says so only by failing: the same request is sent again. */
static void test_a_failure_that_passes_is_no_failure(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    self->changing = FAILS_BEFORE;
    self->left = 2;
    assert_ok(create(&table));
    self->left = 2;
    assert_ok(set_property(table, "a"));
    assert_true(has_property("a"));
    assert_int_equal(metadata_files(), 2);
    nl_iceberg_table_release(table);
}

/* Nobody knows: an error that says so, and the file stays. */
static void test_a_failure_that_may_have_been_a_commit_removes_nothing(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    assert_ok(create(&table));
    self->changing = FAILS_BEFORE;
    self->left = 100;
    nl_status status = set_property(table, "a");
    assert_non_null(status);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    assert_int_equal(metadata_files(), 2);
    nl_iceberg_table_release(table);
}

static const nl_identifier renamed = {.namespace_parts = db, .namespace_count = 1, .name = NL_STR_INIT("u")};

/* Glue cannot rename: an entry is made and the other deleted. Whatever answer is lost, the table keeps at least one of its
 * names and all of its files, and two names only when the error says so. */
static void test_a_rename_without_answers_loses_nothing(void **state)
{
    fake_glue *self = *state;
    static const struct {
        mode changing;
        uint32_t left;
        mode deleting;
        uint32_t deletes_left;
        bool is_done, has_old, has_new, is_unknown;
    } rows[] = {
        {WORKS, 0, WORKS, 0, true, false, true, false},
        {FAILS_AFTER, 1, WORKS, 0, true, false, true, false},
        {DROPS_AFTER, 1, WORKS, 0, true, false, true, false},
        {FAILS_BEFORE, 1, WORKS, 0, false, true, false, true},
        {DENIES, 1, WORKS, 0, false, true, false, false},
        {WORKS, 0, FAILS_BEFORE, 1, true, false, true, false},
        {WORKS, 0, FAILS_AFTER, 1, true, false, true, false},
        {WORKS, 0, DROPS_AFTER, 1, true, false, true, false},
        {WORKS, 0, FAILS_BEFORE, 99, false, true, true, true},
        {WORKS, 0, DENIES, 1, false, true, false, false}, /* surely not deleted: the new name goes */
        {WORKS, 0, DENIES, 9, false, true, true, false},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_iceberg_table *table = NULL;
        assert_ok(create(&table));
        nl_iceberg_table_release(table);
        const uint32_t file_count = metadata_files();
        self->changing = rows[i].changing, self->left = rows[i].left, self->deleting = rows[i].deleting, self->deletes_left = rows[i].deletes_left;
        nl_status status = nl_catalog_rename_table(catalog, &identifier, &renamed);
        const bool has_old = json_object_get(self->tables, "t"), has_new = json_object_get(self->tables, "u");
        const bool is_unknown = status && nl_error_kind_of(status) == NL_KIND_UNKNOWN_STATE;
        if (!status != rows[i].is_done || has_old != rows[i].has_old || has_new != rows[i].has_new || is_unknown != rows[i].is_unknown)
            fail_msg("row %zu: old %d, new %d: %s", i, has_old, has_new, status ? nl_error_message(status) : "done");
        nl_error_free(status);
        assert_int_equal(metadata_files(), file_count);
        json_object_clear(self->tables);
        self->left = self->deletes_left = 0;
    }
}

/* A DROP … PURGE whose answer is lost: the entry is gone, but who knows by whom; another may have given it another name. */
static void test_files_are_purged_only_after_a_deletion_that_was_answered(void **state)
{
    fake_glue *self = *state;
    static const struct {
        mode deleting;
        uint32_t deletes_left;
        bool is_done, has_files;
    } rows[] = {{WORKS, 0, true, false}, {FAILS_BEFORE, 2, true, false}, {FAILS_AFTER, 1, true, true}, {DROPS_AFTER, 1, true, true}, {FAILS_BEFORE, 99, false, true}, {DENIES, 1, false, true}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_iceberg_table *table = NULL;
        bool was_dropped = false;
        assert_ok(create(&table));
        nl_iceberg_table_release(table);
        const uint32_t file_count = metadata_files();
        self->deleting = rows[i].deleting, self->deletes_left = rows[i].deletes_left;
        nl_status status = nl_catalog_drop_table(catalog, &identifier, true, &was_dropped);
        if (!status != rows[i].is_done || was_dropped != rows[i].is_done || metadata_files() != file_count - !rows[i].has_files)
            fail_msg("row %zu: %u files: %s", i, metadata_files(), status ? nl_error_message(status) : "done");
        nl_error_free(status);
        json_object_clear(self->tables);
        self->deletes_left = 0;
    }
}

/* GetTable is asked first of all, and once more just before DeleteTable, which takes no version. */
static void test_a_commit_during_a_rename_keeps_the_old_name(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    assert_ok(create(&table));
    nl_iceberg_table_release(table);
    self->gets_until_commit = 2;
    nl_status status = nl_catalog_rename_table(catalog, &identifier, &renamed);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_COMMIT_FAILED);
    nl_error_free(status);
    assert_int_equal(self->gets_until_commit, 0);
    assert_non_null(json_object_get(self->tables, "t"));
    assert_null(json_object_get(self->tables, "u"));
    assert_ok(nl_catalog_rename_table(catalog, &identifier, &renamed));
    assert_null(json_object_get(self->tables, "t"));
    assert_non_null(strstr(text_at(json_object_get(self->tables, "u"), "Parameters", "metadata_location"), "-again"));
}

static void test_a_purge_takes_what_was_committed_meanwhile(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    bool was_dropped = false;
    assert_ok(create(&table));
    nl_iceberg_table_release(table);
    const uint32_t file_count = metadata_files();
    self->gets_until_commit = 3; /* is there one; which metadata; is it still that one */
    assert_ok(nl_catalog_drop_table(catalog, &identifier, true, &was_dropped));
    assert_true(was_dropped);
    assert_int_equal(self->gets_until_commit, 0);
    assert_int_equal(metadata_files(), file_count); /* the older file is not in this metadata's log: the newer one is gone */
}

static void test_refusals_are_errors_with_glues_words(void **state)
{
    fake_glue *self = *state;
    nl_iceberg_table *table = NULL;
    self->changing = DENIES;
    self->left = 1;
    assert_fails(create(&table), NILAS_FORBIDDEN, "Glue refuses CreateTable: AccessDeniedException: as the test wants it");
    self->changing = NO_JSON;
    self->left = 1;
    assert_fails(create(&table), NILAS_ILLEGAL_ARGUMENT, "HTTP status 400");
    assert_int_equal(metadata_files(), 0);
}

static void test_lists_go_over_all_pages(void **state)
{
    fake_glue *self = *state;
    nl_name_list list = {0};
    self->page_size = 3;
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "t%d", 9 - i);
        json_object_set_new(self->tables, name, json_pack("{s:s, s:{s:s}}", "Name", name, "Parameters", "table_type", i % 2 ? "iceberg" : "hudi"));
    }
    assert_ok(nl_catalog_list_tables(catalog, db, 1, arena, &list));
    assert_int_equal(list.count, 5);
    assert_text(list.items[0].name, "t0");
    assert_text(list.items[4].name, "t8");
}

/* What Glue allows differs from what SQL allows; nothing is sent for names that it would refuse. */
static void test_names_are_checked(void **state)
{
    fake_glue *self = *state;
    static const char *const wrong[] = {"", "Upper", "with space", "semi;colon", "dash-ed", "\xC3\xA4"};
    bool exists = true;
    for (size_t i = 0; i < NL_COUNT(wrong); i++) {
        const nl_str name = nl_str_from(wrong[i]);
        nl_identifier other = {.namespace_parts = db, .namespace_count = 1, .name = name};
        nl_iceberg_table *table = NULL;
        assert_fails(nl_catalog_create_namespace(catalog, &name, 1, NULL, 0), NILAS_VALIDATION_FAILED, "lowercase letters");
        assert_fails(nl_catalog_load_table(catalog, &other, &table), TABLE_OR_VIEW_NOT_FOUND, wrong[i]);
    }
    const nl_str nested[] = {NL_STR("a"), NL_STR("b")};
    assert_fails(nl_catalog_create_namespace(catalog, nested, 2, NULL, 0), NILAS_VALIDATION_FAILED, "a.b");
    assert_int_equal(atomic_load(&self->server.request_count), 0);
    assert_ok(nl_catalog_namespace_exists(catalog, db, 1, &exists));
    assert_true(exists);
}

static void test_what_it_cannot_do_is_said_when_it_is_opened(void **state)
{
    (void)state;
    nl_catalog *opened = NULL;
    assert_fails(open_with("lock-impl", "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager", &opened), NILAS_UNSUPPORTED, "DynamoDbLockManager is not supported");
    assert_fails(open_with("glue.lakeformation-enabled", "true", &opened), NILAS_UNSUPPORTED, "lakeformation");
    assert_fails(open_with("glue.skip-archive", "perhaps", &opened), NILAS_ILLEGAL_ARGUMENT, "true or false");
    assert_fails(open_with("glue.endpoint", "nonsense", &opened), NILAS_ILLEGAL_ARGUMENT, "nonsense");
}

static void test_types_as_java_writes_them(void **state)
{
    (void)state;
    const nl_ice_field inner[] = {{.id = 2, .name = NL_STR("a"), .type = nl_ice_type_of(NL_ICE_INT)}, {.id = 3, .name = NL_STR("b c"), .type = nl_ice_type_of(NL_ICE_TIME)}};
    const struct {
        const nl_ice_type *type;
        const char *text;
    } rows[] = {
        {nl_ice_type_decimal(arena, 12, 3), "decimal(12,3)"},
        {nl_ice_type_of(NL_ICE_TIMESTAMPTZ), "timestamp"},
        {nl_ice_type_of(NL_ICE_TIMESTAMP_NS), "timestamp_nano"},
        {nl_ice_type_of(NL_ICE_UUID), "string"},
        {nl_ice_type_fixed(arena, 4), "binary"},
        {nl_ice_type_of(NL_ICE_UNKNOWN), "unknown"},
        {nl_ice_type_map(arena, 4, nl_ice_type_of(NL_ICE_STRING), 5, nl_ice_type_list(arena, 6, nl_ice_type_struct(arena, inner, 2), false), false),
         "map<string,array<struct<a:int,b c:string>>>"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_builder text;
        nl_builder_init(&text, 1000);
        nl_append_hive_type(rows[i].type, &text);
        assert_text(nl_builder_str(&text), rows[i].text);
        nl_builder_fini(&text);
    }
}

int main(void)
{
    setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_commit_names_the_version_it_read),
        TEST(test_a_conflict_is_tried_again),
        TEST(test_a_table_that_another_changed_is_read_again),
        TEST(test_throttled_requests_are_sent_again),
        TEST(test_a_commit_without_an_answer_is_looked_up),
        TEST(test_a_failure_that_passes_is_no_failure),
        TEST(test_a_failure_that_may_have_been_a_commit_removes_nothing),
        TEST(test_a_rename_without_answers_loses_nothing),
        TEST(test_files_are_purged_only_after_a_deletion_that_was_answered),
        TEST(test_a_commit_during_a_rename_keeps_the_old_name),
        TEST(test_a_purge_takes_what_was_committed_meanwhile),
        TEST(test_refusals_are_errors_with_glues_words),
        TEST(test_lists_go_over_all_pages),
        TEST(test_names_are_checked),
        TEST(test_what_it_cannot_do_is_said_when_it_is_opened),
        TEST(test_types_as_java_writes_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
