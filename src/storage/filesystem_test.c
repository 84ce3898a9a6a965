/* storage/filesystem_test.c - the contract of filesystem.h, run over every implementation: local disk, memory, and
 * both below a fault layer that never strikes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/calendar.h"
#include "storage/filesystem_ops.h"

typedef struct place {
    nl_fs *fs;
    nl_arena *arena;
    nl_fault_plan *plan;
    nl_str root; /* an empty folder */
} place;

static int open_place(void **state, nl_fs *fs, bool is_local, bool is_faulty)
{
    place *here = calloc(1, sizeof *here);
    here->arena = nl_arena_new(NULL);
    here->root = NL_STR("memory:/root");
    if (is_local) {
        char name[] = "/tmp/nilas-fs-test-XXXXXX";
        assert_non_null(mkdtemp(name));
        here->root = nl_arena_f(here->arena, "file:%s", name);
    }
    here->fs = fs;
    if (is_faulty) {
        assert_null(nl_fault_plan_parse(NL_STR("local.open:99999=EIO"), &here->plan));
        here->fs = nl_fs_fault_new(fs, here->plan);
        nl_fs_release(fs);
    }
    assert_null(nl_fs_make_directory(here->fs, here->root));
    *state = here;
    return 0;
}

static int open_local(void **state)
{
    return open_place(state, nl_fs_local(), true, false);
}

static int open_memory(void **state)
{
    return open_place(state, nl_fs_memory_new(), false, false);
}

static int open_faulty_local(void **state)
{
    return open_place(state, nl_fs_local(), true, true);
}

static int open_faulty_memory(void **state)
{
    return open_place(state, nl_fs_memory_new(), false, true);
}

static int close_place(void **state)
{
    place *here = *state;
    assert_null(nl_fs_remove_tree(here->fs, here->root));
    nl_fs_release(here->fs);
    nl_fault_plan_free(here->plan);
    nl_arena_free(here->arena);
    free(here);
    return 0;
}

static nl_str at(const place *here, const char *name)
{
    return nl_path_join(here->arena, here->root, nl_str_from(name));
}

static nl_bytes bytes_of(const char *text)
{
    return (nl_bytes){(const uint8_t *)text, strlen(text)};
}

static void assert_condition(nl_status status, nl_condition condition)
{
    assert_non_null(status);
    assert_string_equal(nl_condition_name(nl_error_condition(status)), nl_condition_name(condition));
    nl_error_free(status);
}

static void assert_content(const place *here, const char *name, const char *expected)
{
    nl_buffer *content = NULL;
    assert_null(nl_fs_read_all(here->fs, at(here, name), 1 << 20, &content));
    assert_int_equal(content->size_bytes, strlen(expected));
    assert_memory_equal(content->data, expected, strlen(expected));
    nl_buffer_release(content);
}

static bool exists(const place *here, const char *name)
{
    bool answer = false;
    assert_null(nl_fs_exists(here->fs, at(here, name), &answer));
    return answer;
}

static void test_what_is_written_is_read_back(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "a/b/c.txt"), bytes_of("hello")));
    assert_content(here, "a/b/c.txt", "hello");
    assert_null(nl_fs_write_all(here->fs, at(here, "a/b/c.txt"), bytes_of("replaced")));
    assert_content(here, "a/b/c.txt", "replaced");
    assert_null(nl_fs_write_all(here->fs, at(here, "empty"), (nl_bytes){NULL, 0}));
    assert_content(here, "empty", "");
}

static void test_nothing_is_visible_before_close(void **state)
{
    place *here = *state;
    nl_output *output = NULL;
    assert_null(nl_fs_create(here->fs, at(here, "x"), &output));
    assert_null(nl_output_write(output, "12345", 5));
    assert_int_equal(nl_output_position(output), 5);
    assert_false(exists(here, "x"));
    assert_null(nl_output_close(output));
    assert_content(here, "x", "12345");
}

