#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/bounds.h"
#include "format/parquet/test_file.h"

/* Source: parquet.thrift, Statistics; a cut maximum must stay an upper bound. */
static void test_a_cut_maximum_is_raised(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        size_t length, bytes_max;
        bool is_binary;
        const char *expected; /* NULL: cannot be cut */
        const char *why;
    } rows[] = {
        {"abcdef", 6, 3, false, "abd", "the last character is raised"},
        {"abc", 3, 3, false, "abc", "short values stay whole"},
        {"ab\x7f" "def", 6, 3, false, "ac", "U+007F becomes U+0080, which needs more room: the one before is raised"},
        {"a\xc3\xbfxyz", 6, 3, false, "a\xc4\x80", "characters of two bytes"},
        {"a\xc3\xbfxyz", 6, 2, false, "b", "a character is never cut in two"},
        {"\xf4\x8f\xbf\xbfxyz", 7, 4, false, NULL, "nothing is above U+10FFFF"},
        {"\xed\x9f\xbfxyz", 6, 3, false, "\xee\x80\x80", "surrogates are stepped over"},
        {"ab\xff\xffz", 5, 4, true, "ac", "bytes of 0xff are left out"},
        {"\xff\xff\xff", 3, 2, true, NULL, "nothing is above 0xff"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_write_leaf leaf = {.type = rows[i].is_binary ? nl_type_binary() : nl_type_string(), .physical = NL_PARQUET_BYTE_ARRAY,
                                    .stride = 16, .order = NL_ORDER_BYTES};
        const nl_string_view view = nl_view_of((nl_str){rows[i].value, rows[i].length});
        nl_bounds_out bounds;
        nl_bytes_out room;
        nl_bytes value;
        bool is_exact = false;
        bool is_usable = false;
        nl_bounds_init(&bounds, &leaf, NULL);
        nl_bytes_out_init(&room, NULL);
        must(nl_bounds_add(&bounds, &view, 1));
        must(nl_bounds_max(&bounds, rows[i].bytes_max, &room, &value, &is_exact, &is_usable));
        if (is_usable != (rows[i].expected != NULL)) fail_msg("%s", rows[i].why);
        if (is_usable && !nl_str_is((nl_str){(const char *)value.data, value.length}, rows[i].expected)) fail_msg("%s", rows[i].why);
        nl_bytes_out_fini(&room);
        nl_bounds_fini(&bounds);
    }
}

static void test_wide_decimals_compare_with_their_sign(void **state)
{
    (void)state;
    const nl_write_leaf leaf = {.type = nl_type_decimal(20, 0), .physical = NL_PARQUET_FIXED, .stride = 9, .order = NL_ORDER_WIDE};
    static const uint8_t values[3][9] = {{0, 0, 0, 0, 0, 0, 0, 0, 5}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, {0, 0, 0, 0, 0, 0, 0, 1, 0}};
    nl_arena *arena = nl_arena_new(NULL);
    nl_bounds_out bounds;
    nl_bounds_init(&bounds, &leaf, NULL);
    must(nl_bounds_add(&bounds, values, 3));
    assert_true(nl_bounds_value(&bounds, false, arena).decimal == -2);
    assert_true(nl_bounds_value(&bounds, true, arena).decimal == 256);
    nl_bounds_fini(&bounds);
    nl_arena_free(arena);
}

static void test_negative_zero_is_below_zero(void **state)
{
    (void)state;
    const nl_write_leaf leaf = {.type = nl_type_double(), .physical = NL_PARQUET_DOUBLE, .stride = 8, .order = NL_ORDER_REAL};
    const double values[] = {0.0, -0.0, (double)NAN};
    nl_bounds_out bounds;
    nl_bounds_init(&bounds, &leaf, NULL);
    must(nl_bounds_add(&bounds, values, 3));
    assert_true(signbit(bounds.min_real) && !signbit(bounds.max_real));
    assert_int_equal(bounds.nan_count, 1);
    nl_bounds_fini(&bounds);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_cut_maximum_is_raised),
        cmocka_unit_test(test_wide_decimals_compare_with_their_sign),
        cmocka_unit_test(test_negative_zero_is_below_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
