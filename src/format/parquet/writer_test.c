#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "base/limits.h"
#include "format/parquet/test_file.h"

static uint32_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

static nl_int128 random_wide(int precision)
{
    nl_int128 value = 0;
    for (int i = 0; i < precision; i++) value = value * 10 + random_below(10);
    return random_below(2) ? value : -value;
}

/* `variety` values at most, so that small ones make dictionaries. */
static nl_status add_scalar(nl_column_builder *builder, const nl_type *type, uint32_t variety)
{
    const uint32_t pick = random_below(variety);
    char text[64];
    switch (type->physical) {
    case NL_PHYS_BOOL: return nl_column_builder_i64(builder, pick & 1);
    case NL_PHYS_I8: return nl_column_builder_i64(builder, (int8_t)(pick * 37));
    case NL_PHYS_I16: return nl_column_builder_i64(builder, (int16_t)(pick * 7919));
    case NL_PHYS_I32: return nl_column_builder_i64(builder, (int32_t)(pick * 2654435761u));
    case NL_PHYS_I64:
        if (type->id == NL_TYPE_DECIMAL) return nl_column_builder_i128(builder, random_wide(type->precision));
        return nl_column_builder_i64(builder, (int64_t)(pick * 0x9e3779b97f4a7c15ull));
    case NL_PHYS_I128: return nl_column_builder_i128(builder, random_wide(type->precision));
    case NL_PHYS_F32:
    case NL_PHYS_F64: return nl_column_builder_f64(builder, pick == 0 ? (double)NAN : pick == 1 ? -0.0 : (double)(float)((double)pick / 8.0 - 100.0));
    case NL_PHYS_STRING: {
        const int length = snprintf(text, sizeof(text), "%u%s", pick, pick % 3 ? "" : " with many more characters");
        return nl_column_builder_str(builder, (nl_str){text, pick == 5 ? 0 : (size_t)length});
    }
    case NL_PHYS_NONE:
    case NL_PHYS_INTERVAL:
    case NL_PHYS_LIST:
    case NL_PHYS_STRUCT: break;
    }
    return NULL;
}

/* True recursion over the test's types. */
static void add_random(nl_column_builder *builder, const nl_type *type, bool is_nullable, uint32_t nulls, uint32_t variety)
{
    if (type->id == NL_TYPE_NULL || (is_nullable && random_below(100) < nulls)) {
        must(nl_column_builder_null(builder));
    } else if (type->id == NL_TYPE_ARRAY || type->id == NL_TYPE_MAP) {
        const uint32_t count = random_below(4);
        for (uint32_t i = 0; i < count; i++) {
            for (uint32_t c = 0; c < type->child_count; c++) {
                const bool can_be_null = type->contains_null && (type->id == NL_TYPE_ARRAY || c == 1);
                add_random(nl_column_builder_child(builder, c), type->children[c].type, can_be_null, nulls, variety);
            }
        }
        must(nl_column_builder_end_list(builder, count));
    } else if (type->id == NL_TYPE_STRUCT) {
        for (uint32_t c = 0; c < type->child_count; c++)
            add_random(nl_column_builder_child(builder, c), type->children[c].type, type->children[c].is_nullable, nulls, variety);
        must(nl_column_builder_end_struct(builder));
    } else {
        must(add_scalar(builder, type, variety));
    }
}

static void make_batch(const nl_type *type, uint32_t row_count, uint32_t nulls, uint32_t variety, nl_batch *batch)
{
    must(nl_batch_init(batch, type->child_count, row_count));
    for (uint32_t c = 0; c < type->child_count; c++) {
        nl_column_builder *builder = NULL;
        must(nl_column_builder_new(type->children[c].type, NULL, &builder));
        for (uint32_t i = 0; i < row_count; i++) add_random(builder, type->children[c].type, type->children[c].is_nullable, nulls, variety);
        must(nl_column_builder_finish(builder, &batch->columns[c]));
        nl_column_builder_free(builder);
    }
}

static nl_field field_of(const char *name, const nl_type *type, bool is_nullable, int32_t id)
{
    return (nl_field){.name = nl_str_from(name), .type = type, .is_nullable = is_nullable, .field_id = id};
}

