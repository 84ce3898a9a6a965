/* storage/piece_shard_test.c - who goes first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "base/test_support.h"
#include "storage/piece_shard.h"

static atomic_bool is_forgotten[2];

static nl_piece *piece_at(uint64_t object_id, uint64_t offset, size_t length)
{
    nl_piece *piece = calloc(1, sizeof(*piece));
    *piece = (nl_piece){.object_id = object_id, .is_forgotten = &is_forgotten[object_id], .offset = offset, .region = nl_piece_region(offset)};
    assert_ok(nl_buffer_new(NULL, length, true, &piece->bytes));
    return piece;
}

static void free_pieces(nl_piece *first)
{
    while (first) {
        nl_piece *next = first->next;
        nl_buffer_release(first->bytes);
        free(first);
        first = next;
    }
}

static bool has(nl_piece_shard *shard, uint64_t object_id, uint64_t offset)
{
    return nl_piece_shard_covered(shard, object_id, nl_piece_region(offset), offset) > offset;
}

static void read(nl_piece_shard *shard, uint64_t offset, uint64_t wanted_bytes)
{
    nl_buffer *bytes = NULL;
    uint64_t start;
    assert_true(nl_piece_shard_find(shard, 0, nl_piece_region(offset), offset, wanted_bytes, &bytes, &start));
    nl_buffer_release(bytes);
}

static void test_the_oldest_newcomer_goes_unless_it_was_read_twice(void **state)
{
    (void)state;
    nl_piece_shard shard;
    assert_true(nl_piece_shard_init(&shard));
    for (uint64_t i = 0; i < 10; i++) assert_true(nl_piece_shard_put(&shard, piece_at(0, i * 1000, 1000)));
    for (int i = 0; i < 2; i++) read(&shard, 0, 1000);
    for (int i = 0; i < 2; i++) read(&shard, 1000, 500); /* its length in all: one pass over it */
    free_pieces(nl_piece_shard_evict(&shard, true, 1));
    assert_true(has(&shard, 0, 0));
    assert_false(has(&shard, 0, 1000));
    assert_true(has(&shard, 0, 2000));
    for (int proven = 0; proven < 2; proven++) free_pieces(nl_piece_shard_evict(&shard, !proven, UINT64_MAX));
    assert_int_equal(shard.piece_count, 0);
    nl_piece_shard_fini(&shard);
}

static void test_pieces_of_forgotten_versions_are_not_spared(void **state)
{
    (void)state;
    nl_piece_shard shard;
    assert_true(nl_piece_shard_init(&shard));
    assert_true(nl_piece_shard_put(&shard, piece_at(0, 0, 1000)));
    assert_true(nl_piece_shard_put(&shard, piece_at(1, 0, 1000)));
    for (int i = 0; i < 4; i++) read(&shard, 0, 1000);
    atomic_store(&is_forgotten[0], true);
    free_pieces(nl_piece_shard_evict(&shard, true, 1));
    assert_false(has(&shard, 0, 0));
    assert_true(has(&shard, 1, 0));
    atomic_store(&is_forgotten[0], false);
    for (int proven = 0; proven < 2; proven++) free_pieces(nl_piece_shard_evict(&shard, !proven, UINT64_MAX));
    nl_piece_shard_fini(&shard);
}

static void test_bins_grow_and_a_region_takes_so_many_pieces(void **state)
{
    (void)state;
    nl_piece_shard shard;
    assert_true(nl_piece_shard_init(&shard));
    for (uint64_t i = 0; i < 1000; i++) assert_true(nl_piece_shard_put(&shard, piece_at(0, i * NL_KEPT_PIECE_BYTES_MAX, 10)));
    assert_true(shard.bin_count > 64);
    for (uint64_t i = 0; i < 1000; i++) assert_true(has(&shard, 0, i * NL_KEPT_PIECE_BYTES_MAX + 9));
    uint32_t taken = 0;
    for (uint64_t i = 0; i < 100; i++) {
        nl_piece *piece = piece_at(1, i * 10, 10);
        if (nl_piece_shard_put(&shard, piece))
            taken++;
        else
            free_pieces(piece);
    }
    assert_int_equal(taken, 64);
    assert_int_equal(nl_piece_shard_next(&shard, 1, 0, 5, 1000), 10);
    for (int proven = 0; proven < 2; proven++) free_pieces(nl_piece_shard_evict(&shard, !proven, UINT64_MAX));
    nl_piece_shard_fini(&shard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_oldest_newcomer_goes_unless_it_was_read_twice),
        cmocka_unit_test(test_pieces_of_forgotten_versions_are_not_spared),
        cmocka_unit_test(test_bins_grow_and_a_region_takes_so_many_pieces),
    };
    return cmocka_run_group_tests_name("storage/piece_shard", tests, NULL, NULL);
}
