/* catalog/metadata_cache_test.c - entries hold for one state of a file, and go when others need the room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "catalog/metadata_cache.h"

#include <stdio.h>

static const nl_table_metadata *parse(const char *location, const char *file)
{
    char json[1024];
    const nl_table_metadata *metadata = NULL;
    snprintf(json, sizeof(json),
             "{\"format-version\":2,\"table-uuid\":\"f79c3e09-677c-4bbd-a479-3f349cb785e7\",\"location\":\"%s\",\"last-sequence-number\":0,"
             "\"last-updated-ms\":1,\"last-column-id\":1,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,"
             "\"name\":\"a\",\"required\":false,\"type\":\"int\"}]}],\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],"
             "\"last-partition-id\":999,\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{},"
             "\"current-snapshot-id\":-1,\"refs\":{},\"snapshots\":[],\"statistics\":[],\"partition-statistics\":[],\"snapshot-log\":[],\"metadata-log\":[]}",
             location);
    assert_null(nl_table_metadata_parse((nl_bytes){(const uint8_t *)json, strlen(json)}, nl_str_from(file), NULL, &metadata));
    return metadata;
}

static void test_an_entry_holds_for_the_same_size_and_time_only(void **state)
{
    nl_metadata_cache *cache = nl_metadata_cache_new();
    const nl_table_metadata *metadata = parse("/w/t", "/w/t/metadata/v1.metadata.json");
    nl_file_info file = {.path = metadata->metadata_file, .size_bytes = 100, .modified_micros = 5};
    (void)state;
    assert_null(nl_metadata_cache_find(cache, &file));
    nl_metadata_cache_put(cache, &file, metadata);
    const nl_table_metadata *found = nl_metadata_cache_find(cache, &file);
    assert_ptr_equal(found, metadata);
    nl_table_metadata_release(found);
    file.modified_micros = 6;
    assert_null(nl_metadata_cache_find(cache, &file));
    file.modified_micros = 5;
    file.size_bytes = 101;
    assert_null(nl_metadata_cache_find(cache, &file));
    nl_table_metadata_release(metadata);
    nl_metadata_cache_free(cache);
}

static void test_a_new_version_takes_the_place_of_the_old_one(void **state)
{
    nl_metadata_cache *cache = nl_metadata_cache_new();
    const nl_table_metadata *first = parse("/w/t", "/w/t/metadata/v1.metadata.json"), *second = parse("/w/t", "/w/t/metadata/v2.metadata.json");
    const nl_file_info one = {.path = first->metadata_file, .size_bytes = 100}, two = {.path = second->metadata_file, .size_bytes = 100};
    (void)state;
    nl_metadata_cache_put(cache, &one, first);
    nl_metadata_cache_put(cache, &two, second);
    assert_null(nl_metadata_cache_find(cache, &one));
    const nl_table_metadata *found = nl_metadata_cache_find(cache, &two);
    assert_ptr_equal(found, second);
    nl_table_metadata_release(found);
    nl_table_metadata_release(first);
    nl_table_metadata_release(second);
    nl_metadata_cache_free(cache);
}

static void test_many_tables_and_large_files_stay_within_the_limits(void **state)
{
    enum { TABLES = 40 };
    nl_metadata_cache *cache = nl_metadata_cache_new();
    uint32_t kept = 0;
    (void)state;
    for (int i = 0; i < TABLES; i++) {
        char location[32], path[64];
        snprintf(location, sizeof(location), "/w/t%d", i);
        snprintf(path, sizeof(path), "/w/t%d/metadata/v1.metadata.json", i);
        const nl_table_metadata *metadata = parse(location, path);
        const nl_file_info file = {.path = nl_str_from(path), .size_bytes = 30u << 20};
        nl_metadata_cache_put(cache, &file, metadata);
        const nl_table_metadata *found = nl_metadata_cache_find(cache, &file);
        assert_ptr_equal(found, metadata);
        nl_table_metadata_release(found);
        nl_table_metadata_release(metadata);
    }
    for (int i = 0; i < TABLES; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/w/t%d/metadata/v1.metadata.json", i);
        const nl_file_info file = {.path = nl_str_from(path), .size_bytes = 30u << 20};
        const nl_table_metadata *found = nl_metadata_cache_find(cache, &file);
        kept += found != NULL;
        nl_table_metadata_release(found);
    }
    assert_int_equal(kept, 2); /* 64 MiB of files of 30 MiB each */
    nl_metadata_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_entry_holds_for_the_same_size_and_time_only),
        cmocka_unit_test(test_a_new_version_takes_the_place_of_the_old_one),
        cmocka_unit_test(test_many_tables_and_large_files_stay_within_the_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
