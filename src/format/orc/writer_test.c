#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "format/orc/orc.h"

static void must(nl_status status)
{
    if (status) fail_msg("%s\n%s", nl_error_message(status), nl_error_notes(status));
}

static uint32_t random_state;
static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)random_state * limit) >> 32);
}

/* Every type that ORC holds, flat and nested. */
static const nl_type *every_type(nl_arena *arena)
{
    const nl_type *flat[] = {
        nl_type_boolean(), nl_type_of(NL_TYPE_TINYINT), nl_type_of(NL_TYPE_SMALLINT), nl_type_int(), nl_type_bigint(), nl_type_of(NL_TYPE_FLOAT), nl_type_double(),
        nl_type_decimal(9, 2), nl_type_decimal(38, 10), nl_type_string(), nl_type_binary(), nl_type_of(NL_TYPE_DATE), nl_type_of(NL_TYPE_TIMESTAMP), nl_type_of(NL_TYPE_TIMESTAMP_NTZ),
    };
    enum { FLAT = NL_COUNT(flat) };
    nl_field fields[FLAT + 4], inner[2] = {{.name = NL_STR("x"), .type = nl_type_bigint(), .is_nullable = true, .field_id = 50}, {.name = NL_STR("y"), .type = nl_type_string(), .is_nullable = true, .field_id = 51}};
    memset(fields, 0, sizeof(fields));
    for (int32_t i = 0; i < (int32_t)FLAT; i++) fields[i] = (nl_field){.name = nl_arena_f(arena, "c%d", i), .type = flat[i], .is_nullable = true, .field_id = i + 1};
    const nl_type *row = nl_type_struct(arena, inner, 2);
    fields[FLAT] = (nl_field){.name = NL_STR("list"), .type = nl_type_array(arena, row, true), .is_nullable = true, .field_id = 30};
    fields[FLAT + 1] = (nl_field){.name = NL_STR("map"), .type = nl_type_map(arena, nl_type_string(), nl_type_array(arena, nl_type_double(), true), true), .is_nullable = true, .field_id = 31};
    fields[FLAT + 2] = (nl_field){.name = NL_STR("row"), .type = row, .is_nullable = true, .field_id = 32};
    fields[FLAT + 3] = (nl_field){.name = NL_STR("id"), .type = nl_type_bigint(), .is_nullable = false, .field_id = 33};
    return nl_type_struct(arena, fields, FLAT + 4);
}

static void add_scalar(nl_column_builder *builder, const nl_type *type)
{
    const uint32_t pick = random_below(random_below(2) ? 8 : 100000);
    char text[64];
    switch ((int)type->id) {
    case NL_TYPE_DECIMAL: must(nl_column_builder_i128(builder, ((nl_int128)pick - 40000) * (type->precision > 18 ? (nl_int128)1 << 60 : 1))); return;
    case NL_TYPE_FLOAT:
    case NL_TYPE_DOUBLE: must(nl_column_builder_f64(builder, pick == 0 ? (double)NAN : pick / 8.0 - 100.0)); return;
    case NL_TYPE_STRING:
    case NL_TYPE_BINARY: {
        const int length = snprintf(text, sizeof(text), "%u%s", pick, pick % 3 ? "" : " with many more characters");
        must(nl_column_builder_str(builder, (nl_str){text, pick == 5 ? 0 : (size_t)length}));
        return;
    }
    case NL_TYPE_BOOLEAN: must(nl_column_builder_i64(builder, pick & 1)); return;
    case NL_TYPE_TINYINT: must(nl_column_builder_i64(builder, (int8_t)(pick * 37))); return;
    case NL_TYPE_SMALLINT: must(nl_column_builder_i64(builder, (int16_t)(pick * 7919))); return;
    case NL_TYPE_INT: must(nl_column_builder_i64(builder, (int32_t)(pick * 2654435761u))); return;
    case NL_TYPE_DATE: must(nl_column_builder_i64(builder, (int32_t)pick - 20000)); return;
    case NL_TYPE_TIMESTAMP:
    case NL_TYPE_TIMESTAMP_NTZ: must(nl_column_builder_i64(builder, pick % 5 ? (int64_t)pick * 1000003 * 1001 - 60000000000000 : (int64_t)pick * 1000000)); return;
    default: must(nl_column_builder_i64(builder, pick < 4 ? (int64_t)pick : (int64_t)(pick * 0x9e3779b97f4a7c15ull))); return;
    }
}

