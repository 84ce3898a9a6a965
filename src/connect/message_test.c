/* Messages from hostile bytes: nothing malformed, too deep or too large for its budget is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/test_support.h"
#include "connect/message.h"
#include "connect/proto/base.pb-c.h"
#include "connect/rpc.h"

static nl_status unpack(nl_arena *arena, const void *bytes, size_t length, ProtobufCMessage **message)
{
    return nl_message_unpack(arena, &spark__connect__relation__descriptor, (nl_bytes){bytes, length}, message);
}

static void expect_refused(const void *bytes, size_t length, nl_condition condition)
{
    nl_arena *arena = nl_arena_new(NULL);
    ProtobufCMessage *message = NULL;
    nl_error *error = unpack(arena, bytes, length, &message);
    assert_non_null(error);
    assert_int_equal(nl_error_condition(error), condition);
    assert_null(message);
    nl_error_free(error);
    nl_arena_free(arena);
}

static void test_malformed_bytes_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *why;
    } rows[] = {
        {"\xff", 1, "a key that does not end"},
        {"\x22\x05\x0a", 3, "a length behind the end"},
        {"\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "a length of 64 bits"},
        {"\x13\x14", 2, "groups"},
        {"\x21\x01", 2, "eight bytes that are one"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 13, "a number of more than 64 bits"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) expect_refused(rows[i].bytes, rows[i].length, NL_COND_NILAS_INVALID_PLAN_INPUT);
}

/* Relation.filter.input.filter.input … `depth` relations, the innermost empty. Returns the length. */
static size_t nest(uint32_t depth, uint8_t *bytes, size_t capacity)
{
    size_t at = capacity;
    size_t length = 0;
    for (uint32_t i = 1; i < depth; i++) {
        static const uint8_t keys[] = {0x0a, 0x22}; /* Filter.input, then Relation.filter */
        for (uint32_t k = 0; k < 2; k++) {
            uint8_t varint[5];
            size_t count = 0;
            for (size_t left = length; count == 0 || left > 0; left >>= 7) varint[count++] = (uint8_t)((left & 0x7F) | (left > 0x7F ? 0x80 : 0));
            at -= count + 1;
            bytes[at] = keys[k];
            memcpy(bytes + at + 1, varint, count);
            length = capacity - at;
        }
    }
    memmove(bytes, bytes + at, length);
    return length;
}

static void test_plans_are_1024_messages_deep_at_most(void **state)
{
    (void)state;
    static uint8_t bytes[64 << 10];
    nl_arena *arena = nl_arena_new(NULL);
    ProtobufCMessage *message = NULL;
    assert_ok(unpack(arena, bytes, nest(512, bytes, sizeof bytes), &message)); /* 1 + 2 * 511 messages */
    assert_int_equal(((const Spark__Connect__Relation *)(const void *)message)->rel_type_case, SPARK__CONNECT__RELATION__REL_TYPE_FILTER);
    nl_arena_free(arena);
    expect_refused(bytes, nest(513, bytes, sizeof bytes), NL_COND_NILAS_INVALID_PLAN_INPUT);
}

static void test_small_bytes_cannot_ask_for_much_memory(void **state)
{
    (void)state;
    static uint8_t bytes[200 << 10]; /* with_relations.references: a hundred thousand empty relations of two bytes each */
    const size_t inner = sizeof bytes - 5;
    bytes[0] = 0xca, bytes[1] = 0x02; /* Relation.with_relations = 41 */
    bytes[2] = (uint8_t)(inner | 0x80), bytes[3] = (uint8_t)(inner >> 7 | 0x80), bytes[4] = (uint8_t)(inner >> 14);
    for (size_t i = 5; i + 1 < sizeof bytes; i += 2) bytes[i] = 0x12;
    nl_memory *memory = nl_memory_new(NULL, "test", 1 << 20);
    nl_arena *arena = nl_arena_new(memory);
    ProtobufCMessage *message = NULL;
    nl_error *error = unpack(arena, bytes, sizeof bytes - 1, &message);
    assert_non_null(error);
    nl_error_free(error);
    nl_arena_free(arena);
    nl_memory_release(memory);
}

static void test_answers_begin_with_their_length(void **state)
{
    (void)state;
    Spark__Connect__KeyValue pair = SPARK__CONNECT__KEY_VALUE__INIT;
    char key[] = "k";
    nl_buffer *framed = NULL;
    pair.key = key;
    assert_ok(nl_message_frame(&pair.base, NULL, &framed));
    assert_int_equal(framed->size_bytes, 8);
    assert_memory_equal(framed->data, "\0\0\0\0\3\x0a\1k", 8);
    nl_buffer_release(framed);
}

static void test_what_a_plan_asks_for_and_nobody_knows_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        const char *says; /* NULL: passed over */
    } rows[] = {
        {"\xfa\x02\x00", 3, "a join of nearest rows"},          /* Relation 47 */
        {"\x92\x3e\x00", 3, "field 994 of Relation"},
        {"\x22\x04\x0a\x02\x72\x00", 6, NULL},               /* Filter.input: a deduplicate */
        {"\x22\x05\x0a\x03\xfa\x02\x00", 7, "nearest rows"}, /* and inside of another relation */
        {"\x22\x08\x12\x06\x0a\x04\xa2\x06\x01\x00", 10, NULL}, /* Filter.condition: literal 100 */
        {"\x22\x07\x12\x05\x0a\x03\xd2\x01\x00", 9, "the type time"},
    };
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_arena *arena = nl_arena_new(NULL);
        ProtobufCMessage *message = NULL;
        nl_error *error = unpack(arena, rows[i].bytes, rows[i].length, &message);
        assert_int_equal(error == NULL, rows[i].says == NULL);
        if (error) assert_int_equal(nl_error_condition(error), NL_COND_NILAS_UNSUPPORTED);
        if (error) assert_non_null(strstr(nl_error_message(error), rows[i].says));
        nl_error_free(error);
        nl_arena_free(arena);
    }
    /* A request's own option: clients do without. */
    nl_arena *arena = nl_arena_new(NULL);
    ProtobufCMessage *message = NULL;
    assert_ok(nl_message_unpack(arena, &spark__connect__execute_plan_request__descriptor, (nl_bytes){(const uint8_t *)"\x92\x3e\x00", 3}, &message));
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_malformed_bytes_are_refused),
        cmocka_unit_test(test_plans_are_1024_messages_deep_at_most),
        cmocka_unit_test(test_what_a_plan_asks_for_and_nobody_knows_is_refused),
        cmocka_unit_test(test_small_bytes_cannot_ask_for_much_memory),
        cmocka_unit_test(test_answers_begin_with_their_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
