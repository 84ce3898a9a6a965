/* Filters, projections, limits, unions over VALUES and RANGE. */
#include "exec/test_plan.h"

static void test_a_range_is_given_in_order(void **state)
{
    (void)state;
    expect_rows(range(0, 5, 1), true, "0\n1\n2\n3\n4\n");
    expect_rows(range(5, 0, -2), true, "5\n3\n1\n");
    expect_rows(range(3, 3, 1), true, "");
    expect_rows(range(INT64_MAX - 2, INT64_MAX, 1), true, "9223372036854775805\n9223372036854775806\n");
    expect_rows(range(INT64_MIN, INT64_MAX, INT64_MAX), true, "-9223372036854775808\n-1\n9223372036854775806\n");
}

static void append_number(nl_builder *out, uint64_t i)
{
    nl_append_int(out, (int64_t)i);
    nl_append_char(out, '\n');
}

static void test_many_morsels_keep_their_order(void **state)
{
    (void)state;
    char *expected = rows_text(200000, append_number);
    const nl_logical *plan = range(0, 200000, 1);
    const run_mode modes[] = {{1, NL_BATCH_ROWS, false}, {4, NL_BATCH_ROWS, false}, {4, 500, false}};
    for (size_t i = 0; i < NL_COUNT(modes); i++) {
        char *text = NULL;
        expect_success(run_in_mode(plan, "", &modes[i], &text));
        assert_string_equal(text, expected);
        free(text);
    }
    free(expected);
}

static void test_values_without_columns_are_rows(void **state)
{
    (void)state;
    nl_logical *one = new_node(NL_PLAN_VALUES, NULL, NULL);
    one->values.row_count = 1;
    const nl_expr *exprs[] = {integer(7), text_value("a string longer than twelve bytes")};
    expect_rows(project(one, exprs, 2), true, "7|a string longer than twelve bytes\n");
}

static void test_filters_keep_rows_that_are_true(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 20, 1);
    const nl_expr *id = column_of(numbers, 0);
    const nl_expr *condition = nl_expr_and(arena, call(">", id, integer(3)), call("<", id, integer(8)));
    expect_rows(filter(numbers, condition), true, "4\n5\n6\n7\n");
    expect_rows(filter(numbers, call(">", id, null_of(nl_type_bigint()))), true, "");
    const nl_expr *either = nl_expr_or(arena, call("=", id, integer(2)), call("=", id, integer(19)));
    const nl_expr *sum[] = {call("+", id, integer(1)), call("+", id, integer(1))};
    expect_rows(project(filter(numbers, either), sum, 2), true, "3|3\n20|20\n");
}

static void test_limits_take_the_first_rows(void **state)
{
    (void)state;
    expect_rows(limit(range(0, 1000000, 1), 2, 3), true, "2\n3\n4\n");
    expect_rows(limit(limit(range(0, 300000, 1), 0, 200000), 199999, -1), true, "199999\n");
    expect_rows(limit(range(0, 10, 1), 0, 0), true, "");
    expect_rows(limit(range(0, 2, 1), 5, 5), true, "");
    const nl_logical *inner = limit(range(0, 100000, 1), 70000, 4);
    const nl_expr *exprs[] = {call("*", column_of(inner, 0), integer(10))};
    expect_rows(project(inner, exprs, 1), true, "700000\n700010\n700020\n700030\n");
}

static void test_union_all_gives_one_input_after_the_other(void **state)
{
    (void)state;
    const nl_logical *a = range(0, 3, 1), *b = range(10, 12, 1);
    const nl_expr *negated[] = {call("-", integer(0), column_of(b, 0))};
    nl_logical *both = new_node(NL_PLAN_SET, a, project(b, negated, 1));
    both->set.kind = NL_SET_UNION_ALL;
    nl_column column = new_column(nl_type_bigint());
    set_columns(both, &column, 1);
    expect_rows(both, true, "0\n1\n2\n-10\n-11\n");
    expect_rows(filter(both, call("<", column_of(both, 0), integer(2))), true, "0\n1\n-10\n-11\n");
    expect_rows(limit(both, 2, 2), true, "2\n-10\n");
}

static void test_an_error_names_the_place_in_the_statement(void **state)
{
    (void)state;
    nl_logical *one = new_node(NL_PLAN_VALUES, NULL, NULL);
    one->values.row_count = 1;
    nl_expr *division = NL_NEW(arena, nl_expr);
    *division = *call("/", nl_expr_cast(arena, integer(1), nl_type_double(), NL_CAST_ANSI), nl_expr_cast(arena, integer(0), nl_type_double(), NL_CAST_ANSI));
    division->span = (nl_span){7, 12};
    const nl_expr *exprs[] = {division};
    char *text = NULL;
    nl_status status = run_in_mode(project(one, exprs, 1), "SELECT 1 / 0", &run_modes[0], &text);
    free(text);
    assert_non_null(status);
    assert_string_equal(nl_condition_name(nl_error_condition(status)), "DIVIDE_BY_ZERO");
    assert_int_equal(nl_error_context(status)->position, 7);
    nl_error_free(status);
}