/* True recursion over the test's types. */
static void add_random(nl_column_builder *builder, const nl_type *type, bool is_nullable, uint32_t nulls)
{
    if (is_nullable && random_below(100) < nulls) {
        must(nl_column_builder_null(builder));
    } else if (type->id == NL_TYPE_ARRAY || type->id == NL_TYPE_MAP) {
        const uint32_t count = random_below(5);
        for (uint32_t k = 0; k < count; k++)
            for (uint32_t i = 0; i < type->child_count; i++)
                add_random(nl_column_builder_child(builder, i), type->children[i].type, type->id == NL_TYPE_ARRAY || i == 1, nulls);
        must(nl_column_builder_end_list(builder, count));
    } else if (type->id == NL_TYPE_STRUCT) {
        for (uint32_t i = 0; i < type->child_count; i++) add_random(nl_column_builder_child(builder, i), type->children[i].type, true, nulls);
        must(nl_column_builder_end_struct(builder));
    } else {
        add_scalar(builder, type);
    }
}

static void make_batch(const nl_type *type, uint32_t rows, uint32_t nulls, uint64_t first_id, nl_batch *batch)
{
    must(nl_batch_init(batch, type->child_count, rows));
    for (uint32_t c = 0; c < type->child_count; c++) {
        nl_column_builder *builder = NULL;
        must(nl_column_builder_new(type->children[c].type, NULL, &builder));
        for (uint32_t row = 0; row < rows; row++) {
            if (!type->children[c].is_nullable) must(nl_column_builder_i64(builder, (int64_t)(first_id + row)));
            else add_random(builder, type->children[c].type, true, nulls);
        }
        must(nl_column_builder_finish(builder, &batch->columns[c]));
        nl_column_builder_free(builder);
    }
}

#define BATCHES 6u
#define ROWS    2000u

typedef struct written {
    nl_fs *fs;
    nl_arena *arena;
    const nl_type *type;
    nl_batch batches[BATCHES];
    nl_written_file facts;
} written;

static void write_file(written *self, const nl_orc_write_options *options, uint32_t nulls)
{
    nl_output *output = NULL;
    nl_orc_writer *writer = NULL;
    *self = (written){.fs = nl_fs_memory_new(), .arena = nl_arena_new(NULL)};
    self->type = every_type(self->arena);
    must(nl_fs_create(self->fs, NL_STR("memory:/x.orc"), &output));
    must(nl_orc_writer_create(output, self->type, options, NULL, &writer));
    for (uint32_t i = 0; i < BATCHES; i++) {
        make_batch(self->type, ROWS, nulls, i * ROWS, &self->batches[i]);
        must(nl_orc_writer_append(writer, &self->batches[i]));
    }
    must(nl_orc_writer_close(writer, self->arena, &self->facts));
}

static void forget_file(written *self)
{
    for (uint32_t i = 0; i < BATCHES; i++) nl_batch_fini(&self->batches[i]);
    nl_arena_free(self->arena);
    nl_fs_release(self->fs);
}

typedef struct opened {
    nl_file *file;
    nl_orc_tail *tail;
    nl_orc_reader *reader;
} opened;

static void open_written(const written *self, bool is_plain, opened *out)
{
    const nl_orc_read_options options = {.match = is_plain ? NL_ORC_MATCH_NAME_NOCASE : NL_ORC_MATCH_FIELD_ID, .is_hybrid = is_plain};
    *out = (opened){0};
    must(nl_fs_open(self->fs, NL_STR("memory:/x.orc"), &out->file));
    must(nl_orc_tail_read(out->file, NULL, &out->tail));
    must(nl_orc_reader_open(out->file, out->tail, self->type, &options, NULL, &out->reader));
}

static void close_opened(opened *self)
{
    nl_orc_reader_release(self->reader);
    nl_orc_tail_release(self->tail);
    nl_file_close(self->file);
}

static void check_rows(const written *self, const nl_vector *got, uint32_t column, uint64_t file_row, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const nl_vector *expected = &self->batches[(file_row + i) / ROWS].columns[column];
        const uint32_t row = (uint32_t)((file_row + i) % ROWS);
        const bool is_null = nl_vector_is_null(expected, row);
        if (is_null != nl_vector_is_null(got, i) || (!is_null && !nl_vector_row_equal(expected, row, got, i)))
            fail_msg("column %u differs in row %llu", column, (unsigned long long)(file_row + i));
    }
}

static void check_all(const written *self, bool is_plain)
{
    opened file;
    uint64_t rows = 0;
    open_written(self, is_plain, &file);
    for (uint32_t s = 0; s < file.tail->stripe_count; s++) {
        nl_orc_scan *scan = NULL;
        must(nl_orc_scan_open(file.reader, s, NULL, &scan));
        for (;;) {
            nl_batch batch = {0};
            nl_orc_window window;
            must(nl_orc_scan_next(scan, &batch, &window));
            for (uint32_t c = 0; c < batch.column_count && window.row_count > 0; c++) check_rows(self, &batch.columns[c], c, window.file_row, window.row_count);
            rows += window.row_count;
            nl_batch_fini(&batch);
            if (window.row_count == 0) break;
        }
        nl_orc_scan_close(scan);
    }
    assert_int_equal(rows, BATCHES * ROWS);
    close_opened(&file);
}

