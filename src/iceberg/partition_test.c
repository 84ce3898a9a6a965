/* iceberg/partition_test.c - transforms and specs. Hashes are the specification's (Appendix B); names, paths and messages
 * as seen on Spark 4.0.1. */
#include "base/test_support.h"

#include "base/json.h"
#include "base/number.h"
#include "iceberg/sort_order.h"

static nl_value int_value(nl_ice_type_id type, int64_t value)
{
    return (nl_value){.type = nl_ice_type_storage(NULL, nl_ice_type_of(type)), .integer = value};
}

static nl_value text_value(nl_ice_type_id type, nl_str text)
{
    return (nl_value){.type = nl_ice_type_storage(NULL, nl_ice_type_of(type)), .text = text};
}

static void test_bucket_hashes_are_the_specifications(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_ice_type *decimal = nl_ice_type_decimal(arena, 9, 2);
    const nl_value rows[] = {
        int_value(NL_ICE_INT, 34),
        int_value(NL_ICE_LONG, 34),
        int_value(NL_ICE_DATE, 17486),
        int_value(NL_ICE_TIME, 81068000000ll),
        int_value(NL_ICE_TIMESTAMP, 1510871468000000ll),
        int_value(NL_ICE_TIMESTAMPTZ, 1510871468000001ll),
        int_value(NL_ICE_TIMESTAMP_NS, 1510871468000001001ll),
        text_value(NL_ICE_STRING, NL_STR("iceberg")),
        text_value(NL_ICE_UUID, NL_STR("\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7")),
        text_value(NL_ICE_BINARY, NL_STR("\x00\x01\x02\x03")),
        {.type = nl_type_decimal(9, 2), .decimal = 1420},
        {.type = nl_type_boolean(), .boolean = true},
        {.type = nl_type_double(), .real = 1.0},
        {.type = nl_type_double(), .real = -0.0},
    };
    static const nl_ice_type_id types[] = {NL_ICE_INT,          NL_ICE_LONG,   NL_ICE_DATE, NL_ICE_TIME,   NL_ICE_TIMESTAMP, NL_ICE_TIMESTAMPTZ,
                                           NL_ICE_TIMESTAMP_NS, NL_ICE_STRING, NL_ICE_UUID, NL_ICE_BINARY, NL_ICE_DECIMAL,   NL_ICE_BOOLEAN,
                                           NL_ICE_DOUBLE,       NL_ICE_DOUBLE};
    static const int32_t hashes[] = {2017239379,  2017239379, -653330422, -662762989, -2047944441, -1207196810, -1207196810,
                                     1210000089,  1488055340, -188683207, -500754589, 1392991556,  -142385009,  1669671676};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_ice_type *type = types[i] == NL_ICE_DECIMAL ? decimal : nl_ice_type_of(types[i]);
        assert_int_equal((int32_t)nl_bucket_hash(type, &rows[i]), hashes[i]);
    }
    nl_arena_free(arena);
}

