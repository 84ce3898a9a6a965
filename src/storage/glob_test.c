/* storage/glob_test.c - what real Spark 4.0.1 (Hadoop 3.4) finds by the same patterns. */
#include "storage/glob.h"

#include "base/test_support.h"

static void test_names_match_as_in_hadoop(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name;
        bool is_match;
    } rows[] = {
        {"*.csv", "x1.csv", true},     {"*.csv", ".csv", true},          {"*.csv", ".x.csv", true},  {"*.csv", "x.csv.gz", false}, {"*", "", true},
        {"x?.csv", "x1.csv", true},    {"x?.csv", "x.csv", false},       {"x?", "x\xc3\xa4", true},  {"?", "\xc3\xa4", true},       {"??", "\xc3\xa4", false},
        {"x[0-9].csv", "x1.csv", true}, {"x[0-9].csv", "xa.csv", false}, {"x[^1].csv", "x2.csv", true}, {"x[^1].csv", "x1.csv", false}, {"x[!1].csv", "x2.csv", true},
        {"x[1^]", "x^", true},         {"[a-cx-z]", "y", true},          {"[a-cx-z]", "m", false},   {"[a-]", "-", true},           {"[*]", "*", true},
        {"[*]", ".", true},            {"[?]", ".", true},               {"[\\]]", "]", true},       {"[a\\-c]", "b", false},       {"{x1,y}*", "y.txt", true},
        {"{x{1,2},y}.*", "x2.csv", true}, {"{x{1,2},y}.*", "x3.csv", false}, {"{a,}b", "b", true},  {"{a,}b", "ab", true},         {"a,b", "a,b", true},
        {"a}b", "a}b", true},          {"a]b*", "a]bc", true},           {"we\\[ir\\]d*", "we[ir]d.csv", true}, {"\\*", "*", true}, {"\\*", "x", false},
        {"a.c*", "abc", false},        {"(a)+$|^*", "(a)+$|^", true},    {"plain", "plain", true},   {"plain", "plai", false},      {"{a*,*b}c", "xbc", true},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_glob *glob = NULL;
        assert_ok(nl_glob_compile(arena, nl_str_from(rows[i].pattern), &glob));
        if (nl_glob_matches(glob, nl_str_from(rows[i].name)) != rows[i].is_match) fail_msg("%s and %s", rows[i].pattern, rows[i].name);
    }
    nl_arena_free(arena);
}

static void test_broken_patterns_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *problem;
    } rows[] = {
        {"x[2", "Unclosed character class"}, {"x[", "Unclosed character class"}, {"[]", "Unclosed character class"}, {"[a[b]", "Unclosed character class"},
        {"x{1", "Unclosed group"},           {"{a,{b}", "Unclosed group"},       {"x*\\", "Missing escaped character"}, {"[\\", "Missing escaped character"},
        {"[z-a]", "from its end"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    const nl_glob *glob = NULL;
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_fails(nl_glob_compile(arena, nl_str_from(rows[i].pattern), &glob), NILAS_ILLEGAL_ARGUMENT, rows[i].problem);
    char deep[200];
    memset(deep, '{', sizeof(deep));
    assert_fails(nl_glob_compile(arena, (nl_str){deep, sizeof(deep)}, &glob), NILAS_ILLEGAL_ARGUMENT, "nest too deeply");
    nl_arena_free(arena);
}

static void test_no_pattern_takes_long(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_glob *glob = NULL;
    char pattern[1201], name[301];
    for (size_t i = 0; i < 1200; i++) pattern[i] = "{*,a}"[i % 5]; /* 2^240 ways for who tries them one by one */
    memset(name, 'a', 300);
    name[300] = 'b';
    assert_ok(nl_glob_compile(arena, (nl_str){pattern, 1200}, &glob));
    assert_true(nl_glob_matches(glob, (nl_str){name, 301}));
    for (size_t i = 0; i < 1200; i++) pattern[i] = "*a"[i % 2];
    assert_ok(nl_glob_compile(arena, (nl_str){pattern, 1200}, &glob));
    assert_false(nl_glob_matches(glob, (nl_str){name, 301}));
    nl_arena_free(arena);
}

static nl_fs *some_files(void)
{
    static const char *const names[] = {"a/b/x1.csv", "a/b/x2.csv", "a/b/y.txt", "a/c/x1.csv", "a/c/_x.csv", "a/.h/x1.csv", "d/z.csv", "d/we[ir]d.csv", "top"};
    nl_fs *fs = nl_fs_memory_new();
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(names); i++)
        assert_ok(nl_fs_write_all(fs, nl_arena_f(arena, "memory:/g/%s", names[i]), (nl_bytes){(const uint8_t *)"1\n", 2}));
    nl_arena_free(arena);
    return fs;
}

