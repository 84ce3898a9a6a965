/* Every type in every encoding is moved around and compared row by row with where it came from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "column/test_vectors.h"
#include "column/vector_internal.h"

static const uint32_t lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 200, 2049};
static const uint32_t null_percents[] = {0, 30, 100};

/* Calls check for every type, encoding, length and share of nulls. */
static void for_all(void (*check)(const nl_vector *vector))
{
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *types[TEST_TYPES_MAX];
    uint32_t type_count = test_types(arena, types);
    for (uint32_t type = 0; type < type_count; type++) {
        for (uint32_t encoding = NL_FLAT; encoding <= NL_DICTIONARY; encoding++) {
            for (uint32_t i = 0; i < NL_COUNT(lengths) * NL_COUNT(null_percents); i++) {
                nl_vector vector = test_vector(types[type], (nl_encoding)encoding, lengths[i % NL_COUNT(lengths)],
                                               null_percents[i / NL_COUNT(lengths)]);
                check(&vector);
                nl_vector_fini(&vector);
            }
        }
    }
    nl_arena_free(arena);
}

/* What the headers promise of FLAT vectors: zero below nulls, unused inline bytes of strings zero. */
static void assert_clean(const nl_vector *vector)
{
    static const uint8_t zeros[16];
    uint32_t size = nl_physical_size(vector->type->physical);
    if (vector->encoding != NL_FLAT) return;
    uint32_t nulls = 0;
    for (uint32_t row = 0; row < vector->length; row++) {
        bool is_null = nl_vector_is_null(vector, row);
        nulls += is_null;
        const uint8_t *slot = (const uint8_t *)vector->values + (size_t)row * size;
        if (is_null && size) assert_memory_equal(slot, zeros, size);
        if (vector->type->physical != NL_PHYS_STRING) continue;
        const nl_string_view *view = (const nl_string_view *)(const void *)slot;
        if (view->length <= NL_STRING_INLINE_MAX)
            assert_memory_equal(view->inlined + view->length, zeros, NL_STRING_INLINE_MAX - view->length);
    }
    if (vector->null_count != UINT32_MAX) assert_int_equal(vector->null_count, nulls);
    if (vector->type->physical != NL_PHYS_STRUCT) return;
    for (uint32_t i = 0; i < vector->child_count; i++)
        assert_int_equal(vector->children[i].length, vector->length);
}

static void assert_rows_equal(const nl_vector *a, uint32_t a_row, const nl_vector *b, uint32_t b_row)
{
    if (!nl_vector_row_equal(a, a_row, b, b_row)) fail_msg("type %d: row %u differs from row %u", a->type->id, a_row, b_row);
    if (!nl_vector_is_null(a, a_row)) assert_int_equal(nl_vector_row_compare(a, a_row, b, b_row), 0);
}

static void check_take(const nl_vector *source)
{
    uint32_t rows[300] = {0};
    uint32_t count = source->length ? NL_MIN(source->length * 2, 300u) : 0;
    for (uint32_t i = 0; i < count; i++)
        rows[i] = test_random(source->length);
    nl_vector taken;
    must(nl_vector_take(source, rows, count, NULL, &taken));
    assert_int_equal(taken.length, count);
    assert_int_equal(taken.encoding, source->encoding);
    assert_clean(&taken);
    for (uint32_t i = 0; i < count; i++)
        assert_rows_equal(&taken, i, source, rows[i]);
    nl_vector_fini(&taken);
}

static void test_take_gives_the_rows_asked_for(void **state)
{
    (void)state;
    for_all(check_take);
}

static void check_slice(const nl_vector *source)
{
    static const uint32_t starts[] = {0, 1, 8, 13, 64};
    for (uint32_t i = 0; i < NL_COUNT(starts); i++) {
        if (starts[i] > source->length) break;
        for (uint32_t cut = 0; cut <= 1 && starts[i] + cut <= source->length; cut++) {
            uint32_t count = source->length - starts[i] - cut;
            nl_vector part;
            must(nl_vector_slice(source, starts[i], count, NULL, &part));
            assert_int_equal(part.length, count);
            assert_clean(&part);
            for (uint32_t row = 0; row < count; row++)
                assert_rows_equal(&part, row, source, starts[i] + row);
            nl_vector_fini(&part);
        }
    }
}

static void test_slice_gives_a_run_of_rows(void **state)
{
    (void)state;
    for_all(check_slice);
}

