/* format/avro/reader_test.c - reading what Spark wrote with every codec, resolving schemas, and refusing damage. */
#include "base/test_support.h"

#include "base/number.h"
#include "format/avro/reader.h"
#include "format/avro/writer.h"

typedef struct opened {
    nl_fs *fs;
    nl_file *file;
    nl_avro_file *avro;
    nl_arena *arena;
} opened;

static void open_file(opened *in, nl_fs *fs, const char *path)
{
    in->fs = fs;
    in->arena = nl_arena_new(NULL);
    assert_ok(nl_fs_open(fs, nl_str_from(path), &in->file));
    assert_ok(nl_avro_file_open(in->file, NULL, &in->avro));
}

static void close_file(opened *in)
{
    nl_avro_file_close(in->avro);
    nl_file_close(in->file);
    nl_fs_release(in->fs);
    nl_arena_free(in->arena);
}

static nl_field wanted(const char *name, int32_t id, const nl_type *type)
{
    return (nl_field){.name = nl_str_from(name), .type = type, .is_nullable = true, .field_id = id};
}

/* All rows of a file as one text: rows by lines, values by " | ". */
static nl_str read_text(const opened *in, const nl_type *type, const nl_avro_read_options *options)
{
    nl_builder text;
    nl_builder_init(&text, 1u << 24);
    nl_avro_reader *reader;
    const nl_text_options style = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    assert_ok(nl_avro_reader_open(in->avro, type, options, NULL, &reader));
    uint64_t expected_first = 0;
    for (;;) {
        nl_batch batch;
        uint64_t first_row;
        assert_ok(nl_avro_reader_next(reader, &batch, &first_row));
        assert_int_equal(first_row, expected_first);
        expected_first += batch.row_count;
        for (uint32_t row = 0; row < batch.row_count; row++)
            for (uint32_t i = 0; i < batch.column_count; i++) {
                nl_vector_append_text(&batch.columns[i], row, &style, &text);
                nl_append_c(&text, i + 1 < batch.column_count ? " | " : "\n");
            }
        const bool is_last = batch.row_count == 0;
        nl_batch_fini(&batch);
        if (is_last) break;
    }
    nl_avro_reader_close(reader);
    const nl_str copy = nl_arena_str(in->arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

static const nl_type *all_types(nl_arena *arena)
{
    const nl_field st[] = {wanted("a", 17, nl_type_int()), wanted("b", 18, nl_type_array(arena, nl_type_string(), true))};
    const nl_field x = wanted("x", 24, nl_type_double());
    const nl_field fields[] = {wanted("bo", 1, nl_type_boolean()),
                               wanted("i", 2, nl_type_bigint()), /* promoted */
                               wanted("l", 3, nl_type_bigint()),
                               wanted("f", 4, nl_type_double()), /* promoted */
                               wanted("d", 5, nl_type_double()),
                               wanted("dc", 6, nl_type_decimal(20, 2)), /* promoted */
                               wanted("dw", 7, nl_type_decimal(30, 3)),
                               wanted("dt", 8, nl_type_of(NL_TYPE_DATE)),
                               wanted("ts", 9, nl_type_of(NL_TYPE_TIMESTAMP)),
                               wanted("tn", 10, nl_type_of(NL_TYPE_TIMESTAMP_NTZ)),
                               wanted("s", 11, nl_type_string()),
                               wanted("b", 12, nl_type_binary()),
                               wanted("st", 13, nl_type_struct(arena, st, 2)),
                               wanted("m", 14, nl_type_map(arena, nl_type_string(), nl_type_bigint(), true)),
                               wanted("mi", 15, nl_type_map(arena, nl_type_int(), nl_type_struct(arena, &x, 1), true)),
                               wanted("odd name", 16, nl_type_int())};
    return nl_type_struct(arena, fields, NL_COUNT(fields));
}

static const char first_row[] = "true | 1 | 2 | 1.5 | 2.5 | 1.10 | 123456789012345678901234567.891 | 2020-01-01 | 2020-01-01 01:02:03.5 | "
                                "1969-12-31 23:59:59.999999 | a b | \x01\x02\x7f | {1, [x, null, a longer text than twelve]} | {k -> 1, z -> null} | "
                                "{7 -> {0.5}} | 9\n";
static const char other_rows[] = "NULL | -2 | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL | NULL\n"
                                 "false | 3 | -9223372036854775808 | NaN | -Infinity | -0.05 | -0.001 | 0001-01-01 | 1969-12-31 23:59:59 | "
                                 "9999-12-31 23:59:59.999999 |  |  | {null, []} | {} | {} | -1\n";

static void test_every_type_of_spark_is_read_by_field_id(void **state)
{
    (void)state;
    opened in;
    open_file(&in, nl_fs_local(), "tests/fixtures/avro/types_zstd.avro");
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID};
    assert_text(read_text(&in, all_types(in.arena), &options), nl_str_c(in.arena, nl_arena_f(in.arena, "%s%s", first_row, other_rows)));
    close_file(&in);
    open_file(&in, nl_fs_local(), "tests/fixtures/avro/types_deflate.avro");
    assert_text(read_text(&in, all_types(in.arena), &options), other_rows);
    close_file(&in);
}

static void test_a_few_columns_in_another_order(void **state)
{
    (void)state;
    opened in;
    open_file(&in, nl_fs_local(), "tests/fixtures/avro/types_zstd.avro");
    const nl_field b = wanted("renamed", 18, nl_type_array(in.arena, nl_type_string(), true));
    const nl_field fields[] = {wanted("odd name", 16, nl_type_int()), wanted("other", 13, nl_type_struct(in.arena, &b, 1)), wanted("new", 99, nl_type_string()),
                               wanted("bo", 1, nl_type_boolean())};
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID};
    assert_text(read_text(&in, nl_type_struct(in.arena, fields, 4), &options),
                "9 | {[x, null, a longer text than twelve]} | NULL | true\nNULL | NULL | NULL | NULL\n-1 | {[]} | NULL | false\n");
    close_file(&in);
}

