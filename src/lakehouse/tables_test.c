/* lakehouse/tables_test.c - the table store: namespaces, pointers all or nothing, buckets that belong to nobody, the engine's
 * catalog over it, restarts. */
#include "lakehouse/tables.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_support.h"

static char folder[64];

static int make_folder(void **unused)
{
    (void)unused;
    snprintf(folder, sizeof(folder), "/tmp/nilas-tables-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **unused)
{
    (void)unused;
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/rm", "rm", "-rf", folder, (char *)NULL);
        _exit(1);
    }
    return waitpid(child, NULL, 0) == child ? 0 : -1;
}

typedef struct lakehouse {
    nl_arena *arena;
    nl_state *state;
    nl_objects *objects;
    nl_tables *tables;
    nl_warehouse plain, bucket;
} lakehouse;

static void open_lakehouse(lakehouse *self)
{
    bool exists;
    *self = (lakehouse){.arena = nl_arena_new(NULL)};
    assert_ok(nl_state_open(nl_arena_f(self->arena, "%s/data", folder), &self->state));
    assert_ok(nl_objects_open(self->state, NULL, &self->objects));
    assert_ok(nl_tables_open(self->state, self->objects, NULL, &self->tables));
    const nl_warehouse plain = {.kind = NL_WAREHOUSE_PLAIN, .name = NL_STR("warehouse"), .location = nl_arena_f(self->arena, "file:%s/warehouse", folder)};
    const nl_warehouse bucket = {.kind = NL_WAREHOUSE_TABLE_BUCKET, .name = NL_STR("lake"), .arn = NL_STR("arn:aws:s3tables:us-east-1:123456789012:bucket/lake")};
    assert_ok(nl_tables_find_warehouse(self->tables, NL_WAREHOUSE_PLAIN, plain.name, self->arena, &self->plain, &exists));
    if (!exists) assert_ok(nl_tables_create_warehouse(self->tables, &plain, self->arena, &self->plain));
    assert_ok(nl_tables_find_warehouse(self->tables, NL_WAREHOUSE_TABLE_BUCKET, bucket.arn, self->arena, &self->bucket, &exists));
    if (!exists) assert_ok(nl_tables_create_warehouse(self->tables, &bucket, self->arena, &self->bucket));
}

static void close_lakehouse(lakehouse *self)
{
    nl_tables_close(self->tables);
    nl_objects_close(self->objects);
    nl_state_close(self->state);
    nl_arena_free(self->arena);
}

static const nl_str scope[] = {NL_STR_INIT("a"), NL_STR_INIT("b")};

static void test_namespaces_nest_and_list_in_pages(void **unused)
{
    (void)unused;
    lakehouse self;
    const nl_namespace_entry *entries;
    uint32_t count;
    open_lakehouse(&self);
    const nl_property property = {NL_STR("owner"), NL_STR("Zoë \"x\"")};
    assert_fails(nl_tables_create_namespace(self.tables, self.plain.id, scope, 2, NULL, 0, NULL), SCHEMA_NOT_FOUND, "`a`");
    assert_ok(nl_tables_create_namespace(self.tables, self.plain.id, scope, 1, &property, 1, NULL));
    assert_ok(nl_tables_create_namespace(self.tables, self.plain.id, scope, 2, NULL, 0, NULL));
    assert_fails(nl_tables_create_namespace(self.tables, self.plain.id, scope, 2, NULL, 0, NULL), SCHEMA_ALREADY_EXISTS, "`a`.`b`");
    static const char *const names[] = {"a b", "ab", "é", "z"};
    for (size_t i = 0; i < NL_COUNT(names); i++) {
        const nl_str pair[] = {scope[0], nl_str_from(names[i])};
        assert_ok(nl_tables_create_namespace(self.tables, self.plain.id, pair, 2, NULL, 0, NULL));
    }
    assert_ok(nl_tables_list_namespaces(self.tables, self.plain.id, NULL, 0, (nl_str){0}, (nl_str){0}, 100, self.arena, &entries, &count));
    assert_int_equal(count, 1);
    assert_text(entries[0].properties[0].value, "Zoë \"x\"");
    assert_ok(nl_tables_list_namespaces(self.tables, self.plain.id, scope, 1, (nl_str){0}, NL_STR("ab"), 2, self.arena, &entries, &count));
    assert_int_equal(count, 2);
    assert_text(entries[0].parts[1], "b");
    assert_text(entries[1].parts[1], "z");
    assert_ok(nl_tables_list_namespaces(self.tables, self.plain.id, scope, 1, NL_STR("a"), (nl_str){0}, 9, self.arena, &entries, &count));
    assert_int_equal(count, 2);
    assert_fails(nl_tables_list_namespaces(self.tables, self.plain.id, scope + 1, 1, (nl_str){0}, (nl_str){0}, 9, self.arena, &entries, &count), SCHEMA_NOT_FOUND, "`b`");
    close_lakehouse(&self);
}

static void test_a_namespace_with_something_in_it_is_not_dropped(void **unused)
{
    (void)unused;
    lakehouse self;
    bool was_dropped;
    open_lakehouse(&self);
    const nl_pointer_change change = {.identifier = {scope, 2, NL_STR("t")}, .next = NL_STR("file:/1")};
    assert_fails(nl_tables_drop_namespace(self.tables, self.plain.id, scope, 1, NULL, &was_dropped), NILAS_NAMESPACE_NOT_EMPTY, "Namespace a is not empty.");
    assert_ok(nl_tables_commit(self.tables, self.plain.id, &change, 1));
    assert_fails(nl_tables_drop_namespace(self.tables, self.plain.id, scope, 2, NULL, &was_dropped), NILAS_NAMESPACE_NOT_EMPTY, "Namespace a.b is not empty.");
    assert_ok(nl_tables_drop(self.tables, self.plain.id, &change.identifier, false, (nl_str){0}, NULL, &was_dropped));
    assert_true(was_dropped);
    assert_ok(nl_tables_drop_namespace(self.tables, self.plain.id, scope, 2, NULL, &was_dropped));
    assert_true(was_dropped);
    assert_ok(nl_tables_drop_namespace(self.tables, self.plain.id, scope, 2, NULL, &was_dropped));
    assert_false(was_dropped);
    close_lakehouse(&self);
}

static void test_pointers_change_all_or_none(void **unused)
{
    (void)unused;
    lakehouse self;
    nl_table_entry entry;
    bool exists;
    open_lakehouse(&self);
    const nl_pointer_change make[] = {{.identifier = {scope, 1, NL_STR("one")}, .next = NL_STR("f1")}, {.identifier = {scope, 1, NL_STR("two")}, .next = NL_STR("g1")}};
    assert_ok(nl_tables_commit(self.tables, self.plain.id, make, 2));
    assert_fails(nl_tables_commit(self.tables, self.plain.id, make, 2), TABLE_OR_VIEW_ALREADY_EXISTS, "`a`.`one`");
    const nl_pointer_change stale[] = {{.identifier = make[0].identifier, .expected = NL_STR("f1"), .next = NL_STR("f2")},
                                       {.identifier = make[1].identifier, .expected = NL_STR("g0"), .next = NL_STR("g2")}};
    assert_fails(nl_tables_commit(self.tables, self.plain.id, stale, 2), NILAS_COMMIT_FAILED, "`a`.`two`");
    assert_ok(nl_tables_find(self.tables, self.plain.id, &make[0].identifier, self.arena, &entry, &exists));
    assert_text(entry.metadata_location, "f1");
    const nl_str token = entry.version_token;
    assert_ok(nl_tables_commit(self.tables, self.plain.id, stale, 1));
    assert_ok(nl_tables_find(self.tables, self.plain.id, &make[0].identifier, self.arena, &entry, &exists));
    assert_text(entry.metadata_location, "f2");
    assert_text(entry.previous_metadata_location, "f1");
    assert_false(nl_str_equal(entry.version_token, token));
    const nl_pointer_change by_token = {.identifier = make[0].identifier, .expected_token = token, .next = NL_STR("f3")};
    assert_fails(nl_tables_commit(self.tables, self.plain.id, &by_token, 1), NILAS_COMMIT_FAILED, "version token");
    assert_fails(nl_tables_rename(self.tables, self.plain.id, &make[0].identifier, &make[1].identifier, false, (nl_str){0}, NULL), TABLE_OR_VIEW_ALREADY_EXISTS, "`a`.`two`");
    const nl_identifier other = {scope + 1, 1, NL_STR("one")};
    assert_fails(nl_tables_rename(self.tables, self.plain.id, &make[0].identifier, &other, false, (nl_str){0}, NULL), SCHEMA_NOT_FOUND, "`b`");
    close_lakehouse(&self);
}

static void test_what_was_committed_is_there_after_a_restart(void **unused)
{
    (void)unused;
    lakehouse self;
    const nl_table_entry *entries;
    uint32_t count;
    open_lakehouse(&self);
    assert_ok(nl_tables_list(self.tables, self.plain.id, scope, 1, false, (nl_str){0}, (nl_str){0}, 10, self.arena, &entries, &count));
    assert_int_equal(count, 2);
    assert_text(entries[0].metadata_location, "f2");
    assert_ok(nl_tables_list(self.tables, self.plain.id, scope, 1, false, NL_STR("t"), NL_STR("one"), 10, self.arena, &entries, &count));
    assert_int_equal(count, 1);
    close_lakehouse(&self);
}

static void test_a_bucket_is_taken_once_and_goes_with_its_table(void **unused)
{
    (void)unused;
    lakehouse self;
    nl_str uuid, location;
    bool exists, was_dropped;
    nl_table_entry entry;
    open_lakehouse(&self);
    assert_ok(nl_tables_create_namespace(self.tables, self.bucket.id, scope, 1, NULL, 0, NULL));
    assert_ok(nl_tables_new_storage(self.tables, self.arena, &uuid, &location));
    assert_true(nl_str_equal(nl_tables_storage_uuid(location), uuid));
    const nl_str file = nl_arena_f(self.arena, NL_STR_FMT "/metadata/x", NL_STR_ARG(location));
    nl_fs *fs;
    assert_ok(nl_tables_fs(self.tables, location, &fs));
    assert_ok(nl_fs_write_all(fs, file, (nl_bytes){(const uint8_t *)"x", 1}));
    nl_pointer_change change = {.identifier = {scope, 1, NL_STR("t")}, .next = file, .warehouse_location = location, .uuid = uuid};
    assert_ok(nl_tables_commit(self.tables, self.bucket.id, &change, 1));
    nl_pointer_change thief = {.identifier = {scope, 1, NL_STR("u")}, .next = file, .warehouse_location = location};
    assert_fails(nl_tables_commit(self.tables, self.bucket.id, &thief, 1), NILAS_ILLEGAL_ARGUMENT, "was not made for this table");
    assert_fails(nl_tables_check_location(self.tables, &self.plain, file), NILAS_ILLEGAL_ARGUMENT, "belongs to a table bucket");
    assert_ok(nl_tables_put_document(self.tables, uuid, NL_STR("tags"), NL_STR("{}")));
    assert_ok(nl_tables_find_uuid(self.tables, uuid, self.arena, &entry, &exists));
    assert_true(exists);
    assert_fails(nl_tables_drop_warehouse(self.tables, self.bucket.id), NILAS_NAMESPACE_NOT_EMPTY, NULL);
    assert_ok(nl_tables_drop(self.tables, self.bucket.id, &change.identifier, false, entry.version_token, NULL, &was_dropped));
    assert_true(was_dropped);
    assert_ok(nl_fs_exists(fs, file, &exists));
    assert_false(exists);
    nl_str text;
    assert_ok(nl_tables_get_document(self.tables, uuid, NL_STR("tags"), self.arena, &text));
    assert_null(text.data);
    close_lakehouse(&self);
}

static void test_locations_stay_below_the_warehouse(void **unused)
{
    (void)unused;
    lakehouse self;
    open_lakehouse(&self);
    static const char *const bad[] = {"file:/etc/x", "/etc/x", "file:%s/warehouse/../x", "file:%s/warehouse", "file:%s/warehouse2/x"};
    for (size_t i = 0; i < NL_COUNT(bad); i++) {
        nl_str location = nl_str_from(bad[i]);
        const size_t at = nl_str_find(location, NL_STR("%s"), 0);
        if (at != NL_NOT_FOUND)
            location = nl_arena_f(self.arena, "%.*s%s%.*s", (int)at, location.data, folder, (int)(location.length - at - 2), location.data + at + 2);
        assert_fails(nl_tables_check_location(self.tables, &self.plain, location), NILAS_ILLEGAL_ARGUMENT, "not below");
    }
    assert_ok(nl_tables_check_location(self.tables, &self.plain, nl_arena_f(self.arena, "%s/warehouse/x/y", folder)));
    assert_fails(nl_tables_check_location(self.tables, &self.plain, NL_STR("hdfs://x/y")), NILAS_UNSUPPORTED, "hdfs://x/y");
    nl_str location;
    const nl_str odd[] = {NL_STR(".."), NL_STR("x/y")};
    const nl_identifier identifier = {odd, 2, NL_STR("%t")};
    assert_ok(nl_tables_default_location(self.tables, &self.plain, &identifier, self.arena, &location));
    assert_true(nl_str_ends(location, NL_STR("/warehouse/%2E%2E/x%2Fy/%25t")));
    assert_ok(nl_tables_check_location(self.tables, &self.plain, location));
    close_lakehouse(&self);
}

static void test_the_engine_sees_a_warehouse_as_a_catalog(void **unused)
{
    (void)unused;
    lakehouse self;
    nl_catalog *catalog;
    nl_iceberg_table *table = NULL;
    const nl_schema *schema;
    bool was_dropped;
    open_lakehouse(&self);
    for (uint32_t round = 0; round < 2; round++) {
        const int64_t id = round ? self.bucket.id : self.plain.id;
        const nl_commit_environment environment = {0};
        const nl_ice_field field = {.id = 1, .name = NL_STR("x"), .type = nl_ice_type_of(NL_ICE_LONG)};
        assert_ok(nl_schema_new(self.arena, 0, nl_ice_type_struct(self.arena, &field, 1), NULL, 0, &schema));
        assert_ok(nl_tables_catalog(self.tables, id, NL_STR("lake"), &environment, &catalog));
        const nl_identifier identifier = {scope, 1, NL_STR("engine")};
        const nl_table_request request = {.schema = schema};
        assert_ok(nl_catalog_create_table(catalog, &identifier, &request, &table));
        assert_true(nl_str_starts(table->metadata->location, round ? NL_STR("s3://") : NL_STR("file:")));
        assert_fails(nl_catalog_create_table(catalog, &identifier, &request, &(nl_iceberg_table *){NULL}), TABLE_OR_VIEW_ALREADY_EXISTS, "engine");
        const nl_property property = {NL_STR("k"), NL_STR("v")};
        const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&property, 1}};
        const nl_table_metadata *updated, *committed;
        assert_ok(nl_table_metadata_update(table->metadata, &update, 1, NULL, &updated));
        assert_ok(table->store->ops->swap(table->store, table->metadata, updated, NULL, &committed));
        assert_text(nl_table_property(committed, "k", ""), "v");
        nl_table_metadata_release(committed);
        assert_fails(table->store->ops->swap(table->store, table->metadata, updated, NULL, &committed), NILAS_COMMIT_FAILED, "has changed");
        nl_table_metadata_release(updated);
        nl_iceberg_table_release(table);
        assert_ok(nl_catalog_load_table(catalog, &identifier, &table));
        assert_text(nl_table_property(table->metadata, "k", ""), "v");
        nl_iceberg_table_release(table);
        assert_ok(nl_catalog_drop_table(catalog, &identifier, true, &was_dropped));
        assert_true(was_dropped);
        assert_fails(nl_catalog_load_table(catalog, &identifier, &table), TABLE_OR_VIEW_NOT_FOUND, "engine");
        nl_catalog_release(catalog);
    }
    close_lakehouse(&self);
}

