/* iceberg/manifest_read_test.c - reading manifests and lists that real Spark wrote (format versions 1, 2 and 3). */
#include "base/test_support.h"

#include "iceberg/manifest.h"

typedef struct opened {
    nl_fs *fs;
    nl_arena *arena;
    nl_table_metadata *metadata;
    const nl_manifest_file *files;
    uint32_t file_count;
} opened;

/* Lists name files in /tmp/warehouse/db/<table>/metadata/; here they lie in the fixtures' folder. */
static nl_str moved(nl_arena *arena, const char *table, nl_str path)
{
    const nl_str name = nl_path_name(path);
    return nl_arena_f(arena, "tests/fixtures/iceberg/%s/" NL_STR_FMT, table, NL_STR_ARG(name));
}

static void open_table(opened *in, const char *table, const char *metadata_file)
{
    const nl_table_metadata *metadata;
    char name[256];
    snprintf(name, sizeof(name), "iceberg/%s/%s", table, metadata_file);
    in->fs = nl_fs_local();
    in->arena = nl_arena_new(NULL);
    assert_ok(nl_table_metadata_parse(read_fixture(in->arena, name), nl_str_from(name), NULL, &metadata));
    in->metadata = (nl_table_metadata *)(uintptr_t)metadata;
    const nl_str list = moved(in->arena, table, nl_table_current_snapshot(metadata)->manifest_list);
    assert_ok(nl_manifest_list_read(in->fs, list, NULL, in->arena, &in->files, &in->file_count));
    for (uint32_t i = 0; i < in->file_count; i++)
        ((nl_manifest_file *)(uintptr_t)in->files)[i].path = moved(in->arena, table, in->files[i].path);
}

static void close_table(opened *in)
{
    nl_table_metadata_release(in->metadata);
    nl_arena_free(in->arena);
    nl_fs_release(in->fs);
}

static void test_a_v2_list_and_its_manifests(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v2", "v10.metadata.json");
    assert_int_equal(table.file_count, 3); /* the last INSERT merged the two data manifests of the older spec */
    uint64_t live = 0;
    uint64_t deletes = 0;
    for (uint32_t i = 0; i < table.file_count; i++) {
        const nl_manifest *manifest;
        assert_ok(nl_manifest_read(table.fs, &table.files[i], NULL, &manifest));
        assert_int_equal(manifest->entry_count,
                         table.files[i].added_files_count + table.files[i].existing_files_count + table.files[i].deleted_files_count);
        assert_int_equal(manifest->content, table.files[i].content);
        assert_int_equal(manifest->format_version, 2);
        int64_t rows = 0;
        for (uint32_t k = 0; k < manifest->entry_count; k++) {
            const nl_manifest_entry *entry = &manifest->entries[k];
            rows += nl_manifest_entry_is_live(entry) ? entry->file.record_count : 0;
            assert_true(entry->sequence_number >= 1 && entry->sequence_number <= 4);
            assert_true(entry->file_sequence_number >= entry->sequence_number);
            assert_non_null(nl_table_snapshot(table.metadata, entry->snapshot_id));
            assert_true(nl_str_starts(entry->file.path, NL_STR("/tmp/warehouse/db/v2/data/")));
            assert_int_equal(entry->file.format, NL_FORMAT_PARQUET);
            nl_builder path;
            nl_builder_init(&path, 1024);
            nl_partition_append_path(manifest->spec, manifest->schema, entry->file.partition, &path);
            assert_true(nl_str_find(entry->file.path, nl_builder_str(&path), 0) != NL_NOT_FOUND);
            nl_builder_fini(&path);
        }
        assert_int_equal(rows, table.files[i].added_rows_count + table.files[i].existing_rows_count);
        live += manifest->live_count;
        deletes += manifest->content == NL_MANIFEST_DELETES ? manifest->live_count : 0;
        nl_manifest_release(manifest);
    }
    assert_int_equal(live, 8); /* 3 + 1 + 3 data files, 1 delete file */
    assert_int_equal(deletes, 1);
    close_table(&table);
}

