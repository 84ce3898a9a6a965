/* catalog/pointer_test.c - what a purge removes: the table's own files, not what its metadata names elsewhere. */
#include "base/test_support.h"
#include "catalog/pointer.h"

static const nl_table_metadata *metadata_naming(nl_arena *arena, const char *location, const char *property, const char *value, const char *file)
{
    const nl_table_metadata *metadata = NULL;
    const nl_str json = nl_arena_f(arena,
                                   "{\"format-version\":2,\"table-uuid\":\"9c12d441-03fe-4693-9a96-a0705ddf69c1\",\"location\":\"%s\",\"last-sequence-number\":0,\"last-updated-ms\":1,"
                                   "\"last-column-id\":1,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,"
                                   "\"type\":\"int\"}]}],\"default-spec-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],\"last-partition-id\":999,\"default-sort-order-id\":0,"
                                   "\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{\"%s\":\"%s\"},\"current-snapshot-id\":-1,\"refs\":{},\"snapshots\":[],"
                                   "\"statistics\":[],\"snapshot-log\":[],\"metadata-log\":[{\"timestamp-ms\":1,\"metadata-file\":\"%s\"}]}",
                                   location, property, value, file);
    assert_ok(nl_table_metadata_parse((nl_bytes){(const uint8_t *)json.data, json.length}, nl_arena_f(arena, "%s/metadata/now.metadata.json", location), NULL, &metadata));
    return metadata;
}

static void test_a_purge_stays_within_the_tables_places(void **state)
{
    (void)state;
    static const struct {
        const char *location, *property, *value, *file;
        bool is_removed;
    } rows[] = {
        {"s3://b/w/t", "k", "v", "s3://b/w/t/metadata/old.metadata.json", true},
        {"s3://b/w/t", "k", "v", "s3a://b/w/t/metadata/old.metadata.json", true},  /* the same bucket */
        {"s3://b/w/t", "k", "v", "s3://b/before/it/moved.metadata.json", true},    /* ALTER TABLE … SET LOCATION leaves such */
        {"s3://b/w/t", "k", "v", "s3://other/w/t/metadata/old.metadata.json", false},
        {"s3://b/w/t", "k", "v", "s3://b.other/w/t/old.metadata.json", false},
        {"s3://b/w/t", "k", "v", "/home/me/thesis.metadata.json", false},
        {"s3://b/w/t", "write.data.path", "s3://data/t", "s3://data/t/x.metadata.json", true},
        {"/w/t", "k", "v", "/w/t/metadata/old.metadata.json", true},
        {"/w/t", "k", "v", "file:/w/t/metadata/old.metadata.json", true},
        {"file:///w/t", "k", "v", "/w/t/metadata/old.metadata.json", true},
        {"/w/t", "k", "v", "/w/t2/metadata/old.metadata.json", false},
        {"/w/t", "k", "v", "/w/t/../t2/old.metadata.json", false},
        {"/w/t", "k", "v", "s3://b/old.metadata.json", false},
        {"/w/t", "write.metadata.path", "file:/m/t/", "/m/t/old.metadata.json", true},
        {"/", "k", "v", "/home/me/thesis.metadata.json", false},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_fs *fs = nl_fs_memory_new();
        const nl_str file = nl_str_from(rows[i].file);
        bool exists = false;
        assert_ok(nl_fs_write_all(fs, file, (nl_bytes){(const uint8_t *)"x", 1}));
        const nl_table_metadata *metadata = metadata_naming(arena, rows[i].location, rows[i].property, rows[i].value, rows[i].file);
        assert_ok(nl_purge_table_files(fs, metadata, NULL));
        assert_ok(nl_fs_exists(fs, file, &exists));
        if (exists == rows[i].is_removed) fail_msg("row %zu: %s below %s", i, rows[i].file, rows[i].location);
        nl_table_metadata_release(metadata);
        nl_fs_release(fs);
        nl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_purge_stays_within_the_tables_places)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
