/* storage/piece_cache_test.c - who is believed, what is found, who has to go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/process.h"
#include "base/test_support.h"
#include "storage/filesystem_ops.h"
#include "storage/piece_cache.h"

#define MIB (1u << 20)

typedef struct fixture {
    nl_memory *memory;
    nl_piece_cache *cache;
} fixture;

static fixture begin(size_t memory_bytes, size_t limit_bytes, int64_t trust_micros)
{
    fixture f = {.memory = nl_memory_new(NULL, "test", memory_bytes)};
    f.cache = nl_piece_cache_obtain(f.memory, &(nl_piece_cache_options){.limit_bytes = limit_bytes, .trust_micros = trust_micros, .keeps_parts = true});
    assert_non_null(f.cache);
    return f;
}

static void end(fixture *f)
{
    nl_piece_cache_release(f->cache);
    assert_int_equal(nl_memory_used(f->memory), 0);
    assert_null(nl_piece_cache_find(f->memory));
    nl_memory_release(f->memory);
}

static nl_object_name named(const char *key)
{
    return (nl_object_name){NL_STR("http://127.0.0.1:9000"), NL_STR("b"), nl_str_from(key)};
}

static nl_kept_object *see(const fixture *f, const char *key, const char *etag, uint64_t size)
{
    const nl_object_name name = named(key);
    return nl_piece_cache_seen(f->cache, &name, nl_str_from(etag), size, 1, nl_piece_cache_epoch(f->cache, &name));
}

static bool is_trusted(const fixture *f, const char *key, uint64_t size, uint64_t reader)
{
    const nl_object_name name = named(key);
    nl_kept_object *object = nl_piece_cache_trusted(f->cache, &name, size, reader);
    nl_kept_object_release(object);
    return object != NULL;
}

static bool put(const fixture *f, nl_kept_object *object, uint64_t offset, size_t length, uint8_t value)
{
    nl_buffer *bytes = nl_piece_cache_buffer(f->cache, length);
    if (!bytes) return false;
    memset(bytes->data, value, length);
    const bool is_kept = nl_kept_object_put(object, offset, bytes);
    nl_buffer_release(bytes);
    return is_kept;
}

/* The byte at offset, read with the `wanted` bytes from there on; -1: it is not there. */
static int get(nl_kept_object *object, uint64_t offset, uint64_t wanted)
{
    nl_buffer *bytes = NULL;
    uint64_t start = 0;
    if (!nl_kept_object_find(object, offset, wanted, &bytes, &start)) return -1;
    assert_true(offset >= start && offset - start < bytes->size_bytes);
    const int value = bytes->data[offset - start];
    nl_buffer_release(bytes);
    return value;
}

static void test_a_piece_is_found_by_every_byte_it_holds(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 128 * MIB, -1);
    nl_kept_object *object = see(&f, "k", "\"1\"", 100 * MIB);
    const uint64_t border = 3ull * NL_KEPT_PIECE_BYTES_MAX;
    assert_true(put(&f, object, 1000, 50, 1));
    assert_true(put(&f, object, border - 10, 100, 2)); /* begins in one region, ends in the next */
    assert_int_equal(get(object, 999, 1), -1);
    assert_int_equal(get(object, 1000, 1), 1);
    assert_int_equal(get(object, 1049, 1), 1);
    assert_int_equal(get(object, 1050, 1), -1);
    assert_int_equal(get(object, border - 10, 1), 2);
    assert_int_equal(get(object, border + 89, 1), 2);
    assert_int_equal(get(object, border + 90, 1), -1);
    assert_int_equal(nl_kept_object_covered(object, 1020), 1050);
    assert_int_equal(nl_kept_object_covered(object, 1050), 1050);
    assert_int_equal(nl_kept_object_covered(object, border + 1), border + 90);
    assert_int_equal(nl_kept_object_next(object, 0, 90 * MIB), 1000);
    assert_int_equal(nl_kept_object_next(object, 1001, 90 * MIB), border - 10);
    assert_int_equal(nl_kept_object_next(object, 1001, 2000), 2000);
    assert_false(put(&f, object, 1010, 20, 3)); /* it is there already */
    assert_true(put(&f, object, 1040, 100, 4));
    assert_int_equal(get(object, 1045, 1), 4); /* of two the one that reaches further */
    const nl_piece_cache_stats stats = nl_piece_cache_read_stats(f.cache);
    assert_int_equal(stats.piece_count, 3);
    assert_int_equal(stats.put_bytes, 250);
    assert_int_equal(stats.hits, 5);
    nl_kept_object_release(object);
    end(&f);
}