static void test_typed_statistics_and_partition_columns(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v2", "v10.metadata.json");
    const nl_manifest_file *oldest = NULL; /* of the first two INSERTs: rows 1 to 5 in four files */
    for (uint32_t i = 0; i < table.file_count; i++)
        if (table.files[i].min_sequence_number == 1) oldest = &table.files[i];
    assert_non_null(oldest);
    const nl_manifest *manifest;
    assert_ok(nl_manifest_read(table.fs, oldest, NULL, &manifest));
    assert_int_equal(manifest->entry_count, 4);
    assert_int_equal(manifest->partition_count, 3);
    const nl_column_statistics *id;
    const nl_column_statistics *again;
    const nl_column_statistics *d;
    assert_ok(nl_manifest_statistics(manifest, 1, nl_ice_type_of(NL_ICE_LONG), &id));
    assert_ok(nl_manifest_statistics(manifest, 1, nl_ice_type_of(NL_ICE_LONG), &again));
    assert_ptr_equal(id, again);
    assert_ok(nl_manifest_statistics(manifest, 3, nl_ice_type_of(NL_ICE_DOUBLE), &d));
    for (uint32_t i = 0; i < 4; i++) {
        const nl_value *partition = manifest->entries[i].file.partition;
        const int64_t lower = ((const int64_t *)id->lower.values)[i];
        const int64_t upper = ((const int64_t *)id->upper.values)[i];
        assert_true(lower <= upper);
        assert_int_equal(((const int64_t *)id->null_count.values)[i], 0);
        if (lower == 1) { /* ids 1 and 2: s = ab…, dc = 1.25, d = 1.5 and NaN */
            assert_int_equal(upper, 2);
            assert_text(partition[0].text, "ab");
            assert_int_equal((int64_t)partition[1].decimal, 125);
            assert_int_equal(((const int64_t *)d->nan_count.values)[i], 1);
            assert_true(((const double *)d->upper.values)[i] == 1.5);
        }
        if (lower == 4) {
            assert_true(partition[0].is_null);
            assert_int_equal((int64_t)partition[1].decimal, -350);
        }
        const uint32_t index = manifest->entries[i].partition_index;
        assert_int_equal(nl_vector_is_null(&manifest->partition_columns[0], index), partition[0].is_null);
    }
    nl_manifest_release(manifest);
    close_table(&table);
}

static void test_v3_rows_inherit_their_ids_and_deletion_vectors_are_found(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v3", "v6.gz.metadata.json");
    uint32_t vectors = 0;
    for (uint32_t i = 0; i < table.file_count; i++) {
        const nl_manifest *manifest;
        assert_ok(nl_manifest_read(table.fs, &table.files[i], NULL, &manifest));
        for (uint32_t k = 0; k < manifest->entry_count; k++) {
            const nl_manifest_entry *entry = &manifest->entries[k];
            if (!nl_manifest_entry_is_live(entry)) continue;
            if (entry->file.content == NL_CONTENT_DATA) {
                assert_true(entry->file.first_row_id >= 0);
                assert_true(entry->file.first_row_id + entry->file.record_count <= table.metadata->next_row_id);
            } else {
                vectors++;
                assert_true(nl_data_file_is_deletion_vector(&entry->file));
                assert_true(entry->file.content_offset >= 4);
                assert_true(entry->file.content_size_bytes > 20);
                assert_true(nl_data_file_referenced(&entry->file).length > 0);
                assert_int_equal(entry->file.first_row_id, NL_NONE);
            }
        }
        nl_manifest_release(manifest);
    }
    assert_int_equal(vectors, 1); /* ids 1, 2 and then 5 lie in one file: the second vector replaced the first */
    close_table(&table);
}

