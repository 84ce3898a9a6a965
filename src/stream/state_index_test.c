#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "stream/state_index.h"

static const uint32_t first_column[] = {0};

typedef struct fixture {
    nl_arena *arena;
    nl_memory *memory;
    const nl_type *row_type; /* key BIGINT, time BIGINT */
} fixture;

static int set_up(void **state)
{
    static fixture f;
    f.arena = nl_arena_new(NULL);
    f.memory = nl_memory_new(NULL, "test", SIZE_MAX);
    nl_field *fields = NL_NEW_ARRAY(f.arena, nl_field, 2);
    fields[0] = (nl_field){.name = NL_STR("key"), .type = nl_type_bigint(), .is_nullable = true};
    fields[1] = (nl_field){.name = NL_STR("time"), .type = nl_type_bigint(), .is_nullable = true};
    f.row_type = nl_type_struct(f.arena, fields, 2);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    nl_arena_free(f->arena);
    nl_memory_release(f->memory);
    return 0;
}

static nl_state_index *new_index(const fixture *f, size_t memory_bytes_max)
{
    nl_state_index *index = NULL;
    const nl_state_layout layout = {.row_type = f->row_type, .keys = first_column, .key_count = 1, .time_column = 1};
    const nl_state_index_options options = {.memory = f->memory, .spill_directory = NL_STR("/tmp"), .memory_bytes_max = memory_bytes_max};
    assert_null(nl_state_index_new(&layout, &options, &index));
    return index;
}

/* Rows with the keys first, first + step, …; the time of each is its key times ten. */
static void make_batch(const fixture *f, int64_t first, int64_t step, uint32_t count, nl_batch *batch)
{
    assert_null(nl_batch_init(batch, 2, count));
    for (uint32_t c = 0; c < 2; c++) {
        assert_null(nl_vector_new_flat(&batch->columns[c], nl_type_bigint(), count, f->memory));
        int64_t *values = nl_vector_values(&batch->columns[c]);
        for (uint32_t i = 0; i < count; i++) values[i] = (first + step * i) * (c ? 10 : 1);
    }
}

static void add(const fixture *f, nl_state_index *index, int64_t first, int64_t step, uint32_t count)
{
    nl_batch batch = {0};
    make_batch(f, first, step, count, &batch);
    assert_null(nl_state_index_add(index, &batch, NULL));
    nl_batch_fini(&batch);
}

typedef struct sums {
    int64_t count, ids, keys, times;
} sums;

static nl_status sum_up(void *context, nl_batch *batch)
{
    sums *to = context;
    const int64_t *ids = nl_vector_values(&batch->columns[0]), *keys = nl_vector_values(&batch->columns[1]), *times = nl_vector_values(&batch->columns[2]);
    for (uint32_t row = 0; row < batch->row_count; row++) {
        to->count++;
        to->ids += ids[row];
        to->keys += keys[row];
        to->times += times[row];
    }
    return NULL;
}

static sums gather(nl_state_index *index, nl_state_slots *slots)
{
    sums to = {0};
    assert_null(nl_state_index_gather(index, slots, sum_up, &to));
    nl_state_slots_free(slots);
    return to;
}

static sums find(const fixture *f, nl_state_index *index, int64_t first, int64_t step, uint32_t count)
{
    nl_batch batch = {0};
    nl_state_slots slots = {0};
    make_batch(f, first, step, count, &batch);
    assert_null(nl_state_index_find(index, &batch, first_column, &slots));
    nl_batch_fini(&batch);
    return gather(index, &slots);
}

static sums past(nl_state_index *index, int64_t micros)
{
    nl_state_slots slots = {0};
    assert_null(nl_state_index_past(index, micros, &slots));
    return gather(index, &slots);
}

static void test_rows_are_found_by_key_once(void **state)
{
    const fixture *f = *state;
    nl_state_index *index = new_index(f, SIZE_MAX);
    assert_int_equal(find(f, index, 0, 1, 10).count, 0); /* nothing is there yet */
    for (int i = 0; i < 300; i++) add(f, index, i * 100, 1, 100);
    const sums twice = find(f, index, 150, 0, 50); /* one key, fifty times */
    assert_int_equal(twice.count, 1);
    assert_int_equal(twice.keys, 150);
    assert_int_equal(twice.ids, 150);
    assert_int_equal(twice.times, 1500);
    assert_int_equal(find(f, index, -5000, 1, 5000).count, 0);
    assert_int_equal(find(f, index, 0, 3, 10000).count, 10000);
    add(f, index, 150, 0, 7);
    assert_int_equal(find(f, index, 150, 1, 1).count, 8); /* every row of the key */
    nl_state_index_free(index);
}

