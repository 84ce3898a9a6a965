/* base/tzif_test.c - zone files that are damaged in every place. Good ones are tested in timezone_test.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/tzif.h"

/* A small zone: +1 h until second 1000, then +2 h, from 2000 on +1 h and the rule's daylight saving. */
static const char body[] = "\0\0\0\0\0\0\003\350\0\0\0\0\0\0\007\320\1\0\0\0\016\020\0\0\0\0\034\040\1\0CET";
static const char footer[] = "\nCET-1CEST,M3.5.0,M10.5.0/3\n";

typedef struct zone_file {
    uint8_t bytes[512];
    size_t length;
    size_t second; /* where the second header begins */
    size_t data;   /* where its data begins          */
} zone_file;

static void add(zone_file *file, const char *bytes, size_t length)
{
    memcpy(file->bytes + file->length, bytes, length);
    file->length += length;
}

/* Magic, version, 15 unused bytes, six big-endian counts: UTC, standard, leap, transitions, types, name bytes. */
static void add_header(zone_file *file, char transition_count, char type_count, char name_bytes)
{
    char bytes[44] = "TZif2";
    bytes[35] = transition_count;
    bytes[39] = type_count;
    bytes[43] = name_bytes;
    add(file, bytes, sizeof bytes);
}

static zone_file make_file(void)
{
    zone_file file = {.length = 0};
    add_header(&file, 0, 1, 4);
    add(&file, "\0\0\0\0\0\0LMT", 10);
    file.second = file.length;
    add_header(&file, 2, 2, 4);
    file.data = file.length;
    add(&file, body, sizeof body); /* with the abbreviation's zero */
    add(&file, footer, sizeof footer - 1);
    return file;
}

static nl_status parse(const zone_file *file, nl_tzif *zone)
{
    /* A copy of exactly the length, so that a sanitizer sees any read behind it. */
    uint8_t *copy = malloc(file->length + 1);
    memcpy(copy, file->bytes, file->length);
    nl_cursor in = nl_cursor_over(copy, file->length, NL_STR("test"));
    nl_status status = nl_tzif_parse(&in, zone);
    free(copy);
    return status;
}

static void assert_damaged(const zone_file *file)
{
    nl_tzif zone = {0};
    nl_status status = parse(file, &zone);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_CORRUPT_FILE);
    assert_null(zone.transitions);
    nl_error_free(status);
}

static void test_a_good_file_is_read(void **state)
{
    (void)state;
    zone_file file = make_file();
    nl_tzif zone;
    assert_null(parse(&file, &zone));
    assert_int_equal(zone.transition_count, 2);
    assert_int_equal(zone.first_offset, 3600);
    assert_int_equal(zone.transitions[0], 1000);
    assert_int_equal(zone.offsets[0], 7200);
    assert_int_equal(zone.transitions[1], 2000);
    assert_int_equal(zone.offsets[1], 3600);
    assert_true(zone.has_rule);
    nl_tzif_fini(&zone);
}

static void test_an_empty_footer_means_no_rule(void **state)
{
    (void)state;
    zone_file file = make_file();
    file.length -= sizeof footer - 1;
    add(&file, "\n\n", 2);
    nl_tzif zone;
    assert_null(parse(&file, &zone));
    assert_false(zone.has_rule);
    nl_tzif_fini(&zone);
}

static void test_every_shorter_file_is_damaged(void **state)
{
    (void)state;
    zone_file file = make_file();
    while (file.length > 0) {
        file.length--;
        assert_damaged(&file);
    }
}

static void test_counts_that_lie_are_found(void **state)
{
    (void)state;
    for (size_t count = 0; count < 6; count++)
        for (size_t i = 0; i < 2; i++) {
            zone_file file = make_file();
            memset(file.bytes + (i == 0 ? 0 : file.second) + 20 + 4 * count, 0xFF, 4);
            assert_damaged(&file);
        }
}

static void test_contents_that_contradict_each_other_are_found(void **state)
{
    (void)state;
    zone_file file = make_file();
    file.bytes[file.data] = 0x70; /* the first transition lies behind the second */
    assert_damaged(&file);
    file = make_file();
    file.bytes[file.data + 16] = 2; /* there are types 0 and 1 */
    assert_damaged(&file);
    file = make_file();
    file.bytes[4] = '1'; /* a version without 64-bit data */
    assert_damaged(&file);
    file = make_file();
    file.bytes[file.length - 3] = 'x'; /* in the rule */
    assert_damaged(&file);
    file = make_file();
    file.bytes[file.second] = 'X';
    assert_damaged(&file);
}

static void test_no_single_byte_can_do_harm(void **state)
{
    (void)state;
    const zone_file good = make_file();
    for (size_t i = 0; i < good.length; i++)
        for (int bit = 0; bit < 8; bit++) {
            zone_file file = good;
            file.bytes[i] ^= (uint8_t)(1 << bit);
            nl_tzif zone;
            nl_status status = parse(&file, &zone);
            if (status == NULL) nl_tzif_fini(&zone);
            nl_error_free(status);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_good_file_is_read),
        cmocka_unit_test(test_an_empty_footer_means_no_rule),
        cmocka_unit_test(test_every_shorter_file_is_damaged),
        cmocka_unit_test(test_counts_that_lie_are_found),
        cmocka_unit_test(test_contents_that_contradict_each_other_are_found),
        cmocka_unit_test(test_no_single_byte_can_do_harm),
    };
    return cmocka_run_group_tests_name("base/tzif", tests, NULL, NULL);
}