static void test_an_answer_is_believed_by_who_got_it_and_for_a_time(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 128 * MIB, 60000000);
    nl_clock_hold(1000000);
    nl_kept_object *object = see(&f, "k", "\"1\"", 500);
    assert_true(nl_str_is(nl_kept_object_etag(object), "\"1\""));
    assert_true(put(&f, object, 0, 500, 1));
    nl_kept_object_release(object);
    assert_true(is_trusted(&f, "k", 500, 1));
    assert_false(is_trusted(&f, "k", 501, 1)); /* metadata speak of another one */
    assert_false(is_trusted(&f, "k", 500, 2)); /* who may not read it, perhaps */
    assert_false(is_trusted(&f, "l", 500, 1));
    nl_clock_hold(60999999);
    assert_true(is_trusted(&f, "k", 500, 1));
    nl_clock_hold(61000000);
    assert_false(is_trusted(&f, "k", 500, 1));
    object = see(&f, "k", "\"1\"", 500); /* asked again: the same */
    assert_int_equal(get(object, 3, 1), 1);
    nl_kept_object_release(object);
    assert_true(is_trusted(&f, "k", 500, 1));
    for (uint64_t reader = 2; reader < 8; reader++) { /* more than are noted: those of long ago are asked again */
        nl_clock_hold(61000000 + (int64_t)reader);
        const nl_object_name name = named("k");
        nl_kept_object_release(nl_piece_cache_seen(f.cache, &name, NL_STR("\"1\""), 500, reader, nl_piece_cache_epoch(f.cache, &name)));
        assert_true(is_trusted(&f, "k", 500, reader));
    }
    assert_false(is_trusted(&f, "k", 500, 1));
    object = see(&f, "k", "\"2\"", 500); /* another version */
    assert_int_equal(get(object, 3, 1), -1);
    nl_kept_object_release(object);
    nl_clock_hold(NL_CLOCK_IS_RUNNING);
    end(&f);
    f = begin(SIZE_MAX, 128 * MIB, 0);
    object = see(&f, "k", "\"1\"", 500);
    assert_false(is_trusted(&f, "k", 500, 1)); /* never without asking */
    nl_kept_object_release(object);
    end(&f);
}

static void test_what_was_forgotten_comes_back_with_no_answer_from_before(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 128 * MIB, -1);
    const nl_object_name name = named("k");
    nl_kept_object *old = see(&f, "k", "\"1\"", 500);
    assert_true(put(&f, old, 0, 100, 1));
    const uint64_t epoch = nl_piece_cache_epoch(f.cache, &name);
    nl_piece_cache_forget(f.cache, &name);
    assert_false(is_trusted(&f, "k", 500, 1));
    assert_int_equal(get(old, 5, 1), 1); /* who has it open goes on with that version */
    assert_false(put(&f, old, 200, 100, 1));
    assert_null(nl_piece_cache_seen(f.cache, &name, NL_STR("\"1\""), 500, 1, epoch)); /* an answer that was on its way */
    assert_false(is_trusted(&f, "k", 500, 1));
    nl_kept_object *fresh = see(&f, "k", "\"1\"", 500); /* the same bytes written anew: known to be, but nothing of before */
    assert_non_null(fresh);
    assert_int_equal(get(fresh, 5, 1), -1);
    nl_kept_object_release(fresh);
    nl_kept_object_release(old);
    nl_piece_cache_forget(f.cache, &name);
    nl_piece_cache_forget(f.cache, &name);
    assert_int_equal(nl_piece_cache_read_stats(f.cache).forgotten, 1); /* of fresh nothing was left */
    end(&f);
}

