/* iceberg/manifest_write_test.c - manifests and lists that are read and written again are Java's own, byte for byte (but
 * for the order of the metadata map, the sync marker and the compressor's choices). */
#include "base/test_support.h"

#include "format/avro/file.h"
#include "iceberg/manifest.h"

/* All records of a file, decompressed, in one piece. */
static nl_str records(nl_arena *arena, nl_fs *fs, nl_str path, nl_avro_file **avro, nl_file **file)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 24);
    assert_ok(nl_fs_open(fs, path, file));
    assert_ok(nl_avro_file_open(*file, NULL, avro));
    for (;;) {
        nl_avro_block block;
        assert_ok(nl_avro_file_next(*avro, &block));
        if (!block.data) break;
        nl_append(&text, (nl_str){(const char *)block.data->data, block.data->size_bytes});
        nl_buffer_release(block.data);
    }
    const nl_str copy = nl_arena_str(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static void assert_same_file(nl_fs *fs, nl_str expected_path, nl_str actual_path, const char *const *keys)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_avro_file *expected;
    nl_avro_file *actual;
    nl_file *expected_file;
    nl_file *actual_file;
    nl_fs *local = nl_fs_local();
    const nl_str expected_rows = records(arena, local, expected_path, &expected, &expected_file);
    const nl_str actual_rows = records(arena, fs, actual_path, &actual, &actual_file);
    for (; *keys; keys++) {
        const nl_str value = nl_avro_file_metadata(expected, *keys);
        assert_non_null(value.data);
        assert_text(nl_avro_file_metadata(actual, *keys), value.data);
    }
    assert_int_equal(actual_rows.length, expected_rows.length);
    assert_memory_equal(actual_rows.data, expected_rows.data, expected_rows.length);
    nl_avro_file_close(expected);
    nl_avro_file_close(actual);
    nl_file_close(expected_file);
    nl_file_close(actual_file);
    nl_fs_release(local);
    nl_arena_free(arena);
}

/* Turns inheritance back: what Java left null is left null again. */
static nl_manifest_entry as_written(const nl_manifest_entry *entry, int32_t format_version)
{
    nl_manifest_entry written = *entry;
    if (entry->status == NL_ENTRY_ADDED) {
        written.sequence_number = NL_NONE;
        written.file_sequence_number = NL_NONE;
        written.file.first_row_id = NL_NONE;
    }
    if (format_version == 1) written.file.equality_ids = NULL;
    return written;
}

static void rewrite(nl_fs *fs, const char *table, const nl_manifest_file *listed, int64_t snapshot_id, nl_arena *arena)
{
    nl_fs *local = nl_fs_local();
    nl_manifest_file here = *listed;
    const nl_str name = nl_path_name(listed->path);
    here.path = nl_arena_f(arena, "tests/fixtures/iceberg/%s/" NL_STR_FMT, table, NL_STR_ARG(name));
    const nl_manifest *manifest;
    assert_ok(nl_manifest_read(local, &here, NULL, &manifest));
    const nl_manifest_writer_options options = {.fs = fs,
                                                .format_version = manifest->format_version,
                                                .content = manifest->content,
                                                .schema = manifest->schema,
                                                .spec = manifest->spec,
                                                .snapshot_id = snapshot_id,
                                                .first_row_id = NL_NONE};
    nl_manifest_writer *writer;
    nl_manifest_file file;
    assert_ok(nl_manifest_writer_open(&options, NL_STR("memory:/m.avro"), NULL, &writer));
    for (uint32_t i = 0; i < manifest->entry_count; i++) {
        const nl_manifest_entry entry = as_written(&manifest->entries[i], manifest->format_version);
        assert_ok(nl_manifest_writer_entry(writer, &entry));
    }
    assert_ok(nl_manifest_writer_close(writer, arena, &file));
    static const char *const v1_keys[] = {"schema", "avro.schema", "avro.codec", "format-version", "partition-spec-id", "iceberg.schema", "partition-spec", NULL};
    static const char *const v2_keys[] = {"schema",         "avro.schema", "avro.codec", "format-version", "partition-spec-id",
                                          "iceberg.schema", "partition-spec", "content", NULL};
    assert_same_file(fs, here.path, NL_STR("memory:/m.avro"), manifest->format_version == 1 ? v1_keys : v2_keys);
    assert_int_equal(file.added_files_count, listed->added_files_count);
    assert_int_equal(file.existing_rows_count, listed->existing_rows_count);
    assert_int_equal(file.deleted_rows_count, listed->deleted_rows_count);
    assert_int_equal(file.partition_count, listed->partition_count);
    for (uint32_t i = 0; i < file.partition_count; i++) {
        assert_int_equal(file.partitions[i].contains_null, listed->partitions[i].contains_null);
        assert_int_equal(file.partitions[i].contains_nan, listed->partitions[i].contains_nan);
        assert_int_equal(file.partitions[i].lower.length, listed->partitions[i].lower.length);
        if (file.partitions[i].lower.length)
            assert_memory_equal(file.partitions[i].lower.data, listed->partitions[i].lower.data, file.partitions[i].lower.length);
        assert_int_equal(file.partitions[i].upper.length, listed->partitions[i].upper.length);
        if (file.partitions[i].upper.length)
            assert_memory_equal(file.partitions[i].upper.data, listed->partitions[i].upper.data, file.partitions[i].upper.length);
    }
    nl_manifest_release(manifest);
    nl_fs_release(local);
}

