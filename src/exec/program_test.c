/* Compiled expressions: sharing, guards, three-valued logic, IN, fields, lambdas, encodings and selections. */
#include "exec/test_plan.h"

#include "exec/program.h"

static nl_expr *boolean_expr(nl_expr_kind kind, const nl_expr *a, const nl_expr *b)
{
    const nl_expr *children[] = {a, b};
    return new_expr(kind, nl_type_boolean(), children, b ? 2 : 1);
}

static const nl_expr *divide(const nl_expr *a, const nl_expr *b)
{
    return call("div", a, b); /* raises DIVIDE_BY_ZERO */
}

/* One row per value of a BIGINT column (INT64_MIN: null); the results as texts separated by spaces. */
static const char *evaluate(const nl_expr *expr, const nl_column *column, const int64_t *rows, uint32_t count, const char **error)
{
    nl_program *program = NULL;
    nl_program_state *state = NULL;
    expect_success(nl_program_compile(arena, &expr, 1, column, 1, &program));
    expect_success(nl_program_state_new(program, &confs, memory, NL_STR(""), 0, &state));
    nl_batch batch = {0};
    expect_success(nl_batch_init(&batch, 1, count));
    nl_column_builder *builder = NULL;
    expect_success(nl_column_builder_new(nl_type_bigint(), memory, &builder));
    for (uint32_t i = 0; i < count; i++)
        expect_success(rows[i] == INT64_MIN ? nl_column_builder_null(builder) : nl_column_builder_i64(builder, rows[i]));
    expect_success(nl_column_builder_finish(builder, &batch.columns[0]));
    nl_column_builder_free(builder);
    nl_vector out = {0};
    nl_status status = nl_program_run(state, &batch, &out);
    nl_builder text;
    nl_builder_init(&text, 1 << 16);
    nl_text_options options = {.style = NL_TEXT_CAST, .zone = confs.zone};
    for (uint32_t i = 0; i < count && !status; i++) {
        if (i) nl_append_char(&text, ' ');
        nl_vector_append_text(&out, i, &options, &text);
    }
    const char *result = nl_str_c(arena, nl_builder_str(&text));
    if (error) *error = status ? nl_condition_name(nl_error_condition(status)) : NULL;
    if (!error) expect_success(status);
    nl_error_free(status);
    nl_builder_fini(&text);
    nl_vector_fini(&out);
    nl_batch_fini(&batch);
    nl_program_state_free(state);
    return result;
}

static nl_column input;
static const nl_expr *x;

static int set_up_input(void **state)
{
    set_up(state);
    input = new_column(nl_type_bigint());
    x = nl_expr_column(arena, input.id, input.name, input.type, true);
    return 0;
}

#define NONE INT64_MIN
static const int64_t some[] = {0, 1, 2, NONE};

static void test_equal_subexpressions_are_computed_once(void **state)
{
    (void)state;
    const nl_expr *sum = call("+", call("*", x, integer(3)), call("*", x, integer(3)));
    nl_program *program = NULL;
    expect_success(nl_program_compile(arena, &sum, 1, &input, 1, &program));
    assert_int_equal(program->call_count, 2); /* one product, one sum */
    assert_string_equal(evaluate(sum, &input, some, 4, NULL), "0 6 12 NULL");
}

static void test_and_or_follow_three_valued_logic(void **state)
{
    (void)state;
    const nl_expr *is_one = call("=", x, integer(1)), *is_known = nl_expr_is_null(arena, x, true);
    assert_string_equal(evaluate(boolean_expr(NL_EXPR_AND, is_one, is_known), &input, some, 4, NULL), "false true false false");
    assert_string_equal(evaluate(boolean_expr(NL_EXPR_OR, is_one, is_known), &input, some, 4, NULL), "true true true NULL");
    assert_string_equal(evaluate(boolean_expr(NL_EXPR_AND, is_one, is_one), &input, some, 4, NULL), "false true false NULL");
    assert_string_equal(evaluate(boolean_expr(NL_EXPR_NOT, is_one, NULL), &input, some, 4, NULL), "true false true NULL");
    assert_string_equal(evaluate(boolean_expr(NL_EXPR_AND, null_of(nl_type_boolean()), is_known), &input, some, 4, NULL), "NULL NULL NULL false");
}

