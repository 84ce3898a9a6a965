/* Batches come back from disk as they went. */
#include "exec/test_plan.h"

#include "exec/row.h"
#include "exec/spill.h"

static nl_vector column_from(const nl_type *type, const nl_value *rows, uint32_t count)
{
    nl_column_builder *builder = NULL;
    nl_vector vector = {0};
    expect_success(nl_column_builder_new(type, memory, &builder));
    for (uint32_t i = 0; i < count; i++)
        expect_success(rows[i].is_null ? nl_column_builder_null(builder) : nl_column_builder_value(builder, &rows[i]));
    expect_success(nl_column_builder_finish(builder, &vector));
    nl_column_builder_free(builder);
    return vector;
}

static const char *text_of(const nl_vector *vector, uint32_t row)
{
    nl_builder text;
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = confs.zone};
    nl_builder_init(&text, 1 << 20);
    nl_vector_append_text(vector, row, &options, &text);
    const char *copy = nl_str_c(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

/* One value of each kind of type, a null, and another value. */
static uint32_t sample_columns(const nl_type **types, nl_vector *columns)
{
    static nl_value items[4];
    items[0] = nl_value_int(nl_type_bigint(), 1);
    items[1] = nl_value_null(nl_type_bigint());
    items[2] = nl_value_string(NL_STR("key"));
    items[3] = nl_value_string(NL_STR("a value of more than twelve bytes"));
    nl_field fields[] = {{.name = NL_STR("a"), .type = nl_type_bigint(), .is_nullable = true}, {.name = NL_STR("b"), .type = nl_type_bigint(), .is_nullable = true}};
    const nl_type *array = nl_type_array(arena, nl_type_bigint(), true), *map = nl_type_map(arena, nl_type_string(), nl_type_string(), true);
    const nl_type *structure = nl_type_struct(arena, fields, 2), *wide = nl_type_decimal(38, 2), *nested = nl_type_array(arena, array, true);
    const nl_type *interval = nl_type_of(NL_TYPE_INTERVAL);
    static nl_value inner[2];
    inner[0] = (nl_value){.type = array, .list = {.items = items, .count = 2}};
    inner[1] = (nl_value){.type = array, .list = {.items = items, .count = 0}};
    const nl_value firsts[] = {
        nl_value_boolean(true), nl_value_int(nl_type_of(NL_TYPE_TINYINT), -3), nl_value_int(nl_type_of(NL_TYPE_SMALLINT), 300), nl_value_int(nl_type_int(), -70000),
        nl_value_int(nl_type_bigint(), 1ll << 40), {.type = nl_type_of(NL_TYPE_FLOAT), .real = 1.5}, {.type = nl_type_double(), .real = -0.0},
        {.type = wide, .decimal = (nl_int128)1 << 100}, items[3], {.type = interval, .interval = {1, 2, 3}}, {.type = array, .list = {.items = items, .count = 2}},
        {.type = map, .list = {.items = items + 2, .count = 2}}, {.type = structure, .list = {.items = items, .count = 2}}, {.type = nested, .list = {.items = inner, .count = 2}},
    };
    uint32_t count = NL_COUNT(firsts);
    for (uint32_t i = 0; i < count; i++) {
        nl_value rows[] = {firsts[i], nl_value_null(firsts[i].type), firsts[i]};
        types[i] = firsts[i].type;
        columns[i] = column_from(types[i], rows, 3);
    }
    return count;
}

static void test_every_type_comes_back(void **state)
{
    (void)state;
    const nl_type *types[16];
    nl_batch batch = {0}, back = {0};
    expect_success(nl_batch_init(&batch, 14, 3));
    assert_int_equal(sample_columns(types, batch.columns), 14);
    nl_spill *spill = NULL;
    expect_success(nl_spill_new(NL_STR("/tmp"), types, 14, &spill));
    expect_success(nl_spill_write(spill, &batch, memory));
    expect_success(nl_spill_write(spill, &batch, memory));
    assert_int_equal(nl_spill_chunk_count(spill), 2);
    assert_int_equal(nl_spill_row_count(spill), 6);
    expect_success(nl_spill_read(spill, 1, memory, &back));
    for (uint32_t i = 0; i < 14; i++)
        for (uint32_t row = 0; row < 3; row++)
            assert_string_equal(text_of(&back.columns[i], row), text_of(&batch.columns[i], row));
    nl_batch_fini(&batch);
    nl_batch_fini(&back);
    nl_spill_free(spill);
}

static void test_small_chunks_come_back_together(void **state)
{
    (void)state;
    const nl_type *types[16];
    nl_batch batch = {0};
    expect_success(nl_batch_init(&batch, 14, 3));
    sample_columns(types, batch.columns);
    nl_spill *spill = NULL;
    expect_success(nl_spill_new(NL_STR("/tmp"), types, 14, &spill));
    for (uint32_t i = 0; i < 5; i++) expect_success(nl_spill_write(spill, &batch, memory));
    uint32_t chunk = 0;
    const uint32_t sizes[] = {6, 6, 3}; /* seven rows are two chunks of three */
    for (uint32_t i = 0; i < NL_COUNT(sizes); i++) {
        nl_batch back = {0};
        expect_success(nl_spill_read_some(spill, 7, memory, &chunk, &back));
        assert_int_equal(back.row_count, sizes[i]);
        for (uint32_t column = 0; column < 14; column++)
            for (uint32_t row = 0; row < sizes[i]; row++)
                assert_string_equal(text_of(&back.columns[column], row), text_of(&batch.columns[column], row % 3));
        nl_batch_fini(&back);
    }
    assert_int_equal(chunk, 5);
    chunk = 4;
    nl_batch one = {0};
    expect_success(nl_spill_read_some(spill, 1, memory, &chunk, &one)); /* at least one chunk */
    assert_int_equal(one.row_count, 3);
    nl_batch_fini(&one);
    nl_batch_fini(&batch);
    nl_spill_free(spill);
}

static void test_only_live_rows_are_written_and_repetition_is_packed(void **state)
{
    (void)state;
    const nl_type *types[] = {nl_type_bigint()};
    nl_batch batch = {0}, back = {0};
    nl_spill *spill = NULL;
    expect_success(nl_batch_init(&batch, 1, 2000));
    expect_success(nl_vector_new_flat(&batch.columns[0], nl_type_bigint(), 2000, memory));
    ((int64_t *)nl_vector_values(&batch.columns[0]))[1001] = 7;
    expect_success(nl_buffer_new(memory, 1000 * sizeof(uint32_t), false, &batch.selection));
    for (uint32_t i = 0; i < 1000; i++)
        ((uint32_t *)(void *)batch.selection->data)[i] = 2 * i + 1;
    batch.is_selective = true;
    batch.selected_count = 1000;
    expect_success(nl_spill_new(NL_STR("/tmp"), types, 1, &spill));
    expect_success(nl_spill_write(spill, &batch, memory));
    assert_true(nl_spill_bytes(spill) < 1000);
    expect_success(nl_spill_read(spill, 0, memory, &back));
    assert_int_equal(back.row_count, 1000);
    assert_int_equal(((const int64_t *)back.columns[0].values)[500], 7);
    nl_batch_fini(&batch);
    nl_batch_fini(&back);
    nl_spill_free(spill);
}

static void test_a_missing_folder_is_named(void **state)
{
    (void)state;
    nl_spill *spill = NULL;
    nl_status status = nl_spill_new(NL_STR("/nowhere/at/all"), NULL, 0, &spill);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_PATH_NOT_FOUND);
    assert_string_equal(nl_error_param(status, "path"), "/nowhere/at/all");
    nl_error_free(status);
}

