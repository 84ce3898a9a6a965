/* All kinds of joins against nested loops written out here. */
#include "exec/test_plan.h"

#include "base/hash.h"
#include "exec/bloom.h"
#include "exec/scan.h"

typedef struct pair {
    int key; /* -1: null */
    int value;
} pair;

static const pair left_pairs[] = {{1, 10}, {2, 20}, {2, 21}, {3, 30}, {-1, 40}, {5, 50}};
static const pair right_pairs[] = {{2, 200}, {2, 201}, {3, 300}, {4, 400}, {-1, 500}, {1, 5}};

static const nl_logical *pair_rows(const pair *pairs, uint32_t count)
{
    const nl_type *types[] = {nl_type_bigint(), nl_type_bigint()};
    const char **cells = NL_NEW_ARRAY(arena, const char *, 2 * count + 1);
    for (uint32_t i = 0; i < count; i++) {
        cells[2 * i] = pairs[i].key < 0 ? "NULL" : nl_arena_f(arena, "%d", pairs[i].key).data;
        cells[2 * i + 1] = nl_arena_f(arena, "%d", pairs[i].value).data;
    }
    return values(types, 2, cells, count);
}

static void append_pair(nl_builder *out, const pair *p)
{
    if (!p)
        nl_append_c(out, "NULL|NULL");
    else if (p->key < 0)
        nl_append_f(out, "NULL|%d", p->value);
    else
        nl_append_f(out, "%d|%d", p->key, p->value);
}

typedef bool (*pair_condition)(const pair *left, const pair *right);

static bool keys_equal(const pair *left, const pair *right)
{
    return left->key >= 0 && left->key == right->key;
}
static bool keys_equal_or_null(const pair *left, const pair *right)
{
    return left->key == right->key;
}
static bool equal_and_far(const pair *left, const pair *right)
{
    return keys_equal(left, right) && right->value > left->value * 10;
}
static bool value_below(const pair *left, const pair *right)
{
    return left->value < right->value - 200;
}

static void append_line(nl_builder *out, const pair *left, const pair *right)
{
    append_pair(out, left);
    nl_append_char(out, '|');
    append_pair(out, right);
    nl_append_char(out, '\n');
}

/* The reference: every pair is looked at. */
static char *expected_join(nl_join_kind kind, pair_condition condition, uint32_t right_count)
{
    nl_builder out;
    nl_builder_init(&out, 1 << 20);
    bool right_matched[NL_COUNT(right_pairs)] = {false};
    for (size_t l = 0; l < NL_COUNT(left_pairs); l++) {
        bool is_matched = false;
        for (size_t r = 0; r < right_count; r++) {
            if (!condition(&left_pairs[l], &right_pairs[r])) continue;
            is_matched = right_matched[r] = true;
            if (kind <= NL_JOIN_CROSS) append_line(&out, &left_pairs[l], &right_pairs[r]);
        }
        if (!is_matched && (kind == NL_JOIN_LEFT || kind == NL_JOIN_FULL)) append_line(&out, &left_pairs[l], NULL);
        if ((kind == NL_JOIN_SEMI && is_matched) || (kind == NL_JOIN_ANTI && !is_matched) || kind == NL_JOIN_MARK) {
            append_pair(&out, &left_pairs[l]);
            nl_append_c(&out, kind != NL_JOIN_MARK ? "\n" : is_matched ? "|true\n" : "|false\n");
        }
    }
    for (size_t r = 0; r < right_count && (kind == NL_JOIN_RIGHT || kind == NL_JOIN_FULL); r++)
        if (!right_matched[r]) append_line(&out, NULL, &right_pairs[r]);
    char *text = strdup(nl_builder_c(&out));
    nl_builder_fini(&out);
    return text;
}