static void test_transforms_of_single_values(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    static const struct {
        const char *transform;
        nl_ice_type_id type;
        int64_t in;
        int64_t out;
    } rows[] = {
        {"bucket[16]", NL_ICE_INT, 34, 3},                           /* system.bucket(16, 34) */
        {"truncate[10]", NL_ICE_INT, -1, -10},
        {"truncate[10]", NL_ICE_LONG, 14, 10},
        {"year", NL_ICE_DATE, -1, -1},
        {"year", NL_ICE_DATE, 17486, 47},
        {"month", NL_ICE_DATE, 17486, 574},
        {"month", NL_ICE_DATE, -1, -1},
        {"day", NL_ICE_TIMESTAMP, -60000000, -1},                    /* 1969-12-31 23:59 */
        {"day", NL_ICE_TIMESTAMPTZ, 1510871468000000ll, 17486},
        {"hour", NL_ICE_TIMESTAMPTZ, 1510871468000000ll, 419686},    /* system.hours(2017-11-16 22:31:08) */
        {"hour", NL_ICE_TIMESTAMP, -1, -1},
        {"hour", NL_ICE_TIMESTAMP_NS, -1, -1},
        {"day", NL_ICE_TIMESTAMP_NS, 1510871468000001001ll, 17486},
        {"identity", NL_ICE_INT, 7, 7},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_transform transform;
        nl_value in = int_value(rows[i].type, rows[i].in);
        nl_value out;
        assert_ok(nl_transform_parse(arena, nl_str_from(rows[i].transform), &transform));
        assert_text(nl_transform_name(arena, &transform), rows[i].transform);
        assert_ok(nl_transform_value(&transform, nl_ice_type_of(rows[i].type), &in, arena, &out));
        if (out.integer != rows[i].out) fail_msg("row %zu: %s gives %lld", i, rows[i].transform, (long long)out.integer);
        in.is_null = true;
        assert_ok(nl_transform_value(&transform, nl_ice_type_of(rows[i].type), &in, arena, &out));
        assert_true(out.is_null);
    }
    nl_transform transform = {.kind = NL_TRANSFORM_TRUNCATE, .width = 50};
    nl_value decimal = {.type = nl_type_decimal(9, 2), .decimal = 1065};
    nl_value out;
    assert_ok(nl_transform_value(&transform, nl_ice_type_decimal(arena, 9, 2), &decimal, arena, &out));
    assert_int_equal((int64_t)out.decimal, 1050);
    transform.width = 2;
    nl_value text = text_value(NL_ICE_STRING, NL_STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x92\x96x")); /* code points, not bytes */
    assert_ok(nl_transform_value(&transform, nl_ice_type_of(NL_ICE_STRING), &text, arena, &out));
    assert_text(out.text, "\xc3\xa4\xe2\x82\xac");
    assert_fails(nl_transform_parse(arena, NL_STR("bucket[0]"), &transform), NILAS_ILLEGAL_ARGUMENT, "Invalid number of buckets: 0 (must be > 0)");
    assert_ok(nl_transform_parse(arena, NL_STR("zorder(a)"), &transform));
    assert_int_equal(transform.kind, NL_TRANSFORM_UNKNOWN);
    assert_fails(nl_transform_value(&transform, nl_ice_type_of(NL_ICE_STRING), &text, arena, &out), NILAS_UNSUPPORTED, "zorder(a)");
    nl_arena_free(arena);
}

/* Every encoding must give what the single values give. */
static void check_vector(const nl_transform *transform, const nl_ice_type *source, const nl_vector *in)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_vector out = {0};
    assert_ok(nl_transform_vector(transform, source, in, NULL, &out));
    assert_int_equal(out.length, in->length);
    for (uint32_t row = 0; row < in->length; row++) {
        const nl_value value = nl_vector_value(in, row, arena);
        const nl_value actual = nl_vector_value(&out, row, arena);
        nl_value expected;
        assert_ok(nl_transform_value(transform, source, &value, arena, &expected));
        assert_int_equal(actual.is_null, expected.is_null);
        if (!expected.is_null) assert_true(nl_value_equal(&actual, &expected));
    }
    nl_vector_fini(&out);
    nl_arena_free(arena);
}

static void check_encodings(const nl_transform *transform, const nl_ice_type *source, const nl_value *values, uint32_t count)
{
    nl_column_builder *builder;
    nl_vector flat = {0};
    assert_ok(nl_column_builder_new(values[0].type, NULL, &builder));
    for (uint32_t i = 0; i < count; i++)
        assert_ok(nl_column_builder_value(builder, &values[i]));
    assert_ok(nl_column_builder_finish(builder, &flat));
    check_vector(transform, source, &flat);
    for (uint32_t i = 0; i < count; i++) {
        nl_vector constant = {0};
        assert_ok(nl_vector_new_constant(&constant, &values[i], 3, NULL));
        check_vector(transform, source, &constant);
        nl_vector_fini(&constant);
    }
    nl_vector entries = {0}; /* all but the null, which is the last */
    nl_vector dictionary = {0};
    uint32_t *indices = NULL;
    uint8_t *bits = NULL;
    assert_ok(nl_vector_slice(&flat, 0, count - 1, NULL, &entries));
    nl_buffer *buffer;
    assert_ok(nl_buffer_new(NULL, sizeof(uint32_t) * 6, true, &buffer));
    indices = (uint32_t *)(void *)buffer->data;
    for (uint32_t i = 0; i < 6; i++)
        indices[i] = i == 2 ? 0 : i % (count - 1);
    dictionary = (nl_vector){.type = flat.type, .encoding = NL_DICTIONARY, .length = 6, .indices = indices, .values_buffer = buffer};
    nl_vector entries_flat = {0};
    assert_ok(nl_vector_flatten(&entries, true, NULL, &entries_flat));
    entries_flat.validity = NULL;
    dictionary.dictionary = nl_shared_vector_new(&entries_flat);
    assert_ok(nl_vector_make_validity(&dictionary, NULL, &bits));
    nl_bit_clear(bits, 2);
    dictionary.null_count = 1;
    check_vector(transform, source, &dictionary);
    nl_vector_fini(&dictionary);
    nl_vector_fini(&entries);
    nl_vector_fini(&flat);
    nl_column_builder_free(builder);
}

