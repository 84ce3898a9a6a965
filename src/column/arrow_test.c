/* Export and import must give the rows back for every type and encoding; other producers' layouts are built by hand.
 * The export was also loaded by pyarrow once (RecordBatch._import_from_c), every column comparing equal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "column/arrow.h"
#include "column/test_vectors.h"

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

static void round_trip(const nl_type *struct_type, const nl_batch *batch)
{
    nl_memory *memory = nl_memory_new(NULL, "test", SIZE_MAX / 2);
    struct ArrowSchema schema;
    struct ArrowArray array;
    const nl_type *back_type;
    nl_batch back;
    must(nl_arrow_export_schema(struct_type, &schema));
    must(nl_arrow_export_batch(struct_type, batch, memory, &array));
    must(nl_arrow_import_schema(&schema, arena, &back_type));
    const nl_type *only = struct_type->children[0].type; /* Arrow knows no interval ranges */
    bool is_interval = only->id == NL_TYPE_INTERVAL_DT || only->id == NL_TYPE_INTERVAL_YM;
    if (!is_interval && !nl_type_equal_with_nullability(struct_type, back_type))
        fail_msg("%s became %s", nl_type_name(arena, struct_type).data, nl_type_name(arena, back_type).data);
    must(nl_arrow_import_batch(&array, &schema, back_type, memory, &back));
    assert_null(array.release);
    nl_selection live = nl_batch_selection(batch);
    assert_int_equal(back.row_count, live.count);
    for (uint32_t column = 0; column < back.column_count; column++) {
        for (uint32_t i = 0; i < live.count; i++) {
            if (!nl_vector_row_equal(&back.columns[column], i, &batch->columns[column], nl_selection_row(live, i)))
                fail_msg("%s, row %u", nl_type_name(arena, struct_type).data, i);
        }
    }
    nl_batch_fini(&back);
    schema.release(&schema);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_every_type_comes_back(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 9, 64, 200};
    const nl_type *types[TEST_TYPES_MAX];
    uint32_t type_count = test_types(arena, types);
    for (uint32_t type = 0; type < type_count; type++) {
        nl_field field = {.name = NL_STR("x"), .type = types[type], .is_nullable = true};
        const nl_type *struct_type = nl_type_struct(arena, &field, 1);
        for (uint32_t i = 0; i < 3 * NL_COUNT(lengths) * 3; i++) {
            nl_batch batch;
            uint32_t length = lengths[i / 3 % NL_COUNT(lengths)];
            must(nl_batch_init(&batch, 1, length));
            batch.columns[0] = test_vector(types[type], (nl_encoding)(i % 3), length, i / 3 / NL_COUNT(lengths) * 50);
            round_trip(struct_type, &batch);
            nl_batch_fini(&batch);
        }
    }
}

static void test_only_live_rows_are_exported(void **state)
{
    (void)state;
    nl_field fields[] = {{.name = NL_STR("a"), .type = nl_type_bigint(), .is_nullable = true},
                         {.name = NL_STR("b"), .type = nl_type_string()}};
    const nl_type *struct_type = nl_type_struct(arena, fields, 2);
    nl_batch batch;
    must(nl_batch_init(&batch, 2, 100));
    batch.columns[0] = test_vector(nl_type_bigint(), NL_FLAT, 100, 30);
    batch.columns[1] = test_vector(nl_type_string(), NL_DICTIONARY, 100, 0);
    must(nl_buffer_new(NULL, 400, false, &batch.selection));
    batch.is_selective = true;
    for (uint32_t row = 3; row < 100; row += 5)
        ((uint32_t *)(void *)batch.selection->data)[batch.selected_count++] = row;
    round_trip(struct_type, &batch);
    nl_batch_fini(&batch);
}

/* A struct array around one hand-made column. */
static int released;

static void count_release(struct ArrowArray *array)
{
    released++;
    array->release = NULL;
}

static nl_batch import_one(struct ArrowSchema *column_schema, struct ArrowArray *column, const nl_type **type)
{
    static const void *no_buffers[1];
    struct ArrowSchema *schema_children[] = {column_schema};
    struct ArrowArray *children[] = {column};
    struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = schema_children};
    struct ArrowArray array = {.length = column->length, .n_buffers = 1, .buffers = no_buffers, .n_children = 1,
                               .children = children, .release = count_release};
    nl_batch batch = {0};
    must(nl_arrow_import_schema(&schema, arena, type));
    nl_status status = nl_arrow_import_batch(&array, &schema, *type, NULL, &batch);
    if (status) {
        assert_int_equal(nl_error_condition(status), NL_COND_NILAS_ILLEGAL_ARGUMENT);
        nl_error_free(status);
    }
    return batch;
}

