/* Expected JSON: Spark 4.0.1, CAST(to_variant_object(…) AS STRING). Layouts: the specification's examples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/test_vectors.h"
#include "column/variant.h"

static const char no_names[] = {0x01, 0, 0};
static const char two_names[] = {0x11, 2, 0, 1, 3, 'a', 'b', 'c'}; /* "a", "bc", sorted */

static nl_status to_json(nl_str metadata, nl_str value, nl_builder *out)
{
    nl_variant variant;
    NL_TRY(nl_variant_open(metadata, value, &variant));
    return nl_variant_append_json(&variant, nl_timezone_utc(), out);
}

static void assert_json(const void *value, size_t length, const char *expected)
{
    nl_builder out;
    nl_builder_init(&out, 1000);
    must(to_json((nl_str){two_names, sizeof two_names}, (nl_str){value, length}, &out));
    assert_string_equal(nl_builder_c(&out), expected);
    nl_builder_fini(&out);
}

#define ASSERT_JSON(expected, ...)                         \
    do {                                                   \
        const uint8_t bytes_[] = {__VA_ARGS__};            \
        assert_json(bytes_, sizeof bytes_, expected);      \
    } while (0)

static void test_primitives(void **state)
{
    (void)state;
    ASSERT_JSON("null", 0x00);
    ASSERT_JSON("true", 0x04);
    ASSERT_JSON("false", 0x08);
    ASSERT_JSON("-1", 0x0c, 0xff);
    ASSERT_JSON("513", 0x10, 1, 2);
    ASSERT_JSON("-2", 0x14, 0xfe, 0xff, 0xff, 0xff);
    ASSERT_JSON("1", 0x18, 1, 0, 0, 0, 0, 0, 0, 0);
    ASSERT_JSON("1.0E20", 0x1c, 0x40, 0x8c, 0xb5, 0x78, 0x1d, 0xaf, 0x15, 0x44);
    ASSERT_JSON("\"NaN\"", 0x1c, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f);
    ASSERT_JSON("-0.0", 0x1c, 0, 0, 0, 0, 0, 0, 0, 0x80);
    ASSERT_JSON("1.5", 0x20, 2, 150, 0, 0, 0);
    ASSERT_JSON("100", 0x24, 2, 0x10, 0x27, 0, 0, 0, 0, 0, 0);
    ASSERT_JSON("-1", 0x28, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff);
    ASSERT_JSON("\"1970-01-02\"", 0x2c, 1, 0, 0, 0);
    ASSERT_JSON("\"1970-01-01 00:00:00.000001+00:00\"", 0x30, 1, 0, 0, 0, 0, 0, 0, 0);
    ASSERT_JSON("\"1970-01-01 00:00:00.000001\"", 0x34, 1, 0, 0, 0, 0, 0, 0, 0);
    ASSERT_JSON("1.5", 0x38, 0, 0, 0xc0, 0x3f);
    ASSERT_JSON("\"Cv8=\"", 0x3c, 2, 0, 0, 0, 0x0a, 0xff);
    ASSERT_JSON("\"ab\"", 0x40, 2, 0, 0, 0, 'a', 'b');
    ASSERT_JSON("\"a\\\"\\n\\u0001\\u001F/\"", 0x19, 'a', '"', '\n', 1, 0x1f, '/');
    ASSERT_JSON("\"00112233-4455-6677-8899-aabbccddeeff\"", 0x50, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff);
}

/* {"a": 1, "bc": [true, "x"]} */
static const uint8_t object[] = {0x02, 2, 0, 1, 0, 2, 10, 0x0c, 1, 0x03, 2, 0, 1, 3, 0x04, 0x05, 'x'};

static void test_objects_and_arrays(void **state)
{
    (void)state;
    assert_json(object, sizeof object, "{\"a\":1,\"bc\":[true,\"x\"]}");
    ASSERT_JSON("{}", 0x02, 0, 0);
    ASSERT_JSON("[]", 0x03, 0, 0);
    ASSERT_JSON("[null]", 0x13, 1, 0, 0, 0, 0, 1, 0);           /* a large count */
    ASSERT_JSON("[null]", 0x07, 1, 0, 0, 1, 0, 0);              /* two-byte offsets */
}

static void test_fields_are_found_by_name(void **state)
{
    (void)state;
    nl_variant variant, field;
    bool found;
    must(nl_variant_open((nl_str){two_names, sizeof two_names}, (nl_str){(const char *)object, sizeof object}, &variant));
    must(nl_variant_find(&variant, NL_STR("bc"), &found, &field));
    assert_true(found);
    assert_int_equal(field.kind, NL_VARIANT_ARRAY);
    assert_int_equal(field.count, 2);
    must(nl_variant_find(&variant, NL_STR("b"), &found, &field));
    assert_false(found);
}

static void assert_refused(nl_str metadata, nl_str value)
{
    nl_builder out;
    nl_builder_init(&out, 100000);
    nl_status status = to_json(metadata, value, &out);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_MALFORMED_VARIANT);
    nl_error_free(status);
    nl_builder_fini(&out);
}

static void test_every_cut_is_refused(void **state)
{
    (void)state;
    for (size_t length = 0; length < sizeof object; length++)
        assert_refused((nl_str){two_names, sizeof two_names}, (nl_str){(const char *)object, length});
    for (size_t length = 0; length < sizeof two_names; length++)
        assert_refused((nl_str){two_names, length}, (nl_str){(const char *)object, sizeof object});
    assert_refused((nl_str){no_names, sizeof no_names}, (nl_str){(const char *)object, sizeof object});
}

static void test_a_value_that_contains_itself_ends(void **state)
{
    (void)state;
    /* Arrays whose element offset points past the end, or deeper and deeper. */
    const uint8_t outside[] = {0x03, 1, 5, 6, 0};
    assert_refused((nl_str){no_names, sizeof no_names}, (nl_str){(const char *)outside, sizeof outside});
    char deep[5000];
    size_t length = 0;
    while (length + 5 < sizeof deep) {
        memcpy(deep + length, (const char[]){0x03, 1, 0, 1}, 4);
        length += 4;
    }
    deep[length++] = 0;
    assert_refused((nl_str){no_names, sizeof no_names}, (nl_str){deep, length});
}

static void test_any_bytes_are_printed_or_refused(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 20000; round++) {
        char bytes[24];
        char names[12];
        for (uint32_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(test_random(3) ? test_random(8) : test_random(256));
        for (uint32_t i = 0; i < sizeof names; i++)
            names[i] = (char)(i ? test_random(6) : 1 + 64 * test_random(4));
        nl_builder out;
        nl_builder_init(&out, 100000);
        nl_error_free(to_json((nl_str){names, sizeof names}, (nl_str){bytes, sizeof bytes}, &out));
        nl_builder_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_primitives),
        cmocka_unit_test(test_objects_and_arrays),
        cmocka_unit_test(test_fields_are_found_by_name),
        cmocka_unit_test(test_every_cut_is_refused),
        cmocka_unit_test(test_a_value_that_contains_itself_ends),
        cmocka_unit_test(test_any_bytes_are_printed_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