static void test_what_is_written_is_read_with_every_codec_and_kind_of_file(void **state)
{
    (void)state;
    static const nl_codec codecs[] = {NL_CODEC_NONE, NL_CODEC_DEFLATE, NL_CODEC_SNAPPY, NL_CODEC_LZ4_RAW, NL_CODEC_ZSTD, NL_CODEC_BROTLI};
    for (uint32_t i = 0; i < NL_COUNT(codecs); i++)
        for (uint32_t nulls = 0; nulls <= 100; nulls += i % 2 ? 100 : 30) {
            const nl_orc_write_options options = {.codec = codecs[i], .is_iceberg = i % 2, .stripe_bytes = nulls == 30 ? 200000 : 0, .row_index_stride = nulls == 60 ? 1000 : 0};
            written self;
            random_state = 7 * i + nulls;
            write_file(&self, &options, nulls);
            assert_int_equal(self.facts.row_count, BATCHES * ROWS);
            if (nulls == 30) assert_true(self.facts.split_offset_count > 1);
            check_all(&self, !options.is_iceberg);
            forget_file(&self);
        }
}

static void test_rows_are_found_through_the_row_index(void **state)
{
    (void)state;
    static const nl_codec codecs[] = {NL_CODEC_NONE, NL_CODEC_ZSTD};
    for (uint32_t i = 0; i < NL_COUNT(codecs); i++) {
        const nl_orc_write_options options = {.codec = codecs[i], .is_iceberg = true, .row_index_stride = 500};
        const nl_orc_rows ranges[] = {{3, 2}, {777, 1}, {2500, 600}, {8999, 3}, {11999, 1}};
        written self;
        opened file;
        nl_orc_scan *scan = NULL;
        nl_orc_window window;
        write_file(&self, &options, 20);
        open_written(&self, false, &file);
        must(nl_orc_scan_open(file.reader, 0, NULL, &scan));
        must(nl_orc_scan_restrict(scan, ranges, NL_COUNT(ranges)));
        for (uint32_t at = 0;; at++) {
            nl_orc_scan_advance(scan, &window);
            if (window.row_count == 0) break;
            assert_int_equal(window.file_row, ranges[at].first_row);
            for (uint32_t c = at % 2; c < self.type->child_count; c += 1 + at % 3) { /* some columns stay behind */
                nl_vector vector = {0};
                must(nl_orc_scan_read(scan, c, NULL, &vector));
                check_rows(&self, &vector, c, window.file_row, window.row_count);
                nl_vector_fini(&vector);
            }
        }
        nl_orc_scan_close(scan);
        close_opened(&file);
        forget_file(&self);
    }
}

static void test_statistics_bound_what_they_tell_of(void **state)
{
    (void)state;
    const nl_orc_write_options options = {.codec = NL_CODEC_DEFLATE, .is_iceberg = true, .row_index_stride = 1000};
    written self;
    opened file;
    write_file(&self, &options, 20);
    open_written(&self, false, &file);
    for (int32_t id = 1; id <= 14; id++) {
        nl_orc_bounds *groups = NULL;
        uint32_t group_count = 0;
        uint64_t group_rows = 0;
        must(nl_orc_group_bounds(file.reader, 0, id, self.arena, &groups, &group_count, &group_rows));
        assert_int_equal(group_count, 12);
        for (uint64_t row = 0; row < BATCHES * ROWS; row++) {
            const nl_vector *column = &self.batches[row / ROWS].columns[id - 1];
            const nl_orc_bounds *group = &groups[row / group_rows];
            const nl_value value = nl_vector_value(column, (uint32_t)(row % ROWS), self.arena);
            if (value.is_null) {
                assert_true(group->may_have_null);
                continue;
            }
            if ((value.type->id == NL_TYPE_FLOAT || value.type->id == NL_TYPE_DOUBLE) && isnan(value.real)) continue;
            if (group->has_min) assert_true(nl_value_compare(&value, &group->min) >= 0);
            if (group->has_max) assert_true(nl_value_compare(&value, &group->max) <= 0);
        }
        const bool has_none = id == 11 || id == 14; /* binary; wall-clock times */
        assert_int_equal(groups[0].has_min, !has_none);
    }
    assert_int_equal(self.facts.leaves[0].value_count, BATCHES * ROWS);
    assert_true(self.facts.leaves[0].null_count > 0);
    close_opened(&file);
    forget_file(&self);
}

