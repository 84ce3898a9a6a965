/* base/uuid_test.c */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/uuid.h"

static void test_a_uuid_is_written_in_five_groups(void **state)
{
    (void)state;
    static const uint8_t bytes[16] = {0xf7, 0x9c, 0x3e, 0x09, 0x67, 0x7c, 0x4b, 0xbd, 0xa4, 0x79, 0x3f, 0x34, 0x9c, 0xb7, 0x85, 0xe7};
    char text[NL_UUID_TEXT_LENGTH];
    nl_uuid_format(bytes, text);
    assert_memory_equal(text, "f79c3e09-677c-4bbd-a479-3f349cb785e7", sizeof(text));
}

static void test_new_uuids_differ_and_are_of_version_4(void **state)
{
    (void)state;
    uint8_t a[16];
    uint8_t b[16];
    nl_uuid_new(a);
    nl_uuid_new(b);
    assert_memory_not_equal(a, b, 16);
    assert_int_equal(a[6] >> 4, 4);
    assert_int_equal(a[8] >> 6, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_uuid_is_written_in_five_groups),
        cmocka_unit_test(test_new_uuids_differ_and_are_of_version_4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