static void test_transforms_of_vectors_agree_with_those_of_values(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    static const char *const names[] = {"identity", "bucket[7]", "truncate[10]", "year", "month", "day", "hour", "void"};
    const nl_value longs[] = {int_value(NL_ICE_LONG, 34), int_value(NL_ICE_LONG, -17), int_value(NL_ICE_LONG, INT64_MIN), nl_value_null(nl_type_bigint())};
    const nl_value ints[] = {int_value(NL_ICE_INT, 34), int_value(NL_ICE_INT, INT32_MIN), nl_value_null(nl_type_int())};
    const nl_value dates[] = {int_value(NL_ICE_DATE, 17486), int_value(NL_ICE_DATE, -1), nl_value_null(nl_type_of(NL_TYPE_DATE))};
    const nl_value stamps[] = {int_value(NL_ICE_TIMESTAMP, 1510871468000001ll), int_value(NL_ICE_TIMESTAMP, -1),
                               nl_value_null(nl_type_of(NL_TYPE_TIMESTAMP_NTZ))};
    const nl_value texts[] = {text_value(NL_ICE_STRING, NL_STR("iceberg")), text_value(NL_ICE_STRING, NL_STR("a long text that lies in the heap")),
                              text_value(NL_ICE_STRING, NL_STR("")), nl_value_null(nl_type_string())};
    const nl_value narrow[] = {{.type = nl_type_decimal(9, 2), .decimal = 1065}, {.type = nl_type_decimal(9, 2), .decimal = -1}, nl_value_null(nl_type_decimal(9, 2))};
    const nl_value wide[] = {{.type = nl_type_decimal(30, 2), .decimal = (nl_int128)1 << 80}, {.type = nl_type_decimal(30, 2), .decimal = -5},
                             nl_value_null(nl_type_decimal(30, 2))};
    const struct {
        const nl_ice_type *type;
        const nl_value *values;
        uint32_t count;
    } columns[] = {{nl_ice_type_of(NL_ICE_LONG), longs, 4},      {nl_ice_type_of(NL_ICE_INT), ints, 3},
                   {nl_ice_type_of(NL_ICE_DATE), dates, 3},      {nl_ice_type_of(NL_ICE_TIMESTAMP), stamps, 3},
                   {nl_ice_type_of(NL_ICE_STRING), texts, 4},    {nl_ice_type_decimal(arena, 9, 2), narrow, 3},
                   {nl_ice_type_decimal(arena, 30, 2), wide, 3}};
    for (size_t i = 0; i < NL_COUNT(columns); i++)
        for (size_t k = 0; k < NL_COUNT(names); k++) {
            nl_transform transform;
            assert_ok(nl_transform_parse(arena, nl_str_from(names[k]), &transform));
            if (nl_transform_can_apply(&transform, columns[i].type)) check_encodings(&transform, columns[i].type, columns[i].values, columns[i].count);
        }
    nl_arena_free(arena);
}