/* Every type, nullable and not, and nesting three deep. */
static const nl_type *wide_type(nl_arena *arena)
{
    static const nl_type_id ids[] = {NL_TYPE_BOOLEAN, NL_TYPE_TINYINT, NL_TYPE_SMALLINT, NL_TYPE_INT,       NL_TYPE_BIGINT,      NL_TYPE_FLOAT,
                                     NL_TYPE_DOUBLE,  NL_TYPE_STRING,  NL_TYPE_BINARY,   NL_TYPE_DATE, NL_TYPE_TIMESTAMP, NL_TYPE_TIMESTAMP_NTZ};
    nl_field fields[48];
    uint32_t count = 0;
    for (size_t i = 0; i < NL_COUNT(ids); i++) {
        for (int is_nullable = 0; is_nullable < 2; is_nullable++) {
            const nl_str name = nl_arena_f(arena, "c%u", count);
            fields[count] = field_of(name.data, nl_type_of(ids[i]), is_nullable != 0, (int32_t)count + 1);
            count++;
        }
    }
    fields[count++] = field_of("d9", nl_type_decimal(9, 2), true, 100);
    fields[count++] = field_of("d18", nl_type_decimal(18, 4), false, 101);
    fields[count++] = field_of("d38", nl_type_decimal(38, 10), true, 102);
    fields[count++] = field_of("d20", nl_type_decimal(20, 0), false, 103);
    fields[count++] = field_of("nothing", nl_type_of(NL_TYPE_NULL), true, 104);
    const nl_field inner[] = {field_of("x", nl_type_int(), false, 110), field_of("y", nl_type_string(), true, 111),
                              field_of("z", nl_type_array(arena, nl_type_bigint(), true), true, 112)};
    const nl_type *record = nl_type_struct(arena, inner, NL_COUNT(inner));
    fields[count++] = field_of("record", record, true, 120);
    fields[count++] = field_of("sure_record", record, false, 121);
    fields[count++] = field_of("list", nl_type_array(arena, nl_type_string(), false), false, 122);
    fields[count++] = field_of("lists", nl_type_array(arena, nl_type_array(arena, nl_type_int(), true), true), true, 123);
    fields[count++] = field_of("records", nl_type_array(arena, record, true), true, 124);
    fields[count++] = field_of("map", nl_type_map(arena, nl_type_string(), nl_type_double(), true), true, 125);
    fields[count++] = field_of("record_map", nl_type_map(arena, nl_type_int(), record, true), false, 126);
    return nl_type_struct(arena, fields, count);
}

typedef struct test_case {
    nl_parquet_write_options options;
    uint32_t rows, batches, nulls, variety;
} test_case;

static void append_expected(const nl_batch *batch, nl_builder *text)
{
    const nl_selection selection = nl_batch_selection(batch);
    for (uint32_t i = 0; i < selection.count; i++) text_of_batch_row(batch, nl_selection_row(selection, i), text);
}

/* Every other row dies. */
static void add_selection(nl_batch *batch)
{
    must(nl_buffer_new(NULL, batch->row_count * sizeof(uint32_t) + 4, false, &batch->selection));
    uint32_t *rows = (uint32_t *)(void *)batch->selection->data;
    for (uint32_t i = 0; i < batch->row_count; i += 2) rows[batch->selected_count++] = i;
    batch->is_selective = true;
}

static void read_all(const open_file *file, const nl_type *type, nl_builder *text)
{
    const nl_parquet_read_options options = {.match = NL_PARQUET_MATCH_NAME};
    nl_parquet_reader *reader = NULL;
    must(nl_parquet_reader_open(file->file, file->footer, type, &options, NULL, &reader));
    for (uint32_t g = 0; g < file->footer->row_group_count; g++) {
        nl_parquet_scan *scan = NULL;
        nl_batch batch = {0};
        must(nl_parquet_scan_open(reader, g, NULL, 0, NULL, &scan));
        for (must(nl_parquet_scan_next(scan, &batch)); batch.row_count > 0; must(nl_parquet_scan_next(scan, &batch))) {
            append_expected(&batch, text);
            nl_batch_fini(&batch);
        }
        nl_batch_fini(&batch);
        nl_parquet_scan_close(scan);
    }
    nl_parquet_reader_release(reader);
}