static void test_rows_give_back_what_was_scattered(void **state)
{
    (void)state;
    const nl_type *types[16];
    nl_vector columns[16] = {{0}}, back[16] = {{0}};
    uint32_t count = sample_columns(types, columns);
    nl_row_layout layout;
    nl_row_store store;
    nl_row_layout_init(&layout, arena, types, count, 8);
    nl_row_store_init(&store, memory, layout.row_bytes);
    uint8_t *rows[4];
    expect_success(nl_row_store_add(&store, 3, rows));
    expect_success(nl_rows_scatter(&layout, 0, columns, count, NL_ALL_ROWS(3), rows, &store, false));
    rows[3] = NULL; /* gives nulls */
    expect_success(nl_rows_gather(&layout, 0, count, rows, 4, store.heap, memory, back));
    nl_row_store_clear(&store); /* the heap lives on with the vectors */
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t row = 0; row < 3; row++)
            assert_string_equal(text_of(&back[i], row), text_of(&columns[i], row));
        assert_string_equal(text_of(&back[i], 3), "NULL");
        nl_vector_fini(&columns[i]);
        nl_vector_fini(&back[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_type_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_small_chunks_come_back_together, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_live_rows_are_written_and_repetition_is_packed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_missing_folder_is_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_give_back_what_was_scattered, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
