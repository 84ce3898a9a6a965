#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/thrift.h"

static nl_cursor over(const nl_builder *bytes)
{
    return nl_cursor_over(bytes->data, bytes->length, NL_STR("t"));
}

static void test_what_is_written_is_read_back(void **state)
{
    (void)state;
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    int16_t last = 0;
    nl_thrift_put_bool(&out, &last, 1, true);
    nl_thrift_put_i32(&out, &last, 2, -5);
    nl_thrift_put_i64(&out, &last, 30, INT64_MIN);
    nl_thrift_put_str(&out, &last, 31, NL_STR("hello"));
    nl_thrift_put_list(&out, &last, 32, NL_THRIFT_I32, 20);
    for (int32_t i = 0; i < 20; i++) nl_thrift_element_put_i32(&out, i * 1000);
    nl_thrift_put_empty_struct(&out, &last, 33);
    nl_thrift_put_i8(&out, &last, 34, -1);
    nl_thrift_end(&out);

    nl_cursor in = over(&out);
    nl_thrift_field field = {0};
    bool flag = false;
    int32_t small = 0;
    int64_t wide = 0;
    nl_bytes text = {0};
    uint32_t count = 0;
    assert_true(nl_thrift_next(&in, &field) && field.id == 1 && nl_thrift_bool(&in, &field, &flag) && flag);
    assert_true(nl_thrift_next(&in, &field) && field.id == 2 && nl_thrift_i32(&in, &field, &small));
    assert_int_equal(small, -5);
    assert_true(nl_thrift_next(&in, &field) && field.id == 30 && nl_thrift_i64(&in, &field, &wide));
    assert_true(wide == INT64_MIN);
    assert_true(nl_thrift_next(&in, &field) && nl_thrift_binary(&in, &field, &text) && text.length == 5);
    assert_true(nl_thrift_next(&in, &field) && nl_thrift_list(&in, &field, NL_THRIFT_I32, &count));
    assert_int_equal(count, 20);
    for (int32_t i = 0; i < 20; i++) assert_int_equal(nl_thrift_element_i32(&in), i * 1000);
    assert_true(nl_thrift_next(&in, &field) && field.id == 33);
    nl_thrift_skip(&in, &field);
    assert_true(nl_thrift_next(&in, &field) && nl_thrift_i32(&in, &field, &small) && small == -1);
    assert_false(nl_thrift_next(&in, &field));
    assert_null(nl_cursor_status(&in));
    assert_int_equal(nl_cursor_remaining(&in), 0);
    nl_builder_fini(&out);
}

static void test_fields_of_another_type_are_skipped(void **state)
{
    (void)state;
    nl_builder out;
    nl_builder_init(&out, 1 << 16);
    int16_t last = 0;
    nl_thrift_put_list(&out, &last, 1, NL_THRIFT_BINARY, 2);
    nl_thrift_element_put_binary(&out, (nl_bytes){(const uint8_t *)"ab", 2});
    nl_thrift_element_put_binary(&out, (nl_bytes){NULL, 0});
    nl_thrift_put_i32(&out, &last, 2, 7);
    nl_thrift_end(&out);
    nl_cursor in = over(&out);
    nl_thrift_field field = {0};
    uint32_t count = 0;
    int32_t value = 0;
    assert_true(nl_thrift_next(&in, &field));
    assert_false(nl_thrift_list(&in, &field, NL_THRIFT_I64, &count));
    assert_true(nl_thrift_next(&in, &field) && nl_thrift_i32(&in, &field, &value) && value == 7);
    nl_builder_fini(&out);
}

static void test_lists_longer_than_the_data_are_refused(void **state)
{
    (void)state;
    const uint8_t bytes[] = {0x19, 0xf5, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x00};
    nl_cursor in = nl_cursor_over(bytes, sizeof(bytes), NL_STR("t"));
    nl_thrift_field field = {0};
    uint32_t count = 0;
    assert_true(nl_thrift_next(&in, &field));
    assert_false(nl_thrift_list(&in, &field, NL_THRIFT_I32, &count));
    nl_status status = nl_cursor_status(&in);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
    nl_error_free(status);
}

static void test_deep_nesting_is_refused(void **state)
{
    (void)state;
    uint8_t bytes[4096];
    memset(bytes, 0x1c, sizeof(bytes)); /* field 1, struct, for ever */
    nl_cursor in = nl_cursor_over(bytes, sizeof(bytes), NL_STR("t"));
    nl_thrift_field field = {0};
    assert_true(nl_thrift_next(&in, &field));
    nl_thrift_skip(&in, &field);
    assert_true(in.has_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read_back),
        cmocka_unit_test(test_fields_of_another_type_are_skipped),
        cmocka_unit_test(test_lists_longer_than_the_data_are_refused),
        cmocka_unit_test(test_deep_nesting_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