static void check_kinds(pair_condition condition, const nl_expr *(*make)(const nl_logical *left, const nl_logical *right))
{
    static const nl_join_kind kinds[] = {NL_JOIN_INNER, NL_JOIN_LEFT, NL_JOIN_RIGHT, NL_JOIN_FULL, NL_JOIN_SEMI, NL_JOIN_ANTI, NL_JOIN_MARK};
    for (uint32_t right_count = 0; right_count <= NL_COUNT(right_pairs); right_count += NL_COUNT(right_pairs)) {
        for (size_t i = 0; i < NL_COUNT(kinds); i++) {
            const nl_logical *left = pair_rows(left_pairs, NL_COUNT(left_pairs));
            const nl_logical *right = pair_rows(right_pairs, right_count);
            char *expected = expected_join(kinds[i], condition, right_count);
            expect_rows(join(left, right, kinds[i], make(left, right)), false, expected);
            if (kinds[i] == NL_JOIN_SEMI || kinds[i] == NL_JOIN_ANTI) {
                nl_logical *turned = join(left, right, kinds[i], make(left, right));
                turned->join.builds_left = true;
                expect_rows(turned, false, expected);
            }
            free(expected);
        }
    }
}

static const nl_expr *make_equal(const nl_logical *left, const nl_logical *right)
{
    return call("=", column_of(left, 0), column_of(right, 0));
}
/* Too far apart for a bit per value: found by hash. */
static const nl_expr *make_equal_far_apart(const nl_logical *left, const nl_logical *right)
{
    return call("=", call("*", column_of(left, 0), integer(1000000000)), call("*", column_of(right, 0), integer(1000000000)));
}
static const nl_expr *make_null_safe(const nl_logical *left, const nl_logical *right)
{
    return call("<=>", column_of(right, 0), column_of(left, 0));
}
static const nl_expr *make_residual(const nl_logical *left, const nl_logical *right)
{
    return nl_expr_and(arena, make_equal(left, right), call(">", column_of(right, 1), call("*", column_of(left, 1), integer(10))));
}
static const nl_expr *make_below(const nl_logical *left, const nl_logical *right)
{
    return call("<", column_of(left, 1), call("-", column_of(right, 1), integer(200)));
}

static void test_equal_keys_join(void **state)
{
    (void)state;
    check_kinds(keys_equal, make_equal);
    check_kinds(keys_equal, make_equal_far_apart);
}
static void test_null_safe_keys_join(void **state)
{
    (void)state;
    check_kinds(keys_equal_or_null, make_null_safe);
}
static void test_residual_conditions_are_checked(void **state)
{
    (void)state;
    check_kinds(equal_and_far, make_residual);
}
static void test_conditions_without_keys_compare_everything(void **state)
{
    (void)state;
    check_kinds(value_below, make_below);
}

static void test_matches_come_in_the_order_of_both_sides(void **state)
{
    (void)state;
    const nl_logical *left = pair_rows(left_pairs, NL_COUNT(left_pairs)), *right = pair_rows(right_pairs, NL_COUNT(right_pairs));
    const run_mode mode = {1, NL_BATCH_ROWS, false};
    char *text = NULL;
    expect_success(run_in_mode(join(left, right, NL_JOIN_LEFT, make_equal(left, right)), "", &mode, &text));
    assert_string_equal(text, "1|10|1|5\n2|20|2|200\n2|20|2|201\n2|21|2|200\n2|21|2|201\n3|30|3|300\nNULL|40|NULL|NULL\n5|50|NULL|NULL\n");
    free(text);
}

