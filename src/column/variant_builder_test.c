#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "column/test_vectors.h"
#include "column/variant.h"
#include "column/variant_builder.h"

static void assert_json(nl_variant_builder *builder, const char *expected)
{
    nl_str metadata, value;
    nl_variant variant;
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    must(nl_variant_finish(builder, "test", &metadata, &value));
    must(nl_variant_open(metadata, value, &variant));
    must(nl_variant_append_json(&variant, nl_timezone_utc(), &out));
    assert_string_equal(nl_builder_c(&out), expected);
    nl_builder_fini(&out);
    nl_variant_builder_reset(builder);
}

static void test_scalars_come_back(void **state)
{
    (void)state;
    static const int64_t integers[] = {0, -1, 127, -129, 32768, -2147483649ll, INT64_MAX, INT64_MIN};
    nl_variant_builder builder;
    char expected[64];
    nl_variant_builder_init(&builder);
    for (size_t i = 0; i < NL_COUNT(integers); i++) {
        nl_variant_integer_value(&builder, integers[i]);
        snprintf(expected, sizeof expected, "%lld", (long long)integers[i]);
        assert_json(&builder, expected);
    }
    nl_variant_null_value(&builder);
    assert_json(&builder, "null");
    nl_variant_boolean_value(&builder, false);
    assert_json(&builder, "false");
    nl_variant_double_value(&builder, 1e20);
    assert_json(&builder, "1.0E20");
    nl_variant_float_value(&builder, 1.5f);
    assert_json(&builder, "1.5");
    nl_variant_decimal_value(&builder, -125, 5);
    assert_json(&builder, "-0.00125");
    nl_variant_decimal_value(&builder, ((nl_int128)12345678901234567890ull), 0);
    assert_json(&builder, "12345678901234567890");
    nl_variant_date_value(&builder, -1);
    assert_json(&builder, "\"1969-12-31\"");
    nl_variant_timestamp_value(&builder, 1, false);
    assert_json(&builder, "\"1970-01-01 00:00:00.000001+00:00\"");
    nl_variant_binary_value(&builder, NL_STR("\x0a\xff"));
    assert_json(&builder, "\"Cv8=\"");
    nl_variant_string_value(&builder, NL_STR("short"));
    assert_json(&builder, "\"short\"");
    nl_variant_string_value(&builder, NL_STR("a string of sixty-four characters or more, so that it has a length"));
    assert_json(&builder, "\"a string of sixty-four characters or more, so that it has a length\"");
    nl_variant_builder_fini(&builder);
}

/* Bytes as parse_json('{"b":1,"a":[true,{}]}') gives them in Spark 4.0.1 (written to Parquet). */
static void test_the_layout_is_sparks(void **state)
{
    (void)state;
    static const uint8_t expected_value[] = {0x02, 2, 1, 0, 2, 0, 11, 0x0c, 1, 0x03, 2, 0, 1, 4, 0x04, 0x02, 0, 0};
    static const uint8_t expected_metadata[] = {0x01, 2, 0, 1, 2, 'b', 'a'};
    nl_variant_builder builder;
    nl_str metadata, value;
    nl_variant_builder_init(&builder);
    nl_variant_begin(&builder, true);
    nl_variant_name(&builder, NL_STR("b"));
    nl_variant_integer_value(&builder, 1);
    nl_variant_name(&builder, NL_STR("a"));
    nl_variant_begin(&builder, false);
    nl_variant_boolean_value(&builder, true);
    nl_variant_begin(&builder, true);
    must(nl_variant_end(&builder));
    must(nl_variant_end(&builder));
    must(nl_variant_end(&builder));
    must(nl_variant_finish(&builder, "test", &metadata, &value));
    assert_int_equal(value.length, sizeof expected_value);
    assert_memory_equal(value.data, expected_value, value.length);
    assert_int_equal(metadata.length, sizeof expected_metadata);
    assert_memory_equal(metadata.data, expected_metadata, metadata.length);
    nl_variant_builder_fini(&builder);
}

static void test_large_objects_and_arrays(void **state)
{
    (void)state;
    nl_variant_builder builder;
    nl_builder expected;
    char name[16];
    nl_variant_builder_init(&builder);
    nl_builder_init(&expected, 1 << 20);
    nl_variant_begin(&builder, true);
    for (int i = 999; i >= 0; i--) {
        nl_variant_name(&builder, (nl_str){name, (size_t)snprintf(name, sizeof name, "k%03d", i)});
        nl_variant_begin(&builder, false);
        nl_variant_integer_value(&builder, i);
        nl_variant_null_value(&builder);
        must(nl_variant_end(&builder));
    }
    must(nl_variant_end(&builder));
    for (int i = 0; i < 1000; i++)
        nl_append_f(&expected, "%s\"k%03d\":[%d,null]", i ? "," : "{", i, i);
    nl_append_char(&expected, '}');
    assert_json(&builder, nl_builder_c(&expected));
    nl_builder_fini(&expected);
    nl_variant_builder_fini(&builder);
}

static void test_duplicate_names_are_refused(void **state)
{
    (void)state;
    nl_variant_builder builder;
    nl_variant_builder_init(&builder);
    nl_variant_begin(&builder, true);
    for (int i = 0; i < 2; i++) {
        nl_variant_name(&builder, NL_STR("k"));
        nl_variant_null_value(&builder);
    }
    nl_status status = nl_variant_end(&builder);
    assert_int_equal(nl_error_condition(status), NL_COND_VARIANT_DUPLICATE_KEY);
    assert_string_equal(nl_error_param(status, "key"), "k");
    nl_error_free(status);
    nl_variant_builder_fini(&builder);
}

static void test_sixteen_mebibytes_are_the_limit(void **state)
{
    (void)state;
    nl_variant_builder builder;
    nl_str metadata, value;
    nl_builder text;
    nl_builder_init(&text, 20 << 20);
    nl_append_fill(&text, 'x', 17 << 20);
    nl_variant_builder_init(&builder);
    nl_variant_string_value(&builder, nl_builder_str(&text));
    nl_status status = nl_variant_finish(&builder, "parse_json", &metadata, &value);
    assert_int_equal(nl_error_condition(status), NL_COND_VARIANT_SIZE_LIMIT);
    nl_error_free(status);
    nl_builder_fini(&text);
    nl_variant_builder_fini(&builder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scalars_come_back),
        cmocka_unit_test(test_the_layout_is_sparks),
        cmocka_unit_test(test_large_objects_and_arrays),
        cmocka_unit_test(test_duplicate_names_are_refused),
        cmocka_unit_test(test_sixteen_mebibytes_are_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