static void test_guards_keep_failing_branches_from_rows(void **state)
{
    (void)state;
    const nl_expr *not_zero = call("!=", x, integer(0)), *inverse = divide(integer(10), x);
    const nl_expr *guarded = boolean_expr(NL_EXPR_AND, not_zero, call(">", inverse, integer(5)));
    assert_string_equal(evaluate(guarded, &input, some, 4, NULL), "false true false NULL");
    const nl_expr *either = boolean_expr(NL_EXPR_OR, call("=", x, integer(0)), call(">", inverse, integer(5)));
    assert_string_equal(evaluate(either, &input, some, 4, NULL), "true true false NULL");
    const nl_expr *branches[] = {not_zero, inverse, integer(-1)};
    assert_string_equal(evaluate(new_expr(NL_EXPR_CASE, nl_type_bigint(), branches, 3), &input, some, 4, NULL), "-1 10 5 -1");
    const nl_expr *without_else[] = {call("=", x, integer(0)), integer(7), not_zero, inverse};
    assert_string_equal(evaluate(new_expr(NL_EXPR_CASE, nl_type_bigint(), without_else, 4), &input, some, 4, NULL), "7 10 5 NULL");
    const nl_expr *choices[] = {x, divide(integer(1), integer(0))};
    const char *error = NULL;
    evaluate(new_expr(NL_EXPR_COALESCE, nl_type_bigint(), choices, 2), &input, some, 4, &error);
    assert_string_equal(error, "DIVIDE_BY_ZERO"); /* the null row needs it */
    assert_string_equal(evaluate(new_expr(NL_EXPR_COALESCE, nl_type_bigint(), choices, 2), &input, some, 3, NULL), "0 1 2");
}

static void test_sharing_does_not_reach_out_of_a_guard(void **state)
{
    (void)state;
    const nl_expr *inverse = divide(integer(10), x);
    const nl_expr *first[] = {call("!=", x, integer(0)), inverse, integer(0)};
    const nl_expr *second[] = {call("=", x, integer(2)), inverse, integer(1)};
    const nl_expr *sum = call("+", new_expr(NL_EXPR_CASE, nl_type_bigint(), first, 3), new_expr(NL_EXPR_CASE, nl_type_bigint(), second, 3));
    assert_string_equal(evaluate(sum, &input, some, 4, NULL), "1 11 10 1");
}

static void test_case_chooses_texts_of_several_branches(void **state)
{
    (void)state;
    const nl_expr *branches[] = {call("=", x, integer(0)), text_value("a text of more than twelve bytes"), call("=", x, integer(1)), text_value("short"),
                                 null_of(nl_type_string())};
    assert_string_equal(evaluate(new_expr(NL_EXPR_CASE, nl_type_string(), branches, 5), &input, some, 4, NULL),
                        "a text of more than twelve bytes short NULL NULL");
}

static void test_in_lists_have_sql_nulls(void **state)
{
    (void)state;
    const nl_expr *few[] = {x, integer(1), integer(5)};
    assert_string_equal(evaluate(new_expr(NL_EXPR_IN, nl_type_boolean(), few, 3), &input, some, 4, NULL), "false true false NULL");
    const nl_expr *with_null[] = {x, integer(1), null_of(nl_type_bigint())};
    assert_string_equal(evaluate(new_expr(NL_EXPR_IN, nl_type_boolean(), with_null, 3), &input, some, 4, NULL), "NULL true NULL NULL");
    const nl_expr *many[40] = {x};
    for (int i = 1; i < 40; i++)
        many[i] = integer(i * 2);
    assert_string_equal(evaluate(new_expr(NL_EXPR_IN, nl_type_boolean(), many, 40), &input, some, 4, NULL), "false false true NULL");
    const nl_expr *computed[] = {x, call("*", x, x), integer(2)};
    assert_string_equal(evaluate(new_expr(NL_EXPR_IN, nl_type_boolean(), computed, 3), &input, some, 4, NULL), "true true true NULL");
    const nl_expr *texts[] = {nl_expr_cast(arena, x, nl_type_string(), NL_CAST_ANSI), text_value("2"), text_value("zwei"), text_value("a text of more than twelve bytes")};
    assert_string_equal(evaluate(new_expr(NL_EXPR_IN, nl_type_boolean(), texts, 4), &input, some, 4, NULL), "false false true NULL");
}

static void test_fields_of_null_structs_are_null(void **state)
{
    (void)state;
    nl_field fields[] = {{.name = NL_STR("a"), .type = nl_type_bigint(), .is_nullable = true}, {.name = NL_STR("b"), .type = nl_type_string(), .is_nullable = true}};
    const nl_type *type = nl_type_struct(arena, fields, 2);
    nl_value parts[] = {nl_value_int(nl_type_bigint(), 4), nl_value_string(NL_STR("b"))};
    nl_value value = {.type = type, .list = {.items = parts, .count = 2}};
    const nl_expr *branches[] = {call("=", x, integer(1)), nl_expr_literal(arena, &value), null_of(type)};
    const nl_expr *structs = new_expr(NL_EXPR_CASE, type, branches, 3);
    nl_expr *field = new_expr(NL_EXPR_FIELD, nl_type_bigint(), &structs, 1);
    assert_string_equal(evaluate(field, &input, some, 4, NULL), "NULL 4 NULL NULL");
    const nl_expr *constant = nl_expr_literal(arena, &value);
    nl_expr *of_constant = new_expr(NL_EXPR_FIELD, nl_type_string(), &constant, 1);
    of_constant->ordinal = 1;
    assert_string_equal(evaluate(of_constant, &input, some, 2, NULL), "b b");
}

