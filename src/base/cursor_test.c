/* base/cursor_test.c - reading from bytes that may lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cursor.h"

static nl_cursor over(const void *bytes, size_t length)
{
    return nl_cursor_over(bytes, length, NL_STR("/x.parquet"));
}

static void test_fixed_reads_are_little_endian(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 1, 2, 3, 4, 5, 6, 7, 8};
    nl_cursor in = over(bytes, sizeof bytes);
    assert_int_equal(nl_cursor_u8(&in), 1);
    assert_int_equal(nl_cursor_u16(&in), 0x0302);
    assert_int_equal(nl_cursor_u32(&in), 0x07060504);
    assert_int_equal(nl_cursor_u64(&in), 0x0f0e0d0c0b0a0908);
    nl_cursor_skip(&in, 1);
    assert_int_equal(nl_cursor_u32_be(&in), 0x01020304);
    assert_int_equal(nl_cursor_u64_be(&in), 0x0102030405060708);
    assert_int_equal(nl_cursor_remaining(&in), 0);
    assert_null(nl_cursor_status(&in));
}

static void test_floating_point_is_read_bit_by_bit(void **state)
{
    (void)state;
    float f = 1.5f;
    double d = -2.25;
    uint8_t bytes[12];
    memcpy(bytes, &f, 4);
    memcpy(bytes + 4, &d, 8);
    nl_cursor in = over(bytes, 12);
    assert_true(nl_cursor_f32(&in) == 1.5f);
    assert_true(nl_cursor_f64(&in) == -2.25);
}

static void test_the_first_failure_sticks_and_moves_nothing(void **state)
{
    (void)state;
    nl_cursor in = over("\x01\x02\x03", 3);
    in.file_offset = 100;
    in.column = NL_STR("price");
    assert_int_equal(nl_cursor_u16(&in), 0x0201);
    assert_int_equal(nl_cursor_u32(&in), 0);
    assert_int_equal(nl_cursor_u8(&in), 0); /* one byte is left, but the cursor has failed */
    assert_null(nl_cursor_bytes(&in, 0).data);
    assert_int_equal(nl_cursor_uvarint(&in), 0);
    assert_int_equal(in.offset, 2);
    nl_status status = nl_cursor_status(&in);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
    assert_int_equal(nl_error_kind_of(status), NL_KIND_DATA);
    assert_string_equal(nl_error_param(status, "path"), "/x.parquet");
    assert_string_equal(nl_error_param(status, "offset"), "102");
    assert_non_null(strstr(nl_error_message(status), "damaged at byte 102 in column price: "));
    nl_error_free(status);
}

static void test_lengths_beyond_the_end_do_not_wrap(void **state)
{
    (void)state;
    nl_cursor in = over("abc", 3);
    nl_cursor_skip(&in, 1);
    assert_null(nl_cursor_bytes(&in, SIZE_MAX).data);
    assert_true(in.has_failed);
    in = over("abc", 3);
    nl_cursor_skip(&in, SIZE_MAX - 1);
    assert_true(in.has_failed);
    in = over("abc", 3);
    nl_bytes all = nl_cursor_bytes(&in, 3);
    assert_int_equal(all.length, 3);
    assert_false(in.has_failed);
    in = over(NULL, 0);
    assert_int_equal(nl_cursor_u8(&in), 0);
    assert_true(in.has_failed);
}

static void test_variable_length_integers(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        bool is_good;
        uint64_t value;
    } cases[] = {
        {"\x00", 1, true, 0},
        {"\x7f", 1, true, 127},
        {"\x80\x01", 2, true, 128},
        {"\xff\xff\xff\xff\x0f", 5, true, UINT32_MAX},
        {"\x80\x80\x80\x80\x10", 5, true, 1ull << 32},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, true, UINT64_MAX},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, false, 0}, /* a 65th bit      */
        {"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00", 11, false, 0}, /* an eleventh byte */
        {"\x80", 1, false, 0},
        {"", 0, false, 0},
    };
    for (size_t i = 0; i < NL_COUNT(cases); i++) {
        nl_cursor in = over(cases[i].bytes, cases[i].length);
        assert_int_equal(nl_cursor_uvarint(&in), cases[i].value);
        assert_int_equal(in.has_failed, !cases[i].is_good);
        assert_int_equal(in.offset, cases[i].is_good ? cases[i].length : 0);
        in = over(cases[i].bytes, cases[i].length);
        bool fits = cases[i].is_good && cases[i].value <= UINT32_MAX;
        assert_int_equal(nl_cursor_uvarint32(&in), fits ? cases[i].value : 0);
        assert_int_equal(in.has_failed, !fits);
    }
}

static void test_zigzag(void **state)
{
    (void)state;
    nl_cursor in = over("\x00\x01\x02\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14);
    assert_int_equal(nl_cursor_zigzag(&in), 0);
    assert_int_equal(nl_cursor_zigzag(&in), -1);
    assert_int_equal(nl_cursor_zigzag(&in), 1);
    assert_int_equal(nl_cursor_zigzag(&in), -2);
    assert_int_equal(nl_cursor_zigzag(&in), INT64_MIN);
}

static void test_a_corruption_has_its_own_words(void **state)
{
    (void)state;
    nl_cursor in = over("abc", 3);
    nl_cursor_skip(&in, 2);
    nl_status status = nl_cursor_corrupt(&in, "page of %u bytes", 7u);
    assert_string_equal(nl_error_param(status, "problem"), "page of 7 bytes");
    assert_string_equal(nl_error_param(status, "offset"), "2");
    assert_string_equal(nl_error_param(status, "column"), "");
    nl_error_free(status);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fixed_reads_are_little_endian),
        cmocka_unit_test(test_floating_point_is_read_bit_by_bit),
        cmocka_unit_test(test_the_first_failure_sticks_and_moves_nothing),
        cmocka_unit_test(test_lengths_beyond_the_end_do_not_wrap),
        cmocka_unit_test(test_variable_length_integers),
        cmocka_unit_test(test_zigzag),
        cmocka_unit_test(test_a_corruption_has_its_own_words),
    };
    return cmocka_run_group_tests_name("base/cursor", tests, NULL, NULL);
}