static void assert_flat_inside(const nl_vector *vector)
{
    assert_int_equal(vector->encoding, NL_FLAT);
    for (uint32_t i = 0; i < vector->child_count; i++)
        assert_flat_inside(&vector->children[i]);
}

static void check_flatten(const nl_vector *source)
{
    for (uint32_t is_deep = 0; is_deep <= 1; is_deep++) {
        nl_vector flat;
        must(nl_vector_flatten(source, is_deep, NULL, &flat));
        assert_int_equal(flat.encoding, NL_FLAT);
        assert_int_equal(flat.length, source->length);
        assert_clean(&flat);
        if (is_deep) assert_flat_inside(&flat);
        for (uint32_t row = 0; row < source->length; row++)
            assert_rows_equal(&flat, row, source, row);
        nl_vector_fini(&flat);
    }
}

static void test_flatten_keeps_the_rows(void **state)
{
    (void)state;
    for_all(check_flatten);
}

/* The vector joined with others of its type, among them a part that keeps few of its elements. */
static void check_concat(const nl_vector *source)
{
    nl_vector others[3] = {test_vector(source->type, NL_CONSTANT, 3, 50), test_vector(source->type, NL_DICTIONARY, 9, 40),
                           {0}};
    uint32_t few[2] = {0, source->length ? source->length - 1 : 0};
    must(nl_vector_take(source, few, source->length ? 2 : 0, NULL, &others[2]));
    const nl_vector *parts[] = {&others[0], source, &others[1], &others[2], source};
    nl_vector joined;
    must(nl_vector_concat(parts, NL_COUNT(parts), NULL, &joined));
    assert_int_equal(joined.encoding, NL_FLAT);
    assert_clean(&joined);
    uint32_t at = 0;
    for (uint32_t i = 0; i < NL_COUNT(parts); i++) {
        for (uint32_t row = 0; row < parts[i]->length; row++)
            assert_rows_equal(&joined, at++, parts[i], row);
    }
    assert_int_equal(joined.length, at);
    nl_vector_fini(&joined);
    for (uint32_t i = 0; i < NL_COUNT(others); i++)
        nl_vector_fini(&others[i]);
}

static void test_concat_puts_parts_in_order(void **state)
{
    (void)state;
    for_all(check_concat);
}

static void check_hash(const nl_vector *source)
{
    uint64_t as_is[2049];
    uint64_t flattened[2049];
    uint64_t combined[2049];
    nl_vector flat;
    must(nl_vector_flatten(source, true, NULL, &flat));
    for (uint32_t round = 0; round < 2; round++) { /* a dictionary's hashes are kept from the first round */
        must(nl_vector_hash(source, source->length, false, as_is));
        must(nl_vector_hash(&flat, source->length, false, flattened));
        if (source->length) assert_memory_equal(as_is, flattened, source->length * sizeof *as_is);
    }
    for (uint32_t row = 0; row < source->length; row++)
        combined[row] = flattened[row] = row;
    must(nl_vector_hash(source, source->length, true, combined));
    must(nl_vector_hash(&flat, source->length, true, flattened));
    if (source->length) assert_memory_equal(combined, flattened, source->length * sizeof *as_is);
    for (uint32_t i = 0; i < 200 && source->length; i++) {
        uint32_t a = test_random(source->length);
        uint32_t b = test_random(source->length);
        if (nl_vector_row_equal(source, a, source, b)) assert_int_equal(as_is[a], as_is[b]);
    }
    nl_vector_fini(&flat);
}

static void test_owned_strings_hold_nothing_of_other_rows(void **state)
{
    (void)state;
    enum { ROWS = 1000 };
    nl_vector all = {0}, slice = {0}, own = {0};
    nl_heap *heap = NULL;
    must(nl_vector_new_flat(&all, nl_type_string(), ROWS, NULL));
    must(nl_vector_make_heap(&all, NULL, &heap));
    for (int i = 0; i < ROWS; i++) {
        char text[400];
        memset(text, 'a' + i % 26, sizeof text);
        must(nl_heap_add(heap, (nl_str){text, sizeof text}, (nl_string_view *)nl_vector_values(&all) + i));
    }
    must(nl_vector_slice(&all, 10, 2, NULL, &slice));
    must(nl_vector_own(&slice, NULL, &own));
    nl_vector_fini(&slice);
    nl_vector_fini(&all);
    assert_int_equal(own.length, 2);
    assert_true(nl_heap_bytes(own.heap) < 100000); /* 400,000 bytes are gone */
    const nl_str text = nl_view_str((const nl_string_view *)own.values + 1);
    assert_int_equal(text.length, 400);
    assert_int_equal(text.data[399], 'a' + 11);
    nl_vector_fini(&own);
}