/* A name without pieces must cost nothing: there may be millions of files. */
static void test_objects_of_which_nothing_is_kept_are_gone(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 128 * MIB, -1);
    for (int i = 0; i < 1000; i++) {
        char key[32];
        snprintf(key, sizeof(key), "k%d", i);
        nl_kept_object_release(see(&f, key, "\"1\"", 500));
    }
    assert_int_equal(nl_memory_used(f.memory), 0);
    end(&f);
}

/* Newcomers go first: what is read again and again outlives a scan of ten times the room. */
static void test_a_large_scan_leaves_what_is_in_use(void **state)
{
    (void)state;
    enum { ROOM = 64, HOT = 24 };
    fixture f = begin(SIZE_MAX, ROOM * MIB, -1);
    nl_kept_object *hot = see(&f, "hot", "\"1\"", 1000ull * MIB);
    nl_kept_object *scanned = see(&f, "scanned", "\"1\"", 10000ull * MIB);
    for (int pass = 0; pass < 3; pass++)
        for (uint64_t i = 0; i < HOT; i++)
            if (get(hot, i * MIB, MIB) < 0) assert_true(put(&f, hot, i * MIB, MIB, 7));
    for (uint64_t i = 0; i < 10 * ROOM; i++) {
        assert_true(put(&f, scanned, i * MIB, MIB, 9));
        for (uint64_t at = 0; at < MIB; at += MIB / 8) assert_int_equal(get(scanned, i * MIB + at, MIB / 8), 9); /* bit by bit, once */
        assert_true(nl_memory_used(f.memory) <= ROOM * MIB);
    }
    uint32_t left = 0;
    for (uint64_t i = 0; i < HOT; i++) left += get(hot, i * MIB, MIB) == 7;
    assert_true(left >= HOT * 3 / 4);
    nl_kept_object_release(hot);
    nl_kept_object_release(scanned);
    end(&f);
}

static void test_a_piece_that_is_fetched_again_is_proven(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 8 * MIB, -1);
    nl_kept_object *object = see(&f, "k", "\"1\"", 1000ull * MIB);
    assert_true(put(&f, object, 0, MIB, 1));
    for (uint64_t i = 1; i < 20; i++) assert_true(put(&f, object, i * MIB, MIB, 2));
    assert_int_equal(get(object, 0, 1), -1); /* pushed out */
    assert_true(put(&f, object, 0, MIB, 1)); /* and wanted all the same */
    for (uint64_t i = 20; i < 40; i++) assert_true(put(&f, object, i * MIB, MIB, 2));
    assert_int_equal(get(object, 0, 1), 1);
    nl_kept_object_release(object);
    end(&f);
}

static void test_memory_goes_back_to_who_needs_it(void **state)
{
    (void)state;
    fixture f = begin(20 * MIB, 16 * MIB, -1);
    nl_memory *query = nl_memory_new(f.memory, "query", SIZE_MAX);
    nl_kept_object *object = see(&f, "k", "\"1\"", 1000ull * MIB);
    for (uint64_t i = 0; i < 15; i++) assert_true(put(&f, object, i * MIB, MIB, 1));
    nl_buffer *held = NULL;
    uint64_t start = 0;
    assert_true(nl_kept_object_find(object, 14 * MIB, 1, &held, &start));
    assert_true(nl_memory_has_room(query, 9 * MIB)); /* half of such a small budget is free, but for what can go */
    assert_false(nl_memory_has_room(query, 10 * MIB));
    nl_buffer *wanted = NULL;
    assert_ok(nl_buffer_new(query, 17 * MIB, false, &wanted));
    assert_int_equal(held->data[5], 1); /* who reads it keeps it */
    nl_buffer *more = NULL;
    assert_fails(nl_buffer_new(query, 3 * MIB, false, &more), UNABLE_TO_ACQUIRE_MEMORY, NULL);
    assert_int_equal(nl_piece_cache_read_stats(f.cache).piece_count, 0);
    nl_buffer_release(wanted);
    nl_buffer_release(held);
    nl_kept_object_release(object);
    nl_memory_release(query);
    end(&f);
}