static void test_v1_manifests_have_no_sequence_numbers(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v1", "v5.metadata.json");
    uint64_t live = 0;
    for (uint32_t i = 0; i < table.file_count; i++) {
        const nl_manifest *manifest;
        assert_ok(nl_manifest_read(table.fs, &table.files[i], NULL, &manifest));
        assert_int_equal(manifest->format_version, 1);
        for (uint32_t k = 0; k < manifest->entry_count; k++) {
            assert_int_equal(manifest->entries[k].sequence_number, 0);
            assert_int_equal(manifest->entries[k].file.content, NL_CONTENT_DATA);
        }
        live += manifest->live_count;
        nl_manifest_release(manifest);
    }
    assert_int_equal(live, 5);
    close_table(&table);
}

/* The partition folders of these tables show how Java prints every type and transform. */
static void test_paths_of_all_types_and_transforms_are_javas(void **state)
{
    (void)state;
    static const char *const tables[][2] = {{"types", "v3.metadata.json"}, {"trans", "v2.metadata.json"}};
    for (size_t t = 0; t < NL_COUNT(tables); t++) {
        opened table;
        open_table(&table, tables[t][0], tables[t][1]);
        uint32_t checked = 0;
        for (uint32_t i = 0; i < table.file_count; i++) {
            const nl_manifest *manifest;
            assert_ok(nl_manifest_read(table.fs, &table.files[i], NULL, &manifest));
            for (uint32_t k = 0; k < manifest->entry_count; k++) {
                const nl_data_file *file = &manifest->entries[k].file;
                nl_builder path;
                nl_builder_init(&path, 4096);
                nl_partition_append_path(manifest->spec, manifest->schema, file->partition, &path);
                const size_t data = nl_str_find(file->path, NL_STR("/data/"), 0) + 6;
                const nl_str folders = nl_str_slice(file->path, data, nl_str_find_last_char(file->path, '/'));
                assert_text(folders, nl_builder_c(&path));
                nl_builder_fini(&path);
                checked++;
            }
            nl_manifest_release(manifest);
        }
        assert_int_equal(checked, 3);
        close_table(&table);
    }
}

static void test_the_cache_gives_the_same_manifest_again_and_keeps_to_its_limit(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v2", "v10.metadata.json");
    nl_manifest_cache *cache = nl_manifest_cache_new(NULL, 1u << 20);
    const nl_manifest *a;
    const nl_manifest *b;
    assert_ok(nl_manifest_cache_read(cache, table.fs, &table.files[0], NULL, &a));
    assert_ok(nl_manifest_cache_read(cache, table.fs, &table.files[0], NULL, &b));
    assert_ptr_equal(a, b);
    nl_manifest_file other = table.files[0]; /* listed with another sequence number: entries inherit otherwise */
    other.sequence_number += 7;
    nl_manifest_release(b);
    assert_ok(nl_manifest_cache_read(cache, table.fs, &other, NULL, &b));
    assert_ptr_not_equal(a, b);
    nl_manifest_release(a);
    nl_manifest_release(b);
    nl_manifest_cache_free(cache);
    cache = nl_manifest_cache_new(NULL, 1000); /* too small for any: reads still work */
    assert_ok(nl_manifest_cache_read(cache, table.fs, &table.files[0], NULL, &a));
    nl_manifest_release(a);
    nl_manifest_cache_free(cache);
    close_table(&table);
}