static void test_order_is_satisfied_by_finer_transforms(void **state)
{
    (void)state;
    static const nl_transform identity = {.kind = NL_TRANSFORM_IDENTITY};
    static const nl_transform hour = {.kind = NL_TRANSFORM_HOUR};
    static const nl_transform day = {.kind = NL_TRANSFORM_DAY};
    static const nl_transform bucket = {.kind = NL_TRANSFORM_BUCKET, .width = 4};
    static const nl_transform wide = {.kind = NL_TRANSFORM_TRUNCATE, .width = 8};
    static const nl_transform narrow = {.kind = NL_TRANSFORM_TRUNCATE, .width = 2};
    assert_true(nl_transform_satisfies_order_of(&identity, &day));
    assert_true(nl_transform_satisfies_order_of(&hour, &day));
    assert_false(nl_transform_satisfies_order_of(&day, &hour));
    assert_false(nl_transform_satisfies_order_of(&identity, &bucket));
    assert_true(nl_transform_satisfies_order_of(&bucket, &bucket));
    assert_true(nl_transform_satisfies_order_of(&wide, &narrow));
    assert_false(nl_transform_satisfies_order_of(&narrow, &wide));
}

/* ---- Specs ---- */

static const nl_schema *schema_of(nl_arena *arena)
{
    static const char json[] = "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"
                               "{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":\"string\"},{\"id\":3,\"name\":\"ts\",\"required\":false,\"type\":"
                               "\"timestamptz\"},{\"id\":4,\"name\":\"id2\",\"required\":false,\"type\":\"int\"},{\"id\":5,\"name\":\"st\",\"required\":"
                               "false,\"type\":{\"type\":\"struct\",\"fields\":[{\"id\":6,\"name\":\"a\",\"required\":false,\"type\":\"int\"}]}}]}";
    const json_t *parsed;
    const nl_schema *schema;
    assert_ok(nl_json_parse(arena, nl_str_from(json), NL_STR("test"), &parsed));
    assert_ok(nl_schema_from_json(arena, parsed, NL_STR("test"), &schema));
    return schema;
}

static nl_partition_addition addition(nl_arena *arena, const char *source, const char *transform, const char *name)
{
    nl_partition_addition made = {.source = nl_str_from(source), .name = nl_str_from(name)};
    assert_ok(nl_transform_parse(arena, nl_str_from(transform), &made.transform));
    return made;
}

static void test_names_made_at_creation_have_no_width(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_partition_addition fields[] = {addition(arena, "id", "bucket[4]", ""), addition(arena, "s", "truncate[2]", ""),
                                            addition(arena, "ts", "day", ""),       addition(arena, "s", "identity", ""),
                                            addition(arena, "st.a", "identity", "")};
    const nl_partition_spec *spec;
    int32_t last_id = 999;
    assert_ok(nl_partition_spec_build(arena, schema_of(arena), fields, NL_COUNT(fields), &last_id, &spec));
    nl_builder text;
    nl_builder_init(&text, 4096);
    nl_partition_spec_append_json(spec, &text);
    assert_text(nl_builder_str(&text),
                "{\"spec-id\":0,\"fields\":[{\"name\":\"id_bucket\",\"transform\":\"bucket[4]\",\"source-id\":1,\"field-id\":1000},"
                "{\"name\":\"s_trunc\",\"transform\":\"truncate[2]\",\"source-id\":2,\"field-id\":1001},"
                "{\"name\":\"ts_day\",\"transform\":\"day\",\"source-id\":3,\"field-id\":1002},"
                "{\"name\":\"s\",\"transform\":\"identity\",\"source-id\":2,\"field-id\":1003},"
                "{\"name\":\"st.a\",\"transform\":\"identity\",\"source-id\":6,\"field-id\":1004}]}");
    nl_builder_fini(&text);
    assert_int_equal(last_id, 1004);
    nl_arena_free(arena);
}