static void test_removed_rows_are_gone_and_numbers_go_on(void **state)
{
    const fixture *f = *state;
    nl_state_index *index = new_index(f, SIZE_MAX);
    add(f, index, 0, 1, 50000);
    for (int64_t id = 0; id < 50000; id++)
        if (id % 10) assert_true(nl_state_index_remove(index, id));
    assert_false(nl_state_index_remove(index, 1));
    assert_false(nl_state_index_remove(index, 50000));
    assert_false(nl_state_index_remove(index, -1));
    assert_int_equal(nl_state_index_count(index), 5000);
    assert_null(nl_state_index_tidy(index));
    assert_int_equal(nl_state_index_count(index), 5000);
    assert_int_equal(nl_state_index_next_id(index), 50000);
    const sums left = find(f, index, 0, 1, 50000);
    assert_int_equal(left.count, 5000);
    assert_int_equal(left.ids, left.keys);
    assert_true(nl_state_index_remove(index, 40));
    assert_int_equal(find(f, index, 40, 1, 1).count, 0);
    add(f, index, 40, 1, 1);
    assert_int_equal(find(f, index, 40, 1, 1).ids, 50000);
    nl_state_index_free(index);
}

static void test_rows_leave_by_their_time(void **state)
{
    const fixture *f = *state;
    nl_state_index *index = new_index(f, SIZE_MAX);
    for (int i = 0; i < 10; i++) add(f, index, i, 10, 1000); /* times 0 … 99990, mixed */
    assert_int_equal(past(index, -1).count, 0);
    assert_int_equal(past(index, 990).count, 100);
    for (int64_t id = 0; id < 10000; id++) (void)nl_state_index_remove(index, id % 1000 < 10 ? id : -1);
    assert_int_equal(past(index, 990).count, 0);
    assert_int_equal(past(index, 1000).count, 1);
    assert_int_equal(past(index, INT64_MAX - 1).count, 9900);
    nl_state_index_free(index);
}

static void test_what_is_too_much_goes_to_disk(void **state)
{
    const fixture *f = *state;
    nl_state_index *index = new_index(f, 100000);
    for (int i = 0; i < 200; i++) add(f, index, i * 1000, 1, 1000);
    assert_int_equal(nl_state_index_count(index), 200000);
    assert_true(nl_state_index_bytes(index) < 6000000); /* 3.2 MB of rows are on disk; numbers and hashes are not */
    const sums some = find(f, index, 0, 1999, 100);
    assert_int_equal(some.count, 100);
    assert_int_equal(some.ids, some.keys);
    assert_int_equal(past(index, 9990).count, 1000);
    for (int64_t id = 0; id < 150000; id++) assert_true(nl_state_index_remove(index, id));
    assert_null(nl_state_index_tidy(index));
    nl_state_slots slots = {0};
    assert_null(nl_state_index_since(index, 199990, &slots));
    assert_int_equal(gather(index, &slots).count, 10);
    assert_int_equal(find(f, index, 0, 1, 200000).count, 50000);
    nl_state_index_free(index);
}

static void test_the_newest_rows_are_known_by_number(void **state)
{
    const fixture *f = *state;
    nl_state_index *index = new_index(f, SIZE_MAX);
    nl_state_slots slots = {0};
    add(f, index, 0, 1, 100);
    nl_state_index_set_next_id(index, 1000);
    add(f, index, 500, 1, 5);
    assert_null(nl_state_index_since(index, 1002, &slots));
    const sums last = gather(index, &slots);
    assert_int_equal(last.count, 3);
    assert_int_equal(last.keys, 502 + 503 + 504);
    assert_true(nl_state_index_remove(index, 1004));
    assert_true(nl_state_index_remove(index, 99));
    assert_false(nl_state_index_remove(index, 100));
    nl_state_index_free(index);
}

/* Random adding, removing and looking up, compared with an array. */
static void test_it_agrees_with_an_array(void **state)
{
    const fixture *f = *state;
    enum { KEYS = 997, STEPS = 3000 };
    nl_state_index *index = new_index(f, 40000);
    int64_t number_of[KEYS];
    unsigned int seed = 7;
    int64_t live = 0;
    for (int i = 0; i < KEYS; i++) number_of[i] = -1;
    for (int i = 0; i < STEPS; i++) {
        const int key = rand_r(&seed) % KEYS, many = 1 + rand_r(&seed) % 20;
        for (int k = key; k < key + many && k < KEYS; k++) {
            if (number_of[k] >= 0) {
                assert_true(nl_state_index_remove(index, number_of[k]));
                live--;
            }
            if (rand_r(&seed) % 4 == 0) {
                number_of[k] = -1;
                continue;
            }
            number_of[k] = nl_state_index_next_id(index);
            add(f, index, k, 1, 1);
            live++;
        }
        if (i % 16 == 0) assert_null(nl_state_index_tidy(index));
        assert_int_equal(nl_state_index_count(index), live);
        const sums one = find(f, index, key, 1, 1);
        assert_int_equal(one.count, number_of[key] >= 0);
        if (one.count) assert_int_equal(one.ids, number_of[key]);
    }
    nl_state_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_are_found_by_key_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_removed_rows_are_gone_and_numbers_go_on, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_leave_by_their_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_too_much_goes_to_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_newest_rows_are_known_by_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_agrees_with_an_array, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