static void test_not_in_minds_nulls(void **state)
{
    (void)state;
    const nl_logical *left = pair_rows(left_pairs, NL_COUNT(left_pairs)), *right = pair_rows(right_pairs, NL_COUNT(right_pairs));
    expect_rows(join(left, right, NL_JOIN_NULL_AWARE_ANTI, make_equal(left, right)), false, "");
    const nl_logical *without_null = pair_rows(right_pairs, 3);
    expect_rows(join(left, without_null, NL_JOIN_NULL_AWARE_ANTI, make_equal(left, without_null)), false, "1|10\n5|50\n");
    const nl_logical *none = pair_rows(right_pairs, 0);
    expect_rows(join(left, none, NL_JOIN_NULL_AWARE_ANTI, make_equal(left, none)), false, "1|10\n2|20\n2|21\n3|30\nNULL|40\n5|50\n");
    /* (a, b) NOT IN …: a null only counts where the other column does not already differ. */
    const nl_expr *both = nl_expr_and(arena, make_equal(left, right), call("=", column_of(left, 1), column_of(right, 1)));
    expect_rows(join(left, right, NL_JOIN_NULL_AWARE_ANTI, both), false, "1|10\n2|20\n2|21\n3|30\nNULL|40\n5|50\n");
}

static void test_in_as_a_value_can_be_unknown(void **state)
{
    (void)state;
    const nl_logical *left = pair_rows(left_pairs, NL_COUNT(left_pairs)), *right = pair_rows(right_pairs, NL_COUNT(right_pairs));
    nl_logical *mark = join(left, right, NL_JOIN_MARK, make_equal(left, right));
    mark->join.is_null_aware = true;
    expect_rows(mark, false, "1|10|true\n2|20|true\n2|21|true\n3|30|true\nNULL|40|NULL\n5|50|NULL\n");
    const nl_logical *known = pair_rows(right_pairs, 3);
    mark = join(left, known, NL_JOIN_MARK, make_equal(left, known));
    mark->join.is_null_aware = true;
    expect_rows(mark, false, "1|10|false\n2|20|true\n2|21|true\n3|30|true\nNULL|40|NULL\n5|50|false\n");
    const nl_logical *none = pair_rows(right_pairs, 0);
    mark = join(left, none, NL_JOIN_MARK, make_equal(left, none));
    mark->join.is_null_aware = true;
    expect_rows(mark, false, "1|10|false\n2|20|false\n2|21|false\n3|30|false\nNULL|40|false\n5|50|false\n");
}

static void test_large_sides_join_and_spill(void **state)
{
    (void)state;
    const nl_logical *left = range(0, 100000, 1);
    const nl_logical *numbers = range(0, 60000, 1);
    const nl_expr *exprs[] = {call("*", column_of(numbers, 0), integer(2)), nl_expr_cast(arena, column_of(numbers, 0), nl_type_string(), NL_CAST_ANSI)};
    const nl_logical *right = project(numbers, exprs, 2);
    static const nl_join_kind kinds[] = {NL_JOIN_INNER, NL_JOIN_LEFT, NL_JOIN_RIGHT, NL_JOIN_FULL, NL_JOIN_SEMI, NL_JOIN_ANTI, NL_JOIN_SEMI, NL_JOIN_ANTI};
    static const char *const expected[] = {"50000|2499950000", "100000|4999950000", "60000|2499950000", "110000|4999950000", "50000|2499950000", "50000|2500000000",
                                           "50000|2499950000", "50000|2500000000"};
    const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {4, NL_BATCH_ROWS, false}, {3, NL_BATCH_ROWS, true}};
    nl_value one = nl_value_int(nl_type_bigint(), 1);
    for (size_t kind = 0; kind < NL_COUNT(kinds); kind++) {
        nl_logical *joined = join(left, right, kinds[kind], call("=", column_of(left, 0), column_of(right, 0)));
        joined->join.builds_left = kind >= 6; /* the last two once more, built from the other side */
        const nl_expr *calls[] = {aggregate_call("count", nl_expr_literal(arena, &one)), aggregate_call("sum", column_of(joined, 0))};
        for (size_t i = 0; i < NL_COUNT(modes); i++) {
            char *text = NULL;
            expect_success(run_in_mode(aggregate(joined, NULL, 0, calls, 2), "", &modes[i], &text));
            text[strcspn(text, "\n")] = 0;
            assert_string_equal(text, expected[kind]);
            free(text);
        }
    }
}

