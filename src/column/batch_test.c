#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "column/batch.h"
#include "column/test_vectors.h"

static nl_batch sample(uint32_t row_count)
{
    nl_batch batch;
    must(nl_batch_init(&batch, 3, row_count));
    batch.columns[0] = test_vector(nl_type_bigint(), NL_FLAT, row_count, 20);
    batch.columns[1] = test_vector(nl_type_string(), NL_DICTIONARY, row_count, 20);
    batch.columns[2] = test_vector(nl_type_string(), NL_CONSTANT, row_count, 0);
    return batch;
}

static void select_every(nl_batch *batch, uint32_t step)
{
    must(nl_buffer_new(NULL, batch->row_count * sizeof(uint32_t), false, &batch->selection));
    uint32_t *rows = (uint32_t *)(void *)batch->selection->data;
    batch->is_selective = true;
    for (uint32_t row = 0; row < batch->row_count; row += step)
        rows[batch->selected_count++] = row;
}

static void assert_batch_row(const nl_batch *a, uint32_t a_row, const nl_batch *b, uint32_t b_row)
{
    assert_int_equal(a->column_count, b->column_count);
    for (uint32_t i = 0; i < a->column_count; i++)
        assert_true(nl_vector_row_equal(&a->columns[i], a_row, &b->columns[i], b_row));
}

static void test_compacting_drops_dead_rows(void **state)
{
    (void)state;
    for (uint32_t step = 1; step <= 3; step++) {
        nl_batch batch = sample(100);
        select_every(&batch, step);
        assert_int_equal(nl_batch_live_rows(&batch), (100 + step - 1) / step);
        nl_batch compacted;
        must(nl_batch_ref(&batch, &compacted));
        must(nl_batch_compact(&compacted, NULL));
        assert_false(compacted.is_selective);
        assert_int_equal(compacted.row_count, nl_batch_live_rows(&batch));
        nl_selection live = nl_batch_selection(&batch);
        for (uint32_t i = 0; i < live.count; i++)
            assert_batch_row(&compacted, i, &batch, nl_selection_row(live, i));
        nl_batch_fini(&batch);
        nl_batch_fini(&compacted);
    }
}

static void test_no_row_alive_leaves_an_empty_batch(void **state)
{
    (void)state;
    nl_batch batch = sample(10);
    select_every(&batch, 1);
    batch.selected_count = 0;
    must(nl_batch_compact(&batch, NULL));
    assert_int_equal(batch.row_count, 0);
    assert_int_equal(batch.columns[0].length, 0);
    nl_batch_fini(&batch);
}

static void test_concat_takes_live_rows_only(void **state)
{
    (void)state;
    nl_batch a = sample(50);
    nl_batch b = sample(70);
    select_every(&b, 7);
    const nl_batch *parts[] = {&a, &b, &a};
    nl_batch joined;
    must(nl_batch_concat(parts, 3, NULL, &joined));
    assert_int_equal(joined.row_count, 110);
    assert_batch_row(&joined, 50, &b, 0);
    assert_batch_row(&joined, 51, &b, 7);
    assert_batch_row(&joined, 109, &a, 49);
    assert_true(nl_batch_bytes(&joined) > 0);
    nl_batch_fini(&a);
    nl_batch_fini(&b);
    nl_batch_fini(&joined);
}

static void test_a_batch_may_have_no_columns(void **state)
{
    (void)state;
    nl_batch batch;
    must(nl_batch_init(&batch, 0, 5));
    const nl_batch *parts[] = {&batch, &batch};
    nl_batch joined;
    must(nl_batch_concat(parts, 2, NULL, &joined));
    assert_int_equal(nl_batch_live_rows(&joined), 10);
    nl_batch moved;
    nl_batch_move(&joined, &moved);
    assert_int_equal(joined.row_count, 0);
    nl_batch_fini(&moved);
    nl_batch_fini(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compacting_drops_dead_rows),
        cmocka_unit_test(test_no_row_alive_leaves_an_empty_batch),
        cmocka_unit_test(test_concat_takes_live_rows_only),
        cmocka_unit_test(test_a_batch_may_have_no_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
