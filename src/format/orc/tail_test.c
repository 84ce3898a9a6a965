#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "format/orc/proto.h"
#include "format/orc/tail.h"

static void must(nl_status status)
{
    if (status) fail_msg("%s", nl_error_message(status));
}

typedef struct made_type {
    nl_orc_kind kind;
    uint8_t children[4];
    uint32_t child_count;
    uint32_t name_count;
    uint32_t precision, scale;
} made_type;

typedef struct made_file {
    const char *what;
    made_type types[4];
    uint32_t type_count;
    uint64_t stripe_offset, stripe_length, stripe_rows, rows;
    uint64_t compression;
    bool is_encrypted;
    nl_condition condition; /* 0: it is fine */
} made_file;

static void put_type(nl_bytes_out *footer, const made_type *type)
{
    nl_bytes_out message;
    nl_bytes_out_init(&message, NULL);
    must(nl_proto_put_number(&message, 1, type->kind));
    if (type->child_count) must(nl_proto_put_bytes(&message, 2, type->children, type->child_count));
    for (uint32_t i = 0; i < type->name_count; i++) must(nl_proto_put_bytes(&message, 3, &"abcd"[i], 1));
    if (type->precision) must(nl_proto_put_number(&message, 5, type->precision));
    if (type->scale) must(nl_proto_put_number(&message, 6, type->scale));
    must(nl_proto_put_bytes(footer, 4, message.data, message.length));
    nl_bytes_out_fini(&message);
}

static void put_stripe(nl_bytes_out *footer, const made_file *file)
{
    nl_bytes_out message;
    nl_bytes_out_init(&message, NULL);
    must(nl_proto_put_number(&message, 1, file->stripe_offset));
    must(nl_proto_put_number(&message, 3, file->stripe_length));
    must(nl_proto_put_number(&message, 5, file->stripe_rows));
    must(nl_proto_put_bytes(footer, 3, message.data, message.length));
    nl_bytes_out_fini(&message);
}

static nl_status read_made(const made_file *file, nl_orc_tail **tail)
{
    nl_bytes_out bytes, footer;
    nl_bytes_out_init(&bytes, NULL);
    nl_bytes_out_init(&footer, NULL);
    must(nl_bytes_out_add(&bytes, "ORC", 3));
    if (file->stripe_rows) put_stripe(&footer, file);
    for (uint32_t i = 0; i < file->type_count; i++) put_type(&footer, &file->types[i]);
    must(nl_proto_put_number(&footer, 6, file->rows));
    if (file->is_encrypted) must(nl_proto_put_bytes(&footer, 10, "", 0));
    must(nl_bytes_out_add(&bytes, footer.data, footer.length));
    const size_t start = bytes.length;
    must(nl_proto_put_number(&bytes, 1, footer.length));
    must(nl_proto_put_number(&bytes, 2, file->compression));
    must(nl_proto_put_str(&bytes, 8000, NL_STR("ORC")));
    const uint8_t length = (uint8_t)(bytes.length - start);
    must(nl_bytes_out_add(&bytes, &length, 1));
    nl_fs *fs = nl_fs_memory_new();
    nl_file *opened = NULL;
    must(nl_fs_write_all(fs, NL_STR("memory:/x.orc"), nl_bytes_out_bytes(&bytes)));
    must(nl_fs_open(fs, NL_STR("memory:/x.orc"), &opened));
    nl_status status = nl_orc_tail_read(opened, NULL, tail);
    nl_file_close(opened);
    nl_fs_release(fs);
    nl_bytes_out_fini(&bytes);
    nl_bytes_out_fini(&footer);
    return status;
}

#define ROOT(count) {.kind = NL_ORC_STRUCT, .children = {1, 2, 3}, .child_count = count, .name_count = count}