static nl_str text_at(const nl_vector *vector, uint32_t row)
{
    nl_value value = nl_vector_value(vector, row, arena);
    return value.is_null ? NL_STR("(null)") : value.text;
}

static void test_dictionaries_with_offsets_and_nulls_are_read(void **state)
{
    (void)state;
    const int32_t offsets[] = {0, 3, 3, 30};
    const uint8_t value_bits[] = {0x5}; /* the second value is null */
    const void *value_buffers[] = {value_bits, offsets, "abca text that is not inline!"};
    struct ArrowArray dictionary = {.length = 3, .null_count = 1, .n_buffers = 3, .buffers = value_buffers};
    struct ArrowSchema values = {.format = "u", .name = ""};
    const int8_t indices[] = {99, 2, 0, 1, 77, 2};
    const uint8_t bits[] = {0x2e}; /* place 4 is null: its index may be anything */
    const void *buffers[] = {bits, indices};
    struct ArrowArray column = {.length = 5, .offset = 1, .null_count = -1, .n_buffers = 2, .buffers = buffers,
                                .dictionary = &dictionary};
    struct ArrowSchema schema = {.format = "c", .name = "d", .dictionary = &values, .flags = ARROW_FLAG_NULLABLE};
    const nl_type *type;
    released = 0;
    nl_batch batch = import_one(&schema, &column, &type);
    assert_int_equal(batch.row_count, 5);
    const char *expected[] = {"a text that is not inline!", "abc", "(null)", "(null)", "a text that is not inline!"};
    for (uint32_t row = 0; row < 5; row++)
        assert_true(nl_str_starts(text_at(&batch.columns[0], row), nl_str_from(expected[row])));
    assert_int_equal(released, 0); /* the strings keep the array */
    nl_batch_fini(&batch);
    assert_int_equal(released, 1);
    column.n_buffers = 2;
    ((int8_t *)(uintptr_t)indices)[1] = 3;
    batch = import_one(&schema, &column, &type);
    assert_null(batch.columns);
    assert_int_equal(released, 2);
}

static void test_view_layouts_are_read_and_checked(void **state)
{
    (void)state;
    struct {
        int32_t length;
        char text[12];
    } views[] = {{2, "hi, garbage"}, {15, "long"}, {0, ""}};
    int32_t place[2] = {0, 4};
    memcpy(views[1].text + 4, place, 8);
    const int64_t sizes[] = {19};
    const void *buffers[] = {NULL, views, "....long text value", sizes};
    struct ArrowArray column = {.length = 3, .n_buffers = 4, .buffers = buffers};
    struct ArrowSchema schema = {.format = "vu", .name = "v"};
    const nl_type *type;
    nl_batch batch = import_one(&schema, &column, &type);
    assert_true(nl_str_is(text_at(&batch.columns[0], 0), "hi"));
    assert_true(nl_str_is(text_at(&batch.columns[0], 1), "long text value"));
    const nl_string_view *read = batch.columns[0].values;
    const nl_string_view clean = nl_view_of(NL_STR("hi"));
    assert_memory_equal(&read[0], &clean, sizeof clean);
    nl_batch_fini(&batch);
    place[1] = 5;
    memcpy(views[1].text + 4, place, 8);
    assert_null(import_one(&schema, &column, &type).columns);
}