static void check_round_trip(const test_case *test)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_memory *memory = nl_memory_new(NULL, "writer", SIZE_MAX / 2);
    const nl_type *type = wide_type(arena);
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    nl_builder expected;
    nl_builder got;
    nl_builder_init(&expected, 1u << 30);
    nl_builder_init(&got, 1u << 30);
    must(nl_fs_create(fs, NL_STR("memory:/t.parquet"), &output));
    must(nl_parquet_writer_create(output, type, &test->options, memory, &writer));
    for (uint32_t b = 0; b < test->batches; b++) {
        nl_batch batch = {0};
        make_batch(type, test->rows, test->nulls, test->variety, &batch);
        if (b % 3 == 1) add_selection(&batch);
        append_expected(&batch, &expected);
        must(nl_parquet_writer_append(writer, &batch));
        nl_batch_fini(&batch);
    }
    must(nl_parquet_writer_close(writer, arena, &written));
    assert_int_equal(nl_memory_used(memory), 0);

    open_file file;
    open_path(fs, NL_STR("memory:/t.parquet"), &file);
    assert_int_equal(file.footer->row_count, written.row_count);
    assert_int_equal(nl_file_size(file.file), written.file_bytes);
    assert_int_equal(file.footer->row_group_count, written.split_offset_count);
    assert_true(nl_str_is(file.footer->root->name, "table"));
    read_all(&file, type, &got);
    const bool is_same = nl_str_equal(nl_builder_str(&expected), nl_builder_str(&got));
    assert_true(is_same);
    close_file(&file);
    nl_builder_fini(&expected);
    nl_builder_fini(&got);
    nl_fs_release(fs);
    nl_memory_release(memory);
    nl_arena_free(arena);
}

static void test_what_is_written_is_read_back(void **state)
{
    (void)state;
    static const nl_parquet_codec codecs[] = {NL_PARQUET_ZSTD,       NL_PARQUET_UNCOMPRESSED, NL_PARQUET_SNAPPY, NL_PARQUET_GZIP,
                                              NL_PARQUET_LZ4_HADOOP, NL_PARQUET_LZ4_RAW,      NL_PARQUET_BROTLI};
    random_state = 3;
    for (size_t i = 0; i < NL_COUNT(codecs); i++) {
        const test_case tests[] = {
            {.options = {.codec = codecs[i]}, .rows = 300, .batches = 3, .nulls = 20, .variety = 10},
            {.options = {.codec = codecs[i], .page_v2 = true, .page_rows_max = 50}, .rows = 200, .batches = 2, .nulls = 50, .variety = 1000000},
            {.options = {.codec = codecs[i], .no_dictionary = true, .row_group_rows_max = 100, .writes_checksums = true}, .rows = 90, .batches = 5, .nulls = 0, .variety = 5},
            {.options = {.codec = codecs[i], .dictionary_bytes = 200, .page_bytes = 500}, .rows = 400, .batches = 2, .nulls = 10, .variety = 200},
        };
        for (size_t t = 0; t < NL_COUNT(tests); t++) check_round_trip(&tests[t]);
    }
}

static void test_row_counts_at_every_border_are_kept(void **state)
{
    (void)state;
    static const uint32_t counts[] = {0, 1, 7, 8, 9, 63, 64, 65, 2047, 2048};
    random_state = 4;
    for (size_t i = 0; i < NL_COUNT(counts); i++) {
        for (uint32_t nulls = 0; nulls <= 100; nulls += 50) {
            const test_case test = {.options = {.codec = NL_PARQUET_UNCOMPRESSED, .page_rows_max = 700}, .rows = counts[i], .batches = 2, .nulls = nulls, .variety = 20};
            check_round_trip(&test);
        }
    }
}