static void test_a_null_of_a_required_column_is_refused(void **state)
{
    (void)state;
    const nl_orc_write_options options = {.is_iceberg = true};
    nl_fs *fs = nl_fs_memory_new();
    nl_arena *arena = nl_arena_new(NULL);
    const nl_field field = {.name = NL_STR("id"), .type = nl_type_int(), .field_id = 1};
    const nl_type *type = nl_type_struct(arena, &field, 1);
    nl_output *output = NULL;
    nl_orc_writer *writer = NULL;
    nl_batch batch = {0};
    must(nl_fs_create(fs, NL_STR("memory:/y.orc"), &output));
    must(nl_orc_writer_create(output, type, &options, NULL, &writer));
    must(nl_batch_init(&batch, 1, 1));
    must(nl_vector_new_null(&batch.columns[0], nl_type_int(), 1, NULL));
    nl_status status = nl_orc_writer_append(writer, &batch);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NOT_NULL_ASSERT_VIOLATION);
    nl_error_free(status);
    nl_batch_fini(&batch);
    nl_orc_writer_abort(writer);
    nl_arena_free(arena);
    nl_fs_release(fs);
}

static void read_damaged(nl_fs *fs, const nl_type *type, nl_memory *memory)
{
    const nl_orc_read_options options = {.match = NL_ORC_MATCH_NAME};
    nl_file *file = NULL;
    nl_orc_tail *tail = NULL;
    nl_orc_reader *reader = NULL;
    must(nl_fs_open(fs, NL_STR("memory:/z.orc"), &file));
    nl_status status = nl_orc_tail_read(file, memory, &tail);
    if (!status) status = nl_orc_reader_open(file, tail, type, &options, memory, &reader);
    for (uint32_t s = 0; !status && s < tail->stripe_count; s++) {
        nl_orc_scan *scan = NULL;
        const nl_orc_rows rows = {tail->stripes[s].row_count / 2, NL_MIN(tail->stripes[s].row_count - tail->stripes[s].row_count / 2, (uint64_t)4000)};
        status = nl_orc_scan_open(reader, s, memory, &scan);
        if (!status && s % 2) status = nl_orc_scan_restrict(scan, &rows, 1);
        for (uint32_t n = 0; !status && n < 4; n++) {
            nl_batch batch = {0};
            nl_orc_window window;
            status = nl_orc_scan_next(scan, &batch, &window);
            nl_batch_fini(&batch);
        }
        nl_orc_scan_close(scan);
    }
    nl_error_free(status);
    nl_orc_reader_release(reader);
    nl_orc_tail_release(tail);
    nl_file_close(file);
}

static void test_damaged_files_are_errors_and_no_more(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "test", 64u << 20);
    for (uint32_t kind = 0; kind < 2; kind++) {
        const nl_orc_write_options options = {.codec = kind ? NL_CODEC_SNAPPY : NL_CODEC_NONE, .is_iceberg = true, .stripe_bytes = 150000, .row_index_stride = 500};
        written self;
        nl_buffer *content = NULL;
        random_state = 99 + kind;
        write_file(&self, &options, 20);
        must(nl_fs_read_all(self.fs, NL_STR("memory:/x.orc"), 64u << 20, &content));
        for (uint32_t round = 0; round < 400; round++) {
            nl_buffer *copy = NULL;
            must(nl_buffer_new(NULL, content->size_bytes, false, &copy));
            memcpy(copy->data, content->data, content->size_bytes);
            const size_t tail = NL_MIN(content->size_bytes, (size_t)6000);
            for (uint32_t k = 0; k <= round % 3; k++) {
                const size_t at = round % 2 ? random_below((uint32_t)content->size_bytes) : content->size_bytes - 1 - random_below((uint32_t)tail);
                copy->data[at] = (uint8_t)random_below(256);
            }
            const size_t length = round % 5 == 4 ? random_below((uint32_t)content->size_bytes) : content->size_bytes;
            must(nl_fs_write_all(self.fs, NL_STR("memory:/z.orc"), (nl_bytes){copy->data, length}));
            read_damaged(self.fs, self.type, memory);
            nl_buffer_release(copy);
        }
        nl_buffer_release(content);
        forget_file(&self);
    }
    nl_memory_trim_thread();
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read_with_every_codec_and_kind_of_file),
        cmocka_unit_test(test_rows_are_found_through_the_row_index),
        cmocka_unit_test(test_statistics_bound_what_they_tell_of),
        cmocka_unit_test(test_a_null_of_a_required_column_is_refused),
        cmocka_unit_test(test_damaged_files_are_errors_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