static void test_paths_are_found_part_by_part(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *found; /* without "memory:/g/" */
    } rows[] = {
        {"a/b/*.csv", "a/b/x1.csv a/b/x2.csv "},
        {"a/*/x[0-9].csv", "a/.h/x1.csv a/b/x1.csv a/b/x2.csv a/c/x1.csv "},
        {"a/{b,c}/x1.csv", "a/b/x1.csv a/c/x1.csv "},
        {"{a/b,a/c}/x1.csv", "a/b/x1.csv a/c/x1.csv "},
        {"{a/{b,c},d}/{x1,z}.csv", "a/b/x1.csv a/c/x1.csv d/z.csv "},
        {"{a/b,a/b}/y.txt", "a/b/y.txt "},
        {"*/b", "a/b/ "},
        {"a/*", "a/.h/ a/b/ a/c/ "},
        {"*", "a/ d/ top "},
        {"a/*/", "a/.h/ a/b/ a/c/ "},
        {"a//b///*.txt", "a/b/y.txt "},
        {"top/*", ""},
        {"*/*/none", ""},
        {"none/*/x", ""},
        {"d/we[ir]d.csv", ""},
        {"d/we\\[ir\\]d.csv", "d/we[ir]d.csv "},
        {"a/*/{x1,none}.csv", "a/.h/x1.csv a/b/x1.csv a/c/x1.csv "},
    };
    nl_fs *fs = some_files();
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_file_info *infos = NULL;
        uint32_t count = 0;
        nl_builder text;
        nl_builder_init(&text, 4096);
        assert_ok(nl_fs_glob(fs, nl_arena_f(arena, "memory:/g/%s", rows[i].pattern), arena, &infos, &count));
        for (uint32_t k = 0; k < count; k++) {
            assert_true(nl_str_starts(infos[k].path, NL_STR("memory:/g/")));
            nl_append(&text, nl_str_slice(infos[k].path, 10, infos[k].path.length));
            nl_append_c(&text, infos[k].is_directory ? "/ " : " ");
            if (!infos[k].is_directory) assert_int_equal(infos[k].size_bytes, 2);
        }
        if (!nl_str_is(nl_builder_str(&text), rows[i].found)) fail_msg("%s finds \"%.*s\"", rows[i].pattern, NL_STR_ARG(nl_builder_str(&text)));
        nl_builder_fini(&text);
    }
    nl_arena_free(arena);
    nl_fs_release(fs);
}

static void test_groups_of_too_many_paths_are_refused(void **state)
{
    (void)state;
    nl_fs *fs = some_files();
    nl_arena *arena = nl_arena_new(NULL);
    const nl_file_info *infos = NULL;
    uint32_t count = 0;
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_append_c(&text, "memory:/g");
    for (int i = 0; i < 20; i++) nl_append_c(&text, "{/a,/b}");
    assert_fails(nl_fs_glob(fs, nl_builder_str(&text), arena, &infos, &count), NILAS_ILLEGAL_ARGUMENT, "too many paths");
    assert_fails(nl_fs_glob(fs, NL_STR("memory:/g/a[/x"), arena, &infos, &count), NILAS_ILLEGAL_ARGUMENT, "Unclosed character class");
    nl_builder_fini(&text);
    nl_arena_free(arena);
    nl_fs_release(fs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_match_as_in_hadoop),     cmocka_unit_test(test_broken_patterns_are_refused),
        cmocka_unit_test(test_no_pattern_takes_long),        cmocka_unit_test(test_paths_are_found_part_by_part),
        cmocka_unit_test(test_groups_of_too_many_paths_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