static nl_status change_to(nl_iceberg_table *table, const nl_table_update *update)
{
    const nl_table_metadata *updated = NULL, *committed = NULL;
    assert_ok(nl_table_metadata_update(table->metadata, update, 1, NULL, &updated));
    nl_status status = table->store->ops->swap(table->store, table->metadata, updated, NULL, &committed);
    nl_table_metadata_release(updated);
    nl_table_metadata_release(committed);
    return status;
}

/* The engine's catalog is what clients of Athena and Trino reach: metadata is written nowhere but below the warehouse, and in a
 * table bucket in the table's own storage. */
static void test_clients_of_the_engine_choose_no_place_outside(void **unused)
{
    (void)unused;
    lakehouse self;
    open_lakehouse(&self);
    char outside[96], below[128], beside[128];
    snprintf(outside, sizeof(outside), "%s/outside", folder);
    snprintf(below, sizeof(below), "file:%s/warehouse/elsewhere", folder);
    snprintf(beside, sizeof(beside), "file:%s/warehouse/../outside", folder);
    for (uint32_t round = 0; round < 2; round++) {
        nl_catalog *catalog;
        nl_iceberg_table *table = NULL, *other = NULL;
        const nl_schema *schema;
        const nl_commit_environment environment = {0};
        const nl_ice_field field = {.id = 1, .name = NL_STR("x"), .type = nl_ice_type_of(NL_ICE_LONG)};
        const nl_identifier identifier = {scope, 1, NL_STR("placed")}, second = {scope, 1, NL_STR("second")};
        const char *const wrong[] = {outside, beside, "/", "file:/etc", round ? "s3://b/x" : "file:", round ? below : outside};
        bool was_dropped;
        assert_ok(nl_schema_new(self.arena, 0, nl_ice_type_struct(self.arena, &field, 1), NULL, 0, &schema));
        assert_ok(nl_tables_catalog(self.tables, round ? self.bucket.id : self.plain.id, NL_STR("lake"), &environment, &catalog));
        assert_ok(nl_catalog_create_table(catalog, &identifier, &(nl_table_request){.schema = schema}, &table));
        for (size_t i = 0; i < NL_COUNT(wrong); i++) {
            const nl_property path = {NL_STR("write.metadata.path"), nl_str_from(wrong[i])};
            assert_fails(change_to(table, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&path, 1}}), NILAS_ILLEGAL_ARGUMENT, "ocation");
            assert_fails(change_to(table, &(nl_table_update){.kind = NL_UPDATE_SET_LOCATION, .text = nl_str_from(wrong[i])}), NILAS_ILLEGAL_ARGUMENT, "ocation");
            assert_fails(nl_catalog_create_table(catalog, &second, &(nl_table_request){.schema = schema, .properties = &path, .property_count = 1}, &other), NILAS_ILLEGAL_ARGUMENT, "ocation");
        }
        assert_int_not_equal(access(outside, F_OK), 0);
        if (round == 0) {
            const nl_property path = {NL_STR("write.metadata.path"), nl_str_from(below)};
            assert_ok(change_to(table, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&path, 1}}));
        }
        nl_iceberg_table_release(table);
        assert_ok(nl_catalog_drop_table(catalog, &identifier, true, &was_dropped));
        nl_catalog_release(catalog);
    }
    close_lakehouse(&self);
}

