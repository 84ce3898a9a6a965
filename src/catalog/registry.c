/* catalog/registry.c - Spark's configuration of a catalog to an implementation: a row per type and class name. */
#include "catalog/catalog_private.h"
#include "catalog/rest/rest.h"

typedef nl_status (*open_catalog)(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment,
                                  nl_memory *memory, nl_catalog **catalog);

typedef struct catalog_row {
    const char *type;       /* value of `type` */
    const char *class_name; /* value of `catalog-impl` */
    open_catalog open;      /* NULL: known, not there yet */
} catalog_row;

static const catalog_row rows[] = {
    {"hadoop", "org.apache.iceberg.hadoop.HadoopCatalog", nl_hadoop_catalog_open},
    {"hive", "org.apache.iceberg.hive.HiveCatalog", nl_hive_catalog_open},
    {"rest", "org.apache.iceberg.rest.RESTCatalog", nl_remote_catalog_open},
    {"jdbc", "org.apache.iceberg.jdbc.JdbcCatalog", nl_jdbc_catalog_open},
    {"in-memory", "org.apache.iceberg.inmemory.InMemoryCatalog", nl_memory_catalog_open},
    {"glue", "org.apache.iceberg.aws.glue.GlueCatalog", nl_glue_catalog_open},
    {"nessie", "org.apache.iceberg.nessie.NessieCatalog", nl_nessie_catalog_open},
};

static const char *const spark_classes[] = {"org.apache.iceberg.spark.SparkCatalog", "org.apache.iceberg.spark.SparkSessionCatalog"};

static nl_str property_of(const nl_property *properties, uint32_t property_count, const char *key)
{
    for (uint32_t i = 0; i < property_count; i++)
        if (nl_str_is(properties[i].key, key)) return properties[i].value;
    return (nl_str){0};
}

static nl_status check_spark_class(nl_str name, nl_str class_name)
{
    for (uint32_t i = 0; i < NL_COUNT(spark_classes); i++)
        if (nl_str_is(class_name, spark_classes[i])) return NULL;
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog " NL_STR_FMT " is configured with the class " NL_STR_FMT ", which nilas does not have. It has %s and %s.",
                         NL_STR_ARG(name), NL_STR_ARG(class_name), spark_classes[0], spark_classes[1]);
}

static const catalog_row *find_row(nl_str type, nl_str class_name)
{
    for (uint32_t i = 0; i < NL_COUNT(rows); i++)
        if (type.data ? nl_str_is_nocase(type, rows[i].type) : nl_str_is(class_name, rows[i].class_name)) return &rows[i];
    return NULL;
}

static nl_status unknown_catalog(nl_str name, nl_str what)
{
    nl_builder known;
    nl_builder_init(&known, 4096);
    for (uint32_t i = 0; i < NL_COUNT(rows); i++)
        if (rows[i].open) nl_append_f(&known, "%s%s (%s)", known.length ? ", " : "", rows[i].type, rows[i].class_name);
    nl_status status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Catalog " NL_STR_FMT ": nilas has no catalog implementation " NL_STR_FMT ". It has %s.",
                                     NL_STR_ARG(name), NL_STR_ARG(what), nl_builder_c(&known));
    nl_builder_fini(&known);
    return status;
}

nl_status nl_catalog_open(nl_str name, const nl_property *properties, uint32_t property_count, const nl_commit_environment *environment, nl_memory *memory,
                          nl_catalog **catalog)
{
    NL_TRY(check_spark_class(name, property_of(properties, property_count, "")));
    const nl_str type = property_of(properties, property_count, "type");
    const nl_str class_name = property_of(properties, property_count, "catalog-impl");
    if (type.data && class_name.data)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot create catalog " NL_STR_FMT ", both type and catalog-impl are set: type=" NL_STR_FMT ", catalog-impl=" NL_STR_FMT,
                             NL_STR_ARG(name), NL_STR_ARG(type), NL_STR_ARG(class_name));
    const catalog_row *row = find_row(type.data || class_name.data ? type : NL_STR("hive"), class_name);
    if (!row || !row->open) return unknown_catalog(name, type.data ? type : class_name.data ? class_name : NL_STR("hive (the default without type and catalog-impl)"));
    return row->open(name, properties, property_count, environment, memory, catalog);
}
