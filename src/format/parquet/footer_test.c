#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/test_file.h"

static nl_status read_bytes(const char *bytes, size_t length, nl_parquet_footer **footer)
{
    nl_fs *fs = nl_fs_memory_new();
    nl_file *file = NULL;
    must(nl_fs_write_all(fs, NL_STR("memory:/f"), (nl_bytes){(const uint8_t *)bytes, length}));
    must(nl_fs_open(fs, NL_STR("memory:/f"), &file));
    nl_status status = nl_parquet_footer_read(file, NULL, footer);
    nl_file_close(file);
    nl_fs_release(fs);
    return status;
}

static void test_files_that_are_none_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        nl_condition condition;
        const char *why;
    } rows[] = {
        {"", 0, NL_COND_NILAS_CORRUPT_FILE, "nothing"},
        {"PAR1", 4, NL_COND_NILAS_CORRUPT_FILE, "too short"},
        {"PAR1\0\0\0\0PAR1", 12, NL_COND_NILAS_CORRUPT_FILE, "an empty footer"},
        {"PAR1\xff\xff\xff\x7fPAR1", 12, NL_COND_NILAS_CORRUPT_FILE, "a footer larger than the file"},
        {"hello, I am a text, not a Parquet file", 38, NL_COND_NILAS_CORRUPT_FILE, "another format"},
        {"PAR1\0\0\0\0PARE", 12, NL_COND_NILAS_UNSUPPORTED, "an encrypted footer"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_parquet_footer *footer = NULL;
        nl_status status = read_bytes(rows[i].bytes, rows[i].length, &footer);
        if (status == NULL) fail_msg("%s", rows[i].why);
        must_fail(status, rows[i].condition);
    }
}

static void test_a_footer_says_what_the_file_holds(void **state)
{
    (void)state;
    open_file file;
    open_fixture("spark_modern", &file);
    nl_str value;
    assert_true(nl_parquet_footer_key_value(file.footer, NL_STR("org.apache.spark.version"), &value));
    assert_true(nl_str_starts(value, NL_STR("4.")));
    assert_false(nl_parquet_footer_key_value(file.footer, NL_STR("nothing"), &value));
    assert_true(nl_str_starts(file.footer->created_by, NL_STR("parquet-mr")));
    assert_int_equal(file.footer->row_count, 60);
    assert_int_equal(file.footer->row_group_count, 1);
    assert_true(file.footer->has_column_orders);
    assert_false(file.footer->has_field_ids);
    assert_true(nl_parquet_footer_bytes(file.footer) > 1000);
    close_file(&file);
}

static void test_types_are_those_spark_reads(void **state)
{
    (void)state;
    open_file file;
    const nl_type *type = NULL;
    open_fixture("flat_zstd", &file);
    must(nl_parquet_footer_type(file.footer, NULL, file.arena, &type));
    const nl_str name = nl_type_name(file.arena, type);
    const char *expected = "struct<bool:boolean,i8:tinyint,i16:smallint,i32:int,i64:bigint,u8:smallint,u16:int,u32:bigint,u64:decimal(20,0),f32:float,"
                           "f64:double,string:string,word:string,binary:binary,fixed:binary,d5:decimal(5,2),d18:decimal(18,4),d38:decimal(38,10),date:date,"
                           "ts_ms:timestamp_ntz,ts_us:timestamp_ntz,tz_us:timestamp>";
    assert_true(nl_str_is(name, expected));
    const nl_parquet_type_options options = {.binary_as_string = true, .timestamp_ntz_disabled = true};
    must(nl_parquet_footer_type(file.footer, &options, file.arena, &type));
    assert_int_equal(type->children[13].type->id, NL_TYPE_STRING);
    assert_int_equal(type->children[20].type->id, NL_TYPE_TIMESTAMP);
    close_file(&file);
}

static void test_types_spark_cannot_read_are_named(void **state)
{
    (void)state;
    open_file file;
    const nl_type *type = NULL;
    open_fixture("nanos", &file);
    nl_status status = nl_parquet_footer_type(file.footer, NULL, file.arena, &type);
    assert_int_equal(nl_error_condition(status), NL_COND_PARQUET_TYPE_ILLEGAL);
    assert_string_equal(nl_error_param(status, "parquetType"), "INT64 (TIMESTAMP(NANOS,false))");
    nl_error_free(status);
    const nl_parquet_type_options options = {.nanos_as_long = true};
    must(nl_parquet_footer_type(file.footer, &options, file.arena, &type));
    assert_int_equal(type->children[0].type->id, NL_TYPE_BIGINT);
    close_file(&file);
    open_fixture("times", &file);
    status = nl_parquet_footer_type(file.footer, NULL, file.arena, &type);
    assert_int_equal(nl_error_condition(status), NL_COND_PARQUET_TYPE_ILLEGAL);
    assert_string_equal(nl_error_param(status, "parquetType"), "INT32 (TIME(MILLIS,false))");
    nl_error_free(status);
    close_file(&file);
}

static void test_columns_of_nulls_alone_have_the_type_they_are_stored_as(void **state)
{
    (void)state;
    open_file file;
    const nl_type *type = NULL;
    open_fixture("nulls_alone", &file);
    must(nl_parquet_footer_type(file.footer, NULL, file.arena, &type));
    const nl_str name = nl_type_name(file.arena, type);
    assert_true(nl_str_is(name, "struct<a:int,b:bigint,c:array<int>>"));
    close_file(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_are_none_are_refused),
        cmocka_unit_test(test_a_footer_says_what_the_file_holds),
        cmocka_unit_test(test_types_are_those_spark_reads),
        cmocka_unit_test(test_types_spark_cannot_read_are_named),
        cmocka_unit_test(test_columns_of_nulls_alone_have_the_type_they_are_stored_as),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