static void test_an_aborted_output_leaves_nothing(void **state)
{
    place *here = *state;
    nl_output *output = NULL;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("old")));
    assert_null(nl_fs_create(here->fs, at(here, "x"), &output));
    assert_null(nl_output_write(output, "new", 3));
    nl_output_abort(output);
    assert_content(here, "x", "old");
    nl_output_abort(NULL);
}

static void test_small_and_large_writes_keep_their_order(void **state)
{
    place *here = *state;
    enum { TOTAL = 400000 };
    static const size_t sizes[] = {1, 63, 64, 65, 0, 65535, 65536, 65537, 7};
    uint8_t *expected = malloc(TOTAL);
    for (size_t i = 0; i < TOTAL; i++) expected[i] = (uint8_t)(i * 31 + i / 253);
    nl_output *output = NULL;
    assert_null(nl_fs_create(here->fs, at(here, "big"), &output));
    for (size_t done = 0, i = 0; done < TOTAL; i++) {
        size_t length = NL_MIN(sizes[i % NL_COUNT(sizes)], TOTAL - done);
        assert_null(nl_output_write(output, expected + done, length));
        done += length;
    }
    assert_null(nl_output_close(output));
    nl_buffer *content = NULL;
    assert_null(nl_fs_read_all(here->fs, at(here, "big"), TOTAL, &content));
    assert_int_equal(content->size_bytes, TOTAL);
    assert_memory_equal(content->data, expected, TOTAL);
    nl_buffer_release(content);
    free(expected);
}

static void test_reading_knows_the_size_and_refuses_to_pass_it(void **state)
{
    place *here = *state;
    nl_file *file = NULL;
    uint8_t into[16];
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("0123456789")));
    assert_null(nl_fs_open(here->fs, at(here, "x"), &file));
    assert_int_equal(nl_file_size(file), 10);
    assert_true(nl_str_equal(nl_file_path(file), at(here, "x")));
    assert_null(nl_file_read(file, 3, 4, into));
    assert_memory_equal(into, "3456", 4);
    assert_null(nl_file_read(file, 10, 0, into));
    assert_condition(nl_file_read(file, 7, 4, into), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_file_read(file, 11, 0, into), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_file_read(file, UINT64_MAX, 4, into), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_file_read(file, 4, SIZE_MAX, into), NL_COND_NILAS_IO_ERROR);
    nl_file_prefetch(file, &(nl_range){0, 10}, 1);
    nl_file_close(file);
    nl_file_close(NULL);
}

static void test_an_open_file_survives_its_removal(void **state)
{
    place *here = *state;
    nl_file *file = NULL;
    uint8_t into[3];
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("old")));
    assert_null(nl_fs_open(here->fs, at(here, "x"), &file));
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("brand new")));
    assert_null(nl_fs_remove(here->fs, at(here, "x")));
    assert_null(nl_file_read(file, 0, 3, into));
    assert_memory_equal(into, "old", 3);
    nl_file_close(file);
}

static void test_what_is_absent_is_path_not_found(void **state)
{
    place *here = *state;
    nl_file *file = NULL;
    nl_buffer *content = NULL;
    nl_file_info info;
    assert_condition(nl_fs_open(here->fs, at(here, "none"), &file), NL_COND_PATH_NOT_FOUND);
    assert_null(file);
    assert_condition(nl_fs_read_all(here->fs, at(here, "a/none"), 10, &content), NL_COND_PATH_NOT_FOUND);
    assert_condition(nl_fs_stat(here->fs, at(here, "none"), &info), NL_COND_PATH_NOT_FOUND);
    assert_condition(nl_fs_rename(here->fs, at(here, "none"), at(here, "b"), false), NL_COND_PATH_NOT_FOUND);
    assert_condition(nl_fs_list(here->fs, at(here, "none"), true, NULL, NULL), NL_COND_PATH_NOT_FOUND);
    assert_false(exists(here, "none"));
    nl_status status = nl_fs_open(here->fs, at(here, "none"), &file);
    assert_string_equal(nl_error_param(status, "path"), nl_str_c(here->arena, at(here, "none")));
    nl_error_free(status);
}

