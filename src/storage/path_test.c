/* storage/path_test.c - the forms of paths. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "storage/filesystem.h"

static void test_local_forms(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *expected;
    } cases[] = {
        {"/a/b", "/a/b"},
        {"/a//b", "/a//b"},
        {"file:/a//b", "/a/b"},
        {"file:///a/b", "/a/b"},
        {"FILE:////a/b/", "/a/b/"},
        {"file://localhost/a", "/a"},
        {"file://elsewhere/a", "file://elsewhere/a"},
        {"file:/a%20b", "/a%20b"}, /* never decoded */
        {"file:a", "a"},
        {"s3://bucket/a//b", "s3://bucket/a//b"},
        {"a:b/c", "a:b/c"},
        {"", ""},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(cases); i++)
        assert_string_equal(nl_str_c(arena, nl_path_local(arena, nl_str_from(cases[i].path))), cases[i].expected);
    nl_arena_free(arena);
}

static void test_joining_puts_one_slash_between(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_string_equal(nl_path_join(arena, NL_STR("/a"), NL_STR("b")).data, "/a/b");
    assert_string_equal(nl_path_join(arena, NL_STR("/a/"), NL_STR("/b")).data, "/a/b");
    assert_string_equal(nl_path_join(arena, NL_STR("s3://x"), NL_STR("b/c")).data, "s3://x/b/c");
    assert_string_equal(nl_path_join(arena, NL_STR("/"), NL_STR("b")).data, "/b");
    assert_string_equal(nl_path_join(arena, NL_STR(""), NL_STR("b")).data, "b");
    nl_arena_free(arena);
}

static void test_names_and_parents(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        const char *name;
        const char *parent;
    } cases[] = {
        {"/a/b.txt", "b.txt", "/a"},
        {"/a/b/", "b", "/a"},
        {"/a", "a", "/"},
        {"a", "a", ""},
        {"a/b", "b", "a"},
        {"file:/a/b", "b", "file:/a"},
        {"file:/a", "a", "file:/"},
        {"file:///a", "a", "file:///"},
        {"s3://bucket/key", "key", "s3://bucket"},
        {"s3://bucket/a/key", "key", "s3://bucket/a"},
        {"/a/x:y/z", "z", "/a/x:y"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        assert_string_equal(nl_str_c(arena, nl_path_name(nl_str_from(cases[i].path))), cases[i].name);
        assert_string_equal(nl_str_c(arena, nl_path_parent(nl_str_from(cases[i].path))), cases[i].parent);
    }
    nl_arena_free(arena);
}

static void test_the_scheme_picks_the_file_system(void **state)
{
    (void)state;
    static const char *const local[] = {"/a", "file:/a", "FILE:///a", "a/b", "/x:y", "./a:b"};
    for (size_t i = 0; i < NL_COUNT(local); i++) {
        nl_fs *fs = NULL;
        assert_null(nl_fs_for_path(nl_str_from(local[i]), &fs));
        assert_non_null(fs);
        nl_fs_release(fs);
    }
    nl_fs *fs = NULL;
    nl_status status = nl_fs_for_path(NL_STR("gopher://x/y"), &fs);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_UNSUPPORTED);
    assert_non_null(strstr(nl_error_message(status), "\"gopher\""));
    assert_null(fs);
    nl_error_free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_local_forms),
        cmocka_unit_test(test_joining_puts_one_slash_between),
        cmocka_unit_test(test_names_and_parents),
        cmocka_unit_test(test_the_scheme_picks_the_file_system),
    };
    return cmocka_run_group_tests_name("storage/path", tests, NULL, NULL);
}
