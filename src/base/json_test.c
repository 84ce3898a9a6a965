/* base/json_test.c */
#include "base/test_support.h"

#include "base/json.h"

static void test_members_are_read_with_their_types(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_str path = NL_STR("f.json");
    const json_t *json;
    assert_ok(nl_json_parse(arena, NL_STR("{\"n\":9007199254740993,\"t\":\"x\",\"b\":true,\"z\":null,\"a\":[1,2],\"big\":3000000000}"), path, &json));
    int64_t number = 0;
    int32_t small = 5;
    nl_str text = {0};
    bool flag = false;
    const json_t *array;
    assert_ok(nl_json_int64(json, "n", path, &number));
    assert_true(number == 9007199254740993ll);
    assert_ok(nl_json_text(json, "t", path, &text));
    assert_text(text, "x");
    assert_ok(nl_json_bool(json, "b", path, &flag));
    assert_true(flag);
    assert_ok(nl_json_optional_int32(json, "z", path, &small)); /* null is absent */
    assert_int_equal(small, 5);
    assert_ok(nl_json_array(json, "a", path, &array));
    const int32_t *items;
    uint32_t count;
    assert_ok(nl_json_int32_list(arena, array, "a", path, &items, &count));
    assert_int_equal(count, 2);
    assert_int_equal(items[1], 2);
    assert_fails(nl_json_int32(json, "big", path, &small), NILAS_CORRUPT_FILE, "big does not fit 32 bits");
    assert_fails(nl_json_text(json, "n", path, &text), NILAS_CORRUPT_FILE, "n is not a string");
    assert_fails(nl_json_text(json, "no", path, &text), NILAS_CORRUPT_FILE, "the required key no is missing");
    assert_fails(nl_json_object(array, path, "thing"), NILAS_CORRUPT_FILE, "thing is not a JSON object");
    nl_arena_free(arena);
}

static void test_damage_is_placed(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const json_t *json;
    assert_fails(nl_json_parse(arena, NL_STR("{\"a\":1,}"), NL_STR("f.json"), &json), NILAS_CORRUPT_FILE, "The file f.json is damaged at byte 8");
    assert_fails(nl_json_parse(arena, NL_STR(""), NL_STR("f.json"), &json), NILAS_CORRUPT_FILE, NULL);
    assert_fails(nl_json_parse(arena, NL_STR("1 2"), NL_STR("f.json"), &json), NILAS_CORRUPT_FILE, NULL);
    nl_arena_free(arena);
}

static void test_writing_escapes_as_jackson(void **state)
{
    (void)state;
    nl_builder out;
    nl_builder_init(&out, 1000);
    nl_json_writer json = {.out = &out};
    nl_json_begin(&json, '{');
    nl_json_key(&json, "a");
    nl_json_begin(&json, '[');
    nl_json_write_int(&json, -1);
    nl_json_write_bool(&json, false);
    nl_json_write_null(&json);
    nl_json_begin(&json, '{');
    nl_json_end(&json, '}');
    nl_json_end(&json, ']');
    nl_json_key_str(&json, NL_STR("k\"ey"));
    nl_json_write_text(&json, NL_STR("\x01\x1f\b\t\n\f\r\\/ \xc3\xa4"));
    nl_json_end(&json, '}');
    assert_text(nl_builder_str(&out), "{\"a\":[-1,false,null,{}],\"k\\\"ey\":\"\\u0001\\u001F\\b\\t\\n\\f\\r\\\\/ \xc3\xa4\"}");
    nl_builder_fini(&out);
}

static void test_unknown_members_are_kept_apart(void **state)
{
    (void)state;
    static const char *const known[] = {"a", NULL};
    nl_arena *arena = nl_arena_new(NULL);
    nl_arena *other = nl_arena_new(NULL);
    const json_t *json;
    assert_ok(nl_json_parse(arena, NL_STR("{\"a\":1,\"b\":{\"c\":[1.5]},\"d\":null}"), NL_STR("f"), &json));
    assert_null(nl_json_unknown(arena, json_object_get(json, "b"), (const char *const[]){"c", NULL}));
    const json_t *unknown = nl_json_keep(other, nl_json_unknown(arena, json, known));
    nl_arena_free(arena); /* the other arena holds its own reference */
    nl_builder out;
    nl_builder_init(&out, 1000);
    nl_json_writer writer = {.out = &out};
    nl_json_begin(&writer, '{');
    nl_json_write_members(&writer, unknown);
    nl_json_end(&writer, '}');
    assert_text(nl_builder_str(&out), "{\"b\":{\"c\":[1.5]},\"d\":null}");
    nl_builder_fini(&out);
    nl_arena_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members_are_read_with_their_types),
        cmocka_unit_test(test_damage_is_placed),
        cmocka_unit_test(test_writing_escapes_as_jackson),
        cmocka_unit_test(test_unknown_members_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