static void test_a_pool_encodes_the_same_rows(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(3, "test");
    const test_case test = {.options = {.codec = NL_PARQUET_ZSTD, .pool = pool, .row_group_rows_max = 3000}, .rows = 1000, .batches = 8, .nulls = 10, .variety = 50};
    random_state = 5;
    check_round_trip(&test);
    nl_pool_free(pool);
}

/* ---- Metrics ---- */

typedef struct one_column {
    nl_arena *arena;
    nl_fs *fs;
    const nl_type *type;
    nl_column_builder *builder;
    nl_parquet_written written;
} one_column;

static void start_column(const nl_type *type, one_column *column)
{
    const nl_field field = {.name = NL_STR("c"), .type = type, .is_nullable = true, .field_id = 7};
    *column = (one_column){.arena = nl_arena_new(NULL), .fs = nl_fs_memory_new()};
    column->type = nl_type_struct(column->arena, &field, 1);
    must(nl_column_builder_new(type, NULL, &column->builder));
}

static nl_status write_column(one_column *column, const nl_parquet_write_options *options)
{
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_batch batch = {0};
    must(nl_batch_init(&batch, 1, nl_column_builder_length(column->builder)));
    must(nl_column_builder_finish(column->builder, &batch.columns[0]));
    must(nl_fs_create(column->fs, NL_STR("memory:/c.parquet"), &output));
    nl_status status = nl_parquet_writer_create(output, column->type, options, NULL, &writer);
    if (status == NULL) {
        status = nl_parquet_writer_append(writer, &batch);
        if (status == NULL)
            status = nl_parquet_writer_close(writer, column->arena, &column->written);
        else
            nl_parquet_writer_abort(writer);
    }
    nl_batch_fini(&batch);
    return status;
}

static void end_column(one_column *column)
{
    nl_column_builder_free(column->builder);
    nl_fs_release(column->fs);
    nl_arena_free(column->arena);
}

static void test_nan_is_counted_and_never_a_bound(void **state)
{
    (void)state;
    for (int has_dictionary = 0; has_dictionary < 2; has_dictionary++) {
        one_column column;
        const nl_parquet_write_options options = {.no_dictionary = !has_dictionary};
        start_column(nl_type_double(), &column);
        const double values[] = {NAN, 3.5, -2.0, NAN, 3.5, 3.5};
        for (size_t i = 0; i < NL_COUNT(values); i++) must(nl_column_builder_f64(column.builder, values[i]));
        must(nl_column_builder_null(column.builder));
        must(write_column(&column, &options));
        const nl_parquet_leaf_metrics *metrics = &column.written.leaves[0];
        assert_int_equal(metrics->field_id, 7);
        assert_int_equal(metrics->value_count, 7);
        assert_int_equal(metrics->null_count, 1);
        assert_int_equal(metrics->nan_count, 2);
        assert_true(metrics->has_bounds && metrics->lower.real == -2.0 && metrics->upper.real == 3.5);
        end_column(&column);
    }
}

static void test_a_column_of_nan_alone_has_no_bounds(void **state)
{
    (void)state;
    one_column column;
    open_file file;
    start_column(nl_type_double(), &column);
    must(nl_column_builder_f64(column.builder, (double)NAN));
    must(write_column(&column, NULL));
    assert_false(column.written.leaves[0].has_bounds);
    open_path(column.fs, NL_STR("memory:/c.parquet"), &file);
    assert_null(file.footer->row_groups[0].chunks[0].statistics.min_value.data);
    assert_int_equal(file.footer->row_groups[0].chunks[0].column_index_length, 0);
    assert_true(file.footer->row_groups[0].chunks[0].offset_index_length > 0);
    close_file(&file);
    end_column(&column);
}

static void test_zero_bounds_in_the_file_include_both_zeros(void **state)
{
    (void)state;
    one_column column;
    open_file file;
    start_column(nl_type_double(), &column);
    must(nl_column_builder_f64(column.builder, 0.0));
    must(write_column(&column, NULL));
    open_path(column.fs, NL_STR("memory:/c.parquet"), &file);
    const nl_parquet_statistics *statistics = &file.footer->row_groups[0].chunks[0].statistics;
    double min;
    double max;
    memcpy(&min, statistics->min_value.data, sizeof(min));
    memcpy(&max, statistics->max_value.data, sizeof(max));
    assert_true(signbit(min) && !signbit(max));
    close_file(&file);
    end_column(&column);
}

