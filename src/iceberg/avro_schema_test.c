/* iceberg/avro_schema_test.c - the Avro schemas of Iceberg types are those Spark wrote into its data files. */
#include "base/test_support.h"

#include "base/json.h"
#include "format/avro/file.h"
#include "iceberg/avro_schema.h"

static void test_every_type_of_spark_has_javas_schema(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_local();
    nl_file *file;
    nl_avro_file *avro;
    const json_t *json;
    const nl_schema *schema;
    assert_ok(nl_fs_open(fs, NL_STR("tests/fixtures/avro/types_plain.avro"), &file));
    assert_ok(nl_avro_file_open(file, NULL, &avro));
    assert_ok(nl_json_parse(arena, nl_avro_file_metadata(avro, "iceberg.schema"), NL_STR("f"), &json));
    assert_ok(nl_schema_from_json(arena, json, NL_STR("f"), &schema));
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    nl_ice_type_append_avro(schema->root, NL_STR("table"), &text);
    const nl_str expected = nl_arena_str(arena, nl_avro_file_metadata(avro, "avro.schema"));
    assert_text(nl_builder_str(&text), expected.data);
    nl_builder_fini(&text);
    nl_avro_file_close(avro);
    nl_file_close(file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

/* Specification, Appendix A. */
static void test_types_that_spark_lacks(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_ice_field fields[] = {
        {.id = 1, .name = NL_STR("u"), .type = nl_ice_type_of(NL_ICE_UUID)},        {.id = 2, .name = NL_STR("f"), .type = nl_ice_type_fixed(arena, 3)},
        {.id = 3, .name = NL_STR("t"), .type = nl_ice_type_of(NL_ICE_TIME)},        {.id = 4, .name = NL_STR("n"), .type = nl_ice_type_of(NL_ICE_TIMESTAMPTZ_NS)},
        {.id = 5, .name = NL_STR("v"), .type = nl_ice_type_of(NL_ICE_UNKNOWN)},     {.id = 6, .name = NL_STR("w"), .type = nl_ice_type_of(NL_ICE_UUID)},
        {.id = 7, .name = NL_STR("9 x"), .is_required = true, .type = nl_ice_type_of(NL_ICE_VARIANT)},
    };
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    nl_ice_type_append_avro(nl_ice_type_struct(arena, fields, NL_COUNT(fields)), NL_STR("table"), &text);
    assert_text(nl_builder_str(&text),
                "{\"type\":\"record\",\"name\":\"table\",\"fields\":["
                "{\"name\":\"u\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"uuid_fixed\",\"size\":16,\"logicalType\":\"uuid\"}],\"default\":null,\"field-id\":1},"
                "{\"name\":\"f\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"fixed_3\",\"size\":3}],\"default\":null,\"field-id\":2},"
                "{\"name\":\"t\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"time-micros\"}],\"default\":null,\"field-id\":3},"
                "{\"name\":\"n\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\",\"adjust-to-utc\":true}],\"default\":null,\"field-id\":4},"
                "{\"name\":\"v\",\"type\":\"null\",\"default\":null,\"field-id\":5},"
                "{\"name\":\"w\",\"type\":[\"null\",\"uuid_fixed\"],\"default\":null,\"field-id\":6},"
                "{\"name\":\"_9_x20x\",\"type\":{\"type\":\"record\",\"name\":\"r7\",\"fields\":[{\"name\":\"metadata\",\"type\":\"bytes\"},"
                "{\"name\":\"value\",\"type\":\"bytes\"}],\"logicalType\":\"variant\"},\"iceberg-field-name\":\"9 x\",\"field-id\":7}]}");
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

static void test_decimals_take_the_least_bytes(void **state)
{
    (void)state;
    nl_uint128 power = 1;
    for (uint8_t precision = 1; precision <= 38; precision++) {
        power *= 10;
        uint32_t bytes = 1;
        while (bytes < 16 && (power - 1) >> (8 * bytes - 1)) /* the sign takes a bit */
            bytes++;
        assert_int_equal(nl_decimal_bytes(precision), bytes);
    }
}

static void test_names_become_ones_that_avro_allows(void **state)
{
    static const struct {
        const char *name, *wanted; /* as Java's AvroSchemaUtil.makeCompatibleName */
    } cases[] = {
        {"plain_9", "plain_9"}, {"a b", "a_x20b"}, {"1st", "_1st"}, {"x-y", "x_x2Dy"}, {"_", "_"}, {"\xc3\xa4.b", "\xc3\xa4_x2Eb"},
        {"\xe2\x80\xa6", "_x2026"}, {"\xf0\x9f\x98\x80", "_xD83D_xDE00"}, {"a\xff", "a_xFF"}, {"", ""},
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_builder out;
        nl_builder_init(&out, 1 << 10);
        nl_avro_append_name(nl_str_from(cases[i].name), &out);
        assert_string_equal(nl_builder_c(&out), cases[i].wanted);
        nl_builder_fini(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_become_ones_that_avro_allows),
        cmocka_unit_test(test_every_type_of_spark_has_javas_schema),
        cmocka_unit_test(test_types_that_spark_lacks),
        cmocka_unit_test(test_decimals_take_the_least_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
