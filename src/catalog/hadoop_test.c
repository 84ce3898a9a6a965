#include "base/test_support.h"
#include "catalog/catalog.h"
#include "iceberg/metadata.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char warehouse[] = "/tmp/nilas-hadoop-XXXXXX";
static nl_memory *memory;
static nl_catalog *catalog;
static nl_arena *arena;
static const nl_commit_environment environment;

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static nl_catalog *open_catalog(void)
{
    const nl_property properties[] = {{NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")}, {NL_STR("type"), NL_STR("hadoop")},
                                      {NL_STR("warehouse"), nl_str_from(warehouse)}};
    nl_catalog *opened = NULL;
    assert_ok(nl_catalog_open(NL_STR("lake"), properties, NL_COUNT(properties), &environment, memory, &opened));
    return opened;
}

static int set_up(void **state)
{
    (void)state;
    snprintf(warehouse, sizeof warehouse, "/tmp/nilas-hadoop-XXXXXX");
    if (!mkdtemp(warehouse)) return 1;
    arena = nl_arena_new(NULL);
    memory = nl_memory_new(NULL, "test", 64 << 20);
    catalog = open_catalog();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_catalog_release(catalog);
    nl_memory_release(memory);
    nl_arena_free(arena);
    return nftw(warehouse, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static nl_identifier table_named(const char *name)
{
    static const nl_str db[] = {NL_STR_INIT("db")};
    return (nl_identifier){.namespace_parts = db, .namespace_count = 1, .name = nl_str_from(name)};
}

static nl_status create(const char *name, nl_iceberg_table **table)
{
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_schema *schema = NULL;
    const nl_identifier identifier = table_named(name);
    NL_TRY(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 1), NULL, 0, &schema));
    const nl_table_request request = {.schema = schema};
    return nl_catalog_create_table(catalog, &identifier, &request, table);
}

static const char *path_of(const char *rest)
{
    return nl_arena_f(arena, "%s/%s", warehouse, rest).data;
}

static void write_file(const char *rest, const char *content)
{
    FILE *file = fopen(path_of(rest), "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static bool exists(const char *rest)
{
    return access(path_of(rest), F_OK) == 0;
}

static void test_namespaces_are_folders(void **state)
{
    (void)state;
    const nl_str parts[] = {NL_STR("a"), NL_STR("b")};
    nl_name_list list;
    bool is_there = true;
    assert_ok(nl_catalog_namespace_exists(catalog, parts, 2, &is_there));
    assert_false(is_there);
    assert_ok(nl_catalog_create_namespace(catalog, parts, 2, NULL, 0));
    assert_true(exists("a/b"));
    assert_ok(nl_catalog_list_namespaces(catalog, NULL, 0, arena, &list));
    assert_int_equal(list.count, 1);
    assert_text(list.items[0].namespace_parts[0], "a");
    assert_ok(nl_catalog_list_namespaces(catalog, parts, 1, arena, &list));
    assert_int_equal(list.count, 1);
    assert_fails(nl_catalog_drop_namespace(catalog, parts, 1, &is_there), NILAS_NAMESPACE_NOT_EMPTY, "Namespace a is not empty.");
    assert_ok(nl_catalog_drop_namespace(catalog, parts, 2, &is_there));
    assert_true(is_there);
    assert_false(exists("a/b"));
}

static void test_a_table_is_a_folder_with_metadata(void **state)
{
    (void)state;
    nl_iceberg_table *table = NULL, *again = NULL;
    nl_name_list list;
    const nl_identifier identifier = table_named("t");
    bool flag = false;
    assert_ok(create("t", &table));
    nl_iceberg_table_release(table);
    assert_true(exists("db/t/metadata/v1.metadata.json"));
    assert_true(exists("db/t/metadata/version-hint.text"));
    assert_fails(create("t", &again), TABLE_OR_VIEW_ALREADY_EXISTS, "t");
    assert_ok(nl_catalog_list_tables(catalog, identifier.namespace_parts, 1, arena, &list));
    assert_int_equal(list.count, 1);
    assert_text(list.items[0].name, "t");
    assert_ok(nl_catalog_list_namespaces(catalog, identifier.namespace_parts, 1, arena, &list));
    assert_int_equal(list.count, 0); /* a table is no namespace */
    assert_ok(nl_catalog_table_exists(catalog, &identifier, &flag));
    assert_true(flag);
    assert_ok(nl_catalog_drop_table(catalog, &identifier, false, &flag));
    assert_true(flag);
    assert_false(exists("db/t"));
    assert_ok(nl_catalog_drop_table(catalog, &identifier, false, &flag));
    assert_false(flag);
}

/* The hint is a hint: missing, wrong, behind or ahead of the files, the newest version is found. */
static void test_the_version_hint_is_only_a_hint(void **state)
{
    (void)state;
    static const char *const hints[] = {NULL, "", "nonsense", "0", "1", "-5", "99999999999999999999", "1\n"};
    const nl_identifier identifier = table_named("t");
    nl_iceberg_table *table = NULL;
    assert_ok(create("t", &table));
    nl_iceberg_table_release(table);
    for (size_t i = 0; i < NL_COUNT(hints); i++) {
        if (hints[i])
            write_file("db/t/metadata/version-hint.text", hints[i]);
        else
            unlink(path_of("db/t/metadata/version-hint.text"));
        nl_catalog *other = open_catalog();
        assert_ok(nl_catalog_load_table(other, &identifier, &table));
        nl_iceberg_table_release(table);
        nl_catalog_release(other);
    }
}

static void test_broken_metadata_is_an_error_that_names_the_file(void **state)
{
    (void)state;
    const nl_identifier identifier = table_named("t");
    nl_iceberg_table *table = NULL;
    assert_ok(create("t", &table));
    nl_iceberg_table_release(table);
    write_file("db/t/metadata/v1.metadata.json", "{\"format-version\": 2,");
    nl_catalog *other = open_catalog();
    nl_error *error = nl_catalog_load_table(other, &identifier, &table);
    assert_non_null(error);
    assert_non_null(strstr(nl_error_message(error), "v1.metadata.json"));
    nl_error_free(error);
    nl_catalog_release(other);
}

static void test_tables_cannot_be_renamed_or_put_elsewhere(void **state)
{
    (void)state;
    const nl_identifier from = table_named("t"), to = table_named("u");
    nl_iceberg_table *table = NULL;
    assert_ok(create("t", &table));
    nl_iceberg_table_release(table);
    nl_error *error = nl_catalog_rename_table(catalog, &from, &to);
    assert_non_null(error);
    assert_non_null(strstr(nl_error_message(error), "Cannot rename Hadoop tables"));
    nl_error_free(error);
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_schema *schema = NULL;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 1), NULL, 0, &schema));
    const nl_table_request request = {.schema = schema, .location = NL_STR("/tmp/elsewhere")};
    error = nl_catalog_create_table(catalog, &to, &request, &table);
    assert_non_null(error);
    assert_non_null(strstr(nl_error_message(error), "custom location"));
    nl_error_free(error);
}

static void test_the_root_of_a_catalog_is_not_a_namespace_to_change(void **state)
{
    (void)state;
    const nl_property property = {NL_STR("a"), NL_STR("b")};
    bool was_dropped = false;
    nl_error *errors[] = {nl_catalog_create_namespace(catalog, NULL, 0, &property, 1), nl_catalog_drop_namespace(catalog, NULL, 0, &was_dropped),
                          nl_catalog_update_namespace(catalog, NULL, 0, &property, 1, NULL, 0)};
    for (size_t i = 0; i < NL_COUNT(errors); i++) {
        assert_non_null(errors[i]);
        assert_int_equal(nl_error_condition(errors[i]), NL_COND_NILAS_ILLEGAL_ARGUMENT);
        assert_non_null(strstr(nl_error_message(errors[i]), "lake is a catalog"));
        nl_error_free(errors[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_namespaces_are_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_table_is_a_folder_with_metadata, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_version_hint_is_only_a_hint, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_broken_metadata_is_an_error_that_names_the_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tables_cannot_be_renamed_or_put_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_root_of_a_catalog_is_not_a_namespace_to_change, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