static void test_bad_specs_are_refused_in_icebergs_words(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *schema = schema_of(arena);
    const nl_partition_spec *spec;
    int32_t last_id = 999;
    const nl_partition_addition times[] = {addition(arena, "ts", "year", ""), addition(arena, "ts", "month", "")};
    assert_fails(nl_partition_spec_build(arena, schema, times, 2, &last_id, &spec), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot add redundant partition: 1000: ts_year: year(3) conflicts with 1001: ts_month: month(3)");
    nl_partition_addition one = addition(arena, "s", "hour", "");
    assert_fails(nl_partition_spec_build(arena, schema, &one, 1, &last_id, &spec), NILAS_VALIDATION_FAILED,
                 "Invalid source type string for transform: hour");
    one = addition(arena, "st", "identity", "");
    assert_fails(nl_partition_spec_build(arena, schema, &one, 1, &last_id, &spec), NILAS_VALIDATION_FAILED,
                 "Cannot partition by non-primitive source field: struct<6: a: optional int>");
    one = addition(arena, "ts", "day", "id");
    assert_fails(nl_partition_spec_build(arena, schema, &one, 1, &last_id, &spec), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot create partition from name that exists in schema: id");
    one = addition(arena, "no", "day", "");
    assert_fails(nl_partition_spec_build(arena, schema, &one, 1, &last_id, &spec), NILAS_ILLEGAL_ARGUMENT, "Cannot find source column: no");
    assert_int_equal(last_id, 999);
    nl_arena_free(arena);
}

static const nl_partition_spec *evolve(nl_arena *arena, int32_t version, const nl_schema *schema, const nl_partition_spec *const *specs, uint32_t count,
                                       int32_t last_id, nl_spec_update **update)
{
    const nl_spec_update_base base = {.format_version = version, .schema = schema, .spec = specs[count - 1], .all_specs = specs, .spec_count = count,
                                      .last_field_id = last_id};
    *update = nl_spec_update_new(arena, &base);
    return specs[count - 1];
}

static void test_evolution_of_specs(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *schema = schema_of(arena);
    const nl_partition_spec *specs[4];
    int32_t last_id = 999;
    const nl_partition_addition day = addition(arena, "ts", "day", "");
    const nl_partition_addition bucket = addition(arena, "id", "bucket[16]", "");
    nl_spec_update *update;
    assert_ok(nl_partition_spec_build(arena, schema, &day, 1, &last_id, &specs[0]));
    evolve(arena, 2, schema, specs, 1, last_id, &update);
    assert_fails(nl_spec_update_add(update, &day), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot add duplicate partition field null=day(ref(name=\"ts\")), conflicts with 1000: ts_day: day(3)");
    nl_partition_addition bad = addition(arena, "s", "day", "");
    assert_fails(nl_spec_update_add(update, &bad), NILAS_VALIDATION_FAILED, "Cannot bind: day cannot transform string values from 's'");
    assert_fails(nl_spec_update_remove_name(update, NL_STR("zz")), NILAS_ILLEGAL_ARGUMENT, "Cannot find partition field to remove: zz");
    assert_fails(nl_spec_update_remove(update, NL_STR("s"), &(nl_transform){.kind = NL_TRANSFORM_BUCKET, .width = 3}), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot find partition field to remove: bucket[3](ref(name=\"s\"))");
    bad = addition(arena, "s", "bucket[16]", "ts_day");
    assert_fails(nl_spec_update_add(update, &bad), NILAS_ILLEGAL_ARGUMENT, "Cannot add duplicate partition field name: ts_day");
    evolve(arena, 2, schema, specs, 1, last_id, &update); /* anew: refused additions used up ids */
    assert_ok(nl_spec_update_add(update, &bucket));
    assert_ok(nl_spec_update_remove_name(update, NL_STR("ts_day")));
    assert_ok(nl_spec_update_apply(update, &specs[1], &last_id));
    assert_int_equal(specs[1]->field_count, 1);
    assert_text(specs[1]->fields[0].name, "id_bucket_16"); /* ALTER's name has the width */
    assert_int_equal(specs[1]->fields[0].field_id, 1001);
    evolve(arena, 2, schema, specs, 2, last_id, &update); /* what was dropped comes back with its id */
    assert_ok(nl_spec_update_add(update, &day));
    assert_ok(nl_spec_update_apply(update, &specs[2], &last_id));
    assert_int_equal(specs[2]->fields[1].field_id, 1000);
    assert_int_equal(last_id, 1001);
    const nl_ice_type *type;
    assert_ok(nl_partition_type_union(arena, specs, 3, &schema, 1, &type));
    assert_text(nl_ice_type_name(arena, type), "struct<1000: ts_day: optional date, 1001: id_bucket_16: optional int>");
    bad = addition(arena, "s", "truncate[4]", "id2");
    evolve(arena, 2, schema, specs, 3, last_id, &update);
    assert_ok(nl_spec_update_add(update, &bad));
    assert_fails(nl_spec_update_apply(update, &specs[3], &last_id), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot create identity partition sourced from different field in schema: id2");
    nl_arena_free(arena);
}

static void test_v1_keeps_dropped_fields_as_void(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *schema = schema_of(arena);
    const nl_partition_spec *specs[3];
    int32_t last_id = 999;
    const nl_partition_addition day = addition(arena, "ts", "day", "");
    nl_spec_update *update;
    assert_ok(nl_partition_spec_build(arena, schema, &day, 1, &last_id, &specs[0]));
    evolve(arena, 1, schema, specs, 1, last_id, &update);
    assert_ok(nl_spec_update_remove(update, NL_STR("ts"), &day.transform));
    assert_ok(nl_spec_update_apply(update, &specs[1], &last_id));
    assert_int_equal(specs[1]->field_count, 1);
    assert_int_equal(specs[1]->fields[0].transform.kind, NL_TRANSFORM_VOID);
    assert_true(nl_partition_spec_is_unpartitioned(specs[1]));
    evolve(arena, 1, schema, specs, 2, last_id, &update); /* the void field's name gives way to the new one's */
    assert_ok(nl_spec_update_add(update, &day));
    assert_ok(nl_spec_update_apply(update, &specs[2], &last_id));
    assert_text(specs[2]->fields[0].name, "ts_day_1000");
    assert_text(specs[2]->fields[1].name, "ts_day");
    assert_int_equal(specs[2]->fields[1].field_id, 1001);
    nl_arena_free(arena);
}

static void test_partition_values_from_a_path(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_schema *schema = schema_of(arena);
    const nl_partition_addition fields[] = {addition(arena, "id", "identity", ""), addition(arena, "s", "identity", "")};
    const nl_partition_spec *spec;
    int32_t last_id = 999;
    nl_value values[2];
    assert_ok(nl_partition_spec_build(arena, schema, fields, 2, &last_id, &spec));
    assert_ok(nl_partition_from_path(spec, schema, NL_STR("id=7/s=a%2Fb"), arena, values));
    assert_int_equal(values[0].integer, 7);
    assert_text(values[1].text, "a/b");
    assert_ok(nl_partition_from_path(spec, schema, NL_STR("id=__HIVE_DEFAULT_PARTITION__/s="), arena, values));
    assert_true(values[0].is_null);
    assert_text(values[1].text, "");
    assert_fails(nl_partition_from_path(spec, schema, NL_STR("id=x/s=b"), arena, values), NILAS_ILLEGAL_ARGUMENT, "id=x");
    assert_fails(nl_partition_from_path(spec, schema, NL_STR("s=b/id=1"), arena, values), NILAS_ILLEGAL_ARGUMENT, "Invalid partition: s=b");
    assert_fails(nl_partition_from_path(spec, schema, NL_STR("id=1"), arena, values), NILAS_ILLEGAL_ARGUMENT, "not enough fields");
    nl_builder text;
    nl_builder_init(&text, 100);
    nl_form_encode(NL_STR("a b/\xc3\xbc*~%"), &text);
    assert_text(nl_builder_str(&text), "a+b%2F%C3%BC*%7E%25");
    nl_builder plain;
    nl_builder_init(&plain, 100);
    assert_ok(nl_form_decode(nl_builder_str(&text), &plain));
    assert_text(nl_builder_str(&plain), "a b/\xc3\xbc*~%");
    assert_fails(nl_form_decode(NL_STR("%4"), &plain), NILAS_ILLEGAL_ARGUMENT, "%4");
    nl_builder_fini(&plain);
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bucket_hashes_are_the_specifications),
        cmocka_unit_test(test_transforms_of_single_values),
        cmocka_unit_test(test_transforms_of_vectors_agree_with_those_of_values),
        cmocka_unit_test(test_order_is_satisfied_by_finer_transforms),
        cmocka_unit_test(test_names_made_at_creation_have_no_width),
        cmocka_unit_test(test_bad_specs_are_refused_in_icebergs_words),
        cmocka_unit_test(test_evolution_of_specs),
        cmocka_unit_test(test_v1_keeps_dropped_fields_as_void),
        cmocka_unit_test(test_partition_values_from_a_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
