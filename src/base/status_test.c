/* base/status_test.c - messages against what Spark 4.0.1 printed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"

static nl_query_context context_of(const char *text, const char *fragment, uint32_t line, uint32_t position)
{
    uint32_t start = (uint32_t)(strstr(text, fragment) - text);
    return (nl_query_context){.text = nl_str_from(text),
                              .start = start,
                              .stop = start + (uint32_t)strlen(fragment),
                              .line = line,
                              .position = position};
}

static void test_message_holds_condition_text_and_state(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(PATH_NOT_FOUND, NL_P("path", "file:/x"));
    assert_string_equal(nl_error_message(status), "[PATH_NOT_FOUND] Path does not exist: file:/x. SQLSTATE: 42K03");
    assert_string_equal(nl_condition_name(nl_error_condition(status)), "PATH_NOT_FOUND");
    assert_string_equal(nl_condition_sqlstate(nl_error_condition(status)), "42K03");
    assert_int_equal(nl_error_kind_of(status), NL_KIND_USER);
    nl_error_free(status);
}

static void test_every_condition_has_a_dotted_name_and_a_state_of_five(void **state)
{
    (void)state;
    for (int i = 0; i < NL_CONDITION_COUNT; i++) {
        const char *name = nl_condition_name((nl_condition)i);
        assert_true(strlen(name) > 3);
        assert_null(strstr(name, "__"));
        size_t state_length = strlen(nl_condition_sqlstate((nl_condition)i));
        assert_true(state_length == 5 || state_length == 0);
    }
}

static void test_no_condition_is_listed_twice(void **state)
{
    (void)state;
    for (int i = 0; i < NL_CONDITION_COUNT; i++)
        for (int j = i + 1; j < NL_CONDITION_COUNT; j++)
            assert_string_not_equal(nl_condition_name((nl_condition)i), nl_condition_name((nl_condition)j));
}

static void test_parameters_are_copied_and_found_by_name(void **state)
{
    (void)state;
    char text[] = "abc";
    nl_str slice = {"xyz-", 3};
    nl_status status = NL_RAISE(NILAS_IO_ERROR, NL_P("operation", text), NL_P_STR("path", slice),
                                NL_P_INT("problem", INT64_MIN));
    text[0] = '!';
    assert_int_equal(nl_error_param_count(status), 3);
    assert_string_equal(nl_error_param(status, "operation"), "abc");
    assert_string_equal(nl_error_param(status, "path"), "xyz");
    assert_string_equal(nl_error_param(status, "problem"), "-9223372036854775808");
    assert_null(nl_error_param(status, "nothing"));
    const char *name;
    const char *value;
    nl_error_param_at(status, 1, &name, &value);
    assert_string_equal(name, "path");
    assert_string_equal(value, "xyz");
    nl_error_free(status);
}

static void test_a_parameter_that_was_not_given_stays_visible(void **state)
{
    (void)state;
    nl_status status = nl_raise(NL_COND_PATH_NOT_FOUND, NL_HERE, NULL);
    assert_string_equal(nl_error_message(status), "[PATH_NOT_FOUND] Path does not exist: <path>. SQLSTATE: 42K03");
    nl_error_free(status);
}

static void test_values_are_not_searched_for_parameters(void **state)
{
    (void)state;
    nl_status status = NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "a < %s <message> <", "b");
    assert_string_equal(nl_error_message(status),
                        "a < b <message> <");
    nl_error_free(status);
}

static void test_run_time_context_is_shown_as_spark_shows_it(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *fragment;
        uint32_t line;
        uint32_t position;
        const char *expected;
    } cases[] = {
        {"SELECT 1/0", "1/0", 1, 7, "\n== SQL (line 1, position 8) ==\nSELECT 1/0\n       ^^^\n"},
        {"SELECT id,\n 1/(id-id) FROM range(3)", "1/(id-id)", 2, 1,
         "\n== SQL (line 2, position 2) ==\n 1/(id-id) FROM range(3)\n ^^^^^^^^^\n"},
        {"SELECT abs(\n1/\n(id-id)) FROM range(3)", "1/\n(id-id)", 2, 0,
         "\n== SQL (line 2, position 1) ==\n1/\n^^\n(id-id)) FROM range(3)\n^^^^^^^\n"},
        {"SELECT 'ünï', 1/0", "1/0", 1, 14, "\n== SQL (line 1, position 15) ==\nSELECT 'ünï', 1/0\n              ^^^\n"},
        {"SELECT '😀', 1/0", "1/0", 1, 12, "\n== SQL (line 1, position 13) ==\nSELECT '😀', 1/0\n            ^^^\n"},
        {"SELECT 'xxxxxxxxxxxxxxxxxxxx', 1/0", "1/0", 1, 31,
         "\n== SQL (line 1, position 32) ==\nSELECT 'xxxxxxxxxxxxxxxxxxxx', 1/0\n                               ^^^\n"},
        {"SELECT 'xxxxxxxxxxxxxxxxxxxxx', 1/0", "1/0", 1, 32,
         "\n== SQL (line 1, position 33) ==\n...SELECT 'xxxxxxxxxxxxxxxxxxxxx', 1/0\n"
         "                                   ^^^\n"},
        {"SELECT 'xxxxxxxxxxxxxxxxxxxxxx', 1/0", "1/0", 1, 33,
         "\n== SQL (line 1, position 34) ==\n...ELECT 'xxxxxxxxxxxxxxxxxxxxxx', 1/0\n"
         "                                   ^^^\n"},
        {"SELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyy'", "1/0", 1, 7,
         "\n== SQL (line 1, position 8) ==\nSELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyy'\n       ^^^\n"},
        {"SELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyyy'", "1/0", 1, 7,
         "\n== SQL (line 1, position 8) ==\nSELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyyy'...\n       ^^^\n"},
        {"SELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyy'", "1/0", 1, 7,
         "\n== SQL (line 1, position 8) ==\nSELECT 1/0, 'yyyyyyyyyyyyyyyyyyyyyyyyyyyyy...\n       ^^^\n"},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_status status = NL_RAISE(OPERATION_CANCELED);
        nl_query_context context = context_of(cases[i].text, cases[i].fragment, cases[i].line, cases[i].position);
        nl_error_set_context(status, &context);
        const char *message = nl_error_message(status);
        assert_string_equal(strstr(message, "HY008") + 5, cases[i].expected);
        nl_error_free(status);
    }
}

static void test_parse_context_points_with_a_dashed_line(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(OPERATION_CANCELED);
    nl_query_context context = {.text = NL_STR("SELECT 'a\nFROM b\n"), .line = 1, .position = 7, .is_parse_error = true};
    nl_error_set_context(status, &context);
    assert_string_equal(strstr(nl_error_message(status), " SQL"),
                        " SQLSTATE: HY008 (line 1, pos 7)\n\n== SQL ==\nSELECT 'a\n-------^^^\nFROM b\n");
    assert_int_equal(nl_error_message(status)[0], '\n');
    nl_error_free(status);
}

static void test_a_parse_error_behind_the_last_line_has_its_dashes_at_the_end(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(OPERATION_CANCELED);
    nl_query_context context = {.text = NL_STR("SELECT\n\n1 +\n\n"), .line = 5, .position = 0, .is_parse_error = true};
    nl_error_set_context(status, &context);
    assert_string_equal(strstr(nl_error_message(status), " (line"),
                        " (line 5, pos 0)\n\n== SQL ==\nSELECT\n\n1 +\n^^^\n");
    nl_error_free(status);
}

static void test_analysis_context_is_line_and_position(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(OPERATION_CANCELED);
    nl_query_context context = {.text = NL_STR("SELECT foo"), .line = 2, .position = 3, .is_analysis = true};
    nl_error_set_context(status, &context);
    assert_string_equal(strstr(nl_error_message(status), " SQL"), " SQLSTATE: HY008; line 2 pos 3");
    nl_error_free(status);
}

static void test_of_a_text_of_pieces_only_the_one_that_is_meant_stays(void **state)
{
    static const char text[] = "\001\004SELECT 1\003__add__\002job.py:7\003\004a >\n '\xC3\xA4' + 1/0\003";
    static const struct {
        const char *fragment, *kept, *shown;
    } rows[] = {
        {"__add__\002job.py:7", "\001__add__\002job.py:7", "\n== DataFrame ==\n\"__add__\" was called from\njob.py:7\n"},
        {"1/0", "a >\n '\xC3\xA4' + 1/0", "\n== SQL (line 2, position 8) ==\n '\xC3\xA4' + 1/0\n       ^^^\n"},
        {"1", "SELECT 1", "\n== SQL (line 1, position 8) ==\nSELECT 1\n       ^\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        nl_status status = NL_RAISE(OPERATION_CANCELED);
        const uint32_t start = (uint32_t)(strstr(text, rows[i].fragment) - text);
        nl_error_set_context(status, &(nl_query_context){.text = {text, sizeof text - 1}, .start = start, .stop = start + (uint32_t)strlen(rows[i].fragment), .line = 1});
        assert_true(nl_str_is(nl_error_context(status)->text, rows[i].kept));
        assert_string_equal(strchr(nl_error_message(status), '\n'), rows[i].shown);
        nl_error_free(status);
    }
}

static void test_the_first_context_stays(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(OPERATION_CANCELED);
    nl_query_context first = {.text = NL_STR("a"), .line = 1, .is_analysis = true};
    nl_query_context second = {.text = NL_STR("b"), .line = 2, .is_analysis = true};
    assert_null(nl_error_context(status));
    nl_error_set_context(status, &first);
    nl_error_set_context(status, &second);
    assert_int_equal(nl_error_context(status)->line, 1);
    nl_error_free(status);
}

static nl_status note_twice(void)
{
    NL_TRY_NOTE(nl_note_if(NL_RAISE(OPERATION_CANCELED), NL_HERE, "reading %s", "page"), "reading file %d", 7);
    return NULL;
}

static void test_notes_are_listed_newest_last(void **state)
{
    (void)state;
    nl_status status = note_twice();
    const char *notes = nl_error_notes(status);
    assert_non_null(strstr(notes, "reading page ("));
    assert_true(strstr(notes, "reading file 7") > strstr(notes, "reading page"));
    nl_error_free(status);
    assert_null(nl_note_if(NULL, NL_HERE, "nothing"));
}

static void test_a_second_failure_becomes_a_note(void **state)
{
    (void)state;
    nl_status first = NL_RAISE(OPERATION_CANCELED);
    nl_status second = NL_RAISE(PATH_NOT_FOUND, NL_P("path", "/x"));
    nl_status both = nl_first_error(first, second);
    assert_int_equal(nl_error_condition(both), NL_COND_OPERATION_CANCELED);
    assert_non_null(strstr(nl_error_notes(both), "PATH_NOT_FOUND"));
    nl_error_free(both);
    assert_null(nl_first_error(NULL, NULL));
    nl_status only = nl_first_error(NULL, NL_RAISE(OPERATION_CANCELED));
    assert_int_equal(nl_error_condition(only), NL_COND_OPERATION_CANCELED);
    nl_error_free(only);
}

static void test_a_failure_keeps_its_cause(void **state)
{
    (void)state;
    nl_status status = nl_error_because(NL_RAISE(FAILED_READ_FILE__NO_HINT, NL_P("path", "/x")), NL_RAISE(PATH_NOT_FOUND, NL_P("path", "/y")));
    assert_null(strstr(nl_error_message(status), "/y"));
    assert_int_equal(nl_error_condition(nl_error_cause(status)), NL_COND_PATH_NOT_FOUND);
    assert_null(nl_error_cause(nl_error_cause(status)));
    status = nl_error_because(status, NL_RAISE(OPERATION_CANCELED)); /* the first one stays */
    assert_int_equal(nl_error_condition(nl_error_cause(status)), NL_COND_PATH_NOT_FOUND);
    nl_error_free(status);
    assert_null(nl_error_because(NULL, NL_RAISE(OPERATION_CANCELED)));
    nl_error_free(nl_error_because(NL_RAISE(OPERATION_CANCELED), NULL));
}

