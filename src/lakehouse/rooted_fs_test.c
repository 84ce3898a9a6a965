/* lakehouse/rooted_fs_test.c - what is below the folder works as ever, everything else is refused and stays. */
#include "lakehouse/rooted_fs.h"

#include "base/test_support.h"

static void test_paths_below_a_folder(void **unused)
{
    (void)unused;
    static const struct {
        const char *path, *root;
        bool is_below;
    } rows[] = {
        {"/a/b", "/a", true},          {"file:/a/b/c", "/a", true},     {"file:///a//b", "file:/a/", true}, {"/a", "/a", false},   {"/ab", "/a", false},
        {"/a/../b", "/a", false},      {"/a/b/..", "/a", false},        {"/a/b..c", "/a", true},            {"/x", "/", true},     {"/", "/", false},
        {"relative", "/a", false},     {"/a/b", "", false},             {"s3://a/b", "/a", false},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        if (nl_path_is_below(nl_str_from(rows[i].path), nl_str_from(rows[i].root)) != rows[i].is_below) fail_msg("%s below %s", rows[i].path, rows[i].root);
}

static void test_files_outside_are_refused(void **unused)
{
    (void)unused;
    nl_fs *memory = nl_fs_memory_new(), *fs;
    const nl_bytes content = {(const uint8_t *)"x", 1};
    const nl_str inside = NL_STR("/in/a"), outside = NL_STR("/out/a");
    nl_file *file;
    nl_output *output;
    nl_buffer *buffer;
    nl_file_info info;
    uint64_t count;
    bool exists;
    assert_ok(nl_fs_rooted_new(memory, NL_STR("/in"), &fs));
    assert_ok(nl_fs_write_all(memory, outside, content));
    assert_ok(nl_fs_create_if_absent(fs, inside, content));
    assert_ok(nl_fs_read_all(fs, inside, 10, &buffer));
    nl_buffer_release(buffer);
    assert_fails(nl_fs_open(fs, outside, &file), NILAS_ILLEGAL_ARGUMENT, "/out/a is not below the warehouse /in");
    assert_fails(nl_fs_read_all(fs, outside, 10, &buffer), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_create(fs, outside, &output), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_create_if_absent(fs, outside, content), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_write_all(fs, outside, content), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_rename(fs, inside, outside, true), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_remove(fs, outside), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_fails(nl_fs_remove_tree(fs, NL_STR("/in/../out")), NILAS_ILLEGAL_ARGUMENT, "/in/../out");
    assert_fails(nl_fs_stat(fs, outside, &info), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    const nl_str both[] = {outside, inside};
    assert_fails(nl_fs_remove_many(fs, both, 2, &count), NILAS_ILLEGAL_ARGUMENT, "/out/a");
    assert_int_equal(count, 1);
    assert_ok(nl_fs_exists(memory, outside, &exists));
    assert_true(exists);
    assert_ok(nl_fs_exists(memory, inside, &exists));
    assert_false(exists);
    nl_fs_release(fs);
    nl_fs_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_paths_below_a_folder), cmocka_unit_test(test_files_outside_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