/* PURGE keeps to gc.enabled, and to what was looked at: another state of the table, or another table of that name, stays. */
static void test_a_purge_is_of_what_was_looked_at(void **unused)
{
    (void)unused;
    lakehouse self;
    nl_catalog *catalog;
    nl_iceberg_table *table = NULL;
    const nl_schema *schema;
    nl_table_entry entry;
    bool was_dropped = true, exists;
    const nl_commit_environment environment = {0};
    const nl_ice_field field = {.id = 1, .name = NL_STR("x"), .type = nl_ice_type_of(NL_ICE_LONG)};
    const nl_identifier identifier = {scope, 1, NL_STR("kept")};
    const nl_property off = {NL_STR("gc.enabled"), NL_STR("false")}, on = {NL_STR("gc.enabled"), NL_STR("true")};
    open_lakehouse(&self);
    assert_ok(nl_schema_new(self.arena, 0, nl_ice_type_struct(self.arena, &field, 1), NULL, 0, &schema));
    assert_ok(nl_tables_catalog(self.tables, self.plain.id, NL_STR("lake"), &environment, &catalog));
    assert_ok(nl_catalog_create_table(catalog, &identifier, &(nl_table_request){.schema = schema, .properties = &off, .property_count = 1}, &table));
    const char *file = nl_str_c(self.arena, nl_path_local(self.arena, table->metadata->metadata_file));
    assert_fails(nl_catalog_drop_table(catalog, &identifier, true, &was_dropped), NILAS_VALIDATION_FAILED, "Cannot purge table: GC is disabled");
    assert_int_equal(access(file, F_OK), 0);
    assert_ok(nl_tables_find(self.tables, self.plain.id, &identifier, self.arena, &entry, &exists));
    assert_true(exists);
    assert_ok(change_to(table, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&on, 1}}));
    nl_status status = nl_tables_drop(self.tables, self.plain.id, &identifier, false, entry.version_token, NULL, &was_dropped); /* the token of before */
    assert_non_null(status);
    nl_error_free(status);
    assert_ok(nl_tables_find(self.tables, self.plain.id, &identifier, self.arena, &entry, &exists));
    assert_true(exists);
    assert_ok(nl_catalog_drop_table(catalog, &identifier, true, &was_dropped));
    assert_true(was_dropped);
    assert_int_not_equal(access(file, F_OK), 0);
    nl_iceberg_table_release(table);
    nl_catalog_release(catalog);
    close_lakehouse(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_namespaces_nest_and_list_in_pages),
        cmocka_unit_test(test_a_namespace_with_something_in_it_is_not_dropped),
        cmocka_unit_test(test_pointers_change_all_or_none),
        cmocka_unit_test(test_what_was_committed_is_there_after_a_restart),
        cmocka_unit_test(test_a_bucket_is_taken_once_and_goes_with_its_table),
        cmocka_unit_test(test_locations_stay_below_the_warehouse),
        cmocka_unit_test(test_the_engine_sees_a_warehouse_as_a_catalog),
        cmocka_unit_test(test_clients_of_the_engine_choose_no_place_outside),
        cmocka_unit_test(test_a_purge_is_of_what_was_looked_at),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
