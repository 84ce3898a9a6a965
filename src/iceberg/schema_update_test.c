/* iceberg/schema_update_test.c - evolution of schemas; messages and the final schema as seen on Spark 4.0.1. */
#include "base/test_support.h"

#include "base/json.h"
#include "iceberg/schema_update.h"

/* CREATE TABLE (id BIGINT NOT NULL, s STRING, st STRUCT<a:INT,b:STRING>, l ARRAY<INT>, m MAP<STRING,STRUCT<x:INT>>,
 * ts TIMESTAMP, f FLOAT) */
static const char base_json[] =
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"
    "{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":3,\"name\":\"st\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":[{\"id\":8,\"name\":\"a\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":9,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]}},"
    "{\"id\":4,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":10,\"element\":\"int\",\"element-required\":false}},"
    "{\"id\":5,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":11,\"key\":\"string\",\"value-id\":12,\"value\":{\"type\":"
    "\"struct\",\"fields\":[{\"id\":13,\"name\":\"x\",\"required\":false,\"type\":\"int\"}]},\"value-required\":false}},"
    "{\"id\":6,\"name\":\"ts\",\"required\":false,\"type\":\"timestamptz\"},{\"id\":7,\"name\":\"f\",\"required\":false,\"type\":\"float\"}]}";

