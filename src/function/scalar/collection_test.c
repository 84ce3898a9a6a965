/* scalar/collection_test.c - arrays, maps, structs and generators; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

static void test_making(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"array", "int;decimal(2,1);void", {"1", "2.5", NULL}, "[1.0, 2.5, null]"},
        {"array", "string;int", {"a", "1"}, "!CAST_INVALID_INPUT"},
        {"map", "int;string;int;string", {"1", "a", "2", "b"}, "{1 -> a, 2 -> b}"},
        {"map", "int;string;int;string", {"1", "a", "1", "b"}, "!DUPLICATED_MAP_KEY"},
        {"map", "int;string", {NULL, "a"}, "!NULL_MAP_KEY"},
        {"map", "int", {"1"}, "!WRONG_NUM_ARGS.WITHOUT_SUGGESTION"},
        {"struct", "int;string", {"1", NULL}, "{1, null}"},
        {"named_struct", "string;int;string;string", {"a", "1", "b", "x"}, "{1, x}"},
        {"map_from_arrays", "ints;texts", {"1,2", "a,b"}, "{1 -> a, 2 -> b}"},
        {"map_concat", "map;map", {"1:a", "3:c"}, "{1 -> a, 3 -> c}"},
        {"map_concat", "map;map", {"1:a", "1:c"}, "!DUPLICATED_MAP_KEY"},
        {"concat", "ints;ints", {"1", "2,3"}, "[1, 2, 3]"},
        {"reverse", "ints", {"1,null,3"}, "[3, null, 1]"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static void test_taking_out(void **state)
{
    (void)state;
    static const test_case cases[] = {
        {"element_at", "ints;int", {"1,2,3", "2"}, "2"},
        {"element_at", "ints;int", {"1,2,3", "-1"}, "3"},
        {"element_at", "ints;int", {"1,2,3", "5"}, "!INVALID_ARRAY_INDEX_IN_ELEMENT_AT"},
        {"element_at", "ints;int", {"1", "0"}, "!INVALID_INDEX_OF_ZERO"},
        {"try_element_at", "ints;int", {"1", "5"}, "NULL"},
        {"element_at", "map;int", {"1:a", "1"}, "a"},
        {"element_at", "map;int", {"1:a", "2"}, "NULL"},
        {"[]", "ints;int", {"1,2", "0"}, "1"},
        {"[]", "ints;int", {"1,2", "5"}, "!INVALID_ARRAY_INDEX"},
        {"get", "ints;int", {"1,2", "5"}, "NULL"},
        {"size", "ints", {"1,2"}, "2"},
        {"cardinality", "map", {"1:a"}, "1"},
        {"size", "ints", {NULL}, "NULL"},
        {"map_keys", "map", {"1:a,2:b"}, "[1, 2]"},
        {"map_values", "map", {"1:a,2:b"}, "[a, b]"},
        {"map_entries", "map", {"1:a"}, "[{1, a}]"},
        {"map_contains_key", "map;int", {"1:a", "1"}, "true"},
        {"concat_ws", "string;texts;string", {"-", "a,null,b", "c"}, "a-b-c"},
        {"hash", "ints", {"1,2"}, "-222940379"},
    };
    run_cases(cases, NL_COUNT(cases));
}

static const char *generate(const char *name, uint32_t count, const nl_type *const *types, const char *const *texts, bool is_outer)
{
    nl_value values[6];
    const nl_value *constants[6] = {NULL};
    nl_vector args[6] = {{0}};
    const nl_bound_function *bound = NULL;
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    for (uint32_t i = 0; i < count; i++) {
        values[i] = test_value(types[i], texts[i]);
        constants[i] = &values[i];
        args[i] = test_column(types[i], &texts[i], 1);
    }
    expect_success(test_bind(name, types, count, constants, &bound));
    nl_buffer *parents = NULL;
    uint32_t rows = 0;
    nl_vector columns[4] = {{0}};
    expect_success(bound->generator->generate(bound, &eval, args, NL_ALL_ROWS(1), is_outer, &parents, &rows, columns));
    nl_builder text;
    nl_builder_init(&text, 1000);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < bound->result_type->child_count; c++)
            nl_append_f(&text, "%s%s", c > 0 ? "," : r > 0 ? ";" : "", test_text(&columns[c], r));
    const char *copy = nl_str_c(test_arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_buffer_release(parents);
    for (uint32_t c = 0; c < bound->result_type->child_count; c++) nl_vector_fini(&columns[c]);
    for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    return copy;
}

static void test_generators(void **state)
{
    (void)state;
    const nl_type *integer = nl_type_int();
    const nl_type *ints = nl_type_array(test_arena, integer, true);
    const nl_type *map = nl_type_map(test_arena, integer, nl_type_string(), true);
    assert_string_equal(generate("explode", 1, TYPES(ints), VALUES("1,null,2"), false), "1;NULL;2");
    assert_string_equal(generate("explode", 1, TYPES(ints), VALUES(NULL), false), "");
    assert_string_equal(generate("explode_outer", 1, TYPES(ints), VALUES(NULL), true), "NULL");
    assert_string_equal(generate("explode", 1, TYPES(map), VALUES("1:a,2:b"), false), "1,a;2,b");
    assert_string_equal(generate("posexplode", 1, TYPES(ints), VALUES("7,8"), false), "0,7;1,8");
    assert_string_equal(generate("posexplode_outer", 1, TYPES(map), VALUES("1:a"), true), "0,1,a");
    assert_string_equal(generate("stack", 4, TYPES(integer, integer, integer, integer), VALUES("2", "1", "2", "3"), false), "1,2;3,NULL");
    const nl_bound_function *bound = NULL;
    expect_error(test_bind("explode", TYPES(integer), 1, NULL, &bound), "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_making),
        cmocka_unit_test(test_taking_out),
        cmocka_unit_test(test_generators),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