static void test_a_tiny_cache_refuses_what_does_not_fit(void **state)
{
    (void)state;
    fixture f = begin(SIZE_MAX, 64 << 10, -1);
    nl_kept_object *object = see(&f, "k", "\"1\"", MIB);
    assert_null(nl_piece_cache_buffer(f.cache, 16 << 10)); /* more than an eighth */
    for (uint64_t i = 0; i < 100; i++) {
        (void)put(&f, object, i * 4096, 4096, (uint8_t)i);
        assert_true(nl_memory_used(f.memory) <= 64 << 10);
    }
    assert_int_equal(get(object, 99 * 4096, 1), 99);
    nl_kept_object_release(object);
    end(&f);
    nl_memory *memory = nl_memory_new(NULL, "test", SIZE_MAX);
    assert_null(nl_piece_cache_obtain(memory, &(nl_piece_cache_options){.limit_bytes = 0}));
    assert_null(nl_piece_cache_buffer(NULL, 10));
    assert_int_equal(nl_piece_cache_read_stats(NULL).hits, 0);
    nl_memory_release(memory);
}

/* ---- Threads ---- */

enum { THREADS = 4, STEPS = 20000, KEYS = 8 };

typedef struct crowd {
    fixture f;
    atomic_uint_fast64_t wrong, hits;
} crowd;

/* Each opens, reads, keeps and forgets; the bytes of a version are known. */
static nl_status crowd_step(void *argument, uint64_t index)
{
    crowd *all = argument;
    uint32_t x = (uint32_t)index * 77 + 1;
    for (int i = 0; i < STEPS; i++) {
        x = x * 1664525u + 1013904223u;
        const uint32_t key = (x >> 8) % KEYS;
        const uint8_t version = (x >> 12) % 16 == 0 ? 2 : 1;
        const char name[] = {(char)('a' + key), '\0'};
        const nl_object_name object_name = named(name);
        if ((x >> 16) % 64 == 0) nl_piece_cache_forget(all->f.cache, &object_name);
        nl_kept_object *object = nl_piece_cache_trusted(all->f.cache, &object_name, MIB, 1);
        if (!object) object = see(&all->f, name, version == 1 ? "\"1\"" : "\"2\"", MIB);
        if (!object) continue;
        const uint8_t value = (uint8_t)(16 * key + (uint32_t)(nl_kept_object_etag(object).data[1] - '0'));
        const uint64_t offset = (x >> 20) % 200 * 4096;
        const int found = get(object, offset + 17, 4000);
        if (found >= 0) atomic_fetch_add(&all->hits, 1);
        if (found >= 0 && found != value) atomic_fetch_add(&all->wrong, 1);
        if (found < 0) (void)put(&all->f, object, offset, 4096, value);
        nl_kept_object_release(object);
    }
    return NULL;
}

static void test_many_threads_find_only_what_belongs_to_their_version(void **state)
{
    (void)state;
    crowd all = {.f = begin(3 * MIB, 2 * MIB, -1)};
    nl_pool *pool = nl_pool_new(THREADS, "test");
    assert_ok(nl_pool_for(pool, THREADS, crowd_step, &all));
    nl_pool_free(pool);
    assert_int_equal(atomic_load(&all.wrong), 0);
    assert_true(atomic_load(&all.hits) > 100);
    assert_true(nl_piece_cache_read_stats(all.f.cache).evictions > 0);
    end(&all.f);
}

/* A file that is nothing but its version. */
static nl_str version_of(nl_file *self)
{
    static const char *const versions[] = {"", "first", "second"};
    return nl_str_from(versions[self->size_bytes]);
}
static const nl_file_ops versioned_ops = {.version = version_of};
static const nl_file_ops plain_ops = {0};

