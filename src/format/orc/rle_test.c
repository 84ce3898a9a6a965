#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "format/orc/rle.h"
#include "format/orc/rebase.h"
#include "base/calendar.h"

/* A file in memory that is one stream. */
typedef struct fixture {
    nl_fs *fs;
    nl_file *file;
    nl_orc_store store;
    nl_orc_stream stream;
} fixture;

static void open_bytes(fixture *self, const uint8_t *bytes, size_t length)
{
    *self = (fixture){.fs = nl_fs_memory_new()};
    assert_null(nl_fs_write_all(self->fs, NL_STR("memory:/x"), (nl_bytes){bytes, length}));
    assert_null(nl_fs_open(self->fs, NL_STR("memory:/x"), &self->file));
    self->store = (nl_orc_store){.file = self->file, .codec = NL_CODEC_NONE, .chunk_max = 256u << 10, .fetch_bytes = 5}; /* values go over the ends of blocks */
    nl_orc_stream_init(&self->stream, &self->store, 0, length, NL_STR("c"));
}

static void close_bytes(fixture *self)
{
    nl_orc_stream_fini(&self->stream);
    nl_file_close(self->file);
    nl_fs_release(self->fs);
}

typedef struct example { /* of the specification's pages */
    const char *what;
    bool is_v2, is_signed;
    uint8_t bytes[32];
    size_t length;
    int64_t values[100];
    uint32_t count;
} example;

static const example examples[] = {
    {"v1 run", false, false, {0x61, 0x00, 0x07}, 3, {[0 ... 99] = 7}, 100},
    {"v1 literals", false, false, {0xfb, 0x02, 0x03, 0x06, 0x07, 0x0b}, 6, {2, 3, 6, 7, 11}, 5},
    {"short repeat", true, false, {0x0a, 0x27, 0x10}, 3, {10000, 10000, 10000, 10000, 10000}, 5},
    {"direct", true, false, {0x5e, 0x03, 0x5c, 0xa1, 0xab, 0x1e, 0xde, 0xad, 0xbe, 0xef}, 10, {23713, 43806, 57005, 48879}, 4},
    {"patched base",
     true,
     false,
     {0x8e, 0x13, 0x2b, 0x21, 0x07, 0xd0, 0x1e, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3c, 0x46, 0x50, 0x5a, 0x64, 0x6e, 0x78, 0x82, 0x8c, 0x96, 0xa0, 0xaa, 0xb4, 0xbe, 0xfc, 0xe8},
     28,
     {2030, 2000, 2020, 1000000, 2040, 2050, 2060, 2070, 2080, 2090, 2100, 2110, 2120, 2130, 2140, 2150, 2160, 2170, 2180, 2190},
     20},
    {"delta", true, false, {0xc6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46}, 8, {2, 3, 5, 7, 11, 13, 17, 19, 23, 29}, 10},
};

static void test_the_specifications_examples_are_read(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NL_COUNT(examples); i++) {
        const example *row = &examples[i];
        fixture self;
        int64_t got[100];
        static nl_orc_int_reader reader;
        open_bytes(&self, row->bytes, row->length);
        nl_orc_int_reader_init(&reader, &self.stream, row->is_v2, row->is_signed);
        nl_orc_int_reader_read(&reader, got, row->count / 2); /* in two pieces */
        nl_orc_int_reader_read(&reader, got + row->count / 2, row->count - row->count / 2);
        assert_null(nl_orc_stream_status(&self.stream));
        for (uint32_t k = 0; k < row->count; k++)
            if (got[k] != row->values[k]) fail_msg("%s: value %u is %lld", row->what, k, (long long)got[k]);
        close_bytes(&self);
    }
}

static void test_a_run_that_goes_down_is_read(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x61, 0xff, 0x64};
    static nl_orc_int_reader reader;
    fixture self;
    int64_t value;
    open_bytes(&self, bytes, sizeof(bytes));
    nl_orc_int_reader_init(&reader, &self.stream, false, false);
    nl_orc_int_reader_skip(&reader, 99);
    nl_orc_int_reader_read(&reader, &value, 1);
    assert_int_equal(value, 1);
    close_bytes(&self);
}

