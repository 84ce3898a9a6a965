/* catalog/hadoop_s3_test.c - the hadoop catalog on S3: writers that stall, answers that get lost, servers without conditions. */
#include "catalog/catalog.h"
#include "iceberg/operation.h"
#include "storage/test_s3.h"

#include <semaphore.h>

static const nl_str namespace_parts[] = {NL_STR_INIT("db")};
static const nl_identifier identifier = {namespace_parts, 1, NL_STR_INIT("t")};
static const nl_commit_environment nobody;

typedef struct place {
    fixture *s3;
    nl_catalog *catalog, *other; /* two processes */
    nl_iceberg_table *table;
    nl_arena *arena;
} place;

static place *here; /* for what the server does meanwhile */

static nl_status open_with(const char *key, const char *value, nl_catalog **catalog)
{
    const nl_property properties[] = {{NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")},
                                      {NL_STR("type"), NL_STR("hadoop")},
                                      {NL_STR("warehouse"), NL_STR("s3://b/w")},
                                      {NL_STR("s3.endpoint"), nl_str_from(here->s3->server.url)},
                                      {NL_STR("s3.access-key-id"), NL_STR("me")},
                                      {NL_STR("s3.secret-access-key"), NL_STR("hidden")},
                                      {NL_STR("s3.retry.num-retries"), NL_STR("2")},
                                      {NL_STR("s3.retry.min-wait-ms"), NL_STR("10")},
                                      {nl_str_from(key), nl_str_from(value)}};
    return nl_catalog_open(NL_STR("lake"), properties, NL_COUNT(properties), &nobody, NULL, catalog);
}

static nl_status create(nl_catalog *catalog, nl_iceberg_table **table)
{
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_property properties[] = {{NL_STR("write.metadata.delete-after-commit.enabled"), NL_STR("true")}, {NL_STR("write.metadata.previous-versions-max"), NL_STR("1")},
                                      {NL_STR("commit.retry.min-wait-ms"), NL_STR("1")}, {NL_STR("commit.status-check.min-wait-ms"), NL_STR("1")}};
    const nl_schema *schema = NULL;
    NL_TRY(nl_schema_new(here->arena, 0, nl_ice_type_struct(here->arena, fields, 1), NULL, 0, &schema));
    const nl_table_request request = {.schema = schema, .properties = properties, .property_count = NL_COUNT(properties)};
    return nl_catalog_create_table(catalog, &identifier, &request, table);
}

static int set_up(void **state)
{
    here = calloc(1, sizeof(*here));
    here->s3 = start();
    here->arena = nl_arena_new(NULL);
    assert_ok(open_with("x", "", &here->catalog));
    assert_ok(open_with("x", "", &here->other));
    *state = here;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_iceberg_table_release(here->table);
    nl_catalog_release(here->catalog);
    nl_catalog_release(here->other);
    nl_arena_free(here->arena);
    stop(here->s3);
    free(here);
    return 0;
}

static nl_status add_property(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_property item = {nl_str_from(argument), NL_STR("1")};
    (void)base, (void)arena;
    return nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&item, 1}});
}

static nl_status set_property(nl_iceberg_table *table, const char *key)
{
    return nl_table_change(table, add_property, NL_UNCONST(key));
}

static uint32_t find_properties(const char *const *keys, uint32_t key_count)
{
    nl_catalog *fresh = NULL;
    nl_iceberg_table *table = NULL;
    uint32_t found = 0;
    assert_ok(open_with("x", "", &fresh));
    assert_ok(nl_catalog_load_table(fresh, &identifier, &table));
    for (uint32_t i = 0; i < key_count; i++) found += nl_table_property(table->metadata, keys[i], NULL).data != NULL;
    nl_iceberg_table_release(table);
    nl_catalog_release(fresh);
    return found;
}

static bool has_object(const char *name)
{
    char key[128];
    snprintf(key, sizeof(key), "w/db/t/metadata/%s", name);
    return find(&here->s3->s3, key) != NULL;
}

/* ---- others go on while a writer stalls ---- */

/* The other process needs the server, which answers one request at a time: its commits are made beforehand and brought back
 * when the stalled writer's PUT arrives. */