static bool default_of(void *argument, const nl_field *field, const nl_value **value)
{
    static nl_value seven;
    (void)argument;
    seven = nl_value_int(nl_type_int(), 7);
    *value = &seven;
    return field->field_id == 99;
}

static void test_missing_fields_take_their_default(void **state)
{
    (void)state;
    opened in;
    open_file(&in, nl_fs_local(), "tests/fixtures/avro/types_deflate.avro");
    const nl_field st[] = {wanted("a", 17, nl_type_int()), wanted("n", 99, nl_type_int())};
    const nl_field fields[] = {wanted("i", 2, nl_type_int()), wanted("n", 99, nl_type_int()), wanted("st", 13, nl_type_struct(in.arena, st, 2))};
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID, .missing_value_of = default_of};
    assert_text(read_text(&in, nl_type_struct(in.arena, fields, 3), &options), "-2 | 7 | NULL\n3 | 7 | {null, 7}\n");
    close_file(&in);
}

static void test_parts_of_a_file_give_every_row_once(void **state)
{
    (void)state;
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_NAME};
    for (uint64_t part_bytes = 3000; part_bytes < 40000; part_bytes += 7000) {
        int64_t sum = 0;
        uint32_t rows = 0;
        for (uint64_t start = 0; start < 40000; start += part_bytes) {
            opened in;
            nl_avro_reader *reader;
            open_file(&in, nl_fs_local(), "tests/fixtures/avro/many_snappy.avro");
            const nl_field field = wanted("l", 0, nl_type_bigint());
            assert_ok(nl_avro_file_restrict(in.avro, start, start + part_bytes));
            assert_ok(nl_avro_reader_open(in.avro, nl_type_struct(in.arena, &field, 1), &options, NULL, &reader));
            for (;;) {
                nl_batch batch;
                assert_ok(nl_avro_reader_next(reader, &batch, NULL));
                for (uint32_t i = 0; i < batch.row_count; i++, rows++)
                    sum += ((const int64_t *)batch.columns[0].values)[i];
                const bool is_last = batch.row_count == 0;
                nl_batch_fini(&batch);
                if (is_last) break;
            }
            nl_avro_reader_close(reader);
            close_file(&in);
        }
        assert_int_equal(rows, 2500);
        assert_int_equal(sum, 2500 * 2499 / 2);
    }
}

