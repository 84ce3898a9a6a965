/* catalog/hadoop_versions_test.c - versions, hints and the race for the next version. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/catalog.h"
#include "iceberg/operation.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct place {
    char folder[64];
    nl_catalog *catalog;
    nl_arena *arena;
    nl_iceberg_table *table;
} place;

static const nl_str namespace_parts[] = {NL_STR_INIT("db")};
static const nl_identifier identifier = {namespace_parts, 1, NL_STR_INIT("t")};

static void must(nl_status status)
{
    if (status) fail_msg("%s", nl_error_message(status));
}

static nl_catalog *open_catalog(const place *here)
{
    static const nl_commit_environment nobody = {0};
    nl_catalog *catalog = NULL;
    const nl_property properties[] = {
        {NL_STR(""), NL_STR("org.apache.iceberg.spark.SparkCatalog")}, {NL_STR("type"), NL_STR("hadoop")}, {NL_STR("warehouse"), nl_str_from(here->folder)}};
    must(nl_catalog_open(NL_STR("lake"), properties, NL_COUNT(properties), &nobody, NULL, &catalog));
    return catalog;
}

static nl_iceberg_table *load(nl_catalog *catalog)
{
    nl_iceberg_table *table = NULL;
    must(nl_catalog_load_table(catalog, &identifier, &table));
    return table;
}

static int set_up(void **state)
{
    place *here = calloc(1, sizeof(*here));
    snprintf(here->folder, sizeof(here->folder), "/tmp/nilas-hadoop-XXXXXX");
    if (!mkdtemp(here->folder)) return 1;
    here->arena = nl_arena_new(NULL);
    here->catalog = open_catalog(here);
    const nl_field columns[] = {{.name = NL_STR("id"), .type = nl_type_bigint(), .is_nullable = true}};
    const nl_ice_type *root = NULL;
    const nl_schema *schema = NULL;
    must(nl_ice_type_from_sql(here->arena, nl_type_struct(here->arena, columns, NL_COUNT(columns)), &root));
    must(nl_schema_new(here->arena, 0, root, NULL, 0, &schema));
    const nl_table_request request = {.schema = schema};
    must(nl_catalog_create_namespace(here->catalog, namespace_parts, 1, NULL, 0));
    must(nl_catalog_create_table(here->catalog, &identifier, &request, &here->table));
    *state = here;
    return 0;
}

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts, (void)kind, (void)where;
    return remove(path);
}

static int tear_down(void **state)
{
    enum { OPEN_FOLDERS = 16 };
    place *here = *state;
    nl_iceberg_table_release(here->table);
    nl_catalog_release(here->catalog);
    nl_arena_free(here->arena);
    (void)nftw(here->folder, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
    free(here);
    return 0;
}

static nl_status set_property(void *argument, const nl_table_metadata *base, nl_arena *arena, nl_metadata_builder *builder)
{
    const nl_property item = {NL_STR("color"), nl_str_from(argument)};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&item, 1}};
    (void)base, (void)arena;
    return nl_metadata_builder_apply(builder, &update);
}

static void commit(nl_iceberg_table *table, const char *color)
{
    char text[16];
    snprintf(text, sizeof(text), "%s", color);
    must(nl_table_change(table, set_property, text));
}

static void assert_color(nl_iceberg_table *table, const char *color)
{
    const nl_table_metadata *metadata = nl_iceberg_table_metadata(table);
    const nl_str value = nl_table_property(metadata, "color", NULL);
    assert_true(nl_str_is(value, color));
    nl_table_metadata_release(metadata);
}

static void path_of(const place *here, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/db/t/metadata/%s", here->folder, name);
}

static void write_file(const place *here, const char *name, const char *content)
{
    char path[256];
    path_of(here, name, path, sizeof(path));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static bool exists(const place *here, const char *name)
{
    char path[256];
    path_of(here, name, path, sizeof(path));
    return access(path, F_OK) == 0;
}

static void test_hints_that_lie_do_not_hide_the_newest_version(void **state)
{
    static const char *const hints[] = {"", "garbage", "99", "1", "-4", "3\n", "999999999999999999999999", "\x01\x02"};
    const place *here = *state;
    commit(here->table, "red");
    commit(here->table, "green");
    for (size_t i = 0; i < NL_COUNT(hints); i++) {
        write_file(here, "version-hint.text", hints[i]);
        nl_catalog *fresh = open_catalog(here);
        nl_iceberg_table *table = load(fresh);
        assert_color(table, "green");
        nl_iceberg_table_release(table);
        nl_catalog_release(fresh);
    }
}

static void test_what_another_process_commits_is_seen(void **state)
{
    const place *here = *state;
    nl_catalog *other = open_catalog(here);
    nl_iceberg_table *theirs = load(other);
    commit(theirs, "blue");
    nl_iceberg_table *ours = load(here->catalog);
    assert_color(ours, "blue");
    nl_iceberg_table_release(ours);
    nl_iceberg_table_release(theirs);
    nl_catalog_release(other);
}

static void test_a_table_made_again_is_not_the_old_one(void **state)
{
    const place *here = *state;
    commit(here->table, "red");
    nl_catalog *other = open_catalog(here);
    nl_iceberg_table *again = NULL;
    bool was_dropped = false;
    must(nl_catalog_drop_table(other, &identifier, false, &was_dropped));
    assert_true(was_dropped);
    const nl_table_metadata *old = nl_iceberg_table_metadata(here->table);
    const nl_table_request request = {.schema = nl_table_schema(old)};
    must(nl_catalog_create_table(other, &identifier, &request, &again));
    commit(again, "black");
    nl_iceberg_table *ours = load(here->catalog);
    assert_color(ours, "black");
    nl_table_metadata_release(old);
    nl_iceberg_table_release(ours);
    nl_iceberg_table_release(again);
    nl_catalog_release(other);
}

/* The swap alone: no retry on newer metadata. */
static nl_status swap(const place *here, const nl_table_metadata *base)
{
    const nl_property item = {NL_STR("color"), NL_STR("late")};
    const nl_table_update update = {.kind = NL_UPDATE_SET_PROPERTIES, .properties = {&item, 1}};
    const nl_table_metadata *updated = NULL, *committed = NULL;
    must(nl_table_metadata_update(base, &update, 1, NULL, &updated));
    nl_status status = here->table->store->ops->swap(here->table->store, base, updated, NULL, &committed);
    nl_table_metadata_release(updated);
    nl_table_metadata_release(committed);
    return status;
}

