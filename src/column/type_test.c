/* Expected texts: Spark 4.0.1, DataFrame.schema's treeString, sql and catalogString. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/type.h"

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

static void assert_text(nl_str got, const char *expected)
{
    assert_int_equal(got.length, strlen(expected));
    assert_memory_equal(got.data, expected, got.length);
}

static nl_field field(const char *name, const nl_type *type)
{
    return (nl_field){.name = nl_str_from(name), .type = type, .is_nullable = true};
}

static const nl_type *sample(void)
{
    nl_field xy[] = {
        field("x", nl_type_of(NL_TYPE_TINYINT)),
        field("y", nl_type_map(arena, nl_type_int(),
                               nl_type_array(arena, nl_type_of(NL_TYPE_INTERVAL_DT), true), true)),
    };
    nl_field inner[] = {
        {.name = NL_STR("a"), .type = nl_type_int(), .comment = NL_STR("it's \"q\" \n \\ x")},
        field("b c", nl_type_array(arena, nl_type_decimal(10, 2), true)),
        field("m", nl_type_map(arena, nl_type_string(), nl_type_struct(arena, xy, 2), true)),
        field("a`b", nl_type_int()),
        field("_x1", nl_type_int()),
        field("1x", nl_type_int()),
    };
    nl_field outer[] = {
        field("s", nl_type_struct(arena, inner, 6)),
        {.name = NL_STR("c"), .type = nl_type_collated(arena, NL_STR("UNICODE_CI"))},
        {.name = NL_STR("y"), .type = nl_type_interval_ym(NL_FIELD_YEAR, NL_FIELD_YEAR)},
        field("v", nl_type_of(NL_TYPE_NULL)),
        field("va", nl_type_of(NL_TYPE_VARIANT)),
        field("e", nl_type_struct(arena, NULL, 0)),
    };
    return nl_type_struct(arena, outer, 6);
}

static void test_catalog_string_is_sparks(void **state)
{
    (void)state;
    assert_text(nl_type_name(arena, sample()),
                "struct<s:struct<a:int,b c:array<decimal(10,2)>,m:map<string,struct<x:tinyint,y:map<int,array<interval "
                "day to second>>>>,a`b:int,_x1:int,1x:int>,c:string collate UNICODE_CI,y:interval "
                "year,v:void,va:variant,e:struct<>>");
    assert_text(nl_type_name(arena, nl_type_char(arena, NL_STRING_CHAR, 5)), "char(5)");
    assert_text(nl_type_name(arena, nl_type_of(NL_TYPE_INTERVAL)), "interval");
}

static void test_sql_form_is_sparks(void **state)
{
    (void)state;
    assert_text(nl_type_sql(arena, sample()),
                "STRUCT<s: STRUCT<a: INT NOT NULL COMMENT 'it\\'s \"q\" \n \\ x', `b c`: ARRAY<DECIMAL(10,2)>, m: "
                "MAP<STRING, STRUCT<x: TINYINT, y: MAP<INT, ARRAY<INTERVAL DAY TO SECOND>>>>, `a``b`: INT, _x1: INT, "
                "`1x`: INT>, c: STRING COLLATE UNICODE_CI NOT NULL, y: INTERVAL YEAR NOT NULL, v: VOID, va: VARIANT, "
                "e: STRUCT<>>");
}

static void test_tree_is_print_schemas(void **state)
{
    (void)state;
    assert_text(nl_type_tree(arena, sample()),
                "root\n"
                " |-- s: struct (nullable = true)\n"
                " |    |-- a: integer (nullable = false)\n"
                " |    |-- b c: array (nullable = true)\n"
                " |    |    |-- element: decimal(10,2) (containsNull = true)\n"
                " |    |-- m: map (nullable = true)\n"
                " |    |    |-- key: string\n"
                " |    |    |-- value: struct (valueContainsNull = true)\n"
                " |    |    |    |-- x: byte (nullable = true)\n"
                " |    |    |    |-- y: map (nullable = true)\n"
                " |    |    |    |    |-- key: integer\n"
                " |    |    |    |    |-- value: array (valueContainsNull = true)\n"
                " |    |    |    |    |    |-- element: interval day to second (containsNull = true)\n"
                " |    |-- a`b: integer (nullable = true)\n"
                " |    |-- _x1: integer (nullable = true)\n"
                " |    |-- 1x: integer (nullable = true)\n"
                " |-- c: string collate UNICODE_CI (nullable = false)\n"
                " |-- y: interval year (nullable = false)\n"
                " |-- v: void (nullable = true)\n"
                " |-- va: variant (nullable = true)\n"
                " |-- e: struct (nullable = true)\n");
}

static void test_equality_ignores_nullability_unless_asked(void **state)
{
    (void)state;
    const nl_type *with = nl_type_array(arena, nl_type_int(), true);
    const nl_type *without = nl_type_array(arena, nl_type_int(), false);
    assert_true(nl_type_equal(with, without));
    assert_false(nl_type_equal_with_nullability(with, without));
    assert_false(nl_type_equal(with, nl_type_array(arena, nl_type_bigint(), true)));
    assert_false(nl_type_equal(nl_type_string(), nl_type_collated(arena, NL_STR("UNICODE"))));
    assert_ptr_equal(nl_type_collated(arena, NL_STR("UTF8_BINARY")), nl_type_string());
    assert_false(nl_type_equal(nl_type_decimal(10, 2), nl_type_decimal(10, 3)));
}

static void test_a_copy_outlives_its_source(void **state)
{
    (void)state;
    nl_arena *other = nl_arena_new(NULL);
    const nl_type *copy = nl_type_copy(other, sample());
    assert_true(nl_type_equal_with_nullability(copy, sample()));
    tear_down(NULL);
    set_up(NULL);
    assert_text(nl_type_name(arena, copy->children[0].type->children[1].type), "array<decimal(10,2)>");
    nl_arena_free(other);
}

static void test_decimals_change_their_form_above_18_digits(void **state)
{
    (void)state;
    assert_int_equal(nl_type_decimal(18, 18)->physical, NL_PHYS_I64);
    assert_int_equal(nl_type_decimal(19, 0)->physical, NL_PHYS_I128);
    for (int precision = 1; precision <= 38; precision++) {
        for (int scale = 0; scale <= precision; scale++) {
            const nl_type *type = nl_type_decimal(precision, scale);
            assert_int_equal(type->precision, precision);
            assert_int_equal(type->scale, scale);
            assert_ptr_equal(type, nl_type_decimal(precision, scale));
        }
    }
}

static void test_maps_variants_and_calendar_intervals_have_no_order(void **state)
{
    (void)state;
    assert_false(nl_type_is_orderable(nl_type_of(NL_TYPE_VARIANT)));
    assert_false(nl_type_is_orderable(nl_type_of(NL_TYPE_INTERVAL)));
    assert_true(nl_type_is_orderable(nl_type_of(NL_TYPE_INTERVAL_YM)));
    const nl_type *map = nl_type_map(arena, nl_type_int(), nl_type_int(), true);
    assert_false(nl_type_is_orderable(nl_type_array(arena, map, true)));
    assert_true(nl_type_is_orderable(nl_type_array(arena, nl_type_int(), true)));
}

static void test_structure_ignores_names(void **state)
{
    (void)state;
    const nl_type *plain = nl_type_struct(arena, (nl_field[]){{.name = NL_STR("a"), .type = nl_type_int()}}, 1);
    const nl_type *renamed = nl_type_struct(arena, (nl_field[]){{.name = NL_STR("b"), .type = nl_type_int(), .is_nullable = true}}, 1);
    const nl_type *wider = nl_type_struct(arena, (nl_field[]){{.name = NL_STR("a"), .type = nl_type_bigint()}}, 1);
    assert_false(nl_type_equal(plain, renamed));
    assert_true(nl_type_has_same_structure(plain, renamed));
    assert_false(nl_type_has_same_structure(plain, wider));
    assert_true(nl_type_has_same_structure(nl_type_array(arena, plain, true), nl_type_array(arena, renamed, false)));
    assert_false(nl_type_has_same_structure(nl_type_array(arena, plain, true), plain));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_catalog_string_is_sparks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sql_form_is_sparks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_tree_is_print_schemas, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_equality_ignores_nullability_unless_asked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_structure_ignores_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_copy_outlives_its_source, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decimals_change_their_form_above_18_digits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_maps_variants_and_calendar_intervals_have_no_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
