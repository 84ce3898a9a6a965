/* shell/up_services.c - see up_services.h. The ports are those of the emulator that the tutorials use. */
#include "shell/up_services.h"

#include "lakehouse/dashboard/dashboard.h"

static nl_status make_s3(const nl_up_stores *stores, nl_service **service)
{
    return nl_s3_service_new(stores->objects, stores->keys, service);
}

static nl_status make_s3tables(const nl_up_stores *stores, nl_service **service)
{
    return nl_s3tables_service_new(stores->tables, stores->keys, service);
}

static nl_status make_rest(const nl_up_stores *stores, nl_service **service)
{
    return nl_rest_service_new(stores->tables, stores->keys, service);
}

static nl_status make_dashboard(const nl_up_stores *stores, nl_service **service)
{
    return nl_dashboard_service_new(&(nl_dashboard_stores){.objects = stores->objects, .tables = stores->tables, .queries = stores->queries, .keys = stores->keys}, service);
}

static nl_status make_athena(const nl_up_stores *stores, nl_service **service)
{
    return nl_athena_service_new(stores->tables, stores->queries, stores->keys, service);
}

static nl_status make_trino(const nl_up_stores *stores, nl_service **service)
{
    return nl_trino_service_new(stores->tables, stores->queries, stores->keys, service);
}

static nl_status make_glue(const nl_up_stores *stores, nl_service **service)
{
    return nl_glue_service_new(stores->tables, stores->keys, service);
}

const nl_up_service nl_up_services[] = {
    {.name = "s3", .port = 9000, .aws_name = "s3", .note = "path style", .help = "Amazon S3: buckets and objects", .make = make_s3},
    {.name = "s3tables", .port = 8013, .aws_name = "s3tables", .note = "Iceberg REST below /iceberg", .needs = {"s3"}, .help = "Amazon S3 Tables, and its Iceberg REST catalog", .make = make_s3tables},
    {.name = "rest", .port = 8181, .note = "warehouse: warehouse", .needs = {"s3"}, .help = "a plain Iceberg REST catalog", .make = make_rest},
    {.name = "athena", .port = 8009, .aws_name = "athena", .needs = {"s3"}, .help = "Amazon Athena, over the engine of nilas", .make = make_athena},
    {.name = "trino", .port = 8485, .needs = {"s3", "s3tables", "rest"}, .help = "Trino's client protocol, over the engine of nilas", .make = make_trino},
    {.name = "glue", .port = 8486, .aws_name = "glue", .needs = {"s3"}, .help = "the Glue Data Catalog, which is Athena's AwsDataCatalog", .make = make_glue},
    {.name = "dashboard", .port = 8000, .help = "buckets, tables and their health in a browser", .make = make_dashboard},
};
const uint32_t nl_up_service_count = NL_COUNT(nl_up_services);

uint32_t nl_up_service_find(nl_str name)
{
    for (uint32_t i = 0; i < nl_up_service_count; i++)
        if (nl_str_is(name, nl_up_services[i].name)) return i;
    return nl_up_service_count;
}

void nl_up_service_want(uint32_t service, bool wanted[NL_UP_SERVICES_MAX])
{
    if (service >= nl_up_service_count || wanted[service]) return;
    wanted[service] = true;
    const nl_up_service *row = &nl_up_services[service];
    for (size_t i = 0; i < NL_COUNT(row->needs) && row->needs[i]; i++) nl_up_service_want(nl_up_service_find(nl_str_from(row->needs[i])), wanted);
}
