/* shell/up_profile_test.c - sections of AWS configuration files: what is set, and that every other byte stays. */
#include "shell/up_profile.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/test_support.h"

static const nl_property settings[] = {{NL_STR_INIT("region"), NL_STR_INIT("us-east-1")}, {NL_STR_INIT("s3"), NL_STR_INIT("\n    addressing_style = path")}};

static void a_section_is_set_and_the_rest_stays(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
#define OURS "region = us-east-1\ns3 =\n    addressing_style = path\n"
    static const struct {
        const char *before, *after;
    } rows[] = {
        {"", "[profile nilas]\n" OURS},
        {"# mine", "# mine\n\n[profile nilas]\n" OURS},
        {"[default]\r\nregion=eu-west-1\r\n", "[default]\r\nregion=eu-west-1\r\n\n[profile nilas]\n" OURS},
        {"[profile nilas]\n" OURS, "[profile nilas]\n" OURS},
        {"[profile nilas]", "[profile nilas]\n" OURS},
        /* keys of ours anywhere in the section, nested lines with them; others and comments keep their place */
        {"[profile  \"nilas\" ] ; here\noutput = json\ns3=\n  addressing_style = virtual\n  max_queue_size = 3\n# why\nREGION: x\nsso =\n  a = b\n\n[profile other]\ns3 =\n  a = b\nregion = y\n",
         "[profile  \"nilas\" ] ; here\n" OURS "output = json\n# why\nsso =\n  a = b\n\n[profile other]\ns3 =\n  a = b\nregion = y\n"},
        {"[profile nilas2]\nregion = z\n", "[profile nilas2]\nregion = z\n\n[profile nilas]\n" OURS},
        {"[nilas]\nregion = z\n", "[nilas]\nregion = z\n\n[profile nilas]\n" OURS},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_str once = nl_ini_set(arena, nl_str_from(rows[i].before), NL_STR("profile nilas"), settings, NL_COUNT(settings));
        assert_text(once, rows[i].after);
        assert_text(nl_ini_set(arena, once, NL_STR("profile nilas"), settings, NL_COUNT(settings)), rows[i].after);
        assert_text(nl_ini_get(once, NL_STR("profile nilas"), NL_STR("region")), "us-east-1");
    }
    assert_null(nl_ini_get(NL_STR("[a]\nx = 1\n[b]\ny = 2\n"), NL_STR("a"), NL_STR("y")).data);
    assert_null(nl_ini_get(NL_STR("y = 2\n"), NL_STR("a"), NL_STR("y")).data);
    nl_arena_free(arena);
}

static nl_str contents(nl_arena *arena, const char *path)
{
    FILE *in = fopen(path, "r");
    char *text = nl_arena_alloc(arena, 65536);
    const size_t length = in ? fread(text, 1, 65536, in) : 0;
    if (in) fclose(in);
    return (nl_str){text, length};
}

static void the_files_are_written_privately_and_foreign_credentials_stay(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    char folder[] = "/tmp/nilas-aws-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const nl_str config = nl_arena_f(arena, "%s/aws/config", folder), credentials = nl_arena_f(arena, "%s/other/credentials", folder);
    setenv("AWS_CONFIG_FILE", config.data, 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", credentials.data, 1);
    nl_up_options options = {.profile = NL_STR("nilas"), .access_key = NL_STR("one"), .secret_key = NL_STR("two")};
    nl_str path;
    assert_ok(nl_up_configure(&options, arena, &path));
    assert_text(path, config.data);
    assert_text(contents(arena, credentials.data), "[nilas]\naws_access_key_id = one\naws_secret_access_key = two\n");
    struct stat before, after;
    assert_int_equal(stat(credentials.data, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0600);
    assert_int_equal(stat(config.data, &before), 0);
    assert_int_equal(before.st_mode & 0777, 0600);
    assert_ok(nl_up_configure(&options, arena, &path));
    assert_int_equal(stat(config.data, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino); /* nothing to do, nothing written */
    options.access_key = NL_STR("three");
    assert_ok(nl_up_configure(&options, arena, &path)); /* its own may change */

    FILE *out = fopen(credentials.data, "a");
    fputs("\n[work]\naws_access_key_id = AKIAREAL\naws_secret_access_key = real\n", out);
    fclose(out);
    const nl_str text = contents(arena, credentials.data);
    options.profile = NL_STR("work");
    assert_fails(nl_up_configure(&options, arena, &path), NILAS_ILLEGAL_ARGUMENT, "has credentials that nilas did not write");
    assert_text(contents(arena, credentials.data), nl_str_c(arena, text));
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_section_is_set_and_the_rest_stays),
        cmocka_unit_test(the_files_are_written_privately_and_foreign_credentials_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