static void test_a_folder_is_no_file(void **state)
{
    place *here = *state;
    nl_file *file = NULL;
    assert_null(nl_fs_make_directory(here->fs, at(here, "d")));
    assert_condition(nl_fs_open(here->fs, at(here, "d"), &file), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_write_all(here->fs, at(here, "d"), bytes_of("x")), NL_COND_NILAS_IO_ERROR);
}

static void test_read_all_has_a_limit(void **state)
{
    place *here = *state;
    nl_buffer *content = NULL;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("12345")));
    assert_condition(nl_fs_read_all(here->fs, at(here, "x"), 4, &content), NL_COND_NILAS_IO_ERROR);
    assert_null(nl_fs_read_all(here->fs, at(here, "x"), 5, &content));
    nl_buffer_release(content);
}

static void test_only_the_first_creates_if_absent(void **state)
{
    place *here = *state;
    nl_str path = at(here, "meta/v1.json");
    assert_null(nl_fs_create_if_absent(here->fs, path, bytes_of("first")));
    assert_condition(nl_fs_create_if_absent(here->fs, path, bytes_of("second")), NL_COND_NILAS_ALREADY_EXISTS);
    assert_content(here, "meta/v1.json", "first");
}

static void test_rename_moves_and_does_not_replace_unasked(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "a"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "b"), bytes_of("2")));
    assert_condition(nl_fs_rename(here->fs, at(here, "a"), at(here, "b"), false), NL_COND_NILAS_ALREADY_EXISTS);
    assert_content(here, "a", "1");
    assert_content(here, "b", "2");
    assert_null(nl_fs_rename(here->fs, at(here, "a"), at(here, "b"), true));
    assert_false(exists(here, "a"));
    assert_content(here, "b", "1");
    assert_null(nl_fs_rename(here->fs, at(here, "b"), at(here, "c"), false));
    assert_content(here, "c", "1");
}

static void test_rename_moves_folders(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "old/x/y"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "old/z"), bytes_of("2")));
    assert_null(nl_fs_rename(here->fs, at(here, "old"), at(here, "new"), false));
    assert_content(here, "new/x/y", "1");
    assert_content(here, "new/z", "2");
    assert_false(exists(here, "old"));
}

static void test_removing_what_is_absent_is_success(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "x"), bytes_of("1")));
    assert_null(nl_fs_remove(here->fs, at(here, "x")));
    assert_null(nl_fs_remove(here->fs, at(here, "x")));
    assert_null(nl_fs_remove(here->fs, at(here, "no/such/x")));
    assert_null(nl_fs_remove_tree(here->fs, at(here, "no/such")));
    assert_false(exists(here, "x"));
}

static void test_remove_many_counts_what_is_gone(void **state)
{
    place *here = *state;
    nl_str paths[] = {at(here, "a"), at(here, "b"), at(here, "full"), at(here, "c")};
    assert_null(nl_fs_write_all(here->fs, paths[0], bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "full/x"), bytes_of("2")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "full")));
    assert_null(nl_fs_write_all(here->fs, paths[3], bytes_of("3")));
    uint64_t count = 77;
    assert_condition(nl_fs_remove_many(here->fs, paths, 4, &count), NL_COND_NILAS_IO_ERROR); /* "full" is not empty */
    assert_int_equal(count, 3);
    assert_false(exists(here, "a"));
    assert_false(exists(here, "c"));
    assert_null(nl_fs_remove_many(here->fs, paths, 0, &count));
    assert_int_equal(count, 0);
}

static void test_remove_tree_takes_everything_below(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "t/a/b/c"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "t/d"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "t-other"), bytes_of("1")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "t/empty")));
    assert_null(nl_fs_remove_tree(here->fs, at(here, "t")));
    assert_false(exists(here, "t"));
    assert_true(exists(here, "t-other"));
}

