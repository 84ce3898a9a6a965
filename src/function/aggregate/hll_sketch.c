/* aggregate/hll_sketch.c - hll_sketch_agg, hll_union_agg, and the scalars hll_sketch_estimate and hll_union. */
#include <math.h>

#include "function/aggregate/hll.h"
#include "function/groups.h"

#define DEFAULT_LG_K 12

static nl_status raise_bad_sketch(const char *name)
{
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(HLL_INVALID_INPUT_SKETCH_BUFFER, NL_P_STR("function", nl_arena_f(arena, "`%s`", name)));
    nl_arena_free(arena);
    return status;
}

static nl_status read_sketch(const char *name, nl_hll *sketch, nl_memory *memory, nl_str bytes)
{
    bool is_sketch = false;
    NL_TRY(nl_hll_read(sketch, memory, bytes, &is_sketch));
    return is_sketch ? NULL : raise_bad_sketch(name);
}

static nl_status check_same_k(const char *name, const nl_hll *left, const nl_hll *right, bool allows_different)
{
    if (allows_different || left->lg_k == right->lg_k) return NULL;
    nl_arena *arena = nl_arena_new(NULL);
    nl_status status = NL_RAISE(HLL_UNION_DIFFERENT_LG_K, NL_P_INT("left", left->lg_k), NL_P_INT("right", right->lg_k),
                                NL_P_STR("function", nl_arena_f(arena, "`%s`", name)));
    nl_arena_free(arena);
    return status;
}

/* --- the aggregates --- */

NL_AGGREGATE_SIZE(sketch, nl_hll)

typedef struct sketch_options {
    uint8_t lg_k;
    bool allows_different;
} sketch_options;

static nl_status begin(nl_hll *s, nl_eval *eval, uint8_t lg_k)
{
    return s->lg_k ? NULL : nl_hll_begin(s, lg_k, eval->memory);
}

static nl_status sketch_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                             uint32_t row, void *state)
{
    const sketch_options *options = function->state;
    NL_TRY(begin(state, eval, options->lg_k));
    if (args[0].type->physical == NL_PHYS_STRING) return nl_hll_add_bytes(state, eval->memory, nl_reader_str(&readers[0], row));
    return nl_hll_add_long(state, eval->memory, nl_physical_i64(args[0].type->physical, readers[0].values, nl_reader_index(&readers[0], row)));
}
NL_AGGREGATE_STEPS(sketch, 1, sketch_step)

/* Joins a sketch's bytes into the state. */
static nl_status join(const nl_bound_function *function, nl_eval *eval, nl_hll *s, nl_str bytes, bool allows_different)
{
    nl_hll other = {0};
    nl_status status = NULL;
    NL_GO(read_sketch(function->row->name, &other, eval->memory, bytes));
    if (s->lg_k) NL_GO(check_same_k(function->row->name, s, &other, allows_different));
    if (s->lg_k > other.lg_k) { /* a union of the fewer registers, which the first joins again */
        nl_hll first = *s;
        *s = (nl_hll){0};
        status = nl_hll_begin(s, other.lg_k, eval->memory);
        if (!status) status = nl_hll_merge(s, eval->memory, &first);
        nl_hll_free(&first, eval->memory);
        NL_GO(status);
    }
    NL_GO(begin(s, eval, other.lg_k));
    status = nl_hll_merge(s, eval->memory, &other);
done:
    nl_hll_free(&other, eval->memory);
    return status;
}

static nl_status union_step(const nl_bound_function *function, nl_eval *eval, const nl_vector *args, const nl_reader *readers,
                            uint32_t row, void *state)
{
    const sketch_options *options = function->state;
    (void)args;
    return join(function, eval, state, nl_reader_str(&readers[0], row), options->allows_different);
}
NL_AGGREGATE_STEPS(union, 1, union_step)

static nl_status sketch_encode(const nl_bound_function *function, nl_eval *eval, void *state, nl_agg_bytes *bytes)
{
    (void)function;
    nl_hll *s = state;
    return s->lg_k ? nl_hll_write(s, eval->memory, bytes) : NULL;
}

