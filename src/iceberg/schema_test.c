/* iceberg/schema_test.c - types, ids, lookups, single values. Expected values: the Iceberg specification, or real Spark. */
#include "base/test_support.h"

#include "base/json.h"
#include "iceberg/name_mapping.h"

static const nl_schema *parse_schema(nl_arena *arena, const char *text)
{
    const json_t *json;
    const nl_schema *schema;
    assert_ok(nl_json_parse(arena, nl_str_from(text), NL_STR("test"), &json));
    assert_ok(nl_schema_from_json(arena, json, NL_STR("test"), &schema));
    return schema;
}

static nl_field sql_field(const char *name, const nl_type *type)
{
    return (nl_field){.name = nl_str_from(name), .type = type, .is_nullable = true};
}

/* Seen on Spark 4.0.1: (id, st struct<a,b array<struct<c>>>, m map<string,struct<d>>, z). */
static void test_fresh_ids_number_a_structs_own_fields_first(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_field c = sql_field("c", nl_type_int());
    const nl_field d = sql_field("d", nl_type_int());
    const nl_field st_fields[] = {sql_field("a", nl_type_int()), sql_field("b", nl_type_array(arena, nl_type_struct(arena, &c, 1), true))};
    const nl_field fields[] = {sql_field("id", nl_type_int()), sql_field("st", nl_type_struct(arena, st_fields, 2)),
                               sql_field("m", nl_type_map(arena, nl_type_string(), nl_type_struct(arena, &d, 1), true)),
                               sql_field("z", nl_type_int())};
    const nl_ice_type *converted;
    const nl_ice_type *fresh;
    const nl_schema *schema;
    int32_t last_id = 0;
    assert_ok(nl_ice_type_from_sql(arena, nl_type_struct(arena, fields, 4), &converted));
    assert_ok(nl_schema_assign_fresh_ids(arena, converted, NULL, &last_id, &fresh));
    assert_int_equal(last_id, 11);
    assert_ok(nl_schema_new(arena, 0, fresh, NULL, 0, &schema));
    static const struct {
        const char *name;
        int32_t id;
    } rows[] = {{"id", 1}, {"st", 2}, {"m", 3}, {"z", 4}, {"st.a", 5}, {"st.b", 6}, {"st.b.element", 7}, {"st.b.element.c", 8},
                {"st.b.c", 8}, {"m.key", 9}, {"m.value", 10}, {"m.value.d", 11}, {"m.d", 11}};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_schema_column *column = nl_schema_find_name(schema, nl_str_from(rows[i].name), true);
        assert_non_null(column);
        assert_int_equal(column->field->id, rows[i].id);
    }
    assert_null(nl_schema_find_name(schema, NL_STR("ST"), true));
    assert_int_equal(nl_schema_find_name(schema, NL_STR("ST.B.Element.C"), false)->field->id, 8);
    assert_int_equal(nl_schema_find_id(schema, 8)->parent_id, 7);
    assert_null(nl_schema_find_id(schema, 12));

    const nl_type *sql; /* and back, with the ids */
    assert_ok(nl_ice_type_to_sql(arena, fresh, &sql));
    assert_int_equal(sql->children[1].type->children[1].field_id, 6);
    assert_int_equal(sql->children[1].type->children[1].type->children[0].field_id, 7);
    assert_int_equal(sql->children[2].type->children[1].field_id, 10);
    nl_arena_free(arena);
}

static void test_a_replaced_table_keeps_the_ids_of_columns_of_the_same_name(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *base = parse_schema(arena, "{\"type\":\"struct\",\"fields\":[{\"id\":3,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
                                                "{\"id\":7,\"name\":\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
                                                "{\"id\":9,\"name\":\"x\",\"required\":false,\"type\":\"int\"}]}}]}");
    const nl_schema *wanted = parse_schema(arena, "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"new\",\"required\":false,\"type\":\"int\"},"
                                                  "{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
                                                  "{\"id\":3,\"name\":\"y\",\"required\":false,\"type\":\"int\"},"
                                                  "{\"id\":4,\"name\":\"x\",\"required\":false,\"type\":\"long\"}]}}]}");
    const nl_ice_type *fresh;
    int32_t last_id = 20;
    assert_ok(nl_schema_assign_fresh_ids(arena, wanted->root, base, &last_id, &fresh));
    assert_int_equal(fresh->fields[0].id, 21);
    assert_int_equal(fresh->fields[1].id, 7);
    assert_int_equal(fresh->fields[1].type->fields[0].id, 22);
    assert_int_equal(fresh->fields[1].type->fields[1].id, 9);
    nl_arena_free(arena);
}