/* One partition on disk, whose build rows several workers take by turns, each with all probe rows. */
static void test_passes_without_keys_give_each_pair_once(void **state)
{
    (void)state;
    enum { LEFT = 900, RIGHT = 400 };
    static const nl_join_kind kinds[] = {NL_JOIN_INNER, NL_JOIN_CROSS, NL_JOIN_RIGHT, NL_JOIN_LEFT, NL_JOIN_FULL};
    const nl_logical *left = range(0, LEFT, 1);
    const nl_logical *numbers = range(0, RIGHT, 1);
    const nl_expr *exprs[] = {call("*", column_of(numbers, 0), integer(2))};
    const nl_logical *right = project(numbers, exprs, 1);
    for (size_t kind = 0; kind < NL_COUNT(kinds); kind++) {
        const bool is_cross = kinds[kind] == NL_JOIN_CROSS;
        int64_t count = 0, lefts = 0, rights = 0;
        for (int64_t l = 0; l < LEFT; l++) {
            for (int64_t r = 0; r < 2 * RIGHT; r += 2) {
                if (!is_cross && l >= r) continue;
                count++;
                lefts += l;
                rights += r;
            }
        }
        if (kinds[kind] == NL_JOIN_RIGHT || kinds[kind] == NL_JOIN_FULL) count++; /* r = 0 */
        for (int64_t l = 2 * RIGHT - 2; l < LEFT && (kinds[kind] == NL_JOIN_LEFT || kinds[kind] == NL_JOIN_FULL); l++) {
            count++;
            lefts += l;
        }
        nl_logical *joined = join(left, right, kinds[kind], is_cross ? NULL : call("<", column_of(left, 0), column_of(right, 0)));
        nl_value one = nl_value_int(nl_type_bigint(), 1);
        const nl_expr *calls[] = {aggregate_call("count", nl_expr_literal(arena, &one)), aggregate_call("sum", column_of(joined, 0)), aggregate_call("sum", column_of(joined, 1))};
        char *expected = NULL;
        assert_true(asprintf(&expected, "%lld|%lld|%lld\n", (long long)count, (long long)lefts, (long long)rights) > 0);
        const run_mode modes[] = {{1, 50, true}, {2, 50, true}, {4, 16, true}, {4, NL_BATCH_ROWS, true}, {4, NL_BATCH_ROWS, false}};
        for (size_t i = 0; i < NL_COUNT(modes); i++) {
            char *text = NULL;
            expect_success(run_in_mode(aggregate(joined, NULL, 0, calls, 3), "", &modes[i], &text));
            assert_string_equal(text, expected);
            free(text);
        }
        free(expected);
    }
}

static void test_a_small_budget_joins_on_disk(void **state)
{
    (void)state;
    const nl_logical *left = range(0, 400000, 1), *right = range(100000, 500000, 1);
    const nl_logical *joined = join(left, right, NL_JOIN_FULL, call("=", column_of(left, 0), column_of(right, 0)));
    const nl_expr *calls[] = {aggregate_call("count", column_of(joined, 0)), aggregate_call("count", column_of(joined, 1)),
                              aggregate_call("sum", call("+", column_of(joined, 0), column_of(joined, 1)))};
    nl_memory *large = memory;
    memory = nl_memory_new(large, "small", 12u << 20);
    char *text = NULL;
    const run_mode mode = {2, NL_BATCH_ROWS, false};
    expect_success(run_in_mode(aggregate(joined, NULL, 0, calls, 3), "", &mode, &text));
    assert_string_equal(text, "400000|400000|149999700000\n");
    free(text);
    nl_memory_release(memory);
    memory = large;
}

/* A scan of the numbers 0 … 99 that notes the filter it is told. */
typedef struct fake_table {
    nl_table base;
    nl_runtime_filter seen;
    bool has_bloom, knows_seven;
} fake_table;
typedef struct fake_scan {
    nl_scan base;
    fake_table *table;
    atomic_bool is_done;
} fake_scan;

