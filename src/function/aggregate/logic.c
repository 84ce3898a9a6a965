/* aggregate/logic.c - count_if, bool_and, bool_or, bit_and, bit_or, bit_xor, max_by, min_by. */
#include "function/aggregate/state.h"
#include "function/groups.h"

/* --- count_if --- */

NL_AGGREGATE_SIZE(count_if, int64_t)

static nl_status count_if_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                               uint32_t row, void *state)
{
    (void)function;
    (void)eval;
    (void)args;
    *(int64_t *)state += nl_reader_bool(&readers[0], row);
    return NULL;
}
NL_AGGREGATE_STEPS(count_if, 1, count_if_step)

static void count_if_merge_state(int64_t *into, const int64_t *from)
{
    *into += *from;
}
NL_POD_MERGE(count_if, int64_t, count_if_merge_state)

static nl_status count_if_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)function;
    (void)eval;
    return nl_column_builder_i64(builder, *(const int64_t *)state);
}
NL_BUILT_RESULT(count_if, count_if_result)
NL_POD_OPS(count_if);

/* --- bits; booleans are one bit --- */

typedef struct bits_state {
    int64_t bits;
    bool has_value;
} bits_state;
typedef enum bits_op { BITS_AND, BITS_OR, BITS_XOR } bits_op;
typedef struct bits_how {
    const char *name;
    bits_op op;
} bits_how;
NL_AGGREGATE_SIZE(bits, bits_state)

static inline void fold(bits_state *state, bits_op op, int64_t value)
{
    if (!state->has_value)
        state->bits = value;
    else if (op == BITS_AND)
        state->bits &= value;
    else if (op == BITS_OR)
        state->bits |= value;
    else
        state->bits ^= value;
    state->has_value = true;
}

static nl_status bits_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                           uint32_t row, void *state)
{
    (void)eval;
    const bits_how *how = function->state;
    fold(state, how->op, nl_physical_i64(args[0].type->physical, readers[0].values, nl_reader_index(&readers[0], row)));
    return NULL;
}
NL_AGGREGATE_STEPS(bits, 1, bits_step)

static nl_status bits_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    (void)eval;
    const bits_how *how = function->state;
    bits_state from;
    NL_CHECK(partial.length == sizeof from);
    memcpy(&from, partial.data, sizeof from);
    if (from.has_value) fold(state, how->op, from.bits);
    return NULL;
}

static nl_status bits_merge(const nl_bound_function *function, nl_eval *eval, const nl_vector *partial, nl_selection selection, void *const *states)
{
    return nl_merge_partials(function, eval, partial, selection, states, bits_merge_one);
}

static nl_status bits_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)function;
    (void)eval;
    const bits_state *s = state;
    return s->has_value ? nl_column_builder_i64(builder, s->bits) : nl_column_builder_null(builder);
}
NL_BUILT_RESULT(bits, bits_result)
NL_POD_OPS(bits);

static nl_status bind_bits(nl_bind *bind, nl_bound_function *bound)
{
    static const bits_how ops[] = {{"bool_and", BITS_AND}, {"bool_or", BITS_OR}, {"bit_and", BITS_AND}, {"bit_or", BITS_OR}, {"bit_xor", BITS_XOR}};
    for (uint32_t i = 0; i < NL_COUNT(ops); i++)
        if (strcmp(ops[i].name, bind->row->name) == 0) bound->state = &ops[i];
    if (bound->result_type == NULL) bound->result_type = bind->argument_types[0];
    return NULL;
}

/* --- max_by, min_by --- */

typedef struct by_state {
    nl_box value;
    nl_box key;
} by_state;
NL_AGGREGATE_SIZE(by, by_state)

static nl_status by_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                         uint32_t row, void *state)
{
    (void)readers;
    by_state *s = state;
    if (nl_vector_is_null(&args[1], row)) return NULL;
    if (s->key.has_value) {
        int order = 0;
        NL_TRY(nl_box_compare(&s->key, &args[1], row, eval->memory, &order));
        /* Among equals Spark keeps the later for max_by (>=) and the later for min_by (<=). */
        const bool keeps_first = function->row->name[4] == 'f'; /* of equal ones; min_by and max_by take the last */
        if (function->row->name[1] == 'a' ? order > 0 : order < 0) return NULL;
        if (keeps_first && order == 0) return NULL;
    }
    NL_TRY(nl_box_set(&s->key, eval->memory, &args[1], row));
    return nl_box_set(&s->value, eval->memory, &args[0], row);
}
NL_AGGREGATE_STEPS(by, 0, by_step)

