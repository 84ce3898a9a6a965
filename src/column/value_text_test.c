/* Expected texts: Spark 4.0.1: CAST(x AS STRING), show() over Spark Connect, and rows of the spark-sql program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/test_vectors.h"
#include "column/value.h"

static nl_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = nl_arena_new(NULL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    nl_arena_free(arena);
    return 0;
}

static const nl_timezone *berlin(void)
{
    const nl_timezone *zone = NULL;
    must(nl_timezone_find(NL_STR("Europe/Berlin"), &zone));
    return zone;
}

/* The text of a value, and of the same value as a constant vector and behind a dictionary. */
static void assert_style(const nl_value *value, nl_text_style style, const char *expected)
{
    nl_text_options options = {.style = style, .zone = berlin()};
    nl_builder out;
    nl_builder_init(&out, 10000);
    nl_value_append_text(value, &options, &out);
    assert_string_equal(nl_builder_c(&out), expected);
    nl_builder_clear(&out);
    nl_vector vector;
    must(nl_vector_new_constant(&vector, value, 3, NULL));
    nl_vector_append_text(&vector, 2, &options, &out);
    assert_string_equal(nl_builder_c(&out), expected);
    assert_false(nl_builder_failed(&out));
    nl_vector_fini(&vector);
    nl_builder_fini(&out);
}

static void assert_texts(nl_value value, const char *cast, const char *show, const char *hive)
{
    assert_style(&value, NL_TEXT_CAST, cast);
    assert_style(&value, NL_TEXT_SHOW, show);
    assert_style(&value, NL_TEXT_HIVE, hive);
}

static void assert_text(nl_value value, const char *expected)
{
    assert_texts(value, expected, expected, expected);
}

static nl_value of(nl_type_id id, int64_t value)
{
    return nl_value_int(nl_type_of(id), value);
}

static nl_value real(nl_type_id id, double value)
{
    return (nl_value){.type = nl_type_of(id), .real = value};
}

static nl_value decimal(int precision, int scale, nl_int128 value)
{
    return (nl_value){.type = nl_type_decimal(precision, scale), .decimal = value};
}

static nl_value binary(const char *bytes)
{
    return (nl_value){.type = nl_type_binary(), .text = nl_str_from(bytes)};
}

static nl_value list(const nl_type *type, const nl_value *items, uint32_t count)
{
    return (nl_value){.type = type, .list = {items, count}};
}

static void test_numbers(void **state)
{
    (void)state;
    assert_text(nl_value_boolean(true), "true");
    assert_text(of(NL_TYPE_TINYINT, -128), "-128");
    assert_text(of(NL_TYPE_BIGINT, INT64_MIN), "-9223372036854775808");
    assert_text(real(NL_TYPE_FLOAT, 1e10), "1.0E10");
    assert_text(real(NL_TYPE_DOUBLE, 1e7), "1.0E7");
    assert_text(real(NL_TYPE_DOUBLE, -0.0), "-0.0");
    assert_text(real(NL_TYPE_DOUBLE, -__builtin_inf()), "-Infinity");
    assert_text(decimal(10, 8, 0), "0.00000000");
    assert_text(decimal(3, 2, 150), "1.50");
    assert_text(decimal(38, 8, -(((nl_int128)1234567890123456789ll * 10000000000000000000ull) + 123456712345678ll)),
                "-123456789012345678900001234567.12345678");
    assert_text(nl_value_null(nl_type_int()), "NULL");
}

static void test_dates_and_timestamps(void **state)
{
    (void)state;
    assert_text(of(NL_TYPE_DATE, nl_days_from_civil(2020, 1, 2)), "2020-01-02");
    assert_text(of(NL_TYPE_DATE, nl_days_from_civil(0, 12, 31)), "0000-12-31");
    assert_text(of(NL_TYPE_DATE, nl_days_from_civil(-44, 3, 15)), "-0044-03-15");
    assert_text(of(NL_TYPE_DATE, nl_days_from_civil(12345, 6, 7)), "+12345-06-07");
    int64_t noon = nl_days_from_civil(2020, 7, 1) * NL_MICROS_PER_DAY + 12 * 3600 * NL_MICROS_PER_SECOND;
    assert_text(of(NL_TYPE_TIMESTAMP, noon + 100000), "2020-07-01 14:00:00.1");
    assert_text(of(NL_TYPE_TIMESTAMP_NTZ, noon), "2020-07-01 12:00:00");
    assert_text(of(NL_TYPE_TIMESTAMP_NTZ, nl_days_from_civil(12345, 1, 1) * NL_MICROS_PER_DAY + 1),
                "+12345-01-01 00:00:00.000001");
}

