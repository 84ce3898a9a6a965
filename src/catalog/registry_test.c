#include "base/test_support.h"
#include "catalog/catalog.h"

static nl_memory *memory;
static const nl_commit_environment environment;

static int make_memory(void **state)
{
    (void)state;
    memory = nl_memory_new(NULL, "test", 1 << 20);
    return 0;
}

static int free_memory(void **state)
{
    (void)state;
    nl_memory_release(memory);
    return 0;
}

static nl_status open_with(const char *class_name, const char *type, const char *implementation, const char *warehouse, nl_catalog **catalog)
{
    nl_property properties[4];
    uint32_t count = 0;
    properties[count++] = (nl_property){NL_STR(""), nl_str_from(class_name)};
    if (type) properties[count++] = (nl_property){NL_STR("type"), nl_str_from(type)};
    if (implementation) properties[count++] = (nl_property){NL_STR("catalog-impl"), nl_str_from(implementation)};
    if (warehouse) properties[count++] = (nl_property){NL_STR("warehouse"), nl_str_from(warehouse)};
    return nl_catalog_open(NL_STR("lake"), properties, count, &environment, memory, catalog);
}

#define SPARK_CATALOG "org.apache.iceberg.spark.SparkCatalog"

static void test_type_or_class_name_opens_a_hadoop_catalog(void **state)
{
    (void)state;
    static const char *const ways[][2] = {{"hadoop", NULL}, {"HADOOP", NULL}, {NULL, "org.apache.iceberg.hadoop.HadoopCatalog"}};
    for (size_t i = 0; i < NL_COUNT(ways); i++) {
        nl_catalog *catalog = NULL;
        assert_ok(open_with(SPARK_CATALOG, ways[i][0], ways[i][1], "/tmp", &catalog));
        assert_text(catalog->name, "lake");
        nl_catalog_release(catalog);
    }
}

static void test_what_is_not_there_is_named_with_what_is(void **state)
{
    (void)state;
    nl_catalog *catalog = NULL;
    assert_fails(open_with("org.example.Other", "hadoop", NULL, "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, "org.example.Other");
    assert_fails(open_with("org.example.Other", "hadoop", NULL, "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, SPARK_CATALOG);
    assert_fails(open_with(SPARK_CATALOG, "hadop", NULL, "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, "hadop. It has hadoop (org.apache.iceberg.hadoop.HadoopCatalog)");
    assert_fails(open_with(SPARK_CATALOG, NULL, "org.example.Impl", "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, "org.example.Impl");
    assert_fails(open_with(SPARK_CATALOG, NULL, NULL, "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, "Hive catalog lake needs the address of a metastore"); /* hive is the default */
}

static void test_bad_combinations_are_refused(void **state)
{
    (void)state;
    nl_catalog *catalog = NULL;
    assert_fails(open_with(SPARK_CATALOG, "hadoop", "org.apache.iceberg.hadoop.HadoopCatalog", "/tmp", &catalog), NILAS_ILLEGAL_ARGUMENT, "both type and catalog-impl are set");
    assert_fails(open_with(SPARK_CATALOG, "hadoop", NULL, NULL, &catalog), NILAS_ILLEGAL_ARGUMENT, "warehousePath must not be null or empty");
    assert_fails(open_with(SPARK_CATALOG, "hadoop", NULL, "", &catalog), NILAS_ILLEGAL_ARGUMENT, "warehousePath must not be null or empty");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_or_class_name_opens_a_hadoop_catalog),
        cmocka_unit_test(test_what_is_not_there_is_named_with_what_is),
        cmocka_unit_test(test_bad_combinations_are_refused),
    };
    return cmocka_run_group_tests(tests, make_memory, free_memory);
}