static void test_equal_rows_hash_equal_in_every_encoding(void **state)
{
    (void)state;
    for_all(check_hash);
}

static void check_dense(const nl_vector *source)
{
    if (source->type->physical != NL_PHYS_LIST) return;
    nl_vector dense;
    must(nl_vector_dense_list(source, NULL, &dense));
    const nl_list_view *views = dense.values;
    uint32_t offset = 0;
    for (uint32_t row = 0; row < dense.length; row++) {
        if (views[row].length) assert_int_equal(views[row].offset, offset);
        offset += views[row].length;
        assert_rows_equal(&dense, row, source, row);
    }
    assert_int_equal(dense.children[0].length, offset);
    nl_vector_fini(&dense);
}

static void test_dense_lists_have_no_gaps(void **state)
{
    (void)state;
    for_all(check_dense);
}

static void test_numbers_hash_by_value_whatever_their_width(void **state)
{
    (void)state;
    const nl_type *types[] = {nl_type_of(NL_TYPE_TINYINT), nl_type_of(NL_TYPE_SMALLINT), nl_type_int(),
                              nl_type_bigint(), nl_type_decimal(10, 0), nl_type_decimal(38, 0)};
    uint64_t expected = 0;
    for (uint32_t i = 0; i < NL_COUNT(types); i++) {
        nl_column_builder *builder;
        nl_vector vector;
        uint64_t hash;
        must(nl_column_builder_new(types[i], NULL, &builder));
        must(nl_column_builder_i64(builder, -7));
        must(nl_column_builder_finish(builder, &vector));
        must(nl_vector_hash(&vector, 1, false, &hash));
        if (i) assert_int_equal(hash, expected);
        expected = hash;
        nl_vector_fini(&vector);
        nl_column_builder_free(builder);
    }
}

static nl_vector doubles(uint32_t count, const double *values)
{
    nl_vector vector;
    must(nl_vector_new_flat(&vector, nl_type_double(), count, NULL));
    memcpy(nl_vector_values(&vector), values, count * sizeof *values);
    return vector;
}

static void test_nan_is_greatest_and_zeros_are_equal(void **state)
{
    (void)state;
    nl_vector v = doubles(6, (double[]){0.0, -0.0, __builtin_nan("1"), -__builtin_nan("2"), __builtin_inf(), -1.0});
    assert_true(nl_vector_row_equal(&v, 0, &v, 1));
    assert_true(nl_vector_row_equal(&v, 2, &v, 3));
    assert_true(nl_vector_row_compare(&v, 2, &v, 4) > 0);
    assert_true(nl_vector_row_compare(&v, 5, &v, 3) < 0);
    assert_true(nl_vector_row_compare(&v, 5, &v, 1) < 0);
    uint64_t hashes[6];
    must(nl_vector_hash(&v, 6, false, hashes));
    assert_int_equal(hashes[0], hashes[1]);
    assert_int_equal(hashes[2], hashes[3]);
    nl_vector_fini(&v);
}

static void test_strings_compare_by_bytes_and_length(void **state)
{
    (void)state;
    const char *texts[] = {"", "a", "ab", "b", "long text number 1", "long text number 10", "long text number 2", "\xc3\xa9"};
    for (uint32_t a = 0; a < NL_COUNT(texts); a++) {
        for (uint32_t b = 0; b < NL_COUNT(texts); b++) {
            nl_string_view x = nl_view_of(nl_str_from(texts[a]));
            nl_string_view y = nl_view_of(nl_str_from(texts[b]));
            int order = nl_view_compare(&x, &y);
            assert_int_equal((order > 0) - (order < 0), (a > b) - (a < b));
            assert_int_equal(nl_view_equal(&x, &y), a == b);
        }
    }
}

