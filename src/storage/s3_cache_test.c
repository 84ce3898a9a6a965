/* storage/s3_cache_test.c - objects of a small S3 (test_s3.h) whose pieces are kept: what is asked of the server, and that the bytes
 * are always those of the version that the reader has to see.
 */
#include "base/process.h"
#include "storage/piece_cache.h"
#include "storage/test_s3.h"

typedef struct caching {
    fixture *f;
    nl_piece_cache *cache;
} caching;

/* The file system looks for the cache when it is made: so another one replaces the fixture's. */
static nl_fs *another_fs(fixture *f, const char *key)
{
    nl_fs *fs = NULL;
    const nl_property properties[] = {{NL_STR("s3.access-key-id"), nl_str_from(key)},   {NL_STR("s3.secret-access-key"), NL_STR("hidden-secret")},
                                      {NL_STR("client.region"), NL_STR("eu-central-1")}, {NL_STR("s3.endpoint"), nl_str_from(f->server.url)},
                                      {NL_STR("s3.retry.num-retries"), NL_STR("1")},     {NL_STR("s3.retry.min-wait-ms"), NL_STR("10")}};
    assert_ok(nl_fs_s3_new(properties, NL_COUNT(properties), f->memory, &fs));
    return fs;
}

static caching begin(size_t limit_bytes, int64_t trust_micros)
{
    caching c = {.f = start()};
    c.cache = nl_piece_cache_obtain(c.f->memory, &(nl_piece_cache_options){.limit_bytes = limit_bytes, .trust_micros = trust_micros});
    nl_fs_release(c.f->fs);
    c.f->fs = another_fs(c.f, "me");
    return c;
}

static void end(caching *c)
{
    nl_piece_cache_release(c->cache);
    stop(c->f);
}

static uint64_t requests(const caching *c)
{
    return atomic_load(&c->f->server.request_count);
}

/* The text at offset of an object of 10 bytes whose name never stands for others. */
static nl_status read_text(nl_fs *fs, const char *path, bool never_changes, uint64_t offset, size_t length, char *into)
{
    nl_file *file = NULL;
    NL_TRY(nl_fs_open_data(fs, nl_str_from(path), 10, never_changes, &file));
    nl_status status = nl_file_read(file, offset, length, (uint8_t *)into);
    into[length] = '\0';
    nl_file_close(file);
    return status;
}

static void test_what_was_read_once_is_read_again_without_asking(void **state)
{
    (void)state;
    caching c = begin(64u << 20, -1);
    char text[16];
    store(&c.f->s3, "k", "0123456789", 10, "");
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 2, 4, text));
    assert_string_equal(text, "2345");
    assert_int_equal(requests(&c), 1);
    assert_ok(read_text(c.f->fs, "s3a://b/k", true, 3, 2, text)); /* the same object by another scheme */
    assert_string_equal(text, "34");
    assert_int_equal(requests(&c), 1);
    c.f->s3.seen[0] = '\0';
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text)); /* what is missing, before and behind */
    assert_string_equal(text, "0123456789");
    assert_string_equal(c.f->s3.seen, "GET /b/k\nGET /b/k\n");
    assert_non_null(strstr(c.f->s3.last_head, "range: bytes=6-9"));
    assert_non_null(strstr(c.f->s3.last_head, "if-match: "));
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text));
    assert_string_equal(text, "0123456789");
    assert_int_equal(requests(&c), 3);
    assert_int_equal(nl_piece_cache_read_stats(c.cache).put_bytes, 10);
    assert_true(nl_piece_cache_read_stats(c.cache).hit_bytes >= 16);
    end(&c);
}

static void test_this_process_sees_what_it_changes(void **state)
{
    (void)state;
    caching c = begin(64u << 20, -1);
    char text[16];
    const nl_str path = NL_STR("s3://b/k");
    assert_ok(nl_fs_write_all(c.f->fs, path, text_bytes("0123456789")));
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text));
    assert_ok(nl_fs_write_all(c.f->fs, path, text_bytes("abcdefghij"))); /* of the same size */
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text));
    assert_string_equal(text, "abcdefghij");
    assert_ok(nl_fs_write_all(c.f->fs, NL_STR("s3://b/l"), text_bytes("ABCDEFGHIJ")));
    assert_ok(nl_fs_rename(c.f->fs, NL_STR("s3://b/l"), path, true));
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text));
    assert_string_equal(text, "ABCDEFGHIJ");
    assert_ok(nl_fs_remove(c.f->fs, path));
    assert_fails(read_text(c.f->fs, "s3://b/k", true, 0, 10, text), PATH_NOT_FOUND, NULL);
    uint64_t removed = 0;
    const nl_str both[] = {NL_STR("s3://b/m"), NL_STR("s3://b/n")};
    for (int i = 0; i < 2; i++) {
        assert_ok(nl_fs_write_all(c.f->fs, both[i], text_bytes("0123456789")));
        assert_ok(read_text(c.f->fs, both[i].data, true, 0, 10, text));
    }
    assert_ok(nl_fs_remove_many(c.f->fs, both, 2, &removed));
    for (int i = 0; i < 2; i++) assert_fails(read_text(c.f->fs, both[i].data, true, 0, 10, text), PATH_NOT_FOUND, NULL);
    end(&c);
}