static void test_all_types_come_back_from_json(void **state)
{
    (void)state;
    static const char json[] =
        "{\"type\":\"struct\",\"schema-id\":3,\"identifier-field-ids\":[1],\"fields\":["
        "{\"id\":1,\"name\":\"a\",\"required\":true,\"type\":\"int\",\"doc\":\"it's \\\"quoted\\\"\",\"initial-default\":-5,\"write-default\":34},"
        "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"decimal(9, 2)\",\"initial-default\":\"14.20\"},"
        "{\"id\":3,\"name\":\"c\",\"required\":false,\"type\":\"fixed[3]\",\"write-default\":\"0001FF\"},"
        "{\"id\":4,\"name\":\"d\",\"required\":false,\"type\":\"timestamptz\",\"initial-default\":\"2017-11-16T22:31:08.000001+00:00\"},"
        "{\"id\":5,\"name\":\"e\",\"required\":false,\"type\":\"timestamp_ns\",\"initial-default\":\"2017-11-16T22:31:08.000001001\"},"
        "{\"id\":6,\"name\":\"f\",\"required\":false,\"type\":\"uuid\",\"initial-default\":\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"},"
        "{\"id\":7,\"name\":\"g\",\"required\":false,\"type\":\"time\",\"initial-default\":\"22:31:08\"},"
        "{\"id\":8,\"name\":\"h\",\"required\":false,\"type\":\"date\",\"initial-default\":\"1969-12-31\"},"
        "{\"id\":9,\"name\":\"i\",\"required\":false,\"type\":\"variant\"},"
        "{\"id\":10,\"name\":\"j\",\"required\":false,\"type\":\"unknown\"},"
        "{\"id\":11,\"name\":\"k\",\"required\":false,\"type\":\"geometry(srid:3857)\"},"
        "{\"id\":12,\"name\":\"l\",\"required\":false,\"type\":\"geography\"},"
        "{\"id\":13,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":14,\"key\":\"string\",\"value-id\":15,\"value\":\"double\","
        "\"value-required\":true},\"initial-default\":{\"keys\":[\"x\"],\"values\":[1.5]}},"
        "{\"id\":16,\"name\":\"n\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":17,\"element\":{\"type\":\"struct\",\"fields\":["
        "{\"id\":18,\"name\":\"o\",\"required\":false,\"type\":\"boolean\"}]},\"element-required\":false},\"initial-default\":[{\"18\":true}]}]}";
    nl_arena *arena = nl_arena_new(NULL);
    nl_arena *other = nl_arena_new(NULL);
    const nl_schema *schema = parse_schema(arena, json);
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    nl_schema_append_json(schema, &text);
    assert_text(nl_builder_str(&text), json);
    const nl_schema *copy = nl_schema_copy(other, schema);
    assert_true(nl_schema_same(schema, copy));
    assert_fails(nl_schema_check_version(schema, 2), NILAS_ILLEGAL_ARGUMENT, "Invalid type for i: variant is not supported until v3");
    assert_ok(nl_schema_check_version(schema, 3));
    nl_arena_free(arena);
    nl_builder_clear(&text);
    nl_schema_append_json(copy, &text);
    assert_text(nl_builder_str(&text), json);
    nl_builder_fini(&text);
    nl_arena_free(other);
}