/* ---- Files made here ---- */

static const char odd_schema[] =
    "{\"type\":\"record\",\"name\":\"outer\",\"namespace\":\"a.b\",\"fields\":["
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"color\",\"symbols\":[\"RED\",\"GREEN\"]}},"
    "{\"name\":\"u\",\"type\":[\"int\",\"long\",\"null\"]},"
    "{\"name\":\"again\",\"type\":\"color\"},"
    "{\"name\":\"ms\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}},"
    "{\"name\":\"ns\",\"type\":{\"type\":\"long\",\"logicalType\":\"local-timestamp-nanos\"}},"
    "{\"name\":\"id\",\"type\":{\"type\":\"fixed\",\"name\":\"u16\",\"size\":16,\"logicalType\":\"uuid\"}},"
    "{\"name\":\"big\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":10,\"scale\":2}},"
    "{\"name\":\"list\",\"type\":{\"type\":\"array\",\"items\":\"a.b.color\"}}]}";

static void write_odd_file(nl_fs *fs, nl_codec codec)
{
    nl_output *output;
    nl_avro_writer *writer;
    const nl_avro_write_options options = {.schema = nl_str_from(odd_schema), .codec = codec, .level = NL_CODEC_LEVEL_DEFAULT, .block_bytes = 100};
    assert_ok(nl_fs_create(fs, NL_STR("memory:/odd.avro"), &output));
    assert_ok(nl_avro_writer_create(output, &options, NULL, &writer));
    for (int row = 0; row < 3; row++) {
        nl_avro_sink *sink = nl_avro_writer_sink(writer);
        nl_avro_put_long(sink, row % 2);
        nl_avro_put_long(sink, row);
        if (row == 0) nl_avro_put_long(sink, -5);
        if (row == 1) nl_avro_put_long(sink, 1ll << 40);
        nl_avro_put_long(sink, 1);
        nl_avro_put_long(sink, -1);
        nl_avro_put_long(sink, -1);
        nl_avro_put_raw(sink, "\xf7\x9c\x3e\x09\x67\x7c\x4b\xbd\xa4\x79\x3f\x34\x9c\xb7\x85\xe7", 16);
        nl_avro_put_bytes(sink, "\x00\x00\x05\x8c", 4);
        nl_avro_put_long(sink, -1); /* a block with its length, so that it can be skipped */
        nl_avro_put_long(sink, 1);
        nl_avro_put_long(sink, 0);
        nl_avro_put_long(sink, 1);
        nl_avro_put_long(sink, 1);
        nl_avro_put_long(sink, 0);
        assert_ok(nl_avro_writer_end_row(writer));
    }
    assert_ok(nl_avro_writer_close(writer, NULL));
}

static void test_unions_enums_and_other_units(void **state)
{
    (void)state;
    static const nl_codec codecs[] = {NL_CODEC_NONE, NL_CODEC_DEFLATE, NL_CODEC_SNAPPY, NL_CODEC_ZSTD};
    for (size_t c = 0; c < NL_COUNT(codecs); c++) {
        opened in;
        nl_fs *fs = nl_fs_memory_new();
        write_odd_file(fs, codecs[c]);
        open_file(&in, fs, "memory:/odd.avro");
        const nl_field fields[] = {wanted("e", 0, nl_type_string()),
                                   wanted("U", 0, nl_type_bigint()),
                                   wanted("again", 0, nl_type_string()),
                                   wanted("ms", 0, nl_type_of(NL_TYPE_TIMESTAMP)),
                                   wanted("ns", 0, nl_type_of(NL_TYPE_TIMESTAMP_NTZ)),
                                   wanted("id", 0, nl_type_string()),
                                   wanted("big", 0, nl_type_decimal(12, 3)),
                                   wanted("list", 0, nl_type_array(in.arena, nl_type_string(), true))};
        const nl_avro_read_options options = {.match = NL_AVRO_MATCH_NAME_NOCASE};
        assert_text(read_text(&in, nl_type_struct(in.arena, fields, NL_COUNT(fields)), &options),
                    "RED | -5 | GREEN | 1969-12-31 23:59:59.999 | 1969-12-31 23:59:59.999999 | f79c3e09-677c-4bbd-a479-3f349cb785e7 | 14.200 | [RED, GREEN]\n"
                    "GREEN | 1099511627776 | GREEN | 1969-12-31 23:59:59.999 | 1969-12-31 23:59:59.999999 | f79c3e09-677c-4bbd-a479-3f349cb785e7 | 14.200 | [RED, GREEN]\n"
                    "RED | NULL | GREEN | 1969-12-31 23:59:59.999 | 1969-12-31 23:59:59.999999 | f79c3e09-677c-4bbd-a479-3f349cb785e7 | 14.200 | [RED, GREEN]\n");
        close_file(&in);
    }
}