static void test_what_others_change_is_seen_after_the_trust_time(void **state)
{
    (void)state;
    caching c = begin(64u << 20, 60000000);
    char text[16];
    nl_clock_hold(1790856000000000);
    store(&c.f->s3, "k", "0123456789", 10, "");
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 5, text));
    store(&c.f->s3, "k", "abcdefghij", 10, ""); /* which no writer of tables does */
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 5, text));
    assert_string_equal(text, "01234");
    assert_fails(read_text(c.f->fs, "s3://b/k", true, 0, 10, text), NILAS_IO_ERROR, "changed while it was read"); /* never a mixture */
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text)); /* and the error has told */
    assert_string_equal(text, "abcdefghij");
    store(&c.f->s3, "k", "ABCDEFGHIJ", 10, "");
    nl_clock_hold(1790856000000000 + 60000000);
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 5, text));
    assert_string_equal(text, "ABCDE");
    drop(&c.f->s3, "k");
    nl_clock_hold(1790856000000000 + 130000000);
    assert_fails(read_text(c.f->fs, "s3://b/k", true, 0, 5, text), PATH_NOT_FOUND, NULL);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    end(&c);
}

static void test_files_that_may_change_are_compared_each_time(void **state)
{
    (void)state;
    caching c = begin(64u << 20, -1);
    char text[16];
    nl_file *file = NULL;
    store(&c.f->s3, "k", "0123456789", 10, "");
    assert_ok(read_text(c.f->fs, "s3://b/k", false, 0, 10, text));
    store(&c.f->s3, "k", "abcdefghij", 10, "");
    assert_ok(read_text(c.f->fs, "s3://b/k", false, 0, 10, text));
    assert_string_equal(text, "abcdefghij");
    c.f->s3.seen[0] = '\0';
    for (int i = 0; i < 2; i++) { /* the size is not known: a HEAD tells that what is kept is right */
        assert_ok(nl_fs_open(c.f->fs, NL_STR("s3://b/k"), &file));
        assert_ok(nl_file_read(file, 0, 10, (uint8_t *)text));
        nl_file_close(file);
        assert_string_equal(text, "abcdefghij");
    }
    assert_string_equal(c.f->s3.seen, "HEAD /b/k\nHEAD /b/k\n");
    nl_buffer *content = NULL;
    c.f->s3.seen[0] = '\0';
    assert_ok(nl_fs_read_all(c.f->fs, NL_STR("s3://b/k"), 100, &content)); /* metadata: never from memory */
    assert_string_equal(c.f->s3.seen, "GET /b/k\n");
    nl_buffer_release(content);
    end(&c);
}

static void test_nobody_reads_by_the_leave_of_another(void **state)
{
    (void)state;
    caching c = begin(64u << 20, -1);
    char text[16];
    nl_fs *other = another_fs(c.f, "somebody else");
    store(&c.f->s3, "k", "0123456789", 10, "");
    assert_ok(read_text(c.f->fs, "s3://b/k", true, 0, 10, text));
    c.f->s3.failures[0] = (failure){.match = "GET /b/k", .count = 1, .status = 403, .body = "<Error><Code>AccessDenied</Code></Error>"};
    assert_fails(read_text(other, "s3://b/k", true, 0, 10, text), NILAS_IO_ERROR, "AccessDenied");
    assert_ok(read_text(other, "s3://b/k", true, 0, 4, text)); /* one answer, and all that is kept is theirs, too */
    const uint64_t before = requests(&c);
    assert_ok(read_text(other, "s3://b/k", true, 0, 10, text));
    assert_string_equal(text, "0123456789");
    assert_int_equal(requests(&c), before);
    nl_fs *same = another_fs(c.f, "me");
    assert_ok(read_text(same, "s3://b/k", true, 0, 10, text));
    assert_int_equal(requests(&c), before);
    nl_fs_release(same);
    nl_fs_release(other);
    end(&c);
}

