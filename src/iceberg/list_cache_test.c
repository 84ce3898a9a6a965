/* iceberg/list_cache_test.c - lists that real Spark wrote, read once. */
#include "iceberg/list_cache.h"

#include <dirent.h>

#include "base/test_support.h"

static nl_snapshot copy_list(nl_fs *fs, nl_arena *arena, const char *name)
{
    DIR *folder = opendir("tests/fixtures/iceberg/v2");
    nl_snapshot snapshot = {.manifest_list = nl_arena_f(arena, "memory:/%s", name)};
    assert_non_null(folder);
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        if (strncmp(entry->d_name, "snap-", 5) != 0) continue;
        const nl_str path = nl_arena_f(arena, "iceberg/v2/%s", entry->d_name);
        assert_ok(nl_fs_write_all(fs, snapshot.manifest_list, read_fixture(arena, path.data)));
        break;
    }
    closedir(folder);
    return snapshot;
}

static void test_a_list_is_read_once_and_outlives_its_cache(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_manifest_cache *cache = nl_manifest_cache_new(NULL, 8u << 20);
    const nl_snapshot snapshot = copy_list(fs, arena, "snap-1.avro");
    const nl_manifest_list *first, *second;
    assert_ok(nl_manifest_cache_list(cache, fs, &snapshot, NULL, &first));
    assert_true(first->file_count > 0);
    assert_ok(nl_fs_remove(fs, snapshot.manifest_list)); /* lists never change: nobody looks for it again */
    assert_ok(nl_manifest_cache_list(cache, fs, &snapshot, NULL, &second));
    assert_ptr_equal(first, second);
    nl_manifest_list_release(second);
    assert_fails(nl_manifest_cache_list(NULL, fs, &snapshot, NULL, &second), PATH_NOT_FOUND, NULL);
    nl_manifest_cache_free(cache);
    assert_true(first->files[0].path.length > 0);
    nl_manifest_list_release(first);
    nl_manifest_list_release(NULL);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_the_least_used_lists_go_first(void **state)
{
    (void)state;
    enum { LISTS = 80 };
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_list_cache *cache = nl_list_cache_new(NULL, 64u << 20);
    nl_snapshot snapshots[LISTS];
    for (int i = 0; i < LISTS; i++) {
        const nl_manifest_list *list;
        char name[32];
        snprintf(name, sizeof(name), "snap-%d.avro", i);
        snapshots[i] = copy_list(fs, arena, name);
        for (int again = 0; again < 2; again++) { /* and the very first one, so that it stays */
            assert_ok(nl_list_cache_read(cache, fs, &snapshots[again ? 0 : i], NULL, &list));
            nl_manifest_list_release(list);
        }
    }
    for (int i = 0; i < LISTS; i++)
        assert_ok(nl_fs_remove(fs, snapshots[i].manifest_list));
    const nl_manifest_list *list;
    assert_ok(nl_list_cache_read(cache, fs, &snapshots[0], NULL, &list));
    nl_manifest_list_release(list);
    assert_ok(nl_list_cache_read(cache, fs, &snapshots[LISTS - 1], NULL, &list));
    nl_manifest_list_release(list);
    assert_fails(nl_list_cache_read(cache, fs, &snapshots[1], NULL, &list), PATH_NOT_FOUND, NULL);
    nl_list_cache_free(cache);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_a_small_cache_keeps_nothing_and_still_reads(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_list_cache *cache = nl_list_cache_new(NULL, 1000);
    const nl_snapshot snapshot = copy_list(fs, arena, "snap-1.avro");
    const nl_manifest_list *first, *second;
    assert_ok(nl_list_cache_read(cache, fs, &snapshot, NULL, &first));
    assert_ok(nl_list_cache_read(cache, fs, &snapshot, NULL, &second));
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->file_count, second->file_count);
    nl_manifest_list_release(first);
    nl_manifest_list_release(second);
    nl_list_cache_free(cache);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_list_is_read_once_and_outlives_its_cache),
        cmocka_unit_test(test_the_least_used_lists_go_first),
        cmocka_unit_test(test_a_small_cache_keeps_nothing_and_still_reads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