static nl_status sketch_merge_one(const nl_bound_function *function, nl_eval *eval, void *state, nl_str partial)
{
    const sketch_options *options = function->state;
    return partial.length ? join(function, eval, state, partial, options->allows_different) : NULL;
}
NL_ENCODED_PARTIALS(sketch, sketch_encode, sketch_merge_one)

static nl_status sketch_result(const nl_bound_function *function, nl_eval *eval, void *state, nl_column_builder *builder)
{
    const sketch_options *options = function->state;
    nl_agg_bytes bytes = {0};
    NL_TRY(begin(state, eval, options->lg_k));
    nl_status status = nl_hll_write(state, eval->memory, &bytes);
    if (!status) status = nl_column_builder_str(builder, (nl_str){bytes.data, bytes.length});
    nl_agg_bytes_free(&bytes, eval->memory);
    return status;
}
NL_BUILT_RESULT(sketch, sketch_result)

static void sketch_destroy(const nl_bound_function *function, nl_eval *eval, void *state)
{
    (void)function;
    nl_hll_free(state, eval->memory);
}
NL_ENCODED_OPS(sketch);
static const nl_aggregate_ops union_ops = {.state_size = sketch_size, .update = union_update, .update_one = union_update_one,
                                           .to_partial = sketch_to_partial, .merge_partial = sketch_merge, .finish = sketch_finish,
                                           .destroy = sketch_destroy};

/* Nothing is cast: the argument has one of these types, or is NULL. */
static nl_status require(nl_bind *bind, uint32_t i, const nl_type *type, const char *name)
{
    if (bind->argument_types[i]->id == NL_TYPE_NULL) bind->argument_types[i] = type;
    return bind->argument_types[i]->id == type->id ? NULL : nl_bind_unexpected_type(bind, i, name);
}

static nl_status bind_sketch(nl_bind *bind, nl_bound_function *bound)
{
    sketch_options *options = NL_NEW(bind->arena, sketch_options);
    const nl_type_id id = bind->argument_types[0]->id;
    if (id == NL_TYPE_NULL) bind->argument_types[0] = nl_type_int();
    else if (id != NL_TYPE_INT && id != NL_TYPE_BIGINT && id != NL_TYPE_STRING && id != NL_TYPE_BINARY)
        return nl_bind_unexpected_type(bind, 0, "(\"INT\" or \"BIGINT\" or \"STRING\" or \"BINARY\")");
    options->lg_k = DEFAULT_LG_K;
    if (bind->argument_count == 2) {
        NL_TRY(require(bind, 1, nl_type_int(), "\"INT\""));
        const nl_value *lg_k = bind->constants ? bind->constants[1] : NULL;
        if (lg_k == NULL) return nl_bind_not_foldable(bind, 1, "`lgConfigK`");
        const int64_t value = lg_k->is_null ? 0 : lg_k->integer;
        if (value < NL_HLL_LG_K_MIN || value > NL_HLL_LG_K_MAX)
            return NL_RAISE(HLL_INVALID_LG_K, NL_P("function", "`hll_sketch_agg`"), NL_P_INT("min", NL_HLL_LG_K_MIN), NL_P_INT("max", NL_HLL_LG_K_MAX),
                            NL_P_INT("value", value));
        options->lg_k = (uint8_t)value;
    }
    bound->state = options;
    return NULL;
}

static nl_status bind_union_agg(nl_bind *bind, nl_bound_function *bound)
{
    sketch_options *options = NL_NEW(bind->arena, sketch_options);
    options->lg_k = DEFAULT_LG_K;
    NL_TRY(require(bind, 0, nl_type_binary(), "\"BINARY\""));
    if (bind->argument_count == 2) {
        NL_TRY(require(bind, 1, nl_type_boolean(), "\"BOOLEAN\""));
        const nl_value *allows = bind->constants ? bind->constants[1] : NULL;
        if (allows == NULL) return nl_bind_not_foldable(bind, 1, "`allowDifferentLgConfigK`");
        options->allows_different = !allows->is_null && allows->boolean;
    }
    bound->state = options;
    return NULL;
}

/* --- the scalars --- */

static nl_status bind_estimate(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    return require(bind, 0, nl_type_binary(), "\"BINARY\"");
}