static int32_t id_of(void *argument, const nl_str *path, uint32_t depth)
{
    (void)argument;
    return depth == 1 && nl_str_is(path[0], "e") ? 5 : depth == 1 && nl_str_is(path[0], "list") ? 6 : 0;
}

static void test_files_without_ids_are_mapped_by_name(void **state)
{
    (void)state;
    opened in;
    nl_fs *fs = nl_fs_memory_new();
    write_odd_file(fs, NL_CODEC_NONE);
    open_file(&in, fs, "memory:/odd.avro");
    const nl_field fields[] = {wanted("renamed", 5, nl_type_string()), wanted("again", 8, nl_type_string())};
    nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID, .field_id_of = id_of};
    assert_text(read_text(&in, nl_type_struct(in.arena, fields, 2), &options), "RED | NULL\nGREEN | NULL\nRED | NULL\n");
    close_file(&in);
}

static nl_status parse_schema(const char *json)
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_avro_type *type;
    nl_status status = nl_avro_schema_parse(arena, nl_str_from(json), NL_STR("f.avro"), &type);
    nl_arena_free(arena);
    return status;
}

static void test_schemas_that_cannot_be_read_are_refused(void **state)
{
    (void)state;
    assert_fails(parse_schema("{\"type\":\"record\",\"name\":\"node\",\"fields\":[{\"name\":\"next\",\"type\":[\"null\",\"node\"]}]}"), NILAS_UNSUPPORTED,
                 "contains itself");
    assert_fails(parse_schema("\"nope\""), NILAS_CORRUPT_FILE, "unknown type nope");
    assert_fails(parse_schema("{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}"), NILAS_CORRUPT_FILE, "bad size of fixed f");
    assert_fails(parse_schema("[]"), NILAS_CORRUPT_FILE, "union of nothing");
    assert_fails(parse_schema("[\"int\",[\"long\"]]"), NILAS_CORRUPT_FILE, "union within a union");
    assert_fails(parse_schema("{\"type\":\"enum\",\"name\":\"e\",\"symbols\":[]}"), NILAS_CORRUPT_FILE, "no symbols");
    assert_fails(parse_schema("{\"type\":"), NILAS_CORRUPT_FILE, "damaged at byte");
    nl_builder deep;
    nl_builder_init(&deep, 1u << 20);
    for (int i = 0; i < 100000; i++)
        nl_append_c(&deep, "[");
    assert_fails(parse_schema(nl_builder_c(&deep)), NILAS_CORRUPT_FILE, "levels deep");
    /* Every record twice the one before: small as text, endless when expanded. */
    nl_builder_clear(&deep);
    nl_append_c(&deep, "{\"type\":\"record\",\"name\":\"top\",\"fields\":[{\"name\":\"f\",\"type\":");
    for (int i = 0; i < 60; i++)
        nl_append_f(&deep, "{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{\"name\":\"a\",\"type\":", i);
    nl_append_c(&deep, "\"int\"");
    for (int i = 59; i >= 0; i--)
        nl_append_f(&deep, "},{\"name\":\"b\",\"type\":\"%s%.0d\"}]}", i == 59 ? "int" : "r", i == 59 ? 0 : i + 1);
    nl_append_c(&deep, "}]}");
    assert_fails(parse_schema(nl_builder_c(&deep)), NILAS_CORRUPT_FILE, "too many fields");
    nl_builder_fini(&deep);
}

