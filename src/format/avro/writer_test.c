/* format/avro/writer_test.c - batches written and read back, whatever their encoding. */
#include "base/test_support.h"

#include "format/avro/reader.h"
#include "format/avro/writer.h"

static const char schema[] =
    "{\"type\":\"record\",\"name\":\"table\",\"fields\":["
    "{\"name\":\"l\",\"type\":\"long\",\"field-id\":1},"
    "{\"name\":\"s\",\"type\":[\"null\",\"string\"],\"default\":null,\"field-id\":2},"
    "{\"name\":\"dc\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"decimal_9_2\",\"size\":4,\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2}],\"field-id\":3},"
    "{\"name\":\"id\",\"type\":[\"null\",{\"type\":\"fixed\",\"name\":\"uuid_fixed\",\"size\":16,\"logicalType\":\"uuid\"}],\"field-id\":4},"
    "{\"name\":\"st\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"r5\",\"fields\":["
    "{\"name\":\"a\",\"type\":[\"null\",{\"type\":\"array\",\"items\":[\"null\",\"double\"],\"element-id\":7}],\"field-id\":6}]}],\"field-id\":5},"
    "{\"name\":\"m\",\"type\":[\"null\",{\"type\":\"map\",\"values\":[\"null\",\"int\"],\"key-id\":9,\"value-id\":10}],\"field-id\":8},"
    "{\"name\":\"mi\",\"type\":[\"null\",{\"type\":\"array\",\"items\":{\"type\":\"record\",\"name\":\"k12_v13\",\"fields\":["
    "{\"name\":\"key\",\"type\":\"int\",\"field-id\":12},{\"name\":\"value\",\"type\":[\"null\",\"boolean\"],\"field-id\":13}]},\"logicalType\":\"map\"}],\"field-id\":11},"
    "{\"name\":\"n\",\"type\":\"null\",\"field-id\":14}]}";

