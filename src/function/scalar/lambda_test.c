/* scalar/lambda_test.c - functions that take functions, with lambdas written here; values as Spark 4.0.1 gave them. */
#include "function/test_function.h"

typedef nl_status (*evaluate_fn)(const nl_lambda *self, nl_eval *eval, const nl_vector *parameters, uint32_t parameter_count,
                                 const uint32_t *parent_rows, uint32_t length, nl_vector *out);

static int64_t integer_at(const nl_vector *vector, uint32_t row)
{
    nl_reader reader;
    nl_reader_init(&reader, vector);
    return nl_reader_i32(&reader, row);
}

/* (a, b) -> a + b, or a -> a * 10; null when one is null. */
static nl_status evaluate_sum(const nl_lambda *self, nl_eval *eval, const nl_vector *parameters, uint32_t parameter_count,
                              const uint32_t *parent_rows, uint32_t length, nl_vector *out)
{
    (void)parent_rows;
    nl_output output;
    NL_TRY(nl_output_init(&output, self->result_type, length, eval->memory, out));
    for (uint32_t row = 0; row < length; row++) {
        bool is_null = nl_vector_is_null(&parameters[0], row) || (parameter_count > 1 && nl_vector_is_null(&parameters[1], row));
        if (is_null) {
            NL_TRY(nl_output_null(&output, row));
            continue;
        }
        int64_t a = integer_at(&parameters[0], row);
        ((int32_t *)output.values)[row] = (int32_t)(parameter_count > 1 ? a + integer_at(&parameters[1], row) : a * 10);
    }
    return NULL;
}

/* a -> a > 1; null for null. */
static nl_status evaluate_greater(const nl_lambda *self, nl_eval *eval, const nl_vector *parameters, uint32_t parameter_count,
                                  const uint32_t *parent_rows, uint32_t length, nl_vector *out)
{
    (void)parameter_count;
    (void)parent_rows;
    nl_output output;
    NL_TRY(nl_output_init(&output, self->result_type, length, eval->memory, out));
    for (uint32_t row = 0; row < length; row++) {
        if (nl_vector_is_null(&parameters[0], row))
            NL_TRY(nl_output_null(&output, row));
        else
            ((uint8_t *)output.values)[row] = integer_at(&parameters[0], row) > 1;
    }
    return NULL;
}

/* Rows (arrays as texts) through a function whose lambdas have the given numbers of parameters (0: no lambda). */
static const char *run(const char *name, evaluate_fn evaluate, const nl_type *result, const uint32_t *parameter_counts,
                       uint32_t count, const char *const *types, const char *const *rows, uint32_t row_count)
{
    const nl_function_row *const *found = NULL;
    uint32_t found_count = nl_function_find(nl_str_from(name), &found);
    nl_lambda made[4];
    const nl_lambda *lambdas[4] = {NULL};
    const nl_type *given[4] = {NULL};
    nl_vector args[4] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        if (parameter_counts[i] > 0) {
            made[i] = (nl_lambda){.evaluate = evaluate, .result_type = result, .is_nullable = true, .parameter_count = parameter_counts[i]};
            lambdas[i] = &made[i];
            given[i] = result;
            continue;
        }
        given[i] = test_type(nl_str_from(types[i]));
        args[i] = test_column(given[i], rows + i * row_count, row_count);
    }
    nl_bind bind = {.arena = test_arena, .confs = &test_confs, .name = nl_str_from(name), .argument_count = count,
                    .argument_types = given, .lambdas = lambdas, .argument_sql = test_argument_sql};
    const nl_bound_function *bound = NULL;
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    nl_vector out = {0};
    expect_success(nl_function_bind(&bind, found, found_count, &bound));
    expect_success(nl_function_call(bound, &eval, args, lambdas, NL_ALL_ROWS(row_count), row_count, &out));
    nl_builder text;
    nl_builder_init(&text, 1000);
    for (uint32_t r = 0; r < row_count; r++) nl_append_f(&text, "%s%s", r > 0 ? " " : "", test_text(&out, r));
    const char *copy = nl_str_c(test_arena, nl_builder_str(&text));
    nl_builder_fini(&text);
    nl_vector_fini(&out);
    for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    return copy;
}

static void test_transform_and_filter(void **state)
{
    (void)state;
    static const char *const types[] = {"ints", NULL};
    static const char *const rows[] = {"1,2", NULL, "", "3,null"};
    static const uint32_t one[] = {0, 1};
    static const uint32_t two[] = {0, 2};
    const nl_type *integer = nl_type_int();
    const nl_type *boolean = nl_type_boolean();
    assert_string_equal(run("transform", evaluate_sum, integer, one, 2, types, rows, 4), "[10, 20] NULL [] [30, null]");
    assert_string_equal(run("transform", evaluate_sum, integer, two, 2, types, rows, 4), "[1, 3] NULL [] [3, null]");
    assert_string_equal(run("filter", evaluate_greater, boolean, one, 2, types, rows, 4), "[2] NULL [] [3]");
    assert_string_equal(run("exists", evaluate_greater, boolean, one, 2, types, rows, 4), "true NULL false true");
    assert_string_equal(run("forall", evaluate_greater, boolean, one, 2, types, rows, 4), "false NULL true NULL");
}

static void test_folding_and_zipping(void **state)
{
    (void)state;
    static const char *const types[] = {"ints", "int"};
    static const char *const rows[] = {"1,2,3", "", "5", "0", "7", "1"};
    static const uint32_t fold[] = {0, 0, 2};
    static const uint32_t fold_and_last[] = {0, 0, 2, 1};
    const nl_type *integer = nl_type_int();
    assert_string_equal(run("aggregate", evaluate_sum, integer, fold, 3, types, rows, 3), "6 7 6");
    assert_string_equal(run("reduce", evaluate_sum, integer, fold_and_last, 4, types, rows, 3), "60 70 60");
    static const char *const arrays[] = {"ints", "ints"};
    static const char *const pairs[] = {"1,2", "3,4,5"};
    assert_string_equal(run("zip_with", evaluate_sum, integer, fold, 3, arrays, pairs, 1), "[4, 6, null]");
}

static void test_parameter_types_of_lambdas(void **state)
{
    (void)state;
    const nl_function_row *const *rows = NULL;
    const nl_type *types[2] = {NULL};
    const nl_type *given[2] = {nl_type_array(test_arena, nl_type_string(), true), NULL};
    uint32_t count = nl_function_find(NL_STR("transform"), &rows);
    nl_bind bind = {.arena = test_arena, .confs = &test_confs, .name = NL_STR("transform"), .argument_count = 2, .argument_types = given};
    expect_success(nl_function_lambda_types(&bind, rows, count, 1, 2, types));
    assert_int_equal(types[0]->id, NL_TYPE_STRING);
    assert_int_equal(types[1]->id, NL_TYPE_INT);
    expect_error(nl_function_lambda_types(&bind, rows, count, 1, 3, types), "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transform_and_filter),
        cmocka_unit_test(test_folding_and_zipping),
        cmocka_unit_test(test_parameter_types_of_lambdas),
    };
    return cmocka_run_group_tests(tests, test_setup, test_teardown);
}