static void test_make_directory_makes_parents_and_may_be_repeated(void **state)
{
    place *here = *state;
    nl_file_info info;
    assert_null(nl_fs_make_directory(here->fs, at(here, "p/q/r")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "p/q/r")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "p/q/r/")));
    assert_null(nl_fs_stat(here->fs, at(here, "p/q"), &info));
    assert_true(info.is_directory);
    assert_null(nl_fs_write_all(here->fs, at(here, "f"), bytes_of("1")));
    nl_status status = nl_fs_make_directory(here->fs, at(here, "f"));
    assert_condition(status, NL_COND_NILAS_IO_ERROR);
}

static void test_stat_tells_size_time_and_kind(void **state)
{
    place *here = *state;
    nl_file_info info;
    assert_null(nl_fs_write_all(here->fs, at(here, "d/x"), bytes_of("12345")));
    assert_null(nl_fs_stat(here->fs, at(here, "d/x"), &info));
    assert_int_equal(info.size_bytes, 5);
    assert_false(info.is_directory);
    assert_true(nl_str_equal(info.path, at(here, "d/x")));
    assert_true(llabs(nl_now_micros() - info.modified_micros) < 60 * NL_MICROS_PER_SECOND);
    assert_null(nl_fs_stat(here->fs, at(here, "d"), &info));
    assert_true(info.is_directory);
    assert_int_equal(info.size_bytes, 0);
}

typedef struct seen {
    const place *here;
    nl_builder text; /* "name:size " per entry, folders with "/" */
    uint32_t stop_after;
} seen;

static nl_status note_entry(void *argument, const nl_file_info *info)
{
    seen *self = argument;
    nl_str root = self->here->root;
    assert_true(nl_str_starts(info->path, root));
    nl_append_f(&self->text, NL_STR_FMT "%s:%d ", NL_STR_ARG(nl_str_slice(info->path, root.length, SIZE_MAX)),
                info->is_directory ? "/" : "", (int)info->size_bytes);
    if (self->stop_after > 0 && --self->stop_after == 0) return NL_RAISE(OPERATION_CANCELED);
    return NULL;
}

/* The expected entries in any order. */
static void assert_listing(const place *here, nl_str folder, bool is_recursive, const char *const *expected)
{
    seen all = {.here = here};
    nl_builder_init(&all.text, 1 << 16);
    assert_null(nl_fs_list(here->fs, folder, is_recursive, note_entry, &all));
    size_t length = 0;
    for (; *expected != NULL; expected++) {
        assert_non_null(strstr(nl_builder_c(&all.text), *expected));
        length += strlen(*expected);
    }
    assert_int_equal(all.text.length, length);
    nl_builder_fini(&all.text);
}

static void test_listing_one_level_or_all(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "a"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "d/b"), bytes_of("22")));
    assert_null(nl_fs_write_all(here->fs, at(here, "d-x"), bytes_of("4444")));
    assert_null(nl_fs_write_all(here->fs, at(here, "d/e/c"), bytes_of("333")));
    assert_null(nl_fs_make_directory(here->fs, at(here, "void")));
    assert_listing(here, here->root, false, (const char *const[]){"/a:1 ", "/d/:0 ", "/d-x:4 ", "/void/:0 ", NULL});
    assert_listing(here, here->root, true,
                   (const char *const[]){"/a:1 ", "/d/b:2 ", "/d-x:4 ", "/d/e/c:3 ", NULL});
    assert_listing(here, at(here, "d/"), false, (const char *const[]){"/d/b:2 ", "/d/e/:0 ", NULL});
    assert_listing(here, at(here, "void"), true, (const char *const[]){NULL});
}