static const nl_type *row_type(nl_arena *arena)
{
    const nl_field a = {.name = NL_STR("a"), .type = nl_type_array(arena, nl_type_double(), true), .is_nullable = true, .field_id = 6};
    const nl_field fields[] = {
        {.name = NL_STR("l"), .type = nl_type_bigint(), .field_id = 1},
        {.name = NL_STR("s"), .type = nl_type_string(), .is_nullable = true, .field_id = 2},
        {.name = NL_STR("dc"), .type = nl_type_decimal(9, 2), .is_nullable = true, .field_id = 3},
        {.name = NL_STR("id"), .type = nl_type_string(), .is_nullable = true, .field_id = 4},
        {.name = NL_STR("st"), .type = nl_type_struct(arena, &a, 1), .is_nullable = true, .field_id = 5},
        {.name = NL_STR("m"), .type = nl_type_map(arena, nl_type_string(), nl_type_int(), true), .is_nullable = true, .field_id = 8},
        {.name = NL_STR("mi"), .type = nl_type_map(arena, nl_type_int(), nl_type_boolean(), true), .is_nullable = true, .field_id = 11},
        {.name = NL_STR("n"), .type = nl_type_of(NL_TYPE_NULL), .is_nullable = true, .field_id = 14},
    };
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

/* Row i of every column; every fifth row is null. */
static void make_rows(nl_arena *arena, const nl_type *type, nl_value *values, uint32_t i)
{
    for (uint32_t c = 0; c < type->child_count; c++)
        values[c] = nl_value_null(type->children[c].type);
    values[0] = nl_value_int(nl_type_bigint(), (int64_t)i * 1000003 - 500);
    if (i % 5 == 0) return;
    nl_value *doubles = NL_NEW_ARRAY(arena, nl_value, 3);
    nl_value *list = NL_NEW(arena, nl_value);
    nl_value *pairs = NL_NEW_ARRAY(arena, nl_value, 4);
    nl_value *int_pairs = NL_NEW_ARRAY(arena, nl_value, 2);
    doubles[0] = (nl_value){.type = nl_type_double(), .real = i / 4.0};
    doubles[1] = nl_value_null(nl_type_double());
    doubles[2] = (nl_value){.type = nl_type_double(), .real = -1};
    *list = (nl_value){.type = type->children[4].type->children[0].type, .list = {doubles, i % 4}};
    pairs[0] = nl_value_string(nl_arena_f(arena, "key %u", i));
    pairs[1] = nl_value_int(nl_type_int(), i);
    pairs[2] = nl_value_string(NL_STR("other"));
    pairs[3] = nl_value_null(nl_type_int());
    int_pairs[0] = nl_value_int(nl_type_int(), -(int64_t)i);
    int_pairs[1] = nl_value_boolean(i % 2);
    values[1] = nl_value_string(nl_arena_f(arena, "row %u%s", i, i % 3 ? "" : " with more text than fits a view"));
    values[2] = (nl_value){.type = nl_type_decimal(9, 2), .decimal = (nl_int128)i * (i % 2 ? -12345 : 12345)};
    values[3] = nl_value_string(nl_arena_f(arena, "f79c3e09-677c-4bbd-a479-3f349cb7%04x", i & 0xffff));
    values[4] = (nl_value){.type = type->children[4].type, .list = {list, 1}};
    values[5] = (nl_value){.type = type->children[5].type, .list = {pairs, i % 3 * 2}};
    values[6] = (nl_value){.type = type->children[6].type, .list = {int_pairs, i % 2 * 2}};
}

static void test_what_is_written_is_read(void **state)
{
    (void)state;
    enum { ROWS = 3000 };
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_type *type = row_type(arena);
    nl_batch batch;
    nl_output *output;
    nl_avro_writer *writer;
    const nl_avro_pair pair = {NL_STR("iceberg.schema"), NL_STR("{}")};
    const nl_avro_write_options options = {.schema = nl_str_from(schema), .metadata = &pair, .metadata_count = 1, .codec = NL_CODEC_DEFLATE,
                                           .level = NL_CODEC_LEVEL_DEFAULT};
    nl_value(*rows)[8] = malloc(sizeof(nl_value[8]) * ROWS);
    assert_non_null(rows);
    assert_ok(nl_batch_init(&batch, type->child_count, ROWS));
    for (uint32_t i = 0; i < ROWS; i++)
        make_rows(arena, type, rows[i], i);
    for (uint32_t c = 0; c < type->child_count; c++) {
        nl_column_builder *builder;
        assert_ok(nl_column_builder_new(type->children[c].type, NULL, &builder));
        for (uint32_t i = 0; i < ROWS; i++)
            assert_ok(nl_column_builder_value(builder, &rows[i][c]));
        assert_ok(nl_column_builder_finish(builder, &batch.columns[c]));
        nl_column_builder_free(builder);
    }
    assert_ok(nl_fs_create(fs, NL_STR("memory:/w.avro"), &output));
    assert_ok(nl_avro_writer_create(output, &options, NULL, &writer));
    assert_ok(nl_avro_writer_append(writer, type, &batch));
    uint64_t bytes;
    assert_int_equal(nl_avro_writer_rows(writer), ROWS);
    assert_ok(nl_avro_writer_close(writer, &bytes));

    nl_file *file;
    nl_avro_file *avro;
    nl_avro_reader *reader;
    const nl_avro_read_options read_options = {.match = NL_AVRO_MATCH_FIELD_ID};
    assert_ok(nl_fs_open(fs, NL_STR("memory:/w.avro"), &file));
    assert_int_equal(nl_file_size(file), bytes);
    assert_ok(nl_avro_file_open(file, NULL, &avro));
    assert_text(nl_avro_file_metadata(avro, "iceberg.schema"), "{}");
    assert_ok(nl_avro_reader_open(avro, type, &read_options, NULL, &reader));
    uint32_t row = 0;
    for (;;) {
        nl_batch read;
        assert_ok(nl_avro_reader_next(reader, &read, NULL));
        for (uint32_t i = 0; i < read.row_count; i++, row++)
            for (uint32_t c = 0; c < type->child_count; c++) {
                const nl_value value = nl_vector_value(&read.columns[c], i, arena);
                assert_int_equal(value.is_null, rows[row][c].is_null);
                if (!value.is_null) assert_true(nl_value_equal(&value, &rows[row][c]));
            }
        const bool is_last = read.row_count == 0;
        nl_batch_fini(&read);
        if (is_last) break;
    }
    assert_int_equal(row, ROWS);
    nl_avro_reader_close(reader);
    nl_avro_file_close(avro);
    nl_file_close(file);
    nl_batch_fini(&batch);
    free(rows);
    nl_fs_release(fs);
    nl_arena_free(arena);
}

static nl_status write_column(const char *record, const nl_type *type, const nl_value *value)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_fs *fs = nl_fs_memory_new();
    const nl_field field = {.name = NL_STR("c"), .type = type, .is_nullable = true};
    const nl_type *row = nl_type_struct(arena, &field, 1);
    const nl_avro_write_options options = {.schema = nl_arena_f(arena, "{\"type\":\"record\",\"name\":\"t\",\"fields\":[{\"name\":\"c\",\"type\":%s}]}", record)};
    nl_output *output;
    nl_avro_writer *writer;
    nl_batch batch;
    assert_ok(nl_batch_init(&batch, 1, 2));
    assert_ok(nl_vector_new_constant(&batch.columns[0], value, 2, NULL));
    assert_ok(nl_fs_create(fs, NL_STR("memory:/c.avro"), &output));
    assert_ok(nl_avro_writer_create(output, &options, NULL, &writer));
    nl_status status = nl_avro_writer_append(writer, row, &batch);
    nl_avro_writer_abort(writer);
    bool exists;
    assert_ok(nl_fs_exists(fs, NL_STR("memory:/c.avro"), &exists));
    assert_false(exists);
    nl_batch_fini(&batch);
    nl_fs_release(fs);
    nl_arena_free(arena);
    return status;
}