typedef struct saved {
    object objects[64];
    uint32_t count;
} saved;
static saved states[2];

static void save(saved *to)
{
    mini_s3 *s3 = &here->s3->s3;
    to->count = s3->count;
    for (uint32_t i = 0; i < s3->count; i++) {
        to->objects[i] = s3->objects[i];
        to->objects[i].bytes = malloc(s3->objects[i].length + 1);
        memcpy(to->objects[i].bytes, s3->objects[i].bytes, s3->objects[i].length);
    }
}

static void bring_back(mini_s3 *s3, saved *from)
{
    for (uint32_t i = 0; i < s3->count; i++) free(s3->objects[i].bytes);
    memcpy(s3->objects, from->objects, from->count * sizeof(object));
    s3->count = from->count;
    from->count = 0;
}

static void go_on_before_the_put(mini_s3 *s3, const char *line)
{
    if (!strstr(line, "PUT /b/w/db/t/metadata/v2.metadata.json")) return;
    bring_back(s3, &states[1]);
    s3->before = NULL;
}

/* The stalled writer's version is free again, since the others' has come and gone: it must not overwrite history. */
static void test_a_stalled_writer_that_was_overtaken_starts_again(void **state)
{
    (void)state;
    static const char *const keys[] = {"other-1", "other-2", "other-3", "ours"};
    nl_iceberg_table *theirs = NULL;
    assert_ok(create(here->catalog, &here->table));
    save(&states[0]);
    assert_ok(nl_catalog_load_table(here->other, &identifier, &theirs));
    for (int i = 0; i < 3; i++) assert_ok(set_property(theirs, keys[i]));
    assert_false(has_object("v1.metadata.json") || has_object("v2.metadata.json"));
    assert_true(has_object("v3.metadata.json") && has_object("v4.metadata.json"));
    save(&states[1]);
    bring_back(&here->s3->s3, &states[0]);
    here->s3->s3.before = go_on_before_the_put;
    assert_ok(set_property(here->table, "ours"));
    assert_null(here->s3->s3.before); /* it came to that */
    assert_false(has_object("v2.metadata.json"));
    assert_int_equal(find_properties(keys, NL_COUNT(keys)), 4);
    nl_iceberg_table_release(theirs);
}

/* Only the version itself was taken away (its base is left): a removal of unreferenced files goes in no order. */
static void test_a_base_that_is_left_proves_nothing(void **state)
{
    (void)state;
    static const char *const keys[] = {"other-1", "other-2", "ours"};
    nl_iceberg_table *theirs = NULL;
    assert_ok(create(here->catalog, &here->table));
    save(&states[0]);
    const object v1 = *find(&here->s3->s3, "w/db/t/metadata/v1.metadata.json");
    uint8_t *bytes = malloc(v1.length);
    memcpy(bytes, v1.bytes, v1.length);
    assert_ok(nl_catalog_load_table(here->other, &identifier, &theirs));
    for (int i = 0; i < 2; i++) assert_ok(set_property(theirs, keys[i]));
    store(&here->s3->s3, v1.key, bytes, v1.length, "");
    drop(&here->s3->s3, "w/db/t/metadata/v2.metadata.json");
    free(bytes);
    save(&states[1]);
    bring_back(&here->s3->s3, &states[0]);
    here->s3->s3.before = go_on_before_the_put;
    assert_ok(set_property(here->table, "ours"));
    assert_null(here->s3->s3.before);
    assert_int_equal(find_properties(keys, NL_COUNT(keys)), 3);
    nl_iceberg_table_release(theirs);
}

static sem_t has_put;

static void go_on_after_the_put(mini_s3 *s3, const char *line, test_answer *answer)
{
    if (!strstr(line, "PUT /b/w/db/t/metadata/v2.metadata.json")) return;
    s3->after = NULL;
    answer->delay_ms = 500;
    sem_post(&has_put);
}

static void *go_on(void *argument)
{
    const uint32_t *commit_count = argument;
    static const char *const keys[] = {"other-1", "other-2", "other-3"};
    nl_iceberg_table *theirs = NULL;
    sem_wait(&has_put);
    assert_ok(nl_catalog_load_table(here->other, &identifier, &theirs));
    for (uint32_t i = 0; i < *commit_count; i++) assert_ok(set_property(theirs, keys[i]));
    nl_iceberg_table_release(theirs);
    return NULL;
}