static void test_listing_stops_at_the_visitors_failure(void **state)
{
    place *here = *state;
    assert_null(nl_fs_write_all(here->fs, at(here, "a"), bytes_of("1")));
    assert_null(nl_fs_write_all(here->fs, at(here, "b"), bytes_of("2")));
    seen all = {.here = here, .stop_after = 1};
    nl_builder_init(&all.text, 1 << 16);
    assert_condition(nl_fs_list(here->fs, here->root, true, note_entry, &all), NL_COND_OPERATION_CANCELED);
    assert_int_equal(all.text.length, 5);
    nl_builder_fini(&all.text);
}

static void test_ranges_come_back_whole(void **state)
{
    place *here = *state;
    enum { TOTAL = 300000 };
    uint8_t *expected = malloc(TOTAL);
    for (size_t i = 0; i < TOTAL; i++) expected[i] = (uint8_t)(i * 7 + i / 251);
    assert_null(nl_fs_write_all(here->fs, at(here, "big"), (nl_bytes){expected, TOTAL}));
    nl_file *file = NULL;
    assert_null(nl_fs_open(here->fs, at(here, "big"), &file));
    const nl_range ranges[] = {{200000, 1000}, {0, 4}, {4, 100}, {60000, 5}, {60001, 2}, {299999, 1}, {10, 0}, {150, 64}};
    nl_buffer *buffers[NL_COUNT(ranges)];
    nl_memory *memory = nl_memory_new(NULL, "test", 1 << 20);
    assert_null(nl_file_read_ranges(file, ranges, NL_COUNT(ranges), memory, buffers));
    for (size_t i = 0; i < NL_COUNT(ranges); i++) {
        assert_int_equal(buffers[i]->size_bytes, ranges[i].length);
        assert_memory_equal(buffers[i]->data, expected + ranges[i].offset, ranges[i].length);
        nl_buffer_release(buffers[i]);
    }
    assert_int_equal(nl_memory_used(memory), 0);
    assert_null(nl_file_read_ranges(file, ranges, 0, memory, buffers));
    const nl_range outside[] = {{0, 10}, {TOTAL, 1}};
    assert_condition(nl_file_read_ranges(file, outside, 2, memory, buffers), NL_COND_NILAS_IO_ERROR);
    nl_memory *small = nl_memory_new(memory, "small", 50000);
    assert_condition(nl_file_read_ranges(file, ranges, NL_COUNT(ranges), small, buffers),
                     NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    assert_int_equal(nl_memory_used(small), 0);
    nl_memory_release(small);
    nl_memory_release(memory);
    nl_file_close(file);
    free(expected);
}

static void test_names_that_are_no_names_are_refused(void **state)
{
    place *here = *state;
    nl_file *file = NULL;
    nl_str with_zero = {"file:/tmp/a\0b", 13};
    char *long_name = malloc(5000);
    memset(long_name, 'x', 5000);
    assert_condition(nl_fs_open(here->fs, (nl_str){NULL, 0}, &file), NL_COND_NILAS_ILLEGAL_ARGUMENT);
    assert_condition(nl_fs_open(here->fs, with_zero, &file), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_remove(here->fs, with_zero), NL_COND_NILAS_IO_ERROR);
    assert_condition(nl_fs_write_all(here->fs, (nl_str){long_name, 5000}, bytes_of("x")), NL_COND_NILAS_IO_ERROR);
    free(long_name);
}

static void release_nothing(nl_fs *self)
{
    (void)self;
}

static void test_what_an_implementation_lacks_is_unsupported(void **state)
{
    (void)state;
    static const nl_fs_ops ops = {.scheme = "bare", .free = release_nothing};
    nl_fs fs = {.ops = &ops, .references = 1};
    nl_str x = NL_STR("bare:/x");
    nl_file *file = NULL;
    nl_output *output = NULL;
    nl_file_info info;
    bool answer;
    uint64_t count;
    assert_condition(nl_fs_open(&fs, x, &file), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_create(&fs, x, &output), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_write_all(&fs, x, bytes_of("1")), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_create_if_absent(&fs, x, bytes_of("1")), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_rename(&fs, x, NL_STR("bare:/y"), false), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_remove(&fs, x), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_remove_many(&fs, &x, 1, &count), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_remove_tree(&fs, x), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_stat(&fs, x, &info), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_exists(&fs, x, &answer), NL_COND_NILAS_UNSUPPORTED);
    assert_condition(nl_fs_list(&fs, x, true, note_entry, NULL), NL_COND_NILAS_UNSUPPORTED);
    assert_null(nl_fs_make_directory(&fs, x)); /* object stores have no folders, so there is nothing to do */
    nl_status status = nl_fs_open(&fs, x, &file);
    assert_non_null(strstr(nl_error_message(status), "\"bare\""));
    nl_error_free(status);
    nl_fs_release(nl_fs_retain(&fs));
    nl_fs_release(NULL);
}

static void test_every_operation_refuses_an_empty_path(void **state)
{
    place *here = *state;
    nl_str none = {NULL, 0};
    nl_str x = at(here, "x");
    nl_buffer *content = NULL;
    nl_output *output = NULL;
    nl_file_info info;
    uint64_t count;
    const nl_condition refused = NL_COND_NILAS_ILLEGAL_ARGUMENT;
    assert_condition(nl_fs_read_all(here->fs, none, 1, &content), refused);
    assert_condition(nl_fs_create(here->fs, none, &output), refused);
    assert_condition(nl_fs_create_if_absent(here->fs, none, bytes_of("1")), refused);
    assert_condition(nl_fs_rename(here->fs, none, x, false), refused);
    assert_condition(nl_fs_rename(here->fs, x, none, false), refused);
    assert_condition(nl_fs_remove(here->fs, none), refused);
    assert_condition(nl_fs_remove_many(here->fs, &none, 1, &count), refused);
    assert_condition(nl_fs_remove_tree(here->fs, none), refused);
    assert_condition(nl_fs_make_directory(here->fs, none), refused);
    assert_condition(nl_fs_stat(here->fs, none, &info), refused);
    assert_condition(nl_fs_list(here->fs, none, false, note_entry, NULL), refused);
}

#define ON_ALL(test)                                                                                     \
    {#test " (local)", test, open_local, close_place, NULL},                                             \
        {#test " (memory)", test, open_memory, close_place, NULL},                                       \
        {#test " (local, faults)", test, open_faulty_local, close_place, NULL},                          \
        {#test " (memory, faults)", test, open_faulty_memory, close_place, NULL}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_what_is_written_is_read_back),
        ON_ALL(test_nothing_is_visible_before_close),
        ON_ALL(test_an_aborted_output_leaves_nothing),
        ON_ALL(test_small_and_large_writes_keep_their_order),
        ON_ALL(test_reading_knows_the_size_and_refuses_to_pass_it),
        ON_ALL(test_an_open_file_survives_its_removal),
        ON_ALL(test_what_is_absent_is_path_not_found),
        ON_ALL(test_a_folder_is_no_file),
        ON_ALL(test_read_all_has_a_limit),
        ON_ALL(test_only_the_first_creates_if_absent),
        ON_ALL(test_rename_moves_and_does_not_replace_unasked),
        ON_ALL(test_rename_moves_folders),
        ON_ALL(test_removing_what_is_absent_is_success),
        ON_ALL(test_remove_many_counts_what_is_gone),
        ON_ALL(test_remove_tree_takes_everything_below),
        ON_ALL(test_make_directory_makes_parents_and_may_be_repeated),
        ON_ALL(test_stat_tells_size_time_and_kind),
        ON_ALL(test_listing_one_level_or_all),
        ON_ALL(test_listing_stops_at_the_visitors_failure),
        ON_ALL(test_ranges_come_back_whole),
        ON_ALL(test_names_that_are_no_names_are_refused),
        ON_ALL(test_every_operation_refuses_an_empty_path),
        cmocka_unit_test(test_what_an_implementation_lacks_is_unsupported),
    };
    return cmocka_run_group_tests_name("storage/filesystem", tests, NULL, NULL);
}
