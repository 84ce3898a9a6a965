/* exec/source/plain_files_test.c - which files below a path are read: as Spark's InMemoryFileIndex chooses. */
#include "exec/source/plain_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static nl_arena *arena;
static char root[64];

static void make_file(const char *name)
{
    nl_str path = nl_arena_f(arena, "%s/%s", root, name);
    FILE *file = fopen(nl_str_c(arena, path), "w");
    assert_non_null(file);
    fputs("1\n", file);
    fclose(file);
}

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(nl_str_c(arena, nl_arena_f(arena, "%s/%s", root, name)), 0700), 0);
}

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    static const char template[] = "/tmp/nilas-plain-files-XXXXXX";
    memcpy(root, template, sizeof template);
    assert_non_null(mkdtemp(root));
    make_file("a.csv");
    make_file("b.txt");
    make_file("_hidden.csv");
    make_folder("sub");
    make_file("sub/c.csv");
    make_folder("parts");
    make_folder("parts/day=1");
    make_file("parts/day=1/d.csv");
    make_folder("parts/day=2");
    make_file("parts/day=2/e.csv");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {"parts/day=2/e.csv", "parts/day=2", "parts/day=1/d.csv", "parts/day=1", "parts", "sub/c.csv", "sub",
                                        "_hidden.csv", "b.txt", "a.csv"};
    for (size_t i = 0; i < NL_COUNT(names); i++)
        assert_int_equal(remove(nl_str_c(arena, nl_arena_f(arena, "%s/%s", root, names[i]))), 0);
    assert_int_equal(rmdir(root), 0);
    nl_arena_free(arena);
    return 0;
}

/* The names of the files, and how many partition columns there are: "a.csv b.txt | 0". */
static const char *list(const char *below, const nl_file_selection *selection)
{
    nl_plain_files files = {0};
    const nl_eval_confs confs = {.is_ansi = true};
    const nl_str path = nl_arena_f(arena, "%s%s", root, below);
    nl_status status = nl_plain_files_list(&path, 1, selection, &confs, arena, &files);
    if (status) {
        const char *name = nl_condition_name(nl_error_condition(status));
        nl_error_free(status);
        return name;
    }
    nl_builder text;
    nl_builder_init(&text, 4096);
    for (uint32_t i = 0; i < files.file_count; i++) {
        nl_append(&text, nl_path_name(files.files[i].path));
        nl_append_char(&text, ' ');
    }
    nl_append_f(&text, "| %u", files.partition_count);
    const char *made = nl_str_c(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_plain_files_fini(&files);
    return made;
}

static void test_subfolders_count_only_as_partitions(void **state)
{
    (void)state;
    const nl_file_selection all = {0}, recursive = {.is_recursive = true};
    assert_string_equal(list("/sub", &all), "c.csv | 0");
    assert_string_equal(list("/parts", &all), "d.csv e.csv | 1");
    assert_string_equal(list("/parts", &recursive), "d.csv e.csv | 0");
    assert_string_equal(list("", &recursive), "a.csv b.txt d.csv e.csv c.csv | 0");
    assert_int_equal(rename(nl_str_c(arena, nl_arena_f(arena, "%s/parts", root)), nl_str_c(arena, nl_arena_f(arena, "%s/sub/.parts", root))), 0);
    assert_string_equal(list("", &all), "a.csv b.txt | 0");
    assert_int_equal(rename(nl_str_c(arena, nl_arena_f(arena, "%s/sub/.parts", root)), nl_str_c(arena, nl_arena_f(arena, "%s/parts", root))), 0);
}

static void test_names_are_chosen_by_a_pattern(void **state)
{
    (void)state;
    const nl_file_selection csv = {.path_glob = NL_STR("*.csv"), .is_recursive = true}, one = {.path_glob = NL_STR("[ad].csv")};
    assert_string_equal(list("", &csv), "a.csv d.csv e.csv c.csv | 0");
    assert_string_equal(list("/parts", &one), "d.csv | 1");
}

static void test_paths_may_be_patterns(void **state)
{
    (void)state;
    const nl_file_selection all = {0};
    assert_string_equal(list("/*.csv", &all), "a.csv | 0"); /* the hidden one was matched, and left out */
    assert_string_equal(list("/{a.csv,b.txt}", &all), "a.csv b.txt | 0");
    assert_string_equal(list("/parts/day=[12]", &all), "d.csv e.csv | 0");
    assert_string_equal(list("/p*/*=2", &all), "e.csv | 0");
    assert_string_equal(list("/?.parquet", &all), "PATH_NOT_FOUND");
    assert_string_equal(list("/none.csv", &all), "PATH_NOT_FOUND");
    assert_string_equal(list("/a[.csv", &all), "NILAS_ILLEGAL_ARGUMENT");
    make_file("b[1].csv"); /* nothing matches: it is a name */
    assert_string_equal(list("/b[1].csv", &all), "b[1].csv | 0");
    make_file("b1.csv");
    assert_string_equal(list("/b[1].csv", &all), "b1.csv | 0");
    assert_int_equal(remove(nl_str_c(arena, nl_arena_f(arena, "%s/b1.csv", root))), 0);
    assert_int_equal(remove(nl_str_c(arena, nl_arena_f(arena, "%s/b[1].csv", root))), 0);
}

static void test_files_are_chosen_by_when_they_changed(void **state)
{
    (void)state;
    enum { YEAR_2020 = 1577836800 };
    const int64_t micros = YEAR_2020 * 1000000LL;
    const struct timespec times[2] = {{.tv_sec = YEAR_2020}, {.tv_sec = YEAR_2020}};
    const nl_file_selection before = {.has_before = true, .before_micros = micros + 1}, not_before = {.has_before = true, .before_micros = micros};
    const nl_file_selection after = {.has_after = true, .after_micros = micros}, both = {.has_before = true, .before_micros = micros + 1, .has_after = true, .after_micros = micros - 1};
    assert_int_equal(utimensat(AT_FDCWD, nl_str_c(arena, nl_arena_f(arena, "%s/b.txt", root)), times, 0), 0);
    assert_string_equal(list("/*.*", &before), "b.txt | 0");
    assert_string_equal(list("/*.*", &not_before), "| 0");
    assert_string_equal(list("/*.*", &after), "a.csv | 0");
    assert_string_equal(list("/b.txt", &both), "b.txt | 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_subfolders_count_only_as_partitions, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_are_chosen_by_a_pattern, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_paths_may_be_patterns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_chosen_by_when_they_changed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