static void test_what_does_not_fit_the_schema_is_refused(void **state)
{
    (void)state;
    const nl_value null = nl_value_null(nl_type_bigint());
    const nl_value text = nl_value_string(NL_STR("abc"));
    const nl_value decimal = {.type = nl_type_decimal(9, 2), .decimal = 70000};
    assert_fails(write_column("\"long\"", nl_type_bigint(), &null), NOT_NULL_ASSERT_VIOLATION, "- field `c`");
    assert_fails(write_column("\"long\"", nl_type_string(), &text), NILAS_ILLEGAL_ARGUMENT, "The column c of type string cannot be written");
    assert_fails(write_column("{\"type\":\"fixed\",\"name\":\"f\",\"size\":4}", nl_type_string(), &text), NILAS_ILLEGAL_ARGUMENT, "holds exactly 4");
    assert_fails(write_column("{\"type\":\"fixed\",\"name\":\"f\",\"size\":2,\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2}", nl_type_decimal(9, 2), &decimal),
                 NILAS_ILLEGAL_ARGUMENT, "does not fit 2 bytes");
    assert_ok(write_column("[\"long\",\"null\"]", nl_type_bigint(), &null));
}

static void test_codecs_are_found_by_icebergs_names(void **state)
{
    (void)state;
    nl_codec codec;
    assert_ok(nl_avro_codec_find(NL_STR("GZIP"), &codec));
    assert_int_equal(codec, NL_CODEC_DEFLATE);
    assert_ok(nl_avro_codec_find(NL_STR("uncompressed"), &codec));
    assert_int_equal(codec, NL_CODEC_NONE);
    assert_fails(nl_avro_codec_find(NL_STR("lzo"), &codec), NILAS_ILLEGAL_ARGUMENT, "lzo");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_what_does_not_fit_the_schema_is_refused),
        cmocka_unit_test(test_codecs_are_found_by_icebergs_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