static void test_a_zero_byte_does_not_cut_a_message(void **state)
{
    (void)state;
    const nl_str text = {"SELECT 1\0 + 2", 13};
    nl_status status = NL_RAISE(PARSE_SYNTAX_ERROR, NL_P_STR("error", nl_str_slice(text, 8, 9)), NL_P("hint", ""));
    nl_error_set_context(status, &(nl_query_context){.text = text, .line = 1, .position = 8, .is_parse_error = true});
    assert_string_equal(nl_error_message(status), "\n[PARSE_SYNTAX_ERROR] Syntax error at or near \xe2\x90\x80. SQLSTATE: 42601 (line 1, pos 8)\n\n"
                                                  "== SQL ==\nSELECT 1\xe2\x90\x80 + 2\n--------^^^\n");
    nl_error_free(status);
}

static void test_the_kind_can_be_changed(void **state)
{
    (void)state;
    nl_status status = NL_RAISE(NILAS_COMMIT_FAILED, NL_P("message", "x"));
    assert_int_equal(nl_error_kind_of(status), NL_KIND_RETRY);
    nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_UNKNOWN_STATE);
    nl_error_free(status);
    nl_error_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_holds_condition_text_and_state),
        cmocka_unit_test(test_every_condition_has_a_dotted_name_and_a_state_of_five),
        cmocka_unit_test(test_no_condition_is_listed_twice),
        cmocka_unit_test(test_parameters_are_copied_and_found_by_name),
        cmocka_unit_test(test_a_parameter_that_was_not_given_stays_visible),
        cmocka_unit_test(test_values_are_not_searched_for_parameters),
        cmocka_unit_test(test_run_time_context_is_shown_as_spark_shows_it),
        cmocka_unit_test(test_parse_context_points_with_a_dashed_line),
        cmocka_unit_test(test_a_parse_error_behind_the_last_line_has_its_dashes_at_the_end),
        cmocka_unit_test(test_analysis_context_is_line_and_position),
        cmocka_unit_test(test_of_a_text_of_pieces_only_the_one_that_is_meant_stays),
        cmocka_unit_test(test_the_first_context_stays),
        cmocka_unit_test(test_notes_are_listed_newest_last),
        cmocka_unit_test(test_a_second_failure_becomes_a_note),
        cmocka_unit_test(test_a_failure_keeps_its_cause),
        cmocka_unit_test(test_a_zero_byte_does_not_cut_a_message),
        cmocka_unit_test(test_the_kind_can_be_changed),
    };
    return cmocka_run_group_tests_name("base/status", tests, NULL, NULL);
}
