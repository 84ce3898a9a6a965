#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/distance.h"

static void test_distances_count_single_changes(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        uint32_t distance;
    } rows[] = {
        {"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1}, {"kitten", "sitting", 3}, {"hadop", "hadoop", 1}, {"ab", "ba", 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(nl_word_distance(nl_str_from(rows[i].a), nl_str_from(rows[i].b), 9), rows[i].distance);
        assert_int_equal(nl_word_distance(nl_str_from(rows[i].b), nl_str_from(rows[i].a), 9), rows[i].distance);
    }
}

static void test_what_is_too_far_or_too_long_is_one_more_than_the_most(void **state)
{
    (void)state;
    char longest[200];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(nl_word_distance(NL_STR("kitten"), NL_STR("sitting"), 2), 3);
    assert_int_equal(nl_word_distance((nl_str){longest, 129}, (nl_str){longest, 129}, 2), 3);
    assert_int_equal(nl_word_distance((nl_str){longest, 128}, (nl_str){longest, 127}, 2), 1);
}

static nl_str nearest_of(const char *word)
{
    static const char *const candidates[] = {"version", "sql", "help", "spark.sql.ansi.enabled", "spark.sql.adaptive.enabled"};
    nl_nearest nearest = {.word = nl_str_from(word)};
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        nl_nearest_offer(&nearest, nl_str_from(candidates[i]));
    return nearest.found;
}

static void test_the_nearest_is_a_slip_of_the_finger_away(void **state)
{
    (void)state;
    assert_true(nl_str_is(nearest_of("sqll"), "sql"));
    assert_true(nl_str_is(nearest_of("spark.sql.ansi.enable"), "spark.sql.ansi.enabled"));
    assert_true(nl_str_is(nearest_of("verison"), "version"));
    assert_int_equal(nearest_of("frobnicate").length, 0);
    assert_int_equal(nearest_of("spark.my.key").length, 0);
    assert_int_equal(nearest_of("").length, 0);
    assert_int_equal(nearest_of("xy").length, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distances_count_single_changes),
        cmocka_unit_test(test_what_is_too_far_or_too_long_is_one_more_than_the_most),
        cmocka_unit_test(test_the_nearest_is_a_slip_of_the_finger_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
