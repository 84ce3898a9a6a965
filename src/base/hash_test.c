/* base/hash_test.c - hashes against the values that Iceberg's specification and Spark 4.0.1 give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "base/status.h"

static void test_murmur3_is_icebergs(void **state)
{
    (void)state;
    int64_t number = 34;
    assert_int_equal((int32_t)nl_murmur3_32(&number, 8, 0), 2017239379);
    assert_int_equal((int32_t)nl_murmur3_32("iceberg", 7, 0), 1210000089);
    assert_int_equal((int32_t)nl_murmur3_32("\x00\x01\x02\x03", 4, 0), -188683207);
    assert_int_equal(nl_murmur3_32("", 0, 0), 0);
    assert_int_equal(nl_spark_murmur3_long(34, 0), nl_murmur3_32(&number, 8, 0));
}

static void test_sparks_hash(void **state)
{
    (void)state;
    assert_int_equal((int32_t)nl_spark_murmur3_int(1, 42), -559580957);
    assert_int_equal((int32_t)nl_spark_murmur3_long(-1, 42), -939490007);
    assert_int_equal((int32_t)nl_spark_murmur3_bytes("Spark", 5, 42), 228093765);
    assert_int_equal((int32_t)nl_spark_murmur3_bytes("abcd\xc3\xa9", 6, 42), 1633936390);
    assert_int_equal((int32_t)nl_spark_murmur3_bytes("", 0, 42), 142593372);
}

static void test_sparks_xxhash64(void **state)
{
    (void)state;
    assert_int_equal((int64_t)nl_spark_xxhash64_int(1, 42), -6698625589789238999ll);
    assert_int_equal((int64_t)nl_spark_xxhash64_long(-1, 42), 3858142552250413010ll);
    assert_int_equal((int64_t)nl_xxhash64("Spark", 5, 42), -4294468057691064905ll);
    const char *text = "abcdefghijklmnopqrstuvwxyzabcdefghijkl";
    assert_int_equal((int64_t)nl_xxhash64(text, 38, 42), 635266986579399754ll);
}

static void test_crc32_is_zlibs_and_may_be_continued(void **state)
{
    (void)state;
    assert_int_equal(nl_crc32("Spark", 5, 0), 1557323817);
    assert_int_equal(nl_crc32("ark", 3, nl_crc32("Sp", 2, 0)), 1557323817);
    assert_int_equal(nl_crc32(NULL, 0, 7), 7);
}

static void test_the_engines_hash_depends_on_every_byte_and_the_seed(void **state)
{
    (void)state;
    assert_true(nl_hash_bytes("ab", 2, 0) != nl_hash_bytes("ac", 2, 0));
    assert_true(nl_hash_bytes("ab", 2, 0) != nl_hash_bytes("ab", 2, 1));
    assert_true(nl_hash_u64(1) != nl_hash_u64(2));
    assert_true(nl_hash_mix(1, 2) != nl_hash_mix(2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_murmur3_is_icebergs),
        cmocka_unit_test(test_sparks_hash),
        cmocka_unit_test(test_sparks_xxhash64),
        cmocka_unit_test(test_crc32_is_zlibs_and_may_be_continued),
        cmocka_unit_test(test_the_engines_hash_depends_on_every_byte_and_the_seed),
    };
    return cmocka_run_group_tests_name("base/hash", tests, NULL, NULL);
}