static void test_foreign_number_formats_are_converted(void **state)
{
    (void)state;
    const uint64_t u64[] = {0, UINT64_MAX};
    const uint16_t half[] = {0x3c00, 0xc000};
    const int64_t nanos[] = {-1, 1999};
    const int64_t millis[] = {-1, 86400000};
    struct {
        const char *format;
        const void *values;
        nl_type_id id;
        int64_t first, second;
    } cases[] = {
        {"S", half, NL_TYPE_INT, 0x3c00, 0xc000},   {"tsn:UTC", nanos, NL_TYPE_TIMESTAMP, -1, 1},
        {"tsm:", millis, NL_TYPE_TIMESTAMP_NTZ, -1000, 86400000000}, {"tdm", millis, NL_TYPE_DATE, -1, 1},
        {"tDm", millis, NL_TYPE_INTERVAL_DT, -1000, 86400000000},
    };
    const nl_type *type;
    for (uint32_t i = 0; i < NL_COUNT(cases); i++) {
        const void *buffers[] = {NULL, cases[i].values};
        struct ArrowArray column = {.length = 2, .n_buffers = 2, .buffers = buffers};
        struct ArrowSchema schema = {.format = cases[i].format, .name = "n"};
        nl_batch batch = import_one(&schema, &column, &type);
        assert_int_equal(type->children[0].type->id, cases[i].id);
        assert_int_equal(nl_vector_value(&batch.columns[0], 0, arena).integer, cases[i].first);
        assert_int_equal(nl_vector_value(&batch.columns[0], 1, arena).integer, cases[i].second);
        nl_batch_fini(&batch);
    }
    const void *buffers[] = {NULL, u64};
    struct ArrowArray column = {.length = 2, .n_buffers = 2, .buffers = buffers};
    struct ArrowSchema schema = {.format = "L", .name = "n"};
    nl_batch batch = import_one(&schema, &column, &type);
    assert_true(nl_vector_value(&batch.columns[0], 1, arena).decimal == (nl_int128)UINT64_MAX);
    nl_batch_fini(&batch);
    buffers[1] = half;
    schema.format = "e";
    batch = import_one(&schema, &column, &type);
    assert_true(nl_vector_value(&batch.columns[0], 0, arena).real == 1.0);
    assert_true(nl_vector_value(&batch.columns[0], 1, arena).real == -2.0);
    nl_batch_fini(&batch);
}

static void test_descending_offsets_are_refused(void **state)
{
    (void)state;
    const int32_t offsets[] = {0, 3, 1};
    const void *buffers[] = {NULL, offsets, "abc"};
    struct ArrowArray column = {.length = 2, .n_buffers = 3, .buffers = buffers};
    struct ArrowSchema schema = {.format = "z", .name = "b"};
    const nl_type *type;
    assert_null(import_one(&schema, &column, &type).columns);
}

static void test_run_ends_and_fixed_lists_are_expanded(void **state)
{
    (void)state;
    const int16_t ends[] = {2, 5};
    const int32_t numbers[] = {7, 8, 9, 10, 11, 12};
    const void *end_buffers[] = {NULL, ends};
    const void *number_buffers[] = {NULL, numbers};
    struct ArrowArray end_array = {.length = 2, .n_buffers = 2, .buffers = end_buffers};
    struct ArrowArray number_array = {.length = 6, .n_buffers = 2, .buffers = number_buffers};
    struct ArrowSchema end_schema = {.format = "s", .name = "run_ends"};
    struct ArrowSchema number_schema = {.format = "i", .name = "values"};
    struct ArrowArray *children[] = {&end_array, &number_array};
    struct ArrowSchema *schema_children[] = {&end_schema, &number_schema};
    struct ArrowArray column = {.length = 4, .offset = 1, .n_buffers = 0, .n_children = 2, .children = children};
    struct ArrowSchema schema = {.format = "+r", .name = "r", .n_children = 2, .children = schema_children};
    const nl_type *type;
    nl_batch batch = import_one(&schema, &column, &type);
    const int32_t expected[] = {7, 8, 8, 8};
    assert_memory_equal(batch.columns[0].values, expected, sizeof expected);
    nl_batch_fini(&batch);
    const void *no_buffers[] = {NULL};
    struct ArrowArray list = {.length = 2, .offset = 1, .n_buffers = 1, .buffers = no_buffers, .n_children = 1,
                              .children = children + 1};
    struct ArrowSchema list_schema = {.format = "+w:2", .name = "l", .n_children = 1,
                                      .children = schema_children + 1};
    batch = import_one(&list_schema, &list, &type);
    nl_value value = nl_vector_value(&batch.columns[0], 1, arena);
    assert_int_equal(value.list.count, 2);
    assert_int_equal(value.list.items[0].integer, 11);
    nl_batch_fini(&batch);
}

static void test_types_without_a_counterpart_are_refused(void **state)
{
    (void)state;
    const char *formats[] = {"ttu", "+us:0,1", "d:10,-2", "d:40,2", "?", ""};
    for (uint32_t i = 0; i < NL_COUNT(formats); i++) {
        struct ArrowSchema column = {.format = formats[i], .name = "x"};
        struct ArrowSchema *children[] = {&column};
        struct ArrowSchema schema = {.format = "+s", .name = "", .n_children = 1, .children = children};
        const nl_type *type;
        nl_status status = nl_arrow_import_schema(&schema, arena, &type);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), NL_COND_NILAS_UNSUPPORTED);
        nl_error_free(status);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_type_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_only_live_rows_are_exported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dictionaries_with_offsets_and_nulls_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_view_layouts_are_read_and_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_foreign_number_formats_are_converted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_descending_offsets_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_run_ends_and_fixed_lists_are_expanded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types_without_a_counterpart_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