static void test_what_was_fetched_ahead_and_in_ranges_is_kept_too(void **state)
{
    (void)state;
    caching c = begin(64u << 20, -1);
    const size_t length = 3u << 20;
    uint8_t *bytes = pattern(length);
    uint8_t *into = malloc(length);
    nl_file *file = NULL;
    store(&c.f->s3, "k", bytes, length, "");
    uint64_t asked = 0;
    for (int pass = 0; pass < 2; pass++) {
        const nl_range tail = {length - 1000, 1000};
        const nl_range ranges[] = {{500, 100}, {1u << 20, 2000}};
        nl_buffer *buffers[2] = {NULL};
        assert_ok(nl_fs_open_data(c.f->fs, NL_STR("s3://b/k"), length, true, &file));
        nl_file_prefetch(file, &tail, 1);
        assert_ok(nl_file_read(file, length - 100, 100, into));
        assert_memory_equal(into, bytes + length - 100, 100);
        nl_file_stream(file, 0, length);
        for (size_t at = 0; at < length; at += 100000) {
            const size_t part = NL_MIN(length - at, (size_t)100000);
            nl_file_stream(file, at, length);
            assert_ok(nl_file_read(file, at, part, into + at));
        }
        assert_memory_equal(into, bytes, length);
        assert_ok(nl_file_read_ranges(file, ranges, 2, NULL, buffers));
        for (int i = 0; i < 2; i++) {
            assert_memory_equal(buffers[i]->data, bytes + ranges[i].offset, ranges[i].length);
            nl_buffer_release(buffers[i]);
        }
        nl_file_close(file);
        if (pass == 0) asked = requests(&c);
    }
    assert_int_equal(asked, 3);
    assert_int_equal(requests(&c), asked);
    assert_true(nl_piece_cache_read_stats(c.cache).used_bytes < length + 4096); /* nothing is kept twice */
    free(bytes);
    free(into);
    end(&c);
}

/* ---- Small budgets, many threads ---- */

typedef struct reading {
    nl_fs *fs;
    const uint8_t *bytes;
    size_t length;
    atomic_uint_fast64_t wrong;
} reading;

static nl_status read_all_over(void *argument, uint64_t index)
{
    reading *all = argument;
    uint32_t x = (uint32_t)index + 1;
    uint8_t into[50000];
    for (int round = 0; round < 3; round++) {
        nl_file *file = NULL;
        NL_TRY(nl_fs_open_data(all->fs, NL_STR("s3://b/k"), all->length, true, &file));
        for (int i = 0; i < 60; i++) {
            x = x * 1664525u + 1013904223u;
            const size_t part = (x >> 8) % sizeof(into) + 1;
            const uint64_t offset = (uint64_t)(x >> 4) * 17 % (all->length - part);
            if (i % 3 == 0) nl_file_stream(file, offset, all->length);
            nl_status status = nl_file_read(file, offset, part, into);
            if (status || memcmp(into, all->bytes + offset, part) != 0) atomic_fetch_add(&all->wrong, 1);
            nl_error_free(status);
        }
        nl_file_close(file);
    }
    return NULL;
}

static void read_in_a_crowd(size_t limit_bytes)
{
    caching c = begin(limit_bytes, -1);
    const size_t length = 6u << 20;
    uint8_t *bytes = pattern(length);
    reading all = {.fs = c.f->fs, .bytes = bytes, .length = length};
    store(&c.f->s3, "k", bytes, length, "");
    nl_pool *pool = nl_pool_new(2, "test");
    assert_ok(nl_pool_for(pool, 2, read_all_over, &all));
    assert_int_equal(atomic_load(&all.wrong), 0);
    assert_true(nl_piece_cache_read_stats(c.cache).used_bytes <= limit_bytes);
    nl_pool_free(pool);
    free(bytes);
    end(&c);
}

static void test_two_threads_read_through_a_cache_of_any_size(void **state)
{
    (void)state;
    read_in_a_crowd(64u << 20);
    read_in_a_crowd(4u << 20); /* pieces come and go */
    read_in_a_crowd(64u << 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_read_once_is_read_again_without_asking),
        cmocka_unit_test(test_this_process_sees_what_it_changes),
        cmocka_unit_test(test_what_others_change_is_seen_after_the_trust_time),
        cmocka_unit_test(test_files_that_may_change_are_compared_each_time),
        cmocka_unit_test(test_nobody_reads_by_the_leave_of_another),
        cmocka_unit_test(test_what_was_fetched_ahead_and_in_ranges_is_kept_too),
        cmocka_unit_test(test_two_threads_read_through_a_cache_of_any_size),
    };
    return cmocka_run_group_tests_name("storage/s3_cache", tests, NULL, NULL);
}
