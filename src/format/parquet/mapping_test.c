#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/mapping.h"
#include "format/parquet/rle.h"
#include "format/parquet/test_file.h"
#include "format/parquet/thrift.h"

static nl_field field_of(const char *name, const nl_type *type, int32_t id)
{
    return (nl_field){.name = nl_str_from(name), .type = type, .is_nullable = true, .field_id = id};
}

/* The first rows of a file read as `wanted`. */
static void read_as(const open_file *file, const nl_type *wanted, const nl_parquet_read_options *options, nl_builder *text)
{
    nl_parquet_reader *reader = NULL;
    nl_parquet_scan *scan = NULL;
    nl_batch batch = {0};
    must(nl_parquet_reader_open(file->file, file->footer, wanted, options, NULL, &reader));
    must(nl_parquet_scan_open(reader, 0, NULL, 0, NULL, &scan));
    must(nl_parquet_scan_next(scan, &batch));
    for (uint32_t i = 0; i < batch.row_count; i++) text_of_batch_row(&batch, i, text);
    nl_batch_fini(&batch);
    nl_parquet_scan_close(scan);
    nl_parquet_reader_release(reader);
}

/* A file of a few rows: id INT32 (1), d DECIMAL(5,1) (2), s STRUCT<x INT (4), y STRING (5)> (3), l LIST<FLOAT> (6 of 7). */
static void write_file(nl_fs *fs, nl_arena *arena)
{
    nl_field inner[] = {field_of("x", nl_type_int(), 4), field_of("y", nl_type_string(), 5)};
    nl_type list = *nl_type_array(arena, nl_type_of(NL_TYPE_FLOAT), true);
    nl_field element = list.children[0];
    element.field_id = 7;
    list.children = &element;
    const nl_field fields[] = {field_of("id", nl_type_int(), 1), field_of("d", nl_type_decimal(5, 1), 2),
                               field_of("s", nl_type_struct(arena, inner, 2), 3), field_of("l", &list, 6), field_of("day", nl_type_of(NL_TYPE_DATE), 8)};
    const nl_type *type = nl_type_struct(arena, fields, NL_COUNT(fields));
    nl_column_builder *builders[NL_COUNT(fields)];
    nl_batch batch = {0};
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    must(nl_batch_init(&batch, NL_COUNT(fields), 3));
    for (uint32_t c = 0; c < NL_COUNT(fields); c++) must(nl_column_builder_new(type->children[c].type, NULL, &builders[c]));
    for (int64_t i = 0; i < 2; i++) {
        must(nl_column_builder_i64(builders[0], i + 10));
        must(nl_column_builder_i128(builders[1], i * 15 - 5));
        must(nl_column_builder_i64(nl_column_builder_child(builders[2], 0), i));
        must(nl_column_builder_str(nl_column_builder_child(builders[2], 1), NL_STR("inner")));
        must(nl_column_builder_end_struct(builders[2]));
        must(nl_column_builder_f64(nl_column_builder_child(builders[3], 0), 0.5));
        must(nl_column_builder_end_list(builders[3], 1));
        must(nl_column_builder_i64(builders[4], i - 1));
    }
    for (uint32_t c = 0; c < NL_COUNT(fields); c++) {
        must(nl_column_builder_null(builders[c]));
        must(nl_column_builder_finish(builders[c], &batch.columns[c]));
        nl_column_builder_free(builders[c]);
    }
    must(nl_fs_create(fs, NL_STR("memory:/m.parquet"), &output));
    must(nl_parquet_writer_create(output, type, NULL, NULL, &writer));
    must(nl_parquet_writer_append(writer, &batch));
    must(nl_parquet_writer_close(writer, arena, &written));
    nl_batch_fini(&batch);
}

typedef struct fixture {
    nl_arena *arena;
    nl_fs *fs;
    open_file file;
    nl_builder text;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));
    f->arena = nl_arena_new(NULL);
    f->fs = nl_fs_memory_new();
    write_file(f->fs, f->arena);
    open_path(f->fs, NL_STR("memory:/m.parquet"), &f->file);
    nl_builder_init(&f->text, 1 << 20);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    nl_builder_fini(&f->text);
    close_file(&f->file);
    nl_fs_release(f->fs);
    nl_arena_free(f->arena);
    free(f);
    return 0;
}