/* A kernel of our own: for each row, the lambda of (row's number, 0), (row's number, 1) …, summed. */
static nl_status sum_of_lambda(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_lambda *const *lambdas,
                               nl_selection selection, uint32_t length, nl_vector *out)
{
    (void)function;
    (void)args;
    nl_vector parameter = {0}, result = {0};
    uint32_t *parents = malloc(sizeof *parents * 3 * ((size_t)selection.count + 1));
    NL_TRY(nl_vector_new_flat(&parameter, nl_type_bigint(), 3 * selection.count, eval->memory));
    for (uint32_t i = 0; i < 3 * selection.count; i++) {
        ((int64_t *)nl_vector_values(&parameter))[i] = i % 3;
        parents[i] = nl_selection_row(selection, i / 3);
    }
    nl_status status = lambdas[0]->evaluate(lambdas[0], eval, &parameter, 1, parents, 3 * selection.count, &result);
    if (!status) status = nl_vector_new_flat(out, nl_type_bigint(), length, eval->memory);
    for (uint32_t i = 0; i < 3 * selection.count && !status; i++)
        ((int64_t *)nl_vector_values(out))[parents[i]] += ((const int64_t *)result.values)[i];
    nl_vector_fini(&parameter);
    nl_vector_fini(&result);
    free(parents);
    return status;
}

static void test_lambdas_see_captured_columns(void **state)
{
    (void)state;
    static const nl_function_row row = {.name = "sum_of_lambda", .kind = NL_FUNCTION_SCALAR, .nulls = NL_NULL_SEEN, .kernel = sum_of_lambda};
    const nl_column_id id = next_id++;
    const nl_type *types[] = {nl_type_bigint()};
    nl_expr *parameter = new_expr(NL_EXPR_PARAMETER, nl_type_bigint(), NULL, 0);
    parameter->column = id;
    const nl_expr *body = call("+", call("*", x, integer(100)), parameter);
    nl_expr *lambda = new_expr(NL_EXPR_LAMBDA, nl_type_bigint(), &body, 1);
    lambda->parameters = &id;
    lambda->parameter_types = types;
    lambda->parameter_count = 1;
    nl_bound_function bound = {.row = &row, .result_type = nl_type_bigint(), .argument_count = 1, .argument_types = types, .kernel = sum_of_lambda,
                               .is_deterministic = true};
    const nl_expr *child = lambda;
    nl_expr *outer = new_expr(NL_EXPR_CALL, nl_type_bigint(), &child, 1);
    outer->function = &bound;
    assert_string_equal(evaluate(outer, &input, some, 3, NULL), "3 303 603");
}

static void test_filters_ask_failing_conjuncts_last(void **state)
{
    (void)state;
    const nl_expr *condition = nl_expr_and(arena, call("=", divide(integer(4), x), integer(2)), call(">", x, integer(0)));
    nl_program *program = NULL;
    nl_program_state *program_state = NULL;
    expect_success(nl_program_compile_filter(arena, condition, &input, 1, &program));
    expect_success(nl_program_state_new(program, &confs, memory, NL_STR(""), 0, &program_state));
    nl_batch batch = {0};
    expect_success(nl_batch_init(&batch, 1, 3));
    expect_success(nl_vector_new_flat(&batch.columns[0], nl_type_bigint(), 3, memory));
    for (int64_t i = 0; i < 3; i++)
        ((int64_t *)nl_vector_values(&batch.columns[0]))[i] = i;
    expect_success(nl_program_filter(program_state, &batch));
    assert_int_equal(nl_batch_live_rows(&batch), 1);
    assert_int_equal(nl_selection_row(nl_batch_selection(&batch), 0), 2);
    nl_batch_fini(&batch);
    nl_program_state_free(program_state);
}

static void test_constants_are_folded(void **state)
{
    (void)state;
    nl_value value = {0};
    expect_success(nl_expr_evaluate(arena, call("+", integer(40), integer(2)), &confs, NL_STR(""), &value));
    assert_int_equal(value.integer, 42);
    expect_success(nl_expr_evaluate(arena, null_of(nl_type_string()), &confs, NL_STR(""), &value));
    assert_true(value.is_null);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_equal_subexpressions_are_computed_once, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_and_or_follow_three_valued_logic, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_guards_keep_failing_branches_from_rows, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_sharing_does_not_reach_out_of_a_guard, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_case_chooses_texts_of_several_branches, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_in_lists_have_sql_nulls, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_fields_of_null_structs_are_null, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_lambdas_see_captured_columns, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_filters_ask_failing_conjuncts_last, set_up_input, tear_down),
        cmocka_unit_test_setup_teardown(test_constants_are_folded, set_up_input, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