static void test_a_type_that_does_not_fit_is_named(void **state)
{
    (void)state;
    opened in;
    open_file(&in, nl_fs_local(), "tests/fixtures/avro/types_plain.avro");
    const nl_field field = wanted("s", 11, nl_type_int());
    const nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID};
    nl_avro_reader *reader;
    assert_fails(nl_avro_reader_open(in.avro, nl_type_struct(in.arena, &field, 1), &options, NULL, &reader), NILAS_UNSUPPORTED,
                 "The column s of tests/fixtures/avro/types_plain.avro is Avro's string and cannot be read as int");
    close_file(&in);
}

static void test_unsupported_codecs_are_named(void **state)
{
    (void)state;
    static const char content[] = "Obj\x01\x04\x14"
                                  "avro.codec\x0a"
                                  "bzip2\x16"
                                  "avro.schema\x0a"
                                  "\"int\"\x00"
                                  "0123456789abcdef";
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file;
    nl_avro_file *avro;
    assert_ok(nl_fs_write_all(fs, NL_STR("memory:/b.avro"), (nl_bytes){(const uint8_t *)content, sizeof(content) - 1}));
    assert_ok(nl_fs_open(fs, NL_STR("memory:/b.avro"), &file));
    assert_fails(nl_avro_file_open(file, NULL, &avro), NILAS_UNSUPPORTED, "The Avro codec bzip2 of memory:/b.avro is not supported");
    nl_file_close(file);
    nl_fs_release(fs);
}

static void test_damage_anywhere_never_does_harm(void **state)
{
    (void)state;
    static const char *const names[] = {"avro/types_plain.avro", "avro/types_zstd.avro"};
    uint32_t refused = 0;
    for (size_t n = 0; n < NL_COUNT(names); n++) {
        nl_arena *arena = nl_arena_new(NULL);
        const nl_bytes content = read_fixture(arena, names[n]);
        uint8_t *copy = nl_arena_alloc(arena, content.length);
        const nl_type *type = all_types(arena);
        const nl_avro_read_options options = {.match = NL_AVRO_MATCH_FIELD_ID};
        for (size_t at = 0; at < content.length; at++) {
            nl_fs *fs = nl_fs_memory_new();
            nl_file *file = NULL;
            nl_avro_file *avro = NULL;
            nl_avro_reader *reader = NULL;
            memcpy(copy, content.data, content.length);
            copy[at] ^= (uint8_t)(at % 3 == 0 ? 0xff : at % 3 == 1 ? 0x01 : 0x80);
            assert_ok(nl_fs_write_all(fs, NL_STR("memory:/d.avro"), (nl_bytes){copy, at % 5 ? content.length : at}));
            assert_ok(nl_fs_open(fs, NL_STR("memory:/d.avro"), &file));
            nl_status status = nl_avro_file_open(file, NULL, &avro);
            if (!status) status = nl_avro_reader_open(avro, type, &options, NULL, &reader);
            for (bool is_last = false; !status && !is_last;) {
                nl_batch batch;
                status = nl_avro_reader_next(reader, &batch, NULL);
                if (status) break;
                is_last = batch.row_count == 0;
                nl_batch_fini(&batch);
            }
            refused += status != NULL;
            nl_error_free(status);
            nl_avro_reader_close(reader);
            nl_avro_file_close(avro);
            nl_file_close(file);
            nl_fs_release(fs);
        }
        nl_arena_free(arena);
    }
    assert_true(refused > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_of_spark_is_read_by_field_id),
        cmocka_unit_test(test_a_few_columns_in_another_order),
        cmocka_unit_test(test_missing_fields_take_their_default),
        cmocka_unit_test(test_parts_of_a_file_give_every_row_once),
        cmocka_unit_test(test_unions_enums_and_other_units),
        cmocka_unit_test(test_files_without_ids_are_mapped_by_name),
        cmocka_unit_test(test_schemas_that_cannot_be_read_are_refused),
        cmocka_unit_test(test_a_type_that_does_not_fit_is_named),
        cmocka_unit_test(test_unsupported_codecs_are_named),
        cmocka_unit_test(test_damage_anywhere_never_does_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