static const nl_parquet_read_options by_id = {.match = NL_PARQUET_MATCH_FIELD_ID};

static void test_columns_are_found_by_id_whatever_their_names(void **state)
{
    fixture *f = *state;
    const nl_field inner[] = {field_of("renamed", nl_type_string(), 5)};
    const nl_field fields[] = {field_of("other", nl_type_struct(f->arena, inner, 1), 3), field_of("key", nl_type_int(), 1)};
    read_as(&f->file, nl_type_struct(f->arena, fields, 2), &by_id, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[[\"inner\"], 10]\n[[\"inner\"], 11]\n[null, null]\n");
}

static void test_types_are_promoted(void **state)
{
    fixture *f = *state;
    const nl_field fields[] = {field_of("id", nl_type_bigint(), 1), field_of("d", nl_type_decimal(20, 3), 2),
                               field_of("l", nl_type_array(f->arena, nl_type_double(), true), 6), field_of("day", nl_type_of(NL_TYPE_TIMESTAMP_NTZ), 8)};
    read_as(&f->file, nl_type_struct(f->arena, fields, 4), &by_id, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[10, -500, [0.5], -86400000000]\n[11, 1000, [0.5], 0]\n[null, null, null, null]\n");
}

static bool seventeen(void *argument, const nl_field *field, const nl_value **value)
{
    *value = argument;
    return field->type->id == NL_TYPE_INT;
}

static void test_missing_columns_come_as_nulls_or_defaults(void **state)
{
    fixture *f = *state;
    nl_value value = nl_value_int(nl_type_int(), 17);
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_FIELD_ID, .missing_value_of = seventeen, .argument = &value};
    const nl_field inner[] = {field_of("new", nl_type_int(), 40), field_of("gone", nl_type_string(), 41)};
    const nl_field fields[] = {field_of("s", nl_type_struct(f->arena, inner, 2), 3), field_of("n", nl_type_int(), 42),
                               field_of("t", nl_type_string(), 43), field_of("void", nl_type_of(NL_TYPE_NULL), 44)};
    nl_parquet_reader *reader = NULL;
    const nl_type *type = nl_type_struct(f->arena, fields, 4);
    read_as(&f->file, type, &options, &f->text);
    /* The struct's own nulls are still the file's, though none of its wanted fields is there. */
    assert_string_equal(nl_builder_c(&f->text), "[[17, null], 17, null, null]\n[[17, null], 17, null, null]\n[null, 17, null, null]\n");
    must(nl_parquet_reader_open(f->file.file, f->file.footer, type, &options, NULL, &reader));
    assert_non_null(nl_parquet_reader_node(reader, 0));
    assert_null(nl_parquet_reader_node(reader, 1));
    assert_int_equal(nl_parquet_reader_leaf(reader, 1), NL_PARQUET_NO_LEAF);
    nl_parquet_reader_release(reader);
}

static void test_names_match_with_and_without_case(void **state)
{
    fixture *f = *state;
    const nl_field fields[] = {field_of("ID", nl_type_int(), 0)};
    const nl_type *type = nl_type_struct(f->arena, fields, 1);
    const nl_parquet_read_options exact = {.match = NL_PARQUET_MATCH_NAME};
    const nl_parquet_read_options folded = {.match = NL_PARQUET_MATCH_NAME_NOCASE};
    read_as(&f->file, type, &exact, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[null]\n[null]\n[null]\n");
    nl_builder_clear(&f->text);
    read_as(&f->file, type, &folded, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[10]\n[11]\n[null]\n");
}

static int32_t id_by_place(void *argument, const nl_parquet_node *node)
{
    (void)argument;
    return node->parent != NULL && node->parent->parent == NULL ? (int32_t)node->child_index + 101 : 0;
}

static void test_ids_may_come_from_a_name_mapping(void **state)
{
    fixture *f = *state;
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_FIELD_ID, .field_id_of = id_by_place};
    const nl_field fields[] = {field_of("x", nl_type_int(), 101)};
    read_as(&f->file, nl_type_struct(f->arena, fields, 1), &options, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[10]\n[11]\n[null]\n");
}

static void test_types_that_do_not_fit_are_refused_by_name(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *name;
        nl_type_id wanted;
    } rows[] = {{"id", NL_TYPE_STRING}, {"d", NL_TYPE_BIGINT}, {"s", NL_TYPE_INT}, {"day", NL_TYPE_INT}};
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_field fields[] = {field_of(rows[i].name, nl_type_of(rows[i].wanted), 0)};
        nl_parquet_reader *reader = NULL;
        nl_status status = nl_parquet_reader_open(f->file.file, f->file.footer, nl_type_struct(f->arena, fields, 1), &options, NULL, &reader);
        assert_non_null(status);
        assert_int_equal(nl_error_condition(status), NL_COND_FAILED_READ_FILE__PARQUET_COLUMN_DATA_TYPE_MISMATCH);
        assert_non_null(strstr(nl_error_param(status, "column"), rows[i].name));
        nl_error_free(status);
    }
    const nl_field narrow[] = {field_of("d", nl_type_decimal(4, 1), 0)};
    nl_parquet_reader *reader = NULL;
    must_fail(nl_parquet_reader_open(f->file.file, f->file.footer, nl_type_struct(f->arena, narrow, 1), &options, NULL, &reader),
              NL_COND_FAILED_READ_FILE__PARQUET_COLUMN_DATA_TYPE_MISMATCH);
}

/* ---- Old list layouts, in a file made by hand: nobody writes them any more ---- */

static void put_node(nl_builder *out, const char *name, int32_t repetition, int32_t children, int32_t converted)
{
    int16_t last = 0;
    if (children == 0) nl_thrift_put_i32(out, &last, 1, NL_PARQUET_INT32);
    if (repetition >= 0) nl_thrift_put_i32(out, &last, 3, repetition);
    nl_thrift_put_str(out, &last, 4, nl_str_from(name));
    if (children > 0) nl_thrift_put_i32(out, &last, 5, children);
    if (converted >= 0) nl_thrift_put_i32(out, &last, 6, converted);
    nl_thrift_end(out);
}

static void put_level_run(nl_builder *out, const uint32_t *levels, uint32_t count, uint32_t width)
{
    uint8_t bytes[64];
    const uint32_t length = (uint32_t)nl_rle_encode(levels, count, width, bytes);
    nl_append(out, (nl_str){(const char *)&length, sizeof(length)});
    nl_append(out, (nl_str){(const char *)bytes, length});
}

/* One column chunk: a v1 page of INT32 values 1, 2, 3 … with the given levels. */
static uint64_t put_page(nl_builder *file, const uint32_t *repetition, const uint32_t *definition, uint32_t count, uint32_t definition_max)
{
    nl_builder body;
    int16_t last = 0;
    int16_t inner = 0;
    const uint64_t start = file->length;
    nl_builder_init(&body, 1000);
    put_level_run(&body, repetition, count, 1);
    put_level_run(&body, definition, count, nl_rle_width_for(definition_max));
    int32_t value = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (definition[i] < definition_max) continue;
        value++;
        nl_append(&body, (nl_str){(const char *)&value, sizeof(value)});
    }
    nl_thrift_put_i32(file, &last, 1, 0);
    nl_thrift_put_i32(file, &last, 2, (int32_t)body.length);
    nl_thrift_put_i32(file, &last, 3, (int32_t)body.length);
    nl_thrift_put_struct(file, &last, 5);
    nl_thrift_put_i32(file, &inner, 1, (int32_t)count);
    nl_thrift_put_i32(file, &inner, 2, NL_PARQUET_PLAIN);
    nl_thrift_put_i32(file, &inner, 3, NL_PARQUET_RLE);
    nl_thrift_put_i32(file, &inner, 4, NL_PARQUET_RLE);
    nl_thrift_end(file);
    nl_thrift_end(file);
    nl_append(file, nl_builder_str(&body));
    nl_builder_fini(&body);
    return start;
}

static void put_chunk(nl_builder *out, uint64_t start, uint64_t end, uint32_t count)
{
    int16_t last = 0;
    int16_t inner = 0;
    nl_thrift_put_i64(out, &last, 2, (int64_t)start);
    nl_thrift_put_struct(out, &last, 3);
    nl_thrift_put_i32(out, &inner, 1, NL_PARQUET_INT32);
    nl_thrift_put_i32(out, &inner, 4, NL_PARQUET_UNCOMPRESSED);
    nl_thrift_put_i64(out, &inner, 5, count);
    nl_thrift_put_i64(out, &inner, 6, (int64_t)(end - start));
    nl_thrift_put_i64(out, &inner, 7, (int64_t)(end - start));
    nl_thrift_put_i64(out, &inner, 9, (int64_t)start);
    nl_thrift_end(out);
    nl_thrift_end(out);
}

static void make_old_file(nl_fs *fs)
{
    /* Rows: [1, 2], [], null (where the layout can say so). */
    static const uint32_t repetition[] = {0, 1, 0, 0};
    static const uint32_t two_levels[] = {2, 2, 1, 0};   /* optional group, repeated int32 */
    static const uint32_t tuple_levels[] = {3, 3, 1, 0}; /* optional group, repeated group, optional int32 */
    static const uint32_t bare_levels[] = {1, 1, 0, 0};  /* repeated int32 alone */
    nl_builder file;
    nl_builder footer;
    int16_t last = 0;
    nl_builder_init(&file, 10000);
    nl_builder_init(&footer, 10000);
    nl_append_c(&file, "PAR1");
    const uint64_t starts[] = {put_page(&file, repetition, two_levels, 4, 2), put_page(&file, repetition, tuple_levels, 4, 3),
                               put_page(&file, repetition, tuple_levels, 4, 3), put_page(&file, repetition, bare_levels, 4, 1), file.length};
    nl_thrift_put_i32(&footer, &last, 1, 1);
    nl_thrift_put_list(&footer, &last, 2, NL_THRIFT_STRUCT, 10);
    put_node(&footer, "schema", -1, 4, -1);
    put_node(&footer, "two", 1, 1, 3);
    put_node(&footer, "array", 2, 0, -1);
    put_node(&footer, "tuple", 1, 1, 3);
    put_node(&footer, "tuple_tuple", 2, 1, -1);
    put_node(&footer, "v", 1, 0, -1);
    put_node(&footer, "bag", 1, 1, 3);
    put_node(&footer, "bag", 2, 1, -1);
    put_node(&footer, "array_element", 1, 0, -1);
    put_node(&footer, "bare", 2, 0, -1);
    nl_thrift_put_i64(&footer, &last, 3, 3);
    nl_thrift_put_list(&footer, &last, 4, NL_THRIFT_STRUCT, 1);
    int16_t group = 0;
    nl_thrift_put_list(&footer, &group, 1, NL_THRIFT_STRUCT, 4);
    for (uint32_t i = 0; i < 4; i++) put_chunk(&footer, starts[i], starts[i + 1], 4);
    nl_thrift_put_i64(&footer, &group, 2, 0);
    nl_thrift_put_i64(&footer, &group, 3, 3);
    nl_thrift_end(&footer);
    nl_thrift_end(&footer);
    nl_append(&file, nl_builder_str(&footer));
    const uint32_t length = (uint32_t)footer.length;
    nl_append(&file, (nl_str){(const char *)&length, sizeof(length)});
    nl_append_c(&file, "PAR1");
    must(nl_fs_write_all(fs, NL_STR("memory:/old.parquet"), (nl_bytes){(const uint8_t *)file.data, file.length}));
    nl_builder_fini(&file);
    nl_builder_fini(&footer);
}

static void test_old_list_layouts_are_understood(void **state)
{
    fixture *f = *state;
    open_file old;
    make_old_file(f->fs);
    open_path(f->fs, NL_STR("memory:/old.parquet"), &old);
    const nl_str type = nl_type_name(f->arena, old.type);
    assert_true(nl_str_is(type, "struct<two:array<int>,tuple:array<struct<v:int>>,bag:array<int>,bare:array<int>>"));
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    read_as(&old, old.type, &options, &f->text);
    assert_string_equal(nl_builder_c(&f->text), "[[1, 2], [[1], [2]], [1, 2], [1, 2]]\n[[], [], [], []]\n[null, null, null, []]\n");
    close_file(&old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_columns_are_found_by_id_whatever_their_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types_are_promoted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing_columns_come_as_nulls_or_defaults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_match_with_and_without_case, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_ids_may_come_from_a_name_mapping, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_types_that_do_not_fit_are_refused_by_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_old_list_layouts_are_understood, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