static void test_bad_schemas_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *problem;
    } rows[] = {
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"intt\"}]}", "Cannot parse type string: intt"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"decimal(39, 2)\"}]}", "decimal(39, 2)"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"type\":\"int\"}]}", "the required key required is missing"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
         "{\"id\":1,\"name\":\"b\",\"required\":false,\"type\":\"int\"}]}",
         "multiple fields with id 1"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
         "{\"id\":2,\"name\":\"a\",\"required\":false,\"type\":\"int\"}]}",
         "Invalid schema: multiple fields for name a: 1 and 2"},
        {"{\"type\":\"struct\",\"identifier-field-ids\":[1],\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"}]}",
         "Cannot add field a as an identifier field: not a required field"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\",\"initial-default\":\"5\"}]}",
         "Cannot parse default as a int value"},
        {"{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"decimal(9, 2)\",\"initial-default\":\"1.5\"}]}",
         "Cannot parse default as a decimal(9, 2) value"},
    };
    nl_arena *arena = nl_arena_new(NULL);
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const json_t *json;
        const nl_schema *schema;
        assert_ok(nl_json_parse(arena, nl_str_from(rows[i].json), NL_STR("test"), &json));
        nl_status status = nl_schema_from_json(arena, json, NL_STR("test"), &schema);
        assert_non_null(status);
        if (!strstr(nl_error_message(status), rows[i].problem)) fail_msg("%zu: %s", i, nl_error_message(status));
        nl_error_free(status);
    }
    nl_builder deep;
    nl_builder_init(&deep, 1u << 20);
    for (int i = 0; i < 400; i++)
        nl_append_c(&deep, "{\"type\":\"list\",\"element-id\":1,\"element-required\":true,\"element\":");
    const json_t *json;
    assert_fails(nl_json_parse(arena, nl_builder_str(&deep), NL_STR("test"), &json), NILAS_CORRUPT_FILE, "levels deep");
    nl_builder_fini(&deep);
    nl_arena_free(arena);
}

/* Specification, Appendix D: binary single values. */
static void test_single_values_as_bytes(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const struct {
        const nl_ice_type *type;
        const char *bytes;
        size_t length;
        int64_t integer;
    } rows[] = {
        {nl_ice_type_of(NL_ICE_INT), "\x22\x00\x00\x00", 4, 34},
        {nl_ice_type_of(NL_ICE_LONG), "\xff\xff\xff\xff\xff\xff\xff\xff", 8, -1},
        {nl_ice_type_of(NL_ICE_LONG), "\xfe\xff\xff\xff", 4, -2}, /* the bound of a column that was an int */
        {nl_ice_type_of(NL_ICE_DATE), "\x01\x00\x00\x00", 4, 1},
        {nl_ice_type_of(NL_ICE_TIMESTAMP), "\x01\x00\x00\x00", 4, 86400000000ll}, /* of a column that was a date */
        {nl_ice_type_of(NL_ICE_TIMESTAMPTZ), "\x01\x00\x00\x00\x00\x00\x00\x00", 8, 1},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_value value;
        nl_bytes again;
        assert_ok(nl_single_value_decode(rows[i].type, (nl_bytes){(const uint8_t *)rows[i].bytes, rows[i].length}, arena, &value));
        assert_true(value.integer == rows[i].integer);
        assert_ok(nl_single_value_encode(rows[i].type, &value, arena, &again));
        if (again.length == rows[i].length) assert_memory_equal(again.data, rows[i].bytes, again.length);
    }
    const nl_ice_type *decimal = nl_ice_type_decimal(arena, 20, 2);
    static const struct {
        int64_t unscaled;
        const char *bytes;
        size_t length;
    } decimals[] = {{1420, "\x05\x8c", 2}, {0, "\x00", 1}, {-1, "\xff", 1}, {128, "\x00\x80", 2}, {-128, "\x80", 1}, {-129, "\xff\x7f", 2}};
    for (size_t i = 0; i < NL_COUNT(decimals); i++) {
        nl_value value = {.type = nl_ice_type_storage(arena, decimal), .decimal = decimals[i].unscaled};
        nl_bytes bytes;
        assert_ok(nl_single_value_encode(decimal, &value, arena, &bytes));
        assert_int_equal(bytes.length, decimals[i].length);
        assert_memory_equal(bytes.data, decimals[i].bytes, bytes.length);
        assert_ok(nl_single_value_decode(decimal, bytes, arena, &value));
        assert_true(value.decimal == decimals[i].unscaled);
    }
    nl_value value;
    assert_fails(nl_single_value_decode(nl_ice_type_of(NL_ICE_INT), (nl_bytes){(const uint8_t *)"\1\2", 2}, arena, &value), NILAS_ILLEGAL_ARGUMENT,
                 "2 bytes are no single value of type int");
    nl_arena_free(arena);
}