static const char final_json[] =
    "{\"type\":\"struct\",\"schema-id\":0,\"identifier-field-ids\":[1],\"fields\":[{\"id\":1,\"name\":\"id2\",\"required\":true,\"type\":\"long\"},"
    "{\"id\":3,\"name\":\"st\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":[{\"id\":15,\"name\":\"c\",\"required\":false,\"type\":\"int\"},"
    "{\"id\":8,\"name\":\"a\",\"required\":false,\"type\":\"int\"},{\"id\":9,\"name\":\"b\",\"required\":false,\"type\":\"string\"}]}},"
    "{\"id\":4,\"name\":\"l\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":10,\"element\":\"long\",\"element-required\":false}},"
    "{\"id\":5,\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":11,\"key\":\"string\",\"value-id\":12,\"value\":{\"type\":"
    "\"struct\",\"fields\":[{\"id\":14,\"name\":\"y\",\"required\":false,\"type\":\"int\"},{\"id\":13,\"name\":\"x\",\"required\":false,\"type\":\"int\"}]},"
    "\"value-required\":false}},"
    "{\"id\":6,\"name\":\"ts\",\"required\":false,\"type\":\"timestamptz\"},{\"id\":2,\"name\":\"s\",\"required\":false,\"type\":\"string\"},"
    "{\"id\":7,\"name\":\"f\",\"required\":false,\"type\":\"double\"}]}";

static const nl_schema *parse_schema(nl_arena *arena, const char *text)
{
    const json_t *json;
    const nl_schema *schema;
    assert_ok(nl_json_parse(arena, nl_str_from(text), NL_STR("test"), &json));
    assert_ok(nl_schema_from_json(arena, json, NL_STR("test"), &schema));
    return schema;
}

static nl_schema_update *start(nl_arena *arena)
{
    const nl_schema_update_options options = {.last_column_id = 13, .format_version = 2};
    return nl_schema_update_new(arena, parse_schema(arena, base_json), &options);
}

static nl_status add(nl_schema_update *update, const char *parent, const char *name, nl_ice_type_id type)
{
    return nl_schema_update_add(update,
                                &(nl_column_addition){.parent = nl_str_from(parent), .name = nl_str_from(name), .type = nl_ice_type_of(type)});
}

static void test_the_statements_seen_on_spark_give_its_schema(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_schema_update *update = start(arena);
    const nl_str id = NL_STR("id");
    assert_ok(add(update, "m.value", "y", NL_ICE_INT));
    assert_ok(nl_schema_update_move_first(update, NL_STR("m.value.y")));
    assert_ok(add(update, "st", "c", NL_ICE_INT));
    assert_ok(nl_schema_update_move_after(update, NL_STR("st.c"), NL_STR("st.a")));
    assert_ok(nl_schema_update_type(update, NL_STR("l.element"), nl_ice_type_of(NL_ICE_LONG)));
    assert_ok(nl_schema_update_type(update, NL_STR("f"), nl_ice_type_of(NL_ICE_DOUBLE)));
    assert_ok(nl_schema_update_move_after(update, NL_STR("s"), NL_STR("ts")));
    assert_ok(nl_schema_update_move_first(update, NL_STR("st.c")));
    assert_ok(nl_schema_update_identifier_fields(update, &id, 1));
    assert_ok(nl_schema_update_rename(update, NL_STR("id"), NL_STR("id2")));
    const nl_schema *schema;
    int32_t last_id;
    assert_ok(nl_schema_update_apply(update, &schema, &last_id));
    assert_int_equal(last_id, 15);
    nl_builder text;
    nl_builder_init(&text, 1u << 16);
    nl_schema_append_json(schema, &text);
    assert_text(nl_builder_str(&text), final_json);
    nl_builder_fini(&text);
    nl_arena_free(arena);
}

static void test_refusals_are_in_icebergs_words(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_schema_update *update = start(arena);
    assert_fails(nl_schema_update_add(update, &(nl_column_addition){.name = NL_STR("x"), .type = nl_ice_type_of(NL_ICE_INT), .is_required = true}),
                 NILAS_ILLEGAL_ARGUMENT, "Incompatible change: cannot add required column: x");
    assert_fails(add(update, "", "s", NL_ICE_INT), NILAS_ILLEGAL_ARGUMENT, "Cannot add column, name already exists: s");
    assert_fails(add(update, "st", "a", NL_ICE_INT), NILAS_ILLEGAL_ARGUMENT, "Cannot add column, name already exists: st.a");
    assert_fails(add(update, "l", "q", NL_ICE_INT), NILAS_ILLEGAL_ARGUMENT, "Cannot add to non-struct column: l: int");
    assert_fails(add(update, "no", "q", NL_ICE_INT), NILAS_ILLEGAL_ARGUMENT, "Cannot find parent struct: no");
    assert_fails(nl_schema_update_delete(update, NL_STR("no")), NILAS_ILLEGAL_ARGUMENT, "Cannot delete missing column: no");
    assert_fails(nl_schema_update_rename(update, NL_STR("no"), NL_STR("x")), NILAS_ILLEGAL_ARGUMENT, "Cannot rename missing column: no");
    assert_fails(nl_schema_update_type(update, NL_STR("id"), nl_ice_type_of(NL_ICE_INT)), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot change column type: id: long -> int");
    assert_fails(nl_schema_update_require(update, NL_STR("s")), NILAS_ILLEGAL_ARGUMENT, "Cannot change column nullability: s: optional -> required");
    assert_fails(nl_schema_update_move_before(update, NL_STR("s"), NL_STR("no")), NILAS_ILLEGAL_ARGUMENT, "Cannot move s before missing column: no");
    assert_fails(nl_schema_update_move_after(update, NL_STR("s"), NL_STR("s")), NILAS_ILLEGAL_ARGUMENT, "Cannot move s after itself");
    assert_fails(nl_schema_update_move_after(update, NL_STR("s"), NL_STR("st.a")), NILAS_ILLEGAL_ARGUMENT, "Cannot move field s to a different struct");
    assert_fails(nl_schema_update_move_first(update, NL_STR("l.element")), NILAS_ILLEGAL_ARGUMENT, "Cannot move fields in non-struct type: list<int>");
    assert_ok(nl_schema_update_delete(update, NL_STR("st")));
    assert_fails(add(update, "st", "q", NL_ICE_INT), NILAS_ILLEGAL_ARGUMENT, "Cannot add to a column that will be deleted: st");
    assert_fails(nl_schema_update_rename(update, NL_STR("st"), NL_STR("x")), NILAS_ILLEGAL_ARGUMENT, "Cannot rename a column that will be deleted: st");
    assert_ok(nl_schema_update_doc(update, NL_STR("s"), NL_STR("text")));
    assert_fails(nl_schema_update_delete(update, NL_STR("s")), NILAS_ILLEGAL_ARGUMENT, "Cannot delete a column that has updates: s");
    nl_arena_free(arena);
}

static nl_status apply(nl_schema_update *update)
{
    const nl_schema *schema;
    int32_t last_id;
    return nl_schema_update_apply(update, &schema, &last_id);
}

static void test_identifier_fields_are_guarded(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str id = NL_STR("id");
    const nl_str s = NL_STR("s");
    const nl_str zz = NL_STR("zz");
    nl_schema_update *update = start(arena);
    assert_ok(nl_schema_update_identifier_fields(update, &s, 1));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT, "Cannot add field s as an identifier field: not a required field");
    assert_ok(nl_schema_update_identifier_fields(update, &zz, 1));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT, "Cannot add field zz as an identifier field: not found in current schema or added columns");
    update = start(arena);
    assert_ok(nl_schema_update_identifier_fields(update, &id, 1));
    assert_ok(nl_schema_update_delete(update, id));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT,
                 "Cannot delete identifier field 1: id: required long. To force deletion, also call setIdentifierFields to update identifier fields.");
    nl_arena_free(arena);
}