static const made_file files[] = {
    {"a file without rows", {ROOT(1), {.kind = NL_ORC_LONG}}, 2},
    {"a decimal", {ROOT(1), {.kind = NL_ORC_DECIMAL, .precision = 5, .scale = 5}}, 2},
    {"more digits behind the point than there are", {ROOT(1), {.kind = NL_ORC_DECIMAL, .precision = 5, .scale = 9}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"too many digits", {ROOT(1), {.kind = NL_ORC_DECIMAL, .precision = 39}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"no types", {{0}}, 0, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a circle", {ROOT(1), {.kind = NL_ORC_LIST, .children = {0}, .child_count = 1}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"its own child", {ROOT(1), {.kind = NL_ORC_LIST, .children = {1}, .child_count = 1}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a child that is not there", {ROOT(1), {.kind = NL_ORC_LIST, .children = {9}, .child_count = 1}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a child of two", {ROOT(2), {.kind = NL_ORC_LIST, .children = {2}, .child_count = 1}, {.kind = NL_ORC_INT}}, 3, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a type of nobody", {ROOT(1), {.kind = NL_ORC_INT}, {.kind = NL_ORC_INT}}, 3, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a list of two", {ROOT(1), {.kind = NL_ORC_LIST, .children = {2, 3}, .child_count = 2}, {.kind = NL_ORC_INT}, {.kind = NL_ORC_INT}}, 4, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a field without a name", {{.kind = NL_ORC_STRUCT, .children = {1}, .child_count = 1}, {.kind = NL_ORC_INT}}, 2, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"children below a number", {ROOT(1), {.kind = NL_ORC_INT, .children = {2}, .child_count = 1}, {.kind = NL_ORC_INT}}, 3, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"rows that are numbers", {{.kind = NL_ORC_LONG}}, 1, .condition = NL_COND_NILAS_UNSUPPORTED},
    {"a stripe beyond the end", {ROOT(1), {.kind = NL_ORC_INT}}, 2, 3, 100000, 5, 5, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"a stripe that wraps round", {ROOT(1), {.kind = NL_ORC_INT}}, 2, UINT64_MAX, 3, 5, 5, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"rows that no stripe has", {ROOT(1), {.kind = NL_ORC_INT}}, 2, 3, 1, 5, 6, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"more rows than can be", {ROOT(1), {.kind = NL_ORC_INT}}, 2, 3, 1, UINT64_MAX, UINT64_MAX, .condition = NL_COND_NILAS_CORRUPT_FILE},
    {"LZO", {ROOT(1), {.kind = NL_ORC_INT}}, 2, .compression = 3, .condition = NL_COND_NILAS_UNSUPPORTED},
    {"a codec of the future", {ROOT(1), {.kind = NL_ORC_INT}}, 2, .compression = 77, .condition = NL_COND_NILAS_UNSUPPORTED},
    {"encrypted columns", {ROOT(1), {.kind = NL_ORC_INT}}, 2, .is_encrypted = true, .condition = NL_COND_NILAS_UNSUPPORTED},
};

static void test_tails_that_cannot_be_are_refused(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NL_COUNT(files); i++) {
        nl_orc_tail *tail = NULL;
        nl_status status = read_made(&files[i], &tail);
        if (!files[i].condition) must(status);
        else if (!status) fail_msg("%s is taken", files[i].what);
        else if (nl_error_condition(status) != files[i].condition) fail_msg("%s: %s", files[i].what, nl_error_message(status));
        if (!files[i].condition) assert_int_equal(tail->root->child_count, 1);
        nl_error_free(status);
        nl_orc_tail_release(tail);
    }
}

static void test_a_union_is_refused_by_its_name(void **state)
{
    (void)state;
    const made_file file = {"a union", {ROOT(1), {.kind = NL_ORC_UNION, .children = {2}, .child_count = 1}, {.kind = NL_ORC_INT}}, 3};
    nl_orc_tail *tail = NULL;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *type = NULL;
    must(read_made(&file, &tail));
    nl_status status = nl_orc_tail_type(tail, arena, &type);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_NILAS_UNSUPPORTED);
    assert_non_null(strstr(nl_error_message(status), "column a "));
    nl_error_free(status);
    nl_orc_tail_release(tail);
    nl_arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tails_that_cannot_be_are_refused),
        cmocka_unit_test(test_a_union_is_refused_by_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