static void rewrite_table(const char *table, const char *metadata_file)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_fs *local = nl_fs_local();
    const nl_table_metadata *metadata;
    char name[256];
    snprintf(name, sizeof(name), "iceberg/%s/%s", table, metadata_file);
    assert_ok(nl_table_metadata_parse(read_fixture(arena, name), nl_str_from(name), NULL, &metadata));
    for (uint32_t i = 0; i < metadata->snapshot_count; i++) {
        const nl_snapshot *snapshot = &metadata->snapshots[i];
        const nl_str list_name = nl_path_name(snapshot->manifest_list);
        const nl_str list = nl_arena_f(arena, "tests/fixtures/iceberg/%s/" NL_STR_FMT, table, NL_STR_ARG(list_name));
        const nl_manifest_file *files;
        uint32_t file_count;
        assert_ok(nl_manifest_list_read(local, list, NULL, arena, &files, &file_count));
        for (uint32_t k = 0; k < file_count; k++)
            if (files[k].added_snapshot_id == snapshot->snapshot_id) rewrite(fs, table, &files[k], snapshot->snapshot_id, arena);
        const nl_manifest_list_options options = {.format_version = metadata->format_version,
                                                  .snapshot_id = snapshot->snapshot_id,
                                                  .parent_id = snapshot->parent_id,
                                                  .sequence_number = snapshot->sequence_number,
                                                  .first_row_id = snapshot->first_row_id};
        assert_ok(nl_manifest_list_write(fs, NL_STR("memory:/l.avro"), &options, files, file_count, NULL, NULL));
        static const char *const keys[] = {"avro.schema", "avro.codec", "snapshot-id", "format-version", "iceberg.schema", "parent-snapshot-id", NULL};
        assert_same_file(fs, list, NL_STR("memory:/l.avro"), keys);
    }
    nl_table_metadata_release(metadata);
    nl_fs_release(local);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_v1_is_written_as_java_writes_it(void **state)
{
    (void)state;
    rewrite_table("v1", "v5.metadata.json");
}

static void test_v2_is_written_as_java_writes_it(void **state)
{
    (void)state;
    rewrite_table("v2", "v10.metadata.json");
}

static void test_v3_is_written_as_java_writes_it(void **state)
{
    (void)state;
    rewrite_table("v3", "v6.gz.metadata.json");
}

static void test_partitions_of_every_type_are_written_as_java_writes_them(void **state)
{
    (void)state;
    rewrite_table("types", "v3.metadata.json");
    rewrite_table("trans", "v2.metadata.json");
}