static void test_damage_anywhere_never_does_harm(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_bytes content = read_fixture(arena, "iceberg/v1/4e083439-597a-480a-97fc-81d010ff9136-m0.avro");
    nl_fs *fs = nl_fs_memory_new();
    uint8_t *copy = nl_arena_alloc(arena, content.length);
    uint32_t refused = 0;
    for (size_t at = 0; at < content.length; at += 3) {
        memcpy(copy, content.data, content.length);
        copy[at] ^= 0xff;
        const nl_str path = NL_STR("memory:/m.avro");
        assert_ok(nl_fs_write_all(fs, path, (nl_bytes){copy, content.length}));
        const nl_manifest_file listed = {.path = path, .length = (int64_t)content.length, .first_row_id = NL_NONE};
        const nl_manifest *manifest;
        nl_status status = nl_manifest_read(fs, &listed, NULL, &manifest);
        if (!status) {
            nl_manifest_release(manifest);
            continue;
        }
        refused++;
        nl_error_free(status);
    }
    assert_true(refused > 100);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

/* Written before manifest lists existed: the snapshot names its manifests. */
static void test_a_snapshot_without_a_list_reads_its_manifests_heads(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_local();
    const nl_str manifests[] = {NL_STR("tests/fixtures/iceberg/v1/4e083439-597a-480a-97fc-81d010ff9136-m0.avro"),
                                NL_STR("tests/fixtures/iceberg/v1/bc6de6b9-e7d4-4ae9-87a8-eee9cacab63a-m0.avro")};
    const nl_snapshot snapshot = {.snapshot_id = 7, .parent_id = NL_NONE, .manifests = manifests, .manifest_count = 2};
    const nl_manifest_file *files;
    uint32_t count;
    assert_ok(nl_snapshot_manifests(fs, &snapshot, NULL, arena, &files, &count));
    assert_int_equal(count, 2);
    for (uint32_t i = 0; i < count; i++) {
        const nl_manifest *manifest;
        assert_int_equal(files[i].added_files_count, NL_NONE); /* only a list would say */
        assert_int_equal(files[i].content, NL_MANIFEST_DATA);
        assert_ok(nl_manifest_read(fs, &files[i], NULL, &manifest));
        assert_true(manifest->live_count > 0);
        nl_manifest_release(manifest);
    }
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_a_copied_data_file_stands_on_its_own(void **state)
{
    (void)state;
    opened table;
    open_table(&table, "v2", "v10.metadata.json");
    nl_arena *arena = nl_arena_new(NULL);
    const nl_manifest *manifest;
    assert_ok(nl_manifest_read(table.fs, &table.files[0], NULL, &manifest));
    const nl_data_file *file = &manifest->entries[0].file;
    const nl_data_file copy = nl_data_file_copy(arena, file, manifest->spec->field_count);
    char *path = strndup(file->path.data, file->path.length);
    nl_bytes before;
    int64_t count_before;
    assert_true(nl_bound_find(&file->lower_bounds, 1, &before));
    const int64_t lower = (int64_t)before.data[0];
    assert_true(nl_metric_find(&file->value_counts, 1, &count_before));
    nl_manifest_release(manifest);
    nl_bytes after;
    int64_t count_after;
    assert_text(copy.path, path);
    assert_true(nl_bound_find(&copy.lower_bounds, 1, &after));
    assert_int_equal(after.data[0], lower);
    assert_true(nl_metric_find(&copy.value_counts, 1, &count_after));
    assert_int_equal(count_after, count_before);
    assert_false(nl_metric_find(&copy.value_counts, 4711, &count_after));
    free(path);
    nl_arena_free(arena);
    close_table(&table);
}

static void test_a_missing_manifest_is_named(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_local();
    const nl_manifest_file listed = {.path = NL_STR("/nowhere/m0.avro")};
    const nl_manifest *manifest;
    assert_fails(nl_manifest_read(fs, &listed, NULL, &manifest), PATH_NOT_FOUND, "/nowhere/m0.avro");
    nl_fs_release(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_v2_list_and_its_manifests),
        cmocka_unit_test(test_typed_statistics_and_partition_columns),
        cmocka_unit_test(test_v3_rows_inherit_their_ids_and_deletion_vectors_are_found),
        cmocka_unit_test(test_v1_manifests_have_no_sequence_numbers),
        cmocka_unit_test(test_paths_of_all_types_and_transforms_are_javas),
        cmocka_unit_test(test_the_cache_gives_the_same_manifest_again_and_keeps_to_its_limit),
        cmocka_unit_test(test_damage_anywhere_never_does_harm),
        cmocka_unit_test(test_a_snapshot_without_a_list_reads_its_manifests_heads),
        cmocka_unit_test(test_a_copied_data_file_stands_on_its_own),
        cmocka_unit_test(test_a_missing_manifest_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