/* The other way round: others have gone on from our version before we looked, and taken its base away. Ours counts; when
 * they went on so far that the log has dropped it, nobody can say, and the error says so. */
static void test_a_commit_that_others_went_on_from_is_done(void **state)
{
    (void)state;
    static const char *const keys[] = {"ours", "other-1", "other-2", "other-3"};
    nl_iceberg_table *first = NULL;
    assert_ok(create(here->catalog, &first));
    nl_iceberg_table_release(first);
    save(&states[0]);
    for (uint32_t commit_count = 1; commit_count <= 3; commit_count += 2) {
        pthread_t thread;
        nl_iceberg_table *table = NULL;
        nl_catalog *catalog = NULL; /* knows nothing of the round before */
        if (commit_count > 1) bring_back(&here->s3->s3, &states[0]);
        assert_ok(open_with("x", "", &catalog));
        assert_ok(nl_catalog_load_table(catalog, &identifier, &table));
        sem_init(&has_put, 0, 0);
        here->s3->s3.after = go_on_after_the_put;
        pthread_create(&thread, NULL, go_on, &commit_count);
        nl_status status = set_property(table, "ours");
        pthread_join(thread, NULL);
        assert_false(has_object("v1.metadata.json"));
        if (commit_count == 1) {
            assert_ok(status);
        } else {
            assert_non_null(status);
            assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
            nl_error_free(status);
        }
        assert_int_equal(find_properties(keys, NL_COUNT(keys)), 1 + commit_count); /* once, in each case */
        nl_iceberg_table_release(table);
        nl_catalog_release(catalog);
        sem_destroy(&has_put);
    }
}

static void test_a_commit_whose_answer_is_lost_is_done_once(void **state)
{
    (void)state;
    static const char *const keys[] = {"a"};
    assert_ok(create(here->catalog, &here->table));
    for (int round = 0; round < 2; round++) {
        here->s3->s3.failures[0] = (failure){.match = round ? "PUT /b/w/db/t/metadata/v3.metadata" : "PUT /b/w/db/t/metadata/v2.metadata", .count = round ? 9 : 1, .is_carried_out = true, .then = TEST_RESET};
        assert_ok(set_property(here->table, round ? "b" : "a"));
    }
    assert_int_equal(find_properties(keys, 1), 1);
    assert_true(has_object("v3.metadata.json"));
    assert_false(has_object("v4.metadata.json"));
}

/* ---- servers and properties that cannot be ---- */

static void test_a_server_that_ignores_conditions_gets_no_commit(void **state)
{
    (void)state;
    here->s3->s3.ignores_conditions = true;
    assert_fails(create(here->catalog, &here->table), NILAS_UNSUPPORTED, "ignores the condition of conditional writes");
    assert_int_equal(here->s3->s3.count, 0);
    here->s3->s3.ignores_conditions = false;
    assert_ok(create(here->catalog, &here->table));
    nl_iceberg_table *theirs = NULL;
    assert_ok(nl_catalog_load_table(here->other, &identifier, &theirs));
    here->s3->s3.ignores_conditions = true; /* each process finds out for itself, before its first commit */
    assert_fails(set_property(theirs, "a"), NILAS_UNSUPPORTED, "ignores the condition");
    assert_false(has_object("v2.metadata.json"));
    nl_iceberg_table_release(theirs);
}

static void test_locks_of_others_are_refused(void **state)
{
    (void)state;
    nl_catalog *opened = NULL;
    assert_fails(open_with("lock-impl", "org.apache.iceberg.aws.dynamodb.DynamoDbLockManager", &opened), NILAS_UNSUPPORTED, "DynamoDbLockManager of catalog lake is not supported");
    assert_ok(open_with("lock-impl", "org.apache.iceberg.util.LockManagers$InMemoryLockManager", &opened));
    nl_catalog_release(opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_stalled_writer_that_was_overtaken_starts_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_base_that_is_left_proves_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_commit_that_others_went_on_from_is_done, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_commit_whose_answer_is_lost_is_done_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_that_ignores_conditions_gets_no_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_locks_of_others_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
