/* exec/sink/partition_writers_test.c - which files come of which rows, by sharing, and when there are too many partitions. */
#include "exec/sink/partition_writers.h"

#include <stdlib.h>

#include "base/test_support.h"

typedef struct stub_store {
    nl_table_store base;
} stub_store;

static void free_store(nl_table_store *base)
{
    free(NL_CONTAINER(base, stub_store, base));
}

static const nl_table_store_ops stub_ops = {.free = free_store};

typedef struct fixture {
    nl_arena *arena;
    nl_memory *memory;
    nl_pool *pool;
    nl_fs *fs;
    nl_iceberg_table *table;
    const nl_table_metadata *metadata;
    nl_eval_confs confs;
    nl_query query;
    nl_write_target target;
    nl_partition_writers *writers;
} fixture;

#define METADATA_TEXT \
    "{\"format-version\":2,\"table-uuid\":\"a8b0f6a0-0000-4000-8000-000000000000\",\"location\":\"memory:/t\",\"last-sequence-number\":0," \
    "\"last-updated-ms\":1,\"last-column-id\":2,\"current-schema-id\":0,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[" \
    "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},{\"id\":2,\"name\":\"p\",\"required\":false,\"type\":\"int\"}]}],\"default-spec-id\":0," \
    "\"partition-specs\":[{\"spec-id\":0,\"fields\":[%s]}],\"last-partition-id\":1000," \
    "\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,\"fields\":[]}],\"properties\":{},\"current-snapshot-id\":-1,\"refs\":{},\"snapshots\":[]," \
    "\"snapshot-log\":[],\"metadata-log\":[]}"

/* Tables are partitioned by p, unless rows part by a cluster. open_max 0: as the table says. */
static fixture *start(const nl_partition_writing *how, uint32_t worker_count, uint32_t open_max)
{
    fixture *f = calloc(1, sizeof(*f));
    stub_store *store = calloc(1, sizeof(*store));
    store->base.ops = &stub_ops;
    f->arena = nl_arena_new(NULL);
    f->memory = nl_memory_new(NULL, "test", (size_t)1 << 30);
    f->pool = nl_pool_new(2, "test");
    f->fs = nl_fs_memory_new();
    f->confs = (nl_eval_confs){.is_ansi = true, .zone = nl_timezone_utc()};
    f->query = (nl_query){.arena = f->arena, .memory = f->memory, .pool = f->pool, .files = f->fs, .confs = &f->confs, .spill_directory = NL_STR("/tmp"), .batch_rows = 2048};
    const char *by_p = "{\"name\":\"p\",\"transform\":\"identity\",\"source-id\":2,\"field-id\":1000}";
    const nl_str text = nl_arena_f(f->arena, METADATA_TEXT, how->cluster_column >= 0 ? "" : by_p);
    assert_ok(nl_table_metadata_parse((nl_bytes){(const uint8_t *)text.data, text.length}, NL_STR("m"), NULL, &f->metadata));
    assert_ok(nl_iceberg_table_new(NL_STR("c.t"), f->fs, &store->base, nl_table_metadata_retain(f->metadata), f->memory, &f->table));
    const nl_write_options options = {0};
    assert_ok(nl_write_target_init(&f->target, &f->query, f->table, f->metadata, &options));
    if (open_max) f->target.open_max = open_max;
    assert_ok(nl_partition_writers_new(&f->target, how, &f->writers));
    assert_ok(nl_partition_writers_start(f->writers, worker_count));
    return f;
}

static void stop(fixture *f)
{
    nl_partition_writers_free(f->writers);
    nl_write_target_fini(&f->target);
    nl_iceberg_table_release(f->table);
    nl_table_metadata_release(f->metadata);
    nl_fs_release(f->fs);
    nl_pool_free(f->pool);
    nl_arena_free(f->arena);
    assert_int_equal(nl_memory_used(f->memory), 0);
    nl_memory_release(f->memory);
    free(f);
}

/* Rows first … first + count - 1 with p = (row / run) % partition_count, and p again as the cluster. */
static nl_status append(fixture *f, uint32_t worker, int64_t first, uint32_t count, int64_t run, int64_t partition_count)
{
    nl_column_builder *id = NULL, *p = NULL;
    nl_batch batch = {0};
    assert_ok(nl_column_builder_new(nl_type_bigint(), f->memory, &id));
    assert_ok(nl_column_builder_new(nl_type_int(), f->memory, &p));
    for (int64_t row = first; row < first + count; row++) {
        const nl_value number = nl_value_int(nl_type_bigint(), row), part = nl_value_int(nl_type_int(), row / run % partition_count);
        assert_ok(nl_column_builder_value(id, &number));
        assert_ok(nl_column_builder_value(p, &part));
    }
    assert_ok(nl_batch_init(&batch, 3, count));
    assert_ok(nl_column_builder_finish(id, &batch.columns[0]));
    assert_ok(nl_column_builder_finish(p, &batch.columns[1]));
    nl_vector_ref(&batch.columns[1], &batch.columns[2]);
    nl_column_builder_free(id);
    nl_column_builder_free(p);
    nl_status status = nl_partition_writers_append(f->writers, worker, &batch);
    nl_batch_fini(&batch);
    return status;
}

typedef struct totals {
    int64_t rows;
    uint32_t files, partitions;
    uint32_t files_max; /* of one partition */
} totals;