static nl_buffer *part_of(const nl_kept_object *object, size_t length, uint8_t value)
{
    nl_buffer *bytes = nl_kept_object_buffer(object, length);
    assert_non_null(bytes);
    memset(bytes->data, value, length);
    return bytes;
}

static void test_a_part_is_found_by_its_place_alone_and_in_its_version(void **state)
{
    (void)state;
    fixture f = begin(4 * MIB, 2 * MIB, 0);
    nl_file first = {.ops = &versioned_ops, .path = NL_STR("/a"), .size_bytes = 1};
    nl_file second = {.ops = &versioned_ops, .path = NL_STR("/a"), .size_bytes = 2};
    nl_kept_object *object = nl_piece_cache_parts(f.cache, &first);
    assert_non_null(object);
    for (uint64_t place = 100; place < 102; place++) { /* longer than the distance of their places */
        nl_buffer *bytes = part_of(object, 1000, (uint8_t)place);
        assert_true(nl_kept_object_put_part(object, place, bytes));
        assert_false(nl_kept_object_put_part(object, place, bytes)); /* it is there */
        nl_buffer_release(bytes);
    }
    nl_kept_object *again = nl_piece_cache_parts(f.cache, &first);
    nl_buffer *found = nl_kept_object_find_part(again, 101);
    assert_non_null(found);
    assert_int_equal(found->data[0], 101);
    nl_buffer_release(found);
    assert_null(nl_kept_object_find_part(again, 102));
    assert_null(nl_kept_object_find_part(again, 150));
    nl_kept_object *other = nl_piece_cache_parts(f.cache, &second);
    assert_non_null(other);
    assert_null(nl_kept_object_find_part(other, 100));
    nl_kept_object_release(other);
    nl_kept_object_release(again);
    nl_kept_object_release(object);
    end(&f);
}

static void test_no_parts_are_kept_of_files_without_a_version_or_when_nobody_wants_them(void **state)
{
    (void)state;
    fixture f = begin(4 * MIB, 2 * MIB, 0);
    nl_file nameless = {.ops = &versioned_ops, .path = NL_STR("/a"), .size_bytes = 0};
    nl_file plain = {.ops = &plain_ops, .path = NL_STR("/a"), .size_bytes = 1};
    assert_null(nl_piece_cache_parts(f.cache, &nameless));
    assert_null(nl_piece_cache_parts(f.cache, &plain));
    assert_null(nl_piece_cache_parts(NULL, &plain));
    end(&f);
    nl_memory *memory = nl_memory_new(NULL, "test", MIB);
    nl_piece_cache *cache = nl_piece_cache_obtain(memory, &(nl_piece_cache_options){.limit_bytes = MIB / 2});
    nl_file versioned = {.ops = &versioned_ops, .path = NL_STR("/a"), .size_bytes = 1};
    assert_null(nl_piece_cache_parts(cache, &versioned));
    nl_piece_cache_release(cache);
    nl_memory_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_piece_is_found_by_every_byte_it_holds),
        cmocka_unit_test(test_an_answer_is_believed_by_who_got_it_and_for_a_time),
        cmocka_unit_test(test_what_was_forgotten_comes_back_with_no_answer_from_before),
        cmocka_unit_test(test_objects_of_which_nothing_is_kept_are_gone),
        cmocka_unit_test(test_a_large_scan_leaves_what_is_in_use),
        cmocka_unit_test(test_a_piece_that_is_fetched_again_is_proven),
        cmocka_unit_test(test_memory_goes_back_to_who_needs_it),
        cmocka_unit_test(test_a_tiny_cache_refuses_what_does_not_fit),
        cmocka_unit_test(test_many_threads_find_only_what_belongs_to_their_version),
        cmocka_unit_test(test_a_part_is_found_by_its_place_alone_and_in_its_version),
        cmocka_unit_test(test_no_parts_are_kept_of_files_without_a_version_or_when_nobody_wants_them),
    };
    return cmocka_run_group_tests_name("storage/piece_cache", tests, NULL, NULL);
}