static void test_year_month_intervals(void **state)
{
    (void)state;
    const nl_type *year = nl_type_interval_ym(NL_FIELD_YEAR, NL_FIELD_YEAR);
    const nl_type *month = nl_type_interval_ym(NL_FIELD_MONTH, NL_FIELD_MONTH);
    const nl_type *both = nl_type_interval_ym(NL_FIELD_YEAR, NL_FIELD_MONTH);
    assert_texts(nl_value_int(year, -12), "INTERVAL '-1' YEAR", "INTERVAL '-1' YEAR", "-1-0");
    assert_texts(nl_value_int(month, 13), "INTERVAL '13' MONTH", "INTERVAL '13' MONTH", "1-1");
    assert_texts(nl_value_int(both, -14), "INTERVAL '-1-2' YEAR TO MONTH", "INTERVAL '-1-2' YEAR TO MONTH", "-1-2");
    assert_texts(nl_value_int(both, 0), "INTERVAL '0-0' YEAR TO MONTH", "INTERVAL '0-0' YEAR TO MONTH", "0-0");
    assert_style(&(nl_value){.type = both, .integer = INT32_MIN}, NL_TEXT_CAST, "INTERVAL '-178956970-8' YEAR TO MONTH");
}

static void assert_dt(nl_interval_field start, nl_interval_field end, int64_t micros, const char *text, const char *hive)
{
    assert_texts(nl_value_int(nl_type_interval_dt(start, end), micros), text, text, hive);
}

static void test_day_time_intervals(void **state)
{
    (void)state;
    const int64_t second = 1000000, minute = 60 * second, hour = 60 * minute, day = 24 * hour;
    assert_dt(NL_FIELD_DAY, NL_FIELD_DAY, -day, "INTERVAL '-1' DAY", "-1 00:00:00.000000000");
    assert_dt(NL_FIELD_HOUR, NL_FIELD_HOUR, 25 * hour, "INTERVAL '25' HOUR", "1 01:00:00.000000000");
    assert_dt(NL_FIELD_HOUR, NL_FIELD_HOUR, hour, "INTERVAL '01' HOUR", "0 01:00:00.000000000");
    assert_dt(NL_FIELD_DAY, NL_FIELD_HOUR, day + 2 * hour, "INTERVAL '1 02' DAY TO HOUR", "1 02:00:00.000000000");
    assert_dt(NL_FIELD_DAY, NL_FIELD_MINUTE, -(day + 2 * hour + 3 * minute), "INTERVAL '-1 02:03' DAY TO MINUTE",
              "-1 02:03:00.000000000");
    assert_dt(NL_FIELD_DAY, NL_FIELD_SECOND, day + 2 * hour + 3 * minute + 4 * second + 500000,
              "INTERVAL '1 02:03:04.5' DAY TO SECOND", "1 02:03:04.500000000");
    assert_dt(NL_FIELD_DAY, NL_FIELD_SECOND, 0, "INTERVAL '0 00:00:00' DAY TO SECOND", "0 00:00:00.000000000");
    assert_dt(NL_FIELD_HOUR, NL_FIELD_SECOND, 102 * hour + 3 * minute + 4 * second, "INTERVAL '102:03:04' HOUR TO SECOND",
              "4 06:03:04.000000000");
    assert_dt(NL_FIELD_MINUTE, NL_FIELD_MINUTE, -90 * minute, "INTERVAL '-90' MINUTE", "-0 01:30:00.000000000");
    assert_dt(NL_FIELD_MINUTE, NL_FIELD_SECOND, 90 * minute + 4 * second + 500000, "INTERVAL '90:04.5' MINUTE TO SECOND",
              "0 01:30:04.500000000");
    assert_dt(NL_FIELD_SECOND, NL_FIELD_SECOND, -1500000, "INTERVAL '-01.5' SECOND", "-0 00:00:01.500000000");
    assert_dt(NL_FIELD_DAY, NL_FIELD_SECOND, INT64_MIN, "INTERVAL '-106751991 04:00:54.775808' DAY TO SECOND",
              "-106751991 04:00:54.775808000");
}

static void assert_calendar(int32_t months, int32_t days, int64_t micros, const char *expected)
{
    assert_text((nl_value){.type = nl_type_of(NL_TYPE_INTERVAL), .interval = {months, days, micros}}, expected);
}

static void test_calendar_intervals(void **state)
{
    (void)state;
    assert_calendar(14, 25, 18367500000, "1 years 2 months 25 days 5 hours 6 minutes 7.5 seconds");
    assert_calendar(-14, -4, -18367500000, "-1 years -2 months -4 days -5 hours -6 minutes -7.5 seconds");
    assert_calendar(0, 0, 0, "0 seconds");
    assert_calendar(13, 0, 90000000000, "1 years 1 months 25 hours");
    assert_calendar(11, 1, -3599999999, "11 months 1 days -59 minutes -59.999999 seconds");
    assert_calendar(0, 0, -100000, "-0.1 seconds");
    assert_calendar(0, 0, -3660000000, "-1 hours -1 minutes");
}

