#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/parquet/convert.h"
#include "format/parquet/test_file.h"

static nl_parquet_node leaf_of(nl_parquet_physical physical, nl_parquet_logical logical, uint32_t length)
{
    return (nl_parquet_node){.physical = physical, .logical = logical, .type_length = length, .is_leaf = true, .is_signed = true,
                             .precision = 9, .scale = 2, .bit_width = 32, .name = NL_STR("c")};
}

static const nl_parquet_place place = {.path = {"file", 4}, .column = {"c", 1}};

static void test_times_become_microseconds(void **state)
{
    (void)state;
    nl_parquet_node leaf = leaf_of(NL_PARQUET_INT64, NL_PARQUET_TIMESTAMP, 0);
    nl_conversion conversion;
    int64_t in[] = {-1, 1999, -1001};
    int64_t out[3];
    leaf.unit = NL_PARQUET_MILLIS;
    assert_true(nl_conversion_find(&leaf, nl_type_of(NL_TYPE_TIMESTAMP), &conversion));
    must(nl_convert(&conversion, in, 3, NULL, &place, out));
    assert_true(out[0] == -1000 && out[1] == 1999000);
    leaf.unit = NL_PARQUET_NANOS;
    assert_true(nl_conversion_find(&leaf, nl_type_of(NL_TYPE_TIMESTAMP_NTZ), &conversion));
    must(nl_convert(&conversion, in, 3, NULL, &place, out));
    assert_true(out[0] == -1 && out[1] == 1 && out[2] == -2);
}

static void test_int96_is_a_julian_day_and_nanoseconds(void **state)
{
    (void)state;
    const nl_parquet_node leaf = leaf_of(NL_PARQUET_INT96, NL_PARQUET_NO_LOGICAL, 0);
    nl_conversion conversion;
    uint8_t in[24] = {0};
    const int64_t nanos = 1500;
    const int32_t epoch = 2440588;
    const int32_t before = 2440587;
    int64_t out[2];
    memcpy(in, &nanos, 8);
    memcpy(in + 8, &epoch, 4);
    memcpy(in + 20, &before, 4);
    assert_true(nl_conversion_find(&leaf, nl_type_of(NL_TYPE_TIMESTAMP), &conversion));
    must(nl_convert(&conversion, in, 2, NULL, &place, out));
    assert_true(out[0] == 1 && out[1] == -86400000000ll);
    const int64_t late_nanos = -32509551616000; /* +290000-12-30 23:00:00 as Spark 3.4 writes it: apache/parquet-testing, int96_from_spark */
    const int32_t late_day = -105862232;
    memcpy(in, &late_nanos, 8);
    memcpy(in + 8, &late_day, 4);
    must(nl_convert(&conversion, in, 1, NULL, &place, out));
    assert_true(out[0] == 9089380393200000000ll);
}

static void test_values_beyond_their_type_are_errors(void **state)
{
    (void)state;
    nl_parquet_node leaf = leaf_of(NL_PARQUET_INT64, NL_PARQUET_TIMESTAMP, 0);
    nl_conversion conversion;
    const int64_t late = INT64_MAX / 10;
    int64_t out;
    leaf.unit = NL_PARQUET_MILLIS;
    assert_true(nl_conversion_find(&leaf, nl_type_of(NL_TYPE_TIMESTAMP), &conversion));
    must_fail(nl_convert(&conversion, &late, 1, NULL, &place, &out), NL_COND_NILAS_CORRUPT_FILE);
    leaf = leaf_of(NL_PARQUET_INT32, NL_PARQUET_NO_LOGICAL, 0);
    const int32_t large = 40000;
    assert_true(nl_conversion_find(&leaf, nl_type_of(NL_TYPE_SMALLINT), &conversion));
    must_fail(nl_convert(&conversion, &large, 1, NULL, &place, &out), NL_COND_NILAS_CORRUPT_FILE);
    leaf = leaf_of(NL_PARQUET_FIXED, NL_PARQUET_DECIMAL, 20);
    uint8_t wide[32] = {1}; /* 256^19 needs more than 38 digits */
    nl_int128 decimal;
    leaf.precision = 38;
    assert_true(nl_conversion_find(&leaf, nl_type_decimal(38, 2), &conversion));
    must_fail(nl_convert(&conversion, wide, 1, NULL, &place, &decimal), NL_COND_NILAS_CORRUPT_FILE);
}

static void test_big_endian_decimals_of_every_length(void **state)
{
    (void)state;
    for (uint32_t length = 1; length <= 20; length++) {
        nl_parquet_node leaf = leaf_of(NL_PARQUET_FIXED, NL_PARQUET_DECIMAL, length);
        nl_conversion conversion;
        uint8_t in[80] = {0};
        nl_int128 out[2];
        leaf.precision = 19;
        in[length - 1] = 7;
        memset(in + length, 0xff, length); /* -1 */
        assert_true(nl_conversion_find(&leaf, nl_type_decimal(21, 4), &conversion));
        must(nl_convert(&conversion, in, 2, NULL, &place, out));
        assert_true(out[0] == 700 && out[1] == -100);
    }
}

static void test_what_reads_as_what(void **state)
{
    (void)state;
    static const struct {
        nl_parquet_physical physical;
        nl_parquet_logical logical;
        uint32_t length;
        nl_type_id wanted;
        bool is_possible;
    } rows[] = {
        {NL_PARQUET_INT32, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_BIGINT, true},   {NL_PARQUET_INT64, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_INT, false},
        {NL_PARQUET_FLOAT, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_DOUBLE, true},   {NL_PARQUET_DOUBLE, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_FLOAT, false},
        {NL_PARQUET_INT32, NL_PARQUET_DATE, 0, NL_TYPE_TIMESTAMP_NTZ, true},  {NL_PARQUET_INT32, NL_PARQUET_DATE, 0, NL_TYPE_TIMESTAMP, false},
        {NL_PARQUET_FIXED, NL_PARQUET_UUID, 16, NL_TYPE_STRING, true},        {NL_PARQUET_FIXED, NL_PARQUET_UUID, 16, NL_TYPE_BINARY, true},
        {NL_PARQUET_FIXED, NL_PARQUET_NO_LOGICAL, 4, NL_TYPE_STRING, false},  {NL_PARQUET_BYTE_ARRAY, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_STRING, true},
        {NL_PARQUET_BYTE_ARRAY, NL_PARQUET_DECIMAL, 0, NL_TYPE_STRING, false}, {NL_PARQUET_BOOLEAN, NL_PARQUET_NO_LOGICAL, 0, NL_TYPE_INT, false},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const nl_parquet_node leaf = leaf_of(rows[i].physical, rows[i].logical, rows[i].length);
        nl_conversion conversion;
        if (nl_conversion_find(&leaf, nl_type_of(rows[i].wanted), &conversion) != rows[i].is_possible) fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_become_microseconds),
        cmocka_unit_test(test_int96_is_a_julian_day_and_nanoseconds),
        cmocka_unit_test(test_values_beyond_their_type_are_errors),
        cmocka_unit_test(test_big_endian_decimals_of_every_length),
        cmocka_unit_test(test_what_reads_as_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