static void test_parts_of_lists_and_maps_stay(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_schema_update *update = start(arena);
    assert_ok(nl_schema_update_delete(update, NL_STR("l.element")));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT, "Cannot delete element type from list: list<int>");
    update = start(arena);
    assert_ok(nl_schema_update_delete(update, NL_STR("m.value")));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT, "Cannot delete value type from map");
    update = start(arena);
    assert_ok(nl_schema_update_doc(update, NL_STR("m.key"), NL_STR("k")));
    assert_fails(apply(update), NILAS_ILLEGAL_ARGUMENT, "Cannot alter map keys");
    nl_arena_free(arena);
}

static void test_a_dropped_name_can_come_back_with_a_new_id(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_schema_update *update = start(arena);
    assert_ok(nl_schema_update_delete(update, NL_STR("s")));
    assert_ok(add(update, "", "s", NL_ICE_LONG));
    const nl_schema *schema;
    int32_t last_id;
    assert_ok(nl_schema_update_apply(update, &schema, &last_id));
    assert_int_equal(nl_schema_find_name(schema, NL_STR("s"), true)->field->id, 14);
    assert_null(nl_schema_find_id(schema, 2));
    nl_arena_free(arena);
}

static void test_union_by_name_adds_widens_and_loosens(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_schema_update *update = start(arena);
    const nl_schema *incoming = parse_schema(
        arena, "{\"type\":\"struct\",\"fields\":[{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"int\"},"
               "{\"id\":2,\"name\":\"f\",\"required\":false,\"type\":\"double\"},{\"id\":3,\"name\":\"n\",\"required\":false,\"type\":\"string\"},"
               "{\"id\":4,\"name\":\"st\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["
               "{\"id\":5,\"name\":\"z\",\"required\":true,\"type\":\"int\"}]}}]}");
    assert_ok(nl_schema_update_union_by_name(update, incoming));
    const nl_schema *schema;
    int32_t last_id;
    assert_ok(nl_schema_update_apply(update, &schema, &last_id));
    const nl_ice_field *id = nl_schema_find_name(schema, NL_STR("id"), true)->field;
    assert_int_equal(id->type->id, NL_ICE_LONG); /* an int fits a long: nothing to change but the requirement */
    assert_false(id->is_required);
    assert_int_equal(nl_schema_find_name(schema, NL_STR("f"), true)->field->type->id, NL_ICE_DOUBLE);
    assert_int_equal(nl_schema_find_name(schema, NL_STR("n"), true)->field->id, 14);
    assert_false(nl_schema_find_name(schema, NL_STR("st.z"), true)->field->is_required);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_statements_seen_on_spark_give_its_schema),
        cmocka_unit_test(test_refusals_are_in_icebergs_words),
        cmocka_unit_test(test_identifier_fields_are_guarded),
        cmocka_unit_test(test_parts_of_lists_and_maps_stay),
        cmocka_unit_test(test_a_dropped_name_can_come_back_with_a_new_id),
        cmocka_unit_test(test_union_by_name_adds_widens_and_loosens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
