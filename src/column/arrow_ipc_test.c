/* What is encoded reads back as it was, for every type; a stream cut or changed anywhere fails or reads, and touches nothing
 * outside itself. pyarrow reads what is written and writes what is read in tests/connect. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "column/arrow_ipc.h"
#include "column/test_vectors.h"

#define PYARROW_TYPE                                                                                                               \
    "struct<i8:tinyint,u8:smallint,u32:bigint,i64:bigint,f:float,bool:boolean,s:string,ls:string,sv:string,dict:string,"           \
    "dict2:string,bin:binary,fsb:binary,dec:decimal(30,2),dec2:decimal(10,2),date:date,ts:timestamp_ntz,tstz:timestamp,"          \
    "dur:interval day to second,list:array<int>,llist:array<string>,fsl:array<int>,struct:struct<a:bigint,b:string>,"             \
    "map:map<string,bigint>,nest:array<struct<a:array<bigint>,m:map<string,array<bigint>>>>,null:void>"

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

static nl_str text_of(const nl_buffer *stream)
{
    return (nl_str){(const char *)stream->data, stream->size_bytes};
}

static void check_rows(const nl_type *type, const nl_batch *back, const nl_batch *batch)
{
    const nl_selection live = nl_batch_selection(batch);
    assert_int_equal(back->row_count, live.count);
    for (uint32_t column = 0; column < back->column_count; column++)
        for (uint32_t i = 0; i < live.count; i++)
            if (!nl_vector_row_equal(&back->columns[column], i, &batch->columns[column], nl_selection_row(live, i)))
                fail_msg("%s, row %u", nl_type_name(arena, type).data, i);
}

/* Reads the stream from an address of every alignment that a message field may have. */
static void read_back(const nl_type *type, nl_str stream, const nl_batch *batches, uint32_t count, size_t shift)
{
    nl_memory *memory = nl_memory_new(NULL, "test", SIZE_MAX / 2);
    char *moved = malloc(stream.length + 8 + shift);
    assert_non_null(moved);
    memcpy(moved + shift, stream.data, stream.length);
    nl_ipc_reader *reader;
    bool is_done = false;
    must(nl_ipc_reader_new((nl_str){moved + shift, stream.length}, NULL, memory, &reader));
    for (uint32_t i = 0; i < count; i++) {
        nl_batch back;
        must(nl_ipc_reader_next(reader, &back, &is_done));
        assert_false(is_done);
        check_rows(type, &back, &batches[i]);
        nl_batch_fini(&back);
    }
    nl_batch none;
    must(nl_ipc_reader_next(reader, &none, &is_done));
    assert_true(is_done);
    nl_ipc_reader_free(reader);
    free(moved);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static nl_batch batch_of(const nl_type *type, nl_encoding encoding, uint32_t length, uint32_t null_percent)
{
    nl_batch batch;
    must(nl_batch_init(&batch, 1, length));
    batch.columns[0] = test_vector(type, encoding, length, null_percent);
    return batch;
}

static void test_every_type_comes_back(void **state)
{
    (void)state;
    static const uint32_t lengths[] = {0, 1, 9, 64, 200};
    const nl_type *types[TEST_TYPES_MAX];
    const uint32_t type_count = test_types(arena, types);
    for (uint32_t t = 0; t < type_count; t++) {
        const nl_field field = {.name = NL_STR("x"), .type = types[t], .is_nullable = true};
        const nl_type *type = nl_type_struct(arena, &field, 1);
        for (uint32_t i = 0; i < NL_COUNT(lengths); i++) {
            nl_batch batches[] = {batch_of(types[t], NL_FLAT, lengths[i], 50), batch_of(types[t], NL_DICTIONARY, lengths[i], 0), batch_of(types[t], NL_CONSTANT, lengths[i], 0)};
            nl_buffer *stream;
            must(nl_ipc_encode(type, batches, NL_COUNT(batches), &(nl_ipc_options){.time_zone = NL_STR("Europe/Berlin")}, NULL, &stream));
            assert_int_equal(stream->size_bytes % 8, 0);
            read_back(type, text_of(stream), batches, NL_COUNT(batches), i % 2 ? 3 : 0);
            nl_buffer_release(stream);
            for (uint32_t k = 0; k < NL_COUNT(batches); k++) nl_batch_fini(&batches[k]);
        }
    }
}

static void test_a_stream_without_batches_has_a_schema(void **state)
{
    (void)state;
    const nl_field fields[] = {{.name = NL_STR("a"), .type = nl_type_decimal(38, 10)}, {.name = NL_STR(""), .type = nl_type_of(NL_TYPE_TIMESTAMP), .is_nullable = true}};
    const nl_type *type = nl_type_struct(arena, fields, 2);
    nl_buffer *stream;
    nl_ipc_reader *reader;
    must(nl_ipc_encode(type, NULL, 0, &(nl_ipc_options){0}, NULL, &stream));
    must(nl_ipc_reader_new(text_of(stream), NULL, NULL, &reader));
    assert_true(nl_type_equal_with_nullability(nl_ipc_reader_schema(reader), type));
    nl_ipc_reader_free(reader);
    nl_buffer_release(stream);
}

/* Written by pyarrow: 26 columns of every layout it has, 6 rows in two batches. */
static void test_streams_of_pyarrow_are_read(void **state)
{
    (void)state;
    FILE *file = fopen("fuzz/corpus/arrow_ipc/pyarrow_types", "rb");
    assert_non_null(file);
    char *bytes = malloc(1 << 20);
    assert_non_null(bytes);
    const nl_str stream = {bytes, fread(bytes, 1, 1 << 20, file)};
    fclose(file);
    nl_ipc_reader *reader;
    must(nl_ipc_reader_new(stream, NULL, NULL, &reader));
    assert_string_equal(nl_type_name(arena, nl_ipc_reader_schema(reader)).data, PYARROW_TYPE);
    static const uint32_t rows[] = {4, 2};
    for (uint32_t i = 0; i < NL_COUNT(rows); i++) {
        nl_batch batch;
        bool is_done;
        must(nl_ipc_reader_next(reader, &batch, &is_done));
        assert_false(is_done);
        assert_int_equal(batch.row_count, rows[i]);
        for (uint32_t row = 0; row < rows[i]; row++) { /* 'dict' holds k0, k1 … */
            const nl_vector *words = &batch.columns[9];
            char expected[8];
            snprintf(expected, sizeof(expected), "k%u", 4 * i + row);
            nl_vector flat;
            must(nl_vector_flatten(words, false, NULL, &flat));
            assert_memory_equal(((const nl_string_view *)flat.values)[row].inlined, expected, 2);
            nl_vector_fini(&flat);
        }
        nl_batch_fini(&batch);
    }
    nl_ipc_reader_free(reader);
    free(bytes);
}

static void read_whatever(nl_str stream)
{
    nl_ipc_reader *reader = NULL;
    nl_status status = nl_ipc_reader_new(stream, NULL, NULL, &reader);
    bool is_done = false;
    while (!status && !is_done) {
        nl_batch batch;
        status = nl_ipc_reader_next(reader, &batch, &is_done);
        if (!status && !is_done) nl_batch_fini(&batch);
    }
    if (status) nl_error_free(status);
    nl_ipc_reader_free(reader);
}

static void test_damaged_streams_are_refused_or_read(void **state)
{
    (void)state;
    const nl_type *types[TEST_TYPES_MAX];
    const uint32_t type_count = test_types(arena, types);
    nl_field *fields = NL_NEW_ARRAY(arena, nl_field, type_count);
    nl_batch batch;
    must(nl_batch_init(&batch, type_count, 9));
    for (uint32_t t = 0; t < type_count; t++) {
        fields[t] = (nl_field){.name = NL_STR("column"), .type = types[t], .is_nullable = true};
        batch.columns[t] = test_vector(types[t], NL_FLAT, 9, 30);
    }
    nl_buffer *stream;
    must(nl_ipc_encode(nl_type_struct(arena, fields, type_count), &batch, 1, &(nl_ipc_options){0}, NULL, &stream));
    nl_batch_fini(&batch);
    for (size_t at = 0; at < stream->size_bytes; at++) {
        static const uint8_t patterns[] = {0x01, 0x80, 0xFF};
        char *damaged = malloc(stream->size_bytes); /* of the exact size, so that a sanitizer sees every step outside */
        assert_non_null(damaged);
        memcpy(damaged, stream->data, stream->size_bytes);
        for (size_t i = 0; i < NL_COUNT(patterns); i++) {
            damaged[at] = (char)(stream->data[at] ^ patterns[i]);
            read_whatever((nl_str){damaged, stream->size_bytes});
        }
        free(damaged);
        if (at % 8 == 0) read_whatever((nl_str){(const char *)stream->data, at});
    }
    nl_buffer_release(stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_type_comes_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stream_without_batches_has_a_schema, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_streams_of_pyarrow_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_damaged_streams_are_refused_or_read, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
