#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_support.h"
#include "catalog/hive/wire.h"

typedef struct memory_source {
    nl_wire_source source;
    const uint8_t *data;
    size_t length, offset;
} memory_source;

static nl_status memory_read(nl_wire_source *source, uint8_t *into, size_t length)
{
    memory_source *self = NL_CONTAINER(source, memory_source, source);
    if (length > self->length - self->offset) return NL_RAISE_TEXT(NILAS_SERVICE_UNAVAILABLE, "the bytes end");
    memcpy(into, self->data + self->offset, length);
    self->offset += length;
    return NULL;
}

static nl_status read_limited(const void *bytes, size_t length, size_t limit, nl_arena *arena, nl_wire_message *message)
{
    memory_source self = {.source = {.read = memory_read, .bytes_left = limit}, .data = bytes, .length = length};
    return nl_wire_read_message(&self.source, arena, message);
}

static nl_status read_all(nl_str bytes, nl_arena *arena, nl_wire_message *message)
{
    return read_limited(bytes.data, bytes.length, bytes.length, arena, message);
}

static nl_wire_value sample(nl_arena *arena)
{
    nl_wire_value body = nl_wire_struct(), list = nl_wire_list(NL_WIRE_STRUCT), map = nl_wire_text_map();
    for (int i = 0; i < 40; i++) {
        nl_wire_value item = nl_wire_struct();
        nl_wire_set_number(arena, &item, 1, NL_WIRE_I32, i - 20);
        nl_wire_add(arena, &list, item);
        nl_wire_put(arena, &map, nl_arena_f(arena, "k%d", i), nl_arena_f(arena, "v%d", i));
    }
    nl_wire_set_text(arena, &body, 1, NL_STR("db"));
    nl_wire_set(arena, &body, 2, list);
    nl_wire_set(arena, &body, 3, map);
    nl_wire_set_number(arena, &body, 4, NL_WIRE_I64, INT64_MIN);
    nl_wire_set_number(arena, &body, 5, NL_WIRE_BOOL, true);
    nl_wire_set_number(arena, &body, 6, NL_WIRE_I16, -2);
    return body;
}

