/* iceberg/deletion_vector_test.c */
#include "base/test_support.h"

#include "base/hash.h"
#include "iceberg/deletion_vector.h"

/* Positions 1 and 2, as seen in a Puffin file of Spark 4.0.1 with Iceberg 1.10. */
static const uint8_t spark_blob[] = {0x00, 0x00, 0x00, 0x24, 0xd1, 0xd3, 0x39, 0x64, 0x01, 0, 0, 0, 0, 0, 0, 0, 0x00, 0, 0, 0, 0x3a, 0x30,
                                     0,    0,    0x01, 0,    0,    0,    0x00, 0x00, 0x01, 0x00, 0x10, 0, 0, 0, 0x01, 0x00, 0x02, 0x00, 0x71, 0x2f, 0xa6, 0xe8};

static nl_deletion_vector *parse(const void *data, size_t length)
{
    nl_deletion_vector *vector = NULL;
    assert_ok(nl_deletion_vector_parse((nl_bytes){data, length}, NL_STR("d.puffin"), 4, -1, &vector));
    return vector;
}

static void test_sparks_blob_is_read_and_written_again(void **state)
{
    (void)state;
    nl_deletion_vector *vector = parse(spark_blob, sizeof(spark_blob));
    assert_int_equal(nl_deletion_vector_cardinality(vector), 2);
    assert_true(nl_deletion_vector_contains(vector, 1));
    assert_true(nl_deletion_vector_contains(vector, 2));
    assert_false(nl_deletion_vector_contains(vector, 0));
    assert_false(nl_deletion_vector_contains(vector, 1 + (1ll << 32)));
    nl_buffer *blob;
    assert_ok(nl_deletion_vector_serialize(vector, NULL, &blob));
    assert_int_equal(blob->size_bytes, sizeof(spark_blob));
    assert_memory_equal(blob->data, spark_blob, sizeof(spark_blob));
    nl_buffer_release(blob);
    nl_deletion_vector_free(vector);
}

static void test_all_kinds_of_containers_survive(void **state)
{
    (void)state;
    nl_deletion_vector *vector = nl_deletion_vector_new();
    int64_t positions[30000];
    uint32_t count = 0;
    for (int i = 0; i < 10000; i++) /* runs */
        positions[count++] = 100000 + i;
    for (int i = 0; i < 10000; i++) /* a dense bitmap without runs */
        positions[count++] = 65536 * 5 + i * 3;
    for (int i = 0; i < 50; i++) /* arrays beyond the first 4 billion rows */
        positions[count++] = (7ll << 32) + i * 1000003ll;
    assert_ok(nl_deletion_vector_add_many(vector, positions, count));
    assert_ok(nl_deletion_vector_add(vector, 3));
    nl_buffer *blob;
    assert_ok(nl_deletion_vector_serialize(vector, NULL, &blob));
    nl_deletion_vector *again = parse(blob->data, blob->size_bytes);
    assert_int_equal(nl_deletion_vector_cardinality(again), count + 1);
    int64_t out[64];
    int64_t at = 0;
    uint32_t seen = 0;
    int64_t before = -1;
    for (uint32_t got; (got = nl_deletion_vector_positions(again, &at, out, 64)) > 0;)
        for (uint32_t i = 0; i < got; i++, seen++) {
            assert_true(out[i] > before);
            assert_true(nl_deletion_vector_contains(vector, out[i]));
            before = out[i];
        }
    assert_int_equal(seen, count + 1);
    uint8_t alive[8];
    memset(alive, 0xff, sizeof(alive));
    assert_int_equal(nl_deletion_vector_mask(again, 99990, 64, alive), 54);
    assert_int_equal(alive[0], 0xff);
    assert_int_equal(alive[1], 0x03);
    assert_int_equal(alive[2], 0);
    nl_deletion_vector *sum = nl_deletion_vector_new();
    assert_ok(nl_deletion_vector_add(sum, 4));
    assert_ok(nl_deletion_vector_add_all(sum, again));
    assert_int_equal(nl_deletion_vector_cardinality(sum), count + 2);
    nl_deletion_vector_free(sum);
    nl_deletion_vector_free(again);
    nl_deletion_vector_free(vector);
    nl_buffer_release(blob);
}

/* Damages the vector inside and mends the checksum, so that our own checks have to find it. */
static nl_status parse_changed(size_t at, uint8_t value, int64_t expected)
{
    uint8_t copy[sizeof(spark_blob)];
    memcpy(copy, spark_blob, sizeof(copy));
    copy[at] = value;
    const uint32_t crc = nl_crc32(copy + 4, sizeof(copy) - 8, 0);
    for (int i = 0; i < 4; i++)
        copy[sizeof(copy) - 4 + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    nl_deletion_vector *vector = NULL;
    nl_status status = nl_deletion_vector_parse((nl_bytes){copy, sizeof(copy)}, NL_STR("d.puffin"), 4, expected, &vector);
    if (!status) nl_deletion_vector_free(vector);
    return status;
}

static void test_damage_is_found_before_the_library_sees_it(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t value;
        const char *problem;
    } rows[] = {
        {3, 0x25, "in a blob of"},       {4, 0xd2, "does not start as one"}, {8, 2, "ends too early"},       {8, 200, "bitmaps in"},
        {19, 0x80, "too large or not"},  {20, 0x3c, "does not start with"},  {25, 1, NULL},                  {30, 2, NULL},
        {32, 0x11, "offset says"},       {36, 2, "not ascending"},           {36, 0x03, "not ascending"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++)
        assert_fails(parse_changed(rows[i].at, rows[i].value, -1), NILAS_CORRUPT_FILE, rows[i].problem);
    assert_fails(parse_changed(36, 1, 3), NILAS_CORRUPT_FILE, "where the manifest says 3");
    nl_deletion_vector *vector;
    uint8_t copy[sizeof(spark_blob)];
    memcpy(copy, spark_blob, sizeof(copy));
    copy[38] = 9;
    assert_fails(nl_deletion_vector_parse((nl_bytes){copy, sizeof(copy)}, NL_STR("d.puffin"), 4, -1, &vector), NILAS_CORRUPT_FILE, "checksum");
    for (size_t length = 0; length < sizeof(spark_blob); length++)
        assert_fails(nl_deletion_vector_parse((nl_bytes){spark_blob, length}, NL_STR("d.puffin"), 4, -1, &vector), NILAS_CORRUPT_FILE, NULL);
}

static void test_positions_out_of_range_are_refused(void **state)
{
    (void)state;
    nl_deletion_vector *vector = nl_deletion_vector_new();
    assert_fails(nl_deletion_vector_add(vector, -1), NILAS_ILLEGAL_ARGUMENT, "-1");
    assert_fails(nl_deletion_vector_add(vector, INT64_MAX), NILAS_ILLEGAL_ARGUMENT, NULL);
    assert_ok(nl_deletion_vector_add(vector, (0x7ffffffell << 32) + 5));
    nl_deletion_vector_free(vector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sparks_blob_is_read_and_written_again),
        cmocka_unit_test(test_all_kinds_of_containers_survive),
        cmocka_unit_test(test_damage_is_found_before_the_library_sees_it),
        cmocka_unit_test(test_positions_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