static totals finish(fixture *f, uint32_t worker_count)
{
    enum { PARTITIONS_MAX = 4096 };
    totals all = {0};
    uint32_t *files = calloc(PARTITIONS_MAX, sizeof(*files));
    for (uint32_t i = 0; i < worker_count; i++)
        assert_ok(nl_partition_writers_finish_worker(f->writers, i));
    assert_ok(nl_partition_writers_finish(f->writers));
    for (uint32_t i = 0; i < f->target.files.count; i++) {
        const nl_data_file *file = f->target.files.items[i];
        const int64_t p = file->partition[0].integer;
        bool exists = false;
        assert_true(p >= 0 && p < PARTITIONS_MAX);
        assert_ok(nl_fs_exists(f->fs, file->path, &exists));
        assert_true(exists && file->record_count > 0);
        all.rows += file->record_count;
        all.partitions += files[p]++ == 0;
        all.files_max = NL_MAX(all.files_max, files[p]);
    }
    all.files = f->target.files.count;
    free(files);
    return all;
}

static void test_shared_partitions_have_one_file_each(void **state)
{
    (void)state;
    const nl_partition_writing how = {.sharing = NL_PARTITIONS_SHARED, .cluster_column = NL_NONE};
    fixture *f = start(&how, 3, 0);
    for (uint32_t i = 0; i < 6; i++)
        assert_ok(append(f, i % 3, (int64_t)i * 1000, 1000, 1, 7));
    const totals all = finish(f, 3);
    assert_int_equal(all.rows, 6000);
    assert_int_equal(all.partitions, 7);
    assert_int_equal(all.files, 7);
    stop(f);
}

static void test_few_rows_share_a_file_even_without_distribution(void **state)
{
    (void)state;
    const nl_partition_writing how = {.sharing = NL_PARTITIONS_OWN, .cluster_column = NL_NONE};
    fixture *f = start(&how, 2, 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_ok(append(f, i % 2, (int64_t)i * 100, 100, 1, 5));
    const totals few = finish(f, 2);
    assert_int_equal(few.rows, 400);
    assert_int_equal(few.files, 5);
    stop(f);
    f = start(&how, 2, 0); /* many rows: each worker has its own, and none waits for another */
    for (uint32_t i = 0; i < 200; i++)
        assert_ok(append(f, i % 2, (int64_t)i * 2000, 2000, 1, 2));
    const totals many = finish(f, 2);
    assert_int_equal(many.rows, 400000);
    assert_int_equal(many.partitions, 2);
    assert_int_equal(many.files_max, 2);
    stop(f);
}

static void test_clustered_rows_have_one_file_open_and_a_partition_that_comes_again_has_another(void **state)
{
    (void)state;
    nl_partition_writing how = {.sharing = NL_PARTITIONS_CLUSTERED, .cluster_column = NL_NONE};
    fixture *f = start(&how, 1, 0);
    assert_ok(append(f, 0, 0, 1000, 100, 10));
    assert_ok(append(f, 0, 1000, 100, 100, 10)); /* partition 0 again */
    const totals twice = finish(f, 1);
    assert_int_equal(twice.rows, 1100);
    assert_int_equal(twice.partitions, 10);
    assert_int_equal(twice.files, 11);
    stop(f);
    how.refuses_unclustered = true;
    f = start(&how, 1, 0);
    assert_ok(append(f, 0, 0, 1000, 100, 10));
    assert_fails(append(f, 0, 1000, 100, 100, 10), NILAS_VALIDATION_FAILED, "already closed files:\npartition 'p=0'");
    stop(f);
    f = start(&how, 1, 0); /* also within a batch */
    assert_fails(append(f, 0, 0, 1000, 1, 10), NILAS_VALIDATION_FAILED, "already closed files");
    stop(f);
}

static void test_too_many_partitions_wait_on_disk(void **state)
{
    (void)state;
    enum { PARTITIONS = 700 };
    const nl_partition_writing how = {.sharing = NL_PARTITIONS_SHARED, .cluster_column = NL_NONE};
    fixture *f = start(&how, 2, 8);
    for (uint32_t i = 0; i < 20; i++)
        assert_ok(append(f, i % 2, (int64_t)i * PARTITIONS, PARTITIONS, 1, PARTITIONS));
    const totals all = finish(f, 2);
    assert_int_equal(all.rows, 20 * PARTITIONS);
    assert_int_equal(all.partitions, PARTITIONS);
    assert_int_equal(all.files_max, 1); /* those that waited are written once, when all their rows are there */
    stop(f);
}

static void test_an_unpartitioned_table_parts_by_cluster(void **state)
{
    (void)state;
    const nl_partition_writing how = {.sharing = NL_PARTITIONS_SHARED, .cluster_column = 2};
    fixture *f = start(&how, 1, 0);
    assert_ok(append(f, 0, 0, 900, 1, 3));
    assert_ok(nl_partition_writers_finish_worker(f->writers, 0));
    assert_ok(nl_partition_writers_finish(f->writers));
    assert_int_equal(f->target.files.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(((const nl_data_file *)f->target.files.items[i])->record_count, 300);
    stop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_partitions_have_one_file_each),
        cmocka_unit_test(test_few_rows_share_a_file_even_without_distribution),
        cmocka_unit_test(test_clustered_rows_have_one_file_open_and_a_partition_that_comes_again_has_another),
        cmocka_unit_test(test_too_many_partitions_wait_on_disk),
        cmocka_unit_test(test_an_unpartitioned_table_parts_by_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