static nl_status fake_add_filter(nl_scan *scan, const nl_runtime_filter *told)
{
    fake_table *table = NL_CONTAINER(scan, fake_scan, base)->table;
    table->seen = *told;
    table->has_bloom = told->bloom != NULL;
    table->knows_seven = told->bloom && nl_bloom_may_contain(told->bloom, nl_hash_u64(7));
    return NULL;
}
static nl_status fake_reader(nl_scan *scan, uint32_t worker, nl_scan_reader **reader)
{
    (void)worker;
    *reader = calloc(1, sizeof **reader);
    (*reader)->scan = scan;
    return NULL;
}
static nl_status fake_next(nl_scan_reader *reader, nl_batch *batch, bool *is_done)
{
    *is_done = atomic_exchange(&NL_CONTAINER(reader->scan, fake_scan, base)->is_done, true);
    if (*is_done) return NULL;
    NL_TRY(nl_batch_init(batch, 1, 100));
    NL_TRY(nl_vector_new_flat(&batch->columns[0], nl_type_bigint(), 100, memory));
    for (int64_t i = 0; i < 100; i++)
        ((int64_t *)nl_vector_values(&batch->columns[0]))[i] = i;
    return NULL;
}
static void fake_free_reader(nl_scan_reader *reader)
{
    free(reader);
}
static void fake_free(nl_scan *scan)
{
    free(NL_CONTAINER(scan, fake_scan, base));
}
static const nl_scan_ops fake_scan_ops = {.add_runtime_filter = fake_add_filter, .new_reader = fake_reader, .next = fake_next,
                                          .free_reader = fake_free_reader, .free = fake_free};
static nl_status fake_open(const nl_table *table, struct nl_query *query, const nl_logical *node, nl_scan **out)
{
    (void)query;
    (void)node;
    fake_scan *scan = calloc(1, sizeof *scan);
    scan->base.ops = &fake_scan_ops;
    scan->table = NL_CONTAINER(NL_UNCONST(table), fake_table, base);
    *out = &scan->base;
    return NULL;
}
static const nl_table_ops fake_table_ops = {.kind = "fake", .open_scan = fake_open};

static void test_the_probe_sides_scan_hears_of_the_build_keys(void **state)
{
    (void)state;
    fake_table table = {.base = {.ops = &fake_table_ops}};
    nl_logical *scan = new_node(NL_PLAN_SCAN, NULL, NULL);
    nl_column column = new_column(nl_type_bigint());
    set_columns(scan, &column, 1);
    scan->scan.table = &table.base;
    const nl_expr *exprs[] = {column_of(scan, 0)};
    const nl_logical *left = project(filter(scan, call("<", column_of(scan, 0), integer(50))), exprs, 1);
    const nl_logical *right = range(7, 10, 2);
    expect_rows(join(left, right, NL_JOIN_INNER, call("=", column_of(left, 0), column_of(right, 0))), false, "7|7\n9|9\n");
    assert_int_equal(table.seen.column, column.id);
    assert_true(table.seen.has_range);
    assert_int_equal(table.seen.lower.integer, 7);
    assert_int_equal(table.seen.upper.integer, 9);
    table.seen.column = 0;
    expect_rows(join(left, right, NL_JOIN_ANTI, call("=", column_of(left, 0), call("-", column_of(right, 0), integer(7)))), false,
                "1\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n23\n24\n25\n26\n27\n28\n29\n30\n31\n32\n33\n34\n35\n36\n"
                "37\n38\n39\n40\n41\n42\n43\n44\n45\n46\n47\n48\n49\n");
    assert_int_equal(table.seen.column, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal_keys_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_safe_keys_join, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_residual_conditions_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conditions_without_keys_compare_everything, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_matches_come_in_the_order_of_both_sides, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_not_in_minds_nulls, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_in_as_a_value_can_be_unknown, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_large_sides_join_and_spill, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_passes_without_keys_give_each_pair_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_small_budget_joins_on_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_probe_sides_scan_hears_of_the_build_keys, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
