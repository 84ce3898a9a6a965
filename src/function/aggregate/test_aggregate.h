/* aggregate/test_aggregate.h - running an aggregate over rows given as texts, by four roads that must agree: update_one,
 * update with states per row, two partials merged, and (where there is one) rows added and retracted. Tests only.
 */
#pragma once

#include "function/test_function.h"

#include <math.h>
#include <stdlib.h>

static inline const char *finish_one(const nl_bound_function *bound, nl_eval *eval, void *state)
{
    nl_vector out = {0};
    void *states[1] = {state};
    nl_status status = bound->aggregate->finish(bound, eval, states, 1, &out);
    if (status != NULL) {
        const char *name = nl_arena_f(test_arena, "!%s", nl_condition_name(nl_error_condition(status))).data;
        nl_error_free(status);
        nl_vector_fini(&out);
        return name;
    }
    const char *text = test_text(&out, 0);
    nl_vector_fini(&out);
    return text;
}

static inline void *new_state(const nl_bound_function *bound)
{
    void *state = nl_arena_alloc(test_arena, bound->aggregate->state_size(bound));
    if (bound->aggregate->init != NULL) bound->aggregate->init(bound, state);
    return state;
}

static inline void end_state(const nl_bound_function *bound, nl_eval *eval, void *state)
{
    if (bound->aggregate->destroy != NULL) bound->aggregate->destroy(bound, eval, state);
}

/* rows: argument_count texts per row, row after row. is_ordered: partial merges keep the order, so all roads agree. */
static inline const char *run_aggregate(const char *name, const char *types, const char *const *rows, uint32_t row_count)
{
    const nl_type *given[6];
    uint32_t count = 0;
    nl_str rest = nl_str_from(types);
    nl_str part;
    while (count < 6 && nl_str_next_part(&rest, ';', &part)) given[count++] = test_type(part);
    nl_value first[6];
    const nl_value *constants[6] = {NULL};
    for (uint32_t i = 1; i < count && row_count > 0; i++) { /* later arguments that do not vary are constants */
        bool varies = false;
        for (uint32_t r = 1; r < row_count; r++)
            varies |= (rows[r * count + i] == NULL) != (rows[i] == NULL) || (rows[i] && strcmp(rows[r * count + i], rows[i]) != 0);
        first[i] = test_value(given[i], rows[i]);
        if (!varies) constants[i] = &first[i];
    }
    const nl_bound_function *bound = NULL;
    nl_status status = test_bind(name, given, count, constants, &bound);
    if (status != NULL) {
        const char *condition = nl_arena_f(test_arena, "!%s", nl_condition_name(nl_error_condition(status))).data;
        nl_error_free(status);
        return condition;
    }
    nl_eval eval = {.confs = &test_confs, .memory = test_memory};
    nl_vector args[6] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        const char **column = NL_NEW_ARRAY(test_arena, const char *, row_count + 1);
        for (uint32_t r = 0; r < row_count; r++) column[r] = rows[r * count + i];
        nl_vector raw = test_column(given[i], column, row_count);
        expect_success(nl_cast_vector(&eval, NL_CAST_ANSI, &raw, bound->argument_types[i], NL_ALL_ROWS(row_count), &args[i]));
        nl_vector_fini(&raw);
    }
    const nl_aggregate_ops *ops = bound->aggregate;
    void *one = new_state(bound);
    expect_success(ops->update_one(bound, &eval, args, NL_ALL_ROWS(row_count), one));
    const char *result = finish_one(bound, &eval, one);
    end_state(bound, &eval, one);

    void *same = new_state(bound);
    void **states = NL_NEW_ARRAY(test_arena, void *, row_count + 1);
    for (uint32_t r = 0; r < row_count; r++) states[r] = same;
    expect_success(ops->update(bound, &eval, args, NL_ALL_ROWS(row_count), states));
    assert_string_equal(finish_one(bound, &eval, same), result);
    end_state(bound, &eval, same);

    uint32_t half = row_count / 2;
    uint32_t *indices = NL_NEW_ARRAY(test_arena, uint32_t, row_count + 1);
    for (uint32_t r = 0; r < row_count; r++) indices[r] = r;
    void *halves[2] = {new_state(bound), new_state(bound)};
    expect_success(ops->update_one(bound, &eval, args, (nl_selection){indices, half}, halves[0]));
    expect_success(ops->update_one(bound, &eval, args, (nl_selection){indices + half, row_count - half}, halves[1]));
    nl_vector partial = {0};
    expect_success(ops->to_partial(bound, &eval, halves, 2, &partial));
    assert_true(nl_type_equal(partial.type, bound->partial_type));
    void *merged = new_state(bound);
    void *targets[2] = {merged, merged};
    expect_success(ops->merge_partial(bound, &eval, &partial, NL_ALL_ROWS(2), targets));
    const char *from_partials = finish_one(bound, &eval, merged);
    if (bound->result_type->id == NL_TYPE_DOUBLE && from_partials[0] != 'N')
        assert_true(fabs(strtod(from_partials, NULL) - strtod(result, NULL)) <= 1e-12 * fabs(strtod(result, NULL))); /* another order */
    else
        assert_string_equal(from_partials, result);
    nl_vector_fini(&partial);
    end_state(bound, &eval, merged);
    end_state(bound, &eval, halves[0]);
    end_state(bound, &eval, halves[1]);

    if (ops->retract != NULL) {
        void *sliding = new_state(bound);
        expect_success(ops->update_one(bound, &eval, args, NL_ALL_ROWS(row_count), sliding));
        expect_success(ops->update_one(bound, &eval, args, (nl_selection){indices, half}, sliding));
        expect_success(ops->retract(bound, &eval, args, (nl_selection){indices, half}, sliding));
        assert_string_equal(finish_one(bound, &eval, sliding), result);
        end_state(bound, &eval, sliding);
    }
    for (uint32_t i = 0; i < count; i++) nl_vector_fini(&args[i]);
    return result;
}

typedef struct aggregate_case {
    const char *name;
    const char *types;
    const char *rows[24];
    uint32_t row_count;
    const char *expected;
} aggregate_case;

static inline void run_aggregates(const aggregate_case *cases, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *shown = run_aggregate(cases[i].name, cases[i].types, cases[i].rows, cases[i].row_count);
        if (strcmp(shown, cases[i].expected) != 0) print_error("case %u: %s(%s) gives %s\n", i, cases[i].name, cases[i].types, shown);
        assert_string_equal(shown, cases[i].expected);
    }
}