static void test_nested_values(void **state)
{
    (void)state;
    const nl_type *strings = nl_type_array(arena, nl_type_string(), true);
    const nl_value items[] = {nl_value_string(NL_STR("a")), nl_value_null(nl_type_string()),
                              nl_value_string(NL_STR("b\"c\n"))};
    assert_texts(list(strings, items, 3), "[a, null, b\"c\n]", "[a, NULL, b\"c\n]", "[\"a\",null,\"b\"c\n\"]");
    assert_text(list(strings, NULL, 0), "[]");
    const nl_type *map = nl_type_map(arena, nl_type_string(), nl_type_int(), true);
    const nl_value entries[] = {nl_value_string(NL_STR("k")), of(NL_TYPE_INT, 1), nl_value_string(NL_STR("z")),
                                nl_value_null(nl_type_int())};
    assert_texts(list(map, entries, 4), "{k -> 1, z -> null}", "{k -> 1, z -> NULL}", "{\"k\":1,\"z\":null}");
    const nl_value unsorted[] = {nl_value_string(NL_STR("z")), of(NL_TYPE_INT, 1), nl_value_string(NL_STR("k")), of(NL_TYPE_INT, 2)};
    assert_texts(list(map, unsorted, 4), "{z -> 1, k -> 2}", "{z -> 1, k -> 2}", "{\"k\":2,\"z\":1}");
    nl_field fields[] = {{.name = NL_STR("x"), .type = nl_type_int()},
                         {.name = NL_STR("y"), .type = nl_type_string()},
                         {.name = NL_STR("z\"q"), .type = strings}};
    const nl_value parts[] = {of(NL_TYPE_INT, 1), nl_value_null(nl_type_string()), list(strings, items, 1)};
    assert_texts(list(nl_type_struct(arena, fields, 3), parts, 3), "{1, null, [a]}", "{1, NULL, [a]}",
                 "{\"x\":1,\"y\":null,\"z\"q\":[\"a\"]}");
    const nl_value day = nl_value_int(nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_DAY), 86400000000);
    assert_texts(list(nl_type_array(arena, day.type, true), &day, 1), "[INTERVAL '1' DAY]", "[INTERVAL '1' DAY]",
                 "[1 00:00:00.000000000]");
}

static void test_binary_is_shown_in_hex(void **state)
{
    (void)state;
    /* spark-sql prints a String made of the bytes: one U+FFFD for the longest beginning of a character */
    assert_texts(binary("\n\xff" "A"), "\n\xff" "A", "[0A FF 41]", "\n\xEF\xBF\xBD" "A");
    assert_texts(binary("\xE2\x82" "A\xF0\x9F\x98\xE2\x82\xAC"), "\xE2\x82" "A\xF0\x9F\x98\xE2\x82\xAC", "[E2 82 41 F0 9F 98 E2 82 AC]",
                 "\xEF\xBF\xBD" "A\xEF\xBF\xBD\xE2\x82\xAC");
    assert_texts(binary(""), "", "[]", "");
    const nl_value item = binary("A");
    assert_texts(list(nl_type_array(arena, nl_type_binary(), true), &item, 1), "[A]", "[[41]]", "[A]");
}

static void test_variants_are_json(void **state)
{
    (void)state;
    /* {"a": timestamp 0} with one name */
    const char metadata[] = {0x01, 1, 0, 1, 'a'};
    const char value[] = {0x02, 1, 0, 0, 9, 0x30, 0, 0, 0, 0, 0, 0, 0, 0};
    const nl_value parts[] = {{.type = nl_type_binary(), .text = {metadata, sizeof metadata}},
                              {.type = nl_type_binary(), .text = {value, sizeof value}}};
    assert_texts(list(nl_type_of(NL_TYPE_VARIANT), parts, 2), "{\"a\":\"1970-01-01 01:00:00+01:00\"}",
                 "{\"a\":\"1970-01-01 00:00:00+00:00\"}", "{\"a\":\"1970-01-01 00:00:00+00:00\"}");
    const char text[] = {0x05, 'x'};
    const nl_value string_parts[] = {parts[0], {.type = nl_type_binary(), .text = {text, sizeof text}}};
    const nl_value string = list(nl_type_of(NL_TYPE_VARIANT), string_parts, 2);
    assert_texts(string, "x", "\"x\"", "\"x\"");
    const nl_value inside = list(nl_type_array(arena, string.type, true), &string, 1);
    assert_texts(inside, "[\"x\"]", "[\"x\"]", "[\"x\"]");
    const nl_value broken[] = {parts[0], {.type = nl_type_binary(), .text = {value, 5}}};
    const nl_value variant = list(nl_type_of(NL_TYPE_VARIANT), broken, 2);
    nl_builder out;
    nl_builder_init(&out, 100);
    nl_value_append_text(&variant, &(nl_text_options){.style = NL_TEXT_CAST}, &out);
    assert_true(nl_builder_failed(&out));
    nl_builder_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dates_and_timestamps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_year_month_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_day_time_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_calendar_intervals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_binary_is_shown_in_hex, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_variants_are_json, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