static nl_status by_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    by_state *s = state;
    NL_TRY(nl_box_encode(&s->value, function->argument_types[0], bytes, eval->memory));
    return nl_box_encode(&s->key, function->argument_types[1], bytes, eval->memory);
}

static nl_status by_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    if (!partial.data[0]) return NULL;
    nl_vector args[2] = {{0}};
    size_t offset = 1;
    NL_TRY(nl_decode_vector(partial.data, &offset, function->argument_types[0], eval->memory, &args[0]));
    offset++;
    nl_status status = nl_decode_vector(partial.data, &offset, function->argument_types[1], eval->memory, &args[1]);
    if (status == NULL) status = by_step(function, eval, args, NULL, 0, state);
    nl_vector_fini(&args[0]);
    nl_vector_fini(&args[1]);
    return status;
}
NL_ENCODED_PARTIALS(by, by_encode, by_merge_one)

static nl_status by_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    (void)eval;
    return nl_box_append(&((by_state *)state)->value, function->result_type, builder);
}
NL_BUILT_RESULT(by, by_result)

static void by_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_box_free(&((by_state *)state)->value, eval->memory);
    nl_box_free(&((by_state *)state)->key, eval->memory);
}
NL_ENCODED_OPS(by);

static nl_status bind_by(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return nl_type_is_orderable(bind->argument_types[1]) ? NULL : nl_bind_not_orderable(bind, bind->argument_types[1]);
}

#define BOOLEANS NL_AGGREGATE_ROW, .signature = "(boolean) -> boolean", .bind = bind_bits, .aggregate = &bits_ops
#define INTEGERS NL_AGGREGATE_ROW, .signature = "(integral) -> ?", .bind = bind_bits, .aggregate = &bits_ops

static const nl_function_row rows[] = {
    {.name = "count_if", NL_AGGREGATE_ROW, .signature = "(boolean) -> bigint", .keeps_non_null = true, .aggregate = &count_if_ops, .since = "3.0.0",
     .doc = "The number of rows in which the condition is true.", .examples = {{"count_if(col % 2 = 0) FROM VALUES (NULL), (0), (1), (2), (3) AS tab(col)", "2"}}},
    {.name = "bool_and", .aliases = "every", BOOLEANS, .since = "3.0.0", .doc = "Whether all values are true.", .examples = {{"bool_and(col) FROM VALUES (true), (true), (NULL) AS tab(col)", "true"}}},
    {.name = "bool_or", .aliases = "some,any", BOOLEANS, .since = "3.0.0", .doc = "Whether some value is true.", .examples = {{"bool_or(col) FROM VALUES (true), (false) AS tab(col)", "true"}}},
    {.name = "bit_and", INTEGERS, .since = "3.0.0", .doc = "Bitwise AND of all values.", .examples = {{"bit_and(col) FROM VALUES (3), (5) AS tab(col)", "1"}}},
    {.name = "bit_or", INTEGERS, .since = "3.0.0", .doc = "Bitwise OR of all values.", .examples = {{"bit_or(col) FROM VALUES (3), (5) AS tab(col)", "7"}}},
    {.name = "bit_xor", INTEGERS, .since = "3.0.0", .doc = "Bitwise exclusive OR of all values.", .examples = {{"bit_xor(col) FROM VALUES (3), (5) AS tab(col)", "6"}}},
    {.name = "max_by", NL_AGGREGATE_ROW, .signature = "(T, any) -> T", .bind = bind_by, .aggregate = &by_ops, .since = "3.0.0",
     .doc = "The first argument in the row where the second is greatest.", .examples = {{"max_by(x, y) FROM VALUES ('a', 10), ('b', 50), ('c', 20) AS tab(x, y)", "b"}}},
    {.name = "min_first_by", NL_AGGREGATE_ROW, .is_internal = true, .signature = "(T, any) -> T", .bind = bind_by, .aggregate = &by_ops, .since = "4.0.0",
     .doc = "min over strings with a collation."},
    {.name = "max_first_by", NL_AGGREGATE_ROW, .is_internal = true, .signature = "(T, any) -> T", .bind = bind_by, .aggregate = &by_ops, .since = "4.0.0",
     .doc = "max over strings with a collation."},
    {.name = "min_by", NL_AGGREGATE_ROW, .signature = "(T, any) -> T", .bind = bind_by, .aggregate = &by_ops, .since = "3.0.0",
     .doc = "The first argument in the row where the second is least.", .examples = {{"min_by(x, y) FROM VALUES ('a', 10), ('b', 50), ('c', 20) AS tab(x, y)", "a"}}},
};

NL_DEFINE_FUNCTION_GROUP(logic_aggregates, rows);
