/* catalog/jdbc/jdbc_test.c - tables as rows of a database, others' changes at the worst moment. */
#include "base/sqlite.h"
#include "catalog/catalog.h"
#include "iceberg/operation.h"
#include "storage/test_s3.h"

static const nl_str namespace_parts[] = {NL_STR_INIT("db")};
static const nl_identifier identifier = {namespace_parts, 1, NL_STR_INIT("t")};
static const nl_commit_environment nobody;

typedef struct place {
    fixture *s3;
    char database[64], uri[96];
    nl_catalog *catalog;
    nl_arena *arena;
} place;
static place here;

static nl_catalog *open_catalog(void)
{
    const nl_property properties[] = {{NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")}, {NL_STR("type"), NL_STR("jdbc")}, {NL_STR("uri"), nl_str_from(here.uri)},
                                      {NL_STR("warehouse"), NL_STR("s3://b/w")}, {NL_STR("s3.endpoint"), nl_str_from(here.s3->server.url)},
                                      {NL_STR("s3.access-key-id"), NL_STR("me")}, {NL_STR("s3.secret-access-key"), NL_STR("hidden")}};
    nl_catalog *opened = NULL;
    assert_ok(nl_catalog_open(NL_STR("lake"), properties, NL_COUNT(properties), &nobody, NULL, &opened));
    return opened;
}

static int set_up(void **state)
{
    (void)state;
    here = (place){.s3 = start(), .arena = nl_arena_new(NULL), .database = "/tmp/nilas-jdbc-XXXXXX"};
    close(mkstemp(here.database));
    snprintf(here.uri, sizeof(here.uri), "jdbc:sqlite:%s", here.database);
    here.catalog = open_catalog();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_catalog_release(here.catalog);
    nl_arena_free(here.arena);
    stop(here.s3);
    return unlink(here.database);
}

static nl_status add_property(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_property item = {nl_str_from(argument), NL_STR("1")};
    (void)base, (void)arena;
    return nl_metadata_builder_apply(builder, &(nl_table_update){.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&item, 1}});
}

static char current[256], previous[256];

static void note_current(nl_iceberg_table *table)
{
    snprintf(current, sizeof(current), "%.*s", NL_STR_ARG(table->metadata->metadata_file));
}

static nl_iceberg_table *create(void)
{
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)}};
    const nl_schema *schema = NULL;
    nl_iceberg_table *table = NULL;
    assert_ok(nl_schema_new(here.arena, 0, nl_ice_type_struct(here.arena, fields, 1), NULL, 0, &schema));
    assert_ok(nl_catalog_create_table(here.catalog, &identifier, &(nl_table_request){.schema = schema}, &table));
    return table;
}

static void point_to(const char *metadata_file)
{
    nl_sqlite *database = NULL;
    nl_sqlite_statement *statement;
    assert_ok(nl_sqlite_open(here.database, &(nl_sqlite_options){0}, &database));
    assert_ok(nl_sqlite_prepare(database, "UPDATE iceberg_tables SET metadata_location = ?", &statement));
    nl_sqlite_bind_text(statement, 1, nl_str_from(metadata_file));
    assert_ok(nl_sqlite_finish(statement, NULL));
    nl_sqlite_close(database);
}

/* Another commits when the metadata that is to be purged is being read. */
static void commit_meanwhile(mini_s3 *s3, const char *line)
{
    if (!strstr(line, "GET /b/w/db/t/metadata/00000-")) return;
    s3->before = NULL;
    point_to(current);
}

/* What is purged is what the row names when it goes: not a state that was read before, whose successor's files would stay
 * (or, had the name been given to another table meanwhile, would be gone from under it). */
static void test_a_purge_takes_what_the_row_names_last(void **state)
{
    (void)state;
    bool was_dropped = false;
    nl_iceberg_table *table = create();
    note_current(table);
    memcpy(previous, current, sizeof(previous));
    assert_ok(nl_table_change(table, add_property, NL_UNCONST("a")));
    note_current(table);
    nl_iceberg_table_release(table);
    point_to(previous);
    here.s3->s3.before = commit_meanwhile;
    nl_catalog *other = open_catalog(); /* it has read nothing yet */
    assert_ok(nl_catalog_drop_table(other, &identifier, true, &was_dropped));
    assert_null(here.s3->s3.before); /* it came to that */
    assert_true(was_dropped);
    assert_int_equal(here.s3->s3.count, 0);
    nl_catalog_release(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_purge_takes_what_the_row_names_last, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