static void test_bounds_of_decimals_and_strings_have_full_precision(void **state)
{
    (void)state;
    one_column column;
    start_column(nl_type_decimal(38, 2), &column);
    const nl_int128 large = nl_decimal_powers[37] * 3;
    must(nl_column_builder_i128(column.builder, -large));
    must(nl_column_builder_i128(column.builder, 5));
    must(nl_column_builder_i128(column.builder, large));
    must(write_column(&column, NULL));
    assert_true(column.written.leaves[0].lower.decimal == -large && column.written.leaves[0].upper.decimal == large);
    end_column(&column);

    char text[5000];
    memset(text, 'z', sizeof(text));
    start_column(nl_type_string(), &column);
    must(nl_column_builder_str(column.builder, (nl_str){text, sizeof(text)}));
    must(nl_column_builder_str(column.builder, NL_STR("")));
    must(write_column(&column, NULL));
    assert_int_equal(column.written.leaves[0].lower.text.length, 0);
    assert_int_equal(column.written.leaves[0].upper.text.length, sizeof(text));
    open_file file;
    open_path(column.fs, NL_STR("memory:/c.parquet"), &file);
    const nl_parquet_statistics *statistics = &file.footer->row_groups[0].chunks[0].statistics;
    assert_int_equal(statistics->max_value.length, 64); /* cut, and its last character raised */
    assert_int_equal(statistics->max_value.data[63], '{');
    assert_false(statistics->is_max_exact);
    assert_true(statistics->is_min_exact && statistics->min_value.length == 0);
    close_file(&file);
    end_column(&column);
}

static void test_a_null_in_a_required_field_is_refused(void **state)
{
    (void)state;
    one_column column;
    start_column(nl_type_int(), &column);
    const nl_field field = {.name = NL_STR("c"), .type = nl_type_int(), .field_id = 1};
    column.type = nl_type_struct(column.arena, &field, 1);
    must(nl_column_builder_null(column.builder));
    must_fail(write_column(&column, NULL), NL_COND_NOT_NULL_ASSERT_VIOLATION);
    bool exists = true;
    must(nl_fs_exists(column.fs, NL_STR("memory:/c.parquet"), &exists));
    assert_false(exists);
    end_column(&column);
}

static void test_uuids_are_stored_as_sixteen_bytes(void **state)
{
    (void)state;
    const nl_parquet_column_options uuid = {.field_id = 7, .stored = NL_PARQUET_STORED_UUID};
    const nl_parquet_write_options options = {.columns = &uuid, .column_count = 1};
    const nl_str text = NL_STR("f79c3e09-677c-4bbd-a479-3f349cb785e7"); /* Iceberg's own example */
    one_column column;
    open_file file;
    nl_builder got;
    nl_builder_init(&got, 1000);
    start_column(nl_type_string(), &column);
    must(nl_column_builder_str(column.builder, text));
    must(write_column(&column, &options));
    open_path(column.fs, NL_STR("memory:/c.parquet"), &file);
    const nl_parquet_node *leaf = file.footer->leaves[0];
    assert_int_equal(leaf->physical, NL_PARQUET_FIXED);
    assert_int_equal(leaf->type_length, 16);
    assert_int_equal(leaf->logical, NL_PARQUET_UUID);
    read_all(&file, column.type, &got);
    assert_string_equal(nl_builder_c(&got), "[\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"]\n");
    nl_builder_fini(&got);
    close_file(&file);
    end_column(&column);
    start_column(nl_type_string(), &column);
    must(nl_column_builder_str(column.builder, NL_STR("no uuid")));
    must_fail(write_column(&column, &options), NL_COND_NILAS_ILLEGAL_ARGUMENT);
    end_column(&column);
}

