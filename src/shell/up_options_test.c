/* shell/up_options_test.c - flags, environment and defaults of `nilas up`; what each service brings with it. */
#include "shell/up_options.h"

#include "base/test_support.h"
#include "shell/up.h"

static nl_status parse(nl_arena *arena, nl_up_command command, const char *line, nl_up_options *options)
{
    char *arguments[16];
    int count = 0;
    nl_str rest = nl_str_from(line);
    for (nl_str part; nl_str_next_part(&rest, ' ', &part);) arguments[count++] = NL_UNCONST(nl_str_c(arena, part));
    return nl_up_options_parse(arena, command, count, arguments, options);
}

static void names_choose_and_bring_what_they_need(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_up_options options;
    assert_ok(parse(arena, NL_UP, "", &options));
    for (uint32_t i = 0; i < nl_up_service_count; i++) assert_true(options.wanted[i]);
    for (uint32_t i = 0; i < nl_up_service_count; i++) {
        const nl_up_service *row = &nl_up_services[i];
        assert_ok(parse(arena, NL_UP, row->name, &options));
        assert_true(options.wanted[i]);
        for (size_t k = 0; k < NL_COUNT(row->needs) && row->needs[k]; k++) {
            const uint32_t needed = nl_up_service_find(nl_str_from(row->needs[k]));
            assert_true(needed < nl_up_service_count); /* a slip of the finger in the table */
            assert_true(options.wanted[needed]);
        }
    }
    nl_arena_free(arena);
}

static void a_flag_wins_over_the_environment_and_that_over_the_default(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_up_options options;
    setenv("HOME", "/home/somebody", 1);
    unsetenv("XDG_DATA_HOME");
    const uint32_t s3 = nl_up_service_find(NL_STR("s3"));
    assert_ok(parse(arena, NL_UP, "", &options));
    assert_text(options.data, "/home/somebody/.local/share/nilas");
    assert_text(options.profile, "nilas");
    assert_int_equal(options.ports[s3], 9000);
    setenv("NILAS_DATA", "/from/environment", 1);
    setenv("NILAS_PORT_S3", "9100", 1);
    assert_ok(parse(arena, NL_UP, "", &options));
    assert_text(options.data, "/from/environment");
    assert_int_equal(options.ports[s3], 9100);
    assert_ok(parse(arena, NL_UP, "--data=/from/flag -p s3=9200 --host a,b --host c", &options));
    assert_text(options.data, "/from/flag");
    assert_int_equal(options.ports[s3], 9200);
    assert_int_equal(options.hosts.count, 3);
    unsetenv("NILAS_DATA");
    unsetenv("NILAS_PORT_S3");
    nl_arena_free(arena);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    static const struct {
        nl_up_command command;
        const char *line, *part;
    } rows[] = {
        {NL_UP, "s33", "did you mean s3?"},
        {NL_UP, "--detatch", "did you mean --detach?"},
        {NL_UP, "--port", "--port wants a NAME=PORT"},
        {NL_UP, "--port s3=-1", "-1 is no port"},
        {NL_UP, "--strict=yes", "--strict takes no value"},
        {NL_UP, "--secret-key x", "belong together"},
        {NL_UP, "--listen 0.0.0.0", "--access-key"},
        {NL_UP, "--profile a]b", "a]b"},
        {NL_DOWN, "--detach", "unknown option --detach"},
        {NL_STATUS, "s3", "no argument s3"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    nl_up_options options;
    for (size_t i = 0; i < NL_COUNT(rows); i++) assert_fails(parse(arena, rows[i].command, rows[i].line, &options), NILAS_ILLEGAL_ARGUMENT, rows[i].part);
    assert_ok(parse(arena, NL_UP, "--listen 0.0.0.0 --access-key a --secret-key b", &options));
    assert_true(options.is_strict);
    nl_arena_free(arena);
}

static void a_folder_that_nobody_serves_is_down(void **state)
{
    (void)state;
    nl_up_record record;
    bool is_up = true;
    assert_ok(nl_up_record_read(NL_STR("/nowhere/at/all"), &record, &is_up));
    assert_false(is_up);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_choose_and_bring_what_they_need),
        cmocka_unit_test(a_flag_wins_over_the_environment_and_that_over_the_default),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(a_folder_that_nobody_serves_is_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