static nl_status estimate_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_hll sketch = {0};
    nl_memory *memory = context->eval->memory;
    (void)is_null;
    nl_status status = read_sketch("hll_sketch_estimate", &sketch, memory, nl_reader_str(&context->readers[0], row));
    if (!status) ((int64_t *)context->output.values)[row] = (int64_t)floor(nl_hll_estimate(&sketch) + 0.5);
    nl_hll_free(&sketch, memory);
    return status;
}
NL_VALUE_KERNEL(estimate_kernel, estimate_row)

static nl_status bind_union(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    for (uint32_t i = 0; i < 2; i++) NL_TRY(require(bind, i, nl_type_binary(), "\"BINARY\""));
    return bind->argument_count == 3 ? require(bind, 2, nl_type_boolean(), "\"BOOLEAN\"") : NULL;
}

static nl_status union_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    nl_memory *memory = context->eval->memory;
    nl_hll parts[2] = {{0}};
    nl_hll made = {0};
    nl_agg_bytes bytes = {0};
    nl_status status = NULL;
    const bool allows_different = context->function->argument_count == 3 && nl_reader_bool(&context->readers[2], row);
    (void)is_null;
    for (uint32_t i = 0; i < 2; i++) NL_GO(read_sketch("hll_union", &parts[i], memory, nl_reader_str(&context->readers[i], row)));
    NL_GO(check_same_k("hll_union", &parts[0], &parts[1], allows_different));
    NL_GO(nl_hll_begin(&made, NL_MIN(parts[0].lg_k, parts[1].lg_k), memory));
    for (uint32_t i = 0; i < 2; i++) NL_GO(nl_hll_merge(&made, memory, &parts[i]));
    NL_GO(nl_hll_write(&made, memory, &bytes));
    nl_append(&context->text, (nl_str){bytes.data, bytes.length});
done:
    nl_agg_bytes_free(&bytes, memory);
    nl_hll_free(&made, memory);
    for (uint32_t i = 0; i < 2; i++) nl_hll_free(&parts[i], memory);
    return status;
}
NL_TEXT_KERNEL(union_kernel, union_row)

#define SCALAR .kind = NL_FUNCTION_SCALAR, .group = "misc", .nulls = NL_NULL_IN_NULL_OUT, .keeps_non_null = true, .can_fail = true, .since = "3.5.0"

static const nl_function_row rows[] = {
    {.name = "hll_sketch_agg", NL_AGGREGATE_ROW, .signature = "(any [, any]) -> binary", .keeps_non_null = true, .bind = bind_sketch, .aggregate = &sketch_ops,
     .since = "3.5.0", .doc = "A DataSketches HLL sketch of the values, with 2 to the power of the second argument registers.",
     .examples = {{"hll_sketch_estimate(hll_sketch_agg(col, 12)) FROM VALUES (1), (1), (2), (2), (3) tab(col)", "3"}}},
    {.name = "hll_union_agg", NL_AGGREGATE_ROW, .signature = "(any [, any]) -> binary", .keeps_non_null = true, .can_fail = true, .bind = bind_union_agg,
     .aggregate = &union_ops, .since = "3.5.0", .doc = "The union of HLL sketches.",
     .examples = {{"hll_sketch_estimate(hll_union_agg(sketch, true)) FROM (SELECT hll_sketch_agg(col) AS sketch FROM VALUES (1), (2) tab(col) UNION ALL SELECT hll_sketch_agg(col, 20) AS sketch FROM VALUES (1) tab(col))", "2"}}},
    {.name = "hll_sketch_estimate", SCALAR, .signature = "(any) -> bigint", .bind = bind_estimate, .kernel = estimate_kernel,
     .doc = "How many different values an HLL sketch has seen.", .examples = {{"hll_sketch_estimate(hll_sketch_agg(col)) FROM VALUES (1), (1), (2), (2), (3) tab(col)", "3"}}},
    {.name = "hll_union", SCALAR, .signature = "(any, any [, any]) -> binary", .bind = bind_union, .kernel = union_kernel,
     .doc = "The union of two HLL sketches.",
     .examples = {{"hll_sketch_estimate(hll_union(hll_sketch_agg(col1), hll_sketch_agg(col2))) FROM VALUES (1, 4), (1, 4), (2, 5), (2, 5), (3, 6) tab(col1, col2)", "6"}}},
};

NL_DEFINE_FUNCTION_GROUP(hll, rows);
