/* format/avro/direct_test.c - plain columns decoded in place: values, nulls, what is skipped, and bytes that lie. */
#include "base/test_support.h"

#include "column/value.h"
#include "format/avro/direct.h"

static const nl_avro_type *parse(nl_arena *arena, const char *json)
{
    const nl_avro_type *type;
    assert_ok(nl_avro_schema_parse(arena, nl_str_from(json), NL_STR("f.avro"), &type));
    return type;
}

/* Decodes one value; the text of the row, or "fails". */
static const char *decode(nl_arena *arena, const char *json, const nl_type *type, const char *bytes, size_t length)
{
    nl_avro_direct direct;
    nl_builder text;
    const nl_text_options style = {.style = NL_TEXT_CAST, .zone = nl_timezone_utc()};
    nl_avro_direct_plan(parse(arena, json), type, &direct);
    if (direct.kind == NL_AVRO_NOT_DIRECT) return "not direct";
    nl_cursor cursor = nl_cursor_over(bytes, length, NL_STR("f.avro"));
    if (type) assert_ok(nl_avro_direct_begin(&direct, NULL));
    nl_error *error = nl_avro_direct_row(&direct, 1, 7, NULL, &cursor);
    nl_builder_init(&text, 1000);
    if (error) {
        assert_int_equal(nl_error_condition(error), NL_COND_NILAS_CORRUPT_FILE);
        nl_append_c(&text, "fails");
    } else if (!type) {
        nl_append_f(&text, "%zu bytes", cursor.offset);
    } else {
        nl_vector_append_text(&direct.vector, 7, &style, &text);
    }
    nl_error_free(error);
    nl_vector_fini(&direct.vector);
    const char *copy = nl_str_c(arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    return copy;
}

#define DECIMAL_4 "{\"type\":\"fixed\",\"name\":\"d\",\"size\":2,\"logicalType\":\"decimal\",\"precision\":4,\"scale\":2}"
#define DECIMAL_38 "{\"type\":\"fixed\",\"name\":\"d\",\"size\":16,\"logicalType\":\"decimal\",\"precision\":38,\"scale\":0}"

static void test_values_nulls_and_bad_bytes(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const struct {
        const char *json;
        const nl_type *type;
        const char *bytes;
        size_t length;
        const char *expected;
    } rows[] = {
        {"\"int\"", nl_type_int(), "\x01", 1, "-1"},
        {"\"int\"", nl_type_bigint(), "\xfe\xff\xff\xff\x0f", 5, "2147483647"},
        {"\"int\"", nl_type_int(), "\x80\x80\x80\x80\x10", 5, "fails"}, /* 2^31 */
        {"\"int\"", nl_type_of(NL_TYPE_TINYINT), "\x80\x02", 2, "fails"},   /* 128 */
        {"\"long\"", nl_type_int(), "\x02", 1, "not direct"},
        {"\"long\"", nl_type_bigint(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10, "-9223372036854775808"},
        {"\"long\"", nl_type_bigint(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10, "fails"},
        {"\"long\"", nl_type_bigint(), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "fails"},
        {"\"long\"", nl_type_bigint(), "\x80", 1, "fails"},
        {"[\"null\",\"long\"]", nl_type_bigint(), "\x00", 1, "NULL"},
        {"[\"null\",\"long\"]", nl_type_bigint(), "\x02\x06", 2, "3"},
        {"[\"long\",\"null\"]", nl_type_bigint(), "\x02", 1, "NULL"},
        {"[\"null\",\"long\"]", nl_type_bigint(), "\x04\x06", 2, "fails"},
        {"[\"null\",\"long\"]", nl_type_bigint(), "\x01\x06", 2, "fails"},
        {"[\"null\",\"long\",\"int\"]", nl_type_bigint(), "\x00", 1, "not direct"},
        {"\"string\"", nl_type_string(), "\x06" "abc", 4, "abc"},
        {"\"string\"", nl_type_string(), "\x08" "abc", 4, "fails"},
        {"\"string\"", nl_type_string(), "\x01" "abc", 4, "fails"},
        {"\"float\"", nl_type_of(NL_TYPE_FLOAT), "\x00\x00\xc0\x3f", 4, "1.5"},
        {"\"float\"", nl_type_double(), "\x00\x00\xc0\x3f", 4, "1.5"},
        {"\"double\"", nl_type_double(), "\x00\x00\x00\x00\x00\x00\xf8\x3f", 8, "1.5"},
        {"\"double\"", nl_type_double(), "\x00\x00\x00\x00\x00\x00\xf8", 7, "fails"},
        {"\"boolean\"", nl_type_boolean(), "\x01", 1, "true"},
        {DECIMAL_4, nl_type_decimal(4, 2), "\xff\x85", 2, "-1.23"},
        {DECIMAL_4, nl_type_decimal(10, 2), "\x00\x7b", 2, "1.23"},
        {DECIMAL_4, nl_type_decimal(20, 2), "\x00\x7b", 2, "1.23"},
        {DECIMAL_4, nl_type_decimal(4, 2), "\x27\x10", 2, "fails"}, /* 10000 */
        {DECIMAL_4, nl_type_decimal(10, 3), "\x00\x7b", 2, "not direct"},
        {DECIMAL_38, nl_type_decimal(38, 0), "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 16, "-2"},
        {DECIMAL_38, nl_type_decimal(38, 0), "\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfe", 16, "fails"},
        {"{\"type\":\"int\",\"logicalType\":\"date\"}", nl_type_of(NL_TYPE_DATE), "\x02", 1, "1970-01-02"},
        {"{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}", nl_type_of(NL_TYPE_TIMESTAMP), "\x02", 1, "not direct"},
        {"[\"null\",\"string\"]", NULL, "\x02\x06" "abcdef", 8, "5 bytes"},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":3}", NULL, "abcdef", 6, "3 bytes"},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":3}", NULL, "ab", 2, "fails"},
        {"{\"type\":\"array\",\"items\":\"int\"}", NULL, "\x00", 1, "not direct"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        const char *found = decode(arena, rows[i].json, rows[i].type, rows[i].bytes, rows[i].length);
        if (strcmp(found, rows[i].expected) != 0) print_message("row %zu: %s\n", i, rows[i].json);
        assert_string_equal(found, rows[i].expected);
    }
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_values_nulls_and_bad_bytes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