static void assert_lost(nl_status status)
{
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_COMMIT_FAILED);
    nl_error_free(status);
}

static void test_a_stale_base_loses(void **state)
{
    const place *here = *state;
    const nl_table_metadata *base = nl_iceberg_table_metadata(here->table);
    nl_iceberg_table *other = load(here->catalog);
    commit(other, "first");
    assert_lost(swap(here, base));
    commit(here->table, "second"); /* refreshed and tried again */
    assert_color(here->table, "second");
    nl_iceberg_table_release(other);
    nl_table_metadata_release(base);
}

static void test_the_next_version_in_another_spelling_is_taken(void **state)
{
    const place *here = *state;
    const nl_table_metadata *base = nl_iceberg_table_metadata(here->table);
    write_file(here, "v2.gz.metadata.json", "somebody was here");
    assert_lost(swap(here, base));
    nl_table_metadata_release(base);
}

static void test_a_commit_takes_the_checksum_of_hadoops_hint_away(void **state)
{
    const place *here = *state;
    write_file(here, ".version-hint.text.crc", "crc");
    commit(here->table, "red");
    assert_false(exists(here, ".version-hint.text.crc"));
    assert_true(exists(here, "v2.metadata.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_hints_that_lie_do_not_hide_the_newest_version, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_another_process_commits_is_seen, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_table_made_again_is_not_the_old_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stale_base_loses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_next_version_in_another_spelling_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_commit_takes_the_checksum_of_hadoops_hint_away, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