static void test_every_cut_of_an_example_is_an_error_and_reads_nothing_beyond(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NL_COUNT(examples); i++)
        for (size_t length = 0; length < examples[i].length; length++) {
            static nl_orc_int_reader reader;
            static int64_t got[2000];
            fixture self;
            open_bytes(&self, examples[i].bytes, length);
            nl_orc_int_reader_init(&reader, &self.stream, examples[i].is_v2, examples[i].is_signed);
            nl_orc_int_reader_read(&reader, got, NL_COUNT(got));
            nl_status status = nl_orc_stream_status(&self.stream);
            assert_non_null(status);
            assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
            nl_error_free(status);
            close_bytes(&self);
        }
}

static void test_bytes_and_bits_are_read(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x61, 0x00, 0xfe, 0x44, 0x45}, bits[] = {0xff, 0x80, 0xfe, 0xa0, 0x01};
    uint8_t got[102], mask[3];
    nl_orc_byte_reader reader;
    nl_orc_bit_reader bit_reader;
    fixture self;
    open_bytes(&self, bytes, sizeof(bytes));
    nl_orc_byte_reader_init(&reader, &self.stream);
    nl_orc_byte_reader_read(&reader, got, sizeof(got));
    assert_int_equal(got[0], 0);
    assert_int_equal(got[99], 0);
    assert_int_equal(got[100], 0x44);
    assert_int_equal(got[101], 0x45);
    close_bytes(&self);
    open_bytes(&self, bits, sizeof(bits));
    nl_orc_bit_reader_init(&bit_reader, &self.stream);
    assert_int_equal(nl_orc_bit_reader_read(&bit_reader, mask, 19), 3); /* 1000 0000 1010 0000 000(0 0001) */
    assert_int_equal(mask[0], 1);
    assert_int_equal(mask[1], 5);
    assert_int_equal(mask[2], 0);
    assert_int_equal(nl_orc_bit_reader_skip(&bit_reader, 5), 1);
    close_bytes(&self);
}

static void test_lengths_that_cannot_be_are_refused(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0xc1, 0xff, 0x02, 0x02}; /* 512 numbers from 2 up */
    static nl_orc_int_reader reader;
    fixture self;
    open_bytes(&self, bytes, sizeof(bytes));
    nl_orc_int_reader_init(&reader, &self.stream, true, false);
    assert_int_equal(nl_orc_int_reader_sum(&reader, 512, 100), 0);
    nl_status status = nl_orc_stream_status(&self.stream);
    assert_non_null(status);
    nl_error_free(status);
    close_bytes(&self);
}

static void test_dates_keep_their_fields_in_both_calendars(void **state)
{
    (void)state;
    assert_int_equal(nl_orc_days_to_hybrid(nl_days_from_civil(1400, 1, 1)), -208180); /* as Spark stores it */
    assert_int_equal(nl_orc_days_from_hybrid(-208180), nl_days_from_civil(1400, 1, 1));
    assert_int_equal(nl_orc_days_to_hybrid(nl_days_from_civil(1582, 10, 4)), NL_ORC_GREGORIAN_START - 1);
    assert_int_equal(nl_orc_days_to_hybrid(nl_days_from_civil(1582, 10, 7)), NL_ORC_GREGORIAN_START);
    assert_int_equal(nl_orc_days_from_hybrid(NL_ORC_GREGORIAN_START), NL_ORC_GREGORIAN_START);
    for (int64_t days = -800000; days < NL_ORC_GREGORIAN_START - 11; days += 7)
        assert_int_equal(nl_orc_days_from_hybrid(nl_orc_days_to_hybrid(days)), days);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_specifications_examples_are_read),
        cmocka_unit_test(test_a_run_that_goes_down_is_read),
        cmocka_unit_test(test_every_cut_of_an_example_is_an_error_and_reads_nothing_beyond),
        cmocka_unit_test(test_bytes_and_bits_are_read),
        cmocka_unit_test(test_lengths_that_cannot_be_are_refused),
        cmocka_unit_test(test_dates_keep_their_fields_in_both_calendars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