/* Java 1.10 cannot do this ("Cannot determine comparator for type: unknown"): the old values must stay what they are. */
static void test_a_manifest_survives_the_loss_of_its_source_columns(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_ice_field fields[] = {{.id = 1, .name = NL_STR("id"), .type = nl_ice_type_of(NL_ICE_LONG)},
                                   {.id = 2, .name = NL_STR("n"), .type = nl_ice_type_of(NL_ICE_INT)},
                                   {.id = 3, .name = NL_STR("dc"), .type = nl_ice_type_decimal(arena, 9, 2)}};
    const nl_schema *before;
    const nl_schema *after;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, fields, 3), NULL, 0, &before));
    assert_ok(nl_schema_new(arena, 1, nl_ice_type_struct(arena, fields, 1), NULL, 0, &after));
    const nl_partition_addition additions[] = {{.source = NL_STR("n")}, {.source = NL_STR("dc")}};
    const nl_partition_spec *spec;
    int32_t last_id = 999;
    assert_ok(nl_partition_spec_build(arena, before, additions, 2, &last_id, &spec));
    const nl_schema *const schemas[] = {after, before};
    const nl_manifest_writer_options options = {.fs = fs, .format_version = 2, .schema = after, .spec = spec, .snapshot_id = 1,
                                                .partition_type = nl_partition_type_by_schemas(arena, spec, schemas, 2), .first_row_id = NL_NONE};
    const nl_value partition[] = {nl_value_int(nl_type_int(), 7), {.type = nl_type_decimal(9, 2), .decimal = -125}};
    const nl_data_file data_file = {.path = NL_STR("/f"), .partition = partition, .sort_order_id = NL_NONE, .first_row_id = NL_NONE,
                                    .content_offset = NL_NONE, .content_size_bytes = NL_NONE};
    nl_manifest_writer *writer;
    nl_manifest_file file;
    const nl_manifest *manifest;
    assert_ok(nl_manifest_writer_open(&options, NL_STR("memory:/m.avro"), NULL, &writer));
    assert_ok(nl_manifest_writer_add(writer, &data_file, NL_NONE));
    assert_ok(nl_manifest_writer_close(writer, arena, &file));
    assert_ok(nl_manifest_read(fs, &file, NULL, &manifest));
    assert_text(nl_ice_type_name(arena, manifest->partition_type), "struct<1000: n: optional int, 1001: dc: optional decimal(9, 2)>");
    assert_true(nl_partition_equal(manifest->entries[0].file.partition, partition, 2));
    nl_manifest_release(manifest);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_a_commit_numbers_its_new_manifests_and_rows(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_manifest_file files[] = {
        {.path = NL_STR("new"), .sequence_number = NL_NONE, .min_sequence_number = NL_NONE, .added_snapshot_id = 7, .added_files_count = 1,
         .added_rows_count = 10, .first_row_id = NL_NONE},
        {.path = NL_STR("merged"), .sequence_number = NL_NONE, .min_sequence_number = 2, .added_snapshot_id = 7, .existing_files_count = 2,
         .existing_rows_count = 5, .added_rows_count = 1, .first_row_id = NL_NONE},
        {.path = NL_STR("old"), .sequence_number = 3, .min_sequence_number = 1, .added_snapshot_id = 6, .added_rows_count = 50, .first_row_id = 30},
        {.path = NL_STR("deletes"), .content = NL_MANIFEST_DELETES, .sequence_number = NL_NONE, .min_sequence_number = NL_NONE,
         .added_snapshot_id = 7, .added_rows_count = 4, .first_row_id = NL_NONE},
    };
    const nl_manifest_list_options options = {.format_version = 3, .snapshot_id = 7, .parent_id = 6, .sequence_number = 4, .first_row_id = 100};
    int64_t next_row_id;
    const nl_manifest_file *read;
    uint32_t count;
    assert_ok(nl_manifest_list_write(fs, NL_STR("memory:/l"), &options, files, 4, NULL, &next_row_id));
    assert_int_equal(next_row_id, 116);
    assert_ok(nl_manifest_list_read(fs, NL_STR("memory:/l"), NULL, arena, &read, &count));
    assert_int_equal(count, 4);
    assert_int_equal(read[0].sequence_number, 4);
    assert_int_equal(read[0].min_sequence_number, 4);
    assert_int_equal(read[0].first_row_id, 100);
    assert_int_equal(read[1].min_sequence_number, 2);
    assert_int_equal(read[1].first_row_id, 110);
    assert_int_equal(read[2].sequence_number, 3);
    assert_int_equal(read[2].first_row_id, 30);
    assert_int_equal(read[3].first_row_id, NL_NONE);
    assert_int_equal(read[3].content, NL_MANIFEST_DELETES);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static nl_status numbered_path(void *argument, nl_arena *arena, nl_str *path)
{
    *path = nl_arena_f(arena, "memory:/m%d.avro", (*(int *)argument)++);
    return NULL;
}

static void test_a_rolling_writer_starts_a_new_file_at_the_target_size(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_ice_field field = {.id = 1, .name = NL_STR("a"), .type = nl_ice_type_of(NL_ICE_LONG)};
    const nl_schema *schema;
    assert_ok(nl_schema_new(arena, 0, nl_ice_type_struct(arena, &field, 1), NULL, 0, &schema));
    const nl_partition_spec spec = {.spec_id = 0};
    const nl_manifest_writer_options options = {.fs = fs, .format_version = 2, .schema = schema, .spec = &spec, .snapshot_id = 1, .first_row_id = NL_NONE};
    int next = 0;
    nl_rolling_manifest_writer *rolling;
    assert_ok(nl_rolling_manifest_writer_new(&options, 20000, numbered_path, &next, NULL, arena, &rolling));
    for (int i = 0; i < 5000; i++) {
        nl_manifest_writer *writer;
        const int32_t id = 1;
        const int64_t value = i;
        nl_data_file file = {.path = nl_arena_f(arena, "/data/%d-%d.parquet", i * 7919 % 10007, i),
                             .record_count = 1,
                             .file_size_bytes = 1000 + i,
                             .sort_order_id = NL_NONE,
                             .first_row_id = NL_NONE,
                             .content_offset = NL_NONE,
                             .content_size_bytes = NL_NONE};
        assert_ok(nl_metric_map_make(arena, &id, &value, 1, &file.value_counts));
        assert_ok(nl_rolling_manifest_writer_next(rolling, &writer));
        assert_ok(nl_manifest_writer_add(writer, &file, NL_NONE));
    }
    const nl_manifest_file *files;
    uint32_t count;
    assert_ok(nl_rolling_manifest_writer_close(rolling, &files, &count));
    assert_true(count >= 2);
    int64_t total = 0;
    for (uint32_t i = 0; i < count; i++) {
        const nl_manifest *manifest;
        nl_file_info info;
        assert_ok(nl_fs_stat(fs, files[i].path, &info));
        assert_int_equal(info.size_bytes, files[i].length);
        assert_ok(nl_manifest_read(fs, &files[i], NULL, &manifest));
        for (uint32_t k = 0; k < manifest->entry_count; k++) {
            int64_t value;
            assert_true(nl_metric_find(&manifest->entries[k].file.value_counts, 1, &value));
            assert_int_equal(value, total);
            total++;
        }
        nl_manifest_release(manifest);
    }
    assert_int_equal(total, 5000);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v1_is_written_as_java_writes_it),
        cmocka_unit_test(test_v2_is_written_as_java_writes_it),
        cmocka_unit_test(test_v3_is_written_as_java_writes_it),
        cmocka_unit_test(test_partitions_of_every_type_are_written_as_java_writes_them),
        cmocka_unit_test(test_a_manifest_survives_the_loss_of_its_source_columns),
        cmocka_unit_test(test_a_commit_numbers_its_new_manifests_and_rows),
        cmocka_unit_test(test_a_rolling_writer_starts_a_new_file_at_the_target_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
