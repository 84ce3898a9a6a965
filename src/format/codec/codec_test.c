#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/codec/codec.h"

#include <stdlib.h>

static const nl_codec codecs[] = {NL_CODEC_NONE,    NL_CODEC_ZSTD,       NL_CODEC_GZIP,      NL_CODEC_DEFLATE, NL_CODEC_ZLIB, NL_CODEC_SNAPPY,
                                  NL_CODEC_LZ4_RAW, NL_CODEC_LZ4_HADOOP, NL_CODEC_LZ4_FRAME, NL_CODEC_BROTLI};
static const size_t lengths[] = {0, 1, 63, 4096, 131072, 131073, 700001};

static void fill(uint8_t *bytes, size_t length, uint32_t noise)
{
    uint32_t state = 12345;
    for (size_t i = 0; i < length; i++) {
        state = state * 1103515245u + 12345u;
        bytes[i] = (uint8_t)((state >> 16) % noise);
    }
}

static void check_round_trip(nl_codec_context *context, nl_codec codec, nl_bytes in)
{
    const size_t bound = nl_codec_bound(codec, in.length);
    uint8_t *stored = malloc(bound + 1);
    uint8_t *back = malloc(in.length + 1);
    size_t stored_length = 0;
    assert_null(nl_codec_compress(context, codec, NL_CODEC_LEVEL_DEFAULT, in, stored, bound, &stored_length));
    assert_true(stored_length <= bound);
    const nl_bytes packed = {stored, stored_length};
    assert_null(nl_codec_decompress(context, codec, packed, back, in.length));
    assert_memory_equal(back, in.data, in.length);
    /* An announcement that is wrong in either direction is never a result. */
    if (in.length > 0) assert_non_null(nl_codec_decompress(context, codec, packed, back, in.length - 1));
    if (in.length > 1) {
        const nl_bytes cut = {stored, stored_length / 2};
        assert_non_null(nl_codec_decompress(context, codec, cut, back, in.length));
    }
    free(stored);
    free(back);
}

static void test_every_codec_gives_back_what_it_took(void **state)
{
    (void)state;
    nl_codec_context *context = nl_codec_context_new(NULL);
    for (size_t c = 0; c < NL_COUNT(codecs); c++) {
        for (size_t l = 0; l < NL_COUNT(lengths); l++) {
            uint8_t *bytes = malloc(lengths[l] + 1);
            for (uint32_t noise = 2; noise <= 256; noise *= 128) {
                fill(bytes, lengths[l], noise);
                check_round_trip(context, codecs[c], (nl_bytes){bytes, lengths[l]});
            }
            free(bytes);
        }
    }
    nl_codec_context_free(context);
}

static void test_unannounced_sizes_grow_up_to_the_limit(void **state)
{
    (void)state;
    static const nl_codec growing[] = {NL_CODEC_NONE, NL_CODEC_ZSTD, NL_CODEC_DEFLATE, NL_CODEC_SNAPPY, NL_CODEC_BROTLI};
    nl_codec_context *context = nl_codec_context_new(NULL);
    const size_t length = 500000;
    uint8_t *bytes = calloc(1, length);
    for (size_t c = 0; c < NL_COUNT(growing); c++) {
        const size_t bound = nl_codec_bound(growing[c], length);
        uint8_t *stored = malloc(bound);
        size_t stored_length = 0;
        assert_null(nl_codec_compress(context, growing[c], NL_CODEC_LEVEL_DEFAULT, (nl_bytes){bytes, length}, stored, bound, &stored_length));
        nl_buffer *out = NULL;
        const char *problem = NULL;
        const nl_bytes packed = {stored, stored_length};
        assert_null(nl_codec_decompress_grow(context, growing[c], packed, length, NULL, &out, &problem));
        assert_null(problem);
        assert_int_equal(out->size_bytes, length);
        assert_memory_equal(out->data, bytes, length);
        nl_buffer_release(out);
        assert_null(nl_codec_decompress_grow(context, growing[c], packed, length - 1, NULL, &out, &problem));
        assert_non_null(problem);
        free(stored);
    }
    free(bytes);
    nl_codec_context_free(context);
}

static void test_gzip_members_follow_each_other(void **state)
{
    (void)state;
    nl_codec_context *context = nl_codec_context_new(NULL);
    uint8_t stored[256];
    uint8_t back[6];
    size_t first = 0;
    size_t second = 0;
    assert_null(nl_codec_compress(context, NL_CODEC_GZIP, 6, (nl_bytes){(const uint8_t *)"abc", 3}, stored, 128, &first));
    assert_null(nl_codec_compress(context, NL_CODEC_GZIP, 6, (nl_bytes){(const uint8_t *)"def", 3}, stored + first, 128, &second));
    assert_null(nl_codec_decompress(context, NL_CODEC_GZIP, (nl_bytes){stored, first + second}, back, 6));
    assert_memory_equal(back, "abcdef", 6);
    nl_codec_context_free(context);
}

static void test_raw_blocks_under_the_hadoop_name_are_read(void **state)
{
    (void)state;
    nl_codec_context *context = nl_codec_context_new(NULL);
    uint8_t bytes[1000];
    uint8_t stored[2000];
    uint8_t back[1000];
    fill(bytes, sizeof(bytes), 4);
    static const nl_codec others[] = {NL_CODEC_LZ4_RAW, NL_CODEC_LZ4_FRAME};
    for (size_t i = 0; i < NL_COUNT(others); i++) {
        size_t length = 0;
        assert_null(nl_codec_compress(context, others[i], 0, (nl_bytes){bytes, sizeof(bytes)}, stored, sizeof(stored), &length));
        assert_null(nl_codec_decompress(context, NL_CODEC_LZ4_HADOOP, (nl_bytes){stored, length}, back, sizeof(back)));
        assert_memory_equal(back, bytes, sizeof(bytes));
    }
    nl_codec_context_free(context);
}

static void test_an_impossible_level_is_an_error(void **state)
{
    (void)state;
    nl_codec_context *context = nl_codec_context_new(NULL);
    uint8_t stored[256];
    size_t length = 0;
    nl_status status = nl_codec_compress(context, NL_CODEC_GZIP, 99, (nl_bytes){(const uint8_t *)"abc", 3}, stored, 256, &length);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_ILLEGAL_ARGUMENT);
    nl_error_free(status);
    nl_codec_context_free(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_codec_gives_back_what_it_took),
        cmocka_unit_test(test_unannounced_sizes_grow_up_to_the_limit),
        cmocka_unit_test(test_gzip_members_follow_each_other),
        cmocka_unit_test(test_raw_blocks_under_the_hadoop_name_are_read),
        cmocka_unit_test(test_an_impossible_level_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