static void test_a_cancelled_query_stops(void **state)
{
    (void)state;
    nl_cancel *cancel = nl_cancel_new(NULL);
    nl_cancel_set(cancel);
    nl_query query = {.arena = arena, .memory = memory, .confs = &confs, .cancel = cancel};
    text_consumer consumer = {.base = {.consume = consume_text}};
    nl_builder_init(&consumer.text, 1 << 20);
    nl_status status = nl_query_run(&query, range(0, INT64_MAX, 1), &consumer.base);
    nl_builder_fini(&consumer.text);
    assert_non_null(status);
    assert_int_equal(nl_error_condition(status), NL_COND_OPERATION_CANCELED);
    nl_error_free(status);
    nl_cancel_release(cancel);
}

static void test_a_stream_gives_batches_on_demand(void **state)
{
    (void)state;
    nl_pool *pool = nl_pool_new(3, "test");
    nl_query query = {.arena = arena, .memory = memory, .pool = pool, .confs = &confs};
    nl_stream *stream = NULL;
    expect_success(nl_stream_open(&query, range(0, 10000000, 1), &stream));
    int64_t next = 0;
    for (bool is_done = false; !is_done;) {
        nl_batch batch = {0};
        expect_success(nl_stream_next(stream, &batch, &is_done));
        for (uint32_t row = 0; row < batch.row_count; row++)
            assert_int_equal(((const int64_t *)batch.columns[0].values)[row], next++);
        nl_batch_fini(&batch);
    }
    assert_int_equal(next, 10000000);
    nl_stream_close(stream);
    expect_success(nl_stream_open(&query, range(0, INT64_MAX, 1), &stream));
    nl_batch batch = {0};
    bool is_done = false;
    expect_success(nl_stream_next(stream, &batch, &is_done));
    assert_false(is_done);
    nl_batch_fini(&batch);
    nl_stream_close(stream); /* with most rows unread */
    nl_pool_free(pool);
}

static const nl_expr *subquery(const nl_logical *plan)
{
    nl_expr *expr = new_expr(NL_EXPR_SUBQUERY, plan->columns[0].type, NULL, 0);
    expr->subquery_kind = NL_SUBQUERY_SCALAR;
    expr->plan = plan;
    return expr;
}

static void test_scalar_subqueries_are_values(void **state)
{
    (void)state;
    const nl_logical *numbers = range(0, 5, 1);
    const nl_expr *above = call(">", column_of(numbers, 0), subquery(range(3, 4, 1)));
    expect_rows(filter(numbers, above), true, "4\n");
    expect_rows(filter(numbers, call(">", column_of(numbers, 0), subquery(range(3, 3, 1)))), true, "");
    expect_failure(filter(numbers, call(">", column_of(numbers, 0), subquery(range(0, 2, 1)))), "SCALAR_SUBQUERY_TOO_MANY_ROWS");
}

static nl_logical *cte_reference(const nl_logical *definition)
{
    nl_logical *node = new_node(NL_PLAN_CTE_REF, NULL, NULL);
    node->cte.id = 1;
    node->cte.definition = definition;
    nl_column column = new_column(nl_type_bigint());
    set_columns(node, &column, 1);
    return node;
}

static void test_a_shared_query_runs_once(void **state)
{
    (void)state;
    const nl_logical *definition = limit(range(0, 100, 1), 0, 3);
    nl_logical *both = new_node(NL_PLAN_SET, cte_reference(definition), cte_reference(definition));
    both->set.kind = NL_SET_UNION_ALL;
    set_columns(both, definition->columns, 1);
    const nl_logical *children[] = {filter(both, call("<", column_of(both, 0), subquery(cte_reference(limit(definition, 2, 1)))))};
    nl_logical *plan = nl_logical_new(arena, NL_PLAN_CTE, children, 1);
    plan->cte.id = 1;
    plan->cte.definition = definition;
    set_columns(plan, both->columns, 1);
    (void)children;
    /* The subquery reads the same definition: its three rows are too many. */
    expect_failure(plan, "SCALAR_SUBQUERY_TOO_MANY_ROWS");
    const nl_logical *simple[] = {both};
    nl_logical *shared = nl_logical_new(arena, NL_PLAN_CTE, simple, 1);
    shared->cte = plan->cte;
    set_columns(shared, both->columns, 1);
    expect_rows(shared, true, "0\n1\n2\n0\n1\n2\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_range_is_given_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_morsels_keep_their_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_without_columns_are_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filters_keep_rows_that_are_true, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_limits_take_the_first_rows, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_union_all_gives_one_input_after_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_error_names_the_place_in_the_statement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_cancelled_query_stops, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_stream_gives_batches_on_demand, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_scalar_subqueries_are_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_shared_query_runs_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
