/* Values, and column builders driven with values of every type. */
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

static void test_values_taken_out_and_put_back_are_the_rows(void **state)
{
    (void)state;
    const nl_type *types[TEST_TYPES_MAX];
    uint32_t type_count = test_types(arena, types);
    for (uint32_t type = 0; type < type_count; type++) {
        for (uint32_t encoding = NL_FLAT; encoding <= NL_DICTIONARY; encoding++) {
            nl_vector source = test_vector(types[type], (nl_encoding)encoding, 150, 25);
            nl_column_builder *builder;
            nl_vector by_value, by_row;
            must(nl_column_builder_new(types[type], NULL, &builder));
            for (uint32_t row = 0; row < source.length; row++) {
                nl_value value = nl_vector_value(&source, row, arena);
                nl_value copy = nl_value_copy(arena, &value);
                assert_true(nl_value_equal(&value, &copy));
                must(nl_column_builder_value(builder, &copy));
            }
            assert_int_equal(nl_column_builder_length(builder), 150);
            must(nl_column_builder_finish(builder, &by_value));
            for (uint32_t row = 0; row < source.length; row++)
                must(nl_column_builder_row(builder, &source, row));
            must(nl_column_builder_finish(builder, &by_row));
            for (uint32_t row = 0; row < source.length; row++) {
                assert_true(nl_vector_row_equal(&source, row, &by_value, row));
                assert_true(nl_vector_row_equal(&source, row, &by_row, row));
            }
            nl_column_builder_free(builder);
            nl_vector_fini(&by_value);
            nl_vector_fini(&by_row);
            nl_vector_fini(&source);
        }
    }
}

static void test_rows_are_taken_back(void **state)
{
    (void)state;
    const nl_type *types[TEST_TYPES_MAX];
    uint32_t type_count = test_types(arena, types);
    for (uint32_t type = 0; type < type_count; type++) {
        nl_vector source = test_vector(types[type], NL_FLAT, 100, 30);
        nl_column_builder *builder;
        nl_vector kept;
        must(nl_column_builder_new(types[type], NULL, &builder));
        for (uint32_t row = 0; row < 60; row++) {
            must(nl_column_builder_row(builder, &source, row));
            uint32_t length = nl_column_builder_length(builder);
            for (uint32_t more = 0; more < row % 5; more++)
                must(nl_column_builder_row(builder, &source, 60 + more));
            nl_column_builder_truncate(builder, length);
        }
        must(nl_column_builder_finish(builder, &kept));
        assert_int_equal(kept.length, 60);
        for (uint32_t row = 0; row < 60; row++)
            assert_true(nl_vector_row_equal(&source, row, &kept, row));
        for (uint32_t i = 0; i < kept.child_count && types[type]->physical == NL_PHYS_LIST; i++)
            assert_int_equal(kept.children[i].length, kept.children[0].length);
        nl_column_builder_free(builder);
        nl_vector_fini(&kept);
        nl_vector_fini(&source);
    }
}

static void test_values_order_as_rows_do(void **state)
{
    (void)state;
    const nl_type *types[TEST_TYPES_MAX];
    uint32_t type_count = test_types(arena, types);
    for (uint32_t type = 0; type < type_count; type++) {
        nl_vector source = test_vector(types[type], NL_FLAT, 40, 10);
        for (uint32_t a = 0; a < 40; a++) {
            for (uint32_t b = 0; b < 40; b++) {
                if (nl_vector_is_null(&source, a) || nl_vector_is_null(&source, b)) continue;
                nl_value x = nl_vector_value(&source, a, arena);
                nl_value y = nl_vector_value(&source, b, arena);
                int by_value = nl_value_compare(&x, &y);
                if (by_value == 0) assert_true(nl_value_hash(&x) == nl_value_hash(&y));
                int by_row = nl_vector_row_compare(&source, a, &source, b);
                assert_int_equal((by_value > 0) - (by_value < 0), (by_row > 0) - (by_row < 0));
            }
        }
        nl_vector_fini(&source);
    }
}

static void test_a_constant_holds_its_value(void **state)
{
    (void)state;
    nl_vector vector;
    nl_value text = nl_value_string(NL_STR("longer than twelve bytes"));
    must(nl_vector_new_constant(&vector, &text, 1000, NULL));
    assert_int_equal(vector.encoding, NL_CONSTANT);
    nl_value back = nl_vector_value(&vector, 999, arena);
    assert_true(nl_value_equal(&text, &back));
    nl_vector_fini(&vector);
    nl_value none = nl_value_null(nl_type_bigint());
    must(nl_vector_new_constant(&vector, &none, 7, NULL));
    assert_true(nl_vector_is_null(&vector, 6));
    assert_int_equal(vector.null_count, 7);
    nl_vector_fini(&vector);
}

static void test_decimals_compare_across_scales(void **state)
{
    (void)state;
    nl_value a = {.type = nl_type_decimal(3, 2), .decimal = 150};
    nl_value b = {.type = nl_type_decimal(38, 1), .decimal = 15};
    assert_int_equal(nl_value_compare(&a, &b), 0);
}

static void test_a_refused_builder_gives_everything_back(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "test", 20000);
    nl_column_builder *builder;
    must(nl_column_builder_new(nl_type_string(), memory, &builder));
    nl_status status = NULL;
    for (uint32_t row = 0; !status && row < 10000; row++)
        status = nl_column_builder_str(builder, NL_STR("a text that fills the heap"));
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    nl_error_free(status);
    nl_column_builder_free(builder);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values_taken_out_and_put_back_are_the_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_are_taken_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_order_as_rows_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_constant_holds_its_value, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_decimals_compare_across_scales, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_refused_builder_gives_everything_back, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
