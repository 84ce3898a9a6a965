/* storage/aws_profile_test.c - lines of AWS files as botocore and the Java SDK read them, and the order of endpoints. */
#include "base/test_support.h"

#include "storage/aws_profile.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *const variables[] = {"AWS_PROFILE",         "AWS_DEFAULT_PROFILE", "AWS_REGION",        "AWS_DEFAULT_REGION",   "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_S3", "AWS_CONFIG_FILE",     "AWS_ENDPOINT_URL_GLUE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"};

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
    (void)info;
    (void)kind;
    (void)where;
    return remove(path);
}

static int set_up(void **state)
{
    (void)state;
    for (size_t i = 0; i < NL_COUNT(variables); i++)
        unsetenv(variables[i]);
    snprintf(folder, sizeof(folder), "/tmp/nilas-aws-XXXXXX");
    if (!mkdtemp(folder)) return -1;
    char path[128];
    snprintf(path, sizeof(path), "%s/.aws", folder);
    setenv("HOME", folder, 1);
    return mkdir(path, 0700);
}

static int tear_down(void **state)
{
    (void)state;
    return nftw(folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/.aws/%s", folder, name);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static const nl_aws_section *profile_of(nl_arena *arena, const char *text, const char *name, bool is_credentials)
{
    nl_aws_files *files = NL_NEW(arena, nl_aws_files);
    assert_ok(nl_aws_files_parse(arena, nl_str_from(text), NL_STR("file"), is_credentials, files));
    return nl_aws_find_section(files, "profile", nl_str_from(name));
}

static void test_keys_and_values(void **state)
{
    (void)state;
    static const struct {
        const char *text, *profile, *key, *value; /* value NULL: the key is absent; key NULL: the profile is */
    } rows[] = {
        {"[default]\nregion = eu-west-1\n", "default", "region", "eu-west-1"},
        {"[default]\r\nregion=eu-west-1\r\n", "default", "region", "eu-west-1"},
        {"\xEF\xBB\xBF[default]\nregion: x", "default", "region", "x"},
        {"# c\n; c\n[default]\n # c\nRegion = x\n", "default", "region", "x"},
        {"[default]\na = b=c:d\n", "default", "a", "b=c:d"},
        {"[default]\na = b # comment\n", "default", "a", "b"},
        {"[default]\na = b#c;d\n", "default", "a", "b#c;d"},
        {"[profile x] # comment\na = 1\n", "x", "a", "1"},
        {"[profile  \"x y\" ]\na = 1\n", "x y", "a", "1"},
        {"[profile 'x']\na = 1\n", "x", "a", "1"},
        {"[x]\na = 1\n", "x", NULL, NULL},
        {"[profiles x]\na = 1\n", "x", NULL, NULL},
        {"[profile default]\na = 1\n[default]\na = 2\nb = 3\n", "default", "a", "1"},
        {"[profile default]\na = 1\n[default]\na = 2\nb = 3\n", "default", "b", NULL},
        {"[default]\na = 2\nb = 3\n[profile default]\na = 1\n", "default", "b", NULL},
        {"[profile x]\na = 1\na = 2\n[profile x]\nb = 3\n", "x", "a", "2"},
        {"[profile x]\na = 1\n[profile x]\nb = 3\n", "x", "b", "3"},
        {"[default]\n  a = 1\n  b = 2\n", "default", "b", "2"},
        {"[default]\na = 1\n  2\n\n   3\nb = 4\n", "default", "a", "1\n2\n3"},
        {"[default]\na = 1\n  2\n\n   3\nb = 4\n", "default", "b", "4"},
        {"[default]\na =\nb = 4\n", "default", "a", NULL},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_aws_section *profile = profile_of(arena, rows[i].text, rows[i].profile, false);
        if (!profile != !rows[i].key) fail_msg("row %zu: profile", i);
        if (rows[i].value) assert_text(nl_aws_find_value(profile, rows[i].key), rows[i].value);
        else if (rows[i].key) assert_null(nl_aws_find_value(profile, rows[i].key).data);
        nl_arena_free(arena);
    }
}

static void test_credentials_files_name_profiles_without_the_word(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    assert_text(nl_aws_find_value(profile_of(arena, "[x]\na = 1\n", "x", true), "a"), "1");
    assert_text(nl_aws_find_value(profile_of(arena, "[profile x]\na = 1\n", "profile x", true), "a"), "1");
    nl_arena_free(arena);
}

static void test_blocks(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_aws_section *profile = profile_of(arena, "[default]\ns3 =\n  addressing_style = virtual\n\n  # c\n  Addressing_Style = path ; c\n\tb = 2\n  c=3\nregion = x\n", "default", false);
    assert_text(nl_aws_find_nested(profile, "s3", "addressing_style"), "path");
    assert_text(nl_aws_find_nested(profile, "s3", "b"), "2");
    assert_text(nl_aws_find_nested(profile, "s3", "c"), "3");
    assert_null(nl_aws_find_nested(profile, "s3", "d").data);
    assert_null(nl_aws_find_nested(profile, "s4", "d").data);
    assert_text(nl_aws_find_value(profile, "region"), "x");
    nl_arena_free(arena);
}

static void test_lines_that_mean_nothing_are_errors_with_their_number(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"a = 1\n", "line 1 stands before"},       {"[default\n", "line 1 begins a section but has no"}, {"[]\n", "line 1 begins a section without a name"},
        {"\n[default]\nwords\n", "line 3 is neither"}, {"[default]\n= 1\n", "line 2 is neither"},         {"[default]\ns3 =\n  words\n", "line 3 belongs to a block"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_aws_files files = {0};
        assert_fails(nl_aws_files_parse(arena, nl_str_from(rows[i][0]), NL_STR("/x/config"), false, &files), NILAS_ILLEGAL_ARGUMENT, rows[i][1]);
        nl_arena_free(arena);
    }
}

static void test_credentials_win_over_config(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_aws_files files;
    write_file("config", "[default]\nregion = a\naws_access_key_id = config\n[profile x]\nregion = b\n");
    write_file("credentials", "[default]\naws_access_key_id = credentials\n[y]\naws_access_key_id = z\n");
    assert_ok(nl_aws_files_read(arena, &files));
    assert_int_equal(files.sections.count, 3);
    assert_text(nl_aws_find_value(nl_aws_find_section(&files, "profile", NL_STR("default")), "aws_access_key_id"), "credentials");
    assert_text(nl_aws_find_value(nl_aws_find_section(&files, "profile", NL_STR("default")), "region"), "a");
    setenv("AWS_CONFIG_FILE", "~/.aws/other", 1);
    setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere/credentials", 1);
    write_file("other", "[profile x]\nregion = c\n");
    assert_ok(nl_aws_files_read(arena, &files));
    assert_int_equal(files.sections.count, 1);
    setenv("AWS_CONFIG_FILE", folder, 1); /* a folder is no file */
    assert_fails(nl_aws_files_read(arena, &files), NILAS_IO_ERROR, folder);
    nl_arena_free(arena);
}

static void test_no_files_is_an_empty_profile(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_aws_profile profile;
    nl_str url;
    assert_ok(nl_aws_profile_read(arena, &profile));
    assert_text(profile.name, "default");
    assert_text(profile.region, "");
    assert_false(profile.is_path_style);
    assert_ok(nl_aws_endpoint(arena, "s3", &url));
    assert_text(url, "");
    assert_text(nl_aws_service_url(arena, "glue", NL_STR("eu-west-1")), "https://glue.eu-west-1.amazonaws.com");
    assert_text(nl_aws_service_url(arena, "sts", NL_STR("cn-north-1")), "https://sts.cn-north-1.amazonaws.com.cn");
    nl_arena_free(arena);
}

static void test_regions_and_endpoints_in_the_order_of_the_sdks(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_aws_profile profile;
    nl_str url;
    write_file("config", "[profile x]\nregion = eu-west-1\nendpoint_url = http://all\nservices = local\ns3 =\n  addressing_style = path\n"
                         "[services local]\ns3 =\n  endpoint_url = http://only-s3\n[profile y]\nservices = missing\n");
    setenv("AWS_DEFAULT_PROFILE", "x", 1);
    assert_ok(nl_aws_profile_read(arena, &profile));
    assert_text(profile.name, "x");
    assert_text(profile.region, "eu-west-1");
    assert_text(profile.endpoint_url, "http://all");
    assert_true(profile.is_path_style);
    assert_ok(nl_aws_endpoint(arena, "s3", &url));
    assert_text(url, "http://only-s3");
    assert_ok(nl_aws_endpoint(arena, "glue", &url));
    assert_text(url, "http://all");
    setenv("AWS_ENDPOINT_URL", "http://env", 1);
    assert_ok(nl_aws_endpoint(arena, "s3", &url));
    assert_text(url, "http://env");
    setenv("AWS_ENDPOINT_URL_S3", "http://env-s3", 1);
    assert_ok(nl_aws_endpoint(arena, "s3", &url));
    assert_text(url, "http://env-s3");
    setenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "TRUE", 1);
    assert_ok(nl_aws_endpoint(arena, "s3", &url));
    assert_text(url, "");
    setenv("AWS_DEFAULT_REGION", "us-west-2", 1);
    assert_ok(nl_aws_profile_read(arena, &profile));
    assert_text(profile.region, "us-west-2");
    setenv("AWS_REGION", "ap-south-1", 1);
    assert_ok(nl_aws_profile_read(arena, &profile));
    assert_text(profile.region, "ap-south-1");
    unsetenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    unsetenv("AWS_ENDPOINT_URL");
    setenv("AWS_PROFILE", "y", 1);
    assert_fails(nl_aws_endpoint(arena, "glue", &url), NILAS_ILLEGAL_ARGUMENT, "services section missing");
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_keys_and_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credentials_files_name_profiles_without_the_word, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_that_mean_nothing_are_errors_with_their_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_credentials_win_over_config, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_files_is_an_empty_profile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_regions_and_endpoints_in_the_order_of_the_sdks, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