static void test_what_spark_cannot_hold_is_refused_in_its_words(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *sql;
    const nl_ice_type *type;
    assert_fails(nl_ice_type_to_sql(arena, nl_ice_type_of(NL_ICE_TIME), &sql), NILAS_UNSUPPORTED, "Spark does not support time fields");
    assert_fails(nl_ice_type_from_sql(arena, nl_type_interval_dt(NL_FIELD_DAY, NL_FIELD_DAY), &type), NILAS_UNSUPPORTED,
                 "Not a supported type: interval day");
    assert_ok(nl_ice_type_to_sql(arena, nl_ice_type_of(NL_ICE_UUID), &sql));
    assert_int_equal(sql->id, NL_TYPE_STRING);
    assert_int_equal(nl_ice_type_storage(arena, nl_ice_type_of(NL_ICE_UUID))->id, NL_TYPE_BINARY);
    assert_ok(nl_ice_type_from_sql(arena, nl_type_of(NL_TYPE_TINYINT), &type));
    assert_int_equal(type->id, NL_ICE_INT);
    nl_arena_free(arena);
}

static void test_name_mappings_follow_renames(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *before = parse_schema(arena, "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
                                                  "{\"id\":2,\"name\":\"b\",\"required\":false,\"type\":\"int\"},"
                                                  "{\"id\":3,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":4,"
                                                  "\"element\":\"int\",\"element-required\":false}}]}");
    const nl_schema *after = parse_schema(arena, "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"c\",\"required\":false,\"type\":\"int\"},"
                                                 "{\"id\":2,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
                                                 "{\"id\":3,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":4,"
                                                 "\"element\":\"int\",\"element-required\":false}},"
                                                 "{\"id\":5,\"name\":\"d\",\"required\":false,\"type\":\"int\"}]}");
    nl_name_mapping mapping;
    nl_name_mapping updated;
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_name_mapping_of_schema(arena, before, &mapping);
    nl_name_mapping_append_json(&mapping, &text);
    static const char first[] = "[ {\n  \"field-id\" : 1,\n  \"names\" : [ \"a\" ]\n}, {\n  \"field-id\" : 2,\n  \"names\" : [ \"b\" ]\n"
                                "}, {\n  \"field-id\" : 3,\n  \"names\" : [ \"l\" ],\n  \"fields\" : [ {\n    \"field-id\" : 4,\n"
                                "    \"names\" : [ \"element\" ]\n  } ]\n} ]";
    assert_text(nl_builder_str(&text), first);
    nl_name_mapping parsed;
    assert_ok(nl_name_mapping_parse(arena, NL_STR("[{\"field-id\":1,\"names\":[\"a\"]},{\"names\":[\"x\",\"y\"]}]"), &parsed));
    assert_false(nl_name_mapping_find(&parsed, NL_STR("y"))->has_field_id);
    nl_name_mapping_update(arena, &mapping, before, after, &updated);
    nl_builder_clear(&text);
    nl_name_mapping_append_json(&updated, &text);
    assert_text(nl_builder_str(&text), "[ {\n  \"field-id\" : 1,\n  \"names\" : [ \"c\" ]\n}, {\n  \"field-id\" : 2,\n  \"names\" : [ \"b\", \"a\" ]\n"
                                       "}, {\n  \"field-id\" : 3,\n  \"names\" : [ \"l\" ],\n  \"fields\" : [ {\n    \"field-id\" : 4,\n"
                                       "    \"names\" : [ \"element\" ]\n  } ]\n}, {\n  \"field-id\" : 5,\n  \"names\" : [ \"d\" ]\n"
                                       "} ]");
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fresh_ids_number_a_structs_own_fields_first),
        cmocka_unit_test(test_a_replaced_table_keeps_the_ids_of_columns_of_the_same_name),
        cmocka_unit_test(test_all_types_come_back_from_json),
        cmocka_unit_test(test_bad_schemas_are_refused),
        cmocka_unit_test(test_single_values_as_bytes),
        cmocka_unit_test(test_what_spark_cannot_hold_is_refused_in_its_words),
        cmocka_unit_test(test_name_mappings_follow_renames),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