static void test_nodes_carry_their_ids_and_annotations(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    open_file file;
    const nl_type *type = wide_type(arena);
    const nl_parquet_key_value pair = {.key = NL_STR("iceberg.schema"), .value = NL_STR("{}")};
    const nl_parquet_write_options options = {.key_values = &pair, .key_value_count = 1};
    must(nl_fs_create(fs, NL_STR("memory:/t.parquet"), &output));
    must(nl_parquet_writer_create(output, type, &options, NULL, &writer));
    must(nl_parquet_writer_close(writer, arena, &written));
    open_path(fs, NL_STR("memory:/t.parquet"), &file);
    nl_str value;
    assert_true(nl_parquet_footer_key_value(file.footer, NL_STR("iceberg.schema"), &value) && nl_str_is(value, "{}"));
    assert_int_equal(file.footer->row_group_count, 0);
    const nl_parquet_node *root = file.footer->root;
    assert_int_equal(root->child_count, type->child_count - 1); /* void is left out */
    const nl_parquet_node *map = root->children[root->child_count - 2];
    assert_true(map->has_field_id && map->field_id == 125 && map->logical == NL_PARQUET_MAP);
    assert_true(nl_str_is(map->children[0]->name, "key_value") && !map->children[0]->has_field_id);
    assert_int_equal(map->children[0]->children[0]->repetition, NL_PARQUET_REQUIRED);
    const nl_parquet_node *stamp = root->children[20];
    assert_true(stamp->logical == NL_PARQUET_TIMESTAMP && stamp->is_utc && stamp->unit == NL_PARQUET_MICROS);
    assert_false(root->children[22]->is_utc);
    close_file(&file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_input_dictionaries_are_mapped_once(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_output *output = NULL;
    nl_parquet_writer *writer = NULL;
    nl_parquet_written written;
    const nl_field field = {.name = NL_STR("c"), .type = nl_type_string(), .is_nullable = true, .field_id = 1};
    const nl_type *type = nl_type_struct(arena, &field, 1);
    nl_column_builder *builder = NULL;
    must(nl_column_builder_new(nl_type_string(), NULL, &builder));
    must(nl_column_builder_str(builder, NL_STR("never used, so in no bounds")));
    must(nl_column_builder_str(builder, NL_STR("b")));
    must(nl_column_builder_str(builder, NL_STR("a value of more than twelve bytes")));
    nl_vector values = {0};
    must(nl_column_builder_finish(builder, &values));
    nl_column_builder_free(builder);
    nl_shared_vector *dictionary = nl_shared_vector_new(&values);
    must(nl_fs_create(fs, NL_STR("memory:/t.parquet"), &output));
    must(nl_parquet_writer_create(output, type, NULL, NULL, &writer));
    for (int b = 0; b < 3; b++) {
        nl_batch batch = {0};
        must(nl_batch_init(&batch, 1, 100));
        nl_buffer *codes = NULL;
        must(nl_buffer_new(NULL, 400, false, &codes));
        for (uint32_t i = 0; i < 100; i++) ((uint32_t *)(void *)codes->data)[i] = 1 + i % 2;
        batch.columns[0] = (nl_vector){.type = nl_type_string(), .encoding = NL_DICTIONARY, .length = 100, .values_buffer = codes,
                                       .indices = (const uint32_t *)(const void *)codes->data, .dictionary = nl_shared_vector_retain(dictionary)};
        must(nl_parquet_writer_append(writer, &batch));
        nl_batch_fini(&batch);
    }
    nl_shared_vector_release(dictionary);
    must(nl_parquet_writer_close(writer, arena, &written));
    assert_true(nl_str_is(written.leaves[0].lower.text, "a value of more than twelve bytes"));
    assert_true(nl_str_is(written.leaves[0].upper.text, "b"));
    open_file file;
    open_path(fs, NL_STR("memory:/t.parquet"), &file);
    assert_true(file.footer->row_groups[0].chunks[0].is_all_dictionary);
    nl_builder got;
    nl_builder_init(&got, 1 << 20);
    read_all(&file, type, &got);
    assert_int_equal(nl_str_find(nl_builder_str(&got), NL_STR("[\"b\"]\n[\"a value of more than twelve bytes\"]\n"), 0), 0);
    nl_builder_fini(&got);
    close_file(&file);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_many_open_writers_share_their_scratch(void **state)
{
    (void)state;
    enum { WRITERS = 40 };
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    nl_memory *memory = nl_memory_new(NULL, "writers", 24u << 20);
    nl_parquet_encoders *encoders = NULL;
    nl_parquet_writer *writers[WRITERS] = {NULL};
    const nl_field field = field_of("c", nl_type_bigint(), false, 1);
    const nl_type *type = nl_type_struct(arena, &field, 1);
    must(nl_parquet_encoders_new(memory, &encoders));
    const nl_parquet_write_options options = {.codec = NL_PARQUET_ZSTD, .encoders = encoders, .no_dictionary = true, .page_rows_max = 2000};
    random_state = 8;
    for (uint32_t i = 0; i < WRITERS; i++) {
        nl_output *output = NULL;
        nl_batch batch = {0};
        make_batch(type, 2048, 0, 1000000, &batch);
        must(nl_fs_create(fs, nl_arena_f(arena, "memory:/%u.parquet", i), &output));
        must(nl_parquet_writer_create(output, type, &options, memory, &writers[i]));
        must(nl_parquet_writer_append(writers[i], &batch));
        nl_batch_fini(&batch);
    }
    for (uint32_t i = 0; i < WRITERS; i++) {
        nl_parquet_written written;
        must(nl_parquet_writer_close(writers[i], arena, &written));
        assert_int_equal(written.row_count, 2048);
    }
    nl_parquet_encoders_free(encoders);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static void test_running_out_of_memory_publishes_nothing(void **state)
{
    (void)state;
    random_state = 6;
    bool has_succeeded = false;
    for (size_t limit = 20000; !has_succeeded; limit += limit / 2) {
        nl_arena *arena = nl_arena_new(NULL);
        nl_fs *fs = nl_fs_memory_new();
        nl_memory *memory = nl_memory_new(NULL, "small", limit);
        const nl_type *type = wide_type(arena);
        nl_output *output = NULL;
        nl_parquet_writer *writer = NULL;
        nl_parquet_written written;
        nl_batch batch = {0};
        make_batch(type, 200, 10, 100, &batch);
        must(nl_fs_create(fs, NL_STR("memory:/t.parquet"), &output));
        nl_status status = nl_parquet_writer_create(output, type, NULL, memory, &writer);
        if (status == NULL) {
            status = nl_parquet_writer_append(writer, &batch);
            if (status == NULL)
                status = nl_parquet_writer_close(writer, arena, &written);
            else
                nl_parquet_writer_abort(writer);
        }
        bool exists = false;
        must(nl_fs_exists(fs, NL_STR("memory:/t.parquet"), &exists));
        has_succeeded = status == NULL;
        assert_int_equal(exists, has_succeeded);
        if (status != NULL) must_fail(status, NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
        assert_int_equal(nl_memory_used(memory), 0);
        nl_batch_fini(&batch);
        nl_memory_release(memory);
        nl_fs_release(fs);
        nl_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_row_counts_at_every_border_are_kept),
        cmocka_unit_test(test_a_pool_encodes_the_same_rows),
        cmocka_unit_test(test_nan_is_counted_and_never_a_bound),
        cmocka_unit_test(test_a_column_of_nan_alone_has_no_bounds),
        cmocka_unit_test(test_zero_bounds_in_the_file_include_both_zeros),
        cmocka_unit_test(test_bounds_of_decimals_and_strings_have_full_precision),
        cmocka_unit_test(test_a_null_in_a_required_field_is_refused),
        cmocka_unit_test(test_uuids_are_stored_as_sixteen_bytes),
        cmocka_unit_test(test_nodes_carry_their_ids_and_annotations),
        cmocka_unit_test(test_input_dictionaries_are_mapped_once),
        cmocka_unit_test(test_many_open_writers_share_their_scratch),
        cmocka_unit_test(test_running_out_of_memory_publishes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