/* Bytes that Apache Thrift's TBinaryProtocol (Java, libthrift 0.16) writes for get_table("db", "t"), sequence 1. */
static void test_a_call_has_the_bytes_that_java_writes(void **state)
{
    static const char expected[] = "\x80\x01\x00\x01" "\x00\x00\x00\x09" "get_table" "\x00\x00\x00\x01" "\x0b\x00\x01\x00\x00\x00\x02" "db" "\x0b\x00\x02\x00\x00\x00\x01" "t" "\x00";
    nl_arena *arena = nl_arena_new(NULL);
    nl_wire_value body = nl_wire_struct();
    nl_builder out;
    (void)state;
    nl_builder_init(&out, 1000);
    nl_wire_set_text(arena, &body, 1, NL_STR("db"));
    nl_wire_set_text(arena, &body, 2, NL_STR("t"));
    nl_wire_append_message(&out, NL_WIRE_CALL, NL_STR("get_table"), 1, &body);
    assert_int_equal(out.length, sizeof(expected) - 1);
    assert_memory_equal(out.data, expected, out.length);
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

static void test_what_was_written_is_read_and_written_again(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder out, again;
    nl_wire_message message;
    (void)state;
    const nl_wire_value body = sample(arena);
    nl_builder_init(&out, 100000);
    nl_builder_init(&again, 100000);
    nl_wire_append_message(&out, NL_WIRE_REPLY, NL_STR("m"), 7, &body);
    assert_ok(read_all(nl_builder_str(&out), arena, &message));
    assert_int_equal(message.kind, NL_WIRE_REPLY);
    assert_int_equal(message.sequence, 7);
    assert_true(nl_str_is(nl_wire_text(&message.body, 1), "db"));
    assert_int_equal(nl_wire_number(&nl_wire_field(&message.body, 2, NL_WIRE_LIST)->items[3], 1, 0), -17);
    assert_true(nl_str_is(nl_wire_get(nl_wire_field(&message.body, 3, NL_WIRE_MAP), NL_STR("k39")), "v39"));
    assert_int_equal(nl_wire_number(&message.body, 4, 0), INT64_MIN);
    assert_int_equal(nl_wire_number(&message.body, 6, 0), -2);
    nl_wire_append_message(&again, message.kind, message.name, message.sequence, &message.body);
    assert_int_equal(again.length, out.length);
    assert_memory_equal(again.data, out.data, out.length);
    nl_builder_fini(&again);
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

static void test_fields_and_pairs_are_replaced_and_removed(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    (void)state;
    nl_wire_value body = sample(arena);
    nl_wire_value *map = nl_wire_field(&body, 3, NL_WIRE_MAP);
    nl_wire_put(arena, map, NL_STR("k3"), NL_STR("new"));
    nl_wire_remove(map, NL_STR("k0"));
    nl_wire_remove(map, NL_STR("never there"));
    assert_int_equal(map->count, 39);
    assert_true(nl_str_is(nl_wire_get(map, NL_STR("k3")), "new"));
    assert_null(nl_wire_get(map, NL_STR("k0")).data);
    nl_wire_unset(&body, 1);
    assert_null(nl_wire_text(&body, 1).data);
    assert_null(nl_wire_field(&body, 4, NL_WIRE_STRING));
    nl_arena_free(arena);
}

static void test_an_answer_cut_anywhere_is_an_error(void **state)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_builder out;
    (void)state;
    const nl_wire_value body = sample(arena);
    nl_builder_init(&out, 100000);
    nl_wire_append_message(&out, NL_WIRE_REPLY, NL_STR("m"), 7, &body);
    for (size_t length = 0; length < out.length; length++) {
        nl_wire_message message;
        nl_arena *inner = nl_arena_new(NULL);
        nl_error *error = read_limited(out.data, length, out.length, inner, &message); /* the connection ends */
        assert_non_null(error);
        nl_error_free(error);
        error = read_limited(out.data, out.length, length, inner, &message); /* the limit is reached */
        assert_non_null(error);
        nl_error_free(error);
        nl_arena_free(inner);
    }
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

static void test_hostile_answers_are_refused_without_being_believed(void **state)
{
#define HEAD "\x80\x01\x00\x02" "\x00\x00\x00\x01" "m" "\x00\x00\x00\x01"
    static const struct {
        const char *bytes;
        size_t length;
        const char *why;
    } rows[] = {
#define ROW(text, why) {text, sizeof(text) - 1, why}
        ROW("HTTP/1.1 200 OK\r\n", "does not begin"),
        ROW("\x80\x02\x00\x02", "does not begin"),
        ROW("\x80\x01\x00\x02\xff\xff\xff\xff", "a length is negative"),
        ROW("\x80\x01\x00\x02\x7f\xff\xff\xff", "a length is negative"),
        ROW(HEAD "\x0f\x00\x00\x0b\x7f\xff\xff\xff", "beyond the end"),       /* a list of 2^31 texts */
        ROW(HEAD "\x0d\x00\x00\x0b\x0b\x80\x00\x00\x00", "a length is negative"), /* a map of -2^31 */
        ROW(HEAD "\x0b\x00\x00\x00\x01\x00\x00" "short", "beyond the end"),
        ROW(HEAD "\x01\x00\x00", "a type does not exist"),
        ROW(HEAD "\x7f\x00\x00", "a type does not exist"),
    };
    (void)state;
    for (size_t i = 0; i < NL_COUNT(rows); i++) {
        nl_wire_message message;
        nl_arena *arena = nl_arena_new(NULL);
        nl_error *error = read_limited(rows[i].bytes, rows[i].length, rows[i].length, arena, &message);
        assert_non_null(error);
        if (!strstr(nl_error_message(error), rows[i].why)) fail_msg("row %zu: %s", i, nl_error_message(error));
        assert_int_equal(nl_error_kind_of(error), NL_KIND_DATA);
        assert_true(nl_arena_used(arena) < 10000);
        nl_error_free(error);
        nl_arena_free(arena);
    }
}

static void test_structs_in_structs_end_somewhere(void **state)
{
    nl_builder out;
    nl_wire_message message;
    nl_arena *arena = nl_arena_new(NULL);
    (void)state;
    nl_builder_init(&out, 1 << 20);
    nl_append(&out, (nl_str){HEAD, sizeof(HEAD) - 1});
    for (int i = 0; i < 100000; i++) nl_append(&out, (nl_str){"\x0c\x00\x01", 3});
    nl_error *error = read_all(nl_builder_str(&out), arena, &message);
    assert_non_null(strstr(nl_error_message(error), "nest too deeply"));
    nl_error_free(error);
    nl_builder_fini(&out);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_call_has_the_bytes_that_java_writes),
        cmocka_unit_test(test_what_was_written_is_read_and_written_again),
        cmocka_unit_test(test_fields_and_pairs_are_replaced_and_removed),
        cmocka_unit_test(test_an_answer_cut_anywhere_is_an_error),
        cmocka_unit_test(test_hostile_answers_are_refused_without_being_believed),
        cmocka_unit_test(test_structs_in_structs_end_somewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