static void test_nulls_come_first_inside_nested_values(void **state)
{
    (void)state;
    nl_arena *arena = nl_arena_new(NULL);
    const nl_type *type = nl_type_array(arena, nl_type_int(), true);
    nl_column_builder *builder;
    nl_vector v;
    must(nl_column_builder_new(type, NULL, &builder));
    nl_column_builder *child = nl_column_builder_child(builder, 0);
    must(nl_column_builder_null(child));
    must(nl_column_builder_end_list(builder, 1));
    must(nl_column_builder_i64(child, -5));
    must(nl_column_builder_end_list(builder, 1));
    must(nl_column_builder_end_list(builder, 0));
    must(nl_column_builder_finish(builder, &v));
    assert_true(nl_vector_row_compare(&v, 0, &v, 1) < 0);
    assert_true(nl_vector_row_compare(&v, 2, &v, 0) < 0);
    nl_vector_fini(&v);
    nl_column_builder_free(builder);
    nl_arena_free(arena);
}

static void test_memory_is_charged_and_given_back(void **state)
{
    (void)state;
    nl_memory *memory = nl_memory_new(NULL, "test", 1 << 20);
    nl_vector vector;
    must(nl_vector_new_flat(&vector, nl_type_bigint(), 1000, memory));
    assert_true(nl_memory_used(memory) >= 8000);
    nl_vector shared;
    nl_vector_ref(&vector, &shared);
    nl_vector_fini(&vector);
    assert_true(nl_memory_used(memory) >= 8000);
    nl_vector_fini(&shared);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_status status = nl_vector_new_flat(&vector, nl_type_bigint(), 1 << 20, memory);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_UNABLE_TO_ACQUIRE_MEMORY);
    nl_error_free(status);
    assert_int_equal(nl_memory_used(memory), 0);
    nl_memory_release(memory);
}

static void test_a_reader_reads_every_encoding(void **state)
{
    (void)state;
    for (uint32_t encoding = NL_FLAT; encoding <= NL_DICTIONARY; encoding++) {
        nl_vector vector = test_vector(nl_type_bigint(), (nl_encoding)encoding, 100, 20);
        nl_vector flat;
        must(nl_vector_flatten(&vector, false, NULL, &flat));
        nl_reader reader;
        nl_reader_init(&reader, &vector);
        for (uint32_t row = 0; row < 100; row++) {
            assert_int_equal(nl_reader_is_null(&reader, row), nl_vector_is_null(&flat, row));
            if (nl_reader_is_null(&reader, row)) continue;
            assert_int_equal(((const int64_t *)reader.values)[nl_reader_index(&reader, row)],
                             ((const int64_t *)flat.values)[row]);
        }
        nl_vector_fini(&vector);
        nl_vector_fini(&flat);
    }
}

static void test_relabelling_leaves_other_owners_alone(void **state)
{
    (void)state;
    nl_vector vector = test_vector(nl_type_of(NL_TYPE_TIMESTAMP), NL_DICTIONARY, 10, 0);
    nl_vector shared;
    nl_vector_ref(&vector, &shared);
    nl_vector_relabel(&shared, nl_type_of(NL_TYPE_TIMESTAMP_NTZ));
    assert_ptr_equal(vector.dictionary->vector.type, nl_type_of(NL_TYPE_TIMESTAMP));
    assert_ptr_equal(shared.dictionary->vector.type, nl_type_of(NL_TYPE_TIMESTAMP_NTZ));
    nl_vector_fini(&vector);
    nl_vector_fini(&shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_gives_the_rows_asked_for),
        cmocka_unit_test(test_slice_gives_a_run_of_rows),
        cmocka_unit_test(test_flatten_keeps_the_rows),
        cmocka_unit_test(test_concat_puts_parts_in_order),
        cmocka_unit_test(test_owned_strings_hold_nothing_of_other_rows),
        cmocka_unit_test(test_equal_rows_hash_equal_in_every_encoding),
        cmocka_unit_test(test_dense_lists_have_no_gaps),
        cmocka_unit_test(test_numbers_hash_by_value_whatever_their_width),
        cmocka_unit_test(test_nan_is_greatest_and_zeros_are_equal),
        cmocka_unit_test(test_strings_compare_by_bytes_and_length),
        cmocka_unit_test(test_nulls_come_first_inside_nested_values),
        cmocka_unit_test(test_memory_is_charged_and_given_back),
        cmocka_unit_test(test_a_reader_reads_every_encoding),
        cmocka_unit_test(test_relabelling_leaves_other_owners_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
