#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "format/parquet/test_file.h"

static nl_parquet_reader *open_reader(const open_file *file, const nl_type *type)
{
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = NULL;
    must(nl_parquet_reader_open(file->file, file->footer, type, &options, NULL, &reader));
    return reader;
}

static void test_bounds_of_a_row_group_are_values_of_the_wanted_type(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds bounds;
    open_fixture("page_index", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 0), file.arena, &bounds));
    assert_true(bounds.has_min && bounds.has_max && bounds.is_min_exact && bounds.has_null_count);
    assert_int_equal(bounds.min.integer, 0);
    assert_int_equal(bounds.max.integer, 99);
    assert_int_equal(bounds.null_count, 0);
    assert_int_equal(bounds.value_count, 400);
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 1), file.arena, &bounds));
    assert_true(nl_str_is(bounds.min.text, "word 0") && nl_str_is(bounds.max.text, "word 9"));
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 2), file.arena, &bounds));
    assert_true(signbit(bounds.min.real) && bounds.min.real == 0 && bounds.max.real == 399 / 8.0);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_bounds_follow_promotions(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds bounds;
    open_fixture("flat_required", &file);
    const nl_field fields[] = {{.name = NL_STR("i32"), .type = nl_type_bigint()}, {.name = NL_STR("f32"), .type = nl_type_double()},
                               {.name = NL_STR("d5"), .type = nl_type_decimal(20, 2)}};
    const nl_type *type = nl_type_struct(file.arena, fields, 3);
    nl_parquet_reader *reader = open_reader(&file, type);
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 0), file.arena, &bounds));
    assert_true(bounds.has_min && bounds.min.type == nl_type_bigint() && bounds.min.integer < 0);
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 1), file.arena, &bounds));
    assert_true(bounds.has_max && isinf(bounds.max.real));
    must(nl_parquet_chunk_bounds(reader, 0, nl_parquet_reader_leaf(reader, 2), file.arena, &bounds));
    assert_true(bounds.has_min && bounds.min.decimal < 0 && bounds.min.decimal > -100000);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_pages_have_bounds_and_rows(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds *pages = NULL;
    uint32_t page_count = 0;
    open_fixture("page_index", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    must(nl_parquet_page_bounds(reader, 0, nl_parquet_reader_leaf(reader, 0), file.arena, &pages, &page_count));
    assert_true(page_count > 2);
    uint64_t row = 0;
    for (uint32_t i = 0; i < page_count; i++) {
        assert_int_equal(pages[i].first_row, row);
        assert_true(pages[i].has_min && pages[i].has_max && pages[i].has_null_count);
        assert_int_equal(pages[i].min.integer, row / 4); /* the column holds row / 4 */
        row += pages[i].value_count;
        assert_int_equal(pages[i].max.integer, (row - 1) / 4);
    }
    assert_int_equal(row, 400);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_files_without_a_page_index_have_no_pages_to_prune(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds *pages = NULL;
    uint32_t page_count = 1;
    open_fixture("flat_zstd", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    must(nl_parquet_page_bounds(reader, 0, nl_parquet_reader_leaf(reader, 0), file.arena, &pages, &page_count));
    assert_int_equal(page_count, 0);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_times_in_int96_have_no_bounds(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds bounds;
    open_fixture("int96", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    must(nl_parquet_chunk_bounds(reader, 0, 0, file.arena, &bounds));
    assert_false(bounds.has_min || bounds.has_max);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_columns_of_nulls_are_known_to_be(void **state)
{
    (void)state;
    open_file file;
    nl_parquet_bounds bounds;
    open_fixture("flat_nulls", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    must(nl_parquet_chunk_bounds(reader, 0, 3, file.arena, &bounds));
    assert_true(bounds.is_all_null && bounds.null_count == 20 && !bounds.has_min);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static bool may_contain(nl_parquet_reader *reader, uint32_t column, const nl_value *value)
{
    bool answer = false;
    must(nl_parquet_bloom_check(reader, 0, nl_parquet_reader_leaf(reader, column), value, &answer));
    return answer;
}

static void test_bloom_filters_of_duckdb_rule_values_out(void **state)
{
    (void)state;
    open_file file;
    open_fixture("duckdb_bloom", &file);
    nl_parquet_reader *reader = open_reader(&file, file.type);
    uint32_t found = 0;
    uint32_t ruled_out = 0;
    for (int64_t i = 0; i < 40; i++) {
        const nl_value here = nl_value_int(nl_type_int(), i);
        const nl_value elsewhere = nl_value_int(nl_type_int(), i + 1000);
        const nl_value big = nl_value_int(nl_type_bigint(), i % 20 * 1000);
        const nl_value text = nl_value_string(nl_arena_f(file.arena, "name %d", (int)(i % 30)));
        const nl_value other = nl_value_string(nl_arena_f(file.arena, "nobody %d", (int)i));
        found += may_contain(reader, 0, &here) + may_contain(reader, 2, &big) + may_contain(reader, 1, &text);
        ruled_out += !may_contain(reader, 0, &elsewhere) + !may_contain(reader, 1, &other);
    }
    assert_true(nl_parquet_has_bloom(reader, 0, 0));
    assert_int_equal(found, 120);
    assert_true(ruled_out > 70);
    nl_parquet_reader_release(reader);
    close_file(&file);
}

static void test_own_bloom_filters_are_found_again(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_field fields[] = {{.name = NL_STR("a"), .type = nl_type_bigint(), .is_nullable = true, .field_id = 1},
                               {.name = NL_STR("b"), .type = nl_type_string(), .is_nullable = true, .field_id = 2}};
    const nl_type *type = nl_type_struct(arena, fields, 2);
    const nl_parquet_column_options columns[] = {{.field_id = 1, .has_bloom = true}, {.path = NL_STR("b"), .has_bloom = true, .bloom_ndv = 100}};
    const nl_parquet_write_options options = {.columns = columns, .column_count = 2, .dictionary_bytes = 300};
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    nl_batch batch = {0};
    nl_column_builder *numbers = NULL;
    nl_column_builder *texts = NULL;
    must(nl_column_builder_new(nl_type_bigint(), NULL, &numbers));
    must(nl_column_builder_new(nl_type_string(), NULL, &texts));
    for (int64_t i = 0; i < 500; i++) {
        must(nl_column_builder_i64(numbers, i * 3));
        must(nl_column_builder_str(texts, nl_arena_f(arena, "text %d", (int)(i % 10))));
    }
    must(nl_batch_init(&batch, 2, 500));
    must(nl_column_builder_finish(numbers, &batch.columns[0]));
    must(nl_column_builder_finish(texts, &batch.columns[1]));
    nl_column_builder_free(numbers);
    nl_column_builder_free(texts);
    must(nl_fs_create(fs, NL_STR("memory:/b.parquet"), &output));
    must(nl_parquet_writer_create(output, type, &options, NULL, &writer));
    must(nl_parquet_writer_append(writer, &batch));
    must(nl_parquet_writer_close(writer, arena, &written));
    nl_batch_fini(&batch);
    open_file file;
    open_path(fs, NL_STR("memory:/b.parquet"), &file);
    nl_parquet_reader *reader = open_reader(&file, type);
    uint32_t found = 0;
    uint32_t ruled_out = 0;
    for (int64_t i = 0; i < 500; i++) {
        const nl_value here = nl_value_int(nl_type_bigint(), i * 3);
        const nl_value elsewhere = nl_value_int(nl_type_bigint(), i * 3 + 1);
        found += may_contain(reader, 0, &here);
        ruled_out += !may_contain(reader, 0, &elsewhere);
    }
    const nl_value text = nl_value_string(NL_STR("text 9"));
    const nl_value other = nl_value_string(NL_STR("text 10"));
    assert_int_equal(found, 500);
    assert_true(ruled_out > 480);
    assert_true(may_contain(reader, 1, &text));
    assert_false(may_contain(reader, 1, &other));
    nl_parquet_reader_release(reader);
    close_file(&file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounds_of_a_row_group_are_values_of_the_wanted_type),
        cmocka_unit_test(test_bounds_follow_promotions),
        cmocka_unit_test(test_pages_have_bounds_and_rows),
        cmocka_unit_test(test_files_without_a_page_index_have_no_pages_to_prune),
        cmocka_unit_test(test_times_in_int96_have_no_bounds),
        cmocka_unit_test(test_columns_of_nulls_are_known_to_be),
        cmocka_unit_test(test_bloom_filters_of_duckdb_rule_values_out),
        cmocka_unit_test(test_own_bloom_filters_are_found_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
