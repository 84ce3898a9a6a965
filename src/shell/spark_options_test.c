#include "base/test_support.h"
#include "shell/spark_options.h"

#include <unistd.h>

static nl_arena *arena;
static char folder[64];

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    snprintf(folder, sizeof folder, "/tmp/nilas-options-XXXXXX");
    unsetenv("SPARK_CONF_DIR");
    unsetenv("SPARK_HOME");
    return mkdtemp(folder) ? 0 : 1;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(nl_arena_f(arena, "%s/spark-defaults.conf", folder).data);
    nl_arena_free(arena);
    return rmdir(folder);
}

static nl_status parse(nl_spark_flags *flags, int count, const char *const *arguments)
{
    *flags = (nl_spark_flags){0};
    return nl_spark_flags_parse(arena, NL_SPARK_SQL, count, (char **)(uintptr_t)arguments, flags);
}
#define PARSE(flags, ...) parse((flags), sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static const nl_property *property_at(const nl_list *list, uint32_t i)
{
    assert_true(i < list->count);
    return list->items[i];
}

static void write_defaults(const char *content)
{
    FILE *file = fopen(nl_arena_f(arena, "%s/spark-defaults.conf", folder).data, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
    setenv("SPARK_CONF_DIR", folder, 1);
}

static void test_statements_and_files_keep_their_order(void **state)
{
    (void)state;
    nl_spark_flags flags;
    assert_ok(PARSE(&flags, "-e", "SELECT 1", "-f", "a.sql", "--execute=SELECT 2", "-i", "init.sql", "-S"));
    assert_int_equal(flags.scripts.count, 3);
    const nl_script_source *second = flags.scripts.items[1], *third = flags.scripts.items[2];
    assert_true(second->is_file);
    assert_string_equal(second->text, "a.sql");
    assert_false(third->is_file);
    assert_string_equal(third->text, "SELECT 2");
    assert_string_equal(flags.init_files.items[0], "init.sql");
    assert_true(flags.is_silent);
    assert_false(flags.is_verbose);
}

static void test_keys_and_variables_are_kept_apart(void **state)
{
    (void)state;
    nl_spark_flags flags;
    assert_ok(PARSE(&flags, "--conf", "a=b=c", "--hiveconf", " k =v ", "-d", "x=1", "--hivevar=y=2", "--master", "local[2]", "--name", "n"));
    assert_int_equal(flags.confs.count, 4);
    assert_text(property_at(&flags.confs, 0)->key, "a");
    assert_text(property_at(&flags.confs, 0)->value, "b=c");
    assert_text(property_at(&flags.confs, 1)->key, "k");
    assert_text(property_at(&flags.confs, 2)->key, "spark.master");
    assert_text(property_at(&flags.confs, 3)->key, "spark.app.name");
    assert_int_equal(flags.variables.count, 2);
    assert_text(property_at(&flags.variables, 1)->value, "2");
}

static void test_files_come_before_options(void **state)
{
    (void)state;
    nl_spark_flags flags;
    write_defaults("# comment\n! another\nspark.a  one two \nspark.b=x=y\r\nspark.c: z\nother.key 1\nspark.d\n\n  spark.e\t=  v\n");
    assert_ok(PARSE(&flags, "--conf", "spark.a=flag"));
    assert_int_equal(flags.confs.count, 6);
    assert_text(property_at(&flags.confs, 0)->value, "one two");
    assert_text(property_at(&flags.confs, 1)->value, "x=y");
    assert_text(property_at(&flags.confs, 2)->value, "z");
    assert_text(property_at(&flags.confs, 3)->key, "spark.d");
    assert_text(property_at(&flags.confs, 3)->value, "");
    assert_text(property_at(&flags.confs, 4)->value, "v");
    assert_text(property_at(&flags.confs, 5)->value, "flag");
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    nl_spark_flags flags;
    assert_fails(PARSE(&flags, "--fromat", "csv"), NILAS_ILLEGAL_ARGUMENT, "did you mean --format?");
    assert_fails(PARSE(&flags, "stray"), NILAS_ILLEGAL_ARGUMENT, "unknown option stray");
    assert_fails(PARSE(&flags, "-e"), NILAS_ILLEGAL_ARGUMENT, "-e wants a value");
    assert_fails(PARSE(&flags, "--conf", "novalue"), NILAS_ILLEGAL_ARGUMENT, "--conf wants KEY=VALUE, not novalue");
    assert_fails(PARSE(&flags, "--format", "html"), NILAS_ILLEGAL_ARGUMENT, "not html");
    assert_fails(PARSE(&flags, "--properties-file", "/no/such/file"), PATH_NOT_FOUND, "/no/such/file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_statements_and_files_keep_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keys_and_variables_are_kept_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_come_before_options, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes_are_named, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
