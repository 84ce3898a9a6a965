/* storage/memory_test.c - what is particular to the file system in memory; the contract is in filesystem_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>

#include "storage/filesystem.h"

static nl_bytes bytes_of(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

static nl_status count_visit(void *argument, const nl_file_info *info)
{
    (void)info;
    ++*(uint32_t *)argument;
    return NULL;
}

static void test_two_file_systems_share_nothing(void **state)
{
    (void)state;
    nl_fs *a = nl_fs_memory_new();
    nl_fs *b = nl_fs_memory_new();
    bool exists = true;
    assert_null(nl_fs_write_all(a, NL_STR("memory:/x"), bytes_of("1")));
    assert_null(nl_fs_exists(b, NL_STR("memory:/x"), &exists));
    assert_false(exists);
    nl_fs_release(a);
    nl_fs_release(b);
}

static void test_the_root_lists_everything(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    assert_null(nl_fs_write_all(fs, NL_STR("/a"), bytes_of("1")));
    assert_null(nl_fs_write_all(fs, NL_STR("/b/c"), bytes_of("1")));
    uint32_t count = 0;
    assert_null(nl_fs_list(fs, NL_STR("/"), true, count_visit, &count));
    assert_int_equal(count, 2);
    count = 0;
    assert_null(nl_fs_list(fs, NL_STR("/"), false, count_visit, &count));
    assert_int_equal(count, 2);
    nl_fs_release(fs);
}

static void test_a_folder_cannot_move_into_itself(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    assert_null(nl_fs_write_all(fs, NL_STR("/a/x"), bytes_of("1")));
    nl_status status = nl_fs_rename(fs, NL_STR("/a"), NL_STR("/a/b"), false);
    assert_non_null(status);
    nl_error_free(status);
    assert_null(nl_fs_rename(fs, NL_STR("/a"), NL_STR("/a"), true));
    bool exists = false;
    assert_null(nl_fs_exists(fs, NL_STR("/a/x"), &exists));
    assert_true(exists);
    nl_fs_release(fs);
}

typedef struct racer {
    nl_fs *fs;
    int won;
} racer;

static void *race(void *argument)
{
    racer *self = argument;
    for (int round = 0; round < 200; round++) {
        char name[32];
        snprintf(name, sizeof name, "/v%d", round);
        nl_status status = nl_fs_create_if_absent(self->fs, nl_str_from(name), bytes_of("x"));
        self->won += status == NULL;
        nl_error_free(status);
    }
    return NULL;
}

static void test_of_many_threads_one_creates_each_name(void **state)
{
    (void)state;
    nl_fs *fs = nl_fs_memory_new();
    pthread_t threads[4];
    racer racers[4];
    int total = 0;
    for (int i = 0; i < 4; i++) {
        racers[i] = (racer){.fs = fs};
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        total += racers[i].won;
    }
    assert_int_equal(total, 200);
    nl_fs_release(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_file_systems_share_nothing),
        cmocka_unit_test(test_the_root_lists_everything),
        cmocka_unit_test(test_a_folder_cannot_move_into_itself),
        cmocka_unit_test(test_of_many_threads_one_creates_each_name),
    };
    return cmocka_run_group_tests_name("storage/memory", tests, NULL, NULL);
}
